//! A lock's queue of requests (Gray & Reuter, *Transaction Processing*, chapter 8): what protocols have in common whose
//! requests wait.
//!
//! State. There is no lock table: a record, or a gap, holds a latch and the head of a list of requests, owners first, then waiters in
//! the order in which they are granted. The head word also says how the owners hold the record and whether anybody waits,
//! so an uncontended request looks at no other request:
//!
//! | bits of the head | what |
//! |---|---|
//! | 0..27 | the first request, 0 for none |
//! | 27..29 | how the owners hold the record, if there are any |
//! | 29 | WAITED: somebody waits, or an owner wants to be upgraded |
//! | 30 | DEAD: unlinked, ask again |
//!
//! Requests live in arrays, one for every partition and transaction slot, indexed by the number of the access in the
//! transaction; a request is touched only under the latch of the record that it is for, or by the partition's owner.
//! The first requests of a slot, all that most transactions use, lie side by side, and the rest elsewhere. The kind of latch
//! is the run's; under `Owned` there is none.
//!
//! Asking ([`Queue::grant_at_once`]): a request is granted if there are no owners, or if nobody waits and it is compatible with
//! them. If not, the protocol says whether it waits, and behind whom ([`Queue::wait_behind`]), and so the order of granting.
//!
//! Granting ([`Queue::grant`]), when somebody has left: first an owner that wants to be upgraded, once it is the only one (it could
//! not be granted behind the waiters, who wait for it); then, unless an owner still wants to be upgraded, waiters in order, as
//! long as they are compatible with the owners.
//!
//! Invariants:
//! - Owners hold the record in one mode, and if that is `Exclusive` there is one.
//! - Whom a request waits for, until it is granted: of a waiter all before it, owners and waiters, whether they conflict with it
//!   or not; of an owner that wants to be upgraded all other owners. Each of them must go on before it can. For if the first
//!   waiter is not granted, then either all owners conflict with it, or one of them wants to be upgraded and waits for all the
//!   others; and all later waiters wait for it.
//! - Nobody comes before a waiter but whom the protocol puts there: while somebody waits nobody is granted at once.
//! - A request that waits is granted or told to ask again by another's step, under the latch, and woken by it; or it is taken back
//!   ([`Queue::withdraw`]), under the latch, and never woken. Whichever comes first: its state says whether it still waits.
//!
//! One who waits may look at the queue from elsewhere: [`waiting`].

mod entry;
mod waiting;

pub(super) use entry::{Entries, Entry, QueuedStamp, STAMP_BITS};
pub(super) use waiting::Places;

use super::{GapMode, Mode, Requester, SlotId, Verdict};
use crate::physical::latch::MetadataLatch;
use crate::physical::{Metadata, Physical};
use entry::{EntryId, State};
use waiting::QueueWord;

const FIRST: u32 = (1 << 27) - 1;
const MODE_SHIFT: u32 = 27;
const MODE: u32 = 3 << MODE_SHIFT;
const WAITED: u32 = 1 << 29;
const DEAD: u32 = 1 << 30;

/// How a request holds a record or a gap, or wants to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct LockMode(u32);

impl LockMode {
    pub const EXCLUSIVE: LockMode = LockMode::of_gap(GapMode::Exclusive);

    pub const fn of_gap(mode: GapMode) -> Self {
        LockMode(match mode {
            GapMode::Shared => 1,
            GapMode::Insert => 2,
            GapMode::Exclusive => 3,
        })
    }

    pub const fn of_record(mode: Mode) -> Self {
        LockMode::of_gap(match mode {
            Mode::Shared => GapMode::Shared,
            Mode::Exclusive => GapMode::Exclusive,
        })
    }

    #[inline(always)]
    pub fn is_compatible(self, other: LockMode) -> bool {
        self == other && self != LockMode::EXCLUSIVE
    }
}

/// A record's or a gap's metadata.
#[repr(C)]
pub(crate) struct Lock<P: Physical> {
    latch: P::Latch,
    head: QueueWord,
}

// SAFETY: a latch, which is a word or nothing, and a word.
unsafe impl<P: Physical> Metadata for Lock<P> {}

