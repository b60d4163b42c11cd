//! Fibers: transactions that can be suspended in the middle and go on later, here or on another worker.
//!
//! A fiber is a coroutine on a stack of its own. It suspends itself and says why ([`Suspension`]); the scheduler of the
//! worker that ran it ([`scheduler`]) does what that asks for. Architectures that keep several transactions in flight
//! run each in a fiber, and their verbs suspend it.
//!
//! The rules of fibers, which the compiler cannot check:
//! - A worker is handed to the fiber at every resumption ([`Current::here`]); nothing borrowed from a worker, and no
//!   address that belongs to a thread, lives across a suspension.
//! - A fiber holds no latch when it suspends, and a procedure holds no guard across a call of its transaction.
//! - What lies on a fiber's stack may be used by any worker, one at a time: it is `Send`, or is used at home only.

mod idleness;
mod round_robin;
pub(crate) mod scheduler;

pub(crate) use idleness::Idleness;
pub(crate) use round_robin::{Round, RoundRobin};
pub(crate) use scheduler::{Others, Scheduler, Turn};

use crate::epoch::Line;
use crate::facade::atomic::{AtomicUsize, Ordering};
use crate::facade::clock::Ticks;
use crate::facade::stack::Stack;
use crate::facade::{cpu, worker};
use crate::message::Rings;
use crate::protocol::SlotId;
use crate::work::TOUCHED_LINES;
use corosensei::{Coroutine, CoroutineResult, Yielder};
use std::mem::{ManuallyDrop, MaybeUninit};

/// Why a fiber stops for now.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Suspension {
    /// To go on at another worker.
    Migrate {
        /// Which.
        to: usize,
        /// What it will need first.
        hot: Hot,
    },
    /// Until the grant word of its slot is written, by this worker, or until then.
    Park(SlotId, Option<Ticks>),
    /// Until the grant word of its slot is written, by this worker: it is at home and does nothing until somebody wants it to, who may never.
    Await(SlotId),
    /// Until then.
    Sleep(Ticks),
    /// Until then, when it looks again at what others do: it has got nowhere meanwhile.
    Look(Ticks),
    /// Until lines that it has asked for may have come.
    Fetch,
    /// It is between two transactions, at home.
    Idle,
    /// It is at home, and its client has no transaction now.
    NothingNow,
}

/// What the workers share between which fibers migrate.
pub(crate) struct Workers {
    /// By which fibers travel.
    pub rings: Rings,
    workers: usize,
    /// Those whose fibers have ended.
    ended: Line<AtomicUsize>,
}

impl Workers {
    /// So many.
    pub fn new(workers: usize) -> Self {
        Workers { rings: Rings::new(workers), workers, ended: Line(AtomicUsize::new(0)) }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.workers
    }

    /// The last of one worker's fibers has ended, and has left everywhere.
    pub fn one_has_ended(&self) {
        // Release: pairs with the Acquire below.
        self.ended.0.fetch_add(1, Ordering::Release);
    }

    /// Whether all fibers have ended, so that nobody will come.
    pub fn have_ended(&self) -> bool {
        // Acquire: what they did elsewhere comes before.
        self.ended.0.load(Ordering::Acquire) == self.workers
    }
}

/// Bytes of a fiber's stack; memory is taken page by page.
const STACK_BYTES: usize = 256 << 10;

/// A suspended fiber.
pub(crate) struct Fiber(Coroutine<usize, Suspension, (), Stack>);

/// What of a fiber's stack another worker will need first.
///
/// Its low 48 bits are an address near the stack's growing end, where the frames are that will go on; its high 16 bits
/// are how many lines above that the fiber's yielder lies, in which every resumption notes to whom the fiber returns.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hot(u64);

const LINE_BYTES: usize = 64;

const ADDRESS_BITS: u32 = 48;

const _: () = assert!(
    STACK_BYTES / LINE_BYTES < 1 << (u64::BITS - ADDRESS_BITS),
    "a stack's lines fit beside an address"
);

impl Hot {
    fn new(top: usize, yielder: usize) -> Hot {
        let lines = (yielder / LINE_BYTES - top / LINE_BYTES) as u64;
        Hot(top as u64 & ((1 << ADDRESS_BITS) - 1) | lines << ADDRESS_BITS)
    }

