//! Events of later steps: in any order of their steps a sketch is that of the same events in order.

use lazysketch_core::Error;
use lazysketch_core::discovery::spec::DiscoverySpec;
use lazysketch_core::key::{Identity, MasterKey, SketchId};
use lazysketch_core::mechanism::MechanismKind;
use lazysketch_core::parameters::{NoiseSpec, TableKind};
use lazysketch_core::schedule::Schedule;
use lazysketch_core::sketch::PrivateSketch;
use lazysketch_core::sketch::heavy_hitters::HeavySketch;
use lazysketch_core::sketch::steps_ahead::{EventsOfSteps, StepPart};
use lazysketch_core::table::items::Items;
use proptest::prelude::*;
use seeded::{MAX_WEIGHT, seeded, shape, spec};
use std::collections::BTreeMap;

mod seeded;

const HORIZON: u64 = 24;

/// A name has at most 6 values, so no epoch forgets one: its names follow from their counts alone.
fn heavy(steps_per_epoch: u64) -> HeavySketch {
    let noise: NoiseSpec = spec(Schedule::Batch { horizon: HORIZON }, MechanismKind::Haar);
    let discovery = DiscoverySpec {
        epsilon: 20.0,
        delta: 0.2,
        relation: noise.relation,
        max_events_per_user: noise.max_events_per_user,
        max_weight: noise.max_weight,
        counted_weight: 1,
        steps_per_epoch,
        events_per_step: noise.schedule.events_per_step(),
        capacity: 8,
        max_item_bytes: 16,
    };
    let identity = Identity::chosen(SketchId([3; 16]));
    let shape = shape(TableKind::CountMin, 2, 7);
    HeavySketch::new(shape, noise, discovery, &MasterKey::seeded(5), identity).unwrap()
}

fn plain(kind: TableKind) -> PrivateSketch {
    let spec = spec(Schedule::Batch { horizon: HORIZON }, MechanismKind::Haar);
    seeded(shape(kind, 2, 7), spec, 5)
}

/// A batch in the order of its steps.
#[derive(Default)]
struct Batch {
    items: Vec<i64>,
    weights: Vec<u64>,
    parts: Vec<StepPart>,
}

impl Batch {
    fn of(mut events: Vec<(u64, i64, u64)>) -> Self {
        events.sort_by_key(|&(ahead, ..)| ahead);
        let parts = events
            .chunk_by(|one, next| one.0 == next.0)
            .map(|run| StepPart {
                ahead: run[0].0,
                events: run.len() as u64,
            });
        Self {
            parts: parts.collect(),
            items: events.iter().map(|event| event.1).collect(),
            weights: events.iter().map(|event| event.2).collect(),
        }
    }

    fn events<'a>(&'a self, items: Items<'a>) -> EventsOfSteps<'a> {
        EventsOfSteps::new(items, Some(&self.weights), &self.parts).unwrap()
    }
}

#[derive(Debug, Clone)]
enum Call {
    Events(Vec<(u64, i64, u64)>),
    Ticks(u64),
    OneStep(Vec<i64>),
}

fn calls() -> impl Strategy<Value = Vec<Call>> {
    let event = (0..9_u64, 0..6_i64, 0..=MAX_WEIGHT);
    let call = prop_oneof![
        4 => prop::collection::vec(event, 0..8).prop_map(Call::Events),
        2 => (0..4_u64).prop_map(Call::Ticks),
        1 => prop::collection::vec(0..6_i64, 0..4).prop_map(Call::OneStep),
    ];
    prop::collection::vec(call, 1..8)
}

type Steps = BTreeMap<u64, (Vec<i64>, Vec<u64>)>;

/// The table and the names of a sketch, and of one that counts the same steps one after the other.
fn assert_same(sketch: &mut HeavySketch, steps: &Steps, per_epoch: u64) {
    let mut ordered = heavy(per_epoch);
    for step in 0..sketch.sketch().step() {
        match steps.get(&step) {
            Some((items, weights)) => {
                let items = Items::Signed(items);
                ordered.update_batch(items, Some(weights)).unwrap();
            }
            None => ordered.tick(1).unwrap(),
        }
    }
    let tables = [&mut *sketch, &mut ordered]
        .map(|one| one.sketch_mut().release().unwrap().table().to_vec());
    assert_eq!(tables[0], tables[1]);
    let names = [sketch, &mut ordered].map(|one| {
        let all = one.candidates().unwrap();
        all.iter()
            .map(|(kept, epoch, _)| (kept.fingerprint, *epoch))
            .collect::<Vec<_>>()
    });
    assert_eq!(names[0], names[1]);
}

/// Names that are published for certain: the last epoch with events ends where its steps do.
#[test]
fn the_last_epoch_that_came_ahead_ends_with_its_steps() {
    let many = |ahead, item| std::iter::repeat_n((ahead, item, 1), 500);
    for ticks in [vec![1, 1, 1], vec![2, 1], vec![1, 2], vec![3], vec![5]] {
        let mut sketch = heavy(1);
        let batch = Batch::of(many(1, 1).chain(many(2, 2)).collect());
        sketch
            .add_to_steps(batch.events(Items::Signed(&batch.items)))
            .unwrap();
        for number in ticks {
            sketch.tick(number).unwrap();
        }
        let mut epochs: Vec<u64> = (sketch.candidates().unwrap().iter())
            .map(|(_, epoch, _)| *epoch)
            .collect();
        epochs.sort_unstable();
        assert_eq!(epochs, [1, 2]);
    }
}

