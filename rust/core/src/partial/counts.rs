//! Exact counts of a worker, and of a whole step.
//!
//! The table is that of a private sketch without noise and without pending counts: under the batch
//! schedule every event of a step is published with the step. Sums of tables do not depend on their
//! order, so any split of a step over workers ends in the state of one machine. Of distinct items the
//! bits are counted, of which the union is taken; where heavy names are published, names: the table is
//! a sum over them.

use crate::key::{SketchId, entropy};
use crate::parameters::TableKind;
use crate::partial::exact_counts::{Counts, check_events};
use crate::partial::named::MOST_NAMES;
use crate::partial::names::NameCounts;
use crate::partial::refusals::{closed, named, of_sealed, refused};
use crate::partial::saved_names::CountBytes;
use crate::partial::spec::PartialSpec;
use crate::saved_state::{SavedState, StateReader, StateWriter};
use crate::schedule::EVENTS_PER_STEP;
use crate::table::event_weights::Bounded;
use crate::table::hash::Fingerprinter;
use crate::table::ingest::CheckedBatch;
use crate::table::items::Items;
use crate::table::kernels::Index;
use crate::{Error, Result};
use zeroize::Zeroize;

/// Version, id and number of events, before the counts.
const HEAD: usize = 2 + 16 + 8;

/// Exact counts under a public description. Neither `Clone` nor readable.
pub struct PartialCounts {
    spec: PartialSpec,
    /// 128 random bits: a store adds partials of one id once.
    id: [u8; 16],
    /// Most events of all partials that were gathered here.
    gathered: u64,
    fingerprinter: Fingerprinter,
    /// `None` when it was sealed, or merged into another one.
    open: Option<Counted>,
}

struct Counted {
    of: Counts,
    events: u64,
}

impl std::fmt::Debug for PartialCounts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "PartialCounts({:?})", self.spec)
    }
}

impl PartialCounts {
    /// No events yet, under a fresh id.
    pub fn new(spec: PartialSpec) -> Result<Self> {
        spec.validate()?;
        let of = Counts::new(&spec)?;
        Ok(Self {
            spec,
            id: entropy()?,
            gathered: 0,
            fingerprinter: Fingerprinter::new(spec.shape.hash_seed),
            open: Some(Counted { of, events: 0 }),
        })
    }

    /// The public description.
    pub fn spec(&self) -> &PartialSpec {
        &self.spec
    }

    /// The random id.
    pub fn id(&self) -> SketchId {
        SketchId(self.id)
    }

    /// Computes fingerprints of items under the hash seed of the table.
    pub fn fingerprinter(&self) -> &Fingerprinter {
        &self.fingerprinter
    }

    /// True after it was sealed or merged into another one.
    pub fn is_closed(&self) -> bool {
        self.open.is_none()
    }

    /// Counts events; everything is checked before anything is counted. Of values by item the weights
    /// are the integers of the grid that stand for them, in two's complement.
    pub fn update_many(&mut self, items: Items<'_>, weights: Option<&[u64]>) -> Result<()> {
        let spec = &self.spec;
        let open = self.open.as_mut().ok_or_else(closed)?;
        check_events(spec, items, weights)?;
        let events = within(open.events, items.len() as u64, spec.most_events)?;
        let table = match &mut open.of {
            Counts::Names(names) => {
                let limits = spec.named.ok_or_else(closed)?.limits();
                let largest = spec.max_weight;
                let weights = weights.map(|weights| Bounded { weights, largest });
                let counted = names.count(items, weights, limits);
                if names.is_intact() {
                    counted?;
                    open.events = events;
                    return Ok(());
                }
                self.open = None;
                return counted;
            }
            Counts::Bits(bits) => {
                bits.set_all(items, &self.fingerprinter);
                open.events = events;
                return Ok(());
            }
            Counts::Sums(sums) => {
                let (summed, values) = spec.summed.as_ref().zip(weights).ok_or_else(closed)?;
                let hashing = (&spec.shape, &self.fingerprinter);
                sums.count(items, values, summed, hashing)?;
                open.events = events;
                return Ok(());
            }
            Counts::Table(table, hashes) => {
                let batch = CheckedBatch {
                    kind: kind_of_cells(spec.shape.kind),
                    fingerprinter: &self.fingerprinter,
                    hashes,
                    items,
                    weights,
                    max_weight: spec.max_weight,
                    signed: false,
                };
                batch.publish(table, 1)?;
                table
            }
        };
        open.events = events;
        if planted!("noise-on-a-worker") {
            let cell = u64::from(self.id[0]) % u64::from(spec.shape.width);
            table.add_one(&Index, cell, 1);
        }
        Ok(())
    }

