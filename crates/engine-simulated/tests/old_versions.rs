//! What timestamp ordering and HEKATON leave behind and take away again, under chosen interleavings: tombstones of deletes, and old versions, those of CICADA among them,
//! with epochs so short that many pass in a run. The machine looks whether anybody touches what was freed.

#[path = "../../engine/tests/shared/mod.rs"]
mod shared;

use contract::{
    Abort, ArchitectureName, Arrangement, Client, Completion, Direction, Engine, EngineOptions, Indexing,
    Insertion, Key, LeakCheck, Outcome, PairName, PartitionFunction, Plan, Procedure, ProtocolName,
    RowLength, Scan, Seat, Selection, Span, TableDescription, TableId, Transaction, TransactionExt, Until,
    Workload,
};
use engine_simulated::ThisEngine;
use machine::simulated::{Exploration, Schedule, explore};
use shared::concurrent::bank_run;
use shared::queues::queues_run;
use shared::seeds::times;
use std::ops::Bound;
use std::time::Duration;

const WORKERS: usize = 3;
/// Of a worker, after which its slots have looked at least twice for what they may free.
const TRANSACTIONS: u64 = 160;

fn schedules(seed: u64) -> [Schedule; 3] {
    [
        Schedule::Random { seed, switch_one_in: 2 },
        Schedule::Random { seed, switch_one_in: 50 },
        Schedule::Pct { seed, depth: 3, steps: 40_000 },
    ]
}

fn options(seed: u64) -> EngineOptions {
    EngineOptions {
        seed,
        epoch_interval: Duration::from_nanos(500),
        back_off_first_ns: 200,
        in_flight: 2.into(),
        ..EngineOptions::default()
    }
}

/// The pairs with one of these protocols.
fn pairs_of(protocols: &[ProtocolName]) -> impl Iterator<Item = PairName> {
    shared::supported::<ThisEngine>().into_iter().filter(|pair| protocols.contains(&pair.protocol))
}

const LEAVES_TOMBSTONES: [ProtocolName; 4] =
    [ProtocolName::Timestamp, ProtocolName::Mvcc, ProtocolName::Hekaton, ProtocolName::Cicada];

const KEEPS_VERSIONS: [ProtocolName; 3] = [ProtocolName::Mvcc, ProtocolName::Hekaton, ProtocolName::Cicada];

#[test]
fn the_sums_stay_while_epochs_pass() {
    for pair in pairs_of(&LEAVES_TOMBSTONES) {
        for seed in 0..10 * times() {
            for schedule in schedules(seed) {
                let (pair, options) = (Selection::Pair(pair), options(seed));
                let run = || bank_run::<ThisEngine>(pair, WORKERS, seed, TRANSACTIONS, &options);
                explore(schedule, run).unwrap_or_else(|broken| panic!("{pair:?}, {schedule:?}: {broken}"));
            }
        }
    }
}

#[test]
fn the_queues_stay_while_epochs_pass() {
    for pair in pairs_of(&LEAVES_TOMBSTONES) {
        for indexing in shared::ORDERED {
            for seed in 0..4 * times() {
                for schedule in schedules(seed) {
                    let (pair, options) = (Selection::Pair(pair), options(seed));
                    let run =
                        || queues_run::<ThisEngine>(pair, indexing, WORKERS, seed, TRANSACTIONS, &options);
                    explore(schedule, run)
                        .unwrap_or_else(|broken| panic!("{pair:?}, {indexing:?}, {schedule:?}: {broken}"));
                }
            }
        }
    }
}

const T: TableId = TableId(0);
/// Keys of which the first half always exist, and the others come and go.
const KEYS: u64 = 8;

/// Rows that some workers look at and others change.
struct Watched;

#[derive(Default)]
struct Person {
    reads: bool,
    next: u64,
    /// The most attempts that a transaction took.
    most_attempts: u32,
    ended: u64,
}

/// Looks at all rows, by keys and by a scan; or changes two of them.
struct Visit {
    reads: bool,
    number: u64,
}

