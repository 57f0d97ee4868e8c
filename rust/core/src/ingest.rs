//! How the events of a batch reach their place in the table.

use crate::counting::{Events, LastPushes, Locate, Ones, Weights};
use crate::schedule::{Cursor, Progress, Schedule};
use crate::table::Table;

/// How the events of a batch reach their place.
pub(crate) enum Plan {
    /// Every step publishes everything.
    Publish,
    /// Event by event, push by push.
    Push,
    /// Every column is pushed within the batch and nobody reads in between, so only the final
    /// state matters: old pending counts were moved once, and each event goes where the last push
    /// of its column leaves it.
    Place(LastPushes),
}

impl Plan {
    /// The plan for `events` at the steps after `step`; `Place` takes the pushes of what was
    /// pending at once.
    pub(crate) fn new(
        table: &mut Table,
        cursor: &Cursor,
        schedule: &Schedule,
        width: u32,
        step: u64,
        events: u64,
    ) -> Self {
        if schedule.pushes_everything() {
            return Self::Publish;
        }
        // A batch of less than a few rounds is cheaper push by push.
        if events < 4 * u64::from(width) {
            return Self::Push;
        }
        let (before, after) = (cursor.progress(), schedule.progress(step + events, width));
        if pushes_between(before, after, width) < u128::from(width) {
            return Self::Push;
        }
        let mut last = LastPushes {
            offsets: vec![0; width as usize],
            all_before: u64::MAX,
        };
        for (column, pushed_at) in schedule.last_pushes(after, width) {
            table.push(column);
            let offset = pushed_at - step - 1;
            last.offsets[column as usize] = offset;
            last.all_before = last.all_before.min(offset);
        }
        Self::Place(last)
    }
}

/// One chunk of a batch on its way into the table.
pub(crate) struct Counting<'a> {
    pub(crate) table: &'a mut Table,
    pub(crate) cursor: &'a mut Cursor,
    pub(crate) plan: &'a Plan,
    pub(crate) first_step: u64,
}

impl Counting<'_> {
    /// Counts the events at `offset` and after from the batch's first step.
    #[inline]
    pub(crate) fn add(
        &mut self,
        locate: &impl Locate,
        items: &[u64],
        weights: Option<&[u64]>,
        offset: u64,
    ) {
        match weights {
            None => self.add_events(
                locate,
                Events {
                    items,
                    weights: Ones,
                    offset,
                },
            ),
            Some(weights) => self.add_events(
                locate,
                Events {
                    items,
                    weights,
                    offset,
                },
            ),
        }
    }

    #[inline]
    fn add_events(&mut self, locate: &impl Locate, events: Events<'_, impl Weights>) {
        match self.plan {
            Plan::Publish => self.table.add_published(locate, events),
            Plan::Push => self
                .table
                .add_and_push(locate, events, self.first_step, self.cursor),
            Plan::Place(last) if events.offset + events.items.len() as u64 <= last.all_before => {
                self.table.add_published(locate, events);
            }
            Plan::Place(last) => self.table.add_by_last_push(locate, events, last),
        }
    }
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
