//! The facade on a machine of our own: one host thread, every interleaving chosen, counted and repeatable.
//!
//! [`explore`] sets a schedule up and runs a closure. Inside, `worker::run` makes every worker a virtual
//! core, a coroutine on a stack of its own, and every access through the facade is a *scheduling point*:
//! there the schedule may let another core go on. An access itself is not interrupted. The same schedule with
//! the same seed gives the same interleaving, bit for bit, in every process: nothing depends on host
//! addresses, and [`trace_hash`] tells two runs apart.
//!
//! What it shows and what not:
//! - **Sequentially consistent only.** Cores see each other's writes at once and in one order, whatever
//!   `Ordering` they name. A missing Acquire is invisible here; latches, rings and epochs are tried under
//!   `loom` for that.
//! - A racing copy of a record may be torn between its cache lines and once within each; a copy under a lock
//!   is copied line by line, so that a lock that does not exclude is seen.
//! - One clock for all cores, which every access advances by a rough cost: real-time order is the order of
//!   the schedule. It is not a model of what a machine's caches cost.
//! - Who waits must say so by `cpu::pause`. Who never gets on is caught by [`Exploration::step_bound`].
//!
//! Outside of [`explore`], accesses act directly: they are the host's atomics, and sound from any thread.

pub mod atomic;
pub mod cell;
pub mod clock;
pub mod cpu;
mod exploration;
#[allow(clippy::duplicate_mod, reason = "one text, compiled against the words of either module")]
#[path = "latch.rs"]
pub mod latch;
mod lines;
mod machine;
pub mod payload;
pub mod region;
pub mod schedule;
pub mod worker;

pub use exploration::{Accesses, Exploration, accesses, explore, trace_hash};
pub use lines::{SharedLines, shared_lines, watch_lines};
pub use schedule::Schedule;

/// How much memory there is to take: the host's.
pub mod memory {
    pub use crate::hardware::memory::{available_bytes, huge_pages_bytes_of};
}

const _: () = {
    assert!(size_of::<latch::TestAndSet>() == 4);
    assert!(size_of::<latch::TestAndTestAndSet>() == 4);
    assert!(size_of::<latch::Ticket>() == 4);
    assert!(size_of::<latch::NoLatch>() == 4);
};
