//! How the events of an epoch are counted, and the names that are published at its end.

use super::epoch_counts::Counts;
use super::long_items::LongItems;
use super::name::{CHUNK, Identities, Kept};
use super::spec::Design;
use crate::Result;
use crate::item::Item;
use crate::key::WideKey;
use crate::noise::prf::NoiseFunction;
use crate::table::hash::Fingerprinter;
use crate::table::items::Items;

/// What all epochs share.
pub(super) struct Keys {
    pub(super) noise: WideKey,
    pub(super) identities: Identities,
    pub(super) fingerprinter: Fingerprinter,
}

/// What is known of an item before it is counted.
#[derive(Clone, Copy)]
pub(crate) struct Identified {
    identity: u128,
    /// True if it was hashed, so that a hint saves that the next time.
    hashed: bool,
}

/// One epoch, and what saves hashing of its items.
pub(super) struct Counting {
    pub(super) counts: Counts,
    long_items: LongItems,
}

impl Counting {
    /// An epoch with these counts.
    pub(super) fn new(counts: Counts) -> Result<Self> {
        Ok(Self {
            counts,
            long_items: LongItems::new()?,
        })
    }

    /// Counts events; each adds `most` at most. With room for the fingerprints of all, they are
    /// written there: the content of an item is read once then.
    pub(super) fn add_all(
        &mut self,
        keys: &Keys,
        items: Items<'_>,
        weights: Option<&[u64]>,
        most: u64,
        mut all: Option<&mut [u64]>,
    ) {
        let (mut identities, mut some) = ([0; CHUNK], [0; CHUNK]);
        items.for_each_item_chunk::<CHUNK>(|offset, chunk| {
            let weight = |at: usize| weights.map_or(1, |weights| weights[offset + at].min(most));
            let end = offset + chunk.len();
            let (fingerprints, are_known) = match &mut all {
                Some(all) => {
                    let own = &mut all[offset..end];
                    let items = items.slice(offset, end);
                    items.fingerprints_to(&keys.fingerprinter, own);
                    (own, true)
                }
                None => (&mut some[..], false),
            };
            self.count(
                keys,
                chunk,
                weight,
                &mut identities,
                (fingerprints, are_known),
            );
        });
    }

    /// Counts at most [`CHUNK`] events. The buffers have room for an identity and a fingerprint each;
    /// it is true if the fingerprints are known.
    #[inline]
    pub(super) fn count(
        &mut self,
        keys: &Keys,
        items: &[Item<'_>],
        weight: impl Fn(usize) -> u64,
        identities: &mut [u128],
        (fingerprints, are_known): (&mut [u64], bool),
    ) {
        let identities = &mut identities[..items.len()];
        let (slots, fingerprinter) = (self.counts.slots(), &keys.fingerprinter);
        let long_items = &self.long_items;
        let recall = |position: usize, item: Item<'_>| {
            let seen = long_items.recall(item);
            if seen.is_some() || !slots.keeps_whole(item) {
                return seen;
            }
            if !are_known {
                fingerprints[position] = fingerprinter.item(item);
            }
            slots.recall(item, fingerprints[position])
        };
        let hashed = keys.identities.fill(items, identities, recall);
        if planted!("identity-by-fingerprint") {
            for (identity, &item) in identities.iter_mut().zip(items) {
                let fingerprint = u128::from(fingerprinter.item(item));
                *identity = fingerprint << 64 | fingerprint;
            }
        }
        slots.read_ahead(identities);
        for (position, (&item, &identity)) in items.iter().zip(identities.iter()).enumerate() {
            self.add(identity, weight(position), item, || {
                if are_known {
                    fingerprints[position]
                } else {
                    fingerprinter.item(item)
                }
            });
            self.long_items.remember(item, identity);
            if hashed >> position & 1 == 1 && self.counts.slots().keeps_whole(item) {
                let slots = self.counts.slots_mut();
                slots.remember(identity, fingerprints[position]);
            }
        }
    }

