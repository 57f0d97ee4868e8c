//! Bases of the public classes that count single events.
//!
//! A method in Python that only calls another one costs more than the update of a sketch. These
//! count the common event themselves. Whatever else it may be, a method of the class in Python
//! counts it or says what is wrong.

use crate::errors::LiveStateError;
use crate::guarded_sketch::Core;
use crate::heavy_sketch::{HeavySketch, guarded};
use crate::hierarchy::{Hierarchy, NamesOfItem};
use crate::items::{Weight, is_common, small_count};
use crate::nesting_lock::NestingLock;
use crate::private::PrivateSketch;
use lazysketch_core::item::Item;
use lazysketch_core::planted;
use pyo3::exceptions::PyAttributeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use std::sync::{MutexGuard, OnceLock};

/// Levels whose memory is read at the same time.
const TOGETHER: usize = 8;

/// The weight of an event as it was given, or 1.
struct GivenWeight<'py>(Option<Bound<'py, PyAny>>);

impl<'py> FromPyObject<'_, 'py> for GivenWeight<'py> {
    type Error = PyErr;

    fn extract(weight: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        Ok(Self(Some(weight.to_owned())))
    }
}

impl<'py> GivenWeight<'py> {
    /// The weight, if it is an integer of 64 bits.
    #[inline]
    fn small(&self) -> Option<u64> {
        self.0.as_ref().map_or(Some(1), small_count)
    }

    fn object(self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match self.0 {
            Some(weight) => Ok(weight),
            None => Ok(1_u64.into_pyobject(py)?.into_any()),
        }
    }
}

/// Set what an object holds, which is for its whole life.
fn hold<T>(place: &OnceLock<T>, held: T) -> PyResult<()> {
    place.set(held).map_err(|_| {
        LiveStateError::new_err("table: expected an object without one, got one that is in use")
    })
}

fn held<T>(place: &OnceLock<T>) -> PyResult<&T> {
    place.get().ok_or_else(|| {
        PyAttributeError::new_err("table: expected an object with one, got one not made yet")
    })
}

/// A table, with discovery or without.
enum Table {
    Listed(Py<PrivateSketch>),
    Discovering(Py<HeavySketch>),
}

/// What counts each event in one table.
#[pyclass(frozen, subclass, module = "lazysketch._native")]
pub(crate) struct EventsOfTable {
    table: OnceLock<Table>,
}

#[pymethods]
impl EventsOfTable {
    #[new]
    #[pyo3(signature = (*_args, **_kwargs))]
    fn new(_args: &Bound<'_, PyTuple>, _kwargs: Option<&Bound<'_, PyDict>>) -> Self {
        Self {
            table: OnceLock::new(),
        }
    }

    /// Count events in a table from now on.
    fn _count_in(&self, table: Bound<'_, PrivateSketch>) -> PyResult<()> {
        let table = match table.cast_into::<HeavySketch>() {
            Ok(table) => Table::Discovering(table.unbind()),
            Err(other) => Table::Listed(other.into_inner().cast_into()?.unbind()),
        };
        hold(&self.table, table)
    }

    /// Count one event; it takes one step.
    ///
    /// Guarantee: nothing is applied when the call raises.
    ///
    /// Args:
    ///     item: str, bytes, int, datetime with a time zone, date or UUID; ``"1"``, ``b"1"`` and
    ///         ``1`` are different items.
    ///     weight: 0 to ``max_weight``.
    ///     user: the person of the event, any item; required if the table bounds people.
    ///
    /// Raises:
    ///     ItemError: not a valid item.
    ///     ArgumentTypeError: a weight that is not an integer.
    ///     ArgumentValueError: a weight outside its range.
    ///     HorizonError: past the horizon.
    ///     ClosedError: after ``close()``.
    ///     LiveStateError: called in a forked child process.
    #[pyo3(
        signature = (item, weight=Weight(1), *, user=None),
        text_signature = "($self, item, weight=1, *, user=None)"
    )]
    fn update(
        &self,
        item: &Bound<'_, PyAny>,
        weight: Weight,
        user: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        match held(&self.table)? {
            Table::Discovering(table) => {
                HeavySketch::update(table.bind(item.py()), item, weight, user)
            }
            Table::Listed(table) => table.get().update(item, weight, user),
        }
    }
}

