//! Differentially private Count-Min and Count sketches under continual observation.
//!
//! The core of lazysketch: everything that touches exact counts, keys and noise, without
//! Python. The public table may be read after every event, for ever; everything ever read
//! together satisfies the (epsilon, delta) that sigma was calibrated for.
//!
//! | floor | modules |
//! |---|---|
//! | sketches | [`heavy`], [`sketch`], [`exact`] |
//! | names | [`discovery`] |
//! | public tables | `reading`, [`release`], [`codec`] |
//! | counting | `ingest`, `counting`, `lanes`, `table`, [`batch`], [`hash`], [`schedule`] |
//! | noise | `noise`, [`mechanism`], [`gaussian`], `draws`, [`prf`] |
//! | values | [`parameters`], `guarantee`, [`item`], [`key`], [`error`] |
//!
//! An update costs one hash and one addition per row plus the pushes that fall due, and no
//! draw; a point query costs depth * O(log n) draws of some tens of nanoseconds. Source: R. Holland,
//! "Faster Differentially Private Sketches under Continual Observation", arXiv 2507.03361,
//! with the corrections recorded in docs/guarantees.md.
pub mod batch;
pub mod codec;
mod counting;
pub mod discovery;
mod draws;
pub mod error;
pub mod exact;
pub mod gaussian;
mod guarantee;
pub mod hash;
pub mod heavy;
mod ingest;
pub mod item;
pub mod key;
mod lanes;
pub mod mechanism;
mod noise;
pub mod parameters;
pub mod prf;
mod reading;
pub mod release;
pub mod schedule;
pub mod sketch;
mod table;
#[cfg(test)]
mod timing;

pub use error::{Error, Result};
