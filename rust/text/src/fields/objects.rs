//! Logs in JSON whose keys are known: every field is text, also where JSON has a number.
//!
//! Numbers are taken as written, of a list its first text (Caddy writes each header as a list).
//! Anything else, and an object that serde_json does not accept, is a row without the field. Of
//! several keys the first that is present counts.
//!
//! Source: Traefik documentation, "Access Logs", JSON; Caddy documentation, "How Logging Works" and
//! directive `log`; Cloudflare documentation, Logpush, dataset "HTTP requests"; Docker documentation,
//! "JSON File logging driver"; systemd, "Journal Export Formats", Journal JSON Format; Graylog
//! documentation, "GELF Payload Specification".

use super::roles::{FieldError, Roles, Value, Values};
use super::syslog::SEVERITIES;
use crate::json::{Path, text, values};
use std::borrow::Cow;

/// How a value is turned into a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// A text or a number.
    Text,
    /// The number of a severity, as its name.
    Severity,
    /// A text with its line end, which is left out.
    Line,
}

struct Field {
    name: &'static str,
    paths: &'static [&'static str],
    form: Form,
}

const fn field(name: &'static str, paths: &'static [&'static str]) -> Field {
    Field {
        name,
        paths,
        form: Form::Text,
    }
}

const fn severity(path: &'static [&'static str]) -> Field {
    Field {
        name: "severity",
        paths: path,
        form: Form::Severity,
    }
}

/// Each log with its fields: the default first, the time last.
const LOGS: [(&str, &[Field]); 6] = [
    (
        "traefik-json",
        &[
            field("host", &["ClientHost"]),
            field("path", &["RequestPath"]),
            field("status", &["DownstreamStatus"]),
            field("method", &["RequestMethod"]),
            field("vhost", &["RequestHost"]),
            field("user", &["ClientUsername"]),
            field("agent", &["request_User-Agent"]),
            field("router", &["RouterName"]),
            field("server", &["ServiceName"]),
            field("size", &["DownstreamContentSize"]),
            field("time", &["StartUTC", "time"]),
        ],
    ),
    (
        "caddy",
        &[
            field("host", &["request.client_ip", "request.remote_ip"]),
            field("path", &["request.uri"]),
            field("status", &["status"]),
            field("method", &["request.method"]),
            field("vhost", &["request.host"]),
            field("user", &["user_id"]),
            field("agent", &["request.headers.User-Agent"]),
            field("referrer", &["request.headers.Referer"]),
            field("size", &["size"]),
            field("time", &["ts"]),
        ],
    ),
    (
        "cloudflare",
        &[
            field("host", &["ClientIP"]),
            field("path", &["ClientRequestURI", "ClientRequestPath"]),
            field("status", &["EdgeResponseStatus"]),
            field("method", &["ClientRequestMethod"]),
            field("vhost", &["ClientRequestHost"]),
            field("agent", &["ClientRequestUserAgent"]),
            field("referrer", &["ClientRequestReferer"]),
            field("country", &["ClientCountry"]),
            field("size", &["EdgeResponseBytes"]),
            field("time", &["EdgeStartTimestamp"]),
        ],
    ),
    (
        "docker",
        &[
            Field {
                name: "message",
                paths: &["log"],
                form: Form::Line,
            },
            field("stream", &["stream"]),
            field("time", &["time"]),
        ],
    ),
    (
        "journald",
        &[
            field("program", &["SYSLOG_IDENTIFIER", "_COMM"]),
            field("unit", &["_SYSTEMD_UNIT"]),
            field("host", &["_HOSTNAME"]),
            severity(&["PRIORITY"]),
            field("pid", &["_PID", "SYSLOG_PID"]),
            field("message", &["MESSAGE"]),
            field("time", &["__REALTIME_TIMESTAMP"]),
        ],
    ),
    (
        "gelf",
        &[
            field("host", &["host"]),
            severity(&["level"]),
            field("facility", &["facility"]),
            field("message", &["short_message"]),
            field("time", &["timestamp"]),
        ],
    ),
];

/// Reads the objects of one log.
pub(super) struct Objects {
    /// The keys to find, all distinct.
    keys: Vec<Vec<u8>>,
    fields: Roles<(Vec<Path>, Form)>,
}

