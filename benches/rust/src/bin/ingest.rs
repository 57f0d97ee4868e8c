//! Ingest without Python, printed as JSON lines for `python -m benches`: our sketches, a direct
//! implementation of the paper's algorithms and an exact loop, interleaved, one run per contender
//! and round.
//!
//!     ingest table|scaling ROUNDS [quick]
//!
//! `table`: by skew, depth and width. `scaling`: cost per event by step, width, depth and number of
//! threads.

use lazysketch_benches::interleaved::{Contender, Measured, measured};
use lazysketch_benches::paper::{PlainCountMin, PlainSketch};
use lazysketch_benches::sketches::{exact, private};
use lazysketch_benches::streams::zipf;
use lazysketch_core::parameters::TableKind;
use lazysketch_core::schedule::Schedule;
use lazysketch_core::table::items::Items;
use std::hint::black_box;

const EVENTS: usize = 1_000_000;
const HORIZON: u64 = 1 << 40;
/// The paper's counters take about 145 bytes per cell, so wider tables of them are omitted.
const MAX_PLAIN_WIDTH: u32 = 1 << 16;
const KINDS: [(&str, TableKind); 2] = [
    ("CountMin", TableKind::CountMin),
    ("CountSketch", TableKind::CountSketch),
];

fn schedules() -> [(&'static str, Schedule); 2] {
    [
        ("round robin", Schedule::round_robin(HORIZON)),
        ("geometric", Schedule::geometric()),
    ]
}

/// Parameters of a measurement, printed with its results.
struct Setting {
    skew: f64,
    depth: u32,
    width: u32,
    step: u64,
    threads: usize,
}

fn print(group: &str, setting: &Setting, results: &[Measured]) {
    let Setting {
        skew,
        depth,
        width,
        step,
        threads,
    } = setting;
    for Measured {
        name,
        median,
        minimum,
    } in results
    {
        println!(
            r#"{{"group": "{group}", "name": "{name}", "skew": {skew}, "depth": {depth}, "width": {width}, "step": {step}, "threads": {threads}, "ns": {median:.4}, "least_ns": {minimum:.4}}}"#
        );
    }
}

fn table(items: &[i64], setting: &Setting, rounds: usize) {
    let (depth, width) = (setting.depth, setting.width);
    let mut baseline = PlainCountMin::new(depth as usize, width as usize, 1);
    let mut contenders = vec![Contender::new("plain loop, exact", EVENTS, || {
        items.iter().for_each(|&item| baseline.update(item as u64));
        black_box(baseline.table());
    })];
    if width <= MAX_PLAIN_WIDTH {
        let mut lazy = PlainSketch::new(depth as usize, width as usize, 1 << 30, 60.0, 1);
        let part = &items[..EVENTS / 10];
        contenders.push(Contender::new(
            "the paper's LazyCMS",
            part.len(),
            move || {
                part.iter()
                    .for_each(|&item| lazy.update_lazily(item as u64));
                black_box(lazy.released());
            },
        ));
    }
    for (name, kind) in KINDS {
        let mut ours = exact(kind, depth, width);
        contenders.push(Contender::new(name, EVENTS, move || {
            ours.update_many(Items::Signed(items), None).expect("room");
        }));
        for (label, schedule) in schedules() {
            let mut ours = private(kind, depth, width, schedule);
            let name = format!("Lazy{name}, {label}");
            contenders.push(Contender::new(name, EVENTS, move || {
                ours.update_many(Items::Signed(items), None).expect("room");
            }));
        }
    }
    print("ingest", setting, &measured(&mut contenders, rounds));
}

fn punctual(items: &[i64], rounds: usize) {
    let setting = Setting {
        skew: 1.3,
        depth: 3,
        width: 250,
        step: 0,
        threads: 1,
    };
    let part = &items[..1_000];
    let mut plain = PlainSketch::new(3, 250, 1 << 30, 60.0, 1);
    let schedule = Schedule::Punctual { horizon: HORIZON };
    let mut ours = private(TableKind::CountMin, 3, 250, schedule);
    let mut lazy = private(TableKind::CountMin, 3, 250, Schedule::round_robin(HORIZON));
    let mut contenders = vec![
        Contender::new("the paper's PunctualCMS", part.len(), || {
            part.iter()
                .for_each(|&item| plain.update_punctually(item as u64));
            black_box(plain.released());
        }),
        Contender::new("PunctualCountMin", EVENTS, || {
            ours.update_many(Items::Signed(items), None).expect("room");
        }),
        Contender::new("LazyCountMin, round robin", EVENTS, || {
            lazy.update_many(Items::Signed(items), None).expect("room");
        }),
    ];
    print("punctual", &setting, &measured(&mut contenders, rounds));
}

/// Vary one parameter at a time from depth 3, width 1024, a late step and one thread.
fn scaling(items: &[i64], rounds: usize, quick: bool) {
    let usual = |step: u64| Setting {
        skew: 1.3,
        depth: 3,
        width: 1024,
        step,
        threads: 1,
    };
    let late = 1 << 26;
    let mut settings: Vec<(&str, Setting)> = Vec::new();
    for bits in (16..=30).step_by(if quick { 7 } else { 2 }) {
        settings.push(("step", usual(1 << bits)));
    }
    for bits in (8..=20).step_by(if quick { 6 } else { 2 }) {
        let width = 1 << bits;
        settings.push((
            "width",
            Setting {
                width,
                ..usual(late)
            },
        ));
    }
    for depth in 1..=if quick { 3 } else { 10 } {
        settings.push((
            "depth",
            Setting {
                depth,
                ..usual(late)
            },
        ));
    }
    for threads in 1..=std::thread::available_parallelism().map_or(1, usize::from) {
        settings.push((
            "threads",
            Setting {
                threads,
                ..usual(late)
            },
        ));
    }
    for (axis, setting) in &settings {
        let mut contenders = Vec::new();
        for (label, schedule) in schedules() {
            let mut ours = private(TableKind::CountMin, setting.depth, setting.width, schedule);
            ours.tick(setting.step).expect("room");
            let name = format!("LazyCountMin, {label}");
            contenders.push(Contender::new(name, EVENTS, move || {
                ours.update_many_in_threads(Items::Signed(items), None, setting.threads)
                    .expect("room");
            }));
        }
        print(axis, setting, &measured(&mut contenders, rounds));
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let rounds = arguments
        .get(1)
        .and_then(|rounds| rounds.parse().ok())
        .expect("a number of rounds");
    let quick = arguments.get(2).is_some_and(|word| word == "quick");
    let skewed = zipf(EVENTS, 1.3, 7);
    match arguments[0].as_str() {
        "table" => {
            let flat = zipf(EVENTS, 0.8, 7);
            let widths: &[u32] = if quick {
                &[1 << 10, 1 << 16]
            } else {
                &[1 << 8, 1 << 10, 1 << 13, 1 << 16, 1 << 20]
            };
            for (skew, items) in [(1.3, &skewed), (0.8, &flat)] {
                for &depth in if quick { &[3][..] } else { &[3, 5] } {
                    for &width in widths {
                        let setting = Setting {
                            skew,
                            depth,
                            width,
                            step: 0,
                            threads: 1,
                        };
                        table(items, &setting, rounds);
                    }
                }
            }
            punctual(&skewed, rounds);
        }
        "scaling" => scaling(&skewed, rounds, quick),
        other => panic!("expected table or scaling, got {other}"),
    }
}
