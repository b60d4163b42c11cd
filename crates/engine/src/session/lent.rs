//! Slots that are lent: a thread of the program that embeds the engine runs transactions in one, when it likes, where transactions
//! run in place.
//!
//! A slot that is lent rests between two transactions: it is in no epoch, however long its thread then does something else, and
//! what it has logged is with its logger ([`crate::durability::redo`]). It belongs to no run. What its system keeps (tables, epochs,
//! log, shared metadata) it owns a part of, so it may outlive any borrow; tables come and go only while no slot is lent.
//!
//! A panic in a commit ends the transaction, too: while it is prepared, which merges are a part of, it is undone. Later on nobody knows what
//! others see of it, and whether it is logged: so the log stops, and the slot goes on without it.
//!
//! A slot that reads a snapshot is in an epoch only while it looks at something: its thread may keep the snapshot for as long as it likes.
//!
//! A loop that retries is the borrower's: after an abort it calls [`Lent::retry`], which backs off and, once there have been too many,
//! waits for precedence ([`super::precedence`]).

use super::precedence::{Precedence, Turn};
use super::walk::ReadRows;
use crate::architecture::{Architecture, BackOff, SharedEverything, SharedState};
use crate::commit_id::CommitIds;
use crate::durability::{Log, Redo};
use crate::epoch::Epochs;
use crate::facade::cpu;
use crate::facade::shared::Arc;
use crate::physical::Concurrent;
use crate::protocol::{Attempt, Protocol, SlotId};
use crate::storage::{AllocationCache, Table};
use crate::transaction::{Decision, Prepared, SnapshotRead, Txn};
use contract::{Abort, CommitId, EngineOptions, LogError, Plan, PrefetchName, Procedure, Transaction};
use std::mem::{self, ManuallyDrop};
use std::ptr::NonNull;

/// What a store that stays open has beside its tables.
pub(crate) struct Runtime {
    pub epochs: Epochs,
    pub log: Option<Log>,
    /// Where ids of committed transactions come from, if they are logged.
    pub ids: Option<CommitIds>,
    pub precedence: Option<Precedence>,
    pub options: EngineOptions,
}

/// A transaction that has committed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Committed {
    /// Its place in the serial order, if the store is logged.
    pub id: Option<CommitId>,
    /// It is durable once this epoch is; `None`: the store is not logged.
    pub epoch: Option<u64>,
}

/// A slot, whatever its system.
pub(crate) trait Lent: Send {
    /// Begins a transaction; the last one has ended.
    fn begin(&mut self, attempt: Attempt);

    /// Whether there are snapshots.
    fn has_snapshots(&self) -> bool;

    /// Begins a transaction that reads the newest snapshot, of a store that has any: nothing aborts it. The last one has ended.
    fn begin_snapshot(&mut self);

    /// Lets `read` use its operations. Between two such calls the slot is in no epoch.
    fn read_snapshot(&mut self, read: &mut dyn FnMut(&mut dyn Transaction));

    /// Ends it.
    fn end_snapshot(&mut self) -> SnapshotRead;

    /// Its operations.
    fn transaction(&mut self) -> &mut dyn Transaction;

    /// Commits it, or aborts it.
    fn commit(&mut self) -> Result<Committed, Abort>;

    /// Undoes it, by its own will, if it has seen what it could have committed with; an abort otherwise, as if it had wanted to commit.
    fn roll_back(&mut self) -> Result<(), Abort>;

    /// Undoes it.
    fn abort(&mut self);

    /// The transaction was aborted `attempts` times in a row, and is to begin again: lets time pass.
    fn retry(&mut self, attempts: u32);

    /// The transaction will not begin again.
    fn give_up(&mut self);

    /// Records that a transaction may touch, and gaps on which it may rely; more is a panic.
    fn most_records(&self) -> usize;

    /// The tables.
    fn tables(&self) -> &[Table];

