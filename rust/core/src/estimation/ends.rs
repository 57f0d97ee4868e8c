//! Ends of intervals: the counts that the tests of [`super::score`] reject.

use super::group::Group;
use super::model::{ErrorModel, Row};
use super::score::{Choices, End, Tests};

/// An estimate with an interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bounds {
    /// The joint estimate, or 0 if it is negative; within the interval.
    pub estimate: f64,
    /// Lower end, at least 0.
    pub low: f64,
    /// Upper end; infinite if the table gives no bound.
    pub high: f64,
}

/// What an interval is to cover.
#[derive(Debug, Clone, Copy)]
pub struct Cover {
    /// Probability of a miss at each end.
    pub level: f64,
    /// The normal quantile of this level.
    pub deviations: f64,
    /// True for the count at this step, false for that at the last pushes.
    pub now: bool,
    /// Largest weight of an event.
    pub max_weight: f64,
    /// Standard deviation of an item's rate since the last push, relative to its published rate.
    pub burstiness: f64,
}

/// Part of each end's probability for a test of an order statistic. It bounds the rare items of which
/// a row is far off, where the test of the likelihood may need that row.
const ORDER: f64 = 0.1;

/// Precision of an end, in spreads.
const PRECISION: f64 = 0.02;
/// Steps that look for a rejected count.
const EXPANSIONS: usize = 90;

impl ErrorModel {
    /// The tests of both ends, which [`Self::bounds`] uses for many items.
    pub fn tests(&self, level: f64) -> EndTests {
        let groups = &*self.groups;
        let choices = Choices::of(groups, self.depth());
        let of = |end| {
            let choices = choices.as_ref();
            let outlying = Tests::of(groups, choices, end, ORDER * level, Some(self.robust(end)));
            [
                Tests::of(groups, choices, end, (1.0 - ORDER) * level, None),
                outlying,
            ]
        };
        EndTests {
            level,
            low: of(End::Low),
            high: of(End::High),
            squares: groups.iter().map(Group::mean_square).collect(),
        }
    }

    /// The most rows that a test by their order may need, so that it rejects although one row has an
    /// error of any size, or half of them have collisions with much heavier items.
    fn robust(&self, end: End) -> usize {
        let depth = self.depth();
        let rows = match (self.facts.signed, end) {
            (true, _) => depth.div_ceil(2),
            // Collisions only make errors larger.
            (false, End::Low) => depth,
            (false, End::High) => depth / 2,
        };
        rows.max(1)
    }

    /// Estimate and interval of the item with these cells.
    pub fn bounds(&self, rows: &[Row], cover: Cover, tests: &mut EndTests) -> Bounds {
        let count = self.joint(rows);
        if rows.is_empty() {
            // Nothing is published: counts are bounded by the steps alone.
            let most = self.facts.step * cover.max_weight;
            let high = if cover.now { most } else { 0.0 };
            return Bounds {
                estimate: 0.0,
                low: 0.0,
                high,
            };
        }
        let published = Self::published(rows, count);
        let mut still = [rows[0]; 64];
        let still = &mut still[..rows.len()];
        for (to, from) in still.iter_mut().zip(rows) {
            *to = Row {
                share: 1.0,
                ..*from
            };
        }
        let (low, high) = self.ends(still, published, cover, tests);
        if !cover.now {
            // The estimate of an item is one number at every confidence: the interval contains it.
            let estimate = published.max(0.0);
            return Bounds {
                estimate,
                low: low.min(estimate),
                high: high.max(estimate),
            };
        }
        let (least, most) = self.ends(rows, count, cover, tests);
        let count = count.max(0.0);
        let own = (least.min(count), most.max(count));
        self.moved(rows, count, own, (low, high), cover)
    }

    /// The interval of the count at this step: the rate since the last pushes is uncertain.
    fn moved(
        &self,
        rows: &[Row],
        count: f64,
        (least, most): (f64, f64),
        (low, high): (f64, f64),
        cover: Cover,
    ) -> Bounds {
        let shares = rows.iter().map(|row| row.share);
        let waiting = 1.0 - shares.clone().sum::<f64>() / rows.len() as f64;
        let drift = |end: f64| {
            let arrivals = end.max(0.0) * waiting;
            cover.deviations * arrivals.sqrt().hypot(cover.burstiness * arrivals)
        };
        // Counts never fall, and a step adds at most the largest weight.
        let longest = 1.0 - shares.fold(f64::INFINITY, f64::min);
        let upper = high + longest * self.facts.step * cover.max_weight;
        let finite = if most.is_finite() { most } else { count };
        let above = (count + (most - count).hypot(drift(finite)))
            .min(upper)
            .max(high);
        let below = (count - (count - least).hypot(drift(least))).max(low);
        // A rate that is mostly noise can predict more than the steps since then can bring.
        let estimate = count.min(above);
        Bounds {
            estimate,
            low: below.min(estimate),
            high: above,
        }
    }

