//! Haar rows of the [tree mechanism](super::tree), in closed form for any number of pushes.
//!
//! Row of a node: -2 on the two times that bound its block (time 0 has no node), 4 on the node
//! itself, 3 at the root. Then N(root) = z / 3 and N(mid) = (N(left) + N(right)) / 2 + z / 4: in
//! closed form N(p) = (p / n) z_root / 3 + sum over d of hat_d(p) z_d / 4, where hat_d is the
//! triangle over the depth-d block of p. A unit step changes the root's query by 3 and one node
//! per depth by 2: sensitivity2 = 4 k + 9. Prefer the optimised tables up to 2^14 pushes.

use super::path::Path;

/// The tree mechanism with Haar rows for 2^k pushes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Haar {
    depth: u32,
}

impl Haar {
    /// For the smallest power of two that is at least `leaves`.
    pub(super) fn new(leaves: u64) -> Self {
        Self {
            depth: leaves.next_power_of_two().ilog2(),
        }
    }

    pub(super) fn sensitivity2(&self) -> u64 {
        let root = planted!("haar-sensitivity-without-the-root", 0, 9);
        4 * u64::from(self.depth) + root
    }

    pub(super) fn nodes(&self) -> u64 {
        1 << self.depth
    }

    pub(super) fn nodes_per_leaf(&self) -> u64 {
        u64::from(self.depth) + 1
    }

    /// Largest sum of |numerators| over all pushes, and the denominator.
    pub(super) fn size(&self) -> (f64, f64) {
        let n = (1_u64 << self.depth) as f64;
        (2.0 * n + f64::from(self.depth) * 1.5 * n, 6.0 * n)
    }

    /// The leaf of least variance after `pushes` < n. At 2^j it is 1/12 + 4^(j-k) / 36 <= 1/9, and
    /// between two powers of two at least 1/8: 1/16 for the node itself, and 1/16 for a weighted
    /// mean of N(2^j) = N(2^(j+1)) / 2 + z / 4 and N(2^(j+1)).
    pub(super) fn quietest_after(&self, pushes: u64) -> u64 {
        (pushes + 1).next_power_of_two()
    }

    /// Over the denominator 6 n = 3 * 2^(k+1): numerator 2 p at the root and
    /// 3 * 2^(d-1) * min(r, s - r) at depth d, with s = n / 2^(d-1) and r = p mod s.
    pub(super) fn path(&self, p: u64) -> Path {
        let n = 1_u64 << self.depth;
        debug_assert!((1..=n).contains(&p));
        let mut path = Path::new(6 * u128::from(n));
        path.add(n, 2 * i128::from(p));
        for depth in 1..=self.depth {
            let block = n >> (depth - 1);
            let within = p & (block - 1);
            if within == 0 {
                break;
            }
            let node = p - within + block / 2;
            let hat = within.min(block - within);
            path.add(node, 3 * (i128::from(hat) << (depth - 1)));
        }
        path
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_equal_the_recursive_definition() {
        for k in 1..=6_u32 {
            let haar = Haar { depth: k };
            let n = 1_u64 << k;
            for p in 1..=n {
                let path = haar.path(p);
                assert_eq!(path.denominator(), 6 * u128::from(n));
                for node in 1..=n {
                    let weight: i128 = path.terms().filter(|t| t.0 == node).map(|t| t.1).sum();
                    assert_eq!(
                        weight << k,
                        recursive_scaled(k, p, node),
                        "k {k} p {p} v {node}"
                    );
                }
            }
        }
    }

    /// N(p) for z = 1 at `node`, 0 elsewhere, by the midpoint rule; in units of 1 / (6 n 2^k), so
    /// that every halving is exact.
    fn recursive_scaled(k: u32, p: u64, node: u64) -> i128 {
        fn value(n: u64, p: u64, node: u64, unit: i128) -> i128 {
            if p == 0 {
                return 0;
            }
            if p == n {
                return if node == p { unit / 3 } else { 0 };
            }
            let half = 1 << p.trailing_zeros();
            let own = if node == p { unit / 4 } else { 0 };
            own + (value(n, p - half, node, unit) + value(n, p + half, node, unit)) / 2
        }
        let n = 1_u64 << k;
        value(n, p, node, (6 * i128::from(n)) << k)
    }

    /// Rows of U by definition; the change of all queries under a step at leaf l.
    #[test]
    fn sensitivity_by_brute_force() {
        for k in 0..=7_u32 {
            let (n, haar) = (1_u64 << k, Haar { depth: k });
            let largest = (1..=n).map(|leaf| {
                let step = |time: u64| i64::from(time >= leaf && time > 0);
                let inner = (1..n).map(|p| {
                    let half = 1 << p.trailing_zeros();
                    4 * step(p) - 2 * step(p - half) - 2 * step(p + half)
                });
                let changes: Vec<_> = inner.chain([3 * step(n)]).collect();
                let nodes = changes.iter().filter(|&&change| change != 0).count() as u64;
                assert!(nodes <= haar.nodes_per_leaf());
                changes
                    .iter()
                    .map(|change| (change * change) as u64)
                    .sum::<u64>()
            });
            assert_eq!(largest.max().unwrap(), haar.sensitivity2(), "k {k}");
        }
    }

    #[test]
    fn size_bounds_every_path() {
        for (k, size) in [(0, (2.0, 6.0)), (1, (7.0, 12.0)), (4, (128.0, 96.0))] {
            assert_eq!(Haar { depth: k }.size(), size);
        }
        for k in 0..=9 {
            let (sum, denominator) = Haar { depth: k }.size();
            for p in 1..=1_u64 << k {
                let path = Haar { depth: k }.path(p);
                let actual: i128 = path.terms().map(|(_, numerator)| numerator).sum();
                assert!(actual as f64 <= sum);
                assert_eq!(path.denominator() as f64, denominator);
            }
        }
    }
}
