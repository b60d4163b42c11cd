//! Access to the bytes of records: the hardware's, with every cache line that is touched noted.
//!
//! In an exploration every line is a scheduling point: copies go line by line, so that another core may come between; a
//! racing copy may be torn once more, in the middle of each line. Bytes seen in place cannot be torn by another core, for
//! the closure that sees them is not interrupted.
//!
//! In a simulation the lines of an operation are charged together, as far as they overlap, and then all is done at once.
//!
//! Of elided rows (`elision`) there is a stored prefix, which may be no bytes at all, and zeroes.

use super::access::{Access, access_at, acts_directly, timed};
use super::elision::{self, with_scratch};
use crate::hardware::payload as hardware;
use std::ops::Range;

const LINE_BYTES: usize = 64;
const WORD_BYTES: usize = 8;

/// Shows `len` bytes at `at` to `f`, in place.
///
/// # Safety
/// As for [`hardware::view`](crate::hardware::payload::view).
#[inline]
pub unsafe fn view<R>(at: *const u8, len: usize, f: impl FnOnce(&[u8]) -> R) -> R {
    touch(Access::PayloadRead, at, len);
    if let Some(stored) = elision::stored(at, len) {
        // SAFETY: those of the bytes that the caller vouches for which are stored.
        let load = |prefix: &mut [u8]| unsafe { hardware::copy_out(at, prefix) };
        return with_scratch(stored, len, load, |bytes| f(bytes), |_| ());
    }
    // SAFETY: the caller's promise is the one that is asked for.
    unsafe { hardware::view(at, len, f) }
}

/// Shows `len` bytes at `at` to `f`, in place, to be changed.
///
/// # Safety
/// As for [`hardware::view_mut`](crate::hardware::payload::view_mut).
#[inline]
pub unsafe fn view_mut<R>(at: *mut u8, len: usize, f: impl FnOnce(&mut [u8]) -> R) -> R {
    touch(Access::PayloadWrite, at, len);
    if let Some(stored) = elision::stored(at, len) {
        // SAFETY: those of the bytes that the caller vouches for which are stored.
        let load = |prefix: &mut [u8]| unsafe { hardware::copy_out(at, prefix) };
        // SAFETY: as above.
        let keep = |prefix: &[u8]| unsafe { hardware::copy_in(at, prefix) };
        return with_scratch(stored, len, load, f, keep);
    }
    // SAFETY: the caller's promise is the one that is asked for.
    unsafe { hardware::view_mut(at, len, f) }
}

/// Copies bytes at `at` into `into`.
///
/// # Safety
/// As for [`hardware::copy_out`](crate::hardware::payload::copy_out).
#[inline]
pub unsafe fn copy_out(at: *const u8, into: &mut [u8]) {
    if let Some(stored) = touch_at_once(Access::PayloadRead, at, into.len()) {
        into[stored..].fill(0);
        // SAFETY: those of the bytes that the caller vouches for which are stored.
        return unsafe { hardware::copy_out(at, &mut into[..stored]) };
    }
    for line in lines(at, into.len()) {
        access_at(Access::PayloadRead, at.wrapping_add(line.start));
        // SAFETY: part of the bytes that the caller vouches for.
        unsafe { hardware::copy_out(at.wrapping_add(line.start), &mut into[line]) }
    }
}

/// Copies `from` over the bytes at `at`.
///
/// # Safety
/// As for [`hardware::copy_in`](crate::hardware::payload::copy_in).
#[inline]
pub unsafe fn copy_in(at: *mut u8, from: &[u8]) {
    if let Some(stored) = touch_at_once(Access::PayloadWrite, at, from.len()) {
        // SAFETY: those of the bytes that the caller vouches for which are stored.
        return unsafe { hardware::copy_in(at, &from[..stored]) };
    }
    for line in lines(at, from.len()) {
        access_at(Access::PayloadWrite, at.wrapping_add(line.start));
        // SAFETY: part of the bytes that the caller vouches for.
        unsafe { hardware::copy_in(at.wrapping_add(line.start), &from[line]) }
    }
}

/// Puts a value at `at`; what was there is forgotten.
///
/// # Safety
/// As for [`hardware::put`](crate::hardware::payload::put).
#[inline]
pub unsafe fn put<T: Copy>(at: *mut T, value: T) {
    touch(Access::PayloadWrite, at.cast(), size_of::<T>());
    // SAFETY: the caller's promise is the one that is asked for.
    unsafe { hardware::put(at, value) }
}

/// Takes the value at `at`.
///
/// # Safety
/// As for [`hardware::take`](crate::hardware::payload::take).
#[inline]
pub unsafe fn take<T: Copy>(at: *const T) -> T {
    touch(Access::PayloadRead, at.cast(), size_of::<T>());
    // SAFETY: the caller's promise is the one that is asked for.
    unsafe { hardware::take(at) }
}

