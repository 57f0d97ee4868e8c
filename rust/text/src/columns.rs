//! Columns of text, in the layout of Arrow.

use crate::lines;

/// Texts one behind the other; text i is `data[offsets[i] .. offsets[i + 1]]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Texts {
    /// One more than there are texts, from 0, never falling.
    pub offsets: Vec<i64>,
    /// The texts.
    pub data: Vec<u8>,
}

/// Some rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParsedRows {
    /// The item of each row that has one, in order; none is empty.
    pub items: Texts,
    /// Positions among all rows, rising: rows without an item.
    pub malformed: Vec<i64>,
}

impl Texts {
    /// Room for a text of each row of a block.
    pub(crate) fn of(block: &[u8]) -> Self {
        let mut offsets = Vec::with_capacity(lines::count(block) + 1);
        offsets.push(0);
        Self {
            offsets,
            data: Vec::new(),
        }
    }

    pub(crate) fn push(&mut self, text: &[u8]) {
        self.data.extend_from_slice(text);
        self.offsets.push(self.data.len() as i64);
    }

    /// The number of texts.
    pub fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Whether there is no text.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The texts, one by one.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let ends = self.offsets.windows(2);
        ends.map(|ends| &self.data[ends[0] as usize..ends[1] as usize])
    }
}

impl ParsedRows {
    /// Room for the rows of a block.
    pub(crate) fn of(block: &[u8]) -> Self {
        Self {
            items: Texts::of(block),
            malformed: Vec::new(),
        }
    }

    /// Append a row, with its item if it has one.
    pub(crate) fn push(&mut self, item: Option<&[u8]>) {
        match item {
            Some(item) => self.items.push(item),
            None => self.malformed.push(self.len() as i64),
        }
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.items.len() + self.malformed.len()
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
