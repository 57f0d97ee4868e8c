//! Bins of numeric values: edges e_0 < e_1 < .. cut the line into (-inf, e_0), [e_0, e_1), .. and
//! [e_last, inf). The first and the last bin are open, so every number has a bin.

use crate::{Error, Result, memory};

/// The bin of every value, from 0; NaN has none.
pub fn bins_of(values: &[f64], edges: &[f64]) -> Result<Vec<u64>> {
    let mut bins = memory::room_for(values.len())?;
    for (position, &value) in values.iter().enumerate() {
        if value.is_nan() {
            let expected = format!("numbers, at position {position} too");
            return Err(Error::parameter("values", expected, "NaN"));
        }
        bins.push(edges.partition_point(|&edge| edge <= value) as u64);
    }
    Ok(bins)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_has_the_bin_between_its_edges() {
        let edges = [-1.5, 0.0, 2.0, 1e9];
        let values = [
            f64::NEG_INFINITY,
            -2.0,
            -1.5,
            -1.0,
            -0.0,
            0.0,
            1.9,
            2.0,
            1e9,
            f64::INFINITY,
        ];
        let bins = bins_of(&values, &edges).unwrap();
        assert_eq!(bins, [0, 0, 1, 1, 2, 2, 2, 3, 4, 4]);
        for (value, bin) in values.iter().zip(bins) {
            let bin = bin as usize;
            assert!(bin == 0 || edges[bin - 1] <= *value);
            assert!(bin == edges.len() || *value < edges[bin]);
        }
    }

    #[test]
    fn nan_is_refused_with_its_position() {
        let message = bins_of(&[1.0, f64::NAN], &[0.0]).unwrap_err().to_string();
        assert_eq!(
            message,
            "values: expected numbers, at position 1 too, got NaN"
        );
    }
}
