//! Changes of tables that bound what each person contributes.

use crate::errors::{ArgumentTypeError, ArgumentValueError, ItemError, raise};
use crate::event_logging::{logged_events, logged_for_table};
use crate::guarded_sketch::{Core, GuardedSketch, change_all_after};
use crate::items::{Column, Weight};
use crate::logged_events::LoggedEvents;
use crate::logged_people::LoggedPeople;
use crate::maker_process::MakerProcess;
use crate::release::target_of;
use crate::weights::{TableWeights, counts_of, weights_of};
use lazysketch_core::key::{MasterKey, SketchId};
use lazysketch_core::parameters::{PersonBound, Shape};
use lazysketch_core::people::People as CorePeople;
use lazysketch_core::sketch::steps_ahead::{EventsOfSteps, StepPart};
use lazysketch_core::table::hash::Fingerprinter;
use lazysketch_core::table::items::{Items, StepRows};
use lazysketch_core::{Error, memory};
use pyo3::prelude::*;
use pyo3::types::PyList;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

const ADVICE: &str = "two processes would count events of the same people apart";

/// What each person has contributed to some tables, with its lock.
pub(crate) struct PeopleOfTables {
    pub(crate) maker: MakerProcess,
    /// Events of one person that are counted at most.
    counted_events: u64,
    /// How many tables decide which events are counted.
    deciding: usize,
    inner: Mutex<CorePeople>,
}

impl PeopleOfTables {
    pub(crate) fn new(
        key: &MasterKey,
        id: &SketchId,
        tables: &[(Shape, PersonBound)],
    ) -> PyResult<Self> {
        let people = CorePeople::new(key, id, tables).map_err(raise)?;
        Ok(Self {
            maker: MakerProcess::this("people", ADVICE),
            counted_events: people.counted_events(),
            deciding: tables.len(),
            inner: Mutex::new(people),
        })
    }

    /// How many tables decide which events are counted.
    pub(crate) fn deciding(&self) -> usize {
        self.deciding
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, CorePeople> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Return the people of a batch by their secret identities: any items, or what this returned.
    pub(crate) fn identified<'py>(
        &self,
        user: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, LoggedPeople>> {
        if let Ok(people) = user.cast_exact::<LoggedPeople>() {
            return Ok(people.clone());
        }
        let identities = if let Ok(events) = user.cast_exact::<LoggedEvents>() {
            events.get().check_items()?;
            self.identify(user.py(), events.get().items())?
        } else {
            self.identify(user.py(), people_of(user)?.items())?
        };
        Bound::new(user.py(), LoggedPeople::of(identities))
    }

    fn identify(&self, py: Python<'_>, people: Items<'_>) -> PyResult<Vec<u128>> {
        self.maker.check()?;
        py.detach(|| self.lock().identify(people).map_err(raise))
    }
}

/// What a change needs of one table.
#[derive(Clone, Copy)]
pub(crate) struct BoundedTable<'a> {
    pub(crate) shape: &'a Shape,
    pub(crate) fingerprinter: &'a Fingerprinter,
    pub(crate) guarded: &'a GuardedSketch,
    pub(crate) people: Option<&'a PeopleOfTables>,
}

impl<'a> BoundedTable<'a> {
    /// The people of the table, or an error if it does not bound them.
    pub(crate) fn people(&self) -> PyResult<&'a PeopleOfTables> {
        self.people.ok_or_else(|| {
            let message = "user: expected none, since the table has no person_bound, got some";
            ArgumentTypeError::new_err(message)
        })
    }
}

/// Rows of one table whose people are bounded, before they are converted.
pub(crate) struct RowsOfPeople<'py> {
    items: Bound<'py, PyAny>,
    column: Option<Column>,
    user: Bound<'py, PyAny>,
    weights: Option<Bound<'py, PyAny>>,
    empty: Vec<u64>,
    place: Place<'static>,
}

impl<'py> RowsOfPeople<'py> {
    pub(crate) fn of(
        items: &Bound<'py, PyAny>,
        column: Option<Column>,
        user: &Bound<'py, PyAny>,
        weights: Option<&Bound<'py, PyAny>>,
    ) -> Self {
        Self {
            items: items.clone(),
            column,
            user: user.clone(),
            weights: weights.cloned(),
            empty: Vec::new(),
            place: Place::Rows,
        }
    }

