//! A log-linear axis: errors of cells as positions in a few hundred bins.
//!
//! Bins near the centre have one width, and beyond [`LINEAR`] of them each octave has as many bins
//! again, twice as wide. So the bulk of the errors is resolved to a sixteenth of its spread and the
//! tail to a thirty-second of its distance. Positions of integers are exact: centre and step are
//! dyadic, so a bin boundary is a threshold on counts.

use super::ordered::Ordered;
use crate::simd::widest;

/// Bins of one octave on one side.
pub(super) const LINEAR: usize = 32;
const OCTAVES: usize = 20;

/// Bins on one side of the centre.
pub(super) const SIDE: usize = LINEAR * OCTAVES;

/// Bins on both sides.
pub(super) const BINS: usize = 2 * SIDE;

/// Bins of the central width in one spread.
pub(super) const BINS_OF_SPREAD: f64 = 16.0;

const MANTISSA: u32 = 52;
const FIRST_EXPONENT: f64 = 1023.0 + 5.0; // of LINEAR = 2^5, where the first octave begins

/// Centre and spread of the errors of some cells.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Axis {
    pub(super) centre: f64,
    /// A power of two: half of the cells are within it, and not within half of it.
    pub(super) spread: f64,
    /// Bins of the central width in one count.
    scale: f64,
}

impl Axis {
    /// The axis with this centre and spread.
    fn new(centre: f64, spread: f64) -> Self {
        Self {
            centre,
            spread,
            scale: BINS_OF_SPREAD / spread,
        }
    }

    /// The position of an error, from `-SIDE` to `SIDE`; that of the centre is 0.
    #[inline]
    pub(super) fn position(self, error: f64) -> f64 {
        let distance = error - self.centre;
        let scaled = distance.abs() * self.scale + LINEAR as f64;
        let bits = scaled.to_bits();
        let exponent = (bits >> MANTISSA) as i32 as f64 - FIRST_EXPONENT;
        let fraction = f64::from_bits(bits & ((1 << MANTISSA) - 1) | (1023 << MANTISSA)) - 1.0;
        let position = (exponent + fraction) * LINEAR as f64;
        position.min(SIDE as f64 - 1e-6).copysign(distance)
    }

    /// The bin of an error.
    #[inline]
    pub(super) fn bin(self, error: f64) -> usize {
        // A cast to 32 bits is one instruction, and can be vectorised.
        (self.position(error) + SIDE as f64) as i32 as usize
    }

    /// The error at a position: the inverse of [`Self::position`].
    #[inline]
    pub(super) fn error(self, position: f64) -> f64 {
        let octaves = position.abs() / LINEAR as f64;
        let octave = octaves as i32;
        let fraction = octaves - f64::from(octave);
        let power = f64::from_bits(((1023 + octave) as u64) << MANTISSA);
        let scaled = ((1.0 + fraction) * power - 1.0) * LINEAR as f64;
        self.centre + (scaled * self.spread / BINS_OF_SPREAD).copysign(position)
    }

    /// The width of a bin, in bins at the centre.
    pub(super) fn width(bin: usize) -> f64 {
        let outward = if bin >= SIDE {
            bin - SIDE
        } else {
            SIDE - 1 - bin
        };
        (1_u64 << (outward / LINEAR)) as f64
    }
}

widest! {
    /// The bins of errors to which a shift is added.
    fn bins_of_shifted, bins_of_shifted_at(axis: Axis, errors: &[f64], shift: f64, bins: &mut [u16])
        = shifted_bins
}

#[inline(always)]
fn shifted_bins(axis: Axis, errors: &[f64], shift: f64, bins: &mut [u16]) {
    for (bin, error) in bins.iter_mut().zip(errors) {
        *bin = axis.bin(error + shift) as u16;
    }
}

widest! {
    /// The positions of the middles of all bins, to which a shift is added.
    fn shifted_middles, shifted_middles_at(axis: Axis, shift: f64, positions: &mut [f64; BINS])
        = positions_of_middles
}

#[inline(always)]
fn positions_of_middles(axis: Axis, shift: f64, positions: &mut [f64; BINS]) {
    for (bin, position) in positions.iter_mut().enumerate() {
        let middle = f64::from(bin as i32) + 0.5 - SIDE as f64;
        *position = axis.position(axis.error(middle) + shift);
    }
}

