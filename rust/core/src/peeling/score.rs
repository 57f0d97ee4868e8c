//! How much an error speaks for a count that is too low, or too high.
//!
//! The score of an error is the logarithm of how much more often it would be `shift` higher: with
//! the density `g` of the errors, `log g(e - shift) / g(e)`, made monotone and rounded to levels.
//! Any score gives a valid test; this one makes it narrow.

use crate::{Result, memory};

/// Levels of the score.
pub(super) const LEVELS: usize = 128;
/// Bins of the density: their width in spreads, and how far they reach.
pub(super) const BIN: f64 = 0.05;
const REACH: f64 = 40.0;
pub(super) const BINS: usize = (2.0 * REACH / BIN) as usize;
/// Bandwidth of the kernel, in spreads, for one error.
const BANDWIDTH: f64 = 0.6;
/// Errors that are expected anywhere within [`REACH`], in addition to those found.
const ANYWHERE: f64 = 2.0;

/// The density of errors, in bins of their size.
#[derive(Debug, Clone)]
pub(super) struct Density {
    per_bin: Vec<f64>,
    spread: f64,
}

/// A level for each error.
#[derive(Debug, Clone)]
pub(super) struct Score {
    levels: Vec<u8>,
    scale: f64,
}

impl Density {
    /// The density of some errors.
    pub(super) fn of(errors: impl Iterator<Item = f64> + Clone, spread: f64) -> Result<Self> {
        let mut counted = memory::filled(0.0, BINS)?;
        let mut number = 0.0;
        for error in errors {
            counted[bin_of(error / spread)] += 1.0;
            number += 1.0;
        }
        let mut per_bin = smoothed(&counted, BANDWIDTH * f64::powf(number, -0.2) / BIN)?;
        let floor = ANYWHERE / BINS as f64;
        per_bin.iter_mut().for_each(|each| *each += floor);
        Ok(Self { per_bin, spread })
    }

    /// The spread of the errors.
    #[cfg(test)]
    pub(super) fn spread(&self) -> f64 {
        self.spread
    }

    /// The logarithm of the density in every bin. The outermost ones stand for all errors beyond,
    /// which are far from each other.
    pub(super) fn logs(&self) -> Result<Vec<f32>> {
        let rare = ANYWHERE / BINS as f64;
        let mut logs = memory::collected(self.per_bin.iter().map(|each| each.ln() as f32))?;
        (logs[0], logs[BINS - 1]) = (rare.ln() as f32, rare.ln() as f32);
        Ok(logs)
    }

    /// The score that tells errors from errors that are `shift` spreads higher.
    pub(super) fn score(&self, shift: f64) -> Result<Score> {
        let bins = (shift / BIN).round() as usize;
        let ratio = |at: usize| {
            let before = self.per_bin[at.saturating_sub(bins)];
            (before / self.per_bin[at]).ln()
        };
        let mut scores = memory::collected((0..BINS).map(ratio))?;
        make_monotone(&mut scores, &self.per_bin)?;
        let (least, most) = (scores[0], scores[BINS - 1]);
        let step = ((most - least) / (LEVELS - 1) as f64).max(f64::MIN_POSITIVE);
        let levels = scores
            .iter()
            .map(|score| ((score - least) / step).round() as u8);
        Ok(Score {
            levels: memory::collected(levels)?,
            scale: 1.0 / self.spread,
        })
    }
}

impl Score {
    /// The level of an error, from 0 to [`LEVELS`] - 1; it never falls when errors rise.
    #[inline]
    pub(super) fn level(&self, error: f64) -> usize {
        self.levels[bin_of(error * self.scale)].into()
    }

    /// The level of every bin.
    pub(super) fn levels(&self) -> &[u8] {
        &self.levels
    }
}

/// The bin of an error in spreads; the outermost take all beyond.
#[inline]
pub(super) fn bin_of(error: f64) -> usize {
    bin_at(error * (1.0 / BIN))
}

/// The bin of an error in widths of a bin.
#[inline]
pub(super) fn bin_at(error: f64) -> usize {
    // A cast of a float saturates.
    ((error + REACH / BIN) as usize).min(BINS - 1)
}

/// Counts spread by a Gaussian kernel with this deviation, in bins.
fn smoothed(counted: &[f64], deviation: f64) -> Result<Vec<f64>> {
    let reach = (4.0 * deviation).ceil() as usize;
    let weight = |distance: usize| (-0.5 * (distance as f64 / deviation).powi(2)).exp();
    let mut kernel = memory::collected((0..reach + 1).map(weight))?;
    let total = 2.0 * kernel.iter().sum::<f64>() - kernel[0];
    kernel.iter_mut().for_each(|each| *each /= total);
    let mut found = memory::filled(0.0, counted.len())?;
    for (at, &number) in counted
        .iter()
        .enumerate()
        .filter(|(_, number)| **number > 0.0)
    {
        for (distance, weight) in kernel.iter().enumerate() {
            found[(at + distance).min(counted.len() - 1)] += number * weight;
            if distance > 0 {
                found[at.saturating_sub(distance)] += number * weight;
            }
        }
    }
    Ok(found)
}

/// Replaces values by the nearest that do not fall (pool adjacent violators).
fn make_monotone(values: &mut [f64], weights: &[f64]) -> Result<()> {
    // Mean, weight and number of values of each pool.
    let mut pools: Vec<(f64, f64, usize)> = memory::room_for(values.len())?;
    for (&value, &weight) in values.iter().zip(weights) {
        let mut pool = (value, weight, 1);
        while let Some(&(mean, before, number)) = pools.last() {
            if mean <= pool.0 {
                break;
            }
            pools.pop();
            let total = before + pool.1;
            pool = (
                (mean * before + pool.0 * pool.1) / total,
                total,
                number + pool.2,
            );
        }
        pools.push(pool);
    }
    let mut at = 0;
    for (mean, _, number) in pools {
        values[at..at + number].fill(mean);
        at += number;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pools_are_the_nearest_values_that_do_not_fall() {
        let mut values = [1.0, 3.0, 2.0, 2.0, 5.0, 4.0];
        make_monotone(&mut values, &[1.0, 1.0, 1.0, 2.0, 1.0, 3.0]).unwrap();
        // (3 + 2 + 2 * 2) / 4 and (5 + 3 * 4) / 4.
        assert_eq!(values, [1.0, 2.25, 2.25, 2.25, 4.25, 4.25]);
    }

    #[test]
    fn a_density_has_the_mass_of_its_errors() {
        let errors = [-1e9, -3.0, 0.0, 0.0, 0.1, 12.0, 1e18, f64::INFINITY];
        let density = Density::of(errors.iter().copied(), 2.0).unwrap();
        let mass: f64 = density.per_bin.iter().sum();
        assert!((mass - (errors.len() as f64 + ANYWHERE)).abs() < 1e-9);
        assert!(density.per_bin.iter().all(|&each| each > 0.0));
    }

    #[test]
    fn levels_do_not_fall_and_use_the_whole_range() {
        let errors = (0..4000).map(|at| f64::from(at % 97) - 48.0);
        let score = Density::of(errors, 20.0).unwrap().score(2.8).unwrap();
        let levels: Vec<_> = (-2000..2000).map(|at| score.level(f64::from(at))).collect();
        assert!(levels.is_sorted());
        assert_eq!((levels[0], levels[levels.len() - 1]), (0, LEVELS - 1));
        assert_eq!(score.level(f64::NEG_INFINITY), 0);
        assert_eq!(score.level(f64::INFINITY), LEVELS - 1);
    }
}