    /// Between two transactions: walks a step of a part of the tables for a checkpoint; `false`: there is nothing to walk, or others have it.
    fn walk(&mut self) -> bool;

    /// Between two transactions: frees what was unlinked, and versions that nobody needs any more.
    fn reclaim(&mut self);

    /// What the slot has at hand of the tables' memory; the slot is gone.
    fn end(self: Box<Self>) -> Box<AllocationCache>;
}

/// Makes slots of a system that runs transactions in place.
pub(crate) trait Lender: Send + Sync {
    /// A slot. Nobody else has this number.
    fn lend(
        &self,
        tables: &Arc<Vec<Table>>,
        runtime: &Arc<Runtime>,
        slot: SlotId,
        allocations: Box<AllocationCache>,
    ) -> Box<dyn Lent>;
}

/// Of shared-everything.
pub(crate) struct LendsShared<P: Protocol, F: Concurrent>(pub Arc<SharedState<P, F>>);

impl<P: Protocol, F: Concurrent> LendsShared<P, F> {
    /// Of so many slots, over tables of one partition.
    pub fn new(slots: usize, options: &EngineOptions) -> Self {
        LendsShared(Arc::new(SharedState::new(slots, 1, options)))
    }
}

impl<P: Protocol + 'static, F: Concurrent + 'static> Lender for LendsShared<P, F>
where
    P::Common<F>: Send + Sync,
{
    fn lend(
        &self,
        tables: &Arc<Vec<Table>>,
        runtime: &Arc<Runtime>,
        slot: SlotId,
        allocations: Box<AllocationCache>,
    ) -> Box<dyn Lent> {
        let owned: Owned<P, F> = (Arc::clone(&self.0), Arc::clone(tables), Arc::clone(runtime));
        let (state, tables, runtime) = (&raw const *owned.0, &raw const **owned.1, &raw const *owned.2);
        // SAFETY: the slot owns a part of each for as long as it has the references: it drops them before `owned`. Nobody changes
        // tables of which anybody owns a part (`Arc::get_mut`).
        let (state, tables, runtime): (&'static SharedState<P, F>, &'static [Table], &'static Runtime) =
            unsafe { (&*state, &*tables, &*runtime) };
        let allocations = Box::leak(allocations);
        let kept = NonNull::from(&mut *allocations);
        let back_off = BackOff::new(&runtime.options, slot.0);
        let architecture = SharedEverything::new(tables, state, back_off);
        let mut txn = Txn::new(architecture, tables, &runtime.epochs, slot, allocations);
        txn.ids = runtime.ids.as_ref();
        txn.heed_hints_if(runtime.options.prefetch == PrefetchName::On);
        txn.wait_at_most(runtime.options.deadlock_timeout_ns);
        if let Some(log) = &runtime.log {
            txn.log_to(log);
        }
        txn.suspend();
        Box::new(Slot {
            turn: None,
            txn: ManuallyDrop::new(txn),
            plan: Plan::default(),
            read: None,
            ended: 0,
            tables,
            runtime,
            allocations: Some(kept),
            _owned: owned,
        })
    }
}

/// A slot of shared-everything.
struct Slot<P: Protocol + 'static, F: Concurrent + 'static> {
    turn: Option<Turn<'static>>,
    txn: ManuallyDrop<Txn<'static, SharedEverything<'static, P, F>>>,
    /// Nothing is planned.
    plan: Plan,
    /// What it reads for checkpoints with.
    read: Option<Box<ReadRows>>,
    ended: u64,
    tables: &'static [Table],
    runtime: &'static Runtime,
    /// What the transaction borrows, and nobody else: from a box. `None`: the slot has ended.
    allocations: Option<NonNull<AllocationCache>>,
    /// What the others borrow from.
    _owned: Owned<P, F>,
}

/// Calls `end`, also after a panic; or only then, if it is forgotten otherwise.
struct Finally<'s, S, F: Fn(&mut S)> {
    slot: &'s mut S,
    end: F,
}

