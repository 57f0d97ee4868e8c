//! Batches in several threads: each thread counts a share of the events in counts of its own; then
//! these are added to those of the table, part by part, in as many threads.
//!
//! A share is counted in bytes if weights are small and the table is wide, else in counters like
//! those of the table.
//!
//! Additions commute, so of the order of events only one thing matters: counts that were pending
//! when a later share pushed their column are published by then. So shares are added in order, each
//! after the pushes that it made. Nobody sees the table in between, and the state is the same for
//! any number of threads.

use super::counters::{Counter, Counts, Halves, TableHalves};
use super::event_weights::EventWeights;
use super::ingest::{CheckedBatch, To, skip_to_last_round};
use super::kernels::{Events, Locate, Places, Tally, add_all};
use super::pushed::Pushed;
use super::pushes::add_and_push;
use super::share_counts::{MOST_WEIGHT, ShareCounts};
use super::{Cells, Table};
use crate::Result;
use crate::memory::Integer;
use crate::schedule::Cursor;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};
use std::{iter, thread};

#[cfg(test)]
mod tests;

/// A batch with fewer events than this per thread is counted in fewer threads.
const EVENTS_PER_THREAD: usize = 1 << 16;
/// Fewest cells of a table of which shares are counted in bytes: in a narrower one more counts
/// would leave the range of a byte, and counters stay in a fast cache as well.
const FEWEST_CELLS: usize = 1 << 18;
/// Events of a share for each column below which counters take longer to clear and to add up than
/// they save.
const EVENTS_PER_COLUMN: usize = 3;
/// As above, for bytes: columns for each event.
const COLUMNS_PER_EVENT: usize = 4;
/// Cells that are added up together: those of the table and of a few shares fit in a fast cache.
const PART: usize = 1 << 14;

/// A share of a batch.
struct Share<T: Integer> {
    /// Its events in the batch.
    events: Range<usize>,
    /// None if every event is published.
    due: Option<Due>,
    places: Places,
    counts: ShareCounts<T>,
}

/// What falls due while a share is counted.
#[derive(Clone, Copy)]
struct Due {
    /// The step before its first event.
    step: u64,
    /// Events that are counted before the last round of pushes.
    early: usize,
    /// The cursor at the first push of that round.
    cursor: Cursor,
}

impl<T: Counter + Integer> Tally for Share<T> {
    fn add_published(&mut self, locate: &impl Locate, events: Events<'_, impl EventWeights>) {
        add_all(&mut self.places, &mut self.counts, locate, events);
    }

    fn add_pending(&mut self, locate: &impl Locate, events: Events<'_, impl EventWeights>) {
        add_all(&mut self.places, &mut self.counts, locate, events);
    }

    fn add_and_push(
        &mut self,
        locate: &impl Locate,
        events: Events<'_, impl EventWeights>,
        first_step: u64,
        cursor: &mut Cursor,
    ) {
        let (places, counts) = (&mut self.places, &mut self.counts);
        add_and_push(places, counts, locate, events, first_step, cursor);
    }

    fn push_all(&mut self, columns: Range<u32>) {
        let depth = self.places.depth();
        let cells = columns.start as usize * depth..columns.end as usize * depth;
        self.counts.push(cells);
    }
}

