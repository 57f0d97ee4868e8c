use super::*;
use crate::key::{MasterKey, SketchId};
use crate::parameters::MOST_PEOPLE;
use crate::people::tests::{Event, Table, bounds, column, counted, people, streams};
use crate::table::items::Items;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;

fn restored(tables: &[Table], bytes: &[u8]) -> Result<People> {
    let mut people = people(tables);
    people.restore(&SavedState::from_bytes(bytes.to_vec()))?;
    Ok(people)
}

/// The state of one person without an identity of meaning, in a table of one row.
fn state(known: u64, fields: &[u8]) -> Vec<u8> {
    let (version, id, refused, identity) = ([1, 0], [2; 16], [0; 8], [9; 16]);
    let known = known.to_le_bytes();
    [&version[..], &id, &refused, &known, &identity, fields].concat()
}

/// A field has as many bytes as the largest number that it can hold, which is one below each limit.
#[test]
fn fields_have_no_byte_too_many() {
    for (width, each, expected) in [
        (256, 256, 1 + 1 + 1),
        (257, 256, 1 + 2 + 1),
        (256, 257, 1 + 1 + 2),
        (65_536, 1, 1 + 2),
        (65_537, 2, 1 + 3 + 1),
    ] {
        let mut table = bounds(2, each, None)[1];
        table.0.width = width;
        let last = Event {
            person: 1,
            items: [u64::from(width) - 1; 2],
        };
        let mut one = people(&[table]);
        assert_eq!(
            counted(&mut one, 1, &vec![last; each as usize]),
            vec![true; each as usize]
        );
        let saved = one.save().unwrap();
        assert_eq!(saved.expose().len(), 2 + 16 + 8 + 8 + 16 + expected);
        let mut other = restored(&[table], saved.expose()).unwrap();
        assert_eq!(counted(&mut other, 1, &[last]), [false]);
    }
}

#[test]
fn states_just_outside_a_bound_are_refused() {
    // One row of 4 columns, 2 cells, 3 events in each.
    let tables = [bounds(2, 3, Some(4))[1]];
    for (fields, is_reached) in [
        (&[1, 3, 2][..], true),
        (&[1, 4, 2], false),
        (&[1, 3, 3], false),
        (&[2, 3, 0, 2, 2], true),
        (&[2, 3, 3, 0, 0], false),
        (&[3, 0, 1, 2, 0, 0, 0], false),
    ] {
        let found = restored(&tables, &state(1, fields));
        assert_eq!(found.is_ok(), is_reached, "{fields:?}");
    }
}

/// A number of people that the bytes cannot hold reserves no memory.
#[test]
fn too_many_people_are_refused_before_memory_is_reserved() {
    let tables = [bounds(1, 1, None)[1]];
    assert!(restored(&tables, &state(1, &[1, 3])).is_ok());
    for known in [1 << 31, u64::from(MOST_PEOPLE), 1 << 62] {
        let refused = restored(&tables, &state(known, &[1, 3])).err();
        assert!(matches!(refused, Some(Error::State(_))), "{known}");
    }
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

/// One byte counts up to 255 cells of a row, two bytes the rest, in every row alike.
#[test]
fn rows_of_many_cells_have_a_longer_field() {
    for (cells, expected) in [(255, 1), (256, 2)] {
        let mut table = bounds(cells, 1, None)[0];
        table.0.width = 300;
        let event = Event {
            person: 1,
            items: [4, 0],
        };
        let mut one = people(&[table]);
        assert_eq!(counted(&mut one, 1, &[event, event]), [true, false]);
        let saved = one.save().unwrap();
        assert_eq!(one.saved_bytes(), saved.expose().len());
        // Two rows with a cell each, whose column has two bytes and whose count has none.
        assert_eq!(
            saved.expose().len(),
            2 + 16 + 8 + 8 + 16 + 2 * (expected + 2)
        );
        let mut other = restored(&[table], saved.expose()).unwrap();
        assert_eq!(counted(&mut other, 1, &[event]), [false]);
    }
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
