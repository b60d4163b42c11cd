//! Nodes: an engine over several instances, each a program with a store and a log of its own, on the simulated machine ([`machine::simulated::process`]).
//!
//! What `cluster::Together` is to processes: the same calls, so that whatever loads, runs, recovers and reads back one store does so over all nodes. Runs are explored, and may come to an
//! end before their time ([`Fate`]): a node is killed, connections lose what is sent.
//!
//! Each node's log is in a folder of its own. A recovery cuts all logs at the last epoch that each of them has ([`LogEnd::common`]).

use contract::{
    ArchitectureName, Arrangement, Client, Clocks, Engine, EngineOptions, ErasedClient, InstanceEngine,
    Layout, LeakCheck, LoadError, LogEnd, LogError, LogInspection, LogManifest, LogOptions, LogReport, Lost,
    Measurement, Misfit, Part, Recovered, RecoveryOptions, RunError, RunOutcome, Selection, Support, Until,
    Workload,
};
use machine::simulated::network::{Ending, Faults, Network, Suffered};
use machine::simulated::process::{self, Kill};
use machine::simulated::socket::Socket;
use std::cell::{Cell, RefCell};
use std::marker::PhantomData;
use std::ops::Range;
use std::path::{Path, PathBuf};

thread_local! {
    static NODES: Cell<usize> = const { Cell::new(0) };
}

/// See the module. Its functions panic outside of [`among`].
pub struct Nodes<E>(PhantomData<E>);

/// Runs `f`, in which there are so many nodes.
pub fn among<R>(nodes: usize, f: impl FnOnce() -> R) -> R {
    struct Before(usize);
    impl Drop for Before {
        fn drop(&mut self) {
            NODES.set(self.0);
        }
    }
    let _before = Before(NODES.replace(nodes));
    f()
}

fn nodes() -> usize {
    let nodes = NODES.get();
    assert!(nodes > 0, "called outside of `among`");
    nodes
}

/// What happens to nodes during a run.
#[derive(Clone, Debug, Default)]
pub struct Fate {
    /// The node that is killed, at which of its scheduling points, and how its connections end.
    pub kill: Option<(usize, u64, Ending)>,
    /// From which node nothing comes any more to which other, after so many pieces.
    pub cuts: Vec<(usize, usize, u64)>,
    /// What goes wrong on the way.
    pub faults: Faults,
    /// Of all that is drawn then.
    pub seed: u64,
}

/// What a run of nodes came to.
pub struct Fared<C> {
    /// By node; `None`: it was killed.
    pub nodes: Vec<Option<Result<RunOutcome<C>, RunError>>>,
    /// What went wrong on the way.
    pub suffered: Suffered,
}

/// Where a node's log is.
fn folders_of(node: usize, folders: &[PathBuf]) -> Vec<PathBuf> {
    folders.iter().map(|folder| Path::new(&format!("instance-{node}")).join(folder)).collect()
}

/// Whether a folder is a node's.
pub fn is_of(node: usize, folder: &Path) -> bool {
    folder.starts_with(format!("instance-{node}"))
}

/// A node's partitions.
fn partitions_of(node: usize, layout: Layout) -> Range<u32> {
    let each = layout.partitions / nodes() as u32;
    node as u32 * each..(node as u32 + 1) * each
}

/// Connections between all counterparts: by node, by worker, by the other node.
fn connected(network: &Network, nodes: usize, workers: usize) -> Vec<Vec<Vec<Option<Socket>>>> {
    let of_worker = |_| (0..nodes).map(|_| None).collect();
    let mut sockets: Vec<Vec<Vec<Option<Socket>>>> =
        (0..nodes).map(|_| (0..workers).map(of_worker).collect()).collect();
    let pairs = || (0..nodes).flat_map(|one| (0..one).map(move |other| (one, other)));
    let all = (0..workers).flat_map(|rank| pairs().map(move |(one, other)| (rank, one, other)));
    for (rank, one, other) in all {
        let (here, there) = network.connect(one, other);
        sockets[one][rank][other] = Some(here);
        sockets[other][rank][one] = Some(there);
    }
    sockets
}

impl<E: InstanceEngine<Link: From<Socket>>> Nodes<E> {
    /// Runs clients, as many of them at each node, to whom this happens.
    pub fn fare<C: Client>(
        stores: &mut [E::Store],
        selection: Selection,
        mut clients: Vec<C>,
        until: Until,
        options: &EngineOptions,
        fate: &Fate,
    ) -> Fared<C> {
        let nodes = stores.len();
        let workers = clients.len() / nodes;
        let network = Network::new(fate.faults, fate.seed);
        let seats: Vec<_> = stores
            .iter_mut()
            .zip(connected(&network, nodes, workers))
            .enumerate()
            .map(|(instance, (store, sockets))| {
                let of_rank =
                    |ends: Vec<Option<Socket>>| ends.into_iter().map(|end| end.map(E::Link::from)).collect();
                let links = sockets.into_iter().map(of_rank).collect();
                let part = Part { instance, instances: nodes, links };
                let rest = clients.split_off(workers);
                RefCell::new(Some((store, std::mem::replace(&mut clients, rest), part)))
            })
            .collect();
        fate.cuts.iter().for_each(|&(from, to, pieces)| network.cut_after(from, to, pieces));
        let dies = || {
            if let Some((node, _, ending)) = fate.kill {
                network.end(node, ending);
            }
        };
        let kill = fate.kill.map(|(program, at_step, _)| Kill { program, at_step, dies: &dies });
        let nodes = process::run(nodes, kill, |node| {
            let (store, clients, part) = seats[node].take().expect("a node runs once");
            E::run_part_checked(store, selection, clients, until, options, part)
        });
        Fared { nodes, suffered: network.suffered() }
    }
}

