//! The names of many items, level by level, each name of repeated items once.

use super::kinds::Hierarchy;
use super::named::Named;
use std::collections::TryReserveError;

/// Texts one after the other, as Arrow has them: text `i` is `data[offsets[i]..offsets[i + 1]]`.
#[derive(Debug, PartialEq, Eq)]
pub struct TextNames {
    /// The texts, all of them UTF-8.
    pub data: Vec<u8>,
    /// One more than there are texts.
    pub offsets: Vec<i32>,
}

/// Why items have no names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SplitError {
    /// The item does not fit the hierarchy.
    Misfit,
    /// There is no memory for this many bytes more.
    Memory(usize),
}

/// The names of the items of a batch.
pub struct NamesOfItems<'a> {
    hierarchy: &'a Hierarchy,
    levels: Vec<TextNames>,
    /// The number of the names of each item.
    rows: Vec<i32>,
    recent: Recent,
}

/// Longer than every name of an item of `length` bytes: lower case is at most three times as long.
fn most_bytes(length: usize) -> usize {
    3 * length + 48
}

impl Default for TextNames {
    fn default() -> Self {
        Self {
            data: Vec::new(),
            offsets: vec![0],
        }
    }
}

impl TextNames {
    /// Appends a text, which must be UTF-8.
    pub fn try_push(&mut self, name: &[u8]) -> Result<(), SplitError> {
        self.make_room(name.len())?;
        self.push(name);
        Ok(())
    }

    fn push(&mut self, name: &[u8]) {
        self.data.extend_from_slice(name);
        self.offsets.push(self.data.len() as i32);
    }

    fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    fn make_room(&mut self, bytes: usize) -> Result<(), SplitError> {
        if self.data.len() + bytes > i32::MAX as usize {
            return Err(SplitError::Memory(bytes));
        }
        let failed = |_: TryReserveError| SplitError::Memory(bytes);
        self.data.try_reserve(bytes).map_err(failed)?;
        self.offsets.try_reserve(1).map_err(failed)
    }
}

impl<'a> NamesOfItems<'a> {
    /// Returns no names, with room for those of some items.
    pub fn of(hierarchy: &'a Hierarchy, items: usize) -> Result<Self, SplitError> {
        let mut rows = Vec::new();
        let failed = |_| SplitError::Memory(items.saturating_mul(size_of::<i32>()));
        rows.try_reserve_exact(items).map_err(failed)?;
        if items > i32::MAX as usize {
            return Err(SplitError::Memory(items));
        }
        Ok(Self {
            hierarchy,
            levels: (0..hierarchy.levels())
                .map(|_| TextNames::default())
                .collect(),
            rows,
            recent: Recent::of(items)?,
        })
    }

    /// Appends the names of an item.
    ///
    /// `hash` is equal for equal items.
    #[inline]
    pub fn push(&mut self, item: Named<'_>, hash: u64) -> Result<(), SplitError> {
        if let Some(row) = self.recent.find(item, hash) {
            self.rows.push(row);
            return Ok(());
        }
        let bytes = match item {
            Named::Text(text) => most_bytes(text.len()),
            Named::Number(_) => most_bytes(0),
        };
        for names in &mut self.levels {
            names.make_room(bytes)?;
        }
        let levels = &mut self.levels;
        if !(self.hierarchy).split(item, &mut |level, name| levels[level].push(name)) {
            return Err(SplitError::Misfit);
        }
        let row = self.levels[0].len() as i32 - 1;
        self.recent.keep(item, hash, row);
        self.rows.push(row);
        Ok(())
    }

    /// Returns the names of each level, and the number of the name of each item; `None` if item `i`
    /// has name `i`.
    pub fn finish(self) -> (Vec<TextNames>, Option<Vec<i32>>) {
        let repeated = self.levels[0].len() < self.rows.len();
        (self.levels, repeated.then_some(self.rows))
    }
}

/// Recent items, each in the slot of its hash, and the numbers of their names.
struct Recent {
    slots: Vec<Slot>,
}

/// One line of a cache.
#[derive(Clone, Copy)]
struct Slot {
    hash: u64,
    row: i32,
    /// Bytes of a text; [`A_NUMBER`] for a number; 0 if the slot is empty.
    length: u32,
    content: Content,
}

const EMPTY: Slot = Slot {
    hash: 0,
    row: 0,
    length: 0,
    content: [0; LONGEST_KEPT],
};

type Content = [u8; 48];

const A_NUMBER: u32 = u32::MAX;
/// They fit into a fast cache.
const MOST_SLOTS: usize = 1 << 12;
/// Longer texts are not kept.
const LONGEST_KEPT: usize = size_of::<Content>();

