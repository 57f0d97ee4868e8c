//! A lock that knows whether its holder took it again.
//!
//! Values and clocks are objects of the caller, whose methods may call the object that is just
//! reading them. A lock of `threading` does not say so, and a flag in Python would stay set after an
//! interrupt between two bytecodes.

use pyo3::prelude::*;
use std::sync::atomic::{AtomicU64, Ordering};

/// A lock that a thread can take again while it holds it.
#[pyclass(frozen, module = "lazysketch._native")]
pub(crate) struct NestingLock {
    /// Methods of a lock of `threading`, bound once: most calls take less time than looking them up.
    acquire: Py<PyAny>,
    release: Py<PyAny>,
    held: AtomicU64,
}

impl NestingLock {
    /// Call a function while the lock is held.
    pub(crate) fn held_for<'py, T>(
        &self,
        py: Python<'py>,
        call: impl FnOnce() -> PyResult<T>,
    ) -> PyResult<T> {
        self.acquire(py)?;
        let result = call();
        self.release(py)?;
        result
    }
}

#[pymethods]
impl NestingLock {
    #[new]
    fn new(py: Python<'_>) -> PyResult<Self> {
        let inner = py.import("threading")?.call_method0("RLock")?;
        Ok(Self {
            acquire: inner.getattr("acquire")?.unbind(),
            release: inner.getattr("release")?.unbind(),
            held: AtomicU64::new(0),
        })
    }

    fn acquire(&self, py: Python<'_>) -> PyResult<()> {
        self.acquire.call0(py)?;
        self.held.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    fn release(&self, py: Python<'_>) -> PyResult<()> {
        self.held.fetch_sub(1, Ordering::Relaxed);
        self.release.call0(py)?;
        Ok(())
    }

    /// True if the holder took the lock more than once; only the holder may ask.
    #[getter]
    fn nested(&self) -> bool {
        self.held.load(Ordering::Relaxed) > 1
    }
}
