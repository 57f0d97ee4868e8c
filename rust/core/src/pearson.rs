//! Tests of a distribution for the tests of this crate: Pearson's statistic of a histogram, and the
//! share of one of two outcomes. Both are two-sided and have the false-alarm rate [`FALSE_ALARM`].
//!
//! A histogram has at most 68 classes between fixed quantiles, so that a wrong scale, shape or tail
//! shows with the same number of draws at every scale. Its statistic is too large if the
//! distribution is wrong, and too small if draws are more regular than random ones. Critical values
//! by Wilson and Hilferty. A share uses Chernoff's bound.
//!
//! Keys are fixed, so a pass stays a pass; the rate is that over keys. Power: docs/testing.md.

/// False-alarm rate of one test, both sides together.
pub(crate) const FALSE_ALARM: f64 = 1e-6;
/// Normal quantile of one side.
const QUANTILE: f64 = 4.891_638_475_714_779;
/// Draws of a histogram; the rarest class expects 40 of them.
pub(crate) const DRAWS: u64 = 400_000;
/// Probabilities beyond the outermost edges.
const RARE: [f64; 2] = [1e-4, 1e-3];

/// Classes of integers with their probabilities under the claim.
pub(crate) struct Classes {
    /// The largest integer of each class but the last.
    edges: Vec<i64>,
    probabilities: Vec<f64>,
}

impl Classes {
    /// Classes of about equal probability, and rarer ones in both tails; `below` is P(Z <= x), and
    /// values beyond `reach` are rarer than all of them.
    pub(crate) fn new(below: impl Fn(i64) -> f64, reach: i64) -> Self {
        let inner = (1..64).map(|k| f64::from(k) / 64.0);
        let levels = RARE.into_iter().chain(inner).chain(RARE.map(|p| 1.0 - p));
        let mut edges: Vec<i64> = levels
            .map(|level| {
                let (mut low, mut high) = (-reach, reach);
                while low < high {
                    let middle = low + (high - low).div_euclid(2);
                    if below(middle) >= level {
                        high = middle;
                    } else {
                        low = middle + 1;
                    }
                }
                high
            })
            .collect();
        edges.sort_unstable();
        edges.dedup();
        let mut cumulated: Vec<f64> = edges.iter().map(|&edge| below(edge)).collect();
        cumulated.push(1.0);
        let mut last = 0.0;
        let probabilities = cumulated
            .into_iter()
            .map(|p| p - std::mem::replace(&mut last, p));
        Self {
            probabilities: probabilities.collect(),
            edges,
        }
    }

    /// Pearson's statistic of the values, within its limits or not.
    pub(crate) fn verdict(&self, values: impl Iterator<Item = i64>) -> Verdict {
        let mut observed = vec![0_u64; self.probabilities.len()];
        for value in values {
            observed[self.edges.partition_point(|&edge| edge < value)] += 1;
        }
        let total: u64 = observed.iter().sum();
        let terms = observed.iter().zip(&self.probabilities).map(|(&seen, p)| {
            let expected = total as f64 * p;
            (seen as f64 - expected).powi(2) / expected
        });
        let freedom = observed.len() as f64 - 1.0;
        let (spread, statistic) = (2.0 / (9.0 * freedom), terms.sum());
        let limit = |side: f64| freedom * (1.0 - spread + side * spread.sqrt()).max(0.0).powi(3);
        Verdict {
            statistic,
            low: limit(-QUANTILE),
            high: limit(QUANTILE),
        }
    }
}

/// A statistic with its critical values.
#[derive(Debug)]
pub(crate) struct Verdict {
    statistic: f64,
    low: f64,
    high: f64,
}

impl Verdict {
    /// True if the statistic is neither too large nor too small.
    pub(crate) fn fits(&self) -> bool {
        self.low < self.statistic && self.statistic < self.high
    }
}

/// True if this many of `total` outcomes are consistent with the probability: the relative entropy
/// of the two coins, times `total`, is below its limit by Chernoff's bound for two outcomes.
pub(crate) fn share_fits(count: u64, total: u64, probability: f64) -> bool {
    let part = |f: f64, p: f64| if f > 0.0 { f * (f / p).ln() } else { 0.0 };
    let f = count as f64 / total as f64;
    let entropy = part(f, probability) + part(1.0 - f, 1.0 - probability);
    (total as f64) * entropy < (4.0 / FALSE_ALARM).ln()
}

/// The finaliser of SplitMix64.
fn mixed(x: u64) -> u64 {
    let x = (x + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let x = (x ^ x >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let x = (x ^ x >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ x >> 31
}

/// Draws that are more regular than random ones fail, as wrong ones do.
#[test]
fn a_histogram_is_tested_on_both_sides() {
    let uniform = Classes::new(|x| ((x + 1) as f64 / 40e3).clamp(0.0, 1.0), 40_000);
    let random = |below: u64| (0..DRAWS).map(move |x| (mixed(x) % below) as i64);
    assert!(uniform.verdict(random(40_000)).fits());
    let regular = uniform.verdict((0..DRAWS).map(|x| (x % 40_000) as i64));
    assert!(regular.statistic < regular.low && !regular.fits());
    let narrow = uniform.verdict(random(39_000));
    assert!(narrow.statistic > narrow.high && !narrow.fits());
}

#[test]
fn a_share_is_tested_on_both_sides() {
    assert!(share_fits(2_500, 40_000, 1.0 / 16.0));
    for wrong in [2_200, 2_800, 0, 40_000] {
        assert!(!share_fits(wrong, 40_000, 1.0 / 16.0), "{wrong}");
    }
}
