//! A private sketch and discovery over one stream: which items are heavy, and their estimates.
//!
//! Each call feeds both. The sketch estimates any item; discovery publishes names, whose estimates
//! the sketch then gives at no further privacy cost. The guarantees add up: (epsilon, delta) of the
//! sketch plus those of discovery. All checks are the sketch's and come first: discovery counts
//! exactly what the sketch accepts.

use super::private::PrivateSketch;
use crate::discovery::name::Kept;
use crate::discovery::spec::DiscoverySpec;
use crate::discovery::{Discovery, Identified};
use crate::guarantee::NotPrivate;
use crate::item::Item;
use crate::key::{Identity, MasterKey};
use crate::parameters::{NoiseSpec, Relation, Shape};
use crate::release::codec;
use crate::saved_state::StateReader;
use crate::table::items::{Items, StepRows};
use crate::{Error, Result, memory};

/// Fewest items for which room for their fingerprints is asked for, and the most that it holds: they
/// stay in a fast cache until they are counted.
const FEWEST: usize = 1 << 6;
const PIECE: usize = 1 << 16;

/// A sketch that publishes the names of its heavy items.
pub struct HeavySketch {
    pub(super) sketch: PrivateSketch,
    pub(super) discovery: Discovery,
}

/// What a sketch and its discovery know of an item, until either changes.
#[derive(Clone, Copy)]
pub struct Known {
    fingerprint: u64,
    identified: Option<Identified>,
}

impl HeavySketch {
    /// The noise of both belongs to `identity` only.
    pub fn new(
        shape: Shape,
        noise: NoiseSpec,
        discovery: DiscoverySpec,
        key: &MasterKey,
        identity: Identity,
    ) -> Result<Self> {
        check_agreement(&shape, &noise, &discovery)?;
        let id = identity.id;
        // Rejects an invalid shape or spec before discovery allocates memory.
        let sketch = PrivateSketch::new(shape, noise, key, identity)?;
        let parameters = codec::encode_parameters(&shape, &noise);
        let discovery = Discovery::new(discovery, key, &id, &parameters, *sketch.fingerprinter())?;
        Ok(Self { sketch, discovery })
    }

    /// The sketch.
    pub fn sketch(&self) -> &PrivateSketch {
        &self.sketch
    }

    /// Raises unless discovery covers all events that are counted of one person, if people are
    /// bounded: a number that depends on the tables that count the same events.
    pub fn check_people(&self, counted_events: u64) -> Result<()> {
        let noise = self.sketch.spec();
        let Some(bound) = noise.person_bound else {
            return Ok(());
        };
        let needed = bound.people_changed(noise.relation) * counted_events;
        let covered = planted!(
            "names-cover-fewer-events-than-are-counted",
            needed,
            self.discovery.spec().max_events_per_user
        );
        if needed <= covered {
            return Ok(());
        }
        let expected = format!("at most {covered} events that change names");
        Err(Error::parameter("person_bound", expected, needed))
    }

    /// The sketch, for reads. (Discovery does not see an event given to the sketch alone.)
    pub fn sketch_mut(&mut self) -> &mut PrivateSketch {
        &mut self.sketch
    }

    /// Epochs and published names.
    pub fn discovery(&self) -> &Discovery {
        &self.discovery
    }

    /// One event, one step.
    #[inline]
    pub fn update(&mut self, item: Item<'_>, weight: u64) -> Result<()> {
        let known = self.known(item);
        self.update_known(item, known, weight)
    }

    /// What both know of an item, for [`Self::update_known`]. It begins to read the memory that
    /// counts the item: with several tables, while what is known of the others is computed.
    #[inline]
    pub fn known(&self, item: Item<'_>) -> Known {
        let fingerprint = self.sketch.fingerprinter().item(item);
        Known {
            fingerprint,
            identified: self.discovery.identified(item, fingerprint),
        }
    }

    /// Begins to read more of that memory, for an item that is known for some time.
    #[inline]
    pub fn read_ahead(&self, known: Known) {
        if let Some(identified) = known.identified {
            self.discovery.read_ahead(identified);
        }
    }

    /// As [`Self::update`], with what is known of the item since the last change.
    #[inline]
    pub fn update_known(&mut self, item: Item<'_>, known: Known, weight: u64) -> Result<()> {
        self.sketch.update(known.fingerprint, weight)?;
        self.feed_known(item, known, weight);
        Ok(())
    }

    #[inline]
    fn feed_known(&mut self, item: Item<'_>, known: Known, weight: u64) {
        let item = (item, known.fingerprint);
        self.discovery.feed_one(item, known.identified, weight);
    }

