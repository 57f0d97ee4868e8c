//! The key files: what a store consists of, and the keys of all its parts.
//!
//! `keys-0` and `keys-1` hold the same key ring, each wrapped under the caller's key. A ring lists
//! the live segments of the log and the checkpoints with their keys: a file that it does not list
//! is not a part of the store. Writing a ring is what makes a change of the store take effect. A
//! ring is written to the first file, synced, then to the second, so one of them is whole at any
//! moment; and a key that was taken off the ring is on neither when the write returns. An opening
//! writes new files: only the process that synced a file knows that it is whole on the disk.

use crate::disk::{Folder, Handle};
use crate::error::{Error, Result};
use crate::fields::{Fields, START_BYTES, check_version, start};
use crate::sealing::{ChainKey, Digest, SealingKey, StoreKey, TAG_BYTES, hex};
use lazysketch_core::key::entropy;
use lazysketch_core::planted;
use zeroize::{ZeroizeOnDrop, Zeroizing};

pub(crate) const NAMES: [&str; 2] = ["keys-0", "keys-1"];
pub(crate) const FILE_BYTES: usize = 4096;
const MAGIC: &[u8; 8] = b"LZSKKEYS";
const SALT_AT: usize = START_BYTES + 16 + 8;
const TAG_AT: usize = SALT_AT + 32;
const SEALED_AT: usize = TAG_AT + TAG_BYTES;
const SEGMENTS_AT_MOST: usize = 32;

/// What a store is and never changes.
#[derive(Clone, PartialEq, Eq, ZeroizeOnDrop)]
pub(crate) struct Secrets {
    #[zeroize(skip)]
    pub(crate) store_id: [u8; 16],
    pub(crate) noise: [u8; 32],
    pub(crate) chain: ChainKey,
    pub(crate) anchor: [u8; 32],
}

impl Secrets {
    /// Random secrets of a new store.
    pub(crate) fn fresh() -> Result<Self> {
        Ok(Self {
            store_id: entropy()?,
            noise: entropy()?,
            chain: ChainKey(entropy()?),
            anchor: entropy()?,
        })
    }

    /// The place before the first record.
    pub(crate) fn start(&self) -> Place {
        let digest = self.chain.start(&self.store_id);
        Place {
            sequence: 0,
            digest,
        }
    }
}

/// A place in the sequence of records: the last one before it, and the digest up to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) sequence: u64,
    pub(crate) digest: Digest,
}

/// One file of the log; it begins after `after`, and was synced through `synced` when it was listed.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Segment {
    pub(crate) number: u64,
    pub(crate) after: Place,
    pub(crate) synced: u64,
    pub(crate) key: SealingKey,
}

/// One checkpoint: it covers all records through `through`.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Checkpoint {
    pub(crate) number: u64,
    pub(crate) slot: u8,
    pub(crate) through: Place,
    pub(crate) key: SealingKey,
}

/// The contents of the key files.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct KeyRing {
    /// Grows with every write.
    pub(crate) generation: u64,
    pub(crate) secrets: Secrets,
    /// At most two, the newest first.
    pub(crate) checkpoints: Vec<Checkpoint>,
    /// In order; records are appended to the last.
    pub(crate) segments: Vec<Segment>,
}

impl KeyRing {
    /// The slot that the next checkpoint is written to: not that of the newest.
    pub(crate) fn free_slot(&self) -> u8 {
        let newest = self.checkpoints.first();
        let free = newest.map_or(0, |newest| 1 - newest.slot);
        planted!("one-checkpoint-slot", 0, free)
    }

    /// The ring after a checkpoint: the two newest checkpoints, and the log from the older one on.
    pub(crate) fn with_checkpoint(&self, checkpoint: Checkpoint, segment: Segment) -> Self {
        let mut next = self.clone();
        next.checkpoints.insert(0, checkpoint);
        next.checkpoints.truncate(2);
        next.segments.push(segment);
        let kept_from = next.checkpoints.get(1).map_or(0, |it| it.through.sequence);
        let kept_from = planted!(
            "log-dropped-before-the-newest-checkpoint",
            next.checkpoints[0].through.sequence,
            kept_from
        );
        next.segments
            .retain(|segment| segment.after.sequence >= kept_from);
        next
    }

