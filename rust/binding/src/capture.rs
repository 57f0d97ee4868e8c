//! Packet captures: bytes to columns, without the interpreter lock.

use crate::errors::ArgumentValueError;
use crate::text_column::TextColumn;
use lazysketch_capture::{Field, FieldValues, Reader, Wanted};
use numpy::PyArray1;
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use std::sync::{Mutex, MutexGuard, PoisonError};

type Numbers<'py> = Bound<'py, PyArray1<i64>>;
type Packets<'py> = (
    Bound<'py, PyAny>,
    Option<Bound<'py, PyAny>>,
    Numbers<'py>,
    Numbers<'py>,
    Numbers<'py>,
    Numbers<'py>,
);

/// Reads one capture; used by `lazysketch.sources`.
#[pyclass(frozen, module = "lazysketch._native")]
pub(crate) struct CaptureReader {
    inner: Mutex<Reader>,
}

impl CaptureReader {
    fn lock(&self) -> MutexGuard<'_, Reader> {
        // Taken only without the interpreter lock, and never held while Python code runs.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl CaptureReader {
    #[new]
    #[pyo3(signature = (*, field, user=None))]
    fn new(field: &str, user: Option<&str>) -> PyResult<Self> {
        let field = Field::named(field).ok_or_else(|| {
            let names = Field::NAMES.map(|(name, _)| name).join(", ");
            ArgumentValueError::new_err(format!("field: expected one of {names}, got {field:?}"))
        })?;
        let mut wanted = Wanted::field(field);
        if let Some(user) = user {
            let address = Field::named(user).and_then(|user| wanted.user(user));
            wanted = address.ok_or_else(|| {
                ArgumentValueError::new_err(format!("user: expected src or dst, got {user:?}"))
            })?;
        }
        Ok(Self {
            inner: Mutex::new(Reader::of(wanted)),
        })
    }

    /// Return the packets that these bytes complete, as items, people, sizes, times, absent and
    /// malformed.
    fn feed<'py>(&self, py: Python<'py>, data: &[u8]) -> PyResult<Packets<'py>> {
        let rows = py.detach(|| self.lock().feed(data));
        let values = |values| match values {
            FieldValues::Text { offsets, data } => {
                TextColumn::of(offsets, data).into_bound_py_any(py)
            }
            FieldValues::Numbers(numbers) => Ok(PyArray1::from_vec(py, numbers).into_any()),
        };
        let items = values(rows.items)?;
        let users = rows.users.map(values).transpose()?;
        let column = |values| PyArray1::from_vec(py, values);
        Ok((
            items,
            users,
            column(rows.sizes),
            column(rows.times),
            column(rows.absent),
            column(rows.malformed),
        ))
    }

    /// Declare the end of the bytes.
    fn finish(&self, py: Python<'_>) {
        py.detach(|| self.lock().finish());
    }

    /// The reason why the capture cannot be read further, or None.
    #[getter]
    fn damage(&self, py: Python<'_>) -> Option<String> {
        py.detach(|| self.lock().damage())
            .map(|damage| damage.to_string())
    }

    /// Number of bytes up to the end of the last valid record.
    #[getter]
    fn position(&self, py: Python<'_>) -> u64 {
        py.detach(|| self.lock().position())
    }

    /// Number of packets read.
    #[getter]
    fn packets(&self, py: Python<'_>) -> u64 {
        py.detach(|| self.lock().packets())
    }
}
