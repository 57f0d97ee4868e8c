//! The noise of one push, found node by node from the root, rounded at every node.
//!
//! N_v = floor((z_v - sum over earlier nodes a of `U[v,a]` N_a) / `U[v,v]` + 1/2), an integer that the
//! later nodes of the path use. For every integer vector a, N(z + U a) = N(z) + a: the argument of
//! the floor at v grows by exactly a_v, node after node. So count + N is a function of
//! U (counts) + z, as releases must be, without another rounding, and without the large numerators
//! and denominators of an exact solution (docs/theory.md, "Rounding at every node").
//!
//! All cells of a push share the path, so several cells are computed side by side. The arithmetic is
//! that of integers in double precision: every number stays below 2^[`BITS`], where sums and
//! products are exact. No operation depends on a draw: the division by the entry of a node, which is
//! public, is a multiplication by its reciprocal with an exact correction.

use crate::noise::gaussian::RoundedGaussian;
use crate::noise::prf::{NoiseFunction, packed};
use crate::simd::widest;

/// Most nodes on the path of one push.
const LARGEST_DESCENT: usize = 128;

/// No number of a path may exceed 2^50; one bit less than conversions need.
pub(super) const BITS: i32 = 50;

/// Cells computed side by side: as many as the widest registers hold twice.
const LANES: usize = 16;

/// Draws that have a short buffer: the cells of an item at a push of some 20 nodes.
const FEW_DRAWS: usize = 128;

/// 1.5 * 2^52: adding it rounds a small number to an integer, which the last bits then hold.
const SHIFT: f64 = 6_755_399_441_055_744.0;

/// A node of a path and its row: its own entry, and those at earlier nodes of the path.
#[derive(Debug, Clone)]
pub(super) struct Row {
    pub(super) node: u64,
    pub(super) own: i32,
    /// Positions on the path and entries.
    pub(super) earlier: Vec<(usize, i32)>,
}

/// The nodes of one push in their order, with what each adds to the later ones.
#[derive(Debug, Clone)]
pub struct Descent {
    nodes: Vec<u64>,
    owns: Vec<f64>,
    /// 1 / own, rounded.
    reciprocals: Vec<f64>,
    /// Entries of later rows (positions on the path) at the first node, then at the second, ...
    entries: Vec<(usize, f64)>,
    /// Where the entries at each node end.
    ends: Vec<usize>,
}

impl Descent {
    /// A path of at least one node; every row has earlier nodes only, and a positive own entry.
    pub(super) fn new(rows: &[Row]) -> Self {
        debug_assert!((1..=LARGEST_DESCENT).contains(&rows.len()));
        let mut path = Self {
            nodes: rows.iter().map(|row| row.node).collect(),
            owns: rows.iter().map(|row| f64::from(row.own)).collect(),
            reciprocals: rows.iter().map(|row| f64::from(row.own).recip()).collect(),
            entries: Vec::new(),
            ends: Vec::new(),
        };
        for at in 0..rows.len() {
            for (later, row) in rows.iter().enumerate().skip(at + 1) {
                let entry: i32 = row.earlier.iter().filter(|e| e.0 == at).map(|e| e.1).sum();
                if entry != 0 {
                    path.entries.push((later, f64::from(entry)));
                }
            }
            path.ends.push(path.entries.len());
        }
        path
    }

    /// Entries of later rows at the node of this position.
    fn entries_at(&self, at: usize) -> &[(usize, f64)] {
        let begin = if at == 0 { 0 } else { self.ends[at - 1] };
        &self.entries[begin..self.ends[at]]
    }

    /// The nodes of the path, first to last.
    pub fn nodes(&self) -> &[u64] {
        &self.nodes
    }

    /// Variance of the noise before it is rounded, in units of sigma^2: that of the last row of the
    /// inverse.
    pub(super) fn variance(&self) -> f64 {
        let length = self.nodes.len();
        let (mut weights, mut sum) = (vec![0.0; length], 0.0);
        for at in (0..length).rev() {
            let later = self.entries_at(at).iter();
            let from_later: f64 = later.map(|&(row, entry)| entry * weights[row]).sum();
            let last = if at + 1 == length { 1.0 } else { 0.0 };
            weights[at] = (last - from_later) * self.reciprocals[at];
            sum += weights[at] * weights[at];
        }
        sum
    }

    /// The noise of one cell.
    pub(super) fn noise(&self, prf: &NoiseFunction, gaussian: &RoundedGaussian, cell: u64) -> i64 {
        let mut noise = [0];
        self.noises(prf, gaussian, &[cell], &mut noise);
        noise[0]
    }

