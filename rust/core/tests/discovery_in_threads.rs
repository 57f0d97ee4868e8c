//! Discovery in several threads is discovery in one: same names, each of the same epoch, and the same
//! after everything that follows; the table is that of the sketch alone.

use lazysketch_core::discovery::name::Kept;
use lazysketch_core::discovery::spec::{DiscoverySpec, Variant};
use lazysketch_core::item::Item;
use lazysketch_core::key::{Identity, MasterKey, SketchId};
use lazysketch_core::mechanism::MechanismKind;
use lazysketch_core::parameters::TableKind;
use lazysketch_core::schedule::Schedule;
use lazysketch_core::sketch::PrivateSketch;
use lazysketch_core::sketch::heavy_hitters::HeavySketch;
use lazysketch_core::table::items::Items;
use seeded::{MAX_WEIGHT, seeded, shape, spec};

mod seeded;

/// Enough for four threads.
const EVENTS: usize = (4 << 15) + 1_000;
const EPOCH: u64 = 40;
const KINDS: usize = 400;

fn both(capacity: u32, counted_weight: u64) -> (HeavySketch, PrivateSketch) {
    let schedule = Schedule::geometric();
    let noise = spec(schedule, MechanismKind::Haar);
    let discovery = DiscoverySpec {
        // So little noise and so low a threshold that new names come late too.
        epsilon: 2.0,
        delta: 1e-4,
        relation: noise.relation,
        max_events_per_user: noise.max_events_per_user,
        max_weight: noise.max_weight,
        counted_weight,
        steps_per_epoch: EPOCH,
        events_per_step: schedule.events_per_step(),
        capacity,
        max_item_bytes: 16,
    };
    let (shape, key) = (shape(TableKind::CountMin, 2, 5), MasterKey::seeded(1));
    // Those of `seeded`.
    let identity = Identity::chosen(SketchId([3; 16]));
    let heavy = HeavySketch::new(shape, noise, discovery, &key, identity).unwrap();
    (heavy, seeded(shape, noise, 1))
}

/// Short texts, texts that are cut, and some long enough to be found by their place in memory.
fn texts() -> Vec<String> {
    let text = |number: usize| format!("{}{number}", "x".repeat([0, 12, 30, 600][number % 4]));
    (0..KINDS).map(text).collect()
}

/// Items of which others are frequent in every stretch of a thousand.
fn events(texts: &[String]) -> Vec<Item<'_>> {
    let mut state = 7_u64;
    let mut draw = |end: u64| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 33) % end
    };
    let number = |at: usize, kind: u64, rare: u64| match kind {
        0 => rare as usize,
        _ => at / 1_000 * 3 % KINDS,
    };
    (0..EVENTS)
        .map(|at| match number(at, draw(3), draw(KINDS as u64)) {
            number if number % 5 == 0 => Item::Signed(number as i64),
            number => Item::Text(&texts[number]),
        })
        .collect()
}

fn published(sketch: &HeavySketch) -> Vec<(Kept, u64)> {
    let names = sketch.discovery().candidates();
    names.map(|(kept, epoch)| (kept.clone(), epoch)).collect()
}

/// The batch begins with an epoch, or within one.
#[test]
fn any_number_of_threads_publishes_the_same_names() {
    let texts = texts();
    let events = events(&texts);
    let weights: Vec<u64> = (0..EVENTS as u64).map(|at| at % (MAX_WEIGHT + 1)).collect();
    for (capacity, counted, variant) in [
        (12, 1, Variant::MisraGries),
        (12, 3, Variant::MisraGries),
        (1 << 16, 1, Variant::Dictionary),
        (1 << 16, 3, Variant::Dictionary),
    ] {
        for begun in [0, 17] {
            let runs = [1, 2, 3, 200].map(|threads| {
                let (mut sketch, mut alone) = both(capacity, counted);
                assert_eq!(sketch.discovery().design().variant, variant);
                let weights = (counted > 1).then_some(&weights[..]);
                let cut = |from: usize, to: usize| {
                    let weights = weights.map(|weights| &weights[from..to]);
                    (Items::Mixed(&events[from..to]), weights)
                };
                for (from, to) in [(0, begun), (begun, EVENTS), (0, EVENTS / 2)] {
                    let (items, weights) = cut(from, to);
                    sketch
                        .update_many_in_threads(items, weights, threads)
                        .unwrap();
                    alone.update_many(items, weights).unwrap();
                }
                let (ours, theirs) = (sketch.sketch_mut().release(), alone.release());
                assert_eq!(ours.unwrap().table(), theirs.unwrap().table());
                let before = published(&sketch);
                let epoch = sketch.discovery().epoch();
                // The open epoch has the same counts.
                let (items, weights) = cut(0, EPOCH as usize);
                sketch.update_many(items, weights).unwrap();
                sketch.end_epoch().unwrap();
                (before, epoch, published(&sketch))
            });
            let epochs: std::collections::BTreeSet<_> =
                runs[0].0.iter().map(|name| name.1).collect();
            assert!(epochs.len() > 20, "{} {capacity} {counted}", epochs.len());
            for other in &runs[1..] {
                assert!(*other == runs[0], "{capacity} {counted} {begun}");
            }
        }
    }
}
