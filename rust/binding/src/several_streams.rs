//! One change at the tables of several streams that share their rows: at all of them, or at none.
//!
//! The parts of a pipeline count columns of the same rows. Where people are protected, each part
//! counts of them what its own bound admits, and a part that counts people themselves has no bound.

use crate::bounded_change::{BoundedChange, Place, make_all};
use crate::errors::{ArgumentValueError, at_table};
use crate::logged_events::LoggedEvents;
use crate::logged_people::LoggedPeople;
use crate::people::{People, items_of};
use crate::private::PrivateSketch;
use crate::weights::{TableWeights, counts_of};
use pyo3::prelude::*;

/// What one stream counts of the rows: its people or None, its tables, the items and the weights of
/// each of them, the person of each event or None, and the rows without an event.
type RowsOfStream<'py> = (
    Option<Bound<'py, People>>,
    Vec<Bound<'py, PrivateSketch>>,
    Vec<Bound<'py, PyAny>>,
    Vec<Option<Bound<'py, PyAny>>>,
    Option<Bound<'py, PyAny>>,
    Option<Bound<'py, PyAny>>,
);

/// Count rows at the tables of some streams, one step each or all in one step: of each stream what
/// its people may contribute, at all of its tables or at none.
#[pyfunction]
#[pyo3(
    signature = (streams, *, in_one_step=false),
    text_signature = "(streams, *, in_one_step=False)"
)]
pub(crate) fn update_streams<'py>(
    py: Python<'py>,
    streams: Vec<RowsOfStream<'py>>,
    in_one_step: bool,
) -> PyResult<()> {
    let first_tables: Vec<usize> = (streams.iter())
        .scan(0, |tables, stream| {
            let first = *tables;
            *tables += stream.1.len();
            Some(first)
        })
        .collect();
    let of_stream = |first: usize| move |error| at_table(py, first, error);
    let converted: Vec<_> = (streams.iter().zip(&first_tables))
        .map(|(stream, &first)| Converted::of(stream).map_err(of_stream(first)))
        .collect::<PyResult<_>>()?;
    let steps = converted.iter().map(|stream| stream.rows());
    if !in_one_step && steps.clone().any(|rows| rows != converted[0].rows()) {
        let message = "streams: expected as many rows of each, got different numbers";
        return Err(ArgumentValueError::new_err(message));
    }
    let place = if in_one_step {
        Place::OneStep
    } else {
        Place::Rows
    };
    let changes: Vec<_> = (streams.iter().zip(&converted).zip(&first_tables))
        .map(|((stream, converted), &first)| {
            converted.change(stream, place).map_err(of_stream(first))
        })
        .collect::<PyResult<_>>()?;
    make_all(py, &changes)
}

/// The rows of one stream, converted.
struct Converted<'py> {
    items: Vec<Bound<'py, LoggedEvents>>,
    user: Option<Bound<'py, LoggedPeople>>,
    empty: Vec<u64>,
}

impl<'py> Converted<'py> {
    fn of((people, tables, items, weights, user, empty): &RowsOfStream<'py>) -> PyResult<Self> {
        if tables.is_empty() || items.len() != tables.len() || weights.len() != tables.len() {
            let message = "streams: expected items and weights for each table, got other numbers";
            return Err(ArgumentValueError::new_err(message));
        }
        let user = match (people, user) {
            (Some(people), Some(user)) => Some(people.get().of_tables().identified(user)?),
            (None, None) => None,
            _ => {
                let message = "user: expected one per event where people are bounded, got none, \
                               or some where they are not";
                return Err(ArgumentValueError::new_err(message));
            }
        };
        let pairs = tables.iter().zip(items);
        let empty = empty.as_ref().map(|rows| counts_of("empty_rows", rows));
        Ok(Self {
            items: pairs
                .map(|(table, items)| items_of(table, items))
                .collect::<PyResult<_>>()?,
            user,
            empty: empty.transpose()?.unwrap_or_default(),
        })
    }

    fn rows(&self) -> usize {
        self.items[0].get().items().len() + self.empty.len()
    }

    fn change<'a>(
        &'a self,
        (people, tables, _, weights, ..): &'a RowsOfStream<'py>,
        place: Place<'a>,
    ) -> PyResult<BoundedChange<'a>> {
        let people = people.as_ref().map(|people| people.get().of_tables());
        Ok(BoundedChange {
            people,
            tables: (tables.iter().map(Bound::get))
                .map(|table| (&table.guarded, &table.fingerprinter))
                .collect(),
            bounded: people.map_or(0, |people| people.deciding().min(tables.len())),
            items: (self.items.iter())
                .map(|events| events.get().items())
                .collect(),
            user: (self.user.as_ref()).map_or(&[], |user| user.get().identities()),
            weights: TableWeights::of_each(weights)?,
            empty: self.empty.clone(),
            place,
        })
    }
}
