//! Transactions that panic while they install: the slot goes on without them, and nobody relies on what becomes of it for what they still hold.

use super::accounts::{Accounts, Row, T};
use super::canary::{Broken, Defect, Slip, Slipped};
use crate::architecture::Architecture;
use crate::facade::atomic::{AtomicU32, Ordering};
use crate::facade::shared::Arc;
use crate::index::hash::Hash;
use crate::physical::{Physical, Shared};
use crate::protocol::{
    Answer, Attempt, Claimed, Claiming, Hekaton, Locking, Mode, Protocol, Request, SlotId, Vll, Waker,
};
use crate::session::lent::{Lender, LendsShared, Lent, Runtime};
use crate::storage::store::Parts;
use crate::storage::{AllocationCache, Store, Table};
use crate::timestamp::END_OF_TIME;
use crate::transaction::access::Locked;
use contract::{
    Abort, AbortReason, ArchitectureName, EngineOptions, Indexing, Key, Layout, PairName, PartitionId,
    ProtocolName, Selection, TransactionExt,
};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A panic that is due.
struct Due(AtomicU32);

impl Due {
    const fn not_yet() -> Self {
        Due(AtomicU32::new(0))
    }

    // Relaxed, both: of one thread.

    fn now(&self) {
        self.0.store(1, Ordering::Relaxed);
    }

    fn panic_if_due(&self) {
        assert!(self.0.swap(0, Ordering::Relaxed) == 0, "within install");
    }
}

/// Panics once it has locked a record, and not what comes behind.
struct PanicsLocking;

static LOCKING: Due = Due::not_yet();

impl Slip<Hekaton> for PanicsLocking {
    fn lock<P: Physical>(meta: &Claimed<P>, previous: u64, end: u64) {
        Hekaton::lock(meta, previous, end);
        LOCKING.panic_if_due();
    }
}

/// Panics before it releases anything.
struct PanicsReleasing;

static RELEASING: Due = Due::not_yet();

impl Defect<Vll> for PanicsReleasing {
    type Access<A: Architecture<Protocol = Broken<Vll, Self>>> = Locked;

    fn release_all<'m, P: Physical>(
        records: impl Iterator<Item = (&'m <Vll as Protocol>::Meta<P>, Mode)>,
        request: Request<'_, Vll, P, impl Waker>,
    ) {
        RELEASING.panic_if_due();
        Vll::release_all(records, request);
    }
}

/// A store that is open, and two slots of it.
struct Open<P: Protocol> {
    tables: Arc<Vec<Table>>,
    lender: LendsShared<P, Shared>,
    slots: Vec<Box<dyn Lent>>,
}

impl<P: Protocol> Open<P>
where
    P::Common<Shared>: Send + Sync,
{
    const SLOTS: usize = 2;

    fn new(protocol: ProtocolName) -> Self {
        let options = EngineOptions::default();
        let layout = Layout::of(1).for_protocol(protocol);
        let mut store = Store::load(&Accounts(Indexing::Hashed), layout, &|_| ()).expect("a small table");
        let pair = PairName { architecture: ArchitectureName::SharedEverything, protocol };
        store.prepare(Selection::Pair(pair));
        let Parts { tables, mut epochs, heap, .. } = store.into_parts();
        epochs.provide(Self::SLOTS);
        let lender = LendsShared::new(Self::SLOTS, &options);
        let runtime = Arc::new(Runtime { epochs, log: None, ids: None, precedence: None, options });
        let tables = Arc::new(tables);
        let lend = |slot| {
            let allocations = Box::new(AllocationCache::new(tables.len(), 1, &heap));
            lender.lend(&tables, &runtime, SlotId(slot as u32), allocations)
        };
        let slots = (0..Self::SLOTS).map(lend).collect();
        Open { tables, lender, slots }
    }

    fn update(&mut self, slot: usize, key: u64) -> Result<(), Abort> {
        let found = self.slots[slot].transaction().update_row::<Row, _>(T, Key(key), |row| row[1] += 1)?;
        found.expect("the account is there");
        Ok(())
    }

    /// Runs a transaction that nobody is in the way of.
    fn change(&mut self, slot: usize, keys: &[u64]) {
        self.slots[slot].begin(Attempt::First);
        keys.iter().for_each(|&key| self.update(slot, key).expect("nobody is in the way"));
        self.slots[slot].commit().expect("nobody is in the way");
    }

    /// The same, and it panics while it installs.
    fn break_off(&mut self, slot: usize, keys: &[u64], due: &Due) {
        let change = || {
            due.now();
            self.change(slot, keys);
        };
        let panic = catch_unwind(AssertUnwindSafe(change)).expect_err("it panics");
        assert!(panic.downcast_ref::<&str>().is_some_and(|words| words.contains("within install")));
    }
}

/// A record that was claimed says no more whose it was: or else it would be its slot's next transaction's.
#[test]
fn what_a_transaction_has_claimed_that_panicked_is_not_its_slots_next_ones() {
    let mut open = Open::<Slipped<Hekaton, PanicsLocking>>::new(ProtocolName::Hekaton);
    open.break_off(0, &[0, 1], &LOCKING);
    let look = |open: &Open<_>, key: u64, time| {
        let key = Key(key);
        let found = open.tables[T.index()].partition(PartitionId(0)).index.hashed().find(Hash::of(key), key);
        let record = found.expect("an account");
        // SAFETY: of the protocol and policy that run.
        let meta = unsafe { record.meta::<<Hekaton as Protocol>::Header, Claimed<Shared>>() };
        Hekaton::look(meta, &open.lender.0.common, time)
    };
    // Before it, and after it.
    let [past, future] = [1, END_OF_TIME - 1];
    let are_withheld = |open: &Open<_>| {
        assert_eq!([0, 1].map(|key| look(open, key, future)), [Answer::Wait; 2], "a part of it is not seen");
        assert_eq!(look(open, 0, past), Answer::Older, "the version before the one that is installed");
        assert_eq!(look(open, 1, past), Answer::Wait, "nobody knows when it ended");
    };
    are_withheld(&open);
    // Both slots go on.
    open.change(0, &[2, 3]);
    are_withheld(&open);
    open.change(1, &[2, 3]);
    open.slots[0].begin(Attempt::First);
    open.update(0, 4).expect("nobody is in the way");
    are_withheld(&open);
    open.slots[0].abort();
    are_withheld(&open);
}

/// Nobody waits for who has left the queue, and not the records.
#[test]
fn what_a_transaction_is_counted_in_that_panicked_is_denied() {
    let mut open = Open::<Broken<Vll, PanicsReleasing>>::new(ProtocolName::Vll);
    open.break_off(0, &[0], &RELEASING);
    let denied = Err(Abort(AbortReason::Conflict));
    for slot in [0, 1] {
        open.change(slot, &[1, 2]);
        open.slots[slot].begin(Attempt::First);
        open.update(slot, 1).expect("nobody is in the way");
        assert_eq!(open.update(slot, 0), denied, "asked for late");
        open.slots[slot].abort();
        open.slots[slot].begin(Attempt::Retry);
        assert_eq!(open.update(slot, 1), denied, "asked for ahead, with what it was denied");
        open.slots[slot].abort();
    }
    open.change(0, &[1, 2]);
}
