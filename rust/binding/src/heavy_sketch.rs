//! Private sketches with discovery: names of heavy items, published above a threshold.

use crate::bounded_change::RowsOfPeople;
use crate::descriptions::{Described, HeavyHittersSpec};
use crate::errors::raise;
use crate::event_batch::Events;
use crate::guarded_sketch::{Core, GuardedSketch};
use crate::introspection::facts_of;
use crate::items::{Column, Steps, Threads, Weight, no_item, object_of, with_item};
use crate::key::Key;
use crate::owned_items::owned_items_of;
use crate::private::PrivateSketch;
use crate::saved_state::{SavedState, same_id};
use crate::weights::{counts_of, weights_of};
use lazysketch_core::discovery::name::{Kept, NameKind, item_of};
use lazysketch_core::sketch::heavy_hitters::HeavySketch as CoreHeavy;
use lazysketch_core::table::items::{Items, StepRows};
use lazysketch_core::{Error, memory};
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

/// A sketch under continual observation that publishes the names of heavy items.
#[pyclass(frozen, subclass, extends = PrivateSketch, module = "lazysketch._native")]
pub(crate) struct HeavySketch;

pub(crate) fn guarded<'a>(sketch: &'a Bound<'_, HeavySketch>) -> &'a GuardedSketch {
    sketch.as_super().get().guarded()
}

/// Count many events with one of the core's methods.
fn count<'py>(
    sketch: &Bound<'py, HeavySketch>,
    items: &Bound<'py, PyAny>,
    weights: Option<&Bound<'py, PyAny>>,
    column: Option<Column>,
    empty_rows: usize,
    count: impl FnOnce(&mut CoreHeavy, Items<'_>, Option<&[u64]>) -> Result<(), Error> + Send,
) -> PyResult<()> {
    let batch = Events::of(items, column.as_ref())?;
    let weights = weights_of(weights)?;
    let borrowed = batch.borrowed()?;
    let items = borrowed.items();
    guarded(sketch).count(sketch.py(), items.len() + empty_rows, |core| {
        count(core.heavy()?, items, weights.as_deref())
    })
}

#[pymethods]
impl HeavySketch {
    #[new]
    #[pyo3(signature = (spec, *, key, state=None))]
    fn new(
        spec: Described<HeavyHittersSpec>,
        key: &Bound<'_, Key>,
        state: Option<&Bound<'_, SavedState>>,
    ) -> PyResult<PyClassInitializer<Self>> {
        let (spec, key) = (spec.0, key.get());
        let identity = key.identity()?;
        let (shape, noise) = (spec.table.shape(key, &identity)?, spec.table.noise()?);
        let discovery = spec.discovery.core()?;
        let core = match state {
            None => CoreHeavy::new(shape, noise, discovery, &key.master, identity),
            Some(state) => {
                let (id, saved) = (identity.id(), state.get().core());
                let restored = CoreHeavy::restore(shape, noise, discovery, &key.master, saved);
                restored.and_then(|core| same_id(core.sketch().sketch_id(), id).map(|()| core))
            }
        };
        let core = Core::Heavy(Box::new(core.map_err(raise)?));
        let base = PrivateSketch::of_core(core).with_people(&key.master)?;
        Ok(PyClassInitializer::from(base).add_subclass(Self))
    }

