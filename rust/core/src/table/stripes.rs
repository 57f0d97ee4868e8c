//! Batches for tables wider than the caches in several threads: events are sorted, then counted
//! stripe by stripe.
//!
//! A table for each thread would have to be cleared and added up. So the places of a block of events
//! are first written to lists, one per stripe of neighbouring cells; then each list is added to its
//! stripe, which stays in a fast cache meanwhile. Lists grow by pages of one memory, whatever the
//! events. They are more than a processor foresees writes to, so where each goes on is prefetched.
//!
//! Additions commute, so of the order of events only one thing matters: whether a column is pushed
//! before or after an event. In a block no column is pushed twice. So the pending counts of every
//! column that is pushed in the block are published first; an event before the push of its column
//! then goes to the published counts, any other to the pending ones. Which it is follows from the
//! step of the event, so a stripe has one list for each.
//!
//! Stripes share no cell and shares of the events no list: both parts run in any number of threads,
//! and the state is the same for any number. Cost of an event: one write and one addition per row;
//! of a push: `depth` additions.

use super::ingest::{CheckedBatch, EVENTS_PER_THREAD, To, skip_to_last_round};
use super::stripe_lists::{Block, LISTS, Pushed, Sorted, Sorter};
use super::{Cells, Table};
use crate::Result;
use crate::schedule::Cursor;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};
use std::{iter, thread};

#[cfg(test)]
mod tests;

/// Fewest cells of a table that is counted in stripes.
const FEWEST_CELLS: usize = 1 << 18;
/// Most cells per place of a batch: with more, few lines of cells get a second place.
const CELLS_PER_PLACE: usize = 4;

/// How a table is cut into stripes, and a batch into blocks and shares.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cut {
    /// Binary logarithm of the cells of a stripe.
    stripe: u32,
    /// Most events of a block.
    block: usize,
    threads: usize,
}

impl Cut {
    /// Binary logarithm of the fewest cells of a stripe: both its halves fit in a fast cache.
    const STRIPE: u32 = 16;
    /// More events would give each line of cells more places, but their lists leave the cache.
    const BLOCK: usize = 1 << 18;

    /// For a table of this many cells.
    pub(super) fn of(cells: usize, threads: usize) -> Self {
        let mut stripe = Self::STRIPE;
        while cells.div_ceil(1 << stripe) > LISTS / 2 {
            stripe += 1;
        }
        let block = Self::BLOCK;
        Self {
            stripe,
            block,
            threads,
        }
    }

    /// Blocks of some events; one without events if there are none.
    fn blocks(self, events: Range<usize>) -> impl Iterator<Item = Range<usize>> {
        let number = events.len().div_ceil(self.block).max(1);
        let start = move |block: usize| events.start + block * self.block;
        (0..number).map(move |block| start(block)..events.end.min(start(block + 1)))
    }
}

impl Table {
    /// Adds the sorted events of a block, stripe by stripe, after the pushes of the block.
    fn add_sorted(&mut self, sorted: &[Sorted], block: &Block) {
        let half = self.cells();
        with_cells!(&mut self.cells, cells => {
            let (published, pending) = cells.split_at_mut(half);
            let length = 1 << block.stripe;
            // A table may have published counts only.
            let pending = pending.chunks_mut(length).chain(iter::repeat_with(Default::default));
            let stripes = published.chunks_mut(length).zip(pending).enumerate();
            run_all(sorted.len(), stripes, |(stripe, (published, pending))| {
                let first = stripe << block.stripe;
                if block.due.is_some() {
                    block.pushed.push(first, [&mut *published, &mut *pending]);
                }
                for part in sorted {
                    part.add_to(2 * stripe, pending, first);
                    part.add_to(2 * stripe + 1, published, first);
                }
            });
        });
    }
}

