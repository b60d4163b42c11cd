//! VLL's selective contention analysis, explored: who is blocked, and conflicts with nobody ahead any more, runs while the front of the queue
//! goes on. Without it, it would wait for that.

use contract::{
    Abort, Access, ArchitectureName, Arrangement, Client, Completion, Engine, EngineOptions, Indexing, Key,
    Outcome, PairName, PartitionFunction, Plan, Procedure, ProtocolName, RowLength, Seat, Selection, Span,
    TableDescription, TableId, Transaction, TransactionExt, Until, Workload,
};
use engine_simulated::ThisEngine;
use machine::simulated::{Exploration, Schedule, cpu, explore};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const T: TableId = TableId(0);
const WORKERS: usize = 3;
const TRANSACTIONS: u64 = 3;
const PAIR: PairName =
    PairName { architecture: ArchitectureName::SharedEverything, protocol: ProtocolName::Vll };

/// How many transactions of the others have ended.
type Ended = Arc<AtomicU64>;

/// Adds to one record, as it has planned; the first worker's are in nobody's way.
struct Add {
    key: Key,
    /// Stays open until so many have ended.
    until: u64,
    ended: Ended,
}

impl Procedure for Add {
    fn run<X: Transaction + ?Sized>(&self, txn: &mut X) -> Result<Outcome, Abort> {
        txn.update_row::<u64, _>(T, self.key, |row| *row += 1)?.expect("the row is there");
        // Relaxed: a count.
        while self.ended.load(Ordering::Relaxed) < self.until {
            cpu::pause();
        }
        Ok(Outcome::Commit)
    }

    fn plan<X: Transaction + ?Sized>(&self, _: &mut X, plan: &mut Plan) -> Result<(), Abort> {
        plan.touch(T, self.key, Span::whole(size_of::<u64>()), Access::Write);
        Ok(())
    }
}

struct Worker {
    is_first: bool,
    ended: Ended,
}

impl Client for Worker {
    type Procedure = Add;

    fn next(&mut self) -> Add {
        let (key, until) = match self.is_first {
            true => (Key(0), (WORKERS as u64 - 1) * TRANSACTIONS),
            false => (Key(1), 0),
        };
        Add { key, until, ended: Arc::clone(&self.ended) }
    }

    fn finished(&mut self, _: Add, completion: &Completion<'_>) {
        assert_eq!(completion.attempts, 1, "it has told all");
        if !self.is_first {
            // Relaxed: a count.
            self.ended.fetch_add(1, Ordering::Relaxed);
        }
    }
}

struct Records(Ended);

impl Workload for Records {
    type Client = Worker;

    fn tables(&self) -> Vec<TableDescription> {
        vec![TableDescription {
            name: "records",
            row_bytes: size_of::<u64>(),
            length: RowLength::Fixed,
            kept_bytes: size_of::<u64>(),
            rows: 2,
            capacity: 2,
            indexing: Indexing::Hashed,
            partition: PartitionFunction::Remainder,
        }]
    }

    fn fill(&self, _: TableId, _: Key, row: &mut [u8]) {
        row.fill(0);
    }

    fn client(&self, seat: Seat) -> Worker {
        Worker { is_first: seat.worker == 0, ended: Arc::clone(&self.0) }
    }
}

/// The first worker stays in its transaction until the others have ended theirs, which are in each other's way.
fn play(selective_contention_analysis: bool, seed: u64) {
    let schedule = match seed % 4 {
        3 => Schedule::Pct { seed, depth: 4, steps: 1_000 },
        n => Schedule::Random { seed, switch_one_in: 3 << (2 * n) },
    };
    explore(Exploration { step_bound: 200_000, ..Exploration::of(schedule) }, || {
        let options = EngineOptions { seed, selective_contention_analysis, ..EngineOptions::default() };
        let Arrangement { layout, clients, .. } = ThisEngine::arrange(PAIR, WORKERS, &options).expect("fits");
        let records = Records(Ended::default());
        let mut store = ThisEngine::load(&records, layout, &|_| ()).expect("two records");
        let workers = (0..clients).map(|worker| records.client(Seat::new(worker, clients, seed))).collect();
        let until = Until::Transactions(TRANSACTIONS);
        ThisEngine::run_checked(&mut store, Selection::Pair(PAIR), workers, until, &options)
            .expect("it ends");
        assert_eq!(ThisEngine::leak_check(&store).held, 0);
    })
}

#[test]
fn who_conflicts_with_nobody_ahead_does_not_wait_for_the_front() {
    (0..400).for_each(|seed| play(true, seed));
}

#[test]
fn without_the_analysis_it_does() {
    let waits = |&seed: &u64| catch_unwind(AssertUnwindSafe(|| play(false, seed))).is_err();
    assert!((0..40).filter(waits).count() > 5, "hardly anybody was blocked");
}
