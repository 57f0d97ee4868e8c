//! The counts of a share of a batch.
//!
//! A share of a batch for a wide table is counted in bytes: they take a quarter of the memory of
//! 32-bit counters, so more of them stay in a fast cache. A count that would leave the range of its
//! byte is carried: it is written to a list, and the byte begins again with the weight that was
//! added. Few are, if weights are small.
//!
//! A share pushes each column once at most, in the order of columns. So what it published is the
//! pushed counts one after the other, and takes no memory for cells that it does not push.

use super::counters::{Counter, Counts, Halves};
use super::far_cells::prefetch_all;
use super::pushed::Pushed;
use super::sums::sum;
use crate::Result;
use crate::memory::{self, Integer};
use std::ops::Range;
use zeroize::Zeroize;

/// Largest weight of an event that is counted in a byte, of either sign.
pub(super) const MOST_WEIGHT: u64 = 8;
/// How far a carried count is from 0 at least: with such a weight it leaves the range.
const LEAST_CARRIED: u64 = i8::MAX as u64 + 1 - MOST_WEIGHT;

/// A count that left its range.
pub(super) struct Carried<T> {
    pub(super) cell: u32,
    /// Cells that were pushed before; 0 for a published count.
    pub(super) after: u32,
    pub(super) count: T,
}

/// Counts in bytes, or in counters like those of the table.
pub(super) struct ShareCounts<T: Integer> {
    /// Cells that this share pushes.
    pushed: Pushed,
    /// The pushed counts, from the first that was pushed on.
    published: Vec<T>,
    /// The counts of all cells since each was pushed.
    pending: Vec<T>,
    carried: Vec<Carried<T>>,
}

impl<T: Counter + Integer> ShareCounts<T> {
    /// Room for some cells, of which some are pushed, and for what is carried of additions whose
    /// absolute weights add up to at most `weight`.
    pub(super) fn with_room(cells: usize, pushed: Pushed, weight: u64) -> Result<Self> {
        let is_byte = size_of::<T>() == 1;
        let carried = if is_byte {
            weight / LEAST_CARRIED + 1
        } else {
            0
        };
        Ok(Self {
            pushed,
            published: memory::room_for(pushed.len())?,
            pending: memory::room_for(cells)?,
            carried: memory::room_for(carried as usize)?,
        })
    }

    /// Begins with counts of 0.
    pub(super) fn begin(&mut self, cells: usize) {
        self.pending.resize(cells, T::default());
    }

    /// Adds neighbouring pending counts, of which `first` is the first.
    pub(super) fn add_pending_to<C: Counter>(&self, cells: &mut [C], first: usize) {
        sum(cells, &self.pending[first..]);
    }

    /// Adds the published counts among neighbouring cells, of which `first` is the first.
    pub(super) fn add_published_to<C: Counter>(&self, cells: &mut [C], first: usize) {
        for (range, from) in self.pushed.within(first, cells.len()) {
            sum(&mut cells[range], &self.published[from..]);
        }
    }

    pub(super) fn pushed(&self) -> Pushed {
        self.pushed
    }

    pub(super) fn carried(&self) -> &[Carried<T>] {
        &self.carried
    }

    #[cold]
    #[inline(never)]
    fn carry(&mut self, cell: usize, after: usize, count: T) {
        debug_assert!(self.carried.len() < self.carried.capacity());
        self.carried.push(Carried {
            cell: cell as u32,
            after: after as u32,
            count,
        });
    }
}

/// A weight with its sign.
#[inline]
fn signed<T: Counter>(weight: u64, negative: i64) -> T {
    let mut signed = T::default();
    signed.add_signed(weight, negative);
    signed
}

impl<T: Counter + Integer> Counts for ShareCounts<T> {
    type Count = T;

    #[inline]
    fn memory(&self) -> &[T] {
        &self.pending
    }

    #[inline]
    fn add(&mut self, cell: usize, weight: u64, negative: i64) {
        let (count, weight) = (self.pending[cell], signed(weight, negative));
        self.pending[cell] = count.with(weight).unwrap_or_else(|| {
            self.carry(cell, self.published.len(), count);
            weight
        });
    }
}

impl<T: Counter + Integer> Halves for ShareCounts<T> {
    type Pending = Self;

    #[inline]
    fn pending(&mut self) -> &mut Self {
        self
    }

    #[inline]
    fn prefetch(&self, cells: Range<usize>) {
        prefetch_all(&self.pending[cells]);
    }

    #[inline]
    fn push(&mut self, cells: Range<usize>) {
        debug_assert!(cells.is_empty() || self.pushed.index(cells.start) == self.published.len());
        let pending = &mut self.pending[cells];
        self.published.extend_from_slice(pending);
        pending.fill(T::default());
    }

