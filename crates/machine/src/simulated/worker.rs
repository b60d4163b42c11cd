//! Workers: virtual cores, each a coroutine, all on the host thread that explores.

use super::exploration::explore;
use super::machine::{self, CoreYielder};
use super::schedule::Schedule;
use crate::panics::with_context;
use crate::seats::Seats;
use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::Duration;

/// Number of cores that the machine says it has.
pub fn cores() -> usize {
    machine::with(|machine| machine.settings().cores)
}

/// Whether a panic unwinds the thread that asks.
pub fn is_unwinding() -> bool {
    std::thread::panicking()
}

/// Runs `f(0)` to `f(workers - 1)` on a virtual core each and returns their results in that order.
///
/// A panic in one ends the others where they are: they are unwound, and the panic is passed on with its
/// message and the core's number. Outside of an exploration, the workers are explored round robin.
///
/// Panics if called from a virtual core.
pub fn run<R: Send>(workers: usize, f: impl Fn(usize) -> R + Sync) -> Vec<R> {
    run_cores(workers, workers, &|core| Some(f(core)))
}

/// As [`run`], with one core more that calls `service` whenever the clock has passed another `period`, until
/// all workers have ended. A period that the service overruns is skipped.
///
/// Panics if the period is zero.
pub fn run_with_service<R: Send>(
    workers: usize,
    period: Duration,
    service: impl Fn() + Sync,
    f: impl Fn(usize) -> R + Sync,
) -> Vec<R> {
    let period_ns = super::clock::ticks_of(period);
    assert!(period_ns > 0, "a service without a period would never rest");
    run_cores(workers, workers + 1, &|core| {
        if core < workers {
            return Some(f(core));
        }
        serve(period_ns, &service);
        None
    })
}

/// As [`run_with_service`], with something of its own for each worker: runs `f(w, own[w])`.
pub fn run_each_with_service<T: Send, R: Send>(
    own: Vec<T>,
    period: Duration,
    service: impl Fn() + Sync,
    f: impl Fn(usize, T) -> R + Sync,
) -> Vec<R> {
    let (workers, seats) = (own.len(), Seats::new(own));
    run_with_service(workers, period, service, |worker| f(worker, seats.take(worker)))
}

fn serve(period_ns: u64, service: &impl Fn()) {
    let now = || machine::clock_ns().expect("a core runs in an exploration");
    let mut due = now().saturating_add(period_ns);
    while !machine::with(|machine| machine.sleep_until(due)) {
        service();
        due = due.saturating_add(period_ns).max(now());
    }
}

type Core<R> = Coroutine<(), (), Option<R>, DefaultStack>;

/// Runs `body` on each of `cores` cores, the first `workers` of which return something.
fn run_cores<R>(workers: usize, cores: usize, body: &dyn Fn(usize) -> Option<R>) -> Vec<R> {
    if machine::with(|machine| machine.is_outside()) {
        return explore(Schedule::RoundRobin, || run_cores(workers, cores, body));
    }
    // Dropped last, after the coroutines.
    let _running = machine::with(|machine| machine.make_cores(workers, cores));
    let stack_bytes = machine::with(|machine| machine.settings().stack_bytes);
    // SAFETY: the coroutines borrow `body`, which outlives this function, and live in a local that is dropped
    // when it ends, however it ends; nothing forgets them.
    let mut coroutines: Vec<Core<R>> =
        (0..cores).map(|core| unsafe { coroutine(core, stack_bytes, body) }).collect();
    let mut results: Vec<Option<R>> = (0..cores).map(|_| None).collect();
    while let Some(core) = machine::with(|machine| machine.next_to_run()) {
        let outcome = catch_unwind(AssertUnwindSafe(|| coroutines[core].resume(())));
        machine::with(|machine| machine.suspended());
        match outcome {
            Ok(CoroutineResult::Yield(())) => {}
            Ok(CoroutineResult::Return(result)) => {
                results[core] = result;
                machine::with(|machine| machine.ended(core));
            }
            Err(panic) => {
                // Unwinds them where they are suspended, while nothing else is being unwound.
                drop(coroutines);
                let who = if core < workers { format!("core {core}") } else { "the service".into() };
                resume_unwind(with_context(panic, &who));
            }
        }
    }
    results.truncate(workers);
    results.into_iter().map(|result| result.expect("a worker that ended returned")).collect()
}

/// A core that will run `body(core)` when first resumed.
///
/// # Safety
/// `body` must live, and stay borrowed, until the coroutine has returned or been dropped.
unsafe fn coroutine<R>(core: usize, stack_bytes: usize, body: &dyn Fn(usize) -> Option<R>) -> Core<R> {
    let stack = DefaultStack::new(stack_bytes).expect("the host has memory for the core's stack");
    let main = move |yielder: &CoreYielder, ()| {
        machine::with(|machine| machine.begun(core, yielder));
        body(core)
    };
    // SAFETY: `main` borrows `body` only, which the caller keeps.
    unsafe { Coroutine::with_stack_unchecked(stack, main) }
}
