//! Framing and headers compared with an independent parser (`walk`). Hostile bytes must give rows
//! or damage, the same for any split.

mod walk;

use etherparse::IpNumber;
use lazysketch_capture::{Damage, Field, FieldValues, PacketRows, Reader};
use proptest::collection::vec;
use proptest::prelude::*;

fn read(field: Field, chunks: &[&[u8]]) -> (Vec<PacketRows>, Option<Damage>, u64, u64) {
    let mut reader = Reader::new(field);
    let rows = chunks.iter().map(|chunk| reader.feed(chunk)).collect();
    reader.finish();
    (rows, reader.damage(), reader.position(), reader.packets())
}

fn texts(rows: &PacketRows) -> Vec<String> {
    match &rows.items {
        FieldValues::Text { offsets, data } => offsets
            .windows(2)
            .map(|ends| {
                String::from_utf8(data[ends[0] as usize..ends[1] as usize].to_vec()).unwrap()
            })
            .collect(),
        FieldValues::Numbers(numbers) => numbers.iter().map(i64::to_string).collect(),
    }
}

/// The item of every row, or "malformed" or "absent".
fn joined(rows: &[PacketRows]) -> Vec<String> {
    let mut found = Vec::new();
    for rows in rows {
        let mut items = texts(rows).into_iter();
        assert_eq!(rows.sizes.len(), items.len());
        for position in 0..rows.len() as i64 {
            found.push(if rows.malformed.binary_search(&position).is_ok() {
                "malformed".to_owned()
            } else if rows.absent.binary_search(&position).is_ok() {
                "absent".to_owned()
            } else {
                items.next().expect("an item for every other row")
            });
        }
        assert_eq!(items.next(), None);
    }
    found
}

fn word(big: bool, value: u32) -> [u8; 4] {
    if big {
        value.to_be_bytes()
    } else {
        value.to_le_bytes()
    }
}

fn half(big: bool, value: u16) -> [u8; 2] {
    if big {
        value.to_be_bytes()
    } else {
        value.to_le_bytes()
    }
}

fn pcap(big: bool, link: u32, packets: &[Vec<u8>]) -> Vec<u8> {
    let mut file = word(big, 0xa1b2_c3d4).to_vec();
    file.extend([half(big, 2), half(big, 4)].concat());
    file.extend([0, 0, 1 << 18, link].map(|value| word(big, value)).concat());
    for (seconds, packet) in packets.iter().enumerate() {
        let length = packet.len() as u32;
        file.extend(
            [seconds as u32, 5, length, length + 7]
                .map(|v| word(big, v))
                .concat(),
        );
        file.extend(packet);
    }
    file
}

fn block(big: bool, kind: u32, body: &[u8]) -> Vec<u8> {
    let padded = body.len().next_multiple_of(4);
    let length = word(big, 12 + padded as u32);
    let padding = vec![0; padded - body.len()];
    [&word(big, kind), &length, body, &padding, &length].concat()
}

/// Packets in blocks of all kinds in turn, some followed by bytes in the place of options.
fn pcapng(big: bool, link: u16, packets: &[Vec<u8>]) -> Vec<u8> {
    let section = [
        word(big, 0x1a2b_3c4d).as_slice(),
        &half(big, 1),
        &[0; 2],
        &[0xff; 8],
    ]
    .concat();
    let interface = [&half(big, link)[..], &[0; 2], &word(big, 0)].concat();
    let mut file = [block(big, 0x0a0d_0d0a, &section), block(big, 1, &interface)].concat();
    for (number, packet) in packets.iter().enumerate() {
        let length = packet.len() as u32;
        let lengths = [word(big, length), word(big, length + 7)].concat();
        let head = [[0; 4], word(big, 1), word(big, 2)].concat();
        let mut body = [head, lengths, packet.clone()].concat();
        if number % 3 == 2 {
            let simple = [&word(big, length)[..], packet].concat();
            file.extend(block(big, 3, &simple));
            continue;
        }
        body.resize(body.len().next_multiple_of(4), 0);
        body.extend(packet.iter().take(4 * number)); // mostly broken options
        body[2] = (number % 3) as u8; // lost packets, in the obsolete block
        file.extend(block(big, if number % 3 == 0 { 6 } else { 2 }, &body));
        file.extend(block(big, 0x0bad, b"skipped"));
    }
    file
}

fn cuts_of(data: &[u8], mut cuts: Vec<usize>) -> Vec<&[u8]> {
    for cut in &mut cuts {
        *cut %= data.len() + 1;
    }
    cuts.extend([0, data.len()]);
    cuts.sort_unstable();
    cuts.windows(2)
        .map(|ends| &data[ends[0]..ends[1]])
        .collect()
}

fn v4() -> impl Strategy<Value = Vec<u8>> {
    let lengths = prop_oneof![Just(0_u8), 18_u8..70];
    let fragments = prop::sample::select(vec![0_u16, 0, 0x2000, 0x4000, 1, 0x2001, 0x1fff]);
    let protocols = prop::sample::select(vec![1_u8, 6, 17, 50, 51, 132, 136, 253]);
    (
        vec(any::<u8>(), 0..90),
        0x44_u8..0x48,
        lengths,
        fragments,
        protocols,
    )
        .prop_map(|(mut bytes, first, length, fragment, protocol)| {
            if bytes.len() > 9 {
                bytes[0] = first;
                [bytes[2], bytes[3]] = [0, length];
                [bytes[6], bytes[7]] = fragment.to_be_bytes();
                bytes[9] = protocol;
            }
            bytes
        })
}