impl<S, F: Fn(&mut S)> Drop for Finally<'_, S, F> {
    fn drop(&mut self) {
        (self.end)(self.slot);
    }
}

/// A part of all that a slot borrows from.
type Owned<P, F> = (Arc<SharedState<P, F>>, Arc<Vec<Table>>, Arc<Runtime>);

// SAFETY: a slot is used by one thread at a time; what it shares with others is `Sync`, and its protocol's state for the slot goes
// with it.
unsafe impl<P: Protocol, F: Concurrent> Send for Slot<P, F> where P::Common<F>: Send + Sync {}

impl<P: Protocol, F: Concurrent> Slot<P, F> {
    /// The transaction has ended: rests.
    fn rest(&mut self) {
        self.ended += 1;
        if self.ended.is_multiple_of(cpu::transactions_between_looks()) {
            self.txn.reclaim();
        }
        self.txn.suspend();
        if self.txn.redo().is_some_and(Redo::is_behind) {
            let mut spin = cpu::Spin::new();
            while self.txn.redo().is_some_and(Redo::is_behind) {
                spin.rest();
            }
        }
    }

    /// Prepares the transaction; a panic undoes it.
    fn prepare(&mut self) -> Result<Prepared, Abort> {
        let preparing = Finally {
            slot: self,
            end: |slot: &mut Self| {
                slot.txn.abort();
                slot.rest();
            },
        };
        let prepared = preparing.slot.txn.prepare();
        mem::forget(preparing);
        prepared
    }

    /// Commits the transaction, which is prepared; a panic stops the log.
    fn install(&mut self, prepared: Prepared) {
        let installing = Finally {
            slot: self,
            end: |slot: &mut Self| {
                if let Some(log) = &slot.runtime.log {
                    let why = "a transaction has panicked while it committed".to_owned();
                    log.fail(&LogError::Refused { why });
                }
                slot.txn.break_off();
                slot.rest();
            },
        };
        installing.slot.txn.decide(prepared, Decision::Commit);
        mem::forget(installing);
    }

    /// Waits while another transaction goes before all others.
    fn give_way(&mut self) {
        if self.turn.is_none()
            && let Some(precedence) = &self.runtime.precedence
            && precedence.is_claimed()
        {
            precedence.defer(&mut self.txn.architecture);
        }
    }

    /// Ends the transaction that runs, if any, and drops what borrows; answers what it had borrowed, the first time.
    fn close(&mut self) -> Option<Box<AllocationCache>> {
        let allocations = self.allocations.take()?;
        self.turn = None;
        // SAFETY: dropped here and nowhere else, once: the allocations were there.
        unsafe { ManuallyDrop::drop(&mut self.txn) };
        // SAFETY: it came from a box, and the transaction that borrowed it is gone.
        Some(unsafe { Box::from_raw(allocations.as_ptr()) })
    }
}

impl<P: Protocol + 'static, F: Concurrent + 'static> Slot<P, F>
where
    P::Common<F>: Send + Sync,
{
    /// Tries a transaction of the slot's own until it is not aborted.
    fn until_done(
        &mut self,
        mut once: impl FnMut(&mut Txn<'static, SharedEverything<'static, P, F>>, Attempt) -> Result<(), Abort>,
    ) {
        let mut attempts = 0;
        loop {
            let attempt = if attempts == 0 { Attempt::First } else { Attempt::Retry };
            self.give_way();
            self.txn.resume();
            let ended = once(&mut self.txn, attempt);
            self.rest();
            match ended {
                Ok(()) => break,
                Err(_) => attempts += 1,
            }
            self.retry(attempts);
        }
        self.turn = None;
    }
}

