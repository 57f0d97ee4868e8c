//! Many rounded Gaussian draws at a time, each equal to [`RoundedGaussian::draw`] bit for bit.
//!
//! The same arithmetic in the same order, on [`LANES`] draws per step, as plain loops that the
//! compiler vectorises ([`crate::simd`] compiles them for the widest registers). Operations that
//! processors lack as vector instructions are spelled out: 128-bit integers are converted to floats
//! by their leading 64 bits, `log` is libm's without the branches for arguments that no tail
//! probability takes, and a float is converted to an integer by adding 2^52. Constant time: there
//! is no branch, and the masks that select among the three regions pass through `black_box`, so the
//! compiler cannot introduce one.

use super::gaussian::{
    CENTRAL_A, CENTRAL_B, FAR_E, FAR_F, MIDDLE_C, MIDDLE_D, RoundedGaussian, horner,
};
use crate::simd::widest;
use std::hint::black_box;

/// Draws per step: twice the width of the widest registers, so that one half computes while the
/// other waits.
const LANES: usize = 16;

impl RoundedGaussian {
    /// Writes the draws of `blocks` to `out`; lengths are equal.
    #[inline]
    pub(crate) fn draws(&self, blocks: &[u128], out: &mut [i64]) {
        gaussian_draws(self, blocks, out);
    }
}

widest! {
    /// Writes the rounded Gaussian draws of `blocks` to `out`.
    fn gaussian_draws, gaussian_draws_at(gaussian: &RoundedGaussian, blocks: &[u128], out: &mut [i64]) = draws_loop
}

#[inline(always)]
fn draws_loop(gaussian: &RoundedGaussian, blocks: &[u128], out: &mut [i64]) {
    let sigma = gaussian.sigma();
    let mut blocks = blocks.chunks_exact(LANES);
    let mut out = out.chunks_exact_mut(LANES);
    for (blocks, out) in blocks.by_ref().zip(out.by_ref()) {
        let blocks: &[u128; LANES] = blocks.try_into().expect("a whole chunk");
        out.copy_from_slice(&draws_of(sigma, blocks));
    }
    let (blocks, out) = (blocks.remainder(), out.into_remainder());
    if !blocks.is_empty() {
        // Pad to LANES so that the tail runs the same (constant-time) code.
        let mut padded = [0; LANES];
        padded[..blocks.len()].copy_from_slice(blocks);
        out.copy_from_slice(&draws_of(sigma, &padded)[..out.len()]);
    }
}

#[inline(always)]
fn draws_of(sigma: f64, blocks: &[u128; LANES]) -> [i64; LANES] {
    let deviations = deviations_of(blocks);
    let mut out = [0; LANES];
    for lane in 0..LANES {
        let magnitude = floor(sigma * f64::from_bits(deviations[lane]) + 0.5);
        let sign = blocks[lane] as u64 & 1;
        out[lane] = ((magnitude ^ sign.wrapping_neg()).wrapping_add(sign)).cast_signed();
    }
    out
}

/// The bits of |x| in standard deviations.
#[inline(always)]
fn deviations_of(blocks: &[u128; LANES]) -> [u64; LANES] {
    let (mut high, mut low) = ([0; LANES], [0; LANES]);
    for lane in 0..LANES {
        (high[lane], low[lane]) = ((blocks[lane] >> 64) as u64, blocks[lane] as u64);
    }
    // One short loop per stage: the operations of one lane depend on each other, so the processor
    // must interleave several lanes.
    let [mut q, mut r, mut central, mut middle, mut far] = [[0.0; LANES]; 5];
    let [mut is_central, mut is_middle] = [[0; LANES]; 2];
    for lane in 0..LANES {
        // V = 2u + 1 and 2^128 - V, both odd; see `gaussian::deviation`.
        let odd = low[lane] | 1;
        q[lane] = scaled(!high[lane], odd.wrapping_neg());
        r[lane] = (-log(scaled(high[lane], odd))).sqrt();
        is_central[lane] = u64::from(q[lane] <= 0.425).wrapping_neg();
        is_middle[lane] = u64::from(r[lane] <= 5.0).wrapping_neg();
    }
    for lane in 0..LANES {
        let q = q[lane];
        central[lane] = q * ratio(0.180625 - q * q, &CENTRAL_A, &CENTRAL_B);
    }
    for lane in 0..LANES {
        middle[lane] = ratio(r[lane] - 1.6, &MIDDLE_C, &MIDDLE_D);
    }
    for lane in 0..LANES {
        far[lane] = ratio(r[lane] - 5.0, &FAR_E, &FAR_F);
    }
    let (is_central, is_middle) = (black_box(is_central), black_box(is_middle));
    let mut out = [0; LANES];
    for lane in 0..LANES {
        let tail = either(is_middle[lane], middle[lane].to_bits(), far[lane].to_bits());
        out[lane] = either(is_central[lane], central[lane].to_bits(), tail);
    }
    out
}

