//! Partial counts: what workers count, and what a store gathers of it. Python sees descriptions and
//! sealed bytes.

use crate::batches::batch_of;
use crate::errors::{ArgumentValueError, ClosedError, raise};
use crate::event_batch::Events;
use crate::guarded_sketch::change_all;
use crate::hierarchy::{columns_of, hierarchy_of};
use crate::items::Column;
use crate::maker_process::MakerProcess;
use crate::private::PrivateSketch;
use crate::release::target_of;
use crate::values::bins_of_worker;
use crate::weights::weights_in_place;
use lazysketch_core::item::Item;
use lazysketch_core::parameters::TableKind;
use lazysketch_core::partial::{PartialCounts as CoreCounts, PartialKeys, PartialSpec};
use lazysketch_core::table::hash::Fingerprinter;
use lazysketch_core::table::items::Items;
use lazysketch_core::{Error, Result, memory};
use lazysketch_text::Hierarchy as Names;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::sync::{Arc, Mutex, MutexGuard};

const ADVICE: &str = "events of both processes would be counted twice. Make partial counts in the \
                      process that counts";

/// Exact counts of a worker, which can be added and sealed; base of `lazysketch.PartialCounts`.
#[pyclass(frozen, subclass, module = "lazysketch._native")]
pub(crate) struct PartialCounts {
    maker: MakerProcess,
    spec: PartialSpec,
    fingerprinter: Fingerprinter,
    /// How items become names of the finest level, for a hierarchy.
    levels: Option<Names>,
    /// The edges between bins, for values.
    edges: Arc<[f64]>,
    inner: Mutex<CoreCounts>,
}

impl PartialCounts {
    fn lock(&self) -> PyResult<MutexGuard<'_, CoreCounts>> {
        // After a panic in the middle of an update the counts are unknown.
        self.inner.lock().map_err(|_| {
            ClosedError::new_err("partial: expected intact counts, got some of a failed update")
        })
    }
}

#[pymethods]
impl PartialCounts {
    #[new]
    fn new(spec: &Bound<'_, PyBytes>) -> PyResult<Self> {
        let (spec, edges) = PartialSpec::decode_for_worker(spec.as_bytes()).map_err(raise)?;
        let levels = levels_of(&spec).map_err(raise)?;
        let counts = CoreCounts::new(spec).map_err(raise)?;
        Ok(Self {
            maker: MakerProcess::this("partial", ADVICE),
            spec,
            fingerprinter: *counts.fingerprinter(),
            levels,
            edges,
            inner: Mutex::new(counts),
        })
    }

