//! Density of the errors in the cells of a group of columns, from these cells themselves.
//!
//! An item's bucket is uniform over the columns, so the cells of a table are a sample of the error
//! in the item's own cell: collisions plus noise, in their true proportions. In the bulk the density
//! is a kernel estimate. In the tails, where a kernel would find no cell, each stretch of
//! [`FEWEST`] cells has a density of its own, inversely proportional to the distance.

use super::axis::{Axis, BINS, BINS_OF_SPREAD, SIDE};
use crate::{Result, memory};

/// Cells in a stretch of the tail.
const FEWEST: f64 = 8.0;

/// Bandwidth of the kernel for one cell, in spreads; it falls with the fifth root of their number.
const BANDWIDTH: f64 = 0.6;

/// Spreads on each side of the centre for which the logarithm is kept at even distances.
const BULK: f64 = 16.0;
const BULK_POINTS: usize = 2 * (BULK * BINS_OF_SPREAD) as usize;

/// The logarithm of a density, at the middle of every bin.
#[derive(Debug)]
pub(super) struct LogDensity {
    axis: Axis,
    logs: Vec<f64>,
    /// Values, and differences to the next ones, at even distances around the centre: most errors
    /// are there, and need no logarithm of their distance.
    bulk: Vec<[f64; 2]>,
}

impl LogDensity {
    /// The density of the cells in a histogram over the axis.
    pub(super) fn of(axis: Axis, counts: &[u32], cells: usize) -> Result<Self> {
        let number = cells.max(1) as f64;
        let width = BANDWIDTH * BINS_OF_SPREAD * number.powf(-0.2);
        let widths = memory::collected((0..BINS).map(Axis::width))?;
        let counted = counts.iter().zip(&widths);
        let density = counted.map(|(&count, width)| f64::from(count) / width);
        let mut density = memory::collected(density)?;
        // Each pass adds half a bin to the variance of the kernel.
        let passes = (2.0 * width * width).round().clamp(2.0, 64.0) as usize;
        smooth(&mut density, passes)?;
        let cells_near = |density: f64, bin: usize| density * widths[bin] * 3.5 * width.max(1.0);
        let right = (SIDE..BINS).find(|&bin| cells_near(density[bin], bin) < FEWEST);
        let left = (0..SIDE)
            .rev()
            .find(|&bin| cells_near(density[bin], bin) < FEWEST);
        stretch(
            right.map_or(BINS..BINS, |first| first..BINS),
            counts,
            &mut density,
            &widths,
        )?;
        let left = left.map_or(0, |first| first + 1);
        stretch((0..left).rev(), counts, &mut density, &widths)?;
        let mut logs = memory::collected(density.iter().map(|&each| (each / number).ln()))?;
        smooth(&mut logs, 3)?;
        let mut found = Self {
            axis,
            logs,
            bulk: memory::room_for(BULK_POINTS)?,
        };
        let at = |point: usize| {
            found.log(axis.centre + (point as f64 / BINS_OF_SPREAD - BULK) * axis.spread)
        };
        let values = memory::collected((0..BULK_POINTS + 1).map(at))?;
        let pairs = values.windows(2).map(|pair| [pair[0], pair[1] - pair[0]]);
        found.bulk.extend(pairs);
        Ok(found)
    }

    /// The logarithm at the middle of every bin.
    pub(super) fn logs(&self) -> &[f64] {
        &self.logs
    }

    /// Adds the logarithms of the density at the errors that counts leave: `value` less the count
    /// times `share`, each taken as narrower by `stretch`.
    #[inline]
    pub(super) fn add_logs(
        &self,
        (value, share, stretch): (f64, f64, f64),
        counts: &[f64],
        logs: &mut [f64],
    ) {
        let centre = self.axis.centre;
        let points = BINS_OF_SPREAD / (self.axis.spread * stretch);
        let (first, slope) = (
            (value - centre) * points + BULK * BINS_OF_SPREAD,
            share * points,
        );
        for (log, &count) in logs.iter_mut().zip(counts) {
            let point = first - slope * count;
            let at = point as i32;
            *log += match self.bulk.get(at as usize) {
                Some([value, difference]) => value + difference * (point - f64::from(at)),
                None => self.log(centre + (value - count * share - centre) / stretch),
            };
        }
    }

