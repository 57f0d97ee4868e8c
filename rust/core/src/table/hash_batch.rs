//! Hashes of many items at a time: integers to fingerprints, fingerprints to places in the table.
//! Each result equals that of the single item.
//!
//! Plain loops that [`crate::simd`] compiles for the widest available registers.

use super::hash::{Fingerprinter, PairMultiply, RowHashes};
use crate::fixed_width::without_zeros;
use crate::simd::widest;

impl Fingerprinter {
    /// Writes the fingerprints of signed integers to `out`.
    #[inline]
    pub fn signed_to(&self, items: &[i64], out: &mut [u64]) {
        fingerprints_of_signed(self, items, out);
    }

    /// Writes the fingerprints of unsigned integers to `out`.
    #[inline]
    pub fn unsigned_to(&self, items: &[u64], out: &mut [u64]) {
        fingerprints_of_unsigned(self, items, out);
    }

    /// Writes the fingerprints of 32-bit signed integers to `out`.
    #[inline]
    pub fn narrow_to(&self, items: &[i32], out: &mut [u64]) {
        fingerprints_of_narrow(self, items, out);
    }

    /// Writes the fingerprints of texts of ASCII that begin `width` bytes apart to `out`, one per
    /// entry. Zeros at the end of a text are not part of it. `width` is not 0.
    #[inline]
    pub fn texts_to(&self, rows: &str, width: usize, out: &mut [u64]) {
        rows_to(rows.as_bytes(), width, out, |row| self.utf8(row));
    }

    /// As [`Self::texts_to`], of bytes.
    #[inline]
    pub fn bytes_to(&self, rows: &[u8], width: usize, out: &mut [u64]) {
        rows_to(rows, width, out, |row| self.bytes(row));
    }
}

#[inline(always)]
fn rows_to(rows: &[u8], width: usize, out: &mut [u64], hash: impl Fn(&[u8]) -> u64) {
    for (out, row) in out.iter_mut().zip(rows.chunks_exact(width)) {
        *out = hash(without_zeros(row));
    }
}

/// What one row needs to find the places of fingerprints.
pub(crate) struct PlacesOfRow {
    bucket: PairMultiply,
    sign: PairMultiply,
    // As narrow as they are, so that the compiler multiplies halves of registers: a product of two
    // whole 64-bit integers takes three times as long on many processors.
    width: u32,
    depth: u32,
    row: u32,
}

impl RowHashes {
    /// The functions that find the places of many fingerprints in `row` of a table of `depth` rows.
    #[inline]
    pub(crate) fn places_of_row(&self, row: usize, depth: usize) -> PlacesOfRow {
        let (bucket, sign) = self.functions(row);
        PlacesOfRow {
            bucket,
            sign,
            width: self.width() as u32,
            depth: depth as u32,
            row: row as u32,
        }
    }
}

/// What a row of a table of ranges needs to find the places of keys.
pub(crate) struct PlacesOfNodes {
    pub(crate) row: PlacesOfRow,
    /// Bits of a key below the one that tells the half of its node.
    pub(crate) below: usize,
    /// 1, so that the halves of a node have opposite signs.
    pub(crate) opposite: u64,
}

widest! {
    /// Writes the fingerprints of signed integers to `out`.
    fn fingerprints_of_signed, fingerprints_of_signed_at(fingerprinter: &Fingerprinter, items: &[i64], out: &mut [u64]) =
        signed_loop
}

widest! {
    /// Writes the fingerprints of unsigned integers to `out`.
    fn fingerprints_of_unsigned, fingerprints_of_unsigned_at(fingerprinter: &Fingerprinter, items: &[u64], out: &mut [u64]) =
        unsigned_loop
}

widest! {
    /// Writes the fingerprints of 32-bit signed integers to `out`.
    fn fingerprints_of_narrow, fingerprints_of_narrow_at(fingerprinter: &Fingerprinter, items: &[i32], out: &mut [u64]) =
        narrow_loop
}

widest! {
    /// Writes the places of fingerprints in one row to `out`. Tables are stored column by column,
    /// so a place is column * depth + row.
    fn places, places_at(row: &PlacesOfRow, fingerprints: &[u64], out: &mut [u32]) = places_loop
}

widest! {
    /// As [`places`], but doubled, plus 1 where the sign is -1.
    fn signed_places, signed_places_at(row: &PlacesOfRow, fingerprints: &[u64], out: &mut [u32]) =
        signed_places_loop
}

widest! {
    /// As [`signed_places`], of the nodes of keys; the sign is that of the half of the node.
    fn node_places, node_places_at(row: &PlacesOfNodes, keys: &[u64], out: &mut [u32]) =
        node_places_loop
}

#[inline(always)]
fn signed_loop(fingerprinter: &Fingerprinter, items: &[i64], out: &mut [u64]) {
    for (out, &item) in out.iter_mut().zip(items) {
        *out = fingerprinter.signed(item);
    }
}

