//! Numpy arrays of integers, and of units of text, that are read without calling numpy. They are
//! recognised by a few comparisons: one call to numpy costs more than counting a short batch.
#![allow(unsafe_code)]

use crate::errors::{ArgumentValueError, raise};
use lazysketch_core::memory;
use lazysketch_core::table::items::Items;
use numpy::npyffi::_PyArray_GET_ITEM_DATA;
use numpy::{
    Element, PyArray1, PyArrayDescrMethods, PyArrayMethods, PyUntypedArray, PyUntypedArrayMethods,
};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use std::marker::PhantomData;
use std::slice;
use zeroize::{Zeroize, Zeroizing};

/// Contiguous values.
pub(crate) enum Values<'py, T: Element + Zeroize> {
    /// Borrowed from the array.
    InPlace(InPlace<'py, T>),
    /// Copies, which are erased when they are freed.
    Copied(Zeroizing<Vec<T>>),
}

/// A contiguous and aligned array of which the values are read in place.
pub(crate) struct InPlace<'py, T: Element> {
    array: Bound<'py, PyUntypedArray>,
    length: usize,
    values: PhantomData<T>,
}

impl<'py, T: Element> InPlace<'py, T> {
    /// `None` for an array that is not contiguous or not aligned.
    pub(crate) fn of(array: &Bound<'py, PyArray1<T>>) -> Option<Self> {
        Self::plain(array.as_untyped())
    }

    fn plain(array: &Bound<'py, PyUntypedArray>) -> Option<Self> {
        let is_plain = array.is_c_contiguous() && array.is_aligned();
        is_plain.then(|| Self {
            array: array.clone(),
            length: values_in::<T>(array),
            values: PhantomData,
        })
    }

    /// Return the values. To be called when all arguments are converted: Python code that runs
    /// later may resize the array. Code that ran before may have done it, so it is checked again.
    pub(crate) fn as_slice(&self, name: &str) -> PyResult<&[T]> {
        let array = &self.array;
        let is_plain = array.is_c_contiguous() && array.is_aligned();
        if values_in::<T>(array) != self.length || !is_plain {
            return Err(ArgumentValueError::new_err(format!(
                "{name}: expected an array that stays as it is during the call, got one that was \
                 changed"
            )));
        }
        if self.length == 0 {
            return Ok(&[]);
        }
        // SAFETY: contiguous, aligned, of this many bytes, and alive while `self` is; the array has
        // the type T, or its values are units of it, of which all bits are values. No Python code
        // of this thread runs while the slice is in use. Another thread that writes to the values
        // changes what is counted; one that resizes the array with refcheck=False breaks NumPy's
        // contract.
        Ok(unsafe {
            let data = (*_PyArray_GET_ITEM_DATA(array.as_array_ptr())).data;
            slice::from_raw_parts(data.cast::<T>().cast_const(), self.length)
        })
    }
}

impl<'py, T: Unit> InPlace<'py, T> {
    /// The units of the values of an array of text or bytes of one width, one after the other.
    /// `None` for another type, for foreign byte order, and for what [`Self::of`] refuses.
    pub(crate) fn of_units(array: &Bound<'py, PyUntypedArray>) -> Option<Self> {
        let dtype = array.dtype();
        let is_native = dtype.is_native_byteorder().unwrap_or(true); // bytes have no order
        if dtype.kind() == T::KIND && is_native {
            return Self::plain(array);
        }
        None
    }
}

/// Number of values of the type T that an array's bytes are.
fn values_in<T>(array: &Bound<'_, PyUntypedArray>) -> usize {
    let bytes = array.len().saturating_mul(array.dtype().itemsize());
    bytes / size_of::<T>()
}

/// A part of a text or of bytes in arrays of one width.
pub(crate) trait Unit: Element + Zeroize {
    /// The kind of such an array.
    const KIND: u8;
    /// The type of one unit.
    const NAME: &'static str;
}

impl Unit for u32 {
    const KIND: u8 = b'U';
    const NAME: &'static str = "uint32";
}

