//! Values by item: two tables, of events and of the integers of a grid that stand for values.

use super::*;
use crate::saved_state::SavedState;
use std::collections::HashSet;

const STEPS: u64 = 5;
const BOUNDS: (f64, f64) = (-1.0, 9.0);

/// The tables of events and of values.
fn tables_of(schedule: Schedule, ids: [u8; 2]) -> [PrivateSketch; 2] {
    [(ids[0], 1), (ids[1], STEPS)].map(|(id, max_weight)| {
        let noise = NoiseSpec {
            max_weight,
            ..noise(schedule)
        };
        let sketch = sketch_of(TableKind::CountSketch, noise, id);
        match max_weight {
            1 => sketch,
            _ => sketch.with_signed_weights().unwrap(),
        }
    })
}

fn tables() -> [PrivateSketch; 2] {
    tables_of(Schedule::Batch { horizon: 9 }, [1, 2])
}

fn description_of(
    [events, values]: &[PrivateSketch; 2],
    bounds: (f64, f64),
    is_exact: bool,
    most_events: Option<u64>,
) -> Result<PartialSpec, Error> {
    let spec = events.partial_spec(keys(7).public_key(), 0, most_events)?;
    values.partial_spec_of_values(spec, bounds, is_exact, most_events)
}

fn description(most_events: u64) -> PartialSpec {
    description_of(&tables(), BOUNDS, true, Some(most_events)).unwrap()
}

fn with_values(spec: PartialSpec, events: &[(u64, i64)]) -> PartialCounts {
    let items: Vec<u64> = events.iter().map(|&(item, _)| item).collect();
    let values: Vec<u64> = events.iter().map(|&(_, it)| it.cast_unsigned()).collect();
    let mut partial = PartialCounts::new(spec).unwrap();
    (partial.update_many(Items::Ready(&items), Some(&values))).unwrap();
    partial
}

fn states(tables: &[PrivateSketch; 2]) -> [Vec<u8>; 2] {
    [0, 1].map(|at| tables[at].save().unwrap().expose().to_vec())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// For any split of the events, any order, merges and sizes of counters: both states are those of
    /// one machine, and so is what is published.
    #[test]
    fn both_tables_end_in_the_state_of_one_machine(
        steps in prop::collection::vec(
            (prop::collection::vec((any::<u64>(), 0..=STEPS, 0..4_usize), 0..40), any::<bool>()),
            1..5,
        ),
        most in prop::sample::select(vec![200, 300_000_000, EVENTS_PER_STEP]),
        merged in any::<bool>(),
    ) {
        let (mut local, mut distributed) = (tables(), tables());
        for (events, in_open_step) in steps {
            let events: Vec<_> = events
                .into_iter()
                .map(|(item, point, worker)| (item, 2 * point as i64 - STEPS as i64, worker))
                .collect();
            let items: Vec<u64> = events.iter().map(|it| it.0).collect();
            let values: Vec<u64> = events.iter().map(|it| it.1.cast_unsigned()).collect();
            let mut workers: Vec<_> = (0..4)
                .map(|worker| {
                    let own = events.iter().filter(|it| it.2 == worker);
                    let own: Vec<_> = own.map(|it| (it.0, it.1)).collect();
                    with_values(description(most), &own)
                })
                .collect();
            if merged {
                let mut last = workers.pop().unwrap();
                workers[1].merge(&mut last).unwrap();
            }
            let sealed: Vec<_> = (workers.iter_mut().rev()).map(|it| it.seal().unwrap()).collect();
            let sum = gathered(sealed, description(1));
            let again = gathered([sum.sealed().unwrap()], description(1));
            let items = Items::Ready(&items);
            for (at, weights) in [(0, None), (1, Some(values.as_slice()))] {
                if in_open_step {
                    local[at].add_to_batch(items, weights).unwrap();
                    distributed[at].add_partial_to_batch(&again).unwrap();
                } else {
                    local[at].update_batch(items, weights).unwrap();
                    distributed[at].add_partial(&again).unwrap();
                }
            }
            prop_assert_eq!(states(&local), states(&distributed));
        }
        for at in 0..2 {
            let releases = [&mut local, &mut distributed].map(|it| it[at].release().unwrap());
            prop_assert_eq!(releases[0].table(), releases[1].table());
        }
    }
}

/// The counts that some events leave in one row of two places, by enumeration of all events: of each
/// the place, the sign of the hash, and the point of the grid.
fn reachable(events: u64, steps: i64) -> HashSet<[i64; 4]> {
    let mut found = HashSet::from([[0; 4]]);
    for _ in 0..events {
        let before = std::mem::take(&mut found);
        for cells in before {
            for (place, sign, point) in (0..2)
                .flat_map(|at| [-1, 1].map(|sign| (at, sign)))
                .flat_map(|(at, sign)| (0..=steps).map(move |it| (at, sign, it)))
            {
                let mut after = cells;
                after[place] += sign;
                after[2 + place] += sign * (2 * point - steps);
                found.insert(after);
            }
        }
    }
    found
}

