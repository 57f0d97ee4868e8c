//! Batches that keep their items, for discovery, which publishes names instead of fingerprints.
//!
//! Text and bytes are borrowed from Arrow memory, and numpy integers are read in place. Items of
//! other Python objects are copied, because the objects may be freed before the batch is counted.

use crate::arrays::Values;
use crate::arrow::{self, Chunk};
use crate::arrow_import;
use crate::arrow_items;
use crate::batches::{
    IterableValues, as_contiguous, objects_of, refuse_single_values, require_plain,
};
use crate::columns::HashedColumns;
use crate::errors::{ArgumentTypeError, raise};
use crate::items::{Column, Fault, no_item, with_item};
use lazysketch_core::item::Item;
use lazysketch_core::table::items::Items;
use lazysketch_core::{Error, memory};
use numpy::{PyArrayDescrMethods, PyUntypedArray, PyUntypedArrayMethods};
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
    Copied(Copies),
}

/// Most bytes of text, bytes and large integers that are copied for one batch. A short list can hold
/// the same long text any number of times.
const MOST_BYTES: usize = 1 << 31;

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

/// Concatenated items.
#[derive(Default)]
pub(crate) struct Copies {
    text: String,
    bytes: Vec<u8>,
    entries: Vec<Entry>,
}

/// A number, or the end of a text or of bytes among the others.
enum Entry {
    Text(usize),
    Bytes(usize),
    Wide(usize),
    Uuid(usize),
    Signed(i64),
    Unsigned(u64),
    Instant(i64),
    Date(i32),
}

impl Copies {
    /// The items of a list.
    pub(crate) fn of(items: &Bound<'_, PyList>) -> PyResult<Self> {
        copied(objects_of(items).map(Ok))
    }

    fn push(&mut self, item: Item<'_>) -> Result<(), Fault> {
        let (is_text, bytes) = match item {
            Item::Text(text) => (true, text.len()),
            Item::Bytes(bytes) | Item::Wide(bytes) => (false, bytes.len()),
            Item::Uuid(bytes) => (false, bytes.len()),
            _ => (false, 0),
        };
        if self.text.len() + self.bytes.len() + bytes > MOST_BYTES {
            let message =
                format!("items: expected at most {MOST_BYTES} bytes in a batch, got more");
            return Err(Fault::too_large(message));
        }
        let reserved = match is_text {
            true => self.text.try_reserve(bytes),
            false => self.bytes.try_reserve(bytes),
        };
        reserved.map_err(|_| Fault::memory(&Error::Memory { bytes }))?;
        let entry = match item {
            Item::Text(text) => {
                self.text.push_str(text);
                Entry::Text(self.text.len())
            }
            Item::Bytes(bytes) => {
                self.bytes.extend(bytes);
                Entry::Bytes(self.bytes.len())
            }
            Item::Wide(bytes) => {
                self.bytes.extend(bytes);
                Entry::Wide(self.bytes.len())
            }
            Item::Signed(integer) => Entry::Signed(integer),
            Item::Unsigned(integer) => Entry::Unsigned(integer),
            Item::Instant(microseconds) => Entry::Instant(microseconds),
            Item::Date(days) => Entry::Date(days),
            Item::Uuid(bytes) => {
                self.bytes.extend(bytes);
                Entry::Uuid(self.bytes.len())
            }
        };
        memory::push(&mut self.entries, entry).map_err(|error| Fault::memory(&error))
    }

    pub(crate) fn items(&self) -> PyResult<Vec<Item<'_>>> {
        let (mut text_start, mut start) = (0, 0);
        let mut bytes = |end: usize| &self.bytes[std::mem::replace(&mut start, end)..end];
        let item = |entry: &Entry| match *entry {
            Entry::Text(end) => {
                Item::Text(&self.text[std::mem::replace(&mut text_start, end)..end])
            }
            Entry::Bytes(end) => Item::Bytes(bytes(end)),
            Entry::Wide(end) => Item::Wide(bytes(end)),
            Entry::Signed(integer) => Item::Signed(integer),
            Entry::Unsigned(integer) => Item::Unsigned(integer),
            Entry::Instant(microseconds) => Item::Instant(microseconds),
            Entry::Date(days) => Item::Date(days),
            Entry::Uuid(end) => Item::Uuid(bytes(end).try_into().expect("16 bytes were pushed")),
        };
        memory::collected(self.entries.iter().map(item)).map_err(raise)
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
            Self::Copied(copies) => BorrowedItems::Collected(copies.items()?),
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
        if let Ok(list) = items.cast_exact::<PyList>() {
            return Copies::of(list).map(OwnedItems::Copied);
        }
        if let Ok(tuple) = items.cast_exact::<PyTuple>() {
            return copied(tuple.iter().map(Ok)).map(OwnedItems::Copied);
        }
    }
    refuse_single_values("items", items)?;
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
    require_plain("items", array)?;
    match array.dtype().kind() {
        b'i' => {
            let values = as_contiguous(array, "int64")?;
            Ok(OwnedItems::Signed(Values::InPlace(values)))
        }
        b'u' => {
            let values = as_contiguous(array, "uint64")?;
            Ok(OwnedItems::Unsigned(Values::InPlace(values)))
        }
        b'U' | b'S' | b'O' | b'T' => copied_of_any(&array.call_method0("tolist")?),
        _ => Err(ArgumentTypeError::new_err(format!(
            "items: expected an array of integers, text, bytes or objects, got dtype {}",
            array.dtype()
        ))),
    }
}

fn copied_of_any(items: &Bound<'_, PyAny>) -> PyResult<OwnedItems<'static>> {
    copied(IterableValues::of("items", "items", items)?).map(OwnedItems::Copied)
}

fn copied<'py>(objects: impl Iterator<Item = PyResult<Bound<'py, PyAny>>>) -> PyResult<Copies> {
    let mut copies = Copies::default();
    for (position, object) in objects.enumerate() {
        with_item(&object?, &no_item, |item| copies.push(item))
            .map_err(|fault| fault.at(position))?;
    }
    Ok(copies)
}