/// Returns `a` where the mask is all ones, `b` where it is zero.
#[inline(always)]
fn either(mask: u64, a: u64, b: u64) -> u64 {
    (a & mask) | (b & !mask)
}

/// (high 2^64 + low) 2^-129 for odd `low`, rounded once, to nearest.
#[inline(always)]
fn scaled(high: u64, low: u64) -> f64 {
    let short = u64::from(high == 0).wrapping_neg();
    let (top, below) = (either(short, low, high), low & !short);
    let zeros = u64::from(top.leading_zeros());
    // Move the leading one to bit 63. Two shifts, because a shift by 64 is undefined.
    let leading = top << zeros | (below >> 1) >> (63 - zeros);
    // The bits cut off are non-zero, as `low` is odd. If none are cut off, either bit 0 is already
    // set or the number is short enough to be exact.
    let cut = u64::from(below << zeros != 0);
    let exponent = 1023 + 64 - 129 - zeros - (short & 64);
    (leading | cut) as f64 * f64::from_bits(exponent << 52)
}

/// floor(x) as an integer, for 0 <= x < 2^52.
#[inline(always)]
fn floor(x: f64) -> u64 {
    const TWO_POW_52: f64 = (1_u64 << 52) as f64;
    let nearest = x + TWO_POW_52;
    let above = u64::from(nearest - TWO_POW_52 > x);
    (nearest.to_bits() & ((1 << 52) - 1)) - above
}

#[inline(always)]
fn ratio(r: f64, numerator: &[f64; 8], denominator: &[f64; 8]) -> f64 {
    horner(r, numerator) / horner(r, denominator)
}

/// libm's `log` (e_log.c of FreeBSD, by Sun Microsystems) for normal numbers below 1.
#[inline(always)]
#[expect(
    clippy::excessive_precision,
    reason = "constants as published, digit for digit"
)]
fn log(x: f64) -> f64 {
    const LN2_HI: f64 = 6.931_471_803_691_238_164_90e-01;
    const LN2_LO: f64 = 1.908_214_929_270_587_700_02e-10;
    const LG1: f64 = 6.666_666_666_666_735_130e-01;
    const LG2: f64 = 3.999_999_999_940_941_908e-01;
    const LG3: f64 = 2.857_142_874_366_239_149e-01;
    const LG4: f64 = 2.222_219_843_214_978_396e-01;
    const LG5: f64 = 1.818_357_216_161_805_012e-01;
    const LG6: f64 = 1.531_383_769_920_937_332e-01;
    const LG7: f64 = 1.479_819_860_511_658_591e-01;
    const TWO_POW_52: u64 = 0x4330_0000_0000_0000;
    // Scale to sqrt(1/2) .. sqrt(2) times a power of two.
    let moved = x.to_bits() + ((0x3FF0_0000 - 0x3FE6_A09E) << 32);
    let biased = f64::from_bits(TWO_POW_52 | moved >> 52);
    let dk = biased - (f64::from_bits(TWO_POW_52) + 1023.0);
    let reduced = (moved & 0x000F_FFFF_FFFF_FFFF) + (0x3FE6_A09E << 32);
    let f = f64::from_bits(reduced) - 1.0;
    let hfsq = 0.5 * f * f;
    let s = f / (2.0 + f);
    let z = s * s;
    let w = z * z;
    let t1 = w * (LG2 + w * (LG4 + w * LG6));
    let t2 = z * (LG1 + w * (LG3 + w * (LG5 + w * LG7)));
    let r = t2 + t1;
    s * (hfsq + r) + dk * LN2_LO - hfsq + f + dk * LN2_HI
}

#[cfg(test)]
mod tests {
    use super::super::gaussian::{LARGEST_SIGMA, deviation};
    use super::*;
    use crate::simd::{Width, inputs};
    use proptest::prelude::*;

