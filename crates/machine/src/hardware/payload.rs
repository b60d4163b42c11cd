//! Access to the bytes of records, in memory that the caller took from a `Region`.
//!
//! Two ways. Under a lock the bytes are plain: a row is seen in place, or copied by `memcpy`. Without one
//! they race (*silo* 4.4 reads first and validates afterwards), and then every access is a relaxed atomic
//! load or store of an aligned 64-bit word: such a copy may be torn, which the caller must detect, but it is
//! no undefined behaviour.
//!
//! A racing copy walks the row's own words, never the caller's: a partial word first if the start is
//! unaligned, then whole words, then a partial word. A reader takes the bytes that it needs from a partial
//! word; a writer, who is alone by the record's lock, merges its bytes into one.
//!
//! Orderings: all relaxed. What makes a racing copy meaningful is the protocol's business (a version word
//! read before and after, with fences), and stands in the protocol's text.

use std::sync::atomic::{AtomicU64, Ordering};

const WORD_BYTES: usize = size_of::<u64>();

/// Shows `len` bytes at `at` to `f`, in place.
///
/// # Safety
/// The bytes must lie in one live allocation and be initialised, and nobody may write them before `f`
/// returns.
#[inline(always)]
pub unsafe fn view<R>(at: *const u8, len: usize, f: impl FnOnce(&[u8]) -> R) -> R {
    // SAFETY: the caller vouches for `len` live, initialised bytes that nobody writes while the slice lives;
    // the slice ends with `f`, whose signature keeps it from escaping.
    f(unsafe { std::slice::from_raw_parts(at, len) })
}

/// Shows `len` bytes at `at` to `f`, in place, to be changed.
///
/// # Safety
/// The bytes must lie in one live allocation and be initialised, and nobody else may touch them before `f`
/// returns.
#[inline(always)]
pub unsafe fn view_mut<R>(at: *mut u8, len: usize, f: impl FnOnce(&mut [u8]) -> R) -> R {
    // SAFETY: the caller vouches for `len` live, initialised bytes that nobody else touches while the slice
    // lives; the slice ends with `f`, whose signature keeps it from escaping.
    f(unsafe { std::slice::from_raw_parts_mut(at, len) })
}

/// Copies bytes at `at` into `into`.
///
/// # Safety
/// `into.len()` bytes at `at` must lie in one live allocation, be initialised and not overlap `into`, and
/// nobody may write them meanwhile.
#[inline(always)]
pub unsafe fn copy_out(at: *const u8, into: &mut [u8]) {
    // SAFETY: the caller vouches for the source; the destination is a slice of its own, so they do not
    // overlap.
    unsafe { std::ptr::copy_nonoverlapping(at, into.as_mut_ptr(), into.len()) }
}

/// Copies `from` over the bytes at `at`.
///
/// # Safety
/// `from.len()` bytes at `at` must lie in one live allocation and not overlap `from`, and nobody else may
/// touch them meanwhile.
#[inline(always)]
pub unsafe fn copy_in(at: *mut u8, from: &[u8]) {
    // SAFETY: the caller vouches for the destination; the source is a slice of its own, so they do not
    // overlap.
    unsafe { std::ptr::copy_nonoverlapping(from.as_ptr(), at, from.len()) }
}

/// The address of byte `offset` of the record at `record`, for the operations of this module.
///
/// # Safety
/// The record must lie in one live allocation, with at least `offset` bytes.
#[inline(always)]
pub unsafe fn place(record: *mut u8, offset: usize) -> *mut u8 {
    // SAFETY: the caller vouches for the record.
    unsafe { record.byte_add(offset) }
}

/// Puts a value at `at`; what was there is forgotten.
///
/// # Safety
/// `at` must be aligned and lie, with the size of `T`, in one live allocation, and nobody else may touch it
/// meanwhile.
#[inline(always)]
pub unsafe fn put<T: Copy>(at: *mut T, value: T) {
    // SAFETY: the caller vouches for the place.
    unsafe { at.write(value) }
}

/// Takes the value at `at`.
///
/// # Safety
/// A `T` must have been put there, and nobody else may write it meanwhile.
#[inline(always)]
pub unsafe fn take<T: Copy>(at: *const T) -> T {
    // SAFETY: the caller vouches for the value.
    unsafe { at.read() }
}

/// Copies bytes at `at` into `into` while others may write them. The copy may be torn at any word.
///
/// # Safety
/// Every aligned 64-bit word that holds one of the bytes must lie wholly in one live allocation and be
/// initialised, and a thread that writes them meanwhile must do so by [`copy_in_racing`] or by atomic 64-bit
/// stores. They must not overlap `into`.
#[inline(always)]
pub unsafe fn copy_out_racing(at: *const u8, into: &mut [u8]) {
    let skipped = at.addr() % WORD_BYTES;
    // In provenance and value this is the first byte's own word, at most seven bytes back.
    let mut word = at.wrapping_sub(skipped).cast::<AtomicU64>();
    // SAFETY: at each call below, `word` is aligned and holds at least one of the bytes asked for, so by the
    // contract it is a live, initialised word, and concurrent writers are atomic at its size.
    let load = |word: *const AtomicU64| unsafe { (*word).load(Ordering::Relaxed) }.to_le();

    let mut rest = into;
    if skipped != 0 && !rest.is_empty() {
        let (head, tail) = rest.split_at_mut(rest.len().min(WORD_BYTES - skipped));
        put_low_bytes(load(word) >> (8 * skipped), head);
        word = word.wrapping_add(1);
        rest = tail;
    }
    let (quads, rest) = rest.as_chunks_mut::<{ 4 * WORD_BYTES }>();
    for quad in quads {
        // Four at a time, all loaded before the first is stored: they are independent.
        let words =
            [load(word), load(word.wrapping_add(1)), load(word.wrapping_add(2)), load(word.wrapping_add(3))];
        for (bytes, value) in quad.as_chunks_mut::<WORD_BYTES>().0.iter_mut().zip(words) {
            *bytes = value.to_le_bytes();
        }
        word = word.wrapping_add(4);
    }
    let (wholes, rest) = rest.as_chunks_mut::<WORD_BYTES>();
    for bytes in wholes {
        *bytes = load(word).to_le_bytes();
        word = word.wrapping_add(1);
    }
    if !rest.is_empty() {
        put_low_bytes(load(word), rest);
    }
}

