//! Names and properties of mechanisms and schedules, for calibration in Python.

use crate::errors::{ArgumentValueError, raise};
use crate::weights::counts_of;
use lazysketch_core::discovery::spec::Design;
use lazysketch_core::guarantee::NotPrivate;
use lazysketch_core::mechanism::{Mechanism, MechanismKind};
use lazysketch_core::memory;
use lazysketch_core::noise::gaussian::{LARGEST_SIGMA, RoundedGaussian};
use lazysketch_core::parameters::{Calibration, Relation, TableKind};
use lazysketch_core::schedule::{Growth, Schedule};
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

fn unknown<T>(name: &str, expected: &str, got: &str) -> PyResult<T> {
    let got: String = got.chars().take(40).collect();
    Err(ArgumentValueError::new_err(format!(
        "{name}: expected {expected}, got {got:?}"
    )))
}

/// The kinds that need no more than their name.
pub(crate) fn kind_of(name: &str) -> PyResult<TableKind> {
    match name {
        "count-min" => Ok(TableKind::CountMin),
        "count-sketch" => Ok(TableKind::CountSketch),
        "counters" => Ok(TableKind::Counters),
        "ranges" => Ok(TableKind::Ranges),
        other => unknown(
            "kind",
            "'count-min', 'count-sketch', 'counters' or 'ranges'",
            other,
        ),
    }
}

pub(crate) fn mechanism_of(name: &str) -> PyResult<MechanismKind> {
    match name {
        "binary" => Ok(MechanismKind::Binary),
        "haar" => Ok(MechanismKind::Haar),
        "tree" => Ok(MechanismKind::Tree),
        "tree-log" => Ok(MechanismKind::TreeLog),
        "square-root" => Ok(MechanismKind::SquareRoot),
        "tree-deep" => Ok(MechanismKind::DeepTree),
        "tree-endless" => Ok(MechanismKind::Endless),
        other => unknown("mechanism", "a known mechanism", other),
    }
}

pub(crate) fn relation_of(name: &str) -> PyResult<Relation> {
    match name {
        "substitution" => Ok(Relation::Substitution),
        "zero-out" => Ok(Relation::ZeroOut),
        other => unknown("relation", "'substitution' or 'zero-out'", other),
    }
}

pub(crate) fn calibration_of(name: &str) -> PyResult<Calibration> {
    match name {
        "analytic" => Ok(Calibration::Analytic),
        "classical" => Ok(Calibration::Classical),
        other => unknown("calibration", "'analytic' or 'classical'", other),
    }
}

const ROUND_ROBIN: &str = "round robin";
const GEOMETRIC: &str = "geometric";
const PUNCTUAL: &str = "punctual";
const BATCH: &str = "batch";
const SINGLE: &str = "single";

/// A schedule as Python passes it: its name and parameters.
#[derive(FromPyObject)]
pub(crate) enum ScheduleArguments {
    RoundRobin((String, u64, u64)),
    Geometric((String, (u32, u32), u64)),
    Horizon((String, u64)),
    WithoutHorizon((String,)),
}

pub(crate) fn schedule_of(arguments: &ScheduleArguments) -> PyResult<Schedule> {
    let schedule = match arguments {
        ScheduleArguments::RoundRobin((name, horizon, period)) if name == ROUND_ROBIN => {
            Schedule::RoundRobin {
                horizon: *horizon,
                period: *period,
            }
        }
        ScheduleArguments::Geometric((name, (numerator, denominator), rounds))
            if name == GEOMETRIC =>
        {
            let growth = Growth {
                numerator: *numerator,
                denominator: *denominator,
            };
            Schedule::Geometric {
                growth,
                rounds: *rounds,
            }
        }
        ScheduleArguments::Horizon((name, horizon)) if name == PUNCTUAL => {
            Schedule::Punctual { horizon: *horizon }
        }
        ScheduleArguments::Horizon((name, horizon)) if name == BATCH => {
            Schedule::Batch { horizon: *horizon }
        }
        ScheduleArguments::Horizon((name, horizon)) if name == SINGLE => {
            let horizon = Some(*horizon);
            Schedule::Single { horizon }
        }
        ScheduleArguments::WithoutHorizon((name,)) if name == SINGLE => {
            Schedule::Single { horizon: None }
        }
        _ => {
            return unknown(
                "schedule",
                "a known schedule with its parameters",
                "another",
            );
        }
    };
    schedule.validate().map_err(raise)?;
    Ok(schedule)
}

