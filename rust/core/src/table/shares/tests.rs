//! Batches in shares are those of single events.

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

    /// A table after some batches, in shares of so many events.
    fn counted(&self, shape: [u32; 2], schedule: Schedule, how: How) -> Table {
        let mut table = table(shape, true, how.is_wide);
        let (mut cursor, mut start) = (schedule.cursor(0, shape[1]), 0);
        for &batch in how.batches {
            let end = start + batch;
            let part = self.batch().slice(start, end);
            how.count(part, &mut table, Some((start as u64, cursor)));
            cursor = cursor.moved_to(end as u64);
            start = end;
        }
        assert_eq!(start, self.items.len());
        table
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

/// How batches are counted.
#[derive(Clone, Copy, Debug)]
struct How {
    batches: &'static [usize],
    /// Events of a share.
    share: usize,
    in_bytes: bool,
    is_wide: bool,
}

impl How {
    fn count(self, batch: CheckedBatch<'_>, table: &mut Table, due: Option<(u64, Cursor)>) {
        batch
            .count_each(table, self.in_bytes, self.share, due)
            .unwrap();
    }

    /// Shares of which the last is shorter, of one event and of all; in counts of all kinds.
    fn all() -> impl Iterator<Item = Self> {
        let cuts: [(&'static [usize], usize); 4] = [
            (&[2_503], 1_000),
            (&[2_503], 313),
            (&[1, 30, 600, 1_872], 250),
            (&[2_480, 23], 2_480),
        ];
        let kinds = [(true, false), (true, true), (false, false), (false, true)];
        cuts.into_iter().flat_map(move |(batches, share)| {
            kinds.map(|(in_bytes, is_wide)| Self {
                batches,
                share,
                in_bytes,
                is_wide,
            })
        })
    }
}

/// The definition: each event is added to the pending counts, then the due columns are pushed.
/// Pushes in every phase of a round, several and none at a step, all at one step, also the last;
/// batches with several rounds, and with less than one.
#[test]
fn counting_in_shares_equals_single_events() {
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
                for how in How::all() {
                    let found = stream.counted(shape, schedule, how);
                    let what = format!("{:?} {schedule:?} {how:?}", stream.kind);
                    assert_eq!(counts(found, shape[1]), expected, "{what}");
                }
            }
        }
    }
}

/// Tables with published counts only, and with pending ones, which stay.
#[test]
fn publishing_in_shares_equals_single_events() {
    for shape in [[1, 101], [3, 37], [9, 12]] {
        for stream in Stream::all(shape) {
            let mut single = table(shape, false, false);
            (0..stream.items.len()).for_each(|at| stream.add_one(&mut single, at));
            let expected = single.rows().unwrap();
            for how in How::all() {
                let mut shared = table(shape, false, how.is_wide);
                how.count(stream.batch(), &mut shared, None);
                assert_eq!(shared.rows().unwrap(), expected, "{how:?}");
                let mut lazy = table(shape, true, how.is_wide);
                lazy.add_one(&Index, 2, 1);
                how.count(stream.batch(), &mut lazy, None);
                assert_eq!(lazy.rows().unwrap(), expected, "{how:?}");
            }
        }
    }
}

/// One item with the largest weight, in every row: as many counts leave their byte as can. That
/// there is room for them is asserted where they are carried.
#[test]
fn counts_of_one_item_have_room_when_they_are_carried() {
    for shape in [[1, 1], [8, 1], [16, 3]] {
        let stream = Stream::all(shape).find(|stream| stream.weights.is_some());
        let mut stream = stream.unwrap();
        stream.items = vec![7; EVENTS as usize];
        for weight in [1, 3, MOST_WEIGHT] {
            stream.weights = Some(vec![weight; EVENTS as usize]);
            let mut found = table(shape, false, false);
            let batch = CheckedBatch {
                max_weight: weight,
                ..stream.batch()
            };
            batch
                .count_each(&mut found, true, EVENTS as usize, None)
                .unwrap();
            for row in found.rows().unwrap().chunks_exact(shape[1] as usize) {
                assert_eq!(row.iter().sum::<i64>(), (EVENTS * weight) as i64);
            }
        }
    }
}

/// All events of a run of pushes are in the column that is pushed first: each is added, moved with
/// the push and moved back.
#[test]
fn counts_that_are_moved_back_have_room_when_they_are_carried() {
    const RUN: u64 = 64;
    let shape = [1, 16 * RUN as u32];
    // The first event is counted before the first run.
    let first = |at: u64| at.min(1) + at.saturating_sub(1) / RUN * RUN;
    let items: Vec<u64> = (0..shape[1].into()).map(first).collect();
    let stream = Stream {
        weights: Some(vec![MOST_WEIGHT; items.len()]),
        items,
        signed: false,
        kind: TableKind::Counters,
        hashes: RowHashes::new(3, shape[0], shape[1]),
        fingerprinter: Fingerprinter::new(3),
    };
    let batch = CheckedBatch {
        max_weight: MOST_WEIGHT,
        ..stream.batch()
    };
    let cursor = Schedule::round_robin(1 << 40).cursor(0, shape[1]);
    let mut found = table(shape, true, false);
    batch
        .count_each(&mut found, true, stream.items.len(), Some((0, cursor)))
        .unwrap();
    let mut expected = vec![[0; 2]; shape[1] as usize];
    for (at, &item) in stream.items.iter().enumerate() {
        // Column c is pushed after event c.
        let is_late = at as u64 > item;
        expected[item as usize][usize::from(is_late)] += MOST_WEIGHT as i64;
    }
    let [published, all] = counts(found, shape[1]);
    for (column, [pushed, late]) in expected.into_iter().enumerate() {
        assert_eq!(published[column], pushed, "{column}");
        assert_eq!(all[column], pushed + late, "{column}");
    }
}

/// 65,536 events for each thread, and three for each column, or in bytes one for four columns; bytes
/// from 2^18 cells on, for weights up to 8.
#[test]
fn threads_have_enough_events() {
    let stream = Stream::all([1, 1]).next().unwrap();
    for (events, [depth, width], threads, expected) in [
        (10, [2, 4], 8, 10),
        (131_071, [2, 4], 8, 131_071),
        (131_072, [2, 4], 8, 65_536),
        (131_072, [2, 4], 1, 131_072),
        (200_000, [2, 4], 2, 100_000),
        (200_001, [2, 4], 2, 100_001),
        (196_608, [2, 4], 9, 65_536),
        // 3 * 80,000 events, whatever the number of rows.
        (479_999, [2, 80_000], 8, 479_999),
        (480_000, [2, 80_000], 8, 240_000),
        // 2^22 / 4 events.
        ((1 << 21) - 1, [4, 1 << 22], 8, (1 << 21) - 1),
        (1 << 21, [4, 1 << 22], 8, 1 << 20),
    ] {
        let items = vec![0; events];
        let batch = CheckedBatch {
            items: Items::Ready(&items),
            weights: None,
            ..stream.batch()
        };
        let found = batch.share(width, batch.fits_bytes(depth * width), threads);
        assert_eq!(found, expected, "{events} {depth} x {width} {threads}");
    }
    let weights = [0];
    for (cells, max_weight, is_weighted, expected) in [
        (FEWEST_CELLS, 8, true, true),
        (FEWEST_CELLS - 1, 8, true, false),
        (FEWEST_CELLS, 9, true, false),
        (FEWEST_CELLS, 9, false, true),
    ] {
        let batch = CheckedBatch {
            weights: is_weighted.then_some(&weights),
            max_weight,
            ..stream.batch()
        };
        assert_eq!(batch.fits_bytes(cells), expected);
    }
}
