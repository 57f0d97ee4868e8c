//! The cells of one table that each person has, and how many events of the person each holds.

use crate::parameters::{PersonBound, Shape, TableKind};
use crate::table::hash::RowHashes;
use crate::{Error, Result};

/// What all people have contributed to one table.
pub(super) struct Contributions {
    /// `None` for counters, whose items are their columns.
    hashes: Option<RowHashes>,
    depth: usize,
    cells: usize,
    events: u16,
    /// For each person and row, the columns in the order of their first event.
    columns: Vec<u32>,
    /// For each of them, the events that were counted; 0 from the first free place on.
    counts: Vec<u16>,
}

impl Contributions {
    pub(super) fn new(shape: &Shape, bound: &PersonBound) -> Self {
        let hashes = || RowHashes::new(shape.hash_seed, shape.depth, shape.width);
        Self {
            hashes: (shape.kind != TableKind::Counters).then(hashes),
            depth: shape.depth as usize,
            // No one can have more.
            cells: bound.cells.min(shape.width) as usize,
            events: bound.events as u16,
            columns: Vec::new(),
            counts: Vec::new(),
        }
    }

    pub(super) fn depth(&self) -> usize {
        self.depth
    }

    pub(super) fn bytes_per_person(&self) -> usize {
        (size_of::<u32>() + size_of::<u16>()) * self.depth * self.cells
    }

    /// Appends the place of an event in each row, if the person may contribute it to all rows.
    #[inline]
    pub(super) fn find(&self, person: u32, item: u64, places: &mut Vec<usize>) -> bool {
        (0..self.depth).all(|row| {
            if row > 0 && planted!("people-bounded-in-one-row") {
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

    fn stride(&self) -> usize {
        self.depth * self.cells
    }

    fn column(&self, row: usize, item: u64) -> u32 {
        let hashed = |hashes: &RowHashes| hashes.column(row, item) as u32;
        self.hashes.as_ref().map_or(item as u32, hashed)
    }
}

/// Appends equal values; the room at least doubles when it is used up.
fn extend<T: Copy>(values: &mut Vec<T>, more: usize, value: T) -> Result<()> {
    let bytes = more * size_of::<T>();
    (values.try_reserve(more)).map_err(|_| Error::Memory { bytes })?;
    values.resize(values.len() + more, value);
    Ok(())
}
