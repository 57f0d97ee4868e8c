//! A sketch with discovery against the sketch alone: each call counts the same, refuses the same,
//! and an open step is open in both.

use lazysketch_core::discovery::spec::DiscoverySpec;
use lazysketch_core::item::Item;
use lazysketch_core::key::{Identity, MasterKey, SketchId};
use lazysketch_core::mechanism::MechanismKind;
use lazysketch_core::parameters::{NoiseSpec, Relation, TableKind};
use lazysketch_core::schedule::Schedule;
use lazysketch_core::sketch::PrivateSketch;
use lazysketch_core::sketch::heavy_hitters::HeavySketch;
use lazysketch_core::table::hash::Fingerprinter;
use lazysketch_core::table::items::{Columns, Items, StepRows};
use seeded::{MAX_WEIGHT, seeded, shape, spec};

mod seeded;

const HORIZON: u64 = 12;
/// For long batches.
const MANY: u64 = 100_000;

fn both(schedule: Schedule) -> (HeavySketch, PrivateSketch) {
    let noise: NoiseSpec = spec(schedule, MechanismKind::Haar);
    let discovery = DiscoverySpec {
        epsilon: 20.0,
        delta: 0.2,
        relation: noise.relation,
        max_events_per_user: noise.max_events_per_user,
        max_weight: noise.max_weight,
        counted_weight: 1,
        steps_per_epoch: 40,
        events_per_step: schedule.events_per_step(),
        capacity: 8,
        max_item_bytes: 16,
    };
    let (shape, key) = (shape(TableKind::CountMin, 2, 5), MasterKey::seeded(1));
    // Those of `seeded`.
    let identity = Identity::chosen(SketchId([3; 16]));
    let heavy = HeavySketch::new(shape, noise, discovery, &key, identity).unwrap();
    (heavy, seeded(shape, noise, 1))
}

fn assert_same(heavy: &mut HeavySketch, alone: &mut PrivateSketch) {
    let (ours, theirs) = (
        heavy.sketch_mut().release().unwrap(),
        alone.release().unwrap(),
    );
    assert_eq!(ours.table(), theirs.table());
    assert_eq!(heavy.sketch().step(), alone.step());
}

#[test]
fn every_call_counts_what_the_sketch_alone_counts() {
    let items = Items::Signed(&[3, 3, -4]);
    let weights = Some(&[1, 2, MAX_WEIGHT][..]);
    let (mut heavy, mut alone) = both(Schedule::round_robin(HORIZON));
    let rows = StepRows::new(items, weights, &[1, 2]).unwrap();
    heavy.update_rows(rows).unwrap();
    alone.update_rows(rows).unwrap();
    assert_same(&mut heavy, &mut alone);
    heavy.update_many(items, weights).unwrap();
    alone.update_many(items, weights).unwrap();
    heavy.update(Item::Signed(7), 2).unwrap();
    let fingerprint = alone.fingerprinter().signed(7);
    alone.update(fingerprint, 2).unwrap();
    assert_same(&mut heavy, &mut alone);
    let (mut heavy, mut alone) = both(Schedule::Batch { horizon: HORIZON });
    heavy.update_batch(items, weights).unwrap();
    alone.update_batch(items, weights).unwrap();
    assert_same(&mut heavy, &mut alone);
    for _ in 0..2 {
        heavy.add_to_batch(items, weights).unwrap();
        alone.add_to_batch(items, weights).unwrap();
        assert_same(&mut heavy, &mut alone);
    }
    heavy.tick(1).unwrap();
    alone.tick(1).unwrap();
    assert_same(&mut heavy, &mut alone);
}

