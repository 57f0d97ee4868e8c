//! Joint decoding: heavy names are taken out of each other's cells before counts are estimated.
//!
//! Which names of a list are taken out is decided against decoys: random choices of cells, which
//! are names that never occurred. So the expected number of absent names among those taken out is
//! known without a model (J. Elias and S. Gygi 2007). Their counts are fitted together
//! ([`super::fit`]), and the errors that the fit leaves decide anew, until the choice is stable.
//!
//! Nothing is taken out if it does not pay. Names whose counts are about the errors are chosen for
//! their noise, and a fit follows it: the errors of the fitted cells become smaller, those of the
//! counts do not. So all rows but one choose and fit, too, and the errors of that row, which they do
//! not know, have to become smaller (M. Stone 1974: cross-validation).

use super::fit::{Cell, Fit};
use super::model::{ErrorModel, Row};
use crate::{Result, memory};

/// Of more names none is taken out, to bound memory.
const MOST_NAMES: usize = 1 << 24;
const MOST_ITERATIONS: usize = 12;
/// Decoys for each name, within bounds.
const DECOYS: usize = 4;
const FEWEST_DECOYS: usize = 4096;
const MOST_DECOYS: usize = 32_768;
/// Expected part of absent names among those that are taken out.
const ABSENT: f64 = 0.1;
/// Most names that are taken out, as a part of the cells.
const MOST_TAKEN: f64 = 0.5;
/// Largest spread after decoding, relative to that before, with which decoding pays.
const PAYS: f64 = 0.97;
/// Cells of the rows by which this is decided, at least.
const TRIED: usize = 1024;
/// A choice is stable if it changes by at most this part.
const STABLE: f64 = 0.01;

/// The errors that are left when names are taken out, and their counts; 0 for the others.
struct Taken {
    errors: ErrorModel,
    spread: f64,
    counts: Vec<f64>,
}

impl ErrorModel {
    /// Estimated counts at this step of all names of a list, from [`Self::depth`] cells per name; no
    /// two names are one. A single name, and each of more names than cells or, with two rows, than
    /// half of the columns, is estimated alone.
    pub fn decode(&self, cells: &[Cell]) -> Result<Vec<f64>> {
        let depth = self.depth();
        let names = cells.len() / depth;
        let few = match depth {
            1 => 0,
            2 => self.width() / 2,
            _ => self.facts.table.len(),
        };
        let taken = if self.facts.collisions && (2..=few.min(MOST_NAMES)).contains(&names) {
            self.taken(cells)?
        } else {
            None
        };
        let (mut counts, mut rows) = (memory::room_for(names)?, Vec::with_capacity(depth));
        for (name, own) in cells.chunks_exact(depth).enumerate() {
            let (errors, count) = match &taken {
                Some(taken) => (&taken.errors, taken.counts[name]),
                None => (self, 0.0),
            };
            errors.rows_without(own, count, &mut rows);
            counts.push(errors.joint(&rows));
        }
        Ok(counts)
    }

    /// The cell of a row and column of which an item counts with this sign.
    #[inline]
    pub fn cell(&self, row: usize, column: usize, negative: bool) -> Cell {
        let share = self.facts.published[column] / self.facts.step;
        Cell {
            at: row * self.width() + column,
            share: if negative { -share } else { share },
        }
    }

    /// The names that are taken out; `None` if it does not pay.
    fn taken(&self, cells: &[Cell]) -> Result<Option<Taken>> {
        let pays = match self.depth() {
            2 => true,
            _ => self.helps_a_row_that_is_not_known(cells)?,
        };
        if !pays {
            return Ok(None);
        }
        let before = self.fit(&[], &[]).spread;
        let taken = self.peeled(cells)?;
        // Each fitted count makes the errors of its own cells smaller.
        let number = taken.counts.iter().filter(|&&count| count != 0.0).count();
        let own = 1.0 - number as f64 / self.facts.table.len() as f64;
        Ok((taken.spread <= PAYS * own * before).then_some(taken))
    }

    /// True if the errors of rows become smaller by names that the other rows chose and fitted: these
    /// do not know the row, so a choice that follows noise does not help there. Of narrow tables,
    /// whose rows have few cells, more rows are tried.
    fn helps_a_row_that_is_not_known(&self, cells: &[Cell]) -> Result<bool> {
        let (mut before, mut after) = (0.0, 0.0);
        for row in 0..(TRIED / self.width()).clamp(1, self.depth()) {
            let (without, with) = self.errors_of_unknown_row(row, cells)?;
            before += without;
            after += with;
        }
        Ok(after <= PAYS * before)
    }

    /// The range of the errors of a row, and that without names that the other rows take out.
    fn errors_of_unknown_row(&self, row: usize, cells: &[Cell]) -> Result<(f64, f64)> {
        let (depth, width) = (self.depth(), self.width());
        let mut facts = self.facts.clone();
        facts.depth = depth - 1;
        let own: Vec<i64> = facts.table.drain(row * width..(row + 1) * width).collect();
        let mut others = memory::room_for(cells.len() / depth * (depth - 1))?;
        for cells in cells.chunks_exact(depth) {
            let rest = cells.iter().enumerate().filter(|(at, _)| *at != row);
            others.extend(rest.map(|(at, cell)| Cell {
                at: cell.at - if at > row { width } else { 0 },
                share: cell.share,
            }));
        }
        let taken = Self::of(facts)?.peeled(&others)?;
        let mut errors: Vec<f64> = own.iter().map(|&value| value as f64).collect();
        let before = self.middle_half(&errors);
        for (cells, count) in cells.chunks_exact(depth).zip(&taken.counts) {
            let cell = cells[row];
            errors[cell.at - row * width] -= count * cell.share;
        }
        Ok((before, self.middle_half(&errors)))
    }

