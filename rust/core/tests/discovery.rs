//! Discovery against its definition: a naive model that keeps every step, cuts epochs, runs
//! Misra-Gries line by line as printed by Lebeda and Tetek (or counts in a map) and adds the core's
//! own draws.

use lazysketch_core::Error;
use lazysketch_core::discovery::name::{Kept, NameKind};
use lazysketch_core::discovery::spec::{DiscoverySpec, Variant};
use lazysketch_core::item::Item;
use lazysketch_core::key::{Identity, MasterKey, SketchId};
use lazysketch_core::mechanism::MechanismKind;
use lazysketch_core::parameters::{Calibration, NoiseSpec, Relation, Shape, TableKind};
use lazysketch_core::schedule::Schedule;
use lazysketch_core::sketch::heavy_hitters::HeavySketch;
use lazysketch_core::table::items::Items;
use proptest::prelude::*;
use std::collections::BTreeMap;

const MAX_WEIGHT: u64 = 5;
const EPOCH: u64 = 40;

fn discovery(capacity: u32, counted_weight: u64, events_per_step: u64) -> DiscoverySpec {
    DiscoverySpec {
        // Little noise and a low threshold, so that many different sets of names occur.
        epsilon: 20.0,
        delta: 0.2,
        relation: Relation::ZeroOut,
        max_events_per_user: 1,
        max_weight: MAX_WEIGHT,
        counted_weight,
        steps_per_epoch: EPOCH,
        events_per_step,
        capacity,
        max_item_bytes: 16,
    }
}

fn sketch(schedule: Schedule, spec: DiscoverySpec, key: &MasterKey) -> HeavySketch {
    let shape = Shape {
        kind: TableKind::CountMin,
        depth: 2,
        width: 8,
        hash_seed: 11,
    };
    let noise = NoiseSpec {
        schedule,
        mechanism: MechanismKind::Haar,
        sigma: 3.7,
        relation: Relation::ZeroOut,
        calibration: Calibration::Analytic,
        epsilon: 1.0,
        delta: 1e-6,
        max_weight: MAX_WEIGHT,
        max_events_per_user: 1,
        person_bound: None,
        max_changes: 1,
    };
    let identity = Identity::chosen(SketchId([3; 16]));
    HeavySketch::new(shape, noise, spec, key, identity).unwrap()
}

fn seeded(capacity: u32, counted: u64, seed: u64) -> HeavySketch {
    let spec = discovery(capacity, counted, 1);
    sketch(Schedule::geometric(), spec, &MasterKey::seeded(seed))
}

/// One operation on a sketch.
#[derive(Debug, Clone)]
enum Action {
    Event(u64, u64),
    Batch(Vec<(u64, u64)>),
    Tick(u64),
    EndEpoch,
}

/// Text of various lengths, truncated or not, and integers.
fn text(number: u64) -> String {
    format!("{number}{}", "x".repeat(4 * number as usize % 30))
}

/// Lebeda and Tetek's Algorithm 1, and the exact dictionary.
struct Oracle<'a> {
    sketch: &'a HeavySketch,
    counted: u64,
    table: Vec<(u128, u64, Option<u64>)>,
    epoch: u64,
    taken: u64,
    published: BTreeMap<u64, u64>,
}

impl<'a> Oracle<'a> {
    fn new(sketch: &'a HeavySketch, counted: u64) -> Self {
        let mut oracle = Self {
            sketch,
            counted,
            table: Vec::new(),
            epoch: 0,
            taken: 0,
            published: BTreeMap::new(),
        };
        oracle.start();
        oracle
    }

    fn variant(&self) -> Variant {
        self.sketch.discovery().design().variant
    }

    fn start(&mut self) {
        let mut dummies = self.sketch.identities(Items::Mixed(&[])).unwrap();
        dummies.sort_unstable();
        self.table = match self.variant() {
            Variant::Dictionary => Vec::new(),
            Variant::MisraGries => dummies.into_iter().map(|key| (key, 0, None)).collect(),
        };
    }

