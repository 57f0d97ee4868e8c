//! Exact counts of workers, which can be added and sealed and nothing else.
//!
//! A worker gets a [`PartialSpec`], which is public, and counts events into a [`PartialCounts`]. That
//! is a table without noise, so it is as secret as the events: it has no reader, it is erased when it
//! is dropped, and it leaves the process as ciphertext that one store can open. The store adds the
//! partial counts of all workers to its private table as one step of the batch schedule, where the
//! noise is drawn, once. So counting on many machines costs no noise (docs/theory.md, "Partial
//! counts").
//!
//! Where heavy names are published, a worker counts names instead, exactly: the table follows from
//! them, and the store feeds its one discovery with those of the whole step.
//!
//! | module | what |
//! |---|---|
//! | [`spec`], [`named`], [`summed`] | what a worker has to know, in 100 bytes and a few more of names and of values by item |
//! | [`counts`] | the counts: adding events, merging, gathering those of a step |
//! | `exact_counts` | what is counted of a kind of table: cells, bits or names |
//! | `refusals` | their errors |
//! | `sum_counts` | events and their values by item: two tables |
//! | `names`, `name_index`, `saved_names` | exact counts of names, where they are, and their bytes |
//! | [`level_names`] | names of a step at the levels of a hierarchy |
//! | [`sealing`] | the store's keys, and the bytes of sealed counts (docs/state-format.md) |

pub mod counts;
pub(crate) mod exact_counts;
pub mod level_names;
mod name_index;
pub mod named;
pub(crate) mod names;
mod refusals;
mod saved_names;
pub mod sealing;
pub mod spec;
mod sum_counts;
pub mod summed;
#[cfg(test)]
mod tests;

pub use counts::PartialCounts;
pub use level_names::StepNames;
pub use named::{Levels, Named};
pub use sealing::PartialKeys;
pub use spec::PartialSpec;
pub use summed::Summed;
