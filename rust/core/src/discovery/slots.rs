//! A fixed number of slots, each with a name and a count, found by identity.
//!
//! All memory is allocated and touched at construction and never grows, so memory use does not
//! depend on the data. An identity is 128 pseudo-random bits under a secret key ([`super::name`]),
//! and some of its bits are the place in the index. An adversary with the public hash seed cannot
//! aim at a place, so a lookup is O(1) on every stream.

use super::name::Kept;
use super::name_store::NameStore;
use super::order::write_sorted;
use crate::item::Item;
use crate::parameters::LARGEST_COUNT;
use crate::saved_state::{StateReader, StateWriter, refused};
use crate::simd::prefetch;
use crate::table::hash::Fingerprinter;
use crate::{Result, memory};
use std::hint::black_box;
use zeroize::Zeroize;

/// Marks an unused entry of the index or of the hints.
const FREE: u32 = u32::MAX;

/// Slots with counts and names, and an index over them.
pub(crate) struct Slots {
    /// Open addressing with linear probing, at most a quarter full. An entry is the number of a
    /// slot in its low bits and a tag of the slot's identity in its high bits; the tag rejects
    /// nearly all other identities without reading the slot. [`FREE`] marks an unused entry; no
    /// slot has that number.
    index: Vec<u32>,
    /// Bits of a slot number.
    slot_bits: u32,
    identities: Vec<u128>,
    counts: Vec<u64>,
    names: NameStore,
    /// Recently used slots by the items' public fingerprints: hints, verified against the stored
    /// name. Like an entry of the index each has a tag, here of the fingerprint, which rejects nearly
    /// all other items without reading their names. An adversary with the hash seed can aim at a hint,
    /// which only causes items there to be hashed again. At the end of an epoch this memory holds an
    /// order of slots: [`Self::sort`].
    hints: Vec<u32>,
}

impl Slots {
    /// `number` slots, none of them in the index.
    pub(crate) fn new(number: usize, max_item_bytes: usize) -> Result<Self> {
        // Fill with ones first: the system provides zeroed pages only when they are written to.
        let mut counts = memory::filled(u64::MAX, number)?;
        counts.fill(0);
        Ok(Self {
            index: memory::filled(FREE, index_length(number))?,
            slot_bits: usize::BITS - number.leading_zeros(),
            identities: memory::filled(u128::MAX, number)?,
            counts,
            names: NameStore::new(number, max_item_bytes)?,
            hints: memory::filled(FREE, hints_length(number))?,
        })
    }

    /// Bytes that [`Self::new`] takes.
    pub(crate) fn bytes(number: u64, max_item_bytes: u64) -> u64 {
        let index = 4 * index_length(number as usize) as u64;
        let hints = 4 * hints_length(number as usize) as u64;
        index + hints + number * (16 + 8) + NameStore::bytes(number, max_item_bytes)
    }

    /// Reads the index entries of several identities together, to overlap the memory latencies.
    #[inline]
    pub(crate) fn read_ahead(&self, identities: &[u128]) {
        let entries = identities.iter().map(|&it| self.index[self.place(it)]);
        black_box(entries.fold(0, |all, entry| all ^ entry));
    }

    /// Begins to read the index entry of an identity.
    #[inline]
    pub(crate) fn prefetch_entry(&self, identity: u128) {
        prefetch(&self.index, self.place(identity));
    }

    /// Begins to read the slot that the index entry of an identity leads to.
    #[inline]
    pub(crate) fn prefetch_slot(&self, identity: u128) {
        let entry = self.index[self.place(identity)];
        let slot = self.slot(entry); // of an unused entry none, so that nothing is read
        prefetch(&self.identities, slot);
        prefetch(&self.counts, slot);
    }

    /// Begins to read the memory of a slot that another item will take.
    #[inline]
    pub(crate) fn prefetch_unused(&self, slot: usize) {
        prefetch(&self.identities, slot);
        prefetch(&self.counts, slot);
        self.names.prefetch(slot);
    }

    #[inline]
    fn place(&self, identity: u128) -> usize {
        identity as usize & (self.index.len() - 1)
    }

    /// The entry of a slot: its number in the low bits, bits of the identity above. (Other bits are
    /// the place, and different ones again decide evictions in Misra-Gries.)
    #[inline]
    fn entry(&self, slot: usize, identity: u128) -> u32 {
        self.tag(identity) | slot as u32
    }

    #[inline]
    fn tag(&self, identity: u128) -> u32 {
        (identity >> 32) as u32 >> self.slot_bits << self.slot_bits
    }

    #[inline]
    fn slot(&self, entry: u32) -> usize {
        (entry & ((1 << self.slot_bits) - 1)) as usize
    }

