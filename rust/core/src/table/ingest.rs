//! Ingestion of a batch: its events are located, then added to the table with the pushes that fall
//! due.
//!
//! No read happens within a batch, so only its final state matters. If every column is pushed
//! during the batch, the pushes before the last round can be skipped: the last round moves what
//! they would have moved. So all events before that round are added to the pending counts in one
//! pass, and the rest, at most one round, is processed push by push.

use crate::Result;
use crate::parameters::TableKind;
use crate::schedule::{Cursor, Progress};
use crate::table::Table;
use crate::table::event_weights::{Bounded, EventWeights, SignedBounded};
use crate::table::hash::{Fingerprinter, RowHashes};
use crate::table::items::Items;
use crate::table::kernels::{Events, Index, Locate, Signed, Tally, Unsigned};
use crate::table::range_rows::RangeRows;
use std::ops::Range;

/// A checked batch, and the functions that find the cells of its items.
#[derive(Clone, Copy)]
pub(crate) struct CheckedBatch<'a> {
    pub(crate) kind: TableKind,
    pub(crate) fingerprinter: &'a Fingerprinter,
    pub(crate) hashes: &'a RowHashes,
    pub(crate) items: Items<'a>,
    pub(crate) weights: Option<&'a [u64]>,
    pub(crate) max_weight: u64,
    /// True if the weights have signs, in two's complement.
    pub(crate) signed: bool,
}

/// Where the events of a batch go.
pub(super) enum To<'a, T> {
    Published(&'a mut T),
    Pending(&'a mut T),
    /// To the pending counts, with each push that falls due from this step on.
    Pushed(&'a mut T, u64, &'a mut Cursor),
}

impl<T: Tally> To<'_, T> {
    #[inline]
    fn add(&mut self, locate: &impl Locate, events: Events<'_, impl EventWeights>) {
        match self {
            Self::Published(tally) => tally.add_published(locate, events),
            Self::Pending(tally) => tally.add_pending(locate, events),
            Self::Pushed(tally, first_step, cursor) => {
                tally.add_and_push(locate, events, *first_step, cursor);
            }
        }
    }
}

impl CheckedBatch<'_> {
    /// Counts the events at the steps after `step`, one each, with the pushes between `cursor` and
    /// `after`; in several threads if that is faster.
    pub(crate) fn count(
        self,
        table: &mut Table,
        cursor: &mut Cursor,
        after: &Cursor,
        step: u64,
        threads: usize,
    ) -> Result<()> {
        table.make_room_for_places()?;
        if self.count_in_shares(table, Some((step, *cursor)), threads) {
            *cursor = *after;
        } else {
            let early = skip_to_last_round(cursor, after, step);
            self.count_from(early, table, cursor, step);
        }
        Ok(())
    }

    /// Adds the events to the published counts; in several threads if that is faster.
    pub(crate) fn publish(self, table: &mut Table, threads: usize) -> Result<()> {
        table.make_room_for_places()?;
        if !self.count_in_shares(table, None, threads) {
            self.send(&mut To::Published(table));
        }
        Ok(())
    }

    /// Counts the events at the steps after `step`: `early` ones as pending until the pushes at the
    /// step of the last of them, and the others with each push from `cursor` on.
    pub(super) fn count_from(
        self,
        early: usize,
        tally: &mut impl Tally,
        cursor: &mut Cursor,
        step: u64,
    ) {
        let events = self.items.len();
        if early > 0 {
            self.slice(0, early).send(&mut To::Pending(tally));
            while cursor.next_step() == step + early as u64 {
                let column = cursor.advance();
                if !planted!("push-forgotten-between-two-parts-of-a-batch") {
                    tally.push_all(column..column + 1);
                }
            }
        }
        let first_step = step + 1 + early as u64;
        self.slice(early, events)
            .send(&mut To::Pushed(tally, first_step, cursor));
    }

    pub(super) fn slice(&self, start: usize, end: usize) -> Self {
        Self {
            items: self.items.slice(start, end),
            weights: self.weights.map(|weights| &weights[start..end]),
            ..*self
        }
    }

    pub(super) fn send(&self, to: &mut To<'_, impl Tally>) {
        match self.kind {
            TableKind::CountMin => self.send_located(&Unsigned(self.hashes), to),
            TableKind::CountSketch => self.send_located(&Signed(self.hashes), to),
            TableKind::Ranges => self.send_located(&RangeRows(self.hashes), to),
            TableKind::Counters | TableKind::Distinct { .. } | TableKind::Values { .. } => {
                self.send_located(&Index, to);
            }
        }
    }

    #[inline]
    fn send_located(&self, locate: &impl Locate, to: &mut To<'_, impl Tally>) {
        let largest = self.max_weight;
        self.items
            .for_each_chunk(self.fingerprinter, |start, items| {
                let offset = start as u64;
                let Some(weights) = self.weights else {
                    return to.add(locate, Events::ones(items, offset));
                };
                let weights = &weights[start..start + items.len()];
                if self.signed {
                    let largest = largest.cast_signed();
                    let weights = SignedBounded { weights, largest };
                    let events = Events {
                        items,
                        weights,
                        offset,
                    };
                    return to.add(locate, events);
                }
                let weights = Bounded { weights, largest };
                to.add(
                    locate,
                    Events {
                        items,
                        weights,
                        offset,
                    },
                );
            });
    }
}

