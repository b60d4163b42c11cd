//! Simulations: virtual cores with clocks of their own, on a machine that a file describes.
//!
//! ```
//! use machine::simulated::atomic::{AtomicU64, Ordering};
//! use machine::simulated::{Description, simulate, statistics, worker};
//!
//! let file = include_str!("../../../../../machines/haswell-ex-4x18.toml");
//! let machine = Description::parse(file).expect("a machine");
//! let statistics = simulate(&machine, 1, || {
//!     let counter = AtomicU64::new(0);
//!     worker::run(72, |_| counter.fetch_add(1, Ordering::Relaxed));
//!     statistics()
//! });
//! assert!(statistics.lines.transfers_across > 0);
//! ```
//!
//! Inside, `worker::run` starts virtual cores. Each has a clock; the one that is behind goes on, always (`machine`). What
//! an access costs is the [`model`](super::model)'s to say. The closure itself, at the *front*, sets up and reads results: it
//! takes no time, and its accesses are not noticed. Simulated time goes on from one run of workers to the next, and so do
//! the caches, as far as regions are concerned.
//!
//! **What makes two runs identical,** in one process or in two: the model sees lines of simulated memory, never addresses
//! of the host. A region's lines are numbered by their offsets, from a first number that the region gets when it is first
//! touched; other memory gets its numbers line by line when first touched, and loses them when workers are next started
//! (`places`). The order in which that happens is decided by the clocks, ties by the cores' numbers; the clocks by the
//! model, in integers; and what is drawn is drawn from the seed. What is left is memory outside of regions of which
//! objects share a line by the allocator's will: what cores share must have lines of its own, by its type's alignment.

pub(super) mod machine;
mod places;
mod queue;
mod spin;
mod statistics;

use super::access::{Control, control, move_control, timed};
use super::description::Description;
use crate::panics::message;
use machine::Machine;
pub use statistics::{Progress, Statistics};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr::NonNull;
use std::time::Duration;

/// What a caller is told while it waits.
pub(super) type Report = Box<dyn Fn(Progress)>;

/// A machine, and how to run it.
pub struct Simulation<'d> {
    description: &'d Description,
    seed: u64,
    stack_bytes: usize,
    time_bound: Duration,
    parks: bool,
    report: Option<(Duration, Report)>,
}

impl<'d> Simulation<'d> {
    /// Of a machine, with seed 0 and defaults.
    pub fn of(description: &'d Description) -> Self {
        Simulation {
            description,
            seed: 0,
            stack_bytes: 256 << 10,
            time_bound: Duration::from_secs(1000),
            parks: true,
            report: None,
        }
    }

    /// What decides by how little the cores start after each other, and where lines of memory live.
    pub fn seed(self, seed: u64) -> Self {
        Simulation { seed, ..self }
    }

    /// Stack of each core: 256 KiB by default, taken page by page.
    pub fn stack_bytes(self, stack_bytes: usize) -> Self {
        Simulation { stack_bytes, ..self }
    }

    /// Simulated time after which a simulation is taken to make no progress, and ended by a panic: 1000 s by default.
    pub fn time_bound(self, time_bound: Duration) -> Self {
        Simulation { time_bound, ..self }
    }

    /// Whether cores that spin are put aside until something changes, which is faster and changes no clock: so by default.
    pub fn parks(self, parks: bool) -> Self {
        Simulation { parks, ..self }
    }

    /// Calls `report` about every `interval` of the host's time, while cores run.
    pub fn report_every(self, interval: Duration, report: impl Fn(Progress) + 'static) -> Self {
        Simulation { report: Some((interval, Box::new(report))), ..self }
    }

    /// Runs `f` on the machine.
    ///
    /// A panic in `f` or on a virtual core is passed on with its message, the core, the machine and the seed; before,
    /// the other cores have ended, or those that would not were unwound.
    ///
    /// Panics inside of another simulation or of an exploration.
    #[track_caller]
    pub fn run<R>(self, f: impl FnOnce() -> R) -> R {
        assert!(matches!(control(), Control::Outside), "a simulation inside of something else");
        let (name, seed) = (self.description.name.clone(), self.seed);
        let machine = Machine::new(self);
        let moved = move_control(Control::Timed(NonNull::from(&machine)));
        let outcome = catch_unwind(AssertUnwindSafe(f));
        drop(moved);
        match outcome {
            Ok(result) => result,
            Err(panic) => match message(&*panic) {
                // A panic anew, not the old one resumed, so that the machine is printed.
                Some(message) => panic!("{message} on machine {name} with seed {seed}"),
                None => resume_unwind(panic),
            },
        }
    }
}

/// Runs `f` on a machine: [`Simulation::run`] with the defaults.
#[track_caller]
pub fn simulate<R>(description: &Description, seed: u64, f: impl FnOnce() -> R) -> R {
    Simulation::of(description).seed(seed).run(f)
}

/// What has happened since the simulation began.
///
/// Panics outside of a simulation.
#[track_caller]
pub fn statistics() -> Statistics {
    timed().expect("statistics are asked for inside of a simulation").statistics()
}
