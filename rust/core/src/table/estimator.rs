//! Estimate of one item from the values of its cells: minimum or median over rows.

use super::hash::RowHashes;
use super::kernels::{Index, Locate, Signed, Unsigned};
use super::range_rows::RangeRows;
use crate::estimation::{ErrorModel, Row};
use crate::parameters::{LARGEST_DEPTH, Shape, TableKind};

/// "CO Sketch Query" of the paper: minimum for Count-Min, median for Count Sketch.
#[derive(Debug, Clone)]
pub(crate) struct Estimator {
    kind: TableKind,
    hashes: RowHashes,
    pub(crate) width: usize,
}

impl Estimator {
    pub(crate) fn new(shape: &Shape) -> Self {
        Self {
            kind: shape.kind,
            hashes: RowHashes::new(shape.hash_seed, shape.depth, shape.width),
            width: shape.width as usize,
        }
    }

    pub(crate) fn hashes(&self) -> &RowHashes {
        &self.hashes
    }

    /// The estimate from the released values `value(row, column)` of the item's cells.
    #[inline]
    pub(crate) fn estimate(&self, item: u64, mut value: impl FnMut(usize, usize) -> i64) -> f64 {
        let mut values = [0; LARGEST_DEPTH as usize];
        let values = &mut values[..self.hashes.depth()];
        for (row, out) in values.iter_mut().enumerate() {
            let (column, negative) = self.locate(row, item);
            *out = (value(row, column) ^ negative) - negative;
        }
        self.combine(values)
    }

    /// The estimate from the values of an item's cells, with signs already applied.
    #[inline]
    pub(crate) fn combine(&self, values: &mut [i64]) -> f64 {
        match self.kind {
            TableKind::CountSketch => median(values),
            _ => values.iter().copied().min().unwrap_or_default() as f64,
        }
    }

    /// The published cells of an item, with signs applied, as a model of the table sees them.
    #[inline]
    pub(crate) fn rows<'a>(
        &self,
        model: &ErrorModel,
        item: u64,
        rows: &'a mut Vec<Row>,
    ) -> &'a [Row] {
        rows.clear();
        for row in 0..self.hashes.depth() {
            let (column, negative) = self.locate(row, item);
            let value = (model.value(row, column) ^ negative) - negative;
            rows.extend(model.row(column, value as f64));
        }
        rows
    }

    /// Column and sign of an item in a row.
    #[inline]
    pub(crate) fn locate(&self, row: usize, item: u64) -> (usize, i64) {
        match self.kind {
            TableKind::CountMin => Unsigned(&self.hashes).locate(row, item),
            TableKind::CountSketch => Signed(&self.hashes).locate(row, item),
            TableKind::Counters => Index.locate(row, item),
            TableKind::Ranges => RangeRows(&self.hashes).locate(row, item),
            // Not an item of users: levels and node sums are read as a whole.
            TableKind::Distinct { .. } | TableKind::Values { .. } => {
                Index.locate(row, item % self.width as u64)
            }
        }
    }
}

/// The middle value, or the mean of the two middle values.
fn median(values: &mut [i64]) -> f64 {
    values.sort_unstable();
    let middle = values.len() / 2;
    if values.len() % 2 == 1 {
        values[middle] as f64
    } else {
        (values[middle - 1] as f64 + values[middle] as f64) / 2.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimator(kind: TableKind, depth: u32) -> Estimator {
        Estimator::new(&Shape {
            kind,
            depth,
            width: 64,
            hash_seed: 3,
        })
    }

    #[test]
    fn medians_are_the_middle_of_all() {
        for (mut values, expected) in [
            (vec![4], 4.0),
            (vec![9, 2], 5.5),
            (vec![5, -7, 1], 1.0),
            (vec![1, 10, 3, 2], 2.5),
            (vec![8, 3, -1, 7, 100], 7.0),
            (vec![i64::MAX, i64::MAX], i64::MAX as f64),
        ] {
            assert_eq!(median(&mut values), expected);
        }
    }

    /// The signs of a Count Sketch are undone before the median; the others have the minimum.
    #[test]
    fn estimates_follow_from_the_cells_of_an_item() {
        for depth in 1..6 {
            for item in 0..50 {
                let row_value = |row: usize| [30, -20, 50, 10, 40][row];
                let minimum = (0..depth as usize).map(row_value).min().unwrap() as f64;
                let plain = estimator(TableKind::CountMin, depth);
                assert_eq!(plain.estimate(item, |row, _| row_value(row)), minimum);
                let signed = estimator(TableKind::CountSketch, depth);
                let turned = |row: usize, column: usize| {
                    let (expected, negative) = signed.locate(row, item);
                    assert_eq!(column, expected);
                    let sign = if negative == 0 { 1 } else { -1 };
                    sign * row_value(row)
                };
                let mut sorted: Vec<i64> = (0..depth as usize).map(row_value).collect();
                sorted.sort_unstable();
                let (low, high) = ((depth as usize - 1) / 2, depth as usize / 2);
                let expected = (sorted[low] + sorted[high]) as f64 / 2.0;
                assert_eq!(signed.estimate(item, turned), expected, "{depth} {item}");
            }
        }
        let both = (0..50).map(|item| estimator(TableKind::CountSketch, 1).locate(0, item).1);
        assert_eq!(both.collect::<std::collections::HashSet<_>>().len(), 2);
        let counters = estimator(TableKind::Counters, 1);
        assert_eq!(counters.estimate(7, |_, column| column as i64), 7.0);
    }
}
