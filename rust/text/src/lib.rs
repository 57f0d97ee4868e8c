//! Parsers from rows of text to columns: lines, JSON lines, tables, the access logs of web servers,
//! and the logs of other servers and services.
//!
//! The input is a block of complete rows, each terminated by `"\n"` or `"\r\n"`. The output is the
//! items of the rows, concatenated in Arrow's layout, and the positions of rows without an item. A
//! row that is not UTF-8 is treated as empty; bytes after the last terminator are ignored. JSON
//! lines also yield weights, times, people, and the rows that have to be decoded by Python. A
//! hierarchy turns an item into its names, level by level.
//!
//! | layer | modules |
//! |---|---|
//! | block -> rows | `lines` |
//! | row -> value | `access_log`, `json`, `fields` |
//! | values -> columns | `columns` |
//! | item -> names, number | `hierarchy`, `numbers` |
//!
//! Rows are cut only next to ASCII bytes, so the items are UTF-8 too.
//!
//! Alternatives: we found no maintained library that turns access logs into columns.
//! access_log_parser builds a struct per row with every field parsed, and accepts only addresses as
//! hosts; vrl builds a map per row with a regular expression. The Python regular expressions that
//! this crate replaced took 0.7 us per row and held the interpreter lock. Bytes are searched with
//! memchr, which uses wide registers.
//!
//! JSON is parsed by serde_json, which is maintained and validates skipped values without
//! allocating; simd-json builds a tape per row, writes into its input and relies on unsafe code.
//!
//! Cost: about 10 ns per line, 50 ns per access log row of 100 bytes, 200 ns per JSON object of 100
//! bytes; linear in the bytes of any input and, for JSON, in the keys of a path.
#![forbid(unsafe_code)]

mod access_log;
mod columns;
mod fields;
mod hierarchy;
mod json;
mod lines;
mod numbers;

pub use access_log::{Field, access_log, access_log_of_people, access_log_times};
pub use columns::{LONGEST_ITEM, ParsedRows, RowsOfPeople, Texts};
pub use fields::{DelimitedReader, FieldColumns, FieldError, FieldReader, Roles};
pub use fields::{log_fields, pattern_groups};
pub use hierarchy::{Hierarchy, Named, NamesOfItems, SplitError, TextNames};
pub use json::{Objects, RowKind, Wanted, json_elements, json_rows};
pub use numbers::ParsedNumbers;

/// Return each row without its terminator as an item; an empty row is malformed.
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
    use super::{LONGEST_ITEM, lines};

    #[test]
    fn empty_and_non_utf_8_lines_are_malformed_rows() {
        let rows = lines(b"a\r\n\n\xff\n\r\nb\r\r\nc\rd\ne");
        assert_eq!(rows.items.data, b"ab\rc\rd");
        assert_eq!(rows.items.offsets, [0, 1, 3, 6]);
        assert_eq!(rows.malformed, [1, 2, 3]);
        assert_eq!(rows.len(), 6);
        assert!(lines(b"").is_empty());
    }

    #[test]
    fn an_item_that_is_too_long_is_a_malformed_row() {
        for (length, malformed) in [(LONGEST_ITEM, &[][..]), (LONGEST_ITEM + 1, &[0])] {
            let rows = lines(&[vec![b'x'; length], b"\na\n".to_vec()].concat());
            assert_eq!(rows.malformed, malformed);
            assert_eq!(rows.len(), 2);
        }
    }
}
