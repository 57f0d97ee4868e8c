//! Names that workers have counted, against names that one machine has counted one by one.

use super::*;
use crate::discovery::spec::DiscoverySpec;
use crate::item::Item;
use crate::saved_state::{SavedState, StateWriter};
use crate::sketch::heavy_hitters::HeavySketch;

const CAPACITY: usize = 3;
const EPOCH: u64 = 2;

/// Names of all lengths and types, some of which are cut when they are published.
fn item_of(number: u64) -> Item<'static> {
    const LONG: &str = "a name that is longer than the sixteen bytes of it that are published";
    match number {
        0 => Item::Text(""),
        1 => Item::Text("a"),
        2 => Item::Bytes(b"a"),
        3 => Item::Signed(-7),
        4 => Item::Unsigned(7),
        5 => Item::Text(LONG),
        6 => Item::Text(&LONG[..40]),
        _ => Item::Wide(&[0, 0, 0, 0, 0, 0, 0, 0, 1]),
    }
}

pub(super) fn discovery(counted_weight: u64, max_weight: u64, capacity: u32) -> DiscoverySpec {
    DiscoverySpec {
        epsilon: 60.0,
        delta: 0.2,
        relation: Relation::Substitution,
        max_events_per_user: 1,
        max_weight,
        counted_weight,
        steps_per_epoch: EPOCH,
        events_per_step: EVENTS_PER_STEP,
        capacity,
        max_item_bytes: 16,
    }
}

pub(super) fn heavy(counted: u64, max_weight: u64, capacity: u32) -> HeavySketch {
    let noise = NoiseSpec {
        max_weight,
        ..noise(Schedule::Batch { horizon: 9 })
    };
    let identity = Identity::chosen(SketchId([1; 16]));
    HeavySketch::new(
        shape(TableKind::CountMin),
        noise,
        discovery(counted, max_weight, capacity),
        &MasterKey::seeded(1),
        identity,
    )
    .unwrap()
}

pub(super) fn spec_of(sketch: &HeavySketch, most_names: u64) -> PartialSpec {
    let key = keys(7).public_key();
    (sketch.partial_spec(key, 0, None, Some(most_names), None)).unwrap()
}

pub(super) fn start_of(spec: PartialSpec) -> PartialSpec {
    PartialSpec {
        most_events: 1,
        ..spec.with_fewest_names()
    }
}

fn counted_names(spec: PartialSpec, events: &[(u64, u64)]) -> PartialCounts {
    let mut partial = PartialCounts::new(spec).unwrap();
    let items: Vec<_> = events.iter().map(|event| item_of(event.0)).collect();
    let weights: Vec<_> = events.iter().map(|event| event.1).collect();
    partial
        .update_many(Items::Mixed(&items), Some(&weights))
        .unwrap();
    partial
}

/// The events one by one, in the order of the secret identities of their items.
fn in_order(sketch: &HeavySketch, events: &[(u64, u64)]) -> Vec<(u64, u64)> {
    let items: Vec<_> = (0..8).map(item_of).collect();
    let identities = sketch.identities(Items::Mixed(&items)).unwrap();
    let identities = &identities[identities.len() - items.len()..];
    let mut events = events.to_vec();
    events.sort_by_key(|event| identities[event.0 as usize]);
    events
}

fn add_events(sketch: &mut HeavySketch, events: &[(u64, u64)], in_open_step: bool) {
    let items: Vec<_> = events.iter().map(|event| item_of(event.0)).collect();
    let weights: Vec<_> = events.iter().map(|event| event.1).collect();
    let batch = (Items::Mixed(&items), Some(weights.as_slice()));
    if in_open_step {
        sketch.add_to_batch(batch.0, batch.1).unwrap();
    } else {
        sketch.update_batch(batch.0, batch.1).unwrap();
    }
}

fn state_of(sketch: &HeavySketch) -> Vec<u8> {
    sketch.save().unwrap().expose().to_vec()
}

