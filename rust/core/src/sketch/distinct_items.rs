//! Counts of distinct items against sets of places.

#[cfg(test)]
mod descriptions;

use crate::Result;
use crate::guarantee::NotPrivate;
use crate::key::{Identity, MasterKey, SketchId};
use crate::mechanism::MechanismKind;
use crate::parameters::{
    BIT_WEIGHT, Calibration, MOST_BITS, NoiseSpec, Relation, Shape, TableKind,
};
use crate::release::Release;
use crate::schedule::Schedule;
use crate::sketch::PrivateSketch;
use crate::table::hash::Fingerprinter;
use crate::table::items::{Items, StepRows};
use crate::table::seen_bits::{PIECE, Place};
use std::collections::HashSet;

const LEVELS: u32 = 5;
const BITS: u32 = 64;
const SEED: u64 = 9;

fn shape() -> Shape {
    Shape {
        kind: TableKind::Distinct { bits: BITS },
        depth: 1,
        width: LEVELS,
        hash_seed: SEED,
    }
}

fn spec(schedule: Schedule) -> NoiseSpec {
    NoiseSpec {
        schedule,
        mechanism: MechanismKind::Haar,
        sigma: 1e4,
        relation: Relation::ZeroOut,
        calibration: Calibration::Analytic,
        epsilon: 1.0,
        delta: 1e-6,
        max_weight: BIT_WEIGHT,
        max_events_per_user: 1,
        person_bound: None,
        max_changes: 1,
    }
}

fn sketch(schedule: Schedule) -> PrivateSketch {
    let identity = Identity {
        id: SketchId([7; 16]),
        chosen: true,
    };
    PrivateSketch::new(shape(), spec(schedule), &MasterKey::seeded(1), identity).unwrap()
}

/// Items with repetitions: a few often, many once.
fn items(length: u64) -> Vec<u64> {
    (0..length)
        .map(|event| if event % 3 == 0 { event % 30 } else { event })
        .collect()
}

/// Set bits of each level, by a set of places.
fn counted(items: &[u64]) -> Vec<i64> {
    let fingerprinter = Fingerprinter::new(SEED);
    let places: HashSet<_> = (items.iter())
        .map(|&item| Place::of(fingerprinter.unsigned(item), LEVELS, BITS))
        .map(|place| (place.level, place.bit))
        .collect();
    let of = |level| places.iter().filter(|place| place.0 == level).count();
    (0..LEVELS).map(|level| of(level) as i64).collect()
}

/// Published and pending set bits of a live count.
fn held(sketch: &PrivateSketch) -> Vec<i64> {
    let table = &sketch.state.as_ref().unwrap().table;
    let weight = BIT_WEIGHT.cast_signed();
    let levels = 0..LEVELS as usize;
    levels
        .map(|level| {
            assert_eq!(table.counted(level) % weight, 0);
            table.counted(level) / weight
        })
        .collect()
}

fn schedules() -> [Schedule; 4] {
    [
        Schedule::Punctual { horizon: 1 << 20 },
        Schedule::round_robin(1 << 20),
        Schedule::Single { horizon: None },
        Schedule::Geometric {
            growth: crate::schedule::DEFAULT_GROWTH,
            rounds: crate::schedule::DEFAULT_ROUNDS,
        },
    ]
}

#[test]
fn set_bits_are_those_of_a_set_of_places() {
    for length in [0, 1, 50, 700, 20_000] {
        let items = items(length);
        let mut sketch = sketch(Schedule::Punctual { horizon: 1 << 20 });
        sketch.update_many(Items::Unsigned(&items), None).unwrap();
        assert_eq!(held(&sketch), counted(&items), "{length}");
        assert_eq!(sketch.step(), length);
    }
}

