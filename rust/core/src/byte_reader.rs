//! Reader of the bytes of a release or of a state: reading beyond the end is an error.

use crate::{Error, Result};

/// The bytes that are left.
pub(crate) struct ByteReader<'a> {
    pub(crate) rest: &'a [u8],
}

impl<'a> ByteReader<'a> {
    pub(crate) fn take<const N: usize>(&mut self) -> Result<[u8; N]> {
        let (head, rest) = self.rest.split_first_chunk::<N>().ok_or_else(truncated)?;
        self.rest = rest;
        Ok(*head)
    }

    pub(crate) fn byte(&mut self) -> Result<u8> {
        self.take::<1>().map(|[byte]| byte)
    }

    pub(crate) fn slice(&mut self, length: usize) -> Result<&'a [u8]> {
        let (head, rest) = self.rest.split_at_checked(length).ok_or_else(truncated)?;
        self.rest = rest;
        Ok(head)
    }
}

pub(crate) fn truncated() -> Error {
    Error::Format("expected more bytes: truncated".into())
}

pub(crate) fn malformed<T>(message: impl Into<String>) -> Result<T> {
    Err(Error::Format(message.into()))
}

pub(crate) fn as_format(error: Error) -> Error {
    Error::Format(error.to_string())
}
