//! Words of a row: texts up to the next space, or in quotes.

use crate::access_log::{method, path, unescaped_quote};
use memchr::{memchr, memrchr};

/// Iterates over the words of a row. A word that begins with a quote ends at the next quote that no
/// backslash escapes, and is returned without the quotes.
pub(super) struct Words<'a> {
    rest: Option<&'a [u8]>,
}

impl<'a> Words<'a> {
    pub(super) fn of(row: &'a [u8]) -> Self {
        Self { rest: Some(row) }
    }

    /// Return what follows the words that were taken, without the space before it.
    pub(super) fn rest(&self) -> Option<&'a [u8]> {
        self.rest
    }
}

impl<'a> Iterator for Words<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let text = self.rest.take()?;
        if let Some(quoted) = text.strip_prefix(b"\"") {
            let end = unescaped_quote(quoted, 0)?;
            let after = &quoted[end + 1..];
            self.rest = after.strip_prefix(b" ");
            // A quote that is followed by neither a space nor the end of the row ends the words.
            return (after.is_empty() || self.rest.is_some()).then_some(&quoted[..end]);
        }
        let end = memchr(b' ', text).unwrap_or(text.len());
        self.rest = text.get(end + 1..);
        (end > 0).then_some(&text[..end])
    }
}

/// Return the address in `ADDRESS:PORT`, without the brackets of IPv6; a text without a port is
/// returned unchanged.
pub(super) fn address(text: &[u8]) -> &[u8] {
    let bare = match memrchr(b':', text) {
        Some(colon) if colon > 0 && is_number(&text[colon + 1..]) => &text[..colon],
        _ => text,
    };
    bare.strip_prefix(b"[")
        .and_then(|bare| bare.strip_suffix(b"]"))
        .unwrap_or(bare)
}

/// Return whether a text is digits, and at least one.
pub(super) fn is_number(text: &[u8]) -> bool {
    !text.is_empty() && text.iter().all(u8::is_ascii_digit)
}

/// Return whether a text is the status of a response: three digits, -1 or `-`.
pub(super) fn is_status(text: &[u8]) -> bool {
    matches!(text, b"-" | b"-1") || (text.len() == 3 && is_number(text))
}

/// A field of the first line of a request.
pub(super) fn request_method(request: &[u8]) -> Option<&[u8]> {
    method(request)
}

/// Return the path of a request, also if its target is a whole URL: `GET http://host:80/path HTTP/1.1`.
pub(super) fn request_path(request: &[u8]) -> Option<&[u8]> {
    let target = path(request)?;
    let scheme = target
        .iter()
        .take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.'))
        .count();
    match target[scheme..].strip_prefix(b"://") {
        Some(after) if scheme > 0 => Some(&after[memchr(b'/', after)?..]),
        _ => Some(target),
    }
}

/// Return a text that is not empty and not `-`.
pub(super) fn present(text: &[u8]) -> Option<&[u8]> {
    (!matches!(text, b"" | b"-")).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(row: &str) -> Vec<String> {
        Words::of(row.as_bytes())
            .map(|word| String::from_utf8_lossy(word).into_owned())
            .collect()
    }

    #[test]
    fn words_end_at_spaces_and_quotes() {
        assert_eq!(words("a b"), ["a", "b"]);
        assert_eq!(
            words(r#""a b" "" c"d "e\"f""#),
            ["a b", "", "c\"d", r#"e\"f"#]
        );
        assert_eq!(words(""), [""; 0]);
        assert_eq!(words("a  b"), ["a"]); // an empty word ends the row
        assert_eq!(words(r#"a "b"#), ["a"]); // a quote that is never closed
        assert_eq!(words(r#"a "b"c d"#), ["a"]);
        assert_eq!(words("a "), ["a"]);
    }

    #[test]
    fn the_rest_follows_the_words() {
        let mut words = Words::of(b"a \"b c\" d e");
        words.next();
        words.next();
        assert_eq!(words.rest(), Some(&b"d e"[..]));
    }

    #[test]
    fn an_address_loses_its_port() {
        for (text, bare) in [
            ("192.0.2.1:80", "192.0.2.1"),
            ("[2001:db8::1]:80", "2001:db8::1"),
            ("2001:db8::a:80", "2001:db8::a"),
            ("192.0.2.1", "192.0.2.1"),
            ("unix:1", "unix"),
            ("host:", "host:"),
            (":80", ":80"),
            ("-", "-"),
        ] {
            assert_eq!(address(text.as_bytes()), bare.as_bytes(), "{text}");
        }
    }

    #[test]
    fn a_path_is_found_in_a_whole_url() {
        for (request, path) in [
            ("GET http://www.example.com:80/a?b HTTP/1.1", Some("/a?b")),
            ("GET /a?u=http://x/ HTTP/1.1", Some("/a?u=http://x/")),
            ("GET http://www.example.com HTTP/1.1", None),
            ("CONNECT example.com:443 HTTP/1.1", Some("example.com:443")),
            ("- http://www.example.com:80- -", None),
            ("GET ://x/a HTTP/1.1", Some("://x/a")),
        ] {
            let found = request_path(request.as_bytes());
            assert_eq!(found, path.map(str::as_bytes), "{request}");
        }
    }
}
