//! The horizon: a timestamp below those of all transactions that run, or will (*Cicada*, SIGMOD 2017, section 3.1, and its rapid garbage collection). Who has committed
//! with a timestamp up to it is all there, and nobody comes between any more.
//!
//! State: for every transaction slot a line of its own with two words, what its transactions *write at*, a timestamp that none of
//! those that run or will run there is below, and what a transaction there *reads at*, if it reads the past; and one line for all, with the
//! horizon and with what is *needed*: nobody reads at less, now or later. The last two never go back.
//!
//! Steps:
//! - A slot that has rested tells 0, fences, and then draws its timestamp; and tells that. From then on it tells each that it draws, which is a
//!   store to a line of its own, until it rests again.
//! - A slot that reads the past tells the horizon that it has found, fences, and looks whether that still is the horizon; otherwise again.
//! - A *round*, by any slot, between its transactions: with the timestamp of its last one it keeps the horizon that it finds, fences, and
//!   reads what all slots tell. The least that they write at, and its own, less one, is a horizon. The least of what they read at, and of
//!   the horizon that it has kept, is what is needed.
//!
//! Invariants:
//! 1. *Nobody who runs, or will, has a timestamp at or below the horizon.* A slot's timestamps ascend, so all that it has, and will have until
//!    it rests, are at least what it tells. Of the fences of a round and of a slot that stops resting one comes first. If it is the
//!    slot's, the round reads 0, or what was drawn since. If it is the round's, the slot draws afterwards, and more than the round's own: a
//!    counter says so; and where timestamps come from clocks, the slot reads its own after two full fences and the way of a line, which take
//!    longer than such a timestamp is coarse ([`crate::timestamp`]).
//! 2. *Who had committed at or below the horizon has installed it:* what its slot tells next it tells afterwards (Release, Acquire).
//! 3. *Nobody reads at less than what is needed.* Of the fences of a round and of a slot that begins to read one comes first. If it is the
//!    slot's, the round reads what that tells. If it is the round's, the slot has seen the horizon that the round has kept, or a later one.
//!
//! So what was replaced at or below what is needed nobody looks for: who writes has a larger timestamp, by 1, and so has who reads, or the same.
//! It is freed long before its epoch has passed, while it is in the cache.
//!
//! A slot that waits to try an aborted transaction again does not rest: it holds the horizon for as long, at most
//! [`contract::EngineOptions::back_off_cap_ns`].
//!
//! It takes timestamps that ascend as they are drawn, or batches whose rest is lost when a slot has rested ([`crate::timestamp::Draws::lose_batch`]).
//!
//! We differ: the paper's leader makes the round, every 10 microseconds, and a thread that has nothing to do has its clock pushed by it;
//! ours is made by every slot for itself, once in so many transactions, and who rests is not looked at.

use crate::epoch::Line;
use crate::facade::atomic::{AtomicU64, Ordering, fence};

/// A slot that rests, or reads nothing of the past.
const NEVER: u64 = u64::MAX;

/// What a slot tells.
struct Told {
    writes_at: AtomicU64,
    reads_at: AtomicU64,
}

/// What all read.
#[derive(Default)]
struct Reached {
    horizon: AtomicU64,
    needed: AtomicU64,
}

/// See the module.
pub(crate) struct Horizon {
    reached: Line<Reached>,
    slots: Vec<Line<Told>>,
    /// Whether transactions that only read may read the past.
    is_read: bool,
}

impl Horizon {
    /// Of so many slots, which all rest.
    pub fn new(slots: usize, is_read: bool) -> Self {
        let told = || Line(Told { writes_at: AtomicU64::new(NEVER), reads_at: AtomicU64::new(NEVER) });
        Horizon {
            reached: Line::default(),
            slots: std::iter::repeat_with(told).take(slots).collect(),
            is_read,
        }
    }

    /// Whether transactions that only read may read the past.
    #[inline(always)]
    pub fn is_read(&self) -> bool {
        self.is_read
    }