    /// All checks and all memory of [`Self::update_many`] with one event, which then cannot fail.
    pub fn prepare_update(&mut self, weight: u64) -> Result<()> {
        self.sketch.prepare_update(weight)
    }

    /// A batch, one step per event; everything is checked before anything is applied.
    pub fn update_many(&mut self, items: Items<'_>, weights: Option<&[u64]>) -> Result<()> {
        self.update_many_in_threads(items, weights, 1)
    }

    /// As [`Self::update_many`], in at most `threads` threads.
    pub fn update_many_in_threads(
        &mut self,
        items: Items<'_>,
        weights: Option<&[u64]>,
        threads: usize,
    ) -> Result<()> {
        check_items(items)?;
        if threads == 1
            && items.len() >= FEWEST
            && are_long(items)
            && let Ok(room) = memory::zeros(PIECE.min(items.len()))
        {
            return self.update_in_pieces(items, weights, room);
        }
        self.sketch
            .update_many_in_threads(items, weights, threads)?;
        if items.len() == 1 {
            // Preparing a batch costs as much as several events.
            items.for_each_item_chunk::<1>(|_, only| {
                let known = self.known(only[0]);
                let weight = weights.map_or(1, |weights| weights[0]);
                self.feed_known(only[0], known, weight);
            });
        } else {
            self.discovery.feed(items, weights, threads);
        }
        Ok(())
    }

    /// As [`Self::update_many`], of items whose contents may be long: discovery reads each once, and
    /// the sketch counts the fingerprints that it leaves in `room`.
    fn update_in_pieces(
        &mut self,
        items: Items<'_>,
        weights: Option<&[u64]>,
        mut room: Vec<u64>,
    ) -> Result<()> {
        self.sketch
            .prepare_rows(StepRows::new(items, weights, &[])?)?;
        // From here on nothing can fail.
        for start in (0..items.len()).step_by(room.len()) {
            let end = items.len().min(start + room.len());
            let weights = weights.map(|weights| &weights[start..end]);
            let fingerprints = &mut room[..end - start];
            let piece = items.slice(start, end);
            self.discovery.feed_and_hash(piece, weights, fingerprints);
            self.sketch
                .update_many(Items::Ready(fingerprints), weights)?;
        }
        memory::wipe(&mut room);
        Ok(())
    }

    /// Rows, one step each; some have no event.
    pub fn update_rows(&mut self, rows: StepRows<'_>) -> Result<()> {
        check_items(rows.items())?;
        self.sketch.update_rows(rows)?;
        for (items, weights, empty) in rows.pieces() {
            self.discovery.feed(items, weights, 1);
            self.discovery
                .tick(planted!("empty-rows-take-no-step", 0, empty));
        }
        Ok(())
    }

    /// All checks and all memory of [`Self::update_rows`], which then cannot fail.
    pub fn prepare_rows(&mut self, rows: StepRows<'_>) -> Result<()> {
        check_items(rows.items())?;
        self.sketch.prepare_rows(rows)
    }

    /// All checks and all memory of [`Self::update_batch`], which then cannot fail.
    pub fn prepare_batch(&mut self, items: Items<'_>, weights: Option<&[u64]>) -> Result<()> {
        check_items(items)?;
        self.sketch.prepare_batch(items, weights)
    }

    /// All checks and all memory of [`Self::add_to_batch`], which then cannot fail.
    pub fn prepare_open_step(&mut self, items: Items<'_>, weights: Option<&[u64]>) -> Result<()> {
        check_items(items)?;
        self.sketch.prepare_open_step(items, weights)
    }

    /// Many events in one step, under the batch schedule.
    pub fn update_batch(&mut self, items: Items<'_>, weights: Option<&[u64]>) -> Result<()> {
        check_items(items)?;
        self.sketch.update_batch(items, weights)?;
        self.discovery.feed_batch(items, weights);
        Ok(())
    }

    /// Many events of the open step, under the batch schedule; published when that step is closed.
    pub fn add_to_batch(&mut self, items: Items<'_>, weights: Option<&[u64]>) -> Result<()> {
        check_items(items)?;
        self.sketch.add_to_batch(items, weights)?;
        self.discovery.count(items, weights);
        Ok(())
    }

    /// Steps without events.
    pub fn tick(&mut self, steps: u64) -> Result<()> {
        self.sketch.tick(steps)?;
        self.discovery.tick(steps);
        Ok(())
    }

    /// Publishes the current epoch now; it is consumed, and the next begins. After
    /// [`Self::finish`] no epoch is open, and the call does nothing.
    pub fn end_epoch(&mut self) -> Result<()> {
        self.check_end_of_epoch()?;
        if !self.sketch.is_finished() {
            self.discovery.end_epoch();
        }
        Ok(())
    }

