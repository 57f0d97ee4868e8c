//! Updates of a private sketch: events are checked as a whole, counted, and due pushes executed.

#[cfg(test)]
mod tests;

use super::private::PrivateSketch;
use crate::parameters::TableKind;
use crate::table::event_weights::Bounded;
use crate::table::ingest::{CheckedBatch, columns_between};
use crate::table::items::{Items, StepRows, check_signed_weights, check_weight, check_weights};
use crate::table::kernels::{Events, Index, Signed, Tally, Unsigned};
use crate::table::range_rows::RangeRows;
use crate::{Error, Result, memory};

impl PrivateSketch {
    /// One event, one step.
    #[inline]
    pub fn update(&mut self, item: u64, weight: u64) -> Result<()> {
        self.check_update(weight)?;
        self.check_index(item)?;
        let step = self.step + 1;
        if step > self.last_narrow_step {
            self.make_room_at(step)?;
        }
        if self.has_open_step() {
            self.close_steps(1);
        }
        let state = self.state.as_mut().ok_or(Error::Closed)?;
        let (item, weight) = match &mut state.seen {
            Some(seen) => seen.see(item),
            None => (item, weight),
        };
        let (table, hashes) = (&mut state.table, state.estimator.hashes());
        match self.shape.kind {
            TableKind::CountMin => table.add_one(&Unsigned(hashes), item, weight),
            TableKind::CountSketch => table.add_one(&Signed(hashes), item, weight),
            TableKind::Ranges => table.add_one(&RangeRows(hashes), item, weight),
            TableKind::Counters | TableKind::Distinct { .. } | TableKind::Values { .. } => {
                table.add_one(&Index, item, weight);
            }
        }
        if self.spec.schedule.pushes_everything() {
            state.cursor = state.cursor.moved_to(step);
        }
        if planted!("next-column-published-early") && !self.spec.schedule.pushes_everything() {
            table.push(state.cursor.progress().column);
        }
        while state.cursor.next_step() == step {
            table.push(state.cursor.advance());
        }
        self.step = step;
        Ok(())
    }

    /// All checks and all memory of [`Self::update_many`] with one event, which then cannot fail.
    pub fn prepare_update(&mut self, weight: u64) -> Result<()> {
        self.check_update(weight)?;
        let step = self.step + 1;
        if step > self.last_narrow_step {
            self.make_room_at(step)?;
        }
        self.make_room_for_places()
    }

    /// All checks of [`Self::update`] on a sketch.
    #[inline]
    fn check_update(&self, weight: u64) -> Result<()> {
        self.check_bounded()?;
        if self.is_signed {
            check_signed_weights(Some(&[weight]), 1, self.spec.max_weight)?;
        } else {
            check_weight(weight, self.most_weight())?;
        }
        if weight != 1 && self.is_distinct() {
            return Err(Error::parameter(
                "weight",
                "1, for distinct items",
                "another",
            ));
        }
        self.check_steps(1)?;
        if self.has_open_step() {
            self.check_open(1)?;
        }
        Ok(())
    }

    /// True for a count of distinct items.
    pub(super) fn is_distinct(&self) -> bool {
        matches!(self.shape.kind, TableKind::Distinct { .. })
    }

    /// The largest weight that a caller may give an event.
    pub(super) fn most_weight(&self) -> u64 {
        if self.is_distinct() {
            1
        } else {
            self.spec.max_weight
        }
    }

    /// All checks of the weights of a batch.
    pub(super) fn check_batch_weights(&self, weights: Option<&[u64]>, items: usize) -> Result<()> {
        if self.is_signed {
            return check_signed_weights(weights, items, self.spec.max_weight);
        }
        check_weights("weights", weights, items, self.most_weight())
    }

    /// Distinct items have no weights: an event of weight 0 would set no bit.
    pub(super) fn check_unweighted(&self, weights: Option<&[u64]>) -> Result<()> {
        if weights.is_some() && self.is_distinct() {
            return Err(Error::parameter(
                "weights",
                "none, for distinct items",
                "some",
            ));
        }
        Ok(())
    }

    /// True while events are counted that [`crate::people::People`] has bounded. Otherwise a table
    /// with a bound of people counts no event.
    pub fn set_bounded(&mut self, is_bounded: bool) {
        self.is_bounded = is_bounded;
    }

    #[inline]
    pub(super) fn check_bounded(&self) -> Result<()> {
        if self.spec.person_bound.is_none() || self.is_bounded {
            return Ok(());
        }
        if planted!("events-without-a-person-are-counted") {
            return Ok(());
        }
        Err(Error::parameter("user", "the person of each event", "none"))
    }

