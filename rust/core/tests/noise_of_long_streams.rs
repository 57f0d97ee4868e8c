//! The released noise against its definition, as far as real streams go: thousands of pushes of a
//! cell, the last push of a schedule, and tables of more than 2^16 cells. A mechanism that uses the
//! noise of one push again at another, or that of one cell in another, differs from the definition.

use definition::{Cipher, derived, noise, parameters};
use lazysketch_core::key::{MasterKey, SketchId};
use lazysketch_core::mechanism::MechanismKind;
use lazysketch_core::parameters::{NoiseSpec, Shape, TableKind};
use lazysketch_core::release::Release;
use lazysketch_core::schedule::{Growth, Schedule};
use lazysketch_core::sketch::PrivateSketch;
use seeded::{seeded, shape, spec};
use std::collections::HashSet;

mod definition;
mod seeded;

const SEED: u64 = 5;

fn cipher(release: &Release) -> Cipher {
    let id = SketchId([3; 16]);
    let key = derived(
        &MasterKey::seeded(SEED),
        "lazysketch noise",
        id,
        &parameters(release),
    );
    Cipher::new(&key)
}

/// The noise of every cell of a sketch whose columns were all pushed `p` times.
fn expected(release: &Release, kind: MechanismKind, leaves: u64, p: u64) -> Vec<i64> {
    let (cipher, combination) = (cipher(release), noise(kind, leaves, p));
    let sigma = release.parts()[0].noise.unwrap().sigma;
    let cells = 0..release.table().len() as u64;
    cells
        .map(|cell| combination.rounded(&cipher, sigma, cell))
        .collect()
}

fn punctual(kind: MechanismKind, shape: Shape, horizon: u64) -> PrivateSketch {
    seeded(shape, spec(Schedule::Punctual { horizon }, kind), SEED)
}

/// Each of two counters at every push up to the last, with an event of weight 1 per step.
#[test]
fn noise_of_every_push_follows_the_definition() {
    for (kind, leaves) in [
        (MechanismKind::Binary, 4_500),
        (MechanismKind::Haar, 4_500),
        (MechanismKind::Tree, 4_500),
        (MechanismKind::TreeLog, 4_096),
    ] {
        let mut sketch = punctual(kind, shape(TableKind::Counters, 1, 2), leaves);
        for p in 1..=leaves {
            sketch.update(p % 2, 1).unwrap();
            let release = sketch.release().unwrap();
            let noise = expected(&release, kind, leaves, p);
            let counts = [p / 2, p.div_ceil(2)];
            let expected = [0, 1].map(|cell| counts[cell] as i64 + noise[cell]);
            assert_eq!(release.table(), expected, "{kind:?}, push {p}");
        }
        assert!(sketch.tick(1).is_err());
    }
}

/// No two of 4,096 pushes, and no two of three cells, release one value: at this sigma the expected
/// number of coincidences is below 0.1, and the key is fixed. Shared noise of any two pushes would
/// be one.
#[test]
fn no_two_pushes_share_their_noise() {
    for kind in [
        MechanismKind::Binary,
        MechanismKind::Haar,
        MechanismKind::SquareRoot,
    ] {
        // A read of the square-root mechanism costs as many draws as pushes.
        let leaves = if kind == MechanismKind::SquareRoot {
            1_100
        } else {
            4_096
        };
        let spec = NoiseSpec {
            sigma: 2_f64.powi(30),
            ..spec(Schedule::Punctual { horizon: leaves }, kind)
        };
        let mut sketch = seeded(shape(TableKind::Counters, 1, 3), spec, SEED);
        let mut seen = HashSet::new();
        for p in 1..=leaves {
            sketch.tick(1).unwrap();
            for value in sketch.release().unwrap().table() {
                assert!(seen.insert(value.unsigned_abs()), "{kind:?}, push {p}");
            }
        }
    }
}

