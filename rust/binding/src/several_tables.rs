//! One change at several tables: at all of them, or at none.
//!
//! The levels of a hierarchy and the windows of a range count one stream. In Python an interrupt may
//! come between two tables, and would leave tables of different streams. Here everything is
//! converted and checked first; then all tables change, and no Python code runs in between.

use crate::batches::{PreparedBatch, batch_of};
use crate::bounded_change::Place;
use crate::errors::{ArgumentValueError, at_table};
use crate::event_batch::Events;
use crate::guarded_sketch::{Core, GuardedSketch, change_all, change_all_briefly};
use crate::heavy_sketch::HeavySketch;
use crate::hierarchy::Hierarchy;
use crate::items::{Steps, Weight};
use crate::nesting_lock::NestingLock;
use crate::owned_items::BorrowedItems;
use crate::private::PrivateSketch;
use crate::weights::{TableWeights, counts_of, weights_of};
use lazysketch_core::item::Item;
use lazysketch_core::sketch::steps_ahead::StepPart;
use lazysketch_core::table::items::{Items, StepRows};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};

/// A table of any kind.
type Table<'py> = Bound<'py, PrivateSketch>;

fn guarded<'a>(tables: &'a [Table<'_>]) -> Vec<&'a GuardedSketch> {
    tables.iter().map(|table| table.get().guarded()).collect()
}

/// The items of one table: whole ones for discovery, fingerprints otherwise.
enum Batch<'py> {
    Whole(Events<'py>),
    Fingerprints(PreparedBatch<'py>),
}

impl<'py> Batch<'py> {
    fn of(table: &Table<'py>, items: &Bound<'py, PyAny>) -> PyResult<Self> {
        if table.is_instance_of::<HeavySketch>() {
            return Events::of(items, None).map(Self::Whole);
        }
        batch_of(items, None, table.get().target()).map(Self::Fingerprints)
    }

    fn borrowed(&self) -> PyResult<BorrowedItems<'_>> {
        match self {
            Self::Whole(events) => events.borrowed(),
            Self::Fingerprints(batch) => batch.items().map(BorrowedItems::InPlace),
        }
    }
}

/// Convert the items of each table.
fn batches_of<'py>(
    tables: &[Table<'py>],
    items: &[Bound<'py, PyAny>],
) -> PyResult<Vec<Batch<'py>>> {
    require_one_per_table("items", tables, items.len())?;
    let pairs = tables.iter().zip(items).enumerate();
    pairs
        .map(|(at, (table, items))| {
            Batch::of(table, items).map_err(|error| at_table(table.py(), at, error))
        })
        .collect()
}

fn borrowed_of<'a>(batches: &'a [Batch<'_>]) -> PyResult<Vec<BorrowedItems<'a>>> {
    batches.iter().map(Batch::borrowed).collect()
}

fn require_one_per_table(name: &str, tables: &[Table<'_>], got: usize) -> PyResult<()> {
    if got == tables.len() {
        return Ok(());
    }
    let message = format!(
        "{name}: expected one per table, {}, got {got}",
        tables.len()
    );
    Err(ArgumentValueError::new_err(message))
}

/// Count one event at every table, under a name for each; it takes one step.
#[pyfunction]
#[pyo3(signature = (tables, names, weight), text_signature = "(tables, names, weight)")]
pub(crate) fn update_all<'py>(
    py: Python<'py>,
    tables: Vec<Table<'py>>,
    names: Vec<Bound<'py, PyAny>>,
    weight: Weight,
) -> PyResult<()> {
    let single = |name| PyList::new(py, [name]).map(Bound::into_any);
    let names: Vec<_> = names.iter().map(single).collect::<PyResult<_>>()?;
    let batches = batches_of(&tables, &names)?;
    let borrowed = borrowed_of(&batches)?;
    let items: Vec<Items<'_>> = borrowed.iter().map(BorrowedItems::items).collect();
    change_all(
        py,
        &guarded(&tables),
        |_, core| core.heavy()?.prepare_update(weight.0),
        |at, core| core.heavy()?.update_many(items[at], Some(&[weight.0])),
    )
}

/// Count one event at every table, under its name at the level of the table; it takes one step. The
/// lock of `threading` is held meanwhile.
#[pyfunction]
#[pyo3(
    signature = (lock, tables, hierarchy, item, weight),
    text_signature = "(lock, tables, hierarchy, item, weight)"
)]
pub(crate) fn update_levels(
    py: Python<'_>,
    lock: &Bound<'_, PyAny>,
    tables: Vec<Table<'_>>,
    hierarchy: &Bound<'_, Hierarchy>,
    item: &Bound<'_, PyAny>,
    weight: Weight,
) -> PyResult<()> {
    let names = hierarchy.get().names_of(item)?;
    require_one_per_table("levels", &tables, names.len())?;
    lock.call_method0(intern!(py, "acquire"))?;
    let result = change_all_briefly(
        py,
        &guarded(&tables),
        |_, core| core.heavy()?.prepare_update(weight.0),
        |at, core| core.heavy()?.update(Item::Text(names.get(at)), weight.0),
    );
    lock.call_method0(intern!(py, "release"))?;
    result
}

