//! The endless tree against dense algebra.

use super::*;
use crate::mechanism::tests::largest_number_on;
use crate::mechanism::{Mechanism, MechanismKind};

fn facts() -> &'static Facts {
    Endless::new(1 << 32).unwrap().facts
}

fn examined(bytes: &[u8]) -> Option<Facts> {
    Facts::examined(bytes, facts().shared)
}

/// The spine with another entry.
fn spine_with(index: usize, entry: i16) -> Vec<u8> {
    let mut bytes = FILE.to_vec();
    bytes[2 * index..2 * index + 2].copy_from_slice(&entry.to_le_bytes());
    bytes
}

/// The tree whose shared rows have another entry at a place of their file.
fn with_shared(index: usize, entry: i16) -> Facts {
    let shared = Mechanism::new(MechanismKind::DeepTree, 1024).unwrap();
    let mut file = shared.rows().to_vec();
    file[index] = entry;
    let bytes: Vec<u8> = file.iter().flat_map(|entry| entry.to_le_bytes()).collect();
    let shared = SharedRows::parse(16, &bytes).unwrap();
    Facts {
        file: facts().file.clone(),
        shared: Box::leak(Box::new(shared)),
        ..*facts()
    }
}

/// Place of the own entry of node (d, v) of the top: after 4 entries of the header, one of the root,
/// and 2^(i-1) rows of i + 1 for each depth.
fn own_of_top(d: usize, v: usize) -> usize {
    let before: usize = (1..d).map(|i| (i + 1) << (i - 1)).sum();
    5 + before + v * (d + 1) + d
}

/// Place of the own entry of a shared row: after the top, 64 rows of 8 entries for each set.
fn own_of_shared(set: usize, turns: usize) -> usize {
    own_of_top(7, 63) + 1 + (64 * set + turns) * 8
}

/// All rows of the first epochs by definition: entries by time.
fn rows_until(facts: &Facts, last: u32) -> Vec<Vec<(u64, i64)>> {
    let mut rows = Vec::new();
    for epoch in 0..=last {
        let spine = facts.spine_row(epoch);
        let earlier = spine
            .earlier
            .iter()
            .map(|&(at, entry)| (1 << at, i64::from(entry)));
        rows.push(
            earlier
                .chain([(spine.node, i64::from(spine.own))])
                .collect(),
        );
        for d in 2..=epoch {
            for v in width_of(d) / 2..width_of(d) {
                let row = facts.row(epoch, d, v);
                let time = |at: usize| match at.checked_sub(epoch as usize) {
                    None | Some(0) => 1_u64 << at,
                    Some(below) => {
                        let i = below as u32 + 1;
                        ancestor_time(epoch, d, v, i)
                    }
                };
                let earlier = row
                    .earlier
                    .iter()
                    .map(|&(at, entry)| (time(at), i64::from(entry)));
                rows.push(earlier.chain([(row.node, i64::from(row.own))]).collect());
            }
        }
    }
    rows
}

/// The recursion of each of the first epochs is the definition: the largest leaf of the epoch, by
/// adding up the rows of all nodes; later epochs add their spine rows only, whose sum is exact here.
#[test]
fn every_epoch_equals_its_definition() {
    const LAST: u32 = 11;
    let (facts, n) = (facts(), 1_usize << LAST);
    let (mut squares, mut counts) = (vec![0_u64; n + 1], vec![0_u64; n + 1]);
    for row in rows_until(facts, LAST) {
        let mut entries = vec![0_i64; n + 2];
        row.iter()
            .for_each(|&(time, entry)| entries[time as usize] += entry);
        let mut sum = 0;
        for leaf in (1..=n).rev() {
            sum += entries[leaf];
            squares[leaf] += (sum * sum) as u64;
            counts[leaf] += u64::from(sum != 0);
        }
    }
    for epoch in 0..=LAST {
        let later = (LAST + 1..=LAST_EPOCH).map(|j| {
            let row = facts.spine_row(j);
            let after = row.earlier.iter().filter(|&&(at, _)| at >= epoch as usize);
            i64::from(row.own) + after.map(|&(_, entry)| i64::from(entry)).sum::<i64>()
        });
        let later: Vec<i64> = later.collect();
        let square: i64 = later.iter().map(|sum| sum * sum).sum();
        let count = later.iter().filter(|&&sum| sum != 0).count();
        let leaves = if epoch == 0 {
            1..=1
        } else {
            (1 << (epoch - 1)) + 1..=1_usize << epoch
        };
        let largest = |of: &[u64]| of[leaves.clone()].iter().max().copied().unwrap();
        let expected = (
            largest(&squares) + square as u64,
            largest(&counts) + count as u64,
        );
        assert_eq!(facts.heaviest_leaf(epoch), expected, "epoch {epoch}");
    }
}

/// Computed beforehand by an independent program.
#[test]
fn facts_are_as_published() {
    let endless = Endless::new(1 << 32).unwrap();
    assert_eq!(
        (endless.sensitivity2(), endless.nodes_per_leaf()),
        (262_227, 1_556)
    );
}

/// The spine is on every path, in order; every other node is in the epoch, root first.
#[test]
fn paths_are_short_and_end_at_their_push() {
    let endless = Endless::new(1 << 32).unwrap();
    for i in 0..400_u64 {
        let p = (i.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (32 + i % 32)).max(1);
        let (rows, epoch) = (endless.rows(p), epoch_of(p));
        assert!(rows.len() <= 2 * epoch as usize + 1);
        assert_eq!(rows.last().unwrap().node, p);
        for (at, row) in rows.iter().enumerate() {
            assert!(row.own > 0 && row.earlier.iter().all(|entry| entry.0 < at));
            if at <= epoch as usize {
                assert_eq!(row.node, 1 << at);
            }
            if at > epoch as usize {
                // Rows of an epoch sum to zero, so earlier leaves do not change them.
                let sum: i32 = row.earlier.iter().map(|entry| entry.1).sum();
                assert_eq!(sum + row.own, 0);
            }
        }
    }
    assert_eq!(endless.rows(1 << 32).len(), 33);
}