    /// Before a slot draws a timestamp: answers whether it has rested. What it has left of a batch is then to be lost.
    #[inline(always)]
    #[must_use]
    pub fn before_drawing(&self, slot: usize) -> bool {
        let told = &self.slots[slot].0.writes_at;
        // Relaxed, both: its own word; the fence orders it before what is drawn.
        let has_rested = told.load(Ordering::Relaxed) == NEVER;
        if has_rested {
            told.store(0, Ordering::Relaxed);
            // SeqCst: pairs with the fence in `advance`. (1)
            fence(Ordering::SeqCst);
        }
        has_rested
    }

    /// A slot has drawn this timestamp; its transactions before have ended.
    #[inline(always)]
    pub fn drawn(&self, slot: usize, time: u64) {
        // Release: what those have read and installed comes before; pairs with the Acquire in `advance`. (2)
        self.slots[slot].0.writes_at.store(time, Ordering::Release);
    }

    /// A slot rests, its transactions have ended.
    pub fn rest(&self, slot: usize) {
        // Release: as in `drawn`.
        self.slots[slot].0.writes_at.store(NEVER, Ordering::Release);
    }

    /// A slot begins to read the past; answers at which timestamp.
    pub fn begin_to_read(&self, slot: usize) -> u64 {
        let reached = &self.reached.0;
        // Relaxed: a guess, which the load below confirms or mends.
        let mut horizon = reached.horizon.load(Ordering::Relaxed);
        loop {
            // Relaxed: nothing has been read yet.
            self.slots[slot].0.reads_at.store(horizon, Ordering::Relaxed);
            // SeqCst: pairs with the fence in `advance`. (3)
            fence(Ordering::SeqCst);
            // Acquire: what was installed up to there is seen; pairs with the Release in `raise`. (2)
            let now = reached.horizon.load(Ordering::Acquire);
            if now == horizon {
                return horizon;
            }
            horizon = now;
        }
    }

    /// It has read.
    pub fn end_reading(&self, slot: usize) {
        // Release: what it has read stays before; pairs with the Acquire in `advance`.
        self.slots[slot].0.reads_at.store(NEVER, Ordering::Release);
    }

    /// A round, by a slot whose last timestamp this is; answers what is needed.
    pub fn advance(&self, own: u64) -> u64 {
        let Reached { horizon, needed } = &self.reached.0;
        // Acquire: who goes on from here has seen what that round has; pairs with the Release in `raise`. (2) Before the fence: who fences
        // later finds this one or a later one. (3)
        let kept = horizon.load(Ordering::Acquire);
        // SeqCst: pairs with the fences in `before_drawing` (1) and `begin_to_read` (3).
        fence(Ordering::SeqCst);
        let (mut written, mut read) = (own, kept);
        for Line(told) in &self.slots {
            // Acquire, both: pair with the Release in `drawn`, `rest` and `end_reading`. (2)
            written = written.min(told.writes_at.load(Ordering::Acquire));
            read = read.min(told.reads_at.load(Ordering::Acquire));
        }
        raise(horizon, written.saturating_sub(1));
        raise(needed, read);
        // Acquire: what others have found so, they have found with all that was read before.
        needed.load(Ordering::Acquire)
    }

    /// Nobody looks for what was replaced at this timestamp or before, as far as rounds have found.
    pub fn needed(&self) -> u64 {
        // Acquire: as in `advance`.
        self.reached.0.needed.load(Ordering::Acquire)
    }
}

/// Raises a word, which is not written if it is there already.
fn raise(word: &AtomicU64, to: u64) {
    // Relaxed: a guess.
    if word.load(Ordering::Relaxed) < to {
        // Release: what the round has seen comes before; pairs with the Acquire of who goes on from there. An exchange, so that who
        // raises it further hides nothing of that.
        word.fetch_max(to, Ordering::Release);
    }
}
