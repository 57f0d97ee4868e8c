//! Fields of fixed size, little-endian, and the start that all files have in common.

use crate::error::{Error, Result};

/// The version of the format; it is in every file.
pub(crate) const VERSION: u16 = 1;

/// Bytes of [`start`]: magic, version, six zeros, store id.
pub(crate) const START_BYTES: usize = 32;

/// The first bytes of a file.
pub(crate) fn start(magic: &[u8; 8], store_id: &[u8; 16]) -> [u8; START_BYTES] {
    let mut bytes = [0; START_BYTES];
    bytes[..8].copy_from_slice(magic);
    bytes[8..10].copy_from_slice(&VERSION.to_le_bytes());
    bytes[16..].copy_from_slice(store_id);
    bytes
}

/// An error if the bytes begin a file of this kind in a version that this build cannot read.
pub(crate) fn check_version(bytes: &[u8], magic: &[u8; 8], file: &str) -> Result<()> {
    let mut fields = Fields(bytes);
    if fields.take::<8>() != Some(*magic) {
        return Ok(());
    }
    match fields.take().map(u16::from_le_bytes) {
        Some(got) if got != VERSION => Err(Error::Version {
            expected: VERSION,
            got,
            file: file.to_owned(),
        }),
        _ => Ok(()),
    }
}

/// What is left of some bytes.
pub(crate) struct Fields<'a>(pub(crate) &'a [u8]);

impl Fields<'_> {
    pub(crate) fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (field, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*field)
    }

    pub(crate) fn byte(&mut self) -> Option<u8> {
        self.take().map(|[byte]| byte)
    }

    pub(crate) fn u64(&mut self) -> Option<u64> {
        self.take().map(u64::from_le_bytes)
    }
}
