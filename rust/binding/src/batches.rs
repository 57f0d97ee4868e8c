//! Conversion of batches (Arrow data, numpy arrays, iterables) to slices for the core. An invalid
//! value rejects the batch; the error gives its position, not its content.
//!
//! Arrays, lists and tuples are recognised by their exact type, without attribute lookups: a failed
//! lookup costs as much as counting a hundred events.

use crate::array_cells::{objects_of_array, objects_of_pandas};
use crate::array_kinds::ItemArray;
use crate::arrays::{Integers, Values, integers_of};
use crate::arrow;
use crate::arrow_import;
use crate::arrow_items;
use crate::columns::HashedColumns;
use crate::errors::{ArgumentTypeError, raise, says_wrong_type, type_name};
use crate::fixed_width_text::FixedWidthText;
use crate::items::{Column, Target, small_count, small_integer};
use crate::logged_events::LoggedEvents;
use crate::packed_text::collected_of_packed_text;
use lazysketch_core::item::Item;
use lazysketch_core::memory;
use lazysketch_core::table::items::Items;
use numpy::{PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::PyMemoryError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyDict, PyIterator, PyList, PyString, PyTuple};
use std::iter;
use zeroize::Zeroizing;

/// A batch that is ready for the core.
pub(crate) enum PreparedBatch<'py> {
    /// Fingerprints or indices.
    Ready(Vec<u64>),
    /// Integers, hashed while counting.
    Integers(Integers<'py>),
    /// Columns of Arrow data, hashed while counting.
    Columns(HashedColumns),
    /// A batch of a store, which is logged as it is counted.
    Logged(Bound<'py, LoggedEvents>),
}

impl PreparedBatch<'_> {
    /// Return the items in the core's form.
    pub(crate) fn items(&self) -> PyResult<Items<'_>> {
        match self {
            Self::Ready(items) => Ok(Items::Ready(items)),
            Self::Integers(integers) => integers.items(),
            Self::Columns(columns) => Ok(Items::columns(columns)),
            Self::Logged(events) => Ok(events.get().items()),
        }
    }
}

/// Convert any batch of items.
pub(crate) fn batch_of<'py>(
    items: &Bound<'py, PyAny>,
    column: Option<&Column>,
    target: Target<'_>,
) -> PyResult<PreparedBatch<'py>> {
    let column = column.map(|column| column.0.as_str());
    if column.is_none() {
        if let Ok(array) = items.cast_exact::<PyUntypedArray>() {
            return from_numpy(array, target);
        }
        if let Ok(list) = items.cast_exact::<PyList>() {
            return from_sequence(list.len(), objects_of(list), target);
        }
        if let Ok(tuple) = items.cast_exact::<PyTuple>() {
            return from_sequence(tuple.len(), tuple.iter(), target);
        }
    }
    if let Ok(events) = items.cast_exact::<LoggedEvents>() {
        return match target {
            Target::Fingerprint(_) => Ok(PreparedBatch::Logged(events.clone())),
            Target::Index(_) => events.get().indices(target).map(PreparedBatch::Ready),
        };
    }
    refuse_single_values("items", items)?;
    if column.is_none()
        && let Some(array) = objects_of_pandas(items)?
    {
        return from_numpy(&array, target);
    }
    if let Some(chunks) = arrow_import::arrays_of(items, "items")? {
        return match target {
            Target::Fingerprint(fingerprinter) => {
                HashedColumns::new(&chunks, column, fingerprinter).map(PreparedBatch::Columns)
            }
            Target::Index(_) => {
                arrow_items::convert(&chunks, column, target).map(PreparedBatch::Ready)
            }
        };
    }
    if let Some(column) = column {
        return Err(arrow::no_columns(column));
    }
    if let Ok(array) = items.cast::<PyUntypedArray>() {
        return from_numpy(array, target);
    }
    from_iterable(items, target).map(PreparedBatch::Ready)
}

pub(crate) fn refuse_single_values(name: &str, items: &Bound<'_, PyAny>) -> PyResult<()> {
    let single = items.is_instance_of::<PyString>()
        || items.is_instance_of::<PyBytes>()
        || items.is_instance_of::<PyByteArray>()
        || items.is_instance_of::<PyDict>();
    if single {
        return Err(ArgumentTypeError::new_err(format!(
            "{name}: expected a list, array or column of values, got {}",
            type_name(items)
        )));
    }
    let named = |name| items.get_type().name().is_ok_and(|found| found == name);
    if !items.is_exact_instance_of::<PyList>() && named("LazyFrame") {
        return Err(ArgumentTypeError::new_err(format!(
            "{name}: expected data that have been read, got LazyFrame; call .collect() first"
        )));
    }
    // polars exports a series of Python objects as their addresses.
    if named("Series")
        && items
            .getattr("dtype")
            .is_ok_and(|it| type_name(&it) == "Object")
    {
        return Err(ArgumentTypeError::new_err(format!(
            "{name}: expected values that Arrow can hold, got a Series of Python objects; \
             call .to_list() first"
        )));
    }
    Ok(())
}

