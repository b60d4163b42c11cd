//! Workers share no cache line but the data: a book of every line that goes through the facade.
//!
//! What does not go through it, a worker's counters, histogram and buffers, belongs to the worker by the compiler's
//! word, and lies on its stack or in memory that its own thread allocated.

use contract::{
    Abort, ArchitectureName, Arrangement, Client, Engine, EngineOptions, Indexing, Insertion, Instances, Key,
    Outcome, PairName, PartitionFunction, PartitionId, Plan, Procedure, ProtocolName, RowLength, Seat,
    Selection, Span, Support, TableDescription, TableId, Transaction, Until, Workload,
};
use engine_simulated::ThisEngine;
use machine::simulated::{Schedule, SharedLines, explore, shared_lines, watch_lines};

const WORKERS: usize = 3;
const ROWS_EACH: u64 = 32;
const T: TableId = TableId(0);

/// Every worker reads and updates its own rows, or all the same ones.
struct Rows {
    same: bool,
}

struct RowsClient {
    first: u64,
    drawn: u64,
}

struct Touch {
    first: u64,
    drawn: u64,
}

impl Procedure for Touch {
    fn run<X: Transaction + ?Sized>(&self, txn: &mut X) -> Result<Outcome, Abort> {
        for n in 0..6 {
            let key = Key(self.first + (self.drawn * 7 + n * 5) % ROWS_EACH);
            let _ = if n % 2 == 0 {
                txn.update(T, key, Span::whole(40), &mut |bytes| bytes[0] ^= 1)?
            } else {
                txn.read(T, key, Span::whole(40), &mut |_| ())?
            };
        }
        Ok(Outcome::Commit)
    }

    fn plan<X: Transaction + ?Sized>(&self, _: &mut X, plan: &mut Plan) -> Result<(), Abort> {
        (self.first..self.first + ROWS_EACH).for_each(|key| plan.declare(T, Key(key)));
        Ok(())
    }
}

impl Client for RowsClient {
    type Procedure = Touch;

    fn next(&mut self) -> Touch {
        self.drawn += 1;
        Touch { first: self.first, drawn: self.drawn }
    }
}

impl Workload for Rows {
    type Client = RowsClient;

    fn tables(&self) -> Vec<TableDescription> {
        let rows = WORKERS as u64 * ROWS_EACH;
        vec![TableDescription {
            name: "rows",
            row_bytes: 40,
            length: RowLength::Fixed,
            kept_bytes: 40,
            rows,
            capacity: rows,
            indexing: Indexing::Hashed,
            // A worker's own rows are its partition.
            partition: PartitionFunction::By(|key, partitions| {
                PartitionId((key.0 / ROWS_EACH % u64::from(partitions)) as u32)
            }),
        }]
    }

    fn fill(&self, _: TableId, _: Key, _: &mut [u8]) {}

    fn client(&self, seat: Seat) -> RowsClient {
        RowsClient { first: if self.same { 0 } else { seat.worker as u64 * ROWS_EACH }, drawn: 0 }
    }
}

fn shared(pair: PairName, same: bool) -> SharedLines {
    explore(Schedule::Random { seed: 7, switch_one_in: 5 }, || {
        let workload = Rows { same };
        let arrangement = ThisEngine::arrange(pair, WORKERS, &EngineOptions::default());
        let Arrangement { layout, clients, .. } = arrangement.expect("the defaults fit");
        let mut store = ThisEngine::load(&workload, layout, &|_| ()).expect("a small table");
        let seat = |worker| Seat::new(worker, clients, 1).over(layout.partitions);
        let clients = (0..clients).map(|worker| workload.client(seat(worker))).collect();
        let options = EngineOptions { back_off_first_ns: 200, ..EngineOptions::default() };
        watch_lines();
        let until = Until::Transactions(200);
        ThisEngine::run_checked(&mut store, Selection::Pair(pair), clients, until, &options)
            .expect("plans are right");
        shared_lines()
    })
}

/// All but ORTHRUS, whose workers share no rows here, because one of the two executes, and whose transactions each share messages.
fn supported() -> impl Iterator<Item = PairName> {
    let is_asked = |pair: &PairName| pair.architecture != ArchitectureName::Orthrus;
    PairName::all().filter(is_asked).filter(|&pair| ThisEngine::support(pair) == Support::Supported)
}

/// Lines that the architecture itself shares. Workers that others may need count those that have ended.
fn ended(architecture: ArchitectureName) -> usize {
    match architecture {
        ArchitectureName::SharedEverything | ArchitectureName::PartitionedSerial => 0,
        ArchitectureName::Delegation
        | ArchitectureName::AsymmetricDelegation
        | ArchitectureName::Dora
        | ArchitectureName::Orthrus => 1,
    }
}

/// VLL's transactions are in one queue: its latch, its ends, and a place for each slot, which its neighbours write.
fn queue(protocol: ProtocolName) -> usize {
    if protocol == ProtocolName::Vll { 2 + WORKERS } else { 0 }
}

/// Lines that the protocol shares, whatever its transactions access: CICADA's slots tell all others which timestamps they have drawn, a line each, and
/// find the horizon in one.
fn told(pair: PairName) -> usize {
    if pair.protocol == ProtocolName::Cicada { WORKERS + 1 } else { 0 }
}

/// Under HEKATON who finds a row claimed looks what the claimer's slot tells of its end.
fn ends(pair: PairName) -> usize {
    if pair.protocol == ProtocolName::Hekaton { WORKERS } else { 0 }
}

