//! Virtual cores: coroutines on one host thread, each with a stack of its own.
//!
//! A [`Conductor`] says which core is resumed; a core goes on until it suspends itself ([`suspend`]) or ends. Cores may run
//! coroutines of their own (the engine's fibers): suspending a core from inside of one takes it along.
//!
//! **Panics.** A core that panics is unwound like a thread: its destructors' accesses are accesses, and when they wait for
//! another core, the others go on. So do the others when it has ended, until they end themselves. Those that have not after
//! [`GRACE`] resumptions are told to end: each is unwound from where it is suspended, all of them together, so that the
//! destructors of one still find the others. The first panic is passed on; what follows from it is not told.
//!
//! **Programs.** A core may be the front of a program with cores of its own ([`super::process`]): it hands them over, and waits until they have ended. A core that
//! was killed is never resumed: it is left where it is for good, and what is on its stack is leaked, as the memory of a process is gone
//! whatever its threads were about to do with it.
//!
//! When the *machine* panics, because there is no progress, the cores are left where they are for good, and what is on their
//! stacks is leaked: none of them is at fault, and one that is in the middle of releasing what it holds would release it again.
//!
//! The host counts panics by thread. While one core is unwound, `std::thread::panicking` is true on all; so who is unwound is
//! noted here ([`is_unwinding`]).

use super::stack::Stack;
use crate::panics::with_context;
use corosensei::{Coroutine, CoroutineResult, Yielder};
use std::any::Any;
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::thread::panicking;

/// Resumptions of cores after a panic, before those that have not ended are unwound.
const GRACE: u64 = 1 << 20;

/// How a core suspends itself.
pub(super) type CoreYielder = Yielder<Order, ()>;

/// What a core that is resumed is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    GoOn,
    /// Unwind.
    End,
}

/// What a core that is told to end is unwound with.
struct Ended;

thread_local! {
    /// By core of the run that is on: whether it is being unwound, as far as that was seen while it was suspended.
    static UNWINDING: RefCell<Vec<bool>> = const { RefCell::new(Vec::new()) };
}

/// Puts the books of a run back in the middle of which another was made, unobserved.
struct Before(Vec<bool>);

impl Drop for Before {
    fn drop(&mut self) {
        UNWINDING.set(std::mem::take(&mut self.0));
    }
}

/// Whether a panic unwinds `core`, on which control is.
pub(super) fn is_unwinding(core: usize) -> bool {
    // Of a panic that was not yet seen, control has not left the core.
    panicking()
        && UNWINDING.with_borrow(|cores| cores.get(core).is_some_and(|&it| it) || !cores.contains(&true))
}

/// Who says which core runs.
pub(super) trait Conductor {
    /// The core to resume; `None` once all have ended. Control is on it from here to [`Conductor::suspended`]. Panics if there is
    /// no progress, but not while a core is being unwound.
    fn next_to_run(&self) -> Option<usize>;

    /// Control is back from the core that was resumed.
    fn suspended(&self);

    /// A core's body has begun, and suspends itself by `yielder`.
    fn begun(&self, core: usize, yielder: &CoreYielder);

    /// A core's body has returned.
    fn ended(&self, core: usize);

    /// Cores that the one which was resumed last has handed over: they are numbered behind all that there are.
    fn handed_over(&self) -> Vec<Body> {
        Vec::new()
    }

    /// Whether a core is not to be resumed any more, though its body has not returned.
    fn was_killed(&self, core: usize) -> bool {
        let _ = core;
        false
    }
}

/// What a core that was handed over does.
///
/// Whoever hands it over keeps what it points to until it has returned, or will never be resumed.
#[derive(Clone, Copy)]
pub(super) struct Body(pub *const dyn Fn());

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
    if unsafe { (*yielder).suspend(()) } == Order::End {
        resume_unwind(Box::new(Ended))
    }
}

type Core<R> = Coroutine<Order, (), Option<R>, Stack>;

/// Runs `body` on each of `cores` cores, the first `workers` of which return something.
///
/// A panic in one is passed on with its message and the core's number, when all have ended or have been unwound.
pub(super) fn run<C: Conductor, R>(
    conductor: &C,
    workers: usize,
    cores: usize,
    stack_bytes: usize,
    body: &dyn Fn(usize) -> Option<R>,
) -> Vec<R> {
    let results = run_each(conductor, workers, cores, stack_bytes, body);
    results.into_iter().take(workers).map(|result| result.expect("a worker that ended returned")).collect()
}