    /// A batch, one step per event; everything is checked before anything is applied.
    pub fn update_many(&mut self, items: Items<'_>, weights: Option<&[u64]>) -> Result<()> {
        self.update_many_in_threads(items, weights, 1)
    }

    /// As [`Self::update_many`], in at most `threads` threads; the state is the same for any
    /// number.
    pub fn update_many_in_threads(
        &mut self,
        items: Items<'_>,
        weights: Option<&[u64]>,
        threads: usize,
    ) -> Result<()> {
        self.check_bounded()?;
        self.check_batch_weights(weights, items.len())?;
        self.check_unweighted(weights)?;
        // Preparing a batch costs as much as several events.
        if let Some(item) = items.only(&self.fingerprinter) {
            return self.update(item, weights.map_or(1, |weights| weights[0]));
        }
        self.check_indices(items)?;
        self.check_steps(items.len() as u64)?;
        if items.is_empty() {
            return Ok(());
        }
        if self.has_open_step() {
            self.check_open(1)?;
        }
        // The step at which counters widen depends on the numbers of steps and calls alone.
        self.make_room_at(self.step + items.len() as u64)?;
        self.apply(items, weights, items.len() as u64, threads)
    }

    /// Rows, one step each, some without an event; everything is checked before anything is
    /// applied.
    pub fn update_rows(&mut self, rows: StepRows<'_>) -> Result<()> {
        self.prepare_rows(rows)?;
        for (items, weights, empty) in rows.pieces() {
            self.update_many(items, weights)?;
            self.tick(planted!("empty-rows-take-no-step", 0, empty))?;
        }
        Ok(())
    }

    /// All checks and all memory of [`Self::update_rows`], which then cannot fail.
    pub fn prepare_rows(&mut self, rows: StepRows<'_>) -> Result<()> {
        self.check_rows(rows)?;
        self.make_room_at(self.step + rows.steps())?;
        self.make_room_for_places()
    }

    /// All checks and all memory of [`Self::update_batch`], which then cannot fail.
    pub fn prepare_batch(&mut self, items: Items<'_>, weights: Option<&[u64]>) -> Result<()> {
        self.check_batch(items, weights)?;
        self.make_room_at(self.step + 1)?;
        self.make_room_for_places()
    }

    /// All checks and all memory of [`Self::add_to_batch`], which then cannot fail.
    pub fn prepare_open_step(&mut self, items: Items<'_>, weights: Option<&[u64]>) -> Result<()> {
        self.check_batch(items, weights)?;
        // The bound for the step being filled: a function of its number alone.
        self.make_room_at(self.step + 1)?;
        let state = self.state.as_mut().ok_or(Error::Closed)?;
        state.open_step()?.table_mut().make_room_for_places()
    }

    /// All checks of [`Self::update_rows`].
    pub fn check_rows(&self, rows: StepRows<'_>) -> Result<()> {
        let (items, weights) = (rows.items(), rows.weights());
        self.check_bounded()?;
        self.check_batch_weights(weights, items.len())?;
        self.check_unweighted(weights)?;
        self.check_indices(items)?;
        self.check_steps(rows.steps())?;
        // The first row closes the open step, with its own event or without one.
        if self.has_open_step() && rows.begins_with_an_event() {
            self.check_open(1)?;
        }
        Ok(())
    }

    /// Many events in one step, under the batch schedule, together with earlier ones of
    /// `add_to_batch`.
    pub fn update_batch(&mut self, items: Items<'_>, weights: Option<&[u64]>) -> Result<()> {
        self.check_batch(items, weights)?;
        self.make_room_at(self.step + 1)?;
        self.apply(items, weights, 1, 1)
    }

    /// Several events of an array of counters in one step: weight `weights[i]` for counter i.
    pub fn update_vector(&mut self, weights: &[u64]) -> Result<()> {
        if weights.len() != self.shape.width as usize {
            let expected = format!("one entry per counter ({})", self.shape.width);
            return Err(Error::parameter("vector", expected, weights.len()));
        }
        if self.shape.kind != TableKind::Counters {
            return Err(Error::parameter("vector", "events", "counts of counters"));
        }
        self.check_bounded()?;
        check_weights("vector", Some(weights), weights.len(), self.spec.max_weight)?;
        self.check_steps(1)?;
        let indices = memory::collected((0..weights.len()).map(|index| index as u64))?;
        self.make_room_at(self.step + 1)?;
        self.make_room_for_places()?;
        let state = self.state.as_mut().ok_or(Error::Closed)?;
        let events = Events {
            items: &indices,
            weights: Bounded {
                weights,
                largest: self.spec.max_weight,
            },
            offset: 0,
        };
        if self.spec.schedule.pushes_everything() {
            state.table.add_published(&Index, events);
        } else {
            state.table.add_pending(&Index, events);
        }
        self.tick(1)
    }

