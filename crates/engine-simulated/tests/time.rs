//! Where the time goes, by a simulated clock.

use contract::{
    Abort, Access, ArchitectureName, Arrangement, Client, Engine, EngineOptions, Indexing, Key, Measurement,
    Outcome, PairName, PartitionFunction, Plan, Presence, Procedure, ProtocolName, RowLength, Seat,
    Selection, Span, Support, TableDescription, TableId, TimeClass, Transaction, Until, Workload,
};
use engine_simulated::ThisEngine;
use machine::simulated::{Description, Simulation};
use std::time::Duration;

const T: TableId = TableId(0);

/// Touches every row there is, one a partition.
#[derive(Clone, Copy)]
struct Touch {
    rows: u64,
    update: bool,
}

impl Procedure for Touch {
    fn run<X: Transaction + ?Sized>(&self, txn: &mut X) -> Result<Outcome, Abort> {
        for key in (0..self.rows).map(Key) {
            let touched = match self.update {
                true => txn.update(T, key, Span::whole(8), &mut |bytes| bytes[0] ^= 1)?,
                false => txn.read(T, key, Span::whole(8), &mut |_| ())?,
            };
            assert_eq!(touched, Presence::Present);
        }
        Ok(Outcome::Commit)
    }

    fn plan<X: Transaction + ?Sized>(&self, _: &mut X, plan: &mut Plan) -> Result<(), Abort> {
        let access = if self.update { Access::Write } else { Access::Read };
        (0..self.rows).for_each(|key| plan.touch(T, Key(key), Span::whole(8), access));
        Ok(())
    }
}

impl Client for Touch {
    type Procedure = Touch;

    fn next(&mut self) -> Touch {
        *self
    }
}

impl Workload for Touch {
    type Client = Touch;

    fn tables(&self) -> Vec<TableDescription> {
        vec![TableDescription {
            name: "rows",
            row_bytes: 8,
            length: RowLength::Fixed,
            kept_bytes: 8,
            rows: self.rows,
            capacity: self.rows,
            indexing: Indexing::Hashed,
            partition: PartitionFunction::Remainder,
        }]
    }

    fn fill(&self, _: TableId, _: Key, _: &mut [u8]) {}

    fn client(&self, _: Seat) -> Touch {
        *self
    }
}

/// What so many workers measure, every transaction with a stopwatch.
fn measured(pair: PairName, workers: usize, update: bool) -> Measurement {
    let file = include_str!("../../../machines/haswell-ex-4x18.toml");
    let machine = Description::parse(file).expect("a machine");
    let options = EngineOptions { sample_one_in: 1, ..EngineOptions::default() };
    let workload = Touch { rows: workers as u64, update };
    Simulation::of(&machine).run(|| {
        let Arrangement { layout, clients, .. } =
            ThisEngine::arrange(pair, workers, &options).expect("so many workers");
        let mut store = ThisEngine::load(&workload, layout, &|_| ()).expect("a small table");
        let clients = (0..clients).map(|worker| workload.client(Seat::new(worker, clients, 1))).collect();
        let until = Until::Transactions(100);
        let run = ThisEngine::run(&mut store, Selection::Pair(pair), clients, until, &options);
        run.expect("plans are right").measurement
    })
}

const PARTITIONED_SERIAL: PairName =
    PairName { architecture: ArchitectureName::PartitionedSerial, protocol: ProtocolName::Unprotected };

/// All want all partitions: each waits until the three others have had theirs, before it touches anything.
#[test]
fn waiting_for_partitions_is_waiting() {
    let share = measured(PARTITIONED_SERIAL, 4, true).time_share;
    assert!(share.share(TimeClass::Wait) > 0.5, "{share:?}");
}

const ORTHRUS: PairName =
    PairName { architecture: ArchitectureName::Orthrus, protocol: ProtocolName::Unprotected };

