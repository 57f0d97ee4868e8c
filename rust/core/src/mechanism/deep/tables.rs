//! The shared rows that ship with the library, and the facts that follow from them.
//!
//! A file has 16-bit little-endian integers: 7, 6, 3, 0; the rows of depths 0 to 7 in order,
//! ancestors by depth and then own, as in the tables of [the tree](crate::mechanism::tree); then 4
//! times 64 rows of 8 entries: own, the 6 nearest ancestors from the parent on, right end. The first
//! 64 are for all depths below 7 but the last three, which have the others.

use super::sensitivity::{self, ENTRIES, Sums, TOP, TURNS};
use std::sync::OnceLock;

/// Last depths that have shared rows of their own.
pub(in crate::mechanism) const LAST: u32 = 3;

/// The smallest and the largest k that a tree is made for.
pub(in crate::mechanism) const SHALLOWEST: u32 = TOP + LAST;
pub(in crate::mechanism) const DEEPEST: u32 = 48;

macro_rules! tables {
    ($(($sixteenths:literal, $file:literal)),* $(,)?) => {
        /// Sixteenths of the leaves that a table serves, and its file.
        const FILES: &[(u64, &[u8])] = &[$(($sixteenths, include_bytes!(concat!("tables/", $file)))),*];
    };
}

tables![
    (9, "deep_9.i16"),
    (10, "deep_10.i16"),
    (12, "deep_12.i16"),
    (14, "deep_14.i16"),
    (16, "deep_16.i16"),
];

static LOADED: [OnceLock<Option<SharedRows>>; FILES.len()] =
    [const { OnceLock::new() }; FILES.len()];

/// The smallest tree for `leaves` pushes: its rows and k. `None` if there is none, or its table is
/// refused.
pub(super) fn table_for(leaves: u64) -> Option<(&'static SharedRows, u32)> {
    let depth = leaves
        .max(1)
        .checked_next_power_of_two()?
        .ilog2()
        .max(SHALLOWEST);
    if depth > DEEPEST {
        return None;
    }
    let serves = |&(sixteenths, _): &(u64, _)| leaves <= (sixteenths << depth) / 16;
    let index = FILES.iter().position(serves)?;
    Some((loaded(index)?, depth))
}

/// The rows that serve all leaves of a tree.
pub(in crate::mechanism) fn for_all_leaves() -> Option<&'static SharedRows> {
    loaded(FILES.len() - 1)
}

fn loaded(index: usize) -> Option<&'static SharedRows> {
    let (sixteenths, bytes) = FILES[index];
    let load = || SharedRows::parse(sixteenths, bytes);
    LOADED[index].get_or_init(load).as_ref()
}

/// The rows of one table.
#[derive(Debug)]
pub(in crate::mechanism) struct SharedRows {
    sixteenths: u64,
    file: Vec<i16>,
    digest: [u8; 16],
    top: Sums,
    /// Of the shared rows of one depth, by table.
    shared: Vec<Sums>,
}

impl SharedRows {
    pub(in crate::mechanism) fn parse(sixteenths: u64, bytes: &[u8]) -> Option<Self> {
        let entry = |pair: &[u8]| i16::from_le_bytes([pair[0], pair[1]]);
        let file: Vec<i16> = bytes.chunks_exact(2).map(entry).collect();
        let mut digest = [0; 16];
        digest.copy_from_slice(&blake3::hash(bytes).as_bytes()[..16]);
        let mut rows = Self {
            sixteenths,
            file,
            digest,
            top: Sums::default(),
            shared: Vec::new(),
        };
        let length = FIRST_SHARED + (LAST as usize + 1) * (ENTRIES << TURNS);
        if rows.file.len() != length || rows.file[..4] != [TOP as i16, TURNS as i16, LAST as i16, 0]
        {
            return None;
        }
        let is_positive = |own: i32| own > 0;
        let nodes = (0..=TOP).flat_map(|d| (0..width_of(d)).map(move |v| (d, v)));
        let positive = nodes
            .clone()
            .all(|(d, v)| is_positive(own_of(rows.top_row(d, v))))
            && (0..=LAST).all(|e| (0..1 << TURNS).all(|q| is_positive(rows.shared_row(e, q)[0])));
        if !positive {
            return None;
        }
        rows.top = sensitivity::of_the_top(
            nodes.map(|(d, v)| (d, v, rows.top_row(d, v).iter().map(|&e| e.into()).collect())),
        );
        rows.shared = (0..=LAST)
            .map(|e| sensitivity::of_a_block(|q| rows.shared_row(e, q)))
            .collect();
        Some(rows)
    }

    pub(super) fn sixteenths(&self) -> u64 {
        self.sixteenths
    }

    pub(in crate::mechanism) fn digest(&self) -> [u8; 16] {
        self.digest
    }

    pub(super) fn file(&self) -> &[i16] {
        &self.file
    }

