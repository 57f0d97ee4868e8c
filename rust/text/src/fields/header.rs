//! Columns that a line `#Fields:` names: the W3C extended log format of IIS and CloudFront.
//!
//! ```text
//! #Version: 1.0
//! #Fields: date time c-ip cs-method cs-uri-stem
//! 2026-05-17 10:05:03 192.0.2.1 GET /a
//! ```
//!
//! A line that begins with `#` is no row. A later `#Fields:` applies to the rows after it. Columns are
//! separated by tabs if the row has one, else by spaces, and then may be in quotes, in which a quote
//! is doubled. A row is malformed if it has more or fewer columns than the header; `-` is no value.
//! Values are not decoded: IIS writes a space as `+`, CloudFront as `%20`.
//!
//! `date+time` is the columns `date` and `time` together, which are UTC.
//!
//! Source: W3C Working Draft WD-logfile-960323, "Extended Log File Format".

use super::roles::{FieldError, Line, Roles, Value, Values};
use super::words::present;
use memchr::memchr;
use std::borrow::Cow;

/// The name of `date` and `time` together.
const DATE_AND_TIME: &[u8] = b"date+time";

/// Most columns of a header, as in other tables of text (`limits.py`).
const MOST_COLUMNS: usize = 1 << 14;

/// Reads rows by the header before them.
pub(super) struct Header {
    names: Roles<Vec<u8>>,
    line: Vec<u8>,
    columns: Option<Columns>,
}

struct Columns {
    number: usize,
    wanted: Roles<Column>,
}

/// One column, or two that are joined by a space.
#[derive(Clone, Copy)]
enum Column {
    One(usize),
    Two(usize, usize),
}

impl Header {
    pub(super) fn new(names: &Roles<Vec<u8>>) -> Self {
        Self {
            names: names.clone(),
            line: Vec::new(),
            columns: None,
        }
    }

    /// Return the names of the columns of the last header.
    pub(super) fn names(&self) -> Option<Vec<String>> {
        let names = names_in(&self.line).map(|name| String::from_utf8_lossy(name).into_owned());
        (!self.line.is_empty()).then(|| names.collect())
    }

    pub(super) fn read<'a>(&mut self, row: &'a [u8]) -> Result<Line<'a>, FieldError> {
        if row.first() == Some(&b'#') {
            if let Some(names) = row.strip_prefix(b"#Fields:") {
                self.change(names)?;
            }
            return Ok(Line::NoRow);
        }
        let Some(columns) = &self.columns else {
            return Err(FieldError::NoHeader);
        };
        Ok(Line::Row(columns.values(row).unwrap_or_default()))
    }

    fn change(&mut self, names: &[u8]) -> Result<(), FieldError> {
        if self.columns.is_some() && self.line == names {
            return Ok(());
        }
        self.line = names.to_vec();
        let known: Vec<&[u8]> = names_in(names).take(MOST_COLUMNS + 1).collect();
        let place = |name: &[u8], role| {
            let mut found = (0..known.len()).filter(|&place| known[place] == name);
            match (found.next(), found.next()) {
                (Some(place), None) if known.len() <= MOST_COLUMNS => Ok(place),
                _ => Err(FieldError::NotInHeader(role)),
            }
        };
        let wanted = self.names.map(|name, role| {
            if role == "time" && name == DATE_AND_TIME {
                return Ok(Column::Two(place(b"date", role)?, place(b"time", role)?));
            }
            Ok(Column::One(place(name, role)?))
        })?;
        self.columns = Some(Columns {
            number: known.len(),
            wanted,
        });
        Ok(())
    }
}

fn names_in(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(|byte| byte.is_ascii_whitespace())
        .filter(|name| !name.is_empty())
}

