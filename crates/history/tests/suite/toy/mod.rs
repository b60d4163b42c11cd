//! A toy engine with optimistic concurrency control, strong or weak in ways that are named. Its workers are
//! threads that pass one baton around, in an order drawn from a seed: every run can be repeated.

mod transaction;

use contract::{
    ArchitectureName, Arrangement, Client, Clocks, Completion, Engine, EngineOptions, ErasedClient, Indexing,
    Layout, LeakCheck, LoadError, Measurement, Misfit, Outcome, PairName, Plan, Procedure, ProtocolName,
    RunError, RunOutcome, Selection, Support, TableId, Until, Workload,
};
use history::Setting;
use std::collections::{BTreeMap, VecDeque};
use std::marker::PhantomData;
use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::Duration;
use transaction::ToyTransaction;

/// What a committing transaction compares with the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Validation {
    /// Everything that it looked at.
    All,
    /// What it looked at and also wrote: first committer wins, as under snapshot isolation.
    OwnWrites,
    /// All but the keys that it found missing and left so.
    AllButMisses,
    /// All but the ranges that it scanned: the rows that these showed, not what came between.
    AllButRanges,
    /// Nothing.
    Nothing,
}

/// How a toy engine works.
pub trait Rules: Send + Sync + 'static {
    /// See [`Validation`].
    const VALIDATION: Validation = Validation::All;
    /// Whether the baton is passed on between the operations of a transaction.
    const INTERLEAVED: bool = true;
    /// Whether writes go in place at once, seen by all, and are undone by an abort.
    const IN_PLACE: bool = false;
    /// Whether some transactions work on what the store was a few commits before, as long as they only read.
    const STALE: bool = false;
    /// Whether what an abort should undo stays.
    const FORGETS_UNDO: bool = false;
    /// Whether some writes are dropped at commit.
    const DROPS_WRITES: bool = false;
    /// Whether a transaction may go on after an abort, and commit.
    const FORGETS_POISON: bool = false;
    /// Whether some scans show a row twice, and pass over the next.
    const STUMBLES: bool = false;
}

macro_rules! rules {
    ($($(#[$doc:meta])* $name:ident { $($constant:ident: $type:ty = $value:expr),* })+) => {
        $($(#[$doc])* pub struct $name; impl Rules for $name { $(const $constant: $type = $value;)* })+
    };
}

rules! {
    /// One transaction after the other.
    Serial { INTERLEAVED: bool = false }
    /// Interleaved, validated: strictly serializable.
    Optimistic {}
    /// Sees committed rows only, and validates nothing.
    ReadCommitted { VALIDATION: Validation = Validation::Nothing }
    /// Lets write skew through.
    FirstCommitterWins { VALIDATION: Validation = Validation::OwnWrites }
    /// Does not protect keys that were missing.
    UnprotectedMisses { VALIDATION: Validation = Validation::AllButMisses }
    /// Does not protect ranges that were scanned.
    UnprotectedRanges { VALIDATION: Validation = Validation::AllButRanges }
    /// Shows what is not committed.
    DirtyReads { VALIDATION: Validation = Validation::Nothing, IN_PLACE: bool = true }
    /// Serializable, but not in the order of time.
    StaleSnapshots { STALE: bool = true }
    /// Leaves behind what aborted transactions wrote.
    NoUndo { IN_PLACE: bool = true, FORGETS_UNDO: bool = true, INTERLEAVED: bool = false }
    /// Loses some writes.
    DroppedWrites { INTERLEAVED: bool = false, DROPS_WRITES: bool = true }
    /// Lets a transaction commit that was aborted.
    ForgetsPoison { FORGETS_POISON: bool = true }
    /// Shows rows twice.
    Stumbles { STUMBLES: bool = true }
}

/// The engine with these rules.
pub struct Toy<R>(PhantomData<R>);

/// A setting for a toy engine, which heeds the seed, the workers and the number of transactions.
pub fn setting(workers: usize, transactions: u64, seed: u64) -> Setting {
    let pair = PairName { architecture: ArchitectureName::ALL[0], protocol: ProtocolName::ALL[0] };
    Setting {
        selection: Selection::Pair(pair),
        workers,
        seed,
        until: Until::Transactions(transactions),
        options: EngineOptions { seed, ..EngineOptions::default() },
    }
}

/// A key, in bytes whether it is a number or not.
pub type Place = (TableId, Vec<u8>);
pub type Rows = BTreeMap<Place, Row>;

#[derive(Clone, Debug, Default)]
pub struct Row {
    /// `None` if the key has no row.
    bytes: Option<Vec<u8>>,
    /// Raised by every change.
    tid: u64,
}

#[derive(Default)]
pub struct Store {
    rows: Rows,
    /// By table, whether its keys are byte strings.
    strings: Vec<bool>,
}

pub struct World {
    rows: Rows,
    past: VecDeque<Rows>,
    last_tid: u64,
    clock_ns: u64,
    random: fastrand::Rng,
    /// Who holds the baton, and who still runs.
    turn: usize,
    running: Vec<usize>,
}

pub struct Shared {
    strings: Vec<bool>,
    world: Mutex<World>,
    turned: Condvar,
}

impl Shared {
    /// Waits for the baton.
    fn wait(&self, worker: usize) -> MutexGuard<'_, World> {
        let mut world = self.world.lock().expect("no worker panicked");
        while world.turn != worker {
            world = self.turned.wait(world).expect("no worker panicked");
        }
        world
    }

    /// Passes the baton to somebody, and waits to get it back.
    fn pass(&self, worker: usize) -> MutexGuard<'_, World> {
        let mut world = self.world.lock().expect("no worker panicked");
        assert_eq!(world.turn, worker, "only who has the baton passes it on");
        world.clock_ns += 1;
        let running = world.running.len();
        let next = world.random.usize(..running);
        world.turn = world.running[next];
        self.turned.notify_all();
        drop(world);
        self.wait(worker)
    }
}

/// Hands the baton on when its worker leaves, by panicking too.
struct Leaving<'a> {
    shared: &'a Shared,
    worker: usize,
}

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        if let Ok(mut world) = self.shared.world.lock() {
            world.running.retain(|running| *running != self.worker);
            world.turn = world.running.first().copied().unwrap_or(usize::MAX);
        }
        self.shared.turned.notify_all();
    }
}

