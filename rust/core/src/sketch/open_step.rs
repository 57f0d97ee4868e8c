//! The open step of the batch schedule. A step there is a public slice of time, and its events may
//! come in any number of calls. They are kept in a table of their own, which no read uses, until
//! the step is closed.

use crate::table::Table;
use crate::table::ingest::CheckedBatch;

/// The events of the open step.
pub(super) struct OpenStep {
    table: Table,
    events: u64,
    begun: bool,
}

impl OpenStep {
    /// An empty open step for a sketch with this table.
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

    /// True from the first `add`, even of an empty batch, until `close_into`.
    #[inline]
    pub(super) fn has_begun(&self) -> bool {
        self.begun
    }

    /// Counts a batch; `bound` is the bound on counts of the step being filled.
    pub(super) fn add(&mut self, batch: CheckedBatch<'_>, bound: u128) {
        self.begun = true;
        self.table.make_room(bound);
        batch.publish(&mut self.table, 1);
        self.events += batch.items.len() as u64;
    }

    /// Moves the events to the published counts of `table` and resets.
    pub(super) fn close_into(&mut self, table: &mut Table, bound: u128) {
        table.make_room(bound);
        self.table.make_room(bound);
        table.add_table(&self.table);
        self.table.clear();
        self.events = 0;
        self.begun = false;
    }

    /// Pretends more events than a test could add.
    #[cfg(test)]
    pub(super) fn set_events(&mut self, events: u64) {
        self.events = events;
    }
}
