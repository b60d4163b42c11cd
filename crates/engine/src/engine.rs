//! This compilation of the engine, as the harness sees it.

use crate::deployment;
use crate::durability::{self, Log};
use crate::facade::{clock, counters, memory, worker};
use crate::matrix;
use crate::message::channel::{Link, Part};
use crate::recovery;
use crate::session::Report;
use crate::storage::Store;
use crate::system::{CountLeaks, Reports, Run, binding};
use contract::{
    ArchitectureName, Arrangement, Client, Clocks, Engine, EngineOptions, ErasedClient, Header,
    InstanceEngine, Layout, LeakCheck, LoadError, LogError, LogInspection, LogManifest, LogOptions,
    LogReport, Measurement, Misfit, PairName, Recovered, RecoveryOptions, RunError, RunOutcome, Selection,
    Site, Support, TableDescription, Until, Workload, erased,
};
use std::ops::Range;
use std::path::PathBuf;
use std::time::Duration;

/// The engine, compiled for the hardware or for the simulated machine.
pub struct ThisEngine;

impl Engine for ThisEngine {
    type Store = Store;

    fn support(selection: impl Into<Selection>) -> Support {
        matrix::support(selection.into())
    }

    fn arrange(
        selection: impl Into<Selection>,
        workers: usize,
        options: &EngineOptions,
    ) -> Result<Arrangement, Misfit> {
        Self::arrange_on(&deployment::sites(), selection, workers, options)
    }

    fn most_workers(architecture: ArchitectureName) -> usize {
        matrix::most_workers(architecture)
    }

    fn why_no_counters() -> Option<String> {
        counters::refusal().map(|refusal| refusal.to_string())
    }

    fn load<W: Workload>(
        workload: &W,
        layout: Layout,
        progress: &(dyn Fn(u64) + Sync),
    ) -> Result<Store, LoadError> {
        Store::load(workload, layout, progress)
    }

    fn run<C: Client>(
        store: &mut Store,
        selection: Selection,
        clients: Vec<C>,
        until: Until,
        options: &EngineOptions,
    ) -> Result<RunOutcome<C>, RunError> {
        let layout = store.layout();
        if let Some(workers) = matrix::workers_of_an_instance(selection, layout, clients.len(), options) {
            return run_instances(workers, begin(store, selection, clients, until, options));
        }
        // Nobody measures a broken protocol.
        let Selection::Pair(pair) = selection else {
            return Self::run_checked(store, selection, clients, until, options);
        };
        match matrix::run_reading_in_thread(pair, begin(store, selection, clients, until, options)) {
            Ok((store, reports, slots)) => Ok(with_space(store, collect(reports, slots, until)?)),
            Err(Run { store, clients, .. }) => Self::run_checked(store, selection, clients, until, options),
        }
    }

    fn run_erased(
        store: &mut Store,
        selection: Selection,
        clients: Vec<ErasedClient>,
        until: Until,
        options: &EngineOptions,
    ) -> Result<RunOutcome<ErasedClient>, RunError> {
        let deployed = matrix::workers_of_an_instance(selection, store.layout(), clients.len(), options);
        let run = begin(store, selection, clients, until, options);
        match deployed {
            Some(workers) => run_instances_erased(workers, run),
            None => {
                let (store, reports, slots) = matrix::run(selection, run);
                Ok(with_space(store, collect(reports, slots, until)?))
            }
        }
    }

    fn leak_check(store: &Store) -> LeakCheck {
        let anybody = PairName {
            architecture: ArchitectureName::SharedEverything,
            protocol: contract::ProtocolName::NoWait,
        };
        // A store that nothing ran over is all zero, which is quiet under every protocol.
        matrix::run(store.last.unwrap_or(anybody.into()), CountLeaks(store))
    }

    fn admit_new_log(folders: &[PathBuf]) -> Result<(), LogError> {
        recovery::admit_new_log(folders)
    }

    fn open_log(store: &mut Store, options: &LogOptions) -> Result<(), LogError> {
        let log = recovery::open_log(store, options)?;
        store.log_to(log);
        Ok(())
    }

