//! Tests of "the count is c" with a chosen power: scores of errors, and their critical sum.
//!
//! If the count is c, the errors of the item's rows are those of one random cell per row. If the
//! count is larger by a shift, they are larger by it. The best test between the two (Neyman and
//! Pearson 1933) sums the logarithms of the ratios of the densities. Here the sums are made
//! monotone in c and rounded to integers, so their distribution over *all* choices of one cell per
//! row follows by convolution. The densities decide only how powerful a test is; its level comes
//! from the ranks of the cells, and one cell more with the largest score (Vovk, Gammerman and
//! Shafer 2005, Proposition 2.4).

use super::axis::{Axis, BINS, bins_of_shifted, shifted_middles};
use super::group::Group;
use super::sums::{critical, tail_of_rows};

/// Integer scores: 0 to this.
const MOST: usize = 159;
/// Logarithms of ratios outside these bounds count as the bound.
const LEAST_LOG: f64 = -12.0;
const MOST_LOG: f64 = 24.0;
/// Shifts for which a test may be the best: from this number of spreads on, each larger by
/// [`FACTOR`].
const FIRST_SHIFT: f64 = 0.7;
const FACTOR: f64 = std::f64::consts::SQRT_2;
const SHIFTS: u32 = 32;
/// Larger shifts are not tried after one that needs this multiple of the best distance.
const WORSE: f64 = 1.2;
/// Choices of one cell per row that stand for all of them when powers are compared.
const CHOICES: usize = 160;
/// Relative precision of the shifts that are compared.
const PRECISION: f64 = 0.02;
/// Tests of likelihoods are compared at this part of the level: the cells of other groups may have
/// somewhat more errors with one score, and the sum that the best test needs should be rare there, too.
const SLACK: f64 = 0.7;
/// Parts of the choices of cells by which tests are compared, in ascending order, with their weights.
const POWERS: [(f64, f64); 2] = [(0.5, 0.8), (0.9, 0.2)];

/// Which end of an interval a test gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// Counts that are too small: errors that are too large.
    Low,
    /// Counts that are too large: errors that are too small.
    High,
}

/// Scores of the errors of a group.
#[derive(Debug, Clone)]
pub(super) struct Scores {
    axis: Axis,
    of_bin: Vec<u8>,
    /// Probability of every score.
    law: Vec<f64>,
}

/// Monotone logarithms of the ratios of densities, for every bin of a group's axis.
fn ratios(group: &Group, end: End, shift: f64) -> Vec<f64> {
    let (axis, density, counts) = (group.axis(), group.density(), group.counts());
    let shift = match end {
        End::Low => -shift,
        End::High => shift,
    };
    let mut others = [0.0; BINS];
    shifted_middles(axis, shift, &mut others);
    let each = density.logs().iter().zip(others);
    let ratio = each.map(|(log, other)| (density.log_at(other) - log).clamp(LEAST_LOG, MOST_LOG));
    let mut logs: Vec<f64> = ratio.collect();
    let weight = |bin: usize| f64::from(counts[bin]) + 0.01;
    if end == End::Low {
        return isotonic(&logs, weight);
    }
    logs.reverse();
    let mut increasing = isotonic(&logs, |at| weight(BINS - 1 - at));
    increasing.reverse();
    increasing
}

/// What errors are scored by.
#[derive(Debug, Clone, Copy)]
enum Test {
    /// The likelihood if they are shifted outward by this, in counts.
    Shift(f64),
    /// Whether they are among this share of the outermost ones: a test of an order statistic.
    Beyond(f64),
}

impl Test {
    fn scores(self, groups: &[&Group], end: End) -> Vec<Scores> {
        match self {
            Self::Shift(shift) => Scores::of(groups, end, shift),
            Self::Beyond(share) => {
                let each = groups.iter();
                each.map(|group| Scores::beyond(group, end, share))
                    .collect()
            }
        }
    }
}

impl Scores {
    /// Scores of 1 for the outermost errors, of a share at most this; else 0.
    fn beyond(group: &Group, end: End, share: f64) -> Self {
        let mut of_bin = vec![0; BINS];
        let most = share * (group.sample() as f64 + 1.0) - 1.0;
        let mut found = 0.0;
        for at in 0..BINS {
            let bin = if end == End::Low { BINS - 1 - at } else { at };
            found += f64::from(group.counts()[bin]);
            if found > most {
                break;
            }
            of_bin[bin] = 1;
        }
        Self::with_law(group, of_bin)
    }

