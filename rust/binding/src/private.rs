//! Private sketches: the boundary that exact counts do not cross.

use crate::batches::batch_of;
use crate::bounded_change::{PeopleOfTables, RowsOfPeople};
use crate::descriptions::{Described, TableSpec};
use crate::errors::raise;
use crate::estimation::{Choice, how_of};
use crate::guarded_sketch::{Core, GuardedSketch};
use crate::introspection::reasons_of;
use crate::items::{Column, Steps, Threads, Weight};
use crate::key::Key;
use crate::live_view::LiveView;
use crate::release::{Release, RunOfRelease};
use crate::saved_state::{SavedState, same_id};
use crate::weights::{counts_of, weights_in_place, weights_of};
use lazysketch_core::guarantee::NotPrivate;
use lazysketch_core::key::SketchId;
use lazysketch_core::parameters::{PersonBound, Shape};
use lazysketch_core::sketch::PrivateSketch as CoreSketch;
use lazysketch_core::table::hash::Fingerprinter;
use lazysketch_core::table::items::StepRows;
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};
use std::sync::Arc;

/// A sketch under continual observation; base of the public private sketches.
#[pyclass(frozen, subclass, module = "lazysketch._native")]
pub(crate) struct PrivateSketch {
    pub(crate) shape: Shape,
    pub(crate) person_bound: Option<PersonBound>,
    pub(crate) not_private: NotPrivate,
    pub(crate) sketch_id: SketchId,
    pub(crate) fingerprinter: Fingerprinter,
    pub(crate) guarded: GuardedSketch,
    pub(crate) view: LiveView,
    /// What each person has contributed, if people are bounded.
    pub(crate) people: Option<Arc<PeopleOfTables>>,
}

#[pymethods]
impl PrivateSketch {
    #[new]
    #[pyo3(signature = (spec, *, key, state=None, signed_weights=false))]
    fn new(
        spec: Described<TableSpec>,
        key: &Bound<'_, Key>,
        state: Option<&Bound<'_, SavedState>>,
        signed_weights: bool,
    ) -> PyResult<Self> {
        let (spec, key) = (spec.0, key.get());
        let identity = key.identity()?;
        let (shape, noise) = (spec.shape(key, &identity)?, spec.noise()?);
        let sketch = match state {
            None => CoreSketch::new(shape, noise, &key.master, identity),
            Some(state) => {
                let id = identity.id();
                let restored = CoreSketch::restore(shape, noise, &key.master, state.get().core());
                restored.and_then(|sketch| same_id(sketch.sketch_id(), id).map(|()| sketch))
            }
        };
        let sketch = sketch.and_then(|sketch| sketch.with_edges(spec.edges()));
        let sketch = match signed_weights {
            true => sketch.and_then(CoreSketch::with_signed_weights),
            false => sketch,
        };
        Self::of_core(Core::Plain(sketch.map_err(raise)?)).with_people(&key.master)
    }