impl<C> Fared<C> {
    /// What all say together; an error if one has been lost, or was killed.
    fn together(self) -> Result<RunOutcome<C>, RunError> {
        let mut measurement: Option<Measurement> = None;
        let (mut clients, mut log_failure, mut lost) = (Vec::new(), None, Vec::new());
        for (node, ran) in self.nodes.into_iter().enumerate() {
            match ran {
                Some(Ok(outcome)) => {
                    clients.extend(outcome.clients);
                    log_failure = log_failure.or(outcome.log_failure);
                    match &mut measurement {
                        None => measurement = Some(outcome.measurement),
                        Some(measurement) => measurement.merge(&outcome.measurement),
                    }
                }
                Some(Err(RunError::Lost(told))) => lost.push((node, told)),
                Some(Err(error)) => return Err(error),
                None => lost.push((node, Lost::new(node, "it was killed"))),
            }
        }
        match Lost::cause(lost.iter().map(|(node, lost)| (*node, lost))) {
            Some(lost) => Err(RunError::Lost(lost)),
            None => {
                let measurement = measurement.expect("there are nodes");
                Ok(RunOutcome { clients, measurement, log_failure, clocks: Clocks::default() })
            }
        }
    }
}

impl<E: InstanceEngine<Link: From<Socket>>> Engine for Nodes<E> {
    /// By node.
    type Store = Vec<E::Store>;

    fn support(selection: impl Into<Selection>) -> Support {
        E::support(selection)
    }

    fn arrange(
        selection: impl Into<Selection>,
        workers: usize,
        options: &EngineOptions,
    ) -> Result<Arrangement, Misfit> {
        E::arrange(selection, workers, options)
    }

    fn why_no_counters() -> Option<String> {
        E::why_no_counters()
    }

    fn most_workers(architecture: ArchitectureName) -> usize {
        E::most_workers(architecture)
    }

    fn load<W: Workload>(
        workload: &W,
        layout: Layout,
        progress: &(dyn Fn(u64) + Sync),
    ) -> Result<Self::Store, LoadError> {
        (0..nodes())
            .map(|node| E::load_part(workload, layout, partitions_of(node, layout), progress))
            .collect()
    }

    fn run<C: Client>(
        stores: &mut Self::Store,
        selection: Selection,
        clients: Vec<C>,
        until: Until,
        options: &EngineOptions,
    ) -> Result<RunOutcome<C>, RunError> {
        Self::fare(stores, selection, clients, until, options, &Fate::default()).together()
    }

    fn run_erased(
        stores: &mut Self::Store,
        selection: Selection,
        clients: Vec<ErasedClient>,
        until: Until,
        options: &EngineOptions,
    ) -> Result<RunOutcome<ErasedClient>, RunError> {
        Self::run(stores, selection, clients, until, options)
    }

    fn run_checked<C: Client>(
        stores: &mut Self::Store,
        selection: Selection,
        clients: Vec<C>,
        until: Until,
        options: &EngineOptions,
    ) -> Result<RunOutcome<C>, RunError> {
        Self::run(stores, selection, clients, until, options)
    }

    fn leak_check(stores: &Self::Store) -> LeakCheck {
        stores.iter().map(E::leak_check).reduce(LeakCheck::and).expect("a node")
    }

    fn open_log(stores: &mut Self::Store, options: &LogOptions) -> Result<(), LogError> {
        stores.iter_mut().enumerate().try_for_each(|(node, store)| {
            let folders = folders_of(node, &options.folders);
            E::open_log(store, &LogOptions { folders, ..options.clone() })
        })
    }

    fn log_report(stores: &Self::Store) -> Option<LogReport> {
        stores.iter().filter_map(E::log_report).reduce(LogReport::beside)
    }

    fn recover<W: Workload>(
        workload: &W,
        layout: Layout,
        folders: &[PathBuf],
        options: &RecoveryOptions,
        progress: &(dyn Fn(u64) + Sync),
    ) -> Result<(Self::Store, Recovered), LogError> {
        let end = |node| {
            E::inspect_log(&folders_of(node, folders)).as_ref().map(LogEnd::of).map_err(LogError::clone)
        };
        let ends: Vec<LogEnd> = (0..nodes()).map(end).collect::<Result<_, _>>()?;
        let options = RecoveryOptions { up_to: Some(LogEnd::common(&ends)?), ..*options };
        let mut stores = Vec::new();
        let mut together: Option<Recovered> = None;
        for node in 0..nodes() {
            let (folders, partitions) = (folders_of(node, folders), partitions_of(node, layout));
            let (store, own) = E::recover_part(workload, layout, &folders, &options, partitions, progress)?;
            stores.push(store);
            together = Some(match together {
                None => own,
                Some(others) => others.beside(own),
            });
        }
        Ok((stores, together.expect("there are nodes")))
    }

    fn log_manifest(folders: &[PathBuf]) -> Result<LogManifest, LogError> {
        E::log_manifest(&folders_of(0, folders))
    }

    fn inspect_log(folders: &[PathBuf]) -> Result<LogInspection, LogError> {
        E::inspect_log(&folders_of(0, folders))
    }

    fn memory_bytes(stores: &Self::Store) -> u64 {
        stores.iter().map(E::memory_bytes).sum()
    }
}
