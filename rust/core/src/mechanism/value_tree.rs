//! A tree over bins of values: sums of bins that add up to prefixes and ranges with little noise.
//!
//! The prefix sums of the counts of n = 2^k bins are to values what prefix sums over pushes are to
//! time. So the rows of the [tree mechanism](super::tree) make integer *node sums* U P of them, one for
//! each bin, and each node sum is one counter under continual observation. Prefixes are the solution
//! of U P = released sums: post-processing, so floats may compute it.
//!
//! An event moves the node sums by U 1(t >= b), b its bin; one that replaces it by
//! U (1(t >= a) - 1(t >= b)). Both norms are recomputed here from the rows, in exact integers, so a bad
//! table costs accuracy, never privacy (docs/theory.md, Theorem 24).
//!
//! The optimised rows are those of time, at a quarter of their scale. Suffix sums of a row are what an
//! event adds to a node; they are rounded, not the entries, so that those that are 0 stay 0. The error
//! is the same within 2 %, and a quarter of the nodes change: noise of 4 bits fewer in a quarter of
//! the draws. Haar rows have a quarter more noise, but so small numbers that floats cost nothing.

use super::tree::rows::StrategyRows;
use super::tree::solve::{ancestor_time, node_at, sensitivity};
use super::tree::tables::{Target, table_for};
use crate::{Error, Result};
use std::sync::OnceLock;

/// Fewest bins, as a power of two.
const SHALLOWEST: u32 = 2;
/// Most bins, as a power of two.
const DEEPEST: u32 = 14;
/// Entries of the optimised rows are divided by this.
const SCALE: i64 = 4;

/// The rows of a tree over values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueRows {
    /// Those of the tree mechanism, optimised for the largest variance.
    Tree,
    /// Haar rows.
    Haar,
}

impl ValueRows {
    /// Both, the one with less noise first.
    pub const ALL: [Self; 2] = [Self::Tree, Self::Haar];

    /// The name in the public interface.
    pub fn name(self) -> &'static str {
        match self {
            Self::Tree => "tree",
            Self::Haar => "haar",
        }
    }
}

/// Fewest bins of a tree.
pub const FEWEST_BINS: u32 = 1 << SHALLOWEST;
/// Most bins of a tree.
pub const MOST_BINS: u32 = 1 << DEEPEST;

/// A tree over a number of bins.
#[derive(Debug)]
pub struct ValueTree {
    rows: StrategyRows,
    sensitivity2: u64,
    nodes_per_value: u64,
    largest_change: u64,
    replaced2: OnceLock<u64>,
}

type Loaded = [[OnceLock<Option<ValueTree>>; 1 + DEEPEST as usize]; 2];

static LOADED: Loaded = [const { [const { OnceLock::new() }; 1 + DEEPEST as usize] }; 2];

