//! What other modules need of a private sketch.

use crate::bounded_change::{BoundedTable, PeopleOfTables, RowsOfPeople};
use crate::guarded_sketch::{Core, GuardedSketch};
use crate::items::{Column, Target};
use crate::live_view::LiveView;
use crate::private::PrivateSketch;
use crate::release::target_of;
use lazysketch_core::Error;
use lazysketch_core::key::MasterKey;
use lazysketch_core::sketch::PrivateSketch as CoreSketch;
use lazysketch_core::table::hash::Fingerprinter;
use lazysketch_core::table::items::Items;
use pyo3::prelude::*;
use std::sync::Arc;

impl PrivateSketch {
    /// Wrap a sketch of the core.
    pub(crate) fn of_core(mut core: Core) -> Self {
        let sketch = core.sketch();
        Self {
            shape: *sketch.shape(),
            person_bound: sketch.spec().person_bound,
            not_private: sketch.not_private(),
            sketch_id: sketch.sketch_id(),
            fingerprinter: *sketch.fingerprinter(),
            guarded: GuardedSketch::new(core),
            view: LiveView::default(),
            people: None,
        }
    }

    /// Know no one yet, if the table bounds people.
    pub(crate) fn with_people(mut self, key: &MasterKey) -> PyResult<Self> {
        let bound = self.person_bound;
        let of_one = |bound| PeopleOfTables::new(key, &self.sketch_id, &[(self.shape, bound)]);
        self.people = bound.map(of_one).transpose()?.map(Arc::new);
        Ok(self)
    }

    /// Destroy the key and the counts, and what is known of people.
    pub(crate) fn close_with_people(&self, py: Python<'_>) -> PyResult<()> {
        self.guarded.detached(py, |core| {
            core.close();
            // Under the lock of the table, so that no change of another thread follows.
            if let Some(people) = &self.people {
                people.lock().forget();
            }
            Ok(())
        })
    }

    /// What a change with people needs.
    pub(crate) fn bounded(&self) -> BoundedTable<'_> {
        BoundedTable {
            shape: &self.shape,
            fingerprinter: &self.fingerprinter,
            guarded: &self.guarded,
            people: self.people.as_deref(),
        }
    }

    /// Count many events in one step: items, weights and the name of the items' column; with their
    /// people, as rows of a place.
    pub(crate) fn count_together<'py>(
        &self,
        (items, weights, column): (
            &Bound<'py, PyAny>,
            Option<&Bound<'py, PyAny>>,
            Option<Column>,
        ),
        user: Option<&Bound<'py, PyAny>>,
        place: impl FnOnce(RowsOfPeople<'py>) -> RowsOfPeople<'py>,
        count: impl FnOnce(&mut CoreSketch, Items<'_>, Option<&[u64]>) -> Result<(), Error> + Send,
    ) -> PyResult<()> {
        if let Some(user) = user {
            let rows = RowsOfPeople::of(items, column, user, weights);
            return place(rows).count_at(self.bounded(), false);
        }
        let events = (items, weights, column);
        self.guarded.count_in_one_step(events, self.target(), count)
    }

    /// The core sketch and its lock.
    pub(crate) fn guarded(&self) -> &GuardedSketch {
        &self.guarded
    }

    /// What converts items to fingerprints.
    pub(crate) fn fingerprinter(&self) -> &Fingerprinter {
        &self.fingerprinter
    }

    /// What items are converted to.
    pub(crate) fn target(&self) -> Target<'_> {
        target_of(&self.shape, &self.fingerprinter)
    }

    #[inline]
    pub(crate) fn convert(&self, item: &Bound<'_, PyAny>) -> PyResult<u64> {
        self.target().object(item).map_err(|fault| fault.of_item())
    }
}
