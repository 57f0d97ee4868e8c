//! Tests of counts against the rest of a table, and the counts that they accept.
//!
//! The test of an item's count is a function of the table without that count, so that the item's
//! cells rank among all choices as if they were drawn afterwards: the count is rejected with at most
//! the test's level, whatever the stream, if the hash of the item is random and independent of the
//! stream and of the list. The middle of the rows, the spread and the density of the errors are taken
//! from the table itself, where one item moves them by a rank at most; so is the fit from which that
//! of each tested count is made, and the candidates that are chosen again.

use super::cells::{Cell, Extrapolated, random_choices};
use super::choice::Chosen;
use super::fit::{Fit, Fitted};
use super::ranks::{Binned, End, Ranks};
use super::score::Density;
use crate::{Result, memory};

/// Shifts that scores are made for, in spreads.
const SHIFTS: [f64; 12] = [
    0.7, 1.0, 1.4, 2.0, 2.8, 4.0, 5.6, 8.0, 11.0, 15.0, 20.0, 28.0,
];
/// Random choices of cells from which the power of a score is found.
const TRIALS: usize = 300;
/// Largest shift that is looked for, in spreads; tests that need as much are of no use.
const FARTHEST: f64 = 36.0;
/// Steps up to it in which the power of a score is looked for.
const STEPS: usize = 512;
/// Growth of the steps in which a rejected count is looked for, and how many there are.
const GROWTH: f64 = 1.6;
const MOST_STEPS: usize = 60;
/// How exactly the end of an interval is found, in spreads.
const EXACT: f64 = 0.02;
/// How often the names that share cells with an item are chosen again for one count, at most.
const CHOICES: usize = 3;

/// Tests of both ends at one level.
#[derive(Debug, Clone)]
pub struct Tests {
    level: f64,
    ends: [Test; 2],
}

#[derive(Debug, Clone)]
struct Test {
    end: End,
    ranks: Ranks,
    /// The error of a count that is rejected half of the time, in counts.
    half_power: f64,
}

/// The counts that no test rejects.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ends {
    /// Smallest count, at least 0.
    pub low: f64,
    /// Largest count; infinite if none is rejected.
    pub high: f64,
}

impl Tests {
    /// The tests with this probability of rejecting the true count, each; `None` if they reject
    /// nothing.
    pub(super) fn of(level: f64, fitted: &Fitted, facts: &Extrapolated) -> Result<Option<Self>> {
        let low = Test::of(End::Low, level, fitted, facts)?;
        let high = Test::of(End::High, level, fitted, facts)?;
        Ok(low.zip(high).map(|(low, high)| Self {
            level,
            ends: [low, high],
        }))
    }

    pub(super) fn level(&self) -> f64 {
        self.level
    }

    /// The errors at which a count is rejected half of the time, of both ends together.
    pub(super) fn width(&self) -> f64 {
        self.ends.iter().map(|test| test.half_power).sum()
    }
}

impl Test {
    /// The test with the score that has the most power.
    fn of(end: End, level: f64, fitted: &Fitted, facts: &Extrapolated) -> Result<Option<Self>> {
        let (errors, spread) = (&fitted.errors, fitted.spread);
        let sign = if end == End::Low { 1.0 } else { -1.0 };
        let density = if facts.signed {
            let both = errors.iter().flat_map(|&error| [error, -error]);
            Density::of(both, spread)?
        } else {
            Density::of(errors.iter().map(|&error| sign * error), spread)?
        };
        let trials = random_choices(TRIALS, facts)?;
        let trials = trials
            .iter()
            .map(|cell| errors[cell.at as usize] * f64::from(cell.sign));
        let trials = memory::collected(trials)?;
        let binned = Binned::of(end, errors, spread, facts.width, facts.signed)?;
        let mut best: Option<Self> = None;
        let mut fewest = STEPS;
        for shift in SHIFTS {
            let ranks = Ranks::of(density.score(shift)?, &binned)?;
            // The cells of a count that is to be rejected are among those with the highest level.
            let Some(critical) = critical_of(&ranks.with_an_item().sums()?, level) else {
                continue;
            };
            let power = Power {
                ranks: &ranks,
                critical,
                trials: &trials,
                depth: facts.depth,
                spread: spread * sign,
            };
            if let Some(steps) = power.half_below(fewest) {
                fewest = steps;
                best = Some(Self {
                    end,
                    half_power: Power::shift_of(steps) * spread,
                    ranks,
                });
            }
        }
        Ok(best)
    }
}

