//! A sketch that was saved and restored, at any point of its life, is the sketch that was not: same
//! step, same release, same names, and the same after everything that follows.

use lazysketch_core::Error;
use lazysketch_core::discovery::name::Kept;
use lazysketch_core::discovery::spec::DiscoverySpec;
use lazysketch_core::item::Item;
use lazysketch_core::key::{Identity, MasterKey, SketchId};
use lazysketch_core::mechanism::MechanismKind;
use lazysketch_core::parameters::{Calibration, NoiseSpec, Relation, Shape, TableKind};
use lazysketch_core::release::codec;
use lazysketch_core::saved_state::SavedState;
use lazysketch_core::schedule::{Growth, Schedule};
use lazysketch_core::sketch::PrivateSketch;
use lazysketch_core::sketch::heavy_hitters::HeavySketch;
use lazysketch_core::table::items::Items;
use proptest::prelude::*;

const HORIZON: u64 = 400;

fn shape(kind: TableKind) -> Shape {
    Shape {
        kind,
        depth: if kind == TableKind::Counters { 1 } else { 2 },
        width: 7,
        hash_seed: 11,
    }
}

fn noise(schedule: Schedule, mechanism: MechanismKind, max_weight: u64) -> NoiseSpec {
    NoiseSpec {
        schedule,
        mechanism,
        sigma: 3.7,
        relation: Relation::ZeroOut,
        calibration: Calibration::Analytic,
        epsilon: 1.0,
        delta: 1e-6,
        max_weight,
        max_events_per_user: 1,
        person_bound: None,
        max_changes: 1,
    }
}

fn discovery(capacity: u32, noise: &NoiseSpec) -> DiscoverySpec {
    DiscoverySpec {
        // Little noise and a low threshold, so that many different sets of names occur.
        epsilon: 20.0,
        delta: 0.2,
        relation: Relation::ZeroOut,
        max_events_per_user: 1,
        max_weight: noise.max_weight,
        counted_weight: noise.max_weight.div_ceil(2),
        steps_per_epoch: 30,
        events_per_step: noise.schedule.events_per_step(),
        capacity,
        max_item_bytes: 16,
    }
}

fn schedules() -> impl Strategy<Value = Schedule> {
    let growth = Growth {
        numerator: 1,
        denominator: 3,
    };
    let single = prop_oneof![Just(None), (1..HORIZON).prop_map(Some)];
    prop_oneof![
        Just(Schedule::RoundRobin {
            horizon: HORIZON,
            period: 1
        }),
        Just(Schedule::RoundRobin {
            horizon: HORIZON,
            period: 3
        }),
        Just(Schedule::Geometric { growth, rounds: 64 }),
        Just(Schedule::Punctual { horizon: HORIZON }),
        Just(Schedule::Batch { horizon: HORIZON }),
        single.prop_map(|horizon| Schedule::Single { horizon }),
    ]
}

fn mechanisms() -> impl Strategy<Value = MechanismKind> {
    prop_oneof![
        Just(MechanismKind::Binary),
        Just(MechanismKind::Haar),
        Just(MechanismKind::Tree),
        Just(MechanismKind::TreeLog),
    ]
}

/// One operation on a sketch; some are refused, with and without the detour alike.
#[derive(Debug, Clone)]
enum Action {
    Event(u64, u64),
    Batch(Vec<(u64, u64)>),
    OneStep(Vec<(u64, u64)>),
    OpenStep(Vec<(u64, u64)>),
    Tick(u64),
    EndEpoch,
    Finish,
    Read(u64),
}

fn actions() -> impl Strategy<Value = Vec<Action>> {
    let events = || proptest::collection::vec((0..12_u64, 0..4_u64), 0..12);
    let action = prop_oneof![
        4 => (0..12_u64, 0..4_u64).prop_map(|(item, weight)| Action::Event(item, weight)),
        4 => events().prop_map(Action::Batch),
        3 => events().prop_map(Action::OneStep),
        4 => events().prop_map(Action::OpenStep),
        2 => (0..60_u64).prop_map(Action::Tick),
        1 => Just(Action::EndEpoch),
        1 => Just(Action::Finish),
        2 => (0..12_u64).prop_map(Action::Read),
    ];
    proptest::collection::vec(action, 1..24)
}