    /// The slot of an identity.
    #[inline]
    pub(crate) fn find(&self, identity: u128) -> Option<usize> {
        let (mask, tag) = (self.index.len() - 1, self.tag(identity));
        let mut place = self.place(identity);
        loop {
            let entry = self.index[place];
            if entry == FREE {
                return None;
            }
            let slot = self.slot(entry);
            if entry - slot as u32 == tag && self.identities[slot] == identity {
                return Some(slot);
            }
            place = (place + 1) & mask;
        }
    }

    /// Assigns a slot that is not in the index to an item, whose fingerprint may be asked for.
    pub(crate) fn put(
        &mut self,
        slot: usize,
        identity: u128,
        item: Item<'_>,
        fingerprint: impl FnOnce() -> u64,
    ) {
        self.enter(slot, identity);
        self.names.keep(slot, item, fingerprint);
    }

    /// Enters a slot that is not in the index under an identity.
    #[inline]
    fn enter(&mut self, slot: usize, identity: u128) {
        let mask = self.index.len() - 1;
        let mut place = self.place(identity);
        while self.index[place] != FREE {
            place = (place + 1) & mask;
        }
        self.index[place] = self.entry(slot, identity);
        self.identities[slot] = identity;
    }

    /// Bytes that [`Self::save`] writes for a slot.
    pub(crate) fn saved_bytes(&self, slot: usize) -> usize {
        16 + 8 + self.names.saved_bytes(slot)
    }

    /// Writes identity, count and name of a slot. The index follows from them; hints only save time.
    pub(crate) fn save(&self, slot: usize, out: &mut StateWriter) {
        out.put(self.identities[slot].to_le_bytes());
        out.put(self.counts[slot].to_le_bytes());
        self.names.save(slot, out);
    }

    /// Takes over what a slot wrote; it is not in the index.
    pub(crate) fn restore(&mut self, slot: usize, state: &mut StateReader<'_>) -> Result<()> {
        let identity = u128::from_le_bytes(state.take()?);
        self.counts[slot] = state.take_u64()?;
        if self.counts[slot] >= LARGEST_COUNT {
            return refused("expected counts below 2^62, got a larger one");
        }
        self.names.restore(slot, state)?;
        if !self.names.has_item(slot) {
            self.identities[slot] = identity;
        } else if self.find(identity).is_some() {
            return refused("expected each name once, got one twice");
        } else {
            self.enter(slot, identity);
        }
        Ok(())
    }

    /// The identity of an item, if a hint leads to a slot that holds exactly this item.
    #[inline]
    pub(crate) fn recall(&self, item: Item<'_>, fingerprint: u64) -> Option<u128> {
        let hint = self.hints[self.hint_at(fingerprint)];
        let slot = self.slot(hint);
        let found = hint != FREE
            && hint - slot as u32 == self.tag_of_hint(fingerprint)
            && self.names.is(slot, item);
        found.then(|| self.identities[slot])
    }

    /// Stores a hint to the slot of an identity, if it has one.
    pub(crate) fn remember(&mut self, identity: u128, fingerprint: u64) {
        if let Some(slot) = self.find(identity) {
            let at = self.hint_at(fingerprint);
            self.hints[at] = self.tag_of_hint(fingerprint) | slot as u32;
        }
    }

    /// True if [`Self::recall`] may find this item in a slot: truncated names are never found.
    #[inline]
    pub(crate) fn keeps_whole(&self, item: Item<'_>) -> bool {
        self.names.keeps_whole(item)
    }

    /// The low bits are the place of the hint.
    #[inline]
    fn tag_of_hint(&self, fingerprint: u64) -> u32 {
        (fingerprint >> 32) as u32 >> self.slot_bits << self.slot_bits
    }

    #[inline]
    fn hint_at(&self, fingerprint: u64) -> usize {
        fingerprint as usize & (self.hints.len() - 1)
    }

    /// Removes a slot from the index. Later entries of the probe sequence move up, so that no gap
    /// hides them.
    pub(crate) fn take_out(&mut self, slot: usize) {
        let mask = self.index.len() - 1;
        let taken = self.entry(slot, self.identities[slot]);
        let mut hole = self.place(self.identities[slot]);
        while self.index[hole] != taken {
            hole = (hole + 1) & mask;
        }
        let mut place = hole;
        loop {
            place = (place + 1) & mask;
            let moved = self.index[place];
            if moved == FREE {
                break;
            }
            let home = self.place(self.identities[self.slot(moved)]);
            if place.wrapping_sub(home) & mask >= place.wrapping_sub(hole) & mask {
                self.index[hole] = moved;
                hole = place;
            }
        }
        self.index[hole] = FREE;
    }

