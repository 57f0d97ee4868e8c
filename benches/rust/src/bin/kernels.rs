//! One kernel, repeated, for instruction counts: `kernels NAME TIMES`. The count of N + M
//! repetitions minus that of N is the cost of M, without startup and exit of the process.

use lazysketch_benches::sketches::{exact, private};
use lazysketch_benches::streams::zipf;
use lazysketch_core::item::Item;
use lazysketch_core::parameters::TableKind;
use lazysketch_core::schedule::Schedule;
use lazysketch_core::table::items::Items;
use std::hint::black_box;

const EVENTS: usize = 1 << 14;
const WIDTH: u32 = 1024;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let times: usize = arguments[1].parse().expect("a number");
    let items = zipf(EVENTS, 1.3, 7);
    let texts: Vec<String> = items
        .iter()
        .map(|item| format!("{:012}", item.unsigned_abs() % 1_000_000_000_000))
        .collect();
    let text_items: Vec<Item<'_>> = texts.iter().map(|text| Item::Text(text)).collect();
    let integers = Items::Signed(&items);
    let round_robin = Schedule::round_robin(1 << 40);
    let ingest = |kind: TableKind, schedule: Schedule, items: Items<'_>| {
        let mut sketch = private(kind, 3, WIDTH, schedule);
        for _ in 0..times {
            sketch.update_many(items, None).expect("room");
        }
    };
    match arguments[0].as_str() {
        "exact-count-min" => {
            let mut sketch = exact(TableKind::CountMin, 3, WIDTH);
            for _ in 0..times {
                sketch.update_many(integers, None).expect("room");
            }
        }
        "lazy-count-min" => ingest(TableKind::CountMin, round_robin, integers),
        "lazy-count-min-geometric" => ingest(TableKind::CountMin, Schedule::geometric(), integers),
        "lazy-count-sketch" => ingest(TableKind::CountSketch, round_robin, integers),
        "lazy-count-min-text" => {
            ingest(TableKind::CountMin, round_robin, Items::Mixed(&text_items))
        }
        "lazy-count-min-single" => {
            let mut sketch = private(TableKind::CountMin, 3, WIDTH, round_robin);
            for _ in 0..times {
                for &item in &items {
                    sketch.update(black_box(item as u64), 1).expect("room");
                }
            }
        }
        "release" => {
            // The second release of a sketch draws what was pushed since the first one.
            for _ in 0..times {
                let mut sketch = private(TableKind::CountMin, 3, WIDTH, Schedule::geometric());
                sketch.tick(items.len() as u64).expect("room");
                black_box(sketch.release().expect("open"));
            }
        }
        "estimate" => {
            let mut sketch = private(TableKind::CountMin, 3, WIDTH, Schedule::geometric());
            sketch.update_many(integers, None).expect("room");
            for _ in 0..times {
                for &item in &items[..1024] {
                    black_box(sketch.estimate(item as u64).expect("open"));
                }
            }
        }
        other => panic!("expected a known kernel, got {other}"),
    }
}
