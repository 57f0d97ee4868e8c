//! Reading the log: which records are there, and whether its end is torn or damaged.

use crate::disk::Folder;
use crate::error::{Error, Result};
use crate::key_ring::{KeyRing, Place, Segment};
use crate::recovered::Opened;
use crate::sealing::first_half;
use crate::segment::{self, HEADER_BYTES, Records};
use crate::waiting::OVERHEAD;
use lazysketch_core::memory;
use lazysketch_core::planted;
use std::io::ErrorKind;

/// The log from some place on.
pub(crate) struct Log {
    /// The records after the base, by segment. The last listed segment is always the last one.
    pub(crate) segments: Vec<Opened>,
    /// The last record.
    pub(crate) end: Place,
    /// The last record of which the files alone show that it was durable.
    proven: Place,
    /// The place of the asked sequence, if the log reaches it.
    pub(crate) asked: Option<Place>,
    /// Bytes after the end that are no records.
    pub(crate) dropped_bytes: u64,
}

/// Reads all records after `base`; `asked` is a sequence whose place the caller wants.
pub(crate) fn read(folder: &Folder, ring: &KeyRing, base: u64, asked: Option<u64>) -> Result<Log> {
    let from = asked.map_or(base, |asked| asked.min(base));
    let mut log = Log {
        segments: Vec::new(),
        end: ring.segments[0].after,
        proven: ring.segments[0].after,
        asked: None,
        dropped_bytes: 0,
    };
    if log.end.sequence > base {
        return Err(Error::damaged(
            "no whole checkpoint from which the log goes on",
        ));
    }
    for (index, segment) in ring.segments.iter().enumerate() {
        let next = ring.segments.get(index + 1).map(|next| next.after);
        if asked == Some(segment.after.sequence) {
            log.asked = Some(segment.after);
        }
        if next.is_some_and(|next| next.sequence <= from) {
            continue;
        }
        log.end = segment.after;
        log.proven = segment.after;
        let opened = log.read_segment(folder, ring, segment, base, asked, next.is_none())?;
        let must_reach = next.map_or(segment.synced, |next| next.sequence);
        let is_short = log.end.sequence < must_reach || next.is_some_and(|next| next != log.end);
        if is_short {
            return Err(Error::damaged("a log whose records are not all there"));
        }
        log.segments.push(opened);
    }
    Ok(log)
}

impl Log {
    /// Takes back the records after the last that is proven to have been durable. The process that
    /// wrote them may have lost them in a power cut, and gone on with others.
    pub(crate) fn keep_proven(&mut self) {
        let unproven = (self.end.sequence - self.proven.sequence) as usize;
        let (Some(last), false) = (self.segments.last_mut(), unproven == 0) else {
            return;
        };
        for payload in last
            .payloads
            .split_off(last.payloads.len().saturating_sub(unproven))
        {
            self.dropped_bytes += payload.len() as u64;
            memory::wipe(&mut last.bytes[payload]);
        }
        self.end = self.proven;
    }

    fn read_segment(
        &mut self,
        folder: &Folder,
        ring: &KeyRing,
        segment: &Segment,
        base: u64,
        asked: Option<u64>,
        may_be_torn: bool,
    ) -> Result<Opened> {
        let secrets = &ring.secrets;
        let name = segment::name(segment.number);
        let file = match folder.open(&name) {
            Err(Error::Io { source, .. }) if source.kind() == ErrorKind::NotFound => {
                return Err(Error::damaged(format!("no file {name}")));
            }
            opened => opened?,
        };
        let mut bytes = file.read(0, file.length()?)?;
        if !bytes.starts_with(&segment::header(&secrets.store_id, segment)) {
            return Err(Error::damaged(format!("another header of {name}")));
        }
        let records = Records::new(&secrets.store_id, segment);
        let (mut at, mut payloads) = (HEADER_BYTES, Vec::new());
        let kept_after = planted!("sequence-off-by-one", base + 1, base);
        while let Some((group, payload)) = records.open_next(&mut bytes, at, &self.end) {
            let sequence = self.end.sequence + 1;
            if group == 0 {
                // A group is written after the one before it was synced.
                self.proven = self.end;
            }
            let digest = (secrets.chain).after(&self.end.digest, sequence, &bytes[payload.clone()]);
            self.end = Place { sequence, digest };
            if sequence <= segment.synced {
                self.proven = self.end;
            }
            if asked == Some(sequence) {
                self.asked = Some(self.end);
            }
            at = payload.end;
            if sequence > kept_after {
                memory::push(&mut payloads, payload)?;
            }
        }
        if bytes[at..].iter().any(|&byte| byte != 0) {
            if !may_be_torn || holds_later_group(&records, &mut bytes, at, &self.end) {
                return Err(Error::damaged(format!(
                    "changed or missing bytes in {name}"
                )));
            }
            self.dropped_bytes = (bytes.len() - at) as u64;
        }
        Ok(Opened { bytes, payloads })
    }
}

impl Records {
    /// Decrypts the record that follows `end` in place, if it is at this offset; returns its number
    /// in its group, too.
    fn open_next(
        &self,
        bytes: &mut [u8],
        at: usize,
        end: &Place,
    ) -> Option<(u32, std::ops::Range<usize>)> {
        let fields = Self::fields_at(bytes, at)?;
        let follows = fields.sequence == end.sequence + 1 && fields.link == first_half(end.digest);
        if !follows && !planted!("record-without-its-place") {
            return None;
        }
        let (fields, payload) = self.open_at(bytes, at)?;
        Some((fields.group, payload))
    }
}

/// True if the bytes after the end hold a record that was written after the missing one was
/// durable: then the log is not torn but damaged.
fn holds_later_group(records: &Records, bytes: &mut [u8], from: usize, end: &Place) -> bool {
    let rest = bytes.len() - from;
    let missing = end.sequence + 1;
    let last_possible = missing + (rest / OVERHEAD) as u64;
    // Of bytes at random, none is tried; of bytes made to be tried, few enough.
    let mut work_left = 16 * rest;
    for at in from..bytes.len() {
        let Some(fields) = Records::fields_at(bytes, at) else {
            continue;
        };
        let is_later = fields.sequence.saturating_sub(u64::from(fields.group)) > missing;
        if fields.sequence > last_possible || !is_later {
            continue;
        }
        let length = fields.length as usize;
        if length > work_left || records.open_at(bytes, at).is_some() {
            return true;
        }
        work_left -= length;
    }
    false
}
