//! The engine on the machine of `--on FILE`.
//!
//! Loading and auditing cost no simulated time. Every run is a simulation of its own, with caches that are empty when its warm-up
//! begins, so that what it measures depends on its seed and on nothing that ran before it. A simulation is its thread's, so that
//! several run side by side, a host core each.

use crate::engines::{Explored, cores};
use crate::side_by_side::{Core, side_by_side};
use contract::erased::erased;
use contract::{
    ArchitectureName, Arrangement, Arrival, BindingName, ChannelName, Client, Completion, Engine,
    EngineOptions, ErasedClient, Layout, LeakCheck, LoadError, LogError, LogOptions, LogReport, Misfit,
    RunError, RunOutcome, Selection, Site, Support, TableDescription, Until, Workload,
};
use machine::simulated::{Description, Simulation, statistics, unobserved};
use std::cell::Cell;
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

thread_local! {
    /// The machine of this thread's runs.
    static DESCRIPTION: Cell<Option<&'static Description>> = const { Cell::new(None) };
}

/// Simulated nanoseconds of all runs so far, of those that run as well.
static SIMULATED_NS: AtomicU64 = AtomicU64::new(0);

/// Transactions that all runs have ended so far, those of their warm-ups included.
static ENDED: AtomicU64 = AtomicU64::new(0);

/// Between two looks at how far a run is.
const REPORT_EVERY: Duration = Duration::from_millis(100);

/// Runs `f`, in which this thread's runs are simulated on the machine described.
pub fn on<R>(description: &'static Description, f: impl FnOnce() -> R) -> R {
    let outer = DESCRIPTION.replace(Some(description));
    let result = f();
    DESCRIPTION.set(outer);
    result
}

/// Simulated time of all runs so far.
pub fn elapsed() -> Duration {
    // Relaxed: a figure for a person to see.
    Duration::from_nanos(SIMULATED_NS.load(Ordering::Relaxed))
}

/// How many transactions all runs have ended so far.
pub fn transactions() -> u64 {
    // Relaxed: as above.
    ENDED.load(Ordering::Relaxed)
}

/// How far a run is, which is added to [`SIMULATED_NS`].
#[derive(Clone, Default)]
struct Elapsed(Rc<Cell<u64>>);

impl Elapsed {
    fn is(&self, simulated: Duration) {
        let ns = simulated.as_nanos() as u64;
        // Relaxed: see `elapsed`.
        SIMULATED_NS.fetch_add(ns.saturating_sub(self.0.replace(ns)), Ordering::Relaxed);
    }
}

/// A client whose transactions are counted where a person can see it. The simulated machine knows nothing of it.
struct Counted<C>(C);

impl<C: Client> Client for Counted<C> {
    type Procedure = C::Procedure;

    fn kinds(&self) -> &'static [&'static str] {
        self.0.kinds()
    }

    fn arrival(&mut self) -> Arrival {
        self.0.arrival()
    }

    fn next(&mut self) -> C::Procedure {
        self.0.next()
    }

    fn finished(&mut self, procedure: C::Procedure, completion: &Completion<'_>) {
        // Relaxed: see `transactions`.
        ENDED.fetch_add(1, Ordering::Relaxed);
        self.0.finished(procedure, completion);
    }

    fn decode(&mut self, bytes: &[u8]) -> Option<C::Procedure> {
        self.0.decode(bytes)
    }

    fn take_back(&mut self, fragment: C::Procedure) {
        self.0.take_back(fragment);
    }
}

/// Runs clients, counted, in a simulation of their own.
fn simulated<C: Client>(
    clients: Vec<C>,
    run: impl FnOnce(Vec<ErasedClient>) -> Result<RunOutcome<ErasedClient>, RunError>,
    seed: u64,
) -> Result<RunOutcome<C>, RunError> {
    let description = DESCRIPTION.get().expect("inside of `on`");
    let clients = clients.into_iter().map(Counted).collect();
    let elapsed = Elapsed::default();
    let reported = elapsed.clone();
    let simulation = Simulation::of(description)
        .seed(seed)
        .report_every(REPORT_EVERY, move |progress| reported.is(progress.simulated));
    let RunOutcome { clients, measurement, log_failure, clocks } = simulation.run(|| {
        let outcome = erased(clients, run);
        elapsed.is(statistics().simulated);
        outcome
    })?;
    let clients = clients.into_iter().map(|Counted(client)| client).collect();
    Ok(RunOutcome { clients, measurement, log_failure, clocks })
}

