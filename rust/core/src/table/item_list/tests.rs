use super::*;
use crate::table::items::TextRun;
use proptest::prelude::*;

#[derive(Debug, Clone)]
enum Value {
    Text(String),
    Bytes(Vec<u8>),
    Wide(Vec<u8>),
    Uuid([u8; 16]),
    Signed(i64),
    Unsigned(u64),
    Instant(i64),
    Date(i32),
}

impl Value {
    fn item(&self) -> Item<'_> {
        match self {
            Self::Text(text) => Item::Text(text),
            Self::Bytes(bytes) => Item::Bytes(bytes),
            Self::Wide(bytes) => Item::Wide(bytes),
            Self::Uuid(bytes) => Item::Uuid(bytes),
            Self::Signed(integer) => Item::Signed(*integer),
            Self::Unsigned(integer) => Item::Unsigned(*integer),
            Self::Instant(instant) => Item::Instant(*instant),
            Self::Date(days) => Item::Date(*days),
        }
    }
}

fn values() -> impl Strategy<Value = Vec<Value>> {
    let bytes = || proptest::collection::vec(any::<u8>(), 0..200);
    proptest::collection::vec(
        prop_oneof![
            ".{0,80}".prop_map(Value::Text),
            bytes().prop_map(Value::Bytes),
            bytes().prop_map(Value::Wide),
            any::<[u8; 16]>().prop_map(Value::Uuid),
            any::<i64>().prop_map(Value::Signed),
            any::<u64>().prop_map(Value::Unsigned),
            any::<i64>().prop_map(Value::Instant),
            any::<i32>().prop_map(Value::Date),
        ],
        0..150,
    )
}

fn all(list: &ItemList) -> Vec<Item<'_>> {
    (0..list.len()).map_while(|at| list.item(at)).collect()
}

/// Written, followed by other bytes, and read again.
fn read_again(list: &ItemList) -> ItemList {
    let mut bytes = vec![7];
    list.write(&mut bytes).unwrap();
    assert_eq!(bytes.len(), 1 + list.written_size());
    bytes.extend([1, 2, 3]);
    let (again, rest) = ItemList::read(&bytes[1..]).unwrap();
    assert_eq!(rest, [1, 2, 3]);
    for length in 1..bytes.len() - 3 {
        assert!(ItemList::read(&bytes[1..length]).is_err());
    }
    again
}

struct Run {
    content: String,
    offsets: Vec<i32>,
}

impl Columns for Run {
    fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    fn fingerprints(&self, _: &Fingerprinter, _: usize, _: &mut [u64]) {
        unreachable!("the texts are copied in one piece")
    }

    fn texts(&self) -> Option<Vec<TextRun<'_>>> {
        let (content, offsets) = (self.content.as_bytes(), &*self.offsets);
        Some(vec![TextRun { content, offsets }])
    }
}

/// Offsets that fall back, or lie outside, are refused.
#[test]
fn runs_of_texts_are_checked() {
    for offsets in [
        vec![0, 3, 2],
        vec![0, 9],
        vec![-1, 2],
        vec![2, 1],
        vec![0, 5, 4],
    ] {
        let content = "abcd".to_owned();
        let columns = Run { content, offsets };
        assert!(ItemList::copied(Items::columns(&columns)).is_err());
    }
    for (text, end, is_whole) in [("é", 1, false), ("aé", 1, true), ("aé", 2, false)] {
        let (content, offsets) = (text.to_owned(), vec![0, end, text.len() as i32]);
        let columns = Run { content, offsets };
        assert_eq!(ItemList::copied(Items::columns(&columns)).is_ok(), is_whole);
    }
}

/// Items and fingerprints of every type, empty ones and lengths of two bytes among them.
#[test]
fn items_of_every_type_are_read_as_they_were_written() {
    let items = [
        Item::Text("a text that takes two bytes for its length"),
        Item::Bytes(b"bytes"),
        Item::Bytes(b""),
        Item::Wide(&[9; 200]),
        Item::Uuid(&[4; 16]),
        Item::Signed(-5),
        Item::Unsigned(u64::MAX),
        Item::Instant(-7),
        Item::Date(3),
        Item::Text(""),
    ];
    let list = ItemList::copied(Items::Mixed(&items)).unwrap();
    let again = read_again(&list);
    assert_eq!(all(&again), items);
    let fingerprinter = Fingerprinter::new(9);
    let expected = items.map(|item| fingerprinter.item(item));
    let mut found: Vec<u64> = Vec::new();
    again
        .items()
        .for_each_chunk(&fingerprinter, |_, chunk| found.extend(chunk));
    assert_eq!(found, expected);
}