impl Visit {
    fn look<X: Transaction + ?Sized>(txn: &mut X) -> Result<(), Abort> {
        let mut found = [None; KEYS as usize];
        for (key, found) in (0..).zip(&mut found) {
            *found = txn.read_row::<u64, _>(T, Key(key), |row| *row)?;
        }
        let scan = Scan {
            table: T,
            from: Bound::Unbounded,
            to: Bound::Unbounded,
            direction: Direction::Forward,
            limit: usize::MAX,
            span: Span::whole(8),
            within: None,
        };
        let mut scanned = [None; KEYS as usize];
        txn.scan(&scan, &mut |key, row| {
            let key = u64::from_be_bytes(key.try_into().expect("eight bytes"));
            scanned[key as usize] = Some(u64::from_ne_bytes(row.try_into().expect("eight bytes")));
        })?;
        assert_eq!(found, scanned, "what is read and what is scanned are of one time");
        Ok(())
    }

    fn change<X: Transaction + ?Sized>(&self, txn: &mut X) -> Result<(), Abort> {
        let (stays, comes_and_goes) =
            (Key(self.number % (KEYS / 2)), Key(KEYS / 2 + self.number % (KEYS / 2)));
        let _ = txn.update_row::<u64, _>(T, stays, |row| *row += 1)?;
        if txn.insert_row(T, comes_and_goes, &self.number)? == Insertion::Exists {
            let _ = txn.delete(T, comes_and_goes)?;
        }
        Ok(())
    }
}

impl Procedure for Visit {
    fn reads_snapshot(&self) -> bool {
        self.reads
    }

    fn run<X: Transaction + ?Sized>(&self, txn: &mut X) -> Result<Outcome, Abort> {
        match self.reads {
            true => Self::look(txn)?,
            false => self.change(txn)?,
        }
        Ok(Outcome::Commit)
    }

    fn plan<X: Transaction + ?Sized>(&self, _: &mut X, plan: &mut Plan) -> Result<(), Abort> {
        (0..KEYS).for_each(|key| plan.declare(T, Key(key)));
        Ok(())
    }
}

impl Client for Person {
    type Procedure = Visit;

    fn next(&mut self) -> Visit {
        self.next += 1;
        Visit { reads: self.reads, number: self.next }
    }

    fn finished(&mut self, _: Visit, completion: &Completion<'_>) {
        self.most_attempts = self.most_attempts.max(completion.attempts);
        self.ended += 1;
    }
}

impl Workload for Watched {
    type Client = Person;

    fn tables(&self) -> Vec<TableDescription> {
        vec![TableDescription {
            name: "watched",
            row_bytes: 8,
            length: RowLength::Fixed,
            kept_bytes: 8,
            rows: KEYS,
            capacity: 2 * KEYS,
            indexing: Indexing::Ordered,
            partition: PartitionFunction::Remainder,
        }]
    }

    fn fill(&self, _: TableId, _: Key, _: &mut [u8]) {}

    fn client(&self, seat: Seat) -> Person {
        Person { reads: seat.worker == 0, next: seat.worker as u64 * 3, ..Person::default() }
    }
}

/// The most attempts that a reader's transaction and a writer's took, and what was left behind.
fn watch(pair: PairName, transactions: u64, options: &EngineOptions) -> ([u32; 2], LeakCheck) {
    let Arrangement { layout, clients, .. } = shared::arrange_with::<ThisEngine>(pair, WORKERS, options);
    let mut store = ThisEngine::load(&Watched, layout, &|_| ()).expect("a few rows");
    let seat = |worker| Seat::new(worker, clients, options.seed).over(layout.partitions);
    let clients = (0..clients).map(|worker| Watched.client(seat(worker))).collect();
    let until = Until::Transactions(transactions);
    let run = ThisEngine::run_checked(&mut store, Selection::Pair(pair), clients, until, options);
    let clients = run.expect("it runs").clients;
    assert!(clients.iter().all(|client| client.ended == transactions), "everybody's");
    let most = |reads| {
        let those = clients.iter().filter(|client| client.reads == reads);
        those.map(|client| client.most_attempts).max().expect("somebody")
    };
    ([most(true), most(false)], ThisEngine::leak_check(&store))
}

