//! Differences of releases of one sketch: the counts of the steps between them.
//!
//! Both releases are public, so their difference is post-processing. Its noise is that of two pushes
//! of the same cells, which share nodes: the variance is not the sum (docs/theory.md, Lemma 12a).

use super::{Part, Release};
use crate::parameters::{Shape, TableKind};
use crate::schedule::Schedule;
use crate::{Error, Result, memory};
use std::sync::Arc;

impl Part {
    /// True if counts of this part can begin after the step that it states: 0 for all counts.
    pub(crate) fn has_possible_begin(&self, shape: &Shape) -> bool {
        if self.since == 0 {
            return true;
        }
        let counts_items = !matches!(
            shape.kind,
            TableKind::Distinct { .. } | TableKind::Values { .. } | TableKind::Ranges
        );
        let noise = self
            .noise
            .filter(|_| counts_items && self.since < self.step);
        noise.is_some_and(|noise| {
            // Without lag: what the step says of the counts is true of every column.
            let is_current = match noise.schedule {
                Schedule::Punctual { .. } | Schedule::Batch { .. } => true,
                Schedule::Single { .. } | Schedule::RoundRobin { .. } => false,
                Schedule::Geometric { .. } => false,
            };
            let mechanism = noise.mechanism(shape);
            is_current && mechanism.is_ok_and(|mechanism| mechanism.has_exact_weights())
        })
    }
}

impl Release {
    /// The counts of the steps after an earlier release of the same sketch.
    pub fn since(&self, earlier: &Self) -> Result<Self> {
        let refused = |expected: &str| Err(Error::parameter("earlier", expected, "another"));
        let ([late], [early]) = (&self.parts[..], &earlier.parts[..]) else {
            return refused("a release of one sketch, before one of the same sketch");
        };
        let same = late.sketch_id == early.sketch_id && late.noise == early.noise;
        if self.shape != earlier.shape || !same || early.since != 0 || late.since != 0 {
            return refused("a release of the same sketch, of all its steps");
        }
        let part = Part {
            since: early.step,
            ..late.clone()
        };
        if early.step == 0 {
            return Ok(self.clone());
        }
        // A final push may have another number than the step, and an earlier release has none.
        if early.finished.is_some() || !part.has_possible_begin(&self.shape) {
            return refused(
                "a release of an earlier step of counts of items that are pushed at every step \
                 (schedule batch or punctual, mechanism tree, tree-log, haar or binary)",
            );
        }
        let mut table = memory::copied(&self.table)?;
        for (value, &before) in table.iter_mut().zip(&*earlier.table) {
            *value = value
                .checked_sub(before)
                .filter(|&value| value != i64::MIN)
                .ok_or_else(|| Error::parameter("earlier", "counts within 64 bits", "larger"))?;
        }
        let mut found = Self::sharing(self.shape, vec![part], Arc::new(table));
        found.edges = Arc::clone(&self.edges);
        Ok(found)
    }
}
