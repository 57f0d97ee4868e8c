//! One file of the log: a header, then records, each sealed at its place.
//!
//! A record is `length ‖ group ‖ sequence ‖ link ‖ tag ‖ ciphertext`. The link is the first half of
//! the digest of all records before it. The tag authenticates the payload, these fields, the store
//! id and the number of the segment: a record opens at its own place only, and after the records
//! that it was written after.
//!
//! A *group* is what one commit writes; `group` is the number of records before this one in its
//! group. Groups are synced one after the other, so a record proves that all earlier groups were
//! durable, and nothing about its own: a power cut may keep the end of a group and lose its start.
//!
//! The file is longer than its records: it grows ahead of them by zeros, so that a commit changes
//! bytes within the file and no metadata.

use crate::disk::{Folder, Handle};
use crate::error::Result;
use crate::fields::{Fields, START_BYTES, start};
use crate::key_ring::{Place, Segment};
use crate::sealing::{ChainKey, Sealer, TAG_BYTES, first_half};
use crate::waiting::{FIELDS_BYTES, OVERHEAD, Waiting};
use lazysketch_core::memory;
use std::ops::Range;

const MAGIC: &[u8; 8] = b"LZSKSLOG";
/// Bytes before the first record.
pub(crate) const HEADER_BYTES: usize = START_BYTES + 8 + 8;
const PREFIX: &str = "log-";

pub(crate) fn name(number: u64) -> String {
    format!("{PREFIX}{number:016x}")
}

