//! Saving what people have contributed, and going on from it.
//!
//! The state of the tables alone would let everyone contribute again after each restart. The bytes
//! are in docs/state-format.md, "Bodies of checkpoints"; a person is known by an identity alone.

#[cfg(test)]
mod tests;

use super::People;
use crate::saved_state::{SavedState, StateReader, StateWriter, refused};
use crate::{Error, Result, memory};

const IDENTITY: usize = 16;
/// Version, id, refused events and number of people.
const FIXED: usize = 2 + 16 + 8 + 8;

impl People {
    /// The exact state, for a store: secret, like that of a table.
    ///
    /// # Errors
    ///
    /// [`Error::Memory`].
    pub fn save(&self) -> Result<SavedState> {
        self.save_after(Vec::new()).map(SavedState::from_bytes)
    }

    /// As [`Self::save`], after bytes that are there.
    ///
    /// # Errors
    ///
    /// [`Error::Memory`].
    pub fn save_after(&self, bytes: Vec<u8>) -> Result<Vec<u8>> {
        let mut by_number = memory::filled(0, self.numbers.len())?;
        for (&identity, &number) in &self.numbers {
            by_number[number as usize] = identity;
        }
        let mut out = StateWriter::after(bytes, self.saved_bytes())?;
        out.put(self.id.0);
        out.put(self.refused.to_le_bytes());
        out.put((by_number.len() as u64).to_le_bytes());
        for (person, identity) in by_number.iter().enumerate() {
            out.put(identity.to_le_bytes());
            (self.tables.iter()).for_each(|table| table.save(person, &mut out));
        }
        Ok(out.into_bytes())
    }

    /// Number of bytes that [`Self::save_after`] appends.
    pub fn saved_bytes(&self) -> usize {
        let tables = self.tables.iter().map(|table| table.saved_bytes());
        FIXED + IDENTITY * self.numbers.len() + tables.sum::<usize>()
    }

    /// Goes on from a saved state: every later event is decided as it would have been there.
    ///
    /// # Errors
    ///
    /// [`Error::State`] if people are known already, or for the state of other tables or with other
    /// bounds; [`Error::Memory`]. No one is known then.
    pub fn restore(&mut self, saved: &SavedState) -> Result<()> {
        if !self.numbers.is_empty() {
            return refused("expected no people before a state is restored, got some");
        }
        let restored = self.read(saved);
        if restored.is_err() {
            self.forget();
        }
        restored
    }

    fn read(&mut self, saved: &SavedState) -> Result<()> {
        let mut from = StateReader::new(saved)?;
        if from.take()? != self.id.0 {
            return refused("expected the people of this object, got those of another");
        }
        let refused_events = from.take_u64()?;
        let known = from.take_u64()?;
        // Each has an identity: a number that is too large reserves no memory.
        if known > self.most.into() || known > (saved.expose().len() / IDENTITY) as u64 {
            return refused("expected no more people than the limit, got more");
        }
        let bytes = (known as usize).saturating_mul(2 * IDENTITY);
        let reserved = self.numbers.try_reserve(known as usize);
        reserved.map_err(|_| Error::Memory { bytes })?;
        for person in 0..known as usize {
            let number = self.number_of(u128::from_le_bytes(from.take()?))?;
            if number as usize != person {
                return refused("expected different people, got one twice");
            }
            for table in &mut self.tables {
                table.restore(person, &mut from)?;
            }
        }
        from.finish()?;
        self.refused = refused_events;
        Ok(())
    }
}
