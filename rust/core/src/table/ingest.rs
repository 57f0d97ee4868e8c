//! How the events of a batch reach their place in the table.
//!
//! Nobody reads within a batch, so only its final state matters. If every column is pushed within
//! it, the pushes before the last round need not be taken: what they would move is moved by that
//! round as well. So all events before it are added to the pending counts at once, and what remains,
//! at most one round, goes push by push.

use crate::parameters::TableKind;
use crate::schedule::{Cursor, Progress};
use crate::table::Table;
use crate::table::hash::{Fingerprinter, RowHashes};
use crate::table::items::Items;
use crate::table::kernels::{Bounded, EventWeights, Events, Index, Locate, Signed, Unsigned};
use std::{iter, thread};

/// Fewer events than this are not worth a thread of their own.
const EVENTS_PER_THREAD: usize = 1 << 16;
/// Nor are so few that clearing and adding up a table costs a share of them.
const EVENTS_PER_CELL: usize = 4;

/// A batch that was checked, and how its items find their cells.
#[derive(Clone, Copy)]
pub(crate) struct CheckedBatch<'a> {
    pub(crate) kind: TableKind,
    pub(crate) fingerprinter: &'a Fingerprinter,
    pub(crate) hashes: &'a RowHashes,
    pub(crate) items: Items<'a>,
    pub(crate) weights: Option<&'a [u64]>,
    pub(crate) max_weight: u64,
}

/// Where the events of a batch go.
enum To<'a> {
    Published(&'a mut Table),
    Pending(&'a mut Table),
    /// To the pending counts, with each push that falls due from this step on.
    Pushed(&'a mut Table, u64, &'a mut Cursor),
}

impl To<'_> {
    #[inline]
    fn add(&mut self, locate: &impl Locate, events: Events<'_, impl EventWeights>) {
        match self {
            Self::Published(table) => table.add_published(locate, events),
            Self::Pending(table) => table.add_pending(locate, events),
            Self::Pushed(table, first_step, cursor) => {
                table.add_and_push(locate, events, *first_step, cursor);
            }
        }
    }
}

impl CheckedBatch<'_> {
    /// Counts the events at the steps after `step`, one each, with the pushes between `cursor` and
    /// `after`; in several threads if that pays.
    pub(crate) fn count(
        self,
        table: &mut Table,
        cursor: &mut Cursor,
        after: &Cursor,
        step: u64,
        threads: usize,
    ) {
        let share = self.share(table, threads);
        if share >= self.items.len() {
            return self.count_alone(table, cursor, after, step);
        }
        let cursor_at = |event: usize| cursor.moved_to(step + event as u64);
        self.in_shares(share, table, |part, start, own| {
            let mut cursor = cursor_at(start);
            let after = cursor_at(start + part.items.len());
            let before = cursor.progress();
            part.count_alone(own, &mut cursor, &after, step + start as u64);
            columns_between(before, after.progress(), after.width())
        });
        *cursor = *after;
    }

    /// Counts the events among the published counts, in several threads if that pays.
    pub(crate) fn publish(self, table: &mut Table, threads: usize) {
        let share = self.share(table, threads);
        if share >= self.items.len() {
            return self.send(&mut To::Published(table));
        }
        self.in_shares(share, table, |part, _, own| {
            part.send(&mut To::Published(own));
            iter::empty()
        });
    }

    fn count_alone(self, table: &mut Table, cursor: &mut Cursor, after: &Cursor, step: u64) {
        let events = self.items.len();
        let early = skip_to_last_round(cursor, after, step);
        if early > 0 {
            self.slice(0, early).send(&mut To::Pending(table));
            while cursor.next_step() == step + early as u64 {
                table.push(cursor.advance());
            }
        }
        let first_step = step + 1 + early as u64;
        self.slice(early, events)
            .send(&mut To::Pushed(table, first_step, cursor));
    }

    /// Number of events for each thread; all of them if more threads do not pay.
    fn share(&self, table: &Table, threads: usize) -> usize {
        let events = self.items.len();
        let least = EVENTS_PER_THREAD.max(EVENTS_PER_CELL * table.cells());
        events.div_ceil(threads.min(events / least).max(1))
    }

    /// Counts the batch in shares: the first in `table`, each other in a thread with an empty
    /// table. `count` takes a share, its first event and a table; it returns the columns that it
    /// pushed. Added up in order, the tables make the state that one thread leaves: what a column
    /// still had pending when a later share pushed it is published by then.
    fn in_shares<P: Iterator<Item = u32> + Send>(
        self,
        share: usize,
        table: &mut Table,
        count: impl Fn(Self, usize, &mut Table) -> P + Sync,
    ) {
        let (events, count) = (self.items.len(), &count);
        thread::scope(|scope| {
            let starts = (share..events).step_by(share);
            let others: Vec<_> = starts
                .map(|start| {
                    let part = self.slice(start, events.min(start + share));
                    let mut own = table.empty();
                    scope.spawn(move || (count(part, start, &mut own), own))
                })
                .collect();
            count(self.slice(0, share), 0, table);
            for other in others {
                match other.join() {
                    Ok((pushed, own)) => {
                        pushed.for_each(|column| table.push(column));
                        table.add_table(&own);
                    }
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
        });
    }

    fn slice(&self, start: usize, end: usize) -> Self {
        Self {
            items: self.items.slice(start, end),
            weights: self.weights.map(|weights| &weights[start..end]),
            ..*self
        }
    }

    fn send(&self, to: &mut To<'_>) {
        match self.kind {
            TableKind::CountMin => self.send_located(&Unsigned(self.hashes), to),
            TableKind::CountSketch => self.send_located(&Signed(self.hashes), to),
            TableKind::Counters => self.send_located(&Index, to),
        }
    }

    #[inline]
    fn send_located(&self, locate: &impl Locate, to: &mut To<'_>) {
        let largest = self.max_weight;
        self.items
            .for_each_chunk(self.fingerprinter, |start, items| {
                let offset = start as u64;
                let Some(weights) = self.weights else {
                    return to.add(locate, Events::ones(items, offset));
                };
                let weights = &weights[start..start + items.len()];
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

/// Moves the cursor to the first push of the last round, if there is a whole one; returns the number
/// of events up to and with the one at its step.
fn skip_to_last_round(cursor: &mut Cursor, after: &Cursor, step: u64) -> usize {
    let width = cursor.width();
    if pushes_between(cursor.progress(), after.progress(), width) < u128::from(width) {
        return 0;
    }
    *cursor = cursor.one_round_before(after);
    (cursor.next_step() - step) as usize
}

/// Number of column pushes between two states of a schedule.
fn pushes_between(before: Progress, after: Progress, width: u32) -> u128 {
    let done = |progress: Progress| {
        u128::from(progress.rounds) * u128::from(width) + u128::from(progress.column)
    };
    done(after) - done(before)
}

/// The columns pushed between two states of a schedule, each once: pushing a column again
/// without an event in between moves nothing.
pub(crate) fn columns_between(
    before: Progress,
    after: Progress,
    width: u32,
) -> impl Iterator<Item = u32> {
    let width = u64::from(width);
    let pushes = pushes_between(before, after, width as u32).min(u128::from(width)) as u64;
    (0..pushes).map(move |offset| ((u64::from(before.column) + offset) % width) as u32)
}
