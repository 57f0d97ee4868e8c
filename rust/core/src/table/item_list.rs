//! Items of a batch in memory of their own, and their bytes in the log of a store.
//!
//! What is counted and what is logged are one value: a batch is converted once, and no other thread
//! can change it in between.

mod encoding;
mod integers;
mod limits;
#[cfg(test)]
mod push_tests;
#[cfg(test)]
mod tests;
mod text_list;

use crate::item::{Item, UUID_BYTES};
use crate::table::hash::Fingerprinter;
use crate::table::items::{Columns, Items};
use crate::{Error, Result, memory};
pub use limits::MOST_BYTES;
use limits::no_room;
use text_list::TextList;

/// Items that are owned, so that they may outlive their source.
pub enum ItemList {
    /// Fingerprints under the hash seed of the one sketch that counts them. The items are unknown.
    Fingerprints(Vec<u64>),
    /// Signed integers.
    Signed(Vec<i64>),
    /// Unsigned integers.
    Unsigned(Vec<u64>),
    /// Texts.
    Texts(TextList),
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
                if let Some(runs) = items.texts() {
                    return TextList::copied(&runs).map(Self::Texts);
                }
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

    /// An empty list for items that come one by one; `number` are expected.
    pub fn with_room(number: usize) -> Result<Self> {
        TextList::with_room(number).map(Self::Texts)
    }

    /// Appends a copy of an item. Texts alone, the usual case, stay a list of texts.
    #[inline]
    pub fn push(&mut self, item: Item<'_>) -> Result<()> {
        match (&mut *self, item) {
            (Self::Texts(texts), Item::Text(text)) => texts.push(text),
            (Self::Mixed(mixed), item) => mixed.push(item),
            (_, item) => self.push_other(item),
        }
    }

    /// Appends an item of another type than those before it.
    #[cold]
    fn push_other(&mut self, item: Item<'_>) -> Result<()> {
        if let Self::Fingerprints(_) = self {
            return Err(Error::parameter("items", "whole items", "fingerprints"));
        }
        let mut mixed = MixedItems::default();
        let expected = match self {
            Self::Texts(texts) => texts.room(),
            _ => self.len() + 1,
        };
        memory::reserve(&mut mixed.entries, expected)?;
        for at in 0..self.len() {
            if let Some(item) = self.item(at) {
                mixed.push(item)?;
            }
        }
        mixed.push(item)?;
        *self = Self::Mixed(mixed);
        Ok(())
    }

    /// All items, in order; none of fingerprints.
    pub fn collected(&self) -> Result<Vec<Item<'_>>> {
        let mut items = memory::room_for(self.len())?;
        for item in (0..self.len()).filter_map(|at| self.item(at)) {
            items.push(item);
        }
        Ok(items)
    }

    /// What one sketch needs of a batch: integers as they are, and else fingerprints.
    pub fn hashed(items: Items<'_>, fingerprinter: &Fingerprinter) -> Result<Self> {
        if let Items::Signed(_) | Items::Unsigned(_) | Items::Narrow(_) = items {
            return Self::copied(items);
        }
        let mut fingerprints = memory::room_for(items.len())?;
        items.for_each_chunk(fingerprinter, |_, chunk| {
            fingerprints.extend_from_slice(chunk);
        });
        Ok(Self::Fingerprints(fingerprints))
    }

    /// False of fingerprints, which one sketch can count and nothing else.
    pub fn has_items(&self) -> bool {
        !matches!(self, Self::Fingerprints(_))
    }

    /// The items, for counting.
    pub fn items(&self) -> Items<'_> {
        match self {
            Self::Fingerprints(items) => Items::Ready(items),
            Self::Signed(items) => Items::Signed(items),
            Self::Unsigned(items) => Items::Unsigned(items),
            Self::Texts(items) => Items::columns(items),
            Self::Mixed(items) => Items::columns(items),
        }
    }

    /// Copies the items at some positions, in this order; positions after the last are left out.
    pub fn selected(&self, positions: impl Iterator<Item = usize>) -> Result<Self> {
        Ok(match self {
            Self::Signed(items) => Self::Signed(selected(items, positions)?),
            Self::Unsigned(items) => Self::Unsigned(selected(items, positions)?),
            Self::Fingerprints(items) => Self::Fingerprints(selected(items, positions)?),
            Self::Texts(_) | Self::Mixed(_) => {
                let mut copies = MixedItems::default();
                for item in positions.filter_map(|at| self.item(at)) {
                    copies.push(item)?;
                }
                Self::Mixed(copies)
            }
        })
    }

    /// Number of items.
    pub fn len(&self) -> usize {
        self.items().len()
    }

    /// True if there are no items.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Item number `at`; `None` of fingerprints.
    pub fn item(&self, at: usize) -> Option<Item<'_>> {
        match self {
            Self::Fingerprints(_) => None,
            Self::Signed(items) => items.get(at).map(|&item| Item::Signed(item)),
            Self::Unsigned(items) => items.get(at).map(|&item| Item::Unsigned(item)),
            Self::Texts(items) => items.get(at).map(Item::Text),
            Self::Mixed(items) => items.entries.get(at).map(|&entry| items.item(entry)),
        }
    }
}

fn selected<T: Copy>(values: &[T], positions: impl Iterator<Item = usize>) -> Result<Vec<T>> {
    let mut copies = memory::room_for(positions.size_hint().0)?;
    for &value in positions.filter_map(|at| values.get(at)) {
        memory::push(&mut copies, value)?;
    }
    Ok(copies)
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
        Err(no_room())
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
        memory::wipe(&mut std::mem::take(&mut self.text).into_bytes());
        memory::wipe(&mut self.bytes);
        self.entries.fill(Entry::Date(0));
    }
}
