//! The bytes of a batch in the log of a store.
//!
//! A batch of integers has 4 or 8 bytes per item, one of fingerprints 8, one of texts its lengths
//! and its contents; other batches say for each item what it is.

use super::integers::{malformed, put_integers, take_integers};
use super::text_list::{self, TextList};
use super::{Entry, ItemList, MixedItems};
use crate::byte_reader::ByteReader;
use crate::item::{Item, UUID_BYTES};
use crate::{Result, memory};

// The first byte of a batch in a log.
const SIGNED: u8 = 1;
const UNSIGNED: u8 = 2;
const MIXED: u8 = 3;
const TEXTS: u8 = 4;
const SIGNED_32: u8 = 5;
const UNSIGNED_32: u8 = 6;
const FINGERPRINTS: u8 = 7;
// The type of an item among others.
const TEXT: u8 = 0;
const BYTES: u8 = 1;
const WIDE: u8 = 2;
const UUID: u8 = 3;
const ONE_SIGNED: u8 = 4;
const ONE_UNSIGNED: u8 = 5;
const INSTANT: u8 = 6;
const DATE: u8 = 7;

impl ItemList {
    /// Number of bytes that [`Self::write`] appends.
    pub fn written_size(&self) -> usize {
        let content = match self {
            Self::Signed(items) if are_short(items) => 4 * items.len(),
            Self::Unsigned(items) if are_short(items) => 4 * items.len(),
            Self::Texts(items) => items.written_size(),
            Self::Mixed(items) => items.written_size(),
            _ => 8 * self.len(),
        };
        1 + 8 + content
    }

    /// Appends the bytes of the batch: a form, the number of items, the items.
    pub fn write(&self, out: &mut Vec<u8>) -> Result<()> {
        memory::reserve(out, self.written_size())?;
        let number = (self.len() as u64).to_le_bytes();
        let mut start = |form| {
            out.push(form);
            out.extend(number);
        };
        match self {
            Self::Fingerprints(items) => {
                start(FINGERPRINTS);
                put_integers(out, items.iter().copied(), u64::to_le_bytes);
            }
            Self::Signed(items) if are_short(items) => {
                start(SIGNED_32);
                put_integers(out, items.iter().copied(), |it| (it as i32).to_le_bytes());
            }
            Self::Signed(items) => {
                start(SIGNED);
                put_integers(out, items.iter().copied(), i64::to_le_bytes);
            }
            Self::Unsigned(items) if are_short(items) => {
                start(UNSIGNED_32);
                put_integers(out, items.iter().copied(), |it| (it as u32).to_le_bytes());
            }
            Self::Unsigned(items) => {
                start(UNSIGNED);
                put_integers(out, items.iter().copied(), u64::to_le_bytes);
            }
            Self::Texts(items) => {
                start(TEXTS);
                items.write(out);
            }
            Self::Mixed(items) if items.are_texts() => {
                start(TEXTS);
                text_list::write(items.lengths(), &items.text, out);
            }
            Self::Mixed(items) => {
                start(MIXED);
                items.write_each(out);
            }
        }
        Ok(())
    }

    /// Reads what [`Self::write`] wrote; returns the bytes that follow, too.
    pub fn read(bytes: &[u8]) -> Result<(Self, &[u8])> {
        let mut reader = ByteReader { rest: bytes };
        let form = reader.byte()?;
        let number = usize::try_from(u64::from_le_bytes(reader.take()?));
        let number = number.map_err(|_| malformed())?;
        let list = match form {
            SIGNED => Self::Signed(take_integers(&mut reader, number, i64::from_le_bytes)?),
            FINGERPRINTS => {
                Self::Fingerprints(take_integers(&mut reader, number, u64::from_le_bytes)?)
            }
            UNSIGNED => Self::Unsigned(take_integers(&mut reader, number, u64::from_le_bytes)?),
            SIGNED_32 => {
                let widened = |bytes| i32::from_le_bytes(bytes).into();
                Self::Signed(take_integers(&mut reader, number, widened)?)
            }
            UNSIGNED_32 => {
                let widened = |bytes| u32::from_le_bytes(bytes).into();
                Self::Unsigned(take_integers(&mut reader, number, widened)?)
            }
            MIXED => Self::Mixed(MixedItems::read_each(&mut reader, number)?),
            TEXTS => Self::Texts(TextList::read(&mut reader, number)?),
            _ => return Err(malformed()),
        };
        Ok((list, reader.rest))
    }
}

impl Entry {
    /// The length of a text.
    fn length(self) -> u32 {
        match self {
            Self::Text(_, length) => length,
            _ => 0,
        }
    }
}

