//! Texts one after the other.

use crate::byte_reader::ByteReader;
use crate::item::Item;
use crate::table::hash::Fingerprinter;
use crate::table::item_list::integers::{malformed, put_integers};
use crate::table::item_list::limits::{MOST_BYTES, no_room};
use crate::table::items::{Columns, TextRun};
use crate::{Error, Result, memory};

/// Texts in memory of their own.
#[derive(Default)]
pub struct TextList {
    text: String,
    /// Where each ends; all are boundaries of characters.
    ends: Vec<u32>,
}

impl TextList {
    /// Copies of all texts of some runs.
    pub(super) fn copied(runs: &[TextRun<'_>]) -> Result<Self> {
        let mut list = Self::default();
        for run in runs {
            list.push_run(run)?;
        }
        Ok(list)
    }

    fn push_run(&mut self, run: &TextRun<'_>) -> Result<()> {
        let [first, .., last] = *run.offsets else {
            return Ok(());
        };
        let no_texts = || Error::parameter("items", "texts of UTF-8", "other bytes");
        let content = run.content.get(first as usize..last as usize);
        let text = str::from_utf8(content.ok_or_else(no_texts)?).map_err(|_| no_texts())?;
        let before = self.text.len();
        let (bytes, bounds) = (text.len(), &run.offsets[1..]);
        self.check(bytes)?;
        (self.text.try_reserve_exact(bytes)).map_err(|_| Error::Memory { bytes })?;
        memory::reserve(&mut self.ends, bounds.len())?;
        self.text.push_str(text);
        let (mut end, mut are_texts) = (first, true);
        self.ends.extend(bounds.iter().map(|&offset| {
            are_texts &= offset >= end;
            end = offset;
            before as u32 + offset.wrapping_sub(first) as u32
        }));
        let ends = &self.ends[self.ends.len() - bounds.len()..];
        if are_texts && are_boundaries(&self.text, ends) {
            return Ok(());
        }
        Err(no_texts())
    }

    /// An empty list with room for the ends of `number` texts.
    pub(super) fn with_room(number: usize) -> Result<Self> {
        let (text, ends) = (String::new(), memory::room_for(number)?);
        Ok(Self { text, ends })
    }

    /// Number of texts that there is room for.
    pub(super) fn room(&self) -> usize {
        self.ends.capacity()
    }

    /// Appends a copy of a text.
    #[inline]
    pub(super) fn push(&mut self, text: &str) -> Result<()> {
        let free = self.text.capacity() - self.text.len();
        if text.len() > free || self.ends.len() == self.ends.capacity() {
            self.make_room(text.len())?;
        }
        self.text.push_str(text);
        self.ends.push(self.text.len() as u32);
        Ok(())
    }

    /// Room for one more text: at least doubled, but never for more than a batch may have.
    #[cold]
    fn make_room(&mut self, bytes: usize) -> Result<()> {
        self.check(bytes)?;
        let held = self.text.len();
        if bytes > self.text.capacity() - held {
            let more = bytes.max(held).min(MOST_BYTES - held).max(bytes);
            let reserved = self.text.try_reserve_exact(more);
            reserved.map_err(|_| Error::Memory { bytes: more })?;
        }
        let more = self.ends.len().max(4);
        match self.ends.capacity() - self.ends.len() {
            0 => memory::reserve(&mut self.ends, more),
            _ => Ok(()),
        }
    }

    pub(super) fn check(&self, bytes: usize) -> Result<()> {
        if self.text.len() + bytes <= MOST_BYTES {
            return Ok(());
        }
        Err(no_room())
    }

    /// Number of texts.
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Text number `at`.
    #[inline]
    pub(super) fn get(&self, at: usize) -> Option<&str> {
        let end = *self.ends.get(at)?;
        let start = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        Some(&self.text[start as usize..end as usize])
    }

    /// All texts from one on.
    #[inline]
    fn from(&self, start: usize) -> impl Iterator<Item = &str> {
        let first = start.checked_sub(1).map_or(0, |before| self.ends[before]);
        self.ends[start..]
            .iter()
            .scan(first as usize, |from, &end| {
                let begin = std::mem::replace(from, end as usize);
                Some(&self.text[begin..end as usize])
            })
    }

    fn lengths(&self) -> impl ExactSizeIterator<Item = u32> + Clone {
        let before = |at: usize| at.checked_sub(1).map_or(0, |before| self.ends[before]);
        (0..self.len()).map(move |at| self.ends[at] - before(at))
    }

    /// Number of bytes that [`Self::write`] appends.
    pub(super) fn written_size(&self) -> usize {
        written_size(self.lengths(), &self.text)
    }

    /// Appends the texts.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        write(self.lengths(), &self.text, out);
    }

