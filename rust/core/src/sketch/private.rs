//! The private sketch: exact counts, a schedule, a mechanism and a working key.
//!
//! An update is hash + add + push and draws no noise. A read recomputes the noise of the cells it
//! uses from (working key, cell, push number). Exact counts leave this folder only in a sum with
//! their noise.

use super::cell_noise::Noise;
use super::kept_table::LastRelease;
use super::open_step::{OpenStep, StepsAhead};
use crate::guarantee::NotPrivate;
use crate::key::{Identity, MasterKey, Origin, Purpose, SketchId};
use crate::mechanism::value_tree::ValueTree;
use crate::parameters::{NoiseSpec, Shape, TableKind};
use crate::release::codec;
use crate::release::{Part, Release, checked_edges};
use crate::schedule::{Cursor, Pushes, Schedule};
use crate::table::Table;
use crate::table::estimator::Estimator;
use crate::table::hash::Fingerprinter;
use crate::table::items::Items;
use crate::table::kernels::Tally;
use crate::table::seen_bits::SeenBits;
use crate::{Error, Result};
use std::sync::Arc;

/// A Count-Min sketch, Count Sketch or array of counters under continual observation.
pub struct PrivateSketch {
    pub(super) shape: Shape,
    pub(super) spec: NoiseSpec,
    pub(super) sketch_id: SketchId,
    pub(super) not_private: NotPrivate,
    pub(super) fingerprinter: Fingerprinter,
    pub(super) step: u64,
    /// The last possible step, and the last at which 32-bit counters suffice.
    pub(super) last_step: u64,
    pub(super) last_narrow_step: u64,
    /// True while events of bounded people are counted.
    pub(super) is_bounded: bool,
    /// True if the weights of events have signs, in two's complement.
    pub(super) is_signed: bool,
    /// The edges between the bins of values, which releases state.
    pub(super) edges: Arc<[f64]>,
    pub(super) state: Option<State>,
}

/// State that `close` destroys.
pub(super) struct State {
    pub(super) table: Table,
    pub(super) noise: Noise,
    pub(super) estimator: Estimator,
    pub(super) cursor: Cursor,
    /// The secret bitmaps of a count of distinct items.
    pub(super) seen: Option<SeenBits>,
    /// The tree over the bins of values.
    pub(super) values: Option<&'static ValueTree>,
    /// Under the batch schedule, the events of the open step, in a table of their own that no read
    /// uses. Allocated by the first `add_to_batch`.
    pub(super) open: Option<OpenStep>,
    /// The events of later steps.
    pub(super) ahead: StepsAhead,
    /// The final pushes of a finished sketch; no event is counted after them.
    pub(super) finished: Option<Pushes>,
    pub(super) last_release: LastRelease,
}

impl State {
    /// The open step, which is made where there is none.
    pub(super) fn open_step(&mut self) -> Result<&mut OpenStep> {
        match &mut self.open {
            Some(open) => Ok(open),
            none => Ok(none.insert(OpenStep::of(&self.table)?)),
        }
    }

    /// The numbers of the last pushes: those of the schedule, or the final ones.
    #[inline]
    pub(super) fn pushes(&self) -> Pushes {
        match self.finished {
            Some(pushes) => pushes,
            None => self.cursor.progress().last_pushes(),
        }
    }
}

impl State {
    /// Widens the counters if counts up to `bound` need it; without memory, nothing changes.
    pub(super) fn make_room(&mut self, bound: u128) -> Result<()> {
        let table = self.table.wider(bound)?;
        if let Some(open) = &mut self.open
            && let Some(wider) = open.table_mut().wider(bound)?
        {
            open.table_mut().widen(wider);
        }
        if let Some(wider) = table {
            self.table.widen(wider);
        }
        Ok(())
    }
}

