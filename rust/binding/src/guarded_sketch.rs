//! Guards of a private sketch: one lock, one process, no use after a failure.

use crate::batches::{SHORT_BATCH, batch_of};
use crate::errors::{ClosedError, RefusedTable, raise};
use crate::items::{Column, Target};
use crate::maker_process::MakerProcess;
use crate::weights::weights_of;
use lazysketch_core::partial::{Levels, PartialCounts, PartialSpec};
use lazysketch_core::sketch::PrivateSketch;
use lazysketch_core::sketch::heavy_hitters::HeavySketch;
use lazysketch_core::sketch::steps_ahead::EventsOfSteps;
use lazysketch_core::table::items::{Items, StepRows};
use lazysketch_core::{Error, Result};
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard};

const ADVICE: &str = "two processes would publish the same noise with different counts. Make one \
                      sketch per process, with the same hash_seed, and merge their releases";

/// A sketch of the core, with or without discovery.
#[expect(
    clippy::large_enum_variant,
    reason = "one per Python object; a box would cost every update a load"
)]
pub(crate) enum Core {
    Plain(PrivateSketch),
    Heavy(Box<HeavySketch>),
}

impl Core {
    /// Return the sketch, for reading.
    #[inline]
    pub(crate) fn sketch(&mut self) -> &mut PrivateSketch {
        match self {
            Self::Plain(sketch) => sketch,
            Self::Heavy(sketch) => sketch.sketch_mut(),
        }
    }

    /// Return the sketch, for counting fingerprints; an error with discovery, which needs items.
    #[inline]
    pub(crate) fn plain(&mut self) -> Result<&mut PrivateSketch> {
        match self {
            Self::Plain(sketch) => Ok(sketch),
            Self::Heavy(_) => Err(Error::parameter(
                "sketch",
                "one without discovery",
                "one with",
            )),
        }
    }

    /// Return the sketch with discovery, or an error.
    #[inline]
    pub(crate) fn heavy(&mut self) -> Result<&mut HeavySketch> {
        match self {
            Self::Heavy(sketch) => Ok(sketch),
            Self::Plain(_) => Err(Error::parameter(
                "sketch",
                "one with discovery",
                "one without",
            )),
        }
    }

    /// All checks and all memory of [`Self::update_rows`], which then cannot fail.
    pub(crate) fn prepare_rows(&mut self, rows: StepRows<'_>) -> Result<()> {
        match self {
            Self::Plain(sketch) => sketch.prepare_rows(rows),
            Self::Heavy(sketch) => sketch.prepare_rows(rows),
        }
    }

    /// Count rows, one step each.
    pub(crate) fn update_rows(&mut self, rows: StepRows<'_>) -> Result<()> {
        match self {
            Self::Plain(sketch) => sketch.update_rows(rows),
            Self::Heavy(sketch) => sketch.update_rows(rows),
        }
    }

    /// All checks and all memory of [`Self::update_batch`], which then cannot fail.
    pub(crate) fn prepare_batch(
        &mut self,
        items: Items<'_>,
        weights: Option<&[u64]>,
    ) -> Result<()> {
        match self {
            Self::Plain(sketch) => sketch.prepare_batch(items, weights),
            Self::Heavy(sketch) => sketch.prepare_batch(items, weights),
        }
    }

    /// Count events in one step.
    pub(crate) fn update_batch(&mut self, items: Items<'_>, weights: Option<&[u64]>) -> Result<()> {
        match self {
            Self::Plain(sketch) => sketch.update_batch(items, weights),
            Self::Heavy(sketch) => sketch.update_batch(items, weights),
        }
    }

    /// Take steps without an event.
    pub(crate) fn tick(&mut self, steps: u64) -> Result<()> {
        match self {
            Self::Plain(sketch) => sketch.tick(steps),
            Self::Heavy(sketch) => sketch.tick(steps),
        }
    }

    pub(crate) fn finish(&mut self) -> Result<()> {
        match self {
            Self::Plain(sketch) => sketch.finish(),
            Self::Heavy(sketch) => sketch.finish(),
        }
    }

    /// All checks and all memory of [`Self::add_to_batch`], which then cannot fail.
    pub(crate) fn prepare_open_step(
        &mut self,
        items: Items<'_>,
        weights: Option<&[u64]>,
    ) -> Result<()> {
        match self {
            Self::Plain(sketch) => sketch.prepare_open_step(items, weights),
            Self::Heavy(sketch) => sketch.prepare_open_step(items, weights),
        }
    }

    /// Count events of the open step.
    pub(crate) fn add_to_batch(&mut self, items: Items<'_>, weights: Option<&[u64]>) -> Result<()> {
        match self {
            Self::Plain(sketch) => sketch.add_to_batch(items, weights),
            Self::Heavy(sketch) => sketch.add_to_batch(items, weights),
        }
    }

    /// All checks and all memory of [`Self::add_to_steps`], which then cannot fail.
    pub(crate) fn prepare_steps_ahead(&mut self, events: EventsOfSteps<'_>) -> Result<()> {
        match self {
            Self::Plain(sketch) => sketch.prepare_steps_ahead(events),
            Self::Heavy(sketch) => sketch.prepare_steps_ahead(events),
        }
    }