fn v6() -> impl Strategy<Value = Vec<u8>> {
    // Extension header types and small lengths, so that chains occur.
    let extension = (
        prop::sample::select(vec![0_u8, 6, 17, 43, 44, 51, 60, 58, 253]),
        0_u8..3,
        vec(prop::sample::select(vec![0_u8, 0, 0, 1, 8, 255]), 6),
    )
        .prop_map(|(kind, length, rest)| [vec![kind, length], rest].concat());
    (vec(any::<u8>(), 39), any::<u8>(), vec(extension, 0..9)).prop_map(
        |(mut head, length, extensions)| {
            let first = extensions.first().map_or(59, |extension| extension[0]);
            head.insert(0, 0x60);
            [head[4], head[5], head[6]] = [0, length, first];
            [head, extensions.concat()].concat()
        },
    )
}

/// The fields of one raw packet.
fn fields_of(packet: &[u8]) -> [String; 5] {
    let file = pcap(false, 101, &[packet.to_vec()]);
    ["src", "dst", "proto", "sport", "dport"].map(|name| {
        let field = Field::named(name).unwrap();
        joined(&read(field, &[&file]).0).remove(0)
    })
}

/// Compare the fields of a packet with those that the walk finds.
fn agrees(packet: &[u8]) -> Result<(), TestCaseError> {
    let [source, destination, protocol, ports @ ..] = fields_of(packet);
    let Some(walked) = walk::headers(packet) else {
        prop_assert_eq!([source, destination, protocol], ["malformed"; 3]);
        prop_assert_eq!(ports, ["malformed"; 2]);
        return Ok(());
    };
    prop_assert_eq!([source, destination], walked.addresses);
    let Some(payload) = walked.payload else {
        prop_assert_eq!(protocol, "malformed");
        prop_assert_eq!(ports, ["malformed"; 2]);
        return Ok(());
    };
    // Our names are a subset of etherparse's own list.
    if protocol.parse() == Ok(payload.protocol) {
        prop_assert!(![1, 6, 17, 51, 58, 132, 136].contains(&payload.protocol));
    } else {
        let keyword = IpNumber(payload.protocol).keyword_str();
        prop_assert_eq!(Some(protocol), keyword.map(str::to_lowercase));
    }
    prop_assert_eq!(ports, payload.ports);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..Default::default() })]

    #[test]
    fn framing_agrees_with_the_walk(
        packets in vec(vec(any::<u8>(), 0..40), 0..9),
        big in any::<bool>(),
        new in any::<bool>(),
        cut in 0_usize..100,
    ) {
        let file = if new { pcapng(big, 1, &packets) } else { pcap(big, 1, &packets) };
        // In half of the cases the file is truncated near its end.
        let file = &file[..file.len() - cut.saturating_sub(50).min(file.len() - 24)];
        let (rows, damage, position, packets) = read(Field::Size, &[file]);
        let sizes: Vec<_> = walk::sizes(file, big).iter().map(u32::to_string).collect();
        prop_assert_eq!(packets as usize, sizes.len());
        prop_assert_eq!(joined(&rows), sizes);
        prop_assert_eq!(damage.is_none(), position as usize == file.len());
    }

    #[test]
    fn ipv4_headers_agree_with_the_walk(packet in v4()) {
        agrees(&packet)?;
    }

    #[test]
    fn ipv6_headers_agree_with_the_walk(packet in v6()) {
        agrees(&packet)?;
    }

    #[test]
    fn hostile_bytes_give_the_same_rows_for_any_split(
        packets in vec(prop_oneof![v4(), v6()], 1..5),
        big in any::<bool>(),
        new in any::<bool>(),
        mutations in vec((any::<prop::sample::Index>(), any::<u8>()), 0..12),
        cuts in vec(any::<usize>(), 0..6),
        field in prop::sample::select(Field::NAMES.to_vec()),
    ) {
        let mut file = if new { pcapng(big, 101, &packets) } else { pcap(big, 101, &packets) };
        for (place, value) in mutations {
            let place = place.index(file.len());
            file[place] = value;
        }
        let (rows, damage, position, packets) = read(field.1, &[&file]);
        let in_pieces = read(field.1, &cuts_of(&file, cuts));
        prop_assert_eq!(joined(&rows).len(), packets as usize);
        prop_assert_eq!(joined(&rows), joined(&in_pieces.0));
        prop_assert_eq!((damage, position, packets), (in_pieces.1, in_pieces.2, in_pieces.3));
        prop_assert!(position as usize <= file.len());
    }

    #[test]
    fn arbitrary_bytes_do_not_panic(bytes in vec(any::<u8>(), 0..200), start in 0_usize..6) {
        const PREFIXES: [&[u8]; 6] = [
            b"",
            b"\xd4\xc3\xb2\xa1\x02\0",
            b"\xa1\xb2\x3c\x4d\0\x02",
            b"\x0a\x0d\x0d\x0a",
            b"\x0a\x0d\x0d\x0a\x1c\0\0\0\x4d\x3c\x2b\x1a\x01\0",
            b"\x0a\x0d\x0d\x0a\0\0\0\x1c\x1a\x2b\x3c\x4d\0\x01",
        ];
        let bytes = [PREFIXES[start], &bytes].concat();
        for (_, field) in Field::NAMES {
            let (rows, _, _, packets) = read(field, &[&bytes]);
            prop_assert_eq!(joined(&rows).len(), packets as usize);
        }
    }
}
