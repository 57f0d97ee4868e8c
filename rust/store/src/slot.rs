//! The files of checkpoints: `slot-0` and `slot-1`, written in turn, each time whole.
//!
//! A slot is not made smaller or renamed: after the first two checkpoints its blocks exist, and a
//! write costs no metadata. The key ring says which slots hold checkpoints of this store; a header
//! that disagrees with it, or a body that is not authentic, is not a checkpoint.

use crate::disk::{Folder, Handle};
use crate::error::{Error, Result};
use crate::fields::{Fields, START_BYTES, start};
use crate::key_ring::Checkpoint;
use crate::sealing::{Sealer, TAG_BYTES};
use lazysketch_core::planted;
use std::io::ErrorKind;
use std::sync::mpsc;
use zeroize::Zeroizing;

const MAGIC: &[u8; 8] = b"LZSKSLOT";
const HEADER_BYTES: usize = START_BYTES + 8 + 8 + 8;
/// The body begins at a page of its own; the tags of its parts follow it.
const BODY_AT: u64 = 4096;
/// A body is sealed in parts, so that one is written while the next is sealed.
const PART: usize = 1 << 20;
/// Bytes that are written between two syncs.
const SYNC_AFTER: usize = 16 << 20;
const LARGEST: u64 = 1 << 35;

pub(crate) fn name(slot: u8) -> String {
    format!("slot-{slot}")
}

/// True for the name of a slot, of any store.
pub(crate) fn is_name(file: &str) -> bool {
    (0..2).any(|slot| file == name(slot))
}

/// An error if a body is too large for a slot.
pub(crate) fn check_size(body: &[u8]) -> Result<()> {
    let got = body.len() as u64;
    if got > LARGEST {
        return Err(Error::TooLarge {
            what: "checkpoint",
            largest: LARGEST,
            got,
        });
    }
    Ok(())
}

/// The first bytes of a slot; every tag authenticates them.
pub(crate) fn header(
    checkpoint: &Checkpoint,
    store_id: &[u8; 16],
    length: u64,
) -> [u8; HEADER_BYTES] {
    let mut bytes = [0; HEADER_BYTES];
    bytes[..START_BYTES].copy_from_slice(&start(MAGIC, store_id));
    let fields = [checkpoint.number, checkpoint.through.sequence, length];
    for (to, field) in bytes[START_BYTES..].chunks_exact_mut(8).zip(fields) {
        to.copy_from_slice(&field.to_le_bytes());
    }
    bytes
}

/// The parts of a body that were sealed in place, in order; an empty body has one.
pub(crate) struct Sealing<'a> {
    sealer: Sealer,
    header: &'a [u8; HEADER_BYTES],
    tags: Vec<[u8; TAG_BYTES]>,
}

impl<'a> Sealing<'a> {
    pub(crate) fn new(checkpoint: &Checkpoint, header: &'a [u8; HEADER_BYTES]) -> Self {
        Self {
            sealer: checkpoint.key.sealer(),
            header,
            tags: Vec::new(),
        }
    }

    /// Seals the next part.
    pub(crate) fn seal(&mut self, part: &mut [u8]) {
        let number = self.tags.len() as u64;
        self.tags.push(self.sealer.seal(number, self.header, part));
    }

    pub(crate) fn tags(&self) -> Vec<u8> {
        self.tags.concat()
    }
}

fn parts_of(length: u64) -> u64 {
    length.div_ceil(PART as u64).max(1)
}

/// Writes a checkpoint to its slot and makes it durable; it counts once the key ring lists it.
pub(crate) fn write(
    folder: &Folder,
    checkpoint: &Checkpoint,
    store_id: &[u8; 16],
    mut body: Vec<u8>,
) -> Result<()> {
    let header = header(checkpoint, store_id, body.len() as u64);
    let mut sealing = Sealing::new(checkpoint, &header);
    let file = folder.open_or_create(&name(checkpoint.slot))?;
    file.write_all(0, &header)?;
    if body.len() <= PART {
        sealing.seal(&mut body);
        file.write_all(BODY_AT, &body)?;
    } else {
        write_parts(&file, &mut sealing, &mut body)?;
    }
    file.write_all(BODY_AT + body.len() as u64, &sealing.tags())?;
    if planted!("checkpoint-listed-before-it-is-durable") {
        return Ok(());
    }
    file.sync()
}

/// Seals in this thread and writes in another; syncs on the way keep the disk busy.
fn write_parts(file: &Handle, sealing: &mut Sealing<'_>, body: &mut [u8]) -> Result<()> {
    std::thread::scope(|scope| {
        let (sender, parts) = mpsc::channel::<(u64, &[u8])>();
        let writer = scope.spawn(move || {
            let mut not_synced = 0;
            for (at, part) in parts {
                file.write_all(at, part)?;
                not_synced += part.len();
                if not_synced >= SYNC_AFTER {
                    file.sync()?;
                    not_synced = 0;
                }
            }
            Ok(())
        });
        let mut at = BODY_AT;
        for part in body.chunks_mut(PART) {
            sealing.seal(part);
            let length = part.len() as u64;
            // The writer has gone if it failed; it says why below.
            if sender.send((at, part)).is_err() {
                break;
            }
            at += length;
        }
        drop(sender);
        writer.join().unwrap_or(Err(Error::Poisoned))
    })
}

/// The body of a checkpoint; `None` if the slot does not hold it.
pub(crate) fn read(
    folder: &Folder,
    checkpoint: &Checkpoint,
    store_id: &[u8; 16],
) -> Result<Option<Zeroizing<Vec<u8>>>> {
    let file = match folder.open(&name(checkpoint.slot)) {
        Err(Error::Io { source, .. }) if source.kind() == ErrorKind::NotFound => return Ok(None),
        opened => opened?,
    };
    let available = file.length()?;
    if available < HEADER_BYTES as u64 {
        return Ok(None);
    }
    let mut found = [0; HEADER_BYTES];
    file.read_exact(0, &mut found)?;
    let Some(length) = Fields(&found[HEADER_BYTES - 8..]).u64() else {
        return Ok(None);
    };
    let expected = header(checkpoint, store_id, length);
    let tags_length = parts_of(length.min(LARGEST)) * TAG_BYTES as u64;
    let fits = length <= LARGEST && BODY_AT + length + tags_length <= available;
    if !fits || found != expected {
        return Ok(None);
    }
    let mut body = file.read(BODY_AT, length)?;
    let tags = file.read(BODY_AT + length, tags_length)?;
    let is_authentic = open_parts(checkpoint, &expected, &mut body, &tags);
    Ok(is_authentic.then_some(body))
}

fn open_parts(
    checkpoint: &Checkpoint,
    header: &[u8; HEADER_BYTES],
    body: &mut [u8],
    tags: &[u8],
) -> bool {
    let sealer = checkpoint.key.sealer();
    let (tags, _) = tags.as_chunks::<TAG_BYTES>();
    if body.is_empty() {
        return sealer.open(0, header, body, &tags[0]);
    }
    let mut parts = body.chunks_mut(PART).zip(tags).zip(0..);
    parts.all(|((part, tag), number)| sealer.open(number, header, part, tag))
}
