//! The tree mechanism: noise from the nodes of a tree over push numbers, rounded exactly.
//!
//! n = 2^k. Nodes: the root with time n; node (d, v), d = 1..k, v < 2^(d-1), with time (2v + 1) n /
//! 2^d. So every p in 1..n is the time of one node, whose id is p. The strategy matrix U is an
//! invertible integer matrix with one row per node, non-zero only at the node's ancestors and the
//! node itself. The mechanism releases P + U^-1 z = U^-1 (U P + z) for the exact prefix counts P:
//! post-processing of an integer query plus noise (docs/theory.md). Privacy needs no other property
//! of U: sensitivity and sizes are recomputed here from the rows, in exact integers, so a bad table
//! costs accuracy, never privacy.
//!
//! Along the path of p the rows form a triangular matrix R, and the weights are the last row of
//! R^-1: an exact rational with denominator the product of the diagonal. Cost of a path: k^2 / 2
//! multiplications, once per push number; cost of a read: k + 1 draws.

pub(super) mod rows;
pub(super) mod solve;
pub mod tables;

use super::path::Path;
use rows::StrategyRows;
use solve::{Facts, solve};
pub(super) use solve::{ancestor_time, node_at};
use tables::{Target, table_for};

/// The tree mechanism with optimised rows for 2^k pushes.
#[derive(Debug, Clone, Copy)]
pub struct Tree {
    rows: &'static StrategyRows,
    facts: &'static Facts,
}

impl Tree {
    /// The smallest table for `leaves` pushes; `None` if there is none.
    pub(super) fn new(leaves: u64, target: Target) -> Option<Self> {
        let (rows, facts) = table_for(leaves, target)?;
        Some(Self { rows, facts })
    }

    pub(super) fn facts(&self) -> &'static Facts {
        self.facts
    }

    pub(super) fn rows(&self) -> &'static StrategyRows {
        self.rows
    }

    pub(super) fn nodes(&self) -> u64 {
        1 << self.rows.depth()
    }

    /// The leaf of least variance after `pushes` < n.
    pub(super) fn quietest_after(&self, pushes: u64) -> u64 {
        self.facts.quietest_after[pushes as usize].into()
    }

    /// The weights of push `p`; a table with any weight too large is rejected when it is loaded.
    pub(super) fn path(&self, p: u64) -> Path {
        let solution =
            solve(self.rows, p).expect("every push was solved when the table was loaded");
        let mut path = Path::new(solution.denominator);
        for (node, numerator) in solution.terms() {
            if planted!("root-left-out-of-the-noise") && node == self.nodes() {
                continue;
            }
            path.add(node, numerator);
        }
        path
    }
}
