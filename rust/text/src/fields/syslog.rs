//! Syslog: RFC 5424, RFC 3164 (BSD), and both without a priority as files have them.
//!
//! ```text
//! <34>1 2003-10-11T22:14:15.003Z host program pid msgid [structured data] message
//! <34>Oct 11 22:14:15 host program[pid]: message
//! 2003-10-11T22:14:15.003+02:00 host program[pid]: message
//! ```
//!
//! Each row is read by its own beginning. A time of RFC 3164 has neither a year nor a zone and is
//! unknown. `-`, the nil value of RFC 5424, is no item. A message of RFC 3164 without `program:` or
//! `program[pid]`, such as "last message repeated 2 times", has no program.
//!
//! Source: RFC 5424, section 6; RFC 3164, section 4.1.

use super::field::{Field, parts};
use super::roles::{Roles, Values};
use super::words::{is_number, present};
use crate::access_log::word;
use memchr::memchr;

pub(super) const SEVERITIES: [&str; 8] = [
    "emerg", "alert", "crit", "err", "warning", "notice", "info", "debug",
];
const FACILITIES: [&str; 24] = [
    "kern",
    "user",
    "mail",
    "daemon",
    "auth",
    "syslog",
    "lpr",
    "news",
    "uucp",
    "cron",
    "authpriv",
    "ftp",
    "ntp",
    "security",
    "console",
    "solaris-cron",
    "local0",
    "local1",
    "local2",
    "local3",
    "local4",
    "local5",
    "local6",
    "local7",
];
const MONTHS: [&[u8]; 12] = [
    b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov", b"Dec",
];

#[derive(Default)]
struct Message<'a> {
    time: &'a [u8],
    host: &'a [u8],
    program: &'a [u8],
    pid: &'a [u8],
    msgid: &'a [u8],
    text: &'a [u8],
}

/// Cut a row.
pub(super) fn values<'a>(
    row: &'a [u8],
    fields: &Roles<Field>,
    _hops: Option<usize>,
) -> Option<Values<'a>> {
    let (priority, rest) = priority(row)?;
    let message = match rest.strip_prefix(b"1 ") {
        Some(rest) if priority.is_some() => structured(rest)?,
        _ => plain(rest)?,
    };
    Some(parts(fields, |field| match field {
        Field::Time => Some(message.time),
        Field::Host => present(message.host),
        Field::Program => present(message.program),
        Field::Pid => present(message.pid),
        Field::Msgid => present(message.msgid),
        Field::Message => Some(message.text).filter(|text| !text.is_empty()),
        Field::Severity => Some(SEVERITIES[priority? % 8].as_bytes()),
        Field::Facility => Some(FACILITIES[priority? / 8].as_bytes()),
        _ => None,
    }))
}

/// Parse `<PRIORITY>`, which files leave out.
fn priority(row: &[u8]) -> Option<(Option<usize>, &[u8])> {
    let Some(text) = row.strip_prefix(b"<") else {
        return Some((None, row));
    };
    let end = memchr(b'>', text).filter(|end| (1..=3).contains(end))?;
    if !is_number(&text[..end]) {
        return None;
    }
    let value = text[..end]
        .iter()
        .fold(0, |value, digit| 10 * value + usize::from(digit - b'0'));
    (value < 8 * FACILITIES.len()).then_some((Some(value), &text[end + 1..]))
}

/// Parse what follows `<PRIORITY>1 `.
fn structured(text: &[u8]) -> Option<Message<'_>> {
    let (time, text) = word(text)?;
    let (host, text) = word(text)?;
    let (program, text) = word(text)?;
    let (pid, text) = word(text)?;
    let (msgid, text) = word(text)?;
    let text = after_structured_data(text)?;
    // A message begins after a space; a byte-order mark states that it is UTF-8.
    let text = text.strip_prefix(b" ").unwrap_or(text);
    Some(Message {
        time,
        host,
        program,
        pid,
        msgid,
        text: text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text),
    })
}

fn after_structured_data(text: &[u8]) -> Option<&[u8]> {
    if let Some(rest) = text.strip_prefix(b"-") {
        return (rest.is_empty() || rest[0] == b' ').then_some(rest);
    }
    let mut rest = text;
    while let Some(element) = rest.strip_prefix(b"[") {
        rest = &element[end_of_element(element)? + 1..];
    }
    (rest.len() < text.len() && matches!(rest.first(), None | Some(b' '))).then_some(rest)
}

