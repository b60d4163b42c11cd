//! Messages between workers: a cache line each, in rings with one sender and one receiver (*trireme* 3.4).
//!
//! | file | what |
//! |---|---|
//! | [`ring`] | the rings of all pairs of workers, and a message's way through one |
//! | [`turn`] | whose turn it is with a message |
//! | [`grants`] | what a transaction that waits in a record's queue is told |
//! | [`channel`] | what carries the messages between instances |
//! | [`endpoint`] | a worker's end of its channels to other instances |
//! | [`step`] | what a message carries: a step and its captures, and the step's answer |
//!
//! Delegation sends steps, DORA sends fibers; the rings are the same.

pub(crate) mod channel;
pub(crate) mod endpoint;
mod grants;
pub(crate) mod ring;
pub(crate) mod step;
mod turn;

pub(crate) use grants::Grants;
pub(crate) use ring::{Inbox, Outbox, Rings};
