//! Items of a batch in memory of their own, and their bytes in the log of a store.
//!
//! What is counted and what is logged are one value: a batch is converted once, and no other thread
//! can change it in between.

#[cfg(test)]
mod tests;

use crate::byte_reader::ByteReader;
use crate::item::{Item, UUID_BYTES};
use crate::table::hash::Fingerprinter;
use crate::table::items::{Columns, Items};
use crate::{Error, Result, memory};
use zeroize::Zeroize;

/// Most bytes of text, bytes and large integers in one batch. A short list can hold the same long
/// text any number of times.
pub const MOST_BYTES: usize = 1 << 31;

// The first byte of a batch in a log.
const SIGNED: u8 = 1;
const UNSIGNED: u8 = 2;
const MIXED: u8 = 3;
// The type of an item among others.
const TEXT: u8 = 0;
const BYTES: u8 = 1;
const WIDE: u8 = 2;
const UUID: u8 = 3;
const ONE_SIGNED: u8 = 4;
const ONE_UNSIGNED: u8 = 5;
const INSTANT: u8 = 6;
const DATE: u8 = 7;

/// Items that are owned, so that they may outlive their source.
pub enum ItemList {
    /// Signed integers.
    Signed(Vec<i64>),
    /// Unsigned integers.
    Unsigned(Vec<u64>),
    /// Items of any type.
    Mixed(MixedItems),
}

/// Items of any type, one after the other.
#[derive(Default)]
pub struct MixedItems {
    text: String,
    bytes: Vec<u8>,
    entries: Vec<Entry>,
}

/// A value, or the place of a content: where it begins and its length.
#[derive(Clone, Copy)]
enum Entry {
    Text(u32, u32),
    Bytes(u32, u32),
    Wide(u32, u32),
    Uuid(u32),
    Signed(i64),
    Unsigned(u64),
    Instant(i64),
    Date(i32),
}

impl ItemList {
    /// Copies a batch that has its items.
    pub fn copied(items: Items<'_>) -> Result<Self> {
        Ok(match items {
            Items::Signed(items) => Self::Signed(memory::copied(items)?),
            Items::Unsigned(items) => Self::Unsigned(memory::copied(items)?),
            Items::Narrow(items) => {
                Self::Signed(memory::collected(items.iter().map(|&it| i64::from(it)))?)
            }
            items => {
                let mut mixed = MixedItems::default();
                memory::reserve(&mut mixed.entries, items.len())?;
                let mut failed = Ok(());
                items.for_each_item_chunk::<64>(|_, chunk| {
                    for &item in chunk {
                        if failed.is_ok() {
                            failed = mixed.push(item);
                        }
                    }
                });
                failed?;
                Self::Mixed(mixed)
            }
        })
    }

    /// The items, for counting.
    pub fn items(&self) -> Items<'_> {
        match self {
            Self::Signed(items) => Items::Signed(items),
            Self::Unsigned(items) => Items::Unsigned(items),
            Self::Mixed(items) => Items::columns(items),
        }
    }

    /// Number of items.
    pub fn len(&self) -> usize {
        self.items().len()
    }

    /// True if there are no items.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Item number `at`.
    pub fn item(&self, at: usize) -> Option<Item<'_>> {
        match self {
            Self::Signed(items) => items.get(at).map(|&item| Item::Signed(item)),
            Self::Unsigned(items) => items.get(at).map(|&item| Item::Unsigned(item)),
            Self::Mixed(items) => items.entries.get(at).map(|&entry| items.item(entry)),
        }
    }

    /// Appends the bytes of the batch: a type, the number of items, the items.
    pub fn write(&self, out: &mut Vec<u8>) -> Result<()> {
        let integers = 8 * self.len();
        let more = match self {
            Self::Mixed(items) => 16 * items.entries.len() + items.text.len() + items.bytes.len(),
            _ => integers,
        };
        memory::reserve(out, 1 + 8 + more)?;
        let number = (self.len() as u64).to_le_bytes();
        match self {
            Self::Signed(items) => {
                out.push(SIGNED);
                out.extend(number);
                items.iter().for_each(|item| out.extend(item.to_le_bytes()));
            }
            Self::Unsigned(items) => {
                out.push(UNSIGNED);
                out.extend(number);
                items.iter().for_each(|item| out.extend(item.to_le_bytes()));
            }
            Self::Mixed(items) => {
                out.push(MIXED);
                out.extend(number);
                items.write(out);
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
            SIGNED | UNSIGNED => {
                let size = number.checked_mul(8).ok_or_else(malformed)?;
                let words = reader.slice(size)?.chunks_exact(8);
                let word = |word: &[u8]| <[u8; 8]>::try_from(word).unwrap_or_default();
                if form == SIGNED {
                    let integers = words.map(|it| i64::from_le_bytes(word(it)));
                    Self::Signed(memory::collected(integers)?)
                } else {
                    let integers = words.map(|it| u64::from_le_bytes(word(it)));
                    Self::Unsigned(memory::collected(integers)?)
                }
            }
            MIXED => Self::Mixed(MixedItems::read(&mut reader, number)?),
            _ => return Err(malformed()),
        };
        Ok((list, reader.rest))
    }
}

