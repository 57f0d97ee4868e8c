//! The store: a log, checkpoints and an anchor on disk, from which live tables go on.
//!
//! Python sees the events that it logged and opaque states; exact counts stay here.

use crate::errors::{
    ArgumentValueError, ClosedError, StoreDoubtError, StoreError, StoreInUseError, raise,
};
use crate::hierarchy::Hierarchy;
use crate::key::{Key, Place};
use crate::maker_process::MakerProcess;
use crate::partial::{GatheredCounts, ValuesOfWorkers};
use crate::people::People;
use crate::private::PrivateSketch;
use crate::record_parts::{LoggedPart, RecordPart};
use crate::saved_state::SavedState;
use lazysketch_core::key::{MasterKey, Origin};
use lazysketch_core::memory;
use lazysketch_core::partial::{PartialKeys, PartialSpec};
use lazysketch_core::saved_state::SavedState as CoreState;
use lazysketch_store::{
    Anchor, AnchorPlace, Directory, Error as CoreError, LARGEST_RECORD, Recovered,
    Store as CoreStore, StoreKey,
};
use pyo3::exceptions::PyMemoryError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

const ADVICE: &str = "two processes would publish the same noise with different counts";

/// A store in a directory, locked as long as this object is open.
#[pyclass(frozen, module = "lazysketch._native")]
pub(crate) struct Store {
    maker: MakerProcess,
    open: Mutex<Option<Arc<CoreStore>>>,
    noise_key: MasterKey,
    partial_keys: Arc<PartialKeys>,
    store_id: [u8; 16],
    anchored: bool,
    is_new: bool,
    last: u64,
    recovered: Mutex<Option<Recovered>>,
}

impl Store {
    fn opened(&self) -> PyResult<Arc<CoreStore>> {
        self.maker.check()?;
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let closed = || ClosedError::new_err("store: expected an open store, got a closed one");
        open.as_ref().map(Arc::clone).ok_or_else(closed)
    }

    fn spec_for_workers(
        &self,
        table: &Bound<'_, PrivateSketch>,
        issued: u64,
        most: (Option<u64>, Option<u64>),
        levels: Option<&Bound<'_, Hierarchy>>,
        values: Option<ValuesOfWorkers<'_>>,
    ) -> PyResult<PartialSpec> {
        let levels = levels.map(|levels| levels.get().levels()).transpose();
        let levels = levels.map_err(raise)?;
        let public_key = self.partial_keys.public_key();
        let spec = {
            let core = table.get().guarded().lock(table.py())?;
            (core.partial_spec(public_key, issued, most, levels)).map_err(raise)?
        };
        let Some((of_values, low, high, is_exact)) = values else {
            return Ok(spec);
        };
        let mut core = of_values.get().guarded().lock(table.py())?;
        (core.partial_spec_of_values(spec, (low, high, is_exact), most.0)).map_err(raise)
    }

    fn with_recovered<T>(
        &self,
        with: impl FnOnce(&Recovered) -> PyResult<T>,
    ) -> PyResult<Option<T>> {
        let recovered = self
            .recovered
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        recovered.as_ref().map(with).transpose()
    }
}

#[pymethods]
impl Store {
    /// Open the store in a directory, or make one there. The directories exist. With `renew` the
    /// anchor is replaced whatever it says, by a caller that begins another era.
    #[new]
    #[pyo3(signature = (folder, *, key, anchor, renew=false))]
    fn new(
        py: Python<'_>,
        folder: PathBuf,
        key: &Bound<'_, Key>,
        anchor: Option<PathBuf>,
        renew: bool,
    ) -> PyResult<Self> {
        let master = &key.get().master;
        if master.origin() == Origin::Seeded {
            return Err(ArgumentValueError::new_err(
                "key: expected a secret key, got a test key, with which anyone could read the store",
            ));
        }
        let key = StoreKey::from_bytes(*master.expose());
        let (store, recovered) = py.detach(|| {
            let disk = Arc::new(directory(&folder)?);
            let anchor = match anchor.as_deref() {
                None => Anchor::None,
                Some(path) if renew => Anchor::Renew(anchor_at(path)?),
                Some(path) => Anchor::At(anchor_at(path)?),
            };
            CoreStore::open(disk, &key, &anchor).map_err(raise_store)
        })?;
        Ok(Self {
            maker: MakerProcess::this("store", ADVICE),
            open: Mutex::new(Some(Arc::new(store))),
            noise_key: recovered.noise_key.clone(),
            partial_keys: Arc::new(PartialKeys::of_store(
                &recovered.noise_key,
                &recovered.store_id,
            )),
            store_id: recovered.store_id,
            anchored: recovered.anchored,
            is_new: recovered.is_new,
            last: recovered.last,
            recovered: Mutex::new(Some(recovered)),
        })
    }

