//! Rounded Gaussian draws: P(z = j) = Phi((j + 1/2) / sigma) - Phi((j - 1/2) / sigma).
//!
//! For an integer q, q + round(x) = round(q + x): integer noise at a node is post-processing of the
//! continuous Gaussian mechanism, so the calibration carries over (docs/guarantees.md, "From real
//! numbers to a computer").
//!
//! A draw is the inverse of the distribution function at 127 uniform bits, by Wichura's algorithm
//! AS 241 (PPND16, Applied Statistics 37, 1988). All three regions are computed and one is
//! selected, so the time does not depend on the draw. `log` comes from a pure-Rust libm and no
//! operation contracts to a fused one, so every machine computes the same integers. Relative error
//! of the probabilities: at most 2^-47 sigma for |z| <= 9.5 sigma, which calibration accounts for
//! as `epsilon_numeric`.

#![expect(
    clippy::excessive_precision,
    reason = "constants as published, digit for digit"
)]

use std::hint::black_box;

/// No draw exceeds this many standard deviations: the quantile at 2^-129.
pub const LARGEST_DEVIATION: f64 = 13.2;

/// Largest standard deviation for which draws are exact in a 64-bit float.
pub const LARGEST_SIGMA: f64 = (1_u64 << 48) as f64;

const TWO_POW_MINUS_129: f64 = f64::from_bits((1023 - 129) << 52);

/// Rounded Gaussian draws with one standard deviation.
#[derive(Debug, Clone, Copy)]
pub struct RoundedGaussian {
    sigma: f64,
}

impl RoundedGaussian {
    /// `sigma` in counts; the caller has checked 0 < sigma <= [`LARGEST_SIGMA`].
    pub fn new(sigma: f64) -> Self {
        debug_assert!(sigma > 0.0 && sigma <= LARGEST_SIGMA);
        Self { sigma }
    }

    /// The draw for 128 uniform bits: 127 for the magnitude, the last for the sign.
    ///
    /// The sign belongs to the continuous value: both signs of a magnitude that rounds to zero are
    /// kept, which gives zero its full probability.
    #[inline]
    pub fn draw(&self, block: u128) -> i64 {
        let sign = (block & 1) as i64;
        // floor(sigma |x| + 1/2); the argument is positive, so truncation is the floor.
        let magnitude = (self.sigma * deviation(block) + 0.5) as i64;
        (magnitude ^ -sign) + sign
    }

    /// The standard deviation.
    #[inline]
    pub(crate) fn sigma(&self) -> f64 {
        self.sigma
    }

    /// Bound on the absolute value of every draw.
    pub fn bound(&self) -> f64 {
        LARGEST_DEVIATION * self.sigma + 1.0
    }
}

/// |x| in standard deviations for 127 uniform bits u (the block without its last bit).
///
/// With V = 2u + 1 the lower tail probability is p = V 2^-129 and q = 1/2 - p
/// = (2^128 - V) 2^-129 is formed as an integer, never as a float difference.
#[inline]
pub(crate) fn deviation(block: u128) -> f64 {
    let v = block | 1;
    let p = v as f64 * TWO_POW_MINUS_129;
    let q = v.wrapping_neg() as f64 * TWO_POW_MINUS_129;

    let central = q * ratio(0.180625 - q * q, &CENTRAL_A, &CENTRAL_B);
    let r = (-libm::log(p)).sqrt();
    let middle = ratio(r - 1.6, &MIDDLE_C, &MIDDLE_D);
    let far = ratio(r - 5.0, &FAR_E, &FAR_F);

    let tail = select(r <= 5.0, middle, far);
    select(q <= 0.425, central, tail)
}

#[inline]
fn ratio(r: f64, numerator: &[f64; 8], denominator: &[f64; 8]) -> f64 {
    horner(r, numerator) / horner(r, denominator)
}

#[inline(always)]
pub(crate) fn horner(r: f64, coefficients: &[f64; 8]) -> f64 {
    let mut value = coefficients[7];
    for coefficient in coefficients[..7].iter().rev() {
        value = value * r + coefficient;
    }
    value
}

