//! Exact Count-Min and Count sketches: the paper's baselines, NOT PRIVATE.

use crate::guarantee::NotPrivate;
use crate::key::SketchId;
use crate::parameters::{LARGEST_COUNT, Shape, TableKind};
use crate::release::{Part, Release};
use crate::table::Table;
use crate::table::estimator::Estimator;
use crate::table::hash::Fingerprinter;
use crate::table::ingest::CheckedBatch;
use crate::table::items::{Items, check_weight, check_weights};
use crate::table::kernels::{Index, Signed, Unsigned};
use crate::table::range_rows::RangeRows;
use crate::{Error, Result, memory};

/// A sketch without noise.
pub struct ExactSketch {
    shape: Shape,
    sketch_id: SketchId,
    fingerprinter: Fingerprinter,
    estimator: Estimator,
    table: Table,
    step: u64,
    total: u64,
    finished: bool,
}

impl ExactSketch {
    /// An empty sketch.
    pub fn new(shape: Shape) -> Result<Self> {
        shape.validate()?;
        let table = Table::new(shape.depth, shape.width, false)?;
        Ok(Self::with_table(shape, SketchId::fresh()?, table, 0, 0))
    }

    fn with_table(shape: Shape, sketch_id: SketchId, table: Table, step: u64, total: u64) -> Self {
        Self {
            shape,
            sketch_id,
            fingerprinter: Fingerprinter::new(shape.hash_seed),
            estimator: Estimator::new(&shape),
            table,
            step,
            total,
            finished: false,
        }
    }

    /// The sketch that made an exact release, with a fresh id: for copying and pickling.
    pub fn from_release(release: &Release) -> Result<Self> {
        let [part] = release.parts() else {
            return Err(Error::Format(
                "expected one exact sketch, got a merged release".into(),
            ));
        };
        if part.noise.is_some() || release.shape().kind.has_indices() {
            return Err(Error::Format(
                "expected an exact sketch, got a private release".into(),
            ));
        }
        let shape = *release.shape();
        let width = shape.width as usize;
        let magnitude = |row: &[i64]| row.iter().map(|v| u128::from(v.unsigned_abs())).sum();
        // No cell exceeds this, which is enough to bound later totals.
        let largest: u128 = release
            .table()
            .chunks(width)
            .map(magnitude)
            .max()
            .unwrap_or(0);
        if largest >= u128::from(LARGEST_COUNT) {
            return Err(Error::Format(
                "expected a total below 2^62, got a larger one".into(),
            ));
        }
        let table = Table::from_rows(shape.depth, shape.width, release.table())?;
        let id = SketchId::fresh()?;
        Ok(Self {
            finished: part.finished.is_some(),
            ..Self::with_table(shape, id, table, part.step, largest as u64)
        })
    }

    /// Shape and hash seed.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Events counted.
    pub fn step(&self) -> u64 {
        self.step
    }

    /// Computes fingerprints of items under this sketch's hash seed.
    pub fn fingerprinter(&self) -> &Fingerprinter {
        &self.fingerprinter
    }

    /// One event.
    #[inline]
    pub fn update(&mut self, item: u64, weight: u64) -> Result<()> {
        check_weight(weight, LARGEST_COUNT - 1)?;
        let total = self.total_with(weight.into())?;
        self.table.make_room(total.into())?;
        self.total = total;
        self.step += 1;
        let (table, hashes) = (&mut self.table, self.estimator.hashes());
        match self.shape.kind {
            TableKind::CountMin => table.add_one(&Unsigned(hashes), item, weight),
            TableKind::CountSketch => table.add_one(&Signed(hashes), item, weight),
            TableKind::Ranges => table.add_one(&RangeRows(hashes), item, weight),
            TableKind::Counters | TableKind::Distinct { .. } | TableKind::Values { .. } => {
                table.add_one(&Index, item, weight);
            }
        }
        Ok(())
    }

    /// A batch, one step per event; everything is checked before anything is applied.
    pub fn update_many(&mut self, items: Items<'_>, weights: Option<&[u64]>) -> Result<()> {
        self.update_many_in_threads(items, weights, 1)
    }

    /// As [`Self::update_many`], in at most `threads` threads; the state is the same for any
    /// number.
    pub fn update_many_in_threads(
        &mut self,
        items: Items<'_>,
        weights: Option<&[u64]>,
        threads: usize,
    ) -> Result<()> {
        check_weights("weights", weights, items.len(), LARGEST_COUNT - 1)?;
        // Preparing a batch costs as much as several events.
        if let Some(item) = items.only(&self.fingerprinter) {
            return self.update(item, weights.map_or(1, |weights| weights[0]));
        }
        let added = weights.map_or(items.len() as u128, |weights| {
            weights.iter().map(|&weight| u128::from(weight)).sum()
        });
        let total = self.total_with(added)?;
        self.table.make_room(total.into())?;
        let batch = CheckedBatch {
            kind: self.shape.kind,
            fingerprinter: &self.fingerprinter,
            hashes: self.estimator.hashes(),
            items,
            weights,
            max_weight: LARGEST_COUNT - 1,
            signed: false,
        };
        batch.publish(&mut self.table, threads)?;
        self.total = total;
        self.step += items.len() as u64;
        Ok(())
    }

    /// Ends counting; reads go on. A finished sketch stays as it is.
    pub fn finish(&mut self) {
        self.finished = true;
    }

    /// True after [`Self::finish`].
    pub fn is_finished(&self) -> bool {
        self.finished
    }

    /// The total with the weight of the coming events.
    #[inline]
    fn total_with(&self, added: u128) -> Result<u64> {
        if self.finished {
            return Err(Error::Finished);
        }
        let total = u128::from(self.total) + added;
        if total >= u128::from(LARGEST_COUNT) {
            return Err(Error::parameter("weights", "a total below 2^62", "more"));
        }
        Ok(total as u64)
    }

    /// The estimate of one item, by fingerprint.
    #[inline]
    pub fn estimate(&self, item: u64) -> f64 {
        self.estimator
            .estimate(item, |row, column| self.table.published(row, column))
    }

    /// The estimates of many items, in order.
    pub fn estimate_many(&self, items: Items<'_>) -> Result<Vec<f64>> {
        let mut estimates = memory::room_for(items.len())?;
        items.for_each_chunk(&self.fingerprinter, |_, chunk| {
            estimates.extend(chunk.iter().map(|&item| self.estimate(item)));
        });
        Ok(estimates)
    }

    /// The counts, row by row.
    pub fn table(&self) -> Result<Vec<i64>> {
        self.table.rows()
    }

    /// The counts as a release that is marked NOT PRIVATE.
    pub fn release(&self) -> Result<Release> {
        let part = Part {
            sketch_id: self.sketch_id,
            step: self.step,
            since: 0,
            finished: self.finished.then_some([0; 2]),
            noise: None,
            run: None,
            not_private: NotPrivate::EXACT,
        };
        Ok(Release::new(self.shape, vec![part], self.table()?))
    }

    /// The sketch of both streams combined.
    pub fn merged(&self, other: &Self) -> Result<Self> {
        let sum = Release::merge(&[&self.release()?, &other.release()?])?;
        let total = u128::from(self.total) + u128::from(other.total);
        if total >= u128::from(LARGEST_COUNT) {
            return Err(Error::Merge("expected a total below 2^62, got more".into()));
        }
        let table = Table::from_rows(self.shape.depth, self.shape.width, sum.table())?;
        let step = self.step + other.step;
        Ok(Self::with_table(
            self.shape,
            SketchId::fresh()?,
            table,
            step,
            total as u64,
        ))
    }
}
