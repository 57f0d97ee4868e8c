//! A table, a public list of names, and the counts and intervals of items.

use super::cells::{Background, Cell, Extrapolated};
use super::choice::{Chosen, Purity};
use super::heaviest::Joint;
use super::intervals::{Ends, Search, Tests};
use super::names::{Names, names_in};
use crate::estimation::{ErrorModel, TableErrors};
use crate::{Result, memory};
use std::sync::{Arc, OnceLock};

/// Largest spread of the errors, relative to that before, with which it pays to take names out.
const PAYS: f64 = 0.97;
/// Range of the middle half of a normal distribution, in standard deviations.
const MIDDLE_HALF: f64 = 1.349;
/// Cells of the rows by which this is decided, at least.
const TRIED: usize = 1024;

/// A public table from which the heavy names of a list are taken out of each other's cells.
///
/// Intervals need names that are a function of the table without the tested count: all of a short
/// list, and those of a long one that can be chosen again. Estimates take those with which errors are
/// smallest. Each is found when it is first needed.
#[derive(Debug)]
pub struct Peeled {
    model: ErrorModel,
    table: Option<Table>,
    for_intervals: OnceLock<Result<Option<Left>>>,
    for_estimates: OnceLock<Result<Best>>,
}

/// A table with collisions, all columns of which were published, and the list.
#[derive(Debug)]
struct Table {
    facts: Extrapolated,
    background: Background,
    list: Vec<Cell>,
}

/// What is left of a table.
#[derive(Debug)]
struct Left {
    chosen: Chosen,
    /// In released counts.
    errors: ErrorModel,
}

/// What estimates are made from.
#[derive(Debug)]
enum Best {
    /// The table.
    Whole,
    /// What intervals are made from.
    AsIntervals,
    Other(Box<Left>),
}

impl Peeled {
    /// A table and a list of names with `depth` cells each. From counters, and before the first push
    /// of every column, nothing is taken out.
    pub fn of(model: &ErrorModel, names: Vec<Cell>) -> Result<Self> {
        let table = match Extrapolated::of(model.table())? {
            None => None,
            Some(facts) => Some(Table {
                background: Background::of(&facts)?,
                list: distinct(names, &facts)?,
                facts,
            }),
        };
        Ok(Self {
            model: model.copied()?,
            table,
            for_intervals: OnceLock::new(),
            for_estimates: OnceLock::new(),
        })
    }

    /// Counts of items at this step, in the list or not: joint estimates from what is left in their
    /// cells once all other names are taken out.
    pub fn estimates(&self, items: &[Cell]) -> Result<Vec<f64>> {
        let mut joint = self.joint()?;
        let items = items.chunks_exact(self.model.depth());
        memory::collected(items.map(|own| joint.estimate(own)))
    }

    /// The items with the largest counts, at most `number`, by falling count and in their order where
    /// counts are equal or below 0: their places, with the counts of [`Self::estimates`].
    pub fn heaviest(&self, items: &[Cell], number: usize) -> Result<Vec<(usize, f64)>> {
        self.joint()?.heaviest(items, number)
    }

