//! The table: `published` and `pending` counts, and the loop that counts a batch.
//!
//! Cells are stored column by column, so that a push is one contiguous run of `depth` cells.
//! Counters are 32 bits wide until twice the largest possible count would reach 2^31 and 64
//! bits from then on; the caller's bound decides, never a count, and a counter never wraps.
//! Cost of an event: one hash and one addition per row; of a push: `depth` additions.

use crate::hash::RowHashes;
use crate::schedule::Cursor;
use zeroize::Zeroize;

/// Counts up to this bound fit the narrow counters with a factor two to spare.
const NARROW_BOUND: u128 = (1 << 30) - 1;

/// Where an item's events go; one implementation per kind of table.
pub(crate) trait Locate {
    /// Column, and all ones for a sign of -1.
    fn locate(&self, row: usize, item: u64) -> (usize, i64);
}

/// Count-Min: the bucket, always added.
pub(crate) struct Unsigned<'a>(pub(crate) &'a RowHashes);
/// Count Sketch: the bucket with its sign.
pub(crate) struct Signed<'a>(pub(crate) &'a RowHashes);
/// Counters: the item is the index.
pub(crate) struct Index;

impl Locate for Unsigned<'_> {
    #[inline]
    fn locate(&self, row: usize, item: u64) -> (usize, i64) {
        (self.0.column(row, item), 0)
    }
}

impl Locate for Signed<'_> {
    #[inline]
    fn locate(&self, row: usize, item: u64) -> (usize, i64) {
        (self.0.column(row, item), self.0.negative(row, item))
    }
}

impl Locate for Index {
    #[inline]
    fn locate(&self, _row: usize, item: u64) -> (usize, i64) {
        (item as usize, 0)
    }
}

/// Weights of a batch: the constant 1 or one per event.
pub(crate) trait Weights {
    fn weight(&self, position: usize) -> u64;
}

pub(crate) struct Ones;

impl Weights for Ones {
    #[inline]
    fn weight(&self, _position: usize) -> u64 {
        1
    }
}

impl Weights for &[u64] {
    #[inline]
    fn weight(&self, position: usize) -> u64 {
        self[position]
    }
}

trait Counter: Copy + Default + Zeroize {
    fn add_signed(&mut self, weight: u64, negative: i64);
    fn add(&mut self, other: Self);
    fn wide(self) -> i64;
}

macro_rules! counter {
    ($type:ty) => {
        impl Counter for $type {
            #[inline]
            fn add_signed(&mut self, weight: u64, negative: i64) {
                let negative = negative as $type;
                // The bound on counts rules out wrapping; `wrapping_` only avoids a branch.
                *self = self.wrapping_add((weight as $type ^ negative).wrapping_sub(negative));
            }
            #[inline]
            fn add(&mut self, other: Self) {
                *self = self.wrapping_add(other);
            }
            #[inline]
            fn wide(self) -> i64 {
                i64::from(self)
            }
        }
    };
}
counter!(i32);
counter!(i64);

/// Published and pending counts; `pending` is empty where every step pushes every column.
struct Counts<C> {
    published: Vec<C>,
    pending: Vec<C>,
}

impl<C: Counter> Counts<C> {
    fn new(cells: usize, lazy: bool) -> Self {
        Self {
            published: vec![C::default(); cells],
            pending: vec![C::default(); if lazy { cells } else { 0 }],
        }
    }

    fn push(&mut self, depth: usize, column: usize) {
        let range = column * depth..(column + 1) * depth;
        let published = &mut self.published[range.clone()];
        for (published, pending) in published.iter_mut().zip(&mut self.pending[range]) {
            published.add(std::mem::take(pending));
        }
    }

    /// Counts events at steps `step + 1 ..`, pushing what falls due after each.
    fn add_lazily(
        &mut self,
        depth: usize,
        locate: &impl Locate,
        items: &[u64],
        weights: impl Weights,
        mut step: u64,
        cursor: &mut Cursor,
    ) {
        for (position, &item) in items.iter().enumerate() {
            add_event(
                &mut self.pending,
                depth,
                locate,
                item,
                weights.weight(position),
            );
            step += 1;
            if step == cursor.next_step() {
                let column = cursor.advance() as usize;
                self.push(depth, column);
            }
        }
    }
}

#[inline]
fn add_event<C: Counter>(
    cells: &mut [C],
    depth: usize,
    locate: &impl Locate,
    item: u64,
    weight: u64,
) {
    for row in 0..depth {
        let (column, negative) = locate.locate(row, item);
        cells[column * depth + row].add_signed(weight, negative);
    }
}

fn add_all<C: Counter>(
    cells: &mut [C],
    depth: usize,
    locate: &impl Locate,
    items: &[u64],
    weights: impl Weights,
) {
    for (position, &item) in items.iter().enumerate() {
        add_event(cells, depth, locate, item, weights.weight(position));
    }
}

