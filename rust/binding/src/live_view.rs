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

/// Cells of a table for each read of a single item's cells after which the whole table is kept: it
/// costs about as much as these reads.
const CELLS_PER_READ: u64 = 16;
/// Largest table that is kept for them, in cells: 8 MiB, and some ten milliseconds.
const MOST_CELLS: u64 = 1 << 20;

/// The public table of the last read, which the next one brings up to date.
///
/// It is locked after the sketch, never before it. A panic while it is held loses nothing: a renewal
/// takes the table out first, so what a later read finds is whole or absent.
#[derive(Default)]
pub(crate) struct LiveView(Mutex<Kept>);

#[derive(Default)]
struct Kept {
    view: Option<PublicView>,
    /// Reads of single items' cells since the table was kept.
    single_reads: u64,
}

impl LiveView {
    fn lock(&self) -> MutexGuard<'_, Kept> {
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
        let kept = &mut *self.lock();
        let found = core.sketch().estimate_by(item, how, &mut kept.view);
        if !how.joint && !how.now {
            kept.single_reads += 1;
            let shape = core.sketch().shape();
            let cells = u64::from(shape.depth) * u64::from(shape.width);
            if cells <= MOST_CELLS && kept.single_reads > cells / CELLS_PER_READ {
                kept.single_reads = 0;
                // Only faster: without the room for it, reads go on cell by cell.
                let _ = core.sketch().keep_view(&mut kept.view);
            }
        }
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
            core.sketch()
                .estimate_many_by(items, how, &mut self.lock().view)
        })?;
        Ok(array_of(py, estimates))
    }
}
