//! Names published by discovery against its definition, with more than 1,000 slots and 12 epochs:
//! every slot of every epoch has noise of its own, under Misra-Gries together with the shared one.
//! The key, the blocks and the draws are computed here.

use definition::{Cipher, derived, discovery_parameters};
use lazysketch_core::discovery::spec::{DiscoverySpec, Variant};
use lazysketch_core::item::Item;
use lazysketch_core::key::{Identity, MasterKey, SketchId};
use lazysketch_core::mechanism::MechanismKind;
use lazysketch_core::parameters::{NoiseSpec, Relation, TableKind};
use lazysketch_core::schedule::Schedule;
use lazysketch_core::sketch::heavy_hitters::HeavySketch;
use lazysketch_core::table::items::Items;
use seeded::{MAX_WEIGHT, shape, spec};
use std::collections::BTreeMap;

mod definition;
#[allow(dead_code, reason = "other tests use the rest")]
mod seeded;

const EPOCHS: u64 = 12;
const ITEMS: u64 = 1_100;
const ID: SketchId = SketchId([3; 16]);

fn sketch(discovery: DiscoverySpec) -> HeavySketch {
    let noise = NoiseSpec {
        relation: Relation::ZeroOut,
        ..spec(Schedule::geometric(), MechanismKind::Haar)
    };
    let table = shape(TableKind::CountMin, 2, 8);
    HeavySketch::new(
        table,
        noise,
        discovery,
        &MasterKey::seeded(5),
        Identity::chosen(ID),
    )
    .unwrap()
}

/// A threshold of a few events, so that the noise decides about most names.
fn discovery(counted_weight: u64, steps_per_epoch: u64) -> DiscoverySpec {
    DiscoverySpec {
        epsilon: 2.0,
        delta: 0.2,
        relation: Relation::ZeroOut,
        max_events_per_user: 1,
        max_weight: MAX_WEIGHT,
        counted_weight,
        steps_per_epoch,
        events_per_step: 1,
        capacity: 1_200,
        max_item_bytes: 16,
    }
}

/// Probabilities of the digits, times 2^128: odds e^(-epsilon 2^i).
fn check_digits(digits: &[u128], epsilon: f64) {
    for (i, &digit) in digits.iter().enumerate() {
        let p = 1.0 / (1.0 + (epsilon * 2_f64.powi(i as i32)).exp());
        assert!(
            (digit as f64 / 2_f64.powi(128) / p - 1.0).abs() < 1e-9,
            "digit {i}"
        );
    }
    let largest = (2_f64.powi(digits.len() as i32) - 1.0) * epsilon;
    assert!(largest >= 60.0, "{largest}");
}

/// The item in slot `slot` of an epoch; the items of two epochs are distinct.
fn item(epoch: u64, slot: u64) -> i64 {
    (epoch * 10_000 + slot) as i64
}

fn published(sketch: &HeavySketch) -> BTreeMap<i64, u64> {
    let names = sketch.discovery().candidates();
    names
        .map(|(kept, epoch)| {
            let bytes: [u8; 8] = kept.bytes[..].try_into().unwrap();
            (i64::from_le_bytes(bytes), epoch)
        })
        .collect()
}

/// The rank of each item of an epoch among the identities of a table that no item had to leave:
/// those of the items, and of the largest dummies where items took the place of the smallest.
fn ranks(sketch: &HeavySketch, epoch: u64) -> Vec<u64> {
    let items: Vec<i64> = (0..ITEMS).map(|slot| item(epoch, slot)).collect();
    let mut dummies = sketch.identities(Items::Signed(&items)).unwrap();
    let found = dummies.split_off(dummies.len() - items.len());
    dummies.sort_unstable();
    let rest = match sketch.discovery().design().variant {
        Variant::Dictionary => &[],
        Variant::MisraGries => &dummies[items.len()..],
    };
    let rank = |identity| {
        let before = found.iter().chain(rest);
        before.filter(|&&other| other < identity).count() as u64
    };
    found.iter().map(|&identity| rank(identity)).collect()
}

