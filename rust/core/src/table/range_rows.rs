//! Rows of a table of ranges: where a key counts, and with which sign.
//!
//! Keys of `bits` bits are the leaves of a binary tree; a table has one row for each bit. Row 0
//! counts the keys of both halves of the domain. Row r > 0 holds, for each node of depth r, the
//! keys in its left half less those in its right half: the Haar coefficients. A row whose nodes fit
//! its width has a column for each of them. In the others a node has a random column and sign, as in
//! a Count Sketch, so that each coefficient has an unbiased estimate. An event costs one hash and
//! one addition per row, as in a Count Sketch of `bits` rows.
//!
//! Source: docs/theory.md, Theorem 26.

use super::hash::RowHashes;
use super::hash_batch::{self, PlacesOfNodes};
use super::kernels::Locate;

/// The row functions of a table of ranges, whose rows are the bits of a key.
pub(crate) struct RangeRows<'a>(pub(crate) &'a RowHashes);

/// True if row `row` of a table of ranges has a column for each node.
fn is_exact(row: usize, width: u64) -> bool {
    row < 32 && 1 << row <= width
}

/// Rows above row 0 that have a column for each node.
pub(crate) fn exact_coefficients(depth: u32, width: u32) -> u32 {
    (1..depth)
        .filter(|&row| is_exact(row as usize, width.into()))
        .count() as u32
}

impl RangeRows<'_> {
    /// The node of a key in a row, and -1 in its right half, 0 in its left one.
    #[inline]
    fn node(&self, row: usize, key: u64) -> (u64, i64) {
        let below = self.0.depth() - 1 - row;
        let half = key >> below;
        (half >> 1, -((half & 1) as i64))
    }
}

impl Locate for RangeRows<'_> {
    const SIGNED: bool = true;

    #[inline]
    fn locate(&self, row: usize, key: u64) -> (usize, i64) {
        let (node, right) = self.node(row, key);
        if row == 0 {
            return (-right as usize, 0);
        }
        if is_exact(row, self.0.width()) {
            return (node as usize, right);
        }
        let opposite = right & -(opposite() as i64);
        (
            self.0.column(row, node),
            self.0.negative(row, node) ^ opposite,
        )
    }

    #[inline]
    fn places(&self, row: usize, depth: usize, keys: &[u64], out: &mut [u32]) {
        if row > 0 && !is_exact(row, self.0.width()) {
            let nodes = PlacesOfNodes {
                row: self.0.places_of_row(row, depth),
                below: depth - 1 - row,
                opposite: opposite(),
            };
            return hash_batch::node_places(&nodes, keys, out);
        }
        for (out, &key) in out.iter_mut().zip(keys) {
            let (column, sign) = self.locate(row, key);
            *out = ((column * depth + row) << 1 | (sign & 1) as usize) as u32;
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

    const BITS: usize = 6;

    /// By definition, from the bits of the key as text.
    #[test]
    fn rows_hold_halves_and_their_differences() {
        let hashes = RowHashes::new(7, BITS as u32, 8);
        let rows = RangeRows(&hashes);
        for key in 0..1_u64 << BITS {
            let bits = format!("{key:06b}");
            for row in 0..BITS {
                let node = u64::from_str_radix(&format!("0{}", &bits[..row]), 2).unwrap();
                let right = bits.as_bytes()[row] == b'1';
                let expected = match row {
                    0 => (usize::from(right), 0),
                    1..=3 => (node as usize, -i64::from(right)),
                    _ => (
                        hashes.column(row, node),
                        hashes.negative(row, node) ^ -i64::from(right),
                    ),
                };
                assert_eq!(rows.locate(row, key), expected, "{key} {row}");
                let mut place = [0];
                rows.places(row, BITS, &[key], &mut place);
                let (column, sign) = expected;
                let signed = 2 * (column * BITS + row) + usize::from(sign != 0);
                assert_eq!(place[0] as usize, signed);
            }
        }
        assert_eq!(exact_coefficients(BITS as u32, 8), 3);
        assert_eq!(exact_coefficients(64, 2), 1);
        assert_eq!(exact_coefficients(1, 2), 0);
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
            (6, 4, 18),
        ] {
            let stated = 2 * (exact_coefficients(bits, width) + 1)
                + 4 * (bits - 1 - exact_coefficients(bits, width));
            assert_eq!(stated, found);
            let mut largest = 0_i64;
            for seed in 0..400 {
                let hashes = RowHashes::new(seed, bits, width);
                let cells = |key: u64| {
                    let mut cells = vec![0_i64; (bits * width) as usize];
                    for row in 0..bits as usize {
                        let (column, sign) = RangeRows(&hashes).locate(row, key);
                        cells[row * width as usize + column] += 2 * i64::from(sign == 0) - 1;
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
            assert_eq!(largest, i64::from(stated), "{bits} bits, width {width}");
        }
    }
}
