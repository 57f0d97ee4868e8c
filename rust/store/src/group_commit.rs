//! Group commit: many threads append; one writes and syncs for all that wait.

use crate::disk::Lock;
use crate::error::{Error, Result};
use crate::files::Files;
use crate::recovered::Sequence;
use crate::sealing::{SealingKey, StoreKey};
use crate::slot;
use crate::waiting::Waiting;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Bytes that may wait; an append above commits them first.
const WAITING_AT_MOST: usize = 8 << 20;
/// A disk that was slow once does not make all later commits wait.
const LONGEST_PATIENCE: Duration = Duration::from_millis(10);

/// The files of a store, of which one thread at a time writes.
pub(crate) struct GroupCommit {
    shared: Mutex<Shared>,
    /// Notified when the files are given back.
    given_back: Condvar,
    /// Notified when as many threads wait for a commit as the last one served.
    gathered: Condvar,
    _lock: Box<dyn Lock>,
}

struct Shared {
    waiting: Waiting,
    /// The last record that is durable.
    committed: Sequence,
    /// `None` while one thread writes; then the others append, and wait if they commit.
    files: Option<Box<Files>>,
    health: Health,
    group: Group,
}

/// Whether a write has failed; after that no one gets the files.
enum Health {
    Working,
    /// The error, until a call returns it.
    Failed(Option<Error>),
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

impl GroupCommit {
    pub(crate) fn new(files: Files, lock: Box<dyn Lock>) -> Self {
        let committed = files.committed.sequence;
        Self {
            shared: Mutex::new(Shared {
                committed,
                waiting: Waiting::after(committed),
                files: Some(Box::new(files)),
                health: Health::Working,
                group: Group::default(),
            }),
            given_back: Condvar::new(),
            gathered: Condvar::new(),
            _lock: lock,
        }
    }

    /// Appends a record, and returns its number and the bytes that wait.
    pub(crate) fn append(
        &self,
        most: usize,
        write: impl FnOnce(&mut Vec<u8>) -> lazysketch_core::Result<()>,
    ) -> Result<(Sequence, usize)> {
        let mut shared = self.lock()?;
        if shared.waiting.size() >= WAITING_AT_MOST {
            drop(shared);
            self.commit()?;
            shared = self.lock()?;
        }
        let sequence = shared.waiting.append(most, write)?;
        Ok((sequence, shared.waiting.size()))
    }

    /// Makes all records durable that were appended before the call, and returns the last record
    /// that is.
    ///
    /// One thread writes and syncs for all that wait. Threads that were just served are about to
    /// come back, so it first waits for as many as last time, for a fraction of the time that
    /// the last write took: a single writer never waits.
    pub(crate) fn commit(&self) -> Result<Sequence> {
        let mut shared = self.lock()?;
        let target = shared.waiting.last;
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

    /// Makes durable what waits, if no other thread is writing. If it fails, the next call returns
    /// the error.
    pub(crate) fn commit_early(&self) {
        // An error that is there already is for a caller.
        let Ok(mut shared) = self.shared.lock() else {
            return;
        };
        if let Some(files) = shared.files.take() {
            let _written = self.write_waiting(shared, files);
        }
    }

    fn commit_group<'a>(&'a self, shared: Guard<'a>, files: Box<Files>) -> Result<Guard<'a>> {
        let patience = shared.group.last_took / 2;
        let gathered = self
            .gathered
            .wait_timeout_while(shared, patience, |shared| {
                shared.group.arrived < shared.group.last
            });
        let (mut shared, _) = gathered.map_err(|_| Error::Poisoned)?;
        shared.group.last = std::mem::take(&mut shared.group.arrived);
        let start = Instant::now();
        let mut shared = working(self.write_waiting(shared, files)?)?;
        shared.group.last_took = start.elapsed().min(LONGEST_PATIENCE);
        Ok(shared)
    }

    fn write_waiting<'a>(
        &'a self,
        mut shared: Guard<'a>,
        mut files: Box<Files>,
    ) -> Result<Guard<'a>> {
        let waiting = shared.waiting.take(std::mem::take(&mut files.spare));
        shared.group.taken = waiting.last;
        self.write(shared, files, |files| files.commit(waiting))
    }

