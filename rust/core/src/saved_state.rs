//! The exact state of a live sketch in bytes, from which another process goes on.
//!
//! The bytes are as secret as the sketch: they hold exact counts and the names of the open epoch.
//! They are made and read in the core, are erased when they are dropped, and reach a disk only after
//! a store has encrypted them. Noise is not among them: it follows from the key, the id, the
//! parameters and the step (docs/state-format.md).
//!
//! Two sketches that go on from one state would publish one noise with two contents. Only a store,
//! which holds a lock and an anchor, may restore one.

use crate::byte_reader::ByteReader;
use crate::{Error, Result, memory};
use zeroize::{Zeroize, ZeroizeOnDrop};

/// Version of the bytes; another one is refused by its number.
pub const STATE_VERSION: u16 = 1;

/// The exact state of one sketch.
#[derive(Zeroize, ZeroizeOnDrop)]
pub struct SavedState {
    bytes: Vec<u8>,
}

impl std::fmt::Debug for SavedState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SavedState({} bytes)", self.bytes.len())
    }
}

impl SavedState {
    /// Wraps bytes of [`Self::expose`] that were decrypted.
    pub fn from_bytes(bytes: Vec<u8>) -> Self {
        Self { bytes }
    }

    /// The bytes, exact counts among them: for encryption only.
    pub fn expose(&self) -> &[u8] {
        &self.bytes
    }
}

/// Writes the fields of a state, little-endian, into memory that was reserved for all of them.
pub(crate) struct StateWriter {
    bytes: Vec<u8>,
    /// Bytes in the end.
    length: usize,
}

impl StateWriter {
    /// Room for the `length` bytes of a state, after bytes that are there.
    pub(crate) fn after(mut bytes: Vec<u8>, length: usize) -> Result<Self> {
        if bytes.capacity() - bytes.len() < length {
            // Growing in place would leave a copy of exact counts that nothing erases.
            let mut larger = memory::room_for(bytes.len() + length)?;
            larger.extend_from_slice(&bytes);
            memory::wipe(&mut bytes);
            bytes = larger;
        }
        let length = bytes.len() + length;
        let mut writer = Self { bytes, length };
        writer.put(STATE_VERSION.to_le_bytes());
        Ok(writer)
    }

    pub(crate) fn put<const N: usize>(&mut self, field: [u8; N]) {
        self.put_bytes(&field);
    }

    pub(crate) fn put_flag(&mut self, flag: bool) {
        self.put([u8::from(flag)]);
    }

    pub(crate) fn put_bytes(&mut self, bytes: &[u8]) {
        // Growing would leave a copy of exact counts that nothing erases.
        debug_assert!(self.bytes.capacity() - self.bytes.len() >= bytes.len());
        self.bytes.extend_from_slice(bytes);
    }

    /// Writes numbers that each have `N` bytes.
    pub(crate) fn put_all<T: Copy, const N: usize>(
        &mut self,
        numbers: &[T],
        field: impl Fn(T) -> [u8; N],
    ) {
        let start = self.bytes.len();
        debug_assert!(self.bytes.capacity() - start >= N * numbers.len());
        self.bytes.resize(start + N * numbers.len(), 0);
        let fields = self.bytes[start..].chunks_exact_mut(N);
        for (out, &number) in fields.zip(numbers) {
            out.copy_from_slice(&field(number));
        }
    }

    /// Number of bytes so far.
    pub(crate) fn written(&self) -> usize {
        self.bytes.len()
    }

    /// Writes zeros.
    pub(crate) fn put_zeros(&mut self, number: usize) {
        debug_assert!(self.bytes.capacity() - self.bytes.len() >= number);
        self.bytes.resize(self.bytes.len() + number, 0);
    }

    /// The bytes of the state, after those that were there.
    pub(crate) fn into_bytes(self) -> Vec<u8> {
        debug_assert_eq!(self.bytes.len(), self.length, "the size of a state");
        self.bytes
    }
}

/// Reads the fields of a state.
pub(crate) struct StateReader<'a> {
    reader: ByteReader<'a>,
}

impl<'a> StateReader<'a> {
    /// Checks the version.
    pub(crate) fn new(state: &'a SavedState) -> Result<Self> {
        let mut reader = Self {
            reader: ByteReader { rest: &state.bytes },
        };
        let version = u16::from_le_bytes(reader.take()?);
        if version != STATE_VERSION {
            return refused(format!(
                "expected state version {STATE_VERSION}, got {version}"
            ));
        }
        Ok(reader)
    }

    pub(crate) fn take<const N: usize>(&mut self) -> Result<[u8; N]> {
        self.reader.take().map_err(|_| truncated())
    }

    pub(crate) fn take_u64(&mut self) -> Result<u64> {
        self.take().map(u64::from_le_bytes)
    }

    pub(crate) fn take_u32(&mut self) -> Result<u32> {
        self.take().map(u32::from_le_bytes)
    }

    pub(crate) fn take_flag(&mut self) -> Result<bool> {
        match self.take()? {
            [0] => Ok(false),
            [1] => Ok(true),
            [other] => refused(format!("expected a flag of 0 or 1, got {other}")),
        }
    }

    pub(crate) fn take_bytes(&mut self, length: usize) -> Result<&'a [u8]> {
        self.reader.slice(length).map_err(|_| truncated())
    }

    /// Fails if bytes are left.
    pub(crate) fn finish(self) -> Result<()> {
        if self.reader.rest.is_empty() {
            return Ok(());
        }
        refused("expected the end, got more bytes")
    }
}

fn truncated() -> Error {
    Error::State("expected more bytes: truncated".into())
}

/// An error that says what is wrong with a state; never with a count.
pub(crate) fn refused<T>(message: impl Into<String>) -> Result<T> {
    Err(Error::State(message.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// No byte is written to memory that grows, and nothing is moved without need.
    #[test]
    fn a_state_has_its_memory_before_it_is_written() {
        for (capacity, is_moved) in [(8, false), (7, true), (6, true), (3, true)] {
            let mut bytes = Vec::with_capacity(capacity);
            assert_eq!(bytes.capacity(), capacity);
            bytes.extend([1, 2, 3]);
            let before = bytes.as_ptr();
            let mut writer = StateWriter::after(bytes, 5).unwrap();
            let room = writer.bytes.capacity() - writer.bytes.len();
            assert!(room >= 3, "{capacity}");
            assert_eq!(writer.bytes.as_ptr() != before, is_moved, "{capacity}");
            writer.put([7, 8, 9]);
            let [low, high] = STATE_VERSION.to_le_bytes();
            assert_eq!(writer.into_bytes(), [1, 2, 3, low, high, 7, 8, 9]);
        }
    }
}
