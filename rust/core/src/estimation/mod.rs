//! Estimates and intervals of counts from a public table.
//!
//! All of it is post-processing of released values and of public parameters: it needs no secret,
//! costs no privacy, and computes with floating-point numbers. It knows tables, steps and variances,
//! never a sketch. Cost: a pass over the table once, then a microsecond per item; when a column is
//! pushed, only the groups of cells that it leaves and enters are computed again.
//!
//! ```text
//!     model       the errors of a table: groups with their densities; one column changed
//!    /     \
//! joint   ends       the mean of the joint likelihood   |   the counts that a test rejects
//!    |     |
//!    |   score       tests of a count
//!    |   /  \
//!    |  /  sums      which sums of scores are rare
//!    | /     \
//!    ||   convolution   the law of a sum of two scores
//!    group        cells with one error distribution: histogram, axis, density
//!    /    \
//! density  classes   kernel estimate with real tails   |   which columns go together
//!    |
//!   axis          errors as positions in log-linear bins
//!    |
//! ordered         the values of cells in order
//! ```

mod axis;
mod classes;
mod convolution;
mod density;
mod ends;
mod group;
mod joint;
mod model;
mod ordered;
mod score;
mod sums;

pub(crate) use convolution::add_convolution;
pub use ends::{Bounds, Cover, EndTests};
pub use joint::How;
pub use model::{ErrorModel, Row, TableErrors};
