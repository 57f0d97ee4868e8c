//! Levels of a hierarchy whose finest names workers have counted, against levels of one machine.

use super::steps_of_names::discovery;
use super::*;
use crate::item::Item;
use crate::sketch::heavy_hitters::HeavySketch;

const NAMES: [&str; 7] = ["aa", "ab", "ac", "ba", "bb", "ca", "da"];

/// The first letter, and the name itself.
fn split(item: Item<'_>, with: &mut dyn FnMut(usize, &[u8])) -> bool {
    match item {
        Item::Text(name) if name.len() == 2 => {
            with(0, &name.as_bytes()[..1]);
            with(1, name.as_bytes());
            true
        }
        _ => false,
    }
}

fn level(number: u8, max_weight: u64, counted: u64, capacity: u32) -> HeavySketch {
    let noise = NoiseSpec {
        max_weight,
        ..noise(Schedule::Batch { horizon: 9 })
    };
    let shape = Shape {
        hash_seed: number.into(),
        ..shape(TableKind::CountMin)
    };
    let identity = Identity::chosen(SketchId([number; 16]));
    let discovery = discovery(counted, max_weight, capacity);
    HeavySketch::new(shape, noise, discovery, &MasterKey::seeded(1), identity).unwrap()
}

fn levels(max_weight: u64, counted: u64, capacity: u32) -> [HeavySketch; 2] {
    [1, 2].map(|number| level(number, max_weight, counted, capacity))
}

fn spec_of(levels: &[HeavySketch]) -> PartialSpec {
    let kind = Levels::new(3, &[1]).unwrap();
    let key = keys(7).public_key();
    (levels[0].partial_spec(key, 0, None, Some(8), Some(kind))).unwrap()
}

fn counted_names(spec: PartialSpec, events: &[(usize, u64)]) -> PartialCounts {
    let mut partial = PartialCounts::new(spec).unwrap();
    let items: Vec<_> = events.iter().map(|it| Item::Text(NAMES[it.0])).collect();
    let weights: Vec<_> = events.iter().map(|it| it.1).collect();
    (partial.update_many(Items::Mixed(&items), Some(&weights))).unwrap();
    partial
}

fn gathered_names(spec: PartialSpec, partials: Vec<PartialCounts>) -> PartialCounts {
    let start = spec.with_fewest_names();
    gathered(partials.into_iter().map(|mut it| it.seal().unwrap()), start)
}

fn add_step(levels: &mut [HeavySketch], sum: &PartialCounts, in_open_step: bool) {
    let mut steps = sum.names_of_levels(levels.len(), split).unwrap();
    for (level, step) in levels.iter_mut().zip(&mut steps) {
        level.prepare_step_names(step, in_open_step).unwrap();
    }
    for (level, step) in levels.iter_mut().zip(&steps) {
        level.add_step_names(step, in_open_step).unwrap();
    }
}

/// The events one by one, in the order of the secret identities of their names at this level.
fn add_in_order(level: &mut HeavySketch, length: usize, events: &[(usize, u64)]) {
    let name = |event: &(usize, u64)| &NAMES[event.0][..length];
    let mut names: Vec<_> = NAMES.iter().map(|name| &name[..length]).collect();
    names.dedup();
    let items: Vec<_> = names.iter().map(|name| Item::Text(name)).collect();
    let identities = level.identities(Items::Mixed(&items)).unwrap();
    let identities = &identities[identities.len() - items.len()..];
    let mut events = events.to_vec();
    events.sort_by_key(|event| {
        let at = names.iter().position(|it| *it == name(event));
        identities[at.unwrap()]
    });
    let items: Vec<_> = events.iter().map(|it| Item::Text(name(it))).collect();
    let weights: Vec<_> = events.iter().map(|it| it.1).collect();
    (level.add_to_batch(Items::Mixed(&items), Some(&weights))).unwrap();
}

