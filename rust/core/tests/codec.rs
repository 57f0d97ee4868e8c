//! Hostile bytes: everything that is not a release is refused, without large allocations.

use lazysketch_core::item::Item;
use lazysketch_core::key::{Identity, MasterKey, SketchId};
use lazysketch_core::mechanism::MechanismKind;
use lazysketch_core::parameters::{Calibration, NoiseSpec, Relation, Shape, TableKind};
use lazysketch_core::release::Release;
use lazysketch_core::release::codec;
use lazysketch_core::schedule::Schedule;
use lazysketch_core::sketch::PrivateSketch;
use lazysketch_core::sketch::exact::ExactSketch;
use proptest::prelude::*;

const CHECKSUM: usize = 32;

fn sketch(id: u8, schedule: Schedule) -> PrivateSketch {
    let shape = Shape {
        kind: TableKind::CountSketch,
        depth: 2,
        width: 3,
        hash_seed: 1,
    };
    let spec = NoiseSpec {
        schedule,
        mechanism: MechanismKind::Haar,
        sigma: 10.0,
        relation: Relation::ZeroOut,
        calibration: Calibration::Analytic,
        epsilon: 1.0,
        delta: 1e-6,
        max_weight: 1,
        max_events_per_user: 1,
        person_bound: None,
        max_changes: 1,
    };
    let identity = Identity::chosen(SketchId([id; 16]));
    PrivateSketch::new(shape, spec, &MasterKey::seeded(1), identity).unwrap()
}

fn release(id: u8) -> Release {
    let mut sketch = sketch(id, Schedule::round_robin(1000));
    sketch.tick(5).unwrap();
    sketch.release().unwrap()
}

fn exact() -> ExactSketch {
    let shape = Shape {
        kind: TableKind::CountMin,
        depth: 2,
        width: 3,
        hash_seed: 1,
    };
    ExactSketch::new(shape).unwrap()
}

/// The bytes with a valid checksum, as an attacker would write them.
fn resealed(mut bytes: Vec<u8>) -> Vec<u8> {
    let body = bytes.len() - CHECKSUM;
    let checksum = blake3::hash(&bytes[..body]);
    bytes[body..].copy_from_slice(checksum.as_bytes());
    bytes
}

#[test]
fn every_truncation_and_every_flipped_bit_is_refused() {
    let bytes = codec::encode(&release(1)).unwrap();
    for length in 0..bytes.len() {
        assert!(codec::decode(&bytes[..length]).is_err(), "length {length}");
    }
    for bit in 0..8 * bytes.len() {
        let mut damaged = bytes.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        assert!(codec::decode(&damaged).is_err(), "bit {bit}");
    }
    let longer = [&bytes[..], &[0]].concat();
    assert!(codec::decode(&longer).is_err());
    assert!(codec::decode(&bytes).is_ok());
}

#[test]
fn hostile_headers_are_refused_before_anything_is_allocated() {
    let bytes = codec::encode(&release(1)).unwrap();
    // Offsets of docs/release-format.md: depth 12, width 16, parts 28.
    for (offset, value) in [
        (12, u32::MAX),
        (16, u32::MAX),
        (16, 1 << 24),
        (28, u32::MAX),
        (28, 0),
    ] {
        let mut hostile = bytes.clone();
        hostile[offset..offset + 4].copy_from_slice(&value.to_le_bytes());
        let error = codec::decode(&resealed(hostile)).unwrap_err().to_string();
        assert!(error.starts_with("release: "), "{error}");
    }
}

#[test]
fn parts_must_be_ordered_and_distinct() {
    let (one, two) = (release(1), release(2));
    let merged = Release::merge(&[&two, &one]).unwrap();
    assert_eq!(
        codec::decode(&codec::encode(&merged).unwrap()).unwrap(),
        merged
    );
    assert_eq!(merged.parts().len(), 2);
    let sum: Vec<i64> = one
        .table()
        .iter()
        .zip(two.table())
        .map(|(a, b)| a + b)
        .collect();
    assert_eq!(merged.table(), sum);
    let error = Release::merge(&[&one, &one]).unwrap_err().to_string();
    assert!(error.contains("one sketch id twice"), "{error}");
    assert!(Release::merge(&[&merged, &one]).is_err());
}

#[test]
fn exact_releases_say_so_and_come_back() {
    let mut sketch = exact();
    sketch.update(5, 7).unwrap();
    let release = sketch.release().unwrap();
    assert!(!release.not_private().is_private());
    let decoded = codec::decode(&codec::encode(&release).unwrap()).unwrap();
    assert_eq!(
        ExactSketch::from_release(&decoded).unwrap().table(),
        sketch.table()
    );
}

