use super::*;
use crate::item::Item;
use crate::parameters::TableKind;
use crate::table::hash::RowHashes;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::hash::BuildHasher;

/// An event: its person, and its item in each table.
#[derive(Debug, Clone, Copy)]
pub(super) struct Event {
    pub(super) person: u64,
    pub(super) items: [u64; 2],
}

/// A table and its bound.
pub(super) type Table = (Shape, PersonBound);

pub(super) fn bounds(cells: u32, events: u32, most_people: Option<u32>) -> [Table; 2] {
    let shape = |kind, depth, width| Shape {
        kind,
        depth,
        width,
        hash_seed: 7,
    };
    let bound = PersonBound {
        cells,
        events,
        most_people,
    };
    [
        (shape(TableKind::CountMin, 2, 5), bound),
        (shape(TableKind::Counters, 1, 4), bound),
    ]
}

pub(super) fn people(tables: &[Table]) -> People {
    People::new(&MasterKey::seeded(1), &SketchId([2; 16]), tables).unwrap()
}

pub(super) fn column((shape, _): &Table, row: usize, item: u64) -> usize {
    match shape.kind {
        TableKind::Counters => item as usize,
        _ => RowHashes::new(shape.hash_seed, shape.depth, shape.width).column(row, item),
    }
}

/// True for each event that is counted.
pub(super) fn counted(people: &mut People, tables: usize, events: &[Event]) -> Vec<bool> {
    let names: Vec<Item<'_>> = events.iter().map(|it| Item::Unsigned(it.person)).collect();
    let items: Vec<Vec<u64>> = (0..tables)
        .map(|table| events.iter().map(|it| it.items[table]).collect())
        .collect();
    let hash = Fingerprinter::new(7);
    let items: Vec<_> = items.iter().map(|it| (Items::Ready(it), &hash)).collect();
    let mut weights = vec![3; events.len()];
    let names = Items::Mixed(&names);
    let names = people.identify(names).unwrap();
    people.bound(&names, &items, &mut weights).unwrap();
    assert!(weights.iter().all(|weight| [0, 3].contains(weight)));
    weights.iter().map(|&weight| weight > 0).collect()
}

/// The rule, word by word.
fn by_the_rule(tables: &[Table], events: &[Event]) -> Vec<bool> {
    let mut known: Vec<u64> = Vec::new();
    let mut cells: BTreeMap<(u64, usize, usize), BTreeMap<usize, u32>> = BTreeMap::new();
    let most = (tables[0].1.most_people).map_or(usize::MAX, |most| most as usize);
    let mut decide = |event: &Event| {
        if !known.contains(&event.person) {
            if known.len() == most {
                return false;
            }
            known.push(event.person);
        }
        let mut places = Vec::new();
        for (number, table) in tables.iter().enumerate() {
            for row in 0..table.0.depth as usize {
                let column = column(table, row, event.items[number]);
                places.push(((event.person, number, row), column, table));
            }
        }
        let fits = places.iter().all(|(place, column, table)| {
            let of_row = cells.entry(*place).or_default();
            match of_row.get(column) {
                Some(&held) => held < table.1.events,
                None => of_row.len() < table.1.cells as usize,
            }
        });
        if fits {
            for (place, column, _) in places {
                *cells.entry(place).or_default().entry(column).or_default() += 1;
            }
        }
        fits
    };
    events.iter().map(&mut decide).collect()
}

pub(super) fn streams(people: u64) -> impl Strategy<Value = Vec<Event>> {
    let event = (0..people, 0..12_u64, 0..4_u64);
    let event = event.prop_map(|(person, one, other)| Event {
        person,
        items: [one, other],
    });
    proptest::collection::vec(event, 0..60)
}

/// The squared distance between the counts of two sets of events, in one table.
fn squared_distance(table: &Table, number: usize, one: &[Event], other: &[Event]) -> i64 {
    let mut cells: BTreeMap<(usize, usize), i64> = BTreeMap::new();
    for (events, sign) in [(one, 1), (other, -1)] {
        for event in events {
            for row in 0..table.0.depth as usize {
                let place = (row, column(table, row, event.items[number]));
                *cells.entry(place).or_default() += sign;
            }
        }
    }
    cells.values().map(|count| count * count).sum()
}