    /// Count events of the open step and of later ones.
    pub(crate) fn add_to_steps(&mut self, events: EventsOfSteps<'_>) -> Result<()> {
        match self {
            Self::Plain(sketch) => sketch.add_to_steps(events),
            Self::Heavy(sketch) => sketch.add_to_steps(events),
        }
    }

    /// Return the public description for workers that count parts of a step.
    pub(crate) fn partial_spec(
        &self,
        public_key: [u8; 32],
        issued: u64,
        (most_events, most_names): (Option<u64>, Option<u64>),
        levels: Option<Levels>,
    ) -> Result<PartialSpec> {
        match self {
            Self::Plain(_) if most_names.is_some() => Err(Error::parameter(
                "most_names",
                "none for an object that publishes no names",
                "some",
            )),
            Self::Plain(sketch) => sketch.partial_spec(public_key, issued, most_events),
            Self::Heavy(sketch) => {
                sketch.partial_spec(public_key, issued, most_events, most_names, levels)
            }
        }
    }

    /// Return the description with the values of this table beside the events of another one.
    pub(crate) fn partial_spec_of_values(
        &mut self,
        events: PartialSpec,
        (low, high, is_exact): (f64, f64, bool),
        most_events: Option<u64>,
    ) -> Result<PartialSpec> {
        let values = self.plain()?;
        values.partial_spec_of_values(events, (low, high), is_exact, most_events)
    }

    /// Take one step with what workers have counted.
    pub(crate) fn add_partial(&mut self, counts: &PartialCounts) -> Result<()> {
        match self {
            Self::Plain(sketch) => sketch.add_partial(counts),
            Self::Heavy(sketch) => sketch.add_partial(counts),
        }
    }

    /// Add what workers have counted to the open step.
    pub(crate) fn add_partial_to_batch(&mut self, counts: &PartialCounts) -> Result<()> {
        match self {
            Self::Plain(sketch) => sketch.add_partial_to_batch(counts),
            Self::Heavy(sketch) => sketch.add_partial_to_batch(counts),
        }
    }

    /// Return a digest of every parameter.
    pub(crate) fn parameters_digest(&self) -> [u8; 32] {
        match self {
            Self::Plain(sketch) => sketch.parameters_digest(),
            Self::Heavy(sketch) => sketch.parameters_digest(),
        }
    }

    /// Append the exact state, for a store.
    pub(crate) fn save_after(&self, bytes: Vec<u8>) -> Result<Vec<u8>> {
        match self {
            Self::Plain(sketch) => sketch.save_after(bytes),
            Self::Heavy(sketch) => sketch.save_after(bytes),
        }
    }

    /// Number of bytes of the exact state.
    pub(crate) fn saved_bytes(&self) -> Result<usize> {
        match self {
            Self::Plain(sketch) => sketch.saved_bytes(),
            Self::Heavy(sketch) => sketch.saved_bytes(),
        }
    }

    pub(crate) fn close(&mut self) {
        match self {
            Self::Plain(sketch) => sketch.close(),
            Self::Heavy(sketch) => sketch.close(),
        }
    }
}

/// Close the sketch after a panic. In the middle of an update the state is unknown, and a later
/// read could combine a new count with old noise.
fn broken(mut core: MutexGuard<'_, Core>) -> PyErr {
    core.close();
    ClosedError::new_err("sketch: expected an intact sketch, got one closed by an internal error")
}

/// The core sketch with its lock, and the process that made it.
pub(crate) struct GuardedSketch {
    maker: MakerProcess,
    inner: Mutex<Core>,
}

impl GuardedSketch {
    pub(crate) fn new(core: Core) -> Self {
        Self {
            maker: MakerProcess::this("sketch", ADVICE),
            inner: Mutex::new(core),
        }
    }

    /// Raise in a child made by `os.fork()`.
    pub(crate) fn check_generation(&self) -> PyResult<()> {
        self.maker.check_generation()
    }

    /// Raise in any other process.
    pub(crate) fn check_process(&self) -> PyResult<()> {
        self.maker.check()
    }

    /// Lock the core, for short work under the interpreter lock.
    #[inline]
    pub(crate) fn lock(&self, py: Python<'_>) -> PyResult<MutexGuard<'_, Core>> {
        self.check_generation()?;
        self.inner
            .lock_py_attached(py)
            .map_err(|poisoned| broken(poisoned.into_inner()))
    }

    /// Lock the core at once; none in a child process, or if another thread has the core.
    pub(crate) fn try_lock(&self) -> Option<MutexGuard<'_, Core>> {
        self.check_generation().ok()?;
        self.inner.try_lock().ok()
    }

    /// Count events. Up to [`SHORT_BATCH`] are counted under the interpreter lock, like single
    /// updates.
    #[inline]
    pub(crate) fn count(
        &self,
        py: Python<'_>,
        events: usize,
        work: impl FnOnce(&mut Core) -> Result<()> + Send,
    ) -> PyResult<()> {
        if events <= SHORT_BATCH {
            return work(&mut *self.lock(py)?).map_err(raise);
        }
        self.detached(py, work)
    }

