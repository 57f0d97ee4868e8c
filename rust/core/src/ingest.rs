//! How the events of a batch reach their place in the table.
//!
//! Nobody reads within a batch, so only its final state matters. If every column is pushed within
//! it, all events but those after the first of the last pushes end among the published counts,
//! wherever they are pushed: they are added there at once, after everything that was pending. What
//! remains, at most one round, goes push by push.

use crate::batch::Items;
use crate::counting::{Bounded, Events, Index, Locate, Signed, Unsigned, Weights};
use crate::hash::{Fingerprinter, RowHashes};
use crate::parameters::Kind;
use crate::schedule::{Cursor, Progress};
use crate::table::Table;
use std::thread;

/// Fewer events than this are not worth a thread of their own.
const EVENTS_PER_THREAD: usize = 1 << 16;
/// Nor are so few that clearing and adding up a table costs a share of them.
const EVENTS_PER_CELL: usize = 4;

/// A batch that was checked, and how its items find their cells.
#[derive(Clone, Copy)]
pub(crate) struct Batch<'a> {
    pub(crate) kind: Kind,
    pub(crate) fingerprinter: &'a Fingerprinter,
    pub(crate) hashes: &'a RowHashes,
    pub(crate) items: Items<'a>,
    pub(crate) weights: Option<&'a [u64]>,
    pub(crate) max_weight: u64,
}

/// Where the events of a batch go.
enum To<'a> {
    Published(&'a mut Table),
    /// To the pending counts, with each push that falls due from this step on.
    Pushed(&'a mut Table, u64, &'a mut Cursor),
}

impl To<'_> {
    #[inline]
    fn add(&mut self, locate: &impl Locate, events: Events<'_, impl Weights>) {
        match self {
            Self::Published(table) => table.add_published(locate, events),
            Self::Pushed(table, first_step, cursor) => {
                table.add_and_push(locate, events, *first_step, cursor);
            }
        }
    }
}

impl Batch<'_> {
    /// Counts the events at the steps after `step`, one each, with the pushes between `cursor` and
    /// `after`.
    pub(crate) fn count(
        self,
        table: &mut Table,
        cursor: &mut Cursor,
        after: &Cursor,
        step: u64,
        threads: usize,
    ) {
        let events = self.items.len();
        let direct = take_old_pushes(table, cursor, after, step, events as u64);
        self.slice(0, direct).publish(table, threads);
        let first_step = step + 1 + direct as u64;
        self.slice(direct, events)
            .send(&mut To::Pushed(table, first_step, cursor));
    }

    /// Counts the events among the published counts, in several threads if that pays: each has a
    /// table of its own, and all are added up, so any number of threads ends in the same state.
    pub(crate) fn publish(self, table: &mut Table, threads: usize) {
        let events = self.items.len();
        let least = EVENTS_PER_THREAD.max(EVENTS_PER_CELL * table.cells());
        let threads = threads.min(events / least);
        if threads < 2 {
            return self.send(&mut To::Published(table));
        }
        let share = events.div_ceil(threads);
        let part = |number: usize| {
            self.slice(
                (number * share).min(events),
                ((number + 1) * share).min(events),
            )
        };
        thread::scope(|scope| {
            let others: Vec<_> = (1..threads)
                .map(|number| {
                    let mut own = table.empty_of_published();
                    scope.spawn(move || {
                        part(number).send(&mut To::Published(&mut own));
                        own
                    })
                })
                .collect();
            part(0).send(&mut To::Published(table));
            for other in others {
                match other.join() {
                    Ok(own) => table.add_table(&own),
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
            Kind::CountMin => self.send_located(&Unsigned(self.hashes), to),
            Kind::CountSketch => self.send_located(&Signed(self.hashes), to),
            Kind::Counters => self.send_located(&Index, to),
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

/// Number of events that go straight to the published counts. If any, takes the pushes of what was
/// pending at once, and moves the cursor to where the other events begin.
fn take_old_pushes(
    table: &mut Table,
    cursor: &mut Cursor,
    after: &Cursor,
    step: u64,
    events: u64,
) -> usize {
    let width = cursor.width();
    // Adding up the table costs as much as the pushes of a round.
    if events < 2 * u64::from(width)
        || pushes_between(cursor.progress(), after.progress(), width) < u128::from(width)
    {
        return 0;
    }
    table.push_all();
    *cursor = cursor.one_round_before(after);
    // An event up to the first of the last pushes is followed by a push of every column.
    let first_push = cursor.next_step();
    while cursor.next_step() == first_push {
        cursor.advance();
    }
    (first_push - step) as usize
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
