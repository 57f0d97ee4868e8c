//! A simulated machine: two directories whose writes reach the disk when they are synced, if the
//! power stays on.
//!
//! Every operation has a number, and one of them can fail. What a killed process wrote stays in the
//! cache of the operating system. What was not synced when the power fails is lost in part: any
//! change of a name, any write, any block of a write. After a failed sync the cache still holds the
//! writes, and no later sync makes them durable (as on Linux).

use crate::random::Random;
use crate::simulated_disk::Folder;
use crate::time_limit::TimeLimit;
use lazysketch_store::Disk;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{Error, ErrorKind, Result};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// What happens at an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Fault {
    /// The process ends; the cache stays.
    Kill,
    /// The machine stops; what was not synced may be lost.
    PowerCut,
    /// The operation fails once.
    IoError,
    /// From here to the end of the process nothing may grow.
    FullDisk,
    /// A write does a part of its work, and says so.
    ShortWrite,
    /// The thread panics, as it would for a mistake in the store.
    Panic,
}

/// The kinds of operations.
pub(crate) const OPERATIONS: [&str; 8] = [
    "list", "create", "open", "read", "write", "sync", "rename", "remove",
];

/// A write.
#[derive(Clone)]
pub(crate) struct Change {
    pub(crate) at: usize,
    pub(crate) bytes: Vec<u8>,
}

#[derive(Clone, Default)]
pub(crate) struct Inode {
    pub(crate) now: Vec<u8>,
    pub(crate) durable: Vec<u8>,
    /// Not durable.
    pub(crate) pending: Vec<Change>,
}

#[derive(Clone)]
pub(crate) enum NameChange {
    Set(String, usize),
    Renamed(String, String, usize),
    Removed(String),
}

#[derive(Clone, Default)]
pub(crate) struct Names {
    pub(crate) now: BTreeMap<String, usize>,
    pub(crate) durable: BTreeMap<String, usize>,
    pub(crate) pending: Vec<NameChange>,
}

pub(crate) struct State {
    pub(crate) folders: [Names; 2],
    pub(crate) inodes: Vec<Inode>,
    operations: u64,
    planned: Option<(u64, Fault)>,
    /// The fault that happened, with the operation that it happened to.
    happened: Option<(Fault, &'static str)>,
    pub(crate) is_dead: bool,
    pub(crate) is_full: bool,
    pub(crate) locks: BTreeSet<(usize, String)>,
    pub(crate) random: Random,
    _limit: TimeLimit,
}

/// What can be put back later: files by folder and name.
pub(crate) type Copy = [BTreeMap<String, Vec<u8>>; 2];

#[derive(Clone)]
pub(crate) struct Machine(Arc<Mutex<State>>);

/// The number of the directory of the store, and of that of the anchor.
pub(crate) const STORE: usize = 0;
pub(crate) const ANCHOR: usize = 1;

impl Machine {
    pub(crate) fn new(seed: u64) -> Self {
        Self(Arc::new(Mutex::new(State {
            folders: [Names::default(), Names::default()],
            inodes: Vec::new(),
            operations: 0,
            planned: None,
            happened: None,
            is_dead: false,
            is_full: false,
            locks: BTreeSet::new(),
            random: Random(seed),
            _limit: TimeLimit::start(),
        })))
    }

    pub(crate) fn disk(&self, folder: usize) -> Arc<dyn Disk> {
        let machine = self.clone();
        Arc::new(Folder { machine, folder })
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        // A planned panic poisons it.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Operations so far.
    pub(crate) fn operations(&self) -> u64 {
        self.state().operations
    }

    /// Lets the operation of this number, counted from now, fail.
    pub(crate) fn plan(&self, after: u64, fault: Fault) {
        let mut state = self.state();
        state.planned = Some((state.operations + after, fault));
        state.happened = None;
    }

    /// The fault that happened since the last plan.
    pub(crate) fn happened(&self) -> Option<(Fault, &'static str)> {
        self.state().happened
    }

    /// The next process starts: after a fault of the machine, with what the disk kept.
    pub(crate) fn restart(&self) {
        let mut state = self.state();
        if state
            .happened
            .is_some_and(|(fault, _)| fault == Fault::PowerCut)
        {
            state.lose_what_was_not_synced();
        }
        state.is_dead = false;
        state.is_full = false;
        state.planned = None;
        state.happened = None;
        assert!(state.locks.is_empty(), "a lock outlived its process");
    }

    /// The power fails between two processes.
    pub(crate) fn cut_power(&self) {
        self.state().lose_what_was_not_synced();
    }

    /// All files as a process sees them.
    pub(crate) fn copy(&self) -> Copy {
        let state = self.state();
        std::array::from_fn(|folder| {
            let names = state.folders[folder].now.iter();
            names
                .map(|(name, &inode)| (name.clone(), state.inodes[inode].now.clone()))
                .collect()
        })
    }

    /// A machine whose disk has these files.
    pub(crate) fn with(files: &Copy) -> Self {
        let machine = Self::new(0);
        let mut state = machine.state();
        for (folder, files) in files.iter().enumerate() {
            for (name, bytes) in files {
                let inode = state.inodes.len();
                state.inodes.push(Inode {
                    now: bytes.clone(),
                    durable: bytes.clone(),
                    pending: Vec::new(),
                });
                state.folders[folder].now.insert(name.clone(), inode);
                state.folders[folder].durable.insert(name.clone(), inode);
            }
        }
        drop(state);
        machine
    }
}

impl Change {
    pub(crate) fn apply(&self, bytes: &mut Vec<u8>) {
        let end = self.at + self.bytes.len();
        if bytes.len() < end {
            bytes.resize(end, 0);
        }
        bytes[self.at..end].copy_from_slice(&self.bytes);
    }

