//! Conversion of single Python objects to fingerprints or indices.

use crate::errors::{ArgumentTypeError, ArgumentValueError, ItemError, says_wrong_type, type_name};
use crate::standard_types::{Standard, object_of_date, object_of_instant, object_of_uuid};
use lazysketch_core::Error;
use lazysketch_core::item::Item;
use lazysketch_core::table::hash::Fingerprinter;
use pyo3::exceptions::{PyMemoryError, PyOverflowError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyBytes, PyInt, PyString, PyType};
use std::num::NonZero;
use std::sync::OnceLock;
use std::thread::available_parallelism;

/// The types of items, as error messages name them.
const EXPECTED: &str = "expected str, bytes, int, datetime, date or UUID";

/// The result of converting an item.
#[derive(Clone, Copy)]
pub(crate) enum Target<'a> {
    /// A fingerprint under the sketch's hash seed.
    Fingerprint(&'a Fingerprinter),
    /// An index up to this one.
    Index(u64),
}

/// An item error; its message contains types, never values.
#[derive(Clone)]
pub(crate) struct Fault {
    message: String,
    is_memory: bool,
}

impl Fault {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            is_memory: false,
        }
    }

    /// No memory for the items.
    pub(crate) fn memory(error: &Error) -> Self {
        Self {
            message: error.to_string(),
            is_memory: true,
        }
    }

    /// More than one call takes.
    pub(crate) fn too_large(message: String) -> Self {
        Self {
            message,
            is_memory: true,
        }
    }

    /// Return the exception for a single item.
    pub(crate) fn of_item(self) -> PyErr {
        if self.is_memory {
            return PyMemoryError::new_err(self.message);
        }
        ItemError::new_err(format!("item: {}", self.message))
    }

    /// Return the exception for an item of a batch.
    pub(crate) fn at(self, position: usize) -> PyErr {
        self.in_argument("items", position)
    }

    /// As [`Self::at`], for another argument.
    pub(crate) fn in_argument(self, name: &str, position: usize) -> PyErr {
        if self.is_memory {
            return PyMemoryError::new_err(self.message);
        }
        ItemError::new_err(format!(
            "{name}: {} at position {position}; nothing was applied",
            self.message
        ))
    }
}

type Converted = Result<u64, Fault>;

impl Target<'_> {
    /// Return the fault of what cannot be an item here.
    pub(crate) fn refuse(&self, got: &str) -> Fault {
        let expected = match self {
            Self::Fingerprint(_) => EXPECTED.to_owned(),
            Self::Index(last) => format!("expected an integer from 0 to {last}"),
        };
        Fault::new(format!("{expected}, got {got}"))
    }

    /// Convert an item.
    #[inline(always)]
    pub(crate) fn item(&self, item: Item<'_>) -> Converted {
        match (self, item) {
            (Self::Fingerprint(fingerprinter), item) => Ok(fingerprinter.item(item)),
            (Self::Index(_), Item::Signed(item)) => match u64::try_from(item) {
                Ok(index) => self.item(Item::Unsigned(index)),
                Err(_) => Err(self.refuse("a negative one")),
            },
            (Self::Index(last), Item::Unsigned(item)) if item <= *last => Ok(item),
            (Self::Index(_), Item::Unsigned(_) | Item::Wide(_)) => Err(self.refuse("a larger one")),
            (Self::Index(_), Item::Text(_)) => Err(self.refuse("str")),
            (Self::Index(_), Item::Bytes(_)) => Err(self.refuse("bytes")),
            (Self::Index(_), Item::Instant(_)) => Err(self.refuse("datetime")),
            (Self::Index(_), Item::Date(_)) => Err(self.refuse("date")),
            (Self::Index(_), Item::Uuid(_)) => Err(self.refuse("UUID")),
        }
    }

    /// Convert any Python object.
    #[inline]
    pub(crate) fn object(&self, item: &Bound<'_, PyAny>) -> Converted {
        with_item(item, &|got| self.refuse(got), |item| self.item(item))
    }
}

