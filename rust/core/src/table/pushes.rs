//! Adding the events of a chunk with the pushes that fall due among them.
//!
//! In a wide table every addition waits for memory: additions overlap only if nothing is between
//! them. So all events of a run are added first, then a run of columns is pushed, front to back.
//! An event that came after the push of its column was moved with it, and is moved back: few are,
//! because a run of pushes is a small part of the columns. Cost of an event: one addition per row,
//! and a comparison; of a push: `depth` additions.

use super::counters::{Counts, Halves};
use super::event_weights::EventWeights;
use super::far_cells::are_far;
use super::kernels::{CHUNK, Events, Locate, Places, add_part, cell_of, doubled};
use crate::schedule::Cursor;
use crate::simd::widest;
use std::ops::Range;

/// Part of the columns that are pushed together at most: one in this many.
const PART: usize = 16;
/// And these at least: a run has a cost of its own.
const FEWEST: usize = 16;
/// Places that are compared together.
const TOGETHER: usize = 32;

/// Adds events to the pending counts, and executes every push that falls due after an event.
pub(crate) fn add_and_push<H: Halves, L: Locate, W: EventWeights>(
    places: &mut Places,
    halves: &mut H,
    locate: &L,
    events: Events<'_, W>,
    first_step: u64,
    cursor: &mut Cursor,
) {
    let mut run = Run::of(cursor.width());
    for chunk in events.chunks() {
        let (depth, number) = (places.depth(), chunk.items.len());
        let (places, chunk) = places.fill_with(locate, chunk);
        let (first_step, mut start) = (first_step + chunk.offset, 0);
        while run.take(cursor, start..number, first_step) {
            let end = run.end;
            let pushed = run.columns.start * depth..run.columns.end * depth;
            if are_far(halves.pending().memory()) {
                halves.prefetch(pushed.clone());
            }
            add_part::<H::Pending, L, _>(depth, halves.pending(), places, chunk, start..end);
            halves.push(pushed);
            run.return_late::<H, L, _>(halves, places, chunk, start);
            start = end;
        }
    }
}

/// Pushes of neighbouring columns, and the events up to the last of them.
struct Run {
    most: usize,
    columns: Range<usize>,
    /// For each column, the event in the chunk after which it is pushed.
    after: [u16; CHUNK],
    /// The end of the events.
    end: usize,
}

impl Run {
    fn of(width: u32) -> Self {
        Self {
            most: (width as usize / PART).clamp(FEWEST, CHUNK),
            columns: 0..0,
            after: [0; CHUNK],
            end: 0,
        }
    }

    /// Takes the next pushes among some events of a chunk, of which the first of all has this step;
    /// false if neither events nor pushes are left.
    #[inline]
    fn take(&mut self, cursor: &mut Cursor, events: Range<usize>, first_step: u64) -> bool {
        let first = cursor.progress().column as usize;
        let most = self.most.min(cursor.width() as usize - first);
        let pushes = cursor.take(first_step, events.end as u64, &mut self.after[..most]);
        self.columns = first..first + pushes;
        self.end = if pushes == most {
            // At the step of an earlier run there may have been more pushes than it took.
            events.start.max(usize::from(self.after[pushes - 1]) + 1)
        } else {
            events.end
        };
        pushes > 0 || !events.is_empty()
    }

    /// Moves back the events that came after the push of their column.
    #[inline]
    fn return_late<H: Halves, L: Locate, W: EventWeights>(
        &self,
        halves: &mut H,
        places: &[u32],
        chunk: Events<'_, W>,
        start: usize,
    ) {
        let depth = places.len() / CHUNK;
        let cells = self.columns.start * depth..self.columns.end * depth;
        let first = doubled::<L>(cells.start) as u32;
        let number = doubled::<L>(cells.len()) as u32;
        let is_pushed = |place: u32| place.wrapping_sub(first) < number;
        for row in places.chunks_exact(CHUNK) {
            let row = &row[start..self.end];
            let mut found = [false; CHUNK / TOGETHER];
            find_between(first, number, row, &mut found);
            for (part, places) in row.chunks(TOGETHER).enumerate() {
                if !found[part] {
                    continue;
                }
                for (at, &place) in places.iter().enumerate() {
                    let event = start + part * TOGETHER + at;
                    if !is_pushed(place) {
                        continue;
                    }
                    let (cell, negative) = cell_of(L::SIGNED, place);
                    let column = cell / depth - self.columns.start;
                    if event > usize::from(self.after[column]) {
                        let weight = chunk.weights.weight(event);
                        halves.move_back(cell, weight, negative);
                    }
                }
            }
        }
    }
}

