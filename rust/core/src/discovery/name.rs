//! Names: the identity of an item, and the part of it that is kept and published.
//!
//! Two items are the same if their *identities* are: 128 bits under a secret key. Integers, and
//! text or bytes of up to 15 bytes, fit one AES block together with their type and length; AES is a
//! permutation, so their identities are always distinct. Longer items are first hashed with keyed
//! BLAKE3; two of them collide with probability 2^-128, which [`super::spec`] accounts for in
//! delta. The public 64-bit fingerprint is for the sketch only: anyone with the hash seed can find
//! items that share a fingerprint, and would be able to swap one name for another.
//!
//! An item is kept in full, or truncated to `max_item_bytes` bytes and marked as truncated. Its
//! frequency is read from the sketch by the fingerprint of the full item.

use crate::item::Item;
use crate::key::{MasterKey, Purpose, SketchId, WideKey};
use crate::noise::prf::NoiseFunction;
use crate::table::hash::Fingerprinter;
use zeroize::Zeroize;

/// Most bytes of an item that fit one block together with type and length.
const INLINE: usize = 15;
/// Text, bytes, wide integers: the types that may exceed a block.
const LONG_KINDS: u8 = 3;

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
}

impl NameKind {
    const ALL: [Self; 5] = [
        Self::Text,
        Self::Bytes,
        Self::Wide,
        Self::NonNegative,
        Self::Negative,
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

/// Type and content of an item; integers are written to `buffer` as 8 bytes.
#[inline]
fn parts_of<'a>(item: Item<'a>, buffer: &'a mut [u8; 8]) -> (NameKind, &'a [u8]) {
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
    }
}

/// The item of this type and content, both as [`parts_of`] returns them.
fn item_of(kind: NameKind, content: &[u8]) -> Option<Item<'_>> {
    Some(match kind {
        NameKind::Text => Item::Text(str::from_utf8(content).ok()?),
        NameKind::Bytes => Item::Bytes(content),
        NameKind::Wide => Item::Wide(content),
        NameKind::NonNegative => Item::Unsigned(u64::from_le_bytes(content.try_into().ok()?)),
        NameKind::Negative => Item::Signed(i64::from_le_bytes(content.try_into().ok()?)),
    })
}

/// Identities computed together.
pub(crate) const CHUNK: usize = u64::BITS as usize;

/// Computes the identities of items under secret keys.
pub(crate) struct Identities {
    cipher: NoiseFunction,
    long: [WideKey; LONG_KINDS as usize],
}

impl Identities {
    /// The keys of one sketch; `parameters` is an injective encoding.
    pub(crate) fn new(key: &MasterKey, id: &SketchId, parameters: &[u8]) -> Self {
        let derived = |part: u8| {
            let parameters = [parameters, &[part]].concat();
            key.derive_wide(Purpose::ItemIdentity, id, &parameters)
        };
        Self {
            cipher: NoiseFunction::new(&derived(LONG_KINDS).first_half()),
            long: std::array::from_fn(|kind| derived(kind as u8)),
        }
    }

