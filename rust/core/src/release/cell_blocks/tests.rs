//! Cells in blocks are read as they were written, from one encoding.

use super::*;
use crate::simd::Width;

fn mixed(at: u64) -> u64 {
    let mixed = (at + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (mixed ^ (mixed >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9)
}

fn tables() -> Vec<Vec<i64>> {
    let shapes: [fn(u64) -> i64; 9] = [
        |_| 0,
        |_| i64::MAX,
        |at| (mixed(at) >> 58) as i64 - 32,
        |at| if at % 97 == 0 { 1 << 40 } else { at as i64 % 5 },
        |at| mixed(at) as i64,
        |at| if at % 2 == 0 { i64::MAX } else { i64::MIN },
        |at| if at % 2 == 0 { i64::MIN } else { -1 },
        |at| -((mixed(at) >> 40) as i64),
        // The distances around the first one that escapes.
        |at| {
            if at % 4 == 0 {
                at as i64 / 4 % 64 - 32
            } else {
                0
            }
        },
    ];
    let tables = [1, 2, 1_023, 1_024, 1_025, 5_000]
        .map(|number| shapes.map(|shape| (0..number).map(shape).collect::<Vec<_>>()));
    tables.into_iter().flatten().collect()
}

fn read_all(bytes: &[u8], cells: usize) -> Result<Vec<i64>> {
    let mut reader = ByteReader { rest: bytes };
    let table = read(&mut reader, cells)?;
    match reader.rest {
        [] => Ok(table),
        _ => malformed("more bytes"),
    }
}

#[test]
fn cells_are_read_as_they_were_written() {
    for table in tables() {
        let mut bytes = Vec::new();
        write(&mut bytes, &table).unwrap();
        assert!(bytes.len() >= fewest_bytes(table.len()));
        assert_eq!(read_all(&bytes, table.len()).unwrap(), table);
    }
}

/// Both loops against the codes one by one, at every width of registers.
#[test]
fn runs_of_short_codes_are_read_as_single_ones() {
    for table in tables() {
        let mut bytes = Vec::new();
        write(&mut bytes, &table).unwrap();
        let cells = &table[..BLOCK.min(table.len())];
        let centre = i64::from_le_bytes(*bytes.first_chunk().unwrap());
        let low = u32::from(bytes[8]);
        let reader = || BitReader {
            bytes: &bytes[HEADER..],
            at: 0,
        };
        let mut single = reader();
        let expected: Vec<(u64, usize)> = (cells.iter())
            .map(|_| (single.distance(low).unwrap(), single.at))
            .collect();
        for width in Width::all() {
            let (mut bits, mut next) = (reader(), 0);
            let mut distances = vec![0; cells.len()];
            while next < cells.len() {
                near_distances_at(width, &mut bits, low, &mut distances, &mut next);
                if next > 0 {
                    assert_eq!(bits.at, expected[next - 1].1, "{width:?}");
                }
                if next < cells.len() {
                    distances[next] = bits.distance(low).unwrap();
                    next += 1;
                }
            }
            let equal = distances
                .iter()
                .zip(&expected)
                .all(|(one, other)| *one == other.0);
            assert!(equal, "{width:?}");
            let (mut out, mut found) = (vec![0; cells.len()], Found::default());
            cells_from_at(width, &distances, centre, low, &mut out, &mut found);
            assert_eq!(out, cells, "{width:?}");
            let number =
                |is: &dyn Fn(usize) -> bool| (0..cells.len()).filter(|&at| is(at)).count() as u64;
            assert_eq!(found.below, number(&|at| cells[at] < centre));
            assert_eq!(found.through, number(&|at| cells[at] <= centre));
            assert_eq!(found.shorter, number(&|at| distances[at] >> low == 0));
            assert_eq!(found.fitting, number(&|at| distances[at] >> low <= 1));
        }
    }
}

#[test]
fn a_table_has_one_encoding() {
    for table in tables() {
        let mut bytes = Vec::new();
        write(&mut bytes, &table).unwrap();
        for at in (0..bytes.len()).step_by(1 + bytes.len() / 300) {
            for bit in 0..8 {
                let mut other = bytes.clone();
                other[at] ^= 1 << bit;
                let Ok(found) = read_all(&other, table.len()) else {
                    continue;
                };
                let mut again = Vec::new();
                write(&mut again, &found).unwrap();
                assert_eq!(again, other);
            }
            assert!(read_all(&bytes[..at], table.len()).is_err());
        }
        bytes.push(0);
        assert!(read_all(&bytes, table.len()).is_err());
    }
}

#[test]
fn a_short_input_allocates_nothing() {
    assert!(read_all(&[0; 4_000], 1 << 28).is_err());
    assert!(read_all(&[], 1).is_err());
}
