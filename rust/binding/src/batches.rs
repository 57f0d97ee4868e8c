//! Batches: Arrow data, numpy arrays and iterables become slices for the core. A bad value
//! rejects the batch and names its position, not its content.

use crate::arrow;
use crate::errors::{ArgumentTypeError, ArgumentValueError, type_name};
use crate::items::{Column, Fault, Target, count_of};
use lazysketch_core::batch::Items;
use lazysketch_core::item::Item;
use numpy::{
    PyArray1, PyArrayDescrMethods, PyArrayMethods, PyReadonlyArray1, PyUntypedArray,
    PyUntypedArrayMethods,
};
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyDict, PyString};

/// A batch that is ready for the core.
pub(crate) enum Batch<'py> {
    /// Fingerprints or indices.
    Ready(Vec<u64>),
    /// A numpy array of signed integers, read in place.
    Signed(PyReadonlyArray1<'py, i64>),
    /// A numpy array of unsigned integers, read in place.
    Unsigned(PyReadonlyArray1<'py, u64>),
}

impl Batch<'_> {
    /// The items, as the core takes them.
    pub(crate) fn items(&self) -> PyResult<Items<'_>> {
        let not_contiguous = |_| ArgumentValueError::new_err("items: expected contiguous memory");
        Ok(match self {
            Self::Ready(items) => Items::Ready(items),
            Self::Signed(array) => Items::Signed(array.as_slice().map_err(not_contiguous)?),
            Self::Unsigned(array) => Items::Unsigned(array.as_slice().map_err(not_contiguous)?),
        })
    }
}

/// Any batch of items.
pub(crate) fn batch_of<'py>(
    items: &Bound<'py, PyAny>,
    column: Option<&Column>,
    target: Target<'_>,
) -> PyResult<Batch<'py>> {
    let column = column.map(|column| column.0.as_str());
    refuse_single_values("items", items)?;
    if let Some(chunks) = arrow::chunks_of(items, "items")? {
        return arrow::convert(&chunks, column, target).map(Batch::Ready);
    }
    if let Some(column) = column {
        let message = format!("column: expected none for data without columns, got {column:?}");
        return Err(ArgumentTypeError::new_err(message));
    }
    if let Ok(array) = items.cast::<PyUntypedArray>() {
        return from_numpy(array, target);
    }
    from_iterable(items, target).map(Batch::Ready)
}

pub(crate) fn refuse_single_values(name: &str, items: &Bound<'_, PyAny>) -> PyResult<()> {
    let single = items.is_instance_of::<PyString>()
        || items.is_instance_of::<PyBytes>()
        || items.is_instance_of::<PyByteArray>()
        || items.is_instance_of::<PyDict>();
    if single {
        return Err(ArgumentTypeError::new_err(format!(
            "{name}: expected a list, array or column of values, got {}",
            type_name(items)
        )));
    }
    if type_name(items) == "LazyFrame" {
        return Err(ArgumentTypeError::new_err(format!(
            "{name}: expected data that have been read, got LazyFrame; call .collect() first"
        )));
    }
    Ok(())
}

fn from_iterable(items: &Bound<'_, PyAny>, target: Target<'_>) -> PyResult<Vec<u64>> {
    let iterator = items.try_iter().map_err(|_| {
        let got = type_name(items);
        ArgumentTypeError::new_err(format!("items: expected an iterable of items, got {got}"))
    })?;
    let mut converted = Vec::with_capacity(items.len().unwrap_or(0).min(1 << 24));
    for (position, item) in iterator.enumerate() {
        converted.push(target.object(&item?).map_err(|fault| fault.at(position))?);
    }
    Ok(converted)
}

