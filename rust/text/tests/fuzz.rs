//! Fuzz target: damaged lines, access logs and JSON lines. `PROPTEST_CASES` sets the number of cases.

mod edits;

use edits::damaged;
use lazysketch_text::{Field, Objects, ParsedRows, Texts, Wanted, access_log, access_log_times};
use lazysketch_text::{FieldColumns, FieldReader, Roles, json_rows, lines, log_fields};
use proptest::prelude::*;
use proptest::sample::{Index, select};
use std::str::from_utf8;

const LOG: &str = "203.0.113.9 - ann lee [17/May/2015:10:05:03 +0000] \"GET /p?q=\\\"1\\\" HTTP/1.1\" \
                   200 512 \"-\" \"agent \\\"x\\\"\"\n";
const SHORT: &str = "h - - [t] \"-\" 408 -\r\nh - - [t] \"GET / HTTP/1.0\" 200 5\n";
const OBJECTS: &str = "{\"a\": \"item\", \"b\": 3, \"c\": {\"d\": [1, null]}}\n{\"a\": -7, \"t\": \
                       \"2015-05-17\"}\n{\"a.b\": \"\\u00e9\\ud83d\\ude00\", \"a\": {\"b\": 1e3}}\n";

const LOGS: &str = "www.example.org:443 203.0.113.9 - ann [17/May/2015:10:05:03 +0000] \"GET /a HTTP/1.1\" \
                    200 512 \"-\" \"x\"\n10.0.0.7 - - [17/May/2015:10:05:03 +0000] \"GET /a HTTP/1.1\" 200 \
                    512 \"-\" \"x\" \"203.0.113.9, 198.51.100.4\"\nhaproxy[1]: 203.0.113.9:1 \
                    [06/Feb/2009:12:14:14.655] a b/c 1/1/1/1/1 200 5 - - ---- 1/1/1/1/0 0/0 {x} \"GET /a \
                    HTTP/1.1\"\nh2 2018-07-02T22:23:00Z app/a [2001:db8::1]:28 - 0 0 0 200 200 0 57 \"GET \
                    https://a:443/b HTTP/1.1\" \"c\" - - - \"r\" \"a\" \"c\"\n<34>1 2003-10-11T22:14:15Z h su 1 \
                    ID [a b=\"]\\\"\"] x\n<34>Oct 11 22:14:15 h su[1]: x\n2016-10-06T00:17:09Z stdout F x\n";
const OTHERS: &str = "#Fields: date time a b\n1 2 \"x \"\"y\"\"\" 4\na=\"x \\\"\\u00e9\\ud83d\\ude00\" b=7 c                       d=\n{\"log\":\"a\\n\",\"stream\":\"stdout\"}\n{\"host\":\"a\",\"level\":1}\n{\"                      ts\":1.5,\"request\":{\"client_ip\":\"a\",\"headers\":{\"User-Agent\":[\"x\"]}}}\n";

fn wholes() -> Vec<Vec<u8>> {
    let texts = ["a\nb\r\n\nc", LOG, SHORT, OBJECTS, LOGS, OTHERS];
    let mut found: Vec<Vec<u8>> = texts.iter().map(|text| text.repeat(3).into()).collect();
    found.push(texts.concat().into());
    found
}

/// The position after a row of the block, at which it may be cut in two.
fn boundary(block: &[u8], at: Index) -> usize {
    let ends: Vec<_> = (0..=block.len())
        .filter(|&end| end == 0 || block[end - 1] == b'\n')
        .collect();
    ends[at.index(ends.len())]
}

fn rows(block: &[u8]) -> usize {
    block.iter().filter(|&&byte| byte == b'\n').count()
}

fn check_texts(texts: &Texts) -> Result<(), TestCaseError> {
    prop_assert_eq!(texts.offsets[0], 0);
    prop_assert!(texts.offsets.is_sorted());
    prop_assert_eq!(*texts.offsets.last().unwrap() as usize, texts.data.len());
    prop_assert!(texts.iter().all(|text| from_utf8(text).is_ok()));
    Ok(())
}

fn check(
    block: &[u8],
    cut: usize,
    parse: impl Fn(&[u8]) -> ParsedRows,
) -> Result<(), TestCaseError> {
    let found = parse(block);
    check_texts(&found.items)?;
    prop_assert_eq!(found.len(), rows(block));
    prop_assert!(found.malformed.is_sorted_by(|one, two| one < two));
    prop_assert!(
        found
            .items
            .iter()
            .all(|item| !item.is_empty() && !item.contains(&b'\n'))
    );
    let (first, second) = (parse(&block[..cut]), parse(&block[cut..]));
    let items: Vec<_> = first.items.iter().chain(second.items.iter()).collect();
    prop_assert_eq!(found.items.iter().collect::<Vec<_>>(), items);
    let later = second.malformed.iter().map(|row| row + first.len() as i64);
    prop_assert_eq!(
        found.malformed,
        first
            .malformed
            .iter()
            .copied()
            .chain(later)
            .collect::<Vec<_>>()
    );
    Ok(())
}

