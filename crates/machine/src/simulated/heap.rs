//! Memory for pieces of any size, as on the hardware, in regions: so what an access costs does not depend on where the host's
//! allocator would have put a piece.
//!
//! A piece takes the next power of two, a line at least, so that no two share a line. It comes from those of its size that were given
//! back, the last one first, or from the end of the last region. [`Pieces`] has those that were given back to it for itself.
//!
//! In an exploration, who touches a piece that was given back panics (`given_back.rs`).

use super::access::{Control, control};
use super::cpu;
use super::exploration::machine as exploring;
use super::given_back::GivenBack;
use super::region::{Pages as Backing, Region};
pub use crate::hardware::heap::ALIGNMENT;
use crate::hardware::heap::MOST_BYTES;
use crate::hardware::shared::Arc;
use std::ptr::NonNull;
use std::sync::{Mutex, PoisonError};

const LINE_BYTES: usize = 64;
/// Address space of a region.
const REGION_BYTES: usize = 1 << 30;
/// What an allocator spends on a piece, about, beside the lines that it touches.
const PIECE_CYCLES: u64 = 50;

const _: () = assert!(LINE_BYTES.is_multiple_of(ALIGNMENT));

/// As [`hardware::Heap`](crate::hardware::heap::Heap); its memory is given back to the host when it is dropped.
#[derive(Debug, Default)]
pub struct Heap(Mutex<Memory>);

#[derive(Debug, Default)]
struct Memory {
    regions: Vec<Region>,
    /// Bytes of the last region that were taken.
    used: usize,
    given_back: GivenBackBySize,
    told: i64,
}

/// Pieces that were given back, by the logarithm of their size.
#[derive(Debug, Default)]
struct GivenBackBySize([Vec<NonNull<u8>>; 32]);

// SAFETY: pieces that were given back are nobody's; where they are means the same to every thread.
unsafe impl Send for GivenBackBySize {}

impl GivenBackBySize {
    /// The one of a size that came back last.
    fn pop(&mut self, size: usize) -> Option<NonNull<u8>> {
        self.0[size.trailing_zeros() as usize].pop()
    }

    fn push(&mut self, piece: NonNull<u8>, size: usize) {
        self.0[size.trailing_zeros() as usize].push(piece);
    }

    fn append(&mut self, others: &mut GivenBackBySize) {
        for (pieces, others) in self.0.iter_mut().zip(&mut others.0) {
            pieces.append(others);
        }
    }
}

impl Heap {
    /// As [`hardware::Heap::new`](crate::hardware::heap::Heap::new).
    pub fn new() -> Heap {
        Heap::default()
    }

    /// As [`hardware::Heap::of_pages`](crate::hardware::heap::Heap::of_pages); a simulated machine has none.
    pub fn of_pages(_: Backing) -> Heap {
        Heap::default()
    }

    /// As [`hardware::Heap::take`](crate::hardware::heap::Heap::take).
    pub fn take(&self, bytes: usize) -> NonNull<u8> {
        assert!(bytes > 0, "a piece of no bytes");
        cpu::work(PIECE_CYCLES);
        let piece = self.0.lock().unwrap_or_else(PoisonError::into_inner).take(size_of_piece(bytes));
        if_explored(|given_back| given_back.leave(piece.addr().get()));
        piece
    }

    /// As [`hardware::Heap::give_back`](crate::hardware::heap::Heap::give_back).
    ///
    /// # Safety
    /// The same.
    pub unsafe fn give_back(&self, piece: NonNull<u8>, bytes: usize) {
        cpu::work(PIECE_CYCLES);
        let (first, size) = (piece.addr().get(), size_of_piece(bytes));
        if_explored(|given_back| given_back.enter(first..first + size));
        self.0.lock().unwrap_or_else(PoisonError::into_inner).given_back.push(piece, size);
    }

    /// As [`hardware::Heap::tell`](crate::hardware::heap::Heap::tell); here nobody watches, for what a run does must not depend on the
    /// host's memory.
    pub fn tell(&self, bytes: i64) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).told += bytes;
    }

    /// As [`hardware::Heap::provide`](crate::hardware::heap::Heap::provide); here memory is the host's affair.
    pub fn provide(&self) {}

    /// As [`hardware::Heap::told_bytes`](crate::hardware::heap::Heap::told_bytes).
    pub fn told_bytes(&self) -> i64 {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).told
    }
}

/// As [`hardware::Pieces`](crate::hardware::heap::Pieces): who gives a small piece back gets it again, and nobody else does, so that what
/// workers share is what they would share there. An exploration finds who touches it meanwhile.
#[derive(Debug, Default)]
pub struct Pieces {
    heap: Arc<Heap>,
    given_back: GivenBackBySize,
}

impl Pieces {
    /// As [`hardware::Pieces::new`](crate::hardware::heap::Pieces::new).
    pub fn new(heap: &Arc<Heap>) -> Pieces {
        Pieces { heap: Arc::clone(heap), given_back: GivenBackBySize::default() }
    }

    /// As [`hardware::Pieces::take`](crate::hardware::heap::Pieces::take).
    pub fn take(&mut self, bytes: usize) -> NonNull<u8> {
        self.heap.tell(bytes as i64);
        match self.given_back.pop(size_of_piece(bytes)) {
            Some(piece) => {
                cpu::work(PIECE_CYCLES);
                if_explored(|given_back| given_back.leave(piece.addr().get()));
                piece
            }
            None => self.heap.take(bytes),
        }
    }

