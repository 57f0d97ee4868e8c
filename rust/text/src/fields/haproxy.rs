//! The HTTP log of HAProxy (`option httplog`), with or without what syslog writes before it.
//!
//! ```text
//! ... client:port [time] frontend backend/server T/T/T/T/T status bytes cookie cookie
//!     termination c/c/c/c/c q/q {captured} {captured} "request"
//! ```
//!
//! The first ` [` follows the client; what stands before the client is ignored. HAProxy writes
//! quotes, braces and bars in texts as `#22`, ..., so the request is between the first two quotes.
//! A request that was cut off has no closing quote.
//!
//! Source: HAProxy Configuration Manual, "HTTP log format".

use super::field::{Field, parts};
use super::roles::{Roles, Values};
use super::words::{Words, address, is_number, is_status, request_method, request_path};
use memchr::{memchr, memmem, memrchr};

/// Cut a row.
pub(super) fn values<'a>(
    row: &'a [u8],
    fields: &Roles<Field>,
    _hops: Option<usize>,
) -> Option<Values<'a>> {
    let open = memmem::find(row, b" [")?;
    let before = &row[..open];
    let client = &before[memrchr(b' ', before).map_or(0, |space| space + 1)..];
    let text = &row[open + 2..];
    let close = memchr(b']', text)?;
    let time = &text[..close];
    let mut words = Words::of(text[close + 1..].strip_prefix(b" ")?);
    let (frontend, served) = (words.next()?, words.next()?);
    let slash = memchr(b'/', served)?;
    let status = words.nth(1)?; // after the durations
    let size = words.next()?;
    words.nth(4)?; // cookies, termination, connections, queues
    if client.is_empty() || !is_status(status) {
        return None;
    }
    let rest = words.rest()?;
    let quote = memchr(b'"', rest)?;
    let request = &rest[quote + 1..];
    let request = &request[..memchr(b'"', request).unwrap_or(request.len())];
    // With `logasap` the bytes have a plus sign, since more may follow.
    let size = size.strip_prefix(b"+").unwrap_or(size);
    Some(parts(fields, |field| match field {
        Field::Time => Some(time),
        Field::Host => Some(address(client)),
        Field::Frontend => Some(frontend),
        Field::Backend => Some(&served[..slash]),
        Field::Server => Some(&served[slash + 1..]),
        Field::Status => Some(status),
        Field::Size => Some(size).filter(|size| is_number(size)),
        Field::Method => request_method(request),
        Field::Path => request_path(request),
        _ => None,
    }))
}
