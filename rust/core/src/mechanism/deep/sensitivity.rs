//! Exact sensitivity of shared rows for any depth of the tree.
//!
//! Let b_1, b_2, ... be the binary digits of l - 1 for leaf l, the highest first. The block of a node's
//! 6th ancestor, at depth d - 6, is given by digits b_1 .. b_(d-7). A shared row sums to zero over its
//! block, so the row sum over times >= l is 0 for every leaf outside. Inside, it changes at multiples
//! of n / 2^d only: it is given by digits b_(d-6) .. b_d. The sum of squares over the 64 nodes of one
//! depth in that block is a table W_d with 2^7 places, the same for every block, and
//!
//! > ||U 1(t >= l)||^2 = T(b_1 .. b_7) + sum over d > 7 of W_d(b_(d-6) .. b_d).
//!
//! Its maximum over l is the heaviest path in a graph of 2^6 states, the last six digits: a depth takes
//! 2^7 additions. With 1 for every sum that is not 0 in place of its square, the same gives the
//! number of nodes that a leaf changes. At time 0, the left end of a tree, there is no node, and no
//! leaf before it.

use std::ops::{RangeBounds, RangeInclusive};

/// Depths with rows of their own.
pub(in crate::mechanism) const TOP: u32 = 7;
/// Turns that determine the row of a deeper node, and its nearest ancestors.
pub(in crate::mechanism) const TURNS: u32 = 6;
/// Entries of a shared row.
pub(in crate::mechanism) const ENTRIES: usize = TURNS as usize + 2;

/// Sums over rows for the leaves of each piece.
#[derive(Debug, Clone, Default)]
pub(in crate::mechanism) struct Sums {
    squares: Vec<i64>,
    counts: Vec<i64>,
}

impl Sums {
    fn new(pieces: usize) -> Self {
        Self {
            squares: vec![0; pieces],
            counts: vec![0; pieces],
        }
    }

    /// Adds a row with these entries at the ends of pieces: its sum over times from a leaf on.
    fn add(&mut self, entries: impl Iterator<Item = (usize, i64)> + Clone) {
        for piece in 0..self.squares.len() {
            let after = entries.clone().filter(|&(end, _)| end > piece);
            let sum: i64 = after.map(|(_, entry)| entry).sum();
            self.squares[piece] += sum * sum;
            self.counts[piece] += i64::from(sum != 0);
        }
    }
}

/// Sums over the rows of depths 0 to 7, by the 2^7 pieces of all leaves. Rows are depth, index and
/// entries by the depths of ancestors, own last.
pub(in crate::mechanism) fn of_the_top(rows: impl Iterator<Item = (u32, u64, Vec<i64>)>) -> Sums {
    let mut sums = Sums::new(1 << TOP);
    for (d, v, row) in rows {
        let time = |i: u32| (2 * (v >> (d - i)) as usize + 1) << (TOP - i);
        sums.add((0..=d).map(time).zip(row.iter().copied()));
    }
    sums
}

/// Sums over the 64 nodes of one depth below one 6th ancestor, by the 2^7 pieces of its block.
pub(in crate::mechanism) fn of_a_block(row: impl Fn(u64) -> [i32; ENTRIES]) -> Sums {
    let mut sums = Sums::new(2 << TURNS);
    let turns = planted!("window-of-five-turns", TURNS - 1, TURNS);
    for node in 0..1_u64 << turns {
        let row = row(node);
        let times = (0..=TURNS).map(|i| (2 * (node >> i) as usize + 1) << i);
        let ends = times.chain([2 << TURNS]);
        sums.add(ends.zip(row.iter().map(|&entry| entry.into())));
    }
    sums
}

/// The largest sum over the leaves in a range of the pieces of `top`, squares and counts.
pub(in crate::mechanism) fn heaviest<'a>(
    top: &Sums,
    range: impl RangeBounds<usize>,
    depths: RangeInclusive<u32>,
    of_depth: impl Fn(u32) -> &'a Sums,
) -> (u64, u64) {
    let largest = |of: fn(&Sums) -> &[i64]| {
        let allowed = |piece: usize| if range.contains(&piece) { 0 } else { NEVER };
        let pieces = of(top).iter().enumerate();
        let pieces: Vec<i64> = pieces.map(|(piece, sum)| sum + allowed(piece)).collect();
        let mut states = without_the_first_digit(&pieces);
        for d in depths.clone() {
            let windows: Vec<i64> = of(of_depth(d))
                .iter()
                .enumerate()
                .map(|(window, sum)| states[window / 2] + sum)
                .collect();
            states = without_the_first_digit(&windows);
        }
        states.into_iter().max().unwrap_or(0).max(0).cast_unsigned()
    };
    (largest(|sums| &sums.squares), largest(|sums| &sums.counts))
}

/// Far below every sum.
const NEVER: i64 = i64::MIN / 2;

/// The larger of the two places that differ in their first digit only.
fn without_the_first_digit(places: &[i64]) -> Vec<i64> {
    let (zero, one) = places.split_at(places.len() / 2);
    zero.iter().zip(one).map(|(a, b)| *a.max(b)).collect()
}