fn from_iterable(items: &Bound<'_, PyAny>, target: Target<'_>) -> PyResult<Vec<u64>> {
    let objects = IterableValues::of("items", "items", items)?;
    let mut converted = memory::room_for(objects.size_hint().0).map_err(raise)?;
    for (position, item) in objects.enumerate() {
        let item = target.object(&item?).map_err(|fault| fault.at(position))?;
        memory::push(&mut converted, item).map_err(raise)?;
    }
    Ok(converted)
}

/// Most values of an iterable: 128 MiB of fingerprints, and seconds of calls of its methods. A batch
/// is kept until all of it is checked, and an iterable may never end. Lists and arrays are in memory
/// already.
const MOST_OF_AN_ITERABLE: usize = 1 << 24;

/// The values of any iterable, at most [`MOST_OF_AN_ITERABLE`]. Ctrl-C works during iterators that
/// run no Python code.
pub(crate) struct IterableValues<'py> {
    iterator: Bound<'py, PyIterator>,
    name: &'static str,
    hint: usize,
    passed: usize,
}

impl<'py> IterableValues<'py> {
    /// The values of the argument `name`; `values` says what they are.
    pub(crate) fn of(
        name: &'static str,
        values: &str,
        iterable: &Bound<'py, PyAny>,
    ) -> PyResult<Self> {
        let iterator = iterable.try_iter().map_err(|error| {
            if !says_wrong_type(iterable.py(), &error) {
                return error;
            }
            let got = type_name(iterable);
            let message = format!("{name}: expected an iterable of {values}, got {got}");
            ArgumentTypeError::new_err(message)
        })?;
        let values = Self {
            iterator,
            name,
            hint: iterable.len().unwrap_or(0),
            passed: 0,
        };
        if values.hint > MOST_OF_AN_ITERABLE {
            return Err(values.too_many());
        }
        Ok(values)
    }

    fn too_many(&self) -> PyErr {
        PyMemoryError::new_err(format!(
            "{}: expected an iterable of at most {MOST_OF_AN_ITERABLE} values, got more; nothing \
             was applied: pass it in parts",
            self.name
        ))
    }
}

impl<'py> Iterator for IterableValues<'py> {
    type Item = PyResult<Bound<'py, PyAny>>;

    fn next(&mut self) -> Option<Self::Item> {
        let value = self.iterator.next()?;
        self.passed += 1;
        if self.passed > MOST_OF_AN_ITERABLE {
            return Some(Err(self.too_many()));
        }
        if self.passed.is_multiple_of(1 << 16)
            && let Err(interrupt) = self.iterator.py().check_signals()
        {
            return Some(Err(interrupt));
        }
        Some(value)
    }

    /// An object's length is a claim of its own: no more than a little memory is given to it.
    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.hint.min(1 << 16), None)
    }
}

/// Return the integers of a numpy array, list or tuple that contains nothing else, without calling
/// its methods.
pub(crate) fn plain_integers<'py>(items: &Bound<'py, PyAny>) -> PyResult<Option<Integers<'py>>> {
    if let Ok(array) = items.cast_exact::<PyUntypedArray>() {
        return integers_of(array);
    }
    let (integers, other) = if let Ok(list) = items.cast_exact::<PyList>() {
        leading_integers(list.len(), &mut objects_of(list))?
    } else if let Ok(tuple) = items.cast_exact::<PyTuple>() {
        leading_integers(tuple.len(), &mut tuple.iter())?
    } else {
        return Ok(None);
    };
    Ok(match other {
        Some(_) => None,
        None => Some(Integers::Signed(Values::Copied(integers))),
    })
}

/// Iterate over the objects of a list up to its present length. Python code may change the list
/// meanwhile: removed objects are skipped, appended ones are ignored.
pub(crate) fn objects_of<'py>(
    list: &Bound<'py, PyList>,
) -> impl Iterator<Item = Bound<'py, PyAny>> {
    (0..list.len()).map_while(|position| list.get_item(position).ok())
}

/// Integers, and the first object that is not one.
type Leading<'py> = (Zeroizing<Vec<i64>>, Option<Bound<'py, PyAny>>);

/// Return the leading signed 64-bit integers, and the first object that is not one.
fn leading_integers<'py>(
    length: usize,
    objects: &mut impl Iterator<Item = Bound<'py, PyAny>>,
) -> PyResult<Leading<'py>> {
    let mut integers = Zeroizing::new(Vec::new());
    for object in objects {
        match small_integer(&object) {
            Some(integer) => {
                // No room, which would be cleared at the end, if the first is no integer.
                if integers.is_empty() {
                    memory::reserve(&mut integers, length).map_err(raise)?;
                }
                integers.push(integer);
            }
            None => return Ok((integers, Some(object))),
        }
    }
    Ok((integers, None))
}

