//! Discrete Laplace draws, as the difference of two geometric draws; exact, without floating point
//! in a draw.
//!
//! The binary digits of a geometric variable, P(j) proportional to e^(-epsilon j), are independent:
//! digit i is one with odds e^(-epsilon 2^i). So a draw compares L 128-bit blocks with integer
//! thresholds, always all of them, in constant time. Each digit has its own block, at (slot, which
//! of the two variables, digit) under the epoch's key.
//!
//! **The exact distribution.** Let a_i be the thresholds, p_i = a_i 2^-128, o_i = p_i / (1 - p_i).
//! Then w_j = P(G = j) is the product over i of p_i or 1 - p_i, as digit i of j is one or zero, for
//! j = 0 .. 2^L - 1. The step from j to j + 1 flips a run of ones and one zero, so w_j / w_(j+1) =
//! o_0 .. o_(i-1) / o_i. The thresholds are computed at [`SLACK`] below epsilon, which covers the
//! floating-point error: o_i >= e^-epsilon o_0 .. o_(i-1) holds as an inequality of exact numbers,
//! hence w_j <= e^epsilon w_(j+1) for all j but the last. For Z = G - G' and any set S of integers
//! this gives
//!
//! > P(Z + 1 in S) <= e^epsilon P(Z in S) + w_last, and the same for Z - 1,
//!
//! by pairing the terms w_(j+z) w_j of P(Z = z) with w_(j+z+1) w_j for Z + 1 and with w_(j+z+1)
//! w_(j+1) for Z - 1. There is no error in epsilon; [`DiscreteLaplace::last`] bounds w_last, at
//! most e^-60, which is paid from delta.
//!
//! Rejected alternatives: a sign bit on a magnitude doubles P(0); the logarithm of a uniform float
//! has no exact distribution near its ends.

use crate::noise::prf::{NoiseFunction, packed};

/// Smallest epsilon of one unit: below it, thresholds are tens of thousands of events.
pub(crate) const SMALLEST_EPSILON: f64 = 1.0 / 1024.0;
/// Largest epsilon of the draws; larger values use this one.
pub(crate) const LARGEST_EPSILON: f64 = 8.0;
/// Subtracted from epsilon before the thresholds are computed.
const SLACK: f64 = f64::from_bits((1023 - 42) << 52);
/// -ln of the bound on the probability of the last value.
const REACH: f64 = 60.0;
/// 2^17 > 60 / [`SMALLEST_EPSILON`].
const MOST_DIGITS: usize = 17;
/// Draws whose blocks are computed together.
const AT_ONCE: usize = 16;

/// The distribution at one epsilon.
#[derive(Debug, Clone)]
pub(crate) struct DiscreteLaplace {
    /// Epsilon less [`SLACK`], at which the closed forms of tails are evaluated.
    epsilon: f64,
    thresholds: [u128; MOST_DIGITS],
    digits: usize,
}

impl DiscreteLaplace {
    /// The caller has checked [`SMALLEST_EPSILON`] <= epsilon <= [`LARGEST_EPSILON`].
    pub(crate) fn new(epsilon: f64) -> Self {
        debug_assert!((SMALLEST_EPSILON..=LARGEST_EPSILON).contains(&epsilon));
        let epsilon = epsilon - SLACK;
        let epsilon = planted!("laplace-scale-5-percent-low", 1.05 * epsilon, epsilon);
        let reached = |digits: &usize| ((1_u64 << digits) - 1) as f64 * epsilon >= REACH;
        let digits = (1..=MOST_DIGITS).find(reached).unwrap_or(MOST_DIGITS);
        let threshold = |digit: usize| {
            let odds = libm::exp(-epsilon * (1_u64 << digit) as f64);
            (odds / (1.0 + odds) * TWO_POW_128).ceil() as u128
        };
        Self {
            epsilon,
            thresholds: std::array::from_fn(|i| if i < digits { threshold(i) } else { 0 }),
            digits,
        }
    }

    /// The draw of one slot.
    pub(crate) fn draw(&self, prf: &NoiseFunction, slot: u64) -> i64 {
        let mut out = [0];
        self.draws(prf, slot, &mut out);
        out[0]
    }

