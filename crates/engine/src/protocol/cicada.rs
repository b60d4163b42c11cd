//! CICADA: optimistic and multiversion; a transaction's place in the serial order is drawn from its core's clock when it begins, and
//! checked when it commits (Lim, Kaminsky and Andersen, *Cicada: Dependably Fast Multi-Core In-Memory Transactions*, SIGMOD 2017).
//!
//! State: MVCC's ([`super::mvcc`]), in the record: wts with a status, rts, the timestamp of a pending write, and where the version is that the
//! row has replaced. What all share is the [`Horizon`].
//!
//! Steps, of a transaction with timestamp ts (the paper's sections):
//! - *Read* (3.2): look, and write nothing. The row, if it is older than ts; else go from version to version down to the newest that is. An
//!   older pending write: ask again, until it is decided. Copy, look whether the version still is there, and keep its wts as the token.
//! - *Write* (3.2): look in the same way, and keep a private copy. A row that is younger, or was read by somebody younger: too late, already.
//! - *Commit* (3.4):
//!   1. make the writes pending, the most contended first: those whose versions were written last. A younger version, reader or pending write:
//!      too late. An older pending write: wait for it. A version that was read must still be the one that is overwritten.
//!   2. for each version that was read: raise its rts to ts, and look: it must still be the one that ts is shown. If a younger row is in its
//!      place nothing is raised, for nobody writes behind that any more.
//!   3. install: keep what is replaced as a version, copy the private copies in, publish wts = ts.
//! - *Abort*: clear what is pending.
//!
//! Invariants:
//! - Who commits reads, at each of its records, the newest version older than ts, for ever: as under TIMESTAMP, for 1 is its write and 2 its
//!   read, and nothing is granted in between. A reader raises rts and then looks for pending writes, a writer sets PENDING and then looks at
//!   rts, all in one total order: of two that conflict at least one sees the other.
//! - The bytes of a version are those that were copied: a version that has the same wts is the same.
//! - A transaction waits for older ones only: no cycle of waiting.
//! - Versions of a record stand in the order of their timestamps, and only the newest is ever replaced.
//! - Nobody writes to what it reads before it commits, but where a key has no row (see below).
//!
//! **The order is that of time, too.** The paper's clocks are loosely synchronised, and a transaction may come before one that had ended
//! when it began, unless its answer is held back (3.1). Ours are read in order, and agree ([`crate::timestamp`]): who begins after another has
//! ended has the larger timestamp. So there is nothing to synchronise, and who aborts need not boost its clock: what it draws next is
//! younger than whatever it has met. On machines whose clocks do not agree timestamps are drawn from a counter. From batches the order is not
//! that of time.
//!
//! **Missing keys.** A miss or a scan leaves its timestamp in the gap at once, as under TIMESTAMP, and so does who finds a record without a
//! row: then nobody older inserts there, what was missing stays missing, and commit has nothing to validate. An insert is pending from
//! the operation on. Deletes leave tombstones, until the horizon has passed them. In the paper the nodes of the index are
//! records, whose rts is raised at commit.
//!
//! **Transactions that only read**, and say so, read at the horizon, if they may ([`EngineOptions::snapshots`]): nobody who runs is older, so
//! that they write nothing, and are never validated (3.1); they wait only while somebody whose write is pending installs it. They are as old as
//! the horizon, which each slot looks for once in so many transactions, and a long one anywhere holds back; and so not in the order of time. Where rows vary in length they are transactions like others, for values are freed by epochs.
//!
//! **Garbage.** A version is freed once the horizon has passed its successor. Nobody follows a link to one that was freed: who reads
//! goes on from a row or a version that is younger than itself, and what it comes to was replaced by that one or a younger one.
//!
//! We differ: the newest version is always in place, whatever its size (3.3: a small one, where it pays); a write must be younger than
//! the row, so that rts is a word of the record, and who writes blindly does not come between two versions; one write is pending at a time; reads
//! are not checked before the writes are pending, but when they are made (the paper does both); and the back-off is not regulated
//! by the throughput: the engine's is random, with a cap.

use super::{Answer, BasicTimestamp, Chained, Drawn, Looking, Mvcc, Protocol, Timestamping, Versioning};
use crate::architecture::Architecture;
use crate::horizon::Horizon;
use crate::physical::Physical;
use crate::record::header::Versioned;
use crate::timestamp::Halves;
use crate::transaction::access::ValidatedByTime;
use contract::{EngineOptions, Presence};

