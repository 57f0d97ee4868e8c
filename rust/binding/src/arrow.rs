//! Columns of Arrow data: the requested one of each imported array, validated.
//!
//! Only the requested column becomes a typed array, after its layout and its values were checked, so
//! a table may have other columns of any type. [`crate::arrow_items`] converts the values.

use crate::arrow_import::{Imported, broken, without_panic};
use crate::errors::{ArgumentTypeError, ArgumentValueError, ItemError, raise};
use crate::items::Fault;
use arrow_array::cast::AsArray;
use arrow_array::types::{
    Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type,
    UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{
    Array, ArrayRef, GenericStringArray, OffsetSizeTrait, StringViewArray,
    downcast_dictionary_array, make_array,
};
use arrow_data::ArrayData;
use arrow_schema::DataType;
use lazysketch_core::item::UUID_BYTES;
use lazysketch_core::memory;
use pyo3::prelude::*;

/// One array of a column, validated.
pub(crate) struct Chunk {
    pub(crate) array: ArrayRef,
    /// True for the extension type `arrow.uuid`, whose storage is binary of 16 bytes.
    pub(crate) is_uuid: bool,
}

impl Chunk {
    /// Number of values.
    pub(crate) fn len(&self) -> usize {
        self.array.len()
    }
}

/// Return the column of each array; raise if it has nulls. Empty columns without a type are left
/// out.
pub(crate) fn columns(
    arrays: &[Imported],
    column: Option<&str>,
    name: &str,
) -> PyResult<Vec<Chunk>> {
    let mut start = 0;
    let mut chunks = memory::room_for(arrays.len()).map_err(raise)?;
    for array in arrays {
        let (data, extension) = column_of(array, column, name, start)?;
        refuse_nulls(&data, start, name)?;
        if *data.data_type() == DataType::Null {
            continue;
        }
        if !can_be_items(data.data_type()) {
            return Err(not_items(data.data_type()).in_argument(name, start));
        }
        let is_uuid = extension == Some("arrow.uuid")
            && *data.data_type() == DataType::FixedSizeBinary(UUID_BYTES as i32);
        let array = validated(data, name)?;
        refuse_null_entries(&array, start, name)?;
        start += array.len();
        chunks.push(Chunk { array, is_uuid });
    }
    Ok(chunks)
}

/// Return whether values of a type are read at all. The others would be refused as items, and some
/// of them, such as runs, claim any number of values without having them in memory.
fn can_be_items(data_type: &DataType) -> bool {
    match data_type {
        DataType::Dictionary(_, values) => {
            !values.is_nested() && !matches!(**values, DataType::Dictionary(..))
        }
        other => other.is_primitive() || is_text_or_bytes(other),
    }
}

/// Return the fault of a type whose values cannot be items.
pub(crate) fn not_items(data_type: &DataType) -> Fault {
    refused(&format!("Arrow type {}", name_of_type(data_type)))
}

/// Return the fault of a value or type that is no item.
pub(crate) fn refused(got: &str) -> Fault {
    let expected = "expected text, binary, integers, dates, timestamps with a time zone or UUIDs";
    Fault::new(format!("{expected}, got {got}"))
}

fn is_text_or_bytes(data_type: &DataType) -> bool {
    use DataType::{Binary, BinaryView, FixedSizeBinary, LargeBinary, LargeUtf8, Utf8, Utf8View};
    matches!(
        data_type,
        Utf8 | LargeUtf8 | Utf8View | Binary | LargeBinary | BinaryView | FixedSizeBinary(_)
    )
}

/// Return the requested column of a table, or the data themselves, and the extension type.
fn column_of<'a>(
    array: &'a Imported,
    column: Option<&str>,
    name: &str,
    start: usize,
) -> PyResult<(ArrayData, Option<&'a str>)> {
    let data = &array.data;
    let DataType::Struct(fields) = data.data_type() else {
        return match column {
            None => Ok((data.clone(), array.extension.as_deref())),
            Some(column) => Err(no_columns(column)),
        };
    };
    refuse_nulls(data, start, name)?;
    // The names of columns are not shown: those of a table without a header are its first row.
    let position = match column {
        Some(column) => fields
            .find(column)
            .map(|(position, _)| position)
            .ok_or_else(|| {
                let (number, got) = (fields.len(), shown(column));
                ArgumentValueError::new_err(format!(
                    "column: expected the name of one of {number} columns, got {got}"
                ))
            })?,
        None if fields.len() == 1 => 0,
        None if name == "items" => {
            let number = fields.len();
            return Err(ArgumentTypeError::new_err(format!(
                "column: expected the name of one of {number} columns, got none"
            )));
        }
        None => {
            array.require_one_column(name)?;
            0
        }
    };
    let child = data.child_data()[position].slice(data.offset(), data.len());
    Ok((child, fields[position].extension_type_name()))
}

