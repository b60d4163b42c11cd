//! The inner steps of a transaction one by one, for the benches and the `doctor` command: nothing here is part of the
//! engine's interface.

use crate::architecture::{
    self, Architecture, BackOff, CcThread, DelegationState, ExecutionThread, InFibers, OrthrusState, Serving,
    SharedState,
};
use crate::facade::atomic::{AtomicUsize, Ordering};
use crate::facade::cell::Cell;
use crate::facade::clock::{self, Ticks};
use crate::facade::region::Region;
use crate::facade::{cpu, worker};
use crate::fiber::{Current, Fiber, Scheduler, Turn};
use crate::index::hash::Hash;
use crate::message::Grants;
use crate::message::Rings;
use crate::physical::{Owned, Shared};
use crate::protocol::{
    Attempt, BasicTimestamp, Cicada, Claiming, DeadlockFree, DlDetect, Dreadlocks, Hekaton, LockTables,
    Locking, Mocc, Mode, Mvcc, NoWait, Occ, Preparing, Protocol, RequestWith, Requester, Silo, SlotId,
    SlotState, TicToc, Timestamping, TwoVersionNoWait, Verdict, Vll, WaitDie, Wake, Waker,
};
use crate::record::RecordRef;
use crate::storage::Store;
use crate::timestamp::{Halves, Timestamp};
use crate::transaction::Txn;
use contract::{
    Access, ArchitectureName, Effort, EngineOptions, Header, Indexing, Key, Layout, PairName,
    PartitionFunction, PartitionId, Plan, Presence, Procedure, ProtocolName, RowLength, Span,
    TableDescription, TableId,
};
use std::ptr::NonNull;
use std::time::Duration;

/// Wakes nobody: there is one transaction.
struct Alone;

impl Waker for Alone {
    fn wake(&self, slot: SlotId, _: Wake) {
        unreachable!("slot {} waits, though there is one transaction", slot.0)
    }
}

/// Whether the index finds `key`.
pub fn probe(store: &Store, table: TableId, key: Key) -> bool {
    let table = &store.tables[table.index()];
    let (partition, hash) = table.locate(key);
    table.partition(partition).index.hashed().find(hash, key).is_some()
}

/// Whether the index finds each of `keys`, their lines asked for ahead.
pub fn probe_ahead(store: &Store, table: TableId, keys: &[Key]) -> usize {
    let table = &store.tables[table.index()];
    for &key in keys {
        table.partition(table.partition_of(key)).index.hashed().prefetch(Hash::of(key));
    }
    keys.iter()
        .filter(|&&key| {
            table.partition(table.partition_of(key)).index.hashed().find(Hash::of(key), key).is_some()
        })
        .count()
}

/// Locks and unlocks one record with nobody else around; `repeat` times.
pub fn lock_and_unlock(protocol: ProtocolName, exclusive: bool, repeat: u64) {
    match protocol {
        ProtocolName::NoWait => lock_loop::<NoWait>(exclusive, repeat),
        ProtocolName::TwoVersionNoWait => lock_loop::<TwoVersionNoWait>(exclusive, repeat),
        ProtocolName::DlDetect => lock_loop::<DlDetect>(exclusive, repeat),
        ProtocolName::Dreadlocks => lock_loop::<Dreadlocks>(exclusive, repeat),
        ProtocolName::WaitDie => lock_loop::<WaitDie>(exclusive, repeat),
        ProtocolName::Vll => lock_loop::<Vll>(exclusive, repeat),
        ProtocolName::DeadlockFree => lock_loop::<DeadlockFree>(exclusive, repeat),
        ProtocolName::Silo => prepare_loop::<Silo>(repeat),
        ProtocolName::Timestamp => timestamp_loop::<BasicTimestamp>(exclusive, repeat),
        ProtocolName::Mvcc => timestamp_loop::<Mvcc>(exclusive, repeat),
        ProtocolName::Cicada => timestamp_loop::<Cicada>(exclusive, repeat),
        ProtocolName::Occ => prepare_loop::<Occ>(repeat),
        ProtocolName::TicToc => prepare_loop::<TicToc>(repeat),
        ProtocolName::Mocc => prepare_loop::<Mocc>(repeat),
        ProtocolName::Hekaton => claim_loop::<Hekaton>(exclusive, repeat),
        ProtocolName::KeyValue | ProtocolName::Unprotected => {
            unreachable!("where there are no transactions, or no protocol, nothing is locked or committed")
        }
    }
}

/// A record's metadata, outside of a record.
fn with_meta<P: Protocol>(run: impl FnOnce(&P::Meta<Shared>)) {
    const { assert!(size_of::<P::Meta<Shared>>() <= Header::Versioned.metadata_bytes()) };
    let words = [const { Cell::new(0u64) }; 4];
    // SAFETY: so many zeroed, 8-aligned bytes with interior mutability are valid metadata of every protocol.
    run(unsafe { &*(&raw const words).cast() });
}

