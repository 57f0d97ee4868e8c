//! Where items are counted, and the table that they are counted in.

use super::middle::{kept, middle};
use crate::estimation::TableErrors;
use crate::{Result, memory};
use std::cmp::Ordering;

/// One cell of an item.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cell {
    /// Row times width plus column.
    pub at: u32,
    /// What one count adds to the cell: 1, or the sign in a Count Sketch.
    pub sign: f32,
}

/// The order of items with one cell in each row.
pub(super) fn order(one: &[Cell], two: &[Cell]) -> Ordering {
    let key = |cell: &Cell| (cell.at, cell.sign < 0.0);
    one.iter().map(key).cmp(two.iter().map(key))
}

/// A public table whose values are extrapolated to one step, at the rate of their column.
#[derive(Debug, Clone)]
pub(super) struct Extrapolated {
    /// True for Count Sketch.
    pub(super) signed: bool,
    /// Rows.
    pub(super) depth: usize,
    /// Columns.
    pub(super) width: usize,
    /// Values, row by row.
    pub(super) table: Vec<f64>,
    /// Standard deviation of the noise of a value, over all columns.
    pub(super) noise: f64,
}

impl Extrapolated {
    /// `None` for counters, and before the first push of every column.
    pub(super) fn of(facts: &TableErrors) -> Result<Option<Self>> {
        let (width, cells) = (facts.published.len(), facts.table.len());
        let published = facts.published.iter().all(|&step| step > 0.0);
        if !published || !facts.collisions || cells > u32::MAX as usize {
            return Ok(None);
        }
        let rates = facts.published.iter().map(|step| facts.step / step);
        let rates = memory::collected(rates)?;
        let mut table = memory::room_for(cells)?;
        for row in facts.table.chunks_exact(width) {
            let cells = row.iter().zip(&rates);
            table.extend(cells.map(|(&value, rate)| value as f64 * rate));
        }
        let variances = rates
            .iter()
            .zip(&facts.variance)
            .map(|(rate, each)| rate * rate * each);
        Ok(Some(Self {
            noise: (variances.sum::<f64>() / width as f64).sqrt(),
            signed: facts.signed,
            depth: facts.depth,
            width,
            table,
        }))
    }

    /// The values of a row.
    pub(super) fn row(&self, row: usize) -> &[f64] {
        &self.table[row * self.width..][..self.width]
    }

    /// The other rows, and the cells of items in them.
    pub(super) fn without_row(&self, row: usize, items: &[Cell]) -> Result<(Self, Vec<Cell>)> {
        let (begin, end) = (row * self.width, (row + 1) * self.width);
        let mut table = memory::room_for(self.table.len() - self.width)?;
        table.extend_from_slice(&self.table[..begin]);
        table.extend_from_slice(&self.table[end..]);
        let mut cells = memory::room_for(items.len() / self.depth * (self.depth - 1))?;
        for own in items.chunks_exact(self.depth) {
            let rest = own.iter().enumerate().filter(|(at, _)| *at != row);
            cells.extend(rest.map(|(at, cell)| Cell {
                at: cell.at - if at > row { self.width as u32 } else { 0 },
                sign: cell.sign,
            }));
        }
        let others = Self {
            signed: self.signed,
            depth: self.depth - 1,
            width: self.width,
            table,
            noise: self.noise,
        };
        Ok((others, cells))
    }
}

/// Random choices of one cell per row: names that never occurred. All values are public,
/// so the choices may be fixed.
pub(super) fn random_choices(number: usize, facts: &Extrapolated) -> Result<Vec<Cell>> {
    let choices = (0..number * facts.depth).map(|at| {
        let random = mixed(at as u64 + 1);
        let column = ((u128::from(random) * facts.width as u128) >> 64) as usize;
        Cell {
            at: (at % facts.depth * facts.width + column) as u32,
            sign: if facts.signed && random & 1 == 1 {
                -1.0
            } else {
                1.0
            },
        }
    });
    memory::collected(choices)
}

/// The table less the middle of each row, and how far its errors spread.
#[derive(Debug, Clone)]
pub(super) struct Background {
    /// Released values; less the median of their row in a Count-Min sketch.
    pub(super) values: Vec<f64>,
    /// Standard deviation of the bulk of the values, at least 0.5.
    pub(super) spread: f64,
}

impl Background {
    pub(super) fn of(facts: &Extrapolated) -> Result<Self> {
        let mut values = memory::copied(&facts.table)?;
        less_middles(&mut values, facts)?;
        let spread = spread_of(&values, facts.signed)?;
        Ok(Self { values, spread })
    }
}

/// Subtracts the median of each row; errors of a Count Sketch have none.
pub(super) fn less_middles(values: &mut [f64], facts: &Extrapolated) -> Result<()> {
    if facts.signed {
        return Ok(());
    }
    for row in values.chunks_exact_mut(facts.width) {
        let median = middle(row)?;
        row.iter_mut().for_each(|value| *value -= median);
    }
    Ok(())
}

/// The standard deviation of the bulk of errors; without signs, of their lower half.
pub(super) fn spread_of(errors: &[f64], signed: bool) -> Result<f64> {
    let mut sizes = if signed {
        memory::copied(errors)?
    } else {
        kept(errors, |error| error <= 0.0)?
    };
    sizes.iter_mut().for_each(|error| *error = error.abs());
    Ok((1.4826 * middle(&sizes)?).max(0.5))
}

/// A number that looks random, for public values. Source: G. Steele, D. Lea and C. Flood 2014.
pub(super) fn mixed(number: u64) -> u64 {
    let state = number.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let mixed = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}
