//! Memory for pieces of any size, taken and given back one by one: the process's allocator.
//!
//! What is taken often, and in one size, comes from a `Region`. Who takes and gives back again and again, in a few sizes, keeps [`Pieces`]
//! at hand: they are cut from slabs of huge pages, unless there are to be none, and what comes back waits for the next of its size, so that neither asks the process's
//! allocator, nor the system. A piece that waits says itself which one waits behind it.

use super::memory;
use super::region::{Pages as Backing, Region};
use super::shared::Arc;
use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Mutex, PoisonError};

/// At multiples of this pieces begin.
pub const ALIGNMENT: usize = 16;

/// Where pieces come from. It does not keep them: who has a piece gives it back, before the heap is dropped.
#[derive(Debug, Default)]
pub struct Heap {
    /// Bytes of which it was told that they are taken.
    told: AtomicI64,
    slabs: Mutex<Slabs>,
}

/// Regions from which slabs are cut, and what of the last one is left. They are given back to the system with the heap.
#[derive(Debug, Default)]
struct Slabs {
    regions: Vec<Region>,
    used: usize,
    backing: Backing,
}

impl Heap {
    /// A heap of which nothing was taken.
    pub fn new() -> Heap {
        Heap::default()
    }

    /// The same, whose slabs are backed by these pages. What backs pieces that are not cut from slabs is the process's allocator's affair.
    pub fn of_pages(backing: Backing) -> Heap {
        Heap { slabs: Mutex::new(Slabs { backing, ..Slabs::default() }), ..Heap::default() }
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

    /// Memory for pieces of one size, which it has until it is dropped.
    fn slab(&self) -> NonNull<u8> {
        self.tell(SLAB_BYTES as i64);
        self.slabs.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Many pieces are to be made: asks the system for memory for them now, unless it has before.
    pub fn provide(&self) {
        self.slabs.lock().unwrap_or_else(PoisonError::into_inner).provide();
    }

    /// The bytes that are taken, by what it was told.
    pub fn told_bytes(&self) -> i64 {
        self.told.load(Ordering::Relaxed)
    }
}

/// Bytes that are cut into pieces of one size.
const SLAB_BYTES: usize = 64 << 10;
/// Bytes of the first region, of small pages, for stores that make few pieces; and of each of the others.
const REGION_BYTES: [usize; 2] = [2 << 20, 256 << 20];

const _: () =
    assert!(REGION_BYTES[0].is_multiple_of(SLAB_BYTES) && REGION_BYTES[1].is_multiple_of(SLAB_BYTES));

impl Slabs {
    fn provide(&mut self) {
        if self.regions.is_empty() {
            let region = Region::reserve_to_grow(REGION_BYTES[1], REGION_BYTES[1], self.backing);
            self.regions.push(region.unwrap_or_else(|error| panic!("{error}")));
        }
    }

    fn take(&mut self) -> NonNull<u8> {
        if self.regions.last().is_none_or(|last| self.used == last.len()) {
            let region = match self.regions.is_empty() {
                true => Region::reserve_to_grow(REGION_BYTES[0], 0, self.backing),
                false => Region::reserve_to_grow(REGION_BYTES[1], REGION_BYTES[1], self.backing),
            };
            self.regions.push(region.unwrap_or_else(|error| panic!("{error}")));
            self.used = 0;
        }
        let region = self.regions.last().expect("there is one now");
        // SAFETY: the region's length is a multiple of a slab's, and is not used up.
        let slab = unsafe { region.base().add(self.used) };
        self.used += SLAB_BYTES;
        NonNull::new(slab).expect("a region is not at address 0")
    }
}

/// Sizes of [`Pieces`] are multiples of this, a line: no two share one.
const STEP_BYTES: usize = 64;
/// Of what is larger than so many steps the process's allocator has each piece.
const MOST_STEPS: usize = 64;
/// The largest piece that whoever gives it back keeps for itself.
pub const MOST_BYTES: usize = STEP_BYTES * MOST_STEPS;

const _: () = assert!(STEP_BYTES.is_multiple_of(ALIGNMENT) && MOST_BYTES <= SLAB_BYTES);

/// Pieces of a heap that one thread at a time has at hand.
#[derive(Debug, Default)]
pub struct Pieces {
    heap: Arc<Heap>,
    /// By their size in steps.
    sizes: Vec<OfOneSize>,
}

#[derive(Clone, Debug, Default)]
struct OfOneSize {
    /// The one that came back last. Each begins with the address of the one that came back before it.
    given_back: Option<NonNull<u8>>,
    /// The rest of the last slab: so many pieces, behind `cut` bytes.
    slab: Option<NonNull<u8>>,
    cut: usize,
}

impl OfOneSize {
    #[inline]
    fn pop(&mut self) -> Option<NonNull<u8>> {
        let piece = self.given_back?;
        // SAFETY: `push` has written it, and nobody has had the piece since; pieces are aligned to steps.
        self.given_back = unsafe { piece.cast::<Option<NonNull<u8>>>().read() };
        Some(piece)
    }

    /// # Safety
    /// The piece is of this size, and nobody uses it any more.
    #[inline]
    unsafe fn push(&mut self, piece: NonNull<u8>) {
        // SAFETY: it has a step of bytes at least, and is aligned to one; by the caller's contract nobody else looks.
        unsafe { piece.cast::<Option<NonNull<u8>>>().write(self.given_back) };
        self.given_back = Some(piece);
    }
}

// SAFETY: pieces that nobody else has; where they are means the same to every thread.
unsafe impl Send for Pieces {}

impl Pieces {
    /// None yet, of this heap.
    pub fn new(heap: &Arc<Heap>) -> Pieces {
        Pieces { heap: Arc::clone(heap), sizes: Vec::new() }
    }

    /// As [`Heap::take`].
    #[inline]
    pub fn take(&mut self, bytes: usize) -> NonNull<u8> {
        let steps = bytes.div_ceil(STEP_BYTES);
        match self.sizes.get_mut(steps).and_then(OfOneSize::pop) {
            Some(piece) => piece,
            None => self.take_new(steps, bytes),
        }
    }

    #[cold]
    fn take_new(&mut self, steps: usize, bytes: usize) -> NonNull<u8> {
        assert!(bytes > 0, "a piece of no bytes");
        if steps > MOST_STEPS {
            self.heap.tell(bytes as i64);
            return self.heap.take(bytes);
        }
        if self.sizes.len() <= steps {
            self.sizes.resize(steps + 1, OfOneSize::default());
        }
        let size = &mut self.sizes[steps];
        let slab = match size.slab {
            Some(slab) if size.cut + steps * STEP_BYTES <= SLAB_BYTES => slab,
            _ => {
                size.cut = 0;
                *size.slab.insert(self.heap.slab())
            }
        };
        // SAFETY: so many bytes are left of the slab, by the condition above, or because it is a whole one.
        let piece = unsafe { slab.add(size.cut) };
        size.cut += steps * STEP_BYTES;
        piece
    }

    /// Takes a piece back.
    ///
    /// # Safety
    /// `piece` is what [`Pieces::take`] of this heap answered to `bytes`, was not given back, and nobody uses it any more.
    #[inline]
    pub unsafe fn give_back(&mut self, piece: NonNull<u8>, bytes: usize) {
        match self.sizes.get_mut(bytes.div_ceil(STEP_BYTES)) {
            // SAFETY: by the caller's contract the piece, of a step at least, is nobody's.
            Some(size) => unsafe { size.push(piece) },
            // SAFETY: by the caller's contract.
            None => unsafe { self.give_back_large(piece, bytes) },
        }
    }

    /// # Safety
    /// As for [`Pieces::give_back`].
    #[cold]
    unsafe fn give_back_large(&mut self, piece: NonNull<u8>, bytes: usize) {
        assert!(bytes > MOST_BYTES, "a piece of a size of which none was taken");
        self.heap.tell(-(bytes as i64));
        // SAFETY: by the caller's contract, of the process's allocator, for it is large.
        unsafe { self.heap.give_back(piece, bytes) }
    }
}

fn layout(bytes: usize) -> Layout {
    Layout::from_size_align(bytes, ALIGNMENT).expect("a piece is smaller than the address space")
}

#[cfg(test)]
mod tests {
    use super::{Backing, Heap, REGION_BYTES, SLAB_BYTES};
    use crate::hardware::memory::huge_pages_bytes_of;
    use std::sync::PoisonError;

    #[test]
    fn slabs_have_no_huge_pages_if_they_are_to_have_none() {
        let heap = Heap::of_pages(Backing::Small);
        for _ in 0..=REGION_BYTES[0] / SLAB_BYTES {
            heap.slab();
        }
        let slabs = heap.slabs.lock().unwrap_or_else(PoisonError::into_inner);
        let second = &slabs.regions[1];
        assert_eq!(second.len(), REGION_BYTES[1]);
        second.fault_in(0..4 * REGION_BYTES[0]);
        assert!(huge_pages_bytes_of(second).is_none_or(|bytes| bytes == 0));
    }
}
