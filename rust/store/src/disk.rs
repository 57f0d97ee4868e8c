//! The one door to files: everything that a store writes, syncs, renames or removes goes through
//! [`Disk`], so that tests can number each operation and let it fail.

use crate::error::{Error, Result};
use lazysketch_core::memory;
use std::io;
use std::sync::Arc;
use zeroize::Zeroizing;

/// A directory. What is written is durable after the file's [`DiskFile::sync_data`]; that a file
/// has its name, after [`Disk::sync_directory`].
pub trait Disk: Send + Sync {
    /// The names of all files.
    fn list(&self) -> io::Result<Vec<String>>;
    /// A new empty file; one of that name is replaced.
    fn create(&self, name: &str) -> io::Result<Box<dyn DiskFile>>;
    /// A file that exists, for reading and writing.
    fn open(&self, name: &str) -> io::Result<Box<dyn DiskFile>>;
    /// Gives a file another name; one of that name is replaced atomically.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;
    /// Removes a file.
    fn remove(&self, name: &str) -> io::Result<()>;
    /// Makes all names durable.
    fn sync_directory(&self) -> io::Result<()>;
    /// Locks a file of this name, which is made if it is missing, until the value is dropped or
    /// the process ends; `None` if it is locked already.
    fn lock(&self, name: &str) -> io::Result<Option<Box<dyn Lock>>>;
}

/// An open file of a [`Disk`].
pub trait DiskFile: Send + Sync {
    /// Its length in bytes.
    fn length(&self) -> io::Result<u64>;
    /// Fills `bytes` from `offset`; an error if the file ends before.
    fn read_at(&self, offset: u64, bytes: &mut [u8]) -> io::Result<()>;
    /// Writes some of the bytes at `offset`, at least one, and returns their number.
    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<usize>;
    /// Makes durable what was written, and the length.
    fn sync_data(&self) -> io::Result<()>;
}

/// A lock that ends when it is dropped.
pub trait Lock: Send + Sync {}

/// A disk whose errors name the operation and the file.
#[derive(Clone)]
pub(crate) struct Folder(pub(crate) Arc<dyn Disk>);

impl Folder {
    pub(crate) fn list(&self) -> Result<Vec<String>> {
        self.0.list().map_err(at("list", "the directory"))
    }

    pub(crate) fn create(&self, name: &str) -> Result<Handle> {
        let file = self.0.create(name).map_err(at("create", name))?;
        Ok(Handle::new(name, file))
    }

    pub(crate) fn open(&self, name: &str) -> Result<Handle> {
        let file = self.0.open(name).map_err(at("open", name))?;
        Ok(Handle::new(name, file))
    }

    /// The file, empty if there was none.
    pub(crate) fn open_or_create(&self, name: &str) -> Result<Handle> {
        match self.0.open(name) {
            Ok(file) => Ok(Handle::new(name, file)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => self.create(name),
            Err(error) => Err(at("open", name)(error)),
        }
    }

    pub(crate) fn rename(&self, from: &str, to: &str) -> Result<()> {
        self.0.rename(from, to).map_err(at("rename", from))
    }

    pub(crate) fn remove(&self, name: &str) -> Result<()> {
        self.0.remove(name).map_err(at("remove", name))
    }

    pub(crate) fn sync(&self) -> Result<()> {
        self.0.sync_directory().map_err(at("sync", "the directory"))
    }

    pub(crate) fn lock(&self, name: &str) -> Result<Box<dyn Lock>> {
        let lock = self.0.lock(name).map_err(at("lock", name))?;
        lock.ok_or_else(|| Error::Locked {
            file: name.to_owned(),
        })
    }
}

/// An open file whose errors name it.
pub(crate) struct Handle {
    pub(crate) name: String,
    file: Box<dyn DiskFile>,
}

impl Handle {
    fn new(name: &str, file: Box<dyn DiskFile>) -> Self {
        let name = name.to_owned();
        Self { name, file }
    }

    pub(crate) fn length(&self) -> Result<u64> {
        self.file.length().map_err(at("read", &self.name))
    }

    /// Writes all bytes, however many calls that takes.
    pub(crate) fn write_all(&self, mut offset: u64, mut bytes: &[u8]) -> Result<()> {
        while !bytes.is_empty() {
            match self.file.write_at(offset, bytes) {
                Ok(0) => return Err(at("write", &self.name)(io::ErrorKind::WriteZero.into())),
                Ok(written) => {
                    offset += written as u64;
                    bytes = &bytes[written..];
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(at("write", &self.name)(error)),
            }
        }
        Ok(())
    }

    pub(crate) fn read_exact(&self, offset: u64, bytes: &mut [u8]) -> Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        let read = self.file.read_at(offset, bytes);
        read.map_err(at("read", &self.name))
    }

    /// `length` bytes from `offset`, of which the caller knows that the file has them.
    pub(crate) fn read(&self, offset: u64, length: u64) -> Result<Zeroizing<Vec<u8>>> {
        let length = usize::try_from(length).map_err(|_| {
            let bytes = usize::MAX;
            lazysketch_core::Error::Memory { bytes }
        })?;
        let mut bytes = Zeroizing::new(memory::filled(0, length)?);
        self.read_exact(offset, &mut bytes)?;
        Ok(bytes)
    }

    pub(crate) fn sync(&self) -> Result<()> {
        self.file.sync_data().map_err(at("sync", &self.name))
    }
}

fn at(operation: &'static str, file: &str) -> impl FnOnce(io::Error) -> Error {
    let file = file.to_owned();
    move |source| Error::Io {
        operation,
        file,
        source,
    }
}
