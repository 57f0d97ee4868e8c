//! How large a batch can be.

use crate::Error;

/// Most bytes of text, bytes and large integers in one batch. A short list can hold the same long
/// text any number of times.
pub const MOST_BYTES: usize = 1 << 31;

/// The error for a larger batch.
pub(super) fn no_room() -> Error {
    let expected = format!("at most {MOST_BYTES} bytes in a batch");
    Error::parameter("items", expected, "more")
}