    /// Count events. With `only_fitting`, those whose items have no names of the levels are left out.
    #[pyo3(signature = (items, weights=None, *, column=None, only_fitting=false))]
    fn _update_many<'py>(
        &self,
        items: &Bound<'py, PyAny>,
        weights: Option<&Bound<'py, PyAny>>,
        column: Option<Column>,
        only_fitting: bool,
    ) -> PyResult<()> {
        let mut misfits = Vec::new();
        let names = match &self.levels {
            Some(levels) => {
                let misfits = only_fitting.then_some(&mut misfits);
                columns_of(items.py(), levels, items, misfits)?.pop()
            }
            None => None,
        };
        let count = |slice: Items<'_>| {
            let weights = weights_in_place(weights)?;
            let kept;
            let weights = match weights.as_slice()? {
                Some(weights) if !misfits.is_empty() => {
                    kept = without(weights, &misfits, slice.len())?;
                    Some(kept.as_slice())
                }
                weights => weights,
            };
            self.maker.check()?;
            items.py().detach(|| {
                let mut counts = self.lock()?;
                counts.update_many(slice, weights).map_err(raise)
            })
        };
        if let Some(finest) = names {
            return count(Items::columns(&finest.columns()?));
        }
        if let TableKind::Values { .. } = self.spec.shape.kind {
            let bins = bins_of_worker(items.py(), items, &self.edges)?;
            return count(Items::Ready(&bins));
        }
        if self.spec.named.is_some() {
            let batch = Events::of(items, column.as_ref())?;
            return count(batch.borrowed()?.items());
        }
        let target = target_of(&self.spec.shape, &self.fingerprinter);
        count(batch_of(items, column.as_ref(), target)?.items()?)
    }

    fn _merge(&self, py: Python<'_>, other: &Bound<'_, Self>) -> PyResult<()> {
        let other = other.get();
        if std::ptr::eq(self, other) {
            let message = "other: expected other partial counts, got the same";
            return Err(ArgumentValueError::new_err(message));
        }
        self.maker.check()?;
        other.maker.check()?;
        py.detach(|| {
            // In one order everywhere, so that no two calls wait for each other.
            let (mut counts, mut taken);
            if std::ptr::from_ref(self) < std::ptr::from_ref(other) {
                counts = self.lock()?;
                taken = other.lock()?;
            } else {
                taken = other.lock()?;
                counts = self.lock()?;
            }
            counts.merge(&mut taken).map_err(raise)
        })
    }

    fn _seal<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        self.maker.check()?;
        let sealed = py.detach(|| self.lock()?.seal().map_err(raise))?;
        Ok(PyBytes::new(py, &sealed))
    }

    /// Kind, rows and columns of the table, and whether names are counted: all public.
    #[getter]
    fn _shape(&self) -> (&'static str, u32, u32, bool) {
        let shape = self.spec.shape;
        let named = self.spec.named.is_some();
        let kind = match self.spec.summed {
            Some(_) => "sums",
            None => shape.kind.name(),
        };
        (kind, shape.depth, shape.width, named)
    }

    /// Bounds, steps and exactness of the grid of values by item, for sums: all public.
    #[getter]
    fn _value_grid(&self) -> Option<(f64, f64, u64, bool)> {
        let summed = self.spec.summed?;
        let (low, high) = summed.bounds();
        Some((low, high, summed.steps, summed.is_exact()))
    }
}

/// Return the values without those at some positions, ascending, where `number` are left.
fn without(values: &[u64], positions: &[usize], number: usize) -> PyResult<Vec<u64>> {
    if values.len() != number + positions.len() {
        return Err(raise(Error::parameter(
            "weights",
            "one per item",
            "another number",
        )));
    }
    let mut kept = memory::room_for(number).map_err(raise)?;
    let mut begin = 0;
    for &end in positions {
        kept.extend_from_slice(&values[begin..end]);
        begin = end + 1;
    }
    kept.extend_from_slice(&values[begin..]);
    Ok(kept)
}

/// Return how the items of a description become names of levels, if they do.
fn levels_of(spec: &PartialSpec) -> Result<Option<Names>> {
    let levels = spec.named.and_then(|named| named.levels);
    levels.as_ref().map(hierarchy_of).transpose()
}

/// The table of values by item beside one of events: with the bounds of values, and whether the caller
/// chose the grid.
pub(crate) type ValuesOfWorkers<'py> = (Bound<'py, PrivateSketch>, f64, f64, bool);

/// The sum of the partial counts of one step, which a private table takes over.
#[pyclass(frozen, module = "lazysketch._native")]
pub(crate) struct GatheredCounts {
    maker: MakerProcess,
    keys: Arc<PartialKeys>,
    /// That of the table, as handed out at the beginning.
    spec: PartialSpec,
    inner: Mutex<CoreCounts>,
}

impl GatheredCounts {
    pub(crate) fn of(keys: Arc<PartialKeys>, spec: PartialSpec) -> PyResult<Self> {
        Ok(Self {
            maker: MakerProcess::this("partial", ADVICE),
            keys,
            spec,
            inner: Mutex::new(CoreCounts::new(spec).map_err(raise)?),
        })
    }

    /// Use the counts, without the interpreter lock.
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut CoreCounts) -> Result<T> + Send,
    ) -> PyResult<T> {
        self.maker.check()?;
        py.detach(|| {
            let mut counts = self.inner.lock().map_err(|_| raise(Error::Closed))?;
            work(&mut counts).map_err(raise)
        })
    }
}

