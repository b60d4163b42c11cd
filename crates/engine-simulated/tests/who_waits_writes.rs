//! Threads that write the log through themselves, beside the services that do, under chosen interleavings: after a crash at any point
//! what any of them had found durable is there, and of each later epoch nothing; also if one of them panics while it writes, and another comes
//! after it.
//!
//! `trireme crash` judges runs of workers, who leave the log to its services; the threads of a database wait, and write it
//! ([`Services::write_through`]).

use contract::{
    ArchitectureName, Durability, DurabilityCanary, EngineOptions, Indexing, Insertion, Key, LogOptions,
    PairName, ProtocolName, RecoveryOptions, RowLength, TableId,
};
use engine_simulated::embedded::{Embedded, NewTable, OpenOptions, Services, Slot};
use fastrand::Rng;
use machine::simulated::disk::{Disk, Failing, Fault};
use machine::simulated::worker::{Service, run_each_with_services};
use machine::simulated::{Schedule, cpu, explore};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const WORKERS: usize = 3;
/// Of a worker.
const COMMITS: u64 = 8;
const TABLE: TableId = TableId(0);
const SEEDS: u64 = 180;
/// Crash points of a run, beside its end.
const POINTS: usize = 10;

/// Epochs in which a worker has committed: the first is that of its row's value 1.
type Committed = Vec<u64>;

fn options(seed: u64, level: Durability, canary: Option<DurabilityCanary>) -> OpenOptions {
    let log = LogOptions {
        segment_bytes: [300, 2_000, 1 << 20][(seed % 3) as usize],
        checkpoint_bytes: Some(if seed.is_multiple_of(4) { 200 } else { u64::MAX }),
        canary,
        ..LogOptions::new(level, Path::new("log"))
    };
    OpenOptions {
        pair: PairName { architecture: ArchitectureName::SharedEverything, protocol: ProtocolName::Silo },
        slots: WORKERS,
        log: Some(log),
        recovery: RecoveryOptions::default(),
        engine: EngineOptions { epoch_interval: Duration::from_micros(20), ..EngineOptions::default() },
    }
}

/// Sets its own row to 1, 2, 3, and so on; after each commit it has the log written, and acknowledges what is durable then.
fn work(slot: &mut Slot, key: u64, takes_checkpoints: bool, services: &Services, disk: &Disk) -> Committed {
    let mut committed = Vec::new();
    for number in 1..=COMMITS {
        let row = number.to_le_bytes();
        let mut attempts = 0;
        let epoch = loop {
            slot.begin(attempts == 0);
            let inserted = slot.transaction().insert(TABLE, Key(key), &row);
            let written = inserted.and_then(|inserted| match inserted {
                Insertion::Inserted => Ok(()),
                Insertion::Exists => slot.transaction().write(TABLE, Key(key), 0, &row).map(drop),
            });
            match written {
                Ok(()) => {
                    if let Ok(done) = slot.commit() {
                        break done.epoch.expect("it is logged");
                    }
                }
                Err(_) => slot.abort(),
            }
            attempts += 1;
            slot.retry(attempts);
        };
        committed.push(epoch);
        // Some are not waited for.
        if !(number + key).is_multiple_of(3) {
            let wrote = unless_it_panics(|| services.write_through(epoch));
            assert!(wrote || services.failure().is_some(), "it panicked, and the log goes on");
            // If it could not end the epoch, the services do.
            while services.durable_epoch() < epoch && services.failure().is_none() {
                cpu::pause();
            }
            disk.acknowledge(services.durable_epoch());
        }
        // In the middle of a run all let a checkpoint come to its end.
        let waits = takes_checkpoints && number == COMMITS / 2;
        let taken = || services.log_report().map_or(0, |report| report.checkpoints);
        while slot.walk() || waits && taken() == 0 && services.failure().is_none() {
            cpu::pause();
        }
    }
    committed
}

/// A round of a service; if it panics, the log stops, as a database's does.
fn round(number: usize, services: &Services, disk: &Disk) {
    let has_done = AtomicBool::new(false);
    let served = unless_it_panics(|| {
        services.serve(number, &|| has_done.load(Ordering::Relaxed), &|| {
            disk.acknowledge(services.durable_epoch());
            has_done.store(true, Ordering::Relaxed);
        });
    });
    if !served {
        services.stop("as a database does");
    }
}

/// Whether `f` came to its end.
fn unless_it_panics(f: impl FnOnce()) -> bool {
    match catch_unwind(AssertUnwindSafe(f)) {
        Ok(()) => true,
        Err(panic) if panic.is::<String>() => false,
        // The core was told to end.
        Err(panic) => resume_unwind(panic),
    }
}

/// Runs; what each worker has committed. The store is not closed: as if the process had ended.
fn run(disk: &Disk, options: &OpenOptions) -> Option<Vec<Committed>> {
    let (mut store, _) = Embedded::open(options).ok()?;
    let rows = NewTable {
        name: "rows",
        row_bytes: 8,
        length: RowLength::Fixed,
        indexing: Indexing::Ordered,
        capacity: 10,
        schema: "",
    };
    store.create_table(&rows).ok()?;
    let services = store.services();
    let slots: Vec<Slot> = (0..WORKERS).map(|number| store.lend(number)).collect();
    let serves = &services;
    let takes_checkpoints = options.log.as_ref().and_then(|log| log.checkpoint_bytes) < Some(u64::MAX);
    let rounds: Vec<_> = (0..serves.count()).map(|number| move || round(number, serves, disk)).collect();
    let period = Duration::from_nanos(1);
    let serving: Vec<Service<'_>> =
        rounds.iter().map(|work| Service { name: "service", period, bell: None, work }).collect();
    let ran = run_each_with_services(slots, &serving, |number, mut slot, _| {
        let committed = work(&mut slot, number as u64, takes_checkpoints, serves, disk);
        (slot, committed)
    });
    let (slots, committed): (Vec<Slot>, Vec<Committed>) = ran.into_iter().unzip();
    slots.into_iter().for_each(|slot| store.take_back(slot));
    Some(committed)
}

