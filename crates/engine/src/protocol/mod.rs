//! Protocols: what a record answers to a request, one file each.
//!
//! A protocol is a set of steps over one record's metadata. It never spins, sends or yields, and does not know which
//! architecture runs it; it answers a [`Verdict`] and the transaction ([`crate::transaction`]) lets the architecture
//! wait. Which steps a transaction takes follows from two constants:
//!
//! | [`Protocol::READS`] | a read |
//! |---|---|
//! | [`Reads::Alone`] | looks in place |
//! | [`Reads::Locked`] | acquires `Shared`, then looks in place |
//! | [`Reads::Validated`] | observes a token, copies, observes again; validates the token at commit |
//!
//! | [`Protocol::WRITES`] | a write | commit |
//! |---|---|---|
//! | [`Writes::InPlace`] | acquires `Exclusive`, saves what it overwrites | releases |
//! | [`Writes::Certified`] | acquires `Exclusive`, writes a private copy | prepares (certifies), copies in, releases |
//! | [`Writes::AtCommit`] | writes a private copy | prepares (locks), validates, copies in, publishes |
//!
//! The same steps protect keys that are missing: a gap of the index, a bucket or a leaf, carries metadata too. A miss acquires it
//! `Shared` (or observes it), an insert acquires it `Insert` (or advances it); see [`crate::index::hash`].
//!
//! All-zero metadata means: present, and held by nobody.
//!
//! A step is given the metadata that it is about and a [`Request`]: what transactions share, who asks, and whom to wake. What a
//! protocol keeps for a transaction slot ([`Protocol::Slot`]) is told when an attempt begins; its stamp travels with every step.
//!
//! To add a protocol: write its file here, name it in `contract::names`, and give it its row in [`crate::matrix`];
//! the compiler asks for the rest.

mod dl_detect;
mod no_wait;
pub(crate) mod semaphore;
mod silo;
mod two_version_no_wait;
mod unprotected;

pub(crate) use dl_detect::{DlDetect, waits_for};
pub(crate) use no_wait::NoWait;
pub(crate) use silo::Silo;
pub(crate) use two_version_no_wait::TwoVersionNoWait;
pub(crate) use unprotected::Unprotected;

use crate::physical::Physical;
use contract::AbortReason;
use waits_for::SlotSet;

/// A transaction's place among those that can be in flight at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SlotId(pub u32);

/// Whether an attempt of a transaction is its first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Attempt {
    First,
    /// The one before was aborted.
    Retry,
}

/// What a protocol keeps for a transaction slot: a timestamp, an age, the last id. It stays with the slot; what a record must
/// know of it travels with every step, as its stamp.
pub(crate) trait SlotState: Sized {
    /// What travels. Steps fit in a message with it, which is asserted at compile time.
    type Stamp: Copy + Send + 'static;

    /// Of a slot that has run nothing.
    fn new() -> Self;

    /// An attempt of a transaction begins.
    fn begin(&mut self, attempt: Attempt);

    /// The stamp of the attempt that runs.
    fn stamp(&self) -> Self::Stamp;
}

/// Nothing.
impl SlotState for () {
    type Stamp = ();

    fn new() {}

    #[inline(always)]
    fn begin(&mut self, _: Attempt) {}

    #[inline(always)]
    fn stamp(&self) {}
}

/// The stamp of a protocol's steps.
pub(crate) type StampOf<P> = <<P as Protocol>::Slot as SlotState>::Stamp;

/// Who asks: a transaction, and which of its accesses. It travels with the step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Requester<S = ()> {
    /// The transaction's slot.
    pub slot: SlotId,
    /// The partition asked. Where a release travels, one in a partition may still be on its way when the slot's next
    /// transaction asks in another; in the same one, it comes first.
    pub partition: u32,
    /// The number of the access in the transaction; a request is released under the same.
    pub access: u32,
    /// Of the transaction's attempt.
    pub stamp: S,
}

