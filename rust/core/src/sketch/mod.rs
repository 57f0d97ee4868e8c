//! Live sketches: the only values that hold exact counts.
//!
//! | module | what |
//! |---|---|
//! | [`heavy_hitters`] | a private sketch and discovery over one stream |
//! | `updates`, `point_query`, `oracle` | what a private sketch counts, what it answers, its draws for tests |
//! | `private` | the private sketch: parameters, state, checks, release |
//! | `open_step`, `cell_noise` | events of a step that is not over; the noise of every (cell, push) |
//! | [`exact`] | sketches without noise, NOT PRIVATE |

mod cell_noise;
pub mod exact;
pub mod heavy_hitters;
mod open_step;
mod oracle;
mod point_query;
mod private;
mod updates;

pub use private::PrivateSketch;
