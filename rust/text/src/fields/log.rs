//! Logs by name: which fields each has, and how its rows are read.

use super::field::Field::{
    Agent, Backend, Client, Facility, Frontend, Host, Message, Method, Msgid, Path, Pid, Program,
    Referrer, Router, Server, Severity, Size, Status, Stream, Target, Time, User, Vhost,
};
use super::field::{Field, NAMES, name_of};
use super::objects::Objects;
use super::roles::{FieldError, Line, Roles, Values};
use super::{balancer, container, haproxy, syslog, web};

/// A function that cuts a row and returns its fields by what it is asked for.
type Cut = for<'a> fn(&'a [u8], &Roles<Field>, Option<usize>) -> Option<Values<'a>>;

/// A log whose rows are words: its name, its fields, of which the first is the default, and how a
/// row is cut.
const LOGS: [(&str, &[Field], Cut); 10] = [
    (
        "common",
        &[Host, Path, Status, Method, User, Size],
        web::plain,
    ),
    (
        "combined",
        &[Host, Path, Status, Method, User, Agent, Referrer, Size],
        web::plain,
    ),
    (
        "vhost_combined",
        &[
            Host, Vhost, Path, Status, Method, User, Agent, Referrer, Size,
        ],
        web::vhost_combined,
    ),
    (
        "nginx",
        &[
            Client, Host, Path, Status, Method, User, Agent, Referrer, Size,
        ],
        web::forwarded,
    ),
    (
        "traefik",
        &[
            Host, Path, Status, Method, User, Agent, Referrer, Router, Server, Size,
        ],
        web::traefik,
    ),
    (
        "haproxy",
        &[Host, Path, Status, Method, Frontend, Backend, Server, Size],
        haproxy::values,
    ),
    (
        "alb",
        &[Host, Path, Status, Method, Agent, Vhost, Target, Size],
        balancer::application,
    ),
    (
        "elb",
        &[Host, Path, Status, Method, Agent, Target, Size],
        balancer::classic,
    ),
    (
        "syslog",
        &[Program, Host, Severity, Facility, Pid, Msgid, Message],
        syslog::values,
    ),
    ("cri", &[Message, Stream], container::values),
];

/// Return the fields of a log without the time, the default first; `None` if there is no such log.
pub fn log_fields(log: &str) -> Option<Vec<&'static str>> {
    if let Some(names) = Objects::fields(log) {
        return Some(names);
    }
    let (_, fields, _) = LOGS.iter().find(|(name, _, _)| *name == log)?;
    Some(fields.iter().map(|&field| name_of(field)).collect())
}

/// Reads the rows of one log.
pub(super) enum Log {
    Words {
        cut: Cut,
        fields: Roles<Field>,
        trusted_hops: Option<usize>,
    },
    Objects(Objects),
}

impl Log {
    pub(super) fn new(
        log: &str,
        names: &Roles<Vec<u8>>,
        trusted_hops: Option<usize>,
    ) -> Result<Self, FieldError> {
        if let Some(objects) = Objects::new(log, names)? {
            return Ok(Self::Objects(objects));
        }
        let found = LOGS.iter().find(|(name, _, _)| *name == log);
        let &(_, known, cut) = found.ok_or(FieldError::Layout)?;
        let fields = names.map(|name, role| {
            let found = NAMES.iter().find(|(known, _)| known.as_bytes() == name);
            match found {
                Some(&(_, Time)) if role == "time" => Ok(Time),
                Some(&(_, field)) if known.contains(&field) => Ok(field),
                _ => Err(FieldError::Field(role)),
            }
        })?;
        Ok(Self::Words {
            cut,
            fields,
            trusted_hops,
        })
    }

    pub(super) fn read<'a>(&mut self, row: &'a str) -> Line<'a> {
        Line::Row(match self {
            Self::Words {
                cut,
                fields,
                trusted_hops,
            } => cut(row.as_bytes(), fields, *trusted_hops).unwrap_or_default(),
            Self::Objects(objects) => objects.read(row).unwrap_or_default(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{LOGS, NAMES, log_fields, name_of};

    #[test]
    fn every_field_has_one_name() {
        for (name, field) in NAMES {
            assert_eq!(name_of(field), name);
        }
        for (log, fields, _) in LOGS {
            assert_eq!(log_fields(log).unwrap().len(), fields.len());
        }
        assert_eq!(log_fields("other"), None);
    }
}
