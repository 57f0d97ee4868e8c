//! Limits of releases and the memory of their bytes, which need parts that no sketch makes.

use super::*;
use crate::item::Item;
use crate::mechanism::MechanismKind;
use crate::parameters::{Calibration, Relation, TableKind};
use crate::schedule::{Growth, Schedule};

fn shape(width: u32) -> Shape {
    Shape {
        kind: TableKind::CountMin,
        depth: 1,
        width,
        hash_seed: 1,
    }
}

fn noise(schedule: Schedule) -> NoiseSpec {
    NoiseSpec {
        schedule,
        mechanism: MechanismKind::Binary,
        sigma: 3.0,
        relation: Relation::Substitution,
        calibration: Calibration::Analytic,
        epsilon: 1.0,
        delta: 1e-6,
        max_weight: 1,
        max_events_per_user: 1,
        person_bound: None,
        max_changes: 1,
    }
}

fn part(number: u32, noise: Option<NoiseSpec>) -> Part {
    let mut id = [0; 16];
    id[..4].copy_from_slice(&number.to_be_bytes());
    Part {
        sketch_id: SketchId(id),
        step: 3,
        since: 0,
        finished: None,
        run: None,
        not_private: noise.map_or(NotPrivate::EXACT, |noise| {
            NotPrivate::of_spec(&shape(1), &noise)
        }),
        noise,
    }
}

fn exact(numbers: std::ops::Range<u32>) -> Release {
    let parts = numbers.map(|number| part(number, None)).collect();
    Release::new(shape(1), parts, vec![1])
}

#[test]
fn a_release_has_at_most_65536_parts() {
    let most = 65_536;
    let merged = |one, other| Release::merge(&[&exact(0..one), &exact(one..other)]);
    for one in [1, most / 2, most - 1] {
        let release = merged(one, most).unwrap();
        assert_eq!(release.parts().len(), most as usize);
        assert_eq!(release.table(), [2]);
        assert!(matches!(merged(one, most + 1), Err(Error::Merge(_))));
    }
    assert!(matches!(merged(most, most + 1), Err(Error::Merge(_))));
    assert!(matches!(merged(most - 1, 2 * most), Err(Error::Merge(_))));
}

/// A column has a later push of the mechanism, or keeps the last one that it has if nothing is
/// pending. Every pair of numbers, against this rule for each column.
#[test]
fn final_pushes_follow_those_of_the_schedule() {
    let growth = Growth {
        numerator: 1,
        denominator: 1,
    };
    let shape = shape(3);
    for schedule in [
        Schedule::RoundRobin {
            horizon: 12,
            period: 1,
        },
        Schedule::Punctual { horizon: 6 },
        Schedule::Single { horizon: Some(5) },
        Schedule::Single { horizon: None },
        Schedule::Geometric { growth, rounds: 2 },
    ] {
        let noise = noise(schedule);
        let extra = noise.mechanism(&shape).unwrap().extra_leaf();
        for step in 0..=schedule.horizon().unwrap_or(8) {
            let progress = schedule.progress(step, shape.width);
            let keeps = schedule.nothing_pending(progress);
            for first in 0..=extra + 1 {
                for second in 0..=extra + 1 {
                    let numbers = [first, second];
                    let possible = (0..shape.width).all(|column| {
                        let last = progress.pushes(column);
                        let number = numbers[usize::from(column < progress.column)];
                        let is_later = (last + 1..=extra).contains(&number);
                        is_later || keeps && last == number && number != 0
                    });
                    let expected = possible && (progress.column > 0 || second == 0);
                    let part = Part {
                        step,
                        finished: Some(numbers),
                        ..part(1, Some(noise))
                    };
                    let found = part.has_possible_finish(&shape);
                    assert_eq!(found, expected, "{schedule:?} {step} {numbers:?}");
                }
            }
        }
    }
    for (numbers, expected) in [([0, 0], true), ([1, 0], false), ([0, 1], false)] {
        let finished = Some(numbers);
        let part = Part {
            finished,
            ..part(1, None)
        };
        assert_eq!(part.has_possible_finish(&shape), expected);
    }
}

/// A buffer that is too small would grow, at least to twice its size, and end the process if there
/// is no memory; one that is far too large would be refused.
#[test]
fn the_memory_of_the_bytes_is_allocated_once() {
    let text = "x".repeat(5_000);
    let bytes = vec![0x7F; 6_000];
    let all = [Item::Text(&text), Item::Bytes(&bytes), Item::Wide(&bytes)];
    let integers: Vec<_> = (0..2_000).map(|i| Item::Signed(i64::MAX - i)).collect();
    let schedule = Schedule::Punctual { horizon: 6 };
    for (width, parts) in [(2_000, 1), (1, 60), (40, 7)] {
        for finished in [None, Some([4, 0])] {
            let parts = (0..parts).map(|number| Part {
                finished,
                ..part(number, Some(noise(schedule)))
            });
            let release = Release::new(shape(width), parts.collect(), vec![5; width as usize]);
            let count = release.parts().len();
            for names in [&[][..], &all[..1], &all[1..2], &all[2..], &integers] {
                let bytes = codec::encode_with_names(&release, names).unwrap();
                // No more than 30 bytes too many per part, 12 per name, and some once.
                let most = bytes.len() + 30 * count + 12 * names.len() + 64;
                assert!(bytes.capacity() <= most, "{} {most}", bytes.capacity());
                let (decoded, again) = codec::decode_with_names(&bytes).unwrap();
                assert_eq!((decoded, again), (release.clone(), names.to_vec()));
            }
        }
    }
}

