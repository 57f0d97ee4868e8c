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
#[derive(Clone, Copy, Default)]
struct Slot {
    hash: u64,
    row: i32,
    /// Bytes of a text; [`A_NUMBER`] for a number; 0 if the slot is empty.
    length: u32,
    content: Content,
}

type Content = [u64; 6];

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
        slots.resize(number, Slot::default());
        Ok(Self { slots })
    }

    fn place(&self, hash: u64) -> usize {
        hash as usize & (self.slots.len() - 1)
    }

    #[inline]
    fn find(&self, item: Named<'_>, hash: u64) -> Option<i32> {
        let slot = &self.slots[self.place(hash)];
        if slot.hash != hash {
            return None;
        }
        let (content, length) = content_of(item)?;
        (slot.length == length && slot.content == content).then_some(slot.row)
    }

    /// Keeps an item in place of the one in its slot.
    #[inline]
    fn keep(&mut self, item: Named<'_>, hash: u64, row: i32) {
        if let Some((content, length)) = content_of(item) {
            let place = self.place(hash);
            self.slots[place] = Slot {
                hash,
                row,
                length,
                content,
            };
        }
    }
}

/// Returns what a slot keeps of an item; nothing of one that is empty or too long.
#[inline]
fn content_of(item: Named<'_>) -> Option<(Content, u32)> {
    let mut content = Content::default();
    match item {
        Named::Number(number) => {
            content[0] = number as u64;
            content[1] = (number >> 64) as u64;
            Some((content, A_NUMBER))
        }
        Named::Text(text) if (1..=LONGEST_KEPT).contains(&text.len()) => {
            for (word, bytes) in content.iter_mut().zip(text.as_bytes().chunks(8)) {
                let mut padded = [0; 8];
                padded[..bytes.len()].copy_from_slice(bytes);
                *word = u64::from_le_bytes(padded);
            }
            Some((content, text.len() as u32))
        }
        Named::Text(_) => None,
    }
}
