//! Releases of one sketch, again and again, against those of a sketch that is released once: every
//! table is the same, bit by bit, whatever was pushed in between.

use lazysketch_core::mechanism::MechanismKind;
use lazysketch_core::parameters::TableKind;
use lazysketch_core::schedule::{Growth, Schedule};
use lazysketch_core::sketch::PrivateSketch;
use lazysketch_core::sketch::public_view::PublicView;
use lazysketch_core::table::items::Items;
use seeded::{MAX_WEIGHT, seeded, shape, spec};

mod seeded;

const DEPTH: u32 = 3;
/// More than are drawn at a time, and no multiple of that.
const WIDTH: u32 = 150;
const HORIZON: u64 = 3_000;

fn schedules() -> [Schedule; 5] {
    let growth = Growth {
        numerator: 1,
        denominator: 3,
    };
    [
        Schedule::RoundRobin {
            horizon: HORIZON,
            period: 2,
        },
        Schedule::Geometric { growth, rounds: 40 },
        Schedule::Punctual { horizon: HORIZON },
        Schedule::Batch { horizon: HORIZON },
        Schedule::Single {
            horizon: Some(HORIZON),
        },
    ]
}

/// The next events: the same for every sketch.
fn grow(sketch: &mut PrivateSketch, schedule: Schedule, events: u64) {
    let step = sketch.step();
    let items: Vec<u64> = (step..step + events).map(|at| at * at % 100).collect();
    let weights: Vec<u64> = items.iter().map(|item| 1 + item % MAX_WEIGHT).collect();
    if matches!(schedule, Schedule::Batch { .. }) {
        for _ in 0..events.min(3) {
            sketch
                .update_batch(Items::Ready(&items), Some(&weights))
                .unwrap();
        }
    } else {
        sketch
            .update_many(Items::Ready(&items), Some(&weights))
            .unwrap();
    }
}

#[test]
fn a_repeated_release_equals_the_only_one() {
    let width = u64::from(WIDTH);
    // Nothing, less than a round, across the end of a round, a round, more.
    let parts = [
        0,
        40,
        0,
        7,
        260,
        90,
        1,
        150,
        width,
        2 * width,
        500,
        2,
        120,
        300,
    ];
    for kind in [TableKind::CountMin, TableKind::CountSketch] {
        for schedule in schedules() {
            let shape = shape(kind, DEPTH, WIDTH);
            let new = || seeded(shape, spec(schedule, MechanismKind::Haar), 1);
            let (mut sketch, mut view) = (new(), None::<PublicView>);
            let mut kept = Vec::new();
            for (at, &events) in parts.iter().enumerate() {
                grow(&mut sketch, schedule, events);
                let mut once = new();
                parts[..=at]
                    .iter()
                    .for_each(|&events| grow(&mut once, schedule, events));
                let expected = once.release().unwrap();
                assert_eq!(sketch.release().unwrap(), expected, "{schedule:?} {at}");
                sketch.keep_view(&mut view).unwrap();
                if at % 3 == 0 {
                    // While it is there, the next release has a table of its own.
                    kept.push((sketch.release().unwrap(), expected));
                }
            }
            let mut once = new();
            parts
                .iter()
                .for_each(|&events| grow(&mut once, schedule, events));
            once.finish().unwrap();
            sketch.finish().unwrap();
            let expected = once.release().unwrap();
            for _ in 0..3 {
                assert_eq!(sketch.release().unwrap(), expected, "{schedule:?}");
            }
            for (release, expected) in kept {
                assert_eq!(release, expected, "{schedule:?}");
            }
        }
    }
}
