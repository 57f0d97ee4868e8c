//! The items of a batch in the forms that callers hold them in.
//!
//! A batch is checked in full before the first event is applied. Items are hashed in small chunks
//! that stay in the fastest cache.

#[cfg(test)]
mod tests;

use crate::item::Item;
use crate::table::hash::Fingerprinter;
use crate::table::kernels::CHUNK;
use crate::{Error, Result};

/// Columns of a format unknown to the core, hashed in place. The implementation has already checked
/// them.
pub trait Columns: Sync {
    /// Number of items.
    fn len(&self) -> usize;

    /// True if there are no items.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Writes the fingerprints of the items from `start` on to `out`, one per entry.
    fn fingerprints(&self, fingerprinter: &Fingerprinter, start: usize, out: &mut [u64]);

    /// True if [`Self::items`] returns the items; false if only fingerprints are available.
    fn has_items(&self) -> bool {
        false
    }

    /// Writes the items from `start` on to `out`, one per entry, if [`Self::has_items`].
    fn items<'a>(&'a self, _start: usize, _out: &mut [Item<'a>]) {}

    /// All items, if they are texts that lie one after the other.
    fn texts(&self) -> Option<Vec<TextRun<'_>>> {
        None
    }
}

/// Texts one after the other: number i is in `content` from `offsets[i]` to `offsets[i + 1]`.
#[derive(Clone, Copy)]
pub struct TextRun<'a> {
    /// UTF-8, and what precedes and follows the texts.
    pub content: &'a [u8],
    /// One more than there are texts.
    pub offsets: &'a [i32],
}