/// Return a schedule as a Python tuple: see [`ScheduleArguments`].
pub(crate) fn schedule_tuple<'py>(
    py: Python<'py>,
    schedule: &Schedule,
) -> PyResult<Bound<'py, PyTuple>> {
    match *schedule {
        Schedule::RoundRobin { horizon, period } => {
            (ROUND_ROBIN, horizon, period).into_pyobject(py)
        }
        Schedule::Geometric { growth, rounds } => {
            (GEOMETRIC, (growth.numerator, growth.denominator), rounds).into_pyobject(py)
        }
        Schedule::Punctual { horizon } => (PUNCTUAL, horizon).into_pyobject(py),
        Schedule::Batch { horizon } => (BATCH, horizon).into_pyobject(py),
        Schedule::Single { horizon: None } => (SINGLE,).into_pyobject(py),
        Schedule::Single {
            horizon: Some(horizon),
        } => (SINGLE, horizon).into_pyobject(py),
    }
}

/// Return the reasons for NOT PRIVATE as phrases.
pub(crate) fn reasons_of(py: Python<'_>, not_private: NotPrivate) -> PyResult<Bound<'_, PyTuple>> {
    PyTuple::new(py, not_private.reasons().collect::<Vec<_>>())
}

pub(crate) fn facts_of<'py>(py: Python<'py>, design: &Design) -> PyResult<Bound<'py, PyDict>> {
    let facts = PyDict::new(py);
    facts.set_item("variant", design.variant.name())?;
    facts.set_item("slots", design.slots)?;
    facts.set_item("threshold", design.threshold)?;
    facts.set_item("sure_count", design.sure_count)?;
    facts.set_item("rates", (design.rates.rising, design.rates.falling))?;
    facts.set_item("threshold_delta", design.threshold_delta)?;
    facts.set_item("digits", design.noise_digits())?;
    facts.set_item("probabilities", design.probabilities())?;
    facts.set_item("bytes", design.bytes)?;
    Ok(facts)
}

/// Return `(sensitivity2, nodes_per_leaf, nodes, draws)` of a mechanism for a number of pushes.
#[pyfunction]
#[pyo3(signature = (*, mechanism, leaves))]
pub(crate) fn mechanism_facts(mechanism: &str, leaves: u64) -> PyResult<(f64, u64, u64, u64)> {
    let mechanism = Mechanism::new(mechanism_of(mechanism)?, leaves).map_err(raise)?;
    Ok((
        mechanism.sensitivity2(),
        mechanism.nodes_per_leaf(),
        mechanism.nodes(),
        mechanism.draws(),
    ))
}

/// Return the rows of a mechanism's table, depth by depth, for independent checks; empty for closed
/// forms.
#[pyfunction]
#[pyo3(signature = (*, mechanism, leaves))]
pub(crate) fn mechanism_rows<'py>(
    py: Python<'py>,
    mechanism: &str,
    leaves: u64,
) -> PyResult<Bound<'py, PyArray1<i16>>> {
    let mechanism = Mechanism::new(mechanism_of(mechanism)?, leaves).map_err(raise)?;
    Ok(PyArray1::from_slice(py, mechanism.rows()))
}

/// Return the largest number of pushes of a cell that a mechanism supports.
#[pyfunction]
#[pyo3(signature = (*, mechanism))]
pub(crate) fn mechanism_largest_leaves(mechanism: &str) -> PyResult<u64> {
    Ok(mechanism_of(mechanism)?.largest_leaves())
}

/// Return whether the exact sums of a mechanism fit 126 bits at this sigma.
#[pyfunction]
#[pyo3(signature = (*, mechanism, leaves, sigma))]
pub(crate) fn mechanism_fits(mechanism: &str, leaves: u64, sigma: f64) -> PyResult<bool> {
    let mechanism = Mechanism::new(mechanism_of(mechanism)?, leaves).map_err(raise)?;
    let drawable = sigma > 0.0 && sigma <= LARGEST_SIGMA;
    Ok(drawable && mechanism.check_size(&RoundedGaussian::new(sigma)).is_ok())
}

