//! The distribution of draws, at every scale and in the tails, one by one and many at a time.
//!
//! Two-sided (`crate::pearson`), and planted: a sigma that is wrong by 2 % in either direction is
//! rejected, and so is a "-0" that is drawn again.

use super::gaussian::{LARGEST_SIGMA, RoundedGaussian};
use super::prf::NoiseFunction;
use crate::key::{MasterKey, Purpose, SketchId};
use crate::pearson::{Classes, DRAWS, Verdict};

/// Sigmas near 1, usual ones, and the largest, where a draw has all bits of a float.
const SIGMAS: [f64; 7] = [0.4, 1.0, 7.3, 52.9, 5e4, 1e9, LARGEST_SIGMA];
/// Sigmas that are wrong by this factor are rejected.
const WRONG: [f64; 2] = [0.98, 1.02];

fn source(label: &[u8]) -> NoiseFunction {
    NoiseFunction::new(&MasterKey::seeded(2026).derive(Purpose::Noise, &SketchId([0; 16]), label))
}

fn upper_tail(x: f64) -> f64 {
    libm::erfc(x / std::f64::consts::SQRT_2) / 2.0
}

/// Classes of P(Z <= z) = Phi((z + 1/2) / sigma).
fn classes(sigma: f64) -> Classes {
    Classes::new(
        |z| upper_tail(-(z as f64 + 0.5) / sigma),
        (6.0 * sigma) as i64 + 1,
    )
}

fn blocks(label: &[u8]) -> impl Iterator<Item = u128> {
    let prf = source(label);
    (0..DRAWS).map(move |index| prf.block(index, 1))
}

fn one_by_one(drawn: f64, claimed: f64) -> Verdict {
    let gaussian = RoundedGaussian::new(drawn);
    classes(claimed).verdict(blocks(b"one by one").map(|block| gaussian.draw(block)))
}

fn many_at_a_time(drawn: f64, claimed: f64) -> Verdict {
    let blocks: Vec<u128> = blocks(b"many at a time").collect();
    let mut out = vec![0; blocks.len()];
    RoundedGaussian::new(drawn).draws(&blocks, &mut out);
    classes(claimed).verdict(out.into_iter())
}

#[test]
fn draws_follow_the_rounded_gaussian() {
    for sigma in SIGMAS {
        for path in [one_by_one, many_at_a_time] {
            let verdict = path(sigma, sigma);
            assert!(verdict.fits(), "{sigma}: {verdict:?}");
        }
    }
}

#[test]
fn a_sigma_wrong_by_two_per_cent_is_rejected() {
    for sigma in SIGMAS {
        for wrong in WRONG {
            let verdict = many_at_a_time((wrong * sigma).min(LARGEST_SIGMA), sigma);
            let largest = sigma == LARGEST_SIGMA && wrong > 1.0; // no sigma above the largest
            assert_eq!(verdict.fits(), largest, "{wrong} {sigma}: {verdict:?}");
        }
    }
}

/// Draws given that |x| is beyond a quantile, in the middle and in the far region of the quantile
/// function: blocks whose leading bits are zero. P(|x| > t) is then the tail at t over 2^-(1 + s).
fn tail(shift: u32, drawn: f64, claimed: f64) -> Verdict {
    let gaussian = RoundedGaussian::new(drawn);
    let within = 2_f64.powi(1 + shift.cast_signed());
    let below = |z: i64| 1.0 - (upper_tail((z as f64 + 0.5) / claimed) * within).min(1.0);
    let magnitudes = blocks(b"tail").map(|block| gaussian.draw(block >> shift).abs());
    Classes::new(below, (14.0 * claimed) as i64).verdict(magnitudes)
}

/// Beyond 2.9, 5.1, 7.2 and 9.9 deviations.
#[test]
fn tails_follow_the_gaussian() {
    for shift in [8, 21, 40, 75] {
        let verdict = tail(shift, 1e6, 1e6);
        assert!(verdict.fits(), "{shift}: {verdict:?}");
        for wrong in [0.999, 1.001] {
            let verdict = tail(shift, wrong * 1e6, 1e6);
            assert!(!verdict.fits(), "{wrong}, {shift}: {verdict:?}");
        }
    }
}

/// Signs: the last bit alone decides, and both are equally frequent.
#[test]
fn a_minus_zero_drawn_again_is_rejected() {
    let gaussian = RoundedGaussian::new(0.4);
    let redrawn = blocks(b"one by one")
        .map(|block| (gaussian.draw(block), block & 1))
        .filter(|&(draw, sign)| draw != 0 || sign == 0)
        .map(|(draw, _)| draw);
    assert!(!classes(0.4).verdict(redrawn).fits());
}
