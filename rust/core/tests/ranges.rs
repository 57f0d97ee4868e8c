//! Tables of ranges: released are halves and Haar coefficients with their noise, and nothing else.

use lazysketch_core::guarantee::NotPrivate;
use lazysketch_core::key::{Identity, MasterKey, SketchId};
use lazysketch_core::mechanism::MechanismKind;
use lazysketch_core::parameters::{Calibration, NoiseSpec, Relation, Shape, TableKind};
use lazysketch_core::release::codec;
use lazysketch_core::schedule::Schedule;
use lazysketch_core::sketch::PrivateSketch;
use lazysketch_core::table::hash::RowHashes;
use lazysketch_core::table::items::Items;

const BITS: u32 = 6;
const WIDTH: u32 = 8;

fn shape() -> Shape {
    Shape {
        kind: TableKind::Ranges,
        depth: BITS,
        width: WIDTH,
        hash_seed: 7,
    }
}

fn spec(schedule: Schedule) -> NoiseSpec {
    NoiseSpec {
        schedule,
        mechanism: MechanismKind::Tree,
        sigma: 1e5,
        relation: Relation::Substitution,
        calibration: Calibration::Analytic,
        epsilon: 1.0,
        delta: 1e-6,
        max_weight: 3,
        max_events_per_user: 1,
        person_bound: None,
        max_changes: 1,
    }
}

fn punctual() -> Schedule {
    Schedule::Punctual { horizon: 100 }
}

fn sketch(schedule: Schedule) -> PrivateSketch {
    let identity = Identity::chosen(SketchId([1; 16]));
    PrivateSketch::new(shape(), spec(schedule), &MasterKey::seeded(1), identity).unwrap()
}

/// What one event adds, from its definition over the leaves of the tree.
fn added(key: u64, weight: i64) -> Vec<i64> {
    let hashes = RowHashes::new(7, BITS, WIDTH);
    let mut cells = vec![0; (BITS * WIDTH) as usize];
    for row in 0..BITS as usize {
        let size = 1_u64 << (BITS as usize - row);
        let (node, is_right) = (key / size, key % size >= size / 2);
        let side = if is_right { -weight } else { weight };
        let (cell, added) = match row {
            0 => (usize::from(is_right), weight),
            1..=4 => ((1 << row) + node as usize, side),
            _ => {
                let sign = 1 + 2 * hashes.negative(row, node);
                let column = hashes.column(row, node);
                (row * WIDTH as usize + column, sign * side)
            }
        };
        cells[cell] += added;
    }
    cells
}

/// Two sketches with one key and one id draw the same noise, so their difference is that of their
/// exact counts; and an empty one shows noise in every cell.
#[test]
fn releases_are_coefficients_and_noise() {
    let (keys, weights) = ([0_u64, 63, 37, 37, 5, 20], [1_u64, 2, 3, 3, 0, 1]);
    let mut counted = vec![0; (BITS * WIDTH) as usize];
    for (&key, &weight) in keys.iter().zip(&weights) {
        let cells = added(key, weight as i64);
        counted
            .iter_mut()
            .zip(cells)
            .for_each(|(sum, cell)| *sum += cell);
    }
    for schedule in [punctual(), Schedule::Batch { horizon: 9 }] {
        let (mut empty, mut full, mut single) = (sketch(schedule), sketch(schedule), None);
        if schedule == punctual() {
            full.update_many(Items::Ready(&keys), Some(&weights))
                .unwrap();
            empty.tick(6).unwrap();
            let mut one = sketch(schedule);
            for (&key, &weight) in keys.iter().zip(&weights) {
                one.update(key, weight).unwrap();
            }
            single = Some(one.release().unwrap());
        } else {
            full.update_batch(Items::Ready(&keys), Some(&weights))
                .unwrap();
            empty.tick(1).unwrap();
        }
        let (full, empty) = (full.release().unwrap(), empty.release().unwrap());
        assert!(empty.table().iter().all(|&noise| noise != 0));
        let pairs = full.table().iter().zip(empty.table());
        let found: Vec<i64> = pairs.map(|(with, noise)| with - noise).collect();
        assert_eq!(found, counted, "{schedule:?}");
        if let Some(single) = single {
            assert_eq!(single.table(), full.table());
        }
        let bytes = codec::encode(&full).unwrap();
        let read = codec::decode(&bytes).unwrap();
        assert_eq!((read.shape(), read.table()), (full.shape(), full.table()));
    }
}

/// Noise for 4 of each depth covers; for the sensitivity of Theorem 26, 14 here, too; for one event
/// that goes, or for two in each row, it is too little.
#[test]
fn the_cores_own_check_covers_a_replaced_key() {
    // sigma / sqrt(sensitivity2) at (1, 1e-6), with what noise of integers adds.
    let multiplier = 4.26;
    let served = |sensitivity2: f64| {
        let mechanism = spec(punctual()).mechanism(&shape()).unwrap();
        let sigma = multiplier * (sensitivity2 * mechanism.sensitivity2()).sqrt();
        let noise = NoiseSpec {
            sigma,
            max_weight: 1,
            ..spec(punctual())
        };
        !NotPrivate::of_spec(&shape(), &noise).contains(NotPrivate::TOO_LITTLE_NOISE)
    };
    assert!(served(24.0) && served(14.0));
    assert!(!served(13.0) && !served(12.0) && !served(6.0));
}

/// A cell has no count of a key: there is no estimate of one, and no key beyond the bits.
#[test]
fn coefficients_are_not_counts_of_keys() {
    let mut live = sketch(punctual());
    assert!(live.estimate(3).is_err());
    assert!(live.update(1 << BITS, 1).is_err());
    assert!(live.update((1 << BITS) - 1, 1).is_ok());
}

/// Counts of several columns make an answer, so all must have been pushed together.
#[test]
fn other_schedules_are_refused() {
    for schedule in [
        Schedule::geometric(),
        Schedule::RoundRobin {
            horizon: 100,
            period: 1,
        },
    ] {
        assert!(spec(schedule).validate(&shape()).is_err(), "{schedule:?}");
    }
    let narrow = Shape {
        width: 1,
        ..shape()
    };
    assert!(narrow.validate().is_err());
}
