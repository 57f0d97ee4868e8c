//! JSON lines: each row is an object, and a field is one of its keys or a path of keys.
//!
//! `user.id` is the key of that name if the object has it, otherwise `id` within `user`; the last
//! of duplicate keys counts. Text and integers are items. A row is malformed if it is not exactly
//! one object, if the field is missing or of another type, or if the weight is not a non-negative
//! integer.
//!
//! Python's json module is the reference. It accepts more than RFC 8259 (NaN, lone surrogates,
//! integers of any size) and sometimes less (it limits depth and digits). Rows that serde_json
//! rejects, or where it might differ, are returned *undecoded*, for Python to decode; on all other
//! rows the two agree. A row that does not begin with `{` and end with `}` is malformed for both,
//! so most damaged rows never reach Python.
//!
//! Source: RFC 8259; documentation of Python's module `json`, "Standard Compliance and
//! Interoperability".

mod array;
mod lookup;

pub(crate) use lookup::{Path, values};

pub use array::json_elements;

use crate::columns::{LONGEST_ITEM, Texts, is_a_person};
use crate::lines;
use lookup::{Undecoded, is_shallow};
use memchr::{memchr, memchr2_iter, memchr3};
use std::borrow::Cow;

/// The kind of a row, or of its item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum RowKind {
    /// An item that is text.
    Text = 0,
    /// A signed 64-bit integer.
    Signed = 1,
    /// An integer that fits only an unsigned 64-bit integer.
    Unsigned = 2,
    /// A row without an item.
    Malformed = 3,
    /// A row that is left to Python's decoder.
    Undecoded = 4,
    /// A row with an item that lacks its person.
    WithoutUser = 5,
}

/// The fields to extract from each object.
pub struct Wanted {
    /// The keys to find, all distinct.
    keys: Vec<Vec<u8>>,
    item: Path,
    /// The path of the weight, and the limit to which larger weights are clipped.
    weight: Option<(Path, i64)>,
    time: Option<Path>,
    value: Option<Path>,
    user: Option<Path>,
    take_text: bool,
    take_integers: bool,
    numbers_as_written: bool,
}

/// Columns of the extracted fields.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Objects {
    /// The `RowKind` of each row.
    pub kinds: Vec<u8>,
    /// The items that are text, in order.
    pub texts: Texts,
    /// The items that are integers, in order; negative ones in two's complement.
    pub integers: Vec<u64>,
    /// The weight of each item; empty if weights are not requested.
    pub weights: Vec<i64>,
    /// Positions, counted from 0 over the items, of those whose weight was clipped.
    pub clipped: Vec<i64>,
    /// The time of each row as written; empty where it is neither text nor a number that can be a
    /// time. `None` if times are not requested.
    pub times: Option<Texts>,
    /// The number of each row, or the text that may be one, as times are. `None` if not requested.
    pub values: Option<Texts>,
    /// The person of each item, an integer in decimal digits. `None` if not requested.
    pub users: Option<Texts>,
    /// The rows that are left to Python's decoder.
    pub undecoded: Texts,
}

impl Wanted {
    /// Extract items of all types from a field.
    pub fn new(field: &[u8]) -> Self {
        let mut keys = Vec::new();
        Self {
            item: Path::new(field, &mut keys),
            keys,
            weight: None,
            time: None,
            value: None,
            user: None,
            take_text: true,
            take_integers: true,
            numbers_as_written: false,
        }
    }

    /// Also extract the weight from a field, clipped to `limit`.
    pub fn weight(mut self, field: &[u8], limit: i64) -> Self {
        self.weight = Some((Path::new(field, &mut self.keys), limit));
        self
    }

    /// Also extract the time from a field.
    pub fn time(mut self, field: &[u8]) -> Self {
        self.time = Some(Path::new(field, &mut self.keys));
        self
    }

    /// Also extract a number from a field.
    pub fn value(mut self, field: &[u8]) -> Self {
        self.value = Some(Path::new(field, &mut self.keys));
        self
    }

    /// Also extract the person from a field: text that is not empty, or an integer.
    pub fn user(mut self, field: &[u8]) -> Self {
        self.user = Some(Path::new(field, &mut self.keys));
        self
    }

    /// Accept only text as items.
    pub fn text_only(mut self) -> Self {
        self.take_integers = false;
        self
    }

