//! Epochs that are not open yet, whose events come before those of earlier ones.
//!
//! Each has a table of its own. An event is in the table of its epoch alone, so all epochs together
//! have the guarantee of one, whatever the order of their events. Within an epoch the events come in
//! the order of arrival.

use super::{Counts, Discovery};
use crate::table::items::Items;
use crate::{Error, Result};

impl Discovery {
    /// The memory of [`Self::count_ahead`], which then cannot fail.
    pub(crate) fn make_room_ahead(&mut self, ahead: u64) -> Result<()> {
        let epoch = self.epoch_ahead(ahead);
        let state = self.state.as_mut().ok_or(Error::Closed)?;
        if epoch != self.epoch && !state.ahead.contains_key(&epoch) {
            let counts = Counts::new(&self.design, &self.spec, &state.keys.identities)?;
            state.ahead.insert(epoch, counts);
        }
        Ok(())
    }

    /// Counts events of a step before which this many end.
    pub(crate) fn count_ahead(&mut self, ahead: u64, items: Items<'_>, weights: Option<&[u64]>) {
        let epoch = planted!(
            "names-of-later-epochs-in-the-open-one",
            self.epoch,
            self.epoch_ahead(ahead)
        );
        if epoch == self.epoch {
            return self.count(items, weights);
        }
        self.exchange(epoch);
        self.count(items, weights);
        self.exchange(epoch);
    }

    /// Makes the table of a later epoch that of the open one, and the other way round.
    fn exchange(&mut self, epoch: u64) {
        if let Some(state) = &mut self.state
            && let Some(later) = state.ahead.get_mut(&epoch)
        {
            std::mem::swap(&mut state.counting.counts, later);
        }
    }

    /// True if events of later epochs have come.
    pub(super) fn has_epochs_ahead(&self) -> bool {
        (self.state.as_ref()).is_some_and(|state| !state.ahead.is_empty())
    }

    /// The epoch of the step before which this many end.
    fn epoch_ahead(&self, ahead: u64) -> u64 {
        self.epoch + (self.taken + ahead) / self.spec.steps_per_epoch
    }
}
