//! Events of the open step and of steps after it, under the batch schedule: a stream in any order of
//! its times.
//!
//! The events of each step are kept in a table of their own, which no read uses, until that step
//! ends. So when all steps have ended, the sketch is that of the same events in the order of their
//! steps. Discovery counts each epoch apart; there events of an epoch come in the order of arrival.

use super::heavy_hitters::{HeavySketch, check_items};
use super::open_step::OpenStep;
use super::private::{PrivateSketch, State};
use crate::table::ingest::CheckedBatch;
use crate::table::items::Items;
use crate::{Error, Result};
use std::collections::btree_map::Entry;

/// A part of a batch whose events are those of one step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StepPart {
    /// Steps that end before it: 0 for the open step.
    pub ahead: u64,
    /// Its events.
    pub events: u64,
}

/// Events in the order of their steps.
#[derive(Clone, Copy)]
pub struct EventsOfSteps<'a> {
    items: Items<'a>,
    weights: Option<&'a [u64]>,
    parts: &'a [StepPart],
}

impl<'a> EventsOfSteps<'a> {
    /// The events, and how many of them each step has; steps rise.
    pub fn new(
        items: Items<'a>,
        weights: Option<&'a [u64]>,
        parts: &'a [StepPart],
    ) -> Result<Self> {
        let rise = parts.windows(2).all(|pair| pair[0].ahead < pair[1].ahead);
        let events: u128 = parts.iter().map(|part| u128::from(part.events)).sum();
        if !rise || events != items.len() as u128 {
            let expected = format!("rising steps with all items ({})", items.len());
            return Err(Error::parameter("steps", expected, "others"));
        }
        Ok(Self {
            items,
            weights,
            parts,
        })
    }

    /// Steps until the last one has ended.
    fn steps(&self) -> u64 {
        let last = self.parts.last();
        last.map_or(1, |part| part.ahead.saturating_add(1))
    }

    /// The steps that end before each part, its items and their weights.
    fn pieces(self) -> impl Iterator<Item = (u64, Items<'a>, Option<&'a [u64]>)> {
        let mut end = 0;
        self.parts.iter().map(move |part| {
            let start = end;
            end += part.events as usize;
            let weights = self.weights.map(|weights| &weights[start..end]);
            (part.ahead, self.items.slice(start, end), weights)
        })
    }
}

impl State {
    /// The events of the step before which `ahead` steps end, after `first` that have ended.
    fn step_ahead(&self, first: u64, ahead: u64) -> Option<&OpenStep> {
        match ahead {
            0 => self.open.as_ref(),
            ahead => self.ahead.0.get(&(first + ahead)),
        }
    }

    /// As [`Self::step_ahead`]; its table is made where there is none.
    fn room_ahead(&mut self, first: u64, ahead: u64) -> Result<&mut OpenStep> {
        if ahead == 0 {
            return self.open_step();
        }
        match self.ahead.0.entry(first + ahead) {
            Entry::Occupied(entry) => Ok(entry.into_mut()),
            Entry::Vacant(entry) => Ok(entry.insert(OpenStep::of(&self.table)?)),
        }
    }

    /// Moves the events of the open step, and of those after it that end before this one, to the
    /// published counts; then this one is open.
    pub(super) fn open_next(&mut self, step: u64) {
        if let Some(open) = &mut self.open
            && open.has_begun()
        {
            open.close_into(&mut self.table);
        }
        while let Some((number, mut events)) = self.ahead.first_until(step) {
            if number < step && !planted!("steps-that-are-skipped-lose-their-events") {
                events.close_into(&mut self.table);
            } else {
                self.open = Some(events);
            }
        }
    }
}

impl PrivateSketch {
    /// All checks and all memory of [`Self::add_to_steps`], which then cannot fail.
    pub fn prepare_steps_ahead(&mut self, events: EventsOfSteps<'_>) -> Result<()> {
        self.check_together(events.items, events.weights)?;
        if self.is_distinct() {
            let expected = "sums of events: the first event of an item is that of its first step";
            return Err(Error::parameter("kind", expected, self.shape.kind.name()));
        }
        let steps = events.steps();
        self.check_steps(steps)?;
        let first = self.step;
        for part in events.parts {
            let state = self.state.as_ref().ok_or(Error::Closed)?;
            self.check_more(part.events, state.step_ahead(first, part.ahead))?;
        }
        // A step may have so many events that counters are wide from the first one on.
        self.make_room_at(first + steps)?;
        let state = self.state.as_mut().ok_or(Error::Closed)?;
        for part in events.parts {
            let room = state.room_ahead(first, part.ahead)?;
            room.table_mut().make_room_for_places()?;
        }
        Ok(())
    }

    /// Counts events of the open step and of later ones. No read sees those of a step before it ends.
    pub fn add_to_steps(&mut self, events: EventsOfSteps<'_>) -> Result<()> {
        self.prepare_steps_ahead(events)?;
        let first = self.step;
        let state = self.state.as_mut().ok_or(Error::Closed)?;
        for (ahead, items, weights) in events.pieces() {
            let batch = CheckedBatch {
                kind: self.shape.kind,
                fingerprinter: &self.fingerprinter,
                hashes: state.estimator.hashes(),
                items,
                weights,
                max_weight: self.spec.max_weight,
                signed: self.is_signed,
            };
            let ahead = planted!("events-one-step-early", ahead.saturating_sub(1), ahead);
            let room = match ahead {
                0 => state.open.as_mut(),
                ahead => state.ahead.0.get_mut(&(first + ahead)),
            };
            room.ok_or(Error::Closed)?.add(batch)?;
        }
        Ok(())
    }

    /// Steps after which all events that were counted are published.
    pub(super) fn steps_with_events(&self) -> u64 {
        let ahead = self.state.as_ref().and_then(|state| state.ahead.last());
        match ahead {
            Some(last) => last - self.step + 1,
            None => u64::from(self.has_open_step()),
        }
    }
}

impl HeavySketch {
    /// All checks and all memory of [`Self::add_to_steps`], which then cannot fail.
    pub fn prepare_steps_ahead(&mut self, events: EventsOfSteps<'_>) -> Result<()> {
        check_items(events.items)?;
        self.sketch.prepare_steps_ahead(events)?;
        for part in events.parts {
            self.discovery.make_room_ahead(part.ahead)?;
        }
        Ok(())
    }

    /// As [`PrivateSketch::add_to_steps`], with discovery.
    pub fn add_to_steps(&mut self, events: EventsOfSteps<'_>) -> Result<()> {
        self.prepare_steps_ahead(events)?;
        self.sketch.add_to_steps(events)?;
        for (ahead, items, weights) in events.pieces() {
            self.discovery.count_ahead(ahead, items, weights);
        }
        Ok(())
    }
}
