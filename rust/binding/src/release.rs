//! Releases: public tables with the parameters of their noise.

use crate::arrays::array_of;
use crate::batches::batch_of;
use crate::descriptions::noise_facts;
use crate::errors::raise;
use crate::estimation::{Choice, ErrorModel, column_of, how_of};
use crate::introspection::reasons_of;
use crate::items::{Column, Target, object_of};
use crate::owned_items::copies_of;
use lazysketch_core::estimation::TableErrors;
use lazysketch_core::parameters::{Shape, TableKind};
use lazysketch_core::release::codec;
use lazysketch_core::release::{
    ItemCells, Part, Release as CoreRelease, ReleaseReader, RunPromise, TablePromise,
};
use lazysketch_core::table::hash::Fingerprinter;
use lazysketch_core::table::items::Items;
use lazysketch_core::{Error, memory};
use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyTuple};

type Cells1<'py> = (Bound<'py, PyArray1<u32>>, Bound<'py, PyArray1<bool>>);
type Cells2<'py> = (Bound<'py, PyArray2<u32>>, Bound<'py, PyArray2<bool>>);

/// What a run promised: its id, its pair, and for each table the depth and the other numbers.
#[derive(FromPyObject)]
pub(crate) struct RunOfRelease([u8; 16], f64, f64, Vec<(u32, [f64; 6])>);

impl RunOfRelease {
    pub(crate) fn promise(self) -> RunPromise {
        let tables = self.3.into_iter();
        RunPromise {
            id: self.0,
            epsilon: self.1,
            delta: self.2,
            tables: tables
                .map(|(depth, numbers)| TablePromise::of(depth, numbers))
                .collect(),
        }
    }
}

/// A public table with the distribution of its noise; wrapped by `lazysketch.Release`.
#[pyclass(frozen, module = "lazysketch._native")]
pub(crate) struct Release {
    inner: CoreRelease,
    fingerprinter: Fingerprinter,
    cells: ItemCells,
}

impl Release {
    pub(crate) fn new(inner: CoreRelease) -> Self {
        let (fingerprinter, cells) = (inner.fingerprinter(), inner.item_cells());
        Self {
            inner,
            fingerprinter,
            cells,
        }
    }

    fn reader(&self) -> ReleaseReader<'_> {
        self.inner.reader(&self.cells)
    }

    pub(crate) fn core(&self) -> &CoreRelease {
        &self.inner
    }
}

