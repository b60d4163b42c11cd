//! Durability: which commits survive what, and what recovery says of them.
//!
//! | level | a commit is acknowledged when | survives |
//! |---|---|---|
//! | `none` | it is installed | nothing |
//! | `buffered` | its epoch was written to the log's files | the process |
//! | `group` | its epoch was synced | the machine |
//! | `sync` | its epoch, which closes early for who waits for it, was synced | the machine |

use crate::instances::Lost;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

/// When a commit is acknowledged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Durability {
    /// When it is installed: nothing is logged.
    #[default]
    None,
    /// When its epoch was written, not synced: it survives the process, not the machine.
    Buffered,
    /// When its epoch was synced, with all others of the epoch (*silo* 4.10).
    Group,
    /// The same, and it does not wait for the epoch's end: the epoch closes early for who waits for it.
    Sync,
}

impl Durability {
    /// Every level, from the weakest on.
    pub const ALL: [Durability; 4] =
        [Durability::None, Durability::Buffered, Durability::Group, Durability::Sync];

    /// Name on the command line and in results.
    pub const fn name(self) -> &'static str {
        match self {
            Durability::None => "none",
            Durability::Buffered => "buffered",
            Durability::Group => "group",
            Durability::Sync => "sync",
        }
    }

    /// Whether epochs are synced before they are acknowledged.
    pub const fn syncs(self) -> bool {
        matches!(self, Durability::Group | Durability::Sync)
    }
}

impl fmt::Display for Durability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Durability {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let found = Durability::ALL.into_iter().find(|level| level.name() == name);
        found.ok_or_else(|| Durability::ALL.map(Durability::name).join(", "))
    }
}

/// Logging or recovery with one step left out, which a crash test must find.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DurabilityCanary {
    /// A logger publishes an epoch before it has written and synced it.
    PublishBeforeSync,
    /// Recovery takes one epoch more than is durable.
    OneEpochTooMany,
    /// Recovery does not look at the checksums of blocks.
    UncheckedChecksum,
    /// Recovery from a checkpoint skips what the log says was deleted, as if the checkpoint had no such row.
    ForgetsADelete,
    /// A checkpoint counts as soon as its files are synced, also if what its rows have of later epochs is not durable yet.
    UndurableCheckpoint,
    /// A log that was recovered goes on, and what it was recovered from is not synced.
    UnsyncedRecovery,
    /// A branch of a transaction of several instances is logged in the epoch in which it was prepared, and not in that of the transaction.
    BranchEpochs,
    /// An instance that is a process acknowledges what is durable there, and may not be at the others.
    LocalAcknowledgement,
}

impl DurabilityCanary {
    /// Every one.
    pub const ALL: [DurabilityCanary; 8] = [
        DurabilityCanary::PublishBeforeSync,
        DurabilityCanary::OneEpochTooMany,
        DurabilityCanary::UncheckedChecksum,
        DurabilityCanary::ForgetsADelete,
        DurabilityCanary::UndurableCheckpoint,
        DurabilityCanary::UnsyncedRecovery,
        DurabilityCanary::BranchEpochs,
        DurabilityCanary::LocalAcknowledgement,
    ];

    /// Name on the command line and in results.
    pub const fn name(self) -> &'static str {
        match self {
            DurabilityCanary::PublishBeforeSync => "publish-before-sync",
            DurabilityCanary::OneEpochTooMany => "one-epoch-too-many",
            DurabilityCanary::UncheckedChecksum => "unchecked-checksum",
            DurabilityCanary::ForgetsADelete => "forgets-a-delete",
            DurabilityCanary::UndurableCheckpoint => "undurable-checkpoint",
            DurabilityCanary::UnsyncedRecovery => "unsynced-recovery",
            DurabilityCanary::BranchEpochs => "branch-epochs",
            DurabilityCanary::LocalAcknowledgement => "local-acknowledgement",
        }
    }
}

impl FromStr for DurabilityCanary {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let found = DurabilityCanary::ALL.into_iter().find(|canary| canary.name() == name);
        found.ok_or_else(|| DurabilityCanary::ALL.map(DurabilityCanary::name).join(", "))
    }
}

