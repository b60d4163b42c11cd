//! Memory for pieces of any size, taken and given back one by one: the process's allocator.
//!
//! What is taken often, and in one size, comes from a `Region`.

use super::memory;
use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicI64, Ordering};

/// At multiples of this pieces begin.
pub const ALIGNMENT: usize = 16;

/// Where pieces come from. It does not keep them: who has a piece gives it back, before the heap is dropped.
#[derive(Debug, Default)]
pub struct Heap {
    /// Bytes of which it was told that they are taken.
    told: AtomicI64,
}

impl Heap {
    /// A heap of which nothing was taken.
    pub fn new() -> Heap {
        Heap::default()
    }

    /// A piece of `bytes` bytes, uninitialised, at a multiple of [`ALIGNMENT`].
    ///
    /// Panics if `bytes` is 0. Ends the process if there is no memory, as all allocations do.
    pub fn take(&self, bytes: usize) -> NonNull<u8> {
        let layout = layout(bytes);
        assert!(bytes > 0, "a piece of no bytes");
        // SAFETY: the layout's size is not zero.
        let piece = unsafe { alloc(layout) };
        NonNull::new(piece).unwrap_or_else(|| handle_alloc_error(layout))
    }

    /// Takes a piece back.
    ///
    /// # Safety
    /// `piece` is what [`Heap::take`] of this heap answered to `bytes`, was not given back, and nobody uses it any more.
    pub unsafe fn give_back(&self, piece: NonNull<u8>, bytes: usize) {
        // SAFETY: by the caller's contract it was allocated with this layout, and is not used again.
        unsafe { dealloc(piece.as_ptr(), layout(bytes)) }
    }

    /// Who takes pieces says now and then how many bytes more it has than when it last did; negative if it has fewer. Those who watch how
    /// much memory there is are told ([`memory::is_short`]): a piece by itself is too small for that.
    pub fn tell(&self, bytes: i64) {
        // Relaxed: a sum.
        self.told.fetch_add(bytes, Ordering::Relaxed);
        if let Ok(bytes @ 1..) = usize::try_from(bytes) {
            memory::take(bytes);
        }
    }

    /// The bytes that are taken, by what it was told.
    pub fn told_bytes(&self) -> i64 {
        self.told.load(Ordering::Relaxed)
    }
}

fn layout(bytes: usize) -> Layout {
    Layout::from_size_align(bytes, ALIGNMENT).expect("a piece is smaller than the address space")
}
