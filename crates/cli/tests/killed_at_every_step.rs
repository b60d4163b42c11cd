//! Two-phase commit between nodes, cut off at any step: whoever dies, and whatever becomes of its connections, a transaction is there at all nodes or at none, what was acknowledged is
//! there, the survivors end, name the one that they have lost, and hold nothing. The table of `engine/src/deployment/mod.rs` names these tests.
//!
//! Every transaction of the first node adds its number, as a bit, to three rows, one at each node of three; clients of the others read the rows at their home meanwhile. So what is recovered is a set of numbers, the
//! same at all nodes, with all those of which the first node's client was told.

use contract::{
    Abort, ArchitectureName, Arrangement, Arrival, Client, Completion, Durability, Engine, EngineOptions,
    Indexing, Instances, Key, LogEnd, LogOptions, Lost, Outcome, PairName, PartitionFunction, Plan,
    Procedure, ProtocolName, RecoveryOptions, RowLength, RunError, Seat, Selection, TableDescription,
    TableId, Transaction, TransactionExt, Until, Workload,
};
use engine_simulated::ThisEngine;
use harness::crash::nodes::{Fared, Fate, Nodes, among, is_of};
use machine::simulated::disk::{Disk, Failing, Fault};
use machine::simulated::network::{Ending, Faults};
use machine::simulated::{Schedule, explore};
use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const NODES: usize = 3;
const TRANSFERS: u64 = 4;
/// All of them.
const ALL: u64 = 0b11110;
/// Of each reader.
const READS: u64 = 20;
const T: TableId = TableId(0);
const PROTOCOLS: [ProtocolName; 2] = [ProtocolName::NoWait, ProtocolName::Silo];
const ENDINGS: [Ending; 3] = [Ending::Closed, Ending::Reset, Ending::Silent];

/// One row at each node.
struct Numbers {
    told: Arc<Mutex<Told>>,
    /// Rows that a transaction writes.
    width: u64,
    reads: bool,
}

/// What clients know.
#[derive(Debug, Default)]
struct Told {
    /// Of the transactions that have committed: number and epoch.
    committed: Vec<(u64, u64)>,
    /// Those that are acknowledged.
    acknowledged: u64,
    /// How long the slowest reader has taken.
    slowest_read_ns: u64,
    /// What the last reader of all rows has seen.
    seen: [u64; NODES],
}

struct Numbering {
    told: Arc<Mutex<Told>>,
    width: u64,
    reads: bool,
    worker: u64,
    next: u64,
}

struct Number {
    number: u64,
    width: u64,
    kind: Kind,
    seen: Cell<[u64; NODES]>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    WritesAll,
    ReadsHome(u64),
    ReadsAll,
}

impl Procedure for Number {
    fn run<X: Transaction + ?Sized>(&self, txn: &mut X) -> Result<Outcome, Abort> {
        let mut seen = [0; NODES];
        match self.kind {
            Kind::WritesAll => {
                // The participants before the coordinator.
                for key in (0..self.width).rev() {
                    txn.update_row::<u64, _>(T, Key(key), |row| *row |= 1 << self.number)?;
                }
            }
            Kind::ReadsHome(key) => drop(txn.read_row::<u64, _>(T, Key(key), |row| *row)?),
            Kind::ReadsAll => {
                for (key, seen) in (0..).zip(&mut seen) {
                    *seen = txn.read_row::<u64, _>(T, Key(key), |row| *row)?.expect("a loaded row");
                }
            }
        }
        self.seen.set(seen);
        Ok(Outcome::Commit)
    }

    fn plan<X: Transaction + ?Sized>(&self, _: &mut X, _: &mut Plan) -> Result<(), Abort> {
        Ok(())
    }

    fn runs_in_fragments(&self, at: &mut dyn FnMut(TableId, Key)) -> bool {
        (0..self.width).for_each(|key| at(T, Key(key)));
        self.kind == Kind::WritesAll
    }

    fn encode(&self, into: &mut Vec<u8>) {
        into.extend_from_slice(&self.number.to_le_bytes());
    }
}

impl Client for Numbering {
    type Procedure = Number;

