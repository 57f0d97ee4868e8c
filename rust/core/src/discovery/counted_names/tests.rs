//! Theorem 22a by enumeration: what one event changes in what discovery makes of counted names.

use crate::discovery::misra_gries::MisraGries;
use crate::item::Item;
use std::collections::BTreeMap;

const NAMES: usize = 4;
const MOST: u64 = 3;

/// The identity of a name, above or below those of the dummies.
fn identity(name: usize) -> u128 {
    [20, 40, 3, 60][name] << 64
}

fn dummies(capacity: usize) -> Vec<u128> {
    [10, 30, 50][..capacity].iter().map(|it| it << 64).collect()
}

/// Counts by key, dummies among them, after steps with these counts of names.
fn summary(steps: &[[u64; NAMES]], capacity: usize, one_by_one: bool) -> BTreeMap<u128, u64> {
    let mut summary = MisraGries::new(dummies(capacity), 16).unwrap();
    let mut order: Vec<usize> = (0..NAMES).collect();
    order.sort_by_key(|&name| identity(name));
    for counts in steps {
        for &name in &order {
            let (times, copies) = if one_by_one {
                (counts[name], 1)
            } else {
                (1, counts[name])
            };
            for _ in 0..times {
                let item = Item::Unsigned(name as u64);
                summary.add(identity(name), copies, item, || 0);
            }
        }
    }
    (0..capacity)
        .map(|slot| (summary.slots().identity(slot), summary.count(slot)))
        .collect()
}

/// The conclusion of the lemma of Theorem 11 for `less`, which has one event fewer than `more`.
fn differ_as_neighbours(more: &BTreeMap<u128, u64>, less: &BTreeMap<u128, u64>) -> bool {
    let missing = |from: &BTreeMap<u128, u64>, other: &BTreeMap<u128, u64>| {
        let missing: Vec<u64> = (other.iter())
            .filter(|(key, _)| !from.contains_key(key))
            .map(|(_, &count)| count)
            .collect();
        missing
    };
    let of = |table: &BTreeMap<u128, u64>, key: &u128| table.get(key).copied().unwrap_or(0);
    let few = [missing(more, less), missing(less, more)]
        .iter()
        .all(|counts| counts.len() <= 2 && counts.iter().all(|&count| count <= 1));
    let keys: Vec<u128> = more.keys().chain(less.keys()).copied().collect();
    // The counts of `more` are all smaller by one on the keys of `less`, and 0 elsewhere.
    let all_smaller = keys.iter().all(|key| match less.get(key) {
        Some(&count) => of(more, key) + 1 == count,
        None => of(more, key) == 0,
    });
    let mut other: Vec<u128> = keys
        .iter()
        .copied()
        .filter(|key| of(more, key) != of(less, key))
        .collect();
    other.sort_unstable();
    other.dedup();
    let one_key = other.len() <= 1 && other.iter().all(|key| of(more, key) == of(less, key) + 1);
    few && (all_smaller || one_key)
}

fn histograms() -> impl Iterator<Item = [u64; NAMES]> {
    (0..(MOST + 1).pow(NAMES as u32))
        .map(|number| std::array::from_fn(|name| number / (MOST + 1).pow(name as u32) % (MOST + 1)))
}

/// All counts of four names up to three, after and before other steps, in up to three slots; each name
/// loses one event.
#[test]
fn one_event_changes_a_step_as_it_changes_a_stream() {
    let others = [[0; NAMES], [1, 0, 2, 0], [0, 3, 0, 1], [2, 2, 2, 2]];
    let mut compared = 0_u32;
    for capacity in 1..=3 {
        for counts in histograms() {
            for (before, after) in others
                .iter()
                .zip([others[1], others[0], others[2], others[3]])
            {
                let more = summary(&[*before, counts, after], capacity, false);
                assert_eq!(more, summary(&[*before, counts, after], capacity, true));
                for name in (0..NAMES).filter(|&name| counts[name] > 0) {
                    let mut fewer = counts;
                    fewer[name] -= 1;
                    let less = summary(&[*before, fewer, after], capacity, false);
                    assert!(
                        differ_as_neighbours(&more, &less),
                        "{capacity} {before:?} {counts:?} {after:?} {name}: {more:?} {less:?}"
                    );
                    compared += 1;
                }
            }
        }
    }
    assert_eq!(compared, 3 * 4 * 256 * 3);
}

/// The comparison can fail: in an order that follows from the counts, one event moves others.
#[test]
fn an_order_by_counts_does_not() {
    let found = |counts: [u64; NAMES]| {
        let mut summary = MisraGries::new(dummies(2), 16).unwrap();
        let mut order: Vec<usize> = (0..NAMES).collect();
        order.sort_by_key(|&name| (counts[name], identity(name)));
        for name in order {
            let item = Item::Unsigned(name as u64);
            summary.add(identity(name), counts[name], item, || 0);
        }
        let counted = (0..2).map(|slot| (summary.slots().identity(slot), summary.count(slot)));
        counted.collect::<BTreeMap<_, _>>()
    };
    let differ = |counts: [u64; NAMES], name: usize| {
        let mut fewer = counts;
        fewer[name] -= 1;
        !differ_as_neighbours(&found(counts), &found(fewer))
    };
    let wrong = histograms()
        .flat_map(|counts| (0..NAMES).map(move |name| (counts, name)))
        .filter(|&(counts, name)| counts[name] > 0 && differ(counts, name))
        .count();
    assert!(wrong > 0);
}
