//! What a description says of values that are added up by item, in a table of their own.

use crate::byte_reader::ByteReader;
use crate::error::check_integer;
use crate::key::SketchId;
use crate::parameters::LARGEST_WEIGHT;
use crate::{Error, Result};

/// What a worker has to know of values beside items.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Summed {
    /// Id of the table of values; that of the description is of the table of events.
    pub sketch_id: SketchId,
    /// Largest absolute integer that stands for a value: steps of the grid between the bounds.
    pub steps: u64,
    /// The bits of the bounds of values, of which no one is -0.
    bounds: [u64; 2],
    /// True if the caller chose the grid. It decides what a release says of rounding.
    is_exact: bool,
}

impl Summed {
    /// Bytes of [`Self::write`].
    pub(super) const BYTES: usize = 16 + 8 + 2 * 8 + 1;

    /// Values between two bounds as integers from `-steps` to `steps`. The core does not know how.
    pub fn new(
        sketch_id: SketchId,
        steps: u64,
        (low, high): (f64, f64),
        is_exact: bool,
    ) -> Result<Self> {
        let summed = Self {
            sketch_id,
            steps,
            bounds: [low, high].map(|bound| (bound + 0.0).to_bits()),
            is_exact,
        };
        summed.validate()?;
        Ok(summed)
    }

    /// The bounds of values.
    pub fn bounds(&self) -> (f64, f64) {
        let [low, high] = self.bounds.map(f64::from_bits);
        (low, high)
    }

    /// True if the caller chose the grid.
    pub fn is_exact(&self) -> bool {
        self.is_exact
    }

    /// Checks every field.
    pub(super) fn validate(&self) -> Result<()> {
        check_integer("steps", self.steps, LARGEST_WEIGHT >> 2)?;
        let (low, high) = self.bounds();
        match low < high && (high - low).is_finite() {
            true => Ok(()),
            false => refused("bounds of values that are finite, the lower one first"),
        }
    }

    /// True for the same values in the same table.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        let other = match planted!("grid-of-a-worker-is-not-compared") {
            true => Self {
                bounds: self.bounds,
                is_exact: self.is_exact,
                ..*other
            },
            false => *other,
        };
        *self == other
    }

    /// Appends the fields.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        out.extend(self.sketch_id.0);
        out.extend(self.steps.to_le_bytes());
        out.extend(self.bounds.into_iter().flat_map(u64::to_le_bytes));
        out.push(u8::from(self.is_exact));
    }

    /// Reads the fields.
    pub(super) fn read(reader: &mut ByteReader<'_>) -> Result<Self> {
        let sketch_id = SketchId(reader.take()?);
        let mut number = || reader.take().map(u64::from_le_bytes);
        let (steps, low, high) = (number()?, number()?, number()?);
        let is_exact = match reader.byte()? {
            0 => false,
            1 => true,
            _ => return refused("0 or 1 for the grid of the caller"),
        };
        let bounds = (f64::from_bits(low), f64::from_bits(high));
        Self::new(sketch_id, steps, bounds, is_exact)
    }
}

fn refused<T>(expected: &str) -> Result<T> {
    Err(Error::parameter("spec", expected, "others"))
}