/// Under the round robin there is no open step; too heavy an event, and steps beyond the horizon.
#[test]
fn preparing_refuses_what_counting_would() {
    let (heavy_weight, few, many) = ([MAX_WEIGHT + 1], [1; 1], [1; HORIZON as usize + 1]);
    let items = Items::Signed(&[3]);
    let (mut heavy, _) = both(Schedule::round_robin(HORIZON));
    assert!(heavy.prepare_update(MAX_WEIGHT + 1).is_err());
    assert!(heavy.prepare_update(MAX_WEIGHT).is_ok());
    for (items, weights, accepted) in [
        (items, Some(&heavy_weight[..]), false),
        (Items::Signed(&many), None, false),
        (items, Some(&few[..]), true),
    ] {
        let rows = StepRows::new(items, weights, &[]).unwrap();
        assert_eq!(heavy.prepare_rows(rows).is_ok(), accepted);
        assert_eq!(heavy.update_rows(rows).is_ok(), accepted);
        assert!(heavy.prepare_batch(items, weights).is_err());
        assert!(heavy.prepare_open_step(items, weights).is_err());
    }
    let (mut heavy, _) = both(Schedule::Batch { horizon: HORIZON });
    for (weights, accepted) in [(Some(&heavy_weight[..]), false), (None, true)] {
        assert_eq!(heavy.prepare_batch(items, weights).is_ok(), accepted);
        assert_eq!(heavy.prepare_open_step(items, weights).is_ok(), accepted);
        assert_eq!(heavy.update_batch(items, weights).is_ok(), accepted);
        assert_eq!(heavy.add_to_batch(items, weights).is_ok(), accepted);
    }
}

/// Columns that give their items, or fingerprints only.
struct Given(bool);

impl Columns for Given {
    fn len(&self) -> usize {
        2
    }

    fn fingerprints(&self, fingerprinter: &Fingerprinter, start: usize, out: &mut [u64]) {
        fingerprinter.signed_to(&[5, 6][start..start + out.len()], out);
    }

    fn has_items(&self) -> bool {
        self.0
    }

    fn items<'a>(&'a self, start: usize, out: &mut [Item<'a>]) {
        out.copy_from_slice(&[Item::Signed(5), Item::Signed(6)][start..start + out.len()]);
    }
}

/// No name could be published of an item that is not given.
#[test]
fn fingerprints_alone_are_refused_everywhere() {
    for schedule in [
        Schedule::round_robin(HORIZON),
        Schedule::Batch { horizon: HORIZON },
    ] {
        let (mut heavy, _) = both(schedule);
        for items in [Items::Ready(&[5, 6]), Items::columns(&Given(false))] {
            let rows = StepRows::new(items, None, &[]).unwrap();
            assert!(heavy.update_many(items, None).is_err());
            assert!(heavy.update_rows(rows).is_err());
            assert!(heavy.prepare_rows(rows).is_err());
            assert!(heavy.update_batch(items, None).is_err());
            assert!(heavy.prepare_batch(items, None).is_err());
            assert!(heavy.add_to_batch(items, None).is_err());
            assert!(heavy.prepare_open_step(items, None).is_err());
            assert!(heavy.identities(items).is_err());
        }
        assert_eq!(heavy.sketch().step(), 0);
        heavy
            .update_many(Items::columns(&Given(true)), None)
            .unwrap();
        assert_eq!(heavy.sketch().step(), 2);
        let (mut same, _) = both(schedule);
        same.update_many(Items::Signed(&[5, 6]), None).unwrap();
        let tables =
            [heavy, same].map(|mut it| it.sketch_mut().release().unwrap().table().to_vec());
        assert_eq!(tables[0], tables[1]);
    }
}

/// Texts of some bytes each.
struct Long {
    text: String,
    bytes: usize,
}

impl Long {
    /// The text `number(i)`, with slashes before it, for each i.
    fn of(length: usize, bytes: usize, number: impl Fn(usize) -> usize) -> Self {
        let text = (0..length).map(|at| format!("{:/>bytes$}", number(at)));
        Self {
            text: text.collect(),
            bytes,
        }
    }

    fn from(&self, start: usize) -> impl Iterator<Item = Item<'_>> {
        (start * self.bytes..)
            .step_by(self.bytes)
            .map(|at| Item::Text(&self.text[at..at + self.bytes]))
    }
}

impl Columns for Long {
    fn len(&self) -> usize {
        self.text.len() / self.bytes
    }

    fn fingerprints(&self, fingerprinter: &Fingerprinter, start: usize, out: &mut [u64]) {
        for (out, item) in out.iter_mut().zip(self.from(start)) {
            *out = fingerprinter.item(item);
        }
    }

    fn has_items(&self) -> bool {
        true
    }

    fn items<'a>(&'a self, start: usize, out: &mut [Item<'a>]) {
        for (out, item) in out.iter_mut().zip(self.from(start)) {
            *out = item;
        }
    }
}

