//! Import of Arrow data through the PyCapsule interface: pyarrow, polars, pandas, duckdb and others.
//!
//! The entire stream is drained before anything is applied. The structs are checked first
//! ([`crate::arrow_layout`]), values by [`crate::arrow`]. Exported memory is immutable by contract;
//! a producer that changes it during the call violates that, and this code cannot detect it.
#![allow(unsafe_code)]

use crate::arrow_layout::{Broken, RawArray, RawSchema, check_array, check_schema};
use crate::errors::{ArgumentTypeError, ArgumentValueError, raise, type_name};
use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi_and_data_type};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_data::ArrayData;
use arrow_schema::extension::EXTENSION_TYPE_NAME_KEY;
use arrow_schema::{ArrowError, DataType};
use lazysketch_core::memory;
use pyo3::exceptions::{PyException, PyMemoryError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyTuple};
use std::ffi::{CStr, c_int};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// One array as it was imported: a column or a table, not yet validated.
pub(crate) struct Imported {
    pub(crate) data: ArrayData,
    /// The extension type of the array itself.
    pub(crate) extension: Option<String>,
}

/// Most arrays of a stream, which could otherwise go on for ever without any values.
const MOST_ARRAYS: usize = 1 << 20;
/// `ENOMEM` of every system.
const NO_MEMORY: c_int = 12;

