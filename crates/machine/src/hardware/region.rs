//! Memory of the engine's arenas: anonymous mappings that ask for huge pages and work without them.
//!
//! A region takes address space that nobody may touch, a little more than asked for, and opens the part of it
//! that starts at a multiple of 2 MiB. What stays closed on either side makes an overrun a fault, and keeps
//! the system from merging two regions in its books, so that [`super::memory::huge_pages_bytes_of`] tells of
//! one.
//!
//! A region of which little will be used is backed by small pages ([`Region::reserve_to_grow`]): a store has some regions for
//! each of its tables, and tests, canaries and explorations make many small stores. So is one that is to have no others ([`Pages`]), by which
//! is measured what huge pages are worth.

use rustix::mm::{MapFlags, MprotectFlags, ProtFlags, mmap_anonymous, mprotect, munmap};
use std::fmt;
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

/// The size of a huge page, to a multiple of which a region's base is aligned.
pub const HUGE_PAGE_BYTES: usize = 2 << 20;

/// As much of a huge page as must be used for one to be worth its memory. Below that, a region's small pages are few enough
/// for the processor to know where each is.
pub const WORTH_A_HUGE_PAGE_BYTES: usize = HUGE_PAGE_BYTES / 4;

/// The smallest page of any system that we run on.
const PAGE_BYTES: usize = 4 << 10;

/// What backs a region.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pages {
    /// Huge ones, as soon as so much is used that they are worth their memory, and the system has some.
    #[default]
    Huge,
    /// Small ones alone, wherever the system would give huge ones unasked, too.
    Small,
}

/// Whether what backs a region makes a difference: a simulated machine's memory has no pages.
pub const HAS_PAGES: bool = true;

/// Zeroed memory, given back when dropped.
///
/// Pages are taken from the system when first touched, so a region may be larger than the memory that is
/// there.
#[derive(Debug)]
pub struct Region {
    /// The whole mapping, closed parts included.
    mapping: NonNull<u8>,
    mapping_bytes: usize,
    base: NonNull<u8>,
    len: usize,
    /// Small pages back it, until it grows; then huge ones do.
    is_small: AtomicBool,
}

/// The system refused a mapping.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegionError {
    /// Bytes asked for.
    pub bytes: usize,
    /// The system's words.
    pub why: String,
}

impl fmt::Display for RegionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the system refused a mapping of {} bytes: {}", self.bytes, self.why)
    }
}

impl std::error::Error for RegionError {}

// SAFETY: a region is an owned range of memory of the process, bound to no thread; it hands out raw pointers
// only, and by the threads that use those answers for exclusion.
unsafe impl Send for Region {}
// SAFETY: as for `Send`; no method changes the region through `&self` except `fault_in`, which is atomic.
unsafe impl Sync for Region {}

impl Region {
    /// Maps `bytes` bytes of zeroes at a multiple of [`HUGE_PAGE_BYTES`].
    pub fn reserve(bytes: usize) -> Result<Region, RegionError> {
        let region = Region::reserve_small_pages(bytes)?;
        advice::back_by_huge_pages(&region);
        Ok(region)
    }

    /// Maps `bytes` bytes as [`Region::reserve`] does, of which `expected` are expected to be used, from the first on. If
    /// those are fewer than [`WORTH_A_HUGE_PAGE_BYTES`], small pages back the region until [`Region::fault_in`] is asked for
    /// more than a huge page; if it is to have [`Pages::Small`], always.
    pub fn reserve_to_grow(bytes: usize, expected: usize, pages: Pages) -> Result<Region, RegionError> {
        if pages == Pages::Huge && expected >= WORTH_A_HUGE_PAGE_BYTES {
            return Region::reserve(bytes);
        }
        let mut region = Region::reserve_small_pages(bytes)?;
        advice::back_by_small_pages(&region);
        region.is_small = (pages == Pages::Huge).into();
        Ok(region)
    }