/// What the store accepts of one row is what some events can have counted, no more and no less.
#[test]
fn a_row_is_accepted_if_some_events_count_so() {
    for steps in [1_u64, 2, 3] {
        let spec = PartialSpec {
            shape: Shape {
                depth: 1,
                width: 2,
                ..shape(TableKind::CountSketch)
            },
            summed: Some(Summed::new(SketchId([2; 16]), steps, BOUNDS, true).unwrap()),
            ..description(4)
        };
        for events in 0..=3_u64 {
            let possible = reachable(events, steps as i64);
            let (of_events, of_values) = (events as i64 + 1, (events * steps) as i64 + 1);
            let mut accepted = 0;
            for one in -of_events..=of_events {
                for two in -of_events..=of_events {
                    for three in -of_values..=of_values {
                        for four in -of_values..=of_values {
                            let cells = [one, two, three, four];
                            let is_accepted = restored(spec, events, &cells).is_ok();
                            assert_eq!(is_accepted, possible.contains(&cells), "{cells:?}");
                            accepted += usize::from(is_accepted);
                        }
                    }
                }
            }
            assert_eq!(accepted, possible.len());
        }
    }
}

/// Opens what a worker with the public key could seal: cells of events, then those of values, each of
/// them column by column.
fn restored(spec: PartialSpec, events: u64, cells: &[i64]) -> Result<(), String> {
    let mut bytes = vec![1, 0];
    bytes.extend([9; 16]);
    bytes.extend(events.to_le_bytes());
    for table in cells.chunks(cells.len() / 2) {
        bytes.push(0);
        bytes.extend(table.iter().flat_map(|&it| (it as i32).to_le_bytes()));
    }
    PartialCounts::restore(spec, &SavedState::from_bytes(bytes))
        .map(|_| ())
        .map_err(message)
}

/// Of several rows each by itself, and all of the same events.
#[test]
fn impossible_sums_are_refused() {
    let spec = PartialSpec {
        shape: Shape {
            width: 1,
            ..shape(TableKind::CountSketch)
        },
        ..description(4)
    };
    // Two rows of one column: events, then values of 5 steps.
    assert_eq!(restored(spec, 2, &[2, 0, -10, 10]), Ok(()));
    assert_eq!(restored(spec, 2, &[0, -2, 8, 0]), Ok(()));
    for (cells, expected) in [
        ([1, 0, 5, 10], "rows that count the same events"),
        ([0, 0, 1, 0], "values of the grid"),
        ([2, 1, 10, 4], "values of the grid"),
        ([4, 0, 0, 0], "a larger one"),
        ([0, 0, 0, 12], "a larger one"),
        ([2, 1, 10, 5], "rows that count the same events"),
    ] {
        let found = restored(spec, 2, &cells).unwrap_err();
        assert!(found.contains(expected), "{cells:?}: {found}");
    }
    // Each place has few enough, not all places together.
    let wide = PartialSpec {
        shape: Shape {
            depth: 1,
            width: 2,
            ..spec.shape
        },
        ..spec
    };
    assert_eq!(restored(wide, 4, &[2, 0, 0, 10]), Ok(()));
    let found = restored(wide, 2, &[2, 0, 0, 10]).unwrap_err();
    assert!(found.contains("counts that the events allow"), "{found}");
}

/// Sums on another grid are other sums; the sign of a zero is none.
#[test]
fn other_grids_are_refused() {
    let spec = description(9);
    let others = [((-1.0, 8.0), true), ((-2.0, 9.0), true), (BOUNDS, false)]
        .map(|(bounds, is_exact)| description_of(&tables(), bounds, is_exact, Some(9)).unwrap());
    for other in others {
        let sealed = with_values(other, &[(1, 5)]).seal().unwrap();
        let found = message(keys(7).open(&sealed, &spec).map(|_| ()).unwrap_err());
        assert!(found.contains("of this table"), "{found}");
        let mut counts = with_values(other, &[(1, 5)]);
        assert!(with_values(spec, &[]).gather(&counts).is_err());
        assert!(with_values(spec, &[]).merge(&mut counts).is_err());
    }
    let [plus, minus] =
        [0.0, -0.0].map(|low| description_of(&tables(), (low, 9.0), true, Some(9)).unwrap());
    assert_eq!(plus.encode(), minus.encode());
    for bounds in [
        (1.0, 1.0),
        (2.0, 1.0),
        (f64::NAN, 1.0),
        (0.0, f64::INFINITY),
    ] {
        assert!(description_of(&tables(), bounds, true, None).is_err());
    }
}

