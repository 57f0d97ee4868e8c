//! One item as it arrived: its type and its full content.
//!
//! A sketch's table needs only a 64-bit fingerprint. Discovery, which publishes names, needs the
//! item itself; it is borrowed from the caller and copied when it enters a table.

/// Bytes of a UUID.
pub const UUID_BYTES: usize = 16;

/// One item, borrowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Item<'a> {
    /// Text.
    Text(&'a str),
    /// Bytes.
    Bytes(&'a [u8]),
    /// A signed integer of any width up to 64 bits.
    Signed(i64),
    /// An unsigned integer of any width up to 64 bits; equals [`Item::Signed`] on equal values.
    Unsigned(u64),
    /// An integer outside -2^63 .. 2^64, as its shortest little-endian two's complement.
    Wide(&'a [u8]),
    /// An instant: microseconds since 1970-01-01 00:00 UTC; see [`Item::instant`].
    Instant(i64),
    /// A calendar date: days since 1970-01-01; see [`Item::date`].
    Date(i32),
    /// A UUID, in the byte order of its text.
    Uuid(&'a [u8; UUID_BYTES]),
}

/// The days of the years 1 to 9999, which calendars of other languages can represent.
const DAYS: std::ops::RangeInclusive<i32> = -719_162..=2_932_896;
const MICROSECONDS_PER_DAY: i64 = 86_400_000_000;

impl Item<'_> {
    /// The instant, if it is within the years 1 to 9999 of UTC.
    pub fn instant(microseconds: i64) -> Option<Self> {
        let day = i32::try_from(microseconds.div_euclid(MICROSECONDS_PER_DAY)).ok()?;
        DAYS.contains(&day).then_some(Self::Instant(microseconds))
    }

    /// The calendar date, if it is within the years 1 to 9999.
    pub fn date(days: i32) -> Option<Self> {
        DAYS.contains(&days).then_some(Self::Date(days))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 0001-01-01 is 719,162 days before 1970-01-01, and 9999-12-31 is 2,932,896 days after it.
    #[test]
    fn dates_and_instants_are_those_of_the_years_1_to_9999() {
        let (first, last) = (-719_162, 2_932_896);
        for days in [first, -1, 0, last] {
            assert_eq!(Item::date(days), Some(Item::Date(days)));
            for microsecond in [0, 86_399_999_999] {
                let instant = i64::from(days) * 86_400_000_000 + microsecond;
                assert_eq!(Item::instant(instant), Some(Item::Instant(instant)));
            }
        }
        for days in [i32::MIN, first - 1, last + 1, i32::MAX] {
            assert_eq!(Item::date(days), None);
        }
        for instant in [
            i64::MIN,
            i64::from(first) * 86_400_000_000 - 1,
            i64::from(last + 1) * 86_400_000_000,
            i64::MAX,
        ] {
            assert_eq!(Item::instant(instant), None);
        }
    }
}
