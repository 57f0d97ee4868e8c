//! The rows of a strategy matrix of the tree mechanism, in their file format.
//!
//! 16-bit little-endian integers, depth by depth: the row of node (d, v) has d + 1 entries, its
//! ancestors by depth and then itself.

/// The rows of one table.
#[derive(Debug)]
pub(in crate::mechanism) struct StrategyRows {
    depth: u32,
    entries: Vec<i16>,
    digest: [u8; 16],
}

impl StrategyRows {
    /// k: the table serves 2^k pushes.
    pub(in crate::mechanism) fn depth(&self) -> u32 {
        self.depth
    }

    /// The first 16 bytes of the BLAKE3 hash of the file.
    pub(in crate::mechanism) fn digest(&self) -> [u8; 16] {
        self.digest
    }

    /// Row of node (d, v): entries of its ancestors by depth, then its own.
    #[inline]
    pub(in crate::mechanism) fn row(&self, d: u32, v: u64) -> &[i16] {
        // 1 entry for the root, then 2^(i-1) rows of i + 1 entries: (d - 1) 2^(d-1) + 1 + ...
        let before = if d == 0 { 0 } else { 1 + rows_before(d) };
        let start = before + v as usize * (d as usize + 1);
        &self.entries[start..start + d as usize + 1]
    }

    pub(super) fn parse(depth: u32, bytes: &[u8]) -> Option<Self> {
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

    /// Rows from their entries, which are in no file.
    pub(in crate::mechanism) fn of_entries(depth: u32, entries: Vec<i16>) -> Self {
        Self {
            depth,
            entries,
            digest: [0; 16],
        }
    }

    /// All entries, as in the file; they are public, so that the table can be checked from outside.
    pub(in crate::mechanism) fn entries(&self) -> &[i16] {
        &self.entries
    }
}

/// Entries of the rows of depths 1 .. d - 1: the sum of 2^(i-1) (i + 1) is (d - 1) 2^(d-1) there.
fn rows_before(d: u32) -> usize {
    (d as usize - 1) << (d - 1)
}
