//! The cells of a large table in fewer bytes: Rice codes in blocks (R. F. Rice 1979, JPL 79-22).
//!
//! Most cells hold noise around a common count, so a block of [`BLOCK`] cells has their median, and each
//! cell the distance from it: its high part in unary, its lowest `k` bits as they are, where 2^k is at
//! most the median distance. A few heavy cells move neither median, and those whose high part is
//! [`ESCAPE`] or more follow that many ones as 64 bits. Both medians follow from the cells, and readers
//! check them: a table has one encoding. A cell of Gaussian noise takes 0.02 to 0.03 bytes more than
//! its entropy.

use crate::byte_reader::{ByteReader, malformed, truncated};
use crate::{Error, Result, memory};

/// Cells of a block; the last one may have fewer.
pub(super) const BLOCK: usize = 1024;
/// Ones that say that all bits of a distance follow.
const ESCAPE: u32 = 24;
/// Bytes of the median and of `k`.
const HEADER: usize = 9;
/// Most bits of a cell.
const LONGEST: usize = ESCAPE as usize + 64;

/// The bytes that any encoding of so many cells has at least: a bit for each.
pub(super) fn fewest_bytes(cells: usize) -> usize {
    cells / 8 + HEADER * cells.div_ceil(BLOCK)
}

/// Appends cells, a block at a time.
pub(super) fn write(out: &mut Vec<u8>, cells: &[i64]) -> Result<()> {
    let mut block = memory::room_for(HEADER + (BLOCK * LONGEST).div_ceil(8) + 16)?;
    let mut sorted = memory::room_for(BLOCK.min(cells.len()))?;
    for cells in cells.chunks(BLOCK) {
        sorted.clear();
        sorted.extend_from_slice(cells);
        let (_, &mut centre, _) = sorted.select_nth_unstable(middle(cells.len()));
        let low = low_bits(cells, centre);
        block.clear();
        block.extend(centre.to_le_bytes());
        block.push(low as u8);
        let mut bits = BitWriter {
            out: &mut block,
            open: 0,
            number: 0,
        };
        for &cell in cells {
            let distance = distance_of(cell, centre);
            let high = distance >> low;
            if high >= u64::from(ESCAPE) {
                bits.put((1 << ESCAPE) - 1, ESCAPE);
                let distance = planted!("far-counts-cut", distance & 0xFFFF_FFFF, distance);
                bits.put(distance, 64);
            } else {
                // As many ones, and a zero.
                bits.put((2 << high) - 2, high as u32 + 1);
                bits.put(distance & ((1 << low) - 1), low);
            }
        }
        bits.finish();
        let bytes = block.len();
        out.try_reserve(bytes)
            .map_err(|_| Error::Memory { bytes })?;
        out.extend_from_slice(&block);
    }
    Ok(())
}

/// Reads cells that [`write`] wrote.
pub(super) fn read(reader: &mut ByteReader<'_>, cells: usize) -> Result<Vec<i64>> {
    if reader.rest.len() < fewest_bytes(cells) {
        return Err(truncated());
    }
    let mut table = memory::room_for(cells)?;
    let mut block = [0; BLOCK];
    while table.len() < cells {
        let block = &mut block[..BLOCK.min(cells - table.len())];
        read_block(reader, block)?;
        table.extend_from_slice(block);
    }
    Ok(table)
}

fn read_block(reader: &mut ByteReader<'_>, block: &mut [i64]) -> Result<()> {
    let centre = i64::from_le_bytes(reader.take()?);
    let low = u32::from(reader.byte()?);
    if low > 63 {
        return malformed("expected at most 63 low bits, got more");
    }
    let mut bits = BitReader {
        bytes: reader.rest,
        at: 0,
    };
    // Distances below 2^low, and below twice that.
    let (mut shorter, mut fitting) = (0, 0);
    for cell in &mut *block {
        let distance = bits.distance(low)?;
        shorter += usize::from(low > 0 && distance >> low == 0);
        fitting += usize::from(distance >> low <= 1);
        *cell = cell_at(distance, centre);
    }
    let used = bits.used()?;
    reader.slice(used)?;
    let below = block.iter().filter(|&&cell| cell < centre).count();
    let through = block.iter().filter(|&&cell| cell <= centre).count();
    let is_median = |below, through| (below..through).contains(&middle(block.len()));
    if is_median(below, through) && is_median(shorter, fitting) {
        Ok(())
    } else {
        malformed("expected the medians of a block, got others")
    }
}

