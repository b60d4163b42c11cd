//! Epochs: a slowly advancing global count that tells when nobody can still hold a pointer (*silo* 4.1, 4.8).
//!
//! State: a global epoch E, and for every transaction slot w a local epoch e_w, refreshed between transactions.
//! E is advanced by a worker of its own, and only if every active slot has reached it.
//!
//! Invariants:
//! - E - e_w <= 1 for every active slot w (asserted where E is advanced).
//! - What was unlinked by a transaction of local epoch e may be reused once every active slot has reached
//!   e + 2. Proof: the unlinking slot stays at e until the transaction ends, so E <= e + 1 while the old link can
//!   still be seen; whoever followed it therefore runs at e + 1 or earlier.
//!
//! Refreshing needs no fence. A refresh that becomes visible late only makes the minimum look smaller. A slot
//! that goes from idle to active is the exception; see [`Epochs::enter`].

use crate::facade::atomic::{AtomicU64, Ordering};

/// Local epoch of a slot that runs no transactions.
const IDLE: u64 = u64::MAX;

/// A cache line of its own, two because lines are fetched in pairs.
#[repr(align(128))]
#[derive(Default)]
pub(crate) struct Line<T>(pub T);

/// The global epoch and every slot's.
pub(crate) struct Epochs {
    global: Line<AtomicU64>,
    /// Everything unlinked at this epoch or before may be reused.
    reclaimable: Line<AtomicU64>,
    slots: Box<[Line<AtomicU64>]>,
}

impl Epochs {
    /// Epochs for `slots` transaction slots, all idle; the first epoch is 2, so that `epoch - 2` exists.
    pub fn new(slots: usize) -> Self {
        Epochs {
            global: Line(AtomicU64::new(2)),
            reclaimable: Line(AtomicU64::new(0)),
            slots: (0..slots).map(|_| Line(AtomicU64::new(IDLE))).collect(),
        }
    }

    /// The global epoch, in one order with every commit's locks: the serialization point of *silo* 4.4.
    #[inline]
    pub fn serialization_point(&self) -> u64 {
        // SeqCst: after the write locks and before the validation in the one order that both fall into.
        self.global.0.load(Ordering::SeqCst)
    }

    /// Makes an idle slot active and answers its epoch.
    pub fn enter(&self, slot: usize) -> u64 {
        loop {
            let epoch = self.global.0.load(Ordering::SeqCst);
            // SeqCst: either `advance` sees this slot active, or the load below sees the advanced epoch.
            self.slots[slot].0.store(epoch, Ordering::SeqCst);
            if self.global.0.load(Ordering::SeqCst) == epoch {
                return epoch;
            }
        }
    }

    /// Brings the slot's epoch, last known to be `local`, up to date; call between transactions.
    #[inline]
    pub fn refresh(&self, slot: usize, local: u64) -> u64 {
        // Relaxed: an old epoch only delays reclamation.
        let epoch = self.global.0.load(Ordering::Relaxed);
        if epoch != local {
            // Release: what the slot's last transaction read and unlinked stays before; pairs with the Acquire in
            // `advance`.
            self.slots[slot].0.store(epoch, Ordering::Release);
        }
        epoch
    }

    /// Makes the slot idle: it holds no pointer.
    pub fn leave(&self, slot: usize) {
        // Release: as in `refresh`.
        self.slots[slot].0.store(IDLE, Ordering::Release);
    }

    /// Advances the global epoch if every active slot has reached it. Called by one thread, periodically.
    pub fn advance(&self) {
        let epoch = self.global.0.load(Ordering::Relaxed);
        // Acquire: pairs with the Release in `refresh` and `leave`.
        let slowest = self.slots.iter().map(|slot| slot.0.load(Ordering::Acquire)).min().unwrap_or(IDLE);
        if slowest == IDLE || slowest == epoch {
            // SeqCst: see `enter`.
            self.global.0.store(epoch + 1, Ordering::SeqCst);
        } else {
            assert!(
                slowest + 1 == epoch,
                "a slot at epoch {slowest} although the global epoch reached {epoch}"
            );
        }
        let reached = slowest.min(epoch);
        // Release: whoever reuses memory on the strength of this comes after the slots' last accesses to it.
        self.reclaimable.0.store(reached - 2, Ordering::Release);
    }

    /// Everything unlinked at this local epoch or before may be reused.
    #[inline]
    pub fn reclaimable(&self) -> u64 {
        // Acquire: pairs with the Release in `advance`.
        self.reclaimable.0.load(Ordering::Acquire)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_active_slot_holds_reclamation_back() {
        let epochs = Epochs::new(2);
        let mut local = epochs.enter(0);
        let retired_at = local;
        epochs.advance();
        epochs.advance();
        epochs.advance();
        assert!(epochs.reclaimable() < retired_at, "slot 0 may still hold what it unlinked");
        assert_eq!(epochs.serialization_point(), local + 1, "at most one ahead of an active slot");
        for _ in 0..3 {
            local = epochs.refresh(0, local);
            epochs.advance();
        }
        assert!(epochs.reclaimable() >= retired_at);
    }

    #[test]
    fn idle_slots_hold_nothing_back() {
        let epochs = Epochs::new(2);
        let local = epochs.enter(1);
        epochs.leave(1);
        for _ in 0..3 {
            epochs.advance();
        }
        assert!(epochs.reclaimable() >= local);
    }
}
