//! Distinct items: the union of the bits of workers against one machine that saw all events.

use super::*;
use crate::parameters::BIT_WEIGHT;
use crate::saved_state::SavedState;
use crate::table::seen_bits::Place;

const BITS: u32 = 64;
const DISTINCT: TableKind = TableKind::Distinct { bits: BITS };
/// 5 levels of 64 bits.
const BYTES: usize = 5 * 64 / 8;

fn count() -> PrivateSketch {
    let mut noise = noise(Schedule::Batch { horizon: 9 });
    noise.max_weight = BIT_WEIGHT;
    sketch_of(DISTINCT, noise, 1)
}

fn description(most_events: Option<u64>) -> PartialSpec {
    let public_key = keys(7).public_key();
    count().partial_spec(public_key, 0, most_events).unwrap()
}

fn bits_of(items: &[u64]) -> PartialCounts {
    let mut partial = PartialCounts::new(description(None)).unwrap();
    partial.update_many(Items::Unsigned(items), None).unwrap();
    partial
}

fn saved(sketch: &PrivateSketch) -> Vec<u8> {
    sketch.save().unwrap().expose().to_vec()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// Any split of the events, also with events that several workers count and that come again in a
    /// later step, merges, sizes and order: the states are equal, byte by byte.
    #[test]
    fn unions_end_in_the_state_of_one_machine(
        steps in prop::collection::vec(
            prop::collection::vec((0..200_u64, 0..4_usize), 0..60), 1..5),
        merged in any::<[bool; 4]>(),
        again in any::<[bool; 4]>(),
        backwards in any::<bool>(),
        open in any::<bool>(),
    ) {
        let (mut local, mut distributed) = (count(), count());
        let mut earlier: Vec<u64> = Vec::new();
        for events in steps {
            let mut seen: Vec<u64> = Vec::new();
            let mut sealed = Vec::new();
            let mut waiting: Option<PartialCounts> = None;
            for worker in 0..4 {
                let own = events.iter().filter(|event| event.1 == worker);
                let mut items: Vec<u64> = own.map(|event| event.0).collect();
                if again[worker] {
                    items.extend(&earlier); // of other workers and steps
                }
                seen.extend(&items);
                let mut partial = bits_of(&items);
                match &mut waiting {
                    Some(other) if merged[worker] => partial.merge(other).unwrap(),
                    Some(other) => sealed.push(other.seal().unwrap()),
                    None => {}
                }
                waiting = Some(partial);
            }
            sealed.push(waiting.unwrap().seal().unwrap());
            if backwards {
                sealed.reverse();
            }
            let start = description(Some(1));
            let sum = gathered(sealed, start);
            let again = gathered([sum.sealed().unwrap()], start);
            if open {
                local.add_to_batch(Items::Unsigned(&seen), None).unwrap();
                distributed.add_partial_to_batch(&again).unwrap();
            } else {
                local.update_batch(Items::Unsigned(&seen), None).unwrap();
                distributed.add_partial(&again).unwrap();
            }
            prop_assert_eq!(saved(&local), saved(&distributed));
            earlier.extend(events.iter().map(|event| event.0));
        }
        let releases = [&mut local, &mut distributed].map(|one| one.release().unwrap());
        prop_assert_eq!(releases[0].table(), releases[1].table());
    }
}

/// Every 911th of all streams of 3 steps with any of 3 items in any of 2 workers each: the counts are
/// those of a set of places, and a bit has the step at which the union has it first.
#[test]
fn a_bit_counts_once_at_the_step_of_its_union() {
    let items = [4_u64, 9, 17];
    let place = |item: u64| {
        let fingerprint = count().fingerprinter().unsigned(item);
        Place::of(fingerprint, 5, BITS)
    };
    let places = items.map(place);
    let step_of = |step: usize, stream: usize| stream >> (6 * step) & 63;
    for stream in (0..1 << 18).step_by(911) {
        let mut sketch = count();
        let mut set = std::collections::HashSet::new();
        for step in 0..3 {
            let parts = [0, 3].map(|shift| {
                let of_worker = step_of(step, stream) >> shift & 7;
                let own: Vec<u64> = (0..3)
                    .filter(|at| of_worker >> at & 1 == 1)
                    .map(|at| items[at])
                    .collect();
                set.extend(
                    own.iter()
                        .map(|&item| place(item))
                        .map(|it| (it.level, it.bit)),
                );
                bits_of(&own).seal().unwrap()
            });
            if stream % 2 == 0 {
                let sum = gathered(parts, description(Some(1)));
                sketch.add_partial(&sum).unwrap();
            } else {
                // One part after the other, each a part of the open step.
                for part in &parts {
                    let opened = keys(7).open(part, &description(Some(1))).unwrap();
                    sketch.add_partial_to_batch(&opened).unwrap();
                }
                sketch.tick(1).unwrap();
            }
            let mut local = count();
            let all: Vec<u64> = (0..3)
                .filter(|&at| set.contains(&(places[at].level, places[at].bit)))
                .map(|at| items[at])
                .collect();
            local.update_batch(Items::Unsigned(&all), None).unwrap();
            local.tick(step as u64).unwrap();
            // Equal but for the table of the open step, which may be there.
            let releases = [&mut local, &mut sketch].map(|one| one.release().unwrap());
            assert_eq!(releases[0].table(), releases[1].table(), "{stream} {step}");
        }
    }
}

