//! Private sketches: the border that exact counts do not pass.

use crate::batches::{batch_of, counts_of, weights_of};
use crate::errors::{LiveStateError, raise};
use crate::facts::{calibration_of, kind_of, mechanism_of, relation_of, schedule_of};
use crate::items::{count_of, weight_of};
use crate::key::Key;
use crate::release::{Release, law_of, reasons_of, target_of};
use lazysketch_core::hash::Fingerprinter;
use lazysketch_core::key::SketchId;
use lazysketch_core::parameters::{Marks, NoiseLaw, Shape};
use lazysketch_core::sketch::PrivateSketch as CoreSketch;
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::{PyBytes, PyDict, PyTuple};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Counts the forks behind this process; a sketch works only in the generation it was made in.
static GENERATION: AtomicU64 = AtomicU64::new(0);

/// Registered with `os.register_at_fork` (an `os.getpid()` per call would cost more than an
/// update).
#[pyfunction]
#[pyo3(name = "_after_fork_in_child")]
pub(crate) fn after_fork_in_child() {
    GENERATION.fetch_add(1, Ordering::Relaxed);
}

/// A sketch under continual observation; base of the public private sketches.
#[pyclass(frozen, subclass, module = "lazysketch._native")]
pub(crate) struct PrivateSketch {
    shape: Shape,
    law: NoiseLaw,
    marks: Marks,
    sketch_id: SketchId,
    fingerprinter: Fingerprinter,
    generation: u64,
    inner: Mutex<CoreSketch>,
}

impl PrivateSketch {
    fn check_generation(&self) -> PyResult<()> {
        if self.generation == GENERATION.load(Ordering::Relaxed) {
            return Ok(());
        }
        Err(LiveStateError::new_err(
            "sketch: expected use in the process that made it, got use in a forked child; two \
             processes would publish one noise on different counts. Make a sketch per process \
             with one hash_seed and merge their releases",
        ))
    }

    #[inline]
    fn lock(&self, py: Python<'_>) -> PyResult<MutexGuard<'_, CoreSketch>> {
        self.check_generation()?;
        Ok(self
            .inner
            .lock_py_attached(py)
            .unwrap_or_else(PoisonError::into_inner))
    }

    fn lock_detached(&self) -> MutexGuard<'_, CoreSketch> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[inline]
    fn convert(&self, item: &Bound<'_, PyAny>) -> PyResult<u64> {
        let target = target_of(&self.shape, &self.fingerprinter);
        target.object(item).map_err(|fault| fault.of_item())
    }
}

#[pymethods]
impl PrivateSketch {
    #[new]
    #[pyo3(signature = (
        *, kind, depth, width, hash_seed, schedule, horizon, mechanism, sigma, relation,
        calibration, epsilon, delta, max_weight, max_events_per_user, max_changes, key,
    ))]
    #[expect(
        clippy::too_many_arguments,
        reason = "keyword-only, called from one place in Python"
    )]
    fn new(
        kind: &str,
        depth: u32,
        width: u32,
        hash_seed: Option<u64>,
        schedule: &str,
        horizon: Option<u64>,
        mechanism: &str,
        sigma: f64,
        relation: &str,
        calibration: &str,
        epsilon: f64,
        delta: f64,
        max_weight: u64,
        max_events_per_user: u64,
        max_changes: u32,
        key: &Bound<'_, Key>,
    ) -> PyResult<Self> {
        let key = key.get();
        let identity = key.identity()?;
        let hash_seed = hash_seed.unwrap_or_else(|| identity.hash_seed(&key.master));
        let shape = Shape {
            kind: kind_of(kind)?,
            depth,
            width,
            hash_seed,
        };
        let law = NoiseLaw {
            schedule: schedule_of(schedule, horizon)?,
            mechanism: mechanism_of(mechanism)?,
            sigma,
            relation: relation_of(relation)?,
            calibration: calibration_of(calibration)?,
            epsilon,
            delta,
            max_weight,
            max_events_per_user,
            max_changes,
        };
        let sketch = CoreSketch::new(shape, law, &key.master, identity).map_err(raise)?;
        Ok(Self {
            shape,
            law,
            marks: sketch.marks(),
            sketch_id: sketch.sketch_id(),
            fingerprinter: *sketch.fingerprinter(),
            generation: GENERATION.load(Ordering::Relaxed),
            inner: Mutex::new(sketch),
        })
    }

    #[pyo3(signature = (item, weight=None), text_signature = "($self, item, weight=1)")]
    fn update(&self, item: &Bound<'_, PyAny>, weight: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        let weight = weight_of(weight)?;
        let converted = self.convert(item)?;
        self.lock(item.py())?
            .update(converted, weight)
            .map_err(raise)
    }

    #[pyo3(signature = (items, weights=None, *, column=None))]
    fn update_many<'py>(
        &self,
        items: &Bound<'py, PyAny>,
        weights: Option<&Bound<'py, PyAny>>,
        column: Option<&str>,
    ) -> PyResult<()> {
        self.check_generation()?;
        let batch = batch_of(items, column, target_of(&self.shape, &self.fingerprinter))?;
        let weights = weights_of(weights)?;
        let slice = batch.items()?;
        items
            .py()
            .detach(|| self.lock_detached().update_many(slice, weights.as_deref()))
            .map_err(raise)
    }

    fn _update_vector(&self, vector: &Bound<'_, PyAny>) -> PyResult<()> {
        let weights = counts_of("vector", vector)?;
        self.lock(vector.py())?
            .update_vector(&weights)
            .map_err(raise)
    }

    #[pyo3(signature = (steps=None), text_signature = "($self, steps=1)")]
    fn tick(&self, py: Python<'_>, steps: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        let steps = steps.map_or(Ok(1), |steps| count_of("steps", steps))?;
        self.lock(py)?.tick(steps).map_err(raise)
    }

    fn estimate(&self, item: &Bound<'_, PyAny>) -> PyResult<f64> {
        let converted = self.convert(item)?;
        self.lock(item.py())?.estimate(converted).map_err(raise)
    }

    #[pyo3(signature = (items, *, column=None))]
    fn estimate_many<'py>(
        &self,
        items: &Bound<'py, PyAny>,
        column: Option<&str>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        self.check_generation()?;
        let py = items.py();
        let batch = batch_of(items, column, target_of(&self.shape, &self.fingerprinter))?;
        let slice = batch.items()?;
        let estimates = py
            .detach(|| self.lock_detached().estimate_many(slice))
            .map_err(raise)?;
        Ok(PyArray1::from_vec(py, estimates))
    }

    fn _release(&self, py: Python<'_>) -> PyResult<Release> {
        self.check_generation()?;
        py.detach(|| self.lock_detached().release())
            .map(Release::new)
            .map_err(raise)
    }

    fn _draws<'py>(
        &self,
        py: Python<'py>,
        cells: Vec<u64>,
        nodes: Vec<u64>,
    ) -> PyResult<Bound<'py, PyArray1<i64>>> {
        let draws = self.lock(py)?.draws(&cells, &nodes).map_err(raise)?;
        Ok(PyArray1::from_vec(py, draws))
    }

    fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.lock(py)?.close();
        Ok(())
    }

    #[getter]
    fn closed(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(self.lock(py)?.is_closed())
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
    fn sketch_id<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.sketch_id.0)
    }

    #[getter]
    fn _step(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(self.lock(py)?.step())
    }

    #[getter]
    fn not_private_because<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        reasons_of(py, self.marks)
    }

    #[getter]
    fn _law<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        law_of(py, &self.shape, &self.law)
    }
}
