//! Sorting by secret identities.
//!
//! They are pseudo-random, so their first bits spread them evenly over buckets of a few, and what
//! remains is to sort within each. Whatever the keys are, the order is that of a plain sort; keys
//! that crowd into one bucket only cost time.

use std::cmp::Ordering;

/// Buckets whose ends fit the nearest cache.
const MOST_BUCKETS: usize = 1 << 13;
/// Values of a bucket, on average, until all buckets are used.
const PER_BUCKET: usize = 2;

/// Writes values to `out`, which has room for exactly these, in the order of `compare`. Each comes
/// with a key: a value that is before another one must not have a larger key.
pub(super) fn write_sorted<T: Copy>(
    out: &mut [T],
    values: impl Iterator<Item = (u64, T)> + Clone,
    compare: impl Fn(&T, &T) -> Ordering,
) {
    let buckets = (out.len() / PER_BUCKET).clamp(1, MOST_BUCKETS);
    let bits = buckets.next_power_of_two().trailing_zeros();
    // Shifted in two steps: all 64 bits at once would be too far.
    let bucket = |key: u64| (key >> 1 >> (63 - bits)) as usize;
    let mut ends = [0_u32; MOST_BUCKETS];
    let ends = &mut ends[..1 << bits];
    for (key, _) in values.clone() {
        ends[bucket(key)] += 1;
    }
    let mut next = 0;
    for end in &mut *ends {
        (*end, next) = (next, next + *end);
    }
    // Until now where each bucket begins; its values move that to its end.
    for (key, value) in values {
        let place = &mut ends[bucket(key)];
        out[*place as usize] = value;
        *place += 1;
    }
    let mut begin = 0;
    for &end in &*ends {
        let end = end as usize;
        if end - begin > 1 {
            out[begin..end].sort_unstable_by(&compare);
        }
        begin = end;
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
        for number in [0, 1, 2, 7, 8, 9, 400, 16_384, 16_385, 40_000] {
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
