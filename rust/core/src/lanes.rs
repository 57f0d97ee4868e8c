//! The loops that gain from wide registers: integers to fingerprints and fingerprints to places in
//! the table, for a batch; blocks to draws ([`crate::draws`]), for a read.
//!
//! Each loop is written once, in plain Rust; the compiler turns it into vector code. What is
//! compiled into a wheel may use the baseline of its platform only (SSE2 on x86-64, NEON on
//! aarch64), so on x86-64 each loop is compiled twice more, for AVX2 and for AVX-512, and the
//! processor is asked at run time which of them it can run. All three compute the same integers
//! (tested), so a table does not depend on the machine.
//!
//! The only file of the core with `unsafe`: calling a function compiled for a feature is sound if
//! and only if the processor has the feature, which the call's own condition has just asked.
#![allow(unsafe_code)]

use crate::draws::draws_loop;
use crate::gaussian::RoundedGaussian;
use crate::hash::{Fingerprinter, PairMultiply};

/// Registers that this processor has. There is a value of it only where that was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Width(Registers);

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Registers {
    Baseline,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

impl Width {
    /// The widest; asked once per process, then a load.
    #[inline]
    fn widest() -> Self {
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("bmi2") {
            let avx512 = is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512cd")
                && is_x86_feature_detected!("avx512dq")
                && is_x86_feature_detected!("avx512vl")
                && is_x86_feature_detected!("avx512bw");
            return Self(if avx512 {
                Registers::Avx512
            } else {
                Registers::Avx2
            });
        }
        Self(Registers::Baseline)
    }
}

/// Defines a function that runs `$body` compiled for the widest registers at hand, and one for
/// registers of any width.
macro_rules! widest {
    (
        $(#[$comment:meta])*
        fn $name:ident, $at:ident($($argument:ident: $type:ty),* $(,)?) = $body:ident
    ) => {
        $(#[$comment])*
        #[inline]
        pub(crate) fn $name($($argument: $type),*) {
            $at(Width::widest(), $($argument),*);
        }

        #[inline]
        fn $at(width: Width, $($argument: $type),*) {
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx512f,avx512cd,avx512dq,avx512vl,avx512bw,avx2,bmi2")]
            fn with_avx512($($argument: $type),*) {
                $body($($argument),*);
            }
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,bmi2")]
            fn with_avx2($($argument: $type),*) {
                $body($($argument),*);
            }
            match width.0 {
                Registers::Baseline => $body($($argument),*),
                // SAFETY: this value is made only where the processor was found to have all seven
                // features.
                #[cfg(target_arch = "x86_64")]
                Registers::Avx512 => unsafe { with_avx512($($argument),*) },
                // SAFETY: this value is made only where the processor was found to have both
                // features.
                #[cfg(target_arch = "x86_64")]
                Registers::Avx2 => unsafe { with_avx2($($argument),*) },
            }
        }
    };
}

widest! {
    /// The fingerprints of signed integers.
    fn fingerprints_of_signed, fingerprints_of_signed_at(fingerprinter: &Fingerprinter, items: &[i64], out: &mut [u64]) =
        signed_loop
}

widest! {
    /// The fingerprints of unsigned integers.
    fn fingerprints_of_unsigned, fingerprints_of_unsigned_at(fingerprinter: &Fingerprinter, items: &[u64], out: &mut [u64]) =
        unsigned_loop
}

widest! {
    /// The fingerprints of narrow signed integers.
    fn fingerprints_of_narrow, fingerprints_of_narrow_at(fingerprinter: &Fingerprinter, items: &[i32], out: &mut [u64]) =
        narrow_loop
}

widest! {
    /// The places of fingerprints in one row of a table stored column by column:
    /// column * depth + row.
    fn places, places_at(row: &PlacesOfRow, fingerprints: &[u64], out: &mut [u32]) = places_loop
}

widest! {
    /// As [`places`], each doubled, with 1 added where the sign is -1.
    fn signed_places, signed_places_at(row: &PlacesOfRow, fingerprints: &[u64], out: &mut [u32]) =
        signed_places_loop
}

widest! {
    /// The rounded Gaussian draws of blocks.
    fn gaussian_draws, gaussian_draws_at(gaussian: &RoundedGaussian, blocks: &[u128], out: &mut [i64]) = draws_loop
}

/// Where a row of a table puts its buckets.
pub(crate) struct PlacesOfRow {
    pub(crate) bucket: PairMultiply,
    pub(crate) sign: PairMultiply,
    pub(crate) width: u64,
    pub(crate) depth: u64,
    pub(crate) row: u64,
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
fn place(row: &PlacesOfRow, fingerprint: u64) -> u64 {
    let column = ((row.bucket.hash(fingerprint) >> 32) * row.width) >> 32;
    // Both below 2^32, so that one narrow multiplication does.
    column * row.depth + row.row
}

#[inline(always)]
fn places_loop(row: &PlacesOfRow, fingerprints: &[u64], out: &mut [u32]) {
    for (out, &fingerprint) in out.iter_mut().zip(fingerprints) {
        *out = place(row, fingerprint) as u32;
    }
}

#[inline(always)]
fn signed_places_loop(row: &PlacesOfRow, fingerprints: &[u64], out: &mut [u32]) {
    for (out, &fingerprint) in out.iter_mut().zip(fingerprints) {
        *out = (place(row, fingerprint) << 1 | row.sign.hash(fingerprint) >> 63) as u32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::RowHashes;

    /// All widths that this processor has.
    fn widths() -> Vec<Width> {
        let all = [
            Registers::Baseline,
            #[cfg(target_arch = "x86_64")]
            Registers::Avx2,
            #[cfg(target_arch = "x86_64")]
            Registers::Avx512,
        ];
        let widths = all.map(Width).into_iter();
        widths.filter(|width| *width <= Width::widest()).collect()
    }

    /// Lengths around the widths of registers, and bits of all sizes.
    fn inputs() -> impl Iterator<Item = Vec<u64>> {
        (0..70).map(|length| {
            let bits = |i: u64| (i ^ length << 7).wrapping_mul(0x9E37_79B9_7F4A_7C15);
            (0..length).map(|i| bits(i) >> (7 * i % 64)).collect()
        })
    }

    #[test]
    fn fingerprints_equal_those_of_single_items_at_every_width() {
        let fingerprinter = Fingerprinter::new(7);
        for width in widths() {
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
    fn places_equal_those_of_single_items_at_every_width() {
        for (depth, columns) in [
            (1, 1),
            (3, 1000),
            (5, 1 << 20),
            (16, 1 << 24),
            (64, 1 << 22),
        ] {
            let hashes = RowHashes::new(3, depth as u32, columns);
            for width in widths() {
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

    /// The noise of a release must not depend on the machine that computes it.
    #[test]
    fn draws_equal_single_draws_at_every_width() {
        for width in widths() {
            for (number, items) in inputs().enumerate() {
                let blocks: Vec<u128> = items
                    .iter()
                    .map(|&bits| u128::from(bits) << (2 * number % 64) | u128::from(!bits) >> 9)
                    .collect();
                let mut out = vec![0; blocks.len()];
                let gaussian = RoundedGaussian::new(1e5);
                gaussian_draws_at(width, &gaussian, &blocks, &mut out);
                for (&block, &out) in blocks.iter().zip(&out) {
                    assert_eq!(out, gaussian.draw(block), "{width:?}");
                }
            }
        }
    }
}
