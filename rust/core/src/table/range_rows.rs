//! Rows of a table of ranges: where a key counts, and with which sign.
//!
//! Keys of `bits` bits are the leaves of a binary tree. A table has as many rows as a key has bits,
//! and an event adds to one cell for each bit. Bit 0 counts the keys of both halves of the domain.
//! Bit r > 0 counts, for the node of depth r on the way to the key, the keys in its left half less
//! those in its right half: the Haar coefficients. The upper depths have few nodes, so these are
//! packed, each with a cell of its own: the halves have the places 0 and 1 of the first rows, read
//! one after the other, and node v of depth r has the place 2^r + v. As many depths are packed as
//! fit into that many rows. Each other depth has the row of its number, where a node has a random
//! column and sign, as in a Count Sketch, so that each coefficient has an unbiased estimate. An
//! event costs one addition per bit, and one hash for each depth that is not packed.
//!
//! Source: docs/theory.md, Theorem 26.

use super::hash::RowHashes;
use super::hash_batch::{self, PlacesOfNodes};
use super::kernels::Locate;
use crate::parameters::Shape;

/// The row functions of a table of ranges, whose rows are the bits of a key.
pub(crate) struct RangeRows<'a>(pub(crate) &'a RowHashes);

/// True if each node of depth `row` has a cell of its own: the first `row + 1` depths have 2^(row +
/// 1) cells, which `row + 1` rows hold. What holds for a depth holds for those above.
fn is_packed(row: usize, width: u64) -> bool {
    row < 32 && 2 << row <= (row as u64 + 1) * width
}

/// Depths below the halves of the domain whose nodes have cells of their own.
fn exact_coefficients(depth: u32, width: u32) -> u32 {
    (1..depth)
        .filter(|&row| is_packed(row as usize, width.into()))
        .count() as u32
}

/// The square of what a key changes that takes the place of another, per unit of weight.
pub(crate) fn replaced2(depth: u32, width: u32) -> u64 {
    let exact = exact_coefficients(depth, width);
    let hashed = planted!("ranges-with-unsigned-halves", 2, 4);
    u64::from(2 * (exact + 1) + hashed * (depth - 1 - exact))
}

/// Rows for which Theorem 15 holds, if a key takes the place of another: no depth has more than 4 of
/// the square of what changes, and it suffices that each such row could have 6.
pub(crate) fn lattices(sensitivity2: u64) -> f64 {
    (sensitivity2 / 6).max(1) as f64
}

/// The depth whose nodes count in a cell; none if it is the cell of no node.
pub(crate) fn depth_of_cell(row: usize, column: usize, shape: &Shape) -> Option<usize> {
    let (depth, width) = (shape.depth as usize, u64::from(shape.width));
    if !is_packed(row, width) {
        return Some(row);
    }
    let place = row as u64 * width + column as u64;
    let packed = place.max(1).ilog2() as usize;
    (packed < depth && is_packed(packed, width)).then_some(packed)
}

impl RangeRows<'_> {
    /// The node of a key in a depth, and -1 in its right half, 0 in its left one.
    #[inline]
    fn node(&self, row: usize, key: u64) -> (u64, i64) {
        let below = self.0.depth() - 1 - row;
        let half = key >> below;
        (half >> 1, -((half & 1) as i64))
    }

    /// The place of a key among the packed cells, and its sign.
    #[inline]
    fn packed(&self, row: usize, key: u64) -> (u64, i64) {
        let (node, right) = self.node(row, key);
        if row == 0 {
            return (-right as u64, 0);
        }
        let first = planted!("nodes-in-the-cells-of-others", 0, 1 << row);
        (first + node, right)
    }

    /// Row, column and sign of a key in a depth.
    #[inline]
    fn place(&self, row: usize, key: u64) -> (usize, usize, i64) {
        let width = self.0.width();
        if is_packed(row, width) {
            let (place, sign) = self.packed(row, key);
            return ((place / width) as usize, (place % width) as usize, sign);
        }
        let (node, right) = self.node(row, key);
        let opposite = right & -(opposite() as i64);
        let sign = self.0.negative(row, node) ^ opposite;
        (row, self.0.column(row, node), sign)
    }
}

