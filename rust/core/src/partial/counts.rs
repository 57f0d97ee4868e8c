//! Exact counts of a worker, and of a whole step.
//!
//! The table is that of a private sketch without noise and without pending counts: under the batch
//! schedule every event of a step is published with the step. Sums of tables do not depend on their
//! order, so any split of a step over workers ends in the state of one machine.

use crate::key::{SketchId, entropy};
use crate::parameters::TableKind;
use crate::partial::spec::PartialSpec;
use crate::saved_state::{SavedState, StateReader, StateWriter};
use crate::schedule::EVENTS_PER_STEP;
use crate::table::Table;
use crate::table::hash::{Fingerprinter, RowHashes};
use crate::table::ingest::CheckedBatch;
use crate::table::items::{Items, check_weights};
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
    table: Table,
    hashes: RowHashes,
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
        let shape = spec.shape;
        let mut table = Table::new(shape.depth, shape.width, false)?;
        table.make_room(spec.bound_of(spec.most_events))?;
        table.make_room_for_places()?;
        Ok(Self {
            spec,
            id: entropy()?,
            gathered: 0,
            fingerprinter: Fingerprinter::new(shape.hash_seed),
            open: Some(Counted {
                table,
                hashes: RowHashes::new(shape.hash_seed, shape.depth, shape.width),
                events: 0,
            }),
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
        let batch = CheckedBatch {
            kind: spec.shape.kind,
            fingerprinter: &self.fingerprinter,
            hashes: &open.hashes,
            items,
            weights,
            max_weight: spec.max_weight,
        };
        batch.publish(&mut open.table, 1)?;
        open.events = events;
        if planted!("noise-on-a-worker") {
            let cell = u64::from(self.id[0]) % u64::from(spec.shape.width);
            open.table.add_one(&Index, cell, 1);
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
        open.events = within(open.events, taken.events, self.spec.most_events)?;
        open.table.add_table(&taken.table);
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
        open.table.make_room(self.spec.bound_of(most_events))?;
        (self.gathered, self.spec.most_events) = (most, most_events);
        open.table.add_counts(&taken.table);
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
        self.open
            .as_ref()
            .map(|open| &open.table)
            .ok_or_else(closed)
    }

    /// A keyed digest of the number of events and all counts: it confirms no guess.
    pub fn content_digest(&self, key: &[u8; 32]) -> Result<[u8; 32]> {
        let mut hasher = blake3::Hasher::new_keyed(key);
        hasher.update(&self.events()?.to_le_bytes());
        // Neither the id nor the size of the counters: they differ between splits of one step.
        self.table()?.with_wide_bytes(|counts| {
            hasher.update(counts);
        })?;
        let digest = *hasher.finalize().as_bytes();
        hasher.zeroize();
        Ok(digest)
    }

    /// Appends id, number of events and counts in clear: for sealing only.
    pub(crate) fn save_after(&self, bytes: Vec<u8>) -> Result<Vec<u8>> {
        let open = self.open.as_ref().ok_or_else(closed)?;
        let mut out = StateWriter::after(bytes, HEAD + open.table.saved_bytes())?;
        out.put(self.id);
        out.put(open.events.to_le_bytes());
        open.table.save(&mut out);
        Ok(out.into_bytes())
    }

    /// Bytes of the clear counts under a description: a function of public values.
    pub(crate) fn saved_bytes(spec: &PartialSpec) -> usize {
        let bound = spec.bound_of(spec.most_events);
        HEAD + Table::saved_bytes_of(spec.shape.cells() as usize, bound)
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
        let is_wide = open.table.is_wide();
        let bound = spec.bound_of(events);
        open.table.restore(&mut from, bound).map_err(of_sealed)?;
        from.finish().map_err(of_sealed)?;
        if open.table.is_wide() != is_wide {
            return refused("counters of the size of the description", "others");
        }
        check_rows(&open.table, spec.shape.kind, bound)?;
        open.events = events;
        Ok(partial)
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
