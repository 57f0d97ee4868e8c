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
    inner: Py<PyAny>,
    held: AtomicU64,
}

#[pymethods]
impl NestingLock {
    #[new]
    fn new(py: Python<'_>) -> PyResult<Self> {
        let inner = py.import("threading")?.call_method0("RLock")?.unbind();
        Ok(Self {
            inner,
            held: AtomicU64::new(0),
        })
    }

    fn acquire(&self, py: Python<'_>) -> PyResult<()> {
        self.inner.call_method0(py, "acquire")?;
        self.held.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    fn release(&self, py: Python<'_>) -> PyResult<()> {
        self.held.fetch_sub(1, Ordering::Relaxed);
        self.inner.call_method0(py, "release")?;
        Ok(())
    }

    /// True if the holder took the lock more than once; only the holder may ask.
    #[getter]
    fn nested(&self) -> bool {
        self.held.load(Ordering::Relaxed) > 1
    }
}
