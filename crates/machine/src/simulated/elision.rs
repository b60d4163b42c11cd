//! Elided memory: rows of which the machine is charged for every line, and the host stores a prefix.
//!
//! What a transaction waits for are lines; what is in the middle of a row's thousand bytes matters to no result. So a
//! region may be *elided*: its records lie at a *charged stride* in simulated memory and at a smaller *stored stride* on the
//! host, and of each only the first stored bytes exist. Reading the others gives zeroes, and what is written there is
//! forgotten. 20 million rows of 1 KB then take the host less than 2 GB, and the machine 20.
//!
//! A pointer to a record, and to its stored bytes, is a pointer as everywhere. A byte that is not stored has no address in
//! the region, so [`place`] gives it one elsewhere: in the region's *shadow*, address space as large as the charged
//! region, in which nothing is ever touched. `payload` and prefetching take either; nothing else may be given an address
//! in a shadow.

use super::memory_map::{Record, record_of};
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};

/// How a region is elided.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Elision {
    /// Bytes from one record to the next in simulated memory; a multiple of 16.
    pub charged_stride: usize,
    /// Bytes from one record to the next on the host; a multiple of 16, at most `charged_stride`. So many bytes of every
    /// record are stored.
    pub stored_stride: usize,
    /// The first byte of the stored records on the host.
    pub(super) stored_base: usize,
    /// The first byte of the shadow.
    pub(super) shadow_base: usize,
    /// Whether the record is found by an address in the shadow.
    pub(super) is_shadow: bool,
}

/// Whether any region was ever elided: where none was, nothing has to be looked up.
static ANY: AtomicBool = AtomicBool::new(false);

/// From now on there are elided regions.
pub(super) fn is_used() {
    // Relaxed: who is told of an elided region's addresses is told afterwards.
    ANY.store(true, Ordering::Relaxed);
}

impl Elision {
    pub(super) fn new(charged_stride: usize, stored_bytes: usize) -> Elision {
        assert!(charged_stride.is_multiple_of(16) && charged_stride > 0, "records of {charged_stride} bytes");
        let stored_stride = stored_bytes.next_multiple_of(16).clamp(16, charged_stride);
        Elision { charged_stride, stored_stride, stored_base: 0, shadow_base: 0, is_shadow: false }
    }

    /// The charged offset in the region of an address in it or in its shadow.
    #[inline]
    pub(super) fn charged_offset(&self, address: usize) -> usize {
        if self.is_shadow {
            return address.wrapping_sub(self.shadow_base);
        }
        let offset = address.wrapping_sub(self.stored_base);
        offset / self.stored_stride * self.charged_stride + offset % self.stored_stride
    }
}

/// The address of byte `offset` of the record at `record`: of a region that is not elided, simply that. For `payload` and
/// prefetching.
#[inline]
pub(super) fn place(record: *mut u8, offset: usize) -> *mut u8 {
    // Relaxed: see `is_used`.
    if !ANY.load(Ordering::Relaxed) {
        return record.wrapping_byte_add(offset);
    }
    let elision = record_of(record.addr()).and_then(Record::elision);
    match elision {
        Some(elision) if offset >= elision.stored_stride => std::ptr::without_provenance_mut(
            elision.shadow_base + elision.charged_offset(record.addr()) + offset,
        ),
        _ => record.wrapping_byte_add(offset),
    }
}

/// How many of `len` bytes at `at` are stored, if not all are.
#[inline]
pub(super) fn stored(at: *const u8, len: usize) -> Option<usize> {
    // Relaxed: see `is_used`.
    if !ANY.load(Ordering::Relaxed) {
        return None;
    }
    let elision = record_of(at.addr())?.elision()?;
    if elision.is_shadow {
        return Some(0);
    }
    let left = elision.stored_stride - (at.addr() - elision.stored_base) % elision.stored_stride;
    (left < len).then_some(left)
}

thread_local! {
    /// Zeroes, whenever nobody has them.
    static SCRATCH: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// Shows `f` `len` bytes, of which `load` fills in the first `stored` and the others are zeroes; afterwards `keep` sees the
/// first again.
pub(super) fn with_scratch<R>(
    stored: usize,
    len: usize,
    load: impl FnOnce(&mut [u8]),
    f: impl FnOnce(&mut [u8]) -> R,
    keep: impl FnOnce(&[u8]),
) -> R {
    // Taken, so that `f` may see another row meanwhile; if `f` panics, the next one starts anew.
    let mut scratch = SCRATCH.take();
    if scratch.len() < len {
        scratch.resize(len, 0);
    }
    let bytes = &mut scratch[..len];
    load(&mut bytes[..stored]);
    let result = f(bytes);
    keep(&bytes[..stored]);
    bytes.fill(0);
    SCRATCH.set(scratch);
    result
}
