//! Errors of partial counts, which name the argument and have no count.

use crate::{Error, Result};

/// Names the argument of a limit.
pub(super) fn named(argument: &'static str) -> impl Fn(Error) -> Error {
    move |error| match error {
        Error::Parameter { expected, got, .. } => Error::parameter(argument, expected, got),
        other => other,
    }
}

pub(super) fn closed() -> Error {
    Error::parameter(
        "partial",
        "partial counts that are open",
        "some that were sealed or merged",
    )
}

pub(super) fn of_sealed(error: Error) -> Error {
    match error {
        Error::State(message) => Error::parameter("sealed", "partial counts", message),
        other => other,
    }
}

pub(super) fn refused<T>(expected: impl Into<String>, got: impl std::fmt::Display) -> Result<T> {
    Err(Error::parameter("sealed", expected, got))
}
