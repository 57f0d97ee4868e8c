//! Tables of values: released are node sums of bins and their noise, and nothing else.

use lazysketch_core::estimation::How;
use lazysketch_core::guarantee::NotPrivate;
use lazysketch_core::key::{Identity, MasterKey, SketchId};
use lazysketch_core::mechanism::MechanismKind;
use lazysketch_core::mechanism::value_tree::{ValueRows, ValueTree};
use lazysketch_core::parameters::{
    Calibration, NoiseSpec, PersonBound, Relation, Shape, TableKind, digest_of_edges,
};
use lazysketch_core::release::{Release, codec};
use lazysketch_core::schedule::Schedule;
use lazysketch_core::sketch::PrivateSketch;
use lazysketch_core::table::items::Items;

const BINS: u32 = 16;
const CHECKSUM: usize = 32;

fn edges() -> Vec<f64> {
    (1..13).map(|edge| f64::from(edge) * 2.5).collect()
}

fn shape(rows: ValueRows) -> Shape {
    Shape {
        kind: TableKind::Values {
            rows,
            edges: digest_of_edges(&edges()),
        },
        depth: 1,
        width: BINS,
        hash_seed: 0,
    }
}

fn spec(schedule: Schedule) -> NoiseSpec {
    NoiseSpec {
        schedule,
        mechanism: MechanismKind::Tree,
        sigma: 1e5,
        relation: Relation::ZeroOut,
        calibration: Calibration::Analytic,
        epsilon: 1.0,
        delta: 1e-6,
        max_weight: 3,
        max_events_per_user: 1,
        person_bound: None,
        max_changes: 1,
    }
}

fn sketch(id: u8, rows: ValueRows, schedule: Schedule) -> PrivateSketch {
    let identity = Identity::chosen(SketchId([id; 16]));
    PrivateSketch::new(shape(rows), spec(schedule), &MasterKey::seeded(1), identity)
        .and_then(|sketch| sketch.with_edges(&edges()))
        .unwrap()
}

fn punctual() -> Schedule {
    Schedule::Punctual { horizon: 100 }
}

/// Two sketches with one key and one id draw the same noise, so their difference is that of their
/// exact node sums, which are those of the tree; and an empty one shows noise in every node.
#[test]
fn releases_are_node_sums_and_noise() {
    for rows in ValueRows::ALL {
        for schedule in [punctual(), Schedule::Batch { horizon: 9 }] {
            let (mut empty, mut full) = (sketch(1, rows, schedule), sketch(1, rows, schedule));
            let (items, weights) = ([0, 3, 3, 15, 7], [1, 2, 3, 1, 0]);
            if schedule == punctual() {
                full.update_many(Items::Ready(&items), Some(&weights))
                    .unwrap();
                empty.tick(5).unwrap();
            } else {
                full.update_batch(Items::Ready(&items), Some(&weights))
                    .unwrap();
                empty.tick(1).unwrap();
            }
            let tree = ValueTree::of(rows, BINS).unwrap();
            let (full, empty) = (full.release().unwrap(), empty.release().unwrap());
            assert!(empty.table().iter().all(|&noise| noise != 0));
            let sums: Vec<i64> = full
                .table()
                .iter()
                .zip(empty.table())
                .map(|(a, b)| a - b)
                .collect();
            let counts = [1, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1];
            let mut known = 0;
            for (&prefix, count) in tree.prefixes(&sums).iter().zip(counts) {
                known += count;
                assert!((prefix - f64::from(known)).abs() < 1e-9, "{prefix} {known}");
            }
        }
    }
}

#[test]
fn kept_releases_equal_new_ones() {
    let mut kept = sketch(1, ValueRows::Tree, punctual());
    kept.release().unwrap();
    for bin in [3, 9, 9, 0] {
        kept.update(bin, 1).unwrap();
        kept.release().unwrap();
    }
    let mut new = sketch(1, ValueRows::Tree, punctual());
    new.update_many(Items::Ready(&[3, 9, 9, 0]), None).unwrap();
    assert_eq!(
        kept.release().unwrap().table(),
        new.release().unwrap().table()
    );
    kept.finish().unwrap();
    new.finish().unwrap();
    assert_eq!(kept.release().unwrap(), new.release().unwrap());
}

