//! Steps whose events workers have counted: their exact counts become one step, or a part of the
//! open one.
//!
//! The state is that of [`PrivateSketch::update_batch`] with the events themselves: under the batch
//! schedule a step adds to each cell the weight of its events, in whatever order and groups. So the
//! noise is drawn once, here, and its calibration is the same (docs/theory.md, "Partial counts").

use super::private::{PrivateSketch, State};
use crate::parameters::{BIT_WEIGHT, Shape, TableKind};
use crate::partial::exact_counts::Counts;
use crate::partial::{PartialCounts, PartialSpec};
use crate::schedule::{EVENTS_PER_STEP, Schedule};
use crate::table::Table;
use crate::table::kernels::Index;
use crate::table::seen_bits::SeenBits;
use crate::{Error, Result};

/// With fewer events than this, workers would seal more often than it saves.
const LEAST_USUAL_EVENTS: u64 = 1 << 20;

impl PrivateSketch {
    /// The public description for workers that count parts of a step of this sketch; by default they
    /// count as many events as narrow counters can hold.
    pub fn partial_spec(
        &self,
        public_key: [u8; 32],
        issued: u64,
        most_events: Option<u64>,
    ) -> Result<PartialSpec> {
        self.check_takes_partials()?;
        let spec = PartialSpec {
            shape: self.shape,
            max_weight: self.spec.max_weight,
            most_events: most_events
                .unwrap_or_else(|| usual_events(&self.shape, self.spec.max_weight)),
            issued,
            sketch_id: self.sketch_id,
            public_key,
            named: None,
        };
        spec.validate()?;
        Ok(spec)
    }

    /// Partial counts take part in steps of any number of events only, and have no people.
    fn check_takes_partials(&self) -> Result<()> {
        if !matches!(self.spec.schedule, Schedule::Batch { .. }) {
            let expected = "Batch, for partial counts";
            return Err(Error::parameter("schedule", expected, "another"));
        }
        if self.is_signed {
            let expected = "none, for partial counts";
            return Err(Error::parameter("signed_weights", expected, "some"));
        }
        if self.spec.person_bound.is_some() {
            let expected = "none, for partial counts: a worker does not know what a person has \
                            contributed elsewhere";
            return Err(Error::parameter("person_bound", expected, "one"));
        }
        Ok(())
    }

    /// Checks that counts under a description are of this table.
    pub(super) fn check_partial(&self, spec: &PartialSpec) -> Result<()> {
        let is_mine = spec.sketch_id == self.sketch_id
            && spec.shape == self.shape
            && spec.max_weight == self.spec.max_weight;
        if !is_mine {
            let expected = "partial counts of this table";
            return Err(Error::parameter("sealed", expected, "those of another"));
        }
        Ok(())
    }

    /// All checks and all memory of [`Self::add_partial`], which then cannot fail.
    pub fn prepare_partial(&mut self, counts: &PartialCounts) -> Result<()> {
        self.check_partial(counts.spec())?;
        counts.exact()?;
        self.prepare_counted(counts.events()?)
    }

    /// As [`Self::prepare_partial`], for this many events in whatever form.
    pub(super) fn prepare_counted(&mut self, events: u64) -> Result<()> {
        self.check_takes_partials()?;
        self.check_open(events)?;
        self.check_steps(1)?;
        self.make_room_at(self.step + 1)
    }

    /// One step with the events of some counts; everything is checked before anything is added. Events
    /// of the open step share it.
    pub fn add_partial(&mut self, counts: &PartialCounts) -> Result<()> {
        self.prepare_partial(counts)?;
        let added = counts.exact()?;
        self.add_step(|state| {
            add_to(&mut state.table, &mut state.seen, added);
            if planted!("partial-added-twice") {
                add_to(&mut state.table, &mut state.seen, added);
            }
            Ok(())
        })
    }

    /// One step with events that `add` adds to the published counts.
    pub(super) fn add_step(&mut self, add: impl FnOnce(&mut State) -> Result<()>) -> Result<()> {
        if self.has_open_step() {
            self.close_steps(1);
        }
        let state = self.state.as_mut().ok_or(Error::Closed)?;
        add(state)?;
        self.step += 1;
        state.cursor = state.cursor.moved_to(self.step);
        Ok(())
    }

    /// Events of the open step. No read sees them before [`Self::tick`], or any other step, closes it.
    pub fn add_partial_to_batch(&mut self, counts: &PartialCounts) -> Result<()> {
        self.prepare_partial(counts)?;
        let (added, events) = (counts.exact()?, counts.events()?);
        let state = self.state.as_mut().ok_or(Error::Closed)?;
        state.open_step()?;
        if let Some(open) = &mut state.open {
            add_to(open.table_mut(), &mut state.seen, added);
            open.begin(events);
        }
        Ok(())
    }
}

/// Adds exact counts of the kind of a table to its published counts. Of bits, those that no earlier
/// event has set.
fn add_to(table: &mut Table, seen: &mut Option<SeenBits>, added: &Counts) {
    match added {
        Counts::Table(added, _) => table.add_counts(added),
        Counts::Bits(bits) => {
            if let Some(seen) = seen {
                seen.unite(bits, |level, new| {
                    table.add_one(&Index, level, new * BIT_WEIGHT);
                });
            }
        }
        Counts::Names(_) => {} // `exact` has refused them
    }
}

/// As many events as narrow counters can hold, if these are enough for a part of a step.
fn usual_events(shape: &Shape, max_weight: u64) -> u64 {
    if let TableKind::Distinct { .. } = shape.kind {
        return EVENTS_PER_STEP; // bits have one size
    }
    match Table::last_narrow_step(max_weight) {
        events if events >= LEAST_USUAL_EVENTS => events,
        _ => EVENTS_PER_STEP,
    }
}
