//! Noise that is rounded at every node, against its definition.

use super::*;
use crate::key::{MasterKey, Purpose, SketchId};
use crate::simd::Width;
use proptest::prelude::*;
use std::collections::HashMap;

/// The definition, in 128-bit integers.
fn by_definition(rows: &[Row], draws: &[i64]) -> Vec<i128> {
    let mut noise: Vec<i128> = Vec::new();
    for (row, &draw) in rows.iter().zip(draws) {
        let earlier = row.earlier.iter();
        let known: i128 = earlier
            .map(|&(at, entry)| i128::from(entry) * noise[at])
            .sum();
        let (sum, own) = (i128::from(draw) - known, i128::from(row.own));
        noise.push((2 * sum + own).div_euclid(2 * own));
    }
    noise
}

fn random_rows(length: usize, largest: i32, bits: impl Fn(usize) -> u64) -> Vec<Row> {
    let entry = |i: usize| (bits(i) % (2 * largest as u64 + 1)) as i32 - largest;
    let row = |i: usize| Row {
        node: 3 * i as u64 + 1,
        own: 1 + (bits(1000 + i) % 200) as i32 + largest,
        earlier: (0..i)
            .filter(|at| !(i + at).is_multiple_of(3))
            .map(|at| (at, entry(i * 61 + at) / i as i32))
            .collect(),
    };
    (0..length).map(row).collect()
}

fn mixed(seed: u64) -> impl Fn(usize) -> u64 {
    move |i| {
        (i as u64 + 1)
            .wrapping_mul(0x9E37_79B9_7F4A_7C15)
            .rotate_left(29)
            ^ seed
    }
}

/// At every width of registers, for few and many nodes, and numbers of cells around the lanes.
#[test]
fn equals_the_definition() {
    let key = MasterKey::seeded(1).derive(Purpose::Noise, &SketchId([0; 16]), b"descents");
    let (prf, gaussian) = (NoiseFunction::new(&key), RoundedGaussian::new(1e6));
    for length in [1, 2, 3, 8, 9, 31, 32, 33, 97, LARGEST_DESCENT] {
        let rows = random_rows(length, 90, mixed(5));
        let path = Descent::new(&rows);
        for number in [1, 3, 4, 15, 16, 17, 64, 65] {
            let cells: Vec<u64> = (0..number).map(|i| i * 0x1_0001).collect();
            let mut out = vec![0; cells.len()];
            path.noises(&prf, &gaussian, &cells, &mut out);
            for (&cell, &noise) in cells.iter().zip(&out) {
                let draw = |row: &Row| gaussian.draw(prf.block(cell, row.node));
                let draws: Vec<i64> = rows.iter().map(draw).collect();
                let expected = *by_definition(&rows, &draws).last().unwrap();
                assert_eq!(i128::from(noise), expected, "{length} nodes, cell {cell}");
                assert_eq!(path.noise(&prf, &gaussian, cell), noise);
            }
        }
    }
}

fn at_every_width(path: &Descent, draws: &[i64]) -> Vec<i64> {
    let solved = |width| {
        let (mut sums, mut out) = ([[0.0; LANES]; LARGEST_DESCENT], [0]);
        solve_at(width, path, draws, &mut sums, &mut out);
        out[0]
    };
    Width::all().into_iter().map(solved).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2048))]

    #[test]
    fn division_rounds_halves_up(sum in -(1_i64 << 50)..1 << 50, own in 1..40_000_i64, near in -1..=1_i64) {
        // Also at ties and next to them.
        let tie = sum - sum.rem_euclid(2 * own) + own;
        for sum in [sum, tie / 2 + near] {
            let expected = (2 * sum + own).div_euclid(2 * own);
            let found = nearest(float_of(sum), own as f64, (own as f64).recip());
            prop_assert_eq!(integer_of(found), expected);
        }
    }

    /// N(z + U a) = N(z) + a, also at ties: what makes a release post-processing.
    #[test]
    fn shifts_commute(
        seed in any::<u64>(), length in 1..12_usize, largest in 1..200_i32, spread in 1..40_u32,
    ) {
        let bits = mixed(seed);
        let rows = random_rows(length, largest, &bits);
        let path = Descent::new(&rows);
        let draws: Vec<i64> = (0..length).map(|i| bits(7 * i) as i64 >> (24 + spread)).collect();
        let shift: Vec<i64> = (0..length).map(|i| bits(11 * i) as i64 >> 50).collect();
        let moved: Vec<i64> = rows.iter().enumerate().map(|(i, row)| {
            let earlier = row.earlier.iter().map(|&(at, e)| i64::from(e) * shift[at]);
            draws[i] + i64::from(row.own) * shift[i] + earlier.sum::<i64>()
        }).collect();
        let last = shift[length - 1];
        for (one, other) in at_every_width(&path, &draws).into_iter().zip(at_every_width(&path, &moved)) {
            prop_assert_eq!(other, one + last);
            prop_assert_eq!(i128::from(one), *by_definition(&rows, &draws).last().unwrap());
        }
    }
}

