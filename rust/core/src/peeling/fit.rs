//! Counts of names that explain a table together.
//!
//! With the counts `b` of the names, the table is `X b` plus the errors of the rest of the stream. The
//! fit minimises Huber's (1964) loss of these errors, which is convex, by coordinate descent: a name
//! whose count changed queues the names in its cells. So it can begin anywhere, and after a change
//! of a few cells only their neighbourhood is fitted again.

use super::cells::{Background, Cell, Extrapolated, less_middles, spread_of};
use super::chosen::Chosen;
use super::journal::Journal;
use crate::{Result, memory};
use std::collections::VecDeque;

/// Rounds of the first fit, each with its own spread.
const ROUNDS: usize = 4;
/// A change of a count below this, in spreads, queues no other name.
const TOLERANCE: f64 = 0.02;
/// Weight of the square of a count, which decides between names with equal cells.
const RIDGE: f64 = 1e-6;
/// Where the loss becomes linear, in spreads: below and above, without and with signs.
const BELOW: f64 = 2.0;
const ABOVE: f64 = 1.5;
const BOTH: f64 = 2.0;
/// Visits of a name, on average, after which the descent ends in any case: each visit lowers a
/// convex loss, so only rounding could make it go on.
const MOST_VISITS: usize = 200;

/// A table, the names taken out of it, their counts, and the errors that they leave.
#[derive(Debug, Clone)]
pub(super) struct Fit<'a> {
    pub(super) chosen: &'a Chosen,
    pub(super) counts: Vec<f64>,
    pub(super) errors: Vec<f64>,
    pub(super) spread: f64,
    taken: Vec<bool>,
    clips: (f64, f64),
    queue: VecDeque<u32>,
    queued: Vec<bool>,
    journal: Journal,
}

/// What a fit found, without what it needs to go on.
#[derive(Debug, Clone)]
pub(super) struct Fitted {
    counts: Vec<f64>,
    taken: Vec<bool>,
    errors: Vec<f64>,
    pub(super) spread: f64,
}

impl Fitted {
    /// Fit the chosen names to the whole table.
    pub(super) fn of(
        chosen: &Chosen,
        background: &Background,
        facts: &Extrapolated,
    ) -> Result<Self> {
        let names = 0..chosen.len();
        let own = |name| chosen.is_taken(chosen.own(name), &background.values);
        let begun = Self {
            counts: memory::filled(0.0, chosen.len())?,
            taken: memory::collected(names.map(own))?,
            errors: memory::copied(&background.values)?,
            spread: background.spread,
        };
        let mut fit = begun.resumed(chosen, facts.signed)?;
        for _ in 0..ROUNDS {
            less_middles(&mut fit.errors, facts)?;
            fit.spread = spread_of(&fit.errors, facts.signed)?;
            fit.clips = clips_of(fit.spread, facts.signed);
            for name in 0..chosen.len() {
                fit.enqueue(name as u32);
            }
            fit.descend();
        }
        Ok(Self {
            spread: fit.spread,
            counts: fit.counts,
            taken: fit.taken,
            errors: fit.errors,
        })
    }

    /// Errors of all cells.
    pub(super) fn errors(&self) -> &[f64] {
        &self.errors
    }

    /// The count of a name that is taken out; 0 for all other items.
    pub(super) fn count(&self, chosen: &Chosen, own: &[Cell]) -> f64 {
        chosen.find(own).map_or(0.0, |name| self.counts[name])
    }

    /// Go on with this fit, in a copy.
    pub(super) fn resumed<'a>(&self, chosen: &'a Chosen, signed: bool) -> Result<Fit<'a>> {
        let (names, cells) = (self.counts.len(), self.errors.len());
        Ok(Fit {
            chosen,
            counts: memory::copied(&self.counts)?,
            errors: memory::copied(&self.errors)?,
            taken: memory::copied(&self.taken)?,
            spread: self.spread,
            clips: clips_of(self.spread, signed),
            queue: VecDeque::new(),
            queued: memory::filled(false, names)?,
            journal: Journal::of(cells, names)?,
        })
    }
}