/// Where its cores are, and so its workers.
fn sites(description: &Description) -> Vec<Site> {
    let site = |machine::Site { machine, socket }| Site { machine, socket };
    description.sites().into_iter().map(site).collect()
}

/// Why a system does not run so on this machine, if so. Machines of a cluster share no memory, so that each instance is within one of them.
fn misfit_of_machine(
    description: &Description,
    selection: Selection,
    workers: usize,
    options: &EngineOptions,
) -> Option<Misfit> {
    let misfit = |option, value: String, allowed| Some(Misfit { option, value, allowed });
    if options.bind != BindingName::Cores {
        let allowed = "cores on a simulated machine, each of which has a worker of its own".to_owned();
        return misfit("bind", options.bind.to_string(), allowed);
    }
    let (machines, cores) = (description.machines, description.cores_of_a_machine());
    if workers <= cores {
        return None;
    }
    if selection.architecture() != ArchitectureName::SharedEverything {
        let allowed = format!(
            "1 to {cores}, the cores of one of the {machines} machines; more under shared-everything, with --instances"
        );
        return misfit("workers", workers.to_string(), allowed);
    }
    let instances = match options.instances_among(workers, &sites(description)) {
        Ok(instances) => instances,
        Err(misfit) => return Some(misfit),
    };
    let is_within =
        |instances: &usize| workers.is_multiple_of(*instances) && cores.is_multiple_of(workers / instances);
    if !is_within(&instances) {
        let fits = (1..=workers).filter(is_within).map(|instances| instances.to_string());
        let allowed = format!(
            "{}, so that each is within one of the {machines} machines of {cores} cores",
            fits.collect::<Vec<_>>().join(", ")
        );
        return misfit("instances", options.instances.to_string(), allowed);
    }
    if options.channel == ChannelName::Tcp {
        return None;
    }
    let allowed = format!("tcp, for {workers} workers are on several machines of {cores} cores");
    misfit("channel", options.channel.to_string(), allowed)
}

/// The engine, on the machine that was described.
pub struct OnDescription;

impl Engine for OnDescription {
    type Store = <Explored as Engine>::Store;

    const REPEATS: bool = true;

    fn each<R: Send>(jobs: usize, at_once: usize, job: &(dyn Fn(usize) -> R + Sync)) -> Vec<R> {
        let description = DESCRIPTION.get().expect("inside of `on`");
        side_by_side(jobs, at_once.min(cores()), |number| {
            let _core = Core::take();
            on(description, || job(number))
        })
    }

    fn available_bytes() -> u64 {
        Explored::available_bytes()
    }

    fn needed_bytes(tables: &[TableDescription], layout: Layout) -> u64 {
        Explored::needed_bytes(tables, layout)
    }

    fn support(selection: impl Into<Selection>) -> Support {
        Explored::support(selection)
    }

    fn arrange(
        selection: impl Into<Selection>,
        workers: usize,
        options: &EngineOptions,
    ) -> Result<Arrangement, Misfit> {
        let selection = selection.into();
        let Some(description) = DESCRIPTION.get() else {
            return Explored::arrange(selection, workers, options);
        };
        match misfit_of_machine(description, selection, workers, options) {
            None => Explored::arrange_on(&sites(description), selection, workers, options),
            Some(misfit) => Err(misfit),
        }
    }

