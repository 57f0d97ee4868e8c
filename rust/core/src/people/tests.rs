use super::*;
use crate::item::Item;
use crate::parameters::TableKind;
use crate::saved_state::SavedState;
use crate::table::hash::RowHashes;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use std::collections::BTreeMap;

/// An event: its person, and its item in each table.
#[derive(Debug, Clone, Copy)]
struct Event {
    person: u64,
    items: [u64; 2],
}

/// A table and its bound.
type Table = (Shape, PersonBound);

fn bounds(cells: u32, events: u32, most_people: Option<u32>) -> [Table; 2] {
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

fn people(tables: &[Table]) -> People {
    People::new(&MasterKey::seeded(1), &SketchId([2; 16]), tables).unwrap()
}

fn column((shape, _): &Table, row: usize, item: u64) -> usize {
    match shape.kind {
        TableKind::Counters => item as usize,
        _ => RowHashes::new(shape.hash_seed, shape.depth, shape.width).column(row, item),
    }
}

/// True for each event that is counted.
fn counted(people: &mut People, tables: usize, events: &[Event]) -> Vec<bool> {
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

fn streams(people: u64) -> impl Strategy<Value = Vec<Event>> {
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

/// Restored at any point, people go on as if nothing had happened, and their bytes are the same.
#[test]
fn restored_people_go_on() {
    let each = prop_oneof![4 => 1..4_u32, 1 => 255..260_u32];
    let strategy = (streams(5), 1..4_u32, each, proptest::option::of(1..6_u32));
    let strategy = (strategy, 0..60_usize, proptest::bool::ANY);
    let mut runner = TestRunner::new(ProptestConfig::with_cases(256));
    let outcome = runner.run(&strategy, |((events, cells, each, most), at, wide)| {
        let mut tables = bounds(cells, each, most);
        tables[0].0.width = if wide { 70_000 } else { 5 };
        let (first, rest) = events.split_at(at.min(events.len()));
        let mut one = people(&tables);
        counted(&mut one, 2, first);
        let saved = one.save().unwrap();
        prop_assert_eq!(saved.expose().len(), one.saved_bytes());
        let mut other = people(&tables);
        other.restore(&saved).unwrap();
        let again = other.save().unwrap();
        prop_assert_eq!(again.expose(), saved.expose());
        prop_assert_eq!(counted(&mut other, 2, rest), counted(&mut one, 2, rest));
        prop_assert_eq!(
            (other.known(), other.refused()),
            (one.known(), one.refused())
        );
        let (one, other) = (one.save().unwrap(), other.save().unwrap());
        prop_assert_eq!(other.expose(), one.expose());
        Ok(())
    });
    outcome.unwrap();
}

/// Any change of a byte is refused, or is a state that a stream can reach; nothing panics.
#[test]
fn damaged_states_of_people_are_refused_whole() {
    let tables = bounds(2, 3, Some(4));
    let mut one = people(&tables);
    let event = |person, item| Event {
        person,
        items: [item, item % 4],
    };
    counted(
        &mut one,
        2,
        &[event(1, 2), event(1, 2), event(2, 3), event(1, 5)],
    );
    let saved = one.save().unwrap();
    let bytes = saved.expose();
    let restored = |bytes: &[u8]| {
        let mut other = people(&tables);
        let done = other.restore(&SavedState::from_bytes(bytes.to_vec()));
        assert!(done.is_ok() || other.known() == 0);
        done.map(|()| other)
    };
    for length in 0..bytes.len() {
        assert!(restored(&bytes[..length]).is_err());
    }
    assert!(restored(&[bytes, &[0]].concat()).is_err());
    for at in 0..bytes.len() {
        for flipped in [1, 0x80, 0xff] {
            let mut damaged = bytes.to_vec();
            damaged[at] ^= flipped;
            if let Ok(other) = restored(&damaged) {
                assert_eq!(other.save().unwrap().expose(), damaged);
            }
        }
    }
    // People of another object, and of tables with other bounds.
    let id = SketchId([3; 16]);
    let mut other = People::new(&MasterKey::seeded(1), &id, &tables).unwrap();
    assert!(other.restore(&saved).is_err());
    assert!(people(&bounds(1, 3, Some(4))).restore(&saved).is_err());
    assert!(people(&bounds(2, 1, Some(4))).restore(&saved).is_err());
    assert!(people(&bounds(2, 3, Some(1))).restore(&saved).is_err());
    assert!(one.restore(&saved).is_err());
    assert_eq!(one.known(), 2);
}

/// The bytes of a state, pinned: a change here is another version (docs/state-format.md).
#[test]
fn the_bytes_of_a_state() {
    let [mut table, counters] = bounds(2, 300, None);
    table.0.width = 70_000;
    let tables = [table, counters];
    let mut one = people(&tables);
    let event = |person, items| Event { person, items };
    let events = [
        event(8, [1, 0]),
        event(9, [2, 3]),
        event(8, [1, 0]),
        event(8, [2, 1]),
        event(8, [3, 2]),
    ];
    assert_eq!(
        counted(&mut one, 2, &events),
        [true, true, true, true, false]
    );
    let names = one.identify(Items::Unsigned(&[8, 9])).unwrap();
    let of = |row, item| (column(&table, row, item) as u32).to_le_bytes()[..3].to_vec();
    let expected = [
        vec![1, 0],                                               // version
        vec![2; 16],                                              // id
        vec![1, 0, 0, 0, 0, 0, 0, 0],                             // events not counted
        vec![2, 0, 0, 0, 0, 0, 0, 0],                             // people
        names[0].to_le_bytes().to_vec(),                          // the first one
        [&[2][..], &of(0, 1), &of(0, 2), &[1, 0, 0, 0]].concat(), // its first row
        [&[2][..], &of(1, 1), &of(1, 2), &[1, 0, 0, 0]].concat(), // and the second
        vec![2, 0, 1, 1, 0, 0, 0],                                // counters
        names[1].to_le_bytes().to_vec(),                          // the second one
        [&[1][..], &of(0, 2), &[0, 0], &[1], &of(1, 2), &[0, 0]].concat(),
        vec![1, 3, 0, 0],
    ];
    let found = one.save().unwrap();
    assert_eq!(found.expose(), expected.concat());
    assert_eq!(names[0].to_le_bytes()[..4], [45, 66, 27, 254]);
    // One event in each cell needs no count.
    let mut once = people(&bounds(2, 1, None)[1..]);
    counted(&mut once, 1, &events);
    let per_person = once.saved_bytes() - 2 - 16 - 8 - 8;
    assert_eq!(per_person, (16 + 1 + 2) + (16 + 1 + 1));
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
