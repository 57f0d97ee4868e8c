//! Master keys.

use crate::errors::{ArgumentTypeError, ArgumentValueError, raise, type_name};
use lazysketch_core::key::{Identity, MasterKey, Origin, SketchId};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// A master key and, for tests, a fixed id for its sketches.
#[derive(Clone)]
#[pyclass(frozen, subclass, module = "lazysketch._native")]
pub(crate) struct Key {
    pub(crate) master: MasterKey,
    chosen: Option<SketchId>,
    stored: Option<Place>,
}

/// The sketch of a store that a key is for: the store, its era, the name and the number of the
/// sketch.
#[derive(Clone)]
pub(crate) struct Place {
    pub(crate) store: [u8; 16],
    pub(crate) era: u64,
    pub(crate) name: String,
    pub(crate) number: u64,
}

impl Key {
    /// The key of one sketch of a store.
    pub(crate) fn of_store(master: MasterKey, place: Place) -> Self {
        Self {
            master,
            chosen: None,
            stored: Some(place),
        }
    }

    /// Return the public hash seed of the next sketch under this key, if the user gives none. In a
    /// store it is the same in all eras, so that their releases can be merged.
    pub(crate) fn hash_seed(&self, identity: &Identity) -> u64 {
        match &self.stored {
            None => identity.hash_seed(&self.master),
            Some(place) => {
                Identity::stored(&self.master, &place.store, 0, &place.name, place.number)
                    .hash_seed(&self.master)
            }
        }
    }

    /// Return the identity of the next sketch under this key.
    pub(crate) fn identity(&self) -> PyResult<Identity> {
        if let Some(Place {
            store,
            era,
            name,
            number,
        }) = &self.stored
        {
            return Ok(Identity::stored(&self.master, store, *era, name, *number));
        }
        match self.chosen {
            None => Identity::fresh().map_err(raise),
            Some(id) => Ok(Identity::chosen(id)),
        }
    }
}

#[pymethods]
impl Key {
    #[new]
    #[pyo3(signature = (secret=None, *, seed=None, sketch_id=None, like=None))]
    fn new(
        secret: Option<&Bound<'_, PyAny>>,
        seed: Option<u64>,
        sketch_id: Option<&Bound<'_, PyAny>>,
        like: Option<&Bound<'_, Self>>,
    ) -> PyResult<Self> {
        if let Some(like) = like {
            return Ok(like.get().clone());
        }
        let chosen = sketch_id
            .map(|id| bytes_of("sketch_id", id))
            .transpose()?
            .map(SketchId);
        let master = match (secret, seed) {
            (Some(secret), None) => MasterKey::from_bytes(bytes_of("secret", secret)?),
            (None, Some(seed)) => MasterKey::seeded(seed),
            (None, None) => MasterKey::generate().map_err(raise)?,
            (Some(_), Some(_)) => {
                return Err(ArgumentTypeError::new_err(
                    "seed: expected none together with secret, got both",
                ));
            }
        };
        Ok(Self {
            master,
            chosen,
            stored: None,
        })
    }

    fn _expose<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        if self.master.origin() == Origin::Seeded || self.chosen.is_some() {
            return Err(ArgumentValueError::new_err(
                "key: expected a secret key, got a test key; its bytes could be taken for a secret",
            ));
        }
        if self.stored.is_some() {
            return Err(ArgumentValueError::new_err(
                "key: expected a key of the user, got one of a store",
            ));
        }
        Ok(PyBytes::new(py, self.master.expose()))
    }
}

/// Extract exactly N bytes; error messages contain lengths only.
fn bytes_of<const N: usize>(name: &str, value: &Bound<'_, PyAny>) -> PyResult<[u8; N]> {
    let bytes = value.cast::<PyBytes>().map_err(|_| {
        ArgumentTypeError::new_err(format!("{name}: expected bytes, got {}", type_name(value)))
    })?;
    let bytes = bytes.as_bytes();
    bytes.try_into().map_err(|_| {
        let message = format!("{name}: expected {N} bytes, got {}", bytes.len());
        ArgumentValueError::new_err(message)
    })
}