    /// Reads what [`Self::write`] wrote.
    pub(super) fn read(reader: &mut ByteReader<'_>, number: usize) -> Result<Self> {
        let bytes = usize::from(reader.byte()?);
        if ![1, 2, 4].contains(&bytes) {
            return Err(malformed());
        }
        let lengths = reader.slice(number.checked_mul(bytes).ok_or_else(malformed)?)?;
        let mut ends = memory::room_for(number)?;
        let mut end = 0_usize;
        for length in lengths.chunks_exact(bytes) {
            let mut all = [0; 4];
            all[..bytes].copy_from_slice(length);
            end += u32::from_le_bytes(all) as usize;
            ends.push(end as u32);
        }
        // Fails if an end did not fit: no record is that long.
        let read = str::from_utf8(reader.slice(end)?).map_err(|_| malformed())?;
        let mut text = String::new();
        (text.try_reserve_exact(end)).map_err(|_| Error::Memory { bytes: end })?;
        text.push_str(read);
        if are_boundaries(&text, &ends) {
            return Ok(Self { text, ends });
        }
        Err(malformed())
    }
}

impl Columns for TextList {
    fn len(&self) -> usize {
        self.ends.len()
    }

    fn fingerprints(&self, fingerprinter: &Fingerprinter, start: usize, out: &mut [u64]) {
        for (out, text) in out.iter_mut().zip(self.from(start)) {
            *out = fingerprinter.item(Item::Text(text));
        }
    }

    fn has_items(&self) -> bool {
        true
    }

    fn items<'a>(&'a self, start: usize, out: &mut [Item<'a>]) {
        for (out, text) in out.iter_mut().zip(self.from(start)) {
            *out = Item::Text(text);
        }
    }
}

impl Drop for TextList {
    fn drop(&mut self) {
        memory::wipe(&mut std::mem::take(&mut self.text).into_bytes());
        self.ends.fill(0);
    }
}

/// Positions within ASCII are boundaries.
fn are_boundaries(text: &str, ends: &[u32]) -> bool {
    text.is_ascii() || ends.iter().all(|&end| text.is_char_boundary(end as usize))
}

/// Number of bytes that [`write`] appends.
pub(super) fn written_size(lengths: impl ExactSizeIterator<Item = u32>, text: &str) -> usize {
    let number = lengths.len();
    1 + length_bytes(lengths.fold(0, u32::max)) * number + text.len()
}

/// Writes texts as the bytes of a length, all lengths, all contents.
pub(super) fn write(
    lengths: impl ExactSizeIterator<Item = u32> + Clone,
    text: &str,
    out: &mut Vec<u8>,
) {
    let bytes = length_bytes(lengths.clone().fold(0, u32::max));
    out.push(bytes as u8);
    match bytes {
        1 => put_integers(out, lengths, |it| [it as u8]),
        2 => put_integers(out, lengths, |it| (it as u16).to_le_bytes()),
        _ => put_integers(out, lengths, u32::to_le_bytes),
    }
    out.extend_from_slice(text.as_bytes());
}

/// Bytes that hold each length.
fn length_bytes(longest: u32) -> usize {
    match longest {
        0..=0xFF => 1,
        0x100..=0xFFFF => 2,
        _ => 4,
    }
}
