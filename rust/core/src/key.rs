//! Master keys, sketch ids and the derivation of working keys.
//!
//! Randomness enters the library only here, from the operating system's CSPRNG. Everything else is a deterministic function of a [`MasterKey`], a
//! [`SketchId`] and public parameters (SECURITY.md).
//!
//! Derivation is BLAKE3 in keyed mode over an injective encoding:
//! `label ‖ version ‖ id ‖ parameters`, each part preceded by its length.

use crate::{Error, Result};
use zeroize::{Zeroize, ZeroizeOnDrop};

/// Version of the noise algorithm. It is part of every working key, so a changed algorithm never
/// shares draws with an older one.
pub const NOISE_VERSION: u16 = 1;

/// What a derived key is for; two purposes never share a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Noise of the mechanism.
    Noise,
    /// The public hash seed, if the user gives none.
    HashSeed,
    /// Noise of discovery.
    Discovery,
    /// The secret hash that identifies items in discovery.
    ItemIdentity,
    /// The ids of the sketches of a store.
    StoredId,
    /// The secret function that identifies people.
    PersonIdentity,
    /// The private key of a store, to which workers seal partial counts.
    PartialSealing,
    /// Digests of what a batch of partial counts contains.
    PartialContent,
}

impl Purpose {
    fn label(self) -> &'static [u8] {
        match self {
            Self::Noise => b"lazysketch noise",
            Self::HashSeed => b"lazysketch hash seed",
            Self::Discovery => b"lazysketch discovery noise",
            Self::ItemIdentity => b"lazysketch item identity",
            Self::StoredId => b"lazysketch stored id",
            Self::PersonIdentity => b"lazysketch person identity",
            Self::PartialSealing => b"lazysketch partial sealing",
            Self::PartialContent => b"lazysketch partial content",
        }
    }
}

/// Where a master key came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// The operating system, or 32 secret bytes kept by the user.
    Secret,
    /// A small public seed: for tests and experiments, NOT PRIVATE.
    Seeded,
}

/// 32 secret bytes from which the working keys of any number of sketches derive.
#[derive(Clone, ZeroizeOnDrop)]
pub struct MasterKey {
    bytes: [u8; 32],
    #[zeroize(skip)]
    origin: Origin,
}

impl std::fmt::Debug for MasterKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if planted!("key-shown-in-debug-output") {
            return write!(f, "MasterKey({:?})", self.bytes);
        }
        write!(f, "MasterKey({:?})", self.origin)
    }
}

impl MasterKey {
    /// A fresh key from the operating system's CSPRNG.
    pub fn generate() -> Result<Self> {
        Ok(Self {
            bytes: entropy()?,
            origin: Origin::Secret,
        })
    }

    /// A key kept by the user, who is responsible for its secrecy.
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self {
            bytes,
            origin: Origin::Secret,
        }
    }

    /// A key from a public seed. NOT PRIVATE: sketches and releases made with it say so.
    pub fn seeded(seed: u64) -> Self {
        let bytes = blake3::derive_key("lazysketch seeded key, NOT PRIVATE", &seed.to_le_bytes());
        Self {
            bytes,
            origin: Origin::Seeded,
        }
    }

    /// Where the key came from.
    pub fn origin(&self) -> Origin {
        self.origin
    }

    /// The secret bytes, for a user who stores the key.
    pub fn expose(&self) -> &[u8; 32] {
        &self.bytes
    }

    /// The working key for one purpose, one sketch and one set of parameters.
    ///
    /// `parameters` must be an injective encoding; the length prefixes here keep the
    /// concatenation injective.
    pub(crate) fn derive(&self, purpose: Purpose, id: &SketchId, parameters: &[u8]) -> WorkingKey {
        self.derive_wide(purpose, id, parameters).first_half()
    }

    /// As [`Self::derive`], but all 256 bits: a key to derive further keys from, or the key of a
    /// BLAKE3 hash.
    pub(crate) fn derive_wide(
        &self,
        purpose: Purpose,
        id: &SketchId,
        parameters: &[u8],
    ) -> WideKey {
        let mut hasher = if planted!("master-key-cut-to-8-bytes") {
            let mut cut = self.bytes;
            cut[8..].fill(0);
            blake3::Hasher::new_keyed(&cut)
        } else {
            blake3::Hasher::new_keyed(&self.bytes)
        };
        let version = NOISE_VERSION.to_le_bytes();
        let label = planted!("key-without-its-purpose", &b""[..], purpose.label());
        let id = planted!("key-without-the-sketch-id", [0; 16], id.0);
        let parameters = planted!("key-without-the-parameters", &b""[..], parameters);
        for part in [label, &version[..], &id[..], parameters] {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
        let bytes = *hasher.finalize().as_bytes();
        hasher.zeroize();
        WideKey { bytes }
    }
}

/// A derived 256-bit key.
#[derive(Zeroize, ZeroizeOnDrop)]
pub(crate) struct WideKey {
    pub(crate) bytes: [u8; 32],
}

