//! The exact state of a table, which Python holds without seeing it.

use lazysketch_core::Error;
use lazysketch_core::key::SketchId;
use lazysketch_core::saved_state::SavedState as CoreState;
use pyo3::prelude::*;

/// The exact state of a table, for a table that goes on from it.
#[pyclass(frozen, module = "lazysketch._native")]
pub(crate) struct SavedState {
    inner: CoreState,
}

impl SavedState {
    pub(crate) fn of(inner: CoreState) -> Self {
        Self { inner }
    }

    pub(crate) fn core(&self) -> &CoreState {
        &self.inner
    }
}

/// Fail unless a restored table has the id that its place in the store gives it.
pub(crate) fn same_id(restored: SketchId, expected: SketchId) -> Result<(), Error> {
    if restored == expected {
        return Ok(());
    }
    let message = "expected the state of this table, got that of another";
    Err(Error::State(message.into()))
}