    /// As [`Region::reserve`], for memory of which little will be used here and there.
    pub(crate) fn reserve_small_pages(bytes: usize) -> Result<Region, RegionError> {
        let refused = |why: String| RegionError { bytes, why };
        let opened_bytes = bytes
            .max(1)
            .checked_next_multiple_of(HUGE_PAGE_BYTES)
            .ok_or_else(|| refused("more than the address space".into()))?;
        // One huge page more to find an aligned start; what it leaves free at the end is at least one page.
        let mapping_bytes = opened_bytes
            .checked_add(HUGE_PAGE_BYTES + PAGE_BYTES)
            .ok_or_else(|| refused("more than the address space".into()))?;
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
        // SAFETY: a new mapping, at an address that the system chooses, aliases nothing.
        let mapping =
            unsafe { mmap_anonymous(std::ptr::null_mut(), mapping_bytes, ProtFlags::empty(), flags) };
        let mapping = mapping.map_err(|why| refused(why.to_string()))?;
        let mapping = NonNull::new(mapping.cast::<u8>()).expect("a mapping is not at address 0");
        let skipped = mapping.as_ptr().align_offset(HUGE_PAGE_BYTES);
        assert!(skipped < HUGE_PAGE_BYTES);
        // SAFETY: `skipped < HUGE_PAGE_BYTES`, which is less than the mapping's length.
        let base = unsafe { mapping.add(skipped) };
        // Built before the next call that can fail, so that its drop unmaps.
        let region = Region { mapping, mapping_bytes, base, len: bytes, is_small: false.into() };
        // SAFETY: the range lies in our own mapping, by `skipped + opened_bytes < mapping_bytes`, and nothing
        // refers to it yet.
        unsafe {
            mprotect(base.as_ptr().cast(), opened_bytes, MprotectFlags::READ | MprotectFlags::WRITE)
                .map_err(|why| refused(why.to_string()))?;
        }
        Ok(region)
    }

    /// How far apart records of `stride` bytes lie once [`Region::elide`] has laid a region out.
    #[inline]
    pub fn spacing(stride: usize, stored_bytes: usize) -> usize {
        let _ = stored_bytes;
        stride
    }

    /// Lays the region out in records of `stride` bytes; answers how far apart they lie, which is what the code that computes a
    /// record's place must use. Here it is `stride`: a simulated machine may store less of a record than it is charged for,
    /// its first `stored_bytes` at least.
    #[inline]
    pub fn elide(&mut self, stride: usize, stored_bytes: usize) -> Result<usize, RegionError> {
        let _ = stored_bytes;
        Ok(stride)
    }

    /// The first byte; as aligned as [`HUGE_PAGE_BYTES`].
    #[inline]
    pub fn base(&self) -> *mut u8 {
        self.base.as_ptr()
    }

    /// Bytes asked for.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether no bytes were asked for.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Takes the pages of `range` from the system now, so that no later access faults. What they hold stays.
    ///
    /// Where the system does not do so at once (`MADV_POPULATE_WRITE`, Linux 5.14), a byte of every page is
    /// rewritten by an atomic instruction; so nobody else should be writing to the range meanwhile, except by
    /// atomics.
    ///
    /// Panics if the range is not in the region.
    pub fn fault_in(&self, range: Range<usize>) {
        assert!(range.start <= range.end && range.end <= self.len, "{range:?} of {} bytes", self.len);
        super::memory::take(range.len());
        if range.end > HUGE_PAGE_BYTES {
            self.grow();
        }
        if !range.is_empty() && !advice::populate(self, &range) {
            self.touch(range);
        }
    }

    /// Gives the pages of `range` back to the system. What they held is lost, at once or later: they may hold zeroes from
    /// here on.
    ///
    /// Panics unless the range is in the region, and of whole huge pages.
    pub(crate) fn release(&mut self, range: Range<usize>) {
        assert!(range.start <= range.end && range.end <= self.len, "{range:?} of {} bytes", self.len);
        assert!([range.start, range.end].iter().all(|end| end.is_multiple_of(HUGE_PAGE_BYTES)), "{range:?}");
        advice::release(self, &range);
    }