/// Next to the ties of the largest sums: where the rounded reciprocal is nearest to a wrong side.
#[test]
fn the_largest_sums_are_divided_exactly() {
    let largest = (1_i64 << 51) - 1;
    for own in (1..=300).chain([32_766, 32_767, 1 << 20, i64::from(i32::MAX)]) {
        for below in 0..4 {
            let tie = (2 * (largest / own - 2 - below) + 1) * own;
            for sum in tie / 2 - 1..=tie / 2 + 1 {
                for sum in [sum, -sum] {
                    let expected = (2 * sum + own).div_euclid(2 * own);
                    let found = nearest(float_of(sum), own as f64, (own as f64).recip());
                    assert_eq!(integer_of(found), expected, "{sum} / {own}");
                }
            }
        }
    }
}

/// Every transcript of two pushes under narrow noise: the draws are shifted by U (change), and no
/// set of transcripts tells more than the draws themselves. Sums over draws within 9 sigma.
#[test]
fn no_transcript_tells_more_than_its_draws() {
    let sigma = 2.5_f64;
    let row = |node, own, earlier| Row { node, own, earlier };
    for (root, entry, own) in [(3, -2, 4), (3, -1, 2), (5, -3, 4), (2, 0, 3)] {
        let rows = [row(2, root, vec![]), row(1, own, vec![(0, entry)])];
        let (at_two, at_one) = (Descent::new(&rows[..1]), Descent::new(&rows));
        // The event comes at leaf 1 and changes both prefix counts, or at leaf 2 and changes one.
        for change in [[1, 1], [1, 0]] {
            let shift = [root * change[0], entry * change[0] + own * change[1]];
            let mass = |z: i64| {
                let upper = |x: f64| libm::erfc(x / sigma / 2.0_f64.sqrt()) / 2.0;
                upper(z as f64 - 0.5) - upper(z as f64 + 0.5)
            };
            let most = 23 + 9;
            let mut released: HashMap<(i64, i64), [f64; 2]> = HashMap::new();
            let mut of_draws: HashMap<(i64, i64), [f64; 2]> = HashMap::new();
            for z in (-most..=most).flat_map(|a| (-most..=most).map(move |b| [a, b])) {
                let two = at_every_width(&at_two, &z[..1])[0];
                let one = at_every_width(&at_one, &z)[0];
                let probability = mass(z[0]) * mass(z[1]);
                for world in [0, 1] {
                    let [at_one, at_two] = [change[1], change[0]].map(|c| i64::from(c) * world);
                    let seen = (one + at_one, two + at_two);
                    released.entry(seen).or_default()[world as usize] += probability;
                    let [a, b] = [0, 1].map(|i| z[i] + world * i64::from(shift[i]));
                    of_draws.entry((a, b)).or_default()[world as usize] += probability;
                }
            }
            for epsilon in [0.1_f64, 0.5, 1.5] {
                let delta = |table: &HashMap<(i64, i64), [f64; 2]>, from: usize| -> f64 {
                    let excess = |p: &[f64; 2]| (p[from] - epsilon.exp() * p[1 - from]).max(0.0);
                    table.values().map(excess).sum()
                };
                for from in [0, 1] {
                    let (seen, drawn) = (delta(&released, from), delta(&of_draws, from));
                    assert!(
                        seen <= drawn + 1e-12,
                        "{rows:?} {change:?}: {seen} above {drawn}"
                    );
                    assert!(seen > 0.0);
                }
            }
        }
    }
}

#[test]
fn conversions_keep_every_integer() {
    let largest = 1_i64 << BITS;
    for value in [
        0,
        1,
        -1,
        2,
        -2,
        12345,
        largest,
        -largest,
        largest - 1,
        1 - largest,
    ] {
        assert_eq!(float_of(value), value as f64);
        assert_eq!(integer_of(value as f64), value);
    }
}

/// The variance by the inverse of [[2, 0], [-3, 4]]: (3/8)^2 + (1/4)^2.
#[test]
fn variance_is_that_of_the_inverse() {
    let row = |node, own, earlier| Row { node, own, earlier };
    let path = Descent::new(&[row(8, 2, vec![]), row(4, 4, vec![(0, -3)])]);
    assert!((path.variance() - (9.0 / 64.0 + 1.0 / 16.0)).abs() < 1e-15);
    assert_eq!(path.nodes(), [8, 4]);
}
