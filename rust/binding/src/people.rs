//! What each person has contributed, for Python.

use crate::bounded_change::{BoundedChange, PeopleOfTables};
use crate::errors::ArgumentValueError;
use crate::key::Key;
use crate::logged_events::LoggedEvents;
use crate::private::PrivateSketch;
use crate::weights::{counts_of, weights_of};
use lazysketch_core::people::People as CorePeople;
use pyo3::prelude::*;
use std::sync::{Arc, MutexGuard};

/// What each person has contributed to some tables, which count one stream.
#[pyclass(frozen, module = "lazysketch._native")]
pub(crate) struct People(Arc<PeopleOfTables>);

impl People {
    fn inner(&self) -> PyResult<MutexGuard<'_, CorePeople>> {
        self.0.maker.check()?;
        Ok(self.0.lock())
    }
}

#[pymethods]
impl People {
    /// Know no one. The tables count one stream, and each has a bound of people in its parameters.
    #[new]
    #[pyo3(signature = (tables, *, key))]
    fn new(tables: Vec<Bound<'_, PrivateSketch>>, key: &Bound<'_, Key>) -> PyResult<Self> {
        let bounds: Option<Vec<_>> = (tables.iter().map(Bound::get))
            .map(|table| Some((table.shape, table.person_bound?)))
            .collect();
        let (Some(bounds), Some(first)) = (bounds, tables.first()) else {
            let message =
                "tables: expected tables with a bound of people, got one without, or none";
            return Err(ArgumentValueError::new_err(message));
        };
        let id = &first.get().sketch_id;
        let people = PeopleOfTables::new(&key.get().master, id, &bounds)?;
        Ok(Self(Arc::new(people)))
    }

    /// Return those that a table knows by itself, or None.
    #[staticmethod]
    fn of_table(table: &Bound<'_, PrivateSketch>) -> Option<Self> {
        table.get().people.clone().map(Self)
    }

    /// Number of people that are known: data, for the operator only.
    #[getter]
    fn known(&self) -> PyResult<usize> {
        Ok(self.inner()?.known())
    }

    /// Number of events that were not counted: data, for the operator only.
    #[getter]
    fn refused(&self) -> PyResult<u64> {
        Ok(self.inner()?.refused())
    }

    /// Bytes for each person, without the index.
    #[getter]
    fn bytes_per_person(&self) -> PyResult<usize> {
        Ok(self.inner()?.bytes_per_person())
    }

    /// Forget everyone, at the end of a public period.
    fn forget(&self) -> PyResult<()> {
        self.inner()?.forget();
        Ok(())
    }
}

/// Count rows at every table, one step each or all in one, as far as their people may contribute.
#[pyfunction]
#[pyo3(signature = (people, tables, items, user, weights=None, *, empty_rows=None, in_one_step=false))]
#[expect(
    clippy::too_many_arguments,
    reason = "of a function of Python, by name"
)]
pub(crate) fn update_bounded<'py>(
    py: Python<'py>,
    people: &Bound<'py, People>,
    tables: Vec<Bound<'py, PrivateSketch>>,
    items: Vec<Bound<'py, LoggedEvents>>,
    user: &Bound<'py, LoggedEvents>,
    weights: Option<Bound<'py, PyAny>>,
    empty_rows: Option<Bound<'py, PyAny>>,
    in_one_step: bool,
) -> PyResult<()> {
    user.get().check_items()?;
    if items.len() != tables.len() {
        let message = "items: expected one batch per table, got another number";
        return Err(ArgumentValueError::new_err(message));
    }
    let empty = empty_rows.map(|rows| counts_of("empty_rows", &rows));
    let change = BoundedChange {
        items: items.iter().map(|events| events.get().items()).collect(),
        user: user.get().items(),
        weights: weights_of(weights.as_ref())?,
        empty: empty.transpose()?.unwrap_or_default(),
        in_one_step,
    };
    let tables: Vec<_> = (tables.iter().map(Bound::get))
        .map(|table| (&table.guarded, &table.fingerprinter))
        .collect();
    change.make(py, &people.get().0, &tables)
}
