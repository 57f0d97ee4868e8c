//! A table, a public list of names, and the counts and intervals of items.

use super::care::Care;
use super::cells::{Cell, Extrapolated};
use super::choice::Chosen;
use super::gain::{Best, best_of, nothing_pays, own_share};
use super::heaviest::Joint;
use super::intervals::{Ends, Search, Tests};
use super::listed::Listed;
use crate::estimation::{ErrorModel, TableErrors};
use crate::{Result, memory};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// A public table from which the heavy names of a list are taken out of each other's cells.
///
/// Intervals need names that are a function of the table without the tested count: all of a short
/// list, and those of a long one that can be chosen again. Estimates take those with which errors are
/// smallest. Each is found when it is first needed.
#[derive(Debug)]
pub struct Peeled {
    model: Arc<ErrorModel>,
    /// None of counters, and before the first push of every column.
    facts: Option<Arc<Extrapolated>>,
    names: Vec<Cell>,
    listed: Made<Option<Listed>>,
    for_intervals: Made<Option<Left>>,
    for_estimates: Made<ForEstimates>,
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
enum ForEstimates {
    /// The table.
    Whole,
    /// What intervals are made from.
    AsIntervals,
    Other(Box<Left>),
}

impl Peeled {
    /// A table and a list of names with `depth` cells each. From counters, and before the first push
    /// of every column, nothing is taken out.
    pub fn of(model: Arc<ErrorModel>, names: Vec<Cell>) -> Result<Self> {
        Ok(Self {
            facts: Extrapolated::of(model.table())?.map(Arc::new),
            model,
            names,
            listed: Made::later(),
            for_intervals: Made::later(),
            for_estimates: Made::later(),
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
            ForEstimates::Whole => None,
            ForEstimates::AsIntervals => self.for_intervals()?,
            ForEstimates::Other(left) => Some(&**left),
        };
        Joint::of(&self.model, left.map(|left| (&left.errors, &left.chosen)))
    }

    /// The tests with this probability of rejecting the true count, each; `None` if they reject
    /// nothing.
    pub fn tests(&self, level: f64) -> Result<Option<Tests>> {
        match (&self.facts, self.for_intervals()?) {
            (Some(facts), Some(left)) => Tests::of(level, &left.chosen.fitted, facts),
            _ => Ok(None),
        }
    }

    /// Whether tests reject sooner than those of the same level without the names.
    pub fn narrows(&self, tests: &Tests) -> Result<bool> {
        let (Some(listed), Some(left)) = (self.listed()?, self.for_intervals()?) else {
            return Ok(false);
        };
        let none = Chosen::none(listed)?;
        let before = Tests::of(tests.level(), &none.fitted, &listed.facts)?;
        let before = before.map_or(f64::INFINITY, |tests| tests.width());
        Ok(tests.width() < own_share(&left.chosen.fitted) * before)
    }

    /// The counts of items that the tests accept.
    pub fn ends(&self, items: &[Cell], tests: &Tests) -> Result<Vec<Ends>> {
        let (Some(facts), Some(left)) = (&self.facts, self.for_intervals()?) else {
            return Ok(Vec::new());
        };
        let mut search = Search::of(&left.chosen, tests, facts)?;
        let depth = facts.depth;
        let mut joint = Joint::of(&self.model, Some((&left.errors, &left.chosen)))?;
        let mut found = memory::room_for(items.len() / depth)?;
        for own in items.chunks_exact(depth) {
            let start = joint.estimate(own);
            found.push(search.ends(own, start)?);
        }
        Ok(found)
    }

    fn listed(&self) -> Result<Option<&Listed>> {
        let found = self.listed.or(|| match &self.facts {
            None => Ok(None),
            Some(facts) => Listed::of(Arc::clone(facts), &self.names).map(Some),
        });
        found.map(Option::as_ref)
    }

    fn for_intervals(&self) -> Result<Option<&Left>> {
        let found = self.for_intervals.or(|| {
            let Some(listed) = self.listed()? else {
                return Ok(None);
            };
            let chosen = if listed.is_short() {
                Chosen::all(listed, None, Care::Exact)?
            } else {
                Chosen::sure(listed)?
            };
            Left::of(chosen, &self.model).map(Some)
        });
        found.map(Option::as_ref)
    }

    fn for_estimates(&self) -> Result<&ForEstimates> {
        self.for_estimates.or(|| {
            Ok(match self.best()? {
                Best::Nothing => ForEstimates::Whole,
                Best::AsForIntervals => ForEstimates::AsIntervals,
                Best::These(chosen) => {
                    ForEstimates::Other(Box::new(Left::of(*chosen, &self.model)?))
                }
            })
        })
    }

    fn best(&self) -> Result<Best> {
        let Some(facts) = &self.facts else {
            return Ok(Best::Nothing);
        };
        if nothing_pays(self.names.len() / facts.depth, facts)? {
            return Ok(Best::Nothing);
        }
        match self.listed()? {
            Some(listed) => best_of(listed),
            None => Ok(Best::Nothing),
        }
    }
}

/// A value that is made when it is first needed, by one thread; a failure is not kept, since there
/// may be memory later.
#[derive(Debug)]
struct Made<T> {
    value: OnceLock<T>,
    making: Mutex<()>,
}

impl<T> Made<T> {
    fn later() -> Self {
        Self {
            value: OnceLock::new(),
            making: Mutex::new(()),
        }
    }

    fn or(&self, make: impl FnOnce() -> Result<T>) -> Result<&T> {
        if let Some(found) = self.value.get() {
            return Ok(found);
        }
        let _making = self.making.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = self.value.get() {
            return Ok(found);
        }
        let made = make()?;
        Ok(self.value.get_or_init(|| made))
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
