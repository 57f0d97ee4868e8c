//! Batches of items on their way into a sketch.
//!
//! A batch is checked whole before the first event is applied; items become fingerprints in
//! small chunks that stay in the fastest cache.

use crate::hash::Fingerprinter;
use crate::item::Item;
use crate::{Error, Result};

/// Items of one batch.
#[derive(Clone, Copy)]
pub enum Items<'a> {
    /// Fingerprints under the sketch's own hash seed, or indices of counters.
    Ready(&'a [u64]),
    /// Signed integers.
    Signed(&'a [i64]),
    /// Unsigned integers.
    Unsigned(&'a [u64]),
    /// Items of any type, whole.
    Whole(&'a [Item<'a>]),
}

/// Chunk of fingerprints held at once.
pub(crate) const CHUNK: usize = 1024;

impl Items<'_> {
    /// Number of events.
    pub fn len(&self) -> usize {
        match self {
            Self::Ready(items) | Self::Unsigned(items) => items.len(),
            Self::Signed(items) => items.len(),
            Self::Whole(items) => items.len(),
        }
    }

    /// True without events.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Calls `with(offset, fingerprints)` for the batch in chunks.
    #[inline]
    pub(crate) fn for_each_chunk(
        &self,
        fingerprinter: &Fingerprinter,
        mut with: impl FnMut(usize, &[u64]),
    ) {
        let mut buffer = [0; CHUNK];
        let mut converted = |offset: usize, length: usize, fill: &dyn Fn(&mut [u64])| {
            let chunk = &mut buffer[..length];
            fill(chunk);
            with(offset, chunk);
        };
        match *self {
            Self::Ready(items) => {
                for (number, chunk) in items.chunks(CHUNK).enumerate() {
                    with(number * CHUNK, chunk);
                }
            }
            Self::Signed(items) => {
                for (number, chunk) in items.chunks(CHUNK).enumerate() {
                    converted(number * CHUNK, chunk.len(), &|out| {
                        for (out, &item) in out.iter_mut().zip(chunk) {
                            *out = fingerprinter.signed(item);
                        }
                    });
                }
            }
            Self::Unsigned(items) => {
                for (number, chunk) in items.chunks(CHUNK).enumerate() {
                    converted(number * CHUNK, chunk.len(), &|out| {
                        for (out, &item) in out.iter_mut().zip(chunk) {
                            *out = fingerprinter.unsigned(item);
                        }
                    });
                }
            }
            Self::Whole(items) => {
                for (number, chunk) in items.chunks(CHUNK).enumerate() {
                    converted(number * CHUNK, chunk.len(), &|out| {
                        for (out, &item) in out.iter_mut().zip(chunk) {
                            *out = fingerprinter.item(item);
                        }
                    });
                }
            }
        }
    }

    /// Calls `with(offset, items)` for the batch in chunks of at most N. Integers are copied
    /// first, so that identity, name and count of an event belong to one value even if somebody
    /// writes to the array meanwhile. Fingerprints stand for no item and are passed over.
    #[inline]
    pub(crate) fn for_each_item_chunk<const N: usize>(
        &self,
        mut with: impl FnMut(usize, &[Item<'_>]),
    ) {
        let mut buffer = [Item::Unsigned(0); N];
        match *self {
            Self::Ready(_) => {}
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
            Self::Whole(items) => {
                for (number, chunk) in items.chunks(N).enumerate() {
                    with(number * N, chunk);
                }
            }
        }
    }

    /// The part of the batch from `start` to `end`.
    pub(crate) fn slice(&self, start: usize, end: usize) -> Self {
        match *self {
            Self::Ready(items) => Self::Ready(&items[start..end]),
            Self::Signed(items) => Self::Signed(&items[start..end]),
            Self::Unsigned(items) => Self::Unsigned(&items[start..end]),
            Self::Whole(items) => Self::Whole(&items[start..end]),
        }
    }
}

/// Checks the weights of a batch: as many as items, none above the largest.
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
    match weights.iter().position(|&weight| weight > max_weight) {
        None => Ok(()),
        Some(position) => {
            let expected = format!("integers from 0 to max_weight = {max_weight}");
            let got = format!("a larger one at position {position}; nothing was applied");
            Err(Error::parameter(name, expected, got))
        }
    }
}

/// Checks the weight of one event.
pub(crate) fn check_weight(weight: u64, max_weight: u64) -> Result<()> {
    if weight <= max_weight {
        return Ok(());
    }
    let expected = format!("an integer from 0 to max_weight = {max_weight}");
    Err(Error::parameter("weight", expected, "a larger one"))
}
