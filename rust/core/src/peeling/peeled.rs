//! A table, the heavy names of a public list, and the intervals of items.

use super::cells::{Background, Cell, Extrapolated, random_choices};
use super::chosen::{Chosen, is_short};
use super::decode::decoded;
use super::fit::{Fit, Fitted};
use super::ranks::{End, Ranks};
use super::score::Density;
use crate::estimation::{ErrorModel, TableErrors};
use crate::{Result, memory};

/// Shifts that scores are made for, in spreads.
const SHIFTS: [f64; 12] = [
    0.7, 1.0, 1.4, 2.0, 2.8, 4.0, 5.6, 8.0, 11.0, 15.0, 20.0, 28.0,
];
/// Random choices of cells from which the power of a score is found.
const TRIALS: usize = 300;
/// Largest shift that is looked for, in spreads; tests that need more are of no use.
const FARTHEST: f64 = 36.0;
/// Growth of the steps in which a rejected count is looked for, and how many there are.
const GROWTH: f64 = 1.6;
const MOST_STEPS: usize = 60;
/// How exactly the end of an interval is found, in spreads.
const EXACT: f64 = 0.02;
/// Largest spread of the errors, relative to that before, with which it pays to take names out.
const PAYS: f64 = 0.97;
/// How exactly the power of a score is known.
const ROUGH: f64 = 0.1;

/// A public table from which the heavy names of a list are taken out.
///
/// The test of an item's count is a function of the table without that count, so that the item's
/// cells rank among all choices as if they were drawn afterwards: the count is rejected with at most
/// the test's level, whatever the stream, if the hash of the item is random and independent of the
/// stream and of the list. The middle of the rows, the spread of the errors and the threshold of the
/// choice are taken from the table itself, where one item moves them by a rank at most.
#[derive(Debug, Clone)]
pub struct Peeled {
    facts: Extrapolated,
    background: Background,
    chosen: Chosen,
    fitted: Fitted,
    /// The names that estimates take out, with their counts; `None` if they are those above.
    decoded: Option<(Chosen, Fitted)>,
    /// The errors that these leave, in released counts.
    errors: ErrorModel,
}

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

/// An item whose count is asked for, in the list of names or not.
#[derive(Debug, Clone, Copy)]
pub struct Asked<'a> {
    /// One cell per row.
    pub cells: &'a [Cell],
    /// A count within the interval, from which the ends are looked for.
    pub estimate: f64,
}

/// The counts that no test rejects.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ends {
    /// Smallest count, at least 0.
    pub low: f64,
    /// Largest count; infinite if none is rejected.
    pub high: f64,
}

impl Peeled {
    /// Takes the heavy names of a list, with `depth` cells each, out of a table, all columns of which
    /// were published.
    pub fn of(table: &TableErrors, names: &[Cell]) -> Result<Self> {
        let facts = Extrapolated::of(table)?;
        let background = Background::of(&facts)?;
        let chosen = Chosen::by_cells(names, &background, &facts)?;
        let fitted = Fitted::of(&chosen, &background, &facts)?;
        let decoded = if is_short(names, &facts) {
            None
        } else {
            Some(decoded(names, &background, &facts)?)
        };
        let best = decoded.as_ref().map_or(&fitted, |(_, fitted)| fitted);
        Ok(Self {
            errors: ErrorModel::of(left_in(table, best.errors()))?,
            facts,
            background,
            chosen,
            fitted,
            decoded,
        })
    }

    /// Whether the list is so short that all its names are taken out.
    pub fn takes_all(&self) -> bool {
        self.decoded.is_none()
    }

    /// Whether the errors that are left spread less than those of the table.
    pub fn pays(&self) -> bool {
        self.best().1.spread <= PAYS * self.background.spread
    }

    /// Counts of items at this step, in the list or not: joint estimates from what is left in their
    /// cells once all other names are taken out.
    pub fn estimates(&self, items: &[Cell]) -> Result<Vec<f64>> {
        let (depth, width) = (self.facts.depth, self.facts.width);
        let (chosen, fitted) = self.best();
        let mut rows = memory::room_for(depth)?;
        let mut found = memory::room_for(items.len() / depth)?;
        for own in items.chunks_exact(depth) {
            let count = fitted.count(chosen, own);
            rows.clear();
            rows.extend(own.iter().filter_map(|cell| {
                let column = cell.at as usize % width;
                let error = fitted.errors()[cell.at as usize] * f64::from(cell.sign);
                let share = self.errors.share(column);
                self.errors.row(column, (error + count) * share)
            }));
            found.push(self.errors.joint(&rows));
        }
        Ok(found)
    }