    /// Both ends of the counts that are not rejected, at least 0.
    fn ends(&self, rows: &[Row], near: f64, cover: Cover, tests: &mut EndTests) -> (f64, f64) {
        if !self.facts.collisions {
            let row = rows[0];
            let reach = cover.deviations * row.variance.sqrt();
            let end = |value: f64| (value / row.share).max(0.0);
            return (end(row.value - reach), end(row.value + reach));
        }
        let mut groups = [0; 64];
        let groups = &mut groups[..rows.len()];
        for (to, row) in groups.iter_mut().zip(rows) {
            *to = row.group;
        }
        groups.sort_unstable();
        let squares = &tests.squares;
        let end = |tests: &mut [Tests; 2], direction: f64| {
            let [likelihood, order] = tests.each_mut().map(|tests| {
                let least = tests.least(groups)?;
                Some(self.last_rejected(rows, near, tests, least, direction))
            });
            let share = if likelihood.is_some() { ORDER } else { 1.0 };
            let order = order.unwrap_or_else(|| {
                self.without_ranks(rows, share * cover.level, direction, squares)
            });
            likelihood.map_or(order, |end| {
                direction * (direction * end).min(direction * order)
            })
        };
        let (low, high) = (end(&mut tests.low, -1.0), end(&mut tests.high, 1.0));
        (low.max(0.0), high.max(low).max(0.0))
    }

    /// An end where no cell is rare enough for a test by ranks.
    fn without_ranks(&self, rows: &[Row], level: f64, direction: f64, squares: &[f64]) -> f64 {
        match self.facts.signed {
            true => chebyshev(rows, level, direction, squares),
            false if direction < 0.0 => 0.0,
            false => highest_by_noise(rows, level),
        }
    }

    /// The count that is nearest to `near`, in one direction, among those that are rejected.
    fn last_rejected(
        &self,
        rows: &[Row],
        near: f64,
        tests: &Tests,
        least: u32,
        direction: f64,
    ) -> f64 {
        let rejected = |count: f64| {
            let sum: u32 = rows
                .iter()
                .map(|row| {
                    let error = row.value - count * row.share;
                    tests.scores(row.group).score(error, row.stretch)
                })
                .sum();
            sum >= least
        };
        let spread = self.groups[rows[0].group].axis().spread;
        let (mut inside, mut stride) = (near, spread);
        // An estimate may itself be rejected: first go back to an accepted count.
        let mut outside = near;
        for _ in 0..EXPANSIONS {
            if !rejected(inside) {
                break;
            }
            outside = inside;
            inside -= direction * stride;
            stride *= 1.6;
        }
        if outside == near && !rejected(near) {
            stride = spread;
            outside = near + direction * stride;
            for _ in 0..EXPANSIONS {
                if rejected(outside) {
                    break;
                }
                if direction < 0.0 && outside < 0.0 {
                    return 0.0;
                }
                inside = outside;
                stride *= 1.6;
                outside += direction * stride;
            }
        }
        while (outside - inside).abs() > PRECISION * spread {
            let middle = f64::midpoint(inside, outside);
            if middle == inside || middle == outside {
                break;
            }
            if rejected(middle) {
                outside = middle;
            } else {
                inside = middle;
            }
        }
        outside
    }
}

/// A bound by the mean squares of the cells of groups, where no cell is rare enough.
fn chebyshev(rows: &[Row], level: f64, direction: f64, squares: &[f64]) -> f64 {
    let squares = rows
        .iter()
        .map(|row| squares[row.group] * row.stretch * row.stretch / (row.share * row.share));
    let needed = rows.len() / 2 + 1;
    let mut choices = 1.0;
    for at in 0..needed {
        choices *= (rows.len() - at) as f64 / (at + 1) as f64;
    }
    let reach = (squares.fold(0.0, f64::max) * (choices / level).powf(1.0 / needed as f64)).sqrt();
    let mut values: Vec<f64> = rows.iter().map(|row| row.value / row.share).collect();
    values.sort_unstable_by(f64::total_cmp);
    if direction < 0.0 {
        values[(rows.len() - 1) / 2] - reach
    } else {
        values[rows.len() / 2] + reach
    }
}

/// An upper end from the noise alone: collisions only increase a cell.
fn highest_by_noise(rows: &[Row], level: f64) -> f64 {
    let deviations = upper_normal(level / rows.len() as f64);
    rows.iter()
        .map(|row| (row.value + deviations * row.variance.sqrt()) / row.share)
        .fold(f64::INFINITY, f64::min)
}

/// A number that a standard normal variable exceeds with at most this probability: the tail is at
/// most exp(-x^2 / 2) / 2.
fn upper_normal(level: f64) -> f64 {
    (-2.0 * (2.0 * level).min(1.0).ln()).sqrt()
}

/// The tests of both ends: of the likelihood, and of an order statistic.
#[derive(Debug, Clone)]
pub struct EndTests {
    level: f64,
    low: [Tests; 2],
    high: [Tests; 2],
    /// The mean square of the errors of each group.
    squares: Vec<f64>,
}

impl EndTests {
    /// True if they have this level.
    pub fn have_level(&self, level: f64) -> bool {
        self.level == level
    }
}