/// What comes again, under whatever id, changes neither a count nor the digest of bits.
#[test]
fn a_union_takes_each_bit_once() {
    let items: Vec<u64> = (0..500).collect();
    let mut sketch = count();
    sketch.add_partial(&bits_of(&items)).unwrap();
    let table = |sketch: &PrivateSketch| saved(sketch)[2 + 32 + 16 + 1 + 8..].to_vec();
    let before = table(&sketch);
    for _ in 0..3 {
        sketch.add_partial(&bits_of(&items[100..])).unwrap();
        assert_eq!(table(&sketch), before);
    }
    assert_eq!(sketch.step(), 4);
    let digest = |parts: &[&[u64]]| {
        let sealed = parts.iter().map(|it| bits_of(it).seal().unwrap());
        keys(7)
            .content_digest(&gathered(sealed, description(Some(1))))
            .unwrap()
    };
    let whole = digest(&[&items[..9]]);
    assert_eq!(whole, digest(&[&items[4..9], &[], &items[..4]]));
    assert_ne!(whole, digest(&[&items[..8]]));
    assert_ne!(whole, digest(&[&items[..8], &items[..1]]));
    // An event more, of an item that is there, is another content.
    assert_ne!(whole, digest(&[&items[..9], &items[..1]]));
}

/// Sizes and descriptions are public, the bits are not.
#[test]
fn sealed_bits_show_nothing() {
    let spec = description(None);
    assert_eq!(spec.most_events, EVENTS_PER_STEP);
    assert_eq!(spec.encode().len(), 100 + 4);
    assert_eq!(PartialSpec::decode(&spec.encode()), Ok(spec));
    let many: Vec<u64> = (0..10_000).collect();
    for items in [&[][..], &[1], &many] {
        let partial = bits_of(items);
        assert_eq!(format!("{partial:?}"), format!("PartialCounts({spec:?})"));
        let sealed = [bits_of(items), partial].map(|mut one| one.seal().unwrap());
        let head = 8 + 2 + 104;
        assert_eq!(sealed[0].len(), head + 32 + 16 + 2 + 16 + 8 + BYTES);
        assert_eq!(sealed[0][..head], sealed[1][..head]);
        // 114 random bytes are equal with probability 1/256 each: 12 or more, below 1e-11.
        let pairs = sealed[0][head..].iter().zip(&sealed[1][head..]);
        assert!(pairs.filter(|(one, other)| one == other).count() < 12);
        // Of full bitmaps too nothing is in clear: 0 and 255 are rare.
        let plain = |byte: u8| sealed[0][head..].iter().filter(|&&it| it == byte).count();
        assert!(plain(0) < 12 && plain(255) < 12);
    }
}

/// Bits that no events could have set are refused, and weights, which distinct items do not have.
#[test]
fn impossible_bits_are_refused() {
    let state = |events: u64, bytes: &[u8]| {
        let mut all = vec![1, 0];
        all.extend([9; 16]);
        all.extend(events.to_le_bytes());
        all.extend(bytes);
        let spec = description(Some(4));
        PartialCounts::restore(spec, &SavedState::from_bytes(all)).map_err(message)
    };
    let mut bits = [0; BYTES];
    (bits[0], bits[39]) = (0b101, 0x80);
    assert!(state(3, &bits).is_ok());
    assert!(state(4, &bits).is_ok());
    let found = state(2, &bits).unwrap_err();
    assert!(found.contains("bits that the events allow"), "{found}");
    assert!(state(5, &bits).unwrap_err().contains("at most 4 events"));
    assert!(state(3, &bits[..39]).is_err());
    assert!(state(3, &[&bits[..], &[0]].concat()).is_err());
    let mut partial = PartialCounts::new(description(Some(4))).unwrap();
    let found = message(
        partial
            .update_many(Items::Ready(&[1]), Some(&[1]))
            .unwrap_err(),
    );
    assert_eq!(
        found,
        "weights: expected none, for distinct items, got some"
    );
    assert_eq!(partial.events(), Ok(0));
    // Other kinds and other numbers of bits are of another table.
    let other = spec(TableKind::CountMin, 4);
    assert!(partial.gather(&counted(other, &[1])).is_err());
    assert!(sketch(TableKind::CountMin).add_partial(&partial).is_err());
    assert!(count().add_partial(&counted(other, &[1])).is_err());
}
