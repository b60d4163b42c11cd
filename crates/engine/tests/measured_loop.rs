//! The measured loop allocates nothing.
//!
//! Every allocation of the process is counted. Two runs that differ only in their number of transactions must
//! allocate alike; the machinery of a run (threads, rings, histograms) cancels out.

use contract::{
    Abort, Access, ArchitectureName, Arrangement, Client, Direction, Engine, EngineOptions, InFlight,
    Indexing, Key, Outcome, PairName, PartitionFunction, PartitionId, Plan, Procedure, ProtocolName,
    RowLength, Scan, Seat, Selection, Span, Support, TableDescription, TableId, Transaction, Until, Workload,
};
use engine::ThisEngine;
use std::alloc::{GlobalAlloc, Layout, System};
use std::ops::Bound;
use std::sync::atomic::{AtomicU64, Ordering};

struct Counting;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

// SAFETY: everything is handed on to the system's allocator as it is.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller's contract is the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: the caller's contract is the same.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

const ROWS: u64 = 10_000;
const T: TableId = TableId(0);
const NUMBERS: TableId = TableId(1);
const STRINGS: TableId = TableId(2);

/// Sixteen reads, updates, blind writes and misses, some of them of hot rows; scans, and keys that are byte strings.
struct Mixed;

/// A key of fourteen bytes; those of even and of odd numbers may be in different partitions.
fn string(key: u64) -> [u8; 14] {
    let mut string = *b"\0row 01234567x";
    string[0] = key as u8 & 1;
    string[5..13].copy_from_slice(&Key(key).bytes());
    string
}

struct MixedClient(fastrand::Rng);

struct MixedTransaction([u64; 16]);

impl Procedure for MixedTransaction {
    fn run<X: Transaction + ?Sized>(&self, txn: &mut X) -> Result<Outcome, Abort> {
        for (n, &key) in self.0.iter().enumerate() {
            let _ = match n % 4 {
                0 => txn.read(T, Key(key), Span::whole(100), &mut |_| ())?,
                1 => txn.update(T, Key(key), Span::new(8, 16), &mut |bytes| bytes[0] ^= 1)?,
                2 => txn.write(T, Key(key), 20, &[7; 30])?,
                _ => txn.read(T, Key(key + ROWS), Span::new(0, 8), &mut |_| ())?,
            };
        }
        for &key in &self.0[2..4] {
            let (from, name) = (Key(key).bytes(), string(key));
            for (table, from) in [(NUMBERS, &from[..]), (STRINGS, &name)] {
                let scan = Scan {
                    table,
                    from: Bound::Included(from),
                    to: Bound::Unbounded,
                    direction: Direction::Forward,
                    limit: 20,
                    span: Span::new(0, 8),
                    within: None,
                };
                txn.scan(&scan, &mut |_, _| ())?;
            }
            let name = txn.key(STRINGS, &name);
            let _ = txn.read(STRINGS, name, Span::whole(8), &mut |_| ())?;
            let _ = txn.update(NUMBERS, Key(key + 1), Span::whole(8), &mut |bytes| bytes[0] ^= 1)?;
        }
        Ok(Outcome::Commit)
    }

    fn plan<X: Transaction + ?Sized>(&self, _: &mut X, plan: &mut Plan) -> Result<(), Abort> {
        for &key in &self.0 {
            plan.touch(T, Key(key), Span::whole(100), Access::Write);
            plan.declare(T, Key(key + ROWS));
            plan.touch(NUMBERS, Key(key), Span::whole(8), Access::Read);
        }
        // All partitions.
        plan.declare(T, Key(0));
        plan.declare(T, Key(1));
        Ok(())
    }
}

impl Client for MixedClient {
    type Procedure = MixedTransaction;

    fn next(&mut self) -> MixedTransaction {
        MixedTransaction(std::array::from_fn(|n| self.0.u64(0..if n < 2 { 20 } else { ROWS })))
    }
}

impl Workload for Mixed {
    type Client = MixedClient;

