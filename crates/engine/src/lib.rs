//! The engine: every architecture with every protocol, over one storage.
//!
//! | what | where |
//! |---|---|
//! | how a step reaches its record | [`architecture`], one file each |
//! | what a record answers | [`protocol`], one file each |
//! | which pairs there are | [`matrix`] |
//! | a transaction over any pair | [`transaction`] |
//! | a worker's loop | [`session`] |
//! | ids of committed transactions | [`commit_id`] |
//! | where timestamps come from | [`timestamp`] |
//! | the same, open to the threads of a program | [`embedded`] |
//! | what survives | [`durability`], [`recovery`] |
//! | who touches metadata, and how | [`physical`] |
//! | rows, tables, memory | [`storage`], [`epoch`] |
//! | what records were, for snapshots | [`versions`] |
//! | which of them nobody looks for, where timestamps decide | [`horizon`] |
//! | from a key to its record | [`index`] |
//! | messages between workers | [`message`] |
//! | transactions in flight | [`fiber`] |
//! | the machine | [`facade`], and what it cannot see: [`work`] |
//!
//! This source is compiled twice: as `engine` for the hardware, and as `engine-simulated` for the simulated machine.
//! Only [`facade`] knows which.

#![allow(
    rustdoc::private_intra_doc_links,
    reason = "who reads the engine's documentation reads its parts, too"
)]

mod architecture;
mod commit_id;
mod deployment;
mod durability;
pub mod embedded;
mod engine;
mod epoch;
mod facade;
mod fiber;
mod horizon;
mod index;
mod matrix;
mod message;
pub mod physical;
mod protocol;
mod record;
mod recovery;
mod session;
mod storage;
mod system;
#[doc(hidden)]
pub mod testing;
mod timestamp;
mod transaction;
mod versions;
pub mod work;

/// The ordered index by itself, for its tests and benches: nothing of it is part of the engine's interface.
#[doc(hidden)]
pub mod ordered_parts {
    pub use crate::index::ordered::check::Census;
    pub use crate::index::ordered::parts::{Copy, Mutant, Tree, Witness, Worker};
    pub use crate::index::ordered::{Direction, MAX_KEY_BYTES, synchronization_policy, wrong};
}

pub use engine::ThisEngine;
pub use message::channel::shared_memory::{CommonMemory, SEGMENT_BYTES, SharedMemory};
pub use message::channel::{Channel, Link, Part};
pub use storage::Store;
