//! Batch ingest with discovery, compared in one run with the same sketch without it: 64-bit
//! integers and 12-byte texts, Zipf-distributed and all distinct. Depth 4, epochs of 10^4 to 10^6.

use lazysketch_benches::interleaved::{Contender, medians, print};
use lazysketch_benches::streams::zipf;
use lazysketch_core::discovery::spec::DiscoverySpec;
use lazysketch_core::item::Item;
use lazysketch_core::key::{Identity, MasterKey};
use lazysketch_core::mechanism::MechanismKind;
use lazysketch_core::parameters::{Calibration, NoiseSpec, Relation, Shape, TableKind};
use lazysketch_core::schedule::Schedule;
use lazysketch_core::sketch::PrivateSketch;
use lazysketch_core::sketch::heavy_hitters::HeavySketch;
use lazysketch_core::table::items::Items;

const EVENTS: usize = 1_000_000;
const ROUNDS: usize = 9;

const SHAPE: Shape = Shape {
    kind: TableKind::CountMin,
    depth: 4,
    width: 4096,
    hash_seed: 1,
};

fn spec() -> NoiseSpec {
    NoiseSpec {
        schedule: Schedule::geometric(),
        mechanism: MechanismKind::Haar,
        sigma: 60.0,
        relation: Relation::Substitution,
        calibration: Calibration::Analytic,
        epsilon: 1.0,
        delta: 1e-6,
        max_weight: 1,
        max_events_per_user: 1,
        max_changes: 1,
    }
}

fn without_discovery() -> PrivateSketch {
    let key = MasterKey::generate().expect("entropy");
    let identity = Identity::fresh().expect("entropy");
    PrivateSketch::new(SHAPE, spec(), &key, identity).expect("valid parameters")
}

fn with_discovery(steps_per_epoch: u64, capacity: u32) -> HeavySketch {
    let discovery = DiscoverySpec {
        epsilon: 1.0,
        delta: 1e-6,
        relation: Relation::Substitution,
        max_events_per_user: 1,
        max_weight: 1,
        counted_weight: 1,
        steps_per_epoch,
        events_per_step: 1,
        capacity,
        max_item_bytes: 64,
    };
    let key = MasterKey::generate().expect("entropy");
    let identity = Identity::fresh().expect("entropy");
    HeavySketch::new(SHAPE, spec(), discovery, &key, identity).expect("valid parameters")
}

fn contenders(title: &str, items: Items<'_>) {
    println!("{title}, depth 4, width 4096, batches of {EVENTS}");
    let mut sketch = without_discovery();
    let mut all = vec![Contender::new("the sketch alone", EVENTS, move || {
        sketch.update_many(items, None).expect("room");
    })];
    for (name, epoch, capacity) in [
        ("Misra-Gries, 256 of 10^4", 10_000, 256),
        ("Misra-Gries, 1024 of 10^5", 100_000, 1024),
        ("Misra-Gries, 4096 of 10^6", 1_000_000, 4096),
        ("dictionary, 10^4", 10_000, 10_000),
        ("dictionary, 10^5", 100_000, 100_000),
    ] {
        // Arguments select contenders by a part of their name, for profiling.
        if !std::env::args()
            .skip(1)
            .all(|part| format!("{title}: {name}").contains(&part) || part == "--bench")
        {
            continue;
        }
        let mut sketch = with_discovery(epoch, capacity);
        all.push(Contender::new(name, EVENTS, move || {
            sketch.update_many(items, None).expect("room");
        }));
    }
    print(&medians(&mut all, ROUNDS), "the sketch alone");
}

fn main() {
    let skewed = zipf(EVENTS, 1.3, 7);
    let distinct: Vec<i64> = (0..EVENTS as i64).collect();
    for (name, items) in [("Zipf 1.3", &skewed), ("all distinct", &distinct)] {
        contenders(&format!("{name}, 64-bit integers"), Items::Signed(items));
        let texts: Vec<String> = items
            .iter()
            .map(|&item| format!("{:012}", item.unsigned_abs() % 1_000_000_000_000))
            .collect();
        let text_items: Vec<Item<'_>> = texts.iter().map(|text| Item::Text(text)).collect();
        contenders(&format!("{name}, 12-byte text"), Items::Mixed(&text_items));
    }
}