/// A release of each schedule, at its last step if it has one, and at the first.
#[test]
fn every_schedule_comes_back() {
    for schedule in [
        Schedule::round_robin(9),
        Schedule::geometric(),
        Schedule::Punctual { horizon: 9 },
        Schedule::Batch { horizon: 9 },
        Schedule::Single { horizon: Some(9) },
        Schedule::Single { horizon: None },
    ] {
        for finishes in [false, true] {
            let mut sketch = sketch(1, schedule);
            for steps in [0, 9] {
                sketch.tick(steps).unwrap();
                let release = sketch.release().unwrap();
                let bytes = codec::encode(&release).unwrap();
                assert_eq!(codec::decode(&bytes).unwrap(), release, "{schedule:?}");
            }
            if finishes {
                sketch.finish().unwrap();
                let release = sketch.release().unwrap();
                let bytes = codec::encode(&release).unwrap();
                assert_eq!(codec::decode(&bytes).unwrap(), release, "{schedule:?}");
            }
        }
    }
}

// Offsets of docs/release-format.md: the first part's flags 32, id 33, step 49.
const FLAGS: usize = 32;
const STEP: usize = 49;

#[test]
fn steps_beyond_the_horizon_and_unmarked_exact_parts_are_refused() {
    let mut sketch = sketch(1, Schedule::round_robin(9));
    sketch.tick(9).unwrap();
    let bytes = codec::encode(&sketch.release().unwrap()).unwrap();
    for (step, accepted) in [
        (0_u64, true),
        (8, true),
        (9, true),
        (10, false),
        (1 << 61, false),
    ] {
        let mut other = bytes.clone();
        other[STEP..STEP + 8].copy_from_slice(&step.to_le_bytes());
        assert_eq!(
            codec::decode(&resealed(other)).is_ok(),
            accepted,
            "step {step}"
        );
    }
    let mut bytes = codec::encode(&exact().release().unwrap()).unwrap();
    assert!(codec::decode(&bytes).is_ok());
    bytes[FLAGS] = 0;
    assert!(codec::decode(&resealed(bytes)).is_err());
}

/// Exact parts are the shortest, 26 bytes each. One byte fewer than the sizes need is refused at
/// once, not where the bytes end.
#[test]
fn sizes_are_compared_before_parts_are_read() {
    let releases: Vec<_> = (0..3).map(|_| exact().release().unwrap()).collect();
    let merged = Release::merge(&releases.iter().collect::<Vec<_>>()).unwrap();
    let bytes = codec::encode(&merged).unwrap();
    assert_eq!(bytes.len(), FLAGS + 3 * 26 + 6 * 8 + CHECKSUM);
    assert_eq!(codec::decode(&bytes).unwrap(), merged);
    let refused = |bytes: Vec<u8>| codec::decode(&resealed(bytes)).unwrap_err().to_string();
    let mut shorter = bytes.clone();
    shorter.remove(FLAGS + 3 * 26);
    assert!(refused(shorter).contains("sizes that agree with the length"));
    // Without parts, and with the second before the first or equal to it.
    let mut none = bytes.clone();
    none[28..32].fill(0);
    none.drain(FLAGS..FLAGS + 3 * 26);
    assert!(refused(none).contains("sizes that agree with the length"));
    let mut swapped = bytes.clone();
    swapped[FLAGS..FLAGS + 2 * 26].rotate_left(26);
    assert!(refused(swapped).contains("ordered by sketch id"));
    let mut twice = bytes;
    twice.copy_within(FLAGS..FLAGS + 26, FLAGS + 26);
    assert!(refused(twice).contains("ordered by sketch id"));
}

#[test]
fn counters_have_no_names() {
    let shape = Shape {
        kind: TableKind::Counters,
        depth: 1,
        width: 3,
        hash_seed: 0,
    };
    let release = ExactSketch::new(shape).unwrap().release().unwrap();
    assert!(codec::decode(&codec::encode(&release).unwrap()).is_ok());
    let bytes = codec::encode_with_names(&release, &[Item::Text("a")]).unwrap();
    let message = codec::decode(&bytes).unwrap_err().to_string();
    assert!(message.contains("no names of counters"), "{message}");
}

/// An integer in the form that [`Item::Wide`] has.
fn wide(value: i128) -> Vec<u8> {
    let bits = 128 - value.unsigned_abs().leading_zeros() as usize;
    value.to_le_bytes()[..bits / 8 + 1].to_vec()
}

