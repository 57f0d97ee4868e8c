//! Batches in all forms against their items one by one.

use super::*;

/// Integers as columns: with items, or with fingerprints only.
struct Integers {
    values: Vec<i64>,
    known: bool,
}

impl Columns for Integers {
    fn len(&self) -> usize {
        self.values.len()
    }

    fn fingerprints(&self, fingerprinter: &Fingerprinter, start: usize, out: &mut [u64]) {
        fingerprinter.signed_to(&self.values[start..start + out.len()], out);
    }

    fn has_items(&self) -> bool {
        self.known
    }

    fn items<'a>(&'a self, start: usize, out: &mut [Item<'a>]) {
        for (out, &value) in out.iter_mut().zip(&self.values[start..]) {
            *out = Item::Signed(value);
        }
    }
}

/// Columns that say nothing about themselves but their length.
struct Plain(usize);

impl Columns for Plain {
    fn len(&self) -> usize {
        self.0
    }

    fn fingerprints(&self, _: &Fingerprinter, _: usize, _: &mut [u64]) {}
}

#[test]
fn columns_have_fingerprints_only_unless_they_say_more() {
    assert!(Plain(0).is_empty() && !Plain(1).is_empty() && !Plain(2).is_empty());
    assert!(!Plain(3).has_items() && Plain(3).texts().is_none());
}

/// The texts "a" and "bc".
struct Texts;

impl Columns for Texts {
    fn len(&self) -> usize {
        2
    }

    fn fingerprints(&self, _: &Fingerprinter, _: usize, _: &mut [u64]) {}

    fn texts(&self) -> Option<Vec<TextRun<'_>>> {
        let (content, offsets) = (&b"abc"[..], &[0, 1, 3][..]);
        Some(vec![TextRun { content, offsets }])
    }
}

#[test]
fn a_part_of_a_batch_is_no_run_of_texts() {
    let whole = Items::columns(&Texts);
    assert_eq!(whole.texts().unwrap()[0].offsets, [0, 1, 3]);
    assert_eq!(whole.slice(0, 2).texts().unwrap()[0].content, b"abc");
    for (start, end) in [(0, 1), (1, 2), (0, 0)] {
        assert!(whole.slice(start, end).texts().is_none());
    }
}

const FINGERPRINTER: fn() -> Fingerprinter = || Fingerprinter::new(77);

/// Calls `check` with the integers 5, 6, ... in every form that knows its items.
fn in_every_form(length: usize, check: impl Fn(&str, Items<'_>, &[Item<'_>])) {
    let signed: Vec<i64> = (5..5 + length as i64).collect();
    let unsigned: Vec<u64> = (5..5 + length as u64).collect();
    let narrow: Vec<i32> = (5..5 + length as i32).collect();
    let mixed: Vec<Item<'_>> = signed.iter().map(|&it| Item::Signed(it)).collect();
    let wider: Vec<i64> = (2..9 + length as i64).collect();
    let (whole, within) = (
        Integers {
            values: signed.clone(),
            known: true,
        },
        Integers {
            values: wider,
            known: true,
        },
    );
    check("signed", Items::Signed(&signed), &mixed);
    check("unsigned", Items::Unsigned(&unsigned), &mixed);
    check("narrow", Items::Narrow(&narrow), &mixed);
    check("mixed", Items::Mixed(&mixed), &mixed);
    check("columns", Items::columns(&whole), &mixed);
    check(
        "a part of columns",
        Items::Columns(&within, 3, 3 + length),
        &mixed,
    );
}

