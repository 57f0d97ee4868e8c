//! The cells of one table that each person has, and how many events of the person each holds.

use crate::parameters::{PersonBound, Shape};
use crate::saved_state::{StateReader, StateWriter, refused};
use crate::table::hash::RowHashes;
use crate::{Error, Result};
use std::ops::Range;

/// Where the events of a person are counted against the bound.
enum Places {
    /// In the cells of their items, one in each row.
    Hashed(RowHashes),
    /// In the column that an item is.
    Columns,
    /// All in one place: cells are parts of sums there, so any two events may move the same ones.
    Whole,
}

impl Places {
    fn of(shape: &Shape) -> Self {
        if !shape.kind.has_items() && !planted!("a-bound-for-each-bin") {
            Self::Whole
        } else if shape.kind.has_indices() {
            Self::Columns
        } else {
            Self::Hashed(RowHashes::new(shape.hash_seed, shape.depth, shape.width))
        }
    }

    /// Rows and columns.
    fn size(&self, shape: &Shape) -> (u32, u32) {
        match self {
            Self::Hashed(_) => (shape.depth, shape.width),
            Self::Columns => (1, shape.width),
            Self::Whole => (1, 1),
        }
    }
}

/// What all people have contributed to one table.
pub(super) struct Contributions {
    places: Places,
    depth: usize,
    width: u32,
    cells: usize,
    events: u16,
    /// For each person and row, the columns in the order of their first event.
    columns: Vec<u32>,
    /// For each of them, the events that were counted; 0 from the first free place on.
    counts: Vec<u16>,
}

impl Contributions {
    pub(super) fn new(shape: &Shape, bound: &PersonBound) -> Self {
        let places = Places::of(shape);
        let (depth, width) = places.size(shape);
        Self {
            places,
            depth: depth as usize,
            width,
            // No one can have more.
            cells: planted!("a-bound-for-each-bin", width, bound.cells.min(width)) as usize,
            events: bound.events as u16,
            columns: Vec::new(),
            counts: Vec::new(),
        }
    }

    pub(super) fn depth(&self) -> usize {
        self.depth
    }

    pub(super) fn most_events(&self) -> u64 {
        self.cells as u64 * u64::from(self.events)
    }

    pub(super) fn bytes_per_person(&self) -> usize {
        (size_of::<u32>() + size_of::<u16>()) * self.depth * self.cells
    }

    /// Appends the place of an event in each row, if the person may contribute it to all rows.
    #[inline]
    pub(super) fn find(&self, person: u32, item: u64, places: &mut Vec<usize>) -> bool {
        (0..self.depth).all(|row| {
            if planted!("people-bounded-in-one-row") && row > 0 {
                places.push(places[places.len() - 1] + self.cells);
                return true;
            }
            let column = self.column(row, item);
            let start = (person as usize * self.depth + row) * self.cells;
            let mut of_row = start..start + self.cells;
            let place = of_row.find(|&at| self.counts[at] == 0 || self.columns[at] == column);
            let most = planted!(
                "one-event-of-a-person-too-many",
                self.events + 1,
                self.events
            );
            let is_free = |at: &usize| self.counts[*at] < most;
            place
                .filter(is_free)
                .inspect(|&at| places.push(at))
                .is_some()
        })
    }

    /// Counts an event at the places that [`Self::find`] returned.
    #[inline]
    pub(super) fn add(&mut self, person: u32, item: u64, places: &[usize]) {
        debug_assert!(
            places
                .first()
                .is_none_or(|&at| at / self.stride() == person as usize)
        );
        for (row, &at) in places.iter().enumerate() {
            self.columns[at] = self.column(row, item);
            self.counts[at] += 1;
        }
    }

    /// Makes room for one more person, who has contributed nothing.
    pub(super) fn add_person(&mut self) -> Result<()> {
        let more = self.stride();
        extend(&mut self.columns, more, 0)?;
        extend(&mut self.counts, more, 0)
    }

