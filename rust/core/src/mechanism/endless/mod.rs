//! The tree mechanism without a horizon: as many pushes as anyone makes, up to 2^32.
//!
//! The pushes are cut into epochs: epoch j has the pushes 2^(j-1) + 1 .. 2^j. The nodes at 1, 2, 4, ...
//! are the *spine*: the row of the node at 2^j has entries at the four spine nodes before it and its
//! own. The other nodes of epoch j are those of the right half of a [tree with shared
//! rows](super::deep) of 2^j leaves, times a factor that makes all epochs equally sensitive. Their rows
//! sum to zero: the entry at 2^(j-1), the middle of the tree, is minus the sum of the others. So a
//! later epoch does not change the exact sums of an earlier leaf, and the squared sensitivity of a leaf of
//! epoch i is the sum over the spine rows from i on, which falls fast, and over epoch i. All epochs
//! are examined when the table is loaded.
//!
//! Noise is rounded at every node: see [`descent`](super::descent). A read takes at most two draws for
//! each doubling of the number of pushes, and one more.

use super::deep::sensitivity::{self, ENTRIES, Sums, TOP, TURNS};
use super::deep::tables::{LAST, SharedRows, earlier_entries, for_all_leaves, table_of, width_of};
use super::descent::{Descent, Row};
use super::quietest_end::quietest_end;
use super::tree::{ancestor_time, node_at};
use std::sync::OnceLock;

/// The last epoch: 2^32 pushes, 136 years of seconds. Every draw that there could be counts for the block
/// cipher, so more epochs would cost delta.
pub(super) const LAST_EPOCH: u32 = 32;

/// For each node of the spine 6 integers of 16 bits: entries at the four nodes before it, its own,
/// and the factor of the epoch that it ends, in units of 2^-13.
const FILE: &[u8] = include_bytes!("spine.i16");
const PLACES: usize = 6;
const BEFORE: usize = 4;
const FACTOR_BITS: u32 = 13;

static LOADED: OnceLock<Option<Facts>> = OnceLock::new();

#[derive(Debug)]
struct Facts {
    file: Vec<i16>,
    shared: &'static SharedRows,
    digest: [u8; 16],
    sensitivity2: u64,
    nodes_per_leaf: u64,
}

/// The tree mechanism for any number of pushes.
#[derive(Debug, Clone, Copy)]
pub struct Endless {
    facts: &'static Facts,
    /// The last epoch that is used.
    last: u32,
}

impl Endless {
    /// The epochs that serve `leaves` pushes, at most 2^[`LAST_EPOCH`]: how many does not change the
    /// noise of a push, only the number of draws that count. `None` if the table is refused.
    pub(super) fn new(leaves: u64) -> Option<Self> {
        let load = || Facts::examined(FILE, for_all_leaves()?);
        let facts = LOADED.get_or_init(load).as_ref()?;
        let last = epoch_of(leaves);
        (last <= LAST_EPOCH).then_some(Self { facts, last })
    }

    pub(super) fn sensitivity2(&self) -> u64 {
        self.facts.sensitivity2
    }

    pub(super) fn nodes_per_leaf(&self) -> u64 {
        self.facts.nodes_per_leaf
    }

    /// The last push, whose node is the last as well.
    pub(super) fn leaves(&self) -> u64 {
        1 << self.last
    }

    /// The last epoch of the table, and the digest of it and of the shared rows.
    pub(super) fn table(&self) -> (u64, [u8; 16]) {
        (LAST_EPOCH.into(), self.facts.digest)
    }

    /// The file of the spine.
    pub(super) fn file(&self) -> &'static [i16] {
        &self.facts.file
    }

    /// A bound on every number of every path, for draws of at most `largest`.
    pub(super) fn largest_number(&self, largest: f64) -> f64 {
        self.facts.largest_number(largest)
    }

    /// The leaf after `pushes` with the least variance among the next one and the right ends of the
    /// blocks and epochs that it lies in.
    pub(super) fn quiet_after(&self, pushes: u64) -> u64 {
        quietest_end(pushes, self.leaves(), |end| self.path(end).variance())
    }

    pub(super) fn path(&self, p: u64) -> Descent {
        Descent::new(&self.rows(p))
    }

    /// The rows on the path of push `p`: the spine up to the end of its epoch, then the nodes of the
    /// epoch from its largest block down.
    pub(super) fn rows(&self, p: u64) -> Vec<Row> {
        let epoch = epoch_of(p);
        let mut rows: Vec<Row> = (0..=epoch).map(|j| self.facts.spine_row(j)).collect();
        let (d, v) = node_at(epoch, p);
        rows.extend((2..=d).map(|i| self.facts.row(epoch, i, v >> (d - i))));
        rows
    }
}