#[test]
fn a_single_push_publishes_nothing_before_the_end() {
    let mut single = sketch(1, ValueRows::Haar, Schedule::Single { horizon: None });
    single.update(5, 1).unwrap();
    assert!(
        single
            .release()
            .unwrap()
            .table()
            .iter()
            .all(|&value| value == 0)
    );
    single.finish().unwrap();
    assert!(
        single
            .release()
            .unwrap()
            .table()
            .iter()
            .all(|&value| value != 0)
    );
}

/// The count of a bin with the noise of a node is no release of the mechanism.
#[test]
fn bins_are_not_read() {
    let mut values = sketch(1, ValueRows::Tree, punctual());
    values.update(5, 1).unwrap();
    let how = How {
        joint: true,
        now: true,
    };
    let mut view = None;
    let refusals = [
        values.estimate(5).map(|_| ()),
        values.estimate_many(Items::Ready(&[5])).map(|_| ()),
        values.estimate_by(5, how, &mut view).map(|_| ()),
        values
            .estimate_many_by(Items::Ready(&[5]), how, &mut view)
            .map(|_| ()),
        values.keep_view(&mut view),
        values.update_vector(&[1; BINS as usize]),
    ];
    for refused in refusals {
        assert!(refused.unwrap_err().to_string().contains("expected"));
    }
    assert!(view.is_none());
}

#[test]
fn descriptions_outside_of_the_proof_are_refused() {
    let shape = shape(ValueRows::Tree);
    let bound = |cells| PersonBound {
        cells,
        events: 1,
        most_people: None,
    };
    for person_bound in [None, Some(bound(1))] {
        let right = NoiseSpec {
            person_bound,
            ..spec(punctual())
        };
        assert_eq!(right.validate(&shape), Ok(()));
    }
    for (wrong, name) in [
        (spec(Schedule::round_robin(100)), "schedule:"),
        (spec(Schedule::geometric()), "schedule:"),
        (
            NoiseSpec {
                calibration: Calibration::Classical,
                ..spec(punctual())
            },
            "calibration:",
        ),
        (
            NoiseSpec {
                mechanism: MechanismKind::SquareRoot,
                ..spec(punctual())
            },
            "mechanism:",
        ),
        (
            NoiseSpec {
                person_bound: Some(bound(2)),
                ..spec(punctual())
            },
            "cells:",
        ),
        (
            NoiseSpec {
                max_changes: 2,
                ..spec(punctual())
            },
            "max_changes:",
        ),
    ] {
        let message = wrong.validate(&shape).unwrap_err().to_string();
        assert!(message.starts_with(name), "{message}");
    }
    for (width, depth, name) in [
        (15, 1, "width:"),
        (2, 1, "width:"),
        (1 << 15, 1, "width:"),
        (16, 2, "depth:"),
    ] {
        let message = Shape {
            width,
            depth,
            ..shape
        }
        .validate()
        .unwrap_err()
        .to_string();
        assert!(message.starts_with(name), "{message}");
    }
}

/// Least sigma for the squared sensitivity of node sums, and of time: less is marked.
#[test]
fn the_cores_own_check_covers_a_replaced_value() {
    for rows in ValueRows::ALL {
        for relation in [Relation::ZeroOut, Relation::Substitution] {
            let tree = ValueTree::of(rows, BINS).unwrap();
            let of_values = match relation {
                Relation::ZeroOut => tree.sensitivity2(),
                Relation::Substitution => tree.replaced2(),
            };
            let at = |share: f64| {
                let spec = NoiseSpec {
                    relation,
                    max_weight: 1,
                    ..spec(punctual())
                };
                let mechanism = spec.mechanism(&shape(rows)).unwrap();
                let l2 = (of_values as f64 * mechanism.sensitivity2()).sqrt();
                // One row, as the multiplier of Theorem 15 at (1, 1e-6).
                NoiseSpec {
                    sigma: share * 4.2550 * l2,
                    ..spec
                }
            };
            assert!(NotPrivate::of_spec(&shape(rows), &at(1.0)).is_private());
            assert!(!NotPrivate::of_spec(&shape(rows), &at(0.98)).is_private());
        }
    }
}