impl<P: Physical> Lock<P> {
    /// Present, and nobody holds it or waits for it.
    pub fn is_quiescent(&self) -> bool {
        self.head.read() == 0
    }

    /// Takes it for ever, unless somebody holds it or waits for it; answers whether it did.
    pub(super) fn retire<S: QueuedStamp>(&self, entries: &Entries<P, S>) -> bool {
        self.latch.lock(entries.latch);
        let is_free = self.is_quiescent();
        if is_free {
            self.head.store(DEAD);
        }
        self.latch.unlock(entries.latch);
        is_free
    }
}

/// A lock's queue, latched by a requester.
pub(super) struct Queue<'a, P: Physical, S: QueuedStamp> {
    entries: &'a Entries<P, S>,
    lock: &'a Lock<P>,
    partition: u32,
    /// The requester's request.
    id: EntryId,
}

impl<P: Physical, S: QueuedStamp> Drop for Queue<'_, P, S> {
    #[inline(always)]
    fn drop(&mut self) {
        self.lock.latch.unlock(self.entries.latch);
    }
}

impl<'a, P: Physical, S: QueuedStamp> Queue<'a, P, S> {
    /// Latches a lock.
    #[inline(always)]
    pub fn latch(lock: &'a Lock<P>, entries: &'a Entries<P, S>, who: Requester<S>) -> Self {
        let id = EntryId::of(who);
        lock.latch.lock(entries.latch);
        Queue { entries, lock, partition: who.partition, id }
    }

    // What a requester asks.

    /// Grants the requester `mode` if it need not wait, or says that the record is dead; `None`: the protocol decides.
    #[inline(always)]
    pub fn grant_at_once(&self, mode: LockMode, stamp: S) -> Option<Verdict> {
        let head = self.lock.head.read();
        if head & DEAD != 0 {
            return Some(Verdict::Retry);
        }
        let held = LockMode((head & MODE) >> MODE_SHIFT);
        if head & FIRST == 0 || head & WAITED == 0 && held.is_compatible(mode) {
            self.own_in_front_of(head & FIRST, mode, stamp);
            return Some(Verdict::Granted);
        }
        None
    }

    /// The requester has made the record, which nobody can find yet, and is its owner.
    pub fn claim(&self, stamp: S) {
        self.own_in_front_of(0, LockMode::EXCLUSIVE, stamp);
    }

    /// The requester becomes an owner beside the others. It conflicts with none, and nobody waits.
    pub fn join_owners(&self, mode: LockMode, stamp: S) {
        self.own_in_front_of(self.lock.head.read() & FIRST, mode, stamp);
    }

    #[inline(always)]
    fn own_in_front_of(&self, first: u32, mode: LockMode, stamp: S) {
        self.mine().set(first, State::owner(mode), stamp);
        self.lock.head.store(self.id.0 | mode.0 << MODE_SHIFT);
    }

    /// The requester waits behind another, and before those who were behind that one.
    pub fn wait_behind(&self, before: &Entry<P, S>, mode: LockMode, stamp: S) {
        self.mine().set(before.next.read(), State::waiter(mode), stamp);
        before.next.store(self.id.0);
        self.lock.head.store(self.lock.head.read() | WAITED);
    }

    /// What the requester, an owner, holds is `Exclusive` from now on.
    pub fn upgrade(&self) {
        self.mine().set_state(self.mine().state().upgraded());
        self.lock.head.store(self.lock.head.read() | LockMode::EXCLUSIVE.0 << MODE_SHIFT);
    }

    /// The requester, an owner, waits to be upgraded.
    pub fn wait_for_upgrade(&self) {
        self.mine().set_state(self.mine().state().upgrading());
        self.lock.head.store(self.lock.head.read() | WAITED);
    }

    /// Whether a request may wait in this run at all.
    pub fn may_wait(&self) -> bool {
        self.entries.may_wait
    }

    // Who is there.

