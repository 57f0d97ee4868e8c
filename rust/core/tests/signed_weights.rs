//! Weights with signs: exact sums for every way of counting, bounds, and the tables that take them.

use lazysketch_core::key::{Identity, MasterKey, SketchId};
use lazysketch_core::mechanism::MechanismKind;
use lazysketch_core::parameters::{
    Calibration, NoiseSpec, PersonBound, Relation, Shape, TableKind,
};
use lazysketch_core::people::People;
use lazysketch_core::schedule::Schedule;
use lazysketch_core::sketch::PrivateSketch;
use lazysketch_core::table::hash::Fingerprinter;
use lazysketch_core::table::items::{Items, StepRows};

const MOST: i64 = 9;
const DEPTH: u32 = 3;
const WIDTH: u32 = 4;
const HORIZON: u64 = 1 << 18;

fn plain(kind: TableKind, schedule: Schedule) -> PrivateSketch {
    bounded(kind, schedule, None)
}

fn bounded(kind: TableKind, schedule: Schedule, bound: Option<PersonBound>) -> PrivateSketch {
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
        person_bound: bound,
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

/// All streams of three events of one person, of three items, with the largest weight of either sign: two of
/// them differ by at most twice what the bound admits, in each cell, and some differ by that.
#[test]
fn a_person_with_signs_moves_no_more_than_the_bound() {
    const SCHEDULE: Schedule = Schedule::Punctual { horizon: HORIZON };
    for (cells, events) in [(1, 1), (2, 1), (1, 2), (2, 2), (1, 3)] {
        let bound = PersonBound {
            cells,
            events,
            most_people: None,
        };
        let weights = [-MOST, MOST];
        let kinds: Vec<(u64, i64)> = (0..3)
            .flat_map(|item| weights.map(|weight| (item, weight)))
            .collect();
        let streams = kinds.iter().flat_map(|&one| {
            let kinds = &kinds;
            (kinds.iter()).flat_map(move |&two| kinds.iter().map(move |&last| [one, two, last]))
        });
        let tables: Vec<Vec<i64>> = streams.map(|stream| table_of(stream, bound)).collect();
        let mut nothing = bounded(TableKind::CountSketch, SCHEDULE, Some(bound));
        nothing.tick(3).unwrap();
        let empty = released(&mut nothing);
        let distance = |one: &[i64], other: &[i64]| -> i64 {
            let pairs = one.iter().zip(other);
            pairs.map(|(one, other)| (one - other).pow(2)).sum()
        };
        let held = (tables.iter())
            .map(|table| distance(table, &empty))
            .max()
            .unwrap();
        let pairs = tables
            .iter()
            .flat_map(|one| tables.iter().map(|other| distance(one, other)));
        let most = i64::from(DEPTH * cells * events * events) * MOST * MOST;
        assert!(held <= most, "{cells} {events}: {held}");
        let worst = pairs.max().unwrap();
        assert!(worst <= 4 * most, "{cells} {events}: {worst}");
        if cells * events <= 3 {
            assert_eq!((held, worst), (most, 4 * most), "{cells} {events}");
        }
    }

    fn table_of(stream: [(u64, i64); 3], bound: PersonBound) -> Vec<i64> {
        let sketch = bounded(TableKind::CountSketch, SCHEDULE, Some(bound));
        let mut sketch = sketch.with_signed_weights().unwrap();
        let (key, id) = (MasterKey::seeded(4), SketchId([2; 16]));
        let mut people = People::new(&key, &id, &[(*sketch.shape(), bound)]).unwrap();
        let items = stream.map(|(item, _)| item);
        let mut weights = bits(&stream.map(|(_, weight)| weight));
        let identities = people.identify(Items::Unsigned(&[7; 3])).unwrap();
        let given = [(Items::Ready(&items), &Fingerprinter::new(5))];
        people.bound(&identities, &given, &mut weights).unwrap();
        assert!(
            sketch
                .update_many(Items::Ready(&items), Some(&weights))
                .is_err()
        );
        sketch.set_bounded(true);
        sketch
            .update_many(Items::Ready(&items), Some(&weights))
            .unwrap();
        released(&mut sketch)
    }
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
