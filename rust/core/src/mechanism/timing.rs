//! Constant-time tests of draws, path sums and rounding, in the manner of dudect.
//!
//! Two classes of secret inputs, drawn beforehand: a fixed one and random ones. A measurement runs
//! a batch of one class and reads the clock; classes alternate in random order, so that
//! disturbances of the machine affect both. The statistic is Welch's t on the times below a
//! percentile; |t| above 4.5 indicates a leak (Reparaz, Balasch and Verbauwhede, "Dude, is my code
//! constant time?", DATE 2017).
//!
//! False alarms: for normal means, one attempt exceeds 4.5 at one of 3 percentiles with a
//! probability of at most 3 * 6.8e-6. An alarm needs [`ATTEMPTS`] consecutive attempts, each on
//! fresh measurements, that exceed it *with one sign at one percentile*: (6.8e-6)^8 * 3 is below
//! 1e-40. The margin covers disturbances that are not normal: interrupts, frequency changes,
//! another process on the core, each of which would have to favour the same class every time. The
//! leaky controls must exceed 4.5 in every attempt; at this number of measurements, a leak of a few
//! per cent does.
//!
//! Memory addresses must not depend on the class: each batch is copied to one buffer before the
//! clock starts. All bits that do not define a class are random: a floating-point divider is about
//! 0.6 % faster if almost all bits of an operand are 0, which happens to a draw with a probability
//! below 2^-50 and is of no use to an observer.
//!
//! Not detected: leaks below a tenth of a per cent, and leaks through caches or power.

use crate::key::{MasterKey, Purpose, SketchId};
use crate::mechanism::descent::solve;
use crate::mechanism::rounding::Rounding;
use crate::mechanism::{Mechanism, MechanismKind, Path};
use crate::noise::gaussian::RoundedGaussian;
use crate::noise::prf::NoiseFunction;
use std::hint::black_box;
use std::thread::sleep;
use std::time::{Duration, Instant};

const LIMIT: f64 = 4.5;
const ATTEMPTS: usize = 8;
/// Pause between attempts, to outlast a process that shares the core for a while.
const PAUSE: Duration = Duration::from_millis(200);
/// Measurements per attempt, both classes together, and calls per measurement.
const MEASUREMENTS: usize = 20_000;
const BATCH: usize = 16;
/// Slow measurements are interrupts, not code: t is computed below each of these percentiles.
const KEPT: [f64; 3] = [0.5, 0.8, 0.95];

/// Smallest relative difference of mean times that counts. On a quiet machine the limit on t alone
/// finds 0.02 %, a third of a nanosecond of 1.3 us, which comes and goes with the addresses of the
/// code.
const SMALLEST: f64 = 1e-3;

/// Welch's t of two samples, 0 if their means are close.
fn welch(one: &[f64], two: &[f64]) -> f64 {
    let moments = |sample: &[f64]| {
        let n = sample.len() as f64;
        let mean = sample.iter().sum::<f64>() / n;
        let square: f64 = sample.iter().map(|x| (x - mean).powi(2)).sum();
        (mean, square / (n - 1.0) / n)
    };
    let ((mean, error), (other, its)) = (moments(one), moments(two));
    if (mean - other).abs() < SMALLEST * mean.max(other) {
        return 0.0;
    }
    (mean - other) / (error + its).sqrt().max(f64::MIN_POSITIVE)
}

/// Nanoseconds of each measurement, by class.
fn measure<T: Copy>(
    classes: &[Vec<T>; 2],
    order: &[u128],
    mut run: impl FnMut(&T),
) -> [Vec<f64>; 2] {
    let mut times = [Vec::new(), Vec::new()];
    let mut buffer = [classes[0][0]; BATCH];
    for (index, bits) in order.iter().enumerate() {
        let class = (bits & 1) as usize;
        let inputs = &classes[class];
        let start = (index * BATCH) % (inputs.len() - BATCH);
        buffer.copy_from_slice(&inputs[start..start + BATCH]);
        let inputs = black_box(&buffer);
        let clock = Instant::now();
        for input in inputs {
            run(input);
        }
        times[class].push(clock.elapsed().as_nanos() as f64);
    }
    times
}

/// t at each percentile of one attempt.
fn attempt<T: Copy>(
    classes: &[Vec<T>; 2],
    order: &[u128],
    run: impl FnMut(&T),
) -> [f64; KEPT.len()] {
    let times = measure(classes, order, run);
    let mut all: Vec<f64> = times.iter().flatten().copied().collect();
    all.sort_by(f64::total_cmp);
    KEPT.map(|share| {
        let most = all[(share * (all.len() - 1) as f64) as usize];
        let below = |sample: &[f64]| -> Vec<f64> {
            sample
                .iter()
                .copied()
                .filter(|&time| time <= most)
                .collect()
        };
        welch(&below(&times[0]), &below(&times[1]))
    })
}

/// Pseudo-random bits for inputs and for the order of classes; each label gives different bits.
fn bits(label: &str, count: usize) -> Vec<u128> {
    let key = MasterKey::seeded(6).derive(Purpose::Noise, &SketchId([0; 16]), label.as_bytes());
    let prf = NoiseFunction::new(&key);
    (0..count as u64).map(|index| prf.block(index, 1)).collect()
}

