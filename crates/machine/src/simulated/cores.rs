//! Virtual cores: coroutines on one host thread, each with a stack of its own.
//!
//! A [`Conductor`] says which core is resumed; a core goes on until it suspends itself ([`suspend`]) or ends. Cores may run
//! coroutines of their own (the engine's fibers): suspending a core from inside of one takes it along.

use super::stack::Stack;
use crate::panics::with_context;
use corosensei::{Coroutine, CoroutineResult, Yielder};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// How a core suspends itself.
pub(super) type CoreYielder = Yielder<(), ()>;

/// Who says which core runs.
pub(super) trait Conductor {
    /// The core to resume; `None` once all have ended. Control is on it from here to [`Conductor::suspended`].
    fn next_to_run(&self) -> Option<usize>;

    /// Control is back from the core that was resumed.
    fn suspended(&self);

    /// A core's body has begun, and suspends itself by `yielder`.
    fn begun(&self, core: usize, yielder: &CoreYielder);

    /// A core's body has returned.
    fn ended(&self, core: usize);
}

/// Suspends the core on which control is, until the conductor names it again.
///
/// # Safety
/// `yielder` is the one that the core which was resumed last gave to [`Conductor::begun`], and that core's body has not
/// returned.
#[inline]
pub(super) unsafe fn suspend(yielder: *const CoreYielder) {
    assert!(!yielder.is_null(), "a core runs that has not begun");
    // SAFETY: the core's body owns the yielder and has not returned. We may be on the stack of a coroutine that the body
    // runs: a yielder suspends whatever stack it is called on and returns to who resumed its coroutine, and the next
    // resumption comes back here.
    unsafe { (*yielder).suspend(()) }
}

type Core<R> = Coroutine<(), (), Option<R>, Stack>;

/// Runs `body` on each of `cores` cores, the first `workers` of which return something.
///
/// A panic in one ends the others where they are: they are unwound, and the panic is passed on with its message and the
/// core's number.
pub(super) fn run<C: Conductor, R>(
    conductor: &C,
    workers: usize,
    cores: usize,
    stack_bytes: usize,
    body: &dyn Fn(usize) -> Option<R>,
) -> Vec<R> {
    // SAFETY: the coroutines borrow `body` and `conductor`, which outlive this function, and live in a local that is dropped
    // when it ends, however it ends; nothing forgets them.
    let mut coroutines: Vec<Core<R>> =
        (0..cores).map(|core| unsafe { coroutine(conductor, core, stack_bytes, body) }).collect();
    let mut results: Vec<Option<R>> = (0..cores).map(|_| None).collect();
    let mut resumed = 0;
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        while let Some(core) = conductor.next_to_run() {
            resumed = core;
            let outcome = coroutines[core].resume(());
            conductor.suspended();
            if let CoroutineResult::Return(result) = outcome {
                results[core] = result;
                conductor.ended(core);
            }
        }
    }));
    if let Err(panic) = outcome {
        conductor.suspended();
        // Unwinds them where they are suspended, while nothing else is being unwound.
        drop(coroutines);
        let who = if resumed < workers { format!("core {resumed}") } else { "the service".into() };
        resume_unwind(with_context(panic, &who));
    }
    results.truncate(workers);
    results.into_iter().map(|result| result.expect("a worker that ended returned")).collect()
}

/// A core that will run `body(core)` when first resumed.
///
/// # Safety
/// `conductor` and `body` must live, and stay borrowed, until the coroutine has returned or been dropped.
unsafe fn coroutine<C: Conductor, R>(
    conductor: &C,
    core: usize,
    stack_bytes: usize,
    body: &dyn Fn(usize) -> Option<R>,
) -> Core<R> {
    let stack = Stack::new(stack_bytes).expect("the host has memory for the core's stack");
    let main = move |yielder: &CoreYielder, ()| {
        conductor.begun(core, yielder);
        body(core)
    };
    // SAFETY: `main` borrows `conductor` and `body` only, which the caller keeps.
    unsafe { Coroutine::with_stack_unchecked(stack, main) }
}