impl MixedItems {
    /// True if all items are texts; these are one after the other then.
    fn are_texts(&self) -> bool {
        let is_text = |it: &Entry| matches!(it, Entry::Text(..));
        !self.entries.is_empty() && self.entries.iter().all(is_text)
    }

    fn lengths(&self) -> impl ExactSizeIterator<Item = u32> + Clone {
        self.entries.iter().map(|entry| entry.length())
    }

    fn written_size(&self) -> usize {
        if self.are_texts() {
            return text_list::written_size(self.lengths(), &self.text);
        }
        let sizes = self.entries.iter().map(|&entry| match self.item(entry) {
            Item::Text(text) => content_size(text.len()),
            Item::Bytes(bytes) | Item::Wide(bytes) => content_size(bytes.len()),
            Item::Uuid(_) => content_size(UUID_BYTES),
            Item::Signed(_) | Item::Unsigned(_) | Item::Instant(_) => content_size(8),
            Item::Date(_) => content_size(4),
        });
        sizes.sum()
    }

    /// Writes each item as a number that holds type and length, and its content.
    fn write_each(&self, out: &mut Vec<u8>) {
        for &entry in &self.entries {
            match self.item(entry) {
                Item::Text(text) => put_content(out, TEXT, text.as_bytes()),
                Item::Bytes(bytes) => put_content(out, BYTES, bytes),
                Item::Wide(bytes) => put_content(out, WIDE, bytes),
                Item::Uuid(bytes) => put_content(out, UUID, bytes),
                Item::Signed(integer) => put_content(out, ONE_SIGNED, &integer.to_le_bytes()),
                Item::Unsigned(integer) => put_content(out, ONE_UNSIGNED, &integer.to_le_bytes()),
                Item::Instant(instant) => put_content(out, INSTANT, &instant.to_le_bytes()),
                Item::Date(days) => put_content(out, DATE, &days.to_le_bytes()),
            }
        }
    }

    fn read_each(reader: &mut ByteReader<'_>, number: usize) -> Result<Self> {
        let mut items = Self::default();
        // An item has a byte at least.
        memory::reserve(&mut items.entries, number.min(reader.rest.len()))?;
        for _ in 0..number {
            let (kind, length) = take_head(reader)?;
            let content = reader.slice(length)?;
            items.push(match kind {
                TEXT => Item::Text(str::from_utf8(content).map_err(|_| malformed())?),
                BYTES => Item::Bytes(content),
                WIDE => Item::Wide(content),
                UUID => Item::Uuid(content.try_into().map_err(|_| malformed())?),
                ONE_SIGNED => Item::Signed(i64::from_le_bytes(sized(content)?)),
                ONE_UNSIGNED => Item::Unsigned(u64::from_le_bytes(sized(content)?)),
                INSTANT => Item::Instant(i64::from_le_bytes(sized(content)?)),
                _ => Item::Date(i32::from_le_bytes(sized(content)?)),
            })?;
        }
        Ok(items)
    }
}

/// Integers of which most have 32 bits only.
trait Integer: Copy {
    /// True if 32 bits hold it.
    fn is_short(self) -> bool;
}

impl Integer for i64 {
    fn is_short(self) -> bool {
        self == i64::from(self as i32)
    }
}

impl Integer for u64 {
    fn is_short(self) -> bool {
        self == u64::from(self as u32)
    }
}

/// True if 32 bits hold each of the integers. No early end: the compiler uses wide registers.
fn are_short<T: Integer>(items: &[T]) -> bool {
    items.iter().fold(true, |all, it| all & it.is_short())
}

/// Bytes of a content and of the number before it.
fn content_size(length: usize) -> usize {
    let bits = 64 - (8 * length as u64 + 1).leading_zeros() as usize;
    bits.div_ceil(7) + length
}

/// A length and, in its lowest three bits, a type: seven bits per byte, the lowest first, and the
/// highest bit of a byte says that more follow.
fn put_content(out: &mut Vec<u8>, kind: u8, content: &[u8]) {
    let mut head = 8 * content.len() as u64 + u64::from(kind);
    while head >= 1 << 7 {
        out.push(head as u8 | 1 << 7);
        head >>= 7;
    }
    out.push(head as u8);
    out.extend_from_slice(content);
}

fn take_head(reader: &mut ByteReader<'_>) -> Result<(u8, usize)> {
    let (mut head, mut shift) = (0_u64, 0);
    loop {
        let byte = reader.byte()?;
        head |= u64::from(byte & 0x7F) << shift;
        if byte >> 7 == 0 {
            return Ok(((head & 7) as u8, (head >> 3) as usize));
        }
        shift += 7;
        // Five bytes hold the length of any content.
        if shift == 35 {
            return Err(malformed());
        }
    }
}

fn sized<const N: usize>(content: &[u8]) -> Result<[u8; N]> {
    content.try_into().map_err(|_| malformed())
}
