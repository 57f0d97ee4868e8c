//! Items of the standard library's types: `datetime`, `date` and `UUID`.

use crate::errors::type_name;
use lazysketch_core::item::{Item, UUID_BYTES};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyDict, PyType};

/// The ordinal that Python gives to 1970-01-01.
const ORDINAL_OF_EPOCH: i64 = 719_163;
const SECONDS_PER_DAY: i64 = 86_400;
const MICROSECONDS_PER_SECOND: i64 = 1_000_000;

/// What an object of one of these types contains.
pub(crate) enum Standard {
    /// Microseconds since 1970-01-01 00:00 UTC.
    Instant(i64),
    /// Days since 1970-01-01.
    Date(i32),
    /// The bytes of a UUID.
    Uuid([u8; UUID_BYTES]),
}

/// The classes, and 1970-01-01 00:00 UTC.
struct Classes {
    datetime: Py<PyType>,
    date: Py<PyType>,
    timedelta: Py<PyType>,
    uuid: Py<PyType>,
    epoch: Py<PyAny>,
}

impl Classes {
    fn get(py: Python<'_>) -> PyResult<&Self> {
        static CLASSES: PyOnceLock<Classes> = PyOnceLock::new();
        CLASSES.get_or_try_init(py, || {
            let module = py.import("datetime")?;
            let class = |name| PyResult::Ok(module.getattr(name)?.cast_into::<PyType>()?);
            let datetime = class("datetime")?;
            let utc = module.getattr("timezone")?.getattr("utc")?;
            let epoch = datetime.call1((1970, 1, 1, 0, 0, 0, 0, utc))?;
            Ok(Self {
                datetime: datetime.unbind(),
                date: class("date")?.unbind(),
                timedelta: class("timedelta")?.unbind(),
                uuid: py.import("uuid")?.getattr("UUID")?.cast_into()?.unbind(),
                epoch: epoch.unbind(),
            })
        })
    }
}

impl Standard {
    /// Return the content of an object of one of these types, None for all others. The error says
    /// what is wrong with the object, without its value.
    pub(crate) fn of(object: &Bound<'_, PyAny>) -> Result<Option<Self>, String> {
        let py = object.py();
        let raised = |error: PyErr| {
            let error = type_name(error.value(py));
            format!("{} that raises {error}", type_name(object))
        };
        let classes = Classes::get(py).map_err(raised)?;
        let is = |class: &Py<PyType>| object.is_instance(class.bind(py)).map_err(raised);
        // A datetime is a date by class.
        if is(&classes.datetime)? {
            require_exact(object)?;
            let since = microseconds_since_epoch(object, classes).map_err(raised)?;
            let since = since.ok_or("a datetime without a time zone (set tzinfo)")?;
            return match Item::instant(since) {
                Some(_) => Ok(Some(Self::Instant(since))),
                None => Err(OTHER_YEAR.to_owned()),
            };
        }
        if is(&classes.date)? {
            return days_since_epoch(object, classes)
                .map(|days| Some(Self::Date(days)))
                .map_err(raised);
        }
        if is(&classes.uuid)? {
            let bytes = object.getattr(intern!(py, "bytes")).map_err(raised)?;
            let bytes = bytes.extract().map_err(|_| "a UUID without 16 bytes")?;
            return Ok(Some(Self::Uuid(bytes)));
        }
        Ok(None)
    }
}

pub(crate) const OTHER_YEAR: &str = "a time outside the years 1 to 9999 of UTC";
pub(crate) const SMALL_FRACTION: &str = "a time with a fraction of a microsecond";

/// Refuse what a subclass of datetime, such as that of pandas, can have and datetime cannot.
fn require_exact(object: &Bound<'_, PyAny>) -> Result<(), String> {
    if type_name(object) == "NaTType" {
        return Err("NaT (no time)".to_owned());
    }
    let number = |name| {
        let found = object.getattr_opt(name).ok().flatten();
        found.and_then(|value| value.extract::<i64>().ok())
    };
    if number("nanosecond").is_some_and(|nanosecond| nanosecond != 0) {
        return Err(SMALL_FRACTION.to_owned());
    }
    match number("year") {
        Some(1..=9999) => Ok(()),
        _ => Err(OTHER_YEAR.to_owned()),
    }
}

/// Return None for a datetime without a time zone. The methods are those of `datetime` itself: a
/// subclass may override them.
fn microseconds_since_epoch(object: &Bound<'_, PyAny>, classes: &Classes) -> PyResult<Option<i64>> {
    let py = object.py();
    let datetime = classes.datetime.bind(py);
    if datetime.call_method1("utcoffset", (object,))?.is_none() {
        return Ok(None);
    }
    let since = datetime.call_method1("__sub__", (object, &classes.epoch))?;
    let part = |name| since.getattr(name)?.extract::<i64>();
    let seconds = part("days")? * SECONDS_PER_DAY + part("seconds")?;
    Ok(Some(
        seconds * MICROSECONDS_PER_SECOND + part("microseconds")?,
    ))
}

fn days_since_epoch(object: &Bound<'_, PyAny>, classes: &Classes) -> PyResult<i32> {
    let date = classes.date.bind(object.py());
    let ordinal: i64 = date.call_method1("toordinal", (object,))?.extract()?;
    Ok(i32::try_from(ordinal - ORDINAL_OF_EPOCH)?)
}

/// An instant as a datetime in UTC.
pub(crate) fn object_of_instant(py: Python<'_>, microseconds: i64) -> PyResult<Bound<'_, PyAny>> {
    let classes = Classes::get(py)?;
    let since = classes.timedelta.bind(py).call1((0, 0, microseconds))?;
    classes.epoch.bind(py).add(since)
}

/// A date.
pub(crate) fn object_of_date(py: Python<'_>, days: i32) -> PyResult<Bound<'_, PyAny>> {
    let date = Classes::get(py)?.date.bind(py);
    date.call_method1("fromordinal", (i64::from(days) + ORDINAL_OF_EPOCH,))
}

/// A UUID.
pub(crate) fn object_of_uuid<'py>(
    py: Python<'py>,
    bytes: &[u8; UUID_BYTES],
) -> PyResult<Bound<'py, PyAny>> {
    let arguments = PyDict::new(py);
    arguments.set_item("bytes", PyBytes::new(py, bytes))?;
    Classes::get(py)?.uuid.bind(py).call((), Some(&arguments))
}
