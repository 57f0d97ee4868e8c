//! What a description says of names, for an object that publishes the heavy ones.

use crate::byte_reader::ByteReader;
use crate::error::check_integer;
use crate::partial::names::NameLimits;
use crate::{Error, Result};

/// Most distinct names of one partial, and of a step.
pub const MOST_NAMES: u64 = 1 << 30;
/// Distinct names of one partial, unless others are asked for.
pub const USUAL_NAMES: u64 = 1 << 20;
/// The limit on the bytes of names is this times that on their number.
const BYTES_PER_NAME: u64 = 1 << 8;
/// Most levels of a hierarchy.
pub const MOST_LEVELS: usize = 64;

/// What a worker has to know of names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Named {
    /// Most distinct names of one partial.
    pub most_names: u64,
    /// The largest weight of one event that decides which names are heavy; 1 for their number.
    pub counted_weight: u64,
    /// How items become names, if they have one per level of a hierarchy.
    pub levels: Option<Levels>,
}

/// A kind of hierarchy and its numbers. The core does not know what they mean.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Levels {
    kind: u8,
    numbers: [u8; MOST_LEVELS],
    length: u8,
}

impl std::fmt::Debug for Levels {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Levels({}, {:?})", self.kind, self.numbers())
    }
}

impl Levels {
    /// A kind, from 1, and its numbers.
    pub fn new(kind: u8, numbers: &[u32]) -> Result<Self> {
        let mut levels = Self {
            kind,
            numbers: [0; MOST_LEVELS],
            length: numbers.len() as u8,
        };
        let wrong = || refused("a kind of levels and at most 64 numbers below 256");
        if kind == 0 || numbers.len() > MOST_LEVELS {
            return wrong();
        }
        for (out, &number) in levels.numbers.iter_mut().zip(numbers) {
            let Ok(number) = u8::try_from(number) else {
                return wrong();
            };
            *out = number;
        }
        Ok(levels)
    }

    /// The kind, from 1.
    pub fn kind(&self) -> u8 {
        self.kind
    }

    /// Its numbers.
    pub fn numbers(&self) -> &[u8] {
        &self.numbers[..usize::from(self.length)]
    }
}

impl Named {
    /// Checks every field.
    pub(super) fn validate(&self, max_weight: u64) -> Result<()> {
        check_integer("most_names", self.most_names, MOST_NAMES)?;
        check_integer("discovery_weight", self.counted_weight, max_weight)
    }

    /// The limits of one partial.
    pub(super) fn limits(&self) -> NameLimits {
        NameLimits {
            names: self.most_names,
            bytes: self.most_names * BYTES_PER_NAME,
        }
    }

    /// Bytes of [`Self::write`].
    pub(super) fn bytes(&self) -> usize {
        let weight = if self.counted_weight > 1 { 8 } else { 0 };
        8 + 1 + weight + 1 + 1 + self.levels.map_or(0, |levels| levels.numbers().len())
    }

    /// Appends the fields; the length of the numbers is before them.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        out.extend(self.most_names.to_le_bytes());
        let is_weighted = self.counted_weight > 1;
        out.push(u8::from(is_weighted));
        if is_weighted {
            out.extend(self.counted_weight.to_le_bytes());
        }
        out.push(self.levels.map_or(0, |levels| levels.kind));
        let numbers = self.levels.as_ref().map_or(&[][..], Levels::numbers);
        out.push(numbers.len() as u8);
        out.extend(numbers);
    }

    /// Reads the fields.
    pub(super) fn read(reader: &mut ByteReader<'_>) -> Result<Self> {
        let most_names = reader.take().map(u64::from_le_bytes)?;
        let counted_weight = match reader.byte()? {
            0 => 1,
            1 => reader.take().map(u64::from_le_bytes)?,
            _ => return refused("0 or 1 for weights of names"),
        };
        let (kind, length) = (reader.byte()?, reader.byte()?);
        let mut numbers = [0; u8::MAX as usize];
        let numbers = &mut numbers[..usize::from(length)];
        for (out, &number) in numbers.iter_mut().zip(reader.slice(usize::from(length))?) {
            *out = number.into();
        }
        let levels = match (kind, length) {
            (0, 0) => None,
            _ => Some(Levels::new(kind, numbers)?),
        };
        Ok(Self {
            most_names,
            counted_weight,
            levels,
        })
    }
}

fn refused<T>(expected: &str) -> Result<T> {
    Err(Error::parameter("spec", expected, "others"))
}
