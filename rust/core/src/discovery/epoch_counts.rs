//! Counts of an epoch, of either variant.

use super::dictionary::Dictionary;
use super::misra_gries::MisraGries;
use super::name::Identities;
use super::slots::Slots;
use super::spec::{Design, DiscoverySpec, Variant};
use crate::Result;

pub(super) enum Counts {
    Dictionary(Dictionary),
    MisraGries(MisraGries),
}

impl Counts {
    /// Those of an epoch without events.
    pub(super) fn new(
        design: &Design,
        spec: &DiscoverySpec,
        identities: &Identities,
    ) -> Result<Self> {
        let (slots, max_item_bytes) = (design.slots as usize, spec.max_item_bytes as usize);
        Ok(match design.variant {
            Variant::Dictionary => Self::Dictionary(Dictionary::new(slots, max_item_bytes)?),
            Variant::MisraGries => {
                Self::MisraGries(MisraGries::new(identities.dummies(slots)?, max_item_bytes)?)
            }
        })
    }

    pub(super) fn slots(&self) -> &Slots {
        match self {
            Self::Dictionary(counts) => counts.slots(),
            Self::MisraGries(counts) => counts.slots(),
        }
    }

    pub(super) fn slots_mut(&mut self) -> &mut Slots {
        match self {
            Self::Dictionary(counts) => counts.slots_mut(),
            Self::MisraGries(counts) => counts.slots_mut(),
        }
    }

    pub(super) fn count(&self, slot: usize) -> u64 {
        match self {
            Self::Dictionary(counts) => counts.count(slot),
            Self::MisraGries(counts) => counts.count(slot),
        }
    }

    pub(super) fn clear(&mut self) {
        match self {
            Self::Dictionary(counts) => counts.clear(),
            Self::MisraGries(counts) => counts.clear(),
        }
    }
}
