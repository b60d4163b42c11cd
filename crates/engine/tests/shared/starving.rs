//! A transaction that others keep from committing: it writes a record when one of them holds it, and does not commit before
//! one of them has written it, too. Only if they let it go first does it end before they do.

use contract::{
    Abort, Arrangement, Client, Completion, Engine, EngineOptions, Indexing, Key, Outcome, PartitionFunction,
    Plan, Procedure, RowLength, Seat, Selection, TableDescription, TableId, Transaction, TransactionExt,
    Until, Workload,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

const T: TableId = TableId(0);
const HOT: Key = Key(0);
/// Transactions of those that are in the way.
const OTHERS: u64 = 300;

/// What the transactions know of each other, past the engine.
struct Acquainted {
    /// One of the others has written the record and not ended.
    is_held: AtomicBool,
    /// The one that starves has asked for it, and was aborted or not.
    was_asked_for: AtomicBool,
    /// Transactions of the others that have committed.
    committed: AtomicU64,
    /// Lets a little time pass.
    pause: fn(),
    /// Pauses for which one waits for the other at most.
    patience: u32,
}

impl Acquainted {
    fn wait_until(&self, has_come: impl Fn() -> bool) {
        let mut paused = 0;
        while !has_come() && paused < self.patience {
            paused += 1;
            (self.pause)();
        }
    }
}

struct Writing {
    starves: bool,
    all: Arc<Acquainted>,
}

impl Writing {
    fn write<X: Transaction + ?Sized>(&self, txn: &mut X) -> Result<(), Abort> {
        txn.update_row::<u64, _>(T, HOT, |row| *row += 1).map(drop)
    }
}

impl Procedure for Writing {
    fn run<X: Transaction + ?Sized>(&self, txn: &mut X) -> Result<Outcome, Abort> {
        let Acquainted { is_held, was_asked_for, committed, .. } = &*self.all;
        if self.starves {
            self.all.wait_until(|| is_held.load(Ordering::Relaxed));
            let before = committed.load(Ordering::Relaxed);
            let written = self.write(txn);
            was_asked_for.store(true, Ordering::Relaxed);
            written?;
            self.all.wait_until(|| committed.load(Ordering::Relaxed) > before);
        } else {
            was_asked_for.store(false, Ordering::Relaxed);
            self.write(txn)?;
            is_held.store(true, Ordering::Relaxed);
            self.all.wait_until(|| was_asked_for.load(Ordering::Relaxed));
            is_held.store(false, Ordering::Relaxed);
        }
        Ok(Outcome::Commit)
    }

    fn plan<X: Transaction + ?Sized>(&self, _: &mut X, plan: &mut Plan) -> Result<(), Abort> {
        plan.declare(T, HOT);
        Ok(())
    }
}

struct Writer {
    starves: bool,
    all: Arc<Acquainted>,
    /// Attempts of the first transaction, and how many of the others had committed by then.
    first: Option<Bound>,
}

/// How the transaction that starves came to its end.
#[derive(Clone, Copy, Debug)]
pub struct Bound {
    pub attempts: u32,
    /// The part of the others' transactions that had committed before.
    pub after: f64,
}

impl Client for Writer {
    type Procedure = Writing;

    fn next(&mut self) -> Writing {
        Writing { starves: self.starves && self.first.is_none(), all: self.all.clone() }
    }

    fn finished(&mut self, _: Writing, completion: &Completion<'_>) {
        if !self.starves {
            self.all.committed.fetch_add(1, Ordering::Relaxed);
        } else if self.first.is_none() {
            let after = self.all.committed.load(Ordering::Relaxed) as f64 / OTHERS as f64;
            self.first = Some(Bound { attempts: completion.attempts, after });
        }
    }
}

struct Hot(Arc<Acquainted>);

impl Workload for Hot {
    type Client = Writer;

    fn tables(&self) -> Vec<TableDescription> {
        vec![TableDescription {
            name: "hot",
            row_bytes: size_of::<u64>(),
            length: RowLength::Fixed,
            kept_bytes: size_of::<u64>(),
            rows: 4,
            capacity: 4,
            indexing: Indexing::Hashed,
            partition: PartitionFunction::Remainder,
        }]
    }

    fn fill(&self, _: TableId, _: Key, row: &mut [u8]) {
        row.fill(0);
    }

    fn client(&self, seat: Seat) -> Writer {
        Writer { starves: seat.worker + 1 == seat.workers, all: self.0.clone(), first: None }
    }
}

/// Lets one transaction starve among another worker's, if it does.
pub fn starve<E: Engine>(selection: Selection, options: &EngineOptions, pause: fn(), patience: u32) -> Bound {
    let all = Acquainted {
        is_held: AtomicBool::new(false),
        was_asked_for: AtomicBool::new(false),
        committed: AtomicU64::new(0),
        pause,
        patience,
    };
    let hot = Hot(Arc::new(all));
    // Under asymmetric-delegation one of three hosts no transactions.
    let workers =
        (2..4).find(|&workers| E::arrange(selection, workers, options).is_ok_and(|fits| fits.clients == 2));
    let Arrangement { layout, clients, .. } =
        E::arrange(selection, workers.expect("2 or 3"), options).expect("fits");
    let mut store = E::load(&hot, layout, &|_| ()).expect("a few records");
    let seat = |worker| Seat::new(worker, clients, 1).over(layout.partitions);
    let clients = (0..clients).map(|worker| hot.client(seat(worker))).collect();
    let run = E::run_checked(&mut store, selection, clients, Until::Transactions(OTHERS), options);
    assert_eq!(E::leak_check(&store).held, 0);
    run.expect("plans are right").clients[1].first.expect("it committed")
}
