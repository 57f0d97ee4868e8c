//! Batches against single events: any length, type, split, weights and number of threads gives the
//! same state. (`sketches.rs` compares single events with the definition.)

use lazysketch_core::item::Item;
use lazysketch_core::mechanism::MechanismKind;
use lazysketch_core::parameters::{NoiseSpec, Shape, TableKind};
use lazysketch_core::schedule::{Growth, Schedule};
use lazysketch_core::sketch::PrivateSketch;
use lazysketch_core::sketch::exact::ExactSketch;
use lazysketch_core::table::hash::Fingerprinter;
use lazysketch_core::table::items::{Columns, Items, StepRows};
use proptest::prelude::*;
use seeded::{shape, spec};

const MAX_WEIGHT: u64 = 1 << 20;

mod seeded;

fn seeded(shape: Shape, schedule: Schedule) -> PrivateSketch {
    with_weights(shape, schedule, MAX_WEIGHT)
}

fn with_weights(shape: Shape, schedule: Schedule, max_weight: u64) -> PrivateSketch {
    let spec = NoiseSpec {
        max_weight,
        ..spec(schedule, MechanismKind::Haar)
    };
    seeded::seeded(shape, spec, 9)
}

fn one_by_one(sketch: &mut PrivateSketch, items: &[i64], weights: Option<&[u64]>) {
    let fingerprinter = *sketch.fingerprinter();
    for (position, &item) in items.iter().enumerate() {
        let weight = weights.map_or(1, |weights| weights[position]);
        sketch.update(fingerprinter.signed(item), weight).unwrap();
    }
}

/// Equal now, and equal until all pending counts have been pushed.
fn assert_same(one: &mut PrivateSketch, other: &mut PrivateSketch, what: &str) {
    for ticks in [0, 1, 7, 100, 3000] {
        one.tick(ticks).unwrap();
        other.tick(ticks).unwrap();
        assert_eq!(one.step(), other.step(), "{what}");
        let (one, other) = (one.release().unwrap(), other.release().unwrap());
        assert_eq!(one.table(), other.table(), "{what}, {ticks} ticks later");
    }
}

/// Columns whose items the core cannot read.
struct Hidden<'a>(&'a [i64]);

impl Columns for Hidden<'_> {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn fingerprints(&self, fingerprinter: &Fingerprinter, start: usize, out: &mut [u64]) {
        fingerprinter.signed_to(&self.0[start..start + out.len()], out);
    }
}

