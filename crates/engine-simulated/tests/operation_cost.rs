//! What an operation costs in the operations that cost a main-memory engine, counted by the simulated machine: atomic
//! read-modify-writes, and lines of records touched.
//!
//! One worker, nobody in the way. Two runs of different lengths are subtracted, so that setting up cancels out. The
//! figures are exact; a change that makes an operation dearer shows here before it shows on a clock.

use contract::{
    Abort, ArchitectureName, Client, Engine, EngineOptions, Indexing, Key, Outcome, PairName,
    PartitionFunction, Plan, Procedure, ProtocolName, RowLength, Seat, Selection, Span, Support,
    TableDescription, TableId, Transaction, Until, Workload,
};
use engine_simulated::ThisEngine;
use machine::simulated::{Accesses, Schedule, accesses, explore};

const ROWS: u64 = 64;
const OPERATIONS: u64 = 10;
const T: TableId = TableId(0);

/// Ten reads or ten updates of distinct rows of 40 bytes, each within the line of its header.
struct Uniform {
    update: bool,
}

struct UniformClient {
    update: bool,
    first: u64,
}

struct Touch {
    update: bool,
    first: u64,
}

impl Procedure for Touch {
    fn run<X: Transaction + ?Sized>(&self, txn: &mut X) -> Result<Outcome, Abort> {
        for n in 0..OPERATIONS {
            let key = Key((self.first + n) % ROWS);
            let _ = if self.update {
                txn.update(T, key, Span::whole(40), &mut |bytes| bytes[0] ^= 1)?
            } else {
                txn.read(T, key, Span::whole(40), &mut |_| ())?
            };
        }
        Ok(Outcome::Commit)
    }

    fn plan<X: Transaction + ?Sized>(&self, _: &mut X, plan: &mut Plan) -> Result<(), Abort> {
        plan.declare(T, Key(self.first));
        Ok(())
    }
}

impl Client for UniformClient {
    type Procedure = Touch;

    fn next(&mut self) -> Touch {
        self.first += 1;
        Touch { update: self.update, first: self.first }
    }
}

impl Workload for Uniform {
    type Client = UniformClient;

    fn tables(&self) -> Vec<TableDescription> {
        vec![TableDescription {
            name: "rows",
            row_bytes: 40,
            length: RowLength::Fixed,
            kept_bytes: 40,
            rows: ROWS,
            capacity: ROWS,
            indexing: Indexing::Hashed,
            partition: PartitionFunction::Remainder,
        }]
    }

    fn fill(&self, _: TableId, _: Key, _: &mut [u8]) {}

    fn client(&self, _: Seat) -> UniformClient {
        UniformClient { update: self.update, first: 0 }
    }
}

/// What `transactions` transactions ask of the machine, and all that comes with a run.
fn run(pair: PairName, update: bool, transactions: u64) -> Accesses {
    explore(Schedule::RoundRobin, || {
        let workload = Uniform { update };
        let mut store =
            ThisEngine::load(&workload, contract::Layout::of(1).for_protocol(pair.protocol), &|_| ())
                .expect("a small table");
        let client = workload.client(Seat::new(0, 1, 1));
        let options = EngineOptions { sample_one_in: 0, ..EngineOptions::default() };
        let before = accesses();
        let until = Until::Transactions(transactions);
        ThisEngine::run_checked(&mut store, Selection::Pair(pair), vec![client], until, &options)
            .expect("plans are right");
        accesses() - before
    })
}

/// Per operation: read-modify-writes, and lines of records.
fn cost(pair: PairName, update: bool) -> (f64, f64) {
    let more = run(pair, update, 1_064) - run(pair, update, 64);
    let per_operation = |n: u64| n as f64 / (1_000 * OPERATIONS) as f64;
    (per_operation(more.read_modify_writes), per_operation(more.payload_lines))
}

#[test]
fn operations_cost_what_the_protocols_say() {
    let supported = |pair: &PairName| ThisEngine::support(*pair) == Support::Supported;
    // Asymmetric delegation sends every operation to another worker, and ORTHRUS each transaction's locks: see what messages cost in
    // `messages.rs`.
    let in_place = |pair: &PairName| {
        ![ArchitectureName::AsymmetricDelegation, ArchitectureName::Orthrus].contains(&pair.architecture)
    };
    for pair in PairName::all().filter(supported).filter(in_place) {
        let (read, update) = (cost(pair, false), cost(pair, true));
        println!(
            "{pair}: a read takes {} read-modify-writes and touches a record's line {} times; an update {} and {}",
            read.0, read.1, update.0, update.1
        );
        // Metadata that one thread owns costs no read-modify-write.
        let owned = pair.architecture != ArchitectureName::SharedEverything;
        let shared = |read_modify_writes: f64| if owned { 0.0 } else { read_modify_writes };
        // Lines: what a read sees is one; an update saves or copies the row, changes it, and an optimistic one or a
        // certified one copies it back.
        let expected = match pair.protocol {
            // Acquire and release; an exclusive holder releases by a plain store.
            ProtocolName::NoWait => ((shared(2.0), 1.0), (shared(1.0), 2.0)),
            // An update sets the write flag and certifies.
            ProtocolName::TwoVersionNoWait => ((shared(2.0), 1.0), (shared(2.0), 2.0)),
            // A latch around each of acquire and release.
            ProtocolName::DlDetect
            | ProtocolName::Dreadlocks
            | ProtocolName::WaitDie
            | ProtocolName::DeadlockFree => ((shared(2.0), 1.0), (shared(2.0), 2.0)),
            // A latch around each late request, and one around all releases of a transaction: the plan names partitions only.
            ProtocolName::Vll => ((shared(1.1), 1.0), (shared(1.1), 2.0)),
            // Reads write nothing; an update locks once. TICTOC extends what expires, and nothing does without others; nor is anything
            // hot under MOCC.
            ProtocolName::Silo | ProtocolName::TicToc | ProtocolName::Mocc => {
                ((0.0, 1.0), (shared(1.0), 2.0))
            }
            // The same, and both latch what they touch at commit.
            ProtocolName::Occ => ((shared(1.0), 1.0), (shared(1.0), 2.0)),
            // A read leaves its timestamp; an update is pending, and is published by a plain store. Behind a wide header every other of
            // these rows begins in one line and ends in the next.
            ProtocolName::Timestamp => ((shared(1.0), 1.5), (shared(1.0), 2.0 * 1.5)),
            // The same, and an update copies the row that it overwrites, behind the head of a version.
            ProtocolName::Mvcc => ((shared(1.0), 1.5), (shared(1.0), 3.0 * 1.5 + 2.0)),
            // A read writes nothing. An update is claimed, and published by a plain store; a transaction of ten says once that it prepares.
            ProtocolName::Hekaton => ((0.0, 1.5), (shared(1.0) + 0.1, 3.0 * 1.5 + 2.0)),
            // All that is done at commit; and a round of the horizon, once in four transactions of an exploration, raises two words that all share.
            ProtocolName::Cicada => {
                let operations = (1_000 * OPERATIONS) as f64;
                let with_rounds =
                    |each: f64| (shared(each) * operations + 2.0 * (1_000 / 4) as f64) / operations;
                ((with_rounds(1.0), 1.5), (with_rounds(1.0), 3.0 * 1.5 + 2.0))
            }
            // One latch for all ten operations: a ticket is drawn by an addition, and the next one served by another.
            ProtocolName::KeyValue => unreachable!("it has no transactions of ten operations"),
            ProtocolName::Unprotected => ((0.2, 1.0), (0.2, 2.0)),
        };
        assert_eq!((read, update), expected, "{pair}");
    }
}