/// Published names with epoch and estimate.
fn published(sketch: &mut HeavySketch) -> Vec<(Vec<u8>, u64, f64)> {
    let found = sketch.candidates().unwrap().into_iter();
    found
        .map(|(kept, epoch, estimate)| (kept.bytes, epoch, estimate))
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    /// Any events, weights, workers, merges and order: the state is, byte by byte, that of one machine
    /// that counts the events one by one in the order of their identities, where names are thrown out
    /// too. The table is that of any order; names are, where none was thrown out.
    #[test]
    fn workers_end_in_the_state_of_one_order(
        steps in prop::collection::vec(
            prop::collection::vec((0..8_u64, 0..4_u64, 0..4_usize), 0..30), 1..5),
        merged in any::<[bool; 4]>(),
        backwards in any::<bool>(),
        open in any::<bool>(),
        counted in 1..=3_u64,
        max_weight in prop::sample::select(vec![1, 3_u64]),
        capacity in prop::sample::select(vec![CAPACITY as u32, 64]),
    ) {
        let counted = counted.min(max_weight);
        let new = || heavy(counted, max_weight, capacity);
        let (mut local, mut ordered, mut distributed) = (new(), new(), new());
        for events in steps {
            let spec = spec_of(&distributed, 8);
            let mut sealed = Vec::new();
            let mut waiting: Option<PartialCounts> = None;
            let mut all = Vec::new();
            for (worker, is_merged) in merged.into_iter().enumerate() {
                let own: Vec<_> = events
                    .iter()
                    .filter(|event| event.2 == worker)
                    .map(|event| (event.0, event.1.min(max_weight)))
                    .collect();
                all.extend(&own);
                let mut partial = counted_names(spec, &own);
                match &mut waiting {
                    Some(other) if is_merged => partial.merge(other).unwrap(),
                    Some(other) => sealed.push(other.seal().unwrap()),
                    None => {}
                }
                waiting = Some(partial);
            }
            sealed.push(waiting.unwrap().seal().unwrap());
            if backwards {
                sealed.reverse();
            }
            let sum = gathered(sealed, start_of(spec));
            let again = gathered([sum.sealed().unwrap()], start_of(spec));
            add_events(&mut local, &all, open);
            let in_order = in_order(&ordered, &all);
            for part in in_order.chunks(7).chain([&[][..]]) {
                add_events(&mut ordered, part, true);
            }
            if open {
                distributed.add_partial_to_batch(&again).unwrap();
            } else {
                // A step of its own: an empty batch closes the open one.
                add_events(&mut ordered, &[], false);
                distributed.add_partial(&again).unwrap();
            }
            let discovered = |sketch: &HeavySketch| {
                let bytes = state_of(sketch);
                bytes[bytes.len() - sketch.discovery().saved_bytes().unwrap()..].to_vec()
            };
            prop_assert_eq!(discovered(&ordered), discovered(&distributed));
            prop_assert_eq!(published(&mut ordered), published(&mut distributed));
            if capacity == 64 {
                prop_assert_eq!(published(&mut local), published(&mut distributed));
            }
        }
        let sketches = [&mut local, &mut ordered, &mut distributed];
        let tables = sketches.map(|one| {
            one.tick(1).unwrap();
            one.sketch_mut().release().unwrap().table().to_vec()
        });
        prop_assert_eq!(&tables[0], &tables[2]);
        prop_assert_eq!(&tables[1], &tables[2]);
    }
}

/// The digest of a step depends on its names and counts, not on how they were split.
#[test]
fn a_step_of_names_has_one_digest() {
    for (counted, max_weight) in [(1, 1), (1, 3), (2, 3), (3, 3)] {
        let spec = spec_of(&heavy(counted, max_weight, 3), 8);
        let digest = |parts: &[&[(u64, u64)]]| {
            let sealed = parts
                .iter()
                .map(|it| counted_names(spec, it).seal().unwrap());
            let sum = gathered(sealed, start_of(spec));
            keys(7).content_digest(&sum).unwrap()
        };
        let whole = digest(&[&[(1, 1), (5, 1), (1, 1)]]);
        assert_eq!(whole, digest(&[&[(5, 1), (1, 1)], &[], &[(1, 1)]]));
        for other in [
            &[(1, 1), (5, 1), (5, 1)][..],
            &[(1, 1), (5, 1), (2, 1)],
            &[(1, 1), (1, 1), (6, 1)],
            &[(1, 1), (1, 1), (5, 1), (5, 0)],
        ] {
            assert_ne!(whole, digest(&[other]));
        }
        if counted < max_weight {
            let split = digest(&[&[(1, 3), (1, 1)]]);
            assert_ne!(split, digest(&[&[(1, 2), (1, 2)], &[(3, 0)]]));
            assert_ne!(split, digest(&[&[(1, 3), (1, 1), (3, 0)]]));
        }
    }
}