/// One by one, in batches of any size, in threads, and in rows without empty ones: one state.
#[test]
fn every_way_of_counting_ends_in_one_state() {
    let items = items(3 * PIECE as u64 + 5);
    for schedule in schedules() {
        let state = |count: &dyn Fn(&mut PrivateSketch)| {
            let mut sketch = sketch(schedule);
            count(&mut sketch);
            (
                sketch.save_after(Vec::new()).unwrap(),
                sketch.release().unwrap(),
            )
        };
        let one_by_one = state(&|sketch| {
            let fingerprinter = *sketch.fingerprinter();
            for &item in &items {
                sketch.update(fingerprinter.unsigned(item), 1).unwrap();
            }
        });
        for size in [1, 7, PIECE, items.len()] {
            let batches = state(&|sketch| {
                for batch in items.chunks(size) {
                    sketch
                        .update_many_in_threads(Items::Unsigned(batch), None, 4)
                        .unwrap();
                }
            });
            assert_eq!(batches, one_by_one, "{size}");
        }
        let rows = state(&|sketch| {
            let rows = StepRows::new(Items::Unsigned(&items), None, &[]).unwrap();
            sketch.update_rows(rows).unwrap();
        });
        assert_eq!(rows, one_by_one);
    }
}

/// Under the batch schedule events of a step are counted together, in any number of calls.
#[test]
fn a_batch_is_one_step() {
    let items = items(10_000);
    let schedule = Schedule::Batch { horizon: 100 };
    let (mut whole, mut parts) = (sketch(schedule), sketch(schedule));
    whole.update_batch(Items::Unsigned(&items), None).unwrap();
    for part in items.chunks(999) {
        parts.add_to_batch(Items::Unsigned(part), None).unwrap();
        assert_eq!(
            held(&parts),
            [0; LEVELS as usize],
            "an open step is not published"
        );
    }
    parts.tick(1).unwrap();
    assert_eq!(held(&whole), counted(&items));
    assert_eq!(held(&parts), counted(&items));
    assert_eq!((whole.step(), parts.step()), (1, 1));
    // An empty call opens a step, as for other tables.
    parts.add_to_batch(Items::Unsigned(&[]), None).unwrap();
    assert!(parts.has_open_step());
}

/// Every fingerprint of a level has a bit below the limit, and levels are taken as stated.
#[test]
fn levels_sample_three_quarters_of_what_is_left() {
    let events = 1 << 20;
    let fingerprinter = Fingerprinter::new(3);
    for bits in [64, 1 << 16, MOST_BITS] {
        let mut of_level = [0_i64; 8];
        for item in 0..events {
            let place = Place::of(fingerprinter.unsigned(item), 8, bits);
            assert!(place.bit < bits);
            of_level[place.level as usize] += 1;
        }
        for (level, &found) in of_level.iter().enumerate() {
            let share = match level {
                7 => 0.25_f64.powi(7),
                _ => 0.75 * 0.25_f64.powi(level as i32),
            };
            let expected = share * events as f64;
            let off = (found as f64 - expected) / expected.sqrt();
            assert!(off.abs() < 5.0, "{bits} {level} {off}");
        }
    }
}

#[test]
fn a_saved_count_goes_on() {
    let items = items(2_000);
    let (first, second) = items.split_at(900);
    for schedule in schedules()
        .into_iter()
        .chain([Schedule::Batch { horizon: 9 }])
    {
        let count = |sketch: &mut PrivateSketch, items: &[u64]| match schedule {
            Schedule::Batch { .. } => sketch.add_to_batch(Items::Unsigned(items), None).unwrap(),
            _ => sketch.update_many(Items::Unsigned(items), None).unwrap(),
        };
        let mut whole = sketch(schedule);
        count(&mut whole, first);
        let saved = whole.save().unwrap();
        let key = MasterKey::seeded(1);
        let mut restored = PrivateSketch::restore(shape(), spec(schedule), &key, &saved).unwrap();
        count(&mut whole, second);
        count(&mut restored, second);
        assert_eq!(
            restored.save_after(Vec::new()).unwrap(),
            whole.save_after(Vec::new()).unwrap()
        );
    }
}

