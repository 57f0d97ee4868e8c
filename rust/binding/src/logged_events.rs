//! Batches of a store: converted once, then counted and logged as one value.

use crate::errors::{ArgumentTypeError, raise};
use crate::items::{Target, object_of};
use lazysketch_core::table::item_list::ItemList;
use lazysketch_core::table::items::Items;
use lazysketch_core::{Error, memory};
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PySlice};

/// The items of a batch, which no other code can change any more.
#[pyclass(frozen, module = "lazysketch._native")]
pub(crate) struct LoggedEvents {
    items: ItemList,
    /// Its bytes in a log.
    size: usize,
}

impl LoggedEvents {
    pub(crate) fn of(items: ItemList) -> Self {
        let size = items.written_size();
        Self { items, size }
    }

    /// Append the bytes of the batch.
    pub(crate) fn write(&self, out: &mut Vec<u8>) -> Result<(), Error> {
        self.items.write(out)
    }

    /// Number of those bytes.
    pub(crate) fn written_size(&self) -> usize {
        self.size
    }

    /// Return the items in the core's form.
    pub(crate) fn items(&self) -> Items<'_> {
        self.items.items()
    }

    /// Raise unless the items themselves are here.
    pub(crate) fn check_items(&self) -> PyResult<()> {
        if self.items.has_items() {
            return Ok(());
        }
        let message = "items: expected a batch with its items, got fingerprints of a sketch";
        Err(ArgumentTypeError::new_err(message))
    }

    fn selected(&self, positions: impl Iterator<Item = usize>) -> PyResult<Self> {
        self.items.selected(positions).map(Self::of).map_err(raise)
    }

    /// Return the items as indices of counters.
    pub(crate) fn indices(&self, target: Target<'_>) -> PyResult<Vec<u64>> {
        self.check_items()?;
        let mut indices = memory::room_for(self.items.len()).map_err(raise)?;
        let items = (0..self.items.len()).map_while(|at| self.items.item(at));
        for (position, item) in items.enumerate() {
            indices.push(target.item(item).map_err(|fault| fault.at(position))?);
        }
        Ok(indices)
    }
}

#[pymethods]
impl LoggedEvents {
    /// Read the bytes that another object returned.
    #[staticmethod]
    fn from_bytes(data: &Bound<'_, PyBytes>) -> PyResult<Self> {
        let (items, rest) = ItemList::read(data.as_bytes()).map_err(raise)?;
        if rest.is_empty() {
            return Ok(Self::of(items));
        }
        let message = "data: expected the bytes of one batch, got more";
        Err(ArgumentTypeError::new_err(message))
    }

    /// Number of bytes of the batch in a log.
    #[getter]
    fn size(&self) -> usize {
        self.size
    }

    /// Return the items as Python values.
    fn tolist<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        self.check_items()?;
        let items = (0..self.items.len()).map_while(|at| self.items.item(at));
        items.map(|item| object_of(py, item)).collect()
    }

    /// Return a part of the batch, as a batch.
    fn __getitem__(&self, part: &Bound<'_, PySlice>) -> PyResult<Self> {
        let part = part.indices(self.items.len().cast_signed())?;
        let first = part.start.cast_unsigned();
        if part.step != 1 {
            let message = "events: expected a slice of step 1, got another";
            return Err(ArgumentTypeError::new_err(message));
        }
        self.selected(first..first + part.slicelength)
    }

    /// Return the items at some positions, as a batch.
    fn take(&self, positions: PyReadonlyArray1<'_, i64>) -> PyResult<Self> {
        let positions = positions.as_array();
        let within = |&at: &i64| usize::try_from(at).unwrap_or(usize::MAX);
        self.selected(positions.iter().map(within))
    }

    fn __len__(&self) -> usize {
        self.items.len()
    }
}
