//! Exact sketches: NOT PRIVATE; they may be read, copied and pickled.

use crate::arrays::array_of;
use crate::batches::{SHORT_BATCH, batch_of};
use crate::errors::raise;
use crate::introspection::kind_of;
use crate::items::{Column, Threads, Weight};
use crate::release::{Release, table_of, target_of};
use crate::weights::weights_in_place;
use lazysketch_core::key::fresh_hash_seed;
use lazysketch_core::parameters::Shape;
use lazysketch_core::sketch::exact::ExactSketch as CoreSketch;
use lazysketch_core::table::hash::Fingerprinter;
use numpy::{PyArray1, PyArray2};
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A sketch without noise; base of `lazysketch.CountMin` and `lazysketch.CountSketch`.
#[pyclass(frozen, subclass, module = "lazysketch._native")]
pub(crate) struct ExactSketch {
    shape: Shape,
    fingerprinter: Fingerprinter,
    inner: Mutex<CoreSketch>,
}

impl ExactSketch {
    fn of(sketch: CoreSketch) -> Self {
        let (shape, fingerprinter) = (*sketch.shape(), *sketch.fingerprinter());
        Self {
            shape,
            fingerprinter,
            inner: Mutex::new(sketch),
        }
    }

    fn lock(&self, py: Python<'_>) -> MutexGuard<'_, CoreSketch> {
        self.inner
            .lock_py_attached(py)
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Convert an item, before any lock is taken: conversion may run Python code that uses this
    /// sketch.
    fn convert(&self, item: &Bound<'_, PyAny>) -> PyResult<u64> {
        let target = target_of(&self.shape, &self.fingerprinter);
        target.object(item).map_err(|fault| fault.of_item())
    }

    fn lock_detached(&self) -> MutexGuard<'_, CoreSketch> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl ExactSketch {
    #[new]
    #[pyo3(signature = (*, kind, depth=1, width=1, hash_seed=None, state=None))]
    fn new(
        kind: &str,
        depth: u32,
        width: u32,
        hash_seed: Option<u64>,
        state: Option<&Bound<'_, Release>>,
    ) -> PyResult<Self> {
        if let Some(state) = state {
            return CoreSketch::from_release(state.get().core())
                .map(Self::of)
                .map_err(raise);
        }
        let hash_seed = hash_seed.map_or_else(fresh_hash_seed, Ok).map_err(raise)?;
        let shape = Shape {
            kind: kind_of(kind)?,
            depth,
            width,
            hash_seed,
        };
        CoreSketch::new(shape).map(Self::of).map_err(raise)
    }

    /// Count one event, which takes one step.
    ///
    /// Guarantee: a call that raises changes nothing.
    ///
    /// Args:
    ///     item: str, bytes, int, datetime with a time zone, date or UUID; ``"1"``, ``b"1"`` and ``1``
    ///         are different items.
    ///     weight: an integer from 0 to the largest allowed weight.
    ///
    /// Raises:
    ///     ItemError: not a valid item.
    ///     ArgumentTypeError: a weight that is not an integer.
    ///     ArgumentValueError: a weight outside its range.
    ///     HorizonError: past the horizon of a private sketch.
    ///     ClosedError: after ``close()``.
    ///     LiveStateError: called in a forked child process.
    #[pyo3(signature = (item, weight=Weight(1)), text_signature = "($self, item, weight=1)")]
    fn update(&self, item: &Bound<'_, PyAny>, weight: Weight) -> PyResult<()> {
        let converted = self.convert(item)?;
        self.lock(item.py())
            .update(converted, weight.0)
            .map_err(raise)
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
        signature = (items, weights=None, *, column=None, threads=Threads(1)),
        text_signature = "($self, items, weights=None, *, column=None, threads=1)"
    )]
    fn update_many<'py>(
        &self,
        items: &Bound<'py, PyAny>,
        weights: Option<&Bound<'py, PyAny>>,
        column: Option<Column>,
        threads: Threads,
    ) -> PyResult<()> {
        let py = items.py();
        let batch = batch_of(
            items,
            column.as_ref(),
            target_of(&self.shape, &self.fingerprinter),
        )?;
        let weights = weights_in_place(weights)?;
        let (items, weights) = (batch.items()?, weights.as_slice()?);
        let update = |mut sketch: MutexGuard<'_, CoreSketch>| {
            sketch.update_many_in_threads(items, weights, threads.0)
        };
        if items.len() <= SHORT_BATCH {
            update(self.lock(py)).map_err(raise)
        } else {
            py.detach(|| update(self.lock_detached())).map_err(raise)
        }
    }

    /// Return the estimated count of one item, from the public table.
    ///
    /// Guarantee: identical to ``release().estimate(item)``; costs no privacy; neither clipped nor
    /// rounded, so it may be negative.
    ///
    /// Args:
    ///     item: any item; an index for counters.
    ///
    /// Returns:
    ///     Minimum over rows (Count-Min) or median of signed values (Count Sketch).
    ///
    /// Raises:
    ///     ItemError: not a valid item.
    ///     ClosedError: after ``close()``.
    ///     LiveStateError: called in a forked child process.
    fn estimate(&self, item: &Bound<'_, PyAny>) -> PyResult<f64> {
        let converted = self.convert(item)?;
        Ok(self.lock(item.py()).estimate(converted))
    }

    /// Return the estimated counts of many items, in order.
    ///
    /// Args:
    ///     items: Arrow data, a numpy array or an iterable of items.
    ///     column: the name of the column, for a table with several columns.
    ///
    /// Returns:
    ///     float64 array.
    ///
    /// Raises:
    ///     ItemError: an invalid item; the message gives its position.
    ///     ArgumentTypeError: a single str, bytes or dict; several columns without ``column``.
    ///     ClosedError: after ``close()``.
    ///     LiveStateError: called in a forked child process.
    #[pyo3(signature = (items, *, column=None))]
    fn estimate_many<'py>(
        &self,
        items: &Bound<'py, PyAny>,
        column: Option<Column>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let py = items.py();
        let batch = batch_of(
            items,
            column.as_ref(),
            target_of(&self.shape, &self.fingerprinter),
        )?;
        let items = batch.items()?;
        let estimates = if items.len() <= SHORT_BATCH {
            self.lock(py).estimate_many(items)
        } else {
            py.detach(|| self.lock_detached().estimate_many(items))
        };
        Ok(array_of(py, estimates.map_err(raise)?))
    }

    /// End counting; reads go on. A second call does nothing.
    fn finish(&self, py: Python<'_>) {
        self.lock(py).finish();
    }

    /// True after ``finish()``.
    #[getter]
    fn finished(&self, py: Python<'_>) -> bool {
        self.lock(py).is_finished()
    }

    fn _release(&self, py: Python<'_>) -> PyResult<Release> {
        self.lock(py).release().map(Release::new).map_err(raise)
    }

    fn _merged(&self, py: Python<'_>, other: &Bound<'_, Self>) -> PyResult<Release> {
        // The two locks are never held together: two threads may merge in opposite orders.
        let theirs = other.get().lock(py).release().map_err(raise)?;
        let theirs = CoreSketch::from_release(&theirs).map_err(raise)?;
        let merged = self.lock(py).merged(&theirs).map_err(raise)?;
        merged.release().map(Release::new).map_err(raise)
    }

    /// The exact counts.
    #[getter]
    fn table<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<i64>>> {
        let rows = self.lock(py).table().map_err(raise)?;
        table_of(py, &self.shape, rows)
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

    /// Number of events counted.
    #[getter]
    fn step(&self, py: Python<'_>) -> u64 {
        self.lock(py).step()
    }
}