    /// The tests with this probability of rejecting the true count, each; `None` if they reject
    /// nothing.
    pub fn tests(&self, level: f64) -> Result<Option<Tests>> {
        let low = self.test(End::Low, level)?;
        let high = self.test(End::High, level)?;
        Ok(low.zip(high).map(|(low, high)| Tests {
            level,
            ends: [low, high],
        }))
    }

    /// The counts of items that the tests accept.
    pub fn ends(&self, asked: &[Asked<'_>], tests: &Tests) -> Result<Vec<Ends>> {
        let mut search = Search::of(self, tests)?;
        let mut found = memory::room_for(asked.len())?;
        for item in asked {
            found.push(search.ends(item)?);
        }
        Ok(found)
    }

    /// The names that estimates take out.
    fn best(&self) -> (&Chosen, &Fitted) {
        match &self.decoded {
            Some((chosen, fitted)) => (chosen, fitted),
            None => (&self.chosen, &self.fitted),
        }
    }

    /// The test with the score that has the most power.
    fn test(&self, end: End, level: f64) -> Result<Option<Test>> {
        let (facts, spread) = (&self.facts, self.fitted.spread);
        let errors = self.fitted.errors();
        let sign = if end == End::Low { 1.0 } else { -1.0 };
        let density = if facts.signed {
            let both = errors.iter().flat_map(|&error| [error, -error]);
            Density::of(both, spread)?
        } else {
            Density::of(errors.iter().map(|&error| sign * error), spread)?
        };
        let trials = self.trials()?;
        let mut best: Option<Test> = None;
        for shift in SHIFTS {
            let score = density.score(shift)?;
            let ranks = Ranks::of(score, end, errors, facts.width, facts.signed)?;
            let Some(critical) = critical_of(&ranks.sums()?, level) else {
                continue;
            };
            let half_power = half_power_of(&ranks, critical, &trials, facts.depth, spread * sign);
            if half_power
                < best
                    .as_ref()
                    .map_or(FARTHEST * spread, |test| test.half_power)
            {
                best = Some(Test {
                    end,
                    ranks,
                    half_power,
                });
            }
        }
        Ok(best)
    }

    /// Errors of random choices of one cell per row.
    fn trials(&self) -> Result<Vec<f64>> {
        let cells = random_choices(TRIALS, &self.facts)?;
        let error = |cell: &Cell| self.fitted.errors()[cell.at as usize] * f64::from(cell.sign);
        memory::collected(cells.iter().map(error))
    }
}

/// A table with errors, extrapolated to one step, for values.
fn left_in(table: &TableErrors, errors: &[f64]) -> TableErrors {
    let mut left = table.clone();
    let width = left.published.len();
    for (values, errors) in left
        .table
        .chunks_exact_mut(width)
        .zip(errors.chunks_exact(width))
    {
        let columns = errors.iter().zip(&left.published);
        for (value, (error, published)) in values.iter_mut().zip(columns) {
            *value = (error * published / left.step).round() as i64;
        }
    }
    left
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

/// The shift of all errors with which half of the trials reach the critical sum.
fn half_power_of(ranks: &Ranks, critical: usize, trials: &[f64], depth: usize, spread: f64) -> f64 {
    let is_powerful = |shift: f64| {
        let sums = trials.chunks_exact(depth).map(|errors| {
            let levels = errors
                .iter()
                .map(|error| ranks.level(error + shift * spread));
            levels.sum::<usize>()
        });
        sums.filter(|&sum| sum >= critical).count() * 2 >= TRIALS
    };
    if !is_powerful(FARTHEST) {
        return f64::INFINITY;
    }
    let (mut low, mut high) = (0.0, FARTHEST);
    while high - low > ROUGH {
        let middle = f64::midpoint(low, high);
        if is_powerful(middle) {
            high = middle;
        } else {
            low = middle;
        }
    }
    high * spread.abs()
}

/// The search for the ends of one interval after the other.
struct Search<'a> {
    peeled: &'a Peeled,
    tests: &'a Tests,
    fit: Fit<'a>,
    /// The table without the tested count.
    values: Vec<f64>,
    ranks: [Ranks; 2],
    /// The count that is taken out of the item's cells.
    count: f64,
}

impl<'a> Search<'a> {
    fn of(peeled: &'a Peeled, tests: &'a Tests) -> Result<Self> {
        Ok(Self {
            peeled,
            tests,
            fit: peeled.fitted.resumed(&peeled.chosen, peeled.facts.signed)?,
            values: memory::copied(&peeled.background.values)?,
            ranks: [tests.ends[0].ranks.clone(), tests.ends[1].ranks.clone()],
            count: 0.0,
        })
    }

