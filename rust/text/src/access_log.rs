//! Web access logs in the common and the combined log format.
//!
//! ```text
//! host ident user [time] "METHOD path PROTOCOL" status bytes "referrer" "agent"
//! `------------------- common ------------------------------'
//! `------------------- combined --------------------------------------------'
//! ```
//!
//! A row is parsed in a single pass, without backtracking: host and ident end at the next space,
//! the user (which may contain spaces) before the first `[` after them, the time at the next `]`. A
//! backslash escapes the next character. Old servers do not escape quotes, so a request ends at the
//! first quote that is followed by a status and a byte count; referrer and agent end at the first
//! unescaped quote.
//!
//! A row is malformed if it does not follow the format up to the byte count, or if it lacks the
//! field: a request of only `"-"` has no path, and a row that is truncated within the agent has a
//! host but no agent. Anything that a server appends is ignored. Fields are not decoded: a path
//! keeps its query, an escaped quote its backslash, and an absent referrer is the item `-`.
//!
//! Source: Apache HTTP Server documentation, mod_log_config, "Common Log Format" and "Combined Log
//! Format".

use crate::columns::{ParsedRows, RowsOfPeople, Texts};
use crate::lines;
use memchr::{memchr, memchr2};

/// The field that is extracted from each row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field {
    /// The client: an address or a name.
    Host,
    /// The name that a client has logged in with, or `-`.
    User,
    /// The requested path, with its query.
    Path,
    /// Three digits, or `-`.
    Status,
    /// GET, POST, ...
    Method,
    /// The referring page; combined format only.
    Referrer,
    /// The client's program; combined format only.
    Agent,
    /// Bytes of the reply; `-`, no bytes, is 0.
    Size,
}

impl Field {
    /// All fields with their public names.
    pub const NAMES: [(&'static str, Self); 8] = [
        ("host", Self::Host),
        ("path", Self::Path),
        ("status", Self::Status),
        ("method", Self::Method),
        ("referrer", Self::Referrer),
        ("agent", Self::Agent),
        ("user", Self::User),
        ("size", Self::Size),
    ];

    /// Return the field of that name.
    pub fn named(name: &str) -> Option<Self> {
        let found = Self::NAMES.iter().find(|(known, _)| *known == name);
        found.map(|&(_, field)| field)
    }
}

/// Extract one field from each row.
pub fn access_log(block: &[u8], field: Field) -> ParsedRows {
    let mut rows = ParsedRows::of(block);
    for row in lines::rows(block) {
        rows.push(item(row, field));
    }
    rows
}

/// Extract one field of each row and the field of its person. `-` is no person.
pub fn access_log_of_people(block: &[u8], field: Field, user: Field) -> RowsOfPeople {
    let mut rows = RowsOfPeople::of(block);
    for row in lines::rows(block) {
        let parsed = Parsed::of(row);
        let of = |field| parsed.as_ref().and_then(|row| row.field(field));
        rows.push(of(field), of(user).filter(|&user| user != b"-"));
    }
    rows
}

/// Extract the text of each row's time, empty if it has none. A row that is malformed after the
/// time still has its time.
pub fn access_log_times(block: &[u8]) -> Texts {
    let mut times = Texts::of(block);
    for row in lines::rows(block) {
        times.push(head(row).map_or(b"", |head| head.time));
    }
    times
}

/// The part of a row before the request.
pub(crate) struct Head<'a> {
    host: &'a [u8],
    user: &'a [u8],
    pub(crate) time: &'a [u8],
    /// Everything after the bracket that ends the time.
    rest: &'a [u8],
}

pub(crate) fn head(row: &[u8]) -> Option<Head<'_>> {
    let (host, rest) = word(row)?;
    let (_ident, rest) = word(rest)?;
    let bracket = memchr(b'[', rest)?;
    // The user has at least one character and is followed by a space.
    if bracket < 2 || rest[bracket - 1] != b' ' {
        return None;
    }
    let (user, rest) = (&rest[..bracket - 1], &rest[bracket + 1..]);
    let end = memchr(b']', rest)?;
    Some(Head {
        host,
        user,
        time: &rest[..end],
        rest: &rest[end + 1..],
    })
}

/// Split at the first space, which must not be the first character; the space is dropped.
pub(crate) fn word(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = memchr(b' ', text).filter(|&end| end > 0)?;
    Some((&text[..end], &text[end + 1..]))
}

/// A row that follows the format up to the byte count.
pub(crate) struct Parsed<'a> {
    head: Head<'a>,
    request: &'a [u8],
    end: RequestEnd<'a>,
}

impl<'a> Parsed<'a> {
    pub(crate) fn of(row: &'a [u8]) -> Option<Self> {
        let head = head(row)?;
        let request = head.rest.strip_prefix(b" \"")?;
        let end = request_end(request)?;
        Some(Self {
            head,
            request: &request[..end.quote],
            end,
        })
    }

    pub(crate) fn field(&self, field: Field) -> Option<&'a [u8]> {
        match field {
            Field::Host => Some(self.head.host),
            Field::User => Some(self.head.user),
            Field::Status => Some(self.end.status),
            Field::Method => method(self.request),
            Field::Path => path(self.request),
            Field::Referrer => not_empty(quoted(self.end.rest)?.0),
            Field::Agent => not_empty(quoted(quoted(self.end.rest)?.1)?.0),
            Field::Size if self.end.size == b"-" => Some(b"0"),
            Field::Size => Some(self.end.size),
        }
    }

    /// Everything after the agent, which is what a server appends to the combined format.
    pub(crate) fn appended(&self) -> Option<&'a [u8]> {
        Some(quoted(quoted(self.end.rest)?.1)?.1)
    }
}

