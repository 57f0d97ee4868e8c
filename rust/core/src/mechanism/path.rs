//! The nodes of one push, their exact rational weights, and the noise formed from their draws.

use super::rounding::Rounding;
use crate::noise::gaussian::RoundedGaussian;
use crate::noise::prf::{NoiseFunction, packed};

/// Most nodes on the path of one push.
pub const LARGEST_PATH: usize = 64;

/// The nodes of one push and their exact rational weights.
#[derive(Debug, Clone)]
pub struct Path {
    length: usize,
    nodes: [u64; LARGEST_PATH],
    numerators: [i128; LARGEST_PATH],
    rounding: Rounding,
}

impl Path {
    pub(super) fn new(denominator: u128) -> Self {
        Self {
            length: 0,
            nodes: [0; LARGEST_PATH],
            numerators: [0; LARGEST_PATH],
            rounding: Rounding::new(denominator),
        }
    }

    pub(super) fn add(&mut self, node: u64, numerator: i128) {
        self.nodes[self.length] = node;
        self.numerators[self.length] = numerator;
        self.length += 1;
    }

    /// Node and numerator of each term; the common denominator is in the rounding.
    pub fn terms(&self) -> impl Iterator<Item = (u64, i128)> + '_ {
        self.nodes[..self.length]
            .iter()
            .copied()
            .zip(self.numerators[..self.length].iter().copied())
    }

    /// The common denominator of the weights.
    pub fn denominator(&self) -> u128 {
        self.rounding.denominator()
    }

    /// floor(sum of weight * draw + 1/2): the noise of one cell at this push.
    ///
    /// Adding it to the count equals rounding (count + exact noise), because flooring commutes
    /// with integers: the release is post-processing of the Gaussian mechanism.
    #[inline]
    pub fn noise(&self, prf: &NoiseFunction, gaussian: &RoundedGaussian, cell: u64) -> i64 {
        let mut blocks = [0; LARGEST_PATH];
        let blocks = &mut blocks[..self.length];
        prf.blocks(cell, &self.nodes[..self.length], blocks);
        let mut sum = 0_i128;
        for (&block, &numerator) in blocks.iter().zip(&self.numerators) {
            sum += numerator * i128::from(gaussian.draw(block));
        }
        self.rounding.round(sum)
    }

    /// As [`Self::noise`] for several cells: their draws are computed in batches.
    pub(crate) fn noises(
        &self,
        prf: &NoiseFunction,
        gaussian: &RoundedGaussian,
        cells: &[u64],
        out: &mut [i64],
    ) {
        // Clearing long buffers would take a large part of the time of a point query.
        if cells.len() * self.length <= LARGEST_PATH {
            self.noises_at_once::<LARGEST_PATH>(prf, gaussian, cells, out);
        } else {
            self.noises_at_once::<{ 4 * LARGEST_PATH }>(prf, gaussian, cells, out);
        }
    }

    #[inline]
    fn noises_at_once<const BLOCKS: usize>(
        &self,
        prf: &NoiseFunction,
        gaussian: &RoundedGaussian,
        cells: &[u64],
        out: &mut [i64],
    ) {
        let (mut blocks, mut draws) = ([0; BLOCKS], [0; BLOCKS]);
        let nodes = &self.nodes[..self.length];
        let at_once = BLOCKS / self.length;
        for (cells, out) in cells.chunks(at_once).zip(out.chunks_mut(at_once)) {
            let number = cells.len() * self.length;
            let (blocks, draws) = (&mut blocks[..number], &mut draws[..number]);
            for (&cell, blocks) in cells.iter().zip(blocks.chunks_exact_mut(self.length)) {
                for (block, &node) in blocks.iter_mut().zip(nodes) {
                    *block = packed(cell, node);
                }
            }
            prf.encrypt(blocks);
            gaussian.draws(blocks, draws);
            plant_in_draws(draws, gaussian);
            for (out, draws) in out.iter_mut().zip(draws.chunks_exact(self.length)) {
                let mut sum = 0_i128;
                for (&draw, &numerator) in draws.iter().zip(&self.numerators) {
                    sum += numerator * i128::from(draw);
                }
                *out = self.rounding.round(sum);
            }
        }
    }
}

/// Does nothing unless a bug of the draws is planted.
#[inline]
fn plant_in_draws(draws: &mut [i64], gaussian: &RoundedGaussian) {
    if !cfg!(feature = "planted") {
        return;
    }
    let largest = (3.0 * gaussian.sigma()).ceil() as i64;
    let last = draws.len() - 1;
    if planted!("draws-repeat-at-the-end-of-a-chunk") && last > 15 {
        draws[last] = draws[0];
    }
    for draw in draws.iter_mut() {
        *draw = planted!(
            "draws-cut-at-3-deviations",
            (*draw).clamp(-largest, largest),
            *draw
        );
        *draw = planted!("draws-without-a-sign", draw.abs(), *draw);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::{MasterKey, Purpose, SketchId};

    /// The sum by its definition, one draw at a time, for numbers of cells around the sizes of the
    /// buffers, and for paths from one node to the longest.
    #[test]
    fn many_cells_equal_single_ones_and_the_definition() {
        let key = MasterKey::seeded(1).derive(Purpose::Noise, &SketchId([0; 16]), b"paths");
        let (prf, gaussian) = (NoiseFunction::new(&key), RoundedGaussian::new(1e6));
        for length in [1, 2, 13, 63, LARGEST_PATH] {
            let mut path = Path::new(7);
            let terms: Vec<(u64, i128)> = (0..length as u64)
                .map(|i| (1 + i * i, 3 * i128::from(i) - 11))
                .collect();
            for &(node, numerator) in &terms {
                path.add(node, numerator);
            }
            assert_eq!(path.terms().collect::<Vec<_>>(), terms);
            assert_eq!(path.denominator(), 7);
            for number in [1, 4, 5, 6, 64, 65, 256, 257, 300] {
                let cells: Vec<u64> = (0..number).map(|i| i * 0x1_0001).collect();
                let mut out = vec![0; cells.len()];
                path.noises(&prf, &gaussian, &cells, &mut out);
                for (&cell, &noise) in cells.iter().zip(&out) {
                    let sum: i128 = terms
                        .iter()
                        .map(|&(node, n)| n * i128::from(gaussian.draw(prf.block(cell, node))))
                        .sum();
                    let expected = (2 * sum + 7).div_euclid(14) as i64;
                    assert_eq!(noise, expected, "{length} nodes, cell {cell}");
                    assert_eq!(path.noise(&prf, &gaussian, cell), expected);
                }
            }
        }
    }
}
