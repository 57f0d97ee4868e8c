//! Conversion of core errors to the exceptions of `lazysketch.errors`.

use lazysketch_core::Error;
use pyo3::exceptions::{PyMemoryError, PyTypeError};
use pyo3::prelude::*;

pyo3::import_exception!(lazysketch.errors, ArgumentTypeError);
pyo3::import_exception!(lazysketch.errors, ArgumentValueError);
pyo3::import_exception!(lazysketch.errors, ClosedError);
pyo3::import_exception!(lazysketch.errors, HorizonError);
pyo3::import_exception!(lazysketch.errors, ItemError);
pyo3::import_exception!(lazysketch.errors, LazySketchError);
pyo3::import_exception!(lazysketch.errors, LiveStateError);
pyo3::import_exception!(lazysketch.errors, MergeError);
pyo3::import_exception!(lazysketch.errors, ReleaseFormatError);
pyo3::import_exception!(lazysketch.errors, StoreDoubtError);
pyo3::import_exception!(lazysketch.errors, StoreError);
pyo3::import_exception!(lazysketch.errors, StoreInUseError);

/// Return the exception for a core error.
pub(crate) fn raise(error: Error) -> PyErr {
    let message = error.to_string();
    match error {
        Error::Parameter { .. } | Error::PrivateDraws => ArgumentValueError::new_err(message),
        Error::Horizon { .. } => HorizonError::new_err(message),
        Error::Closed | Error::Finished => ClosedError::new_err(message),
        Error::Memory { .. } => PyMemoryError::new_err(message),
        Error::Entropy(_) => LazySketchError::new_err(message),
        Error::State(_) => StoreError::new_err(message),
        Error::Format(_) => ReleaseFormatError::new_err(message),
        Error::Merge(_) => MergeError::new_err(message),
    }
}

/// Return the name of a value's type, for messages that must not contain the value.
pub(crate) fn type_name(value: &Bound<'_, PyAny>) -> String {
    value
        .get_type()
        .name()
        .map_or_else(|_| "an object".into(), |name| name.to_string())
}

/// Return whether an error is Python's own statement that a value has the wrong type. Subclasses,
/// such as those of this library, say something else.
pub(crate) fn says_wrong_type(py: Python<'_>, error: &PyErr) -> bool {
    error.get_type(py).is(py.get_type::<PyTypeError>())
}
