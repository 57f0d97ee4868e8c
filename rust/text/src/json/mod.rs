//! JSON lines: each row is an object; the field is a key of it, or a path of keys.
//!
//! `user.id` is the key of that name if the object has it, or else `id` within `user`; of equal
//! keys the last one counts. Text and integers are items. A row is malformed if it is not one
//! object, if the field is missing or of another type, or if the weight is not an integer from 0
//! on.
//!
//! What JSON is, is said by the decoder of Python's standard library, which knows more than
//! RFC 8259 (NaN, halves of surrogate pairs, integers of any size) and in places less (it bounds
//! depth and digits). So a row is *unsure* wherever serde_json refuses it or could differ from
//! that decoder, and comes back as it is, to be decoded there. Of what is left, serde_json and
//! that decoder read the same. A row that does not begin with `{` and end with `}` is malformed
//! for both: most damaged rows are none of Python's business.
//!
//! Source: RFC 8259; documentation of Python's module `json`, "Standard Compliance and
//! Interoperability".

mod lookup;

use crate::columns::Texts;
use crate::lines;
use lookup::{Path, Unsure, is_shallow, values};
use memchr::{memchr, memchr2_iter, memchr3};
use std::borrow::Cow;

/// What a row is, or its item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum RowKind {
    /// An item that is text.
    Text = 0,
    /// An integer of 64 bits with a sign.
    Signed = 1,
    /// One that needs all 64 bits, without a sign.
    Unsigned = 2,
    /// A row without an item.
    Malformed = 3,
    /// A row to be decoded elsewhere.
    Unsure = 4,
}

/// What to take out of each object.
pub struct Wanted {
    /// The keys looked for, all different.
    keys: Vec<Vec<u8>>,
    item: Path,
    /// Where weights are, and what larger ones are clipped to.
    weight: Option<(Path, i64)>,
    time: Option<Path>,
    take_text: bool,
    take_integers: bool,
}

/// Rows of objects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Objects {
    /// Of each row, a `RowKind`.
    pub kinds: Vec<u8>,
    /// The items that are text, in order.
    pub texts: Texts,
    /// The items that are integers, in order; of negative ones the two's complement.
    pub integers: Vec<u64>,
    /// The weight of each item; empty if none is wanted.
    pub weights: Vec<i64>,
    /// Which items, counted from 0, had a larger weight than is allowed.
    pub clipped: Vec<i64>,
    /// The time of each row as it is written, empty where it is neither text nor a number that
    /// can be one; none if none is wanted.
    pub times: Option<Texts>,
    /// The rows to be decoded elsewhere.
    pub unsure: Texts,
}

impl Wanted {
    /// Items at a field, of all types.
    pub fn new(field: &[u8]) -> Self {
        let mut keys = Vec::new();
        Self {
            item: Path::new(field, &mut keys),
            keys,
            weight: None,
            time: None,
            take_text: true,
            take_integers: true,
        }
    }

    /// With the weight at a field, which is clipped.
    pub fn weight(mut self, field: &[u8], most: i64) -> Self {
        self.weight = Some((Path::new(field, &mut self.keys), most));
        self
    }

    /// With the time at a field.
    pub fn time(mut self, field: &[u8]) -> Self {
        self.time = Some(Path::new(field, &mut self.keys));
        self
    }

    /// Items that are text only.
    pub fn text_only(mut self) -> Self {
        self.take_integers = false;
        self
    }

    /// Items that are integers only.
    pub fn integers_only(mut self) -> Self {
        self.take_text = false;
        self
    }
}

/// What is wanted of each row.
pub fn json_rows(block: &[u8], wanted: &Wanted) -> Objects {
    let mut objects = Objects::of(block, wanted);
    let mut found = Vec::new();
    for row in lines::texts(block) {
        match wanted.read(row, &mut found) {
            Ok(values) => objects.push(values),
            Err(Unsure) => objects.push_unsure(row),
        }
    }
    objects
}

