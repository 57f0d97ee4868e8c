//! Partial counts that were changed on the way, are of another table, or cannot be.

use super::*;
use crate::parameters::PersonBound;
use crate::saved_state::SavedState;

/// Every bit is authenticated, and so are the length, the store and the table.
#[test]
fn changed_bytes_are_refused_whole() {
    let spec = spec(TableKind::CountMin, 100);
    let sealed = counted(spec, &[1, 2]).seal().unwrap();
    let open = |bytes: &[u8]| keys(7).open(bytes, &spec).map(|_| ()).map_err(message);
    assert_eq!(open(&sealed), Ok(()));
    for at in 0..sealed.len() {
        for bit in [0, 3, 7] {
            let mut damaged = sealed.clone();
            damaged[at] ^= 1 << bit;
            let found = open(&damaged).unwrap_err();
            assert!(found.starts_with("sealed: expected"), "{at} {bit} {found}");
        }
        assert!(open(&sealed[..at]).is_err());
        assert!(open(&sealed[at..]).is_err() || at == 0);
    }
    let head = 8 + 2 + 100 + 32 + 16;
    let found = open(&sealed[..head]).unwrap_err();
    assert!(found.contains("the bytes of partial counts"), "{found}");
    assert!(open(&[&sealed[..], &[0]].concat()).is_err());
    assert!(open(&[&sealed[..], &sealed].concat()).is_err());
    let other_key = PartialKeys::of_store(&MasterKey::from_bytes([8; 32]), &STORE);
    let other_store = PartialKeys::of_store(&MasterKey::from_bytes([7; 32]), &[4; 16]);
    for other in [other_key, other_store] {
        assert_ne!(other.public_key(), keys(7).public_key());
        let found = message(other.open(&sealed, &spec).unwrap_err());
        assert!(found.contains("sealed to this store"), "{found}");
        // The body under another store's key, with a header that names it.
        let mut disguised = sealed.clone();
        disguised[20..52].copy_from_slice(&other.public_key());
        let table = PartialSpec {
            public_key: other.public_key(),
            ..spec
        };
        let found = message(other.open(&disguised, &table).unwrap_err());
        assert!(found.contains("authentic"), "{found}");
    }
}

/// Another table, era, shape, seed or weight is refused before anything is opened.
#[test]
fn counts_of_another_table_are_refused() {
    let mine = spec(TableKind::CountMin, 100);
    for other in [
        spec(TableKind::CountSketch, 100),
        PartialSpec {
            sketch_id: SketchId([2; 16]),
            ..mine
        },
        PartialSpec {
            max_weight: 2,
            ..mine
        },
        PartialSpec {
            shape: Shape {
                hash_seed: 2,
                ..mine.shape
            },
            ..mine
        },
    ] {
        let sealed = counted(other, &[1]).seal().unwrap();
        let found = message(keys(7).open(&sealed, &mine).unwrap_err());
        assert!(found.contains("of this table"), "{found}");
        assert!(counted(mine, &[1]).gather(&counted(other, &[1])).is_err());
        assert!(
            counted(mine, &[1])
                .merge(&mut counted(other, &[1]))
                .is_err()
        );
    }
    let mut sketch = sketch(TableKind::CountMin);
    assert!(
        sketch
            .add_partial(&counted(spec(TableKind::CountSketch, 9), &[1]))
            .is_err()
    );
    let light = PartialSpec {
        max_weight: 2,
        ..mine
    };
    assert!(sketch.add_partial(&counted(light, &[1])).is_err());
    let namesake = PartialSpec {
        sketch_id: SketchId([2; 16]),
        ..mine
    };
    assert!(sketch.add_partial(&counted(namesake, &[1])).is_err());
    assert_eq!(sketch.step(), 0);
}

/// Within one process too: after sealing or merging nothing can be added, sealed or merged.
#[test]
fn an_id_is_on_one_content() {
    let spec = spec(TableKind::CountMin, 3);
    let mut partial = counted(spec, &[1]);
    let id = partial.id();
    assert_eq!(
        keys(7).open(&partial.seal().unwrap(), &spec).unwrap().id(),
        id
    );
    assert_ne!(counted(spec, &[1]).id(), id);
    let mut other = counted(spec, &[2]);
    for closed in [
        partial.seal().err(),
        partial.update_many(Items::Ready(&[]), None).err(),
        partial.merge(&mut other).err(),
        other.merge(&mut partial).err(),
    ] {
        assert!(
            message(closed.unwrap()).starts_with("partial: expected partial counts that are open")
        );
    }
    let mut third = counted(spec, &[3]);
    third.merge(&mut other).unwrap();
    assert!(other.is_closed() && !third.is_closed());
    assert!(other.seal().is_err());
    // Two of three events: two more are refused, by number or by merging, and change nothing.
    assert!(third.update_many(Items::Ready(&[1, 1]), None).is_err());
    let mut two = counted(spec, &[1, 1]);
    let found = message(third.merge(&mut two).unwrap_err());
    assert!(
        found.contains("at most 3 events") && !two.is_closed(),
        "{found}"
    );
    third.update_many(Items::Ready(&[1]), None).unwrap();
}

