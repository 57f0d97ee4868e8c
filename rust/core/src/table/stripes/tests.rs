//! Batches in stripes are those of single events.

use super::*;
use crate::parameters::TableKind;
use crate::schedule::Schedule;
use crate::table::hash::{Fingerprinter, RowHashes};
use crate::table::items::Items;
use crate::table::kernels::{Index, Signed, Unsigned};
use crate::table::range_rows::RangeRows;

/// A batch, and what finds its cells.
struct Stream {
    items: Vec<u64>,
    /// In two's complement if they have signs.
    weights: Option<Vec<u64>>,
    signed: bool,
    kind: TableKind,
    hashes: RowHashes,
    fingerprinter: Fingerprinter,
}

impl Stream {
    /// The kinds of tables; weights of 1, without and with signs.
    fn all([depth, width]: [u32; 2]) -> impl Iterator<Item = Self> {
        let kinds = [
            TableKind::CountMin,
            TableKind::CountSketch,
            TableKind::Ranges,
            TableKind::Counters,
        ];
        let weights = [None, Some(false), Some(true)];
        let all = kinds
            .into_iter()
            .flat_map(move |kind| weights.map(|signed| (kind, signed)));
        all.filter(move |(kind, _)| depth == 1 || *kind != TableKind::Counters)
            .map(move |(kind, signed)| {
                let bound = match kind {
                    TableKind::Counters => u64::from(width),
                    TableKind::Ranges => 1 << depth,
                    _ => 1_009,
                };
                // Every fifth event has the same item.
                let item = |at: u64| {
                    if at.is_multiple_of(5) {
                        0
                    } else {
                        at * at * 31 % bound
                    }
                };
                let weight = |at: u64| match signed {
                    Some(true) => (at * at % 7).wrapping_sub(3),
                    _ => at * at % 7,
                };
                Self {
                    items: (0..EVENTS).map(item).collect(),
                    weights: signed.map(|_| (0..EVENTS).map(weight).collect()),
                    signed: signed == Some(true),
                    kind,
                    hashes: RowHashes::new(3, depth, width),
                    fingerprinter: Fingerprinter::new(3),
                }
            })
    }

    fn batch(&self) -> CheckedBatch<'_> {
        CheckedBatch {
            kind: self.kind,
            fingerprinter: &self.fingerprinter,
            hashes: &self.hashes,
            items: Items::Ready(&self.items),
            weights: self.weights.as_deref(),
            max_weight: 7,
            signed: self.signed,
        }
    }

    /// A table in batches, cut like this.
    fn counted(&self, shape: [u32; 2], schedule: Schedule, cut: Cut) -> Table {
        let is_one = cut.threads == 1;
        let batches: &[usize] = if is_one {
            &[1, 30, 600, 1_872]
        } else {
            &[2_503]
        };
        let mut striped = table(shape, true, is_one);
        let (mut cursor, mut start) = (schedule.cursor(0, shape[1]), 0);
        for batch in batches {
            let end = start + batch;
            let after = cursor.moved_to(end as u64);
            let batch = self.batch().slice(start, end);
            let step = start as u64;
            assert!(batch.count_in_stripes(&mut striped, &mut cursor, &after, step, cut));
            assert_eq!(cursor, after);
            start = end;
        }
        assert_eq!(start, self.items.len());
        striped
    }

    /// One event, by the functions of single ones.
    fn add_one(&self, table: &mut Table, at: usize) {
        let weight = self.weights.as_ref().map_or(1, |weights| weights[at]);
        let item = self.items[at];
        match self.kind {
            TableKind::CountMin => table.add_one(&Unsigned(&self.hashes), item, weight),
            TableKind::CountSketch => table.add_one(&Signed(&self.hashes), item, weight),
            TableKind::Ranges => table.add_one(&RangeRows(&self.hashes), item, weight),
            _ => table.add_one(&Index, item, weight),
        }
    }
}

const EVENTS: u64 = 2_503;

fn table([depth, width]: [u32; 2], lazy: bool, is_wide: bool) -> Table {
    let mut table = Table::new(depth, width, lazy).unwrap();
    table
        .make_room(if is_wide { u128::MAX } else { 1 })
        .unwrap();
    table
}