fn from_numpy<'py>(array: &Bound<'py, PyUntypedArray>, target: Target<'_>) -> PyResult<Batch<'py>> {
    require_plain("items", array)?;
    match array.dtype().kind() {
        b'i' => {
            let array = as_contiguous::<i64>(array, "int64")?;
            match target {
                Target::Fingerprint(_) => Ok(Batch::Signed(array)),
                Target::Index(_) => indices(
                    array
                        .as_array()
                        .iter()
                        .map(|&i| target.item(Item::Signed(i))),
                ),
            }
        }
        b'u' => {
            let array = as_contiguous::<u64>(array, "uint64")?;
            match target {
                Target::Fingerprint(_) => Ok(Batch::Unsigned(array)),
                Target::Index(_) => indices(
                    array
                        .as_array()
                        .iter()
                        .map(|&i| target.item(Item::Unsigned(i))),
                ),
            }
        }
        // Text, bytes and objects: numpy gives Python values, each checked by itself.
        b'U' | b'S' | b'O' | b'T' => {
            let values = array.call_method0("tolist")?;
            from_iterable(&values, target).map(Batch::Ready)
        }
        _ => Err(ArgumentTypeError::new_err(format!(
            "items: expected an array of integers, text or bytes, got dtype {}",
            array.dtype()
        ))),
    }
}

fn indices<'py>(converted: impl Iterator<Item = Result<u64, Fault>>) -> PyResult<Batch<'py>> {
    let checked = converted
        .enumerate()
        .map(|(position, index)| index.map_err(|fault| fault.at(position)));
    checked.collect::<PyResult<Vec<u64>>>().map(Batch::Ready)
}

/// The array in native byte order and one piece of memory; no copy if it already is.
pub(crate) fn as_contiguous<'py, T: numpy::Element>(
    array: &Bound<'py, PyUntypedArray>,
    dtype: &str,
) -> PyResult<PyReadonlyArray1<'py, T>> {
    let numpy = PyModule::import(array.py(), "numpy")?;
    let array = numpy.call_method1("ascontiguousarray", (array, dtype))?;
    Ok(array.cast_into::<PyArray1<T>>()?.readonly())
}

/// One dimension and no mask: a masked value is a missing one.
pub(crate) fn require_plain(name: &str, array: &Bound<'_, PyUntypedArray>) -> PyResult<()> {
    if array.hasattr("mask")? {
        let message = format!("{name}: expected an array without a mask, got a masked array");
        return Err(ArgumentTypeError::new_err(message));
    }
    if array.ndim() == 1 {
        return Ok(());
    }
    let message = format!("{name}: expected one dimension, got {}", array.ndim());
    Err(ArgumentValueError::new_err(message))
}

/// Weights, copied: another thread may write to the array while the interpreter lock is
/// released, and a weight must not change after it was checked.
pub(crate) fn weights_of(weights: Option<&Bound<'_, PyAny>>) -> PyResult<Option<Vec<u64>>> {
    weights
        .map(|weights| counts_of("weights", weights))
        .transpose()
}

/// A sequence of non-negative integers, copied.
pub(crate) fn counts_of(name: &str, values: &Bound<'_, PyAny>) -> PyResult<Vec<u64>> {
    refuse_single_values(name, values)?;
    if let Some(chunks) = arrow::chunks_of(values, name)? {
        return arrow::convert_counts(&chunks, name);
    }
    if let Ok(array) = values.cast::<PyUntypedArray>() {
        require_plain(name, array)?;
        match array.dtype().kind() {
            b'u' => return Ok(as_contiguous::<u64>(array, "uint64")?.as_array().to_vec()),
            b'i' => {
                let array = as_contiguous::<i64>(array, "int64")?;
                return non_negative(name, array.as_array().iter().copied());
            }
            b'O' => {}
            _ => {
                let message = format!(
                    "{name}: expected an array of integers, got dtype {}",
                    array.dtype()
                );
                return Err(ArgumentTypeError::new_err(message));
            }
        }
    }
    let iterator = values.try_iter().map_err(|_| {
        let got = type_name(values);
        ArgumentTypeError::new_err(format!(
            "{name}: expected an iterable of integers, got {got}"
        ))
    })?;
    let at = |position, value: PyResult<Bound<'_, PyAny>>| {
        count_of(&format!("{name} at position {position}"), &value?)
    };
    iterator
        .enumerate()
        .map(|(position, value)| at(position, value))
        .collect()
}

pub(crate) fn non_negative(name: &str, values: impl Iterator<Item = i64>) -> PyResult<Vec<u64>> {
    let check = |(position, value)| {
        u64::try_from(value).map_err(|_| {
            ArgumentValueError::new_err(format!(
                "{name}: expected non-negative integers, got a negative one at position {position}"
            ))
        })
    };
    values.enumerate().map(check).collect()
}
