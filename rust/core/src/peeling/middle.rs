//! The middle of many values, without a copy of all of them.

use crate::{Result, memory};

/// Values up to which all are put in order.
const FEW: usize = 2_048;
/// Values of the sample, and how far from its middle the bounds are: 3.5 standard deviations of the
/// rank of the middle in it.
const SAMPLE: usize = 512;
const MARGIN: usize = 40;
/// Values that are looked at together.
const BLOCK: usize = 64;

/// The value with as many before it as after it, the later of two; 0 without any.
///
/// Only those between two bounds from a sample are copied. Source: R. Floyd and R. Rivest 1975.
pub(super) fn middle(values: &[f64]) -> Result<f64> {
    let rank = values.len() / 2;
    if values.len() > FEW
        && let Some(found) = within_bounds(values, rank)?
    {
        return Ok(found);
    }
    if values.is_empty() {
        return Ok(0.0);
    }
    let mut values = memory::copied(values)?;
    Ok(*values.select_nth_unstable_by(rank, f64::total_cmp).1)
}

/// The value of this rank, if it is between the bounds.
fn within_bounds(values: &[f64], rank: usize) -> Result<Option<f64>> {
    let mut sample = [0.0; SAMPLE];
    for (at, each) in sample.iter_mut().enumerate() {
        *each = values[at * values.len() / SAMPLE];
    }
    let first = SAMPLE / 2 - MARGIN;
    let (_, &mut low, after) = sample.select_nth_unstable_by(first, f64::total_cmp);
    let (_, &mut high, _) = after.select_nth_unstable_by(2 * MARGIN - 1, f64::total_cmp);
    let before: usize = values.iter().map(|&value| usize::from(value < low)).sum();
    let mut between = kept(values, |value| value >= low && value <= high)?;
    let Some(rank) = rank.checked_sub(before).filter(|&at| at < between.len()) else {
        return Ok(None);
    };
    Ok(Some(
        *between.select_nth_unstable_by(rank, f64::total_cmp).1,
    ))
}

/// The values that are kept, in order; no branch depends on one.
pub(super) fn kept(values: &[f64], is_kept: impl Fn(f64) -> bool) -> Result<Vec<f64>> {
    let mut found = Vec::new();
    for block in values.chunks(BLOCK) {
        let (mut room, mut end) = ([0.0; BLOCK], 0);
        for &value in block {
            room[end] = value;
            end += usize::from(is_kept(value));
        }
        if found.capacity() - found.len() < end {
            let more = (found.len() + BLOCK).max(values.len() / 4);
            memory::reserve(&mut found, more)?;
        }
        found.extend_from_slice(&room[..end]);
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_is_that_of_the_values_in_order() {
        let mixed = |at: usize| (at.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40) as f64;
        let shapes: [fn(f64) -> f64; 5] = [
            |value| value,
            |value| 1.0 / (value + 1.0),
            |value| (value % 3.0) - 1.0,
            |value| if value > 1e6 { f64::INFINITY } else { -0.0 },
            |_| 7.0,
        ];
        for number in [1, 2, 3, 64, 2_048, 2_049, 5_000, 70_001] {
            for shape in shapes {
                let values: Vec<f64> = (0..number).map(|at| shape(mixed(at))).collect();
                let mut sorted = values.clone();
                sorted.sort_unstable_by(f64::total_cmp);
                let found = middle(&values).unwrap();
                assert_eq!(found.to_bits(), sorted[number / 2].to_bits(), "{number}");
                sorted.reverse();
                assert_eq!(middle(&sorted).unwrap(), found);
            }
        }
        assert_eq!(middle(&[]).unwrap(), 0.0);
    }

    #[test]
    fn bounds_of_a_sample_that_misleads_are_noticed() {
        // Every value of the sample is large, most others are small.
        let number = 512 * 100;
        let values: Vec<f64> = (0..number)
            .map(|at| if at % 100 == 0 { 1e6 } else { at as f64 / 1e3 })
            .collect();
        let mut sorted = values.clone();
        sorted.sort_unstable_by(f64::total_cmp);
        assert_eq!(within_bounds(&values, number / 2).unwrap(), None);
        assert_eq!(middle(&values).unwrap(), sorted[number / 2]);
    }
}