/// Items of every type and length, truncated ones among them.
fn text(number: u64) -> String {
    format!("{number}{}", "x".repeat(4 * number as usize % 30))
}

fn items(texts: &[String]) -> Vec<Item<'_>> {
    let each = texts.iter().zip(0_i32..);
    each.map(|(text, at)| match text.len() % 4 {
        0 => Item::Bytes(text.as_bytes()),
        1 => Item::Signed(i64::from(at % 5) - 2),
        2 => Item::Date(at % 3),
        _ => Item::Text(text),
    })
    .collect()
}

/// The two kinds of live sketches, with one interface.
trait Live: Sized {
    fn act(&mut self, action: &Action) -> Result<Option<f64>, Error>;
    fn saved(&self) -> Result<SavedState, Error>;
    fn seen(&mut self) -> (u64, Vec<u8>, Vec<(Kept, u64)>);
}

impl Live for PrivateSketch {
    fn act(&mut self, action: &Action) -> Result<Option<f64>, Error> {
        let counters = self.shape().kind == TableKind::Counters;
        let fingerprint = |item: u64| {
            if counters {
                item % 7
            } else {
                item.wrapping_mul(1 << 40)
            }
        };
        let split = |events: &[(u64, u64)]| -> (Vec<u64>, Vec<u64>) {
            events
                .iter()
                .map(|&(item, weight)| (fingerprint(item), weight))
                .unzip()
        };
        match action {
            Action::Event(item, weight) => self.update(fingerprint(*item), *weight)?,
            Action::Batch(events) => {
                let (items, weights) = split(events);
                self.update_many(Items::Ready(&items), Some(&weights))?;
            }
            Action::OneStep(events) => {
                let (items, weights) = split(events);
                self.update_batch(Items::Ready(&items), Some(&weights))?;
            }
            Action::OpenStep(events) => {
                let (items, weights) = split(events);
                self.add_to_batch(Items::Ready(&items), Some(&weights))?;
            }
            Action::Tick(steps) => self.tick(*steps)?,
            Action::EndEpoch => {}
            Action::Finish => self.finish()?,
            Action::Read(item) => return self.estimate(fingerprint(*item)).map(Some),
        }
        Ok(None)
    }

    fn saved(&self) -> Result<SavedState, Error> {
        self.save()
    }

    fn seen(&mut self) -> (u64, Vec<u8>, Vec<(Kept, u64)>) {
        let release = self.release().unwrap();
        (self.step(), codec::encode(&release).unwrap(), Vec::new())
    }
}

impl Live for HeavySketch {
    fn act(&mut self, action: &Action) -> Result<Option<f64>, Error> {
        let split = |events: &[(u64, u64)]| -> (Vec<String>, Vec<u64>) {
            events
                .iter()
                .map(|&(item, weight)| (text(item), weight))
                .unzip()
        };
        match action {
            Action::Event(item, weight) => self.update(Item::Text(&text(*item)), *weight)?,
            Action::Batch(events) => {
                let (texts, weights) = split(events);
                self.update_many(Items::Mixed(&items(&texts)), Some(&weights))?;
            }
            Action::OneStep(events) => {
                let (texts, weights) = split(events);
                self.update_batch(Items::Mixed(&items(&texts)), Some(&weights))?;
            }
            Action::OpenStep(events) => {
                let (texts, weights) = split(events);
                self.add_to_batch(Items::Mixed(&items(&texts)), Some(&weights))?;
            }
            Action::Tick(steps) => self.tick(*steps)?,
            Action::EndEpoch => self.end_epoch()?,
            Action::Finish => self.finish()?,
            Action::Read(item) => {
                let fingerprint = self.sketch().fingerprinter().item(Item::Text(&text(*item)));
                return self.sketch_mut().estimate(fingerprint).map(Some);
            }
        }
        Ok(None)
    }

