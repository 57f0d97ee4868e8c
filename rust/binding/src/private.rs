//! Private sketches: the border that exact counts do not pass.

use crate::batches::{batch_of, counts_of, weights_of};
use crate::errors::{ClosedError, LiveStateError, raise};
use crate::facts::{
    Specification, calibration_of, kind_of, mechanism_of, relation_of, schedule_of,
};
use crate::items::{Column, Steps, Weight};
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
use std::sync::{Mutex, MutexGuard};

/// Counts the forks behind this process; a sketch works only in the generation it was made in.
static GENERATION: AtomicU64 = AtomicU64::new(0);

/// Registered with `os.register_at_fork` (an `os.getpid()` per call would cost more than an
/// update).
#[pyfunction]
#[pyo3(name = "_after_fork_in_child")]
pub(crate) fn after_fork_in_child() {
    GENERATION.fetch_add(1, Ordering::Relaxed);
}

fn forked() -> PyErr {
    LiveStateError::new_err(
        "sketch: expected use in the process that made it, got use in a forked child; two \
         processes would publish one noise on different counts. Make a sketch per process \
         with one hash_seed and merge their releases",
    )
}

/// After a panic in the middle of an update the state is unknown, and a later read could show a
/// new count under old noise: nothing is read from it any more.
fn broken(mut sketch: MutexGuard<'_, CoreSketch>) -> PyErr {
    sketch.close();
    ClosedError::new_err("sketch: expected an intact sketch, got one closed by an internal error")
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
    process: u32,
    inner: Mutex<CoreSketch>,
}

impl PrivateSketch {
    /// Refuses a child made by `os.fork()`. Called after items were converted, because converting
    /// may run Python code, and Python code may fork.
    fn check_generation(&self) -> PyResult<()> {
        if self.generation == GENERATION.load(Ordering::Relaxed) {
            return Ok(());
        }
        Err(forked())
    }

    /// Refuses any other process, however it came to be: a fork from native code runs no hook.
    /// Costs a system call, so single updates, which publish nothing, go without.
    fn check_process(&self) -> PyResult<()> {
        self.check_generation()?;
        if self.process == std::process::id() {
            Ok(())
        } else {
            Err(forked())
        }
    }

