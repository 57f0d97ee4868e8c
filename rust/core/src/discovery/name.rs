//! Names: the identity of an item, and the part of it that is kept and published.
//!
//! Two items are the same if their *identities* are: 128 bits under a secret key. Integers,
//! instants, dates, and text or bytes of up to 15 bytes, fit one AES block together with their type
//! and length; AES is a permutation, so their identities are always distinct. Longer items, and
//! UUIDs, are first hashed with keyed BLAKE3, many at once ([`super::keyed_hashes`]); two of them
//! collide with probability 2^-128, which [`super::spec`] accounts for in delta. The public 64-bit
//! fingerprint is for the sketch only: anyone with the hash seed can find items that share a
//! fingerprint, and would be able to swap one name for another.
//!
//! An item is kept in full, or truncated to `max_item_bytes` bytes and marked as truncated. Its
//! frequency is read from the sketch by the fingerprint of the full item.

use super::keyed_hashes::{Keyed, LANES, blocks_of, hash_all};
use crate::item::Item;
use crate::key::{MasterKey, Purpose, SketchId, WideKey};
use crate::noise::prf::NoiseFunction;
use crate::{Result, memory};

/// Most bytes of an item that fit one block together with type and length.
const INLINE: usize = 15;
/// The part of the secret that is the key of the block cipher; each type whose content may exceed a
/// block has a part of its own.
const CIPHER_PART: u8 = 3;
const TEXT_PART: u8 = 0;
const BYTES_PART: u8 = 1;
const WIDE_PART: u8 = 2;
const UUID_PART: u8 = 4;
/// The first byte of a dummy's block, which no item has: no item of kind 7 has an empty content.
const DUMMY: u8 = 0x70;

/// The type of a published name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum NameKind {
    /// UTF-8 text, truncated at a character boundary.
    Text,
    /// Bytes.
    Bytes,
    /// An integer outside 64 bits, little-endian two's complement; bytes if truncated.
    Wide,
    /// An integer from 0 to 2^64 - 1, 8 bytes, little-endian.
    NonNegative,
    /// An integer from -2^63 to -1, 8 bytes, little-endian two's complement.
    Negative,
    /// Microseconds since 1970-01-01 00:00 UTC, 8 bytes, little-endian two's complement.
    Instant,
    /// Days since 1970-01-01, 4 bytes, little-endian two's complement.
    Date,
    /// A UUID, 16 bytes in the order of its text.
    Uuid,
}

impl NameKind {
    pub(crate) const ALL: [Self; 8] = [
        Self::Text,
        Self::Bytes,
        Self::Wide,
        Self::NonNegative,
        Self::Negative,
        Self::Instant,
        Self::Date,
        Self::Uuid,
    ];
}

/// The part of an item that is kept; public once the item is published.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Kept {
    /// Its type.
    pub kind: NameKind,
    /// Its content, possibly truncated.
    pub bytes: Vec<u8>,
    /// True if the content is truncated.
    pub truncated: bool,
    /// The fingerprint of the full item under the public hash seed.
    pub fingerprint: u64,
}

/// Type and content of an item; numbers are written to `buffer`.
#[inline]
pub(crate) fn parts_of<'a>(item: Item<'a>, buffer: &'a mut [u8; 8]) -> (NameKind, &'a [u8]) {
    match item {
        Item::Text(text) => (NameKind::Text, text.as_bytes()),
        Item::Bytes(bytes) => (NameKind::Bytes, bytes),
        Item::Wide(bytes) => (NameKind::Wide, bytes),
        Item::Unsigned(integer) => {
            *buffer = integer.to_le_bytes();
            (NameKind::NonNegative, buffer)
        }
        Item::Signed(integer) => {
            *buffer = integer.to_le_bytes();
            let kind = if integer < 0 {
                NameKind::Negative
            } else {
                NameKind::NonNegative
            };
            (kind, buffer)
        }
        Item::Instant(microseconds) => {
            *buffer = microseconds.to_le_bytes();
            (NameKind::Instant, buffer)
        }
        Item::Date(days) => {
            buffer[..4].copy_from_slice(&days.to_le_bytes());
            (NameKind::Date, &buffer[..4])
        }
        Item::Uuid(bytes) => (NameKind::Uuid, bytes),
    }
}

/// The item of this type and content, both as [`parts_of`] returns them.
pub fn item_of(kind: NameKind, content: &[u8]) -> Option<Item<'_>> {
    Some(match kind {
        NameKind::Text => Item::Text(str::from_utf8(content).ok()?),
        NameKind::Bytes => Item::Bytes(content),
        NameKind::Wide => Item::Wide(content),
        NameKind::NonNegative => Item::Unsigned(u64::from_le_bytes(content.try_into().ok()?)),
        NameKind::Negative => Item::Signed(i64::from_le_bytes(content.try_into().ok()?)),
        NameKind::Instant => Item::Instant(i64::from_le_bytes(content.try_into().ok()?)),
        NameKind::Date => Item::Date(i32::from_le_bytes(content.try_into().ok()?)),
        NameKind::Uuid => Item::Uuid(content.try_into().ok()?),
    })
}

