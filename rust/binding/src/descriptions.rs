//! Specifications of tables and discovery, read from the attributes of Python's frozen objects.
//!
//! A new parameter of all private tables is a new field here.

use crate::errors::raise;
use crate::introspection::{
    ScheduleArguments, calibration_of, facts_of, kind_of, mechanism_of, reasons_of, relation_of,
    schedule_of, schedule_tuple,
};
use crate::key::Key;
use crate::values::value_rows_of;
use lazysketch_core::discovery::spec::DiscoverySpec as CoreDiscovery;
use lazysketch_core::guarantee::NotPrivate;
use lazysketch_core::key::Identity;
use lazysketch_core::parameters::{NoiseSpec, PersonBound, Shape, TableKind, digest_of_edges};
use lazysketch_core::schedule::EVENTS_PER_STEP;
use pyo3::exceptions::{PyAttributeError, PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

/// A description, read from the attributes of an object of Python.
///
/// Attributes may be computed by Python code, in which an interrupt may come or memory run out. The
/// derived conversions wrap each error in a `TypeError`; such a one is raised as it is.
pub(crate) struct Described<T>(pub(crate) T);

impl<'a, 'py, T> FromPyObject<'a, 'py> for Described<T>
where
    T: FromPyObject<'a, 'py, Error = PyErr>,
{
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        let py = object.py();
        T::extract(object).map(Self).map_err(|error| {
            let mut root = error.clone_ref(py);
            while let Some(cause) = root.cause(py) {
                root = cause;
            }
            let is_of_the_value = root.is_instance_of::<PyTypeError>(py)
                || root.is_instance_of::<PyValueError>(py)
                || root.is_instance_of::<PyAttributeError>(py)
                || root.is_instance_of::<PyOverflowError>(py);
            if is_of_the_value { error } else { root }
        })
    }
}

#[derive(FromPyObject)]
struct ScheduleObject {
    specification: ScheduleArguments,
}

#[derive(FromPyObject)]
struct MechanismObject {
    name: String,
}

#[derive(FromPyObject)]
struct NoiseObject {
    sigma: f64,
}

/// A `lazysketch.TableSpec`.
#[derive(FromPyObject)]
pub(crate) struct TableSpec {
    kind: String,
    depth: u32,
    width: u32,
    hash_seed: Option<u64>,
    schedule: ScheduleObject,
    chosen_mechanism: MechanismObject,
    noise: NoiseObject,
    relation: String,
    calibration: String,
    epsilon: f64,
    delta: f64,
    max_weight: u64,
    max_events_per_user: u64,
    person_bound: Option<PersonBoundObject>,
    max_changes: u32,
    bits: u32,
    edges: Vec<f64>,
    chosen_value_rows: Option<String>,
}

/// A `lazysketch.PersonBound`.
#[derive(FromPyObject)]
struct PersonBoundObject {
    cells: u32,
    events: u32,
    most_people: Option<u32>,
}

impl PersonBoundObject {
    fn core(&self) -> PersonBound {
        PersonBound {
            cells: self.cells,
            events: self.events,
            most_people: self.most_people,
        }
    }
}

impl TableSpec {
    /// Return the shape; a hash seed that is not specified follows from key and sketch id.
    pub(crate) fn shape(&self, key: &Key, identity: &Identity) -> PyResult<Shape> {
        self.shape_with(|| key.hash_seed(identity))
    }

    fn kind(&self) -> PyResult<TableKind> {
        match (self.kind.as_str(), &self.chosen_value_rows) {
            ("distinct", _) => Ok(TableKind::Distinct { bits: self.bits }),
            ("values", Some(rows)) => Ok(TableKind::Values {
                rows: value_rows_of(rows)?,
                edges: digest_of_edges(&self.edges),
            }),
            (other, _) => kind_of(other),
        }
    }

    /// Return the edges between bins, which releases state; none for other kinds.
    pub(crate) fn edges(&self) -> &[f64] {
        &self.edges
    }

    fn shape_with(&self, seed: impl FnOnce() -> u64) -> PyResult<Shape> {
        Ok(Shape {
            kind: self.kind()?,
            depth: self.depth,
            width: self.width,
            hash_seed: self.hash_seed.unwrap_or_else(seed),
        })
    }

