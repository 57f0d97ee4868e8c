//! Sums of whole tables: adding one to another of any width, rows, all counts for a digest.

use super::counters::Counter;
use super::{Cells, Table};
use crate::{Result, memory};
use zeroize::Zeroizing;

/// Cells whose counts are passed on together.
const CELLS_PER_PART: usize = 1 << 12;

/// What the counts of some cells add up to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct CellSum {
    pub(crate) absolute: u128,
    pub(crate) has_negative: bool,
}

/// Adds counts to counters that are wide enough for the sums, cell by cell.
pub(super) fn sum<C: Counter, T: Counter>(cells: &mut [C], counts: &[T]) {
    for (cell, count) in cells.iter_mut().zip(counts) {
        let sum = cell.wide().wrapping_add(count.wide());
        cell.add_signed(count.wide().cast_unsigned(), 0);
        // Not `debug_assert_eq`, which would show the counts.
        debug_assert!(cell.wide() == sum, "wide enough for the sums");
    }
}

impl Table {
    /// Adds the published and the pending counts of a table of the same shape.
    pub(crate) fn add_table(&mut self, other: &Self) {
        debug_assert_eq!(self.is_wide(), other.is_wide());
        with_cells!(&mut self.cells, cells => with_cells!(&other.cells, counts => {
            debug_assert_eq!(cells.len(), counts.len());
            sum(cells, counts);
        }));
    }

    /// Adds the counts of a table of the same shape without pending counts to the published ones.
    pub(crate) fn add_counts(&mut self, other: &Self) {
        debug_assert_eq!((self.depth, self.width), (other.depth, other.width));
        with_cells!(&mut self.cells, cells => with_cells!(&other.cells, counts => {
            sum(cells, counts);
        }));
    }

    /// Passes on the published counts in 8 bytes each, part by part; the bytes are erased.
    pub(crate) fn with_wide_bytes(&self, mut with: impl FnMut(&[u8])) -> Result<()> {
        let mut bytes = Zeroizing::new(memory::filled(0_u8, 8 * CELLS_PER_PART)?);
        with_cells!(&self.cells, cells => {
            for part in cells[..self.cells()].chunks(CELLS_PER_PART) {
                for (out, count) in bytes.chunks_exact_mut(8).zip(part) {
                    out.copy_from_slice(&count.wide().to_le_bytes());
                }
                with(&bytes[..8 * part.len()]);
            }
        });
        Ok(())
    }

    /// The sums of the absolute published counts of groups of cells; `group_of` has the group of a
    /// row and a column.
    pub(crate) fn sums_of(
        &self,
        groups: usize,
        group_of: impl Fn(usize, usize) -> usize,
    ) -> Vec<CellSum> {
        let mut sums = vec![CellSum::default(); groups];
        with_cells!(&self.cells, cells => {
            let columns = cells[..self.cells()].chunks_exact(self.depth).enumerate();
            for (column, counts) in columns {
                for (row, count) in counts.iter().enumerate() {
                    let sum = &mut sums[group_of(row, column)];
                    sum.absolute += u128::from(count.wide().unsigned_abs());
                    sum.has_negative |= count.wide() < 0;
                }
            }
        });
        sums
    }

    /// The sum of each row over its cells of `of_cells`, of the published counts here and those in the
    /// same cells of a table of the same shape; `None` for a row with a cell that has none.
    pub(crate) fn sums_beside(
        &self,
        other: &Self,
        of_cells: impl Fn(i64, i64) -> Option<u128>,
    ) -> Vec<Option<u128>> {
        debug_assert_eq!((self.depth, self.width), (other.depth, other.width));
        let mut sums = vec![Some(0_u128); self.depth];
        with_cells!(&self.cells, cells => with_cells!(&other.cells, others => {
            let pairs = cells[..self.cells()].iter().zip(others).enumerate();
            for (at, (count, beside)) in pairs {
                let sum = &mut sums[at % self.depth];
                let more = of_cells(count.wide(), beside.wide());
                *sum = sum.zip(more).map(|(sum, more)| sum + more);
            }
        }));
        sums
    }
}

