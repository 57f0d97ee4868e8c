//! The paper's Gaussian binary mechanism (GaussBM), without its stored nodes.
//!
//! The nodes of the binary tree over time are numbered as in a Fenwick tree: node v covers the
//! leaves v - lowbit(v) + 1 ..= v. The release of push p is the sum of the nodes p, p - lowbit(p),
//! ... (its binary expansion); leaf l is in the nodes l, l + lowbit(l), ... <= n, at most
//! floor(log2 n) + 1 of them. Cost of a read: popcount(p) draws. For comparison with the
//! literature; [`super::tree`] has several times less variance.

use super::path::Path;
use super::quietest_end::quietest_end;

/// GaussBM for `leaves` pushes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Binary {
    leaves: u64,
}

impl Binary {
    pub(super) fn new(leaves: u64) -> Self {
        Self { leaves }
    }

    pub(super) fn sensitivity2(&self) -> u64 {
        u64::from(self.leaves.ilog2()) + 1
    }

    pub(super) fn nodes(&self) -> u64 {
        self.leaves
    }

    pub(super) fn nodes_per_leaf(&self) -> u64 {
        self.sensitivity2()
    }

    /// The leaf of least variance after `pushes` < n, which is that with the fewest ones in binary.
    /// With the highest bit that becomes one, only the lower ones can become zero.
    pub(super) fn quietest_after(&self, pushes: u64) -> u64 {
        quietest_end(pushes, self.leaves, |leaf| leaf.count_ones().into())
    }

    pub(super) fn path(&self, p: u64) -> Path {
        debug_assert!((1..=self.leaves).contains(&p));
        let mut path = Path::new(1);
        let mut node = p;
        while node > 0 {
            path.add(node, 1);
            node &= node - 1;
        }
        path
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Leaf l is in node v if and only if v - lowbit(v) < l <= v.
    fn covers(node: u64, leaf: u64) -> bool {
        node - (node & node.wrapping_neg()) < leaf && leaf <= node
    }

    #[test]
    fn every_release_covers_each_earlier_leaf_once_and_no_later_one() {
        let mechanism = Binary::new(100);
        for p in 1..=100 {
            let path = mechanism.path(p);
            for leaf in 1..=100 {
                let times = path.terms().filter(|&(node, _)| covers(node, leaf)).count();
                assert_eq!(times, usize::from(leaf <= p), "push {p}, leaf {leaf}");
            }
        }
    }

    #[test]
    fn sensitivity_is_the_largest_number_of_nodes_of_a_leaf() {
        for leaves in 1..=130 {
            let nodes_of = |leaf| (1..=leaves).filter(|&node| covers(node, leaf)).count() as u64;
            let largest = (1..=leaves).map(nodes_of).max().unwrap();
            assert_eq!(
                Binary::new(leaves).sensitivity2(),
                largest,
                "{leaves} leaves"
            );
        }
    }
}