/// How a store is logged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogOptions {
    /// When a commit is acknowledged; not [`Durability::None`].
    pub level: Durability,
    /// Where the log's files are: logger `n` writes to folder `n` modulo their number. The first has the manifest, too.
    pub folders: Vec<PathBuf>,
    /// Threads that write, each to files of its own; from 1 to [`LogOptions::MOST_LOGGERS`].
    pub loggers: usize,
    /// Compress blocks (LZ4).
    pub compress: bool,
    /// Whether an epoch lasts at least as long as a sync has taken lately, if that is longer than it would.
    pub epochs_follow_disk: bool,
    /// Bytes after which a logger goes on with another file.
    pub segment_bytes: u64,
    /// How often a checkpoint is taken beside the transactions of a run; `None`: never.
    pub checkpoint_every: Option<Duration>,
    /// After how many bytes of the log a checkpoint is taken, or as many as the last one has, if that is more: so the log is never much
    /// longer than the store is large. `None`: at no length.
    pub checkpoint_bytes: Option<u64>,
    /// What the log begins from, in the words of whoever opens it; recovery gives it back.
    pub origin: String,
    /// A step that is left out, for crash tests.
    pub canary: Option<DurabilityCanary>,
}

impl LogOptions {
    /// More loggers do not write a log.
    pub const MOST_LOGGERS: usize = 1 << 10;

    /// One logger that writes to `folder`, in segments of 256 MiB, uncompressed.
    pub fn new(level: Durability, folder: impl Into<PathBuf>) -> LogOptions {
        LogOptions {
            level,
            folders: vec![folder.into()],
            loggers: 1,
            compress: false,
            epochs_follow_disk: false,
            segment_bytes: 256 << 20,
            checkpoint_every: None,
            checkpoint_bytes: None,
            origin: String::new(),
            canary: None,
        }
    }
}

/// What a log has taken since it was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogReport {
    /// The last epoch all of whose commits are durable.
    pub durable_epoch: u64,
    /// Bytes written, after compression.
    pub bytes: u64,
    /// Bytes before compression.
    pub raw_bytes: u64,
    /// Times that a file was synced.
    pub syncs: u64,
    /// The longest sync, in nanoseconds.
    pub longest_sync_ns: u64,
    /// Checkpoints taken.
    #[serde(default)]
    pub checkpoints: u64,
    /// The last of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_checkpoint: Option<CheckpointReport>,
}

impl LogReport {
    /// What this and another log have taken together; checkpoints and epochs are those of the other.
    pub fn beside(self, other: LogReport) -> LogReport {
        LogReport {
            bytes: self.bytes + other.bytes,
            raw_bytes: self.raw_bytes + other.raw_bytes,
            syncs: self.syncs + other.syncs,
            longest_sync_ns: self.longest_sync_ns.max(other.longest_sync_ns),
            checkpoints: self.checkpoints + other.checkpoints,
            last_checkpoint: other.last_checkpoint.or(self.last_checkpoint),
            ..other
        }
    }
}

/// A checkpoint that was taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckpointReport {
    /// The epoch from which on the log is replayed over it.
    pub from_epoch: u64,
    /// The epoch up to which it must be: its rows may have what was committed by then.
    pub to_epoch: u64,
    /// Rows.
    pub rows: u64,
    /// Bytes of its files.
    pub bytes: u64,
    /// Files.
    pub files: u64,
    /// How long it took, in nanoseconds; 0 if that is not known.
    pub took_ns: u64,
}

/// A copy of a store's checkpoint and log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Backup {
    /// All that committed in this epoch or before is in it, and nothing of a later one.
    pub epoch: u64,
    /// Files.
    pub files: u64,
    /// Bytes of them.
    pub bytes: u64,
}

/// How a log is recovered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecoveryOptions {
    /// Threads; 0 for as many as there are cores.
    pub threads: usize,
    /// Of a log that is corrupt, recover the longest prefix of epochs that is intact, instead of refusing it.
    pub salvage: bool,
    /// Nothing of a later epoch: other instances have lost it; `None`: all that is durable.
    pub up_to: Option<u64>,
    /// A step that is left out, for crash tests.
    pub canary: Option<DurabilityCanary>,
}

