//! Counts of names that explain a table together.
//!
//! With the counts `b` of the names, the table is `X b` plus the errors of the rest of the stream. The
//! fit minimises Huber's (1964) loss of these errors, which is convex, by coordinate descent: a name
//! whose count changed queues the names in its cells. So it can begin anywhere, and after a change
//! of a few cells only their neighbourhood is fitted again.

use super::care::Care;
use super::cells::{Background, Cell, Extrapolated, less_middles, spread_of};
use super::evidence::Rule;
use super::huber::{best_change, clips_of};
use super::journal::Journal;
use super::names::Names;
use crate::{Result, memory};
use std::collections::VecDeque;

/// Part of the spread by which the last round may have changed it: one more would find the same.
const SETTLED: f64 = 0.01;
/// A table, the names taken out of it, their counts, and the errors that they leave.
#[derive(Debug, Clone)]
pub(super) struct Fit<'a> {
    pub(super) names: &'a Names,
    pub(super) counts: Vec<f64>,
    pub(super) errors: Vec<f64>,
    pub(super) spread: f64,
    taken: Vec<bool>,
    clips: (f64, f64),
    care: Care,
    queue: VecDeque<u32>,
    queued: Vec<bool>,
    journal: Journal,
}

/// What a fit found, without what it needs to go on.
#[derive(Debug, Clone)]
pub(super) struct Fitted {
    pub(super) counts: Vec<f64>,
    /// Of every cell.
    pub(super) errors: Vec<f64>,
    pub(super) spread: f64,
    taken: Vec<bool>,
}

impl Fitted {
    /// Fit names to the whole table, from counts that may be wrong.
    pub(super) fn of(
        names: &Names,
        counts: Vec<f64>,
        care: Care,
        background: &Background,
        facts: &Extrapolated,
    ) -> Result<Self> {
        let mut errors = memory::copied(&background.values)?;
        for (own, &count) in names.all().zip(&counts) {
            for cell in own {
                errors[cell.at as usize] -= count * f64::from(cell.sign);
            }
        }
        let journal = Journal::closed();
        let begun = Self {
            taken: memory::filled(true, names.len())?,
            spread: background.spread,
            counts,
            errors,
        };
        let mut fit = begun.going_on(names, facts.signed, care, journal)?;
        // Without names nothing would change.
        let rounds = if names.len() == 0 { 0 } else { care.rounds() };
        for round in 0..rounds {
            less_middles(&mut fit.errors, facts)?;
            let spread = spread_of(&fit.errors, facts.signed)?;
            let is_settled = round > 0 && (spread - fit.spread).abs() <= SETTLED * spread;
            fit.set_spread(spread, facts.signed);
            if is_settled {
                break;
            }
            for name in 0..names.len() {
                fit.enqueue(name as u32);
            }
            fit.descend();
        }
        if care == Care::Rough && rounds > 0 {
            // Its last descent changed what is left.
            less_middles(&mut fit.errors, facts)?;
            fit.spread = spread_of(&fit.errors, facts.signed)?;
        }
        Ok(fit.fitted())
    }

    /// The same fit as one of other names, of which those with a count are taken out.
    pub(super) fn of_others(&self, names: &Names, others: &Names) -> Result<Self> {
        let counts = others.all().map(|own| match names.find(own) {
            Some(name) => (self.counts[name], true),
            None => (0.0, false),
        });
        let counts = memory::collected(counts)?;
        Ok(Self {
            counts: memory::collected(counts.iter().map(|each| each.0))?,
            taken: memory::collected(counts.iter().map(|each| each.1))?,
            errors: memory::copied(&self.errors)?,
            spread: self.spread,
        })
    }

    /// Number of names that are taken out.
    pub(super) fn number(&self) -> usize {
        self.taken.iter().filter(|&&taken| taken).count()
    }

    /// Go on with this fit, in a copy, exactly.
    pub(super) fn resumed<'a>(&self, names: &'a Names, signed: bool) -> Result<Fit<'a>> {
        let journal = Journal::of(self.errors.len(), self.counts.len())?;
        let copy = Self {
            counts: memory::copied(&self.counts)?,
            errors: memory::copied(&self.errors)?,
            taken: memory::copied(&self.taken)?,
            spread: self.spread,
        };
        copy.going_on(names, signed, Care::Exact, journal)
    }

    fn going_on(
        self,
        names: &Names,
        signed: bool,
        care: Care,
        journal: Journal,
    ) -> Result<Fit<'_>> {
        let number = self.counts.len();
        Ok(Fit {
            names,
            counts: self.counts,
            errors: self.errors,
            taken: self.taken,
            spread: self.spread,
            clips: clips_of(self.spread, signed),
            care,
            queue: memory::queue_for(number)?, // a name is queued once
            queued: memory::filled(false, number)?,
            journal,
        })
    }
}

