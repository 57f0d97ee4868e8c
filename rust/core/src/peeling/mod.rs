//! Counts and intervals from a table whose heavy names are taken out of each other's cells.
//!
//! The names are a public list. An item's count is tested against the rest of the table: take `c`
//! out of the item's cells, fit the heavy names to what remains, and rank the item's cells among
//! all choices of one cell per row. The interval is what is not rejected. All of it is
//! post-processing of released values.
//!
//! ```text
//!        peeled        a table and a list; the counts and the intervals of items
//!       /   |   \
//!    gain heaviest |     which names are best taken out   |   estimates, and the largest of them
//!      |  /      \ |
//!  choice    intervals   which names have occurred   |   tests of a count against the rest
//!   |   \   /     \
//!   |    fit     ranks   counts that explain the table   |   how rare the cells of an item are
//!       / | \      |
//! evidence | huber |     do cells agree on a count   |   the loss of one count
//!       \  |       /
//!      score, names      how telling an error is   |   names by cell
//!           |
//!         cells          where an item is counted
//!           |
//!         middle         the middle of many values
//! ```

mod care;
mod cells;
mod choice;
mod evidence;
mod fit;
mod gain;
mod heaviest;
mod huber;
mod intervals;
mod journal;
mod listed;
mod middle;
mod names;
mod peeled;
mod purity;
mod ranks;
mod score;

pub use cells::Cell;
pub use intervals::{Ends, Tests};
pub use peeled::Peeled;
