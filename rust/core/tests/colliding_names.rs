//! Items that differ but share the public fingerprint, as anyone with the hash seed can make them:
//! discovery must not count one as the other. Integers, instants and dates are mixed by a bijection,
//! which is inverted here; XXH3 is inverted on 8 bytes, and a factor of its product is set to zero
//! on longer contents (XXH3 specification, lengths 4 to 8, 9 to 16 and 17 to 128).

use lazysketch_core::discovery::spec::{DiscoverySpec, Variant};
use lazysketch_core::item::Item;
use lazysketch_core::key::{Identity, MasterKey, SketchId};
use lazysketch_core::mechanism::MechanismKind;
use lazysketch_core::parameters::{NoiseSpec, Relation, Shape, TableKind};
use lazysketch_core::schedule::Schedule;
use lazysketch_core::sketch::heavy_hitters::HeavySketch;
use lazysketch_core::table::hash::Fingerprinter;
use lazysketch_core::table::items::Items;
use seeded::{MAX_WEIGHT, shape, spec};

#[allow(dead_code, reason = "other tests use the rest")]
mod seeded;

const HASH_SEED: u64 = 11;
const MANY: usize = 200;

/// The first 64 bytes of XXH3's default secret, as 64-bit words.
const SECRET: [u64; 8] = [
    0xbe4b_a423_396c_feb8,
    0x1cad_21f7_2c81_017c,
    0xdb97_9083_e96d_d4de,
    0x1f67_b3b7_a4a4_4072,
    0x78e5_c0cc_4ee6_79cb,
    0x2172_ffcc_7dd0_5a82,
    0x8e24_43f7_7446_08b8,
    0x4c26_3a81_e690_35e0,
];

/// The inverse of an odd number modulo 2^64, by Newton's iteration.
fn inverse(odd: u64) -> u64 {
    let step = |x: u64, _| x.wrapping_mul(2_u64.wrapping_sub(odd.wrapping_mul(x)));
    (0..6).fold(odd, step)
}

/// Undoes `x ^= x >> shift`.
fn unshifted(y: u64, shift: u32) -> u64 {
    (0..64 / shift).fold(y, |x, _| y ^ x >> shift)
}

fn mix(mut x: u64) -> u64 {
    x = (x ^ x >> 27).wrapping_mul(0x3C79_AC49_2BA7_B653);
    x = (x ^ x >> 33).wrapping_mul(0x1C69_B3F7_4AC4_AE35);
    x ^ x >> 27
}

/// The inverse of [`mix`], the bijection of integers to fingerprints.
fn unmixed(y: u64) -> u64 {
    let x = unshifted(y, 27).wrapping_mul(inverse(0x1C69_B3F7_4AC4_AE35));
    let x = unshifted(x, 33).wrapping_mul(inverse(0x3C79_AC49_2BA7_B653));
    unshifted(x, 27)
}

/// The seed of a type of items; the types are numbered from 1 in the order of `table::hash`.
fn seed_of(number: u64) -> u64 {
    mix(HASH_SEED ^ mix(number))
}

/// The 8 bytes with this fingerprint.
fn eight_bytes(fingerprint: u64, seed: u64) -> [u8; 8] {
    const FACTOR: u64 = 0x9FB2_1C65_1E98_DF25;
    let seed = seed ^ u64::from((seed as u32).swap_bytes()) << 32;
    let flip = (SECRET[1] ^ SECRET[2]).wrapping_sub(seed);
    let x = unshifted(fingerprint, 28).wrapping_mul(inverse(FACTOR));
    let x = (x ^ ((x >> 35) + 8)).wrapping_mul(inverse(FACTOR));
    // x ^ rotl(x, 49) ^ rotl(x, 24) is its own inverse after 63 more applications.
    let x = (0..63).fold(x, |x, _| x ^ x.rotate_left(49) ^ x.rotate_left(24));
    (x ^ flip).rotate_left(32).to_le_bytes()
}

/// Two contents of 32 bytes with one fingerprint: the first 8 bytes make a factor zero, so the next
/// 8 bytes, which make the other factor, do not matter.
fn pair_of_32(seed: u64) -> [Vec<u8>; 2] {
    let zero = SECRET[0].wrapping_add(seed).to_le_bytes();
    [b'a', b'b'].map(|byte| [&zero[..], &[byte; 8], b"sixteen bytes..."].concat())
}

/// Two UUIDs with one fingerprint: the sum is 16 + h for factors (0, h), and
/// 16 + 2^56 + 2 h for (1, h).
fn pair_of_uuids(seed: u64) -> [[u8; 16]; 2] {
    let low = (SECRET[3] ^ SECRET[4]).wrapping_add(seed);
    let high = (SECRET[5] ^ SECRET[6]).wrapping_sub(seed);
    [(0, (1_u64 << 56) + 2 * 77), (1, 77)].map(|(l, h)| {
        let words = u128::from(l ^ low) | u128::from(h ^ high) << 64;
        words.to_le_bytes()
    })
}

