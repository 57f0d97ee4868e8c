//! The store: records and checkpoints that are there after any crash.

use crate::anchor::Anchor;
use crate::creation;
use crate::disk::{Disk, Folder};
use crate::early_writer::EarlyWriter;
use crate::error::Result;
use crate::files::OpenStore;
use crate::group_commit::GroupCommit;
use crate::key_ring::NAMES;
use crate::recovered::{Recovered, Sequence};
use crate::recovery;
use crate::sealing::StoreKey;
use std::sync::{Arc, OnceLock};

const LOCK: &str = "lock";
/// Bytes that wait before another thread begins to write them.
const WAITING_BEFORE_WRITING: usize = 1 << 20;

/// An open store. All methods may be called by many threads at a time.
///
/// Guarantee: a record is durable when a [`Store::commit`] that began after its append returns;
/// what was durable is given back by every later opening, once and in order, and so is all that an
/// opening gave back. After an error of a write or a sync every call fails: what the disk holds is
/// then known to the next opening only. A store that is dropped without a commit may lose what was
/// appended since the last one.
///
/// Records that were appended and not committed are written by a thread of the store once there is
/// 1 MiB of them, so that encryption and the disk take no time of the threads that append.
pub struct Store {
    // First, so that it ends before the files are closed.
    writer: OnceLock<EarlyWriter>,
    commits: Arc<GroupCommit>,
}

impl Store {
    /// Opens a store, or makes one in a directory without.
    ///
    /// # Errors
    ///
    /// [`Error::Locked`] if it is open elsewhere, [`Error::WrongKey`], [`Error::Version`],
    /// [`Error::Damaged`], [`Error::RolledBack`] and [`Error::ForeignAnchor`]: all leave the store
    /// as it was.
    ///
    /// [`Error::Locked`]: crate::Error::Locked
    /// [`Error::WrongKey`]: crate::Error::WrongKey
    /// [`Error::Version`]: crate::Error::Version
    /// [`Error::Damaged`]: crate::Error::Damaged
    /// [`Error::RolledBack`]: crate::Error::RolledBack
    /// [`Error::ForeignAnchor`]: crate::Error::ForeignAnchor
    pub fn open(disk: Arc<dyn Disk>, key: &StoreKey, anchor: &Anchor) -> Result<(Self, Recovered)> {
        let folder = Folder(disk);
        let lock = folder.lock(LOCK)?;
        let names = folder.list()?;
        let exists = NAMES.iter().any(|name| names.iter().any(|n| n == name));
        let OpenStore { files, recovered } = if exists {
            recovery::recover(folder, &names, key, anchor)?
        } else {
            creation::create(folder, &names, key, anchor)?
        };
        let store = Self {
            writer: OnceLock::new(),
            commits: Arc::new(GroupCommit::new(files, lock)),
        };
        Ok((store, recovered))
    }

    /// Appends a record to those that wait for a commit, and returns its number.
    ///
    /// # Errors
    ///
    /// [`Error::TooLarge`], or no memory: nothing was appended. [`Error::Poisoned`], or the error
    /// of a write: the store has failed.
    ///
    /// [`Error::TooLarge`]: crate::Error::TooLarge
    /// [`Error::Poisoned`]: crate::Error::Poisoned
    pub fn append(&self, record: &[u8]) -> Result<Sequence> {
        self.append_written(record.len(), |out| {
            out.extend_from_slice(record);
            Ok(())
        })
    }

    /// As [`Self::append`], of a record that `write` appends to a buffer, where it is sealed in
    /// place. It has at most `most` bytes.
    ///
    /// # Errors
    ///
    /// Those of [`Self::append`] and of `write`: nothing was appended.
    pub fn append_written(
        &self,
        most: usize,
        write: impl FnOnce(&mut Vec<u8>) -> lazysketch_core::Result<()>,
    ) -> Result<Sequence> {
        let (sequence, waiting) = self.commits.append(most, write)?;
        if waiting >= WAITING_BEFORE_WRITING {
            self.writer
                .get_or_init(|| EarlyWriter::of(&self.commits))
                .wake();
        }
        Ok(sequence)
    }

    /// Makes all records durable that were appended before the call, and returns the last record
    /// that is.
    ///
    /// One thread writes and syncs for all that wait. Threads that were just served are about to
    /// come back, so it first waits for as many as last time, for a fraction of the time that
    /// the last write took: a single writer never waits.
    pub fn commit(&self) -> Result<Sequence> {
        self.commits.commit()
    }

    /// Writes a checkpoint that stands for all records through `through`, the last that was
    /// appended, and commits them first. Records from before the older of the two last checkpoints
    /// are removed, and their keys destroyed.
    ///
    /// # Errors
    ///
    /// [`Error::Order`] if a record was appended after `through`; nothing was written.
    ///
    /// [`Error::Order`]: crate::Error::Order
    pub fn checkpoint(&self, through: Sequence, body: Vec<u8>) -> Result<()> {
        self.commits.checkpoint(through, body)
    }

    /// Commits, and writes down that everything is durable. The store goes on afterwards.
    ///
    /// What is opened without an anchor has all records up to here, and of later ones those that were
    /// durable when the next group was written.
    pub fn settle(&self) -> Result<()> {
        self.commits.prove()
    }

    /// Wraps the keys of the store under another key; the noise key stays. Until it returns,
    /// either key may be the one that opens the store.
    pub fn rotate(&self, key: &StoreKey) -> Result<()> {
        self.commits.rotate(key)
    }
}