fn written(list: &ItemList) -> Vec<u8> {
    let mut bytes = Vec::new();
    list.write(&mut bytes).unwrap();
    assert_eq!(bytes.len(), list.written_size());
    bytes
}

/// The form and the size of a batch: the fewest bytes that hold each item.
#[test]
fn batches_have_the_shortest_form() {
    let signed = |values: &[i64]| written(&ItemList::copied(Items::Signed(values)).unwrap());
    let unsigned = |values: &[u64]| written(&ItemList::copied(Items::Unsigned(values)).unwrap());
    let (low, high) = (i64::from(i32::MIN), i64::from(i32::MAX));
    for (bytes, form, size) in [
        (signed(&[low, high]), 5, 8),
        (signed(&[low - 1, high]), 1, 16),
        (signed(&[low, high + 1]), 1, 16),
        (unsigned(&[0, u64::from(u32::MAX)]), 6, 8),
        (unsigned(&[1 << 32, 0]), 2, 16),
    ] {
        assert_eq!((bytes[0], bytes.len()), (form, 9 + size));
        let (again, _) = ItemList::read(&bytes).unwrap();
        assert_eq!(written(&again), bytes);
    }
    for (longest, length_bytes) in [(0, 1), (255, 1), (256, 2), (65_535, 2), (65_536, 4)] {
        let long = "x".repeat(longest);
        let texts = [Item::Text("ab"), Item::Text(&long)];
        let bytes = written(&ItemList::copied(Items::Mixed(&texts)).unwrap());
        assert_eq!((bytes[0], bytes[9]), (4, length_bytes));
        assert_eq!(
            bytes.len(),
            10 + 2 * usize::from(length_bytes) + 2 + longest
        );
    }
    // A number before each content: type, and length from bit 3 on.
    let long = [7; 16];
    for (items, expected) in [
        (&[Item::Bytes(b"ab")][..], &[2 << 3 | 1, b'a', b'b'][..]),
        (&[Item::Date(1)], &[4 << 3 | 7, 1, 0, 0, 0]),
        (&[Item::Bytes(&long)], &[1 << 7 | 1, 1]),
    ] {
        let bytes = written(&ItemList::copied(Items::Mixed(items)).unwrap());
        assert_eq!((bytes[0], &bytes[9..9 + expected.len()]), (3, expected));
    }
    let none = written(&ItemList::copied(Items::Mixed(&[])).unwrap());
    assert_eq!(none, [3, 0, 0, 0, 0, 0, 0, 0, 0]);
}

/// The number before a content has five bytes at most.
#[test]
fn numbers_before_contents_have_a_largest() {
    let mut batch = vec![3, 1, 0, 0, 0, 0, 0, 0, 0];
    // The length 1 in five bytes, with nothing but zeros in the last four.
    batch.extend([1 << 7 | 1 << 3 | 1, 1 << 7, 1 << 7, 1 << 7, 0, b'a']);
    let (list, _) = ItemList::read(&batch).unwrap();
    assert_eq!(list.item(0), Some(Item::Bytes(b"a")));
    let mut longer = batch.clone();
    longer[13] = 1 << 7;
    longer.insert(14, 0);
    assert!(ItemList::read(&longer).is_err());
    // A length that only the last byte of the five has.
    batch[13] = 1;
    assert!(ItemList::read(&batch).is_err());
}

#[test]
fn lists_know_their_items() {
    let items = [Item::Text("a"), Item::Bytes(b"b"), Item::Date(3)];
    let list = ItemList::copied(Items::Mixed(&items)).unwrap();
    assert!(!list.is_empty() && list.has_items());
    assert!(ItemList::copied(Items::Signed(&[])).unwrap().is_empty());
    let ItemList::Mixed(mixed) = &list else {
        panic!("another form");
    };
    assert!(Columns::has_items(mixed) && Columns::len(mixed) == 3);
    let (content, offsets) = ("ab".to_owned(), vec![0, 1, 2]);
    let texts = ItemList::copied(Items::columns(&Run { content, offsets })).unwrap();
    let ItemList::Texts(texts) = texts else {
        panic!("another form");
    };
    assert!(Columns::has_items(&texts) && Columns::len(&texts) == 2);
    assert!(texts.check(MOST_BYTES - 2).is_ok() && texts.check(MOST_BYTES - 1).is_err());
    assert_eq!(list.collected().unwrap(), items);
    let mut found = [Item::Unsigned(0); 2];
    Columns::items(mixed, 1, &mut found);
    assert_eq!(found, items[1..]);
}