    /// The checks of [`Self::end_epoch`], which then cannot fail.
    pub fn check_end_of_epoch(&self) -> Result<()> {
        if self.sketch.is_closed() {
            return Err(Error::Closed);
        }
        if self.sketch.is_finished() {
            return Ok(());
        }
        // The names of an unfinished step would be published before its counts.
        if self.sketch.has_open_step() {
            return Err(Error::parameter("discovery_epoch", "no open step", "one"));
        }
        Ok(())
    }

    /// The last step: publishes pending counts and the names of the open epoch, and ends counting.
    /// When it is called must not depend on the events. Interrupted, the next call completes it:
    /// no event comes in between, so the epoch is published with the same contents.
    pub fn finish(&mut self) -> Result<()> {
        self.tick(self.sketch.steps_with_events())?;
        self.sketch.finish()?;
        self.discovery.finish();
        Ok(())
    }

    /// Published names in order, the epoch that first published each, and the sketch's estimates.
    pub fn candidates(&mut self) -> Result<Vec<(Kept, u64, f64)>> {
        let candidates = self.discovery.candidates();
        let mut found = memory::room_for(candidates.len())?;
        for (kept, epoch) in candidates {
            let estimate = self.sketch.estimate(kept.fingerprint)?;
            found.push((kept.clone(), epoch, estimate));
        }
        Ok(found)
    }

    /// Takes over the saved state of discovery; the sketch's was before it.
    pub(super) fn restore_discovery(&mut self, from: &mut StateReader<'_>) -> Result<()> {
        self.discovery.restore(from)
    }

    /// Destroys keys and counts; the current epoch is never published.
    pub fn close(&mut self) {
        self.sketch.close();
        self.discovery.close();
    }

    /// The noise of slots of an epoch, for the oracle in tests; only under a seeded key.
    pub fn discovery_draws(&self, epoch: u64, slots: &[u64]) -> Result<Vec<i64>> {
        self.check_seeded()?;
        self.discovery.draws(epoch, slots)
    }

    /// The identities of all dummies and then of the items, for the oracle in tests; only under a
    /// seeded key.
    pub fn identities(&self, items: Items<'_>) -> Result<Vec<u128>> {
        self.check_seeded()?;
        check_items(items)?;
        self.discovery.identities(items)
    }

    fn check_seeded(&self) -> Result<()> {
        if self.sketch.not_private().contains(NotPrivate::SEEDED) {
            return Ok(());
        }
        Err(Error::PrivateDraws)
    }
}

/// Both specs must describe the same stream and the same user.
fn check_agreement(shape: &Shape, noise: &NoiseSpec, discovery: &DiscoverySpec) -> Result<()> {
    if shape.kind.has_indices() {
        return Err(Error::parameter("kind", "a sketch", shape.kind.name()));
    }
    // Without a person, each of the person's events in an epoch becomes an empty step.
    let (relation, events) = match noise.person_bound {
        None => (noise.relation, noise.max_events_per_user),
        // Other tables may count less of a person; `check_people` compares before each change.
        Some(bound) => (
            Relation::ZeroOut,
            discovery
                .max_events_per_user
                .min(bound.events_changed(noise.relation)),
        ),
    };
    if relation != discovery.relation {
        let (expected, got) = (relation.name(), discovery.relation.name());
        return Err(Error::parameter("relation", expected, got));
    }
    for (name, expected, got) in [
        ("max_events_per_user", events, discovery.max_events_per_user),
        ("max_weight", noise.max_weight, discovery.max_weight),
        (
            "events_per_step",
            noise.schedule.events_per_step(),
            discovery.events_per_step,
        ),
    ] {
        if expected != got {
            return Err(Error::parameter(name, expected.to_string(), got));
        }
    }
    Ok(())
}

/// True if the first of many contents in columns are long on average: then reading and hashing them
/// takes longer than room for their fingerprints.
fn are_long(items: Items<'_>) -> bool {
    let Items::Columns(columns, start, _) = items else {
        return false;
    };
    let mut first = [Item::Unsigned(0); FEWEST];
    columns.items(start, &mut first);
    let bytes = first.iter().map(|item| match item {
        Item::Text(text) => text.len(),
        Item::Bytes(bytes) => bytes.len(),
        _ => 0,
    });
    bytes.sum::<usize>() > 16 * FEWEST
}

pub(super) fn check_items(items: Items<'_>) -> Result<()> {
    match items {
        Items::Columns(columns, ..) if columns.has_items() => Ok(()),
        Items::Ready(_) | Items::Columns(..) => {
            Err(Error::parameter("items", "whole items", "fingerprints"))
        }
        _ => Ok(()),
    }
}
