//! Reads of a live sketch, after any pushes in between, against its release: the estimates follow
//! from the public table, and from steps and variances of its columns by the definition.

use lazysketch_core::estimation::{ErrorModel, How, Row, TableErrors};
use lazysketch_core::mechanism::MechanismKind;
use lazysketch_core::parameters::{Shape, TableKind};
use lazysketch_core::peeling::{Cell, Peeled};
use lazysketch_core::release::Release;
use lazysketch_core::schedule::{Growth, Schedule};
use lazysketch_core::sketch::PrivateSketch;
use lazysketch_core::sketch::public_view::PublicView;
use lazysketch_core::table::hash::RowHashes;
use lazysketch_core::table::items::Items;
use seeded::{MAX_WEIGHT, seeded, shape, spec};
use std::sync::Arc;

mod seeded;

/// More than a read of four rows computes at a time.
const ITEMS: u64 = 20;
/// Of these also one by one.
const ALONE: usize = 5;
const HOWS: [How; 4] = [
    How {
        joint: true,
        now: true,
    },
    How {
        joint: true,
        now: false,
    },
    How {
        joint: false,
        now: true,
    },
    How {
        joint: false,
        now: false,
    },
];

fn schedules() -> [Schedule; 5] {
    let growth = Growth {
        numerator: 1,
        denominator: 3,
    };
    [
        Schedule::RoundRobin {
            horizon: 3_000,
            period: 2,
        },
        Schedule::Geometric { growth, rounds: 40 },
        Schedule::Punctual { horizon: 3_000 },
        Schedule::Single {
            horizon: Some(3_000),
        },
        Schedule::Batch { horizon: 3_000 },
    ]
}

/// Signed values of an item's cells, with their columns.
fn cells(shape: &Shape, release: &Release, item: u64) -> Vec<(usize, f64)> {
    let hashes = RowHashes::new(shape.hash_seed, shape.depth, shape.width);
    let cell = |row: usize| {
        let (column, sign) = match shape.kind {
            TableKind::CountMin => (hashes.column(row, item), 1),
            TableKind::CountSketch => {
                (hashes.column(row, item), 1 + 2 * hashes.negative(row, item))
            }
            TableKind::Counters
            | TableKind::Distinct { .. }
            | TableKind::Values { .. }
            | TableKind::Ranges => (item as usize, 1),
        };
        let value = release.table()[row * shape.width as usize + column];
        (column, (sign * value) as f64)
    };
    (0..shape.depth as usize).map(cell).collect()
}

/// The minimum or the median of the values.
fn paper(shape: &Shape, cells: &[(usize, f64)]) -> f64 {
    let mut values: Vec<f64> = cells.iter().map(|(_, value)| *value).collect();
    values.sort_by(f64::total_cmp);
    match shape.kind {
        TableKind::CountSketch => {
            f64::midpoint(values[(values.len() - 1) / 2], values[values.len() / 2])
        }
        _ => values[0],
    }
}

/// The errors of a release's table: each column was last pushed at some step, with the variance of
/// that push.
fn model(release: &Release, finished: bool) -> ErrorModel {
    let (shape, part) = (*release.shape(), &release.parts()[0]);
    let spec = part.noise.unwrap();
    let mechanism = spec.mechanism(&shape).unwrap();
    let (mut published, mut variance) = (Vec::new(), Vec::new());
    for column in 0..shape.width {
        let pushes = |step: u64| spec.schedule.progress(step, shape.width).pushes(column);
        let last = pushes(part.step);
        let step = (0..=part.step).find(|&step| pushes(step) == last).unwrap();
        let progress = spec.schedule.progress(part.step, shape.width);
        let number = match part.finished {
            Some(numbers) => numbers[usize::from(column < progress.column)],
            None => last,
        };
        published.push(if finished { part.step } else { step } as f64);
        let noise = if number == 0 {
            0.0
        } else {
            mechanism.variance(number)
        };
        variance.push(spec.sigma * spec.sigma * noise);
    }
    ErrorModel::of(TableErrors {
        signed: shape.kind == TableKind::CountSketch,
        collisions: shape.kind != TableKind::Counters,
        depth: shape.depth as usize,
        table: release.table().to_vec().into(),
        published,
        variance,
        step: part.step as f64,
    })
    .unwrap()
}

