//! What opening a store gives back.

use lazysketch_core::key::MasterKey;
use std::ops::Range;
use zeroize::Zeroizing;

/// The number of a record: 1, 2, ... in the order of appending, over all lives of a store.
pub type Sequence = u64;

/// What a store held when it was opened; all of it is durable.
pub struct Recovered {
    /// 16 random bytes, the same in all lives.
    pub store_id: [u8; 16],
    /// The master key of the noise: random, the same in all lives and under every caller's key.
    pub noise_key: MasterKey,
    /// The newest checkpoint that is whole.
    pub checkpoint: Option<RecoveredCheckpoint>,
    /// All records after it, in order.
    pub records: RecoveredRecords,
    /// The last record, or 0.
    pub last: Sequence,
    /// True if an anchor of this store said that this is its newest state, or if the store is new
    /// and has an anchor. If false, an older copy may have been put back: make a new epoch.
    pub anchored: bool,
    /// True if the store was made by this call.
    pub is_new: bool,
    /// Bytes after the last record that were there: of a crash, and then none was acknowledged; or,
    /// without an anchor, of records of which nothing shows that they were durable.
    pub dropped_bytes: u64,
}

/// A checkpoint as it was given.
pub struct RecoveredCheckpoint {
    /// The last record that it covers.
    pub through: Sequence,
    /// The bytes.
    pub body: Zeroizing<Vec<u8>>,
}

/// Records in order.
#[derive(Default)]
pub struct RecoveredRecords {
    pub(crate) segments: Vec<Opened>,
}

/// A segment, decrypted in place.
pub(crate) struct Opened {
    pub(crate) bytes: Zeroizing<Vec<u8>>,
    pub(crate) payloads: Vec<Range<usize>>,
}

impl Opened {
    pub(crate) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        self.payloads.iter().map(|range| &self.bytes[range.clone()])
    }
}

impl RecoveredRecords {
    /// The records, the oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        self.segments.iter().flat_map(Opened::iter)
    }

    /// Their number.
    pub fn len(&self) -> usize {
        self.segments.iter().map(|it| it.payloads.len()).sum()
    }

    /// True if nothing was recovered.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
