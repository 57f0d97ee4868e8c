//! The Misra-Gries summary in Lebeda and Tetek's private variant.
//!
//! k counters, O(1) per event; a count is too small by at most events / (k + 1). Used if an epoch
//! may have more events than there are slots.
//!
//! Source: C. Lebeda and J. Tetek, "Better Differentially Private Approximate Histograms and Heavy
//! Hitters using the Misra-Gries Sketch", PODS 2023, Algorithm 1. All k slots are always occupied,
//! initially by dummy keys. A key whose count falls to zero stays until another key replaces it;
//! among several at zero, dummies included, the smallest by a fixed total order is evicted. This
//! rule is what makes the tables of neighbouring streams differ in at most two keys, with counts of
//! at most one. The order is that of the secret identities.

use super::order::write_sorted;
use super::slots::Slots;
use crate::item::Item;
use crate::saved_state::{StateReader, StateWriter, refused};
use crate::{Result, memory};

/// Counters, and which of them are at zero.
pub(crate) struct MisraGries {
    slots: Slots,
    /// Amount subtracted from all counters so far: the count is the stored count less this.
    taken_off: u64,
    /// Slots that were at zero after the last subtraction, with the upper half of their identity,
    /// smallest identity first; those before `next_zero` have been used or skipped.
    zeros: Vec<(u64, u32)>,
    next_zero: usize,
    dummies: Vec<u128>,
}

impl MisraGries {
    /// One counter per dummy key.
    pub(crate) fn new(mut dummies: Vec<u128>, max_item_bytes: usize) -> Result<Self> {
        // Sorted, so that initially the order of slots is the order of eviction.
        dummies.sort_unstable();
        let mut summary = Self {
            slots: Slots::new(dummies.len(), max_item_bytes)?,
            taken_off: 0,
            zeros: memory::room_for(dummies.len())?,
            next_zero: 0,
            dummies,
        };
        summary.clear();
        Ok(summary)
    }

    /// Bytes that [`Self::new`] takes.
    pub(crate) fn bytes(number: u64, max_item_bytes: u64) -> u64 {
        Slots::bytes(number, max_item_bytes) + number * (16 + 16)
    }

    /// Resets to dummies with zero counts.
    pub(crate) fn clear(&mut self) {
        self.slots.clear();
        self.slots.set_identities(&self.dummies);
        self.taken_off = 0;
        self.zeros.clear();
        let dummies = self.dummies.iter().zip(0..);
        self.zeros
            .extend(dummies.map(|(&identity, slot)| (upper(identity), slot)));
        self.next_zero = 0;
    }

    pub(crate) fn slots(&self) -> &Slots {
        &self.slots
    }

    pub(crate) fn slots_mut(&mut self) -> &mut Slots {
        &mut self.slots
    }

    /// The count in a slot.
    pub(crate) fn count(&self, slot: usize) -> u64 {
        self.slots.counts()[slot] - self.taken_off
    }

    /// Bytes that [`Self::save`] writes.
    pub(crate) fn saved_bytes(&self) -> usize {
        let slots = (0..self.dummies.len()).map(|slot| self.slots.saved_bytes(slot));
        8 + slots.sum::<usize>()
    }

    /// Writes every slot, dummies included.
    pub(crate) fn save(&self, out: &mut StateWriter) {
        out.put(self.taken_off.to_le_bytes());
        (0..self.dummies.len()).for_each(|slot| self.slots.save(slot, out));
    }

    /// Takes over what a summary with the same dummies wrote; this one is empty.
    ///
    /// The list of slots at zero is made anew: counts only grow between two subtractions, so the
    /// slots at zero now are those of the old list that were neither used nor counted since.
    pub(crate) fn restore(&mut self, state: &mut StateReader<'_>) -> Result<()> {
        self.taken_off = state.take_u64()?;
        (0..self.dummies.len()).try_for_each(|slot| self.slots.restore(slot, state))?;
        if self
            .slots
            .counts()
            .iter()
            .any(|&count| count < self.taken_off)
        {
            return refused("expected counts of at least what was taken off, got a smaller one");
        }
        self.list_zeros();
        Ok(())
    }

