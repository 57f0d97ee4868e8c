//! Counts of known names, fitted to the whole table together.
//!
//! Which names are fitted is public, and so is the hash. With the counts `b` of the names, the
//! released cells are `X b` plus errors of the rest of the stream. The fit minimises Huber's (1964)
//! loss of these errors, which is convex: there is one minimum, found by coordinate descent. A name
//! whose count changed queues the names in its cells.

use super::model::ErrorModel;

/// Rounds, each with its own background and spread.
const ROUNDS: usize = 4;
/// A change of a count below this, in spreads, queues no other name.
const TOLERANCE: f64 = 0.02;
/// Weight of the square of a count, which decides between names with the same cells.
const RIDGE: f64 = 1e-4;
/// Where the loss becomes linear, in spreads: below, without signs, and elsewhere.
const BELOW: f64 = 2.0;
const ABOVE: f64 = 2.5;

/// Steps that find the best change of one count, at most, and their precision in counts.
const MOST_STEPS: usize = 60;
const PRECISION: f64 = 1e-3;

/// A name's cells: position in the table, and what one count adds to it.
#[derive(Debug, Clone, Copy)]
pub struct Cell {
    /// Row times width plus column.
    pub at: usize,
    /// The published share of a count at this step, times the sign; 0 before the first push.
    pub share: f64,
}

/// Fitted counts, and the errors that they leave.
#[derive(Debug, Clone)]
pub(super) struct Fit {
    pub(super) counts: Vec<f64>,
    /// Of every cell, less the background.
    pub(super) errors: Vec<f64>,
    pub(super) spread: f64,
}

impl ErrorModel {
    /// Fits the counts at this step of names with these cells, `depth` per name.
    pub(super) fn fit(&self, cells: &[Cell], start: &[f64]) -> Fit {
        let depth = self.depth();
        let names = cells.len() / depth;
        let mut errors: Vec<f64> = self.facts.table.iter().map(|&value| value as f64).collect();
        let mut counts = vec![0.0; names];
        counts[..start.len()].copy_from_slice(start);
        for (cells, &count) in cells.chunks_exact(depth).zip(&counts) {
            for cell in cells {
                errors[cell.at] -= count * cell.share;
            }
        }
        let at_cell = names_at(cells, depth, errors.len());
        let mut spread = 0.0;
        for _ in 0..ROUNDS {
            self.less_background(&mut errors);
            spread = self.spread_of(&errors);
            let clips = match self.facts.signed {
                true => (ABOVE * spread, ABOVE * spread),
                false => (BELOW * spread, ABOVE * spread),
            };
            descend(
                cells,
                depth,
                &at_cell,
                &mut counts,
                &mut errors,
                spread,
                clips,
            );
        }
        Fit {
            counts,
            errors,
            spread,
        }
    }

    /// Subtracts the median of each row from its published cells.
    fn less_background(&self, errors: &mut [f64]) {
        if self.facts.signed {
            return;
        }
        let published = &self.facts.published;
        let mut sorted = Vec::with_capacity(published.len());
        for row in errors.chunks_exact_mut(published.len()) {
            sorted.clear();
            let cells = row.iter().zip(published).filter(|(_, step)| **step > 0.0);
            sorted.extend(cells.map(|(&error, _)| error));
            let median = middle(&mut sorted);
            let cells = row
                .iter_mut()
                .zip(published)
                .filter(|(_, step)| **step > 0.0);
            cells.for_each(|(error, _)| *error -= median);
        }
    }

    /// The standard deviation of the bulk of the errors; without signs, of their lower half.
    pub(super) fn spread_of(&self, errors: &[f64]) -> f64 {
        let published = &self.facts.published;
        let rows = errors.chunks_exact(published.len());
        let cells = rows.flat_map(|row| row.iter().zip(published));
        let mut sizes: Vec<f64> = cells
            .filter(|(error, step)| **step > 0.0 && (self.facts.signed || **error <= 0.0))
            .map(|(error, _)| error.abs())
            .collect();
        (1.4826 * middle(&mut sizes)).max(0.5)
    }
}

/// Coordinate descent until no count changes by more than the tolerance.
fn descend(
    cells: &[Cell],
    depth: usize,
    at_cell: &(Vec<u32>, Vec<u32>),
    counts: &mut [f64],
    errors: &mut [f64],
    spread: f64,
    clips: (f64, f64),
) {
    let names = counts.len();
    let mut queued = vec![true; names];
    let mut queue: std::collections::VecDeque<u32> = (0..names as u32).collect();
    // Each visit lowers a convex loss; the bound only guards against rounding.
    for _ in 0..200 * names {
        let Some(name) = queue.pop_front() else {
            break;
        };
        queued[name as usize] = false;
        let own = &cells[name as usize * depth..(name as usize + 1) * depth];
        let change = best_change(own, counts[name as usize], errors, clips);
        if change == 0.0 {
            continue;
        }
        counts[name as usize] += change;
        for cell in own {
            errors[cell.at] -= change * cell.share;
        }
        if change.abs() <= TOLERANCE * spread {
            continue;
        }
        for cell in own {
            let (first, last) = (at_cell.0[cell.at], at_cell.0[cell.at + 1]);
            for &other in &at_cell.1[first as usize..last as usize] {
                if other != name && !queued[other as usize] {
                    queued[other as usize] = true;
                    queue.push_back(other);
                }
            }
        }
    }
}

