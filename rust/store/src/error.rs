//! Errors of a store. A message names what was expected and what was found; it never contains a
//! key or the content of a record.

use std::io;

/// Errors of a store.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The operating system refused an operation on a file.
    #[error("state: {operation} {file}: {source}")]
    Io {
        /// What was asked, such as `write`.
        operation: &'static str,
        /// The name of the file inside its directory.
        file: String,
        /// What the operating system answered.
        source: io::Error,
    },
    /// Another process, or another object of this one, has the store open.
    #[error("state: expected a store that is not open, got one that is ({file} is locked)")]
    Locked {
        /// The file that is locked.
        file: String,
    },
    /// The store was made, or last rotated, under another key.
    #[error("key: expected the key {expected}, got {got}")]
    WrongKey {
        /// The id of the key that opens the store.
        expected: String,
        /// The id of the key that was given.
        got: String,
    },
    /// The store was written in a format that this version cannot read.
    #[error("state: expected format version {expected}, got {got} in {file}")]
    Version {
        /// The version that this build reads.
        expected: u16,
        /// The version in the file.
        got: u16,
        /// The file.
        file: String,
    },
    /// Bytes that were durable are missing or changed.
    #[error("state: expected an undamaged store, got {0}")]
    Damaged(String),
    /// The directory holds an older state than the anchor, or another history.
    #[error("state: expected the newest state, got {0}")]
    RolledBack(&'static str),
    /// The anchor belongs to another store.
    #[error("anchor: expected one of this store, got one of another store")]
    ForeignAnchor,
    /// A checkpoint that does not cover all records.
    #[error("checkpoint: expected one through the last record, got one of an earlier state")]
    Order,
    /// A record or checkpoint above the limit of the format.
    #[error("{what}: expected at most {largest} bytes, got {got}")]
    TooLarge {
        /// What is too large.
        what: &'static str,
        /// The limit.
        largest: u64,
        /// The size.
        got: u64,
    },
    /// An earlier write failed, so nothing is known about what the disk holds. Open it again.
    #[error("state: expected a working store, got one after a failed write; open it again")]
    Poisoned,
    /// No memory, or no randomness.
    #[error(transparent)]
    Core(#[from] lazysketch_core::Error),
}

impl Error {
    pub(crate) fn damaged(what: impl Into<String>) -> Self {
        Self::Damaged(what.into())
    }
}

/// Result type of this crate.
pub type Result<T> = std::result::Result<T, Error>;
