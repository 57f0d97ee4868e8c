//! The batches of a store for one sketch, whose log has fingerprints in place of items.

use crate::event_logging::logged_for_table;
use crate::items::Column;
use crate::logged_events::LoggedEvents;
use crate::private::PrivateSketch;
use pyo3::prelude::*;

/// Convert any batch to what one sketch counts: integers are kept, other items become their
/// fingerprints.
#[pyfunction]
#[pyo3(
    signature = (items, sketch, *, column=None),
    text_signature = "(items, sketch, *, column=None)"
)]
pub(crate) fn logged_fingerprints<'py>(
    items: &Bound<'py, PyAny>,
    sketch: &Bound<'py, PrivateSketch>,
    column: Option<Column>,
) -> PyResult<Bound<'py, LoggedEvents>> {
    let sketch = sketch.get();
    logged_for_table(
        items,
        sketch.target(),
        sketch.fingerprinter(),
        column.as_ref(),
    )
}
