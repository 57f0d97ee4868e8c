//! JSON lines compared with serde_json's own values, row by row.

use lazysketch_text::{RowKind, Wanted, json_rows};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::Value;

/// The value at `a.b`: that of the key `a.b`, otherwise that of `b` within `a`.
fn plain(row: &str) -> Option<Value> {
    let object: Value = serde_json::from_str(row).ok()?;
    let object = object.as_object()?;
    let nested = || object.get("a")?.as_object()?.get("b");
    object.get("a.b").or_else(nested).cloned()
}

fn kind(value: Option<&Value>) -> RowKind {
    match value {
        Some(Value::String(_)) => RowKind::Text,
        Some(Value::Number(number)) if number.is_i64() => RowKind::Signed,
        Some(Value::Number(number)) if number.is_u64() => RowKind::Unsigned,
        _ => RowKind::Malformed,
    }
}

// Without lone surrogates, which serde_json rejects in any value that it keeps.
const PIECES: [&str; 24] = [
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\"",
    "\\",
    " ",
    "\r",
    "\"a\":",
    "\"b\":",
    "\"a.b\":",
    "\"x\"",
    "\"\\u0062\":",
    "{\"b\":",
    "1",
    "-1",
    "18446744073709551615",
    "1.5",
    "null",
    "true",
    "\\n",
    "é",
];
const ROWS: [&str; 6] = [
    r#"{"a": {"b": "x"}}"#,
    r#"{"a.b": 7, "a": {"b": "x"}, "b": [{"b": 1}]}"#,
    r#"{"a": {"b": -1, "b": 2}, "a": {"b": 18446744073709551615}}"#,
    r#" {"\u0061.b" : "\n\u00e9" , "a.b" : "last" } "#,
    r#"{"a": {"b": 1.0}}"#,
    r#"{"a": [{"b": 1}], "x": {"a.b": 1}}"#,
];

/// Rows with at most one edit, and rows of random pieces.
fn rows() -> impl Strategy<Value = String> {
    let edited = (
        select(&ROWS[..]),
        any::<prop::sample::Index>(),
        select(&PIECES[..]),
        0..3,
    )
        .prop_map(|(row, place, piece, how)| {
            let mut characters: Vec<String> = row.chars().map(String::from).collect();
            let place = place.index(characters.len());
            match how {
                0 => {}
                1 => characters[place] = piece.to_owned(),
                _ => characters.insert(place, piece.to_owned()),
            }
            characters.concat()
        });
    let pieces = vec(select(&PIECES[..]), 0..12).prop_map(|pieces| pieces.concat());
    prop_oneof![3 => edited, 1 => pieces]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn decoded_rows_hold_the_values_of_their_objects(rows in vec(rows(), 0..6)) {
        let objects = json_rows((rows.join("\n") + "\n").as_bytes(), &Wanted::new(b"a.b"));
        // Without rows the block is one empty row.
        let rows = if rows.is_empty() { vec![String::new()] } else { rows };
        prop_assert_eq!(objects.kinds.len(), rows.len());
        let mut texts = objects.texts.iter();
        let mut integers = objects.integers.iter();
        for (row, &found) in rows.iter().zip(&objects.kinds) {
            let value = plain(row);
            if found == RowKind::Undecoded as u8 {
                continue;
            }
            prop_assert_eq!(found, kind(value.as_ref()) as u8, "{}", row);
            match value {
                Some(Value::String(text)) => {
                    prop_assert_eq!(texts.next(), Some(text.as_bytes()));
                }
                Some(Value::Number(number)) if !number.is_f64() => {
                    let bits = number.as_i64().map(|integer| integer as u64);
                    prop_assert_eq!(integers.next().copied(), bits.or_else(|| number.as_u64()));
                }
                _ => {}
            }
        }
        prop_assert_eq!(texts.next(), None);
        prop_assert_eq!(integers.next(), None);
    }
}

