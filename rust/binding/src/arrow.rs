//! Arrow data through the PyCapsule interface: pyarrow, polars, pandas, duckdb and others.
//!
//! The entire stream is drained, validated and hashed before anything is applied. Supported are
//! strings and binaries in all layouts, integers of all widths, dictionaries of these (each entry
//! is hashed once), and tables with one such column. Exported memory is immutable by contract; a
//! producer that changes it during the call violates that, and this code cannot detect it.
#![allow(unsafe_code)]

use crate::errors::{ArgumentTypeError, ArgumentValueError, type_name};
use crate::items::{Fault, Target};
use arrow_array::cast::AsArray;
use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi};
use arrow_array::ffi_stream::{ArrayStreamReader, FFI_ArrowArrayStream};
use arrow_array::types::{
    ArrowPrimitiveType, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};
use arrow_array::{
    Array, ArrayRef, GenericStringArray, OffsetSizeTrait, StringViewArray,
    downcast_dictionary_array, make_array,
};
use arrow_schema::{ArrowError, DataType};
use lazysketch_core::item::Item;
use pyo3::exceptions::{PyException, PyMemoryError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyTuple};

/// Return the chunks of an object with the PyCapsule interface, `None` for other objects.
pub(crate) fn chunks_of(object: &Bound<'_, PyAny>, name: &str) -> PyResult<Option<Vec<ArrayRef>>> {
    let py = object.py();
    // Short batches are arrays: a failed lookup of `__arrow_c_stream__` costs more than counting.
    if let Some(export) = object.getattr_opt(intern!(py, "__arrow_c_array__"))? {
        let pair = exported(object, &export, name)?.cast_into::<PyTuple>()?;
        let schema = pair.get_item(0)?.cast_into::<PyCapsule>()?;
        let array = pair.get_item(1)?.cast_into::<PyCapsule>()?;
        return single(&schema, &array).map(|array| Some(vec![array]));
    }
    if let Some(export) = object.getattr_opt(intern!(py, "__arrow_c_stream__"))? {
        let capsule = exported(object, &export, name)?;
        return drain(&capsule.cast_into::<PyCapsule>()?).map(Some);
    }
    Ok(None)
}

/// Call an object's export method; its exceptions become ours, which quote no values.
fn exported<'py>(
    object: &Bound<'py, PyAny>,
    export: &Bound<'py, PyAny>,
    name: &str,
) -> PyResult<Bound<'py, PyAny>> {
    let py = object.py();
    export.call0().map_err(|error| {
        if !error.is_instance_of::<PyException>(py) || error.is_instance_of::<PyMemoryError>(py) {
            return error; // such as KeyboardInterrupt
        }
        ArgumentTypeError::new_err(format!(
            "{name}: expected a column of one type that Arrow can hold, got {}, whose conversion \
             raised {}",
            type_name(object),
            type_name(error.value(py))
        ))
    })
}

fn drain(capsule: &Bound<'_, PyCapsule>) -> PyResult<Vec<ArrayRef>> {
    let pointer = capsule.pointer_checked(Some(c"arrow_array_stream"))?;
    // SAFETY: by its name the capsule holds an ArrowArrayStream; `from_raw` moves the stream out
    // and leaves a released one in its place, which the capsule's destructor ignores.
    let stream = unsafe { FFI_ArrowArrayStream::from_raw(pointer.cast().as_ptr()) };
    let reader = ArrayStreamReader::try_new(stream).map_err(malformed)?;
    reader
        .map(|array| array.map_err(malformed).and_then(laid_out))
        .collect()
}