    fn arrival(&mut self) -> Arrival {
        let has_written = self.worker == 0 && !self.reads && self.next == TRANSFERS;
        if has_written { Arrival::Closed } else { Arrival::Ready }
    }

    fn next(&mut self) -> Number {
        self.next += 1;
        let kind = match (self.reads, self.worker) {
            (true, _) => Kind::ReadsAll,
            (false, 0) => Kind::WritesAll,
            (false, worker) => Kind::ReadsHome(worker),
        };
        Number { number: self.next, width: self.width, kind, seen: Cell::default() }
    }

    fn finished(&mut self, procedure: Number, completion: &Completion<'_>) {
        let mut told = self.told.lock().expect("nobody panics with it");
        match procedure.kind {
            Kind::WritesAll => {
                told.committed.push((procedure.number, completion.epoch.expect("it is logged")))
            }
            Kind::ReadsHome(_) => {
                let took = completion.ended_ns - completion.began_ns;
                told.slowest_read_ns = told.slowest_read_ns.max(took);
            }
            Kind::ReadsAll => told.seen = procedure.seen.get(),
        }
    }

    fn durable(&mut self, epoch: u64) {
        if self.worker == 0 {
            let mut told = self.told.lock().expect("nobody panics with it");
            let durable = told.committed.iter().filter(|(_, of)| *of <= epoch);
            told.acknowledged = durable.fold(0, |durable, (number, _)| durable | 1 << number);
        }
    }

    fn decode(&mut self, bytes: &[u8]) -> Option<Number> {
        let number = u64::from_le_bytes(bytes.try_into().ok()?);
        Some(Number { number, width: self.width, kind: Kind::WritesAll, seen: Cell::default() })
    }
}

impl Workload for Numbers {
    type Client = Numbering;

    fn tables(&self) -> Vec<TableDescription> {
        vec![TableDescription {
            name: "numbers",
            row_bytes: size_of::<u64>(),
            length: RowLength::Fixed,
            kept_bytes: size_of::<u64>(),
            rows: NODES as u64,
            capacity: NODES as u64,
            indexing: Indexing::Hashed,
            partition: PartitionFunction::Remainder,
        }]
    }

    fn fill(&self, _: TableId, _: Key, row: &mut [u8]) {
        row.fill(0);
    }

    fn client(&self, seat: Seat) -> Numbering {
        let told = Arc::clone(&self.told);
        Numbering { told, width: self.width, reads: self.reads, worker: seat.worker as u64, next: 0 }
    }
}

/// What is tried.
#[derive(Clone, Debug)]
struct Scene {
    protocol: ProtocolName,
    one_shot: bool,
    /// Rows that a transaction writes: at so many nodes, the first among them.
    width: u64,
    fate: Fate,
    disk_fault: Option<Fault>,
    seed: u64,
}

/// What came of it.
#[derive(Debug)]
struct Came {
    was_killed: bool,
    /// With who says so.
    lost: Vec<(usize, Lost)>,
    told: Told,
    /// Of the three disks that may be found: what was recovered.
    recovered: [u64; 3],
    suffers: bool,
}

impl Came {
    fn cause(&self) -> Option<Lost> {
        Lost::cause(self.lost.iter().map(|(node, lost)| (*node, lost)))
    }
}

type Engines = Nodes<ThisEngine>;

impl Scene {
    fn new(protocol: ProtocolName, seed: u64) -> Scene {
        let fate = Fate { seed, ..Fate::default() };
        Scene {
            protocol,
            one_shot: seed.is_multiple_of(2),
            width: NODES as u64,
            fate,
            disk_fault: None,
            seed,
        }
    }

    fn killing(self, node: usize, step: u64) -> Scene {
        let ending = ENDINGS[self.seed as usize / 2 % 3];
        Scene { fate: Fate { kill: Some((node, step, ending)), ..self.fate }, ..self }
    }

    fn play(&self) -> Came {
        let schedule = Schedule::Random { seed: self.seed, switch_one_in: 2 << (self.seed % 4) };
        explore(schedule, || among(NODES, || self.played()))
    }

