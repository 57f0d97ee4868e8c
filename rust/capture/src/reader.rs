//! The incremental reader: chunks of bytes to rows.

use crate::field::{Field, Wanted};
use crate::pcap::Pcap;
use crate::pcapng::{self, Pcapng};
use crate::records::{Damage, Step};
use crate::rows::PacketRows;

#[derive(Debug)]
enum Format {
    Unknown,
    Pcap(Pcap),
    Pcapng(Pcapng),
}

/// Reads one capture, in chunks.
///
/// Guarantee: any split of the bytes gives the same rows. Memory is bounded by the chunk plus
/// 48 MiB for any input. No input causes a panic.
#[derive(Debug)]
pub struct Reader {
    wanted: Wanted,
    format: Format,
    held: Vec<u8>,
    position: u64,
    packets: u64,
    damage: Option<Damage>,
}

impl Reader {
    /// Return a reader of one field at the beginning of a capture.
    pub fn new(field: Field) -> Self {
        Self::of(Wanted::field(field))
    }

    /// Return a reader at the beginning of a capture.
    pub fn of(wanted: Wanted) -> Self {
        Self {
            wanted,
            format: Format::Unknown,
            held: Vec::new(),
            position: 0,
            packets: 0,
            damage: None,
        }
    }

    /// Return the packets that these bytes complete; none after damage.
    pub fn feed(&mut self, chunk: &[u8]) -> PacketRows {
        let mut rows = self.wanted.rows();
        if self.damage.is_some() {
            return rows;
        }
        // The rest of the last chunk is prepended, so that every record is contiguous.
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

    /// Declare the end of the bytes; an incomplete record is damage.
    pub fn finish(&mut self) {
        if self.damage.is_none() && !self.held.is_empty() {
            self.damage = Some(Damage::Truncated);
        }
    }

    /// Return the reason why reading stopped before the end of the bytes, if it did.
    pub fn damage(&self) -> Option<Damage> {
        self.damage
    }

    /// Return the number of bytes up to the end of the last valid record.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// Return the number of packets read.
    pub fn packets(&self) -> u64 {
        self.packets
    }

    fn step(&mut self, bytes: &[u8], rows: &mut PacketRows) -> Result<Step, Damage> {
        match &mut self.format {
            Format::Pcap(format) => format.step(bytes, self.wanted, rows),
            Format::Pcapng(format) => format.step(bytes, self.wanted, rows),
            Format::Unknown => self.begin(bytes),
        }
    }

    fn begin(&mut self, bytes: &[u8]) -> Result<Step, Damage> {
        if bytes.starts_with(&pcapng::SECTION) {
            self.format = Format::Pcapng(Pcapng::new());
            return Ok(Step::Taken(0));
        }
        let Some((format, header)) = Pcap::begin(bytes, self.wanted)? else {
            return Ok(Step::Wait);
        };
        self.format = Format::Pcap(format);
        Ok(Step::Taken(header))
    }
}
