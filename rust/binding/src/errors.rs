//! Conversion of core errors to the exceptions of `lazysketch.errors`.

use lazysketch_core::Error;
use pyo3::exceptions::{PyMemoryError, PyTypeError};
use pyo3::intern;
use pyo3::prelude::*;
use std::sync::OnceLock;

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

/// Say at which of several tables a change failed: a pipeline names the part whose table it is.
pub(crate) fn at_table(py: Python<'_>, at: usize, error: PyErr) -> PyErr {
    // Without the attribute the error is one of all tables.
    let _said = error.value(py).setattr(intern!(py, "_table"), at);
    error
}

/// Which of several tables refused a change: noted without the interpreter lock, said with it.
#[derive(Default)]
pub(crate) struct RefusedTable(OnceLock<usize>);

impl RefusedTable {
    /// Note the table if this is an error.
    pub(crate) fn noted(&self, at: usize, checked: Result<(), Error>) -> Result<(), Error> {
        checked.inspect_err(|_| _ = self.0.set(at))
    }

    /// Say in an error which table was noted, if one was.
    pub(crate) fn said(&self, py: Python<'_>, error: PyErr) -> PyErr {
        match self.0.get() {
            Some(&at) => at_table(py, at, error),
            None => error,
        }
    }
}
