//! The machine of a simulation: its cores' clocks, and which of them goes on.
//!
//! The core that is behind all others goes on, ties by their numbers. Before an access a core looks whether it still is: if
//! its clock has passed the next core's, it suspends itself, and accesses when it is the first again; so accesses happen in
//! the order of the clocks, and none is interrupted. The access's effect on the data follows at once; what it costs is
//! added to the core's clock. Computation ([`Machine::work`]) and looks at the clock advance the clock only.
//!
//! A load of the very line that the load before was of, with nothing in between, is no event: such loads go together, as in
//! a core that issues several at a time, and see the line at one time. They cost `repeated_load_cycles`. (Sixteen in a row
//! at most, so that no loop is caught in here.)
//!
//! What is read and written at every access lies in cells; the rest behind one `RefCell`, which is never borrowed while
//! another core may run.

use super::places::{LINE_BYTES, Places};
use super::queue::{Key, Queue};
use super::spin::{Spin, Watched};
use super::{Progress, Report, Simulation, Statistics};
use crate::hardware::cpu::prefetch_read;
use crate::simulated::access::{Access, pause_while_unwinding};
use crate::simulated::cores::{self, Conductor, CoreYielder, suspend};
use crate::simulated::model::{Kind, Line, Model, picoseconds};
use std::cell::{Cell, RefCell};
use std::time::{Duration, Instant};

/// Loads of one line that count as one event.
const MOST_REPEATED: u32 = 16;
/// Lines that a core may ask for ahead between two events; more are ignored.
const MOST_HINTS: usize = 64;
/// Bytes of a suspended core's stack that it will need first.
const FIRST_OF_STACK: usize = 256;
/// No line of the host.
const NO_LINE: usize = usize::MAX;
/// Cores start after each other by less than this.
const START_WITHIN_PS: u64 = 1_000_000;
/// Switches between two looks at the host's clock.
const LOOK_EVERY: u64 = 1 << 15;

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
}

/// What a cycle of computation, as it is told to the machine, takes: millionths of picoseconds by MHz.
struct Work {
    scaled_cycle: u64,
    frequency_mhz: u64,
}