widest! {
    /// Tells of each part of places whether one is among a number of them, from `first` on.
    fn find_between, find_between_at(first: u32, number: u32, places: &[u32], found: &mut [bool]) =
        find_loop
}

#[inline(always)]
fn find_loop(first: u32, number: u32, places: &[u32], found: &mut [bool]) {
    let is_between = |place: u32| place.wrapping_sub(first) < number;
    for (found, places) in found.iter_mut().zip(places.chunks(TOGETHER)) {
        *found = (places.iter()).fold(false, |any, &place| any | is_between(place));
    }
}

#[cfg(test)]
mod tests {
    use super::super::Table;
    use super::super::event_weights::Bounded;
    use super::super::hash::RowHashes;
    use super::super::kernels::{Index, Signed, Tally, Unsigned};
    use super::*;
    use crate::schedule::Schedule;
    use crate::simd::Width;
    use std::sync::atomic::{AtomicU64, Ordering};

    /// The published counts, and those after a further push of every column.
    fn counts(mut table: Table, width: u32) -> [Vec<i64>; 2] {
        let now = table.rows().unwrap();
        (0..width).for_each(|column| table.push(column));
        [now, table.rows().unwrap()]
    }

    /// The definition: each event is added to the pending counts, then the due columns are pushed.
    fn assert_equal(
        locate: &impl Locate,
        items: &[u64],
        [depth, width]: [u32; 2],
        schedule: Schedule,
        batches: &[usize],
    ) {
        let weights: Vec<u64> = (0..items.len() as u64).map(|at| at * at % 7).collect();
        let table = || Table::new(depth, width, true).unwrap();
        let (mut single, mut together) = (table(), table());
        let mut cursor = schedule.cursor(0, width);
        for (step, (&item, &weight)) in (1..).zip(items.iter().zip(&weights)) {
            single.add_one(locate, item, weight);
            while cursor.next_step() == step {
                single.push(cursor.advance());
            }
        }
        together.make_room_for_places().unwrap();
        let (mut moved, mut start) = (schedule.cursor(0, width), 0);
        for &batch in batches.iter().cycle() {
            let end = (start + batch).min(items.len());
            let weights = Bounded {
                weights: &weights[start..end],
                largest: 7,
            };
            let events = Events {
                items: &items[start..end],
                weights,
                offset: start as u64,
            };
            together.add_and_push(locate, events, 1, &mut moved);
            start = end;
            if start == items.len() {
                break;
            }
        }
        assert_eq!(moved, cursor);
        let what = format!("{depth} x {width}, {schedule:?}, {batches:?}");
        assert_eq!(counts(together, width), counts(single, width), "{what}");
    }

