//! Estimates and intervals from public tables.

use crate::arrays::array_of;
use crate::errors::{ArgumentTypeError, ArgumentValueError, raise};
use crate::introspection::kind_of;
use lazysketch_core::estimation::TableErrors;
use lazysketch_core::estimation::{Bounds, Cover, EndTests, ErrorModel as CoreModel, How, Row};
use lazysketch_core::memory;
use lazysketch_core::parameters::TableKind;
use numpy::ndarray::ArrayView2;
use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::types::PyString;
use std::sync::{Arc, Mutex, PoisonError};

type Columns3<'py> = (
    Bound<'py, PyArray1<f64>>,
    Bound<'py, PyArray1<f64>>,
    Bound<'py, PyArray1<f64>>,
);

/// Levels whose tests are kept.
const KEPT: usize = 8;

/// The error distributions of the cells of a table.
#[pyclass(frozen, module = "lazysketch._native")]
pub(crate) struct ErrorModel {
    inner: Arc<CoreModel>,
    burstiness: f64,
    max_weight: f64,
    tests: Mutex<Vec<EndTests>>,
}

impl ErrorModel {
    pub(crate) fn of(
        py: Python<'_>,
        facts: TableErrors,
        max_weight: f64,
        burstiness: f64,
    ) -> PyResult<Self> {
        Ok(Self {
            inner: Arc::new(py.detach(|| CoreModel::of(facts)).map_err(raise)?),
            burstiness,
            max_weight,
            tests: Mutex::new(Vec::new()),
        })
    }

    pub(crate) fn core(&self) -> &CoreModel {
        &self.inner
    }

    pub(crate) fn shared(&self) -> Arc<CoreModel> {
        Arc::clone(&self.inner)
    }

    /// Work with the tests of a level, which are computed once.
    pub(crate) fn with_tests<T>(
        &self,
        (level, deviations, now): (f64, f64, bool),
        work: impl FnOnce(Cover, &mut EndTests) -> T,
    ) -> T {
        let cover = Cover {
            level,
            deviations,
            now,
            max_weight: self.max_weight,
            burstiness: self.burstiness,
        };
        let mut kept = self.tests.lock().unwrap_or_else(PoisonError::into_inner);
        let known = kept.iter().position(|tests| tests.have_level(level));
        let at = known.unwrap_or_else(|| {
            kept.truncate(KEPT - 1);
            kept.insert(0, self.inner.tests(level));
            0
        });
        work(cover, &mut kept[at])
    }

    /// Raise unless columns of items are of the table, one per row.
    fn check_columns(&self, columns: ArrayView2<'_, i64>) -> PyResult<()> {
        let width = self.inner.width() as i64;
        let outside = columns.iter().any(|column| !(0..width).contains(column));
        if columns.ncols() == self.inner.depth() && !outside {
            return Ok(());
        }
        let message = "columns: expected one of the table per row, got others";
        Err(ArgumentValueError::new_err(message))
    }

    /// Call `with` on the published cells of items whose values and columns are given.
    fn for_each(
        &self,
        values: &PyReadonlyArray2<'_, f64>,
        columns: &PyReadonlyArray2<'_, i64>,
        mut with: impl FnMut(&[Row]),
    ) -> PyResult<()> {
        let (values, columns) = (values.as_array(), columns.as_array());
        self.check_columns(columns)?;
        if values.dim() != columns.dim() {
            let message = "values: expected one per column of the table and row, got others";
            return Err(ArgumentValueError::new_err(message));
        }
        let mut rows = Vec::with_capacity(self.inner.depth());
        for (values, columns) in values.rows().into_iter().zip(columns.rows()) {
            rows.clear();
            let cells = values.iter().zip(columns);
            rows.extend(cells.filter_map(|(&value, &at)| self.inner.row(at as usize, value)));
            with(&rows);
        }
        Ok(())
    }
}

/// A copy of the array that a callable returns.
pub(crate) fn column_of(compute: &Bound<'_, PyAny>) -> PyResult<Vec<f64>> {
    let made: PyReadonlyArray1<'_, f64> = compute.call0()?.extract()?;
    memory::collected(made.as_array().iter().copied()).map_err(raise)
}

