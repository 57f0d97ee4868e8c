//! Finished tables against their definition: the final push of a cell has all of its events, a leaf
//! of its own, and the noise of that leaf; nothing is counted afterwards.

use lazysketch_core::Error;
use lazysketch_core::discovery::spec::DiscoverySpec;
use lazysketch_core::item::Item;
use lazysketch_core::key::{Identity, MasterKey, SketchId};
use lazysketch_core::mechanism::{Mechanism, MechanismKind};
use lazysketch_core::parameters::{NoiseSpec, Relation, Shape, TableKind};
use lazysketch_core::release::codec;
use lazysketch_core::schedule::{Growth, Schedule};
use lazysketch_core::sketch::PrivateSketch;
use lazysketch_core::sketch::exact::ExactSketch;
use lazysketch_core::sketch::heavy_hitters::HeavySketch;
use lazysketch_core::table::items::Items;
use proptest::prelude::*;
use seeded::{MAX_WEIGHT, seeded, shape, spec};
use std::collections::HashMap;

mod seeded;

const EXACT: [MechanismKind; 4] = [
    MechanismKind::Binary,
    MechanismKind::Haar,
    MechanismKind::Tree,
    MechanismKind::TreeLog,
];

/// Weights of the node draws in the noise of every push, the extra one last: the decoder L.
fn decoder(mechanism: &Mechanism) -> Vec<Vec<f64>> {
    let size = mechanism.extra_leaf() as usize;
    let mut rows = vec![vec![0.0; size]; size];
    for (row, push) in rows.iter_mut().zip(1..) {
        let weights = mechanism.weights(push);
        let path = weights.exact().unwrap();
        for (node, numerator) in path.terms() {
            row[node as usize - 1] = numerator as f64 / path.denominator() as f64;
        }
    }
    rows
}

/// The inverse by Gauss and Jordan, with pivots: the strategy U.
fn inverse(mut matrix: Vec<Vec<f64>>) -> Vec<Vec<f64>> {
    let size = matrix.len();
    let mut inverse = vec![vec![0.0; size]; size];
    for (i, row) in inverse.iter_mut().enumerate() {
        row[i] = 1.0;
    }
    for column in 0..size {
        let magnitude = |row: &usize| matrix[*row][column].abs();
        let pivot = (column..size)
            .max_by(|a, b| magnitude(a).total_cmp(&magnitude(b)))
            .unwrap();
        matrix.swap(column, pivot);
        inverse.swap(column, pivot);
        let divisor = matrix[column][column];
        for entry in matrix[column].iter_mut().chain(&mut inverse[column]) {
            *entry /= divisor;
        }
        for row in (0..size).filter(|&row| row != column) {
            let factor = matrix[row][column];
            if factor != 0.0 {
                for at in 0..size {
                    let (above, beside) = (matrix[column][at], inverse[column][at]);
                    matrix[row][at] -= factor * above;
                    inverse[row][at] -= factor * beside;
                }
            }
        }
    }
    inverse
}

/// Every push, the extra one included, is inverted from the weights that the core uses. A unit change
/// at any leaf moves all queries by at most `sensitivity2`, and as many of them as are accounted for;
/// the move of an event from any leaf to the extra one by at most twice that.
#[test]
fn the_extra_leaf_leaves_the_sensitivity_as_it_is() {
    for kind in EXACT {
        for leaves in [1, 2, 3, 4, 5, 8, 13, 16, 32, 64] {
            let mechanism = Mechanism::new(kind, leaves).unwrap();
            if mechanism.nodes() > 64 {
                continue; // the smallest table of tree-log
            }
            let strategy = inverse(decoder(&mechanism));
            let sensitivity2 = mechanism.sensitivity2();
            let shift = |leaf: usize| {
                let after = |row: &Vec<f64>| row[leaf - 1..].iter().sum::<f64>();
                strategy.iter().map(after).collect::<Vec<f64>>()
            };
            let norm = |shift: &[f64]| shift.iter().map(|query| query * query).sum::<f64>();
            let extra = mechanism.extra_leaf() as usize;
            let last = shift(extra);
            let mut largest = 0.0_f64;
            for leaf in 1..=extra {
                let moved = shift(leaf);
                let touched = moved.iter().filter(|query| query.abs() > 1e-6).count();
                assert!(
                    touched as u64 <= mechanism.nodes_per_leaf(),
                    "{kind:?} {leaves} {leaf}"
                );
                assert!(
                    norm(&moved) <= sensitivity2 * (1.0 + 1e-9),
                    "{kind:?} {leaves} {leaf}"
                );
                let to_extra: Vec<f64> = moved.iter().zip(&last).map(|(a, b)| a - b).collect();
                assert!(norm(&to_extra) <= 2.0 * sensitivity2 * (1.0 + 1e-9));
                largest = largest.max(norm(&moved));
            }
            assert!(
                largest > sensitivity2 * (1.0 - 1e-9),
                "{kind:?} {leaves}: {largest}"
            );
        }
    }
}