    /// Takes over the events of another partial under the same description, which is empty and closed
    /// afterwards. If it fails, both are as before.
    pub fn merge(&mut self, other: &mut Self) -> Result<()> {
        if self.spec != other.spec {
            return Err(Error::parameter(
                "other",
                "partial counts under the same description",
                "others",
            ));
        }
        let open = self.open.as_mut().ok_or_else(closed)?;
        let taken = other.open.as_ref().ok_or_else(closed)?;
        let events = within(open.events, taken.events, self.spec.most_events)?;
        match (&mut open.of, &taken.of) {
            (Counts::Table(table, _), Counts::Table(taken, _)) => table.add_table(taken),
            (Counts::Bits(bits), Counts::Bits(taken)) => bits.unite(taken, |_, _| {}),
            (Counts::Sums(sums), Counts::Sums(taken)) => sums.merge(taken),
            (Counts::Names(names), Counts::Names(taken)) => {
                let limits = self.spec.named.ok_or_else(closed)?.limits();
                names.merge(taken, limits).map_err(named("other"))?;
            }
            _ => return Err(closed()),
        }
        open.events = events;
        if !planted!("merged-partial-stays-open") {
            other.open = None;
        }
        Ok(())
    }

    /// Adds the counts of another partial of the same table, as many as one step has. The description
    /// grows with those of the partials, not with their events: it and the size stay public.
    pub fn gather(&mut self, other: &Self) -> Result<()> {
        if !self.spec.is_of_the_table_of(&other.spec) {
            return Err(Error::parameter(
                "sealed",
                "partial counts of this table",
                "those of another",
            ));
        }
        let open = self.open.as_mut().ok_or_else(closed)?;
        let taken = other.open.as_ref().ok_or_else(closed)?;
        let events = within(open.events, taken.events, EVENTS_PER_STEP)?;
        let most = self.gathered + other.spec.most_events;
        let most_events = planted!(
            "gathered-description-counts-the-events",
            events.max(1),
            most.min(EVENTS_PER_STEP)
        );
        let mut spec = PartialSpec {
            most_events,
            ..self.spec
        };
        match (&mut open.of, &taken.of) {
            (Counts::Table(table, _), Counts::Table(taken, _)) => {
                table.make_room(spec.bound_of(most_events))?;
                table.add_counts(taken);
            }
            (Counts::Bits(bits), Counts::Bits(taken)) => bits.unite(taken, |_, _| {}),
            (Counts::Sums(sums), Counts::Sums(taken)) => {
                let summed = spec.summed.as_ref().ok_or_else(closed)?;
                sums.gather(taken, &spec, summed, most_events)?;
            }
            (Counts::Names(names), Counts::Names(taken)) => {
                let sum = spec.named.as_mut().zip(other.spec.named.as_ref());
                let (sum, more) = sum.ok_or_else(closed)?;
                sum.most_names = (sum.most_names + more.most_names).min(MOST_NAMES);
                names.merge(taken, sum.limits()).map_err(named("sealed"))?;
            }
            _ => return Err(closed()),
        }
        (self.gathered, self.spec) = (most, spec);
        open.events = events;
        Ok(())
    }

