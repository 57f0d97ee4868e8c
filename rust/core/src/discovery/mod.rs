//! Discovery: names of heavy items that nobody listed in advance.
//!
//! Publishing an item because the *sketch* estimates it high is unsound: an item that occurs in
//! one of two neighbouring streams only would be published where its cells are heavy by
//! collision, and so tell that it occurred. Discovery counts items themselves, apart from the
//! sketch, in windows of fixed numbers of steps. At the end of a window it adds noise to each count,
//! publishes the names whose noisy count reaches a threshold, and starts afresh. An event lies
//! in one window, so all windows together have the guarantee of one.
//!
//! | module | what |
//! |---|---|
//! | [`law`] | guarantee, variant, noise and threshold |
//! | `threshold`, `laplace` | how many events a name needs; the noise |
//! | `dictionary`, `misra_gries`, `slots` | counts of a window: exact, or in bounded memory |
//! | [`name`] | identity of items, and what is published of them |
//!
//! Everything outside depends on published names alone. A window is published once, at its end,
//! and then gone; ending it early consumes it; `close` discards it. Names once published are
//! public for ever: nothing that was not published is looked up again anywhere.
//!
//! Source: C. Lebeda and J. Tetek, PODS 2023; A. Korolova, K. Kenthapadi, N. Mishra and A. Ntoulas,
//! "Releasing Search Queries and Clicks Privately", WWW 2009 (thresholds of exact counts).

mod dictionary;
mod laplace;
pub mod law;
mod misra_gries;
pub mod name;
mod slots;
mod threshold;

use crate::item::Item;
use crate::key::{MasterKey, Purpose, SketchId, WideKey};
use crate::noise::prf::NoiseFunction;
use crate::table::hash::Fingerprinter;
use crate::table::items::Items;
use crate::{Error, Result};
use dictionary::Dictionary;
use law::{Design, DiscoveryLaw, Variant};
use misra_gries::MisraGries;
use name::{CHUNK, Identities, Kept};
use std::collections::BTreeMap;

/// Slot of the noise that all counts of a window share; slot i of the table has i + 1.
const SHARED: u64 = 0;
/// Names by window.
pub struct Discovery {
    law: DiscoveryLaw,
    design: Design,
    /// Number of the open window, and steps taken in it.
    window: u64,
    taken: u64,
    /// Published names and the window that published each first; identities tell cut names apart.
    candidates: BTreeMap<(Kept, u128), u64>,
    state: Option<State>,
}

/// What `close` destroys.
struct State {
    key: WideKey,
    identities: Identities,
    fingerprinter: Fingerprinter,
    counts: Counts,
}

enum Counts {
    Dictionary(Dictionary),
    MisraGries(MisraGries),
}

impl Discovery {
    /// Takes all memory that it will ever take but that of published names.
    pub(crate) fn new(
        law: DiscoveryLaw,
        key: &MasterKey,
        id: &SketchId,
        parameters: &[u8],
        fingerprinter: Fingerprinter,
    ) -> Result<Self> {
        let design = law.design()?;
        // The law's own part has a fixed length and ends the encoding.
        let parameters = [parameters, &law.encode()].concat();
        let identities = Identities::new(key, id, &parameters);
        let (slots, max_item_bytes) = (design.slots as usize, law.max_item_bytes as usize);
        let counts = match design.variant {
            Variant::Dictionary => Counts::Dictionary(Dictionary::new(slots, max_item_bytes)),
            Variant::MisraGries => {
                Counts::MisraGries(MisraGries::new(identities.dummies(slots), max_item_bytes))
            }
        };
        let state = State {
            key: key.derive_wide(Purpose::Discovery, id, &parameters),
            identities,
            fingerprinter,
            counts,
        };
        Ok(Self {
            law,
            design,
            window: 0,
            taken: 0,
            candidates: BTreeMap::new(),
            state: Some(state),
        })
    }

    /// What was promised.
    pub fn law(&self) -> &DiscoveryLaw {
        &self.law
    }

    /// Variant, threshold and memory.
    pub fn design(&self) -> &Design {
        &self.design
    }

    /// Number of the open window, from 0.
    pub fn window(&self) -> u64 {
        self.window
    }

    /// Published names in order, and the window that published each first.
    pub fn candidates(&self) -> impl ExactSizeIterator<Item = (&Kept, u64)> {
        self.candidates
            .iter()
            .map(|((kept, _), &window)| (kept, window))
    }

    /// Counts events at one step each. The caller has checked the batch and that nothing is
    /// closed.
    pub(crate) fn feed(&mut self, items: Items<'_>, weights: Option<&[u64]>) {
        let mut start = 0;
        while start < items.len() {
            let room = self.law.window - self.taken;
            let events = room.min((items.len() - start) as u64);
            let end = start + events as usize;
            let weights = weights.map(|weights| &weights[start..end]);
            self.count(items.slice(start, end), weights);
            self.tick(events);
            start = end;
        }
    }

    /// As [`Self::feed`] of one event, without a buffer.
    #[inline]
    pub(crate) fn feed_one(&mut self, item: Item<'_>, weight: u64) {
        let weight = if self.law.weighted { weight } else { 1 };
        if let Some(state) = &mut self.state {
            state.count(&[item], Some(&[weight]), &mut [0]);
        }
        self.tick(1);
    }

    /// Counts any number of events of one step.
    pub(crate) fn feed_batch(&mut self, items: Items<'_>, weights: Option<&[u64]>) {
        self.count(items, weights);
        self.tick(1);
    }

