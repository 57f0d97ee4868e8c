//! How rare the cells of an item are among all choices of one cell per row.
//!
//! An item's cells are equally likely to be any choice, whatever the rest of the stream is. So the
//! share of choices whose sum of levels is at least the item's own is a p-value, and it is computed
//! exactly: the sum of independent levels, one per row.

use super::score::{BINS, LEVELS, Score, bin_of};
use crate::estimation::add_convolution;
use crate::{Result, memory};

/// Which end of an interval a test bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// Rejects counts that are too low: too much is left in the item's cells.
    Low,
    /// Rejects counts that are too high.
    High,
}

impl End {
    fn direction(self) -> f64 {
        match self {
            Self::Low => 1.0,
            Self::High => -1.0,
        }
    }
}

/// How many choices of a cell there are in each bin of the scores, row by row.
#[derive(Debug)]
pub(super) struct Binned {
    end: End,
    signed: bool,
    /// [`BINS`] numbers of cells per row.
    numbers: Vec<f64>,
    /// Choices of a cell in a row.
    choices: f64,
}

impl Binned {
    /// The bins of errors with this spread, row by row.
    pub(super) fn of(
        end: End,
        errors: &[f64],
        spread: f64,
        width: usize,
        signed: bool,
    ) -> Result<Self> {
        let rows = errors.len() / width;
        let mut numbers = memory::filled(0.0, rows * BINS)?;
        let scale = 1.0 / spread;
        for (errors, numbers) in errors
            .chunks_exact(width)
            .zip(numbers.chunks_exact_mut(BINS))
        {
            for error in errors.iter().map(|error| error * end.direction()) {
                numbers[bin_of(error * scale)] += 1.0;
                if signed {
                    numbers[bin_of(-error * scale)] += 1.0;
                }
            }
        }
        Ok(Self {
            end,
            signed,
            numbers,
            choices: (width << usize::from(signed)) as f64,
        })
    }
}

/// The levels of all cells, row by row.
#[derive(Debug, Clone)]
pub(super) struct Ranks {
    score: Score,
    end: End,
    signed: bool,
    /// [`LEVELS`] numbers of cells per row.
    numbers: Vec<f64>,
    /// Choices of a cell in a row.
    choices: f64,
}

impl Ranks {
    /// The levels of errors in bins. The score has the spread of the bins.
    pub(super) fn of(score: Score, binned: &Binned) -> Result<Self> {
        let rows = binned.numbers.len() / BINS;
        let mut numbers = memory::filled(0.0, rows * LEVELS)?;
        for (bins, levels) in binned
            .numbers
            .chunks_exact(BINS)
            .zip(numbers.chunks_exact_mut(LEVELS))
        {
            for (number, level) in bins.iter().zip(score.levels()) {
                levels[usize::from(*level)] += number;
            }
        }
        Ok(Self {
            score,
            end: binned.end,
            signed: binned.signed,
            numbers,
            choices: binned.choices,
        })
    }

    /// Adds to the number of cells of a row with this error.
    #[inline]
    pub(super) fn count(&mut self, row: usize, error: f64, number: f64) {
        let level = self.level(error);
        self.numbers[row * LEVELS + level] += number;
        if self.signed {
            let level = self.level(-error);
            self.numbers[row * LEVELS + level] += number;
        }
    }

    /// The same ranks with an item whose count is wrong by any amount: its cell of each row has the
    /// highest level, and no longer one in the middle.
    pub(super) fn with_an_item(&self) -> Self {
        let mut with = self.clone();
        for row in 0..self.numbers.len() / LEVELS {
            with.count(row, 0.0, -1.0);
            with.count(row, f64::INFINITY * self.end.direction(), 1.0);
        }
        with
    }

    /// The level of an error, with the item's sign applied.
    #[inline]
    pub(super) fn level(&self, error: f64) -> usize {
        self.score.level(error * self.end.direction())
    }

    /// The share of choices with each sum of levels.
    pub(super) fn sums(&self) -> Result<Vec<f64>> {
        self.sums_of(&self.numbers)
    }

    /// The share of choices whose sum is at least this one.
    pub(super) fn at_least(&self, sum: usize) -> Result<f64> {
        // The last row needs no sums of its own: only how many of its cells reach what is missing.
        let (others, last) = self.numbers.split_at(self.numbers.len() - LEVELS);
        let mut reaching = [0.0; LEVELS + 1];
        for level in (0..LEVELS).rev() {
            reaching[level] = reaching[level + 1] + last[level] / self.choices;
        }
        let sums = self.sums_of(others)?;
        let shares = sums
            .iter()
            .enumerate()
            .map(|(found, share)| share * reaching[sum.saturating_sub(found).min(LEVELS)]);
        Ok(shares.sum())
    }

