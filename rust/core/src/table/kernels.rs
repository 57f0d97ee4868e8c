//! The loops that count a batch, compiled once per counter width, kind of table and depth.
//!
//! An item's cell in row r of column c is `c * depth + r` (column by column, so a push is one
//! contiguous run). A batch is processed in chunks: first the places of all items, row by row in
//! wide registers ([`super::hash_batch`]), then one addition per row and event. Depths up to 8 are
//! compile-time constants, so the independent additions of an event's rows overlap. The second loop
//! is bound by one store per row, and by the additions to one cell that a heavy item causes.

use super::counters::{Counter, Counts};
use super::event_weights::{EventWeights, Ones};
use super::far_cells::{AHEAD, are_far, prefetch_each};
use super::hash::RowHashes;
use super::hash_batch;
use crate::schedule::Cursor;
use crate::{Result, memory};
use std::ops::Range;
use zeroize::Zeroize;

/// Events whose places are held together; with their fingerprints they leave room for the cells in
/// the fastest cache.
pub(crate) const CHUNK: usize = 512;

/// Cells of an item's events; one implementation per kind of table.
pub(crate) trait Locate: Sync {
    /// True if places are doubled to make room for a sign.
    const SIGNED: bool;

    /// The column, and the sign: all ones for -1, zero for +1.
    fn locate(&self, row: usize, item: u64) -> (usize, i64);

    /// The cell, column * depth + row, and the sign.
    #[inline]
    fn cell(&self, row: usize, depth: usize, item: u64) -> (usize, i64) {
        let (column, negative) = self.locate(row, item);
        (column * depth + row, negative)
    }

    /// Writes the places of items in a row to `out`: column * depth + row; with signs, twice that,
    /// plus 1 for a sign of -1.
    fn places(&self, row: usize, depth: usize, items: &[u64], out: &mut [u32]);
}

/// Count-Min: the bucket, always with sign +1.
pub(crate) struct Unsigned<'a>(pub(crate) &'a RowHashes);
/// Count Sketch: the bucket with its sign.
pub(crate) struct Signed<'a>(pub(crate) &'a RowHashes);
/// Counters: the item is the index.
pub(crate) struct Index;

impl Locate for Unsigned<'_> {
    const SIGNED: bool = false;

    #[inline]
    fn locate(&self, row: usize, item: u64) -> (usize, i64) {
        (self.0.column(row, item), 0)
    }

    #[inline]
    fn places(&self, row: usize, depth: usize, items: &[u64], out: &mut [u32]) {
        hash_batch::places(&self.0.places_of_row(row, depth), items, out);
    }
}

impl Locate for Signed<'_> {
    const SIGNED: bool = true;

    #[inline]
    fn locate(&self, row: usize, item: u64) -> (usize, i64) {
        (self.0.column(row, item), self.0.negative(row, item))
    }

    #[inline]
    fn places(&self, row: usize, depth: usize, items: &[u64], out: &mut [u32]) {
        hash_batch::signed_places(&self.0.places_of_row(row, depth), items, out);
    }
}

impl Locate for Index {
    const SIGNED: bool = false;

    #[inline]
    fn locate(&self, _row: usize, item: u64) -> (usize, i64) {
        (item as usize, 0)
    }

    #[inline]
    fn places(&self, row: usize, depth: usize, items: &[u64], out: &mut [u32]) {
        for (out, &item) in out.iter_mut().zip(items) {
            *out = item as u32 * depth as u32 + row as u32;
        }
    }
}

/// The places of one chunk, row by row, and its weights. They reveal the last events, so they are
/// zeroised.
pub(crate) struct Places {
    depth: usize,
    places: Vec<u32>,
    weights: Vec<u64>,
}

impl Places {
    /// For tables of `depth` rows; memory is allocated before the first batch.
    pub(crate) fn new(depth: usize) -> Self {
        Self {
            depth,
            places: Vec::new(),
            weights: Vec::new(),
        }
    }