/// Count rows at every table, one step each, of which some have no event.
#[pyfunction]
#[pyo3(signature = (tables, items, weights=None, *, empty_rows=None))]
pub(crate) fn update_rows_of_all<'py>(
    py: Python<'py>,
    tables: Vec<Table<'py>>,
    items: Vec<Bound<'py, PyAny>>,
    weights: Option<Bound<'py, PyAny>>,
    empty_rows: Option<Bound<'py, PyAny>>,
) -> PyResult<()> {
    let batches = batches_of(&tables, &items)?;
    let weights = weights_of(weights.as_ref())?;
    let empty = empty_rows.map(|rows| counts_of("empty_rows", &rows));
    let empty = empty.transpose()?.unwrap_or_default();
    let borrowed = borrowed_of(&batches)?;
    let rows_at = |at: usize| StepRows::new(borrowed[at].items(), weights.as_deref(), &empty);
    change_all(
        py,
        &guarded(&tables),
        |at, core| core.prepare_rows(rows_at(at)?),
        |at, core| core.update_rows(rows_at(at)?),
    )
}

/// Count rows at every table, one step each: the items, the weights and the rows without an event
/// are those of the table.
#[pyfunction]
#[pyo3(signature = (tables, items, weights, empty_rows))]
pub(crate) fn update_rows_of_each<'py>(
    py: Python<'py>,
    tables: Vec<Table<'py>>,
    items: Vec<Bound<'py, PyAny>>,
    weights: Vec<Option<Bound<'py, PyAny>>>,
    empty_rows: Vec<Bound<'py, PyAny>>,
) -> PyResult<()> {
    require_one_per_table("weights", &tables, weights.len())?;
    require_one_per_table("empty_rows", &tables, empty_rows.len())?;
    let batches = batches_of(&tables, &items)?;
    let weights = TableWeights::of_each(&weights)?;
    let empty = empty_rows.iter().map(|rows| counts_of("empty_rows", rows));
    let empty: Vec<Vec<u64>> = empty.collect::<PyResult<_>>()?;
    let borrowed = borrowed_of(&batches)?;
    let rows_at = |at: usize| StepRows::new(borrowed[at].items(), weights.at(at), &empty[at]);
    let steps = |at: usize| borrowed[at].items().len() + empty[at].len();
    if let Some(other) = (1..tables.len()).find(|&at| steps(at) != steps(0)) {
        return Err(ArgumentValueError::new_err(format!(
            "items: expected {} rows for each table, got {}",
            steps(0),
            steps(other)
        )));
    }
    change_all(
        py,
        &guarded(&tables),
        |at, core| core.prepare_rows(rows_at(at)?),
        |at, core| core.update_rows(rows_at(at)?),
    )
}

/// Count any number of events in one step, at every table those of its own.
#[pyfunction]
#[pyo3(signature = (tables, items, weights))]
pub(crate) fn update_batch_of_all<'py>(
    py: Python<'py>,
    tables: Vec<Table<'py>>,
    items: Vec<Bound<'py, PyAny>>,
    weights: Vec<Option<Bound<'py, PyAny>>>,
) -> PyResult<()> {
    require_one_per_table("weights", &tables, weights.len())?;
    let batches = batches_of(&tables, &items)?;
    let weights = TableWeights::of_each(&weights)?;
    let borrowed = borrowed_of(&batches)?;
    change_all(
        py,
        &guarded(&tables),
        |at, core| core.prepare_batch(borrowed[at].items(), weights.at(at)),
        |at, core| core.update_batch(borrowed[at].items(), weights.at(at)),
    )
}

/// The steps of a batch of one table, in their order: how many end before, and the number of events.
pub(crate) type StepsOfTable = Vec<(u64, u64)>;

