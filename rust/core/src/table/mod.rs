//! The table: `published` and `pending` counts of every cell.
//!
//! Counters are 32 bits wide until twice the largest possible count would reach 2^31, and 64 bits
//! from then on. The caller's bound decides, never a count, and a counter never wraps. Cost of an
//! event: one hash and one addition per row; of a push: `depth` additions.

pub mod bins;
mod counters;
pub(crate) mod estimator;
pub(crate) mod event_weights;
mod far_cells;
pub mod hash;
mod hash_batch;
pub(crate) mod ingest;
pub mod item_list;
pub mod items;
pub(crate) mod kernels;
mod pushed;
mod pushes;
pub(crate) mod range_rows;
pub mod seen_bits;

use crate::saved_state::{StateReader, StateWriter, refused};
use crate::schedule::Cursor;
use crate::{Result, memory};
use counters::{Counter, Halves, TableHalves};
use event_weights::EventWeights;
use kernels::{Events, Locate, Places, Tally, add_all, add_one};
use pushes::add_and_push;
use std::ops::Range;

/// Counts up to this bound fit narrow counters with a factor of two to spare.
const NARROW_BOUND: u128 = (1 << 30) - 1;

/// Published counts, followed in a lazy table by as many pending counts.
enum Cells {
    Narrow(Vec<i32>),
    Wide(Vec<i64>),
}

macro_rules! with_cells {
    ($table:expr, $cells:ident => $body:expr) => {
        match $table {
            Cells::Narrow($cells) => $body,
            Cells::Wide($cells) => $body,
        }
    };
}

mod share_counts;
mod shares;
pub(crate) mod sums;

/// A depth x width table of exact counts. It never leaves the core of a private sketch.
pub(crate) struct Table {
    depth: usize,
    width: usize,
    cells: Cells,
    places: Places,
}

impl Table {
    /// A table of zeros. `lazy` tables keep pending counts; others publish immediately.
    pub(crate) fn new(depth: u32, width: u32, lazy: bool) -> Result<Self> {
        let (depth, width) = (depth as usize, width as usize);
        let counters = depth * width * if lazy { 2 } else { 1 };
        Ok(Self {
            depth,
            width,
            cells: Cells::Narrow(memory::zeros(counters)?),
            places: Places::new(depth),
        })
    }

    /// A table of published counts given row by row, for exact sketches.
    pub(crate) fn from_rows(depth: u32, width: u32, rows: &[i64]) -> Result<Self> {
        let (depth, width) = (depth as usize, width as usize);
        let published = (0..depth * width).map(|cell| rows[cell % depth * width + cell / depth]);
        Ok(Self {
            depth,
            width,
            cells: Cells::Wide(memory::collected(published)?),
            places: Places::new(depth),
        })
    }

    /// Widens the counters if counts up to `bound` need it.
    pub(crate) fn make_room(&mut self, bound: u128) -> Result<()> {
        if let Some(wider) = self.wider(bound)? {
            self.widen(wider);
        }
        Ok(())
    }

