//! Ignite as an [`Engine`], so that the harness measures, audits and checks it without knowing of it.
//!
//! A store is a cluster of its own, of as many nodes as [`EngineOptions::instances`] says, which has no other tables. Worker `w` is a thread of this
//! process, connected to node `w` modulo their number, which coordinates its transactions.

use crate::isolation::Isolation;
use crate::session::Session;
use crate::store::{Store, Table};
use crate::wire::{Connection, Failed};
use crate::worker::{Report, Run, work};
use contract::{
    ArchitectureName, Arrangement, Client, Clocks, Engine, EngineOptions, ErasedClient, Layout, LeakCheck,
    LoadError, Lost, Measurement, Misfit, RunError, RunOutcome, Selection, Site, Support, Until, Workload,
};
use std::panic::resume_unwind;
use std::sync::atomic::AtomicUsize;
use std::thread;
use std::time::{Duration, Instant};

/// The most nodes: they are all on this host.
pub const MOST_NODES: usize = 4;
/// The most workers: each is a connection.
pub const MOST_WORKERS: usize = 64;

/// See the module.
pub struct Ignite;

/// Runs clients, one in each of as many threads.
fn run_clients<C: Client>(
    store: &mut Store,
    selection: Selection,
    clients: Vec<C>,
    until: Until,
    options: &EngineOptions,
    is_quiet: bool,
) -> Result<RunOutcome<C>, RunError> {
    let isolation = Isolation::of(selection).unwrap_or_else(|why| panic!("{why}"));
    let nodes = store.nodes().count();
    let lost = |worker: usize, failed: Failed| RunError::Lost(Lost::new(worker % nodes, failed.to_string()));
    let connect =
        |worker| Connection::open(store.nodes().clients(worker)).map_err(|failed| lost(worker, failed));
    let connections = (0..clients.len()).map(connect).collect::<Result<Vec<_>, _>>()?;
    let busy = AtomicUsize::new(clients.len());
    if !is_quiet {
        store.tables.iter().for_each(Table::forget_keys);
    }
    let run = Run { until, options, start: Instant::now(), busy: &busy, open: &store.open };
    let session = |number: usize, connection| {
        let seed = options.seed ^ (number as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let own = EngineOptions { seed, ..options.clone() };
        Session::over(connection, store.tables.clone(), isolation, &own).quiet(is_quiet)
    };
    let reports: Vec<Report<C>> = thread::scope(|scope| {
        let workers = clients.into_iter().zip(connections).enumerate();
        let threads: Vec<_> = workers
            .map(|(number, (client, connection))| {
                let (run, session) = (&run, session(number, connection));
                scope.spawn(move || work(client, session, run))
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic))).collect()
    });
    let mut measurement = Measurement::nothing(Duration::ZERO, 0);
    let mut clients = Vec::with_capacity(reports.len());
    for (number, report) in reports.into_iter().enumerate() {
        if let Some(failed) = report.failed {
            return Err(lost(number, failed));
        }
        measurement.merge(&report.measurement);
        clients.push(report.client);
    }
    Ok(RunOutcome { clients, measurement, log_failure: None, clocks: Clocks::default() })
}

impl Engine for Ignite {
    type Store = Store;

    fn support(selection: impl Into<Selection>) -> Support {
        Isolation::support(selection.into())
    }

    /// A partition of the layout is a node.
    fn arrange(
        _selection: impl Into<Selection>,
        workers: usize,
        options: &EngineOptions,
    ) -> Result<Arrangement, Misfit> {
        let nodes = options.instances_among(workers, &[Site::ONLY])?;
        if !(1..=MOST_NODES).contains(&nodes) {
            let allowed = format!("1 <= nodes <= {MOST_NODES}");
            return Err(Misfit { option: "nodes", value: nodes.to_string(), allowed });
        }
        Ok(Arrangement { layout: Layout::of(nodes as u32), clients: workers, homes: 1 })
    }

    fn most_workers(_architecture: ArchitectureName) -> usize {
        MOST_WORKERS
    }

    fn load<W: Workload>(
        workload: &W,
        layout: Layout,
        progress: &(dyn Fn(u64) + Sync),
    ) -> Result<Store, LoadError> {
        Store::load(workload, layout.partitions as usize, progress)
    }

    fn run<C: Client>(
        store: &mut Store,
        selection: Selection,
        clients: Vec<C>,
        until: Until,
        options: &EngineOptions,
    ) -> Result<RunOutcome<C>, RunError> {
        run_clients(store, selection, clients, until, options, false)
    }

    fn run_erased(
        store: &mut Store,
        selection: Selection,
        clients: Vec<ErasedClient>,
        until: Until,
        options: &EngineOptions,
    ) -> Result<RunOutcome<ErasedClient>, RunError> {
        Self::run(store, selection, clients, until, options)
    }

    /// Nobody changes rows meanwhile, so that tables can be scanned whose keys are numbers.
    fn run_unmeasured<C: Client>(
        store: &mut Store,
        selection: Selection,
        clients: Vec<C>,
        until: Until,
        options: &EngineOptions,
    ) -> Result<RunOutcome<C>, RunError> {
        run_clients(store, selection, clients, until, options, true)
    }

    /// Entries stand for records, of which some are groups of rows; what the nodes' memory holds they do not tell.
    fn leak_check(store: &Store) -> LeakCheck {
        let entries = store.entries().unwrap_or_else(|failed| panic!("counting entries: {failed}"));
        LeakCheck {
            linked_records: entries,
            allocated_records: entries,
            held: store.open(),
            ..LeakCheck::default()
        }
    }
}