    /// Count one event, which takes one step.
    ///
    /// Guarantee: a call that raises changes nothing.
    ///
    /// Args:
    ///     item: str, bytes, int, datetime with a time zone, date or UUID; ``"1"``, ``b"1"`` and ``1``
    ///         are different items.
    ///     weight: an integer from 0 to the largest allowed weight.
    ///     user: the person of the event, any item; required if the table bounds people.
    ///
    /// Raises:
    ///     ItemError: not a valid item.
    ///     ArgumentTypeError: a weight that is not an integer.
    ///     ArgumentValueError: a weight outside its range.
    ///     HorizonError: past the horizon.
    ///     ClosedError: after ``close()``.
    ///     LiveStateError: called in a forked child process.
    #[pyo3(
        signature = (item, weight=Weight(1), *, user=None),
        text_signature = "($self, item, weight=1, *, user=None)"
    )]
    pub(crate) fn update(
        slf: &Bound<'_, Self>,
        item: &Bound<'_, PyAny>,
        weight: Weight,
        user: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        if let Some(user) = user {
            return RowsOfPeople::one(item, weight, user)?
                .count_at(slf.as_super().get().bounded(), true);
        }
        let updated = with_item(item, &no_item, |item| {
            // The item is converted: no Python code runs between the process check and the update.
            Ok(guarded(slf).lock(slf.py()).and_then(|mut core| {
                let updated = core
                    .heavy()
                    .and_then(|sketch| sketch.update(item, weight.0));
                updated.map_err(raise)
            }))
        });
        updated.map_err(|fault| fault.of_item())?
    }

    /// Count many events, one step each, in order.
    ///
    /// Guarantee: the whole batch is checked before the first event is applied; the result is that
    /// of one ``update`` per event.
    ///
    /// Args:
    ///     items: Arrow data, a numpy array or an iterable of items.
    ///     weights: one integer per item, or None for weight 1.
    ///     column: the name of the column, for a table with several columns.
    ///     threads: largest number of threads, of which at most one per processor is used; speeds
    ///         up large batches and does not change the result.
    ///     user: the person of each event, one item per item; required if the table bounds people.
    ///
    /// Raises:
    ///     ItemError: an invalid item or a null; the message gives its position.
    ///     ArgumentTypeError: a single str, bytes or dict; floats; several columns without
    ///         ``column``.
    ///     ArgumentValueError: weights outside their range or of another length than the items.
    ///     HorizonError: past the horizon.
    ///     ClosedError: after ``close()``.
    ///     LiveStateError: called in a forked child process.
    #[pyo3(
        signature = (items, weights=None, *, column=None, threads=Threads(1), user=None),
        text_signature = "($self, items, weights=None, *, column=None, threads=1, user=None)"
    )]
    fn update_many<'py>(
        slf: &Bound<'py, Self>,
        items: &Bound<'py, PyAny>,
        weights: Option<&Bound<'py, PyAny>>,
        column: Option<Column>,
        threads: Threads,
        user: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<()> {
        if let Some(user) = user {
            let rows = RowsOfPeople::of(items, column, user, weights);
            return rows.count_at(slf.as_super().get().bounded(), true);
        }
        count(slf, items, weights, column, 0, |core, items, weights| {
            core.update_many_in_threads(items, weights, threads.0)
        })
    }

    /// Count rows, one step each, of which some (for example malformed ones) have no event.
    ///
    /// Guarantee: the result is that of one ``update`` or ``tick`` per row; all rows are checked
    /// before the first step is taken.
    ///
    /// Args:
    ///     items: Arrow data, a numpy array or an iterable: the items of the rows that have one.
    ///     weights: one integer per item, or None for weight 1.
    ///     empty_rows: the increasing positions, counted from 0 over all rows, of the other rows.
    ///     column: the name of the column, for a table with several columns.
    ///     user: the person of each event, one item per item; required if the table bounds people.
    ///
    /// Raises:
    ///     ItemError: an invalid item or a null; the message gives its position.
    ///     ArgumentTypeError: a single str, bytes or dict; floats; several columns without
    ///         ``column``.
    ///     ArgumentValueError: weights outside their range or of another length than the items;
    ///         positions that do not increase, or are past the last row.
    ///     HorizonError: past the horizon.
    ///     ClosedError: after ``close()``.
    ///     LiveStateError: called in a forked child process.
    #[pyo3(signature = (items, weights=None, *, empty_rows, column=None, user=None))]
    fn update_rows<'py>(
        slf: &Bound<'py, Self>,
        items: &Bound<'py, PyAny>,
        weights: Option<&Bound<'py, PyAny>>,
        empty_rows: &Bound<'py, PyAny>,
        column: Option<Column>,
        user: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<()> {
        if let Some(user) = user {
            let rows = RowsOfPeople::of(items, column, user, weights).with_empty(empty_rows)?;
            return rows.count_at(slf.as_super().get().bounded(), true);
        }
        let empty = counts_of("empty_rows", empty_rows)?;
        count(
            slf,
            items,
            weights,
            column,
            empty.len(),
            |core, items, weights| core.update_rows(StepRows::new(items, weights, &empty)?),
        )
    }

    #[pyo3(signature = (items, weights=None, *, column=None, user=None))]
    fn _update_batch<'py>(
        slf: &Bound<'py, Self>,
        items: &Bound<'py, PyAny>,
        weights: Option<&Bound<'py, PyAny>>,
        column: Option<Column>,
        user: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<()> {
        if let Some(user) = user {
            let rows = RowsOfPeople::of(items, column, user, weights).in_one_step();
            return rows.count_at(slf.as_super().get().bounded(), true);
        }
        count(slf, items, weights, column, 0, CoreHeavy::update_batch)
    }

    #[pyo3(signature = (items, weights=None, *, column=None, user=None))]
    fn _add_to_batch<'py>(
        slf: &Bound<'py, Self>,
        items: &Bound<'py, PyAny>,
        weights: Option<&Bound<'py, PyAny>>,
        column: Option<Column>,
        user: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<()> {
        if let Some(user) = user {
            let rows = RowsOfPeople::of(items, column, user, weights).in_the_open_step();
            return rows.count_at(slf.as_super().get().bounded(), true);
        }
        count(slf, items, weights, column, 0, CoreHeavy::add_to_batch)
    }

    /// Take steps without an event, for example for malformed rows.
    ///
    /// Guarantee: an empty step is a neighbour of a step with any event.
    ///
    /// Args:
    ///     steps: number of steps, 0 or more.
    ///
    /// Raises:
    ///     ArgumentTypeError: not an integer.
    ///     ArgumentValueError: negative.
    ///     HorizonError: past the horizon.
    ///     ClosedError: after ``close()``.
    ///     LiveStateError: called in a forked child process.
    #[pyo3(signature = (steps=Steps(1)), text_signature = "($self, steps=1)")]
    fn tick(slf: &Bound<'_, Self>, steps: Steps) -> PyResult<()> {
        guarded(slf).detached(slf.py(), |core| core.heavy()?.tick(steps.0))
    }

    /// End the open discovery epoch and publish its names.
    ///
    /// Guarantee: an epoch is published only once, and the next one begins with the next step.
    /// The decision to call this method must not depend on the events.
    ///
    /// Raises:
    ///     ClosedError: after ``close()``.
    ///     LiveStateError: called in a forked child process.
    fn end_discovery_epoch(slf: &Bound<'_, Self>) -> PyResult<()> {
        guarded(slf).detached(slf.py(), |core| core.heavy()?.end_epoch())
    }

    /// Published names in order, each `(item, complete, epoch, estimate)`.
    fn _candidates<'py>(slf: &Bound<'py, Self>) -> PyResult<Vec<Candidate<'py>>> {
        let py = slf.py();
        let found = guarded(slf).detached(py, |core| core.heavy()?.candidates())?;
        let candidate = |(kept, epoch, estimate): (Kept, u64, f64)| {
            let complete = !kept.truncated;
            PyResult::Ok((name_of(py, &kept)?, complete, epoch, estimate))
        };
        let mut candidates = memory::room_for(found.len()).map_err(raise)?;
        for found in found {
            candidates.push(candidate(found)?);
        }
        Ok(candidates)
    }

    /// Number of the open discovery epoch, counted from 0.
    #[getter]
    fn _epoch(slf: &Bound<'_, Self>) -> PyResult<u64> {
        let mut core = guarded(slf).lock(slf.py())?;
        Ok(core.heavy().map_err(raise)?.discovery().epoch())
    }

    #[getter]
    fn _discovery_facts<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyDict>> {
        // The lock is released before a Python object is made: that may run code of others.
        let design = {
            let mut core = guarded(slf).lock(slf.py())?;
            core.heavy().map_err(raise)?.discovery().design().clone()
        };
        facts_of(slf.py(), &design)
    }

    fn _discovery_draws<'py>(
        slf: &Bound<'py, Self>,
        epoch: u64,
        slots: &Bound<'_, PyAny>,
    ) -> PyResult<Bound<'py, PyArray1<i64>>> {
        let slots = counts_of("slots", slots)?;
        let draws = guarded(slf).detached(slf.py(), |core| {
            core.heavy()?.discovery_draws(epoch, &slots)
        })?;
        Ok(PyArray1::from_vec(slf.py(), draws))
    }

    fn _identities(slf: &Bound<'_, Self>, items: &Bound<'_, PyAny>) -> PyResult<Vec<u128>> {
        let batch = owned_items_of(items, None)?;
        let borrowed = batch.borrowed()?;
        let items = borrowed.items();
        guarded(slf).detached(slf.py(), |core| core.heavy()?.identities(items))
    }
}

type Candidate<'py> = (Bound<'py, PyAny>, bool, u64, f64);

/// Return a published name as a Python value; a truncated integer stays bytes.
fn name_of<'py>(py: Python<'py>, kept: &Kept) -> PyResult<Bound<'py, PyAny>> {
    match item_of(kept.kind, &kept.bytes) {
        Some(item) if !(kept.truncated && kept.kind == NameKind::Wide) => object_of(py, item),
        _ => Ok(PyBytes::new(py, &kept.bytes).into_any()),
    }
}
