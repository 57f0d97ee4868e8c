//! Fields of rows whose layout is described: blocks to columns, without the interpreter lock.

use crate::errors::ArgumentValueError;
use crate::text_column::TextColumn;
use lazysketch_text::{FieldColumns, FieldError, FieldReader as Reader, Roles};
use numpy::PyArray1;
use pyo3::prelude::*;

type Numbers<'py> = Bound<'py, PyArray1<i64>>;

/// Items, malformed rows, weights, clipped weights, times, numbers, people, and rows that lack only a
/// person.
pub(crate) type Columns<'py> = (
    TextColumn,
    Numbers<'py>,
    Numbers<'py>,
    Numbers<'py>,
    Option<TextColumn>,
    Option<TextColumn>,
    Option<TextColumn>,
    Numbers<'py>,
);

/// Reads fields of the rows of one input, block by block.
#[pyclass(module = "lazysketch._native")]
pub(crate) struct FieldReader {
    reader: Reader,
    lacks: Option<&'static str>,
}

#[pymethods]
impl FieldReader {
    /// Names are bytes, because a Python str need not be valid UTF-8.
    #[new]
    #[pyo3(signature = (layout, *, field, weight, max_weight, time, value, user, trusted_hops))]
    #[expect(
        clippy::too_many_arguments,
        reason = "of a function of Python, by name"
    )]
    fn new(
        layout: &str,
        field: &[u8],
        weight: Option<&[u8]>,
        max_weight: i64,
        time: Option<&[u8]>,
        value: Option<&[u8]>,
        user: Option<&[u8]>,
        trusted_hops: Option<usize>,
    ) -> PyResult<Self> {
        let names = roles(field, weight, max_weight, time, value, user);
        let reader = Reader::new(layout, &names, trusted_hops).map_err(raise)?;
        Ok(Self {
            reader,
            lacks: None,
        })
    }

    /// Return a reader of the named groups of a regular expression.
    #[staticmethod]
    #[pyo3(signature = (pattern, *, field, weight, max_weight, time, value, user))]
    fn with_pattern(
        pattern: &str,
        field: &[u8],
        weight: Option<&[u8]>,
        max_weight: i64,
        time: Option<&[u8]>,
        value: Option<&[u8]>,
        user: Option<&[u8]>,
    ) -> PyResult<Self> {
        let names = roles(field, weight, max_weight, time, value, user);
        let reader = Reader::with_pattern(pattern, &names).map_err(raise)?;
        Ok(Self {
            reader,
            lacks: None,
        })
    }

    /// Return the fields of each row of a block of complete rows; None if the header lacks what is
    /// wanted, and then `lacks` and `columns` say what.
    fn read<'py>(&mut self, py: Python<'py>, block: &[u8]) -> PyResult<Option<Columns<'py>>> {
        let reader = &mut self.reader;
        match py.detach(|| reader.read(block)) {
            Ok(columns) => Ok(Some(shown(py, columns))),
            Err(FieldError::NoHeader) => {
                self.lacks = Some("header");
                Ok(None)
            }
            Err(FieldError::NotInHeader(role)) => {
                self.lacks = Some(role);
                Ok(None)
            }
            Err(error) => Err(raise(error)),
        }
    }

    /// "header" after a row without one, or the role of a field that a header does not have once.
    #[getter]
    fn lacks(&self) -> Option<&'static str> {
        self.lacks
    }

    /// The names of the columns of the last header, if there was one.
    #[getter]
    fn columns(&self) -> Option<Vec<String>> {
        self.reader.columns()
    }
}

/// Return the names of the fields of a log, the default first.
#[pyfunction]
pub(crate) fn log_fields(log: &str) -> PyResult<Vec<&'static str>> {
    lazysketch_text::log_fields(log).ok_or_else(|| raise(FieldError::Layout))
}

/// Return the names of the groups of a regular expression, in their order.
#[pyfunction]
pub(crate) fn pattern_groups(pattern: &str) -> PyResult<Vec<String>> {
    lazysketch_text::pattern_groups(pattern).map_err(raise)
}

fn roles(
    field: &[u8],
    weight: Option<&[u8]>,
    max_weight: i64,
    time: Option<&[u8]>,
    value: Option<&[u8]>,
    user: Option<&[u8]>,
) -> Roles<Vec<u8>> {
    Roles {
        item: field.to_vec(),
        weight: weight.map(|name| (name.to_vec(), max_weight)),
        time: time.map(<[u8]>::to_vec),
        value: value.map(<[u8]>::to_vec),
        user: user.map(<[u8]>::to_vec),
    }
}

pub(crate) fn shown(py: Python<'_>, columns: FieldColumns) -> Columns<'_> {
    let FieldColumns {
        rows,
        weights,
        clipped,
        times,
        values,
        users,
        without_user,
    } = columns;
    (
        TextColumn::new(rows.items),
        PyArray1::from_vec(py, rows.malformed),
        PyArray1::from_vec(py, weights),
        PyArray1::from_vec(py, clipped),
        times.map(TextColumn::new),
        values.map(TextColumn::new),
        users.map(TextColumn::new),
        PyArray1::from_vec(py, without_user),
    )
}

fn raise(error: FieldError) -> PyErr {
    ArgumentValueError::new_err(match error {
        FieldError::Layout => "layout: expected a known one, got another".to_owned(),
        FieldError::Field(role) | FieldError::NotInHeader(role) => {
            format!("{role}: expected a field of the format, got another")
        }
        FieldError::Pattern(reason) => {
            format!("regex: expected a regular expression, got {reason:?}")
        }
        FieldError::NoHeader => "header: expected one before the first row, got none".to_owned(),
    })
}
