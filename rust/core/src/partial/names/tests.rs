//! Counts of names, one operation at a time.

use super::*;

const LIMITS: NameLimits = NameLimits {
    names: 1_000,
    bytes: 10_000,
};

fn counted(events: &[(&str, u64)]) -> NameCounts {
    let mut names = NameCounts::new(Some(1)).unwrap();
    count(&mut names, events, LIMITS).unwrap();
    names
}

fn count(names: &mut NameCounts, events: &[(&str, u64)], limits: NameLimits) -> Result<()> {
    let items: Vec<_> = events.iter().map(|event| Item::Text(event.0)).collect();
    let weights: Vec<_> = events.iter().map(|event| event.1).collect();
    let weights = Bounded {
        weights: &weights,
        largest: u64::MAX,
    };
    names.count(Items::Mixed(&items), Some(weights), limits)
}

fn all(names: &NameCounts) -> Vec<(&[u8], u64, u64)> {
    let names = (0..names.len()).map(|at| names.name(at));
    names
        .map(|name| (name.content, name.weight, name.units))
        .collect()
}

#[test]
fn a_refused_batch_leaves_the_events_of_weight_0_alone() {
    let mut names = counted(&[("a", 2), ("b", 3), ("a", 0)]);
    let before = [(&b"a"[..], 2, 1), (b"b", 3, 1)];
    assert_eq!(all(&names), before);
    let limits = NameLimits { names: 2, ..LIMITS };
    let events = [("a", 0), ("b", 1), ("new", 0), ("c", 1)];
    assert!(count(&mut names, &events, limits).is_err());
    assert_eq!(all(&names), before);
    assert!(names.is_intact());
}

/// Another thread may write to the weights of a batch while it is refused: then what was counted is
/// unknown, whatever the other events say.
#[test]
fn counts_that_cannot_be_taken_back_are_not_intact() {
    for (items, weights, intact) in [
        (vec!["a", "b"], vec![2, 3], true),
        (vec!["a", "b"], vec![3, 3], false),
        (vec!["b", "a"], vec![3, 3], false),
        (vec!["a", "new"], vec![2, 0], true),
        (vec!["a", "new"], vec![2, 1], false),
        (vec!["new", "a"], vec![1, 2], false),
    ] {
        let mut names = counted(&[("a", 2), ("b", 3)]);
        let items: Vec<_> = items.into_iter().map(Item::Text).collect();
        names.take_back(Items::Mixed(&items), |at| weights[at], 2);
        assert_eq!(names.is_intact(), intact, "{weights:?}");
        names.take_back(Items::Mixed(&[]), |_| 0, 2);
        assert_eq!(names.is_intact(), intact, "{weights:?}, afterwards");
    }
}

#[test]
fn names_with_one_hash_are_different_names() {
    let mut names = NameCounts::new(None).unwrap();
    let of = |names: &mut NameCounts, kind, content| names.slot(7, kind, content, LIMITS).unwrap();
    for _ in 0..2 {
        assert_eq!(of(&mut names, NameKind::Text, b"a"), 0);
        assert_eq!(of(&mut names, NameKind::Text, b"b"), 1);
        assert_eq!(of(&mut names, NameKind::Bytes, b"a"), 2);
    }
    assert_eq!(names.find(8, NameKind::Text, b"a"), None);
    assert_eq!(names.find(7, NameKind::Bytes, b"b"), None);
}

#[test]
fn hashes_tell_names_apart() {
    let names = NameCounts::new(None).unwrap();
    let mut hashes: Vec<_> = (0..100_u8)
        .flat_map(|at| [NameKind::Text, NameKind::Bytes].map(|kind| names.hash(kind, &[at])))
        .collect();
    hashes.sort_unstable();
    hashes.dedup();
    assert_eq!(hashes.len(), 200);
    let again = NameCounts::new(None).unwrap();
    assert_ne!(
        names.hash(NameKind::Text, b"a"),
        again.hash(NameKind::Text, b"a")
    );
}

#[test]
fn limits_are_reached_and_not_exceeded() {
    let limits = NameLimits { names: 3, bytes: 5 };
    let mut names = NameCounts::new(None).unwrap();
    count(&mut names, &[("ab", 1), ("cde", 1)], limits).unwrap();
    assert!(count(&mut names, &[("f", 1)], limits).is_err());
    count(&mut names, &[("", 1), ("ab", 1)], limits).unwrap();
    let limits = NameLimits { bytes: 6, ..limits };
    assert!(count(&mut names, &[("f", 1)], limits).is_err());
    assert_eq!((names.len(), names.content_bytes()), (3, 5));
}

#[test]
fn a_vector_grows_without_a_copy_that_is_not_erased() {
    for (held, additional) in [(0, 1), (64, 1), (64, 3), (100, 28), (128, 200)] {
        let mut values = memory::room_for(held).unwrap();
        values.extend((0..held).map(|at| at as u64 + 1));
        let free = values.capacity() - held;
        let mut erased = Vec::new();
        make_room(&mut values, additional, |old| erased = old.to_vec()).unwrap();
        let room = values.capacity() - values.len();
        assert!(room >= additional, "{held} {additional}: {room}");
        assert!(values.iter().copied().eq((1..).take(held)));
        assert_eq!(
            free < additional,
            erased.len() == held && (held > 0 || room > 0)
        );
        // What there is room for takes no other memory.
        make_room(&mut values, room, |_| panic!("moved")).unwrap();
    }
}

#[test]
fn erased_entries_are_zeros() {
    let mut names = counted(&[("a", 2), ("bc", 3)]);
    erase(&mut names.entries);
    for entry in &names.entries {
        assert_eq!((entry.start, entry.weight, entry.length), (0, 0, 0));
    }
}