#[pymethods]
impl Release {
    /// A release and the names in it, in order.
    #[staticmethod]
    fn from_bytes<'py>(py: Python<'py>, data: &[u8]) -> PyResult<(Self, Vec<Bound<'py, PyAny>>)> {
        let decoded = py.detach(|| codec::decode_with_names(data));
        let (release, names) = decoded.map_err(raise)?;
        let mut objects = memory::room_for(names.len()).map_err(raise)?;
        for name in names {
            objects.push(object_of(py, name)?);
        }
        Ok((Self::new(release), objects))
    }

    /// The bytes of the release with these names: a list of distinct items.
    #[pyo3(signature = (names=None))]
    fn to_bytes<'py>(
        &self,
        py: Python<'py>,
        names: Option<&Bound<'py, PyList>>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let Some(names) = names else {
            let bytes = py.detach(|| codec::encode(&self.inner)).map_err(raise)?;
            return bytes_object(py, &bytes);
        };
        let names = copies_of(names)?;
        let encoded = || codec::encode_with_names(&self.inner, &names.collected()?);
        bytes_object(py, &py.detach(encoded).map_err(raise)?)
    }

    #[staticmethod]
    fn merge(releases: Vec<Bound<'_, Self>>) -> PyResult<Self> {
        let parts: Vec<_> = releases
            .iter()
            .map(|release| &release.get().inner)
            .collect();
        CoreRelease::merge(&parts).map(Self::new).map_err(raise)
    }

    /// The counts of the steps after an earlier release of the same sketch.
    fn since(&self, earlier: &Bound<'_, Self>) -> PyResult<Self> {
        let found = self.inner.since(&earlier.get().inner);
        found.map(Self::new).map_err(raise)
    }

    /// The errors of the cells, whose values are shared; callables return the numbers of columns.
    #[pyo3(signature = (*, published, variance, step, max_weight, burstiness))]
    fn error_model(
        &self,
        published: &Bound<'_, PyAny>,
        variance: &Bound<'_, PyAny>,
        step: f64,
        max_weight: f64,
        burstiness: f64,
    ) -> PyResult<ErrorModel> {
        let shape = self.inner.shape();
        let facts = TableErrors {
            signed: shape.kind.is_signed(),
            collisions: !shape.kind.has_indices(),
            depth: shape.depth as usize,
            table: self.inner.shared_table(),
            published: column_of(published)?,
            variance: column_of(variance)?,
            step,
        };
        ErrorModel::of(published.py(), facts, max_weight, burstiness)
    }

    fn estimate(&self, item: &Bound<'_, PyAny>) -> PyResult<f64> {
        let target = target_of(self.inner.shape(), &self.fingerprinter);
        let item = target.object(item).map_err(|fault| fault.of_item())?;
        Ok(self.reader().estimate(item))
    }

    #[pyo3(signature = (items, column=None))]
    fn estimate_many<'py>(
        &self,
        py: Python<'py>,
        items: &Bound<'py, PyAny>,
        column: Option<Column>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let target = target_of(self.inner.shape(), &self.fingerprinter);
        let batch = batch_of(items, column.as_ref(), target)?;
        let items = batch.items()?;
        let reader = self.reader();
        let estimates = py
            .detach(|| reader.estimate_many(items, &self.fingerprinter))
            .map_err(raise)?;
        Ok(array_of(py, estimates))
    }

    /// The estimate of an item; the model is that of this release.
    #[pyo3(signature = (model, item, *, estimator=None, at=None))]
    fn estimate_by(
        &self,
        model: &ErrorModel,
        item: &Bound<'_, PyAny>,
        estimator: Option<Choice<'_>>,
        at: Option<Choice<'_>>,
    ) -> PyResult<f64> {
        let how = how_of(self.inner.shape().kind, estimator.as_ref(), at.as_ref())?;
        let target = target_of(self.inner.shape(), &self.fingerprinter);
        let item = target.object(item).map_err(|fault| fault.of_item())?;
        let (reader, mut rows) = (self.reader(), Vec::new());
        let rows = reader.rows(model.core(), item, &mut rows);
        Ok(model.core().estimate(reader.estimate(item), rows, how))
    }

    /// The estimates of many items; the model is that of this release.
    #[pyo3(signature = (model, items, column=None, *, estimator=None, at=None))]
    fn estimate_many_by<'py>(
        &self,
        py: Python<'py>,
        model: &ErrorModel,
        items: &Bound<'py, PyAny>,
        column: Option<Column>,
        estimator: Option<Choice<'_>>,
        at: Option<Choice<'_>>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let how = how_of(self.inner.shape().kind, estimator.as_ref(), at.as_ref())?;
        let target = target_of(self.inner.shape(), &self.fingerprinter);
        let batch = batch_of(items, column.as_ref(), target)?;
        let items = batch.items()?;
        let (reader, core) = (self.reader(), model.core());
        let estimates = py.detach(|| {
            let mut estimates = memory::room_for(items.len())?;
            reader.for_each(core, items, &self.fingerprinter, |paper, rows| {
                estimates.push(core.estimate(paper, rows, how));
            });
            Ok::<_, Error>(estimates)
        });
        let estimates = estimates.map_err(raise)?;
        Ok(array_of(py, estimates))
    }

    /// Estimate, lower and upper end of one item; the model is that of this release.
    #[pyo3(signature = (model, item, *, level, deviations, now))]
    fn interval(
        &self,
        model: &ErrorModel,
        item: &Bound<'_, PyAny>,
        level: f64,
        deviations: f64,
        now: bool,
    ) -> PyResult<(f64, f64, f64)> {
        let target = target_of(self.inner.shape(), &self.fingerprinter);
        let item = target.object(item).map_err(|fault| fault.of_item())?;
        let (reader, mut rows) = (self.reader(), Vec::new());
        let rows = reader.rows(model.core(), item, &mut rows);
        let found = model.with_tests((level, deviations, now), |cover, tests| {
            model.core().bounds(rows, cover, tests)
        });
        Ok((found.estimate, found.low, found.high))
    }

    /// Return columns and signs of one item's cells, each of shape (depth,).
    fn cells<'py>(&self, py: Python<'py>, item: &Bound<'py, PyAny>) -> PyResult<Cells1<'py>> {
        let target = target_of(self.inner.shape(), &self.fingerprinter);
        let item = target.object(item).map_err(|fault| fault.of_item())?;
        let reader = self.reader();
        let (columns, flipped) = reader
            .locate_many(Items::Ready(&[item]), &self.fingerprinter)
            .map_err(raise)?;
        let columns = PyArray1::from_vec(py, columns);
        Ok((columns, PyArray1::from_vec(py, flipped)))
    }

    /// Return columns and signs of many items' cells, each of shape (items, depth).
    #[pyo3(signature = (items, column=None))]
    fn cells_many<'py>(
        &self,
        py: Python<'py>,
        items: &Bound<'py, PyAny>,
        column: Option<Column>,
    ) -> PyResult<Cells2<'py>> {
        let target = target_of(self.inner.shape(), &self.fingerprinter);
        let batch = batch_of(items, column.as_ref(), target)?;
        let items = batch.items()?;
        let reader = self.reader();
        let (columns, flipped) = py
            .detach(|| reader.locate_many(items, &self.fingerprinter))
            .map_err(raise)?;
        let shape = [items.len(), self.inner.shape().depth as usize];
        let columns = PyArray1::from_vec(py, columns).reshape(shape)?;
        Ok((columns, PyArray1::from_vec(py, flipped).reshape(shape)?))
    }

    #[getter]
    fn table<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<i64>>> {
        let rows = memory::copied(self.inner.table()).map_err(raise)?;
        table_of(py, self.inner.shape(), rows)
    }

    /// The sum of the cells of each row, without a copy of the table.
    #[getter]
    fn row_sums(&self, py: Python<'_>) -> Vec<i64> {
        let table = self.inner.table();
        let rows = table.chunks_exact(table.len() / self.inner.shape().depth as usize);
        let sum = |row: &[i64]| row.iter().fold(0_i64, |sum, &cell| sum.wrapping_add(cell));
        py.detach(|| rows.map(sum).collect())
    }

    #[getter]
    fn kind(&self) -> &'static str {
        self.inner.shape().kind.name()
    }

    #[getter]
    fn depth(&self) -> u32 {
        self.inner.shape().depth
    }

    #[getter]
    fn width(&self) -> u32 {
        self.inner.shape().width
    }

    /// Bits of each level of a count of distinct items; 0 for other kinds.
    #[getter]
    fn bits(&self) -> u32 {
        bits_of(self.inner.shape().kind)
    }

    /// The edges between the bins of values; empty for other kinds.
    #[getter]
    fn edges(&self) -> Vec<f64> {
        self.inner.edges().to_vec()
    }

    /// The rows of the tree over the bins of values; None for other kinds.
    #[getter]
    fn value_rows(&self) -> Option<&'static str> {
        match self.inner.shape().kind {
            TableKind::Values { rows, .. } => Some(rows.name()),
            _ => None,
        }
    }

    #[getter]
    fn hash_seed(&self) -> u64 {
        self.inner.shape().hash_seed
    }

    #[getter]
    fn parts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let shape = self.inner.shape();
        let parts = self
            .inner
            .parts()
            .iter()
            .map(|part| part_of(py, shape, part));
        PyTuple::new(py, parts.collect::<PyResult<Vec<_>>>()?)
    }
}

