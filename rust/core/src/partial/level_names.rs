//! Names of a step at the levels of a hierarchy, from those of its finest level.
//!
//! A name determines the names above it, so workers count those of the finest level alone, and the
//! store makes the exact counts of the others: each event counts once at every level.

use super::counts::PartialCounts;
use super::names::{CountedName, NameCounts, NameLimits};
use super::refusals::refused;
use crate::Result;
use crate::discovery::counted_names::NamesInOrder;
use crate::discovery::name::NameKind;
use crate::item::Item;
use crate::partial::spec::PartialSpec;

/// The names of a step at one level, with their exact counts.
pub struct StepNames {
    pub(crate) names: NameCounts,
    /// Number of events, among them those that leave no trace.
    pub(crate) events: u64,
    /// The description of the step.
    pub(crate) spec: PartialSpec,
    /// The order in which discovery counts them, once everything was checked.
    pub(crate) order: Option<NamesInOrder>,
}

/// No limit other than memory: the names of the finest level have theirs, and no level has more.
const UNLIMITED: NameLimits = NameLimits {
    names: u32::MAX as u64,
    bytes: u64::MAX,
};

impl PartialCounts {
    /// The names of every level, the coarsest first. `split` calls its argument with the number and the
    /// name of each level, and returns whether the item has names.
    pub fn names_of_levels(
        &self,
        levels: usize,
        mut split: impl FnMut(Item<'_>, &mut dyn FnMut(usize, &[u8])) -> bool,
    ) -> Result<Vec<StepNames>> {
        let (finest, events, spec) = (self.names()?, self.events()?, *self.spec());
        let mut found = Vec::with_capacity(levels);
        for _ in 0..levels {
            found.push(StepNames {
                names: NameCounts::new(finest.counted_apart())?,
                events,
                spec,
                order: None,
            });
        }
        for at in 0..finest.len() {
            let name = finest.name(at);
            let (mut result, mut number, mut is_same) = (Ok(()), 0, false);
            let mut add = |level: usize, content: &[u8]| {
                is_same = level == number && content == name.content;
                number += 1;
                let least = planted!(
                    "rare-names-have-no-coarser-ones",
                    1 + u64::from(number < levels),
                    1
                );
                if name.weight < least {
                    return;
                }
                let weight = planted!(
                    "a-finer-name-is-one-event-of-a-coarser",
                    if number < levels { 1 } else { name.weight },
                    name.weight
                );
                let own = CountedName {
                    kind: NameKind::Text,
                    content,
                    weight,
                    units: name.units.min(weight),
                };
                if result.is_ok()
                    && let Some(level) = found.get_mut(level)
                {
                    result = level.names.add_name(own, UNLIMITED);
                }
            };
            let has_names = split(finest.item(at), &mut add);
            result?;
            if !has_names || number != levels || !is_same || name.kind != NameKind::Text {
                return refused("names of these levels", "others");
            }
        }
        Ok(found)
    }
}