fn timestamp_loop<P: Timestamping>(exclusive: bool, repeat: u64) {
    with_meta::<P>(|meta| {
        for time in 1..=repeat {
            let by = Halves::of(Timestamp(time));
            if exclusive {
                let _ = std::hint::black_box(P::write::<Shared>(meta, Presence::Present, by));
                P::withdraw::<Shared>(meta);
            } else {
                let _ = std::hint::black_box(P::read::<Shared>(meta, by));
            }
        }
    });
}

fn claim_loop<P: Claiming>(exclusive: bool, repeat: u64) {
    let common = P::common::<Shared>(1, 1, &EngineOptions::default());
    with_meta::<P>(|meta| {
        for time in 1..=repeat {
            let stamp = Halves::of(Timestamp(time));
            let who = Requester { slot: SlotId(0), partition: 0, access: 0, stamp };
            if exclusive {
                let request = RequestWith { common: &common, who, waker: &Alone };
                let _ = std::hint::black_box(P::claim::<Shared>(meta, Presence::Present, request));
                P::withdraw::<Shared>(meta);
            } else {
                let _ = std::hint::black_box(P::look::<Shared>(meta, &common, time));
            }
        }
    });
}

fn lock_loop<P: Locking>(exclusive: bool, repeat: u64) {
    let common = P::common::<Shared>(1, 1, &EngineOptions::default());
    let stamp = P::Slot::new().stamp();
    let who = Requester { slot: SlotId(0), partition: 0, access: 0, stamp };
    let request = RequestWith { common: &common, who, waker: &Alone };
    let mode = if exclusive { Mode::Exclusive } else { Mode::Shared };
    with_meta::<P>(|meta| {
        for _ in 0..repeat {
            let _ = std::hint::black_box(P::acquire::<Shared>(meta, mode, request));
            P::release::<Shared>(meta, mode, request);
        }
    });
}

fn prepare_loop<P: Preparing>(repeat: u64) {
    let common = P::common::<Shared>(1, 1, &EngineOptions::default());
    let who = Requester { slot: SlotId(0), partition: 0, access: 0, stamp: P::Slot::new().stamp() };
    let request = RequestWith { common: &common, who, waker: &Alone };
    with_meta::<P>(|meta| {
        for _ in 0..repeat {
            let _ = std::hint::black_box(P::prepare::<Shared>(meta, false, request));
            P::unprepare::<Shared>(meta, false, request);
        }
    });
}

/// From a lock request's sending to its answer under delegation, in nanoseconds: the median of `batches` batches of
/// requests and releases, each waited for, between the first two workers; the record's line is the owner's.
pub fn delegated_request_ns(batches: usize) -> f64 {
    const PAIRS: u32 = 500;
    let region = Region::reserve(64).expect("a page");
    region.fault_in(0..64);
    // SAFETY: 64 bytes of a region that outlives the run, aligned far beyond 16.
    let record =
        unsafe { RecordRef::new(NonNull::new(region.base()).expect("a mapping is not at address 0")) };
    record.initialise(Header::Narrow, Key(0));
    let state = DelegationState::<NoWait>::new(2, 2, 2, &EngineOptions::default());
    let who = Requester { slot: SlotId(0), partition: 1, access: 0, stamp: () };
    let owner = PartitionId(1);
    let mut medians = worker::run(2, |me| {
        let back_off = BackOff::new(&EngineOptions::default(), me as u32);
        let mut delegation = architecture::Delegation::new(me, &[], &state, back_off);
        if me == 1 {
            // Serves while it is dropped.
            return 0.0;
        }
        median(batches, || {
            for _ in 0..PAIRS {
                let verdict = delegation.at(owner, move |site| {
                    NoWait::acquire::<Owned>(site.meta(record), Mode::Exclusive, site.request(who))
                });
                assert_eq!(verdict, Verdict::Granted);
                delegation.at(owner, move |site| {
                    NoWait::release::<Owned>(site.meta(record), Mode::Exclusive, site.request(who))
                });
            }
        })
    });
    medians.swap_remove(0) / f64::from(2 * PAIRS)
}