    /// Accept only integers as items.
    pub fn integers_only(mut self) -> Self {
        self.take_text = false;
        self
    }

    /// Return numbers as text, as they are written: for items that are read as real numbers.
    pub fn numbers_as_written(mut self) -> Self {
        self.numbers_as_written = true;
        self
    }
}

/// Extract the wanted fields from each row.
pub fn json_rows(block: &[u8], wanted: &Wanted) -> Objects {
    let mut objects = Objects::of(block, wanted);
    let mut found = Vec::new();
    for row in lines::texts(block) {
        match wanted.read(row, &mut found) {
            Ok(values) => objects.push(values),
            Err(Undecoded) => objects.push_undecoded(row),
        }
    }
    objects
}

/// The wanted fields of one row.
#[derive(Default)]
struct Row<'a> {
    item: Option<Item<'a>>,
    weight: Option<Weight>,
    time: Cow<'a, str>,
    value: Cow<'a, str>,
    user: Option<Cow<'a, str>>,
}

enum Item<'a> {
    Text(Cow<'a, str>),
    Signed(i64),
    Unsigned(u64),
}

struct Weight {
    counted: i64,
    clipped: bool,
}

impl Wanted {
    fn read<'a>(
        &self,
        row: &'a str,
        found: &mut Vec<Option<&'a str>>,
    ) -> Result<Row<'a>, Undecoded> {
        let row = row.trim_matches([' ', '\t', '\r']);
        if !(row.starts_with('{') && row.ends_with('}')) {
            return Ok(Row::default());
        }
        values(row, &self.keys, found)?;
        if is_out_of_bounds(row) {
            return Err(Undecoded);
        }
        let mut read = Row::default();
        if let Some(value) = self.item.value(found)? {
            read.item = self.item(value)?;
        }
        if let Some((path, limit)) = &self.weight {
            read.weight = path.value(found)?.and_then(|value| weight(value, *limit));
            read.item = read.item.filter(|_| read.weight.is_some());
        }
        if let Some(path) = &self.time {
            read.time = path.value(found)?.map_or(Ok(Cow::default()), written)?;
        }
        if let Some(path) = &self.value {
            read.value = path.value(found)?.map_or(Ok(Cow::default()), written)?;
        }
        if let Some(path) = &self.user {
            read.user = path.value(found)?.map_or(Ok(None), user)?;
        }
        Ok(read)
    }

    fn item<'a>(&self, value: &'a str) -> Result<Option<Item<'a>>, Undecoded> {
        Ok(match value.as_bytes()[0] {
            b'"' => {
                let text = text(value)?;
                (self.take_text && text.len() <= LONGEST_ITEM).then_some(Item::Text(text))
            }
            b'-' | b'0'..=b'9' if self.numbers_as_written => {
                (value.len() <= LONGEST_ITEM).then_some(Item::Text(value.into()))
            }
            b'-' | b'0'..=b'9' if self.take_integers && !is_real(value) => {
                Some(match value.parse() {
                    Ok(integer) => Item::Signed(integer),
                    Err(_) => Item::Unsigned(value.parse().map_err(|_| Undecoded)?),
                })
            }
            _ => None,
        })
    }
}

fn weight(value: &str, limit: i64) -> Option<Weight> {
    let integer = matches!(value.as_bytes()[0], b'-' | b'0'..=b'9') && !is_real(value);
    let (true, Ok(weight)) = (integer, value.parse::<i128>()) else {
        // An integer that does not fit an i128 is above the limit, or negative.
        let above = integer && !value.starts_with('-');
        return above.then_some(Weight {
            counted: limit,
            clipped: true,
        });
    };
    (weight >= 0).then(|| Weight {
        counted: weight.min(i128::from(limit)) as i64,
        clipped: weight > i128::from(limit),
    })
}

/// Return text, a real number or a signed 64-bit integer as written. All else is empty, as is
/// `i64::MIN`.
fn written(value: &str) -> Result<Cow<'_, str>, Undecoded> {
    Ok(match value.as_bytes()[0] {
        b'"' => text(value)?,
        b'-' | b'0'..=b'9' if is_real(value) => value.into(),
        b'-' | b'0'..=b'9' => match value.parse::<i64>() {
            Err(_) | Ok(i64::MIN) => Cow::default(),
            Ok(_) => value.into(),
        },
        _ => Cow::default(),
    })
}

