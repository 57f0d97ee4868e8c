//! Point queries on a live table: released values of the items' cells, many cells at a time.

use super::cell_noise::{Noise, number_of};
use super::private::{PrivateSketch, State};
use crate::parameters::LARGEST_DEPTH;
use crate::schedule::Pushes;
use crate::table::Table;
use crate::table::estimator::Estimator;
use crate::table::items::Items;
use crate::{Error, Result, memory};

/// A table and its noise at the current step; the paths must have been refreshed.
struct Reading<'a> {
    table: &'a Table,
    noise: &'a Noise,
    estimator: &'a Estimator,
    pushes: Pushes,
}

impl Reading<'_> {
    /// Calls `with` on the estimate of each item, in order.
    #[inline]
    fn estimate(&self, items: &[u64], mut with: impl FnMut(f64)) {
        const CELLS: usize = LARGEST_DEPTH as usize;
        let mut cells = [(0, 0); CELLS];
        let (mut values, mut signs) = ([0; CELLS], [0; CELLS]);
        let depth = self.estimator.hashes().depth();
        for items in items.chunks(CELLS / depth) {
            let mut end = 0;
            for &item in items {
                for row in 0..depth {
                    let (column, negative) = self.estimator.locate(row, item);
                    let number = number_of(row, column, self.estimator.width);
                    cells[end] = (number, column as u32);
                    values[end] = self.table.published(row, column);
                    signs[end] = negative;
                    end += 1;
                }
            }
            let values = &mut values[..end];
            self.noise.release(self.pushes, &cells[..end], values);
            for (value, negative) in values.iter_mut().zip(signs) {
                *value = (*value ^ negative) - negative;
            }
            for values in values.chunks_exact_mut(depth) {
                with(self.estimator.combine(values));
            }
        }
    }
}

impl State {
    fn reading(&self) -> Reading<'_> {
        Reading {
            table: &self.table,
            noise: &self.noise,
            estimator: &self.estimator,
            pushes: self.pushes(),
        }
    }
}

impl PrivateSketch {
    /// The estimate of one item from the public table, by fingerprint or index.
    #[inline]
    pub fn estimate(&mut self, item: u64) -> Result<f64> {
        self.check_reads_items()?;
        self.check_index(item)?;
        let state = self.state.as_mut().ok_or(Error::Closed)?;
        state.noise.refresh(state.pushes());
        let mut estimate = 0.0;
        state.reading().estimate(&[item], |found| estimate = found);
        Ok(estimate)
    }

    /// The estimates of many items, in order.
    pub fn estimate_many(&mut self, items: Items<'_>) -> Result<Vec<f64>> {
        self.check_reads_items()?;
        self.check_indices(items)?;
        let state = self.state.as_mut().ok_or(Error::Closed)?;
        state.noise.refresh(state.pushes());
        let (reading, mut estimates) = (state.reading(), memory::room_for(items.len())?);
        items.for_each_chunk(&self.fingerprinter, |_, chunk| {
            reading.estimate(chunk, |found| estimates.push(found));
        });
        Ok(estimates)
    }
}