    /// The requester's request, in the queue or not.
    #[inline(always)]
    pub fn mine(&self) -> &'a Entry<P, S> {
        self.entries.at(self.partition, self.id)
    }

    /// Whether it is in the queue.
    pub fn has_mine(&self) -> bool {
        self.all().any(|(id, _)| id == self.id)
    }

    /// All other requests in order, each with its slot.
    pub fn others(&self) -> impl Iterator<Item = (SlotId, &'a Entry<P, S>)> + use<'a, P, S> {
        let mine = self.id;
        self.all().filter(move |&(id, _)| id != mine).map(|(id, entry)| (id.slot(), entry))
    }

    fn all(&self) -> impl Iterator<Item = (EntryId, &'a Entry<P, S>)> + use<'a, P, S> {
        let (entries, partition) = (self.entries, self.partition);
        let mut next = self.lock.head.read() & FIRST;
        std::iter::from_fn(move || {
            (next != 0).then(|| {
                let id = EntryId(next);
                let entry = entries.at(partition, id);
                next = entry.next.read();
                (id, entry)
            })
        })
    }

    // Leaving, and granting.

    /// The requester releases what it holds; `grant` runs if somebody waits. Answers whether it was in the queue.
    #[inline(always)]
    pub fn release(&self, grant: impl FnOnce()) -> bool {
        let head = self.lock.head.read();
        if head & FIRST == self.id.0 && self.mine().next.read() == 0 {
            assert!(self.mine().state().is_owner(), "released without being held");
            self.lock.head.store(0);
            return true;
        }
        let was_there = self.remove();
        if was_there && head & WAITED != 0 {
            grant();
        }
        was_there
    }

    /// Takes the requester's request back, if it still waits, and answers whether it did: it leaves the queue, and `leave` runs, or if
    /// it is an owner's it does not wait to be upgraded any more. The caller grants: who stands behind it may go on.
    #[must_use]
    pub fn withdraw(&self, leave: impl FnOnce()) -> bool {
        let state = self.mine().state();
        if !state.waits() {
            // Decided meanwhile: the verdict is on its way.
            return false;
        }
        if state.is_owner() {
            self.mine().set_state(state.not_upgrading());
        } else {
            assert!(self.remove(), "a request that waits is in the queue");
            leave();
        }
        true
    }

    /// Takes the requester's request out of the queue; answers whether it was there. The caller grants.
    fn remove(&self) -> bool {
        let head = self.lock.head.read();
        let after = self.mine().next.read();
        if head & FIRST == self.id.0 {
            self.lock.head.store(head & !FIRST | after);
            return true;
        }
        let before = self.all().find(|(_, entry)| entry.next.read() == self.id.0);
        if let Some((_, before)) = before {
            before.next.store(after);
        }
        before.is_some()
    }

    /// Grants what can be granted now, tells each, and brings the head's summary up to date.
    pub fn grant(&self, tell: impl Fn(SlotId)) {
        let mut owners = self.all().take_while(|(_, entry)| entry.state().is_owner());
        let (one, two) = (owners.next(), owners.next());
        if let (Some((id, entry)), None) = (one, two)
            && entry.state().is_upgrading()
        {
            entry.set_state(entry.state().upgraded());
            tell(id.slot());
        }
        let upgrading = self.all().any(|(_, entry)| entry.state().is_upgrading());
        let mut held = one.map(|(_, entry)| entry.state().mode());
        let mut waited = upgrading;
        for (id, entry) in self.all() {
            let state = entry.state();
            if state.is_owner() {
                continue;
            }
            if upgrading || !held.is_none_or(|held| held.is_compatible(state.mode())) {
                waited = true;
                break;
            }
            held = Some(state.mode());
            entry.set_state(state.granted());
            tell(id.slot());
        }
        let held = held.map_or(0, |mode| mode.0 << MODE_SHIFT);
        let waited = if waited { WAITED } else { 0 };
        self.lock.head.store(self.lock.head.read() & FIRST | held | waited);
    }

    /// Marks the record of the requester deleted, and tells each waiter that it must ask again. Answers whether there was no other
    /// owner.
    #[must_use]
    pub fn mark_deleted(&self, tell: impl Fn(SlotId)) -> bool {
        let mut is_alone = true;
        for (slot, entry) in self.others() {
            let state = entry.state();
            is_alone &= !state.is_owner();
            if state.waits() {
                entry.set_state(state.decided());
                tell(slot);
            }
        }
        self.lock.head.store(DEAD);
        is_alone
    }
}