impl Objects {
    /// Return the fields of a log without the time; `None` if there is no such log of objects.
    pub(super) fn fields(log: &str) -> Option<Vec<&'static str>> {
        let (_, fields) = LOGS.iter().find(|(name, _)| *name == log)?;
        let names = fields.iter().map(|field| field.name);
        Some(names.filter(|&name| name != "time").collect())
    }

    pub(super) fn new(log: &str, names: &Roles<Vec<u8>>) -> Result<Option<Self>, FieldError> {
        let Some((_, known)) = LOGS.iter().find(|(name, _)| *name == log) else {
            return Ok(None);
        };
        let mut keys = Vec::new();
        let fields = names.map(|name, role| {
            let found = known.iter().find(|field| field.name.as_bytes() == name);
            let field = found.filter(|field| field.name != "time" || role == "time");
            let field = field.ok_or(FieldError::Field(role))?;
            let paths = field.paths.iter();
            let paths = paths.map(|path| Path::new(path.as_bytes(), &mut keys));
            Ok((paths.collect(), field.form))
        })?;
        Ok(Some(Self { keys, fields }))
    }

    pub(super) fn read<'a>(&self, row: &'a str) -> Option<Values<'a>> {
        let row = row.trim_matches([' ', '\t', '\r']);
        if !(row.starts_with('{') && row.ends_with('}')) {
            return None;
        }
        let mut found = Vec::with_capacity(self.keys.len());
        values(row, &self.keys, &mut found).ok()?;
        Some(self.fields.values(|(paths, form)| {
            let mut present = paths.iter().filter_map(|path| path.value(&found).ok()?);
            formed(present.next()?, *form)
        }))
    }
}

fn formed(value: &str, form: Form) -> Value<'_> {
    let field = match value.as_bytes()[0] {
        b'"' => text(value).ok()?,
        b'-' | b'0'..=b'9' => Cow::Borrowed(value),
        b'[' => {
            let list: Vec<Cow<'_, str>> = serde_json::from_str(value).ok()?;
            list.into_iter().next()?
        }
        _ => return None,
    };
    Some(match form {
        Form::Text => bytes(field),
        Form::Severity => {
            let name = SEVERITIES.get(field.parse::<usize>().ok()?)?;
            Cow::Borrowed(name.as_bytes())
        }
        Form::Line => bytes(match field {
            Cow::Borrowed(text) => Cow::Borrowed(without_line_end(text)),
            Cow::Owned(text) => Cow::Owned(without_line_end(&text).to_owned()),
        }),
    })
}

fn without_line_end(text: &str) -> &str {
    let text = text.strip_suffix('\n').unwrap_or(text);
    text.strip_suffix('\r').unwrap_or(text)
}

fn bytes(text: Cow<'_, str>) -> Cow<'_, [u8]> {
    match text {
        Cow::Borrowed(text) => Cow::Borrowed(text.as_bytes()),
        Cow::Owned(text) => Cow::Owned(text.into_bytes()),
    }
}

#[cfg(test)]
mod tests {
    use super::{Form, LOGS, formed};

    #[test]
    fn values_become_text() {
        for (value, form, field) in [
            (r#""a\u00e9""#, Form::Text, Some("a\u{e9}")),
            ("200", Form::Text, Some("200")),
            ("-1.50", Form::Text, Some("-1.50")),
            (r#"["a", "b"]"#, Form::Text, Some("a")),
            ("[1]", Form::Text, None),
            ("[]", Form::Text, None),
            ("true", Form::Text, None),
            ("null", Form::Text, None),
            (r#""6""#, Form::Severity, Some("info")),
            ("8", Form::Severity, None),
            ("-1", Form::Severity, None),
            (r#""a\r\n""#, Form::Line, Some("a")),
            (r#""a\n\n""#, Form::Line, Some("a\n")),
            (r#""a""#, Form::Line, Some("a")),
        ] {
            let found = formed(value, form);
            assert_eq!(found.as_deref(), field.map(str::as_bytes), "{value}");
        }
    }

    #[test]
    fn the_time_is_the_last_field_of_each_log() {
        for (log, fields) in LOGS {
            assert_eq!(fields.last().unwrap().name, "time", "{log}");
            assert!(fields.iter().all(|field| !field.paths.is_empty()), "{log}");
        }
    }
}