    fn event(&mut self, item: u64, weight: u64) {
        let name = text(item);
        let identity = self.sketch.identities(Items::Mixed(&[Item::Text(&name)]));
        let identity = *identity.unwrap().last().unwrap();
        for _ in 0..weight.min(self.counted) {
            self.count(item, identity);
        }
        self.step();
    }

    fn count(&mut self, item: u64, identity: u128) {
        if let Some(row) = self.table.iter_mut().find(|row| row.0 == identity) {
            row.1 += 1; // x in T: c_x <- c_x + 1
        } else if self.variant() == Variant::Dictionary {
            self.table.push((identity, 1, Some(item)));
        } else if self.table.iter().all(|row| row.1 >= 1) {
            self.table.iter_mut().for_each(|row| row.1 -= 1); // all c >= 1: c <- c - 1
        } else {
            // y <- the smallest key with c_y = 0; replace it by x with c_x = 1
            let zeros = self.table.iter_mut().filter(|row| row.1 == 0);
            *zeros.min_by_key(|row| row.0).unwrap() = (identity, 1, Some(item));
        }
    }

    fn step(&mut self) {
        self.taken += 1;
        if self.taken == EPOCH {
            self.end_epoch();
        }
    }

    fn end_epoch(&mut self) {
        let slots: Vec<u64> = (0..=self.table.len() as u64).collect();
        let noise = self.sketch.discovery_draws(self.epoch, &slots).unwrap();
        let shared = match self.variant() {
            Variant::Dictionary => 0,
            Variant::MisraGries => noise[0],
        };
        let (unit, threshold) = self.unit_and_threshold();
        // Noise belongs to ranks of identities.
        self.table.sort_unstable_by_key(|row| row.0);
        for ((_, count, item), own) in self.table.iter().zip(&noise[1..]) {
            let units = (0..).find(|units| units * unit >= *count as i64).unwrap();
            if units + shared + own / unit >= threshold
                && let Some(item) = item
            {
                self.published.entry(*item).or_insert(self.epoch);
            }
        }
        self.epoch += 1;
        self.taken = 0;
        self.start();
    }

    /// The weight that is one unit, and the least number of units that is published half of the time.
    fn unit_and_threshold(&self) -> (i64, i64) {
        let design = self.sketch.discovery().design();
        match self.variant() {
            Variant::MisraGries => (1, design.threshold),
            Variant::Dictionary => {
                let is_likely = |&p: &u128| p >= 1 << 127;
                let least = design.probabilities().iter().position(is_likely);
                (self.counted as i64, least.unwrap() as i64)
            }
        }
    }

    fn run(mut self, actions: &[Action]) -> BTreeMap<String, u64> {
        for action in actions {
            match action {
                Action::Event(item, weight) => self.event(*item, *weight),
                Action::Batch(events) => events.iter().for_each(|&(i, w)| self.event(i, w)),
                Action::Tick(steps) => (0..*steps).for_each(|_| self.step()),
                Action::EndEpoch => self.end_epoch(),
            }
        }
        let cut = |item| text(item).chars().take(16).collect();
        self.published
            .iter()
            .map(|(&item, &w)| (cut(item), w))
            .collect()
    }
}

fn run(sketch: &mut HeavySketch, actions: &[Action]) {
    for action in actions {
        match action {
            Action::Event(item, weight) => sketch.update(Item::Text(&text(*item)), *weight),
            Action::Batch(events) => {
                let texts: Vec<String> = events.iter().map(|&(item, _)| text(item)).collect();
                let items: Vec<Item<'_>> = texts.iter().map(|text| Item::Text(text)).collect();
                let weights: Vec<u64> = events.iter().map(|&(_, weight)| weight).collect();
                sketch.update_many(Items::Mixed(&items), Some(&weights))
            }
            Action::Tick(steps) => sketch.tick(*steps),
            Action::EndEpoch => sketch.end_epoch(),
        }
        .unwrap();
    }
}

fn published(sketch: &HeavySketch) -> BTreeMap<String, u64> {
    let name = |kept: &Kept| String::from_utf8(kept.bytes.clone()).unwrap();
    sketch
        .discovery()
        .candidates()
        .map(|(kept, epoch)| (name(kept), epoch))
        .collect()
}