    /// Writes a checkpoint that stands for all records through `through`, the last that was
    /// appended, and commits them first. Records from before the older of the two last checkpoints
    /// are removed, and their keys destroyed.
    ///
    /// # Errors
    ///
    /// [`Error::Order`] if a record was appended after `through`; nothing was written.
    pub(crate) fn checkpoint(&self, through: Sequence, body: Vec<u8>) -> Result<()> {
        slot::check_size(&body)?;
        let (segment_key, checkpoint_key) = (SealingKey::fresh()?, SealingKey::fresh()?);
        let (mut shared, files) = self.take_files()?;
        if shared.waiting.last != through {
            self.give_back(&mut shared, files);
            return Err(Error::Order);
        }
        // Records that are appended from here on belong to the next segment.
        let waiting = shared.waiting.take(Waiting::default());
        shared.group.arrived = 0;
        shared.group.taken = through;
        let checkpoint =
            |files: &mut Files| files.checkpoint(waiting, body, segment_key, checkpoint_key);
        working(self.write(shared, files, checkpoint)?).map(drop)
    }

    /// Makes all records durable, and says so in the key ring.
    pub(crate) fn prove(&self) -> Result<()> {
        let (mut shared, files) = self.take_files()?;
        let waiting = shared.waiting.take(Waiting::default());
        shared.group.arrived = 0;
        shared.group.taken = waiting.last;
        let prove = |files: &mut Files| files.prove(waiting);
        working(self.write(shared, files, prove)?).map(drop)
    }

    /// Wraps the keys of the store under another key; the noise key stays. Until it returns,
    /// either key may be the one that opens the store.
    pub(crate) fn rotate(&self, key: &StoreKey) -> Result<()> {
        let (shared, files) = self.take_files()?;
        let rotate = |files: &mut Files| files.rotate(key);
        working(self.write(shared, files, rotate)?).map(drop)
    }

    fn lock(&self) -> Result<Guard<'_>> {
        let shared = self.shared.lock().map_err(|_| Error::Poisoned)?;
        working(shared)
    }

    fn wait<'a>(&self, shared: Guard<'a>) -> Result<Guard<'a>> {
        let shared = self.given_back.wait(shared).map_err(|_| Error::Poisoned)?;
        working(shared)
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

    /// Writes while others append, then gives the files back. After an error or a panic no one gets
    /// them, and those that wait for them fail: [`working`] returns the error to the next call.
    fn write<'a>(
        &'a self,
        shared: Guard<'a>,
        mut files: Box<Files>,
        work: impl FnOnce(&mut Files) -> Result<()>,
    ) -> Result<Guard<'a>> {
        drop(shared);
        let lost = LostFiles(self);
        let done = work(&mut files);
        let mut shared = self.shared.lock().map_err(|_| Error::Poisoned)?;
        std::mem::forget(lost);
        match done {
            Ok(()) => self.give_back(&mut shared, files),
            Err(error) => {
                shared.health = Health::Failed(Some(error));
                self.given_back.notify_all();
            }
        }
        Ok(shared)
    }
}

/// Dropped where a thread ends without giving the files back: without it, others would wait for ever.
struct LostFiles<'a>(&'a GroupCommit);

impl Drop for LostFiles<'_> {
    fn drop(&mut self) {
        let shared = self.0.shared.lock();
        shared.unwrap_or_else(PoisonError::into_inner).health = Health::Failed(None);
        self.0.given_back.notify_all();
    }
}

/// An error after a failed write: what failed, if no call has returned that.
fn working(mut shared: Guard<'_>) -> Result<Guard<'_>> {
    match &mut shared.health {
        Health::Working => Ok(shared),
        Health::Failed(error) => Err(error.take().unwrap_or(Error::Poisoned)),
    }
}
