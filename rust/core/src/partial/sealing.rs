//! Sealing of partial counts to a store: HPKE in base mode (RFC 9180) with X25519, HKDF-SHA256 and
//! AES-256-GCM.
//!
//! Every seal has a fresh ephemeral key, so no key seals two contents. The description is
//! authenticated with the counts: whatever of it is changed on the way, nothing opens. Base mode
//! does not say who sealed: anyone with the description can make partials, as anyone who reaches a
//! sketch can update it. The store's private key follows from its master key, which is on the disk
//! under the caller's key only.

use crate::key::{MasterKey, Purpose, SketchId, WideKey, entropy};
use crate::partial::counts::PartialCounts;
use crate::partial::refusals::refused;
use crate::partial::spec::PartialSpec;
use crate::saved_state::SavedState;
use crate::{Error, Result, memory};
use hpke::aead::{AeadTag, AesGcm256};
use hpke::inout::InOutBuf;
use hpke::kdf::HkdfSha256;
use hpke::kem::X25519HkdfSha256;
use hpke::rand_core::{TryCryptoRng, TryRng};
use hpke::{Deserializable, HpkeError, Kem, OpModeR, OpModeS, Serializable};
use std::convert::Infallible;
use zeroize::Zeroizing;

/// First bytes of sealed counts.
pub const SEALED_MAGIC: [u8; 8] = *b"LZSKPART";
/// Version of the bytes; another one is refused by its number.
pub const SEALED_VERSION: u16 = 1;

const INFO: &[u8] = b"lazysketch partial counts";
const TAG: usize = 16;
const KEY: usize = 32;
/// Magic and version, before the description.
const SPEC_AT: usize = 8 + 2;

/// The parts of sealed counts: description, ephemeral key, tag and ciphertext.
struct Parts<'a> {
    spec: PartialSpec,
    description: &'a [u8],
    key: &'a [u8],
    tag: &'a [u8],
    body: &'a [u8],
}

/// The keys of a store for partial counts: they follow from its master key and its id.
pub struct PartialKeys {
    private: <X25519HkdfSha256 as Kem>::PrivateKey,
    public: [u8; KEY],
    content: WideKey,
}

impl PartialKeys {
    /// The keys of a store, the same in all its lives.
    pub fn of_store(master: &MasterKey, store: &[u8; 16]) -> Self {
        let id = SketchId(*store);
        let seed = master.derive_wide(Purpose::PartialSealing, &id, &[]);
        let (private, public) = X25519HkdfSha256::derive_keypair(&seed.bytes);
        Self {
            private,
            public: public.to_bytes().into(),
            content: master.derive_wide(Purpose::PartialContent, &id, &[]),
        }
    }

    /// The public key, to which workers seal.
    pub fn public_key(&self) -> [u8; KEY] {
        self.public
    }

    /// A digest of what partial counts contain, equal for equal counts only.
    pub fn content_digest(&self, counts: &PartialCounts) -> Result<[u8; 32]> {
        counts.content_digest(&self.content.bytes)
    }

    /// The counts that were sealed for a table of this store. Bytes that were changed are refused
    /// whole, those of another table before anything is opened.
    pub fn open(&self, sealed: &[u8], table: &PartialSpec) -> Result<PartialCounts> {
        let Parts {
            spec,
            description,
            key,
            tag,
            body,
        } = parts_of(sealed)?;
        if spec.public_key != self.public {
            return refused("partial counts that were sealed to this store", "others");
        }
        if !spec.is_of_the_table_of(table) {
            return refused("partial counts of this table in this era", "others");
        }
        if !PartialCounts::can_have(&spec, body.len()) {
            return refused("the bytes of partial counts", "more or less");
        }
        let forged = || Error::parameter("sealed", "authentic partial counts", "damaged ones");
        let setup = |_: HpkeError| forged();
        let key = Deserializable::from_bytes(key).map_err(setup)?;
        let mut context = hpke::setup_receiver::<AesGcm256, HkdfSha256, X25519HkdfSha256>(
            &OpModeR::Base,
            &self.private,
            &key,
            INFO,
        )
        .map_err(setup)?;
        let tag = AeadTag::from_bytes(tag).map_err(setup)?;
        let mut body = Zeroizing::new(memory::copied(body)?);
        context
            .open_inout_detached(InOutBuf::from(body.as_mut_slice()), description, &tag)
            .map_err(setup)?;
        let state = SavedState::from_bytes(std::mem::take(&mut *body));
        PartialCounts::restore(spec, &state)
    }
}