/// Who only reads needs one attempt, whatever others do; who writes needs more, and so does, without versions, who reads.
#[test]
fn who_only_reads_never_aborts_over_versions() {
    let most_attempts = |protocol| {
        let mut most = [0; 2];
        for pair in pairs_of(&[protocol]) {
            for seed in 0..10 * times() {
                for schedule in schedules(seed) {
                    let run = || watch(pair, TRANSACTIONS, &options(seed)).0;
                    let [reader, writer] = explore(schedule, run);
                    most = [most[0].max(reader), most[1].max(writer)];
                }
            }
        }
        most
    };
    for protocol in [ProtocolName::Mvcc, ProtocolName::Hekaton] {
        let [reader, writer] = most_attempts(protocol);
        assert_eq!(reader, 1, "of a transaction that reads, under {protocol}");
        assert!(writer > 1, "of a transaction that writes, under {protocol}");
    }
    assert!(most_attempts(ProtocolName::Timestamp)[0] > 1, "without versions");
}

/// Who reads at the horizon needs one attempt, and who is validated needs more. Rows that go away and come again are found, or not, as they were.
#[test]
fn who_reads_the_past_never_aborts_under_cicada() {
    let most_attempts = |snapshots| {
        let mut most = [0; 2];
        for pair in pairs_of(&[ProtocolName::Cicada]) {
            if pair.architecture != ArchitectureName::SharedEverything {
                continue;
            }
            for seed in 0..20 * times() {
                for schedule in schedules(seed) {
                    let options = EngineOptions { snapshots, ..options(seed) };
                    let run = || watch(pair, TRANSACTIONS, &options).0;
                    let [reader, writer] = explore(schedule, run);
                    most = [most[0].max(reader), most[1].max(writer)];
                }
            }
        }
        most
    };
    let [reader, writer] = most_attempts(true);
    assert_eq!(reader, 1, "of a transaction that reads the past");
    assert!(writer > 1, "of a transaction that writes");
    assert!(most_attempts(false)[0] > 1, "of one that reads, and is validated");
}

/// However long a run is, a slot keeps what it has replaced since it last looked, and in the epochs that had not passed by then; or since
/// the horizon was found that it had found when it looked. Who waits to try again holds the horizon, while others in its worker go on: so
/// nobody waits for long here.
#[test]
fn versions_take_what_a_few_epochs_replace() {
    /// A word that says since when, one that says what was before, and the row.
    const VERSION_BYTES: u64 = 16 + 8;
    /// Of a transaction that writes.
    const VERSIONS: u64 = 2;
    /// Transactions of a slot between two looks, and those that it had ended in the last epochs when it looked: these epochs are short.
    const TRANSACTIONS_KEPT: u64 = 64 + 8;
    for pair in pairs_of(&KEEPS_VERSIONS) {
        let most = |transactions| {
            let schedule = Schedule::Random { seed: 1, switch_one_in: 4 };
            let exploration = Exploration { step_bound: 1_000_000_000, ..Exploration::of(schedule) };
            let options = EngineOptions { back_off_cap_ns: 2_000, ..options(1) };
            let leaks = explore(exploration, || watch(pair, transactions, &options).1);
            assert_eq!(leaks.version_bytes, 0, "{pair}: nobody runs");
            leaks.most_version_bytes / VERSION_BYTES
        };
        let (short, long) = (most(400), most(4_000));
        println!("{pair}: {short} versions at most, {long} in a run ten times as long");
        // The first worker's transactions only read.
        let writers = shared::arrange_with::<ThisEngine>(pair, WORKERS, &options(1)).clients as u64 - 1;
        let slots = if pair.architecture == ArchitectureName::Dora { 2 * writers } else { writers };
        // At most as long ago as its own look before.
        let looks = if pair.protocol == ProtocolName::Cicada { 2 } else { 1 };
        let bound = slots * looks * TRANSACTIONS_KEPT * VERSIONS;
        assert!(short > 0 && long <= bound, "{pair}: {short}, then {long}, of {bound}");
    }
}
