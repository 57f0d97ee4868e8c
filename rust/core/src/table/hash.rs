//! Fingerprints of items and the row functions of a sketch.
//!
//! An item becomes a 64-bit fingerprint: XXH3-64 for text, bytes and UUIDs, one strong mix (moremur,
//! a bijection) for integers, instants and dates. The seed depends on the item's type, so `"1"`,
//! `b"1"` and `1` differ. A row maps the fingerprint x = (x_high, x_low) to `h = (a + x_high) (b + x_low) + c mod 2^64`:
//! Thorup's pair-multiply-shift, strongly universal on the top 33 bits ("High speed hashing for
//! integers and strings", 2015, section 3.5). The top 32 bits choose the bucket; the sign is the
//! top bit of a second, independent function. Two items collide in a row with probability at most
//! ceil(2^32 / width) / 2^32.
//!
//! All seeds here are public.

use crate::item::{Item, UUID_BYTES};
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// Version of fingerprints and row functions; releases of different versions do not merge.
pub const HASH_VERSION: u8 = 1;

/// Computes fingerprints of items under one public seed.
#[derive(Debug, Clone, Copy)]
pub struct Fingerprinter {
    text: u64,
    bytes: u64,
    non_negative: u64,
    negative: u64,
    wide: u64,
    instant: u64,
    date: u64,
    uuid: u64,
}

impl Fingerprinter {
    /// Fingerprints under this hash seed.
    pub fn new(hash_seed: u64) -> Self {
        let tagged = |tag: u64| mix(hash_seed ^ mix(tag));
        Self {
            text: tagged(1),
            bytes: tagged(2),
            non_negative: tagged(3),
            negative: tagged(4),
            wide: tagged(5),
            instant: tagged(6),
            date: tagged(7),
            uuid: tagged(8),
        }
    }

    /// Any item.
    #[inline]
    pub fn item(&self, item: Item<'_>) -> u64 {
        match item {
            Item::Text(text) => self.text(text),
            Item::Bytes(bytes) => self.bytes(bytes),
            Item::Signed(integer) => self.signed(integer),
            Item::Unsigned(integer) => self.unsigned(integer),
            Item::Wide(two_complement) => self.wide_integer(two_complement),
            Item::Instant(microseconds) => self.instant(microseconds),
            Item::Date(days) => self.date(days),
            Item::Uuid(bytes) => self.uuid(bytes),
        }
    }

    /// Text, by its UTF-8 bytes.
    #[inline]
    pub fn text(&self, item: &str) -> u64 {
        self.utf8(item.as_bytes())
    }

    /// Text, as bytes that are known to be UTF-8.
    #[inline]
    pub(super) fn utf8(&self, item: &[u8]) -> u64 {
        xxh3_64_with_seed(item, self.text)
    }

    /// Bytes.
    #[inline]
    pub fn bytes(&self, item: &[u8]) -> u64 {
        xxh3_64_with_seed(item, self.bytes)
    }

    /// A signed integer of any width up to 64 bits.
    #[inline]
    pub fn signed(&self, item: i64) -> u64 {
        let negative = (item >> 63) as u64;
        let seed = self.non_negative ^ (negative & (self.non_negative ^ self.negative));
        mix(item as u64 ^ seed)
    }

    /// An unsigned integer of any width up to 64 bits; equals [`Self::signed`] on equal values.
    #[inline]
    pub fn unsigned(&self, item: u64) -> u64 {
        mix(item ^ self.non_negative)
    }

    /// An integer outside -2^63 .. 2^64, as its shortest little-endian two's complement.
    pub fn wide_integer(&self, two_complement: &[u8]) -> u64 {
        xxh3_64_with_seed(two_complement, self.wide)
    }

    /// An instant: microseconds since 1970-01-01 00:00 UTC.
    #[inline]
    pub fn instant(&self, microseconds: i64) -> u64 {
        mix(microseconds.cast_unsigned() ^ self.instant)
    }

    /// A calendar date: days since 1970-01-01.
    #[inline]
    pub fn date(&self, days: i32) -> u64 {
        mix(i64::from(days).cast_unsigned() ^ self.date)
    }

