//! Single items: Python objects become fingerprints or indices.

use crate::errors::{ArgumentTypeError, ArgumentValueError, ItemError, type_name};
use lazysketch_core::hash::Fingerprinter;
use pyo3::exceptions::PyOverflowError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyBytes, PyInt, PyString, PyType};

/// What an item becomes.
#[derive(Clone, Copy)]
pub(crate) enum Target<'a> {
    /// A fingerprint under the sketch's hash seed.
    Fingerprint(&'a Fingerprinter),
    /// An index below this number of counters.
    Index(u64),
}

/// What is wrong with an item; the message names types, never values.
pub(crate) struct Fault(String);

impl Fault {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }

    /// The exception for a single item.
    pub(crate) fn of_item(self) -> PyErr {
        ItemError::new_err(format!("item: {}", self.0))
    }

    /// The exception for an item of a batch.
    pub(crate) fn at(self, position: usize) -> PyErr {
        ItemError::new_err(format!(
            "items: {} at position {position}; nothing was applied",
            self.0
        ))
    }
}

type Converted = Result<u64, Fault>;

impl Target<'_> {
    fn refuse(&self, got: &str) -> Fault {
        let expected = match self {
            Self::Fingerprint(_) => "expected str, bytes or int".to_owned(),
            Self::Index(width) => format!("expected an integer from 0 to {}", width - 1),
        };
        Fault::new(format!("{expected}, got {got}"))
    }

    pub(crate) fn text(&self, item: &str) -> Converted {
        match self {
            Self::Fingerprint(fingerprinter) => Ok(fingerprinter.text(item)),
            Self::Index(_) => Err(self.refuse("str")),
        }
    }

    pub(crate) fn bytes(&self, item: &[u8]) -> Converted {
        match self {
            Self::Fingerprint(fingerprinter) => Ok(fingerprinter.bytes(item)),
            Self::Index(_) => Err(self.refuse("bytes")),
        }
    }

    #[inline]
    pub(crate) fn signed(&self, item: i64) -> Converted {
        match self {
            Self::Fingerprint(fingerprinter) => Ok(fingerprinter.signed(item)),
            Self::Index(_) => match u64::try_from(item) {
                Ok(index) => self.unsigned(index),
                Err(_) => Err(self.refuse("a negative one")),
            },
        }
    }

    #[inline]
    pub(crate) fn unsigned(&self, item: u64) -> Converted {
        match self {
            Self::Fingerprint(fingerprinter) => Ok(fingerprinter.unsigned(item)),
            Self::Index(width) if item < *width => Ok(item),
            Self::Index(_) => Err(self.refuse("a larger one")),
        }
    }

    /// Any Python object.
    #[inline]
    pub(crate) fn object(&self, item: &Bound<'_, PyAny>) -> Converted {
        if let Ok(text) = item.cast_exact::<PyString>() {
            return self.python_text(text);
        }
        if let Ok(integer) = item.cast_exact::<PyInt>() {
            return self.integer(integer);
        }
        self.uncommon(item)
    }

    fn python_text(&self, text: &Bound<'_, PyString>) -> Converted {
        match text.to_str() {
            Ok(text) => self.text(text),
            Err(_) => Err(self.refuse("text with a lone surrogate")),
        }
    }

    fn integer(&self, integer: &Bound<'_, PyInt>) -> Converted {
        if let Ok(value) = integer.extract::<i64>() {
            return self.signed(value);
        }
        if let Ok(value) = integer.extract::<u64>() {
            return self.unsigned(value);
        }
        match self {
            Self::Fingerprint(fingerprinter) => {
                let bytes = two_complement(integer)
                    .map_err(|_| self.refuse("an integer that has no two's complement"))?;
                Ok(fingerprinter.wide_integer(bytes.as_bytes()))
            }
            Self::Index(_) => Err(self.refuse("a larger one")),
        }
    }

    /// Subclasses, numpy and Arrow scalars, and everything that is refused.
    fn uncommon(&self, item: &Bound<'_, PyAny>) -> Converted {
        if item.is_instance_of::<PyBool>() {
            return Err(self.refuse("bool"));
        }
        if let Ok(bytes) = item.cast::<PyBytes>() {
            return self.bytes(bytes.as_bytes());
        }
        if let Ok(text) = item.cast::<PyString>() {
            return self.python_text(text);
        }
        if let Ok(integer) = item.cast::<PyInt>() {
            return self.integer(integer);
        }
        let kind = type_name(item);
        let refused = || self.refuse(&kind);
        let module = item.get_type().module().map_err(|_| refused())?;
        let module = module.to_string();
        if module == "numpy" && is_numpy_integer(item).unwrap_or(false) {
            // A timedelta is a numpy integer by class, but has no index.
            let integer = item.call_method0("__index__").map_err(|_| refused())?;
            return self.integer(integer.cast::<PyInt>().map_err(|_| refused())?);
        }
        if module.starts_with("pyarrow") {
            let value = item.call_method0("as_py").map_err(|_| refused())?;
            if !value.get_type().is(item.get_type()) {
                return self.object(&value);
            }
        }
        Err(refused())
    }
}

fn is_numpy_integer(item: &Bound<'_, PyAny>) -> PyResult<bool> {
    static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    item.is_instance(CLASS.import(item.py(), "numpy", "integer")?)
}

/// The shortest little-endian two's complement of an integer of any size.
fn two_complement<'py>(integer: &Bound<'py, PyInt>) -> PyResult<Bound<'py, PyBytes>> {
    // The methods of int itself: those of a subclass could answer anything.
    let int = integer.py().get_type::<PyInt>();
    let bits: usize = int.call_method1("bit_length", (integer,))?.extract()?;
    let options = pyo3::types::PyDict::new(integer.py());
    options.set_item("signed", true)?;
    let arguments = (integer, bits / 8 + 1, "little");
    let bytes = int.call_method("to_bytes", arguments, Some(&options))?;
    Ok(bytes.cast_into::<PyBytes>()?)
}

/// A non-negative integer argument; 64 bits suffice for every limit of the core.
pub(crate) fn count_of(name: &str, value: &Bound<'_, PyAny>) -> PyResult<u64> {
    let wrong_type = || {
        let got = type_name(value);
        ArgumentTypeError::new_err(format!(
            "{name}: expected a non-negative integer, got {got}"
        ))
    };
    if value.is_instance_of::<PyBool>() || !value.hasattr("__index__")? {
        return Err(wrong_type());
    }
    let index = value.call_method0("__index__").map_err(|_| wrong_type())?;
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
        name.extract().map(Self)
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