fn event() -> impl Strategy<Value = (u64, u64)> {
    // Few frequent items and many rare ones.
    (prop_oneof![0_u64..4, 0_u64..40], 0..=MAX_WEIGHT)
}

fn actions() -> impl Strategy<Value = Vec<Action>> {
    let action = prop_oneof![
        3 => event().prop_map(|(item, weight)| Action::Event(item, weight)),
        3 => proptest::collection::vec(event(), 0..120).prop_map(Action::Batch),
        1 => (0_u64..100).prop_map(Action::Tick),
        1 => Just(Action::EndEpoch),
    ];
    proptest::collection::vec(action, 0..12)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Misra-Gries with 1 to 12 counters, and the dictionary (40 slots for epochs of 40).
    #[test]
    fn names_equal_the_definition(
        actions in actions(),
        capacity in prop_oneof![1_u32..13, Just(40)],
        counted in 1..=MAX_WEIGHT,
        seed in 0_u64..1000,
    ) {
        let mut sketch = seeded(capacity, counted, seed);
        let variant = sketch.discovery().design().variant;
        prop_assert_eq!(variant == Variant::Dictionary, capacity == 40);
        let expected = Oracle::new(&sketch, counted).run(&actions);
        run(&mut sketch, &actions);
        prop_assert_eq!(published(&sketch), expected);
    }

    /// A batch, single events or any split give the same names and the same table.
    #[test]
    fn any_split_gives_the_same_state(
        events in proptest::collection::vec(event(), 1..200),
        cuts in proptest::collection::vec(0_usize..200, 0..5),
        capacity in prop_oneof![1_u32..13, Just(40)],
        counted in 1..=MAX_WEIGHT,
    ) {
        let mut whole = seeded(capacity, counted, 1);
        run(&mut whole, &[Action::Batch(events.clone()), Action::EndEpoch]);
        let mut single = seeded(capacity, counted, 1);
        let one_by_one: Vec<Action> = events.iter().map(|&(i, w)| Action::Event(i, w)).collect();
        run(&mut single, &one_by_one);
        single.end_epoch().unwrap();
        let mut split = seeded(capacity, counted, 1);
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(events.len())).collect();
        cuts.extend([0, events.len()]);
        cuts.sort_unstable();
        for ends in cuts.windows(2) {
            run(&mut split, &[Action::Batch(events[ends[0]..ends[1]].to_vec())]);
        }
        split.end_epoch().unwrap();
        let mut ones = seeded(capacity, counted, 1);
        let batches: Vec<Action> = events.iter().map(|&each| Action::Batch(vec![each])).collect();
        run(&mut ones, &batches);
        ones.end_epoch().unwrap();
        for other in [&mut single, &mut split, &mut ones] {
            prop_assert_eq!(published(&whole), published(other));
            let one = whole.sketch_mut().release().unwrap();
            let two = other.sketch_mut().release().unwrap();
            prop_assert_eq!(one.table(), two.table());
        }
    }
}

/// Two names that are equal where they are cut are two names, in both ways of counting.
#[test]
fn names_that_are_cut_stay_two() {
    for capacity in [3, 40] {
        let mut sketch = seeded(capacity, MAX_WEIGHT, 5);
        let texts = ["a name of many bytes: one", "a name of many bytes: two"];
        for _ in 0..15 {
            for text in texts {
                sketch.update(Item::Text(text), MAX_WEIGHT).unwrap();
            }
        }
        sketch.end_epoch().unwrap();
        let found: Vec<&Kept> = sketch.discovery().candidates().map(|it| it.0).collect();
        assert_eq!(found.len(), 2, "{capacity}");
        assert!(found.iter().all(|kept| kept.truncated));
        assert_eq!(found[0].bytes, found[1].bytes);
        assert_ne!(found[0].fingerprint, found[1].fingerprint);
    }
}

