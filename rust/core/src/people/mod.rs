//! People: at most so much of one person is counted.
//!
//! | module | what |
//! |---|---|
//! | this | who is known, which events are counted |
//! | `contributions` | the cells of a table that each person has, and how often |
//! | `saved` | the state of all this in bytes, for a store |
//!
//! **The rule.** An event is counted if, in *every* row of *every* table, its cell is one of the
//! person's or the person has fewer than `cells` of that row, and the cell holds fewer than `events`
//! of the person's events. Otherwise it is an empty step everywhere. Whether an event is counted
//! depends on the events of its person alone, so without a person the events of all others are
//! counted as before. In each row a person changes at most `cells` cells, each by at most `events`
//! events: docs/theory.md, "People", derives the sensitivity.
//!
//! A table of values or ranges has one place for all events of a person: its columns add up to what
//! is published, so that any two events may move the same sums. There a person has at most `events`
//! events, wherever they are.
//!
//! Every row has to agree. If each decided alone, an event would be counted in some rows only, and
//! estimates would compare different streams.
//!
//! People are distinguished by a secret function of their identifiers, so neither an identifier nor
//! anything that it can be guessed from is kept.

mod contributions;
mod saved;
#[cfg(test)]
mod tests;

use crate::discovery::name::{CHUNK, Identities};
use crate::key::{MasterKey, Purpose, SketchId};
use crate::parameters::{MOST_PEOPLE, PersonBound, Shape};
use crate::table::hash::Fingerprinter;
use crate::table::items::Items;
use crate::{Error, Result, memory};
use contributions::Contributions;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// The number of an event whose person is one too many.
const UNKNOWN: u32 = u32::MAX;

/// What each person has contributed to some tables, which count one stream.
pub struct People {
    id: SketchId,
    identities: Identities,
    tables: Vec<Contributions>,
    numbers: HashMap<u128, u32, BuildHasherDefault<LowBits>>,
    most: u32,
    refused: u64,
    /// The people of a batch, by number.
    batch: Vec<u32>,
}

/// A batch whose people are known, and that cannot fail any more.
pub struct PreparedBatch {
    /// The fingerprints of its items, table by table.
    hashed: Vec<Vec<u64>>,
    /// Room for the places of an event.
    rows: Vec<usize>,
    /// Number of the people that were known before it.
    known: usize,
}

impl People {
    /// Knows no one. `id` is that of a sketch under the key, which no other object shares.
    ///
    /// # Errors
    ///
    /// [`Error::Parameter`] for a bound outside its range, different limits of people, or no table.
    pub fn new(key: &MasterKey, id: &SketchId, tables: &[(Shape, PersonBound)]) -> Result<Self> {
        let Some((_, PersonBound { most_people, .. })) = tables.first() else {
            return Err(Error::parameter("tables", "at least one", "none"));
        };
        for (_, bound) in tables {
            bound.validate()?;
            if bound.most_people != *most_people {
                return Err(Error::parameter("most_people", "one for all tables", "two"));
            }
        }
        let most = most_people.unwrap_or(MOST_PEOPLE);
        let tables = (tables.iter()).map(|(shape, bound)| Contributions::new(shape, bound));
        Ok(Self {
            id: *id,
            identities: Identities::new(key, Purpose::PersonIdentity, id, b""),
            tables: tables.collect(),
            numbers: HashMap::default(),
            most,
            refused: 0,
            batch: Vec::new(),
        })
    }

    /// The secret identities of people, which stand for them in a log as well. Nothing changes.
    ///
    /// # Errors
    ///
    /// [`Error::Memory`].
    pub fn identify(&self, people: Items<'_>) -> Result<Vec<u128>> {
        let mut identities = memory::filled(0, people.len())?;
        people.for_each_item_chunk::<CHUNK>(|start, chunk| {
            let out = &mut identities[start..][..chunk.len()];
            self.identities.fill(chunk, out, |_, _| None);
        });
        Ok(identities)
    }

    /// The largest number of events of one person that are counted: each takes one of the places that
    /// every row of every table has for the person.
    pub fn counted_events(&self) -> u64 {
        (self.tables.iter().map(Contributions::most_events).min()).unwrap_or(0)
    }

