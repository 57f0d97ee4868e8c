//! The bytes of every file, pinned: a change here is another version of the format.

use crate::anchor::{self, ENTRY_BYTES, Position};
use crate::fields::Fields;
use crate::key_ring::{Checkpoint, KeyRing, Place, Secrets, Segment};
use crate::sealing::{ChainKey, SealingKey, StoreKey, hex};
use crate::segment::{self, Tail};
use crate::slot::{self, Sealing};
use crate::waiting::Waiting;

fn secrets() -> Secrets {
    Secrets {
        store_id: [1; 16],
        noise: [2; 32],
        chain: ChainKey([3; 32]),
        anchor: [4; 32],
    }
}

fn a_segment() -> Segment {
    let after = Place {
        sequence: 258,
        digest: [5; 32],
    };
    Segment {
        number: 6,
        after,
        synced: 258,
        key: SealingKey([7; 32]),
    }
}

fn a_checkpoint() -> Checkpoint {
    Checkpoint {
        number: 6,
        slot: 1,
        through: a_segment().after,
        key: SealingKey([8; 32]),
    }
}

fn ring() -> KeyRing {
    KeyRing {
        generation: 9,
        secrets: secrets(),
        checkpoints: vec![a_checkpoint()],
        segments: vec![a_segment()],
    }
}

fn hash(bytes: &[u8]) -> String {
    hex(&blake3::hash(bytes).as_bytes()[..16])
}

#[test]
fn a_segment_and_its_records() {
    let secrets = secrets();
    let header = segment::header(&secrets.store_id, &a_segment());
    assert_eq!(hex(&header), SEGMENT_HEADER);
    let mut tail = Tail::new(&secrets.store_id, &secrets.chain, &a_segment());
    let mut waiting = Waiting::after(258);
    assert_eq!(waiting.append_copy(b"golden").unwrap(), 259);
    assert_eq!(waiting.append_copy(b"").unwrap(), 260);
    tail.seal_group(&mut waiting);
    let sealed = waiting.sealed();
    assert_eq!(hex(&sealed[..RECORD.len() / 2]), RECORD);
    assert_eq!(hash(sealed), TWO_RECORDS);
    assert_eq!(hex(&tail.end.digest), DIGEST);
    assert_eq!(hex(&secrets.start().digest), DIGEST_OF_NONE);
}

#[test]
fn a_checkpoint_and_its_parts() {
    let checkpoint = a_checkpoint();
    let mut body = b"golden".to_vec();
    let header = slot::header(&checkpoint, &[1; 16], body.len() as u64);
    assert_eq!(hex(&header), SLOT_HEADER);
    let mut sealing = Sealing::new(&checkpoint, &header);
    sealing.seal(&mut body);
    sealing.seal(&mut []);
    assert_eq!(hex(&body), SLOT_BODY);
    assert_eq!(hex(&sealing.tags()), SLOT_TAGS);
}

#[test]
fn an_anchor() {
    let position = Position {
        generation: 9,
        place: a_segment().after,
    };
    let entry = anchor::entry(&secrets(), &position);
    assert_eq!(hex(&entry), ANCHOR);
    assert_eq!(anchor::position_of(&secrets(), &entry), Some(position));
    for at in 0..ENTRY_BYTES {
        let mut changed = entry;
        changed[at] ^= 1;
        assert_eq!(anchor::position_of(&secrets(), &changed), None, "{at}");
    }
}

#[test]
fn a_key_file() {
    let key = StoreKey::from_bytes([10; 32]);
    assert_eq!(hex(&key.id()), KEY_ID);
    let bytes = ring().wrap_with(&key, &[11; 32]).unwrap();
    assert_eq!(bytes.len(), 4096);
    assert_eq!(hex(&bytes[..104]), KEYS_HEADER);
    assert_eq!(hash(&bytes), KEYS);
    // Each write has a salt of its own, so nothing repeats but the header.
    let (one, two) = (ring().wrap(&key).unwrap(), ring().wrap(&key).unwrap());
    assert!(one[..56] == two[..56] && one[56..88] != two[56..88]);
    assert!(
        one[104..]
            .iter()
            .zip(&two[104..])
            .filter(|(a, b)| a == b)
            .count()
            < 100
    );
}

/// A key leaves the ring with its segment, and the segments between two checkpoints stay.
#[test]
fn keys_leave_with_what_they_seal() {
    let mut ring = ring();
    ring.checkpoints.clear();
    let mut sealed_under = Vec::new();
    for number in 10..16 {
        let place = Place {
            sequence: number * 100,
            digest: [0; 32],
        };
        let checkpoint = Checkpoint {
            number,
            slot: ring.free_slot(),
            through: place,
            key: SealingKey::fresh().unwrap(),
        };
        let segment = Segment {
            number,
            after: place,
            synced: place.sequence,
            key: SealingKey::fresh().unwrap(),
        };
        sealed_under.push((checkpoint.key.clone(), segment.key.clone()));
        ring = ring.with_checkpoint(checkpoint, segment);
    }
    let (older, newest) = (&sealed_under[4], &sealed_under[5]);
    let keys: Vec<_> = ring.checkpoints.iter().map(|it| &it.key).collect();
    assert!(keys == [&newest.0, &older.0]);
    let keys: Vec<_> = ring.segments.iter().map(|it| &it.key).collect();
    assert!(keys == [&older.1, &newest.1]);
    assert_ne!(ring.checkpoints[0].slot, ring.checkpoints[1].slot);
}

#[test]
fn fields_end_with_their_bytes() {
    let mut fields = Fields(&[1, 2, 3]);
    assert_eq!((fields.byte(), fields.u64()), (Some(1), None));
    assert_eq!(fields.take::<2>(), Some([2, 3]));
}

const SEGMENT_HEADER: &str = "4c5a534b534c4f4701000000000000000101010101010101010101010101010106000000000000000201000000000000";
const RECORD: &str = "060000000000000003010000000000000505050505050505050505050505050515d19b831503787a3e50ca9b2d1756ff16fb130e528c";
const TWO_RECORDS: &str = "e1eb2142ab3148139d7a1131a8b2b4a2";
const DIGEST: &str = "262e838ee8660247633af86ba980d434b81a2e6557aef739eb170580eab571e7";
const DIGEST_OF_NONE: &str = "400fff530bc93f51f1f41cf175e4b0b7801f3032f1387dfa6eaa10e70232d641";
const SLOT_HEADER: &str = "4c5a534b534c4f54010000000000000001010101010101010101010101010101060000000000000002010000000000000600000000000000";
const SLOT_BODY: &str = "fc0d4ce60af1";
const SLOT_TAGS: &str = "e23cbaa153889a1ad895b49d70c0f6395d69e53f549e7fd8a83fe05e678e3fc5";
const ANCHOR: &str = "4c5a534b414e4348010000000000000001010101010101010101010101010101090000000000000002010000000000000505050505050505050505050505050505050505050505050505050505050505ff10fad90eef738f42b5df4c5dc192154c9f573f5a23b6a7f75dd0e5e95cc6b1";
const KEY_ID: &str = "52bccf33503d7ccda59087ac56eadd9b";
const KEYS_HEADER: &str = "4c5a534b4b45595301000000000000000101010101010101010101010101010152bccf33503d7ccda59087ac56eadd9b09000000000000000b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b6411bd4b0d62485c6c5794bd94c6757e";
const KEYS: &str = "3f637eafa374e7502c13869c17324b99";