    fn joint(&self) -> Result<Joint<'_>> {
        let left = match self.for_estimates()? {
            Best::Whole => None,
            Best::AsIntervals => self.for_intervals()?,
            Best::Other(left) => Some(&**left),
        };
        Joint::of(&self.model, left.map(|left| (&left.errors, &left.chosen)))
    }

    /// The tests with this probability of rejecting the true count, each; `None` if they reject
    /// nothing.
    pub fn tests(&self, level: f64) -> Result<Option<Tests>> {
        match (&self.table, self.for_intervals()?) {
            (Some(table), Some(left)) => Tests::of(level, &left.chosen.fitted, &table.facts),
            _ => Ok(None),
        }
    }

    /// Whether tests reject sooner than those of the same level without the names.
    pub fn narrows(&self, tests: &Tests) -> Result<bool> {
        let (Some(table), Some(left)) = (&self.table, self.for_intervals()?) else {
            return Ok(false);
        };
        let none = Chosen::all(&[], &table.background, &table.facts)?;
        let before = Tests::of(tests.level(), &none.fitted, &table.facts)?;
        let before = before.map_or(f64::INFINITY, |tests| tests.width());
        Ok(tests.width() < table.own_share(&left.chosen) * before)
    }

    /// The counts of items that the tests accept.
    pub fn ends(&self, items: &[Cell], tests: &Tests) -> Result<Vec<Ends>> {
        let (Some(table), Some(left)) = (&self.table, self.for_intervals()?) else {
            return Ok(Vec::new());
        };
        let mut search = Search::of(&left.chosen, tests, &table.facts)?;
        let depth = table.facts.depth;
        let mut joint = Joint::of(&self.model, Some((&left.errors, &left.chosen)))?;
        let mut found = memory::room_for(items.len() / depth)?;
        for own in items.chunks_exact(depth) {
            let start = joint.estimate(own);
            found.push(search.ends(own, start)?);
        }
        Ok(found)
    }

    fn for_intervals(&self) -> Result<Option<&Left>> {
        let found = self.for_intervals.get_or_init(|| {
            let Some(table) = &self.table else {
                return Ok(None);
            };
            let chosen = if table.is_short() {
                table.all()?
            } else {
                table.occurred(Purity::Sure)?
            };
            Left::of(chosen, &self.model).map(Some)
        });
        found.as_ref().map(Option::as_ref).map_err(Clone::clone)
    }

    fn for_estimates(&self) -> Result<&Best> {
        let found = self.for_estimates.get_or_init(|| self.best());
        found.as_ref().map_err(Clone::clone)
    }

    /// What estimates are made from: names are taken out if that makes the errors of a row smaller
    /// that did not know of it (M. Stone 1974: cross-validation).
    fn best(&self) -> Result<Best> {
        let Some(table) = &self.table else {
            return Ok(Best::Whole);
        };
        if table.names() < 2 || table.facts.depth < 2 {
            return Ok(Best::Whole);
        }
        if table.names() > table.facts.table.len() {
            // Few names of a long list are taken out, and no weak ones: that costs nothing.
            return Ok(Best::AsIntervals);
        }
        if table.facts.depth > 2 {
            let [none, all, occurred] = table.ranges_of_unknown_rows()?;
            if all.min(occurred) > PAYS * none {
                return Ok(Best::Whole);
            }
            if all <= occurred {
                return Ok(match table.is_short() {
                    true => Best::AsIntervals,
                    false => Best::Other(Box::new(Left::of(table.all()?, &self.model)?)),
                });
            }
        } else if table.names() > table.facts.width / 2 {
            return Ok(Best::Whole);
        }
        let chosen = table.occurred(Purity::Most)?;
        if !table.pays(&chosen) {
            return Ok(Best::Whole);
        }
        Ok(Best::Other(Box::new(Left::of(chosen, &self.model)?)))
    }
}

impl Table {
    fn names(&self) -> usize {
        self.list.len() / self.facts.depth
    }

    /// Whether all names of the list can be taken out.
    fn is_short(&self) -> bool {
        self.names() <= (self.facts.table.len() / 4).max(1)
    }

    fn all(&self) -> Result<Chosen> {
        Chosen::all(&self.list, &self.background, &self.facts)
    }

    fn occurred(&self, purity: Purity) -> Result<Chosen> {
        Chosen::occurred(&self.list, purity, &self.background, &self.facts)
    }

    /// What each fitted count leaves of the errors in its own cells, even of an absent name.
    fn own_share(&self, chosen: &Chosen) -> f64 {
        1.0 - chosen.fitted.number() as f64 / self.facts.table.len() as f64
    }

    /// Whether what is left spreads less.
    fn pays(&self, chosen: &Chosen) -> bool {
        chosen.fitted.spread <= PAYS * self.own_share(chosen) * self.background.spread
    }

    /// The range of the errors of rows: as they are, and without the names that the other rows take
    /// out, all or those that have occurred; infinite for what noise alone tells not to pay. Of narrow
    /// tables, whose rows have few cells, more rows are tried.
    fn ranges_of_unknown_rows(&self) -> Result<[f64; 3]> {
        let rows = 0..(TRIED / self.facts.width).clamp(1, self.facts.depth);
        let number = rows.len() as f64;
        let mut none = 0.0;
        for row in rows.clone() {
            none += self.range_of_row(row, None)?;
        }
        let [least, least_of_all] = self.least_ranges();
        if number * least > PAYS * none {
            return Ok([none, f64::INFINITY, f64::INFINITY]);
        }
        let (mut occurred, mut tried) = (0.0, memory::room_for(rows.len())?);
        for row in rows {
            let others = self.others(row)?;
            let chosen = others.occurred(Purity::Most)?;
            occurred += self.range_of_row(row, Some((&others, &chosen)))?;
            tried.push((row, others));
        }
        if number * least_of_all > occurred.min(PAYS * none) {
            return Ok([none, f64::INFINITY, occurred]);
        }
        let mut all = 0.0;
        for (row, others) in &tried {
            all += self.range_of_row(*row, Some((others, &others.all()?)))?;
        }
        Ok([none, all, occurred])
    }

    /// The other rows, with the cells of the names in them.
    fn others(&self, row: usize) -> Result<Self> {
        let (facts, list) = self.facts.without_row(row, &self.list)?;
        Ok(Self {
            background: Background::of(&facts)?,
            facts,
            list,
        })
    }