impl WideKey {
    /// The AES-128 key of one epoch. Each epoch has its own key, so the number of blocks under one
    /// key is that of a single epoch, however many epochs there are.
    pub(crate) fn of_epoch(&self, epoch: u64) -> WorkingKey {
        let epoch = planted!("epoch-keys-repeat-after-8", epoch % 8, epoch);
        let bytes = *blake3::keyed_hash(&self.bytes, &epoch.to_le_bytes()).as_bytes();
        Self { bytes }.first_half()
    }

    pub(crate) fn first_half(&self) -> WorkingKey {
        let mut bytes = [0; 16];
        bytes.copy_from_slice(&self.bytes[..16]);
        WorkingKey { bytes }
    }
}

/// A derived AES-128 key.
#[derive(Zeroize, ZeroizeOnDrop)]
pub(crate) struct WorkingKey {
    pub(crate) bytes: [u8; 16],
}

/// 128 public bits that identify one sketch object; equal ids mean equal noise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SketchId(pub [u8; 16]);

impl SketchId {
    /// A fresh id from the operating system's CSPRNG.
    pub fn fresh() -> Result<Self> {
        Ok(Self(entropy()?))
    }
}

/// The id of a sketch about to be constructed. Not `Clone`: a fresh id serves one sketch.
#[derive(Debug)]
pub struct Identity {
    pub(crate) id: SketchId,
    pub(crate) chosen: bool,
}

impl Identity {
    /// A fresh id, required for a private sketch.
    pub fn fresh() -> Result<Self> {
        Ok(Self {
            id: SketchId::fresh()?,
            chosen: false,
        })
    }

    /// The id of a sketch of a store: pseudo-random under the store's key, and the same whenever the
    /// store makes this sketch again from its log.
    ///
    /// The caller is a store that holds its lock and found its anchor. It counts one history under
    /// (`era`, `name`, `number`), whatever happens in between, and begins another era in any doubt.
    pub fn stored(key: &MasterKey, store: &[u8; 16], era: u64, name: &str, number: u64) -> Self {
        let (era, number) = planted!(
            "stored-numbers-in-8-bits",
            (era & 0xFF, number & 0xFF),
            (era, number)
        );
        let place = [&era.to_le_bytes(), &number.to_le_bytes(), name.as_bytes()].concat();
        let bytes = key
            .derive(Purpose::StoredId, &SketchId(*store), &place)
            .bytes;
        Self {
            id: SketchId(bytes),
            chosen: false,
        }
    }

    /// The public id.
    pub fn id(&self) -> SketchId {
        self.id
    }

    /// An id chosen by the caller, for tests and replay. It marks the sketch NOT PRIVATE: the
    /// difference of two streams under one working key is exact.
    pub fn chosen(id: SketchId) -> Self {
        Self { id, chosen: true }
    }

    /// The public hash seed that a key gives this sketch if the user gives none.
    pub fn hash_seed(&self, key: &MasterKey) -> u64 {
        let bytes = key.derive(Purpose::HashSeed, &self.id, &[]).bytes;
        u64::from_le_bytes(std::array::from_fn(|i| bytes[i]))
    }
}

/// A fresh public hash seed, for sketches without a key.
pub fn fresh_hash_seed() -> Result<u64> {
    Ok(u64::from_le_bytes(entropy()?))
}

