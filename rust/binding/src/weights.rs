//! Weights of a batch: arrays, Arrow data and iterables of non-negative integers.

use crate::array_kinds::require_plain;
use crate::arrays::{Integers, Values, as_contiguous, integers_of};
use crate::arrow;
use crate::arrow_import;
use crate::batches::{IterableValues, objects_of, refuse_single_values};
use crate::errors::{ArgumentTypeError, ArgumentValueError, at_table, raise};
use crate::items::{count_of, small_count};
use lazysketch_core::memory;
use numpy::{PyArray1, PyArrayDescrMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};

/// Weights, borrowed where possible, for a sketch without discovery. The core bounds a weight
/// that another thread changes after the check; discovery would not.
pub(crate) enum BatchWeights<'py> {
    /// 1 each.
    Ones,
    /// Borrowed from an array or copied. The core bounds each weight again when it counts it.
    InPlace(Values<'py, u64>),
}

impl BatchWeights<'_> {
    pub(crate) fn as_slice(&self) -> PyResult<Option<&[u64]>> {
        match self {
            Self::Ones => Ok(None),
            Self::InPlace(weights) => weights.as_slice("weights").map(Some),
        }
    }
}

/// Borrow weights where possible, otherwise copy them.
pub(crate) fn weights_in_place<'py>(
    weights: Option<&Bound<'py, PyAny>>,
) -> PyResult<BatchWeights<'py>> {
    let Some(weights) = weights else {
        return Ok(BatchWeights::Ones);
    };
    if let Ok(array) = weights.cast_exact::<PyUntypedArray>() {
        match integers_of(array)? {
            Some(Integers::Unsigned(values)) => return Ok(BatchWeights::InPlace(values)),
            Some(Integers::Signed(signed @ Values::InPlace(_)))
                if signed.as_slice("weights").is_ok_and(all_non_negative) =>
            {
                let view = array.call_method1("view", (numpy::dtype::<u64>(array.py()),))?;
                if let Some(Integers::Unsigned(values)) = integers_of(view.cast()?)? {
                    return Ok(BatchWeights::InPlace(values));
                }
            }
            _ => {}
        }
    }
    let copied = counts_of("weights", weights)?;
    Ok(BatchWeights::InPlace(Values::Copied(copied.into())))
}

/// Return whether no value is negative; no branch per value, so that the loop is vectorised.
fn all_non_negative(values: &[i64]) -> bool {
    values.iter().fold(0, |all, &value| all | value) >= 0
}

/// Copy weights: another thread may write to the array while the interpreter lock is
/// released, and a weight must not change after it was checked.
pub(crate) fn weights_of(weights: Option<&Bound<'_, PyAny>>) -> PyResult<Option<Vec<u64>>> {
    weights
        .map(|weights| counts_of("weights", weights))
        .transpose()
}

/// The weights of one batch at each of some tables: most often the same ones at all.
pub(crate) struct TableWeights {
    /// Different weights; None for weight 1.
    lists: Vec<Option<Vec<u64>>>,
    /// Which of them each table counts.
    of_table: Vec<usize>,
}

impl TableWeights {
    /// The same weights at all of so many tables.
    pub(crate) fn shared(weights: Option<Vec<u64>>, tables: usize) -> Self {
        Self {
            lists: vec![weights],
            of_table: vec![0; tables],
        }
    }

    /// The weights of each table. An object that several tables have is read once: a second time an
    /// iterator would have nothing left.
    pub(crate) fn of_each(weights: &[Option<Bound<'_, PyAny>>]) -> PyResult<Self> {
        let mut first: Vec<Option<&Bound<'_, PyAny>>> = Vec::new();
        let (mut lists, mut of_table) = (Vec::new(), Vec::with_capacity(weights.len()));
        for (at, one) in weights.iter().map(Option::as_ref).enumerate() {
            let of_table_at = |error| match one {
                Some(one) => at_table(one.py(), at, error),
                None => error,
            };
            let is_same = |other: &Option<&Bound<'_, PyAny>>| match (other, one) {
                (Some(other), Some(one)) => other.is(one),
                (other, one) => other.is_none() && one.is_none(),
            };
            of_table.push(match first.iter().position(is_same) {
                Some(known) => known,
                None => {
                    first.push(one);
                    lists.push(weights_of(one).map_err(of_table_at)?);
                    lists.len() - 1
                }
            });
        }
        Ok(Self { lists, of_table })
    }

    /// Those of a table; None for weight 1.
    pub(crate) fn at(&self, table: usize) -> Option<&[u64]> {
        self.lists[self.of_table[table]].as_deref()
    }

