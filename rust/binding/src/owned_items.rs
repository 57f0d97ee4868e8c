//! Batches that keep their items, for discovery, which publishes names instead of fingerprints.
//!
//! Text and bytes are borrowed from Arrow memory, and numpy integers are read in place. Items of
//! other Python objects are copied, because the objects may be freed before the batch is counted.

use crate::arrow::{self, Chunk};
use crate::arrow_items;
use crate::batches::{as_contiguous, objects_of, refuse_single_values, require_plain};
use crate::columns::HashedColumns;
use crate::errors::{ArgumentTypeError, ArgumentValueError, type_name};
use crate::items::{Column, Fault, no_item, with_item};
use lazysketch_core::item::Item;
use lazysketch_core::table::items::Items;
use numpy::{PyArrayDescrMethods, PyReadonlyArray1, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};

/// A batch that keeps its items alive.
pub(crate) enum OwnedItems<'py> {
    /// Columns of text, bytes or integers, read in place.
    Columns(HashedColumns),
    /// Columns of other types, whose values are collected first.
    Odd(Vec<Chunk>),
    /// A numpy array of signed integers.
    Signed(PyReadonlyArray1<'py, i64>),
    /// A numpy array of unsigned integers.
    Unsigned(PyReadonlyArray1<'py, u64>),
    /// Copies.
    Copied(Copies),
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

    fn push(&mut self, item: Item<'_>) {
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
        self.entries.push(entry);
    }

    pub(crate) fn items(&self) -> Vec<Item<'_>> {
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
        self.entries.iter().map(item).collect()
    }
}

impl OwnedItems<'_> {
    /// Call `with` on the items in the core's form.
    pub(crate) fn with_items<T>(&self, with: impl FnOnce(Items<'_>) -> PyResult<T>) -> PyResult<T> {
        let not_contiguous = |_| ArgumentValueError::new_err("items: expected contiguous memory");
        match self {
            Self::Columns(columns) => with(Items::columns(columns)),
            Self::Odd(columns) => with(Items::Mixed(&arrow_items::map_items(
                columns,
                &Ok::<Item<'_>, Fault>,
            )?)),
            Self::Signed(array) => with(Items::Signed(array.as_slice().map_err(not_contiguous)?)),
            Self::Unsigned(array) => {
                with(Items::Unsigned(array.as_slice().map_err(not_contiguous)?))
            }
            Self::Copied(copies) => with(Items::Mixed(&copies.items())),
        }
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
    if let Some(chunks) = arrow::chunks_of(items, "items")? {
        let columns = arrow::columns(&chunks, column)?;
        let plain = HashedColumns::in_place(&columns);
        return Ok(plain.map_or(OwnedItems::Odd(columns), OwnedItems::Columns));
    }
    if let Some(column) = column {
        let message = format!("column: expected none for data without columns, got {column:?}");
        return Err(ArgumentTypeError::new_err(message));
    }
    if let Ok(array) = items.cast::<PyUntypedArray>() {
        return from_numpy(array);
    }
    copied_of_any(items)
}

fn from_numpy<'py>(array: &Bound<'py, PyUntypedArray>) -> PyResult<OwnedItems<'py>> {
    require_plain("items", array)?;
    match array.dtype().kind() {
        b'i' => as_contiguous(array, "int64").map(OwnedItems::Signed),
        b'u' => as_contiguous(array, "uint64").map(OwnedItems::Unsigned),
        b'U' | b'S' | b'O' | b'T' => copied_of_any(&array.call_method0("tolist")?),
        _ => Err(ArgumentTypeError::new_err(format!(
            "items: expected an array of integers, text, bytes or objects, got dtype {}",
            array.dtype()
        ))),
    }
}

fn copied_of_any(items: &Bound<'_, PyAny>) -> PyResult<OwnedItems<'static>> {
    let iterator = items.try_iter().map_err(|_| {
        let got = type_name(items);
        ArgumentTypeError::new_err(format!("items: expected an iterable of items, got {got}"))
    })?;
    copied(iterator).map(OwnedItems::Copied)
}

fn copied<'py>(objects: impl Iterator<Item = PyResult<Bound<'py, PyAny>>>) -> PyResult<Copies> {
    let mut copies = Copies::default();
    for (position, object) in objects.enumerate() {
        with_item(&object?, &no_item, |item| {
            copies.push(item);
            Ok(())
        })
        .map_err(|fault| fault.at(position))?;
    }
    Ok(copies)
}
