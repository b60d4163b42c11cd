//! The machine that an exploration runs on: its clock, its books, its cores, and the switch between them.
//!
//! It belongs to one host thread. Three places of control:
//!
//! - *outside* of an exploration, accesses do not come here;
//! - at the *front* of one, in the closure that is explored, they are counted, and there is nobody to switch
//!   to;
//! - on a *core* they are counted and are scheduling points.
//!
//! A core is a coroutine; `cores` resumes the one that [`Machine::next_to_run`] names, until it ends or a
//! scheduling point chose another, which [`Machine::switch_to`] notes before it suspends. Cores may run
//! coroutines of their own (the engine's fibers): suspending a core from inside of one takes it along.
//!
//! The cores of a run are those of one program, or of several side by side ([`crate::simulated::process`]): then the first cores are the programs' fronts, each of which
//! makes cores of its own and waits until they have ended. Services end with the workers of their program. A program that is killed has
//! no core any more that goes on.
//!
//! A core that a panic unwinds is scheduled like any other ([`crate::simulated::cores`]); at the front nobody else is there.
//! A run of cores with more steps than the bound ends where it is, and the machine panics.

use super::Exploration;
use crate::simulated::access::{Access, Control, Moved, move_control, pause_while_unwinding};
use crate::simulated::cores::{Body, Conductor, CoreYielder, suspend};
use crate::simulated::given_back::GivenBack;
use crate::simulated::lines::Lines;
use crate::simulated::schedule::{Point, Schedule, Scheduler};
use std::cell::{Cell, RefCell};

/// Round numbers of a processor of today with everything in its nearest cache; not a cost model.
const fn nanoseconds(kind: Access) -> u64 {
    match kind {
        Access::Load | Access::Store | Access::PayloadRead | Access::PayloadWrite => 1,
        Access::OrderedStore | Access::ReadModifyWrite | Access::Fence | Access::WeakFence => 5,
        Access::Tear | Access::TakeOver => 0,
        Access::Clock | Access::Counter => 10,
        Access::Pause => 40,
    }
}

/// Where control is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Outside,
    Front,
    Core(usize),
}

/// What a core does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Doing {
    Runs,
    SleepsUntil(u64),
    /// A front, until the cores of its program have ended.
    Waits,
    Ended,
    /// Its program was killed.
    Killed,
}

/// What a core is to its program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Front,
    Worker,
    Service,
}

/// A core's place among the programs.
#[derive(Clone, Copy, Debug)]
struct Of {
    program: usize,
    role: Role,
    /// Its number in its program; of no meaning to a front.
    number: usize,
}

/// When a program is killed.
#[derive(Clone, Copy)]
pub(in crate::simulated) struct Death {
    pub program: usize,
    /// Scheduling points of its cores yet to come.
    pub steps_left: u64,
    /// Told then. It is kept until the run ends.
    pub dies: *const dyn Fn(),
}

/// See the module.
pub(in crate::simulated) struct Machine {
    place: Cell<Place>,
    accesses: [Cell<u64>; Access::KINDS],
    trace: Cell<u64>,
    clock_ns: Cell<u64>,
    /// Scheduling points since cores last started; at the front, pauses.
    steps: Cell<u64>,
    /// Whether they are more than there may be.
    is_over: Cell<bool>,
    settings: Cell<Exploration>,
    /// When the first sleeper wakes.
    next_wake_ns: Cell<u64>,
    scheduler: RefCell<Option<Box<dyn Scheduler>>>,
    pub(in crate::simulated) lines: RefCell<Lines>,
    pub(in crate::simulated) given_back: RefCell<GivenBack>,
    cores: RefCell<Cores>,
}

/// The cores of the run that is on.
#[derive(Default)]
struct Cores {
    of: Vec<Of>,
    doing: Vec<Doing>,
    /// Ascending.
    runnable: Vec<usize>,
    /// Null until the core has begun.
    yielders: Vec<*const CoreYielder>,
    /// The core that goes on when the one that runs has suspended itself.
    chosen: Option<usize>,
    /// What cores that are to be made do.
    handed_over: Vec<Body>,
    /// The program that is yet to be killed.
    death: Option<Death>,
}

