//! What asking for cache lines ahead brings, by a simulated clock: of planned keys, of keys that a procedure names while it runs, and of what a
//! scan comes to.

use contract::{
    Abort, Access, ArchitectureName, Arrangement, Client, Direction, Engine, EngineOptions, Indexing, Key,
    Outcome, PairName, PartitionFunction, Plan, PrefetchName, Presence, Procedure, ProtocolName, RowLength,
    Scan, Seat, Span, TableDescription, TableId, Transaction, Until, Workload,
};
use engine_simulated::ThisEngine;
use machine::simulated::{Description, Simulation};
use std::ops::Bound;
use std::time::Duration;

const T: TableId = TableId(0);
const KEYS: usize = 12;
const ROW_BYTES: usize = 64;

/// When the keys of a transaction are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Known {
    Planned,
    Named,
    Scanned,
}

/// Reads twelve rows, anywhere or one after the other.
#[derive(Clone, Copy)]
struct Look {
    keys: [Key; KEYS],
    known: Known,
}

impl Procedure for Look {
    fn run<X: Transaction + ?Sized>(&self, txn: &mut X) -> Result<Outcome, Abort> {
        if self.known == Known::Scanned {
            let first = self.keys[0].bytes();
            let scan = Scan {
                table: T,
                from: Bound::Included(&first),
                to: Bound::Unbounded,
                direction: Direction::Forward,
                limit: KEYS,
                span: Span::whole(ROW_BYTES),
                within: None,
            };
            txn.scan(&scan, &mut |_, _| ())?;
            return Ok(Outcome::Commit);
        }
        if self.known == Known::Named {
            txn.ahead(T, &self.keys);
        }
        for key in self.keys {
            assert_eq!(txn.read(T, key, Span::whole(ROW_BYTES), &mut |_| ())?, Presence::Present);
        }
        Ok(Outcome::Commit)
    }

    fn plan<X: Transaction + ?Sized>(&self, _: &mut X, plan: &mut Plan) -> Result<(), Abort> {
        if self.known == Known::Planned {
            self.keys.iter().for_each(|&key| plan.touch(T, key, Span::whole(ROW_BYTES), Access::Read));
        }
        Ok(())
    }
}

struct Looking {
    rows: u64,
    known: Known,
    rng: fastrand::Rng,
}

impl Client for Looking {
    type Procedure = Look;

    fn next(&mut self) -> Look {
        let most = self.rows - KEYS as u64;
        Look { keys: std::array::from_fn(|_| Key(self.rng.u64(..most))), known: self.known }
    }
}

/// More rows than the machine's caches have room for.
struct Rows {
    rows: u64,
    indexing: Indexing,
    known: Known,
}

impl Workload for Rows {
    type Client = Looking;

    fn tables(&self) -> Vec<TableDescription> {
        vec![TableDescription {
            name: "rows",
            row_bytes: ROW_BYTES,
            length: RowLength::Fixed,
            kept_bytes: ROW_BYTES,
            rows: self.rows,
            capacity: self.rows,
            indexing: self.indexing,
            partition: PartitionFunction::Remainder,
        }]
    }

    fn fill(&self, _: TableId, _: Key, _: &mut [u8]) {}

    fn client(&self, seat: Seat) -> Looking {
        Looking { rows: self.rows, known: self.known, rng: fastrand::Rng::with_seed(seat.seed) }
    }
}

/// Transactions of two workers in so much simulated time.
fn commits(protocol: ProtocolName, indexing: Indexing, known: Known, prefetch: PrefetchName) -> u64 {
    let file = include_str!("../../../machines/haswell-ex-4x18.toml");
    let machine = Description::parse(file).expect("a machine");
    let pair = PairName { architecture: ArchitectureName::SharedEverything, protocol };
    let options = EngineOptions { prefetch, sample_one_in: 0, ..EngineOptions::default() };
    let workload = Rows { rows: 400_000, indexing, known };
    Simulation::of(&machine).run(|| {
        let arrangement: Arrangement = ThisEngine::arrange(pair, 2, &options).expect("two workers");
        let mut store = ThisEngine::load(&workload, arrangement.layout, &|_| ()).expect("room");
        let clients = (0..2).map(|client| workload.client(arrangement.seat(client, 1))).collect();
        let until =
            Until::Interval { warmup: Duration::from_micros(20), duration: Duration::from_micros(200) };
        let outcome = ThisEngine::run(&mut store, pair.into(), clients, until, &options);
        outcome.expect("nothing goes wrong").measurement.commits
    })
}

/// How many times as many with one as with the other.
fn ratio(protocol: ProtocolName, indexing: Indexing, known: Known, [one, other]: [PrefetchName; 2]) -> f64 {
    let [one, other] = [one, other].map(|prefetch| commits(protocol, indexing, known, prefetch) as f64);
    one / other
}

#[test]
fn lines_of_planned_keys_come_together() {
    use PrefetchName::{Off, Planned};
    for indexing in [Indexing::Hashed, Indexing::Ordered] {
        for protocol in [ProtocolName::Silo, ProtocolName::NoWait] {
            let gain = ratio(protocol, indexing, Known::Planned, [Planned, Off]);
            println!("{protocol} {indexing:?} planned {gain:.2}");
            assert!(gain > 1.05, "{protocol}, {indexing:?}: {gain:.2}");
        }
    }
}

#[test]
fn lines_of_keys_that_are_named_come_together() {
    use PrefetchName::{On, Planned};
    for indexing in [Indexing::Hashed, Indexing::Ordered] {
        for protocol in [ProtocolName::Silo, ProtocolName::NoWait] {
            let gain = ratio(protocol, indexing, Known::Named, [On, Planned]);
            println!("{protocol} {indexing:?} named {gain:.2}");
            assert!(gain > 1.05, "{protocol}, {indexing:?}: {gain:.2}");
        }
    }
}

#[test]
fn rows_of_a_leaf_come_together() {
    use PrefetchName::{On, Planned};
    for protocol in [ProtocolName::Silo, ProtocolName::NoWait] {
        let gain = ratio(protocol, Indexing::Ordered, Known::Scanned, [On, Planned]);
        println!("{protocol} scanned {gain:.2}");
        assert!(gain > 1.2, "{protocol}: {gain:.2}");
    }
}