    /// 16 public bytes, the same in all lives of the store.
    #[getter]
    fn store_id<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.store_id)
    }

    /// Return the key of one table, whose noise belongs to this era, name and number.
    fn key_of(&self, era: u64, name: String, number: u64) -> Key {
        let place = Place {
            store: self.store_id,
            era,
            name,
            number,
        };
        Key::of_store(self.noise_key.clone(), place)
    }

    /// Return the public description of a table for workers that count parts of its steps.
    #[pyo3(signature = (
        table, issued, most_events=None, most_names=None, levels=None, values=None,
    ))]
    fn partial_spec<'py>(
        &self,
        table: &Bound<'py, PrivateSketch>,
        issued: u64,
        most_events: Option<u64>,
        most_names: Option<u64>,
        levels: Option<&Bound<'py, Hierarchy>>,
        values: Option<ValuesOfWorkers<'py>>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let most = (most_events, most_names);
        let spec = self.spec_for_workers(table, issued, most, levels, values)?;
        let mut core = table.get().guarded().lock(table.py())?;
        let bytes = spec.encode_for_worker(core.sketch().edges());
        Ok(PyBytes::new(table.py(), &bytes))
    }

    /// Return an empty sum of partial counts for a step of a table.
    #[pyo3(signature = (table, levels=None, values=None))]
    fn gathered(
        &self,
        table: &Bound<'_, PrivateSketch>,
        levels: Option<&Bound<'_, Hierarchy>>,
        values: Option<ValuesOfWorkers<'_>>,
    ) -> PyResult<GatheredCounts> {
        self.maker.check()?;
        let of_none = self.spec_for_workers(table, 0, (Some(1), None), levels, values)?;
        let spec = of_none.with_fewest_names();
        GatheredCounts::of(Arc::clone(&self.partial_keys), spec)
    }

    /// True if an anchor showed that this is the newest state of the store, or if it is new.
    #[getter]
    fn anchored(&self) -> bool {
        self.anchored
    }

    /// True if the store was made by this object.
    #[getter]
    fn is_new(&self) -> bool {
        self.is_new
    }

    /// Number of the last record that was found; 0 if none was.
    #[getter]
    fn last(&self) -> u64 {
        self.last
    }

    /// Bytes of the largest record.
    #[getter]
    fn largest_record(&self) -> usize {
        LARGEST_RECORD
    }

    /// Return the header of the last checkpoint, or None.
    fn checkpoint_header<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let found = self.with_recovered(|recovered| match &recovered.checkpoint {
            None => Ok(None),
            Some(checkpoint) => {
                Parts::of(&checkpoint.body).map(|parts| Some(parts.header.to_vec()))
            }
        })?;
        Ok(found.flatten().map(|header| PyBytes::new(py, &header)))
    }

    /// Return a state of the last checkpoint, by its place there.
    fn checkpoint_state(&self, at: usize) -> PyResult<SavedState> {
        let found = self.with_recovered(|recovered| {
            let body = recovered.checkpoint.as_ref().map(|it| it.body.as_slice());
            let mut parts = Parts::of(body.unwrap_or_default())?;
            for _ in 0..at {
                parts.next()?;
            }
            let bytes = memory::copied(parts.next()?).map_err(raise)?;
            Ok(CoreState::from_bytes(bytes))
        })?;
        let inner = found.ok_or_else(|| damaged("no checkpoint any more"))?;
        Ok(SavedState::of(inner))
    }

    /// Return the records after the last checkpoint, in order.
    fn records<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyBytes>>> {
        let found = self.with_recovered(|recovered| {
            let records = recovered.records.iter();
            let mut objects = memory::room_for(recovered.records.len()).map_err(raise)?;
            objects.extend(records.map(|record| PyBytes::new(py, record)));
            Ok(objects)
        })?;
        Ok(found.unwrap_or_default())
    }

    /// Free what was found when the store was opened.
    fn forget_recovered(&self) {
        let mut recovered = self
            .recovered
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        *recovered = None;
    }

    /// Append a record, and return its number. It is durable after the next commit.
    fn append(&self, py: Python<'_>, parts: Vec<RecordPart<'_>>) -> PyResult<u64> {
        let store = self.opened()?;
        let parts: Vec<LoggedPart<'_>> = parts.iter().map(RecordPart::content).collect();
        let size = parts.iter().map(LoggedPart::size).sum();
        py.detach(|| {
            let write = |out: &mut Vec<u8>| parts.iter().try_for_each(|part| part.write(out));
            store.append_written(size, write).map_err(raise_store)
        })
    }

    /// Make every record durable that was appended, and return the number of the last one.
    fn commit(&self, py: Python<'_>) -> PyResult<u64> {
        let store = self.opened()?;
        py.detach(|| store.commit().map_err(raise_store))
    }

    /// Write a checkpoint that stands for all records through `through`: a header, and the states of
    /// some tables and of their people.
    fn checkpoint(
        &self,
        py: Python<'_>,
        through: u64,
        header: &Bound<'_, PyBytes>,
        states: Vec<Saved<'_>>,
    ) -> PyResult<()> {
        let store = self.opened()?;
        let header = header.as_bytes();
        let mut length = 8 + header.len();
        for state in &states {
            length += 8 + state.bytes(py)?;
        }
        // All states in one buffer, where they are sealed.
        let mut body = memory::room_for(length).map_err(raise)?;
        body.extend((header.len() as u64).to_le_bytes());
        body.extend_from_slice(header);
        for state in &states {
            body.extend((state.bytes(py)? as u64).to_le_bytes());
            body = state.after(py, body)?;
        }
        py.detach(|| store.checkpoint(through, body).map_err(raise_store))
    }

    /// Wrap the keys of the store under another key; the noise stays as it is.
    fn rotate(&self, py: Python<'_>, key: &Bound<'_, Key>) -> PyResult<()> {
        let store = self.opened()?;
        let key = StoreKey::from_bytes(*key.get().master.expose());
        py.detach(|| store.rotate(&key).map_err(raise_store))
    }

    /// Commit, release the locks and refuse every further call.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let open = {
            let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
            open.take()
        };
        self.forget_recovered();
        let Some(store) = open else {
            return Ok(());
        };
        self.maker.check()?;
        py.detach(|| store.settle().map_err(raise_store))
    }
}