/// What counts events in the open one of several windows.
#[pyclass(frozen, subclass, module = "lazysketch._native")]
pub(crate) struct EventsOfWindows {
    /// Knows the table of the open window, while that takes single events.
    lock: OnceLock<Py<NestingLock>>,
}

#[pymethods]
impl EventsOfWindows {
    #[new]
    #[pyo3(signature = (*_args, **_kwargs))]
    fn new(_args: &Bound<'_, PyTuple>, _kwargs: Option<&Bound<'_, PyDict>>) -> Self {
        Self {
            lock: OnceLock::new(),
        }
    }

    /// Count events that need no lock in the table that the lock of the windows knows.
    fn _count_by(&self, lock: Bound<'_, NestingLock>) -> PyResult<()> {
        hold(&self.lock, lock.unbind())
    }

    /// Count one event.
    ///
    /// Guarantee: as :meth:`update_many`.
    ///
    /// Args:
    ///     item: any item.
    ///     weight: 0 to ``max_weight``.
    ///     time: time of the event, for windows of a range; UTC if it has no offset.
    ///     user: the person of the event, any item; required if people are bounded.
    ///
    /// Raises:
    ///     ItemError: not a valid item, or a person who is no item.
    ///     ArgumentTypeError: a wrong type, a missing time, or a time or a person that these
    ///         windows do not take.
    ///     ArgumentValueError: a weight outside its range, or no person where people are bounded.
    ///     ClosedError: after ``finish()`` or ``close()``.
    ///     LiveStateError: called in a forked child process.
    #[pyo3(
        signature = (item, weight=GivenWeight(None), *, time=None, user=None),
        text_signature = "($self, item, weight=1, *, time=None, user=None)"
    )]
    fn update<'py>(
        slf: &Bound<'py, Self>,
        item: &Bound<'py, PyAny>,
        weight: GivenWeight<'py>,
        time: Option<&Bound<'py, PyAny>>,
        user: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<()> {
        if time.is_none()
            && user.is_none()
            && let Some(lock) = slf.get().lock.get()
            && let Some(small) = weight.small()
            && lock.get().count_one(item, small)
        {
            return Ok(());
        }
        let py = slf.py();
        let arguments = (item, weight.object(py)?, time, user);
        slf.call_method1(intern!(py, "_update"), arguments)?;
        Ok(())
    }
}

/// The levels of a hierarchy whose names are made here, with a table for each.
struct Levels {
    lock: Py<NestingLock>,
    tables: Vec<Py<HeavySketch>>,
    hierarchy: Py<Hierarchy>,
}

/// What counts each event at all levels of a hierarchy.
#[pyclass(frozen, subclass, module = "lazysketch._native")]
pub(crate) struct EventsOfLevels {
    /// None where functions in Python make the names.
    levels: OnceLock<Option<Levels>>,
}

#[pymethods]
impl EventsOfLevels {
    #[new]
    #[pyo3(signature = (*_args, **_kwargs))]
    fn new(_args: &Bound<'_, PyTuple>, _kwargs: Option<&Bound<'_, PyDict>>) -> Self {
        Self {
            levels: OnceLock::new(),
        }
    }

    /// Count events at tables from now on, one for each level, while no thread holds the lock.
    fn _count_at(
        &self,
        lock: Py<NestingLock>,
        tables: Vec<Py<HeavySketch>>,
        hierarchy: Option<Py<Hierarchy>>,
    ) -> PyResult<()> {
        let levels = hierarchy.map(|hierarchy| Levels {
            lock,
            tables,
            hierarchy,
        });
        hold(&self.levels, levels)
    }