    /// Takes steps; ends the windows that end in them. All windows after the open one are
    /// empty, and an empty window publishes nothing.
    pub(crate) fn tick(&mut self, steps: u64) {
        let room = self.law.window - self.taken;
        if steps < room {
            self.taken += steps;
            return;
        }
        self.end_window();
        self.window += (steps - room) / self.law.window;
        self.taken = (steps - room) % self.law.window;
    }

    /// Publishes the open window, whatever part of it has passed, and opens the next.
    pub(crate) fn end_window(&mut self) {
        if let Some(state) = &mut self.state {
            let window = self.window;
            for published in state.publish(&self.design, window) {
                self.candidates.entry(published).or_insert(window);
            }
            state.counts.clear();
        }
        self.window += 1;
        self.taken = 0;
    }

    /// Destroys keys and counts; the open window is never published, published names remain.
    pub(crate) fn close(&mut self) {
        self.state = None;
    }

    /// The noise of slots of a window (0 is shared), for the oracle in tests.
    pub(crate) fn draws(&self, window: u64, slots: &[u64]) -> Result<Vec<i64>> {
        let state = self.state.as_ref().ok_or(Error::Closed)?;
        let prf = NoiseFunction::new(&state.key.of_window(window));
        let draw = |&slot: &u64| self.design.laplace.draw(&prf, slot);
        Ok(slots.iter().map(draw).collect())
    }

    /// The identities of items and, first, of all dummies: what decides evictions, for the oracle.
    pub(crate) fn identities(&self, items: Items<'_>) -> Result<Vec<u128>> {
        let state = self.state.as_ref().ok_or(Error::Closed)?;
        let mut found = state.identities.dummies(self.design.slots as usize);
        items.for_each_item_chunk::<CHUNK>(|_, chunk| {
            let mut identities = [0; CHUNK];
            (state.identities).fill(chunk, &mut identities[..chunk.len()], |_| None);
            found.extend(&identities[..chunk.len()]);
        });
        Ok(found)
    }

    /// Counts events of a step that is not over.
    pub(crate) fn count(&mut self, items: Items<'_>, weights: Option<&[u64]>) {
        let weights = weights.filter(|_| self.law.weighted);
        let Some(state) = &mut self.state else {
            return;
        };
        items.for_each_item_chunk::<CHUNK>(|offset, chunk| {
            let weights = weights.map(|weights| &weights[offset..offset + chunk.len()]);
            state.count(chunk, weights, &mut [0; CHUNK]);
        });
    }
}

impl State {
    #[inline]
    fn count(&mut self, items: &[Item<'_>], weights: Option<&[u64]>, buffer: &mut [u128]) {
        let identities = &mut buffer[..items.len()];
        let (slots, fingerprinter) = (self.counts.slots(), &self.fingerprinter);
        let recall = |item: Item<'_>| slots.recall(item, fingerprinter.item(item));
        let hashed = self.identities.fill(items, identities, recall);
        slots.read_ahead(identities);
        for (position, (&item, &identity)) in items.iter().zip(identities.iter()).enumerate() {
            let weight = weights.map_or(1, |weights| weights[position]);
            self.add(identity, weight, item);
            if hashed >> position & 1 == 1 {
                let fingerprint = self.fingerprinter.item(item);
                self.counts.slots_mut().remember(identity, fingerprint);
            }
        }
    }

    #[inline]
    fn add(&mut self, identity: u128, weight: u64, item: Item<'_>) {
        let fingerprinter = &self.fingerprinter;
        match &mut self.counts {
            Counts::Dictionary(counts) => counts.add(identity, weight, item, fingerprinter),
            Counts::MisraGries(counts) => counts.add(identity, weight, item, fingerprinter),
        }
    }

    /// The names whose noisy count reaches the threshold. All dummies of Misra-Gries draw too: it
    /// takes the same draws whatever was counted. The dictionary draws for the items it has.
    fn publish(&self, design: &Design, window: u64) -> Vec<(Kept, u128)> {
        let prf = NoiseFunction::new(&self.key.of_window(window));
        let (used, shared) = match &self.counts {
            Counts::Dictionary(counts) => (counts.used(), 0),
            Counts::MisraGries(_) => (design.slots as usize, design.laplace.draw(&prf, SHARED)),
        };
        let slots = self.counts.slots();
        let (mut published, mut noises) = (Vec::new(), [0; CHUNK]);
        for start in (0..used).step_by(CHUNK) {
            let noises = &mut noises[..CHUNK.min(used - start)];
            design.laplace.draws(&prf, start as u64 + 1, noises);
            let found = (start..).zip(noises.iter()).filter(|&(slot, noise)| {
                self.counts.count(slot) as i64 + shared + noise >= design.threshold
            });
            published.extend(found.filter_map(|(slot, _)| {
                let name = slots.name(slot, &self.fingerprinter)?;
                Some((name, slots.identity(slot)))
            }));
        }
        published
    }
}

impl Counts {
    fn slots(&self) -> &slots::Slots {
        match self {
            Self::Dictionary(counts) => counts.slots(),
            Self::MisraGries(counts) => counts.slots(),
        }
    }

    fn slots_mut(&mut self) -> &mut slots::Slots {
        match self {
            Self::Dictionary(counts) => counts.slots_mut(),
            Self::MisraGries(counts) => counts.slots_mut(),
        }
    }

    fn count(&self, slot: usize) -> u64 {
        match self {
            Self::Dictionary(counts) => counts.count(slot),
            Self::MisraGries(counts) => counts.count(slot),
        }
    }

    fn clear(&mut self) {
        match self {
            Self::Dictionary(counts) => counts.clear(),
            Self::MisraGries(counts) => counts.clear(),
        }
    }
}
