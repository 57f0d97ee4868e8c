//! Cells with one error distribution: their values in order, a histogram, and the density.

use super::axis::{Axis, BINS, axis_of};
use super::density::LogDensity;
use super::ordered::Ordered;
use crate::{Result, memory};

/// Ratio of the standard deviation to the median absolute deviation, for a normal distribution.
const DEVIATION_OF_HALF: f64 = 1.4826;

/// The cells of some columns.
#[derive(Debug)]
pub(super) struct Group {
    /// The values; their absolute values if they count with both signs.
    values: Ordered,
    /// True if every value counts with both signs (Count Sketch).
    symmetric: bool,
    axis: Axis,
    counts: Vec<u32>,
    /// The following belong to the values until one changes.
    prepared: Option<LogDensity>,
    /// Standard deviation of the bulk of the errors.
    pub(super) deviation: f64,
    /// The error, from the centre, that is exceeded with the probability given to [`Self::prepare`].
    pub(super) reach: f64,
}

impl Group {
    /// The group of these values, absolute ones if they count with both signs; the density is
    /// computed by [`Self::prepare`].
    pub(super) fn of(values: Ordered, symmetric: bool) -> Self {
        Self {
            axis: axis_of(&values, symmetric),
            counts: Vec::new(),
            values,
            symmetric,
            prepared: None,
            deviation: 1.0,
            reach: 0.0,
        }
    }

    /// Adds a value.
    pub(super) fn add(&mut self, value: i64) {
        let size = size_of(value, self.symmetric);
        self.values.insert(size);
        self.count(size, u32::wrapping_add);
    }

    /// Removes a value that was added.
    pub(super) fn remove(&mut self, value: i64) {
        let size = size_of(value, self.symmetric);
        if self.values.remove(size) {
            self.count(size, u32::wrapping_sub);
        }
    }

    fn count(&mut self, value: i64, by: fn(u32, u32) -> u32) {
        self.prepared = None;
        if !self.counts.is_empty() {
            for bin in bins_of(self.axis, value, self.symmetric) {
                self.counts[bin] = by(self.counts[bin], 1);
            }
        }
    }

    /// Computes the density of the values, and the reach for this tail.
    pub(super) fn prepare(&mut self, tail: f64) -> Result<()> {
        if self.prepared.is_some() {
            return Ok(());
        }
        let axis = axis_of(&self.values, self.symmetric);
        if axis != self.axis || self.counts.is_empty() {
            self.axis = axis;
            self.counts = memory::zeros(BINS)?;
            for (value, number) in self.values.iter() {
                for bin in bins_of(axis, value, self.symmetric) {
                    self.counts[bin] += number as u32;
                }
            }
        }
        let upper = self.quantile(0.75) - self.quantile(0.25);
        self.deviation = (upper / 2.0 * DEVIATION_OF_HALF).max(0.5);
        self.reach = self.beyond(tail);
        self.prepared = Some(LogDensity::of(axis, &self.counts, self.sample())?);
        Ok(())
    }

    /// The density; [`Self::prepare`] was called after the last change.
    #[inline]
    pub(super) fn density(&self) -> &LogDensity {
        self.prepared.as_ref().expect("prepared before it is read")
    }

    /// Centre and spread of the values.
    pub(super) fn axis(&self) -> Axis {
        self.axis
    }

    /// The value that a share of the values is at most.
    pub(super) fn quantile(&self, share: f64) -> f64 {
        let Some(last) = self.values.len().checked_sub(1) else {
            return 0.0;
        };
        let of = |share: f64| self.values.at(((share * (last as f64)) as usize).min(last)) as f64;
        match self.symmetric {
            false => of(share),
            true if share >= 0.5 => of(2.0 * share - 1.0),
            true => -of(1.0 - 2.0 * share),
        }
    }

    /// The error, from the centre, that a share of the values exceeds.
    pub(super) fn beyond(&self, tail: f64) -> f64 {
        self.quantile(1.0 - tail) - self.axis.centre
    }

    /// The histogram over the bins of the axis.
    pub(super) fn counts(&self) -> &[u32] {
        &self.counts
    }

    /// The mean square of the values, and one more of that size: the sample may miss rare ones.
    pub(super) fn mean_square(&self) -> f64 {
        let number = self.values.len().max(1) as f64;
        // One after the other, so that equal values are rounded as if they were listed.
        let each = self.values.iter();
        let each = each.flat_map(|(value, number)| std::iter::repeat_n(value, number));
        let squares = each.map(|value| (value as f64).powi(2));
        squares.sum::<f64>() / number * (1.0 + 1.0 / number)
    }

    /// Number of values, with both signs if they count with both.
    pub(super) fn sample(&self) -> usize {
        self.values.len() * if self.symmetric { 2 } else { 1 }
    }
}

/// The bins of a value; of its opposite, too, if it counts with both signs.
fn bins_of(axis: Axis, value: i64, symmetric: bool) -> impl Iterator<Item = usize> {
    let value = value as f64;
    let both = [value, -value].into_iter().take(1 + usize::from(symmetric));
    both.map(move |value| axis.bin(value))
}

/// What a group holds of a value.
pub(super) fn size_of(value: i64, symmetric: bool) -> i64 {
    if symmetric {
        value.saturating_abs()
    } else {
        value
    }
}
