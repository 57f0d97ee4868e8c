//! Exact counts of names: what a worker counts of a stream whose heavy names are published.
//!
//! Each name is kept whole, with its exact count. The table of a sketch follows from these counts,
//! since every event adds its weight to the cells of its item: so a worker has no table.
//!
//! Names are compared byte by byte. The place of a name in the index is a hash under random keys of
//! this process, so that no stream can be made for which names crowd into few places. Most of the time
//! is waiting for memory: so the names of a chunk are looked up together before the first is counted.

#[cfg(test)]
mod tests;

use crate::discovery::name::{NameKind, item_of, parts_of};
use crate::item::Item;
use crate::key::entropy;
use crate::partial::name_index::{NONE, NameIndex};
use crate::table::event_weights::{Bounded, EventWeights};
use crate::table::items::Items;
use crate::{Error, Result, memory};
use ahash::RandomState;
use std::hash::{BuildHasher, Hasher};

/// Events that are hashed and looked up together.
const CHUNK: usize = 64;

/// The limits of some counts of names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NameLimits {
    /// Most distinct names.
    pub(crate) names: u64,
    /// Most bytes of all names together.
    pub(crate) bytes: u64,
}

/// Distinct names and their exact counts. Neither `Clone` nor readable from outside of the core.
pub(crate) struct NameCounts {
    hasher: RandomState,
    index: NameIndex,
    entries: Vec<Entry>,
    /// What discovery counts of each name, where this differs from its weight: else empty.
    units: Vec<u64>,
    /// The most that it counts of an event, where that may be less than its weight.
    counted_apart: Option<u64>,
    content: Vec<u8>,
    /// False after a batch that was changed while it was counted.
    is_intact: bool,
}

#[derive(Clone, Copy)]
struct Entry {
    start: usize,
    weight: u64,
    length: u32,
    kind: NameKind,
}

/// One name and its counts.
#[derive(Clone, Copy)]
pub(crate) struct CountedName<'a> {
    pub(crate) kind: NameKind,
    pub(crate) content: &'a [u8],
    /// The sum of the weights of its events.
    pub(crate) weight: u64,
    /// What discovery counts of it: the sum of the weights, each cut at the largest that counts. With 1
    /// it is the number of events of a weight above 0.
    pub(crate) units: u64,
}

impl NameCounts {
    /// No names yet. With `counted_apart` that much of each event, at most, is counted apart from its
    /// weight.
    pub(crate) fn new(counted_apart: Option<u64>) -> Result<Self> {
        let seeds = entropy::<32>()?;
        let seed = |at: usize| u64::from_le_bytes(std::array::from_fn(|i| seeds[8 * at + i]));
        Ok(Self {
            hasher: RandomState::with_seeds(seed(0), seed(1), seed(2), seed(3)),
            index: NameIndex::new(),
            entries: Vec::new(),
            units: Vec::new(),
            counted_apart,
            content: Vec::new(),
            is_intact: true,
        })
    }

    /// Number of distinct names.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Bytes of all names together.
    pub(crate) fn content_bytes(&self) -> usize {
        self.content.len()
    }

    /// False if another thread has written to a batch that was refused: the counts are unknown.
    pub(crate) fn is_intact(&self) -> bool {
        self.is_intact
    }

    /// The most that is counted of an event apart from its weight; None if all of it is.
    pub(crate) fn counted_apart(&self) -> Option<u64> {
        self.counted_apart
    }

    /// What discovery counts of an event of this weight.
    #[inline]
    fn units_of(&self, weight: u64) -> u64 {
        let most = self.counted_apart.unwrap_or(u64::MAX);
        weight.min(planted!("weights-of-workers-are-not-cut", u64::MAX, most))
    }