    /// The range of the middle half of the published cells of a row.
    fn middle_half(&self, row: &[f64]) -> f64 {
        let cells = row.iter().zip(&self.facts.published);
        let published = cells.filter(|(_, step)| **step > 0.0);
        let mut errors: Vec<f64> = published.map(|(&error, _)| error).collect();
        errors.sort_unstable_by(f64::total_cmp);
        let quarter = errors.len() / 4;
        match errors.len() {
            0 => 0.0,
            cells => errors[cells - 1 - quarter] - errors[quarter],
        }
    }

    /// Takes names out until the choice is stable.
    fn peeled(&self, cells: &[Cell]) -> Result<Taken> {
        let depth = self.depth();
        let names = cells.len() / depth;
        let decoys = self.decoys((DECOYS * names).clamp(FEWEST_DECOYS, MOST_DECOYS))?;
        let weight = (names * depth) as f64 / decoys.len() as f64;
        let before = self.fit(&[], &[]);
        let mut taken = Taken {
            errors: self.with_errors(&before)?,
            spread: before.spread,
            counts: vec![0.0; names],
        };
        for _ in 0..MOST_ITERATIONS {
            let chosen = taken.chosen(cells, &decoys, weight);
            let stays = chosen.iter().filter(|&&name| taken.counts[name] != 0.0);
            let (stays, had) = (
                stays.count(),
                taken.counts.iter().filter(|&&count| count != 0.0).count(),
            );
            let changed = chosen.len() + had - 2 * stays;
            if changed as f64 <= STABLE * chosen.len() as f64 {
                break;
            }
            let mut own = memory::room_for(chosen.len() * depth)?;
            for &name in &chosen {
                own.extend_from_slice(&cells[name * depth..(name + 1) * depth]);
            }
            let start: Vec<f64> = chosen.iter().map(|&name| taken.counts[name]).collect();
            let fit = self.fit(&own, &start);
            taken.spread = fit.spread;
            taken.errors = self.with_errors(&fit)?;
            taken.counts.fill(0.0);
            for (&name, &count) in chosen.iter().zip(&fit.counts) {
                taken.counts[name] = count;
            }
        }
        Ok(taken)
    }

    /// The model of the errors that a fit leaves.
    fn with_errors(&self, fit: &Fit) -> Result<Self> {
        let mut facts = self.facts.clone();
        let errors = facts.table.iter_mut().zip(&fit.errors);
        errors.for_each(|(value, &error)| *value = error.round() as i64);
        Self::of(facts)
    }

    /// The rows of a name of which `count` was taken out.
    fn rows_without(&self, cells: &[Cell], count: f64, rows: &mut Vec<Row>) {
        rows.clear();
        let width = self.width();
        for (row, cell) in cells.iter().enumerate() {
            let value = self.facts.table[cell.at] as f64 * cell.share.signum();
            let column = cell.at - row * width;
            rows.extend(self.row(column, value + count * cell.share.abs()));
        }
    }

    /// Random choices of one cell per row, as many as asked.
    fn decoys(&self, number: usize) -> Result<Vec<Cell>> {
        let (depth, width) = (self.depth(), self.width());
        let mut cells = memory::room_for(number * depth)?;
        for name in 0..number {
            for row in 0..depth {
                let random = mixed((name * depth + row) as u64);
                let column = ((u128::from(random) * width as u128) >> 64) as usize;
                cells.push(self.cell(row, column, self.facts.signed && random & 1 == 1));
            }
        }
        Ok(cells)
    }
}

impl Taken {
    /// The names to take out next, by the errors that are left now.
    fn chosen(&self, cells: &[Cell], decoys: &[Cell], weight: f64) -> Vec<usize> {
        let depth = self.errors.depth();
        let mut rows = Vec::with_capacity(depth);
        let mut evidence = |own: &[Cell], count: f64| {
            self.errors.rows_without(own, count, &mut rows);
            self.errors.evidence(&rows, self.spread)
        };
        let names = cells.chunks_exact(depth).zip(&self.counts).enumerate();
        let mut found: Vec<(f64, usize)> = names
            .map(|(name, (own, &count))| (evidence(own, count), name))
            .filter(|(evidence, _)| *evidence > 0.0)
            .collect();
        let absent = decoys.chunks_exact(depth).map(|own| evidence(own, 0.0));
        let mut absent: Vec<f64> = absent.filter(|evidence| *evidence > 0.0).collect();
        found.sort_unstable_by(|one, two| two.0.total_cmp(&one.0).then(one.1.cmp(&two.1)));
        absent.sort_unstable_by(|one, two| two.total_cmp(one));
        found.truncate((MOST_TAKEN * self.errors.facts.table.len() as f64) as usize);
        let accepted = (1..=found.len()).rev().find(|&number| {
            let least = found[number - 1].0;
            let expected = weight * absent.partition_point(|&each| each >= least) as f64;
            expected <= ABSENT * number as f64
        });
        found.truncate(accepted.unwrap_or(0));
        let mut chosen: Vec<usize> = found.into_iter().map(|(_, name)| name).collect();
        chosen.sort_unstable();
        chosen
    }
}

/// A number that looks random, for public values. Source: G. Steele, D. Lea and C. Flood 2014.
pub(crate) fn mixed(number: u64) -> u64 {
    let state = (number + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let mixed = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}
