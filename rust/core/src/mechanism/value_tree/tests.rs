use super::*;

fn trees(deepest: u32) -> impl Iterator<Item = &'static ValueTree> {
    let sizes = (SHALLOWEST..=deepest).map(|k| 1 << k);
    sizes.flat_map(|bins| ValueRows::ALL.map(|rows| ValueTree::of(rows, bins).unwrap()))
}

/// U by definition, row by row in the order of times.
fn matrix(tree: &ValueTree) -> Vec<Vec<i64>> {
    let (k, n) = (tree.depth(), tree.bins());
    let mut rows = vec![vec![0; n]; n];
    for (d, v) in nodes(k) {
        let time = ancestor_time(k, d, v, d) as usize;
        for (i, &entry) in tree.rows.row(d, v).iter().enumerate() {
            let of = ancestor_time(k, d, v, i as u32) as usize;
            rows[time - 1][of - 1] += i64::from(entry);
        }
    }
    rows
}

/// What an event in each bin adds to every node sum.
fn changes(tree: &ValueTree) -> Vec<Vec<i64>> {
    let rows = matrix(tree);
    let of_bin = |bin: usize| rows.iter().map(|row| row[bin..].iter().sum()).collect();
    (0..tree.bins()).map(of_bin).collect()
}

#[test]
fn facts_equal_their_definition() {
    for tree in trees(6) {
        let changes = changes(tree);
        let square = |change: &[i64]| change.iter().map(|each| each * each).sum::<i64>() as u64;
        let alone = changes.iter().map(|change| square(change)).max().unwrap();
        let mut replaced = alone;
        for one in &changes {
            for other in &changes {
                let both: Vec<i64> = one.iter().zip(other).map(|(a, b)| a - b).collect();
                replaced = replaced.max(square(&both));
            }
        }
        let nodes = changes
            .iter()
            .map(|change| change.iter().filter(|&&each| each != 0).count());
        let largest = changes.iter().flatten().map(|each| each.unsigned_abs());
        assert_eq!(tree.sensitivity2(), alone);
        assert_eq!(tree.replaced2(), replaced);
        assert_eq!(tree.nodes_per_value(), nodes.max().unwrap() as u64);
        assert_eq!(tree.largest_change(), largest.max().unwrap());
    }
}

#[test]
fn prefixes_solve_the_node_sums() {
    for tree in trees(7) {
        let n = tree.bins();
        let counts: Vec<i64> = (0..n as i64).map(|bin| bin * 37 % 101 + 5).collect();
        let prefixes: Vec<i64> = (1..=n).map(|end| counts[..end].iter().sum()).collect();
        let mut sums = vec![0; n];
        tree.node_sums(|bin| counts[bin], &mut sums);
        for (row, &sum) in matrix(tree).iter().zip(&sums) {
            let defined: i64 = row
                .iter()
                .zip(&prefixes)
                .map(|(u, prefix)| u * prefix)
                .sum();
            assert_eq!(sum, defined);
        }
        for (found, &known) in tree.prefixes(&sums).iter().zip(&prefixes) {
            assert!((found - known as f64).abs() < 1e-6 * known as f64);
        }
    }
}

/// With the columns of the inverse, which decoding units gives.
#[test]
fn variances_are_those_of_the_inverse() {
    for tree in trees(5) {
        let n = tree.bins();
        let unit = |node| {
            let mut sums = vec![0; n];
            sums[node] = 1;
            tree.prefixes(&sums)
        };
        let inverse: Vec<Vec<f64>> = (0..n).map(unit).collect();
        let weight = |prefix: usize, node: usize| match prefix {
            0 => 0.0,
            _ => inverse[node][prefix - 1],
        };
        for low in 0..=n {
            for high in low..=n {
                let defined: f64 = (0..n)
                    .map(|node| (weight(high, node) - weight(low, node)).powi(2))
                    .sum();
                let found = tree.variance(low as u32, high as u32);
                assert!((found - defined).abs() < 1e-9, "{low} {high}");
            }
        }
    }
}

/// Squared norms, replaced squared norms, changed nodes and the largest change at 2^10 bins, and the
/// largest variances of a prefix and a range for an event that is replaced.
#[test]
fn optimised_rows_have_less_noise() {
    for (rows, facts, prefix, range) in [
        (ValueRows::Tree, (4080, 8321, 137, 32), 21.0, 41.5),
        (ValueRows::Haar, (49, 88, 11, 3), 32.0, 56.0),
    ] {
        let tree = ValueTree::of(rows, 1024).unwrap();
        let found = (
            tree.sensitivity2(),
            tree.replaced2(),
            tree.nodes_per_value(),
            tree.largest_change(),
        );
        assert_eq!(found, facts);
        let scale = tree.replaced2() as f64;
        let largest = |low: fn(u32) -> u32| {
            let all = (1..=1024).map(|high| tree.variance(low(high), high) * scale);
            all.fold(0.0, f64::max)
        };
        assert!(
            (0.97 * prefix..prefix).contains(&largest(|_| 0)),
            "{rows:?}"
        );
        assert!(largest(|high| high / 3) < range, "{rows:?}");
    }
}

/// Lemma 24a for every number of bins that has a table, and a closed form for the others.
#[test]
fn replacements_of_haar_rows_stay_below_their_bound() {
    for k in SHALLOWEST..=9 {
        let tree = ValueTree::of(ValueRows::Haar, 1 << k).unwrap();
        assert_eq!(tree.sensitivity2(), u64::from(4 * k + 9));
        assert!(tree.replaced2() <= u64::from(8 * k + 8));
    }
}

#[test]
fn other_numbers_of_bins_are_refused() {
    for (rows, bins) in [
        (ValueRows::Tree, 2),
        (ValueRows::Haar, 0),
        (ValueRows::Haar, 100),
        (ValueRows::Tree, 1 << 15),
        (ValueRows::Haar, 1 << 15),
    ] {
        assert!(ValueTree::of(rows, bins).is_err(), "{rows:?} {bins}");
    }
    assert!(ValueTree::of(ValueRows::Tree, 1 << 14).is_ok());
    assert!(ValueTree::of(ValueRows::Haar, 1 << 14).is_ok());
}

/// Rows that cannot be solved are refused; wrong ones have another sensitivity.
#[test]
fn wrong_rows_are_recalibrated_or_refused() {
    let tree = ValueTree::of(ValueRows::Tree, 16).unwrap();
    for at in 0..tree.entries().len() {
        let mut entries = tree.entries().to_vec();
        entries[at] += 90;
        if let Some(wrong) = ValueTree::examined(StrategyRows::of_entries(4, entries)) {
            assert_ne!(wrong.sensitivity2(), tree.sensitivity2(), "entry {at}");
        }
    }
    let mut entries = tree.entries().to_vec();
    entries[0] = 0;
    assert!(ValueTree::examined(StrategyRows::of_entries(4, entries)).is_none());
}
