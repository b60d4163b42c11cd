//! Protocols: what a record answers to a request, one file each.
//!
//! A protocol is a set of steps over the metadata of one record or of one gap. It never spins, sends or yields, and does not
//! know which architecture runs it; it answers a [`Verdict`] and the transaction ([`crate::transaction`]) lets the
//! architecture wait. Which steps it has follows from the way in which transactions access records under it
//! ([`Protocol::Access`], one module each in [`crate::transaction::access`]), and each set of steps is a trait:
//!
//! | [`Protocol::Access`] | a read | a write | commit | steps |
//! |---|---|---|---|---|
//! | `Alone` | looks in place | in place, and saves what it overwrites | | none |
//! | `Planned` | looks in place, locked since it began | in place, and saves what it overwrites | | [`Planning`] |
//! | `Locked` | acquires `Shared`, looks in place | acquires `Exclusive`, the same | releases | [`Locking`] |
//! | `Certified` | the same | acquires `Exclusive`, writes a private copy | prepares (certifies), copies in, releases | [`Locking`], [`Preparing`] |
//! | `Single` | observes a version, copies, observes again | latches, writes a private copy | copies in, publishes | [`Latching`] |
//! | `Timestamped` | asks by its timestamp, copies, looks again | asks by its timestamp, writes a private copy | copies in, publishes | [`Timestamping`] |
//! | `ValidatedByTime` | looks by its timestamp, copies, looks again | writes a private copy | asks for what it writes, then for what it read; copies in, publishes | [`Looking`], [`Timestamping`] |
//! | `Validated` | observes a token, copies, observes again | writes a private copy | prepares (locks), validates, copies in, publishes | [`Validating`], [`Preparing`] |
//! | `MostlyValidated` | the same; what is hot is locked before | the same | locks, validates what it does not hold, copies in, publishes, releases | [`Protecting`], [`Validating`] |
//! | `Multiversion` | looks for the version of its begin, copies, looks again | claims, writes a private copy | draws its end, validates, copies in, publishes | [`Claiming`] |
//!
//! Where deletes leave tombstones, and what is overwritten may be kept, [`Versioning`] is the rest.
//!
//! Under one that is `Locked` transactions may ask ahead: for all that is known of them, when they begin ([`Protocol::REQUESTS_AHEAD`]).
//!
//! Keys that are missing are protected by *gaps*: a bucket or a leaf of the index carries metadata of its own type
//! ([`Protocol::Gap`]), with verbs of its own. A miss or a scan holds the gap `Shared` (or observes it, or leaves its timestamp there), an
//! insert holds it `Insert` (or advances it, or looks who relies on it); see [`crate::index::hash`].
//!
//! All-zero metadata means: present, and held by nobody.
//!
//! A step is given the metadata that it is about and a [`Request`]: what transactions share, who asks, and whom to wake. What a
//! protocol keeps for a transaction slot ([`Protocol::Slot`]) is told when an attempt begins; its stamp travels with every step.
//!
//! Protocols whose requests wait at records have the lock's queue in common, in [`lock_queue`], and those that look for deadlocks all but the
//! look, in [`detecting`]; those that never wait there count holders in a [`semaphore`], or in [`vll`]'s counters.
//!
//! To add a protocol: write its file here, name it in `contract::names`, and give it its row in [`crate::matrix`];
//! the compiler asks for the rest.

mod cicada;
mod deadlock_free;
mod detecting;
mod dl_detect;
mod dreadlocks;
mod hekaton;
mod key_value;
mod lock_queue;
mod lock_tables;
mod mocc;
mod mvcc;
mod no_wait;
mod occ;
pub(crate) mod semaphore;
mod silo;
mod tictoc;
mod timestamp;
mod two_version_no_wait;
mod unprotected;
mod vll;
mod wait_die;

