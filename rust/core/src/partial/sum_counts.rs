//! Exact counts of events and of their values by item: two Count Sketches with the same cells.
//!
//! The integers of a grid with n steps are 2 k - n: at most n from 0, and of the parity of n. So what
//! the two cells of a place may be follows from the number of events there, and what no events could
//! have counted is refused.

use crate::parameters::Shape;
use crate::partial::refusals::{of_sealed, refused};
use crate::partial::spec::PartialSpec;
use crate::partial::summed::Summed;
use crate::saved_state::{StateReader, StateWriter};
use crate::table::Table;
use crate::table::hash::{Fingerprinter, RowHashes};
use crate::table::ingest::CheckedBatch;
use crate::table::items::{Items, check_signed_weights};
use crate::{Error, Result};

/// The tables of events and of values of one step, or of a part of it.
pub(crate) struct SumCounts {
    events: Table,
    values: Table,
    hashes: RowHashes,
}

impl SumCounts {
    /// No events, with memory for as many as the description says.
    pub(super) fn new(spec: &PartialSpec, summed: &Summed) -> Result<Self> {
        let shape = &spec.shape;
        let mut counts = Self {
            events: Table::new(shape.depth, shape.width, false)?,
            values: Table::new(shape.depth, shape.width, false)?,
            hashes: RowHashes::new(shape.hash_seed, shape.depth, shape.width),
        };
        counts.make_room(bounds_of(spec, summed, spec.most_events))?;
        for table in [&mut counts.events, &mut counts.values] {
            table.make_room_for_places()?;
        }
        Ok(counts)
    }

    /// The exact counts of a table: of that of values, or of that of events.
    pub(crate) fn table(&self, is_of_values: bool) -> &Table {
        match is_of_values {
            true => &self.values,
            false => &self.events,
        }
    }

    /// Counts events that were checked, in both tables.
    pub(super) fn count(
        &mut self,
        items: Items<'_>,
        values: &[u64],
        summed: &Summed,
        (shape, fingerprinter): (&Shape, &Fingerprinter),
    ) -> Result<()> {
        self.values.make_room_for_places()?;
        let batch = CheckedBatch {
            kind: shape.kind,
            fingerprinter,
            hashes: &self.hashes,
            items,
            weights: None,
            max_weight: 1,
            signed: false,
        };
        batch.publish(&mut self.events, 1)?;
        let of_values = CheckedBatch {
            weights: Some(values),
            max_weight: summed.steps,
            signed: !planted!("signs-of-a-worker-are-lost"),
            ..batch
        };
        of_values.publish(&mut self.values, 1)
    }

    /// Memory for larger counts of events and of values; if there is none for both, nothing changes.
    fn make_room(&mut self, (events, values): (u128, u128)) -> Result<()> {
        let wider = self.values.wider(values)?;
        self.events.make_room(events)?;
        if let Some(wider) = wider {
            self.values.widen(wider);
        }
        Ok(())
    }

    /// Adds the counts of a partial of the same size.
    pub(super) fn merge(&mut self, other: &Self) {
        self.events.add_table(&other.events);
        self.values.add_table(&other.values);
    }

    /// Adds the counts of a partial of any size, with memory for so many events in all.
    pub(super) fn gather(
        &mut self,
        other: &Self,
        spec: &PartialSpec,
        summed: &Summed,
        most_events: u64,
    ) -> Result<()> {
        self.make_room(bounds_of(spec, summed, most_events))?;
        self.events.add_counts(&other.events);
        self.values.add_counts(&other.values);
        Ok(())
    }

    /// Hashes all counts, in a form that does not depend on the size of the counters.
    pub(super) fn digest(&self, hasher: &mut blake3::Hasher) -> Result<()> {
        [&self.events, &self.values].into_iter().try_for_each(|it| {
            it.with_wide_bytes(|counts| {
                hasher.update(counts);
            })
        })
    }

    /// Bytes that [`Self::save`] writes.
    pub(super) fn saved_bytes(&self) -> usize {
        self.events.saved_bytes() + self.values.saved_bytes()
    }

    /// Bytes of saved counts under a description.
    pub(super) fn saved_bytes_of(spec: &PartialSpec, summed: &Summed) -> usize {
        let cells = spec.shape.cells() as usize;
        let (events, values) = bounds_of(spec, summed, spec.most_events);
        Table::saved_bytes_of(cells, events) + Table::saved_bytes_of(cells, values)
    }

    /// Writes the counts in clear.
    pub(super) fn save(&self, out: &mut StateWriter) {
        self.events.save(out);
        self.values.save(out);
    }

    /// Takes over the counts of some events that were saved. None may be beyond what they allow.
    pub(super) fn restore(
        &mut self,
        spec: &PartialSpec,
        summed: &Summed,
        events: u64,
        from: &mut StateReader<'_>,
    ) -> Result<()> {
        let bounds = bounds_of(spec, summed, events);
        for (table, bound) in [(&mut self.events, bounds.0), (&mut self.values, bounds.1)] {
            let is_wide = table.is_wide();
            table.restore(from, bound).map_err(of_sealed)?;
            if table.is_wide() != is_wide {
                return refused("counters of the size of the description", "others");
            }
        }
        self.check(summed, events)
    }

    /// Checks that some events exist that count so, row by row: every event adds 1 or -1 to a cell,
    /// and an integer of the grid to the cell of values in that place.
    fn check(&self, summed: &Summed, events: u64) -> Result<()> {
        if planted!("sums-of-no-events-are-accepted") {
            return Ok(());
        }
        let events = u128::from(events);
        let rows = self.events.sums_beside(&self.values, |count, value| {
            least_events(count, value, summed.steps)
        });
        for row in rows {
            let Some(least) = row else {
                return refused("values of the grid", "others");
            };
            if least > events {
                return refused("counts that the events allow", "larger ones");
            }
            // Two more events of one place may cancel each other, so that any even number may.
            if (events - least) % 2 != 0 {
                return refused("rows that count the same events", "others");
            }
        }
        Ok(())
    }
}

/// Largest counts of a cell, and of the sum of absolute counts of a row, after some events: of the
/// table of events and of that of values.
fn bounds_of(spec: &PartialSpec, summed: &Summed, events: u64) -> (u128, u128) {
    let of_events = spec.bound_of(events);
    (of_events, of_events * u128::from(summed.steps))
}

/// The fewest events that leave these counts in the two cells of a place; `None` if none do.
fn least_events(count: i64, value: i64, steps: u64) -> Option<u128> {
    let (least, sum) = (count.unsigned_abs(), value.unsigned_abs());
    // Of n events the values add up to a number of the parity of n steps, and n has that of count.
    if (least & steps & 1) != sum & 1 {
        return None;
    }
    let of_values = sum.div_ceil(steps);
    let missing = of_values.saturating_sub(least);
    Some(u128::from(least) + u128::from(missing.next_multiple_of(2)))
}

/// Checks events before any is counted: each has a value, which is an integer of the grid.
pub(super) fn check_values(summed: &Summed, items: usize, values: Option<&[u64]>) -> Result<()> {
    let Some(values) = values.filter(|values| values.len() == items) else {
        let expected = format!("one per item ({items})");
        return Err(Error::parameter("values", expected, "another number"));
    };
    check_signed_weights(Some(values), items, summed.steps)?;
    match values.iter().all(|value| (value ^ summed.steps) & 1 == 0) {
        true => Ok(()),
        false => Err(Error::parameter("values", "integers of the grid", "others")),
    }
}
