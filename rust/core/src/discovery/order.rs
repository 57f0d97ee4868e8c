//! Sorting by secret identities.
//!
//! They are pseudo-random, so their first bits spread them evenly over buckets, and few are left that
//! are not in their places. Whatever the keys are, the order is that of a plain sort; keys that crowd
//! into one bucket only cost time.

use std::cmp::Ordering;

/// Buckets whose ends fit the nearest caches.
const MOST_BUCKETS: usize = 1 << 14;
/// Buckets of a few values: emptying more takes longer than sorting.
const FEW_BUCKETS: usize = 1 << 10;
/// Buckets for each value, until all are used: most values then are alone in theirs.
const PER_VALUE: usize = 2;
/// The most values of a bucket that are sorted by moving each to its place.
const CROWD: u32 = 16;

/// Writes values to `out`, which has room for exactly these, in the order of `compare`. Each comes
/// with a key: a value that is before another one must not have a larger key.
pub(super) fn write_sorted<T: Copy>(
    out: &mut [T],
    values: impl Iterator<Item = (u64, T)> + Clone,
    compare: impl Fn(&T, &T) -> Ordering,
) {
    let buckets = (PER_VALUE * out.len()).next_power_of_two();
    if buckets <= FEW_BUCKETS {
        write_in_buckets(out, values, compare, &mut [0; FEW_BUCKETS][..buckets]);
    } else {
        let buckets = buckets.min(MOST_BUCKETS);
        write_in_buckets(out, values, compare, &mut [0; MOST_BUCKETS][..buckets]);
    }
}

/// As [`write_sorted`], with a counter for each bucket.
#[inline]
fn write_in_buckets<T: Copy>(
    out: &mut [T],
    values: impl Iterator<Item = (u64, T)> + Clone,
    compare: impl Fn(&T, &T) -> Ordering,
    ends: &mut [u32],
) {
    let bits = ends.len().trailing_zeros();
    // Shifted in two steps: all 64 bits at once would be too far.
    let bucket = |key: u64| (key >> 1 >> (63 - bits)) as usize;
    for (key, _) in values.clone() {
        ends[bucket(key)] += 1;
    }
    let (mut next, mut most) = (0, 0);
    for end in &mut *ends {
        most = most.max(*end);
        (*end, next) = (next, next + *end);
    }
    // Until now where each bucket begins; its values move that to its end.
    for (key, value) in values {
        let place = &mut ends[bucket(key)];
        out[*place as usize] = value;
        *place += 1;
    }
    if most > CROWD {
        let mut begin = 0;
        for &end in &*ends {
            out[begin..end as usize].sort_unstable_by(&compare);
            begin = end as usize;
        }
        return;
    }
    // Across all buckets: their ends would be branches that no processor foresees.
    for at in 1..out.len() {
        let (value, mut to) = (out[at], at);
        while to > 0 && compare(&value, &out[to - 1]).is_lt() {
            out[to] = out[to - 1];
            to -= 1;
        }
        out[to] = value;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// As a plain sort orders them.
    fn check(identities: &[u128]) {
        let mut expected: Vec<u128> = identities.to_vec();
        expected.sort();
        let key = |identity: u128| (identity >> 64) as u64;
        let mut sorted = vec![0; identities.len()];
        let values = identities.iter().map(|&identity| (key(identity), identity));
        write_sorted(&mut sorted, values, u128::cmp);
        assert_eq!(sorted, expected);
    }

    #[test]
    fn any_number_of_values_in_any_buckets() {
        let mixed = |at: u128| at.wrapping_mul(0x9E37_79B9_7F4A_7C15_F39C_C060_5CED_C835);
        for number in [0, 1, 2, 7, 8, 9, 400, 512, 513, 16_384, 16_385, 40_000] {
            check(&(0..number).map(mixed).collect::<Vec<_>>());
            // All in one bucket; in the first and in the last one; falling.
            check(&(0..number).map(|at| mixed(at) >> 80).collect::<Vec<_>>());
            check(&(0..number).map(|at| mixed(at) << 127).collect::<Vec<_>>());
            check(&(0..number).map(|at| u128::MAX - at).collect::<Vec<_>>());
        }
    }

    proptest! {
        /// Few distinct keys, so that many are equal, with ties of halves that the rest decides.
        #[test]
        fn equal_halves_and_equal_values(
            parts in proptest::collection::vec((0_u64..6, 0_u64..3, 0_u32..64), 0..300),
        ) {
            let identity = |&(high, low, shift): &(u64, u64, u32)| {
                u128::from(high.rotate_right(shift)) << 64 | u128::from(low)
            };
            check(&parts.iter().map(identity).collect::<Vec<_>>());
        }
    }
}