    /// Integer scores of groups on one scale, so that sums over their rows make sense.
    fn of(groups: &[&Group], end: End, shift: f64) -> Vec<Self> {
        let all: Vec<_> = groups
            .iter()
            .map(|group| ratios(group, end, shift))
            .collect();
        let logs = all.iter().flatten().copied();
        let least = logs.clone().fold(f64::INFINITY, f64::min);
        let unit = (logs.fold(f64::NEG_INFINITY, f64::max) - least).max(1e-9) / MOST as f64;
        let each = groups.iter().zip(&all);
        each.map(|(group, logs)| Self::scaled(group, logs, least, unit))
            .collect()
    }

    fn scaled(group: &Group, logs: &[f64], least: f64, unit: f64) -> Self {
        let score = |&log: &f64| ((log - least) / unit).round() as u8;
        Self::with_law(group, logs.iter().map(score).collect())
    }

    fn with_law(group: &Group, of_bin: Vec<u8>) -> Self {
        let share = 1.0 / (group.sample() as f64 + 1.0);
        let mut law = vec![0.0; MOST + 1];
        for (&score, &count) in of_bin.iter().zip(group.counts()) {
            law[score as usize] += f64::from(count) * share;
        }
        let largest = of_bin.iter().copied().max().unwrap_or(0);
        law[largest as usize] += share;
        Self {
            axis: group.axis(),
            of_bin,
            law,
        }
    }

    /// The score of an error that is wider than those of the group by `stretch`.
    #[inline]
    pub(super) fn score(&self, error: f64, stretch: f64) -> u32 {
        let error = self.axis.centre + (error - self.axis.centre) / stretch;
        u32::from(self.of_bin[self.axis.bin(error)])
    }
}

/// A test at one level, for one choice of the rows' groups.
#[derive(Debug, Clone)]
pub(super) struct Critical {
    /// Groups of the rows, in order.
    groups: Vec<usize>,
    /// Least sum that rejects; `None` if no sum is rare enough.
    least: Option<u32>,
}

/// The tests of one end at one level, for all choices of groups that occurred.
#[derive(Debug, Clone)]
pub(super) struct Tests {
    level: f64,
    scores: Vec<Scores>,
    known: Vec<Critical>,
}

impl Tests {
    /// Tests of this level that reject soonest, among those of likelihoods and of order statistics;
    /// with `robust`, only among those of order statistics that need at most that number of rows.
    pub(super) fn of(
        groups: &[Group],
        choices: Option<&Choices<'_>>,
        end: End,
        level: f64,
        robust: Option<usize>,
    ) -> Self {
        let mut best: Option<(f64, Test)> = None;
        if let Some(choices) = choices {
            let (group, depth) = (choices.group, choices.depth);
            let consider = |test: Test, level: f64, best: &mut Option<(f64, Test)>| {
                let scores = &test.scores(&[group], end)[0];
                let laws: Vec<&[f64]> = vec![&scores.law; depth];
                let Some(least) = critical(&laws, level) else {
                    return true;
                };
                let power = distance(&choices.errors, scores, end, least, depth);
                let known = best.as_ref().map_or(f64::INFINITY, |(known, _)| *known);
                if power < known {
                    *best = Some((power, test));
                }
                power <= WORSE * known
            };
            let shifts = if robust.is_none() { SHIFTS } else { 0 };
            for number in 0..shifts {
                let spreads = FIRST_SHIFT * FACTOR.powi(number as i32);
                if !consider(
                    Test::Shift(spreads * group.axis().spread),
                    SLACK * level,
                    &mut best,
                ) {
                    break;
                }
            }
            for rows in 1..=robust.unwrap_or(depth) {
                consider(
                    Test::Beyond(tail_of_rows(depth, rows, level)),
                    level,
                    &mut best,
                );
            }
        }
        let best = best.map_or(Test::Beyond(0.0), |(_, test)| test);
        Self {
            level,
            scores: best.scores(&groups.iter().collect::<Vec<_>>(), end),
            known: Vec::new(),
        }
    }

