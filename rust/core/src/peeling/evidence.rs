//! How much better the cells of a name agree with some count than with none.
//!
//! The logarithm of a ratio of likelihoods, with the density of the errors that are left. A density
//! that is wrong takes out too few names or too many; it cannot make an interval invalid.

use super::cells::Cell;
use super::score::{BIN, Density, bin_at};
use crate::{Result, memory};

/// Smallest count that a name is taken out for, in spreads.
const LEAST: f64 = 1.0;
/// How far the sum of the largest gains of single values may fall short of what rounding makes of it.
const ROUNDED: f32 = 0.02;
/// Errors from which the density is made, at most about this many, evenly from the table.
const SAMPLE: usize = 1 << 15;
/// Rows up to which little room is cleared for their values.
const FEW: usize = 8;
/// Values of at least this size, in spreads, are needed in most rows before a name of a long list is
/// looked at.
const PROMISING: f64 = 2.0;

/// The density of the errors, as logarithms.
#[derive(Debug, Clone)]
pub(super) struct Evidence {
    logs: Vec<f32>,
    /// By the bin of a value: how much better it agrees with its own best count than with none.
    gains: Vec<f32>,
    /// Bins of the density per count.
    per_bin: f64,
    signed: bool,
}

impl Evidence {
    /// With the errors of a table, which have this spread.
    pub(super) fn of(errors: &[f64], spread: f64, signed: bool) -> Result<Self> {
        // An odd distance meets all columns of a width that is a power of two.
        let sample = errors.iter().step_by((errors.len() / SAMPLE) | 1);
        let density = if signed {
            let both = sample.flat_map(|&error| [error, -error]);
            Density::of(both, spread)?
        } else {
            Density::of(sample.copied(), spread)?
        };
        let logs = density.logs()?;
        Ok(Self {
            gains: gains_of(&logs)?,
            logs,
            per_bin: 1.0 / (spread * BIN),
            signed,
        })
    }

    /// Whether a name of a long list may have evidence: most of its cells are large.
    #[inline]
    pub(super) fn is_promising(&self, own: &[Cell], errors: &[f64]) -> bool {
        self.large(own, errors, PROMISING) >= self.needed(own.len())
    }

    /// Whether it may have evidence when other names are taken out: the errors spread less then, and
    /// with signs a name may be hidden in one more of its cells.
    #[inline]
    pub(super) fn is_plausible(&self, own: &[Cell], errors: &[f64]) -> bool {
        let hidden = usize::from(self.signed);
        self.large(own, errors, PROMISING / 2.0) + hidden >= self.needed(own.len())
    }

    /// How many of these cells are larger than a number of spreads.
    #[inline]
    fn large(&self, own: &[Cell], errors: &[f64], spreads: f64) -> usize {
        let least = spreads / (BIN * self.per_bin);
        let large = |cell: &&Cell| errors[cell.at as usize] * f64::from(cell.sign) > least;
        own.iter().filter(large).count()
    }

    /// How many have to be large. One may be off: by a name that was taken out too much, or, with
    /// signs, by any other.
    fn needed(&self, rows: usize) -> usize {
        match (self.signed, rows) {
            (_, 1 | 2) => rows,
            (true, _) => rows / 2 + 1,
            (false, _) => rows - 1,
        }
    }

    /// Whether [`Self::strength`] may be above 0: most cells, of which nothing was taken out, agree
    /// best with none, each on its own.
    #[inline]
    pub(super) fn may_be_strong(&self, own: &[Cell], errors: &[f64]) -> bool {
        let gains = own.iter().map(|cell| {
            self.gains[bin_at(errors[cell.at as usize] * f64::from(cell.sign) * self.per_bin)]
        });
        gains.sum::<f32>() > -ROUNDED
    }

    /// How much better these cells, of which `count` was taken out, agree with some count of at least
    /// [`LEAST`] spreads than with none.
    pub(super) fn strength(&self, own: &[Cell], errors: &[f64], count: f64) -> f32 {
        let (mut few, mut many);
        let values = if own.len() <= FEW {
            few = [0.0; FEW];
            &mut few[..own.len()]
        } else {
            many = [0.0; 64];
            &mut many[..own.len()]
        };
        for (value, cell) in values.iter_mut().zip(own) {
            *value = (errors[cell.at as usize] * f64::from(cell.sign) + count) * self.per_bin;
        }
        put_in_order(values);
        let values = &*values;
        let likelihood = |count: f64| -> f32 {
            let logs = values.iter().map(|value| self.log(value - count));
            logs.sum()
        };
        // The density is highest at 0: counts that put a row there, or two, are the likely ones.
        let middles = values
            .windows(2)
            .map(|pair| f64::midpoint(pair[0], pair[1]));
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let counts = values.iter().copied().chain(middles).chain([mean]);
        let best = counts
            .filter(|&count| count >= LEAST / BIN)
            .map(likelihood)
            .fold(f32::NEG_INFINITY, f32::max);
        best - likelihood(0.0)
    }