/// Two names more than the limit, in a batch with names that were counted before: nothing of it is.
#[test]
fn a_batch_over_the_limit_is_refused_whole() {
    for (counted, max_weight) in [(1, 1), (1, 3), (2, 3), (3, 3)] {
        let spec = spec_of(&heavy(counted, max_weight, 3), 4);
        let digest = |partial: &PartialCounts| keys(7).content_digest(partial).unwrap();
        let before = [(1, 1), (2, 1), (1, 0), (1, max_weight)];
        let mut partial = counted_names(spec, &before);
        let expected = digest(&partial);
        let batch: Vec<_> = [1, 3, 3, 4, 1, 5, 6, 1].map(item_of).to_vec();
        for weights in [None, Some(&[1; 8][..]), Some(&[1, 1, 0, 1, 1, 1, 1, 0])] {
            let refused = partial.update_many(Items::Mixed(&batch), weights);
            let found = message(refused.unwrap_err());
            let said =
                "items: expected at most 4 different names of 1024 bytes in all; nothing was";
            assert!(found.starts_with(said), "{found}");
            assert_eq!(digest(&partial), expected);
        }
        let long = "x".repeat(1023);
        let refused = partial.update_many(Items::Mixed(&[Item::Text(&long)]), None);
        assert!(message(refused.unwrap_err()).starts_with("items: expected at most 4 diff"));
        assert_eq!(digest(&partial), expected);
        let mut other = counted_names(spec, &[(1, 1), (3, 1), (4, 1), (5, 1)]);
        let kept = digest(&other);
        let refused = message(partial.merge(&mut other).unwrap_err());
        assert!(
            refused.starts_with("other: expected at most 4"),
            "{refused}"
        );
        assert_eq!((digest(&partial), digest(&other)), (expected, kept));
        assert!(!other.is_closed());
        // The names that were taken back are counted as if they had never been there.
        partial
            .merge(&mut counted_names(spec, &[(4, 1), (3, 1), (2, 1)]))
            .unwrap();
        let whole: Vec<_> = [&before[..], &[(3, 1), (2, 1), (4, 1)]].concat();
        assert_eq!(digest(&partial), digest(&counted_names(spec, &whole)));
    }
}

/// A description tells the limits; the length of sealed names is a power of two and a head, and does not
/// depend on the counts.
#[test]
fn sizes_of_names_are_rounded() {
    let spec = spec_of(&heavy(1, 3, 3), 1 << 20);
    assert_eq!(spec.encode().len(), 100 + 11);
    assert_eq!(PartialSpec::decode(&spec.encode()), Ok(spec));
    let head = 8 + 2 + 111 + 32 + 16 + (2 + 16 + 8);
    let sealed = |names: u64, copies: usize| {
        let mut partial = PartialCounts::new(spec).unwrap();
        let items: Vec<_> = (0..names).map(Item::Unsigned).collect();
        for _ in 0..copies {
            partial.update_many(Items::Mixed(&items), None).unwrap();
        }
        partial.seal().unwrap().len()
    };
    // Each of these has a type, a length, two counts of 4 bytes, and 8 bytes of content.
    for (names, expected) in [
        (0, 1 << 10),
        (1, 1 << 10),
        (48, 1 << 10), // 8 + 48 x 21 = 1,016 bytes
        (49, 1 << 11),
        (97, 1 << 11),
        (98, 1 << 12),
    ] {
        assert_eq!(sealed(names, 1), head + expected, "{names}");
        assert_eq!(sealed(names, 5), head + expected, "{names}");
    }
    let sum = gathered(
        [counted_names(spec, &[(1, 1)]).seal().unwrap()],
        start_of(spec),
    );
    let named = sum.spec().named.unwrap();
    assert_eq!(named.most_names, (1 << 20) + 1);
}

/// Counts of a table, or of other names, are not taken for these.
#[test]
fn counts_of_another_form_are_refused() {
    let (mut sketch, mut plain) = (heavy(1, 3, 3), sketch(TableKind::CountMin));
    let (named, table) = (spec_of(&sketch, 8), spec(TableKind::CountMin, 9));
    let weighted = spec_of(&heavy(3, 3, 3), 8);
    let names = counted_names(named, &[(1, 1)]);
    let of_table = counted(table, &[1]);
    let of_weights = counted_names(weighted, &[(1, 1)]);
    let before = state_of(&sketch);
    for wrong in [&of_table, &of_weights] {
        assert!(sketch.add_partial(wrong).is_err());
        assert!(sketch.add_partial_to_batch(wrong).is_err());
    }
    assert_eq!(state_of(&sketch), before);
    assert!(plain.add_partial(&names).is_err());
    assert!(plain.add_partial_to_batch(&names).is_err());
    for (one, other) in [(named, table), (named, weighted)] {
        let sealed = PartialCounts::new(one).unwrap().seal().unwrap();
        let found = message(keys(7).open(&sealed, &other).unwrap_err());
        assert!(found.contains("of this table"), "{found}");
    }
}