/// The parts of sealed bytes, of which the description is public, before anything is opened.
fn parts_of(sealed: &[u8]) -> Result<Parts<'_>> {
    let parts = sealed.split_at_checked(SPEC_AT);
    let Some((_, described)) = parts.filter(|(head, _)| head.starts_with(&SEALED_MAGIC)) else {
        return refused("sealed partial counts", "other bytes");
    };
    let version = u16::from_le_bytes([sealed[8], sealed[9]]);
    if version != SEALED_VERSION {
        return refused(format!("version {SEALED_VERSION}"), version);
    }
    let (spec, rest) = PartialSpec::decode_first(described).map_err(|error| match error {
        Error::Parameter { expected, got, .. } => Error::parameter("sealed", expected, got),
        other => other,
    })?;
    let description = &described[..described.len() - rest.len()];
    let split = rest
        .split_at_checked(KEY)
        .and_then(|(key, rest)| rest.split_at_checked(TAG).map(|rest| (key, rest)));
    let Some((key, (tag, body))) = split else {
        return refused("sealed partial counts", "other bytes");
    };
    Ok(Parts {
        spec,
        description,
        key,
        tag,
        body,
    })
}

impl PartialCounts {
    /// Seals the counts to the store of the description, erases them, and closes this partial: its id
    /// is on one content only.
    pub fn seal(&mut self) -> Result<Vec<u8>> {
        let sealed = self.sealed()?;
        self.close();
        Ok(sealed)
    }

    /// As [`Self::seal`], without closing: for a store that logs the sum of a step.
    pub fn sealed(&self) -> Result<Vec<u8>> {
        let failed = |error: HpkeError| {
            Error::parameter("spec", "a public key that can seal", error.to_string())
        };
        // All that can fail, before anything is in clear.
        let public = Deserializable::from_bytes(&self.spec().public_key).map_err(failed)?;
        let mut random = FreshBytes::new()?;
        let (key, mut context) = hpke::setup_sender_with_rng::<
            AesGcm256,
            HkdfSha256,
            X25519HkdfSha256,
        >(&OpModeS::Base, &public, INFO, &mut random)
        .map_err(failed)?;
        let key_at = SPEC_AT + self.spec().encoded_bytes();
        let (tag_at, body_at) = (key_at + KEY, key_at + KEY + TAG);
        let mut head = memory::room_for(body_at)?;
        head.extend(SEALED_MAGIC);
        head.extend(SEALED_VERSION.to_le_bytes());
        head.extend(self.spec().encode());
        head.extend(key.to_bytes());
        head.extend([0; TAG]);
        let mut sealed = self.save_after(head)?;
        let (head, body) = sealed.split_at_mut(body_at);
        let associated = &head[SPEC_AT..key_at];
        let tag = context.seal_inout_detached(InOutBuf::from(&mut *body), associated);
        if let Ok(tag) = &tag {
            head[tag_at..].copy_from_slice(&tag.to_bytes());
        } else {
            memory::wipe(body);
        }
        tag.map(|_| sealed).map_err(failed)
    }
}

/// 32 bytes of the operating system, extended: what HPKE draws its ephemeral key from.
struct FreshBytes(blake3::OutputReader);

impl FreshBytes {
    fn new() -> Result<Self> {
        let seed = Zeroizing::new(entropy::<32>()?);
        let hasher = blake3::Hasher::new_keyed(&seed);
        Ok(Self(hasher.finalize_xof()))
    }
}

impl TryRng for FreshBytes {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> std::result::Result<u32, Infallible> {
        let mut bytes = [0; 4];
        self.0.fill(&mut bytes);
        Ok(u32::from_le_bytes(bytes))
    }

    fn try_next_u64(&mut self) -> std::result::Result<u64, Infallible> {
        let mut bytes = [0; 8];
        self.0.fill(&mut bytes);
        Ok(u64::from_le_bytes(bytes))
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> std::result::Result<(), Infallible> {
        self.0.fill(bytes);
        Ok(())
    }
}

impl TryCryptoRng for FreshBytes {}

impl Drop for FreshBytes {
    fn drop(&mut self) {
        zeroize::Zeroize::zeroize(&mut self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Words and bytes are drawn from one stream, in which nothing comes twice.
    #[test]
    fn words_are_the_next_bytes() {
        let stream = || FreshBytes(blake3::Hasher::new_keyed(&[5; 32]).finalize_xof());
        let mut expected = [0; 40];
        stream().try_fill_bytes(&mut expected).unwrap();
        let mut drawn = stream();
        let mut found = Vec::new();
        for _ in 0..2 {
            found.extend(drawn.try_next_u32().unwrap().to_le_bytes());
            found.extend(drawn.try_next_u64().unwrap().to_le_bytes());
            let mut bytes = [0; 8];
            drawn.try_fill_bytes(&mut bytes).unwrap();
            found.extend(bytes);
        }
        assert_eq!(found, expected);
    }
}
