//! When columns are pushed: a function of the step number alone.
//!
//! Columns are pushed in the order 0, 1, ..., width - 1, repeatedly, so the state of a schedule
//! after any step is one [`Progress`]: `rounds` full rounds plus `column` columns of the next.
//! Computing it costs O(1) for round robin and punctual, O(rounds) for geometric; the [`Cursor`]
//! used while counting advances in O(1).

mod cursor;
mod geometric;
mod kinds;
#[cfg(test)]
mod tests;

pub use cursor::{Cursor, Progress, Pushes};
pub use kinds::{
    DEFAULT_GROWTH, DEFAULT_ROUNDS, EVENTS_PER_STEP, Growth, LARGEST_HORIZON, Schedule,
};