/// A fiber's migration to another worker and back, in nanoseconds: the median of `batches` batches, between the first
/// two workers, with nothing else to do.
pub fn migration_there_and_back_ns(batches: usize) -> f64 {
    const TRIPS: u32 = 500;
    let (rings, grants, ended) = (Rings::new(2), Grants::new(2, None), AtomicUsize::new(0));
    let mut medians = worker::run(2, |me| {
        let mut result = 0.0;
        let place = &raw mut result;
        let body = |mut current: Current| {
            let ns = median(batches, || {
                for _ in 0..TRIPS {
                    current.migrate(1);
                    current.migrate(0);
                }
            });
            // SAFETY: the fiber ends at home, in the frame that `place` points into.
            unsafe { *place = ns };
        };
        // SAFETY: the fiber ends before this frame does, and what the body holds is used at home only, or is `Copy`.
        let fibers = (me == 0).then(|| unsafe { Fiber::new(body) }).into_iter().collect();
        let mut scheduler = Scheduler::new(me, &rings, &grants, fibers, 1);
        let mut spin = cpu::Spin::new();
        while scheduler.has_living() || (me != 0 && ended.load(Ordering::Acquire) == 0) {
            if scheduler.turn() == Turn::Ran { spin = cpu::Spin::new() } else { spin.pause() }
        }
        // Release: pairs with the Acquire above.
        ended.fetch_add(1, Ordering::Release);
        drop(scheduler);
        result
    });
    medians.swap_remove(0) / f64::from(TRIPS)
}

/// What the locks of a transaction cost under ORTHRUS.
#[derive(Clone, Copy, Debug)]
pub struct LockSetCosts {
    /// From asking for them to having given them back, as the thread that executes sees it, in nanoseconds.
    pub there_and_back_ns: f64,
    /// What the concurrency-control thread works on that, in nanoseconds: the lines that it waits for are part of it.
    pub of_thread_ns: f64,
}

/// A lock set of `keys` keys to write, which one concurrency-control thread has, and its release: the first worker is that thread, the second
/// has `in_flight` transactions in flight, one after the other in each slot, each of other keys, and does nothing else. The medians of `batches`
/// batches.
pub fn lock_set_costs(keys: u64, in_flight: usize, batches: usize) -> LockSetCosts {
    const TRANSACTIONS: u64 = 500;
    type System<'e> = architecture::Orthrus<'e, LockTables>;
    let of_slot = keys * TRANSACTIONS;
    let rows = bare_rows(of_slot * in_flight as u64);
    let store = Store::without_rows(&[rows], Layout::of(1)).expect("memory for a small table");
    let (tables, options) = (&store.tables[..], EngineOptions::default());
    let state = OrthrusState::<LockTables>::new(tables, 1, 1, in_flight, &options);
    let plans = |slot: usize| -> Vec<Plan> {
        let of_one = |first: u64| {
            let mut plan = Plan::default();
            // Far from each other.
            for key in (0..keys).map(|nth| Key(slot as u64 * of_slot + first + nth * TRANSACTIONS)) {
                plan.touch(TableId(0), key, Span::whole(8), Access::Write);
            }
            plan
        };
        (0..TRANSACTIONS).map(of_one).collect()
    };
    let mut medians = worker::run(2, |me| {
        if me == 0 {
            return work_of(CcThread::new(0, &state));
        }
        let mut outbox = ExecutionThread::outbox(&state, 0);
        let thread = ExecutionThread::new(&state, &mut outbox);
        let mut results = vec![0.0; in_flight];
        let (thread, options) = (&thread, &options);
        let mut fibers = Vec::new();
        for (slot, result) in results.iter_mut().enumerate() {
            let (plans, place) = (plans(slot), &raw mut *result);
            let body = move |current: Current| {
                let slot = SlotId(slot as u32);
                let mut system = System::new(current, slot, tables, thread, BackOff::new(options, slot.0));
                let ns = median(batches, || {
                    for plan in &plans {
                        system.begin(plan, Timestamp::default(), |_| ());
                        system.release_all();
                    }
                });
                // SAFETY: the fiber ends in the frame that `place` points into.
                unsafe { *place = ns };
            };
            // SAFETY: the fiber ends before this frame does, and stays here.
            fibers.push(unsafe { Fiber::new(body) });
        }
        let workers = <System<'_> as InFibers<'_>>::workers(thread);
        let grants = <System<'_> as InFibers<'_>>::grants(thread);
        let mut scheduler = Scheduler::new(0, &workers.rings, grants, fibers, in_flight);
        let mut spin = cpu::Spin::new();
        while scheduler.has_living() {
            if scheduler.turn() == Turn::Ran { spin = cpu::Spin::new() } else { spin.pause() }
        }
        workers.one_has_ended();
        drop(scheduler);
        results.iter().sum::<f64>() / in_flight as f64 / TRANSACTIONS as f64
    });
    LockSetCosts { there_and_back_ns: medians.swap_remove(1), of_thread_ns: medians.swap_remove(0) }
}

/// Asks for the locks of `keys` keys to write in a lock table of ORTHRUS, and gives them back; `repeat` times, each of other keys, with nobody else
/// around.
pub fn lock_set_in_table(keys: u64, repeat: u64) {
    let mut table = architecture::LockTable::<()>::new(1, 1, true);
    for nth in 0..repeat {
        let keys = nth * keys..(nth + 1) * keys;
        let locks = keys.map(|key| architecture::Lock::of_key(TableId(0), Key(key), Mode::Exclusive));
        let locks: Vec<_> = locks.collect();
        assert!(table.request(SlotId(0), &locks, ()), "nobody else is around");
        table.release(SlotId(0), |()| ());
    }
}