    /// Writes the draws of the slots from `first` on to `out`.
    pub(crate) fn draws(&self, prf: &NoiseFunction, first: u64, out: &mut [i64]) {
        let mut blocks = [0; AT_ONCE * 2 * MOST_DIGITS];
        let length = 2 * self.digits;
        for (slots, out) in (first..).step_by(AT_ONCE).zip(out.chunks_mut(AT_ONCE)) {
            let blocks = &mut blocks[..out.len() * length];
            for (slot, blocks) in (slots..).zip(blocks.chunks_exact_mut(length)) {
                let (one, other) = blocks.split_at_mut(self.digits);
                for (digit, (one, other)) in (0..).zip(one.iter_mut().zip(other)) {
                    *one = packed(slot, digit);
                    let is_shared = planted!("both-geometric-draws-share-a-digit") && digit == 0;
                    *other = packed(slot, if is_shared { 0 } else { 1 << 8 | digit });
                }
            }
            prf.encrypt(blocks);
            for (out, blocks) in out.iter_mut().zip(blocks.chunks_exact(length)) {
                let (one, other) = blocks.split_at(self.digits);
                *out = self.geometric(one) - self.geometric(other);
            }
        }
    }

    /// The geometric variable with these blocks for its digits.
    #[inline]
    fn geometric(&self, blocks: &[u128]) -> i64 {
        let digits = blocks.iter().zip(&self.thresholds).enumerate();
        digits
            .map(|(digit, (block, threshold))| i64::from(block < threshold) << digit)
            .sum()
    }

    /// Blocks per draw.
    pub(crate) fn blocks_per_draw(&self) -> u64 {
        2 * self.digits as u64
    }

    /// The thresholds of the digits: their probabilities times 2^128, which tests recompute.
    pub(crate) fn thresholds(&self) -> &[u128] {
        &self.thresholds[..self.digits]
    }

    /// An upper bound on the probability of the largest geometric value.
    pub(crate) fn last(&self) -> f64 {
        let product: f64 = self
            .thresholds()
            .iter()
            .map(|&threshold| threshold as f64 / TWO_POW_128)
            .product();
        product * 1.001
    }

    /// P(Z >= x) of the untruncated distribution at `epsilon - SLACK`.
    pub(crate) fn tail(&self, x: i64) -> f64 {
        let ratio = libm::exp(-self.epsilon);
        let upper = |x: i64| libm::exp(-self.epsilon * x as f64) / (1.0 + ratio);
        if x >= 0 { upper(x) } else { 1.0 - upper(1 - x) }
    }

    /// P(Z = x) of the untruncated distribution at `epsilon - SLACK`.
    pub(crate) fn probability(&self, x: i64) -> f64 {
        let ratio = libm::exp(-self.epsilon);
        -libm::expm1(-self.epsilon) / (1.0 + ratio)
            * libm::exp(-self.epsilon * x.unsigned_abs() as f64)
    }

    /// Smallest number of events at which a tail is below e^-60.
    pub(crate) fn reach(&self) -> i64 {
        (REACH / self.epsilon).ceil() as i64
    }
}