    /// The scores of a group.
    #[inline]
    pub(super) fn scores(&self, group: usize) -> &Scores {
        &self.scores[group]
    }

    /// The least sum that rejects, for rows in these groups, in ascending order.
    pub(super) fn least(&mut self, groups: &[usize]) -> Option<u32> {
        if let Some(known) = self.known.iter().find(|known| known.groups == groups) {
            return known.least;
        }
        let laws: Vec<&[f64]> = groups.iter().map(|&at| &*self.scores[at].law).collect();
        let least = critical(&laws, self.level);
        self.known.push(Critical {
            groups: groups.to_vec(),
            least,
        });
        least
    }
}

/// What tests are chosen by: the largest group, and the errors of some choices of one of its cells per
/// row, one after the other, which stand for all choices.
#[derive(Debug)]
pub(super) struct Choices<'a> {
    group: &'a Group,
    errors: Vec<f64>,
    depth: usize,
}

impl<'a> Choices<'a> {
    /// Those of groups; `None` without any.
    pub(super) fn of(groups: &'a [Group], depth: usize) -> Option<Self> {
        let group = groups.iter().max_by_key(|group| group.sample())?;
        // Quantiles in a fixed order that looks random: the powers of a generator modulo a prime.
        let mut state = 1_u64;
        let each = (0..CHOICES * depth).map(|_| {
            state = state * 16_807 % 2_147_483_647;
            group.quantile(state as f64 / 2_147_483_647.0)
        });
        Some(Self {
            group,
            errors: each.collect(),
            depth,
        })
    }
}

/// The mean of the shifts at which these parts of the choices of cells are rejected; infinite if
/// there are none. The larger part stands for the widest intervals.
fn distance(choices: &[f64], scores: &Scores, end: End, least: u32, depth: usize) -> f64 {
    let mut bins = vec![0; choices.len()];
    let mut reached = |shift: f64, power: f64| {
        let shift = if end == End::Low { shift } else { -shift };
        bins_of_shifted(scores.axis, choices, shift, &mut bins);
        let sum = |bins: &[u16]| -> u32 {
            let each = bins.iter().map(|&bin| scores.of_bin[usize::from(bin)]);
            each.map(u32::from).sum()
        };
        let rejected = bins.chunks_exact(depth).filter(|bins| sum(bins) >= least);
        rejected.count() >= (power * CHOICES as f64) as usize
    };
    let (mut distance, mut low, mut high) = (0.0, 0.0, scores.axis.spread);
    for (power, weight) in POWERS {
        while !reached(high, power) {
            (low, high) = (high, 2.0 * high);
            if high > 1e15 * scores.axis.spread {
                return f64::INFINITY;
            }
        }
        // At low confidence a shift of nothing is rejected; twice nothing would never be more.
        while high - low > PRECISION * high && high > PRECISION * scores.axis.spread {
            let middle = f64::midpoint(low, high);
            (low, high) = if reached(middle, power) {
                (low, middle)
            } else {
                (middle, high)
            };
        }
        distance += weight * high;
    }
    distance
}

/// The increasing sequence that is nearest in weighted squares (pool adjacent violators).
fn isotonic(values: &[f64], weight: impl Fn(usize) -> f64) -> Vec<f64> {
    let mut pools: Vec<(f64, f64, usize)> = Vec::with_capacity(values.len());
    for (at, &value) in values.iter().enumerate() {
        let mut pool = (value, weight(at), 1);
        while let Some(&(before, mass, length)) = pools.last() {
            if before <= pool.0 {
                break;
            }
            let total = mass + pool.1;
            pool = (
                (before * mass + pool.0 * pool.1) / total,
                total,
                length + pool.2,
            );
            pools.pop();
        }
        pools.push(pool);
    }
    let spread = |&(value, _, length): &(f64, f64, usize)| std::iter::repeat_n(value, length);
    pools.iter().flat_map(spread).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn isotonic_sequences_pool_violators() {
        let found = isotonic(&[1.0, 3.0, 2.0, 4.0, 0.0], |_| 1.0);
        assert_eq!(found, [1.0, 2.25, 2.25, 2.25, 2.25]);
        assert_eq!(isotonic(&[1.0, 2.0, 2.5], |_| 1.0), [1.0, 2.0, 2.5]);
    }
}
