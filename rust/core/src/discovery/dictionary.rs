//! Exact counts of all items of an epoch.
//!
//! One slot for every event that an epoch can have, so it never overflows. Needs less noise than
//! Misra-Gries and is chosen whenever the capacity allows it. The choice is made once, at
//! construction, by the largest possible number of events of an epoch, not by the actual events.

use super::slots::Slots;
use crate::Result;
use crate::item::Item;
use crate::saved_state::{StateReader, StateWriter, refused};

/// How many new items come while the memory of a slot is read: in a batch, one in 10 ns.
const AHEAD: usize = 8;

/// One slot per distinct item, in the order of first arrival until the epoch ends.
pub(crate) struct Dictionary {
    slots: Slots,
    used: usize,
}

impl Dictionary {
    /// Room for `number` distinct items.
    pub(crate) fn new(number: usize, max_item_bytes: usize) -> Result<Self> {
        Ok(Self {
            slots: Slots::new(number, max_item_bytes)?,
            used: 0,
        })
    }

    /// Bytes that [`Self::new`] takes.
    pub(crate) fn bytes(number: u64, max_item_bytes: u64) -> u64 {
        Slots::bytes(number, max_item_bytes)
    }

    /// Empties the table.
    pub(crate) fn clear(&mut self) {
        self.slots.clear();
        self.used = 0;
    }

    pub(crate) fn slots(&self) -> &Slots {
        &self.slots
    }

    pub(crate) fn slots_mut(&mut self) -> &mut Slots {
        &mut self.slots
    }

    /// Number of distinct items.
    pub(crate) fn used(&self) -> usize {
        self.used
    }

    /// Bytes that [`Self::save`] writes.
    pub(crate) fn saved_bytes(&self) -> usize {
        let slots = (0..self.used).map(|slot| self.slots.saved_bytes(slot));
        8 + slots.sum::<usize>()
    }

    /// Writes the slots in use.
    pub(crate) fn save(&self, out: &mut StateWriter) {
        out.put((self.used as u64).to_le_bytes());
        (0..self.used).for_each(|slot| self.slots.save(slot, out));
    }

    /// Takes over what a dictionary of the same size wrote; this one is empty.
    pub(crate) fn restore(&mut self, state: &mut StateReader<'_>) -> Result<()> {
        let used = state.take_u64()?;
        if used > self.slots.counts().len() as u64 {
            return refused("expected at most as many names as slots, got more");
        }
        (0..used as usize).try_for_each(|slot| self.slots.restore(slot, state))?;
        self.used = used as usize;
        Ok(())
    }

    /// The count in a slot.
    pub(crate) fn count(&self, slot: usize) -> u64 {
        self.slots.counts()[slot]
    }

    /// Counts an item `weight` times.
    #[inline]
    pub(crate) fn add(
        &mut self,
        identity: u128,
        weight: u64,
        item: Item<'_>,
        fingerprint: impl FnOnce() -> u64,
    ) {
        if weight == 0 {
            return; // not an event; an epoch may have more of these than slots
        }
        let slot = self.slots.find(identity).unwrap_or_else(|| {
            let slot = self.used;
            self.used += 1;
            self.slots.put(slot, identity, item, fingerprint);
            // Slots are taken in order, and all of them are more than a near cache.
            self.slots.prefetch_unused(slot + AHEAD);
            slot
        });
        self.slots.counts_mut()[slot] += weight;
    }
}
