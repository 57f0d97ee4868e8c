//! The law of a sum of two independent scores.

use crate::simd::widest;

widest! {
    /// Adds the law of the sum of two scores to `sums`, which has room for all of them.
    ///
    /// Scores of `one` that have no probability cost nothing; the loop over `other` is vectorised.
    fn add_convolution, add_convolution_at(one: &[f64], other: &[f64], sums: &mut [f64])
        = convolution
}

#[inline(always)]
fn convolution(one: &[f64], other: &[f64], sums: &mut [f64]) {
    for (at, &probability) in one.iter().enumerate().filter(|(_, each)| **each > 0.0) {
        for (sum, each) in sums[at..].iter_mut().zip(other) {
            *sum += probability * each;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::Width;

    #[test]
    fn sums_have_the_probability_of_their_pairs() {
        for (ones, others) in [(1, 1), (3, 70), (70, 3), (128, 255), (129, 130)] {
            let law = |scores: usize, skipped: usize| -> Vec<f64> {
                let each = (0..scores).map(|at| (at * 7 % 11) as f64 / 64.0);
                let each = each.enumerate();
                each.map(|(at, each)| each * f64::from(u8::from(at % 3 != skipped)))
                    .collect()
            };
            let (one, other) = (law(ones, 1), law(others, 2));
            let mut wanted = vec![0.5; ones + others - 1];
            for (first, one) in one.iter().enumerate() {
                for (second, other) in other.iter().enumerate() {
                    wanted[first + second] += one * other;
                }
            }
            for width in Width::all() {
                let mut found = vec![0.5; ones + others - 1];
                add_convolution_at(width, &one, &other, &mut found);
                assert_eq!(found, wanted, "{width:?}");
            }
        }
    }
}