    /// Writes the noise of several cells to `out`: their draws are computed in batches.
    pub(super) fn noises(
        &self,
        prf: &NoiseFunction,
        gaussian: &RoundedGaussian,
        cells: &[u64],
        out: &mut [i64],
    ) {
        // Clearing long buffers would take a large part of the time of a point query.
        let blocks = self.nodes.len() * cells.len().min(LANES);
        if blocks <= FEW_DRAWS && self.nodes.len() <= 32 {
            self.noises_at_once::<FEW_DRAWS, 32>(prf, gaussian, cells, out);
        } else if self.nodes.len() <= 32 {
            self.noises_at_once::<{ 32 * LANES }, 32>(prf, gaussian, cells, out);
        } else {
            self.noises_at_once::<{ LARGEST_DESCENT * LANES }, LARGEST_DESCENT>(
                prf, gaussian, cells, out,
            );
        }
    }

    #[inline]
    fn noises_at_once<const BLOCKS: usize, const NODES: usize>(
        &self,
        prf: &NoiseFunction,
        gaussian: &RoundedGaussian,
        cells: &[u64],
        out: &mut [i64],
    ) {
        let (mut blocks, mut draws) = ([0; BLOCKS], [0; BLOCKS]);
        let mut sums = [[0.0; LANES]; NODES];
        for (cells, out) in cells.chunks(LANES).zip(out.chunks_mut(LANES)) {
            let number = self.nodes.len() * cells.len();
            let (blocks, draws) = (&mut blocks[..number], &mut draws[..number]);
            for (&node, blocks) in self.nodes.iter().zip(blocks.chunks_exact_mut(cells.len())) {
                for (block, &cell) in blocks.iter_mut().zip(cells) {
                    *block = packed(cell, node);
                }
            }
            prf.encrypt(blocks);
            gaussian.draws(blocks, draws);
            solve(self, draws, &mut sums, out);
        }
    }
}

widest! {
    /// Writes the noise of up to [`LANES`] cells: `draws` has those of the first node, then of the
    /// second, and so on. `sums` is overwritten; it has at least as many places as the path has nodes.
    fn solve, solve_at(
        path: &Descent, draws: &[i64], sums: &mut [[f64; LANES]], out: &mut [i64],
    ) = solve_loop
}

#[inline(always)]
fn solve_loop(path: &Descent, draws: &[i64], sums: &mut [[f64; LANES]], out: &mut [i64]) {
    let length = path.nodes.len();
    let sums = &mut sums[..length];
    for (sums, draws) in sums.iter_mut().zip(draws.chunks_exact(out.len())) {
        for (sum, &draw) in sums.iter_mut().zip(draws) {
            *sum = float_of(draw);
        }
    }
    let (mut noise, mut begin) = ([0.0; LANES], 0);
    for at in 0..length {
        let (own, reciprocal, end) = (path.owns[at], path.reciprocals[at], path.ends[at]);
        noise = sums[at];
        for noise in &mut noise {
            *noise = nearest(*noise, own, reciprocal);
        }
        if planted!("rounded-after-the-children") && at + 1 < length {
            // What the children use is not what an observer could shift by integers.
            noise = sums[at].map(|sum| sum * reciprocal);
        }
        for &(later, entry) in &path.entries[begin..end] {
            for (sum, noise) in sums[later].iter_mut().zip(&noise) {
                *sum -= entry * noise;
            }
        }
        begin = end;
    }
    for (out, noise) in out.iter_mut().zip(noise) {
        *out = integer_of(noise);
    }
}

/// floor(sum / own + 1/2) for integers |sum| < 2^51 and 0 < own < 2^31.
///
/// The reciprocal and the product are rounded, so the quotient that is rounded to an integer is
/// wrong by at most (2^51 - 1) (2^-52 + 2^-106) / own, which is below 1 / (2 own). A quotient that is
/// no tie is at least that far from all ties, so the estimate is its nearest integer. At a tie it
/// is the integer above or below, and the exact rest tells which.
#[inline(always)]
fn nearest(sum: f64, own: f64, reciprocal: f64) -> f64 {
    let estimate = (sum * reciprocal + SHIFT) - SHIFT;
    let rest = 2.0 * (sum - estimate * own);
    let up = planted!("halves-rounded-to-even", rest > own, rest >= own);
    estimate + one_if(up)
}

/// 1 or 0, without a branch.
#[inline(always)]
fn one_if(condition: bool) -> f64 {
    f64::from_bits(u64::from(condition).wrapping_neg() & 1.0_f64.to_bits())
}

/// An integer below 2^51 as a float.
#[inline(always)]
fn float_of(value: i64) -> f64 {
    f64::from_bits(value.cast_unsigned().wrapping_add(SHIFT.to_bits())) - SHIFT
}

/// The integer in a float below 2^51.
#[inline(always)]
fn integer_of(value: f64) -> i64 {
    let bits = (value + SHIFT).to_bits();
    bits.wrapping_sub(SHIFT.to_bits()).cast_signed()
}

#[cfg(test)]
mod tests;
