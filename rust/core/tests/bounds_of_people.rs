//! Bounds of people: what they change, the noise that they need, and that nothing is counted past
//! them.

use lazysketch_core::discovery::spec::DiscoverySpec;
use lazysketch_core::guarantee::NotPrivate;
use lazysketch_core::item::Item;
use lazysketch_core::key::{Identity, MasterKey, SketchId};
use lazysketch_core::mechanism::MechanismKind;
use lazysketch_core::mechanism::value_tree::{ValueRows, ValueTree};
use lazysketch_core::parameters::{
    NoiseSpec, PersonBound, Relation, Shape, TableKind, digest_of_edges,
};
use lazysketch_core::people::People;
use lazysketch_core::schedule::Schedule;
use lazysketch_core::sketch::heavy_hitters::HeavySketch;
use lazysketch_core::table::hash::Fingerprinter;
use lazysketch_core::table::items::Items;
use seeded::{seeded, shape, spec};

mod seeded;

fn bound(cells: u32, events: u32, most_people: Option<u32>) -> PersonBound {
    PersonBound {
        cells,
        events,
        most_people,
    }
}

fn bounded(relation: Relation, bound: PersonBound) -> NoiseSpec {
    NoiseSpec {
        relation,
        max_weight: 1,
        person_bound: Some(bound),
        ..spec(
            Schedule::Single { horizon: Some(100) },
            MechanismKind::Binary,
        )
    }
}

/// One person goes, or two are exchanged; with a limit of people another one is let in for each.
const PEOPLE: [(Relation, Option<u32>, u64); 4] = [
    (Relation::ZeroOut, None, 1),
    (Relation::Substitution, None, 2),
    (Relation::ZeroOut, Some(7), 2),
    (Relation::Substitution, Some(7), 4),
];

#[test]
fn every_event_of_every_person_that_changes_is_counted() {
    for (relation, most, people) in PEOPLE {
        for (cells, events) in [(1, 1), (2, 3), (5, 2), (4_096, 65_535)] {
            let bound = bound(cells, events, most);
            assert_eq!(bound.people_changed(relation), people);
            let expected = people * u64::from(cells) * u64::from(events);
            assert_eq!(bound.events_changed(relation), expected);
        }
    }
}

/// The multiplier of 3 rows at (1, 1e-6) for each unit of the sensitivity: a person changes a number
/// of cells of each row, each by so many events of the largest weight; the people add up.
#[test]
fn noise_is_what_the_cells_and_events_of_people_need() {
    for (relation, most, people) in PEOPLE {
        for (cells, events, weight, width) in [
            (1, 1, 1, 8),
            (1, 3, 1, 8),
            (4, 1, 1, 8),
            (3, 2, 5, 8),
            (9, 2, 1, 5),
        ] {
            let shape = shape(TableKind::CountSketch, 3, width);
            let squared = 3.0 * f64::from(cells.min(width));
            let each = people as f64 * f64::from(events) * weight as f64;
            for (share, private) in [(1.0, true), (0.98, false)] {
                let spec = NoiseSpec {
                    schedule: Schedule::Single { horizon: None },
                    sigma: share * 4.2395 * squared.sqrt() * each,
                    max_weight: weight,
                    ..bounded(relation, bound(cells, events, most))
                };
                let found = NotPrivate::of_spec(&shape, &spec).is_private();
                assert_eq!(
                    found, private,
                    "{relation:?} {cells} {events} {weight} {share}"
                );
            }
        }
    }
}

fn sums() -> [Shape; 2] {
    let rows = ValueRows::Tree;
    let edges = digest_of_edges(&[1.0, 2.0, 3.0]);
    [
        shape(TableKind::Values { rows, edges }, 1, 16),
        shape(TableKind::Ranges, 5, 4),
    ]
}

/// Any two events may move the same sums of bins or keys: a person has so many events in all of them.
#[test]
fn a_person_has_one_place_in_a_table_of_sums() {
    let fingerprinter = Fingerprinter::new(7);
    for shape in sums() {
        for (events, most) in [(1, None), (3, None), (3, Some(2))] {
            let tables = [(shape, bound(1, events, most))];
            let id = SketchId([2; 16]);
            let mut people = People::new(&MasterKey::seeded(1), &id, &tables).unwrap();
            assert_eq!(people.counted_events(), u64::from(events));
            let names: Vec<u64> = (0..60).map(|event| event * event % 7).collect();
            let items: Vec<u64> = (0..60).map(|event| event * 5 % 16).collect();
            let identities = people.identify(Items::Unsigned(&names)).unwrap();
            let mut weights = vec![1; names.len()];
            let given = [(Items::Ready(&items), &fingerprinter)];
            people.bound(&identities, &given, &mut weights).unwrap();
            let mut seen: Vec<u64> = Vec::new();
            let expected: Vec<u64> = (names.iter())
                .map(|name| {
                    let before = seen.iter().filter(|&it| it == name).count();
                    let known = seen.contains(name);
                    let mut people = seen.clone();
                    people.sort_unstable();
                    people.dedup();
                    let room = known || most.is_none_or(|most| people.len() < most as usize);
                    let counts = room && before < events as usize;
                    if counts {
                        seen.push(*name);
                    }
                    u64::from(counts)
                })
                .collect();
            assert_eq!(weights, expected, "{shape:?} {events} {most:?}");
        }
    }
}