impl MixedItems {
    /// Appends a copy of an item.
    pub fn push(&mut self, item: Item<'_>) -> Result<()> {
        let entry = match item {
            Item::Text(text) => {
                let start = self.room_for_text(text.len())?;
                self.text.push_str(text);
                Entry::Text(start, text.len() as u32)
            }
            Item::Bytes(bytes) => {
                let start = self.room_for_bytes(bytes.len())?;
                self.bytes.extend_from_slice(bytes);
                Entry::Bytes(start, bytes.len() as u32)
            }
            Item::Wide(bytes) => {
                let start = self.room_for_bytes(bytes.len())?;
                self.bytes.extend_from_slice(bytes);
                Entry::Wide(start, bytes.len() as u32)
            }
            Item::Uuid(bytes) => {
                let start = self.room_for_bytes(bytes.len())?;
                self.bytes.extend_from_slice(bytes);
                Entry::Uuid(start)
            }
            Item::Signed(integer) => Entry::Signed(integer),
            Item::Unsigned(integer) => Entry::Unsigned(integer),
            Item::Instant(microseconds) => Entry::Instant(microseconds),
            Item::Date(days) => Entry::Date(days),
        };
        memory::push(&mut self.entries, entry)
    }

    /// All items, in order.
    pub fn collected(&self) -> Result<Vec<Item<'_>>> {
        memory::collected(self.entries.iter().map(|&entry| self.item(entry)))
    }

    /// Where the next text begins, after the memory for it was reserved.
    fn room_for_text(&mut self, bytes: usize) -> Result<u32> {
        self.check(bytes)?;
        let reserved = self.text.try_reserve(bytes);
        reserved.map_err(|_| Error::Memory { bytes })?;
        Ok(self.text.len() as u32)
    }

    fn room_for_bytes(&mut self, bytes: usize) -> Result<u32> {
        self.check(bytes)?;
        let reserved = self.bytes.try_reserve(bytes);
        reserved.map_err(|_| Error::Memory { bytes })?;
        Ok(self.bytes.len() as u32)
    }

    fn check(&self, bytes: usize) -> Result<()> {
        if self.text.len() + self.bytes.len() + bytes <= MOST_BYTES {
            return Ok(());
        }
        let expected = format!("at most {MOST_BYTES} bytes in a batch");
        Err(Error::parameter("items", expected, "more"))
    }

    #[inline]
    fn item(&self, entry: Entry) -> Item<'_> {
        let bytes = |start: u32, length: usize| &self.bytes[start as usize..][..length];
        match entry {
            Entry::Text(start, length) => {
                Item::Text(&self.text[start as usize..][..length as usize])
            }
            Entry::Bytes(start, length) => Item::Bytes(bytes(start, length as usize)),
            Entry::Wide(start, length) => Item::Wide(bytes(start, length as usize)),
            Entry::Uuid(start) => match bytes(start, UUID_BYTES).first_chunk() {
                Some(bytes) => Item::Uuid(bytes),
                None => unreachable!("the bytes of a UUID were pushed"),
            },
            Entry::Signed(integer) => Item::Signed(integer),
            Entry::Unsigned(integer) => Item::Unsigned(integer),
            Entry::Instant(microseconds) => Item::Instant(microseconds),
            Entry::Date(days) => Item::Date(days),
        }
    }

    /// Writes each item as a number that holds type and length, and its content.
    fn write(&self, out: &mut Vec<u8>) {
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

    fn read(reader: &mut ByteReader<'_>, number: usize) -> Result<Self> {
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

impl Columns for MixedItems {
    fn len(&self) -> usize {
        self.entries.len()
    }

    fn fingerprints(&self, fingerprinter: &Fingerprinter, start: usize, out: &mut [u64]) {
        for (out, &entry) in out.iter_mut().zip(&self.entries[start..]) {
            *out = fingerprinter.item(self.item(entry));
        }
    }

    fn has_items(&self) -> bool {
        true
    }

    fn items<'a>(&'a self, start: usize, out: &mut [Item<'a>]) {
        for (out, &entry) in out.iter_mut().zip(&self.entries[start..]) {
            *out = self.item(entry);
        }
    }
}

impl Drop for MixedItems {
    fn drop(&mut self) {
        self.text.zeroize();
        self.bytes.zeroize();
        self.entries.fill(Entry::Date(0));
    }
}

/// A length and, in its lowest three bits, a type: seven bits per byte, the lowest first, and the
/// highest bit of a byte says that more follow.
fn put_content(out: &mut Vec<u8>, kind: u8, content: &[u8]) {
    let mut head = (content.len() as u64) << 3 | u64::from(kind);
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
        if shift > 35 {
            return Err(malformed());
        }
    }
}

fn sized<const N: usize>(content: &[u8]) -> Result<[u8; N]> {
    content.try_into().map_err(|_| malformed())
}

fn malformed() -> Error {
    Error::State("expected a batch of items, got other bytes".into())
}
