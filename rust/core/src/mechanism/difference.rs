//! The variance of the difference of two pushes of one cell.
//!
//! The pushes share the nodes of their common path, so weights are subtracted node by node before
//! they are squared: docs/theory.md, Lemma 12a. Costs the two paths.

use super::{Mechanism, Weights};

impl Mechanism {
    /// True if the noise of a push is one weighted sum of draws, rounded once.
    pub fn has_exact_weights(&self) -> bool {
        matches!(self, Self::Binary(_) | Self::Haar(_) | Self::Tree(_))
    }

    /// Variance of the noise of push `late` minus that of push `early`, in units of sigma^2, before
    /// both are rounded; push 0 has none. `None` where noise is rounded at every node, whose errors
    /// at shared nodes this formula does not have.
    pub fn difference_variance(&self, late: u64, early: u64) -> Option<f64> {
        if early == 0 || planted!("difference-with-the-noise-of-one-prefix") {
            return Some(if late == 0 { 0.0 } else { self.variance(late) });
        }
        let (mut late, early) = (self.terms(late)?, self.terms(early)?);
        for (node, weight) in early {
            match late.iter_mut().find(|(other, _)| *other == node) {
                Some((_, sum)) if !planted!("difference-as-if-independent") => *sum -= weight,
                _ => late.push((node, -weight)),
            }
        }
        Some(late.iter().map(|(_, weight)| weight * weight).sum())
    }

    /// The nodes of a push and their weights.
    fn terms(&self, push: u64) -> Option<Vec<(u64, f64)>> {
        if push == 0 {
            return Some(Vec::new());
        }
        match self.weights(push) {
            Weights::Exact(path) => {
                let denominator = path.denominator() as f64;
                let weight = |(node, numerator)| (node, numerator as f64 / denominator);
                Some(path.terms().map(weight).collect())
            }
            Weights::Real(terms) => Some(terms),
            Weights::ByNode(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mechanism::MechanismKind;

    /// The noise of pushes of the paper's tree is a sum of nodes of weight 1: those that only one of
    /// two pushes has are counted.
    #[test]
    fn the_binary_tree_counts_nodes_of_one_push_only() {
        let mechanism = Mechanism::new(MechanismKind::Binary, 64).unwrap();
        let nodes = |mut push: u64| {
            let mut found = Vec::new();
            while push > 0 {
                found.push(push);
                push &= push - 1;
            }
            found
        };
        for late in 0..=64 {
            for early in 0..=late {
                let (of_late, of_early) = (nodes(late), nodes(early));
                let common = of_late
                    .iter()
                    .filter(|node| of_early.contains(node))
                    .count();
                let expected = of_late.len() + of_early.len() - 2 * common;
                let found = mechanism.difference_variance(late, early).unwrap();
                assert!((found - expected as f64).abs() < 1e-9, "{late} {early}");
            }
        }
    }

    /// |a - b|^2 + |b - c|^2 and |a - c|^2 obey the triangle inequality, and |a - 0|^2 is the variance.
    #[test]
    fn differences_are_squared_distances() {
        for kind in [MechanismKind::Haar, MechanismKind::Tree] {
            let mechanism = Mechanism::new(kind, 32).unwrap();
            let far = |late, early| mechanism.difference_variance(late, early).unwrap().sqrt();
            for a in 1..=33_u64 {
                let whole = mechanism.variance(a).sqrt();
                assert!((far(a, 0) / whole - 1.0).abs() < 1e-12, "{kind:?} {a}");
                assert!(far(a, a) == 0.0, "{kind:?} {a}");
                for b in 0..=33 {
                    assert!((far(a, b) - far(b, a)).abs() < 1e-12, "{kind:?} {a} {b}");
                    for c in 0..=33 {
                        assert!(far(a, c) <= far(a, b) + far(b, c) + 1e-12, "{kind:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn rounding_at_every_node_has_no_such_formula() {
        for kind in [MechanismKind::DeepTree, MechanismKind::Endless] {
            let mechanism = Mechanism::new(kind, 1 << 12).unwrap();
            assert!(!mechanism.has_exact_weights());
            assert_eq!(mechanism.difference_variance(9, 4), None);
            assert_eq!(
                mechanism.difference_variance(9, 0),
                Some(mechanism.variance(9))
            );
        }
    }
}
