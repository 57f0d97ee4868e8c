//! Noise of every (cell, push): recomputed at each read, never stored.

use crate::key::WorkingKey;
use crate::mechanism::{Mechanism, Weights};
use crate::noise::gaussian::RoundedGaussian;
use crate::noise::prf::NoiseFunction;
use crate::schedule::{Progress, Pushes, Schedule};

/// Cells whose noise is computed together.
const CELLS: usize = 64;

/// Noise of every (cell, push).
pub(crate) struct Noise {
    prf: NoiseFunction,
    gaussian: RoundedGaussian,
    mechanism: Mechanism,
    /// Paths of the two push numbers that the columns have; shared by all cells.
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

    /// The variance of the noise after this number of pushes, in units of sigma^2.
    pub(crate) fn variance(&self, push: u64) -> f64 {
        if push == 0 {
            0.0
        } else {
            self.mechanism.variance(push)
        }
    }

    /// The largest node, which is that of the extra leaf.
    pub(crate) fn nodes(&self) -> u64 {
        self.mechanism.draws()
    }

    /// The draw of one node of one cell.
    pub(crate) fn draw(&self, cell: u64, node: u64) -> i64 {
        self.gaussian.draw(self.prf.block(cell, node))
    }

    /// The numbers of the final pushes of a table that is finished here.
    pub(crate) fn final_pushes(&self, schedule: &Schedule, progress: Progress) -> Pushes {
        progress.final_pushes(schedule, &self.mechanism)
    }

    /// Computes the paths that reads at these pushes need.
    pub(crate) fn refresh(&mut self, pushes: Pushes) {
        let is_known = |slot: &Option<(u64, Weights)>, push: u64| {
            slot.as_ref().is_some_and(|(known, _)| *known == push)
        };
        // At the end of a round the second number becomes the first.
        if is_known(&self.paths[1], pushes.numbers[0]) {
            self.paths.swap(0, 1);
        }
        for (slot, push) in self.paths.iter_mut().zip(pushes.numbers) {
            if push > 0 && !is_known(slot, push) {
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
    pub(crate) fn release(&self, pushes: Pushes, cells: &[(u64, u32)], values: &mut [i64]) {
        let (mut numbers, mut noises) = ([0; CELLS], [0; CELLS]);
        for (cells, values) in cells.chunks(CELLS).zip(values.chunks_mut(CELLS)) {
            for group in [0, 1] {
                let push = pushes.numbers[group];
                let pushed = |column: u32| pushes.group(column) == group;
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
                    let group = planted!(
                        "new-push-takes-the-noise-of-the-last",
                        if pushes.numbers[0] > 0 { 0 } else { group },
                        group
                    );
                    self.path(group, pushes.numbers[group]).noises(
                        &self.prf,
                        &self.gaussian,
                        &numbers[..found],
                        noises,
                    );
                }
                let values = values.iter_mut().zip(cells);
                let values = values.filter(|(_, (_, column))| pushed(*column));
                for ((value, _), &noise) in values.zip(noises.iter()) {
                    let noise = planted!(
                        "zero-counts-without-noise",
                        if *value == 0 { 0 } else { noise },
                        noise
                    );
                    let noise = planted!(
                        "last-push-without-noise",
                        if push == self.mechanism.nodes() {
                            0
                        } else {
                            noise
                        },
                        noise
                    );
                    *value = if push > 0 { *value + noise } else { 0 };
                }
            }
        }
    }

    /// Computes the released values of a part of a row, which begins at a column, from its published
    /// counts.
    pub(crate) fn release_row(
        &self,
        pushes: Pushes,
        width: u32,
        (row, first): (usize, u32),
        values: &mut [i64],
    ) {
        let width = width as usize;
        let mut cells = [(0, 0); CELLS];
        for (chunk, values) in values.chunks_mut(CELLS).enumerate() {
            let columns = first as usize + chunk * CELLS..;
            for (cell, column) in cells[..values.len()].iter_mut().zip(columns) {
                *cell = (number_of(row, column, width), column as u32);
            }
            self.release(pushes, &cells[..values.len()], values);
        }
    }

    fn path(&self, group: usize, push: u64) -> &Weights {
        match &self.paths[group] {
            // Noise of one push must never be added to the count of another.
            Some((known, path)) if *known == push => path,
            _ => unreachable!("the paths of these pushes were refreshed"),
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
