//! MVCC: multiversion timestamp ordering; TIMESTAMP that keeps what is overwritten, so that a read never comes too late (Bernstein and
//! Goodman, *Multiversion Concurrency Control: Theory and Algorithms*, TODS 8(4), 1983; *thousand-cores* 2.2).
//!
//! State: TIMESTAMP's ([`super::timestamp`]), and one word more, where the version is that the row has replaced. That one says since which
//! timestamp it was the row, or that there was none, and where the one before it is.
//!
//! Steps are TIMESTAMP's, with two differences:
//! - *Read* of a record whose row is younger than the reader, or is being overwritten by somebody younger: `Older`. The reader goes from
//!   version to version, down to the newest that is older than itself, and holds nothing; a key that was inserted later has none.
//! - *Commit*: before a row is overwritten or deleted, a version of it goes to the head of the chain.
//!
//! Invariants, beside TIMESTAMP's:
//! - Versions of a record stand in the order of their timestamps, and are never changed.
//! - A read waits for older pending writes, and never aborts: so a transaction that only reads never does.
//! - A write must be younger than the row, and than everybody who has read it: so there is never a write between two versions, and those who
//!   read an old one leave no timestamp.
//!
//! **A version is freed when the epoch has passed in which it was replaced.** Who then runs has begun after the transaction that replaced it
//! had ended, so its timestamp is larger ([`Draws::lose_batch`](crate::timestamp::Draws::lose_batch)), and it stops at what has
//! replaced the version, or before. So nobody follows a link to a version that was freed.
//!
//! Missing keys are TIMESTAMP's. A key that is deleted keeps its record as long as anybody may be older, who finds the row's version there.
//!
//! We differ: the paper's record keeps a list of versions, of accepted writes and of reads, and accepts writes between two versions; ours has
//! one accepted write at a time, and the newest version is the row.

use super::{Answer, BasicTimestamp, Drawn, Protocol, Stamps, Timestamping, Versioning};
use crate::architecture::Architecture;
use crate::physical::{Metadata, Physical, Word};
use crate::record::header::Versioned;
use crate::timestamp::Halves;
use crate::transaction::access::Timestamped;
use contract::{EngineOptions, Presence};

/// MVCC.
pub(crate) struct Mvcc;

/// The metadata of a record.
#[repr(C)]
pub(crate) struct Chained<P: Physical> {
    stamps: Stamps<P>,
    /// The address of the version before the row; 0: there is none.
    previous: P::SingleWriter,
}

// SAFETY: four words.
unsafe impl<P: Physical> Metadata for Chained<P> {}

impl Mvcc {
    /// The newest version, whoever asks: what the canary shows.
    pub fn newest<P: Physical>(meta: &Chained<P>) -> Answer {
        BasicTimestamp::look(&meta.stamps, u64::MAX)
    }

    /// What a reader of this timestamp finds, who leaves no trace.
    #[inline(always)]
    pub fn look<P: Physical>(meta: &Chained<P>, time: u64) -> Answer {
        BasicTimestamp::look(&meta.stamps, time)
    }

    /// Whether somebody younger has read the row.
    #[inline(always)]
    pub fn was_read_after<P: Physical>(meta: &Chained<P>, time: u64) -> bool {
        BasicTimestamp::was_read_after(&meta.stamps, time)
    }
}

impl Protocol for Mvcc {
    type Meta<P: Physical> = Chained<P>;
    type Header = Versioned;
    type Gap<P: Physical> = P::SingleWriter;
    type Common<P: Physical> = ();
    type Slot = Drawn;
    type Access<A: Architecture<Protocol = Self>> = Timestamped;

    fn common<P: Physical>(_: usize, _: usize, _: &EngineOptions) {}

    fn is_quiescent<P: Physical>(meta: &Chained<P>) -> bool {
        BasicTimestamp::is_quiescent(&meta.stamps)
    }

    fn is_gap_quiescent<P: Physical>(gap: &P::SingleWriter) -> bool {
        BasicTimestamp::is_gap_quiescent::<P>(gap)
    }
}

// SAFETY: the metadata is single-writer words.
unsafe impl Versioning for Mvcc {
    const KEEPS_VERSIONS: bool = true;

    #[inline(always)]
    fn still_is<P: Physical>(meta: &Chained<P>, token: u64) -> bool {
        BasicTimestamp::still_is(&meta.stamps, token)
    }

    #[inline(always)]
    fn previous<P: Physical>(meta: &Chained<P>) -> u64 {
        meta.previous.read()
    }

    fn tombstone(time: u64) -> u64 {
        BasicTimestamp::tombstone(time)
    }

    fn bury<P: Physical>(meta: &Chained<P>, tombstone: u64) -> Answer {
        BasicTimestamp::bury(&meta.stamps, tombstone)
    }
}

impl Timestamping for Mvcc {
    #[inline(always)]
    fn read<P: Physical>(meta: &Chained<P>, by: Halves) -> Answer {
        BasicTimestamp::mark_and_look(&meta.stamps, by.time())
    }

    #[inline(always)]
    fn write<P: Physical>(meta: &Chained<P>, wanted: Presence, by: Halves) -> Answer {
        BasicTimestamp::write(&meta.stamps, wanted, by)
    }

    #[inline(always)]
    fn lock<P: Physical>(meta: &Chained<P>, previous: u64) {
        // First that: who finds the row locked, or younger, finds what it was.
        meta.previous.store(previous);
        BasicTimestamp::lock(&meta.stamps, 0);
    }

    #[inline(always)]
    fn publish<P: Physical>(meta: &Chained<P>, to_be: Presence, by: Halves) {
        BasicTimestamp::publish(&meta.stamps, to_be, by);
    }

    fn withdraw<P: Physical>(meta: &Chained<P>) {
        BasicTimestamp::withdraw(&meta.stamps);
    }

    fn claim<P: Physical>(meta: &Chained<P>, by: Halves) {
        BasicTimestamp::claim(&meta.stamps, by);
    }

    fn mark_deleted<P: Physical>(meta: &Chained<P>, gap: &P::SingleWriter) {
        BasicTimestamp::mark_deleted::<P>(&meta.stamps, gap);
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
