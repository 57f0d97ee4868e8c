//! Rows of text as columns of values: lines, JSON lines, and the access logs of web servers.
//!
//! A block of whole rows goes in, each ended by `"\n"` or `"\r\n"`; out come the items of the rows
//! one behind the other, in the layout of Arrow, and the positions of the rows without one. A row
//! that is not UTF-8 is read as an empty one; what follows the last row's end is no row. Of JSON
//! lines also weights and times come out, and the rows that only Python's decoder can judge.
//!
//! | floor | modules |
//! |---|---|
//! | block -> rows | `lines` |
//! | row -> value | `access_log`, `json` |
//! | values -> columns | `columns` |
//!
//! Rows are cut beside ASCII bytes only, so the items are UTF-8 too.
//!
//! Why this is ours: we found no kept library that makes columns of access logs. access_log_parser
//! makes a struct of each row, with all its fields parsed, and takes only addresses for hosts;
//! vrl makes a map of each row by a regular expression. Expressions of Python, which were here
//! before, took 0.7 us a row and held the interpreter lock meanwhile. Bytes are searched for by
//! memchr, in wide registers.
//!
//! JSON is read by serde_json, which is kept, checks what it passes over and needs no memory for it;
//! simd-json builds a tape of each row, writes into the bytes it reads and rests on unsafe code.
//!
//! Cost: about 10 ns per line, 50 ns per row of an access log of 100 bytes, 200 ns per object of
//! 100 bytes; linear in the bytes of any input and, for JSON, in the keys of a path.
#![forbid(unsafe_code)]

mod access_log;
mod columns;
mod json;
mod lines;

pub use access_log::{Field, access_log, access_log_times};
pub use columns::{ParsedRows, Texts};
pub use json::{Objects, RowKind, Wanted, json_rows};

/// The items are the rows, unchanged but for their end; an empty row is malformed.
pub fn lines(block: &[u8]) -> ParsedRows {
    let mut rows = ParsedRows::of(block);
    rows.items.data.reserve(block.len());
    for row in lines::rows(block) {
        rows.push((!row.is_empty()).then_some(row));
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::lines;

    #[test]
    fn an_empty_line_and_one_that_is_not_utf_8_keep_their_places() {
        let rows = lines(b"a\r\n\n\xff\n\r\nb\r\r\nc\rd\ne");
        assert_eq!(rows.items.data, b"ab\rc\rd");
        assert_eq!(rows.items.offsets, [0, 1, 3, 6]);
        assert_eq!(rows.malformed, [1, 2, 3]);
        assert_eq!(rows.len(), 6);
        assert!(lines(b"").is_empty());
    }
}
