//! Types shared by both formats: byte order, the outcome of a parsing step, and damage.

/// The reason why a capture cannot be read further. Messages contain no captured data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Damage {
    /// Neither format, or an unsupported version.
    #[error("expected a pcap or pcapng capture, got something else")]
    Unknown,
    /// A pcap file whose link type is not supported.
    #[error(
        "expected packets of Ethernet, Linux cooked mode, loopback or raw IP, got link type {0}"
    )]
    LinkType(u16),
    /// An impossible length or magic number.
    #[error("expected sound records, got a damaged one")]
    Broken,
    /// The bytes end within a record.
    #[error("expected a whole capture, got one that is cut short")]
    Truncated,
}

/// The byte order of a file or section.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    Little,
    Big,
}

impl Order {
    /// Read the 32-bit word at `at`; panics if it is out of range, so the caller checks the length.
    pub(crate) fn u32_at(self, bytes: &[u8], at: usize) -> u32 {
        let word = [bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]];
        match self {
            Self::Little => u32::from_le_bytes(word),
            Self::Big => u32::from_be_bytes(word),
        }
    }
}

/// The outcome of one parsing step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// This number of bytes was consumed.
    Taken(usize),
    /// The record is incomplete: more bytes are needed.
    Wait,
}