fn single(schema: &Bound<'_, PyCapsule>, array: &Bound<'_, PyCapsule>) -> PyResult<ArrayRef> {
    let schema = schema.pointer_checked(Some(c"arrow_schema"))?;
    let array = array.pointer_checked(Some(c"arrow_array"))?;
    // SAFETY: by their names the capsules hold a schema and an array. The array is moved out as
    // above; the schema is only read and stays in its capsule, which outlives this call.
    let data = unsafe {
        let array = FFI_ArrowArray::from_raw(array.cast().as_ptr());
        from_ffi(array, schema.cast::<FFI_ArrowSchema>().as_ref())
    };
    data.map_err(malformed).map(make_array).and_then(laid_out)
}

/// Validate the layout before anything is read through it; [`columns`] validates the values of the
/// requested column.
fn laid_out(array: ArrayRef) -> PyResult<ArrayRef> {
    let data = array.to_data();
    let checked = data.validate().and_then(|()| data.validate_nulls());
    checked.map_err(malformed).map(|()| array)
}

/// Validate offsets, views, dictionary indices and UTF-8 before anything is read through them.
fn validated(array: ArrayRef) -> PyResult<ArrayRef> {
    let valid = match array.data_type() {
        DataType::Utf8 => is_plain_text(array.as_string::<i32>()),
        DataType::LargeUtf8 => is_plain_text(array.as_string::<i64>()),
        DataType::Utf8View => are_plain_views(array.as_string_view()),
        _ => false,
    };
    if !valid {
        array.to_data().validate_full().map_err(malformed)?;
    }
    Ok(array)
}

/// Return true for increasing offsets into ASCII, where every offset is a character boundary. This
/// is one vectorised pass over the bytes, while the general check visits each text. False means
/// unknown.
fn is_plain_text<O: OffsetSizeTrait>(array: &GenericStringArray<O>) -> bool {
    let (offsets, data) = (array.value_offsets(), array.value_data());
    let rising = offsets
        .windows(2)
        .fold(true, |rising, pair| rising & (pair[0] <= pair[1]));
    let within = |offset: &O| offset.to_usize().filter(|&offset| offset <= data.len());
    match (
        offsets.first().and_then(within),
        offsets.last().and_then(within),
    ) {
        (Some(first), Some(last)) => rising && data[first..last].is_ascii(),
        _ => false,
    }
}

/// The same as [`is_plain_text`] for views: ASCII inside the view, or where it points to.
fn are_plain_views(array: &StringViewArray) -> bool {
    const INLINE: u32 = 12;
    let buffers = array.data_buffers();
    array.views().iter().all(|&view| {
        let length = view as u32;
        if length <= INLINE {
            // The content follows the length, zeros follow the content.
            let content = view >> 32;
            let beyond = content.checked_shr(8 * length).unwrap_or(0);
            return (content & NOT_ASCII) | beyond == 0;
        }
        // Length, the first four bytes, number of the buffer, offset: 32 bits each.
        let [prefix, buffer, start] = [32, 64, 96].map(|shift| (view >> shift) as u32);
        let content = buffers.get(buffer as usize).and_then(|buffer| {
            let start = start as usize;
            buffer.get(start..start.checked_add(length as usize)?)
        });
        content.is_some_and(|content| content.is_ascii() && content[..4] == prefix.to_le_bytes())
    })
}

/// The highest bits of all bytes.
const NOT_ASCII: u128 = u128::from_ne_bytes([0x80; 16]);

fn malformed(error: ArrowError) -> PyErr {
    // The message of an ArrowError may quote values, so only its kind is shown.
    let kind = match error {
        ArrowError::CDataInterface(_) => "data that break the Arrow C interface",
        _ => "malformed Arrow data",
    };
    ArgumentValueError::new_err(format!("items: expected valid Arrow data, got {kind}"))
}

/// Convert the items of all chunks.
pub(crate) fn convert(
    chunks: &[ArrayRef],
    column: Option<&str>,
    target: Target<'_>,
) -> PyResult<Vec<u64>> {
    map_items(&columns(chunks, column)?, &|item| target.item(item))
}

