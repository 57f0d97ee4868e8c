//! Steps whose names workers have counted: the exact counts of all names become one step, or a part of
//! the open one, of the table and of discovery.
//!
//! The table is that of [`HeavySketch::update_batch`] with the events themselves, for every split over
//! workers. Discovery counts each name as often as it occurred, or its weights, in the order of the secret identities:
//! what it makes of a step follows from the names and their counts (docs/theory.md, Theorem 22a).

use super::heavy_hitters::HeavySketch;
use super::private::PrivateSketch;
use crate::discovery::counted_names::NamesInOrder;
use crate::item::Item;
use crate::partial::named::USUAL_NAMES;
use crate::partial::names::NameCounts;
use crate::partial::{Levels, Named, PartialCounts, PartialSpec, StepNames};
use crate::table::ingest::CheckedBatch;
use crate::table::items::Items;
use crate::{Error, Result};

/// Names whose cells are found together.
const CHUNK: usize = 64;

impl HeavySketch {
    /// The public description for workers that count names of a step.
    pub fn partial_spec(
        &self,
        public_key: [u8; 32],
        issued: u64,
        most_events: Option<u64>,
        most_names: Option<u64>,
        levels: Option<Levels>,
    ) -> Result<PartialSpec> {
        let table = (self.sketch).partial_spec(public_key, issued, most_events)?;
        let named = Named {
            most_names: most_names.unwrap_or(USUAL_NAMES),
            counted_weight: self.discovery.spec().counted_weight,
            levels,
        };
        let spec = PartialSpec {
            named: Some(named),
            ..table
        };
        spec.validate()?;
        Ok(spec)
    }

    /// All checks and all memory of [`Self::add_partial`], or of [`Self::add_partial_to_batch`], which
    /// then cannot fail.
    fn prepare_partial(
        &mut self,
        counts: &PartialCounts,
        in_open_step: bool,
    ) -> Result<NamesInOrder> {
        self.check_takes_names(counts.spec())?;
        self.prepare_names(counts.names()?, counts.events()?, in_open_step)
    }

    /// Checks that counts under a description are of this table and name its items.
    pub fn check_takes_names(&self, spec: &PartialSpec) -> Result<()> {
        self.sketch.check_partial(spec)?;
        self.check_counts_names(spec)
    }

    fn check_counts_names(&self, spec: &PartialSpec) -> Result<()> {
        let counted = self.discovery.spec().counted_weight;
        if (spec.named).is_none_or(|named| named.counted_weight != counted)
            || spec.max_weight != self.sketch.spec().max_weight
        {
            let expected = "counts of names for this table";
            return Err(Error::parameter("sealed", expected, "others"));
        }
        Ok(())
    }

    fn prepare_names(
        &mut self,
        names: &NameCounts,
        events: u64,
        in_open_step: bool,
    ) -> Result<NamesInOrder> {
        self.sketch.prepare_counted(events)?;
        self.sketch.make_room_for_names(in_open_step)?;
        self.discovery.in_order(names.len(), |at| names.item(at))
    }

    /// All checks and all memory of [`Self::add_step_names`], which then cannot fail.
    pub fn prepare_step_names(&mut self, step: &mut StepNames, in_open_step: bool) -> Result<()> {
        self.check_counts_names(&step.spec)?;
        step.order = Some(self.prepare_names(&step.names, step.events, in_open_step)?);
        Ok(())
    }

    /// One step with the names of one level of a hierarchy, or events of the open step.
    pub fn add_step_names(&mut self, step: &StepNames, in_open_step: bool) -> Result<()> {
        let order = step.order.as_ref().ok_or(Error::Closed)?;
        if planted!("a-level-counts-its-names-twice") {
            self.add_names_to_batch(&step.names, step.events, order)?;
        }
        match in_open_step {
            false => self.add_names(&step.names, order),
            true => self.add_names_to_batch(&step.names, step.events, order),
        }
    }

    /// One step with the names of some counts; everything is checked before anything is added. Events
    /// of the open step share it.
    pub fn add_partial(&mut self, counts: &PartialCounts) -> Result<()> {
        let order = self.prepare_partial(counts, false)?;
        self.add_names(counts.names()?, &order)
    }

    fn add_names(&mut self, names: &NameCounts, order: &NamesInOrder) -> Result<()> {
        self.sketch.add_names(names)?;
        self.count_names(names, order);
        self.discovery.tick(1);
        Ok(())
    }

    /// Names of the open step. No read sees them before [`Self::tick`], or any other step, closes it.
    pub fn add_partial_to_batch(&mut self, counts: &PartialCounts) -> Result<()> {
        let order = self.prepare_partial(counts, true)?;
        self.add_names_to_batch(counts.names()?, counts.events()?, &order)
    }

    fn add_names_to_batch(
        &mut self,
        names: &NameCounts,
        events: u64,
        order: &NamesInOrder,
    ) -> Result<()> {
        self.sketch.add_names_to_batch(names, events)?;
        self.count_names(names, order);
        Ok(())
    }

    fn count_names(&mut self, names: &NameCounts, order: &NamesInOrder) {
        let units = |at: usize| names.name(at).units;
        let item = |at: usize| names.item(at);
        self.discovery.count_names(order, item, units);
    }
}

impl PrivateSketch {
    /// Memory for finding the cells of names.
    fn make_room_for_names(&mut self, in_open_step: bool) -> Result<()> {
        let state = self.state.as_mut().ok_or(Error::Closed)?;
        match in_open_step {
            false => state.table.make_room_for_places(),
            true => state.open_step()?.table_mut().make_room_for_places(),
        }
    }

    fn add_names(&mut self, names: &NameCounts) -> Result<()> {
        let (kind, fingerprinter) = (self.shape.kind, self.fingerprinter);
        self.add_step(|state| {
            let batch = CheckedBatch {
                kind,
                fingerprinter: &fingerprinter,
                hashes: state.estimator.hashes(),
                items: Items::Mixed(&[]),
                weights: None,
                max_weight: u64::MAX,
                signed: false,
            };
            for_each_batch(names, batch, |batch| batch.publish(&mut state.table, 1))
        })
    }

    fn add_names_to_batch(&mut self, names: &NameCounts, events: u64) -> Result<()> {
        let state = self.state.as_mut().ok_or(Error::Closed)?;
        state.open_step()?.begin(events);
        let Some(open) = &mut state.open else {
            return Err(Error::Closed);
        };
        let batch = CheckedBatch {
            kind: self.shape.kind,
            fingerprinter: &self.fingerprinter,
            hashes: state.estimator.hashes(),
            items: Items::Mixed(&[]),
            weights: None,
            max_weight: u64::MAX,
            signed: false,
        };
        for_each_batch(names, batch, |batch| batch.publish(open.table_mut(), 1))
    }
}

/// Calls `with` on batches in which each name is one event of its whole weight.
fn for_each_batch(
    names: &NameCounts,
    like: CheckedBatch<'_>,
    mut with: impl FnMut(CheckedBatch<'_>) -> Result<()>,
) -> Result<()> {
    let (mut items, mut weights) = ([Item::Unsigned(0); CHUNK], [0; CHUNK]);
    for start in (0..names.len()).step_by(CHUNK) {
        let length = CHUNK.min(names.len() - start);
        for at in 0..length {
            items[at] = names.item(start + at);
            weights[at] = names.name(start + at).weight;
        }
        with(CheckedBatch {
            items: Items::Mixed(&items[..length]),
            weights: Some(&weights[..length]),
            ..like
        })?;
    }
    Ok(())
}
