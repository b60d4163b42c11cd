//! What every compilation of the engine offers to the harness: load once, then run any supported system over it.

use crate::clocks::Clocks;
use crate::durability::{
    LogError, LogInspection, LogManifest, LogOptions, LogReport, Recovered, RecoveryOptions,
};
use crate::erased::{ErasedClient, erased};
use crate::header::Header;
use crate::in_flight::InFlight;
use crate::instances::{Instances, Lost, Site};
use crate::measurement::Measurement;
use crate::names::{
    ArchitectureName, BindingName, CanaryName, ChannelName, CountersName, LatchName, PairName,
    PartitionLatchName, PrefetchName, ProtocolName, TimestampsName,
};
use crate::open_loop::OpenLoop;
use crate::table::{Key, PartitionId, TableDescription};
use crate::workload::{Client, Seat, Workload};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::Range;
use std::path::PathBuf;
use std::time::Duration;

/// One compilation of the engine, for the hardware or for the simulated machine.
pub trait Engine {
    /// A loaded database. A store serves every system of its [`Layout`], in turn.
    type Store: Send;

    /// Whether the engine has this pair, or this canary, and if not, why.
    fn support(selection: impl Into<Selection>) -> Support;

    /// How a system uses `workers` workers: how its store is laid out, and how many of them host transactions.
    fn arrange(
        selection: impl Into<Selection>,
        workers: usize,
        options: &EngineOptions,
    ) -> Result<Arrangement, Misfit>;

    /// The most workers that an architecture allows.
    fn most_workers(architecture: ArchitectureName) -> usize;

    /// Loads the workload's tables with as many threads as there are cores, all memory faulted in.
    /// `progress` is told the number of rows loaded since it was last told; it is called from several threads.
    fn load<W: Workload>(
        workload: &W,
        layout: Layout,
        progress: &(dyn Fn(u64) + Sync),
    ) -> Result<Self::Store, LoadError>;

    /// Runs one client per worker that hosts transactions until `until`, with the store's metadata reset to the
    /// protocol's own.
    ///
    /// `clients` holds as many as [`Arrangement::clients`] says; they come back in [`RunOutcome::clients`] with all that they
    /// hold. Panics if the selection is unsupported: ask [`Engine::support`] first.
    ///
    /// Systems whose transactions read in their own thread are compiled for every type of client: for those that are measured. The
    /// others send messages, beside which erasing the type costs nothing.
    fn run<C: Client>(
        store: &mut Self::Store,
        selection: Selection,
        clients: Vec<C>,
        until: Until,
        options: &EngineOptions,
    ) -> Result<RunOutcome<C>, RunError>;

    /// As [`Engine::run`], for clients whose type is erased: every system, canaries too, is compiled once for all of them, in the
    /// engine's own crate.
    fn run_erased(
        store: &mut Self::Store,
        selection: Selection,
        clients: Vec<ErasedClient>,
        until: Until,
        options: &EngineOptions,
    ) -> Result<RunOutcome<ErasedClient>, RunError>;

    /// As [`Engine::run`] by [`Engine::run_erased`], for clients whose speed nobody measures, such as those of a check.
    fn run_checked<C: Client>(
        store: &mut Self::Store,
        selection: Selection,
        clients: Vec<C>,
        until: Until,
        options: &EngineOptions,
    ) -> Result<RunOutcome<C>, RunError> {
        erased(clients, |clients| Self::run_erased(store, selection, clients, until, options))
    }

    /// As [`Engine::run_checked`], for what is no part of any run, such as an audit: a simulated machine does not look at it, so
    /// that it takes no simulated time and leaves what is simulated afterwards as it was.
    fn run_unmeasured<C: Client>(
        store: &mut Self::Store,
        selection: Selection,
        clients: Vec<C>,
        until: Until,
        options: &EngineOptions,
    ) -> Result<RunOutcome<C>, RunError> {
        Self::run_checked(store, selection, clients, until, options)
    }

