//! Texts to numbers.

/// The numbers of texts, and the positions of the texts that are none.
#[derive(Debug, Clone, PartialEq)]
pub struct ParsedNumbers {
    /// The numbers in order, none of which is NaN.
    pub numbers: Vec<f64>,
    /// Positions of the other texts, counted over all texts, in increasing order.
    pub others: Vec<i64>,
}

impl ParsedNumbers {
    /// Read texts as decimal numbers, with an exponent or without, or as an infinity.
    ///
    /// Spaces and tabs around a number are left out. A number beyond the floats is infinite: it has
    /// a place above all others. A comma is no decimal point, since it may separate thousands.
    pub fn of<'a>(texts: impl Iterator<Item = &'a [u8]>) -> Self {
        let mut numbers = Vec::with_capacity(texts.size_hint().0);
        let mut others = Vec::new();
        for (position, text) in texts.enumerate() {
            match number(text) {
                Some(number) => numbers.push(number),
                None => others.push(position as i64),
            }
        }
        Self { numbers, others }
    }
}

fn number(text: &[u8]) -> Option<f64> {
    let text = std::str::from_utf8(text).ok()?;
    let number: f64 = text.trim_matches([' ', '\t']).parse().ok()?;
    (!number.is_nan()).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::ParsedNumbers;

    #[test]
    fn decimal_numbers_are_read_and_all_else_is_reported() {
        let read = [
            ("1", 1.0),
            ("-2.50", -2.5),
            ("+3", 3.0),
            (".5", 0.5),
            ("5.", 5.0),
            (" \t7e-3 ", 0.007),
            ("1E5", 1e5),
            ("-0", 0.0),
            ("inf", f64::INFINITY),
            ("-Infinity", f64::NEG_INFINITY),
            ("1e999", f64::INFINITY),
            ("0.1", 0.1),
        ];
        let refused = [
            "", " ", "-", "nan", "NaN", "1,5", "1_000", "0x10", "1 2", "ms", "12ms", "e5",
            "\u{661}",
        ];
        let texts: Vec<&str> = read.iter().map(|(text, _)| *text).chain(refused).collect();
        let found = ParsedNumbers::of(texts.iter().map(|text| text.as_bytes()));
        let wanted: Vec<f64> = read.iter().map(|(_, number)| *number).collect();
        assert_eq!(found.numbers, wanted);
        let places = read.len() as i64..texts.len() as i64;
        assert_eq!(found.others, places.collect::<Vec<_>>());
        assert_eq!(ParsedNumbers::of([&b"\xff"[..]].into_iter()).others, [0]);
    }
}
