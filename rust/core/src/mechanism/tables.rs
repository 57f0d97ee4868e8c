//! The optimised rows of the tree mechanism that ship with the library.
//!
//! Each file holds the rows as 16-bit little-endian integers, depth by depth: the row of node
//! (d, v) has d + 1 entries, its ancestors by depth and then itself. tools/tree_tables
//! regenerates and checks them. A table is examined when it is first used: see
//! [`super::tree::examine`].

use super::tree::{Facts, examine};
use std::sync::OnceLock;

/// Which error a table was optimised for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Target {
    /// Even over all pushes.
    Even,
    /// Even over the logarithm of the push number: less noise early, more late.
    Early,
}

/// The rows of one table.
#[derive(Debug)]
pub struct Rows {
    depth: u32,
    entries: Vec<i16>,
    digest: [u8; 16],
}

impl Rows {
    /// k: the table serves 2^k pushes.
    pub fn depth(&self) -> u32 {
        self.depth
    }

    /// The first 16 bytes of the BLAKE3 hash of the file.
    pub fn digest(&self) -> [u8; 16] {
        self.digest
    }

    /// Row of node (d, v): entries of its ancestors by depth, then its own.
    #[inline]
    pub(super) fn row(&self, d: u32, v: u64) -> &[i16] {
        // 1 entry for the root, then 2^(i-1) rows of i + 1 entries: (d - 1) 2^(d-1) + 1 + ...
        let before = if d == 0 { 0 } else { 1 + rows_before(d) };
        let start = before + v as usize * (d as usize + 1);
        &self.entries[start..start + d as usize + 1]
    }

    fn parse(depth: u32, bytes: &[u8]) -> Option<Self> {
        if bytes.len() != 2 * (1 + rows_before(depth + 1)) {
            return None;
        }
        let entry = |pair: &[u8]| i16::from_le_bytes([pair[0], pair[1]]);
        let mut digest = [0; 16];
        digest.copy_from_slice(&blake3::hash(bytes).as_bytes()[..16]);
        Some(Self {
            depth,
            entries: bytes.chunks_exact(2).map(entry).collect(),
            digest,
        })
    }

    /// A table from entries, to test the examination on wrong ones.
    #[cfg(test)]
    pub(super) fn with_entries(depth: u32, entries: Vec<i16>) -> Self {
        Self {
            depth,
            entries,
            digest: [0; 16],
        }
    }

    /// All entries, as in the file; public, for whoever checks the table.
    pub(super) fn entries(&self) -> &[i16] {
        &self.entries
    }
}

/// Entries of the rows of depths 1 .. d - 1: the sum of 2^(i-1) (i + 1) is (d - 1) 2^(d-1) there.
fn rows_before(d: u32) -> usize {
    (d as usize - 1) << (d - 1)
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

type Loaded = Option<(Rows, Facts)>;

static LOADED: [OnceLock<Loaded>; FILES.len()] = [const { OnceLock::new() }; FILES.len()];

/// k of the deepest table of a target.
pub(super) fn deepest(target: Target) -> u32 {
    FILES
        .iter()
        .filter(|(_, of, _)| *of == target)
        .map(|(depth, ..)| *depth)
        .max()
        .unwrap_or(0)
}

/// The smallest table for `leaves` pushes, with its facts; `None` if none is large enough.
pub(super) fn table_for(leaves: u64, target: Target) -> Option<&'static (Rows, Facts)> {
    let enough =
        |&(_, &(depth, of, _)): &(usize, &(u32, Target, _))| of == target && leaves <= 1 << depth;
    let (index, &(depth, _, bytes)) = FILES
        .iter()
        .enumerate()
        .filter(enough)
        .min_by_key(|(_, (depth, _, _))| *depth)?;
    let load = || {
        let rows = Rows::parse(depth, bytes)?;
        let facts = examine(&rows)?;
        Some((rows, facts))
    };
    LOADED[index].get_or_init(load).as_ref()
}
