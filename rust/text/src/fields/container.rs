//! Logs of containers in the format of Kubernetes' container runtime interface.
//!
//! ```text
//! 2016-10-06T00:17:09.669794202Z stdout F the message
//! ```
//!
//! A long message is several rows, of which all but the last have the tag P. Each is a row here.
//!
//! Source: Kubernetes design proposals, "CRI: Log management for container stdout/stderr streams".

use super::field::{Field, parts};
use super::roles::{Roles, Values};
use super::words::Words;

/// Cut a row.
pub(super) fn values<'a>(
    row: &'a [u8],
    fields: &Roles<Field>,
    _hops: Option<usize>,
) -> Option<Values<'a>> {
    let mut words = Words::of(row);
    let (time, stream, tags) = (words.next()?, words.next()?, words.next()?);
    let is_tag =
        matches!(tags.first(), Some(b'F' | b'P')) && matches!(tags.get(1), None | Some(b':'));
    if !(is_tag && matches!(stream, b"stdout" | b"stderr")) {
        return None;
    }
    Some(parts(fields, |field| match field {
        Field::Time => Some(time),
        Field::Stream => Some(stream),
        Field::Message => words.rest(),
        _ => None,
    }))
}