    fn saved(&self) -> Result<SavedState, Error> {
        self.save()
    }

    fn seen(&mut self) -> (u64, Vec<u8>, Vec<(Kept, u64)>) {
        let candidates = self.discovery().candidates();
        let names = candidates
            .map(|(kept, epoch)| (kept.clone(), epoch))
            .collect();
        let release = self.sketch_mut().release().unwrap();
        (
            self.sketch().step(),
            codec::encode(&release).unwrap(),
            names,
        )
    }
}

/// Restores one of two twins after each of the chosen actions, and compares all that can be seen.
fn twins_agree<L: Live>(
    make: impl Fn() -> L,
    restore: impl Fn(&SavedState) -> Result<L, Error>,
    actions: &[(Action, bool)],
) -> Result<(), TestCaseError> {
    let (mut one, mut other) = (make(), make());
    for (action, is_restored) in actions {
        prop_assert_eq!(one.act(action), other.act(action));
        if *is_restored {
            let saved = other.saved().unwrap();
            other = restore(&saved).unwrap();
            // Nothing but the counts decides the bytes: neither reads nor the way to the state.
            let again = other.saved().unwrap();
            prop_assert!(again.expose() == saved.expose());
            prop_assert!(one.saved().unwrap().expose().len() == saved.expose().len());
            let short = SavedState::from_bytes(saved.expose()[..saved.expose().len() - 1].to_vec());
            prop_assert!(matches!(restore(&short), Err(Error::State(_))));
            let long = SavedState::from_bytes([saved.expose(), &[0]].concat());
            prop_assert!(matches!(restore(&long), Err(Error::State(_))));
        }
        prop_assert_eq!(one.seen(), other.seen());
    }
    Ok(())
}

fn with_detours() -> impl Strategy<Value = Vec<(Action, bool)>> {
    let marked = |actions: Vec<Action>| {
        let length = actions.len();
        let marks = proptest::collection::vec(any::<bool>(), length);
        marks.prop_map(move |marks| actions.clone().into_iter().zip(marks).collect())
    };
    actions().prop_flat_map(marked)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn sketches_go_on_from_any_state(
        kind in prop_oneof![
            Just(TableKind::CountMin), Just(TableKind::CountSketch), Just(TableKind::Counters)
        ],
        schedule in schedules(),
        mechanism in mechanisms(),
        weight in prop_oneof![Just(3_u64), Just(1 << 27)], // counters widen at step 8
        actions in with_detours(),
    ) {
        let (shape, spec) = (shape(kind), noise(schedule, mechanism, weight));
        prop_assume!(spec.validate(&shape).is_ok());
        let key = MasterKey::seeded(5);
        let identity = || Identity::chosen(SketchId([3; 16]));
        twins_agree(
            || PrivateSketch::new(shape, spec, &key, identity()).unwrap(),
            |saved| PrivateSketch::restore(shape, spec, &key, saved),
            &actions,
        )?;
    }

    #[test]
    fn discovery_goes_on_from_any_state(
        schedule in schedules(),
        capacity in prop_oneof![Just(4_u32), Just(8), Just(64)],
        actions in with_detours(),
    ) {
        let shape = shape(TableKind::CountMin);
        let spec = noise(schedule, MechanismKind::Haar, 3);
        let names = discovery(capacity, &spec);
        let key = MasterKey::seeded(5);
        let identity = || Identity::chosen(SketchId([3; 16]));
        twins_agree(
            || HeavySketch::new(shape, spec, names, &key, identity()).unwrap(),
            |saved| HeavySketch::restore(shape, spec, names, &key, saved),
            &actions,
        )?;
    }
}

