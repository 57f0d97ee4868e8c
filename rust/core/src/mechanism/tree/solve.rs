//! Weights of every push, sensitivity and sizes, from the rows of a strategy matrix, in exact
//! integers.

use super::rows::StrategyRows;
use crate::mechanism::path::LARGEST_PATH;

/// Sensitivity of a table and bounds on its numbers; recomputed when the table is loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::mechanism) struct Facts {
    pub(in crate::mechanism) sensitivity2: u64,
    pub(in crate::mechanism) nodes_per_leaf: u64,
    /// Largest sum of |numerators| over all pushes.
    pub(in crate::mechanism) largest_sum: u128,
    /// Largest denominator over all pushes.
    pub(in crate::mechanism) largest_denominator: u128,
    /// Largest sum of |weights|, rounded up.
    pub(in crate::mechanism) largest_weight: u64,
    /// For p from 0 to n - 1, the first leaf after p of those with the least variance.
    pub(in crate::mechanism) quietest_after: Vec<u32>,
}

/// Weights of one push over a common denominator.
pub(super) struct Solution {
    length: usize,
    nodes: [u64; LARGEST_PATH],
    numerators: [i128; LARGEST_PATH],
    pub(super) denominator: u128,
}

impl Solution {
    pub(super) fn terms(&self) -> impl Iterator<Item = (u64, i128)> + '_ {
        let terms = self
            .nodes
            .iter()
            .copied()
            .zip(self.numerators.iter().copied());
        terms.take(self.length)
    }

    /// Variance of the noise in units of sigma^2.
    fn variance(&self) -> f64 {
        let denominator = self.denominator as f64;
        self.terms()
            .map(|(_, numerator)| numerator as f64 / denominator)
            .map(|weight| weight * weight)
            .sum()
    }
}

/// The node of time `p` in a tree of 2^k leaves: its depth and index.
pub(in crate::mechanism) fn node_at(k: u32, p: u64) -> (u32, u64) {
    let trailing = p.trailing_zeros();
    if trailing == k {
        (0, 0)
    } else {
        (k - trailing, p >> (trailing + 1))
    }
}

/// The time of the ancestor at depth `i` of node (d, v).
pub(in crate::mechanism) fn ancestor_time(k: u32, d: u32, v: u64, i: u32) -> u64 {
    if i == 0 {
        1 << k
    } else {
        (2 * (v >> (d - i)) + 1) << (k - i)
    }
}

/// Solves R^T weights = last unit vector by back substitution, with weight_j = scaled_j / tail_j
/// and tail_j = `R[j,j] ... R[d,d]`; `None` if any number exceeds 124 bits.
pub(super) fn solve(rows: &StrategyRows, p: u64) -> Option<Solution> {
    let (k, (d, v)) = (rows.depth(), node_at(rows.depth(), p));
    let length = d as usize + 1;
    let row = |i: usize| rows.row(i as u32, if i == 0 { 0 } else { v >> (d as usize - i) });
    let diagonal = |i: usize| i128::from(row(i)[i]);
    let mut scaled = [0_i128; LARGEST_PATH];
    scaled[length - 1] = 1;
    for j in (0..length - 1).rev() {
        // sum over i > j of weight_i R[i,j], over the denominator tail_(j+1).
        let (mut sum, mut between) = (0_i128, 1_i128);
        for (i, &below) in scaled.iter().enumerate().take(length).skip(j + 1) {
            let term = below
                .checked_mul(between)?
                .checked_mul(i128::from(row(i)[j]))?;
            sum = sum.checked_add(term)?;
            between = between.checked_mul(diagonal(i))?;
        }
        scaled[j] = sum.checked_neg()?;
    }
    let mut solution = Solution {
        length,
        nodes: [0; LARGEST_PATH],
        numerators: [0; LARGEST_PATH],
        denominator: 0,
    };
    let mut above = 1_i128;
    for (i, &below) in scaled.iter().enumerate().take(length) {
        solution.nodes[i] = ancestor_time(k, d, v, i as u32);
        solution.numerators[i] = below.checked_mul(above)?;
        above = above.checked_mul(diagonal(i))?;
    }
    if above < 0 {
        solution
            .numerators
            .iter_mut()
            .for_each(|numerator| *numerator = -*numerator);
    }
    solution.denominator = above.unsigned_abs();
    let fits = (1..1 << 124).contains(&solution.denominator)
        && solution
            .numerators
            .iter()
            .all(|n| n.unsigned_abs() < 1 << 124);
    fits.then_some(solution)
}