/// Random bytes of the operating system, for keys and ids that other crates keep.
pub fn entropy<const N: usize>() -> Result<[u8; N]> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|error| Error::Entropy(error.to_string()))?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_input_of_the_derivation_changes_the_key() {
        let (key, id) = (MasterKey::seeded(1), SketchId([0; 16]));
        let base = key.derive(Purpose::Noise, &id, b"parameters").bytes;
        let other_id = SketchId([1; 16]);
        for different in [
            key.derive(Purpose::HashSeed, &id, b"parameters").bytes,
            key.derive(Purpose::Discovery, &id, b"parameters").bytes,
            key.derive(Purpose::ItemIdentity, &id, b"parameters").bytes,
            key.derive_wide(Purpose::Noise, &id, b"parameters")
                .of_epoch(0)
                .bytes,
            key.derive_wide(Purpose::Noise, &id, b"parameters")
                .of_epoch(1)
                .bytes,
            key.derive(Purpose::Noise, &other_id, b"parameters").bytes,
            key.derive(Purpose::Noise, &id, b"parameterz").bytes,
            MasterKey::seeded(2)
                .derive(Purpose::Noise, &id, b"parameters")
                .bytes,
        ] {
            assert_ne!(base, different);
        }
        assert_eq!(base, key.derive(Purpose::Noise, &id, b"parameters").bytes);
    }

    #[test]
    fn fresh_values_differ_and_debug_shows_no_secret() {
        assert_ne!(SketchId::fresh().unwrap(), SketchId::fresh().unwrap());
        let key = MasterKey::generate().unwrap();
        assert_ne!(key.expose(), MasterKey::generate().unwrap().expose());
        assert_eq!(format!("{key:?}"), "MasterKey(Secret)");
    }

    /// Two 64-bit values are equal with probability 2^-64, and below 2^8 with 2^-55.
    #[test]
    fn fresh_seeds_and_ids_are_random_and_say_that_they_are() {
        let seeds = [fresh_hash_seed().unwrap(), fresh_hash_seed().unwrap()];
        assert!(seeds[0] != seeds[1] && seeds.iter().all(|seed| *seed > 1 << 8));
        let (one, two) = (Identity::fresh().unwrap(), Identity::fresh().unwrap());
        assert!(one.id != two.id && !one.chosen && !two.chosen);
        let chosen = Identity::chosen(SketchId([7; 16]));
        assert!(chosen.chosen && chosen.id == SketchId([7; 16]));
        assert_eq!(MasterKey::generate().unwrap().origin(), Origin::Secret);
        assert_eq!(MasterKey::from_bytes([1; 32]).origin(), Origin::Secret);
        assert_eq!(MasterKey::seeded(1).origin(), Origin::Seeded);
    }

    /// Every field tells two ids apart, also where one name begins with bytes of a number.
    #[test]
    fn ids_of_a_store_repeat_for_one_sketch_only() {
        let (key, other) = (
            MasterKey::from_bytes([7; 32]),
            MasterKey::from_bytes([8; 32]),
        );
        let of = |key: &MasterKey, store: u8, era: u64, name: &str, number: u64| {
            Identity::stored(key, &[store; 16], era, name, number)
        };
        let first = of(&key, 1, 2, "visits", 3);
        assert!(!first.chosen && first.id() == of(&key, 1, 2, "visits", 3).id());
        for different in [
            of(&other, 1, 2, "visits", 3),
            of(&key, 2, 2, "visits", 3),
            of(&key, 1, 3, "visits", 3),
            of(&key, 1, 2, "visit", 3),
            of(&key, 1, 2, "", 3),
            of(&key, 1, 2, "visits", 4),
            of(&key, 1, 3, "visits", 2),
        ] {
            assert_ne!(first.id(), different.id());
        }
        for bit in 0..64 {
            let (era, number) = (2 ^ (1 << bit), 3 ^ (1 << bit));
            assert_ne!(first.id(), of(&key, 1, era, "visits", 3).id(), "era {era}");
            assert_ne!(
                first.id(),
                of(&key, 1, 2, "visits", number).id(),
                "{number}"
            );
        }
    }

    /// Keyed BLAKE3 of label, version, id and parameters, each after its length in 8 bytes.
    #[test]
    fn every_key_follows_its_definition() {
        let (key, id) = (MasterKey::from_bytes([7; 32]), SketchId([9; 16]));
        for (purpose, label) in [
            (Purpose::Noise, "lazysketch noise"),
            (Purpose::HashSeed, "lazysketch hash seed"),
            (Purpose::Discovery, "lazysketch discovery noise"),
            (Purpose::ItemIdentity, "lazysketch item identity"),
            (Purpose::StoredId, "lazysketch stored id"),
            (Purpose::PersonIdentity, "lazysketch person identity"),
            (Purpose::PartialSealing, "lazysketch partial sealing"),
            (Purpose::PartialContent, "lazysketch partial content"),
        ] {
            for parameters in [&b""[..], b"parameters"] {
                let mut message = Vec::new();
                for part in [label.as_bytes(), &[1, 0], &[9; 16], parameters] {
                    message.extend((part.len() as u64).to_le_bytes());
                    message.extend(part);
                }
                let expected = blake3::keyed_hash(&[7; 32], &message);
                let wide = key.derive_wide(purpose, &id, parameters);
                assert_eq!(&wide.bytes, expected.as_bytes());
                let half = key.derive(purpose, &id, parameters);
                assert_eq!(half.bytes, expected.as_bytes()[..16]);
                for epoch in [0_u64, 1, 255, 256, 1 << 40, u64::MAX] {
                    let of_epoch = blake3::keyed_hash(expected.as_bytes(), &epoch.to_le_bytes());
                    let found = wide.of_epoch(epoch).bytes;
                    assert_eq!(found, of_epoch.as_bytes()[..16], "{epoch}");
                }
                if purpose == Purpose::HashSeed && parameters.is_empty() {
                    let seed = Identity::chosen(id).hash_seed(&key);
                    assert_eq!(seed.to_le_bytes(), expected.as_bytes()[..8]);
                }
            }
        }
        let seeded = blake3::derive_key("lazysketch seeded key, NOT PRIVATE", &5_u64.to_le_bytes());
        assert_eq!(MasterKey::seeded(5).expose(), &seeded);
    }

    /// Pins the derivation: a change here changes the noise under every stored key.
    #[test]
    fn golden_working_key() {
        let key = MasterKey::from_bytes([7; 32]);
        let derived = key
            .derive(Purpose::Noise, &SketchId([9; 16]), b"golden")
            .bytes;
        assert_eq!(hex(&derived), GOLDEN);
    }

    const GOLDEN: &str = "b3751b7b0786785cb0f1f739965ecd38";

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}
