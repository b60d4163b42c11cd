//! Workers: one system thread each, bound to a core of its own unless told otherwise, all starting together.

use super::affinity::{bind_to, pin_to};
use super::bell::Bell;
use super::clock::{self, Ticks};
use super::topology::{HardwareThread, Topology};
use crate::panics::with_context;
use crate::seats::Seats;
pub use crate::site::Site;
use std::any::Any;
use std::cell::Cell;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{self, Builder, Scope, ScopedJoinHandle};
use std::time::{Duration, Instant};

/// Number of hardware threads that workers may use.
pub fn cores() -> usize {
    Topology::of_this_machine().hardware_threads()
}

/// Where workers are bound, in their order: one is bound to a core there, or to the socket, or would be.
pub fn sites() -> Vec<Site> {
    let places = &Topology::of_this_machine().fill_order;
    places.iter().map(|thread| Site { machine: 0, socket: thread.socket }).collect()
}

/// Whether [`super::sole::SoleUse`] checks.
pub(crate) const CHECKS_SOLE_USE: bool = cfg!(debug_assertions);

thread_local! {
    static CURRENT: Cell<Option<usize>> = const { Cell::new(None) };
}

/// The worker that asks; `None` on another thread. Not inlined: a fiber that asks may be on another thread the next time.
#[inline(never)]
pub fn current() -> Option<usize> {
    CURRENT.get()
}

/// Whether a panic unwinds the thread that asks.
#[inline]
pub fn is_unwinding() -> bool {
    std::thread::panicking()
}

/// How long a worker may wait for another before it is odd: far longer than a thread is kept from its core.
pub fn patience() -> Duration {
    Duration::from_secs(30)
}

/// Where the workers of this process are among those of several that share the host: the first's number, and how many there are in all; 0: it is alone.
static AMONG: [AtomicUsize; 2] = [AtomicUsize::new(0), AtomicUsize::new(0)];

/// From now on the workers of this process are those from number `first` on of `all`, the others of which are those of other processes of this host: each is bound to a core of its own. Until
/// it is said that there is none, 0 of 0.
pub fn are_among(first: usize, all: usize) {
    // Relaxed, here and below: threads are made afterwards.
    AMONG[0].store(first, Ordering::Relaxed);
    AMONG[1].store(all, Ordering::Relaxed);
}

/// Where workers run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Binding {
    /// Each on a hardware thread of its own, if there are enough.
    #[default]
    Cores,
    /// Each on any hardware thread of that one's socket.
    Sockets,
    /// Where the system likes.
    Off,
}

/// How workers are bound from now on.
static BINDING: AtomicUsize = AtomicUsize::new(Binding::Cores as usize);

/// Workers are bound so until this is dropped; then on cores, as before.
#[derive(Debug)]
pub struct Bound(());

/// Binds the workers of this process so, as long as what it answers is kept.
#[must_use]
pub fn bind(binding: Binding) -> Bound {
    // Relaxed, here and below: threads are made afterwards.
    BINDING.store(binding as usize, Ordering::Relaxed);
    Bound(())
}

impl Drop for Bound {
    fn drop(&mut self) {
        BINDING.store(Binding::Cores as usize, Ordering::Relaxed);
    }
}

impl Binding {
    fn now() -> Binding {
        let all = [Binding::Cores, Binding::Sockets, Binding::Off];
        // Relaxed: as in `bind`.
        all[BINDING.load(Ordering::Relaxed)]
    }

    /// Binds the calling thread, whose place this is. False: it is where the system likes.
    fn apply(self, place: HardwareThread) -> bool {
        let all = &Topology::of_this_machine().fill_order;
        match self {
            Binding::Cores => pin_to(place.cpu),
            Binding::Sockets => {
                bind_to(all.iter().filter(|thread| thread.socket == place.socket).map(|thread| thread.cpu))
            }
            Binding::Off => false,
        }
    }
}

/// Runs `f(0)` to `f(workers - 1)` on a thread each and returns their results in that order.
///
/// Worker `w` is bound to the `w`th hardware thread in the order of [`Topology::fill_order`], or as [`bind`] was told; if there are
/// more workers than those, none is bound. No worker starts before all are there. A panic in one is passed
/// on, with its message and the worker's number, once the others have ended.
///
/// Panics if the system has no thread for a worker.
pub fn run<R: Send>(workers: usize, f: impl Fn(usize) -> R + Sync) -> Vec<R> {
    let f = |worker, _| f(worker);
    thread::scope(|scope| results(join(start(scope, workers, &f))))
}

/// What a thread of its own, not bound to a core, does beside the workers until all of them have ended.
#[derive(Clone, Copy)]
pub struct Service<'a> {
    /// Of the thread.
    pub name: &'a str,
    /// How often. A period that the work overruns is skipped.
    pub period: Duration,
    /// Has it done at once.
    pub bell: Option<&'a Bell>,
    /// What is done.
    pub work: &'a (dyn Fn() + Sync),
}

/// As [`run`], with one thread more, not bound to a core, that calls `service` every `period` until all
/// workers have ended. A period that the service overruns is skipped.
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