/// The smallest sum of levels that random choices reach with at most this probability.
fn critical_of(sums: &[f64], level: f64) -> Option<usize> {
    let mut beyond = 0.0;
    let mut critical = None;
    for (sum, share) in sums.iter().enumerate().rev() {
        beyond += share;
        if beyond > level {
            break;
        }
        critical = Some(sum);
    }
    critical
}

/// The power of a score against shifts of all errors of an item.
struct Power<'a> {
    ranks: &'a Ranks,
    /// The sum of levels that rejects.
    critical: usize,
    /// Errors of random choices, `depth` each.
    trials: &'a [f64],
    depth: usize,
    /// The spread of the errors, with the sign of the shifts.
    spread: f64,
}

impl Power<'_> {
    /// The fewest steps with which half of the trials are rejected; `None` if these are not fewer
    /// than `most`, which one look tells.
    fn half_below(&self, most: usize) -> Option<usize> {
        let (mut weak, mut powerful) = (0, most - 1);
        if powerful == 0 || !self.is_half(powerful) {
            return None;
        }
        while powerful - weak > 1 {
            let middle = usize::midpoint(weak, powerful);
            if self.is_half(middle) {
                powerful = middle;
            } else {
                weak = middle;
            }
        }
        Some(powerful)
    }

    /// Whether half of the trials are rejected; levels, and so this, do not fall with the shift.
    fn is_half(&self, steps: usize) -> bool {
        let shift = Self::shift_of(steps) * self.spread;
        let sums = self.trials.chunks_exact(self.depth).map(|errors| {
            let levels = errors.iter().map(|error| self.ranks.level(error + shift));
            levels.sum::<usize>()
        });
        sums.filter(|&sum| sum >= self.critical).count() * 2 >= TRIALS
    }

    /// A number of steps in spreads.
    fn shift_of(steps: usize) -> f64 {
        FARTHEST * steps as f64 / STEPS as f64
    }
}

/// An item whose count is tested: its cells, and which of the names it is.
#[derive(Debug, Clone, Copy)]
struct Item<'a> {
    own: &'a [Cell],
    name: Option<u32>,
}

/// The search for the ends of one interval after the other.
pub(super) struct Search<'a> {
    chosen: &'a Chosen,
    tests: &'a Tests,
    fit: Fit<'a>,
    width: usize,
    ranks: [Ranks; 2],
    /// The count that is taken out of the item's cells.
    count: f64,
}

impl<'a> Search<'a> {
    pub(super) fn of(chosen: &'a Chosen, tests: &'a Tests, facts: &Extrapolated) -> Result<Self> {
        Ok(Self {
            chosen,
            tests,
            fit: chosen.fitted.resumed(&chosen.names, facts.signed)?,
            width: facts.width,
            ranks: [tests.ends[0].ranks.clone(), tests.ends[1].ranks.clone()],
            count: 0.0,
        })
    }

    /// The counts of the item with these cells that are accepted on the way from `start`.
    pub(super) fn ends(&mut self, own: &[Cell], start: f64) -> Result<Ends> {
        let name = self.chosen.names.find(own).map(|name| name as u32);
        let item = Item { own, name };
        self.begin(item);
        let start = start.max(0.0);
        let low = self.end(item, start, 0)?;
        let high = self.end(item, start, 1)?;
        self.fit.undo();
        Ok(Ends { low, high })
    }

    /// The last accepted count on the way from `start` to a rejected one.
    fn end(&mut self, item: Item<'_>, start: f64, which: usize) -> Result<f64> {
        let mut accepted = start;
        if self.rejects(item, start, which)? {
            // The start is in the interval as well, which only makes it longer.
            return Ok(start);
        }
        let test = &self.tests.ends[which];
        let direction = if test.end == End::Low { -1.0 } else { 1.0 };
        let spread = self.fit.spread;
        let mut step = test.half_power.max(spread);
        let mut rejected = None;
        for _ in 0..MOST_STEPS {
            let next = accepted + direction * step;
            if next < 0.0 && accepted <= 0.0 {
                return Ok(0.0);
            }
            let next = next.max(0.0);
            if self.rejects(item, next, which)? {
                rejected = Some(next);
                break;
            }
            accepted = next;
            step *= GROWTH;
        }
        let Some(mut rejected) = rejected else {
            return Ok(f64::INFINITY);
        };
        while (rejected - accepted).abs() > EXACT * spread {
            let middle = f64::midpoint(accepted, rejected);
            if middle == accepted || middle == rejected {
                break;
            }
            if self.rejects(item, middle, which)? {
                rejected = middle;
            } else {
                accepted = middle;
            }
        }
        Ok(rejected.max(0.0))
    }