    /// Asks for it, to be written, and accounts for the rest of the frames, which will be needed as well.
    fn prefetch(self) {
        let top = self.0 & ((1 << ADDRESS_BITS) - 1);
        let to_the_yielder = (self.0 >> ADDRESS_BITS) as i64;
        // The registers that were saved lie below.
        let lines = (-2..4).chain([to_the_yielder]);
        for line in lines {
            let address = top.wrapping_add_signed(line * LINE_BYTES as i64);
            cpu::prefetch_write(std::ptr::without_provenance(address as usize));
        }
        let frames = std::ptr::without_provenance(top as usize);
        let touched = (to_the_yielder as usize + 1).min(TOUCHED_LINES);
        cpu::take_over(frames, touched * LINE_BYTES);
    }
}

impl Fiber {
    /// A fiber that will run `body` when first resumed.
    ///
    /// # Safety
    /// What `body` borrows outlives the fiber. What it captures, and what its stack holds at any suspension, may be used
    /// by every worker that the fiber migrates to.
    pub unsafe fn new(body: impl FnOnce(Current)) -> Fiber {
        let stack = Stack::new(STACK_BYTES).expect("address space for a fiber's stack");
        let main = move |yielder: &Yielder<usize, Suspension>, here: usize| body(Current { yielder, here });
        // SAFETY: the caller vouches for what `body` borrows.
        Fiber(unsafe { Coroutine::with_stack_unchecked(stack, main) })
    }

    /// Runs the fiber here, on worker `here`, until it suspends itself or, with `None`, ends.
    #[inline(always)]
    fn resume(&mut self, here: usize) -> Option<Suspension> {
        match self.0.resume(here) {
            CoroutineResult::Yield(suspension) => Some(suspension),
            CoroutineResult::Return(()) => None,
        }
    }
}

/// A fiber on its way to another worker: the fiber itself, so that the message is all that has to be fetched before
/// its stack.
#[derive(Clone, Copy)]
struct Parcel {
    fiber: MaybeUninit<[usize; size_of::<Fiber>() / size_of::<usize>()]>,
    hot: Hot,
}

const _: () = assert!(size_of::<Fiber>().is_multiple_of(size_of::<usize>()), "a fiber is made of words");

// SAFETY: by `Fiber::new`'s contract, what a fiber's stack holds may be used by every worker that it migrates to.
unsafe impl Send for Parcel {}

impl Parcel {
    fn pack(fiber: Fiber, hot: Hot) -> Parcel {
        let fiber = ManuallyDrop::new(fiber);
        // SAFETY: the words are a fiber's, as many and as aligned; nobody drops it but who unpacks the parcel.
        Parcel { fiber: unsafe { (&raw const fiber).cast::<MaybeUninit<_>>().read() }, hot }
    }

    /// The fiber, its stack's lines asked for.
    ///
    /// # Safety
    /// A parcel is unpacked once, of all its copies.
    unsafe fn unpack(self) -> Fiber {
        self.hot.prefetch();
        // SAFETY: packed from a fiber, which the caller takes over.
        unsafe { self.fiber.as_ptr().cast::<Fiber>().read() }
    }
}

/// The fiber that runs, to itself.
pub(crate) struct Current {
    yielder: *const Yielder<usize, Suspension>,
    here: usize,
}

impl Current {
    /// The worker that runs the fiber; another one after a suspension.
    #[inline(always)]
    pub fn here(&self) -> usize {
        self.here
    }

    /// Goes on at another worker.
    #[inline]
    pub fn migrate(&mut self, to: usize) {
        let on_stack = 0u8;
        let yielder = self.yielder.addr();
        let top = cpu::top_of_frames((&raw const on_stack).addr(), yielder, TOUCHED_LINES * LINE_BYTES);
        let hot = Hot::new(top, yielder);
        self.suspend(Suspension::Migrate { to, hot });
    }

    /// Suspends the fiber; returns when it goes on.
    #[inline]
    pub fn suspend(&mut self, suspension: Suspension) {
        self.suspend_in_line(suspension);
    }

    /// The same, for who does so often. A core predicts that who returns goes to where the last call came from, which after a switch was
    /// another fiber's: so there is to be no call around a switch that would have to return.
    #[inline(always)]
    pub fn suspend_in_line(&mut self, suspension: Suspension) {
        if worker::is_unwinding() {
            // The run has failed, and the fiber is being unwound with it: nobody will resume it.
            if let Suspension::Migrate { to, .. } = suspension {
                self.here = to;
            }
            return;
        }
        // SAFETY: `self` lives on the fiber's own stack, inside of the body that was given the yielder.
        self.here = unsafe { (*self.yielder).suspend(suspension) };
    }
}