/// What a dishonest worker seals is refused if no events could have made it.
#[test]
fn impossible_names_are_refused() {
    let spec = spec_of(&heavy(1, 3, 3), 8);
    let saved = |events: u64, names: &[(u8, &[u8], u32, u32)], padding: u8| {
        let mut out = StateWriter::after(Vec::new(), 2 + 16 + 8 + 1024).unwrap();
        out.put([5; 16]);
        out.put(events.to_le_bytes());
        out.put((names.len() as u64).to_le_bytes());
        for (kind, content, weight, count) in names {
            out.put([*kind]);
            out.put((content.len() as u32).to_le_bytes());
            out.put(weight.to_le_bytes());
            out.put(count.to_le_bytes());
            out.put_bytes(content);
        }
        while out.written() < 2 + 16 + 8 + 1024 {
            out.put([padding]);
        }
        let state = SavedState::from_bytes(out.into_bytes());
        PartialCounts::restore(spec, &state)
            .map(|partial| keys(7).content_digest(&partial).unwrap())
            .map_err(message)
    };
    let (text, wide) = (0, 2);
    // The layout of docs/state-format.md, written by hand: what a store opens of any version of workers.
    let written = [(text, &b"a"[..], 3, 2), (1, b"a", 1, 1)];
    let digest = |partial: &PartialCounts| keys(7).content_digest(partial).unwrap();
    let expected = digest(&counted_names(spec, &[(2, 1), (1, 2), (1, 1), (3, 0)]));
    assert_eq!(saved(4, &written, 0), Ok(expected));
    let nine = [0, 0, 0, 0, 0, 0, 0, 0, 1];
    let expected = digest(&counted_names(spec, &[(7, 1)]));
    assert_eq!(saved(1, &[(wide, &nine, 1, 1)], 0), Ok(expected));
    let ten: Vec<_> = (0..9_u8).map(|it| [it]).collect();
    let ten: Vec<_> = ten.iter().map(|it| (text, &it[..], 1, 1)).collect();
    for (events, names, padding) in [
        (3, &[(text, &b"a"[..], 0, 0)][..], 0),
        (3, &[(text, b"a", 1, 0)], 0),
        (3, &[(text, b"a", 1, 2)], 0),
        (3, &[(text, b"a", 10, 3)], 0),
        (3, &[(text, b"a", 4, 4)], 0),
        (3, &[(text, b"a", 2, 2), (text, b"b", 2, 2)], 0),
        (3, &[(text, b"a", 1, 1), (text, b"a", 1, 1)], 0),
        (3, &[(8, b"a", 1, 1)], 0),
        (3, &[(text, b"\xFF", 1, 1)], 0),
        (3, &[(3, b"1234567", 1, 1)], 0),
        (3, &[(4, &[7, 0, 0, 0, 0, 0, 0, 0], 1, 1)], 0),
        (
            3,
            &[(5, &[255, 255, 255, 255, 255, 255, 255, 127], 1, 1)],
            0,
        ),
        (3, &[(6, &[255, 255, 255, 127], 1, 1)], 0),
        (3, &[(wide, &[9; 8], 1, 1)], 0),
        (3, &[(wide, &[9, 0, 0, 0, 0, 0, 0, 0, 0], 1, 1)], 0),
        (3, &[(wide, &[9, 0, 0, 0, 0, 0, 0, 0x80, 0xFF], 1, 1)], 0),
        (3, &[(text, b"a", 1, 1)], 1),
        (9, &ten, 0),
    ] {
        let found = saved(events, names, padding).unwrap_err();
        assert!(found.starts_with("sealed: expected"), "{found}");
    }
}

/// Pins the description with names, and what a store opens of any version of workers.
#[test]
fn golden_names() {
    let sketch = heavy(1, 3, 3);
    let mut spec = spec_of(&sketch, 1000);
    let hex: String = spec.encode().iter().map(|it| format!("{it:02x}")).collect();
    assert_eq!(hex, DESCRIPTION);
    if let Some(named) = &mut spec.named {
        named.levels = Some(Levels::new(1, &[8, 32]).unwrap());
    }
    assert_eq!(
        spec.encode()[100..],
        [232, 3, 0, 0, 0, 0, 0, 0, 0, 1, 2, 8, 32]
    );
    assert_eq!(PartialSpec::decode(&spec.encode()), Ok(spec));
}

const DESCRIPTION: &str = "4c5a534b505350430200b73c62d5219052d395e5d9de4c447e63171b9af720655af47002cb12\
                           1281c27301010101010101010101010101010101000000000000000055555515000000000300\
                           000000000000010102000000050000000100000000000000e803000000000000000000";
