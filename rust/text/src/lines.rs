//! Splitting of blocks into rows.

use memchr::memchr_iter;
use std::str::from_utf8;

/// Iterate over the rows of a block, without terminators; a row that is not UTF-8 is empty.
pub(crate) fn texts(block: &[u8]) -> impl Iterator<Item = &str> {
    // Validating the whole block costs a tenth of validating each row.
    let valid_block = from_utf8(block).ok();
    let mut begin = 0;
    memchr_iter(b'\n', block).map(move |end| {
        let row = match valid_block {
            Some(text) => &text[begin..end],
            None => from_utf8(&block[begin..end]).unwrap_or_default(),
        };
        begin = end + 1;
        // Only one: in "\r\r\n" the first "\r" belongs to the row.
        row.strip_suffix('\r').unwrap_or(row)
    })
}

/// Iterate over the same rows as bytes.
pub(crate) fn rows(block: &[u8]) -> impl Iterator<Item = &[u8]> {
    texts(block).map(str::as_bytes)
}

/// Return the number of rows of a block.
pub(crate) fn count(block: &[u8]) -> usize {
    memchr_iter(b'\n', block).count()
}