/// What a step is given beside the metadata that it is about: all that it may need, so that what one protocol needs more
/// changes no other.
pub(crate) struct RequestWith<'a, C, S, W> {
    /// What all transactions share.
    pub common: &'a C,
    /// Who asks.
    pub who: Requester<S>,
    /// Tells those who wait.
    pub waker: &'a W,
}

/// A request to records of protocol `P` in synchronization policy `F`.
pub(crate) type Request<'a, P, F, W> = RequestWith<'a, <P as Protocol>::Common<F>, StampOf<P>, W>;

impl<C, S: Copy, W> Clone for RequestWith<'_, C, S, W> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<C, S: Copy, W> Copy for RequestWith<'_, C, S, W> {}

/// What a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// To read a record; of a gap, to have found a key missing. Compatible with itself.
    Shared,
    /// Of a gap, to insert. Compatible with itself.
    Insert,
    /// To write a record; of a gap, to insert having found a key missing. Compatible with nothing.
    Exclusive,
}

/// What a record answers.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The request holds.
    Granted,
    /// A later release grants it, and names the slot to its `wake`.
    Queued,
    /// Nobody will call: ask again, from the look-up on.
    Retry,
    /// It never will.
    Abort(AbortReason),
}

/// What a queued request is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wake {
    /// The request holds.
    Granted,
    /// The record died: ask again, from the look-up on.
    Retry,
}

/// What a record looks like to a reader that locks nothing.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Observation {
    /// A committed version, and the token that names it.
    Present(u64),
    /// A key without a row, and the token that names this state.
    Absent(u64),
    /// No longer linked under its key: look it up again.
    Unlinked,
    /// Locked: ask again.
    Locked,
}

/// How a transaction reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reads {
    /// In place, holding nothing: nobody else is there.
    Alone,
    /// Under a lock, in place.
    Locked,
    /// Without a lock; a copy that is validated at commit.
    Validated,
}

/// How a transaction writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Writes {
    /// Locked at access; the row is changed in place and what it was is kept for undo.
    InPlace,
    /// Locked at access against writers; a private copy is installed once readers are excluded.
    Certified,
    /// Locked at commit; a private copy is installed.
    AtCommit,
}

/// Tells transactions that wait what came of it.
pub(crate) trait Waker {
    /// The request that `slot` waits for is decided.
    fn wake(&self, slot: SlotId, wake: Wake);
}

