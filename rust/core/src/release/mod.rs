//! Releases: public integer tables, with the parameters of their noise.
//!
//! A release contains no secret and no exact count of a private sketch. It can be queried, saved,
//! loaded and merged anywhere; all of this is post-processing.

use crate::estimation::{ErrorModel, Row};
use crate::guarantee::NotPrivate;
use crate::key::SketchId;
use crate::mechanism::value_tree::FEWEST_BINS;
use crate::parameters::{NoiseSpec, Shape, TableKind, digest_of_edges};
use crate::schedule::Pushes;
use crate::table::estimator::Estimator;
use crate::table::hash::Fingerprinter;
use crate::table::items::Items;
use crate::{Error, Result, memory};
use std::sync::Arc;

mod cell_blocks;
pub mod codec;
mod names;
mod noise_bytes;
mod part_bytes;
mod promises;
mod run_promise;
mod since;
#[cfg(test)]
mod tests;
pub mod versions;

pub use run_promise::{RunPromise, TablePromise};

/// Most parts of a merged release.
pub const LARGEST_PARTS: usize = 1 << 16;

/// The contribution of one sketch to a release.
#[derive(Debug, Clone, PartialEq)]
pub struct Part {
    /// The sketch; it occurs once in a release.
    pub sketch_id: SketchId,
    /// Step at which the release was made.
    pub step: u64,
    /// Step after which its counts begin: 0, or that of an earlier release that was taken off.
    pub since: u64,
    /// After `finish`, the numbers of the final pushes: of the columns that the schedule had pushed
    /// least, and of those that it had pushed once more (0 if there are none). Zeros for an exact
    /// sketch.
    pub finished: Option<[u64; 2]>,
    /// The noise in the table; `None` for an exact sketch.
    pub noise: Option<NoiseSpec>,
    /// What the run promised that published it, if that is more than this part.
    pub run: Option<RunPromise>,
    /// Why it is NOT PRIVATE; empty if it is private.
    pub not_private: NotPrivate,
}

impl Part {
    /// True if the final pushes, if any, are possible after this step.
    pub(crate) fn has_possible_finish(&self, shape: &Shape) -> bool {
        let Some(numbers) = self.finished else {
            return true;
        };
        let Some(noise) = &self.noise else {
            return numbers == [0; 2];
        };
        let Ok(mechanism) = noise.mechanism(shape) else {
            return false;
        };
        let progress = noise.schedule.progress(self.step, shape.width);
        let keeps = noise.schedule.nothing_pending(progress);
        let Pushes {
            column,
            numbers: last,
        } = progress.last_pushes();
        let is_possible = |last: u64, number: u64| {
            number > last && number <= mechanism.extra_leaf() || keeps && last > 0 && number == last
        };
        let first = is_possible(last[0], numbers[0]);
        first
            && if column > 0 {
                is_possible(last[1], numbers[1])
            } else {
                numbers[1] == 0
            }
    }
}

/// A public table and the sketches that it came from.
#[derive(Debug, Clone, PartialEq)]
pub struct Release {
    shape: Shape,
    parts: Vec<Part>,
    /// A live sketch may keep the same.
    table: Arc<Vec<i64>>,
    /// The edges between the bins of values; empty for other kinds.
    edges: Arc<[f64]>,
}

/// The edges between the bins of a table of this shape: none for kinds without bins.
pub fn checked_edges(shape: &Shape, edges: &[f64]) -> Result<Arc<[f64]>> {
    let refused = |expected: &str| Err(Error::parameter("edges", expected, "others"));
    let TableKind::Values { edges: digest, .. } = shape.kind else {
        return match edges {
            [] => Ok(Arc::new([])),
            _ => refused("none, without values"),
        };
    };
    let rises = edges.windows(2).all(|pair| pair[0] < pair[1]);
    if edges.is_empty() || !rises || !edges.iter().all(|edge| edge.is_finite()) {
        return refused("finite numbers that rise");
    }
    let bins = (edges.len() as u64 + 1).next_power_of_two();
    if bins.max(FEWEST_BINS.into()) != u64::from(shape.width) {
        return refused("one fewer than there are bins");
    }
    if digest_of_edges(edges) != digest {
        return refused("those of the digest");
    }
    memory::copied(edges).map(Arc::from)
}