    fn why_no_counters() -> Option<String> {
        Explored::why_no_counters()
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

    fn run<C: Client>(
        store: &mut Self::Store,
        selection: Selection,
        clients: Vec<C>,
        until: Until,
        options: &EngineOptions,
    ) -> Result<RunOutcome<C>, RunError> {
        // One compilation of each system serves all workloads: a simulated access takes longer than a call.
        simulated(
            clients,
            |clients| Explored::run_erased(store, selection, clients, until, options),
            options.seed,
        )
    }

    fn run_erased(
        store: &mut Self::Store,
        selection: Selection,
        clients: Vec<ErasedClient>,
        until: Until,
        options: &EngineOptions,
    ) -> Result<RunOutcome<ErasedClient>, RunError> {
        Self::run(store, selection, clients, until, options)
    }

    fn run_unmeasured<C: Client>(
        store: &mut Self::Store,
        selection: Selection,
        clients: Vec<C>,
        until: Until,
        options: &EngineOptions,
    ) -> Result<RunOutcome<C>, RunError> {
        unobserved(|| Explored::run_checked(store, selection, clients, until, options))
    }

    fn leak_check(store: &Self::Store) -> LeakCheck {
        unobserved(|| Explored::leak_check(store))
    }

    fn open_log(store: &mut Self::Store, options: &LogOptions) -> Result<(), LogError> {
        Explored::open_log(store, options)
    }

    fn log_report(store: &Self::Store) -> Option<LogReport> {
        Explored::log_report(store)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engines::Machine;
    use contract::{ArchitectureName, Key, Measurement, PairName, ProtocolName, Seat, TableId};
    use harness::RunOptions;
    use harness::measure::{After, Session, layout_of, measure};
    use harness::observer::Silent;
    use harness::summary::Measured;
    use std::fmt::Debug;
    use std::path::Path;
    use workloads::audit::Audited;
    use workloads::micro::{self, MicroClient};
    use workloads::{Micro, Parameters, SmallBank, Tpcc, Ycsb};

    /// The microbenchmark over a table whose first row is not as it should be.
    struct Mistaken(Micro);

    impl Workload for Mistaken {
        type Client = MicroClient;

        fn tables(&self) -> Vec<TableDescription> {
            self.0.tables()
        }

        fn fill(&self, table: TableId, key: Key, row: &mut [u8]) {
            self.0.fill(table, key, row);
            row[0] ^= u8::from(key.0 == 0);
        }

        fn client(&self, seat: Seat) -> MicroClient {
            self.0.client(seat)
        }
    }

    impl Audited for Mistaken {
        type Audit<'a> = micro::Audit<'a>;

        type Compilation = contract::AnyType;

        fn audit(&self) -> Option<micro::Audit<'_>> {
            Some(self.0.audit())
        }
    }

    fn description() -> &'static Description {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../machines/haswell-ex-4x18.toml");
        match Machine::named(file.to_str()).expect("a machine of the repository") {
            Machine::Simulated(description) => description,
            Machine::Hardware | Machine::Cluster(_) => unreachable!("a file is no hardware"),
        }
    }

    fn options() -> RunOptions {
        let short = Duration::from_micros(50);
        RunOptions { warmup: short, duration: short, repeat: 2, ..RunOptions::for_simulation(4) }
    }

    fn micro() -> Micro {
        let given: Parameters = [("records", "1000"), ("writes", "50")].into_iter().collect();
        Micro::new(&given).expect("parameters of micro")
    }

    /// What a repetition measured.
    fn of_repetition(measurement: &Measurement) -> impl PartialEq + Debug + use<> {
        let latencies: Vec<(u64, u64)> = measurement
            .latency_ns
            .iter_recorded()
            .map(|step| (step.value_iterated_to(), step.count_at_value()))
            .collect();
        (measurement.commits_by_worker.clone(), measurement.aborts, measurement.time_share.ns, latencies)
    }

    fn simulated<W: Audited>(workload: &W) -> Measured {
        let pairs =
            [PairName { architecture: ArchitectureName::SharedEverything, protocol: ProtocolName::Silo }];
        let measure = || measure::<OnDescription, W>(workload, &pairs, &options(), After::Audit, &Silent);
        on(description(), measure).expect("measured").0.remove(0)
    }