    /// Why no counters of a processor's are told of this engine's workers ([`EngineOptions::counters`]), in words; `None`: the system gives them to the threads of this process.
    fn why_no_counters() -> Option<String> {
        Some("this engine does not ask for them".to_owned())
    }

    /// The instance that was lost first, where instances are processes and one has been: from then on [`Engine::leak_check`], [`Engine::log_report`] and
    /// the bytes of memory are of this process alone.
    fn lost() -> Option<Lost> {
        None
    }

    /// What a quiet store holds: used to prove that aborts and deletes leave nothing behind.
    fn leak_check(store: &Self::Store) -> LeakCheck;

    /// Whether a run over a newly loaded store gives the same measurement every time, bit for bit, whatever runs beside it. Then
    /// there is nothing that taking systems by turns would even out, and repetitions run apart.
    const REPEATS: bool = false;

    /// Does jobs `0..jobs`, each of which runs over a store of its own, and answers what came of them, in their order: one after the
    /// other, unless runs do not disturb each other. Then up to `at_once` of them are done side by side.
    fn each<R: Send>(jobs: usize, at_once: usize, job: &(dyn Fn(usize) -> R + Sync)) -> Vec<R> {
        let _ = at_once;
        (0..jobs).map(job).collect()
    }

    /// Refuses folders in which [`Engine::open_log`] would not begin a new log, before a store is loaded for it. Changes nothing.
    fn admit_new_log(folders: &[PathBuf]) -> Result<(), LogError> {
        let _ = folders;
        Ok(())
    }

    /// From now on, what commits over the store is logged. A log begins with the store's rows as they are, and does not have them.
    fn open_log(store: &mut Self::Store, options: &LogOptions) -> Result<(), LogError> {
        let _ = (store, options);
        Err(LogError::Refused { why: "this engine does not log".to_owned() })
    }

    /// What the store's log has taken; `None`: it has none.
    fn log_report(store: &Self::Store) -> Option<LogReport> {
        let _ = store;
        None
    }

    /// A store of the workload's tables with the rows that the log in `folders` says: those of its checkpoint, or, if it has none, those
    /// that [`Engine::load`] loads, and the log replayed over them. `progress` is told how many rows more were loaded.
    fn recover<W: Workload>(
        workload: &W,
        layout: Layout,
        folders: &[PathBuf],
        options: &RecoveryOptions,
        progress: &(dyn Fn(u64) + Sync),
    ) -> Result<(Self::Store, Recovered), LogError> {
        let _ = (workload, layout, folders, options, progress);
        Err(LogError::Refused { why: "this engine does not log".to_owned() })
    }

    /// What the manifest of the log in `folders` says.
    fn log_manifest(folders: &[PathBuf]) -> Result<LogManifest, LogError> {
        let _ = folders;
        Err(LogError::Refused { why: "this engine does not log".to_owned() })
    }

    /// What the log in `folders` has.
    fn inspect_log(folders: &[PathBuf]) -> Result<LogInspection, LogError> {
        let _ = folders;
        Err(LogError::Refused { why: "this engine does not log".to_owned() })
    }

    /// Bytes of memory that the machine has left for stores.
    fn available_bytes() -> u64 {
        u64::MAX
    }

    /// Bytes of memory that a store of these tables needs to be loaded, indexes included; 0 if that is not known.
    fn needed_bytes(tables: &[TableDescription], layout: Layout) -> u64 {
        let _ = (tables, layout);
        0
    }

    /// Bytes of memory that a store has taken, indexes included.
    fn memory_bytes(store: &Self::Store) -> u64 {
        Self::leak_check(store).memory_bytes
    }
}

/// One instance of a deployment whose instances are processes, and what leads to the others.
pub struct Part<L> {
    /// Which of them.
    pub instance: usize,
    /// How many there are.
    pub instances: usize,
    /// By worker, then by instance: the end that leads to the worker's counterpart there; none to the instance itself.
    pub links: Vec<Vec<Option<L>>>,
}