/// Return the column of each chunk; raise if it has nulls.
pub(crate) fn columns(chunks: &[ArrayRef], column: Option<&str>) -> PyResult<Vec<ArrayRef>> {
    let mut start = 0;
    let of_chunk = |chunk: &ArrayRef| {
        let found = validated(column_of(chunk, column, "items", start)?)?;
        refuse_nulls(&found, start, "items")?;
        start += chunk.len();
        Ok(found)
    };
    chunks.iter().map(of_chunk).collect()
}

/// Return the fingerprints of a column that follows `start` items.
pub(crate) fn fingerprints(
    column: &ArrayRef,
    start: usize,
    target: Target<'_>,
) -> PyResult<Vec<u64>> {
    let mut items = Vec::with_capacity(column.len());
    append(column, &|item| target.item(item), &mut items)
        .map_err(|(offset, fault)| fault.at(start + offset))?;
    Ok(items)
}

/// Map the items of all columns; the results may borrow from the columns.
pub(crate) fn map_items<'a, T: Clone>(
    columns: &'a [ArrayRef],
    with: &impl Fn(Item<'a>) -> Result<T, Fault>,
) -> PyResult<Vec<T>> {
    let mut items = Vec::with_capacity(columns.iter().map(|column| column.len()).sum());
    for column in columns {
        let start = items.len();
        append(column, with, &mut items).map_err(|(offset, fault)| fault.at(start + offset))?;
    }
    Ok(items)
}

/// Return the requested column of a table, or the chunk itself.
fn column_of(
    chunk: &ArrayRef,
    column: Option<&str>,
    name: &str,
    start: usize,
) -> PyResult<ArrayRef> {
    let DataType::Struct(fields) = chunk.data_type() else {
        return match column {
            None => Ok(chunk.clone()),
            Some(column) => Err(ArgumentTypeError::new_err(format!(
                "column: expected none for data without columns, got {column:?}"
            ))),
        };
    };
    let table = chunk.as_struct();
    refuse_nulls(chunk, start, name)?;
    let names = || {
        let names: Vec<_> = fields.iter().map(|field| field.name().as_str()).collect();
        names.join(", ")
    };
    match column {
        Some(column) => table.column_by_name(column).cloned().ok_or_else(|| {
            let names = names();
            ArgumentValueError::new_err(format!("column: expected one of {names}, got {column:?}"))
        }),
        None if table.num_columns() == 1 => Ok(table.column(0).clone()),
        None if name == "items" => Err(ArgumentTypeError::new_err(format!(
            "column: expected one of {}, got none",
            names()
        ))),
        None => Err(ArgumentTypeError::new_err(format!(
            "{name}: expected one column, got {}",
            table.num_columns()
        ))),
    }
}

fn refuse_nulls(chunk: &ArrayRef, start: usize, name: &str) -> PyResult<()> {
    let Some(nulls) = chunk.logical_nulls().filter(|nulls| nulls.null_count() > 0) else {
        return Ok(());
    };
    let position = start + nulls.iter().position(|valid| !valid).unwrap_or(0);
    let message = format!("expected no nulls, got one at position {position}; nothing was applied");
    Err(match name {
        "items" => crate::errors::ItemError::new_err(format!("items: {message}")),
        _ => ArgumentValueError::new_err(format!("{name}: {message}")),
    })
}

type Outcome = Result<(), (usize, Fault)>;

fn append<'a, T: Clone>(
    chunk: &'a ArrayRef,
    with: &impl Fn(Item<'a>) -> Result<T, Fault>,
    items: &mut Vec<T>,
) -> Outcome {
    let text = |item: Option<&'a str>| with(Item::Text(item.unwrap_or_default()));
    let bytes = |item: Option<&'a [u8]>| with(Item::Bytes(item.unwrap_or_default()));
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
        DataType::Dictionary(_, _) => dictionary(chunk, with, items),
        // A column of nulls is empty here: refuse_nulls has rejected all others.
        DataType::Null => Ok(()),
        other => {
            let got = format!("expected text, binary or integers, got Arrow type {other}");
            Err((0, Fault::new(got)))
        }
    }
}

