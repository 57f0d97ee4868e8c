//! Tables cut into rows, compared with a state machine that reads one byte at a time; damaged blocks
//! in parts.

mod edits;

use edits::damaged;
use lazysketch_text::{DelimitedReader, FieldColumns, LONGEST_ITEM, Roles, Texts};
use proptest::collection::vec;
use proptest::option::of;
use proptest::prelude::*;
use proptest::sample::select;
use std::str::from_utf8;

#[derive(Clone, Copy, PartialEq)]
enum State {
    BeginsCell,
    InCell,
    InQuotes,
    AfterQuote,
    AfterReturn,
}

/// The cells of each row, and the size of the row that is open at the end.
fn rows_of(block: &[u8], delimiter: u8, quoted: bool) -> (Vec<Vec<Vec<u8>>>, usize) {
    use State::*;
    let (mut rows, mut row, mut cell) = (Vec::new(), Vec::new(), Vec::new());
    let (mut state, mut begin) = (BeginsCell, 0);
    for (at, &byte) in block.iter().enumerate() {
        if state == AfterReturn {
            state = BeginsCell;
            if byte == b'\n' {
                begin = at + 1;
                continue;
            }
        }
        state = match (state, byte) {
            (BeginsCell, b'"') if quoted => InQuotes,
            (InQuotes, b'"') => AfterQuote,
            (AfterQuote, b'"') => {
                cell.push(b'"');
                InQuotes
            }
            (InQuotes, _) => {
                cell.push(byte);
                InQuotes
            }
            (_, b'\n' | b'\r') => {
                row.push(std::mem::take(&mut cell));
                rows.push(std::mem::take(&mut row));
                begin = at + 1;
                if byte == b'\r' {
                    AfterReturn
                } else {
                    BeginsCell
                }
            }
            (_, _) if byte == delimiter => {
                row.push(std::mem::take(&mut cell));
                BeginsCell
            }
            (_, _) => {
                cell.push(byte);
                InCell
            }
        };
    }
    (rows, block.len() - begin)
}

fn is_text(cell: &[u8], missing: &[Vec<u8>]) -> bool {
    let decoded = from_utf8(cell).is_ok_and(|text| !text.contains('\u{fdd0}'));
    decoded && (1..=LONGEST_ITEM).contains(&cell.len()) && !missing.iter().any(|no| no == cell)
}

fn listed(texts: &Texts) -> Vec<Vec<u8>> {
    texts.iter().map(<[u8]>::to_vec).collect()
}

/// What the columns of a block must be.
fn expected(
    rows: &[Vec<Vec<u8>>],
    columns: usize,
    wanted: &Roles<usize>,
    missing: &[Vec<u8>],
) -> FieldColumns {
    let empty = || Texts {
        offsets: vec![0],
        data: Vec::new(),
    };
    let push = |texts: &mut Texts, text: &[u8]| {
        texts.data.extend_from_slice(text);
        texts.offsets.push(texts.data.len() as i64);
    };
    let mut found = FieldColumns {
        rows: lazysketch_text::ParsedRows {
            items: empty(),
            malformed: Vec::new(),
        },
        weights: Vec::new(),
        clipped: Vec::new(),
        times: wanted.time.map(|_| empty()),
        values: wanted.value.map(|_| empty()),
        users: wanted.user.map(|_| empty()),
        without_user: Vec::new(),
    };
    for (number, row) in rows.iter().enumerate() {
        let is_whole = row.len() == columns;
        let written = [
            (&mut found.times, wanted.time),
            (&mut found.values, wanted.value),
        ];
        for (texts, column) in written {
            let (Some(texts), Some(column)) = (texts, column) else {
                continue;
            };
            let cell = row.get(column).filter(|_| is_whole);
            let decoded =
                cell.filter(|cell| from_utf8(cell).is_ok_and(|text| !text.contains('\u{fdd0}')));
            push(texts, decoded.map_or(&b""[..], Vec::as_slice));
        }
        let item = is_whole.then(|| &row[wanted.item]);
        let weight = match wanted.weight {
            None => Some(0),
            Some((column, _)) if is_whole => {
                let digits = from_utf8(&row[column]).unwrap_or_default();
                let is_number = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
                is_number.then(|| digits.parse::<i64>().unwrap_or(i64::MAX))
            }
            Some(_) => None,
        };
        let (Some(item), Some(weight)) = (item.filter(|item| is_text(item, missing)), weight)
        else {
            found.rows.malformed.push(number as i64);
            continue;
        };
        if let (Some(users), Some(column)) = (&mut found.users, wanted.user) {
            if !is_text(&row[column], missing) {
                found.without_user.push(number as i64);
                found.rows.malformed.push(number as i64);
                continue;
            }
            push(users, &row[column]);
        }
        if let Some((_, limit)) = wanted.weight {
            if weight > limit {
                found.clipped.push(found.weights.len() as i64);
            }
            found.weights.push(weight.min(limit));
        }
        push(&mut found.rows.items, item);
    }
    found
}