/// j with 2^(j-1) < p <= 2^j.
fn epoch_of(p: u64) -> u32 {
    p.next_power_of_two().ilog2()
}

/// Position on a path of an ancestor of depth `d` in the tree of an epoch: the root of the tree is the
/// spine's last node there, the middle the one before it.
fn position(epoch: u32, d: usize) -> usize {
    match d {
        0 => epoch as usize,
        1 => epoch as usize - 1,
        _ => epoch as usize + d - 1,
    }
}

impl Facts {
    fn examined(bytes: &[u8], shared: &'static SharedRows) -> Option<Self> {
        let entry = |pair: &[u8]| i16::from_le_bytes([pair[0], pair[1]]);
        let mut hasher = blake3::Hasher::new();
        hasher.update(bytes).update(&shared.digest());
        let mut facts = Self {
            file: bytes.chunks_exact(2).map(entry).collect(),
            shared,
            digest: [0; 16],
            sensitivity2: 0,
            nodes_per_leaf: 0,
        };
        facts
            .digest
            .copy_from_slice(&hasher.finalize().as_bytes()[..16]);
        if facts.file.len() != PLACES * (LAST_EPOCH as usize + 1) || !facts.has_positive_owns() {
            return None;
        }
        for epoch in 0..=LAST_EPOCH {
            let (squares, counts) = facts.heaviest_leaf(epoch);
            facts.sensitivity2 = facts.sensitivity2.max(squares);
            facts.nodes_per_leaf = facts.nodes_per_leaf.max(counts);
        }
        Some(facts)
    }

    /// Whether the own entries of the spine are positive, and those of all other rows times the
    /// factor of any epoch.
    fn has_positive_owns(&self) -> bool {
        (0..=LAST_EPOCH).all(|j| {
            let mut top = (2..=TOP).flat_map(|d| (0..width_of(d)).map(move |v| (d, v)));
            let mut shared = (0..=LAST).flat_map(|set| (0..1 << TURNS).map(move |q| (set, q)));
            self.spine_row(j).own > 0
                && top.all(|(d, v)| self.top_row(j, d, v)[d as usize] > 0)
                && shared.all(|(set, q)| self.shared_row(j, set, q)[0] > 0)
        })
    }

    fn spine(&self, j: u32) -> &[i16] {
        &self.file[PLACES * j as usize..PLACES * (j as usize + 1)]
    }

    fn spine_row(&self, j: u32) -> Row {
        let entries = self.spine(j);
        let first = (j as usize).saturating_sub(BEFORE);
        let skipped = BEFORE.saturating_sub(j as usize);
        let earlier = entries[skipped..BEFORE].iter().enumerate();
        Row {
            node: 1 << j,
            own: entries[BEFORE].into(),
            earlier: earlier
                .map(|(i, &entry)| (first + i, entry.into()))
                .collect(),
        }
    }

    /// An entry times the factor of an epoch, rounded.
    fn scaled(&self, epoch: u32, entry: i32) -> i32 {
        let factor = i32::from(self.spine(epoch)[PLACES - 1]);
        (entry * factor + (1 << (FACTOR_BITS - 1))) >> FACTOR_BITS
    }

    /// Row of node (d, v), d = 2 .. 7, of an epoch: entries by the depths of ancestors, its own last.
    fn top_row(&self, epoch: u32, d: u32, v: u64) -> Vec<i32> {
        let row = self.shared.top_row(d, v).iter();
        let mut row: Vec<i32> = row.map(|&entry| self.scaled(epoch, entry.into())).collect();
        row[1] = 0;
        row[1] = -row.iter().sum::<i32>();
        row[1] = planted!("epoch-shows-in-earlier-leaves", 0, row[1]);
        row
    }

