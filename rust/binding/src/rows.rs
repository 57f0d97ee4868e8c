//! Rows of text: bytes in, columns out, without the interpreter lock.

use crate::errors::ArgumentValueError;
use lazysketch_rows::{Field, Rows, Texts};
use numpy::PyArray1;
use pyo3::prelude::*;

type Numbers<'py> = Bound<'py, PyArray1<i64>>;
/// Offsets and UTF-8.
type Column<'py> = (Numbers<'py>, Bound<'py, PyArray1<u8>>);

/// The lines of a block of whole rows as items; the positions of those that are empty.
#[pyfunction]
pub(crate) fn line_items<'py>(py: Python<'py>, block: &[u8]) -> (Column<'py>, Numbers<'py>) {
    columns(py, py.detach(|| lazysketch_rows::lines(block)))
}

/// A field of each row of an access log; the positions of rows without it.
#[pyfunction]
#[pyo3(signature = (block, *, field))]
pub(crate) fn access_log_items<'py>(
    py: Python<'py>,
    block: &[u8],
    field: &str,
) -> PyResult<(Column<'py>, Numbers<'py>)> {
    let field = Field::named(field).ok_or_else(|| {
        let names = Field::NAMES.map(|(name, _)| name).join(", ");
        ArgumentValueError::new_err(format!("field: expected one of {names}, got {field:?}"))
    })?;
    let rows = py.detach(|| lazysketch_rows::access_log(block, field));
    Ok(columns(py, rows))
}

/// The text of the time of each row of an access log, empty where there is none.
#[pyfunction]
pub(crate) fn access_log_times<'py>(py: Python<'py>, block: &[u8]) -> Column<'py> {
    column(py, py.detach(|| lazysketch_rows::access_log_times(block)))
}

fn columns(py: Python<'_>, rows: Rows) -> (Column<'_>, Numbers<'_>) {
    let malformed = PyArray1::from_vec(py, rows.malformed);
    (column(py, rows.items), malformed)
}

fn column(py: Python<'_>, texts: Texts) -> Column<'_> {
    let offsets = PyArray1::from_vec(py, texts.offsets);
    (offsets, PyArray1::from_vec(py, texts.data))
}
