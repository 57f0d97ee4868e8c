//! The kinds of numpy arrays that may hold items, told apart for every reader of batches.

use crate::arrays::{Values, as_contiguous};
use crate::errors::{ArgumentTypeError, ArgumentValueError};
use crate::fixed_width_text::FixedWidthText;
use numpy::{PyArrayDescrMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::prelude::*;

/// A one-dimensional array without a mask, by the way its items are read.
pub(crate) enum ItemArray<'py> {
    Signed(Values<'py, i64>),
    Unsigned(Values<'py, u64>),
    Objects,
    FixedWidth(FixedWidthText<'py>),
    /// Text of any length, or text that is not read in place.
    Text,
}

impl<'py> ItemArray<'py> {
    pub(crate) fn of(array: &Bound<'py, PyUntypedArray>) -> PyResult<Self> {
        require_plain("items", array)?;
        Ok(match array.dtype().kind() {
            b'i' => Self::Signed(Values::InPlace(as_contiguous(array, "int64")?)),
            b'u' => Self::Unsigned(Values::InPlace(as_contiguous(array, "uint64")?)),
            b'O' => Self::Objects,
            b'U' | b'S' | b'T' => FixedWidthText::of(array)?.map_or(Self::Text, Self::FixedWidth),
            _ => {
                return Err(ArgumentTypeError::new_err(format!(
                    "items: expected an array of integers, text, bytes or objects, got dtype {}",
                    array.dtype()
                )));
            }
        })
    }
}

/// Require one dimension and no mask: a masked value is missing.
pub(crate) fn require_plain(name: &str, array: &Bound<'_, PyUntypedArray>) -> PyResult<()> {
    // Only a subclass can have a mask.
    if !array.is_exact_instance_of::<PyUntypedArray>() && array.hasattr("mask")? {
        let message = format!("{name}: expected an array without a mask, got a masked array");
        return Err(ArgumentTypeError::new_err(message));
    }
    if array.ndim() == 1 {
        return Ok(());
    }
    let message = format!("{name}: expected one dimension, got {}", array.ndim());
    Err(ArgumentValueError::new_err(message))
}