/// A concurrency-control protocol. Steps that its constants exclude are never called.
pub(crate) trait Protocol: Sized + 'static {
    /// The metadata of a record and of a gap: eight bytes, all-zero when present and free.
    type Meta<P: Physical>: 'static;

    /// What all transactions share beside the records.
    type Common<P: Physical>: 'static;

    /// What a transaction slot keeps, and takes along.
    type Slot: SlotState;

    /// How transactions read.
    const READS: Reads;
    /// How transactions write.
    const WRITES: Writes;

    /// The shared state of a run with `slots` transaction slots over `partitions` partitions.
    fn common<P: Physical>(slots: usize, partitions: usize) -> Self::Common<P>;

    /// Nobody holds or waits for it, and it is present.
    fn is_quiescent<P: Physical>(meta: &Self::Meta<P>) -> bool;

    // Locks.

    /// Asks for `mode`. The requester holds nothing of this record yet.
    fn acquire<P: Physical>(
        meta: &Self::Meta<P>,
        mode: Mode,
        request: Request<'_, Self, P, impl Waker>,
    ) -> Verdict;

    /// Upgrades a `Shared` held of a record to `Exclusive`. Denied, it is still held.
    fn upgrade<P: Physical>(meta: &Self::Meta<P>, request: Request<'_, Self, P, impl Waker>) -> Verdict;

    /// Upgrades what is held of a gap, `Shared` or `Insert`, to `Exclusive`. Denied, it is still held.
    fn upgrade_gap<P: Physical>(
        meta: &Self::Meta<P>,
        from: Mode,
        request: Request<'_, Self, P, impl Waker>,
    ) -> Verdict;

    /// Releases what is held in `mode`.
    fn release<P: Physical>(meta: &Self::Meta<P>, mode: Mode, request: Request<'_, Self, P, impl Waker>);

    /// Releases an exclusively held record that was unlinked, marked deleted: a requester that still finds it is told to ask again.
    fn mark_deleted<P: Physical>(meta: &Self::Meta<P>, request: Request<'_, Self, P, impl Waker>);

    /// Of a leaf that is about to leave its index: takes its metadata for ever, unless somebody holds it or waits for it.
    /// Whoever asks later is told to ask again; whoever has observed it finds another token. Answers whether it did.
    #[must_use]
    fn retire_gap<P: Physical>(meta: &Self::Meta<P>, common: &Self::Common<P>) -> bool;

    /// Makes the metadata of a record about to be linked that of one inserted and held by the requester.
    fn claim<P: Physical>(meta: &Self::Meta<P>, request: Request<'_, Self, P, impl Waker>);

    /// Whom the queued request of a slot waits for, for the watchdog, which looks at it at any time; `None`: that is not
    /// known.
    fn waits_for<P: Physical>(common: &Self::Common<P>, slot: SlotId) -> Option<SlotSet> {
        let _ = (common, slot);
        None
    }

    // Commit.

    /// Excludes everybody from a record to be written: certifies or locks it. `inserted`: the requester's own.
    fn prepare<P: Physical>(meta: &Self::Meta<P>, inserted: bool) -> Verdict {
        let _ = (meta, inserted);
        unreachable!("a protocol that writes in place prepares nothing")
    }

    /// Undoes [`Protocol::prepare`].
    fn unprepare<P: Physical>(meta: &Self::Meta<P>, inserted: bool) {
        let _ = (meta, inserted);
        unreachable!("a protocol that writes in place prepares nothing")
    }

    // Optimistic reads.

    /// What the record looks like now; what it showed before the token was set is visible.
    fn observe<P: Physical>(meta: &Self::Meta<P>) -> Observation {
        let _ = meta;
        unreachable!("a protocol that locks its reads observes nothing")
    }

    /// Whether the record still is what `token` named, and is not prepared by another; `mine`: prepared by this
    /// transaction.
    fn validate<P: Physical>(meta: &Self::Meta<P>, token: u64, mine: bool) -> bool {
        let _ = (meta, token, mine);
        unreachable!("a protocol that locks its reads validates nothing")
    }

    /// Whether the token of a gap at which a key was missing is still the gap's.
    fn validate_missing<P: Physical>(meta: &Self::Meta<P>, token: u64) -> bool {
        Self::validate(meta, token, false)
    }

    /// A gap's token, before a look-up that may miss.
    fn observe_gap<P: Physical>(meta: &Self::Meta<P>) -> u64 {
        let _ = meta;
        unreachable!("a protocol that locks its reads observes nothing")
    }

    /// A record was linked into the gap, whose latch is held: advances its token; answers it before and after.
    fn advance_gap<P: Physical>(meta: &Self::Meta<P>) -> (u64, u64) {
        let _ = meta;
        unreachable!("a protocol that locks its reads advances nothing")
    }

    /// The version that a prepared record carries.
    fn version<P: Physical>(meta: &Self::Meta<P>) -> u64 {
        let _ = meta;
        0
    }

    /// The smallest transaction id above `above`, the largest version seen, and the slot's last, in `epoch`.
    fn transaction_id(slot: &mut Self::Slot, above: u64, epoch: u64) -> u64 {
        let _ = (slot, above, epoch);
        0
    }

    /// Makes a prepared and installed record that of transaction `id`, and gives it back.
    fn publish<P: Physical>(meta: &Self::Meta<P>, id: u64) {
        let _ = (meta, id);
        unreachable!("a protocol that locks at access releases")
    }
}