fn item(row: &[u8], field: Field) -> Option<&[u8]> {
    Parsed::of(row)?.field(field)
}

fn not_empty(text: &[u8]) -> Option<&[u8]> {
    (!text.is_empty()).then_some(text)
}

/// The end of a request and the fields after it.
struct RequestEnd<'a> {
    /// Position of the closing quote in the text.
    quote: usize,
    status: &'a [u8],
    size: &'a [u8],
    /// Everything after the byte count.
    rest: &'a [u8],
}

fn request_end(text: &[u8]) -> Option<RequestEnd<'_>> {
    let mut at = 0;
    loop {
        at = unescaped_quote(text, at)?;
        if let Some((status, size, rest)) = status_and_size(&text[at + 1..]) {
            return Some(RequestEnd {
                quote: at,
                status,
                size,
                rest,
            });
        }
        at += 1;
    }
}

/// Return the position of the next quote that is not escaped.
pub(crate) fn unescaped_quote(text: &[u8], mut at: usize) -> Option<usize> {
    loop {
        at += memchr2(b'"', b'\\', text.get(at..)?)?;
        if text[at] == b'"' {
            return Some(at);
        }
        // After a backslash at the end, `get` returns None. Of a multi-byte character the first
        // byte is skipped; the others are neither quotes nor backslashes.
        at += 2;
    }
}

/// Parse `_STATUS_SIZE...`, with spaces for underscores: the status, the size and the text after it.
fn status_and_size(text: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let text = text.strip_prefix(b" ")?;
    let length = match text {
        [b'-', ..] => 1,
        [a, b, c, ..] if [a, b, c].iter().all(|byte| byte.is_ascii_digit()) => 3,
        _ => return None,
    };
    let (status, rest) = text.split_at(length);
    let text = rest.strip_prefix(b" ")?;
    let length = match text.first()? {
        b'-' => 1,
        _ => text.iter().take_while(|byte| byte.is_ascii_digit()).count(),
    };
    let (size, rest) = text.split_at(length);
    (length > 0).then_some((status, size, rest))
}

/// The method of a request: a letter, then letters, `-` or `_`, up to a space.
pub(crate) fn method(request: &[u8]) -> Option<&[u8]> {
    let (method, _) = word(request)?;
    let valid = method[0].is_ascii_alphabetic()
        && method
            .iter()
            .all(|byte| byte.is_ascii_alphabetic() || matches!(byte, b'-' | b'_'));
    valid.then_some(method)
}

/// The path of a request: the text after the method, up to a space that is not escaped.
pub(crate) fn path(request: &[u8]) -> Option<&[u8]> {
    let text = &request[method(request)?.len() + 1..];
    let mut at = 0;
    // A request never ends within an escape, so a path does not either.
    while let Some(step) = text.get(at..).and_then(|rest| memchr2(b' ', b'\\', rest)) {
        at += step;
        if text[at] == b' ' {
            return not_empty(&text[..at]);
        }
        at += 2;
    }
    not_empty(text)
}

/// Parse ` "..."...`: the text between the quotes and the text after them.
pub(crate) fn quoted(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let text = text.strip_prefix(b" \"")?;
    let end = unescaped_quote(text, 0)?;
    Some((&text[..end], &text[end + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(row: &str, field: Field) -> Option<String> {
        item(row.as_bytes(), field).map(|text| String::from_utf8_lossy(text).into_owned())
    }

    #[test]
    fn the_first_quote_before_status_and_size_ends_a_request() {
        for (request, path, status) in [
            (r#""GET /a" 200 5"#, Some("/a"), "200"),
            (r#""GET /a"b HTTP/1.0" 200 5"#, Some(r#"/a"b"#), "200"),
            (r#""GET /\" 200 5 HTTP/1.0" 404 7"#, Some(r#"/\""#), "404"),
            (r#""GET /\\" 200 5 HTTP/1.0" 404 7"#, Some(r"/\\"), "200"),
            (r#""GET /a\ b c" 200 5"#, Some(r"/a\ b"), "200"),
            (r#""GET /a" 20 5 HTTP/1.0" - -"#, Some(r#"/a""#), "-"),
            (r#""GET  /a" 200 5"#, None, "200"),
            (r#""GET " 200 5"#, None, "200"),
            (r#""GET" 200 5"#, None, "200"),
            (r#""" 400 0"#, None, "400"),
        ] {
            let row = format!("h - - [t] {request}");
            assert_eq!(found(&row, Field::Path).as_deref(), path, "{row}");
            assert_eq!(found(&row, Field::Status).as_deref(), Some(status), "{row}");
        }
    }

    #[test]
    fn a_row_that_ends_within_an_escape_is_malformed() {
        for row in [
            r#"h - - [t] "GET /\"#,
            r#"h - - [t] "GET /\" 200 5"#,
            r#"h - - [t] "\"#,
        ] {
            for (name, field) in Field::NAMES {
                assert_eq!(found(row, field), None, "{name} of {row}");
            }
        }
        let row = r#"h - - [t] "GET / H" 200 5 "-" "a\"#;
        assert_eq!(found(row, Field::Agent), None);
        assert_eq!(found(row, Field::Referrer).as_deref(), Some("-"));
    }

    #[test]
    fn fields_are_found_by_name() {
        for (name, field) in Field::NAMES {
            assert_eq!(Field::named(name), Some(field));
        }
        assert_eq!(Field::named("time"), None);
    }
}