/// What a concurrency-control thread works for one transaction, until nobody needs it: the median of some milliseconds.
fn work_of(mut thread: CcThread<'_, LockTables>) -> f64 {
    /// A request and a release.
    const MESSAGES: f64 = 2.0;
    let slice = clock::ticks_of(Duration::from_millis(1));
    let mut times = Vec::new();
    loop {
        thread.serve_until(Ticks(clock::now().0.saturating_add(slice)));
        let Effort { servings, served, serving, .. } = thread.take_effort();
        if served == 0 && !times.is_empty() {
            break;
        }
        let ns = serving.mean_ns().map(|ns| ns * servings as f64 / served as f64);
        times.extend(ns);
    }
    times.sort_by(f64::total_cmp);
    MESSAGES * times[times.len() / 2]
}

/// A table of rows of eight bytes.
fn bare_rows(rows: u64) -> TableDescription {
    TableDescription {
        name: "rows",
        row_bytes: 8,
        length: RowLength::Fixed,
        kept_bytes: 8,
        rows,
        capacity: rows,
        indexing: Indexing::Hashed,
        partition: PartitionFunction::Remainder,
    }
}

/// The median time of `batches` runs of `f`, in nanoseconds, after one that does not count.
fn median(batches: usize, mut f: impl FnMut()) -> f64 {
    f();
    let mut times: Vec<u64> = (0..batches)
        .map(|_| {
            let began = clock::now();
            f();
            clock::nanoseconds(clock::now().since(began))
        })
        .collect();
    times.sort_unstable();
    times[times.len() / 2] as f64
}

/// Runs `procedure` to its commit, `repeat` times, with nobody else around.
pub fn commit(store: &mut Store, protocol: ProtocolName, procedure: &impl Procedure, repeat: u64) {
    // Timestamps begin anew.
    store.prepare(PairName { architecture: ArchitectureName::SharedEverything, protocol }.into());
    if protocol.header() != Header::Narrow {
        // Timestamps begin anew, and so must what records know of them.
        store.prepare(PairName { architecture: ArchitectureName::SharedEverything, protocol }.into());
    }
    match protocol {
        ProtocolName::NoWait => commit_loop::<NoWait>(store, procedure, repeat),
        ProtocolName::TwoVersionNoWait => commit_loop::<TwoVersionNoWait>(store, procedure, repeat),
        ProtocolName::DlDetect => commit_loop::<DlDetect>(store, procedure, repeat),
        ProtocolName::Dreadlocks => commit_loop::<Dreadlocks>(store, procedure, repeat),
        ProtocolName::WaitDie => commit_loop::<WaitDie>(store, procedure, repeat),
        ProtocolName::Vll => commit_loop::<Vll>(store, procedure, repeat),
        ProtocolName::DeadlockFree => commit_loop::<DeadlockFree>(store, procedure, repeat),
        ProtocolName::Silo => commit_loop::<Silo>(store, procedure, repeat),
        ProtocolName::Timestamp => commit_loop::<BasicTimestamp>(store, procedure, repeat),
        ProtocolName::Mvcc => commit_loop::<Mvcc>(store, procedure, repeat),
        ProtocolName::Cicada => commit_loop::<Cicada>(store, procedure, repeat),
        ProtocolName::Occ => commit_loop::<Occ>(store, procedure, repeat),
        ProtocolName::TicToc => commit_loop::<TicToc>(store, procedure, repeat),
        ProtocolName::Mocc => commit_loop::<Mocc>(store, procedure, repeat),
        ProtocolName::Hekaton => commit_loop::<Hekaton>(store, procedure, repeat),
        ProtocolName::KeyValue | ProtocolName::Unprotected => {
            unreachable!("where there are no transactions, or no protocol, nothing is locked or committed")
        }
    }
}

fn commit_loop<P: Protocol>(store: &mut Store, procedure: &impl Procedure, repeat: u64) {
    let (tables, epochs, caches, _) = store.work_on(1);
    let state = SharedState::<P, Shared>::new(1, 1, &EngineOptions::default());
    let back_off = BackOff::new(&EngineOptions::default(), 0);
    let architecture = architecture::SharedEverything::new(tables, &state, back_off);
    let mut txn = Txn::new(architecture, tables, epochs, SlotId(0), &mut caches[0]);
    let plan = Plan::default();
    for _ in 0..repeat {
        txn.begin(Attempt::First, &plan);
        procedure.run(&mut txn).expect("nobody else is around");
        txn.commit().expect("nobody else is around");
    }
}