    /// Compares draws, and the real numbers before rounding bit for bit: rounding would hide most
    /// differences.
    fn assert_equal(sigma: f64, blocks: &[u128]) {
        for part in blocks.chunks(LANES) {
            let mut padded = [0; LANES];
            padded[..part.len()].copy_from_slice(part);
            for (&block, bits) in part.iter().zip(deviations_of(&padded)) {
                assert_eq!(bits, deviation(block).to_bits(), "{block:#x}");
            }
        }
        let gaussian = RoundedGaussian::new(sigma);
        let mut out = vec![0; blocks.len()];
        gaussian.draws(blocks, &mut out);
        for (&block, &draw) in blocks.iter().zip(&out) {
            assert_eq!(draw, gaussian.draw(block), "{block:#x}, sigma {sigma}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2048))]

        /// Blocks of any magnitude, near both ends and at the borders of the regions.
        #[test]
        fn many_equal_one_by_one(
            blocks in proptest::collection::vec((any::<u128>(), 0..128_u32, any::<bool>()), 0..40),
            bits in 0..48_u32, part in 1.0..2.0_f64,
        ) {
            let blocks: Vec<u128> = blocks
                .into_iter()
                .map(|(block, shift, flip)| if flip { !(block >> shift) } else { block >> shift })
                .collect();
            assert_equal(part * f64::from(1_u32 << (bits / 2)) * f64::from(1_u32 << (bits / 2)) / 8.0, &blocks);
        }
    }

    #[test]
    fn borders_and_powers_of_two() {
        let mut blocks = vec![0, 1, 2, 3, u128::MAX, u128::MAX - 1];
        for bit in 0..128 {
            let power = 1_u128 << bit;
            for around in [-3_i128, -2, -1, 0, 1, 2, 3] {
                let near = power.wrapping_add_signed(around);
                blocks.extend([near, near.wrapping_neg(), near << 53, near << 54 | 1]);
            }
        }
        // q = 0.425 and r = 5, the borders between regions.
        for border in [
            0x2666_6666_6666_6666 << 64 | 0x6666_6666_6666_6666_u128,
            0x1E89_AF9D_E738 << 48,
        ] {
            blocks.extend((0..100).map(|i| border.wrapping_add(1 << i)));
            blocks.extend((0..100).map(|i| border.wrapping_sub(1 << i)));
        }
        for sigma in [1e-3, 0.4, 1.0, 52.9, 1e6, LARGEST_SIGMA] {
            assert_equal(sigma, &blocks);
        }
    }

    /// Includes numbers whose cut-off part exceeds half of the last place by its last bit only, and
    /// by the last bit of the upper 64 as well.
    #[test]
    fn integers_convert_to_floats_as_in_rust() {
        for zeros in 0..=128_u32 {
            for length in [1, 2, 53, 54, 55, 64, 65, 127, 128] {
                for mantissa in [0, 1, 2, 3, 0x1F_FFFF_FFFF_FFFF] {
                    let top = (1_u128 << 127 | mantissa << 75) >> zeros.min(127);
                    let half = (1_u128 << 74) >> zeros.min(127);
                    for v in [
                        top,
                        top | half,
                        top | half | (1_u128 << 64) >> zeros.min(127),
                        top | (half - u128::from(half > 0)),
                        u128::MAX >> (128 - length),
                    ] {
                        let v = v | 1;
                        let expected = v as f64 * f64::from_bits((1023 - 129) << 52);
                        assert_eq!(scaled((v >> 64) as u64, v as u64), expected, "{v:#x}");
                    }
                }
            }
        }
    }

    #[test]
    fn logarithms_equal_those_of_libm() {
        let mut bits = 1_u64;
        for _ in 0..200_000 {
            bits = bits.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(1);
            // Exponents from 2^-130 to 2^-1.
            let x = f64::from_bits((bits >> 12) | (1023 - 1 - bits % 129) << 52);
            assert_eq!(log(x).to_bits(), libm::log(x).to_bits(), "{x:e}");
        }
    }

    /// The noise of a release must not depend on the machine that computes it.
    #[test]
    fn draws_equal_single_draws_at_every_width() {
        for width in Width::all() {
            for (number, items) in inputs().enumerate() {
                let blocks: Vec<u128> = items
                    .iter()
                    .map(|&bits| u128::from(bits) << (2 * number % 64) | u128::from(!bits) >> 9)
                    .collect();
                let mut out = vec![0; blocks.len()];
                let gaussian = RoundedGaussian::new(1e5);
                gaussian_draws_at(width, &gaussian, &blocks, &mut out);
                for (&block, &out) in blocks.iter().zip(&out) {
                    assert_eq!(out, gaussian.draw(block), "{width:?}");
                }
            }
        }
    }
}