    fn shared_row(&self, epoch: u32, set: u32, turns: u64) -> [i32; ENTRIES] {
        let row = self.shared.shared_row(set, turns);
        row.map(|entry| self.scaled(epoch, entry))
    }

    /// Row of node (d, v), d > 1, of an epoch.
    fn row(&self, epoch: u32, d: u32, v: u64) -> Row {
        let (own, by_depth) = if d <= TOP {
            let mut row = self.top_row(epoch, d, v);
            let own = row.pop().unwrap_or_default();
            (own, row.into_iter().enumerate().collect())
        } else {
            let turns = v & ((1 << TURNS) - 1);
            earlier_entries(
                epoch,
                d,
                v,
                self.shared_row(epoch, table_of(epoch, d), turns),
            )
        };
        let entries = by_depth.into_iter();
        Row {
            node: ancestor_time(epoch, d, v, d),
            own,
            earlier: entries
                .map(|(depth, entry)| (position(epoch, depth), entry))
                .collect(),
        }
    }

    /// max over the leaves of an epoch of ||U 1(t >= l)||^2, and of its non-zero entries.
    fn heaviest_leaf(&self, epoch: u32) -> (u64, u64) {
        let (mut squares, mut counts) = (0, 0);
        for j in epoch..=LAST_EPOCH {
            let row = self.spine_row(j);
            let after = row.earlier.iter().filter(|&&(at, _)| at >= epoch as usize);
            let sum = i64::from(row.own) + after.map(|&(_, entry)| i64::from(entry)).sum::<i64>();
            let sum = planted!("spine-row-dropped", if j > epoch { 0 } else { sum }, sum);
            squares += (sum * sum).cast_unsigned();
            counts += u64::from(sum != 0);
        }
        if epoch < 2 {
            return (squares, counts);
        }
        let right_half = |d: u32| (width_of(d) / 2..width_of(d)).map(move |v| (d, v));
        let top = (2..=TOP.min(epoch)).flat_map(right_half);
        let entries = |(d, v)| {
            let row = self.top_row(epoch, d, v).into_iter();
            (d, v, row.map(i64::from).collect())
        };
        let top = sensitivity::of_the_top(top.map(entries));
        let sets: Vec<Sums> = (0..=LAST)
            .map(|set| sensitivity::of_a_block(|turns| self.shared_row(epoch, set, turns)))
            .collect();
        // The rows of an epoch sum to zero. So a leaf of the left half, which has no nodes here, adds 0
        // at the top, and never more than the leaf of the right half with the same other digits.
        let deeper = sensitivity::heaviest(&top, .., TOP + 1..=epoch, |d| {
            &sets[table_of(epoch, d) as usize]
        });
        (squares + deeper.0, counts + deeper.1)
    }

    /// As for shared rows: every |N| is at most (draw + sum of |entries| x largest |N| above) / own + 1.
    fn largest_number(&self, draw: f64) -> f64 {
        let (mut of_spine, mut largest) = (0.0_f64, draw);
        for epoch in 0..=LAST_EPOCH {
            let mut bound = |own: i32, others: i32, above: f64| {
                let sum = draw + f64::from(others) * above;
                largest = largest.max(sum);
                above.max(sum / f64::from(own) + 1.0)
            };
            let row = self.spine_row(epoch);
            let others = row.earlier.iter().map(|&(_, entry)| entry.abs()).sum();
            of_spine = bound(row.own, others, of_spine);
            let mut above = of_spine;
            for d in 2..=epoch {
                let mut deeper = above;
                if d <= TOP {
                    for v in width_of(d) / 2..width_of(d) {
                        let row = self.top_row(epoch, d, v);
                        let own = row[d as usize];
                        let others = row.iter().map(|entry| entry.abs()).sum::<i32>() - own;
                        deeper = deeper.max(bound(own, others, above));
                    }
                } else {
                    for turns in 0..1 << TURNS {
                        let row = self.shared_row(epoch, table_of(epoch, d), turns);
                        let others: i32 = row[1..].iter().map(|entry| entry.abs()).sum();
                        let left = row.iter().sum::<i32>().abs();
                        deeper = deeper.max(bound(row[0], others + left, above));
                    }
                }
                above = deeper;
            }
        }
        largest.max(of_spine)
    }
}

#[cfg(test)]
mod tests;
