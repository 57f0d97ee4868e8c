//! Batches of items that are kept as they are, for names.

use crate::arrays::Integers;
use crate::batches::plain_integers;
use crate::items::Column;
use crate::owned_items::{BorrowedItems, OwnedItems, owned_items_of};
use pyo3::prelude::*;

/// The items of a batch. Plain integers are recognised first, without any Python call.
pub(crate) enum Events<'py> {
    Integers(Integers<'py>),
    Owned(OwnedItems<'py>),
}

impl<'py> Events<'py> {
    pub(crate) fn of(items: &Bound<'py, PyAny>, column: Option<&Column>) -> PyResult<Self> {
        if column.is_none()
            && let Some(integers) = plain_integers(items)?
        {
            return Ok(Self::Integers(integers));
        }
        owned_items_of(items, column).map(Self::Owned)
    }

    /// Return the items in the core's form.
    pub(crate) fn borrowed(&self) -> PyResult<BorrowedItems<'_>> {
        match self {
            Self::Integers(integers) => integers.items().map(BorrowedItems::InPlace),
            Self::Owned(batch) => batch.borrowed(),
        }
    }
}