impl PrivateSketch {
    /// A sketch whose noise belongs to `identity` only.
    pub fn new(shape: Shape, spec: NoiseSpec, key: &MasterKey, identity: Identity) -> Result<Self> {
        shape.validate()?;
        spec.validate(&shape)?;
        let is_seeded = planted!(
            "seeded-key-not-marked",
            false,
            key.origin() == Origin::Seeded
        );
        let seeded = NotPrivate::SEEDED.only_if(is_seeded);
        let is_chosen = planted!("chosen-id-not-marked", false, identity.chosen);
        let chosen = NotPrivate::CHOSEN_ID.only_if(is_chosen);
        let not_private = NotPrivate::of_spec(&shape, &spec).with(seeded).with(chosen);
        let sketch_id = identity.id;
        let mechanism = spec.mechanism(&shape)?;
        let parameters = codec::encode_parameters(&shape, &spec);
        let working_key = key.derive(Purpose::Noise, &sketch_id, &parameters);
        let noise = Noise::new(&working_key, spec.sigma, mechanism);
        let lazy = !spec.schedule.pushes_everything();
        let state = State {
            table: Table::new(shape.depth, shape.width, lazy)?,
            noise,
            estimator: Estimator::new(&shape),
            cursor: spec.schedule.cursor(0, shape.width),
            seen: SeenBits::of(&shape)?,
            values: shape.value_tree()?,
            open: None,
            ahead: StepsAhead::default(),
            finished: None,
            last_release: LastRelease::None,
        };
        let fingerprinter = Fingerprinter::new(shape.hash_seed);
        let possible = shape.possible_steps(&spec)?;
        Ok(Self {
            shape,
            spec,
            sketch_id,
            not_private,
            fingerprinter,
            step: 0,
            last_step: spec.schedule.horizon().unwrap_or(possible).min(possible),
            last_narrow_step: Table::last_narrow_step(spec.max_weight),
            is_bounded: false,
            is_signed: false,
            edges: Arc::new([]),
            state: Some(state),
        })
    }

    /// The same sketch with the edges between its bins, whose digest is in its shape.
    pub fn with_edges(mut self, edges: &[f64]) -> Result<Self> {
        self.edges = checked_edges(&self.shape, edges)?;
        Ok(self)
    }

    /// The edges between the bins of values; none for other kinds.
    pub fn edges(&self) -> &[f64] {
        &self.edges
    }

    /// The same sketch, whose events have weights with a sign, in two's complement: from
    /// `-max_weight` to `max_weight`. A Count Sketch turns signs anyway, so its sensitivity is the
    /// same, to events and to people (Theorems 25 and 28 of docs/theory.md); that of another kind
    /// would grow.
    pub fn with_signed_weights(mut self) -> Result<Self> {
        if self.shape.kind != TableKind::CountSketch && !planted!("signed-weights-of-any-table") {
            return Err(Error::parameter(
                "signed_weights",
                "a Count Sketch, whose sensitivity they do not change",
                self.shape.kind.name(),
            ));
        }
        self.is_signed = true;
        Ok(self)
    }

    /// Shape and hash seed.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// The noise and the guarantee.
    pub fn spec(&self) -> &NoiseSpec {
        &self.spec
    }

    /// The public id.
    pub fn sketch_id(&self) -> SketchId {
        self.sketch_id
    }

    /// Why it is NOT PRIVATE; empty if it is private.
    pub fn not_private(&self) -> NotPrivate {
        self.not_private
    }

    /// Steps taken.
    pub fn step(&self) -> u64 {
        self.step
    }

    /// Computes fingerprints of items under this sketch's hash seed.
    pub fn fingerprinter(&self) -> &Fingerprinter {
        &self.fingerprinter
    }

    /// True after `close`.
    pub fn is_closed(&self) -> bool {
        self.state.is_none()
    }

    /// The public table at this step.
    pub fn release(&mut self) -> Result<Release> {
        let state = self.state.as_mut().ok_or(Error::Closed)?;
        let rows = if planted!("no-noise-after-counters-widen") && self.step > self.last_narrow_step
        {
            Arc::new(state.table.rows()?)
        } else {
            state.released(self.shape.width)?
        };
        let part = Part {
            sketch_id: self.sketch_id,
            step: self.step,
            since: 0,
            finished: state.finished.map(|pushes| pushes.numbers),
            noise: Some(self.spec),
            run: None,
            not_private: self.not_private,
        };
        Ok(Release::sharing(self.shape, vec![part], rows).with_edges(Arc::clone(&self.edges)))
    }

    /// The last step: publishes everything pending, and ends counting. An open step is closed first.
    /// When it is called must not depend on the events. A finished sketch stays as it is.
    ///
    /// Every column gets its final push, whose number follows from its number of pushes. The call
    /// takes effect as a whole: nothing after the switch can fail.
    pub fn finish(&mut self) -> Result<()> {
        self.tick(self.steps_with_events())?;
        let state = self.state.as_mut().ok_or(Error::Closed)?;
        if state.finished.is_some() && !planted!("final-push-twice") {
            return Ok(());
        }
        let progress = state.cursor.progress();
        state.finished = Some(state.noise.final_pushes(&self.spec.schedule, progress));
        if !planted!("final-push-twice") {
            self.last_step = self.step;
        }
        let is_lazy = !self.spec.schedule.pushes_everything();
        if is_lazy && !planted!("final-push-without-the-pending-counts") {
            state.table.push_all(0..self.shape.width);
        }
        Ok(())
    }

