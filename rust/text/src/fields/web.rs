//! The common and the combined log format, and access logs that add to the latter.
//!
//! Where a row needs no weight, `access_log` reads the first two faster.
//!
//! ```text
//! common          host ident user [time] "request" status size
//! combined        host ident user [time] "request" status size "referrer" "agent"
//! vhost_combined  site:port host ident user [time] "request" status size "referrer" "agent"
//! nginx           host - user [time] "request" status size "referrer" "agent" "forwarded for"
//! traefik         host - user [time] "request" status size "referrer" "agent" N "router" "server" Nms
//! ```
//!
//! `forwarded for` is the header X-Forwarded-For: each proxy appends the address that it was
//! connected from, so the last addresses are those of proxies that are trusted, and what stands
//! before them is what a client may have written.
//!
//! Source: Apache HTTP Server, `conf/httpd.conf` of Debian, LogFormat vhost_combined; nginx.conf of
//! the nginx packages, log_format main; Traefik documentation, "Access Logs", Common Log Format.

use super::field::{Field, parts};
use super::roles::{Roles, Values};
use super::words::{Words, address};
use crate::access_log::{self, Parsed, head, word};
use std::borrow::Cow;

/// Cut a row of the common or the combined format, as `access_log` does: a user `-` is an item,
/// though no person.
pub(super) fn plain<'a>(
    row: &'a [u8],
    fields: &Roles<Field>,
    _hops: Option<usize>,
) -> Option<Values<'a>> {
    let mut values = combined(row, fields, |_, _| None);
    values.user = values.user.filter(|user| user.as_ref() != b"-");
    if fields.item == Field::User {
        let parsed = Parsed::of(row);
        let user = parsed.and_then(|row| row.field(access_log::Field::User));
        values.item = user.map(Cow::Borrowed);
    }
    Some(values)
}

/// Cut a row that begins with the site and its port.
pub(super) fn vhost_combined<'a>(
    row: &'a [u8],
    fields: &Roles<Field>,
    _hops: Option<usize>,
) -> Option<Values<'a>> {
    let (site, row) = word(row)?;
    Some(combined(row, fields, |_, field| match field {
        Field::Vhost => Some(address(site)),
        _ => None,
    }))
}

/// Cut a row that ends with the header X-Forwarded-For.
pub(super) fn forwarded<'a>(
    row: &'a [u8],
    fields: &Roles<Field>,
    hops: Option<usize>,
) -> Option<Values<'a>> {
    Some(combined(row, fields, |row, field| match field {
        Field::Client => {
            let host = row.field(access_log::Field::Host)?;
            client(access_log::quoted(row.appended()?)?.0, host, hops)
        }
        _ => None,
    }))
}

/// Cut a row that ends with the router and the server.
pub(super) fn traefik<'a>(
    row: &'a [u8],
    fields: &Roles<Field>,
    _hops: Option<usize>,
) -> Option<Values<'a>> {
    Some(combined(row, fields, |row, field| {
        let mut words = Words::of(row.appended()?.strip_prefix(b" ")?);
        words.next()?; // the number of the request
        match field {
            Field::Router => words.next(),
            Field::Server => words.nth(1),
            _ => None,
        }
    }))
}

fn combined<'a>(
    row: &'a [u8],
    fields: &Roles<Field>,
    other: impl Fn(&Parsed<'a>, Field) -> Option<&'a [u8]>,
) -> Values<'a> {
    let parsed = Parsed::of(row);
    parts(fields, |field| {
        if field == Field::Time {
            return head(row).map(|head| head.time); // also of a row that is malformed after it
        }
        let row = parsed.as_ref()?;
        row.field(match field {
            Field::Host => access_log::Field::Host,
            Field::Path => access_log::Field::Path,
            Field::Status => access_log::Field::Status,
            Field::Method => access_log::Field::Method,
            Field::Agent => access_log::Field::Agent,
            Field::Referrer => access_log::Field::Referrer,
            Field::User => {
                let user = row.field(access_log::Field::User);
                return user.filter(|&user| user != b"-");
            }
            Field::Size => access_log::Field::Size,
            _ => return other(row, field).filter(|text| !text.is_empty()),
        })
    })
}

/// Return the client of a request: without trusted proxies the first address of the header, else
/// the one that the first trusted proxy was connected from.
///
/// `host`, which connected to the server, is the last address of all. It is the client if no proxy
/// is trusted or there is no header.
fn client<'a>(header: &'a [u8], host: &'a [u8], hops: Option<usize>) -> Option<&'a [u8]> {
    if header == b"-" || header.is_empty() || hops == Some(0) {
        return Some(host);
    }
    let mut hosts = header.split(|&byte| byte == b',').map(<[u8]>::trim_ascii);
    match hops {
        None => hosts.next(),
        Some(hops) => {
            // A request that came past the outer proxies has fewer addresses.
            let mut found = None;
            for host in hosts.rev().take(hops) {
                found = Some(host);
            }
            found
        }
    }
}

#[cfg(test)]
mod tests {
    use super::client;

    #[test]
    fn the_client_is_the_address_before_the_trusted_proxies() {
        let header = "1.1.1.1, 2.2.2.2,3.3.3.3";
        for (header, hops, found) in [
            (header, None, Some("1.1.1.1")),
            (header, Some(0), Some("9.9.9.9")),
            (header, Some(1), Some("3.3.3.3")),
            (header, Some(2), Some("2.2.2.2")),
            (header, Some(3), Some("1.1.1.1")),
            (header, Some(9), Some("1.1.1.1")),
            ("-", None, Some("9.9.9.9")),
            ("-", Some(2), Some("9.9.9.9")),
            (" , 2.2.2.2", None, Some("")),
        ] {
            let host = client(header.as_bytes(), b"9.9.9.9", hops);
            assert_eq!(host, found.map(str::as_bytes), "{header} {hops:?}");
        }
    }
}
