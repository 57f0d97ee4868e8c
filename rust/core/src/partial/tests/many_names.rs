//! Descriptions of names at their limits, and more names than are handled together.

use super::steps_of_names::{heavy, spec_of, start_of};
use super::*;
use crate::item::Item;
use crate::partial::named::{MOST_NAMES, USUAL_NAMES};
use crate::partial::names::NameCounts;
use crate::partial::{Levels, Named};

/// The names of a step are counted in chunks of 64, the last of which may have fewer.
#[test]
fn every_name_of_a_long_step_is_counted_once() {
    for number in [63, 64, 65, 200_u64] {
        let names: Vec<_> = (0..number).map(Item::Unsigned).collect();
        let mut tables = Vec::new();
        for parts in [1, 3] {
            let mut sketch = heavy(1, 1, 3);
            let spec = spec_of(&sketch, 256);
            let sealed = names.chunks(names.len().div_ceil(parts)).map(|part| {
                let mut partial = PartialCounts::new(spec).unwrap();
                partial.update_many(Items::Mixed(part), None).unwrap();
                partial.seal().unwrap()
            });
            let sum = gathered(sealed, start_of(spec));
            sketch.add_partial(&sum).unwrap();
            tables.push(sketch.save().unwrap().expose().to_vec());
        }
        let mut local = heavy(1, 1, 3);
        local.update_batch(Items::Mixed(&names), None).unwrap();
        let mut distributed = heavy(1, 1, 3);
        let mut partial = PartialCounts::new(spec_of(&distributed, 256)).unwrap();
        partial.update_many(Items::Mixed(&names), None).unwrap();
        distributed.add_partial(&partial).unwrap();
        let released = [&mut local, &mut distributed]
            .map(|sketch| sketch.sketch_mut().release().unwrap().table().to_vec());
        assert_eq!(released[0], released[1], "{number}");
        assert_eq!(tables[0], tables[1], "{number}");
    }
}

#[test]
fn a_partial_has_a_million_names_unless_others_are_asked_for() {
    assert_eq!(USUAL_NAMES, 1_048_576);
    let (sketch, key) = (heavy(1, 1, 3), keys(7).public_key());
    let named = |most_names| {
        let spec = sketch.partial_spec(key, 0, None, most_names, None);
        spec.map(|spec| spec.named.unwrap().most_names)
    };
    assert_eq!(named(None), Ok(USUAL_NAMES));
    assert_eq!(named(Some(1)), Ok(1));
    assert_eq!(named(Some(MOST_NAMES)), Ok(MOST_NAMES));
    for wrong in [0, MOST_NAMES + 1] {
        let found = message(named(Some(wrong)).unwrap_err());
        assert!(
            found.contains("most_names: expected an integer from 1 to 1073741824"),
            "{found}"
        );
        let spec = spec_of(&sketch, 1);
        let read = PartialSpec {
            named: spec.named.map(|named| Named {
                most_names: wrong,
                ..named
            }),
            ..spec
        };
        assert!(PartialSpec::decode(&read.encode()).is_err());
    }
}

#[test]
fn events_are_counted_apart_from_weights_where_they_decide() {
    for (counted, max_weight, expected) in [
        (1, 1, None),
        (1, 2, Some(1)),
        (1, 3, Some(1)),
        (2, 3, Some(2)),
        (3, 3, None),
    ] {
        let spec = spec_of(&heavy(counted, max_weight, 3), 8);
        assert_eq!(spec.weight_counted_apart(), expected, "{max_weight}");
    }
    assert_eq!(spec(TableKind::CountMin, 9).weight_counted_apart(), None);
}

#[test]
fn levels_are_a_kind_and_numbers() {
    let levels = Levels::new(3, &[8, 255]).unwrap();
    assert_eq!((levels.kind(), levels.numbers()), (3, &[8, 255][..]));
    assert_eq!(format!("{levels:?}"), "Levels(3, [8, 255])");
    assert!(Levels::new(0, &[8]).is_err());
    assert!(Levels::new(1, &[256]).is_err());
    assert!(Levels::new(1, &[1; 64]).is_ok());
    assert!(Levels::new(1, &[1; 65]).is_err());
}

/// What an opened partial may have as its length, before it is read.
#[test]
fn clear_names_have_a_length_that_is_a_power_of_two() {
    let spec = spec_of(&heavy(1, 1, 3), 8);
    let head = 2 + 16 + 8;
    for (bytes, expected) in [
        (0, false),
        (head, false),
        (head + 512, false),
        (head + 1023, false),
        (head + 1024, true),
        (head + 1025, false),
        (head + 3000, false),
        (head + 4096, true),
    ] {
        assert_eq!(PartialCounts::can_have(&spec, bytes), expected, "{bytes}");
    }
    assert!(NameCounts::new(None).unwrap().is_intact());
}