/// An engine whose instances can be processes, each with the rows of its partitions, and a log of its own.
pub trait InstanceEngine: Engine {
    /// What leads to another instance.
    type Link: Send;

    /// As [`Engine::load`], of rows of these partitions only, whatever the layout has.
    fn load_part<W: Workload>(
        workload: &W,
        layout: Layout,
        partitions: Range<u32>,
        progress: &(dyn Fn(u64) + Sync),
    ) -> Result<Self::Store, LoadError>;

    /// As [`Engine::recover`], of rows of these partitions only, of which the log in `folders` is.
    fn recover_part<W: Workload>(
        workload: &W,
        layout: Layout,
        folders: &[PathBuf],
        options: &RecoveryOptions,
        partitions: Range<u32>,
        progress: &(dyn Fn(u64) + Sync),
    ) -> Result<(Self::Store, Recovered), LogError>;

    /// Does ahead what a run of `selection` over a store begins with, and takes each instance its own time: instances whose next call runs it begin together.
    fn get_part_ready(store: &mut Self::Store, selection: Selection, options: &EngineOptions);

    /// As [`Engine::run`], of one instance, with so many clients as it has workers. All of them call this at the same time, with the same options.
    fn run_part<C: Client>(
        store: &mut Self::Store,
        selection: Selection,
        clients: Vec<C>,
        until: Until,
        options: &EngineOptions,
        part: Part<Self::Link>,
    ) -> Result<RunOutcome<C>, RunError>;

    /// As [`InstanceEngine::run_part`], for clients whose speed nobody measures.
    fn run_part_checked<C: Client>(
        store: &mut Self::Store,
        selection: Selection,
        clients: Vec<C>,
        until: Until,
        options: &EngineOptions,
        part: Part<Self::Link>,
    ) -> Result<RunOutcome<C>, RunError>;
}

/// Whether the engine has a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Support {
    /// It does.
    Supported,
    /// It does, for transactions of one read or one write of a row that is there ([`EngineOptions::single_records`]).
    SingleRecords,
    /// It does not.
    Unsupported {
        /// In words that a person reads.
        why: &'static str,
    },
}

/// What runs: a pair of the matrix, or a deliberately broken protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Selection {
    /// A supported pair.
    Pair(PairName),
    /// A canary under an architecture.
    Canary(ArchitectureName, CanaryName),
}

impl From<PairName> for Selection {
    fn from(pair: PairName) -> Self {
        Selection::Pair(pair)
    }
}

impl Selection {
    /// The architecture in either case.
    pub fn architecture(self) -> ArchitectureName {
        self.pair().architecture
    }

    /// The pair, or the one that the canary breaks.
    pub fn pair(self) -> PairName {
        match self {
            Selection::Pair(pair) => pair,
            Selection::Canary(architecture, canary) => PairName { architecture, protocol: canary.protocol() },
        }
    }

    /// Whether its histories are to be strictly serializable, or only serializable, with timestamps from there.
    pub fn is_strict(self, timestamps: TimestampsName) -> bool {
        self.pair().protocol.is_strict(timestamps)
    }
}

/// How an architecture uses its workers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrangement {
    /// How its store is laid out.
    pub layout: Layout,
    /// Workers that host transactions, each with a client: all, or all but dedicated servers.
    pub clients: usize,
    /// Parts of the keys that the clients are at home in ([`Seat::homes`]).
    pub homes: u32,
}

impl Arrangement {
    /// The seat of a client, `0..clients`.
    pub const fn seat(&self, client: usize, seed: u64) -> Seat {
        Seat::new(client, self.clients, seed).over(self.layout.partitions).at_home_in(self.homes)
    }
}

/// An option that does not fit the architecture or the number of workers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misfit {
    /// The option's name on the command line.
    pub option: &'static str,
    /// Its value.
    pub value: String,
    /// What is allowed, in words.
    pub allowed: String,
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}: allowed: {}", self.option, self.value, self.allowed)
    }
}

impl std::error::Error for Misfit {}