fn wanted() -> impl Strategy<Value = Roles<usize>> {
    let column = || of(0..3_usize);
    (0..3_usize, column(), column(), column(), column()).prop_map(
        |(item, weight, time, value, user)| Roles {
            item,
            weight: weight.map(|column| (column, 9)),
            time,
            value,
            user,
        },
    )
}

fn block() -> impl Strategy<Value = Vec<u8>> {
    let pieces = [
        "a",
        "7",
        "10",
        ",",
        ",",
        "\"",
        "\"",
        "\n",
        "\n",
        "\r",
        "\r\n",
        "é",
        "\u{fdd0}",
        "-",
        "a long text ",
        "x,y,z\n",
        "\"x\",\"y \"\"z\"\"\",3\n",
    ];
    let piece = prop_oneof![
        20 => select(pieces.to_vec()).prop_map(|text| text.as_bytes().to_vec()),
        1 => Just(vec![0xE9_u8]),
    ];
    vec(piece, 0..60).prop_map(|pieces| [pieces.concat(), b"\n".to_vec()].concat())
}

proptest! {
    #[test]
    fn rows_are_those_of_a_state_machine(
        block in block(),
        columns in 3..5_usize,
        wanted in wanted(),
        quoted in any::<bool>(),
        missing in select(vec![vec![], vec![b"-".to_vec(), b"a".to_vec()]]),
    ) {
        let (rows, open_size) = rows_of(&block, b',', quoted);
        let reader = DelimitedReader::new(columns, &wanted, b',', quoted);
        let (found, open) = reader.read(&block, &missing);
        prop_assert_eq!(open, open_size);
        prop_assert_eq!(found, expected(&rows, columns, &wanted, &missing));
    }

    #[test]
    fn a_block_may_end_after_any_row(block in damaged(vec![
        b"a,b,c\n\"x, \"\"y\"\"\n\",2,\"3\"\n\n1,2\r\n,,\n".repeat(4),
        "é,\u{fdd0},z\n1,2,3\n".repeat(9).into(),
    ]), wanted in wanted()) {
        let reader = DelimitedReader::new(3, &wanted, b',', true);
        let (whole, open_size) = reader.read(&block, &[]);
        prop_assert!(open_size <= block.len());
        let written = [whole.times.as_ref(), whole.values.as_ref(), whole.users.as_ref()];
        for texts in written.into_iter().chain([Some(&whole.rows.items)]) {
            let valid = texts.is_none_or(|texts| texts.iter().all(|text| from_utf8(text).is_ok()));
            prop_assert!(valid);
        }
        for end in (0..block.len()).filter(|&at| block[at] == b'\n').map(|at| at + 1) {
            let (first, open) = reader.read(&block[..end], &[]);
            let (second, rest) = reader.read(&block[end - open..], &[]);
            prop_assert_eq!(rest, open_size);
            let items = [listed(&first.rows.items), listed(&second.rows.items)].concat();
            prop_assert_eq!(items, listed(&whole.rows.items));
            prop_assert_eq!(first.rows.len() + second.rows.len(), whole.rows.len());
        }
    }
}

#[test]
fn an_item_of_the_longest_size_is_one_and_a_longer_one_is_not() {
    let wanted = Roles {
        item: 1,
        weight: None,
        time: None,
        value: None,
        user: None,
    };
    let reader = DelimitedReader::new(2, &wanted, b'\t', false);
    for (length, malformed) in [(LONGEST_ITEM, &[][..]), (LONGEST_ITEM + 1, &[0])] {
        let block = [b"x\t".to_vec(), vec![b'y'; length], b"\n\"\ta\n".to_vec()].concat();
        let (found, open_size) = reader.read(&block, &[]);
        assert_eq!(found.rows.malformed, malformed);
        assert_eq!((found.rows.len(), open_size), (2, 0));
    }
}