fn extend<T>(items: &mut Vec<T>, values: impl Iterator<Item = Result<T, Fault>>) -> Outcome {
    for (offset, value) in values.enumerate() {
        items.push(value.map_err(|fault| (offset, fault))?);
    }
    Ok(())
}

fn signed<'a, A, T>(
    chunk: &ArrayRef,
    with: &impl Fn(Item<'a>) -> Result<T, Fault>,
    items: &mut Vec<T>,
) -> Outcome
where
    A: ArrowPrimitiveType<Native: Into<i64>>,
{
    let values = chunk.as_primitive::<A>().values();
    let converted = values.iter().map(|&item| with(Item::Signed(item.into())));
    extend(items, converted)
}

fn unsigned<'a, A, T>(
    chunk: &ArrayRef,
    with: &impl Fn(Item<'a>) -> Result<T, Fault>,
    items: &mut Vec<T>,
) -> Outcome
where
    A: ArrowPrimitiveType<Native: Into<u64>>,
{
    let values = chunk.as_primitive::<A>().values();
    let converted = values.iter().map(|&item| with(Item::Unsigned(item.into())));
    extend(items, converted)
}

/// Convert every entry of the dictionary once. An entry that cannot be an item is an error only if
/// it occurs; a null entry is reported like a null.
fn dictionary<'a, T: Clone>(
    chunk: &'a ArrayRef,
    with: &impl Fn(Item<'a>) -> Result<T, Fault>,
    items: &mut Vec<T>,
) -> Outcome {
    downcast_dictionary_array!(
        chunk => {
            let mut unconverted = Vec::with_capacity(chunk.values().len());
            let unchanged: fn(Item<'a>) -> Result<Item<'a>, Fault> = Ok;
            let values = append(chunk.values(), &unchanged, &mut unconverted);
            let entries: Vec<_> = unconverted.into_iter().map(with).collect();
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

/// Return the non-negative integers of all chunks.
pub(crate) fn convert_counts(chunks: &[ArrayRef], name: &str) -> PyResult<Vec<u64>> {
    let mut counts = Vec::new();
    for chunk in chunks {
        let chunk = validated(column_of(chunk, None, name, counts.len())?)?;
        refuse_nulls(&chunk, counts.len(), name)?;
        append_counts(&chunk, name, &mut counts)?;
    }
    Ok(counts)
}

fn append_counts(chunk: &ArrayRef, name: &str, counts: &mut Vec<u64>) -> PyResult<()> {
    macro_rules! integers {
        ($type:ty) => {
            chunk
                .as_primitive::<$type>()
                .values()
                .iter()
                .map(|&value| value.into())
        };
    }
    let start = counts.len();
    let signed: Vec<i64> = match chunk.data_type() {
        DataType::UInt8 => integers!(UInt8Type).collect(),
        DataType::UInt16 => integers!(UInt16Type).collect(),
        DataType::UInt32 => integers!(UInt32Type).collect(),
        DataType::UInt64 => {
            counts.extend(chunk.as_primitive::<UInt64Type>().values());
            return Ok(());
        }
        DataType::Int8 => integers!(Int8Type).collect(),
        DataType::Int16 => integers!(Int16Type).collect(),
        DataType::Int32 => integers!(Int32Type).collect(),
        DataType::Int64 => chunk.as_primitive::<Int64Type>().values().to_vec(),
        other => {
            let message = format!("{name}: expected integers, got Arrow type {other}");
            return Err(ArgumentTypeError::new_err(message));
        }
    };
    match signed.iter().position(|&value| value < 0) {
        None => counts.extend(signed.into_iter().map(i64::cast_unsigned)),
        Some(offset) => {
            return Err(ArgumentValueError::new_err(format!(
                "{name}: expected non-negative integers, got a negative one at position {}",
                start + offset
            )));
        }
    }
    Ok(())
}