    /// A name, by its number in the order of arrival.
    pub(crate) fn name(&self, at: usize) -> CountedName<'_> {
        let entry = self.entries[at];
        CountedName {
            kind: entry.kind,
            content: &self.content[entry.start..][..entry.length as usize],
            weight: entry.weight,
            units: self.units.get(at).copied().unwrap_or(entry.weight),
        }
    }

    /// The item that a name is. Every name that was taken over is one.
    #[inline]
    pub(crate) fn item(&self, at: usize) -> Item<'_> {
        let name = self.name(at);
        item_of(name.kind, name.content).unwrap_or(Item::Bytes(name.content))
    }

    /// Counts the events of a batch; those of weight 0 leave no trace. If a limit is exceeded or there
    /// is no memory, all counts are as before.
    pub(crate) fn count(
        &mut self,
        items: Items<'_>,
        weights: Option<Bounded<'_>>,
        limits: NameLimits,
    ) -> Result<()> {
        let before = self.len();
        let weight_of = |at: usize| weights.map_or(1, |weights| weights.weight(at));
        let (mut counted, mut result) = (0, Ok(()));
        items.for_each_item_chunk::<CHUNK>(|start, chunk| {
            let (mut hashes, mut likely) = ([0; CHUNK], [NONE; CHUNK]);
            let mut buffer = [0; 8];
            for (hash, &item) in hashes.iter_mut().zip(chunk) {
                let (kind, content) = parts_of(item, &mut buffer);
                *hash = self.hash(kind, content);
            }
            self.look_up(&hashes[..chunk.len()], &mut likely);
            let found = hashes.iter().zip(&likely);
            for (at, (&item, (&hash, &likely))) in chunk.iter().zip(found).enumerate() {
                let weight = weight_of(start + at);
                if result.is_err() {
                    return;
                }
                let (kind, content) = parts_of(item, &mut buffer);
                result = if weight > 0 && self.is_name(likely, kind, content) {
                    self.increase(likely as usize, weight, self.units_of(weight));
                    Ok(())
                } else {
                    let units = self.units_of(weight);
                    self.add(hash, kind, content, weight, units, limits)
                };
                counted += usize::from(result.is_ok());
            }
        });
        let Err(error) = result else {
            return Ok(());
        };
        if planted!("names-over-the-limit-are-left-out") {
            return Ok(());
        }
        self.take_back(items.slice(0, counted), weight_of, before);
        Err(error)
    }

    /// The first name of each hash, and a load of its content and counts: none waits for another.
    #[inline]
    fn look_up(&self, hashes: &[u32], likely: &mut [u32; CHUNK]) {
        for (out, &hash) in likely.iter_mut().zip(hashes) {
            *out = self.index.first(hash);
        }
        let mut loaded = 0;
        for &at in likely.iter() {
            if let Some(entry) = self.entries.get(at as usize) {
                loaded ^= entry.weight ^ u64::from(*self.content.get(entry.start).unwrap_or(&0));
            }
        }
        std::hint::black_box(loaded);
    }

    /// True if this number is that of a name.
    #[inline]
    fn is_name(&self, at: u32, kind: NameKind, content: &[u8]) -> bool {
        self.entries.get(at as usize).is_some_and(|entry| {
            entry.kind == kind && self.content[entry.start..][..entry.length as usize] == *content
        })
    }

    /// Undoes the first part of a batch whose next event was refused.
    fn take_back(&mut self, items: Items<'_>, weight_of: impl Fn(usize) -> u64, before: usize) {
        let mut is_whole = true;
        let mut buffer = [0; 8];
        items.for_each_item(|at, item| {
            let weight = weight_of(at);
            let (kind, content) = parts_of(item, &mut buffer);
            let found = self.find(self.hash(kind, content), kind, content);
            let Some(found) = found.filter(|_| weight > 0) else {
                is_whole &= weight == 0;
                return;
            };
            let units = self.units_of(weight);
            let entry = &mut self.entries[found];
            is_whole &= entry.weight >= weight;
            entry.weight = entry.weight.saturating_sub(weight);
            if let Some(counted) = self.units.get_mut(found) {
                *counted = counted.saturating_sub(units);
            }
        });
        self.is_intact &= is_whole;
        self.truncate(before);
    }

    /// Takes over the counts of others. If a limit is exceeded or there is no memory, all are as
    /// before.
    pub(crate) fn merge(&mut self, other: &Self, limits: NameLimits) -> Result<()> {
        let before = self.len();
        // First the names, without counts: all that can fail.
        for at in 0..other.len() {
            let name = other.name(at);
            let hash = self.hash(name.kind, name.content);
            if let Err(error) = self.slot(hash, name.kind, name.content, limits) {
                self.truncate(before);
                return Err(error);
            }
        }
        for at in 0..other.len() {
            let name = other.name(at);
            let hash = self.hash(name.kind, name.content);
            if let Some(slot) = self.find(hash, name.kind, name.content) {
                self.increase(slot, name.weight, name.units);
                if planted!("a-name-of-two-workers-counts-twice") && slot < before {
                    self.increase(slot, name.weight, name.units);
                }
            }
        }
        Ok(())
    }

    /// Adds to the count of a name; one without events leaves no trace.
    #[inline]
    pub(crate) fn add_name(&mut self, name: CountedName<'_>, limits: NameLimits) -> Result<()> {
        let hash = self.hash(name.kind, name.content);
        let (kind, content) = (name.kind, name.content);
        self.add(hash, kind, content, name.weight, name.units, limits)
    }

    #[inline]
    fn add(
        &mut self,
        hash: u32,
        kind: NameKind,
        content: &[u8],
        weight: u64,
        units: u64,
        limits: NameLimits,
    ) -> Result<()> {
        if weight > 0 {
            let slot = self.slot(hash, kind, content, limits)?;
            self.increase(slot, weight, units);
        }
        Ok(())
    }

    #[inline]
    fn increase(&mut self, slot: usize, weight: u64, units: u64) {
        self.entries[slot].weight += weight;
        if let Some(all) = self.units.get_mut(slot) {
            *all += units;
        }
    }

    #[inline]
    fn hash(&self, kind: NameKind, content: &[u8]) -> u32 {
        let mut hasher = self.hasher.build_hasher();
        hasher.write(content);
        hasher.write_u8(kind as u8);
        hasher.finish() as u32
    }

    #[inline]
    fn find(&self, hash: u32, kind: NameKind, content: &[u8]) -> Option<usize> {
        (self.index).find(hash, |at| self.is_name(at, kind, content))
    }

    /// The place of a name, which is new and without events if it had none.
    #[inline]
    fn slot(
        &mut self,
        hash: u32,
        kind: NameKind,
        content: &[u8],
        limits: NameLimits,
    ) -> Result<usize> {
        match self.find(hash, kind, content) {
            Some(found) => Ok(found),
            None => self.insert(hash, kind, content, limits),
        }
    }

    #[cold]
    fn insert(
        &mut self,
        hash: u32,
        kind: NameKind,
        content: &[u8],
        limits: NameLimits,
    ) -> Result<usize> {
        let slot = self.len();
        let bytes = self.content.len() + content.len();
        if slot as u64 >= limits.names || bytes as u64 > limits.bytes {
            return Err(too_many(limits));
        }
        let length = u32::try_from(content.len()).map_err(|_| too_many(limits))?;
        make_room(&mut self.content, content.len(), |bytes| {
            memory::wipe(bytes);
        })?;
        make_room(&mut self.entries, 1, erase)?;
        if self.counted_apart.is_some() {
            make_room(&mut self.units, 1, |units| units.fill(0))?;
        }
        self.index.insert(hash, slot as u32)?;
        self.entries.push(Entry {
            start: self.content.len(),
            weight: 0,
            length,
            kind,
        });
        if self.counted_apart.is_some() {
            self.units.push(0);
        }
        self.content.extend_from_slice(content);
        Ok(slot)
    }

    /// Removes the names from a number on.
    fn truncate(&mut self, number: usize) {
        for at in (number..self.len()).rev() {
            let (entry, name) = (self.entries[at], self.name(at));
            let hash = self.hash(name.kind, name.content);
            self.index.remove(hash, at as u32);
            memory::wipe(&mut self.content[entry.start..]);
            self.content.truncate(entry.start);
        }
        erase(&mut self.entries[number..]);
        self.entries.truncate(number);
        self.units.truncate(number);
    }
}