/// Where the median is in ascending order.
fn middle(cells: usize) -> usize {
    (cells - 1) / 2
}

/// The largest number `k` with 2^k at most the median distance; 0 if that is 0.
fn low_bits(cells: &[i64], centre: i64) -> u32 {
    let mut lengths = [0; 65];
    for &cell in cells {
        lengths[64 - distance_of(cell, centre).leading_zeros() as usize] += 1;
    }
    let mut below = 0;
    let length = lengths.iter().position(|&number: &usize| {
        below += number;
        below > middle(cells.len())
    });
    length.unwrap_or(0).saturating_sub(1) as u32
}

/// The distance from the centre, of either sign: 0, -1, 1, -2, ...
#[inline]
fn distance_of(cell: i64, centre: i64) -> u64 {
    let distance = cell.wrapping_sub(centre);
    ((distance << 1) ^ (distance >> 63)) as u64
}

#[inline]
fn cell_at(distance: u64, centre: i64) -> i64 {
    let signed = (distance >> 1) as i64 ^ -((distance & 1) as i64);
    centre.wrapping_add(signed)
}

/// Bits, the highest of each byte first.
struct BitWriter<'a> {
    out: &'a mut Vec<u8>,
    /// The last `number` of these bits, fewer than 64, are not written yet.
    open: u128,
    number: u32,
}

impl BitWriter<'_> {
    #[inline]
    fn put(&mut self, bits: u64, number: u32) {
        self.open = (self.open << number) | u128::from(bits);
        self.number += number;
        if self.number >= 64 {
            self.number -= 64;
            let word = (self.open >> self.number) as u64;
            self.out.extend_from_slice(&word.to_be_bytes());
        }
    }

    /// Fills the last byte with zeros.
    fn finish(self) {
        let word = (self.open << 64 >> self.number) as u64;
        let bytes = self.number.div_ceil(8) as usize;
        self.out.extend_from_slice(&word.to_be_bytes()[..bytes]);
    }
}

struct BitReader<'a> {
    bytes: &'a [u8],
    /// Bits that were read; those after the end are zeros.
    at: usize,
}

