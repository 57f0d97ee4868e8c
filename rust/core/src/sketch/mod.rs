//! Live sketches: the only values that hold exact counts.
//!
//! | module | what |
//! |---|---|
//! | [`heavy_hitters`] | a private sketch and discovery over one stream |
//! | `updates`, `point_query`, `oracle` | updates, queries, and draws (for tests) of a private sketch |
//! | `partial_steps`, `partial_names` | steps whose events, or names, workers have counted |
//! | [`public_view`] | the public table of a live sketch, kept between reads |
//! | `released_table`, `kept_table` | the public table, of which only what was pushed since the last release is drawn again |
//! | `private` | the private sketch: parameters, state, checks, release |
//! | `saved` | the state of a live sketch in bytes, and going on from it |
//! | `open_step`, `cell_noise` | events of a step that is not over; the noise of every (cell, push) |
//! | [`steps_ahead`] | events of the open step and of later ones, in any order |
//! | [`exact`] | sketches without noise, NOT PRIVATE |

mod cell_noise;
#[cfg(test)]
mod distinct_items;
pub mod exact;
pub mod heavy_hitters;
mod kept_table;
mod open_step;
mod oracle;
mod partial_names;
mod partial_steps;
mod point_query;
mod private;
pub mod public_view;
mod released_table;
mod saved;
pub mod steps_ahead;
mod updates;

pub use private::PrivateSketch;