/// Return the steps of the batches of some tables, or None if all events are those of the open step.
pub(crate) fn parts_of(
    steps: Option<Vec<StepsOfTable>>,
    tables: usize,
) -> PyResult<Option<Vec<Vec<StepPart>>>> {
    let Some(steps) = steps else {
        return Ok(None);
    };
    if steps.len() != tables {
        let message = "steps: expected those of each table, got another number";
        return Err(ArgumentValueError::new_err(message));
    }
    let part = |(ahead, events)| StepPart { ahead, events };
    let parts = steps
        .into_iter()
        .map(|of_table| of_table.into_iter().map(part).collect());
    Ok(Some(parts.collect()))
}

/// Count events of the open step, at every table those of its own. With `steps` they are those of
/// later steps too.
#[pyfunction]
#[pyo3(
    signature = (tables, items, weights, *, steps=None),
    text_signature = "(tables, items, weights, *, steps=None)"
)]
pub(crate) fn add_to_batch_of_all<'py>(
    py: Python<'py>,
    tables: Vec<Table<'py>>,
    items: Vec<Bound<'py, PyAny>>,
    weights: Vec<Option<Bound<'py, PyAny>>>,
    steps: Option<Vec<StepsOfTable>>,
) -> PyResult<()> {
    require_one_per_table("weights", &tables, weights.len())?;
    let steps = parts_of(steps, tables.len())?;
    let batches = batches_of(&tables, &items)?;
    let weights = TableWeights::of_each(&weights)?;
    let borrowed = borrowed_of(&batches)?;
    let place = |at: usize| match &steps {
        None => Place::OpenStep,
        Some(parts) => Place::Steps(&parts[at]),
    };
    change_all(
        py,
        &guarded(&tables),
        |at, core| place(at).prepare(core, (borrowed[at].items(), weights.at(at), &[])),
        |at, core| place(at).count(core, (borrowed[at].items(), weights.at(at), &[])),
    )
}

/// Take steps without an event, at every table.
#[pyfunction]
#[pyo3(signature = (tables, steps), text_signature = "(tables, steps)")]
pub(crate) fn tick_all(py: Python<'_>, tables: Vec<Table<'_>>, steps: Steps) -> PyResult<()> {
    change_all(
        py,
        &guarded(&tables),
        |_, core| core.sketch().prepare_steps(steps.0),
        |_, core| core.tick(steps.0),
    )
}

/// End the open discovery epoch of every table.
#[pyfunction]
pub(crate) fn end_epoch_of_all(py: Python<'_>, tables: Vec<Table<'_>>) -> PyResult<()> {
    change_all(
        py,
        &guarded(&tables),
        |_, core| core.heavy()?.check_end_of_epoch(),
        |_, core| core.heavy()?.end_epoch(),
    )
}

/// Finish every table: publish everything pending, as the last step.
#[pyfunction]
pub(crate) fn finish_all(py: Python<'_>, tables: Vec<Table<'_>>) -> PyResult<()> {
    change_all(
        py,
        &guarded(&tables),
        |_, core| core.sketch().check_finish(),
        |_, core| core.finish(),
    )
}

/// Destroy the keys and counts of every table.
#[pyfunction]
pub(crate) fn close_all(py: Python<'_>, tables: Vec<Table<'_>>) -> PyResult<()> {
    let close = |_, core: &mut Core| {
        core.close();
        Ok(())
    };
    change_all(py, &guarded(&tables), |_, _| Ok(()), close)
}

/// Call a function while a lock of `threading` is held.
///
/// After the end of a `with` block, an interrupt may come before the lock is released, and then it
/// never is.
#[pyfunction]
pub(crate) fn call_locked<'py>(
    lock: &Bound<'py, PyAny>,
    function: &Bound<'py, PyAny>,
    args: &Bound<'py, PyTuple>,
    kwargs: &Bound<'py, PyDict>,
) -> PyResult<Bound<'py, PyAny>> {
    let kwargs = (!kwargs.is_empty()).then_some(kwargs);
    if let Ok(lock) = lock.cast_exact::<NestingLock>() {
        return lock
            .get()
            .held_for(lock.py(), || function.call(args, kwargs));
    }
    let release = lock.getattr(intern!(lock.py(), "release"))?;
    lock.call_method0(intern!(lock.py(), "acquire"))?;
    let result = function.call(args, kwargs);
    release.call0()?;
    result
}
