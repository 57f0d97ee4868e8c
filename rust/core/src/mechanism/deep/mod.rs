//! The tree mechanism for any number of pushes, with rows that the nodes of a depth share.
//!
//! Nodes, times and ancestors are those of [the tree](super::tree). The nodes of depth 0 to 7 have rows
//! of their own. A deeper node takes one of 64 rows by its last 6 turns: entries on itself, on its 6
//! nearest ancestors and on the right end of the block of the 6th, and minus their sum on the left
//! end of that block (nothing at time 0). The last three depths have 64 rows each, all other depths
//! share 64. So one small table serves every number of pushes, and the row of a node does not
//! change the exact sums of leaves outside the block of its 6th ancestor: see [`sensitivity`].
//!
//! If the number of pushes is well below 2^k, a table is used whose first rows were optimised for the
//! first 9, 10, 12 or 14 sixteenths of the leaves, and whose sensitivity is that of those leaves.
//!
//! Noise is rounded at every node: see [`descent`](super::descent).

pub(super) mod sensitivity;
pub(super) mod tables;

use super::descent::{Descent, Row};
use super::quietest_end::quietest_end;
use super::tree::{ancestor_time, node_at};
use tables::{SharedRows, table_for};

pub(super) use tables::DEEPEST;

/// The tree mechanism with shared rows for a number of pushes.
#[derive(Debug, Clone, Copy)]
pub struct DeepTree {
    rows: &'static SharedRows,
    depth: u32,
    sensitivity2: u64,
    nodes_per_leaf: u64,
}

impl DeepTree {
    /// The smallest tree for `leaves` pushes, at most 2^[`DEEPEST`]; `None` if its table is refused.
    pub(super) fn new(leaves: u64) -> Option<Self> {
        let (rows, depth) = table_for(leaves)?;
        let examined = planted!("sensitivity-of-a-smaller-tree", depth - 1, depth);
        let (sensitivity2, nodes_per_leaf) = rows.heaviest_leaf(examined);
        Some(Self {
            rows,
            depth,
            sensitivity2,
            nodes_per_leaf,
        })
    }

    pub(super) fn sensitivity2(&self) -> u64 {
        self.sensitivity2
    }

    pub(super) fn nodes_per_leaf(&self) -> u64 {
        self.nodes_per_leaf
    }

    /// Most pushes: all leaves, or the first sixteenths that the table is made for.
    pub(super) fn leaves(&self) -> u64 {
        (self.rows.sixteenths() << self.depth) / 16
    }

    /// Nodes are numbered from 1 to this, by their times.
    pub(super) fn last_node(&self) -> u64 {
        1 << self.depth
    }

    /// k, and the digest of the table.
    pub(super) fn table(&self) -> (u64, [u8; 16]) {
        (self.depth.into(), self.rows.digest())
    }

    /// The file of the table.
    pub(super) fn file(&self) -> &'static [i16] {
        self.rows.file()
    }

    /// A bound on every number of every path, for draws of at most `largest`.
    pub(super) fn largest_number(&self, largest: f64) -> f64 {
        self.rows.largest_number(self.depth, largest)
    }

    /// The leaf after `pushes` with the least variance among the next one and the right ends of the
    /// blocks that it lies in.
    pub(super) fn quiet_after(&self, pushes: u64) -> u64 {
        quietest_end(pushes, self.leaves(), |end| self.path(end).variance())
    }

    /// The rows on the path of push `p`, root first.
    pub(super) fn rows(&self, p: u64) -> Vec<Row> {
        let (d, v) = node_at(self.depth, p);
        (0..=d)
            .map(|i| {
                let index = if i == 0 { 0 } else { v >> (d - i) };
                self.row(i, index)
            })
            .collect()
    }

    pub(super) fn path(&self, p: u64) -> Descent {
        Descent::new(&self.rows(p))
    }

    /// The row of node (d, v); positions on the path are depths.
    fn row(&self, d: u32, v: u64) -> Row {
        let (own, earlier) = self.rows.row(self.depth, d, v);
        Row {
            node: ancestor_time(self.depth, d, v, d),
            own,
            earlier,
        }
    }
}

#[cfg(test)]
mod tests;
