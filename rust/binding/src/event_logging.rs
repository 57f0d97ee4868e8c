//! The batches of a store, made from any items.

use crate::errors::raise;
use crate::heavy_sketch::Events;
use crate::items::Column;
use crate::logged_events::LoggedEvents;
use crate::owned_items::OwnedItems;
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
        return Ok(LoggedEvents::of(ItemList::Mixed(items)));
    }
    let borrowed = batch.borrowed()?;
    let items = ItemList::copied(borrowed.items()).map_err(raise)?;
    Ok(LoggedEvents::of(items))
}
