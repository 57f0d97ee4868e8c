//! The open step of the batch schedule. A step there is a public slice of time, and its events may
//! come in any number of calls. They are kept in a table of their own, which no read uses, until
//! the step is closed.

use crate::Result;
use crate::saved_state::{StateReader, StateWriter};
use crate::table::Table;
use crate::table::ingest::CheckedBatch;
use std::collections::BTreeMap;

/// The events of the open step.
pub(super) struct OpenStep {
    table: Table,
    events: u64,
    begun: bool,
}

impl OpenStep {
    /// An empty open step for a sketch with this table.
    pub(super) fn of(table: &Table) -> Result<Self> {
        Ok(Self {
            table: table.empty()?,
            events: 0,
            begun: false,
        })
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

    /// The table of its events, whose counters are as wide as the sketch's.
    pub(super) fn table_mut(&mut self) -> &mut Table {
        &mut self.table
    }

    /// Counts a batch.
    pub(super) fn add(&mut self, batch: CheckedBatch<'_>) -> Result<()> {
        batch.publish(&mut self.table, 1)?;
        self.begin(batch.items.len() as u64);
        Ok(())
    }

    /// Takes note of events that are added to the table.
    pub(super) fn begin(&mut self, events: u64) {
        self.begun = true;
        self.events += events;
    }

    /// Moves the events to the published counts of `table` and resets.
    pub(super) fn close_into(&mut self, table: &mut Table) {
        table.add_table(&self.table);
        self.table.clear();
        self.events = 0;
        self.begun = false;
    }

    /// Everything that was added to the first row of a column.
    pub(super) fn counted(&self, column: usize) -> i64 {
        self.table.counted(column)
    }

    /// Bytes that [`Self::save`] writes.
    pub(super) fn saved_bytes(&self) -> usize {
        1 + 8 + self.table.saved_bytes()
    }

    /// Writes the events of the step.
    pub(super) fn save(&self, out: &mut StateWriter) {
        out.put_flag(self.begun);
        out.put(self.events.to_le_bytes());
        self.table.save(out);
    }

    /// The open step of a sketch with this table, as it was written.
    pub(super) fn restored(
        table: &Table,
        state: &mut StateReader<'_>,
        bound: u128,
    ) -> Result<Self> {
        let (begun, events) = (state.take_flag()?, state.take_u64()?);
        let mut open = Self::of(table)?;
        open.table.restore(state, bound)?;
        (open.begun, open.events) = (begun, events);
        Ok(open)
    }

    /// Pretends more events than a test could add.
    #[cfg(test)]
    pub(super) fn set_events(&mut self, events: u64) {
        self.events = events;
    }
}

/// The events of later steps than the open one, by the number of steps before theirs.
#[derive(Default)]
pub(super) struct StepsAhead(pub(super) BTreeMap<u64, OpenStep>);

impl StepsAhead {
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The number of steps before the last one with events.
    pub(super) fn last(&self) -> Option<u64> {
        self.0.last_key_value().map(|(&last, _)| last)
    }

    /// Takes out the first step, if it is not after this one.
    pub(super) fn first_until(&mut self, step: u64) -> Option<(u64, OpenStep)> {
        let first = self.0.first_entry()?;
        (*first.key() <= step).then(|| first.remove_entry())
    }
}