/// Return who a person is: text, or an integer in decimal digits.
fn user(value: &str) -> Result<Option<Cow<'_, str>>, Undecoded> {
    let user: Cow<'_, str> = match value.as_bytes()[0] {
        b'"' => text(value)?,
        b'-' | b'0'..=b'9' if !is_real(value) => {
            let integer: i128 = value.parse().map_err(|_| Undecoded)?;
            integer.to_string().into()
        }
        _ => return Ok(None),
    };
    Ok(Some(user).filter(|user| is_a_person(user.as_bytes())))
}

/// Return the text between the quotes, unescaped.
pub(crate) fn text(value: &str) -> Result<Cow<'_, str>, Undecoded> {
    if memchr(b'\\', value.as_bytes()).is_none() {
        return Ok(value[1..value.len() - 1].into());
    }
    Ok(serde_json::from_str::<String>(value)?.into())
}

/// Return whether a number has a fraction or an exponent.
fn is_real(number: &str) -> bool {
    memchr3(b'.', b'e', b'E', number.as_bytes()).is_some()
}

/// Return whether Python might reject a row for its depth or its digits.
fn is_out_of_bounds(row: &str) -> bool {
    // Each level takes at least two bytes.
    if row.len() < 2 * SHALLOW {
        return false;
    }
    let openings = memchr2_iter(b'[', b'{', row.as_bytes()).count();
    (openings >= SHALLOW && !is_shallow(row)) || has_digits(row.as_bytes(), DIGITS)
}

/// Nesting up to this depth is accepted by both parsers: serde_json's own limit, and an eighth of
/// Python's default.
const SHALLOW: usize = 128;

/// From this number of consecutive digits on, Python may reject an integer: the smallest limit that
/// `sys.set_int_max_str_digits` accepts.
const DIGITS: usize = 640;

/// Return whether a row has `length` consecutive digits, even inside a text.
fn has_digits(row: &[u8], length: usize) -> bool {
    let digits = |bytes: &mut dyn Iterator<Item = &u8>| {
        bytes
            .take(length)
            .take_while(|byte| byte.is_ascii_digit())
            .count()
    };
    // Any run of that length covers one of these positions.
    (length - 1..row.len()).step_by(length).any(|position| {
        let (before, after) = row.split_at(position);
        row[position].is_ascii_digit()
            && digits(&mut before.iter().rev()) + digits(&mut after.iter()) >= length
    })
}

impl Objects {
    fn of(block: &[u8], wanted: &Wanted) -> Self {
        Self {
            kinds: Vec::with_capacity(lines::count(block)),
            texts: Texts::of(block),
            integers: Vec::new(),
            weights: Vec::new(),
            clipped: Vec::new(),
            times: wanted.time.as_ref().map(|_| Texts::of(block)),
            values: wanted.value.as_ref().map(|_| Texts::of(block)),
            users: wanted.user.as_ref().map(|_| Texts::of(block)),
            undecoded: Texts::of(b""),
        }
    }

    fn push(&mut self, row: Row) {
        let written = [(&mut self.times, row.time), (&mut self.values, row.value)];
        for (texts, text) in written {
            if let Some(texts) = texts {
                texts.push(text.as_bytes());
            }
        }
        let Some(item) = row.item else {
            self.kinds.push(RowKind::Malformed as u8);
            return;
        };
        if let Some(users) = &mut self.users {
            let Some(user) = row.user else {
                self.kinds.push(RowKind::WithoutUser as u8);
                return;
            };
            users.push(user.as_bytes());
        }
        if let Some(Weight { counted, clipped }) = row.weight {
            if clipped {
                self.clipped.push(self.weights.len() as i64);
            }
            self.weights.push(counted);
        }
        self.kinds.push(match item {
            Item::Text(text) => {
                self.texts.push(text.as_bytes());
                RowKind::Text
            }
            Item::Signed(integer) => {
                self.integers.push(integer as u64);
                RowKind::Signed
            }
            Item::Unsigned(integer) => {
                self.integers.push(integer);
                RowKind::Unsigned
            }
        } as u8);
    }

    fn push_undecoded(&mut self, row: &str) {
        for texts in [&mut self.times, &mut self.values].into_iter().flatten() {
            texts.push(b"");
        }
        self.undecoded.push(row.as_bytes());
        self.kinds.push(RowKind::Undecoded as u8);
    }
}
