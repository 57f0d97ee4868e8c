//! Keys of ranges: each counts in one cell of every depth, and what no keys could count is refused.

use super::*;
use crate::saved_state::SavedState;

/// Keys beyond the domain are refused before anything is counted.
#[test]
fn keys_are_checked() {
    let mut partial = PartialCounts::new(spec(TableKind::Ranges, 9)).unwrap();
    let empty = keys(7).content_digest(&partial).unwrap();
    let found = message(
        partial
            .update_many(Items::Ready(&[0, 8]), None)
            .unwrap_err(),
    );
    assert!(
        found.starts_with("items: expected integers from 0 to 7"),
        "{found}"
    );
    assert!(partial.update_many(Items::Unsigned(&[0]), None).is_err());
    assert_eq!(keys(7).content_digest(&partial).unwrap(), empty);
    partial.update_many(Items::Ready(&[0, 7]), None).unwrap();
}

/// All bits of a key, up to 64.
#[test]
fn the_largest_keys_count() {
    for depth in [1, 63, 64] {
        let spec = PartialSpec {
            shape: Shape {
                depth,
                width: 2,
                ..shape(TableKind::Ranges)
            },
            ..spec(TableKind::Ranges, 9)
        };
        let largest = spec.shape.largest_index();
        let sealed = counted(spec, &[0, largest]).seal().unwrap();
        assert_eq!(gathered([sealed], spec).events(), Ok(2));
    }
}

/// A worker has the public key only: what it seals may be wrong, and is refused if no keys have such
/// counts. Three depths of five columns: two halves, and nodes at the places 2 to 7 of 15.
#[test]
fn impossible_counts_of_ranges_are_refused() {
    let spec = PartialSpec {
        shape: Shape {
            width: 5,
            ..shape(TableKind::Ranges)
        },
        ..spec(TableKind::Ranges, 4)
    };
    // Version, id, two events of weight at most 3; the cells of each place one after the other.
    let state = |places: [i32; 15]| {
        let mut bytes = vec![1, 0];
        bytes.extend([9; 16]);
        bytes.extend(2_u64.to_le_bytes());
        bytes.push(0);
        let cells = (0..15).map(|cell| places[cell % 3 * 5 + cell / 3]);
        bytes.extend(cells.flat_map(i32::to_le_bytes));
        PartialCounts::restore(spec, &SavedState::from_bytes(bytes))
            .map(|_| ())
            .map_err(message)
    };
    let with = |changes: &[(usize, i32)]| {
        let mut places = [4, 2, 4, -2, 2, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0];
        changes.iter().for_each(|&(at, count)| places[at] = count);
        state(places)
    };
    assert_eq!(with(&[]), Ok(()));
    assert_eq!(with(&[(2, 0)]), Ok(()));
    for (changes, expected) in [
        (&[(0, 5)][..], "counts that the events allow"),
        (&[(0, 7)], "a larger one"),
        (&[(1, -2)], "halves of at least 0"),
        (&[(0, 5), (1, 0), (2, 3)], "rows that count the same events"),
        (&[(0, 5), (1, 0)], "depths that count the same events"),
        (&[(0, 2), (2, 4)], "depths that count the same events"),
        (&[(8, 2)], "counts in the cells of nodes"),
        (&[(14, -6)], "counts in the cells of nodes"),
    ] {
        let found = with(changes).unwrap_err();
        assert!(found.contains(expected), "{changes:?} {expected}: {found}");
    }
}
