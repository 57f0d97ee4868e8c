//! The files of checkpoints: `slot-0` and `slot-1`, written in turn, each time whole.
//!
//! A slot is not made smaller or renamed: after the first two checkpoints its blocks exist, and a
//! write costs no metadata. The key ring says which slots hold checkpoints of this store; a header
//! that disagrees with it, or a body that is not authentic, is not a checkpoint.

use crate::disk::Folder;
use crate::error::{Error, Result};
use crate::fields::{START_BYTES, start};
use crate::key_ring::Checkpoint;
use crate::sealing::TAG_BYTES;
use std::io::ErrorKind;
use zeroize::Zeroizing;

const MAGIC: &[u8; 8] = b"LZSKSLOT";
const TAG_AT: usize = START_BYTES + 8 + 8 + 8;
const HEADER_BYTES: usize = TAG_AT + TAG_BYTES;
/// The body begins at a page of its own.
const BODY_AT: u64 = 4096;
/// The limit of the cipher is 2^36.
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

fn associated(checkpoint: &Checkpoint, store_id: &[u8; 16], length: u64) -> [u8; TAG_AT] {
    let mut bytes = [0; TAG_AT];
    bytes[..START_BYTES].copy_from_slice(&start(MAGIC, store_id));
    let fields = [checkpoint.number, checkpoint.through.sequence, length];
    for (to, field) in bytes[START_BYTES..].chunks_exact_mut(8).zip(fields) {
        to.copy_from_slice(&field.to_le_bytes());
    }
    bytes
}

/// Encrypts the body in place, and returns the header.
pub(crate) fn seal(
    checkpoint: &Checkpoint,
    store_id: &[u8; 16],
    body: &mut [u8],
) -> [u8; HEADER_BYTES] {
    let associated = associated(checkpoint, store_id, body.len() as u64);
    let tag = checkpoint.key.sealer().seal(0, &associated, body);
    let mut header = [0; HEADER_BYTES];
    header[..TAG_AT].copy_from_slice(&associated);
    header[TAG_AT..].copy_from_slice(&tag);
    header
}

/// Writes a checkpoint to its slot and makes it durable; it counts once the key ring lists it.
pub(crate) fn write(
    folder: &Folder,
    checkpoint: &Checkpoint,
    store_id: &[u8; 16],
    mut body: Vec<u8>,
) -> Result<()> {
    let header = seal(checkpoint, store_id, &mut body);
    let file = folder.open_or_create(&name(checkpoint.slot))?;
    file.write_all(0, &header)?;
    file.write_all(BODY_AT, &body)?;
    if planted!("checkpoint-listed-before-it-is-durable") {
        return Ok(());
    }
    file.sync()
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
    let length = file.length()?;
    if length < HEADER_BYTES as u64 {
        return Ok(None);
    }
    let mut header = [0; HEADER_BYTES];
    file.read_exact(0, &mut header)?;
    let mut body_length = [0; 8];
    body_length.copy_from_slice(&header[TAG_AT - 8..TAG_AT]);
    let body_length = u64::from_le_bytes(body_length);
    let associated = associated(checkpoint, store_id, body_length);
    let fits = body_length <= LARGEST && body_length <= length.saturating_sub(BODY_AT);
    if !fits || header[..TAG_AT] != associated {
        return Ok(None);
    }
    let mut body = file.read(BODY_AT, body_length)?;
    let mut tag = [0; TAG_BYTES];
    tag.copy_from_slice(&header[TAG_AT..]);
    let is_authentic = (checkpoint.key.sealer()).open(0, &associated, &mut body, &tag);
    Ok(is_authentic.then_some(body))
}
