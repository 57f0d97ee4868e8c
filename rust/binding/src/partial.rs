//! Partial counts: what workers count, and what a store gathers of it. Python sees descriptions and
//! sealed bytes.

use crate::batches::batch_of;
use crate::errors::{ArgumentValueError, ClosedError, raise};
use crate::event_batch::Events;
use crate::items::Column;
use crate::maker_process::MakerProcess;
use crate::private::PrivateSketch;
use crate::release::target_of;
use crate::weights::weights_in_place;
use lazysketch_core::partial::{PartialCounts as CoreCounts, PartialKeys, PartialSpec};
use lazysketch_core::table::hash::Fingerprinter;
use lazysketch_core::table::items::Items;
use lazysketch_core::{Error, Result};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::sync::{Arc, Mutex, MutexGuard};

const ADVICE: &str = "events of both processes would be counted twice. Make partial counts in the \
                      process that counts";

/// Exact counts of a worker, which can be added and sealed; base of `lazysketch.PartialCounts`.
#[pyclass(frozen, subclass, module = "lazysketch._native")]
pub(crate) struct PartialCounts {
    maker: MakerProcess,
    spec: PartialSpec,
    fingerprinter: Fingerprinter,
    inner: Mutex<CoreCounts>,
}

impl PartialCounts {
    fn lock(&self) -> PyResult<MutexGuard<'_, CoreCounts>> {
        // After a panic in the middle of an update the counts are unknown.
        self.inner.lock().map_err(|_| {
            ClosedError::new_err("partial: expected intact counts, got some of a failed update")
        })
    }
}

#[pymethods]
impl PartialCounts {
    #[new]
    fn new(spec: &Bound<'_, PyBytes>) -> PyResult<Self> {
        let spec = PartialSpec::decode(spec.as_bytes()).map_err(raise)?;
        let counts = CoreCounts::new(spec).map_err(raise)?;
        Ok(Self {
            maker: MakerProcess::this("partial", ADVICE),
            spec,
            fingerprinter: *counts.fingerprinter(),
            inner: Mutex::new(counts),
        })
    }

    #[pyo3(signature = (items, weights=None, *, column=None))]
    fn _update_many<'py>(
        &self,
        items: &Bound<'py, PyAny>,
        weights: Option<&Bound<'py, PyAny>>,
        column: Option<Column>,
    ) -> PyResult<()> {
        let count = |slice: Items<'_>| {
            let weights = weights_in_place(weights)?;
            let weights = weights.as_slice()?;
            self.maker.check()?;
            items.py().detach(|| {
                let mut counts = self.lock()?;
                counts.update_many(slice, weights).map_err(raise)
            })
        };
        if self.spec.named.is_some() {
            let batch = Events::of(items, column.as_ref())?;
            return count(batch.borrowed()?.items());
        }
        let target = target_of(&self.spec.shape, &self.fingerprinter);
        count(batch_of(items, column.as_ref(), target)?.items()?)
    }

    fn _merge(&self, py: Python<'_>, other: &Bound<'_, Self>) -> PyResult<()> {
        let other = other.get();
        if std::ptr::eq(self, other) {
            let message = "other: expected other partial counts, got the same";
            return Err(ArgumentValueError::new_err(message));
        }
        self.maker.check()?;
        other.maker.check()?;
        py.detach(|| {
            // In one order everywhere, so that no two calls wait for each other.
            let (mut counts, mut taken);
            if std::ptr::from_ref(self) < std::ptr::from_ref(other) {
                counts = self.lock()?;
                taken = other.lock()?;
            } else {
                taken = other.lock()?;
                counts = self.lock()?;
            }
            counts.merge(&mut taken).map_err(raise)
        })
    }

    fn _seal<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        self.maker.check()?;
        let sealed = py.detach(|| self.lock()?.seal().map_err(raise))?;
        Ok(PyBytes::new(py, &sealed))
    }

    /// Kind, rows and columns of the table, and whether names are counted: all public.
    #[getter]
    fn _shape(&self) -> (&'static str, u32, u32, bool) {
        let shape = self.spec.shape;
        let named = self.spec.named.is_some();
        (shape.kind.name(), shape.depth, shape.width, named)
    }
}

/// The sum of the partial counts of one step, which a private table takes over.
#[pyclass(frozen, module = "lazysketch._native")]
pub(crate) struct GatheredCounts {
    maker: MakerProcess,
    keys: Arc<PartialKeys>,
    /// That of the table, as handed out at the beginning.
    spec: PartialSpec,
    inner: Mutex<CoreCounts>,
}

impl GatheredCounts {
    pub(crate) fn of(keys: Arc<PartialKeys>, spec: PartialSpec) -> PyResult<Self> {
        Ok(Self {
            maker: MakerProcess::this("partial", ADVICE),
            keys,
            spec,
            inner: Mutex::new(CoreCounts::new(spec).map_err(raise)?),
        })
    }

    /// Use the counts, without the interpreter lock.
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut CoreCounts) -> Result<T> + Send,
    ) -> PyResult<T> {
        self.maker.check()?;
        py.detach(|| {
            let mut counts = self.inner.lock().map_err(|_| raise(Error::Closed))?;
            work(&mut counts).map_err(raise)
        })
    }
}

#[pymethods]
impl GatheredCounts {
    /// Add sealed counts of the table; return when their description was handed out, and their id.
    fn add<'py>(
        &self,
        py: Python<'py>,
        sealed: &Bound<'py, PyBytes>,
    ) -> PyResult<(u64, Bound<'py, PyBytes>)> {
        let bytes = sealed.as_bytes();
        let (issued, id) = self.with(py, |counts| {
            let opened = self.keys.open(bytes, &self.spec)?;
            counts.gather(&opened)?;
            Ok((opened.spec().issued, opened.id()))
        })?;
        Ok((issued, PyBytes::new(py, &id.0)))
    }

    /// Take one step of a table with the events of the sum, or add them to its open step.
    #[pyo3(signature = (table, *, in_open_step=false))]
    fn add_to(&self, table: &Bound<'_, PrivateSketch>, in_open_step: bool) -> PyResult<()> {
        let (py, guarded) = (table.py(), table.get().guarded());
        guarded.check_process()?;
        // The lock of the table is the inner one everywhere: a table knows no gathered counts.
        self.with(py, |counts| {
            guarded.locked(|core| match in_open_step {
                false => core.add_partial(counts),
                true => core.add_partial_to_batch(counts),
            })
        })
    }

    /// A keyed digest of the sum: it confirms no guess.
    fn digest<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let digest = self.with(py, |counts| self.keys.content_digest(counts))?;
        Ok(PyBytes::new(py, &digest))
    }

    /// Seal the sum to the store itself, for its log.
    fn sealed<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let sealed = self.with(py, |counts| counts.sealed())?;
        Ok(PyBytes::new(py, &sealed))
    }
}
