//! The mean of the joint likelihood of an item's rows.
//!
//! A row that was pushed at step t holds c t / n of the item's count c at this step n, at the item's
//! own rate, plus an error of its group. If every count is equally likely beforehand, the mean of c
//! under the product of the densities of these errors has the least mean squared error among all
//! translation-equivariant estimates. Source: E. Pitman 1939.

use super::model::{ErrorModel, Row};

/// Probability with which the error of the row statistic is outside the counts that are summed.
const BEYOND: f64 = 5e-4;
/// Counts that are summed at most.
const MOST: usize = 256;
/// Growth of their distances in the tails.
const GROWTH: f64 = 1.35;

/// Which estimate is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct How {
    /// The joint estimate; otherwise the paper's, which is given.
    pub joint: bool,
    /// The count at this step; otherwise that at the last pushes.
    pub now: bool,
}

/// Counts that are summed: `step` apart from `near` below the middle to `far` above it, and in tails
/// that end at `down` and `up`.
struct Range {
    step: f64,
    middle: f64,
    down: f64,
    up: f64,
    near: f64,
    far: f64,
}

impl ErrorModel {
    /// The estimated count of the item with these cells, of which the paper's estimate is known.
    pub fn estimate(&self, paper: f64, rows: &[Row], how: How) -> f64 {
        match how {
            How { joint: true, now } => {
                let count = self.joint(rows);
                if now {
                    count
                } else {
                    Self::published(rows, count)
                }
            }
            How { now: false, .. } => paper,
            How { now: true, .. } => {
                let shares = rows.iter().map(|row| row.share);
                let first = shares.clone().fold(f64::INFINITY, f64::min);
                let last = shares.fold(0.0, f64::max);
                if last == 0.0 {
                    return paper;
                }
                // The paper's statistic is of rows of several steps: its count is that in between.
                paper + paper.max(0.0) * (1.0 - f64::midpoint(first, last)) / last
            }
        }
    }

    /// The estimated count at this step of the item with these cells; 0 if none is published.
    pub fn joint(&self, rows: &[Row]) -> f64 {
        let Some(first) = rows.first() else {
            return 0.0;
        };
        if rows.len() == 1 || !self.facts.collisions {
            // A single row cannot tell a collision with a heavy item from a count: the mean
            // collision would be subtracted from every count.
            let middle = match self.facts.collisions {
                true => self.groups[first.group].quantile(0.5),
                false => 0.0,
            };
            return (first.value - middle) / first.share;
        }
        let (mut points, mut logs) = ([0.0; MOST], [0.0; MOST]);
        let counts = self.plausible(rows, &mut points);
        let logs = &mut logs[..counts.len()];
        self.likelihoods(rows, counts, logs);
        mean_of(counts, logs)
    }

    /// A count that [`Self::joint`] does not exceed, which takes much less work.
    pub fn joint_at_most(&self, rows: &[Row]) -> f64 {
        if rows.len() < 2 || !self.facts.collisions {
            return self.joint(rows);
        }
        let Range {
            step,
            middle,
            down,
            up,
            near,
            far,
        } = self.range(rows);
        // The last point is at most one stride beyond the end, and a stride has grown with all
        // before it. What follows the sum is for rounding.
        let tail = (up - far).max(0.0) * GROWTH + GROWTH * step;
        let sizes = middle.abs() + down + near + far + tail;
        middle + far + tail + 1e-9 * sizes
    }

    /// Adds the logarithms of the likelihoods of counts.
    fn likelihoods(&self, rows: &[Row], counts: &[f64], logs: &mut [f64]) {
        for row in rows {
            let density = self.groups[row.group].density();
            density.add_logs((row.value, row.share, row.stretch), counts, logs);
        }
    }

    /// The published count that goes with a count at this step, at the item's own rate.
    pub fn published(rows: &[Row], count: f64) -> f64 {
        let shares: f64 = rows.iter().map(|row| row.share).sum();
        count * shares / rows.len().max(1) as f64
    }

    /// Where counts are plausible.
    #[inline]
    fn range(&self, rows: &[Row]) -> Range {
        let depth = rows.len();
        let (mut least, mut most) = (f64::INFINITY, 0.0_f64);
        for row in rows {
            let spread = self.groups[row.group].axis().spread * row.stretch / row.share;
            (least, most) = (least.min(spread), most.max(spread));
        }
        let step = (least / (depth as f64).sqrt()).max(8.5 * most / 150.0);
        let (middle, down, up) = if self.facts.signed {
            let reach = self.reach(rows, most);
            let (middle, lowest, highest) = middle_of(rows);
            // Counts beyond all rows would need errors in one direction in all of them.
            let margin = 8.0 * most;
            let down = (middle - lowest + margin).min(reach);
            (middle, down, (highest - middle + margin).min(reach))
        } else {
            let from_centre =
                |row: &Row| (row.value - self.groups[row.group].axis().centre) / row.share;
            let lowest = rows.iter().map(from_centre).fold(f64::INFINITY, f64::min);
            let reach = self.reach(rows, most);
            (lowest, reach, 12.0 * most)
        };
        let near = if self.facts.signed { 4.0 } else { 3.5 } * most;
        let far = if self.facts.signed { 4.0 } else { 5.0 } * most;
        Range {
            step,
            middle,
            down,
            up,
            near,
            far,
        }
    }

