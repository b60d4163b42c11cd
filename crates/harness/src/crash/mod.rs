//! Crashes: runs over a disk that keeps a journal, and what is recovered from it as it would be after a crash at any point.
//!
//! A run is explored: its interleaving follows from its seed, and so does all that is drawn. Afterwards, the disk is had as it may
//! be after a crash at some of its operations, as it is after the process has ended there, and with a bit flipped; from each of these
//! *crash points* a newly loaded store is recovered, and judged:
//!
//! - every commit that somebody had been told of is there: the epoch recovered is not before the last one acknowledged;
//! - what is there is a prefix of the serial order: the history of the transactions up to that epoch, read back from the store, is
//!   serializable, by the checker; or, of rows that are deleted and inserted again ([`history::churn`]), the rows are those of a model
//!   that applies these transactions in their order;
//! - indexes agree: as many records are linked as there are rows, and nothing is held;
//! - to open the recovered log again, and to crash while that is done, changes none of it.
//!
//! | file | what |
//! |---|---|
//! | `mod.rs` | what is drawn from a seed, and what is counted |
//! | `run.rs` | a run, over the engine |
//! | `judge.rs` | crash points, recovered and judged |

mod judge;
mod run;

pub use run::{CrashWorkload, run};

use contract::{Durability, PairName};
use serde::Serialize;
use std::collections::BTreeMap;

/// Name and version of [`CrashSummary`]'s fields.
pub const SCHEMA: &str = "trireme.crash/2";

/// What is drawn from a seed.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Plan {
    /// The seed.
    pub seed: u64,
    /// The system.
    pub system: String,
    /// The workload.
    pub workload: &'static str,
    /// Workers.
    pub workers: usize,
    /// Transactions of all workers together.
    pub transactions: u64,
    /// When a commit is acknowledged.
    pub durability: Durability,
    /// Threads that write.
    pub loggers: usize,
    /// Whether blocks are compressed.
    pub compress: bool,
    /// Bytes of a file.
    pub segment_bytes: u64,
    /// Nanoseconds of an epoch.
    pub epoch_ns: u64,
    /// Nanoseconds from one checkpoint to the next; 0: none is taken.
    pub checkpoint_every_ns: u64,
    /// Instances among which the workers are divided.
    pub instances: usize,
    /// Whether transactions run in fragments that can.
    pub one_shot: bool,
    /// Whether the disk fails, and at which operation.
    pub fault: Option<String>,
}

/// A crash point of which not all is right.
#[derive(Clone, Debug, Serialize)]
pub struct Find {
    /// What was drawn.
    pub plan: Plan,
    /// Where the disk was had.
    pub point: String,
    /// What is wrong.
    pub what: String,
}

impl Find {
    /// The engine panicked in the run of `seed`.
    pub fn panicked(seed: u64, pair: PairName, words: String) -> Find {
        let plan = Plan { seed, system: pair.to_string(), ..Plan::default() };
        Find { plan, point: "a panic".to_owned(), what: words }
    }
}

/// What a run showed.
#[derive(Clone, Debug, Default)]
pub struct Crashed {
    /// Crash points that were recovered and judged.
    pub points: u64,
    /// Those where something had been acknowledged.
    pub with_acknowledged: u64,
    /// Those where transactions of later epochs were left out.
    pub with_left_out: u64,
    /// Those where a checkpoint was loaded.
    pub with_checkpoint: u64,
    /// Those where a bit was flipped, and that was noticed.
    pub flips_noticed: u64,
    /// Those where a bit was flipped in what nobody needed.
    pub flips_harmless: u64,
    /// Runs in which the disk failed, and the log stopped.
    pub failed_disks: u64,
    /// Transactions that committed.
    pub commits: u64,
    /// Checkpoints taken beside them.
    pub checkpoints: u64,
    /// Runs of several instances.
    pub deployed: u64,
    /// What was found.
    pub find: Option<Find>,
}

impl Crashed {
    /// Adds another run's.
    pub fn add(&mut self, other: Crashed) {
        self.points += other.points;
        self.with_acknowledged += other.with_acknowledged;
        self.with_left_out += other.with_left_out;
        self.with_checkpoint += other.with_checkpoint;
        self.checkpoints += other.checkpoints;
        self.flips_noticed += other.flips_noticed;
        self.flips_harmless += other.flips_harmless;
        self.failed_disks += other.failed_disks;
        self.commits += other.commits;
        self.deployed += other.deployed;
        self.find = self.find.take().or(other.find);
    }
}

/// What `crash --json` prints.
#[derive(Clone, Debug, Serialize)]
pub struct CrashSummary {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// Whether every crash point was recovered as it should.
    pub passed: bool,
    /// The first run's seed; the others follow it.
    pub first_seed: u64,
    /// Runs made.
    pub runs: u64,
    /// Runs by system.
    pub systems: BTreeMap<String, u64>,
    /// See [`Crashed`].
    pub points: u64,
    /// See [`Crashed`].
    pub with_acknowledged: u64,
    /// See [`Crashed`].
    pub with_left_out: u64,
    /// See [`Crashed`].
    pub flips_noticed: u64,
    /// See [`Crashed`].
    pub flips_harmless: u64,
    /// See [`Crashed`].
    pub failed_disks: u64,
    /// See [`Crashed`].
    pub commits: u64,
    /// See [`Crashed`].
    pub checkpoints: u64,
    /// See [`Crashed`].
    pub with_checkpoint: u64,
    /// See [`Crashed`].
    pub deployed: u64,
    /// What was found, if something was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub find: Option<Find>,
}

/// The system of a run.
pub fn system_of(seed: u64, pairs: &[PairName]) -> PairName {
    pairs[(seed % pairs.len() as u64) as usize]
}
