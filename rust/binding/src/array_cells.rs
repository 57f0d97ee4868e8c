//! Addresses of the elements of one-dimensional numpy arrays, in any stride, and arrays of Python
//! objects, which are read without a list of them.
#![allow(unsafe_code)]

use numpy::npyffi::_PyArray_GET_ITEM_DATA;
use numpy::{PyArrayDescr, PyArrayDescrMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::intern;
use pyo3::prelude::*;

/// Where the elements of a one-dimensional array are.
pub(crate) struct Cells {
    first: *const u8,
    stride: isize,
    length: usize,
}

impl Cells {
    /// The elements as they are now; `None` for an array of other dimensions.
    pub(crate) fn of(array: &Bound<'_, PyUntypedArray>) -> Option<Self> {
        let (&[length], &[stride]) = (array.shape(), array.strides()) else {
            return None;
        };
        // SAFETY: an array of numpy, and the interpreter is attached.
        let first = unsafe { (*_PyArray_GET_ITEM_DATA(array.as_array_ptr())).data };
        Some(Self {
            first: first.cast::<u8>().cast_const(),
            stride,
            length,
        })
    }

    pub(crate) fn len(&self) -> usize {
        self.length
    }

    /// Whether all elements are at multiples of this.
    pub(crate) fn are_aligned(&self, to: usize) -> bool {
        self.first.addr().is_multiple_of(to) && self.stride.unsigned_abs().is_multiple_of(to)
    }

    /// The address of an element; to be read while the array is as it was at [`Self::of`].
    pub(crate) fn at(&self, position: usize) -> *const u8 {
        debug_assert!(position < self.length);
        self.first
            .wrapping_offset(position.cast_signed().wrapping_mul(self.stride))
    }
}

/// Iterate over the objects of a one-dimensional array of the type `O`. Python code may change the
/// array meanwhile: positions that are no longer there are skipped.
pub(crate) fn objects_of_array<'py>(
    array: &Bound<'py, PyUntypedArray>,
) -> impl Iterator<Item = Bound<'py, PyAny>> {
    (0..array.len()).map_while(move |position| {
        let cells = Cells::of(array).filter(|cells| position < cells.len())?;
        let cell = cells.at(position).cast::<*mut pyo3::ffi::PyObject>();
        // SAFETY: the position is one of the array's, whose elements are pointers to objects that
        // it owns. No Python code runs between the look at the array and the new reference. A null
        // pointer stands for None, and the array may be part of another one, unaligned.
        let object = unsafe { Bound::from_borrowed_ptr_or_opt(array.py(), cell.read_unaligned()) };
        Some(object.unwrap_or_else(|| array.py().None().into_bound(array.py())))
    })
}

/// Return the array of a pandas Series of Python objects, which Arrow would have to convert to
/// values of one type first; `None` for everything else.
pub(crate) fn objects_of_pandas<'py>(
    items: &Bound<'py, PyAny>,
) -> PyResult<Option<Bound<'py, PyUntypedArray>>> {
    let py = items.py();
    let kind = items.get_type();
    if !(kind.name()? == "Series" && kind.module()?.to_string().starts_with("pandas")) {
        return Ok(None);
    }
    let dtype = items.getattr(intern!(py, "dtype"))?;
    if !dtype
        .cast_into::<PyArrayDescr>()
        .is_ok_and(|dtype| dtype.kind() == b'O')
    {
        return Ok(None);
    }
    let array = items.call_method0(intern!(py, "to_numpy"))?;
    Ok(array.cast_into::<PyUntypedArray>().ok())
}
