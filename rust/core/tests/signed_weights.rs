//! Weights with signs: exact sums for every way of counting, bounds, and the tables that take them.

use lazysketch_core::key::{Identity, MasterKey, SketchId};
use lazysketch_core::mechanism::MechanismKind;
use lazysketch_core::parameters::{Calibration, NoiseSpec, Relation, Shape, TableKind};
use lazysketch_core::schedule::Schedule;
use lazysketch_core::sketch::PrivateSketch;
use lazysketch_core::table::items::{Items, StepRows};

const MOST: i64 = 9;
const DEPTH: u32 = 3;
const WIDTH: u32 = 4;
const HORIZON: u64 = 1 << 18;

fn plain(kind: TableKind, schedule: Schedule) -> PrivateSketch {
    let shape = Shape {
        kind,
        depth: if kind == TableKind::Counters {
            1
        } else {
            DEPTH
        },
        width: WIDTH,
        hash_seed: 5,
    };
    let spec = NoiseSpec {
        schedule,
        mechanism: MechanismKind::Haar,
        sigma: 500.0,
        relation: Relation::Substitution,
        calibration: Calibration::Analytic,
        epsilon: 1.0,
        delta: 1e-6,
        max_weight: MOST.unsigned_abs(),
        max_events_per_user: 1,
        person_bound: None,
        max_changes: 1,
    };
    let identity = Identity::chosen(SketchId([2; 16]));
    PrivateSketch::new(shape, spec, &MasterKey::seeded(3), identity).unwrap()
}

fn signed(schedule: Schedule) -> PrivateSketch {
    let sketch = plain(TableKind::CountSketch, schedule);
    sketch.with_signed_weights().unwrap()
}

fn bits(weights: &[i64]) -> Vec<u64> {
    weights
        .iter()
        .map(|weight| weight.cast_unsigned())
        .collect()
}

fn released(sketch: &mut PrivateSketch) -> Vec<i64> {
    sketch.release().unwrap().table().to_vec()
}

/// The exact table: equal sketches have equal noise, so that of empty steps leaves the counts.
fn counted(sketch: &mut PrivateSketch, schedule: Schedule) -> Vec<i64> {
    let mut empty = signed(schedule);
    empty.tick(sketch.step()).unwrap();
    let noise = released(&mut empty);
    let found = released(sketch);
    found
        .iter()
        .zip(noise)
        .map(|(cell, noise)| cell - noise)
        .collect()
}

fn stream(length: usize) -> (Vec<u64>, Vec<i64>) {
    let items = (0..length as u64).map(|at| at * at % 13).collect();
    let weights = (0..length as i64)
        .map(|at| at * 7 % (2 * MOST + 1) - MOST)
        .collect();
    (items, weights)
}

/// A sum of positive weights less one of negative weights, each in a table without signs.
#[test]
fn every_way_of_counting_gives_the_sums() {
    let schedule = Schedule::Punctual { horizon: HORIZON };
    for length in [1, 40, 600, 140_000] {
        let (items, weights) = stream(length);
        let parts = [1, -1].map(|sign| {
            let of_sign: Vec<u64> = weights
                .iter()
                .map(|&it| (sign * it).max(0) as u64)
                .collect();
            let mut part = plain(TableKind::CountSketch, schedule);
            part.update_many(Items::Ready(&items), Some(&of_sign))
                .unwrap();
            counted(&mut part, schedule)
        });
        let expected: Vec<i64> = parts[0]
            .iter()
            .zip(&parts[1])
            .map(|(up, down)| up - down)
            .collect();
        let bits = bits(&weights);
        for threads in [1, 2] {
            let mut many = signed(schedule);
            many.update_many_in_threads(Items::Ready(&items), Some(&bits), threads)
                .unwrap();
            assert_eq!(counted(&mut many, schedule), expected, "{length} {threads}");
        }
        let mut single = signed(schedule);
        for (&item, &weight) in items.iter().zip(&bits) {
            single.update(item, weight).unwrap();
        }
        assert_eq!(counted(&mut single, schedule), expected, "{length}");
        let mut rows = signed(schedule);
        let all = StepRows::new(Items::Ready(&items), Some(&bits), &[0]).unwrap();
        rows.prepare_rows(all).unwrap();
        rows.update_rows(all).unwrap();
        assert_eq!(counted(&mut rows, schedule), expected, "{length}");
        let batches = Schedule::Batch { horizon: 3 };
        let mut batch = signed(batches);
        batch
            .update_batch(Items::Ready(&items), Some(&bits))
            .unwrap();
        assert_eq!(counted(&mut batch, batches), expected, "{length}");
        let mut open = signed(batches);
        open.add_to_batch(Items::Ready(&items), Some(&bits))
            .unwrap();
        open.tick(1).unwrap();
        assert_eq!(counted(&mut open, batches), expected, "{length}");
    }
}

/// Nothing is applied: the refused weight is the last of its batch.
#[test]
fn weights_beyond_the_largest_are_refused() {
    let schedule = Schedule::Punctual { horizon: HORIZON };
    let mut sketch = signed(schedule);
    for weight in [MOST + 1, -MOST - 1, i64::MAX, i64::MIN] {
        let bits = bits(&[1, weight]);
        let items = Items::Ready(&[4, 5]);
        let rows = StepRows::new(items, Some(&bits), &[]).unwrap();
        let refusals = [
            sketch.update(4, weight.cast_unsigned()),
            sketch.update_many(items, Some(&bits)),
            sketch.update_rows(rows),
        ];
        for refused in refusals {
            let error = refused.unwrap_err().to_string();
            assert!(error.contains("max_weight = 9"), "{error}");
        }
        assert_eq!(sketch.step(), 0);
    }
    let mut batch = signed(Schedule::Batch { horizon: 3 });
    let bits = bits(&[-MOST - 1]);
    assert!(batch.update_batch(Items::Ready(&[4]), Some(&bits)).is_err());
    assert!(batch.add_to_batch(Items::Ready(&[4]), Some(&bits)).is_err());
    sketch.update(4, MOST.cast_unsigned()).unwrap();
    sketch.update(4, (-MOST).cast_unsigned()).unwrap();
    assert!(counted(&mut sketch, schedule).iter().all(|&cell| cell == 0));
}

/// A table without signs takes the bits of a negative weight for a weight that is far too large.
#[test]
fn only_a_count_sketch_takes_signs() {
    let schedule = Schedule::Punctual { horizon: HORIZON };
    for kind in [TableKind::CountMin, TableKind::Counters] {
        let error = plain(kind, schedule).with_signed_weights().err().unwrap();
        assert!(error.to_string().starts_with("signed_weights:"), "{error}");
    }
    let mut unsigned = plain(TableKind::CountSketch, schedule);
    assert!(unsigned.update(4, (-1_i64).cast_unsigned()).is_err());
    assert!(
        unsigned
            .update_many(Items::Ready(&[4, 5]), Some(&bits(&[1, -1])))
            .is_err()
    );
}

/// Workers would send counts without signs.
#[test]
fn partial_counts_have_no_signs() {
    let sketch = signed(Schedule::Batch { horizon: 3 });
    let error = sketch
        .partial_spec([0; 32], 1, None)
        .err()
        .unwrap()
        .to_string();
    assert!(error.starts_with("signed_weights:"), "{error}");
}