/// How a store is laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Layout {
    /// Physical partitions of every table, each with its own index, over memory that the partitions of a group share.
    pub partitions: u32,
    /// Groups of equally many partitions that follow each other, each with memory of its own: the instances of a deployment, or 1.
    pub instances: u32,
    /// What a record has before its row.
    pub header: Header,
    /// Epochs from one snapshot to the next; 0: records keep no previous versions, and there are no snapshots.
    pub snapshot_every: u64,
    /// Whether the system is asked for huge pages for what is worth one.
    pub huge_pages: bool,
}

impl Layout {
    /// So many partitions of records with narrow headers, in which most protocols have their metadata, without snapshots, over huge
    /// pages.
    pub const fn of(partitions: u32) -> Layout {
        Layout { partitions, instances: 1, header: Header::Narrow, snapshot_every: 0, huge_pages: true }
    }

    /// The same with partitions divided among so many instances.
    pub const fn with_instances(self, instances: u32) -> Layout {
        assert!(self.partitions.is_multiple_of(instances), "an instance has whole partitions");
        Layout { instances, ..self }
    }

    /// The same with the header that a protocol needs.
    pub const fn for_protocol(self, protocol: ProtocolName) -> Layout {
        Layout { header: protocol.header(), ..self }
    }

    /// The same with a snapshot every so many epochs; 0 for none.
    pub const fn with_snapshots(self, snapshot_every: u64) -> Layout {
        Layout { snapshot_every, ..self }
    }

    /// The same over huge pages, or over small ones alone.
    pub const fn with_huge_pages(self, huge_pages: bool) -> Layout {
        Layout { huge_pages, ..self }
    }
}

/// When a run ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// After `warmup`, which is not counted, and `duration`, which is.
    Interval {
        /// Not counted.
        warmup: Duration,
        /// Counted.
        duration: Duration,
    },
    /// After every worker has ended this many transactions; all are counted.
    Transactions(u64),
}

