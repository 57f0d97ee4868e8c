//! The store: records and checkpoints that are there after any crash.

use crate::anchor::Anchor;
use crate::creation;
use crate::disk::{Disk, Folder, Lock};
use crate::error::{Error, Result};
use crate::files::{Files, OpenStore};
use crate::key_ring::{NAMES, Segment};
use crate::recovered::{Recovered, Sequence};
use crate::recovery;
use crate::sealing::{SealingKey, StoreKey};
use crate::segment::Tail;
use crate::slot;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

const LOCK: &str = "lock";
/// Sealed bytes that may wait for a commit; an append above commits what waits.
const WAITING_AT_MOST: usize = 8 << 20;
/// A disk that was slow once does not make all later commits wait.
const LONGEST_PATIENCE: Duration = Duration::from_millis(10);

/// An open store. All methods may be called by many threads at a time.
///
/// Guarantee: a record is durable when a [`Store::commit`] that began after its append returns;
/// what was durable is given back by every later opening, once and in order, and so is all that an
/// opening gave back. After an error of a write or a sync every call fails: what the disk holds is
/// then known to the next opening only. A store that is dropped commits nothing.
pub struct Store {
    shared: Mutex<Shared>,
    /// Notified when the files are given back.
    given_back: Condvar,
    /// Notified when as many threads wait for a commit as the last one served.
    gathered: Condvar,
    _lock: Box<dyn Lock>,
}

struct Shared {
    tail: Tail,
    /// The last record that is durable.
    committed: Sequence,
    /// `None` while one thread writes; then the others append, and wait if they commit.
    files: Option<Box<Files>>,
    has_failed: bool,
    group: Group,
}

/// The threads that the next commit will serve.
#[derive(Default)]
struct Group {
    /// Calls that wait for records which no commit has taken yet.
    arrived: usize,
    /// The last record that a commit has taken.
    taken: Sequence,
    /// Calls that the last commit served, and how long it wrote.
    last: usize,
    last_took: Duration,
}

type Guard<'a> = MutexGuard<'a, Shared>;

impl Store {
    /// Opens a store, or makes one in a directory without.
    ///
    /// # Errors
    ///
    /// [`Error::Locked`] if it is open elsewhere, [`Error::WrongKey`], [`Error::Version`],
    /// [`Error::Damaged`], [`Error::RolledBack`] and [`Error::ForeignAnchor`]: all leave the store
    /// as it was.
    pub fn open(disk: Arc<dyn Disk>, key: &StoreKey, anchor: &Anchor) -> Result<(Self, Recovered)> {
        let folder = Folder(disk);
        let lock = folder.lock(LOCK)?;
        let names = folder.list()?;
        let exists = NAMES.iter().any(|name| names.iter().any(|n| n == name));
        let OpenStore {
            files,
            tail,
            recovered,
        } = if exists {
            recovery::recover(folder, &names, key, anchor)?
        } else {
            creation::create(folder, &names, key, anchor)?
        };
        let store = Self {
            shared: Mutex::new(Shared {
                committed: tail.end.sequence,
                tail,
                files: Some(Box::new(files)),
                has_failed: false,
                group: Group::default(),
            }),
            given_back: Condvar::new(),
            gathered: Condvar::new(),
            _lock: lock,
        };
        Ok((store, recovered))
    }

