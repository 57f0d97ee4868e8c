//! Numpy arrays of integers that are read without calling numpy. They are recognised by a few
//! comparisons: one call to numpy costs more than counting a short batch.

use crate::errors::ArgumentValueError;
use lazysketch_core::table::items::Items;
use numpy::{
    Element, PyArray1, PyArrayDescrMethods, PyArrayMethods, PyReadonlyArray1, PyUntypedArray,
    PyUntypedArrayMethods,
};
use pyo3::prelude::*;
use zeroize::{Zeroize, Zeroizing};

/// Contiguous values.
pub(crate) enum Values<'py, T: Element + Zeroize> {
    /// Borrowed from the array.
    InPlace(PyReadonlyArray1<'py, T>),
    /// Copies, which are erased when they are freed.
    Copied(Zeroizing<Vec<T>>),
}

impl<T: Element + Zeroize> Values<'_, T> {
    pub(crate) fn as_slice(&self, name: &str) -> PyResult<&[T]> {
        let not_contiguous = |_| {
            let message = format!("{name}: expected contiguous memory");
            ArgumentValueError::new_err(message)
        };
        match self {
            Self::InPlace(array) => array.as_slice().map_err(not_contiguous),
            Self::Copied(values) => Ok(values),
        }
    }

    pub(crate) fn into_vec(self, name: &str) -> PyResult<Vec<T>>
    where
        T: Copy,
    {
        match self {
            Self::InPlace(_) => self.as_slice(name).map(<[T]>::to_vec),
            Self::Copied(mut values) => Ok(std::mem::take(&mut *values)),
        }
    }
}

/// Integers of the types that the core reads.
pub(crate) enum Integers<'py> {
    Signed(Values<'py, i64>),
    Unsigned(Values<'py, u64>),
    Narrow(Values<'py, i32>),
}

impl Integers<'_> {
    /// Return the integers in the core's form.
    pub(crate) fn items(&self) -> PyResult<Items<'_>> {
        Ok(match self {
            Self::Signed(values) => Items::Signed(values.as_slice("items")?),
            Self::Unsigned(values) => Items::Unsigned(values.as_slice("items")?),
            Self::Narrow(values) => Items::Narrow(values.as_slice("items")?),
        })
    }
}

/// Up to this number of values, copying costs less than borrowing (an entry in a table of borrows).
const FEW: usize = 256;

/// Return the integers of a one-dimensional, contiguous array in native byte order; `None` for
/// other arrays. Types that the core does not read are widened.
pub(crate) fn integers_of<'py>(array: &Bound<'py, PyUntypedArray>) -> Option<Integers<'py>> {
    // A subclass may have a mask.
    if !array.is_exact_instance_of::<PyUntypedArray>() {
        return None;
    }
    let dtype = array.dtype();
    Some(match (dtype.kind(), dtype.itemsize()) {
        (b'i', 8) => Integers::Signed(values(array)?),
        (b'i', 4) => Integers::Narrow(values(array)?),
        (b'u', 8) => Integers::Unsigned(values(array)?),
        (b'i', 2) => Integers::Signed(widened::<i16>(array)?),
        (b'i', 1) => Integers::Signed(widened::<i8>(array)?),
        (b'u', 4) => Integers::Signed(widened::<u32>(array)?),
        (b'u', 2) => Integers::Signed(widened::<u16>(array)?),
        (b'u', 1) => Integers::Signed(widened::<u8>(array)?),
        _ => return None,
    })
}

/// Return the values, if they have exactly this type and are contiguous and aligned.
fn values<'py, T: Element + Zeroize>(array: &Bound<'py, PyUntypedArray>) -> Option<Values<'py, T>> {
    let array = array.cast::<PyArray1<T>>().ok()?;
    if !array.is_c_contiguous() || !array.is_aligned() {
        return None;
    }
    if array.len() <= FEW {
        let copied = array.to_vec().ok()?;
        return Some(Values::Copied(copied.into()));
    }
    Some(Values::InPlace(array.readonly()))
}

fn widened<'py, T: Element + Zeroize + Copy + Into<i64>>(
    array: &Bound<'py, PyUntypedArray>,
) -> Option<Values<'py, i64>> {
    let narrow = values::<T>(array)?;
    let wide = narrow
        .as_slice("items")
        .ok()?
        .iter()
        .map(|&value| value.into());
    Some(Values::Copied(wide.collect::<Vec<_>>().into()))
}

/// Return a new array. Copying few values costs less than an object that owns their memory.
pub(crate) fn array_of(py: Python<'_>, values: Vec<f64>) -> Bound<'_, PyArray1<f64>> {
    if values.len() <= FEW {
        return PyArray1::from_slice(py, &values);
    }
    PyArray1::from_vec(py, values)
}