    /// The bytes of a key file, with fresh salt.
    pub(crate) fn wrap(&self, key: &StoreKey) -> Result<Vec<u8>> {
        self.wrap_with(key, &entropy()?)
    }

    pub(crate) fn wrap_with(&self, key: &StoreKey, salt: &[u8; 32]) -> Result<Vec<u8>> {
        if self.segments.len() > SEGMENTS_AT_MOST {
            return Err(Error::damaged("too many segments of the log"));
        }
        let mut bytes = Vec::with_capacity(FILE_BYTES);
        bytes.extend(start(MAGIC, &self.secrets.store_id));
        bytes.extend(key.id());
        bytes.extend(self.generation.to_le_bytes());
        bytes.extend(salt);
        bytes.extend([0; TAG_BYTES]);
        self.write_content(&mut bytes);
        bytes.resize(FILE_BYTES, 0);
        let (header, sealed) = bytes.split_at_mut(SEALED_AT);
        let tag = key
            .wrapping(salt)
            .sealer()
            .seal(0, &header[..TAG_AT], sealed);
        header[TAG_AT..].copy_from_slice(&tag);
        Ok(bytes)
    }

    fn write_content(&self, bytes: &mut Vec<u8>) {
        bytes.extend(self.secrets.noise);
        bytes.extend(self.secrets.chain.0);
        bytes.extend(self.secrets.anchor);
        bytes.extend([self.checkpoints.len() as u8, self.segments.len() as u8]);
        for checkpoint in &self.checkpoints {
            bytes.extend(checkpoint.number.to_le_bytes());
            bytes.push(checkpoint.slot);
            write_place(bytes, &checkpoint.through);
            bytes.extend(checkpoint.key.0);
        }
        for segment in &self.segments {
            bytes.extend(segment.number.to_le_bytes());
            write_place(bytes, &segment.after);
            bytes.extend(segment.synced.to_le_bytes());
            bytes.extend(segment.key.0);
        }
    }

    fn read_content(store_id: [u8; 16], generation: u64, bytes: &[u8]) -> Option<Self> {
        let mut fields = Fields(bytes);
        let secrets = Secrets {
            store_id,
            noise: fields.take()?,
            chain: ChainKey(fields.take()?),
            anchor: fields.take()?,
        };
        let [checkpoints, segments] = fields.take()?;
        let mut ring = Self {
            generation,
            secrets,
            checkpoints: Vec::new(),
            segments: Vec::new(),
        };
        for _ in 0..checkpoints {
            ring.checkpoints.push(Checkpoint {
                number: fields.u64()?,
                slot: fields.byte()?,
                through: read_place(&mut fields)?,
                key: SealingKey(fields.take()?),
            });
        }
        for _ in 0..segments {
            ring.segments.push(Segment {
                number: fields.u64()?,
                after: read_place(&mut fields)?,
                synced: fields.u64()?,
                key: SealingKey(fields.take()?),
            });
        }
        ring.is_sound().then_some(ring)
    }

    fn is_sound(&self) -> bool {
        let in_order = self.segments.is_sorted_by(|one, next| {
            one.number < next.number && one.after.sequence <= next.after.sequence
        });
        let slots = self.checkpoints.iter().all(|it| it.slot < 2);
        in_order && slots && self.checkpoints.len() <= 2 && !self.segments.is_empty()
    }
}

fn write_place(bytes: &mut Vec<u8>, place: &Place) {
    bytes.extend(place.sequence.to_le_bytes());
    bytes.extend(place.digest);
}

fn read_place(fields: &mut Fields<'_>) -> Option<Place> {
    Some(Place {
        sequence: fields.u64()?,
        digest: fields.take()?,
    })
}

/// One key file as it was found.
enum Found {
    Ring(Box<KeyRing>),
    /// Whole, as far as one can see, and wrapped under the key of this id.
    OtherKey([u8; 16]),
    Damaged,
}