fn assert_close(found: f64, expected: f64, what: &str) {
    let scale = expected.abs().max(1.0);
    assert!(
        (found - expected).abs() < 1e-6 * scale,
        "{what}: {found}, {expected}"
    );
}

fn assert_reads(sketch: &mut PrivateSketch, views: &mut [Option<PublicView>; 2], what: &str) {
    let release = sketch.release().unwrap();
    let shape = *release.shape();
    let model = model(&release, sketch.is_finished());
    let items: Vec<u64> = match shape.kind {
        TableKind::Counters => (0..u64::from(shape.width)).collect(),
        _ => (0..ITEMS).collect(),
    };
    let expected: Vec<_> = items
        .iter()
        .map(|&item| {
            let cells = cells(&shape, &release, item);
            let rows: Vec<Row> = cells
                .iter()
                .filter_map(|&(column, value)| model.row(column, value))
                .collect();
            (paper(&shape, &cells), rows)
        })
        .collect();
    let many = sketch.estimate_many(Items::Ready(&items)).unwrap();
    assert_eq!(
        many,
        expected.iter().map(|(paper, _)| *paper).collect::<Vec<_>>(),
        "{what}"
    );
    let mut number = 0;
    release.reader(&release.item_cells()).for_each(
        &model,
        Items::Ready(&items),
        &release.fingerprinter(),
        |paper, rows| {
            assert_eq!(
                (paper, rows.len()),
                (expected[number].0, expected[number].1.len())
            );
            for (found, expected) in rows.iter().zip(&expected[number].1) {
                assert_eq!((found.value, found.share), (expected.value, expected.share));
            }
            number += 1;
        },
    );
    assert_eq!(number, items.len());
    for how in HOWS {
        let [one, all] = &mut *views;
        let many = sketch
            .estimate_many_by(Items::Ready(&items), how, all)
            .unwrap();
        assert_eq!(many.len(), items.len());
        for (position, (found, (paper, rows))) in many.into_iter().zip(&expected).enumerate() {
            let item = items[position];
            let what = format!("{what}, {how:?}, item {item}");
            assert_close(found, model.estimate(*paper, rows, how), &what);
            if position < ALONE {
                assert_close(sketch.estimate_by(item, how, one).unwrap(), found, &what);
            }
        }
    }
}

/// A few pushes between reads, many, none, and the final ones.
fn assert_live_reads(shape: Shape) {
    for schedule in schedules() {
        let mut sketch = seeded(shape, spec(schedule, MechanismKind::Haar), 5);
        let mut views = [None, None];
        let mut event = 0_u64;
        // Of the rounds of 80 steps, the second ends between two reads that are close.
        for events in [0, 1, 40, 3, 2, 0, 112, 3, 60, 1, 4] {
            for _ in 0..events {
                event += 1;
                let item = event * event % 7 * (event % 5) % u64::from(shape.width);
                sketch.update(item, 1 + event % MAX_WEIGHT).unwrap();
            }
            assert_reads(
                &mut sketch,
                &mut views,
                &format!("{schedule:?}, step {event}"),
            );
        }
        sketch.finish().unwrap();
        assert_reads(&mut sketch, &mut views, &format!("{schedule:?}, finished"));
    }
}

#[test]
fn live_estimates_of_count_min_are_those_of_the_release() {
    assert_live_reads(shape(TableKind::CountMin, 3, 40));
}

#[test]
fn live_estimates_of_count_sketch_are_those_of_the_release() {
    assert_live_reads(shape(TableKind::CountSketch, 4, 40));
}

#[test]
fn live_estimates_of_counters_are_those_of_the_release() {
    assert_live_reads(shape(TableKind::Counters, 1, 24));
}