/// What is recovered from a disk, of which `told` was acknowledged, must be what had committed up to some epoch.
fn judge(disk: &Disk, options: &OpenOptions, committed: &[Committed], told: u64) -> Result<bool, String> {
    let opened = disk.on(|| explore(Schedule::RoundRobin, || Embedded::open(options)));
    let (mut store, recovered) = match opened {
        Ok(opened) => opened,
        Err(_) if told == 0 => return Ok(false),
        Err(error) => return Err(format!("epoch {told} was durable, and: {error}")),
    };
    let recovered = recovered.unwrap_or_default();
    // An epoch without commits is durable with the one before, and has no mark.
    let last = recovered.epoch.max(told);
    if store.tables().is_empty() {
        return Ok(false);
    }
    let mut slot = store.lend(0);
    slot.begin(true);
    for (key, committed) in (0..).zip(committed) {
        let expected = committed.iter().filter(|&&epoch| epoch <= last).count() as u64;
        let mut found = 0;
        let _ = slot
            .transaction()
            .read_whole(TABLE, Key(key), &mut |row| found = u64::from_le_bytes(row.try_into().expect("8")))
            .expect("alone");
        if found != expected {
            let epoch = recovered.epoch;
            return Err(format!(
                "epoch {told} was durable, {epoch} is there: row {key} is {found}, not {expected}"
            ));
        }
    }
    slot.commit().expect("alone");
    store.take_back(slot);
    Ok(recovered.checkpoint.is_some())
}

#[derive(Default)]
struct Counts {
    points: u64,
    with_acknowledged: u64,
    with_checkpoint: u64,
    failed: u64,
    panics: u64,
}

/// A run of a seed, and its crash points.
fn crash(seed: u64, canary: Option<DurabilityCanary>, counts: &mut Counts) -> Result<(), String> {
    let mut random = Rng::with_seed(seed);
    let level = if seed % 4 == 3 { Durability::Buffered } else { Durability::Sync };
    let options = options(seed, level, canary);
    let failings = [Failing::Device, Failing::NoSpace, Failing::Short, Failing::Panic];
    let failing = failings[random.usize(..failings.len())];
    let fault = (!seed.is_multiple_of(3)).then(|| Fault { operation: random.usize(12..60), failing });
    let disk = fault.map_or_else(Disk::new, |fault| Disk::failing(vec![fault]));
    let schedule = match seed % 2 {
        0 => Schedule::Random { seed, switch_one_in: 2 + random.u32(..20) },
        _ => Schedule::Pct { seed, depth: 4, steps: 20_000 },
    };
    let ran = disk.on(|| explore(schedule, || run(&disk, &options)));
    counts.panics += u64::from(fault.is_some_and(|fault| fault.failing == Failing::Panic));
    let Some(committed) = ran else {
        counts.failed += 1;
        return Ok(());
    };
    let all = disk.operations();
    let points: Vec<usize> = (0..POINTS).map(|_| random.usize(..=all)).chain([all]).collect();
    for point in points {
        let told = disk.acknowledged_before(point);
        let told = if committed.iter().flatten().any(|&epoch| epoch <= told) { told } else { 0 };
        // A process that ends loses nothing that was written; a machine does, and under `buffered` whatever it likes.
        let left = [
            (disk.after(point), told),
            (disk.after_crash(point, &mut random), if level.syncs() { told } else { 0 }),
        ];
        for (left, told) in left {
            let has_checkpoint = judge(&left, &options, &committed, told).map_err(|why| {
                format!("seed {seed}, {level}, operation {point}: {why}\n{}", disk.journal())
            })?;
            counts.points += 1;
            counts.with_acknowledged += u64::from(told > 0);
            counts.with_checkpoint += u64::from(has_checkpoint);
        }
    }
    Ok(())
}

#[test]
fn what_who_waits_has_found_durable_survives_under_every_schedule() {
    let mut counts = Counts::default();
    for seed in 0..SEEDS {
        crash(seed, None, &mut counts).unwrap_or_else(|find| panic!("{find}"));
    }
    let Counts { points, with_acknowledged, with_checkpoint, failed, panics } = counts;
    println!(
        "{points} crash points, {with_acknowledged} of them after something had been acknowledged, \
         {with_checkpoint} recovered from a checkpoint; {failed} disks failed before anything ran, {panics} panicked"
    );
    assert!(with_acknowledged > points / 3 && with_checkpoint > 100 && failed < 20 && panics > 20);
}

#[test]
fn what_is_published_before_it_is_synced_is_found() {
    let canary = Some(DurabilityCanary::PublishBeforeSync);
    let find = (0..SEEDS).find_map(|seed| crash(seed, canary, &mut Counts::default()).err());
    println!("{}", find.expect("it is lost").lines().next().expect("a line"));
}
