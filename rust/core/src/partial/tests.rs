//! Partial counts against the counts of one machine.

#[cfg(test)]
mod many_names;
#[cfg(test)]
mod refused_counts;
#[cfg(test)]
mod steps_of_bits;
#[cfg(test)]
mod steps_of_levels;
#[cfg(test)]
mod steps_of_names;
#[cfg(test)]
mod steps_of_ranges;
#[cfg(test)]
mod steps_of_sums;
#[cfg(test)]
mod steps_of_values;

use super::*;
use crate::error::Error;
use crate::key::{Identity, MasterKey, SketchId};
use crate::mechanism::MechanismKind;
use crate::mechanism::value_tree::ValueRows;
use crate::parameters::{Calibration, NoiseSpec, Relation, Shape, TableKind};
use crate::schedule::{EVENTS_PER_STEP, Schedule};
use crate::sketch::PrivateSketch;
use crate::table::items::Items;
use proptest::prelude::*;

const STORE: [u8; 16] = [3; 16];
const VALUES: TableKind = TableKind::Values {
    rows: ValueRows::Tree,
    edges: [5; 16],
};
const KINDS: [TableKind; 5] = [
    TableKind::CountMin,
    TableKind::CountSketch,
    TableKind::Counters,
    VALUES,
    TableKind::Ranges,
];
/// Most events whose counts fit into 4 bytes at the largest weight of these tests.
const NARROW: u64 = ((1 << 30) - 1) / 3;

fn keys(byte: u8) -> PartialKeys {
    PartialKeys::of_store(&MasterKey::from_bytes([byte; 32]), &STORE)
}

fn noise(schedule: Schedule) -> NoiseSpec {
    NoiseSpec {
        schedule,
        mechanism: MechanismKind::Haar,
        sigma: 3.0,
        relation: Relation::Substitution,
        calibration: Calibration::Analytic,
        epsilon: 1.0,
        delta: 1e-6,
        max_weight: 3,
        max_events_per_user: 1,
        person_bound: None,
        max_changes: 1,
    }
}

fn shape(kind: TableKind) -> Shape {
    Shape {
        kind,
        depth: match kind {
            TableKind::Ranges => 3, // the depths of halves and of nodes, and one of hashed nodes
            _ if kind.has_indices() => 1,
            _ => 2,
        },
        width: match kind {
            TableKind::Values { .. } => 8,
            TableKind::Ranges => 2,
            _ => 5,
        },
        hash_seed: 1,
    }
}

fn sketch_of(kind: TableKind, spec: NoiseSpec, id: u8) -> PrivateSketch {
    let identity = Identity::chosen(SketchId([id; 16]));
    PrivateSketch::new(shape(kind), spec, &MasterKey::seeded(1), identity).unwrap()
}

fn sketch(kind: TableKind) -> PrivateSketch {
    sketch_of(kind, noise(Schedule::Batch { horizon: 9 }), 1)
}

fn spec(kind: TableKind, most_events: u64) -> PartialSpec {
    let public_key = keys(7).public_key();
    (sketch(kind).partial_spec(public_key, 0, Some(most_events))).unwrap()
}

fn counted(spec: PartialSpec, items: &[u64]) -> PartialCounts {
    let mut partial = PartialCounts::new(spec).unwrap();
    partial.update_many(Items::Ready(items), None).unwrap();
    partial
}

/// The sum as a store makes it.
fn gathered(partials: impl IntoIterator<Item = Vec<u8>>, spec: PartialSpec) -> PartialCounts {
    let start = PartialSpec {
        most_events: 1,
        issued: 0,
        ..spec
    };
    let mut sum = PartialCounts::new(start).unwrap();
    for sealed in partials {
        sum.gather(&keys(7).open(&sealed, &start).unwrap()).unwrap();
    }
    sum
}

