//! A regular expression with named groups: `(?<client>\S+) .* "(?<page>[^"]*)"`.
//!
//! It may match anywhere in a row; `^` and `$` are the ends of the row. A row without a match, or in
//! which the group of the item took part in no match or is empty, is malformed. The engine is that
//! of the crate regex, whose time is linear in the row for every expression: it has neither
//! back-references nor look-around. A compiled expression takes at most 10 MiB.

use super::roles::{FieldError, Line, Roles, Values};
use regex::{CaptureLocations, Regex};
use std::borrow::Cow;

/// Reads the groups of an expression.
pub(super) struct Pattern {
    expression: Regex,
    found: CaptureLocations,
    groups: Roles<usize>,
}

impl Pattern {
    pub(super) fn new(pattern: &str, names: &Roles<Vec<u8>>) -> Result<Self, FieldError> {
        let expression = compiled(pattern)?;
        let groups = names.map(|name, role| {
            let mut known = expression.capture_names();
            let place = known.position(|known| known.is_some_and(|known| known.as_bytes() == name));
            place.ok_or(FieldError::Field(role))
        })?;
        Ok(Self {
            found: expression.capture_locations(),
            expression,
            groups,
        })
    }

    pub(super) fn read<'a>(&mut self, row: &'a str) -> Line<'a> {
        if self
            .expression
            .captures_read(&mut self.found, row)
            .is_none()
        {
            return Line::Row(Values::default());
        }
        Line::Row(self.groups.values(|&group| {
            let (begin, end) = self.found.get(group)?;
            Some(Cow::Borrowed(&row.as_bytes()[begin..end]))
        }))
    }
}

/// Return the names of the groups, in their order.
pub(super) fn groups(pattern: &str) -> Result<Vec<String>, FieldError> {
    let expression = compiled(pattern)?;
    let names = expression.capture_names().flatten().map(String::from);
    Ok(names.collect())
}

fn compiled(pattern: &str) -> Result<Regex, FieldError> {
    Regex::new(pattern).map_err(|error| {
        // The last line says why; those before it draw the place.
        let text = error.to_string();
        let reason = text.lines().last().unwrap_or_default().trim();
        FieldError::Pattern(reason.strip_prefix("error: ").unwrap_or(reason).to_owned())
    })
}