/// Copies `from` over the bytes at `at` while others may read them by [`copy_out_racing`].
///
/// The bytes beside them in the first and the last word are written back as they were.
///
/// # Safety
/// Every aligned 64-bit word that holds one of the bytes must lie wholly in one live allocation and be
/// initialised; nobody else may write any byte of those words meanwhile, and a thread that reads them must do so by
/// [`copy_out_racing`] or by atomic 64-bit loads. They must not overlap `from`.
#[inline]
pub unsafe fn copy_in_racing(at: *mut u8, from: &[u8]) {
    let skipped = at.addr() % WORD_BYTES;
    let mut word = at.wrapping_sub(skipped).cast::<AtomicU64>().cast_const();
    // SAFETY: at each call of `load` and `store` below, `word` is aligned and holds at least one of the bytes
    // to write, so by the contract it is a live, initialised word of memory that may be written, and
    // concurrent readers are atomic at its size. An atomic may be stored to through a shared reference.
    let load = |word: *const AtomicU64| unsafe { (*word).load(Ordering::Relaxed) }.to_le();
    // SAFETY: see `load`.
    let store = |word: *const AtomicU64, value: u64| unsafe {
        (*word).store(u64::from_le(value), Ordering::Relaxed);
    };
    // Not a read-modify-write: the caller is the only writer.
    let merge = |word: *const AtomicU64, skipped: usize, bytes: &[u8]| {
        let mask = low_bytes_mask(bytes.len()) << (8 * skipped);
        store(word, (load(word) & !mask) | (get_low_bytes(bytes) << (8 * skipped)));
    };

    let mut rest = from;
    if skipped != 0 && !rest.is_empty() {
        let (head, tail) = rest.split_at(rest.len().min(WORD_BYTES - skipped));
        merge(word, skipped, head);
        word = word.wrapping_add(1);
        rest = tail;
    }
    let (quads, rest) = rest.as_chunks::<{ 4 * WORD_BYTES }>();
    for quad in quads {
        for (n, bytes) in quad.as_chunks::<WORD_BYTES>().0.iter().enumerate() {
            store(word.wrapping_add(n), u64::from_le_bytes(*bytes));
        }
        word = word.wrapping_add(4);
    }
    let (wholes, rest) = rest.as_chunks::<WORD_BYTES>();
    for bytes in wholes {
        store(word, u64::from_le_bytes(*bytes));
        word = word.wrapping_add(1);
    }
    if !rest.is_empty() {
        merge(word, 0, rest);
    }
}

/// A mask over the lowest `n` bytes, `n` from 1 to 7.
#[inline(always)]
fn low_bytes_mask(n: usize) -> u64 {
    assert!((1..WORD_BYTES).contains(&n));
    u64::MAX >> (64 - 8 * n)
}

/// Writes the lowest bytes of `value`, 1 to 7 of them, as 4, 2 and 1: a `memcpy` of unknown length is a call.
#[inline(always)]
fn put_low_bytes(mut value: u64, into: &mut [u8]) {
    assert!((1..WORD_BYTES).contains(&into.len()));
    let mut rest = into;
    if rest.len() & 4 != 0 {
        let (four, others) = rest.split_at_mut(4);
        four.copy_from_slice(&(value as u32).to_le_bytes());
        value >>= 32;
        rest = others;
    }
    if rest.len() & 2 != 0 {
        let (two, others) = rest.split_at_mut(2);
        two.copy_from_slice(&(value as u16).to_le_bytes());
        value >>= 16;
        rest = others;
    }
    if rest.len() & 1 != 0 {
        rest[0] = value as u8;
    }
}

/// The reverse of [`put_low_bytes`]; the upper bytes are zero.
#[inline(always)]
fn get_low_bytes(from: &[u8]) -> u64 {
    assert!((1..WORD_BYTES).contains(&from.len()));
    let (mut value, mut shift, mut rest) = (0, 0, from);
    if rest.len() & 4 != 0 {
        let (four, others) = rest.split_at(4);
        value = u64::from(u32::from_le_bytes(four.try_into().expect("four bytes")));
        (shift, rest) = (32, others);
    }
    if rest.len() & 2 != 0 {
        let (two, others) = rest.split_at(2);
        value |= u64::from(u16::from_le_bytes(two.try_into().expect("two bytes"))) << shift;
        (shift, rest) = (shift + 16, others);
    }
    if rest.len() & 1 != 0 {
        value |= u64::from(rest[0]) << shift;
    }
    value
}
