//! The disk of a simulated machine: each operation is counted, may fail, and changes the cache.

use crate::machine::{Change, Fault, Inode, Machine, NameChange, State, apply_to_names};
use lazysketch_store::{Disk, DiskFile, Lock};
use std::io::{Error, ErrorKind, Result};

/// A directory of a machine.
pub(crate) struct Folder {
    pub(crate) machine: Machine,
    pub(crate) folder: usize,
}

impl Folder {
    fn file(&self, inode: usize) -> Box<dyn DiskFile> {
        let machine = self.machine.clone();
        Box::new(File { machine, inode })
    }

    fn rename_or_remove(&self, state: &mut State, change: NameChange) {
        let names = &mut state.folders[self.folder];
        apply_to_names(&change, &mut names.now);
        names.pending.push(change);
    }
}

fn missing() -> Error {
    ErrorKind::NotFound.into()
}

impl Disk for Folder {
    fn list(&self) -> Result<Vec<String>> {
        let mut state = self.machine.state();
        state.simple("list", false)?;
        Ok(state.folders[self.folder].now.keys().cloned().collect())
    }

    fn create(&self, name: &str) -> Result<Box<dyn DiskFile>> {
        let mut state = self.machine.state();
        state.simple("create", true)?;
        let inode = state.inodes.len();
        state.inodes.push(Inode::default());
        self.rename_or_remove(&mut state, NameChange::Set(name.to_owned(), inode));
        Ok(self.file(inode))
    }

    fn open(&self, name: &str) -> Result<Box<dyn DiskFile>> {
        let mut state = self.machine.state();
        state.simple("open", false)?;
        let inode = *state.folders[self.folder]
            .now
            .get(name)
            .ok_or_else(missing)?;
        Ok(self.file(inode))
    }

    fn rename(&self, from: &str, to: &str) -> Result<()> {
        let mut state = self.machine.state();
        state.simple("rename", false)?;
        let inode = *state.folders[self.folder]
            .now
            .get(from)
            .ok_or_else(missing)?;
        let change = NameChange::Renamed(from.to_owned(), to.to_owned(), inode);
        self.rename_or_remove(&mut state, change);
        Ok(())
    }

    fn remove(&self, name: &str) -> Result<()> {
        let mut state = self.machine.state();
        state.simple("remove", false)?;
        if !state.folders[self.folder].now.contains_key(name) {
            return Err(missing());
        }
        self.rename_or_remove(&mut state, NameChange::Removed(name.to_owned()));
        Ok(())
    }

    fn sync_directory(&self) -> Result<()> {
        let mut state = self.machine.state();
        state.simple("sync", false)?;
        let names = &mut state.folders[self.folder];
        names.pending.clear();
        names.durable = names.now.clone();
        Ok(())
    }

    fn lock(&self, name: &str) -> Result<Option<Box<dyn Lock>>> {
        let key = (self.folder, name.to_owned());
        let is_new = self.machine.state().locks.insert(key.clone());
        let machine = self.machine.clone();
        Ok(is_new.then(|| Box::new(Held { machine, key }) as Box<dyn Lock>))
    }
}

struct Held {
    machine: Machine,
    key: (usize, String),
}

impl Lock for Held {}

impl Drop for Held {
    fn drop(&mut self) {
        self.machine.state().locks.remove(&self.key);
    }
}

struct File {
    machine: Machine,
    inode: usize,
}

impl DiskFile for File {
    fn length(&self) -> Result<u64> {
        let state = self.machine.state();
        Ok(state.inodes[self.inode].now.len() as u64)
    }

    fn read_at(&self, offset: u64, bytes: &mut [u8]) -> Result<()> {
        let mut state = self.machine.state();
        state.simple("read", false)?;
        let now = &state.inodes[self.inode].now;
        let found = now.get(offset as usize..offset as usize + bytes.len());
        bytes.copy_from_slice(found.ok_or(ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> Result<usize> {
        let mut state = self.machine.state();
        let at = offset as usize;
        let fault = state.operation("write")?;
        let length = state.inodes[self.inode].now.len();
        let is_full = state.is_full && at + bytes.len() > length;
        let done = match fault {
            None | Some(Fault::FullDisk) if !is_full => bytes.len(),
            None | Some(Fault::FullDisk) => length.saturating_sub(at).min(bytes.len()),
            Some(_) => state.random.below(bytes.len() + 1),
        };
        if done > 0 {
            let bytes = bytes[..done].to_vec();
            state.change(self.inode, Change { at, bytes });
        }
        match fault {
            Some(Fault::Kill | Fault::PowerCut | Fault::IoError) => {
                Err(Error::other("a planned fault"))
            }
            _ if is_full && done == 0 => Err(ErrorKind::StorageFull.into()),
            Some(Fault::ShortWrite) if done == 0 => Err(ErrorKind::Interrupted.into()),
            _ => Ok(done),
        }
    }

    fn sync_data(&self) -> Result<()> {
        let mut state = self.machine.state();
        let done = state.simple("sync", false);
        let has_failed = done.is_err() && !state.is_dead;
        let State { inodes, random, .. } = &mut *state;
        let inode = &mut inodes[self.inode];
        if has_failed {
            for change in std::mem::take(&mut inode.pending) {
                for part in change.kept(random) {
                    part.apply(&mut inode.durable);
                }
            }
        }
        done?;
        for change in std::mem::take(&mut inode.pending) {
            change.apply(&mut inode.durable);
        }
        Ok(())
    }
}
