//! Discovery: publishes the names of heavy items without a list of candidates.
//!
//! Publishing an item because the *sketch* estimates it high is unsound: an item that occurs in
//! only one of two neighbouring streams would be published if its cells are heavy by collision,
//! which reveals that it occurred. Discovery counts the items themselves, separately from the
//! sketch, in epochs of a fixed number of steps. At the end of an epoch it adds noise to each
//! count, publishes the names whose noisy count reaches a threshold, and starts again from empty.
//! An event is in exactly one epoch, so all epochs together have the guarantee of one.
//!
//! | module | what |
//! |---|---|
//! | [`spec`] | guarantee, variant, noise and threshold |
//! | `decision`, `selection`, `threshold`, `laplace` | which names are published: by exact counts; by noisy ones |
//! | `epoch_counts`, `dictionary`, `misra_gries`, `slots` | counts of an epoch: exact, or in bounded memory |
//! | `counting` | how the events of an epoch are counted, and its end |
//! | `epochs_ahead` | epochs whose events come before those of earlier ones |
//! | `epochs_in_threads` | whole epochs of a batch, side by side |
//! | `counted_names`, `long_items` | names with their counts; what saves hashing of repeated items |
//! | `order` | sorting by identities |
//! | [`name`], `keyed_hashes` | identity of items, and what is published of them; hashes of many at once |
//!
//! Everything outside depends on published names alone. An epoch is published once, at its end, and
//! then discarded; ending it early consumes it; `close` discards it. Published names stay public:
//! items that were not published are never looked up again.
//!
//! The noise of a name is that of its rank among the secret identities of the epoch's table, not of
//! its slot. So exact counts give the same names for every order of an epoch's events.
//!
//! Source: C. Lebeda and J. Tetek, PODS 2023; A. Korolova, K. Kenthapadi, N. Mishra and A. Ntoulas,
//! "Releasing Search Queries and Clicks Privately", WWW 2009 (thresholds of exact counts).

pub(crate) mod counted_names;
mod counting;
mod decision;
mod dictionary;
mod epoch_counts;
mod epochs_ahead;
mod epochs_in_threads;
mod keyed_hashes;
mod laplace;
mod long_items;
mod misra_gries;
pub mod name;
mod name_store;
mod order;
mod saved;
mod selection;
mod slots;
pub mod spec;
mod threshold;

use crate::item::Item;
use crate::key::{MasterKey, Purpose, SketchId};
use crate::noise::prf::NoiseFunction;
use crate::table::hash::Fingerprinter;
use crate::table::items::Items;
use crate::{Error, Result, memory};
pub(crate) use counting::Identified;
use counting::{Counting, Keys};
use epoch_counts::Counts;
use name::{CHUNK, Identities, Kept};
use selection::Selection;
use spec::{Design, DiscoverySpec, Law};
use std::collections::BTreeMap;

/// Discovery of names, epoch by epoch.
pub struct Discovery {
    spec: DiscoverySpec,
    design: Design,
    /// Number of the current epoch, and steps taken in it.
    epoch: u64,
    taken: u64,
    /// True after [`Self::finish`]: no epoch is open.
    finished: bool,
    /// Published names and the epoch that first published each; identities distinguish truncated
    /// names.
    candidates: BTreeMap<(Kept, u128), u64>,
    state: Option<State>,
}

/// State that `close` destroys.
struct State {
    keys: Keys,
    /// Of the open epoch.
    counting: Counting,
    /// Counts of later epochs, of which events have come.
    ahead: BTreeMap<u64, Counts>,
}