    /// Allocates the memory, once.
    pub(crate) fn make_room(&mut self) -> Result<()> {
        if self.places.is_empty() {
            self.weights = memory::zeros(CHUNK)?;
            self.places = memory::zeros(self.depth * CHUNK)?;
        }
        Ok(())
    }

    pub(super) fn depth(&self) -> usize {
        self.depth
    }

    /// Fills the places of at most [`CHUNK`] items; each row is [`CHUNK`] long.
    #[inline]
    pub(super) fn fill(&mut self, locate: &impl Locate, items: &[u64]) -> &[u32] {
        for (row, out) in self.places.chunks_exact_mut(CHUNK).enumerate() {
            locate.places(row, self.depth, items, &mut out[..items.len()]);
        }
        &self.places
    }

    /// Fills the places of a chunk, and reads its weights, once.
    #[inline]
    pub(super) fn fill_with<'a, W: EventWeights>(
        &'a mut self,
        locate: &impl Locate,
        chunk: Events<'a, W>,
    ) -> (&'a [u32], Events<'a, W::Read<'a>>) {
        self.fill(locate, chunk.items);
        let events = Events {
            items: chunk.items,
            weights: chunk.weights.read(&mut self.weights[..chunk.items.len()]),
            offset: chunk.offset,
        };
        (&self.places, events)
    }
}

impl Drop for Places {
    fn drop(&mut self) {
        self.places.zeroize();
        self.weights.zeroize();
    }
}

/// Events of a batch at consecutive offsets.
#[derive(Clone, Copy)]
pub(crate) struct Events<'a, W> {
    pub(crate) items: &'a [u64],
    pub(crate) weights: W,
    /// Offset of the first event from the batch's first step.
    pub(crate) offset: u64,
}

impl<'a> Events<'a, Ones> {
    /// Events of weight 1.
    pub(crate) fn ones(items: &'a [u64], offset: u64) -> Self {
        Self {
            items,
            weights: Ones,
            offset,
        }
    }
}

impl<W: EventWeights> Events<'_, W> {
    /// The events from `start` to `end`.
    #[inline]
    pub(crate) fn slice(&self, start: usize, end: usize) -> Self {
        Self {
            items: &self.items[start..end],
            weights: self.weights.slice(start, end),
            offset: self.offset + start as u64,
        }
    }

    #[inline]
    pub(super) fn chunks(self) -> impl Iterator<Item = Self> {
        let length = self.items.len();
        let starts = (0..length).step_by(CHUNK);
        starts.map(move |start| self.slice(start, length.min(start + CHUNK)))
    }
}

