//! The facade: everything the engine knows of the world, twice.
//!
//! The engine touches the world only through the modules below. They exist in [`hardware`] and, with the same
//! names and signatures, in [`simulated`]; the engine's source is compiled once against each. So one text
//! runs on the machine at hand, under a scheduler that owns every interleaving, and on machines that only a file describes.
//!
//! | the engine needs | module |
//! |---|---|
//! | words that several threads share | `atomic` |
//! | words that one thread owns | `cell` |
//! | mutual exclusion for a few instructions | `latch`, `latched` |
//! | to be told that it is missing, where it is promised | `sole` |
//! | to wait, to hint, to account for computation | `cpu` |
//! | the bytes of records | `payload` |
//! | memory, and how much of it there is | `region`, `heap`, `memory` |
//! | what several parts own | `shared` |
//! | time | `clock` |
//! | threads and cores | `worker` |
//! | to wake a service | `bell` |
//! | files | `disk` |
//! | stacks of coroutines | `stack` |
//! | to do what is not to be measured | `unobserved` |
//!
//! What only exists on hardware: [`hardware::topology`], [`hardware::facts`] and [`hardware::environment`],
//! for the `doctor` command and for the environment that stands beside every result.

pub mod hardware;
mod panics;
mod seats;
pub mod simulated;
mod site;

pub use site::Site;
