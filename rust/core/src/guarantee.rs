//! Reasons why a sketch is NOT PRIVATE, and the core's own check of sigma.
//!
//! Python decides how much noise is added; the core draws it. To make the language boundary the
//! privacy boundary as well, the core marks any spec whose sigma is too small for its epsilon and
//! delta as NOT PRIVATE. The check is of the ideal mechanism and lenient by 1 % of delta;
//! calibration in Python is exact and also accounts for numerical error.

use crate::mechanism::{Mechanism, MechanismKind};
use crate::parameters::{Calibration, NoiseSpec, Relation, Shape, TableKind};

/// Flags that say why something is NOT PRIVATE; empty for a private sketch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct NotPrivate(u8);

impl NotPrivate {
    /// Exact counts, no noise.
    pub const EXACT: Self = Self(1);
    /// Noise from a public seed.
    pub const SEEDED: Self = Self(2);
    /// A sketch id chosen by the caller, which may have been used with other data.
    pub const CHOSEN_ID: Self = Self(4);
    /// Sigma from the paper's Count Sketch sensitivity 2 d instead of 4 d.
    pub const PAPER_SENSITIVITY: Self = Self(8);
    /// A sigma too small for the stated epsilon and delta.
    pub const TOO_LITTLE_NOISE: Self = Self(16);
    /// A mechanism whose rounding is not exact post-processing.
    pub const INEXACT: Self = Self(32);

    const REASONS: [(Self, &'static str); 6] = [
        (Self::EXACT, "exact counts, no noise"),
        (Self::SEEDED, "noise from a public seed"),
        (Self::CHOSEN_ID, "sketch id chosen by the caller"),
        (
            Self::PAPER_SENSITIVITY,
            "the paper's Count Sketch sensitivity 2 d, half of the true 4 d",
        ),
        (
            Self::TOO_LITTLE_NOISE,
            "noise below what epsilon and delta ask for",
        ),
        (
            Self::INEXACT,
            "a mechanism with inexact rounding, for research",
        ),
    ];

    /// The flags that follow from the spec itself, which the caller has validated.
    pub fn of_spec(shape: &Shape, spec: &NoiseSpec) -> Self {
        let understated = shape.kind == TableKind::CountSketch
            && spec.relation == Relation::Substitution
            && spec.calibration == Calibration::Classical;
        let served = spec
            .mechanism(shape)
            .is_ok_and(|it| is_served(shape, spec, &it));
        let inexact = spec.mechanism == MechanismKind::SquareRoot;
        Self::PAPER_SENSITIVITY
            .only_if(understated)
            .with(Self::TOO_LITTLE_NOISE.only_if(!served))
            .with(Self::INEXACT.only_if(inexact))
    }

    /// These flags if the condition holds, otherwise none.
    #[must_use]
    pub fn only_if(self, condition: bool) -> Self {
        if condition { self } else { Self::default() }
    }

    /// The union of both sets.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// True if every flag of `other` is set.
    pub fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// True if no flag is set: the guarantee holds.
    pub fn is_private(self) -> bool {
        self.0 == 0
    }

    /// One phrase per flag.
    pub fn reasons(self) -> impl Iterator<Item = &'static str> {
        Self::REASONS
            .into_iter()
            .filter(move |(mark, _)| self.contains(*mark))
            .map(|(_, text)| text)
    }

    pub(crate) fn bits(self) -> u8 {
        self.0
    }

    pub(crate) fn from_bits(bits: u8) -> Option<Self> {
        (bits < 64).then_some(Self(bits))
    }
}

/// True if the Gaussian mechanism with this sigma is (epsilon, delta)-DP by Balle and Wang 2018,
/// Theorem 8, up to 1 % of delta.
fn is_served(shape: &Shape, spec: &NoiseSpec, mechanism: &Mechanism) -> bool {
    let scale = spec.max_weight as f64 * spec.max_events_per_user as f64;
    let sensitivity2 = table_sensitivity2(shape, spec) as f64 * mechanism.sensitivity2();
    let multiplier = spec.sigma / (sensitivity2.sqrt() * scale);
    let centre = spec.epsilon * multiplier;
    let half_mu = 0.5 / multiplier;
    let near = upper_tail(centre - half_mu);
    let delta = near - spec.epsilon.exp() * upper_tail(centre + half_mu);
    delta <= 1.01 * spec.delta + 1e-12 * near || planted!("too-little-noise-not-marked")
}

/// Squared L2 sensitivity of the count table per unit weight (docs/theory.md).
fn table_sensitivity2(shape: &Shape, spec: &NoiseSpec) -> u64 {
    let depth = u64::from(shape.depth);
    match (shape.kind, spec.relation) {
        (TableKind::Counters, Relation::ZeroOut) => u64::from(spec.max_changes).max(1),
        (TableKind::Counters, Relation::Substitution) => u64::from(spec.max_changes).max(2),
        (_, Relation::ZeroOut) => depth,
        (TableKind::CountMin, Relation::Substitution) => 2 * depth,
        (TableKind::CountSketch, Relation::Substitution) => 4 * depth,
    }
}

fn upper_tail(x: f64) -> f64 {
    libm::erfc(x / std::f64::consts::SQRT_2) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::Schedule;

    fn served(kind: TableKind, multiplier: f64, epsilon: f64, delta: f64, weight: u64) -> bool {
        let shape = Shape {
            kind,
            depth: 3,
            width: 8,
            hash_seed: 1,
        };
        let mut spec = NoiseSpec {
            schedule: Schedule::round_robin(1000),
            mechanism: MechanismKind::Haar,
            sigma: 1.0,
            relation: Relation::Substitution,
            calibration: Calibration::Analytic,
            epsilon,
            delta,
            max_weight: 1,
            max_events_per_user: 1,
            max_changes: 1,
        };
        let mechanism = spec.mechanism(&shape).unwrap();
        let sensitivity2 = table_sensitivity2(&shape, &spec) as f64 * mechanism.sensitivity2();
        spec.sigma = multiplier * sensitivity2.sqrt();
        spec.max_weight = weight;
        assert_eq!(
            NotPrivate::of_spec(&shape, &spec).is_private(),
            is_served(&shape, &spec, &mechanism)
        );
        is_served(&shape, &spec, &mechanism)
    }

    /// Reference multipliers from Balle and Wang's solution are accepted; 2 % less is rejected.
    #[test]
    fn reference_multipliers_serve_and_smaller_ones_do_not() {
        for (epsilon, delta, multiplier) in [
            (0.3, 1e-3, 7.0715),
            (1.0, 1e-6, 4.2250),
            (0.1, 1e-6, 36.3055),
            (3.0, 1e-6, 1.5445),
            (1.0, 1e-9, 5.4955),
            (8.0, 1e-6, 0.6535),
        ] {
            for kind in [TableKind::CountMin, TableKind::CountSketch] {
                assert!(
                    served(kind, multiplier, epsilon, delta, 1),
                    "{epsilon} {delta}"
                );
                assert!(
                    !served(kind, 0.98 * multiplier, epsilon, delta, 1),
                    "{epsilon} {delta}"
                );
                assert!(
                    !served(kind, multiplier, epsilon, delta, 2),
                    "{epsilon} {delta}"
                );
            }
        }
    }
}