/// A bound of people and the promise of a run, each alone, both, and more of it than all else.
#[test]
fn promises_of_parts_come_back() {
    let bound = crate::parameters::PersonBound {
        cells: 2,
        events: 3,
        most_people: Some(9),
    };
    let run = |tables| RunPromise {
        id: [5; 16],
        epsilon: 2.5,
        delta: 1e-6,
        tables: vec![TablePromise::of(3, [0.5, 1e-7, 4.0, 3.0, 0.25, 1e-9]); tables],
    };
    for (person_bound, run, version) in [
        (None, None, versions::FORMAT_VERSION),
        (Some(bound), None, versions::PROMISE_VERSION),
        (None, Some(run(1)), versions::PROMISE_VERSION),
        (Some(bound), Some(run(256)), versions::PROMISE_VERSION),
    ] {
        let noise = NoiseSpec {
            person_bound,
            ..noise(Schedule::Single { horizon: Some(9) })
        };
        let parts = [1, 2].map(|number| Part {
            run: run.clone(),
            ..part(number, Some(noise))
        });
        let release = Release::new(shape(1), parts.to_vec(), vec![1]);
        let bytes = codec::encode(&release).unwrap();
        assert_eq!(bytes[8..10], version.to_le_bytes());
        assert_eq!(codec::decode(&bytes).unwrap(), release);
    }
}

/// Two releases of one sketch at steps 2 and 3 of a schedule that pushes every column.
fn two_steps(schedule: Schedule) -> [Release; 2] {
    [(2, 7), (3, 12)].map(|(step, value)| {
        let part = Part {
            step,
            ..part(1, Some(noise(schedule)))
        };
        Release::new(shape(2), vec![part], vec![value, -value])
    })
}

#[test]
fn a_difference_keeps_its_steps_and_comes_back() {
    for schedule in [
        Schedule::Punctual { horizon: 6 },
        Schedule::Batch { horizon: 6 },
    ] {
        let [early, late] = two_steps(schedule);
        let found = late.since(&early).unwrap();
        assert_eq!(found.table(), [5, -5]);
        let part = &found.parts()[0];
        assert_eq!((part.since, part.step), (2, 3));
        let bytes = codec::encode(&found).unwrap();
        assert_eq!(bytes[8..10], versions::SINCE_VERSION.to_le_bytes());
        assert_eq!(codec::decode(&bytes).unwrap(), found);
        assert!(Release::merge(&[&found, &early]).is_err(), "one id twice");
    }
}

#[test]
fn differences_that_mean_nothing_are_refused() {
    let [early, late] = two_steps(Schedule::Batch { horizon: 6 });
    let difference = late.since(&early).unwrap();
    let of = |part: Part| Release::new(shape(2), vec![part], vec![1, 1]);
    let part = early.parts()[0].clone();
    let other = of(Part {
        sketch_id: SketchId([9; 16]),
        ..part.clone()
    });
    let finished = of(Part {
        finished: Some([4, 0]),
        ..part
    });
    let merged = Release::merge(&[&early, &other]).unwrap();
    for earlier in [&late, &difference, &other, &finished, &merged] {
        assert!(late.since(earlier).is_err(), "{:?}", earlier.parts());
    }
    for late in [&early, &difference, &merged] {
        assert!(late.since(&early).is_err(), "{:?}", late.parts());
    }
    let wide = Release::new(shape(1), early.parts().to_vec(), vec![1]);
    assert!(late.since(&wide).is_err());
    for schedule in [
        Schedule::round_robin(6),
        Schedule::Single { horizon: Some(3) },
    ] {
        let [early, late] = two_steps(schedule);
        assert!(late.since(&early).is_err(), "{schedule:?}");
    }
}

/// A file with a begin that no writer has: after its step, with lag, without noise.
#[test]
fn begins_that_nothing_has_are_refused_in_files() {
    let [early, _] = two_steps(Schedule::Batch { horizon: 6 });
    let batch = early.parts()[0].clone();
    let lagging = part(1, Some(noise(Schedule::round_robin(6))));
    let forged = [
        Part { since: 2, ..batch },
        Part {
            since: 1,
            ..lagging
        },
        Part {
            since: 1,
            ..part(1, None)
        },
    ];
    for part in forged {
        let release = Release::new(shape(2), vec![part], vec![1, 1]);
        let bytes = codec::encode(&release).unwrap();
        let message = codec::decode(&bytes).unwrap_err().to_string();
        assert!(message.contains("begin before their step"), "{message}");
    }
}