/// Choices that are the same for every pair. Results show them under the fields' names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct EngineOptions {
    /// Whose lines to ask for before they are needed.
    pub prefetch: PrefetchName,
    /// Seed of everything random.
    pub seed: u64,
    /// Retrying after an abort waits a random time below `back_off_first_ns`, doubled at each further attempt
    /// up to `back_off_cap_ns`: from half a microsecond to a millisecond by default. The cap is reached after eleven
    /// aborts in a row only; it has to be as long as the transactions in the way take at their longest, which is when
    /// there are more workers than cores or many in flight over few records: with a cap of 32 us, twelve transactions in
    /// flight over a hundred records aborted each other without end. Zero in both retries at once, as the papers'
    /// systems do.
    pub back_off_first_ns: u64,
    /// See `back_off_first_ns`.
    pub back_off_cap_ns: u64,
    /// A transaction that was aborted so many times gets precedence: the others let it go first, so that it ends. 256 by
    /// default: with random back-off hardly any comes so far. Zero for never, as in the papers' systems.
    pub precedence_after: u32,
    /// Protocols whose requests wait: how long a transaction waits for one lock before it takes its request back and aborts, with
    /// [`AbortReason::Timeout`](crate::AbortReason); zero: it never waits; `None`, the default: it waits for as long as it takes. The
    /// paper's DL_DETECT has 100 us (*thousand-cores* 4.2, figure 5).
    pub deadlock_timeout_ns: Option<u64>,
    /// DEADLOCK_FREE: lock all that a transaction's plan names, in the order of tables and keys, before it does anything (*orthrus* 4's
    /// "Deadlock free locking"). Not by default: each operation locks what it touches, and the procedure sorts them.
    pub preclaim: bool,
    /// VLL: look for blocked transactions behind the front of the queue that conflict with nobody ahead any more, whenever one leaves it
    /// (selective contention analysis). Not by default: the paper's VLL, and its VLL with SCA.
    pub selective_contention_analysis: bool,
    /// How long a transaction waits for one record before it asks whether it waits for ever, as it does if there is a
    /// defect; `None` for what the machine says, half a minute on the hardware.
    #[serde(skip)]
    pub patience: Option<Duration>,
    /// How often the global epoch advances; 40 ms in *silo* 4.1.
    #[serde(skip)]
    pub epoch_interval: Duration,
    /// Give every committed transaction an id ([`CommitId`](crate::CommitId)); not by default.
    pub commit_ids: bool,
    /// Draw every commit's id, asked for or not, from one counter that all share (*silo* 5.2: *GlobalTID*); not by default. Those of
    /// TICTOC are not drawn, nor those of TIMESTAMP, MVCC, HEKATON and CICADA, whose timestamps they are.
    pub global_ids: bool,
    /// When transactions arrive; `None`, the default: a closed loop, in which the next one is drawn when one has ended, as in the papers.
    pub open_loop: Option<OpenLoop>,
    /// Count by slices, too ([`Series`](crate::Series)). Not by default: it takes a line or two for each transaction.
    pub series: bool,
    /// Ask the processor's own counters of each worker, those that only serve among them, where the system gives any. Off by default: each is an open file, and four system calls of its worker, at
    /// the ends of the interval.
    pub counters: CountersName,
    /// One transaction in so many is timed class by class; 0 for none, 64 by default.
    pub sample_one_in: u32,
    /// Asymmetric delegation: workers that own partitions and host no transactions.
    pub servers: usize,
    /// ORTHRUS: workers that do concurrency control and host no transactions.
    pub cc_threads: usize,
    /// ORTHRUS: a concurrency-control thread forwards a transaction's request to the next once it has granted its own part, as by default;
    /// otherwise it answers, and the transaction asks the next (*orthrus* 3.3).
    pub forwarding: bool,
    /// ORTHRUS: which concurrency-control thread, or which part of their shared table, has the lock of a key is told by the key's hash, and not by the
    /// table's partition function. Not by default.
    pub locks_by_hash: bool,
    /// ORTHRUS: concurrency-control threads share one lock table, and each grants transactions all that they ask for; otherwise, by default,
    /// each has a table of its own, of its part of the keys (*orthrus* 3.4).
    pub shared_lock_table: bool,
    /// Shared-everything: instances among which workers and partitions are divided; a transaction that touches several commits in two phases
    /// (*hardware-islands*). One by default. Results have it as `instances_asked`, for their `instances` is the number.
    #[serde(rename = "instances_asked")]
    pub instances: Instances,
    /// By what they talk with each other.
    pub channel: ChannelName,
    /// Where workers run, on the hardware. On cores of their own by default.
    pub bind: BindingName,
    /// SILO in shared-everything: who reads a record that another transaction has locked to commit waits for it; otherwise he aborts
    /// (*hardware-islands* 6). By default.
    pub readers_wait: bool,
    /// Several instances: a transaction that can run in fragments does ([`Procedure::runs_in_fragments`](crate::Procedure::runs_in_fragments)); otherwise each of its
    /// operations elsewhere is a message. By default.
    pub one_shot: bool,
    /// A step of what instances do together that is left out, to be found; `None`: none is.
    #[serde(skip)]
    pub deployment_canary: Option<DeploymentCanary>,
    /// Transactions that a worker has begun and not ended, at most: under architectures with fibers, of instances, and under
    /// shared-everything.
    pub in_flight: InFlight,
    /// Partitioned serial execution: partitions of the tables; 0 for as many as there are workers. Fewer are latched by more
    /// workers, down to one for all (*silo* 5.4, figure 9).
    pub partitions: usize,
    /// Shared-everything and ORTHRUS: split the tables' indexes into as many parts as there are workers that host transactions, by the tables'
    /// partition functions (the *Split* variants of *silo* 5.4 and *orthrus* 4.3). Not by default.
    pub split_indexes: bool,
    /// Shared-everything: keep previous versions of records, so that procedures that ask for it read a snapshot
    /// ([`Procedure::reads_snapshot`](crate::Procedure::reads_snapshot)). Not by default.
    pub snapshots: bool,
    /// Epochs from one snapshot to the next, if there are any; 25, a second of them, as in *silo* 4.9.
    pub snapshot_every: u64,
    /// A step of snapshots that is left out, for tests; `None`: none is.
    #[serde(skip)]
    pub snapshot_canary: Option<SnapshotCanary>,
    /// Whether each transaction is one read or one write of a row that is there, as pairs without transactions ask for
    /// ([`Support::SingleRecords`]). It follows from the workload, and who says so of another has a panic coming.
    #[serde(skip)]
    pub single_records: bool,
    /// Write rows over what they were. Otherwise every row that is replaced goes to newly allocated memory, until its epoch has passed
    /// (*silo* 5.7). By default they are overwritten.
    pub overwrites: bool,
    /// Use memory again that unlinked records, versions and values have left (*silo* 4.8), as by default. Otherwise it is lost until a
    /// run does.
    pub reclaim: bool,
    /// Ask the system for huge pages for tables, indexes and versions (*silo* 5.1), as by default. Otherwise it is told to back them by small
    /// ones. Machines without pages have the first alone.
    pub huge_pages: bool,
    /// DORA: a worker offers one of its partitions to its neighbour whenever it has ended so many transactions; 0 for
    /// never.
    pub hand_over_every: u64,
    /// Shared-everything with DL_DETECT: the latch of a record's lock lists. It decides how the pair collapses when many
    /// want one record.
    pub latch: LatchName,
    /// How transactions get their timestamps under the protocols that order them by such, and where partitions go to the oldest; from the core's clock by default, which shares
    /// nothing. The paper's systems add atomically (*thousand-cores* 4.3).
    pub timestamps: TimestampsName,
    /// Partitioned serial execution: the latch of a partition; `None` for the one that suits
    /// ([`PartitionLatchName::for_workers`]).
    pub partition_latch: Option<PartitionLatchName>,
}