proptest! {
    /// After every call, and after `finish`, which ends all steps with events.
    #[test]
    fn events_in_any_order_are_those_of_their_steps(calls in calls(), per_epoch in 1..5_u64) {
        let mut sketch = heavy(per_epoch);
        let mut steps = Steps::new();
        for call in calls {
            let now = sketch.sketch().step();
            match call {
                Call::Events(events) => {
                    for &(ahead, item, weight) in &events {
                        let step = steps.entry(now + ahead).or_default();
                        step.0.push(item);
                        step.1.push(weight);
                    }
                    let batch = Batch::of(events);
                    let result = sketch.add_to_steps(batch.events(Items::Signed(&batch.items)));
                    prop_assert!(result.is_ok() || now + 9 > HORIZON);
                    if result.is_err() {
                        return Ok(());
                    }
                }
                Call::Ticks(number) => {
                    if sketch.tick(number).is_err() {
                        return Ok(());
                    }
                }
                Call::OneStep(items) => {
                    if sketch.update_batch(Items::Signed(&items), None).is_err() {
                        return Ok(());
                    }
                    let step = steps.entry(now).or_default();
                    step.1.extend(items.iter().map(|_| 1));
                    step.0.extend(items);
                }
            }
            assert_same(&mut sketch, &steps, per_epoch);
        }
        prop_assert!(sketch.sketch().check_finish().is_ok());
        let last = steps.last_key_value().map_or(0, |(&last, _)| last + 1);
        let expected = last.max(sketch.sketch().step());
        sketch.finish().unwrap();
        // An open step may be empty.
        prop_assert!((expected..=expected + 1).contains(&sketch.sketch().step()));
    }

    /// Without discovery, for both kinds of sketches.
    #[test]
    fn tables_alone_count_the_same(
        events in prop::collection::vec((0..9_u64, 0..6_i64, 0..=MAX_WEIGHT), 0..20),
        signed in any::<bool>(),
        split in 0..20_usize,
    ) {
        let kind = if signed { TableKind::CountSketch } else { TableKind::CountMin };
        let (mut any_order, mut ordered) = (plain(kind), plain(kind));
        let first = events[..split.min(events.len())].to_vec();
        let second = events[first.len()..].to_vec();
        for part in [second, first] {
            let batch = Batch::of(part);
            let items: Vec<u64> = batch.items.iter().map(|&item| item as u64).collect();
            any_order.add_to_steps(batch.events(Items::Ready(&items))).unwrap();
        }
        let all = Batch::of(events);
        for step in 0..9 {
            let mut start = 0;
            for part in &all.parts {
                let end = start + part.events as usize;
                if part.ahead == step {
                    let items: Vec<u64> =
                        all.items[start..end].iter().map(|&item| item as u64).collect();
                    let weights = Some(&all.weights[start..end]);
                    ordered.add_to_batch(Items::Ready(&items), weights).unwrap();
                }
                start = end;
            }
            for sketch in [&mut any_order, &mut ordered] {
                sketch.tick(1).unwrap();
            }
            let (one, other) = (any_order.release().unwrap(), ordered.release().unwrap());
            prop_assert_eq!(one.table(), other.table());
        }
    }
}

#[test]
fn what_cannot_be_counted_changes_nothing() {
    let batch = Batch::of(vec![(0, 1, 1), (HORIZON, 2, 1)]);
    let mut sketch = heavy(2);
    let items = Items::Signed(&batch.items);
    let refused = sketch.add_to_steps(batch.events(items));
    assert!(matches!(refused, Err(Error::Horizon { .. })));
    let far = [StepPart {
        ahead: u64::MAX,
        events: 2,
    }];
    let far = EventsOfSteps::new(items, None, &far).unwrap();
    assert!(sketch.add_to_steps(far).is_err());
    let parts = [(0, 1), (0, 1)].map(|(ahead, events)| StepPart { ahead, events });
    assert!(EventsOfSteps::new(items, None, &parts).is_err());
    assert!(EventsOfSteps::new(items, None, &parts[..1]).is_err());
    let heavy_weights = [1, MAX_WEIGHT + 1];
    let rising = [(0, 1), (3, 1)].map(|(ahead, events)| StepPart { ahead, events });
    let events = EventsOfSteps::new(items, Some(&heavy_weights), &rising).unwrap();
    assert!(sketch.add_to_steps(events).is_err());
    let fingerprints = EventsOfSteps::new(Items::Ready(&[1, 2]), None, &rising).unwrap();
    assert!(sketch.add_to_steps(fingerprints).is_err());
    assert_same(&mut sketch, &Steps::new(), 2);
    assert!(sketch.end_epoch().is_ok() && sketch.saved_bytes().is_ok());

    let events = EventsOfSteps::new(items, None, &rising).unwrap();
    sketch.add_to_steps(events).unwrap();
    // What later steps have is no part of a state, and no epoch ends before them.
    assert!(sketch.save().is_err() && sketch.saved_bytes().is_err());
    assert!(sketch.end_epoch().is_err());
    sketch.tick(4).unwrap();
    assert!(sketch.save().is_ok() && sketch.end_epoch().is_ok());
    sketch.finish().unwrap();
    assert!(sketch.add_to_steps(events).is_err());
    sketch.close();
    assert!(sketch.add_to_steps(events).is_err());

    let lazy = spec(Schedule::round_robin(HORIZON), MechanismKind::Haar);
    let mut lazy = seeded(shape(TableKind::CountMin, 2, 7), lazy, 5);
    let ready = EventsOfSteps::new(Items::Ready(&[1, 2]), None, &rising).unwrap();
    assert!(lazy.add_to_steps(ready).is_err());
}
