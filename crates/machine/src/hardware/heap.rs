//! Memory for pieces of any size, taken and given back one by one: the process's allocator.
//!
//! What is taken often, and in one size, comes from a `Region`.

use super::memory;
use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::ptr::NonNull;

/// At multiples of this pieces begin.
pub const ALIGNMENT: usize = 16;

/// Where pieces come from. It does not keep them: who has a piece gives it back, before the heap is dropped.
#[derive(Debug, Default)]
pub struct Heap;

impl Heap {
    /// A heap of which nothing was taken.
    pub fn new() -> Heap {
        Heap
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

    /// So many bytes more are taken than were: tells those who watch how much memory there is ([`memory::is_short`]), which a piece
    /// by itself is too small for.
    pub fn has_grown(&self, bytes: usize) {
        memory::take(bytes);
    }
}

fn layout(bytes: usize) -> Layout {
    Layout::from_size_align(bytes, ALIGNMENT).expect("a piece is smaller than the address space")
}
