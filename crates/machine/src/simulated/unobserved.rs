//! Running without being looked at: accesses act directly, at the host's speed, and cost no simulated time.
//!
//! For what is not to be measured: loading tables, checking books, and the looks of assertions that only debug builds have, so that
//! these simulate what release builds do. Workers are virtual cores one after the other: a core goes on until it ends or pauses; then
//! the next one does, round and round. So it is as repeatable as the rest.

use super::access::{Control, control, move_control, pause_while_unwinding};
use super::cores::{self, Conductor, CoreYielder, suspend};
use std::cell::{Cell, RefCell};

thread_local! {
    static STATE: State = const {
        State {
            core: Cell::new(None),
            clock_ns: Cell::new(0),
            cores: RefCell::new(Cores { yielders: Vec::new(), ended: Vec::new(), left: 0, next: 0 }),
        }
    };
}

struct State {
    core: Cell<Option<usize>>,
    /// Advances at every look and pause, so that who waits for a time will see it come.
    clock_ns: Cell<u64>,
    cores: RefCell<Cores>,
}

#[derive(Default)]
struct Cores {
    yielders: Vec<*const CoreYielder>,
    ended: Vec<bool>,
    left: usize,
    next: usize,
}

/// Runs `f` without being looked at: inside of a simulation, or on its own.
///
/// `worker::cores` answers 1 inside.
pub fn unobserved<R>(f: impl FnOnce() -> R) -> R {
    let _moved = move_control(Control::Unobserved);
    f()
}

/// What a look or a pause takes, by the clock that nobody observes.
const STEP_NS: u64 = 10;

/// A look at the clock.
#[cold]
pub(super) fn look_at_clock() {
    STATE.with(|state| state.clock_ns.set(state.clock_ns.get() + STEP_NS));
}

/// Waits: another core goes on.
#[cold]
pub(super) fn pause() {
    look_at_clock();
    STATE.with(|state| {
        if std::thread::panicking() {
            pause_while_unwinding();
        }
        if let Some(core) = state.core.get() {
            let yielder = state.cores.borrow().yielders[core];
            // SAFETY: `core` was resumed last and runs; it gave its yielder when it began.
            unsafe { suspend(yielder) }
        }
    });
}

/// The core that control is on.
pub(super) fn core() -> Option<usize> {
    STATE.with(|state| state.core.get())
}

/// A time that moves on.
pub(super) fn clock_ns() -> u64 {
    STATE.with(|state| state.clock_ns.get())
}

/// As `worker::run`; the first `workers` of the cores are workers.
pub(super) fn run_cores<R>(workers: usize, cores: usize, body: &dyn Fn(usize) -> Option<R>) -> Vec<R> {
    const STACK_BYTES: usize = 1 << 20;
    assert!(matches!(control(), Control::Unobserved));
    STATE.with(|state| {
        assert!(state.core.get().is_none(), "a virtual core starts workers: one level only");
        let (yielders, ended) = (vec![std::ptr::null(); cores], vec![false; cores]);
        state.cores.replace(Cores { yielders, ended, left: workers, next: 0 });
        cores::run(state, workers, cores, STACK_BYTES, body)
    })
}

/// Lets others go on until the time has come or all workers have ended; returns whether they have.
pub(super) fn sleep_until(wake_ns: u64) -> bool {
    loop {
        let left = STATE.with(|state| state.cores.borrow().left);
        if left == 0 || clock_ns() >= wake_ns {
            return left == 0;
        }
        pause();
    }
}

impl Conductor for State {
    fn next_to_run(&self) -> Option<usize> {
        let mut cores = self.cores.borrow_mut();
        let count = cores.ended.len();
        let next = (0..count).map(|step| (cores.next + step) % count).find(|&core| !cores.ended[core])?;
        cores.next = next + 1;
        self.core.set(Some(next));
        Some(next)
    }

    fn suspended(&self) {
        self.core.set(None);
    }

    fn begun(&self, core: usize, yielder: &CoreYielder) {
        self.cores.borrow_mut().yielders[core] = yielder;
    }

    fn ended(&self, core: usize) {
        let mut cores = self.cores.borrow_mut();
        cores.ended[core] = true;
        cores.left = cores.left.saturating_sub(1);
    }
}
