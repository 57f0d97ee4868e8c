//! Errors of the core. A message names the argument, what was expected and what was given; it never
//! contains a count, a key or an item.

/// Errors of the core.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A parameter lies outside its range.
    #[error("{name}: expected {expected}, got {got}")]
    Parameter {
        /// The argument's name in the public interface.
        name: &'static str,
        /// What is accepted.
        expected: String,
        /// What was given (a public value).
        got: String,
    },
    /// More steps than the sketch was made for; nothing was applied.
    #[error(
        "horizon: expected at most {remaining} more steps (horizon {horizon}), got {requested}; \
         nothing was applied"
    )]
    Horizon {
        /// The last step that the noise was calibrated for.
        horizon: u64,
        /// Steps left before this call.
        remaining: u64,
        /// Steps requested.
        requested: u64,
    },
    /// The sketch was closed: its key and counts are gone.
    #[error("sketch: expected an open sketch, got one after close()")]
    Closed,
    /// The sketch was finished: it can be read, and takes no more events.
    #[error("sketch: expected one that takes events, got one after finish()")]
    Finished,
    /// There is no memory for a table, a batch or a result; nothing was changed.
    #[error("memory: expected {bytes} more bytes, got none; nothing was applied")]
    Memory {
        /// The size of the allocation that failed.
        bytes: usize,
    },
    /// The operating system returned no randomness.
    #[error("the operating system's random source failed: {0}")]
    Entropy(String),
    /// Bytes that are not a release this version can read.
    #[error("release: {0}")]
    Format(String),
    /// A saved state that this version, or a sketch with these parameters, cannot go on from.
    #[error("state: {0}")]
    State(String),
    /// Releases that cannot be added.
    #[error("merge: {0}")]
    Merge(String),
    /// Available for seeded (NOT PRIVATE) sketches only.
    #[error("draws: expected a sketch made with a seeded key (NOT PRIVATE), got a private one")]
    PrivateDraws,
}

impl Error {
    /// Returns an [`Error::Parameter`] from any printable value.
    pub fn parameter(
        name: &'static str,
        expected: impl Into<String>,
        got: impl std::fmt::Display,
    ) -> Self {
        Self::Parameter {
            name,
            expected: expected.into(),
            got: got.to_string(),
        }
    }
}

/// Checks that an integer parameter lies between 1 and its largest value.
pub(crate) fn check_integer(name: &'static str, value: u64, largest: u64) -> Result<()> {
    if (1..=largest).contains(&value) {
        return Ok(());
    }
    Err(Error::parameter(
        name,
        format!("an integer from 1 to {largest}"),
        value,
    ))
}

/// Result type of the core.
pub type Result<T> = std::result::Result<T, Error>;