    pub(crate) fn noise(&self) -> PyResult<NoiseSpec> {
        Ok(NoiseSpec {
            schedule: schedule_of(&self.schedule.specification)?,
            mechanism: mechanism_of(&self.chosen_mechanism.name)?,
            sigma: self.noise.sigma,
            relation: relation_of(&self.relation)?,
            calibration: calibration_of(&self.calibration)?,
            epsilon: self.epsilon,
            delta: self.delta,
            max_weight: self.max_weight,
            max_events_per_user: self.max_events_per_user,
            person_bound: self.person_bound.as_ref().map(PersonBoundObject::core),
            max_changes: self.max_changes,
        })
    }
}

/// Return the public parameters of one sketch's noise.
pub(crate) fn noise_facts<'py>(
    py: Python<'py>,
    shape: &Shape,
    spec: &NoiseSpec,
) -> PyResult<Bound<'py, PyDict>> {
    let description = PyDict::new(py);
    description.set_item("schedule", schedule_tuple(py, &spec.schedule)?)?;
    description.set_item("leaves", spec.schedule.leaves(shape.width))?;
    description.set_item("mechanism", spec.mechanism.name())?;
    description.set_item("sigma", spec.sigma)?;
    description.set_item("relation", spec.relation.name())?;
    description.set_item("calibration", spec.calibration.name())?;
    description.set_item("epsilon", spec.epsilon)?;
    description.set_item("delta", spec.delta)?;
    description.set_item("max_weight", spec.max_weight)?;
    description.set_item("max_events_per_user", spec.max_events_per_user)?;
    let bound = spec.person_bound;
    let bound = bound.map(|bound| (bound.cells, bound.events, bound.most_people));
    description.set_item("person_bound", bound)?;
    description.set_item("max_changes", spec.max_changes)?;
    Ok(description)
}

/// Return the reasons why such a table is NOT PRIVATE under a secret key; empty if it is private.
#[pyfunction]
pub(crate) fn table_not_private_because<'py>(
    py: Python<'py>,
    spec: Described<TableSpec>,
) -> PyResult<Bound<'py, PyTuple>> {
    let spec = spec.0;
    let (shape, noise) = (spec.shape_with(|| 0)?, spec.noise()?);
    shape.validate().map_err(raise)?;
    noise.validate(&shape).map_err(raise)?;
    reasons_of(py, NotPrivate::of_spec(&shape, &noise))
}

/// A `lazysketch.DiscoverySpec`.
#[derive(FromPyObject)]
pub(crate) struct DiscoverySpec {
    epsilon: f64,
    delta: f64,
    relation: String,
    max_events_per_user: u64,
    max_weight: u64,
    counted_weight: u64,
    epoch: u64,
    batches: bool,
    capacity: u32,
    max_item_bytes: u32,
}

impl DiscoverySpec {
    pub(crate) fn core(&self) -> PyResult<CoreDiscovery> {
        Ok(CoreDiscovery {
            epsilon: self.epsilon,
            delta: self.delta,
            relation: relation_of(&self.relation)?,
            max_events_per_user: self.max_events_per_user,
            max_weight: self.max_weight,
            counted_weight: self.counted_weight,
            steps_per_epoch: self.epoch,
            events_per_step: if self.batches { EVENTS_PER_STEP } else { 1 },
            capacity: self.capacity,
            max_item_bytes: self.max_item_bytes,
        })
    }
}

/// A `lazysketch.HeavyHittersSpec` that has a discovery part.
#[derive(FromPyObject)]
pub(crate) struct HeavyHittersSpec {
    pub(crate) table: TableSpec,
    pub(crate) discovery: DiscoverySpec,
}

/// Return variant, slots, threshold, noise and memory of discovery with this specification.
#[pyfunction]
pub(crate) fn discovery_facts<'py>(
    py: Python<'py>,
    spec: Described<DiscoverySpec>,
) -> PyResult<Bound<'py, PyDict>> {
    facts_of(py, &spec.0.core()?.design().map_err(raise)?)
}