#[pymethods]
impl GatheredCounts {
    /// Add sealed counts of the table; return when their description was handed out, and their id.
    fn add<'py>(
        &self,
        py: Python<'py>,
        sealed: &Bound<'py, PyBytes>,
    ) -> PyResult<(u64, Bound<'py, PyBytes>)> {
        let bytes = sealed.as_bytes();
        let (issued, id) = self.with(py, |counts| {
            let opened = self.keys.open(bytes, &self.spec)?;
            counts.gather(&opened)?;
            Ok((opened.spec().issued, opened.id()))
        })?;
        Ok((issued, PyBytes::new(py, &id.0)))
    }

    /// Take one step of a table with the events of the sum, or add them to its open step.
    #[pyo3(signature = (table, *, in_open_step=false))]
    fn add_to(&self, table: &Bound<'_, PrivateSketch>, in_open_step: bool) -> PyResult<()> {
        let (py, guarded) = (table.py(), table.get().guarded());
        guarded.check_process()?;
        if self.spec.summed.is_some() {
            let message = "sealed: expected counts of one table, got those of events and values";
            return Err(ArgumentValueError::new_err(message));
        }
        // The lock of the table is the inner one everywhere: a table knows no gathered counts.
        self.with(py, |counts| {
            guarded.locked(|core| match in_open_step {
                false => core.add_partial(counts),
                true => core.add_partial_to_batch(counts),
            })
        })
    }

    /// Take one step of a table of events and one of their values with the sum, or add it to the open
    /// step: both tables, or none.
    #[pyo3(signature = (events, values, *, in_open_step=false))]
    fn add_to_both(
        &self,
        events: &Bound<'_, PrivateSketch>,
        values: &Bound<'_, PrivateSketch>,
        in_open_step: bool,
    ) -> PyResult<()> {
        self.maker.check()?;
        if self.spec.summed.is_none() {
            let message = "sealed: expected counts of events and values, got those of one table";
            return Err(ArgumentValueError::new_err(message));
        }
        let (py, tables) = (
            events.py(),
            [events.get().guarded(), values.get().guarded()],
        );
        // Counts of two tables have this caller alone, so that theirs may be the inner lock here.
        let counts = || self.inner.lock().map_err(|_| Error::Closed);
        change_all(
            py,
            &tables,
            |_, core| core.plain()?.prepare_partial(&*counts()?, in_open_step),
            |_, core| match in_open_step {
                false => core.add_partial(&*counts()?),
                true => core.add_partial_to_batch(&*counts()?),
            },
        )
    }

    /// Take one step of the tables of a hierarchy with the names of the sum, or add them to the open
    /// step: all tables, or none.
    #[pyo3(signature = (tables, *, in_open_step=false))]
    fn add_to_levels(
        &self,
        py: Python<'_>,
        tables: Vec<Bound<'_, PrivateSketch>>,
        in_open_step: bool,
    ) -> PyResult<()> {
        let levels = levels_of(&self.spec).map_err(raise)?;
        let hierarchy = levels.ok_or_else(|| {
            ArgumentValueError::new_err("sealed: expected counts for a hierarchy, got others")
        })?;
        let sketches: Vec<_> = tables.iter().map(|it| it.get().guarded()).collect();
        let number = sketches.len();
        // The description is that of the coarsest level.
        if let Some(first) = sketches.first() {
            first.detached(py, |core| core.heavy()?.check_takes_names(&self.spec))?;
        }
        let names = self.with(py, |counts| {
            counts.names_of_levels(number, |item, with| match item {
                Item::Text(name) => {
                    let item = hierarchy.item_named(name);
                    hierarchy.split(item, &mut |level, name| with(level, name))
                }
                _ => false,
            })
        })?;
        let names: Vec<_> = names.into_iter().map(Mutex::new).collect();
        let step_of = |at: usize| names[at].lock().map_err(|_| Error::Closed);
        change_all(
            py,
            &sketches,
            |at, core| {
                let mut step = step_of(at)?;
                core.heavy()?.prepare_step_names(&mut step, in_open_step)
            },
            |at, core| core.heavy()?.add_step_names(&*step_of(at)?, in_open_step),
        )
    }

    /// A keyed digest of the sum: it confirms no guess.
    fn digest<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let digest = self.with(py, |counts| self.keys.content_digest(counts))?;
        Ok(PyBytes::new(py, &digest))
    }

    /// Seal the sum to the store itself, for its log.
    fn sealed<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let sealed = self.with(py, |counts| counts.sealed())?;
        Ok(PyBytes::new(py, &sealed))
    }
}
