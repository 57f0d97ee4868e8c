//! Logs of load balancers of AWS.
//!
//! ```text
//! alb  type time elb client:port target:port t t t status status received sent "request" "agent"
//!      cipher protocol group "trace" "domain" "certificate" ...
//! elb  time elb client:port backend:port t t t status status received sent "request" "agent" ...
//! ```
//!
//! A row is malformed if it ends before the request. The target and the domain may be `-`, which is
//! no item.
//!
//! Source: AWS documentation, "Access logs for your Application Load Balancer" and "Access logs for
//! your Classic Load Balancer".

use super::field::{Field, parts};
use super::roles::{Roles, Values};
use super::words::{Words, address, is_status, present, request_method, request_path};

/// Cut a row of an application load balancer.
pub(super) fn application<'a>(
    row: &'a [u8],
    fields: &Roles<Field>,
    _hops: Option<usize>,
) -> Option<Values<'a>> {
    let mut words = Words::of(row);
    words.next()?; // the type
    balanced(words, fields)
}

/// Cut a row of a classic load balancer.
pub(super) fn classic<'a>(
    row: &'a [u8],
    fields: &Roles<Field>,
    _hops: Option<usize>,
) -> Option<Values<'a>> {
    balanced(Words::of(row), fields)
}

fn balanced<'a>(mut words: Words<'a>, fields: &Roles<Field>) -> Option<Values<'a>> {
    let time = words.next()?;
    let _balancer = words.next()?;
    let (client, target) = (words.next()?, words.next()?);
    let status = words.nth(3)?; // after three durations
    let (_status_of_target, _received) = (words.next()?, words.next()?);
    let (sent, request) = (words.next()?, words.next()?);
    if !(is_status(status) && time.get(10) == Some(&b'T')) {
        return None;
    }
    let agent = words.next();
    let domain = if fields.has(Field::Vhost) {
        words.nth(4)
    } else {
        None
    };
    Some(parts(fields, |field| match field {
        Field::Time => Some(time),
        Field::Host => present(address(client)),
        Field::Target => present(target),
        Field::Status => Some(status),
        Field::Size => Some(sent),
        Field::Method => request_method(request),
        Field::Path => request_path(request),
        Field::Agent => agent.filter(|agent| !agent.is_empty()),
        Field::Vhost => present(domain?),
        _ => None,
    }))
}

impl Roles<Field> {
    /// Return whether a field is wanted.
    fn has(&self, field: Field) -> bool {
        self.item == field
            || self.user == Some(field)
            || self.time == Some(field)
            || self.value == Some(field)
            || self
                .weight
                .as_ref()
                .is_some_and(|&(weight, _)| weight == field)
    }
}