/// What is wanted of one row.
#[derive(Default)]
struct Row<'a> {
    item: Option<Item<'a>>,
    weight: Option<Weight>,
    time: Cow<'a, str>,
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
    fn read<'a>(&self, row: &'a str, found: &mut Vec<Option<&'a str>>) -> Result<Row<'a>, Unsure> {
        let row = row.trim_matches([' ', '\t', '\r']);
        if !(row.starts_with('{') && row.ends_with('}')) {
            return Ok(Row::default());
        }
        values(row, &self.keys, found)?;
        if is_out_of_bounds(row) {
            return Err(Unsure);
        }
        let mut read = Row::default();
        if let Some(value) = self.item.value(found)? {
            read.item = self.item(value)?;
        }
        if let Some((path, most)) = &self.weight {
            read.weight = path.value(found)?.and_then(|value| weight(value, *most));
            read.item = read.item.filter(|_| read.weight.is_some());
        }
        if let Some(path) = &self.time {
            read.time = path.value(found)?.map_or(Ok(Cow::default()), time)?;
        }
        Ok(read)
    }

    fn item<'a>(&self, value: &'a str) -> Result<Option<Item<'a>>, Unsure> {
        Ok(match value.as_bytes()[0] {
            b'"' => {
                let text = text(value)?;
                self.take_text.then_some(Item::Text(text))
            }
            b'-' | b'0'..=b'9' if self.take_integers && !is_real(value) => {
                Some(match value.parse() {
                    Ok(integer) => Item::Signed(integer),
                    Err(_) => Item::Unsigned(value.parse().map_err(|_| Unsure)?),
                })
            }
            _ => None,
        })
    }
}

fn weight(value: &str, most: i64) -> Option<Weight> {
    let integer = matches!(value.as_bytes()[0], b'-' | b'0'..=b'9') && !is_real(value);
    let (true, Ok(weight)) = (integer, value.parse::<i128>()) else {
        // With more digits than that it is above what any weight may be, or below.
        let above = integer && !value.starts_with('-');
        return above.then_some(Weight {
            counted: most,
            clipped: true,
        });
    };
    (weight >= 0).then(|| Weight {
        counted: weight.min(i128::from(most)) as i64,
        clipped: weight > i128::from(most),
    })
}

/// What is written, if it is text or a number; of integers those that 64 bits hold with a sign.
fn time(value: &str) -> Result<Cow<'_, str>, Unsure> {
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

/// The text that stands in quotes.
fn text(value: &str) -> Result<Cow<'_, str>, Unsure> {
    if memchr(b'\\', value.as_bytes()).is_none() {
        return Ok(value[1..value.len() - 1].into());
    }
    Ok(serde_json::from_str::<String>(value)?.into())
}

/// Whether a number has a fraction or an exponent.
fn is_real(number: &str) -> bool {
    memchr3(b'.', b'e', b'E', number.as_bytes()).is_some()
}

/// Whether Python might refuse a row for its depth or its digits.
fn is_out_of_bounds(row: &str) -> bool {
    // Each level takes two bytes at least.
    if row.len() < 2 * SHALLOW {
        return false;
    }
    let openings = memchr2_iter(b'[', b'{', row.as_bytes()).count();
    (openings >= SHALLOW && !is_shallow(row)) || has_digits(row.as_bytes(), DIGITS)
}

/// So many levels are none too many: serde_json's own limit, an eighth of Python's by default.
const SHALLOW: usize = 128;

/// So many digits in a row, and more, may be too many for an integer of Python: the least that
/// `sys.set_int_max_str_digits` takes.
const DIGITS: usize = 640;

/// Whether so many digits stand side by side, be it in a text.
fn has_digits(row: &[u8], many: usize) -> bool {
    let digits = |bytes: &mut dyn Iterator<Item = &u8>| {
        bytes
            .take(many)
            .take_while(|byte| byte.is_ascii_digit())
            .count()
    };
    // One of them stands at one of these places.
    (many - 1..row.len()).step_by(many).any(|place| {
        let (before, behind) = row.split_at(place);
        row[place].is_ascii_digit()
            && digits(&mut before.iter().rev()) + digits(&mut behind.iter()) >= many
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
            unsure: Texts::of(b""),
        }
    }

    fn push(&mut self, row: Row) {
        if let Some(times) = &mut self.times {
            times.push(row.time.as_bytes());
        }
        let Some(item) = row.item else {
            self.kinds.push(RowKind::Malformed as u8);
            return;
        };
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

    fn push_unsure(&mut self, row: &str) {
        if let Some(times) = &mut self.times {
            times.push(b"");
        }
        self.unsure.push(row.as_bytes());
        self.kinds.push(RowKind::Unsure as u8);
    }
}
