//! Which names of an epoch are published, by their counts and the noise of their ranks.

use super::name::CHUNK;
use super::selection::Selection;
use super::spec::{Design, Law};
use crate::noise::prf::NoiseFunction;

/// Where the noise that all counts of an epoch share is drawn; the key of rank i draws at i + 1.
const SHARED: u64 = 0;

impl Design {
    /// The noise that all counts of an epoch share; a dictionary has none.
    pub(super) fn shared_noise(&self, prf: &NoiseFunction) -> i64 {
        match &self.law {
            Law::Selection(_) => 0,
            Law::Laplace(laplace) => {
                let shared = laplace.draw(prf, SHARED);
                planted!("misra-gries-without-shared-noise", 0, shared)
            }
        }
    }

    /// A sum of weights in units of the law, rounded up: one event changes it by one at most, since its
    /// weight is cut at a unit (docs/theory.md, Theorem 11a).
    fn units(&self, weight: i64) -> i64 {
        let unit = planted!("a-weight-is-a-unit", 1, self.weight_of_unit);
        (weight.max(0) as u64).div_ceil(unit) as i64
    }

    /// Decides which of the keys from a rank on are published, by their counts.
    pub(super) fn decide(
        &self,
        prf: &NoiseFunction,
        shared: i64,
        first: u64,
        count: impl Fn(usize) -> i64,
        published: &mut [bool],
    ) {
        match &self.law {
            Law::Selection(selection) => {
                let mut blocks = [0; CHUNK];
                let blocks = &mut blocks[..published.len()];
                Selection::blocks(prf, first, blocks);
                for (at, (published, &block)) in published.iter_mut().zip(&*blocks).enumerate() {
                    let block = planted!("discovery-without-noise", 1 << 127, block);
                    *published = selection.publishes(self.units(count(at)), block);
                }
            }
            Law::Laplace(laplace) => {
                let mut noises = [0; CHUNK];
                let noises = &mut noises[..published.len()];
                laplace.draws(prf, first, noises);
                for (at, (published, &noise)) in published.iter_mut().zip(&*noises).enumerate() {
                    let noise = shared + noise;
                    let noise = planted!("discovery-without-noise", 0, noise);
                    *published = count(at) + noise >= self.threshold;
                }
            }
        }
    }
}