    /// The parts of the write that a power cut kept: some of its blocks, or its start.
    pub(crate) fn kept(&self, random: &mut Random) -> Vec<Self> {
        let block = [16, 512, 4096][random.below(3)];
        let shift = random.below(block);
        if random.one_in(3) {
            let end = random.below(self.bytes.len() + 1);
            return vec![self.part(0, end)];
        }
        let mut parts = Vec::new();
        let mut from = 0;
        while from < self.bytes.len() {
            let to = (from + block - (from + shift) % block).min(self.bytes.len());
            if random.one_in(2) {
                parts.push(self.part(from, to));
            }
            from = to;
        }
        parts
    }

    fn part(&self, from: usize, to: usize) -> Self {
        Self {
            at: self.at + from,
            bytes: self.bytes[from..to].to_vec(),
        }
    }
}

impl State {
    /// Counts an operation, and lets it fail if that is planned. True: a write does a part only.
    pub(crate) fn operation(&mut self, kind: &'static str) -> Result<Option<Fault>> {
        if self.is_dead {
            return Err(Error::other("the process is dead"));
        }
        self.operations += 1;
        if let Some((at, fault)) = self.planned
            && at == self.operations
        {
            self.happened = Some((fault, kind));
            if fault == Fault::Panic {
                // By then, other threads wait for this one.
                thread::sleep(Duration::from_millis(20));
                panic!("planned");
            }
            self.is_dead = matches!(fault, Fault::Kill | Fault::PowerCut);
            self.is_full = fault == Fault::FullDisk;
            return Ok(Some(fault));
        }
        Ok(None)
    }

    /// As [`Self::operation`], for all that a fault prevents as a whole.
    pub(crate) fn simple(&mut self, kind: &'static str, grows: bool) -> Result<()> {
        match self.operation(kind)? {
            None | Some(Fault::ShortWrite) => {}
            Some(Fault::FullDisk) if !grows => {}
            Some(Fault::FullDisk) => return Err(ErrorKind::StorageFull.into()),
            Some(_) => return Err(Error::other("a planned fault")),
        }
        if self.is_full && grows {
            return Err(ErrorKind::StorageFull.into());
        }
        Ok(())
    }

    pub(crate) fn change(&mut self, inode: usize, change: Change) {
        change.apply(&mut self.inodes[inode].now);
        self.inodes[inode].pending.push(change);
    }

    fn lose_what_was_not_synced(&mut self) {
        let style = self.random.below(4);
        let State {
            folders,
            inodes,
            random,
            ..
        } = self;
        for inode in inodes {
            for change in std::mem::take(&mut inode.pending) {
                let kept = match (style, random.below(3)) {
                    (0, _) => vec![],
                    (1, _) | (2, 0) => vec![change],
                    (2, _) => change.kept(random),
                    (_, 0) => vec![change],
                    _ => vec![],
                };
                for part in kept {
                    part.apply(&mut inode.durable);
                }
            }
            inode.now = inode.durable.clone();
        }
        for names in folders {
            for change in std::mem::take(&mut names.pending) {
                if style == 0 || style > 1 && random.one_in(2) {
                    continue;
                }
                apply_to_names(&change, &mut names.durable);
            }
            names.now = names.durable.clone();
        }
    }
}

pub(crate) fn apply_to_names(change: &NameChange, names: &mut BTreeMap<String, usize>) {
    match change {
        NameChange::Set(name, inode) => {
            names.insert(name.clone(), *inode);
        }
        NameChange::Renamed(from, to, inode) => {
            names.remove(from);
            names.insert(to.clone(), *inode);
        }
        NameChange::Removed(name) => {
            names.remove(name);
        }
    }
}
