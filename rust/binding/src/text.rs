//! Rows of text: bytes to columns, without the interpreter lock.

use crate::errors::ArgumentValueError;
use crate::text_column::TextColumn;
use lazysketch_text::{Field, ParsedNumbers, ParsedRows, RowsOfPeople, Wanted};
use numpy::{Element, PyArray1};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

type Numbers<'py, Number = i64> = Bound<'py, PyArray1<Number>>;

/// Return the lines of a block of complete rows as items, and the positions of empty lines.
#[pyfunction]
pub(crate) fn line_items<'py>(py: Python<'py>, block: &[u8]) -> (TextColumn, Numbers<'py>) {
    columns(py, py.detach(|| lazysketch_text::lines(block)))
}

/// Return a field of each row of an access log, and the positions of rows without it.
#[pyfunction]
#[pyo3(signature = (block, *, field))]
pub(crate) fn access_log_items<'py>(
    py: Python<'py>,
    block: &[u8],
    field: &str,
) -> PyResult<(TextColumn, Numbers<'py>)> {
    let field = named("field", field)?;
    let rows = py.detach(|| lazysketch_text::access_log(block, field));
    Ok(columns(py, rows))
}

/// Items, people, positions of malformed rows, and of those among them that lack only a person.
type People<'py> = (TextColumn, TextColumn, Numbers<'py>, Numbers<'py>);

/// Return a field of each row of an access log with the field of its person, in one pass.
#[pyfunction]
#[pyo3(signature = (block, *, field, user))]
pub(crate) fn access_log_people<'py>(
    py: Python<'py>,
    block: &[u8],
    field: &str,
    user: &str,
) -> PyResult<People<'py>> {
    let (field, user) = (named("field", field)?, named("user", user)?);
    let found = py.detach(|| lazysketch_text::access_log_of_people(block, field, user));
    let RowsOfPeople {
        rows,
        users,
        without_user,
    } = found;
    Ok((
        TextColumn::new(rows.items),
        TextColumn::new(users),
        numbers(py, rows.malformed),
        numbers(py, without_user),
    ))
}

fn named(argument: &str, field: &str) -> PyResult<Field> {
    Field::named(field).ok_or_else(|| {
        let names = Field::NAMES.map(|(name, _)| name).join(", ");
        ArgumentValueError::new_err(format!(
            "{argument}: expected one of {names}, got {field:?}"
        ))
    })
}

/// Return the text of each row's time in an access log, empty where it has no time.
#[pyfunction]
pub(crate) fn access_log_times<'py>(py: Python<'py>, block: &[u8]) -> TextColumn {
    TextColumn::new(py.detach(|| lazysketch_text::access_log_times(block)))
}

/// Columns of JSON lines: kinds, text items, integer items, weights, positions of clipped weights,
/// times, numbers, people, and the rows that Python has to decode.
type Fields<'py> = (
    Numbers<'py, u8>,
    TextColumn,
    Numbers<'py, u64>,
    Numbers<'py>,
    Numbers<'py>,
    Option<TextColumn>,
    Option<TextColumn>,
    Option<TextColumn>,
    TextColumn,
);

/// Return fields of each object of a block of JSON lines. Field names are bytes, because a Python
/// str need not be valid UTF-8.
#[pyfunction]
#[pyo3(signature = (block, *, field, item_type, weight, max_weight, time, value=None, user=None))]
#[expect(
    clippy::too_many_arguments,
    reason = "of a function of Python, by name"
)]
pub(crate) fn json_rows<'py>(
    py: Python<'py>,
    block: &[u8],
    field: &[u8],
    item_type: Option<&str>,
    weight: Option<&[u8]>,
    max_weight: i64,
    time: Option<&[u8]>,
    value: Option<&[u8]>,
    user: Option<&[u8]>,
) -> Fields<'py> {
    let mut wanted = match item_type {
        Some("str") => Wanted::new(field).text_only(),
        Some("int") => Wanted::new(field).integers_only(),
        Some("float") => Wanted::new(field).numbers_as_written(),
        _ => Wanted::new(field),
    };
    if let Some(weight) = weight {
        wanted = wanted.weight(weight, max_weight);
    }
    if let Some(time) = time {
        wanted = wanted.time(time);
    }
    if let Some(value) = value {
        wanted = wanted.value(value);
    }
    if let Some(user) = user {
        wanted = wanted.user(user);
    }
    let objects = py.detach(|| lazysketch_text::json_rows(block, &wanted));
    (
        numbers(py, objects.kinds),
        TextColumn::new(objects.texts),
        numbers(py, objects.integers),
        numbers(py, objects.weights),
        numbers(py, objects.clipped),
        objects.times.map(TextColumn::new),
        objects.values.map(TextColumn::new),
        objects.users.map(TextColumn::new),
        TextColumn::new(objects.undecoded),
    )
}

/// Return the elements of the one JSON array in a body as rows, each ended by a line feed; None if it
/// is no array.
#[pyfunction]
pub(crate) fn json_elements<'py>(py: Python<'py>, body: &[u8]) -> Option<Bound<'py, PyBytes>> {
    let rows = py.detach(|| lazysketch_text::json_elements(body))?;
    Some(PyBytes::new(py, &rows))
}

/// Return the numbers of texts, and the positions of the texts that are none.
#[pyfunction]
#[pyo3(signature = (texts, /))]
pub(crate) fn numbers_of_texts<'py>(
    py: Python<'py>,
    texts: &Bound<'py, PyAny>,
) -> PyResult<(Numbers<'py, f64>, Numbers<'py>)> {
    let found = if let Ok(column) = texts.cast::<TextColumn>() {
        let column = column.get();
        py.detach(|| ParsedNumbers::of(column.iter()))
    } else {
        let listed: Vec<String> = texts.extract()?;
        ParsedNumbers::of(listed.iter().map(String::as_bytes))
    };
    Ok((numbers(py, found.numbers), numbers(py, found.others)))
}

fn columns(py: Python<'_>, rows: ParsedRows) -> (TextColumn, Numbers<'_>) {
    (TextColumn::new(rows.items), numbers(py, rows.malformed))
}

fn numbers<T: Element>(py: Python<'_>, values: Vec<T>) -> Numbers<'_, T> {
    PyArray1::from_vec(py, values)
}
