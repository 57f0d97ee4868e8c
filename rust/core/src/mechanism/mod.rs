//! Mechanisms: how one cell counts n pushes under continual release.
//!
//! A mechanism is a linear map from independent rounded-Gaussian node draws to the noise of
//! each push: `noise(p) = sum over the path of p of numerator / denominator * z(node)`. The
//! weights depend on p alone and are shared by all cells; nothing is stored per cell and a
//! read costs O(log n) draws. Node ids are 1 ..= n.
//!
//! | mechanism | `sensitivity2` | variance of release p (units of sigma^2) |
//! |---|---|---|
//! | [`binary`], the paper's GaussBM | floor(log2 n) + 1 | number of ones of p |
//! | [`tree`] with Haar rows | 4 k + 9, n = 2^k | (p/n)^2 / 9 + sum of hat^2 / 16 |

pub mod binary;
pub mod rounding;
pub mod tree;

use crate::gaussian::RoundedGaussian;
use crate::prf::NoiseFunction;
use crate::{Error, Result};
use binary::Binary;
use rounding::Rounding;
use tree::Tree;

/// Most nodes on the path of one push.
pub const LARGEST_PATH: usize = 64;

/// Most leaves that a mechanism can serve.
pub const LARGEST_LEAVES: u64 = 1 << 48;

/// The mechanisms by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MechanismKind {
    /// The paper's Gaussian binary mechanism.
    Binary,
    /// The tree mechanism with Haar rows in closed form.
    Haar,
}

impl MechanismKind {
    /// The name users write.
    pub fn name(self) -> &'static str {
        match self {
            Self::Binary => "binary",
            Self::Haar => "haar",
        }
    }
}

/// A mechanism for a number of leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mechanism {
    /// See [`binary`].
    Binary(Binary),
    /// See [`tree`].
    Tree(Tree),
}

impl Mechanism {
    /// The mechanism that serves at least `leaves` pushes of a cell.
    pub fn new(kind: MechanismKind, leaves: u64) -> Result<Self> {
        if !(1..=LARGEST_LEAVES).contains(&leaves) {
            let expected = format!("1 to {LARGEST_LEAVES} pushes of a cell");
            return Err(Error::parameter("horizon", expected, leaves));
        }
        Ok(match kind {
            MechanismKind::Binary => Self::Binary(Binary::new(leaves)),
            MechanismKind::Haar => Self::Tree(Tree::haar(leaves)),
        })
    }

    /// Squared L2 norm of the change of all node sums when one count changes by one.
    pub fn sensitivity2(&self) -> u64 {
        match self {
            Self::Binary(binary) => binary.sensitivity2(),
            Self::Tree(tree) => tree.sensitivity2(),
        }
    }

    /// Nodes are numbered from 1 to this.
    pub fn nodes(&self) -> u64 {
        match self {
            Self::Binary(binary) => binary.nodes(),
            Self::Tree(tree) => tree.nodes(),
        }
    }

    /// Largest number of nodes whose exact sum changes when one count changes: the m of the
    /// numeric account, per cell.
    pub fn nodes_per_leaf(&self) -> u64 {
        match self {
            Self::Binary(binary) => binary.nodes_per_leaf(),
            Self::Tree(tree) => tree.nodes_per_leaf(),
        }
    }

    /// The weighted nodes whose draws make up the noise of push `p`, 1 <= p <= leaves.
    pub fn path(&self, p: u64) -> Path {
        match self {
            Self::Binary(binary) => binary.path(p),
            Self::Tree(tree) => tree.path(p),
        }
    }

    /// Variance of the noise of push `p` in units of sigma^2, before the final rounding.
    pub fn variance(&self, p: u64) -> f64 {
        let path = self.path(p);
        let denominator = path.rounding.denominator() as f64;
        path.terms()
            .map(|(_, numerator)| (numerator as f64 / denominator).powi(2))
            .sum()
    }

    /// Refuses a sigma whose largest possible sums would leave 126 bits.
    pub fn check_size(&self, gaussian: &RoundedGaussian) -> Result<()> {
        let (sum_of_numerators, denominator) = match self {
            Self::Binary(binary) => (binary.nodes_per_leaf() as f64, 1.0),
            Self::Tree(tree) => tree.size(),
        };
        let largest = 2.0 * sum_of_numerators * gaussian.bound() + denominator;
        // One bit of slack covers the rounding of this estimate itself.
        if largest < 2_f64.powi(125) && sum_of_numerators / denominator * gaussian.bound() < 2e18 {
            return Ok(());
        }
        let expected =
            "parameters whose noise fits into 126 bits (smaller max_weight, larger epsilon)";
        Err(Error::parameter(
            "max_weight",
            expected,
            format!("2^{:.0}", largest.log2()),
        ))
    }
}

/// The nodes of one push and their exact rational weights.
#[derive(Debug, Clone)]
pub struct Path {
    length: usize,
    nodes: [u64; LARGEST_PATH],
    numerators: [i128; LARGEST_PATH],
    rounding: Rounding,
}

impl Path {
    fn new(denominator: u128) -> Self {
        Self {
            length: 0,
            nodes: [0; LARGEST_PATH],
            numerators: [0; LARGEST_PATH],
            rounding: Rounding::new(denominator),
        }
    }

    fn add(&mut self, node: u64, numerator: i128) {
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
}
