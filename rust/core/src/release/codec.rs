//! The bytes of a release (docs/release-format.md; golden files pin them): version 1, version 2 if it
//! has names, version 3 if a part of it is finished, version 4 if it promises more than its noise, version 5 if the
//! counts of a part begin after a step, version 6 if its table is large, whose cells are in blocks then.
//!
//! All integers are little-endian. Decoding is strict: every size is checked against the length of
//! the input before anything is allocated, every field against its range, the checksum (BLAKE3)
//! over everything before it, and trailing bytes are rejected.

use super::versions::{
    BLOCKS_FROM, BLOCKS_VERSION, FINISHED_VERSION, FORMAT_VERSION, NAMED_VERSION, PROMISE_VERSION,
    SINCE_VERSION,
};
use super::{cell_blocks, names, noise_bytes, part_bytes, promises};
use crate::byte_reader::{ByteReader, as_format, malformed, truncated};
use crate::item::Item;
use crate::mechanism::value_tree::ValueRows;
use crate::parameters::{NoiseSpec, Shape, TableKind};
use crate::release::{LARGEST_PARTS, Part, Release, checked_edges};
use crate::schedule::Schedule;
use crate::table::hash::HASH_VERSION;
use crate::{Result, memory};
use std::sync::Arc;

/// First bytes of every release.
pub const MAGIC: [u8; 8] = *b"LAZYSKCH";

const CHECKSUM: usize = 32;
/// The kind of a count of distinct items, whose shape has one field more: the bits of a level.
const DISTINCT: u8 = 4;
/// The kind of a table of values, whose shape says which rows it has and the digest of its edges. The
/// edges follow the shape of a release.
const VALUES: u8 = 5;
const RANGES: u8 = 6;
const ROWS: [(u8, ValueRows); 2] = [(1, ValueRows::Tree), (2, ValueRows::Haar)];
/// Fewest bytes of a part: flags, id, step and no noise.
const SHORTEST_PART: usize = 1 + 16 + 8 + 1;
/// No part without a begin, and no shape with the version and the number of parts, has more bytes.
const LONGEST_PART: usize = 160;
const LONGEST_SHAPE: usize = 48;

/// Shape and noise in bytes: injective, because every field has a fixed width. The working key is
/// derived from these bytes, so changing any parameter changes all noise.
pub(crate) fn encode_parameters(shape: &Shape, noise: &NoiseSpec) -> Vec<u8> {
    let mut out = Vec::new();
    write_shape(&mut out, shape);
    noise_bytes::write(&mut out, shape, noise);
    // Longer than without a bound, so still injective.
    if let Some(bound) = &noise.person_bound {
        promises::write_bound(&mut out, Some(bound));
    }
    out
}

/// Encodes a release without names.
pub fn encode(release: &Release) -> Result<Vec<u8>> {
    let version = version_of(release, false);
    let mut out = encode_table(release, version, size_of::<u32>())?;
    if version >= FINISHED_VERSION {
        out.extend(0_u32.to_le_bytes());
    }
    Ok(with_checksum(out))
}