/// One row at (1, 1e-6) for values, and for ranges one for each of 5 bits; and the change of each event
/// of each person who comes or goes.
#[test]
fn noise_of_sums_is_what_all_events_of_people_need() {
    let tree = ValueTree::of(ValueRows::Tree, 16).unwrap();
    let [values, ranges] = sums();
    for (shape, multiplier, squared) in [
        (values, 4.2550, tree.sensitivity2() as f64),
        (ranges, 4.2350, 5.0),
    ] {
        for (relation, most, people) in PEOPLE {
            for (share, private) in [(1.0, true), (0.98, false)] {
                let spec = NoiseSpec {
                    schedule: Schedule::Single { horizon: None },
                    sigma: share * multiplier * squared.sqrt() * people as f64 * 3.0,
                    ..bounded(relation, bound(1, 3, most))
                };
                spec.validate(&shape).unwrap();
                let found = NotPrivate::of_spec(&shape, &spec).is_private();
                assert_eq!(found, private, "{shape:?} {relation:?} {most:?} {share}");
            }
        }
    }
}

/// A bound of cells would not bound what a person adds to the nodes above.
#[test]
fn a_person_with_several_places_is_refused_in_a_table_of_sums() {
    for shape in sums() {
        let spec = bounded(Relation::ZeroOut, bound(2, 3, None));
        let refused = spec.validate(&shape).unwrap_err().to_string();
        assert!(refused.starts_with("cells: expected 1"), "{refused}");
    }
}

/// A table with a bound counts nothing whose person is not known, in any form.
#[test]
fn events_without_a_person_are_refused() {
    let shape = shape(TableKind::CountMin, 2, 5);
    let spec = bounded(Relation::ZeroOut, bound(1, 2, None));
    let mut sketch = seeded(shape, spec, 1);
    for _ in 0..2 {
        for items in [Items::Signed(&[1]), Items::Signed(&[1, 2])] {
            let refused = sketch.update_many(items, None).unwrap_err().to_string();
            assert!(refused.starts_with("user: "), "{refused}");
        }
        assert_eq!(sketch.step() % 2, 0);
        let step = sketch.step();
        sketch.set_bounded(true);
        sketch.update_many(Items::Signed(&[1, 2]), None).unwrap();
        assert_eq!(sketch.step(), step + 2);
        sketch.set_bounded(false);
    }
    // Without a bound no one has to be known.
    let mut sketch = seeded(
        shape,
        NoiseSpec {
            person_bound: None,
            ..spec
        },
        1,
    );
    sketch.update_many(Items::Signed(&[1, 2]), None).unwrap();
}

fn heavy(shape: Shape, noise: NoiseSpec, steps_per_epoch: u64, covered: u64) -> HeavySketch {
    let discovery = DiscoverySpec {
        epsilon: 20.0,
        delta: 0.2,
        relation: Relation::ZeroOut,
        max_events_per_user: covered,
        max_weight: noise.max_weight,
        counted_weight: 1,
        steps_per_epoch,
        events_per_step: noise.schedule.events_per_step(),
        capacity: 8,
        max_item_bytes: 16,
    };
    let identity = Identity::chosen(SketchId([3; 16]));
    HeavySketch::new(shape, noise, discovery, &MasterKey::seeded(1), identity).unwrap()
}

/// Names cover 6 events: of all people that change, and never one event more.
#[test]
fn names_cover_the_events_that_are_counted() {
    let shape = shape(TableKind::CountMin, 2, 5);
    for (relation, most, people) in PEOPLE {
        let sketch = heavy(shape, bounded(relation, bound(2, 3, most)), 40, 6);
        for counted in 1..=7 {
            let is_covered = people * counted <= 6;
            let found = sketch.check_people(counted);
            assert_eq!(found.is_ok(), is_covered, "{relation:?} {most:?} {counted}");
        }
    }
    let unbounded = NoiseSpec {
        person_bound: None,
        ..bounded(Relation::ZeroOut, bound(1, 1, None))
    };
    assert!(heavy(shape, unbounded, 40, 1).check_people(1_000).is_ok());
}

/// The memory of a long item holds another one in the next batch: they are two names.
#[test]
fn what_a_batch_borrowed_is_forgotten_with_it() {
    let noise = NoiseSpec {
        person_bound: None,
        ..bounded(Relation::ZeroOut, bound(1, 1, None))
    };
    let mut sketch = heavy(shape(TableKind::CountMin, 2, 5), noise, 80, 1);
    let mut content = vec![b'a'; 1_000];
    for letter in *b"ab" {
        content.fill(letter);
        let items = vec![Item::Bytes(&content); 40];
        sketch.update_many(Items::Mixed(&items), None).unwrap();
    }
    let names = sketch
        .discovery()
        .candidates()
        .map(|(kept, _)| kept.bytes[0]);
    assert_eq!(names.collect::<Vec<_>>(), b"ab");
}
