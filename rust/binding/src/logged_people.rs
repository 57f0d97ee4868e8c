//! The people of a batch of a store: converted once to identities, which are counted and logged.

use crate::errors::{ArgumentTypeError, raise};
use lazysketch_core::memory;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

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

    /// Number of bytes in a log.
    #[getter]
    fn size(&self) -> usize {
        self.written_size()
    }

    fn __len__(&self) -> usize {
        self.identities.len()
    }
}
