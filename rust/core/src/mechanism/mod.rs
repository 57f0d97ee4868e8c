//! Mechanisms: how one cell counts n pushes under continual release.
//!
//! A mechanism maps independent rounded-Gaussian node draws to the noise of each push. The noise is
//! their weighted sum, `sum over the path of p of numerator / denominator * z(node)`, rounded at the
//! end ([`Path`]), or solved node by node and rounded at each ([`Descent`]). Weights and rows depend on
//! p alone and are shared by all cells; nothing is stored per cell and a read costs O(log n) draws.
//! Node ids are 1 ..= n.
//!
//! | mechanism | `sensitivity2` | variance at n = 2^10, max / mean, per unit of sensitivity |
//! |---|---|---|
//! | [`binary`], the paper's GaussBM | floor(log2 n) + 1 | 110 / 55 |
//! | [`haar`], the tree in closed form | 4 log2 n + 9 | 17.7 / 12.7 |
//! | [`tree`], optimised tables up to 2^14 | about 2^16, by table | 9.48 / 9.32 |
//! | [`deep`], shared rows up to 2^48 | by table and depth | 10.6 / 9.5; 30.7 max at n = 2^20 |
//! | [`endless`], the same without a horizon | 2^18, by table | 15.0 / 13.9 in the epoch up to 2^10 |
//! | [`square_root`], for research, NOT PRIVATE | sum of c_j^2 | 10.7 / 9.7 |

pub mod binary;
mod deep;
mod descent;
mod difference;
mod endless;
mod final_push;
pub mod haar;
mod path;
mod quietest_end;
pub mod rounding;
pub mod square_root;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod timing;
pub mod tree;
pub mod value_tree;
mod weights;

use crate::noise::gaussian::RoundedGaussian;
use crate::{Error, Result};
use binary::Binary;
use deep::DeepTree;
pub use descent::Descent;
use endless::Endless;
use haar::Haar;
pub use path::{LARGEST_PATH, Path};
use square_root::SquareRoot;
use tree::Tree;
use tree::tables::{self, Target};
pub use weights::Weights;

/// Most leaves that a mechanism can serve.
pub const LARGEST_LEAVES: u64 = 1 << 48;

/// A bound on D(a, b) / sensitivity2 of docs/theory.md, Theorem 12, for [`MechanismKind::bounds_moves`]:
/// 2.21 is reached. `tests/unit/specification/test_moves.py` computes it for every table.
pub const MOVE_FACTOR: f64 = 2.25;

/// The mechanisms by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MechanismKind {
    /// The paper's Gaussian binary mechanism.
    Binary,
    /// The tree mechanism with Haar rows in closed form.
    Haar,
    /// The tree mechanism with rows optimised for the largest variance.
    Tree,
    /// The tree mechanism with rows optimised evenly over the logarithm of the push number.
    TreeLog,
    /// The square-root mechanism, inexact.
    SquareRoot,
    /// The tree mechanism with shared rows, for any number of pushes.
    DeepTree,
    /// The tree mechanism without a horizon.
    Endless,
}

impl MechanismKind {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Binary,
        Self::Haar,
        Self::Tree,
        Self::TreeLog,
        Self::SquareRoot,
        Self::DeepTree,
        Self::Endless,
    ];

    /// The name in the public interface.
    pub fn name(self) -> &'static str {
        match self {
            Self::Binary => "binary",
            Self::Haar => "haar",
            Self::Tree => "tree",
            Self::TreeLog => "tree-log",
            Self::SquareRoot => "square-root",
            Self::DeepTree => "tree-deep",
            Self::Endless => "tree-endless",
        }
    }

    /// True if a count that moves from one leaf to a later one, the extra leaf included, changes the
    /// noisy queries by a squared distance of at most [`MOVE_FACTOR`] times the sensitivity.
    pub fn bounds_moves(self) -> bool {
        matches!(
            self,
            Self::Haar | Self::Tree | Self::TreeLog | Self::DeepTree
        )
    }

    /// Most leaves that this mechanism can serve.
    pub fn largest_leaves(self) -> u64 {
        match self {
            Self::Binary | Self::Haar => LARGEST_LEAVES,
            Self::Tree => 1 << tables::deepest(Target::Even),
            Self::TreeLog => 1 << tables::deepest(Target::Early),
            Self::SquareRoot => square_root::LARGEST_LEAVES,
            Self::DeepTree => 1 << deep::DEEPEST,
            Self::Endless => 1 << endless::LAST_EPOCH,
        }
    }
}

