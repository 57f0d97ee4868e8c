//! Numeric values and their bins, and the trees over bins for calibration and reads in Python.

use crate::array_kinds::require_plain;
use crate::arrays::{Values, as_contiguous};
use crate::arrow;
use crate::arrow_import;
use crate::batches::{IterableValues, objects_of, refuse_single_values};
use crate::errors::{ArgumentTypeError, ArgumentValueError, raise, type_name};
use lazysketch_core::mechanism::value_tree::{ValueRows, ValueTree};
use lazysketch_core::memory;
use lazysketch_core::table::bins::bins_of;
use numpy::{
    PyArray1, PyArrayDescrMethods, PyReadonlyArray1, PyUntypedArray, PyUntypedArrayMethods,
};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyList, PyTuple};

const NAME: &str = "values";

pub(crate) fn value_rows_of(name: &str) -> PyResult<ValueRows> {
    let known = ValueRows::ALL.into_iter().find(|rows| rows.name() == name);
    known.ok_or_else(|| {
        let message = "value_rows: expected 'tree' or 'haar', got another";
        ArgumentValueError::new_err(message)
    })
}

fn tree_of(rows: &str, bins: u32) -> PyResult<&'static ValueTree> {
    ValueTree::of(value_rows_of(rows)?, bins).map_err(raise)
}

/// Return the bin of every value as an index of a counter; NaN and nulls raise.
#[pyfunction]
pub(crate) fn bins_of_values<'py>(
    py: Python<'py>,
    values: &Bound<'py, PyAny>,
    edges: PyReadonlyArray1<'py, f64>,
) -> PyResult<Bound<'py, PyArray1<u64>>> {
    let values = numbers_of(values)?;
    let edges = memory::collected(edges.as_slice()?.iter().copied()).map_err(raise)?;
    let bins = py.detach(|| bins_of(&values, &edges)).map_err(raise)?;
    Ok(PyArray1::from_vec(py, bins))
}

/// Return the bin of every value for a worker, which has the edges of its description.
pub(crate) fn bins_of_worker(
    py: Python<'_>,
    values: &Bound<'_, PyAny>,
    edges: &[f64],
) -> PyResult<Vec<u64>> {
    let values = numbers_of(values)?;
    py.detach(|| bins_of(&values, edges)).map_err(raise)
}

/// Return the squared sensitivity of the node sums of a tree, and how many an event changes; with
/// `replaced` where an event takes the place of another.
#[pyfunction]
#[pyo3(signature = (*, rows, bins, replaced))]
pub(crate) fn value_tree_facts(rows: &str, bins: u32, replaced: bool) -> PyResult<(u64, u64)> {
    let tree = tree_of(rows, bins)?;
    let (alone, nodes) = (tree.sensitivity2(), tree.nodes_per_value());
    Ok(if replaced {
        (tree.replaced2(), 2 * nodes)
    } else {
        (alone, nodes)
    })
}

/// Return the rows of a tree, depth by depth, for independent checks.
#[pyfunction]
#[pyo3(signature = (*, rows, bins))]
pub(crate) fn value_tree_rows<'py>(
    py: Python<'py>,
    rows: &str,
    bins: u32,
) -> PyResult<Bound<'py, PyArray1<i16>>> {
    Ok(PyArray1::from_slice(py, tree_of(rows, bins)?.entries()))
}

/// Return the sums of the first 1, 2, .. bins that released node sums give.
#[pyfunction]
#[pyo3(signature = (sums, *, rows))]
pub(crate) fn value_prefixes<'py>(
    py: Python<'py>,
    sums: PyReadonlyArray1<'py, i64>,
    rows: &str,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let sums = sums.as_slice()?;
    let tree = tree_of(rows, u32::try_from(sums.len()).unwrap_or(u32::MAX))?;
    Ok(PyArray1::from_vec(py, tree.prefixes(sums)))
}