impl Discovery {
    /// Allocates all memory except that of published names, and of further threads of a batch.
    pub(crate) fn new(
        spec: DiscoverySpec,
        key: &MasterKey,
        id: &SketchId,
        parameters: &[u8],
        fingerprinter: Fingerprinter,
    ) -> Result<Self> {
        let design = spec.design()?;
        // The spec's own part has a fixed length and ends the encoding.
        let parameters = [parameters, &spec.encode()].concat();
        let identities = Identities::new(key, Purpose::ItemIdentity, id, &parameters);
        let counts = Counts::new(&design, &spec, &identities)?;
        let state = State {
            keys: Keys {
                noise: key.derive_wide(Purpose::Discovery, id, &parameters),
                identities,
                fingerprinter,
            },
            counting: Counting::new(counts)?,
            ahead: BTreeMap::new(),
        };
        Ok(Self {
            spec,
            design,
            epoch: 0,
            taken: 0,
            finished: false,
            candidates: BTreeMap::new(),
            state: Some(state),
        })
    }

    /// The guarantee and the size of the table.
    pub fn spec(&self) -> &DiscoverySpec {
        &self.spec
    }

    /// Variant, threshold and memory.
    pub fn design(&self) -> &Design {
        &self.design
    }

    /// Number of the current epoch, from 0.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Published names in order, and the epoch that first published each.
    pub fn candidates(&self) -> impl ExactSizeIterator<Item = (&Kept, u64)> {
        self.candidates
            .iter()
            .map(|((kept, _), &epoch)| (kept, epoch))
    }

    /// Counts events, one step each, in at most `threads` threads. The caller has checked the batch,
    /// and that the sketch is open.
    pub(crate) fn feed(&mut self, items: Items<'_>, weights: Option<&[u64]>, threads: usize) {
        self.feed_all(items, weights, threads, None);
    }

    /// As [`Self::feed`] in one thread, and writes the fingerprint of each item to `fingerprints`.
    pub(crate) fn feed_and_hash(
        &mut self,
        items: Items<'_>,
        weights: Option<&[u64]>,
        fingerprints: &mut [u64],
    ) {
        self.feed_all(items, weights, 1, Some(fingerprints));
    }

    fn feed_all(
        &mut self,
        items: Items<'_>,
        weights: Option<&[u64]>,
        threads: usize,
        mut fingerprints: Option<&mut [u64]>,
    ) {
        let mut start = 0;
        while start < items.len() {
            let rest = weights.map(|weights| &weights[start..]);
            start += self.feed_epochs(items.slice(start, items.len()), rest, threads);
            let room = self.spec.steps_per_epoch - self.taken;
            let events = room.min((items.len() - start) as u64);
            let end = start + events as usize;
            let weights = weights.map(|weights| &weights[start..end]);
            let first = planted!("fingerprints-of-each-epoch-at-the-beginning", 0, start);
            let own = fingerprints.as_deref_mut();
            let own = own.map(|all| &mut all[first..first + (end - start)]);
            self.add_all(items.slice(start, end), weights, own);
            self.tick(events);
            start = end;
        }
        self.forget_items();
    }

    /// Identifies an item with this fingerprint, for [`Self::feed_one`], and begins to read what
    /// counts it; `None` after `close`.
    #[inline]
    pub(crate) fn identified(&self, item: Item<'_>, fingerprint: u64) -> Option<Identified> {
        let State { keys, counting, .. } = self.state.as_ref()?;
        Some(counting.identified(keys, item, fingerprint))
    }

    /// Begins to read the rest of what counts an item that was identified.
    #[inline]
    pub(crate) fn read_ahead(&self, known: Identified) {
        if let Some(state) = &self.state {
            state.counting.read_ahead(known);
        }
    }

