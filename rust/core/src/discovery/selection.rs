//! The probability that a name is published, for every count: as large as privacy allows.
//!
//! A name with n events is published with probability p(n), by one comparison of 128 random bits with an
//! integer; p(0) = 0. From n to n + 1, p grows at most by the factor e^rising and by delta, and 1 - p falls
//! at most by the factor e^-falling. These are inequalities of integers times 2^-128 that hold exactly:
//! every rounding makes a step smaller. docs/theory.md, Theorem 10, has what follows from them. An
//! event that is replaced lowers one count and raises another, so `rising` + `falling` is what it
//! costs, and not twice the larger. The way up from delta to a half is longer than from there to
//! 95 %: so `rising` gets the larger part.
//!
//! Sources: D. Desfontaines, J. Voss, B. Gipson and C. Mandayam, "Differentially Private Partition
//! Selection", PETS 2022 (the law for one event that is added; there both rates are equal).

use crate::noise::prf::{NoiseFunction, packed};

/// Below it is the part of 1 - p that is not worth a step: a name with any count stays unpublished
/// with this probability.
const NEVER: u128 = 1 << (128 - 40);
/// Relative error that covers that of the exponential functions and of the rounding to doubles.
const SLACK: f64 = f64::from_bits((1023 - 48) << 52);

/// How fast probabilities may change from one count to the next.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rates {
    /// p(n + 1) <= e^rising p(n) + delta.
    pub rising: f64,
    /// 1 - p(n) <= e^falling (1 - p(n + 1)).
    pub falling: f64,
}

/// The probabilities of all counts.
#[derive(Debug, Clone)]
pub(crate) struct Selection {
    /// p(n) times 2^128, for n = 0, 1, ...; larger counts have the last one.
    probabilities: Vec<u128>,
}

impl Selection {
    /// The largest probabilities. Rates are from 2^-12 to 8, delta is above 0.
    pub(crate) fn new(rates: Rates, delta: f64) -> Self {
        let rising = planted!(
            "selection-rises-5-percent-fast",
            1.05 * rates.rising,
            rates.rising
        );
        // In units of 2^-52 and of 2^-64; the one rounded down, the other up.
        let growth = (libm::expm1(rising) * (1.0 - SLACK) * TWO_POW_52) as u64;
        let decay = (libm::exp(-rates.falling) * (1.0 + SLACK) * TWO_POW_64).ceil() as u64;
        let delta = (delta * (1.0 - SLACK) * TWO_POW_64 * TWO_POW_64) as u128;
        let mut probabilities = vec![0];
        let mut p = 0_u128;
        loop {
            let by_delta = p.saturating_add(grown(p, growth)).saturating_add(delta);
            let next = by_delta.min(complement_decayed(p, decay));
            if next == p {
                break; // where the integers end
            }
            p = next;
            probabilities.push(p);
            if p.wrapping_neg() <= NEVER {
                break;
            }
        }
        Self { probabilities }
    }

    /// True if a name with this count is published, given 128 random bits.
    #[inline]
    pub(crate) fn publishes(&self, count: i64, block: u128) -> bool {
        let last = self.probabilities.len() - 1;
        block < self.probabilities[(count.max(0) as usize).min(last)]
    }

    /// The random bits of the ranks from `first` on.
    pub(crate) fn blocks(prf: &NoiseFunction, first: u64, out: &mut [u128]) {
        (first..)
            .zip(out.iter_mut())
            .for_each(|(rank, block)| *block = packed(rank, 0));
        prf.encrypt(out);
    }

    /// The smallest count that is published at least with this probability; 0 if none is.
    pub(crate) fn count_at(&self, probability: f64) -> i64 {
        let wanted = (probability * TWO_POW_64 * TWO_POW_64) as u128;
        let found = self.probabilities.iter().position(|&p| p >= wanted);
        found.unwrap_or(0) as i64
    }

    /// The smallest count that is published at least half of the time.
    pub(crate) fn threshold(&self) -> i64 {
        self.count_at(0.5)
    }

    /// The threshold less the smallest count that these bits publish: a name is published if its
    /// count plus this reaches the threshold. For the oracle; its time depends on the bits.
    pub(crate) fn noise(&self, block: u128) -> i64 {
        let least = self.probabilities.partition_point(|&p| p <= block);
        let never = least == self.probabilities.len();
        self.threshold() - if never { 1 << 62 } else { least as i64 }
    }

    /// The probabilities times 2^128, which tests recompute.
    pub(crate) fn probabilities(&self) -> &[u128] {
        &self.probabilities
    }
}

/// p (e^rising - 1), rounded down; the largest integer if that is above 1.
fn grown(p: u128, growth: u64) -> u128 {
    let (high, low) = (
        (p >> 64) * u128::from(growth),
        (p & LOW) * u128::from(growth),
    );
    if high >> (128 - 12) > 0 {
        return u128::MAX;
    }
    (high << 12).saturating_add(low >> 52)
}

/// 1 - (1 - p) e^-falling, rounded down.
fn complement_decayed(p: u128, decay: u64) -> u128 {
    let decay = u128::from(decay);
    if p == 0 {
        return (decay << 64).wrapping_neg();
    }
    let rest = p.wrapping_neg();
    let left = (rest >> 64) * decay + (((rest & LOW) * decay) >> 64) + 1;
    left.min(rest).wrapping_neg()
}

