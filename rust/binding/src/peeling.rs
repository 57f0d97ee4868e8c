//! Counts and intervals from tables whose heavy names are taken out.

use crate::arrays::array_of;
use crate::errors::{ArgumentValueError, raise};
use crate::estimation::ErrorModel;
use lazysketch_core::peeling::{Cell, Ends, Peeled, Tests};
use lazysketch_core::{Result, memory};
use numpy::{PyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use std::sync::{Mutex, PoisonError};

type Arrays<'py> = (Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>);
type Heaviest<'py> = (Bound<'py, PyArray1<usize>>, Bound<'py, PyArray1<f64>>);
type Columns<'py> = PyReadonlyArray2<'py, u32>;
type Flipped<'py> = PyReadonlyArray2<'py, bool>;

/// Levels whose tests are kept.
const KEPT: usize = 8;

/// A public table from which the heavy names of a list are taken out.
#[pyclass(frozen, module = "lazysketch._native")]
pub(crate) struct PeeledTable {
    inner: Peeled,
    depth: usize,
    width: usize,
    tests: Mutex<Vec<(f64, Option<Tests>)>>,
}

#[pymethods]
impl PeeledTable {
    /// Take names out of the table of a model.
    #[new]
    fn new(
        py: Python<'_>,
        model: &ErrorModel,
        columns: Columns<'_>,
        flipped: Flipped<'_>,
    ) -> PyResult<Self> {
        let model = model.shared();
        let (depth, width) = (model.depth(), model.width());
        let names = cells_of(&columns, &flipped, (depth, width))?;
        let inner = py.detach(|| Peeled::of(model, names)).map_err(raise)?;
        Ok(Self {
            inner,
            depth,
            width,
            tests: Mutex::new(Vec::new()),
        })
    }

    /// Counts of items with these cells.
    fn estimates<'py>(
        &self,
        py: Python<'py>,
        columns: Columns<'py>,
        flipped: Flipped<'py>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let cells = cells_of(&columns, &flipped, (self.depth, self.width))?;
        let found = py.detach(|| self.inner.estimates(&cells)).map_err(raise)?;
        Ok(array_of(py, found))
    }

    /// The places of the items with the largest counts, by falling count, and these counts.
    fn heaviest<'py>(
        &self,
        py: Python<'py>,
        columns: Columns<'py>,
        flipped: Flipped<'py>,
        number: usize,
    ) -> PyResult<Heaviest<'py>> {
        let cells = cells_of(&columns, &flipped, (self.depth, self.width))?;
        let found = py.detach(|| self.inner.heaviest(&cells, number));
        let (places, counts) = found.map_err(raise)?.into_iter().unzip();
        Ok((PyArray1::from_vec(py, places), array_of(py, counts)))
    }

    /// Lower and upper ends of the counts of items that tests of this level accept; `None` if they
    /// reject nothing, or no sooner than without the names.
    #[pyo3(signature = (columns, flipped, *, level))]
    fn ends<'py>(
        &self,
        py: Python<'py>,
        columns: Columns<'py>,
        flipped: Flipped<'py>,
        level: f64,
    ) -> PyResult<Option<Arrays<'py>>> {
        let cells = cells_of(&columns, &flipped, (self.depth, self.width))?;
        let found = py.detach(|| self.with_tests(level, |tests| self.inner.ends(&cells, tests)));
        let Some(found) = found.map_err(raise)? else {
            return Ok(None);
        };
        let column = |value: fn(&Ends) -> f64| array_of(py, found.iter().map(value).collect());
        Ok(Some((column(|ends| ends.low), column(|ends| ends.high))))
    }
}

impl PeeledTable {
    /// Work with the tests of a level, which are computed once; `None` if the names are of no use.
    fn with_tests<T>(
        &self,
        level: f64,
        work: impl FnOnce(&Tests) -> Result<T>,
    ) -> Result<Option<T>> {
        let mut kept = self.tests.lock().unwrap_or_else(PoisonError::into_inner);
        let known = kept.iter().find(|(its, _)| *its == level);
        let tests = match known {
            Some((_, tests)) => tests.clone(),
            None => {
                let tests = match self.inner.tests(level)? {
                    Some(tests) if self.inner.narrows(&tests)? => Some(tests),
                    _ => None,
                };
                kept.truncate(KEPT - 1);
                kept.insert(0, (level, tests.clone()));
                tests
            }
        };
        drop(kept);
        tests.map(|tests| work(&tests)).transpose()
    }
}

/// Return the cells of items, `depth` per item, checked.
fn cells_of(
    columns: &Columns<'_>,
    flipped: &Flipped<'_>,
    (depth, width): (usize, usize),
) -> PyResult<Vec<Cell>> {
    let (columns, flipped) = (columns.as_array(), flipped.as_array());
    let outside = columns.iter().any(|&column| column as usize >= width);
    if columns.ncols() != depth || columns.dim() != flipped.dim() || outside {
        let message = "columns: expected one column of the table per row, got others";
        return Err(ArgumentValueError::new_err(message));
    }
    let mut cells = memory::room_for(columns.len()).map_err(raise)?;
    let each = (0..depth).cycle().zip(columns.iter().zip(flipped));
    cells.extend(each.map(|(row, (&column, &flipped))| Cell {
        at: (row * width) as u32 + column,
        sign: if flipped { -1.0 } else { 1.0 },
    }));
    Ok(cells)
}
