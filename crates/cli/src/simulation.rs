//! The engine on the machine of `--on FILE`.
//!
//! Loading costs no simulated time. Every drive is a simulation of its own, with caches that are empty when its warm-up
//! begins, so that what it measures depends on its seed and on nothing that ran before it.

use crate::engines::Explored;
use contract::{
    Arrangement, Client, Completion, Drive, DriveError, Engine, EngineOptions, Layout, LoadError, Misfit,
    PairName, Remains, Selection, Support, Until, Workload,
};
use history::drive_erased;
use machine::simulated::{Description, Simulation, unobserved};
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

thread_local! {
    /// The machine of this thread's drives.
    static DESCRIPTION: Cell<Option<&'static Description>> = const { Cell::new(None) };
}

/// How far the drive that runs is, in simulated nanoseconds.
static SIMULATED_NS: AtomicU64 = AtomicU64::new(0);

/// Transactions that the drive which runs has ended, those of its warm-up included.
static ENDED: AtomicU64 = AtomicU64::new(0);

/// Between two looks at how far a drive is.
const REPORT_EVERY: Duration = Duration::from_millis(100);

/// Runs `f`, in which this thread's drives are simulated on the machine described.
pub fn on<R>(description: &'static Description, f: impl FnOnce() -> R) -> R {
    let outer = DESCRIPTION.replace(Some(description));
    let result = f();
    DESCRIPTION.set(outer);
    result
}

/// How far the drive that runs is, in simulated time.
pub fn elapsed() -> Duration {
    // Relaxed: a figure for a person to see.
    Duration::from_nanos(SIMULATED_NS.load(Ordering::Relaxed))
}

/// How many transactions the drive that runs has ended.
pub fn transactions() -> u64 {
    // Relaxed: as above.
    ENDED.load(Ordering::Relaxed)
}

/// A client whose transactions are counted where a person can see it. The simulated machine knows nothing of it.
struct Counted<C>(C);

impl<C: Client> Client for Counted<C> {
    type Procedure = C::Procedure;

    fn next(&mut self) -> C::Procedure {
        self.0.next()
    }

    fn finished(&mut self, procedure: C::Procedure, completion: &Completion<'_>) {
        // Relaxed: see `transactions`.
        ENDED.fetch_add(1, Ordering::Relaxed);
        self.0.finished(procedure, completion);
    }
}

/// The engine, on the machine that was described.
pub struct OnDescription;

impl Engine for OnDescription {
    type Store = <Explored as Engine>::Store;

    const REPEATS: bool = true;

    fn available_bytes() -> u64 {
        Explored::available_bytes()
    }

    fn support(pair: PairName) -> Support {
        Explored::support(pair)
    }

    fn arrange(
        architecture: contract::ArchitectureName,
        workers: usize,
        options: &EngineOptions,
    ) -> Result<Arrangement, Misfit> {
        Explored::arrange(architecture, workers, options)
    }

    fn most_workers(architecture: contract::ArchitectureName) -> usize {
        Explored::most_workers(architecture)
    }

    fn load<W: Workload>(
        workload: &W,
        layout: Layout,
        progress: &(dyn Fn(u64) + Sync),
    ) -> Result<Self::Store, LoadError> {
        Explored::load(workload, layout, progress)
    }

    fn drive<C: Client>(
        store: &mut Self::Store,
        selection: Selection,
        clients: Vec<C>,
        until: Until,
        options: &EngineOptions,
    ) -> Result<Drive<C>, DriveError> {
        let description = DESCRIPTION.get().expect("inside of `on`");
        // Relaxed: see `elapsed`.
        SIMULATED_NS.store(0, Ordering::Relaxed);
        ENDED.store(0, Ordering::Relaxed);
        let clients = clients.into_iter().map(Counted).collect();
        let simulation =
            Simulation::of(description).seed(options.seed).report_every(REPORT_EVERY, |progress| {
                SIMULATED_NS.store(progress.simulated.as_nanos() as u64, Ordering::Relaxed);
            });
        // One compilation of each system serves all workloads: a simulated access takes longer than a call.
        let drive = || drive_erased::<Explored, _>(store, selection, clients, until, options);
        let Drive { clients, measurement } = simulation.run(drive)?;
        Ok(Drive { clients: clients.into_iter().map(|Counted(client)| client).collect(), measurement })
    }

    fn remains(store: &Self::Store) -> Remains {
        unobserved(|| Explored::remains(store))
    }
}