/// t of each attempt, until one stays within the limit for each percentile and sign.
fn attempts<T: Copy>(label: &str, classes: &[Vec<T>; 2], mut run: impl FnMut(&T)) -> Vec<[f64; 3]> {
    let mut found: Vec<[f64; 3]> = Vec::new();
    for number in 0..ATTEMPTS {
        let order = bits(&format!("{label}, attempt {number}"), MEASUREMENTS);
        found.push(attempt(classes, &order, &mut run));
        if !leaks(&found) {
            break;
        }
        sleep(PAUSE);
    }
    found
}

/// True if every attempt exceeds the limit, with one sign at one percentile.
fn leaks(attempts: &[[f64; 3]]) -> bool {
    (0..KEPT.len()).any(|at| {
        [1.0, -1.0]
            .iter()
            .any(|sign| attempts.iter().all(|t| sign * t[at] > LIMIT))
    })
}

#[track_caller]
fn assert_constant<T: Copy>(label: &str, classes: &[Vec<T>; 2], run: impl FnMut(&T)) {
    let found = attempts(label, classes, run);
    assert!(!leaks(&found), "{label}: t = {found:?}");
}

#[track_caller]
fn assert_leaky<T: Copy>(label: &str, classes: &[Vec<T>; 2], run: impl FnMut(&T)) {
    let found = attempts(label, classes, run);
    assert!(
        found.len() == ATTEMPTS && leaks(&found),
        "{label} passed: t = {found:?}"
    );
}

/// Maps random bits to a block whose draw is in one region of the quantile function.
type Region = fn(u128) -> u128;

const REGIONS: [(&str, Region); 3] = [
    ("near zero", |random| random | (3 << 126)),
    ("in the tail", |random| random >> 5),
    ("far out", |random| random >> 40),
];

#[test]
fn a_draw_is_constant_time() {
    for sigma in [3.0, 5e8] {
        let gaussian = RoundedGaussian::new(sigma);
        for (name, region) in REGIONS {
            let some = bits(name, 4096).into_iter().map(region).collect();
            let classes = [some, bits("any", 4096)];
            assert_constant(
                &format!("draws {name}, sigma {sigma}"),
                &classes,
                |&block| {
                    black_box(gaussian.draw(block));
                },
            );
        }
    }
}

/// Enough blocks for a few steps of [`crate::noise::gaussian_batch`] and a remainder.
type Many = [u128; 40];

#[test]
fn many_draws_are_constant_time() {
    let gaussian = RoundedGaussian::new(50_000.0);
    for (name, region) in REGIONS {
        let many = |label: &str, region: Region| -> Vec<Many> {
            let random: Vec<u128> = bits(label, 40 * 1024).into_iter().map(region).collect();
            random
                .chunks_exact(40)
                .map(|blocks| std::array::from_fn(|i| blocks[i]))
                .collect()
        };
        let classes = [many(name, region), many("any", |random| random)];
        assert_constant(&format!("many draws {name}"), &classes, |blocks| {
            let mut out = [0; 40];
            gaussian.draws(blocks, &mut out);
            black_box(out);
        });
    }
}

/// Blocks of one path.
type Blocks = [u128; 11];

/// The sum over a path from draws, as `Path::noise` computes it, without the cipher: the cipher's
/// blocks cannot be chosen, and hardware AES is constant-time.
fn path_sum(path: &Path, gaussian: &RoundedGaussian, rounding: &Rounding, blocks: &Blocks) -> i64 {
    let mut sum = 0_i128;
    for (&block, (_, numerator)) in blocks.iter().zip(path.terms()) {
        sum += numerator * i128::from(gaussian.draw(block));
    }
    rounding.round(sum)
}

#[test]
fn a_path_is_constant_time() {
    for kind in [MechanismKind::Haar, MechanismKind::Tree] {
        let mechanism = Mechanism::new(kind, 1024).unwrap();
        let weights = mechanism.weights(333);
        let path = weights.exact().unwrap();
        let rounding = Rounding::new(path.denominator());
        let gaussian = RoundedGaussian::new(50_000.0);
        for (name, region) in REGIONS {
            let paths = |label: &str, region: Region| -> Vec<Blocks> {
                let random: Vec<u128> = bits(label, 11 * 1024).into_iter().map(region).collect();
                random
                    .chunks_exact(11)
                    .map(|blocks| std::array::from_fn(|i| blocks[i]))
                    .collect()
            };
            let classes = [paths(name, region), paths("any", |random| random)];
            assert_constant(
                &format!("path, {}, draws {name}", kind.name()),
                &classes,
                |blocks| {
                    black_box(path_sum(path, &gaussian, &rounding, blocks));
                },
            );
        }
    }
}