    fn played(&self) -> Came {
        let selection = Selection::Pair(PairName {
            architecture: ArchitectureName::SharedEverything,
            protocol: self.protocol,
        });
        let options = EngineOptions {
            instances: Instances::of(NODES),
            in_flight: 2.into(),
            one_shot: self.one_shot,
            seed: self.seed,
            epoch_interval: Duration::from_nanos(5_000 + 3_000 * (self.seed % 7)),
            back_off_first_ns: 200,
            ..EngineOptions::default()
        };
        let Arrangement { layout, clients, .. } =
            Engines::arrange(selection, NODES, &options).expect("it fits");
        let clients_of = |numbers: &Numbers| -> Vec<Numbering> {
            let seat = |worker| Seat::new(worker, clients, self.seed).over(layout.partitions);
            (0..clients).map(|worker| numbers.client(seat(worker))).collect()
        };
        let numbers = Numbers { told: Arc::default(), width: self.width, reads: false };
        let disk = self.disk_fault.map_or_else(Disk::new, |fault| Disk::failing(vec![fault]));
        let folders = [PathBuf::from("log")];
        let level = [Durability::Group, Durability::Sync][(self.seed / 6 % 2) as usize];
        let log = LogOptions { folders: folders.to_vec(), ..LogOptions::new(level, "log") };
        let (ran, held) = disk.on(|| {
            let mut stores = Engines::load(&numbers, layout, &|_| ()).expect("three rows");
            Engines::open_log(&mut stores, &log).expect("an empty disk");
            let until = Until::Transactions(READS);
            let Fared { nodes, suffered } =
                Engines::fare(&mut stores, selection, clients_of(&numbers), until, &options, &self.fate);
            let held: Vec<u64> = stores.iter().map(|store| ThisEngine::leak_check(store).held).collect();
            // What who was killed was in the middle of is torn.
            for (store, _) in stores.into_iter().zip(&nodes).filter(|(_, ran)| ran.is_none()) {
                std::mem::forget(store);
            }
            ((nodes, suffered), held)
        });
        let (nodes, suffered) = ran;
        let mut lost = Vec::new();
        for (node, ran) in nodes.iter().enumerate() {
            match ran {
                None => continue,
                Some(Ok(_)) => {}
                Some(Err(RunError::Lost(told))) => lost.push((node, told.clone())),
                Some(Err(error)) => panic!("{self:?}: node {node}: {error}"),
            }
            assert_eq!(held[node], 0, "{self:?}: node {node} holds something");
        }
        let killed = self.fate.kill.map(|(node, ..)| node).filter(|node| nodes[*node].is_none());
        let mut random = fastrand::Rng::with_seed(self.seed);
        let end = disk.operations();
        let its = |folder: &Path| killed.is_some_and(|node| is_of(node, folder));
        let disks =
            [disk.after(end), disk.after_crash_of(end, &mut random, its), disk.after_crash(end, &mut random)];
        let mut told = std::mem::take(&mut *numbers.told.lock().expect("nobody panics with it"));
        let reading = Numbers { told: Arc::default(), width: self.width, reads: true };
        let recovered = disks.map(|disk| {
            let recovery = RecoveryOptions { threads: 1, ..RecoveryOptions::default() };
            let recovered = disk.on(|| Engines::recover(&numbers, layout, &folders, &recovery, &|_| ()));
            let (mut stores, recovered) = recovered.unwrap_or_else(|error| panic!("{self:?}: {error}"));
            let read = Engines::run_checked(
                &mut stores,
                selection,
                clients_of(&reading),
                Until::Transactions(1),
                &options,
            );
            read.unwrap_or_else(|error| panic!("{self:?}: {error}"));
            let seen = reading.told.lock().expect("nobody panics with it").seen;
            let (written, rest) = seen.split_at(self.width as usize);
            assert!(
                written.iter().all(|number| *number == written[0]) && rest.iter().all(|number| *number == 0),
                "{self:?}: {seen:?} was recovered of epoch {}, and {told:?}",
                recovered.epoch
            );
            assert!(told.acknowledged & !written[0] == 0, "{self:?}: {seen:?} was recovered, and {told:?}");
            written[0]
        });
        told.committed.sort_unstable();
        Came { was_killed: killed.is_some(), lost, told, recovered, suffers: suffered.is_visible() }
    }
}