impl Release {
    /// `table` row by row, `shape.cells()` long; at least one part.
    pub(crate) fn new(shape: Shape, parts: Vec<Part>, table: Vec<i64>) -> Self {
        Self::sharing(shape, parts, Arc::new(table))
    }

    /// As [`Self::new`], with a table that others have, too.
    pub(crate) fn sharing(shape: Shape, parts: Vec<Part>, table: Arc<Vec<i64>>) -> Self {
        debug_assert_eq!(table.len() as u64, shape.cells());
        debug_assert!(!parts.is_empty());
        Self {
            shape,
            parts,
            table,
            edges: Arc::new([]),
        }
    }

    /// The same release with the edges between its bins, from [`checked_edges`].
    pub(crate) fn with_edges(self, edges: Arc<[f64]>) -> Self {
        Self { edges, ..self }
    }

    /// The edges between the bins of values; empty for other kinds.
    pub fn edges(&self) -> &[f64] {
        &self.edges
    }

    /// The same release, with what its run promised, if that is more than its noise does.
    pub fn of_run(mut self, run: Option<RunPromise>) -> Result<Self> {
        run.as_ref().map_or(Ok(()), RunPromise::validate)?;
        for part in &mut self.parts {
            part.run.clone_from(&run);
        }
        Ok(self)
    }

    /// Shape and hash seed.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// The sketches in this release, ordered by id once merged.
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// The table, row by row.
    pub fn table(&self) -> &[i64] {
        &self.table
    }

    /// The flags of all parts together.
    pub fn not_private(&self) -> NotPrivate {
        self.parts
            .iter()
            .fold(NotPrivate::default(), |not_private, part| {
                not_private.with(part.not_private)
            })
    }

    /// The table, which others may keep.
    pub fn shared_table(&self) -> Arc<Vec<i64>> {
        Arc::clone(&self.table)
    }

    /// Computes the fingerprints that [`Self::reader`] takes.
    pub fn fingerprinter(&self) -> Fingerprinter {
        Fingerprinter::new(self.shape.hash_seed)
    }

    /// Where this release counts items; making it costs as much as fifty estimates.
    pub fn item_cells(&self) -> ItemCells {
        ItemCells(Estimator::new(&self.shape))
    }

    /// Answers point queries on this table; `cells` are those of this release.
    pub fn reader<'a>(&'a self, cells: &'a ItemCells) -> ReleaseReader<'a> {
        ReleaseReader {
            estimator: &cells.0,
            table: &self.table,
        }
    }

    /// The sum of releases of different sketches with one shape and hash seed.
    pub fn merge(releases: &[&Self]) -> Result<Self> {
        let (first, rest) = releases
            .split_first()
            .ok_or_else(|| Error::Merge("expected at least one release, got none".into()))?;
        if !rest.is_empty() && matches!(first.shape.kind, TableKind::Distinct { .. }) {
            return Err(Error::Merge(
                "expected counts of events, got counts of distinct items: items that are in several \
                 streams would count several times"
                    .into(),
            ));
        }
        let parts = releases.iter().map(|release| release.parts.len()).sum();
        let mut merged = Self {
            shape: first.shape,
            parts: memory::room_for(parts)?,
            table: Arc::new(memory::copied(&first.table)?),
            edges: Arc::clone(&first.edges),
        };
        merged.parts.extend_from_slice(&first.parts);
        for other in rest {
            merged.add(other)?;
        }
        merged.parts.sort_by_key(|part| part.sketch_id);
        let same = |pair: &[Part]| pair[0].sketch_id == pair[1].sketch_id;
        if merged.parts.windows(2).any(same) && !planted!("a-sketch-merged-with-itself") {
            return Err(Error::Merge(
                "expected releases of different sketches, got one sketch id twice: its events \
                 would count double and its noise would not add up"
                    .into(),
            ));
        }
        Ok(merged)
    }

