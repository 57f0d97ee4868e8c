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

    /// From 4 MiB on.
    #[test]
    fn far_cells() {
        let cells = vec![0_i32; 1 << 20];
        assert!(are_far(&cells) && !are_far(&cells[1..]));
    }
}
