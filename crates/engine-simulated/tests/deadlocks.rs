//! Deadlocks under DL_DETECT and DREADLOCKS: none is overlooked, under thousands of schedules, and with
//! `TRIREME_SEEDS=5` under tens of thousands.
//!
//! A transaction that waits for ever is no wrong answer that a checker could find: the run just does not end, which the
//! exploration tells by its bound. So what runs here is made to wait for itself in as many ways as there are: transactions
//! of reads, upgrades and writes over a handful of records, queues with readers behind writers, and victims in the middle of
//! a queue. And with a timeout, under every protocol whose requests wait: who has waited for too long leaves the queue, whoever grants
//! it meanwhile.

#[path = "../../engine/tests/shared/seeds.rs"]
mod seeds;

use contract::{
    Abort, AbortReason, ArchitectureName, Arrangement, Client, Completion, Engine, EngineOptions, Indexing,
    Key, Outcome, PairName, PartitionFunction, Plan, PrefetchName, Procedure, ProtocolName, RowLength, Seat,
    Selection, Support, TableDescription, TableId, Transaction, TransactionExt, Until, Workload,
};
use engine_simulated::ThisEngine;
use machine::simulated::{Exploration, Schedule, cpu, explore};
use seeds::times;
use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

const T: TableId = TableId(0);
const RECORDS: u64 = 5;

/// How often a transaction asks at most whether the others have come.
const PATIENCE: u32 = 100;

/// One operation; to write a record that was read is to upgrade.
#[derive(Clone, Copy, Debug)]
enum Op {
    Read(u64),
    Write(u64),
    /// Waits until every worker's transaction has come as far, so that what follows happens at the same time.
    Meet,
}

use Op::{Meet, Read, Write};

/// A transaction of each worker.
type Scene = Vec<Vec<Op>>;

#[derive(Clone)]
struct Script {
    ops: Vec<Op>,
    /// Transactions that have yet to come to where all meet, and whether this one has.
    missing: Arc<AtomicUsize>,
    came: Cell<bool>,
}

impl Script {
    fn meet(&self) {
        if !self.came.replace(true) {
            self.missing.fetch_sub(1, Ordering::Relaxed);
        }
        let mut asked = 0;
        while self.missing.load(Ordering::Relaxed) > 0 && asked < PATIENCE {
            asked += 1;
            cpu::pause();
        }
    }
}

impl Procedure for Script {
    fn run<X: Transaction + ?Sized>(&self, txn: &mut X) -> Result<Outcome, Abort> {
        for &op in &self.ops {
            match op {
                Meet => self.meet(),
                Read(key) => drop(txn.read_row::<u64, _>(T, Key(key), |row| *row)?),
                Write(key) => drop(txn.update_row::<u64, _>(T, Key(key), |row| *row += 1)?),
            }
        }
        Ok(Outcome::Commit)
    }

    fn plan<X: Transaction + ?Sized>(&self, _: &mut X, plan: &mut Plan) -> Result<(), Abort> {
        for op in &self.ops {
            if let Read(key) | Write(key) = *op {
                plan.declare(T, Key(key));
            }
        }
        Ok(())
    }
}

/// A worker that runs its script time after time.
struct Worker {
    script: Script,
    deadlocks_met: u64,
}

impl Client for Worker {
    type Procedure = Script;

    fn next(&mut self) -> Script {
        self.script.clone()
    }

    fn finished(&mut self, _: Script, completion: &Completion<'_>) {
        self.deadlocks_met += u64::from(completion.attempts > 1);
    }
}

struct Records<'s> {
    scene: &'s Scene,
    missing: Arc<AtomicUsize>,
}

impl Workload for Records<'_> {
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
        let ops = self.scene[seat.worker].clone();
        Worker {
            script: Script { ops, missing: self.missing.clone(), came: Cell::new(false) },
            deadlocks_met: 0,
        }
    }
}

/// Lets each transaction of a scene be run `times` times by a worker of its own; how many were aborted on the way.
fn play(pair: PairName, scene: &Scene, times: u64, schedule: Schedule, seed: u64) -> u64 {
    play_with(pair, scene, times, schedule, &EngineOptions { seed, ..EngineOptions::default() }).0
}