fn schedules() -> impl Strategy<Value = Schedule> {
    let horizon = 1 << 40;
    prop_oneof![
        (1..4_u64).prop_map(move |period| Schedule::RoundRobin { horizon, period }),
        Just(Schedule::Punctual { horizon }),
        (1..4000_u64).prop_map(|steps| Schedule::Single {
            horizon: (steps > 500).then_some(20_000 + steps)
        }),
        (1..60_u32, 0..9_u64).prop_map(|(numerator, few)| {
            let growth = Growth {
                numerator,
                denominator: 100,
            };
            // Includes schedules whose last round ends within the batch.
            let rounds = if few < 5 { 1 + few } else { 4096 };
            Schedule::Geometric { growth, rounds }
        }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    #[test]
    fn batches_of_every_type_equal_single_events(
        schedule in schedules(),
        kind in prop_oneof![Just(TableKind::CountMin), Just(TableKind::CountSketch)],
        depth in 1..11_u32,
        width in 1..200_u32,
        seed in any::<u64>(),
        lengths in proptest::collection::vec(prop_oneof![Just(1), 0..40_usize, 500..530_usize, 0..2500_usize], 1..4),
        weighted in any::<bool>(),
    ) {
        let shape = shape(kind, depth, width);
        let total: usize = lengths.iter().sum();
        // 32-bit values, so that each type can hold them; few distinct ones, so that they collide
        // and repeat.
        let items: Vec<i64> = (0..total as u64)
            .map(|i| i64::from(((i ^ seed).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40) as i32 % 300 - 100))
            .collect();
        let weights: Vec<u64> = items.iter().map(|&item| item.unsigned_abs() * 977 % (MAX_WEIGHT + 1)).collect();
        let weights = weighted.then_some(weights.as_slice());
        for kind_of_items in ["signed", "narrow", "whole", "ready", "columns"] {
            let mut batched = seeded(shape, schedule);
            let fingerprinter = *batched.fingerprinter();
            let mut start = 0;
            for &length in &lengths {
                let part = &items[start..start + length];
                let weights = weights.map(|weights| &weights[start..start + length]);
                let narrow: Vec<i32> = part.iter().map(|&item| item as i32).collect();
                let whole: Vec<Item<'_>> = part.iter().map(|&item| Item::Signed(item)).collect();
                let ready: Vec<u64> = part.iter().map(|&item| fingerprinter.signed(item)).collect();
                let hidden = Hidden(part);
                let part = match kind_of_items {
                    "signed" => Items::Signed(part),
                    "narrow" => Items::Narrow(&narrow),
                    "whole" => Items::Mixed(&whole),
                    "ready" => Items::Ready(&ready),
                    _ => Items::columns(&hidden),
                };
                batched.update_many(part, weights).unwrap();
                start += length;
            }
            let mut single = seeded(shape, schedule);
            one_by_one(&mut single, &items, weights);
            assert_same(&mut single, &mut batched, kind_of_items);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    /// Rows, some of them without an event, against single updates and ticks.
    #[test]
    fn rows_equal_updates_and_ticks(
        schedule in schedules(),
        width in 1..200_u32,
        runs in proptest::collection::vec((0..40_usize, 0..3_usize), 0..60),
        weighted in any::<bool>(),
    ) {
        let shape = shape(TableKind::CountMin, 3, width);
        let (mut single, mut rows) = (seeded(shape, schedule), seeded(shape, schedule));
        let (mut items, mut weights, mut empty) = (Vec::new(), Vec::new(), Vec::new());
        for (events, ticks) in runs {
            let (first, last) = (items.len(), items.len() + events);
            items.extend((first..last).map(|i| (i * i % 97) as i64));
            weights.extend((first..last).map(|i| i as u64 % 7));
            one_by_one(&mut single, &items[first..], weighted.then_some(&weights[first..]));
            for _ in 0..ticks {
                empty.push((items.len() + empty.len()) as u64);
                single.tick(1).unwrap();
            }
        }
        let weights = weighted.then_some(weights.as_slice());
        rows.update_rows(StepRows::new(Items::Signed(&items), weights, &empty).unwrap()).unwrap();
        assert_same(&mut single, &mut rows, "rows");
    }
}

#[test]
fn positions_of_empty_rows_rise_and_lie_among_the_rows() {
    let items = Items::Signed(&[1, 2]);
    for empty in [&[0, 0][..], &[2, 1], &[3], &[0, 1, 5], &[u64::MAX]] {
        assert!(StepRows::new(items, None, empty).is_err());
    }
    for empty in [&[][..], &[0], &[2], &[0, 1, 4], &[1, 3]] {
        assert!(StepRows::new(items, None, empty).is_ok());
    }
    // All or nothing, for batches beyond the horizon or with one weight too many.
    let horizon = Schedule::Punctual { horizon: 4 };
    let mut sketch = seeded(shape(TableKind::CountMin, 2, 3), horizon);
    let rows = |weights, empty| StepRows::new(items, weights, empty).unwrap();
    assert!(sketch.update_rows(rows(None, &[0, 1, 2])).is_err());
    assert!(sketch.update_rows(rows(Some(&[1]), &[0])).is_err());
    assert!(
        sketch
            .update_rows(rows(Some(&[1, MAX_WEIGHT + 1]), &[1]))
            .is_err()
    );
    assert_eq!(sketch.step(), 0);
    sketch.update_rows(rows(None, &[0, 3])).unwrap();
    assert_eq!(sketch.step(), 4);
}

/// Long enough for several threads whose shares end within chunks.
#[test]
fn any_number_of_threads_ends_in_the_same_state() {
    let items: Vec<i64> = (0..300_007).map(|i| i * i % 1009 - 500).collect();
    let weights: Vec<u64> = items.iter().map(|item| item.unsigned_abs()).collect();
    for kind in [TableKind::CountMin, TableKind::CountSketch] {
        let shape = shape(kind, 3, 77);
        for schedule in [
            Schedule::round_robin(1 << 40),
            Schedule::geometric(),
            Schedule::Punctual { horizon: 1 << 40 },
        ] {
            for weights in [None, Some(weights.as_slice())] {
                // Twice, so that the first share meets columns with pending counts.
                let (begin, end) = items.split_at(5_003);
                let (begin_weights, end_weights) = weights
                    .map(|weights| weights.split_at(5_003))
                    .map_or((None, None), |(begin, end)| (Some(begin), Some(end)));
                for threads in [2, 3, 4, 200] {
                    let mut threaded = seeded(shape, schedule);
                    one_by_one(&mut threaded, begin, begin_weights);
                    threaded
                        .update_many_in_threads(Items::Signed(end), end_weights, threads)
                        .unwrap();
                    let mut expected = seeded(shape, schedule);
                    one_by_one(&mut expected, &items, weights);
                    assert_same(&mut expected, &mut threaded, &format!("{threads} threads"));
                    // Far enough that geometric rounds have pushed every column.
                    expected.tick(1 << 20).unwrap();
                    threaded.tick(1 << 20).unwrap();
                    assert_same(&mut expected, &mut threaded, "every column later");
                }
            }
        }
        let mut single = ExactSketch::new(shape).unwrap();
        let fingerprinter = *single.fingerprinter();
        for (&item, &weight) in items.iter().zip(&weights) {
            single.update(fingerprinter.signed(item), weight).unwrap();
        }
        for threads in [1, 2, 5] {
            let mut threaded = ExactSketch::new(shape).unwrap();
            threaded
                .update_many_in_threads(Items::Signed(&items), Some(&weights), threads)
                .unwrap();
            assert_eq!(threaded.table(), single.table());
            assert_eq!(threaded.step(), single.step());
        }
    }
}

/// A batch closes the step that is open, in several threads as in one.
#[test]
fn several_threads_close_an_open_step() {
    let items: Vec<i64> = (0..300_007).map(|i| i * i % 1009 - 500).collect();
    let schedule = Schedule::Batch { horizon: 1 << 20 };
    let [mut one, mut several] =
        [(), ()].map(|()| with_weights(shape(TableKind::CountMin, 3, 77), schedule, 1));
    for (sketch, threads) in [(&mut one, 1), (&mut several, 3)] {
        let (open, rest) = items.split_at(1_009);
        sketch.add_to_batch(Items::Signed(open), None).unwrap();
        sketch
            .update_many_in_threads(Items::Signed(rest), None, threads)
            .unwrap();
    }
    assert_same(&mut one, &mut several, "a step was open");
}

/// Several threads count small weights for wide tables in bytes, which a heavy item leaves often,
/// but not in small batches.
#[test]
fn wide_tables_equal_those_of_small_batches() {
    let item = |i: i64| if i % 3 == 0 { 7 } else { i * i % 100_003 };
    let items: Vec<i64> = (0..400_007).map(item).collect();
    let weights: Vec<u64> = items.iter().map(|item| item.unsigned_abs() % 9).collect();
    for (kind, threads) in [(TableKind::CountMin, 2), (TableKind::CountSketch, 4)] {
        let shape = shape(kind, 3, 1 << 18);
        for schedule in [Schedule::round_robin(1 << 40), Schedule::geometric()] {
            let weights = (threads != 2).then_some(weights.as_slice());
            let [mut small, mut shared] = [(), ()].map(|()| with_weights(shape, schedule, 8));
            for start in (0..items.len()).step_by(2_000) {
                let end = items.len().min(start + 2_000);
                let weights = weights.map(|weights| &weights[start..end]);
                small
                    .update_many(Items::Signed(&items[start..end]), weights)
                    .unwrap();
            }
            let (begin, end) = items.split_at(1_003);
            let parts = weights.map(|weights| weights.split_at(1_003));
            shared
                .update_many(Items::Signed(begin), parts.map(|parts| parts.0))
                .unwrap();
            shared
                .update_many_in_threads(Items::Signed(end), parts.map(|parts| parts.1), threads)
                .unwrap();
            for ticks in [0, 1 << 21] {
                small.tick(ticks).unwrap();
                shared.tick(ticks).unwrap();
                let (small, shared) = (small.release().unwrap(), shared.release().unwrap());
                assert!(
                    small.table() == shared.table(),
                    "{kind:?} {schedule:?} {ticks}"
                );
            }
        }
    }
}

/// Counters widen to 64 bits in the middle of a batch.
#[test]
fn batches_pass_the_step_where_counters_widen() {
    let shape = shape(TableKind::CountSketch, 3, 5);
    let items = vec![4_i64; 3000];
    let weights = vec![MAX_WEIGHT; 3000];
    for schedule in [Schedule::round_robin(1 << 40), Schedule::geometric()] {
        let (mut single, mut batched) = (seeded(shape, schedule), seeded(shape, schedule));
        one_by_one(&mut single, &items, Some(&weights));
        batched
            .update_many(Items::Signed(&items), Some(&weights))
            .unwrap();
        assert_same(&mut single, &mut batched, "widened");
    }
}