/// A mechanism for a number of leaves.
#[derive(Debug, Clone, Copy)]
pub enum Mechanism {
    /// See [`binary`].
    Binary(Binary),
    /// See [`haar`].
    Haar(Haar),
    /// See [`tree`].
    Tree(Tree),
    /// See [`square_root`].
    SquareRoot(SquareRoot),
    /// See [`deep`].
    DeepTree(DeepTree),
    /// See [`endless`].
    Endless(Endless),
}

/// Bounds on the numbers of a mechanism.
struct Size {
    /// Largest sum of |numerators| of a push, and largest denominator.
    sum: f64,
    denominator: f64,
    /// Largest sum of |weights| of a push.
    weight: f64,
}

impl Mechanism {
    /// The mechanism that serves at least `leaves` pushes of a cell.
    pub fn new(kind: MechanismKind, leaves: u64) -> Result<Self> {
        let refused = || {
            let most = kind.largest_leaves();
            let expected = format!(
                "1 to {most} pushes of a cell for mechanism '{}'",
                kind.name()
            );
            Error::parameter("horizon", expected, leaves)
        };
        if !(1..=kind.largest_leaves()).contains(&leaves) {
            return Err(refused());
        }
        Ok(match kind {
            MechanismKind::Binary => Self::Binary(Binary::new(leaves)),
            MechanismKind::Haar => Self::Haar(Haar::new(leaves)),
            MechanismKind::Tree => Self::Tree(Tree::new(leaves, Target::Even).ok_or_else(refused)?),
            MechanismKind::TreeLog => {
                Self::Tree(Tree::new(leaves, Target::Early).ok_or_else(refused)?)
            }
            MechanismKind::SquareRoot => Self::SquareRoot(SquareRoot::new(leaves)),
            MechanismKind::DeepTree => Self::DeepTree(DeepTree::new(leaves).ok_or_else(refused)?),
            MechanismKind::Endless => Self::Endless(Endless::new(leaves).ok_or_else(refused)?),
        })
    }

    /// Squared L2 norm of the change of all node sums when one count changes by one; an integer
    /// except for the square-root mechanism, where it is rounded up.
    pub fn sensitivity2(&self) -> f64 {
        match self {
            Self::Binary(binary) => binary.sensitivity2() as f64,
            Self::Haar(haar) => haar.sensitivity2() as f64,
            Self::Tree(tree) => {
                let sensitivity2 = tree.facts().sensitivity2 as f64;
                planted!(
                    "sensitivity-of-an-average-push",
                    0.9 * sensitivity2,
                    sensitivity2
                )
            }
            Self::SquareRoot(root) => root.sensitivity2(),
            Self::DeepTree(tree) => tree.sensitivity2() as f64,
            Self::Endless(tree) => tree.sensitivity2() as f64,
        }
    }

    /// Most pushes of a cell; the extra leaf is one more.
    pub fn nodes(&self) -> u64 {
        match self {
            Self::Binary(binary) => binary.nodes(),
            Self::Haar(haar) => haar.nodes(),
            Self::Tree(tree) => tree.nodes(),
            Self::SquareRoot(root) => root.nodes(),
            Self::DeepTree(tree) => tree.leaves(),
            Self::Endless(tree) => tree.leaves(),
        }
    }

    /// Nodes are numbered from 1 to this; the last is that of the extra leaf. Where a tree serves its
    /// first leaves only, nodes on their paths have larger numbers.
    pub fn draws(&self) -> u64 {
        match self {
            Self::DeepTree(tree) => tree.last_node() + 1,
            _ => self.extra_leaf(),
        }
    }

    /// Largest number of nodes whose exact sum changes when one count changes: the m of the
    /// numerical error account, per cell.
    pub fn nodes_per_leaf(&self) -> u64 {
        match self {
            Self::Binary(binary) => binary.nodes_per_leaf(),
            Self::Haar(haar) => haar.nodes_per_leaf(),
            Self::Tree(tree) => tree.facts().nodes_per_leaf,
            Self::SquareRoot(root) => root.nodes_per_leaf(),
            Self::DeepTree(tree) => tree.nodes_per_leaf(),
            Self::Endless(tree) => tree.nodes_per_leaf(),
        }
    }

    /// Depth and digest of the mechanism's table; zero for closed forms.
    pub fn table(&self) -> (u64, [u8; 16]) {
        match self {
            Self::Tree(tree) => (tree.rows().depth().into(), tree.rows().digest()),
            Self::DeepTree(tree) => tree.table(),
            Self::Endless(tree) => tree.table(),
            _ => (0, [0; 16]),
        }
    }