    /// As [`hardware::Pieces::give_back`](crate::hardware::heap::Pieces::give_back).
    ///
    /// # Safety
    /// The same.
    pub unsafe fn give_back(&mut self, piece: NonNull<u8>, bytes: usize) {
        self.heap.tell(-(bytes as i64));
        if bytes > MOST_BYTES {
            // SAFETY: by the caller's contract.
            return unsafe { self.heap.give_back(piece, bytes) };
        }
        cpu::work(PIECE_CYCLES);
        let (first, size) = (piece.addr().get(), size_of_piece(bytes));
        if_explored(|given_back| given_back.enter(first..first + size));
        self.given_back.push(piece, size);
    }
}

/// The heap has them again.
impl Drop for Pieces {
    fn drop(&mut self) {
        let mut memory = self.heap.0.lock().unwrap_or_else(PoisonError::into_inner);
        memory.given_back.append(&mut self.given_back);
    }
}

/// Other regions may come to lie where the heap's have been.
impl Drop for Heap {
    fn drop(&mut self) {
        let pieces = self.0.get_mut().unwrap_or_else(PoisonError::into_inner);
        let all = pieces.given_back.0.iter().flatten();
        if_explored(|given_back| all.for_each(|piece| given_back.leave(piece.addr().get())));
    }
}

/// Where an exploration looks up what is touched.
fn if_explored(note: impl FnOnce(&mut GivenBack)) {
    if let Control::Exploring = control() {
        exploring::with(|machine| note(&mut machine.given_back.borrow_mut()));
    }
}

fn size_of_piece(bytes: usize) -> usize {
    bytes.next_power_of_two().max(LINE_BYTES)
}

impl Memory {
    fn take(&mut self, size: usize) -> NonNull<u8> {
        if let Some(piece) = self.given_back.pop(size) {
            return piece;
        }
        let room = self.regions.last().map_or(0, Region::len);
        if room - self.used < size {
            let region = Region::reserve_to_grow(REGION_BYTES.max(size), 0, Backing::Huge);
            self.regions.push(region.unwrap_or_else(|error| panic!("{error}")));
            self.used = 0;
        }
        let region = self.regions.last().expect("there is one now");
        // SAFETY: `used + size` is at most the region's length, by the room that there is.
        let piece = unsafe { region.base().add(self.used) };
        self.used += size;
        NonNull::new(piece).expect("a region is not at address 0")
    }
}

#[cfg(test)]
mod tests {
    use super::{Heap, LINE_BYTES, Pieces};
    use crate::hardware::shared::Arc;
    use crate::panics::message;
    use crate::simulated::schedule::Schedule;
    use crate::simulated::{explore, payload};
    use std::panic::{AssertUnwindSafe, catch_unwind};

    #[test]
    fn pieces_do_not_overlap_and_are_used_again() {
        let heap = Heap::new();
        let sizes = [1, 15, 16, 17, 64, 65, 4095, 1 << 20];
        let pieces: Vec<_> = sizes.iter().map(|&bytes| (heap.take(bytes), bytes)).collect();
        let mut ranges: Vec<_> =
            pieces.iter().map(|&(piece, bytes)| (piece.addr().get(), piece.addr().get() + bytes)).collect();
        ranges.sort_unstable();
        assert!(ranges.windows(2).all(|two| two[0].1 <= two[1].0), "{ranges:?}");
        assert!(ranges.iter().all(|(first, _)| first % LINE_BYTES == 0));
        for &(piece, bytes) in &pieces {
            // SAFETY: taken above, given back once, never used.
            unsafe { heap.give_back(piece, bytes) };
        }
        for (piece, bytes) in pieces.into_iter().rev() {
            assert_eq!(heap.take(bytes), piece, "the last that was given back of its size");
        }
    }

    #[test]
    fn who_gives_a_piece_back_gets_it_again() {
        let heap = Arc::new(Heap::new());
        let mut own = Pieces::new(&heap);
        let mut others = Pieces::new(&heap);
        let piece = own.take(100);
        // SAFETY: taken above, given back once, never used; the same below.
        unsafe { own.give_back(piece, 100) };
        let other = others.take(100);
        assert_ne!(other, piece);
        assert_eq!(own.take(100), piece);
        // SAFETY: as above.
        unsafe { own.give_back(piece, 100) };
        drop(own);
        assert_eq!(others.take(100), piece, "whose pieces are no more");
        assert_eq!(heap.told_bytes(), 200, "two pieces are taken");
    }

    #[test]
    fn an_exploration_finds_who_touches_what_was_given_back() {
        explore(Schedule::RoundRobin, || {
            let heap = Heap::new();
            let (piece, other) = (heap.take(100), heap.take(100));
            // SAFETY: its 13th word, which the heap keeps, whoever has it.
            let touch = |word: usize| unsafe { payload::take(piece.as_ptr().cast::<u64>().add(word)) };
            let found = |word| {
                let panic = catch_unwind(AssertUnwindSafe(|| touch(word))).err()?;
                message(&*panic).map(str::to_owned)
            };
            let words = "PayloadRead of memory that was given back";
            assert_eq!(found(11), None);
            // SAFETY: taken above; nobody uses it but by `found`, which the machine keeps from it.
            unsafe { heap.give_back(piece, 100) };
            assert_eq!([0, 11].map(found), [Some(words.to_owned()), Some(words.to_owned())]);
            assert_eq!(heap.take(100), piece);
            assert_eq!(found(11), None, "it is somebody's again");
            for piece in [piece, other] {
                // SAFETY: taken, not given back, and not used any more.
                unsafe { heap.give_back(piece, 100) };
            }
        });
    }
}