fn unwrap(mut bytes: Zeroizing<Vec<u8>>, key: &StoreKey, file: &str) -> Result<Found> {
    check_version(&bytes, MAGIC, file)?;
    let mut fields = Fields(&bytes);
    let (Some(begin), Some(key_id), Some(generation), Some(salt), Some(tag)) = (
        fields.take::<START_BYTES>(),
        fields.take::<16>(),
        fields.u64(),
        fields.take::<32>(),
        fields.take::<TAG_BYTES>(),
    ) else {
        return Ok(Found::Damaged);
    };
    let mut store_id = [0; 16];
    store_id.copy_from_slice(&begin[16..]);
    if bytes.len() != FILE_BYTES || begin != start(MAGIC, &store_id) {
        return Ok(Found::Damaged);
    }
    if key_id != key.id() {
        return Ok(Found::OtherKey(key_id));
    }
    let (header, sealed) = bytes.split_at_mut(SEALED_AT);
    let is_authentic = (key.wrapping(&salt).sealer()).open(0, &header[..TAG_AT], sealed, &tag);
    let ring = is_authentic
        .then(|| KeyRing::read_content(store_id, generation, sealed))
        .flatten();
    Ok(ring.map_or(Found::Damaged, |ring| Found::Ring(Box::new(ring))))
}

/// The newest ring. One key file is enough: the other may be damaged or unreadable.
///
/// A file that another key wraps was written by a rotation that a crash cut short, before the
/// caller was told that it was done: the ring of the other file is the same.
pub(crate) fn read(folder: &Folder, names: &[String], key: &StoreKey) -> Result<KeyRing> {
    let (mut newest, mut other, mut unreadable) = (None::<Box<KeyRing>>, None, None);
    for name in NAMES.iter().filter(|name| names.iter().any(|n| n == *name)) {
        let found = read_file(folder, name, key);
        match found {
            Ok(Found::Ring(ring)) => {
                if newest
                    .as_ref()
                    .is_none_or(|it| it.generation < ring.generation)
                {
                    newest = Some(ring);
                }
            }
            Ok(Found::OtherKey(id)) => other = Some(id),
            Ok(Found::Damaged) => {}
            Err(error @ Error::Io { .. }) => unreadable = Some(error),
            Err(error) => return Err(error),
        }
    }
    match (newest, unreadable, other) {
        (Some(ring), _, _) => Ok(*ring),
        (None, Some(error), _) => Err(error),
        (None, None, Some(id)) => Err(Error::WrongKey {
            expected: hex(&id),
            got: hex(&key.id()),
        }),
        (None, None, None) => Err(Error::damaged("no key file that is whole")),
    }
}

fn read_file(folder: &Folder, name: &str, key: &StoreKey) -> Result<Found> {
    let file = folder.open(name)?;
    let length = file.length()?.min(FILE_BYTES as u64 + 1);
    unwrap(file.read(0, length)?, key, name)
}

/// The open key files of a store; the process that holds them has synced both.
pub(crate) struct KeyFiles([Handle; 2]);

impl KeyFiles {
    /// Makes a ring durable in files that take the place of those that are there.
    ///
    /// Those may be in the cache only, whole or in part, after a process that was killed or whose
    /// sync failed. So no byte of them is overwritten before the new files have their names; then
    /// all are, because they hold keys.
    pub(crate) fn replace(folder: &Folder, ring: &KeyRing, key: &StoreKey) -> Result<Self> {
        let names = folder.list()?;
        let old = NAMES.iter().filter(|name| names.iter().any(|n| n == *name));
        let old: Vec<Handle> = old.map(|name| folder.open(name)).collect::<Result<_>>()?;
        let create = |name| {
            let file = folder.create(&format!("{name}.new"))?;
            file.write_all(0, &ring.wrap(key)?)?;
            file.sync()?;
            Ok::<_, Error>(file)
        };
        let files = [create(NAMES[0])?, create(NAMES[1])?];
        // The names of all other files are durable before a key file has its own.
        folder.sync()?;
        for name in NAMES {
            folder.rename(&format!("{name}.new"), name)?;
        }
        folder.sync()?;
        for file in old {
            file.write_all(0, &[0; FILE_BYTES])?;
            file.sync()?;
        }
        Ok(Self(files))
    }

    /// Makes a ring durable: the change that it describes has happened when this returns.
    pub(crate) fn write(&self, ring: &KeyRing, key: &StoreKey) -> Result<()> {
        for file in &self.0 {
            file.write_all(0, &ring.wrap(key)?)?;
            file.sync()?;
        }
        Ok(())
    }
}