/// An integer is the same item in all three batch types and as a single event.
#[test]
fn integers_are_one_item_in_every_form() {
    let signed: Vec<i64> = (0..300).map(|i: i64| (i % 7).min(3)).collect();
    let unsigned: Vec<u64> = signed.iter().map(|&i| i as u64).collect();
    let whole: Vec<Item<'_>> = signed.iter().map(|&i| Item::Signed(i)).collect();
    let mut names = Vec::new();
    for items in [
        Items::Signed(&signed),
        Items::Unsigned(&unsigned),
        Items::Mixed(&whole),
    ] {
        let mut sketch = seeded(3, 1, 5);
        sketch.update_many(items, None).unwrap();
        names.push(sketch.candidates().unwrap());
    }
    let mut single = seeded(3, 1, 5);
    for &item in &whole {
        single.update(item, 1).unwrap();
    }
    names.push(single.candidates().unwrap());
    assert!(!names[0].is_empty());
    assert!(
        names[0]
            .iter()
            .all(|(kept, ..)| kept.kind == NameKind::NonNegative)
    );
    assert!(names.iter().all(|other| *other == names[0]));
}

#[test]
fn batches_share_a_step_and_always_use_misra_gries() {
    let schedule = Schedule::Batch { horizon: 1000 };
    let mut spec = discovery(1 << 16, 1, schedule.events_per_step());
    spec.steps_per_epoch = 2;
    let mut sketch = sketch(schedule, spec, &MasterKey::seeded(1));
    assert_eq!(sketch.discovery().design().variant, Variant::MisraGries);
    let items = [7_i64; 500];
    sketch.update_batch(Items::Signed(&items), None).unwrap();
    assert_eq!(sketch.discovery().candidates().len(), 0);
    sketch.update_batch(Items::Signed(&[]), None).unwrap();
    let names: Vec<Vec<u8>> = sketch
        .discovery()
        .candidates()
        .map(|(kept, _)| kept.bytes.clone())
        .collect();
    assert_eq!(names, [7_i64.to_le_bytes()]);
}

#[test]
fn nothing_of_a_rejected_batch_is_counted_and_close_discards_the_epoch() {
    let mut sketch = seeded(40, 1, 1);
    let items = [Item::Unsigned(1); 30];
    let mut weights = [1; 30];
    weights[29] = MAX_WEIGHT + 1;
    assert!(
        sketch
            .update_many(Items::Mixed(&items), Some(&weights))
            .is_err()
    );
    assert!(sketch.update(items[0], MAX_WEIGHT + 1).is_err());
    assert!(sketch.update_many(Items::Ready(&[1]), None).is_err());
    sketch.tick(EPOCH).unwrap();
    assert_eq!(sketch.discovery().candidates().len(), 0);
    sketch.update_many(Items::Mixed(&items), None).unwrap();
    sketch.end_epoch().unwrap();
    assert_eq!(sketch.discovery().candidates().len(), 1);
    sketch
        .update_many(Items::Mixed(&[Item::Unsigned(2); 30]), None)
        .unwrap();
    sketch.close();
    assert_eq!(sketch.discovery().candidates().len(), 1);
    assert_eq!(sketch.end_epoch(), Err(Error::Closed));
    assert_eq!(sketch.update(items[0], 1), Err(Error::Closed));
    assert_eq!(sketch.tick(1), Err(Error::Closed));
    assert_eq!(sketch.candidates(), Err(Error::Closed));
    // The keys are gone as well.
    assert_eq!(sketch.discovery_draws(0, &[0]), Err(Error::Closed));
    assert_eq!(sketch.identities(Items::Mixed(&[])), Err(Error::Closed));
}

#[test]
fn many_empty_steps_skip_epochs() {
    let mut sketch = seeded(4, 1, 1);
    sketch.tick(1 << 50).unwrap();
    assert_eq!(sketch.discovery().epoch(), (1 << 50) / EPOCH);
}

#[test]
fn a_secret_sketch_shows_neither_noise_nor_identities() {
    let key = MasterKey::from_bytes([1; 32]);
    let sketch = sketch(Schedule::geometric(), discovery(4, 1, 1), &key);
    assert_eq!(sketch.discovery_draws(0, &[0]), Err(Error::PrivateDraws));
    let refused = sketch.identities(Items::Mixed(&[]));
    assert_eq!(refused, Err(Error::PrivateDraws));
}