/// A state belongs to one set of parameters; the key alone is the caller's to keep.
#[test]
fn other_parameters_are_refused() {
    let (shape, key) = (shape(TableKind::CountMin), MasterKey::seeded(5));
    let spec = noise(Schedule::Batch { horizon: 9 }, MechanismKind::Haar, 3);
    let names = discovery(8, &spec);
    let identity = || Identity::chosen(SketchId([3; 16]));
    let plain = PrivateSketch::new(shape, spec, &key, identity()).unwrap();
    let heavy = HeavySketch::new(shape, spec, names, &key, identity()).unwrap();
    let (plain, heavy) = (plain.save().unwrap(), heavy.save().unwrap());
    let restored = PrivateSketch::restore(shape, spec, &key, &plain).unwrap();
    assert_eq!(restored.sketch_id(), SketchId([3; 16]));
    assert!(
        restored
            .not_private()
            .reasons()
            .any(|it| it == "sketch id chosen by the caller")
    );
    let other_shape = Shape {
        hash_seed: 12,
        ..shape
    };
    let other_noise = NoiseSpec { sigma: 3.8, ..spec };
    let other_names = DiscoverySpec {
        delta: 0.1,
        ..names
    };
    let refused = |error: Option<Error>| {
        let message = error.unwrap().to_string();
        assert!(
            message.starts_with("state: expected the parameters"),
            "{message}"
        );
    };
    refused(PrivateSketch::restore(other_shape, spec, &key, &plain).err());
    refused(PrivateSketch::restore(shape, other_noise, &key, &plain).err());
    refused(PrivateSketch::restore(shape, spec, &key, &heavy).err());
    refused(HeavySketch::restore(shape, spec, other_names, &key, &heavy).err());
    refused(HeavySketch::restore(shape, spec, names, &key, &plain).err());
    let mut old = plain.expose().to_vec();
    old[0] = 9;
    let error = PrivateSketch::restore(shape, spec, &key, &SavedState::from_bytes(old)).err();
    let message = error.unwrap().to_string();
    assert_eq!(message, "state: expected state version 1, got 9");
    assert_eq!(
        format!("{plain:?}"),
        format!("SavedState({} bytes)", plain.expose().len())
    );
}

/// Whatever the bytes are, they are refused or give a sketch; nothing panics.
#[test]
fn no_bytes_break_the_reader() {
    let (shape, key) = (shape(TableKind::CountMin), MasterKey::seeded(5));
    let spec = noise(Schedule::Batch { horizon: 9 }, MechanismKind::Haar, 3);
    for capacity in [8, 64] {
        let names = discovery(capacity, &spec);
        let identity = Identity::chosen(SketchId([3; 16]));
        let mut heavy = HeavySketch::new(shape, spec, names, &key, identity).unwrap();
        let texts: Vec<String> = (0..20).map(text).collect();
        heavy
            .update_batch(Items::Mixed(&items(&texts)), None)
            .unwrap();
        heavy
            .add_to_batch(Items::Mixed(&items(&texts)), None)
            .unwrap();
        let saved = heavy.save().unwrap();
        for at in 0..saved.expose().len() {
            for bit in [0, 7] {
                let mut bytes = saved.expose().to_vec();
                bytes[at] ^= 1 << bit;
                let damaged = SavedState::from_bytes(bytes);
                if let Ok(mut sketch) = HeavySketch::restore(shape, spec, names, &key, &damaged) {
                    sketch.tick(1).ok();
                    sketch.finish().ok();
                }
            }
        }
    }
}

#[test]
fn a_closed_sketch_has_no_state() {
    let (shape, key) = (shape(TableKind::CountMin), MasterKey::seeded(5));
    let spec = noise(Schedule::Batch { horizon: 9 }, MechanismKind::Haar, 3);
    let identity = Identity::chosen(SketchId([3; 16]));
    let mut sketch = PrivateSketch::new(shape, spec, &key, identity).unwrap();
    sketch.close();
    assert_eq!(sketch.save().err(), Some(Error::Closed));
}
