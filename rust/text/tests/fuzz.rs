//! Fuzz target: damaged lines, access logs and JSON lines. `PROPTEST_CASES` sets the number of cases.

mod edits;

use edits::damaged;
use lazysketch_text::{Field, Objects, ParsedRows, Texts, Wanted, access_log, access_log_times};
use lazysketch_text::{json_rows, lines};
use proptest::prelude::*;
use proptest::sample::{Index, select};
use std::str::from_utf8;

const LOG: &str = "203.0.113.9 - ann lee [17/May/2015:10:05:03 +0000] \"GET /p?q=\\\"1\\\" HTTP/1.1\" \
                   200 512 \"-\" \"agent \\\"x\\\"\"\n";
const SHORT: &str = "h - - [t] \"-\" 408 -\r\nh - - [t] \"GET / HTTP/1.0\" 200 5\n";
const OBJECTS: &str = "{\"a\": \"item\", \"b\": 3, \"c\": {\"d\": [1, null]}}\n{\"a\": -7, \"t\": \
                       \"2015-05-17\"}\n{\"a.b\": \"\\u00e9\\ud83d\\ude00\", \"a\": {\"b\": 1e3}}\n";

fn wholes() -> Vec<Vec<u8>> {
    let texts = ["a\nb\r\n\nc", LOG, SHORT, OBJECTS];
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
    found.times.as_ref().map_or(Ok(()), check_texts)
}

proptest! {
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
        of_people in any::<bool>(),
        types in 0..3,
    ) {
        let mut wanted = Wanted::new(field.as_bytes());
        wanted = if weighted { wanted.weight(b"b", 9) } else { wanted };
        wanted = if timed { wanted.time(b"t") } else { wanted };
        wanted = if of_people { wanted.user(b"a") } else { wanted };
        wanted = match types {
            0 => wanted.text_only(),
            1 => wanted.integers_only(),
            _ => wanted,
        };
        check_objects(&json_rows(&block, &wanted), &block)?;
    }
}