/// True for the name of a segment, of any store.
pub(crate) fn is_name(name: &str) -> bool {
    let number = name.strip_prefix(PREFIX);
    number.is_some_and(|it| it.len() == 16 && it.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// The first bytes of a segment.
pub(crate) fn header(store_id: &[u8; 16], segment: &Segment) -> [u8; HEADER_BYTES] {
    let mut bytes = [0; HEADER_BYTES];
    bytes[..START_BYTES].copy_from_slice(&start(MAGIC, store_id));
    bytes[START_BYTES..][..8].copy_from_slice(&segment.number.to_le_bytes());
    bytes[START_BYTES + 8..].copy_from_slice(&segment.after.sequence.to_le_bytes());
    bytes
}

/// Seals and opens the records of one segment.
pub(crate) struct Records {
    sealer: Sealer,
    place: [u8; 24],
}

/// The clear fields of a record.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct RecordFields {
    pub(crate) length: u32,
    pub(crate) group: u32,
    pub(crate) sequence: u64,
    pub(crate) link: [u8; 16],
}

impl RecordFields {
    fn to_bytes(self) -> [u8; FIELDS_BYTES] {
        let mut bytes = [0; FIELDS_BYTES];
        bytes[..4].copy_from_slice(&self.length.to_le_bytes());
        bytes[4..8].copy_from_slice(&self.group.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.sequence.to_le_bytes());
        bytes[16..].copy_from_slice(&self.link);
        bytes
    }

    fn of_bytes(bytes: &[u8; FIELDS_BYTES]) -> Option<Self> {
        let mut fields = Fields(bytes);
        Some(Self {
            length: u32::from_le_bytes(fields.take()?),
            group: u32::from_le_bytes(fields.take()?),
            sequence: fields.u64()?,
            link: fields.take()?,
        })
    }
}

impl Records {
    pub(crate) fn new(store_id: &[u8; 16], segment: &Segment) -> Self {
        let mut place = [0; 24];
        place[..16].copy_from_slice(store_id);
        place[16..].copy_from_slice(&segment.number.to_le_bytes());
        let sealer = segment.key.sealer();
        Self { sealer, place }
    }

    /// Seals the record after `before`, whose payload is in place after room for its header.
    pub(crate) fn seal(&self, before: &Place, group: u32, record: &mut [u8]) {
        let (header, payload) = record.split_at_mut(OVERHEAD);
        let fields = RecordFields {
            length: payload.len() as u32,
            group,
            sequence: before.sequence + 1,
            link: first_half(before.digest),
        };
        let bytes = fields.to_bytes();
        let tag = (self.sealer).seal(fields.sequence, &self.associated(&bytes), payload);
        header[..FIELDS_BYTES].copy_from_slice(&bytes);
        header[FIELDS_BYTES..].copy_from_slice(&tag);
    }

    /// The clear fields at an offset, if the bytes are long enough for what they say.
    pub(crate) fn fields_at(bytes: &[u8], at: usize) -> Option<RecordFields> {
        let (fields, rest) = bytes.get(at..)?.split_first_chunk::<FIELDS_BYTES>()?;
        let fields = RecordFields::of_bytes(fields)?;
        let room = rest.len().checked_sub(TAG_BYTES)?;
        (fields.length as usize <= room).then_some(fields)
    }

    /// Decrypts the record at an offset in place; `None`, and the bytes as they were, if there is
    /// no authentic one of this segment.
    pub(crate) fn open_at(
        &self,
        bytes: &mut [u8],
        at: usize,
    ) -> Option<(RecordFields, Range<usize>)> {
        let fields = Self::fields_at(bytes, at)?;
        let payload = at + OVERHEAD..at + OVERHEAD + fields.length as usize;
        let (before, body) = bytes.split_at_mut(payload.start);
        let mut tag = [0; TAG_BYTES];
        tag.copy_from_slice(&before[at + FIELDS_BYTES..]);
        let associated = self.associated(&fields.to_bytes());
        let body = &mut body[..payload.len()];
        (self.sealer.open(fields.sequence, &associated, body, &tag)).then_some((fields, payload))
    }

    fn associated(&self, fields: &[u8; FIELDS_BYTES]) -> [u8; 24 + FIELDS_BYTES] {
        let mut bytes = [0; 24 + FIELDS_BYTES];
        bytes[..24].copy_from_slice(&self.place);
        bytes[24..].copy_from_slice(fields);
        bytes
    }
}

/// The end of the log: gives each record its place, in order.
pub(crate) struct Tail {
    records: Records,
    chain: ChainKey,
    /// The last record that was sealed.
    pub(crate) end: Place,
}

impl Tail {
    pub(crate) fn new(store_id: &[u8; 16], chain: &ChainKey, segment: &Segment) -> Self {
        Self {
            records: Records::new(store_id, segment),
            chain: chain.clone(),
            end: segment.after,
        }
    }

    /// Seals all records that wait, as one group, in place.
    pub(crate) fn seal_group(&mut self, waiting: &mut Waiting) {
        let (bytes, records) = waiting.records();
        let mut group = 0_u32;
        for record in records {
            self.seal(group, &mut bytes[record]);
            group = group.saturating_add(1);
        }
    }

    /// Seals all records that wait, each as a group of its own.
    pub(crate) fn seal_each(&mut self, waiting: &mut Waiting) {
        let (bytes, records) = waiting.records();
        for record in records {
            self.seal(0, &mut bytes[record]);
        }
    }

    /// Seals a record that has room for its header before its payload.
    fn seal(&mut self, group: u32, record: &mut [u8]) {
        let sequence = self.end.sequence + 1;
        let digest = (self.chain).after(&self.end.digest, sequence, &record[OVERHEAD..]);
        self.records.seal(&self.end, group, record);
        self.end = Place { sequence, digest };
    }
}

/// An open segment that is appended to.
pub(crate) struct LogFile {
    file: Handle,
    end: u64,
    allocated: u64,
}

impl LogFile {
    /// A new segment with nothing but its header, not synced.
    pub(crate) fn create(folder: &Folder, store_id: &[u8; 16], segment: &Segment) -> Result<Self> {
        let file = folder.create(&name(segment.number))?;
        file.write_all(0, &header(store_id, segment))?;
        let end = HEADER_BYTES as u64;
        Ok(Self {
            file,
            end,
            allocated: end,
        })
    }

    /// Writes sealed records; they are durable after [`Self::sync`].
    pub(crate) fn write(&mut self, records: &mut Vec<u8>) -> Result<()> {
        let end = self.end + records.len() as u64;
        if end > self.allocated {
            let ahead = (end / 4).clamp(1 << 12, 1 << 18);
            // Zeros are for many small groups; the next large one would reach beyond them too.
            let ahead = if records.len() as u64 > ahead {
                0
            } else {
                ahead
            };
            let allocated = (end + ahead).next_multiple_of(1 << 12);
            let zeros = (allocated - end) as usize;
            memory::reserve(records, zeros)?;
            records.resize(records.len() + zeros, 0);
            self.allocated = allocated;
        }
        self.file.write_all(self.end, records)?;
        self.end = end;
        records.clear();
        Ok(())
    }

    pub(crate) fn sync(&self) -> Result<()> {
        self.file.sync()
    }
}
