use super::{Hierarchy, Named, NamesOfItems, SplitError};
use proptest::prelude::*;
use std::net::{Ipv4Addr, Ipv6Addr};

fn all() -> Vec<Hierarchy> {
    vec![
        Hierarchy::Ipv4(vec![8, 16, 24, 32]),
        Hierarchy::Ipv4(vec![1]),
        Hierarchy::Ipv6(vec![32, 48, 64, 128]),
        Hierarchy::Paths(3),
        Hierarchy::Domains(2),
    ]
}

proptest! {
    /// The parser of the standard library is the oracle.
    #[test]
    fn an_address_is_what_the_standard_library_takes_for_one(text in "[0-9.]{0,16}|([0-9]{1,3}\\.){3}[0-9]{1,3}") {
        let names = Hierarchy::Ipv4(vec![32]).names(Named::Text(&text));
        prop_assert_eq!(names, text.parse::<Ipv4Addr>().ok().map(|it| vec![it.to_string()]));
    }

    #[test]
    fn networks_of_ipv4_are_addresses_without_the_last_bits(address: u32, length in 1..=32_u32) {
        let first = Ipv4Addr::from(address & (u32::MAX << (32 - length)));
        let expected = if length == 32 { first.to_string() } else { format!("{first}/{length}") };
        let hierarchy = Hierarchy::Ipv4(vec![length]);
        prop_assert_eq!(hierarchy.names(Named::Number(address.into())), Some(vec![expected.clone()]));
        let text = Ipv4Addr::from(address).to_string();
        prop_assert_eq!(hierarchy.names(Named::Text(&text)), Some(vec![expected]));
    }

    /// The standard library writes the same text, but for addresses that contain one of IPv4.
    #[test]
    fn networks_of_ipv6_are_addresses_without_the_last_bits(
        groups in prop::array::uniform8(prop_oneof![Just(0_u16), Just(1), any::<u16>()]),
        length in 1..=128_u32,
    ) {
        let address = u128::from(Ipv6Addr::from(groups));
        let first = Ipv6Addr::from(address & (u128::MAX << (128 - length)));
        prop_assume!(first.to_ipv4_mapped().is_none());
        let expected = if length == 128 { first.to_string() } else { format!("{first}/{length}") };
        let hierarchy = Hierarchy::Ipv6(vec![length]);
        for item in [&format!("{}", Ipv6Addr::from(address)), &format!("{}%eth0", Ipv6Addr::from(address))] {
            prop_assert_eq!(hierarchy.names(Named::Text(item)), Some(vec![expected.clone()]));
        }
        prop_assert_eq!(hierarchy.names(Named::Number(address)), Some(vec![expected]));
    }

    #[test]
    fn a_batch_has_the_names_of_its_items(
        kind in 0..5_usize,
        numbers in prop::collection::vec(0..40_u32, 0..300),
    ) {
        let hierarchy = &all()[kind];
        let items: Vec<String> = numbers.iter().map(|number| match kind {
            0 | 1 => format!("10.{}.0.{number}", number % 3),
            2 => format!("2001:db8:{number:x}::{number:x}"),
            // Shorter than a level: its own name there.
            3 if number % 4 == 0 => format!("/{number}"),
            4 if number % 4 == 0 => format!("Host{number}"),
            3 => format!("/{}/b/{number}/d/e{}", number % 2, "long".repeat(*number as usize)),
            _ => format!("{number}.Example{}.org", number % 4),
        }).collect();
        let mut names = NamesOfItems::of(hierarchy, items.len()).expect("memory");
        for (item, &number) in items.iter().zip(&numbers) {
            // Few hashes: some of different items are equal.
            names.push(Named::Text(item), u64::from(number % 29)).expect("a name");
        }
        let (levels, rows) = names.finish();
        prop_assert_eq!(levels.len(), hierarchy.levels());
        for (level, names) in levels.iter().enumerate() {
            prop_assert_eq!(names.offsets.len(), levels[0].offsets.len());
            for (at, item) in items.iter().enumerate() {
                let row = rows.as_ref().map_or(at, |rows| rows[at] as usize);
                let name = &names.data[names.offsets[row] as usize..names.offsets[row + 1] as usize];
                let expected = hierarchy.names(Named::Text(item)).expect("a name");
                prop_assert_eq!(str::from_utf8(name).expect("UTF-8"), &expected[level]);
            }
        }
    }
}