    /// Appends a record to those that wait for a commit, and returns its number.
    ///
    /// # Errors
    ///
    /// [`Error::TooLarge`], or no memory: nothing was appended. [`Error::Poisoned`].
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
        let mut shared = self.lock()?;
        if shared.tail.buffer.len() >= WAITING_AT_MOST {
            drop(shared);
            self.commit()?;
            shared = self.lock()?;
        }
        shared.tail.append_written(most, write)
    }

    /// Makes all records durable that were appended before the call, and returns the last record
    /// that is.
    ///
    /// One thread writes and syncs for all that wait. Threads that were just served are about to
    /// come back, so it first waits for as many as last time, for a fraction of the time that
    /// the last write took: a single writer never waits.
    pub fn commit(&self) -> Result<Sequence> {
        let mut shared = self.lock()?;
        let target = shared.tail.end.sequence;
        if target > shared.group.taken {
            shared.group.arrived += 1;
            if shared.group.arrived >= shared.group.last {
                self.gathered.notify_one();
            }
        }
        while shared.committed < target {
            shared = match shared.files.take() {
                None => self.wait(shared)?,
                Some(files) => self.commit_group(shared, files)?,
            };
        }
        Ok(shared.committed)
    }

    fn commit_group<'a>(&'a self, shared: Guard<'a>, mut files: Box<Files>) -> Result<Guard<'a>> {
        let patience = shared.group.last_took / 2;
        let gathered = self
            .gathered
            .wait_timeout_while(shared, patience, |shared| {
                shared.group.arrived < shared.group.last
            });
        let (mut shared, _) = gathered.map_err(|_| Error::Poisoned)?;
        let sealed = shared.tail.take(std::mem::take(&mut files.spare));
        let end = shared.tail.end;
        shared.group.last = std::mem::take(&mut shared.group.arrived);
        shared.group.taken = end.sequence;
        let start = Instant::now();
        let mut shared = self.write(shared, files, |files| files.commit(sealed, end))?;
        shared.group.last_took = start.elapsed().min(LONGEST_PATIENCE);
        Ok(shared)
    }

    /// Writes a checkpoint that stands for all records through `through`, the last that was
    /// appended, and commits them first. Records from before the older of the two last checkpoints
    /// are removed, and their keys destroyed.
    ///
    /// # Errors
    ///
    /// [`Error::Order`] if a record was appended after `through`; nothing was written.
    pub fn checkpoint(&self, through: Sequence, body: Vec<u8>) -> Result<()> {
        slot::check_size(&body)?;
        let (segment_key, checkpoint_key) = (SealingKey::fresh()?, SealingKey::fresh()?);
        let (mut shared, files) = self.take_files()?;
        let end = shared.tail.end;
        if end.sequence != through {
            self.give_back(&mut shared, files);
            return Err(Error::Order);
        }
        let next = Segment {
            number: files.ring.generation + 1,
            after: end,
            synced: through,
            key: segment_key,
        };
        // Records that are appended from here on belong to the next segment.
        let secrets = &files.ring.secrets;
        let tail = Tail::new(&secrets.store_id, &secrets.chain, &next);
        let sealed = std::mem::replace(&mut shared.tail, tail).buffer;
        shared.group.arrived = 0;
        shared.group.taken = through;
        let done = self.write(shared, files, |files| {
            files.checkpoint(sealed, body, next, checkpoint_key)
        });
        done.map(drop)
    }

    /// Wraps the keys of the store under another key; the noise key stays. Until it returns,
    /// either key may be the one that opens the store.
    pub fn rotate(&self, key: &StoreKey) -> Result<()> {
        let (shared, files) = self.take_files()?;
        self.write(shared, files, |files| files.rotate(key))
            .map(drop)
    }

    fn lock(&self) -> Result<Guard<'_>> {
        let shared = self.shared.lock().map_err(|_| Error::Poisoned)?;
        if shared.has_failed {
            return Err(Error::Poisoned);
        }
        Ok(shared)
    }

    fn wait<'a>(&self, shared: Guard<'a>) -> Result<Guard<'a>> {
        let shared = self.given_back.wait(shared).map_err(|_| Error::Poisoned)?;
        if shared.has_failed {
            return Err(Error::Poisoned);
        }
        Ok(shared)
    }

    /// Waits until no one writes, and takes the files.
    fn take_files(&self) -> Result<(Guard<'_>, Box<Files>)> {
        let mut shared = self.lock()?;
        loop {
            if let Some(files) = shared.files.take() {
                return Ok((shared, files));
            }
            shared = self.wait(shared)?;
        }
    }

    fn give_back(&self, shared: &mut Guard<'_>, files: Box<Files>) {
        shared.committed = files.committed.sequence;
        shared.files = Some(files);
        self.given_back.notify_all();
    }

    /// Writes while others append, then gives the files back; after an error no one gets them.
    fn write<'a>(
        &'a self,
        shared: Guard<'a>,
        mut files: Box<Files>,
        work: impl FnOnce(&mut Files) -> Result<()>,
    ) -> Result<Guard<'a>> {
        drop(shared);
        let done = work(&mut files);
        let mut shared = self.shared.lock().map_err(|_| Error::Poisoned)?;
        match done {
            Ok(()) => {
                self.give_back(&mut shared, files);
                Ok(shared)
            }
            Err(error) => {
                shared.has_failed = true;
                self.given_back.notify_all();
                Err(error)
            }
        }
    }
}