    /// The same with explicit weights, which can be set to 0.
    pub(crate) fn explicit(&self, events: usize) -> lazysketch_core::Result<Self> {
        let explicit = |list: &Option<Vec<u64>>| match list {
            Some(weights) => memory::copied(weights).map(Some),
            None => memory::filled(1, events).map(Some),
        };
        let lists = self.lists.iter().map(explicit);
        Ok(Self {
            lists: lists.collect::<lazysketch_core::Result<_>>()?,
            of_table: self.of_table.clone(),
        })
    }

    /// An event is an empty step at all tables.
    pub(crate) fn refuse(&mut self, event: usize) {
        for weights in self.lists.iter_mut().flatten() {
            weights[event] = 0;
        }
    }
}

impl<const TABLES: usize> From<[Option<Vec<u64>>; TABLES]> for TableWeights {
    /// The weights of each table.
    fn from(lists: [Option<Vec<u64>>; TABLES]) -> Self {
        Self {
            lists: lists.into(),
            of_table: (0..TABLES).collect(),
        }
    }
}

/// Return weights as an array of uint64, after which no code of theirs is called any more.
#[pyfunction]
pub(crate) fn plain_weights<'py>(
    weights: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyArray1<u64>>> {
    Ok(PyArray1::from_vec(
        weights.py(),
        counts_of("weights", weights)?,
    ))
}

/// Copy a sequence of non-negative integers.
pub(crate) fn counts_of(name: &'static str, values: &Bound<'_, PyAny>) -> PyResult<Vec<u64>> {
    if let Ok(array) = values.cast_exact::<PyUntypedArray>() {
        return counts_of_array(name, array);
    }
    if let Ok(list) = values.cast_exact::<PyList>() {
        return counts_of_all(name, objects_of(list).map(Ok));
    }
    if let Ok(tuple) = values.cast_exact::<PyTuple>() {
        return counts_of_all(name, tuple.iter().map(Ok));
    }
    refuse_single_values(name, values)?;
    if let Some(chunks) = arrow_import::arrays_of(values, name)? {
        return arrow::convert_counts(&chunks, name);
    }
    if let Ok(array) = values.cast::<PyUntypedArray>() {
        return counts_of_array(name, array);
    }
    counts_of_all(name, IterableValues::of(name, "integers", values)?)
}

fn counts_of_all<'py>(
    name: &str,
    values: impl Iterator<Item = PyResult<Bound<'py, PyAny>>>,
) -> PyResult<Vec<u64>> {
    let mut counts = memory::room_for(values.size_hint().0).map_err(raise)?;
    for (position, value) in values.enumerate() {
        let value = value?;
        let count = match small_count(&value) {
            Some(count) => count,
            None => count_of(&format!("{name} at position {position}"), &value)?,
        };
        memory::push(&mut counts, count).map_err(raise)?;
    }
    Ok(counts)
}

/// Copy, then check the copy: the array may change in between.
fn counts_of_array(name: &'static str, array: &Bound<'_, PyUntypedArray>) -> PyResult<Vec<u64>> {
    match integers_of(array)? {
        Some(Integers::Unsigned(values)) => return values.into_vec(name),
        Some(Integers::Signed(values)) => return non_negative(name, values.into_vec(name)?),
        Some(Integers::Narrow(values)) => {
            let wide = values.as_slice(name)?.iter().map(|&value| value.into());
            let wide = memory::collected(wide).map_err(raise)?;
            return non_negative(name, wide);
        }
        None => require_plain(name, array)?,
    }
    match array.dtype().kind() {
        b'u' => Values::InPlace(as_contiguous::<u64>(array, "uint64")?).into_vec(name),
        b'i' => {
            let values = Values::InPlace(as_contiguous::<i64>(array, "int64")?);
            non_negative(name, values.into_vec(name)?)
        }
        b'O' => counts_of(name, &array.call_method0("tolist")?),
        _ => {
            let message = format!(
                "{name}: expected an array of integers, got dtype {}",
                array.dtype()
            );
            Err(ArgumentTypeError::new_err(message))
        }
    }
}

fn non_negative(name: &str, values: Vec<i64>) -> PyResult<Vec<u64>> {
    if all_non_negative(&values) {
        return Ok(values.into_iter().map(i64::cast_unsigned).collect());
    }
    let position = values.iter().position(|&value| value < 0).unwrap_or(0);
    let message = format!(
        "{name}: expected non-negative integers, got a negative one at position {position}"
    );
    Err(ArgumentValueError::new_err(message))
}
