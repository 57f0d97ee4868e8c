//! Checks of the structs of the Arrow C data interface, before anything is read through them.
//!
//! A producer may be wrong in every field, and the import of `arrow_array` relies on them. What the
//! interface does not tell cannot be checked: the sizes of buffers, and whether a pointer is one.
//!
//! Source: the Arrow C data interface, <https://arrow.apache.org/docs/format/CDataInterface.html>.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_char, c_void};
use std::slice;

/// What is wrong with the data of a producer; no part of the data is in it.
pub(crate) type Broken = &'static str;

/// The C struct `ArrowSchema`.
#[repr(C)]
pub(crate) struct RawSchema {
    format: *const c_char,
    name: *const c_char,
    metadata: *const c_char,
    flags: i64,
    n_children: i64,
    children: *mut *mut Self,
    dictionary: *mut Self,
    release: Option<unsafe extern "C" fn(*mut Self)>,
    private_data: *mut c_void,
}

/// The C struct `ArrowArray`.
#[repr(C)]
pub(crate) struct RawArray {
    length: i64,
    null_count: i64,
    offset: i64,
    n_buffers: i64,
    n_children: i64,
    buffers: *mut *const c_void,
    children: *mut *mut Self,
    dictionary: *mut Self,
    release: Option<unsafe extern "C" fn(*mut Self)>,
    private_data: *mut c_void,
}

/// Types nested deeper than this are refused.
const DEEPEST: u32 = 32;
/// Largest length plus offset: no size of a buffer overflows.
const LONGEST: i64 = 1 << 55;
/// Index types of dictionaries.
const INDICES: [&str; 8] = ["c", "C", "s", "S", "i", "I", "l", "L"];

/// The buffers of a type, without those of its children.
enum Layout {
    /// A validity bitmap and values of this many bytes, or less than a byte for 1.
    Fixed(usize),
    /// A validity bitmap, offsets of this many bytes, and what they point to if it is bytes.
    Offsets(usize, bool),
    /// A validity bitmap, views, any number of buffers, and their lengths.
    Views,
    /// This many buffers, whose values are never read here.
    Unread(i64),
    /// Nulls: no buffers, or one that is never read.
    Nulls,
}

/// Checks a schema and everything below it.
///
/// # Safety
///
/// The pointers in it must be null or valid.
pub(crate) unsafe fn check_schema(schema: &RawSchema) -> Result<(), Broken> {
    if schema.release.is_none() {
        return Err("a schema that was released or used before");
    }
    // SAFETY: as the caller promises.
    unsafe { check_schema_below(schema, 0) }
}

unsafe fn check_schema_below(schema: &RawSchema, depth: u32) -> Result<(), Broken> {
    if depth > DEEPEST {
        return Err("types that are nested too deeply");
    }
    // SAFETY: as the caller promises.
    let format = unsafe { text(schema.format) }?.ok_or("a schema without a format")?;
    // SAFETY: as above.
    unsafe { text(schema.name) }?;
    // SAFETY: as above.
    let (children, dictionary) = unsafe {
        let children = pointers(schema.children, schema.n_children)?;
        (children, schema.dictionary.as_ref())
    };
    let expected = match format {
        "+l" | "+L" | "+vl" | "+vL" | "+m" => Some(1),
        "+r" => Some(2),
        "+s" => None,
        other if other.starts_with("+w:") => Some(1),
        other if other.starts_with("+u") => None,
        _ => Some(0),
    };
    if expected.is_some_and(|expected| expected != children.len()) {
        return Err("a schema with a wrong number of children");
    }
    if dictionary.is_some() && !INDICES.contains(&format) {
        return Err("a dictionary whose indices are not integers");
    }
    for &child in children {
        // SAFETY: `pointers` found no null among them.
        unsafe { check_schema_below(&*child, depth + 1) }?;
    }
    // SAFETY: as above.
    dictionary.map_or(Ok(()), |dictionary| unsafe {
        check_schema_below(dictionary, depth + 1)
    })
}

