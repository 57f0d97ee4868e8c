//! Web access logs in the common and the combined log format.
//!
//! ```text
//! host ident user [time] "METHOD path PROTOCOL" status bytes "referrer" "agent"
//! `------------------- common ------------------------------'
//! `------------------- combined --------------------------------------------'
//! ```
//!
//! A row is read once, from left to right, and no decision is taken back: host and ident end at
//! the next space, the user before the first `[` behind them (it may hold spaces), the time at the
//! next `]`. A backslash takes the character behind it along. Old servers do not escape quotes, so
//! the quote that ends a request is the first that status and byte count follow; referrer and
//! agent end at the first quote.
//!
//! A row is malformed if it does not follow the format up to the byte count, or if the field is
//! not there: a request that is only `"-"` has no path, and in a row that is cut off within the
//! agent the agent is malformed but the host is not. What servers append is ignored. Fields are
//! taken as they stand: a path keeps its query, an escaped quote its backslash, an absent referrer
//! is the item `-`.
//!
//! Source: Apache HTTP Server documentation, mod_log_config, "Common Log Format" and "Combined Log
//! Format".

use crate::columns::{ParsedRows, Texts};
use crate::lines;
use memchr::{memchr, memchr2};

/// What to take of each row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field {
    /// Who asked: an address or a name.
    Host,
    /// What for, with the query.
    Path,
    /// Three digits, or `-`.
    Status,
    /// GET, POST, ...
    Method,
    /// Where the user came from; of the combined format.
    Referrer,
    /// The program that asked; of the combined format.
    Agent,
}

impl Field {
    /// All fields and what users call them.
    pub const NAMES: [(&'static str, Self); 6] = [
        ("host", Self::Host),
        ("path", Self::Path),
        ("status", Self::Status),
        ("method", Self::Method),
        ("referrer", Self::Referrer),
        ("agent", Self::Agent),
    ];

    /// The field of that name.
    pub fn named(name: &str) -> Option<Self> {
        let found = Self::NAMES.iter().find(|(known, _)| *known == name);
        found.map(|&(_, field)| field)
    }
}

/// One field of each row.
pub fn access_log(block: &[u8], field: Field) -> ParsedRows {
    let mut rows = ParsedRows::of(block);
    for row in lines::rows(block) {
        rows.push(item(row, field));
    }
    rows
}

/// The text of the time of each row, empty if it has none; that does not hang on whether what
/// follows it can be read.
pub fn access_log_times(block: &[u8]) -> Texts {
    let mut times = Texts::of(block);
    for row in lines::rows(block) {
        times.push(head(row).map_or(b"", |head| head.time));
    }
    times
}

/// What stands before the request.
struct Head<'a> {
    host: &'a [u8],
    time: &'a [u8],
    /// From behind the bracket that ends the time.
    rest: &'a [u8],
}

fn head(row: &[u8]) -> Option<Head<'_>> {
    let (host, rest) = word(row)?;
    let (_ident, rest) = word(rest)?;
    let bracket = memchr(b'[', rest)?;
    // One character of a user at least, and a space.
    if bracket < 2 || rest[bracket - 1] != b' ' {
        return None;
    }
    let rest = &rest[bracket + 1..];
    let end = memchr(b']', rest)?;
    Some(Head {
        host,
        time: &rest[..end],
        rest: &rest[end + 1..],
    })
}

/// What stands up to the next space, at least one character, and what stands behind it.
fn word(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = memchr(b' ', text).filter(|&end| end > 0)?;
    Some((&text[..end], &text[end + 1..]))
}

fn item(row: &[u8], field: Field) -> Option<&[u8]> {
    let head = head(row)?;
    let request = head.rest.strip_prefix(b" \"")?;
    let end = request_end(request)?;
    match field {
        Field::Host => Some(head.host),
        Field::Status => Some(end.status),
        Field::Method => method(&request[..end.quote]),
        Field::Path => path(&request[..end.quote]),
        Field::Referrer => not_empty(quoted(end.behind)?.0),
        Field::Agent => not_empty(quoted(quoted(end.behind)?.1)?.0),
    }
}

fn not_empty(text: &[u8]) -> Option<&[u8]> {
    (!text.is_empty()).then_some(text)
}

/// What follows a request.
struct RequestEnd<'a> {
    /// Where in the text the quote stands that ends the request.
    quote: usize,
    status: &'a [u8],
    /// From behind the byte count.
    behind: &'a [u8],
}

fn request_end(text: &[u8]) -> Option<RequestEnd<'_>> {
    let mut at = 0;
    loop {
        at = unescaped_quote(text, at)?;
        if let Some((status, behind)) = status_and_size(&text[at + 1..]) {
            return Some(RequestEnd {
                quote: at,
                status,
                behind,
            });
        }
        at += 1;
    }
}

/// Where the next quote stands that no backslash takes along.
fn unescaped_quote(text: &[u8], mut at: usize) -> Option<usize> {
    loop {
        at += memchr2(b'"', b'\\', text.get(at..)?)?;
        if text[at] == b'"' {
            return Some(at);
        }
        // If nothing follows, the next search finds no text. Of a character of several bytes the
        // others are neither a quote nor a backslash.
        at += 2;
    }
}

/// Of `_STATUS_SIZE...` with spaces for bars: the status, and what stands behind the size.
fn status_and_size(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let text = text.strip_prefix(b" ")?;
    let length = match text {
        [b'-', ..] => 1,
        [a, b, c, ..] if [a, b, c].iter().all(|byte| byte.is_ascii_digit()) => 3,
        _ => return None,
    };
    let (status, rest) = text.split_at(length);
    let size = rest.strip_prefix(b" ")?;
    if let Some(behind) = size.strip_prefix(b"-") {
        return Some((status, behind));
    }
    let digits = size.iter().take_while(|byte| byte.is_ascii_digit()).count();
    (digits > 0).then(|| (status, &size[digits..]))
}

/// Of a request: letters, with `-` and `_` behind the first, up to a space.
fn method(request: &[u8]) -> Option<&[u8]> {
    let (method, _) = word(request)?;
    let sound = method[0].is_ascii_alphabetic()
        && method
            .iter()
            .all(|byte| byte.is_ascii_alphabetic() || matches!(byte, b'-' | b'_'));
    sound.then_some(method)
}

/// Of a request that has a method: what stands behind it, up to a space that is not escaped.
fn path(request: &[u8]) -> Option<&[u8]> {
    let text = &request[method(request)?.len() + 1..];
    let mut at = 0;
    // The end of the request stands behind a whole escape, so nothing is cut from one.
    while let Some(step) = text.get(at..).and_then(|rest| memchr2(b' ', b'\\', rest)) {
        at += step;
        if text[at] == b' ' {
            return not_empty(&text[..at]);
        }
        at += 2;
    }
    not_empty(text)
}

/// Of ` "..."...`: what stands in the quotes, and behind them.
fn quoted(text: &[u8]) -> Option<(&[u8], &[u8])> {
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
    fn fields_are_known_by_name() {
        for (name, field) in Field::NAMES {
            assert_eq!(Field::named(name), Some(field));
        }
        assert_eq!(Field::named("size"), None);
    }
}
