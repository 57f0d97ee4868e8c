//! Arrow data through the PyCapsule interface: pyarrow, polars, pandas, duckdb and others.
//!
//! The entire stream is drained and validated before anything is applied; [`crate::arrow_items`]
//! converts the values. Exported memory is immutable by contract; a producer that changes it during
//! the call violates that, and this code cannot detect it.
#![allow(unsafe_code)]

use crate::errors::{ArgumentTypeError, ArgumentValueError, type_name};
use arrow_array::cast::AsArray;
use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi};
use arrow_array::ffi_stream::{ArrayStreamReader, FFI_ArrowArrayStream};
use arrow_array::types::{
    Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{
    Array, ArrayReader, ArrayRef, GenericStringArray, OffsetSizeTrait, StringViewArray, make_array,
};
use arrow_schema::extension::EXTENSION_TYPE_NAME_KEY;
use arrow_schema::{ArrowError, DataType};
use lazysketch_core::item::UUID_BYTES;
use pyo3::exceptions::{PyException, PyMemoryError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyTuple};

/// One array of a column.
#[derive(Clone)]
pub(crate) struct Chunk {
    pub(crate) array: ArrayRef,
    /// True for the extension type `arrow.uuid`, whose storage is binary of 16 bytes.
    pub(crate) is_uuid: bool,
}

impl Chunk {
    /// The array of a field with this extension type.
    fn new(array: ArrayRef, extension: Option<&str>) -> Self {
        let is_uuid = extension == Some("arrow.uuid")
            && *array.data_type() == DataType::FixedSizeBinary(UUID_BYTES as i32);
        Self { array, is_uuid }
    }

    /// Number of values.
    pub(crate) fn len(&self) -> usize {
        self.array.len()
    }
}

/// Return the chunks of an object with the PyCapsule interface, `None` for other objects.
pub(crate) fn chunks_of(object: &Bound<'_, PyAny>, name: &str) -> PyResult<Option<Vec<Chunk>>> {
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

fn drain(capsule: &Bound<'_, PyCapsule>) -> PyResult<Vec<Chunk>> {
    let pointer = capsule.pointer_checked(Some(c"arrow_array_stream"))?;
    // SAFETY: by its name the capsule holds an ArrowArrayStream; `from_raw` moves the stream out
    // and leaves a released one in its place, which the capsule's destructor ignores.
    let stream = unsafe { FFI_ArrowArrayStream::from_raw(pointer.cast().as_ptr()) };
    let reader = ArrayStreamReader::try_new(stream).map_err(malformed)?;
    let field = reader.field().clone();
    let chunk = |array| Ok(Chunk::new(laid_out(array)?, field.extension_type_name()));
    reader
        .map(|array| array.map_err(malformed).and_then(chunk))
        .collect()
}

fn single(schema: &Bound<'_, PyCapsule>, array: &Bound<'_, PyCapsule>) -> PyResult<Chunk> {
    let schema = schema.pointer_checked(Some(c"arrow_schema"))?;
    let array = array.pointer_checked(Some(c"arrow_array"))?;
    // SAFETY: by their names the capsules hold a schema and an array. The array is moved out as
    // above; the schema is only read and stays in its capsule, which outlives this call.
    let (data, metadata) = unsafe {
        let array = FFI_ArrowArray::from_raw(array.cast().as_ptr());
        let schema = schema.cast::<FFI_ArrowSchema>().as_ref();
        (from_ffi(array, schema), schema.metadata())
    };
    let array = laid_out(make_array(data.map_err(malformed)?))?;
    let metadata = metadata.map_err(malformed)?;
    let extension = metadata.get(EXTENSION_TYPE_NAME_KEY);
    Ok(Chunk::new(array, extension.map(String::as_str)))
}

/// Validate the layout before anything is read through it; [`columns`] validates the values of the
/// requested column.
fn laid_out(array: ArrayRef) -> PyResult<ArrayRef> {
    let data = array.to_data();
    let checked = data.validate().and_then(|()| data.validate_nulls());
    checked.map_err(malformed).map(|()| array)
}

/// Validate offsets, views, dictionary indices and UTF-8 before anything is read through them.
fn validated(chunk: Chunk) -> PyResult<Chunk> {
    let array = &chunk.array;
    let valid = match array.data_type() {
        DataType::Utf8 => is_plain_text(array.as_string::<i32>()),
        DataType::LargeUtf8 => is_plain_text(array.as_string::<i64>()),
        DataType::Utf8View => are_plain_views(array.as_string_view()),
        _ => false,
    };
    if !valid {
        array.to_data().validate_full().map_err(malformed)?;
    }
    Ok(chunk)
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

/// Return the column of each chunk; raise if it has nulls.
pub(crate) fn columns(chunks: &[Chunk], column: Option<&str>) -> PyResult<Vec<Chunk>> {
    let mut start = 0;
    let of_chunk = |chunk: &Chunk| {
        let found = validated(column_of(chunk, column, "items", start)?)?;
        refuse_nulls(&found.array, start, "items")?;
        start += chunk.len();
        Ok(found)
    };
    chunks.iter().map(of_chunk).collect()
}

/// Return the requested column of a table, or the chunk itself.
fn column_of(chunk: &Chunk, column: Option<&str>, name: &str, start: usize) -> PyResult<Chunk> {
    let DataType::Struct(fields) = chunk.array.data_type() else {
        return match column {
            None => Ok(chunk.clone()),
            Some(column) => Err(ArgumentTypeError::new_err(format!(
                "column: expected none for data without columns, got {column:?}"
            ))),
        };
    };
    let table = chunk.array.as_struct();
    refuse_nulls(&chunk.array, start, name)?;
    let names = || {
        let names: Vec<_> = fields.iter().map(|field| field.name().as_str()).collect();
        names.join(", ")
    };
    let at = |position: usize| {
        Chunk::new(
            table.column(position).clone(),
            fields[position].extension_type_name(),
        )
    };
    match column {
        Some(column) => fields
            .find(column)
            .map(|(at_field, _)| at(at_field))
            .ok_or_else(|| {
                let names = names();
                ArgumentValueError::new_err(format!(
                    "column: expected one of {names}, got {column:?}"
                ))
            }),
        None if table.num_columns() == 1 => Ok(at(0)),
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

/// Return the non-negative integers of all chunks.
pub(crate) fn convert_counts(chunks: &[Chunk], name: &str) -> PyResult<Vec<u64>> {
    let mut counts = Vec::new();
    for chunk in chunks {
        let chunk = validated(column_of(chunk, None, name, counts.len())?)?;
        refuse_nulls(&chunk.array, counts.len(), name)?;
        append_counts(&chunk.array, name, &mut counts)?;
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
