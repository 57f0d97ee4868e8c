//! Fuzz target: damaged releases, with the old and with a right checksum. What is accepted encodes to
//! itself, and n bytes allocate a few times n. `PROPTEST_CASES` sets the number of cases.
#![allow(unsafe_code)]

#[path = "../../text/tests/edits/mod.rs"]
mod edits;

use edits::damaged;
use lazysketch_core::release::codec;
use proptest::prelude::*;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::path::Path;

const CHECKSUM: usize = 32;
const MULTIPLE: usize = 64;
const CONSTANT: usize = 1 << 22; // tables of mechanisms, made once

thread_local! {
    static ALLOCATED: Cell<usize> = const { Cell::new(0) };
}

/// The allocator of the system, which counts the bytes that a thread asks for.
struct Counting;

// SAFETY: every call is passed on unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATED.with(|bytes| bytes.set(bytes.get().saturating_add(layout.size())));
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The bytes of a release of every kind.
fn wholes() -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/releases");
    let mut paths: Vec<_> = folder
        .read_dir()
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.retain(|path| path.extension().is_some_and(|kind| kind == "lzs"));
    paths.sort();
    assert!(paths.len() > 10);
    paths
        .iter()
        .map(|path| std::fs::read(path).unwrap())
        .collect()
}

/// The bytes with a right checksum, as an attacker would write them.
fn resealed(mut bytes: Vec<u8>) -> Vec<u8> {
    bytes.truncate(bytes.len().saturating_sub(CHECKSUM));
    let checksum = blake3::hash(&bytes);
    bytes.extend(checksum.as_bytes());
    bytes
}

fn check(bytes: &[u8]) -> Result<(), TestCaseError> {
    ALLOCATED.set(0);
    let decoded = codec::decode_with_names(bytes);
    let allocated = ALLOCATED.get();
    prop_assert!(
        allocated <= MULTIPLE * bytes.len() + CONSTANT,
        "{allocated} bytes allocated"
    );
    if let Ok((release, names)) = decoded {
        prop_assert_eq!(
            &codec::encode_with_names(&release, &names).unwrap()[..],
            bytes
        );
    }
    Ok(())
}

proptest! {
    #[test]
    fn damaged_releases(bytes in damaged(wholes())) {
        check(&bytes)?;
        check(&resealed(bytes))?;
    }
}
