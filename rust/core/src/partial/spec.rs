//! What a worker has to know of a private table: public, of a fixed size, authenticated with every
//! partial that is sealed.

use crate::byte_reader::ByteReader;
use crate::error::check_integer;
use crate::key::SketchId;
use crate::parameters::{LARGEST_WEIGHT, Shape, TableKind};
use crate::partial::named::Named;
use crate::partial::summed::Summed;
use crate::release::checked_edges;
use crate::release::codec::{read_shape, write_shape};
use crate::schedule::EVENTS_PER_STEP;
use crate::{Error, Result, memory};
use std::sync::Arc;

/// First bytes of a description.
pub const SPEC_MAGIC: [u8; 8] = *b"LZSKPSPC";
/// Version of the bytes: without names, with them, and with values by item; another one is refused by
/// its number.
pub const SPEC_VERSIONS: [u16; 3] = [1, 2, 3];
/// Bytes of a description without names, of a kind without bits or bins.
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
    /// What is counted of names, if heavy ones are published: then nothing else is.
    pub named: Option<Named>,
    /// What is added up in a second table, of values by item; the first has their events.
    pub summed: Option<Summed>,
}

impl PartialSpec {
    /// Checks every field. One step has at most 2^32 events; counts stay within 64 bits then.
    pub fn validate(&self) -> Result<()> {
        self.shape.validate()?;
        check_integer("max_weight", self.max_weight, LARGEST_WEIGHT >> 2)?;
        check_integer("most_events", self.most_events, EVENTS_PER_STEP)?;
        (self.named.as_ref()).map_or(Ok(()), |named| named.validate(self.max_weight))?;
        let Some(summed) = &self.summed else {
            return Ok(());
        };
        let is_of_events = self.shape.kind == TableKind::CountSketch && self.max_weight == 1;
        if !is_of_events || self.named.is_some() {
            return refused(
                "a Count Sketch of events for values by item",
                "another table",
            );
        }
        summed.validate()
    }

    /// Number of bytes of [`Self::encode`].
    pub fn encoded_bytes(&self) -> usize {
        let of_kind = match self.shape.kind {
            TableKind::Distinct { .. } => 4,
            TableKind::Values { .. } => 1 + 16,
            _ => 0,
        };
        let of_values = self.summed.map_or(0, |_| Summed::BYTES);
        SPEC_BYTES + of_kind + of_values + self.named.as_ref().map_or(0, Named::bytes)
    }

    /// The bytes: injective, since every field has a fixed width, or its length before it.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.encoded_bytes());
        out.extend(SPEC_MAGIC);
        out.extend(self.version().to_le_bytes());
        out.extend(self.public_key);
        out.extend(self.sketch_id.0);
        for number in [self.issued, self.most_events, self.max_weight] {
            out.extend(number.to_le_bytes());
        }
        write_shape(&mut out, &self.shape);
        if let Some(named) = &self.named {
            named.write(&mut out);
        }
        if let Some(summed) = &self.summed {
            summed.write(&mut out);
        }
        debug_assert_eq!(out.len(), self.encoded_bytes());
        out
    }

    fn version(&self) -> u16 {
        let [plain, named, summed] = SPEC_VERSIONS;
        match (self.named, self.summed) {
            (_, Some(_)) => summed,
            (Some(_), None) => named,
            (None, None) => plain,
        }
    }

    /// The bytes for a worker: after the description the edges between the bins of values, of which
    /// the description, and so all that is sealed under it, has the digest.
    pub fn encode_for_worker(&self, edges: &[f64]) -> Vec<u8> {
        let mut out = self.encode();
        out.extend(edges.iter().flat_map(|edge| edge.to_le_bytes()));
        out
    }

    /// The description and the edges that a worker was given.
    pub fn decode_for_worker(bytes: &[u8]) -> Result<(Self, Arc<[f64]>)> {
        let (spec, rest) = Self::decode_first(bytes)?;
        let TableKind::Values { .. } = spec.shape.kind else {
            return Self::decode(bytes).map(|spec| (spec, Arc::new([]) as Arc<[f64]>));
        };
        let (words, []) = rest.as_chunks() else {
            return refused("edges of 8 bytes each", "others");
        };
        let edges = memory::collected(words.iter().map(|&word| f64::from_le_bytes(word)))?;
        if planted!("edges-of-a-worker-are-not-compared") {
            return Ok((spec, Arc::from(edges)));
        }
        match checked_edges(&spec.shape, &edges) {
            Ok(edges) => Ok((spec, edges)),
            Err(Error::Parameter { expected, .. }) => {
                refused(format!("edges: {expected}"), "others")
            }
            Err(other) => Err(other),
        }
    }

    /// The description of some bytes.
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        let (spec, rest) = Self::decode_first(bytes)?;
        if rest.is_empty() {
            return Ok(spec);
        }
        refused(format!("{} bytes", spec.encoded_bytes()), "more")
    }

    /// The description at the begin of some bytes, and the bytes after it.
    pub(super) fn decode_first(bytes: &[u8]) -> Result<(Self, &[u8])> {
        let mut reader = ByteReader { rest: bytes };
        let spec = Self::read(&mut reader)?;
        Ok((spec, reader.rest))
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
        let [plain, named, summed] = SPEC_VERSIONS;
        if !SPEC_VERSIONS.contains(&version) {
            return refused(format!("version {plain} to {summed}"), version);
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
            named: match version == named {
                true => Some(Named::read(reader).map_err(as_spec)?),
                false => None,
            },
            summed: match version == summed {
                true => Some(Summed::read(reader).map_err(as_spec)?),
                false => None,
            },
        };
        spec.validate().map_err(as_spec)?;
        Ok(spec)
    }

    /// Largest count of a cell, and of the sum of absolute counts of a row, after some events.
    pub(crate) fn bound_of(&self, events: u64) -> u128 {
        u128::from(events) * u128::from(self.max_weight)
    }

    /// What is counted of the weight of an event apart from the whole of it, at most: where less than
    /// the largest weight decides which names are heavy. Else None.
    pub(crate) fn weight_counted_apart(&self) -> Option<u64> {
        let counted = self.named?.counted_weight;
        (counted < self.max_weight).then_some(counted)
    }

    /// The same, for sums that begin with no names.
    pub fn with_fewest_names(self) -> Self {
        let named = self.named.map(|named| Named {
            most_names: 1,
            ..named
        });
        Self { named, ..self }
    }

    /// True for descriptions of one table that differ in when they were handed out, and in how many
    /// events and names a partial has.
    pub(crate) fn is_of_the_table_of(&self, other: &Self) -> bool {
        let unissued = |spec: &Self| Self {
            issued: 0,
            most_events: 1,
            summed: None,
            ..spec.with_fewest_names()
        };
        let has_same_values = match (&self.summed, &other.summed) {
            (Some(own), Some(others)) => own.is_like(others),
            (own, others) => own == others,
        };
        unissued(self) == unissued(other) && has_same_values
    }
}

fn refused<T>(expected: impl Into<String>, got: impl std::fmt::Display) -> Result<T> {
    Err(Error::parameter("spec", expected, got))
}