impl Locate for RangeRows<'_> {
    const SIGNED: bool = true;

    /// Of a packed depth the row is the one that holds the place of the node, not `row`.
    #[inline]
    fn locate(&self, row: usize, key: u64) -> (usize, i64) {
        let (_, column, sign) = self.place(row, key);
        (column, sign)
    }

    #[inline]
    fn cell(&self, row: usize, depth: usize, key: u64) -> (usize, i64) {
        let (row, column, sign) = self.place(row, key);
        (column * depth + row, sign)
    }

    #[inline]
    fn places(&self, row: usize, depth: usize, keys: &[u64], out: &mut [u32]) {
        let width = self.0.width();
        if !is_packed(row, width) {
            let nodes = PlacesOfNodes {
                row: self.0.places_of_row(row, depth),
                below: depth - 1 - row,
                opposite: opposite(),
            };
            return hash_batch::node_places(&nodes, keys, out);
        }
        // Places are below 2^32: rounded up, the inverse of the width gives their exact quotients.
        let inverse = u128::from(u64::MAX / width + 1);
        for (out, &key) in out.iter_mut().zip(keys) {
            let (place, sign) = self.packed(row, key);
            let row = ((u128::from(place) * inverse) >> 64) as u64;
            let cell = (place - row * width) * depth as u64 + row;
            *out = ((cell << 1) | (sign & 1) as u64) as u32;
        }
    }
}