    /// Count many events in one step: items, weights and the name of the items' column.
    pub(crate) fn count_in_one_step(
        &self,
        (items, weights, column): (&Bound<'_, PyAny>, Option<&Bound<'_, PyAny>>, Option<Column>),
        target: Target<'_>,
        count: impl FnOnce(&mut PrivateSketch, Items<'_>, Option<&[u64]>) -> Result<()> + Send,
    ) -> PyResult<()> {
        let batch = batch_of(items, column.as_ref(), target)?;
        let weights = weights_of(weights)?;
        let slice = batch.items()?;
        self.count(items.py(), slice.len(), |core| {
            count(core.plain()?, slice, weights.as_deref())
        })
    }

    /// Run `work` on the core, where the interpreter lock is not held and the process was checked.
    pub(crate) fn locked<T>(&self, work: impl FnOnce(&mut Core) -> Result<T>) -> Result<T> {
        match self.inner.lock() {
            Ok(mut core) => work(&mut core),
            Err(poisoned) => {
                poisoned.into_inner().close();
                Err(Error::Closed)
            }
        }
    }

    /// Run `work` on the core without the interpreter lock.
    pub(crate) fn detached<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut Core) -> Result<T> + Send,
    ) -> PyResult<T> {
        self.check_process()?;
        py.detach(|| match self.inner.lock() {
            Ok(mut core) => work(&mut core).map_err(raise),
            Err(poisoned) => Err(broken(poisoned.into_inner())),
        })
    }
}

/// Make one change at several sketches: at all of them or, if a check fails, at none.
///
/// All locks are held meanwhile. The callers of one group name its sketches in one order, and
/// nothing else holds two of the locks, so that no two calls wait for each other.
pub(crate) fn change_all(
    py: Python<'_>,
    sketches: &[&GuardedSketch],
    check: impl Fn(usize, &mut Core) -> Result<()> + Sync,
    change: impl Fn(usize, &mut Core) -> Result<()> + Sync,
) -> PyResult<()> {
    change_all_after(py, sketches, check, || Ok(()), change)
}

/// As [`change_all`], with a change of something else before those of the sketches; if that one
/// fails, nothing changes.
pub(crate) fn change_all_after(
    py: Python<'_>,
    sketches: &[&GuardedSketch],
    check: impl Fn(usize, &mut Core) -> Result<()> + Sync,
    before: impl FnOnce() -> Result<()> + Send,
    change: impl Fn(usize, &mut Core) -> Result<()> + Sync,
) -> PyResult<()> {
    let distinct: HashSet<_> = (sketches.iter())
        .map(|&one| std::ptr::from_ref(one))
        .collect();
    if distinct.len() < sketches.len() {
        return Err(raise(one_twice()));
    }
    (sketches.iter()).try_for_each(|sketch| sketch.check_process())?;
    let refused = RefusedTable::default();
    let check = |at: usize, core: &mut Core| refused.noted(at, check(at, core));
    let changed = py.detach(|| {
        let mut cores = Vec::with_capacity(sketches.len());
        for sketch in sketches {
            let lock = sketch.inner.lock();
            cores.push(lock.map_err(|poisoned| broken(poisoned.into_inner()))?);
        }
        change_locked(&mut cores, check, before, &change)
    });
    changed.map_err(|error| refused.said(py, error))
}

/// As [`change_all`], for a change that takes less time than to release the interpreter lock.
pub(crate) fn change_all_briefly(
    py: Python<'_>,
    sketches: &[&GuardedSketch],
    check: impl Fn(usize, &mut Core) -> Result<()>,
    change: impl Fn(usize, &mut Core) -> Result<()>,
) -> PyResult<()> {
    let is_earlier = |(at, one): (usize, &&GuardedSketch)| {
        (sketches[..at].iter()).any(|&earlier| std::ptr::eq(earlier, *one))
    };
    if sketches.iter().enumerate().any(is_earlier) {
        return Err(raise(one_twice()));
    }
    let locks = sketches.iter().map(|sketch| sketch.lock(py));
    let mut cores: Vec<_> = locks.collect::<PyResult<_>>()?;
    change_locked(&mut cores, check, || Ok(()), change)
}

fn one_twice() -> Error {
    Error::parameter("tables", "distinct ones", "one twice")
}

fn change_locked(
    cores: &mut [MutexGuard<'_, Core>],
    check: impl Fn(usize, &mut Core) -> Result<()>,
    before: impl FnOnce() -> Result<()>,
    change: impl Fn(usize, &mut Core) -> Result<()>,
) -> PyResult<()> {
    for (at, core) in cores.iter_mut().enumerate() {
        check(at, core).map_err(raise)?;
    }
    before().map_err(raise)?;
    for at in 0..cores.len() {
        if let Err(error) = change(at, &mut cores[at]) {
            // The checks refuse all that can fail. Should one omit something, sketches of different
            // streams must not go on.
            cores.iter_mut().for_each(|core| core.close());
            return Err(raise(error));
        }
    }
    Ok(())
}
