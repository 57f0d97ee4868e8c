//! The secret bitmaps of a count of distinct items.
//!
//! Level j samples items with probability 3/4^(j+1), the last level those that no other has. An item
//! has one bit of one level. Its first event sets the bit, unless an item with the same bit came
//! before; so the number of set bits of a level grows by at most one for each item, whatever the
//! number of its events. The table of the sketch counts the set bits, each as
//! [`BIT_WEIGHT`](crate::parameters::BIT_WEIGHT).
//!
//! Bitmaps are as secret as exact counts: erased when dropped, and saved only into a store's state.

use crate::parameters::{BIT_WEIGHT, Shape, TableKind};
use crate::saved_state::{StateReader, StateWriter, refused};
use crate::table::hash::{Fingerprinter, mixed};
use crate::table::ingest::CheckedBatch;
use crate::table::items::Items;
use crate::{Result, memory};
use zeroize::Zeroize;

/// Events that are located together: their levels and weights stay in a fast cache.
pub(crate) const PIECE: usize = 1 << 12;
/// A level takes three quarters of the items that are left.
const BITS_PER_LEVEL: u32 = 2;

/// Which bits are set.
pub(crate) struct SeenBits {
    words: Vec<u64>,
    levels: u32,
    /// Bits of a level.
    bits: u32,
    /// Memory for the pieces of batches, so that counting one needs no more.
    found: Found,
}

/// The bit of an item: its level, and its number within the level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// From 0, which samples most.
    pub level: u32,
    /// Below the bits of a level.
    pub bit: u32,
}

impl Place {
    /// The bit of an item with this fingerprint; `levels` and `bits` are those of a valid shape.
    #[inline]
    pub fn of(fingerprint: u64, levels: u32, bits: u32) -> Self {
        // A bijection of 64 bits: the level is in the highest ones, the number in the lowest.
        let hash = mixed(fingerprint);
        let level = (hash.leading_zeros() / BITS_PER_LEVEL).min(levels - 1);
        let bit = hash as u32 & (bits - 1);
        Self { level, bit }
    }
}

impl SeenBits {
    /// Empty bitmaps for a count of distinct items; none for other kinds of tables.
    pub(crate) fn of(shape: &Shape) -> Result<Option<Self>> {
        let TableKind::Distinct { bits } = shape.kind else {
            return Ok(None);
        };
        let words = Self::saved_bytes_of(shape.width, bits) / size_of::<u64>();
        Ok(Some(Self {
            words: memory::zeros(words)?,
            levels: shape.width,
            bits,
            found: Found::for_pieces()?,
        }))
    }

    /// Sets the bit of an item; the level, and what its count grows by.
    #[inline]
    pub(crate) fn see(&mut self, fingerprint: u64) -> (u64, u64) {
        let Place { level, bit } = Place::of(fingerprint, self.levels, self.bits);
        let at = level as usize * self.bits as usize + bit as usize;
        let (word, mask) = (&mut self.words[at / 64], 1 << (at % 64));
        let is_new = *word & mask == 0 || planted!("distinct-counts-events");
        *word |= mask;
        (level.into(), if is_new { BIT_WEIGHT } else { 0 })
    }

    /// Sets the bits of a batch.
    pub(crate) fn set_all(&mut self, items: Items<'_>, fingerprinter: &Fingerprinter) {
        items.for_each_chunk(fingerprinter, |_, items| {
            for &item in items {
                self.see(item);
            }
        });
    }

    /// Sets the bits that are set in others of the same shape; `count` gets each level, and how many
    /// of its bits are new. So others that come twice change nothing.
    pub(crate) fn unite(&mut self, others: &Self, mut count: impl FnMut(u64, u64)) {
        let words = self.words_of_a_level();
        let levels = (self.words.chunks_mut(words)).zip(others.words.chunks(words));
        for (level, (words, others)) in levels.enumerate() {
            let mut new = 0;
            for (word, &other) in words.iter_mut().zip(others) {
                let added = planted!("union-adds-what-is-set", other, other & !*word);
                new += u64::from(added.count_ones());
                *word |= other;
            }
            count(level as u64, new);
        }
    }