impl Drop for NameCounts {
    fn drop(&mut self) {
        memory::wipe(&mut self.content);
        erase(&mut self.entries);
        zeroize::Zeroize::zeroize(&mut self.units);
    }
}

/// Overwrites exact counts and the places of names.
fn erase(entries: &mut [Entry]) {
    for entry in entries {
        zeroize::Zeroize::zeroize(&mut entry.start);
        zeroize::Zeroize::zeroize(&mut entry.weight);
        zeroize::Zeroize::zeroize(&mut entry.length);
    }
}

/// Makes room for more values. A vector that grows would leave a copy of them that nothing erases.
fn make_room<T: Copy>(
    values: &mut Vec<T>,
    additional: usize,
    erase: impl FnOnce(&mut [T]),
) -> Result<()> {
    if values.capacity() - values.len() >= additional {
        return Ok(());
    }
    let length = (values.len() + additional).max(CHUNK).next_power_of_two();
    let mut larger = memory::room_for(length)?;
    larger.extend_from_slice(values);
    erase(values);
    *values = larger;
    Ok(())
}

/// The message has the limits alone.
fn too_many(limits: NameLimits) -> Error {
    let NameLimits { names, bytes } = limits;
    let expected = format!(
        "at most {names} different names of {bytes} bytes in all; nothing was counted: seal what was \
         counted before, count smaller parts, or raise most_names"
    );
    Error::parameter("items", expected, "more")
}