impl Fit<'_> {
    /// What was found.
    pub(super) fn fitted(self) -> Fitted {
        Fitted {
            counts: self.counts,
            taken: self.taken,
            errors: self.errors,
            spread: self.spread,
        }
    }

    fn set_spread(&mut self, spread: f64, signed: bool) {
        (self.spread, self.clips) = (spread, clips_of(spread, signed));
    }

    /// Takes a name out if a rule says so, or puts it back; whether that changed.
    pub(super) fn choose(&mut self, name: u32, rule: &Rule) -> bool {
        let own = self.names.own(name as usize);
        let taken = rule.takes(own, &self.errors, self.counts[name as usize]);
        let changed = self.taken[name as usize] != taken;
        self.set_taken(name, taken);
        changed
    }

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
        let mut visits = self.care.visits() * self.counts.len();
        let tolerance = self.care.tolerance() * self.spread;
        while let Some(name) = self.queue.pop_front() {
            self.queued[name as usize] = false;
            if !self.taken[name as usize] || visits == 0 {
                continue;
            }
            visits -= 1;
            let own = self.names.own(name as usize);
            let count = self.counts[name as usize];
            let change = best_change(own, count, &self.errors, self.clips);
            if change != 0.0 {
                self.change(name, change);
            }
            if change.abs() > tolerance {
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
        let names = self.names;
        self.add(names.own(name as usize), -change);
    }

    fn enqueue_neighbours(&mut self, name: u32) {
        let names = self.names;
        for cell in names.own(name as usize) {
            for &other in names.sharing(cell.at) {
                if other != name {
                    self.enqueue(other);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(list: &[Cell], facts: &Extrapolated) -> (Names, Fitted) {
        let background = Background::of(facts).unwrap();
        let names: Vec<_> = list.chunks_exact(facts.depth).collect();
        let names = Names::of(names, facts.depth, facts.table.len()).unwrap();
        let counts = vec![0.0; names.len()];
        let fitted = Fitted::of(&names, counts, Care::Exact, &background, facts).unwrap();
        (names, fitted)
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
            noise: 3.0,
        };
        (facts, cells, counts)
    }

    #[test]
    fn counts_that_explain_a_table_are_found() {
        for signed in [false, true] {
            let (facts, cells, counts) = table(signed);
            let (names, fitted) = all(&cells, &facts);
            assert_eq!(names.len(), counts.len());
            for (own, count) in cells.chunks_exact(3).zip(&counts) {
                let found = fitted.counts[names.find(own).unwrap()];
                assert!(
                    (found - count).abs() < 15.0,
                    "{found} for {count}, signed: {signed}"
                );
            }
            // Every coordinate is at its minimum.
            let clips = clips_of(fitted.spread, signed);
            for name in 0..names.len() {
                let own = names.own(name);
                let change = best_change(own, fitted.counts[name], &fitted.errors, clips);
                assert!(
                    change.abs() < 4.0 * Care::Exact.tolerance() * fitted.spread,
                    "{change}"
                );
            }
        }
    }

    #[test]
    fn undo_restores_everything_and_another_way_leads_to_the_same_fit() {
        let (facts, cells, _) = table(true);
        let (names, fitted) = all(&cells, &facts);
        let mut fit = fitted.resumed(&names, true).unwrap();
        let own = names.own(0).to_vec();
        let mut ends = Vec::new();
        for first in [0.0, 9000.0, -500.0] {
            fit.set_taken(0, false);
            for count in [first, 3900.0] {
                fit.add(&own, -count);
                for cell in &own {
                    names
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
            assert!(
                farthest < 8.0 * Care::Exact.tolerance() * fitted.spread,
                "{farthest}"
            );
        }
    }

    #[test]
    fn rough_fits_one_after_the_other_lead_where_an_exact_one_does() {
        for signed in [false, true] {
            let (facts, cells, _) = table(signed);
            let (names, exact) = all(&cells, &facts);
            let background = Background::of(&facts).unwrap();
            let mut counts = vec![0.0; names.len()];
            let fit = |counts, care| Fitted::of(&names, counts, care, &background, &facts).unwrap();
            for _ in 0..3 {
                counts = fit(counts, Care::Rough).counts;
            }
            for care in [Care::Fine, Care::Exact] {
                let found = fit(counts.clone(), care);
                let pairs = found.counts.iter().zip(&exact.counts);
                let farthest = pairs
                    .map(|(one, two)| (one - two).abs())
                    .fold(0.0, f64::max);
                let most = 8.0 * care.tolerance() * exact.spread;
                assert!(farthest < most, "{care:?}: {farthest}");
            }
        }
    }
}