/// As [`run`]; of cores that were killed there is nothing. What those return that were handed over is for who did.
pub(super) fn run_each<C: Conductor, R>(
    conductor: &C,
    workers: usize,
    cores: usize,
    stack_bytes: usize,
    body: &dyn Fn(usize) -> Option<R>,
) -> Vec<Option<R>> {
    let _before = Before(UNWINDING.replace(vec![false; cores]));
    let mut run = Run {
        conductor,
        stack_bytes,
        // SAFETY: the coroutines borrow `body` and `conductor`, which outlive this function, and live in a local that is
        // dropped when it ends, however it ends; those that are forgotten are never resumed, and their stacks stay.
        cores: (0..cores).map(|core| unsafe { coroutine(conductor, core, stack_bytes, body) }).collect(),
        results: (0..cores).map(|_| None).collect(),
        resumed: 0,
        runs: false,
        failure: None,
        grace: GRACE,
    };
    while let Err(panic) = catch_unwind(AssertUnwindSafe(|| run.go_on())) {
        let is_the_machines = !run.runs;
        run.fail(panic);
        if is_the_machines {
            // What they borrow, nobody looks at through them any more.
            run.cores.drain(..).for_each(std::mem::forget);
            break;
        }
    }
    for (number, core) in std::mem::take(&mut run.cores).into_iter().enumerate() {
        if conductor.was_killed(number) {
            // Neither unwound nor gone on with: what is on its stack is leaked, and the stack with it.
            std::mem::forget(core);
        }
    }
    if let Some((core, panic)) = run.failure {
        let who = if core < workers { format!("core {core}") } else { "the service".into() };
        resume_unwind(with_context(panic, &who));
    }
    run.results.truncate(cores);
    run.results
}

/// A run of cores.
struct Run<'c, C, R> {
    conductor: &'c C,
    stack_bytes: usize,
    cores: Vec<Core<R>>,
    results: Vec<Option<R>>,
    /// The core that was resumed last.
    resumed: usize,
    /// Whether control is on it.
    runs: bool,
    /// The first panic, and the core that was resumed then.
    failure: Option<(usize, Box<dyn Any + Send>)>,
    /// Resumptions before those that go on after a panic are told to end.
    grace: u64,
}

impl<C: Conductor, R> Run<'_, C, R> {
    /// Resumes cores until all have ended, or one panics.
    fn go_on(&mut self) {
        while let Some(core) = self.conductor.next_to_run() {
            let order = if self.failure.is_some() || panicking() { self.order(core) } else { Order::GoOn };
            (self.resumed, self.runs) = (core, true);
            let outcome = self.cores[core].resume(order);
            self.runs = false;
            self.conductor.suspended();
            if let CoroutineResult::Return(result) = outcome {
                self.results[core] = result;
                self.conductor.ended(core);
                UNWINDING.with_borrow_mut(|cores| cores[core] = false);
            } else if panicking() {
                // If nobody was being unwound before, the core that was resumed is.
                UNWINDING.with_borrow_mut(|cores| cores[core] |= !cores.contains(&true));
            }
            for body in self.conductor.handed_over() {
                self.take_over(body);
            }
        }
    }

    /// Makes another core, which a core has handed over.
    fn take_over(&mut self, Body(body): Body) {
        let (conductor, number) = (self.conductor, self.cores.len());
        let stack = Stack::new(self.stack_bytes).expect("the host has memory for the core's stack");
        let main = move |yielder: &CoreYielder, order| {
            conductor.begun(number, yielder);
            if order == Order::GoOn {
                // SAFETY: who handed it over waits until this has returned, on a stack that is not given back meanwhile.
                unsafe { (*body)() }
            }
            None
        };
        // SAFETY: `main` borrows the conductor, which outlives the run, and what `body` points to, which is kept as long as the coroutine may run.
        self.cores.push(unsafe { Coroutine::with_stack_unchecked(stack, main) });
        self.results.push(None);
        UNWINDING.with_borrow_mut(|cores| cores.push(false));
    }

    /// What a core is to do after a panic, or while one unwinds another core.
    #[cold]
    fn order(&mut self, core: usize) -> Order {
        UNWINDING.with_borrow_mut(|cores| {
            if !panicking() {
                // It was caught, or has left its core.
                cores.fill(false);
            }
            self.grace = self.grace.saturating_sub(1);
            if self.grace > 0 || cores[core] {
                return Order::GoOn;
            }
            cores[core] = true;
            Order::End
        })
    }

    /// A core has panicked, or the conductor has.
    fn fail(&mut self, panic: Box<dyn Any + Send>) {
        let core = self.resumed;
        if std::mem::take(&mut self.runs) {
            self.conductor.suspended();
            self.conductor.ended(core);
            UNWINDING.with_borrow_mut(|cores| cores[core] = false);
        }
        self.failure.get_or_insert((core, panic));
    }
}

/// A core that will run `body(core)` when first resumed.
///
/// # Safety
/// `conductor` and `body` must live, and stay borrowed, until the coroutine has returned, been dropped, or been forgotten.
unsafe fn coroutine<C: Conductor, R>(
    conductor: &C,
    core: usize,
    stack_bytes: usize,
    body: &dyn Fn(usize) -> Option<R>,
) -> Core<R> {
    let stack = Stack::new(stack_bytes).expect("the host has memory for the core's stack");
    let main = move |yielder: &CoreYielder, order| {
        conductor.begun(core, yielder);
        if order == Order::GoOn { body(core) } else { None }
    };
    // SAFETY: `main` borrows `conductor` and `body` only, which the caller keeps.
    unsafe { Coroutine::with_stack_unchecked(stack, main) }
}