#[test]
fn workers_with_rows_of_their_own_share_nothing() {
    // Under asymmetric delegation nobody has rows of its own.
    for pair in supported().filter(|pair| pair.architecture != ArchitectureName::AsymmetricDelegation) {
        let elsewhere = ended(pair.architecture) + queue(pair.protocol) + told(pair);
        assert_eq!(shared(pair, false), SharedLines { in_regions: 0, elsewhere }, "{pair}");
    }
}

#[test]
fn workers_with_the_same_rows_share_the_rows() {
    for pair in supported() {
        let shared = shared(pair, true);
        println!("{pair}: {shared:?}");
        assert!(shared.in_regions >= ROWS_EACH as usize, "{pair}: {shared:?}");
        // A waiter is told so in its grant word, under DL_DETECT its row of the waits-for graph is read, and under DREADLOCKS its digest, too;
        // DORA has several transactions in flight a worker.
        let waiters = WORKERS * EngineOptions::default().in_flight.in_fibers();
        let waiting = match pair.protocol {
            ProtocolName::DlDetect => 2 * waiters,
            ProtocolName::Dreadlocks => 3 * waiters,
            ProtocolName::WaitDie | ProtocolName::DeadlockFree | ProtocolName::Vll => waiters,
            _ => 0,
        };
        // Who sends to a worker is a word of that worker's; a latch is a partition's.
        let allowed = ended(pair.architecture) * (1 + WORKERS)
            + waiting
            + queue(pair.protocol)
            + told(pair)
            + ends(pair)
            + usize::from(pair.protocol == ProtocolName::Unprotected);
        assert!(shared.elsewhere <= allowed, "{pair}: {shared:?}, allowed {allowed}");
    }
}

/// Keys of a worker's own, in the order of their insertion.
const KEYS_EACH: u64 = 1 << 20;

/// Every worker inserts rows of its own into tables of both kinds: more than what is taken of their memory at once.
struct Growing;

struct GrowingClient {
    next: u64,
}

struct Grow {
    first: u64,
}

impl Procedure for Grow {
    fn run<X: Transaction + ?Sized>(&self, txn: &mut X) -> Result<Outcome, Abort> {
        for key in (self.first..self.first + 8).map(Key) {
            for table in [TableId(0), TableId(1)] {
                assert_eq!(txn.insert(table, key, &[1; 40])?, Insertion::Inserted);
            }
        }
        Ok(Outcome::Commit)
    }

    fn plan<X: Transaction + ?Sized>(&self, _: &mut X, _: &mut Plan) -> Result<(), Abort> {
        Ok(())
    }
}

impl Client for GrowingClient {
    type Procedure = Grow;

    fn next(&mut self) -> Grow {
        self.next += 8;
        Grow { first: self.next - 8 }
    }
}

impl Workload for Growing {
    type Client = GrowingClient;

    fn tables(&self) -> Vec<TableDescription> {
        let table = |(name, indexing)| TableDescription {
            name,
            row_bytes: 40,
            length: RowLength::Fixed,
            kept_bytes: 40,
            rows: 0,
            capacity: 100,
            indexing,
            partition: PartitionFunction::By(|key, partitions| {
                PartitionId((key.0 / KEYS_EACH % u64::from(partitions)) as u32)
            }),
        };
        [("hashed", Indexing::Hashed), ("ordered", Indexing::Ordered)].map(table).into()
    }

    fn fill(&self, _: TableId, _: Key, _: &mut [u8]) {}

    fn client(&self, seat: Seat) -> GrowingClient {
        GrowingClient { next: seat.worker as u64 * KEYS_EACH }
    }
}

/// What workers that insert share, all of which the store has afterwards.
fn shared_by_inserts(protocol: ProtocolName, options: &EngineOptions) -> SharedLines {
    const TRANSACTIONS: u64 = 100;
    let pair = PairName { architecture: ArchitectureName::SharedEverything, protocol };
    explore(Schedule::Random { seed: 7, switch_one_in: 5 }, || {
        let arrangement = ThisEngine::arrange(pair, WORKERS, options);
        let Arrangement { layout, clients, .. } = arrangement.expect("it fits");
        let mut store = ThisEngine::load(&Growing, layout, &|_| ()).expect("small tables");
        let seat = |worker| Seat::new(worker, clients, 1).over(layout.partitions);
        let clients = (0..clients).map(|worker| Growing.client(seat(worker))).collect();
        watch_lines();
        let until = Until::Transactions(TRANSACTIONS);
        ThisEngine::run_checked(&mut store, Selection::Pair(pair), clients, until, options)
            .expect("there is memory");
        let shared = shared_lines();
        let leaks = ThisEngine::leak_check(&store);
        assert_eq!(leaks.linked_records, WORKERS as u64 * TRANSACTIONS * 2 * 8);
        assert_eq!(leaks.allocated_records, leaks.linked_records);
        shared
    })
}

/// Workers that have partitions of their own in tables of one memory take it from counters that they share. Instances have memory of their own: what they share is the streams
/// between them, of which each has a message on a line of its own, that the run is over, and a line for how far it was read; and how many workers have ended.
#[test]
fn instances_take_memory_without_sharing_a_line() {
    for protocol in [ProtocolName::NoWait, ProtocolName::Silo] {
        let together = EngineOptions { split_indexes: true, ..EngineOptions::default() };
        let together = shared_by_inserts(protocol, &together);
        assert!(together.elsewhere >= 3, "{protocol}: records, buckets and nodes are counted, {together:?}");
        let apart = EngineOptions { instances: Instances::PerCore, ..EngineOptions::default() };
        let streams = WORKERS * (WORKERS - 1);
        let expected = SharedLines { in_regions: 2 * streams, elsewhere: 1 };
        assert_eq!(shared_by_inserts(protocol, &apart), expected, "{protocol}");
    }
}
