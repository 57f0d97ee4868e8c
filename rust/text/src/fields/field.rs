//! The fields of logs whose rows are words.

use super::roles::{Roles, Value, Values};
use std::borrow::Cow;

/// A field of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Field {
    /// The address that connected, without its port; of syslog the machine.
    Host,
    /// The address in a forwarding header.
    Client,
    Path,
    Status,
    Method,
    User,
    Agent,
    Referrer,
    /// The site that was asked.
    Vhost,
    Size,
    Router,
    Server,
    Frontend,
    Backend,
    Target,
    Program,
    Pid,
    Severity,
    Facility,
    Msgid,
    Message,
    Stream,
    Time,
}

use Field::{
    Agent, Backend, Client, Facility, Frontend, Host, Message, Method, Msgid, Path, Pid, Program,
    Referrer, Router, Server, Severity, Size, Status, Stream, Target, Time, User, Vhost,
};

pub(super) const NAMES: [(&str, Field); 23] = [
    ("host", Host),
    ("client", Client),
    ("path", Path),
    ("status", Status),
    ("method", Method),
    ("user", User),
    ("agent", Agent),
    ("referrer", Referrer),
    ("vhost", Vhost),
    ("size", Size),
    ("router", Router),
    ("server", Server),
    ("frontend", Frontend),
    ("backend", Backend),
    ("target", Target),
    ("program", Program),
    ("pid", Pid),
    ("severity", Severity),
    ("facility", Facility),
    ("msgid", Msgid),
    ("message", Message),
    ("stream", Stream),
    ("time", Time),
];

pub(super) fn name_of(field: Field) -> &'static str {
    let found = NAMES.iter().find(|&&(_, known)| known == field);
    found.expect("every field has a name").0
}

/// Take each field of a row that is a part of it.
pub(super) fn parts<'a>(
    fields: &Roles<Field>,
    mut part: impl FnMut(Field) -> Option<&'a [u8]>,
) -> Values<'a> {
    fields.values(|&field| -> Value<'a> { part(field).map(Cow::Borrowed) })
}