    fn rejects(&mut self, item: Item<'_>, count: f64, which: usize) -> Result<bool> {
        self.take(item, count);
        let ranks = &mut self.ranks[which];
        ranks.reset(&self.tests.ends[which].ranks);
        for &(at, before) in self.fit.touched() {
            let row = at as usize / self.width;
            ranks.count(row, before, -1.0);
            ranks.count(row, self.fit.errors[at as usize], 1.0);
        }
        let levels = item.own.iter().map(|cell| {
            let error = self.fit.errors[cell.at as usize] * f64::from(cell.sign);
            ranks.level(error)
        });
        let sum = levels.sum();
        Ok(ranks.at_least(sum)? <= self.tests.level)
    }

    /// From the fit to the whole table, with the item's count put back.
    fn begin(&mut self, item: Item<'_>) {
        self.fit.undo();
        self.count = 0.0;
        if let Some(name) = item.name {
            self.fit.set_taken(name, false);
        }
    }

    /// Takes a count out of the item's cells, instead of the one before, and lets the names that
    /// share them be fitted and chosen again.
    fn take(&mut self, item: Item<'_>, count: f64) {
        if self.chosen.rule.is_some() {
            // A choice may depend on the way to it: all begin at one place.
            self.begin(item);
        }
        self.fit.add(item.own, self.count - count);
        self.count = count;
        if !planted!("names-fitted-once-for-all-counts") {
            self.for_neighbours(item, |fit, name| {
                fit.enqueue(name);
                false
            });
        }
        self.fit.descend();
        let Some(rule) = &self.chosen.rule else {
            return;
        };
        for _ in 0..CHOICES {
            if !self.for_neighbours(item, |fit, name| fit.choose(name, rule)) {
                break;
            }
            self.fit.descend();
        }
    }

    /// Does something with all names that share a cell with the item; whether any of them changed.
    fn for_neighbours(&mut self, item: Item<'_>, with: impl Fn(&mut Fit<'a>, u32) -> bool) -> bool {
        let mut changed = false;
        for cell in item.own {
            for &name in self.chosen.names.sharing(cell.at) {
                if Some(name) != item.name {
                    changed |= with(&mut self.fit, name);
                }
            }
        }
        changed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fewest_steps_are_those_of_a_search_one_by_one() {
        let (width, depth, spread) = (400, 3, 4.0);
        let error = |at: usize| (at * at % 173) as f64 / 7.0 - 12.0;
        let errors: Vec<_> = (0..width * depth).map(error).collect();
        let trials: Vec<_> = (0..TRIALS * depth).map(|at| error(at * 7 + 3)).collect();
        let density = Density::of(errors.iter().copied(), spread).unwrap();
        let mut found = 0;
        for (end, sign) in [(End::Low, 1.0), (End::High, -1.0)] {
            let binned = Binned::of(end, &errors, spread, width, false).unwrap();
            let ranks = Ranks::of(density.score(2.0).unwrap(), &binned).unwrap();
            let power_of = |critical| Power {
                ranks: &ranks,
                critical,
                trials: &trials,
                depth,
                spread: spread * sign,
            };
            for critical in (0..3 * 128).step_by(29) {
                let power = power_of(critical);
                let wanted = (1..STEPS).find(|&steps| power.is_half(steps));
                assert_eq!(power.half_below(STEPS), wanted, "{critical}");
                let Some(steps) = wanted else { continue };
                assert_eq!(power.half_below(steps), None);
                assert_eq!(power.half_below(steps + 1), wanted);
                found += usize::from(steps > 1);
            }
        }
        assert!(found > 8, "{found}");
    }
}