/// Return the position of the bracket that ends an element: not in a quoted value.
fn end_of_element(text: &[u8]) -> Option<usize> {
    let (mut at, mut is_quoted) = (0, false);
    while let Some(byte) = text.get(at) {
        match byte {
            b'\\' if is_quoted => at += 1,
            b'"' => is_quoted = !is_quoted,
            b']' if !is_quoted => return Some(at),
            _ => {}
        }
        at += 1;
    }
    None
}

/// Parse `TIME HOST PROGRAM[PID]: MESSAGE`.
fn plain(text: &[u8]) -> Option<Message<'_>> {
    let (time, text) = if is_stamp(text) {
        (&text[..0], text.get(16..)?)
    } else {
        let (time, text) = word(text)?;
        let is_date =
            time.len() >= 19 && time[..4].iter().all(u8::is_ascii_digit) && time[4] == b'-';
        (is_date.then_some(time)?, text)
    };
    let (host, text) = word(text)?;
    let whole = Message {
        time,
        host,
        text,
        ..Message::default()
    };
    let end = text
        .iter()
        .position(|byte| matches!(byte, b'[' | b':' | b' '));
    let Some(end) = end.filter(|&end| end > 0) else {
        return Some(whole);
    };
    let (program, rest) = text.split_at(end);
    let (pid, rest) = match rest[0] {
        b' ' => return Some(whole),
        b':' => (&rest[..0], &rest[1..]),
        _ => {
            let Some(close) = memchr(b']', rest) else {
                return Some(whole);
            };
            let after = &rest[close + 1..];
            (&rest[1..close], after.strip_prefix(b":").unwrap_or(after))
        }
    };
    Some(Message {
        program,
        pid,
        text: rest.strip_prefix(b" ").unwrap_or(rest),
        ..whole
    })
}

/// Return whether a text begins with `Mmm dd hh:mm:ss `.
fn is_stamp(text: &[u8]) -> bool {
    let Some((stamp, rest)) = text.split_at_checked(15) else {
        return false;
    };
    let is_digit = |place: usize| stamp[place].is_ascii_digit();
    MONTHS.contains(&&stamp[..3])
        && stamp[3] == b' '
        && (stamp[4] == b' ' || is_digit(4))
        && stamp[6] == b' '
        && [9, 12].iter().all(|&place| stamp[place] == b':')
        && [5, 7, 8, 10, 11, 13, 14].into_iter().all(is_digit)
        && rest.first() == Some(&b' ')
}

#[cfg(test)]
mod tests {
    use super::{after_structured_data, is_stamp, plain, priority, structured};

    #[test]
    fn a_priority_is_up_to_191() {
        assert_eq!(priority(b"<0>x"), Some((Some(0), &b"x"[..])));
        assert_eq!(priority(b"<191>"), Some((Some(191), &b""[..])));
        assert_eq!(priority(b"x"), Some((None, &b"x"[..])));
        for row in [&b"<192>x"[..], b"<>x", b"<1", b"<1234>x", b"<a>x"] {
            assert_eq!(priority(row), None);
        }
    }

    #[test]
    fn structured_data_end_outside_of_quotes() {
        for (text, rest) in [
            (&b"- m"[..], Some(&b" m"[..])),
            (b"-", Some(b"")),
            (b"-m", None),
            (b"[a b=\"]\\\"]\"] m", Some(b" m")),
            (b"[a][b]", Some(b"")),
            (b"[a", None),
            (b"[a]m", None),
            (b"m", None),
        ] {
            assert_eq!(after_structured_data(text), rest, "{text:?}");
        }
    }

    #[test]
    fn a_message_without_a_program_is_whole() {
        let message = plain(b"Oct 11 22:14:15 h last message repeated 2 times").unwrap();
        assert_eq!((message.program, message.pid), (&b""[..], &b""[..]));
        assert_eq!(message.text, b"last message repeated 2 times");
        let message = plain(b"Oct  1 22:14:15 h su[12] x").unwrap();
        assert_eq!(
            (message.program, message.pid, message.text),
            (&b"su"[..], &b"12"[..], &b"x"[..])
        );
        assert!(plain(b"Oct 11 22:14:15 h").is_none());
        assert!(structured(b"- - - - -").is_none());
    }

    #[test]
    fn a_stamp_has_a_month_and_digits() {
        assert!(is_stamp(b"Oct  1 22:14:15 "));
        for text in [
            &b"Oct 11 22:14:15"[..],
            b"Okt 11 22:14:15 ",
            b"Oct 1 22:14:15 h ",
            b"",
        ] {
            assert!(!is_stamp(text), "{text:?}");
        }
    }
}