/// A changed entry is found by the examination; a row without a positive own entry refuses the table.
#[test]
fn a_wrong_spine_is_recalibrated_or_refused() {
    for (index, is_own) in [
        (30 * 6 + 4, true),
        (20 * 6 + 4, true),
        (20 * 6 + 2, false),
        (28 * 6 + 5, false),
    ] {
        let mut bytes = FILE.to_vec();
        let entry = i16::from_le_bytes([bytes[2 * index], bytes[2 * index + 1]]);
        bytes[2 * index..2 * index + 2].copy_from_slice(&(entry + 2000).to_le_bytes());
        let wrong = examined(&bytes).unwrap();
        assert!(wrong.sensitivity2 > facts().sensitivity2 && wrong.digest != facts().digest);
        bytes[2 * index..2 * index + 2].copy_from_slice(&(-entry.abs()).to_le_bytes());
        assert_eq!(
            examined(&bytes).is_none(),
            is_own || index % 6 == 5,
            "{index}"
        );
    }
    assert!(examined(&FILE[2..]).is_none());
    assert!(examined(&spine_with(20 * 6 + 4, 0)).is_none());
}

/// An own entry of 1 times a factor of 1/2 is rounded to 1; times less it is 0, and refused.
#[test]
fn own_entries_stay_positive_in_every_epoch() {
    for index in [
        own_of_top(2, 0),
        own_of_top(7, 63),
        own_of_shared(0, 0),
        own_of_shared(3, 63),
    ] {
        let mut facts = with_shared(index, 1);
        assert!(facts.has_positive_owns());
        for (factor, accepted) in [(4096, true), (4095, false)] {
            facts.file[PLACES * 20 + 5] = factor;
            assert_eq!(facts.has_positive_owns(), accepted, "{index} {factor}");
        }
    }
}

/// The key of the noise depends on the digest, which covers the spine and the shared rows.
#[test]
fn the_digest_is_that_of_both_files() {
    let mechanism = Mechanism::new(MechanismKind::Endless, 1).unwrap();
    let shared = Mechanism::new(MechanismKind::DeepTree, 1024).unwrap();
    let rows = mechanism.rows().iter();
    let bytes: Vec<u8> = rows.flat_map(|entry| entry.to_le_bytes()).collect();
    assert_eq!(bytes, FILE);
    let hash = blake3::hash(&[&bytes[..], &shared.table().1].concat());
    let expected: [u8; 16] = hash.as_bytes()[..16].try_into().unwrap();
    assert_eq!(mechanism.table(), (32, expected));
}

/// Computed beforehand by an independent program, in fractions. The left half of the shared tree
/// has no nodes here, so its rows do not count.
#[test]
fn bounds_on_numbers_are_as_published() {
    let endless = Endless::new(1 << 32).unwrap();
    for (draw, expected) in [(1.0, 10_754.937_300_477_886), (1e6, 70_250_076.760_482_09)] {
        let found = endless.largest_number(draw);
        assert!((found / expected - 1.0).abs() < 1e-12, "{found}");
    }
    let known = endless.largest_number(1e6);
    for (v, counts) in [(0, false), (31, false), (32, true), (63, true)] {
        let changed = with_shared(own_of_top(7, v), 1).largest_number(1e6);
        assert_eq!(changed > known, counts, "{v}");
        assert_eq!(changed != known, counts, "{v}");
    }
}

/// Numbers of real paths.
#[test]
fn numbers_stay_within_their_bound() {
    let endless = Endless::new(1 << 32).unwrap();
    let bound = endless.largest_number(1e6);
    for i in 1..400_u64 {
        let p = i.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (32 + i % 24) | 1;
        let largest = largest_number_on(&endless.rows(p), 1e6, i);
        assert!(largest <= bound && largest >= 1e6, "{p}: {largest}");
    }
}

/// Standard deviations of the noisiest pushes found, over the proven bound of a tree that ends there.
#[test]
fn the_price_of_no_horizon_is_less_than_forty_per_cent() {
    let mechanism = Mechanism::new(MechanismKind::Endless, 1 << 32).unwrap();
    for (epoch, bound) in [
        (8, 6.41),
        (12, 11.51),
        (16, 17.91),
        (20, 26.16),
        (24, 35.97),
        (32, 60.25),
    ] {
        let first = 1_u64 << (epoch - 1);
        let pushes =
            (1..1500_u64).map(|i| first + 1 + i.wrapping_mul(0x9E37_79B9_7F4A_7C15) % first);
        let largest = pushes.map(|p| mechanism.variance(p)).fold(0.0, f64::max);
        let ratio = (largest * mechanism.sensitivity2() / bound).sqrt();
        assert!((1.2..1.4).contains(&ratio), "2^{epoch}: {ratio}");
    }
}

#[test]
fn final_pushes_are_later() {
    let mechanism = Mechanism::new(MechanismKind::Endless, 1 << 32).unwrap();
    for pushes in [0, 1, 2, 5, 1000, 1 << 20, (1 << 30) + 12_345] {
        let found = mechanism.final_push(pushes, false);
        assert!(found > pushes && mechanism.variance(found) <= mechanism.variance(pushes + 1));
    }
    assert_eq!(mechanism.final_push(1 << 32, false), (1 << 32) + 1);
    let extra = mechanism.weights((1 << 32) + 1);
    assert_eq!(
        extra.by_node().unwrap().nodes().last(),
        Some(&((1 << 32) + 1))
    );
}