/// What a log's manifest says of it: the log itself is not read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogManifest {
    /// [`LogOptions::origin`].
    pub origin: String,
    /// The checkpoint from which it is recovered.
    pub checkpoint: Option<CheckpointReport>,
}

/// What was recovered.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recovered {
    /// The last epoch that was recovered: all commits up to it, and none after it.
    pub epoch: u64,
    /// The checkpoint that was loaded, before the log from its first epoch on was replayed; how long it took to load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkpoint: Option<CheckpointReport>,
    /// Transactions that were replayed.
    pub transactions: u64,
    /// Rows inserted, changed and deleted by them.
    pub records: u64,
    /// Transactions of later epochs, which nobody was told of: left out.
    pub left_out: u64,
    /// Bytes of the log read.
    pub bytes: u64,
    /// Files of the log.
    pub files: u64,
    /// How long it took to read the log's files and to check them.
    #[serde(default)]
    pub reading: Duration,
    /// How long it took: to load the checkpoint, if there is one, to read the log, and to replay it.
    pub elapsed: Duration,
    /// What a salvaged log lost, in words; empty if it was intact.
    pub lost: String,
    /// [`LogOptions::origin`] of the log.
    pub origin: String,
}

impl Recovered {
    /// What this and another instance have recovered, up to the same epoch.
    pub fn beside(self, other: Recovered) -> Recovered {
        Recovered {
            epoch: self.epoch.min(other.epoch),
            transactions: self.transactions + other.transactions,
            records: self.records + other.records,
            left_out: self.left_out + other.left_out,
            bytes: self.bytes + other.bytes,
            files: self.files + other.files,
            reading: self.reading.max(other.reading),
            elapsed: self.elapsed.max(other.elapsed),
            lost: [self.lost, other.lost].into_iter().find(|lost| !lost.is_empty()).unwrap_or_default(),
            ..self
        }
    }
}

/// What a log has, without a store.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogInspection {
    /// The log's own name, in hexadecimal digits.
    pub log: String,
    /// Times that it had been opened before.
    pub generation: u32,
    /// Its tables, in words.
    pub tables: Vec<String>,
    /// Up to which epoch each earlier generation counts.
    pub earlier: Vec<u64>,
    /// [`LogOptions::origin`].
    pub origin: String,
    /// The checkpoint from which it is recovered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkpoint: Option<CheckpointReport>,
    /// The checkpoint's files.
    #[serde(default)]
    pub checkpoint_files: Vec<InspectedRows>,
    /// The log's own files.
    pub files: Vec<InspectedFile>,
    /// The last epoch that all loggers of the last generation have marked; 0 if there is none.
    pub durable_epoch: u64,
    /// Of the log of an instance that is a process: the last epoch up to which everything is durable at all of them, as its marks say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub durable_everywhere: Option<u64>,
}

/// Where the log of an instance that is a process ends, in epochs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogEnd {
    /// The last epoch of which it has everything.
    pub durable: u64,
    /// The last one that it says to be durable at all instances.
    pub everywhere: u64,
}

impl LogEnd {
    /// Of a log that was looked at.
    pub fn of(log: &LogInspection) -> LogEnd {
        LogEnd {
            durable: log.durable_epoch.max(log.earlier.last().copied().unwrap_or(0)),
            everywhere: log.durable_everywhere.unwrap_or(0),
        }
    }

    /// The epoch at which the logs of all instances are cut: the last of which each has everything. What is of a later one nobody was told of. An error if one of
    /// them has lost what another says it had.
    pub fn common(all: &[LogEnd]) -> Result<u64, LogError> {
        let (short, up_to) = (0..)
            .zip(all)
            .map(|(instance, end)| (instance, end.durable))
            .min_by_key(|end| end.1)
            .unwrap_or((0, 0));
        let known = all.iter().map(|end| end.everywhere).max().unwrap_or(0);
        if up_to < known {
            let why = format!(
                "instance {short}: the log ends at epoch {up_to}, and was durable up to epoch {known}, as others say"
            );
            return Err(LogError::Refused { why });
        }
        Ok(up_to)
    }
}