/// Steps at which somebody is killed, a few apart, until the run ends before.
fn killed_at_every_step(node: usize, width: u64) -> Vec<Came> {
    let mut all = Vec::new();
    for protocol in PROTOCOLS {
        let (mut step, mut seed) = (1, 0);
        loop {
            let scene = Scene { width, ..Scene::new(protocol, seed) }.killing(node, step);
            let came = scene.play();
            if !came.was_killed {
                break;
            }
            if let Some(cause) = came.cause() {
                assert_eq!(cause.instance, node, "{scene:?}: {cause}");
            }
            assert!(!came.lost.is_empty() || came.recovered[0] == ALL, "{scene:?}: nobody has noticed");
            all.push(came);
            seed += 1;
            step += 1 + seed * 7 % 29;
        }
    }
    all
}

/// How many of them recovered something, and not all.
fn were_in_the_middle(all: &[Came]) -> usize {
    all.iter().filter(|came| ![0, ALL].contains(&came.recovered[0])).count()
}

#[test]
fn a_coordinator_that_dies_leaves_no_transaction_in_part() {
    let all = killed_at_every_step(0, 3);
    assert!(all.len() > 300 && were_in_the_middle(&all) > 20, "{} kills", all.len());
    let undecided =
        all.iter().filter(|came| came.told.committed.len() > came.recovered[0].count_ones() as usize).count();
    assert!(undecided > 20, "{undecided} runs in which something had committed that was left out");
}

#[test]
fn a_participant_that_dies_leaves_no_transaction_in_part() {
    let all = killed_at_every_step(1, 3);
    assert!(all.len() > 300 && were_in_the_middle(&all) > 20, "{} kills", all.len());
}

#[test]
fn a_bystander_that_dies_ends_the_run_of_the_others() {
    let all = killed_at_every_step(2, 2);
    assert!(all.len() > 300 && were_in_the_middle(&all) > 20, "{} kills", all.len());
}

/// Under SILO who reads a row that is locked waits; the lock of a branch whose coordinator has fallen silent is there until that is noticed.
#[test]
fn readers_of_what_a_lost_coordinator_had_locked_come_to_their_end() {
    let (mut waited, mut step) = (0, 1);
    for seed in 0..400 {
        let scene = Scene::new(ProtocolName::Silo, seed);
        let scene = Scene { fate: Fate { kill: Some((0, step, Ending::Silent)), ..scene.fate }, ..scene };
        let came = scene.play();
        if !came.was_killed {
            step = 1;
            continue;
        }
        waited += usize::from(came.told.slowest_read_ns > 250_000);
        step += 41;
    }
    assert!(waited > 3, "{waited} readers have waited for long");
}

/// Neither is the first node, and no transaction of one goes to the other.
#[test]
fn a_link_that_is_cut_between_two_that_are_not_the_first_is_noticed_by_both() {
    for protocol in PROTOCOLS {
        let mut noticed = 0;
        for seed in 0..40 {
            for both_ways in [true, false] {
                let mut scene = Scene::new(protocol, seed);
                scene.fate.cuts.push((1, 2, seed / 2));
                if both_ways {
                    scene.fate.cuts.push((2, 1, seed / 2));
                }
                let came = scene.play();
                if let Some(cause) = came.cause() {
                    noticed += 1;
                    assert!(cause.instance > 0, "{scene:?}: {cause}");
                    // Where no more was cut off than that nothing more comes, the others had ended, with all they had to do.
                    let had_ended = came.recovered == [ALL; 3];
                    assert!(came.lost.len() == NODES || had_ended, "{scene:?}: {:?}", came.lost);
                } else {
                    assert_eq!(came.recovered, [ALL; 3], "{scene:?}");
                }
            }
        }
        assert!(noticed > 20, "{protocol}: {noticed} noticed");
    }
}

