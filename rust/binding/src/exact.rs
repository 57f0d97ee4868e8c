//! Exact sketches: NOT PRIVATE, and free to be read, copied and pickled.

use crate::batches::{batch_of, weights_of};
use crate::errors::raise;
use crate::facts::kind_of;
use crate::items::weight_of;
use crate::release::{Release, table_of, target_of};
use lazysketch_core::exact::ExactSketch as CoreSketch;
use lazysketch_core::key::fresh_hash_seed;
use lazysketch_core::parameters::Shape;
use numpy::{PyArray1, PyArray2};
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A sketch without noise; base of `lazysketch.CountMin` and `lazysketch.CountSketch`.
#[pyclass(frozen, subclass, module = "lazysketch._native")]
pub(crate) struct ExactSketch {
    shape: Shape,
    inner: Mutex<CoreSketch>,
}

impl ExactSketch {
    fn of(sketch: CoreSketch) -> Self {
        Self {
            shape: *sketch.shape(),
            inner: Mutex::new(sketch),
        }
    }

    fn lock(&self, py: Python<'_>) -> MutexGuard<'_, CoreSketch> {
        self.inner
            .lock_py_attached(py)
            .unwrap_or_else(PoisonError::into_inner)
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

    #[pyo3(signature = (item, weight=None), text_signature = "($self, item, weight=1)")]
    fn update(&self, item: &Bound<'_, PyAny>, weight: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        let weight = weight_of(weight)?;
        let mut sketch = self.lock(item.py());
        let target = target_of(&self.shape, sketch.fingerprinter());
        let item = target.object(item).map_err(|fault| fault.of_item())?;
        sketch.update(item, weight).map_err(raise)
    }

    #[pyo3(signature = (items, weights=None, *, column=None))]
    fn update_many<'py>(
        &self,
        items: &Bound<'py, PyAny>,
        weights: Option<&Bound<'py, PyAny>>,
        column: Option<&str>,
    ) -> PyResult<()> {
        let py = items.py();
        let fingerprinter = *self.lock(py).fingerprinter();
        let batch = batch_of(items, column, target_of(&self.shape, &fingerprinter))?;
        let weights = weights_of(weights)?;
        let items = batch.items()?;
        py.detach(|| self.lock_detached().update_many(items, weights.as_deref()))
            .map_err(raise)
    }

    fn estimate(&self, item: &Bound<'_, PyAny>) -> PyResult<f64> {
        let sketch = self.lock(item.py());
        let target = target_of(&self.shape, sketch.fingerprinter());
        let item = target.object(item).map_err(|fault| fault.of_item())?;
        Ok(sketch.estimate(item))
    }

    #[pyo3(signature = (items, *, column=None))]
    fn estimate_many<'py>(
        &self,
        items: &Bound<'py, PyAny>,
        column: Option<&str>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let py = items.py();
        let fingerprinter = *self.lock(py).fingerprinter();
        let batch = batch_of(items, column, target_of(&self.shape, &fingerprinter))?;
        let items = batch.items()?;
        let estimates = py.detach(|| self.lock_detached().estimate_many(items));
        Ok(PyArray1::from_vec(py, estimates))
    }

    fn _release(&self, py: Python<'_>) -> Release {
        Release::new(self.lock(py).release())
    }

    fn _merged(&self, py: Python<'_>, other: &Bound<'_, Self>) -> PyResult<Release> {
        // Never both locks at once: two threads may merge in opposite orders.
        let theirs = CoreSketch::from_release(&other.get().lock(py).release()).map_err(raise)?;
        let merged = self.lock(py).merged(&theirs).map_err(raise)?;
        Ok(Release::new(merged.release()))
    }

    #[getter]
    fn table<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<i64>>> {
        let rows = self.lock(py).table();
        table_of(py, &self.shape, rows)
    }

    #[getter]
    fn kind(&self) -> &'static str {
        self.shape.kind.name()
    }

    #[getter]
    fn depth(&self) -> u32 {
        self.shape.depth
    }

    #[getter]
    fn width(&self) -> u32 {
        self.shape.width
    }

    #[getter]
    fn hash_seed(&self) -> u64 {
        self.shape.hash_seed
    }

    #[getter]
    fn step(&self, py: Python<'_>) -> u64 {
        self.lock(py).step()
    }
}
