//! What each person has contributed, for Python.

use crate::bounded_change::{
    BoundedChange, BoundedTable, PeopleOfTables, Place, make_all, people_of,
};
use crate::errors::{ArgumentValueError, raise};
use crate::event_logging::{logged_events, logged_for_table};
use crate::heavy_sketch::HeavySketch;
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
    /// What decides which events are counted.
    pub(crate) fn of_tables(&self) -> &PeopleOfTables {
        &self.0
    }

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
        people: Some(people),
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

/// What one table counts: the table, the items of its events, and their weights or None.
type BatchOfTable<'py> = (
    Bound<'py, PrivateSketch>,
    Bound<'py, PyAny>,
    Option<Bound<'py, PyAny>>,
);

/// Count events of the open steps of some streams, such as windows, each with people of its own: of
/// each stream what its people may contribute, at all of its tables or at none. With `steps` events
/// are those of later steps too.
///
/// The tables of one stream have the same cells and bounds, so the first one decides for all.
#[pyfunction]
#[pyo3(
    signature = (streams, user, *, steps=None),
    text_signature = "(streams, user, *, steps=None)"
)]
pub(crate) fn add_bounded_to_batch_of_all<'py>(
    py: Python<'py>,
    streams: Vec<Vec<BatchOfTable<'py>>>,
    user: Vec<Bound<'py, PyAny>>,
    steps: Option<Vec<StepsOfTable>>,
) -> PyResult<()> {
    let steps = parts_of(steps, streams.len())?;
    if user.len() != streams.len() {
        let message = "user: expected the people of each stream, got another number";
        return Err(ArgumentValueError::new_err(message));
    }
    let mut converted = Vec::with_capacity(streams.len());
    for (stream, user) in streams.iter().zip(&user) {
        converted.push(StreamOfPeople::of(stream, user)?);
    }
    let place = |at: usize| match &steps {
        None => Place::OpenStep,
        Some(parts) => Place::Steps(&parts[at]),
    };
    let changes: Vec<_> = (converted.iter().enumerate())
        .map(|(at, stream)| stream.change(place(at)))
        .collect::<PyResult<_>>()?;
    make_all(py, &changes)
}

/// A batch of one stream for all of its tables, converted.
struct StreamOfPeople<'a, 'py> {
    tables: Vec<BoundedTable<'a>>,
    items: Vec<Bound<'py, LoggedEvents>>,
    user: Bound<'py, LoggedPeople>,
    weights: Vec<Option<Bound<'py, PyAny>>>,
}

impl<'a, 'py> StreamOfPeople<'a, 'py> {
    fn of(stream: &'a [BatchOfTable<'py>], user: &Bound<'py, PyAny>) -> PyResult<Self> {
        let cells =
            |table: &Bound<'py, PrivateSketch>| (table.get().shape, table.get().person_bound);
        let same = stream
            .iter()
            .all(|(table, ..)| cells(table) == cells(&stream[0].0));
        let (Some((first, ..)), true) = (stream.first(), same) else {
            let message = "streams: expected tables with the same cells and bounds, got others";
            return Err(ArgumentValueError::new_err(message));
        };
        Ok(Self {
            tables: stream
                .iter()
                .map(|(table, ..)| table.get().bounded())
                .collect(),
            items: (stream.iter())
                .map(|(table, items, _)| items_of(table, items))
                .collect::<PyResult<_>>()?,
            user: first.get().bounded().people()?.identified(user)?,
            weights: stream.iter().map(|(.., weights)| weights.clone()).collect(),
        })
    }

    fn change<'b>(&'b self, place: Place<'b>) -> PyResult<BoundedChange<'b>> {
        Ok(BoundedChange {
            people: Some(self.tables[0].people()?),
            tables: (self.tables.iter())
                .map(|table| (table.guarded, table.fingerprinter))
                .collect(),
            bounded: 1,
            items: self
                .items
                .iter()
                .map(|events| events.get().items())
                .collect(),
            user: self.user.get().identities(),
            weights: TableWeights::of_each(&self.weights)?,
            empty: Vec::new(),
            place,
        })
    }
}

/// Convert the items of one table: whole ones for discovery, what it hashes otherwise.
pub(crate) fn items_of<'py>(
    table: &Bound<'py, PrivateSketch>,
    items: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, LoggedEvents>> {
    if table.is_instance_of::<HeavySketch>() {
        return match items.cast_exact::<LoggedEvents>() {
            Ok(events) => Ok(events.clone()),
            Err(_) => Bound::new(items.py(), logged_events(items, None)?),
        };
    }
    let table = table.get();
    logged_for_table(items, table.target(), table.fingerprinter(), None)
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