    /// Count one event at every level; it takes one step.
    ///
    /// Guarantee: as :meth:`update_many`.
    ///
    /// Args:
    ///     item: an item that fits the levels.
    ///     weight: 0 to ``max_weight``.
    ///     user: the person of the event, any item; required if the levels bound people.
    ///
    /// Raises:
    ///     ItemError: an item that does not fit the levels, or a person who is no item.
    ///     ArgumentTypeError: a weight that is not an integer; a person where none is bounded.
    ///     ArgumentValueError: a weight outside its range, or no person where people are bounded.
    ///     HorizonError: past the horizon.
    ///     ClosedError: after ``close()``.
    ///     LiveStateError: called in a forked child process.
    #[pyo3(
        signature = (item, weight=GivenWeight(None), *, user=None),
        text_signature = "($self, item, weight=1, *, user=None)"
    )]
    fn update<'py>(
        slf: &Bound<'py, Self>,
        item: &Bound<'py, PyAny>,
        weight: GivenWeight<'py>,
        user: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<()> {
        if user.is_none()
            && let Some(levels) = held(&slf.get().levels)?
            && let Some(small) = weight.small()
            && levels.count(item, small)
        {
            return Ok(());
        }
        let py = slf.py();
        let arguments = (item, weight.object(py)?, user);
        slf.call_method1(intern!(py, "_update"), arguments)?;
        Ok(())
    }
}

impl Levels {
    /// Count one event at all levels. False, and nothing is counted, if the lock or a table is held,
    /// the item is not of a common type, or anything is wrong.
    ///
    /// No Python code runs in between, so no other thread takes the lock meanwhile.
    fn count(&self, item: &Bound<'_, PyAny>, weight: u64) -> bool {
        // Another item may have a method that changes what the lock guards.
        let is_held =
            self.lock.get().is_held() && !planted!("levels-count-while-their-lock-is-held");
        if !is_common(item) || is_held {
            return false;
        }
        let Ok(names) = self.hierarchy.get().names_of(item) else {
            return false;
        };
        let Some(mut cores) = self.open(item.py(), weight) else {
            return false;
        };
        if cores.len() != names.len() {
            return false;
        }
        let counted = count_names(&mut cores, &names, weight).is_ok();
        if !counted {
            // The checks refuse all that can fail. Should one omit something, sketches of different
            // streams must not go on.
            cores.iter_mut().for_each(|core| core.close());
        }
        counted
    }

    /// The tables, with all checks and all memory for an event.
    fn open<'a>(&'a self, py: Python<'a>, weight: u64) -> Option<Vec<MutexGuard<'a, Core>>> {
        let mut cores = Vec::with_capacity(self.tables.len());
        for table in &self.tables {
            let mut core = guarded(table.bind(py)).try_lock()?;
            core.heavy().ok()?.prepare_update(weight).ok()?;
            cores.push(core);
        }
        Some(cores)
    }
}

/// Count an event, at each table under its name. The memory of one table is read while what is
/// known of the next is computed.
fn count_names(
    cores: &mut [MutexGuard<'_, Core>],
    names: &NamesOfItem,
    weight: u64,
) -> lazysketch_core::Result<()> {
    let mut all_known = [None; TOGETHER];
    let mut start = 0;
    for cores in cores.chunks_mut(TOGETHER) {
        let name = |at: usize| Item::Text(names.get(start + at));
        let all_known = &mut all_known[..cores.len()];
        for (at, (known, core)) in all_known.iter_mut().zip(&mut *cores).enumerate() {
            *known = Some(core.heavy()?.known(name(at)));
        }
        for (known, core) in all_known.iter().zip(&mut *cores) {
            known
                .iter()
                .try_for_each(|&known| core.heavy().map(|core| core.read_ahead(known)))?;
        }
        for (at, (known, core)) in all_known.iter_mut().zip(&mut *cores).enumerate() {
            let sketch = core.heavy()?;
            let known = known.take().unwrap_or_else(|| sketch.known(name(at)));
            sketch.update_known(name(at), known, weight)?;
        }
        start += cores.len();
    }
    Ok(())
}
