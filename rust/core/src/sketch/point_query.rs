//! Point queries on a live table: the released values of an item's cells, many cells at a time.

use crate::parameters::LARGEST_DEPTH;
use crate::schedule::Progress;
use crate::sketch::cell_noise::Noise;
use crate::table::Table;
use crate::table::estimator::Estimator;

/// A table with the noise of its present state, whose paths were refreshed.
pub(crate) struct Reading<'a> {
    pub(crate) table: &'a Table,
    pub(crate) noise: &'a Noise,
    pub(crate) estimator: &'a Estimator,
    pub(crate) progress: Progress,
}

impl Reading<'_> {
    /// Calls `with` on the estimate of each item, in order.
    #[inline]
    pub(crate) fn estimate(&self, items: &[u64], mut with: impl FnMut(f64)) {
        const CELLS: usize = LARGEST_DEPTH as usize;
        let mut cells = [(0, 0); CELLS];
        let (mut values, mut signs) = ([0; CELLS], [0; CELLS]);
        let depth = self.estimator.hashes().depth();
        for items in items.chunks(CELLS / depth) {
            let mut end = 0;
            for &item in items {
                for row in 0..depth {
                    let (column, negative) = self.estimator.locate(row, item);
                    let number = (row * self.estimator.width + column) as u64;
                    cells[end] = (number, column as u32);
                    values[end] = self.table.published(row, column);
                    signs[end] = negative;
                    end += 1;
                }
            }
            let values = &mut values[..end];
            self.noise.release(self.progress, &cells[..end], values);
            for (value, negative) in values.iter_mut().zip(signs) {
                *value = (*value ^ negative) - negative;
            }
            for values in values.chunks_exact_mut(depth) {
                with(self.estimator.combine(values));
            }
        }
    }
}