#[test]
fn a_log_that_fails_at_one_node_ends_the_run_and_loses_nothing_that_was_acknowledged() {
    let mut failed = 0;
    for protocol in PROTOCOLS {
        for (seed, operation) in (30..90).enumerate() {
            let failing = [Failing::Device, Failing::NoSpace][seed % 2];
            let fault = Some(Fault { operation, failing });
            let scene = Scene { disk_fault: fault, ..Scene::new(protocol, seed as u64) };
            let came = scene.play();
            if let Some(cause) = came.cause() {
                assert!(cause.why.starts_with("could not "), "{scene:?}: {:?}", came.lost);
                failed += 1;
            }
        }
    }
    assert!(failed > 30, "{failed} logs have failed");
}

#[test]
fn what_channels_lose_double_or_swap_is_noticed_and_what_they_delay_is_waited_for() {
    for protocol in PROTOCOLS {
        let mut noticed = [0; 4];
        for seed in 0..120 {
            let mut scene = Scene::new(protocol, seed);
            let one_in = |kind| if seed % 4 == kind { 12 } else { 0 };
            scene.fate.faults = Faults {
                lose_one_in: one_in(0),
                delay_one_in: one_in(1),
                reorder_one_in: one_in(2),
                duplicate_one_in: one_in(3),
                delay_ns: 20_000,
            };
            let came = scene.play();
            let ended_well = came.lost.is_empty();
            noticed[seed as usize % 4] += usize::from(!ended_well);
            assert!(came.suffers || ended_well, "{scene:?}: {:?}", came.lost);
            if ended_well {
                assert_eq!(came.recovered, [ALL; 3], "{scene:?}");
            }
        }
        let [lost, _, reordered, doubled] = noticed;
        assert!(lost.min(reordered).min(doubled) > 5, "{protocol}: {noticed:?} noticed");
    }
}

/// A log that goes on after the common cut has nothing to replay of what lies between, and yet has all up to the cut: so it says when it is opened
/// again, or what the others have acknowledged meanwhile would be cut off the next time.
#[test]
fn a_log_that_goes_on_after_the_common_cut_has_all_up_to_it() {
    let protocol = ProtocolName::Silo;
    let selection = Selection::Pair(PairName { architecture: ArchitectureName::SharedEverything, protocol });
    let options = EngineOptions { epoch_interval: Duration::from_nanos(500), ..EngineOptions::default() };
    let numbers = Numbers { told: Arc::default(), width: 3, reads: false };
    let folders = [PathBuf::from("log")];
    let log = LogOptions { folders: folders.to_vec(), ..LogOptions::new(Durability::Group, "log") };
    let played = || {
        let Arrangement { layout, clients, .. } =
            ThisEngine::arrange(selection, 1, &options).expect("it fits");
        let seat = Seat::new(0, clients, 1).over(layout.partitions);
        let mut store = ThisEngine::load(&numbers, layout, &|_| ()).expect("three rows");
        ThisEngine::open_log(&mut store, &log).expect("an empty disk");
        let until = Until::Transactions(TRANSFERS);
        ThisEngine::run_checked(&mut store, selection, vec![numbers.client(seat)], until, &options)
            .unwrap_or_else(|error| panic!("{error}"));
        drop(store);
        let inspected = || ThisEngine::inspect_log(&folders).expect("a log");
        let end = LogEnd::of(&inspected()).durable;
        assert!(end > 2, "{end} epochs are too few");
        // The second cut is one that others have come to while this log had no more to say.
        let cuts = [end - 2, end - 1];
        for cut in cuts {
            let recovery = RecoveryOptions { threads: 1, up_to: Some(cut), ..RecoveryOptions::default() };
            let recovered = ThisEngine::recover(&numbers, layout, &folders, &recovery, &|_| ());
            let (mut store, recovered) = recovered.unwrap_or_else(|error| panic!("up to {cut}: {error}"));
            assert_eq!(recovered.epoch, cut);
            ThisEngine::open_log(&mut store, &log).expect("its own log");
        }
        assert_eq!(inspected().earlier, cuts);
    };
    explore(Schedule::RoundRobin, || Disk::new().on(played));
}