impl Recent {
    fn of(items: usize) -> Result<Self, SplitError> {
        let number = items.next_power_of_two().min(MOST_SLOTS);
        let mut slots = Vec::new();
        let failed = |_| SplitError::Memory(number * size_of::<Slot>());
        slots.try_reserve_exact(number).map_err(failed)?;
        slots.resize(number, EMPTY);
        Ok(Self { slots })
    }

    fn place(&self, hash: u64) -> usize {
        hash as usize & (self.slots.len() - 1)
    }

    #[inline]
    fn find(&self, item: Named<'_>, hash: u64) -> Option<i32> {
        let slot = &self.slots[self.place(hash)];
        (slot.hash == hash && slot.has(item)).then_some(slot.row)
    }

    /// Keeps an item in place of the one in its slot.
    #[inline]
    fn keep(&mut self, item: Named<'_>, hash: u64, row: i32) {
        let place = self.place(hash);
        let slot = &mut self.slots[place];
        match item {
            Named::Text(text) if is_short(text) => {
                slot.content[..text.len()].copy_from_slice(text.as_bytes());
                slot.length = text.len() as u32;
            }
            Named::Text(_) => return,
            Named::Number(number) => {
                slot.content[..16].copy_from_slice(&number.to_le_bytes());
                slot.length = A_NUMBER;
            }
        }
        (slot.hash, slot.row) = (hash, row);
    }
}

impl Slot {
    #[inline]
    fn has(&self, item: Named<'_>) -> bool {
        match item {
            Named::Text(text) => {
                self.length as usize == text.len()
                    && is_short(text)
                    && begins_with(&self.content, text.as_bytes())
            }
            Named::Number(number) => {
                self.length == A_NUMBER && begins_with(&self.content, &number.to_le_bytes())
            }
        }
    }
}

/// Whether a slot keeps a text; an empty slot looks like an empty text.
#[inline]
fn is_short(text: &str) -> bool {
    (1..=LONGEST_KEPT).contains(&text.len())
}

/// Whether these are the first bytes: word by word, as comparing a variable number of bytes is a call.
#[inline]
fn begins_with(content: &Content, bytes: &[u8]) -> bool {
    let (words, rest) = bytes.as_chunks::<8>();
    let mut pairs = words.iter().zip(content.as_chunks::<8>().0);
    pairs.all(|(word, kept)| word == kept)
        && match bytes.last_chunk::<8>() {
            Some(last) => content[bytes.len() - 8..].first_chunk() == Some(last),
            None => rest.iter().eq(&content[..rest.len()]),
        }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Texts of all lengths under one hash: each is another item, also if it is the beginning of the
    /// last one, or differs from it in one byte.
    #[test]
    fn a_slot_has_the_last_item_alone() {
        let mut recent = Recent::of(1).expect("memory");
        let text_of = |length| ('0'..'z').take(length).collect::<String>();
        assert_eq!(recent.find(Named::Text(""), 0), None);
        for length in 1..=LONGEST_KEPT {
            let text = text_of(length);
            recent.keep(Named::Text(&text), 5, length as i32);
            assert_eq!(recent.find(Named::Text(&text), 5), Some(length as i32));
            assert_eq!(recent.find(Named::Text(&text), 6), None);
            for at in 0..length {
                assert_eq!(recent.find(Named::Text(&text[..at]), 5), None);
                let mut other = text.clone();
                other.replace_range(at..=at, "~");
                let found = recent.find(Named::Text(&other), 5);
                assert_eq!(found, None, "{at} of {length}");
            }
        }
        for unkept in ["", &text_of(LONGEST_KEPT + 1)] {
            recent.keep(Named::Text(unkept), 5, 0);
            assert_eq!(recent.find(Named::Text(unkept), 5), None);
        }
        let longest = text_of(LONGEST_KEPT);
        assert!(recent.find(Named::Text(&longest), 5).is_some());
    }

    #[test]
    fn a_number_is_not_the_text_of_its_bytes() {
        let number = u128::from_le_bytes(*b"0123456789abcdef");
        let items = [Named::Number(number), Named::Text("0123456789abcdef")];
        let mut recent = Recent::of(1).expect("memory");
        assert_eq!(recent.find(Named::Number(0), 0), None);
        for (item, other) in [(items[0], items[1]), (items[1], items[0])] {
            recent.keep(item, 5, 7);
            assert_eq!(recent.find(item, 5), Some(7));
            assert_eq!(recent.find(other, 5), None);
            for bit in 0..128 {
                let changed = Named::Number(number ^ 1 << bit);
                assert_eq!(recent.find(changed, 5), None);
            }
        }
    }
}
