//! The values of Arrow columns as items.
//!
//! Supported are strings and binaries in all layouts, integers of all widths, dates, timestamps with
//! a time zone, `arrow.uuid`, and dictionaries of these, of which each entry is converted once.

use crate::arrow::{Chunk, columns, not_items, refused};
use crate::arrow_import::{Imported, arrays_of};
use crate::errors::raise;
use crate::items::{Fault, Target, object_of};
use crate::standard_types::{OTHER_YEAR, SMALL_FRACTION};
use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Date64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
    TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, downcast_dictionary_array};
use arrow_schema::{DataType, TimeUnit};
use lazysketch_core::item::Item;
use lazysketch_core::{Error, memory};
use pyo3::prelude::*;
use pyo3::types::PyList;

/// Convert the items of all chunks.
pub(crate) fn convert(
    arrays: &[Imported],
    column: Option<&str>,
    target: Target<'_>,
) -> PyResult<Vec<u64>> {
    map_items("items", &columns(arrays, column, "items")?, &|item| {
        target.item(item)
    })
}

/// Return the values of one column of Arrow data as Python objects; None for other objects.
#[pyfunction]
#[pyo3(signature = (values, *, name))]
pub(crate) fn arrow_values<'py>(
    values: &Bound<'py, PyAny>,
    name: &str,
) -> PyResult<Option<Bound<'py, PyList>>> {
    let Some(arrays) = arrays_of(values, name)? else {
        return Ok(None);
    };
    for array in &arrays {
        array.require_one_column(name)?;
    }
    let chunks = columns(&arrays, None, name)?;
    let list = PyList::empty(values.py());
    for item in map_items(name, &chunks, &Ok::<Item<'_>, Fault>)? {
        list.append(object_of(values.py(), item)?)?;
    }
    Ok(Some(list))
}

/// Return the fingerprints of a column that follows `start` items.
pub(crate) fn fingerprints(column: &Chunk, start: usize, target: Target<'_>) -> PyResult<Vec<u64>> {
    let mut items = memory::room_for(column.len()).map_err(raise)?;
    append_chunk(column, &|item| target.item(item?), &mut items)
        .map_err(|(offset, fault)| fault.at(start + offset))?;
    Ok(items)
}

/// Map the items of all columns; the results may borrow from the columns.
pub(crate) fn map_items<'a, T: Clone>(
    name: &str,
    columns: &'a [Chunk],
    with: &impl Fn(Item<'a>) -> Result<T, Fault>,
) -> PyResult<Vec<T>> {
    let lengths = columns.iter().map(|column| column.len());
    let mut items = memory::room_for(lengths.fold(0, usize::saturating_add)).map_err(raise)?;
    for column in columns {
        let start = items.len();
        append_chunk(column, &|item| with(item?), &mut items)
            .map_err(|(offset, fault)| fault.in_argument(name, start + offset))?;
    }
    Ok(items)
}

/// An item, or why a value of the column is none.
type Converted<'a> = Result<Item<'a>, Fault>;
type Outcome = Result<(), (usize, Fault)>;

fn append_chunk<'a, T: Clone>(
    chunk: &'a Chunk,
    with: &impl Fn(Converted<'a>) -> Result<T, Fault>,
    items: &mut Vec<T>,
) -> Outcome {
    if !chunk.is_uuid {
        return append(&chunk.array, with, items);
    }
    let uuids = chunk.array.as_fixed_size_binary().iter();
    let uuid = |bytes: Option<&'a [u8]>| {
        let bytes = bytes.and_then(|bytes| bytes.try_into().ok());
        with(Ok(Item::Uuid(bytes.expect("16 bytes and no nulls"))))
    };
    extend(items, uuids.map(uuid))
}