    /// As [`Self::see`], for a piece of a batch.
    pub(crate) fn see_all(&mut self, items: &[u64], found: &mut Found) {
        found.levels.clear();
        found.weights.clear();
        for &item in items {
            let (level, weight) = self.see(item);
            found.levels.push(level);
            found.weights.push(weight);
        }
    }

    /// Bytes that [`Self::save`] writes of levels with this many bits.
    pub(crate) fn saved_bytes_of(levels: u32, bits: u32) -> usize {
        levels as usize * (bits as usize / 8)
    }

    /// Bytes that [`Self::save`] writes.
    pub(crate) fn saved_bytes(&self) -> usize {
        size_of_val(self.words.as_slice())
    }

    /// Writes the bitmaps; their size is a parameter of the sketch.
    pub(crate) fn save(&self, out: &mut StateWriter) {
        out.put_all(&self.words, u64::to_le_bytes);
    }

    /// Takes over the bitmaps that were written, with as many set bits as `counts` says of each level.
    pub(crate) fn restore(
        &mut self,
        state: &mut StateReader<'_>,
        count: impl Fn(usize) -> i64,
    ) -> Result<()> {
        self.restore_of_any_number(state)?;
        for (level, words) in self.words.chunks(self.words_of_a_level()).enumerate() {
            if (set_bits(words) * BIT_WEIGHT).cast_signed() != count(level) {
                return refused("expected bitmaps that agree with the counts, got others");
            }
        }
        Ok(())
    }

    /// Takes over the bitmaps that were written, without a word on how many bits are set.
    pub(crate) fn restore_of_any_number(&mut self, state: &mut StateReader<'_>) -> Result<()> {
        for word in &mut self.words {
            *word = state.take_u64()?;
        }
        Ok(())
    }

    /// Number of set bits of all levels.
    pub(crate) fn number(&self) -> u64 {
        set_bits(&self.words)
    }

    /// The bitmaps, as they are saved.
    pub(crate) fn digest(&self, hasher: &mut blake3::Hasher) {
        for word in &self.words {
            hasher.update(&word.to_le_bytes());
        }
    }

    fn words_of_a_level(&self) -> usize {
        self.bits as usize / 64
    }
}

fn set_bits(words: &[u64]) -> u64 {
    words.iter().map(|word| u64::from(word.count_ones())).sum()
}

impl Drop for SeenBits {
    fn drop(&mut self) {
        self.words.zeroize();
    }
}

impl<'a> CheckedBatch<'a> {
    /// Calls `count` with the events in pieces, as events of the counters of levels. `count` does not
    /// fail for memory: everything was reserved.
    pub(crate) fn in_pieces_seen(
        self,
        seen: &mut SeenBits,
        mut count: impl FnMut(CheckedBatch<'_>) -> Result<()>,
    ) -> Result<()> {
        let mut counted = Ok(());
        let mut found = std::mem::take(&mut seen.found);
        self.items.for_each_chunk(self.fingerprinter, |_, items| {
            for items in items.chunks(PIECE) {
                if counted.is_err() {
                    return; // what is not counted sets no bit
                }
                seen.see_all(items, &mut found);
                let (items, weights) = found.events();
                let piece = CheckedBatch {
                    items,
                    weights,
                    ..self
                };
                counted = count(piece);
            }
        });
        seen.found = found;
        debug_assert!(counted.is_ok(), "everything was reserved");
        counted
    }

    /// The batch without its events, which still opens a step.
    pub(crate) fn of_no_items(self) -> CheckedBatch<'a> {
        CheckedBatch {
            items: Items::Ready(&[]),
            weights: None,
            ..self
        }
    }
}

/// Levels and weights of a piece of a batch: its events as those of counters.
#[derive(Default)]
pub(crate) struct Found {
    levels: Vec<u64>,
    weights: Vec<u64>,
}

impl Found {
    /// Room for the largest piece.
    fn for_pieces() -> Result<Self> {
        Ok(Self {
            levels: memory::room_for(PIECE)?,
            weights: memory::room_for(PIECE)?,
        })
    }

    /// The events, for a table of counters.
    pub(crate) fn events(&self) -> (Items<'_>, Option<&[u64]>) {
        (Items::Ready(&self.levels), Some(&self.weights))
    }
}

impl Drop for Found {
    fn drop(&mut self) {
        self.levels.zeroize();
        self.weights.zeroize();
    }
}