/// Copies bytes at `at` into `into` while others may write them. The copy may be torn.
///
/// # Safety
/// As for [`hardware::copy_out_racing`](crate::hardware::payload::copy_out_racing).
#[inline]
pub unsafe fn copy_out_racing(at: *const u8, into: &mut [u8]) {
    if let Some(stored) = touch_at_once(Access::PayloadRead, at, into.len()) {
        into[stored..].fill(0);
        // SAFETY: those of the bytes that the caller vouches for which are stored.
        return unsafe { hardware::copy_out_racing(at, &mut into[..stored]) };
    }
    for (part, first) in torn_lines(at, into.len()) {
        access_at(if first { Access::PayloadRead } else { Access::Tear }, at.wrapping_add(part.start));
        // SAFETY: part of the bytes that the caller vouches for, and so are the words that hold them.
        unsafe { hardware::copy_out_racing(at.wrapping_add(part.start), &mut into[part]) }
    }
}

/// Copies `from` over the bytes at `at` while others may read them by [`copy_out_racing`].
///
/// # Safety
/// As for [`hardware::copy_in_racing`](crate::hardware::payload::copy_in_racing).
#[inline]
pub unsafe fn copy_in_racing(at: *mut u8, from: &[u8]) {
    if let Some(stored) = touch_at_once(Access::PayloadWrite, at, from.len()) {
        // SAFETY: those of the bytes that the caller vouches for which are stored.
        return unsafe { hardware::copy_in_racing(at, &from[..stored]) };
    }
    for (part, first) in torn_lines(at, from.len()) {
        access_at(if first { Access::PayloadWrite } else { Access::Tear }, at.wrapping_add(part.start));
        // SAFETY: part of the bytes that the caller vouches for, and so are the words that hold them.
        unsafe { hardware::copy_in_racing(at.wrapping_add(part.start), &from[part]) }
    }
}

/// The address of byte `offset` of the record at `record`, for the operations of this module: of a record that is stored
/// as a whole, simply that byte.
///
/// # Safety
/// As for [`hardware::place`](crate::hardware::payload::place).
#[inline]
pub unsafe fn place(record: *mut u8, offset: usize) -> *mut u8 {
    elision::place(record, offset)
}

/// Notes a copy whose lines are not looked at one by one: in a simulation, of elided rows, and where nobody asks for lines. Answers how many of its bytes
/// are stored.
#[inline]
fn touch_at_once(kind: Access, at: *const u8, len: usize) -> Option<usize> {
    let stored = elision::stored(at, len);
    if stored.is_none() && timed().is_none() && !acts_directly() {
        return None;
    }
    touch(kind, at, len);
    Some(stored.unwrap_or(len))
}

/// Notes that `len` bytes at `at` are read or written.
#[inline]
fn touch(kind: Access, at: *const u8, len: usize) {
    match timed() {
        Some(machine) => machine.access_range(kind, at.addr(), len),
        None if acts_directly() => {}
        None => lines(at, len).for_each(|line| access_at(kind, at.wrapping_add(line.start))),
    }
}

/// The parts, in offsets from `at`, into which cache lines cut `len` bytes. Regions are aligned, so that the
/// cuts follow from the offset in the region.
fn lines(at: *const u8, len: usize) -> impl Iterator<Item = Range<usize>> {
    let skipped = at.addr() % LINE_BYTES;
    let cut = move |line: usize| (line * LINE_BYTES).saturating_sub(skipped).min(len);
    (0..(skipped + len).div_ceil(LINE_BYTES))
        .map(move |line| cut(line)..cut(line + 1))
        .filter(|part| !part.is_empty())
}

/// [`lines`], each cut once more at the word in its middle; with whether it is the first part of its line.
fn torn_lines(at: *const u8, len: usize) -> impl Iterator<Item = (Range<usize>, bool)> {
    let skipped = at.addr() % WORD_BYTES;
    lines(at, len).flat_map(move |line| {
        let middle = (skipped + line.start.midpoint(line.end)) / WORD_BYTES * WORD_BYTES;
        let middle = middle.saturating_sub(skipped).max(line.start);
        let halves = [(line.start..middle, true), (middle..line.end, middle == line.start)];
        halves.into_iter().filter(|(part, _)| !part.is_empty())
    })
}

#[cfg(test)]
mod tests {
    use super::{LINE_BYTES, WORD_BYTES, lines, torn_lines};

    /// Every alignment and length: the parts join up to the whole, and cut where they should.
    #[test]
    fn parts_cover_the_bytes_once() {
        for skipped in 0..LINE_BYTES {
            for len in 0..3 * LINE_BYTES {
                let at = std::ptr::without_provenance::<u8>(4096 + skipped);
                let mut covered = 0;
                for line in lines(at, len) {
                    assert_eq!(line.start, covered);
                    assert_eq!((skipped + line.start) / LINE_BYTES, (skipped + line.end - 1) / LINE_BYTES);
                    covered = line.end;
                }
                assert_eq!(covered, len);
                let mut covered = 0;
                for (part, first) in torn_lines(at, len) {
                    assert_eq!(part.start, covered);
                    assert!(part.start == 0 || (skipped + part.start).is_multiple_of(WORD_BYTES));
                    assert_eq!(first, part.start == 0 || (skipped + part.start).is_multiple_of(LINE_BYTES));
                    covered = part.end;
                }
                assert_eq!(covered, len);
                assert_eq!(torn_lines(at, len).filter(|&(_, first)| first).count(), lines(at, len).count());
            }
        }
    }
}
