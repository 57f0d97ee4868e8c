//! Keys, authenticated encryption and the running digest.
//!
//! Everything is sealed with AES-256-GCM-SIV (RFC 8452) in place. **No nonce meets two contents
//! under one key:**
//!
//! - A *segment* of the log has a random key. The nonce of a record is its sequence, which only
//!   grows. A segment is written by one life of one process: after a write that failed the store
//!   takes nothing more, and every opening begins a new segment under a new key. So a sequence that
//!   a torn tail gave back is used again under another key.
//! - Each write of a *checkpoint* has a random key of its own; the nonce of a part of its body is
//!   the number of the part.
//! - Each write of a *key file* has a key of its own, derived from the caller's key and 32 fresh
//!   random bytes, and the nonce 0.
//!
//! GCM-SIV is misuse-resistant: were all this wrong, two equal contents would be seen to be equal,
//! and no more. Random keys come from the operating system.

use crate::error::Result;
use aes_gcm_siv::aead::inout::InOutBuf;
use aes_gcm_siv::{AeadInOut, Aes256GcmSiv, KeyInit, Nonce, Tag};
use lazysketch_core::key::entropy;
use zeroize::{Zeroize, ZeroizeOnDrop};

/// Bytes of an authentication tag.
pub(crate) const TAG_BYTES: usize = 16;

/// The caller's key: it wraps the keys of a store and is nowhere on the disk.
#[derive(Clone, ZeroizeOnDrop)]
pub struct StoreKey([u8; 32]);

impl std::fmt::Debug for StoreKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "StoreKey({})", hex(&self.id()))
    }
}

impl StoreKey {
    /// A key of 32 bytes, drawn uniformly and kept secret by the caller.
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Says which key it is, and nothing else of it.
    pub fn id(&self) -> [u8; 16] {
        first_half(self.keyed(b"lazysketch store key id", &[]))
    }

    /// The key that seals one write of a key file.
    pub(crate) fn wrapping(&self, salt: &[u8; 32]) -> SealingKey {
        SealingKey(self.keyed(b"lazysketch store wrapping", salt))
    }

    fn keyed(&self, label: &[u8], salt: &[u8]) -> [u8; 32] {
        keyed(&self.0, &[label, salt])
    }
}

/// A random key of one segment, one checkpoint or one write of a key file.
#[derive(Clone, PartialEq, Eq, ZeroizeOnDrop)]
pub(crate) struct SealingKey(pub(crate) [u8; 32]);

impl SealingKey {
    pub(crate) fn fresh() -> Result<Self> {
        Ok(Self(entropy()?))
    }

    /// The key as a cipher; make it once for many calls.
    pub(crate) fn sealer(&self) -> Sealer {
        Sealer(Aes256GcmSiv::new(&self.0.into()))
    }
}

/// A sealing key, expanded.
pub(crate) struct Sealer(Aes256GcmSiv);

impl Sealer {
    /// Encrypts in place; the tag authenticates the body and `associated`.
    pub(crate) fn seal(&self, nonce: u64, associated: &[u8], body: &mut [u8]) -> [u8; TAG_BYTES] {
        let sealed =
            (self.0).encrypt_inout_detached(&nonce_of(nonce), associated, InOutBuf::from(body));
        sealed.expect("lengths were checked against 2^36").into()
    }

    /// Decrypts in place; false, and the body as it was, if it is not authentic.
    pub(crate) fn open(
        &self,
        nonce: u64,
        associated: &[u8],
        body: &mut [u8],
        tag: &[u8; TAG_BYTES],
    ) -> bool {
        let (nonce, body, tag) = (nonce_of(nonce), InOutBuf::from(body), Tag::from(*tag));
        (self.0)
            .decrypt_inout_detached(&nonce, associated, body, &tag)
            .is_ok()
    }
}

fn nonce_of(number: u64) -> Nonce {
    let mut bytes = [0; 12];
    bytes[..8].copy_from_slice(&number.to_le_bytes());
    bytes.into()
}

/// A keyed hash of all records up to one: equal digests mean equal histories.
pub(crate) type Digest = [u8; 32];

/// The secret key of the running digest, so that a digest confirms no guess of a content.
#[derive(Clone, PartialEq, Eq, ZeroizeOnDrop)]
pub(crate) struct ChainKey(pub(crate) [u8; 32]);

impl ChainKey {
    /// The digest of no record.
    pub(crate) fn start(&self, store_id: &[u8; 16]) -> Digest {
        keyed(&self.0, &[b"lazysketch store start", store_id])
    }

    /// The digest after one more record.
    pub(crate) fn after(&self, before: &Digest, sequence: u64, record: &[u8]) -> Digest {
        keyed(&self.0, &[before, &sequence.to_le_bytes(), record])
    }
}

/// Keyed BLAKE3 of parts, each after its length in 8 bytes.
pub(crate) fn keyed(key: &[u8; 32], parts: &[&[u8]]) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new_keyed(key);
    for part in parts {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    let hash = *hasher.finalize().as_bytes();
    hasher.zeroize();
    hash
}

pub(crate) fn first_half(bytes: [u8; 32]) -> [u8; 16] {
    let mut half = [0; 16];
    half.copy_from_slice(&bytes[..16]);
    half
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