    /// The logarithm of the density of an error in widths of a bin.
    #[inline]
    fn log(&self, error: f64) -> f32 {
        self.logs[bin_at(error)]
    }
}

/// Puts values in order: few, so that each is moved to its place among those before it.
#[inline]
fn put_in_order(values: &mut [f64]) {
    for end in 1..values.len() {
        let mut at = end;
        while at > 0 && values[at - 1] > values[at] {
            values.swap(at - 1, at);
            at -= 1;
        }
    }
}

/// The most that a count of at least [`LEAST`] can add to the logarithm of a value, by its bin.
fn gains_of(logs: &[f32]) -> Result<Vec<f32>> {
    // One bin less, because both ends are rounded.
    let away = (LEAST / BIN) as usize - 1;
    let (last, mut best) = (logs.len() - 1, logs[0]);
    let mut gains = memory::room_for(logs.len())?;
    for (bin, log) in logs.iter().enumerate() {
        best = best.max(logs[bin.saturating_sub(away)]);
        gains.push(best - log);
    }
    // All values beyond the last bin are in it, and so are most of their differences.
    gains[last] = logs.iter().copied().fold(best, f32::max) - logs[last];
    Ok(gains)
}

/// Decides again whether a name is taken out of a table that differs in a few cells.
#[derive(Debug, Clone)]
pub(super) struct Rule {
    pub(super) evidence: Evidence,
    pub(super) least: f32,
}

impl Rule {
    /// Whether to take out a name of which `count` is out of the errors.
    #[inline]
    pub(super) fn takes(&self, own: &[Cell], errors: &[f64], count: f64) -> bool {
        self.evidence.strength(own, errors, count) >= self.least
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strength(signed: bool, values: &[f64]) -> f32 {
        // Errors of a few counts, and some collisions.
        let errors = (0..4000).map(|at| match at % 50 {
            0 => 400.0,
            other => f64::from(other * 7 % 21) - 10.0,
        });
        let errors: Vec<f64> = errors.collect();
        let evidence = Evidence::of(&errors, 6.0, signed).unwrap();
        let cells = (0..values.len() as u32).map(|at| Cell { at, sign: 1.0 });
        evidence.strength(&cells.collect::<Vec<_>>(), values, 0.0)
    }

    #[test]
    fn cells_that_agree_are_evidence() {
        for signed in [false, true] {
            let all = strength(signed, &[60.0, 66.0, 58.0, 61.0]);
            let most = strength(signed, &[60.0, 66.0, 300.0, 61.0]);
            let two = strength(signed, &[60.0, 66.0, 300.0, 450.0]);
            assert!(all > most && most > two && two > 4.0, "{all} {most} {two}");
            assert!(strength(signed, &[2.0, -5.0, 3.0, 300.0]) < 1.0);
            assert!(strength(signed, &[-60.0, -66.0, -58.0, -61.0]) < 0.0);
        }
    }

    #[test]
    fn what_was_taken_out_counts() {
        let errors: Vec<f64> = (0..4000).map(|at| f64::from(at * 7 % 21) - 10.0).collect();
        let evidence = Evidence::of(&errors, 6.0, false).unwrap();
        let own = [0, 1, 2].map(|at| Cell { at, sign: 1.0 });
        let mut before = errors.clone();
        own.iter().for_each(|cell| before[cell.at as usize] += 80.0);
        let (taken, left) = (
            evidence.strength(&own, &errors, 80.0),
            evidence.strength(&own, &before, 0.0),
        );
        assert_eq!(taken, left);
    }

    #[test]
    fn what_is_not_looked_at_has_no_strength() {
        let mut state = 1_u64;
        let mut draw = |end: u64| {
            state = super::super::cells::mixed(state);
            state % end
        };
        for signed in [false, true] {
            let heavy = |error: u64| if error.is_multiple_of(31) { 900.0 } else { 0.0 };
            let errors = (0..6_000).map(|_| draw(40) as f64 - 20.0 + heavy(draw(93)));
            let errors: Vec<f64> = errors.collect();
            let evidence = Evidence::of(&errors, 9.0, signed).unwrap();
            let mut passed_over = 0;
            for _ in 0..20_000 {
                let own = [0, 1, 2, 3].map(|_| Cell {
                    at: draw(6_000) as u32,
                    sign: if signed && draw(2) == 1 { -1.0 } else { 1.0 },
                });
                if !evidence.may_be_strong(&own, &errors) {
                    passed_over += 1;
                    assert!(evidence.strength(&own, &errors, 0.0) <= 0.0);
                }
            }
            assert!(passed_over > 5_000, "{passed_over}");
        }
    }
}