/// Return bytes as a Python object; without memory an exception, where `PyBytes::new` panics.
pub(crate) fn bytes_object<'py>(py: Python<'py>, bytes: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
    PyBytes::new_with(py, bytes.len(), |out| {
        out.copy_from_slice(bytes);
        Ok(())
    })
}

/// Return the conversion target of items of a table of this shape.
pub(crate) fn target_of<'a>(shape: &Shape, fingerprinter: &'a Fingerprinter) -> Target<'a> {
    match shape.kind {
        kind if kind.takes_indices() => Target::Index(shape.largest_index()),
        _ => Target::Fingerprint(fingerprinter),
    }
}

/// Return the bits of each level of a count of distinct items, or 0.
pub(crate) fn bits_of(kind: TableKind) -> u32 {
    match kind {
        TableKind::Distinct { bits } => bits,
        _ => 0,
    }
}

/// Return rows of 64-bit integers as an array of shape (depth, width).
pub(crate) fn table_of<'py>(
    py: Python<'py>,
    shape: &Shape,
    rows: Vec<i64>,
) -> PyResult<Bound<'py, PyArray2<i64>>> {
    PyArray1::from_vec(py, rows).reshape([shape.depth as usize, shape.width as usize])
}

fn part_of<'py>(py: Python<'py>, shape: &Shape, part: &Part) -> PyResult<Bound<'py, PyDict>> {
    let description = PyDict::new(py);
    description.set_item("sketch_id", PyBytes::new(py, &part.sketch_id.0))?;
    description.set_item("step", part.step)?;
    description.set_item("since", part.since)?;
    description.set_item(
        "finished",
        part.finished.map(|[first, second]| (first, second)),
    )?;
    let run = part.run.as_ref();
    let run = run.map(|run| {
        let tables = run.tables.iter();
        let tables: Vec<_> = tables.map(|one| (one.depth, one.numbers())).collect();
        (PyBytes::new(py, &run.id), run.epsilon, run.delta, tables)
    });
    description.set_item("run", run)?;
    description.set_item("not_private_because", reasons_of(py, part.not_private)?)?;
    description.set_item(
        "noise",
        part.noise
            .as_ref()
            .map(|spec| noise_facts(py, shape, spec))
            .transpose()?,
    )?;
    Ok(description)
}
