//! One item as it arrived: its type and its full content.
//!
//! A sketch's table needs only a 64-bit fingerprint. Discovery, which publishes names, needs the
//! item itself; it is borrowed from the caller and copied when it enters a table.

/// One item, borrowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Item<'a> {
    /// Text.
    Text(&'a str),
    /// Bytes.
    Bytes(&'a [u8]),
    /// A signed integer of any width up to 64 bits.
    Signed(i64),
    /// An unsigned integer of any width up to 64 bits; equals [`Item::Signed`] on equal values.
    Unsigned(u64),
    /// An integer outside -2^63 .. 2^64, as its shortest little-endian two's complement.
    Wide(&'a [u8]),
}