/// What has a state in a checkpoint. No one changes it meanwhile: the journal's lock is held.
#[derive(FromPyObject)]
enum Saved<'py> {
    Table(Bound<'py, PrivateSketch>),
    People(Bound<'py, People>),
}

impl Saved<'_> {
    /// Number of bytes of the state.
    fn bytes(&self, py: Python<'_>) -> PyResult<usize> {
        match self {
            Self::Table(table) => table.get().guarded().detached(py, |it| it.saved_bytes()),
            Self::People(people) => people.get().saved_bytes(py),
        }
    }

    /// Append the state.
    fn after(&self, py: Python<'_>, body: Vec<u8>) -> PyResult<Vec<u8>> {
        match self {
            Self::Table(table) => table.get().guarded().detached(py, |it| it.save_after(body)),
            Self::People(people) => people.get().save_after(py, body),
        }
    }
}

/// A directory that exists.
fn directory(path: &Path) -> PyResult<Directory> {
    Directory::open(path)
        .map_err(|error| StoreError::new_err(format!("folder: expected a directory, got {error}")))
}

fn anchor_at(path: &Path) -> PyResult<AnchorPlace> {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name().and_then(|it| it.to_str()))
    else {
        let message = "anchor: expected the path of a file, got another";
        return Err(ArgumentValueError::new_err(message));
    };
    Ok(AnchorPlace {
        disk: Arc::new(directory(parent)?),
        name: name.into(),
    })
}

/// The body of a checkpoint: a header and some states, each after its length.
struct Parts<'a> {
    header: &'a [u8],
    rest: &'a [u8],
}

impl<'a> Parts<'a> {
    fn of(body: &'a [u8]) -> PyResult<Self> {
        let mut parts = Self {
            header: &[],
            rest: body,
        };
        parts.header = parts.next()?;
        Ok(parts)
    }

    fn next(&mut self) -> PyResult<&'a [u8]> {
        let too_short = || damaged("a checkpoint that is too short");
        let (length, rest) = self.rest.split_first_chunk::<8>().ok_or_else(too_short)?;
        let length = usize::try_from(u64::from_le_bytes(*length)).unwrap_or(usize::MAX);
        let (part, rest) = rest.split_at_checked(length).ok_or_else(too_short)?;
        self.rest = rest;
        Ok(part)
    }
}

fn damaged(what: &str) -> PyErr {
    StoreError::new_err(format!("state: expected an undamaged store, got {what}"))
}

/// Return the exception for an error of the store.
fn raise_store(error: CoreError) -> PyErr {
    match error {
        CoreError::Core(error) => raise(error),
        CoreError::RolledBack(_) | CoreError::ForeignAnchor => {
            StoreDoubtError::new_err(error.to_string())
        }
        CoreError::Locked { .. } => StoreInUseError::new_err(error.to_string()),
        CoreError::TooLarge { .. } => PyMemoryError::new_err(error.to_string()),
        error => StoreError::new_err(error.to_string()),
    }
}