/// The first and the last microsecond of the years 1 to 9999, and some between.
const INSTANTS: [i64; 4] = [-62_135_596_800_000_000, -1, 0, 253_402_300_799_999_999];

fn named(names: &[Item<'_>]) -> Vec<u8> {
    codec::encode_with_names(&release(1), names).unwrap()
}

/// The bytes of a release whose section of names is `section`.
fn with_section(section: &[u8]) -> Vec<u8> {
    let mut bytes = codec::encode(&release(1)).unwrap();
    bytes[8] = 2;
    bytes.truncate(bytes.len() - CHECKSUM);
    bytes.extend(section);
    resealed([bytes, vec![0; CHECKSUM]].concat())
}

#[test]
fn names_come_back_in_order_and_a_release_without_any_has_the_first_version() {
    let wides: Vec<_> = [64, 71, 72, 126]
        .into_iter()
        .flat_map(|bit| [-(1 << bit) - 1, -(1 << bit), 1 - (1 << bit), (1 << bit) - 1])
        .filter(|&value| i64::try_from(value).is_err() && u64::try_from(value).is_err())
        .map(wide)
        .collect();
    let mut names = vec![Item::Text("a"), Item::Bytes(b"a"), Item::Text("")];
    names.extend([0, 1, -1, 127, 128, -128, -129, -256, i64::MAX, i64::MIN].map(Item::Signed));
    names.extend([1 << 63, u64::MAX].map(Item::Unsigned));
    names.extend(wides.iter().map(|bytes| Item::Wide(bytes)));
    names.extend(INSTANTS.iter().filter_map(|&at| Item::instant(at)));
    names.extend([-719_162, -1, 0, 2_932_896].map(Item::Date));
    names.extend([Item::Uuid(&[0; 16]), Item::Uuid(&[0xAB; 16])]);
    let bytes = named(&names);
    let (decoded, found) = codec::decode_with_names(&bytes).unwrap();
    assert_eq!((decoded, found), (release(1), names));
    // A small unsigned integer is the same name as the signed one.
    assert_eq!(named(&[Item::Unsigned(7)]), named(&[Item::Signed(7)]));
    assert_eq!(named(&[]), codec::encode(&release(1)).unwrap());
    assert_eq!((named(&[])[8], bytes[8]), (1, 2));
    assert_eq!(codec::decode(&bytes).unwrap(), release(1));
}

#[test]
fn times_of_other_years_are_no_items() {
    let [first, .., last] = INSTANTS;
    assert_eq!(Item::instant(first), Some(Item::Instant(first)));
    assert_eq!(Item::instant(last), Some(Item::Instant(last)));
    for outside in [first - 1, last + 1, i64::MIN, i64::MAX] {
        assert_eq!(Item::instant(outside), None);
    }
    for outside in [-719_163, 2_932_897, i32::MIN, i32::MAX] {
        assert_eq!(Item::date(outside), None);
    }
}

/// A number of names that the bytes cannot hold is refused before memory is reserved for it.
#[test]
fn more_names_than_bytes_are_refused() {
    let name = [1, 1, 0, 0, 0, b'a'];
    let section = |number: u32| [&number.to_le_bytes()[..], &name].concat();
    assert!(codec::decode(&with_section(&section(1))).is_ok());
    for number in [0, 2, 3, u32::MAX] {
        let error = codec::decode(&with_section(&section(number))).unwrap_err();
        let expected = "expected sizes that agree with the length";
        assert!(error.to_string().contains(expected), "{error}");
    }
}

#[test]
fn every_damage_of_names_is_refused() {
    let bytes = named(&[Item::Text("abc"), Item::Signed(-5), Item::Bytes(&[0xFF])]);
    for length in 0..bytes.len() {
        assert!(codec::decode(&bytes[..length]).is_err(), "length {length}");
    }
    for bit in 0..8 * bytes.len() {
        let mut damaged = bytes.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        assert!(codec::decode(&damaged).is_err(), "bit {bit}");
    }
    for (what, section) in [
        ("no section", &b""[..]),
        ("no name", &[0, 0, 0, 0]),
        (
            "more names than bytes",
            &[255, 255, 255, 255, 1, 0, 0, 0, 0],
        ),
        ("fewer names than bytes", &[1, 0, 0, 0, 1, 0, 0, 0, 0, 9]),
        (
            "a length beyond the end",
            &[1, 0, 0, 0, 1, 255, 255, 255, 255],
        ),
        ("type 0", &[1, 0, 0, 0, 0, 1, 0, 0, 0, 65]),
        ("type 7", &[1, 0, 0, 0, 7, 1, 0, 0, 0, 65]),
        ("an instant in one byte", &[1, 0, 0, 0, 4, 1, 0, 0, 0, 65]),
        (
            "an instant in ten thousand years",
            &[
                1, 0, 0, 0, 4, 8, 0, 0, 0, 255, 255, 255, 255, 255, 255, 255, 127,
            ],
        ),
        ("a date in one byte", &[1, 0, 0, 0, 5, 1, 0, 0, 0, 65]),
        (
            "a date of the year 0",
            &[1, 0, 0, 0, 5, 4, 0, 0, 0, 0, 0, 0, 128],
        ),
        ("a UUID in one byte", &[1, 0, 0, 0, 6, 1, 0, 0, 0, 65]),
        ("text that is not UTF-8", &[1, 0, 0, 0, 1, 1, 0, 0, 0, 255]),
        ("an integer without bytes", &[1, 0, 0, 0, 3, 0, 0, 0, 0]),
        ("a longer integer", &[1, 0, 0, 0, 3, 2, 0, 0, 0, 5, 0]),
        (
            "a longer negative",
            &[1, 0, 0, 0, 3, 2, 0, 0, 0, 0xFE, 0xFF],
        ),
        ("-128 in one byte", &[1, 0, 0, 0, 3, 1, 0, 0, 0, 0x80]),
        (
            "a name twice",
            &[2, 0, 0, 0, 1, 1, 0, 0, 0, 65, 1, 1, 0, 0, 0, 65],
        ),
    ] {
        assert!(codec::decode(&with_section(section)).is_err(), "{what}");
    }
    assert!(codec::decode(&with_section(&[1, 0, 0, 0, 3, 1, 0, 0, 0, 5])).is_ok());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    /// Fuzz: arbitrary bytes, and arbitrary bytes after a valid head with a valid checksum.
    /// Accepted bytes encode to themselves, so decoding is strict.
    #[test]
    fn decoding_is_total_and_strict(
        noise in proptest::collection::vec(any::<u8>(), 0..400),
        edits in proptest::collection::vec((0..400_usize, any::<u8>()), 0..4),
    ) {
        let _ = codec::decode(&noise);
        let mut bytes = codec::encode(&release(1)).unwrap();
        for (offset, value) in edits {
            let length = bytes.len();
            bytes[offset % length] = value;
        }
        let bytes = resealed(bytes);
        if let Ok(release) = codec::decode(&bytes) {
            prop_assert_eq!(codec::encode(&release).unwrap(), bytes);
        }
    }

    /// Fuzz: any integer of up to 17 bytes is read in one form only.
    #[test]
    fn integers_have_one_form(content in proptest::collection::vec(any::<u8>(), 0..18)) {
        let length = content.len() as u8;
        let section = [&[1, 0, 0, 0, 3, length, 0, 0, 0], &content[..]].concat();
        let bytes = with_section(&section);
        if let Ok((decoded, names)) = codec::decode_with_names(&bytes) {
            prop_assert_eq!(codec::encode_with_names(&decoded, &names).unwrap(), bytes);
        }
    }

    /// Fuzz: arbitrary sections, and edits of a valid one; what is accepted encodes to itself.
    #[test]
    fn names_are_decoded_totally_and_strictly(
        noise in proptest::collection::vec(any::<u8>(), 0..60),
        texts in proptest::collection::btree_set(".{0,5}", 1..5),
        integers in proptest::collection::btree_set(any::<i64>(), 0..5),
        edits in proptest::collection::vec((0..60_usize, any::<u8>()), 0..3),
    ) {
        let _ = codec::decode(&with_section(&noise));
        let mut names: Vec<_> = texts.iter().map(|text| Item::Text(text)).collect();
        names.extend(integers.into_iter().map(Item::Signed));
        let mut bytes = named(&names);
        prop_assert_eq!(&codec::decode_with_names(&bytes).unwrap().1, &names);
        let start = codec::encode(&release(1)).unwrap().len() - CHECKSUM;
        let section = bytes.len() - CHECKSUM - start;
        for (offset, value) in edits {
            bytes[start + offset % section] = value;
        }
        let bytes = resealed(bytes);
        if let Ok((decoded, names)) = codec::decode_with_names(&bytes) {
            prop_assert_eq!(codec::encode_with_names(&decoded, &names).unwrap(), bytes);
        }
    }
}
