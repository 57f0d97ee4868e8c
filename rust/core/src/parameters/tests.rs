//! Limits of shapes and of noise.

use super::*;

const SHAPE: Shape = Shape {
    kind: TableKind::CountMin,
    depth: 2,
    width: 8,
    hash_seed: 0,
};

const SPEC: NoiseSpec = NoiseSpec {
    schedule: Schedule::Single { horizon: None },
    mechanism: MechanismKind::Binary,
    sigma: 1.0,
    relation: Relation::ZeroOut,
    calibration: Calibration::Analytic,
    epsilon: 1.0,
    delta: 1e-6,
    max_weight: 1,
    max_events_per_user: 1,
    person_bound: None,
    max_changes: 1,
};

/// Each limit is accepted, and the next number beyond it is refused.
#[test]
fn shapes_have_limits() {
    let of = |depth, width| {
        Shape {
            depth,
            width,
            ..SHAPE
        }
        .validate()
    };
    for (depth, width) in [(1, 1), (64, 1 << 22), (16, 1 << 24)] {
        assert_eq!(of(depth, width), Ok(()));
    }
    for (depth, width, name) in [
        (0, 1, "depth:"),
        (65, 1, "depth:"),
        (1, 0, "width:"),
        (1, (1 << 24) + 1, "width:"),
        (64, (1 << 22) + 1, "width: expected depth * width"),
        (17, 1 << 24, "width: expected depth * width"),
    ] {
        let message = of(depth, width).unwrap_err().to_string();
        assert!(message.starts_with(name), "{message}");
    }
}

fn refused(shape: Shape, change: impl Fn(&mut NoiseSpec), name: &str) {
    let mut spec = SPEC;
    change(&mut spec);
    let message = spec.validate(&shape).unwrap_err().to_string();
    assert!(message.starts_with(name), "{message}");
}

fn accepted(shape: Shape, change: impl Fn(&mut NoiseSpec)) {
    let mut spec = SPEC;
    change(&mut spec);
    assert_eq!(spec.validate(&shape), Ok(()));
}

#[test]
fn numbers_of_the_guarantee_have_limits() {
    accepted(SHAPE, |spec| spec.epsilon = 100.0);
    accepted(SHAPE, |spec| spec.epsilon = f64::MIN_POSITIVE);
    accepted(SHAPE, |spec| spec.sigma = LARGEST_SIGMA);
    accepted(SHAPE, |spec| spec.delta = 1.0_f64.next_down());
    for wrong in [0.0, -1.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        refused(SHAPE, |spec| spec.epsilon = wrong, "epsilon:");
        refused(SHAPE, |spec| spec.sigma = wrong, "sigma:");
        refused(SHAPE, |spec| spec.delta = wrong, "delta:");
    }
    refused(SHAPE, |spec| spec.epsilon = 100.0_f64.next_up(), "epsilon:");
    refused(SHAPE, |spec| spec.sigma = LARGEST_SIGMA.next_up(), "sigma:");
    refused(SHAPE, |spec| spec.delta = 1.0, "delta:");
}

#[test]
fn numbers_of_the_stream_have_limits() {
    accepted(SHAPE, |spec| spec.max_weight = LARGEST_WEIGHT);
    refused(
        SHAPE,
        |spec| spec.max_weight = LARGEST_WEIGHT + 1,
        "max_weight:",
    );
    refused(
        SHAPE,
        |spec| spec.max_events_per_user = 0,
        "max_events_per_user:",
    );
    let counters = Shape {
        kind: TableKind::Counters,
        depth: 1,
        ..SHAPE
    };
    accepted(counters, |spec| spec.max_changes = 8);
    refused(counters, |spec| spec.max_changes = 9, "max_changes:");
    refused(SHAPE, |spec| spec.max_changes = 2, "max_changes:");
    refused(
        SHAPE,
        |spec| spec.schedule = Schedule::Punctual { horizon: 0 },
        "horizon:",
    );
}

/// All events of all steps, each of the largest weight, stay below 2^62.
#[test]
fn counts_stay_below_their_bound() {
    let single = |horizon, weight| {
        move |spec: &mut NoiseSpec| {
            spec.schedule = Schedule::Single {
                horizon: Some(horizon),
            };
            spec.max_weight = weight;
        }
    };
    accepted(SHAPE, single(1 << 40, (1 << 22) - 1));
    refused(
        SHAPE,
        single(1 << 40, 1 << 22),
        "max_weight: expected horizon * events",
    );
    let batch = |horizon, weight| {
        move |spec: &mut NoiseSpec| {
            spec.schedule = Schedule::Batch { horizon };
            spec.max_weight = weight;
        }
    };
    let events = Schedule::Batch { horizon: 1 }.events_per_step();
    let most = ((1_u64 << 62) - 1) / events;
    accepted(SHAPE, batch(1, most.min(LARGEST_WEIGHT)));
    accepted(SHAPE, batch(most, 1));
    refused(
        SHAPE,
        batch(most + 1, 1),
        "max_weight: expected horizon * events",
    );
}

/// The mechanism's own limit is asked for: a tree at the largest sigma needs over 126 bits.
#[test]
fn noise_fits_the_arithmetic() {
    refused(
        SHAPE,
        |spec| {
            spec.schedule = Schedule::Punctual { horizon: 4096 };
            spec.mechanism = MechanismKind::TreeLog;
            spec.sigma = LARGEST_SIGMA;
        },
        "max_weight: expected parameters whose noise",
    );
}

#[test]
fn names_are_those_of_the_public_interface() {
    let kinds = [
        TableKind::CountMin,
        TableKind::CountSketch,
        TableKind::Counters,
    ];
    assert_eq!(
        kinds.map(TableKind::name),
        ["count-min", "count-sketch", "counters"]
    );
    let relations = [Relation::Substitution, Relation::ZeroOut];
    assert_eq!(relations.map(Relation::name), ["substitution", "zero-out"]);
    let calibrations = [Calibration::Analytic, Calibration::Classical];
    assert_eq!(
        calibrations.map(Calibration::name),
        ["analytic", "classical"]
    );
}