/// A step past which a node sum could exceed 64 bits does not exist, whatever is counted.
#[test]
fn steps_end_before_sums_could_overflow() {
    let spec = NoiseSpec {
        max_weight: 1 << 25,
        ..spec(Schedule::Batch { horizon: 20 })
    };
    let identity = Identity::chosen(SketchId([1; 16]));
    let mut values = PrivateSketch::new(
        shape(ValueRows::Haar),
        spec,
        &MasterKey::seeded(1),
        identity,
    )
    .unwrap();
    // 3 * 2^25 * 2^32 * 10 < 2^62 <= 3 * 2^25 * 2^32 * 11.
    values.tick(10).unwrap();
    assert!(values.tick(1).is_err());
}

fn release(id: u8) -> Release {
    let mut values = sketch(id, ValueRows::Tree, punctual());
    values
        .update_many(Items::Ready(&[3, 9, 9, 0]), None)
        .unwrap();
    values.release().unwrap()
}

#[test]
fn bytes_have_the_edges_and_come_back() {
    let (one, other) = (release(1), release(2));
    let merged = Release::merge(&[&one, &other]).unwrap();
    for release in [&one, &merged] {
        assert_eq!(release.edges(), edges());
        let bytes = codec::encode(release).unwrap();
        assert_eq!(&codec::decode(&bytes).unwrap(), release);
        // Every byte counts, with a valid checksum or without.
        for at in 0..bytes.len() - CHECKSUM {
            let mut wrong = bytes.clone();
            wrong[at] ^= 0x10;
            assert!(codec::decode(&wrong).is_err());
            let body = wrong.len() - CHECKSUM;
            let checksum = blake3::hash(&wrong[..body]);
            wrong[body..].copy_from_slice(checksum.as_bytes());
            if let Ok(decoded) = codec::decode(&wrong) {
                assert_ne!(&decoded, release);
                assert_eq!(decoded.edges().len(), edges().len());
            }
        }
        for length in 0..bytes.len() {
            assert!(codec::decode(&bytes[..length]).is_err());
        }
    }
}

#[test]
fn other_edges_are_refused() {
    let identity = || Identity::chosen(SketchId([1; 16]));
    let new = || {
        let key = MasterKey::seeded(1);
        PrivateSketch::new(shape(ValueRows::Tree), spec(punctual()), &key, identity()).unwrap()
    };
    assert!(new().with_edges(&edges()).is_ok());
    let moved = |at: usize, to: f64| {
        let mut wrong = edges();
        wrong[at] = to;
        wrong
    };
    for wrong in [
        vec![],
        edges()[1..].to_vec(),
        moved(2, f64::NAN),
        moved(11, f64::INFINITY),
        moved(3, 7.5),
        moved(3, 9.0),
    ] {
        assert!(new().with_edges(&wrong).is_err(), "{wrong:?}");
    }
    let counters = Shape {
        kind: TableKind::Counters,
        ..shape(ValueRows::Tree)
    };
    let key = MasterKey::seeded(1);
    let counters = PrivateSketch::new(counters, spec(punctual()), &key, identity()).unwrap();
    assert!(counters.with_edges(&edges()).is_err());
}

/// Noise belongs to the edges and the rows too.
#[test]
fn every_parameter_changes_all_noise() {
    let mut first = sketch(1, ValueRows::Tree, punctual());
    let others: Vec<f64> = edges().iter().map(|edge| edge + 1.0).collect();
    let kind = TableKind::Values {
        rows: ValueRows::Tree,
        edges: digest_of_edges(&others),
    };
    let moved = Shape {
        kind,
        ..shape(ValueRows::Tree)
    };
    let identity = Identity::chosen(SketchId([1; 16]));
    let second = PrivateSketch::new(moved, spec(punctual()), &MasterKey::seeded(1), identity);
    let mut second = second
        .and_then(|sketch| sketch.with_edges(&others))
        .unwrap();
    first.tick(3).unwrap();
    second.tick(3).unwrap();
    let (one, other) = (first.release().unwrap(), second.release().unwrap());
    assert!(one.table().iter().zip(other.table()).all(|(a, b)| a != b));
    assert!(Release::merge(&[&one, &other]).is_err());
}