impl Fit<'_> {
    /// Adds to the table, in the cells of an item.
    pub(super) fn add(&mut self, own: &[Cell], counts: f64) {
        for cell in own {
            self.journal.keep_cell(cell.at, &self.errors);
            self.errors[cell.at as usize] += counts * f64::from(cell.sign);
        }
    }

    /// Takes a name out, or puts it back; queues it, or the names that share its cells.
    pub(super) fn set_taken(&mut self, name: u32, taken: bool) {
        let at = name as usize;
        if self.taken[at] == taken {
            return;
        }
        self.journal.keep_name(name, &self.counts, &self.taken);
        self.taken[at] = taken;
        if taken {
            self.enqueue(name);
        } else {
            let count = self.counts[at];
            self.change(name, -count);
            self.enqueue_neighbours(name);
        }
    }

    /// Queues a name that is taken out.
    pub(super) fn enqueue(&mut self, name: u32) {
        let at = name as usize;
        if self.taken[at] && !self.queued[at] {
            self.queued[at] = true;
            self.queue.push_back(name);
        }
    }

    /// Fits the queued names, and those that they queue.
    pub(super) fn descend(&mut self) {
        let mut visits = MOST_VISITS * self.counts.len();
        while let Some(name) = self.queue.pop_front() {
            self.queued[name as usize] = false;
            if !self.taken[name as usize] || visits == 0 {
                continue;
            }
            visits -= 1;
            let own = self.chosen.own(name as usize);
            let count = self.counts[name as usize];
            let change = best_change(own, count, &self.errors, self.clips);
            if change != 0.0 {
                self.change(name, change);
            }
            if change.abs() > TOLERANCE * self.spread {
                self.enqueue_neighbours(name);
            }
        }
    }

    /// The cells whose errors differ from those at the last undo.
    pub(super) fn touched(&self) -> &[(u32, f64)] {
        self.journal.cells()
    }

    /// Returns to the state in which the journal was empty.
    pub(super) fn undo(&mut self) {
        while let Some(name) = self.queue.pop_front() {
            self.queued[name as usize] = false;
        }
        self.journal
            .undo(&mut self.errors, &mut self.counts, &mut self.taken);
    }

    fn change(&mut self, name: u32, change: f64) {
        self.journal.keep_name(name, &self.counts, &self.taken);
        self.counts[name as usize] += change;
        let chosen = self.chosen;
        self.add(chosen.own(name as usize), -change);
    }

    fn enqueue_neighbours(&mut self, name: u32) {
        let chosen = self.chosen;
        for cell in chosen.own(name as usize) {
            for &other in chosen.sharing(cell.at) {
                if other != name {
                    self.enqueue(other);
                }
            }
        }
    }
}

fn clips_of(spread: f64, signed: bool) -> (f64, f64) {
    if signed {
        (BOTH * spread, BOTH * spread)
    } else {
        (BELOW * spread, ABOVE * spread)
    }
}

