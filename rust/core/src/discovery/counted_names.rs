//! Names that workers have counted: each as often as it was counted, in the order of the secret
//! identities.
//!
//! The order is that of no worker, so what discovery makes of a step follows from the exact counts of
//! the step alone. Streams that differ in one event differ by one copy of one name here, and all else
//! stays in its place: so the guarantee is that of the events one after the other (docs/theory.md,
//! Theorem 22a).

#[cfg(test)]
mod tests;

use super::name::CHUNK;
use super::{Discovery, State};
use crate::item::Item;
use crate::{Error, Result, memory};
use zeroize::Zeroize;

/// The numbers of some names in the order of their identities.
pub(crate) struct NamesInOrder {
    order: Vec<(u128, u32)>,
}

impl Drop for NamesInOrder {
    fn drop(&mut self) {
        for (identity, number) in &mut self.order {
            identity.zeroize();
            number.zeroize();
        }
    }
}

impl Discovery {
    /// The order in which [`Self::count_names`] counts `number` names; all that can fail.
    pub(crate) fn in_order<'a>(
        &self,
        number: usize,
        item: impl Fn(usize) -> Item<'a>,
    ) -> Result<NamesInOrder> {
        let state = self.state.as_ref().ok_or(Error::Closed)?;
        let mut order = memory::room_for(number)?;
        let (mut items, mut identities) = ([Item::Unsigned(0); CHUNK], [0; CHUNK]);
        for start in (0..number).step_by(CHUNK) {
            let length = CHUNK.min(number - start);
            let (items, identities) = (&mut items[..length], &mut identities[..length]);
            for (at, out) in items.iter_mut().enumerate() {
                *out = item(start + at);
            }
            state.keys.identities.fill(items, identities, |_, _| None);
            order.extend(identities.iter().copied().zip(start as u32..));
        }
        if !planted!("names-of-workers-in-the-order-of-arrival") {
            order.sort_unstable();
        }
        Ok(NamesInOrder { order })
    }

    /// Counts names of a step that has not ended, `units(i)` times each.
    pub(crate) fn count_names<'a>(
        &mut self,
        names: &NamesInOrder,
        item: impl Fn(usize) -> Item<'a>,
        units: impl Fn(usize) -> u64,
    ) {
        let Some(State { keys, counting, .. }) = &mut self.state else {
            return;
        };
        for &(identity, number) in &names.order {
            let number = number as usize;
            let units = planted!("copies-of-a-name-count-once", 1, units(number));
            let (item, hash) = (item(number), &keys.fingerprinter);
            counting.add(identity, units, item, || hash.item(item));
        }
    }
}
