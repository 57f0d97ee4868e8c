//! Positions of the few bytes that end a cell, end a row or open a quote.

use std::slice::Chunks;

/// Bytes that are searched before their first position is returned.
const CHUNK: usize = 64;

const LOW_BITS: u64 = 0x7F7F_7F7F_7F7F_7F7F;

/// Iterates over the positions of four bytes in a block, in increasing order.
///
/// Cells are a few bytes long. A search that begins anew at each position, as memchr's does, would
/// cost more than the bytes between them; here the positions in 64 bytes are one mask.
pub(super) struct Marks<'a> {
    chunks: Chunks<'a, u8>,
    needles: [u64; 4],
    /// The positions in the last chunk that were not returned, one bit each.
    found: u64,
    /// Where the last chunk begins and ends, if it is whole.
    begin: usize,
    end: usize,
}

impl<'a> Marks<'a> {
    /// Find these bytes; of those that are not needed repeat another.
    pub(super) fn of(block: &'a [u8], bytes: [u8; 4]) -> Self {
        Self {
            chunks: block.chunks(CHUNK),
            needles: bytes.map(|byte| u64::from_ne_bytes([byte; 8])),
            found: 0,
            begin: 0,
            end: 0,
        }
    }

    fn search(&self, chunk: &[u8; CHUNK]) -> u64 {
        let mut mask = 0;
        let (words, _) = chunk.as_chunks::<8>();
        for (place, word) in words.iter().enumerate() {
            let word = u64::from_le_bytes(*word);
            let found = self.needles.iter().fold(0, |found, needle| {
                let difference = word ^ needle;
                // The highest bit of each byte that does not differ; exact, with no carry between bytes.
                found | !(((difference & LOW_BITS) + LOW_BITS) | difference | LOW_BITS)
            });
            // The eight highest bits side by side.
            let bits = (found >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56;
            mask |= bits << (8 * place);
        }
        mask
    }
}

impl Iterator for Marks<'_> {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        while self.found == 0 {
            let chunk = self.chunks.next()?;
            self.begin = self.end;
            self.end += CHUNK;
            self.found = match <&[u8; CHUNK]>::try_from(chunk) {
                Ok(whole) => self.search(whole),
                Err(_) => {
                    let mut padded = [0; CHUNK];
                    padded[..chunk.len()].copy_from_slice(chunk);
                    self.search(&padded) & ((1 << chunk.len()) - 1)
                }
            };
        }
        let at = self.begin + self.found.trailing_zeros() as usize;
        self.found &= self.found - 1;
        Some(at)
    }
}

#[cfg(test)]
mod tests {
    use super::Marks;
    use proptest::collection::vec;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_position_is_found_once(
            block in vec(prop_oneof![0_u8..4, any::<u8>(), Just(0x80_u8), Just(0x7F_u8)], 0..300),
            bytes in any::<[u8; 4]>(),
            few in any::<bool>(),
        ) {
            let bytes = if few { [0, 1, 0x80, 0xFF] } else { bytes };
            let expected: Vec<_> = (0..block.len())
                .filter(|&at| bytes.contains(&block[at]))
                .collect();
            prop_assert_eq!(Marks::of(&block, bytes).collect::<Vec<_>>(), expected);
        }
    }
}