    /// A UUID, in the byte order of its text.
    #[inline]
    pub fn uuid(&self, bytes: &[u8; UUID_BYTES]) -> u64 {
        xxh3_64_with_seed(bytes, self.uuid)
    }
}

/// moremur: Pelle Evensen's improved constants for the finaliser of MurmurHash3.
#[inline]
fn mix(mut x: u64) -> u64 {
    x ^= x >> 27;
    x = x.wrapping_mul(0x3C79_AC49_2BA7_B653);
    x ^= x >> 33;
    x = x.wrapping_mul(0x1C69_B3F7_4AC4_AE35);
    x ^ (x >> 27)
}

/// A fingerprint, mixed again with constants of its own: the sampling of distinct items does not
/// depend on the row functions.
#[inline]
pub(crate) fn mixed(fingerprint: u64) -> u64 {
    mix(fingerprint ^ 0x9E37_79B9_7F4A_7C15)
}

/// Pair-multiply-shift: strongly universal on its upper 33 bits.
#[derive(Debug, Clone, Copy)]
pub(super) struct PairMultiply {
    a: u64,
    b: u64,
    c: u64,
}

impl PairMultiply {
    #[inline]
    pub(super) fn hash(&self, fingerprint: u64) -> u64 {
        let left = self.a.wrapping_add(fingerprint >> 32);
        let right = self.b.wrapping_add(fingerprint & 0xFFFF_FFFF);
        left.wrapping_mul(right).wrapping_add(self.c)
    }
}

/// Bucket and sign use independent functions: with one function for both, the variance bound of the
/// Count Sketch would need three-wise independence.
#[derive(Debug, Clone, Copy)]
struct Row {
    bucket: PairMultiply,
    sign: PairMultiply,
}

/// The independent row functions of a sketch.
#[derive(Debug, Clone)]
pub struct RowHashes {
    rows: Vec<Row>,
    width: u64,
}

impl RowHashes {
    /// `depth` functions into `width` buckets, their coefficients expanded from the seed.
    pub fn new(hash_seed: u64, depth: u32, width: u32) -> Self {
        let mut hasher = blake3::Hasher::new_derive_key("lazysketch row hashes, version 1");
        hasher.update(&hash_seed.to_le_bytes());
        let mut expanded = hasher.finalize_xof();
        let mut next = || {
            let mut bytes = [0; 8];
            expanded.fill(&mut bytes);
            u64::from_le_bytes(bytes)
        };
        let mut function = || PairMultiply {
            a: next(),
            b: next(),
            c: next(),
        };
        let rows = (0..depth)
            .map(|_| Row {
                bucket: function(),
                sign: function(),
            })
            .collect();
        Self {
            rows,
            width: u64::from(width),
        }
    }

    /// Number of rows.
    pub fn depth(&self) -> usize {
        self.rows.len()
    }

    /// Number of buckets.
    #[inline]
    pub(super) fn width(&self) -> u64 {
        self.width
    }

    /// The functions of bucket and sign in `row`.
    #[inline]
    pub(super) fn functions(&self, row: usize) -> (PairMultiply, PairMultiply) {
        let Row { bucket, sign } = self.rows[row];
        (bucket, sign)
    }

    /// The bucket of a fingerprint in `row`.
    #[inline]
    pub fn column(&self, row: usize, fingerprint: u64) -> usize {
        let h = self.rows[row].bucket.hash(fingerprint);
        (((h >> 32) * self.width) >> 32) as usize
    }