    /// Identifies an item that is no part of a batch, by its fingerprint too, and begins to read what
    /// counts it.
    #[inline]
    pub(super) fn identified(&self, keys: &Keys, item: Item<'_>, fingerprint: u64) -> Identified {
        let slots = self.counts.slots();
        let recall = || slots.recall(item, fingerprint);
        let (identity, hashed) = keys.identities.of_one(item, recall);
        let wide = u128::from(fingerprint);
        let identity = planted!("identity-by-fingerprint", wide << 64 | wide, identity);
        slots.prefetch_entry(identity);
        Identified { identity, hashed }
    }

    /// Begins to read the rest of what counts an item, some time after it was identified.
    #[inline]
    pub(super) fn read_ahead(&self, known: Identified) {
        self.counts.slots().prefetch_slot(known.identity);
    }

    /// Counts one event of an item that was identified, with its fingerprint.
    #[inline]
    pub(super) fn count_one(
        &mut self,
        (item, fingerprint): (Item<'_>, u64),
        known: Identified,
        weight: u64,
    ) {
        self.add(known.identity, weight, item, || fingerprint);
        if known.hashed {
            let slots = self.counts.slots_mut();
            slots.remember(known.identity, fingerprint);
        }
    }

    /// Counts one event; the fingerprint may be asked for.
    #[inline]
    pub(super) fn add(
        &mut self,
        identity: u128,
        weight: u64,
        item: Item<'_>,
        fingerprint: impl FnOnce() -> u64,
    ) {
        match &mut self.counts {
            Counts::Dictionary(counts) => counts.add(identity, weight, item, fingerprint),
            Counts::MisraGries(counts) => counts.add(identity, weight, item, fingerprint),
        }
    }

    /// At the end of a batch: the memory of its items may hold others in the next one.
    pub(super) fn forget(&mut self) {
        self.long_items.forget();
    }

    /// Ends the epoch of this number: calls `with` on each name that is published, and its identity,
    /// which distinguishes truncated names. The next epoch begins without counts.
    pub(super) fn end(
        &mut self,
        keys: &Keys,
        design: &Design,
        epoch: u64,
        mut with: impl FnMut((Kept, u128)),
    ) {
        self.publish(keys, design, epoch, |mut kept, mut identity| {
            if planted!("truncated-names-are-one-name") && kept.truncated {
                (kept.fingerprint, identity) = (0, 0);
            }
            with((kept, identity));
        });
        if !planted!("counts-of-an-epoch-stay") {
            self.counts.clear();
        }
    }

    /// Calls `with` on each name that is published, and its identity. Random bits are drawn by the
    /// rank of identities. Under Misra-Gries the dummies draw too, so the number of draws does not
    /// depend on the data. The dictionary draws for the items it has.
    fn publish(
        &mut self,
        keys: &Keys,
        design: &Design,
        epoch: u64,
        mut with: impl FnMut(Kept, u128),
    ) {
        let prf = NoiseFunction::new(&keys.noise.of_epoch(epoch));
        let used = match &self.counts {
            Counts::Dictionary(counts) => counts.used(),
            Counts::MisraGries(_) => design.slots as usize,
        };
        self.counts.slots_mut().sort(used);
        let slots = self.counts.slots();
        let shared = design.shared_noise(&prf);
        let mut published = [false; CHUNK];
        for start in (0..used).step_by(CHUNK) {
            let published = &mut published[..CHUNK.min(used - start)];
            let count = |at: usize| {
                let count = self.counts.count(slots.sorted(start + at)) as i64;
                planted!("threshold-2-low", count + 2, count)
            };
            let first = start as u64 + 1;
            let first = planted!("discovery-noise-repeats-after-64-slots", 1, first);
            let first = planted!("first-slot-takes-the-shared-noise", first - 1, first);
            design.decide(&prf, shared, first, count, published);
            for at in (0..published.len()).filter(|&at| published[at]) {
                let slot = slots.sorted(start + at);
                if let Some(name) = slots.name(slot, &keys.fingerprinter) {
                    with(name, slots.identity(slot));
                }
            }
        }
    }
}
