//! Tables of text: CSV, TSV and Zeek logs, whose columns have numbers.
//!
//! A row ends at `"\n"`, `"\r"` or `"\r\n"`, a cell at the delimiter. A cell that begins with a quote
//! may contain delimiters, line ends and doubled quotes up to the quote that closes it; what follows
//! that quote belongs to the cell as it is. A quote elsewhere is a character. A row with more or fewer
//! columns than the table is malformed, and an empty line is a row of one empty cell: each row is a
//! step, so none is left out. Only the cells that are asked for are copied.
//!
//! Alternatives: csv-core has the same rules of quotes, but leaves out empty lines, drops a byte order
//! mark at the beginning of what it reads, copies every cell and steps through a table byte by byte.
//!
//! Source: RFC 4180; documentation of Python's module `csv`, whose reader cuts the same rows.

use super::columns::FieldColumns;
use super::marks::Marks;
use super::roles::{ROLES, Roles, Value, Values};
use memchr::{memchr, memmem};
use std::borrow::Cow;
use std::convert::Infallible;
use std::str::from_utf8;

/// U+FDD0, which stands for bytes that were not decoded (`text_blocks.py`).
const UNDECODABLE: &str = "\u{fdd0}";

const QUOTE: u8 = b'"';

/// Cuts the rows of a table, block by block.
pub struct DelimitedReader {
    columns: usize,
    /// The numbers of the columns to take, in increasing order, each once.
    taken: Vec<usize>,
    /// Where in `taken` the column of each role is.
    places: Roles<usize>,
    delimiter: u8,
    quoted: bool,
}

/// What a cell of one block means.
struct Meaning<'m> {
    quoted: bool,
    /// Texts that are no items and no people.
    missing: &'m [Vec<u8>],
    /// Whether the block may have a cell that was not decoded.
    is_suspect: bool,
}

impl DelimitedReader {
    /// Take the columns of these numbers, counted from 0, of rows that have `columns`.
    ///
    /// The delimiter is an ASCII character, neither a line end nor, if cells may be quoted, a quote.
    pub fn new(columns: usize, wanted: &Roles<usize>, delimiter: u8, quoted: bool) -> Self {
        let mut taken = vec![wanted.item];
        taken.extend(wanted.weight.map(|(column, _)| column));
        taken.extend(wanted.time);
        taken.extend(wanted.value);
        taken.extend(wanted.user);
        taken.sort_unstable();
        taken.dedup();
        let Ok(places) = wanted
            .map(|column, _| Ok::<_, Infallible>(taken.partition_point(|known| known < column)));
        Self {
            columns,
            taken,
            places,
            delimiter,
            quoted,
        }
    }

    /// Return the taken cells of each row of a block of whole lines, and the size in bytes of a row at
    /// its end that a quote leaves open, which is in none of the columns.
    ///
    /// `missing` are texts that are no items and no people.
    pub fn read(&self, block: &[u8], missing: &[Vec<u8>]) -> (FieldColumns, usize) {
        let limit = self.places.weight.map(|(_, limit)| limit);
        let mut columns = FieldColumns::of(block, &self.places);
        let meaning = Meaning {
            quoted: self.quoted,
            missing,
            is_suspect: is_suspect(block),
        };
        let quote = if self.quoted { QUOTE } else { self.delimiter };
        let mut marks = Marks::of(block, [self.delimiter, quote, b'\n', b'\r']);
        let mut cells: [&[u8]; ROLES.len()] = [b""; ROLES.len()]; // a column of each role at most
        // Where the row and the cell begin; the cells of the row so far, and of them the taken ones.
        let (mut row, mut cell, mut number, mut taken) = (0, 0, 0, 0);
        while let Some(at) = marks.next() {
            let byte = block[at];
            if byte == QUOTE && self.quoted {
                if at == cell && !is_closed(block, &mut marks) {
                    break;
                }
                continue;
            }
            if self.taken.get(taken) == Some(&number) {
                cells[taken] = &block[cell..at];
                taken += 1;
            }
            number += 1;
            cell = at + 1;
            if byte == self.delimiter {
                continue;
            }
            if byte == b'\r' && block.get(cell) == Some(&b'\n') {
                marks.next();
                cell += 1;
            }
            if (number, taken) == (self.columns, self.taken.len()) {
                columns.push(self.values(&cells, &meaning), limit);
            } else {
                columns.push(Values::default(), limit);
            }
            (row, number, taken) = (cell, 0, 0);
        }
        (columns, block.len() - row)
    }

    fn values<'a>(&self, cells: &[&'a [u8]; ROLES.len()], meaning: &Meaning) -> Values<'a> {
        let mut values = self.places.values(|&place| meaning.value(cells[place]));
        values.item = values.item.filter(|item| meaning.is_present(item));
        values.user = values.user.filter(|user| meaning.is_present(user));
        values
    }
}

impl Meaning<'_> {
    fn value<'a>(&self, cell: &'a [u8]) -> Value<'a> {
        let text = if self.quoted {
            unquoted(cell)
        } else {
            Cow::Borrowed(cell)
        };
        Some(text).filter(|text| !self.is_suspect || is_decoded(text))
    }

    fn is_present(&self, text: &[u8]) -> bool {
        !self.missing.iter().any(|absent| absent == text)
    }
}

fn is_suspect(block: &[u8]) -> bool {
    !block.is_ascii()
        && (from_utf8(block).is_err() || memmem::find(block, UNDECODABLE.as_bytes()).is_some())
}

fn is_decoded(text: &[u8]) -> bool {
    from_utf8(text).is_ok_and(|text| !text.contains(UNDECODABLE))
}

/// Move past the quote that closes a cell; return false if none does.
fn is_closed(block: &[u8], marks: &mut Marks) -> bool {
    while let Some(at) = marks.next() {
        if block[at] != QUOTE {
            continue;
        }
        if block.get(at + 1) != Some(&QUOTE) {
            return true;
        }
        marks.next(); // a doubled quote
    }
    false
}

/// Return the text of a cell, which may be in quotes.
fn unquoted(cell: &[u8]) -> Cow<'_, [u8]> {
    let Some(mut rest) = cell.strip_prefix(b"\"") else {
        return Cow::Borrowed(cell);
    };
    if memchr(QUOTE, rest).is_some_and(|end| end + 1 == rest.len()) {
        return Cow::Borrowed(&rest[..rest.len() - 1]);
    }
    let mut text = Vec::with_capacity(rest.len());
    while let Some(quote) = memchr(QUOTE, rest) {
        text.extend_from_slice(&rest[..quote]);
        rest = &rest[quote + 1..];
        let Some(doubled) = rest.strip_prefix(b"\"") else {
            break; // the closing quote
        };
        text.push(QUOTE);
        rest = doubled;
    }
    text.extend_from_slice(rest);
    Cow::Owned(text)
}
