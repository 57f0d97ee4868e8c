//! A column of text in Python: what the readers of text return, and sketches count.

use crate::errors::{ArgumentTypeError, type_name};
use arrow_array::ffi::to_ffi;
use arrow_buffer::Buffer;
use arrow_data::{ArrayData, ArrayDataBuilder};
use arrow_schema::DataType;
use lazysketch_text::Texts;
use numpy::PyArray1;
use pyo3::exceptions::{PyIndexError, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyList, PySlice, PyString};

/// Texts in Arrow's layout: 64-bit offsets and UTF-8 data.
#[pyclass(frozen, sequence, module = "lazysketch._native")]
pub(crate) struct TextColumn {
    data: ArrayData,
}

type Parts<'py> = (Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<u8>>);

impl TextColumn {
    pub(crate) fn new(texts: Texts) -> Self {
        Self::of(texts.offsets, texts.data)
    }

    /// Text i is `data[offsets[i] .. offsets[i + 1]]`, as the readers of text and packets return it.
    pub(crate) fn of(offsets: Vec<i64>, data: Vec<u8>) -> Self {
        let builder = ArrayDataBuilder::new(DataType::LargeUtf8)
            .len(offsets.len() - 1)
            .add_buffer(Buffer::from_vec(offsets))
            .add_buffer(Buffer::from_vec(data));
        // SAFETY: offsets begin at 0, never decrease and end within the data, as both readers
        // promise. Who imports the array checks that the data are UTF-8.
        #[allow(unsafe_code)]
        let data = unsafe { builder.build_unchecked() };
        Self { data }
    }

    /// The ends of the texts, one more than there are, and the bytes of which they are offsets.
    fn offsets(&self) -> &[i64] {
        &self.data.buffers()[0].typed_data::<i64>()[self.data.offset()..][..=self.data.len()]
    }

    fn bytes(&self) -> &[u8] {
        self.data.buffers()[1].as_slice()
    }

    /// The bytes of each text.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let bytes = self.bytes();
        let ends = self.offsets().windows(2);
        ends.map(move |ends| &bytes[ends[0] as usize..ends[1] as usize])
    }

    fn text<'py>(&self, py: Python<'py>, ends: &[i64]) -> Bound<'py, PyString> {
        let text = &self.bytes()[ends[0] as usize..ends[1] as usize];
        PyString::new(py, &String::from_utf8_lossy(text)) // as both readers promise, UTF-8
    }
}

#[pymethods]
impl TextColumn {
    fn __len__(&self) -> usize {
        self.data.len()
    }

    /// Return one text, or a column of consecutive ones on the same memory.
    fn __getitem__<'py>(
        &self,
        py: Python<'py>,
        index: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let rows = self.data.len();
        if let Ok(slice) = index.cast::<PySlice>() {
            let range = slice.indices(rows as isize)?;
            if range.step != 1 {
                return Err(ArgumentTypeError::new_err(
                    "index: expected a slice of consecutive texts, got one with steps",
                ));
            }
            let data = self.data.slice(range.start as usize, range.slicelength);
            return Ok(Bound::new(py, Self { data })?.into_any());
        }
        let Ok(position) = index.extract::<isize>() else {
            return Err(ArgumentTypeError::new_err(format!(
                "index: expected an integer or a slice, got {}",
                type_name(index)
            )));
        };
        let from_end = if position < 0 { rows as isize } else { 0 };
        let position = position.checked_add(from_end).map(usize::try_from);
        match position {
            Some(Ok(position)) if position < rows => {
                let ends = &self.offsets()[position..position + 2];
                Ok(self.text(py, ends).into_any())
            }
            _ => Err(PyIndexError::new_err(
                "index: expected one within the column, got one outside",
            )),
        }
    }

    /// Number of bytes of the longest text; 0 without texts.
    #[getter]
    fn longest(&self) -> i64 {
        let lengths = self.offsets().windows(2).map(|ends| ends[1] - ends[0]);
        lengths.max().unwrap_or(0)
    }

    /// Return the texts as a list.
    fn tolist<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        PyList::new(
            py,
            self.offsets().windows(2).map(|ends| self.text(py, ends)),
        )
    }

    /// Return the ends of the texts, one more than there are, and the bytes that they are ends in.
    fn parts<'py>(&self, py: Python<'py>) -> Parts<'py> {
        let offsets = self.offsets();
        let (first, last) = (offsets[0], offsets[offsets.len() - 1]);
        let ends = offsets.iter().map(|end| end - first).collect();
        let bytes = &self.bytes()[first as usize..last as usize];
        (
            PyArray1::from_vec(py, ends),
            PyArray1::from_slice(py, bytes),
        )
    }

    /// Export the column through the Arrow PyCapsule interface.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)> {
        let _ = requested_schema; // a producer may ignore it
        let (array, schema) = to_ffi(&self.data)
            .map_err(|_| PyRuntimeError::new_err("the column has a type of Arrow"))?;
        let schema = PyCapsule::new_with_value(py, schema, c"arrow_schema")?;
        let array = PyCapsule::new_with_value(py, array, c"arrow_array")?;
        Ok((schema, array))
    }
}