impl ValueTree {
    /// The tree over `bins` bins, a power of two.
    pub fn of(rows: ValueRows, bins: u32) -> Result<&'static Self> {
        let refused = || {
            let expected = format!("a power of two from {FEWEST_BINS} to {MOST_BINS} bins");
            Error::parameter("width", expected, bins)
        };
        if !bins.is_power_of_two() || !(FEWEST_BINS..=MOST_BINS).contains(&bins) {
            return Err(refused());
        }
        let depth = bins.ilog2();
        let entries = || match rows {
            ValueRows::Tree => optimised(depth),
            ValueRows::Haar => Some(haar(depth)),
        };
        LOADED[rows as usize][depth as usize]
            .get_or_init(|| Self::examined(StrategyRows::of_entries(depth, entries()?)))
            .as_ref()
            .ok_or_else(refused)
    }

    /// A tree whose rows are invertible; `None` for others.
    fn examined(rows: StrategyRows) -> Option<Self> {
        let (sensitivity2, nodes_per_value) = sensitivity(&rows)?;
        let k = rows.depth();
        let of_node = |(d, v)| suffix_sums(k, (d, v), rows.row(d, v)).into_iter();
        let sums = nodes(k).flat_map(of_node);
        let largest_change = sums.map(|(_, sum)| sum.unsigned_abs()).max()?;
        Some(Self {
            rows,
            sensitivity2,
            nodes_per_value,
            largest_change,
            replaced2: OnceLock::new(),
        })
    }

    fn depth(&self) -> u32 {
        self.rows.depth()
    }

    fn bins(&self) -> usize {
        1 << self.depth()
    }

    /// The rows, depth by depth, for independent checks.
    pub fn entries(&self) -> &[i16] {
        self.rows.entries()
    }

    /// Largest squared norm of the change of all node sums by one event.
    pub fn sensitivity2(&self) -> u64 {
        self.sensitivity2
    }

    /// Largest squared norm of their change where an event takes the place of another, or of none.
    pub fn replaced2(&self) -> u64 {
        *self.replaced2.get_or_init(|| {
            planted!(
                "values-without-the-substitute",
                self.sensitivity2,
                self.largest_replacement()
            )
        })
    }

    /// Most node sums that one event changes.
    pub fn nodes_per_value(&self) -> u64 {
        self.nodes_per_value
    }

    /// Most that one event changes a node sum by: none exceeds this times the number of events.
    pub fn largest_change(&self) -> u64 {
        self.largest_change
    }

    /// max over bins a < b of ||U 1(a <= t < b)||^2, b one past the last included.
    ///
    /// Let u be the topmost node with a <= t_u < b. Only nodes of its subtree have an entry at a time
    /// from a to before b. u itself has its own; one on its left those from a to t_u, whatever b is;
    /// one on its right those from t_u on to before b, whatever a is. So both halves are maximised
    /// apart, in k steps for each node and each of its ancestors.
    fn largest_replacement(&self) -> u64 {
        let inner = nodes(self.depth()).filter(|&(d, _)| d > 0);
        let largest = inner.map(|node| self.largest_parted_by(node)).max();
        largest.unwrap_or(0).max(self.sensitivity2)
    }

    /// The largest squared change of a replacement that a node u = (d, v) is the topmost to part.
    fn largest_parted_by(&self, (d, v): (u32, u64)) -> u64 {
        let k = self.depth();
        let (time, half) = (ancestor_time(k, d, v, d), 1_u64 << (k - d));
        let (mut left, mut right) = (vec![0_i64; half as usize + 1], vec![0; half as usize + 1]);
        for deeper in d + 1..=k {
            let each = 1_u64 << (deeper - d - 1);
            for of_node in 2 * v * each..(2 * v + 2) * each {
                let is_left = of_node < (2 * v + 1) * each;
                let row = self.rows.row(deeper, of_node);
                let (differences, start) = match is_left {
                    true => (&mut left, time - half),
                    false => (&mut right, time),
                };
                // Times of the half, from the first to the last; then from u's on, or up to it.
                let mut entries: Vec<(u64, i64)> = (d + 1..=deeper)
                    .map(|i| {
                        (
                            ancestor_time(k, deeper, of_node, i) - start,
                            i64::from(row[i as usize]),
                        )
                    })
                    .collect();
                entries.sort_unstable();
                let mut sum = i64::from(row[d as usize]);
                if is_left {
                    sum += entries.iter().map(|(_, entry)| entry).sum::<i64>();
                }
                let mut from = 0;
                for (at, entry) in entries {
                    differences[from] += sum * sum;
                    differences[at as usize] -= sum * sum;
                    sum += if is_left { -entry } else { entry };
                    from = at as usize;
                }
                differences[from] += sum * sum;
            }
        }
        let own = i64::from(self.rows.row(d, v)[d as usize]);
        let largest = |differences: &[i64]| {
            let bins = differences[..half as usize].iter();
            let sums = bins.scan(0, |sum, step| {
                *sum += step;
                Some(*sum)
            });
            sums.max().unwrap_or(0)
        };
        (own * own + largest(&left) + largest(&right)).cast_unsigned()
    }

    /// The node sums of counts of bins; that of the node with time t is number t - 1.
    pub(crate) fn node_sums(&self, count: impl Fn(usize) -> i64, sums: &mut [i64]) {
        let k = self.depth();
        debug_assert_eq!(sums.len(), self.bins());
        // The prefixes stand in `sums` itself: exact counts have no second place in memory. The
        // deepest nodes come first, since each needs the prefixes of its ancestors.
        let mut prefix = 0;
        for (bin, sum) in sums.iter_mut().enumerate() {
            prefix += count(bin);
            *sum = prefix;
        }
        if planted!("values-noise-on-bins") {
            // As a histogram that is counted bin by bin.
            (0..sums.len()).for_each(|bin| sums[bin] = count(bin));
            return;
        }
        for (d, v) in (0..=k).rev().flat_map(nodes_of_depth) {
            let time = |i: usize| ancestor_time(k, d, v, i as u32) as usize;
            let row = self.rows.row(d, v).iter().enumerate();
            // Single products may be larger than their sum, which fits.
            let products = row.map(|(i, &u)| i64::from(u).wrapping_mul(sums[time(i) - 1]));
            sums[time(d as usize) - 1] = products.fold(0, i64::wrapping_add);
        }
    }

    /// The sums of the first 1, 2, .. bins that released node sums give.
    pub fn prefixes(&self, sums: &[i64]) -> Vec<f64> {
        let k = self.depth();
        let mut prefixes = vec![0.0; self.bins()];
        for (d, v) in nodes(k) {
            let time = |i: usize| ancestor_time(k, d, v, i as u32) as usize;
            let (&own, above) = self.rows.row(d, v).split_last().unwrap_or((&1, &[]));
            let at = time(d as usize) - 1;
            let known = above.iter().enumerate();
            let known: f64 = known
                .map(|(i, &u)| f64::from(u) * prefixes[time(i) - 1])
                .sum();
            prefixes[at] = (sums[at] as f64 - known) / f64::from(own);
        }
        prefixes
    }

    /// The variance of the sum of bins `low` .. `high`, in units of that of a node sum.
    pub fn variance(&self, low: u32, high: u32) -> f64 {
        let (low, high) = (self.weights(low), self.weights(high));
        let length = low.len().max(high.len());
        let at = |path: &[(u64, f64)], i: usize| path.get(i).copied().unwrap_or((0, 0.0));
        let square = |i: usize| match (at(&low, i), at(&high, i)) {
            ((one, a), (other, b)) if one == other => (b - a) * (b - a),
            ((_, a), (_, b)) => a * a + b * b,
        };
        (0..length).map(square).sum()
    }

    /// The nodes and weights of a prefix, by depth: the last row of the inverse of its path's rows.
    fn weights(&self, prefix: u32) -> Vec<(u64, f64)> {
        if prefix == 0 {
            return Vec::new();
        }
        let k = self.depth();
        let (d, v) = node_at(k, prefix.into());
        let row = |i: u32| self.rows.row(i, if i == 0 { 0 } else { v >> (d - i) });
        let mut weights = vec![0.0; d as usize + 1];
        for j in (0..=d).rev() {
            let below: f64 = (j + 1..=d)
                .map(|i| weights[i as usize] * f64::from(row(i)[j as usize]))
                .sum();
            let wanted = if j == d { 1.0 } else { 0.0 };
            weights[j as usize] = (wanted - below) / f64::from(row(j)[j as usize]);
        }
        let time = |i: usize| ancestor_time(k, d, v, i as u32);
        let weights = weights.into_iter().enumerate();
        weights.map(|(i, weight)| (time(i), weight)).collect()
    }
}

