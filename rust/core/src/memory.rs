//! Vectors whose allocation may fail: memory that grows with an input, a table or a release.
//!
//! A vector of the standard library ends the process when there is no memory for it. These return
//! [`Error::Memory`] instead, and callers reserve everything before they change a state. Small
//! memory of a fixed size, such as an error's message or a published name, is not covered.
#![allow(unsafe_code)]

use crate::{Error, Result};
use std::alloc::{Layout, alloc_zeroed};
use std::collections::VecDeque;
use zeroize::{DefaultIsZeroes, Zeroize};

/// Bytes from which a vector asks the system for large pages: in a wide table nearly every addition
/// is in another page, and the processor remembers the places of few.
const LARGE: usize = 4 << 20;
/// Bytes of a large page, on processors whose pages have 4 KiB; elsewhere a multiple of a page.
const LARGE_PAGE: usize = 2 << 20;

/// Bytes of the largest page that is not a large one, a multiple of the smaller ones.
const PAGE: usize = 64 << 10;

/// Integers of which 0 is the value with all bits zero.
///
/// # Safety
///
/// All bits zero must be a value of the type.
pub unsafe trait Integer: DefaultIsZeroes {}

// SAFETY: all bits zero is the integer 0.
unsafe impl Integer for u8 {}
// SAFETY: as above.
unsafe impl Integer for i8 {}
// SAFETY: as above.
unsafe impl Integer for i32 {}
// SAFETY: as above.
unsafe impl Integer for i64 {}
// SAFETY: as above.
unsafe impl Integer for u32 {}
// SAFETY: as above.
unsafe impl Integer for u64 {}

/// Bytes that an allocator keeps beside an allocation, at most.
const BESIDE: usize = 64;

/// The values to allocate for `length` of them: in large memory, as many as make whole large pages
/// together with what the allocator keeps. Linux begins areas of such lengths at a large page, so
/// that the first is one too. What is beyond `length` takes no memory until it is written to.
fn in_whole_pages<T>(length: usize) -> usize {
    let bytes = length.saturating_mul(size_of::<T>());
    if bytes < LARGE || bytes > isize::MAX as usize - 2 * LARGE_PAGE {
        return length;
    }
    ((bytes + BESIDE).next_multiple_of(LARGE_PAGE) - BESIDE) / size_of::<T>()
}

/// An empty vector with room for `length` values.
pub fn room_for<T>(length: usize) -> Result<Vec<T>> {
    let mut values = Vec::new();
    let bytes = length.saturating_mul(size_of::<T>());
    let reserved = values.try_reserve_exact(in_whole_pages::<T>(length));
    reserved.map_err(|_| Error::Memory { bytes })?;
    ask_for_large_pages(values.as_mut_ptr(), values.capacity());
    Ok(values)
}

/// An empty queue with room for `length` values.
pub fn queue_for<T>(length: usize) -> Result<VecDeque<T>> {
    let mut values = VecDeque::new();
    let bytes = length.saturating_mul(size_of::<T>());
    let reserved = values.try_reserve_exact(length);
    reserved.map_err(|_| Error::Memory { bytes })?;
    Ok(values)
}

/// Makes room for exactly `additional` more values.
pub fn reserve<T>(values: &mut Vec<T>, additional: usize) -> Result<()> {
    let bytes = additional.saturating_mul(size_of::<T>());
    let reserved = values.try_reserve_exact(additional);
    reserved.map_err(|_| Error::Memory { bytes })
}

/// Appends a value; the room at least doubles when it is used up.
#[inline]
pub fn push<T>(values: &mut Vec<T>, value: T) -> Result<()> {
    if values.len() == values.capacity() {
        let bytes = values.len().saturating_mul(2 * size_of::<T>());
        (values.try_reserve(1)).map_err(|_| Error::Memory { bytes })?;
    }
    values.push(value);
    Ok(())
}

/// `length` times the same value; every byte is written.
pub fn filled<T: Clone>(value: T, length: usize) -> Result<Vec<T>> {
    let mut values = room_for(length)?;
    values.resize(length, value);
    Ok(values)
}

/// `length` zeros; the system provides the memory when it is written to.
pub fn zeros<T: Integer>(length: usize) -> Result<Vec<T>> {
    let failed = Error::Memory {
        bytes: length.saturating_mul(size_of::<T>()),
    };
    let capacity = in_whole_pages::<T>(length);
    let Ok(layout) = Layout::array::<T>(capacity) else {
        return Err(failed);
    };
    if layout.size() == 0 {
        return Ok(Vec::new());
    }
    // SAFETY: the layout is that of an array of `capacity` values and not of size 0.
    let pointer = unsafe { alloc_zeroed(layout) };
    if pointer.is_null() {
        return Err(failed);
    }
    ask_for_large_pages(pointer, layout.size());
    // SAFETY: the global allocator returned the pointer for this layout, and all bits zero are
    // `length` values of an `Integer`.
    Ok(unsafe { Vec::from_raw_parts(pointer.cast(), length, capacity) })
}

/// Asks for large pages for the memory of `length` values that were not written yet, if it is
/// large. Without them it is used as it is.
#[cfg(target_os = "linux")]
fn ask_for_large_pages<T>(first: *mut T, length: usize) {
    let bytes = length * size_of::<T>();
    // The bytes of the allocator before the first value are in its page.
    let start = first.addr() / PAGE * PAGE;
    let end = (first.addr() + bytes) / LARGE_PAGE * LARGE_PAGE;
    if bytes < LARGE || start >= end {
        return;
    }
    // SAFETY: the advice changes no value, whatever is in the range. An error means that the system
    // has no large pages.
    unsafe {
        libc::madvise(
            first.with_addr(start).cast(),
            end - start,
            libc::MADV_HUGEPAGE,
        )
    };
}

