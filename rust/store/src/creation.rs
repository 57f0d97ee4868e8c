//! Making a new store. It exists from the moment at which a key file has its name.

use crate::anchor::{Anchor, AnchorFile};
use crate::disk::Folder;
use crate::error::{Error, Result};
use crate::files::{Files, OpenStore};
use crate::key_ring::{KeyFiles, KeyRing, Secrets, Segment};
use crate::recovered::{Recovered, RecoveredRecords};
use crate::sealing::{SealingKey, StoreKey};
use crate::segment::{self, HEADER_BYTES, LogFile, Tail};
use crate::slot;
use crate::waiting::Waiting;
use lazysketch_core::key::MasterKey;

/// Makes a store in a directory that has none. What a crash during an earlier attempt left there
/// is replaced; files that hold more than that are refused.
pub(crate) fn create(
    folder: Folder,
    names: &[String],
    key: &StoreKey,
    anchor: &Anchor,
) -> Result<OpenStore> {
    refuse_remains(&folder, names)?;
    let anchor = open_anchor(anchor)?;
    let secrets = Secrets::fresh()?;
    let segment = Segment {
        number: 1,
        after: secrets.start(),
        synced: 0,
        key: SealingKey::fresh()?,
    };
    let log = LogFile::create(&folder, &secrets.store_id, &segment)?;
    log.sync()?;
    let tail = Tail::new(&secrets.store_id, &secrets.chain, &segment);
    let ring = KeyRing {
        generation: 1,
        secrets,
        checkpoints: Vec::new(),
        segments: vec![segment],
    };
    let key_files = KeyFiles::replace(&folder, &ring, key)?;
    let recovered = Recovered {
        store_id: ring.secrets.store_id,
        noise_key: MasterKey::from_bytes(ring.secrets.noise),
        checkpoint: None,
        records: RecoveredRecords::default(),
        last: 0,
        anchored: anchor.is_some(),
        is_new: true,
        dropped_bytes: 0,
    };
    let mut files = Files {
        key_files,
        folder,
        key: key.clone(),
        ring,
        log,
        anchor,
        committed: tail.end,
        tail,
        spare: Waiting::default(),
    };
    files.state_in_new_anchor()?;
    Ok(OpenStore { files, recovered })
}

/// Locks the anchor; one that is there belongs to another store, or to this one after its files
/// were lost.
fn open_anchor(anchor: &Anchor) -> Result<Option<AnchorFile>> {
    let (place, may_exist) = match anchor {
        Anchor::None => return Ok(None),
        Anchor::At(place) => (place, false),
        Anchor::Renew(place) => (place, true),
    };
    let file = AnchorFile::lock(place)?;
    if !may_exist && file.exists()? {
        return Err(Error::ForeignAnchor);
    }
    Ok(Some(file))
}

/// An error if files hold more than a creation that was cut short leaves.
fn refuse_remains(folder: &Folder, names: &[String]) -> Result<()> {
    for name in names {
        let left_at_most = if segment::is_name(name) {
            HEADER_BYTES
        } else if slot::is_name(name) {
            0
        } else {
            continue;
        };
        if folder.open(name)?.length()? > left_at_most as u64 {
            return Err(Error::damaged("records without the key files"));
        }
    }
    Ok(())
}