    /// A digest of every parameter, for a store.
    #[getter]
    fn _parameters_digest<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let digest = self.guarded.lock(py)?.parameters_digest();
        Ok(PyBytes::new(py, &digest))
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
    ///     HorizonError: past the horizon of a private sketch.
    ///     ClosedError: after ``close()``.
    ///     LiveStateError: called in a forked child process.
    #[pyo3(
        signature = (item, weight=Weight(1), *, user=None),
        text_signature = "($self, item, weight=1, *, user=None)"
    )]
    pub(crate) fn update(
        &self,
        item: &Bound<'_, PyAny>,
        weight: Weight,
        user: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        if let Some(user) = user {
            return RowsOfPeople::one(item, weight, user)?.count_at(self.bounded(), false);
        }
        let converted = self.convert(item)?;
        let mut core = self.guarded.lock(item.py())?;
        let counted = core
            .plain()
            .and_then(|core| core.update(converted, weight.0));
        counted.map_err(raise)
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
    ///     HorizonError: past the horizon of a private sketch.
    ///     ClosedError: after ``close()``.
    ///     LiveStateError: called in a forked child process.
    #[pyo3(
        signature = (items, weights=None, *, column=None, threads=Threads(1), user=None),
        text_signature = "($self, items, weights=None, *, column=None, threads=1, user=None)"
    )]
    fn update_many<'py>(
        &self,
        items: &Bound<'py, PyAny>,
        weights: Option<&Bound<'py, PyAny>>,
        column: Option<Column>,
        threads: Threads,
        user: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<()> {
        if let Some(user) = user {
            return RowsOfPeople::of(items, column, user, weights).count_at(self.bounded(), false);
        }
        let batch = batch_of(items, column.as_ref(), self.target())?;
        let weights = weights_in_place(weights)?;
        let (slice, weights) = (batch.items()?, weights.as_slice()?);
        self.guarded.count(items.py(), slice.len(), |core| {
            core.plain()?
                .update_many_in_threads(slice, weights, threads.0)
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
        &self,
        items: &Bound<'py, PyAny>,
        weights: Option<&Bound<'py, PyAny>>,
        empty_rows: &Bound<'py, PyAny>,
        column: Option<Column>,
        user: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<()> {
        if let Some(user) = user {
            let rows = RowsOfPeople::of(items, column, user, weights);
            return rows.with_empty(empty_rows)?.count_at(self.bounded(), false);
        }
        let batch = batch_of(items, column.as_ref(), self.target())?;
        let (weights, empty) = (weights_of(weights)?, counts_of("empty_rows", empty_rows)?);
        let slice = batch.items()?;
        self.guarded
            .count(items.py(), slice.len() + empty.len(), |core| {
                let rows = StepRows::new(slice, weights.as_deref(), &empty)?;
                core.plain()?.update_rows(rows)
            })
    }

    #[pyo3(signature = (items, weights=None, *, column=None, user=None))]
    fn _update_batch<'py>(
        &self,
        items: &Bound<'py, PyAny>,
        weights: Option<&Bound<'py, PyAny>>,
        column: Option<Column>,
        user: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<()> {
        let (events, place) = ((items, weights, column), RowsOfPeople::in_one_step);
        self.count_together(events, user, place, CoreSketch::update_batch)
    }

    #[pyo3(signature = (items, weights=None, *, column=None, user=None))]
    fn _add_to_batch<'py>(
        &self,
        items: &Bound<'py, PyAny>,
        weights: Option<&Bound<'py, PyAny>>,
        column: Option<Column>,
        user: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<()> {
        let (events, place) = ((items, weights, column), RowsOfPeople::in_the_open_step);
        self.count_together(events, user, place, CoreSketch::add_to_batch)
    }

    fn _update_vector(&self, vector: &Bound<'_, PyAny>) -> PyResult<()> {
        let weights = counts_of("vector", vector)?;
        self.guarded
            .detached(vector.py(), |core| core.plain()?.update_vector(&weights))
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
    fn tick(&self, py: Python<'_>, steps: Steps) -> PyResult<()> {
        self.guarded
            .detached(py, |core| core.plain()?.tick(steps.0))
    }

    /// Return the estimated count of one item, from the public table.
    ///
    /// Guarantee: identical to ``release().estimate(item)``; costs no privacy; neither clipped nor
    /// rounded, so it may be negative.
    ///
    /// Args:
    ///     item: any item; an index for counters.
    ///     estimator: ``"joint"`` (default); ``"minimum"`` or ``"median"`` for the paper's.
    ///     at: ``"now"`` for the count at this step (default), ``"published"`` for that at the last
    ///         pushes (default of the paper's).
    ///
    /// Returns:
    ///     The estimated count.
    ///
    /// Raises:
    ///     ItemError: not a valid item.
    ///     ArgumentTypeError: ``estimator`` or ``at`` is not a string.
    ///     ArgumentValueError: an unknown estimator or time.
    ///     ClosedError: after ``close()``.
    ///     LiveStateError: called in a forked child process.
    ///
    /// Source: docs/estimators.md.
    #[pyo3(signature = (item, *, estimator=None, at=None))]
    fn estimate(
        &self,
        item: &Bound<'_, PyAny>,
        estimator: Option<Choice<'_>>,
        at: Option<Choice<'_>>,
    ) -> PyResult<f64> {
        let how = how_of(self.shape.kind, estimator.as_ref(), at.as_ref())?;
        self.view
            .estimate(item.py(), &self.guarded, self.convert(item)?, how)
    }

    /// Return the estimated counts of many items, in order.
    ///
    /// Args:
    ///     items: Arrow data, a numpy array or an iterable of items.
    ///     column: the name of the column, for a table with several columns.
    ///     estimator: as in ``estimate``.
    ///     at: as in ``estimate``.
    ///
    /// Returns:
    ///     float64 array.
    ///
    /// Raises:
    ///     ItemError: an invalid item; the message gives its position.
    ///     ArgumentTypeError: a single str, bytes or dict; several columns without ``column``.
    ///     ClosedError: after ``close()``.
    ///     LiveStateError: called in a forked child process.
    #[pyo3(signature = (items, *, column=None, estimator=None, at=None))]
    fn estimate_many<'py>(
        &self,
        items: &Bound<'py, PyAny>,
        column: Option<Column>,
        estimator: Option<Choice<'_>>,
        at: Option<Choice<'_>>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let how = how_of(self.shape.kind, estimator.as_ref(), at.as_ref())?;
        self.guarded.check_generation()?;
        let batch = batch_of(items, column.as_ref(), self.target())?;
        self.view
            .estimates(items.py(), &self.guarded, batch.items()?, how)
    }

    #[pyo3(signature = (run=None))]
    fn _release(&self, py: Python<'_>, run: Option<RunOfRelease>) -> PyResult<Release> {
        self.guarded
            .detached(py, |core| {
                let run = run.map(|run| run.promise());
                core.sketch().release()?.of_run(run)
            })
            .map(Release::new)
    }

    fn _draws<'py>(
        &self,
        py: Python<'py>,
        cells: &Bound<'_, PyAny>,
        nodes: &Bound<'_, PyAny>,
    ) -> PyResult<Bound<'py, PyArray1<i64>>> {
        let (cells, nodes) = (counts_of("cells", cells)?, counts_of("nodes", nodes)?);
        let draws = self
            .guarded
            .detached(py, |core| core.sketch().draws(&cells, &nodes))?;
        Ok(PyArray1::from_vec(py, draws))
    }

    /// Publish everything pending, as the last step; no event can be counted afterwards.
    ///
    /// Every column gets its final push, so that reads have no lag. An open batch step is closed
    /// first. A second call does nothing.
    ///
    /// Guarantee: the final push is part of the guarantee of the sketch. The decision to call this
    /// method must not depend on the events, except through what was published: the end of an input
    /// or a time does not depend on them, a failure caused by the content of the input does.
    ///
    /// Raises:
    ///     ClosedError: after ``close()``.
    ///     LiveStateError: called in a forked child process.
    fn finish(&self, py: Python<'_>) -> PyResult<()> {
        self.guarded.detached(py, Core::finish)
    }

    /// True after ``finish()``.
    #[getter]
    fn finished(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(self.guarded.lock(py)?.sketch().is_finished())
    }

    /// Destroy the key and the exact counts; existing releases stay valid.
    ///
    /// Raises:
    ///     LiveStateError: called in a forked child process.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.close_with_people(py)
    }

    /// True after ``close()``.
    #[getter]
    fn closed(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(self.guarded.lock(py)?.sketch().is_closed())
    }

    /// ``"count-min"``, ``"count-sketch"`` or ``"counters"``.
    #[getter]
    fn kind(&self) -> &'static str {
        self.shape.kind.name()
    }

    /// Number of rows.
    #[getter]
    fn depth(&self) -> u32 {
        self.shape.depth
    }

    /// Number of columns.
    #[getter]
    fn width(&self) -> u32 {
        self.shape.width
    }

    /// The public seed of the hash functions.
    #[getter]
    fn hash_seed(&self) -> u64 {
        self.shape.hash_seed
    }

    /// Public 16-byte identifier of this sketch.
    #[getter]
    fn sketch_id<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.sketch_id.0)
    }

    #[getter]
    fn _step(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(self.guarded.lock(py)?.sketch().step())
    }

    /// Reasons why the sketch is NOT PRIVATE; empty for a private one.
    #[getter]
    fn not_private_because<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        reasons_of(py, self.not_private)
    }
}