/// The same under these options; how many were aborted, and how often because of the time that they had waited.
fn play_with(
    pair: PairName,
    scene: &Scene,
    times: u64,
    schedule: Schedule,
    options: &EngineOptions,
) -> (u64, u64) {
    // Far more than it takes, and soon over.
    let exploration = Exploration { step_bound: 1_000_000, ..Exploration::of(schedule) };
    let options = EngineOptions { prefetch: PrefetchName::Off, back_off_first_ns: 200, ..options.clone() };
    let seed = options.seed;
    let play = || {
        let Arrangement { layout, clients, .. } =
            ThisEngine::arrange(pair, scene.len(), &options).expect("fits");
        let records = Records { scene, missing: Arc::new(AtomicUsize::new(clients)) };
        let mut store = ThisEngine::load(&records, layout, &|_| ()).expect("a few records");
        let seat = |worker| Seat::new(worker, clients, seed).over(layout.partitions);
        let workers = (0..clients).map(|worker| records.client(seat(worker))).collect();
        let (selection, until) = (Selection::Pair(pair), Until::Transactions(times));
        let run = ThisEngine::run_checked(&mut store, selection, workers, until, &options).expect("ends");
        assert_eq!(ThisEngine::leak_check(&store).held, 0, "{pair}, {scene:?}");
        let deadlocks = run.clients.iter().map(|worker| worker.deadlocks_met).sum();
        (deadlocks, run.measurement.aborts[AbortReason::Timeout.index()])
    };
    explore(exploration, play)
}

/// A protocol, under every architecture that has it.
fn pairs_of(protocol: ProtocolName) -> impl Iterator<Item = PairName> {
    let is_supported = |&pair: &PairName| ThisEngine::support(pair) == Support::Supported;
    PairName::all().filter(move |pair| pair.protocol == protocol).filter(is_supported)
}

/// The protocols that find deadlocks, under every architecture that has them.
fn pairs() -> impl Iterator<Item = PairName> {
    pairs_of(ProtocolName::DlDetect).chain(pairs_of(ProtocolName::Dreadlocks))
}

fn schedule(seed: u64) -> Schedule {
    match seed % 4 {
        3 => Schedule::Pct { seed, depth: 4, steps: 2_000 },
        n => Schedule::Random { seed, switch_one_in: 3 << (2 * n) },
    }
}

/// A queue that loses its middle. The first three are a cycle; let the second and the third both find it. The second gives
/// way, so that the first goes on and turns its read lock on record 1 into a write lock; then the third leaves the queue of
/// that record, in which the fourth stands behind it and now waits for the first.
fn queue_that_loses_its_middle() -> Scene {
    vec![
        vec![Read(1), Meet, Write(2), Write(1), Write(4)],
        vec![Write(2), Meet, Write(3)],
        vec![Write(3), Meet, Write(1)],
        vec![Write(4), Meet, Read(1)],
    ]
}

/// As many transactions as there are workers, of operations over few records; records repeat, so that reads are upgraded.
fn drawn(seed: u64, workers: usize) -> Scene {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut op = || {
        let key = random.u64(0..RECORDS);
        if random.bool() { Read(key) } else { Write(key) }
    };
    (0..workers).map(|_| (0..4).map(|_| op()).collect()).collect()
}

/// Plays it under so many schedules; some of the transactions must have been aborted, or nobody waited for himself. Where one
/// thread owns the records there are fewer ways for steps to meet.
fn play_often(schedules: u64, times: u64, scene: impl Fn(u64) -> Scene) {
    for pair in pairs() {
        let schedules = match pair.architecture {
            ArchitectureName::SharedEverything => schedules,
            _ => schedules / 5,
        };
        let play = |seed| play(pair, &scene(seed), times, schedule(seed), seed);
        let deadlocks: u64 = (0..schedules).map(play).sum();
        assert!(deadlocks >= schedules / 10, "{pair}: {deadlocks} deadlocks in {schedules} schedules");
    }
}