    /// Decides for each event whether it is counted; the weights of those that are not become 0,
    /// which is an empty step. `people` are the results of [`Self::identify`]; `items` has the
    /// events as each table hashes them: the caller owns them, so that what is bounded and what is
    /// counted are one value.
    ///
    /// # Errors
    ///
    /// [`Error::Parameter`] if the lengths differ, and [`Error::Memory`]: nothing has changed then.
    pub fn bound(
        &mut self,
        people: &[u128],
        items: &[(Items<'_>, &Fingerprinter)],
        weights: &mut [u64],
    ) -> Result<()> {
        let batch = self.prepare(people, items, weights.len())?;
        self.decide(batch, |event| weights[event] = 0);
        Ok(())
    }

    /// All checks and all memory of [`Self::bound`]: then [`Self::decide`] cannot fail, and
    /// [`Self::withdraw`] undoes this.
    ///
    /// # Errors
    ///
    /// As [`Self::bound`]; nothing has changed then.
    pub fn prepare(
        &mut self,
        people: &[u128],
        items: &[(Items<'_>, &Fingerprinter)],
        events: usize,
    ) -> Result<PreparedBatch> {
        if planted!("refused-batch-leaves-its-people") {
            self.recognise(people)?;
        }
        let are_as_long = items.iter().all(|(items, _)| items.len() == events);
        if people.len() != events || !are_as_long || items.len() != self.tables.len() {
            let expected = format!("one person per item ({events})");
            return Err(Error::parameter("user", expected, people.len()));
        }
        let mut hashed: Vec<Vec<u64>> = memory::room_for(items.len())?;
        for (items, fingerprinter) in items {
            let mut of_table = memory::room_for(events)?;
            items.for_each_chunk(fingerprinter, |_, chunk| of_table.extend_from_slice(chunk));
            hashed.push(of_table);
        }
        let rows = memory::room_for(self.tables.iter().map(Contributions::depth).sum())?;
        let known = self.numbers.len();
        self.recognise(people)?;
        Ok(PreparedBatch {
            hashed,
            rows,
            known,
        })
    }

    /// Forgets the people of a batch that no one knew before it, which is not counted.
    pub fn withdraw(&mut self, batch: PreparedBatch) {
        self.forget_after(planted!(
            "refused-people-stay-known",
            self.numbers.len(),
            batch.known
        ));
    }

    /// Decides for each event of the batch that was prepared last whether it is counted; `refuse` is
    /// called with the position of each that is not.
    pub fn decide(&mut self, batch: PreparedBatch, mut refuse: impl FnMut(usize)) {
        let PreparedBatch {
            hashed, mut rows, ..
        } = batch;
        for (event, &person) in self.batch.iter().enumerate() {
            rows.clear();
            let is_counted = person != UNKNOWN
                && (self.tables.iter().zip(&hashed))
                    .all(|(table, items)| table.find(person, items[event], &mut rows));
            if !is_counted {
                if !planted!("refused-events-are-counted") {
                    refuse(event);
                }
                self.refused += 1;
                continue;
            }
            let mut found = rows.as_slice();
            for (table, items) in self.tables.iter_mut().zip(&hashed) {
                let (of_table, rest) = found.split_at(table.depth());
                table.add(person, items[event], of_table);
                found = rest;
            }
        }
    }

    /// How many people are known. For the operator only: it is data.
    pub fn known(&self) -> usize {
        self.numbers.len()
    }

    /// How many events were not counted. For the operator only: it is data.
    pub fn refused(&self) -> u64 {
        self.refused
    }

    /// Bytes in use for each person, without the index.
    pub fn bytes_per_person(&self) -> usize {
        let tables = self.tables.iter().map(Contributions::bytes_per_person);
        size_of::<(u128, u32)>() + tables.sum::<usize>()
    }

    /// Forgets everyone, at the end of a public period.
    pub fn forget(&mut self) {
        self.numbers.clear();
        self.tables.iter_mut().for_each(|table| table.truncate(0));
    }

    /// Fills the batch with the numbers of its people; who is new gets the next one, as long as
    /// there is one. After an error no one is new.
    fn recognise(&mut self, people: &[u128]) -> Result<()> {
        self.batch.clear();
        memory::reserve(&mut self.batch, people.len())?;
        let before = self.numbers.len();
        for &identity in people {
            match self.number_of(identity) {
                Ok(number) => self.batch.push(number),
                Err(error) => {
                    self.forget_after(before);
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    /// Forgets all people but the first.
    fn forget_after(&mut self, known: usize) {
        self.numbers.retain(|_, number| (*number as usize) < known);
        (self.tables.iter_mut()).for_each(|table| table.truncate(known));
    }

    fn number_of(&mut self, identity: u128) -> Result<u32> {
        if let Some(&number) = self.numbers.get(&identity) {
            return Ok(number);
        }
        let number = self.numbers.len() as u32;
        if number >= self.most {
            return Ok(UNKNOWN);
        }
        let bytes = self.numbers.len().saturating_mul(2 * size_of::<u128>());
        let reserved = self.numbers.try_reserve(1);
        reserved.map_err(|_| Error::Memory { bytes })?;
        for table in &mut self.tables {
            table.add_person()?;
        }
        self.numbers.insert(identity, number);
        Ok(number)
    }
}

/// Identities are random already.
#[derive(Default)]
struct LowBits(u64);

impl Hasher for LowBits {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = self.0 << 8 | u64::from(byte);
        }
    }

    fn write_u128(&mut self, identity: u128) {
        self.0 = identity as u64;
    }
}
