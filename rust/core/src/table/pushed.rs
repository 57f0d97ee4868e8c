//! The cells that a share of a batch pushes.

use crate::schedule::Cursor;
use std::ops::Range;

/// Cells that are pushed one after the other, each once.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pushed {
    first: u32,
    number: u32,
    /// Cells of the table: after its last, its first is pushed.
    cells: u32,
}

impl Pushed {
    /// Those between two states of a schedule, at most one round apart.
    pub(super) fn between(before: &Cursor, after: &Cursor, depth: usize) -> Self {
        let (width, depth) = (before.width(), depth as u32);
        let progress = before.progress();
        let pushes = progress.pushes_until(after.progress(), width);
        debug_assert!(pushes <= u128::from(width), "each column once");
        Self {
            first: progress.column * depth,
            number: pushes as u32 * depth,
            cells: width * depth,
        }
    }

    #[cfg(test)]
    pub(super) fn of(first: u32, number: u32, cells: u32) -> Self {
        Self {
            first,
            number,
            cells,
        }
    }

    /// Number of cells.
    pub(super) fn len(self) -> usize {
        self.number as usize
    }

    /// Cells of the table from the first that is pushed to this one.
    #[inline]
    pub(super) fn index(self, cell: usize) -> usize {
        let [first, cells] = [self.first, self.cells].map(|number| number as usize);
        cell + if cell < first { cells } else { 0 } - first
    }

    /// True if a cell is pushed after a number of others.
    pub(super) fn has(self, cell: u32, after: u32) -> bool {
        let after = planted!("events-after-a-push-published", 0, after);
        (after as usize..self.len()).contains(&self.index(cell as usize))
    }

    /// The pushed cells among neighbouring ones, of which `start` is the first: ranges of these, and
    /// how many cells are pushed before each.
    pub(super) fn within(self, start: usize, length: usize) -> [(Range<usize>, usize); 2] {
        let [first, number, cells] = [self.first, self.number, self.cells].map(|n| n as usize);
        let end = first + number;
        let parts = [first..end.min(cells), 0..end.saturating_sub(cells)];
        parts.map(|part| {
            let within = |cell: usize| cell.saturating_sub(start).min(length);
            let range = within(part.start)..within(part.end);
            let before = if range.is_empty() {
                0
            } else {
                self.index(start + range.start)
            };
            (range, before)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The definition, for pushed cells that go on with the first of the table, and for all and
    /// none; in parts of every length.
    #[test]
    fn cells_are_pushed_from_the_first_on() {
        let cells = 20_u32;
        for (first, number) in [(0, 0), (4, 6), (16, 10), (19, 1), (0, 20), (7, 20)] {
            let pushed = Pushed::of(first, number, cells);
            let order: Vec<u32> = (0..number).map(|at| (first + at) % cells).collect();
            assert_eq!(pushed.len(), order.len());
            for cell in 0..cells {
                let at = order.iter().position(|&other| other == cell);
                for after in 0..=number {
                    let expected = at.is_some_and(|at| at >= after as usize);
                    assert_eq!(
                        pushed.has(cell, after),
                        expected,
                        "{pushed:?} {cell} {after}"
                    );
                }
            }
            for length in 1..=20 {
                let mut found: Vec<(usize, u32)> = Vec::new();
                for start in (0..20).step_by(length) {
                    for (range, before) in pushed.within(start, length.min(20 - start)) {
                        let cells = range.map(|at| (start + at) as u32);
                        found.extend((before..).zip(cells));
                    }
                }
                found.sort_unstable();
                assert!(found.into_iter().eq((0..).zip(order.iter().copied())));
            }
        }
    }
}
