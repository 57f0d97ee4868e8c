//! Chunks of bytes in, rows out.

use crate::field::Field;
use crate::pcap::Pcap;
use crate::pcapng::{self, Pcapng};
use crate::rows::Rows;

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

#[derive(Debug)]
enum Format {
    NotSeen,
    Pcap(Pcap),
    Pcapng(Pcapng),
}

/// Reads one capture, in chunks.
///
/// Guarantee: any split of the bytes gives the same rows. Memory is bounded by the chunk and
/// 48 MiB, whatever the bytes say. Nothing panics.
#[derive(Debug)]
pub struct Reader {
    field: Field,
    format: Format,
    held: Vec<u8>,
    position: u64,
    packets: u64,
    damage: Option<Damage>,
}

impl Reader {
    /// A reader at the beginning of a capture.
    pub fn new(field: Field) -> Self {
        Self {
            field,
            format: Format::NotSeen,
            held: Vec::new(),
            position: 0,
            packets: 0,
            damage: None,
        }
    }

    /// The packets that have become whole. Behind damage there are none.
    pub fn feed(&mut self, chunk: &[u8]) -> Rows {
        let mut rows = self.field.rows();
        if self.damage.is_some() {
            return rows;
        }
        // The rest of the last chunk goes in front, so a record is always in one piece.
        let mut held = std::mem::take(&mut self.held);
        let mut bytes = if held.is_empty() {
            chunk
        } else {
            held.extend_from_slice(chunk);
            &held
        };
        loop {
            match self.step(bytes, &mut rows) {
                Ok(Step::Taken(length)) => {
                    self.position += length as u64;
                    bytes = &bytes[length..];
                }
                Ok(Step::Wait) => {
                    let taken = held.len() - bytes.len().min(held.len());
                    self.held = if held.is_empty() {
                        bytes.to_vec()
                    } else {
                        held.drain(..taken);
                        held
                    };
                    break;
                }
                Err(damage) => {
                    self.damage = Some(damage);
                    break;
                }
            }
        }
        self.packets += rows.len() as u64;
        rows
    }

    /// Say that there are no more bytes.
    pub fn finish(&mut self) {
        if self.damage.is_none() && !self.held.is_empty() {
            self.damage = Some(Damage::CutShort);
        }
    }

    /// Why the reading ended before the bytes did, if so.
    pub fn damage(&self) -> Option<Damage> {
        self.damage
    }

    /// How many bytes were read, up to the end of the last sound record.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// How many packets were read.
    pub fn packets(&self) -> u64 {
        self.packets
    }

    fn step(&mut self, bytes: &[u8], rows: &mut Rows) -> Result<Step, Damage> {
        match &mut self.format {
            Format::Pcap(format) => format.step(bytes, self.field, rows),
            Format::Pcapng(format) => format.step(bytes, self.field, rows),
            Format::NotSeen => self.begin(bytes),
        }
    }

    fn begin(&mut self, bytes: &[u8]) -> Result<Step, Damage> {
        if bytes.starts_with(&pcapng::SECTION) {
            self.format = Format::Pcapng(Pcapng::new());
            return Ok(Step::Taken(0));
        }
        let Some((format, header)) = Pcap::begin(bytes, self.field)? else {
            return Ok(Step::Wait);
        };
        self.format = Format::Pcap(format);
        Ok(Step::Taken(header))
    }
}
