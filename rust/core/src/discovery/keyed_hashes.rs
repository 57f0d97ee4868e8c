//! Keyed BLAKE3 of several short contents at once.
//!
//! The blake3 crate hashes contents one by one, and a short one block by block: each block waits for
//! the one before it, and one state fills a part of a register. Here each content has a lane of all
//! registers, and a block of all of them takes little longer than a block of one. The function is the
//! same, so is its security, and the crate is the oracle of the tests.
//!
//! A content of up to 1024 bytes is one chunk, and its hash is a chain of compressions: that is all
//! that is here. The crate hashes what is longer, and contents that are too few to fill the lanes.
//! Nothing branches on what a content or a key holds, only on lengths.
//!
//! Source: J. O'Connor, J.-P. Aumasson, S. Neves and Z. Wilcox-O'Hearn, "BLAKE3: one function, fast
//! everywhere", 2020, sections 2.2 to 2.4.

use crate::key::WideKey;
use crate::simd::{Registers, Width, widest};

/// Contents that are hashed together.
pub(super) const LANES: usize = 16;
/// Bytes of a block, and its words.
const BLOCK: usize = 64;
const WORDS: usize = 16;
/// Blocks of a chunk.
const MOST_BLOCKS: usize = 16;

/// The first eight constants of SHA-256, of which the second half of a state begins with four.
const START: [u32; 4] = [0x6A09_E667, 0xBB67_AE85, 0x3C6E_F372, 0xA54F_F53A];
/// The words of the message in the order of each round: of one permutation, as often as rounds came
/// before.
const ORDERS: [[usize; WORDS]; 7] = {
    let from = [2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8];
    let mut orders = [[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]; 7];
    let mut at = WORDS;
    while at < 7 * WORDS {
        orders[at / WORDS][at % WORDS] = orders[at / WORDS - 1][from[at % WORDS]];
        at += 1;
    }
    orders
};
/// What a compression is for.
const CHUNK_START: u32 = 1;
const CHUNK_END_AND_ROOT: u32 = 2 | 8;
const KEYED: u32 = 16;

/// One word of every lane.
type Row = [u32; LANES];

/// A content, and the key that it is hashed under.
#[derive(Clone, Copy)]
pub(super) struct Keyed<'a> {
    pub(super) key: &'a WideKey,
    pub(super) content: &'a [u8],
}

impl Keyed<'_> {
    /// The first 128 bits of the hash.
    pub(super) fn hash(&self) -> u128 {
        let hash = blake3::keyed_hash(&self.key.bytes, self.content);
        u128::from_le_bytes(std::array::from_fn(|i| hash.as_bytes()[i]))
    }

    #[inline]
    fn blocks(&self) -> usize {
        blocks_of(self.content.len())
    }
}

/// Blocks of a content of this many bytes.
#[inline]
pub(super) fn blocks_of(length: usize) -> usize {
    length.div_ceil(BLOCK).max(1)
}