    /// All checks and all memory of [`Self::tick`], which then cannot fail.
    pub fn prepare_steps(&mut self, steps: u64) -> Result<()> {
        self.check_steps(steps)?;
        self.make_room_at(self.step + steps)
    }

    /// Steps without events.
    pub fn tick(&mut self, steps: u64) -> Result<()> {
        self.prepare_steps(steps)?;
        if steps > 0 {
            self.close_steps(steps);
        }
        let state = self.state.as_mut().ok_or(Error::Closed)?;
        self.step += steps;
        let before = state.cursor.progress();
        state.cursor = state.cursor.moved_to(self.step);
        if !self.spec.schedule.pushes_everything() {
            for columns in columns_between(before, state.cursor.progress(), self.shape.width) {
                state.table.push_all(columns);
            }
        }
        Ok(())
    }

    /// Many events of the open step, under the batch schedule. No read sees them before
    /// [`Self::tick`], or any other step, closes the step.
    pub fn add_to_batch(&mut self, items: Items<'_>, weights: Option<&[u64]>) -> Result<()> {
        self.prepare_open_step(items, weights)?;
        let state = self.state.as_mut().ok_or(Error::Closed)?;
        let open = state.open.as_mut().ok_or(Error::Closed)?;
        let batch = CheckedBatch {
            kind: self.shape.kind,
            fingerprinter: &self.fingerprinter,
            hashes: state.estimator.hashes(),
            items,
            weights,
            max_weight: self.spec.max_weight,
            signed: self.is_signed,
        };
        match &mut state.seen {
            Some(seen) => {
                open.add(batch.of_no_items())?;
                batch.in_pieces_seen(seen, |piece| open.add(piece))?;
            }
            None => open.add(batch)?,
        }
        if planted!("open-step-published") {
            self.close_steps(1);
        }
        Ok(())
    }

    /// Counts events that take `steps` steps: one each, or one step for all. The counters are wide
    /// enough.
    fn apply(
        &mut self,
        items: Items<'_>,
        weights: Option<&[u64]>,
        steps: u64,
        threads: usize,
    ) -> Result<()> {
        let has_open_step = self.has_open_step();
        self.make_room_for_places()?;
        if has_open_step {
            self.close_steps(steps);
        }
        let state = self.state.as_mut().ok_or(Error::Closed)?;
        let (table, cursor) = (&mut state.table, &mut state.cursor);
        let batch = CheckedBatch {
            kind: self.shape.kind,
            fingerprinter: &self.fingerprinter,
            hashes: state.estimator.hashes(),
            items,
            weights,
            max_weight: self.spec.max_weight,
            signed: self.is_signed,
        };
        let after = cursor.moved_to(self.step + steps);
        if let Some(seen) = &mut state.seen {
            let (mut step, pushes_all) = (self.step, self.spec.schedule.pushes_everything());
            batch.in_pieces_seen(seen, |piece| {
                if pushes_all {
                    return piece.publish(table, 1);
                }
                let next = step + piece.items.len() as u64;
                let until = cursor.moved_to(next);
                piece.count(table, cursor, &until, step, 1)?;
                *cursor = until;
                step = next;
                Ok(())
            })?;
        } else if self.spec.schedule.pushes_everything() {
            batch.publish(table, threads)?;
        } else {
            batch.count(table, cursor, &after, self.step, threads)?;
            debug_assert_eq!(*cursor, after);
        }
        *cursor = after;
        self.step += steps;
        Ok(())
    }

    /// Makes room for the counts that are possible at a step.
    pub(super) fn make_room_at(&mut self, step: u64) -> Result<()> {
        let bound = self.bound_at(step);
        self.state.as_mut().ok_or(Error::Closed)?.make_room(bound)
    }

    fn make_room_for_places(&mut self) -> Result<()> {
        let state = self.state.as_mut().ok_or(Error::Closed)?;
        state.table.make_room_for_places()
    }

    /// Moves the events of the open step, and of others that end within so many steps, to the
    /// published counts; the caller takes the steps.
    pub(super) fn close_steps(&mut self, steps: u64) {
        if let Some(state) = self.state.as_mut() {
            state.open_next(self.step + steps);
        }
    }
}