/// Return the fault of an object that cannot be an item.
pub(crate) fn no_item(got: &str) -> Fault {
    Fault::new(format!("{EXPECTED}, got {got}"))
}

/// Call `with` on the item that a Python object is, or return the fault that `refuse` makes.
#[inline(always)]
pub(crate) fn with_item<T>(
    object: &Bound<'_, PyAny>,
    refuse: &dyn Fn(&str) -> Fault,
    with: impl FnOnce(Item<'_>) -> Result<T, Fault>,
) -> Result<T, Fault> {
    if let Ok(text) = object.cast_exact::<PyString>() {
        return with_text(text, refuse, with);
    }
    if let Ok(integer) = object.cast_exact::<PyInt>() {
        return with_integer(integer, refuse, with);
    }
    if let Ok(bytes) = object.cast_exact::<PyBytes>() {
        return with(Item::Bytes(bytes.as_bytes()));
    }
    with_uncommon(object, refuse, with)
}

/// True for str, int and bytes themselves, of which [`with_item`] calls no method in Python.
#[inline]
pub(crate) fn is_common(object: &Bound<'_, PyAny>) -> bool {
    object.is_exact_instance_of::<PyString>()
        || object.is_exact_instance_of::<PyInt>()
        || object.is_exact_instance_of::<PyBytes>()
}

/// Convert a signed 64-bit integer, the commonest item and the fastest to convert.
#[inline]
pub(crate) fn small_integer(object: &Bound<'_, PyAny>) -> Option<i64> {
    object.cast_exact::<PyInt>().ok()?.extract().ok()
}

#[inline(always)]
fn with_text<T>(
    text: &Bound<'_, PyString>,
    refuse: &dyn Fn(&str) -> Fault,
    with: impl FnOnce(Item<'_>) -> Result<T, Fault>,
) -> Result<T, Fault> {
    match text.to_str() {
        Ok(text) => with(Item::Text(text)),
        Err(_) => Err(refuse("text with a lone surrogate")),
    }
}

#[inline(always)]
fn with_integer<T>(
    integer: &Bound<'_, PyInt>,
    refuse: &dyn Fn(&str) -> Fault,
    with: impl FnOnce(Item<'_>) -> Result<T, Fault>,
) -> Result<T, Fault> {
    if let Ok(value) = integer.extract::<i64>() {
        return with(Item::Signed(value));
    }
    if let Ok(value) = integer.extract::<u64>() {
        return with(Item::Unsigned(value));
    }
    let bytes =
        two_complement(integer).map_err(|_| refuse("an integer that has no two's complement"))?;
    with(Item::Wide(bytes.as_bytes()))
}

/// An item as a Python object; the inverse of [`with_item`].
pub(crate) fn object_of<'py>(py: Python<'py>, item: Item<'_>) -> PyResult<Bound<'py, PyAny>> {
    Ok(match item {
        Item::Text(text) => PyString::new(py, text).into_any(),
        Item::Bytes(bytes) => PyBytes::new(py, bytes).into_any(),
        Item::Signed(integer) => integer.into_pyobject(py)?.into_any(),
        Item::Unsigned(integer) => integer.into_pyobject(py)?.into_any(),
        Item::Wide(bytes) => {
            let options = pyo3::types::PyDict::new(py);
            options.set_item("signed", true)?;
            let arguments = (PyBytes::new(py, bytes), "little");
            let int = py.get_type::<PyInt>();
            int.call_method("from_bytes", arguments, Some(&options))?
        }
        Item::Instant(microseconds) => object_of_instant(py, microseconds)?,
        Item::Date(days) => object_of_date(py, days)?,
        Item::Uuid(bytes) => object_of_uuid(py, bytes)?,
    })
}

/// Return an item as a plain Python value: no subclass, no scalar of numpy or Arrow, instants in
/// UTC. Raise an `ItemError` for anything else; `name` and `place` begin and end its message.
#[pyfunction]
#[pyo3(signature = (value, *, name, place))]
pub(crate) fn plain_item<'py>(
    value: &Bound<'py, PyAny>,
    name: &str,
    place: &str,
) -> PyResult<Bound<'py, PyAny>> {
    let plain = with_item(value, &no_item, |item| Ok(object_of(value.py(), item)));
    plain.map_err(|fault| ItemError::new_err(format!("{name}: {}{place}", fault.message)))?
}

/// Convert subclasses, numpy scalars, standard types and Arrow scalars; refuse everything else.
fn with_uncommon<T>(
    item: &Bound<'_, PyAny>,
    refuse: &dyn Fn(&str) -> Fault,
    with: impl FnOnce(Item<'_>) -> Result<T, Fault>,
) -> Result<T, Fault> {
    if item.is_instance_of::<PyBool>() {
        return Err(refuse("bool"));
    }
    if let Ok(bytes) = item.cast::<PyBytes>() {
        return with(Item::Bytes(bytes.as_bytes()));
    }
    if let Ok(text) = item.cast::<PyString>() {
        return with_text(text, refuse, with);
    }
    if let Ok(integer) = item.cast::<PyInt>() {
        return with_integer(integer, refuse, with);
    }
    if is_numpy_scalar(item).unwrap_or(false)
        && let Ok(value) = item.extract::<i64>()
    {
        return with(Item::Signed(value));
    }
    match Standard::of(item).map_err(|got| refuse(&got))? {
        Some(Standard::Instant(microseconds)) => return with(Item::Instant(microseconds)),
        Some(Standard::Date(days)) => return with(Item::Date(days)),
        Some(Standard::Uuid(bytes)) => return with(Item::Uuid(&bytes)),
        None => {}
    }
    let kind = type_name(item);
    let refused = || match kind.as_str() {
        "datetime64" => refuse("numpy datetime64, which has no time zone (use datetime or date)"),
        kind => refuse(kind),
    };
    let module = item.get_type().module().map_err(|_| refused())?;
    let module = module.to_string();
    if module == "numpy" && is_numpy_integer(item).unwrap_or(false) {
        // A timedelta is a numpy integer by class, but has no index.
        let integer = item.call_method0("__index__").map_err(|_| refused())?;
        return with_integer(
            integer.cast::<PyInt>().map_err(|_| refused())?,
            refuse,
            with,
        );
    }
    if module.starts_with("pyarrow") {
        let value = item.call_method0("as_py").map_err(|_| refused())?;
        if !value.get_type().is(item.get_type()) {
            return with_item(&value, refuse, with);
        }
    }
    Err(refused())
}

/// Return whether an object has one of numpy's integer types, whose `__index__` is their value.
fn is_numpy_scalar(item: &Bound<'_, PyAny>) -> PyResult<bool> {
    const NAMES: [&str; 8] = [
        "int64", "uint64", "int32", "uint32", "int16", "uint16", "int8", "uint8",
    ];
    static CLASSES: PyOnceLock<Vec<Py<PyAny>>> = PyOnceLock::new();
    let py = item.py();
    let classes = CLASSES.get_or_try_init(py, || {
        let numpy = py.import("numpy")?;
        let class = |name| numpy.getattr(name).map(Bound::unbind);
        NAMES.into_iter().map(class).collect::<PyResult<_>>()
    })?;
    Ok(classes
        .iter()
        .any(|class| item.is_exact_instance(class.bind(py))))
}

fn is_numpy_integer(item: &Bound<'_, PyAny>) -> PyResult<bool> {
    static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    item.is_instance(CLASS.import(item.py(), "numpy", "integer")?)
}

/// Return the shortest little-endian two's complement of an integer of any size.
fn two_complement<'py>(integer: &Bound<'py, PyInt>) -> PyResult<Bound<'py, PyBytes>> {
    // Call the methods of int: a subclass may override them.
    let int = integer.py().get_type::<PyInt>();
    let bits: usize = int.call_method1("bit_length", (integer,))?.extract()?;
    let options = pyo3::types::PyDict::new(integer.py());
    options.set_item("signed", true)?;
    let arguments = (integer, bits / 8 + 1, "little");
    let bytes = int.call_method("to_bytes", arguments, Some(&options))?;
    Ok(bytes.cast_into::<PyBytes>()?)
}

