//! Stacks of coroutines: cut from slabs, because a stack with a guard of its own takes two mappings, and a system allows
//! some 65,000.
//!
//! A slab is one mapping of 64 stacks side by side, with a guard page below the lowest. Between two stacks there
//! is no guard but a *canary*: the lowest bytes of a stack hold a pattern, which is looked at when the stack is given
//! back, and a program that has overwritten it is ended. So an overflow is found late, or, from the lowest stack of a
//! slab, at once; it is a defect of the simulated program that the same program on hardware, where every stack has a
//! guard, meets as a fault.
//!
//! Memory is taken page by page, as a stack grows. Slabs are given back when the last of their stacks is.

use crate::hardware::region::Region;
use corosensei::stack::StackPointer;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

/// Stacks of a slab.
const STACKS: usize = 64;
const PAGE_BYTES: usize = 4 << 10;
/// Bytes of a canary.
const CANARY_BYTES: usize = 256;
const CANARY: u64 = 0x0DD5_7AC4_0DD5_7AC4;

/// The stack of a coroutine.
pub struct Stack {
    /// Keeps the memory.
    slab: Arc<Slab>,
    /// Which of the slab's stacks.
    number: usize,
}

struct Slab {
    region: Region,
    stack_bytes: usize,
    /// Stacks that nobody has.
    free: Mutex<Vec<usize>>,
}

/// Slabs with free stacks, by any size.
static SLABS: Mutex<Vec<Arc<Slab>>> = Mutex::new(Vec::new());

impl Stack {
    /// A stack of at least `bytes` bytes.
    pub fn new(bytes: usize) -> io::Result<Stack> {
        let bytes = bytes.max(4 * PAGE_BYTES).next_multiple_of(PAGE_BYTES);
        let mut slabs = SLABS.lock().unwrap_or_else(PoisonError::into_inner);
        let with_room = |slab: &&Arc<Slab>| slab.stack_bytes == bytes && slab.has_free();
        let slab = match slabs.iter().find(with_room) {
            Some(slab) => Arc::clone(slab),
            None => {
                let slab = Arc::new(Slab::reserve(bytes)?);
                slabs.push(Arc::clone(&slab));
                slab
            }
        };
        let number = slab.free().pop().expect("found with a free stack, under the lock");
        let stack = Stack { slab, number };
        for word in stack.canary() {
            // SAFETY: a word of the stack's lowest bytes, which nobody uses yet.
            unsafe { word.write(CANARY) };
        }
        Ok(stack)
    }

    fn lowest(&self) -> usize {
        self.slab.region.base().addr() + self.number * self.slab.stack_bytes
    }

    fn canary(&self) -> impl Iterator<Item = *mut u64> {
        let lowest = self.slab.region.base().wrapping_add(self.number * self.slab.stack_bytes).cast::<u64>();
        (0..CANARY_BYTES / size_of::<u64>()).map(move |word| lowest.wrapping_add(word))
    }
}

impl Slab {
    fn reserve(stack_bytes: usize) -> io::Result<Slab> {
        // A region is closed on either side: the guard.
        let region = Region::reserve_small_pages(STACKS * stack_bytes).map_err(io::Error::other)?;
        Ok(Slab { region, stack_bytes, free: Mutex::new((0..STACKS).rev().collect()) })
    }

    fn free(&self) -> std::sync::MutexGuard<'_, Vec<usize>> {
        // A list of numbers, sound after any panic.
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn has_free(&self) -> bool {
        !self.free().is_empty()
    }
}

impl Drop for Stack {
    fn drop(&mut self) {
        // SAFETY: words of the stack's lowest bytes, written when it was taken; its coroutine has ended.
        let intact = self.canary().all(|word| unsafe { word.read() } == CANARY);
        if !intact {
            // Whatever lies below is overwritten as well: not even a panic is safe.
            eprintln!("a coroutine's stack of {} bytes has overflowed: aborting", self.slab.stack_bytes);
            std::process::abort();
        }
        let mut slabs = SLABS.lock().unwrap_or_else(PoisonError::into_inner);
        let free = {
            let mut free = self.slab.free();
            free.push(self.number);
            free.len()
        };
        if free == STACKS {
            slabs.retain(|slab| !Arc::ptr_eq(slab, &self.slab));
        }
    }
}

// SAFETY: the stack's bytes are its own, from `limit` to `base`, both aligned to pages, at least four pages of them, mapped
// for as long as the slab lives, which `self` keeps. Instead of a guard page for each there is one for each slab, and a
// canary: an overflow that meets neither is undefined, which the module says, and is found when the stack is given back.
unsafe impl corosensei::stack::Stack for Stack {
    fn base(&self) -> StackPointer {
        StackPointer::new(self.lowest() + self.slab.stack_bytes).expect("not at address 0")
    }

    fn limit(&self) -> StackPointer {
        StackPointer::new(self.lowest()).expect("not at address 0")
    }
}

#[cfg(test)]
mod tests {
    use super::{STACKS, Stack};
    use corosensei::stack::Stack as _;

    #[test]
    fn stacks_do_not_overlap_and_are_given_back() {
        let bytes = 64 << 10;
        let stacks: Vec<Stack> = (0..STACKS + 3).map(|_| Stack::new(bytes).expect("a stack")).collect();
        let mut places: Vec<_> =
            stacks.iter().map(|stack| (stack.limit().get(), stack.base().get())).collect();
        places.sort_unstable();
        assert!(places.iter().all(|&(limit, base)| base - limit == bytes));
        assert!(places.windows(2).all(|pair| pair[0].1 <= pair[1].0));
        drop(stacks);
        let again = Stack::new(bytes).expect("a stack");
        assert_eq!(again.base().get() - again.limit().get(), bytes);
    }
}