    /// One event.
    pub(crate) fn one(
        item: &Bound<'py, PyAny>,
        weight: Weight,
        user: &Bound<'py, PyAny>,
    ) -> PyResult<Self> {
        let py = item.py();
        let (items, user) = (PyList::new(py, [item])?, PyList::new(py, [user])?);
        let weights = PyList::new(py, [weight.0])?.into_any();
        Ok(Self::of(&items, None, &user, Some(&weights)))
    }

    /// And rows without an event.
    pub(crate) fn with_empty(mut self, positions: &Bound<'py, PyAny>) -> PyResult<Self> {
        self.empty = counts_of("empty_rows", positions)?;
        Ok(self)
    }

    /// All events in one step.
    pub(crate) fn in_one_step(mut self) -> Self {
        self.place = Place::OneStep;
        self
    }

    /// All events in the open step.
    pub(crate) fn in_the_open_step(mut self) -> Self {
        self.place = Place::OpenStep;
        self
    }

    /// Count the rows at a table, which needs the items themselves if it has discovery.
    pub(crate) fn count_at(self, table: BoundedTable<'_>, has_discovery: bool) -> PyResult<()> {
        let py = self.items.py();
        let people = table.people()?;
        let items = if has_discovery {
            Bound::new(py, logged_events(&self.items, self.column)?)?
        } else {
            let target = target_of(table.shape, table.fingerprinter);
            logged_for_table(
                &self.items,
                target,
                table.fingerprinter,
                self.column.as_ref(),
            )?
        };
        let user = people.identified(&self.user)?;
        let weights = weights_of(self.weights.as_ref())?;
        let change = BoundedChange {
            people: Some(people),
            tables: vec![(table.guarded, table.fingerprinter)],
            bounded: 1,
            items: vec![items.get().items()],
            user: user.get().identities(),
            weights: TableWeights::shared(weights, 1),
            empty: self.empty,
            place: self.place,
        };
        make_all(py, &[change])
    }
}

/// Convert the people of a batch to a value of its own.
pub(crate) fn people_of(user: &Bound<'_, PyAny>) -> PyResult<LoggedEvents> {
    let people = logged_events(user, None).map_err(|error| of_user(user.py(), error))?;
    people.check_items()?;
    Ok(people)
}

/// The same error about the argument `user`: people are read as items are.
fn of_user(py: Python<'_>, error: PyErr) -> PyErr {
    let ours = error.is_instance_of::<ItemError>(py)
        || error.is_instance_of::<ArgumentTypeError>(py)
        || error.is_instance_of::<ArgumentValueError>(py);
    let text = if ours {
        error.value(py).to_string()
    } else {
        String::new()
    };
    match text.strip_prefix("items:") {
        Some(rest) => PyErr::from_type(error.get_type(py), format!("user:{rest}")),
        None => error,
    }
}

/// Where the events of a change go.
#[derive(Clone, Copy)]
pub(crate) enum Place<'a> {
    /// Each in a step of its own.
    Rows,
    /// All in one step.
    OneStep,
    /// In the step that is open, which is closed later.
    OpenStep,
    /// In that step and in later ones, in their order.
    Steps(&'a [StepPart]),
}

impl Place<'_> {
    /// All checks and all memory of [`Self::count`], which then cannot fail.
    pub(crate) fn prepare(
        self,
        core: &mut Core,
        (items, weights, empty): (Items<'_>, Option<&[u64]>, &[u64]),
    ) -> Result<(), Error> {
        match self {
            Self::Rows => core.prepare_rows(StepRows::new(items, weights, empty)?),
            Self::OneStep => core.prepare_batch(items, weights),
            Self::OpenStep => core.prepare_open_step(items, weights),
            Self::Steps(parts) => {
                core.prepare_steps_ahead(EventsOfSteps::new(items, weights, parts)?)
            }
        }
    }

    /// Count events, and rows without one.
    pub(crate) fn count(
        self,
        core: &mut Core,
        (items, weights, empty): (Items<'_>, Option<&[u64]>, &[u64]),
    ) -> Result<(), Error> {
        match self {
            Self::Rows => core.update_rows(StepRows::new(items, weights, empty)?),
            Self::OneStep => core.update_batch(items, weights),
            Self::OpenStep => core.add_to_batch(items, weights),
            Self::Steps(parts) => core.add_to_steps(EventsOfSteps::new(items, weights, parts)?),
        }
    }
}

/// Rows of some tables that count one stream, with the person of each event.
pub(crate) struct BoundedChange<'a> {
    /// None for tables without a bound, which count all events.
    pub(crate) people: Option<&'a PeopleOfTables>,
    pub(crate) tables: Vec<(&'a GuardedSketch, &'a Fingerprinter)>,
    /// How many of the tables decide, the first ones; the others have their cells and their bounds.
    pub(crate) bounded: usize,
    /// One batch per table.
    pub(crate) items: Vec<Items<'a>>,
    pub(crate) user: &'a [u128],
    pub(crate) weights: TableWeights,
    pub(crate) empty: Vec<u64>,
    pub(crate) place: Place<'a>,
}

