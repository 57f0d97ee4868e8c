//! Exact rounding of a rational sum, floor(sum / den + 1/2), in constant time.
//!
//! Only this rule commutes with adding an integer: floor(x + q) = floor(x) + q. Half-even and
//! half-away-from-zero do not, and would leak the parity or the sign of the exact count at ties
//! (docs/guarantees.md, "Mechanism"); the tests plant both.
//!
//! The division by the public constant D = 2 den is a multiplication by a precomputed reciprocal
//! with one correction: the time of hardware and library division depends on the dividend, which is
//! secret.

use std::cmp::Ordering;

/// Rounding with one public denominator.
#[derive(Debug, Clone, Copy)]
pub struct Rounding {
    /// D = 2 den.
    divisor: u128,
    /// floor((2^(128+shift) - 1) / D), with 2^shift <= D < 2^(shift+1).
    reciprocal: u128,
    shift: u32,
    /// The smallest q with q D >= 2^126: makes every dividend non-negative.
    offset: u128,
}

impl Rounding {
    /// `denominator` in 1 ..= 2^124.
    pub fn new(denominator: u128) -> Self {
        debug_assert!((1..=1 << 124).contains(&denominator));
        let divisor = 2 * denominator;
        let shift = divisor.ilog2();
        Self {
            divisor,
            reciprocal: reciprocal(divisor, shift),
            shift,
            offset: (1_u128 << 126).div_ceil(divisor),
        }
    }

    /// The denominator of all sums.
    pub fn denominator(&self) -> u128 {
        self.divisor / 2
    }

    /// floor(sum / den + 1/2), for |2 sum + den| < 2^126.
    #[inline]
    pub fn round(&self, sum: i128) -> i64 {
        if planted!("rounding-half-to-even") {
            return planted_half_to_even(sum, self.denominator() as i128);
        }
        let dividend = 2 * sum + (self.divisor / 2) as i128;
        // Non-negative and below 2^128: |dividend| < 2^126 <= offset * divisor < 2^126 + D.
        let shifted = (dividend as u128).wrapping_add(self.offset.wrapping_mul(self.divisor));
        // With the exact quotient Q = shifted / D, the estimate before flooring lies in
        // (Q - 3/4, Q]: the reciprocal is short by at most 1 + 1/D <= 3/2, which costs less
        // than (3/2) / 2^shift <= 3/4. So one correction suffices.
        let estimate = high_half(shifted, self.reciprocal) >> self.shift;
        let remainder = shifted.wrapping_sub(estimate.wrapping_mul(self.divisor));
        let quotient = estimate + u128::from(remainder >= self.divisor);
        quotient.wrapping_sub(self.offset) as i64
    }
}

/// floor((2^(128+shift) - 1) / divisor) by long division; all values are public.
fn reciprocal(divisor: u128, shift: u32) -> u128 {
    let mut remainder = (1_u128 << shift) - 1;
    let mut quotient = 0_u128;
    for _ in 0..128 {
        remainder = 2 * remainder + 1;
        quotient = 2 * quotient + u128::from(remainder >= divisor);
        remainder -= if remainder >= divisor { divisor } else { 0 };
    }
    quotient
}

/// The upper 128 bits of a 256-bit product.
#[inline]
fn high_half(a: u128, b: u128) -> u128 {
    const LOW: u128 = u64::MAX as u128;
    let (a1, a0) = (a >> 64, a & LOW);
    let (b1, b0) = (b >> 64, b & LOW);
    let middle = a1 * b0 + ((a0 * b0) >> 64);
    let cross = a0 * b1 + (middle & LOW);
    a1 * b1 + (middle >> 64) + (cross >> 64)
}

