//! A lock that knows whether its holder took it again.
//!
//! Values and clocks are objects of the caller, whose methods may call the object that is just
//! reading them. A lock of `threading` does not say so, and a flag in Python would stay set after an
//! interrupt between two bytecodes.
//!
//! A single event that changes nothing but a count needs no lock: it is counted while the
//! interpreter lock is held and no Python code runs. The lock knows the table that takes it, from a
//! holder that has just counted there until it is taken again. So whatever else changes, an event
//! takes the long way once, which decides anew.
//!
//! An interpreter without that lock may count an event while another thread takes this one. The event
//! has the place of the table until it is counted, and the thread waits for that place.

use crate::heavy_sketch::{HeavySketch, guarded};
use crate::items::{is_common, no_item, with_item};
use lazysketch_core::item::Item;
use lazysketch_core::planted;
use pyo3::prelude::*;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// A lock that a thread can take again while it holds it.
#[pyclass(frozen, module = "lazysketch._native")]
pub(crate) struct NestingLock {
    /// Methods of a lock of `threading`, bound once: most calls take less time than looking them up.
    acquire: Py<PyAny>,
    release: Py<PyAny>,
    held: AtomicU64,
    /// Where single events are counted until the lock is taken again.
    open: Mutex<Option<OpenTable>>,
}

/// A table, and the steps that it may have after an event.
struct OpenTable {
    table: Py<HeavySketch>,
    most: u64,
}

impl NestingLock {
    fn set_open(&self, open: Option<OpenTable>) {
        let mut place = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        // Dropped after the release: that of a table may take long.
        let before = std::mem::replace(&mut *place, open);
        drop(place);
        drop(before);
    }

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
            open: Mutex::new(None),
        })
    }

    fn acquire(&self, py: Python<'_>) -> PyResult<()> {
        self.acquire.call0(py)?;
        self.held.fetch_add(1, Ordering::Relaxed);
        if !planted!("windows-stay-open-when-their-lock-is-taken") {
            self.set_open(None);
        }
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

    /// Let [`Self::count_one`] count events in a table that has fewer than `steps` steps after them,
    /// until the lock is taken again; only the holder may ask.
    fn open_for(&self, table: Py<HeavySketch>, steps: u64) {
        let most = steps.saturating_sub(1);
        self.set_open(Some(OpenTable { table, most }));
    }
}

impl NestingLock {
    /// True while a thread holds the lock.
    #[inline]
    pub(crate) fn is_held(&self) -> bool {
        self.held.load(Ordering::Relaxed) > 0
    }

    /// Count one event in the open table. False, and nothing is counted, if there is none, or if
    /// the lock is held, the item is not of a common type, or anything is wrong: the caller then
    /// takes the lock.
    #[inline]
    pub(crate) fn count_one(&self, item: &Bound<'_, PyAny>, weight: u64) -> bool {
        // Another item may have a method that changes what this lock guards.
        (is_common(item) || planted!("windows-convert-any-item-before-they-look-at-their-lock"))
            && with_item(item, &no_item, |converted| {
                Ok(self.count(item.py(), converted, weight))
            })
            .unwrap_or(false)
    }

    fn count(&self, py: Python<'_>, item: Item<'_>, weight: u64) -> bool {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        // Asked only now: whoever takes the lock from here on waits for the place.
        if self.is_held() && !planted!("windows-count-while-their-lock-is-held") {
            return false;
        }
        let Some(OpenTable { table, most }) = &*open else {
            return false;
        };
        let Some(mut core) = guarded(table.bind(py)).try_lock() else {
            return false;
        };
        core.heavy().is_ok_and(|sketch| {
            let has_room = sketch.sketch().step() < *most;
            has_room && sketch.update(item, weight).is_ok()
        })
    }
}
