//! Setting a schedule up, and what can be asked while it runs.

pub(super) mod machine;

use self::machine::Machine;
use super::access::{Access, Control, control};
use super::schedule::Schedule;
use crate::panics::message;
use std::ops::Sub;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// A schedule, and the size of the machine. Made from a [`Schedule`], with defaults for the rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exploration {
    /// How the next core is chosen.
    pub schedule: Schedule,
    /// The most scheduling points from the start of a run of workers to its end; who passes it is taken to
    /// make no progress. 10 million by default.
    pub step_bound: u64,
    /// What `worker::cores` answers: 4 by default. Any number of workers may run.
    pub cores: usize,
    /// Stack of each core: 1 MiB by default, taken page by page.
    pub stack_bytes: usize,
}

impl Exploration {
    /// Of a schedule, with the defaults.
    pub const fn of(schedule: Schedule) -> Self {
        Exploration { schedule, step_bound: 10_000_000, cores: 4, stack_bytes: 1 << 20 }
    }
}

impl From<Schedule> for Exploration {
    fn from(schedule: Schedule) -> Self {
        Exploration::of(schedule)
    }
}

/// Runs `f` on a virtual machine with a schedule: `explore(Schedule::RoundRobin, || ...)`.
///
/// A panic in `f` or on a virtual core is passed on with its message, the core and the schedule, from which
/// it can be replayed; before, the other cores have ended, or those that would not were unwound. Who passes the bound of
/// steps is left where it is, with what is on its stack.
///
/// Panics inside of another exploration.
#[track_caller]
pub fn explore<R>(exploration: impl Into<Exploration>, f: impl FnOnce() -> R) -> R {
    let exploration = exploration.into();
    assert!(
        matches!(control(), Control::Outside | Control::Exploring),
        "an exploration inside of a simulation"
    );
    let set_up = machine::with(|machine| machine.set_up(exploration));
    let outcome = catch_unwind(AssertUnwindSafe(f));
    drop(set_up);
    match outcome {
        Ok(result) => result,
        Err(panic) => match message(&*panic) {
            // A panic anew, not the old one resumed, so that the schedule is printed.
            Some(message) => panic!("{message} under schedule {:?}", exploration.schedule),
            None => resume_unwind(panic),
        },
    }
}

/// What the machine has been asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Accesses {
    /// Loads of atomics and cells.
    pub loads: u64,
    /// Stores of atomics and cells.
    pub stores: u64,
    /// Atomic read-modify-writes: swaps, exchanges, additions, those of latches included.
    pub read_modify_writes: u64,
    /// Fences.
    pub fences: u64,
    /// Cache lines of records that were read or written, each as often as an operation touched it.
    pub payload_lines: u64,
}

impl Sub for Accesses {
    type Output = Accesses;

    /// What happened from `earlier` to here.
    fn sub(self, earlier: Accesses) -> Accesses {
        Accesses {
            loads: self.loads - earlier.loads,
            stores: self.stores - earlier.stores,
            read_modify_writes: self.read_modify_writes - earlier.read_modify_writes,
            fences: self.fences - earlier.fences,
            payload_lines: self.payload_lines - earlier.payload_lines,
        }
    }
}

/// What the machine has been asked for since the exploration began, by all cores together.
///
/// Panics outside of an exploration.
#[track_caller]
pub fn accesses() -> Accesses {
    of_the_exploration(|machine| Accesses {
        loads: machine.count(Access::Load),
        stores: machine.count(Access::Store) + machine.count(Access::OrderedStore),
        read_modify_writes: machine.count(Access::ReadModifyWrite),
        fences: machine.count(Access::Fence) + machine.count(Access::WeakFence),
        payload_lines: machine.count(Access::PayloadRead) + machine.count(Access::PayloadWrite),
    })
}

#[track_caller]
fn of_the_exploration<R>(ask: impl FnOnce(&Machine) -> R) -> R {
    assert!(matches!(control(), Control::Exploring), "asked outside of an exploration");
    machine::with(ask)
}