/// Computes all that privacy and arithmetic need of a table from its rows alone; `None` if a
/// diagonal entry is zero or a number is too large.
pub(super) fn examine(rows: &StrategyRows) -> Option<Facts> {
    let n = 1_u64 << rows.depth();
    let (sensitivity2, nodes_per_leaf) = sensitivity(rows)?;
    let mut facts = Facts {
        sensitivity2,
        nodes_per_leaf,
        largest_sum: 0,
        largest_denominator: 1,
        largest_weight: 0,
        quietest_after: Vec::new(),
    };
    let mut variances = Vec::with_capacity(n as usize);
    for p in 1..=n {
        let solution = solve(rows, p)?;
        variances.push(solution.variance());
        let mut sum = 0_u128;
        for (_, numerator) in solution.terms() {
            sum = sum.checked_add(numerator.unsigned_abs())?;
        }
        let weight = u64::try_from(sum.div_ceil(solution.denominator)).ok()?;
        facts.largest_sum = facts.largest_sum.max(sum);
        facts.largest_denominator = facts.largest_denominator.max(solution.denominator);
        facts.largest_weight = facts.largest_weight.max(weight);
    }
    facts.quietest_after = least_after(&variances);
    Some(facts)
}

/// For each position, the number (from 1) of the first of the least values from there on.
fn least_after(values: &[f64]) -> Vec<u32> {
    let mut least = values.len();
    let mut found: Vec<u32> = (1..=values.len())
        .rev()
        .map(|number| {
            if values[number - 1] <= values[least - 1] {
                least = number;
            }
            least as u32
        })
        .collect();
    found.reverse();
    found
}

/// max over leaves l of ||U 1_{t >= l}||^2, and of the number of its non-zero entries.
///
/// For each node the sum of its row over times >= l is constant between consecutive times of its
/// support: each piece is added to a difference array over l.
pub(in crate::mechanism) fn sensitivity(rows: &StrategyRows) -> Option<(u64, u64)> {
    let (k, n) = (rows.depth(), 1_usize << rows.depth());
    let mut squares = vec![0_i128; n + 2];
    let mut counts = vec![0_i64; n + 2];
    for d in 0..=k {
        for v in 0..if d == 0 { 1 } else { 1_u64 << (d - 1) } {
            let row = rows.row(d, v);
            let mut support: Vec<(u64, i64)> = (0..=d)
                .map(|i| (ancestor_time(k, d, v, i), i64::from(row[i as usize])))
                .collect();
            if support[d as usize].1 == 0 {
                return None;
            }
            support.sort_unstable();
            let mut rest: i64 = support.iter().map(|&(_, entry)| entry).sum();
            let mut from = 1;
            for (time, entry) in support {
                let until = time as usize + 1;
                let square = i128::from(rest) * i128::from(rest);
                squares[from] += square;
                squares[until] -= square;
                counts[from] += i64::from(rest != 0);
                counts[until] -= i64::from(rest != 0);
                rest -= entry;
                from = until;
            }
        }
    }
    let largest = |differences: Vec<i128>| {
        let mut sum = 0;
        differences[1..=n]
            .iter()
            .map(|step| {
                sum += step;
                sum
            })
            .max()
    };
    let squares = u64::try_from(largest(squares)?).ok()?;
    let counts = u64::try_from(largest(counts.into_iter().map(i128::from).collect())?).ok()?;
    Some((squares, counts))
}

#[cfg(test)]
mod tests {
    use super::super::tables::{Target, table_for};
    use super::*;

