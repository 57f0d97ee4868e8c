//! Differentially private Count-Min and Count sketches under continual observation.
//!
//! The core of lazysketch: all code that handles exact counts, keys and noise, without Python. The
//! public table may be read after every event, indefinitely; all reads together satisfy the
//! (epsilon, delta) that sigma was calibrated for.
//!
//! A file or folder uses only those below it; `tools/module_graph.py` checks that there is no
//! cycle.
//!
//! ```text
//!                  sketch      the live tables: private, exact, with discovery; noise of each cell
//!                 /      \
//!         discovery      partial      names of heavy items   |   counts of workers, sealed
//!                 \      /
//!                  release     public tables and their bytes
//!                     |
//!                   table      items, hashes, exact counts, the loops that count a batch
//!                     |
//!                     |   peeling    intervals without the heavy names of a public list
//!                     |  /
//!                estimation    estimates and intervals of counts from public values
//!                     |
//!                 guarantee    what is NOT PRIVATE, and why
//!                     |
//!                parameters    shape, noise and guarantee of a sketch
//!                 /      \
//!         mechanism      schedule      how a cell counts n pushes   |   when columns are pushed
//!                 |
//!               noise          the keyed pseudo-random function, Gaussian draws
//!                 |
//!         saved_state  byte_reader    the exact state of a live sketch in bytes
//!                 |
//!         fixed_width    texts and bytes in arrays of one width
//!                 |
//!   simd  key  item  memory  error   one loop for several widths of registers; keys; values
//! ```
//!
//! An update costs one hash and one addition per row plus the pushes that fall due, and no draw; a
//! point query costs depth * O(log n) draws of some tens of nanoseconds. Source: R. Holland,
//! "Faster Differentially Private Sketches under Continual Observation", arXiv 2507.03361, with the
//! corrections recorded in docs/guarantees.md.
#[doc(hidden)]
#[macro_use]
pub mod planted;

mod byte_reader;
pub mod discovery;
pub mod error;
pub mod estimation;
pub mod fixed_width;
pub mod guarantee;
pub mod item;
pub mod key;
pub mod mechanism;
pub mod memory;
pub mod noise;
pub mod parameters;
pub mod partial;
#[cfg(test)]
mod pearson;
pub mod peeling;
pub mod people;
pub mod release;
pub mod saved_state;
pub mod schedule;
mod simd;
pub mod sketch;
pub mod table;

pub use error::{Error, Result};
