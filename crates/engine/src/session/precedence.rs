//! Precedence: a transaction that was aborted so many times goes first, and the others defer to it. So every transaction has a
//! bound.
//!
//! Without it some abort for ever: NO_WAIT's long scans among short updates, SILO's readers of what all others write. Back-off
//! makes that unlikely, not impossible.
//!
//! State: one word, the tickets that were taken and the turns that have ended. They are equal, and the word does not change,
//! unless somebody starves.
//!
//! - A transaction that was aborted `after` times takes a ticket and waits for its turn, first come, first served: one
//!   transaction at a time has precedence. It holds nothing meanwhile, no epoch either: a turn may take as long as transactions of other instances.
//! - As long as tickets are out, every other transaction waits before its next attempt, its first one too, in the way in which
//!   its architecture waits; it serves others, lets others run.
//! - The turn ends with the transaction, however that ends.
//!
//! *It ends.* In a turn no other transaction begins an attempt, and the attempts that run, one a slot at most, end: they commit,
//! or are aborted and then wait, or wait for the one that has the turn until it commits or is aborted. Until they have ended
//! it may be aborted again; then it runs alone. Nothing aborts a transaction that is alone, except a wrong plan, which is
//! an error. And who has a ticket waits for no more turns than there are slots, because nobody takes two.
//!
//! Cost where nobody starves: before an attempt one load of a line that nobody writes; without a bound (`never`, as the
//! papers' systems), nothing.

use crate::architecture::Architecture;
use crate::epoch::Line;
use crate::facade::atomic::{AtomicU64, Ordering};

/// The queue of those that starve.
pub(crate) struct Precedence {
    after: u32,
    /// Low half: tickets taken; high half: turns ended.
    queue: Line<AtomicU64>,
}

const TAKEN: u64 = 1;
const ENDED: u64 = 1 << 32;

fn taken(queue: u64) -> u32 {
    queue as u32
}

fn ended(queue: u64) -> u32 {
    (queue >> 32) as u32
}

impl Precedence {
    /// Of a run in which a transaction gets it after so many aborts; 0: never.
    pub fn after(aborts: u32) -> Option<Self> {
        (aborts > 0).then(|| Precedence { after: aborts, queue: Line(AtomicU64::new(0)) })
    }

    /// Waits while others have precedence. The slot is in no epoch.
    #[cold]
    pub fn defer(&self, architecture: &mut impl Architecture) {
        self.wait_while(architecture, |queue| taken(queue) != ended(queue));
    }

    /// Whether a transaction that was aborted so many times is to wait for its turn.
    #[inline]
    pub fn is_due(&self, aborts: u32) -> bool {
        aborts >= self.after
    }

    /// Waits for its turn. The slot is in no epoch.
    #[cold]
    pub fn turn(&self, architecture: &mut impl Architecture) -> Turn<'_> {
        // Relaxed, here and below: who goes first orders nothing, the protocol's steps do.
        let ticket = taken(self.queue.0.fetch_add(TAKEN, Ordering::Relaxed));
        assert!(ticket < u32::MAX, "more than {ticket} transactions have starved in one run");
        let turn = Turn(self);
        self.wait_while(architecture, |queue| ended(queue) != ticket);
        turn
    }

    /// Whether somebody has precedence.
    #[inline(always)]
    pub fn is_claimed(&self) -> bool {
        let queue = self.queue.0.load(Ordering::Relaxed);
        taken(queue) != ended(queue)
    }

    #[cold]
    fn wait_while(&self, architecture: &mut impl Architecture, is_early: impl Fn(u64) -> bool) {
        let mut asked = 0u32;
        while is_early(self.queue.0.load(Ordering::Relaxed)) {
            architecture.pause(asked);
            asked = asked.saturating_add(1);
        }
    }
}

/// A transaction's turn; it ends when dropped.
pub(crate) struct Turn<'p>(&'p Precedence);

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.0.queue.0.fetch_add(ENDED, Ordering::Relaxed);
    }
}