/// The published counts, and those after a further push of every column.
fn counts(mut table: Table, width: u32) -> [Vec<i64>; 2] {
    let now = table.rows().unwrap();
    (0..width).for_each(|column| table.push(column));
    [now, table.rows().unwrap()]
}

/// Stripes and blocks of which the last is shorter, also of one cell and of all.
fn cuts() -> impl Iterator<Item = Cut> {
    let cuts = [(0, 600), (3, 64), (3, 1_024), (9, 5_000)];
    cuts.into_iter().flat_map(|(stripe, block)| {
        [1, 3].map(|threads| Cut {
            stripe,
            block,
            threads,
        })
    })
}

/// The definition: each event is added to the pending counts, then the due columns are pushed.
/// Pushes in every phase of a round, several and none at a step, all at one step, also the last;
/// batches with several rounds, and with less than one.
#[test]
fn counting_in_stripes_equals_single_events() {
    let at = |horizon| Schedule::Single {
        horizon: Some(horizon),
    };
    let robin = |period| Schedule::RoundRobin {
        horizon: 1 << 40,
        period,
    };
    let schedules = [
        robin(1),
        robin(3),
        Schedule::geometric(),
        at(1_300),
        at(EVENTS),
    ];
    for shape in [[1, 5], [1, 101], [3, 37], [9, 12]] {
        for stream in Stream::all(shape) {
            for schedule in schedules {
                let mut single = table(shape, true, false);
                let mut cursor = schedule.cursor(0, shape[1]);
                for at in 0..stream.items.len() {
                    stream.add_one(&mut single, at);
                    while cursor.next_step() == at as u64 + 1 {
                        single.push(cursor.advance());
                    }
                }
                let expected = counts(single, shape[1]);
                for cut in cuts() {
                    let found = stream.counted(shape, schedule, cut);
                    let what = format!("{:?} {schedule:?} {cut:?}", stream.kind);
                    assert_eq!(counts(found, shape[1]), expected, "{what}");
                }
            }
        }
    }
}

/// Tables with published counts only, and with pending ones, which stay.
#[test]
fn publishing_in_stripes_equals_single_events() {
    for shape in [[1, 101], [3, 37], [9, 12]] {
        for stream in Stream::all(shape) {
            let mut single = table(shape, false, false);
            (0..stream.items.len()).for_each(|at| stream.add_one(&mut single, at));
            let expected = single.rows().unwrap();
            for cut in cuts() {
                let mut striped = table(shape, false, cut.threads == 1);
                assert!(stream.batch().publish_in_stripes(&mut striped, cut));
                assert_eq!(striped.rows().unwrap(), expected, "{cut:?}");
                let mut lazy = table(shape, true, cut.threads == 1);
                lazy.add_one(&Index, 2, 1);
                assert!(stream.batch().publish_in_stripes(&mut lazy, cut));
                assert_eq!(lazy.rows().unwrap(), expected, "{cut:?}");
            }
        }
    }
}

/// Of tables of 64 rows, those of 4,096 columns, by several threads; with a place for four cells.
#[test]
fn wide_tables_are_counted_in_stripes() {
    for (width, events, threads, expected) in [
        (4_095, 1 << 20, 2, None),
        (4_096, 1 << 20, 1, None),
        (4_096, 1 << 20, 2, Some((16, 2))),
        // Each thread has 65,536 events.
        (4_096, 131_071, 2, None),
        (4_096, 131_072, 3, Some((16, 2))),
        (131_072, 1 << 20, 1, None),
        // 2^23 cells are 128 stripes of 2^16.
        (131_072, 1 << 20, 2, Some((16, 2))),
        (1 << 19, 131_072, 2, Some((18, 2))),
        ((1 << 19) + 1, 131_072, 2, None),
        (1 << 18, 1 << 20, 2, Some((17, 2))),
    ] {
        let items = vec![0; events];
        let stream = Stream::all([1, 1]).next().unwrap();
        let batch = CheckedBatch {
            items: Items::Ready(&items),
            ..stream.batch()
        };
        let cut = batch.cut(&table([64, width], false, false), threads);
        let found = cut.map(|cut| (cut.stripe, cut.threads));
        assert_eq!(found, expected, "{width} {events} {threads}");
    }
}
