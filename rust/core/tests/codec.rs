//! Hostile bytes: everything that is not a release is refused, without large allocations.

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

fn release(id: u8) -> Release {
    let shape = Shape {
        kind: TableKind::CountSketch,
        depth: 2,
        width: 3,
        hash_seed: 1,
    };
    let spec = NoiseSpec {
        schedule: Schedule::round_robin(1000),
        mechanism: MechanismKind::Haar,
        sigma: 10.0,
        relation: Relation::ZeroOut,
        calibration: Calibration::Analytic,
        epsilon: 1.0,
        delta: 1e-6,
        max_weight: 1,
        max_events_per_user: 1,
        max_changes: 1,
    };
    let identity = Identity::chosen(SketchId([id; 16]));
    let mut sketch = PrivateSketch::new(shape, spec, &MasterKey::seeded(1), identity).unwrap();
    sketch.tick(5).unwrap();
    sketch.release().unwrap()
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
    let bytes = codec::encode(&release(1));
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
    let bytes = codec::encode(&release(1));
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
    assert_eq!(codec::decode(&codec::encode(&merged)).unwrap(), merged);
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
    let shape = Shape {
        kind: TableKind::CountMin,
        depth: 2,
        width: 3,
        hash_seed: 1,
    };
    let mut sketch = ExactSketch::new(shape).unwrap();
    sketch.update(5, 7).unwrap();
    let release = sketch.release();
    assert!(!release.not_private().is_private());
    let decoded = codec::decode(&codec::encode(&release)).unwrap();
    assert_eq!(
        ExactSketch::from_release(&decoded).unwrap().table(),
        sketch.table()
    );
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
        let mut bytes = codec::encode(&release(1));
        for (offset, value) in edits {
            let length = bytes.len();
            bytes[offset % length] = value;
        }
        let bytes = resealed(bytes);
        if let Ok(release) = codec::decode(&bytes) {
            prop_assert_eq!(codec::encode(&release), bytes);
        }
    }
}