impl<R: Rules> Engine for Toy<R> {
    type Store = Store;

    fn support(_: impl Into<Selection>) -> Support {
        Support::Supported
    }

    fn arrange(_: impl Into<Selection>, workers: usize, _: &EngineOptions) -> Result<Arrangement, Misfit> {
        Ok(Arrangement { layout: Layout::of(1), clients: workers, homes: 1 })
    }

    fn most_workers(_architecture: ArchitectureName) -> usize {
        64
    }

    fn load<W: Workload>(
        workload: &W,
        _layout: Layout,
        progress: &(dyn Fn(u64) + Sync),
    ) -> Result<Store, LoadError> {
        let mut store = Store::default();
        for (table, description) in (0..).map(TableId).zip(workload.tables()) {
            let has_strings = matches!(description.indexing, Indexing::OrderedBytes { .. });
            store.strings.push(has_strings);
            for row in 0..description.rows {
                let key = workload.loaded_key(table, row);
                let mut name = key.bytes().to_vec();
                if has_strings {
                    name.clear();
                    workload.loaded_bytes(table, key, &mut name);
                }
                let mut bytes = Vec::new();
                match description.varies() {
                    true => workload.fill_varying(table, key, &mut bytes),
                    false => {
                        bytes.resize(description.row_bytes, 0);
                        workload.fill(table, key, &mut bytes);
                    }
                }
                let loaded = store.rows.insert((table, name), Row { bytes: Some(bytes), tid: 0 });
                assert!(loaded.is_none(), "{key:?} was loaded twice");
            }
            progress(description.rows);
        }
        Ok(store)
    }

    fn run_erased(
        store: &mut Store,
        selection: Selection,
        clients: Vec<ErasedClient>,
        until: Until,
        options: &EngineOptions,
    ) -> Result<RunOutcome<ErasedClient>, RunError> {
        Self::run(store, selection, clients, until, options)
    }

    fn run<C: Client>(
        store: &mut Store,
        _selection: Selection,
        clients: Vec<C>,
        until: Until,
        options: &EngineOptions,
    ) -> Result<RunOutcome<C>, RunError> {
        let Until::Transactions(transactions) = until else { panic!("a toy engine counts transactions") };
        let shared = Shared {
            strings: store.strings.clone(),
            world: Mutex::new(World {
                rows: std::mem::take(&mut store.rows),
                past: VecDeque::new(),
                last_tid: 0,
                clock_ns: 1000,
                random: fastrand::Rng::with_seed(options.seed),
                turn: 0,
                running: (0..clients.len()).collect(),
            }),
            turned: Condvar::new(),
        };
        let clients = std::thread::scope(|threads| {
            let shared = &shared;
            let work = |(worker, mut client): (usize, C)| {
                threads.spawn(move || {
                    let leaving = Leaving { shared, worker };
                    drop(shared.wait(worker));
                    for _ in 0..transactions {
                        transact::<R, _>(shared, worker, &mut client);
                    }
                    drop(leaving);
                    client
                })
            };
            let workers: Vec<_> = clients.into_iter().enumerate().map(work).collect();
            workers.into_iter().map(|worker| worker.join().expect("no worker panicked")).collect()
        });
        store.rows = shared.world.into_inner().expect("no worker panicked").rows;
        let measurement = Measurement::nothing(Duration::ZERO, 0);
        Ok(RunOutcome { clients, measurement, log_failure: None, clocks: Clocks::default() })
    }

    fn leak_check(store: &Store) -> LeakCheck {
        let linked = store.rows.values().filter(|row| row.bytes.is_some()).count() as u64;
        LeakCheck {
            linked_records: linked,
            allocated_records: linked,
            linked_values: 0,
            allocated_values: 0,
            held: 0,
            memory_bytes: 0,
            ..LeakCheck::default()
        }
    }
}

/// One transaction, until it ends.
fn transact<R: Rules, C: Client>(shared: &Shared, worker: usize, client: &mut C) {
    let procedure = client.next();
    let began_ns = shared.pass(worker).clock_ns;
    let mut plan = Plan::default();
    for attempts in 1.. {
        let mut look = ToyTransaction::<R>::new(shared, worker, false);
        plan.clear();
        let planned = procedure.plan(&mut look, &mut plan);
        look.undo();
        if planned.is_err() {
            continue;
        }
        let mut txn = ToyTransaction::<R>::new(shared, worker, R::STALE && attempts == 1);
        let outcome = match procedure.run(&mut txn) {
            Ok(Outcome::Commit) if txn.commit() => Outcome::Commit,
            Ok(Outcome::Rollback) if !txn.poisoned => {
                txn.undo();
                Outcome::Rollback
            }
            _ => {
                txn.undo();
                continue;
            }
        };
        let ended_ns = shared.pass(worker).clock_ns;
        let completion = Completion {
            outcome,
            began_ns,
            ended_ns,
            attempts,
            id: None,
            epoch: None,
            snapshot: None,
            receipts: &txn,
        };
        client.finished(procedure, &completion);
        return;
    }
}