    fn tables(most: u32) -> impl Iterator<Item = &'static (StrategyRows, Facts)> {
        let both = [Target::Even, Target::Early].into_iter();
        both.flat_map(move |target| (2..=most).filter_map(move |k| table_for(1 << k, target)))
    }

    /// weights R = unit vector of the node itself, exactly: N is U^-1 z.
    fn assert_inverse(rows: &StrategyRows) {
        let k = rows.depth();
        for p in 1..=1_u64 << k {
            let solution = solve(rows, p).unwrap();
            let (d, v) = node_at(k, p);
            assert_eq!(solution.nodes[d as usize], p);
            for j in 0..=d {
                let row = |i: u32| rows.row(i, if i == 0 { 0 } else { v >> (d - i) });
                let terms = (j..=d)
                    .map(|i| solution.numerators[i as usize] * i128::from(row(i)[j as usize]));
                let expected = if j == d {
                    solution.denominator as i128
                } else {
                    0
                };
                assert_eq!(terms.sum::<i128>(), expected, "k {k} p {p} column {j}");
            }
        }
    }

    #[test]
    fn weights_invert_the_rows() {
        tables(10).for_each(|(rows, _)| assert_inverse(rows));
    }

    /// The sign of a row is free: its draw is symmetric.
    #[test]
    fn weights_invert_rows_of_both_signs() {
        let (rows, _) = table_for(8, Target::Even).unwrap();
        let mut start = 0;
        for d in 0..=rows.depth() as usize {
            for _ in 0..if d == 0 { 1 } else { 1 << (d - 1) } {
                let mut entries = rows.entries().to_vec();
                entries[start..=start + d]
                    .iter_mut()
                    .for_each(|entry| *entry = -*entry);
                assert_inverse(&StrategyRows::of_entries(rows.depth(), entries));
                start += d + 1;
            }
        }
    }

    /// Every node of a depth has the same row.
    fn table_of(k: u32, entry: impl Fn(usize, usize) -> i16) -> StrategyRows {
        let mut entries = Vec::new();
        for d in 0..=k as usize {
            for _ in 0..if d == 0 { 1 } else { 1_u64 << (d - 1) } {
                entries.extend((0..=d).map(|i| entry(d, i)));
            }
        }
        StrategyRows::of_entries(k, entries)
    }

    /// 2^124 in a denominator alone, and in a numerator alone; half of it fits.
    #[test]
    fn numbers_of_125_bits_are_refused() {
        let diagonal = |last: i16| {
            table_of(8, move |d, i| match (d, i) {
                (8, 8) => last,
                _ => i16::from(d == i) << 14,
            })
        };
        // 2^14 in each of eight ancestors, and 2^12 in the node.
        assert!(solve(&diagonal(1 << 12), 1).is_none());
        assert_eq!(solve(&diagonal(1 << 11), 1).unwrap().denominator, 1 << 123);
        let chain = |first: i16| {
            table_of(9, move |d, i| match (d, i) {
                (1, 0) => first,
                (d, i) if d == i => 1,
                (d, i) if d == i + 1 => i16::MIN,
                _ => 0,
            })
        };
        assert!(solve(&chain(16), 1).is_none());
        let solution = solve(&chain(8), 1).unwrap();
        let largest = solution.terms().map(|(_, n)| n.unsigned_abs()).max();
        assert_eq!((largest, solution.denominator), (Some(1 << 123), 1));
    }

    /// ||U 1_{t >= l}||^2 and the number of its non-zero entries, by definition.
    fn sensitivity_by_definition(rows: &StrategyRows) -> (u64, u64) {
        let k = rows.depth();
        let norm = |leaf: u64| {
            let (mut square, mut count) = (0, 0);
            for d in 0..=k {
                for v in 0..if d == 0 { 1 } else { 1_u64 << (d - 1) } {
                    let row = rows.row(d, v);
                    let after = |i: &u32| ancestor_time(k, d, v, *i) >= leaf;
                    let sum: i64 = (0..=d)
                        .filter(after)
                        .map(|i| i64::from(row[i as usize]))
                        .sum();
                    square += (sum * sum) as u64;
                    count += u64::from(sum != 0);
                }
            }
            (square, count)
        };
        let norms: Vec<_> = (1..=1 << k).map(norm).collect();
        let largest = |of: fn(&(u64, u64)) -> u64| norms.iter().map(of).max().unwrap();
        (largest(|norm| norm.0), largest(|norm| norm.1))
    }

    #[test]
    fn sensitivity_equals_its_definition() {
        for (rows, facts) in tables(8) {
            let found = (facts.sensitivity2, facts.nodes_per_leaf);
            assert_eq!(found, sensitivity_by_definition(rows), "k {}", rows.depth());
        }
    }

    /// A changed entry changes the sensitivity that noise is calibrated for, and a zero on the
    /// diagonal rejects the table: errors cost accuracy, never privacy.
    #[test]
    fn a_wrong_table_is_recalibrated_or_refused() {
        let (rows, facts) = table_for(16, Target::Even).unwrap();
        for index in 0..rows.entries().len() {
            let mut entries = rows.entries().to_vec();
            entries[index] += 200;
            let wrong = StrategyRows::of_entries(rows.depth(), entries);
            match examine(&wrong) {
                None => assert!((1..=16).any(|p| solve(&wrong, p).is_none())),
                Some(found) => {
                    assert_eq!(found.sensitivity2, sensitivity_by_definition(&wrong).0);
                    assert_ne!(found.sensitivity2, facts.sensitivity2, "entry {index}");
                }
            }
        }
        let mut entries = rows.entries().to_vec();
        entries[0] = 0;
        assert_eq!(
            examine(&StrategyRows::of_entries(rows.depth(), entries)),
            None
        );
    }

    /// Sensitivities of the files, and sizes within three bits of the published ones, which have
    /// common factors cancelled.
    #[test]
    fn sizes_and_sensitivities_are_as_published() {
        let log2 = |value: u128| (value as f64).log2();
        for (k, sensitivity2, denominator, sum, nodes) in [
            (10, 65_846, 77.0, 72.0, 497),
            (12, 65_846, 89.0, 85.0, 644),
            (14, 66_029, 101.0, 97.0, 767),
        ] {
            let (rows, facts) = table_for(1 << k, Target::Even).unwrap();
            assert_eq!((rows.depth(), facts.sensitivity2), (k, sensitivity2));
            assert!(
                (log2(facts.largest_denominator) - denominator).abs() < 4.0,
                "{facts:?}"
            );
            assert!((log2(facts.largest_sum) - sum).abs() < 4.0, "{facts:?}");
            assert_eq!(facts.nodes_per_leaf, nodes);
        }
    }

    #[test]
    fn sizes_between_the_tables_take_the_next() {
        for (leaves, depth) in [
            (1, 2),
            (4, 2),
            (5, 3),
            (1000, 10),
            (1024, 10),
            (5000, 13),
            (9000, 14),
        ] {
            assert_eq!(table_for(leaves, Target::Even).unwrap().0.depth(), depth);
        }
        assert!(table_for((1 << 14) + 1, Target::Even).is_none());
        assert_eq!(table_for(700, Target::Early).unwrap().0.depth(), 10);
    }
}