/// Items of one batch.
#[derive(Clone, Copy)]
pub enum Items<'a> {
    /// Fingerprints under the sketch's own hash seed, or indices of counters.
    Ready(&'a [u64]),
    /// Signed integers.
    Signed(&'a [i64]),
    /// Unsigned integers.
    Unsigned(&'a [u64]),
    /// Signed integers of 32 bits.
    Narrow(&'a [i32]),
    /// Items of any type.
    Mixed(&'a [Item<'a>]),
    /// The items of some columns from the first position to the second.
    Columns(&'a dyn Columns, usize, usize),
}

/// Batches up to this length use a buffer of this length.
const SHORT: usize = 32;

impl<'a> Items<'a> {
    /// All items of some columns.
    pub fn columns(columns: &'a dyn Columns) -> Self {
        Self::Columns(columns, 0, columns.len())
    }

    /// Number of events.
    pub fn len(&self) -> usize {
        match self {
            Self::Ready(items) | Self::Unsigned(items) => items.len(),
            Self::Signed(items) => items.len(),
            Self::Narrow(items) => items.len(),
            Self::Mixed(items) => items.len(),
            Self::Columns(_, start, end) => end - start,
        }
    }

    /// True if there are no events.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All items, if they are texts that lie one after the other.
    pub(crate) fn texts(&self) -> Option<Vec<TextRun<'a>>> {
        match *self {
            Self::Columns(columns, 0, end) if end == columns.len() => columns.texts(),
            _ => None,
        }
    }

    /// The fingerprint of the only item of a batch of one.
    #[inline]
    pub(crate) fn only(&self, fingerprinter: &Fingerprinter) -> Option<u64> {
        Some(match *self {
            Self::Ready(&[item]) => item,
            Self::Signed(&[item]) => fingerprinter.signed(item),
            Self::Unsigned(&[item]) => fingerprinter.unsigned(item),
            Self::Narrow(&[item]) => fingerprinter.signed(item.into()),
            Self::Mixed(&[item]) => fingerprinter.item(item),
            Self::Columns(columns, start, end) if end - start == 1 => {
                let mut out = [0];
                columns.fingerprints(fingerprinter, start, &mut out);
                out[0]
            }
            _ => return None,
        })
    }

    /// Calls `with(offset, fingerprints)` for the batch in chunks.
    #[inline]
    pub(crate) fn for_each_chunk(
        &self,
        fingerprinter: &Fingerprinter,
        mut with: impl FnMut(usize, &[u64]),
    ) {
        if let Self::Ready(items) = *self {
            with(0, items);
            return;
        }
        // Clearing a long buffer would cost more than counting a short batch.
        if self.len() <= SHORT {
            self.for_each_filled::<SHORT>(fingerprinter, &mut with);
        } else {
            self.for_each_filled::<CHUNK>(fingerprinter, &mut with);
        }
    }

    fn for_each_filled<const N: usize>(
        &self,
        fingerprinter: &Fingerprinter,
        with: &mut dyn FnMut(usize, &[u64]),
    ) {
        let mut buffer = [0; N];
        for start in (0..self.len()).step_by(N) {
            let chunk = self.slice(start, self.len().min(start + N));
            let out = &mut buffer[..chunk.len()];
            chunk.fingerprints_to(fingerprinter, out);
            with(start, out);
        }
    }

    /// Writes the fingerprints of all items to `out`, one per entry.
    #[inline]
    pub(crate) fn fingerprints_to(self, fingerprinter: &Fingerprinter, out: &mut [u64]) {
        match self {
            Self::Ready(items) => out.copy_from_slice(items),
            Self::Signed(items) => fingerprinter.signed_to(items, out),
            Self::Unsigned(items) => fingerprinter.unsigned_to(items, out),
            Self::Narrow(items) => fingerprinter.narrow_to(items, out),
            Self::Mixed(items) => {
                for (out, &item) in out.iter_mut().zip(items) {
                    *out = fingerprinter.item(item);
                }
            }
            Self::Columns(columns, start, _) => {
                columns.fingerprints(fingerprinter, start, out);
            }
        }
    }

    /// Calls `with(offset, items)` for the batch in chunks of at most N. Integers are copied first,
    /// so that identity, name and count of an event come from one value even if another thread
    /// writes to the array in the meantime. Batches of fingerprints alone are skipped: the items
    /// are unknown.
    #[inline]
    pub(crate) fn for_each_item_chunk<const N: usize>(
        &self,
        mut with: impl FnMut(usize, &[Item<'_>]),
    ) {
        let mut buffer = [Item::Unsigned(0); N];
        match *self {
            Self::Ready(_) => {}
            Self::Columns(columns, ..) if !columns.has_items() => {}
            Self::Columns(columns, first, end) => {
                for start in (first..end).step_by(N) {
                    let chunk = &mut buffer[..N.min(end - start)];
                    columns.items(start, chunk);
                    with(start - first, chunk);
                }
            }
            Self::Signed(items) => {
                for (number, chunk) in items.chunks(N).enumerate() {
                    for (out, &item) in buffer.iter_mut().zip(chunk) {
                        *out = Item::Signed(item);
                    }
                    with(number * N, &buffer[..chunk.len()]);
                }
            }
            Self::Unsigned(items) => {
                for (number, chunk) in items.chunks(N).enumerate() {
                    for (out, &item) in buffer.iter_mut().zip(chunk) {
                        *out = Item::Unsigned(item);
                    }
                    with(number * N, &buffer[..chunk.len()]);
                }
            }
            Self::Narrow(items) => {
                for (number, chunk) in items.chunks(N).enumerate() {
                    for (out, &item) in buffer.iter_mut().zip(chunk) {
                        *out = Item::Signed(item.into());
                    }
                    with(number * N, &buffer[..chunk.len()]);
                }
            }
            Self::Mixed(items) => {
                for (number, chunk) in items.chunks(N).enumerate() {
                    with(number * N, chunk);
                }
            }
        }
    }

    /// Calls `with(position, item)` for every item; never for fingerprints alone.
    pub fn for_each_item(&self, mut with: impl FnMut(usize, Item<'_>)) {
        self.for_each_item_chunk::<64>(|start, chunk| {
            for (position, &item) in chunk.iter().enumerate() {
                with(start + position, item);
            }
        });
    }

    /// The events from `start` to `end`.
    pub(crate) fn slice(&self, start: usize, end: usize) -> Self {
        match *self {
            Self::Ready(items) => Self::Ready(&items[start..end]),
            Self::Signed(items) => Self::Signed(&items[start..end]),
            Self::Unsigned(items) => Self::Unsigned(&items[start..end]),
            Self::Narrow(items) => Self::Narrow(&items[start..end]),
            Self::Mixed(items) => Self::Mixed(&items[start..end]),
            Self::Columns(columns, first, _) => Self::Columns(columns, first + start, first + end),
        }
    }
}

/// Rows, one step each; some have no event.
#[derive(Clone, Copy)]
pub struct StepRows<'a> {
    items: Items<'a>,
    weights: Option<&'a [u64]>,
    empty: &'a [u64],
}

impl<'a> StepRows<'a> {
    /// The events in order, and the positions of the rows without an event: increasing, counted
    /// from 0 over all rows.
    pub fn new(items: Items<'a>, weights: Option<&'a [u64]>, empty: &'a [u64]) -> Result<Self> {
        let rows = (items.len() + empty.len()) as u64;
        let rise = empty.windows(2).all(|pair| pair[0] < pair[1]);
        if !rise || empty.last().is_some_and(|&last| last >= rows) {
            let expected = format!("rising positions below the number of rows ({rows})");
            return Err(Error::parameter("empty_rows", expected, "others"));
        }
        Ok(Self {
            items,
            weights,
            empty,
        })
    }

    /// Number of rows.
    pub(crate) fn steps(&self) -> u64 {
        (self.items.len() + self.empty.len()) as u64
    }

    pub(crate) fn items(&self) -> Items<'a> {
        self.items
    }

    pub(crate) fn weights(&self) -> Option<&'a [u64]> {
        self.weights
    }

    /// True if the first row has an event.
    pub(crate) fn begins_with_an_event(&self) -> bool {
        !self.items.is_empty() && self.empty.first() != Some(&0)
    }

    /// The rows in pieces: events, their weights, and the number of empty rows that follow.
    pub(crate) fn pieces(self) -> impl Iterator<Item = (Items<'a>, Option<&'a [u64]>, u64)> {
        let runs = self.empty.chunk_by(|one, next| one + 1 == *next);
        let mut passed = 0;
        let ends = runs.map(move |run| {
            // Subtract the empty rows before this run.
            let end = run[0] as usize - passed;
            passed += run.len();
            (end, run.len() as u64)
        });
        let mut begin = 0;
        ends.chain([(self.items.len(), 0)])
            .map(move |(end, empty)| {
                let start = std::mem::replace(&mut begin, end);
                let weights = self.weights.map(|weights| &weights[start..end]);
                (self.items.slice(start, end), weights, empty)
            })
    }
}

/// Checks the weights of a batch: one per item, none above the largest allowed.
pub(crate) fn check_weights(
    name: &'static str,
    weights: Option<&[u64]>,
    items: usize,
    max_weight: u64,
) -> Result<()> {
    let Some(weights) = weights else {
        return Ok(());
    };
    if weights.len() != items {
        let expected = format!("one weight per item ({items})");
        return Err(Error::parameter(name, expected, weights.len()));
    }
    let most = planted!("weights-of-a-batch-not-checked", u64::MAX, max_weight);
    match weights.iter().position(|&weight| weight > most) {
        None => Ok(()),
        Some(position) => {
            let expected = format!("integers from 0 to max_weight = {max_weight}");
            let got = format!("a larger one at position {position}; nothing was applied");
            Err(Error::parameter(name, expected, got))
        }
    }
}

/// As [`check_weights`], for weights with a sign, in two's complement.
pub(crate) fn check_signed_weights(
    weights: Option<&[u64]>,
    items: usize,
    max_weight: u64,
) -> Result<()> {
    let Some(weights) = weights else {
        return Ok(());
    };
    check_weights("weights", Some(weights), items, u64::MAX)?;
    let most = planted!("signed-weights-not-checked", u64::MAX, max_weight);
    match weights
        .iter()
        .position(|&weight| weight.cast_signed().unsigned_abs() > most)
    {
        None => Ok(()),
        Some(position) => {
            let expected = format!("integers of at most max_weight = {max_weight}, with any sign");
            let got = format!("a larger one at position {position}; nothing was applied");
            Err(Error::parameter("weights", expected, got))
        }
    }
}

/// Checks the weight of one event.
pub(crate) fn check_weight(weight: u64, max_weight: u64) -> Result<()> {
    if weight <= max_weight || planted!("weight-not-checked") {
        return Ok(());
    }
    let expected = format!("an integer from 0 to max_weight = {max_weight}");
    Err(Error::parameter("weight", expected, "a larger one"))
}