/// Snapshots with one step removed. Tests must reject each of them; on simulated machines, whose memory stays where it is when it is
/// freed too early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SnapshotCanary {
    /// Readers do not look whether a row has changed while they copied it.
    UncheckedCopy,
    /// Versions are freed one snapshot too early.
    EarlyReclamation,
    /// The last versions of rows that are deleted are not buried.
    NoBurial,
    /// What is written is said to be of the snapshot of the local epoch, whatever the commit's is.
    LocalEpoch,
    /// A version that was made ahead is linked, whoever has changed the row since.
    StaleVersion,
}

impl SnapshotCanary {
    /// Every one.
    pub const ALL: [SnapshotCanary; 5] = [
        SnapshotCanary::UncheckedCopy,
        SnapshotCanary::EarlyReclamation,
        SnapshotCanary::NoBurial,
        SnapshotCanary::LocalEpoch,
        SnapshotCanary::StaleVersion,
    ];
}

/// What instances do together, with one step removed. Tests must reject each of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeploymentCanary {
    /// A participant commits, and releases, when it votes.
    EarlyRelease,
    /// A coordinator decides by the first vote.
    EarlyDecision,
    /// An instance that is a process does not go on behind the ids that it is told of: each draws what its own clock, or counter, says.
    OwnIds,
    /// Times of several hosts are compared as if they were of one clock.
    OneClock,
}

impl DeploymentCanary {
    /// Every one.
    pub const ALL: [DeploymentCanary; 4] = [
        DeploymentCanary::EarlyRelease,
        DeploymentCanary::EarlyDecision,
        DeploymentCanary::OwnIds,
        DeploymentCanary::OneClock,
    ];

    /// Those of commit between nodes, whatever their clocks.
    pub const OF_COMMIT: [DeploymentCanary; 3] =
        [DeploymentCanary::EarlyRelease, DeploymentCanary::EarlyDecision, DeploymentCanary::OwnIds];