fn schedules() -> impl Strategy<Value = Schedule> {
    prop_oneof![
        (1..4_u64, 20..40_u64)
            .prop_map(|(period, horizon)| Schedule::RoundRobin { horizon, period }),
        Just(Schedule::Punctual { horizon: 40 }),
        Just(Schedule::Batch { horizon: 40 }),
        (0..60_u64).prop_map(|horizon| Schedule::Single {
            horizon: (horizon > 20).then_some(horizon)
        }),
        (1..5_u64).prop_map(|rounds| Schedule::Geometric {
            growth: Growth {
                numerator: 1,
                denominator: 3
            },
            rounds,
        }),
    ]
}

/// floor(sum of weight * draw + 1/2) at a push of a cell, from the recursion for the extra leaf.
fn noise(sketch: &PrivateSketch, mechanism: &Mechanism, cell: u64, push: u64) -> i64 {
    let extra = push > mechanism.nodes();
    let weights = mechanism.weights(if extra { mechanism.nodes() } else { push });
    let path = weights.exact().unwrap();
    let nodes: Vec<u64> = path.terms().map(|(node, _)| node).collect();
    let draws = sketch.draws(&[cell], &nodes).unwrap();
    let terms = path.terms().zip(draws);
    let mut sum: i128 = terms.map(|((_, n), z)| n * i128::from(z)).sum();
    let mut denominator = path.denominator() as i128;
    if extra {
        // N(n) + z / a, with the largest a whose square is at most the squared sensitivity.
        let fits = |a: i128| (a * a) as f64 <= mechanism.sensitivity2();
        let a = (1..).take_while(|&a| fits(a)).last().unwrap();
        let more = sketch.draws(&[cell], &[mechanism.extra_leaf()]).unwrap()[0];
        sum = sum * a + i128::from(more) * denominator;
        denominator *= a;
    }
    (2 * sum + denominator).div_euclid(2 * denominator) as i64
}