/// A bitmap that lost or gained a bit would count an item twice, or never.
#[test]
fn bitmaps_that_disagree_with_the_counts_are_refused() {
    let schedule = Schedule::Punctual { horizon: 100 };
    let mut sketch = sketch(schedule);
    sketch
        .update_many(Items::Unsigned(&[1, 2, 3]), None)
        .unwrap();
    let bytes = sketch.save_after(Vec::new()).unwrap();
    let bitmaps = (LEVELS * BITS / 8) as usize;
    for at in [bytes.len() - bitmaps, bytes.len() - 1] {
        let mut damaged = bytes.clone();
        damaged[at] ^= 1;
        let saved = crate::saved_state::SavedState::from_bytes(damaged);
        let restored =
            PrivateSketch::restore(shape(), spec(schedule), &MasterKey::seeded(1), &saved);
        let message = restored.err().unwrap().to_string();
        assert!(message.contains("bitmaps that agree"), "{message}");
    }
}

#[test]
fn what_has_no_meaning_for_distinct_items_is_refused() {
    let mut count = sketch(Schedule::Batch { horizon: 10 });
    let before = count.save_after(Vec::new()).unwrap();
    let refused = |result: Result<()>, name: &str| {
        let message = result.unwrap_err().to_string();
        assert!(message.starts_with(name), "{message}");
    };
    refused(count.update(5, 2), "weight:");
    refused(count.update(5, 0), "weight:");
    refused(
        count.update_many(Items::Unsigned(&[1, 2]), Some(&[1, 1])),
        "weights:",
    );
    refused(
        count.update_batch(Items::Unsigned(&[1]), Some(&[1])),
        "weights:",
    );
    refused(
        count.add_to_batch(Items::Unsigned(&[1]), Some(&[0])),
        "weights:",
    );
    let rows = StepRows::new(Items::Unsigned(&[1, 2]), Some(&[1, 1]), &[]).unwrap();
    refused(count.update_rows(rows), "weights:");
    refused(count.update_vector(&[1; LEVELS as usize]), "vector:");
    assert_eq!(count.save_after(Vec::new()).unwrap(), before);
    let (one, other) = (count.release().unwrap(), count.release().unwrap());
    let message = Release::merge(&[&one, &other]).unwrap_err().to_string();
    assert!(message.contains("distinct items"), "{message}");
    assert!(Release::merge(&[&one]).is_ok());
}

/// A step past the horizon sets no bit.
#[test]
fn a_refused_batch_sets_no_bit() {
    let mut count = sketch(Schedule::Punctual { horizon: 3 });
    assert!(
        count
            .update_many(Items::Unsigned(&[1, 2, 3, 4]), None)
            .is_err()
    );
    assert_eq!(held(&count), [0; LEVELS as usize]);
    count
        .update_many(Items::Unsigned(&[1, 2, 3]), None)
        .unwrap();
    assert_eq!(held(&count), counted(&[1, 2, 3]));
}

/// A person who goes moves one count, by the weight of a bit; or to a later push. A substitute is
/// twice as far.
#[test]
fn the_cores_own_check_covers_a_moved_bit() {
    let multiplier = 4.2602; // of one row at (1, 1e-6), for events that are chosen from releases
    for (relation, people) in [(Relation::ZeroOut, 1.0), (Relation::Substitution, 2.0)] {
        let mut noise = spec(Schedule::Punctual { horizon: 1 << 10 });
        noise.relation = relation;
        let sensitivity2 = noise.mechanism(&shape()).unwrap().sensitivity2();
        let needed = 1.5 * people * BIT_WEIGHT as f64 * sensitivity2.sqrt() * multiplier;
        for (share, is_private) in [(1.0, true), (0.98, false)] {
            noise.sigma = share * needed;
            let found = NotPrivate::of_spec(&shape(), &noise).is_private();
            assert_eq!(found, is_private, "{relation:?} {share}");
        }
    }
}