#[inline(always)]
fn unsigned_loop(fingerprinter: &Fingerprinter, items: &[u64], out: &mut [u64]) {
    for (out, &item) in out.iter_mut().zip(items) {
        *out = fingerprinter.unsigned(item);
    }
}

#[inline(always)]
fn narrow_loop(fingerprinter: &Fingerprinter, items: &[i32], out: &mut [u64]) {
    for (out, &item) in out.iter_mut().zip(items) {
        *out = fingerprinter.signed(item.into());
    }
}

#[inline(always)]
fn place(row: &PlacesOfRow, fingerprint: u64) -> u32 {
    let column = ((row.bucket.hash(fingerprint) >> 32) * u64::from(row.width)) >> 32;
    (column as u32) * row.depth + row.row
}

#[inline(always)]
fn places_loop(row: &PlacesOfRow, fingerprints: &[u64], out: &mut [u32]) {
    for (out, &fingerprint) in out.iter_mut().zip(fingerprints) {
        *out = place(row, fingerprint);
    }
}

#[inline(always)]
fn signed_places_loop(row: &PlacesOfRow, fingerprints: &[u64], out: &mut [u32]) {
    for (out, &fingerprint) in out.iter_mut().zip(fingerprints) {
        *out = place(row, fingerprint) << 1 | (row.sign.hash(fingerprint) >> 63) as u32;
    }
}

#[inline(always)]
fn node_places_loop(row: &PlacesOfNodes, keys: &[u64], out: &mut [u32]) {
    for (out, &key) in out.iter_mut().zip(keys) {
        let half = key >> row.below;
        let sign = (row.row.sign.hash(half >> 1) >> 63) ^ (half & row.opposite);
        *out = place(&row.row, half >> 1) << 1 | sign as u32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::{Width, inputs};

    #[test]
    fn fingerprints_equal_those_of_single_items_at_every_width() {
        let fingerprinter = Fingerprinter::new(7);
        for width in Width::all() {
            for items in inputs() {
                let mut out = vec![0; items.len()];
                fingerprints_of_unsigned_at(width, &fingerprinter, &items, &mut out);
                for (&item, &out) in items.iter().zip(&out) {
                    assert_eq!(out, fingerprinter.unsigned(item), "{width:?}");
                }
                let signed: Vec<i64> = items.iter().map(|&item| item as i64).collect();
                fingerprints_of_signed_at(width, &fingerprinter, &signed, &mut out);
                for (&item, &out) in signed.iter().zip(&out) {
                    assert_eq!(out, fingerprinter.signed(item), "{width:?}");
                }
                let narrow: Vec<i32> = items.iter().map(|&item| item as i32).collect();
                fingerprints_of_narrow_at(width, &fingerprinter, &narrow, &mut out);
                for (&item, &out) in narrow.iter().zip(&out) {
                    assert_eq!(out, fingerprinter.signed(item.into()), "{width:?}");
                }
            }
        }
    }

    #[test]
    fn fingerprints_of_rows_equal_those_of_single_items() {
        let fingerprinter = Fingerprinter::new(7);
        for width in (1..=18).chain([64, 127, 128, 129, 240, 241, 300]) {
            let zeros = |row: usize| (row * 5) % (width + 1);
            let value = |row: usize| vec![b'a' + row as u8 % 26; width - zeros(row)];
            let rows: Vec<u8> = (0..40)
                .flat_map(|row| [value(row), vec![0; zeros(row)]].concat())
                .collect();
            let (mut texts, mut bytes) = ([0; 40], [0; 40]);
            fingerprinter.texts_to(str::from_utf8(&rows).unwrap(), width, &mut texts);
            fingerprinter.bytes_to(&rows, width, &mut bytes);
            for row in 0..40 {
                let value = value(row);
                let text = str::from_utf8(&value).unwrap();
                assert_eq!(texts[row], fingerprinter.text(text), "{width}, {row}");
                assert_eq!(bytes[row], fingerprinter.bytes(&value), "{width}, {row}");
            }
        }
    }

    #[test]
    fn places_equal_those_of_single_items_at_every_width() {
        for (depth, columns) in [
            (1, 1),
            (3, 1000),
            (5, 1 << 20),
            (16, 1 << 24),
            (64, 1 << 22),
        ] {
            let hashes = RowHashes::new(3, depth as u32, columns);
            for width in Width::all() {
                for items in inputs() {
                    let (mut plain, mut signed) = (vec![0; items.len()], vec![0; items.len()]);
                    let row = depth - 1;
                    places_at(width, &hashes.places_of_row(row, depth), &items, &mut plain);
                    signed_places_at(
                        width,
                        &hashes.places_of_row(row, depth),
                        &items,
                        &mut signed,
                    );
                    for ((&item, &plain), &signed) in items.iter().zip(&plain).zip(&signed) {
                        let place = hashes.column(row, item) * depth + row;
                        assert_eq!(plain as usize, place, "{width:?}");
                        let negative = hashes.negative(row, item) != 0;
                        assert_eq!(
                            signed as usize,
                            2 * place + usize::from(negative),
                            "{width:?}"
                        );
                    }
                }
            }
        }
    }
}