/// Half a millisecond, after another, of `workers` workers of which one does concurrency control. Each executing thread's transactions read what the
/// others' do.
fn orthrus(workers: usize, in_flight: usize) -> Measurement {
    let machine =
        Description::parse(include_str!("../../../machines/haswell-ex-4x18.toml")).expect("a machine");
    let duration = Duration::from_micros(500);
    let options = EngineOptions { sample_one_in: 1, in_flight: in_flight.into(), ..EngineOptions::default() };
    let workload = Touch { rows: 8, update: false };
    Simulation::of(&machine).run(|| {
        let Arrangement { layout, clients, .. } =
            ThisEngine::arrange(ORTHRUS, workers, &options).expect("two workers at least");
        let mut store = ThisEngine::load(&workload, layout, &|_| ()).expect("a small table");
        let clients = (0..clients).map(|worker| workload.client(Seat::new(worker, clients, 1))).collect();
        let until = Until::Interval { warmup: duration, duration };
        let run = ThisEngine::run(&mut store, Selection::Pair(ORTHRUS), clients, until, &options);
        run.expect("plans are right").measurement
    })
}

/// A thread that executes has one transaction in flight, which waits for its locks while nobody else runs; with many there, another one runs. A
/// transaction waits for much of its time, whoever runs meanwhile.
#[test]
fn a_thread_is_idle_while_none_of_its_transactions_can_go_on() {
    let idle = |in_flight| {
        let measured = orthrus(2, in_flight);
        let Measurement { effort, time_share, .. } = &measured;
        assert_eq!((effort.idle.samples, measured.commits_by_worker.len()), (1, 1));
        assert!(time_share.share(TimeClass::Wait) > 0.2, "{time_share:?}");
        assert!(
            time_share.share(TimeClass::Manager) > 0.1,
            "lock sets and messages are no waiting: {time_share:?}"
        );
        effort.idle.ns as f64 / measured.hosts_ns()
    };
    let [alone, with_others] = [1, 16].map(idle);
    assert!(alone > 0.05 && alone < 1.0 && with_others < alone / 2.0, "{alone} and {with_others}");
}

/// A thread for concurrency control that one executing thread asks for one transaction at a time has nothing to do most of the time; one that fifteen ask
/// without end always has, and is told to be busy all the time, though its servings are then long and few.
#[test]
fn a_concurrency_control_thread_is_busy_while_it_has_messages() {
    let busy = |workers, in_flight| {
        let measured = orthrus(workers, in_flight);
        measured.effort.serving_share(measured.serving_workers_ns())
    };
    let (idle, saturated) = (busy(2, 1), busy(16, 16));
    assert!(idle > 0.02 && idle < 0.6 && saturated > 0.95, "{idle} and {saturated}");
}

/// The mean time from a first lock to the release of all.
fn lock_hold(pair: PairName, workers: usize, update: bool) -> Option<f64> {
    measured(pair, workers, update).effort.lock_hold.mean_ns()
}

/// Who validates locks what it writes, when it commits, but OCC latches what it read, too; nothing is hot under MOCC. Who goes by timestamps keeps others from what it
/// writes, when it writes it or when it commits, as who claims does, and a read leaves a timestamp only, or nothing. All other protocols lock what they read, as partitions are latched.
#[test]
fn who_holds_no_lock_has_no_time_of_holding_it() {
    for &protocol in ProtocolName::ALL {
        for architecture in [ArchitectureName::SharedEverything, ArchitectureName::PartitionedSerial] {
            let pair = PairName { architecture, protocol };
            if ThisEngine::support(pair) != Support::Supported {
                continue;
            }
            let holds_nothing = [
                ProtocolName::Silo,
                ProtocolName::TicToc,
                ProtocolName::Mocc,
                ProtocolName::Timestamp,
                ProtocolName::Mvcc,
                ProtocolName::Hekaton,
                ProtocolName::Cicada,
            ]
            .contains(&protocol);
            assert_eq!(lock_hold(pair, 2, false).is_none(), holds_nothing, "{pair}: reads");
            assert!(lock_hold(pair, 2, true).is_some_and(|ns| ns > 0.0), "{pair}: updates");
        }
    }
}

/// Its partition is latched from the beginning to the end: by a transaction that is alone, as long as it works.
#[test]
fn a_latched_partition_is_held_for_the_whole_transaction() {
    for update in [false, true] {
        let Measurement { effort, time_share, .. } = measured(PARTITIONED_SERIAL, 1, update);
        let held = effort.lock_hold.mean_ns().expect("it was latched");
        let all = time_share.ns.iter().sum::<u64>() as f64 / time_share.samples as f64;
        assert!(held > all / 2.0 && held <= all, "{held} of {all}, update: {update}");
    }
}
