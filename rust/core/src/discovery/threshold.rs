//! Number of events that a name needs in Misra-Gries before it may be published.
//!
//! One *unit* is one event counted or not. It is (epsilon, delta)-DP (docs/theory.md, "Discovery") with
//! the smallest tau with P(shared + max(own, own') >= tau - 1) <= delta, because two keys at most differ
//! between neighbouring tables, and each has a count of at most one.
//!
//! Tails are closed forms and finite sums of the distribution that is drawn, each too large by a
//! factor below [`MARGIN`]: the threshold may be one too large, never too small.

use super::laplace::DiscreteLaplace;

/// Covers the distance between the untruncated distribution at a slightly smaller epsilon and the
/// one drawn (below 2^-23), and the floating-point error of the sums (below 2^-34).
const MARGIN: f64 = 1.0 + 1.0 / (1 << 20) as f64;

/// The smallest valid threshold for Misra-Gries.
pub(crate) fn misra_gries(laplace: &DiscreteLaplace, delta: f64) -> i64 {
    smallest(|excess| largest_of_two(laplace, excess), delta) + 1
}

/// The smallest count that reaches a threshold with this probability, shared and own noise added.
pub(crate) fn sure_count(laplace: &DiscreteLaplace, threshold: i64, probability: f64) -> i64 {
    let reached = |above: i64| {
        let reach = laplace.reach();
        let terms = (-reach..=reach)
            .map(|shared| laplace.probability(shared) * laplace.tail(-above - shared));
        terms.sum::<f64>()
    };
    threshold + smallest(|above| 1.0 - reached(above), 1.0 - probability)
}

/// Upper bound on P(shared + max(own, own') >= excess).
fn largest_of_two(laplace: &DiscreteLaplace, excess: i64) -> f64 {
    let reach = laplace.reach();
    let near = (-reach..=excess + reach).map(|shared| {
        let one = laplace.tail(excess - shared);
        laplace.probability(shared) * one * (2.0 - one)
    });
    // The rest: shared noise beyond both ends, bounded over all values of the others.
    near.sum::<f64>()
        + laplace.tail(excess + reach + 1)
        + 2.0 * laplace.tail(reach + 1) * laplace.tail(excess + reach)
}

/// The smallest excess of at least 0 whose probability, a decreasing function, is at most `delta`.
fn smallest(probability: impl Fn(i64) -> f64, delta: f64) -> i64 {
    let served = |excess| probability(excess) * MARGIN <= delta;
    let (mut low, mut high) = (-1, 1); // not sufficient, or not tested; sufficient
    while !served(high) {
        low = high;
        high *= 2;
    }
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if served(middle) {
            high = middle;
        } else {
            low = middle;
        }
    }
    high
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sum of three independent draws by brute force.
    #[test]
    fn thresholds_equal_their_definitions() {
        for epsilon in [0.05, 0.25, 0.5, 1.0, 3.0] {
            for delta in [0.2, 1e-2, 1e-6, 1e-12] {
                let laplace = DiscreteLaplace::new(epsilon);
                let tau = misra_gries(&laplace, delta);
                assert!(brute_force(&laplace, tau - 1) <= delta);
                assert!(tau == 1 || brute_force(&laplace, tau - 2) > delta);
            }
        }
    }

    /// The sum of two draws is symmetric, and its variance is that of two.
    #[test]
    fn sure_counts_are_quantiles_of_two_draws() {
        for epsilon in [0.3, 0.5, 2.0] {
            let laplace = DiscreteLaplace::new(epsilon);
            let at_least = |x: i64| -> f64 {
                let reach = laplace.reach();
                let pairs = (-reach..=reach).flat_map(|a| (-reach..=reach).map(move |b| (a, b)));
                let found = pairs.filter(|(a, b)| a + b >= x);
                found
                    .map(|(a, b)| laplace.probability(a) * laplace.probability(b))
                    .sum()
            };
            let above = sure_count(&laplace, 100, 0.95) - 100;
            assert!(
                at_least(-above) >= 0.95 && at_least(1 - above) < 0.95,
                "{epsilon}"
            );
        }
    }

    /// A probability below delta by less than the margin is not accepted; by more, it is.
    #[test]
    fn thresholds_keep_the_margin() {
        let halves = |excess: i64| 2_f64.powi(-excess as i32);
        for excess in [0, 1, 2, 10, 40] {
            let delta = |slack: i32| halves(excess) * (1.0 + 2_f64.powi(slack));
            assert_eq!(smallest(halves, delta(-21)), excess + 1);
            assert_eq!(smallest(halves, delta(-19)), excess);
        }
    }

    /// Far beyond all thresholds, where both noises are needed to come there.
    #[test]
    fn tails_of_two_equal_their_definition_everywhere() {
        for epsilon in [0.25, 1.0, 3.0] {
            let laplace = DiscreteLaplace::new(epsilon);
            let reach = laplace.reach();
            for excess in [0, 1, 7, reach / 2, reach, 2 * reach, 5 * reach] {
                let ends = excess + 3 * reach;
                let terms = (-ends..=ends).map(|shared| {
                    let own = laplace.tail(excess - shared);
                    laplace.probability(shared) * (own + own - own * own)
                });
                let ratio = largest_of_two(&laplace, excess) / terms.sum::<f64>();
                assert!((ratio - 1.0).abs() < 1e-11, "{epsilon} {excess}: {ratio}");
            }
        }
    }

    /// P(shared + max(own, own') >= excess), summed directly over the shared draw.
    fn brute_force(laplace: &DiscreteLaplace, excess: i64) -> f64 {
        let reach = excess + 3 * laplace.reach();
        let mut below = 1.0; // P(own < x), running down from x = excess + reach
        let mut total = 0.0;
        for shared in -reach..=reach {
            below -= laplace.probability(excess - shared);
            let below = if excess - shared > 0 {
                1.0 - laplace.tail(excess - shared)
            } else {
                below.max(0.0)
            };
            total += laplace.probability(shared) * (1.0 - below * below);
        }
        total
    }
}
