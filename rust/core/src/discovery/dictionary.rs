//! Exact counts of all items of an epoch.
//!
//! One slot for every event that an epoch can have, so it never overflows. Needs less noise than
//! Misra-Gries and is chosen whenever the capacity allows it. The choice is made once, at
//! construction, by the largest possible number of events of an epoch, not by the actual events.

use super::slots::Slots;
use crate::Result;
use crate::item::Item;
use crate::table::hash::Fingerprinter;

/// One slot per distinct item, in the order of first arrival.
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
        fingerprinter: &Fingerprinter,
    ) {
        if weight == 0 {
            return; // not an event; an epoch may have more of these than slots
        }
        let slot = self.slots.find(identity).unwrap_or_else(|| {
            let slot = self.used;
            self.used += 1;
            self.slots.put(slot, identity, item, fingerprinter);
            slot
        });
        self.slots.counts_mut()[slot] += weight;
    }
}