    fn add(&mut self, other: &Self) -> Result<()> {
        let (ours, theirs) = (&self.shape, &other.shape);
        if ours != theirs {
            let show = |shape: &Shape| {
                let Shape {
                    kind,
                    depth,
                    width,
                    hash_seed,
                } = shape;
                format!(
                    "{} {depth} x {width} with hash_seed {hash_seed}",
                    kind.name()
                )
            };
            return Err(Error::Merge(format!(
                "expected {}, got {}",
                show(ours),
                show(theirs)
            )));
        }
        if self.parts.len() + other.parts.len() > LARGEST_PARTS {
            return Err(Error::Merge(format!(
                "expected at most {LARGEST_PARTS} parts, got more"
            )));
        }
        let sums = Arc::make_mut(&mut self.table);
        for (sum, &value) in sums.iter_mut().zip(&*other.table) {
            *sum = sum
                .checked_add(value)
                .filter(|&sum| sum != i64::MIN)
                .ok_or_else(|| Error::Merge("expected sums within 64 bits, got larger".into()))?;
        }
        if !planted!("merge-forgets-the-other-parts") {
            self.parts.extend_from_slice(&other.parts);
        }
        Ok(())
    }
}

/// The rows, columns and signs of items.
#[derive(Debug, Clone)]
pub struct ItemCells(Estimator);

/// Point queries on the table of a release.
pub struct ReleaseReader<'a> {
    estimator: &'a Estimator,
    table: &'a [i64],
}

impl ReleaseReader<'_> {
    /// The estimate of one item, given its fingerprint (or index).
    #[inline]
    pub fn estimate(&self, item: u64) -> f64 {
        let width = self.estimator.width;
        self.estimator
            .estimate(item, |row, column| self.table[row * width + column])
    }
}

impl ReleaseReader<'_> {
    /// The estimates of many items, in order.
    pub fn estimate_many(
        &self,
        items: Items<'_>,
        fingerprinter: &Fingerprinter,
    ) -> Result<Vec<f64>> {
        let mut estimates = memory::room_for(items.len())?;
        items.for_each_chunk(fingerprinter, |_, chunk| {
            estimates.extend(chunk.iter().map(|&item| self.estimate(item)));
        });
        Ok(estimates)
    }

    /// The published cells of one item, as a model of this release's table sees them.
    #[inline]
    pub fn rows<'a>(&self, model: &ErrorModel, item: u64, rows: &'a mut Vec<Row>) -> &'a [Row] {
        self.estimator.rows(model, item, rows)
    }

    /// Calls `with` on the paper's estimate and the published cells of each item, in order.
    pub fn for_each(
        &self,
        model: &ErrorModel,
        items: Items<'_>,
        fingerprinter: &Fingerprinter,
        mut with: impl FnMut(f64, &[Row]),
    ) {
        let mut rows = Vec::new();
        items.for_each_chunk(fingerprinter, |_, chunk| {
            for &item in chunk {
                with(self.estimate(item), self.rows(model, item, &mut rows));
            }
        });
    }

    /// The cells of many items, in order and row by row: their columns, and whether their values
    /// count with the opposite sign.
    pub fn locate_many(
        &self,
        items: Items<'_>,
        fingerprinter: &Fingerprinter,
    ) -> Result<(Vec<u32>, Vec<bool>)> {
        let depth = self.estimator.hashes().depth();
        let cells = items.len().saturating_mul(depth);
        let (mut columns, mut flipped) = (memory::room_for(cells)?, memory::room_for(cells)?);
        items.for_each_chunk(fingerprinter, |_, chunk| {
            for &item in chunk {
                for row in 0..depth {
                    let (column, negative) = self.estimator.locate(row, item);
                    columns.push(column as u32);
                    flipped.push(negative != 0);
                }
            }
        });
        Ok((columns, flipped))
    }
}
