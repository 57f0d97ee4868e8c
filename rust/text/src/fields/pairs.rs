//! Pairs of a key and a value (logfmt): `at=info method=GET path="/a b" dyno=web.1 idle`.
//!
//! Pairs are separated by spaces or tabs. A value in quotes ends at the next quote that no backslash
//! escapes; in it `\n`, `\r`, `\t`, `\uXXXX` and an escaped quote or backslash are decoded, of another
//! escape the backslash is dropped. A key without `=` has no value. The last of duplicate keys
//! counts. A row with a quote that is never closed is malformed.
//!
//! Source: the packages kr/logfmt and go-logfmt/logfmt of Go.

use super::roles::{Line, Roles, Value, Values};
use crate::access_log::unescaped_quote;
use memchr::{memchr, memchr3};
use std::borrow::Cow;

/// Reads pairs.
pub(super) struct Pairs {
    names: Roles<Vec<u8>>,
}

impl Pairs {
    pub(super) fn new(names: &Roles<Vec<u8>>) -> Self {
        Self {
            names: names.clone(),
        }
    }

    pub(super) fn read<'a>(&self, row: &'a [u8]) -> Line<'a> {
        Line::Row(self.values(row).unwrap_or_default())
    }

    fn values<'a>(&self, row: &'a [u8]) -> Option<Values<'a>> {
        let mut values = Values::default();
        let mut rest = row;
        while let Some(start) = rest.iter().position(|byte| !is_space(*byte)) {
            rest = &rest[start..];
            let end = memchr3(b'=', b' ', b'\t', rest).unwrap_or(rest.len());
            let (key, after) = rest.split_at(end);
            let Some(text) = after.strip_prefix(b"=") else {
                rest = after;
                continue;
            };
            let (value, after) = if let Some(quoted) = text.strip_prefix(b"\"") {
                let end = unescaped_quote(quoted, 0)?;
                (Text::Quoted(&quoted[..end]), &quoted[end + 1..])
            } else {
                let end = text.iter().position(|byte| is_space(*byte));
                let (value, after) = text.split_at(end.unwrap_or(text.len()));
                (Text::Plain(value), after)
            };
            self.take(key, value, &mut values);
            rest = after;
        }
        Some(values)
    }

    fn take<'a>(&self, key: &[u8], text: Text<'a>, values: &mut Values<'a>) {
        if self.names.item == key {
            values.item = text.value();
        }
        if self
            .names
            .weight
            .as_ref()
            .is_some_and(|(name, _)| name == key)
        {
            values.weight = text.value();
        }
        if self.names.time.as_ref().is_some_and(|name| name == key) {
            values.time = text.value();
        }
        if self.names.value.as_ref().is_some_and(|name| name == key) {
            values.value = text.value();
        }
        if self.names.user.as_ref().is_some_and(|name| name == key) {
            values.user = text.value();
        }
    }
}

#[derive(Clone, Copy)]
enum Text<'a> {
    Plain(&'a [u8]),
    Quoted(&'a [u8]),
}

impl<'a> Text<'a> {
    fn value(self) -> Value<'a> {
        match self {
            Self::Plain(text) => Some(Cow::Borrowed(text)),
            Self::Quoted(text) if memchr(b'\\', text).is_none() => Some(Cow::Borrowed(text)),
            Self::Quoted(text) => decoded(text).map(Cow::Owned),
        }
    }
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

/// Decode the escapes of a quoted value; `None` if one of them is no character.
fn decoded(text: &[u8]) -> Option<Vec<u8>> {
    let mut decoded = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = memchr(b'\\', rest) {
        decoded.extend_from_slice(&rest[..at]);
        let (&escape, after) = rest[at + 1..].split_first()?;
        rest = after;
        decoded.push(match escape {
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'u' => {
                let (character, after) = unicode(after)?;
                decoded.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
                rest = after;
                continue;
            }
            other => other, // the first byte of a character: its others follow
        });
    }
    decoded.extend_from_slice(rest);
    Some(decoded)
}

/// Parse the four hexadecimal digits of a character, or of two that are a surrogate pair.
fn unicode(text: &[u8]) -> Option<(char, &[u8])> {
    let (first, rest) = unit(text)?;
    if let Some(character) = char::from_u32(first) {
        return Some((character, rest));
    }
    let (second, rest) = unit(rest.strip_prefix(b"\\u")?)?;
    let pair = [u16::try_from(first).ok()?, u16::try_from(second).ok()?];
    let character = char::decode_utf16(pair).next()?.ok()?;
    Some((character, rest))
}

fn unit(text: &[u8]) -> Option<(u32, &[u8])> {
    let (digits, rest) = text.split_at_checked(4)?;
    if !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    let digits = std::str::from_utf8(digits).ok()?;
    Some((u32::from_str_radix(digits, 16).ok()?, rest))
}

#[cfg(test)]
mod tests {
    use super::decoded;

    #[test]
    fn escapes_are_decoded() {
        for (text, value) in [
            (r#"a\"b\\c"#, Some("a\"b\\c")),
            (r"\n\r\t", Some("\n\r\t")),
            (r"\u00e9\ud83d\ude00x", Some("\u{e9}\u{1f600}x")),
            (r"\é", Some("é")),
            (r"\ud83d", None),
            (r"\ud83d\u0041", None),
            (r"\u12", None),
            (r"\u+123", None),
        ] {
            let found = decoded(text.as_bytes());
            assert_eq!(found.as_deref(), value.map(str::as_bytes), "{text}");
        }
    }
}