/// Convert the objects of a list or tuple. Small integers alone, the usual case, are hashed many at
/// a time.
fn from_sequence<'py>(
    length: usize,
    mut objects: impl Iterator<Item = Bound<'py, PyAny>>,
    target: Target<'_>,
) -> PyResult<PreparedBatch<'py>> {
    let (integers, other) = leading_integers(length, &mut objects)?;
    let Some(other) = other else {
        return from_integers(Integers::Signed(Values::Copied(integers)), target);
    };
    // One unsigned 64-bit integer suggests more: trying i64 first would raise for each of them.
    let unsigned = small_count(&other).is_some();
    let mut items = converted(&integers, target, |&item| Item::Signed(item))?;
    let more = length - items.len();
    memory::reserve(&mut items, more).map_err(raise)?;
    for object in iter::once(other).chain(objects) {
        let item = match unsigned.then(|| small_count(&object)).flatten() {
            Some(integer) => target.item(Item::Unsigned(integer)),
            None => target.object(&object),
        };
        items.push(item.map_err(|fault| fault.at(items.len()))?);
    }
    Ok(PreparedBatch::Ready(items))
}

fn from_integers<'py>(integers: Integers<'py>, target: Target<'_>) -> PyResult<PreparedBatch<'py>> {
    let Target::Index(last) = target else {
        return Ok(PreparedBatch::Integers(integers));
    };
    // Copy, then check the entire copy: the array may change in between. A negative integer, cast
    // to an unsigned one, exceeds the largest signed one.
    let indices: Vec<u64> = match integers.items()? {
        Items::Signed(items) => memory::collected(items.iter().map(|&item| item.cast_unsigned())),
        Items::Narrow(items) => {
            let wide = |&item: &i32| i64::from(item).cast_unsigned();
            memory::collected(items.iter().map(wide))
        }
        Items::Unsigned(items) => memory::copied(items),
        _ => unreachable!("integers have one of these forms"),
    }
    .map_err(raise)?;
    let signed = !matches!(integers, Integers::Unsigned(_));
    let last = if signed {
        last.min(i64::MAX.cast_unsigned())
    } else {
        last
    };
    if indices
        .iter()
        .fold(true, |all, &index| all & (index <= last))
    {
        return Ok(PreparedBatch::Ready(indices));
    }
    let item = |&index: &u64| match signed {
        true => Item::Signed(index.cast_signed()),
        false => Item::Unsigned(index),
    };
    converted(&indices, target, item).map(PreparedBatch::Ready)
}

/// Convert integers one by one.
fn converted<T>(
    values: &[T],
    target: Target<'_>,
    item: impl Fn(&T) -> Item<'static>,
) -> PyResult<Vec<u64>> {
    let mut converted = memory::room_for(values.len()).map_err(raise)?;
    for (position, item) in values.iter().map(item).enumerate() {
        converted.push(target.item(item).map_err(|fault| fault.at(position))?);
    }
    Ok(converted)
}

fn from_numpy<'py>(
    array: &Bound<'py, PyUntypedArray>,
    target: Target<'_>,
) -> PyResult<PreparedBatch<'py>> {
    if let Some(integers) = integers_of(array)? {
        return from_integers(integers, target);
    }
    match ItemArray::of(array)? {
        ItemArray::Signed(values) => from_integers(Integers::Signed(values), target),
        ItemArray::Unsigned(values) => from_integers(Integers::Unsigned(values), target),
        ItemArray::Objects => from_sequence(array.len(), objects_of_array(array), target),
        ItemArray::FixedWidth(texts) => from_texts(&texts, target).map(PreparedBatch::Ready),
        ItemArray::Text => {
            let room = memory::room_for(array.len()).map_err(raise)?;
            let push = |items: &mut Vec<u64>, item: Item<'_>| {
                items.push(target.item(item)?);
                Ok(())
            };
            if let Some(items) = collected_of_packed_text(array, room, push)? {
                return Ok(PreparedBatch::Ready(items));
            }
            // numpy gives Python values, which are checked one by one.
            let values = array.call_method0(intern!(array.py(), "tolist"))?;
            let values = values.cast_into::<PyList>()?;
            from_sequence(values.len(), objects_of(&values), target)
        }
    }
}

fn from_texts(texts: &FixedWidthText<'_>, target: Target<'_>) -> PyResult<Vec<u64>> {
    let refuse = |got: &str| target.refuse(got);
    if let Target::Fingerprint(fingerprinter) = target {
        return texts.fingerprints(fingerprinter, &refuse);
    }
    let mut converted = memory::room_for(texts.len()?).map_err(raise)?;
    texts.for_each(&refuse, |item| {
        converted.push(target.item(item)?);
        Ok(())
    })?;
    Ok(converted)
}

/// Up to this number of events, a batch is counted under the interpreter lock: releasing and
/// retaking the lock would cost more.
pub(crate) const SHORT_BATCH: usize = 256;