/// Contents of all types count together.
#[test]
fn the_bytes_of_a_batch_have_a_limit() {
    let mut mixed = MixedItems::default();
    for (item, held) in [
        (Item::Date(1), 0),
        (Item::Text("abc"), 3),
        (Item::Bytes(b"de"), 5),
        (Item::Uuid(&[0; 16]), 21),
    ] {
        mixed.push(item).unwrap();
        assert!(mixed.check(MOST_BYTES - held).is_ok());
        assert!(mixed.check(MOST_BYTES - held + 1).is_err());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Items, fingerprints and the order of a batch survive the log.
    #[test]
    fn items_are_read_as_they_were_written(values in values()) {
        let items: Vec<Item<'_>> = values.iter().map(Value::item).collect();
        let list = ItemList::copied(Items::Mixed(&items)).unwrap();
        prop_assert_eq!(all(&list), items.clone());
        let again = read_again(&list);
        prop_assert_eq!(all(&again), items.clone());
        let fingerprinter = Fingerprinter::new(9);
        let expected: Vec<u64> = items.iter().map(|&item| fingerprinter.item(item)).collect();
        let mut found: Vec<u64> = Vec::new();
        again.items().for_each_chunk(&fingerprinter, |_, chunk| found.extend(chunk));
        prop_assert_eq!(found, expected);
    }

    /// A batch of texts alone has its lengths apart, in 1, 2 or 4 bytes each.
    #[test]
    fn texts_are_read_as_they_were_written(
        texts in proptest::collection::vec(".{0,9}", 1..40),
        longest in prop_oneof![Just(0_usize), Just(255), Just(256), Just(65_535), Just(65_536)],
    ) {
        let long = "x".repeat(longest);
        let mut items: Vec<Item<'_>> = texts.iter().map(|it| Item::Text(it)).collect();
        items.push(Item::Text(&long));
        let list = ItemList::copied(Items::Mixed(&items)).unwrap();
        let mut bytes = Vec::new();
        list.write(&mut bytes).unwrap();
        prop_assert_eq!(bytes.len(), list.written_size());
        let (again, rest) = ItemList::read(&bytes).unwrap();
        prop_assert!(rest.is_empty());
        prop_assert_eq!(all(&again), items);
    }

    /// Texts that lie one after the other are those that they are one by one.
    #[test]
    fn runs_of_texts_are_copied(texts in proptest::collection::vec(".{0,9}", 0..40), skipped in 0..9_usize) {
        let mut content = "x".repeat(skipped);
        let mut offsets = vec![content.len() as i32];
        for text in &texts {
            content.push_str(text);
            offsets.push(content.len() as i32);
        }
        content.push('y');
        let columns = Run { content, offsets };
        let list = ItemList::copied(Items::columns(&columns)).unwrap();
        let items: Vec<Item<'_>> = texts.iter().map(|it| Item::Text(it)).collect();
        prop_assert_eq!(all(&list), items.clone());
        let again = read_again(&list);
        prop_assert_eq!(all(&again), items.clone());
        let fingerprinter = Fingerprinter::new(9);
        for start in 0..items.len() {
            let (mut found, mut hashed) = (vec![Item::Unsigned(0); 3], vec![0; 3]);
            let ItemList::Texts(list) = &list else {
                panic!("another form");
            };
            let number = found.len().min(items.len() - start);
            list.items(start, &mut found[..number]);
            list.fingerprints(&fingerprinter, start, &mut hashed[..number]);
            prop_assert_eq!(&found[..number], &items[start..start + number]);
            for (hash, item) in hashed.iter().zip(&found[..number]) {
                prop_assert_eq!(*hash, fingerprinter.item(*item));
            }
        }
    }

    /// What one sketch counts: integers as they are, other items as their fingerprints.
    #[test]
    fn hashed_batches_count_the_same(values in values()) {
        let items: Vec<Item<'_>> = values.iter().map(Value::item).collect();
        let fingerprinter = Fingerprinter::new(9);
        let list = ItemList::hashed(Items::Mixed(&items), &fingerprinter).unwrap();
        prop_assert!(!list.has_items() && list.item(0).is_none());
        let expected: Vec<u64> = items.iter().map(|&item| fingerprinter.item(item)).collect();
        for list in [&list, &read_again(&list)] {
            let mut found: Vec<u64> = Vec::new();
            // Under any seed: they are ready.
            list.items().for_each_chunk(&Fingerprinter::new(8), |_, chunk| found.extend(chunk));
            prop_assert_eq!(&found, &expected);
        }
        let integers = [-3, i64::MAX];
        let kept = ItemList::hashed(Items::Signed(&integers), &fingerprinter).unwrap();
        prop_assert!(matches!(kept, ItemList::Signed(same) if same == integers));
    }

    #[test]
    fn integers_are_read_as_they_were_written(
        values in proptest::collection::vec(any::<i64>(), 0..50),
        shift in 0..64_u32,
    ) {
        let values: Vec<i64> = values.iter().map(|it| it >> shift).collect();
        let unsigned: Vec<u64> = values.iter().map(|&it| it.cast_unsigned()).collect();
        let narrow: Vec<i32> = values.iter().map(|&it| it as i32).collect();
        for (items, is_expected) in [
            (Items::Signed(&values), 0),
            (Items::Unsigned(&unsigned), 1),
            (Items::Narrow(&narrow), 2),
        ] {
            let again = read_again(&ItemList::copied(items).unwrap());
            match (again, is_expected) {
                (ItemList::Signed(found), 0) => prop_assert_eq!(&found, &values),
                (ItemList::Unsigned(found), 1) => prop_assert_eq!(&found, &unsigned),
                (ItemList::Signed(found), _) => {
                    prop_assert!(found.iter().zip(&narrow).all(|(a, &b)| *a == i64::from(b)));
                }
                _ => prop_assert!(false, "another form"),
            }
        }
    }

    #[test]
    fn selected_items_are_those_at_the_positions(
        values in values(),
        integers in proptest::collection::vec(any::<i64>(), 0..50),
        positions in proptest::collection::vec(0..160_usize, 0..40),
    ) {
        let items: Vec<Item<'_>> = values.iter().map(Value::item).collect();
        let unsigned: Vec<u64> = integers.iter().map(|&it| it.cast_unsigned()).collect();
        for items in [Items::Mixed(&items), Items::Signed(&integers), Items::Unsigned(&unsigned)] {
            let list = ItemList::copied(items).unwrap();
            let parts = list.selected(positions.iter().copied()).unwrap();
            let expected: Vec<_> = positions.iter().filter_map(|&at| list.item(at)).collect();
            prop_assert_eq!(all(&parts), expected);
            let again = list.selected(0..list.len() + 9).unwrap();
            prop_assert_eq!(all(&again), all(&list));
        }
        let hashed = ItemList::Fingerprints(unsigned.clone());
        let ItemList::Fingerprints(parts) = hashed.selected(positions.iter().copied()).unwrap()
        else {
            panic!("another form");
        };
        let expected: Vec<_> = positions.iter().filter_map(|&at| unsigned.get(at)).collect();
        prop_assert_eq!(parts.iter().collect::<Vec<_>>(), expected);
    }

    /// A length that ends inside a character is refused, and so is one that is not UTF-8.
    #[test]
    fn texts_end_between_characters(first in 0..6_u8) {
        let text = "aé€";
        let mut data = vec![4, 2, 0, 0, 0, 0, 0, 0, 0, 1, first, 6 - first];
        data.extend(text.as_bytes());
        let is_whole = text.is_char_boundary(first.into());
        prop_assert_eq!(ItemList::read(&data).is_ok(), is_whole);
        *data.last_mut().unwrap() = b'x';
        prop_assert!(ItemList::read(&data).is_err());
    }

    /// Whatever the bytes are, nothing panics, and memory is in proportion to them.
    #[test]
    fn other_bytes_are_refused(bytes in proptest::collection::vec(any::<u8>(), 0..80), form in 1..8_u8) {
        for number in [0_u64, 3, 1 << 40, u64::MAX] {
            let mut data = vec![form];
            data.extend(number.to_le_bytes());
            data.extend(&bytes);
            let _ = ItemList::read(&data);
        }
        let _ = ItemList::read(&bytes);
    }
}
