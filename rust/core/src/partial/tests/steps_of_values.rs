//! Values: descriptions have the edges, and what is sealed under them their digest.

use super::*;
use crate::parameters::digest_of_edges;

const EDGES: [f64; 5] = [-1.5, 0.0, 2.0, 7.25, 1e9];

fn distribution(edges: &[f64]) -> PrivateSketch {
    let kind = TableKind::Values {
        rows: ValueRows::Tree,
        edges: digest_of_edges(edges),
    };
    let sketch = sketch_of(kind, noise(Schedule::Batch { horizon: 9 }), 1);
    sketch.with_edges(edges).unwrap()
}

fn description(edges: &[f64]) -> PartialSpec {
    let sketch = distribution(edges);
    assert_eq!(sketch.edges(), edges);
    (sketch.partial_spec(keys(7).public_key(), 0, Some(9))).unwrap()
}

#[test]
fn a_worker_gets_the_edges_of_the_digest() {
    let spec = description(&EDGES);
    let bytes = spec.encode_for_worker(&EDGES);
    assert_eq!(bytes.len(), 100 + 17 + 8 * EDGES.len());
    assert_eq!(bytes[..117], spec.encode());
    let (read, edges) = PartialSpec::decode_for_worker(&bytes).unwrap();
    assert_eq!((read, &*edges), (spec, &EDGES[..]));
    // What is sealed has the digest, and no edges.
    assert_eq!(PartialSpec::decode(&spec.encode()), Ok(spec));
    assert!(PartialSpec::decode(&bytes).is_err());
    let plain = super::spec(TableKind::CountMin, 9);
    let (read, edges) = PartialSpec::decode_for_worker(&plain.encode()).unwrap();
    assert_eq!((read, edges.len()), (plain, 0));
    assert!(PartialSpec::decode_for_worker(&plain.encode_for_worker(&EDGES)).is_err());
}

/// Counts of other bins would be counts of other values.
#[test]
fn other_edges_are_refused() {
    let spec = description(&EDGES);
    let mut moved = EDGES;
    moved[2] = 2.5;
    let bytes = spec.encode_for_worker(&EDGES);
    for (other, expected) in [
        (spec.encode_for_worker(&moved), "edges: those of the digest"),
        (
            spec.encode_for_worker(&EDGES[..4]),
            "edges: those of the digest",
        ),
        (
            spec.encode_for_worker(&EDGES[1..3]),
            "edges: one fewer than there are bins",
        ),
        (
            spec.encode_for_worker(&[f64::NAN; 5]),
            "edges: finite numbers that rise",
        ),
        (spec.encode(), "edges: finite numbers that rise"),
        (bytes[..bytes.len() - 1].to_vec(), "edges of 8 bytes each"),
    ] {
        let found = message(PartialSpec::decode_for_worker(&other).unwrap_err());
        let start = format!("spec: expected {expected}");
        assert!(found.starts_with(&start), "{expected}: {found}");
    }
    let mut others = counted(description(&moved), &[1]);
    let sealed = counted(description(&moved), &[1]).seal().unwrap();
    let found = message(keys(7).open(&sealed, &spec).map(|_| ()).unwrap_err());
    assert!(found.contains("of this table"), "{found}");
    assert!(counted(spec, &[1]).gather(&others).is_err());
    assert!(counted(spec, &[1]).merge(&mut others).is_err());
    assert!(distribution(&EDGES).add_partial(&others).is_err());
}

/// Bins beyond the table are refused before anything is counted.
#[test]
fn bins_are_checked() {
    let mut partial = PartialCounts::new(description(&EDGES)).unwrap();
    assert!(partial.update_many(Items::Ready(&[0, 8]), None).is_err());
    assert!(partial.update_many(Items::Unsigned(&[0]), None).is_err());
    assert_eq!(partial.events(), Ok(0));
    partial.update_many(Items::Ready(&[0, 5]), None).unwrap();
}
