//! Records that were appended and not written: in clear, in memory, with room for their headers.

use crate::error::{Error, Result};
use crate::recovered::Sequence;
use crate::sealing::TAG_BYTES;
use lazysketch_core::{memory, planted};
use std::ops::Range;

/// Bytes of the clear fields of a record.
pub(crate) const FIELDS_BYTES: usize = 4 + 4 + 8 + 16;
/// Bytes that a record takes on top of its payload.
pub(crate) const OVERHEAD: usize = FIELDS_BYTES + TAG_BYTES;
/// Bytes of the largest record.
pub const LARGEST_RECORD: usize = 1 << 30;

/// Records that wait for a commit.
#[derive(Default)]
pub(crate) struct Waiting {
    /// Number of the last one, waiting or written.
    pub(crate) last: Sequence,
    bytes: Vec<u8>,
    /// Where each ends.
    ends: Vec<usize>,
}

impl Waiting {
    /// Nothing that waits, after a record of this number.
    pub(crate) fn after(last: Sequence) -> Self {
        let (bytes, ends) = (Vec::new(), Vec::new());
        Self { last, bytes, ends }
    }

    /// Bytes that wait.
    pub(crate) fn size(&self) -> usize {
        self.bytes.len()
    }

    /// Appends a record of at most `most` bytes, which `write` appends to the buffer.
    pub(crate) fn append(
        &mut self,
        most: usize,
        write: impl FnOnce(&mut Vec<u8>) -> lazysketch_core::Result<()>,
    ) -> Result<Sequence> {
        check_size(most)?;
        self.reserve(most + OVERHEAD)?;
        let start = self.bytes.len();
        self.bytes.resize(start + OVERHEAD, 0);
        let written = write(&mut self.bytes).map_err(Error::from);
        let end = self.bytes.len();
        let appended = written
            .and_then(|()| check_size(end - start - OVERHEAD))
            .and_then(|()| Ok(memory::push(&mut self.ends, end)?));
        if let Err(error) = appended {
            memory::wipe(&mut self.bytes[start..]);
            self.bytes.truncate(start);
            return Err(error);
        }
        self.last += 1;
        Ok(self.last)
    }

    /// Appends a copy of a record.
    pub(crate) fn append_copy(&mut self, record: &[u8]) -> Result<Sequence> {
        self.append(record.len(), |bytes| {
            bytes.extend_from_slice(record);
            Ok(())
        })
    }

    /// Takes all records away; `empty` is used for the next ones.
    pub(crate) fn take(&mut self, mut empty: Self) -> Self {
        empty.last = self.last;
        std::mem::replace(self, empty)
    }

    /// The buffer, and each record in it with the room before it.
    pub(crate) fn records(&mut self) -> (&mut [u8], impl Iterator<Item = Range<usize>>) {
        let mut start = 0;
        let ranges = self.ends.iter().map(move |&end| {
            let range = start..end;
            start = end;
            range
        });
        (&mut self.bytes, ranges)
    }

    /// The buffer, of which all records were sealed.
    pub(crate) fn sealed(&mut self) -> &mut Vec<u8> {
        if !planted!("sealed-records-keep-their-ends") {
            self.ends.clear();
        }
        &mut self.bytes
    }

    /// Makes room, and leaves no copy of the records where they were before.
    fn reserve(&mut self, more: usize) -> Result<()> {
        let room = self.bytes.capacity() - self.bytes.len();
        if room >= more {
            return Ok(());
        }
        let more = more.max(self.bytes.capacity());
        let mut larger = memory::room_for(self.bytes.len() + more)?;
        larger.extend_from_slice(&self.bytes);
        memory::wipe(&mut self.bytes);
        self.bytes = larger;
        Ok(())
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        memory::wipe(&mut self.bytes);
    }
}

fn check_size(bytes: usize) -> Result<()> {
    if bytes <= LARGEST_RECORD {
        return Ok(());
    }
    Err(Error::TooLarge {
        what: "record",
        largest: LARGEST_RECORD as u64,
        got: bytes as u64,
    })
}
