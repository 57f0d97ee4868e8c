//! Batches that keep their items, for discovery, which publishes names instead of fingerprints.
//!
//! Text and bytes are borrowed from Arrow memory, and numpy integers are read in place. Items of
//! other Python objects are copied, because the objects may be freed before the batch is counted.

use crate::array_cells::{objects_of_array, objects_of_pandas};
use crate::array_kinds::ItemArray;
use crate::arrays::Values;
use crate::arrow::{self, Chunk};
use crate::arrow_import;
use crate::arrow_items;
use crate::batches::{IterableValues, objects_of, refuse_single_values};
use crate::columns::HashedColumns;
use crate::errors::raise;
use crate::fixed_width_text::FixedWidthText;
use crate::items::{Column, Fault, no_item, with_item};
use crate::level_names::LevelNames;
use crate::logged_events::LoggedEvents;
use crate::packed_text::collected_of_packed_text;
use lazysketch_core::Error;
use lazysketch_core::item::Item;
use lazysketch_core::table::item_list::ItemList;
use lazysketch_core::table::items::Items;
use numpy::{PyUntypedArray, PyUntypedArrayMethods};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};

/// A batch that keeps its items alive.
pub(crate) enum OwnedItems<'py> {
    /// Columns of text, bytes or integers, read in place.
    Columns(HashedColumns),
    /// Columns of other types, whose values are collected first.
    Odd(Vec<Chunk>),
    /// A numpy array of signed integers.
    Signed(Values<'py, i64>),
    /// A numpy array of unsigned integers.
    Unsigned(Values<'py, u64>),
    /// Copies.
    Copied(ItemList),
    /// A batch of a store, which is logged as it is counted.
    Logged(Bound<'py, LoggedEvents>),
}

/// Items in the core's form, borrowed from a batch.
pub(crate) enum BorrowedItems<'a> {
    InPlace(Items<'a>),
    Collected(Vec<Item<'a>>),
}

impl BorrowedItems<'_> {
    pub(crate) fn items(&self) -> Items<'_> {
        match self {
            Self::InPlace(items) => *items,
            Self::Collected(items) => Items::Mixed(items),
        }
    }
}

impl OwnedItems<'_> {
    /// Return the items in the core's form.
    pub(crate) fn borrowed(&self) -> PyResult<BorrowedItems<'_>> {
        Ok(match self {
            Self::Columns(columns) => BorrowedItems::InPlace(Items::columns(columns)),
            Self::Odd(columns) => BorrowedItems::Collected(arrow_items::map_items(
                "items",
                columns,
                &Ok::<Item<'_>, Fault>,
            )?),
            Self::Signed(array) => BorrowedItems::InPlace(Items::Signed(array.as_slice("items")?)),
            Self::Unsigned(array) => {
                BorrowedItems::InPlace(Items::Unsigned(array.as_slice("items")?))
            }
            Self::Copied(copies) => BorrowedItems::InPlace(copies.items()),
            Self::Logged(events) => BorrowedItems::InPlace(events.get().items()),
        })
    }
}

/// Convert any batch of items.
pub(crate) fn owned_items_of<'py>(
    items: &Bound<'py, PyAny>,
    column: Option<&Column>,
) -> PyResult<OwnedItems<'py>> {
    let column = column.map(|column| column.0.as_str());
    // Recognised by their exact type: a failed attribute lookup costs more than counting a short
    // batch.
    if column.is_none() {
        if let Ok(array) = items.cast_exact::<PyUntypedArray>() {
            return from_numpy(array);
        }
        if let Ok(list) = items.cast_exact::<PyList>() {
            return copies_of(list).map(OwnedItems::Copied);
        }
        if let Ok(tuple) = items.cast_exact::<PyTuple>() {
            return copied(tuple.len(), tuple.iter().map(Ok)).map(OwnedItems::Copied);
        }
    }
    if let Ok(events) = items.cast_exact::<LoggedEvents>() {
        events.get().check_items()?;
        return Ok(OwnedItems::Logged(events.clone()));
    }
    if let Ok(names) = items.cast_exact::<LevelNames>() {
        return names.get().columns().map(OwnedItems::Columns);
    }
    refuse_single_values("items", items)?;
    if column.is_none()
        && let Some(array) = objects_of_pandas(items)?
    {
        return from_numpy(&array);
    }
    if let Some(chunks) = arrow_import::arrays_of(items, "items")? {
        let columns = arrow::columns(&chunks, column, "items")?;
        let plain = HashedColumns::in_place(&columns)?;
        return Ok(plain.map_or(OwnedItems::Odd(columns), OwnedItems::Columns));
    }
    if let Some(column) = column {
        return Err(arrow::no_columns(column));
    }
    if let Ok(array) = items.cast::<PyUntypedArray>() {
        return from_numpy(array);
    }
    copied_of_any(items)
}

fn from_numpy<'py>(array: &Bound<'py, PyUntypedArray>) -> PyResult<OwnedItems<'py>> {
    match ItemArray::of(array)? {
        ItemArray::Signed(values) => Ok(OwnedItems::Signed(values)),
        ItemArray::Unsigned(values) => Ok(OwnedItems::Unsigned(values)),
        ItemArray::Objects => {
            let objects = objects_of_array(array).map(Ok);
            copied(array.len(), objects).map(OwnedItems::Copied)
        }
        ItemArray::FixedWidth(texts) => copies_of_texts(&texts).map(OwnedItems::Copied),
        ItemArray::Text => {
            let room = ItemList::with_room(array.len()).map_err(raise)?;
            match collected_of_packed_text(array, room, pushed)? {
                Some(copies) => Ok(OwnedItems::Copied(copies)),
                None => copied_of_any(&array.call_method0(intern!(array.py(), "tolist"))?),
            }
        }
    }
}

fn copied_of_any(items: &Bound<'_, PyAny>) -> PyResult<OwnedItems<'static>> {
    let values = IterableValues::of("items", "items", items)?;
    copied(values.size_hint().0, values).map(OwnedItems::Copied)
}

/// Copy the items of a list.
pub(crate) fn copies_of(items: &Bound<'_, PyList>) -> PyResult<ItemList> {
    copied(items.len(), objects_of(items).map(Ok))
}

fn copies_of_texts(texts: &FixedWidthText<'_>) -> PyResult<ItemList> {
    let mut copies = ItemList::with_room(texts.len()?).map_err(raise)?;
    texts.for_each(&no_item, |item| pushed(&mut copies, item))?;
    Ok(copies)
}

#[inline]
fn pushed(copies: &mut ItemList, item: Item<'_>) -> Result<(), Fault> {
    match copies.push(item) {
        Err(error @ Error::Memory { .. }) => Err(Fault::memory(&error)),
        Err(error) => Err(Fault::too_large(error.to_string())),
        Ok(()) => Ok(()),
    }
}

/// Copy the items of an iterator; `expected` is their likely number.
fn copied<'py>(
    expected: usize,
    objects: impl Iterator<Item = PyResult<Bound<'py, PyAny>>>,
) -> PyResult<ItemList> {
    let mut copies = ItemList::with_room(expected).map_err(raise)?;
    let mut push = |item: Item<'_>| pushed(&mut copies, item);
    for (position, object) in objects.enumerate() {
        with_item(&object?, &no_item, &mut push).map_err(|fault| fault.at(position))?;
    }
    Ok(copies)
}
