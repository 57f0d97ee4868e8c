//! What each person has contributed, for Python.

use crate::bounded_change::{BoundedChange, PeopleOfTables, Place, make_all, people_of};
use crate::errors::{ArgumentValueError, raise};
use crate::key::Key;
use crate::logged_events::LoggedEvents;
use crate::logged_people::LoggedPeople;
use crate::private::PrivateSketch;
use crate::saved_state::SavedState;
use crate::several_tables::{StepsOfTable, parts_of};
use crate::weights::{TableWeights, counts_of, weights_of};
use lazysketch_core::key::{MasterKey, SketchId};
use lazysketch_core::memory;
use lazysketch_core::parameters::{PersonBound, Shape, TableKind};
use lazysketch_core::people::People as CorePeople;
use lazysketch_core::table::hash::Fingerprinter;
use numpy::PyArray1;
use pyo3::prelude::*;
use std::sync::{Arc, MutexGuard};

/// What each person has contributed to some tables, which count one stream.
#[pyclass(frozen, module = "lazysketch._native")]
pub(crate) struct People(Arc<PeopleOfTables>);

impl People {
    /// Number of bytes of the exact state.
    pub(crate) fn saved_bytes(&self, py: Python<'_>) -> PyResult<usize> {
        self.0.maker.check()?;
        Ok(py.detach(|| self.0.lock().saved_bytes()))
    }

    /// Append the exact state, for a store.
    pub(crate) fn save_after(&self, py: Python<'_>, bytes: Vec<u8>) -> PyResult<Vec<u8>> {
        self.0.maker.check()?;
        py.detach(|| self.0.lock().save_after(bytes).map_err(raise))
    }

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

    /// Return the people of one table, or None.
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

    /// Return the secret identities of the people of a batch, which a store logs.
    fn identified<'py>(&self, user: &Bound<'py, PyAny>) -> PyResult<Bound<'py, LoggedPeople>> {
        self.0.identified(user)
    }

    /// Go on from what a store saved; no one is known yet.
    fn _restore(&self, py: Python<'_>, state: &Bound<'_, SavedState>) -> PyResult<()> {
        self.0.maker.check()?;
        let state = state.get();
        py.detach(|| self.0.lock().restore(state.core()).map_err(raise))
    }

    /// Forget everyone, at the end of a public period.
    fn forget(&self) -> PyResult<()> {
        self.inner()?.forget();
        Ok(())
    }
}

/// Count rows at every table, one step each or all in one, which may be the open step, as far as their
/// people may contribute.
#[pyfunction]
#[pyo3(signature = (
    people, tables, items, user, weights=None, *, empty_rows=None, in_one_step=false,
    in_open_step=false,
))]
#[expect(
    clippy::too_many_arguments,
    reason = "of a function of Python, by name"
)]
pub(crate) fn update_bounded<'py>(
    py: Python<'py>,
    people: &Bound<'py, People>,
    tables: Vec<Bound<'py, PrivateSketch>>,
    items: Vec<Bound<'py, LoggedEvents>>,
    user: &Bound<'py, PyAny>,
    weights: Option<Bound<'py, PyAny>>,
    empty_rows: Option<Bound<'py, PyAny>>,
    in_one_step: bool,
    in_open_step: bool,
) -> PyResult<()> {
    let people = &people.get().0;
    let user = people.identified(user)?;
    if items.len() != tables.len() {
        let message = "items: expected one batch per table, got another number";
        return Err(ArgumentValueError::new_err(message));
    }
    let empty = empty_rows.map(|rows| counts_of("empty_rows", &rows));
    let change = BoundedChange {
        people,
        tables: (tables.iter().map(Bound::get))
            .map(|table| (&table.guarded, &table.fingerprinter))
            .collect(),
        bounded: tables.len(),
        items: items.iter().map(|events| events.get().items()).collect(),
        user: user.get().identities(),
        weights: TableWeights::shared(weights_of(weights.as_ref())?, tables.len()),
        empty: empty.transpose()?.unwrap_or_default(),
        place: match (in_open_step, in_one_step) {
            (true, _) => Place::OpenStep,
            (false, true) => Place::OneStep,
            (false, false) => Place::Rows,
        },
    };
    make_all(py, &[change])
}