/// Return an unsigned 64-bit integer; [`count_of`] handles all others.
#[inline]
pub(crate) fn small_count(value: &Bound<'_, PyAny>) -> Option<u64> {
    value.cast_exact::<PyInt>().ok()?.extract().ok()
}

/// Return a non-negative integer argument; 64 bits suffice for every limit of the core.
pub(crate) fn count_of(name: &str, value: &Bound<'_, PyAny>) -> PyResult<u64> {
    if let Some(count) = small_count(value) {
        return Ok(count);
    }
    let wrong_type = || {
        let got = type_name(value);
        ArgumentTypeError::new_err(format!(
            "{name}: expected a non-negative integer, got {got}"
        ))
    };
    if value.is_instance_of::<PyBool>() || !value.hasattr("__index__")? {
        return Err(wrong_type());
    }
    let index = value.call_method0("__index__").map_err(|error| {
        // An interrupt, or what the method itself found, is not a matter of types.
        match says_wrong_type(value.py(), &error) {
            true => wrong_type(),
            false => error,
        }
    })?;
    index.extract::<u64>().map_err(|error| {
        if error.is_instance_of::<PyOverflowError>(value.py()) {
            let message = format!("{name}: expected an integer from 0 to 2^64 - 1, got another");
            return ArgumentValueError::new_err(message);
        }
        wrong_type()
    })
}

