//! An allocator that fails on request, for the tests of memory errors. It is compiled with the cargo
//! feature `faults` only, which no released build has.
//!
//! Every allocation of at least `smallest` bytes is numbered, and the one with a chosen number
//! fails. A correct operation raises `MemoryError` then and has changed nothing; one that cannot
//! report the failure ends the process.
#![allow(unsafe_code)]

use pyo3::prelude::*;
use std::alloc::{GlobalAlloc, Layout, System};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

#[global_allocator]
static ALLOCATOR: FailingAllocator = FailingAllocator;

/// Bytes from which an allocation is numbered; `usize::MAX` switches the numbering off.
static SMALLEST: AtomicUsize = AtomicUsize::new(usize::MAX);
/// Numbered allocations so far.
static NUMBERED: AtomicU64 = AtomicU64::new(0);
/// The number that fails; 0 for none.
static FAILING: AtomicU64 = AtomicU64::new(0);

struct FailingAllocator;

fn fails(bytes: usize) -> bool {
    bytes >= SMALLEST.load(Ordering::Relaxed)
        && NUMBERED.fetch_add(1, Ordering::Relaxed) + 1 == FAILING.load(Ordering::Relaxed)
}

// SAFETY: every method is that of the system's allocator, or returns null, as an allocator may.
unsafe impl GlobalAlloc for FailingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if fails(layout.size()) {
            return null_mut();
        }
        // SAFETY: the caller's promises are those that `System` asks for.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if fails(layout.size()) {
            return null_mut();
        }
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if fails(size) {
            return null_mut();
        }
        // SAFETY: as above.
        unsafe { System.realloc(pointer, layout, size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }
}

/// Number the allocations of at least `smallest` bytes from 1 on, and let the one with this number
/// fail; none for 0.
#[pyfunction]
#[pyo3(signature = (number, *, smallest))]
pub(crate) fn fail_allocation(number: u64, smallest: usize) {
    SMALLEST.store(usize::MAX, Ordering::Relaxed);
    NUMBERED.store(0, Ordering::Relaxed);
    FAILING.store(number, Ordering::Relaxed);
    SMALLEST.store(smallest, Ordering::Relaxed);
}

/// Stop numbering allocations; return how many there were since [`fail_allocation`].
#[pyfunction]
pub(crate) fn stop_failing_allocations() -> u64 {
    SMALLEST.store(usize::MAX, Ordering::Relaxed);
    NUMBERED.load(Ordering::Relaxed)
}
