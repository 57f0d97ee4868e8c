//! What both formats share: byte order, the outcome of reading a record, and damage.

/// Why a capture cannot be read on. A message tells nothing of what is in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Damage {
    /// Neither format, or a version of it that is not known.
    #[error("expected a pcap or pcapng capture, got something else")]
    Unknown,
    /// A pcap whose packets cannot be looked into.
    #[error(
        "expected packets of Ethernet, Linux cooked mode, loopback or raw IP, got link type {0}"
    )]
    LinkType(u16),
    /// A length or a mark that cannot be.
    #[error("expected sound records, got a damaged one")]
    Broken,
    /// The end came inside of a record.
    #[error("expected a whole capture, got one that is cut short")]
    CutShort,
}

/// The order of the bytes of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    Little,
    Big,
}

impl Order {
    /// The word at a place that the caller has checked to be there.
    pub(crate) fn u32_at(self, bytes: &[u8], at: usize) -> u32 {
        let word = [bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]];
        match self {
            Self::Little => u32::from_le_bytes(word),
            Self::Big => u32::from_be_bytes(word),
        }
    }
}

/// What became of the bytes at hand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// So many of them were read.
    Taken(usize),
    /// The record is not there as a whole.
    Wait,
}
