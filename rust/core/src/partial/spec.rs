//! What a worker has to know of a private table: public, of a fixed size, authenticated with every
//! partial that is sealed.

use crate::byte_reader::ByteReader;
use crate::error::check_integer;
use crate::key::SketchId;
use crate::parameters::{LARGEST_WEIGHT, Shape};
use crate::release::codec::{read_shape, write_shape};
use crate::schedule::EVENTS_PER_STEP;
use crate::{Error, Result};

/// First bytes of a description.
pub const SPEC_MAGIC: [u8; 8] = *b"LZSKPSPC";
/// Version of the bytes; another one is refused by its number.
pub const SPEC_VERSION: u16 = 1;
/// Bytes of a description.
pub const SPEC_BYTES: usize = 8 + 2 + 32 + 16 + 3 * 8 + 18;

/// The public description of a private table for workers that count parts of its steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PartialSpec {
    /// Shape and hash seed of the table.
    pub shape: Shape,
    /// Largest weight of one event.
    pub max_weight: u64,
    /// Most events of one partial. It decides the size of its counters, which so tells nothing.
    pub most_events: u64,
    /// The step of the table at which the description was handed out.
    pub issued: u64,
    /// Id of the table: of one object in one era of one store.
    pub sketch_id: SketchId,
    /// The key of the store to which partials are sealed.
    pub public_key: [u8; 32],
}

impl PartialSpec {
    /// Checks every field. One step has at most 2^32 events; counts stay within 64 bits then.
    pub fn validate(&self) -> Result<()> {
        self.shape.validate()?;
        check_integer("max_weight", self.max_weight, LARGEST_WEIGHT >> 2)?;
        check_integer("most_events", self.most_events, EVENTS_PER_STEP)
    }

    /// The bytes: injective, since every field has a fixed width.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(SPEC_BYTES);
        out.extend(SPEC_MAGIC);
        out.extend(SPEC_VERSION.to_le_bytes());
        out.extend(self.public_key);
        out.extend(self.sketch_id.0);
        for number in [self.issued, self.most_events, self.max_weight] {
            out.extend(number.to_le_bytes());
        }
        write_shape(&mut out, &self.shape);
        debug_assert_eq!(out.len(), SPEC_BYTES);
        out
    }

    /// The description of some bytes.
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        let mut reader = ByteReader { rest: bytes };
        let spec = Self::read(&mut reader)?;
        if reader.rest.is_empty() {
            return Ok(spec);
        }
        refused(format!("{SPEC_BYTES} bytes"), "more")
    }

    fn read(reader: &mut ByteReader<'_>) -> Result<Self> {
        let as_spec = |error: Error| match error {
            Error::Format(message) => Error::parameter("spec", "a description", message),
            Error::Parameter {
                name,
                expected,
                got,
            } => Error::parameter("spec", format!("{expected} as {name}"), got),
            other => other,
        };
        if reader.take().map_err(as_spec)? != SPEC_MAGIC {
            return refused("a description of partial counts", "other bytes");
        }
        let version = u16::from_le_bytes(reader.take().map_err(as_spec)?);
        if version != SPEC_VERSION {
            return refused(format!("version {SPEC_VERSION}"), version);
        }
        let public_key = reader.take().map_err(as_spec)?;
        let sketch_id = SketchId(reader.take().map_err(as_spec)?);
        let mut number = || reader.take().map(u64::from_le_bytes).map_err(as_spec);
        let (issued, most_events, max_weight) = (number()?, number()?, number()?);
        let spec = Self {
            shape: read_shape(reader).map_err(as_spec)?,
            max_weight,
            most_events,
            issued,
            sketch_id,
            public_key,
        };
        spec.validate().map_err(as_spec)?;
        Ok(spec)
    }

    /// Largest count of a cell, and of the sum of absolute counts of a row, after some events.
    pub(crate) fn bound_of(&self, events: u64) -> u128 {
        u128::from(events) * u128::from(self.max_weight)
    }

    /// True for descriptions of one table that differ in when they were handed out, and in how many
    /// events a partial has.
    pub(crate) fn is_of_the_table_of(&self, other: &Self) -> bool {
        let unissued = |spec: &Self| Self {
            issued: 0,
            most_events: 1,
            ..*spec
        };
        unissued(self) == unissued(other)
    }
}

fn refused<T>(expected: impl Into<String>, got: impl std::fmt::Display) -> Result<T> {
    Err(Error::parameter("spec", expected, got))
}
