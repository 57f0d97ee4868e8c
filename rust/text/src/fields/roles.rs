//! What is taken of each row, and what may be wrong with it.

use std::borrow::Cow;

/// What to take of each row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Roles<T> {
    /// The item.
    pub item: T,
    /// The weight, and the limit to which larger weights are clipped.
    pub weight: Option<(T, i64)>,
    /// The time.
    pub time: Option<T>,
    /// A number, which is taken as it is written.
    pub value: Option<T>,
    /// The person.
    pub user: Option<T>,
}

/// A field of a row, as bytes that are UTF-8; `None` if the row lacks it.
pub(super) type Value<'a> = Option<Cow<'a, [u8]>>;

/// The taken fields of a row.
#[derive(Default)]
pub(super) struct Values<'a> {
    pub(super) item: Value<'a>,
    pub(super) weight: Value<'a>,
    pub(super) time: Value<'a>,
    pub(super) value: Value<'a>,
    pub(super) user: Value<'a>,
}

impl<T> Roles<T> {
    /// Apply a function to each field, with the name of its role.
    pub(crate) fn map<U, E>(
        &self,
        mut function: impl FnMut(&T, &'static str) -> Result<U, E>,
    ) -> Result<Roles<U>, E> {
        let item = function(&self.item, ROLES[0])?;
        let weight = match &self.weight {
            Some((field, limit)) => Some((function(field, ROLES[1])?, *limit)),
            None => None,
        };
        let mut other = |field: &Option<T>, role| {
            let field = field.as_ref();
            field.map(|field| function(field, role)).transpose()
        };
        Ok(Roles {
            item,
            weight,
            time: other(&self.time, ROLES[2])?,
            value: other(&self.value, ROLES[3])?,
            user: other(&self.user, ROLES[4])?,
        })
    }

    /// Take each field of a row.
    pub(super) fn values<'a>(&self, mut value: impl FnMut(&T) -> Value<'a>) -> Values<'a> {
        Values {
            item: value(&self.item),
            weight: self.weight.as_ref().and_then(|(field, _)| value(field)),
            time: self.time.as_ref().and_then(&mut value),
            value: self.value.as_ref().and_then(&mut value),
            user: self.user.as_ref().and_then(&mut value),
        }
    }
}

pub(super) const ROLES: [&str; 5] = ["field", "weight", "time", "value", "user"];

/// Why a reader cannot be made, or cannot go on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FieldError {
    /// There is no layout of that name.
    Layout,
    /// The layout has no such field; the role that it was named for.
    Field(&'static str),
    /// The regular expression is not valid, and why.
    Pattern(String),
    /// A row came before the header that names its columns.
    NoHeader,
    /// The header lacks a field, or has it twice: the role that it was named for.
    NotInHeader(&'static str),
}

/// What a line is.
pub(super) enum Line<'a> {
    /// A row, with what was found of it.
    Row(Values<'a>),
    /// A line that is no row.
    NoRow,
}