/// 1: the halves of a node have opposite signs.
#[inline]
fn opposite() -> u64 {
    planted!("halves-of-a-node-with-one-sign", 0, 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parameters::TableKind;

    const BITS: usize = 6;

    /// By definition, from the bits of the key as text; the cells of upper depths one after another.
    #[test]
    fn rows_hold_halves_and_their_differences() {
        for (width, packed) in [(8, 5), (5, 4), (4, 4), (2, 2), (3, 3)] {
            let hashes = RowHashes::new(7, BITS as u32, width);
            let rows = RangeRows(&hashes);
            assert_eq!(exact_coefficients(BITS as u32, width) + 1, packed);
            for key in 0..1_u64 << BITS {
                let bits = format!("{key:06b}");
                for row in 0..BITS {
                    let node = u64::from_str_radix(&format!("0{}", &bits[..row]), 2).unwrap();
                    let right = bits.as_bytes()[row] == b'1';
                    let place = match row {
                        0 => usize::from(right),
                        _ => (1 << row) + node as usize,
                    };
                    let half = if row == 0 { 0 } else { -i64::from(right) };
                    let width = width as usize;
                    let (at, column, sign) = if row < packed as usize {
                        (place / width, place % width, half)
                    } else {
                        let sign = hashes.negative(row, node) ^ half;
                        (row, hashes.column(row, node), sign)
                    };
                    assert_eq!(rows.locate(row, key), (column, sign), "{key} {row}");
                    let cell = column * BITS + at;
                    assert_eq!(rows.cell(row, BITS, key), (cell, sign), "{key} {row}");
                    let mut place = [0];
                    rows.places(row, BITS, &[key], &mut place);
                    assert_eq!(place[0] as usize, 2 * cell + usize::from(sign != 0));
                }
            }
        }
    }

    /// Every cell belongs to the depth that counts in it, and to no key where there is none.
    #[test]
    fn cells_have_the_depth_of_their_nodes() {
        for width in [2, 3, 4, 5, 8] {
            let shape = Shape {
                kind: TableKind::Ranges,
                depth: BITS as u32,
                width,
                hash_seed: 7,
            };
            let hashes = RowHashes::new(7, BITS as u32, width);
            let cells = BITS * width as usize;
            let mut found = vec![None; cells];
            for key in 0..1_u64 << BITS {
                for depth in 0..BITS {
                    let (cell, _) = RangeRows(&hashes).cell(depth, BITS, key);
                    assert!(found[cell].is_none_or(|other| other == depth), "{cell}");
                    found[cell] = Some(depth);
                }
            }
            for (cell, &depth) in found.iter().enumerate() {
                let (row, column) = (cell % BITS, cell / BITS);
                let expected = depth_of_cell(row, column, &shape);
                // A hashed depth may miss a column; a packed one has all its cells.
                let is_hashed = !is_packed(row, width.into());
                let fits = depth == expected || (is_hashed && depth.is_none());
                assert!(fits, "{width} {row} {column} {depth:?} {expected:?}");
            }
        }
    }

    /// 15 of the 32 rows of 4,096 columns at most; never more than there are.
    #[test]
    fn upper_depths_fill_the_first_rows() {
        for (bits, width, found) in [
            (32, 4096, 15),
            (32, 4095, 14),
            (6, 8, 4),
            (64, 2, 1),
            (1, 2, 0),
            (8, 256, 7),
            (64, 1 << 24, 27),
        ] {
            let exact = exact_coefficients(bits, width);
            assert_eq!(exact, found);
            let fits = |depths: u32| depths <= bits && 1 << depths <= u64::from(depths * width);
            assert!(fits(exact + 1) && !fits(exact + 2), "{bits} {width}");
        }
        assert_eq!([lattices(2), lattices(12), lattices(96)], [1.0, 2.0, 16.0]);
    }

    /// Quotients by multiplication, for places at both ends of each row of wide tables.
    #[test]
    fn places_of_wide_tables_equal_those_of_single_keys() {
        for (bits, width) in [(32, 4095), (32, 4096), (28, 10_000_019), (24, 1 << 24)] {
            let hashes = RowHashes::new(3, bits, width);
            let rows = RangeRows(&hashes);
            let depth = bits as usize;
            for row in 0..depth {
                let below = depth - row;
                let ends = (0..=bits as u64).flat_map(|at| {
                    let node = (at * u64::from(width)).saturating_sub(1 << row);
                    [node.saturating_sub(1), node, node + 1]
                });
                let keys: Vec<u64> = (ends.filter(|&node| node < 1 << row))
                    .flat_map(|node| [node << below, (node << below) + (1 << below) - 1])
                    .collect();
                let mut places = vec![0; keys.len()];
                rows.places(row, depth, &keys, &mut places);
                for (&key, place) in keys.iter().zip(places) {
                    let (cell, sign) = rows.cell(row, depth, key);
                    assert_eq!(place as usize, 2 * cell + usize::from(sign != 0));
                }
            }
        }
    }

    /// The largest change of all counts, over all pairs of keys and many hash functions: what
    /// Theorem 26 states, attained where collisions are.
    #[test]
    fn no_two_keys_differ_by_more_than_the_sensitivity() {
        for (bits, width, found) in [
            (1_u32, 2_u32, 2),
            (4, 8, 8),
            (4, 16, 8),
            (5, 2, 16),
            (5, 4, 12),
            (6, 4, 16),
            (6, 3, 18),
        ] {
            let stated = replaced2(bits, width);
            assert_eq!(stated, found);
            let mut largest = 0_i64;
            for seed in 0..400 {
                let hashes = RowHashes::new(seed, bits, width);
                let cells = |key: u64| {
                    let mut cells = vec![0_i64; (bits * width) as usize];
                    for row in 0..bits as usize {
                        let (cell, sign) = RangeRows(&hashes).cell(row, bits as usize, key);
                        cells[cell] += 2 * i64::from(sign == 0) - 1;
                    }
                    cells
                };
                let all: Vec<_> = (0..1_u64 << bits).map(cells).collect();
                for one in &all {
                    for other in &all {
                        let moved: i64 = one.iter().zip(other).map(|(x, y)| (x - y).pow(2)).sum();
                        largest = largest.max(moved);
                    }
                }
            }
            assert_eq!(largest, stated as i64, "{bits} bits, width {width}");
        }
    }
}