impl BitReader<'_> {
    /// The next 64 bits.
    #[inline]
    fn peek(&self) -> u64 {
        let (first, shift) = (self.at / 8, self.at % 8);
        let word = match self.bytes.get(first..first + 16) {
            Some(bytes) => u128::from_be_bytes(bytes.try_into().unwrap_or_default()),
            None => {
                let mut bytes = [0; 16];
                let rest = self.bytes.get(first..).unwrap_or_default();
                bytes[..rest.len()].copy_from_slice(rest);
                u128::from_be_bytes(bytes)
            }
        };
        (word << shift >> 64) as u64
    }

    #[inline]
    fn skip(&mut self, number: u32) {
        self.at += number as usize;
    }

    #[inline]
    fn take(&mut self, number: u32) -> u64 {
        let bits = self.peek().checked_shr(64 - number).unwrap_or(0);
        self.skip(number);
        bits
    }

    /// The distance of the next cell, in its shortest code.
    #[inline]
    fn distance(&mut self, low: u32) -> Result<u64> {
        // Most codes are within the 57 bits that eight bytes hold from any bit on.
        if let Some(bytes) = self
            .bytes
            .get(self.at / 8..)
            .and_then(|rest| rest.first_chunk())
        {
            let word = u64::from_be_bytes(*bytes) << (self.at % 8);
            let ones = word.leading_ones();
            if ones < ESCAPE && ones + 1 + low <= 57 {
                self.skip(ones + 1 + low);
                let bits = (word << (ones + 1)).checked_shr(64 - low).unwrap_or(0);
                return Ok((u64::from(ones) << low) | bits);
            }
        }
        self.far_distance(low)
    }

    #[cold]
    fn far_distance(&mut self, low: u32) -> Result<u64> {
        let ones = self.peek().leading_ones().min(ESCAPE);
        if ones == ESCAPE {
            self.skip(ESCAPE);
            let distance = self.take(64);
            if distance >> low < u64::from(ESCAPE) {
                return malformed("expected the shortest code of a cell, got a longer one");
            }
            return Ok(distance);
        }
        self.skip(ones + 1);
        let high = u64::from(ones);
        if high > u64::MAX >> low {
            return malformed("expected distances of 64 bits, got a larger one");
        }
        Ok((high << low) | self.take(low))
    }

    /// The number of bytes, whose last bits are zeros.
    fn used(&self) -> Result<usize> {
        let used = self.at.div_ceil(8);
        let last = self.bytes.get(..used).ok_or_else(truncated)?.last();
        let open = (used * 8 - self.at) as u32;
        if last.is_some_and(|last| last.trailing_zeros() < open && *last != 0) {
            return malformed("expected zeros after the last cell of a block, got others");
        }
        Ok(used)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mixed(at: u64) -> u64 {
        let mixed = (at + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        (mixed ^ (mixed >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9)
    }

    fn tables() -> Vec<Vec<i64>> {
        let shapes: [fn(u64) -> i64; 9] = [
            |_| 0,
            |_| i64::MAX,
            |at| (mixed(at) >> 58) as i64 - 32,
            |at| if at % 97 == 0 { 1 << 40 } else { at as i64 % 5 },
            |at| mixed(at) as i64,
            |at| if at % 2 == 0 { i64::MAX } else { i64::MIN },
            |at| if at % 2 == 0 { i64::MIN } else { -1 },
            |at| -((mixed(at) >> 40) as i64),
            // The distances around the first one that escapes.
            |at| {
                if at % 4 == 0 {
                    at as i64 / 4 % 64 - 32
                } else {
                    0
                }
            },
        ];
        let tables = [1, 2, 1_023, 1_024, 1_025, 5_000]
            .map(|number| shapes.map(|shape| (0..number).map(shape).collect::<Vec<_>>()));
        tables.into_iter().flatten().collect()
    }

    fn read_all(bytes: &[u8], cells: usize) -> Result<Vec<i64>> {
        let mut reader = ByteReader { rest: bytes };
        let table = read(&mut reader, cells)?;
        match reader.rest {
            [] => Ok(table),
            _ => malformed("more bytes"),
        }
    }

    #[test]
    fn cells_are_read_as_they_were_written() {
        for table in tables() {
            let mut bytes = Vec::new();
            write(&mut bytes, &table).unwrap();
            assert!(bytes.len() >= fewest_bytes(table.len()));
            assert_eq!(read_all(&bytes, table.len()).unwrap(), table);
        }
    }

    #[test]
    fn a_table_has_one_encoding() {
        for table in tables() {
            let mut bytes = Vec::new();
            write(&mut bytes, &table).unwrap();
            for at in (0..bytes.len()).step_by(1 + bytes.len() / 300) {
                for bit in 0..8 {
                    let mut other = bytes.clone();
                    other[at] ^= 1 << bit;
                    let Ok(found) = read_all(&other, table.len()) else {
                        continue;
                    };
                    let mut again = Vec::new();
                    write(&mut again, &found).unwrap();
                    assert_eq!(again, other);
                }
                assert!(read_all(&bytes[..at], table.len()).is_err());
            }
            bytes.push(0);
            assert!(read_all(&bytes, table.len()).is_err());
        }
    }

    #[test]
    fn a_short_input_allocates_nothing() {
        assert!(read_all(&[0; 4_000], 1 << 28).is_err());
        assert!(read_all(&[], 1).is_err());
    }
}
