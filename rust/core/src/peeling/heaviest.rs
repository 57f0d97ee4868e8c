//! Joint estimates from what is left of a table, and the largest of them.

use super::cells::Cell;
use super::choice::{Chosen, Counts};
use crate::estimation::{ErrorModel, Row};
use crate::{Result, memory};
use std::cmp::Ordering;

/// Items whose estimates are made first, for each that is wanted: from the larger ones follows which
/// others can be as large.
const FIRST: usize = 2;

/// Estimates of items, in the room for one.
pub(super) struct Joint<'a> {
    /// Of the errors of what is left, or of the whole table.
    errors: &'a ErrorModel,
    /// The names that are taken out, and their counts.
    chosen: Option<(&'a Chosen, Counts<'a>)>,
    rows: Vec<Row>,
}

impl<'a> Joint<'a> {
    /// From what is left if names are taken out, or else from the whole table.
    pub(super) fn of(
        whole: &'a ErrorModel,
        left: Option<(&'a ErrorModel, &'a Chosen)>,
    ) -> Result<Self> {
        Ok(Self {
            errors: left.map_or(whole, |(errors, _)| errors),
            chosen: left.map(|(_, chosen)| (chosen, chosen.counts())),
            rows: memory::room_for(whole.depth())?,
        })
    }

    /// The count of an item at this step, from what is left in its cells.
    pub(super) fn estimate(&mut self, own: &[Cell]) -> f64 {
        self.read(own);
        self.errors.joint(&self.rows)
    }

    /// The largest estimates, at most `number`, by falling count and in the order of the items where
    /// counts are equal or below 0: their places, with the estimates.
    pub(super) fn heaviest(&mut self, items: &[Cell], number: usize) -> Result<Vec<(usize, f64)>> {
        let depth = self.errors.depth();
        let mut bounds = memory::room_for(items.len() / depth)?;
        for (place, own) in items.chunks_exact(depth).enumerate() {
            self.read(own);
            bounds.push((place, self.errors.joint_at_most(&self.rows)));
        }
        let number = number.min(bounds.len());
        let first = FIRST.saturating_mul(number).min(bounds.len());
        if first > 0 && first < bounds.len() {
            bounds.select_nth_unstable_by(first, by_falling_count);
        }
        let (likely, others) = bounds.split_at(first);
        let mut found = memory::room_for(first)?;
        for &(place, _) in likely {
            found.push((place, self.estimate(&items[place * depth..][..depth])));
        }
        found.sort_unstable_by(by_falling_count);
        found.truncate(number);
        let least = found.last().map_or(f64::INFINITY, |last| last.1.max(0.0));
        for &(place, bound) in others {
            if bound.max(0.0) >= least {
                let estimate = self.estimate(&items[place * depth..][..depth]);
                memory::push(&mut found, (place, estimate))?;
            }
        }
        found.sort_unstable_by(by_falling_count);
        found.truncate(number);
        Ok(found)
    }

    /// Reads the cells of an item.
    fn read(&mut self, own: &[Cell]) {
        let errors = self.errors;
        let width = errors.width();
        self.rows.clear();
        let Some((chosen, counts)) = &mut self.chosen else {
            self.rows.extend(own.iter().filter_map(|cell| {
                let value = errors.table().table[cell.at as usize] as f64;
                errors.row(cell.at as usize % width, value * f64::from(cell.sign))
            }));
            return;
        };
        let count = counts.of(own);
        self.rows.extend(own.iter().filter_map(|cell| {
            let column = cell.at as usize % width;
            let error = chosen.fitted.errors[cell.at as usize] * f64::from(cell.sign);
            errors.row(column, (error + count) * errors.share(column))
        }));
    }
}

/// By falling count, those below 0 as 0; then by place.
fn by_falling_count(one: &(usize, f64), two: &(usize, f64)) -> Ordering {
    let counts = two.1.max(0.0).total_cmp(&one.1.max(0.0));
    counts.then(one.0.cmp(&two.0))
}
