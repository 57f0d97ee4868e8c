//! The keyed pseudo-random function of all noise: one AES-128 block per (cell, node).
//!
//! The packing `cell (64 bits) ‖ node (64 bits)` is injective and AES under one key is a
//! permutation, so two (cell, node) pairs never share a block. Replacing a random function by a
//! permutation costs draws^2 / 2^129 or less, which calibration adds to delta.

use crate::key::WorkingKey;
use aes::Aes128;
use aes::cipher::{Block, BlockCipherEncrypt, KeyInit};

/// Pseudo-random blocks of one sketch. The AES key schedule is zeroised on drop.
pub struct NoiseFunction {
    cipher: Aes128,
}

impl NoiseFunction {
    pub(crate) fn new(key: &WorkingKey) -> Self {
        Self {
            cipher: Aes128::new(&key.bytes.into()),
        }
    }

    /// Returns the 128 pseudo-random bits of one node of one cell.
    #[inline]
    pub fn block(&self, cell: u64, node: u64) -> u128 {
        encrypted(&self.cipher, packed(cell, node))
    }

    /// Replaces each value by its 128 pseudo-random bits, 64 blocks at a time to keep the widest
    /// AES instructions busy; short batches would run one block at a time.
    #[inline]
    pub(crate) fn encrypt(&self, values: &mut [u128]) {
        const LANES: usize = 64;
        if let [value] = values {
            *value = encrypted(&self.cipher, *value);
            return;
        }
        let mut blocks = [Block::<Aes128>::default(); LANES];
        for values in values.chunks_mut(LANES) {
            let blocks = &mut blocks[..values.len()];
            for (block, value) in blocks.iter_mut().zip(values.iter()) {
                *block = value.to_le_bytes().into();
            }
            self.cipher.encrypt_blocks(blocks);
            for (value, block) in values.iter_mut().zip(blocks.iter()) {
                *value = u128::from_le_bytes((*block).into());
            }
        }
    }

    /// Writes the blocks of several nodes of one cell to `out`, eight at a time.
    #[inline]
    pub fn blocks(&self, cell: u64, nodes: &[u64], out: &mut [u128]) {
        const LANES: usize = 8;
        for (nodes, out) in nodes.chunks(LANES).zip(out.chunks_mut(LANES)) {
            let mut blocks = [Block::<Aes128>::default(); LANES];
            for (block, &node) in blocks.iter_mut().zip(nodes) {
                *block = pack(cell, node);
            }
            self.cipher.encrypt_blocks(&mut blocks[..nodes.len()]);
            for (out, block) in out.iter_mut().zip(blocks) {
                *out = u128::from_le_bytes(block.into());
            }
        }
    }
}

#[inline]
fn encrypted(cipher: &Aes128, value: u128) -> u128 {
    let mut block: Block<Aes128> = value.to_le_bytes().into();
    cipher.encrypt_block(&mut block);
    u128::from_le_bytes(block.into())
}

/// A cell and a node in one block.
#[inline]
pub(crate) fn packed(cell: u64, node: u64) -> u128 {
    let node = planted!("node-number-in-16-bits", node & 0xFFFF, node);
    u128::from(cell) | (u128::from(node) << 64)
}

#[inline]
fn pack(cell: u64, node: u64) -> Block<Aes128> {
    packed(cell, node).to_le_bytes().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn function(byte: u8) -> NoiseFunction {
        NoiseFunction::new(&WorkingKey { bytes: [byte; 16] })
    }

    /// FIPS 197, appendix C.1: key 00..0f, plaintext 00 11 .. ff.
    #[test]
    fn golden_vector_of_the_aes_standard() {
        let key = WorkingKey {
            bytes: std::array::from_fn(|i| i as u8),
        };
        let plain = u128::from_le_bytes(std::array::from_fn(|i| 0x11 * i as u8));
        let cipher = NoiseFunction::new(&key).block(plain as u64, (plain >> 64) as u64);
        let expected = 0x69c4_e0d8_6a7b_0430_d8cd_b780_70b4_c55a_u128.swap_bytes();
        assert_eq!(cipher, expected);
    }

    #[test]
    fn many_equal_one_by_one() {
        let prf = function(3);
        let nodes: Vec<u64> = (0..37).map(|i| i * i).collect();
        let mut out = vec![0; nodes.len()];
        prf.blocks(5, &nodes, &mut out);
        let mut together: Vec<u128> = nodes.iter().map(|&node| packed(5, node)).collect();
        prf.encrypt(&mut together);
        assert_eq!(together, out);
        for (&node, &block) in nodes.iter().zip(&out) {
            assert_eq!(block, prf.block(5, node));
        }
    }

    /// Detects a planted truncation of an index to 32 bits, and swapped arguments.
    #[test]
    fn no_two_pairs_share_a_block() {
        let prf = function(4);
        let values = [
            0,
            1,
            2,
            3,
            1 << 31,
            1 << 32,
            (1 << 32) + 1,
            1 << 62,
            u64::MAX,
        ];
        let mut seen = std::collections::HashSet::new();
        for cell in values {
            for node in values {
                assert!(seen.insert(prf.block(cell, node)), "({cell}, {node})");
            }
        }
    }
}
