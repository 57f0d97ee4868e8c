//! Names of items at the levels of a hierarchy, as columns of Arrow data.
//!
//! Items that are repeated have their names once, in a dictionary.

use crate::arrow::Chunk;
use crate::columns::HashedColumns;
use crate::errors::{ArgumentValueError, ItemError, raise};
use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{Array, ArrayRef, DictionaryArray, Int32Array, StringArray};
use arrow_buffer::{Buffer, OffsetBuffer, ScalarBuffer};
use lazysketch_core::{Error, memory};
use lazysketch_text::{SplitError, TextNames};
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString};
use std::sync::Arc;

/// The names of a batch at one level.
#[pyclass(frozen, module = "lazysketch._native")]
pub(crate) struct LevelNames {
    names: ArrayRef,
}

impl LevelNames {
    /// Texts and, if they are repeated, the number of the text of each item.
    pub(crate) fn of(texts: TextNames, rows: Option<ScalarBuffer<i32>>) -> PyResult<Self> {
        let offsets = OffsetBuffer::new(ScalarBuffer::from(texts.offsets));
        let texts = StringArray::try_new(offsets, Buffer::from_vec(texts.data), None);
        let names: ArrayRef = Arc::new(
            texts.map_err(|_| ItemError::new_err("items: expected names of UTF-8, got others"))?,
        );
        let Some(rows) = rows else {
            return Ok(Self { names });
        };
        let rows = Int32Array::new(rows, None);
        let repeated = DictionaryArray::<Int32Type>::try_new(rows, names);
        let repeated = repeated.map_err(|_| {
            ArgumentValueError::new_err("rows: expected numbers of names, got another")
        })?;
        Ok(Self {
            names: Arc::new(repeated),
        })
    }

    /// Return the names in the core's form.
    pub(crate) fn columns(&self) -> PyResult<HashedColumns> {
        let chunk = Chunk {
            array: self.names.clone(),
            is_uuid: false,
        };
        let columns = HashedColumns::in_place(&[chunk])?;
        Ok(columns.expect("texts can be read in place"))
    }
}

#[pymethods]
impl LevelNames {
    /// Return the names as Python values.
    fn tolist<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let texts = |names: &dyn Array| {
            let names = names.as_string::<i32>();
            let each = (0..names.len()).map(|at| PyString::new(py, names.value(at)));
            PyList::new(py, each.collect::<Vec<_>>())
        };
        let Some(repeated) = self.names.as_dictionary_opt::<Int32Type>() else {
            return texts(&self.names);
        };
        let names = texts(repeated.values())?;
        let rows = repeated.keys().values().iter();
        let each = rows.map(|&row| names.get_item(row as usize));
        PyList::new(py, each.collect::<PyResult<Vec<_>>>()?)
    }

    fn __len__(&self) -> usize {
        self.names.len()
    }
}

/// Return names of which each item has one, by its number; `None` unless all are texts.
#[pyfunction]
#[pyo3(signature = (names, rows), text_signature = "(names, rows)")]
pub(crate) fn repeated_names(
    names: &Bound<'_, PyList>,
    rows: PyReadonlyArray1<'_, i32>,
) -> PyResult<Option<LevelNames>> {
    let mut texts = TextNames::default();
    for name in names {
        let Ok(name) = name.cast_exact::<PyString>() else {
            return Ok(None);
        };
        let Ok(name) = name.to_str() else {
            return Ok(None);
        };
        let pushed = texts.try_push(name.as_bytes());
        pushed.map_err(|error| split_failed(&error, 0))?;
    }
    let rows = memory::copied(rows.as_slice()?).map_err(raise)?;
    LevelNames::of(texts, Some(ScalarBuffer::from(rows))).map(Some)
}

/// Return the exception for the item at a position.
pub(crate) fn split_failed(error: &SplitError, at: usize) -> PyErr {
    match error {
        SplitError::Misfit => ItemError::new_err(format!(
            "items: expected items that fit the levels, got another at position {at}; nothing was \
             applied"
        )),
        SplitError::Memory(bytes) => raise(Error::Memory { bytes: *bytes }),
    }
}
