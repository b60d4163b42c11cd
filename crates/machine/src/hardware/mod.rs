//! The facade on the machine at hand: the standard library's atomics, and the few things it does not have.

mod affinity;
pub mod atomic;
pub mod bell;
pub mod cell;
pub mod child;
pub mod clock;
pub mod counters;
pub mod cpu;
pub mod disk;
pub mod environment;
pub mod facts;
pub mod frequency;
pub mod heap;
#[allow(clippy::duplicate_mod, reason = "one text, compiled against the words of either module")]
#[path = "../latch.rs"]
pub mod latch;
#[allow(clippy::duplicate_mod, reason = "one text, compiled against the latches of either module")]
#[path = "../latched.rs"]
pub mod latched;
pub mod load;
pub mod memory;
pub mod payload;
pub mod region;
pub mod rounds;
pub mod segment;
pub mod shared;
pub mod socket;
#[allow(clippy::duplicate_mod, reason = "one text, compiled for either machine")]
#[path = "../sole.rs"]
pub mod sole;
pub mod stack;
pub mod topology;
pub mod worker;

/// Runs `f`, which prepares or inspects what is measured, or looks for an assertion that only debug builds have. The simulated machine
/// does not charge for it; here it is a call.
pub fn unobserved<R>(f: impl FnOnce() -> R) -> R {
    f()
}

const _: () = {
    assert!(size_of::<latch::TestAndSet>() == 4);
    assert!(size_of::<latch::TestAndTestAndSet>() == 4);
    assert!(size_of::<latch::Ticket>() == 4);
    assert!(size_of::<latch::NoLatch>() == 4);
};