fn states(levels: &[HeavySketch]) -> Vec<Vec<u8>> {
    let state = |level: &HeavySketch| level.save().unwrap().expose().to_vec();
    levels.iter().map(state).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// Any events, weights, workers and order: every level is, byte by byte, that of one machine which
    /// counts the names of the level one by one in the order of their identities, where names are
    /// thrown out too.
    #[test]
    fn levels_end_in_the_state_of_one_order(
        steps in prop::collection::vec(
            prop::collection::vec((0..NAMES.len(), 0..4_u64, 0..4_usize), 0..30), 1..5),
        backwards in any::<bool>(),
        open in any::<bool>(),
        counted in 1..=3_u64,
        max_weight in prop::sample::select(vec![1, 3_u64]),
        capacity in prop::sample::select(vec![2, 64]),
    ) {
        let counted = counted.min(max_weight);
        let new = || levels(max_weight, counted, capacity);
        let (mut ordered, mut distributed) = (new(), new());
        for events in steps {
            let spec = spec_of(&distributed);
            let all: Vec<_> = events.iter().map(|it| (it.0, it.1.min(max_weight))).collect();
            let of_worker = |worker: usize| {
                let own = events.iter().zip(&all).filter(|it| it.0.2 == worker);
                counted_names(spec, &own.map(|it| *it.1).collect::<Vec<_>>())
            };
            let mut partials: Vec<_> = (0..4).map(of_worker).collect();
            if backwards {
                partials.reverse();
            }
            add_step(&mut distributed, &gathered_names(spec, partials), open);
            for (at, level) in ordered.iter_mut().enumerate() {
                add_in_order(level, at + 1, &all);
                if !open {
                    level.update_batch(Items::Mixed(&[]), None).unwrap();
                }
            }
            let discovered = |levels: &[HeavySketch]| -> Vec<_> {
                let one = levels.iter().zip(states(levels));
                one.map(|(level, state)| {
                    let from = state.len() - level.discovery().saved_bytes().unwrap();
                    state[from..].to_vec()
                }).collect()
            };
            prop_assert_eq!(discovered(&ordered), discovered(&distributed));
        }
        for (one, other) in ordered.iter_mut().zip(&mut distributed) {
            let tables = [one, other].map(|level| {
                level.tick(1).unwrap();
                level.sketch_mut().release().unwrap().table().to_vec()
            });
            prop_assert_eq!(&tables[0], &tables[1]);
        }
    }
}

/// Names that are none of the levels, and counts of another object, change nothing.
#[test]
fn counts_that_are_none_of_the_levels_are_refused() {
    let spec = spec_of(&levels(1, 1, 8));
    let sum = |item: Item<'_>| {
        let mut partial = PartialCounts::new(spec).unwrap();
        partial.update_many(Items::Mixed(&[item]), None).unwrap();
        gathered_names(spec, vec![partial])
    };
    let said = "sealed: expected names of these levels, got others";
    let refused = |counts: &PartialCounts, number: usize| {
        let found = counts.names_of_levels(number, split);
        message(found.err().unwrap())
    };
    for wrong in [Item::Text("abc"), Item::Bytes(b"ab"), Item::Unsigned(7)] {
        assert_eq!(refused(&sum(wrong), 2), said);
    }
    let sound = sum(Item::Text("ab"));
    for number in [0, 1, 3] {
        assert_eq!(refused(&sound, number), said, "{number}");
    }
    // A name that is no finest one: its own finest name is another.
    let shortened = |item: Item<'_>, with: &mut dyn FnMut(usize, &[u8])| match item {
        Item::Text(name) => {
            with(0, &name.as_bytes()[..1]);
            with(1, &name.as_bytes()[..1]);
            true
        }
        _ => false,
    };
    let found = sound.names_of_levels(2, shortened);
    assert_eq!(message(found.err().unwrap()), said);
    // Weights that count for names here and not there.
    let mut steps = sound.names_of_levels(2, split).unwrap();
    for mut other in [level(1, 3, 2, 8), level(1, 3, 3, 8)] {
        let before = states(std::slice::from_ref(&other));
        assert!(other.prepare_step_names(&mut steps[0], false).is_err());
        assert!(other.add_step_names(&steps[0], false).is_err());
        assert_eq!(states(&[other]), before);
    }
    let found = level(2, 1, 1, 8).check_takes_names(sound.spec());
    assert!(message(found.unwrap_err()).contains("of this table"));
}