pub(crate) use cicada::Cicada;
pub(crate) use deadlock_free::DeadlockFree;
#[cfg(test)]
pub(crate) use deadlock_free::Turn;
#[cfg(test)]
pub(crate) use detecting::{Detecting, Detection};
pub(crate) use dl_detect::{DlDetect, waits_for};
#[cfg(test)]
pub(crate) use dreadlocks::Digests;
pub(crate) use dreadlocks::Dreadlocks;
pub(crate) use hekaton::{Claimed, Ends, Hekaton};
pub(crate) use key_value::{KeyValue, Latching, Touched};
pub(crate) use lock_tables::{LockTables, Planning, Rules};
pub(crate) use mocc::Mocc;
pub(crate) use mvcc::{Chained, Mvcc};
pub(crate) use no_wait::NoWait;
pub(crate) use occ::{Occ, Start as OccStart};
pub(crate) use silo::{LastId, Silo};
pub(crate) use tictoc::TicToc;
pub(crate) use timestamp::{BasicTimestamp, Drawn, Stamps};
pub(crate) use two_version_no_wait::TwoVersionNoWait;
pub(crate) use unprotected::Unprotected;
pub(crate) use vll::Vll;
pub(crate) use wait_die::WaitDie;

use crate::architecture::Architecture;
use crate::horizon::Horizon;
use crate::physical::{Metadata, Physical};
use crate::record::header::RecordHeader;
use crate::timestamp::{Halves, Timestamp};
use crate::transaction::access::Access;
use crate::transaction::known::Known;
use crate::transaction::lock_list::LockList;
use contract::{AbortReason, EngineOptions, Key, Presence, TableId};
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
    /// What travels: at most eight bytes, aligned as 32-bit words are. Steps fit in a message with it, which is asserted at compile
    /// time.
    type Stamp: Copy + Send + 'static;

    /// Of a slot that has run nothing.
    fn new() -> Self;

    /// An attempt of a transaction begins; `draw` draws a timestamp for it.
    fn begin(&mut self, attempt: Attempt, draw: impl FnOnce() -> Timestamp);

    /// The stamp of the attempt that runs.
    fn stamp(&self) -> Self::Stamp;

    /// The same of a request for one record.
    #[inline(always)]
    fn stamp_for(&self, place: RecordPlace) -> Self::Stamp {
        let _ = place;
        self.stamp()
    }

    /// The transaction holds a record from now on.
    #[inline(always)]
    fn holds(&mut self, place: RecordPlace) {
        let _ = place;
    }

    /// Locks of hot records that were got since this was last asked.
    fn take_hot_locks(&mut self) -> u64 {
        0
    }
}

/// Where a record is, in the one order that all transactions know: its table, then its key, which is a number.
pub(crate) type RecordPlace = (TableId, Key);

/// Nothing.
impl SlotState for () {
    type Stamp = ();

    fn new() {}

    #[inline(always)]
    fn begin(&mut self, _: Attempt, _: impl FnOnce() -> Timestamp) {}

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

impl<S> Requester<S> {
    /// The requester of the entry of the access set that is `after` entries after this one: entries have even numbers, gaps
    /// have odd ones.
    #[inline(always)]
    pub fn later(self, after: usize) -> Self {
        Requester { access: self.access + 2 * after as u32, ..self }
    }
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

/// A record that is asked for ahead, together with others.
pub(crate) struct AheadWith<'m, M, S> {
    pub meta: &'m M,
    pub mode: Mode,
    /// As of a request for this record alone.
    pub stamp: S,
    /// To be told: whether the requester holds the record, or will.
    pub is_counted: &'m mut bool,
}

/// A record of protocol `P` in synchronization policy `F` that is asked for ahead.
pub(crate) type Ahead<'m, P, F> = AheadWith<'m, <P as Protocol>::Meta<F>, StampOf<P>>;

/// What a request asks of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// To read it. Compatible with itself.
    Shared,
    /// To write it. Compatible with nothing.
    Exclusive,
}

/// How a transaction that locks some of what it validates holds a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Held {
    /// Since it read it; others may do so, too.
    Shared,
    /// Since it read it to write it.
    Exclusive,
    /// Since it began to commit.
    Locked,
}

