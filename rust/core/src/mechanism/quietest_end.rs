//! The quietest of the leaves where blocks end.

/// The leaf of least variance, and the first such, among the one after `pushes` and the right ends
/// of the blocks of 2, 4, 8, ... leaves that it lies in, up to `last`, which is after `pushes`.
pub(super) fn quietest_end(pushes: u64, last: u64, variance: impl Fn(u64) -> f64) -> u64 {
    let ends = (0..=last.ilog2()).map(|level| ((pushes >> level) + 1) << level);
    let ends = ends.filter(|&end| end <= last);
    let variances = ends.map(|end| (variance(end), end));
    let quietest = variances.min_by(|one, other| one.0.total_cmp(&other.0));
    quietest
        .expect("the leaf after the pushes is one of them")
        .1
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The block that ends at a leaf and has the size of its lowest bit contains all that end there.
    #[test]
    fn the_quietest_end_is_the_first_of_least_variance() {
        let variance = |leaf: u64| (leaf.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 61) as f64;
        for last in [1, 2, 3, 16, 21, 64, 100] {
            for pushes in 0..last {
                let ends = (pushes + 1..=last).filter(|end| end & (end - 1) <= pushes);
                let least = ends.clone().map(variance).fold(f64::INFINITY, f64::min);
                let expected = ends.clone().find(|&end| variance(end) == least);
                let found = quietest_end(pushes, last, variance);
                assert_eq!(Some(found), expected, "{pushes} of {last}");
            }
        }
    }
}
