//! Columns of the taken fields.

use super::roles::{Roles, Values};
use crate::columns::{LONGEST_ITEM, ParsedRows, Texts, is_a_person};

/// The taken fields of a block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldColumns {
    /// The items of the rows that have all that is wanted, and the positions of the others.
    pub rows: ParsedRows,
    /// The weight of each item; empty if weights are not wanted.
    pub weights: Vec<i64>,
    /// Positions, counted from 0 over the items, of those whose weight was clipped.
    pub clipped: Vec<i64>,
    /// The time of each row as written, empty if it has none. `None` if times are not wanted.
    pub times: Option<Texts>,
    /// The number of each row as written, empty if it has none. `None` if numbers are not wanted.
    pub values: Option<Texts>,
    /// The person of each item. `None` if people are not wanted.
    pub users: Option<Texts>,
    /// Positions of the malformed rows that lack only their person, in increasing order.
    pub without_user: Vec<i64>,
}

impl FieldColumns {
    pub(super) fn of<T>(block: &[u8], wanted: &Roles<T>) -> Self {
        let rows = ParsedRows::of(block);
        let weights = Vec::with_capacity(if wanted.weight.is_some() {
            rows.items.offsets.capacity()
        } else {
            0
        });
        let texts = |field: &Option<T>| field.as_ref().map(|_| Texts::of(block));
        Self {
            rows,
            weights,
            clipped: Vec::new(),
            times: texts(&wanted.time),
            values: texts(&wanted.value),
            users: texts(&wanted.user),
            without_user: Vec::new(),
        }
    }

    /// Append a row.
    pub(super) fn push(&mut self, values: Values, limit: Option<i64>) {
        if let Some(times) = &mut self.times {
            times.push(values.time.as_deref().unwrap_or_default());
        }
        if let Some(numbers) = &mut self.values {
            numbers.push(values.value.as_deref().unwrap_or_default());
        }
        let item = values
            .item
            .filter(|item| (1..=LONGEST_ITEM).contains(&item.len()));
        let weight = match limit {
            None => Some((1, false)),
            Some(limit) => values.weight.and_then(|weight| number(&weight, limit)),
        };
        let (Some(item), Some((weight, clipped))) = (item, weight) else {
            self.rows.push(None);
            return;
        };
        if let Some(users) = &mut self.users {
            let Some(user) = values.user.filter(|user| is_a_person(user)) else {
                self.without_user.push(self.rows.len() as i64);
                self.rows.push(None);
                return;
            };
            users.push(&user);
        }
        if limit.is_some() {
            if clipped {
                self.clipped.push(self.weights.len() as i64);
            }
            self.weights.push(weight);
        }
        self.rows.push(Some(&item));
    }
}

/// Return the number that digits spell, and whether it is above the limit, to which it is clipped.
fn number(text: &[u8], limit: i64) -> Option<(i64, bool)> {
    if text.is_empty() || !text.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let value = text.iter().try_fold(0_i64, |value, digit| {
        value.checked_mul(10)?.checked_add(i64::from(digit - b'0'))
    });
    Some(match value {
        Some(value) if value <= limit => (value, false),
        _ => (limit, true),
    })
}

#[cfg(test)]
mod tests {
    use super::number;

    #[test]
    fn a_weight_is_digits_only_and_clipped() {
        for (text, weight) in [
            ("0", Some((0, false))),
            ("007", Some((7, false))),
            ("9", Some((9, false))),
            ("10", Some((9, true))),
            ("99999999999999999999", Some((9, true))),
            ("", None),
            ("-", None),
            ("-1", None),
            ("+1", None),
            ("1.0", None),
            (" 1", None),
        ] {
            assert_eq!(number(text.as_bytes(), 9), weight, "{text:?}");
        }
    }
}
