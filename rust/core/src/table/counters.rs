//! Counters, and what the loops over a batch ask of the counts of cells.

use super::far_cells::prefetch_all;
use std::ops::Range;

/// A counter of 32 or 64 bits, or of a byte for a share of a batch. The bound on counts rules out
/// that one of 32 or 64 bits wraps; `wrapping_` operations only avoid a branch.
pub(crate) trait Counter: Copy + Default + Send + Sync {
    /// Adds a weight, with the sign -1 if `negative` is all ones.
    fn add_signed(&mut self, weight: u64, negative: i64);
    /// Adds a count.
    fn add(&mut self, other: Self);
    /// The sum with a weight that may have a sign, if it is in the range.
    fn with(self, weight: Self) -> Option<Self>;
    fn wide(self) -> i64;
}

macro_rules! counter {
    ($type:ty, $sum:expr) => {
        impl Counter for $type {
            #[inline]
            fn add_signed(&mut self, weight: u64, negative: i64) {
                let negative = negative as $type;
                *self = self.wrapping_add((weight as $type ^ negative).wrapping_sub(negative));
            }
            #[inline]
            fn add(&mut self, other: Self) {
                *self = self.wrapping_add(other);
            }
            #[inline]
            fn with(self, weight: Self) -> Option<Self> {
                $sum(self, weight)
            }
            #[inline]
            fn wide(self) -> i64 {
                i64::from(self)
            }
        }
    };
}
counter!(i8, i8::checked_add);
counter!(i32, |count: i32, weight| Some(count.wrapping_add(weight)));
counter!(i64, |count: i64, weight| Some(count.wrapping_add(weight)));

/// Counts of cells, to which events are added.
pub(crate) trait Counts {
    /// What is in memory for each cell.
    type Count;
    /// The memory; it is only prefetched.
    fn memory(&self) -> &[Self::Count];
    /// Adds a weight to a cell, with the sign -1 if `negative` is all ones.
    fn add(&mut self, cell: usize, weight: u64, negative: i64);
}

impl<C: Counter> Counts for [C] {
    type Count = C;

    #[inline]
    fn memory(&self) -> &[C] {
        self
    }

    #[inline]
    fn add(&mut self, cell: usize, weight: u64, negative: i64) {
        self[cell].add_signed(weight, negative);
    }
}

/// Pending counts of cells, and the published ones to which pushes move them.
pub(crate) trait Halves {
    type Pending: Counts + ?Sized;
    fn pending(&mut self) -> &mut Self::Pending;
    /// Begins to read what a push of some cells needs.
    fn prefetch(&self, cells: Range<usize>);
    /// Moves the pending counts of some cells to the published ones.
    fn push(&mut self, cells: Range<usize>);
    /// Moves the weight of one event from the published to the pending count of a cell.
    fn move_back(&mut self, cell: usize, weight: u64, negative: i64);
}

/// The halves of a table, or of a part of it.
pub(super) struct TableHalves<'a, C> {
    pub(super) published: &'a mut [C],
    pub(super) pending: &'a mut [C],
}

impl<C: Counter> Halves for TableHalves<'_, C> {
    type Pending = [C];

    #[inline]
    fn pending(&mut self) -> &mut [C] {
        self.pending
    }

    #[inline]
    fn prefetch(&self, cells: Range<usize>) {
        prefetch_all(&self.published[cells.clone()]);
        prefetch_all(&self.pending[cells]);
    }

    #[inline]
    fn push(&mut self, cells: Range<usize>) {
        let pending = &mut self.pending[cells.clone()];
        for (published, pending) in self.published[cells].iter_mut().zip(pending) {
            published.add(std::mem::take(pending));
        }
    }

    #[inline]
    fn move_back(&mut self, cell: usize, weight: u64, negative: i64) {
        self.published[cell].add_signed(weight, !negative);
        self.pending[cell].add_signed(weight, negative);
    }
}
