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

pub(crate) mod scheduler;

pub(crate) use scheduler::Scheduler;

use crate::facade::clock::Ticks;
use crate::facade::worker;
use crate::protocol::SlotId;
use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult, Yielder};
use std::ptr::NonNull;

/// Why a fiber stops for now.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Suspension {
    /// To go on at another worker.
    Migrate(usize),
    /// Until the grant word of its slot is written, by this worker.
    Park(SlotId),
    /// Until then.
    Sleep(Ticks),
    /// It is between two transactions, at home.
    Idle,
}

/// Bytes of a fiber's stack; memory is taken page by page.
const STACK_BYTES: usize = 256 << 10;

/// A suspended fiber.
pub(crate) struct Fiber(Coroutine<usize, Suspension, (), DefaultStack>);

impl Fiber {
    /// A fiber that will run `body` when first resumed.
    ///
    /// # Safety
    /// What `body` borrows outlives the fiber. What it captures, and what its stack holds at any suspension, may be used
    /// by every worker that the fiber migrates to.
    pub unsafe fn new(body: impl FnOnce(Current)) -> Fiber {
        let stack = DefaultStack::new(STACK_BYTES).expect("address space for a fiber's stack");
        let main = move |yielder: &Yielder<usize, Suspension>, here: usize| body(Current { yielder, here });
        // SAFETY: the caller vouches for what `body` borrows.
        Fiber(unsafe { Coroutine::with_stack_unchecked(stack, main) })
    }
}

/// A fiber's place, to be handed from worker to worker: whoever has it runs it.
#[derive(Clone, Copy)]
pub(crate) struct FiberRef(NonNull<Fiber>);

// SAFETY: by `Fiber::new`'s contract a fiber may be run by any worker, and by `FiberRef::new`'s only one has it.
unsafe impl Send for FiberRef {}

impl FiberRef {
    /// The place of `fiber`.
    ///
    /// # Safety
    /// `fiber` lives, and is touched in no other way, as long as the result is used, which is passed on and not copied.
    pub unsafe fn new(fiber: &mut Fiber) -> FiberRef {
        FiberRef(NonNull::from(fiber))
    }

    /// Runs the fiber here, on worker `here`, until it suspends itself or, with `None`, ends.
    fn resume(self, here: usize) -> Option<Suspension> {
        // SAFETY: the fiber lives and nobody else touches it, by `FiberRef::new`'s contract.
        match unsafe { &mut *self.0.as_ptr() }.0.resume(here) {
            CoroutineResult::Yield(suspension) => Some(suspension),
            CoroutineResult::Return(()) => None,
        }
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

    /// Suspends the fiber; returns when it goes on.
    #[inline]
    pub fn suspend(&mut self, suspension: Suspension) {
        if worker::is_unwinding() {
            // The run has failed, and the fiber is being unwound with it: nobody will resume it.
            if let Suspension::Migrate(to) = suspension {
                self.here = to;
            }
            return;
        }
        // SAFETY: `self` lives on the fiber's own stack, inside of the body that was given the yielder.
        self.here = unsafe { (*self.yielder).suspend(suspension) };
    }
}