    /// Name on the command line and in results.
    pub const fn name(self) -> &'static str {
        match self {
            DeploymentCanary::EarlyRelease => "release-before-decision",
            DeploymentCanary::EarlyDecision => "decision-before-votes",
            DeploymentCanary::OwnIds => "ids-of-its-own",
            DeploymentCanary::OneClock => "one-clock",
        }
    }
}

impl Default for EngineOptions {
    fn default() -> Self {
        EngineOptions {
            prefetch: PrefetchName::On,
            seed: 1,
            back_off_first_ns: 500,
            back_off_cap_ns: 1_024_000,
            precedence_after: 256,
            deadlock_timeout_ns: None,
            preclaim: false,
            selective_contention_analysis: false,
            patience: None,
            epoch_interval: Duration::from_millis(40),
            commit_ids: false,
            global_ids: false,
            open_loop: None,
            series: false,
            counters: CountersName::Off,
            sample_one_in: 64,
            servers: 1,
            cc_threads: 1,
            forwarding: true,
            locks_by_hash: false,
            shared_lock_table: false,
            instances: Instances::ONE,
            channel: ChannelName::SharedMemory,
            bind: BindingName::Cores,
            readers_wait: true,
            one_shot: true,
            deployment_canary: None,
            in_flight: InFlight::Default,
            partitions: 0,
            split_indexes: false,
            snapshots: false,
            snapshot_every: 25,
            snapshot_canary: None,
            single_records: false,
            overwrites: true,
            reclaim: true,
            huge_pages: true,
            hand_over_every: 0,
            latch: LatchName::TestAndTestAndSet,
            timestamps: TimestampsName::Clock,
            partition_latch: None,
        }
    }
}

impl EngineOptions {
    /// What a store's layout says of snapshots ([`Layout::snapshot_every`]).
    pub fn snapshots_of_layout(&self) -> u64 {
        if self.snapshots { self.snapshot_every } else { 0 }
    }

    /// How many instances so many workers are divided among that have these sites, in their order ([`Instances::among`]).
    pub fn instances_among(&self, workers: usize, sites: &[Site]) -> Result<usize, Misfit> {
        let misfit = |allowed| Misfit { option: "instances", value: self.instances.to_string(), allowed };
        self.instances.among(workers, sites).map_err(misfit)
    }

    /// The latch of a partition, with so many workers on a machine of so many cores.
    pub fn latch_of_partitions(&self, workers: usize, cores: usize) -> PartitionLatchName {
        self.partition_latch.unwrap_or_else(|| PartitionLatchName::for_workers(workers, cores))
    }
}

/// What a run brought back.
pub struct RunOutcome<C> {
    /// The clients, in the order of their workers.
    pub clients: Vec<C>,
    /// What was measured.
    pub measurement: Measurement,
    /// Why the store's log could not be written, if so: the run has ended before its time, what was acknowledged is safe, and the
    /// store takes no transactions any more.
    pub log_failure: Option<String>,
    /// By which clocks the clients were told when their transactions began and ended.
    pub clocks: Clocks,
}

/// A run that ended before its time. What had committed has committed; a transaction at fault was undone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunError {
    /// A procedure touched a key in a partition of which its plan, made anew several times, named no key.
    Undeclared {
        /// The table's name.
        table: &'static str,
        /// The key.
        key: Key,
        /// Its partition.
        partition: PartitionId,
    },
    /// A procedure touched a key that its plan, made anew several times, did not name, where what is planned is locked ahead.
    Unplanned {
        /// The table's name.
        table: &'static str,
        /// The key; of one that is a byte string, [`Key::prefix_of`] it.
        key: Key,
    },
    /// The tables have grown until there was hardly any memory left.
    Memory {
        /// Bytes that the machine has left to give.
        available_bytes: u64,
    },
    /// The store's log could not be written: it takes no transactions any more.
    Log {
        /// What happened.
        why: String,
    },
    /// An instance that is a process of its own has dropped out.
    Lost(Lost),
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RunError::Undeclared { table, key, partition } => write!(
                f,
                "a procedure touched key {} of table '{table}', in partition {}, which its plan does not declare",
                key.0, partition.0
            ),
            RunError::Unplanned { table, key } => write!(
                f,
                "a procedure touched key {} of table '{table}', which its plan does not name; orthrus locks what is planned before \
                 a transaction begins: let the plan name all keys and ranges, or say that it leaves some open",
                key.0
            ),
            RunError::Memory { available_bytes } => write!(
                f,
                "the tables have grown until {:.2} GiB of memory were left; run for a shorter time, or fewer times",
                *available_bytes as f64 / (1u64 << 30) as f64
            ),
            RunError::Log { why } => {
                write!(f, "{why}; what was acknowledged is safe, and nothing is written any more")
            }
            RunError::Lost(lost) => lost.fmt(f),
        }
    }
}