/// All nodes of a tree, depth by depth.
fn nodes(k: u32) -> impl Iterator<Item = (u32, u64)> {
    (0..=k).flat_map(nodes_of_depth)
}

fn nodes_of_depth(d: u32) -> impl Iterator<Item = (u32, u64)> {
    let number = if d == 0 { 1 } else { 1_u64 << (d - 1) };
    (0..number).map(move |v| (d, v))
}

/// The times of a row, rising, each with the sum of the entries from it on.
fn suffix_sums(k: u32, (d, v): (u32, u64), row: &[i16]) -> Vec<(u64, i64)> {
    let mut sums: Vec<(u64, i64)> = (0..=d)
        .map(|i| (ancestor_time(k, d, v, i), i64::from(row[i as usize])))
        .collect();
    sums.sort_unstable();
    let mut rest = 0;
    for (_, entry) in sums.iter_mut().rev() {
        rest += *entry;
        *entry = rest;
    }
    sums
}

/// The optimised rows of time with suffix sums a quarter as large, rounded.
fn optimised(k: u32) -> Option<Vec<i16>> {
    let (rows, _) = table_for(1 << k, Target::Even)?;
    let mut entries = Vec::with_capacity(rows.entries().len());
    for (d, v) in nodes(k) {
        let mut sums = suffix_sums(k, (d, v), rows.row(d, v));
        for (_, sum) in &mut sums {
            // Ties to 0: the more sums are 0, the fewer nodes change.
            *sum = sum.signum() * ((2 * sum.abs() + SCALE - 1) / (2 * SCALE));
        }
        for i in 0..sums.len() {
            sums[i].1 -= sums.get(i + 1).map_or(0, |&(_, next)| next);
        }
        for i in 0..=d {
            let time = ancestor_time(k, d, v, i);
            let (_, entry) = sums.iter().find(|&&(at, _)| at == time)?;
            entries.push(i16::try_from(*entry).ok()?);
        }
    }
    Some(entries)
}

/// Haar rows: 3 at the root; 4 on a node and -2 on the two times that bound its block.
fn haar(k: u32) -> Vec<i16> {
    let mut entries = Vec::new();
    for (d, v) in nodes(k) {
        let (time, half) = (ancestor_time(k, d, v, d), (1_u64 << k) >> d);
        let bounds = |i| [time - half, time + half].contains(&ancestor_time(k, d, v, i));
        entries.extend((0..d).map(|i| if bounds(i) { -2 } else { 0 }));
        entries.push(if d == 0 { 3 } else { 4 });
    }
    entries
}

#[cfg(test)]
mod tests;