    fn tables(&self) -> Vec<TableDescription> {
        let rows = TableDescription {
            name: "rows",
            row_bytes: 100,
            length: RowLength::Fixed,
            kept_bytes: 100,
            rows: ROWS,
            capacity: ROWS,
            indexing: Indexing::Hashed,
            partition: PartitionFunction::Remainder,
        };
        let small = TableDescription { row_bytes: 8, kept_bytes: 8, ..rows.clone() };
        let numbers = TableDescription { name: "numbers", indexing: Indexing::Ordered, ..small.clone() };
        let strings = TableDescription {
            name: "strings",
            indexing: Indexing::OrderedBytes { most: 14 },
            partition: PartitionFunction::By(|key, partitions| {
                PartitionId((key.0 >> 56) as u32 % partitions)
            }),
            ..small
        };
        vec![rows, numbers, strings]
    }

    fn loaded_bytes(&self, _: TableId, key: Key, bytes: &mut Vec<u8>) {
        bytes.extend(string(key.0));
    }

    fn fill(&self, _: TableId, _: Key, _: &mut [u8]) {}

    fn client(&self, seat: Seat) -> MixedClient {
        MixedClient(fastrand::Rng::with_seed(seat.seed + seat.worker as u64))
    }
}

const ORTHRUS: PairName =
    PairName { architecture: ArchitectureName::Orthrus, protocol: ProtocolName::Unprotected };

fn supported() -> impl Iterator<Item = PairName> {
    PairName::all().filter(|pair| ThisEngine::support(*pair) == Support::Supported)
}

/// Every pair as it is by default, with two workers; and ORTHRUS with a lock table that two of four share, and split indexes for the others.
fn systems() -> impl Iterator<Item = (PairName, usize, EngineOptions)> {
    let sharing = EngineOptions {
        cc_threads: 2,
        shared_lock_table: true,
        split_indexes: true,
        ..EngineOptions::default()
    };
    [(ORTHRUS, 4, sharing)].into_iter().chain(supported().map(|pair| (pair, 2, EngineOptions::default())))
}

/// Under which a worker finds out how many it has in flight: one that locks, one that validates, one with versions. Finding out takes thousands of transactions.
const FINDING_OUT: [ProtocolName; 3] = [ProtocolName::NoWait, ProtocolName::Silo, ProtocolName::Mvcc];

/// Those of shared-everything with several transactions in flight.
fn interleaved() -> impl Iterator<Item = (PairName, usize, EngineOptions)> {
    let in_place = || supported().filter(|pair| pair.architecture == ArchitectureName::SharedEverything);
    let told = in_place().map(|pair| (pair, InFlight::Told(4)));
    let found = in_place().filter(|pair| FINDING_OUT.contains(&pair.protocol));
    told.chain(found.map(|pair| (pair, InFlight::Auto)))
        .map(|(pair, in_flight)| (pair, 2, EngineOptions { in_flight, ..EngineOptions::default() }))
}

/// Both, one after the other: allocations are counted of the whole process.
#[test]
fn allocates_nothing() {
    allocate_nothing(interleaved());
    allocate_nothing(systems());
}

fn allocate_nothing(systems: impl Iterator<Item = (PairName, usize, EngineOptions)>) {
    for (pair, workers, options) in systems {
        let Arrangement { layout, clients, .. } = ThisEngine::arrange(pair, workers, &options).expect("fits");
        let mut store = ThisEngine::load(&Mixed, layout, &|_| ()).expect("a small table");
        let mut allocations = |transactions| {
            let seat = |worker| Seat::new(worker, clients, 1).over(layout.partitions);
            let clients = (0..clients).map(|worker| Mixed.client(seat(worker))).collect();
            let until = Until::Transactions(transactions);
            let before = ALLOCATIONS.load(Ordering::Relaxed);
            ThisEngine::run(&mut store, Selection::Pair(pair), clients, until, &options)
                .expect("plans are right");
            ALLOCATIONS.load(Ordering::Relaxed) - before
        };
        // What a worker finds out it begins with one transaction in flight; by then it has had as many as it ever will, and each fiber has its caches.
        let first = if options.in_flight == InFlight::Auto { 2_500 } else { 100 };
        let all = first + 4_900;
        allocations(first);
        let (few, many) = (allocations(first), allocations(all));
        let found = format!(
            "{pair}, {workers} workers, {} in flight: {few} allocations for {first} transactions, {many} for {all}",
            options.in_flight
        );
        println!("{found}");
        // Lists grow to the longest queue that there was, which among more transactions is longer by chance, above all beside other work; one allocation in a hundred transactions would be fifty.
        assert!(many <= few + 32, "{found}");
    }
}