#[test]
fn an_ipv4_address_in_one_of_ipv6_is_hexadecimal() {
    let hierarchy = Hierarchy::Ipv6(vec![96, 128]);
    let names = hierarchy.names(Named::Text("::ffff:192.0.2.7"));
    let expected = ["::ffff:0:0/96", "::ffff:c000:207"].map(String::from);
    assert_eq!(names, Some(expected.to_vec()));
}

#[test]
fn repetitions_have_one_name() {
    let hierarchy = Hierarchy::Ipv4(vec![8, 32]);
    let mut names = NamesOfItems::of(&hierarchy, 3).expect("memory");
    for item in [
        Named::Text("10.0.0.1"),
        Named::Number(7),
        Named::Text("10.0.0.1"),
    ] {
        names
            .push(item, if item == Named::Number(7) { 7 } else { 1 })
            .expect("a name");
    }
    let (levels, rows) = names.finish();
    assert_eq!(rows, Some(vec![0, 1, 0]));
    assert_eq!(levels[1].data, b"10.0.0.10.0.0.7");
    assert_eq!(levels[1].offsets, [0, 8, 15]);
}

#[test]
fn a_misfit_is_refused_and_leaves_no_name() {
    let misfits = [
        (
            0,
            vec![
                "",
                "1.2.3",
                "1.2.3.4.5",
                "1.2.3.256",
                "01.2.3.4",
                "1.2.3.4 ",
                "1..3.4",
                "１.2.3.4",
            ],
        ),
        (
            2,
            vec![
                "",
                "1.2.3.4",
                "::1%",
                "::1%a%b",
                "::1%a/b",
                "::1/64",
                "12345::",
                "1:2:3:4:5:6:7:8:9",
            ],
        ),
        (3, vec!["", "a/b", "?/a", "ht/tp://host/a"]),
        (4, vec!["", "..", ".org", "a..b"]),
    ];
    for (kind, items) in misfits {
        let hierarchy = &all()[kind];
        for item in items {
            let mut names = NamesOfItems::of(hierarchy, 1).expect("memory");
            assert_eq!(
                names.push(Named::Text(item), 5),
                Err(SplitError::Misfit),
                "{item}"
            );
            assert!(
                names
                    .finish()
                    .0
                    .iter()
                    .all(|level| level.data.is_empty() && level.offsets == [0])
            );
        }
    }
    let long = format!("{}.org", "x".repeat(250));
    assert_eq!(Hierarchy::Domains(1).names(Named::Text(&long)), None);
    assert!(
        Hierarchy::Domains(1)
            .names(Named::Text(&long[1..]))
            .is_some()
    );
    for kind in [3, 4] {
        assert_eq!(all()[kind].names(Named::Number(1)), None);
    }
    assert_eq!(Hierarchy::Ipv4(vec![8]).names(Named::Number(1 << 32)), None);
}

#[test]
fn a_name_has_the_names_of_its_item_above_it() {
    for (kind, item) in [
        (0, "10.1.2.3"),
        (2, "2001:db8::1"),
        (3, "/a/b/c/d?e"),
        (4, "a.B.c."),
    ] {
        let hierarchy = &all()[kind];
        let names = hierarchy.names(Named::Text(item)).expect("names");
        for level in 1..names.len() {
            assert_eq!(
                hierarchy.above(&names[level], level),
                Some(names[level - 1].clone())
            );
        }
        assert_eq!(hierarchy.above(&names[0], 0), None);
        assert_eq!(hierarchy.above(&names[0], names.len()), None);
    }
}
