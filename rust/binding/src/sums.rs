//! Events with values, counted in two tables: in one the events, in the other their values.

use crate::batches::{SHORT_BATCH, batch_of};
use crate::errors::ArgumentValueError;
use crate::guarded_sketch::{Core, change_all, change_all_briefly};
use crate::private::PrivateSketch;
use crate::weights::{counts_of, weights_of};
use lazysketch_core::table::items::StepRows;
use lazysketch_core::{Error, Result};
use pyo3::prelude::*;

/// The place of the table of values.
const VALUES: usize = 1;

/// Count events with values in both tables, or in none: each takes one step, or all take one.
///
/// The values are integers with a sign, in two's complement.
#[pyfunction]
#[pyo3(signature = (counts, values, items, weights, *, empty_rows=None, in_one_step=false))]
pub(crate) fn update_sums<'py>(
    counts: &Bound<'py, PrivateSketch>,
    values: &Bound<'py, PrivateSketch>,
    items: &Bound<'py, PyAny>,
    weights: &Bound<'py, PyAny>,
    empty_rows: Option<&Bound<'py, PyAny>>,
    in_one_step: bool,
) -> PyResult<()> {
    let (py, counts, values) = (items.py(), counts.get(), values.get());
    if (counts.shape.kind, counts.shape.hash_seed) != (values.shape.kind, values.shape.hash_seed) {
        let message = "tables: expected two with one hash seed, got others";
        return Err(ArgumentValueError::new_err(message));
    }
    let batch = batch_of(items, None, counts.target())?;
    let weights = weights_of(Some(weights))?;
    let empty = empty_rows.map(|rows| counts_of("empty_rows", rows));
    let empty = empty.transpose()?.unwrap_or_default();
    let slice = batch.items()?;
    let weights_at = |at: usize| weights.as_deref().filter(|_| at == VALUES);
    let rows_at = |at: usize| StepRows::new(slice, weights_at(at), &empty);
    let check = |at: usize, core: &mut Core| -> Result<()> {
        if weights
            .as_ref()
            .is_none_or(|weights| weights.len() != slice.len())
        {
            let expected = format!("one per item ({})", slice.len());
            return Err(Error::parameter("values", expected, "another number"));
        }
        match in_one_step {
            true => core.prepare_batch(slice, weights_at(at)),
            false => core.prepare_rows(rows_at(at)?),
        }
    };
    let change = |at: usize, core: &mut Core| match in_one_step {
        true => core.update_batch(slice, weights_at(at)),
        false => core.update_rows(rows_at(at)?),
    };
    let tables = [&counts.guarded, &values.guarded];
    if slice.len() + empty.len() <= SHORT_BATCH {
        return change_all_briefly(py, &tables, check, change);
    }
    change_all(py, &tables, check, change)
}