/// The names whose count + shared noise + own noise reaches the threshold. The shared noise is
/// drawn at 0, that of the r-th identity at r.
fn expected(
    sketch: &mut HeavySketch,
    spec: &DiscoverySpec,
    count: impl Fn(u64) -> i64,
    threshold: i64,
) -> BTreeMap<i64, u64> {
    let design = sketch.discovery().design().clone();
    assert_eq!(design.threshold, threshold);
    if design.variant == Variant::MisraGries {
        check_digits(design.noise_digits(), design.rates.rising);
    }
    let release = sketch.sketch_mut().release().unwrap();
    let parameters = discovery_parameters(&release, spec);
    let key = derived(
        &MasterKey::seeded(5),
        "lazysketch discovery noise",
        ID,
        &parameters,
    );
    let mut names = BTreeMap::new();
    for epoch in 0..EPOCHS {
        let cipher = Cipher::of_epoch(&key, epoch);
        let shared = match design.variant {
            Variant::Dictionary => 0,
            Variant::MisraGries => cipher.laplace(design.noise_digits(), 0),
        };
        let ranks = ranks(sketch, epoch);
        for slot in 0..ITEMS {
            let rank = ranks[slot as usize] + 1;
            let is_published = match design.variant {
                Variant::Dictionary => {
                    cipher.block(rank, 0) < design.probabilities()[count(slot) as usize]
                }
                Variant::MisraGries => {
                    let own = cipher.laplace(design.noise_digits(), rank);
                    count(slot) + shared + own >= threshold
                }
            };
            if is_published {
                names.insert(item(epoch, slot), epoch);
            }
        }
    }
    names
}

/// Neither all nor none of an epoch's names, or the noise would not have decided.
fn assert_mixed(names: &BTreeMap<i64, u64>) {
    for epoch in 0..EPOCHS {
        let found = names.values().filter(|&&of| of == epoch).count();
        assert!(
            (10..ITEMS as usize - 10).contains(&found),
            "{epoch}: {found}"
        );
    }
}

#[test]
fn dictionary_names_follow_from_the_noise_of_each_slot() {
    let mut spec = discovery(3, 2 * ITEMS);
    spec.capacity = 2 * ITEMS as u32;
    let mut sketch = sketch(spec);
    assert_eq!(sketch.discovery().design().variant, Variant::Dictionary);
    let weight = |slot: u64, turn: u32| 1 + slot / MAX_WEIGHT.pow(turn) % MAX_WEIGHT;
    for epoch in 0..EPOCHS {
        for turn in 0..2 {
            let items: Vec<i64> = (0..ITEMS).map(|slot| item(epoch, slot)).collect();
            let weights: Vec<u64> = (0..ITEMS).map(|slot| weight(slot, turn)).collect();
            sketch
                .update_many(Items::Signed(&items), Some(&weights))
                .unwrap();
        }
    }
    // A unit is a weight of 3: sums up to 3 are one unit, larger ones two. p(1) = 0.2, and
    // p(2) = 1 - e^-2 (1 - p(1)) = 0.89.
    let sum = |slot: u64| weight(slot, 0).min(3) + weight(slot, 1).min(3);
    let units = |slot: u64| if sum(slot) <= 3 { 1 } else { 2 };
    let names = expected(&mut sketch, &spec, units, 4);
    assert_mixed(&names);
    assert_eq!(published(&sketch), names);
}

/// Fewer items than slots: only dummies are evicted.
#[test]
fn misra_gries_names_follow_from_shared_and_own_noise() {
    let times = |slot: u64| 1 + slot % 4;
    let events: u64 = (0..ITEMS).map(times).sum();
    let spec = discovery(1, events);
    let mut sketch = sketch(spec);
    assert_eq!(sketch.discovery().design().variant, Variant::MisraGries);
    for epoch in 0..EPOCHS {
        for turn in 0..4 {
            let slots = (0..ITEMS).filter(|&slot| turn < times(slot));
            let items: Vec<i64> = slots.map(|slot| item(epoch, slot)).collect();
            sketch.update_many(Items::Signed(&items), None).unwrap();
        }
    }
    let names = expected(&mut sketch, &spec, |slot| times(slot) as i64, 3);
    assert_eq!(published(&sketch), names);
    let found = names.len() as u64;
    assert!(
        (EPOCHS * ITEMS / 10..EPOCHS * ITEMS * 9 / 10).contains(&found),
        "{found}"
    );
}

/// Without evictions of items both variants publish an item by its own noise, whatever its type.
#[test]
fn an_epoch_that_was_ended_early_never_repeats_its_noise() {
    let spec = discovery(1, ITEMS);
    let mut sketch = sketch(spec);
    let mut names = Vec::new();
    for epoch in 0..EPOCHS {
        for slot in 0..300 {
            sketch.update(Item::Signed(item(epoch, slot)), 5).unwrap();
        }
        sketch.end_epoch().unwrap();
        let found = published(&sketch)
            .into_iter()
            .filter(|&(_, of)| of == epoch);
        names.push(
            found
                .map(|(name, _)| name - item(epoch, 0))
                .collect::<Vec<_>>(),
        );
    }
    for (later, found) in names.iter().enumerate() {
        assert!(!found.is_empty() && names[..later].iter().all(|other| other != found));
    }
}
