//! The final push: which leaf a cell uses when its table is finished, and the noise of the leaf
//! after the last.
//!
//! A cell with p pushes takes as its final push the later leaf with the least variance. The leaves
//! between have no events, so the table that is published is the prefix count at that leaf. A cell
//! that has used every leaf takes one more, n + 1, whose row of the strategy matrix is (-a, a) at
//! the times n and n + 1 with a^2 <= `sensitivity2`: N(n + 1) = N(n) + z / a. A change at or before
//! n cancels in that row, and a change at n + 1 is in no other (docs/theory.md, "The final push").

use super::descent::{Descent, Row};
use super::{Mechanism, Path, Weights};

impl Mechanism {
    /// The leaf after the last of the mechanism, which only a final push can use.
    pub fn extra_leaf(&self) -> u64 {
        self.nodes() + 1
    }

    /// The leaf of the final push of a cell after `pushes` pushes: the later one with the least
    /// variance. If nothing is pending, the last push of a cell may also be its final one.
    pub fn final_push(&self, pushes: u64, nothing_pending: bool) -> u64 {
        let last = self.nodes();
        if planted!("final-push-on-the-old-leaf") && pushes > 0 {
            return pushes;
        }
        if planted!("final-push-on-the-last-leaf") && pushes > 0 {
            return last;
        }
        let later = if pushes >= last {
            self.extra_leaf()
        } else {
            self.quietest_after(pushes)
        };
        let keeps = nothing_pending && pushes > 0;
        if keeps && self.variance(pushes) <= self.variance(later) {
            pushes
        } else {
            later
        }
    }

    /// The leaf of least variance after `pushes`, which is before the last leaf.
    fn quietest_after(&self, pushes: u64) -> u64 {
        match self {
            Self::Binary(binary) => binary.quietest_after(pushes),
            Self::Haar(haar) => haar.quietest_after(pushes),
            Self::Tree(tree) => tree.quietest_after(pushes),
            // Its variances grow with the number of the push.
            Self::SquareRoot(_) => pushes + 1,
            Self::DeepTree(tree) => tree.quiet_after(pushes),
            Self::Endless(tree) => tree.quiet_after(pushes),
        }
    }

    /// The entry a of the extra row: the largest integer whose square is at most `sensitivity2`.
    pub(super) fn extra_entry(&self) -> u64 {
        let sensitivity2 = self.sensitivity2().floor() as u64;
        let entry = sensitivity2.isqrt();
        planted!("extra-row-too-heavy", 2 * entry, entry)
    }

    /// The weights of the extra leaf: N(n) + z / a over one denominator.
    pub(super) fn extra_weights(&self) -> Weights {
        let (last, entry) = (self.nodes(), self.extra_entry());
        let by_node = match self {
            Self::DeepTree(tree) => Some(tree.rows(last)),
            Self::Endless(tree) => Some(tree.rows(last)),
            _ => None,
        };
        if let Some(mut rows) = by_node {
            rows.push(Row {
                node: self.draws(),
                own: entry as i32,
                earlier: vec![(rows.len() - 1, -(entry as i32))],
            });
            return Weights::ByNode(Box::new(Descent::new(&rows)));
        }
        match self.weights(last) {
            Weights::Exact(path) => {
                let denominator = path.denominator();
                let mut extended = Path::new(denominator * u128::from(entry));
                for (node, numerator) in path.terms() {
                    extended.add(node, numerator * i128::from(entry));
                }
                extended.add(self.extra_leaf(), denominator as i128);
                Weights::Exact(Box::new(extended))
            }
            Weights::Real(mut terms) => {
                terms.push((self.extra_leaf(), 1.0 / entry as f64));
                Weights::Real(terms)
            }
            Weights::ByNode(_) => unreachable!("extended above, from its rows"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::MechanismKind;
    use super::*;

    const SMALL: [u64; 9] = [1, 2, 3, 4, 7, 8, 16, 21, 64];
    const LARGE: [u64; 6] = [100, 256, 1000, 1024, 1025, 4096];

    fn mechanisms(leaves: &[u64]) -> Vec<Mechanism> {
        let of = |kind| leaves.iter().flat_map(move |&it| Mechanism::new(kind, it));
        let kinds = MechanismKind::ALL.into_iter();
        // A later epoch can be quieter than one without a horizon looks for: see its own tests.
        let kinds = kinds.filter(|&kind| kind != MechanismKind::Endless);
        kinds.flat_map(of).collect()
    }

    /// The definition: over all later leaves, and the extra one.
    fn assert_quietest(leaves: &[u64]) {
        for mechanism in mechanisms(leaves) {
            let last = mechanism.nodes();
            let variances: Vec<f64> = (1..=last + 1).map(|p| mechanism.variance(p)).collect();
            let mut least = f64::INFINITY;
            for pushes in (0..=last).rev() {
                least = least.min(variances[pushes as usize]);
                let found = mechanism.final_push(pushes, false);
                assert!(found > pushes && found <= last + 1);
                let variance = variances[found as usize - 1];
                assert!(variance <= least * (1.0 + 1e-12), "{mechanism:?} {pushes}");
                let kept = mechanism.final_push(pushes, true);
                assert!(kept == found || kept == pushes);
                if pushes > 0 {
                    let before = variances[pushes as usize - 1];
                    assert_eq!(kept == pushes, before <= variance, "{mechanism:?} {pushes}");
                }
            }
        }
    }

    #[test]
    fn no_later_leaf_of_few_has_less_variance() {
        assert_quietest(&SMALL);
    }

    #[test]
    fn no_later_leaf_of_many_has_less_variance() {
        assert_quietest(&LARGE);
    }

    /// Variance of the extra leaf: that of the last and, in units of the sensitivity S, S / a^2. For
    /// a = floor(sqrt(S)) that is below 4, and at most 1.6 for the trees. The square root has a > 1
    /// only from 2^14 leaves on.
    #[test]
    fn the_extra_leaf_costs_about_one() {
        let root = Mechanism::new(MechanismKind::SquareRoot, 1 << 14).unwrap();
        assert_eq!(root.extra_entry(), 2);
        let all = [&SMALL[..], &LARGE].concat();
        for mechanism in mechanisms(&all).into_iter().chain([root]) {
            let last = mechanism.variance(mechanism.nodes());
            let more = mechanism.variance(mechanism.extra_leaf()) - last;
            let scaled = more * mechanism.sensitivity2();
            assert!(
                (1.0 - 1e-9..4.0).contains(&scaled),
                "{mechanism:?} {scaled}"
            );
            if let Mechanism::Tree(_) | Mechanism::Haar(_) = mechanism {
                assert!(scaled < 1.6, "{mechanism:?} {scaled}");
            }
        }
    }
}