    #[inline]
    fn move_back(&mut self, cell: usize, weight: u64, negative: i64) {
        let at = self.pushed.index(cell);
        let (count, less) = (self.published[at], signed(weight, !negative));
        self.published[at] = count.with(less).unwrap_or_else(|| {
            self.carry(cell, 0, count);
            less
        });
        self.add(cell, weight, negative);
    }
}

impl<T: Integer> Drop for ShareCounts<T> {
    fn drop(&mut self) {
        memory::wipe(&mut self.published);
        memory::wipe(&mut self.pending);
        for carried in &mut self.carried {
            carried.cell.zeroize();
            carried.after.zeroize();
            carried.count.zeroize();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CELLS: usize = 8;

    fn counts(first: u32, number: u32, weight: u64) -> ShareCounts<i8> {
        let pushed = Pushed::of(first, number, CELLS as u32);
        let mut counts = ShareCounts::with_room(CELLS, pushed, weight).unwrap();
        counts.begin(CELLS);
        counts
    }

    /// The published and the pending counts of all cells, with what is carried.
    fn sums(counts: &ShareCounts<i8>) -> [Vec<i64>; 2] {
        let mut sums = [vec![0; CELLS], vec![0; CELLS]];
        counts.add_published_to(&mut sums[0], 0);
        counts.add_pending_to(&mut sums[1], 0);
        for carried in &counts.carried {
            let is_pushed = counts.pushed.has(carried.cell, carried.after);
            sums[usize::from(!is_pushed)][carried.cell as usize] += i64::from(carried.count);
        }
        sums
    }

    /// Far over the range of a byte, in both directions and back; what is carried fits the room.
    #[test]
    fn counts_beyond_a_byte_are_carried() {
        for weight in [1, 2, 3, 7, MOST_WEIGHT] {
            let events = 3_000;
            let mut expected = vec![0; CELLS];
            let mut counts = counts(0, 0, events * weight);
            let room = counts.carried.capacity();
            for event in 0..events {
                // The first cell only grows, the second falls far and rises again.
                let cell = usize::from(event % 3 == 0);
                let negative = if cell == 1 && event < 2_400 { -1 } else { 0 };
                counts.add(cell, weight, negative);
                expected[cell] += weight as i64 * (1 + 2 * negative);
            }
            assert_eq!(sums(&counts), [vec![0; CELLS], expected]);
            assert!(counts.carried.len() > 5 && counts.carried.capacity() == room);
        }
    }

    /// Before and after the push of a cell, over the end of the table; events that are moved back
    /// leave the range on both sides.
    #[test]
    fn pushes_move_counts_and_what_was_carried_of_them() {
        let (first, number) = (6, 4);
        let mut counts = counts(first, number, 1 << 20);
        let mut expected = [vec![0; CELLS], vec![0; CELLS]];
        for (run, cells) in [6..8, 0..1, 1..2].into_iter().enumerate() {
            let weight = 5 + run as u64;
            for (cell, expected) in expected[1].iter_mut().enumerate() {
                let negative = -i64::from(cell % 3 == 0);
                (0..60).for_each(|_| counts.add(cell, weight, negative));
                *expected += 60 * weight as i64 * (1 + 2 * negative);
            }
            counts.push(cells.clone());
            for cell in cells {
                expected[0][cell] += std::mem::take(&mut expected[1][cell]);
                for _ in 0..70 {
                    counts.move_back(cell, 8, 0);
                    expected[0][cell] -= 8;
                    expected[1][cell] += 8;
                }
            }
            let [mut published, mut pending] = sums(&counts);
            let halves = published.iter_mut().zip(&mut pending);
            for (cell, (published, pending)) in (0..).zip(halves) {
                // What a later run pushes is not pushed yet.
                if counts.pushed.has(cell, counts.published.len() as u32) {
                    *pending += std::mem::take(published);
                }
            }
            assert_eq!([published, pending], expected, "{run}");
        }
    }

    /// Counters like those of a table carry nothing.
    #[test]
    fn counters_have_the_whole_range() {
        let mut counts = ShareCounts::<i32>::with_room(1, Pushed::default(), u64::MAX).unwrap();
        counts.begin(1);
        (0..1_000).for_each(|_| counts.add(0, 1 << 20, -1));
        let mut sums = [7_i64];
        counts.add_pending_to(&mut sums, 0);
        assert_eq!(sums, [7 - (1_000 << 20)]);
        assert!(counts.carried.is_empty());
    }
}