/// The step of the push of `column` in each round, by definition.
fn geometric_steps(growth: Growth, rounds: u64, width: u64, column: u64) -> Vec<u64> {
    let mut start = 0_u128;
    let (numerator, denominator) = (u128::from(growth.numerator), u128::from(growth.denominator));
    let rounds = (0..rounds).map(|_| {
        let length = (start * numerator).div_ceil(denominator).max(width.into());
        let step = start + ((u128::from(column) + 1) * length).div_ceil(width.into());
        start += length;
        step as u64
    });
    rounds.collect()
}

/// All 4,096 rounds: the last push of every column, the steps around it, and none afterwards.
#[test]
fn a_geometric_schedule_ends_with_its_last_leaf() {
    let growth = Growth {
        numerator: 1,
        denominator: 1_000,
    };
    let (rounds, width) = (4_096, 3);
    let schedule = Schedule::Geometric { growth, rounds };
    let steps: Vec<_> = (0..width)
        .map(|column| geometric_steps(growth, rounds, width, column))
        .collect();
    let end = *steps[2].last().unwrap();
    assert_eq!(schedule.leaves(width as u32), rounds);
    for kind in [MechanismKind::Haar, MechanismKind::TreeLog] {
        let mut sketch = seeded(
            shape(TableKind::Counters, 1, width as u32),
            spec(schedule, kind),
            SEED,
        );
        sketch.update(0, 3).unwrap();
        for step in [end - 1, end, end + 1, end + 100_000, 1 << 50] {
            sketch.tick(step - sketch.step()).unwrap();
            sketch.update(0, 5).unwrap(); // pushed if a push of its column follows
            let release = sketch.release().unwrap();
            for (column, steps) in steps.iter().enumerate() {
                let pushes = steps.iter().filter(|&&at| at <= sketch.step()).count() as u64;
                assert!((rounds - 1..=rounds).contains(&pushes));
                let noise = expected(&release, kind, rounds, pushes)[column];
                // No event of counter 0 but the first precedes its last push.
                let count = if column == 0 { 3 } else { 0 };
                assert_eq!(
                    release.table()[column],
                    count + noise,
                    "{kind:?}, step {step}"
                );
            }
        }
    }
}

/// The default schedule at the last step that a sketch can take, past 2^61: push 3,984 of column 0.
#[test]
fn the_default_schedule_reaches_the_last_step() {
    let (schedule, kind) = (Schedule::geometric(), MechanismKind::Haar);
    let mut spec = spec(schedule, kind);
    spec.max_weight = 1;
    let mut sketch = seeded(shape(TableKind::Counters, 1, 1), spec, SEED);
    let last = (1 << 62) - 1;
    sketch.tick(last).unwrap();
    assert!(sketch.tick(1).is_err());
    let growth = Growth {
        numerator: 1,
        denominator: 100,
    };
    let steps = geometric_steps(growth, 4_096, 1, 0);
    let pushes = steps.iter().filter(|&&step| step <= last).count() as u64;
    assert!((3_900..4_000).contains(&pushes), "{pushes}");
    let release = sketch.release().unwrap();
    assert_eq!(release.table(), expected(&release, kind, 4_096, pushes));
}

/// 90,003 cells, read as a table and by point queries of items in its last cells.
#[test]
fn noise_of_a_large_table_follows_the_definition() {
    for (table, kind) in [
        (TableKind::CountMin, MechanismKind::Binary),
        (TableKind::CountSketch, MechanismKind::Haar),
    ] {
        let shape = shape(table, 3, 30_001);
        let mut sketch = punctual(kind, shape, 4);
        for p in 1..=3 {
            sketch.tick(1).unwrap();
            let release = sketch.release().unwrap();
            assert_eq!(release.table(), expected(&release, kind, 4, p), "push {p}");
            let cells = release.item_cells();
            let reader = release.reader(&cells);
            for item in 0..100 {
                assert_eq!(sketch.estimate(item).unwrap(), reader.estimate(item));
            }
        }
    }
}