/// Identities computed together.
pub(crate) const CHUNK: usize = u64::BITS as usize;

/// Computes the identities of items under secret keys.
pub(crate) struct Identities {
    cipher: NoiseFunction,
    text: WideKey,
    bytes: WideKey,
    wide: WideKey,
    uuid: WideKey,
}

impl Identities {
    /// The keys of one sketch for one purpose; `parameters` is an injective encoding.
    pub(crate) fn new(key: &MasterKey, purpose: Purpose, id: &SketchId, parameters: &[u8]) -> Self {
        let derived = |part: u8| {
            let parameters = [parameters, &[part]].concat();
            key.derive_wide(purpose, id, &parameters)
        };
        Self {
            cipher: NoiseFunction::new(&derived(CIPHER_PART).first_half()),
            text: derived(TEXT_PART),
            bytes: derived(BYTES_PART),
            wide: derived(WIDE_PART),
            uuid: derived(UUID_PART),
        }
    }

    /// Writes the identities of at most [`CHUNK`] items to `out`. `recall` may return the identity
    /// of an item that is longer than a block, by its position, as hashing it dominates the cost.
    /// Returns the positions of items that were hashed, one bit each.
    #[inline]
    pub(crate) fn fill<'a>(
        &self,
        items: &[Item<'a>],
        out: &mut [u128],
        mut recall: impl FnMut(usize, Item<'a>) -> Option<u128>,
    ) -> u64 {
        let (mut hashed, mut recalled) = (0, Vec::new());
        for (position, (out, &item)) in out.iter_mut().zip(items).enumerate() {
            if let Some(block) = inline_block(item) {
                *out = block;
            } else if let Some(identity) = recall(position, item) {
                recalled.push((position, identity));
            } else {
                hashed |= 1 << position;
            }
        }
        if hashed != 0 {
            self.hash(items, hashed, out);
        }
        self.cipher.encrypt(out);
        for (position, identity) in recalled {
            out[position] = identity;
        }
        hashed
    }

    /// The identity of one item, and whether it was hashed; otherwise as [`Self::fill`].
    #[inline]
    pub(crate) fn of_one(
        &self,
        item: Item<'_>,
        recall: impl FnOnce() -> Option<u128>,
    ) -> (u128, bool) {
        let (mut block, hashed) = match inline_block(item) {
            Some(block) => ([block], false),
            None => match recall() {
                Some(identity) => return (identity, false),
                None => ([self.keyed(item).hash()], true),
            },
        };
        self.cipher.encrypt(&mut block);
        (block[0], hashed)
    }

    /// `number` dummy identities that no item can have.
    pub(crate) fn dummies(&self, number: usize) -> Result<Vec<u128>> {
        let tag = u128::from(DUMMY) << 120;
        let mut identities = memory::collected((0..number).map(|i| tag | i as u128))?;
        self.cipher.encrypt(&mut identities);
        Ok(identities)
    }

    /// Writes the hashes of the items at these positions, one bit each, to `out`. Items of one
    /// length are hashed together.
    fn hash(&self, items: &[Item<'_>], mut hashed: u64, out: &mut [u128]) {
        let (mut positions, mut number) = ([0; CHUNK], 0);
        while hashed != 0 {
            positions[number] = hashed.trailing_zeros() as usize;
            hashed &= hashed - 1;
            number += 1;
        }
        let positions = &mut positions[..number];
        positions.sort_unstable_by_key(|&position| blocks_of(content_of(items[position]).len()));
        for positions in positions.chunks(LANES) {
            let mut contents = [self.keyed(items[positions[0]]); LANES];
            for (keyed, &position) in contents.iter_mut().zip(positions).skip(1) {
                *keyed = self.keyed(items[position]);
            }
            let mut hashes = [0; LANES];
            hash_all(&contents[..positions.len()], &mut hashes[..positions.len()]);
            for (&position, hash) in positions.iter().zip(hashes) {
                out[position] = planted!(
                    "hash-of-long-items-in-64-bits",
                    hash & u128::from(u64::MAX),
                    hash
                );
            }
        }
    }

    /// An item that does not fit a block, and the key of its type.
    fn keyed<'a>(&'a self, item: Item<'a>) -> Keyed<'a> {
        let key = match item {
            Item::Text(_) => &self.text,
            Item::Bytes(_) => &self.bytes,
            Item::Uuid(_) => &self.uuid,
            // All other numbers fit a block.
            _ => &self.wide,
        };
        let content = content_of(item);
        Keyed { key, content }
    }
}

/// The content of an item that may not fit a block.
fn content_of(item: Item<'_>) -> &[u8] {
    match item {
        Item::Text(text) => text.as_bytes(),
        Item::Bytes(content) | Item::Wide(content) => content,
        Item::Uuid(content) => content,
        _ => &[],
    }
}

/// Content, length and type in one block, if they fit.
#[inline]
fn inline_block(item: Item<'_>) -> Option<u128> {
    let mut buffer = [0; 8];
    let (kind, content) = parts_of(item, &mut buffer);
    let fits = content.len() <= INLINE;
    fits.then(|| load(content) | u128::from((kind as u8) << 4 | content.len() as u8) << 120)
}

/// Up to 15 bytes as an integer, by two overlapping loads: a copy of variable length would be a
/// function call.
#[inline]
fn load(content: &[u8]) -> u128 {
    let word = |from: usize| u64::from_le_bytes(std::array::from_fn(|i| content[from + i]));
    let half = |from: usize| u32::from_le_bytes(std::array::from_fn(|i| content[from + i]));
    match content.len() {
        8.. => {
            let last = content.len() - 8;
            u128::from(word(0)) | u128::from(word(last)) << (8 * last)
        }
        4..8 => {
            let last = content.len() - 4;
            u128::from(half(0)) | u128::from(half(last)) << (8 * last)
        }
        _ => content
            .iter()
            .rev()
            .fold(0, |value, &byte| value << 8 | u128::from(byte)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    fn identities() -> Identities {
        let (key, purpose) = (MasterKey::seeded(5), Purpose::ItemIdentity);
        Identities::new(&key, purpose, &SketchId([0; 16]), b"names")
    }

    fn identity(item: Item<'_>) -> u128 {
        let mut out = [0];
        identities().fill(&[item], &mut out, |_, _| None);
        out[0]
    }

    #[test]
    fn different_items_have_different_identities() {
        let long = "a".repeat(40);
        let mut all = vec![
            identity(Item::Signed(-1)),
            identity(Item::Unsigned(u64::MAX)),
            identity(Item::Signed(1)),
            identity(Item::Wide(&[0; 9])),
            identity(Item::Wide(&[0; 20])),
            identity(Item::Instant(1)),
            identity(Item::Instant(-1)),
            identity(Item::Date(1)),
            identity(Item::Date(-1)),
            identity(Item::Uuid(&[0; 16])),
            identity(Item::Uuid(&[b'a'; 16])),
        ];
        for length in 0..=40 {
            all.push(identity(Item::Text(&long[..length])));
            all.push(identity(Item::Bytes(&long.as_bytes()[..length])));
            all.push(identity(Item::Bytes(&[0; 41][..length])));
        }
        // The same content as text, bytes, a large integer and a UUID.
        for length in 9..=40 {
            all.push(identity(Item::Wide(&long.as_bytes()[..length])));
        }
        all.extend(identities().dummies(100).unwrap());
        // No bytes at all, as text and as bytes: two distinct empty items.
        let distinct: HashSet<_> = all.iter().collect();
        assert_eq!(distinct.len(), all.len() - 1);
        for integer in [0, 7, i64::MAX] {
            let unsigned = Item::Unsigned(integer.unsigned_abs());
            assert_eq!(identity(Item::Signed(integer)), identity(unsigned));
        }
    }

    /// Types, lengths and keys that lie side by side, and every number of items.
    #[test]
    fn identities_together_are_those_one_by_one() {
        let texts: Vec<String> = (0..CHUNK).map(|n| "ab".repeat(7 * n * n % 640)).collect();
        let items: Vec<Item<'_>> = (texts.iter().zip(0..))
            .map(|(text, number)| match number % 5 {
                0 => Item::Bytes(text.as_bytes()),
                1 if text.len() > 8 => Item::Wide(text.as_bytes()),
                2 => Item::Uuid(&[b'a'; 16]),
                _ => Item::Text(text),
            })
            .collect();
        let alone: Vec<u128> = items.iter().map(|&item| identity(item)).collect();
        for number in 0..=CHUNK {
            let mut out = vec![0; number];
            let hashed = identities().fill(&items[..number], &mut out, |_, _| None);
            assert_eq!(out, alone[..number]);
            for (position, item) in items[..number].iter().enumerate() {
                let is_hashed = hashed >> position & 1 == 1;
                assert_eq!(is_hashed, inline_block(*item).is_none());
            }
        }
    }

    #[test]
    fn hashes_of_long_items_have_128_bits() {
        let identities = identities();
        let (mut any, mut all) = (0, u128::MAX);
        for number in 0..100 {
            let item = format!("{number:040}");
            let mut out = [0];
            identities.hash(&[Item::Text(&item)], 1, &mut out);
            let [hash] = out;
            (any, all) = (any | hash, all & hash);
            assert_ne!(hash as u64, (hash >> 64) as u64);
        }
        assert_eq!((any, all), (u128::MAX, 0), "a bit that never changes");
    }

    #[test]
    fn blocks_hold_every_byte() {
        let content: Vec<u8> = (1..=15).collect();
        for length in 0..=15 {
            let expected = content[..length].iter().rev();
            let expected = expected.fold(0, |value, &byte| value << 8 | u128::from(byte));
            assert_eq!(load(&content[..length]), expected);
        }
    }
}