/// As [`run`], with services; the workers are told when they were let go, all the same point in time.
fn timed_with_services<R: Send>(
    workers: usize,
    services: &[Service<'_>],
    f: impl Fn(usize, Ticks) -> R + Sync,
) -> Vec<R> {
    for service in services {
        assert!(!service.period.is_zero(), "a service without a period would never rest");
    }
    let ended = AtomicBool::new(false);
    thread::scope(|scope| {
        let running = start(scope, workers, &f);
        let ended = &ended;
        let mut serving = Vec::with_capacity(services.len());
        for &service in services {
            let name = service.name.to_owned();
            serving.push(Builder::new().name(name).spawn_scoped(scope, move || {
                // Acquire: pairs with the Release below.
                serve(service, &|| ended.load(Ordering::Acquire));
            }));
        }
        let outcomes = join(running);
        // Release: pairs with the Acquire above; unparking orders the two anyway.
        ended.store(true, Ordering::Release);
        let serving: Vec<_> = serving
            .into_iter()
            .map(|thread| thread.expect("the system has a thread for a service"))
            .collect();
        serving.iter().for_each(|thread| thread.thread().unpark());
        let served: Vec<_> = serving.into_iter().map(ScopedJoinHandle::join).collect();
        let results = results(outcomes);
        for served in served {
            served.unwrap_or_else(|panic| resume_unwind(with_context(panic, "the service")));
        }
        results
    })
}

/// As [`run`], with services, and with something of its own for each worker: runs `f(w, own[w], start)`. `start` is when all had
/// arrived and were let go: the same point in time for every worker, however late the system lets it run.
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

/// Does a service on the thread that calls, until `has_ended` says so, which is asked whenever the thread is unparked, and every period.
pub fn serve(service: Service<'_>, has_ended: &dyn Fn() -> bool) {
    let Service { period, bell, work, .. } = service;
    bell.inspect(|bell| bell.is_answered_here());
    let mut due = Instant::now() + period;
    while !has_ended() {
        let now = Instant::now();
        if now < due && !bell.is_some_and(Bell::answer) {
            thread::park_timeout(due - now);
            continue;
        }
        work();
        due = (now.min(due) + period).max(Instant::now());
    }
}

type Outcome<R> = Result<R, Box<dyn Any + Send>>;

/// Starts the workers. `None` comes from those that are told not to start because others could not be made.
fn start<'scope, R: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    workers: usize,
    f: &'scope (impl Fn(usize, Ticks) -> R + Sync),
) -> Vec<ScopedJoinHandle<'scope, Option<R>>> {
    let places = &Topology::of_this_machine().fill_order;
    let among = AMONG.each_ref().map(|number| number.load(Ordering::Relaxed));
    // Others than those that were meant, such as as many as there are cores, are alone.
    let [first, all] = if among[0] + workers <= among[1] { among } else { [0, workers] };
    let (gate, binding) = (Arc::new(Gate::default()), Binding::now());
    let spawn = |w: usize| {
        let gate = Arc::clone(&gate);
        let place = if all <= places.len() { Some(places[first + w]) } else { None };
        Builder::new().name(format!("worker {w}")).spawn_scoped(scope, move || {
            CURRENT.set(Some(w));
            // A system that refuses leaves the worker where it likes: slower, not wrong.
            let _bound = place.is_some_and(|place| binding.apply(place));
            gate.arrive_and_wait().map(|start| f(w, start))
        })
    };
    match (0..workers).map(spawn).collect::<Result<Vec<_>, _>>() {
        Ok(handles) => {
            gate.open_when_all_arrived(workers);
            handles
        }
        Err(why) => {
            gate.give_up();
            panic!("the system has no threads for {workers} workers: {why}")
        }
    }
}

/// Waits for all to end.
fn join<R>(handles: Vec<ScopedJoinHandle<'_, Option<R>>>) -> Vec<Outcome<R>> {
    let started = |outcome: Option<R>| outcome.expect("the gate was opened, or `start` panicked");
    handles.into_iter().map(|handle| handle.join().map(started)).collect()
}

/// What they returned, or the panic of the first that panicked.
fn results<R>(outcomes: Vec<Outcome<R>>) -> Vec<R> {
    let passed_on = |(w, outcome): (usize, Outcome<R>)| {
        outcome.unwrap_or_else(|panic| resume_unwind(with_context(panic, &format!("worker {w}"))))
    };
    outcomes.into_iter().enumerate().map(passed_on).collect()
}

/// Where workers wait until all have arrived.
#[derive(Default)]
struct Gate {
    state: Mutex<GateState>,
    changed: Condvar,
}

#[derive(Default)]
struct GateState {
    arrived: usize,
    /// What to do, once that is known.
    word: Option<Word>,
}

/// What those who wait at the gate are told.
#[derive(Clone, Copy)]
enum Word {
    /// All have arrived and are let go, now.
    Start(Ticks),
    GiveUp,
}

impl Gate {
    /// When all were let go; `None`: not to start.
    fn arrive_and_wait(&self) -> Option<Ticks> {
        let mut state = self.lock();
        state.arrived += 1;
        self.changed.notify_all();
        let state = self.changed.wait_while(state, |state| state.word.is_none());
        match state.unwrap_or_else(PoisonError::into_inner).word.expect("waited for it") {
            Word::Start(at) => Some(at),
            Word::GiveUp => None,
        }
    }

    fn open_when_all_arrived(&self, workers: usize) {
        let state = self.changed.wait_while(self.lock(), |state| state.arrived < workers);
        state.unwrap_or_else(PoisonError::into_inner).word = Some(Word::Start(clock::now()));
        self.changed.notify_all();
    }

    fn give_up(&self) {
        self.lock().word = Some(Word::GiveUp);
        self.changed.notify_all();
    }

    /// The state is a few plain words, sound after any panic.
    fn lock(&self) -> std::sync::MutexGuard<'_, GateState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