impl Imported {
    /// Raise for a table with another number of columns than one.
    pub(crate) fn require_one_column(&self, name: &str) -> PyResult<()> {
        match self.data.data_type() {
            DataType::Struct(fields) if fields.len() != 1 => {
                let number = fields.len();
                let message = format!("{name}: expected one column, got {number}");
                Err(ArgumentTypeError::new_err(message))
            }
            _ => Ok(()),
        }
    }
}

/// Return the error for the name of a column where there are none.
pub(crate) fn no_columns(column: &str) -> PyErr {
    let got = shown(column);
    ArgumentTypeError::new_err(format!(
        "column: expected none for data without columns, got {got}"
    ))
}

/// Return the beginning of a name for a message.
fn shown(column: &str) -> String {
    format!("{:?}", column.chars().take(SHOWN).collect::<String>())
}

const SHOWN: usize = 40;

/// Raise if there is a null. The bitmap decides, not the number that the producer gives.
fn refuse_nulls(data: &ArrayData, start: usize, name: &str) -> PyResult<()> {
    if *data.data_type() == DataType::Null {
        return match data.len() {
            0 => Ok(()),
            _ => Err(null_at(start, name)),
        };
    }
    let first = data
        .nulls()
        .and_then(|nulls| nulls.iter().position(|valid| !valid));
    first.map_or(Ok(()), |position| Err(null_at(start + position, name)))
}

/// Raise if a value is an entry of a dictionary that is null.
fn refuse_null_entries(array: &ArrayRef, start: usize, name: &str) -> PyResult<()> {
    let Some(dictionary) = array.as_any_dictionary_opt() else {
        return Ok(());
    };
    if *dictionary.values().data_type() == DataType::Null {
        return match array.len() {
            0 => Ok(()),
            _ => Err(null_at(start, name)),
        };
    }
    let Some(nulls) = dictionary.values().nulls() else {
        return Ok(());
    };
    let first = key_position(array, |key| nulls.is_null(key));
    first.map_or(Ok(()), |position| Err(null_at(start + position, name)))
}

/// Return the position of the first key of a validated dictionary without nulls that `is`.
fn key_position(array: &ArrayRef, is: impl Fn(usize) -> bool) -> Option<usize> {
    let array: &dyn Array = array;
    downcast_dictionary_array!(
        array => array.keys().values().iter().position(|&key| is(key as usize)),
        _ => None,
    )
}

fn null_at(position: usize, name: &str) -> PyErr {
    let message = format!("expected no nulls, got one at position {position}; nothing was applied");
    match name {
        "items" | "domain" => ItemError::new_err(format!("{name}: {message}")),
        _ => ArgumentValueError::new_err(format!("{name}: {message}")),
    }
}

/// Check layout, offsets, views, dictionary indices and UTF-8 before anything is read through them.
fn validated(data: ArrayData, name: &str) -> PyResult<ArrayRef> {
    without_panic(name, || {
        data.validate()?;
        data.validate_nulls()?;
        let is_text = is_text(data.data_type());
        if !is_text {
            data.validate_full()?;
        }
        let array = make_array(data);
        if is_text && !is_plain(&array) {
            array.to_data().validate_full()?;
        }
        Ok(array)
    })
}

fn is_text(data_type: &DataType) -> bool {
    use DataType::{LargeUtf8, Utf8, Utf8View};
    matches!(data_type, Utf8 | LargeUtf8 | Utf8View)
}

