//! Parts of a record of a store: bytes, and batches that are written where they are sealed.

use crate::logged_events::LoggedEvents;
use crate::logged_people::LoggedPeople;
use lazysketch_core::Error;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// What a record consists of: bytes, and batches that are written where they are sealed.
#[derive(FromPyObject)]
pub(crate) enum RecordPart<'py> {
    Bytes(Bound<'py, PyBytes>),
    Events(Bound<'py, LoggedEvents>),
    People(Bound<'py, LoggedPeople>),
}

/// A part that any thread can read.
pub(crate) enum LoggedPart<'a> {
    Bytes(&'a [u8]),
    Events(&'a LoggedEvents),
    People(&'a LoggedPeople),
}

impl RecordPart<'_> {
    pub(crate) fn content(&self) -> LoggedPart<'_> {
        match self {
            Self::Bytes(bytes) => LoggedPart::Bytes(bytes.as_bytes()),
            Self::Events(events) => LoggedPart::Events(events.get()),
            Self::People(people) => LoggedPart::People(people.get()),
        }
    }
}

impl LoggedPart<'_> {
    pub(crate) fn size(&self) -> usize {
        match self {
            Self::Bytes(bytes) => bytes.len(),
            Self::Events(events) => events.written_size(),
            Self::People(people) => people.written_size(),
        }
    }

    pub(crate) fn write(&self, out: &mut Vec<u8>) -> Result<(), Error> {
        match self {
            Self::Bytes(bytes) => {
                out.extend_from_slice(bytes);
                Ok(())
            }
            Self::Events(events) => events.write(out),
            Self::People(people) => {
                people.write(out);
                Ok(())
            }
        }
    }
}