fn those(events: &[Event], counted: &[bool]) -> Vec<Event> {
    let pairs = events.iter().zip(counted);
    pairs
        .filter_map(|(&event, &is)| is.then_some(event))
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// Any split of a stream into batches gives what the rule says.
    #[test]
    fn events_are_counted_by_the_rule(
        events in streams(5),
        cells in 1..4_u32,
        each in 1..4_u32,
        most in 1..6_u32,
        split in 0..60_usize,
    ) {
        let tables = bounds(cells, each, Some(most));
        let expected = by_the_rule(&tables, &events);
        let mut people = people(&tables);
        let (first, rest) = events.split_at(split.min(events.len()));
        let mut found = counted(&mut people, 2, first);
        found.extend(counted(&mut people, 2, rest));
        prop_assert_eq!(&found, &expected);
        let refused = expected.iter().filter(|&&it| !it).count();
        prop_assert_eq!(people.refused(), refused as u64);
        people.forget();
        prop_assert_eq!(people.known(), 0);
        prop_assert_eq!(counted(&mut people, 2, &events), expected);
    }

    /// Without a person, the events of all others are counted as before, and the tables differ by
    /// no more than the bound.
    #[test]
    fn a_person_changes_no_more_than_the_bound(
        events in streams(4),
        gone in 0..4_u64,
        cells in 1..4_u32,
        each in 1..4_u32,
    ) {
        let tables = bounds(cells, each, None);
        let all = counted(&mut people(&tables), 2, &events);
        let without: Vec<Event> = events.iter().copied().filter(|it| it.person != gone).collect();
        let expected: Vec<bool> = (events.iter().zip(&all))
            .filter(|(event, _)| event.person != gone)
            .map(|(_, &is)| is)
            .collect();
        let others = counted(&mut people(&tables), 2, &without);
        prop_assert_eq!(&others, &expected);
        let (one, other) = (those(&events, &all), those(&without, &others));
        for (number, table) in tables.iter().enumerate() {
            let bound = i64::from(table.0.depth * cells * each * each);
            prop_assert!(squared_distance(table, number, &one, &other) <= bound);
        }
    }

    /// With a limit of people, at most one other is let in when one is gone.
    #[test]
    fn at_a_limit_one_other_is_let_in(events in streams(6), gone in 0..6_u64, most in 1..5_u32) {
        let tables = bounds(2, 2, Some(most));
        let all = counted(&mut people(&tables), 2, &events);
        let without: Vec<Event> = events.iter().copied().filter(|it| it.person != gone).collect();
        let others = counted(&mut people(&tables), 2, &without);
        let before = (events.iter().zip(all)).filter(|(event, _)| event.person != gone);
        let mut changed: Vec<u64> = (before.zip(&others))
            .filter(|((_, was), is)| was != *is)
            .map(|((event, _), _)| event.person)
            .collect();
        changed.dedup();
        changed.sort_unstable();
        changed.dedup();
        prop_assert!(changed.len() <= 1, "{:?}", changed);
    }
}

/// The bound is attained: some stream of one person fills `cells` cells of every row.
#[test]
fn the_bound_is_attained() {
    for (cells, each) in [(1, 1), (2, 1), (1, 3), (2, 2), (3, 2)] {
        let tables = bounds(cells, each, None);
        let events: Vec<Event> = (0..200)
            .map(|number| Event {
                person: 1,
                items: [number % 40, number % 4],
            })
            .collect();
        let is_counted = counted(&mut people(&tables[..1]), 1, &events);
        let found = squared_distance(&tables[0], 0, &those(&events, &is_counted), &[]);
        assert_eq!(found, i64::from(tables[0].0.depth * cells * each * each));
    }
}

#[test]
fn people_are_told_apart_by_type_and_value() {
    let [_, counters] = bounds(1, 1, None);
    let mut people = people(&[counters]);
    let long = "x".repeat(100);
    let names = [
        Item::Text("1"),
        Item::Bytes(b"1"),
        Item::Signed(1),
        Item::Signed(-1),
        Item::Text(&long),
        Item::Text(&long[1..]),
    ];
    let (hash, names, mut weights) = (Fingerprinter::new(7), Items::Mixed(&names), [1; 6]);
    let items = [(Items::Ready(&[0; 6]), &hash)];
    let names = people.identify(names).unwrap();
    people.bound(&names, &items, &mut weights).unwrap();
    assert_eq!((weights, people.known()), ([1; 6], 6));
    people.bound(&names, &items, &mut weights).unwrap();
    assert_eq!((weights, people.known(), people.refused()), ([0; 6], 6, 6));
}

/// Who is in it is as unknown as before, and all of the limit is left for others.
#[test]
fn a_refused_batch_leaves_no_one() {
    let [counters] = [bounds(1, 1, Some(2))[1]];
    let mut people = people(&[counters]);
    let names = people.identify(Items::Unsigned(&[1, 2, 3])).unwrap();
    let hash = Fingerprinter::new(7);
    let items = [(Items::Ready(&[0, 0]), &hash)];
    assert!(people.bound(&names, &items, &mut [1, 1]).is_err());
    assert!(people.bound(&names[1..], &[], &mut [1, 1]).is_err());
    assert_eq!((people.known(), people.refused()), (0, 0));
    let mut weights = [1, 1];
    people.bound(&names[1..], &items, &mut weights).unwrap();
    assert_eq!((weights, people.known()), ([1, 1], 2));
}

