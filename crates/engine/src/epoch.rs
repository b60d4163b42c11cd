//! Epochs: a slowly advancing global count that tells when nobody can still hold a pointer (*silo* 4.1, 4.8).
//!
//! State: a global epoch E, and for every transaction slot w a local epoch e_w, refreshed between transactions; a slot that
//! runs none is idle. E is advanced by a service, one thread, and only if every active slot has reached it. They belong to a
//! store and never go back, so what one run has retired, a later one may reuse.
//!
//! Invariant: E - e_w <= 1 for every active slot w.
//!
//! What a transaction of local epoch d has unlinked may be reused once every active slot has reached d + 2.
//!
//! **Proof,** on a machine that orders no more than it is told to. Let the service read all slots in a *round*; `->` is
//! "happens before".
//!
//! 1. *A slot that has entered is seen.* It writes n into its slot, fences, and reads E = n again. A round begins with a
//!    fence, too. Of two such fences one comes first. If it is the slot's, the round reads n from the slot, or something
//!    later. If it is the round's, the slot reads at least the E that the service had written before: a slot that a round
//!    with E = m does not see has n >= m.
//! 2. *The invariant.* After a round that sees w at n, or that came before w entered with E = n, E is n + 1 at most; to write
//!    n + 2, by 1, a later round must have read n + 1 from w, or that w is idle again.
//! 3. *Who runs at n cannot find what was unlinked at n - 2 or before.* The transaction that unlinked at d had its slot at d
//!    until it ended. So E = d + 2 was written after a round that read what its slot wrote afterwards (2):
//!    unlinking -> that write (Release) -> the round's read (Acquire) -> E = d + 2 (Release) -> the read of E, by
//!    `refresh` or `enter`, with which a slot gets to n >= d + 2 (Acquire). Its transactions find the link gone.
//! 4. *Who could find it has ended.* What was unlinked at d is reused after a round with d + 2 <= E, in which every slot
//!    that it saw active was at d + 2 or later. A slot that it did not see is at E or later, by 1. So a slot that is active then
//!    or later is one of those in 3; and what a slot read before it came to where the round saw it: those reads -> its write
//!    (Release) -> the round's read (Acquire) -> `reclaimable` (Release) -> the read by who reuses (Acquire).
//!
//! A local epoch written late only looks older than it is, so refreshing needs no fence. A slot that is about to enter may
//! have written an E that is long past, before it reads E again: that holds E for a moment, and is why `reclaimable` is not
//! simply what the last round says. `tests/epoch_loom.rs` runs this text, and the text with each ordering left out.
//!
//! **An epoch is complete** once no transaction can commit in it any more ([`Epochs::complete`]). Transactions commit in the global epoch, read
//! once their slot has entered or refreshed: so in its local epoch or later.
//!
//! 5. *Who is not seen commits later.* Who asks reads E = m, fences, and reads all slots. Of this fence and that of a slot that enters one
//!    comes first. If it is the slot's, the slot is seen at its epoch, or what it did in it comes before, as in 3. If it is the other, the
//!    slot reads E after somebody has read m before: its epoch is m or later. So the least of m and of what was seen is one in which
//!    transactions may commit, and none may in those before.
//!
//! **Instances that are processes** ([`crate::deployment`]) have epochs of their own, and one for a transaction that spans them: none of those in which its branches could commit is later.
//! So a transaction may commit in an epoch that has not begun here. What follows it here commits in none before that ([`Epochs::raise`], before it releases anything), and a slot commits in its
//! local epoch or later, as 5 has it.
//!
//! **Snapshots** (*silo* 4.9). Every k epochs make a snapshot: that of number n shows what transactions of epoch n * k - 1 and before
//! have committed; that of number 0, what was loaded. It can be read once those epochs are reclaimable, and so complete: slots that were at d + 2
//! or later commit there. That follows from a word that slots read anyhow. A slot that reads a snapshot tells its number beside
//! its epoch, and a round learns which is the oldest that is read, or can be begun to be read:
//!
//! 6. *Nobody reads a snapshot before `needed_snapshot`, now or later.* A slot writes the number n that it will read, fences, and looks
//!    at `reclaimable` again: n is still the newest snapshot. Of this fence and a round's one comes first. If it is the slot's, the
//!    round reads n from the slot. If it is the round's, the slot has seen the `reclaimable` that was there when the round began, and n
//!    is not older than what that says, which is what the round answers at most.

use crate::facade::atomic::{AtomicU64, Ordering, fence};

/// Local epoch of a slot that runs no transactions.
const IDLE: u64 = u64::MAX;

/// The first epoch, so that `epoch - 2` exists.
const FIRST: u64 = 2;

/// A cache line of its own, two because lines are fetched in pairs.
#[repr(align(128))]
#[derive(Default)]
pub(crate) struct Line<T>(pub T);

/// What a slot tells.
struct SlotEpoch {
    /// Its local epoch.
    epoch: AtomicU64,
    /// The snapshot that it reads; [`IDLE`]: none.
    snapshot: AtomicU64,
}

