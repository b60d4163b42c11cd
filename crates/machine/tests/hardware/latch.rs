use machine::hardware::latch::{Latch, NoLatch, TestAndSet, TestAndTestAndSet, Ticket};
use machine::hardware::worker;
use std::cell::UnsafeCell;

/// A plain word under a latch.
#[repr(C)]
#[derive(Default)]
struct Guarded<L> {
    latch: L,
    word: UnsafeCell<u64>,
}

// SAFETY: the word is touched under the latch only; that this suffices is what is tested.
unsafe impl<L: Sync> Sync for Guarded<L> {}

impl<L: Latch> Guarded<L> {
    /// To be called by the holder.
    fn add_one(&self) {
        // SAFETY: the holder is alone.
        unsafe { *self.word.get() += 1 };
    }

    fn sum(&self) -> u64 {
        self.latch.lock();
        // SAFETY: the holder is alone.
        unsafe { *self.word.get() }
    }
}

/// More workers than cores, so that holders lose their core.
fn hammer<L: Latch + Send + Sync>() {
    const ROUNDS: u64 = 4_000;
    let workers = worker::cores() + 1;
    let guarded = &Guarded::<L>::default();
    // So that a ticket's number comes round while they are at it.
    for _ in 0..u32::from(u16::MAX) - ROUNDS as u32 {
        guarded.latch.lock();
        guarded.latch.unlock();
    }
    let entered = worker::run(workers, |_| {
        let mut entered = 0;
        for round in 0..ROUNDS {
            if round % 4 != 3 {
                guarded.latch.lock();
            } else if !guarded.latch.try_lock() {
                continue;
            }
            guarded.add_one();
            entered += 1;
            guarded.latch.unlock();
        }
        entered
    });
    let entered: u64 = entered.into_iter().sum();
    assert!(entered > ROUNDS);
    assert_eq!(guarded.sum(), entered, "{} lost an update", L::NAME);
}

#[test]
fn latches_exclude() {
    hammer::<TestAndSet>();
    hammer::<TestAndTestAndSet>();
    hammer::<Ticket>();
}

#[test]
fn a_latch_that_is_held_is_not_taken() {
    fn check<L: Latch>() {
        let latch = L::default();
        latch.lock();
        assert!(!latch.try_lock());
        latch.unlock();
        assert!(latch.try_lock());
    }
    check::<TestAndSet>();
    check::<TestAndTestAndSet>();
    check::<Ticket>();
    check::<NoLatch>();
}

/// Tickets come round after 65,536 of them.
#[test]
fn tickets_come_round() {
    let latch = Ticket::default();
    for _ in 0..200_000 {
        latch.lock();
        assert!(!latch.try_lock());
        latch.unlock();
    }
    assert!(latch.try_lock());
}

#[test]
#[should_panic(expected = "a ticket latch is unlocked that nobody holds")]
fn a_ticket_latch_is_not_unlocked_twice() {
    let latch = Ticket::default();
    latch.lock();
    latch.unlock();
    latch.unlock();
}

#[test]
#[should_panic(expected = "the single owner entered twice")]
fn no_latch_is_not_entered_twice() {
    let latch = NoLatch::default();
    latch.lock();
    latch.lock();
}

/// A zeroed word is an unlocked latch.
#[test]
fn zero_bytes_are_an_unlocked_latch() {
    fn check<L: Latch>() {
        assert_eq!((size_of::<L>(), align_of::<L>()), (4, 4));
        // SAFETY: every latch is one word of 32 bits, of which every value is valid.
        let latch: L = unsafe { std::mem::zeroed() };
        assert!(latch.try_lock());
    }
    check::<TestAndSet>();
    check::<TestAndTestAndSet>();
    check::<Ticket>();
    check::<NoLatch>();
}