#[test]
fn only_rows_on_which_the_decoders_may_differ_are_undecoded() {
    let undecoded = [
        r#"{"a": NaN}"#.to_owned(),
        r#"{"a": {"\ud800": 1}}"#.to_owned(),
        r#"{"a.b": 18446744073709551616}"#.to_owned(),
        r#"{"a.b": "\ud800"}"#.to_owned(),
        r#"{"a.b": 1,}"#.to_owned(),
        format!(r#"{{"x": {}{}}}"#, "[".repeat(127), "]".repeat(127)),
        format!(r#"{{"x": {}}}"#, "9".repeat(640)),
    ];
    let malformed = [
        String::new(),
        "no object".to_owned(),
        r#"{"a": {"b": 1}"#.to_owned() + "} x",
        r#"{"x": 1e999, "\ud83d\ude00": "\ud800"}"#.to_owned(),
        format!(r#"{{"x": {}{}}}"#, "[".repeat(126), "]".repeat(126)),
        format!(r#"{{"x": [{}1]}}"#, "[],".repeat(1000)),
        format!(r#"{{"x": {}}}"#, "9".repeat(639)),
    ];
    let of = |row: &String| json_rows((row.clone() + "\n").as_bytes(), &Wanted::new(b"a.b"));
    for row in &undecoded {
        assert_eq!(of(row).kinds, [RowKind::Undecoded as u8], "{row}");
        assert_eq!(of(row).undecoded.data, row.as_bytes());
    }
    for row in &malformed {
        assert_eq!(of(row).kinds, [RowKind::Malformed as u8], "{row}");
    }
}

#[test]
fn weights_are_clipped_and_times_and_numbers_are_kept_as_written() {
    let wanted = Wanted::new(b"k").weight(b"n", 5).time(b"t").value(b"v");
    let weights = [
        "0",
        "-0",
        "5",
        "6",
        "99999999999999999999999999999999999999999",
    ];
    let times = [
        "1.50",
        "-9223372036854775808",
        r#""\u0031""#,
        "1e400",
        "null",
    ];
    let values = ["-2.5e3", "7", "true", r#""7 ""#, "[1]"];
    let rows = weights.iter().zip(times).zip(values);
    let rows = rows.map(|((weight, time), value)| {
        format!("{{\"k\": \"a\", \"n\": {weight}, \"v\": {value}, \"t\": {time}}}\n")
    });
    let block: String = rows.collect();
    let objects = json_rows(block.as_bytes(), &wanted);
    assert_eq!(objects.weights, [0, 0, 5, 5, 5]);
    assert_eq!(objects.clipped, [3, 4]);
    let times: Vec<_> = objects
        .times
        .iter()
        .flat_map(|times| times.iter())
        .collect();
    assert_eq!(times, [b"1.50".as_slice(), b"", b"1", b"1e400", b""]);
    let values = objects.values.iter().flat_map(|values| values.iter());
    let values: Vec<_> = values.collect();
    assert_eq!(values, [b"-2.5e3".as_slice(), b"7", b"", b"7 ", b""]);
    for weight in [
        "-1",
        "1.0",
        "true",
        "\"5\"",
        "-99999999999999999999999999999999999999999",
    ] {
        let row = format!("{{\"k\": \"a\", \"n\": {weight}}}\n");
        let objects = json_rows(row.as_bytes(), &wanted);
        assert_eq!(objects.kinds, [RowKind::Malformed as u8], "{weight}");
        assert!(objects.weights.is_empty() && objects.texts.is_empty());
    }
}

#[test]
fn people_are_text_or_integers_and_rows_without_one_do_not_count() {
    let wanted = Wanted::new(b"k").weight(b"n", 5).user(b"u.id");
    let people = [
        (r#""a\u0062""#, Some("ab")),
        ("7", Some("7")),
        ("-0", Some("0")),
        ("18446744073709551616", Some("18446744073709551616")),
        ("\"\"", None),
        ("null", None),
        ("true", None),
        ("1.0", None),
        ("1e3", None),
        ("[1]", None),
    ];
    for (person, expected) in people {
        let row = |rest: &str| format!("{{\"u\": {{\"id\": {person}}}, \"k\": {rest}}}\n");
        let objects = json_rows(row("\"x\", \"n\": 9").as_bytes(), &wanted);
        let found: Vec<_> = objects
            .users
            .iter()
            .flat_map(|users| users.iter())
            .collect();
        assert_eq!(
            found,
            Vec::from_iter(expected.map(str::as_bytes)),
            "{person}"
        );
        let kind = if expected.is_some() {
            RowKind::Text
        } else {
            RowKind::WithoutUser
        };
        assert_eq!(objects.kinds, [kind as u8], "{person}");
        let counted = usize::from(expected.is_some());
        let columns = (
            objects.texts.len(),
            objects.weights.len(),
            objects.clipped.len(),
        );
        assert_eq!(columns, (counted, counted, counted));
        // Without an item or a weight a row is malformed, whoever it is of.
        for rest in ["null, \"n\": 1", "\"x\", \"n\": -1"] {
            let objects = json_rows(row(rest).as_bytes(), &wanted);
            assert_eq!(objects.kinds, [RowKind::Malformed as u8], "{person}");
            assert!(objects.users.is_some_and(|users| users.is_empty()));
        }
    }
    let huge = format!("{{\"k\": \"x\", \"n\": 1, \"u.id\": {}}}\n", "9".repeat(60));
    let objects = json_rows(huge.as_bytes(), &wanted);
    assert_eq!(objects.kinds, [RowKind::Undecoded as u8]);
}
