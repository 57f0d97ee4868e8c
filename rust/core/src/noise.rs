//! The noise of every (cell, push): recomputed at each read, never stored.

use crate::gaussian::RoundedGaussian;
use crate::key::WorkingKey;
use crate::mechanism::{Mechanism, Weights};
use crate::prf::NoiseFunction;
use crate::schedule::Progress;

/// The noise of every (cell, push).
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
            gaussian: RoundedGaussian::new(sigma),
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

    /// Computes the paths that releases at this progress need.
    pub(crate) fn refresh(&mut self, progress: Progress) {
        let largest = progress.rounds + u64::from(progress.column > 0);
        for push in progress.rounds..=largest {
            let slot = &mut self.paths[(push % 2) as usize];
            if push > 0 && slot.as_ref().is_none_or(|(known, _)| *known != push) {
                *slot = Some((push, self.mechanism.weights(push)));
            }
        }
    }

    /// The released value of a cell: 0 before its first push, then published + noise.
    #[inline]
    pub(crate) fn released(&self, cell: u64, push: u64, published: i64) -> i64 {
        if push == 0 {
            return 0;
        }
        let path = match &self.paths[(push % 2) as usize] {
            // Noise bound to one push must never meet the count of another.
            Some((known, path)) if *known == push => path,
            _ => unreachable!("the paths of this step were refreshed"),
        };
        published + path.noise(&self.prf, &self.gaussian, cell)
    }
}
