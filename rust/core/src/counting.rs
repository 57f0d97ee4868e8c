//! The loops that count a batch, one instance per counter width, kind of table and depth.
//!
//! An item's cell in row r of column c is `c * depth + r` (column by column, so that a push is one
//! contiguous run). Depths up to 8 are compile-time constants: the rows unroll and their hashes
//! overlap. What bounds the loops is two multiplications per row and the additions to one and the
//! same cell that a heavy item causes, event after event.

use crate::hash::RowHashes;
use crate::schedule::Cursor;
use zeroize::Zeroize;

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
pub(crate) trait Weights: Copy {
    fn weight(&self, position: usize) -> u64;
}

#[derive(Clone, Copy)]
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

/// A counter of 32 or 64 bits. The bound on counts rules out wrapping; `wrapping_` only avoids a
/// branch.
pub(crate) trait Counter: Copy + Default + Zeroize {
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

/// When each column was last pushed within a batch, as an offset from the batch's first step;
/// `all_before` is the smallest of them.
pub(crate) struct LastPushes {
    pub(crate) offsets: Vec<u64>,
    pub(crate) all_before: u64,
}

/// Events of a batch at consecutive offsets.
#[derive(Clone, Copy)]
pub(crate) struct Events<'a, W> {
    pub(crate) items: &'a [u64],
    pub(crate) weights: W,
    /// Offset of the first event from the batch's first step.
    pub(crate) offset: u64,
}

/// Calls a loop with the depth as a constant, or with 0 for depths that are rare.
macro_rules! with_depth {
    ($depth:expr, $loop:ident($($argument:expr),*)) => {
        match $depth {
            1 => $loop::<_, 1>($($argument),*),
            2 => $loop::<_, 2>($($argument),*),
            3 => $loop::<_, 3>($($argument),*),
            4 => $loop::<_, 4>($($argument),*),
            5 => $loop::<_, 5>($($argument),*),
            6 => $loop::<_, 6>($($argument),*),
            7 => $loop::<_, 7>($($argument),*),
            8 => $loop::<_, 8>($($argument),*),
            _ => $loop::<_, 0>($($argument),*),
        }
    };
}

/// Adds events to `cells`.
pub(crate) fn add_all<C: Counter>(
    depth: usize,
    cells: &mut [C],
    locate: &impl Locate,
    events: Events<'_, impl Weights>,
) {
    with_depth!(depth, add_all_rows(depth, cells, locate, events));
}

#[inline]
fn add_all_rows<C: Counter, const DEPTH: usize>(
    depth: usize,
    cells: &mut [C],
    locate: &impl Locate,
    events: Events<'_, impl Weights>,
) {
    for (position, &item) in events.items.iter().enumerate() {
        let weight = events.weights.weight(position);
        add_event::<C, DEPTH>(depth, cells, locate, item, weight);
    }
}

#[inline]
fn add_event<C: Counter, const DEPTH: usize>(
    depth: usize,
    cells: &mut [C],
    locate: &impl Locate,
    item: u64,
    weight: u64,
) {
    let depth = if DEPTH == 0 { depth } else { DEPTH };
    for row in 0..depth {
        let (column, negative) = locate.locate(row, item);
        cells[column * depth + row].add_signed(weight, negative);
    }
}

/// Adds events to the pending cells and takes every push that falls due after an event. Cheapest
/// where pushes are rare or the batch is short.
pub(crate) fn add_and_push<C: Counter>(
    depth: usize,
    published: &mut [C],
    pending: &mut [C],
    locate: &impl Locate,
    events: Events<'_, impl Weights>,
    first_step: u64,
    cursor: &mut Cursor,
) {
    with_depth!(
        depth,
        add_and_push_rows(
            depth, published, pending, locate, events, first_step, cursor
        )
    );
}

#[inline]
fn add_and_push_rows<C: Counter, const DEPTH: usize>(
    depth: usize,
    published: &mut [C],
    pending: &mut [C],
    locate: &impl Locate,
    events: Events<'_, impl Weights>,
    first_step: u64,
    cursor: &mut Cursor,
) {
    let first_step = first_step + events.offset;
    for (position, &item) in events.items.iter().enumerate() {
        let weight = events.weights.weight(position);
        add_event::<C, DEPTH>(depth, pending, locate, item, weight);
        while first_step + position as u64 == cursor.next_step() {
            push(depth, published, pending, cursor.advance() as usize);
        }
    }
}

/// Moves the pending counts of a column to the published ones.
#[inline]
pub(crate) fn push<C: Counter>(
    depth: usize,
    published: &mut [C],
    pending: &mut [C],
    column: usize,
) {
    let column = column * depth..(column + 1) * depth;
    let published = &mut published[column.clone()];
    for (published, pending) in published.iter_mut().zip(&mut pending[column]) {
        published.add(std::mem::take(pending));
    }
}

/// Adds the events of a batch in which every column is pushed, straight to where they end: an
/// event at or before the last push of its column to `cells[..half]` (published), a later one to
/// `cells[half..]` (pending).
pub(crate) fn add_by_last_push<C: Counter>(
    depth: usize,
    cells: &mut [C],
    locate: &impl Locate,
    events: Events<'_, impl Weights>,
    last: &LastPushes,
) {
    with_depth!(
        depth,
        add_by_last_push_rows(depth, cells, locate, events, last)
    );
}

#[inline]
fn add_by_last_push_rows<C: Counter, const DEPTH: usize>(
    depth: usize,
    cells: &mut [C],
    locate: &impl Locate,
    events: Events<'_, impl Weights>,
    last: &LastPushes,
) {
    let depth = if DEPTH == 0 { depth } else { DEPTH };
    let half = cells.len() / 2;
    for (position, &item) in events.items.iter().enumerate() {
        let weight = events.weights.weight(position);
        let offset = events.offset + position as u64;
        for row in 0..depth {
            let (column, negative) = locate.locate(row, item);
            let pending = usize::from(offset > last.offsets[column]);
            cells[column * depth + row + pending * half].add_signed(weight, negative);
        }
    }
}