impl<P: Protocol + 'static, F: Concurrent + 'static> Lent for Slot<P, F>
where
    P::Common<F>: Send + Sync,
{
    fn begin(&mut self, attempt: Attempt) {
        self.give_way();
        self.txn.resume();
        // One that asks ahead waits here.
        let beginning = Finally {
            slot: self,
            end: |slot: &mut Self| {
                slot.txn.abort();
                slot.rest();
            },
        };
        beginning.slot.txn.begin(attempt, &beginning.slot.plan);
        mem::forget(beginning);
    }

    fn has_snapshots(&self) -> bool {
        self.txn.has_snapshots()
    }

    fn begin_snapshot(&mut self) {
        assert!(self.has_snapshots(), "a store without snapshots");
        self.txn.resume();
        self.txn.begin_snapshot();
        self.txn.suspend();
    }

    fn read_snapshot(&mut self, read: &mut dyn FnMut(&mut dyn Transaction)) {
        self.txn.resume();
        // Also after a panic.
        let reading = Finally { slot: self, end: |slot: &mut Self| slot.txn.suspend() };
        read(&mut *reading.slot.txn);
    }

    fn end_snapshot(&mut self) -> SnapshotRead {
        self.txn.end_snapshot()
    }

    fn transaction(&mut self) -> &mut dyn Transaction {
        &mut *self.txn
    }

    fn commit(&mut self) -> Result<Committed, Abort> {
        let ended = self.prepare().map(|prepared| {
            self.install(prepared);
            Committed { id: self.txn.commit_id(), epoch: self.txn.redo().map(Redo::epoch) }
        });
        if ended.is_ok() {
            self.turn = None;
        }
        self.rest();
        ended
    }

    fn roll_back(&mut self) -> Result<(), Abort> {
        let seen = self.prepare().map(|prepared| self.txn.decide(prepared, Decision::Abort));
        self.rest();
        seen
    }

    fn abort(&mut self) {
        if self.txn.has_begun_snapshot() {
            self.txn.end_snapshot();
            return;
        }
        self.txn.abort();
        self.rest();
    }

    fn retry(&mut self, attempts: u32) {
        self.txn.architecture.back_off(attempts);
        if self.turn.is_none()
            && let Some(precedence) = &self.runtime.precedence
            && precedence.is_due(attempts)
        {
            self.turn = Some(precedence.turn(&mut self.txn.architecture));
        }
    }

    fn give_up(&mut self) {
        self.turn = None;
    }

    fn most_records(&self) -> usize {
        P::MOST_RECORDS
    }

    fn tables(&self) -> &[Table] {
        self.tables
    }

    fn walk(&mut self) -> bool {
        let Some(log) = &self.runtime.log else { return false };
        let Some(mut part) = log.checkpoints().take_part() else { return false };
        let mut read = self.read.take().unwrap_or_else(|| Box::new(ReadRows::none()));
        read.begin(&mut part);
        let has_keys = read.find(&mut part, |part, keys| {
            self.until_done(|txn, attempt| {
                txn.begin_reconnaissance(attempt);
                let told = txn.walk(part.table, part.partition, &mut part.position, keys);
                txn.end_reconnaissance();
                told
            });
        });
        if has_keys {
            self.until_done(|txn, attempt| {
                txn.begin(attempt, &Plan::default());
                match read.run(txn) {
                    Ok(_) => txn.commit(),
                    Err(abort) => {
                        txn.abort();
                        Err(abort)
                    }
                }
            });
        }
        read.end(&mut part);
        log.checkpoints().give_back(part);
        self.read = Some(read);
        true
    }

    fn reclaim(&mut self) {
        self.txn.resume();
        self.txn.reclaim();
        self.txn.suspend();
    }

    fn end(mut self: Box<Self>) -> Box<AllocationCache> {
        self.close().expect("a slot ends once")
    }
}

impl<P: Protocol, F: Concurrent> Drop for Slot<P, F> {
    fn drop(&mut self) {
        self.close();
    }
}
