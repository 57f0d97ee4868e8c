//! Batches: Arrow data, numpy arrays and iterables become slices for the core. A bad value
//! rejects the batch and names its position, not its content.

use crate::arrow;
use crate::columns::HashedColumns;
use crate::errors::{ArgumentTypeError, ArgumentValueError, type_name};
use crate::items::{Column, Fault, Target, count_of};
use lazysketch_core::batch::Items;
use lazysketch_core::item::Item;
use numpy::{
    PyArray1, PyArrayDescrMethods, PyArrayMethods, PyReadonlyArray1, PyUntypedArray,
    PyUntypedArrayMethods,
};
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyDict, PyList, PyString};

/// A batch that is ready for the core.
pub(crate) enum Batch<'py> {
    /// Fingerprints or indices.
    Ready(Vec<u64>),
    /// A numpy array of signed integers, read in place.
    Signed(PyReadonlyArray1<'py, i64>),
    /// A numpy array of unsigned integers, read in place.
    Unsigned(PyReadonlyArray1<'py, u64>),
    /// A numpy array of 32-bit signed integers, read in place.
    Narrow(PyReadonlyArray1<'py, i32>),
    /// Columns of Arrow data, hashed while they are counted.
    Columns(HashedColumns),
}

impl Batch<'_> {
    /// The items, as the core takes them.
    pub(crate) fn items(&self) -> PyResult<Items<'_>> {
        let not_contiguous = |_| ArgumentValueError::new_err("items: expected contiguous memory");
        Ok(match self {
            Self::Ready(items) => Items::Ready(items),
            Self::Signed(array) => Items::Signed(array.as_slice().map_err(not_contiguous)?),
            Self::Unsigned(array) => Items::Unsigned(array.as_slice().map_err(not_contiguous)?),
            Self::Narrow(array) => Items::Narrow(array.as_slice().map_err(not_contiguous)?),
            Self::Columns(columns) => Items::columns(columns),
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
    if let (None, Target::Fingerprint(_)) = (column, target)
        && let Some(batch) = in_place(items)
    {
        return Ok(batch);
    }
    refuse_single_values("items", items)?;
    if let Some(chunks) = arrow::chunks_of(items, "items")? {
        return match target {
            Target::Fingerprint(fingerprinter) => {
                HashedColumns::new(&chunks, column, fingerprinter).map(Batch::Columns)
            }
            Target::Index(_) => arrow::convert(&chunks, column, target).map(Batch::Ready),
        };
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

/// An array that needs no conversion, found by a few comparisons: what follows costs a short batch
/// more than counting it.
fn in_place<'py>(items: &Bound<'py, PyAny>) -> Option<Batch<'py>> {
    // A subclass may have a mask.
    if !items.is_exact_instance_of::<PyUntypedArray>() {
        return None;
    }
    if let Some(array) = plain::<i64>(items) {
        return Some(Batch::Signed(array));
    }
    if let Some(array) = plain::<i32>(items) {
        return Some(Batch::Narrow(array));
    }
    plain::<u64>(items).map(Batch::Unsigned)
}

/// The array, if it has this type, one dimension, and its values side by side where the type
/// wants them.
fn plain<'py, T: numpy::Element>(items: &Bound<'py, PyAny>) -> Option<PyReadonlyArray1<'py, T>> {
    let array = items.cast::<PyArray1<T>>().ok()?;
    let plain = array.is_c_contiguous() && array.data().is_aligned();
    plain.then(|| array.readonly())
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
    if !items.is_exact_instance_of::<PyList>() && type_name(items) == "LazyFrame" {
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
    let array = array.cast_into::<PyArray1<T>>()?;
    if array.data().is_aligned() {
        return Ok(array.readonly());
    }
    // Cut out of other memory at an odd address.
    let copy = array.call_method0("copy")?;
    Ok(copy.cast_into::<PyArray1<T>>()?.readonly())
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

/// Up to so many events a batch is counted under the interpreter lock: to give the lock away and
/// take it again costs more.
pub(crate) const SHORT_BATCH: usize = 256;

/// Weights of a batch.
pub(crate) enum BatchWeights<'py> {
    /// 1 each.
    Ones,
    /// A numpy array, read in place. The core bounds each weight again where it counts it.
    InPlace(PyReadonlyArray1<'py, u64>),
    Copied(Vec<u64>),
}

impl BatchWeights<'_> {
    pub(crate) fn as_slice(&self) -> PyResult<Option<&[u64]>> {
        let not_contiguous = |_| ArgumentValueError::new_err("weights: expected contiguous memory");
        match self {
            Self::Ones => Ok(None),
            Self::InPlace(weights) => weights.as_slice().map(Some).map_err(not_contiguous),
            Self::Copied(weights) => Ok(Some(weights)),
        }
    }
}

/// Weights that need no copy, or else one: for a sketch alone, which takes a weight that was
/// changed since the check for the largest at most. (Discovery would not.)
pub(crate) fn weights_in_place<'py>(
    weights: Option<&Bound<'py, PyAny>>,
) -> PyResult<BatchWeights<'py>> {
    let Some(weights) = weights else {
        return Ok(BatchWeights::Ones);
    };
    if weights.is_exact_instance_of::<PyUntypedArray>() {
        if let Some(array) = plain::<u64>(weights) {
            return Ok(BatchWeights::InPlace(array));
        }
        if let Some(signed) = plain::<i64>(weights)
            && signed.as_slice().is_ok_and(all_non_negative)
        {
            let unsigned = weights.call_method1("view", ("uint64",))?;
            if let Some(array) = plain::<u64>(&unsigned) {
                return Ok(BatchWeights::InPlace(array));
            }
        }
    }
    counts_of("weights", weights).map(BatchWeights::Copied)
}

/// Without a branch per value, so that many are compared at a time.
fn all_non_negative(values: &[i64]) -> bool {
    values.iter().fold(0, |all, &value| all | value) >= 0
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
                if let Ok(values) = array.as_slice() {
                    let copied: Vec<u64> = values.iter().map(|&v| v.cast_unsigned()).collect();
                    // The copy is checked: what it was made of may change.
                    if copied.iter().fold(0, |all, &value| all | value) <= i64::MAX as u64 {
                        return Ok(copied);
                    }
                }
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
