//! The batches of a store, made from any items.

use crate::batches::batch_of;
use crate::errors::raise;
use crate::event_batch::Events;
use crate::items::{Column, Target};
use crate::logged_events::LoggedEvents;
use crate::owned_items::OwnedItems;
use lazysketch_core::table::hash::Fingerprinter;
use lazysketch_core::table::item_list::ItemList;
use pyo3::prelude::*;

/// Convert any batch of items to a value of its own, which is counted and logged.
#[pyfunction]
#[pyo3(signature = (items, *, column=None), text_signature = "(items, *, column=None)")]
pub(crate) fn logged_events(
    items: &Bound<'_, PyAny>,
    column: Option<Column>,
) -> PyResult<LoggedEvents> {
    let batch = Events::of(items, column.as_ref())?;
    if let Events::Owned(OwnedItems::Copied(items)) = batch {
        return Ok(LoggedEvents::of(items));
    }
    let borrowed = batch.borrowed()?;
    let items = ItemList::copied(borrowed.items()).map_err(raise)?;
    Ok(LoggedEvents::of(items))
}

/// Convert any batch to what one table counts: integers are kept, other items become their
/// fingerprints.
pub(crate) fn logged_for_table<'py>(
    items: &Bound<'py, PyAny>,
    target: Target<'_>,
    fingerprinter: &Fingerprinter,
    column: Option<&Column>,
) -> PyResult<Bound<'py, LoggedEvents>> {
    // Counters count indices, and a log has integers.
    if let Ok(events) = items.cast_exact::<LoggedEvents>()
        && !matches!(target, Target::Index(_))
    {
        return Ok(events.clone());
    }
    let batch = batch_of(items, column, target)?;
    let hashed = ItemList::hashed(batch.items()?, fingerprinter);
    Bound::new(items.py(), LoggedEvents::of(hashed.map_err(raise)?))
}