/// CICADA.
pub(crate) struct Cicada;

impl Protocol for Cicada {
    type Meta<P: Physical> = Chained<P>;
    type Header = Versioned;
    type Gap<P: Physical> = P::SingleWriter;
    type Common<P: Physical> = Horizon;
    type Slot = Drawn;
    type Access<A: Architecture<Protocol = Self>> = ValidatedByTime;

    fn common<P: Physical>(slots: usize, _: usize, options: &EngineOptions) -> Horizon {
        // Where partitions have owners, who scans asks them.
        Horizon::new(slots, options.snapshots && !P::HAS_OWNER)
    }

    fn is_quiescent<P: Physical>(meta: &Chained<P>) -> bool {
        Mvcc::is_quiescent(meta)
    }

    fn is_gap_quiescent<P: Physical>(gap: &P::SingleWriter) -> bool {
        BasicTimestamp::is_gap_quiescent::<P>(gap)
    }
}

// SAFETY: the metadata is single-writer words.
unsafe impl Versioning for Cicada {
    const KEEPS_VERSIONS: bool = true;

    #[inline(always)]
    fn still_is<P: Physical>(meta: &Chained<P>, token: u64) -> bool {
        Mvcc::still_is(meta, token)
    }

    #[inline(always)]
    fn previous<P: Physical>(meta: &Chained<P>) -> u64 {
        Mvcc::previous(meta)
    }

    fn tombstone(time: u64) -> u64 {
        Mvcc::tombstone(time)
    }

    fn bury<P: Physical>(meta: &Chained<P>, tombstone: u64) -> Answer {
        Mvcc::bury(meta, tombstone)
    }
}

impl Timestamping for Cicada {
    #[inline(always)]
    fn read<P: Physical>(meta: &Chained<P>, by: Halves) -> Answer {
        match Mvcc::look(meta, by.time()) {
            Answer::Present(_) | Answer::Absent(_) => Mvcc::read(meta, by),
            // Of an old version nothing has to be told.
            otherwise => otherwise,
        }
    }

    #[inline(always)]
    fn write<P: Physical>(meta: &Chained<P>, wanted: Presence, by: Halves) -> Answer {
        Mvcc::write(meta, wanted, by)
    }

    #[inline(always)]
    fn lock<P: Physical>(meta: &Chained<P>, previous: u64) {
        Mvcc::lock(meta, previous);
    }

    #[inline(always)]
    fn publish<P: Physical>(meta: &Chained<P>, to_be: Presence, by: Halves) {
        Mvcc::publish(meta, to_be, by);
    }

    fn withdraw<P: Physical>(meta: &Chained<P>) {
        Mvcc::withdraw(meta);
    }

    fn claim<P: Physical>(meta: &Chained<P>, by: Halves) {
        Mvcc::claim(meta, by);
    }

    fn mark_deleted<P: Physical>(meta: &Chained<P>, gap: &P::SingleWriter) {
        Mvcc::mark_deleted(meta, gap);
    }

    #[inline(always)]
    fn rely<P: Physical>(gap: &P::SingleWriter, by: Halves) {
        BasicTimestamp::rely::<P>(gap, by);
    }

    #[inline(always)]
    fn relied_on<P: Physical>(gap: &P::SingleWriter) -> u64 {
        BasicTimestamp::relied_on::<P>(gap)
    }

    fn split_gap<P: Physical>(gap: &P::SingleWriter, fresh: &P::SingleWriter) {
        BasicTimestamp::split_gap::<P>(gap, fresh);
    }

    fn inherit_gap<P: Physical>(retired: &P::SingleWriter, heir: &P::SingleWriter) {
        BasicTimestamp::inherit_gap::<P>(retired, heir);
    }
}

impl Looking for Cicada {
    #[inline(always)]
    fn look<P: Physical>(meta: &Chained<P>, time: u64) -> Answer {
        Mvcc::look(meta, time)
    }

    #[inline(always)]
    fn was_read_after<P: Physical>(meta: &Chained<P>, time: u64) -> bool {
        Mvcc::was_read_after(meta, time)
    }

    #[inline(always)]
    fn horizon<P: Physical>(common: &Horizon) -> &Horizon {
        common
    }
}