impl std::error::Error for RunError {}

/// A store that cannot be loaded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum LoadError {
    /// The tables do not fit in memory.
    Memory {
        /// Bytes that the tables need, indexes included.
        needed_bytes: u64,
        /// Bytes that the machine has to give.
        available_bytes: u64,
    },
    /// The system refused a mapping that should have fitted.
    Refused {
        /// Bytes asked for.
        bytes: u64,
        /// The system's words.
        why: String,
    },
    /// The store is another program's, which cannot be started or does not take the rows.
    Elsewhere {
        /// What happened.
        why: String,
    },
    /// An instance that is a process of its own has dropped out.
    Lost(Lost),
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let gib = |bytes: u64| bytes as f64 / (1u64 << 30) as f64;
        match self {
            LoadError::Memory { needed_bytes, available_bytes } => write!(
                f,
                "the tables need {:.2} GiB of memory and {:.2} GiB are available; ask for smaller tables",
                gib(*needed_bytes),
                gib(*available_bytes)
            ),
            LoadError::Refused { bytes, why } => {
                write!(f, "the system refused a mapping of {:.2} GiB: {why}", gib(*bytes))
            }
            LoadError::Elsewhere { why } => f.write_str(why),
            LoadError::Lost(lost) => lost.fmt(f),
        }
    }
}

impl std::error::Error for LoadError {}

/// What a quiet store holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeakCheck {
    /// Records that the indexes reach.
    pub linked_records: u64,
    /// Records that are allocated: linked, or waiting in an epoch's garbage.
    pub allocated_records: u64,
    /// Rows that vary in length that are reached through linked records.
    pub linked_values: u64,
    /// Those that were made and are not retired.
    pub allocated_values: u64,
    /// Records and gaps whose metadata says that somebody holds them.
    pub held: u64,
    /// Bytes of memory taken, indexes included.
    pub memory_bytes: u64,
    /// Bytes with which linked records tell of their versions; 0 without snapshots.
    pub lineage_bytes: u64,
    /// The most bytes that previous versions of records have taken so far, the sum of what each slot had at most.
    pub most_version_bytes: u64,
    /// Bytes of those that are there. Nobody runs, so that nobody needs them; they go with the runs to come.
    pub version_bytes: u64,
    /// Bytes of rows that were replaced, where they are not overwritten, and of what is like them, that wait for their epochs.
    pub unlinked_bytes: u64,
}

impl LeakCheck {
    /// What this store holds and another one, of which each has a part of the rows.
    pub fn and(self, other: LeakCheck) -> LeakCheck {
        LeakCheck {
            linked_records: self.linked_records + other.linked_records,
            allocated_records: self.allocated_records + other.allocated_records,
            linked_values: self.linked_values + other.linked_values,
            allocated_values: self.allocated_values + other.allocated_values,
            held: self.held + other.held,
            memory_bytes: self.memory_bytes + other.memory_bytes,
            lineage_bytes: self.lineage_bytes + other.lineage_bytes,
            most_version_bytes: self.most_version_bytes + other.most_version_bytes,
            version_bytes: self.version_bytes + other.version_bytes,
            unlinked_bytes: self.unlinked_bytes + other.unlinked_bytes,
        }
    }
}