/// Writes the first 128 bits of the hash of each of at most [`LANES`] contents to `out`. The longest
/// decides the time of all, so contents of about one length should come together.
pub(super) fn hash_all(contents: &[Keyed<'_>], out: &mut [u128]) {
    let blocks = contents.iter().map(Keyed::blocks);
    let longest = blocks.clone().max().unwrap_or(0);
    if longest > MOST_BLOCKS || blocks.sum::<usize>() < lanes_that_pay() * longest {
        let each = out.iter_mut().zip(contents);
        each.for_each(|(out, content)| *out = content.hash());
    } else {
        hash_lanes(contents, out);
    }
}

/// A block of all lanes takes as long as this many blocks one by one.
fn lanes_that_pay() -> usize {
    match Width::widest().registers() {
        Registers::Baseline => LANES,
        #[cfg(target_arch = "x86_64")]
        Registers::Avx2 => 9,
        #[cfg(target_arch = "x86_64")]
        Registers::Avx512 => 4,
    }
}

widest! {
    /// As [`hash_all`], in lanes; none has more than [`MOST_BLOCKS`].
    fn hash_lanes, hash_lanes_at(contents: &[Keyed<'_>], out: &mut [u128]) = lanes_loop
}

#[inline(always)]
fn lanes_loop(contents: &[Keyed<'_>], out: &mut [u128]) {
    let mut chained = keys_of(contents);
    let mut blocks = [[0; BLOCK]; LANES];
    let (mut lengths, mut flags) = ([0; LANES], [0; LANES]);
    let longest = contents.iter().map(Keyed::blocks).max().unwrap_or(0);
    for number in 0..longest {
        for (lane, keyed) in contents.iter().enumerate() {
            let rest = keyed.content.get(number * BLOCK..).unwrap_or_default();
            load(rest, &mut blocks[lane]);
            lengths[lane] = rest.len().min(BLOCK) as u32;
            let first = if number == 0 { CHUNK_START } else { 0 };
            let last = if rest.len() <= BLOCK {
                CHUNK_END_AND_ROOT
            } else {
                0
            };
            flags[lane] = KEYED | first | last;
        }
        compress(&mut chained, &transposed(&blocks), &lengths, &flags);
        for ((lane, keyed), out) in contents.iter().enumerate().zip(out.iter_mut()) {
            if keyed.blocks() == number + 1 {
                let words = chained[..4].iter().rev();
                *out = words.fold(0, |hash, row| hash << 32 | u128::from(row[lane]));
            }
        }
    }
}

#[inline(always)]
fn keys_of(contents: &[Keyed<'_>]) -> [Row; 8] {
    let mut rows = [[0; LANES]; 8];
    for (lane, keyed) in contents.iter().enumerate() {
        let key = planted!("lanes-share-the-first-key", contents[0].key, keyed.key);
        let words = key.bytes.as_chunks::<4>().0;
        for (row, word) in rows.iter_mut().zip(words) {
            row[lane] = u32::from_le_bytes(*word);
        }
    }
    rows
}

/// The first bytes of what is left of a content, then zeros: by two overlapping copies of a fixed
/// length, as a copy of variable length would be a function call.
#[inline(always)]
fn load(rest: &[u8], block: &mut [u8; BLOCK]) {
    if let Some(whole) = rest.first_chunk() {
        *block = *whole;
        return;
    }
    *block = [0; BLOCK];
    match rest.len() {
        32.. => copy_ends::<32>(rest, block),
        16.. => copy_ends::<16>(rest, block),
        8.. => copy_ends::<8>(rest, block),
        4.. => copy_ends::<4>(rest, block),
        _ => block
            .iter_mut()
            .zip(rest)
            .for_each(|(to, from)| *to = *from),
    }
}

/// Copies from `N` to `2 N` bytes.
#[inline(always)]
fn copy_ends<const N: usize>(from: &[u8], to: &mut [u8; BLOCK]) {
    let last = from.len() - N;
    to[..N].copy_from_slice(&from[..N]);
    to[last..][..N].copy_from_slice(&from[last..][..N]);
}

/// Each word of all lanes in a row. A word is at 16 lane + word and goes to 16 word + lane; each
/// shuffle turns the eight bits of that place by one.
#[inline(always)]
fn transposed(blocks: &[[u8; BLOCK]; LANES]) -> [Row; WORDS] {
    let (mut rows, mut other) = ([[0; LANES]; WORDS], [[0; LANES]; WORDS]);
    for (row, block) in rows.iter_mut().zip(blocks) {
        for (word, bytes) in row.iter_mut().zip(block.as_chunks::<4>().0) {
            *word = u32::from_le_bytes(*bytes);
        }
    }
    shuffle(&rows, &mut other);
    shuffle(&other, &mut rows);
    shuffle(&rows, &mut other);
    shuffle(&other, &mut rows);
    rows
}

/// The words of the first half and of the second by turns.
#[inline(always)]
fn shuffle(from: &[Row; WORDS], to: &mut [Row; WORDS]) {
    let (low, high) = from.as_flattened().split_at(WORDS * LANES / 2);
    let pairs = to.as_flattened_mut().as_chunks_mut::<2>().0;
    for (pair, (&low, &high)) in pairs.iter_mut().zip(low.iter().zip(high)) {
        *pair = [low, high];
    }
}

/// The compression of every lane: the compiler makes one instruction of what all lanes do.
#[inline(always)]
fn compress(chained: &mut [Row; 8], message: &[Row; WORDS], lengths: &Row, flags: &Row) {
    for lane in 0..LANES {
        let words = std::array::from_fn(|at| message[at][lane]);
        let before = std::array::from_fn(|at| chained[at][lane]);
        let after = compressed(before, words, lengths[lane], flags[lane]);
        for (row, word) in chained.iter_mut().zip(after) {
            row[lane] = word;
        }
    }
}

/// The chaining value after a block of the only chunk, whose number is 0.
#[inline(always)]
fn compressed(before: [u32; 8], message: [u32; WORDS], length: u32, flags: u32) -> [u32; 8] {
    let mut state = [0; WORDS];
    state[..8].copy_from_slice(&before);
    state[8..12].copy_from_slice(&START);
    (state[14], state[15]) = (length, flags);
    round(&mut state, &message, &ORDERS[0]);
    round(&mut state, &message, &ORDERS[1]);
    round(&mut state, &message, &ORDERS[2]);
    round(&mut state, &message, &ORDERS[3]);
    round(&mut state, &message, &ORDERS[4]);
    round(&mut state, &message, &ORDERS[5]);
    round(&mut state, &message, &ORDERS[6]);
    std::array::from_fn(|at| state[at] ^ state[at + 8])
}

/// Mixes the columns of a state, then its diagonals.
#[inline(always)]
fn round(state: &mut [u32; WORDS], message: &[u32; WORDS], order: &[usize; WORDS]) {
    mix(state, [0, 4, 8, 12], message[order[0]], message[order[1]]);
    mix(state, [1, 5, 9, 13], message[order[2]], message[order[3]]);
    mix(state, [2, 6, 10, 14], message[order[4]], message[order[5]]);
    mix(state, [3, 7, 11, 15], message[order[6]], message[order[7]]);
    mix(state, [0, 5, 10, 15], message[order[8]], message[order[9]]);
    mix(
        state,
        [1, 6, 11, 12],
        message[order[10]],
        message[order[11]],
    );
    mix(state, [2, 7, 8, 13], message[order[12]], message[order[13]]);
    mix(state, [3, 4, 9, 14], message[order[14]], message[order[15]]);
}

#[inline(always)]
fn mix(state: &mut [u32; WORDS], [a, b, c, d]: [usize; 4], one: u32, two: u32) {
    state[a] = state[a].wrapping_add(state[b]).wrapping_add(one);
    state[d] = (state[d] ^ state[a]).rotate_right(16);
    state[c] = state[c].wrapping_add(state[d]);
    state[b] = (state[b] ^ state[c]).rotate_right(12);
    state[a] = state[a].wrapping_add(state[b]).wrapping_add(two);
    state[d] = (state[d] ^ state[a]).rotate_right(8);
    state[c] = state[c].wrapping_add(state[d]);
    state[b] = (state[b] ^ state[c]).rotate_right(7);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lengths, and the beginnings of their keyed hashes in the test vectors of the authors.
    const GOLDEN: [(usize, u128); 4] = [
        (0, 0x92b2_b756_04ed_3c76_1f9d_6f62_392c_8a92),
        (1, 0x6d78_78df_ff2f_4856_35d3_9013_278a_e14f),
        (2, 0x5392_ddae_0e0a_69d5_f401_6046_2cbd_9bd8),
        (1024, 0x75c4_6f6f_3d9e_b4f5_5eca_aee4_80db_732e),
    ];

    fn key(number: usize) -> WideKey {
        WideKey {
            bytes: std::array::from_fn(|at| (37 * at + 101 * number + 11) as u8),
        }
    }

    fn content(length: usize, number: usize) -> Vec<u8> {
        (0..length)
            .map(|at| (at * at / 7 + 3 * at + 59 * number) as u8)
            .collect()
    }

    /// The hash of each by the crate.
    fn expected(contents: &[Keyed<'_>]) -> Vec<u128> {
        contents.iter().map(Keyed::hash).collect()
    }

    /// Every length of a chunk, in every register width, beside contents of other lengths and under
    /// other keys; and every number of contents.
    #[test]
    fn lanes_equal_the_crate() {
        let keys: Vec<WideKey> = (0..3).map(key).collect();
        for width in Width::all() {
            for length in 0..=BLOCK * MOST_BLOCKS {
                let number = 1 + length % LANES;
                let contents: Vec<Vec<u8>> = (0..number)
                    .map(|lane| content(length * (1 + lane) % (1 + BLOCK * MOST_BLOCKS), lane))
                    .collect();
                let contents: Vec<Keyed<'_>> = (contents.iter().zip(keys.iter().cycle()))
                    .map(|(content, key)| Keyed { key, content })
                    .collect();
                let mut out = vec![0; number];
                hash_lanes_at(width, &contents, &mut out);
                assert_eq!(out, expected(&contents), "{width:?} {length}");
            }
        }
    }

    /// Not even the crate has to be believed.
    #[test]
    fn golden_vectors_of_the_authors() {
        let key = WideKey {
            bytes: *b"whats the Elvish word for friend",
        };
        let input: Vec<u8> = (0..1024).map(|at| (at % 251) as u8).collect();
        for (length, first) in GOLDEN {
            let content = &input[..length];
            let mut out = [0; LANES];
            hash_lanes(&[Keyed { key: &key, content }; LANES], &mut out);
            assert_eq!(out, [first.swap_bytes(); LANES], "{length}");
        }
    }

    /// Contents that lanes cannot hash, and contents among which one is much longer.
    #[test]
    fn any_contents_have_their_hash() {
        let key = key(0);
        for lengths in [
            &[16; LANES][..],
            &[16, 40],
            &[40],
            &[],
            &[1024; LANES],
            &[1025; LANES],
            &[16, 16, 16, 16, 16, 100_000],
            &[16, 16, 16, 1024],
        ] {
            let contents: Vec<Vec<u8>> = (lengths.iter().zip(0..))
                .map(|(&length, number)| content(length, number))
                .collect();
            let contents: Vec<Keyed<'_>> = (contents.iter())
                .map(|content| Keyed { key: &key, content })
                .collect();
            let mut out = vec![0; contents.len()];
            hash_all(&contents, &mut out);
            assert_eq!(out, expected(&contents), "{lengths:?}");
        }
    }
}