    /// The rows of the mechanism's table as in its file; empty for closed forms.
    pub fn rows(&self) -> &'static [i16] {
        match self {
            Self::Tree(tree) => tree.rows().entries(),
            Self::DeepTree(tree) => tree.file(),
            Self::Endless(tree) => tree.file(),
            _ => &[],
        }
    }

    /// The weighted nodes whose draws form the noise of push `p`, from 1 to [`Self::extra_leaf`].
    pub fn weights(&self, p: u64) -> Weights {
        if p == self.extra_leaf() {
            return self.extra_weights();
        }
        match self {
            Self::Binary(binary) => Weights::Exact(Box::new(binary.path(p))),
            Self::Haar(haar) => Weights::Exact(Box::new(haar.path(p))),
            Self::Tree(tree) => Weights::Exact(Box::new(tree.path(p))),
            Self::SquareRoot(root) => Weights::Real(root.weights(p).collect()),
            Self::DeepTree(tree) => Weights::ByNode(Box::new(tree.path(p))),
            Self::Endless(tree) => Weights::ByNode(Box::new(tree.path(p))),
        }
    }

    /// Variance of the noise of push `p` in units of sigma^2, before the final rounding.
    pub fn variance(&self, p: u64) -> f64 {
        match self.weights(p) {
            Weights::Exact(path) => {
                let denominator = path.denominator() as f64;
                path.terms()
                    .map(|(_, numerator)| numerator as f64 / denominator)
                    .map(|weight| weight * weight)
                    .sum()
            }
            Weights::Real(terms) => terms.iter().map(|(_, weight)| weight * weight).sum(),
            Weights::ByNode(path) => path.variance(),
        }
    }

    /// Rejects a sigma whose largest possible sums would exceed the integers that they are computed in.
    pub fn check_size(&self, gaussian: &RoundedGaussian) -> Result<()> {
        let of_leaves = match self {
            Self::DeepTree(tree) => Some(tree.largest_number(gaussian.bound())),
            Self::Endless(tree) => Some(tree.largest_number(gaussian.bound())),
            _ => None,
        };
        if let Some(of_leaves) = of_leaves {
            // The extra leaf: its row has two entries of the same size.
            let extra = gaussian.bound() + 2.0 * self.extra_entry() as f64 * of_leaves;
            return within(extra, descent::BITS);
        }
        let Size {
            sum,
            denominator,
            weight,
        } = self.size();
        // One bit of slack covers rounding errors of this estimate.
        let largest = 2.0 * sum * gaussian.bound() + denominator;
        if largest < 2_f64.powi(125) && weight * gaussian.bound() < 2e18 {
            return Ok(());
        }
        Err(too_large(largest, 126))
    }

    fn size(&self) -> Size {
        let size = self.size_of_leaves();
        let Weights::Exact(extra) = self.extra_weights() else {
            return size;
        };
        let sum: i128 = extra.terms().map(|(_, numerator)| numerator.abs()).sum();
        let (sum, denominator) = (sum as f64, extra.denominator() as f64);
        Size {
            sum: size.sum.max(sum),
            denominator: size.denominator.max(denominator),
            weight: size.weight.max(sum / denominator),
        }
    }

    /// Bounds on the numbers of all pushes but the extra one.
    fn size_of_leaves(&self) -> Size {
        match self {
            Self::Binary(binary) => {
                let nodes = binary.nodes_per_leaf() as f64;
                Size {
                    sum: nodes,
                    denominator: 1.0,
                    weight: nodes,
                }
            }
            Self::Haar(haar) => {
                let (sum, denominator) = haar.size();
                Size {
                    sum,
                    denominator,
                    weight: sum / denominator,
                }
            }
            Self::Tree(tree) => {
                let facts = tree.facts();
                Size {
                    sum: facts.largest_sum as f64,
                    denominator: facts.largest_denominator as f64,
                    weight: facts.largest_weight as f64,
                }
            }
            Self::DeepTree(_) | Self::Endless(_) => {
                unreachable!("its numbers have a bound of their own")
            }
            Self::SquareRoot(root) => {
                let nodes = root.nodes() as f64;
                Size {
                    sum: nodes,
                    denominator: 1.0,
                    weight: nodes,
                }
            }
        }
    }
}

fn within(largest: f64, bits: i32) -> Result<()> {
    if largest < 2_f64.powi(bits) {
        return Ok(());
    }
    Err(too_large(largest, bits))
}

fn too_large(largest: f64, bits: i32) -> Error {
    let expected = format!(
        "parameters whose noise fits into {bits} bits (smaller max_weight, larger epsilon)"
    );
    Error::parameter("max_weight", expected, format!("2^{:.0}", largest.log2()))
}