/// People of a batch that is not counted are as unknown as before, also where their number is limited.
#[test]
fn a_batch_that_is_withdrawn_leaves_nothing() {
    let [table, _] = bounds(1, 1, Some(2));
    let (mut given, mut expected) = (people(&[table]), people(&[table]));
    let hash = Fingerprinter::new(7);
    let items = [1, 0];
    let event = |person| Event { person, items };
    for each in [&mut given, &mut expected] {
        assert_eq!(counted(each, 1, &[event(1)]), [true]);
    }
    for names in [[2_u64, 3], [1, 3], [3, 2]] {
        let refused = given.identify(Items::Unsigned(&names)).unwrap();
        let batch = given.prepare(&refused, &[(Items::Ready(&[5, 6]), &hash)], 2);
        given.withdraw(batch.unwrap());
        assert_eq!((given.known(), given.refused()), (1, 0));
    }
    let events = [event(4), event(2), event(1)];
    for each in [&mut given, &mut expected] {
        assert_eq!(counted(each, 1, &events), [true, false, false]);
    }
}

#[test]
fn bounds_outside_their_range_are_refused() {
    let (key, id) = (MasterKey::seeded(1), SketchId([2; 16]));
    let new = |tables: &[Table]| People::new(&key, &id, tables).err();
    assert!(new(&[]).is_some());
    for (cells, events, most) in [
        (0, 1, None),
        (1, 0, None),
        (4_097, 1, None),
        (1, 65_536, None),
        (1, 1, Some(0)),
        (1, 1, Some(u32::MAX)),
    ] {
        assert!(new(&bounds(cells, events, most)).is_some());
    }
    let ([one, _], [_, other]) = (bounds(1, 1, None), bounds(1, 1, Some(1)));
    assert!(new(&[one, other]).is_some());
    // No more cells than a row has.
    let people = people(&bounds(4_096, 65_535, None));
    assert_eq!(people.bytes_per_person(), 32 + 6 * (2 * 5 + 4));
}

/// Each event takes one place of every row, so the smallest table decides.
#[test]
fn the_events_of_a_person_fill_the_smallest_table() {
    for (cells, each, expected) in [(1, 1, 1), (3, 1, 3), (1, 3, 3), (2, 5, 10)] {
        let tables = bounds(cells, each, None);
        assert_eq!(people(&tables).counted_events(), expected);
        let mut other = tables;
        other[1].1.cells = 1;
        assert_eq!(people(&other).counted_events(), u64::from(each));
        // As many events of one person are counted, never one more.
        let events: Vec<Event> = (0..200)
            .map(|number| Event {
                person: 1,
                items: [0, number % 4],
            })
            .collect();
        let is_counted = counted(&mut people(&tables[1..]), 1, &of_the_second(&events));
        let found = is_counted.iter().filter(|&&it| it).count();
        assert_eq!(found as u64, expected);
    }
}

/// The events with the items of the second table first.
fn of_the_second(events: &[Event]) -> Vec<Event> {
    let swapped = |it: &Event| Event {
        person: it.person,
        items: [it.items[1], it.items[0]],
    };
    events.iter().map(swapped).collect()
}

/// Every list of items has to be as long as the batch, not only one of them.
#[test]
fn items_longer_than_a_batch_are_refused() {
    let tables = bounds(1, 1, None);
    let mut people = people(&tables);
    let names = people.identify(Items::Unsigned(&[1, 2])).unwrap();
    let hash = Fingerprinter::new(7);
    let (two, three) = (Items::Ready(&[0, 1]), Items::Ready(&[0, 1, 2]));
    for items in [
        [(two, &hash), (three, &hash)],
        [(three, &hash), (two, &hash)],
    ] {
        assert!(people.bound(&names, &items, &mut [1, 1]).is_err());
        assert_eq!(people.known(), 0);
    }
    let items = [(two, &hash), (two, &hash)];
    people.bound(&names, &items, &mut [1, 1]).unwrap();
}

/// Equal places of the index would make it slow: no result shows it.
#[test]
fn people_are_found_by_the_low_bits_of_their_identity() {
    let builder = BuildHasherDefault::<LowBits>::default();
    let low = 0x0123_4567_89ab_cdef_u64;
    assert_eq!(builder.hash_one(7_u128 << 64 | u128::from(low)), low);
    let mut hasher = builder.build_hasher();
    hasher.write(&[1, 2, 0xff]);
    assert_eq!(hasher.finish(), 0x01_02ff);
    hasher.write(&[0]);
    assert_eq!(hasher.finish(), 0x0102_ff00);
}
