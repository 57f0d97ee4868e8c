//! The open files of a store, and the orders in which they are written.
//!
//! Whatever fails here leaves files of which nothing is known: the caller drops them, and the store
//! takes nothing more.

use crate::anchor::{AnchorFile, Position};
use crate::disk::Folder;
use crate::error::Result;
use crate::key_ring::{Checkpoint, KeyFiles, KeyRing, Place, Segment};
use crate::recovered::Recovered;
use crate::sealing::{SealingKey, StoreKey};
use crate::segment::{self, LogFile, Tail};
use crate::slot;
use crate::waiting::Waiting;
use lazysketch_core::planted;

/// A store ready for use.
pub(crate) struct OpenStore {
    pub(crate) files: Files,
    pub(crate) recovered: Recovered,
}

/// Everything that one thread at a time writes to.
pub(crate) struct Files {
    pub(crate) folder: Folder,
    pub(crate) key: StoreKey,
    pub(crate) ring: KeyRing,
    pub(crate) key_files: KeyFiles,
    pub(crate) log: LogFile,
    pub(crate) tail: Tail,
    pub(crate) anchor: Option<AnchorFile>,
    /// The last record that is durable.
    pub(crate) committed: Place,
    /// No records, kept for their memory.
    pub(crate) spare: Waiting,
}

impl Files {
    /// Makes records durable, and then the anchor that states them.
    pub(crate) fn commit(&mut self, waiting: Waiting) -> Result<()> {
        let sealed = self.sealed(waiting);
        if planted!("anchor-before-the-log") {
            self.committed = self.tail.end;
            self.advance_anchor()?;
        }
        self.write_log(sealed)?;
        self.advance_anchor()
    }

    /// Seals records as one group.
    fn sealed(&mut self, mut waiting: Waiting) -> Waiting {
        self.tail.seal_group(&mut waiting);
        waiting
    }

    /// Makes sealed records durable.
    fn write_log(&mut self, mut sealed: Waiting) -> Result<()> {
        if sealed.size() > 0 {
            self.log.write(sealed.sealed())?;
            if !planted!("commit-without-fsync") {
                self.log.sync()?;
            }
        }
        self.committed = self.tail.end;
        self.spare = sealed;
        Ok(())
    }

    /// Makes the last records durable, writes a checkpoint of all, begins a segment after them,
    /// and drops what lies wholly before the older checkpoint.
    ///
    /// Both are durable before the key ring lists them; files are removed after it has left them.
    pub(crate) fn checkpoint(
        &mut self,
        waiting: Waiting,
        body: Vec<u8>,
        segment_key: SealingKey,
        key: SealingKey,
    ) -> Result<()> {
        let sealed = self.sealed(waiting);
        self.write_log(sealed)?;
        let next = Segment {
            number: self.ring.generation + 1,
            after: self.committed,
            synced: self.committed.sequence,
            key: segment_key,
        };
        let checkpoint = Checkpoint {
            number: next.number,
            slot: self.ring.free_slot(),
            through: next.after,
            key,
        };
        let store_id = self.ring.secrets.store_id;
        slot::write(&self.folder, &checkpoint, &store_id, body)?;
        self.log = LogFile::create(&self.folder, &store_id, &next)?;
        self.log.sync()?;
        self.tail = Tail::new(&store_id, &self.ring.secrets.chain, &next);
        if !planted!("new-segment-without-its-name") {
            self.folder.sync()?;
        }
        let ring = self.ring.with_checkpoint(checkpoint, next);
        self.write_ring(ring)?;
        self.advance_anchor()?;
        self.remove_unlisted()
    }

    /// Says in the key ring that all records are durable: without an anchor nothing else shows that
    /// the last ones are.
    pub(crate) fn prove(&mut self, waiting: Waiting) -> Result<()> {
        let sealed = self.sealed(waiting);
        self.write_log(sealed)?;
        let mut ring = self.ring.clone();
        if let Some(last) = ring.segments.last_mut()
            && last.synced < self.committed.sequence
        {
            last.synced = self.committed.sequence;
            self.write_ring(ring)?;
        }
        self.advance_anchor()
    }

    /// Wraps the key ring under another key.
    pub(crate) fn rotate(&mut self, key: &StoreKey) -> Result<()> {
        self.key = key.clone();
        let ring = self.ring.clone();
        self.write_ring(ring)?;
        self.advance_anchor()
    }

    /// Writes the ring as the next generation.
    pub(crate) fn write_ring(&mut self, mut ring: KeyRing) -> Result<()> {
        ring.generation = self.ring.generation + 1;
        self.key_files.write(&ring, &self.key)?;
        self.ring = ring;
        Ok(())
    }

    /// States the last durable record in the anchor, if there is one.
    pub(crate) fn advance_anchor(&mut self) -> Result<()> {
        let position = self.position();
        match &mut self.anchor {
            Some(anchor) => anchor.advance(&self.ring.secrets, &position),
            None => Ok(()),
        }
    }

    /// As [`Self::advance_anchor`], in a new file: what another process wrote may be in the cache
    /// only.
    pub(crate) fn state_in_new_anchor(&mut self) -> Result<()> {
        let position = self.position();
        match &mut self.anchor {
            Some(anchor) => anchor.create(&self.ring.secrets, &position),
            None => Ok(()),
        }
    }

    fn position(&self) -> Position {
        Position {
            generation: self.ring.generation,
            place: self.committed,
        }
    }

    /// Removes the segments that the key ring does not list. A file that stays is removed next
    /// time; its key is gone.
    pub(crate) fn remove_unlisted(&self) -> Result<()> {
        let listed: Vec<String> = (self.ring.segments.iter())
            .map(|segment| segment::name(segment.number))
            .collect();
        for name in self.folder.list()? {
            if segment::is_name(&name) && !listed.contains(&name) {
                self.folder.remove(&name)?;
            }
        }
        Ok(())
    }
}
