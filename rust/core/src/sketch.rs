//! The private sketch: exact counts, a schedule, a mechanism and a working key.
//!
//! An update is hash + add + push: it draws no noise. A read recomputes the noise of the cells
//! it touches from (working key, cell, push number). Exact counts never leave this file except
//! inside a sum with their noise.

use crate::batch::{Items, check_weight, check_weights};
use crate::counting::{Events, Index, Signed, Unsigned};
use crate::hash::Fingerprinter;
use crate::ingest::{Counting, Plan, columns_between};
use crate::key::{Identity, MasterKey, Origin, Purpose, SketchId};
use crate::noise::Noise;
use crate::parameters::{Kind, LARGEST_COUNT, Marks, NoiseLaw, Shape};
use crate::release::{Estimator, Part, Release};
use crate::schedule::{Cursor, Schedule};
use crate::table::Table;
use crate::{Error, Result, codec};

/// A Count-Min sketch, Count Sketch or array of counters under continual observation.
pub struct PrivateSketch {
    shape: Shape,
    law: NoiseLaw,
    sketch_id: SketchId,
    marks: Marks,
    fingerprinter: Fingerprinter,
    step: u64,
    state: Option<State>,
}

/// What `close` destroys.
struct State {
    table: Table,
    noise: Noise,
    estimator: Estimator,
    cursor: Cursor,
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
        };
        let fingerprinter = Fingerprinter::new(shape.hash_seed);
        Ok(Self {
            shape,
            law,
            sketch_id,
            marks,
            fingerprinter,
            step: 0,
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
        if weight == 1 {
            return self.update_many(Items::Ready(&[item]), None);
        }
        self.update_many(Items::Ready(&[item]), Some(&[weight]))
    }

    /// A batch, one step per event; everything is checked before anything is applied.
    pub fn update_many(&mut self, items: Items<'_>, weights: Option<&[u64]>) -> Result<()> {
        check_weights("weights", weights, items.len(), self.law.max_weight)?;
        self.check_indices(items)?;
        self.check_steps(items.len() as u64)?;
        let last_narrow = Table::last_narrow_step(self.law.max_weight);
        let narrow = last_narrow
            .saturating_sub(self.step)
            .min(items.len() as u64) as usize;
        // Counters widen at a step that depends on nothing but the step.
        for (start, end) in [(0, narrow), (narrow, items.len())] {
            if start < end {
                let weights = weights.map(|weights| &weights[start..end]);
                self.apply(items.slice(start, end), weights, (end - start) as u64);
            }
        }
        Ok(())
    }

    /// Many events in one step, under the batch schedule.
    pub fn update_batch(&mut self, items: Items<'_>, weights: Option<&[u64]>) -> Result<()> {
        let most = self.law.schedule.events_per_step();
        if !matches!(self.law.schedule, Schedule::Batch { .. }) {
            return Err(Error::parameter(
                "schedule",
                "Batch, for several events in a step",
                "another",
            ));
        }
        if items.len() as u64 > most {
            return Err(Error::parameter(
                "items",
                format!("at most {most} events"),
                items.len(),
            ));
        }
        check_weights("weights", weights, items.len(), self.law.max_weight)?;
        self.check_indices(items)?;
        self.check_steps(1)?;
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
            weights,
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
        let state = self.state.as_mut().ok_or(Error::Closed)?;
        state.table.make_room(bound);
        self.step += steps;
        let before = state.cursor.progress();
        state.cursor = self.law.schedule.cursor(self.step, self.shape.width);
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
        Ok(state.estimate(item))
    }

    /// The estimates of many items, in order.
    pub fn estimate_many(&mut self, items: Items<'_>) -> Result<Vec<f64>> {
        self.check_indices(items)?;
        let state = self.state.as_mut().ok_or(Error::Closed)?;
        state.noise.refresh(state.cursor.progress());
        let mut estimates = Vec::with_capacity(items.len());
        items.for_each_chunk(&self.fingerprinter, |_, chunk| {
            estimates.extend(chunk.iter().map(|&item| state.estimate(item)));
        });
        Ok(estimates)
    }

    /// The public table at this step.
    pub fn release(&mut self) -> Result<Release> {
        let state = self.state.as_mut().ok_or(Error::Closed)?;
        let progress = state.cursor.progress();
        state.noise.refresh(progress);
        let width = self.shape.width as usize;
        let (table, noise) = (&state.table, &state.noise);
        let rows = table.by_rows(|row, column, published| {
            noise.released(
                (row * width + column) as u64,
                progress.pushes(column as u32),
                published,
            )
        });
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

    /// The draws of nodes of cells, for the oracle in tests; only under a seeded key.
    pub fn draws(&self, cells: &[u64], nodes: &[u64]) -> Result<Vec<i64>> {
        if !self.marks.contains(Marks::SEEDED) {
            return Err(Error::PrivateDraws);
        }
        let noise = &self.state.as_ref().ok_or(Error::Closed)?.noise;
        let (largest_cell, largest_node) = (self.shape.cells() - 1, noise.nodes());
        if cells.iter().any(|&cell| cell > largest_cell) {
            return Err(Error::parameter(
                "cells",
                format!("0 to {largest_cell}"),
                "a larger one",
            ));
        }
        if nodes.iter().any(|&node| node == 0 || node > largest_node) {
            return Err(Error::parameter(
                "nodes",
                format!("1 to {largest_node}"),
                "another",
            ));
        }
        let row = |&cell: &u64| nodes.iter().map(move |&node| noise.draw(cell, node));
        Ok(cells.iter().flat_map(row).collect())
    }

    /// Counts events that take `steps` steps: one each, or one for all of them.
    fn apply(&mut self, items: Items<'_>, weights: Option<&[u64]>, steps: u64) {
        let bound = self.bound_at(self.step + steps);
        let Some(state) = self.state.as_mut() else {
            return;
        };
        state.table.make_room(bound);
        let plan = Plan::new(
            &mut state.table,
            &state.cursor,
            &self.law.schedule,
            self.shape.width,
            self.step,
            steps,
        );
        let first_step = self.step + 1;
        items.for_each_chunk(&self.fingerprinter, |offset, chunk| {
            let weights = weights.map(|weights| &weights[offset..offset + chunk.len()]);
            state.count(
                self.shape.kind,
                &plan,
                first_step,
                offset as u64,
                chunk,
                weights,
            );
        });
        self.step += steps;
        if !matches!(plan, Plan::Push) {
            state.cursor = self.law.schedule.cursor(self.step, self.shape.width);
        }
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
        let possible = (LARGEST_COUNT - 1) / self.law.max_weight;
        let horizon = self.law.schedule.horizon().unwrap_or(possible);
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
    #[inline]
    fn estimate(&self, item: u64) -> f64 {
        let (table, noise, progress) = (&self.table, &self.noise, self.cursor.progress());
        let width = self.estimator.width;
        self.estimator.estimate(item, |row, column| {
            let published = table.published(row, column);
            noise.released(
                (row * width + column) as u64,
                progress.pushes(column as u32),
                published,
            )
        })
    }

    #[inline]
    fn count(
        &mut self,
        kind: Kind,
        plan: &Plan,
        first_step: u64,
        offset: u64,
        items: &[u64],
        weights: Option<&[u64]>,
    ) {
        let hashes = self.estimator.hashes();
        let (table, cursor) = (&mut self.table, &mut self.cursor);
        let mut counting = Counting {
            table,
            cursor,
            plan,
            first_step,
        };
        match kind {
            Kind::CountMin => counting.add(&Unsigned(hashes), items, weights, offset),
            Kind::CountSketch => counting.add(&Signed(hashes), items, weights, offset),
            Kind::Counters => counting.add(&Index, items, weights, offset),
        }
    }
}
