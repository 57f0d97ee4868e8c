//! Sketches under a seeded key, for the tests of this folder.

use lazysketch_core::key::{Identity, MasterKey, SketchId};
use lazysketch_core::mechanism::MechanismKind;
use lazysketch_core::parameters::{Calibration, NoiseSpec, Relation, Shape, TableKind};
use lazysketch_core::schedule::Schedule;
use lazysketch_core::sketch::PrivateSketch;

pub(crate) const MAX_WEIGHT: u64 = 5;

pub(crate) fn spec(schedule: Schedule, mechanism: MechanismKind) -> NoiseSpec {
    NoiseSpec {
        schedule,
        mechanism,
        sigma: 3.7,
        relation: Relation::Substitution,
        calibration: Calibration::Analytic,
        epsilon: 1.0,
        delta: 1e-6,
        max_weight: MAX_WEIGHT,
        max_events_per_user: 1,
        person_bound: None,
        max_changes: 1,
    }
}

pub(crate) fn shape(kind: TableKind, depth: u32, width: u32) -> Shape {
    Shape {
        kind,
        depth,
        width,
        hash_seed: 11,
    }
}

pub(crate) fn seeded(shape: Shape, spec: NoiseSpec, seed: u64) -> PrivateSketch {
    let identity = Identity::chosen(SketchId([3; 16]));
    PrivateSketch::new(shape, spec, &MasterKey::seeded(seed), identity).unwrap()
}