const TWO_POW_128: f64 = f64::from_bits((1023 + 128) << 52);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::{MasterKey, Purpose, SketchId};
    use crate::pearson::{Classes, DRAWS, Verdict};

    fn source(epoch: u64) -> NoiseFunction {
        let key = MasterKey::seeded(2026).derive_wide(
            Purpose::Discovery,
            &SketchId([0; 16]),
            b"discrete Laplace",
        );
        NoiseFunction::new(&key.of_epoch(epoch))
    }

    /// Pins key derivation, packing, thresholds and digits together.
    #[test]
    fn golden_draws() {
        let (laplace, prf) = (DiscreteLaplace::new(0.125), source(3));
        let draws: Vec<i64> = (0..12).map(|slot| laplace.draw(&prf, slot)).collect();
        assert_eq!(draws, GOLDEN);
        assert_ne!(draws[0], laplace.draw(&source(4), 0));
    }

    const GOLDEN: [i64; 12] = [6, 10, 7, -11, 7, 4, 16, 31, 13, 6, 2, 6];

    /// w_j <= e^epsilon w_(j+1), on which all privacy of a draw rests, from the thresholds in use;
    /// the exact version, in rational numbers, is in tests/test_discovery_enumeration.py.
    #[test]
    fn no_step_loses_more_than_epsilon() {
        for epsilon in [SMALLEST_EPSILON, 0.01, 0.3, 0.5, 1.0, 2.5, LARGEST_EPSILON] {
            let laplace = DiscreteLaplace::new(epsilon);
            let mut below = 0.0; // ln of the product of lower odds
            for &threshold in laplace.thresholds() {
                let p = threshold as f64 / TWO_POW_128;
                let odds = libm::log(p) - libm::log1p(-p);
                // Logarithms up to 120 in doubles: error of at most 2^-44.
                assert!(odds >= below - epsilon - 2_f64.powi(-44), "{epsilon}");
                assert!(odds <= below - epsilon + 2_f64.powi(-30), "{epsilon}");
                below += odds;
            }
            assert!(laplace.last() < 1e-25);
        }
    }

    /// 1 / (1 + e^((epsilon - 2^-42) 2^i)) by 300-bit arithmetic (mpmath). Without the slack the
    /// first three would differ by 1e-13 and more.
    #[test]
    fn thresholds_equal_high_precision_arithmetic() {
        for (epsilon, digit, expected) in [
            (0.125, 0, 0.468_790_626_626_300_4),
            (0.125, 3, 0.268_941_421_370_352_76),
            (0.125, 6, 3.353_501_304_713_571e-4),
            (1.0, 0, 0.268_941_421_370_039_85),
            (1.0, 3, 3.353_501_304_670_879e-4),
            (1.0, 5, 1.266_416_554_918_615_9e-14),
        ] {
            let laplace = DiscreteLaplace::new(epsilon);
            let found = laplace.thresholds()[digit] as f64 / TWO_POW_128;
            assert!(
                (found / expected - 1.0).abs() < 4e-15,
                "{epsilon} {digit}: {found:e}"
            );
        }
    }

    /// A digit is one for exactly as many of the 2^128 blocks as its threshold says.
    #[test]
    fn digits_are_ones_below_their_thresholds() {
        let laplace = DiscreteLaplace::new(0.3);
        let mut blocks = laplace.thresholds().to_vec();
        assert_eq!(laplace.geometric(&blocks), 0);
        for digit in 0..blocks.len() {
            blocks[digit] -= 1;
            assert_eq!(laplace.geometric(&blocks), 1 << digit);
            blocks[digit] += 1;
        }
    }

    /// The smallest number of digits that reaches e^-60, two blocks for each, and an upper bound on
    /// the probability of the last value that is at most 1 % too large.
    #[test]
    fn digits_reach_the_last_value() {
        for epsilon in [SMALLEST_EPSILON, 0.01, 0.3, 1.0, LARGEST_EPSILON] {
            let laplace = DiscreteLaplace::new(epsilon);
            let digits = laplace.thresholds().len();
            let largest = |digits: usize| ((1_u64 << digits) - 1) as f64 * epsilon;
            assert!(
                largest(digits) >= 60.0 && largest(digits - 1) < 60.0,
                "{epsilon}"
            );
            assert_eq!(laplace.blocks_per_draw(), 2 * digits as u64);
            let logarithms = laplace
                .thresholds()
                .iter()
                .map(|&t| libm::log(t as f64 / TWO_POW_128));
            let exact = libm::exp(logarithms.sum::<f64>());
            assert!((1.0..1.01).contains(&(laplace.last() / exact)), "{epsilon}");
            let reach = laplace.reach() as f64 * epsilon;
            assert!((60.0..60.0 + 2.0 * epsilon).contains(&reach), "{reach}");
        }
    }

    #[test]
    fn tails_and_probabilities_agree() {
        let laplace = DiscreteLaplace::new(0.4);
        for x in -40..40 {
            let difference = laplace.tail(x) - laplace.tail(x + 1);
            assert!((difference - laplace.probability(x)).abs() < 1e-15);
            assert!((laplace.tail(x) + laplace.tail(1 - x) - 1.0).abs() < 1e-15);
        }
    }

    fn verdict(drawn: f64, claimed: f64) -> Verdict {
        let (laplace, claim, prf) = (
            DiscreteLaplace::new(drawn),
            DiscreteLaplace::new(claimed),
            source(9),
        );
        let mut out = vec![0; DRAWS as usize];
        laplace.draws(&prf, 0, &mut out);
        Classes::new(|z| 1.0 - claim.tail(z + 1), claim.reach()).verdict(out.into_iter())
    }

    /// Two-sided (`crate::pearson`); an epsilon that is wrong by 2 % is rejected, and so is a sign
    /// bit on a magnitude, which doubles the probability of zero.
    #[test]
    fn draws_follow_the_distribution() {
        for epsilon in [2.0 * SMALLEST_EPSILON, 0.02, 0.4, 1.0, 3.0] {
            let right = verdict(epsilon, epsilon);
            assert!(right.fits(), "{epsilon}: {right:?}");
            for wrong in [0.98, 1.02] {
                let planted = verdict(wrong * epsilon, epsilon);
                assert!(!planted.fits(), "{wrong} {epsilon}: {planted:?}");
            }
        }
        let (laplace, prf) = (DiscreteLaplace::new(0.4), source(9));
        let planted = (0..DRAWS).map(|slot| {
            let blocks: Vec<u128> = (0..laplace.digits as u64)
                .map(|digit| prf.block(slot, digit))
                .collect();
            laplace.geometric(&blocks) * (1 - 2 * (prf.block(slot, 1 << 8) & 1) as i64)
        });
        let classes = Classes::new(|z| 1.0 - laplace.tail(z + 1), laplace.reach());
        assert!(!classes.verdict(planted).fits());
    }
}
