//! MOCC locks what is hot before it reads it: what many want and write gets hot, and cools once one alone wants it; and nobody waits for
//! ever, in whatever order keys come.

use contract::{
    Abort, ArchitectureName, Arrangement, Client, Engine, EngineOptions, Indexing, Key, Measurement, Outcome,
    PairName, PartitionFunction, Plan, Procedure, ProtocolName, RowLength, Seat, Selection, Span, Support,
    TableDescription, TableId, Transaction, Until, Workload,
};
use engine_simulated::ThisEngine;
use machine::simulated::{Schedule, explore};

const WORKERS: usize = 4;
/// Rows that all want.
const COMMON: u64 = 4;
const T: TableId = TableId(0);

/// Transactions that read two rows and add to two, each worker's in an order of its own. The first so many of each worker are about the
/// common rows; of the rest, the first worker's.
struct Few {
    contended: u64,
}

struct FewClient {
    worker: u64,
    drawn: u64,
    contended: u64,
}

struct Touch {
    /// Where its four rows begin.
    base: u64,
    first: u64,
    step: u64,
}

impl Procedure for Touch {
    fn run<X: Transaction + ?Sized>(&self, txn: &mut X) -> Result<Outcome, Abort> {
        for n in 0..COMMON {
            let key = Key(self.base + (self.first + n * self.step) % COMMON);
            let _ = match n % 2 {
                0 => txn.read(T, key, Span::whole(8), &mut |_| ())?,
                _ => txn.update(T, key, Span::whole(8), &mut |row| row[0] = row[0].wrapping_add(1))?,
            };
        }
        Ok(Outcome::Commit)
    }

    fn plan<X: Transaction + ?Sized>(&self, _: &mut X, _: &mut Plan) -> Result<(), Abort> {
        Ok(())
    }
}

impl Client for FewClient {
    type Procedure = Touch;

    fn next(&mut self) -> Touch {
        self.drawn += 1;
        let is_common = self.worker == 0 || self.drawn <= self.contended;
        Touch {
            base: if is_common { 0 } else { self.worker * COMMON },
            first: self.drawn * 7 + self.worker,
            // Up, or down.
            step: if self.worker.is_multiple_of(2) { 1 } else { COMMON - 1 },
        }
    }
}

impl Workload for Few {
    type Client = FewClient;

    fn tables(&self) -> Vec<TableDescription> {
        let rows = COMMON * WORKERS as u64;
        vec![TableDescription {
            name: "rows",
            row_bytes: 8,
            length: RowLength::Fixed,
            kept_bytes: 8,
            rows,
            capacity: rows,
            indexing: Indexing::Hashed,
            partition: PartitionFunction::Remainder,
        }]
    }

    fn fill(&self, _: TableId, _: Key, _: &mut [u8]) {}

    fn client(&self, seat: Seat) -> FewClient {
        FewClient { worker: seat.worker as u64, drawn: 0, contended: self.contended }
    }
}

fn pairs() -> impl Iterator<Item = PairName> {
    let of_mocc = |&architecture| PairName { architecture, protocol: ProtocolName::Mocc };
    ArchitectureName::ALL
        .iter()
        .map(of_mocc)
        .filter(|&pair| ThisEngine::support(Selection::Pair(pair)) == Support::Supported)
}

/// What transactions of each client measure, of which the first `contended` want the same rows.
fn run(pair: PairName, seed: u64, contended: u64, transactions: u64) -> Measurement {
    let workload = Few { contended };
    let options = EngineOptions { seed, back_off_first_ns: 200, ..EngineOptions::default() };
    explore(Schedule::Random { seed, switch_one_in: 10 }, || {
        let arrangement = ThisEngine::arrange(pair, WORKERS, &options);
        let Arrangement { layout, clients, .. } = arrangement.expect("so many workers");
        let mut store = ThisEngine::load(&workload, layout, &|_| ()).expect("a small table");
        let clients = (0..clients).map(|worker| workload.client(Seat::new(worker, clients, 1))).collect();
        let until = Until::Transactions(transactions);
        let run = ThisEngine::run(&mut store, Selection::Pair(pair), clients, until, &options);
        run.expect("plans are right").measurement
    })
}

#[test]
fn what_all_want_is_locked_before_it_is_read_and_cools_when_they_do_not() {
    for (pair, seed) in pairs().flat_map(|pair| (0..3).map(move |seed| (pair, seed))) {
        let contended = run(pair, seed, 200, 200);
        let locks = contended.effort.hot_locks;
        println!(
            "{pair}: {locks} locks for {} commits, {} aborts",
            contended.commits,
            contended.all_aborts()
        );
        assert!(locks > contended.commits, "{pair}: {locks} locks for {} commits", contended.commits);
        let hot_for = |transactions| run(pair, seed, 200, transactions).effort.hot_locks;
        let (soon, late) = (hot_for(4_000), hot_for(8_000));
        println!("{pair}: {soon} locks, and {late} when one has gone on alone");
        assert!(late < soon + 400, "{pair}: {soon} locks, and {late} when one has gone on alone");
        let silo = PairName { protocol: ProtocolName::Silo, ..pair };
        assert_eq!(run(silo, seed, 200, 200).effort.hot_locks, 0, "{silo}");
    }
}
