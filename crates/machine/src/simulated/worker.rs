//! Workers: virtual cores, each a coroutine, all on the host thread that simulates.

use super::access::{Control, control, timed};
use super::bell::Bell;
use super::clock::{self, Ticks};
use super::exploration::{explore, machine as exploring};
use super::schedule::Schedule;
use super::{cores, process, unobserved};
use crate::seats::Seats;
pub use crate::site::Site;
use std::cell::OnceCell;
use std::time::Duration;

/// Number of cores that the machine says it has.
pub fn cores() -> usize {
    match (control(), timed()) {
        (_, Some(machine)) => machine.cores(),
        (Control::Unobserved, _) => 1,
        _ => exploring::with(|machine| machine.settings().cores),
    }
}

/// Where the cores are that workers have, in their order. Outside of a simulation they have one socket.
pub fn sites() -> Vec<Site> {
    timed().map_or_else(|| vec![Site { machine: 0, socket: 0 }], |machine| machine.sites().to_vec())
}

/// Whether [`super::sole::SoleUse`] checks.
pub(crate) const CHECKS_SOLE_USE: bool = true;

/// The worker that asks; `None` if no virtual core does.
pub fn current() -> Option<usize> {
    match (control(), timed()) {
        (_, Some(machine)) => machine.core(),
        (Control::Outside, _) => None,
        (Control::Unobserved, _) => unobserved::core(),
        _ => exploring::with(|machine| machine.worker()),
    }
}

/// Whether a panic unwinds the virtual core that asks; where there is none, the thread.
pub fn is_unwinding() -> bool {
    let core = match (control(), timed()) {
        (Control::Exploring, None) => exploring::with(|machine| machine.core()),
        _ => current(),
    };
    core.map_or_else(std::thread::panicking, cores::is_unwinding)
}

/// How long a worker may wait for another before it is odd: far longer than an exploration keeps one from going on, and well
/// before its bound of steps; in a simulation, where nobody is kept from it, half a second. Outside of both time is the host's, and so is this.
pub fn patience() -> Duration {
    match (control(), timed()) {
        (_, Some(_)) => Duration::from_millis(500),
        (Control::Outside, _) => crate::hardware::worker::patience(),
        _ => Duration::from_micros(500),
    }
}

pub use crate::hardware::worker::Binding;

/// As [`crate::hardware::worker::bind`]: virtual cores have a worker each, whatever is told.
pub fn bind(_: Binding) -> Bound {
    Bound(())
}

/// As [`crate::hardware::worker::Bound`].
#[derive(Debug)]
#[must_use]
pub struct Bound(());

/// Runs `f(0)` to `f(workers - 1)` on a virtual core each and returns their results in that order.
///
/// After a panic in one the others go on, until they end or for a while; then they are unwound where they are. The panic is
/// passed on with its message and the core's number. Outside of an exploration and of a simulation, the workers are explored round robin.
///
/// Panics if called from a virtual core, or for more workers than a simulated machine has cores.
pub fn run<R: Send>(workers: usize, f: impl Fn(usize) -> R + Sync) -> Vec<R> {
    run_cores(workers, workers, &|core| Some(f(core)))
}

/// What a core of its own does beside the workers until all of them have ended.
#[derive(Clone, Copy)]
pub struct Service<'a> {
    /// Of the core.
    pub name: &'a str,
    /// Whenever the clock has passed another one. A period that the work overruns is skipped.
    pub period: Duration,
    /// Has it done soon.
    pub bell: Option<&'a Bell>,
    /// What is done.
    pub work: &'a (dyn Fn() + Sync),
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
    let service = Service { name: "service", period, bell: None, work: &service };
    timed_with_services(workers, &[service], |worker, _| f(worker))
}

/// As [`run`], with services; the workers are told when the first of them began, all the same point in time.
fn timed_with_services<R: Send>(
    workers: usize,
    services: &[Service<'_>],
    f: impl Fn(usize, Ticks) -> R + Sync,
) -> Vec<R> {
    for service in services {
        assert!(clock::ticks_of(service.period) > 0, "a service without a period would never rest");
    }
    let start = OnceCell::new();
    run_cores(workers, workers + services.len(), &|core| {
        let start = *start.get_or_init(|| Ticks(clock::passed_ns()));
        if core < workers {
            return Some(f(core, start));
        }
        serve(services[core - workers], &|| false);
        None
    })
}

/// As [`run`], with services, and with something of its own for each worker: runs `f(w, own[w], start)`. `start` is when the first
/// core began: the same point in time for every worker.
///
/// Panics if the period of a service is zero.
pub fn run_each_with_services<T: Send, R: Send>(
    own: Vec<T>,
    services: &[Service<'_>],
    f: impl Fn(usize, T, Ticks) -> R + Sync,
) -> Vec<R> {
    let (workers, seats) = (own.len(), Seats::new(own));
    timed_with_services(workers, services, |worker, start| f(worker, seats.take(worker), start))
}

/// Does a service on the core that calls, until all workers have ended, or `has_ended` says so.
pub fn serve(service: Service<'_>, has_ended: &dyn Fn() -> bool) {
    /// How often a service looks at its bell.
    const LOOK_EVERY_NS: u64 = 1_000;
    let Service { bell, work, .. } = service;
    let period_ns = clock::ticks_of(service.period);
    let mut due = clock::passed_ns().saturating_add(period_ns);
    loop {
        let wake = match bell {
            Some(_) => due.min(clock::passed_ns().saturating_add(LOOK_EVERY_NS)),
            None => due,
        };
        if sleep_until(wake) || has_ended() {
            return;
        }
        let now = clock::passed_ns();
        if now >= due || bell.is_some_and(Bell::answer) {
            work();
            due = now.min(due).saturating_add(period_ns).max(clock::passed_ns());
        }
    }
}

/// Lets the others go on until then, or until all workers have ended; returns whether they have.
fn sleep_until(wake_ns: u64) -> bool {
    match (control(), timed()) {
        (_, Some(machine)) => machine.sleep_until(wake_ns),
        (Control::Unobserved, _) => unobserved::sleep_until(wake_ns),
        _ => exploring::with(|machine| machine.sleep_until(wake_ns)),
    }
}

/// Runs `body` on each of `cores` cores, the first `workers` of which return something.
fn run_cores<R>(workers: usize, cores: usize, body: &dyn Fn(usize) -> Option<R>) -> Vec<R> {
    match (control(), timed()) {
        (_, Some(machine)) => machine.run_cores(workers, cores, body),
        (Control::Outside, _) => explore(Schedule::RoundRobin, || run_cores(workers, cores, body)),
        (Control::Unobserved, _) => unobserved::run_cores(workers, cores, body),
        _ if exploring::with(|machine| machine.is_on_front()) => process::run_cores(workers, cores, body),
        _ => exploring::with(|machine| {
            // Dropped last, after the coroutines.
            let _running = machine.make_cores(workers, cores);
            cores::run(machine, workers, cores, machine.settings().stack_bytes, body)
        }),
    }
}