/// The weight of one event.
#[derive(Clone, Copy)]
pub(crate) struct Weight(pub(crate) u64);

impl<'py> FromPyObject<'_, 'py> for Weight {
    type Error = PyErr;

    fn extract(weight: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        count_of("weight", &weight).map(Self)
    }
}

/// The name of a column.
pub(crate) struct Column(pub(crate) String);

impl<'py> FromPyObject<'_, 'py> for Column {
    type Error = PyErr;

    fn extract(column: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let name = column.cast::<PyString>().map_err(|_| {
            let got = type_name(&column);
            ArgumentTypeError::new_err(format!("column: expected a str, got {got}"))
        })?;
        name.extract().map(Self).map_err(|_: PyErr| {
            ArgumentValueError::new_err("column: expected text, got a str with a lone surrogate")
        })
    }
}

/// A number of steps.
#[derive(Clone, Copy)]
pub(crate) struct Steps(pub(crate) u64);

impl<'py> FromPyObject<'_, 'py> for Steps {
    type Error = PyErr;

    fn extract(steps: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        count_of("steps", &steps).map(Self)
    }
}

/// Largest number of threads for one batch, at most that of processors; the core uses fewer if the
/// batch is small.
#[derive(Clone, Copy)]
pub(crate) struct Threads(pub(crate) usize);

impl<'py> FromPyObject<'_, 'py> for Threads {
    type Error = PyErr;

    fn extract(threads: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        match count_of("threads", &threads)? {
            0 => Err(ArgumentValueError::new_err(
                "threads: expected a positive integer, got 0",
            )),
            threads => Ok(Self(processors().min(threads as usize))),
        }
    }
}

/// Processors of this process: more threads take memory for their counts, and gain nothing.
fn processors() -> usize {
    static NUMBER: OnceLock<usize> = OnceLock::new();
    *NUMBER.get_or_init(|| available_parallelism().map_or(1, NonZero::get))
}