thread_local! {
    static MACHINE: Machine = const {
        Machine {
            place: Cell::new(Place::Outside),
            accesses: [const { Cell::new(0) }; Access::KINDS],
            trace: Cell::new(0),
            clock_ns: Cell::new(0),
            steps: Cell::new(0),
            is_over: Cell::new(false),
            settings: Cell::new(Exploration::of(Schedule::RoundRobin)),
            next_wake_ns: Cell::new(u64::MAX),
            scheduler: RefCell::new(None),
            lines: RefCell::new(Lines::new()),
            given_back: RefCell::new(GivenBack::new()),
            cores: RefCell::new(Cores {
                of: Vec::new(),
                doing: Vec::new(),
                runnable: Vec::new(),
                yielders: Vec::new(),
                chosen: None,
                handed_over: Vec::new(),
                death: None,
            }),
        }
    };
}

/// Notes an access that is about to happen, and lets another core go on if the schedule says so.
pub(in crate::simulated) fn access(kind: Access) {
    with(|machine| machine.access(kind));
}

/// As [`access`], of the cache line at `address`.
pub(in crate::simulated) fn access_at(kind: Access, address: usize) {
    with(|machine| {
        machine.touch(kind, address);
        machine.access(kind);
        machine.look_up(kind, address);
    });
}

/// Lets time pass for computation.
pub(in crate::simulated) fn compute(ns: u64) {
    with(|machine| machine.clock_ns.set(machine.clock_ns.get() + ns));
}

/// The virtual time.
pub(in crate::simulated) fn clock_ns() -> u64 {
    with(|machine| machine.clock_ns.get())
}

/// The machine of this host thread.
#[inline]
pub(in crate::simulated) fn with<R>(f: impl FnOnce(&Machine) -> R) -> R {
    MACHINE.with(f)
}