    /// The core, for short work under the interpreter lock.
    #[inline]
    fn lock(&self, py: Python<'_>) -> PyResult<MutexGuard<'_, CoreSketch>> {
        self.check_generation()?;
        self.inner
            .lock_py_attached(py)
            .map_err(|poisoned| broken(poisoned.into_inner()))
    }

    /// Work on the core without the interpreter lock.
    fn detached<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut CoreSketch) -> lazysketch_core::Result<T> + Send,
    ) -> PyResult<T> {
        self.check_process()?;
        py.detach(|| match self.inner.lock() {
            Ok(mut sketch) => work(&mut sketch).map_err(raise),
            Err(poisoned) => Err(broken(poisoned.into_inner())),
        })
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
        *, kind, depth, width, hash_seed, schedule, mechanism, sigma, relation,
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
        schedule: Specification,
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
            schedule: schedule_of(&schedule)?,
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
            process: std::process::id(),
            inner: Mutex::new(sketch),
        })
    }

    /// Count one event; it takes one step.
    ///
    /// Guarantee: nothing is applied when the call raises.
    ///
    /// Args:
    ///     item: str, bytes or int; ``"1"``, ``b"1"`` and ``1`` are different items.
    ///     weight: an integer from 0 to the largest weight allowed.
    ///
    /// Raises:
    ///     ItemError: something that cannot be an item.
    ///     ArgumentTypeError: a weight that is not an integer.
    ///     ArgumentValueError: a weight outside its range.
    ///     HorizonError: past the horizon of a private sketch.
    ///     ClosedError: after ``close()``.
    ///     LiveStateError: in a forked child.
    #[pyo3(signature = (item, weight=Weight(1)), text_signature = "($self, item, weight=1)")]
    fn update(&self, item: &Bound<'_, PyAny>, weight: Weight) -> PyResult<()> {
        let converted = self.convert(item)?;
        self.lock(item.py())?
            .update(converted, weight.0)
            .map_err(raise)
    }

    /// Count many events, one step each, in order.
    ///
    /// Guarantee: the whole batch is checked before the first event is applied; the same as one
    /// ``update`` per event, faster.
    ///
    /// Args:
    ///     items: Arrow data, a numpy array or an iterable of items.
    ///     weights: as many integers, or None for 1 each.
    ///     column: the column of a table with several.
    ///
    /// Raises:
    ///     ItemError: something that cannot be an item, or a null, with its position.
    ///     ArgumentTypeError: a single str, bytes or dict; floats; an unnamed column.
    ///     ArgumentValueError: weights outside their range or of another length.
    ///     HorizonError: past the horizon of a private sketch.
    ///     ClosedError: after ``close()``.
    ///     LiveStateError: in a forked child.
    #[pyo3(signature = (items, weights=None, *, column=None))]
    fn update_many<'py>(
        &self,
        items: &Bound<'py, PyAny>,
        weights: Option<&Bound<'py, PyAny>>,
        column: Option<Column>,
    ) -> PyResult<()> {
        let batch = batch_of(
            items,
            column.as_ref(),
            target_of(&self.shape, &self.fingerprinter),
        )?;
        let weights = weights_of(weights)?;
        let slice = batch.items()?;
        self.detached(items.py(), |sketch| {
            sketch.update_many(slice, weights.as_deref())
        })
    }

    #[pyo3(signature = (items, weights=None, *, column=None))]
    fn _update_batch<'py>(
        &self,
        items: &Bound<'py, PyAny>,
        weights: Option<&Bound<'py, PyAny>>,
        column: Option<Column>,
    ) -> PyResult<()> {
        let target = target_of(&self.shape, &self.fingerprinter);
        let batch = batch_of(items, column.as_ref(), target)?;
        let weights = weights_of(weights)?;
        let slice = batch.items()?;
        self.detached(items.py(), |sketch| {
            sketch.update_batch(slice, weights.as_deref())
        })
    }

    fn _update_vector(&self, vector: &Bound<'_, PyAny>) -> PyResult<()> {
        let weights = counts_of("vector", vector)?;
        self.detached(vector.py(), |sketch| sketch.update_vector(&weights))
    }

    /// Take steps without an event, as for a row that could not be read.
    ///
    /// Guarantee: an empty step is a neighbour of a step with any event.
    ///
    /// Args:
    ///     steps: how many, 0 or more.
    ///
    /// Raises:
    ///     ArgumentTypeError: not an integer.
    ///     ArgumentValueError: negative.
    ///     HorizonError: past the horizon.
    ///     ClosedError: after ``close()``.
    ///     LiveStateError: in a forked child.
    #[pyo3(signature = (steps=Steps(1)), text_signature = "($self, steps=1)")]
    fn tick(&self, py: Python<'_>, steps: Steps) -> PyResult<()> {
        self.detached(py, |sketch| sketch.tick(steps.0))
    }

    /// Return the estimated count of one item, from the public table.
    ///
    /// Guarantee: identical to ``release().estimate(item)``; costs no privacy; neither clipped nor
    /// rounded, so it may be negative.
    ///
    /// Args:
    ///     item: str, bytes or int; an index for counters.
    ///
    /// Returns:
    ///     Minimum over rows (Count-Min) or median of signed values (Count Sketch).
    ///
    /// Raises:
    ///     ItemError: something that cannot be an item.
    ///     ClosedError: after ``close()``.
    ///     LiveStateError: in a forked child.
    fn estimate(&self, item: &Bound<'_, PyAny>) -> PyResult<f64> {
        let converted = self.convert(item)?;
        self.check_process()?;
        self.lock(item.py())?.estimate(converted).map_err(raise)
    }

    /// Return the estimated counts of many items, in order.
    ///
    /// Args:
    ///     items: Arrow data, a numpy array or an iterable of items.
    ///     column: the column of a table with several.
    ///
    /// Returns:
    ///     float64 array.
    ///
    /// Raises:
    ///     ItemError: something that cannot be an item, with its position.
    ///     ArgumentTypeError: a single str, bytes or dict, or an unnamed column.
    ///     ClosedError: after ``close()``.
    ///     LiveStateError: in a forked child.
    #[pyo3(signature = (items, *, column=None))]
    fn estimate_many<'py>(
        &self,
        items: &Bound<'py, PyAny>,
        column: Option<Column>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        self.check_generation()?;
        let py = items.py();
        let batch = batch_of(
            items,
            column.as_ref(),
            target_of(&self.shape, &self.fingerprinter),
        )?;
        let slice = batch.items()?;
        let estimates = self.detached(py, |sketch| sketch.estimate_many(slice))?;
        Ok(PyArray1::from_vec(py, estimates))
    }

    fn _release(&self, py: Python<'_>) -> PyResult<Release> {
        self.detached(py, CoreSketch::release).map(Release::new)
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

    /// Destroy key and exact counts; releases made before stay valid.
    ///
    /// Raises:
    ///     LiveStateError: in a forked child.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.detached(py, |sketch| {
            sketch.close();
            Ok(())
        })
    }

    /// True after ``close()``.
    #[getter]
    fn closed(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(self.lock(py)?.is_closed())
    }

    /// ``"count-min"``, ``"count-sketch"`` or ``"counters"``.
    #[getter]
    fn kind(&self) -> &'static str {
        self.shape.kind.name()
    }

    /// Rows.
    #[getter]
    fn depth(&self) -> u32 {
        self.shape.depth
    }

    /// Columns.
    #[getter]
    fn width(&self) -> u32 {
        self.shape.width
    }

    /// The public seed of the hash functions.
    #[getter]
    fn hash_seed(&self) -> u64 {
        self.shape.hash_seed
    }

    /// 16 public bytes that name this sketch.
    #[getter]
    fn sketch_id<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.sketch_id.0)
    }

    #[getter]
    fn _step(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(self.lock(py)?.step())
    }

    /// Why the sketch is NOT PRIVATE; empty for a private one.
    #[getter]
    fn not_private_because<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        reasons_of(py, self.marks)
    }

    #[getter]
    fn _law<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        law_of(py, &self.shape, &self.law)
    }
}
