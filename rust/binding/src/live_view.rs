//! What the reads of a live sketch keep of its public table.

use crate::arrays::array_of;
use crate::errors::raise;
use crate::guarded_sketch::GuardedSketch;
use lazysketch_core::estimation::How;
use lazysketch_core::sketch::public_view::PublicView;
use lazysketch_core::table::items::Items;
use numpy::PyArray1;
use pyo3::prelude::*;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The public table of the last read, which the next one brings up to date.
///
/// It is locked after the sketch, never before it. A panic while it is held loses nothing: a renewal
/// takes the table out first, so what a later read finds is whole or absent.
#[derive(Default)]
pub(crate) struct LiveView(Mutex<Option<PublicView>>);

impl LiveView {
    fn lock(&self) -> MutexGuard<'_, Option<PublicView>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Return the estimate of one item, under the interpreter lock.
    pub(crate) fn estimate(
        &self,
        py: Python<'_>,
        guarded: &GuardedSketch,
        item: u64,
        how: How,
    ) -> PyResult<f64> {
        guarded.check_process()?;
        let mut core = guarded.lock(py)?;
        let found = core.sketch().estimate_by(item, how, &mut self.lock());
        found.map_err(raise)
    }

    /// Return the estimates of many items, without the interpreter lock.
    pub(crate) fn estimates<'py>(
        &self,
        py: Python<'py>,
        guarded: &GuardedSketch,
        items: Items<'_>,
        how: How,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let estimates = guarded.detached(py, |core| {
            core.sketch().estimate_many_by(items, how, &mut self.lock())
        })?;
        Ok(array_of(py, estimates))
    }
}
