//! Events with values, counted in two tables: in one the events, in the other their values.

use crate::batches::{SHORT_BATCH, batch_of};
use crate::bounded_change::{BoundedChange, Place, make_all};
use crate::errors::{ArgumentValueError, raise};
use crate::event_logging::logged_for_table;
use crate::guarded_sketch::{Core, change_all, change_all_briefly};
use crate::private::PrivateSketch;
use crate::weights::{TableWeights, counts_of, weights_of};
use lazysketch_core::{Error, Result};
use pyo3::prelude::*;

/// The place of the table of values.
const VALUES: usize = 1;

/// Count events with values in both tables, or in none: each takes one step, or all take one, which
/// may be the open one. With `user` an event is counted as far as its person may contribute it, in
/// both tables or in none.
///
/// The values are integers with a sign, in two's complement.
#[pyfunction]
#[pyo3(signature = (
    counts, values, items, weights, *, user=None, empty_rows=None, in_one_step=false,
    in_open_step=false,
))]
#[expect(
    clippy::too_many_arguments,
    reason = "of a function of Python, by name"
)]
pub(crate) fn update_sums<'py>(
    counts: &Bound<'py, PrivateSketch>,
    values: &Bound<'py, PrivateSketch>,
    items: &Bound<'py, PyAny>,
    weights: &Bound<'py, PyAny>,
    user: Option<&Bound<'py, PyAny>>,
    empty_rows: Option<&Bound<'py, PyAny>>,
    in_one_step: bool,
    in_open_step: bool,
) -> PyResult<()> {
    let (py, counts, values) = (items.py(), counts.get(), values.get());
    if (counts.shape, counts.person_bound) != (values.shape, values.person_bound) {
        let message = "tables: expected two with the same cells and bounds, got others";
        return Err(ArgumentValueError::new_err(message));
    }
    let place = match (in_open_step, in_one_step) {
        (true, _) => Place::OpenStep,
        (false, true) => Place::OneStep,
        (false, false) => Place::Rows,
    };
    let empty = empty_rows.map(|rows| counts_of("empty_rows", rows));
    if let Some(user) = user {
        let people = counts.bounded().people()?;
        let owned = logged_for_table(items, counts.target(), &counts.fingerprinter, None)?;
        let items = owned.get().items();
        let weights = weights_of(Some(weights))?;
        check_values(weights.as_deref(), items.len()).map_err(raise)?;
        let user = people.identified(user)?;
        let change = BoundedChange {
            people: Some(people),
            tables: vec![
                (&counts.guarded, &counts.fingerprinter),
                (&values.guarded, &values.fingerprinter),
            ],
            // An event has the same cells in both tables, so the first one decides for both.
            bounded: 1,
            items: vec![items; 2],
            user: user.get().identities(),
            weights: TableWeights::from([None, weights]),
            empty: empty.transpose()?.unwrap_or_default(),
            place,
        };
        return make_all(py, &[change]);
    }
    let batch = batch_of(items, None, counts.target())?;
    let weights = weights_of(Some(weights))?;
    let empty = empty.transpose()?.unwrap_or_default();
    let slice = batch.items()?;
    let weights_at = |at: usize| weights.as_deref().filter(|_| at == VALUES);
    let check = |at: usize, core: &mut Core| -> Result<()> {
        check_values(weights.as_deref(), slice.len())?;
        place.prepare(core, (slice, weights_at(at), &empty))
    };
    let change = |at: usize, core: &mut Core| place.count(core, (slice, weights_at(at), &empty));
    let tables = [&counts.guarded, &values.guarded];
    if slice.len() + empty.len() <= SHORT_BATCH {
        return change_all_briefly(py, &tables, check, change);
    }
    change_all(py, &tables, check, change)
}

fn check_values(values: Option<&[u64]>, items: usize) -> Result<()> {
    if values.is_some_and(|values| values.len() == items) {
        return Ok(());
    }
    let expected = format!("one per item ({items})");
    Err(Error::parameter("values", expected, "another number"))
}
