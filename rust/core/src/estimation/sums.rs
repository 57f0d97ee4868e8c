//! Laws of sums of independent scores, one per row, and the sums that are rare.

use super::convolution::add_convolution;

/// The least sum of independent scores that occurs, or is exceeded, with at most this probability;
/// `None` if that is no sum that occurs.
pub(super) fn critical(laws: &[&[f64]], level: f64) -> Option<u32> {
    // Of all sums only some tails are needed: those of two halves of the rows give them.
    let (one, other) = laws.split_at(laws.len() / 2);
    let same = one.len() == other.len() && one.iter().zip(other).all(|(a, b)| std::ptr::eq(*a, *b));
    let other = law_of_sum(other);
    let one = if same { other.clone() } else { law_of_sum(one) };
    let mut reaching = other;
    for at in (1..reaching.len()).rev() {
        reaching[at - 1] += reaching[at];
    }
    let tail = |sum: usize| -> f64 {
        let first = (sum + 1).saturating_sub(reaching.len());
        let pairs = one.iter().enumerate().skip(first);
        pairs
            .map(|(score, probability)| probability * reaching[sum.saturating_sub(score)])
            .sum()
    };
    let (mut rare, mut frequent) = (one.len() + reaching.len() - 1, 0);
    if tail(frequent) <= level {
        return None;
    }
    while rare - frequent > 1 {
        let middle = usize::midpoint(rare, frequent);
        if tail(middle) <= level {
            rare = middle;
        } else {
            frequent = middle;
        }
    }
    (tail(rare) > 0.0).then_some(rare as u32)
}

/// Probabilities of all sums of independent scores.
fn law_of_sum(laws: &[&[f64]]) -> Vec<f64> {
    let mut sums = vec![1.0];
    for law in laws {
        let mut next = vec![0.0; sums.len() + law.len() - 1];
        add_convolution(&sums, law, &mut next);
        sums = next;
    }
    sums
}

/// The probability of one event with which at least `needed` of `rows` happen with this probability.
pub(super) fn tail_of_rows(rows: usize, needed: usize, level: f64) -> f64 {
    let at_least = |one: f64| {
        let mut sums = vec![1.0];
        for _ in 0..rows {
            sums.push(0.0);
            for at in (1..sums.len()).rev() {
                sums[at] = sums[at] * (1.0 - one) + sums[at - 1] * one;
            }
            sums[0] *= 1.0 - one;
        }
        sums[needed..].iter().sum::<f64>()
    };
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        (low, high) = if at_least(middle) <= level {
            (middle, high)
        } else {
            (low, middle)
        };
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_critical_sum_is_that_of_all_tuples() {
        let one = [0.5, 0.25, 0.25];
        let two = [0.75, 0.0, 0.25];
        // Sums of both: 4 with 1/16, 3 with 1/16, 2 with 5/16.
        assert_eq!(critical(&[&one, &two], 0.07), Some(4));
        assert_eq!(critical(&[&one, &two], 0.13), Some(3));
        assert_eq!(critical(&[&one, &two], 0.5), Some(2));
        assert_eq!(critical(&[&one, &two], 0.05), None);
    }

    #[test]
    fn tails_of_rows_are_binomial() {
        assert!((tail_of_rows(3, 3, 0.001) - 0.1).abs() < 1e-9);
        assert!((tail_of_rows(2, 1, 0.19) - 0.1).abs() < 1e-9);
        assert!((tail_of_rows(3, 2, 0.028) - 0.1).abs() < 1e-9);
    }
}
