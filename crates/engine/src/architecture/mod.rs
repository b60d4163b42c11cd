//! Architectures: how a step of a transaction reaches its record, and how it waits, one file each.
//!
//! A *step* is a function over a [`Site`], the place where a partition's records may be touched. What reaches the
//! site is the architecture's business: a call in place, a message, a migrating fiber.
//!
//! An architecture has four verbs:
//!
//! | verb | what | waits | step |
//! |---|---|---|---|
//! | [`Architecture::at`] | runs a step at a partition, answers its result | for the result | may borrow |
//! | [`Architecture::post`] | runs a step at a partition | no | `Copy + 'static`, first in, first out with `at` |
//! | [`Architecture::wait`] | waits for a queued request | yes | |
//! | [`Architecture::back_off`] | lets time pass before a retry | yes | |
//!
//! and [`Architecture::pause`], a short `back_off` for a record that says "ask again".
//!
//! A step never sends and never suspends, and nothing is suspended while a latch is held. Steps that are posted must
//! fit in a message with their captures, which is asserted at compile time, under every architecture.

mod back_off;
mod shared_everything;

pub(crate) use back_off::BackOff;
pub(crate) use shared_everything::{SharedEverything, SharedState};

use crate::physical::Physical;
use crate::protocol::{Protocol, SlotId, Wake, Waker};
use crate::storage::{Partition, Table};
use contract::{PartitionId, TableId};

/// Bytes that a step may capture to fit in one message of a cache line: 64 less the function and the message's state.
pub(crate) const CAPTURE_BYTES: usize = 48;

/// Where steps run: the tables, the protocol's shared state, and the way to wake those who wait.
pub(crate) struct Site<'e, P: Protocol, F: Physical, W> {
    pub tables: &'e [Table],
    pub common: &'e P::Common<F>,
    pub waker: &'e W,
}

impl<P: Protocol, F: Physical, W> Clone for Site<'_, P, F, W> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<P: Protocol, F: Physical, W> Copy for Site<'_, P, F, W> {}

impl<'e, P: Protocol, F: Physical, W: Waker> Site<'e, P, F, W> {
    /// A partition of a table.
    #[inline(always)]
    pub fn partition(&self, table: TableId, partition: PartitionId) -> &'e Partition {
        self.tables[table.index()].partition(partition)
    }
}

/// How a step of a transaction reaches its record, and how it waits.
pub(crate) trait Architecture {
    /// What its records answer.
    type Protocol: Protocol;
    /// Who touches metadata.
    type Physical: Physical;
    /// Wakes those who wait.
    type Waker: Waker;

    /// Runs `step` at `partition` and answers its result.
    fn at<R>(
        &mut self,
        partition: PartitionId,
        step: impl FnOnce(&Site<'_, Self::Protocol, Self::Physical, Self::Waker>) -> R,
    ) -> R;

    /// Runs `step` at `partition`, some time, after every step sent there before.
    fn post<S>(&mut self, partition: PartitionId, step: S)
    where
        S: FnOnce(&Site<'_, Self::Protocol, Self::Physical, Self::Waker>) + Copy + 'static;

    /// Waits until the queued request of `slot` is decided.
    fn wait(&mut self, slot: SlotId) -> Wake;

    /// Lets time pass after the `attempt`-th attempt (from 1) was aborted.
    fn back_off(&mut self, attempt: u32);

    /// Lets a little time pass before a record is asked again; `asked`: how often it was, from 0.
    fn pause(&mut self, asked: u32);
}
