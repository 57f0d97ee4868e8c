//! A part of a release in bytes: the sketch, its steps, its noise and what its run promised.

use super::versions::{FINISHED_VERSION, PROMISE_VERSION, SINCE_VERSION};
use super::{Part, noise_bytes, promises};
use crate::byte_reader::{ByteReader, malformed};
use crate::guarantee::NotPrivate;
use crate::key::SketchId;
use crate::parameters::Shape;
use crate::{Error, Result};

/// Writes the fields of a part that this version has.
pub(super) fn write(out: &mut Vec<u8>, shape: &Shape, part: &Part, version: u16) {
    out.push(part.not_private.bits());
    out.extend(part.sketch_id.0);
    out.extend(part.step.to_le_bytes());
    if version >= FINISHED_VERSION {
        out.push(u8::from(part.finished.is_some()));
        for number in part.finished.unwrap_or_default() {
            out.extend(number.to_le_bytes());
        }
    }
    if version >= SINCE_VERSION {
        out.extend(part.since.to_le_bytes());
    }
    out.push(u8::from(part.noise.is_some()));
    if let Some(noise) = &part.noise {
        noise_bytes::write(out, shape, noise);
        if version >= PROMISE_VERSION {
            promises::write_bound(out, noise.person_bound.as_ref());
        }
    }
    if version >= PROMISE_VERSION {
        promises::write_run(out, part.run.as_ref());
    }
}

/// Reads a part, and checks every field.
pub(super) fn read(reader: &mut ByteReader<'_>, shape: &Shape, version: u16) -> Result<Part> {
    let bits = reader.byte()?;
    let not_private = NotPrivate::from_bits(bits)
        .ok_or_else(|| Error::Format(format!("expected known NOT PRIVATE flags, got {bits}")))?;
    let sketch_id = SketchId(reader.take()?);
    let step = u64::from_le_bytes(reader.take()?);
    let finished = match version {
        FINISHED_VERSION.. => read_finish(reader)?,
        _ => None,
    };
    let since = match version {
        SINCE_VERSION.. => u64::from_le_bytes(reader.take()?),
        _ => 0,
    };
    let noise = match reader.byte()? {
        0 => None,
        1 => Some(noise_bytes::read(
            reader,
            shape,
            version >= PROMISE_VERSION,
        )?),
        other => {
            return malformed(format!(
                "expected a noise specification of type 0 or 1, got {other}"
            ));
        }
    };
    match &noise {
        None if !not_private.contains(NotPrivate::EXACT) => {
            return malformed("expected an exact part to be marked NOT PRIVATE");
        }
        Some(noise) => {
            if !not_private.contains(NotPrivate::of_spec(shape, noise)) {
                return malformed("expected the NOT PRIVATE flags that follow from the noise");
            }
            if noise
                .schedule
                .horizon()
                .is_some_and(|horizon| step > horizon)
            {
                return malformed("expected a step within the horizon");
            }
        }
        None => {}
    }
    if step >= crate::parameters::LARGEST_COUNT {
        return malformed("expected a step below 2^62");
    }
    let run = match version {
        PROMISE_VERSION.. => promises::read_run(reader)?,
        _ => None,
    };
    let part = Part {
        sketch_id,
        step,
        since,
        finished,
        noise,
        run,
        not_private,
    };
    if !part.has_possible_finish(shape) {
        return malformed(
            "expected final pushes that can follow those of the schedule, got others",
        );
    }
    if !part.has_possible_begin(shape) {
        return malformed("expected counts that begin before their step, without lag, got others");
    }
    Ok(part)
}

fn read_finish(reader: &mut ByteReader<'_>) -> Result<Option<[u64; 2]>> {
    let is_finished = reader.byte()?;
    let numbers = [
        u64::from_le_bytes(reader.take()?),
        u64::from_le_bytes(reader.take()?),
    ];
    match (is_finished, numbers) {
        (0, [0, 0]) => Ok(None),
        (1, _) => Ok(Some(numbers)),
        _ => malformed("expected a part that is finished or not, 1 or 0, got another"),
    }
}
