//! Deployments whose instances are processes: the same program several times, on this host or on others (*hardware-islands*).
//!
//! All nodes carry out the same command, each with its own instance of the store. What one of them has to know of the others they exchange ([`Group::exchange`]): loading, runs
//! and audits begin everywhere at once, and what they come to is put together everywhere, so that all decide alike what comes next. So a harness that
//! measures, checks and audits over an [`contract::Engine`] does that over several processes without knowing of them.
//!
//! | file | what |
//! |---|---|
//! | [`file`](mod@file) | who takes part: a number of processes, or a cluster file |
//! | [`handshake`] | who may: the same program, with the same secret |
//! | `pending` | those who have connected and not said who they are |
//! | [`stream`] | connections, of any kind |
//! | [`tls`] | by what nodes prove who they are, where that is asked for |
//! | [`encrypted`] | connections over TCP whose bytes are encrypted |
//! | [`control`] | the connection between the first node and another: frames, and signs of life |
//! | [`group`] | what a node knows of the others; the exchange |
//! | [`launch`] | starting nodes |
//! | [`node`] | being one, or waiting for runs |
//! | `assignment` | what a node is told |
//! | [`fabric`] | networks that have started the processes themselves, such as MPI |
//! | [`secret`] | what nodes know and nobody else |
//! | [`mesh`] | the connections by which workers talk |
//! | `descriptor` | giving another process a file that is open here |
//! | [`engine`](mod@engine) | the engine over all of them |
//!
//! *A node that dies.* Its connections end, or nothing is heard from it for [`control::SILENCE`]. Whoever notices breaks off, and tells the others; transactions that were not decided
//! abort, and every node's run ends with [`contract::RunError::Lost`], which names it. Nobody waits for it for ever.
#![forbid(unsafe_code)]

mod assignment;
pub mod control;
mod descriptor;
pub mod encrypted;
pub mod engine;
pub mod fabric;
pub mod file;
pub mod group;
pub mod handshake;
pub mod launch;
pub mod mesh;
pub mod node;
mod pending;
pub mod secret;
pub mod stream;
pub mod tls;

pub use assignment::{COMMANDS, rehearse};
pub use engine::Together;
pub use file::Cluster;
pub use group::Group;
pub use secret::Secret;