    /// Row of a node of depth 0 to 7: entries of its ancestors by depth, then its own.
    pub(in crate::mechanism) fn top_row(&self, d: u32, v: u64) -> &[i16] {
        let length = d as usize + 1;
        let start = 4 + top_rows_before(d) + v as usize * length;
        &self.file[start..start + length]
    }

    /// Row `turns` of shared table `e`: own, ancestors from the parent on, right end.
    pub(in crate::mechanism) fn shared_row(&self, e: u32, turns: u64) -> [i32; ENTRIES] {
        let at = ((e as usize) << TURNS) + turns as usize;
        let start = FIRST_SHARED + at * ENTRIES;
        std::array::from_fn(|i| self.file[start + i].into())
    }

    /// Own entry of node (d, v) of a tree of depth k, and its entries at ancestors, by their depths.
    pub(super) fn row(&self, k: u32, d: u32, v: u64) -> (i32, Vec<(usize, i32)>) {
        if d <= TOP {
            let row = self.top_row(d, v);
            let earlier = row[..d as usize].iter().enumerate();
            (
                own_of(row),
                earlier.map(|(i, &entry)| (i, entry.into())).collect(),
            )
        } else {
            let turns = v & ((1 << TURNS) - 1);
            earlier_entries(k, d, v, self.shared_row(table_of(k, d), turns))
        }
    }

    /// max over the leaves that are served of ||U 1(t >= l)||^2, and of its non-zero entries.
    pub(super) fn heaviest_leaf(&self, depth: u32) -> (u64, u64) {
        // The first sixteenths of the pieces of depth 7.
        let pieces = (self.sixteenths << TOP) as usize / 16;
        sensitivity::heaviest(&self.top, ..pieces, TOP + 1..=depth, |d| {
            &self.shared[table_of(depth, d) as usize]
        })
    }

    /// |N_v| is at most (largest draw + sum of |entries| x largest |N| above) / own + 1, and so are
    /// all partial sums before the division, times own.
    pub(super) fn largest_number(&self, depth: u32, draw: f64) -> f64 {
        let (mut noise, mut largest) = (0.0_f64, draw);
        for d in 0..=depth {
            let mut deeper = noise;
            let mut include = |own: i32, others: i32| {
                let sum = draw + f64::from(others) * noise;
                largest = largest.max(sum);
                deeper = deeper.max(sum / f64::from(own) + 1.0);
            };
            if d <= TOP {
                for v in 0..width_of(d) {
                    let row = self.top_row(d, v);
                    let others = row[..d as usize].iter();
                    include(own_of(row), others.map(|&e| i32::from(e).abs()).sum());
                }
            } else {
                for q in 0..1 << TURNS {
                    let row = self.shared_row(table_of(depth, d), q);
                    let others: i32 = row[1..].iter().map(|entry| entry.abs()).sum();
                    include(row[0], others + row.iter().sum::<i32>().abs());
                }
            }
            noise = deeper;
        }
        largest.max(noise)
    }
}

/// First entry of the shared rows: after the header and the rows of depths 0 to 7.
const FIRST_SHARED: usize = 4 + top_rows_before(TOP + 1);

/// Entries of the rows of depths 0 .. d - 1: 1, and the sum of 2^(i-1) (i + 1) is (d - 1) 2^(d-1).
const fn top_rows_before(d: u32) -> usize {
    if d == 0 {
        0
    } else {
        1 + ((d as usize - 1) << (d - 1))
    }
}

/// Number of nodes of a depth.
pub(in crate::mechanism) fn width_of(d: u32) -> u64 {
    if d == 0 { 1 } else { 1 << (d - 1) }
}

fn own_of(row: &[i16]) -> i32 {
    row.last().map_or(0, |&own| own.into())
}

/// The shared table of depth d > 7 in a tree of depth k.
pub(in crate::mechanism) fn table_of(k: u32, d: u32) -> u32 {
    (d + LAST).saturating_sub(k)
}

/// A shared row of node (d, v) as own entry and entries at its ancestors, by their depths.
pub(in crate::mechanism) fn earlier_entries(
    k: u32,
    d: u32,
    v: u64,
    row: [i32; ENTRIES],
) -> (i32, Vec<(usize, i32)>) {
    let (own, right) = (row[0], row[ENTRIES - 1]);
    let ancestors = (1..=TURNS).map(|i| ((d - i) as usize, row[i as usize]));
    let mut earlier: Vec<(usize, i32)> = ancestors.collect();
    // The ends of the block of the 6th ancestor, in blocks.
    let (left, level) = (v >> TURNS, k - (d - TURNS) + 1);
    earlier.push((depth_of_time(k, (left + 1) << level), right));
    if left > 0 {
        let sum: i32 = row.iter().sum();
        let sum = planted!("left-end-forgotten", 0, sum);
        earlier.push((depth_of_time(k, left << level), -sum));
    }
    (own, earlier)
}

fn depth_of_time(k: u32, time: u64) -> usize {
    (k - time.trailing_zeros()) as usize
}
