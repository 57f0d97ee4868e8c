//! What a live sketch keeps of its last release, and which columns were pushed since.

use crate::schedule::Progress;
use std::ops::Range;
use std::sync::Arc;

/// What a sketch remembers of its last release.
#[derive(Debug, Default)]
pub(super) enum LastRelease {
    #[default]
    None,
    NotKept,
    Kept(KeptTable),
}

/// A public table, and the pushes that are in it.
#[derive(Debug)]
pub(super) struct KeptTable {
    pub(super) table: Arc<Vec<i64>>,
    pub(super) progress: Progress,
    pub(super) finished: bool,
}

/// The columns that were pushed between two states of a schedule.
pub(super) fn pushed_since(before: Progress, now: Progress, width: u32) -> [Range<u32>; 2] {
    let rounds = now.rounds - before.rounds;
    match rounds {
        0 => [before.column..now.column, 0..0],
        1 if now.column < before.column => [before.column..width, 0..now.column],
        _ => [0..width, 0..0],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against a walk through the pushes, one by one.
    #[test]
    fn columns_pushed_in_between_are_found() {
        let width = 5_u32;
        let progress = |pushes: u32| Progress {
            rounds: u64::from(pushes / width),
            column: pushes % width,
        };
        for before in 0..3 * width {
            for now in before..5 * width {
                let ranges = pushed_since(progress(before), progress(now), width);
                let mut found: Vec<u32> = ranges.into_iter().flatten().collect();
                let mut known: Vec<u32> = (before..now).take(5).map(|push| push % width).collect();
                found.sort_unstable();
                known.sort_unstable();
                assert_eq!(found, known, "{before} {now}");
            }
        }
    }
}