fn check_objects(found: &Objects, block: &[u8]) -> Result<(), TestCaseError> {
    let count = |kind: u8| found.kinds.iter().filter(|&&now| now == kind).count();
    prop_assert_eq!(found.kinds.len(), rows(block));
    prop_assert!(found.kinds.iter().all(|&kind| kind <= 5));
    prop_assert_eq!(found.texts.len(), count(0));
    prop_assert_eq!(found.integers.len(), count(1) + count(2));
    prop_assert_eq!(found.undecoded.len(), count(4));
    prop_assert!(
        found
            .weights
            .iter()
            .all(|&weight| (0..=9).contains(&weight))
    );
    check_texts(&found.texts)?;
    check_texts(&found.undecoded)?;
    if let Some(users) = &found.users {
        prop_assert_eq!(users.len(), found.texts.len() + found.integers.len());
        check_texts(users)?;
    }
    for written in [&found.times, &found.values].into_iter().flatten() {
        prop_assert_eq!(written.len(), found.kinds.len());
        check_texts(written)?;
    }
    Ok(())
}

fn check_fields(found: &FieldColumns, rows: usize) -> Result<(), TestCaseError> {
    let items = found.rows.items.len();
    check_texts(&found.rows.items)?;
    prop_assert!(found.rows.items.iter().all(|item| !item.is_empty()));
    prop_assert!(found.rows.len() <= rows);
    prop_assert!(found.rows.malformed.is_sorted_by(|one, two| one < two));
    prop_assert!(
        found
            .without_user
            .iter()
            .all(|row| found.rows.malformed.contains(row))
    );
    prop_assert!(found.weights.is_empty() || found.weights.len() == items);
    prop_assert!(
        found
            .weights
            .iter()
            .all(|&weight| (0..=9).contains(&weight))
    );
    prop_assert!(found.clipped.iter().all(|&item| (item as usize) < items));
    for written in [&found.times, &found.values].into_iter().flatten() {
        prop_assert_eq!(written.len(), found.rows.len());
        check_texts(written)?;
    }
    if let Some(users) = &found.users {
        prop_assert_eq!(users.len(), items);
        check_texts(users)?;
    }
    Ok(())
}

const LAYOUTS: [&str; 19] = [
    "common",
    "combined",
    "vhost_combined",
    "nginx",
    "traefik",
    "haproxy",
    "alb",
    "elb",
    "syslog",
    "cri",
    "traefik-json",
    "caddy",
    "cloudflare",
    "docker",
    "journald",
    "gelf",
    "pairs",
    "header",
    "regex",
];

/// The fields of a layout by their names; a reader of up to five of them.
fn reader(layout: &str, places: [Index; 4], flags: [bool; 4]) -> FieldReader {
    let names = log_fields(layout).unwrap_or_else(|| vec!["a", "b"]);
    let name = |at: Index| names[at.index(names.len())].as_bytes().to_vec();
    let time = if log_fields(layout).is_some() {
        "time"
    } else {
        "b"
    };
    let roles = Roles {
        item: name(places[0]),
        weight: flags[0].then(|| (name(places[1]), 9)),
        time: flags[1].then(|| time.into()),
        value: flags[3].then(|| name(places[3])),
        user: flags[2].then(|| name(places[2])),
    };
    if layout == "regex" {
        return FieldReader::with_pattern("(?<a>[a-z\\u{e9}]+).(?<b>[0-9]+)?", &roles).unwrap();
    }
    FieldReader::new(layout, &roles, Some(places[1].index(4))).unwrap()
}

proptest! {
    #[test]
    fn damaged_rows_of_every_layout(
        block in damaged(wholes()),
        at in any::<Index>(),
        layout in select(LAYOUTS.to_vec()),
        places in any::<[Index; 4]>(),
        flags in any::<[bool; 4]>(),
    ) {
        let Ok(found) = reader(layout, places, flags).read(&block) else {
            prop_assert_eq!(layout, "header");
            return Ok(());
        };
        check_fields(&found, rows(&block))?;
        // Rows are read one by one, whatever stands before them; a header stays in force.
        let mut parts = reader(layout, places, flags);
        let cut = boundary(&block, at);
        let first = parts.read(&block[..cut]).unwrap();
        let second = parts.read(&block[cut..]).unwrap();
        let items: Vec<_> = first.rows.items.iter().chain(second.rows.items.iter()).collect();
        prop_assert_eq!(found.rows.items.iter().collect::<Vec<_>>(), items);
        prop_assert_eq!(found.rows.len(), first.rows.len() + second.rows.len());
        if layout != "header" {
            prop_assert_eq!(found.rows.len(), rows(&block));
        }
    }

    #[test]
    fn lines_of_damaged_blocks(block in damaged(wholes()), at in any::<Index>()) {
        check(&block, boundary(&block, at), lines)?;
    }

    #[test]
    fn damaged_access_logs(
        block in damaged(wholes()),
        at in any::<Index>(),
        field in select(Field::NAMES.to_vec()),
    ) {
        check(&block, boundary(&block, at), |part| access_log(part, field.1))?;
        let times = access_log_times(&block);
        prop_assert_eq!(times.len(), rows(&block));
        check_texts(&times)?;
    }

    #[test]
    fn damaged_objects(
        block in damaged(wholes()),
        field in select(vec!["a", "b", "c.d", "a.b", "", ".", "a..b"]),
        weighted in any::<bool>(),
        timed in any::<bool>(),
        valued in any::<bool>(),
        of_people in any::<bool>(),
        types in 0..3,
    ) {
        let mut wanted = Wanted::new(field.as_bytes());
        wanted = if weighted { wanted.weight(b"b", 9) } else { wanted };
        wanted = if timed { wanted.time(b"t") } else { wanted };
        wanted = if valued { wanted.value(b"b") } else { wanted };
        wanted = if of_people { wanted.user(b"a") } else { wanted };
        wanted = match types {
            0 => wanted.text_only(),
            1 => wanted.integers_only(),
            _ => wanted,
        };
        check_objects(&json_rows(&block, &wanted), &block)?;
    }
}
