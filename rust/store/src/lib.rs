//! Records and checkpoints that are there after any crash: encrypted, authenticated, in order, and
//! never older than what was acknowledged.
//!
//! The durable half of lazysketch's state. This crate does not know what a sketch is: a *record*
//! and the body of a *checkpoint* are bytes. `docs/state-format.md` describes the files.
//!
//! ```text
//!                 store               append, commit, checkpoint, rotate
//!               /       \
//!     early_writer     recovery, creation    a thread that writes while others append; opening
//!          |                |                what is there, making what is not
//!     group_commit         log               one thread writes for all that wait; reading records
//!               \         /
//!                  files                     the orders of writing
//!                    |
//!       segment > waiting, slot, key_ring, anchor    the bytes of each file; what waits
//!                    |
//!       sealing, fields, recovered   keys, encryption, digests; fields of fixed size; what is given
//!                    |               back
//!       file_system > disk > error   the one door to files
//! ```
//!
//! A commit writes the records and syncs them, then writes the anchor and syncs it, and returns. A
//! change of anything else (a checkpoint, another segment, another key) is prepared in files that
//! do not count yet, synced, and takes effect when the key ring that lists them is written. So a
//! crash at any point leaves either the state before or the state after, and recovery reads one of
//! them without a decision.
#![forbid(unsafe_code)]

mod anchor;
mod creation;
mod disk;
mod early_writer;
mod error;
mod fields;
mod file_system;
mod files;
#[cfg(test)]
mod golden;
mod group_commit;
mod key_ring;
mod log;
mod recovered;
mod recovery;
mod sealing;
mod segment;
mod slot;
mod store;
mod waiting;

pub use anchor::{Anchor, AnchorPlace};
pub use disk::{Disk, DiskFile, Lock};
pub use error::{Error, Result};
pub use file_system::Directory;
pub use recovered::{Recovered, RecoveredCheckpoint, RecoveredRecords, Sequence};
pub use sealing::StoreKey;
pub use store::Store;
pub use waiting::LARGEST_RECORD;