/// Moves the cursor to the first push of the last round if the batch contains a full one; returns
/// the number of events up to and including the one at the step of that push.
pub(super) fn skip_to_last_round(cursor: &mut Cursor, after: &Cursor, step: u64) -> usize {
    let width = cursor.width();
    let pushes = cursor.progress().pushes_until(after.progress(), width);
    if pushes < u128::from(width) {
        return 0;
    }
    *cursor = cursor.one_round_before(after);
    (cursor.next_step() - step) as usize
}

/// The columns pushed between two states of a schedule, each once: pushing a column again without
/// an event in between moves nothing. The second are those after the end of a round.
pub(crate) fn columns_between(before: Progress, after: Progress, width: u32) -> [Range<u32>; 2] {
    let pushes = before.pushes_until(after, width).min(u128::from(width)) as u32;
    let first = pushes.min(width - before.column);
    [before.column..before.column + first, 0..pushes - first]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::Schedule;

    const DEPTH: u32 = 2;

    /// A batch of some items, and its events again one by one.
    struct Batch {
        items: Vec<u64>,
        weights: Vec<u64>,
        hashes: RowHashes,
        fingerprinter: Fingerprinter,
    }

    impl Batch {
        fn new(length: u64, width: u32) -> Self {
            Self {
                items: (0..length).map(|i| i * i % 1009).collect(),
                weights: (0..length).map(|i| i % 7).collect(),
                hashes: RowHashes::new(3, DEPTH, width),
                fingerprinter: Fingerprinter::new(3),
            }
        }

        fn checked(&self) -> CheckedBatch<'_> {
            CheckedBatch {
                kind: TableKind::CountSketch,
                fingerprinter: &self.fingerprinter,
                hashes: &self.hashes,
                items: Items::Ready(&self.items),
                weights: Some(&self.weights),
                max_weight: 7,
                signed: false,
            }
        }
    }

    /// The published counts now, and after a further push of every column.
    fn counts(mut table: Table, width: u32) -> [Vec<i64>; 2] {
        let now = table.rows().unwrap();
        (0..width).for_each(|column| table.push(column));
        [now, table.rows().unwrap()]
    }

    /// Three threads, whose shares end within chunks, rounds and periods, after some pending events.
    #[test]
    fn shares_add_up_to_the_batch() {
        let (width, before) = (5, 13);
        let (early, late) = (Batch::new(before, width), Batch::new(196_613, width));
        let period = Schedule::RoundRobin {
            horizon: 1 << 40,
            period: 3,
        };
        for schedule in [period, Schedule::geometric()] {
            let mut found = Vec::new();
            for threads in [1, 3] {
                let mut table = Table::new(DEPTH, width, true).unwrap();
                let mut cursor = schedule.cursor(0, width);
                let start = cursor.moved_to(before);
                let batch = early.checked();
                batch.count(&mut table, &mut cursor, &start, 0, 1).unwrap();
                let batch = late.checked();
                let after = start.moved_to(before + late.items.len() as u64);
                batch
                    .count(&mut table, &mut cursor, &after, before, threads)
                    .unwrap();
                assert_eq!(cursor, after);
                found.push(counts(table, width));
            }
            assert_eq!(found[0], found[1], "{schedule:?}");
        }
    }

    /// The definition: each event is added to the pending counts, then the due columns are pushed.
    #[test]
    fn batches_of_every_depth_equal_single_events() {
        for (depth, period) in [(3, 1), (9, 1), (10, 3), (64, 1)] {
            let width = 5;
            let mut batch = Batch::new(1_203, width);
            batch.hashes = RowHashes::new(3, depth, width);
            let schedule = Schedule::RoundRobin {
                horizon: 1 << 40,
                period,
            };
            let mut single = Table::new(depth, width, true).unwrap();
            let mut cursor = schedule.cursor(0, width);
            let events = batch.items.iter().zip(&batch.weights);
            for (step, (&item, &weight)) in (1..).zip(events) {
                single.add_one(&Signed(&batch.hashes), item, weight);
                while cursor.next_step() == step {
                    single.push(cursor.advance());
                }
            }
            let mut batched = Table::new(depth, width, true).unwrap();
            let mut before = schedule.cursor(0, width);
            batch
                .checked()
                .count(&mut batched, &mut before, &cursor, 0, 1)
                .unwrap();
            assert_eq!(before, cursor);
            assert_eq!(
                counts(batched, width),
                counts(single, width),
                "depth {depth}"
            );
        }
    }

    /// The columns of all pushes in between, none twice.
    #[test]
    fn columns_between_two_states_are_those_pushed() {
        let progress = |rounds, column| Progress { rounds, column };
        for (before, after, expected) in [
            (progress(0, 0), progress(0, 0), vec![]),
            (progress(0, 1), progress(0, 3), vec![1, 2]),
            (progress(2, 3), progress(3, 1), vec![3, 0]),
            (progress(2, 2), progress(3, 2), vec![2, 3, 0, 1]),
            (progress(2, 2), progress(9, 3), vec![2, 3, 0, 1]),
        ] {
            let found: Vec<u32> = (columns_between(before, after, 4).into_iter())
                .flatten()
                .collect();
            assert_eq!(found, expected, "{before:?} {after:?}");
        }
        assert_eq!(progress(1, 3).pushes_until(progress(4, 1), 4), 10);
    }
}
