//! Cells that are far from the processor: those of tables wider than the caches.
//!
//! An addition to such a cell waits for its line. The processor finds only some of the next ones on
//! its own while it waits, so the lines of the next events are asked for before they are needed.

use crate::simd::prefetch;

/// Bytes of cells from which they are far; most of fewer stay in the second cache.
const FAR: usize = 4 << 20;
/// Events whose cells are prefetched together.
pub(super) const AHEAD: usize = 16;
/// Bytes that a cache fetches together, or a multiple.
const LINE: usize = 64;

/// True if cells are far.
#[inline]
pub(super) fn are_far<C>(cells: &[C]) -> bool {
    size_of_val(cells) >= FAR
}

/// True if most lines of cells have one of a number of places, so that each place is in a line that
/// was not read before.
#[inline]
pub(super) fn are_sparse<C>(cells: &[C], places: usize) -> bool {
    2 * places * LINE < 3 * size_of_val(cells)
}

/// Begins to read cells that follow each other.
#[inline]
pub(super) fn prefetch_all<C>(cells: &[C]) {
    for line in (0..cells.len()).step_by(LINE / size_of::<C>()) {
        prefetch(cells, line);
    }
}

/// Begins to read the cells of places, which may be doubled (1) or not (0).
#[inline]
pub(super) fn prefetch_each<C>(cells: &[C], places: &[u32], doubled: u32) {
    for &place in places {
        prefetch(cells, (place >> doubled) as usize);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From 4 MiB on, and up to three places in two lines of 64 bytes.
    #[test]
    fn far_and_sparse_cells() {
        let cells = vec![0_i32; 1 << 20];
        assert!(are_far(&cells) && !are_far(&cells[1..]));
        let (lines, wide) = ([0_i32; 160], [0_i64; 80]);
        for (places, expected) in [(0, true), (1, true), (14, true), (15, false), (99, false)] {
            assert_eq!(are_sparse(&lines, places), expected, "{places}");
            assert_eq!(are_sparse(&wide, places), expected, "{places}");
        }
    }
}