/// Set up, and taken down when dropped.
pub(in crate::simulated) struct Explored(#[expect(dead_code, reason = "dropped last")] Moved);

impl Drop for Explored {
    fn drop(&mut self) {
        with(|machine| {
            machine.place.set(Place::Outside);
            machine.settings.set(Exploration::of(Schedule::RoundRobin));
            machine.scheduler.replace(None);
            machine.lines.borrow_mut().stop();
            machine.given_back.replace(GivenBack::new());
        });
    }
}

/// Cores that were made, until dropped.
pub(in crate::simulated) struct Running(());

impl Drop for Running {
    fn drop(&mut self) {
        with(|machine| {
            machine.place.set(Place::Front);
            machine.cores.replace(Cores::default());
        });
    }
}

impl Machine {
    /// Begins an exploration.
    #[track_caller]
    pub(in crate::simulated) fn set_up(&self, settings: Exploration) -> Explored {
        assert!(self.place.get() == Place::Outside, "an exploration inside of an exploration");
        self.scheduler.replace(Some(settings.schedule.scheduler()));
        self.accesses.iter().for_each(|count| count.set(0));
        self.trace.set(0);
        self.clock_ns.set(0);
        self.steps.set(0);
        self.settings.set(settings);
        self.next_wake_ns.set(u64::MAX);
        self.place.set(Place::Front);
        Explored(move_control(Control::Exploring))
    }

    /// Of the exploration, or the defaults.
    pub(in crate::simulated) fn settings(&self) -> Exploration {
        self.settings.get()
    }

    /// Accesses of a kind since the exploration began.
    pub(in crate::simulated) fn count(&self, kind: Access) -> u64 {
        self.accesses[kind as usize].get()
    }

    /// The core that control is on, among all.
    pub(in crate::simulated) fn core(&self) -> Option<usize> {
        match self.place.get() {
            Place::Core(core) => Some(core),
            Place::Outside | Place::Front => None,
        }
    }

    /// The same by its number in its program; `None` on a front, too.
    pub(in crate::simulated) fn worker(&self) -> Option<usize> {
        let of = self.cores.borrow().of[self.core()?];
        (of.role != Role::Front).then_some(of.number)
    }

    /// The program whose front control is on.
    fn front(&self) -> Option<usize> {
        let of = self.cores.borrow().of[self.core()?];
        (of.role == Role::Front).then_some(of.program)
    }

    /// A hash of all accesses so far, in their order.
    pub(in crate::simulated) fn trace(&self) -> u64 {
        self.trace.get()
    }

    /// Makes `cores` cores, the first `workers` of them workers.
    pub(in crate::simulated) fn make_cores(&self, workers: usize, cores: usize) -> Running {
        let of = |number| {
            let role = if number < workers { Role::Worker } else { Role::Service };
            Of { program: 0, role, number }
        };
        self.make((0..cores).map(of).collect(), cores, None)
    }

    /// Makes the fronts of so many programs, one of which may be killed.
    pub(in crate::simulated) fn make_fronts(&self, programs: usize, death: Option<Death>) -> Running {
        /// Schedules are told of as many cores as there may be.
        const MOST_CORES: usize = 1 << 8;
        let of = |program| Of { program, role: Role::Front, number: 0 };
        self.make((0..programs).map(of).collect(), MOST_CORES, death)
    }

    fn make(&self, of: Vec<Of>, most: usize, death: Option<Death>) -> Running {
        assert!(self.place.get() == Place::Front, "a virtual core starts workers: one level only");
        assert!(!std::thread::panicking(), "workers are started while a panic unwinds");
        let cores = of.len();
        self.cores.replace(Cores {
            of,
            doing: vec![Doing::Runs; cores],
            runnable: (0..cores).collect(),
            yielders: vec![std::ptr::null(); cores],
            death,
            ..Cores::default()
        });
        self.steps.set(0);
        self.next_wake_ns.set(u64::MAX);
        self.with_scheduler(|scheduler| scheduler.start(most));
        Running(())
    }

    /// Whether control is on the front of a program, which may have cores made for it.
    pub(in crate::simulated) fn is_on_front(&self) -> bool {
        self.front().is_some()
    }

    /// Hands cores over, the first `workers` of which are workers, from the front that runs, and waits until they have ended.
    pub(in crate::simulated) fn hand_over(&self, workers: usize, bodies: Vec<Body>) {
        let (front, program) = self.core().zip(self.front()).expect("a front hands cores over");
        {
            let cores = &mut *self.cores.borrow_mut();
            for (number, _) in bodies.iter().enumerate() {
                let role = if number < workers { Role::Worker } else { Role::Service };
                cores.of.push(Of { program, role, number });
                cores.doing.push(Doing::Runs);
                cores.yielders.push(std::ptr::null());
            }
            cores.handed_over.extend(bodies);
            cores.doing[front] = Doing::Waits;
        }
        self.find_runnable();
        let next = self.choose(Point::Vacant).expect("the cores that were handed over are runnable");
        self.switch_to(front, next);
    }

    /// Lets the others go on until the clock has come to `wake_ns` or all workers have ended. Returns whether
    /// they have.
    pub(in crate::simulated) fn sleep_until(&self, wake_ns: u64) -> bool {
        let Place::Core(core) = self.place.get() else { panic!("only a virtual core sleeps") };
        let program = self.cores.borrow().of[core].program;
        while !self.cores.borrow().workers_have_ended(program) && self.clock_ns.get() < wake_ns {
            self.cores.borrow_mut().doing[core] = Doing::SleepsUntil(wake_ns);
            self.find_runnable();
            let next = self.choose(Point::Vacant).expect("a worker that has not ended is runnable");
            self.switch_to(core, next);
        }
        self.cores.borrow().workers_have_ended(program)
    }

    /// Panics if what the access is about to touch was given back.
    fn look_up(&self, kind: Access, address: usize) {
        let is_gone = self.given_back.borrow().has(address);
        assert!(!is_gone || std::thread::panicking(), "{kind:?} of memory that was given back");
    }

    /// Writes the access of a worker into the book of lines, if one is kept.
    fn touch(&self, kind: Access, address: usize) {
        let Place::Core(core) = self.place.get() else { return };
        let mut lines = self.lines.borrow_mut();
        if lines.are_watched() && self.cores.borrow().of[core].role == Role::Worker {
            lines.touch(core, address, kind.writes());
        }
    }

    fn access(&self, kind: Access) {
        if std::thread::panicking() {
            if kind == Access::Pause {
                pause_while_unwinding();
            }
            if self.place.get() == Place::Front {
                return;
            }
        }
        let count = &self.accesses[kind as usize];
        count.set(count.get() + 1);
        self.clock_ns.set(self.clock_ns.get() + nanoseconds(kind));
        match self.place.get() {
            Place::Outside => unreachable!("not noticed"),
            Place::Front => {
                self.note(u64::MAX, kind);
                if kind == Access::Pause && self.step() {
                    self.tell_no_progress();
                }
            }
            Place::Core(core) => {
                self.note(core as u64, kind);
                if self.step() {
                    // The core itself is not at fault, and may be in the middle of anything: it is not unwound.
                    self.is_over.set(true);
                    self.switch_to(core, core);
                }
                if self.is_killed(core) {
                    self.die(core);
                }
                self.scheduling_point(core, kind);
            }
        }
    }

    /// Whether the program of the core that runs is to end here.
    fn is_killed(&self, core: usize) -> bool {
        let cores = &mut *self.cores.borrow_mut();
        let program = cores.of[core].program;
        let Some(death) = cores.death.as_mut().filter(|death| death.program == program) else { return false };
        death.steps_left = death.steps_left.saturating_sub(1);
        // Who is unwound is left in peace: of the thread's panics none may be left over.
        death.steps_left == 0 && !std::thread::panicking()
    }

    /// The program of the core that runs is killed, and never goes on.
    #[cold]
    fn die(&self, core: usize) {
        let death = {
            let cores = &mut *self.cores.borrow_mut();
            let death = cores.death.take().expect("it is killed");
            for (doing, of) in cores.doing.iter_mut().zip(&cores.of) {
                if of.program == death.program && *doing != Doing::Ended {
                    *doing = Doing::Killed;
                }
            }
            death
        };
        // SAFETY: it is kept until the run ends.
        unsafe { (*death.dies)() };
        self.find_runnable();
        let next = self.choose(Point::Vacant);
        let yielder = {
            let mut cores = self.cores.borrow_mut();
            cores.chosen = next;
            cores.yielders[core]
        };
        // SAFETY: as in `switch_to`.
        unsafe { suspend(yielder) }
        unreachable!("who was killed is not resumed");
    }

    /// Hashes the access into the trace.
    fn note(&self, core: u64, kind: Access) {
        let word = (core << 8) | kind as u64;
        self.trace.set((self.trace.get().rotate_left(5) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    }

    /// Counts a step; whether it is one too many. Those who go on while a core is unwound have as many again.
    fn step(&self) -> bool {
        let steps = self.steps.get() + 1;
        let is_too_many = steps > self.settings.get().step_bound;
        self.steps.set(if is_too_many { 0 } else { steps });
        is_too_many && !std::thread::panicking()
    }

    fn tell_no_progress(&self) -> ! {
        panic!("no progress after {} steps", self.settings.get().step_bound);
    }

    fn scheduling_point(&self, core: usize, kind: Access) {
        if self.clock_ns.get() >= self.next_wake_ns.get() {
            self.find_runnable();
        }
        let point = if kind == Access::Pause { Point::Pause { core } } else { Point::Access { core } };
        let next = self.choose(point).expect("the core that asks is runnable");
        if next != core {
            self.switch_to(core, next);
        }
    }

    /// What the schedule says; `None` if no core can go on.
    fn choose(&self, point: Point) -> Option<usize> {
        let cores = self.cores.borrow();
        if cores.runnable.is_empty() {
            return None;
        }
        let chosen = self.with_scheduler(|scheduler| scheduler.next(point, &cores.runnable));
        assert!(cores.runnable.contains(&chosen));
        Some(chosen)
    }

    fn with_scheduler<R>(&self, f: impl FnOnce(&mut dyn Scheduler) -> R) -> R {
        f(self.scheduler.borrow_mut().as_deref_mut().expect("an exploration has a scheduler"))
    }

    /// Leaves `core`, on which control is, for `next`; returns when it is `core`'s turn again.
    fn switch_to(&self, core: usize, next: usize) {
        let yielder = {
            let mut cores = self.cores.borrow_mut();
            cores.chosen = Some(next);
            cores.yielders[core]
        };
        assert!(!yielder.is_null(), "core {core} runs and has not begun");
        // SAFETY: control is on `core`, so its coroutine is the one that was resumed last and its body, which owns the
        // yielder and gave us its address in `begun`, has not returned. No borrow of the machine's cells is held.
        unsafe { suspend(yielder) }
    }

    /// Finds out who can go on, and when the next sleeper will.
    fn find_runnable(&self) {
        let cores = &mut *self.cores.borrow_mut();
        let now = self.clock_ns.get();
        let mut next_wake_ns = u64::MAX;
        cores.runnable.clear();
        for core in 0..cores.doing.len() {
            let program = cores.of[core].program;
            match cores.doing[core] {
                Doing::SleepsUntil(wake_ns) if wake_ns <= now || cores.workers_have_ended(program) => {
                    cores.doing[core] = Doing::Runs;
                }
                Doing::SleepsUntil(wake_ns) => next_wake_ns = next_wake_ns.min(wake_ns),
                Doing::Waits if cores.have_ended(program) => cores.doing[core] = Doing::Runs,
                Doing::Waits | Doing::Runs | Doing::Ended | Doing::Killed => {}
            }
            if cores.doing[core] == Doing::Runs {
                cores.runnable.push(core);
            }
        }
        self.next_wake_ns.set(next_wake_ns);
    }
}

impl Conductor for Machine {
    fn next_to_run(&self) -> Option<usize> {
        if self.is_over.replace(false) {
            self.tell_no_progress();
        }
        let chosen = self.cores.borrow_mut().chosen.take();
        let core = chosen.or_else(|| self.choose(Point::Vacant))?;
        self.place.set(Place::Core(core));
        Some(core)
    }

    fn suspended(&self) {
        self.place.set(Place::Front);
    }

    fn begun(&self, core: usize, yielder: &CoreYielder) {
        self.cores.borrow_mut().yielders[core] = yielder;
    }

    fn ended(&self, core: usize) {
        self.cores.borrow_mut().doing[core] = Doing::Ended;
        self.find_runnable();
    }

    fn handed_over(&self) -> Vec<Body> {
        std::mem::take(&mut self.cores.borrow_mut().handed_over)
    }

    fn was_killed(&self, core: usize) -> bool {
        self.cores.borrow().doing[core] == Doing::Killed
    }
}

impl Cores {
    /// Whether those of a program have ended that `counts` counts.
    fn all_ended(&self, program: usize, counts: impl Fn(Role) -> bool) -> bool {
        let its = self.of.iter().zip(&self.doing).filter(|(of, _)| of.program == program && counts(of.role));
        its.into_iter().all(|(_, &doing)| doing == Doing::Ended)
    }

    fn workers_have_ended(&self, program: usize) -> bool {
        self.all_ended(program, |role| role == Role::Worker)
    }

    /// Whether all have but the front.
    fn have_ended(&self, program: usize) -> bool {
        self.all_ended(program, |role| role != Role::Front)
    }
}