fn message(error: Error) -> String {
    error.to_string()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// Any events, weights, number of workers, merges among them, sizes of counters and order: the
    /// states are equal, byte by byte.
    #[test]
    fn workers_end_in_the_state_of_one_machine(
        kind in 0..5_usize,
        steps in prop::collection::vec(
            prop::collection::vec((0..5_u64, 0..4_u64, 0..4_usize), 0..30), 1..4),
        merged in any::<[bool; 4]>(),
        sizes in any::<[bool; 4]>(),
        backwards in any::<bool>(),
        open in any::<bool>(),
    ) {
        let kind = KINDS[kind];
        let (mut local, mut distributed) = (sketch(kind), sketch(kind));
        for events in steps {
            let items: Vec<u64> = events.iter().map(|event| event.0).collect();
            let weights: Vec<u64> = events.iter().map(|event| event.1).collect();
            let whole = (Items::Ready(&items), Some(weights.as_slice()));
            let mut sealed = Vec::new();
            let mut waiting: Option<PartialCounts> = None;
            for worker in 0..4 {
                let spec = spec(kind, if sizes[worker] { NARROW } else { NARROW + 1 });
                let mut partial = PartialCounts::new(spec).unwrap();
                for &(item, weight, _) in events.iter().filter(|event| event.2 == worker) {
                    partial.update_many(Items::Ready(&[item]), Some(&[weight])).unwrap();
                }
                match &mut waiting {
                    Some(other) if merged[worker] && other.spec() == partial.spec() => {
                        partial.merge(other).unwrap();
                        prop_assert!(other.is_closed());
                    }
                    Some(other) => sealed.push(other.seal().unwrap()),
                    None => {}
                }
                waiting = Some(partial);
            }
            sealed.push(waiting.unwrap().seal().unwrap());
            if backwards {
                sealed.reverse();
            }
            let sum = gathered(sealed, spec(kind, 1));
            let again = gathered([sum.sealed().unwrap()], spec(kind, 1));
            if open {
                local.add_to_batch(whole.0, whole.1).unwrap();
                distributed.add_partial_to_batch(&again).unwrap();
            } else {
                local.update_batch(whole.0, whole.1).unwrap();
                distributed.add_partial(&again).unwrap();
            }
            let states = [&local, &distributed].map(|one| one.save().unwrap().expose().to_vec());
            prop_assert_eq!(&states[0], &states[1]);
        }
        let releases = [&mut local, &mut distributed].map(|one| one.release().unwrap());
        prop_assert_eq!(releases[0].table(), releases[1].table());
    }
}

/// The digest of a step depends on its events, not on how they were split.
#[test]
fn a_step_has_one_digest() {
    for kind in KINDS {
        let digest = |parts: &[&[u64]], most: u64| {
            let spec = spec(kind, most);
            let sealed = parts.iter().map(|it| counted(spec, it).seal().unwrap());
            keys(7).content_digest(&gathered(sealed, spec)).unwrap()
        };
        let whole = digest(&[&[1, 2, 3, 1]], NARROW);
        assert_eq!(whole, digest(&[&[3, 1], &[], &[1, 2]], NARROW));
        assert_eq!(whole, digest(&[&[3], &[1, 1, 2]], EVENTS_PER_STEP));
        assert_ne!(whole, digest(&[&[1, 2, 3]], NARROW));
        assert_ne!(whole, digest(&[&[1, 2, 3, 4]], NARROW));
        let sum = gathered(
            [counted(spec(kind, 9), &[1]).seal().unwrap()],
            spec(kind, 9),
        );
        let digests = [7, 8].map(|key| keys(key).content_digest(&sum).unwrap());
        assert_ne!(digests[0], digests[1]);
        // An event of weight 0 changes no count: the number of events does.
        let mut zero = PartialCounts::new(spec(kind, 9)).unwrap();
        let empty = keys(7).content_digest(&zero).unwrap();
        zero.update_many(Items::Ready(&[1]), Some(&[0])).unwrap();
        assert_ne!(empty, keys(7).content_digest(&zero).unwrap());
    }
}

/// What a description and sealed bytes show depends on public numbers alone.
#[test]
fn sizes_and_descriptions_do_not_depend_on_the_events() {
    for (most, size) in [(NARROW, 4), (NARROW + 1, 8), (EVENTS_PER_STEP, 8)] {
        let spec = spec(TableKind::CountSketch, most);
        let many: Vec<u64> = (0..1000).collect();
        for items in [&[][..], &[1], &many] {
            let sealed = counted(spec, items).seal().unwrap();
            assert_eq!(
                sealed.len(),
                8 + 2 + 100 + 32 + 16 + (2 + 16 + 8 + 1 + 10 * size)
            );
            assert_eq!(sealed[10..110], spec.encode());
            let sum = gathered([sealed.clone(), sealed], spec);
            assert_eq!(sum.spec().most_events, (2 * most).min(EVENTS_PER_STEP));
        }
    }
}

/// Descriptions of one table differ in when they were handed out, and all their counts are of it.
#[test]
fn descriptions_of_any_time_are_of_one_table() {
    let early = spec(TableKind::CountMin, 9);
    let late = PartialSpec {
        issued: 1 << 40,
        ..early
    };
    let mut sum = counted(early, &[1]);
    for (spec, table) in [(late, early), (early, late)] {
        let sealed = counted(spec, &[2]).seal().unwrap();
        let opened = keys(7).open(&sealed, &table).unwrap();
        assert_eq!(opened.spec().issued, spec.issued);
        sum.gather(&opened).unwrap();
    }
    assert_eq!(sum.events(), Ok(3));
    // A worker merges counts of its own description only.
    assert!(
        counted(early, &[1])
            .merge(&mut counted(late, &[1]))
            .is_err()
    );
}

/// What is shown of partial counts is their description.
#[test]
fn shown_counts_have_no_count() {
    let spec = spec(TableKind::CountMin, 9);
    let shown = format!("{:?}", counted(spec, &[1, 1, 4]));
    assert_eq!(shown, format!("PartialCounts({spec:?})"));
}