/// Return the variances of the noise of some pushes, in units of sigma^2, also of the leaf
/// after the last one; 0 for push 0.
#[pyfunction]
#[pyo3(signature = (*, mechanism, leaves, pushes))]
pub(crate) fn mechanism_variances<'py>(
    py: Python<'py>,
    mechanism: &str,
    leaves: u64,
    pushes: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let mechanism = Mechanism::new(mechanism_of(mechanism)?, leaves).map_err(raise)?;
    let pushes = counts_of("pushes", pushes)?;
    check_pushes(&pushes, mechanism.extra_leaf())?;
    let variance = |push| {
        if push == 0 {
            0.0
        } else {
            mechanism.variance(push)
        }
    };
    let variances = memory::collected(pushes.into_iter().map(variance)).map_err(raise)?;
    Ok(PyArray1::from_vec(py, variances))
}

/// Return the variances of the differences of the noise of pushes, in units of sigma^2; push 0 has
/// none.
#[pyfunction]
#[pyo3(signature = (*, mechanism, leaves, late, early))]
pub(crate) fn mechanism_difference_variances<'py>(
    py: Python<'py>,
    mechanism: &str,
    leaves: u64,
    late: Vec<u64>,
    early: Vec<u64>,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let name = mechanism;
    let mechanism = Mechanism::new(mechanism_of(name)?, leaves).map_err(raise)?;
    check_pushes(&late, mechanism.extra_leaf())?;
    check_pushes(&early, mechanism.extra_leaf())?;
    let pairs = late.into_iter().zip(early);
    let found = pairs.map(|(late, early)| mechanism.difference_variance(late, early));
    match found.collect::<Option<Vec<f64>>>() {
        Some(variances) => Ok(PyArray1::from_vec(py, variances)),
        None => unknown(
            "mechanism",
            "one whose noise is rounded once per push (tree, tree-log, haar, binary)",
            name,
        ),
    }
}

/// Return the leaf of the final push of cells after some numbers of pushes.
#[pyfunction]
#[pyo3(signature = (*, mechanism, leaves, pushes, nothing_pending))]
pub(crate) fn mechanism_final_pushes(
    mechanism: &str,
    leaves: u64,
    pushes: Vec<u64>,
    nothing_pending: bool,
) -> PyResult<Vec<u64>> {
    let mechanism = Mechanism::new(mechanism_of(mechanism)?, leaves).map_err(raise)?;
    check_pushes(&pushes, mechanism.nodes())?;
    let last = |push| mechanism.final_push(push, nothing_pending);
    Ok(pushes.into_iter().map(last).collect())
}

fn check_pushes(pushes: &[u64], most: u64) -> PyResult<()> {
    match pushes.iter().find(|&&push| push > most) {
        Some(push) => unknown(
            "pushes",
            &format!("integers from 0 to {most}"),
            &push.to_string(),
        ),
        None => Ok(()),
    }
}

/// Return the largest number of pushes of a cell under a schedule.
#[pyfunction]
#[pyo3(signature = (*, schedule, width))]
pub(crate) fn schedule_leaves(schedule: ScheduleArguments, width: u32) -> PyResult<u64> {
    Ok(schedule_of(&schedule)?.leaves(width))
}

/// Return the number of pushes of every column after `step` steps.
#[pyfunction]
#[pyo3(signature = (*, schedule, width, step))]
pub(crate) fn schedule_pushes<'py>(
    py: Python<'py>,
    schedule: ScheduleArguments,
    width: u32,
    step: u64,
) -> PyResult<Bound<'py, PyArray1<i64>>> {
    let progress = schedule_of(&schedule)?.progress(step, width);
    let pushes = (0..width).map(|column| progress.pushes(column) as i64);
    let pushes = memory::collected(pushes).map_err(raise)?;
    Ok(PyArray1::from_vec(py, pushes))
}

/// Return the step of every column's last push after `step` steps; 0 before the first push.
#[pyfunction]
#[pyo3(signature = (*, schedule, width, step))]
pub(crate) fn schedule_published_steps<'py>(
    py: Python<'py>,
    schedule: ScheduleArguments,
    width: u32,
    step: u64,
) -> PyResult<Bound<'py, PyArray1<i64>>> {
    let steps = schedule_of(&schedule)?.published_steps(step, width);
    let steps = steps.map_err(raise)?.into_iter().map(|step| step as i64);
    Ok(PyArray1::from_vec(
        py,
        memory::collected(steps).map_err(raise)?,
    ))
}
