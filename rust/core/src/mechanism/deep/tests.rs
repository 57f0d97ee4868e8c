//! Shared rows against dense algebra, and their noise against its definition.

use super::*;
use crate::mechanism::tests::largest_number_on;
use crate::mechanism::{Mechanism, MechanismKind};

const SIXTEENTHS: [u64; 5] = [9, 10, 12, 14, 16];

/// U 1(t >= l) by definition: for every leaf, the sum of squares over all nodes and the number of
/// nodes that are not 0.
fn by_definition(tree: &DeepTree) -> Vec<(u64, u64)> {
    let n = 1_usize << tree.depth;
    let mut norms = vec![(0_u64, 0_u64); n];
    for d in 0..=tree.depth {
        for v in 0..tables::width_of(d) {
            let row = tree.row(d, v);
            let time =
                |i: usize| ancestor_time(tree.depth, d, if i == 0 { 0 } else { v }, i as u32);
            let mut entries = vec![0_i64; n + 1];
            entries[row.node as usize] += i64::from(row.own);
            for &(i, entry) in &row.earlier {
                entries[time(i) as usize] += i64::from(entry);
            }
            let mut sum = 0;
            for leaf in (1..=n).rev() {
                sum += entries[leaf];
                norms[leaf - 1].0 += (sum * sum) as u64;
                norms[leaf - 1].1 += u64::from(sum != 0);
            }
        }
    }
    norms
}

fn largest(norms: &[(u64, u64)]) -> (u64, u64) {
    let squares = norms.iter().map(|norm| norm.0);
    let counts = norms.iter().map(|norm| norm.1);
    (squares.max().unwrap(), counts.max().unwrap())
}

/// The recursion over the last turns is the definition, for every table and for the leaves it serves.
#[test]
fn sensitivity_equals_its_definition() {
    for (depth, sixteenths) in [
        (10, 9),
        (10, 10),
        (10, 12),
        (10, 14),
        (10, 16),
        (11, 16),
        (12, 14),
    ] {
        let leaves = (sixteenths << depth) / 16;
        let tree = DeepTree::new(leaves).unwrap();
        assert_eq!((tree.depth, tree.leaves()), (depth, leaves));
        let found = (tree.sensitivity2(), tree.nodes_per_leaf());
        assert_eq!(
            found,
            largest(&by_definition(&tree)[..leaves as usize]),
            "2^{depth} {sixteenths}"
        );
    }
}

/// Computed beforehand by an independent program, streaming over all nodes at 2^20.
#[test]
fn sensitivities_are_as_published() {
    for (depth, sensitivity2, nodes) in [
        (10, 49_459, 311),
        (12, 57_170, 444),
        (16, 72_588, 701),
        (20, 87_979, 957),
        (32, 134_146, 1_725),
        (48, 195_804, 2_749),
    ] {
        let tree = DeepTree::new(1 << depth).unwrap();
        assert_eq!(
            (tree.sensitivity2(), tree.nodes_per_leaf()),
            (sensitivity2, nodes)
        );
    }
}

#[test]
fn trees_serve_sixteenths() {
    for sixteenths in SIXTEENTHS {
        for depth in [10, 16, 20, 33, DEEPEST] {
            let leaves = (sixteenths << depth) / 16;
            for (leaves, served) in [(leaves, sixteenths), (leaves - 1, sixteenths)] {
                let tree = DeepTree::new(leaves).unwrap();
                assert_eq!((tree.depth, tree.rows.sixteenths()), (depth, served));
                assert!(tree.leaves() >= leaves && tree.last_node() == 1 << depth);
            }
        }
    }
    assert_eq!(DeepTree::new(1).unwrap().leaves(), 576);
    assert!(DeepTree::new((1 << DEEPEST) + 1).is_none());
}

