//! The cells of a large table in fewer bytes: Rice codes in blocks (R. F. Rice 1979, JPL 79-22).
//!
//! Most cells hold noise around a common count, so a block of [`BLOCK`] cells has their median, and each
//! cell the distance from it: its high part in unary, its lowest `k` bits as they are, where 2^k is at
//! most the median distance. A few heavy cells move neither median, and those whose high part is
//! [`ESCAPE`] or more follow that many ones as 64 bits. Both medians follow from the cells, and readers
//! check them: a table has one encoding. A cell of Gaussian noise takes 0.02 to 0.03 bytes more than
//! its entropy.

use crate::byte_reader::{ByteReader, malformed, truncated};
use crate::simd::widest;
use crate::{Error, Result, memory};

#[cfg(test)]
mod tests;

/// Cells of a block; the last one may have fewer.
pub(super) const BLOCK: usize = 1024;
/// Ones that say that all bits of a distance follow.
const ESCAPE: u32 = 24;
/// Bytes of the median and of `k`.
const HEADER: usize = 9;
/// Most low bits of a code that is read from one word: with the ones and a zero it has at most 56.
const MOST_NEAR_BITS: u32 = 56 - ESCAPE;
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
    let mut distances = [0; BLOCK];
    let distances = &mut distances[..block.len()];
    let mut next = 0;
    while next < distances.len() {
        near_distances(&mut bits, low, distances, &mut next);
        if let Some(distance) = distances.get_mut(next) {
            *distance = bits.distance(low)?;
            next += 1;
        }
    }
    let used = bits.used()?;
    reader.slice(used)?;
    let mut found = Found::default();
    cells_from(distances, centre, low, block, &mut found);
    let shorter = if low > 0 { found.shorter } else { 0 };
    let is_median = |below, through| (below..through).contains(&(middle(block.len()) as u64));
    if is_median(found.below, found.through) && is_median(shorter, found.fitting) {
        Ok(())
    } else {
        malformed("expected the medians of a block, got others")
    }
}

/// Numbers of cells that tell whether the medians of a block are right.
#[derive(Default)]
pub(crate) struct Found {
    /// Cells below the centre, and below or at it.
    below: u64,
    through: u64,
    /// Distances below 2^low, and below twice that.
    shorter: u64,
    fitting: u64,
}

widest! {
    /// Reads the distances of cells from `next` on while their codes are short and more than eight
    /// bytes follow; `next` is then the first cell that was not read.
    fn near_distances, near_distances_at(
        bits: &mut BitReader<'_>, low: u32, out: &mut [u64], next: &mut usize
    ) = near_distances_loop
}

widest! {
    /// Writes the cells at distances from the centre to `out`, and counts them.
    fn cells_from, cells_from_at(
        distances: &[u64], centre: i64, low: u32, out: &mut [i64], found: &mut Found
    ) = cells_loop
}

#[inline(always)]
fn near_distances_loop(bits: &mut BitReader<'_>, low: u32, out: &mut [u64], next: &mut usize) {
    if low > MOST_NEAR_BITS {
        return;
    }
    let (byte, bit) = (bits.at / 8, bits.at % 8);
    let Some(bytes) = bits.bytes.get(byte..).and_then(<[u8]>::first_chunk) else {
        return;
    };
    // The next bits, inverted, so that ones are leading zeros. There are `number` at least, fewer
    // than 64; what follows them is right too, or zeros, and is read again.
    let mut open = !u64::from_be_bytes(*bytes) << bit;
    let mut number = 56 - bit as u32;
    let mut rest = &bits.bytes[byte + 7..];
    let ones = u64::MAX >> (63 - low);
    'short: for pair in out[*next..].chunks_mut(2) {
        let Some(bytes) = rest.first_chunk() else {
            break;
        };
        open |= !u64::from_be_bytes(*bytes) >> number;
        rest = &rest[(63 - number as usize) / 8..];
        number |= 56;
        for distance in pair {
            if open < 1 << (64 - ESCAPE) {
                break 'short;
            }
            let zero = open.ilog2();
            let length = 64 - zero + low;
            if length > number {
                break 'short;
            }
            // The zero that ends the ones, and the low bits.
            let last = open << (63 - zero) >> (63 - low) ^ ones;
            *distance = u64::from(63 - zero) << low | last;
            open <<= length;
            number -= length;
            *next += 1;
        }
    }
    bits.at = (bits.bytes.len() - rest.len()) * 8 - number as usize;
}

#[inline(always)]
fn cells_loop(distances: &[u64], centre: i64, low: u32, out: &mut [i64], found: &mut Found) {
    let mut counted = Found::default();
    for (&distance, cell) in distances.iter().zip(out) {
        *cell = cell_at(distance, centre);
        counted.below += u64::from(*cell < centre);
        counted.through += u64::from(*cell <= centre);
        counted.shorter += u64::from(distance >> low == 0);
        counted.fitting += u64::from(distance >> low <= 1);
    }
    *found = counted;
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

pub(crate) struct BitReader<'a> {
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
    #[cold]
    fn distance(&mut self, low: u32) -> Result<u64> {
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