    fn log_report(store: &Store) -> Option<LogReport> {
        store.log().map(Log::report)
    }

    fn recover<W: Workload>(
        workload: &W,
        layout: Layout,
        folders: &[PathBuf],
        options: &RecoveryOptions,
        progress: &(dyn Fn(u64) + Sync),
    ) -> Result<(Store, Recovered), LogError> {
        let run = |store: &mut Store, selection, clients, options: &EngineOptions| {
            Self::run_erased(store, selection, clients, Until::Transactions(u64::MAX), options)
        };
        recovery::recover(workload, layout, folders, options, None, progress, &run)
    }

    fn log_manifest(folders: &[PathBuf]) -> Result<LogManifest, LogError> {
        recovery::told(folders)
    }

    fn inspect_log(folders: &[PathBuf]) -> Result<LogInspection, LogError> {
        durability::inspect(folders)
    }

    fn available_bytes() -> u64 {
        memory::available_bytes()
    }

    fn needed_bytes(tables: &[TableDescription], layout: Layout) -> u64 {
        Store::needed_bytes(tables, layout)
    }

    fn memory_bytes(store: &Store) -> u64 {
        store.memory_bytes()
    }
}

impl ThisEngine {
    /// As [`Engine::arrange`], on a machine whose workers have these sites, in their order: a simulated one is not there before it runs.
    pub fn arrange_on(
        sites: &[Site],
        selection: impl Into<Selection>,
        workers: usize,
        options: &EngineOptions,
    ) -> Result<Arrangement, Misfit> {
        matrix::arrange(selection.into(), workers, options, sites)
    }
}

impl InstanceEngine for ThisEngine {
    type Link = Link;

    fn load_part<W: Workload>(
        workload: &W,
        layout: Layout,
        partitions: Range<u32>,
        progress: &(dyn Fn(u64) + Sync),
    ) -> Result<Store, LoadError> {
        Store::load_part(workload, layout, partitions, progress)
    }

    fn recover_part<W: Workload>(
        workload: &W,
        layout: Layout,
        folders: &[PathBuf],
        options: &RecoveryOptions,
        partitions: Range<u32>,
        progress: &(dyn Fn(u64) + Sync),
    ) -> Result<(Store, Recovered), LogError> {
        let run = |store: &mut Store, selection, clients, options: &EngineOptions| {
            Self::run_erased(store, selection, clients, Until::Transactions(u64::MAX), options)
        };
        recovery::recover(workload, layout, folders, options, Some(partitions), progress, &run)
    }

    fn get_part_ready(store: &mut Store, selection: Selection, options: &EngineOptions) {
        let _bound = worker::bind(binding(options.bind));
        store.prepare_ahead(selection);
    }

    fn run_part<C: Client>(
        store: &mut Store,
        selection: Selection,
        clients: Vec<C>,
        until: Until,
        options: &EngineOptions,
        part: Part,
    ) -> Result<RunOutcome<C>, RunError> {
        let workers = clients.len();
        let run = Run { part: Some(part), ..begin(store, selection, clients, until, options) };
        run_instances(workers, run)
    }

    fn run_part_checked<C: Client>(
        store: &mut Store,
        selection: Selection,
        clients: Vec<C>,
        until: Until,
        options: &EngineOptions,
        part: Part,
    ) -> Result<RunOutcome<C>, RunError> {
        let workers = clients.len();
        erased(clients, |clients| {
            let run = Run { part: Some(part), ..begin(store, selection, clients, until, options) };
            run_instances_erased(workers, run)
        })
    }
}

/// Runs instances of so many workers, compiled for their clients if they have one.
fn run_instances<C: Client>(workers: usize, run: Run<'_, C>) -> Result<RunOutcome<C>, RunError> {
    let until = run.until;
    match matrix::run_deployed_alone(run.selection, workers, run) {
        Ok((store, reports, slots)) => Ok(of_instances(store, collect(reports, slots, until)?)),
        Err(Run { store, selection, clients, until, options, part }) => erased(clients, |clients| {
            run_instances_erased(workers, Run { store, selection, clients, until, options, part })
        }),
    }
}