    /// The logarithm of the density at an error, up to a constant.
    #[inline]
    pub(super) fn log(&self, error: f64) -> f64 {
        self.log_at(self.axis.position(error))
    }

    /// The same at the position of an error.
    #[inline]
    pub(super) fn log_at(&self, position: f64) -> f64 {
        let position = (position + (SIDE as f64 - 0.5)).clamp(0.0, (BINS - 2) as f64);
        let bin = position as usize;
        let (left, right) = (self.logs[bin], self.logs[bin + 1]);
        left + (right - left) * (position - bin as f64)
    }
}

/// Replaces the density in the bins from the first one outward: each stretch of at least
/// [`FEWEST`] cells has their mass, spread evenly over its bins; the last one, one cell more.
fn stretch(
    bins: impl Iterator<Item = usize>,
    counts: &[u32],
    density: &mut [f64],
    widths: &[f64],
) -> Result<()> {
    let (mut open, mut mass) = (memory::room_for(BINS)?, 0.0);
    for bin in bins {
        open.push(bin);
        mass += f64::from(counts[bin]);
        if mass >= FEWEST {
            spread(&open, mass, density, widths);
            open.clear();
            mass = 0.0;
        }
    }
    spread(&open, mass + 1.0, density, widths);
    Ok(())
}

fn spread(bins: &[usize], mass: f64, density: &mut [f64], widths: &[f64]) {
    for &bin in bins {
        density[bin] = mass / bins.len() as f64 / widths[bin];
    }
}

/// Passes of the kernel (1/4, 1/2, 1/4).
fn smooth(values: &mut Vec<f64>, passes: usize) -> Result<()> {
    let mut other = memory::copied(values)?;
    for _ in 0..passes {
        for (middle, out) in values.windows(3).zip(&mut other[1..]) {
            *out = 0.25 * (middle[0] + middle[2]) + 0.5 * middle[1];
        }
        std::mem::swap(values, &mut other);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimation::axis::axis_of;
    use crate::estimation::ordered::Ordered;

    /// The integral of the density over the whole axis, by its bins.
    fn mass(density: &LogDensity) -> f64 {
        let step = density.axis.spread / BINS_OF_SPREAD;
        let bins = density.logs.iter().enumerate();
        bins.map(|(bin, log)| log.exp() * Axis::width(bin))
            .sum::<f64>()
            * step
            / step
    }

    #[test]
    fn it_is_a_density_and_falls_like_the_tail_of_its_sample() {
        // The quantiles of a distribution with P(error > x) = 1 / (1 + x), on both sides.
        let cells = 4_000_i64;
        let mut values: Vec<i64> = (1..=cells)
            .flat_map(|rank| {
                let share = rank as f64 / (cells + 1) as f64;
                let size = (100.0 * (1.0 / share - 1.0)) as i64;
                [size, -size]
            })
            .collect();
        values.sort_unstable();
        let axis = axis_of(&Ordered::of(values.clone()), false);
        let mut counts = vec![0; BINS];
        for &value in &values {
            counts[axis.bin(value as f64)] += 1;
        }
        let density = LogDensity::of(axis, &counts, values.len()).unwrap();
        assert!((mass(&density) - 1.0).abs() < 0.05, "{}", mass(&density));
        for size in [50.0, 500.0, 3_000.0, 20_000.0] {
            // In units of the central bin width, as the density is.
            let unit: f64 = axis.spread / BINS_OF_SPREAD;
            let true_log = (50.0 * unit / (100.0_f64 + size).powi(2)).ln();
            for side in [-1.0, 1.0] {
                let found = density.log(side * size);
                assert!((found - true_log).abs() < 0.6, "{size}: {found} {true_log}");
            }
        }
    }
}