impl Unit for u8 {
    const KIND: u8 = b'S';
    const NAME: &'static str = "uint8";
}

impl<T: Element + Zeroize> Values<'_, T> {
    pub(crate) fn as_slice(&self, name: &str) -> PyResult<&[T]> {
        match self {
            Self::InPlace(array) => array.as_slice(name),
            Self::Copied(values) => Ok(values),
        }
    }

    pub(crate) fn into_vec(self, name: &str) -> PyResult<Vec<T>>
    where
        T: Copy,
    {
        match self {
            Self::InPlace(_) => memory::copied(self.as_slice(name)?).map_err(raise),
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
pub(crate) fn integers_of<'py>(
    array: &Bound<'py, PyUntypedArray>,
) -> PyResult<Option<Integers<'py>>> {
    // A subclass may have a mask.
    if !array.is_exact_instance_of::<PyUntypedArray>() {
        return Ok(None);
    }
    let dtype = array.dtype();
    Ok(match (dtype.kind(), dtype.itemsize()) {
        (b'i', 8) => values(array).map(Integers::Signed),
        (b'i', 4) => values(array).map(Integers::Narrow),
        (b'u', 8) => values(array).map(Integers::Unsigned),
        (b'i', 2) => widened::<i16>(array)?.map(Integers::Signed),
        (b'i', 1) => widened::<i8>(array)?.map(Integers::Signed),
        (b'u', 4) => widened::<u32>(array)?.map(Integers::Signed),
        (b'u', 2) => widened::<u16>(array)?.map(Integers::Signed),
        (b'u', 1) => widened::<u8>(array)?.map(Integers::Signed),
        _ => None,
    })
}

/// Return the values, if they have exactly this type and are contiguous and aligned.
fn values<'py, T: Element + Zeroize + Copy>(
    array: &Bound<'py, PyUntypedArray>,
) -> Option<Values<'py, T>> {
    let in_place = InPlace::of(array.cast::<PyArray1<T>>().ok()?)?;
    if in_place.length <= FEW {
        let copied = in_place.as_slice("items").ok()?.to_vec();
        return Some(Values::Copied(copied.into()));
    }
    Some(Values::InPlace(in_place))
}

fn widened<'py, T: Element + Zeroize + Copy + Into<i64>>(
    array: &Bound<'py, PyUntypedArray>,
) -> PyResult<Option<Values<'py, i64>>> {
    let Some(narrow) = values::<T>(array) else {
        return Ok(None);
    };
    let wide = narrow.as_slice("items")?.iter().map(|&value| value.into());
    let wide = memory::collected(wide).map_err(raise)?;
    Ok(Some(Values::Copied(wide.into())))
}

/// Return a new array. Copying few values costs less than an object that owns their memory.
pub(crate) fn array_of(py: Python<'_>, values: Vec<f64>) -> Bound<'_, PyArray1<f64>> {
    if values.len() <= FEW {
        return PyArray1::from_slice(py, &values);
    }
    PyArray1::from_vec(py, values)
}

/// Return the array in native byte order and contiguous; no copy if it already is.
pub(crate) fn as_contiguous<'py, T: numpy::Element>(
    array: &Bound<'py, PyUntypedArray>,
    dtype: &str,
) -> PyResult<InPlace<'py, T>> {
    static AS_CONTIGUOUS: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let as_contiguous = AS_CONTIGUOUS.import(array.py(), "numpy", "ascontiguousarray")?;
    let array = as_contiguous.call1((array, dtype))?;
    let array = array.cast_into::<PyArray1<T>>()?;
    if let Some(in_place) = InPlace::of(&array) {
        return Ok(in_place);
    }
    // A slice of other memory may start at an unaligned address.
    let copy = array.call_method0("copy")?.cast_into::<PyArray1<T>>()?;
    InPlace::of(&copy).ok_or_else(|| {
        ArgumentValueError::new_err(
            "items: expected an array whose copy is contiguous, got another",
        )
    })
}