impl From<Mode> for Held {
    fn from(mode: Mode) -> Held {
        match mode {
            Mode::Shared => Held::Shared,
            Mode::Exclusive => Held::Exclusive,
        }
    }
}

/// What a request asks of a gap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GapMode {
    /// To rely on keys being missing there. Compatible with itself.
    Shared,
    /// To insert. Compatible with itself.
    Insert,
    /// To insert, and to rely on other keys being missing. Compatible with nothing.
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

/// What a record answers to a request of a timestamp.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// Granted: this version, which has a row.
    Present(u64),
    /// Granted: this version, which is that the key has no row.
    Absent(u64),
    /// The row is of somebody younger, or will be at once: there is a version before it, or there was none.
    Older,
    /// Somebody older is to be decided first: ask again.
    Wait,
    /// No longer linked under its key: look it up again.
    Unlinked,
    /// It never will be granted.
    Abort(AbortReason),
}

/// What became of a token.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Validity {
    /// It holds, up to the transaction's id.
    Valid,
    /// What it names is no more.
    Invalid,
    /// It holds, but not up to the transaction's id; it may be extended.
    Expired,
}

/// Tells transactions that wait what came of it.
pub(crate) trait Waker {
    /// The request that `slot` waits for is decided.
    fn wake(&self, slot: SlotId, wake: Wake);
}

/// A concurrency-control protocol.
pub(crate) trait Protocol: Sized + 'static {
    /// The metadata of a record, all-zero when it is present and free.
    type Meta<P: Physical>: Metadata;

    /// The header in which a record has it.
    type Header: RecordHeader;

    /// The metadata of a gap, all-zero when it is free.
    type Gap<P: Physical>: Metadata;

    /// What all transactions share beside the records.
    type Common<P: Physical>: 'static;

    /// What a transaction slot keeps, and takes along.
    type Slot: SlotState;

    /// How transactions access records.
    type Access<A: Architecture<Protocol = Self>>: Access<A>;

    /// Records that one transaction may touch, and gaps on which it may rely.
    const MOST_RECORDS: usize = 1 << 24;

    /// Whether a transaction asks for all that it is known to touch when it begins ([`Locking::request_all`]).
    const REQUESTS_AHEAD: bool = false;

    /// Whether a transaction may lock all that its plan names, in order, before it does anything.
    const MAY_PRECLAIM: bool = false;

    /// The shared state of a run with `slots` transaction slots over `partitions` partitions, with the options' kind of latch.
    fn common<P: Physical>(slots: usize, partitions: usize, options: &EngineOptions) -> Self::Common<P>;

    /// Whom the queued request of a slot waits for, for the watchdog: nobody, if it is decided; `None`: that is not known. Others'
    /// steps may run meanwhile, and make the answer wrong.
    ///
    /// # Safety
    /// The slot's transaction calls this, and its request was queued and not yet answered.
    unsafe fn waits_for<P: Physical>(common: &Self::Common<P>, slot: SlotId) -> Option<SlotSet> {
        let _ = (common, slot);
        None
    }

    /// Whether a transaction that waits looks meanwhile, again and again, whether it waits for itself ([`Protocol::waits_for_itself`]).
    const LOOKS_WHILE_WAITING: bool = false;

    /// Whether the queued request of a slot, which was not decided a moment ago, waits for itself. Its transaction asks.
    #[inline(always)]
    fn waits_for_itself<P: Physical>(common: &Self::Common<P>, slot: SlotId) -> bool {
        let _ = (common, slot);
        false
    }

    /// The transaction of a slot that has looked so waits no longer.
    #[inline(always)]
    fn has_waited<P: Physical>(common: &Self::Common<P>, slot: SlotId) {
        let _ = (common, slot);
    }

    /// Nobody holds or waits for the record, and it is present.
    fn is_quiescent<P: Physical>(meta: &Self::Meta<P>) -> bool;

    /// Nobody holds or waits for the gap.
    fn is_gap_quiescent<P: Physical>(gap: &Self::Gap<P>) -> bool;
}