/// A changed entry changes the sensitivity that noise is calibrated for; a row without a positive
/// entry of its own, and a wrong header or length, refuse the table.
#[test]
fn a_wrong_table_is_recalibrated_or_refused() {
    let file = DeepTree::new(1024).unwrap().file();
    let bytes =
        |entries: &[i16]| -> Vec<u8> { entries.iter().flat_map(|e| e.to_le_bytes()).collect() };
    let mut changed = 0;
    for index in (4..file.len()).step_by(37) {
        let mut entries = file.to_vec();
        entries[index] += 150;
        let rows = Box::leak(Box::new(SharedRows::parse(16, &bytes(&entries)).unwrap()));
        let (sensitivity2, nodes_per_leaf) = rows.heaviest_leaf(10);
        let tree = DeepTree {
            rows,
            depth: 10,
            sensitivity2,
            nodes_per_leaf,
        };
        assert_eq!(
            (sensitivity2, nodes_per_leaf),
            largest(&by_definition(&tree)),
            "{index}"
        );
        changed += u64::from(sensitivity2 != 49_459);
    }
    assert!(changed > 20, "{changed}");
    for index in [0, 1, 2, 3, 4, file.len() - 8] {
        let mut entries = file.to_vec();
        entries[index] = -1;
        assert!(SharedRows::parse(16, &bytes(&entries)).is_none(), "{index}");
    }
    for own in [4, file.len() - 8] {
        let mut entries = file.to_vec();
        entries[own] = 0;
        assert!(SharedRows::parse(16, &bytes(&entries)).is_none(), "{own}");
    }
    assert!(SharedRows::parse(16, &bytes(&file[..file.len() - 1])).is_none());
}

/// Largest variances at sensitivity 1 of all pushes of 2^12 and 9/16 of it, and of some pushes of
/// 2^20 and 2^32: at most those documented.
#[test]
fn variances_are_as_documented() {
    let scaled = |tree: &DeepTree, p: u64| tree.path(p).variance() * tree.sensitivity2() as f64;
    for (leaves, most) in [(1 << 12, 13.11), (9 << 8, 12.20)] {
        let tree = DeepTree::new(leaves).unwrap();
        let largest = (1..=leaves).map(|p| scaled(&tree, p)).fold(0.0, f64::max);
        assert!(
            (0.97 * most..most).contains(&largest),
            "{leaves}: {largest}"
        );
    }
    for (depth, most) in [(20, 30.71), (32, 71.2)] {
        let tree = DeepTree::new(1 << depth).unwrap();
        let pushes = (1..4000_u64).map(|i| i.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - depth));
        let largest = pushes.map(|p| scaled(&tree, p | 1)).fold(0.0, f64::max);
        assert!((0.9 * most..most).contains(&largest), "{depth}: {largest}");
    }
}

/// Numbers of real paths stay far below the bound that sigma is checked with.
#[test]
fn numbers_stay_within_their_bound() {
    for depth in [10, 20, 48] {
        let tree = DeepTree::new(1 << depth).unwrap();
        let bound = tree.largest_number(1e6);
        for i in 1..200_u64 {
            let p = i.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - depth) | 1;
            let largest = largest_number_on(&tree.rows(p), 1e6, i);
            assert!(largest <= bound && largest > 0.0);
        }
        // Convex combinations: a depth adds one draw over the smallest own entry, 73.
        assert!(
            bound < 1e6 * (2.0 + 150.0 * f64::from(depth + 1) / 73.0),
            "{bound}"
        );
    }
}

/// Computed beforehand by an independent program, in fractions.
#[test]
fn bounds_on_numbers_are_as_published() {
    for (leaves, of_one, of_a_million) in [
        (1 << 10, 1_227.238_676_105_564_8, 12_491_293.829_805_242),
        (9 << 6, 1_409.064_114_942_506_4, 14_368_116.965_085_87),
        (12 << 16, 2_897.050_167_013_052, 28_991_400.019_013_643),
        (1 << 48, 6_985.401_941_411_687, 70_660_259.135_927_69),
    ] {
        let tree = DeepTree::new(leaves).unwrap();
        for (draw, expected) in [(1.0, of_one), (1e6, of_a_million)] {
            let found = tree.largest_number(draw);
            assert!((found / expected - 1.0).abs() < 1e-12, "{leaves}: {found}");
        }
    }
}

/// The leaf of a final push is later, served, and the quietest of all later leaves.
#[test]
fn final_pushes_are_later_and_quiet() {
    for leaves in [576, 1024] {
        let mechanism = Mechanism::new(MechanismKind::DeepTree, leaves).unwrap();
        let variances: Vec<f64> = (1..=leaves).map(|p| mechanism.variance(p)).collect();
        let mut least = f64::INFINITY;
        for pushes in (0..leaves).rev() {
            least = least.min(variances[pushes as usize]);
            let found = mechanism.final_push(pushes, false);
            assert!(found > pushes && found <= leaves);
            assert!(
                variances[found as usize - 1] <= least * (1.0 + 1e-12),
                "{pushes} of {leaves}"
            );
        }
        assert_eq!(mechanism.final_push(leaves, false), leaves + 1);
        let extra = mechanism.weights(leaves + 1);
        assert_eq!(extra.by_node().unwrap().nodes().last(), Some(&1025));
    }
}
