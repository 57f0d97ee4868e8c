//! The weights of one push: what turns the draws of its nodes into its noise.

use super::descent::Descent;
use super::path::Path;
use crate::noise::gaussian::RoundedGaussian;
use crate::noise::prf::NoiseFunction;

/// What turns the draws of nodes into the noise of one push.
#[derive(Debug, Clone)]
pub enum Weights {
    /// Exact rationals: rounding their sum is post-processing.
    Exact(Box<Path>),
    /// Real numbers: rounding their sum is not post-processing, and releases are marked NOT
    /// PRIVATE.
    Real(Vec<(u64, f64)>),
    /// Rows of integers, solved node by node and rounded at each: post-processing as well.
    ByNode(Box<Descent>),
}

impl Weights {
    /// The noise of one cell at this push, an integer.
    #[inline]
    pub fn noise(&self, prf: &NoiseFunction, gaussian: &RoundedGaussian, cell: u64) -> i64 {
        match self {
            Self::Exact(path) => path.noise(prf, gaussian, cell),
            Self::Real(terms) => {
                let draw = |node| gaussian.draw(prf.block(cell, node)) as f64;
                let sum: f64 = terms
                    .iter()
                    .map(|&(node, weight)| weight * draw(node))
                    .sum();
                (sum + 0.5).floor() as i64
            }
            Self::ByNode(path) => path.noise(prf, gaussian, cell),
        }
    }

    /// Writes the noise of several cells at this push to `out`.
    #[inline]
    pub(crate) fn noises(
        &self,
        prf: &NoiseFunction,
        gaussian: &RoundedGaussian,
        cells: &[u64],
        out: &mut [i64],
    ) {
        match self {
            Self::Exact(path) => path.noises(prf, gaussian, cells, out),
            Self::Real(_) => {
                for (out, &cell) in out.iter_mut().zip(cells) {
                    *out = self.noise(prf, gaussian, cell);
                }
            }
            Self::ByNode(path) => path.noises(prf, gaussian, cells, out),
        }
    }

    /// The exact path, if the weights are exact.
    pub fn exact(&self) -> Option<&Path> {
        match self {
            Self::Exact(path) => Some(path),
            Self::Real(_) | Self::ByNode(_) => None,
        }
    }

    /// The nodes and rows of the path, if noise is rounded at every node.
    pub fn by_node(&self) -> Option<&Descent> {
        match self {
            Self::ByNode(path) => Some(path),
            Self::Exact(_) | Self::Real(_) => None,
        }
    }
}