/// Discovery reads long items of columns, piece by piece, and the sketch counts the fingerprints. Rows
/// are read by both: names, whole or truncated, their estimates and the table are the same.
#[test]
fn long_items_are_counted_as_in_rows() {
    for (length, bytes, weighted) in [
        (63, 20, false),
        (64, 20, true),
        (900, 15, false),
        (901, 17, true),
        (2_000, 200, false),
        (65_536, 20, false),
        (70_001, 24, true),
    ] {
        // Every other event is heavy, so that some name is published.
        let texts = Long::of(length, bytes, |at| if at % 2 == 0 { 7 } else { at / 9 });
        let weights: Vec<u64> = (0..length as u64).map(|at| at % 3).collect();
        let weights = weighted.then_some(&weights[..]);
        let items = Items::columns(&texts);
        let schedules = [
            Schedule::round_robin(MANY),
            Schedule::geometric(),
            Schedule::Batch { horizon: MANY },
        ];
        for schedule in schedules {
            let (mut together, _) = both(schedule);
            let (mut apart, _) = both(schedule);
            // An epoch that has begun, so that it ends within the batch.
            for heavy in [&mut together, &mut apart] {
                heavy.tick(7).unwrap();
            }
            together.update_many(items, weights).unwrap();
            let rows = StepRows::new(items, weights, &[]).unwrap();
            apart.update_rows(rows).unwrap();
            let mut found = [together, apart].map(|mut heavy| {
                heavy.end_epoch().unwrap();
                let table = heavy.sketch_mut().release().unwrap().table().to_vec();
                (heavy.sketch().step(), heavy.candidates().unwrap(), table)
            });
            assert!(length < 900 || !found[0].1.is_empty(), "{length} {bytes}");
            let [one, other] = &mut found;
            assert_eq!(one, other, "{length} {bytes}");
        }
    }
}

/// What the sketch refuses of a batch, discovery does not count either.
#[test]
fn a_refused_batch_of_long_items_counts_nowhere() {
    let texts = Long::of(200, 40, |_| 5);
    let mut weights = vec![1; 200];
    weights[199] = u64::MAX;
    let (mut heavy, _) = both(Schedule::round_robin(MANY));
    let refused = heavy.update_many(Items::columns(&texts), Some(&weights));
    assert!(refused.is_err());
    heavy.end_epoch().unwrap();
    assert_eq!(heavy.sketch().step(), 0);
    assert!(heavy.candidates().unwrap().is_empty());
}

/// A step is open from its first events until it is taken, and no longer.
#[test]
fn an_open_step_ends_with_its_step() {
    let (mut heavy, mut alone) = both(Schedule::Batch { horizon: HORIZON });
    let items = Items::Signed(&[3, 4]);
    let before = heavy.sketch_mut().release().unwrap();
    heavy.add_to_batch(items, None).unwrap();
    // No step has passed: nothing of the open one is published.
    heavy.tick(0).unwrap();
    assert_eq!(
        heavy.sketch_mut().release().unwrap().table(),
        before.table()
    );
    assert!(heavy.end_epoch().is_err());
    heavy.tick(1).unwrap();
    heavy.end_epoch().unwrap();
    alone.update_batch(items, None).unwrap();
    assert_same(&mut heavy, &mut alone);
    // What is finished takes a step for an open one only.
    heavy.finish().unwrap();
    assert_eq!(heavy.sketch().step(), 1);
    alone.add_to_batch(items, None).unwrap();
    alone.finish().unwrap();
    assert_eq!(alone.step(), 2);
    alone.close();
    assert!(alone.check_finish().is_err());
}

/// Sketch and discovery must agree on relation, user and weight.
#[test]
fn disagreeing_specs_are_refused() {
    let (sound, _) = both(Schedule::geometric());
    let (shape, noise) = (*sound.sketch().shape(), *sound.sketch().spec());
    let other = match noise.relation {
        Relation::ZeroOut => Relation::Substitution,
        Relation::Substitution => Relation::ZeroOut,
    };
    let agreeing = *sound.discovery().spec();
    for spec in [
        DiscoverySpec {
            relation: other,
            ..agreeing
        },
        DiscoverySpec {
            max_events_per_user: 2,
            ..agreeing
        },
        DiscoverySpec {
            max_weight: 1,
            ..agreeing
        },
        DiscoverySpec {
            events_per_step: 2,
            ..agreeing
        },
    ] {
        let identity = Identity::fresh().unwrap();
        assert!(HeavySketch::new(shape, noise, spec, &MasterKey::seeded(1), identity).is_err());
    }
}
