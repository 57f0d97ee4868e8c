//! Columns of text in Arrow's layout.

use crate::lines;

/// Most bytes of an item, as in all formats (`limits.py`): discovery keeps no longer names.
pub const LONGEST_ITEM: usize = 1 << 16;

/// Concatenated texts; text i is `data[offsets[i] .. offsets[i + 1]]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Texts {
    /// One more than the number of texts; starts at 0 and never decreases.
    pub offsets: Vec<i64>,
    /// The bytes of all texts.
    pub data: Vec<u8>,
}

/// Items of a block and the positions of its malformed rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParsedRows {
    /// The items in the order of their rows; none is empty.
    pub items: Texts,
    /// Positions of the rows without an item, counted over all rows, in increasing order.
    pub malformed: Vec<i64>,
}

/// Items of a block with their persons.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowsOfPeople {
    /// The rows with an item and a person.
    pub rows: ParsedRows,
    /// The person of each item.
    pub users: Texts,
    /// Positions of the malformed rows that lack only their person, in increasing order.
    pub without_user: Vec<i64>,
}

impl Texts {
    /// Allocate offsets for one text per row of a block.
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

    /// Return the number of texts.
    pub fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Return whether there are no texts.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Iterate over the texts.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let ends = self.offsets.windows(2);
        ends.map(|ends| &self.data[ends[0] as usize..ends[1] as usize])
    }
}

impl RowsOfPeople {
    /// Allocate for the rows of a block.
    pub(crate) fn of(block: &[u8]) -> Self {
        Self {
            rows: ParsedRows::of(block),
            users: Texts::of(block),
            without_user: Vec::new(),
        }
    }

    /// Append a row; a person that is empty or too long is none.
    pub(crate) fn push(&mut self, item: Option<&[u8]>, user: Option<&[u8]>) {
        let item = item.filter(|item| item.len() <= LONGEST_ITEM);
        match user.filter(|user| is_a_person(user)) {
            Some(user) if item.is_some() => {
                self.users.push(user);
                self.rows.push(item);
            }
            Some(_) => self.rows.push(None),
            None => {
                if item.is_some() {
                    self.without_user.push(self.rows.len() as i64);
                }
                self.rows.push(None);
            }
        }
    }
}

/// Return whether a text can tell a person from others.
pub(crate) fn is_a_person(user: &[u8]) -> bool {
    (1..=LONGEST_ITEM).contains(&user.len())
}

impl ParsedRows {
    /// Allocate for the rows of a block.
    pub(crate) fn of(block: &[u8]) -> Self {
        Self {
            items: Texts::of(block),
            malformed: Vec::new(),
        }
    }

    /// Append a row; without an item, or with one that is too long, it is malformed.
    pub(crate) fn push(&mut self, item: Option<&[u8]>) {
        match item.filter(|item| item.len() <= LONGEST_ITEM) {
            Some(item) => self.items.push(item),
            None => self.malformed.push(self.len() as i64),
        }
    }

    /// Return the number of rows.
    pub fn len(&self) -> usize {
        self.items.len() + self.malformed.len()
    }

    /// Return whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
