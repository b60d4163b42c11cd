//! The facade on machines of our own: virtual cores on one host thread, counted and repeatable.
//!
//! There are two such machines behind one facade, and a third state between them:
//!
//! | set up by | which core goes on | time | for |
//! |---|---|---|---|
//! | [`explore`] | a schedule says, at every access | one clock, rough costs | every interleaving |
//! | [`simulate`] | the one whose clock is behind | a clock for each core, costs of a described machine | how it scales |
//! | [`unobserved()`] | each until it ends or pauses | none | loading, checking |
//!
//! Inside, `worker::run` makes every worker a virtual core, a coroutine on a stack of its own ([`stack`]). An access itself
//! is not interrupted. The same seed gives the same run, bit for bit, in every process: nothing depends on host addresses
//! ([`timed`] says how), and [`trace_hash`] tells two runs apart.
//!
//! What they show and what not:
//! - **Sequentially consistent only.** Cores see each other's writes at once and in one order, whatever
//!   `Ordering` they name; what an ordering costs is charged. A missing Acquire is invisible here; latches, rings and epochs
//!   are tried under `loom` for that.
//! - In an exploration a racing copy of a record may be torn between its cache lines and once within each; a copy under a
//!   lock is copied line by line, so that a lock that does not exclude is seen. In a simulation copies are not torn.
//! - An exploration's clock is no model of what a machine's caches cost: real-time order is the order of the schedule. A
//!   simulation's is ([`model`]), for a machine that a file describes ([`description`]).
//! - In an exploration, who touches a piece of a [`heap`] that was given back panics.
//! - Who waits must say so by `cpu::pause`. Who never gets on is caught by [`Exploration::step_bound`] and
//!   [`Simulation::time_bound`].
//!
//! Outside of all three, accesses act directly: they are the host's atomics, and sound from any thread.

mod access;
pub mod atomic;
pub mod bell;
pub mod cell;
pub mod clock;
mod cores;
pub mod counters;
pub mod cpu;
pub mod description;
pub mod disk;
mod elision;
mod exploration;
pub mod fingerprint;
mod given_back;
pub mod heap;
#[allow(clippy::duplicate_mod, reason = "one text, compiled against the words of either module")]
#[path = "../latch.rs"]
pub mod latch;
#[allow(clippy::duplicate_mod, reason = "one text, compiled against the latches of either module")]
#[path = "../latched.rs"]
pub mod latched;
mod lines;
mod memory_map;
pub mod model;
pub mod network;
pub mod payload;
pub mod process;
pub mod region;
pub mod schedule;
pub mod segment;
pub mod socket;
#[allow(clippy::duplicate_mod, reason = "one text, compiled for either machine")]
#[path = "../sole.rs"]
pub mod sole;
pub mod stack;
pub mod timed;
mod unobserved;
pub mod worker;

pub use description::{Description, DescriptionError};
pub use exploration::{Accesses, Exploration, accesses, explore};
pub use lines::{SharedLines, TouchedLines, shared_lines, touched_lines, watch_lines};
pub use schedule::Schedule;
pub use timed::{Progress, Simulation, Statistics, simulate, statistics};
pub use unobserved::unobserved;

/// A hash of all accesses since the exploration or the simulation began, in their order: of core and kind; in a simulation
/// of line and time as well. Two runs with the same hash went alike.
///
/// Panics outside of both.
#[track_caller]
pub fn trace_hash() -> u64 {
    match (access::control(), access::timed()) {
        (_, Some(machine)) => machine.trace(),
        (access::Control::Exploring, _) => exploration::machine::with(exploration::machine::Machine::trace),
        _ => panic!("asked outside of an exploration and of a simulation"),
    }
}

/// What several parts own together: as on the hardware, for no machine counts references.
pub mod shared {
    pub use crate::hardware::shared::Arc;
}

/// How much memory there is to take: the host's.
pub mod memory {
    pub use crate::hardware::memory::{available_bytes, huge_pages_bytes_of, is_short};

    /// As on the hardware; here nothing, for where regions lie must not depend on the host.
    pub fn address_space_among(_regions: usize) -> usize {
        0
    }
}

const _: () = {
    assert!(size_of::<latch::TestAndSet>() == 4);
    assert!(size_of::<latch::TestAndTestAndSet>() == 4);
    assert!(size_of::<latch::Ticket>() == 4);
    assert!(size_of::<latch::NoLatch>() == 4);
};