/// Pushes of a column of a release: those of the schedule, or the final ones.
fn push_of(
    finished: Option<[u64; 2]>,
    spec: &NoiseSpec,
    width: u32,
    step: u64,
    column: u32,
) -> u64 {
    let progress = spec.schedule.progress(step, width);
    match finished {
        None => progress.pushes(column),
        Some(numbers) => numbers[usize::from(column < progress.column)],
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// A sketch that is read at every step, and finished anywhere: no noise is ever met by two
    /// contents, the final table has every event, and after it nothing changes.
    #[test]
    fn a_finished_table_has_every_event_and_noise_of_its_own(
        schedule in schedules(),
        mechanism in proptest::sample::select(EXACT.to_vec()),
        width in 1..6_u32,
        events in proptest::collection::vec((0..6_u64, 0..=MAX_WEIGHT), 0..40),
        open in any::<bool>(),
    ) {
        let (shape, spec) = (shape(TableKind::Counters, 1, width), spec(schedule, mechanism));
        let mut sketch = seeded(shape, spec, 5);
        let facts = spec.mechanism(&shape).unwrap();
        let room = schedule.horizon().unwrap_or(u64::MAX).min(events.len() as u64) as usize;
        let mut counts = vec![0_i64; width as usize];
        // The contents that each noise was added to.
        let mut contents: HashMap<(u64, u64), i64> = HashMap::new();
        let mut check = |sketch: &mut PrivateSketch, all: Option<&[i64]>| {
            let release = sketch.release().unwrap();
            let part = &release.parts()[0];
            for (column, &value) in release.table().iter().enumerate() {
                let push = push_of(part.finished, &spec, width, part.step, column as u32);
                if push == 0 {
                    assert!(value == 0 && part.finished.is_none());
                    continue;
                }
                let content = value - noise(sketch, &facts, column as u64, push);
                let before = *contents.entry((column as u64, push)).or_insert(content);
                assert_eq!(before, content, "column {column}, push {push}");
                if let Some(counts) = all {
                    assert_eq!(content, counts[column], "column {column}");
                }
                assert_eq!(sketch.estimate(column as u64).unwrap(), value as f64);
            }
            release
        };
        for &(item, weight) in &events[..room] {
            let item = item % u64::from(width);
            sketch.update(item, weight).unwrap();
            counts[item as usize] += weight as i64;
            check(&mut sketch, None);
        }
        let opens = open && matches!(schedule, Schedule::Batch { .. }) && room < 40;
        if opens {
            sketch.add_to_batch(Items::Ready(&[0, 0]), None).unwrap();
            counts[0] += 2;
        }
        sketch.finish().unwrap();
        prop_assert!(sketch.is_finished());
        prop_assert_eq!(sketch.step(), (room + usize::from(opens)) as u64);
        let last = check(&mut sketch, Some(&counts));
        // Nothing can be added, by any call.
        let one = Items::Ready(&[0]);
        prop_assert_eq!(sketch.update(0, 1), Err(Error::Finished));
        prop_assert_eq!(sketch.update_many(one, None), Err(Error::Finished));
        prop_assert_eq!(sketch.update_many(Items::Ready(&[0, 0]), None), Err(Error::Finished));
        prop_assert_eq!(sketch.tick(1), Err(Error::Finished));
        prop_assert_eq!(sketch.update_vector(&vec![1; width as usize]), Err(Error::Finished));
        if matches!(schedule, Schedule::Batch { .. }) {
            prop_assert_eq!(sketch.update_batch(one, None), Err(Error::Finished));
            prop_assert_eq!(sketch.add_to_batch(one, None), Err(Error::Finished));
        }
        sketch.finish().unwrap();
        let again = check(&mut sketch, Some(&counts));
        prop_assert_eq!(&again, &last);
        let bytes = codec::encode(&last).unwrap();
        prop_assert_eq!(bytes[8], 3);
        prop_assert_eq!(codec::decode(&bytes).unwrap(), last);
    }
}

/// Single without a horizon publishes nothing before the end, and its table has the noise of one
/// push, whatever the length.
#[test]
fn single_publishes_only_at_the_end() {
    let spec = spec(Schedule::Single { horizon: None }, MechanismKind::Haar);
    let shape = shape(TableKind::Counters, 1, 4);
    let mechanism = spec.mechanism(&shape).unwrap();
    for steps in [0, 1, 1000, 1 << 40] {
        let mut sketch = seeded(shape, spec, 5);
        sketch.tick(steps).unwrap();
        sketch.update_many(Items::Ready(&[1, 1, 3]), None).unwrap();
        let open = sketch.release().unwrap();
        assert_eq!(open.table(), [0; 4]);
        assert_eq!(codec::decode(&codec::encode(&open).unwrap()).unwrap(), open);
        sketch.finish().unwrap();
        let release = sketch.release().unwrap();
        assert_eq!(release.parts()[0].finished, Some([1, 0]));
        for (cell, count) in [0, 2, 0, 1].into_iter().enumerate() {
            let noise = noise(&sketch, &mechanism, cell as u64, 1);
            assert_eq!(release.table()[cell], count + noise);
        }
    }
}

#[test]
fn a_closed_sketch_cannot_be_finished_and_a_finished_one_can_be_closed() {
    let spec = spec(Schedule::geometric(), MechanismKind::Haar);
    let mut sketch = seeded(shape(TableKind::CountMin, 2, 4), spec, 5);
    sketch.finish().unwrap();
    sketch.close();
    assert_eq!(sketch.finish(), Err(Error::Closed));
    assert_eq!(sketch.update(1, 1), Err(Error::Closed));
    assert!(!sketch.is_finished());
}

#[test]
fn an_exact_sketch_only_closes_for_updates() {
    let mut sketch = ExactSketch::new(shape(TableKind::CountMin, 2, 4)).unwrap();
    sketch.update_many(Items::Ready(&[1, 2, 1]), None).unwrap();
    let before = sketch.release().unwrap();
    sketch.finish();
    sketch.finish();
    assert_eq!(sketch.update(1, 1), Err(Error::Finished));
    assert_eq!(
        sketch.update_many(Items::Ready(&[1, 2]), None),
        Err(Error::Finished)
    );
    assert_eq!(sketch.release().unwrap().table(), before.table());
    let bytes = codec::encode(&sketch.release().unwrap()).unwrap();
    let restored = codec::decode(&bytes).unwrap();
    assert_eq!(codec::encode(&restored).unwrap(), bytes);
    assert!(ExactSketch::from_release(&restored).unwrap().is_finished());
    assert!(!ExactSketch::from_release(&before).unwrap().is_finished());
}

/// A field of a finished part is accepted only if the schedule could lead there.
#[test]
fn impossible_final_pushes_are_refused() {
    let spec = spec(Schedule::round_robin(12), MechanismKind::Tree);
    let mut sketch = seeded(shape(TableKind::Counters, 1, 4), spec, 5);
    sketch.tick(6).unwrap(); // two pushes of two columns, one of the others
    sketch.finish().unwrap();
    let release = sketch.release().unwrap();
    let bytes = codec::encode(&release).unwrap();
    let (flag, first, second) = (57, 58, 66);
    assert_eq!(bytes[flag], 1);
    let changed = |at: usize, value: u8| {
        let mut bytes = bytes.clone();
        bytes[at] = value;
        let body = bytes.len() - 32;
        let checksum = blake3::hash(&bytes[..body]);
        bytes[body..].copy_from_slice(checksum.as_bytes());
        codec::decode(&bytes).map(|decoded| codec::encode(&decoded).unwrap() == bytes)
    };
    // Four leaves and the extra one.
    for value in 0..=6 {
        assert_eq!(
            changed(first, value).is_ok(),
            (2..=5).contains(&value),
            "first {value}"
        );
        assert_eq!(
            changed(second, value).is_ok(),
            (3..=5).contains(&value),
            "second {value}"
        );
    }
    for value in [0, 2, 255] {
        assert!(changed(flag, value).is_err(), "flag {value}");
    }
}

fn discovering(epoch: u64, capacity: u32) -> HeavySketch {
    let discovery = DiscoverySpec {
        epsilon: 20.0,
        delta: 0.2,
        relation: Relation::Substitution,
        max_events_per_user: 1,
        max_weight: MAX_WEIGHT,
        counted_weight: 1,
        steps_per_epoch: epoch,
        events_per_step: 1,
        capacity,
        max_item_bytes: 16,
    };
    let shape = Shape {
        kind: TableKind::CountMin,
        depth: 2,
        width: 8,
        hash_seed: 11,
    };
    let spec = spec(Schedule::geometric(), MechanismKind::Haar);
    let identity = Identity::chosen(SketchId([3; 16]));
    HeavySketch::new(shape, spec, discovery, &MasterKey::seeded(5), identity).unwrap()
}

/// The last epoch is published as `end_epoch` publishes it, once; it has the steps that were left.
#[test]
fn the_last_epoch_is_published_once() {
    for capacity in [8, 1000] {
        let (mut finished, mut ended) = (discovering(100, capacity), discovering(100, capacity));
        let names = |sketch: &HeavySketch| -> Vec<(Vec<u8>, u64)> {
            let found = sketch.discovery().candidates();
            found
                .map(|(kept, epoch)| (kept.bytes.clone(), epoch))
                .collect()
        };
        for sketch in [&mut finished, &mut ended] {
            for name in ["first"; 60].into_iter().chain(["second"; 90]) {
                sketch.update(Item::Text(name), 1).unwrap();
            }
        }
        assert_eq!(names(&finished).len(), 2, "the first epoch has both names");
        for sketch in [&mut finished, &mut ended] {
            for _ in 0..40 {
                sketch.update(Item::Text("third"), 1).unwrap();
            }
        }
        assert_eq!(names(&finished).len(), 2);
        finished.finish().unwrap();
        ended.end_epoch().unwrap();
        assert_eq!(names(&finished), names(&ended));
        assert_eq!(names(&finished).len(), 3);
        assert_eq!(finished.discovery().epoch(), 2);
        finished.finish().unwrap();
        finished.end_epoch().unwrap();
        assert_eq!(finished.discovery().epoch(), 2, "no epoch is open");
        assert_eq!(
            finished.update(Item::Text("third"), 1),
            Err(Error::Finished)
        );
        assert_eq!(finished.candidates().unwrap().len(), 3);
    }
}