    /// Sorts the first `number` slots by identity, for [`Self::sorted`]. The order takes the place
    /// of the hints: each of its entries is a slot, and so a hint, though hardly one with the right tag.
    pub(crate) fn sort(&mut self, number: usize) {
        let (order, identities) = (&mut self.hints[..number], &self.identities);
        if planted!("slots-in-the-order-of-arrival") {
            order.iter_mut().zip(0..).for_each(|(at, slot)| *at = slot);
            return;
        }
        let key = |slot: u32| {
            let identity = identities[slot as usize];
            let part = identity >> 120 << 120;
            planted!("slots-by-half-an-identity", part, identity)
        };
        let keyed = (0..number as u32).map(|slot| ((key(slot) >> 64) as u64, slot));
        write_sorted(order, keyed, |&one, &other| key(one).cmp(&key(other)));
    }

    /// The slot of this rank after [`Self::sort`].
    pub(crate) fn sorted(&self, rank: usize) -> usize {
        self.hints[rank] as usize
    }

    /// Empties the index and removes names and counts.
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
    pub(crate) fn name(&self, slot: usize, fingerprinter: &Fingerprinter) -> Option<Kept> {
        self.names.name(slot, fingerprinter)
    }
}

/// A power of two, at least four times the number of slots: at half of that, replacing a name takes
/// a third longer.
fn index_length(number: usize) -> usize {
    (4 * number).next_power_of_two()
}

/// A power of two, at least the number of slots.
fn hints_length(number: usize) -> usize {
    number.next_power_of_two()
}

impl Drop for Slots {
    fn drop(&mut self) {
        self.hints.zeroize();
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

    /// Eight identities share each of three places, and four of them their tag.
    fn crowded(number: u128) -> u128 {
        let place = number / 8 + 30;
        place | (number & 1) << 63 | number << 64
    }

    /// `recall` returns an item only if a slot holds exactly this item: not for another item with
    /// the same fingerprint, type or length, not for a truncated one, not for an earlier item of
    /// the slot.
    #[test]
    fn recall_knows_items_by_their_content() {
        let mut slots = Slots::new(4, 24).unwrap();
        let item = Item::Text("twenty bytes of text");
        slots.put(2, 77, item, || 0);
        assert_eq!(slots.recall(item, 5), None);
        assert!(slots.keeps_whole(item));
        slots.remember(78, 5);
        assert_eq!(slots.recall(item, 5), None);
        slots.remember(77, 5);
        assert_eq!(slots.recall(item, 5), Some(77));
        // Another fingerprint at the same place.
        assert_eq!(slots.recall(item, 5 | 1 << 63), None);
        for other in [
            Item::Text("twenty bytes of tex2"),
            Item::Text("twenty bytes of tex"),
            Item::Text("twenty bytes of text."),
            Item::Bytes(b"twenty bytes of text"),
        ] {
            assert_eq!(slots.recall(other, 5), None);
        }
        let cut = Item::Text("twenty bytes of text, and more");
        slots.put(3, 79, cut, || 0);
        assert!(!slots.keeps_whole(cut) && slots.keeps_whole(Item::Bytes(&[0; 24])));
        slots.remember(79, 6);
        assert_eq!(slots.recall(cut, 6), None);
        assert_eq!(
            slots.recall(Item::Text("twenty bytes of text, an"), 6),
            None
        );
        slots.take_out(2);
        slots.put(2, 80, Item::Text("another of some length"), || 0);
        assert_eq!(slots.recall(item, 5), None);
        slots.clear();
        assert_eq!(slots.recall(Item::Text("another of some length"), 5), None);
    }

    proptest! {
        /// Compares with a map, for identities that crowd into few places of the index.
        #[test]
        fn slots_equal_a_map(actions in proptest::collection::vec((0_u128..24, any::<bool>()), 0..200)) {
            let mut slots = Slots::new(8, 16).unwrap();
            let mut model: HashMap<u128, usize> = HashMap::new();
            let mut free: Vec<usize> = (0..8).collect();
            for (number, put) in actions {
                let identity = crowded(number);
                match (model.get(&identity).copied(), put) {
                    (Some(slot), false) => {
                        slots.take_out(slot);
                        model.remove(&identity);
                        free.push(slot);
                    }
                    (None, true) => if let Some(slot) = free.pop() {
                        let item = Item::Unsigned(number as u64);
                        slots.put(slot, identity, item, || 0);
                        model.insert(identity, slot);
                    },
                    _ => {}
                }
                for number in 0..24_u128 {
                    let identity = crowded(number);
                    prop_assert_eq!(slots.find(identity), model.get(&identity).copied());
                }
            }
        }
    }
}