    /// Memory for the wide counters, if counts up to `bound` need them.
    pub(crate) fn wider(&self, bound: u128) -> Result<Option<Vec<i64>>> {
        match &self.cells {
            Cells::Narrow(narrow) if bound > NARROW_BOUND => {
                memory::room_for(narrow.len()).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// Moves narrow counters to the memory of [`Self::wider`].
    pub(crate) fn widen(&mut self, mut wider: Vec<i64>) {
        if let Cells::Narrow(narrow) = &mut self.cells {
            wider.extend(narrow.iter().map(|&count| i64::from(count)));
            memory::wipe(narrow);
            self.cells = Cells::Wide(wider);
        }
    }

    /// Allocates what counting a batch needs.
    pub(crate) fn make_room_for_places(&mut self) -> Result<()> {
        self.places.make_room()
    }

    /// The largest step at which 32-bit counters suffice for weights up to `max_weight`.
    pub(crate) fn last_narrow_step(max_weight: u64) -> u64 {
        (NARROW_BOUND / u128::from(max_weight)) as u64
    }

    /// Adds one event to the pending counts, or to the published counts of a table without pending
    /// ones.
    #[inline]
    pub(crate) fn add_one(&mut self, locate: &impl Locate, item: u64, weight: u64) {
        let (depth, half) = (self.depth, self.depth * self.width);
        with_cells!(&mut self.cells, cells => {
            let start = cells.len() - half;
            add_one(depth, &mut cells[start..], locate, item, weight);
        });
    }

    /// Moves the pending counts of a column to the published ones.
    #[inline]
    pub(crate) fn push(&mut self, column: u32) {
        self.push_all(column..column + 1);
    }

    /// Published and pending counts of the first row of a column.
    pub(crate) fn counted(&self, column: usize) -> i64 {
        let half = self.depth * self.width;
        with_cells!(&self.cells, cells => {
            cells.chunks(half).map(|counts| counts[column * self.depth].wide()).sum()
        })
    }

    /// Number of cells.
    pub(crate) fn cells(&self) -> usize {
        self.depth * self.width
    }

    /// An empty table of the same shape and counter width.
    pub(crate) fn empty(&self) -> Result<Self> {
        let cells = match &self.cells {
            Cells::Narrow(cells) => Cells::Narrow(memory::zeros(cells.len())?),
            Cells::Wide(cells) => Cells::Wide(memory::zeros(cells.len())?),
        };
        Ok(Self {
            depth: self.depth,
            width: self.width,
            cells,
            places: Places::new(self.depth),
        })
    }

    /// True for 64-bit counters.
    pub(crate) fn is_wide(&self) -> bool {
        matches!(self.cells, Cells::Wide(_))
    }

    /// Sets every count to 0.
    pub(crate) fn clear(&mut self) {
        with_cells!(&mut self.cells, cells => cells.fill(0));
    }

    /// The published count of a cell.
    #[inline]
    pub(crate) fn published(&self, row: usize, column: usize) -> i64 {
        let cell = column * self.depth + row;
        with_cells!(&self.cells, cells => {
            let pending = || cells.get(self.cells() + cell).map_or(0, |pending| pending.wide());
            cells[cell].wide() + planted!("pending-counts-published", pending(), 0)
        })
    }

    /// The published counts, row by row.
    pub(crate) fn rows(&self) -> Result<Vec<i64>> {
        let mut rows = memory::room_for(self.cells())?;
        for row in 0..self.depth {
            rows.extend((0..self.width).map(|column| self.published(row, column)));
        }
        Ok(rows)
    }
}

impl Table {
    /// Bytes that [`Self::save`] writes of cells with counts up to `bound`.
    pub(crate) fn saved_bytes_of(cells: usize, bound: u128) -> usize {
        1 + cells * if bound > NARROW_BOUND { 8 } else { 4 }
    }

    /// Bytes that [`Self::save`] writes.
    pub(crate) fn saved_bytes(&self) -> usize {
        1 + with_cells!(&self.cells, cells => size_of_val(cells.as_slice()))
    }

    /// Writes the counts; the shape is a parameter of the sketch.
    pub(crate) fn save(&self, out: &mut StateWriter) {
        out.put_flag(matches!(self.cells, Cells::Wide(_)));
        match &self.cells {
            Cells::Narrow(cells) => out.put_all(cells, i32::to_le_bytes),
            Cells::Wide(cells) => out.put_all(cells, i64::to_le_bytes),
        }
    }

    /// Takes over the counts that a table of this shape wrote, none of which can be beyond `bound`.
    pub(crate) fn restore(&mut self, state: &mut StateReader<'_>, bound: u128) -> Result<()> {
        let is_wide = state.take_flag()?;
        let counters = with_cells!(&self.cells, cells => cells.len());
        let size = if is_wide { 8 } else { 4 };
        let words = state.take_bytes(counters * size)?.chunks_exact(size);
        self.cells = if is_wide {
            let word = |word: &[u8]| i64::from_le_bytes(word.try_into().unwrap_or_default());
            Cells::Wide(memory::collected(words.map(word))?)
        } else {
            let word = |word: &[u8]| i32::from_le_bytes(word.try_into().unwrap_or_default());
            Cells::Narrow(memory::collected(words.map(word))?)
        };
        let is_possible = |count: i64| u128::from(count.unsigned_abs()) <= bound;
        if with_cells!(&self.cells, cells => cells.iter().all(|count| is_possible(count.wide()))) {
            return Ok(());
        }
        refused("expected counts that the step allows, got a larger one")
    }
}

impl Tally for Table {
    fn add_published(&mut self, locate: &impl Locate, events: Events<'_, impl EventWeights>) {
        let (places, half) = (&mut self.places, self.depth * self.width);
        with_cells!(&mut self.cells, cells => add_all(places, &mut cells[..half], locate, events));
    }

    fn add_pending(&mut self, locate: &impl Locate, events: Events<'_, impl EventWeights>) {
        let (places, half) = (&mut self.places, self.depth * self.width);
        with_cells!(&mut self.cells, cells => add_all(places, &mut cells[half..], locate, events));
    }

    fn add_and_push(
        &mut self,
        locate: &impl Locate,
        events: Events<'_, impl EventWeights>,
        first_step: u64,
        cursor: &mut Cursor,
    ) {
        let (places, half) = (&mut self.places, self.depth * self.width);
        with_cells!(&mut self.cells, cells => {
            let (published, pending) = cells.split_at_mut(half);
            let mut halves = TableHalves { published, pending };
            add_and_push(places, &mut halves, locate, events, first_step, cursor);
        });
    }

    fn push_all(&mut self, columns: Range<u32>) {
        let (depth, half) = (self.depth, self.depth * self.width);
        with_cells!(&mut self.cells, cells => {
            let (published, pending) = cells.split_at_mut(half);
            let pushed = columns.start as usize * depth..columns.end as usize * depth;
            TableHalves { published, pending }.push(pushed);
        });
    }
}

impl Drop for Table {
    fn drop(&mut self) {
        with_cells!(&mut self.cells, cells => memory::wipe(cells));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kernels::Index;

    /// 2^30 - 1, and half of it for events of weight 2.
    #[test]
    fn counters_are_narrow_up_to_their_bound() {
        let most = 1_073_741_823;
        assert_eq!(Table::last_narrow_step(1), most);
        assert_eq!(Table::last_narrow_step(2), most / 2);
        assert_eq!(Table::last_narrow_step(3), most / 3);
        assert_eq!(Table::last_narrow_step(1 << 30), 0);
        let mut table = Table::new(1, 3, true).unwrap();
        for bound in [0, 1, u128::from(most)] {
            assert_eq!(table.wider(bound).unwrap(), None);
        }
        table.add_one(&Index, 2, most);
        table.push(2);
        table.add_one(&Index, 2, most);
        let wider = table.wider(u128::from(most) + 1).unwrap().unwrap();
        assert!(wider.is_empty() && wider.capacity() >= 6);
        table.widen(wider);
        assert_eq!(table.wider(u128::MAX).unwrap(), None);
        table.add_one(&Index, 2, 4 * most);
        assert_eq!(table.rows().unwrap(), [0, 0, most as i64]);
        table.push(2);
        assert_eq!(table.rows().unwrap(), [0, 0, 6 * most as i64]);
    }

    /// Column by column, also in a table of several rows, which share the index.
    #[test]
    fn places_of_counters_follow_from_the_index() {
        let mut out = [0; 3];
        Index.places(2, 5, &[0, 3, 4], &mut out);
        assert_eq!(out, [2, 17, 22]);
        assert_eq!(Index.locate(2, 3), (3, 0));
    }

    /// Both halves of a table, at both widths of counters.
    #[test]
    fn tables_are_added_cell_by_cell() {
        for is_wide in [false, true] {
            let table = |weight: u64| {
                let mut table = Table::new(1, 2, true).unwrap();
                table
                    .make_room(if is_wide { u128::MAX } else { 1 })
                    .unwrap();
                table.add_one(&Index, 0, weight);
                table.push(0);
                table.add_one(&Index, 1, 10 * weight);
                table
            };
            let (mut sum, other) = (table(1), table(2));
            sum.add_table(&other);
            assert_eq!(sum.rows().unwrap(), [3, 0]);
            sum.push(1);
            assert_eq!(sum.rows().unwrap(), [3, 30]);
            assert_eq!(
                (sum.cells(), sum.empty().unwrap().rows().unwrap()),
                (2, vec![0, 0])
            );
        }
    }
}