    /// More than a huge page is used.
    fn grow(&self) {
        // Relaxed: the second caller need not wait for the advice, which changes nothing that can be read.
        if self.is_small.load(Ordering::Relaxed) && self.is_small.swap(false, Ordering::Relaxed) {
            advice::back_by_huge_pages(self);
        }
    }

    fn opened_bytes(&self) -> usize {
        self.len.max(1).next_multiple_of(HUGE_PAGE_BYTES)
    }

    fn touch(&self, range: Range<usize>) {
        let first_page = range.start - range.start % PAGE_BYTES;
        for offset in (first_page..range.end).step_by(PAGE_BYTES) {
            // SAFETY: `offset < len`, so this is a live byte of the region, and an atomic's alignment is 1.
            let byte = unsafe { &*self.base().add(offset).cast::<AtomicU8>() };
            // Relaxed: changes nothing and publishes nothing.
            byte.fetch_or(0, Ordering::Relaxed);
        }
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: exactly the mapping that `reserve` made; its users borrowed the region or answer for their
        // own raw pointers.
        let unmapped = unsafe { munmap(self.mapping.as_ptr().cast(), self.mapping_bytes) };
        assert!(unmapped.is_ok(), "unmapping our own mapping: {unmapped:?}");
    }
}

/// What Linux can be told of memory.
#[cfg(target_os = "linux")]
mod advice {
    use super::Region;
    use rustix::mm::{Advice, madvise};
    use std::ops::Range;

    pub(super) fn back_by_huge_pages(region: &Region) {
        advise(region, Advice::LinuxHugepage);
    }

    /// Where the system gives huge pages unasked, too.
    pub(super) fn back_by_small_pages(region: &Region) {
        advise(region, Advice::LinuxNoHugepage);
    }

    fn advise(region: &Region, advice: Advice) {
        // SAFETY: the range is the region's own. The advice changes how it is backed, not what it holds; a
        // system without huge pages refuses it, and the region works with small ones.
        let _ = unsafe { madvise(region.base().cast(), region.opened_bytes(), advice) };
    }

    pub(super) fn release(region: &mut Region, range: &Range<usize>) {
        // SAFETY: the range is a part of the region, which is borrowed exclusively; its bytes may be anything afterwards,
        // which the caller was told. A system that refuses keeps them as they are.
        let _ = unsafe { madvise(region.base().add(range.start).cast(), range.len(), Advice::LinuxDontNeed) };
    }

    /// Whether the system took all pages of the range.
    pub(super) fn populate(region: &Region, range: &Range<usize>) -> bool {
        let page_bytes = rustix::param::page_size();
        let start = range.start - range.start % page_bytes;
        let end = range.end.next_multiple_of(page_bytes);
        // SAFETY: the pages lie in the opened part, which ends at a multiple of 2 MiB beyond `len`.
        // Populating faults them in as a write would, and leaves what they hold.
        unsafe { madvise(region.base().add(start).cast(), end - start, Advice::LinuxPopulateWrite) }.is_ok()
    }
}

/// Other systems do as they like.
#[cfg(not(target_os = "linux"))]
mod advice {
    use super::Region;
    use std::ops::Range;

    pub(super) fn back_by_huge_pages(_region: &Region) {}

    pub(super) fn back_by_small_pages(_region: &Region) {}

    pub(super) fn release(_region: &mut Region, _range: &Range<usize>) {}

    pub(super) fn populate(_region: &Region, _range: &Range<usize>) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::{PAGE_BYTES, Region};

    /// The way of systems that do not populate.
    #[test]
    fn touching_keeps_what_is_there() {
        let region = Region::reserve(10 * PAGE_BYTES).expect("ten pages");
        for page in (0..10).step_by(2) {
            // SAFETY: a byte of the region.
            unsafe { region.base().add(page * PAGE_BYTES).write(page as u8 + 1) };
        }
        region.touch(5..10 * PAGE_BYTES - 7);
        for page in 0..10 {
            // SAFETY: as above.
            let byte = unsafe { region.base().add(page * PAGE_BYTES).read() };
            assert_eq!(byte, if page % 2 == 0 { page as u8 + 1 } else { 0 });
        }
    }
}
