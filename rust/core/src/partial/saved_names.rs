//! The bytes of exact counts of names, before they are sealed (docs/state-format.md).
//!
//! Their length follows from the names, as the length of an encrypted event follows from its item. It
//! is rounded up to a power of two, and counts have the same length, whatever they are.

use super::names::{CountedName, NameCounts, NameLimits};
use crate::discovery::name::{NameKind, item_of};
use crate::item::Item;
use crate::saved_state::{StateReader, StateWriter, refused};
use crate::{Result, memory};

/// Smallest length of counts of names.
pub(super) const LEAST_BYTES: usize = 1 << 10;
/// Type and length of a name.
const NAME_HEAD: usize = 1 + 4;
/// Counts of a step of 2^32 events, or of larger weights, have 8 bytes each.
const LARGEST_SHORT: u128 = u32::MAX as u128;

/// How the counts of a description are written.
#[derive(Clone, Copy)]
pub(super) struct CountBytes {
    is_short: bool,
}

impl CountBytes {
    /// For counts up to `bound`, a function of the description.
    pub(super) fn of(bound: u128) -> Self {
        Self {
            is_short: bound <= LARGEST_SHORT,
        }
    }

    fn length(self) -> usize {
        if self.is_short { 4 } else { 8 }
    }

    fn put(self, count: u64, out: &mut StateWriter) {
        match self.is_short {
            true => out.put((count as u32).to_le_bytes()),
            false => out.put(count.to_le_bytes()),
        }
    }

    fn take(self, from: &mut StateReader<'_>) -> Result<u64> {
        match self.is_short {
            true => from.take_u32().map(u64::from),
            false => from.take_u64(),
        }
    }
}

impl NameCounts {
    /// Bytes that [`Self::save`] writes.
    pub(super) fn saved_bytes(&self, counts: CountBytes) -> usize {
        let bytes = self.plain_bytes(counts);
        planted!("sealed-names-are-not-padded", bytes, rounded(bytes))
    }

    fn plain_bytes(&self, counts: CountBytes) -> usize {
        let of_name =
            NAME_HEAD + counts.length() * if self.counted_apart().is_some() { 2 } else { 1 };
        8 + self.len() * of_name + self.content_bytes()
    }

    /// Writes all names and counts, and zeros up to the next power of two.
    pub(super) fn save(&self, counts: CountBytes, out: &mut StateWriter) {
        let end = out.written() + self.saved_bytes(counts);
        let least = planted!("rare-names-stay-on-the-worker", 2, 1);
        let is_kept = |name: &CountedName<'_>| name.weight >= least;
        let number = (0..self.len())
            .filter(|&at| is_kept(&self.name(at)))
            .count();
        out.put((number as u64).to_le_bytes());
        for name in (0..self.len()).map(|at| self.name(at)).filter(is_kept) {
            out.put([name.kind as u8]);
            out.put((name.content.len() as u32).to_le_bytes());
            counts.put(name.weight, out);
            if self.counted_apart().is_some() {
                counts.put(name.units, out);
            }
            out.put_bytes(name.content);
        }
        out.put_zeros(end - out.written());
    }

    /// Takes over what was written; these are empty. Every name is an item, and occurs once.
    pub(super) fn restore(
        &mut self,
        counts: CountBytes,
        limits: NameLimits,
        from: &mut StateReader<'_>,
    ) -> Result<()> {
        for _ in 0..from.take_u64()? {
            let [kind] = from.take()?;
            let Some(&kind) = NameKind::ALL.get(usize::from(kind)) else {
                return refused("expected a known type of a name, got another");
            };
            let length = from.take_u32()? as usize;
            let weight = counts.take(from)?;
            let units = match self.counted_apart().is_some() {
                true => counts.take(from)?,
                false => weight,
            };
            let content = from.take_bytes(length)?;
            if !item_of(kind, content).is_some_and(is_plain) {
                return refused("expected items as names, got others");
            }
            if weight == 0 || units == 0 || units > weight {
                return refused("expected counts of events, got others");
            }
            let before = self.len();
            let name = CountedName {
                kind,
                content,
                weight,
                units,
            };
            self.add_name(name, limits)?;
            if self.len() == before {
                return refused("expected each name once, got one twice");
            }
        }
        let plain = self.plain_bytes(counts);
        let padding = rounded(plain) - plain;
        if from.take_bytes(padding)?.iter().any(|&byte| byte != 0) {
            return refused("expected zeros after the names, got others");
        }
        Ok(())
    }
}

impl NameCounts {
    /// Adds the names and their counts to a digest, in the order of their bytes.
    pub(super) fn digest(&self, hasher: &mut blake3::Hasher) -> Result<()> {
        let key = |at: u32| {
            let name = self.name(at as usize);
            (name.kind, name.content)
        };
        let mut order = memory::collected((0..self.len()).map(|at| at as u32))?;
        order.sort_unstable_by(|&one, &other| key(one).cmp(&key(other)));
        for &at in &order {
            let name = self.name(at as usize);
            hasher.update(&[name.kind as u8]);
            for number in [name.content.len() as u64, name.weight, name.units] {
                hasher.update(&number.to_le_bytes());
            }
            hasher.update(name.content);
        }
        Ok(())
    }
}

/// The length that is seen from outside.
fn rounded(bytes: usize) -> usize {
    bytes.max(LEAST_BYTES).next_power_of_two()
}

/// True for an item in the one form that it has.
fn is_plain(item: Item<'_>) -> bool {
    match item {
        Item::Signed(integer) => integer < 0,
        Item::Instant(instant) => Item::instant(instant).is_some(),
        Item::Date(date) => Item::date(date).is_some(),
        Item::Wide(bytes) => is_wide(bytes),
        _ => true,
    }
}

/// True for the two's complement of an integer outside of 64 bits.
fn is_wide(bytes: &[u8]) -> bool {
    let Some((low, high)) = bytes.split_first_chunk::<8>() else {
        return false;
    };
    let is_unsigned = high.iter().all(|&byte| byte == 0);
    let is_negative = low[7] >= 0x80 && high.iter().all(|&byte| byte == 0xFF);
    !is_unsigned && !is_negative
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_integer_has_one_form() {
        // Integers from 0 on are unsigned, and those within 64 bits are not wide.
        assert!(is_plain(Item::Signed(-1)));
        assert!(!is_plain(Item::Signed(0)));
        assert!(!is_plain(Item::Signed(1)));
        let wide = |seventh: u8, high: &[u8]| {
            let bytes = [&[0, 0, 0, 0, 0, 0, 0, seventh], high].concat();
            is_plain(Item::Wide(&bytes))
        };
        for (seventh, high, expected) in [
            (0x00, &[1][..], true),
            (0x80, &[1], true),
            (0x80, &[0], false),    // 2^63
            (0x80, &[0xFF], false), // -2^63
            (0x7F, &[0xFF], true),  // below -2^63
            (0x7F, &[0xFF, 0xFE], true),
            (0x00, &[0, 0], false),
        ] {
            assert_eq!(wide(seventh, high), expected, "{seventh:x} {high:x?}");
        }
        assert!(!is_plain(Item::Wide(&[1; 7])));
    }
}
