//! Batch ingest of 64-bit integers: ours against the paper's algorithms written plainly and
//! against exact sketches, in one run. Zipf 1.3 over 2^20 items, d = 3.

use lazysketch_benches::interleaved::{Contender, medians, print};
use lazysketch_benches::paper::{PlainCountMin, PlainSketch};
use lazysketch_benches::streams::zipf;
use lazysketch_core::batch::Items;
use lazysketch_core::exact::ExactSketch;
use lazysketch_core::key::{Identity, MasterKey};
use lazysketch_core::mechanism::MechanismKind;
use lazysketch_core::parameters::{Calibration, Kind, NoiseLaw, Relation, Shape};
use lazysketch_core::schedule::Schedule;
use lazysketch_core::sketch::PrivateSketch;
use std::hint::black_box;

const DEPTH: u32 = 3;
const EVENTS: usize = 1_000_000;
const ROUNDS: usize = 9;
const HORIZON: u64 = 1 << 40;

fn exact(kind: Kind, width: u32) -> ExactSketch {
    let shape = Shape {
        kind,
        depth: DEPTH,
        width,
        hash_seed: 1,
    };
    ExactSketch::new(shape).expect("a valid shape")
}

fn private(kind: Kind, width: u32, schedule: Schedule) -> PrivateSketch {
    let shape = Shape {
        kind,
        depth: DEPTH,
        width,
        hash_seed: 1,
    };
    let law = NoiseLaw {
        schedule,
        mechanism: MechanismKind::Haar,
        sigma: 60.0,
        relation: Relation::Substitution,
        calibration: Calibration::Analytic,
        epsilon: 1.0,
        delta: 1e-6,
        max_weight: 1,
        max_events_per_user: 1,
        max_changes: 1,
    };
    let key = MasterKey::generate().expect("entropy");
    PrivateSketch::new(shape, law, &key, Identity::fresh().expect("entropy")).expect("a valid law")
}

fn lazy_contenders(items: &[i64], width: u32) {
    println!("width {width}, depth {DEPTH}, batches of {EVENTS} (the plain ones one by one)");
    let plain_part = &items[..EVENTS / 10];
    let mut floor = PlainCountMin::new(DEPTH as usize, width as usize, 1);
    let leaves = 1 << 30;
    let mut lazy = PlainSketch::new(DEPTH as usize, width as usize, leaves, 60.0, 1);
    let mut contenders = vec![
        Contender::new("plain exact Count-Min, one by one", EVENTS, || {
            items.iter().for_each(|&item| floor.update(item as u64));
            black_box(floor.table());
        }),
        Contender::new(
            "the paper's LazyCMS, written plainly",
            plain_part.len(),
            || {
                plain_part
                    .iter()
                    .for_each(|&item| lazy.update_lazily(item as u64));
                black_box(lazy.released());
            },
        ),
    ];
    for (name, kind) in [
        ("CountMin", Kind::CountMin),
        ("CountSketch", Kind::CountSketch),
    ] {
        let mut ours = exact(kind, width);
        contenders.push(Contender::new(name, EVENTS, move || {
            ours.update_many(Items::Signed(items), None).expect("room");
        }));
        for (label, schedule) in [
            ("round robin", Schedule::round_robin(HORIZON)),
            ("geometric", Schedule::geometric()),
        ] {
            let mut ours = private(kind, width, schedule);
            contenders.push(Contender::new(
                format!("Lazy{name}, {label}"),
                EVENTS,
                move || {
                    ours.update_many(Items::Signed(items), None).expect("room");
                },
            ));
        }
    }
    print(
        &medians(&mut contenders, ROUNDS),
        "the paper's LazyCMS, written plainly",
    );
}

fn punctual_contenders(items: &[i64]) {
    let width = 250;
    println!("width {width}, depth {DEPTH}: punctual");
    let plain_part = &items[..2_000];
    let mut plain = PlainSketch::new(DEPTH as usize, width as usize, 1 << 30, 60.0, 1);
    let mut punctual = private(
        Kind::CountMin,
        width,
        Schedule::Punctual { horizon: HORIZON },
    );
    let mut lazy = private(Kind::CountMin, width, Schedule::round_robin(HORIZON));
    let mut contenders = vec![
        Contender::new(
            "the paper's PunctualCMS, written plainly",
            plain_part.len(),
            || {
                plain_part
                    .iter()
                    .for_each(|&item| plain.update_punctually(item as u64));
                black_box(plain.released());
            },
        ),
        Contender::new("PunctualCountMin", EVENTS, || {
            punctual
                .update_many(Items::Signed(items), None)
                .expect("room");
        }),
        Contender::new("LazyCountMin, round robin", EVENTS, || {
            lazy.update_many(Items::Signed(items), None).expect("room");
        }),
    ];
    print(
        &medians(&mut contenders, ROUNDS),
        "the paper's PunctualCMS, written plainly",
    );
}

fn main() {
    let items = zipf(EVENTS, 1.3, 7);
    for width in [1024, 65_536] {
        lazy_contenders(&items, width);
    }
    punctual_contenders(&items);
}
