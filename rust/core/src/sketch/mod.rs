//! The private sketch: exact counts, a schedule, a mechanism and a working key.
//!
//! An update is hash + add + push: it draws no noise. A read recomputes the noise of the cells
//! it touches from (working key, cell, push number). Exact counts never leave this folder except
//! inside a sum with their noise.

use crate::key::{Identity, MasterKey, Origin, Purpose, SketchId};
use crate::parameters::{Kind, LARGEST_COUNT, Marks, NoiseLaw, Shape};
use crate::release::codec;
use crate::release::{Part, Release};
use crate::schedule::Cursor;
use crate::sketch::cell_noise::Noise;
use crate::sketch::point_query::Reading;
use crate::table::Table;
use crate::table::estimator::Estimator;
use crate::table::hash::Fingerprinter;
use crate::table::ingest::{Batch, columns_between};
use crate::table::items::{Items, Rows, check_weight, check_weights};
use crate::table::kernels::{Bounded, Events, Index, Signed, Unsigned};
use crate::{Error, Result};
use open_step::OpenStep;

mod cell_noise;
pub mod exact;
pub mod heavy_hitters;
mod open_step;
mod oracle;
mod point_query;

/// A Count-Min sketch, Count Sketch or array of counters under continual observation.
pub struct PrivateSketch {
    shape: Shape,
    law: NoiseLaw,
    sketch_id: SketchId,
    marks: Marks,
    fingerprinter: Fingerprinter,
    step: u64,
    /// The last step there may be, and the last that 32-bit counters suffice for.
    last_step: u64,
    last_narrow_step: u64,
    state: Option<State>,
}

/// What `close` destroys.
struct State {
    table: Table,
    noise: Noise,
    estimator: Estimator,
    cursor: Cursor,
    /// Under the batch schedule, the events of the step that is not over, in a table of their own
    /// that no read looks at. Taken by the first `add_to_batch`.
    open: Option<OpenStep>,
}

impl PrivateSketch {
    /// A sketch whose noise belongs to `identity` and nothing else.
    pub fn new(shape: Shape, law: NoiseLaw, key: &MasterKey, identity: Identity) -> Result<Self> {
        shape.validate()?;
        law.validate(&shape)?;
        let seeded = Marks::SEEDED.only_if(key.origin() == Origin::Seeded);
        let chosen = Marks::CHOSEN_ID.only_if(identity.chosen);
        let marks = Marks::of_law(&shape, &law).with(seeded).with(chosen);
        let sketch_id = identity.id;
        let mechanism = law.mechanism(&shape)?;
        let parameters = codec::encode_parameters(&shape, &law);
        let working_key = key.derive(Purpose::Noise, &sketch_id, &parameters);
        let noise = Noise::new(&working_key, law.sigma, mechanism);
        let lazy = !law.schedule.pushes_everything();
        let state = State {
            table: Table::new(shape.depth, shape.width, lazy),
            noise,
            estimator: Estimator::new(&shape),
            cursor: law.schedule.cursor(0, shape.width),
            open: None,
        };
        let fingerprinter = Fingerprinter::new(shape.hash_seed);
        let possible = (LARGEST_COUNT - 1) / law.max_weight;
        Ok(Self {
            shape,
            law,
            sketch_id,
            marks,
            fingerprinter,
            step: 0,
            last_step: law.schedule.horizon().unwrap_or(possible),
            last_narrow_step: Table::last_narrow_step(law.max_weight),
            state: Some(state),
        })
    }

    /// Shape and hash seed.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// The law of the noise.
    pub fn law(&self) -> &NoiseLaw {
        &self.law
    }

    /// The public id.
    pub fn sketch_id(&self) -> SketchId {
        self.sketch_id
    }

    /// Why it is NOT PRIVATE, if so.
    pub fn marks(&self) -> Marks {
        self.marks
    }

    /// Steps taken.
    pub fn step(&self) -> u64 {
        self.step
    }

    /// Turns items into fingerprints under this sketch's hash seed.
    pub fn fingerprinter(&self) -> &Fingerprinter {
        &self.fingerprinter
    }

    /// True after `close`.
    pub fn is_closed(&self) -> bool {
        self.state.is_none()
    }