    fn ends(&mut self, item: &Asked<'_>) -> Result<Ends> {
        let name = self.peeled.chosen.find(item.cells).map(|name| name as u32);
        let start = item.estimate.max(0.0);
        if let Some(name) = name {
            self.fit.set_taken(name, false);
        }
        let low = self.end(item.cells, name, start, 0)?;
        let high = self.end(item.cells, name, start, 1)?;
        self.take(item.cells, name, 0.0);
        self.fit.undo();
        Ok(Ends { low, high })
    }

    /// The last accepted count on the way from `start` to a rejected one.
    fn end(&mut self, own: &[Cell], name: Option<u32>, start: f64, which: usize) -> Result<f64> {
        let mut accepted = start;
        if self.rejects(own, name, start, which)? {
            // The start is in the interval as well, which only makes it longer.
            return Ok(start);
        }
        let test = &self.tests.ends[which];
        let direction = if test.end == End::Low { -1.0 } else { 1.0 };
        let mut step = test.half_power.max(self.peeled.fitted.spread);
        let mut rejected = None;
        for _ in 0..MOST_STEPS {
            let next = accepted + direction * step;
            if next < 0.0 && accepted <= 0.0 {
                return Ok(0.0);
            }
            let next = next.max(0.0);
            if self.rejects(own, name, next, which)? {
                rejected = Some(next);
                break;
            }
            accepted = next;
            step *= GROWTH;
        }
        let Some(mut rejected) = rejected else {
            return Ok(f64::INFINITY);
        };
        while (rejected - accepted).abs() > EXACT * self.peeled.fitted.spread {
            let middle = f64::midpoint(accepted, rejected);
            if middle == accepted || middle == rejected {
                break;
            }
            if self.rejects(own, name, middle, which)? {
                rejected = middle;
            } else {
                accepted = middle;
            }
        }
        Ok(rejected.max(0.0))
    }

    fn rejects(
        &mut self,
        own: &[Cell],
        name: Option<u32>,
        count: f64,
        which: usize,
    ) -> Result<bool> {
        self.take(own, name, count);
        self.fit.descend();
        let ranks = &mut self.ranks[which];
        ranks.reset(&self.tests.ends[which].ranks);
        let width = self.peeled.facts.width;
        for &(at, before) in self.fit.touched() {
            let row = at as usize / width;
            ranks.count(row, before, -1.0);
            ranks.count(row, self.fit.errors[at as usize], 1.0);
        }
        let levels = own.iter().map(|cell| {
            let error = self.fit.errors[cell.at as usize] * f64::from(cell.sign);
            ranks.level(error)
        });
        let sum = levels.sum();
        Ok(ranks.at_least(sum)? <= self.tests.level)
    }

    /// Takes a count out of the item's cells, instead of the one before, and lets the names that
    /// share them be chosen and fitted again.
    fn take(&mut self, own: &[Cell], name: Option<u32>, count: f64) {
        let more = count - self.count;
        self.count = count;
        self.fit.add(own, -more);
        for cell in own {
            self.values[cell.at as usize] -= more * f64::from(cell.sign);
        }
        if planted!("names-fitted-once-for-all-counts") {
            return;
        }
        let chosen = &self.peeled.chosen;
        for cell in own {
            for &other in chosen.sharing(cell.at) {
                if Some(other) != name {
                    let taken = chosen.is_taken(chosen.own(other as usize), &self.values);
                    self.fit.set_taken(other, taken);
                    self.fit.enqueue(other);
                }
            }
        }
    }
}
