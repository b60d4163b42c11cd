//! Workers share no cache line but the data: a book of every line that goes through the facade.
//!
//! What does not go through it, a worker's counters, histogram and buffers, belongs to the worker by the compiler's
//! word, and lies on its stack or in memory that its own thread allocated.

use contract::{
    Abort, Client, Engine, EngineOptions, Key, Outcome, PairName, Procedure, ProtocolName, Seat, Selection,
    Span, TableDescription, TableId, Transaction, Until, Workload,
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
            rows,
            capacity: rows,
            partition: TableDescription::partition_by_remainder,
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
        let layout =
            ThisEngine::arrange(pair.architecture, WORKERS, &EngineOptions::default()).expect("fits").layout;
        let mut store = ThisEngine::load(&workload, layout, &|_| ()).expect("a small table");
        let seat = |worker| Seat::new(worker, WORKERS, 1).over(layout.partitions);
        let clients = (0..WORKERS).map(|worker| workload.client(seat(worker))).collect();
        let options = EngineOptions { back_off_first_ns: 200, ..EngineOptions::default() };
        watch_lines();
        let until = Until::Transactions(200);
        ThisEngine::drive::<Rows>(&mut store, Selection::Pair(pair), clients, until, &options)
            .expect("plans are right");
        shared_lines()
    })
}

#[test]
fn workers_with_rows_of_their_own_share_nothing() {
    for pair in PairName::all() {
        assert_eq!(shared(pair, false), SharedLines::default(), "{pair}");
    }
}

#[test]
fn workers_with_the_same_rows_share_the_rows() {
    for pair in PairName::all() {
        let shared = shared(pair, true);
        println!("{pair}: {shared:?}");
        assert!(shared.in_regions >= ROWS_EACH as usize, "{pair}: {shared:?}");
        let allowed = match pair.protocol {
            // Whoever waits is told so in its grant word, and its row of the waits-for graph is read.
            ProtocolName::DlDetect => 2 * WORKERS,
            _ => 0,
        };
        assert!(shared.elsewhere <= allowed, "{pair}: {shared:?}");
    }
}