impl SlotEpoch {
    fn idle() -> Self {
        SlotEpoch { epoch: AtomicU64::new(IDLE), snapshot: AtomicU64::new(IDLE) }
    }
}

/// The global epoch and every slot's.
pub(crate) struct Epochs {
    global: Line<AtomicU64>,
    /// Everything unlinked at this epoch or before may be reused.
    reclaimable: Line<AtomicU64>,
    /// No snapshot before this one is read any more.
    needed_snapshot: Line<AtomicU64>,
    /// What commits in an instance that is a process does so in this epoch or later.
    floor: Line<AtomicU64>,
    slots: Vec<Line<SlotEpoch>>,
    /// Epochs of a snapshot; 0: there are none.
    every: u64,
    /// Whether memory is used again.
    reclaims: bool,
}

impl Epochs {
    /// Epochs without slots, so many of them a snapshot; 0: without snapshots.
    pub fn new(every: u64) -> Self {
        Epochs {
            global: Line(AtomicU64::new(FIRST)),
            reclaimable: Line(AtomicU64::new(FIRST - 2)),
            needed_snapshot: Line(AtomicU64::new(0)),
            floor: Line(AtomicU64::new(0)),
            slots: Vec::new(),
            every,
            reclaims: true,
        }
    }

    /// Whether memory is used again from now on; nobody runs.
    pub fn let_reclaim(&mut self, reclaims: bool) {
        self.reclaims = reclaims;
    }

    /// Whether memory is used again.
    pub fn reclaims(&self) -> bool {
        self.reclaims
    }

    /// Whether there are snapshots.
    pub fn has_snapshots(&self) -> bool {
        self.every > 0
    }

    /// The first snapshot that shows what a transaction of this epoch has committed. There are snapshots.
    #[inline]
    pub fn snapshot_of(&self, epoch: u64) -> u64 {
        epoch / self.every + 1
    }

    /// The last epoch of what a snapshot shows.
    pub fn last_epoch_of(&self, snapshot: u64) -> u64 {
        (snapshot * self.every).saturating_sub(1)
    }

    /// The newest snapshot, if everything of epoch `reclaimable` and before is complete.
    fn newest(&self, reclaimable: u64) -> u64 {
        (reclaimable + 1) / self.every
    }

    /// An active slot begins to read a snapshot, the newest; answers its number. (6)
    pub fn begin_snapshot(&self, slot: usize) -> u64 {
        let mut snapshot = self.newest(self.reclaimable());
        loop {
            // Relaxed: nothing has been read of the snapshot yet.
            self.slots[slot].0.snapshot.store(snapshot, Ordering::Relaxed);
            // SeqCst: pairs with the fence in `advance`. (6)
            fence(Ordering::SeqCst);
            let now = self.newest(self.reclaimable());
            if now == snapshot {
                return snapshot;
            }
            snapshot = now;
        }
    }

    /// It has read it.
    pub fn end_snapshot(&self, slot: usize) {
        // Release: what the slot read of the snapshot stays before; pairs with the Acquire in `advance`.
        self.slots[slot].0.snapshot.store(IDLE, Ordering::Release);
    }

    /// No snapshot before this one is read any more, or will be.
    #[inline]
    pub fn needed_snapshot(&self) -> u64 {
        // Acquire: pairs with the Release in `advance`; what was read of earlier snapshots comes before what follows.
        self.needed_snapshot.0.load(Ordering::Acquire)
    }

    /// From now on there are `slots` transaction slots, all idle. What was unlinked before may be reused: nobody is active.
    pub fn provide(&mut self, slots: usize) {
        self.slots.clear();
        while self.current() < self.floor() {
            self.advance();
        }
        // From a round with E = e on, what was unlinked at e - 2 may be reused.
        (0..3).for_each(|_| self.advance());
        self.slots.resize_with(slots, || Line(SlotEpoch::idle()));
    }

    /// The global epoch, for the service, or of a store that nobody runs over.
    pub fn current(&self) -> u64 {
        // Relaxed: nobody else writes it.
        self.global.0.load(Ordering::Relaxed)
    }

    /// From now on, every epoch is later than `epoch`; nobody runs.
    pub fn go_on_after(&mut self, epoch: u64) {
        self.slots.clear();
        // Relaxed: as in `current`.
        self.global.0.store(self.current().max(epoch + 1), Ordering::Relaxed);
        (0..3).for_each(|_| self.advance());
    }

    /// The last epoch in which no transaction can commit any more: every active slot has begun a later one, and so will every one
    /// that is to become active. What their transactions did until then comes before. Anybody may ask.
    pub fn complete(&self) -> u64 {
        // Relaxed: (5) needs no more.
        let epoch = self.global.0.load(Ordering::Relaxed);
        // SeqCst: pairs with the fence in `enter`. (5)
        fence(Ordering::SeqCst);
        // Acquire: as in `advance`.
        let slots = self.slots.iter().map(|slot| slot.0.epoch.load(Ordering::Acquire));
        slots.fold(epoch, u64::min) - 1
    }

    /// The global epoch, in one order with every commit's locks: the serialization point of *silo* 4.4.
    #[inline]
    pub fn serialization_point(&self) -> u64 {
        // SeqCst: after the write locks and before the validation in the one order that both fall into.
        self.global.0.load(Ordering::SeqCst)
    }

