//! The step that is not over: under the batch schedule a step is a public slice of time, and its
//! events may come in any number of calls. They wait in a table of their own, which no read looks
//! at, until a step is taken.

use super::PrivateSketch;
use crate::schedule::Schedule;
use crate::table::Table;
use crate::table::ingest::Batch;
use crate::table::items::{Items, check_weights};
use crate::{Error, Result};

pub(super) struct OpenStep {
    table: Table,
    events: u64,
    begun: bool,
}

impl PrivateSketch {
    /// Many events of the open step, under the batch schedule. Nothing shows them before
    /// [`Self::tick`], or whatever else takes a step, closes it.
    pub fn add_to_batch(&mut self, items: Items<'_>, weights: Option<&[u64]>) -> Result<()> {
        self.check_batch(items, weights)?;
        // The bound of the step that they will be in: a function of its number alone.
        let bound = self.bound_at(self.step + 1);
        let state = self.state.as_mut().ok_or(Error::Closed)?;
        let (table, hashes) = (&state.table, state.estimator.hashes());
        let open = state.open.get_or_insert_with(|| OpenStep {
            table: table.empty(),
            events: 0,
            begun: false,
        });
        open.begun = true;
        open.table.make_room(bound);
        let batch = Batch {
            kind: self.shape.kind,
            fingerprinter: &self.fingerprinter,
            hashes,
            items,
            weights,
            max_weight: self.law.max_weight,
        };
        batch.publish(&mut open.table, 1);
        open.events += items.len() as u64;
        Ok(())
    }

    /// What a batch, or a part of one, must be.
    pub(super) fn check_batch(&self, items: Items<'_>, weights: Option<&[u64]>) -> Result<()> {
        if !matches!(self.law.schedule, Schedule::Batch { .. }) {
            return Err(Error::parameter(
                "schedule",
                "Batch, for several events in a step",
                "another",
            ));
        }
        self.check_open(items.len() as u64)?;
        check_weights("weights", weights, items.len(), self.law.max_weight)?;
        self.check_indices(items)?;
        self.check_steps(1)
    }

    /// A step holds no more events than the bound on counters allows for, however many calls
    /// bring them.
    pub(super) fn check_open(&self, events: u64) -> Result<()> {
        let open = self.state.as_ref().and_then(|state| state.open.as_ref());
        let before = open.map_or(0, |open| open.events);
        let most = self.law.schedule.events_per_step();
        if events > most - before.min(most) {
            // How many there are is exact: the message says only how many there may be.
            return Err(Error::parameter(
                "items",
                format!("at most {most} events in a step"),
                "more",
            ));
        }
        Ok(())
    }

    /// True from `add_to_batch` until a step is taken, whether it brought events or not.
    #[inline]
    pub(crate) fn has_open_step(&self) -> bool {
        let open = self.state.as_ref().and_then(|state| state.open.as_ref());
        open.is_some_and(|open| open.begun)
    }

    /// Moves what `add_to_batch` brought to the published counts; the caller takes the step.
    pub(super) fn close_step(&mut self) {
        let bound = self.bound_at(self.step + 1);
        let Some(state) = self.state.as_mut() else {
            return;
        };
        if let Some(open) = &mut state.open
            && open.begun
        {
            state.table.make_room(bound);
            open.table.make_room(bound);
            state.table.add_table(&open.table);
            open.table.clear();
            open.events = 0;
            open.begun = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::{Identity, MasterKey, SketchId};
    use crate::mechanism::MechanismKind;
    use crate::parameters::{Calibration, Kind, NoiseLaw, Relation, Shape};

    /// As many events as nobody can bring in a test: the number is set by hand.
    #[test]
    fn a_step_holds_no_more_events_than_its_bound_however_they_come() {
        let law = NoiseLaw {
            schedule: Schedule::Batch { horizon: 3 },
            mechanism: MechanismKind::Haar,
            sigma: 3.0,
            relation: Relation::Substitution,
            calibration: Calibration::Analytic,
            epsilon: 1.0,
            delta: 1e-6,
            max_weight: 1,
            max_events_per_user: 1,
            max_changes: 1,
        };
        let shape = Shape {
            kind: Kind::CountMin,
            depth: 2,
            width: 3,
            hash_seed: 1,
        };
        let identity = Identity::chosen(SketchId([1; 16]));
        let mut sketch = PrivateSketch::new(shape, law, &MasterKey::seeded(1), identity).unwrap();
        let one = Items::Ready(&[7]);
        sketch.add_to_batch(one, None).unwrap();
        let most = law.schedule.events_per_step();
        sketch.state.as_mut().unwrap().open.as_mut().unwrap().events = most - 1;
        let two = Items::Ready(&[7, 8]);
        assert!(sketch.add_to_batch(two, None).is_err());
        assert!(sketch.update_batch(two, None).is_err());
        sketch.add_to_batch(one, None).unwrap();
        assert!(sketch.add_to_batch(one, None).is_err());
        assert!(sketch.update(7, 1).is_err());
        assert!(sketch.update_many(one, None).is_err());
        assert_eq!(sketch.step(), 0);
        sketch.tick(1).unwrap();
        sketch.update(7, 1).unwrap();
        assert_eq!(sketch.step(), 2);
    }
}