/// As items, as fingerprints and the only one of one; all parts of all parts.
#[test]
fn every_form_has_the_same_items() {
    let fingerprinter = FINGERPRINTER();
    for length in [0, 1, 2, 7, 8, 9, 16, 17, 31, 32, 33, 100] {
        in_every_form(length, |form, items, expected| {
            assert_eq!(
                (items.len(), items.is_empty()),
                (length, length == 0),
                "{form}"
            );
            let of = |item: &Item<'_>| fingerprinter.item(*item);
            let only = (length == 1).then(|| of(&expected[0]));
            assert_eq!(items.only(&fingerprinter), only, "{form}");
            let mut found = Vec::new();
            items.for_each_item_chunk::<8>(|offset, chunk| {
                assert_eq!(offset, found.len(), "{form}");
                assert!(chunk.len() <= 8);
                found.extend(chunk.iter().map(of));
            });
            let fingerprints: Vec<u64> = expected.iter().map(of).collect();
            assert_eq!(found, fingerprints, "{form}");
            found.clear();
            items.for_each_item(|position, item| {
                assert_eq!(position, found.len(), "{form}");
                found.push(of(&item));
            });
            assert_eq!(found, fingerprints, "{form}");
            found.clear();
            items.for_each_chunk(&fingerprinter, |offset, chunk| {
                assert_eq!(offset, found.len(), "{form}");
                found.extend_from_slice(chunk);
            });
            assert_eq!(found, fingerprints, "{form}");
            if length >= 7 {
                let part = items.slice(1, length - 1).slice(2, 4);
                let mut found = Vec::new();
                part.for_each_chunk(&fingerprinter, |_, chunk| found.extend_from_slice(chunk));
                assert_eq!(found, fingerprints[3..5], "{form}");
            }
        });
    }
}

#[test]
fn fingerprints_alone_are_no_items() {
    let fingerprinter = FINGERPRINTER();
    let columns = Integers {
        values: vec![5],
        known: false,
    };
    for items in [Items::Ready(&[9]), Items::columns(&columns)] {
        items.for_each_item_chunk::<8>(|_, _| panic!("expected no items"));
    }
    assert_eq!(Items::Ready(&[9]).only(&fingerprinter), Some(9));
    assert_eq!(Items::Ready(&[9, 9]).only(&fingerprinter), None);
    let expected = fingerprinter.signed(5);
    assert_eq!(
        Items::columns(&columns).only(&fingerprinter),
        Some(expected)
    );
}

/// All choices of empty rows among seven, with and without weights.
#[test]
fn pieces_are_the_rows_in_order() {
    for choice in 0..1_u32 << 7 {
        let is_empty = |row: u64| choice >> row & 1 == 1;
        let empty: Vec<u64> = (0..7).filter(|&row| is_empty(row)).collect();
        let events: Vec<u64> = (0..7).filter(|&row| !is_empty(row)).collect();
        let weights: Vec<u64> = events.iter().map(|row| 100 + row).collect();
        for weights in [None, Some(weights.as_slice())] {
            let rows = StepRows::new(Items::Ready(&events), weights, &empty).unwrap();
            assert_eq!(rows.steps(), 7);
            assert_eq!(rows.begins_with_an_event(), !is_empty(0), "{choice:07b}");
            let (mut row, mut found) = (0, Vec::new());
            for (items, weights, number) in rows.pieces() {
                let Items::Ready(items) = items else {
                    panic!("expected the same form")
                };
                if let Some(weights) = weights {
                    let expected: Vec<u64> = items.iter().map(|row| 100 + row).collect();
                    assert_eq!(weights, expected);
                }
                for &item in items {
                    assert_eq!(item, row, "{choice:07b}");
                    row += 1;
                }
                found.extend(row..row + number);
                row += number;
            }
            assert_eq!((found, row), (empty.clone(), 7), "{choice:07b}");
        }
    }
    let none = StepRows::new(Items::Ready(&[]), None, &[]).unwrap();
    assert!(!none.begins_with_an_event() && none.steps() == 0);
}

/// Rows 1, 2 and 5 of seven are empty.
#[test]
fn rows_come_in_pieces_between_empty_ones() {
    let items = [10, 11, 12, 13];
    let weights = [1, 2, 3, 4];
    let rows = StepRows::new(Items::Ready(&items), Some(&weights), &[1, 2, 5]).unwrap();
    let found: Vec<_> = rows
        .pieces()
        .map(|(items, weights, empty)| match items {
            Items::Ready(items) => (items.to_vec(), weights.unwrap().to_vec(), empty),
            _ => panic!("expected fingerprints"),
        })
        .collect();
    let expected = [
        (vec![10], vec![1], 2),
        (vec![11, 12], vec![2, 3], 1),
        (vec![13], vec![4], 0),
    ];
    assert_eq!(found, expected);
}
