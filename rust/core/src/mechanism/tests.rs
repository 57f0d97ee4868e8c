//! Sizes, variances and limits of mechanisms against their definitions.

use super::descent::Row;
use super::*;
use crate::key::{MasterKey, Purpose, SketchId};
use crate::noise::prf::NoiseFunction;

/// The largest sigma that a mechanism accepts lies at 2 sum (13.2 sigma + 1) + denominator =
/// 2^125, or at weight (13.2 sigma + 1) = 2 10^18, with the numbers of its own paths.
#[test]
fn sizes_are_checked_on_both_sides_of_their_limits() {
    let tree = Mechanism::new(MechanismKind::TreeLog, 4096).unwrap();
    let (mut sum, mut denominator) = (0_u128, 0_u128);
    for p in 1..=4096 {
        let weights = tree.weights(p);
        let path = weights.exact().unwrap();
        sum = sum.max(path.terms().map(|(_, n)| n.unsigned_abs()).sum());
        denominator = denominator.max(path.denominator());
    }
    let of_tree = ((2_f64.powi(125) - denominator as f64) / (2.0 * sum as f64) - 1.0) / 13.2;
    assert!(of_tree < 2_f64.powi(48));
    let root = Mechanism::new(MechanismKind::SquareRoot, 1 << 16).unwrap();
    let of_root = (2e18 / f64::from(1 << 16) - 1.0) / 13.2;
    for (mechanism, limit) in [(tree, of_tree), (root, of_root)] {
        let check = |sigma| mechanism.check_size(&RoundedGaussian::new(sigma));
        assert!(check(0.999 * limit).is_ok());
        let error = check(1.001 * limit).unwrap_err().to_string();
        assert!(error.starts_with("max_weight: expected parameters whose noise"));
    }
    for kind in [MechanismKind::Binary, MechanismKind::Haar] {
        let mechanism = Mechanism::new(kind, LARGEST_LEAVES).unwrap();
        let largest = RoundedGaussian::new(2_f64.powi(48));
        let fits = mechanism.check_size(&largest).is_ok();
        // Haar with 2^48 leaves: 2 (2 + 1.5 48) 2^48 13.2 2^48 = 2^107.
        assert!(fits, "{kind:?}");
    }
}

/// The extra leaf divides z + a N(n) by a, with a^2 at most the squared sensitivity; the bound has
/// room for both entries a. The numbers of leaves are proportional to large draws.
#[test]
fn sizes_of_rounded_nodes_are_checked_on_both_sides_of_their_limit() {
    for (kind, leaves) in [
        (MechanismKind::DeepTree, 576),
        (MechanismKind::DeepTree, 1 << 48),
        (MechanismKind::Endless, 1 << 32),
    ] {
        let mechanism = Mechanism::new(kind, leaves).unwrap();
        let of_leaves = match mechanism {
            Mechanism::DeepTree(tree) => tree.largest_number(1e12),
            Mechanism::Endless(tree) => tree.largest_number(1e12),
            _ => unreachable!("two kinds"),
        };
        let entry = mechanism.sensitivity2().sqrt().floor();
        let limit = 2_f64.powi(50) / (1.0 + 2.0 * entry * of_leaves / 1e12) / 13.2;
        let check = |sigma| mechanism.check_size(&RoundedGaussian::new(sigma));
        assert!(check(0.999 * limit).is_ok(), "{kind:?} {leaves}");
        let error = check(1.001 * limit).unwrap_err().to_string();
        assert!(error.starts_with("max_weight: expected parameters whose noise fits into 50 bits"));
    }
}

#[test]
fn numbers_stay_below_a_power_of_two() {
    for largest in [0.0, 1.0, 1023.0, 1023.9] {
        assert!(within(largest, 10).is_ok(), "{largest}");
    }
    for largest in [1024.0, 1024.1, 1e30] {
        assert!(within(largest, 10).is_err(), "{largest}");
    }
}

/// The largest number on a path, by definition, if the bits of `signs` choose those of the draws.
pub(super) fn largest_number_on(rows: &[Row], draw: f64, signs: u64) -> f64 {
    let (mut noise, mut largest): (Vec<f64>, f64) = (Vec::new(), 0.0);
    for (at, row) in rows.iter().enumerate() {
        let z = if (signs >> (at % 60)) & 1 == 0 {
            draw
        } else {
            -draw
        };
        let earlier = row.earlier.iter();
        let known: f64 = earlier.map(|&(a, e)| f64::from(e) * noise[a]).sum();
        largest = largest.max((z - known).abs());
        noise.push(((z - known) / f64::from(row.own) + 0.5).floor());
    }
    largest
}