/// What the events of a batch are counted in.
pub(crate) trait Tally {
    /// Adds events to the published counts.
    fn add_published(&mut self, locate: &impl Locate, events: Events<'_, impl EventWeights>);
    /// Adds events to the pending counts.
    fn add_pending(&mut self, locate: &impl Locate, events: Events<'_, impl EventWeights>);
    /// Adds events at the steps from `first_step`, and executes each push as it falls due.
    fn add_and_push(
        &mut self,
        locate: &impl Locate,
        events: Events<'_, impl EventWeights>,
        first_step: u64,
        cursor: &mut Cursor,
    );
    /// Moves the pending counts of some columns to the published ones.
    fn push_all(&mut self, columns: Range<u32>);
}

/// Largest depth for which the additions of an event are unrolled.
const UNROLLED: usize = 8;

/// Calls a loop with the depth as a constant; 0 means any depth above [`UNROLLED`].
macro_rules! with_depth {
    ($depth:expr, $loop:ident::<$($type:ty),*>($($argument:expr),*)) => {
        match $depth {
            1 => $loop::<$($type,)* 1>($($argument),*),
            2 => $loop::<$($type,)* 2>($($argument),*),
            3 => $loop::<$($type,)* 3>($($argument),*),
            4 => $loop::<$($type,)* 4>($($argument),*),
            5 => $loop::<$($type,)* 5>($($argument),*),
            6 => $loop::<$($type,)* 6>($($argument),*),
            7 => $loop::<$($type,)* 7>($($argument),*),
            8 => $loop::<$($type,)* 8>($($argument),*),
            _ => $loop::<$($type,)* 0>($($argument),*),
        }
    };
}

/// Adds events to `cells`.
pub(crate) fn add_all<S: Counts + ?Sized, L: Locate, W: EventWeights>(
    places: &mut Places,
    cells: &mut S,
    locate: &L,
    events: Events<'_, W>,
) {
    for chunk in events.chunks() {
        let (depth, events) = (places.depth, 0..chunk.items.len());
        if depth > UNROLLED {
            // Row by row, each with the weights of all events.
            let (places, chunk) = places.fill_with(locate, chunk);
            add_part::<S, L, _>(depth, cells, places, chunk, events);
        } else {
            let places = places.fill(locate, chunk.items);
            add_part::<S, L, W>(depth, cells, places, chunk, events);
        }
    }
}

/// Adds some events of a chunk.
#[inline]
pub(super) fn add_part<S: Counts + ?Sized, L: Locate, W: EventWeights>(
    depth: usize,
    cells: &mut S,
    places: &[u32],
    chunk: Events<'_, W>,
    events: Range<usize>,
) {
    let is_far = are_far(cells.memory());
    let step = if is_far { AHEAD } else { CHUNK };
    let prefetch_part = |cells: &S, events: Range<usize>| {
        for row in places.chunks_exact(CHUNK) {
            prefetch_each(cells.memory(), &row[events.clone()], L::SIGNED.into());
        }
    };
    let part_from = |start: usize| start.min(events.end)..events.end.min(start + step);
    if is_far {
        prefetch_part(cells, part_from(events.start));
    }
    for start in events.clone().step_by(step) {
        if is_far {
            prefetch_part(cells, part_from(start + step));
        }
        let end = part_from(start).end;
        with_depth!(
            depth,
            add_places::<S, L, W>(depth, cells, places, chunk, start, end)
        );
    }
}

/// Adds the events from `start` to `end` of a chunk.
#[inline]
fn add_places<S: Counts + ?Sized, L: Locate, W: EventWeights, const DEPTH: usize>(
    depth: usize,
    cells: &mut S,
    places: &[u32],
    chunk: Events<'_, W>,
    start: usize,
    end: usize,
) {
    if DEPTH == 0 {
        for row in places.chunks_exact(CHUNK).take(depth) {
            add_rows::<S, L, W, 1>(cells, [row], chunk, start, end);
        }
        return;
    }
    let rows: [&[u32]; DEPTH] = std::array::from_fn(|row| &places[row * CHUNK..][..CHUNK]);
    add_rows::<S, L, W, DEPTH>(cells, rows, chunk, start, end);
}

#[inline]
fn add_rows<S: Counts + ?Sized, L: Locate, W: EventWeights, const DEPTH: usize>(
    cells: &mut S,
    rows: [&[u32]; DEPTH],
    chunk: Events<'_, W>,
    start: usize,
    end: usize,
) {
    let rows = rows.map(|row| &row[start..end]);
    for position in 0..end - start {
        let weight = chunk.weights.weight(start + position);
        for row in rows {
            let (cell, negative) = cell_of(L::SIGNED, row[position]);
            cells.add(cell, weight, negative);
        }
    }
}

/// The cell of a place, and its sign: all ones for -1, zero for +1. Places with signs are doubled.
#[inline]
pub(super) fn cell_of(signed: bool, place: u32) -> (usize, i64) {
    if signed {
        (place as usize >> 1, -i64::from(place & 1))
    } else {
        (place as usize, 0)
    }
}

/// The first place of a cell, or a number of places.
#[inline]
pub(super) fn doubled<L: Locate>(cells: usize) -> usize {
    cells << usize::from(L::SIGNED)
}

/// Adds one event to `cells`.
#[inline]
pub(crate) fn add_one<C: Counter>(
    depth: usize,
    cells: &mut [C],
    locate: &impl Locate,
    item: u64,
    weight: u64,
) {
    for row in 0..depth {
        let (cell, negative) = locate.cell(row, depth, item);
        cells[cell].add_signed(weight, negative);
    }
}