    /// As [`Self::feed`] for one event, of an item that was identified since the last one.
    #[inline]
    pub(crate) fn feed_one(
        &mut self,
        item: (Item<'_>, u64),
        known: Option<Identified>,
        weight: u64,
    ) {
        let weight = weight.min(self.spec.largest_count());
        if let (Some(state), Some(known)) = (&mut self.state, known) {
            state.counting.count_one(item, known, weight);
        }
        self.tick(1);
    }

    /// Counts any number of events of one step.
    pub(crate) fn feed_batch(&mut self, items: Items<'_>, weights: Option<&[u64]>) {
        self.count(items, weights);
        self.tick(1);
    }

    /// Takes steps and ends the epochs that end in them. All epochs after the last one with events
    /// are empty, and an empty epoch publishes nothing.
    pub(crate) fn tick(&mut self, steps: u64) {
        let room = self.spec.steps_per_epoch - self.taken;
        if steps < room {
            self.taken += steps;
            return;
        }
        let mut came_ahead = self.end_epoch();
        let mut left = steps - room;
        while left >= self.spec.steps_per_epoch
            && (came_ahead || self.has_epochs_ahead())
            && !planted!("epochs-that-are-skipped-stay-unpublished")
        {
            left -= self.spec.steps_per_epoch;
            came_ahead = self.end_epoch();
        }
        self.epoch += left / self.spec.steps_per_epoch;
        self.taken = left % self.spec.steps_per_epoch;
    }

    /// Publishes the current epoch, even if it is incomplete, and opens the next. True if events of
    /// that one have come before.
    pub(crate) fn end_epoch(&mut self) -> bool {
        let mut came_ahead = false;
        if let Some(state) = &mut self.state {
            let epoch = self.epoch;
            let State { keys, counting, .. } = state;
            counting.end(keys, &self.design, epoch, |name| {
                self.candidates.entry(name).or_insert(epoch);
            });
            if let Some(following) = state.ahead.remove(&(epoch + 1)) {
                state.counting.counts = following;
                came_ahead = true;
            }
        }
        self.epoch += 1;
        self.taken = 0;
        came_ahead
    }

    /// Publishes the current epoch as the last one. It has fewer steps than the others at most, and
    /// is published once: a later call does nothing.
    pub(crate) fn finish(&mut self) {
        if !self.finished || planted!("last-epoch-published-twice") {
            self.end_epoch();
            self.finished = true;
        }
    }

    /// Destroys keys and counts. The current epoch is never published; published names remain.
    pub(crate) fn close(&mut self) {
        self.state = None;
    }

    /// The noise of ranks of an epoch (0 is shared), for the oracle in tests.
    pub(crate) fn draws(&self, epoch: u64, slots: &[u64]) -> Result<Vec<i64>> {
        let state = self.state.as_ref().ok_or(Error::Closed)?;
        let prf = NoiseFunction::new(&state.keys.noise.of_epoch(epoch));
        let draw = |&slot: &u64| match &self.design.law {
            Law::Laplace(laplace) => laplace.draw(&prf, slot),
            Law::Selection(selection) => {
                let mut block = [0];
                Selection::blocks(&prf, slot, &mut block);
                let unit = self.design.weight_of_unit as i64;
                selection.noise(block[0]).saturating_mul(unit)
            }
        };
        memory::collected(slots.iter().map(draw))
    }

    /// The identities of all dummies and then of the items, which decide evictions, for the oracle.
    pub(crate) fn identities(&self, items: Items<'_>) -> Result<Vec<u128>> {
        let state = self.state.as_ref().ok_or(Error::Closed)?;
        let identities = &state.keys.identities;
        let mut found = identities.dummies(self.design.slots as usize)?;
        memory::reserve(&mut found, items.len())?;
        items.for_each_item_chunk::<CHUNK>(|_, chunk| {
            let mut own = [0; CHUNK];
            identities.fill(chunk, &mut own[..chunk.len()], |_, _| None);
            found.extend(&own[..chunk.len()]);
        });
        Ok(found)
    }

    /// Counts events of a step that has not ended.
    pub(crate) fn count(&mut self, items: Items<'_>, weights: Option<&[u64]>) {
        self.add_all(items, weights, None);
        self.forget_items();
    }

    /// At the end of a batch: the memory of its items may hold others in the next one.
    fn forget_items(&mut self) {
        if let Some(state) = &mut self.state {
            state.counting.forget();
        }
    }

    fn add_all(
        &mut self,
        items: Items<'_>,
        weights: Option<&[u64]>,
        fingerprints: Option<&mut [u64]>,
    ) {
        if let Some(State { keys, counting, .. }) = &mut self.state {
            let most = self.spec.largest_count();
            counting.add_all(keys, items, weights, most, fingerprints);
        }
    }
}