/// Popcounts; 1 / 9 at the root of Haar and 1 / 36 + 1 / 16 in the middle; sums of c_j^2.
#[test]
fn variances_follow_from_the_weights() {
    let close = |kind, leaves, p, expected: f64| {
        let found = Mechanism::new(kind, leaves).unwrap().variance(p);
        assert!(
            (found / expected - 1.0).abs() < 1e-12,
            "{kind:?} {p}: {found}"
        );
    };
    for p in 1..=100_u64 {
        close(MechanismKind::Binary, 100, p, f64::from(p.count_ones()));
    }
    close(MechanismKind::Haar, 1024, 1024, 1.0 / 9.0);
    close(MechanismKind::Haar, 1024, 512, 1.0 / 36.0 + 1.0 / 16.0);
    let squares = [1.0, 0.25, 0.140625, 0.09765625];
    for p in 1..=4 {
        let expected = squares[..p].iter().sum();
        close(MechanismKind::SquareRoot, 100, p as u64, expected);
    }
}

/// floor(sum + 1/2) of c_0 z_p + ... + c_(p-1) z_1, and the same for many cells.
#[test]
fn square_root_noise_follows_its_definition() {
    let key = MasterKey::seeded(1).derive(Purpose::Noise, &SketchId([0; 16]), b"root");
    let (prf, gaussian) = (NoiseFunction::new(&key), RoundedGaussian::new(100.0));
    let mechanism = Mechanism::new(MechanismKind::SquareRoot, 4).unwrap();
    assert_eq!((mechanism.nodes(), mechanism.nodes_per_leaf()), (4, 4));
    // 1 + 1/4 + 9/64 + 25/256, rounded up.
    let excess = mechanism.sensitivity2() / 1.48828125 - 1.0;
    assert!((0.0..2e-12).contains(&excess), "{excess}");
    let c = [1.0, 0.5, 0.375, 0.3125];
    for p in 1..=4 {
        let weights = mechanism.weights(p as u64);
        assert!(weights.exact().is_none());
        let cells: Vec<u64> = (0..200).collect();
        let mut out = vec![0; cells.len()];
        weights.noises(&prf, &gaussian, &cells, &mut out);
        for (&cell, &noise) in cells.iter().zip(&out) {
            let z = |node: usize| gaussian.draw(prf.block(cell, node as u64)) as f64;
            let sum: f64 = (0..p).map(|j| c[j] * z(p - j)).sum();
            assert_eq!(noise, (sum + 0.5).floor() as i64);
            assert_eq!(weights.noise(&prf, &gaussian, cell), noise);
        }
    }
}

/// Names and limits as documented; a number of leaves outside the limits is refused.
#[test]
fn kinds_have_their_limits() {
    for (kind, name, most) in [
        (MechanismKind::Binary, "binary", 1 << 48),
        (MechanismKind::Haar, "haar", 1 << 48),
        (MechanismKind::Tree, "tree", 1 << 14),
        (MechanismKind::TreeLog, "tree-log", 1 << 12),
        (MechanismKind::SquareRoot, "square-root", 1 << 16),
        (MechanismKind::DeepTree, "tree-deep", 1 << 48),
        (MechanismKind::Endless, "tree-endless", 1 << 32),
    ] {
        assert_eq!((kind.name(), kind.largest_leaves()), (name, most));
        assert!(Mechanism::new(kind, 0).is_err() && Mechanism::new(kind, most + 1).is_err());
        let mechanism = Mechanism::new(kind, 1).unwrap();
        let closed = [
            MechanismKind::Binary,
            MechanismKind::Haar,
            MechanismKind::SquareRoot,
        ];
        let tabled = !closed.contains(&kind);
        assert_eq!(mechanism.table().0 > 0, tabled);
        assert_eq!(mechanism.table().1 != [0; 16], tabled);
        assert_eq!(mechanism.rows().is_empty(), !tabled);
    }
}

/// The key of the noise depends on the digest, so two tables never share it.
#[test]
fn digests_are_those_of_the_rows() {
    for kind in [
        MechanismKind::Tree,
        MechanismKind::TreeLog,
        MechanismKind::DeepTree,
    ] {
        for leaves in [1024, 2304, 4096] {
            let mechanism = Mechanism::new(kind, leaves).unwrap();
            let rows = mechanism.rows().iter();
            let bytes: Vec<u8> = rows.flat_map(|entry| entry.to_le_bytes()).collect();
            let hash = blake3::hash(&bytes);
            assert_eq!(
                mechanism.table().1,
                hash.as_bytes()[..16],
                "{kind:?} {leaves}"
            );
        }
    }
}