/// A refused batch counts nothing.
#[test]
fn workers_check_events() {
    let mut counters = PartialCounts::new(spec(TableKind::Counters, 9)).unwrap();
    let empty = keys(7).content_digest(&counters).unwrap();
    assert!(counters.update_many(Items::Ready(&[0, 5]), None).is_err());
    assert!(counters.update_many(Items::Signed(&[0]), None).is_err());
    assert!(
        counters
            .update_many(Items::Ready(&[0]), Some(&[4]))
            .is_err()
    );
    assert!(counters.update_many(Items::Ready(&[0]), Some(&[])).is_err());
    assert_eq!(keys(7).content_digest(&counters).unwrap(), empty);
    counters
        .update_many(Items::Ready(&[0, 4]), Some(&[3, 0]))
        .unwrap();
    for most in [0, EVENTS_PER_STEP + 1] {
        assert!(
            PartialCounts::new(PartialSpec {
                most_events: most,
                ..*counters.spec()
            })
            .is_err()
        );
    }
}

/// A worker has the public key only, so what it seals is authentic, and may be wrong all the same.
#[test]
fn impossible_counts_are_refused() {
    // Version, id, two events of weight at most 3; counts column by column.
    let state = |kind, events: u64, counts: [i32; 10]| {
        let mut bytes = vec![1, 0];
        bytes.extend([9; 16]);
        bytes.extend(events.to_le_bytes());
        bytes.push(0);
        bytes.extend(counts.iter().flat_map(|count| count.to_le_bytes()));
        PartialCounts::restore(spec(kind, 4), &SavedState::from_bytes(bytes)).map_err(message)
    };
    let (plain, signed) = (TableKind::CountMin, TableKind::CountSketch);
    assert!(state(plain, 2, [6, 1, 0, 5, 0, 0, 0, 0, 0, 0]).is_ok());
    assert!(state(signed, 2, [6, 1, 0, -5, 0, 0, 0, 0, 0, 0]).is_ok());
    assert!(state(signed, 2, [6, 2, 0, 0, 0, 0, 0, 0, 0, 0]).is_ok());
    for (kind, events, counts, expected) in [
        (plain, 5, [0; 10], "at most 4 events"),
        (plain, 1, [6, 6, 0, 0, 0, 0, 0, 0, 0, 0], "a larger one"),
        (plain, 2, [4, 7, 3, 0, 0, 0, 0, 0, 0, 0], "a larger one"),
        (plain, 2, [4, 6, 3, 1, 0, 0, 0, 0, 0, 0], "larger ones"),
        (plain, 2, [2, 1, -1, 0, 0, 0, 0, 0, 0, 0], "a negative one"),
        (plain, 2, [2, 1, 0, 0, 0, 0, 0, 0, 0, 0], "the same events"),
        (signed, 2, [4, 6, -3, 0, 0, 0, 0, 0, 0, 0], "larger ones"),
        (signed, 2, [2, 1, 0, 0, 0, 0, 0, 0, 0, 0], "the same events"),
    ] {
        let found = state(kind, events, counts).unwrap_err();
        assert!(found.contains(expected), "{expected}: {found}");
    }
}

/// Only steps of many events, without people, take partial counts.
#[test]
fn other_tables_have_no_description() {
    let key = keys(7).public_key();
    for schedule in [Schedule::geometric(), Schedule::Punctual { horizon: 9 }] {
        let sketch = sketch_of(TableKind::CountMin, noise(schedule), 1);
        let found = message(sketch.partial_spec(key, 0, None).unwrap_err());
        assert!(found.contains("schedule: expected Batch"), "{found}");
        let mut sketch = sketch;
        assert!(
            sketch
                .add_partial(&counted(spec(TableKind::CountMin, 9), &[1]))
                .is_err()
        );
    }
    let mut bounded = noise(Schedule::Batch { horizon: 9 });
    bounded.person_bound = Some(PersonBound {
        cells: 1,
        events: 1,
        most_people: None,
    });
    let mut sketch = sketch_of(TableKind::CountMin, bounded, 1);
    let found = message(sketch.partial_spec(key, 0, None).unwrap_err());
    assert!(found.contains("person_bound: expected none"), "{found}");
    sketch.set_bounded(true);
    assert!(
        sketch
            .add_partial(&counted(spec(TableKind::CountMin, 9), &[1]))
            .is_err()
    );
}

#[test]
fn descriptions_are_read_back_or_refused() {
    let spec = spec(TableKind::CountSketch, 77);
    let bytes = spec.encode();
    assert_eq!(PartialSpec::decode(&bytes), Ok(spec));
    for at in 0..bytes.len() {
        assert!(PartialSpec::decode(&bytes[..at]).is_err());
    }
    assert!(PartialSpec::decode(&[&bytes[..], &[0]].concat()).is_err());
    for (at, expected) in [
        (0, "spec: expected a description of partial counts"),
        (8, "spec: expected version 1"),
        (82, "spec: expected a description"),
        (83, "spec: expected a description"),
        (
            73,
            "spec: expected an integer from 1 to 4294967296 as most_events",
        ),
        (
            81,
            "spec: expected an integer from 1 to 1073741824 as max_weight",
        ),
    ] {
        let mut other = bytes.clone();
        other[at] ^= 0x80;
        let found = message(PartialSpec::decode(&other).unwrap_err());
        assert!(found.starts_with(expected), "{at}: {found}");
    }
}
