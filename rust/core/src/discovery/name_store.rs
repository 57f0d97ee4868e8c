//! The names of a table: a fixed number, in contiguous memory that is erased at the end.

use super::name::{Kept, NameKind, item_of, parts_of};
use crate::item::Item;
use crate::saved_state::{StateReader, StateWriter, refused};
use crate::simd::prefetch;
use crate::table::hash::Fingerprinter;
use crate::{Result, memory};
use zeroize::Zeroize;

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
    pub(crate) fn new(number: usize, max_item_bytes: usize) -> Result<Self> {
        Ok(Self {
            heads: memory::filled(EMPTY, number)?,
            bytes: memory::filled(u8::MAX, number * max_item_bytes)?,
            max_item_bytes,
        })
    }

    /// Bytes that [`Self::new`] takes.
    pub(crate) fn bytes(number: u64, max_item_bytes: u64) -> u64 {
        number * (size_of::<Head>() as u64 + max_item_bytes)
    }

    /// Keeps an item, possibly truncated. The fingerprint of a truncated item is stored; that of
    /// any other item is computed when it is published.
    pub(crate) fn keep(&mut self, slot: usize, item: Item<'_>, fingerprint: impl FnOnce() -> u64) {
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
            fingerprint: if truncated { fingerprint() } else { 0 },
            length: length as u32,
            kind: kind as u8,
            truncated,
        };
    }

    /// Begins to read the memory of a slot.
    #[inline]
    pub(crate) fn prefetch(&self, slot: usize) {
        prefetch(&self.heads, slot);
        prefetch(&self.bytes, slot * self.max_item_bytes);
    }

    /// Bytes that [`Self::save`] writes for a slot.
    pub(crate) fn saved_bytes(&self, slot: usize) -> usize {
        1 + 1 + 4 + 8 + self.heads[slot].length as usize
    }

    /// Writes the name in a slot, or that it has none.
    pub(crate) fn save(&self, slot: usize, out: &mut StateWriter) {
        let (head, start) = (self.heads[slot], slot * self.max_item_bytes);
        out.put([head.kind]);
        out.put_flag(head.truncated);
        out.put(head.length.to_le_bytes());
        out.put(head.fingerprint.to_le_bytes());
        out.put_bytes(&self.bytes[start..start + head.length as usize]);
    }

    /// Takes over the name that a slot wrote.
    pub(crate) fn restore(&mut self, slot: usize, state: &mut StateReader<'_>) -> Result<()> {
        let [kind] = state.take()?;
        let head = Head {
            kind,
            truncated: state.take_flag()?,
            length: state.take_u32()?,
            fingerprint: state.take_u64()?,
        };
        let length = head.length as usize;
        if kind != NO_ITEM && usize::from(kind) >= NameKind::ALL.len() {
            return refused(format!("expected a known type of a name, got {kind}"));
        }
        if length > self.max_item_bytes {
            return refused(format!(
                "expected names of at most {} bytes, got a longer one",
                self.max_item_bytes
            ));
        }
        let start = slot * self.max_item_bytes;
        self.bytes[start..start + length].copy_from_slice(state.take_bytes(length)?);
        self.heads[slot] = head;
        Ok(())
    }

    /// Removes all names.
    pub(crate) fn clear(&mut self) {
        self.heads.fill(EMPTY);
    }

    /// True if the slot holds a name.
    pub(crate) fn has_item(&self, slot: usize) -> bool {
        self.heads[slot].kind != NO_ITEM
    }

    /// True if this item is never truncated.
    #[inline]
    pub(crate) fn keeps_whole(&self, item: Item<'_>) -> bool {
        parts_of(item, &mut [0; 8]).1.len() <= self.max_item_bytes
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

    #[test]
    fn items_are_kept_in_full_or_truncated() {
        let mut store = NameStore::new(2, 16).unwrap();
        let fingerprinter = Fingerprinter::new(9);
        let mut kept = |item| {
            store.keep(1, item, || fingerprinter.item(item));
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
            Item::Instant(i64::MIN),
            Item::Date(-719_162),
            Item::Uuid(&[0xAB; 16]),
        ] {
            let (kind, bytes, truncated) = kept(item).expect("an item");
            assert_eq!((item_of(kind, &bytes), truncated), (Some(item), false));
        }
        assert_eq!(store.name(0, &fingerprinter), None);
        store.clear();
        assert_eq!(store.name(1, &fingerprinter), None);
    }
}