/// The axis of values in order; of values and their opposites if `symmetric`, where the values are
/// the absolute ones. A function of the values alone that changes rarely when one of them does.
pub(super) fn axis_of(values: &Ordered, symmetric: bool) -> Axis {
    let Some(last) = values.len().checked_sub(1) else {
        return Axis::new(0.0, 1.0);
    };
    let median = values.at(last / 2);
    let below = |threshold| values.below(threshold);
    let mut power = 0;
    loop {
        let spread = 1_i64 << power;
        let centre = if symmetric {
            0
        } else {
            rounded(median, quantum(spread))
        };
        let least = if symmetric {
            0
        } else {
            below(i128::from(centre) - i128::from(spread))
        };
        let within = below(i128::from(centre) + i128::from(spread)) - least;
        if 2 * within >= values.len() || power == 60 {
            return Axis::new(centre as f64, spread as f64);
        }
        power += 1;
    }
}

/// The centre is a multiple of a quarter of the spread.
pub(super) fn quantum(spread: i64) -> i64 {
    (spread / 4).max(1)
}

/// The multiple of a quantum that is nearest; ties upward.
pub(super) fn rounded(value: i64, quantum: i64) -> i64 {
    value.saturating_add(quantum / 2).div_euclid(quantum) * quantum
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::Width;

    #[test]
    fn positions_and_errors_are_inverse_and_increase() {
        let axis = Axis::new(-3.0, 64.0);
        let mut last = -1e9;
        for step in -5_000..5_000 {
            let error = f64::from(step) * 37.25;
            let position = axis.position(error);
            assert!(position > last);
            last = position;
            assert!((axis.error(position) - error).abs() < 1e-6 * error.abs().max(1.0));
        }
        assert_eq!(axis.bin(-3.0), SIDE);
        assert_eq!(axis.bin(-3.0 - 4.0), SIDE - 1);
        assert_eq!(axis.bin(-3.0 - 4.5), SIDE - 2);
        assert!(axis.bin(1e300) == BINS - 1 && axis.bin(-1e300) == 0);
    }

    #[test]
    fn widths_are_those_of_the_bins() {
        let axis = Axis::new(0.0, 16.0);
        for bin in [
            0,
            5,
            SIDE - 40,
            SIDE - 1,
            SIDE,
            SIDE + 31,
            SIDE + 32,
            SIDE + 100,
        ] {
            let position = bin as f64 - SIDE as f64;
            let width = axis.error(position + 1.0) - axis.error(position);
            assert!((width / Axis::width(bin) - 1.0).abs() < 1e-9, "{bin}");
        }
    }

    #[test]
    fn loops_of_all_widths_find_what_is_found_one_by_one() {
        let errors: Vec<f64> = (0..301).map(|at| f64::from(at * at) - 9e3).collect();
        for (axis, shift) in [
            (Axis::new(0.0, 1.0), 0.0),
            (Axis::new(-3.0, 64.0), 129.5),
            (Axis::new(100.25, 4096.0), -1e9),
        ] {
            let bins = errors.iter().map(|error| axis.bin(error + shift) as u16);
            let wanted: Vec<_> = bins.collect();
            let middle = |bin: usize| axis.error(bin as f64 + 0.5 - SIDE as f64);
            let moved = (0..BINS).map(|bin| axis.position(middle(bin) + shift));
            let moved: Vec<_> = moved.collect();
            for width in Width::all() {
                let mut bins = vec![0; errors.len()];
                bins_of_shifted_at(width, axis, &errors, shift, &mut bins);
                assert_eq!(bins, wanted, "{width:?}");
                let mut positions = [0.0; BINS];
                shifted_middles_at(width, axis, shift, &mut positions);
                assert_eq!(positions[..], moved, "{width:?}");
            }
        }
    }

    #[test]
    fn half_of_the_values_are_within_the_spread() {
        let mut values: Vec<i64> = (0..1001).map(|n: i64| (n * n) % 9973 - 300).collect();
        values.sort_unstable();
        let axis = axis_of(&Ordered::of(values.clone()), false);
        let within = |spread: f64| {
            let near = values.iter().filter(|&&value| {
                let distance = value as f64 - axis.centre;
                (-spread..spread).contains(&distance)
            });
            2 * near.count() >= values.len()
        };
        assert!(within(axis.spread) && !within(axis.spread / 2.5));
        assert!((axis.centre - values[500] as f64).abs() <= axis.spread / 8.0);
    }
}
