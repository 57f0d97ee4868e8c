//! Integers of a batch in a log, each in the same number of bytes.

use crate::byte_reader::ByteReader;
use crate::{Error, Result, memory};

/// Appends integers.
pub(super) fn put_integers<T, const N: usize>(
    out: &mut Vec<u8>,
    items: impl ExactSizeIterator<Item = T>,
    bytes: impl Fn(T) -> [u8; N],
) {
    let start = out.len();
    out.resize(start + N * items.len(), 0);
    for (out, item) in out[start..].chunks_exact_mut(N).zip(items) {
        out.copy_from_slice(&bytes(item));
    }
}

/// Reads what [`put_integers`] wrote.
pub(super) fn take_integers<T, const N: usize>(
    reader: &mut ByteReader<'_>,
    number: usize,
    value: impl Fn([u8; N]) -> T,
) -> Result<Vec<T>> {
    let bytes = reader.slice(number.checked_mul(N).ok_or_else(malformed)?)?;
    let integers = bytes.chunks_exact(N);
    memory::collected(integers.map(|bytes| value(bytes.try_into().unwrap_or([0; N]))))
}

/// The error for bytes that are no batch.
pub(super) fn malformed() -> Error {
    Error::State("expected a batch of items, got other bytes".into())
}
