//! The machine of a simulation: its cores' clocks, what it is made of, and a run of its cores from beginning to end.
//!
//! | file | what |
//! |---|---|
//! | [`order`] | which core goes on, and how far it may be ahead |
//! | [`events`] | what a core does, and what that costs it |
//! | [`polls`] | looks that a core takes at one word after the other, suspended |
//!
//! What is read and written at every access lies in cells; the rest behind one `RefCell`, which is never borrowed while
//! another core may run.

mod events;
mod order;
mod polls;

use super::places::Places;
use super::queue::{Key, Queue};
use super::spin::{Spin, Watched};
use super::{Progress, Report, Simulation, Statistics};
use crate::simulated::cores::{self, CoreYielder};
use crate::simulated::description::{Channels, Disk};
use crate::simulated::model::{Line, Model, picoseconds};
use crate::site::Site;
use polls::Poll;
use std::cell::{Cell, RefCell};
use std::ptr::NonNull;
use std::time::{Duration, Instant};

/// No line of the host.
const NO_LINE: usize = usize::MAX;
/// Cores start after each other by less than this.
const START_WITHIN_PS: u64 = 1_000_000;

/// See the module.
pub(in crate::simulated) struct Machine {
    /// The core that control is on, or `None` at the front.
    core: Cell<Option<usize>>,
    /// Its clock, in picoseconds; at the front, the latest of all.
    clock: Cell<u64>,
    /// The first key of all other cores: up to here the core goes on.
    horizon: Cell<Key>,
    /// The line that the last load was of, if it may be repeated.
    repeatable: Cell<Line>,
    /// Its line of the host, unless several lines share that, as in elided memory.
    repeatable_on_host: Cell<usize>,
    repeats_left: Cell<u32>,
    costs: Costs,
    trace: Cell<u64>,
    repeated_loads: Cell<u64>,
    events: Cell<u64>,
    switches: Cell<u64>,
    pauses: Cell<u64>,
    parks: Cell<u64>,
    settings: Settings,
    inner: RefCell<Inner>,
}

/// Picoseconds.
struct Costs {
    work: Work,
    repeated_load: u64,
    clock: u64,
    pause: u64,
    jitter: u64,
}

/// What a cycle of computation, as it is told to the machine, takes: millionths of picoseconds by MHz.
struct Work {
    scaled_cycle: u64,
    frequency_mhz: u64,
}

struct Settings {
    /// Of each core.
    sites: Vec<Site>,
    channels: Channels,
    disk: Option<Disk>,
    stack_bytes: usize,
    time_bound: u64,
    parks: bool,
    report: Option<(Duration, Report)>,
}

struct Inner {
    model: Model,
    places: Places,
    queue: Queue,
    hot: Vec<Hot>,
    cores: Vec<Core>,
    workers: usize,
    /// Workers that have not ended.
    left: usize,
    /// The latest clock of a core that has ended.
    latest: u64,
    watched: Watched,
    draw: fastrand::Rng,
    /// The hardware counter.
    counted: u64,
    /// Of a cluster, by machine: until when what it sends keeps its card busy, in nanoseconds.
    cards: Vec<u64>,
    host: Duration,
    began: Option<Instant>,
    reported: Option<Instant>,
}

/// What of a core is looked at at every event; of all cores together a few of the host's lines.
struct Hot {
    /// Null until the core has begun.
    yielder: *const CoreYielder,
    /// Where on its stack the core is suspended.
    stack: usize,
    /// Whether it has only loaded since its last pause.
    only_loads: bool,
    /// Whether there are hints.
    has_hints: bool,
    /// What it polls, on its stack, while it is suspended there.
    poll: Option<NonNull<Poll<'static>>>,
}

/// The rest.
struct Core {
    spin: Spin,
    /// Lines that it has asked for ahead since its last event, and whether to own them.
    hints: Vec<(Line, bool)>,
}

impl Machine {
    pub fn new(simulation: Simulation<'_>) -> Machine {
        let description = simulation.description;
        let ps = |cycles| picoseconds(description, cycles);
        let costs = Costs {
            work: Work {
                scaled_cycle: 10_000 * description.core.work_percent,
                frequency_mhz: description.frequency_mhz,
            },
            repeated_load: ps(description.core.repeated_load_cycles),
            clock: ps(description.core.clock_cycles),
            pause: ps(description.core.pause_cycles),
            jitter: ps(description.core.jitter_cycles),
        };
        let time_bound = u64::try_from(simulation.time_bound.as_nanos()).unwrap_or(u64::MAX);
        let settings = Settings {
            sites: description.sites(),
            channels: description.channels,
            disk: description.disk,
            stack_bytes: simulation.stack_bytes,
            time_bound: time_bound.saturating_mul(1000).min(Key::END_PS / 2),
            parks: simulation.parks,
            report: simulation.report,
        };
        let inner = Inner {
            model: Model::new(description, simulation.seed),
            places: Places::default(),
            queue: Queue::new(1),
            hot: Vec::new(),
            cores: Vec::new(),
            workers: 0,
            left: 0,
            latest: 0,
            watched: Watched::default(),
            draw: fastrand::Rng::with_seed(simulation.seed),
            counted: 0,
            cards: Vec::new(),
            host: Duration::ZERO,
            began: None,
            reported: None,
        };
        Machine {
            core: Cell::new(None),
            clock: Cell::new(0),
            horizon: Cell::new(Key::NONE),
            repeatable: Cell::new(Line(Line::END)),
            repeatable_on_host: Cell::new(NO_LINE),
            repeats_left: Cell::new(0),
            costs,
            trace: Cell::new(0),
            repeated_loads: Cell::new(0),
            events: Cell::new(0),
            switches: Cell::new(0),
            pauses: Cell::new(0),
            parks: Cell::new(0),
            settings,
            inner: RefCell::new(inner),
        }
    }

