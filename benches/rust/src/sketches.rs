//! Sketches to measure; parameters that do not affect speed are fixed.

use lazysketch_core::key::{Identity, MasterKey};
use lazysketch_core::mechanism::MechanismKind;
use lazysketch_core::parameters::{Calibration, NoiseSpec, Relation, Shape, TableKind};
use lazysketch_core::schedule::Schedule;
use lazysketch_core::sketch::PrivateSketch;
use lazysketch_core::sketch::exact::ExactSketch;

fn shape(kind: TableKind, depth: u32, width: u32) -> Shape {
    Shape {
        kind,
        depth,
        width,
        hash_seed: 1,
    }
}

/// Return an exact sketch.
pub fn exact(kind: TableKind, depth: u32, width: u32) -> ExactSketch {
    ExactSketch::new(shape(kind, depth, width)).expect("a valid shape")
}

/// Return a private sketch.
pub fn private(kind: TableKind, depth: u32, width: u32, schedule: Schedule) -> PrivateSketch {
    private_with_noise(kind, [depth, width], schedule, 60.0)
}

/// Return a private sketch with `depth` and `width`, whose nodes have noise of this deviation.
pub fn private_with_noise(
    kind: TableKind,
    [depth, width]: [u32; 2],
    schedule: Schedule,
    sigma: f64,
) -> PrivateSketch {
    let spec = NoiseSpec {
        schedule,
        mechanism: MechanismKind::Haar,
        sigma,
        relation: Relation::Substitution,
        calibration: Calibration::Analytic,
        epsilon: 1.0,
        delta: 1e-6,
        max_weight: 1,
        max_events_per_user: 1,
        person_bound: None,
        max_changes: 1,
    };
    let key = MasterKey::generate().expect("entropy");
    let identity = Identity::fresh().expect("entropy");
    PrivateSketch::new(shape(kind, depth, width), spec, &key, identity).expect("valid parameters")
}