impl CheckedBatch<'_> {
    /// How to count in stripes, if that is faster: never in one thread, for which lists take longer
    /// than they save.
    pub(super) fn cut(&self, table: &Table, threads: usize) -> Option<Cut> {
        let (events, cells) = (self.items.len(), table.cells());
        let threads = threads.min(events / EVENTS_PER_THREAD);
        let is_wide = cells >= FEWEST_CELLS && events * table.depth >= cells / CELLS_PER_PLACE;
        (is_wide && threads > 1).then(|| Cut::of(cells, threads))
    }

    /// As `count`; false, and nothing is counted, without memory for the lists.
    pub(super) fn count_in_stripes(
        self,
        table: &mut Table,
        cursor: &mut Cursor,
        after: &Cursor,
        step: u64,
        cut: Cut,
    ) -> bool {
        let Ok(mut sorted) = self.room_for_lists(table, cut) else {
            return false;
        };
        let early = skip_to_last_round(cursor, after, step);
        let pushed = Pushed::between(cursor, cursor, table);
        self.count_unpushed(table, &mut sorted, 0..early, cut, pushed);
        // Also without further events: at the step of the last one, pushes may be left.
        for events in cut.blocks(early..self.items.len()) {
            let before = *cursor;
            *cursor = if events.end == self.items.len() {
                *after
            } else {
                before.moved_to(step + events.end as u64)
            };
            let pushed = Pushed::between(&before, cursor, table);
            let block = Block {
                stripe: cut.stripe,
                pushed,
                due: Some((step + 1 + events.start as u64, before)),
            };
            self.count_block(table, &mut sorted, events, &block);
        }
        true
    }

    /// As `publish`; false, and nothing is counted, without memory for the lists.
    pub(super) fn publish_in_stripes(self, table: &mut Table, cut: Cut) -> bool {
        let Ok(mut sorted) = self.room_for_lists(table, cut) else {
            return false;
        };
        let pushed = Pushed::all(table);
        self.count_unpushed(table, &mut sorted, 0..self.items.len(), cut, pushed);
        true
    }

    /// Counts events while nothing is pushed.
    fn count_unpushed(
        self,
        table: &mut Table,
        sorted: &mut [Sorted],
        events: Range<usize>,
        cut: Cut,
        pushed: Pushed,
    ) {
        let block = Block {
            stripe: cut.stripe,
            pushed,
            due: None,
        };
        for events in cut.blocks(events) {
            self.count_block(table, sorted, events, &block);
        }
    }

    /// The lists of a block, for each thread.
    fn room_for_lists(&self, table: &Table, cut: Cut) -> Result<Vec<Sorted>> {
        let share = self.items.len().min(cut.block).div_ceil(cut.threads);
        let lists = || Sorted::of(share, self.weights.is_some(), table, cut.stripe);
        iter::repeat_with(lists).take(cut.threads).collect()
    }

    fn count_block(
        self,
        table: &mut Table,
        sorted: &mut [Sorted],
        events: Range<usize>,
        block: &Block,
    ) {
        let part = self.slice(events.start, events.end);
        let share = part.items.len().div_ceil(sorted.len());
        run_all(
            sorted.len(),
            sorted.iter_mut().enumerate(),
            |(number, sorted)| {
                let bound = |number: usize| (number * share).min(part.items.len());
                let (start, end) = (bound(number), bound(number + 1));
                let sorter = Sorter::new(sorted, block, start);
                part.slice(start, end).send(&mut To::Stripes(sorter));
            },
        );
        table.add_sorted(sorted, block);
    }
}

/// Runs tasks in this thread and, as far as the system starts them, in others.
fn run_all<T>(threads: usize, tasks: impl Iterator<Item = T> + Send, run: impl Fn(T) + Sync) {
    let tasks = Mutex::new(tasks);
    let next = || tasks.lock().unwrap_or_else(PoisonError::into_inner).next();
    let work = || iter::from_fn(next).for_each(&run);
    thread::scope(|scope| {
        for _ in 1..threads {
            // Without a further thread its tasks are for the others.
            let _ = thread::Builder::new().spawn_scoped(scope, work);
        }
        work();
    });
}