    /// The same of an instance that is a process.
    #[inline]
    pub fn serialization_point_of_instance(&self) -> u64 {
        self.serialization_point().max(self.floor())
    }

    /// What commits from now on does so in this epoch or later.
    pub fn raise(&self, epoch: u64) {
        // Relaxed: who raises it holds what it has written until later, and who follows it has seen that.
        if self.floor() < epoch {
            self.floor.0.fetch_max(epoch, Ordering::Relaxed);
        }
    }

    /// The epoch before which nothing commits any more in an instance that is a process, though it may not have begun here.
    pub fn floor(&self) -> u64 {
        // Relaxed: see `raise`.
        self.floor.0.load(Ordering::Relaxed)
    }

    /// Makes an idle slot active and answers its epoch.
    pub fn enter(&self, slot: usize) -> u64 {
        // Relaxed: a guess, which the load below confirms or mends.
        let mut epoch = self.global.0.load(Ordering::Relaxed);
        loop {
            // Release: what the slot's last transactions did stays before, also if this hides `leave`'s store; pairs with
            // the Acquire in `advance`.
            self.slots[slot].0.epoch.store(epoch, Ordering::Release);
            // SeqCst: pairs with the fence in `advance`. (1)
            fence(Ordering::SeqCst);
            // Relaxed: the same epoch was read before the fence, which makes that an Acquire: as in `refresh`. (3)
            let now = self.global.0.load(Ordering::Relaxed);
            if now == epoch {
                return epoch;
            }
            epoch = now;
        }
    }

    /// Brings the slot's epoch, last known to be `local`, up to date; call between transactions.
    #[inline]
    pub fn refresh(&self, slot: usize, local: u64) -> u64 {
        self.refresh_after(slot, local, || ())
    }

    /// As [`Epochs::refresh`]; if there is a later epoch, `before` is called while the slot is still in the last.
    #[inline]
    pub fn refresh_after(&self, slot: usize, local: u64, before: impl FnOnce()) -> u64 {
        // Acquire: what was unlinked two epochs ago is not found any more; pairs with the store in `advance`. (3)
        let epoch = self.global.0.load(Ordering::Acquire);
        if epoch != local {
            assert!(
                epoch == local + 1,
                "an active slot at epoch {local} although the global epoch is {epoch}"
            );
            before();
            // Release: what the slot's last transaction read and unlinked stays before; pairs with the Acquire in
            // `advance`. (3, 4)
            self.slots[slot].0.epoch.store(epoch, Ordering::Release);
        }
        epoch
    }

    /// Makes the slot idle: it holds no pointer.
    pub fn leave(&self, slot: usize) {
        // Release: as in `refresh`.
        self.slots[slot].0.epoch.store(IDLE, Ordering::Release);
    }

    /// A round: advances the global epoch if every active slot has reached it. Called periodically, by one thread at a time.
    pub fn advance(&self) {
        // SeqCst: pairs with the fence in `enter`. (1)
        fence(Ordering::SeqCst);
        // Relaxed, both: only written here, by one thread at a time, each of which knows what the last one did.
        let epoch = self.global.0.load(Ordering::Relaxed);
        let reclaimable = self.reclaimable.0.load(Ordering::Relaxed);
        // Acquire: pairs with the Release in `enter`, `refresh` and `leave`. (3, 4)
        let slowest =
            self.slots.iter().map(|slot| slot.0.epoch.load(Ordering::Acquire)).min().unwrap_or(IDLE);
        if self.has_snapshots() {
            // Acquire: pairs with the Release in `end_snapshot`. `reclaimable` is what it was before the fence. (6)
            let read = self.slots.iter().map(|slot| slot.0.snapshot.load(Ordering::Acquire)).min();
            let needed = self.newest(reclaimable).min(read.unwrap_or(IDLE));
            // Release: whoever frees versions on the strength of this comes after those who read them.
            self.needed_snapshot.0.store(needed, Ordering::Release);
        }
        if slowest >= epoch {
            assert!(slowest == epoch || slowest == IDLE, "a slot at epoch {slowest}, ahead of {epoch}");
            // SeqCst: see `serialization_point`; and Release: what slots unlinked before this round stays before. (3)
            self.global.0.store(epoch + 1, Ordering::SeqCst);
        }
        let passed = slowest.min(epoch) - 2;
        if passed > reclaimable {
            // Release: a worker that reuses memory on the strength of this comes after the slots' last accesses to it. (4)
            self.reclaimable.0.store(passed, Ordering::Release);
        }
    }

    /// Everything unlinked at this local epoch or before is to be reused: what may be, or nothing.
    #[inline]
    pub fn reusable(&self) -> u64 {
        if self.reclaims { self.reclaimable() } else { FIRST - 2 }
    }

    /// Everything unlinked at this local epoch or before may be reused.
    #[inline]
    pub fn reclaimable(&self) -> u64 {
        // Acquire: pairs with the Release in `advance`. (4)
        self.reclaimable.0.load(Ordering::Acquire)
    }
}
