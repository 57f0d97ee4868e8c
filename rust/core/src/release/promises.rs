//! What a release promises beyond its noise, in bytes: bounds of people, and totals of runs.

use crate::byte_reader::{ByteReader, malformed};
use crate::parameters::PersonBound;
use crate::release::RunPromise;
use crate::{Error, Result};

/// Writes a flag, cells, events, and the most people (0: all).
pub(super) fn write_bound(out: &mut Vec<u8>, bound: Option<&PersonBound>) {
    out.push(u8::from(bound.is_some()));
    if let Some(bound) = bound {
        for field in [bound.cells, bound.events, bound.most_people.unwrap_or(0)] {
            out.extend(field.to_le_bytes());
        }
    }
}

/// Reads what [`write_bound`] wrote; the caller validates it.
pub(super) fn read_bound(reader: &mut ByteReader<'_>) -> Result<Option<PersonBound>> {
    if !read_flag(reader, "a bound of people")? {
        return Ok(None);
    }
    let [cells, events, most_people] = [
        u32::from_le_bytes(reader.take()?),
        u32::from_le_bytes(reader.take()?),
        u32::from_le_bytes(reader.take()?),
    ];
    Ok(Some(PersonBound {
        cells,
        events,
        most_people: (most_people > 0).then_some(most_people),
    }))
}

/// Writes a flag, the id of the run, and its numbers.
pub(super) fn write_run(out: &mut Vec<u8>, run: Option<&RunPromise>) {
    out.push(u8::from(run.is_some()));
    if let Some(run) = run {
        out.extend(run.id);
        for number in run.numbers() {
            out.extend(number.to_le_bytes());
        }
    }
}

/// Reads and checks what [`write_run`] wrote.
pub(super) fn read_run(reader: &mut ByteReader<'_>) -> Result<Option<RunPromise>> {
    if !read_flag(reader, "the promise of a run")? {
        return Ok(None);
    }
    let id = reader.take()?;
    let mut numbers = [0.0; 7];
    for number in &mut numbers {
        *number = f64::from_le_bytes(reader.take()?);
    }
    let run = RunPromise::of(id, numbers);
    run.validate()
        .map_err(|error| Error::Format(error.to_string()))?;
    Ok(Some(run))
}

fn read_flag(reader: &mut ByteReader<'_>, of: &str) -> Result<bool> {
    match reader.byte()? {
        0 => Ok(false),
        1 => Ok(true),
        other => malformed(format!("expected {of} or none, 1 or 0, got {other}")),
    }
}
