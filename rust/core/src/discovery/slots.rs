//! A fixed number of slots, each with a name and a count, found by identity.
//!
//! All memory is taken and touched at construction and never grows: neither what arrives nor how
//! often changes it. An identity is 128 pseudo-random bits under a secret key
//! ([`super::name`]), so its low bits are the place in the index: whoever knows the public
//! hash seed cannot aim at one place, and a lookup is O(1) on every stream.

use super::name::{Kept, NameStore};
use crate::item::Item;
use zeroize::Zeroize;

const FREE: u32 = u32::MAX;

/// Slots with counts and names, and the index over them.
pub(crate) struct Slots {
    /// Open addressing with linear probing, at most half full: slot numbers or [`FREE`].
    index: Vec<u32>,
    identities: Vec<u128>,
    counts: Vec<u64>,
    names: NameStore,
}

impl Slots {
    /// `number` slots, none in the index.
    pub(crate) fn new(number: usize, max_item_bytes: usize) -> Self {
        // Filled with ones first: zeroed pages would be handed out only when they are written to.
        let mut counts = vec![u64::MAX; number];
        counts.fill(0);
        Self {
            index: vec![FREE; index_length(number)],
            identities: vec![u128::MAX; number],
            counts,
            names: NameStore::new(number, max_item_bytes),
        }
    }

    /// Bytes that [`Self::new`] takes.
    pub(crate) fn bytes(number: u64, max_item_bytes: u64) -> u64 {
        let index = 4 * index_length(number as usize) as u64;
        index + number * (16 + 8) + NameStore::bytes(number, max_item_bytes)
    }

    /// The slot of an identity.
    #[inline]
    pub(crate) fn find(&self, identity: u128) -> Option<usize> {
        let mask = self.index.len() - 1;
        let mut place = identity as usize & mask;
        loop {
            let slot = self.index[place];
            if slot == FREE {
                return None;
            }
            if self.identities[slot as usize] == identity {
                return Some(slot as usize);
            }
            place = (place + 1) & mask;
        }
    }

    /// Gives a slot that is not in the index to an item.
    pub(crate) fn put(&mut self, slot: usize, identity: u128, item: Item<'_>, fingerprint: u64) {
        let mask = self.index.len() - 1;
        let mut place = identity as usize & mask;
        while self.index[place] != FREE {
            place = (place + 1) & mask;
        }
        self.index[place] = slot as u32;
        self.identities[slot] = identity;
        self.names.keep(slot, item, fingerprint);
    }

    /// Takes a slot out of the index. What comes after it in a run of probes moves up, so that no
    /// gap hides it.
    pub(crate) fn take_out(&mut self, slot: usize) {
        let mask = self.index.len() - 1;
        let mut hole = self.identities[slot] as usize & mask;
        while self.index[hole] != slot as u32 {
            hole = (hole + 1) & mask;
        }
        let mut place = hole;
        loop {
            place = (place + 1) & mask;
            let moved = self.index[place];
            if moved == FREE {
                break;
            }
            let home = self.identities[moved as usize] as usize & mask;
            if place.wrapping_sub(home) & mask >= place.wrapping_sub(hole) & mask {
                self.index[hole] = moved;
                hole = place;
            }
        }
        self.index[hole] = FREE;
    }

    /// Empties the index and forgets names and counts.
    pub(crate) fn clear(&mut self) {
        self.index.fill(FREE);
        self.counts.fill(0);
        self.names.clear();
    }

    #[inline]
    pub(crate) fn counts(&self) -> &[u64] {
        &self.counts
    }

    #[inline]
    pub(crate) fn counts_mut(&mut self) -> &mut [u64] {
        &mut self.counts
    }

    pub(crate) fn identity(&self, slot: usize) -> u128 {
        self.identities[slot]
    }

    /// Gives the slots identities without items: the dummies of Misra-Gries.
    pub(crate) fn set_identities(&mut self, identities: &[u128]) {
        self.identities.copy_from_slice(identities);
    }

    /// False for a dummy.
    pub(crate) fn has_item(&self, slot: usize) -> bool {
        self.names.has_item(slot)
    }

    /// The name in a slot, `None` for a slot without an item.
    pub(crate) fn name(&self, slot: usize) -> Option<Kept> {
        self.names.name(slot)
    }
}

/// A power of two, at least twice the number of slots.
fn index_length(number: usize) -> usize {
    (2 * number).next_power_of_two()
}

impl Drop for Slots {
    fn drop(&mut self) {
        self.index.zeroize();
        self.identities.zeroize();
        self.counts.zeroize();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;

    proptest! {
        /// Against a map, with identities that crowd into few places of the index.
        #[test]
        fn slots_equal_a_map(deeds in proptest::collection::vec((0_u128..24, any::<bool>()), 0..200)) {
            let mut slots = Slots::new(8, 16);
            let mut model: HashMap<u128, usize> = HashMap::new();
            let mut free: Vec<usize> = (0..8).collect();
            for (number, put) in deeds {
                // Eight identities share each of three places.
                let identity = (number / 8) | (number << 64);
                match (model.get(&identity).copied(), put) {
                    (Some(slot), false) => {
                        slots.take_out(slot);
                        model.remove(&identity);
                        free.push(slot);
                    }
                    (None, true) => if let Some(slot) = free.pop() {
                        slots.put(slot, identity, Item::Unsigned(number as u64), 0);
                        model.insert(identity, slot);
                    },
                    _ => {}
                }
                for number in 0..24_u128 {
                    let identity = (number / 8) | (number << 64);
                    prop_assert_eq!(slots.find(identity), model.get(&identity).copied());
                }
            }
        }
    }
}