/// Return the variances of the sums of bins from each `low` up to below each `high`, in units of the
/// variance of a node sum.
#[pyfunction]
#[pyo3(signature = (*, rows, bins, lows, highs))]
pub(crate) fn value_variances<'py>(
    py: Python<'py>,
    rows: &str,
    bins: u32,
    lows: PyReadonlyArray1<'py, i64>,
    highs: PyReadonlyArray1<'py, i64>,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let tree = tree_of(rows, bins)?;
    let (lows, highs) = (lows.as_slice()?, highs.as_slice()?);
    let outside = |&end: &i64| !(0..=i64::from(bins)).contains(&end);
    if lows.len() != highs.len() || lows.iter().chain(highs).any(outside) {
        let message = format!("bins: expected pairs of numbers from 0 to {bins}, got others");
        return Err(ArgumentValueError::new_err(message));
    }
    let ends = lows.iter().zip(highs);
    let variances =
        memory::collected(ends.map(|(&low, &high)| tree.variance(low as u32, high as u32)));
    Ok(PyArray1::from_vec(py, variances.map_err(raise)?))
}

/// Copy a sequence of numbers.
fn numbers_of(values: &Bound<'_, PyAny>) -> PyResult<Vec<f64>> {
    if let Ok(array) = values.cast_exact::<PyUntypedArray>() {
        return numbers_of_array(array);
    }
    if let Ok(list) = values.cast_exact::<PyList>() {
        return numbers_of_all(objects_of(list).map(Ok));
    }
    if let Ok(tuple) = values.cast_exact::<PyTuple>() {
        return numbers_of_all(tuple.iter().map(Ok));
    }
    refuse_single_values(NAME, values)?;
    if let Some(chunks) = arrow_import::arrays_of(values, NAME)? {
        return arrow::convert_numbers(&chunks, NAME);
    }
    if let Ok(array) = values.cast::<PyUntypedArray>() {
        return numbers_of_array(array);
    }
    numbers_of_all(IterableValues::of(NAME, "numbers", values)?)
}

fn numbers_of_all<'py>(
    values: impl Iterator<Item = PyResult<Bound<'py, PyAny>>>,
) -> PyResult<Vec<f64>> {
    let mut numbers = memory::room_for(values.size_hint().0).map_err(raise)?;
    for (position, value) in values.enumerate() {
        memory::push(&mut numbers, number_of(&value?, position)?).map_err(raise)?;
    }
    Ok(numbers)
}

/// Return a float, an integer or a scalar of NumPy; its own code may be called.
fn number_of(value: &Bound<'_, PyAny>, position: usize) -> PyResult<f64> {
    if let Ok(float) = value.cast_exact::<PyFloat>() {
        return Ok(float.value());
    }
    let wrong = || {
        let got = type_name(value);
        let message = format!("values: expected numbers, got {got} at position {position}");
        ArgumentTypeError::new_err(message)
    };
    if value.is_instance_of::<PyBool>() || type_name(value) == "bool" || value.is_none() {
        return Err(wrong());
    }
    let is_number = value.hasattr("__float__")? || value.hasattr("__index__")?;
    if !is_number || value.hasattr("tzinfo")? {
        return Err(wrong());
    }
    value.extract::<f64>().map_err(|error| {
        let py = value.py();
        if error.is_instance_of::<pyo3::exceptions::PyOverflowError>(py) {
            let message = format!(
                "values: expected numbers within the range of a float, got a larger one at \
                 position {position}"
            );
            ArgumentValueError::new_err(message)
        } else if error.is_instance_of::<pyo3::exceptions::PyTypeError>(py)
            || error.is_instance_of::<pyo3::exceptions::PyValueError>(py)
        {
            wrong()
        } else {
            error
        }
    })
}

/// Copy an array, which may change in between.
fn numbers_of_array(array: &Bound<'_, PyUntypedArray>) -> PyResult<Vec<f64>> {
    require_plain(NAME, array)?;
    match array.dtype().kind() {
        b'f' | b'u' | b'i' => {
            Values::InPlace(as_contiguous::<f64>(array, "float64")?).into_vec(NAME)
        }
        b'O' => numbers_of(&array.call_method0("tolist")?),
        _ => {
            let message = format!(
                "values: expected an array of numbers, got dtype {}",
                array.dtype()
            );
            Err(ArgumentTypeError::new_err(message))
        }
    }
}
