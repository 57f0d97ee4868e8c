//! Descriptions of counts of distinct items, and what a release says of them.

use super::*;
use crate::parameters::MOST_BITS;
use crate::release::{Part, codec};

#[test]
fn descriptions_outside_of_the_proof_are_refused() {
    let valid = spec(Schedule::Punctual { horizon: 8 });
    assert_eq!(valid.validate(&shape()), Ok(()));
    for (wrong, name) in [
        (
            NoiseSpec {
                max_weight: 1,
                ..valid
            },
            "max_weight:",
        ),
        (
            NoiseSpec {
                max_weight: 17,
                ..valid
            },
            "max_weight:",
        ),
        (
            NoiseSpec {
                max_events_per_user: 2,
                ..valid
            },
            "max_events_per_user:",
        ),
        (
            NoiseSpec {
                max_changes: 2,
                ..valid
            },
            "max_changes:",
        ),
        (
            NoiseSpec {
                calibration: Calibration::Classical,
                ..valid
            },
            "calibration:",
        ),
        (
            NoiseSpec {
                mechanism: MechanismKind::Binary,
                ..valid
            },
            "mechanism:",
        ),
        (
            NoiseSpec {
                mechanism: MechanismKind::Endless,
                ..valid
            },
            "mechanism:",
        ),
        (
            NoiseSpec {
                mechanism: MechanismKind::SquareRoot,
                ..valid
            },
            "mechanism:",
        ),
    ] {
        let message = wrong.validate(&shape()).unwrap_err().to_string();
        assert!(message.starts_with(name), "{message}");
    }
    let of = |bits| TableKind::Distinct { bits };
    for (kind, width, depth, name) in [
        (of(0), 5, 1, "bits:"),
        (of(32), 5, 1, "bits:"),
        (of(96), 5, 1, "bits:"),
        (of(2 * MOST_BITS), 5, 1, "bits:"),
        (of(64), 17, 1, "levels:"),
        (of(64), 5, 2, "depth:"),
    ] {
        let wrong = Shape {
            kind,
            depth,
            width,
            ..shape()
        };
        let message = wrong.validate().unwrap_err().to_string();
        assert!(message.starts_with(name), "{message}");
    }
    assert_eq!(
        Shape {
            width: 16,
            ..shape()
        }
        .validate(),
        Ok(())
    );
    assert_eq!(
        Shape {
            kind: of(MOST_BITS),
            ..shape()
        }
        .validate(),
        Ok(())
    );
}

#[test]
fn releases_keep_the_bits_of_a_level() {
    let mut count = sketch(Schedule::Punctual { horizon: 8 });
    count.update(3, 1).unwrap();
    let release = count.release().unwrap();
    let bytes = codec::encode(&release).unwrap();
    assert_eq!(codec::decode(&bytes).unwrap(), release);
    assert_eq!(release.shape().kind, TableKind::Distinct { bits: BITS });
    // Such a file would say of one count what another one is.
    let part = &release.parts()[0];
    let second = Part {
        sketch_id: SketchId([8; 16]),
        ..part.clone()
    };
    let exact = Part {
        noise: None,
        not_private: NotPrivate::EXACT,
        ..part.clone()
    };
    for parts in [vec![part.clone(), second], vec![exact]] {
        let forged = Release::new(*release.shape(), parts, release.table().to_vec());
        let read = codec::decode(&codec::encode(&forged).unwrap());
        let message = read.unwrap_err().to_string();
        assert!(
            message.contains("parts with noise, one of distinct items"),
            "{message}"
        );
    }
    let other = Shape {
        kind: TableKind::Distinct { bits: 128 },
        ..shape()
    };
    let noise = spec(Schedule::Punctual { horizon: 8 });
    let parameters = |shape: &Shape| codec::encode_parameters(shape, &noise);
    assert_ne!(parameters(&other), parameters(&shape()));
}
