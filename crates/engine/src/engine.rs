//! This compilation of the engine, as the harness sees it.

use crate::facade::clock;
use crate::matrix;
use crate::session::Report;
use crate::storage::Store;
use crate::system::{CountRemains, Run};
use contract::{
    AbortReason, ArchitectureName, Arrangement, Client, Drive, DriveError, Effort, Engine, EngineOptions,
    LatchName, Layout, LoadError, Measurement, Misfit, PairName, Remains, Selection, Support, TimeShare,
    Until, Workload,
};
use std::time::Duration;

/// The engine, compiled for the hardware or for the simulated machine.
pub struct ThisEngine;

impl Engine for ThisEngine {
    type Store = Store;

    fn support(pair: PairName) -> Support {
        matrix::support(pair)
    }

    fn arrange(
        architecture: ArchitectureName,
        workers: usize,
        options: &EngineOptions,
    ) -> Result<Arrangement, Misfit> {
        matrix::arrange(architecture, workers, options)
    }

    fn most_workers(architecture: ArchitectureName) -> usize {
        matrix::most_workers(architecture)
    }

    fn load<W: Workload>(
        workload: &W,
        layout: Layout,
        progress: &(dyn Fn(u64) + Sync),
    ) -> Result<Store, LoadError> {
        Store::load(workload, layout, progress)
    }

    fn drive<C: Client>(
        store: &mut Store,
        selection: Selection,
        clients: Vec<C>,
        until: Until,
        options: &EngineOptions,
    ) -> Result<Drive<C>, DriveError> {
        assert!(!clients.is_empty(), "a drive has at least one worker");
        assert!(clients.len() <= matrix::most_workers(selection.architecture()), "{} workers", clients.len());
        if let Selection::Pair(pair) = selection {
            assert!(matrix::support(pair) == Support::Supported, "{pair} is not supported");
        }
        clock::calibrate();
        collect(matrix::drive(selection, options.latch, Run { store, clients, until, options, selection }))
    }

    fn remains(store: &Store) -> Remains {
        let anybody = PairName {
            architecture: ArchitectureName::SharedEverything,
            protocol: contract::ProtocolName::NoWait,
        };
        // A store that nothing ran over is all zero, which is quiet under every protocol.
        let (selection, latch) =
            store.last.unwrap_or((Selection::Pair(anybody), LatchName::TestAndTestAndSet));
        matrix::drive(selection, latch, CountRemains(store))
    }

    fn memory_bytes(store: &Store) -> u64 {
        store.memory_bytes()
    }
}

/// Adds the workers' reports up.
fn collect<C: Client>(mut reports: Vec<Report<C>>) -> Result<Drive<C>, DriveError> {
    if let Some(error) = reports.iter_mut().find_map(|report| report.error.take()) {
        return Err(error);
    }
    let mut effort = Effort::default();
    let mut latency_ns = Measurement::empty_histogram();
    let mut time_share = TimeShare::default();
    let mut aborts = [0; AbortReason::ALL.len()];
    let (mut elapsed_ns, mut throughput_per_s) = (0, 0.0);
    for report in &reports {
        latency_ns.add(&report.latency_ns).expect("all histograms have the same bounds");
        time_share.add(&report.time_share);
        effort.merge(&report.effort);
        for (sum, aborts) in aborts.iter_mut().zip(report.aborts) {
            *sum += aborts;
        }
        elapsed_ns += report.elapsed_ns;
        throughput_per_s += report.commits as f64 / (report.elapsed_ns.max(1) as f64 / 1e9);
    }
    let measurement = Measurement {
        elapsed: Duration::from_nanos(elapsed_ns / reports.len() as u64),
        throughput_per_s,
        commits: reports.iter().map(|report| report.commits).sum(),
        user_rollbacks: reports.iter().map(|report| report.user_rollbacks).sum(),
        aborts,
        commits_by_worker: reports.iter().map(|report| report.commits).collect(),
        latency_ns,
        time_share,
        effort,
    };
    Ok(Drive { clients: reports.into_iter().map(|report| report.client).collect(), measurement })
}
