//! The public table of a live sketch, kept between reads.
//!
//! An estimate uses the errors of the whole table. A view holds the released values and what was
//! computed from them; a read recomputes the columns that were pushed since the last one. It holds
//! public values only: the same as a release at this step, and gives the same estimates.

#[cfg(test)]
mod tests;

use super::cell_noise::number_of;
use super::private::{PrivateSketch, State};
use crate::estimation::{ErrorModel, How, TableErrors};
use crate::parameters::{NoiseSpec, Shape};
use crate::schedule::Cursor;
use crate::table::items::Items;
use crate::{Error, Result, memory};
use std::sync::Arc;

/// Changed columns beyond which the errors are computed anew: one in this many.
const FEW: u64 = 8;
/// And this many: each moves, in the order of the values, half of the table.
const MOST: u64 = 64;

/// The released values at a step, and the errors of their cells.
#[derive(Debug)]
pub struct PublicView {
    cursor: Cursor,
    finished: bool,
    errors: ErrorModel,
}

impl State {
    /// The view of the whole table, of which `known` has what was not pushed since.
    fn view(
        &self,
        known: Option<PublicView>,
        (shape, spec): (&Shape, &NoiseSpec),
        step: u64,
    ) -> Result<PublicView> {
        let pushes = self.pushes();
        let finished = self.finished.is_some();
        let table = match known {
            Some(known) if known.finished == finished => {
                let before = known.cursor.progress();
                let mut table = known.errors.into_table()?;
                self.renew_table(before, shape.width, &mut table);
                table
            }
            _ => self.whole_table(shape.width)?,
        };
        let published = if finished {
            memory::filled(step, shape.width as usize)?
        } else {
            spec.schedule.published_steps(step, shape.width)?
        };
        let variances = pushes.numbers.map(|push| self.noise.variance(push));
        let variance = |column| spec.sigma * spec.sigma * variances[pushes.group(column)];
        let facts = TableErrors {
            signed: shape.kind.is_signed(),
            collisions: !shape.kind.has_indices(),
            depth: shape.depth as usize,
            table: Arc::new(table),
            published: memory::collected(published.into_iter().map(|step| step as f64))?,
            variance: memory::collected((0..shape.width).map(variance))?,
            step: step as f64,
        };
        Ok(PublicView {
            cursor: self.cursor,
            finished,
            errors: ErrorModel::of(facts)?,
        })
    }

    /// Brings a view to this step; the cursor is after that of the view by few pushes.
    fn renew(&self, view: &mut PublicView, sigma: f64) -> Result<()> {
        let (depth, width) = (view.errors.depth(), view.errors.width());
        let (progress, pushes) = (self.cursor.progress(), self.pushes());
        let mut values = vec![0; depth];
        while view.cursor.progress() != progress {
            let step = view.cursor.next_step();
            let column = view.cursor.advance();
            let cells: Vec<_> = (0..depth)
                .map(|row| (number_of(row, column as usize, width), column))
                .collect();
            for (row, value) in values.iter_mut().enumerate() {
                *value = self.table.published(row, column as usize);
            }
            self.noise.release(pushes, &cells, &mut values);
            let push = pushes.numbers[pushes.group(column)];
            let variance = sigma * sigma * self.noise.variance(push);
            let (column, step) = (column as usize, step as f64);
            view.errors.replace(column, &values, step, variance);
        }
        view.errors.prepare()
    }
}

impl PublicView {
    /// Whether the table is still as it was at the last read.
    fn is_current(&self, state: &State) -> bool {
        self.finished == state.finished.is_some()
            && self.cursor.progress() == state.cursor.progress()
    }

    /// The paper's estimate of an item, from the table that was kept.
    fn paper_estimate(&self, state: &State, item: u64) -> f64 {
        let value = |row, column| self.errors.value(row, column);
        state.estimator.estimate(item, value)
    }
}

impl PrivateSketch {
    /// Brings the view to this step, for reads of single items.
    pub fn keep_view(&mut self, view: &mut Option<PublicView>) -> Result<()> {
        self.errors(view).map(|_| ())
    }

    /// The errors of the public table at this step, from those of an earlier read.
    fn errors<'a>(&mut self, view: &'a mut Option<PublicView>) -> Result<&'a ErrorModel> {
        self.check_reads_items()?;
        let (shape, spec, step) = (self.shape, self.spec, self.step);
        let state = self.state.as_mut().ok_or(Error::Closed)?;
        state.noise.refresh(state.pushes());
        let done = |cursor: &Cursor| {
            let progress = cursor.progress();
            progress.rounds * u64::from(shape.width) + u64::from(progress.column)
        };
        let few = (u64::from(shape.width) / FEW).min(MOST);
        let finished = state.finished.is_some();
        match view.take() {
            Some(mut known)
                if known.finished == finished
                    && done(&state.cursor) - done(&known.cursor) <= few =>
            {
                // A view whose renewal fails is gone: the next read begins anew.
                if known.cursor.progress() != state.cursor.progress() {
                    state.renew(&mut known, spec.sigma)?;
                }
                known.errors.set_step(step as f64);
                *view = Some(known);
            }
            known => *view = Some(state.view(known, (&shape, &spec), step)?),
        }
        match view {
            Some(view) => Ok(&view.errors),
            None => Err(Error::Closed),
        }
    }

    /// The estimate of one item from the public table, by fingerprint or index.
    pub fn estimate_by(
        &mut self,
        item: u64,
        how: How,
        view: &mut Option<PublicView>,
    ) -> Result<f64> {
        // The paper's published estimate needs the item's own cells only.
        let paper = match (how.joint, view.as_ref(), self.state.as_ref()) {
            (true, ..) => 0.0,
            (false, Some(view), Some(state)) if view.is_current(state) => {
                self.check_index(item)?;
                view.paper_estimate(state, item)
            }
            _ => self.estimate(item)?,
        };
        if !how.joint && !how.now {
            return Ok(paper);
        }
        self.check_index(item)?;
        let errors = self.errors(view)?;
        let state = self.state.as_ref().ok_or(Error::Closed)?;
        let mut rows = Vec::with_capacity(errors.depth());
        Ok(errors.estimate(paper, state.estimator.rows(errors, item, &mut rows), how))
    }

    /// The estimates of many items, in order.
    pub fn estimate_many_by(
        &mut self,
        items: Items<'_>,
        how: How,
        view: &mut Option<PublicView>,
    ) -> Result<Vec<f64>> {
        if !how.joint && !how.now {
            return self.estimate_many(items);
        }
        self.check_indices(items)?;
        let paper = if how.joint {
            Vec::new()
        } else {
            self.estimate_many(items)?
        };
        let fingerprinter = self.fingerprinter;
        let errors = self.errors(view)?;
        let state = self.state.as_ref().ok_or(Error::Closed)?;
        let (mut estimates, mut rows) = (memory::room_for(items.len())?, Vec::new());
        items.for_each_chunk(&fingerprinter, |_, chunk| {
            for &item in chunk {
                let paper = paper.get(estimates.len()).copied().unwrap_or_default();
                let rows = state.estimator.rows(errors, item, &mut rows);
                estimates.push(errors.estimate(paper, rows, how));
            }
        });
        Ok(estimates)
    }
}