    /// What noise alone leaves of the range of a row: in any case, and if the other rows take out all
    /// names. The variance of a count that they fit is that of a regression with random cells, their
    /// noise over their number and over the part of their cells that is left for errors.
    fn least_ranges(&self) -> [f64; 2] {
        let (names, width) = (self.names() as f64, self.facts.width as f64);
        let others = (self.facts.depth - 1) as f64;
        let left = 1.0 - names / (width * others);
        let noise = MIDDLE_HALF * self.facts.noise;
        if 2 * self.names() > self.facts.table.len() || left <= 0.0 {
            return [noise, f64::INFINITY];
        }
        [
            noise,
            noise * (1.0 + names / width / (others * left)).sqrt(),
        ]
    }

    /// The range of the middle half of a row, without the counts of names that others chose.
    fn range_of_row(&self, row: usize, chosen: Option<(&Self, &Chosen)>) -> Result<f64> {
        let (depth, width) = (self.facts.depth, self.facts.width);
        let first = row * width;
        let mut errors = memory::copied(&self.facts.table[first..first + width])?;
        if let Some((others, chosen)) = chosen {
            let names = self.list.chunks_exact(depth);
            for (own, known) in names.zip(others.list.chunks_exact(depth - 1)) {
                let cell = own[row];
                errors[cell.at as usize - first] -= chosen.count(known) * f64::from(cell.sign);
            }
        }
        errors.sort_unstable_by(f64::total_cmp);
        let quarter = width / 4;
        Ok(errors[width - 1 - quarter] - errors[quarter])
    }
}

impl Left {
    fn of(chosen: Chosen, model: &ErrorModel) -> Result<Self> {
        Ok(Self {
            errors: ErrorModel::of(left_in(model.table(), &chosen.fitted.errors)?)?,
            chosen,
        })
    }
}

/// A table with errors, extrapolated to one step, for values.
fn left_in(table: &TableErrors, errors: &[f64]) -> Result<TableErrors> {
    let width = table.published.len();
    let values = errors.iter().enumerate().map(|(at, error)| {
        let published = table.published[at % width];
        (error * published / table.step).round() as i64
    });
    table.with(Arc::new(memory::collected(values)?))
}

/// The names of a list that is not much longer than the table once each; a longer one as it is.
fn distinct(list: Vec<Cell>, facts: &Extrapolated) -> Result<Vec<Cell>> {
    let cells = facts.table.len();
    if names_in(&list, facts.depth)? > 2.0 * cells as f64 {
        return Ok(list);
    }
    let names = memory::collected(list.chunks_exact(facts.depth))?;
    let names = Names::of(names, facts.depth, cells)?;
    let mut once = memory::room_for(names.len() * facts.depth)?;
    names.all().for_each(|own| once.extend_from_slice(own));
    Ok(once)
}

#[cfg(test)]
mod tests {
    use super::super::cells::mixed;
    use super::*;

    /// A table of names with equal counts and of noise with the deviation 9.
    fn table(signed: bool, [depth, width, names]: [usize; 3]) -> Table {
        let mut state = 7_u64;
        let mut draw = |end: usize| {
            state = mixed(state);
            ((u128::from(state) * end as u128) >> 64) as usize
        };
        let (mut table, mut list) = (vec![0.0; depth * width], Vec::new());
        for _ in 0..names {
            for row in 0..depth {
                let at = row * width + draw(width);
                let sign = if signed && draw(2) == 1 { -1.0 } else { 1.0 };
                table[at] += 500.0 * f64::from(sign);
                list.push(Cell {
                    at: at as u32,
                    sign,
                });
            }
        }
        // The sum of twelve uniform numbers has the variance 12 / 12.
        let mut normal = || (0..12).map(|_| draw(1 << 20) as f64).sum::<f64>() / 1_048_576.0 - 6.0;
        table.iter_mut().for_each(|value| *value += 9.0 * normal());
        let facts = Extrapolated {
            signed,
            depth,
            width,
            table,
            noise: 9.0,
        };
        Table {
            background: Background::of(&facts).unwrap(),
            list,
            facts,
        }
    }

    #[test]
    fn what_noise_leaves_of_a_range_is_hardly_more_than_what_is_found() {
        for (signed, shape) in [
            (true, [3, 4096, 1000]),
            (true, [4, 4096, 4000]),
            (true, [3, 4096, 5000]),
            (false, [5, 4096, 2000]),
        ] {
            let whole = table(signed, shape);
            let others = whole.others(0).unwrap();
            let all = others.all().unwrap();
            let found = whole.range_of_row(0, Some((&others, &all))).unwrap();
            let [noise, predicted] = whole.least_ranges();
            // A range of 4,096 values is known to 2 %.
            let part = predicted / found;
            assert!(
                (0.8..1.06).contains(&part),
                "{shape:?}: {predicted} {found}"
            );
            assert!(noise < predicted);
        }
    }
}