const LOW: u128 = (1 << 64) - 1;
const TWO_POW_52: f64 = (1_u64 << 52) as f64;
const TWO_POW_64: f64 = f64::from_bits((1023 + 64) << 52);

#[cfg(test)]
mod tests {
    use super::*;

    const RATES: [(f64, f64); 6] = [
        (1.0 / 1024.0, 1.0 / 1024.0),
        (0.156, 0.094),
        (0.25, 0.25),
        (1.25, 0.75),
        (3.0, 3.0),
        (8.0, 8.0),
    ];

    /// The double next to ln 2 lies below it, and e to it below 2; doubles round that to 2. A step as
    /// large as doubles say would be larger than privacy allows.
    #[test]
    fn steps_stay_below_what_doubles_round_up_to() {
        let rising = std::f64::consts::LN_2;
        assert_eq!(libm::expm1(rising).to_bits(), 1.0_f64.to_bits());
        let rates = Rates {
            rising,
            falling: 0.5,
        };
        let selection = Selection::new(rates, 1e-6);
        let [none, first, second] = selection.probabilities()[..3] else {
            unreachable!("1e-6 is far from the last count");
        };
        assert_eq!(none, 0);
        assert!(second < 3 * first);
    }

    /// The recursion in doubles: what doubles can tell of its steps, and nothing given away.
    #[test]
    fn probabilities_equal_their_recursion() {
        for (rising, falling) in RATES {
            for delta in [0.9, 0.05, 1e-6, 1e-12] {
                let selection = Selection::new(Rates { rising, falling }, delta);
                let found = selection.probabilities();
                let mut p = 0.0_f64;
                for (count, &integer) in found.iter().enumerate().skip(1) {
                    p = (rising.exp() * p + delta).min(1.0 - (-falling).exp() * (1.0 - p));
                    let off = integer as f64 / 2_f64.powi(128) / p - 1.0;
                    assert!(off.abs() < 1e-7, "{rising} {delta} {count}: {off:e}");
                }
                assert!(found.windows(2).all(|pair| pair[0] < pair[1]));
                let rest = found.last().unwrap().wrapping_neg();
                assert!(rest <= NEVER && rest > 0, "{rising} {falling} {delta}");
            }
        }
    }

    /// value x factor, by additions: its bits from 2^128 on, and those below.
    fn product(value: u128, factor: u64) -> (u128, u128) {
        let (mut high, mut low) = (0_u128, 0_u128);
        for bit in (0..64).rev() {
            high = high << 1 | low >> 127;
            low <<= 1;
            if factor >> bit & 1 == 1 {
                let (sum, carries) = low.overflowing_add(value);
                (high, low) = (high + u128::from(carries), sum);
            }
        }
        (high, low)
    }

    /// Integers of every length, with ends where carries are, and two of no pattern of each length.
    fn integers() -> Vec<u128> {
        let mut found = vec![];
        let mut state = 0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c834_u128;
        for bits in 0..128 {
            let power = 1_u128 << bits;
            found.extend([power - 1, power, power + (power >> 1), power | 1]);
            for _ in 0..2 {
                state = state.wrapping_mul(0x2360_ed05_1fc6_5da4_4385_df64_9fcc_f645) + 1;
                found.push(state >> (127 - bits));
            }
        }
        found.push(u128::MAX);
        found
    }

    /// Both steps are those of exact integers: no bit is given away, and none is published too much.
    #[test]
    fn steps_equal_long_multiplication() {
        for value in integers() {
            for factor in integers().into_iter().step_by(5) {
                let Ok(factor) = u64::try_from(factor) else {
                    break;
                };
                let (high, low) = product(value, factor);
                let floor = (high >> 52 == 0).then_some(high << 76 | low >> 52);
                assert_eq!(grown(value, factor), floor.unwrap_or(u128::MAX));
                // 1 - p times 2^128; that of p = 0 does not fit.
                if value > 0 {
                    let above = (high << 64 | low >> 64) + 1;
                    let found = complement_decayed(value.wrapping_neg(), factor);
                    assert_eq!(found.wrapping_neg(), above.min(value));
                }
            }
        }
        assert_eq!(complement_decayed(0, 1), u128::MAX - u128::from(u64::MAX));
        assert_eq!(complement_decayed(0, u64::MAX), 1 << 64);
    }

    /// A count is published by the bits below its probability, and noise says the same.
    #[test]
    fn noise_and_threshold_say_what_is_published() {
        for delta in [0.3, 1e-4] {
            let selection = Selection::new(
                Rates {
                    rising: 0.5,
                    falling: 0.3,
                },
                delta,
            );
            let last = selection.probabilities().len() as i64 - 1;
            let threshold = selection.threshold();
            for count in 0..=last {
                let p = selection.probabilities()[count as usize];
                for block in [0, p.wrapping_sub(1), p, p.wrapping_add(1), u128::MAX] {
                    let published = selection.publishes(count, block);
                    assert_eq!(published, block < p);
                    assert_eq!(published, count + selection.noise(block) >= threshold);
                }
            }
            assert!(!selection.publishes(-5, 0) && !selection.publishes(1 << 61, u128::MAX));
            assert!((1 << 61) + selection.noise(u128::MAX) < threshold);
            let half = |count: i64| selection.probabilities()[count as usize] >= 1 << 127;
            assert!(half(threshold) && !half(threshold - 1));
        }
    }
}