    pub fn cores(&self) -> usize {
        self.settings.sites.len()
    }

    /// What its messages through the operating system take.
    pub fn channels(&self) -> Channels {
        self.settings.channels
    }

    /// Where each core is, and so each worker.
    pub fn sites(&self) -> &[Site] {
        &self.settings.sites
    }

    /// A machine of a cluster sends at `now` what keeps its card busy for so long; when that has left. Nanoseconds, all.
    pub fn send_from(&self, machine: usize, now: u64, occupancy: u64) -> u64 {
        let cards = &mut self.inner.borrow_mut().cards;
        if cards.len() <= machine {
            cards.resize(machine + 1, 0);
        }
        cards[machine] = cards[machine].max(now) + occupancy;
        cards[machine]
    }

    /// Its disks, if it has any.
    pub fn disk(&self) -> Option<Disk> {
        self.settings.disk
    }

    /// The core that control is on; `None` at the front.
    pub fn core(&self) -> Option<usize> {
        self.core.get()
    }

    /// A hash of all events so far, in their order.
    pub fn trace(&self) -> u64 {
        self.trace.get()
    }

    /// The core's clock, or at the front the latest, in whole nanoseconds.
    #[inline]
    pub fn clock_ns(&self) -> u64 {
        self.clock.get() / 1000
    }

    /// The same, in picoseconds.
    #[inline]
    pub fn clock_ps(&self) -> u64 {
        self.clock.get()
    }

    pub fn statistics(&self) -> Statistics {
        let inner = self.inner.borrow();
        let running = inner.began.map_or(Duration::ZERO, |began| began.elapsed());
        Statistics {
            simulated: Duration::from_nanos(self.clock_ns()),
            host: inner.host + running,
            events: self.events.get(),
            repeated_loads: self.repeated_loads.get(),
            switches: self.switches.get(),
            pauses: self.pauses.get(),
            parks: self.parks.get(),
            lines: inner.model.statistics(),
        }
    }

    /// As `worker::run`; the first `workers` of the cores are workers.
    pub fn run_cores<R>(&self, workers: usize, cores: usize, body: &dyn Fn(usize) -> Option<R>) -> Vec<R> {
        assert!(self.core.get().is_none(), "a virtual core starts workers: one level only");
        assert!(!std::thread::panicking(), "workers are started while a panic unwinds");
        let most = self.cores();
        assert!(workers <= most, "{workers} workers on a machine of {most} cores");
        self.start(workers, cores);
        let _running = Running(self);
        cores::run(self, workers, cores, self.settings.stack_bytes, body)
    }

    fn start(&self, workers: usize, cores: usize) {
        let inner = &mut *self.inner.borrow_mut();
        inner.places.forget_outside();
        inner.queue = Queue::new(cores);
        inner.watched = Watched::default();
        let hot =
            |_| Hot { yielder: std::ptr::null(), stack: 0, only_loads: false, has_hints: false, poll: None };
        inner.hot = (0..cores).map(hot).collect();
        inner.cores = (0..cores).map(|_| Core { spin: Spin::new(), hints: Vec::new() }).collect();
        (inner.workers, inner.left) = (workers, workers);
        let start = self.clock.get();
        for core in 0..cores {
            let later = inner.draw.u64(..START_WITHIN_PS);
            inner.queue.set(core, Key::new(start + later, core));
        }
        let now = Instant::now();
        (inner.began, inner.reported) = (Some(now), Some(now));
    }

    #[inline]
    fn advance(&self, ps: u64) {
        self.clock.set(self.clock.get() + ps);
    }

    /// The core of the model that stands for a core: who serves the workers has one of his own if there is one left, or else
    /// shares the last one's caches.
    #[inline]
    fn modelled(&self, core: usize) -> usize {
        core.min(self.cores() - 1)
    }

    /// Tells the caller, which waits for the simulation, how far it is.
    #[cold]
    fn report(&self, simulated_ps: u64) {
        let Some((interval, report)) = &self.settings.report else { return };
        let progress = {
            let inner = &mut *self.inner.borrow_mut();
            let now = Instant::now();
            if inner.reported.is_some_and(|reported| now - reported < *interval) {
                return;
            }
            inner.reported = Some(now);
            let running = inner.began.map_or(Duration::ZERO, |began| now - began);
            Progress {
                simulated: Duration::from_nanos(simulated_ps / 1000),
                host: inner.host + running,
                switches: self.switches.get(),
            }
        };
        report(progress);
    }
}

/// A run of cores, until dropped.
struct Running<'m>(&'m Machine);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        let machine = self.0;
        machine.core.set(None);
        machine.horizon.set(Key::NONE);
        let inner = &mut *machine.inner.borrow_mut();
        inner.cores.clear();
        inner.hot.clear();
        machine.clock.set(inner.latest);
        inner.host += inner.began.take().map_or(Duration::ZERO, |began| began.elapsed());
    }
}
