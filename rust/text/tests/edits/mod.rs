//! Random damage to bytes, as a strategy that shrinks to the fewest edits. Included by the fuzz
//! targets of all crates.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};

/// One change of a sequence of bytes.
#[derive(Debug, Clone)]
pub(crate) enum Edit {
    /// Flip a bit.
    Flip(Index, u8),
    /// Write a word that is often a limit, little-endian.
    Write(Index, u64, usize),
    /// Insert bytes.
    Insert(Index, Vec<u8>),
    /// Remove some bytes.
    Remove(Index, usize),
    /// Remove all that follows.
    Cut(Index),
    /// Repeat a block.
    Repeat(Index, usize, usize),
}

impl Edit {
    fn apply(&self, data: &mut Vec<u8>) {
        if data.is_empty() {
            return;
        }
        let length = data.len();
        match self {
            Self::Flip(at, bit) => data[at.index(length)] ^= 1 << (bit % 8),
            Self::Write(at, word, size) => {
                let at = at.index(length);
                let end = (at + size).min(length);
                data[at..end].copy_from_slice(&word.to_le_bytes()[..end - at]);
            }
            Self::Insert(at, bytes) => {
                let at = at.index(length + 1);
                data.splice(at..at, bytes.iter().copied());
            }
            Self::Remove(at, size) => {
                let at = at.index(length);
                data.drain(at..(at + size).min(length));
            }
            Self::Cut(at) => data.truncate(at.index(length)),
            Self::Repeat(at, size, times) => {
                let at = at.index(length);
                let block = data[at..(at + size).min(length)].repeat(*times);
                data.splice(at..at, block);
            }
        }
    }
}

fn words() -> impl Strategy<Value = u64> {
    let limits = vec![0, 1, 127, 128, 255, 1 << 24, 1 << 31, 1 << 63, u64::MAX];
    prop_oneof![select(limits), 0..100_u64, any::<u64>()]
}

fn pieces() -> impl Strategy<Value = Vec<u8>> {
    let known: [&[u8]; 14] = [
        b"\n",
        b"\r\n",
        b"\"",
        b"\\",
        b"\\u",
        b"[[[[[[[[",
        b"{\"a\":",
        b"}",
        b" ",
        b"\xff\xfe",
        b"\xed\xa0\x80",
        b"9999999999999999999999999",
        b"\0\0\0\0",
        b"- ",
    ];
    let known: Vec<Vec<u8>> = known.map(<[u8]>::to_vec).to_vec();
    prop_oneof![select(known), vec(any::<u8>(), 1..20)]
}

fn edit() -> impl Strategy<Value = Edit> {
    let at = any::<Index>;
    prop_oneof![
        (at(), any::<u8>()).prop_map(|(at, bit)| Edit::Flip(at, bit)),
        (at(), words(), select(vec![1, 2, 4, 8]))
            .prop_map(|(at, word, size)| Edit::Write(at, word, size)),
        (at(), pieces()).prop_map(|(at, bytes)| Edit::Insert(at, bytes)),
        (at(), 1..40_usize).prop_map(|(at, size)| Edit::Remove(at, size)),
        at().prop_map(Edit::Cut),
        (at(), 1..60_usize, 1..6_usize).prop_map(|(at, size, times)| Edit::Repeat(at, size, times)),
    ]
}

/// One of the wholes with up to six edits.
pub(crate) fn damaged(wholes: Vec<Vec<u8>>) -> impl Strategy<Value = Vec<u8>> {
    (select(wholes), vec(edit(), 0..6)).prop_map(|(mut data, edits)| {
        for edit in &edits {
            edit.apply(&mut data);
        }
        data
    })
}