    /// Number of events: exact, so only for checks of a private table that takes them over.
    pub(crate) fn events(&self) -> Result<u64> {
        self.open
            .as_ref()
            .map(|open| open.events)
            .ok_or_else(closed)
    }

    /// The exact counts, for a private table that takes them over.
    pub(crate) fn exact(&self) -> Result<&Counts> {
        match self.open.as_ref().map(|open| &open.of) {
            Some(Counts::Names(_)) => refused("counts of a table", "counts of names"),
            Some(counts) => Ok(counts),
            None => Err(closed()),
        }
    }

    /// The exact names, for discovery and the table that take them over.
    pub(crate) fn names(&self) -> Result<&NameCounts> {
        match self.open.as_ref().map(|open| &open.of) {
            Some(Counts::Names(names)) => Ok(names),
            Some(_) => refused("counts of names", "counts of a table"),
            None => Err(closed()),
        }
    }

    /// A keyed digest of the number of events and all counts: it confirms no guess.
    pub fn content_digest(&self, key: &[u8; 32]) -> Result<[u8; 32]> {
        let mut hasher = blake3::Hasher::new_keyed(key);
        hasher.update(&self.events()?.to_le_bytes());
        // Neither the id nor the size of the counters: they differ between splits of one step.
        let open = self.open.as_ref().ok_or_else(closed)?;
        open.of.digest(&mut hasher)?;
        let digest = *hasher.finalize().as_bytes();
        hasher.zeroize();
        Ok(digest)
    }

    /// Appends id, number of events and counts in clear: for sealing only.
    pub(crate) fn save_after(&self, bytes: Vec<u8>) -> Result<Vec<u8>> {
        let open = self.open.as_ref().ok_or_else(closed)?;
        let counts = CountBytes::of(self.spec.bound_of(self.spec.most_events));
        let mut out = StateWriter::after(bytes, HEAD + open.of.saved_bytes(counts))?;
        out.put(self.id);
        out.put(open.events.to_le_bytes());
        open.of.save(counts, &mut out);
        Ok(out.into_bytes())
    }

    /// True if the clear counts under a description can have this many bytes. Those of a table and of
    /// bits have as many as follow from the description, those of names a power of two.
    pub(crate) fn can_have(spec: &PartialSpec, bytes: usize) -> bool {
        let counts = bytes.checked_sub(HEAD);
        counts.is_some_and(|counts| Counts::can_have(spec, counts))
    }

    /// Erases the counts; nothing can be added or sealed any more.
    pub(crate) fn close(&mut self) {
        self.open = None;
    }

    /// The partial that was saved under a description. No count may be beyond what its events allow.
    pub(crate) fn restore(spec: PartialSpec, state: &SavedState) -> Result<Self> {
        let mut partial = Self::new(spec)?;
        let mut from = StateReader::new(state).map_err(of_sealed)?;
        partial.id = from.take().map_err(of_sealed)?;
        let events = from.take_u64().map_err(of_sealed)?;
        let events = within(0, events, spec.most_events)?;
        let open = partial.open.as_mut().ok_or_else(closed)?;
        open.of.restore(&spec, events, &mut from)?;
        from.finish().map_err(of_sealed)?;
        open.events = events;
        Ok(partial)
    }
}

/// The kind whose cells the events of a table have.
fn kind_of_cells(kind: TableKind) -> TableKind {
    match kind {
        TableKind::Ranges if planted!("keys-of-a-worker-in-cells-of-items") => {
            TableKind::CountSketch
        }
        kind => kind,
    }
}

/// The number of events with `more`, if it is at most `most`. The message has the limit alone.
fn within(events: u64, more: u64, most: u64) -> Result<u64> {
    match events.checked_add(more) {
        Some(sum) if sum <= most => Ok(sum),
        _ => Err(Error::parameter(
            "items",
            format!("at most {most} events of partial counts; seal these, and begin others"),
            "more",
        )),
    }
}
