//! Whether what commits is logged, and how.

use contract::{Durability, LogOptions};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

/// How the stores of a measurement are logged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Logging {
    /// When a commit is acknowledged.
    pub level: Durability,
    /// Where the log's files are; none if nothing is logged.
    pub folders: Vec<PathBuf>,
    /// Threads that write.
    pub loggers: usize,
    /// Whether blocks are compressed.
    pub compress: bool,
    /// Whether epochs last as long as syncs at least.
    pub epochs_follow_disk: bool,
    /// How often a checkpoint is taken; `None`: never.
    pub checkpoint_every: Option<Duration>,
    /// Whether every store has a log of its own, in a folder below, which goes when the store does.
    pub each_apart: bool,
    /// What the log is of, for recovery: the workload's name and parameters.
    pub origin: Origin,
}

/// What a log begins from: a workload's tables as they were loaded.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// The workload's name.
    pub workload: String,
    /// Its effective parameters.
    pub parameters: BTreeMap<String, String>,
    /// If each instance of a deployment is a process, with a log of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nodes: Option<Nodes>,
}

/// How tables are divided among processes, each of which logs its own part.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Nodes {
    /// How many there are.
    pub nodes: usize,
    /// Which of them this is.
    pub number: usize,
    /// Workers of all of them together: partitions of the tables.
    pub workers: usize,
    /// The run's name, which no other run has.
    pub run: String,
}

impl Default for Logging {
    fn default() -> Self {
        Logging {
            level: Durability::None,
            folders: Vec::new(),
            loggers: 1,
            compress: false,
            epochs_follow_disk: false,
            checkpoint_every: None,
            each_apart: false,
            origin: Origin::default(),
        }
    }
}

impl Logging {
    /// Refuses a level without a folder, and a folder or checkpoints without a level; in words.
    pub fn admit(&self) -> Result<(), String> {
        match (self.level, self.folders.is_empty()) {
            (Durability::None, false) => {
                Err("--log is for a level that logs: add --durability buffered, group or sync".to_owned())
            }
            (Durability::None, true) if self.checkpoint_every.is_some() => Err(
                "--checkpoint-every is for a log: add --durability buffered, group or sync, and --log FOLDER"
                    .to_owned(),
            ),
            (Durability::None, true) | (_, false) => Ok(()),
            (level, true) => {
                Err(format!("--durability {level} needs a folder for the log: add --log FOLDER"))
            }
        }
    }

    /// What the engine is told of the log of a store; `None`: nothing is logged.
    pub fn of_store(&self, store: u64) -> Option<LogOptions> {
        if self.level == Durability::None {
            return None;
        }
        let below = |folder: &PathBuf| match self.each_apart {
            true => folder.join(format!("store-{store}")),
            false => folder.clone(),
        };
        let folders = self.folders.iter().map(below).collect();
        let origin = serde_json::to_string(&self.origin).expect("strings");
        let Logging { level, loggers, compress, epochs_follow_disk, checkpoint_every, .. } = *self;
        let options = LogOptions::new(level, PathBuf::new());
        Some(LogOptions {
            folders,
            loggers,
            compress,
            epochs_follow_disk,
            checkpoint_every,
            origin,
            ..options
        })
    }

    /// The folders, as [`Logging::read_folders`] takes them.
    pub fn show_folders(&self) -> String {
        match &self.folders[..] {
            [] => "none".to_owned(),
            folders => {
                folders.iter().map(|folder| folder.display().to_string()).collect::<Vec<_>>().join(",")
            }
        }
    }

    /// Folders between commas, or `none`.
    pub fn read_folders(value: &str) -> Result<Vec<PathBuf>, String> {
        match value {
            "none" => Ok(Vec::new()),
            folders if folders.split(',').all(|folder| !folder.is_empty()) => {
                Ok(folders.split(',').map(PathBuf::from).collect())
            }
            _ => Err("a folder, or several between commas".to_owned()),
        }
    }
}
