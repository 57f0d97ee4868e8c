//! Where the names of some counts are, by their hashes.
//!
//! Each place has the hash of its name, so that neither a search nor an index that grows reads names
//! other than those of the hash.

use crate::{Error, Result};
use hashbrown::HashTable;
use zeroize::Zeroize;

/// No name.
pub(super) const NONE: u32 = u32::MAX;
/// Names of the first table.
const FIRST: usize = 64;

/// Numbers of names by hash.
pub(super) struct NameIndex {
    places: HashTable<Place>,
}

#[derive(Clone, Copy)]
struct Place {
    hash: u32,
    at: u32,
}

impl NameIndex {
    /// No names yet.
    pub(super) fn new() -> Self {
        Self {
            places: HashTable::new(),
        }
    }

    /// The number of a name of this hash; [`NONE`] if there is not one.
    #[inline]
    pub(super) fn first(&self, hash: u32) -> u32 {
        let found = (self.places).find(wide(hash), |place| place.hash == hash);
        found.map_or(NONE, |place| place.at)
    }

    /// The number of the name of this hash that is the one.
    #[inline]
    pub(super) fn find(&self, hash: u32, is_it: impl Fn(u32) -> bool) -> Option<usize> {
        let is_place = |place: &Place| place.hash == hash && is_it(place.at);
        let found = self.places.find(wide(hash), is_place);
        found.map(|place| place.at as usize)
    }

    /// Adds a name. A table that grows is overwritten.
    pub(super) fn insert(&mut self, hash: u32, at: u32) -> Result<()> {
        if self.places.len() == self.places.capacity() {
            self.grow()?;
        }
        let place = Place { hash, at };
        (self.places).insert_unique(wide(hash), place, |place| wide(place.hash));
        Ok(())
    }

    /// Removes a name.
    pub(super) fn remove(&mut self, hash: u32, at: u32) {
        if let Ok(mut found) = (self.places).find_entry(wide(hash), |place| place.at == at) {
            found.get_mut().zeroize();
            found.remove();
        }
    }

    fn grow(&mut self) -> Result<()> {
        let length = (2 * self.places.len()).max(FIRST);
        let mut larger = HashTable::new();
        let reserved = larger.try_reserve(length, |place: &Place| wide(place.hash));
        let bytes = length * size_of::<Place>();
        reserved.map_err(|_| Error::Memory { bytes })?;
        for &place in &self.places {
            larger.insert_unique(wide(place.hash), place, |place| wide(place.hash));
        }
        *self = Self { places: larger };
        Ok(())
    }
}

impl Drop for NameIndex {
    fn drop(&mut self) {
        self.places.iter_mut().for_each(Zeroize::zeroize);
    }
}

impl Zeroize for Place {
    fn zeroize(&mut self) {
        self.hash.zeroize();
        self.at.zeroize();
    }
}

/// The table places by the low bits of a hash, and tells apart by the high ones.
#[inline]
fn wide(hash: u32) -> u64 {
    u64::from(hash) * 0x1_0000_0001
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_halves_have_the_hash() {
        assert_eq!(wide(0x9ABC_DEF1), 0x9ABC_DEF1_9ABC_DEF1);
        assert_eq!(wide(u32::MAX), u64::MAX);
    }

    /// Names are found while the table grows, among others of their hash, and not after removal.
    #[test]
    fn names_are_found_by_hash_and_number() {
        let mut index = NameIndex::new();
        let hash_of = |at: u32| (at / 2).wrapping_mul(0x9E37_79B9);
        for number in 0..2_000 {
            assert_eq!(index.find(hash_of(number), |at| at == number), None);
            index.insert(hash_of(number), number).unwrap();
            for at in [0, number / 2, number] {
                let found = index.find(hash_of(at), |it| it == at);
                assert_eq!(found, Some(at as usize));
            }
        }
        for number in (0..2_000).step_by(2) {
            assert!([number, number + 1].contains(&index.first(hash_of(number))));
            index.remove(hash_of(number), number);
            assert_eq!(index.first(hash_of(number)), number + 1);
        }
        index.remove(hash_of(0), 0);
        index.remove(hash_of(0), 1);
        assert_eq!(index.first(hash_of(0)), NONE);
        assert_eq!(index.first(hash_of(3_000)), NONE);
    }

    #[test]
    fn a_table_that_grows_keeps_its_room() {
        let mut index = NameIndex::new();
        index.insert(1, 0).unwrap();
        let first = index.places.capacity();
        assert!((FIRST..4 * FIRST).contains(&first));
        for at in 1..=first as u32 {
            index.insert(at, at).unwrap();
        }
        assert!((2 * first..8 * first).contains(&index.places.capacity()));
    }
}