/// Each has a record and wants the next one's: whoever comes last to its second record closes the ring.
fn ring(workers: u64) -> Scene {
    (0..workers).map(|worker| vec![Write(worker), Meet, Write((worker + 1) % workers)]).collect()
}

/// All members of a ring wait, and one at least is its victim. Those of DREADLOCKS that are not close to who closed it hear of it from
/// their neighbours only.
#[test]
fn rings_of_two_to_five_are_broken() {
    const SCHEDULES: u64 = 100;
    // A server is no member.
    for pair in pairs().filter(|pair| pair.architecture != ArchitectureName::AsymmetricDelegation) {
        for workers in 2..=RECORDS {
            let play = |seed| play(pair, &ring(workers), 1, schedule(seed), seed);
            let deadlocks: u64 = (0..SCHEDULES).map(play).sum();
            assert!(deadlocks >= SCHEDULES / 10, "{pair}, {workers} workers: {deadlocks} deadlocks");
        }
    }
}

#[test]
fn a_queue_that_loses_its_middle_goes_on() {
    play_often(4_000 * times(), 1, |_| queue_that_loses_its_middle());
}

/// Timeouts as short as a few steps and as long as a transaction: requests are taken back while they wait, and while they are being
/// granted.
#[test]
fn who_waits_for_too_long_gives_up() {
    let waits = |pair: &PairName| {
        ThisEngine::support(*pair) == Support::Supported
            && [
                ProtocolName::DlDetect,
                ProtocolName::Dreadlocks,
                ProtocolName::WaitDie,
                ProtocolName::DeadlockFree,
            ]
            .contains(&pair.protocol)
    };
    for pair in PairName::all().filter(waits) {
        let schedules = if pair.architecture == ArchitectureName::SharedEverything { 250 } else { 100 };
        let mut timeouts = 0;
        let schedules = schedules * times();
        for seed in 0..schedules {
            let deadlock_timeout_ns = Some([0, 20, 200, 2_000][seed as usize / 4 % 4]);
            let options = EngineOptions { seed, deadlock_timeout_ns, ..EngineOptions::default() };
            timeouts += play_with(pair, &drawn(seed, 5), 3, schedule(seed), &options).1;
        }
        assert!(timeouts >= schedules / 2, "{pair}: {timeouts} timeouts in {schedules} schedules");
    }
}

#[test]
fn whatever_waits_goes_on() {
    play_often(500 * times(), 3, |seed| drawn(seed, 5));
}

/// Who would have to wait out of order is aborted instead, and whoever waits gets on, though nobody looks for deadlocks.
#[test]
fn who_waits_in_order_only_goes_on() {
    for pair in pairs_of(ProtocolName::DeadlockFree) {
        let schedules = if pair.architecture == ArchitectureName::SharedEverything { 500 } else { 100 };
        let schedules = schedules * times();
        let aborted: u64 =
            (0..schedules).map(|seed| play(pair, &drawn(seed, 5), 3, schedule(seed), seed)).sum();
        assert!(aborted >= schedules / 10, "{pair}: {aborted} aborted in {schedules} schedules");
    }
}

/// Transactions that take their locks in the order of the keys wait for each other in no circle: none is aborted. Where
/// releases travel, those who wait for a slot's last transaction do not wait for its next one.
#[test]
fn who_locks_in_order_is_no_victim() {
    let in_order = |seed| {
        let mut scene = drawn(seed, 4);
        for ops in &mut scene {
            ops.sort_by_key(|op| match op {
                Read(key) | Write(key) => *key,
                Meet => unreachable!("none is drawn"),
            });
            // To upgrade is to lock out of order.
            ops.iter_mut().for_each(|op| {
                if let Read(key) = *op {
                    *op = Write(key);
                }
            });
        }
        scene
    };
    for pair in pairs().chain(pairs_of(ProtocolName::DeadlockFree)) {
        let play = |seed| play(pair, &in_order(seed), 10, schedule(seed), seed);
        let victims: u64 = (0..100).map(play).sum();
        assert_eq!(victims, 0, "{pair}");
    }
}