/// Parts of an open step add up, with their numbers of events, to the state of one machine.
#[test]
fn parts_of_an_open_step_add_up() {
    for kind in KINDS {
        let (mut local, mut distributed) = (sketch(kind), sketch(kind));
        for items in [&[1_u64, 2, 1][..], &[], &[4, 4]] {
            local.add_to_batch(Items::Ready(items), None).unwrap();
            let part = counted(spec(kind, 9), items);
            distributed.add_partial_to_batch(&part).unwrap();
            let states = [&local, &distributed].map(|one| one.save().unwrap().expose().to_vec());
            assert_eq!(states[0], states[1]);
        }
    }
}

/// No clear count: of a table with one heavy item, sealed twice, nothing repeats.
#[test]
fn sealed_counts_are_random_bytes() {
    let spec = spec(TableKind::CountMin, NARROW);
    let sealed = [0; 2].map(|_| counted(spec, &[4; 1000]).seal().unwrap());
    assert_eq!(sealed[0][..110], sealed[1][..110]);
    let equal = |(one, other): (&u8, &u8)| one == other;
    let (one, other) = (&sealed[0][110..], &sealed[1][110..]);
    // 115 bytes are equal with probability 1/256 each: 12 or more, below 1e-11.
    assert!(one.iter().zip(other).filter(|&it| equal(it)).count() < 12);
    assert!(!one.windows(4).any(|it| it == 1000_u32.to_le_bytes()));
}

/// Narrow counters by default, except where they would hold too few events.
#[test]
fn descriptions_have_a_usual_number_of_events() {
    let most = |max_weight| {
        let mut spec = noise(Schedule::Batch { horizon: 1 });
        spec.max_weight = max_weight;
        let sketch = sketch_of(TableKind::CountMin, spec, 1);
        sketch.partial_spec([0; 32], 0, None).unwrap().most_events
    };
    assert_eq!(most(1), (1 << 30) - 1);
    assert_eq!(most(3), NARROW);
    assert_eq!(most(1023), 1_049_601);
    assert_eq!(most(1024), EVENTS_PER_STEP);
}

/// The bound on a step holds however its events come, and a step past the horizon is refused.
#[test]
fn steps_have_their_limits() {
    let mut sketch = sketch(TableKind::CountMin);
    let one = counted(spec(TableKind::CountMin, 9), &[1]);
    sketch.add_partial_to_batch(&one).unwrap();
    assert_eq!(sketch.step(), 0);
    sketch.add_partial(&one).unwrap();
    assert_eq!(sketch.step(), 1);
    sketch.tick(8).unwrap();
    assert!(matches!(
        sketch.add_partial(&one),
        Err(Error::Horizon { .. })
    ));
    sketch.finish().unwrap();
    assert!(matches!(
        sketch.add_partial_to_batch(&one),
        Err(Error::Finished)
    ));
    sketch.close();
    assert!(matches!(sketch.add_partial(&one), Err(Error::Closed)));
}

/// Pins the description and what it is sealed to: workers and stores may have different versions.
#[test]
fn golden_description() {
    let hex: String = spec(TableKind::CountMin, 100)
        .encode()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    assert_eq!(hex, GOLDEN);
}

const GOLDEN: &str = "4c5a534b505350430100b73c62d5219052d395e5d9de4c447e63171b9af720655af47002cb12\
                      1281c27301010101010101010101010101010101000000000000000064000000000000000300\
                      000000000000010102000000050000000100000000000000";

/// Pins what a store opens, of any version of workers: three events of a Count Sketch.
#[test]
fn golden_sealed_counts() {
    let bytes = (0..SEALED.len()).step_by(2);
    let sealed: Vec<u8> = bytes
        .map(|at| u8::from_str_radix(&SEALED[at..at + 2], 16).unwrap())
        .collect();
    let spec = spec(TableKind::CountSketch, 100);
    let opened = keys(7).open(&sealed, &spec).unwrap();
    let digests = [&opened, &counted(spec, &[1, 2, 2])].map(|one| keys(7).content_digest(one));
    assert_eq!(digests[0], digests[1]);
}

const SEALED: &str = "4c5a534b5041525401004c5a534b505350430100b73c62d5219052d395e5d9de4c447e63171b\
                      9af720655af47002cb121281c273010101010101010101010101010101010000000000000000\
                      6400000000000000030000000000000002010200000005000000010000000000000053023ca6\
                      1ca42ac07d7a7740d792b2207dad19af8be5800f1c3e3d26e58d2e03d0e25b4e80ade65b9154\
                      a92067005722fcf12ea8f20d7ecc77fb6b5222edf16e667fe68965f2acba0ef173b669eb117d\
                      4311269f32442cd983488d6e6cb3fb4ef05604f3c982eadeb18d35fe658ba42b167ce7";