struct Settings {
    cores: usize,
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
        };
        let time_bound = u64::try_from(simulation.time_bound.as_nanos()).unwrap_or(u64::MAX);
        let settings = Settings {
            cores: description.cores,
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
        self.settings.cores
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

    /// An access to the line at an address of the host.
    #[inline]
    pub fn access(&self, kind: Access, address: usize) {
        self.access_range(kind, address, 1);
    }

    /// An access to all lines of `len` bytes at an address of the host.
    #[inline]
    pub fn access_range(&self, kind: Access, address: usize, len: usize) {
        if len == 0 {
            return;
        }
        let (first, last) = (address / LINE_BYTES, (address + len - 1) / LINE_BYTES);
        let reads = matches!(kind, Access::Load | Access::PayloadRead);
        if reads && first == self.repeatable_on_host.get() && first == last && self.repeats_left.get() > 0 {
            return self.repeat_load();
        }
        self.access_lines(kind, address, len);
    }

    #[inline]
    fn repeat_load(&self) {
        self.repeats_left.set(self.repeats_left.get() - 1);
        self.repeated_loads.set(self.repeated_loads.get() + 1);
        self.advance(self.costs.repeated_load);
    }

    #[inline]
    fn forget_repeatable(&self) {
        self.repeatable_on_host.set(NO_LINE);
        self.repeats_left.set(0);
    }

    /// Anything but an access to a line.
    pub fn act(&self, kind: Access) {
        match kind {
            Access::Pause => self.pause(None),
            Access::Clock => self.look_at_clock(),
            Access::Fence => self.fence(),
            // Nothing that the core does waits for these.
            Access::WeakFence | Access::Tear => {}
            _ => unreachable!("{kind:?} is of a line"),
        }
    }

    /// Computes for so many cycles.
    #[inline]
    pub fn work(&self, cycles: u64) {
        if self.core.get().is_some() {
            self.advance(cycles * self.costs.work.scaled_cycle / self.costs.work.frequency_mhz);
        }
    }

    /// A pause in a loop that ends at `deadline_ns`.
    pub fn pause_until(&self, deadline_ns: u64) {
        self.pause(Some(deadline_ns.saturating_mul(1000).min(Key::END_PS)));
    }

    /// Fetches the lines of a fiber's frames.
    pub fn take_over(&self, address: usize, bytes: usize) {
        self.access_range(Access::TakeOver, address, bytes);
    }

    /// Asks for a line ahead: with the core's next event, when the host has what that takes at hand.
    pub fn prefetch(&self, address: usize, to_own: bool) {
        let Some(core) = self.core.get() else { return };
        self.advance(self.costs.repeated_load);
        let inner = &mut *self.inner.borrow_mut();
        let hints = &mut inner.cores[core].hints;
        if hints.len() < MOST_HINTS
            && let Some(line) = inner.places.known_line_at(address)
        {
            hints.push((line, to_own));
            inner.hot[core].has_hints = true;
            inner.model.prefetch_on_host(self.modelled(core), line);
            prefetch_read(std::ptr::without_provenance(address));
        }
    }

    /// Asks for the lines of the core's hints.
    #[cold]
    fn follow_hints(&self, inner: &mut Inner, core: usize) {
        let now = self.clock.get();
        let mut hints = std::mem::take(&mut inner.cores[core].hints);
        for (line, to_own) in hints.drain(..) {
            inner.model.prefetch(self.modelled(core), now, line, to_own);
        }
        inner.cores[core].hints = hints;
        inner.hot[core].has_hints = false;
        self.wake_watchers(inner);
    }

    /// Lets the others go on until then, or until all workers have ended; returns whether they have.
    pub fn sleep_until(&self, wake_ns: u64) -> bool {
        let core = self.core.get().expect("only a virtual core sleeps");
        let wake = wake_ns.saturating_mul(1000).min(Key::END_PS - 1);
        let yielder = {
            let inner = &mut *self.inner.borrow_mut();
            if inner.left == 0 {
                return true;
            }
            inner.hot[core].only_loads = false;
            let key = Key::new(wake.max(self.clock.get()), core);
            inner.queue.set(core, key);
            inner.hot[core].yielder
        };
        // SAFETY: the core runs, was resumed last, and has not ended.
        unsafe { suspend(yielder) }
        self.inner.borrow().left == 0
    }

    /// As `worker::run`; the first `workers` of the cores are workers.
    pub fn run_cores<R>(&self, workers: usize, cores: usize, body: &dyn Fn(usize) -> Option<R>) -> Vec<R> {
        assert!(self.core.get().is_none(), "a virtual core starts workers: one level only");
        assert!(!std::thread::panicking(), "workers are started while a panic unwinds");
        let most = self.settings.cores;
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
        let hot = |_| Hot { yielder: std::ptr::null(), stack: 0, only_loads: false, has_hints: false };
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

    /// Hashes an event into the trace.
    #[inline]
    fn note(&self, core: usize, kind: Access, line: u64) {
        self.events.set(self.events.get() + 1);
        let event = (line << 4 | kind as u64) ^ (core as u64) << 52;
        let hash = (self.trace.get().rotate_left(5) ^ event).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        self.trace.set(hash ^ self.clock.get());
    }

    #[inline]
    fn access_lines(&self, kind: Access, address: usize, len: usize) {
        let Some(core) = self.core.get() else { return };
        if kind == Access::Tear || std::thread::panicking() {
            return;
        }
        let mut inner = self.inner.borrow_mut();
        let (line, offset, elided) = inner.places.byte_at(address);
        let lines = ((offset + len - 1) / LINE_BYTES) as u64 + 1;
        let of_model = match kind {
            Access::Load | Access::PayloadRead => Kind::Load,
            Access::Store | Access::PayloadWrite => Kind::Store,
            Access::TakeOver => Kind::TakeOver,
            _ => Kind::ReadModifyWrite,
        };
        if elided
            && of_model == Kind::Load
            && lines == 1
            && line == self.repeatable.get()
            && self.repeats_left.get() > 0
        {
            return self.repeat_load();
        }
        if self.is_ahead(core) {
            // Meanwhile the host brings here what the access will need.
            for ahead in 0..lines {
                inner.model.prefetch_on_host(self.modelled(core), Line(line.0 + ahead));
                prefetch_read(std::ptr::without_provenance(address + ahead as usize * LINE_BYTES));
            }
            let yielder = self.leave(&mut inner, core);
            drop(inner);
            // SAFETY: the core runs, was resumed last, and has not ended.
            unsafe { suspend(yielder) }
            inner = self.inner.borrow_mut();
        }
        let inner = &mut *inner;
        if inner.hot[core].has_hints {
            self.follow_hints(inner, core);
        }
        self.note(core, kind, line.0);
        let now = self.clock.get();
        let cost = if lines == 1 {
            inner.model.access(self.modelled(core), now, of_model, line)
        } else {
            inner.model.access_several(self.modelled(core), now, of_model, line, lines)
        };
        let only_loads = &mut inner.hot[core].only_loads;
        if of_model == Kind::Load {
            if *only_loads {
                let spin = &mut inner.cores[core].spin;
                let note = |line| spin.load(now, Line(line), inner.model.version_of(Line(line)));
                *only_loads = (line.0..line.0 + lines).all(note);
            }
            self.repeatable.set(line);
            self.repeatable_on_host.set(if elided { NO_LINE } else { address / LINE_BYTES });
            self.repeats_left.set(if lines == 1 { MOST_REPEATED } else { 0 });
        } else {
            *only_loads = false;
            self.forget_repeatable();
            self.wake_watchers(inner);
        }
        self.advance(cost);
    }

    /// The core of the model that stands for a core: who serves the workers has one of his own if there is one left, or else
    /// shares the last one's caches.
    #[inline]
    fn modelled(&self, core: usize) -> usize {
        core.min(self.settings.cores - 1)
    }

    /// Whether another core's clock has yet to come to where this one's is.
    #[inline]
    fn is_ahead(&self, core: usize) -> bool {
        Key::new(self.clock.get(), core) > self.horizon.get()
    }

    /// Puts the core into the queue as it is; it is to suspend itself by the result.
    #[inline]
    fn leave(&self, inner: &mut Inner, core: usize) -> *const CoreYielder {
        inner.queue.set(core, Key::new(self.clock.get(), core));
        let on_stack = 0u8;
        inner.hot[core].stack = (&raw const on_stack).addr();
        inner.hot[core].yielder
    }

    /// Lets those go first that are behind.
    fn let_others_go_first(&self, core: usize) {
        if self.is_ahead(core) {
            let yielder = self.leave(&mut self.inner.borrow_mut(), core);
            // SAFETY: the core runs, was resumed last, and has not ended.
            unsafe { suspend(yielder) }
        }
    }

    /// Lets cores go on whose watched lines were taken.
    #[inline]
    fn wake_watchers(&self, inner: &mut Inner) {
        while let Some(line) = inner.model.next_taken() {
            let Some(watchers) = inner.watched.take(line) else { continue };
            let (now, taker) = (self.clock.get(), self.core.get().unwrap_or(0));
            watchers.for_each(|core| {
                // A look at the same time came first if the core has the lower number.
                let sees_from = now + u64::from(core < taker);
                let Some(time) = inner.cores[core].spin.taken(line, sees_from) else { return };
                let key = Key::new(time, core);
                if key < inner.queue.key(core) {
                    inner.queue.set(core, key);
                    self.horizon.set(self.horizon.get().min(key));
                }
            });
        }
    }

    #[cold]
    fn look_at_clock(&self) {
        let Some(core) = self.core.get() else { return };
        self.events.set(self.events.get() + 1);
        self.advance(self.costs.clock);
        self.inner.borrow_mut().cores[core].spin.clock(self.clock.get());
    }

    fn fence(&self) {
        let Some(core) = self.core.get() else { return };
        if std::thread::panicking() {
            return;
        }
        self.note(core, Access::Fence, 0);
        let inner = &mut *self.inner.borrow_mut();
        let cost = inner.model.fence(self.modelled(core), self.clock.get());
        inner.hot[core].only_loads = false;
        self.advance(cost);
    }

    fn pause(&self, deadline: Option<u64>) {
        let Some(core) = self.core.get() else { return self.pause_at_front() };
        if std::thread::panicking() {
            return pause_while_unwinding();
        }
        self.let_others_go_first(core);
        self.note(core, Access::Pause, 0);
        self.pauses.set(self.pauses.get() + 1);
        self.advance(self.costs.pause);
        self.forget_repeatable();
        let now = self.clock.get();
        let yielder = {
            let inner = &mut *self.inner.borrow_mut();
            let (hot, spin) = (&mut inner.hot[core], &mut inner.cores[core].spin);
            let only_loads = std::mem::replace(&mut hot.only_loads, true);
            let Some(latest) = spin.pause(now, deadline, only_loads) else { return };
            if !self.settings.parks {
                return spin.unpark(now);
            }
            inner.watched.watch(core, self.settings.cores + 1, spin, &mut inner.model);
            inner.queue.set(core, Key::new(latest.min(Key::END_PS - 1), core));
            self.parks.set(self.parks.get() + 1);
            hot.yielder
        };
        // SAFETY: the core runs, was resumed last, and has not ended.
        unsafe { suspend(yielder) }
        self.inner.borrow_mut().cores[core].spin.unpark(self.clock.get());
    }

    /// There is nobody to wait for.
    #[cold]
    fn pause_at_front(&self) {
        const MOST: u64 = 1_000_000;
        self.pauses.set(self.pauses.get() + 1);
        assert!(self.pauses.get() < MOST, "no progress: the front waits, where no core runs");
    }

    /// Tells whoever waits for the simulation how far it is.
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

impl Conductor for Machine {
    #[inline]
    fn next_to_run(&self) -> Option<usize> {
        let switches = self.switches.get() + 1;
        let key = {
            let inner = &mut *self.inner.borrow_mut();
            let key = inner.queue.first();
            if key == Key::NONE {
                return None;
            }
            let next = inner.queue.second(key.core());
            self.horizon.set(next);
            if let Some(next) = inner.hot.get(next.core()) {
                // The host will need it next.
                for ahead in (0..FIRST_OF_STACK).step_by(LINE_BYTES) {
                    prefetch_read(std::ptr::without_provenance(next.stack + ahead));
                }
            }
            key
        };
        self.switches.set(switches);
        self.clock.set(key.clock());
        // What another core has loaded is not repeated here.
        self.forget_repeatable();
        if switches.is_multiple_of(LOOK_EVERY) {
            self.report(key.clock());
            let bound = self.settings.time_bound;
            let shown = Duration::from_nanos(bound / 1000);
            assert!(key.clock() <= bound, "no progress within {shown:?} of simulated time");
        }
        self.core.set(Some(key.core()));
        Some(key.core())
    }

    fn suspended(&self) {
        self.core.set(None);
    }

    fn begun(&self, core: usize, yielder: &CoreYielder) {
        self.inner.borrow_mut().hot[core].yielder = yielder;
    }

    fn ended(&self, core: usize) {
        let inner = &mut *self.inner.borrow_mut();
        inner.queue.set(core, Key::NONE);
        if core >= inner.workers {
            return;
        }
        inner.latest = inner.latest.max(self.clock.get());
        inner.left -= 1;
        if inner.left == 0 {
            // Whoever serves the workers sees that there are none.
            for service in inner.workers..inner.cores.len() {
                if inner.queue.key(service) != Key::NONE {
                    inner.queue.set(service, Key::new(self.clock.get(), service));
                }
            }
        }
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
