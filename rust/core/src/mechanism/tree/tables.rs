//! The optimised rows of the tree mechanism that ship with the library.
//!
//! `tools/tree_tables` regenerates and checks them. A table is examined on first use: see
//! `super::solve::examine`.

use super::rows::StrategyRows;
use super::solve::{Facts, examine};
use std::sync::OnceLock;

/// The error that a table was optimised for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Target {
    /// Even over all pushes.
    Even,
    /// Even over the logarithm of the push number: less noise early, more late.
    Early,
}

macro_rules! tables {
    ($(($depth:literal, $target:ident, $file:literal)),* $(,)?) => {
        const FILES: &[(u32, Target, &[u8])] = &[
            $(($depth, Target::$target, include_bytes!(concat!("tables/", $file))),)*
        ];
    };
}

tables![
    (2, Even, "tree_k2.i16"),
    (3, Even, "tree_k3.i16"),
    (4, Even, "tree_k4.i16"),
    (5, Even, "tree_k5.i16"),
    (6, Even, "tree_k6.i16"),
    (7, Even, "tree_k7.i16"),
    (8, Even, "tree_k8.i16"),
    (9, Even, "tree_k9.i16"),
    (10, Even, "tree_k10.i16"),
    (11, Even, "tree_k11.i16"),
    (12, Even, "tree_k12.i16"),
    (13, Even, "tree_k13.i16"),
    (14, Even, "tree_k14.i16"),
    (10, Early, "tree_k10_log.i16"),
    (12, Early, "tree_k12_log.i16"),
];

type Loaded = Option<(StrategyRows, Facts)>;

static LOADED: [OnceLock<Loaded>; FILES.len()] = [const { OnceLock::new() }; FILES.len()];

/// k of the largest table for a target.
pub(in crate::mechanism) fn deepest(target: Target) -> u32 {
    FILES
        .iter()
        .filter(|(_, of, _)| *of == target)
        .map(|(depth, ..)| *depth)
        .max()
        .unwrap_or(0)
}

/// The smallest table for `leaves` pushes, with its facts; `None` if no table is large enough.
pub(in crate::mechanism) fn table_for(
    leaves: u64,
    target: Target,
) -> Option<&'static (StrategyRows, Facts)> {
    let enough =
        |&(_, &(depth, of, _)): &(usize, &(u32, Target, _))| of == target && leaves <= 1 << depth;
    let (index, &(depth, _, bytes)) = FILES
        .iter()
        .enumerate()
        .filter(enough)
        .min_by_key(|(_, (depth, _, _))| *depth)?;
    let load = || {
        let rows = StrategyRows::parse(depth, bytes)?;
        let facts = examine(&rows)?;
        Some((rows, facts))
    };
    LOADED[index].get_or_init(load).as_ref()
}