/// Checks an array and everything below it against its schema, which was checked.
///
/// # Safety
///
/// The pointers in it must be null or valid.
pub(crate) unsafe fn check_array(array: &RawArray, schema: &RawSchema) -> Result<(), Broken> {
    if array.release.is_none() {
        return Err("an array that was released or used before");
    }
    // SAFETY: as the caller promises.
    unsafe { check_array_below(array, schema) }
}

unsafe fn check_array_below(array: &RawArray, schema: &RawSchema) -> Result<(), Broken> {
    if array.length < 0 || array.offset < 0 {
        return Err("an array with a negative length or offset");
    }
    if !(-1..=array.length).contains(&array.null_count) {
        return Err("an array with an impossible number of nulls");
    }
    let end = array.length.checked_add(array.offset);
    let end = end
        .filter(|&end| end <= LONGEST)
        .ok_or("an array that is too long")?;
    // SAFETY: as the caller promises; the schema was checked.
    let format = unsafe { text(schema.format) }?.unwrap_or_default();
    // SAFETY: as above.
    unsafe { check_buffers(array, layout_of(format)?, format, end as usize) }?;
    // SAFETY: as above.
    let (children, types, dictionary) = unsafe {
        (
            pointers(array.children, array.n_children)?,
            pointers(schema.children, schema.n_children)?,
            array.dictionary.as_ref().zip(schema.dictionary.as_ref()),
        )
    };
    if children.len() != types.len() {
        return Err("an array with a wrong number of children");
    }
    if array.dictionary.is_null() != schema.dictionary.is_null() {
        return Err("a dictionary in the array or in the schema only");
    }
    for (&child, &of_type) in children.iter().zip(types) {
        // SAFETY: `pointers` found no null among them.
        let (child, of_type) = unsafe { (&*child, &*of_type) };
        // SAFETY: as above.
        unsafe { check_array_below(child, of_type) }?;
        if format == "+s" && child.length < end {
            return Err("a column that is shorter than its table");
        }
    }
    // SAFETY: as above.
    dictionary.map_or(Ok(()), |(values, of_type)| unsafe {
        check_array_below(values, of_type)
    })
}

fn layout_of(format: &str) -> Result<Layout, Broken> {
    Ok(match format {
        "n" => Layout::Nulls,
        "+r" => Layout::Unread(0),
        "+s" => Layout::Unread(1),
        "+vl" | "+vL" => Layout::Unread(3),
        "u" | "z" => Layout::Offsets(4, true),
        "U" | "Z" => Layout::Offsets(8, true),
        "+l" | "+m" => Layout::Offsets(4, false),
        "+L" => Layout::Offsets(8, false),
        "vu" | "vz" => Layout::Views,
        other => match other.split_once(':') {
            Some(("+w", _)) => Layout::Unread(1),
            Some(("+ud", _)) => Layout::Unread(2),
            Some(("+us", _)) => Layout::Unread(1),
            Some(("w", width)) => Layout::Fixed(
                width
                    .parse::<u32>()
                    .ok()
                    .filter(|&width| width <= i32::MAX as u32)
                    .ok_or("a width of values that is not a number")? as usize,
            ),
            _ => Layout::Fixed(1),
        },
    })
}

