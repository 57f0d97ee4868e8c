//! Identities of the long items of one batch, by their place in memory.
//!
//! A dictionary column names one entry in many rows. Hashing a long entry for every row would cost
//! time in proportion to rows * length, which is not bounded by the size of a compressed input.
//! Memory that a batch borrows does not move, so an equal place, length and type mean an equal item.
//!
//! The number of identities is fixed, so that nothing is allocated while events are counted; a new
//! one replaces another. They are destroyed at the end of the batch.

use crate::item::Item;
use crate::{Result, memory};
use zeroize::Zeroize;

/// Items of more bytes are remembered: hashing them takes longer than finding them here.
const SHORT: usize = 512;
const NUMBER: usize = 1 << 10;

/// First byte, length, and type of an item.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
struct Place {
    address: usize,
    length: usize,
    is_text: bool,
}

pub(super) struct LongItems {
    places: Vec<Place>,
    identities: Vec<u128>,
    /// True if an item was remembered since the last [`Self::forget`].
    used: bool,
}

impl LongItems {
    pub(super) fn new() -> Result<Self> {
        Ok(Self {
            places: memory::filled(Place::default(), NUMBER)?,
            identities: memory::filled(0, NUMBER)?,
            used: false,
        })
    }

    /// The place of a long item.
    #[inline]
    fn place(item: Item<'_>) -> Option<Place> {
        let (content, is_text) = match item {
            Item::Text(text) => (text.as_bytes(), true),
            Item::Bytes(bytes) => (bytes, false),
            _ => return None,
        };
        (content.len() > SHORT).then(|| Place {
            address: content.as_ptr().addr(),
            length: planted!("one-identity-per-place", SHORT + 1, content.len()),
            is_text,
        })
    }

    /// Adjacent entries of a dictionary get different positions.
    fn position(place: Place) -> usize {
        let mixed = (place.address as u64 ^ (place.length as u64) << 40)
            .wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed >> 32) as usize % NUMBER
    }

    /// The identity of an item of the same batch at the same place, if it is remembered.
    #[inline]
    pub(super) fn recall(&self, item: Item<'_>) -> Option<u128> {
        let place = Self::place(item)?;
        let position = Self::position(place);
        (self.places[position] == place).then(|| self.identities[position])
    }

    /// Remembers the identity of an item, if it is long.
    #[inline]
    pub(super) fn remember(&mut self, item: Item<'_>, identity: u128) {
        if let Some(place) = Self::place(item) {
            let position = Self::position(place);
            self.places[position] = place;
            self.identities[position] = identity;
            self.used = true;
        }
    }

    /// Ends the batch: its memory may hold other items from now on.
    pub(super) fn forget(&mut self) {
        if self.used && !planted!("places-of-the-last-batch") {
            self.places.fill(Place::default());
            self.identities.as_mut_slice().zeroize(); // of a vector it would remove them
            self.used = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_item_is_its_place_its_length_and_its_type() {
        let text = "a".repeat(3000);
        let mut long = LongItems::new().unwrap();
        long.remember(Item::Text(&text), 7);
        long.remember(Item::Text(&text[..SHORT]), 8);
        assert_eq!(long.recall(Item::Text(&text)), Some(7));
        for other in [
            Item::Text(&text[..2000]),
            Item::Text(&text[..SHORT]), // too short to be remembered
            Item::Text(&text[1..]),
            Item::Text(&text.clone()),
            Item::Bytes(text.as_bytes()),
            Item::Signed(1),
        ] {
            assert_eq!(long.recall(other), None);
        }
        long.forget();
        assert_eq!(long.recall(Item::Text(&text)), None);
        assert_eq!(long.identities, [0; NUMBER]);
        long.remember(Item::Text(&text), 9);
        assert_eq!(long.recall(Item::Text(&text)), Some(9));
    }
}