/// A list in any order, with an item twice: each has the count of its name, and the names are decoded
/// together, once each.
#[test]
fn a_list_is_decoded_by_its_names() {
    for kind in [TableKind::CountMin, TableKind::CountSketch] {
        let schedule = Schedule::Punctual { horizon: 3_000 };
        let mut sketch = seeded(shape(kind, 4, 64), spec(schedule, MechanismKind::Haar), 5);
        for event in 0..400_u64 {
            sketch.update(event * event % 31, 3).unwrap();
        }
        let release = sketch.release().unwrap();
        let model = Arc::new(model(&release, false));
        let list = [7, 30, 1, 4, 30, 9, 0, 16, 7];
        let mut names = list.to_vec();
        names.sort_unstable();
        names.dedup();
        let hashes = RowHashes::new(release.shape().hash_seed, 4, 64);
        let cells_of = |names: &[u64]| -> Vec<Cell> {
            let rows = names
                .iter()
                .flat_map(|&name| (0..4).map(move |row| (name, row)));
            let cells = rows.map(|(name, row)| {
                let is_signed = kind == TableKind::CountSketch;
                let negative = is_signed && hashes.negative(row, name) != 0;
                Cell {
                    at: (row * 64 + hashes.column(row, name)) as u32,
                    sign: if negative { -1.0 } else { 1.0 },
                }
            });
            cells.collect()
        };
        let peeled = Peeled::of(Arc::clone(&model), cells_of(&names)).unwrap();
        let counts = peeled.estimates(&cells_of(&names)).unwrap();
        let listed = Peeled::of(model, cells_of(&list)).unwrap();
        let found = listed.estimates(&cells_of(&list)).unwrap();
        let expected = list.map(|item| counts[names.binary_search(&item).unwrap()]);
        assert_eq!(found, expected);
        // They differ, and are near the counts.
        assert!(expected[0] != expected[1]);
        let of_one = (0..400_u64).filter(|event| event * event % 31 == 1).count();
        assert!(
            (expected[2] - 3.0 * of_one as f64).abs() < 60.0,
            "{expected:?}"
        );
    }
}

/// Tables of several chunks: what was never pushed is 0, the rest has the draw of its own cell.
#[test]
fn the_first_round_of_a_wide_table() {
    let schedule = Schedule::RoundRobin {
        horizon: 3_000,
        period: 1,
    };
    let mut sketch = seeded(
        shape(TableKind::CountMin, 3, 200),
        spec(schedule, MechanismKind::Binary),
        5,
    );
    sketch.tick(90).unwrap();
    let table = sketch.release().unwrap().table().to_vec();
    for (cell, value) in (0..).zip(table) {
        // The first node is the first push alone.
        let expected = if cell % 200 < 90 {
            sketch.draws(&[cell], &[1]).unwrap()[0]
        } else {
            0
        };
        assert_eq!(value, expected, "cell {cell}");
    }
}

/// The oracle of tests reads every cell and node of the table, and no other.
#[test]
fn draws_have_the_cells_and_nodes_of_the_table() {
    let spec = spec(
        Schedule::RoundRobin {
            horizon: 64,
            period: 1,
        },
        MechanismKind::Binary,
    );
    let sketch = seeded(shape(TableKind::CountMin, 2, 4), spec, 5);
    // 16 pushes of a column, and the extra leaf.
    assert_eq!(sketch.draws(&[0, 7], &[1, 16, 17]).unwrap().len(), 6);
    for (cells, nodes) in [
        (&[8][..], &[1][..]),
        (&[0], &[0]),
        (&[0], &[18]),
        (&[0], &[1, 19]),
    ] {
        assert!(sketch.draws(cells, nodes).is_err(), "{cells:?} {nodes:?}");
    }
}

#[test]
fn counters_are_read_by_index_only() {
    let mut sketch = seeded(
        shape(TableKind::Counters, 1, 4),
        spec(Schedule::geometric(), MechanismKind::Haar),
        5,
    );
    let how = HOWS[0];
    for items in [Items::Signed(&[1, 2]), Items::Ready(&[0, 4])] {
        assert!(sketch.estimate_many(items).is_err());
        assert!(sketch.estimate_many_by(items, how, &mut None).is_err());
        assert!(sketch.update_many(items, None).is_err());
    }
    assert!(sketch.estimate_by(4, how, &mut None).is_err());
    assert!(sketch.estimate(4).is_err());
}
