//! What a database is opened with.

use crate::database::Database;
use crate::error::Error;
use crate::retry::RetryPolicy;
use contract::{
    ArchitectureName, Durability, EngineOptions, LogOptions, PairName, PrefetchName, ProtocolName,
    RecoveryOptions,
};
use engine::embedded::OpenOptions;
use std::path::{Path, PathBuf};
use std::thread::available_parallelism;
use std::time::Duration;

/// What a database is opened with: each has a default that suits most.
#[derive(Clone, Debug)]
#[must_use = "a builder opens nothing before it is told to"]
pub struct Builder {
    architecture: ArchitectureName,
    protocol: ProtocolName,
    durability: Durability,
    epoch: Duration,
    loggers: usize,
    log_folders: Vec<PathBuf>,
    compress: bool,
    epochs_follow_disk: bool,
    checkpoint_after: u64,
    snapshots: bool,
    salvage: bool,
    slots: Option<usize>,
    memory_limit: Option<u64>,
    retry: RetryPolicy,
}

impl Default for Builder {
    fn default() -> Self {
        Builder {
            architecture: ArchitectureName::SharedEverything,
            protocol: ProtocolName::Silo,
            durability: Durability::Group,
            epoch: Duration::from_millis(10),
            loggers: 1,
            log_folders: Vec::new(),
            compress: false,
            epochs_follow_disk: false,
            checkpoint_after: 1 << 30,
            snapshots: false,
            salvage: false,
            slots: None,
            memory_limit: None,
            retry: RetryPolicy::FOREVER,
        }
    }
}

impl Builder {
    /// When a commit counts as durable: [`Durability::Group`] by default. [`Durability::None`] keeps everything in memory only.
    pub fn durability(self, durability: Durability) -> Builder {
        Builder { durability, ..self }
    }

    /// Which system of the engine runs the transactions: shared-everything SILO by default. Transactions run in the threads that ask,
    /// which not every architecture lets them.
    pub fn system(self, architecture: ArchitectureName, protocol: ProtocolName) -> Builder {
        Builder { architecture, protocol, ..self }
    }

    /// How often an epoch ends, 10 ms by default. A commit becomes durable at its end, and a sync later, with all others of its
    /// epoch; under [`Durability::Sync`] its epoch ends early for who waits for it, or awaits it, and under [`Durability::Buffered`] for who waits.
    pub fn epoch(self, epoch: Duration) -> Builder {
        Builder { epoch, ..self }
    }

    /// Whether an epoch lasts as long as a sync of the log takes lately, if that is longer; not by default. With [`Builder::epoch`] at a
    /// millisecond or less, a commit is then durable as soon as the disk lets it.
    pub fn epochs_follow_disk(self, follow: bool) -> Builder {
        Builder { epochs_follow_disk: follow, ..self }
    }

    /// Threads that write the log, each to files of its own; 1 by default, up to 1,024: other numbers are refused when it is opened.
    pub fn loggers(self, loggers: usize) -> Builder {
        Builder { loggers, ..self }
    }

    /// Folders that loggers write to, too, beside the database's own, on other disks.
    pub fn log_folders(self, folders: impl IntoIterator<Item = impl Into<PathBuf>>) -> Builder {
        Builder { log_folders: folders.into_iter().map(Into::into).collect(), ..self }
    }

    /// Whether the log is compressed (LZ4); not by default.
    pub fn compress(self, compress: bool) -> Builder {
        Builder { compress, ..self }
    }

    /// Bytes of the log after which a checkpoint is taken, or as many as the last checkpoint has, if that is more: 1 GiB by default; `u64::MAX`:
    /// only when asked to ([`Database::checkpoint`]). The longer the log, the longer it takes to open the database again.
    pub fn checkpoint_after(self, bytes: u64) -> Builder {
        Builder { checkpoint_after: bytes, ..self }
    }

    /// Whether previous versions of rows are kept, so that snapshots can be read ([`Database::snapshot`]); not by default. A row then has 16
    /// bytes more, and is copied when it is first changed after a snapshot, one of which is made every 25 epochs.
    pub fn snapshots(self, snapshots: bool) -> Builder {
        Builder { snapshots, ..self }
    }

    /// Whether a log that is corrupt is recovered up to there, instead of refused; not by default. What was lost
    /// [`Database::recovered`] tells.
    pub fn salvage(self, salvage: bool) -> Builder {
        Builder { salvage, ..self }
    }

    /// Transactions and snapshots that there may be at once: further ones wait. Four for each core, and 64 at least, by default; up to 1,024.
    pub fn slots(self, slots: usize) -> Builder {
        Builder { slots: Some(slots), ..self }
    }

    /// Bytes of memory, tables and indexes together, from which on nothing is added: [`Error::Memory`]. Memory is taken in chunks, so a
    /// little more may be taken. What was deleted is given back a few epochs later, with [`Builder::snapshots`] some fifty. By default as much
    /// as there is.
    pub fn memory_limit(self, bytes: u64) -> Builder {
        Builder { memory_limit: Some(bytes), ..self }
    }

    /// How often an aborted transaction is run again: until it commits, by default.
    pub fn retry(self, policy: RetryPolicy) -> Builder {
        Builder { retry: policy, ..self }
    }

    /// Opens the database in a folder, which is made if it is not there.
    pub fn open(&self, folder: impl AsRef<Path>) -> Result<Database, Error> {
        let mut log = LogOptions::new(self.durability, folder.as_ref());
        log.folders.extend(self.log_folders.iter().cloned());
        (log.loggers, log.compress) = (self.loggers, self.compress);
        log.epochs_follow_disk = self.epochs_follow_disk;
        log.checkpoint_bytes = Some(self.checkpoint_after);
        log.origin = "trireme::Database".to_owned();
        self.open_with((self.durability != Durability::None).then_some(log))
    }

    /// Opens a database that has no folder, whatever its durability.
    pub fn in_memory(&self) -> Result<Database, Error> {
        self.open_with(None)
    }

    fn open_with(&self, log: Option<LogOptions>) -> Result<Database, Error> {
        let cores = available_parallelism().map_or(1, usize::from);
        let slots = self.slots.unwrap_or_else(|| (4 * cores).max(64)).clamp(1, 1024);
        let engine = EngineOptions {
            epoch_interval: self.epoch.max(Duration::from_micros(100)),
            sample_one_in: 0,
            prefetch: PrefetchName::On,
            snapshots: self.snapshots,
            ..EngineOptions::default()
        };
        let options = OpenOptions {
            pair: PairName { architecture: self.architecture, protocol: self.protocol },
            slots,
            log,
            recovery: RecoveryOptions { salvage: self.salvage, ..RecoveryOptions::default() },
            engine,
        };
        Database::open_with(&options, self.retry, self.memory_limit)
    }
}
