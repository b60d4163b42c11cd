//! Durability: redo logging by epochs (*silo* 4.10), under every architecture and protocol, and recovery.
//!
//! ```text
//!  a slot                      a logger, every few milliseconds           recovery
//!  commits in epoch e:         asks which epochs are complete: c          D = the least, over the loggers, of
//!  appends what it wrote       takes the slots' blocks, appends them          the last mark in its files
//!  to its block        ──────> to its file, then a mark "c"      ──────>  replays what is of an epoch <= D,
//!  hands the block over        syncs                                      in the order of (epoch, id)
//!  when it is full, and        publishes c; the least of all
//!  when its epoch ends         loggers' is the durable epoch
//! ```
//!
//! **Epochs agree with the serial order.** A transaction reads the global epoch while it is prepared: when it holds all its locks,
//! under two-phase locking; after it has locked what it writes and before it validates, under SILO, MOCC and TICTOC. Of two that conflict
//! on something that one of them wrote, the second could prepare only after the first had: so its epoch is the same or later, and in
//! one epoch its id is larger ([`crate::commit_id`]; TICTOC's ids are its commit times). So what one epoch and all before it wrote
//! is what a prefix of the serial order wrote. (Under TICTOC, and where timestamps decide, a reader may come *before*, in the
//! serial order, a writer of an earlier epoch: what is recovered is then a serial order without that reader, of which nobody was told, and
//! which nobody read from. So may, of a deployment under SILO, a transaction of several instances, which commits in the latest of the epochs in which it was prepared at any of them.)
//!
//! **An epoch is complete** once no transaction can commit in it any more: every active slot has begun a later one
//! ([`Epochs::complete`](crate::epoch::Epochs::complete)). A slot hands its block over before it goes on to the next epoch, so a
//! logger that finds an epoch complete finds all blocks of it.
//!
//! **Redo is physical.** A record of the log has a row that was inserted, the bytes of a row that were changed, or a key that was
//! deleted; as the bytes are at commit, when nobody else can change them. A logger never looks into a block.
//!
//! **Nothing is written while nothing commits.** A logger writes a mark only if some slot has logged something since its last one.
//! If any has, every logger does: recovery takes the least of their marks.
//!
//! **A write or a sync that fails is not tried again**: what the file then has nobody knows. The log stops: nothing is acknowledged
//! any more, and runs end with the error.
//!
//! | file | what |
//! |---|---|
//! | [`format`] | the bytes of a log |
//! | [`redo`] | a slot's side: blocks |
//! | [`log`] | a store's log, and what its slots and loggers share |
//! | [`block`] | sealing blocks |
//! | [`logger`] | the loop of a logger |
//! | [`checkpoint`] | all rows, written beside running transactions, so that the log before them can go |
//! | [`backup`] | a copy of a checkpoint and the log from that on, of a store that goes on |
//! | [`manifest`] | what a log is of, and which of its files count |
//! | [`scan`] | reading a log: what is intact, and up to which epoch |
//! | [`inspect`](mod@inspect) | telling what it has |
//!
//! Replaying it, through ordinary transactions, is [`crate::recovery`].

mod backup;
mod block;
pub(crate) mod checkpoint;
pub(crate) mod format;
mod inspect;
pub(crate) mod log;
mod logger;
pub(crate) mod manifest;
pub(crate) mod redo;
pub(crate) mod scan;

pub(crate) use inspect::inspect;
pub(crate) use log::Log;
pub(crate) use redo::Redo;