    /// Takes over the numbers of other ranks with the same score.
    pub(super) fn reset(&mut self, to: &Self) {
        self.numbers.copy_from_slice(&to.numbers);
    }

    fn sums_of(&self, numbers: &[f64]) -> Result<Vec<f64>> {
        let mut sums = memory::filled(1.0, 1)?;
        for row in numbers.chunks_exact(LEVELS) {
            let mut longer = memory::filled(0.0, sums.len() + LEVELS - 1)?;
            let mut shares = [0.0; LEVELS];
            for (share, number) in shares.iter_mut().zip(row) {
                *share = number / self.choices;
            }
            add_convolution(&shares, &sums, &mut longer);
            sums = longer;
        }
        Ok(sums)
    }
}

#[cfg(test)]
mod tests {
    use super::super::score::Density;
    use super::*;

    fn ranks(density: &Density, end: End, errors: &[f64], (width, signed): (usize, bool)) -> Ranks {
        let binned = Binned::of(end, errors, density.spread(), width, signed).unwrap();
        Ranks::of(density.score(2.0).unwrap(), &binned).unwrap()
    }

    /// All sums of levels, one choice of a cell and a sign per row after the other.
    fn all_sums(ranks: &Ranks, errors: &[f64], width: usize, signed: bool) -> Vec<usize> {
        let signs: &[f64] = if signed { &[1.0, -1.0] } else { &[1.0] };
        let mut sums = vec![0];
        for row in errors.chunks_exact(width) {
            let levels = row
                .iter()
                .flat_map(|error| signs.iter().map(move |sign| error * sign));
            let levels: Vec<_> = levels.map(|error| ranks.level(error)).collect();
            let longer = sums
                .iter()
                .flat_map(|sum| levels.iter().map(move |level| sum + level));
            sums = longer.collect();
        }
        sums
    }

    #[test]
    fn shares_are_those_of_all_choices() {
        let (width, depth) = (7, 3);
        let errors: Vec<f64> = (0..width * depth)
            .map(|at| (at * at % 23) as f64 - 9.0)
            .collect();
        for signed in [false, true] {
            for end in [End::Low, End::High] {
                let density = Density::of(errors.iter().copied(), 3.0).unwrap();
                let ranks = ranks(&density, end, &errors, (width, signed));
                let sums = all_sums(&ranks, &errors, width, signed);
                let choices = sums.len() as f64;
                for least in 0..depth * LEVELS {
                    let wanted = sums.iter().filter(|&&sum| sum >= least).count() as f64 / choices;
                    let found = ranks.at_least(least).unwrap();
                    assert!(
                        (found - wanted).abs() < 1e-12,
                        "{least}: {found} for {wanted}"
                    );
                }
                let total: f64 = ranks.sums().unwrap().iter().sum();
                assert!((total - 1.0).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn an_item_adds_one_cell_of_each_row_to_the_highest_level() {
        let (width, depth) = (5, 2);
        let errors = [1.0, -2.0, 0.0, 3.0, -1.0, 0.0, 2.0, 90.0, -3.0, 1.0];
        for signed in [false, true] {
            for end in [End::Low, End::High] {
                let density = Density::of(errors.iter().copied(), 2.0).unwrap();
                let wrong = 1e9 * end.direction();
                let with = [1.0, -2.0, wrong, 3.0, -1.0, wrong, 2.0, 90.0, -3.0, 1.0];
                let wanted = ranks(&density, end, &with, (width, signed));
                let found = ranks(&density, end, &errors, (width, signed));
                assert_eq!(found.with_an_item().numbers, wanted.numbers);
                assert_eq!(wanted.numbers.len(), depth * LEVELS);
            }
        }
    }

    #[test]
    fn cells_are_moved_to_their_new_level() {
        let mut errors = vec![1.0, 2.0, -8.0, 30.0, 4.0, 0.0];
        let density = Density::of(errors.iter().copied(), 2.0).unwrap();
        let mut moved = ranks(&density, End::High, &errors, (3, true));
        moved.count(1, errors[3], -1.0);
        errors[3] = -2.0;
        moved.count(1, errors[3], 1.0);
        let other = ranks(&density, End::High, &errors, (3, true));
        assert_eq!(moved.numbers, other.numbers);
    }
}
