//! What a release promises beyond its noise, in bytes: bounds of people, and totals of runs.

use crate::byte_reader::{ByteReader, as_format, malformed, truncated};
use crate::parameters::PersonBound;
use crate::release::{RunPromise, TablePromise};
use crate::{Result, memory};

/// Bytes of a table of a run.
const TABLE: usize = 4 + 6 * 8;

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

/// The bytes that [`write_bound`] and [`write_run`] write for a part, at most.
pub(super) fn longest(run: Option<&RunPromise>) -> usize {
    let tables = run.map_or(0, |run| run.tables.len());
    1 + 3 * 4 + 1 + 16 + 2 * 8 + 2 + tables * TABLE
}

/// Writes a flag, the id of the run, its pair, and its tables.
pub(super) fn write_run(out: &mut Vec<u8>, run: Option<&RunPromise>) {
    out.push(u8::from(run.is_some()));
    if let Some(run) = run {
        out.extend(run.id);
        out.extend(run.epsilon.to_le_bytes());
        out.extend(run.delta.to_le_bytes());
        out.extend((run.tables.len() as u16).to_le_bytes());
        for table in &run.tables {
            out.extend(table.depth.to_le_bytes());
            for number in table.numbers() {
                out.extend(number.to_le_bytes());
            }
        }
    }
}

/// Reads and checks what [`write_run`] wrote.
pub(super) fn read_run(reader: &mut ByteReader<'_>) -> Result<Option<RunPromise>> {
    if !read_flag(reader, "the promise of a run")? {
        return Ok(None);
    }
    let id = reader.take()?;
    let (epsilon, delta) = (read_number(reader)?, read_number(reader)?);
    let count = usize::from(u16::from_le_bytes(reader.take()?));
    if reader.rest.len() < count * TABLE {
        return Err(truncated());
    }
    let mut tables = memory::room_for(count)?;
    for _ in 0..count {
        let depth = u32::from_le_bytes(reader.take()?);
        let mut numbers = [0.0; 6];
        for number in &mut numbers {
            *number = read_number(reader)?;
        }
        tables.push(TablePromise::of(depth, numbers));
    }
    let run = RunPromise {
        id,
        epsilon,
        delta,
        tables,
    };
    run.validate().map_err(as_format)?;
    Ok(Some(run))
}

fn read_number(reader: &mut ByteReader<'_>) -> Result<f64> {
    Ok(f64::from_le_bytes(reader.take()?))
}

fn read_flag(reader: &mut ByteReader<'_>, of: &str) -> Result<bool> {
    match reader.byte()? {
        0 => Ok(false),
        1 => Ok(true),
        other => malformed(format!("expected {of} or none, 1 or 0, got {other}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(tables: u32) -> RunPromise {
        let table = |number: u32| {
            let share = f64::from(number + 1);
            TablePromise::of(number % 64 + 1, [1.0 / share, 0.5, share, 3.0, 0.25, 1e-9])
        };
        RunPromise {
            id: [5; 16],
            epsilon: 2.5,
            delta: 1e-6,
            tables: (0..tables).map(table).collect(),
        }
    }

    fn bytes_of(bound: Option<&PersonBound>, run: Option<&RunPromise>) -> Vec<u8> {
        let mut out = Vec::new();
        write_bound(&mut out, bound);
        write_run(&mut out, run);
        out
    }

    /// The room is what they need if both are there, and they end where the reader stops.
    #[test]
    fn promises_come_back_and_fill_their_room() {
        for most_people in [None, Some(1), Some(7)] {
            let bound = PersonBound {
                cells: 3,
                events: 500,
                most_people,
            };
            for tables in [1, 2, 5, 256] {
                let run = run(tables);
                let bytes = bytes_of(Some(&bound), Some(&run));
                assert_eq!(bytes.len(), longest(Some(&run)));
                let mut reader = ByteReader { rest: &bytes };
                assert_eq!(read_bound(&mut reader).unwrap(), Some(bound));
                assert_eq!(read_run(&mut reader).unwrap(), Some(run));
                assert!(reader.rest.is_empty());
            }
        }
        let bytes = bytes_of(None, None);
        assert!(bytes.len() < longest(None));
        let mut reader = ByteReader { rest: &bytes };
        assert_eq!(read_bound(&mut reader).unwrap(), None);
        assert_eq!(read_run(&mut reader).unwrap(), None);
    }

    #[test]
    fn what_is_missing_or_outside_its_range_is_refused() {
        let mut bytes = bytes_of(None, Some(&run(2)));
        bytes.remove(0);
        for length in 0..bytes.len() {
            let mut reader = ByteReader {
                rest: &bytes[..length],
            };
            assert!(read_run(&mut reader).is_err(), "{length}");
        }
        assert!(read_run(&mut ByteReader { rest: &bytes }).is_ok());
        bytes[0] = 2; // neither there nor not
        assert!(read_run(&mut ByteReader { rest: &bytes }).is_err());
        let mut wrong = run(2);
        wrong.tables[1].depth = 0;
        let bytes = bytes_of(None, Some(&wrong));
        assert!(read_run(&mut ByteReader { rest: &bytes[1..] }).is_err());
    }
}