    /// Counts an item `weight` times, equivalent to `weight` single events.
    #[inline]
    pub(crate) fn add(
        &mut self,
        identity: u128,
        weight: u64,
        item: Item<'_>,
        fingerprint: impl FnOnce() -> u64,
    ) {
        if let Some(slot) = self.slots.find(identity) {
            self.slots.counts_mut()[slot] += weight;
        } else if weight > 0 {
            self.add_new(identity, weight, item, fingerprint);
        }
    }

    fn add_new(
        &mut self,
        identity: u128,
        mut weight: u64,
        item: Item<'_>,
        fingerprint: impl FnOnce() -> u64,
    ) {
        loop {
            if let Some(slot) = self.smallest_at_zero() {
                if self.slots.has_item(slot) {
                    self.slots.take_out(slot);
                }
                self.slots.put(slot, identity, item, fingerprint);
                self.slots.counts_mut()[slot] = self.taken_off + weight;
                return;
            }
            let taken = self.take_off(weight);
            weight -= taken;
            if weight == 0 {
                return;
            }
        }
    }

    /// The key to evict: the smallest identity whose count is zero.
    fn smallest_at_zero(&mut self) -> Option<usize> {
        while let Some(&(_, slot)) = self.zeros.get(self.next_zero) {
            self.next_zero += 1;
            // Skip it if it was counted in the meantime.
            if self.slots.counts()[slot as usize] == self.taken_off {
                return Some(slot as usize);
            }
        }
        None
    }

    /// Subtracts from every counter what `weight` events of an item without a slot subtract, until
    /// a counter is at zero; returns the amount. All counts are positive.
    fn take_off(&mut self, weight: u64) -> u64 {
        let taken = if weight == 1 {
            1
        } else {
            let lowest = self.slots.counts().iter().min();
            weight.min(lowest.map_or(0, |lowest| lowest - self.taken_off))
        };
        self.taken_off += taken;
        self.list_zeros();
        taken
    }

    /// Lists the slots at zero, smallest identity first.
    fn list_zeros(&mut self) {
        let level = self.taken_off;
        self.next_zero = 0;
        let slots = &self.slots;
        let counts = slots.counts().iter().zip(0_u32..);
        let at_zero = counts.filter(|(count, _)| **count == level);
        let keyed = at_zero.map(|(_, slot)| {
            let identity = upper(slots.identity(slot as usize));
            let key = planted!("eviction-in-the-order-of-slots", u64::from(slot), identity);
            (key, (key, slot))
        });
        self.zeros.resize(keyed.clone().count(), (0, 0)); // within the room of all slots
        // Upper halves are almost always distinct; if not, the full identity decides.
        write_sorted(&mut self.zeros, keyed, |one, other| {
            let whole = |slot: u32| slots.identity(slot as usize);
            (one.0.cmp(&other.0)).then_with(|| whole(one.1).cmp(&whole(other.1)))
        });
    }
}

/// The half of an identity that almost always decides the order of eviction.
fn upper(identity: u128) -> u64 {
    (identity >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whatever slots the keys have, and also where the upper halves of their identities are equal.
    #[test]
    fn the_smallest_identity_at_zero_leaves_first() {
        for orders in [[2, 0, 1], [1, 2, 0], [0, 1, 2]] {
            for unit in [1_u128 << 64, 1] {
                let key = |number: u128| (1 << 100) + (1 + number) * unit;
                let mut summary = MisraGries::new(vec![1, 2, 3], 16).unwrap();
                let add = |summary: &mut MisraGries, number: u128| {
                    summary.add(key(number), 1, Item::Unsigned(number as u64), || 0);
                };
                for number in orders {
                    add(&mut summary, number);
                }
                add(&mut summary, 8); // takes one off each of the three, and is gone
                assert_eq!(summary.slots().find(key(8)), None);
                for number in 0..3 {
                    assert!(
                        summary.slots().find(key(number)).is_some(),
                        "{orders:?} {unit}"
                    );
                    add(&mut summary, 10 + number);
                    assert_eq!(summary.slots().find(key(number)), None, "{orders:?} {unit}");
                }
            }
        }
    }
}