#[pymethods]
impl ErrorModel {
    /// The errors of an array of values; the numbers of columns are returned by callables, one array
    /// after the other.
    #[new]
    #[pyo3(signature = (table, *, kind, published, variance, step, max_weight, burstiness))]
    fn new(
        table: PyReadonlyArray2<'_, i64>,
        kind: &str,
        published: &Bound<'_, PyAny>,
        variance: &Bound<'_, PyAny>,
        step: f64,
        max_weight: f64,
        burstiness: f64,
    ) -> PyResult<Self> {
        let kind = kind_of(kind)?;
        let py = published.py();
        let table = table.as_array();
        let facts = TableErrors {
            signed: kind.is_signed(),
            collisions: !kind.has_indices(),
            depth: table.nrows(),
            table: Arc::new(memory::collected(table.iter().copied()).map_err(raise)?),
            published: column_of(published)?,
            variance: column_of(variance)?,
            step,
        };
        Self::of(py, facts, max_weight, burstiness)
    }

    /// The released values in the cells of items, one column per row.
    fn values<'py>(
        &self,
        py: Python<'py>,
        columns: PyReadonlyArray2<'py, i64>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let columns = columns.as_array();
        self.check_columns(columns)?;
        let value = |((_, row), &column): ((usize, usize), &i64)| {
            self.inner.value(row, column as usize) as f64
        };
        let values = memory::collected(columns.indexed_iter().map(value)).map_err(raise)?;
        array_of(py, values).reshape(columns.dim())
    }

    /// The intervals of items with these cells: estimates, lower ends, upper ends.
    #[pyo3(signature = (values, columns, *, level, deviations, now))]
    fn intervals<'py>(
        &self,
        py: Python<'py>,
        values: PyReadonlyArray2<'py, f64>,
        columns: PyReadonlyArray2<'py, i64>,
        level: f64,
        deviations: f64,
        now: bool,
    ) -> PyResult<Columns3<'py>> {
        let mut found = memory::room_for(values.as_array().nrows()).map_err(raise)?;
        self.with_tests((level, deviations, now), |cover, tests| {
            self.for_each(&values, &columns, |rows| {
                found.push(self.inner.bounds(rows, cover, tests));
            })
        })?;
        Ok(columns_of(py, &found))
    }
}

/// Return bounds as arrays of estimates, lower and upper ends.
fn columns_of<'py>(py: Python<'py>, bounds: &[Bounds]) -> Columns3<'py> {
    let column = |value: fn(&Bounds) -> f64| array_of(py, bounds.iter().map(value).collect());
    (
        column(|bounds| bounds.estimate),
        column(|bounds| bounds.low),
        column(|bounds| bounds.high),
    )
}

/// The estimator and the time of a query, as Python passes them; `None` for the defaults.
#[derive(FromPyObject)]
pub(crate) struct Choice<'py>(Bound<'py, PyAny>);

impl Choice<'_> {
    /// Return the position among the known names, of all tables or of one kind.
    fn among(&self, name: &str, known: &[&str], of: Option<TableKind>) -> PyResult<usize> {
        // Words are made for errors only: a read takes less than a microsecond.
        let expected = || {
            let quoted: Vec<_> = known.iter().map(|each| format!("'{each}'")).collect();
            let place = of.map_or_else(String::new, |kind| format!(" for {}", kind.name()));
            match known {
                [_, _] => format!("{name}: expected {}{place}", quoted.join(" or ")),
                _ => format!("{name}: expected one of {}{place}", quoted.join(", ")),
            }
        };
        let Ok(text) = self.0.cast::<PyString>() else {
            let got = self.0.get_type().name()?;
            let message = format!("{}, got {got}", expected());
            return Err(ArgumentTypeError::new_err(message));
        };
        let text = text.to_string_lossy();
        known.iter().position(|each| *each == text).ok_or_else(|| {
            let got: String = text.chars().take(40).collect();
            ArgumentValueError::new_err(format!("{}, got {got:?}", expected()))
        })
    }
}

/// Return which estimate of a table of some kind is wanted.
pub(crate) fn how_of(
    kind: TableKind,
    estimator: Option<&Choice<'_>>,
    at: Option<&Choice<'_>>,
) -> PyResult<How> {
    let paper = if kind.is_signed() {
        "median"
    } else {
        "minimum"
    };
    let joint = match estimator {
        None => true,
        Some(choice) => choice.among("estimator", &["joint", paper], Some(kind))? == 0,
    };
    let now = match at {
        None => joint,
        Some(choice) => choice.among("at", &["published", "now"], None)? == 1,
    };
    Ok(How { joint, now })
}