    #[test]
    fn a_simulated_run_is_failed_by_its_audit() {
        let failed = |measured: Measured| -> Vec<String> {
            let failed = measured.checks.into_iter().filter(|check| !check.passed);
            failed.map(|check| check.name).collect()
        };
        assert_eq!(failed(simulated(&Mistaken(micro()))), ["audit"]);
        assert_eq!(failed(simulated(&micro())), [""; 0]);
    }

    /// An audit is not looked at: what is simulated over the same store after it is the same without it.
    #[test]
    fn an_audit_changes_nothing_that_is_simulated() {
        let (workload, options) = (micro(), options());
        for pair in PairName::all().filter(|pair| Explored::support(*pair) == Support::Supported) {
            let numbers = |audited: bool| {
                let layout = layout_of::<OnDescription>(pair, &options).expect("it fits");
                let mut session =
                    Session::<OnDescription, _>::load(&workload, layout, &Silent).expect("loaded");
                let measured = (0..2).map(|repetition| {
                    let selection = Selection::Pair(pair);
                    let repeat = || session.repetition(selection, &options, repetition);
                    let (measurement, _) = on(description(), repeat).expect("it runs");
                    if audited {
                        // Outside of `on`: there is no machine that could simulate it.
                        let audit = session.audit(selection, &options).expect("it runs");
                        assert!(audit.len() == 1 && audit[0].passed, "{pair}: {}", audit[0].detail);
                    }
                    of_repetition(&measurement)
                });
                measured.collect::<Vec<_>>()
            };
            assert_eq!(numbers(true), numbers(false), "{pair}");
        }
    }

    /// Every system's repetitions, which are what they are alone, over a newly loaded store.
    #[track_caller]
    fn apart<W: Audited>(workload: &W) -> Vec<Measured> {
        let pairs: Vec<PairName> =
            PairName::all().filter(|pair| Explored::support(*pair) == Support::Supported).collect();
        let measured = |pairs: &[PairName], repeat, first: usize| {
            let engine = options().engine_options(first);
            let options = RunOptions { repeat, engine, ..options() };
            let measure = || measure::<OnDescription, W>(workload, pairs, &options, After::Audit, &Silent);
            on(description(), measure).expect("measured").0
        };
        let together = measured(&pairs, 3, 0);
        for system in &together {
            let alone = [0, 1, 2].map(|repetition| measured(&[system.pair], 1, repetition).remove(0));
            let beside: Vec<_> = system.repetitions.iter().map(of_repetition).collect();
            let expected: Vec<_> = alone.iter().map(|one| of_repetition(&one.repetitions[0])).collect();
            assert_eq!(beside, expected, "{}", system.pair);
            assert!(beside[0] != beside[1], "{}: the seed decides", system.pair);
            assert_eq!(system.memory, alone[2].memory, "{}: the last one's", system.pair);
            assert!(system.checks.iter().all(|check| check.passed), "{:?}", system.checks);
        }
        together
    }

    /// What earlier ones have inserted, or written where a procedure looks, would make another one of a repetition.
    #[test]
    fn a_repetition_is_what_its_seed_says_whatever_runs_beside_it() {
        let given = [("warehouses", "2"), ("items", "100"), ("customers", "10"), ("mix", "new-order")];
        let tpcc = Tpcc::new(&given.into_iter().collect()).expect("parameters of TPC-C");
        let inserts = |system: &Measured| system.memory.rows > system.memory.loaded_rows;
        assert!(apart(&tpcc).iter().all(inserts));
        let given = [("customers", "1000"), ("hot-customers", "100")];
        apart(&SmallBank::new(&given.into_iter().collect()).expect("parameters of SmallBank"));
    }

    #[test]
    fn a_store_that_is_used_again_is_as_good_as_a_new_one() {
        let micro = micro();
        let ycsb = Ycsb::new(&[("records", "1000")].into_iter().collect()).expect("parameters of YCSB");
        assert!(!micro.is_data_dependent() && !ycsb.is_data_dependent(), "else it is not used again");
        apart(&micro);
        apart(&ycsb);
    }
}
