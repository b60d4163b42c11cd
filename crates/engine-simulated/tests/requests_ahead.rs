//! Transactions that ask for what is known of them when they begin, explored. Under VLL, and under DEADLOCK_FREE with preclaiming, who has told all
//! by its plan is never aborted. Under VLL who has told nothing is denied each of its records once at most.

use contract::{
    Abort, Access, ArchitectureName, Arrangement, Client, Completion, Engine, EngineOptions, Indexing, Key,
    Outcome, PairName, PartitionFunction, Plan, Procedure, ProtocolName, RowLength, Seat, Selection, Span,
    TableDescription, TableId, Transaction, TransactionExt, Until, Workload,
};
use engine_simulated::ThisEngine;
use machine::simulated::{Exploration, Schedule, explore};

const T: TableId = TableId(0);
const RECORDS: u64 = 6;
const WORKERS: usize = 4;
const OPERATIONS: usize = 4;

/// Reads some records and writes some; a record that was read may be written later.
#[derive(Clone)]
struct Script {
    operations: [(u64, bool); OPERATIONS],
    /// How many operations its plan tells.
    planned: usize,
}

impl Procedure for Script {
    fn run<X: Transaction + ?Sized>(&self, txn: &mut X) -> Result<Outcome, Abort> {
        for (key, writes) in self.operations {
            let found = match writes {
                true => txn.update_row::<u64, _>(T, Key(key), |row| *row += 1)?,
                false => txn.read_row::<u64, _>(T, Key(key), |_| ())?,
            };
            assert!(found.is_some(), "row {key} is there");
        }
        Ok(Outcome::Commit)
    }

    fn plan<X: Transaction + ?Sized>(&self, _: &mut X, plan: &mut Plan) -> Result<(), Abort> {
        for (key, writes) in &self.operations[..self.planned] {
            let access = if *writes { Access::Write } else { Access::Read };
            plan.touch(T, Key(*key), Span::whole(size_of::<u64>()), access);
        }
        Ok(())
    }
}

struct Worker {
    random: fastrand::Rng,
    planned: usize,
    /// The most attempts of a transaction, and all of them beyond the first ones.
    most: u32,
    retries: u64,
}

impl Client for Worker {
    type Procedure = Script;

    fn next(&mut self) -> Script {
        let operations = std::array::from_fn(|_| (self.random.u64(0..RECORDS), self.random.bool()));
        Script { operations, planned: self.planned }
    }

    fn finished(&mut self, _: Script, completion: &Completion<'_>) {
        self.most = self.most.max(completion.attempts);
        self.retries += u64::from(completion.attempts - 1);
    }
}

struct Records {
    planned: usize,
}

impl Workload for Records {
    type Client = Worker;

    fn tables(&self) -> Vec<TableDescription> {
        vec![TableDescription {
            name: "records",
            row_bytes: size_of::<u64>(),
            length: RowLength::Fixed,
            kept_bytes: size_of::<u64>(),
            rows: RECORDS,
            capacity: RECORDS,
            indexing: Indexing::Hashed,
            partition: PartitionFunction::Remainder,
        }]
    }

    fn fill(&self, _: TableId, _: Key, row: &mut [u8]) {
        row.fill(0);
    }

    fn client(&self, seat: Seat) -> Worker {
        let random = fastrand::Rng::with_seed(seat.seed ^ seat.worker as u64);
        Worker { random, planned: self.planned, most: 0, retries: 0 }
    }
}

/// The most attempts that a transaction took, and how many of all were not its first, of transactions whose plans tell so many operations.
fn play(protocol: ProtocolName, planned: usize, options: EngineOptions, seed: u64) -> (u32, u64) {
    let pair = PairName { architecture: ArchitectureName::SharedEverything, protocol };
    let schedule = match seed % 4 {
        3 => Schedule::Pct { seed, depth: 4, steps: 2_000 },
        n => Schedule::Random { seed, switch_one_in: 3 << (2 * n) },
    };
    explore(Exploration { step_bound: 1_000_000, ..Exploration::of(schedule) }, || {
        let options = EngineOptions { seed, back_off_first_ns: 200, ..options };
        let Arrangement { layout, clients, .. } = ThisEngine::arrange(pair, WORKERS, &options).expect("fits");
        let records = Records { planned };
        let mut store = ThisEngine::load(&records, layout, &|_| ()).expect("a few records");
        let workers = (0..clients).map(|worker| records.client(Seat::new(worker, clients, seed))).collect();
        let until = Until::Transactions(5);
        let run = ThisEngine::run_checked(&mut store, Selection::Pair(pair), workers, until, &options);
        let run = run.expect("it ends");
        assert_eq!(ThisEngine::leak_check(&store).held, 0);
        let most = run.clients.iter().map(|worker| worker.most).max().expect("a worker");
        (most, run.clients.iter().map(|worker| worker.retries).sum())
    })
}

/// Every other four seeds with selective contention analysis.
fn vll(planned: usize, seed: u64) -> (u32, u64) {
    let selective_contention_analysis = seed % 8 >= 4;
    let options = EngineOptions { selective_contention_analysis, ..EngineOptions::default() };
    play(ProtocolName::Vll, planned, options, seed)
}

#[test]
fn who_has_told_all_is_never_aborted() {
    for seed in 0..1_000 {
        assert_eq!(vll(OPERATIONS, seed), (1, 0), "seed {seed}");
    }
}

#[test]
fn who_preclaims_all_is_never_aborted() {
    let play = |planned, preclaim, seed| {
        let options = EngineOptions { preclaim, ..EngineOptions::default() };
        play(ProtocolName::DeadlockFree, planned, options, seed)
    };
    let (mut unplanned, mut as_it_comes) = (0, 0);
    for seed in 0..1_000 {
        assert_eq!(play(OPERATIONS, true, seed), (1, 0), "seed {seed}");
        unplanned += play(2, true, seed).1;
        as_it_comes += play(OPERATIONS, false, seed).1;
    }
    assert!(unplanned > 300, "{unplanned} retries of those that have told the half");
    assert!(as_it_comes > 300, "{as_it_comes} retries of those that lock what they come to");
}

/// Each denial names a record, or that it is to be written, and that is asked for ahead from then on.
#[test]
fn who_was_denied_asks_ahead_and_is_denied_no_more() {
    for planned in [0, 2] {
        let mut retries = 0;
        for seed in 0..1_000 {
            let (most, more) = vll(planned, seed);
            assert!(most as usize <= 1 + OPERATIONS, "{most} attempts, seed {seed}");
            retries += more;
        }
        assert!(retries > 300, "{retries} retries: hardly any transaction met another one");
    }
}