#[cfg(test)]
mod tests {
    use super::super::kernels::Index;
    use super::*;

    /// The sum is the same, whatever the widths of the counters; the pending half stays as it is.
    #[test]
    fn counts_are_added_at_any_widths() {
        for (is_lazy, is_wide, others_are_wide) in [
            (false, false, false),
            (false, false, true),
            (true, true, false),
            (true, true, true),
        ] {
            let table = |is_lazy, is_wide, weight: u64| {
                let mut table = Table::new(1, 3, is_lazy).unwrap();
                let bound = if is_wide { u128::MAX } else { 1 };
                table.make_room(bound).unwrap();
                assert_eq!(table.is_wide(), is_wide);
                table.add_one(&Index, 0, weight);
                table.add_one(&Index, 2, 5);
                table
            };
            let mut whole = table(is_lazy, is_wide, 2);
            whole.add_counts(&table(false, others_are_wide, 3));
            let before = if is_lazy { [0; 3] } else { [2, 0, 5] };
            let expected = [before[0] + 3, 0, before[2] + 5];
            assert_eq!(whole.rows().unwrap(), expected);
            if is_lazy {
                (0..3).for_each(|column| whole.push(column));
                assert_eq!(whole.rows().unwrap(), [5, 0, 10]);
            }
        }
    }

    /// In their order, in parts of any size, from counters of both widths.
    #[test]
    fn every_count_is_passed_on_in_eight_bytes() {
        for width in [1, 3, CELLS_PER_PART / 2, CELLS_PER_PART + 7] {
            let rows: Vec<i64> = (0..2 * width as i64).map(|at| at - 900).collect();
            let wide = Table::from_rows(2, width as u32, &rows).unwrap();
            let mut narrow = Table::new(2, width as u32, false).unwrap();
            narrow.add_counts(&wide);
            // Column by column.
            let cells = (0..2 * width).map(|at| rows[at % 2 * width + at / 2]);
            let expected: Vec<u8> = cells.flat_map(|count| count.to_le_bytes()).collect();
            for (table, is_wide) in [(narrow, false), (wide, true)] {
                assert_eq!(table.is_wide(), is_wide);
                let mut bytes = Vec::new();
                (table.with_wide_bytes(|part| bytes.extend_from_slice(part))).unwrap();
                assert_eq!(bytes, expected);
            }
        }
    }

    #[test]
    fn rows_add_up() {
        let mut table = Table::from_rows(2, 3, &[1, -2, 3, 0, 1 << 62, 1 << 62]).unwrap();
        let sum = |absolute, has_negative| CellSum {
            absolute,
            has_negative,
        };
        let rows = |table: &Table| table.sums_of(2, |row, _| row);
        assert_eq!(rows(&table), [sum(6, true), sum(1 << 63, false)]);
        let ends = table.sums_of(2, |_, column| usize::from(column == 1));
        assert_eq!(ends, [sum(4 + (1 << 62), false), sum(2 + (1 << 62), true)]);
        table.clear();
        assert_eq!(rows(&table), [sum(0, false); 2]);
    }

    /// Row by row, of counters of different widths.
    #[test]
    fn tables_beside_each_other_add_up() {
        let wide = Table::from_rows(2, 2, &[1 << 40, 2, -3, 4]).unwrap();
        let mut narrow = Table::new(2, 2, false).unwrap();
        narrow.add_counts(&Table::from_rows(2, 2, &[5, 6, 7, 0]).unwrap());
        let product = |count: i64, other: i64| u128::try_from(count * other).ok();
        let expected = [Some((5 << 40) + 12), None];
        assert_eq!(wide.sums_beside(&narrow, product), expected);
        assert_eq!(narrow.sums_beside(&wide, product), expected);
    }
}