/// Count the events of some changes, at all of their tables or at none, as far as their people may
/// contribute them. No two changes have a table or people in common.
pub(crate) fn make_all(py: Python<'_>, changes: &[BoundedChange<'_>]) -> PyResult<()> {
    for people in changes.iter().filter_map(|change| change.people) {
        people.maker.check()?;
    }
    let places: Vec<(&BoundedChange<'_>, usize, usize)> = (changes.iter().enumerate())
        .flat_map(|(number, change)| {
            (0..change.tables.len()).map(move |table| (change, number, table))
        })
        .collect();
    let guarded: Vec<&GuardedSketch> = (places.iter())
        .map(|(change, _, table)| change.tables[*table].0)
        .collect();
    let bounded: OnceLock<Vec<Option<TableWeights>>> = OnceLock::new();
    change_all_after(
        py,
        &guarded,
        |at, core| {
            let (change, _, table) = places[at];
            change.prepare(table, core)
        },
        || {
            let _first = bounded.set(weights_of_counted(changes)?);
            Ok(())
        },
        |at, core| {
            let (change, number, table) = places[at];
            let decided = bounded.get().and_then(|all| all[number].as_ref());
            let weights = decided.unwrap_or(&change.weights).at(table);
            change.count(table, core, weights)
        },
    )
}

/// Decide which events of all changes are counted, and return the weights of those that people
/// bound; after an error no one has contributed anything.
fn weights_of_counted(changes: &[BoundedChange<'_>]) -> Result<Vec<Option<TableWeights>>, Error> {
    let mut weights = memory::room_for(changes.len())?;
    for change in changes {
        let explicit = change
            .people
            .map(|_| change.weights.explicit(change.events()));
        weights.push(explicit.transpose()?);
    }
    let mut prepared = memory::room_for(changes.len())?;
    for (at, change) in changes.iter().enumerate() {
        let Some(people) = change.people else {
            continue;
        };
        let mut people = people.lock();
        match people.prepare(change.user, &change.hashed(), change.events()) {
            Ok(batch) => prepared.push((at, people, batch)),
            Err(error) => {
                for (_, mut people, batch) in prepared {
                    people.withdraw(batch);
                }
                return Err(error);
            }
        }
    }
    for (at, mut people, batch) in prepared {
        if let Some(weights) = &mut weights[at] {
            people.decide(batch, |event| weights.refuse(event));
        }
    }
    Ok(weights)
}

impl BoundedChange<'_> {
    fn events(&self) -> usize {
        self.items.first().map_or(0, Items::len)
    }

    /// The items with what each table that decides hashes them by.
    fn hashed(&self) -> Vec<(Items<'_>, &Fingerprinter)> {
        (self.items.iter().zip(&self.tables).take(self.bounded))
            .map(|(&items, &(_, fingerprinter))| (items, fingerprinter))
            .collect()
    }

    fn prepare(&self, at: usize, core: &mut Core) -> Result<(), Error> {
        let (items, weights) = (self.items[at], self.weights.at(at));
        let rows = (items, weights, &self.empty[..]);
        let Some(people) = self.people else {
            return self.place.prepare(core, rows);
        };
        if let Core::Heavy(sketch) = core {
            sketch.check_people(people.counted_events)?;
        }
        while_bounded(core, |core| self.place.prepare(core, rows))
    }

    fn count(&self, at: usize, core: &mut Core, weights: Option<&[u64]>) -> Result<(), Error> {
        let rows = (self.items[at], weights, &self.empty[..]);
        if self.people.is_none() {
            return self.place.count(core, rows);
        }
        while_bounded(core, |core| self.place.count(core, rows))
    }
}

/// Let a table count events that were bounded, or are about to be.
fn while_bounded(
    core: &mut Core,
    count: impl FnOnce(&mut Core) -> Result<(), Error>,
) -> Result<(), Error> {
    core.sketch().set_bounded(true);
    let counted = count(core);
    core.sketch().set_bounded(false);
    counted
}