/// Other systems choose their pages alone.
#[cfg(not(target_os = "linux"))]
fn ask_for_large_pages<T>(_first: *mut T, _length: usize) {}

/// A copy of some values.
pub fn copied<T: Copy>(values: &[T]) -> Result<Vec<T>> {
    let mut copy = room_for(values.len())?;
    copy.extend_from_slice(values);
    Ok(copy)
}

/// The values of an iterator that knows their number.
pub fn collected<T>(values: impl ExactSizeIterator<Item = T>) -> Result<Vec<T>> {
    let mut collected = room_for(values.len())?;
    collected.extend(values);
    Ok(collected)
}

/// Overwrites values with zeros, also where nothing reads them any more; eight bytes at a time,
/// because the compiler keeps each write.
pub fn wipe<T: Integer>(values: &mut [T]) {
    // SAFETY: any eight bytes are a value of u64, which has no invalid ones, and zeros are values
    // of an `Integer`.
    let (before, words, after) = unsafe { values.align_to_mut::<u64>() };
    before.zeroize();
    words.zeroize();
    after.zeroize();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_equal_those_of_the_standard_library() {
        for length in [0, 1, 7, 4096] {
            assert_eq!(zeros::<i32>(length), Ok(vec![0; length]));
            assert_eq!(zeros::<u64>(length), Ok(vec![0; length]));
            assert_eq!(filled(7_u8, length), Ok(vec![7; length]));
            let values: Vec<i64> = (0..length as i64).collect();
            assert_eq!(copied(&values), Ok(values.clone()));
            assert_eq!(collected(values.iter().copied()), Ok(values.clone()));
            let mut pushed = Vec::new();
            for &value in &values {
                push(&mut pushed, value).unwrap();
            }
            assert_eq!(pushed, values);
            assert!(room_for::<u8>(length).unwrap().capacity() >= length);
            assert!(queue_for::<u8>(length).unwrap().capacity() >= length);
        }
    }

    #[test]
    fn bytes_are_wiped_at_any_alignment() {
        for start in 0..9 {
            for length in 0..40 {
                let mut bytes = [7_u8; 64];
                wipe(&mut bytes[start..start + length]);
                let left = |at: usize| !(start..start + length).contains(&at);
                assert!(
                    bytes
                        .iter()
                        .enumerate()
                        .all(|(at, &byte)| (byte == 7) == left(at))
                );
            }
        }
    }

    /// The kernel marks the memory of a large vector.
    #[cfg(target_os = "linux")]
    #[test]
    fn large_vectors_ask_for_large_pages() {
        if !std::path::Path::new("/sys/kernel/mm/transparent_hugepage").exists() {
            return;
        }
        let is_marked = |address: usize| {
            let maps = std::fs::read_to_string("/proc/self/smaps").unwrap();
            let mut is_there = false;
            for line in maps.lines() {
                let range = line.split(' ').next().and_then(|word| word.split_once('-'));
                let ends = range.map(|(start, end)| {
                    [start, end].map(|end| usize::from_str_radix(end, 16).unwrap_or_default())
                });
                match ends {
                    Some([start, end]) => is_there = (start..end).contains(&address),
                    None if is_there && line.starts_with("VmFlags:") => {
                        return line.split(' ').any(|flag| flag == "hg");
                    }
                    None => {}
                }
            }
            unreachable!("every address of a vector is mapped")
        };
        let large = zeros::<i32>(4 << 20).unwrap();
        assert!(is_marked(large[large.len() / 2..].as_ptr().addr()));
        let room = room_for::<i64>(2 << 20).unwrap();
        assert!(is_marked(room.as_ptr().addr() + (8 << 20)));
    }

    /// From 4 MiB on, with the bytes beside it; not so much more that there is no such memory.
    #[test]
    fn large_memory_is_allocated_in_whole_large_pages() {
        let page = LARGE_PAGE;
        for (bytes, allocated) in [
            (0, 0),
            (LARGE - 1, LARGE - 1),
            (LARGE, LARGE + page - BESIDE),
            (LARGE + page - BESIDE, LARGE + page - BESIDE),
            (LARGE + page - BESIDE + 1, LARGE + 2 * page - BESIDE),
            (isize::MAX as usize, isize::MAX as usize),
            (usize::MAX, usize::MAX),
        ] {
            assert_eq!(in_whole_pages::<u8>(bytes), allocated);
        }
        assert_eq!(in_whole_pages::<i64>(1 << 20), (10 << 20) / 8 - 8);
        assert_eq!(in_whole_pages::<i64>(usize::MAX), usize::MAX);
        assert_eq!(in_whole_pages::<()>(usize::MAX), usize::MAX);
        let zeros = zeros::<i32>(4 << 20).unwrap();
        assert_eq!(
            (zeros.len(), zeros.capacity()),
            (4 << 20, (18 << 20) / 4 - 16)
        );
    }

    #[test]
    fn too_much_memory_is_an_error() {
        for length in [usize::MAX, usize::MAX / 8, 1 << 60] {
            let bytes = length.saturating_mul(8);
            assert_eq!(zeros::<i64>(length), Err(Error::Memory { bytes }));
            assert_eq!(filled(1_u64, length), Err(Error::Memory { bytes }));
            assert_eq!(room_for::<u64>(length), Err(Error::Memory { bytes }));
            assert_eq!(queue_for::<u64>(length), Err(Error::Memory { bytes }));
        }
    }
}
