//! Opening a store that exists, after a clean end or a crash.
//!
//! Nothing is changed before everything was checked. Then the last segment is written anew, under
//! a new key, and synced; the key ring lists the copy in place of the old one; the anchor states
//! it. What a killed process wrote and did not sync is in the cache of the operating system: it is
//! read as if it were durable, and an fsync by another process does not always make it so. Only
//! the copy is known to be on the disk.

use crate::anchor::{Anchor, AnchorFile, Position};
use crate::disk::Folder;
use crate::error::{Error, Result};
use crate::files::{Files, OpenStore};
use crate::key_ring::{self, KeyFiles, KeyRing, Place, Segment};
use crate::log::{self, Log};
use crate::recovered::{Opened, Recovered, RecoveredCheckpoint, RecoveredRecords};
use crate::sealing::{SealingKey, StoreKey};
use crate::segment::{LogFile, Tail};
use crate::slot;
use crate::waiting::Waiting;
use lazysketch_core::key::MasterKey;
use lazysketch_core::planted;

/// Sealed bytes that recovery writes at a time.
const CHUNK: usize = 1 << 20;

/// Opens the store that these files are.
pub(crate) fn recover(
    folder: Folder,
    names: &[String],
    key: &StoreKey,
    anchor: &Anchor,
) -> Result<OpenStore> {
    let mut ring = key_ring::read(&folder, names, key)?;
    let (anchor, stated) = open_anchor(anchor, &ring)?;
    let checkpoint = newest_checkpoint(&folder, &mut ring)?;
    let base = checkpoint.as_ref().map_or(0, |it| it.through);
    let asked = stated.map(|stated| stated.place.sequence);
    let mut log = log::read(&folder, &ring, base, asked)?;
    match &stated {
        Some(stated) if !planted!("anchor-ignored") => check(&ring, &log, stated)?,
        None if !planted!("unproven-records-without-an-anchor") => log.keep_proven(),
        _ => {}
    }
    let recovered = Recovered {
        store_id: ring.secrets.store_id,
        noise_key: MasterKey::from_bytes(ring.secrets.noise),
        checkpoint,
        records: RecoveredRecords {
            segments: log.segments,
        },
        last: log.end.sequence,
        anchored: stated.is_some(),
        is_new: false,
        dropped_bytes: log.dropped_bytes,
    };
    let last = recovered.records.segments.last();
    let files = begin_life(folder, ring, key, anchor, last, log.end)?;
    Ok(OpenStore { files, recovered })
}

/// Locks and reads the anchor.
fn open_anchor(anchor: &Anchor, ring: &KeyRing) -> Result<(Option<AnchorFile>, Option<Position>)> {
    match anchor {
        Anchor::None => Ok((None, None)),
        Anchor::Renew(place) => Ok((Some(AnchorFile::lock(place)?), None)),
        Anchor::At(place) => {
            let file = AnchorFile::lock(place)?;
            let stated = file.read(&ring.secrets)?;
            Ok((Some(file), stated))
        }
    }
}

/// The newest checkpoint whose slot is whole and can be read; the ring forgets the others. The log
/// begins where the older one ends, so nothing is lost with the newest.
fn newest_checkpoint(folder: &Folder, ring: &mut KeyRing) -> Result<Option<RecoveredCheckpoint>> {
    let mut unreadable = Ok(());
    while let Some(newest) = ring.checkpoints.first() {
        match slot::read(folder, newest, &ring.secrets.store_id) {
            Ok(Some(body)) => {
                let through = newest.through.sequence;
                return Ok(Some(RecoveredCheckpoint { through, body }));
            }
            Ok(None) => {}
            Err(error) => unreadable = Err(error),
        }
        ring.checkpoints.remove(0);
    }
    unreadable.map(|()| None)
}

/// Compares the store with what its anchor states.
fn check(ring: &KeyRing, log: &Log, stated: &Position) -> Result<()> {
    if ring.generation < stated.generation || log.end.sequence < stated.place.sequence {
        return Err(Error::RolledBack(
            "one that is older than its anchor (an old copy was put back, or the log was cut)",
        ));
    }
    match log.asked {
        Some(place) if place == stated.place => Ok(()),
        Some(_) => Err(Error::RolledBack("another history than its anchor states")),
        None => Err(Error::RolledBack(
            "an anchor that is too old to be compared with it (an old anchor was put back)",
        )),
    }
}

/// Copies the last segment into a new one, lists it, and states it in the anchor.
fn begin_life(
    folder: Folder,
    mut ring: KeyRing,
    key: &StoreKey,
    anchor: Option<AnchorFile>,
    last: Option<&Opened>,
    end: Place,
) -> Result<Files> {
    let replaced = ring.segments.pop();
    let after = replaced.map_or(end, |replaced| replaced.after);
    let segment = Segment {
        number: ring.generation + 1,
        after,
        synced: end.sequence,
        key: SealingKey::fresh()?,
    };
    let mut tail = Tail::new(&ring.secrets.store_id, &ring.secrets.chain, &segment);
    let mut log = LogFile::create(&folder, &ring.secrets.store_id, &segment)?;
    ring.segments.push(segment);
    ring.generation += 1;
    if planted!("key-dropped-before-its-records-are-copied") {
        KeyFiles::replace(&folder, &ring, key)?;
    }
    copy_records(last, &mut tail, &mut log)?;
    if tail.end != end {
        return Err(Error::damaged("a copy of the log that differs from it"));
    }
    if !planted!("recovered-tail-used-without-fsync") {
        log.sync()?;
    }
    let mut files = Files {
        key_files: KeyFiles::replace(&folder, &ring, key)?,
        folder,
        key: key.clone(),
        ring,
        log,
        tail,
        anchor,
        committed: end,
        spare: Waiting::default(),
    };
    files.state_in_new_anchor()?;
    files.remove_unlisted()?;
    Ok(files)
}

/// Seals the records of a segment into another one; each is a group of its own, for all are
/// durable before the copy counts.
fn copy_records(last: Option<&Opened>, tail: &mut Tail, log: &mut LogFile) -> Result<()> {
    let mut waiting = Waiting::after(tail.end.sequence);
    for record in last.into_iter().flat_map(Opened::iter) {
        waiting.append_copy(record)?;
        if waiting.size() >= CHUNK {
            write_each(&mut waiting, tail, log)?;
        }
    }
    write_each(&mut waiting, tail, log)
}

fn write_each(waiting: &mut Waiting, tail: &mut Tail, log: &mut LogFile) -> Result<()> {
    tail.seal_each(waiting);
    log.write(waiting.sealed())
}
