//! What a hierarchy takes.

/// An item that may have names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Named<'a> {
    /// Text.
    Text(&'a str),
    /// An integer of 0 or more.
    Number(u128),
}