fn is_plain(array: &ArrayRef) -> bool {
    match array.data_type() {
        DataType::Utf8 => is_plain_text(array.as_string::<i32>()),
        DataType::LargeUtf8 => is_plain_text(array.as_string::<i64>()),
        DataType::Utf8View => are_plain_views(array.as_string_view()),
        _ => false,
    }
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

/// Calls a macro with the type of a chunk of integers.
macro_rules! of_integers {
    ($chunk:expr, $name:expr, $append:ident) => {
        match $chunk.data_type() {
            DataType::UInt8 => $append!(UInt8Type),
            DataType::UInt16 => $append!(UInt16Type),
            DataType::UInt32 => $append!(UInt32Type),
            DataType::UInt64 => $append!(UInt64Type),
            DataType::Int8 => $append!(Int8Type),
            DataType::Int16 => $append!(Int16Type),
            DataType::Int32 => $append!(Int32Type),
            DataType::Int64 => $append!(Int64Type),
            _ => return Err(broken($name, "a type that is not its own")),
        }
    };
}

/// Return the non-negative integers of all chunks.
pub(crate) fn convert_counts(arrays: &[Imported], name: &str) -> PyResult<Vec<u64>> {
    let mut counts = Vec::new();
    for array in arrays {
        let (data, _) = column_of(array, None, name, counts.len())?;
        refuse_nulls(&data, counts.len(), name)?;
        if data.data_type().is_integer() {
            append_counts(&validated(data, name)?, name, &mut counts)?;
        } else if *data.data_type() != DataType::Null {
            let got = name_of_type(data.data_type());
            let message = format!("{name}: expected integers, got Arrow type {got}");
            return Err(ArgumentTypeError::new_err(message));
        }
    }
    Ok(counts)
}

/// Return the numbers of all chunks as floats.
pub(crate) fn convert_numbers(arrays: &[Imported], name: &str) -> PyResult<Vec<f64>> {
    let mut numbers = Vec::new();
    for array in arrays {
        let (data, _) = column_of(array, None, name, numbers.len())?;
        refuse_nulls(&data, numbers.len(), name)?;
        if data.data_type().is_integer() || data.data_type().is_floating() {
            append_numbers(&validated(data, name)?, name, &mut numbers)?;
        } else if *data.data_type() != DataType::Null {
            let got = name_of_type(data.data_type());
            let message = format!("{name}: expected numbers, got Arrow type {got}");
            return Err(ArgumentTypeError::new_err(message));
        }
    }
    Ok(numbers)
}

fn append_numbers(chunk: &ArrayRef, name: &str, numbers: &mut Vec<f64>) -> PyResult<()> {
    memory::reserve(numbers, chunk.len()).map_err(raise)?;
    macro_rules! append {
        ($type:ty) => {{
            let values = chunk.as_primitive::<$type>().values();
            numbers.extend(values.iter().map(|&value| value as f64));
        }};
    }
    match chunk.data_type() {
        DataType::Float32 => append!(Float32Type),
        DataType::Float64 => append!(Float64Type),
        DataType::Float16 => {
            let values = chunk.as_primitive::<Float16Type>().values();
            numbers.extend(values.iter().map(|value| value.to_f64()));
        }
        _ => of_integers!(chunk, name, append),
    }
    Ok(())
}

/// Return the name of a type without its parameters, which may contain names of fields.
fn name_of_type(data_type: &DataType) -> String {
    let shown = data_type.to_string();
    shown.split('(').next().unwrap_or_default().to_owned()
}

/// Append integers; all are checked before the first is appended.
fn append_counts(chunk: &ArrayRef, name: &str, counts: &mut Vec<u64>) -> PyResult<()> {
    memory::reserve(counts, chunk.len()).map_err(raise)?;
    macro_rules! append {
        ($type:ty) => {{
            let values = chunk.as_primitive::<$type>().values();
            if let Some(position) = values.iter().position(|&value| i128::from(value) < 0) {
                return Err(ArgumentValueError::new_err(format!(
                    "{name}: expected non-negative integers, got a negative one at position {}",
                    counts.len() + position
                )));
            }
            counts.extend(values.iter().map(|&value| value as u64));
        }};
    }
    of_integers!(chunk, name, append);
    Ok(())
}
