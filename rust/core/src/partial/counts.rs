//! Exact counts of a worker, and of a whole step.
//!
//! The table is that of a private sketch without noise and without pending counts: under the batch
//! schedule every event of a step is published with the step. Sums of tables do not depend on their
//! order, so any split of a step over workers ends in the state of one machine. Where heavy names are
//! published, names are counted instead: the table is a sum over them.

use crate::key::{SketchId, entropy};
use crate::parameters::TableKind;
use crate::partial::named::MOST_NAMES;
use crate::partial::names::NameCounts;
use crate::partial::saved_names::{CountBytes, LEAST_BYTES};
use crate::partial::spec::PartialSpec;
use crate::saved_state::{SavedState, StateReader, StateWriter};
use crate::schedule::EVENTS_PER_STEP;
use crate::table::Table;
use crate::table::hash::{Fingerprinter, RowHashes};
use crate::table::ingest::CheckedBatch;
use crate::table::items::{Items, check_weights};
use crate::table::kernels::{Bounded, Index};
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

enum Counts {
    Table(Table, RowHashes),
    Names(NameCounts),
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
        let shape = spec.shape;
        let of = if spec.named.is_some() {
            Counts::Names(NameCounts::new(spec.has_events_of_names())?)
        } else {
            let mut table = Table::new(shape.depth, shape.width, false)?;
            table.make_room(spec.bound_of(spec.most_events))?;
            table.make_room_for_places()?;
            let hashes = RowHashes::new(shape.hash_seed, shape.depth, shape.width);
            Counts::Table(table, hashes)
        };
        Ok(Self {
            spec,
            id: entropy()?,
            gathered: 0,
            fingerprinter: Fingerprinter::new(shape.hash_seed),
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

    /// Counts events; everything is checked before anything is counted.
    pub fn update_many(&mut self, items: Items<'_>, weights: Option<&[u64]>) -> Result<()> {
        let spec = &self.spec;
        let open = self.open.as_mut().ok_or_else(closed)?;
        check_weights("weights", weights, items.len(), spec.max_weight)?;
        if spec.shape.kind == TableKind::Counters {
            check_indices(items, spec.shape.width)?;
        }
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
            Counts::Table(table, hashes) => {
                let batch = CheckedBatch {
                    kind: spec.shape.kind,
                    fingerprinter: &self.fingerprinter,
                    hashes,
                    items,
                    weights,
                    max_weight: spec.max_weight,
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
    pub(crate) fn table(&self) -> Result<&Table> {
        match self.open.as_ref().map(|open| &open.of) {
            Some(Counts::Table(table, _)) => Ok(table),
            Some(Counts::Names(_)) => refused("counts of a table", "counts of names"),
            None => Err(closed()),
        }
    }

    /// The exact names, for discovery and the table that take them over.
    pub(crate) fn names(&self) -> Result<&NameCounts> {
        match self.open.as_ref().map(|open| &open.of) {
            Some(Counts::Names(names)) => Ok(names),
            Some(Counts::Table(..)) => refused("counts of names", "counts of a table"),
            None => Err(closed()),
        }
    }

    /// A keyed digest of the number of events and all counts: it confirms no guess.
    pub fn content_digest(&self, key: &[u8; 32]) -> Result<[u8; 32]> {
        let mut hasher = blake3::Hasher::new_keyed(key);
        hasher.update(&self.events()?.to_le_bytes());
        // Neither the id nor the size of the counters: they differ between splits of one step.
        match self.open.as_ref().map(|open| &open.of) {
            Some(Counts::Names(names)) => names.digest(&mut hasher)?,
            _ => self.table()?.with_wide_bytes(|counts| {
                hasher.update(counts);
            })?,
        }
        let digest = *hasher.finalize().as_bytes();
        hasher.zeroize();
        Ok(digest)
    }

    /// Appends id, number of events and counts in clear: for sealing only.
    pub(crate) fn save_after(&self, bytes: Vec<u8>) -> Result<Vec<u8>> {
        let open = self.open.as_ref().ok_or_else(closed)?;
        let counts = self.count_bytes();
        let bytes_of_counts = match &open.of {
            Counts::Table(table, _) => table.saved_bytes(),
            Counts::Names(names) => names.saved_bytes(counts),
        };
        let mut out = StateWriter::after(bytes, HEAD + bytes_of_counts)?;
        out.put(self.id);
        out.put(open.events.to_le_bytes());
        match &open.of {
            Counts::Table(table, _) => table.save(&mut out),
            Counts::Names(names) => names.save(counts, &mut out),
        }
        Ok(out.into_bytes())
    }

    fn count_bytes(&self) -> CountBytes {
        CountBytes::of(self.spec.bound_of(self.spec.most_events))
    }

    /// True if the clear counts under a description can have this many bytes. Those of a table have as
    /// many as follow from the description, those of names a power of two.
    pub(crate) fn can_have(spec: &PartialSpec, bytes: usize) -> bool {
        if spec.named.is_some() {
            let names = bytes.checked_sub(HEAD);
            return names.is_some_and(|bytes| bytes.is_power_of_two() && bytes >= LEAST_BYTES);
        }
        let bound = spec.bound_of(spec.most_events);
        bytes == HEAD + Table::saved_bytes_of(spec.shape.cells() as usize, bound)
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
        let (counts, bound) = (partial.count_bytes(), spec.bound_of(events));
        let open = partial.open.as_mut().ok_or_else(closed)?;
        match &mut open.of {
            Counts::Table(table, _) => {
                let is_wide = table.is_wide();
                table.restore(&mut from, bound).map_err(of_sealed)?;
                if table.is_wide() != is_wide {
                    return refused("counters of the size of the description", "others");
                }
                check_rows(table, spec.shape.kind, bound)?;
            }
            Counts::Names(names) => {
                let limits = spec.named.ok_or_else(closed)?.limits();
                let restored = names.restore(counts, limits, &mut from);
                restored.map_err(of_sealed).map_err(named("sealed"))?;
                check_names(names, events, bound)?;
            }
        }
        from.finish().map_err(of_sealed)?;
        open.events = events;
        Ok(partial)
    }
}

/// Checks what all names of some events satisfy.
fn check_names(names: &NameCounts, most_events: u64, most_weight: u128) -> Result<()> {
    let (mut events, mut weight) = (0, 0);
    for name in (0..names.len()).map(|at| names.name(at)) {
        events += u128::from(name.events);
        weight += u128::from(name.weight);
    }
    let is_possible =
        weight <= most_weight && (!names.has_events() || events <= most_events.into());
    match is_possible {
        true => Ok(()),
        false => refused("counts that the events allow", "larger ones"),
    }
}

/// Names the argument of a limit.
fn named(argument: &'static str) -> impl Fn(Error) -> Error {
    move |error| match error {
        Error::Parameter { expected, got, .. } => Error::parameter(argument, expected, got),
        other => other,
    }
}

fn check_indices(items: Items<'_>, width: u32) -> Result<()> {
    let is_within = |indices: &[u64]| indices.iter().all(|&at| at < u64::from(width));
    match items {
        Items::Ready(indices) if is_within(indices) => Ok(()),
        _ => {
            let expected = format!("integers from 0 to {}", width - 1);
            Err(Error::parameter("items", expected, "others"))
        }
    }
}

/// Checks what every table of events satisfies: an event adds its weight to one cell of each row.
fn check_rows(table: &Table, kind: TableKind, bound: u128) -> Result<()> {
    let sums = table.row_sums();
    let is_signed = kind == TableKind::CountSketch;
    if sums.has_negative && !is_signed {
        return refused("counts of at least 0", "a negative one");
    }
    if sums.absolute.iter().any(|&sum| sum > bound) {
        return refused("counts that the events allow", "larger ones");
    }
    // A sign changes a sum by twice the weight.
    let modulus = if is_signed { 2 } else { u128::MAX };
    let first = sums.absolute.first().map(|sum| sum % modulus);
    if sums.absolute.iter().any(|sum| Some(sum % modulus) != first) {
        return refused("rows that count the same events", "others");
    }
    Ok(())
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

fn closed() -> Error {
    Error::parameter(
        "partial",
        "partial counts that are open",
        "some that were sealed or merged",
    )
}

fn of_sealed(error: Error) -> Error {
    match error {
        Error::State(message) => Error::parameter("sealed", "partial counts", message),
        other => other,
    }
}

pub(super) fn refused<T>(expected: impl Into<String>, got: impl std::fmt::Display) -> Result<T> {
    Err(Error::parameter("sealed", expected, got))
}
