//! Fuzz target: damaged captures in pieces of any size. `PROPTEST_CASES` sets the number of cases.

#[path = "../../text/tests/edits/mod.rs"]
mod edits;

use edits::damaged;
use lazysketch_capture::{Damage, Field, FieldValues, PacketRows, Reader, Wanted};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};

/// An Ethernet frame with a VLAN tag, IPv4 or IPv6, and ports.
fn frame(six: bool, number: u8) -> Vec<u8> {
    let mut frame = vec![0; 12];
    frame.extend([0x81, 0, 0, 5]);
    if six {
        frame.extend([0x86, 0xdd, 0x60, 0, 0, 0, 0, 8, 17, 64]);
        frame.extend([0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, number].repeat(2));
    } else {
        frame.extend([8, 0, 0x45, 0, 0, 28, 0, 0, 0, 0, 64, 17, 0, 0]);
        frame.extend([198, 51, 100, number, 203, 0, 113, 9]);
    }
    frame.extend([0, 53, 0x10, number, 0, 8, 0, 0]);
    frame
}

fn pcap(link: u32, nanoseconds: bool) -> Vec<u8> {
    let magic: u32 = if nanoseconds {
        0xa1b2_3c4d
    } else {
        0xa1b2_c3d4
    };
    let mut file = magic.to_le_bytes().to_vec();
    file.extend([2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0]);
    file.extend(link.to_le_bytes());
    for number in 0..6 {
        let frame = frame(number % 2 == 0, number);
        let length = (frame.len() as u32).to_le_bytes();
        file.extend([[number, 0, 0, 90], [0, 1, 0, 0], length, length].concat());
        file.extend(frame);
    }
    file
}

fn block(kind: u32, body: &[u8]) -> Vec<u8> {
    let padding = vec![0; body.len().next_multiple_of(4) - body.len()];
    let length = (12 + body.len() + padding.len()) as u32;
    [
        &kind.to_le_bytes()[..],
        &length.to_le_bytes(),
        body,
        &padding,
        &length.to_le_bytes(),
    ]
    .concat()
}

fn pcapng() -> Vec<u8> {
    let section = [
        0x4d, 0x3c, 0x2b, 0x1a, 1, 0, 0, 0, 255, 255, 255, 255, 255, 255, 255, 255,
    ];
    let options = [9, 0, 1, 0, 9, 0, 0, 0, 0, 0, 0, 0]; // nanoseconds
    let interface = [&[1, 0, 0, 0, 0, 0, 4, 0][..], &options].concat();
    let mut file = [block(0x0a0d_0d0a, &section), block(1, &interface)].concat();
    for number in 0..6 {
        let frame = frame(number % 2 == 0, number);
        let length = (frame.len() as u32).to_le_bytes();
        let head = [[0; 4], [1, 0, 0, 0], [number, 0, 0, 0], length, length].concat();
        file.extend(block(6, &[head, frame.clone()].concat()));
        file.extend(block(3, &[&length[..], &frame].concat())); // a simple packet
    }
    file
}

fn wholes() -> Vec<Vec<u8>> {
    let links = [1, 0, 101, 105, 113, 276, 999];
    let mut found: Vec<_> = links.iter().map(|&link| pcap(link, link == 1)).collect();
    found.extend([pcapng(), pcapng(), [pcapng(), pcapng()].concat()]);
    found
}

/// What a reader of these pieces returns, joined.
fn read(field: Field, pieces: &[&[u8]]) -> (Vec<PacketRows>, String) {
    let mut reader = Reader::new(field);
    let rows: Vec<_> = pieces.iter().map(|piece| reader.feed(piece)).collect();
    reader.finish();
    let end = format!(
        "{:?} {} {}",
        reader.damage(),
        reader.position(),
        reader.packets()
    );
    (rows, end)
}

/// Items, sizes and times of all rows, and how many rows are absent and malformed.
fn shown(rows: &[PacketRows]) -> (Vec<String>, Vec<i64>, Vec<i64>, [usize; 2]) {
    let mut items = Vec::new();
    for part in rows {
        match &part.items {
            FieldValues::Numbers(numbers) => items.extend(numbers.iter().map(i64::to_string)),
            FieldValues::Text { offsets, data } => {
                for ends in offsets.windows(2) {
                    let text = data[ends[0] as usize..ends[1] as usize].to_vec();
                    items.push(String::from_utf8(text).unwrap());
                }
            }
        }
    }
    let all = |of: fn(&PacketRows) -> &Vec<i64>| rows.iter().flat_map(of).copied().collect();
    let without = [
        rows.iter().map(|part| part.absent.len()).sum(),
        rows.iter().map(|part| part.malformed.len()).sum(),
    ];
    (
        items,
        all(|part| &part.sizes),
        all(|part| &part.times),
        without,
    )
}

proptest! {
    #[test]
    fn damaged_captures_in_pieces(
        file in damaged(wholes()),
        cuts in vec(any::<Index>(), 0..6),
        field in select(Field::NAMES.to_vec()),
    ) {
        let mut ends: Vec<_> = cuts.iter().map(|cut| cut.index(file.len() + 1)).collect();
        ends.extend([0, file.len()]);
        ends.sort_unstable();
        let pieces: Vec<_> = ends.windows(2).map(|ends| &file[ends[0]..ends[1]]).collect();
        let (whole, parts) = (read(field.1, &[&file]), read(field.1, &pieces));
        prop_assert_eq!(&whole.1, &parts.1);
        let (one, other) = (shown(&whole.0), shown(&parts.0));
        prop_assert_eq!(&one, &other);
        prop_assert_eq!(one.0.len(), one.1.len());
        prop_assert_eq!(one.2.len(), one.0.len() + one.3[0] + one.3[1]);
    }

    #[test]
    fn people_are_the_addresses_of_the_packets_that_count(
        file in damaged(wholes()),
        field in select(Field::NAMES.to_vec()),
        by_source in any::<bool>(),
    ) {
        let address = if by_source { Field::Source } else { Field::Destination };
        let wanted = Wanted::field(field.1).user(address).unwrap();
        let mut reader = Reader::of(wanted);
        let found = reader.feed(&file);
        // Packets of any link type have a size, but no person.
        prop_assume!(!matches!(reader.damage(), Some(Damage::LinkType(_))));
        let (items, people) = (Reader::new(field.1).feed(&file), Reader::new(address).feed(&file));
        prop_assert_eq!(&found.times, &items.times);
        let users = PacketRows { items: found.users.clone().unwrap(), ..found.clone() };
        let [of, whose, own, others] = [&found, &users, &items, &people].map(by_row);
        for row in 0..found.len() {
            // A size needs no address, but its person does.
            let counts = own[row].is_some() && others[row].is_some();
            prop_assert_eq!(&of[row], if counts { &own[row] } else { &None });
            prop_assert_eq!(&whose[row], if counts { &others[row] } else { &None });
        }
    }
}

/// The value of each row, if it has one.
fn by_row(rows: &PacketRows) -> Vec<Option<String>> {
    let mut values = shown(std::slice::from_ref(rows)).0.into_iter();
    let without = |row: &i64| rows.absent.contains(row) || rows.malformed.contains(row);
    let rows = (0..rows.len() as i64).map(|row| (!without(&row)).then(|| values.next()).flatten());
    rows.collect()
}
