//! Counts and intervals from a table whose heavy names are taken out of each other's cells.
//!
//! The names are a public list. An item's count is tested against the rest of the table: take `c`
//! out of the item's cells, fit the heavy names to what remains, and rank the item's cells among
//! all choices of one cell per row. The interval is what is not rejected. All of it is
//! post-processing of released values.
//!
//! ```text
//!        peeled      a table, its heavy names; the counts and the intervals of items
//!       /      \
//!  decode       |    which names of a long list have occurred
//!      \        |
//!       fit   ranks    counts that explain the table   |   how rare the cells of an item are
//!        |      |
//!     chosen  score    which names are taken out; a journal of changes   |   how telling an error is
//!         \    /
//!         cells      where an item is counted
//! ```

mod cells;
mod chosen;
mod decode;
mod fit;
mod journal;
mod peeled;
mod ranks;
mod score;

pub use cells::Cell;
pub use peeled::{Asked, Ends, Peeled, Tests};