    /// Writes the identities of at most [`CHUNK`] items to `out`. `recall` may return the identity
    /// of an item that is longer than a block, as hashing it dominates the cost. Returns the
    /// positions of items that were hashed, one bit each.
    #[inline]
    pub(crate) fn fill(
        &self,
        items: &[Item<'_>],
        out: &mut [u128],
        recall: impl Fn(Item<'_>) -> Option<u128>,
    ) -> u64 {
        let (mut hashed, mut recalled) = (0, Vec::new());
        for (position, (out, &item)) in out.iter_mut().zip(items).enumerate() {
            *out = if let Some(block) = inline_block(item) {
                block
            } else if let Some(identity) = recall(item) {
                recalled.push((position, identity));
                identity
            } else {
                hashed |= 1 << position;
                self.hashed_block(item)
            };
        }
        self.cipher.encrypt(out);
        for (position, identity) in recalled {
            out[position] = identity;
        }
        hashed
    }

    /// `number` dummy identities that no item can have.
    pub(crate) fn dummies(&self, number: usize) -> Vec<u128> {
        let tag = 0x70_u128 << 120;
        let mut identities: Vec<u128> = (0..number as u128).map(|i| tag | i).collect();
        self.cipher.encrypt(&mut identities);
        identities
    }

    /// The hash of an item that does not fit a block.
    fn hashed_block(&self, item: Item<'_>) -> u128 {
        let mut buffer = [0; 8];
        let (kind, content) = parts_of(item, &mut buffer);
        let hash = blake3::keyed_hash(&self.long[kind as usize].bytes, content);
        u128::from_le_bytes(std::array::from_fn(|i| hash.as_bytes()[i]))
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

/// A fixed number of names, each of at most `max_item_bytes` bytes, in contiguous memory.
pub(crate) struct NameStore {
    heads: Vec<Head>,
    bytes: Vec<u8>,
    max_item_bytes: usize,
}

#[derive(Clone, Copy)]
struct Head {
    fingerprint: u64,
    length: u32,
    /// A [`NameKind`], or [`NO_ITEM`].
    kind: u8,
    truncated: bool,
}

const NO_ITEM: u8 = u8::MAX;
const EMPTY: Head = Head {
    fingerprint: 0,
    length: 0,
    kind: NO_ITEM,
    truncated: false,
};

impl NameStore {
    /// Room for `number` names; touches all memory immediately.
    pub(crate) fn new(number: usize, max_item_bytes: usize) -> Self {
        Self {
            heads: vec![EMPTY; number],
            bytes: vec![u8::MAX; number * max_item_bytes],
            max_item_bytes,
        }
    }

    /// Bytes that [`Self::new`] takes.
    pub(crate) fn bytes(number: u64, max_item_bytes: u64) -> u64 {
        number * (size_of::<Head>() as u64 + max_item_bytes)
    }

    /// Keeps an item, possibly truncated. The fingerprint of a truncated item is stored; that of
    /// any other item is computed when it is published.
    pub(crate) fn keep(&mut self, slot: usize, item: Item<'_>, fingerprinter: &Fingerprinter) {
        let mut buffer = [0; 8];
        let (kind, content) = parts_of(item, &mut buffer);
        let length = match item {
            // A cut inside a character would not leave valid UTF-8.
            Item::Text(text) => (0..=self.max_item_bytes.min(text.len()))
                .rev()
                .find(|&end| text.is_char_boundary(end))
                .unwrap_or(0),
            _ => content.len().min(self.max_item_bytes),
        };
        let start = slot * self.max_item_bytes;
        self.bytes[start..start + length].copy_from_slice(&content[..length]);
        let truncated = length < content.len();
        self.heads[slot] = Head {
            fingerprint: if truncated {
                fingerprinter.item(item)
            } else {
                0
            },
            length: length as u32,
            kind: kind as u8,
            truncated,
        };
    }

    /// Removes all names.
    pub(crate) fn clear(&mut self) {
        self.heads.fill(EMPTY);
    }

    /// True if the slot holds a name.
    pub(crate) fn has_item(&self, slot: usize) -> bool {
        self.heads[slot].kind != NO_ITEM
    }

    /// True if the slot holds exactly this item, not truncated.
    #[inline]
    pub(crate) fn is(&self, slot: usize, item: Item<'_>) -> bool {
        let mut buffer = [0; 8];
        let (kind, content) = parts_of(item, &mut buffer);
        let (head, start) = (self.heads[slot], slot * self.max_item_bytes);
        head.kind == kind as u8
            && !head.truncated
            && self.bytes[start..start + head.length as usize] == *content
    }

    /// The name in a slot.
    pub(crate) fn name(&self, slot: usize, fingerprinter: &Fingerprinter) -> Option<Kept> {
        let head = self.heads[slot];
        let kind = *NameKind::ALL.get(usize::from(head.kind))?;
        let start = slot * self.max_item_bytes;
        let bytes = &self.bytes[start..start + head.length as usize];
        let fingerprint = if head.truncated {
            head.fingerprint
        } else {
            fingerprinter.item(item_of(kind, bytes)?)
        };
        Some(Kept {
            kind,
            bytes: bytes.to_vec(),
            truncated: head.truncated,
            fingerprint,
        })
    }
}

impl Drop for NameStore {
    fn drop(&mut self) {
        self.heads.fill(EMPTY);
        self.bytes.zeroize();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    fn identities() -> Identities {
        Identities::new(&MasterKey::seeded(5), &SketchId([0; 16]), b"names")
    }

    fn identity(item: Item<'_>) -> u128 {
        let mut out = [0];
        identities().fill(&[item], &mut out, |_| None);
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
        ];
        for length in 0..=40 {
            all.push(identity(Item::Text(&long[..length])));
            all.push(identity(Item::Bytes(&long.as_bytes()[..length])));
            all.push(identity(Item::Bytes(&[0; 41][..length])));
        }
        all.extend(identities().dummies(100));
        // No bytes at all, as text and as bytes: two distinct empty items.
        let distinct: HashSet<_> = all.iter().collect();
        assert_eq!(distinct.len(), all.len() - 1);
        assert_eq!(identity(Item::Signed(7)), identity(Item::Unsigned(7)));
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

    #[test]
    fn items_are_kept_in_full_or_truncated() {
        let mut store = NameStore::new(2, 16);
        let fingerprinter = Fingerprinter::new(9);
        let mut kept = |item| {
            store.keep(1, item, &fingerprinter);
            let kept = store.name(1, &fingerprinter)?;
            // The fingerprint of the full item, truncated or not.
            assert_eq!(kept.fingerprint, fingerprinter.item(item));
            Some((kept.kind, kept.bytes, kept.truncated))
        };
        let text = "fifteen bytes..é tail";
        assert_eq!(
            kept(Item::Text(text)),
            Some((NameKind::Text, b"fifteen bytes..".to_vec(), true))
        );
        assert_eq!(
            kept(Item::Bytes(&[7; 16])),
            Some((NameKind::Bytes, vec![7; 16], false))
        );
        assert_eq!(
            kept(Item::Bytes(&[7; 17])),
            Some((NameKind::Bytes, vec![7; 16], true))
        );
        assert_eq!(
            kept(Item::Signed(-2)),
            Some((NameKind::Negative, (-2_i64).to_le_bytes().to_vec(), false))
        );
        for item in [
            Item::Unsigned(u64::MAX),
            Item::Wide(&[1; 9]),
            Item::Text(""),
        ] {
            assert!(kept(item).is_some());
        }
        assert_eq!(store.name(0, &fingerprinter), None);
        store.clear();
        assert_eq!(store.name(1, &fingerprinter), None);
    }
}