/// The rule that leaks; for a planted bug.
fn planted_half_to_even(sum: i128, denominator: i128) -> i64 {
    let (floor, rest) = (sum.div_euclid(denominator), sum.rem_euclid(denominator));
    let up = match (2 * rest).cmp(&denominator) {
        Ordering::Less => 0,
        Ordering::Equal => floor.rem_euclid(2),
        Ordering::Greater => 1,
    };
    (floor + up) as i64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn by_definition(sum: i128, denominator: u128) -> i128 {
        (2 * sum + denominator as i128).div_euclid(2 * denominator as i128)
    }

    /// By long multiplication, one bit at a time, in two words.
    fn product(a: u128, b: u128) -> (u128, u128) {
        let (mut high, mut low) = (0_u128, 0_u128);
        for bit in (0..128).rev() {
            high = high << 1 | low >> 127;
            low <<= 1;
            if b >> bit & 1 == 1 {
                let (sum, carry) = low.overflowing_add(a);
                (high, low) = (high + u128::from(carry), sum);
            }
        }
        (high, low)
    }

    /// Also where all carries come from the lowest of the four partial products.
    #[test]
    fn high_half_equals_long_multiplication() {
        const ONES: u128 = u64::MAX as u128;
        let mut numbers = vec![
            0,
            1,
            ONES,
            ONES << 1,
            1 << 64,
            ONES << 64,
            u128::MAX,
            u128::MAX / 3,
        ];
        numbers
            .extend((0..60).map(|i| 0xD1B5_4A32_D192_ED03_9E37_79B9_7F4A_7C15_u128.rotate_left(i)));
        for &a in &numbers {
            for &b in &numbers {
                assert_eq!(high_half(a, b), product(a, b).0, "{a:#x} {b:#x}");
            }
        }
        assert_eq!(product(u128::MAX, u128::MAX), (u128::MAX - 1, 1));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4096))]

        #[test]
        fn equals_floor_of_the_exact_quotient(
            denominator_bits in 0..120_u32, sum_bits in 0..62_u32,
            noise in any::<u128>(), sum in any::<i128>(),
        ) {
            let denominator = 1 + (noise & ((1 << denominator_bits) - 1));
            let room = (1_i128 << sum_bits).saturating_mul(denominator as i128).min(1 << 124);
            let sum = sum % room;
            let rounded = Rounding::new(denominator).round(sum);
            prop_assert_eq!(i128::from(rounded), by_definition(sum, denominator));
        }

        /// The release of published + 1 is exactly 1 above the release of published, also at ties.
        #[test]
        fn commutes_with_integers(
            denominator in 1..1_000_000_u128, sum in -1_000_000_000..1_000_000_000_i128, q in -9..9_i64,
        ) {
            let rounding = Rounding::new(denominator);
            let moved = sum + i128::from(q) * denominator as i128;
            prop_assert_eq!(rounding.round(moved), rounding.round(sum) + q);
        }
    }

    #[test]
    fn multiples_of_the_divisor_and_their_neighbours() {
        for denominator in [1, 2, 3, 6 << 10, (1 << 60) - 1, (1 << 100) + 7, 1 << 124] {
            let rounding = Rounding::new(denominator);
            for quotient in [-3_i128, -1, 0, 1, 2] {
                for offset in [-1, 0, 1] {
                    let sum = quotient * denominator as i128 / 2 + offset;
                    if (2 * sum + denominator as i128).unsigned_abs() < 1 << 126 {
                        let expected = by_definition(sum, denominator);
                        assert_eq!(
                            i128::from(rounding.round(sum)),
                            expected,
                            "{denominator} {sum}"
                        );
                    }
                }
            }
        }
    }

    /// The wrong rules differ from ours exactly at ties, and do not commute with integers.
    #[test]
    fn planted_rules_are_caught_at_ties() {
        let half_even = |sum: i64| {
            let floor = sum.div_euclid(2);
            floor
                + if sum.rem_euclid(2) == 1 {
                    floor.rem_euclid(2)
                } else {
                    0
                }
        };
        let half_away = |sum: i64| (sum.abs() + 1) / 2 * sum.signum();
        let ours = Rounding::new(2);
        let commutes =
            |rule: &dyn Fn(i64) -> i64| (-9..9).all(|sum| rule(sum + 2) == rule(sum) + 1);
        assert!(commutes(&|sum| ours.round(i128::from(sum))));
        assert!(!commutes(&half_even));
        assert!(!commutes(&half_away));
    }
}