impl Columns {
    fn values<'a>(&self, row: &'a [u8]) -> Option<Values<'a>> {
        let mut found: Roles<[Value<'a>; 2]> = Roles {
            item: [None, None],
            weight: self.wanted.weight.map(|(_, limit)| ([None, None], limit)),
            time: self.wanted.time.map(|_| [None, None]),
            value: self.wanted.value.map(|_| [None, None]),
            user: self.wanted.user.map(|_| [None, None]),
        };
        let mut columns = Cells::of(row);
        let mut number = 0;
        while let Some(cell) = columns.next()? {
            self.take(number, cell, &mut found);
            number += 1;
        }
        if number != self.number {
            return None;
        }
        let whole = |[one, two]: &[Value<'a>; 2], column: Column| match (column, one, two) {
            (Column::Two(..), Some(one), Some(two)) => {
                Some(Cow::Owned([one.as_ref(), b" ", two.as_ref()].concat()))
            }
            (Column::One(_), Some(one), _) => Some(one.clone()),
            _ => None,
        };
        Some(Values {
            item: whole(&found.item, self.wanted.item),
            weight: of(&found.weight, &self.wanted.weight)
                .and_then(|((texts, _), (column, _))| whole(texts, *column)),
            time: of(&found.time, &self.wanted.time)
                .and_then(|(texts, column)| whole(texts, *column)),
            value: of(&found.value, &self.wanted.value)
                .and_then(|(texts, column)| whole(texts, *column)),
            user: of(&found.user, &self.wanted.user)
                .and_then(|(texts, column)| whole(texts, *column)),
        })
    }

    fn take<'a>(&self, number: usize, cell: Cow<'a, [u8]>, found: &mut Roles<[Value<'a>; 2]>) {
        let keep = |texts: &mut [Value<'a>; 2], column: Column| {
            let (one, two) = match column {
                Column::One(one) => (one, usize::MAX),
                Column::Two(one, two) => (one, two),
            };
            if number == one || number == two {
                texts[usize::from(number == two)] = present(&cell).map(|_| cell.clone());
            }
        };
        keep(&mut found.item, self.wanted.item);
        if let (Some((texts, _)), Some((column, _))) = (&mut found.weight, self.wanted.weight) {
            keep(texts, column);
        }
        if let (Some(texts), Some(column)) = (&mut found.time, self.wanted.time) {
            keep(texts, column);
        }
        if let (Some(texts), Some(column)) = (&mut found.value, self.wanted.value) {
            keep(texts, column);
        }
        if let (Some(texts), Some(column)) = (&mut found.user, self.wanted.user) {
            keep(texts, column);
        }
    }
}

fn of<'r, T, U>(one: &'r Option<T>, other: &'r Option<U>) -> Option<(&'r T, &'r U)> {
    one.as_ref().zip(other.as_ref())
}

/// The cells of a row.
struct Cells<'a> {
    rest: Option<&'a [u8]>,
    separator: u8,
}

impl<'a> Cells<'a> {
    fn of(row: &'a [u8]) -> Self {
        let separator = if memchr(b'\t', row).is_some() {
            b'\t'
        } else {
            b' '
        };
        Self {
            rest: (!row.is_empty()).then_some(row),
            separator,
        }
    }

    /// Return the next cell; `Some(None)` after the last one, `None` if a quote is not closed.
    #[expect(
        clippy::option_option,
        reason = "a row that cannot be cut is not one that ends"
    )]
    fn next(&mut self) -> Option<Option<Cow<'a, [u8]>>> {
        let Some(text) = self.rest.take() else {
            return Some(None);
        };
        if self.separator == b' ' && text.first() == Some(&b'"') {
            let (cell, rest) = quoted(&text[1..])?;
            self.rest = match rest.split_first() {
                None => None,
                Some((b' ', rest)) => Some(rest),
                Some(_) => return None,
            };
            return Some(Some(cell));
        }
        let end = memchr(self.separator, text).unwrap_or(text.len());
        self.rest = text.get(end + 1..);
        Some(Some(Cow::Borrowed(&text[..end])))
    }
}

/// Return the text up to the next quote that is not doubled, and what follows the quote.
fn quoted(text: &[u8]) -> Option<(Cow<'_, [u8]>, &[u8])> {
    let mut at = 0;
    let mut is_doubled = false;
    loop {
        at += memchr(b'"', text.get(at..)?)?;
        if text.get(at + 1) != Some(&b'"') {
            break;
        }
        is_doubled = true;
        at += 2;
    }
    let (cell, rest) = (&text[..at], &text[at + 1..]);
    if !is_doubled {
        return Some((Cow::Borrowed(cell), rest));
    }
    let mut bytes = Vec::with_capacity(cell.len());
    let mut left = cell;
    while let Some(quote) = memchr(b'"', left) {
        bytes.extend_from_slice(&left[..=quote]);
        left = &left[quote + 2..];
    }
    bytes.extend_from_slice(left);
    Some((Cow::Owned(bytes), rest))
}

#[cfg(test)]
mod tests {
    use super::Cells;

    fn cells(row: &str) -> Option<Vec<String>> {
        let mut cells = Cells::of(row.as_bytes());
        let mut found = Vec::new();
        while let Some(cell) = cells.next()? {
            found.push(String::from_utf8_lossy(&cell).into_owned());
        }
        Some(found)
    }

    #[test]
    fn cells_end_at_tabs_or_spaces() {
        for (row, expected) in [
            ("a b", Some(vec!["a", "b"])),
            ("a\tb c\t", Some(vec!["a", "b c", ""])),
            ("a  b", Some(vec!["a", "", "b"])),
            ("\"a b\" c", Some(vec!["a b", "c"])),
            ("\"a \"\"b\"\"\" c", Some(vec!["a \"b\"", "c"])),
            ("\"a\tb", Some(vec!["\"a", "b"])),
            ("\"a b", None),
            ("\"a\"b", None),
            ("", Some(vec![])),
        ] {
            let expected = expected.map(|cells| cells.into_iter().map(String::from).collect());
            assert_eq!(cells(row), expected, "{row:?}");
        }
    }
}