    /// One event, one step.
    #[inline]
    pub fn update(&mut self, item: u64, weight: u64) -> Result<()> {
        check_weight(weight, self.law.max_weight)?;
        self.check_index(item)?;
        self.check_steps(1)?;
        if self.has_open_step() {
            self.check_open(1)?;
            self.close_step();
        }
        let step = self.step + 1;
        let bound = (step > self.last_narrow_step).then(|| self.bound_at(step));
        let state = self.state.as_mut().ok_or(Error::Closed)?;
        let (table, hashes) = (&mut state.table, state.estimator.hashes());
        if let Some(bound) = bound {
            table.make_room(bound);
        }
        match self.shape.kind {
            Kind::CountMin => table.add_one(&Unsigned(hashes), item, weight),
            Kind::CountSketch => table.add_one(&Signed(hashes), item, weight),
            Kind::Counters => table.add_one(&Index, item, weight),
        }
        if self.law.schedule.pushes_everything() {
            state.cursor = state.cursor.moved_to(step);
        }
        while state.cursor.next_step() == step {
            table.push(state.cursor.advance());
        }
        self.step = step;
        Ok(())
    }

    /// A batch, one step per event; everything is checked before anything is applied.
    pub fn update_many(&mut self, items: Items<'_>, weights: Option<&[u64]>) -> Result<()> {
        self.update_many_in_threads(items, weights, 1)
    }

    /// As [`Self::update_many`], in at most so many threads; all end in the same state.
    pub fn update_many_in_threads(
        &mut self,
        items: Items<'_>,
        weights: Option<&[u64]>,
        threads: usize,
    ) -> Result<()> {
        check_weights("weights", weights, items.len(), self.law.max_weight)?;
        // What prepares a batch costs as much as several events.
        if let Some(item) = items.only(&self.fingerprinter) {
            return self.update(item, weights.map_or(1, |weights| weights[0]));
        }
        self.check_indices(items)?;
        self.check_steps(items.len() as u64)?;
        if !items.is_empty() && self.has_open_step() {
            self.check_open(1)?;
            self.close_step();
        }
        let narrow = self
            .last_narrow_step
            .saturating_sub(self.step)
            .min(items.len() as u64) as usize;
        // Counters widen at a step that depends on nothing but the step.
        for (start, end) in [(0, narrow), (narrow, items.len())] {
            if start < end {
                let weights = weights.map(|weights| &weights[start..end]);
                let steps = (end - start) as u64;
                self.apply_in_threads(items.slice(start, end), weights, steps, threads);
            }
        }
        Ok(())
    }

    /// Rows, one step each, of which some have no event; everything is checked before anything is
    /// applied.
    pub fn update_rows(&mut self, rows: Rows<'_>) -> Result<()> {
        let (items, weights) = (rows.items(), rows.weights());
        check_weights("weights", weights, items.len(), self.law.max_weight)?;
        self.check_indices(items)?;
        self.check_steps(rows.steps())?;
        for (items, weights, empty) in rows.pieces() {
            self.update_many(items, weights)?;
            self.tick(empty)?;
        }
        Ok(())
    }

    /// Many events in one step, under the batch schedule, with those of `add_to_batch` before.
    pub fn update_batch(&mut self, items: Items<'_>, weights: Option<&[u64]>) -> Result<()> {
        self.check_batch(items, weights)?;
        self.close_step();
        self.apply(items, weights, 1);
        Ok(())
    }

    /// Several events of an array of counters in one step: weight `weights[i]` to counter i.
    pub fn update_vector(&mut self, weights: &[u64]) -> Result<()> {
        if weights.len() != self.shape.width as usize {
            let expected = format!("one entry per counter ({})", self.shape.width);
            return Err(Error::parameter("vector", expected, weights.len()));
        }
        check_weights("vector", Some(weights), weights.len(), self.law.max_weight)?;
        self.check_steps(1)?;
        let indices: Vec<u64> = (0..weights.len() as u64).collect();
        let bound = self.bound_at(self.step + 1);
        let state = self.state.as_mut().ok_or(Error::Closed)?;
        state.table.make_room(bound);
        let events = Events {
            items: &indices,
            weights: Bounded {
                weights,
                largest: self.law.max_weight,
            },
            offset: 0,
        };
        if self.law.schedule.pushes_everything() {
            state.table.add_published(&Index, events);
        } else {
            state.table.add_pending(&Index, events);
        }
        self.tick(1)
    }

    /// Steps without events.
    pub fn tick(&mut self, steps: u64) -> Result<()> {
        self.check_steps(steps)?;
        let bound = self.bound_at(self.step + steps);
        if steps > 0 {
            self.close_step();
        }
        let state = self.state.as_mut().ok_or(Error::Closed)?;
        state.table.make_room(bound);
        self.step += steps;
        let before = state.cursor.progress();
        state.cursor = state.cursor.moved_to(self.step);
        if !self.law.schedule.pushes_everything() {
            for column in columns_between(before, state.cursor.progress(), self.shape.width) {
                state.table.push(column);
            }
        }
        Ok(())
    }

