//! Noise of every (cell, push): recomputed at each read, never stored.

use crate::key::WorkingKey;
use crate::mechanism::{Mechanism, Weights};
use crate::noise::gaussian::RoundedGaussian;
use crate::noise::prf::NoiseFunction;
use crate::schedule::Progress;

/// Cells whose noise is computed together.
const CELLS: usize = 64;

/// Noise of every (cell, push).
pub(crate) struct Noise {
    prf: NoiseFunction,
    gaussian: RoundedGaussian,
    mechanism: Mechanism,
    /// Paths of the current push number and the next; shared by all cells.
    paths: [Option<(u64, Weights)>; 2],
}

impl Noise {
    pub(crate) fn new(key: &WorkingKey, sigma: f64, mechanism: Mechanism) -> Self {
        Self {
            prf: NoiseFunction::new(key),
            gaussian: RoundedGaussian::new(planted_sigma(sigma)),
            mechanism,
            paths: [None, None],
        }
    }

    /// The largest node.
    pub(crate) fn nodes(&self) -> u64 {
        self.mechanism.nodes()
    }

    /// The draw of one node of one cell.
    pub(crate) fn draw(&self, cell: u64, node: u64) -> i64 {
        self.gaussian.draw(self.prf.block(cell, node))
    }

    /// Computes the paths that reads at this progress need.
    pub(crate) fn refresh(&mut self, progress: Progress) {
        let largest = progress.rounds + u64::from(progress.column > 0);
        for push in progress.rounds..=largest {
            let slot = &mut self.paths[(push % 2) as usize];
            if push > 0 && slot.as_ref().is_none_or(|(known, _)| *known != push) {
                let node = planted!(
                    "noise-repeats-after-1024-pushes",
                    (push - 1) % 1024 + 1,
                    push
                );
                *slot = Some((push, self.mechanism.weights(node)));
            }
        }
    }

    /// Computes the released values of cells from their published counts in `values`: 0 before a
    /// cell's first push, then published + noise. Cells are pairs of number and column.
    pub(crate) fn release(&self, progress: Progress, cells: &[(u64, u32)], values: &mut [i64]) {
        let (mut numbers, mut noises) = ([0; CELLS], [0; CELLS]);
        for (cells, values) in cells.chunks(CELLS).zip(values.chunks_mut(CELLS)) {
            // Columns before `progress.column` were pushed once more than the others.
            for push in [progress.rounds, progress.rounds + 1] {
                let pushed = |column: u32| progress.pushes(column) == push;
                let mut found = 0;
                for &(number, _) in cells.iter().filter(|(_, column)| pushed(*column)) {
                    numbers[found] = planted!("cell-number-in-16-bits", number & 0xFFFF, number);
                    found += 1;
                }
                if found == 0 {
                    continue;
                }
                let noises = &mut noises[..found];
                if push > 0 {
                    let rounds = progress.rounds.max(1);
                    let push = planted!("new-push-takes-the-noise-of-the-last", rounds, push);
                    self.path(push)
                        .noises(&self.prf, &self.gaussian, &numbers[..found], noises);
                }
                let values = values.iter_mut().zip(cells);
                let values = values.filter(|(_, (_, column))| pushed(*column));
                for ((value, _), &noise) in values.zip(noises.iter()) {
                    let no_noise = planted!("zero-counts-without-noise") && *value == 0
                        || planted!("last-push-without-noise") && push == self.mechanism.nodes();
                    let noise = if no_noise { 0 } else { noise };
                    *value = if push > 0 { *value + noise } else { 0 };
                }
            }
        }
    }

    /// Computes the released values of a whole table from its published counts, row by row.
    pub(crate) fn release_rows(&self, progress: Progress, width: u32, rows: &mut [i64]) {
        let width = width as usize;
        let mut cells = [(0, 0); CELLS];
        for (row, values) in rows.chunks_exact_mut(width).enumerate() {
            for (chunk, values) in values.chunks_mut(CELLS).enumerate() {
                let columns = chunk * CELLS..;
                for (cell, column) in cells[..values.len()].iter_mut().zip(columns) {
                    *cell = (number_of(row, column, width), column as u32);
                }
                self.release(progress, &cells[..values.len()], values);
            }
        }
    }

    fn path(&self, push: u64) -> &Weights {
        match &self.paths[(push % 2) as usize] {
            // Noise of one push must never be added to the count of another.
            Some((known, path)) if *known == push => path,
            _ => unreachable!("the paths of this step were refreshed"),
        }
    }
}

/// The number of a cell, by which its noise is drawn.
#[inline]
pub(super) fn number_of(row: usize, column: usize, width: usize) -> u64 {
    let row = planted!("rows-share-noise", 0, row);
    let column = planted!("cell-number-within-its-chunk", column % CELLS, column);
    (row * width + column) as u64
}

fn planted_sigma(sigma: f64) -> f64 {
    let sigma = planted!("sigma-5-percent-low", 0.95 * sigma, sigma);
    planted!("sigma-5-percent-high", 1.05 * sigma, sigma)
}