/// Checks the buffers of an array that ends at value `end`.
unsafe fn check_buffers(
    array: &RawArray,
    layout: Layout,
    format: &str,
    end: usize,
) -> Result<(), Broken> {
    // SAFETY: as the caller promises. Buffers themselves may be null.
    let buffers = unsafe { slice_of(array.buffers.cast_const(), array.n_buffers)? };
    let right = match layout {
        Layout::Fixed(_) => buffers.len() == 2,
        Layout::Offsets(_, of_bytes) => buffers.len() == if of_bytes { 3 } else { 2 },
        Layout::Views => buffers.len() >= 3,
        Layout::Unread(number) => buffers.len() as i64 == number,
        Layout::Nulls => buffers.len() <= 1,
    };
    if !right {
        return Err("an array with a wrong number of buffers");
    }
    let has_validity = !format.starts_with("+u") && format != "n" && !buffers.is_empty();
    if has_validity && array.null_count > 0 && buffers[0].is_null() {
        return Err("nulls without a validity bitmap");
    }
    match layout {
        Layout::Unread(_) | Layout::Nulls => Ok(()),
        Layout::Fixed(width) => {
            let bytes = end.checked_mul(width);
            let fits = bytes.is_some_and(|bytes| bytes <= (isize::MAX as usize) / 8);
            (fits.then_some(())).ok_or("an array that is too long")?;
            present(buffers[1], bytes.unwrap_or(0) > 0)
        }
        Layout::Views => {
            present(buffers[1], end > 0)?;
            let (data, lengths) = (&buffers[2..buffers.len() - 1], buffers[buffers.len() - 1]);
            // SAFETY: the interface promises one length per buffer.
            let lengths = unsafe { slice_of(lengths.cast::<i64>(), data.len() as i64)? };
            for (&buffer, &length) in data.iter().zip(lengths) {
                if length < 0 {
                    return Err("a buffer of a negative length");
                }
                present(buffer, length > 0)?;
            }
            Ok(())
        }
        Layout::Offsets(width, of_bytes) => {
            present(buffers[1], end > 0)?;
            if end == 0 {
                return Ok(());
            }
            // SAFETY: the interface promises one offset more than there are values.
            let (first, last) = unsafe {
                let at = |position| offset_at(buffers[1], width, position);
                (at(array.offset as usize)?, at(end)?)
            };
            if first < 0 || last < first {
                return Err("offsets that decrease");
            }
            if of_bytes {
                present(buffers[2], last > 0)
            } else {
                Ok(())
            }
        }
    }
}

unsafe fn offset_at(offsets: *const c_void, width: usize, position: usize) -> Result<i64, Broken> {
    if !(offsets as usize).is_multiple_of(width) {
        return Err("offsets at an unaligned address");
    }
    // SAFETY: the pointer is aligned, and the caller promises this number of offsets.
    Ok(unsafe {
        match width {
            4 => (*offsets.cast::<i32>().add(position)).into(),
            _ => *offsets.cast::<i64>().add(position),
        }
    })
}

fn present(buffer: *const c_void, needed: bool) -> Result<(), Broken> {
    if needed && buffer.is_null() {
        return Err("no buffer for the values of an array");
    }
    Ok(())
}

/// A string of the interface, `None` for null.
unsafe fn text<'a>(text: *const c_char) -> Result<Option<&'a str>, Broken> {
    if text.is_null() {
        return Ok(None);
    }
    // SAFETY: the interface promises a string that ends with 0.
    let text = unsafe { CStr::from_ptr(text) };
    text.to_str()
        .map(Some)
        .map_err(|_| "a name or format that is not UTF-8")
}

/// A number of values behind a pointer, which may be null if there are none.
unsafe fn slice_of<'a, T>(values: *const T, number: i64) -> Result<&'a [T], Broken> {
    let number = usize::try_from(number).map_err(|_| "a negative number of buffers or children")?;
    if number == 0 {
        return Ok(&[]);
    }
    if values.is_null() || !values.is_aligned() || number > LONGEST as usize / size_of::<T>() {
        return Err("buffers or children without an address");
    }
    // SAFETY: aligned and not null; the caller promises this number of values.
    Ok(unsafe { slice::from_raw_parts(values, number) })
}

/// Pointers to children, none of them null.
unsafe fn pointers<'a, T>(children: *mut *mut T, number: i64) -> Result<&'a [*mut T], Broken> {
    // SAFETY: as the caller promises.
    let children = unsafe { slice_of(children.cast_const(), number) }?;
    if children
        .iter()
        .any(|child| child.is_null() || !child.is_aligned())
    {
        return Err("buffers or children without an address");
    }
    Ok(children)
}
