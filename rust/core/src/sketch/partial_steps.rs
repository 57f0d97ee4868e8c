//! Steps whose events workers have counted: their exact counts become one step, or a part of the
//! open one.
//!
//! The state is that of [`PrivateSketch::update_batch`] with the events themselves: under the batch
//! schedule a step adds to each cell the weight of its events, in whatever order and groups. So the
//! noise is drawn once, here, and its calibration is the same (docs/theory.md, "Partial counts").

use super::private::{PrivateSketch, State};
use crate::parameters::{BIT_WEIGHT, Shape, TableKind};
use crate::partial::exact_counts::Counts;
use crate::partial::{PartialCounts, PartialSpec, Summed};
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
        if self.is_signed {
            let expected = "none, for partial counts of one table";
            return Err(Error::parameter("signed_weights", expected, "some"));
        }
        let spec = PartialSpec {
            shape: self.shape,
            max_weight: self.spec.max_weight,
            most_events: most_events
                .unwrap_or_else(|| usual_events(&self.shape, self.spec.max_weight)),
            issued,
            sketch_id: self.sketch_id,
            public_key,
            named: None,
            summed: None,
        };
        spec.validate()?;
        Ok(spec)
    }

    /// The public description for workers that count events for another sketch, and for this one their
    /// values, as integers of a grid between two bounds. `events` is the description of the other one.
    pub fn partial_spec_of_values(
        &self,
        events: PartialSpec,
        bounds: (f64, f64),
        is_exact: bool,
        most_events: Option<u64>,
    ) -> Result<PartialSpec> {
        self.check_takes_partials()?;
        if !self.is_signed || self.shape != events.shape {
            let expected = "two with the same cells, the second of values";
            return Err(Error::parameter("tables", expected, "others"));
        }
        let steps = self.spec.max_weight;
        let spec = PartialSpec {
            most_events: most_events.unwrap_or_else(|| usual_events(&self.shape, steps)),
            summed: Some(Summed::new(self.sketch_id, steps, bounds, is_exact)?),
            ..events
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
        if self.spec.person_bound.is_some() {
            let expected = "none, for partial counts: a worker does not know what a person has \
                            contributed elsewhere";
            return Err(Error::parameter("person_bound", expected, "one"));
        }
        Ok(())
    }

    /// Checks that counts under a description are of this table.
    pub(super) fn check_partial(&self, spec: &PartialSpec) -> Result<()> {
        let of_values = spec.summed.map(|summed| (summed.sketch_id, summed.steps));
        let described = match self.is_signed {
            true => of_values,
            false => Some((spec.sketch_id, spec.max_weight)),
        };
        let is_mine = described == Some((self.sketch_id, self.spec.max_weight));
        if !is_mine || spec.shape != self.shape {
            let expected = "partial counts of this table";
            return Err(Error::parameter("sealed", expected, "those of another"));
        }
        Ok(())
    }

    /// All checks and all memory of [`Self::add_partial`], or of [`Self::add_partial_to_batch`], which
    /// then cannot fail.
    pub fn prepare_partial(&mut self, counts: &PartialCounts, in_open_step: bool) -> Result<()> {
        self.check_partial(counts.spec())?;
        counts.exact()?;
        self.prepare_counted(counts.events()?)?;
        if in_open_step {
            self.state.as_mut().ok_or(Error::Closed)?.open_step()?;
        }
        Ok(())
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
        self.prepare_partial(counts, false)?;
        let (added, is_signed) = (counts.exact()?, self.is_signed);
        self.add_step(|state| {
            add_to(&mut state.table, &mut state.seen, added, is_signed);
            if planted!("partial-added-twice") {
                add_to(&mut state.table, &mut state.seen, added, is_signed);
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
        self.prepare_partial(counts, true)?;
        let (added, events) = (counts.exact()?, counts.events()?);
        let state = self.state.as_mut().ok_or(Error::Closed)?;
        if let Some(open) = &mut state.open {
            add_to(open.table_mut(), &mut state.seen, added, self.is_signed);
            open.begin(events);
        }
        Ok(())
    }
}

/// Adds exact counts of the kind of a table to its published counts. Of bits, those that no earlier
/// event has set; of events and values those of this table.
fn add_to(table: &mut Table, seen: &mut Option<SeenBits>, added: &Counts, is_signed: bool) {
    match added {
        Counts::Sums(_) if is_signed && planted!("values-of-workers-are-not-added") => {}
        Counts::Sums(sums) => table.add_counts(sums.table(is_signed)),
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