impl<C: Zeroize> Zeroize for Counts<C> {
    fn zeroize(&mut self) {
        self.published.zeroize();
        self.pending.zeroize();
    }
}

enum Cells {
    Narrow(Counts<i32>),
    Wide(Counts<i64>),
}

macro_rules! with_counts {
    ($table:expr, $counts:ident => $body:expr) => {
        match $table {
            Cells::Narrow($counts) => $body,
            Cells::Wide($counts) => $body,
        }
    };
}

/// A depth x width table of exact counts. It never leaves the core of a private sketch.
pub(crate) struct Table {
    depth: usize,
    width: usize,
    cells: Cells,
}

impl Table {
    /// All zero. `lazy` tables keep pending counts; the others publish at once.
    pub(crate) fn new(depth: u32, width: u32, lazy: bool) -> Self {
        let (depth, width) = (depth as usize, width as usize);
        Self {
            depth,
            width,
            cells: Cells::Narrow(Counts::new(depth * width, lazy)),
        }
    }

    /// A table of published counts given row by row, for exact sketches.
    pub(crate) fn from_rows(depth: u32, width: u32, rows: &[i64]) -> Self {
        let (depth, width) = (depth as usize, width as usize);
        let published = (0..depth * width)
            .map(|index| rows[index % depth * width + index / depth])
            .collect();
        Self {
            depth,
            width,
            cells: Cells::Wide(Counts {
                published,
                pending: Vec::new(),
            }),
        }
    }

    /// True while counts up to `bound` fit the counters as they are.
    pub(crate) fn holds(&self, bound: u128) -> bool {
        matches!(self.cells, Cells::Wide(_)) || bound <= NARROW_BOUND
    }

    /// Widens the counters if counts up to `bound` need it.
    pub(crate) fn make_room(&mut self, bound: u128) {
        if self.holds(bound) {
            return;
        }
        if let Cells::Narrow(narrow) = &mut self.cells {
            let wide = |counts: &[i32]| counts.iter().map(|&count| i64::from(count)).collect();
            let counts = Counts {
                published: wide(&narrow.published),
                pending: wide(&narrow.pending),
            };
            narrow.zeroize();
            self.cells = Cells::Wide(counts);
        }
    }

    /// The largest step at which 32-bit counters suffice for weights up to `max_weight`.
    pub(crate) fn last_narrow_step(max_weight: u64) -> u64 {
        (NARROW_BOUND / u128::from(max_weight)) as u64
    }

    /// Adds a batch to the published counts.
    pub(crate) fn add_directly(
        &mut self,
        locate: &impl Locate,
        items: &[u64],
        weights: impl Weights,
    ) {
        let depth = self.depth;
        with_counts!(
            &mut self.cells,
            counts => add_all(&mut counts.published, depth, locate, items, weights)
        );
    }

    /// Adds a batch to the pending counts, one step per event, pushing what falls due.
    pub(crate) fn add_lazily(
        &mut self,
        locate: &impl Locate,
        items: &[u64],
        weights: impl Weights,
        step: u64,
        cursor: &mut Cursor,
    ) {
        let depth = self.depth;
        with_counts!(
            &mut self.cells,
            counts => counts.add_lazily(depth, locate, items, weights, step, cursor)
        );
    }

    /// Adds events to the pending counts without a step.
    pub(crate) fn add_pending(
        &mut self,
        locate: &impl Locate,
        items: &[u64],
        weights: impl Weights,
    ) {
        let depth = self.depth;
        with_counts!(
            &mut self.cells,
            counts => add_all(&mut counts.pending, depth, locate, items, weights)
        );
    }

    /// Moves the pending counts of a column to the published ones.
    pub(crate) fn push(&mut self, column: u32) {
        let depth = self.depth;
        with_counts!(&mut self.cells, counts => counts.push(depth, column as usize));
    }

    /// The published count of a cell.
    #[inline]
    pub(crate) fn published(&self, row: usize, column: usize) -> i64 {
        let index = column * self.depth + row;
        with_counts!(&self.cells, counts => counts.published[index].wide())
    }

    /// The published counts row by row, each passed through `with(row, column, count)`.
    pub(crate) fn by_rows(&self, mut with: impl FnMut(usize, usize, i64) -> i64) -> Vec<i64> {
        let mut rows = Vec::with_capacity(self.depth * self.width);
        for row in 0..self.depth {
            for column in 0..self.width {
                rows.push(with(row, column, self.published(row, column)));
            }
        }
        rows
    }
}

impl Zeroize for Table {
    fn zeroize(&mut self) {
        with_counts!(&mut self.cells, counts => counts.zeroize());
    }
}

impl Drop for Table {
    fn drop(&mut self) {
        self.zeroize();
    }
}
