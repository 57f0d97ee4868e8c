//! The people of a batch of a store: converted once to identities, which are counted and logged.

use crate::errors::{ArgumentTypeError, ArgumentValueError, raise};
use lazysketch_core::memory;
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PySlice};

const IDENTITY: usize = 16;

/// The secret identity of the person of each event, and nothing else of the person.
#[pyclass(frozen, module = "lazysketch._native")]
pub(crate) struct LoggedPeople {
    identities: Vec<u128>,
}

impl LoggedPeople {
    pub(crate) fn of(identities: Vec<u128>) -> Self {
        Self { identities }
    }

    pub(crate) fn identities(&self) -> &[u128] {
        &self.identities
    }

    /// Append the bytes of the identities, for which there is room.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        for identity in &self.identities {
            out.extend_from_slice(&identity.to_le_bytes());
        }
    }

    /// Number of those bytes.
    pub(crate) fn written_size(&self) -> usize {
        IDENTITY * self.identities.len()
    }

    fn selected(&self, positions: impl ExactSizeIterator<Item = usize>) -> PyResult<Self> {
        let mut chosen = memory::room_for(positions.len()).map_err(raise)?;
        for position in positions {
            chosen.push(*self.identities.get(position).ok_or_else(|| {
                let message = "positions: expected those of the batch, got one after its end";
                ArgumentValueError::new_err(message)
            })?);
        }
        Ok(Self::of(chosen))
    }
}

#[pymethods]
impl LoggedPeople {
    /// Read the bytes that another object wrote to a log.
    #[staticmethod]
    fn from_bytes(data: &Bound<'_, PyBytes>) -> PyResult<Self> {
        let (identities, rest) = data.as_bytes().as_chunks::<IDENTITY>();
        if !rest.is_empty() {
            let message = "data: expected the bytes of identities, got others";
            return Err(ArgumentTypeError::new_err(message));
        }
        let identities = identities.iter().map(|bytes| u128::from_le_bytes(*bytes));
        let identities = memory::collected(identities).map_err(raise)?;
        Ok(Self::of(identities))
    }

    /// Return the people of several batches, one after the other.
    #[staticmethod]
    fn joined(batches: Vec<Bound<'_, Self>>) -> PyResult<Self> {
        let all = batches.iter().map(|batch| batch.get().identities.len());
        let mut joined = memory::room_for(all.sum()).map_err(raise)?;
        for batch in &batches {
            joined.extend_from_slice(batch.get().identities());
        }
        Ok(Self::of(joined))
    }

    /// Number of bytes in a log.
    #[getter]
    fn size(&self) -> usize {
        self.written_size()
    }

    /// Return the people of a part of the batch.
    fn __getitem__(&self, part: &Bound<'_, PySlice>) -> PyResult<Self> {
        let part = part.indices(self.identities.len().cast_signed())?;
        let first = part.start.cast_unsigned();
        if part.step != 1 {
            let message = "people: expected a slice of step 1, got another";
            return Err(ArgumentTypeError::new_err(message));
        }
        self.selected(first..first + part.slicelength)
    }

    /// Return the people at some positions.
    fn take(&self, positions: PyReadonlyArray1<'_, i64>) -> PyResult<Self> {
        let positions = positions.as_array();
        let within = |&at: &i64| usize::try_from(at).unwrap_or(usize::MAX);
        self.selected(positions.iter().map(within))
    }

    fn __len__(&self) -> usize {
        self.identities.len()
    }
}