    /// The checks of [`Self::finish`], which then cannot fail.
    pub fn check_finish(&self) -> Result<()> {
        self.check_steps(self.steps_with_events())
    }

    /// True after [`Self::finish`].
    pub fn is_finished(&self) -> bool {
        (self.state.as_ref()).is_some_and(|state| state.finished.is_some())
    }

    /// Destroys key and counts.
    pub fn close(&mut self) {
        self.state = None;
    }

    /// Bound on every counter after `step` steps.
    pub(super) fn bound_at(&self, step: u64) -> u128 {
        self.shape.largest_count(&self.spec, step)
    }

    /// The check of `tick`.
    pub(super) fn check_steps(&self, requested: u64) -> Result<()> {
        if self.state.is_none() {
            return Err(Error::Closed);
        }
        let horizon = self.last_step;
        let remaining = horizon - self.step;
        if requested > remaining && !planted!("horizon-not-enforced") {
            if self.is_finished() {
                return Err(Error::Finished);
            }
            return Err(Error::Horizon {
                horizon,
                remaining,
                requested,
            });
        }
        Ok(())
    }

    /// Cells of bins are not published, only sums of many.
    #[inline]
    pub(super) fn check_reads_items(&self) -> Result<()> {
        if !self.shape.kind.has_items() && !planted!("bins-are-read") {
            return Err(Error::parameter(
                "kind",
                "a table of items, for estimates of items",
                self.shape.kind.name(),
            ));
        }
        Ok(())
    }

    pub(super) fn check_index(&self, item: u64) -> Result<()> {
        let largest = self.shape.largest_index();
        if self.shape.kind.takes_indices() && item > largest {
            let expected = format!("an integer from 0 to {largest}");
            return Err(Error::parameter("index", expected, "a larger one"));
        }
        Ok(())
    }

    pub(super) fn check_indices(&self, items: Items<'_>) -> Result<()> {
        match (self.shape.kind.takes_indices(), items) {
            (true, Items::Ready(items)) => {
                items.iter().try_for_each(|&item| self.check_index(item))
            }
            (true, _) => Err(Error::parameter(
                "items",
                "indices of counters",
                "integers to be hashed",
            )),
            (false, _) => Ok(()),
        }
    }

    /// All checks of `update_batch` and `add_to_batch`.
    pub(super) fn check_batch(&self, items: Items<'_>, weights: Option<&[u64]>) -> Result<()> {
        self.check_together(items, weights)?;
        self.check_open(items.len() as u64)?;
        self.check_steps(1)
    }

    /// All checks of events that share steps, but for those of the steps.
    pub(super) fn check_together(&self, items: Items<'_>, weights: Option<&[u64]>) -> Result<()> {
        self.check_bounded()?;
        if !matches!(self.spec.schedule, Schedule::Batch { .. }) {
            return Err(Error::parameter(
                "schedule",
                "Batch, for several events in a step",
                "another",
            ));
        }
        self.check_batch_weights(weights, items.len())?;
        self.check_unweighted(weights)?;
        self.check_indices(items)
    }

    /// Checks that the open step stays within the bound on counters, however many calls bring its
    /// events.
    pub(super) fn check_open(&self, events: u64) -> Result<()> {
        let open = self.state.as_ref().and_then(|state| state.open.as_ref());
        self.check_more(events, open)
    }

    /// As [`Self::check_open`], for any step.
    pub(super) fn check_more(&self, events: u64, step: Option<&OpenStep>) -> Result<()> {
        let before = step.map_or(0, OpenStep::events);
        let most = self.spec.schedule.events_per_step();
        if events > most - before.min(most) && !planted!("events-per-step-not-enforced") {
            // The number of events is exact: the message gives only the limit.
            return Err(Error::parameter(
                "items",
                format!("at most {most} events in a step"),
                "more",
            ));
        }
        Ok(())
    }

    /// True from `add_to_batch` until a step is taken, even if the batch was empty; and while later
    /// steps have events.
    #[inline]
    pub(super) fn has_open_step(&self) -> bool {
        (self.state.as_ref()).is_some_and(|state| {
            state.open.as_ref().is_some_and(OpenStep::has_begun) || !state.ahead.is_empty()
        })
    }
}