impl CheckedBatch<'_> {
    /// Counts the events at the steps after one, with the pushes that fall due from a cursor on, or
    /// as published ones if there is none. False, and nothing is counted, if several threads would
    /// not be faster, or without memory for their counts.
    pub(super) fn count_in_shares(
        self,
        table: &mut Table,
        due: Option<(u64, Cursor)>,
        threads: usize,
    ) -> bool {
        let in_bytes = self.fits_bytes(table.cells());
        let share = self.share(table.width, in_bytes, threads);
        share < self.items.len() && self.count_each(table, in_bytes, share, due).is_ok()
    }

    /// Counts shares of so many events and adds them up; an error comes before the first event is
    /// counted.
    fn count_each(
        self,
        table: &mut Table,
        in_bytes: bool,
        share: usize,
        due: Option<(u64, Cursor)>,
    ) -> Result<()> {
        let shape = [table.depth, table.cells()];
        match (&mut table.cells, in_bytes) {
            (Cells::Narrow(all), true) => self.count_as::<_, i8>(all, shape, share, due),
            (Cells::Wide(all), true) => self.count_as::<_, i8>(all, shape, share, due),
            (Cells::Narrow(all), false) => self.count_as::<_, i32>(all, shape, share, due),
            (Cells::Wide(all), false) => self.count_as::<_, i64>(all, shape, share, due),
        }
    }

    /// Largest weight of an event.
    fn most_weight(&self) -> u64 {
        self.weights.map_or(1, |_| self.max_weight)
    }

    /// True if shares are counted in bytes.
    fn fits_bytes(&self, cells: usize) -> bool {
        cells >= FEWEST_CELLS && self.most_weight() <= MOST_WEIGHT
    }

    /// Number of events per thread; all of them if more threads would not be faster.
    fn share(&self, width: usize, in_bytes: bool, threads: usize) -> usize {
        let events = self.items.len();
        let least = if in_bytes {
            width / COLUMNS_PER_EVENT
        } else {
            EVENTS_PER_COLUMN * width
        };
        let least = EVENTS_PER_THREAD.max(least);
        events.div_ceil(threads.min(events / least).max(1))
    }

    fn count_as<C: Counter, T: Counter + Integer>(
        self,
        counters: &mut [C],
        [depth, cells]: [usize; 2],
        share: usize,
        due: Option<(u64, Cursor)>,
    ) -> Result<()> {
        let events = self.items.len();
        let starts = (0..events).step_by(share);
        let shares = starts.map(|start| {
            let events = start..events.min(start + share);
            self.room_for_share(events, [depth, cells], due)
        });
        let mut shares = shares.collect::<Result<Vec<Share<T>>>>()?;
        let threads = shares.len();
        run_all(threads, shares.iter_mut(), |own| {
            self.count_share(own, cells)
        });
        add_up(counters, cells, &shares, due.is_none());
        // Each thread erases what it counted.
        run_all(threads, shares.into_iter(), drop);
        Ok(())
    }

    fn room_for_share<T: Counter + Integer>(
        self,
        events: Range<usize>,
        [depth, cells]: [usize; 2],
        due: Option<(u64, Cursor)>,
    ) -> Result<Share<T>> {
        let mut pushed = Pushed::default();
        let due = due.map(|(step, cursor)| {
            let step = step + events.start as u64;
            let mut cursor = cursor.moved_to(step);
            let after = cursor.moved_to(step + events.len() as u64);
            let early = skip_to_last_round(&mut cursor, &after, step);
            pushed = Pushed::between(&cursor, &after, depth);
            Due {
                step,
                early,
                cursor,
            }
        });
        let mut places = Places::new(depth);
        places.make_room()?;
        let additions = (events.len() * depth) as u64;
        // Each is made once, and twice more if it is moved back.
        let weight = additions.saturating_mul(3 * self.most_weight());
        Ok(Share {
            events,
            due,
            places,
            counts: ShareCounts::with_room(cells, pushed, weight)?,
        })
    }

    /// The memory is first written to here: the system provides it to this thread, once, and not
    /// while it is read.
    fn count_share<T: Counter + Integer>(self, own: &mut Share<T>, cells: usize) {
        own.counts.begin(cells);
        let part = self.slice(own.events.start, own.events.end);
        match own.due {
            None => part.send(&mut To::Published(own)),
            Some(mut due) => part.count_from(due.early, own, &mut due.cursor, due.step),
        }
    }
}

/// Adds shares in their order to the published and the pending counters, each after its pushes; or
/// all that they counted to the published ones.
fn add_up<C: Counter, T: Counter + Integer>(
    counters: &mut [C],
    cells: usize,
    shares: &[Share<T>],
    publishes_all: bool,
) {
    let (published, pending) = counters.split_at_mut(cells);
    // A table may have published counts only.
    let of_pending = pending.chunks_mut(PART);
    let of_pending = of_pending.chain(iter::repeat_with(Default::default));
    let parts = published.chunks_mut(PART).zip(of_pending).enumerate();
    run_all(shares.len(), parts, |(number, (published, pending))| {
        let first = number * PART;
        for Share { counts, .. } in shares {
            if publishes_all {
                counts.add_pending_to(published, first);
                continue;
            }
            let mut halves = TableHalves {
                published: &mut *published,
                pending: &mut *pending,
            };
            for (pushed, _) in counts.pushed().within(first, halves.published.len()) {
                halves.push(pushed);
            }
            counts.add_published_to(published, first);
            counts.add_pending_to(pending, first);
        }
    });
    for (number, share) in shares.iter().enumerate() {
        for carried in share.counts.carried() {
            let mut later = shares[number + 1..].iter();
            let is_published = publishes_all
                || share.counts.pushed().has(carried.cell, carried.after)
                || later.any(|share| share.counts.pushed().has(carried.cell, 0));
            let half = if is_published {
                &mut *published
            } else {
                &mut *pending
            };
            half.add(
                carried.cell as usize,
                carried.count.wide().cast_unsigned(),
                0,
            );
        }
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