fn append<'a, T: Clone>(
    chunk: &'a ArrayRef,
    with: &impl Fn(Converted<'a>) -> Result<T, Fault>,
    items: &mut Vec<T>,
) -> Outcome {
    let text = |item: Option<&'a str>| with(Ok(Item::Text(item.unwrap_or_default())));
    let bytes = |item: Option<&'a [u8]>| with(Ok(Item::Bytes(item.unwrap_or_default())));
    match chunk.data_type() {
        DataType::Utf8 => extend(items, chunk.as_string::<i32>().iter().map(text)),
        DataType::LargeUtf8 => extend(items, chunk.as_string::<i64>().iter().map(text)),
        DataType::Utf8View => extend(items, chunk.as_string_view().iter().map(text)),
        DataType::Binary => extend(items, chunk.as_binary::<i32>().iter().map(bytes)),
        DataType::LargeBinary => extend(items, chunk.as_binary::<i64>().iter().map(bytes)),
        DataType::BinaryView => extend(items, chunk.as_binary_view().iter().map(bytes)),
        DataType::FixedSizeBinary(_) => {
            extend(items, chunk.as_fixed_size_binary().iter().map(bytes))
        }
        DataType::Int8 => signed::<Int8Type, T>(chunk, with, items),
        DataType::Int16 => signed::<Int16Type, T>(chunk, with, items),
        DataType::Int32 => signed::<Int32Type, T>(chunk, with, items),
        DataType::Int64 => signed::<Int64Type, T>(chunk, with, items),
        DataType::UInt8 => unsigned::<UInt8Type, T>(chunk, with, items),
        DataType::UInt16 => unsigned::<UInt16Type, T>(chunk, with, items),
        DataType::UInt32 => unsigned::<UInt32Type, T>(chunk, with, items),
        DataType::UInt64 => unsigned::<UInt64Type, T>(chunk, with, items),
        DataType::Date32 => times::<Date32Type, T>(chunk, with, items, |days| date(days.into())),
        DataType::Date64 => times::<Date64Type, T>(chunk, with, items, |milliseconds| {
            match milliseconds % MILLISECONDS_PER_DAY {
                0 => date(milliseconds / MILLISECONDS_PER_DAY),
                _ => Err(Fault::new(
                    "expected dates of whole days, got a fraction of a day",
                )),
            }
        }),
        DataType::Timestamp(unit, Some(_)) => match unit {
            TimeUnit::Second => {
                let instant = |seconds| scaled(seconds, 1_000_000);
                times::<TimestampSecondType, T>(chunk, with, items, instant)
            }
            TimeUnit::Millisecond => {
                let instant = |milliseconds| scaled(milliseconds, 1_000);
                times::<TimestampMillisecondType, T>(chunk, with, items, instant)
            }
            TimeUnit::Microsecond => {
                let instant = |microseconds| scaled(microseconds, 1);
                times::<TimestampMicrosecondType, T>(chunk, with, items, instant)
            }
            TimeUnit::Nanosecond => {
                times::<TimestampNanosecondType, T>(chunk, with, items, |nanoseconds| {
                    match nanoseconds % NANOSECONDS {
                        0 => scaled(nanoseconds / NANOSECONDS, 1),
                        _ => Err(refused(SMALL_FRACTION)),
                    }
                })
            }
        },
        DataType::Timestamp(_, None) => Err((0, refused("timestamps without a time zone"))),
        DataType::Dictionary(_, _) => dictionary(chunk, with, items),
        // No value refers to a null entry: the column was refused otherwise.
        DataType::Null => Ok(()),
        other => Err((0, not_items(other))),
    }
}

const MILLISECONDS_PER_DAY: i64 = 86_400_000;
/// In a microsecond.
const NANOSECONDS: i64 = 1_000;

fn date(days: i64) -> Result<Item<'static>, Fault> {
    let date = i32::try_from(days).ok().and_then(Item::date);
    date.ok_or_else(|| refused(OTHER_YEAR))
}

/// An instant in units of this many microseconds.
fn scaled(units: i64, microseconds: i64) -> Result<Item<'static>, Fault> {
    let instant = units.checked_mul(microseconds).and_then(Item::instant);
    instant.ok_or_else(|| refused(OTHER_YEAR))
}

fn times<'a, A: ArrowPrimitiveType, T>(
    chunk: &ArrayRef,
    with: &impl Fn(Converted<'a>) -> Result<T, Fault>,
    items: &mut Vec<T>,
    item: impl Fn(A::Native) -> Result<Item<'static>, Fault>,
) -> Outcome {
    let values = chunk.as_primitive::<A>().values();
    extend(items, values.iter().map(|&value| with(item(value))))
}

fn extend<T>(items: &mut Vec<T>, values: impl Iterator<Item = Result<T, Fault>>) -> Outcome {
    for (offset, value) in values.enumerate() {
        items.push(value.map_err(|fault| (offset, fault))?);
    }
    Ok(())
}

fn signed<'a, A, T>(
    chunk: &ArrayRef,
    with: &impl Fn(Converted<'a>) -> Result<T, Fault>,
    items: &mut Vec<T>,
) -> Outcome
where
    A: ArrowPrimitiveType<Native: Into<i64>>,
{
    let values = chunk.as_primitive::<A>().values();
    let converted = values
        .iter()
        .map(|&item| with(Ok(Item::Signed(item.into()))));
    extend(items, converted)
}

fn unsigned<'a, A, T>(
    chunk: &ArrayRef,
    with: &impl Fn(Converted<'a>) -> Result<T, Fault>,
    items: &mut Vec<T>,
) -> Outcome
where
    A: ArrowPrimitiveType<Native: Into<u64>>,
{
    let values = chunk.as_primitive::<A>().values();
    let converted = values
        .iter()
        .map(|&item| with(Ok(Item::Unsigned(item.into()))));
    extend(items, converted)
}

/// Convert every entry of the dictionary once. An entry that cannot be an item is an error only if
/// it occurs; a null entry is reported like a null.
fn dictionary<'a, T: Clone>(
    chunk: &'a ArrayRef,
    with: &impl Fn(Converted<'a>) -> Result<T, Fault>,
    items: &mut Vec<T>,
) -> Outcome {
    downcast_dictionary_array!(
        chunk => {
            let number = chunk.values().len();
            let room = |error: Error| (0, Fault::memory(&error));
            let mut unconverted = memory::room_for(number).map_err(room)?;
            let unchanged: fn(Converted<'a>) -> Result<Converted<'a>, Fault> = Ok;
            let values = append(chunk.values(), &unchanged, &mut unconverted);
            let entries = memory::collected(unconverted.into_iter().map(with)).map_err(room)?;
            for (position, key) in chunk.keys_iter().flatten().enumerate() {
                let entry = match &values {
                    Ok(()) => entries[key].clone(),
                    // Values of this type cannot be items.
                    Err((_, fault)) => Err(fault.clone()),
                };
                items.push(entry.map_err(|fault| (position, fault))?);
            }
            Ok(())
        },
        other => Err((0, Fault::new(format!("expected a dictionary, got {other}")))),
    )
}