/// What a file of a checkpoint has.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct InspectedRows {
    /// Where it is.
    pub path: PathBuf,
    /// Its bytes, as the manifest says.
    pub bytes: u64,
    /// Its rows, as the manifest says.
    pub rows: u64,
    /// The byte at which something is wrong, and what.
    pub wrong: Option<(u64, String)>,
}

/// What a file of a log has.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct InspectedFile {
    /// Where it is.
    pub path: PathBuf,
    /// Of which generation.
    pub generation: u32,
    /// Which logger wrote it.
    pub logger: u32,
    /// Its number among the logger's.
    pub segment: u64,
    /// Its bytes.
    pub bytes: u64,
    /// Blocks of transactions.
    pub blocks: u64,
    /// Transactions in them.
    pub transactions: u64,
    /// Rows that they inserted, changed and deleted.
    pub records: u64,
    /// The last epoch that it marks; 0 if none.
    pub marked: u64,
    /// Of the log of an instance that is a process: the last epoch that its marks say to be durable at all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub everywhere: Option<u64>,
    /// The byte at which something is wrong, and what; a tail that a crash has torn, too.
    pub wrong: Option<(u64, String)>,
}

/// What is wrong with a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogError {
    /// A file could not be read or written.
    Io {
        /// What was done.
        what: &'static str,
        /// To which file or folder.
        path: PathBuf,
        /// The system's words.
        why: String,
    },
    /// A new log is to begin where one is.
    Occupied {
        /// The folder.
        folder: PathBuf,
    },
    /// There is no log.
    Nothing {
        /// The folder.
        folder: PathBuf,
    },
    /// Somebody else has the log open.
    Locked {
        /// The folder.
        folder: PathBuf,
    },
    /// Bytes that were synced are not what was written.
    Corrupt {
        /// The file.
        file: PathBuf,
        /// The byte at which what is wrong begins.
        offset: u64,
        /// What is wrong.
        why: String,
    },
    /// The log is not this store's.
    Mismatch {
        /// What differs: what the log says, and what the store says.
        why: String,
    },
    /// The log, or the store, cannot go on.
    Refused {
        /// Why.
        why: String,
    },
    /// Another instance, a process of its own, has an error.
    Elsewhere {
        /// Its number.
        instance: usize,
        /// Its error, in words.
        why: String,
        /// Whether other input would help there ([`LogError::is_of_input`]).
        is_of_input: bool,
    },
    /// An instance that is a process of its own has dropped out.
    Lost(Lost),
}

impl LogError {
    /// Whether other input would help: not against files that cannot be read or written or are corrupt, nor against an instance that has dropped out.
    pub fn is_of_input(&self) -> bool {
        match self {
            LogError::Io { .. } | LogError::Corrupt { .. } | LogError::Lost(_) => false,
            LogError::Elsewhere { is_of_input, .. } => *is_of_input,
            LogError::Occupied { .. }
            | LogError::Nothing { .. }
            | LogError::Locked { .. }
            | LogError::Mismatch { .. }
            | LogError::Refused { .. } => true,
        }
    }
}

impl fmt::Display for LogError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LogError::Io { what, path, why } => write!(f, "could not {what} {}: {why}", path.display()),
            LogError::Occupied { folder } => write!(
                f,
                "folder {} has a log already; recover it, or name an empty folder",
                folder.display()
            ),
            LogError::Nothing { folder } => write!(f, "folder {} has no log", folder.display()),
            LogError::Locked { folder } => {
                write!(f, "the log in {} is open in another process", folder.display())
            }
            LogError::Corrupt { file, offset, why } => {
                write!(f, "the log is corrupt: file {}, byte {offset}: {why}", file.display())
            }
            LogError::Mismatch { why } => write!(f, "the log is of another store: {why}"),
            LogError::Refused { why } => f.write_str(why),
            LogError::Elsewhere { instance, why, .. } => write!(f, "instance {instance}: {why}"),
            LogError::Lost(lost) => lost.fmt(f),
        }
    }
}

impl std::error::Error for LogError {}

#[cfg(test)]
mod tests {
    use super::Durability;

    #[test]
    fn levels_are_read_by_their_names() {
        for level in Durability::ALL {
            assert_eq!(level.name().parse(), Ok(level));
        }
        assert_eq!("full".parse::<Durability>(), Err("none, buffered, group, sync".to_owned()));
    }
}