/// Counts of sums are of two tables together, by the ids of both.
#[test]
fn other_tables_are_refused() {
    let batch = Schedule::Batch { horizon: 9 };
    let counts = with_values(description(9), &[(1, 5), (2, -3)]);
    let mut own = tables();
    for (ids, expected) in [([1, 3], [true, false]), ([3, 2], [false, true])] {
        let others = tables_of(batch, ids);
        let spec = description_of(&others, BOUNDS, true, Some(9)).unwrap();
        let sealed = with_values(spec, &[(1, 5)]).seal().unwrap();
        assert!(keys(7).open(&sealed, &description(9)).is_err());
        let accepted = others.map(|mut table| table.add_partial(&counts).is_ok());
        assert_eq!(accepted, expected);
    }
    // Counts of one table are not half of those of two.
    let plain = counted(
        own[0].partial_spec(keys(7).public_key(), 0, None).unwrap(),
        &[1],
    );
    assert!(with_values(description(9), &[]).gather(&plain).is_err());
    assert!(own[1].add_partial(&plain).is_err());
    let of_values = message(own[1].partial_spec([0; 32], 0, None).unwrap_err());
    assert!(
        of_values.starts_with("signed_weights: expected none"),
        "{of_values}"
    );
    let [events, values] = &own;
    let spec = events.partial_spec([0; 32], 0, None).unwrap();
    assert!(
        events
            .partial_spec_of_values(spec, BOUNDS, true, None)
            .is_err()
    );
    let wider = PartialSpec {
        shape: Shape {
            width: 6,
            ..spec.shape
        },
        ..spec
    };
    assert!(
        values
            .partial_spec_of_values(wider, BOUNDS, true, None)
            .is_err()
    );
    let punctual = tables_of(Schedule::Punctual { horizon: 9 }, [1, 2]);
    assert!(description_of(&punctual, BOUNDS, true, None).is_err());
    assert!(
        punctual[1]
            .partial_spec_of_values(spec, BOUNDS, true, None)
            .is_err()
    );
}

/// Every event has one value, which is of the grid.
#[test]
fn values_are_checked() {
    let mut partial = PartialCounts::new(description(9)).unwrap();
    let empty = keys(7).content_digest(&partial).unwrap();
    let items = Items::Ready(&[1, 2]);
    for (values, expected) in [
        (None, "values: expected one per item (2)"),
        (Some(&[1][..]), "values: expected one per item (2)"),
        (Some(&[1, 7]), "weights: expected integers of at most"),
        (
            Some(&[1, (-7_i64).cast_unsigned()]),
            "weights: expected integers of at most",
        ),
        (Some(&[1, 2]), "values: expected integers of the grid"),
    ] {
        let found = message(partial.update_many(items, values).unwrap_err());
        assert!(found.starts_with(expected), "{found}");
    }
    assert_eq!(keys(7).content_digest(&partial).unwrap(), empty);
    (partial.update_many(items, Some(&[1, (-5_i64).cast_unsigned()]))).unwrap();
    assert_eq!(partial.events(), Ok(2));
}

/// The size of sealed counts and of a description follows from public numbers.
#[test]
fn sizes_follow_from_the_description() {
    for (most, of_events, of_values) in [(9, 4, 4), (1 << 29, 4, 8), (EVENTS_PER_STEP, 8, 8)] {
        let spec = description(most);
        assert_eq!(spec.encode().len(), 100 + 41);
        assert_eq!(PartialSpec::decode(&spec.encode()), Ok(spec));
        for events in [&[][..], &[(1, 5)], &[(1, 5); 9]] {
            let sealed = with_values(spec, events).seal().unwrap();
            let counts = 2 + 16 + 8 + (1 + 10 * of_events) + (1 + 10 * of_values);
            assert_eq!(sealed.len(), 8 + 2 + 141 + 32 + 16 + counts);
        }
    }
    let usual = description_of(&tables(), BOUNDS, true, None).unwrap();
    assert_eq!(usual.most_events, ((1 << 30) - 1) / STEPS);
    let mut damaged = description(9).encode();
    damaged[140] = 2;
    assert!(message(PartialSpec::decode(&damaged).unwrap_err()).contains("0 or 1"));
    damaged.truncate(140);
    assert!(PartialSpec::decode(&damaged).is_err());
    let named = PartialSpec {
        max_weight: 3,
        ..description(9)
    };
    assert!(PartialCounts::new(named).is_err());
}

/// The digest of a step follows from both tables, and from no split.
#[test]
fn a_step_of_sums_has_one_digest() {
    let digest = |parts: &[&[(u64, i64)]], most: u64| {
        let sealed = parts
            .iter()
            .map(|it| with_values(description(most), it).seal().unwrap());
        keys(7)
            .content_digest(&gathered(sealed, description(most)))
            .unwrap()
    };
    let whole = digest(&[&[(1, 5), (2, -3), (1, 1)]], 9);
    assert_eq!(
        whole,
        digest(&[&[(2, -3)], &[], &[(1, 1), (1, 5)]], EVENTS_PER_STEP)
    );
    assert_ne!(whole, digest(&[&[(1, 5), (2, -3), (1, 3)]], 9));
    assert_ne!(whole, digest(&[&[(1, 5), (2, -3), (2, 1)]], 9));
    assert_ne!(whole, digest(&[&[(1, 5), (2, -3)]], 9));
}

/// Pins the description: workers and stores may have different versions.
#[test]
fn golden_description_of_sums() {
    let encoded = description(100).encode();
    assert_eq!(encoded[8..10], [3, 0]);
    let hex: String = encoded[100..]
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    assert_eq!(
        hex,
        "020202020202020202020202020202020500000000000000000000000000f0bf000000000000224001"
    );
}
