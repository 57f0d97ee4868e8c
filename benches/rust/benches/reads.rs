//! Reads of a public table of 4 x 4096, compared in one run: the paper's estimate, the joint
//! estimate, intervals; live reads with and without a push since the last one.

use lazysketch_benches::interleaved::{Contender, measured, print};
use lazysketch_benches::sketches::private_with_noise;
use lazysketch_benches::streams::zipf;
use lazysketch_core::estimation::{Cover, ErrorModel, How, TableErrors};
use lazysketch_core::parameters::TableKind;
use lazysketch_core::release::Release;
use lazysketch_core::schedule::Schedule;
use lazysketch_core::sketch::PrivateSketch;
use lazysketch_core::table::items::Items;

const EVENTS: usize = 1_000_000;
const ITEMS: usize = 10_000;
const ROUNDS: usize = 15;
const DEPTH: u32 = 4;
const WIDTH: u32 = 4096;

const JOINT: How = How {
    joint: true,
    now: true,
};
const PAPER: How = How {
    joint: false,
    now: false,
};

fn sketch(kind: TableKind) -> PrivateSketch {
    private_with_noise(kind, [DEPTH, WIDTH], Schedule::geometric(), 20.0)
}

/// The errors of a release, as if all columns had been pushed at one step.
fn errors(release: &Release) -> TableErrors {
    TableErrors {
        signed: release.shape().kind == TableKind::CountSketch,
        collisions: true,
        depth: DEPTH as usize,
        table: release.table().to_vec().into(),
        published: vec![EVENTS as f64; WIDTH as usize],
        variance: vec![400.0; WIDTH as usize],
        step: EVENTS as f64,
    }
}

fn cover(level: f64, now: bool) -> Cover {
    Cover {
        level,
        deviations: 2.0,
        now,
        max_weight: 1.0,
        burstiness: 0.5,
    }
}

fn contenders(kind: TableKind, stream: &[i64]) {
    println!("{} {DEPTH} x {WIDTH}", kind.name());
    let mut live = sketch(kind);
    live.update_many(Items::Signed(stream), None).expect("room");
    let release = live.release().expect("an open sketch");
    let (model, prints) = (
        ErrorModel::of(errors(&release)).expect("a table"),
        release.fingerprinter(),
    );
    let asked = &stream[..ITEMS];
    let items: Vec<u64> = asked.iter().map(|&item| prints.signed(item)).collect();
    let cells = release.item_cells();
    let reader = release.reader(&cells);
    let mut all = vec![Contender::new("release, paper's", ITEMS, || {
        let sum: f64 = items.iter().map(|&item| reader.estimate(item)).sum();
        assert!(sum.is_finite());
    })];
    all.push(Contender::new("release, joint", ITEMS, || {
        let mut sum = 0.0;
        reader.for_each(&model, Items::Signed(asked), &prints, |paper, rows| {
            sum += model.estimate(paper, rows, JOINT);
        });
        assert!(sum.is_finite());
    }));
    all.push(Contender::new("release, first read", 1, || {
        ErrorModel::of(errors(&release)).expect("a table");
    }));
    for among in [1.0, 1e6] {
        let level = 0.025 / among;
        all.push(Contender::new(
            format!("release, first interval of {among}"),
            1,
            {
                let (model, reader, item) = (&model, &reader, items[0]);
                move || {
                    let (mut tests, mut rows) = (model.tests(level), Vec::new());
                    let rows = reader.rows(model, item, &mut rows);
                    assert!(model.bounds(rows, cover(level, true), &mut tests).high > 0.0);
                }
            },
        ));
        for (name, now) in [("now", true), ("published", false)] {
            let (model, reader, items) = (&model, &reader, &items);
            let mut tests = model.tests(level);
            all.push(Contender::new(
                format!("release, interval of {among}, {name}"),
                ITEMS,
                move || {
                    let mut rows = Vec::new();
                    for &item in items {
                        let rows = reader.rows(model, item, &mut rows);
                        assert!(model.bounds(rows, cover(level, now), &mut tests).high >= 0.0);
                    }
                },
            ));
        }
    }
    print(&fastest(&mut all), "release, paper's");
    drop(all);
    let (live, view) = (std::cell::RefCell::new(live), std::cell::RefCell::new(None));
    let each = |how: How| {
        let (live, view, items) = (&live, &view, &items);
        move || {
            let (mut live, mut view) = (live.borrow_mut(), view.borrow_mut());
            for &item in items {
                let found = live
                    .estimate_by(item, how, &mut view)
                    .expect("an open sketch");
                assert!(found.is_finite());
            }
        }
    };
    // After a million events a round of the geometric schedule has ten thousand steps.
    let mut all = vec![
        Contender::new("live, paper's", ITEMS, each(PAPER)),
        Contender::new("live, joint, nothing pushed since", ITEMS, each(JOINT)),
        Contender::new("live, joint, after a push", 100, || {
            let (mut live, mut view) = (live.borrow_mut(), view.borrow_mut());
            for &item in &items[..100] {
                live.tick(3).expect("room");
                live.estimate_by(item, JOINT, &mut view)
                    .expect("an open sketch");
            }
        }),
        Contender::new("live, three steps", 100, || {
            let mut live = live.borrow_mut();
            for _ in 0..100 {
                live.tick(3).expect("room");
            }
        }),
    ];
    print(&fastest(&mut all), "live, paper's");
}

/// Nanoseconds of the fastest round of each.
fn fastest(all: &mut [Contender<'_>]) -> Vec<(String, f64)> {
    let measured = measured(all, ROUNDS).into_iter();
    measured.map(|one| (one.name, one.minimum)).collect()
}

fn main() {
    let stream = zipf(EVENTS, 1.1, 7);
    contenders(TableKind::CountMin, &stream);
    contenders(TableKind::CountSketch, &stream);
}