fn run_instances_erased(
    workers: usize,
    run: Run<'_, ErasedClient>,
) -> Result<RunOutcome<ErasedClient>, RunError> {
    let until = run.until;
    let (store, reports, slots) = matrix::run_deployed(run.selection, workers, run);
    Ok(of_instances(store, collect(reports, slots, until)?))
}

/// Of a deployment, all of whose instances the store knows, those of other processes among them.
fn of_instances<C>(store: &Store, mut outcome: RunOutcome<C>) -> RunOutcome<C> {
    outcome.measurement.instances = store.layout().instances as usize;
    with_space(store, outcome)
}

fn begin<'a, C: Client>(
    store: &'a mut Store,
    selection: Selection,
    clients: Vec<C>,
    until: Until,
    options: &'a EngineOptions,
) -> Run<'a, C> {
    assert!(!clients.is_empty(), "a run has at least one worker");
    assert!(clients.len() <= matrix::most_workers(selection.architecture()), "{} workers", clients.len());
    let has_snapshots = store.layout().snapshot_every > 0;
    assert!(!has_snapshots || matrix::has_snapshots(selection), "a store with snapshots under {selection:?}");
    clock::calibrate();
    Run { store, clients, until, options, selection, part: None }
}

/// With the memory that records and their versions take.
fn with_space<C>(store: &Store, mut outcome: RunOutcome<C>) -> RunOutcome<C> {
    let keeps_versions = store.layout().snapshot_every > 0 || store.layout().header == Header::Versioned;
    outcome.measurement.version_bytes = keeps_versions.then(|| store.version_bytes().1);
    outcome.measurement.record_bytes = store.record_bytes();
    outcome
}

/// Adds the workers' reports up. They counted in one interval, so what they did in it adds up, too.
fn collect<C: Client>(
    Reports { hosts: mut reports, servers, log_failure, lost }: Reports<C>,
    slots: usize,
    until: Until,
) -> Result<RunOutcome<C>, RunError> {
    if let Some(error) = reports.iter_mut().find_map(|report| report.error.take()) {
        return Err(error);
    }
    if let Some(lost) = lost {
        return Err(RunError::Lost(lost));
    }
    let elapsed_ns = reports.iter().map(|report| report.elapsed_ns).max().unwrap_or(0);
    let mut measurement = Measurement::nothing(Duration::from_nanos(elapsed_ns), slots);
    let mut clients = Vec::with_capacity(reports.len());
    for Report { client, counts, .. } in reports {
        measurement.commits += counts.commits;
        measurement.user_rollbacks += counts.user_rollbacks;
        measurement.retried += counts.retried;
        for (sum, aborts) in measurement.aborts.iter_mut().zip(counts.aborts) {
            *sum += aborts;
        }
        measurement.commits_by_worker.push(counts.commits);
        // In an open loop there may be nothing for it to do.
        let is_asked = matches!(until, Until::Interval { .. }) && counts.arrived.is_none();
        if is_asked && counts.commits + counts.user_rollbacks == 0 {
            measurement.absent_workers += 1;
        }
        measurement.latency_ns.add(&counts.latency_ns).expect("all histograms have the same bounds");
        measurement.response += counts.response;
        measurement.between += counts.between;
        measurement.unfinished += counts.unfinished;
        measurement.outlasting += counts.outlasting;
        measurement.idle_ns += counts.idle_ns;
        measurement.time_share.add(&counts.time_share);
        measurement.effort.merge(&counts.effort);
        measurement.add_kinds(&counts.kinds);
        measurement.add_open(counts.arrived, counts.series);
        clients.push(client);
    }
    measurement.servers = servers.len();
    for effort in &servers {
        measurement.effort.merge(effort);
    }
    Ok(RunOutcome { clients, measurement, log_failure, clocks: Clocks::default() })
}