/// The solve node by node from draws: small ones against any.
#[test]
fn a_solve_by_node_is_constant_time() {
    let weights = Mechanism::new(MechanismKind::DeepTree, 1 << 20)
        .unwrap()
        .weights(333_333);
    let path = weights.by_node().unwrap();
    let draws = |label: &str, right: u32| -> Vec<[i64; 21]> {
        let random = bits(label, 21 * 1024);
        let draw = |&bits: &u128| (bits as i64) >> right;
        random
            .chunks_exact(21)
            .map(|of_path| std::array::from_fn(|i| draw(&of_path[i])))
            .collect()
    };
    let mut sums = [[0.0; 16]; 21];
    assert_eq!(path.nodes().len(), 21);
    assert_constant(
        "solve by node",
        &[draws("near zero", 60), draws("any", 24)],
        |draws| {
            let mut out = [0];
            solve(path, draws, &mut sums, &mut out);
            black_box(out);
        },
    );
}

/// Full reads, cipher included: the cells with the smallest noise against those with the largest.
#[test]
fn a_read_is_constant_time() {
    let mechanism = Mechanism::new(MechanismKind::Tree, 1024).unwrap();
    let weights = mechanism.weights(333);
    let gaussian = RoundedGaussian::new(50_000.0);
    let key = MasterKey::seeded(7).derive(Purpose::Noise, &SketchId([0; 16]), b"reads");
    let prf = NoiseFunction::new(&key);
    let mut cells: Vec<u64> = (0..1 << 16).collect();
    cells.sort_by_key(|&cell| weights.noise(&prf, &gaussian, cell).unsigned_abs());
    let (small, large) = (cells[..4096].to_vec(), cells[cells.len() - 4096..].to_vec());
    assert_constant("read", &[small.clone(), large.clone()], |&cell| {
        black_box(weights.noise(&prf, &gaussian, cell));
    });
    assert_constant("read of many", &[small, large], |&cell| {
        let mut noise = [0];
        weights.noises(&prf, &gaussian, &[cell], &mut noise);
        black_box(noise);
    });
}

/// Sums that round to small numbers, and sums of any size up to the largest allowed.
fn sums(denominator: u128) -> [Vec<i128>; 2] {
    let small = bits("small", 4096).into_iter();
    let any = bits("any", 4096).into_iter();
    let room = i128::MAX / 8;
    [
        small.map(|x| (x % (4 * denominator)) as i128).collect(),
        any.map(|x| (x as i128 % room) >> (x as u32 % 60)).collect(),
    ]
}

#[test]
fn rounding_is_constant_time() {
    for denominator in [12, 6 << 10, (1 << 77) - 3] {
        let rounding = Rounding::new(denominator);
        assert_constant(
            &format!("rounding, {denominator}"),
            &sums(denominator),
            |&sum| {
                black_box(rounding.round(sum));
            },
        );
    }
}

/// Division by shift and subtraction that stops at the last bit of the quotient.
fn early_exit_division(sum: i128, denominator: u128) -> i64 {
    let (negative, mut rest) = (sum < 0, sum.unsigned_abs());
    let mut quotient = 0_i64;
    while rest >= denominator {
        let shift = denominator.leading_zeros() - rest.leading_zeros();
        let step = (denominator << shift).min(rest);
        quotient = quotient.wrapping_add(1_i64.wrapping_shl(shift));
        rest -= step;
    }
    if negative {
        quotient.wrapping_neg()
    } else {
        quotient
    }
}

#[test]
fn planted_division_with_an_early_exit_leaks() {
    let denominator = 6 << 10;
    assert_leaky("early exit", &sums(denominator), |&sum| {
        black_box(early_exit_division(sum, denominator));
    });
}

/// The quantile by rejection: the number of rounds depends on the block.
fn draw_by_rejection(mut block: u128) -> i64 {
    let mut rounds = 0;
    while block >> 126 == 3 && rounds < 64 {
        block = block.rotate_left(2) ^ u128::from(rounds as u32);
        rounds += 1;
    }
    RoundedGaussian::new(3.0).draw(black_box(block))
}

#[test]
fn planted_rejection_sampling_leaks() {
    let classes = [vec![u128::MAX; 4096], bits("any", 4096)];
    assert_leaky("rejection", &classes, |&block| {
        black_box(draw_by_rejection(block));
    });
}

/// The standard library's 128-bit division, which `Rounding` replaces.
#[test]
fn planted_division_of_the_library_leaks() {
    let denominator = (1_u128 << 77) - 3;
    assert_leaky("library division", &sums(denominator), |&sum| {
        black_box(black_box(sum).div_euclid(black_box(denominator as i128)));
    });
}

#[test]
fn welch_is_zero_for_equal_samples_and_large_for_others() {
    let one: Vec<f64> = (0..1000).map(|i| f64::from(i % 10)).collect();
    let two: Vec<f64> = one.iter().map(|x| x + 1.0).collect();
    assert!(welch(&one, &one).abs() < 1e-9);
    assert!(welch(&two, &one) > 7.0);
    assert!(leaks(&[[5.0, 0.0, 0.0], [4.6, 0.0, 0.0]]));
    assert!(!leaks(&[[5.0, 0.0, 0.0], [-4.6, 0.0, 0.0]]));
    assert!(!leaks(&[[5.0, 0.0, 0.0], [0.0, 5.0, 0.0]]));
}