    /// Counts that cover the likelihood, in ascending order.
    fn plausible<'a>(&self, rows: &[Row], points: &'a mut [f64; MOST]) -> &'a [f64] {
        let Range {
            step,
            middle,
            down,
            up,
            near,
            far,
        } = self.range(rows);
        let mut end = 0;
        let mut push = |points: &mut [f64; MOST], point| {
            if end < MOST {
                points[end] = point;
                end += 1;
            }
        };
        let (mut distance, mut stride) = (near, step);
        while distance < down && distance < 1e18 {
            stride *= GROWTH;
            distance += stride;
            push(points, middle - distance);
        }
        let dense = ((near + far) / step) as usize;
        for at in 0..=dense {
            push(points, middle - near + at as f64 * step);
        }
        (distance, stride) = (far, step);
        while distance < up && distance < 1e18 {
            stride *= GROWTH;
            distance += stride;
            push(points, middle + distance);
        }
        // The lower tail was listed outward.
        let tail = points[..end]
            .iter()
            .take_while(|&&point| point < middle - near)
            .count();
        points[..tail].reverse();
        &points[..end]
    }

    /// The largest error, from the centre, that a row exceeds with [`Self::tail_of_one_row`].
    fn reach(&self, rows: &[Row], most: f64) -> f64 {
        let mut reach = 0.0_f64;
        let fewer = (rows.len() < self.facts.depth).then(|| self.tail_of_one_row(rows.len()));
        for row in rows {
            let group = &self.groups[row.group];
            // Rows that are not published yet leave the others with a rarer tail.
            let beyond = fewer.map_or(group.reach, |tail| group.beyond(tail));
            reach = reach.max(beyond * row.stretch / row.share);
        }
        reach + most
    }

    /// The tail of one row for which the row statistic of this number of rows is beyond with [`BEYOND`].
    pub(super) fn tail_of_one_row(&self, rows: usize) -> f64 {
        if self.facts.signed {
            tail_of_middle(rows)
        } else {
            BEYOND.powf(1.0 / rows as f64)
        }
    }
}

/// The mean of points in order, whose distances differ, under weights given by their logarithms.
fn mean_of(points: &[f64], logs: &[f64]) -> f64 {
    let largest = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let middle = points[points.len() / 2];
    let (mut sum, mut total) = (0.0, 0.0);
    for (at, &log) in logs.iter().enumerate() {
        if log < largest - 25.0 {
            continue;
        }
        let after = points[(at + 1).min(points.len() - 1)];
        let weight = exp(log - largest) * (after - points[at.saturating_sub(1)]);
        sum += weight * (points[at] - middle);
        total += weight;
    }
    // Counts near 2^62 are 512 apart: all points may be one.
    if total > 0.0 {
        middle + sum / total
    } else {
        middle
    }
}

/// The exponential function of a number from -700 to 0, to a relative 2e-7: powers of two, and a
/// Taylor polynomial of the rest, which is at most half of ln 2.
#[inline]
fn exp(power: f64) -> f64 {
    // Adding and subtracting 1.5 * 2^52 rounds to an integer.
    const ROUND: f64 = 6_755_399_441_055_744.0;
    let doublings = power * std::f64::consts::LOG2_E + ROUND - ROUND;
    let rest = power - doublings * std::f64::consts::LN_2;
    let mut sum = 1.0;
    for term in [1.0 / 6.0, 1.0 / 5.0, 1.0 / 4.0, 1.0 / 3.0, 1.0 / 2.0, 1.0] {
        sum = 1.0 + sum * rest * term;
    }
    sum * f64::from_bits(((doublings as i64 + 1023) as u64) << 52)
}

/// The tail of one row for which the middle row is beyond with [`BEYOND`], by the union bound.
fn tail_of_middle(depth: usize) -> f64 {
    let needed = depth.div_ceil(2);
    let mut choices = 1.0;
    for at in 0..needed {
        choices *= (depth - at) as f64 / (at + 1) as f64;
    }
    (BEYOND / choices).powf(1.0 / needed as f64)
}

/// The middle of the rows, or the mean of the two middle ones, the lowest and the highest.
fn middle_of(rows: &[Row]) -> (f64, f64, f64) {
    let mut values = [0.0; 64];
    let values = &mut values[..rows.len()];
    for (value, row) in values.iter_mut().zip(rows) {
        *value = row.value / row.share;
    }
    values.sort_unstable_by(f64::total_cmp);
    let middle = f64::midpoint(values[rows.len() / 2], values[(rows.len() - 1) / 2]);
    (middle, values[0], values[rows.len() - 1])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exponential_is_that_of_the_standard_library() {
        for step in 0..=7_000 {
            let power = -f64::from(step) / 10.0;
            let (found, known) = (exp(power), power.exp());
            assert!((found / known - 1.0).abs() < 2e-7, "{power}");
        }
    }
}