/// The change of one count that minimises the loss of its cells.
fn best_change(own: &[Cell], count: f64, errors: &[f64], (below, above): (f64, f64)) -> f64 {
    // The slope of the loss grows with the change and is linear between these ends.
    let mut ends = [0.0; 128];
    let mut own_errors = [0.0; 64];
    let own_errors = &mut own_errors[..own.len()];
    let ends = &mut ends[..2 * own.len()];
    for ((cell, error), ends) in own
        .iter()
        .zip(&mut *own_errors)
        .zip(ends.chunks_exact_mut(2))
    {
        *error = errors[cell.at as usize] * f64::from(cell.sign);
        (ends[0], ends[1]) = (*error - above, *error + below);
    }
    ends.sort_unstable_by(f64::total_cmp);
    let slope = |change: f64| {
        let losses = own_errors
            .iter()
            .map(|error| (error - change).clamp(-below, above));
        RIDGE * (count + change) - losses.sum::<f64>()
    };
    let after = ends.partition_point(|&end| slope(end) < 0.0);
    if after == 0 || after == ends.len() {
        return ends[after.min(ends.len() - 1)];
    }
    let (low, high) = (ends[after - 1], ends[after]);
    let (at_low, at_high) = (slope(low), slope(high));
    low + (high - low) * at_low / (at_low - at_high)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Loss of a change, by its definition.
    fn loss(own: &[Cell], count: f64, errors: &[f64], clips: (f64, f64), change: f64) -> f64 {
        let huber = |error: f64| {
            let clip = if error < 0.0 { clips.0 } else { clips.1 };
            let size = error.abs();
            if size <= clip {
                size * size / 2.0
            } else {
                clip * (size - clip / 2.0)
            }
        };
        let cells = own.iter().map(|cell| {
            let sign = f64::from(cell.sign);
            huber(errors[cell.at as usize] * sign - change)
        });
        cells.sum::<f64>() + RIDGE / 2.0 * (count + change).powi(2)
    }

    fn cells_of(signs: &[f32]) -> Vec<Cell> {
        let cells = signs.iter().enumerate();
        cells
            .map(|(at, &sign)| Cell {
                at: at as u32,
                sign,
            })
            .collect()
    }

    #[test]
    fn a_change_minimises_the_loss() {
        let errors = [3.0, -50.0, 7.5, 40.0, 0.25];
        for signs in [[1.0; 5], [1.0, -1.0, -1.0, 1.0, -1.0]] {
            let own = cells_of(&signs);
            for clips in [(2.0, 1.5), (20.0, 15.0), (200.0, 200.0)] {
                let found = best_change(&own, 10.0, &errors, clips);
                let least = loss(&own, 10.0, &errors, clips, found);
                for nearby in -4000..4000 {
                    let other = f64::from(nearby) / 50.0;
                    assert!(
                        loss(&own, 10.0, &errors, clips, other) >= least - 1e-9,
                        "{clips:?}"
                    );
                }
            }
        }
    }

    /// A table of names with known counts, small errors, and shared cells.
    fn table(signed: bool) -> (Extrapolated, Vec<Cell>, Vec<f64>) {
        let (depth, width, names) = (3, 100, 24);
        let counts: Vec<f64> = (0..names)
            .map(|name| 4000.0 / f64::from(name + 1))
            .collect();
        let mut cells = Vec::new();
        let mut table = vec![0.0; depth * width];
        for (name, count) in counts.iter().enumerate() {
            for row in 0..depth {
                let mixed = (name * depth + row + 1).wrapping_mul(0x9E37_79B9) >> 7;
                let sign = if signed && mixed & 1 == 1 { -1.0 } else { 1.0 };
                let at = row * width + (mixed >> 1) % width;
                table[at] += (count * f64::from(sign)).trunc();
                cells.push(Cell {
                    at: at as u32,
                    sign,
                });
            }
        }
        for (at, value) in table.iter_mut().enumerate() {
            *value += (at * 7 % 11) as f64 - 5.0;
        }
        let facts = Extrapolated {
            signed,
            depth,
            width,
            table,
        };
        (facts, cells, counts)
    }

    #[test]
    fn counts_that_explain_a_table_are_found() {
        for signed in [false, true] {
            let (facts, cells, counts) = table(signed);
            let background = Background::of(&facts).unwrap();
            let chosen = Chosen::by_cells(&cells, &background, &facts).unwrap();
            assert_eq!((chosen.len(), chosen.threshold), (counts.len(), None));
            let fitted = Fitted::of(&chosen, &background, &facts).unwrap();
            for (own, count) in cells.chunks_exact(3).zip(&counts) {
                let found = fitted.count(&chosen, own);
                assert!(
                    (found - count).abs() < 15.0,
                    "{found} for {count}, signed: {signed}"
                );
            }
            // Every coordinate is at its minimum.
            let clips = clips_of(fitted.spread, signed);
            for name in 0..chosen.len() {
                let own = chosen.own(name);
                let change = best_change(own, fitted.counts[name], &fitted.errors, clips);
                assert!(change.abs() < 4.0 * TOLERANCE * fitted.spread, "{change}");
            }
        }
    }

    #[test]
    fn undo_restores_everything_and_another_way_leads_to_the_same_fit() {
        let (facts, cells, _) = table(true);
        let background = Background::of(&facts).unwrap();
        let chosen = Chosen::by_cells(&cells, &background, &facts).unwrap();
        let fitted = Fitted::of(&chosen, &background, &facts).unwrap();
        let mut fit = fitted.resumed(&chosen, true).unwrap();
        let own = chosen.own(0).to_vec();
        let mut ends = Vec::new();
        for first in [0.0, 9000.0, -500.0] {
            fit.set_taken(0, false);
            for count in [first, 3900.0] {
                fit.add(&own, -count);
                for cell in &own {
                    chosen
                        .sharing(cell.at)
                        .iter()
                        .for_each(|&name| fit.enqueue(name));
                }
                fit.descend();
                if count == first {
                    fit.add(&own, count);
                }
            }
            assert!(!fit.touched().is_empty());
            ends.push(fit.errors.clone());
            fit.undo();
            assert!(fit.touched().is_empty());
            assert_eq!((&fit.counts, &fit.errors), (&fitted.counts, &fitted.errors));
            assert_eq!(fit.taken, fitted.taken);
        }
        for other in &ends[1..] {
            let pairs = other.iter().zip(&ends[0]);
            let farthest = pairs
                .map(|(one, two)| (one - two).abs())
                .fold(0.0, f64::max);
            assert!(farthest < 8.0 * TOLERANCE * fitted.spread, "{farthest}");
        }
    }
}