fn sketch(capacity: u32) -> HeavySketch {
    let noise = NoiseSpec {
        relation: Relation::ZeroOut,
        ..spec(Schedule::geometric(), MechanismKind::Haar)
    };
    let discovery = DiscoverySpec {
        epsilon: 1.0,
        delta: 1e-6,
        relation: Relation::ZeroOut,
        max_events_per_user: 1,
        max_weight: MAX_WEIGHT,
        counted_weight: 1,
        steps_per_epoch: 1_000,
        events_per_step: 1,
        capacity,
        max_item_bytes: 64,
    };
    let table = Shape {
        hash_seed: HASH_SEED,
        ..shape(TableKind::CountMin, 2, 8)
    };
    let identity = Identity::chosen(SketchId([3; 16]));
    HeavySketch::new(table, noise, discovery, &MasterKey::seeded(5), identity).unwrap()
}

/// Two events of one item, before and after many of another one: the only name published is that
/// of the other, in either order of the two, by both variants, in batches and one by one.
fn assert_apart(one: Item<'_>, other: Item<'_>) {
    let fingerprinter = Fingerprinter::new(HASH_SEED);
    let fingerprint = fingerprinter.item(one);
    assert_eq!(fingerprint, fingerprinter.item(other), "{one:?} {other:?}");
    assert_ne!(one, other);
    for (first, second) in [(one, other), (other, one)] {
        for (capacity, batched) in [(16, true), (16, false), (1_000, true), (1_000, false)] {
            let mut sketch = sketch(capacity);
            let exact = sketch.discovery().design().variant == Variant::Dictionary;
            assert_eq!(exact, capacity == 1_000);
            // Two events are below the threshold, whatever the noise, except with 1e-5.
            let events = [vec![first], vec![second; MANY], vec![first]].concat();
            if batched {
                sketch.update_many(Items::Mixed(&events), None).unwrap();
            } else {
                events
                    .iter()
                    .for_each(|&item| sketch.update(item, 1).unwrap());
            }
            assert!(sketch.discovery().design().threshold > 10);
            sketch.end_epoch().unwrap();
            let published = sketch.candidates().unwrap();
            let expected = name(second);
            assert_eq!(published.len(), 1, "{first:?} {second:?}");
            assert_eq!(published[0].0.bytes, expected.0, "{first:?} {second:?}");
            assert_eq!(published[0].0.kind as u8, expected.1);
        }
    }
}

/// Content and number of the type of a name, as docs/release-format.md has them.
fn name(item: Item<'_>) -> (Vec<u8>, u8) {
    match item {
        Item::Text(text) => (text.as_bytes().to_vec(), 0),
        Item::Bytes(bytes) => (bytes.to_vec(), 1),
        Item::Wide(bytes) => (bytes.to_vec(), 2),
        Item::Unsigned(integer) => (integer.to_le_bytes().to_vec(), 3),
        Item::Signed(integer) => (integer.to_le_bytes().to_vec(), 3 + u8::from(integer < 0)),
        Item::Instant(microseconds) => (microseconds.to_le_bytes().to_vec(), 5),
        Item::Date(days) => (days.to_le_bytes().to_vec(), 6),
        Item::Uuid(bytes) => (bytes.to_vec(), 7),
    }
}

/// Every type against integers and against bytes: any fingerprint has one non-negative integer and
/// one content of 8 bytes.
#[test]
fn items_of_different_types_are_told_apart() {
    let fingerprinter = Fingerprinter::new(HASH_SEED);
    for item in [
        Item::Text("short"),
        Item::Text("text of more than fifteen bytes"),
        Item::Bytes(b"short"),
        Item::Bytes(b"bytes of more than fifteen bytes"),
        Item::Signed(-1),
        Item::Wide(&[0, 0, 0, 0, 0, 0, 0, 0, 1]),
        Item::Wide(&[7; 20]),
        Item::Instant(1_700_000_000_000_000),
        Item::Date(19_000),
        Item::Uuid(&[7; 16]),
    ] {
        let fingerprint = fingerprinter.item(item);
        let integer = unmixed(fingerprint) ^ seed_of(3);
        assert_apart(item, Item::Unsigned(integer));
        let bytes = eight_bytes(fingerprint, seed_of(2));
        assert_apart(item, Item::Bytes(&bytes));
    }
}

#[test]
fn items_of_one_type_are_told_apart() {
    let fingerprinter = Fingerprinter::new(HASH_SEED);
    let seed = seed_of(2);
    let [one, other] = pair_of_32(seed);
    assert_apart(Item::Bytes(&one), Item::Bytes(&other));
    let [one, other] = pair_of_32(seed_of(5));
    assert_apart(Item::Wide(&one), Item::Wide(&other));
    let [one, other] = pair_of_uuids(seed_of(8));
    assert_apart(Item::Uuid(&one), Item::Uuid(&other));
    // One in 2^8 contents of 8 bytes is ASCII.
    let pair = (0..100_000)
        .map(|number| format!("{number:05}"))
        .find_map(|short| {
            let fingerprint = fingerprinter.text(&short);
            let long = String::from_utf8(eight_bytes(fingerprint, seed_of(1)).to_vec()).ok()?;
            Some((short, long))
        });
    let (short, long) = pair.unwrap();
    assert_apart(Item::Text(&short), Item::Text(&long));
}
