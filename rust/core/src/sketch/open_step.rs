//! The step that is not over: under the batch schedule a step is a public slice of time, and its
//! events may come in any number of calls. They wait in a table of their own, which no read looks
//! at, until a step is taken.

use crate::table::Table;
use crate::table::ingest::CheckedBatch;

/// The events of the open step.
pub(super) struct OpenStep {
    table: Table,
    events: u64,
    begun: bool,
}

impl OpenStep {
    /// An empty one for a sketch with this table.
    pub(super) fn of(table: &Table) -> Self {
        Self {
            table: table.empty(),
            events: 0,
            begun: false,
        }
    }

    /// Number of events so far.
    pub(super) fn events(&self) -> u64 {
        self.events
    }

    /// True from the first `add`, whether it brought events or not, until `close_into`.
    #[inline]
    pub(super) fn has_begun(&self) -> bool {
        self.begun
    }

    /// Counts a batch; `bound` is that of the step they will be in.
    pub(super) fn add(&mut self, batch: CheckedBatch<'_>, bound: u128) {
        self.begun = true;
        self.table.make_room(bound);
        batch.publish(&mut self.table, 1);
        self.events += batch.items.len() as u64;
    }

    /// Moves what was added to the published counts of `table`, and is empty again.
    pub(super) fn close_into(&mut self, table: &mut Table, bound: u128) {
        table.make_room(bound);
        self.table.make_room(bound);
        table.add_table(&self.table);
        self.table.clear();
        self.events = 0;
        self.begun = false;
    }

    /// As many events as no test can bring.
    #[cfg(test)]
    pub(super) fn set_events(&mut self, events: u64) {
        self.events = events;
    }
}
