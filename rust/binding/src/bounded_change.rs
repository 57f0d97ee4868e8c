//! Changes of tables that bound what each person contributes.

use crate::errors::{ArgumentTypeError, raise};
use crate::event_logging::{logged_events, logged_for_table};
use crate::guarded_sketch::{Core, GuardedSketch, change_all_after};
use crate::items::{Column, Weight};
use crate::logged_events::LoggedEvents;
use crate::logged_people::LoggedPeople;
use crate::maker_process::MakerProcess;
use crate::release::target_of;
use crate::weights::{counts_of, weights_of};
use lazysketch_core::key::{MasterKey, SketchId};
use lazysketch_core::parameters::{PersonBound, Shape};
use lazysketch_core::people::People as CorePeople;
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
    inner: Mutex<CorePeople>,
}

impl PeopleOfTables {
    pub(crate) fn new(
        key: &MasterKey,
        id: &SketchId,
        tables: &[(Shape, PersonBound)],
    ) -> PyResult<Self> {
        Ok(Self {
            maker: MakerProcess::this("people", ADVICE),
            inner: Mutex::new(CorePeople::new(key, id, tables).map_err(raise)?),
        })
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
            self.identify(user.py(), logged_events(user, None)?.items())?
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

/// Rows of one table whose people are bounded, before they are converted.
pub(crate) struct RowsOfPeople<'py> {
    items: Bound<'py, PyAny>,
    column: Option<Column>,
    user: Bound<'py, PyAny>,
    weights: Option<Bound<'py, PyAny>>,
    empty: Vec<u64>,
    in_one_step: bool,
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
            in_one_step: false,
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
        self.in_one_step = true;
        self
    }

    /// Count the rows at a table, which needs the items themselves if it has discovery.
    pub(crate) fn count_at(self, table: BoundedTable<'_>, has_discovery: bool) -> PyResult<()> {
        let py = self.items.py();
        let Some(people) = table.people else {
            let message = "user: expected none, since the table has no person_bound, got some";
            return Err(ArgumentTypeError::new_err(message));
        };
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
            items: vec![items.get().items()],
            user: user.get().identities(),
            weights,
            empty: self.empty,
            in_one_step: self.in_one_step,
        };
        change.make(py, people, &[(table.guarded, table.fingerprinter)])
    }
}

/// Rows of some tables, one step each or all in one, with the person of each event.
pub(crate) struct BoundedChange<'a> {
    pub(crate) items: Vec<Items<'a>>,
    pub(crate) user: &'a [u128],
    pub(crate) weights: Option<Vec<u64>>,
    pub(crate) empty: Vec<u64>,
    pub(crate) in_one_step: bool,
}

impl BoundedChange<'_> {
    /// Count the events as far as their people may contribute them.
    pub(crate) fn make(
        &self,
        py: Python<'_>,
        people: &PeopleOfTables,
        tables: &[(&GuardedSketch, &Fingerprinter)],
    ) -> PyResult<()> {
        people.maker.check()?;
        let guarded: Vec<&GuardedSketch> = tables.iter().map(|&(guarded, _)| guarded).collect();
        let hashed: Vec<_> = (self.items.iter().zip(tables))
            .map(|(&items, &(_, fingerprinter))| (items, fingerprinter))
            .collect();
        let bounded = OnceLock::new();
        change_all_after(
            py,
            &guarded,
            |at, core| self.prepare(at, core),
            || {
                let mut weights = match &self.weights {
                    Some(weights) => memory::copied(weights)?,
                    None => memory::filled(1, self.user.len())?,
                };
                people.lock().bound(self.user, &hashed, &mut weights)?;
                let _first = bounded.set(weights);
                Ok(())
            },
            |at, core| self.count(at, core, bounded.get().map(Vec::as_slice)),
        )
    }

    fn prepare(&self, at: usize, core: &mut Core) -> Result<(), Error> {
        let weights = self.weights.as_deref();
        while_bounded(core, |core| {
            if self.in_one_step {
                core.prepare_batch(self.items[at], weights)
            } else {
                core.prepare_rows(StepRows::new(self.items[at], weights, &self.empty)?)
            }
        })
    }

    fn count(&self, at: usize, core: &mut Core, weights: Option<&[u64]>) -> Result<(), Error> {
        while_bounded(core, |core| {
            if self.in_one_step {
                core.update_batch(self.items[at], weights)
            } else {
                core.update_rows(StepRows::new(self.items[at], weights, &self.empty)?)
            }
        })
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