    /// Forgets all people but the first.
    pub(super) fn truncate(&mut self, people: usize) {
        let length = people * self.stride();
        self.columns.truncate(length);
        self.counts.truncate(length);
    }

    /// Bytes that [`Self::save`] writes of all people together.
    pub(super) fn saved_bytes(&self) -> usize {
        let rows = self.counts.len() / self.cells;
        let held = self.counts.iter().filter(|&&count| count > 0).count();
        let [of_row, column, count] = self.field_bytes();
        rows * of_row + held * (column + count)
    }

    /// Writes what a person has: of each row the number of cells, their columns, and how many events
    /// more than one each of them holds.
    pub(super) fn save(&self, person: usize, out: &mut StateWriter) {
        let [of_row, column, count] = self.field_bytes();
        for row in self.rows_of(person) {
            let held = self.counts[row.clone()].iter().take_while(|&&it| it > 0);
            let held = row.start..row.start + held.count();
            put(out, held.len() as u32, of_row);
            for at in held.clone() {
                put(out, self.columns[at], column);
            }
            for at in held {
                let more = u32::from(self.counts[at]) - 1;
                let more = planted!("restored-people-without-their-counts", 0, more);
                put(out, more, count);
            }
        }
    }

    /// Reads what [`Self::save`] wrote of a person who is known and has nothing yet.
    pub(super) fn restore(&mut self, person: usize, from: &mut StateReader<'_>) -> Result<()> {
        let [of_row, column, count] = self.field_bytes();
        for row in self.rows_of(person) {
            let held = take(from, of_row)? as usize;
            if held > self.cells {
                return refused("expected no more cells of a person than the bound, got more");
            }
            let held = row.start..row.start + held;
            for at in held.clone() {
                let found = take(from, column)?;
                if found >= self.width || self.columns[row.start..at].contains(&found) {
                    return refused("expected different columns of the table, got others");
                }
                self.columns[at] = found;
            }
            for at in held {
                let more = take(from, count)?;
                if more >= self.events.into() {
                    return refused("expected no more events of a person than the bound, got more");
                }
                self.counts[at] = more as u16 + 1;
            }
        }
        Ok(())
    }

    /// Bytes of a number of cells, of a column, and of a count less 1.
    fn field_bytes(&self) -> [usize; 3] {
        let largest = [
            self.cells as u32,
            self.width - 1,
            u32::from(self.events) - 1,
        ];
        largest.map(|largest| (u32::BITS - largest.leading_zeros()).div_ceil(8) as usize)
    }

    fn rows_of(&self, person: usize) -> impl Iterator<Item = Range<usize>> + use<> {
        let (first, cells) = (person * self.stride(), self.cells);
        (0..self.depth).map(move |row| first + row * cells..first + (row + 1) * cells)
    }

    fn stride(&self) -> usize {
        self.depth * self.cells
    }

    fn column(&self, row: usize, item: u64) -> u32 {
        match &self.places {
            Places::Hashed(hashes) => hashes.column(row, item) as u32,
            Places::Columns => item as u32,
            Places::Whole => 0,
        }
    }
}

/// Writes the lowest bytes of a number, of which no other one is used.
fn put(out: &mut StateWriter, number: u32, bytes: usize) {
    out.put_bytes(&number.to_le_bytes()[..bytes]);
}

/// Reads what [`put`] wrote.
fn take(from: &mut StateReader<'_>, bytes: usize) -> Result<u32> {
    let mut number = [0; 4];
    number[..bytes].copy_from_slice(from.take_bytes(bytes)?);
    Ok(u32::from_le_bytes(number))
}

/// Appends equal values; the room at least doubles when it is used up.
fn extend<T: Copy>(values: &mut Vec<T>, more: usize, value: T) -> Result<()> {
    let bytes = more * size_of::<T>();
    (values.try_reserve(more)).map_err(|_| Error::Memory { bytes })?;
    values.resize(values.len() + more, value);
    Ok(())
}