/// Steps of a protocol that locks records and gaps when they are accessed.
pub(crate) trait Locking: Protocol {
    /// Asks for `mode`. The requester holds nothing of this record yet.
    fn acquire<P: Physical>(
        meta: &Self::Meta<P>,
        mode: Mode,
        request: Request<'_, Self, P, impl Waker>,
    ) -> Verdict;

    /// Upgrades a `Shared` that is held to `Exclusive`. Denied, it is still held.
    fn upgrade<P: Physical>(meta: &Self::Meta<P>, request: Request<'_, Self, P, impl Waker>) -> Verdict;

    /// Takes back a request of a record, to acquire or to upgrade, that was queued; an upgrade's lock is still held as before. Answers
    /// whether it did: not if the request was decided meanwhile, by another's step, which has told the slot or is about to.
    #[must_use]
    fn withdraw<P: Physical>(meta: &Self::Meta<P>, request: Request<'_, Self, P, impl Waker>) -> bool {
        let _ = (meta, request);
        unreachable!("no request is queued under this protocol")
    }

    /// The same of a gap.
    #[must_use]
    fn withdraw_gap<P: Physical>(gap: &Self::Gap<P>, request: Request<'_, Self, P, impl Waker>) -> bool {
        let _ = (gap, request);
        unreachable!("no request is queued under this protocol")
    }

    /// Releases what is held in `mode`.
    fn release<P: Physical>(meta: &Self::Meta<P>, mode: Mode, request: Request<'_, Self, P, impl Waker>);

    /// Releases an exclusively held record that was unlinked, marked deleted: a requester that still finds it is told to ask again.
    fn mark_deleted<P: Physical>(meta: &Self::Meta<P>, request: Request<'_, Self, P, impl Waker>);

    /// Makes the metadata of a record about to be linked that of one inserted and held by the requester.
    fn claim<P: Physical>(meta: &Self::Meta<P>, request: Request<'_, Self, P, impl Waker>);

    /// Asks for a gap in `mode`, `Shared` or `Insert`. The requester holds nothing of it yet.
    fn hold_gap<P: Physical>(
        gap: &Self::Gap<P>,
        mode: GapMode,
        request: Request<'_, Self, P, impl Waker>,
    ) -> Verdict;

    /// Upgrades what is held, `Shared` or `Insert`, to `Exclusive`. Denied, it is still held.
    fn upgrade_gap<P: Physical>(
        gap: &Self::Gap<P>,
        from: GapMode,
        request: Request<'_, Self, P, impl Waker>,
    ) -> Verdict;

    /// Releases what is held of a gap in `mode`.
    fn release_gap<P: Physical>(gap: &Self::Gap<P>, mode: GapMode, request: Request<'_, Self, P, impl Waker>);

    // Of a protocol whose transactions ask ahead ([`Protocol::REQUESTS_AHEAD`]).

    /// What the slot's transaction is known to touch, beside its plan.
    fn known(slot: &mut Self::Slot) -> &mut Known {
        let _ = slot;
        unreachable!("nothing is asked for ahead under this protocol")
    }

    /// A transaction that has asked for nothing asks for all of these, each once. A record that is dead is not asked for, which is said
    /// beside it; what is asked for is to be released. `Queued`: it will be woken when it holds them; [`Wake::Retry`] then says
    /// that it never will, as `Abort` says at once: it is to abort, and to release what it was counted in.
    fn request_all<'m, P: Physical>(
        records: impl Iterator<Item = Ahead<'m, Self, P>>,
        request: Request<'_, Self, P, impl Waker>,
    ) -> Verdict {
        let _ = (records, request);
        unreachable!("nothing is asked for ahead under this protocol")
    }

    /// The transaction ends, and holds these: all that it holds, of records.
    fn release_all<'m, P: Physical>(
        records: impl Iterator<Item = (&'m Self::Meta<P>, Mode)>,
        request: Request<'_, Self, P, impl Waker>,
    ) {
        let _ = (records, request);
        unreachable!("nothing is asked for ahead under this protocol")
    }

    /// The transaction has panicked, and leaves what it holds as it is: nobody is to be granted that.
    fn abandon<P: Physical>(request: Request<'_, Self, P, impl Waker>) {
        let _ = request;
        unreachable!("nothing is asked for ahead under this protocol")
    }

    /// Whether a record that was asked for has died.
    fn is_dead<P: Physical>(meta: &Self::Meta<P>) -> bool {
        let _ = meta;
        unreachable!("nothing is asked for ahead under this protocol")
    }

    // Leaves.

    /// Of a leaf that is about to leave its index: takes its metadata for ever, unless somebody holds it or waits for it.
    /// A later requester is told to ask again. Answers whether it did.
    #[must_use]
    fn retire_gap<P: Physical>(gap: &Self::Gap<P>, common: &Self::Common<P>) -> bool;
}

/// Steps of a protocol under which writes are private copies until commit excludes everybody from their records.
pub(crate) trait Preparing: Protocol {
    /// Excludes everybody from a record to be written: certifies or locks it. `inserted`: the requester's own.
    fn prepare<P: Physical>(
        meta: &Self::Meta<P>,
        inserted: bool,
        request: Request<'_, Self, P, impl Waker>,
    ) -> Verdict;

    /// Undoes [`Preparing::prepare`].
    fn unprepare<P: Physical>(
        meta: &Self::Meta<P>,
        inserted: bool,
        request: Request<'_, Self, P, impl Waker>,
    );
}

/// Steps of a protocol that locks nothing before commit, and validates then what was read.
///
/// A *token* names a version of a record, or a state of a gap.
///
/// # Safety
/// Any thread may observe and validate while others change the metadata by the other steps, also where one thread owns it: the
/// metadata is declared single-writer and observable. So it consists of atomics ([`Physical::SingleWriter`]).
pub(crate) unsafe trait Validating: Preparing {
    /// Whether tokens expire, so that also a transaction that writes nothing must choose an id, and validation may write.
    const EXPIRES: bool;

    /// Whether commit latches the records that were read, too, while it validates.
    const LATCHES_READS: bool = false;

    // Records.

    /// What the record looks like now; what it showed before the token was set is visible. Of any thread.
    fn observe<P: Physical>(meta: &Self::Meta<P>) -> Observation;

    /// Whether two tokens of a record, or of a gap, name the same version.
    #[inline(always)]
    fn is_same(one: u64, other: u64) -> bool {
        one == other
    }

    /// Whether the record still is what `token` named, and is not prepared by another; `mine`: prepared by this
    /// transaction, whose slot is `slot` and whose id is `id`. Of any thread.
    fn validate<P: Physical>(
        meta: &Self::Meta<P>,
        token: u64,
        mine: bool,
        slot: &Self::Slot,
        id: u64,
    ) -> Validity;

    /// Extends a token that has expired to `id`. Answers whether it still names what the record is.
    #[must_use]
    fn extend<P: Physical>(meta: &Self::Meta<P>, token: u64, id: u64) -> bool {
        let _ = (meta, token, id);
        false
    }

    /// Makes the metadata of a record about to be linked that of one that is absent until commit.
    fn claim<P: Physical>(meta: &Self::Meta<P>);

    /// Makes a prepared and installed record that of transaction `id`, and gives it back.
    fn publish<P: Physical>(meta: &Self::Meta<P>, id: u64);

    /// Of a record about to be unlinked by transaction `id`, or by an abort (0): it is dead from now on, and whatever of its
    /// time must outlast it is the gap's.
    fn mark_deleted<P: Physical>(meta: &Self::Meta<P>, gap: &Self::Gap<P>, id: u64);

    // Ids.

    /// The smallest id of a transaction that has seen what `token` names.
    fn after_read(token: u64) -> u64;

    /// The smallest id of a transaction that relies on the state `token` of a gap.
    fn after_gap(token: u64) -> u64;

    /// The smallest id of a transaction that overwrites a prepared record. Of any thread.
    fn after_write<P: Physical>(meta: &Self::Meta<P>) -> u64;

    /// The id of a transaction in `epoch`, `least` or above; `draw` draws a timestamp.
    fn transaction_id(slot: &mut Self::Slot, least: u64, epoch: u64, draw: impl FnOnce() -> Timestamp)
    -> u64;

    // Gaps.

    /// A gap's token, before a look-up that may miss. Of any thread.
    fn observe_gap<P: Physical>(gap: &Self::Gap<P>) -> u64;

    /// Whether the token of a gap at which a key was missing is still the gap's. Of any thread.
    fn validate_gap<P: Physical>(gap: &Self::Gap<P>, token: u64, id: u64) -> Validity;

    /// Extends a gap's token that has expired to `id`. Answers whether it still is the gap's.
    #[must_use]
    fn extend_gap<P: Physical>(gap: &Self::Gap<P>, token: u64, id: u64) -> bool {
        let _ = (gap, token, id);
        false
    }

    /// `record` was linked into the gap, whose latch is held: advances its token; answers it before and after.
    fn advance_gap<P: Physical>(gap: &Self::Gap<P>, record: &Self::Meta<P>) -> (u64, u64);

    /// A part of a gap's range is `fresh`'s from now on, which nobody can reach yet.
    fn split_gap<P: Physical>(gap: &Self::Gap<P>, fresh: &Self::Gap<P>);

    /// Of a leaf that is about to leave its index: a reader that has observed it finds another token.
    fn retire_gap<P: Physical>(gap: &Self::Gap<P>);

    /// The range of a gap that was retired is `heir`'s from now on; nobody can come there yet.
    fn inherit_gap<P: Physical>(retired: &Self::Gap<P>, heir: &Self::Gap<P>);
}

/// Steps of a protocol that validates, and locks what is hot before it is read, so that it need not be validated.
///
/// A step that is denied answers `Retry`: the transaction then gives back what it must not hold while it waits
/// ([`crate::transaction::protecting`]).
pub(crate) trait Protecting: Validating {
    /// Of locks that are given back after a commit, one in so many may cool its record.
    const COOLS_ONE_IN: u32;

    /// What the slot's transaction holds.
    fn locks(slot: &Self::Slot) -> &LockList;

    /// The same, to change it.
    fn locks_mut(slot: &mut Self::Slot) -> &mut LockList;

    /// Whether a record is to be locked before it is read. Of any thread.
    fn is_hot<P: Physical>(meta: &Self::Meta<P>) -> bool;

    /// Asks for a record that is about to be read. The requester holds nothing of it yet. `Abort`: it has no row, and there is nothing to
    /// hold.
    fn hold<P: Physical>(meta: &Self::Meta<P>, mode: Mode) -> Verdict;

    /// Excludes everybody from a record to be written, which the requester holds already or not. `inserted`: it is its own.
    fn lock<P: Physical>(meta: &Self::Meta<P>, held: Option<Held>, inserted: bool) -> Verdict;

    /// Gives back what is held; `cools`: a record in whose way nobody was gets cooler.
    fn give_back<P: Physical>(meta: &Self::Meta<P>, held: Held, cools: bool);

    /// The temperature of a record, if it can get warmer. Of any thread.
    fn temperature<P: Physical>(meta: &Self::Meta<P>) -> Option<u32>;

    /// Raises the temperature by one, if it still is `from`.
    fn warm<P: Physical>(meta: &Self::Meta<P>, from: u32);
}

/// Steps of a protocol whose transactions have a timestamp from their begin on, under which a delete leaves a tombstone, and what is
/// overwritten may be kept for older readers.
///
/// A *token* names a version of a record: the timestamp since which it is there.
///
/// # Safety
/// Any thread may look at a record's versions while others change the metadata by the other steps, also where one thread owns it: so it
/// consists of atomics ([`Physical::SingleWriter`]).
pub(crate) unsafe trait Versioning: Protocol<Slot: SlotState<Stamp = Halves>> {
    /// Whether what is overwritten or deleted is kept for older readers.
    const KEEPS_VERSIONS: bool = false;

    /// Whether the row still is that of the version that `token` names, and nobody is copying another in. Of any thread.
    fn still_is<P: Physical>(meta: &Self::Meta<P>, token: u64) -> bool;

    /// The version before the row, or 0. Of any thread.
    fn previous<P: Physical>(meta: &Self::Meta<P>) -> u64 {
        let _ = meta;
        0
    }

    /// The first word of the metadata of a record that was deleted at this timestamp, for as long as nobody writes it again.
    fn tombstone(time: u64) -> u64;

    /// Takes a record for ever if that is what it is: `Absent`. `Wait`: somebody is about to write it. `Unlinked`: it is something else.
    fn bury<P: Physical>(meta: &Self::Meta<P>, tombstone: u64) -> Answer;
}

/// Steps of a protocol that grants reads and writes by the transactions' timestamps, when they are asked for. Writes are private copies
/// until commit.
pub(crate) trait Timestamping: Versioning {
    // Records.

    /// Asks to read, and to rely on what is answered.
    fn read<P: Physical>(meta: &Self::Meta<P>, by: Halves) -> Answer;

    /// Asks to write a row that is to be there, or not, as `wanted`; if it is not so, that is read. The requester has no pending write of
    /// this record yet.
    fn write<P: Physical>(meta: &Self::Meta<P>, wanted: Presence, by: Halves) -> Answer;

    /// The requester's write is about to be copied in; what it replaces is the version `previous` from now on, if that is kept, or else 0.
    fn lock<P: Physical>(meta: &Self::Meta<P>, previous: u64);

    /// The requester's write has committed: the row is there, or not.
    fn publish<P: Physical>(meta: &Self::Meta<P>, to_be: Presence, by: Halves);

    /// The requester's write is not to be.
    fn withdraw<P: Physical>(meta: &Self::Meta<P>);

    /// Makes the metadata of a record about to be linked that of one that is absent, with a pending write of the requester.
    fn claim<P: Physical>(meta: &Self::Meta<P>, by: Halves);

    /// Of a record about to be unlinked: it is dead from now on, and what must outlast it is the gap's.
    fn mark_deleted<P: Physical>(meta: &Self::Meta<P>, gap: &Self::Gap<P>);

    // Gaps.

    /// The requester relies on keys being missing that a look-up from here on does not find.
    fn rely<P: Physical>(gap: &Self::Gap<P>, by: Halves);

    /// The largest timestamp of who relies on keys being missing.
    fn relied_on<P: Physical>(gap: &Self::Gap<P>) -> u64;

    /// A part of a gap's range is `fresh`'s from now on, which nobody can reach yet.
    fn split_gap<P: Physical>(gap: &Self::Gap<P>, fresh: &Self::Gap<P>);

    /// The range of a gap that leaves its index is `heir`'s from now on; nobody can come there yet.
    fn inherit_gap<P: Physical>(retired: &Self::Gap<P>, heir: &Self::Gap<P>);
}

/// Steps of a protocol that looks at records by its transactions' timestamps, leaves no trace of that, and asks them when it commits.
///
/// Any thread may look, by the contract of [`Versioning`].
pub(crate) trait Looking: Timestamping {
    /// What a reader of this timestamp finds. It may rely on what is `Older` for ever, and on nothing else.
    fn look<P: Physical>(meta: &Self::Meta<P>, time: u64) -> Answer;

    /// Whether somebody younger has read the row, so that a write would come too late.
    fn was_read_after<P: Physical>(meta: &Self::Meta<P>, time: u64) -> bool;

    /// Below whom nobody runs.
    fn horizon<P: Physical>(common: &Self::Common<P>) -> &Horizon;
}

/// Steps of a protocol under which a transaction reads the versions that were there when it began, claims what it writes when it accesses
/// it, and validates, if it writes, that what it has read is still there at its end. Writes are private copies until commit.
///
/// The end is drawn when the transaction commits, between [`Claiming::prepare`] and [`Claiming::tell_end`].
///
/// # Safety
/// Any thread may look at records and at gaps while others change the metadata by the other steps, also where one thread owns it: so it
/// consists of atomics ([`Physical::SingleWriter`]).
pub(crate) unsafe trait Claiming: Versioning {
    // Records.

    /// What the record was, or will have been, at a timestamp: that of a begin or an end, drawn by who asks. Of any thread.
    fn look<P: Physical>(meta: &Self::Meta<P>, common: &Self::Common<P>, time: u64) -> Answer;

    /// The same at the end of a transaction that has seen the version `seen` at its begin: it is valid if that is what is answered.
    #[inline(always)]
    fn look_at_end<P: Physical>(
        meta: &Self::Meta<P>,
        common: &Self::Common<P>,
        end: u64,
        seen: u64,
    ) -> Answer {
        let _ = seen;
        Self::look::<P>(meta, common, end)
    }

    /// Claims a row that is to be there, or not, as `wanted`; if it is not so, it answers that, and nothing is claimed. The requester
    /// has not claimed the record yet.
    fn claim<P: Physical>(
        meta: &Self::Meta<P>,
        wanted: Presence,
        request: Request<'_, Self, P, impl Waker>,
    ) -> Answer;

    /// Makes the metadata of a record about to be linked that of one that is absent, and claimed by the requester.
    fn claim_new<P: Physical>(meta: &Self::Meta<P>, request: Request<'_, Self, P, impl Waker>);

    /// The claimed row is about to be replaced, by a transaction that has committed with this end; what it replaces is the version
    /// `previous` from now on.
    fn lock<P: Physical>(meta: &Self::Meta<P>, previous: u64, end: u64);

    /// What has claimed the row has committed with this end: the row is there, or not.
    fn publish<P: Physical>(meta: &Self::Meta<P>, to_be: Presence, end: u64);

    /// Gives a claim back.
    fn withdraw<P: Physical>(meta: &Self::Meta<P>);

    /// If the slot has claimed the record: it stays claimed for ever, and nobody learns the claimer's end.
    fn abandon<P: Physical>(meta: &Self::Meta<P>, slot: SlotId);

    /// Of a record about to be unlinked: it is dead from now on.
    fn mark_deleted<P: Physical>(meta: &Self::Meta<P>);

    // Ends.

    /// The slot's transaction has claimed all that it will, and is about to draw its end.
    fn prepare<P: Physical>(common: &Self::Common<P>, slot: SlotId);

    /// It has drawn this one.
    fn tell_end<P: Physical>(common: &Self::Common<P>, slot: SlotId, end: u64);

    /// It has aborted, or what it wrote is locked or published. The slot has another transaction from now on.
    fn forget_end<P: Physical>(common: &Self::Common<P>, slot: SlotId);

    // Gaps.

    /// A gap's token, before a look-up that may miss. Of any thread.
    fn observe_gap<P: Physical>(gap: &Self::Gap<P>) -> u64;

    /// Whether the token of a gap at which a key was missing is still the gap's. Of any thread.
    fn is_gap_valid<P: Physical>(gap: &Self::Gap<P>, token: u64) -> bool;

    /// A record was linked into the gap, whose latch is held: advances its token; answers it before and after.
    fn advance_gap<P: Physical>(gap: &Self::Gap<P>) -> (u64, u64);

    /// Of a leaf that is about to leave its index: a reader that has observed it finds another token.
    fn retire_gap<P: Physical>(gap: &Self::Gap<P>);
}