/// The change of one count that minimises the loss of its cells.
fn best_change(own: &[Cell], count: f64, errors: &[f64], (below, above): (f64, f64)) -> f64 {
    // The derivative of the loss increases with the change and is linear between the clips: Newton's
    // steps find its root, within the ends between which it is.
    let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
    for cell in own.iter().filter(|cell| cell.share != 0.0) {
        let end = errors[cell.at] / cell.share;
        low = low.min(end);
        high = high.max(end);
    }
    if !low.is_finite() {
        return 0.0;
    }
    // The square of the count draws it towards 0.
    (low, high) = (low.min(-count) - 1.0, high.max(-count) + 1.0);
    let mut change = 0.0_f64.clamp(low, high);
    for _ in 0..MOST_STEPS {
        let (mut slope, mut curvature) = (RIDGE * (count + change), RIDGE);
        for cell in own {
            let error = (errors[cell.at] - change * cell.share) * cell.share.signum();
            slope -= error.clamp(-below, above) * cell.share.abs();
            if -below < error && error < above {
                curvature += cell.share * cell.share;
            }
        }
        if slope < 0.0 {
            low = change;
        } else {
            high = change;
        }
        let newton = change - slope / curvature;
        let next = if low < newton && newton < high {
            newton
        } else {
            f64::midpoint(low, high)
        };
        let step = next - change;
        change = next;
        if step.abs() < PRECISION {
            break;
        }
    }
    change
}

/// The names in every cell: ends of the lists, and the lists.
fn names_at(cells: &[Cell], depth: usize, number: usize) -> (Vec<u32>, Vec<u32>) {
    let mut ends = vec![0_u32; number + 1];
    for cell in cells {
        ends[cell.at + 1] += 1;
    }
    for at in 0..number {
        ends[at + 1] += ends[at];
    }
    let mut next = ends.clone();
    let mut names = vec![0; cells.len()];
    for (at, cell) in cells.iter().enumerate() {
        let place = &mut next[cell.at];
        names[*place as usize] = (at / depth) as u32;
        *place += 1;
    }
    (ends, names)
}

/// The middle of some values, which are put in another order; 0 without any.
pub(crate) fn middle(values: &mut [f64]) -> f64 {
    if values.is_empty() {
        return 0.0;
    }
    let at = values.len() / 2;
    *values.select_nth_unstable_by(at, f64::total_cmp).1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimation::TableErrors;

    /// A table of 3 x 64 with noise of a few counts, and names in its cells.
    fn table_of(names: &[(u64, [usize; 3])]) -> (ErrorModel, Vec<Cell>) {
        let mut table: Vec<i64> = (0..192).map(|cell: i64| cell * 7_919 % 9 - 4).collect();
        for (count, columns) in names {
            for (row, column) in columns.iter().enumerate() {
                table[row * 64 + column] += *count as i64;
            }
        }
        let facts = TableErrors {
            signed: false,
            collisions: true,
            depth: 3,
            table,
            published: vec![1_000.0; 64],
            variance: vec![9.0; 64],
            step: 1_000.0,
        };
        let model = ErrorModel::of(facts).unwrap();
        let cells = names.iter().flat_map(|(_, columns)| {
            let each = columns.iter().enumerate();
            each.map(|(row, &column)| model.cell(row, column, false))
                .collect::<Vec<_>>()
        });
        let cells = cells.collect();
        (model, cells)
    }

    #[test]
    fn names_that_share_cells_are_told_apart() {
        let names = [
            (5_000, [3, 9, 40]),
            (700, [3, 9, 41]),
            (300, [3, 10, 41]),
            (90, [8, 10, 40]),
        ];
        let (model, cells) = table_of(&names);
        let fit = model.fit(&cells, &[]);
        for ((count, _), found) in names.iter().zip(&fit.counts) {
            assert!((found - *count as f64).abs() < 15.0, "{count}: {found}");
        }
        assert!(fit.errors.iter().all(|error| error.abs() < 20.0));
        assert!((2.0..6.0).contains(&fit.spread), "{}", fit.spread);
    }

    #[test]
    fn a_collision_with_an_unknown_name_counts_little() {
        let (model, cells) = table_of(&[(500, [3, 9, 40]), (100_000, [3, 20, 50])]);
        let fit = model.fit(&cells[..3], &[]);
        assert!((fit.counts[0] - 500.0).abs() < 25.0, "{}", fit.counts[0]);
        assert!(fit.errors[3] > 99_000.0);
    }

    #[test]
    fn the_fit_is_where_no_change_of_a_count_lowers_the_loss() {
        let names = [(900, [3, 9, 40]), (700, [3, 9, 41]), (400, [8, 9, 41])];
        let (model, cells) = table_of(&names);
        let fit = model.fit(&cells, &[]);
        let clips = (BELOW * fit.spread, ABOVE * fit.spread);
        for (own, &count) in cells.chunks_exact(3).zip(&fit.counts) {
            let change = best_change(own, count, &fit.errors, clips);
            assert!(change.abs() <= 2.0 * TOLERANCE * fit.spread + PRECISION);
        }
    }
}
