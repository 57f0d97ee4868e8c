//! A directory of the operating system's file system.

use crate::disk::{Disk, DiskFile, Lock};
use lazysketch_core::planted;
use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::process;

/// A directory for a store or its anchor. Files that it makes can be read by their owner only.
///
/// Use a local file system: a lock of a network file system may not exclude another machine, and
/// its fsync may not mean what it says.
#[derive(Debug, Clone)]
pub struct Directory {
    path: PathBuf,
}

impl Directory {
    /// The directory of this path, which is made if it is missing (its parent must exist).
    pub fn open(path: impl Into<PathBuf>) -> io::Result<Self> {
        let path = path.into();
        match private_directory().create(&path) {
            Ok(()) => sync_directory(parent_of(&path))?,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => {}
            Err(error) => return Err(error),
        }
        Ok(Self { path })
    }

    fn at(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }
}

impl Disk for Directory {
    fn list(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.path)? {
            let name = entry?.file_name();
            names.extend(name.to_str().map(str::to_owned));
        }
        Ok(names)
    }

    fn create(&self, name: &str) -> io::Result<Box<dyn DiskFile>> {
        let file = for_owner_only().truncate(true).open(self.at(name))?;
        Ok(Box::new(OpenFile(file)))
    }

    fn open(&self, name: &str) -> io::Result<Box<dyn DiskFile>> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .open(self.at(name))?;
        Ok(Box::new(OpenFile(file)))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        fs::rename(self.at(from), self.at(to))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        fs::remove_file(self.at(name))
    }

    fn sync_directory(&self) -> io::Result<()> {
        sync_directory(&self.path)
    }

    fn lock(&self, name: &str) -> io::Result<Option<Box<dyn Lock>>> {
        let file = for_owner_only().truncate(false).open(self.at(name))?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Box::new(FileLock {
                file,
                process: process::id(),
            }))),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }
}

struct FileLock {
    file: File,
    /// A forked child has the file, too; the lock is not its own.
    process: u32,
}

impl Lock for FileLock {}

impl Drop for FileLock {
    /// Ends the lock at once. A child that another thread forks to start a command has the file open,
    /// too, until the command begins, and would keep it locked.
    fn drop(&mut self) {
        let is_own = process::id() == self.process;
        let ends = planted!("lock-ended-by-a-forked-child", true, is_own);
        if ends && !planted!("lock-ended-by-closing-alone") {
            // Closing the file ends the lock in any case.
            let _closed_instead = self.file.unlock();
        }
    }
}

struct OpenFile(File);

impl DiskFile for OpenFile {
    fn length(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len())
    }

    #[cfg(unix)]
    fn read_at(&self, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
        std::os::unix::fs::FileExt::read_exact_at(&self.0, bytes, offset)
    }

    #[cfg(windows)]
    fn read_at(&self, mut offset: u64, mut bytes: &mut [u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let read = std::os::windows::fs::FileExt::seek_read(&self.0, bytes, offset)?;
            if read == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            offset += read as u64;
            bytes = &mut bytes[read..];
        }
        Ok(())
    }

    #[cfg(unix)]
    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<usize> {
        std::os::unix::fs::FileExt::write_at(&self.0, bytes, offset)
    }

    #[cfg(windows)]
    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<usize> {
        std::os::windows::fs::FileExt::seek_write(&self.0, bytes, offset)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.0.sync_data()
    }
}

fn for_owner_only() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

fn private_directory() -> DirBuilder {
    #[allow(unused_mut)]
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder
}

fn parent_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// Names are durable without this on Windows, where a directory cannot be opened as a file.
fn sync_directory(path: &Path) -> io::Result<()> {
    if cfg!(unix) {
        File::open(path)?.sync_all()?;
    }
    Ok(())
}