    /// The estimate of one item from the public table, by fingerprint or index.
    #[inline]
    pub fn estimate(&mut self, item: u64) -> Result<f64> {
        self.check_index(item)?;
        let state = self.state.as_mut().ok_or(Error::Closed)?;
        state.noise.refresh(state.cursor.progress());
        let mut estimate = 0.0;
        state.reading().estimate(&[item], |found| estimate = found);
        Ok(estimate)
    }

    /// The estimates of many items, in order.
    pub fn estimate_many(&mut self, items: Items<'_>) -> Result<Vec<f64>> {
        self.check_indices(items)?;
        let state = self.state.as_mut().ok_or(Error::Closed)?;
        state.noise.refresh(state.cursor.progress());
        let (reading, mut estimates) = (state.reading(), Vec::with_capacity(items.len()));
        items.for_each_chunk(&self.fingerprinter, |_, chunk| {
            reading.estimate(chunk, |found| estimates.push(found));
        });
        Ok(estimates)
    }

    /// The public table at this step.
    pub fn release(&mut self) -> Result<Release> {
        let state = self.state.as_mut().ok_or(Error::Closed)?;
        let progress = state.cursor.progress();
        state.noise.refresh(progress);
        let mut rows = state.table.rows();
        state
            .noise
            .release_rows(progress, self.shape.width, &mut rows);
        let part = Part {
            sketch_id: self.sketch_id,
            step: self.step,
            law: Some(self.law),
            marks: self.marks,
        };
        Ok(Release::new(self.shape, vec![part], rows))
    }

    /// Destroys key and counts.
    pub fn close(&mut self) {
        self.state = None;
    }

    /// Counts events that take `steps` steps: one each, or one for all of them.
    fn apply(&mut self, items: Items<'_>, weights: Option<&[u64]>, steps: u64) {
        self.apply_in_threads(items, weights, steps, 1);
    }

    fn apply_in_threads(
        &mut self,
        items: Items<'_>,
        weights: Option<&[u64]>,
        steps: u64,
        threads: usize,
    ) {
        let bound = self.bound_at(self.step + steps);
        let Some(state) = self.state.as_mut() else {
            return;
        };
        let (table, cursor) = (&mut state.table, &mut state.cursor);
        table.make_room(bound);
        let batch = Batch {
            kind: self.shape.kind,
            fingerprinter: &self.fingerprinter,
            hashes: state.estimator.hashes(),
            items,
            weights,
            max_weight: self.law.max_weight,
        };
        let after = cursor.moved_to(self.step + steps);
        if self.law.schedule.pushes_everything() {
            batch.publish(table, threads);
        } else {
            batch.count(table, cursor, &after, self.step, threads);
            debug_assert_eq!(*cursor, after);
        }
        *cursor = after;
        self.step += steps;
    }

    /// No counter exceeds this after `step` steps.
    fn bound_at(&self, step: u64) -> u128 {
        let events = u128::from(step) * u128::from(self.law.schedule.events_per_step());
        events * u128::from(self.law.max_weight)
    }

    fn check_steps(&self, requested: u64) -> Result<()> {
        if self.state.is_none() {
            return Err(Error::Closed);
        }
        let horizon = self.last_step;
        let remaining = horizon - self.step;
        if requested > remaining {
            return Err(Error::Horizon {
                horizon,
                remaining,
                requested,
            });
        }
        Ok(())
    }

    fn check_index(&self, item: u64) -> Result<()> {
        if self.shape.kind == Kind::Counters && item >= u64::from(self.shape.width) {
            let expected = format!("an integer from 0 to {}", self.shape.width - 1);
            return Err(Error::parameter("index", expected, "a larger one"));
        }
        Ok(())
    }

    fn check_indices(&self, items: Items<'_>) -> Result<()> {
        match (self.shape.kind, items) {
            (Kind::Counters, Items::Ready(items)) => {
                items.iter().try_for_each(|&item| self.check_index(item))
            }
            (Kind::Counters, _) => Err(Error::parameter(
                "items",
                "indices of counters",
                "integers to be hashed",
            )),
            _ => Ok(()),
        }
    }
}

impl State {
    fn reading(&self) -> Reading<'_> {
        Reading {
            table: &self.table,
            noise: &self.noise,
            estimator: &self.estimator,
            progress: self.cursor.progress(),
        }
    }
}
