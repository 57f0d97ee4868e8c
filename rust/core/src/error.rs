//! The errors of the core. A message names the argument, says what was expected
//! and what came; it never contains a count, a key or an item.

/// What can go wrong in the core.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A parameter lies outside its range.
    #[error("{name}: expected {expected}, got {got}")]
    Parameter {
        /// The argument's name as users know it.
        name: &'static str,
        /// What would have been accepted.
        expected: String,
        /// What came (a public value).
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
        /// Steps asked for.
        requested: u64,
    },
    /// The sketch was closed: its key and counts are gone.
    #[error("sketch: expected an open sketch, got one after close()")]
    Closed,
    /// The operating system gave no randomness.
    #[error("the operating system's random source failed: {0}")]
    Entropy(String),
    /// Bytes that are not a release this version can read.
    #[error("release: {0}")]
    Format(String),
    /// Releases that cannot be added.
    #[error("merge: {0}")]
    Merge(String),
    /// Something only seeded (NOT PRIVATE) sketches may be asked for.
    #[error("draws: expected a sketch made with a seeded key (NOT PRIVATE), got a private one")]
    PrivateDraws,
}

impl Error {
    /// A [`Error::Parameter`] from anything printable.
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

/// Result of the core.
pub type Result<T> = std::result::Result<T, Error>;