/// Return the arrays of an object with the PyCapsule interface, `None` for other objects.
pub(crate) fn arrays_of(object: &Bound<'_, PyAny>, name: &str) -> PyResult<Option<Vec<Imported>>> {
    let py = object.py();
    // Short batches are arrays: a failed lookup of `__arrow_c_stream__` costs more than counting.
    if let Some(export) = object.getattr_opt(intern!(py, "__arrow_c_array__"))? {
        let exported = exported(object, &export, name)?;
        let wrong = || not_capsules(name, "__arrow_c_array__", "two capsules", &exported);
        let pair = exported.cast::<PyTuple>().map_err(|_| wrong())?;
        let (schema, array) = (pair.get_item(0), pair.get_item(1));
        let (Ok(schema), Ok(array), 2) = (schema, array, pair.len()) else {
            return Err(wrong());
        };
        let (Ok(schema), Ok(array)) = (schema.cast::<PyCapsule>(), array.cast::<PyCapsule>())
        else {
            return Err(wrong());
        };
        return single(schema, array, name).map(|array| Some(vec![array]));
    }
    if let Some(export) = object.getattr_opt(intern!(py, "__arrow_c_stream__"))? {
        let exported = exported(object, &export, name)?;
        let capsule = exported
            .cast::<PyCapsule>()
            .map_err(|_| not_capsules(name, "__arrow_c_stream__", "a capsule", &exported))?;
        return drain(capsule, name).map(Some);
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

fn not_capsules(name: &str, method: &str, expected: &str, got: &Bound<'_, PyAny>) -> PyErr {
    let got = type_name(got);
    ArgumentTypeError::new_err(format!(
        "{name}: expected {expected} from {method}, got {got}"
    ))
}

/// The struct in a capsule of the interface.
fn pointer_of<T>(capsule: &Bound<'_, PyCapsule>, kind: &CStr, name: &str) -> PyResult<*mut T> {
    let wrong = |_| {
        let kind = kind.to_string_lossy();
        ArgumentTypeError::new_err(format!(
            "{name}: expected a capsule named {kind}, got another"
        ))
    };
    let pointer = capsule.pointer_checked(Some(kind)).map_err(wrong)?.as_ptr();
    let pointer = pointer.cast::<T>();
    if pointer.is_aligned() {
        return Ok(pointer);
    }
    Err(broken(name, "a capsule with an unaligned address"))
}

fn single(
    schema: &Bound<'_, PyCapsule>,
    array: &Bound<'_, PyCapsule>,
    name: &str,
) -> PyResult<Imported> {
    let schema: *mut FFI_ArrowSchema = pointer_of(schema, c"arrow_schema", name)?;
    let array: *mut FFI_ArrowArray = pointer_of(array, c"arrow_array", name)?;
    // SAFETY: by their names the capsules hold a schema and an array; both outlive this call. The
    // schema is only read and stays in its capsule. `from_raw` moves the array out and leaves a
    // released one in its place, which the capsule's destructor ignores.
    unsafe {
        let of_type = Type::of(&*schema, name)?;
        check_array(&*array.cast::<RawArray>(), &*schema.cast::<RawSchema>())
            .map_err(|got| broken(name, got))?;
        imported(FFI_ArrowArray::from_raw(array), &of_type, name)
    }
}

fn drain(capsule: &Bound<'_, PyCapsule>, name: &str) -> PyResult<Vec<Imported>> {
    let pointer: *mut FFI_ArrowArrayStream = pointer_of(capsule, c"arrow_array_stream", name)?;
    // SAFETY: by its name the capsule holds a stream; `from_raw` moves it out as above.
    let mut stream = unsafe { FFI_ArrowArrayStream::from_raw(pointer) };
    let (Some(get_schema), Some(get_next), Some(_)) =
        (stream.get_schema(), stream.get_next(), stream.release())
    else {
        return Err(broken(name, "a stream that was released or used before"));
    };
    let mut schema = FFI_ArrowSchema::empty();
    // SAFETY: the stream is not released; the producer fills the schema and returns 0, or fails.
    check_status(unsafe { get_schema(&mut stream, &mut schema) }, name)?;
    // SAFETY: the producer filled it.
    let of_type = unsafe { Type::of(&schema, name) }?;
    let mut arrays = Vec::new();
    loop {
        let mut array = FFI_ArrowArray::empty();
        // SAFETY: as above.
        check_status(unsafe { get_next(&mut stream, &mut array) }, name)?;
        if array.is_released() {
            return Ok(arrays);
        }
        if arrays.len() == MOST_ARRAYS {
            return Err(broken(name, "a stream of more than 1048576 arrays"));
        }
        if arrays.len() % 1024 == 1023 {
            capsule.py().check_signals()?;
        }
        // SAFETY: the producer filled the array; the schema is that of the stream.
        let imported = unsafe {
            let raw = (&raw const array).cast::<RawArray>();
            check_array(&*raw, &*(&raw const schema).cast::<RawSchema>())
                .map_err(|got| broken(name, got))?;
            imported(array, &of_type, name)?
        };
        memory::push(&mut arrays, imported).map_err(raise)?;
    }
}

/// The type of an array or a stream.
struct Type {
    data_type: DataType,
    extension: Option<String>,
}

impl Type {
    /// # Safety
    ///
    /// A producer filled the schema.
    unsafe fn of(schema: &FFI_ArrowSchema, name: &str) -> PyResult<Self> {
        // SAFETY: the same struct; its pointers are null or valid by contract.
        unsafe { check_schema(&*(&raw const *schema).cast::<RawSchema>()) }
            .map_err(|got| broken(name, got))?;
        let read = || {
            let mut metadata = schema.metadata()?;
            Ok(Self {
                data_type: DataType::try_from(schema)?,
                extension: metadata.remove(EXTENSION_TYPE_NAME_KEY),
            })
        };
        without_panic(name, read)
    }
}

/// # Safety
///
/// The array was checked against the schema of this type.
unsafe fn imported(array: FFI_ArrowArray, of_type: &Type, name: &str) -> PyResult<Imported> {
    if of_type.data_type == DataType::Null {
        // Some producers give nulls a validity bitmap, which `from_ffi` refuses.
        let data = ArrayData::new_null(&DataType::Null, array.len());
        return Ok(Imported {
            data,
            extension: None,
        });
    }
    // SAFETY: the struct was checked; that buffers are as large as it says is the contract.
    let import = || unsafe { from_ffi_and_data_type(array, of_type.data_type.clone()) };
    Ok(Imported {
        data: without_panic(name, import)?,
        extension: of_type.extension.clone(),
    })
}

fn check_status(status: c_int, name: &str) -> PyResult<()> {
    match status {
        0 => Ok(()),
        NO_MEMORY => Err(PyMemoryError::new_err(format!(
            "{name}: expected a stream that can be read, got one whose producer has no memory"
        ))),
        other => Err(ArgumentValueError::new_err(format!(
            "{name}: expected a stream that can be read to its end, got error {other} from its \
             producer"
        ))),
    }
}

/// Run code of the Arrow library on foreign data. A panic there, as any error, means malformed
/// data: nothing of ours is changed by it.
pub(crate) fn without_panic<T>(
    name: &str,
    run: impl FnOnce() -> Result<T, ArrowError>,
) -> PyResult<T> {
    match catch_unwind(AssertUnwindSafe(run)) {
        Ok(done) => done.map_err(|error| malformed(name, &error)),
        Err(_) => Err(broken(name, "data that the Arrow library cannot read")),
    }
}

fn malformed(name: &str, error: &ArrowError) -> PyErr {
    // The message of an ArrowError may quote values, so only its kind is shown.
    let kind = match error {
        ArrowError::CDataInterface(_) => "data that break the Arrow C interface",
        _ => "malformed Arrow data",
    };
    broken(name, kind)
}

/// Return the error for Arrow data that are not valid.
pub(crate) fn broken(name: &str, got: Broken) -> PyErr {
    ArgumentValueError::new_err(format!("{name}: expected valid Arrow data, got {got}"))
}
