//! A noise specification in bytes.

use crate::Result;
use crate::byte_reader::{ByteReader, as_format, malformed};
use crate::mechanism::MechanismKind;
use crate::parameters::{Calibration, NoiseSpec, Relation, Shape};
use crate::release::promises;
use crate::schedule::{Growth, Schedule};

/// Writes all but the bound of people, in the same number of bytes for any.
pub(super) fn write(out: &mut Vec<u8>, shape: &Shape, noise: &NoiseSpec) {
    // Tag, horizon (0: none), period, growth, rounds; unused fields are zero.
    let (tag, horizon, period, growth, rounds) = match noise.schedule {
        Schedule::RoundRobin { horizon, period } => (1, horizon, period, NO_GROWTH, 0),
        Schedule::Geometric { growth, rounds } => (2, 0, 0, growth, rounds),
        Schedule::Punctual { horizon } => (3, horizon, 0, NO_GROWTH, 0),
        Schedule::Batch { horizon } => (4, horizon, 0, NO_GROWTH, 0),
        Schedule::Single { horizon } => (5, horizon.unwrap_or(0), 0, NO_GROWTH, 0),
    };
    out.push(tag);
    out.extend(horizon.to_le_bytes());
    out.extend(period.to_le_bytes());
    out.extend(growth.numerator.to_le_bytes());
    out.extend(growth.denominator.to_le_bytes());
    out.extend(rounds.to_le_bytes());
    // Mechanism, the depth of its table and the table's digest (0: closed form).
    out.push(match noise.mechanism {
        MechanismKind::Binary => 1,
        MechanismKind::Haar => 2,
        MechanismKind::Tree => 3,
        MechanismKind::TreeLog => 4,
        MechanismKind::SquareRoot => 5,
        MechanismKind::DeepTree => 6,
        MechanismKind::Endless => 7,
    });
    let (parameter, digest) = noise.mechanism(shape).map_or((0, [0; 16]), |m| m.table());
    out.extend(parameter.to_le_bytes());
    out.extend(digest);
    out.extend(noise.sigma.to_le_bytes());
    out.push(match noise.relation {
        Relation::Substitution => 1,
        Relation::ZeroOut => 2,
    });
    out.push(match noise.calibration {
        Calibration::Analytic => 1,
        Calibration::Classical => 2,
    });
    out.extend(noise.epsilon.to_le_bytes());
    out.extend(noise.delta.to_le_bytes());
    out.extend(noise.max_weight.to_le_bytes());
    out.extend(noise.max_events_per_user.to_le_bytes());
    out.extend(noise.max_changes.to_le_bytes());
}

const NO_GROWTH: Growth = Growth {
    numerator: 0,
    denominator: 0,
};

/// Reads and checks what [`write`] wrote, and a bound of people in versions that have it.
pub(super) fn read(
    reader: &mut ByteReader<'_>,
    shape: &Shape,
    has_bound: bool,
) -> Result<NoiseSpec> {
    let tag = reader.byte()?;
    let horizon = u64::from_le_bytes(reader.take()?);
    let period = u64::from_le_bytes(reader.take()?);
    let growth = Growth {
        numerator: u32::from_le_bytes(reader.take()?),
        denominator: u32::from_le_bytes(reader.take()?),
    };
    let rounds = u64::from_le_bytes(reader.take()?);
    let schedule = match (tag, horizon, period, growth, rounds) {
        (1, _, _, NO_GROWTH, 0) => Schedule::RoundRobin { horizon, period },
        (2, 0, 0, _, _) => Schedule::Geometric { growth, rounds },
        (3, _, 0, NO_GROWTH, 0) => Schedule::Punctual { horizon },
        (4, _, 0, NO_GROWTH, 0) => Schedule::Batch { horizon },
        (5, 0, 0, NO_GROWTH, 0) => Schedule::Single { horizon: None },
        (5, _, 0, NO_GROWTH, 0) => Schedule::Single {
            horizon: Some(horizon),
        },
        _ => return malformed("expected a known schedule with its own parameters only"),
    };
    let mechanism = match reader.byte()? {
        1 => MechanismKind::Binary,
        2 => MechanismKind::Haar,
        3 => MechanismKind::Tree,
        4 => MechanismKind::TreeLog,
        5 => MechanismKind::SquareRoot,
        6 => MechanismKind::DeepTree,
        7 => MechanismKind::Endless,
        other => return malformed(format!("expected mechanism 1 to 7, got {other}")),
    };
    let table = (u64::from_le_bytes(reader.take()?), reader.take::<16>()?);
    let sigma = f64::from_le_bytes(reader.take()?);
    let relation = match reader.byte()? {
        1 => Relation::Substitution,
        2 => Relation::ZeroOut,
        other => return malformed(format!("expected relation 1 or 2, got {other}")),
    };
    let calibration = match reader.byte()? {
        1 => Calibration::Analytic,
        2 => Calibration::Classical,
        other => return malformed(format!("expected calibration 1 or 2, got {other}")),
    };
    let mut noise = NoiseSpec {
        schedule,
        mechanism,
        sigma,
        relation,
        calibration,
        epsilon: f64::from_le_bytes(reader.take()?),
        delta: f64::from_le_bytes(reader.take()?),
        max_weight: u64::from_le_bytes(reader.take()?),
        max_events_per_user: u64::from_le_bytes(reader.take()?),
        person_bound: None,
        max_changes: u32::from_le_bytes(reader.take()?),
    };
    if has_bound {
        noise.person_bound = promises::read_bound(reader)?;
    }
    noise.validate(shape).map_err(as_format)?;
    if noise.mechanism(shape).map_err(as_format)?.table() != table {
        return malformed("expected the table of this version's mechanism, got another digest");
    }
    Ok(noise)
}