/// Convert the people of a batch to a value of its own.
#[pyfunction]
#[pyo3(signature = (user), text_signature = "(user)")]
pub(crate) fn people_of_batch(user: &Bound<'_, PyAny>) -> PyResult<LoggedEvents> {
    people_of(user)
}

/// Count events of the open step, at every table those of its own, as far as the people of each
/// table may contribute them. With `steps` they are those of later steps too.
#[pyfunction]
#[pyo3(
    signature = (tables, items, user, weights, *, steps=None),
    text_signature = "(tables, items, user, weights, *, steps=None)"
)]
pub(crate) fn add_bounded_to_batch_of_all<'py>(
    py: Python<'py>,
    tables: Vec<Bound<'py, PrivateSketch>>,
    items: Vec<Bound<'py, LoggedEvents>>,
    user: Vec<Bound<'py, PyAny>>,
    weights: Vec<Option<Bound<'py, PyAny>>>,
    steps: Option<Vec<StepsOfTable>>,
) -> PyResult<()> {
    let steps = parts_of(steps, tables.len())?;
    if [items.len(), user.len(), weights.len()] != [tables.len(); 3] {
        let message = "items: expected one batch per table, got another number";
        return Err(ArgumentValueError::new_err(message));
    }
    let identify = |(table, user): (&Bound<'py, PrivateSketch>, &Bound<'py, PyAny>)| {
        table.get().bounded().people()?.identified(user)
    };
    let user: Vec<_> = (tables.iter().zip(&user))
        .map(identify)
        .collect::<PyResult<_>>()?;
    let mut changes = Vec::with_capacity(tables.len());
    for (at, table) in tables.iter().enumerate() {
        let table = table.get().bounded();
        changes.push(BoundedChange {
            people: table.people()?,
            tables: vec![(table.guarded, table.fingerprinter)],
            bounded: 1,
            items: vec![items[at].get().items()],
            user: user[at].get().identities(),
            weights: TableWeights::shared(weights_of(weights[at].as_ref())?, 1),
            empty: Vec::new(),
            place: match &steps {
                None => Place::OpenStep,
                Some(parts) => Place::Steps(&parts[at]),
            },
        });
    }
    make_all(py, &changes)
}

/// Return which events of a public sample a bounded table would count, in order.
///
/// There is no live object: the people are known under a key of this call, and forgotten.
#[pyfunction]
#[pyo3(signature = (items, user, *, depth, width, hash_seed, cells, events))]
#[expect(
    clippy::too_many_arguments,
    reason = "of a function of Python, by name"
)]
pub(crate) fn events_within_bound<'py>(
    py: Python<'py>,
    items: &Bound<'py, LoggedEvents>,
    user: &Bound<'py, LoggedEvents>,
    depth: u32,
    width: u32,
    hash_seed: u64,
    cells: u32,
    events: u32,
) -> PyResult<Bound<'py, PyArray1<bool>>> {
    let shape = Shape {
        kind: TableKind::CountMin,
        depth,
        width,
        hash_seed,
    };
    let bound = PersonBound {
        cells,
        events,
        most_people: None,
    };
    let (items, user) = (items.get().items(), user.get().items());
    let decided = py.detach(|| -> lazysketch_core::Result<Vec<bool>> {
        shape.validate()?;
        let (key, id) = (MasterKey::generate()?, SketchId::fresh()?);
        let mut people = CorePeople::new(&key, &id, &[(shape, bound)])?;
        let mut weights = memory::filled(1, items.len())?;
        let identities = people.identify(user)?;
        let fingerprinter = Fingerprinter::new(hash_seed);
        people.bound(&identities, &[(items, &fingerprinter)], &mut weights)?;
        memory::collected(weights.iter().map(|&weight| weight > 0))
    });
    Ok(PyArray1::from_vec(py, decided.map_err(raise)?))
}