/// Encodes a release and its names, which are distinct; without any as [`encode`] does.
pub fn encode_with_names(release: &Release, names: &[Item<'_>]) -> Result<Vec<u8>> {
    if names.is_empty() {
        return encode(release);
    }
    let more = names::most_bytes(names);
    let mut out = encode_table(release, version_of(release, true), more)?;
    names::write(&mut out, names)?;
    Ok(with_checksum(out))
}

/// The first version that can represent a release.
fn version_of(release: &Release, has_names: bool) -> u16 {
    if release.shape().cells() >= BLOCKS_FROM {
        return BLOCKS_VERSION;
    }
    let version = release.parts().iter().map(version_of_part).max();
    if let Some(version) = version.filter(|&version| version >= FINISHED_VERSION) {
        version
    } else if has_names {
        NAMED_VERSION
    } else {
        FORMAT_VERSION
    }
}

/// The first version that can represent a part. Readers of the first two versions expect pushes that
/// follow from schedule and step, and a horizon where there may be none.
fn version_of_part(part: &Part) -> u16 {
    let has_bound = (part.noise).is_some_and(|noise| noise.person_bound.is_some());
    let open_single =
        (part.noise).is_some_and(|noise| noise.schedule == Schedule::Single { horizon: None });
    if part.since > 0 {
        SINCE_VERSION
    } else if has_bound || part.run.is_some() {
        PROMISE_VERSION
    } else if part.finished.is_some() || open_single {
        FINISHED_VERSION
    } else {
        FORMAT_VERSION
    }
}

fn with_checksum(mut out: Vec<u8>) -> Vec<u8> {
    let checksum = blake3::hash(&out);
    out.extend(checksum.as_bytes());
    out
}

/// `more` is the size of what follows, so that all memory is allocated here.
fn encode_table(release: &Release, version: u16, more: usize) -> Result<Vec<u8>> {
    let promised = |part: &Part| promises::longest(part.run.as_ref());
    let promised = match version {
        PROMISE_VERSION.. => release.parts().iter().map(promised).sum(),
        _ => 0,
    };
    let begins = if version >= SINCE_VERSION { 8 } else { 0 };
    let parts = (LONGEST_PART + begins) * release.parts().len() + promised;
    let is_plain = version < BLOCKS_VERSION;
    let cells = if is_plain { release.table().len() } else { 0 };
    let numbers = release.edges().len() + cells;
    let length = MAGIC.len() + LONGEST_SHAPE + parts + 8 * numbers + CHECKSUM;
    let mut out = memory::room_for(length.saturating_add(more))?;
    out.extend(MAGIC);
    out.extend(version.to_le_bytes());
    write_shape(&mut out, release.shape());
    write_edges(&mut out, release);
    out.extend((release.parts().len() as u32).to_le_bytes());
    for part in release.parts() {
        part_bytes::write(&mut out, release.shape(), part, version);
    }
    if is_plain {
        for value in release.table() {
            out.extend(value.to_le_bytes());
        }
        debug_assert!(out.len() + CHECKSUM <= length, "the size of a release");
    } else {
        cell_blocks::write(&mut out, release.table())?;
        memory::reserve(&mut out, more.saturating_add(CHECKSUM))?;
    }
    Ok(out)
}

/// Decodes a release and drops its names; the error says what is wrong with the bytes.
pub fn decode(bytes: &[u8]) -> Result<Release> {
    decode_with_names(bytes).map(|(release, _)| release)
}

/// Decodes a release and its names, in order; without names the list is empty.
pub fn decode_with_names(bytes: &[u8]) -> Result<(Release, Vec<Item<'_>>)> {
    let mut reader = ByteReader { rest: bytes };
    if reader.take::<8>()? != MAGIC {
        return malformed("expected a lazysketch release, got other data");
    }
    let version = u16::from_le_bytes(reader.take()?);
    if !(FORMAT_VERSION..=BLOCKS_VERSION).contains(&version) {
        return malformed(format!(
            "expected format version {FORMAT_VERSION} to {BLOCKS_VERSION}, got {version}"
        ));
    }
    let body = bytes.len().checked_sub(CHECKSUM).ok_or_else(truncated)?;
    if blake3::hash(&bytes[..body])
        != <[u8; CHECKSUM]>::try_from(&bytes[body..]).unwrap_or_default()
    {
        return malformed("the checksum does not match: truncated or damaged");
    }
    let read = bytes.len() - reader.rest.len();
    reader.rest = bytes.get(read..body).ok_or_else(truncated)?;
    let shape = read_shape(&mut reader)?;
    let edges = read_edges(&mut reader, &shape)?;
    let parts = read_parts(&mut reader, &shape, version)?;
    let table = read_table(&mut reader, &shape, version)?;
    let names = match version {
        FORMAT_VERSION if !reader.rest.is_empty() => {
            return malformed("expected sizes that agree with the length, got others");
        }
        FORMAT_VERSION => Vec::new(),
        // From this version on there may be no names.
        FINISHED_VERSION.. if reader.rest == [0; 4] => Vec::new(),
        _ if shape.kind.has_indices() => {
            return malformed("expected no names of counters, which are numbered");
        }
        _ => names::read(&mut reader)?,
    };
    Ok((Release::new(shape, parts, table).with_edges(edges), names))
}

fn read_parts(reader: &mut ByteReader<'_>, shape: &Shape, version: u16) -> Result<Vec<Part>> {
    let count = u32::from_le_bytes(reader.take()?) as usize;
    let cells = match version {
        BLOCKS_VERSION if shape.cells() < BLOCKS_FROM => {
            return malformed("expected a large table in blocks, got a small one");
        }
        BLOCKS_VERSION => cell_blocks::fewest_bytes(shape.cells() as usize),
        _ => 8 * shape.cells() as usize,
    };
    let least = count.saturating_mul(SHORTEST_PART) + cells;
    if !(1..=LARGEST_PARTS).contains(&count) || reader.rest.len() < least {
        return malformed("expected sizes that agree with the length, got others");
    }
    let mut parts: Vec<Part> = memory::room_for(count)?;
    for _ in 0..count {
        let part = part_bytes::read(reader, shape, version)?;
        let last = parts.last();
        if last.is_some_and(|last| last.sketch_id >= part.sketch_id) {
            return malformed("expected parts ordered by sketch id, each once");
        }
        parts.push(part);
    }
    let most = match shape.kind {
        TableKind::Distinct { .. } => 1,
        TableKind::Values { .. } | TableKind::Ranges => LARGEST_PARTS,
        _ => usize::MAX, // also exact ones
    };
    let with_noise = || parts.iter().all(|part| part.noise.is_some());
    if most <= LARGEST_PARTS && (parts.len() > most || !with_noise()) {
        return malformed("expected parts with noise, one of distinct items, got others");
    }
    let needed = parts.iter().map(version_of_part).max();
    let for_names = if version == NAMED_VERSION {
        FORMAT_VERSION
    } else {
        version
    };
    if version < BLOCKS_VERSION && needed != Some(for_names) {
        return malformed("expected the version that its parts need, got another");
    }
    Ok(parts)
}

fn read_table(reader: &mut ByteReader<'_>, shape: &Shape, version: u16) -> Result<Vec<i64>> {
    let cells = shape.cells() as usize;
    let table = if version < BLOCKS_VERSION {
        let words = reader.slice(8 * cells)?.chunks_exact(8);
        let word = |word: &[u8]| i64::from_le_bytes(word.try_into().unwrap_or_default());
        memory::collected(words.map(word))?
    } else {
        cell_blocks::read(reader, cells)?
    };
    if table.contains(&i64::MIN) {
        return malformed("expected values that have a negative, got -2^63");
    }
    Ok(table)
}

pub(crate) fn write_shape(out: &mut Vec<u8>, shape: &Shape) {
    out.push(match shape.kind {
        TableKind::CountMin => 1,
        TableKind::CountSketch => 2,
        TableKind::Counters => 3,
        TableKind::Distinct { .. } => DISTINCT,
        TableKind::Values { .. } => VALUES,
        TableKind::Ranges => RANGES,
    });
    out.push(HASH_VERSION);
    out.extend(shape.depth.to_le_bytes());
    out.extend(shape.width.to_le_bytes());
    out.extend(shape.hash_seed.to_le_bytes());
    // The kind says which fields follow, so shapes are still injective.
    match &shape.kind {
        TableKind::Distinct { bits } => out.extend(bits.to_le_bytes()),
        TableKind::Values { rows, edges } => {
            out.extend(
                ROWS.iter()
                    .filter(|(_, one)| one == rows)
                    .map(|(code, _)| code),
            );
            out.extend(edges);
        }
        _ => {}
    }
}

fn write_edges(out: &mut Vec<u8>, release: &Release) {
    if let TableKind::Values { .. } = release.shape().kind {
        out.extend((release.edges().len() as u32).to_le_bytes());
        for edge in release.edges() {
            out.extend(edge.to_le_bytes());
        }
    }
}

fn read_edges(reader: &mut ByteReader<'_>, shape: &Shape) -> Result<Arc<[f64]>> {
    let mut edges = Vec::new();
    if let TableKind::Values { .. } = shape.kind {
        let count = u32::from_le_bytes(reader.take()?) as usize;
        // As many as bins at most, and the digest of any others would be another.
        let words = reader.slice(8 * count.min(shape.width as usize))?;
        let edge = |word: &[u8]| f64::from_le_bytes(word.try_into().unwrap_or_default());
        edges = memory::collected(words.chunks_exact(8).map(edge))?;
    }
    checked_edges(shape, &edges).map_err(as_format)
}

pub(crate) fn read_shape(reader: &mut ByteReader<'_>) -> Result<Shape> {
    let mut kind = match reader.byte()? {
        1 => TableKind::CountMin,
        2 => TableKind::CountSketch,
        3 => TableKind::Counters,
        DISTINCT => TableKind::Distinct { bits: 0 },
        VALUES => TableKind::Values {
            rows: ValueRows::Tree,
            edges: [0; 16],
        },
        RANGES => TableKind::Ranges,
        other => return malformed(format!("expected kind 1 to 6, got {other}")),
    };
    let version = reader.byte()?;
    if version != HASH_VERSION {
        return malformed(format!(
            "expected hash version {HASH_VERSION}, got {version}"
        ));
    }
    let depth = u32::from_le_bytes(reader.take()?);
    let width = u32::from_le_bytes(reader.take()?);
    let hash_seed = u64::from_le_bytes(reader.take()?);
    match &mut kind {
        TableKind::Distinct { bits } => *bits = u32::from_le_bytes(reader.take()?),
        TableKind::Values { rows, edges } => {
            let code = reader.byte()?;
            let Some(&(_, known)) = ROWS.iter().find(|(one, _)| *one == code) else {
                return malformed(format!("expected rows of type 1 or 2, got {code}"));
            };
            (*rows, *edges) = (known, reader.take()?);
        }
        _ => {}
    }
    let shape = Shape {
        kind,
        depth,
        width,
        hash_seed,
    };
    shape.validate().map_err(as_format)?;
    if kind == TableKind::Counters && shape.depth != 1 {
        return malformed(format!(
            "expected depth 1 for counters, got {}",
            shape.depth
        ));
    }
    Ok(shape)
}