    /// The sign of a fingerprint in `row`: all ones for -1, zero for +1.
    #[inline]
    pub fn negative(&self, row: usize, fingerprint: u64) -> i64 {
        self.rows[row].sign.hash(fingerprint) as i64 >> 63
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pearson::share_fits;

    const SEEDS: u64 = 40_000;

    #[test]
    fn golden_fingerprints() {
        let f = Fingerprinter::new(42);
        let actual = [
            f.text("a"),
            f.bytes(b"a"),
            f.signed(1),
            f.signed(-1),
            f.unsigned(u64::MAX),
            f.wide_integer(&[0, 0, 0, 0, 0, 0, 0, 0, 1]),
            f.instant(-1),
            f.date(-1),
            f.uuid(&[7; UUID_BYTES]),
        ];
        assert_eq!(actual, GOLDEN_FINGERPRINTS);
        let hashes = RowHashes::new(42, 4, 1000);
        let places: Vec<_> = (0..4)
            .map(|row| (hashes.column(row, 7), hashes.negative(row, 7)))
            .collect();
        assert_eq!(places, GOLDEN_PLACES);
    }

    const GOLDEN_FINGERPRINTS: [u64; 9] = [
        10200936598322227747,
        3353812679618333738,
        7614722290231054818,
        13335345716381651630,
        8282894516953516736,
        2316857086023062676,
        2875769779161116854,
        7329886154725201744,
        7175536357541036438,
    ];
    const GOLDEN_PLACES: [(usize, i64); 4] = [(404, 0), (627, 0), (148, 0), (24, 0)];

    #[test]
    fn integers_agree_across_signedness_and_types_differ() {
        let f = Fingerprinter::new(1);
        for value in [0_i64, 1, 255, i64::MAX] {
            assert_eq!(f.signed(value), f.unsigned(value as u64));
        }
        let all = [
            f.signed(-1),
            f.unsigned(u64::MAX),
            f.text("1"),
            f.bytes(b"1"),
            f.signed(1),
            f.signed(i64::from(b'1')),
            f.wide_integer(b"1"),
            f.instant(1),
            f.instant(-1),
            f.date(1),
            f.date(-1),
            f.uuid(&[0; UUID_BYTES]),
            f.bytes(&[0; UUID_BYTES]),
        ];
        let distinct: std::collections::HashSet<_> = all.into_iter().collect();
        assert_eq!(distinct.len(), all.len());
    }

    /// Over [`SEEDS`] seeds at width 16, for pairs of items whose bits are related: one bucket with
    /// probability 1 / 16, one sign with 1 / 2; both with the product, and the same for two rows.
    /// Two-sided (`crate::pearson`); a function that ignores half of the key is rejected.
    #[test]
    fn rows_are_two_universal_on_structured_pairs() {
        let pairs = [
            (0_u64, 1_u64),
            (0, 1 << 32),
            (5, 5 << 32),
            (7, 7 | 1 << 63),
            (1, u64::MAX),
        ];
        for (x, y) in pairs {
            let (mut meet, mut agree, mut both, mut rows, mut signs) = (0, 0, 0, 0, 0);
            for seed in 0..SEEDS {
                let hashes = RowHashes::new(seed, 2, 16);
                let column = |row| hashes.column(row, x) == hashes.column(row, y);
                let sign = |row| hashes.negative(row, x) == hashes.negative(row, y);
                meet += u64::from(column(0));
                agree += u64::from(sign(0));
                both += u64::from(column(0) && sign(0));
                rows += u64::from(column(0) && column(1));
                signs += u64::from(sign(0) && sign(1));
            }
            for (count, share) in [
                (meet, 1.0 / 16.0),
                (agree, 0.5),
                (both, 1.0 / 32.0),
                (rows, 1.0 / 256.0),
                (signs, 0.25),
            ] {
                assert!(share_fits(count, SEEDS, share), "{x} {y}: {count}, {share}");
            }
        }
    }

    /// Planted: without the high half of an item, two items that differ there always meet.
    #[test]
    fn half_of_an_item_is_not_enough() {
        let meet = (0..SEEDS).filter(|&seed| {
            let hashes = RowHashes::new(seed, 1, 16);
            let half = |item: u64| hashes.column(0, item & 0xFFFF_FFFF);
            half(0) == half(1 << 32)
        });
        assert!(!share_fits(meet.count() as u64, SEEDS, 1.0 / 16.0));
    }

    #[test]
    fn columns_stay_below_the_width() {
        for width in [1, 2, 3, 1000, 1 << 24] {
            let hashes = RowHashes::new(9, 3, width);
            for x in (0..1000_u64).map(|i| i.wrapping_mul(0x9E37_79B9_7F4A_7C15)) {
                assert!((0..3).all(|row| hashes.column(row, x) < width as usize));
            }
        }
    }
}