    /// The weight that another thread writes over 0 after it was read once.
    #[derive(Clone, Copy)]
    struct Overwritten<'a>(&'a AtomicU64);

    impl EventWeights for Overwritten<'_> {
        type Read<'a> = Bounded<'a>;

        fn weight(&self, position: usize) -> u64 {
            match position {
                1 => self.0.fetch_add(8, Ordering::Relaxed),
                _ => 1,
            }
        }
        fn slice(&self, _start: usize, _end: usize) -> Self {
            *self
        }
        fn read(self, room: &mut [u64]) -> Bounded<'_> {
            for (position, weight) in room.iter_mut().enumerate() {
                *weight = self.weight(position);
            }
            Bounded {
                weights: room,
                largest: 8,
            }
        }
    }

    /// The second event is in the column that is pushed before it: it is added and moved back.
    #[test]
    fn an_event_has_one_weight_also_if_it_is_overwritten() {
        let schedule = Schedule::RoundRobin {
            horizon: 1 << 40,
            period: 1,
        };
        let mut table = Table::new(1, 16, true).unwrap();
        table.make_room_for_places().unwrap();
        let weight = AtomicU64::new(0);
        let events = Events {
            items: &[3, 0],
            weights: Overwritten(&weight),
            offset: 0,
        };
        let mut cursor = schedule.cursor(0, 16);
        table.add_and_push(&Index, events, 1, &mut cursor);
        let [published, all] = counts(table, 16);
        assert_eq!((published[0], all[0], all[3]), (0, 0, 1));
    }

    #[test]
    fn an_event_has_one_weight_in_all_rows_of_a_deep_table() {
        for depth in [3, 9] {
            let mut table = Table::new(depth, 16, false).unwrap();
            table.make_room_for_places().unwrap();
            let weight = AtomicU64::new(5);
            let events = Events {
                items: &[3, 0],
                weights: Overwritten(&weight),
                offset: 0,
            };
            table.add_published(&Index, events);
            for row in table.rows().unwrap().chunks_exact(16) {
                assert_eq!((row[0], row[3]), (5, 1), "{depth}");
            }
        }
    }

    /// Runs of one push and of several, over the end of a round and of a chunk; many pushes at one
    /// step, also at the last of a batch; all kinds of places and more rows than are unrolled.
    #[test]
    fn runs_of_pushes_equal_single_ones() {
        let items: Vec<u64> = (0..2_500).map(|at| at * at * 31 % 1_009).collect();
        for width in [1, 5, 40, 200, 700] {
            let pushed_at = |horizon| Schedule::Single {
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
                pushed_at(1_300),
                pushed_at(1_200),
                pushed_at(2_500),
            ];
            for schedule in schedules {
                for batches in [[2_500].as_slice(), &[1, 30, 600, 569]] {
                    let indices: Vec<u64> =
                        items.iter().map(|item| item % u64::from(width)).collect();
                    assert_equal(&Index, &indices, [1, width], schedule, batches);
                    for depth in [1, 3, 9] {
                        let hashes = RowHashes::new(3, depth, width);
                        let shape = [depth, width];
                        assert_equal(&Unsigned(&hashes), &items, shape, schedule, batches);
                        assert_equal(&Signed(&hashes), &items, shape, schedule, batches);
                    }
                }
            }
        }
    }

    /// Cells of 4 MiB or more, of which lines are prefetched; also beyond the last column.
    #[test]
    fn wide_tables_equal_single_events() {
        let width = (1 << 20) + 3;
        let items: Vec<u64> = (0..3_000).map(|at| at * at * 7_919).collect();
        for period in [1, 7] {
            let schedule = Schedule::RoundRobin {
                horizon: 1 << 40,
                period,
            };
            let hashes = RowHashes::new(3, 3, width);
            let batches = [1, 700, 5, 2_294];
            let last: Vec<u64> = (0..3_000).map(|at| u64::from(width) - 1 - at % 9).collect();
            assert_equal(&Index, &last, [1, width], schedule, &batches);
            assert_equal(&Unsigned(&hashes), &items, [3, width], schedule, &batches);
            assert_equal(&Signed(&hashes), &items, [3, width], schedule, &batches);
        }
    }

    /// The definition, at every width of registers.
    #[test]
    fn parts_with_pushed_places_are_found() {
        for length in [0, 1, 31, 32, 33, 512] {
            let places: Vec<u32> = (0..length).map(|at| at * at % 601).collect();
            for (first, number) in [(0, 0), (5, 1), (0, 601), (600, 9), (590, u32::MAX)] {
                for width in Width::all() {
                    let mut found = [true; CHUNK / TOGETHER];
                    find_between_at(width, first, number, &places, &mut found);
                    for (part, places) in places.chunks(TOGETHER).enumerate() {
                        let is_between = |place: &u32| place.wrapping_sub(first) < number;
                        assert_eq!(
                            found[part],
                            places.iter().any(is_between),
                            "{first} {number}"
                        );
                    }
                }
            }
        }
    }
}
