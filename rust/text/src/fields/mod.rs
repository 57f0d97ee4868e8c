//! Fields of rows whose layout is described: logs of servers and services, `key=value` pairs, columns
//! that a header names, and a regular expression with named groups.
//!
//! A row is cut once, and up to four of its fields are taken: the item, its weight, the time and
//! the person. The layouts differ in how a row is cut; what a row without a field means is the same
//! for all: it is malformed, and so is a row whose weight is not a number of digits only.
//!
//! | layout | module |
//! |---|---|
//! | words, quoted and bracketed texts | `web`, `balancer`, `haproxy`, `syslog`, `container` |
//! | objects of JSON with fixed keys | `objects` |
//! | `key=value` pairs | `pairs` |
//! | columns that `#Fields:` names | `header` |
//! | cells between delimiters, by numbers of columns | `delimited`, `marks` |
//! | a regular expression | `pattern` |
//!
//! Cost: linear in the bytes of any input, per row about 100 ns for words and pairs, 300 ns for
//! objects, 300 ns and more for a regular expression; cells between delimiters a nanosecond per byte.

mod balancer;
mod columns;
mod container;
mod delimited;
mod field;
mod haproxy;
mod header;
mod log;
mod marks;
mod objects;
mod pairs;
mod pattern;
mod roles;
mod syslog;
mod web;
mod words;

pub use columns::FieldColumns;
pub use delimited::DelimitedReader;
pub use log::log_fields;
pub use roles::{FieldError, Roles};

use crate::lines;
use header::Header;
use log::Log;
use pairs::Pairs;
use pattern::Pattern;
use roles::Line;

/// Reads rows of one layout, block by block.
pub struct FieldReader {
    layout: Layout,
    names: Roles<Vec<u8>>,
}

enum Layout {
    Log(Log),
    Pairs(Pairs),
    Header(Header),
    Pattern(Pattern),
}

impl FieldReader {
    /// Read the fields of these names.
    ///
    /// `layout` is the name of a log of [`log_fields`], `pairs` or `header`.
    pub fn new(
        layout: &str,
        names: &Roles<Vec<u8>>,
        trusted_hops: Option<usize>,
    ) -> Result<Self, FieldError> {
        let layout = match layout {
            "pairs" => Layout::Pairs(Pairs::new(names)),
            "header" => Layout::Header(Header::new(names)),
            _ => Layout::Log(Log::new(layout, names, trusted_hops)?),
        };
        Ok(Self::of(layout, names))
    }

    /// Read the named groups of a regular expression, which may match anywhere in a row.
    pub fn with_pattern(pattern: &str, names: &Roles<Vec<u8>>) -> Result<Self, FieldError> {
        Ok(Self::of(
            Layout::Pattern(Pattern::new(pattern, names)?),
            names,
        ))
    }

    fn of(layout: Layout, names: &Roles<Vec<u8>>) -> Self {
        Self {
            layout,
            names: names.clone(),
        }
    }

    /// Return the fields of each row of a block of complete rows.
    pub fn read(&mut self, block: &[u8]) -> Result<FieldColumns, FieldError> {
        let limit = self.names.weight.as_ref().map(|&(_, limit)| limit);
        let mut columns = FieldColumns::of(block, &self.names);
        for row in lines::texts(block) {
            let line = match &mut self.layout {
                Layout::Log(log) => log.read(row),
                Layout::Pairs(pairs) => pairs.read(row.as_bytes()),
                Layout::Header(header) => header.read(row.as_bytes())?,
                Layout::Pattern(pattern) => pattern.read(row),
            };
            if let Line::Row(values) = line {
                columns.push(values, limit);
            }
        }
        Ok(columns)
    }

    /// Return the names of the columns of the header, if the layout has one and it was read.
    pub fn columns(&self) -> Option<Vec<String>> {
        match &self.layout {
            Layout::Header(header) => header.names(),
            _ => None,
        }
    }
}

/// Return the names of the groups of a regular expression, in their order.
pub fn pattern_groups(pattern: &str) -> Result<Vec<String>, FieldError> {
    pattern::groups(pattern)
}