/// Returns `a` if the condition holds, else `b`, without a branch. The mask passes through
/// `black_box` so that the compiler cannot replace the selection by a jump over unused work.
#[inline]
fn select(condition: bool, a: f64, b: f64) -> f64 {
    let mask = black_box(u64::from(condition).wrapping_neg());
    f64::from_bits((a.to_bits() & mask) | (b.to_bits() & !mask))
}

// Constants as published, digit for digit.
pub(crate) const CENTRAL_A: [f64; 8] = [
    3.387_132_872_796_366_608_0,
    133.141_667_891_784_377_45,
    1_971.590_950_306_551_442_7,
    13_731.693_765_509_461_125,
    45_921.953_931_549_871_457,
    67_265.770_927_008_700_853,
    33_430.575_583_588_128_105,
    2_509.080_928_730_122_672_7,
];
pub(crate) const CENTRAL_B: [f64; 8] = [
    1.0,
    42.313_330_701_600_911_252,
    687.187_007_492_057_908_30,
    5_394.196_021_424_751_107_7,
    21_213.794_301_586_595_867,
    39_307.895_800_092_710_610,
    28_729.085_735_721_942_674,
    5_226.495_278_852_854_561_0,
];
pub(crate) const MIDDLE_C: [f64; 8] = [
    1.423_437_110_749_683_577_34,
    4.630_337_846_156_545_295_90,
    5.769_497_221_460_691_405_50,
    3.647_848_324_763_204_605_04,
    1.270_458_252_452_368_382_58,
    0.241_780_725_177_450_611_770,
    0.022_723_844_989_269_184_583_3,
    7.745_450_142_783_414_076_40e-4,
];
pub(crate) const MIDDLE_D: [f64; 8] = [
    1.0,
    2.053_191_626_637_758_821_87,
    1.676_384_830_183_803_849_40,
    0.689_767_334_985_100_004_550,
    0.148_103_976_427_480_074_590,
    0.015_198_666_563_616_457_196_6,
    5.475_938_084_995_344_946_00e-4,
    1.050_750_071_644_416_843_24e-9,
];
pub(crate) const FAR_E: [f64; 8] = [
    6.657_904_643_501_103_777_20,
    5.463_784_911_164_114_369_90,
    1.784_826_539_917_291_335_80,
    0.296_560_571_828_504_891_230,
    0.026_532_189_526_576_123_093_0,
    1.242_660_947_388_078_438_60e-3,
    2.711_555_568_743_487_578_15e-5,
    2.010_334_399_292_288_132_65e-7,
];
pub(crate) const FAR_F: [f64; 8] = [
    1.0,
    0.599_832_206_555_887_937_690,
    0.136_929_880_922_735_805_310,
    0.014_875_361_290_850_614_852_5,
    7.868_691_311_456_132_591_00e-4,
    1.846_318_317_510_054_681_80e-5,
    1.421_511_758_316_445_888_70e-7,
    2.044_263_103_389_939_785_64e-15,
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::{MasterKey, Purpose, SketchId};
    use crate::noise::prf::NoiseFunction;

    /// Quantiles at 2^-129 (block | 1) by 60-digit arithmetic (mpmath), in all three regions and at
    /// their borders.
    #[test]
    fn quantiles_equal_high_precision_arithmetic() {
        for (block, expected) in QUANTILES {
            let error = (deviation(block) / expected - 1.0).abs();
            assert!(
                error < 2e-15,
                "{block:#x}: {} for {expected}, off by {error}",
                deviation(block)
            );
        }
    }

    #[test]
    fn extremes_stay_within_the_bound_and_the_last_bit_is_the_sign() {
        for sigma in [1e-3, 1.0, 1e6, LARGEST_SIGMA] {
            let gaussian = RoundedGaussian::new(sigma);
            for magnitude in [0, 2, 1 << 64, 1 << 127, u128::MAX - 1] {
                let positive = gaussian.draw(magnitude & !1);
                assert!(positive >= 0 && positive as f64 <= gaussian.bound());
                assert_eq!(gaussian.draw(magnitude | 1), -positive);
            }
        }
        assert!(RoundedGaussian::new(1.0).draw(0) == 13);
        // 13.1 sigma rounds up to 1, above 13.2 sigma.
        let narrow = RoundedGaussian::new(0.039);
        assert!(narrow.draw(0) == 1 && narrow.bound() >= 1.0);
    }

    fn source(label: &[u8]) -> NoiseFunction {
        NoiseFunction::new(&MasterKey::seeded(2026).derive(
            Purpose::Noise,
            &SketchId([0; 16]),
            label,
        ))
    }

    /// Pins draw, packing and key derivation together.
    #[test]
    fn golden_draws() {
        let (prf, gaussian) = (source(b"golden"), RoundedGaussian::new(1000.0));
        let draws: Vec<i64> = (0..8).map(|i| gaussian.draw(prf.block(i, i + 1))).collect();
        assert_eq!(draws, GOLDEN_DRAWS);
    }

    const GOLDEN_DRAWS: [i64; 8] = [-188, 355, -669, -635, -637, 1095, -1286, 1565];

    const QUANTILES: [(u128, f64); 33] = [
        (0x00000000_00000000_00000000_00000001, 13.108626174480179589),
        (0x00000000_00000000_00000000_00000003, 13.025033765039299983),
        (0x00000000_00000000_00000000_00000005, 12.985984344740563186),
        (0x00000000_00000000_00000000_0000001b, 12.856237432101397246),
        (0x00000000_00000000_00000000_000000cb, 12.699306047530122299),
        (0x00000000_00000000_00000000_00001618, 12.436191008320526317),
        (0x00000000_00000000_00000000_001e288d, 11.959251690623157704),
        (0x00000000_00000000_00000002_d76d4330, 11.21135774588957649),
        (0x00000000_00000000_0003b075_a6eb8c9e, 10.158032866582962675),
        (0x00000000_00000000_876ce2ef_87b0b125, 9.2237922695917852988),
        (0x00000000_00000001_77330bdb_d7210dff, 9.1139286485024188486),
        (0x00000000_0000a623_3fc1ea36_f17fd374, 7.9236908906528530311),
        (0x00000000_02a09da2_e6a16a3b_0d464138, 7.0096230070232809661),
        (0x0000000d_7814e8a2_5f2dd97f_1cfb10f6, 5.9243153270347161977),
        (0x00002686_8b33e968_617959ce_3f1f65a8, 4.7254288373009777291),
        (0x0005d976_035b7399_3fd42359_92edcf45, 3.9180839312209703335),
        (0x002ba720_478c281d_687c966c_377b9aa2, 3.4031695091328798199),
        (0x00e3b229_c4069545_de11cc9d_ea959c21, 2.922318145743386382),
        (0x0249a879_cc11d357_c30d8b76_28dbd25e, 2.6144763947211637995),
        (0x078f0603_9e115e4b_9e30691c_238642ea, 2.176389941070813018),
        (0x0f8eb18b_00745130_21da8978_206f5c66, 1.8751573445445353703),
        (0x18c14795_359eeefb_015c33b2_df1461aa, 1.6610708756363933104),
        (0x2a9d6456_fb7ff337_f5cae3bf_3729c619, 1.3836550264127568093),
        (
            0x6825ba5d_4a0fe75d_2a9eba0c_df561d80,
            0.82949266902270298121,
        ),
        (0x80000000_00000000_00000000_00000000, 0.6744897501960817432),
        (
            0xffffffff_ffffffff_ffffffff_fffffffe,
            3.6831592205501981785e-39,
        ),
        (
            0xffffffff_ffffffff_ffffffff_ffffffff,
            3.6831592205501981785e-39,
        ),
        (0x00000000_00000000_00000000_00000000, 13.108626174480179589),
        (0x26666666_66666666_66666666_66666666, 1.4395314709384559153),
        (0x26666667_424d6535_24543c25_1bd9aa74, 1.4395314702320188303),
        (0x26666665_8a7f6797_a87890a7_b0f32258, 1.4395314716448930011),
        (0x00000000_1e89af9d_e738b5f0_52b6014a, 6.6579146354625080625),
        (0x00000000_1e58b598_6f33c3e5_94f1b2dd, 6.6588385028507655301),
    ];
}
