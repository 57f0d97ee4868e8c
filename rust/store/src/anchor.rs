//! The anchor: how far the store has come, written outside of its directory.
//!
//! Who puts back an older copy of the directory does not put back the anchor, and is noticed. The
//! file has two places of one page, written in turn, so that one is whole at any moment. An anchor
//! is authenticated under a key of the store's: it can be copied and not made.

use crate::disk::{Disk, Folder, Handle, Lock};
use crate::error::{Error, Result};
use crate::fields::{Fields, START_BYTES, check_version, start};
use crate::file_system::Directory;
use crate::key_ring::{Place, Secrets};
use crate::sealing::keyed;
use std::io;
use std::path::Path;
use std::sync::Arc;

const MAGIC: &[u8; 8] = b"LZSKANCH";
const MAC_AT: usize = START_BYTES + 8 + 8 + 32;
pub(crate) const ENTRY_BYTES: usize = MAC_AT + 32;
const ENTRY_STRIDE: u64 = 4096;

/// Where an anchor is, or shall be.
#[derive(Clone)]
pub struct AnchorPlace {
    /// A directory that is not copied together with the store's.
    pub disk: Arc<dyn Disk>,
    /// The name of the file in it.
    pub name: String,
}

impl AnchorPlace {
    /// A file of the file system; its directory is made if it is missing.
    pub fn of_path(path: &Path) -> io::Result<Self> {
        let name = path.file_name().and_then(|name| name.to_str());
        let name = name.ok_or(io::ErrorKind::InvalidInput)?.to_owned();
        let parent = path.parent().filter(|it| !it.as_os_str().is_empty());
        let disk = Arc::new(Directory::open(parent.unwrap_or(Path::new(".")))?);
        Ok(Self { disk, name })
    }
}

/// What `Store::open` does about the anchor.
#[derive(Clone)]
pub enum Anchor {
    /// No anchor: an older copy of the store cannot be told from the newest.
    None,
    /// Compares the store with it, and refuses an older state. One that is missing is made.
    At(AnchorPlace),
    /// Replaces it, whatever it says: the caller goes on in doubt, as a new epoch.
    Renew(AnchorPlace),
}

/// What an anchor states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Position {
    pub(crate) generation: u64,
    pub(crate) place: Place,
}

/// The bytes of a position.
pub(crate) fn entry(secrets: &Secrets, position: &Position) -> [u8; ENTRY_BYTES] {
    let mut bytes = [0; ENTRY_BYTES];
    bytes[..START_BYTES].copy_from_slice(&start(MAGIC, &secrets.store_id));
    bytes[START_BYTES..][..8].copy_from_slice(&position.generation.to_le_bytes());
    bytes[START_BYTES + 8..][..8].copy_from_slice(&position.place.sequence.to_le_bytes());
    bytes[START_BYTES + 16..][..32].copy_from_slice(&position.place.digest);
    let mac = keyed(&secrets.anchor, &[b"lazysketch anchor", &bytes[..MAC_AT]]);
    bytes[MAC_AT..].copy_from_slice(&mac);
    bytes
}

/// The position in an entry, if it is authentic.
pub(crate) fn position_of(secrets: &Secrets, bytes: &[u8; ENTRY_BYTES]) -> Option<Position> {
    let mut fields = Fields(&bytes[START_BYTES..]);
    let position = Position {
        generation: fields.u64()?,
        place: Place {
            sequence: fields.u64()?,
            digest: fields.take()?,
        },
    };
    // Both sides are computed here and on a local disk: no one measures the comparison.
    (entry(secrets, &position) == *bytes).then_some(position)
}

/// An anchor that is locked, and open once this process has made it.
pub(crate) struct AnchorFile {
    folder: Folder,
    name: String,
    file: Option<Handle>,
    next: u64,
    _lock: Box<dyn Lock>,
}

impl AnchorFile {
    /// Locks the anchor, so that two copies of a store cannot share it at one time.
    pub(crate) fn lock(place: &AnchorPlace) -> Result<Self> {
        let folder = Folder(Arc::clone(&place.disk));
        let lock = folder.lock(&format!("{}.lock", place.name))?;
        Ok(Self {
            folder,
            name: place.name.clone(),
            file: None,
            next: 0,
            _lock: lock,
        })
    }

    /// True if there is a file.
    pub(crate) fn exists(&self) -> Result<bool> {
        Ok(self.folder.list()?.contains(&self.name))
    }

    /// What the anchor states; `None` if the file is missing.
    pub(crate) fn read(&self, secrets: &Secrets) -> Result<Option<Position>> {
        if !self.exists()? {
            return Ok(None);
        }
        let file = self.folder.open(&self.name)?;
        let (length, mut newest, mut is_foreign) = (file.length()?, None::<Position>, false);
        for at in [0, ENTRY_STRIDE] {
            if length < at + ENTRY_BYTES as u64 {
                continue;
            }
            let mut bytes = [0; ENTRY_BYTES];
            file.read_exact(at, &mut bytes)?;
            check_version(&bytes, MAGIC, &self.name)?;
            is_foreign |= bytes.starts_with(MAGIC) && bytes[16..START_BYTES] != secrets.store_id;
            let Some(position) = position_of(secrets, &bytes) else {
                continue;
            };
            let rank = |it: &Position| (it.generation, it.place.sequence);
            if newest.is_none_or(|it| rank(&it) < rank(&position)) {
                newest = Some(position);
            }
        }
        match newest {
            Some(position) => Ok(Some(position)),
            None if is_foreign => Err(Error::ForeignAnchor),
            None => Err(Error::damaged("an anchor of which no part is whole")),
        }
    }

    /// A new file that states the position, in place of what is there.
    pub(crate) fn create(&mut self, secrets: &Secrets, position: &Position) -> Result<()> {
        let new = format!("{}.new", self.name);
        let file = self.folder.create(&new)?;
        let mut bytes = vec![0; 2 * ENTRY_STRIDE as usize];
        for at in [0, ENTRY_STRIDE as usize] {
            bytes[at..][..ENTRY_BYTES].copy_from_slice(&entry(secrets, position));
        }
        file.write_all(0, &bytes)?;
        file.sync()?;
        self.folder.rename(&new, &self.name)?;
        self.folder.sync()?;
        self.file = Some(file);
        self.next = 0;
        Ok(())
    }

    /// States a new position durably, in the file that this process made.
    pub(crate) fn advance(&mut self, secrets: &Secrets, position: &Position) -> Result<()> {
        let Some(file) = &self.file else {
            return self.create(secrets, position);
        };
        file.write_all(self.next * ENTRY_STRIDE, &entry(secrets, position))?;
        file.sync()?;
        self.next = 1 - self.next;
        Ok(())
    }
}
