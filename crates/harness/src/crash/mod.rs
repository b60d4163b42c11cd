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
//! **Nodes.** If one node is to be killed, or channels are to lose what is sent ([`Scenario`]), every run is of several instances, each a program of its own with its own log, and the
//! disk that they share has a folder for each. Then the survivors are judged, too:
//!
//! - every one of them comes to its end: nobody waits for ever for the dead, or the lost;
//! - who does not end well has lost an instance, and the one that is named is the one that was killed;
//! - none of them holds a record or a gap.
//!
//! And at the run's end there is one crash point more, at which the machine of the killed node alone has crashed.
//!
//! | file | what |
//! |---|---|
//! | `mod.rs` | what is drawn from a seed, and what is counted |
//! | `run.rs` | a run, over the engine |
//! | `nodes.rs` | the engine over several nodes, and what happens to them |
//! | `judge.rs` | crash points, recovered and judged |

mod judge;
pub mod nodes;
mod run;

pub use run::{CrashWorkload, run};

use contract::{DeploymentCanary, Durability, DurabilityCanary, InFlight, PairName};
use serde::Serialize;
use std::collections::BTreeMap;

/// Name and version of [`CrashSummary`]'s fields.
pub const SCHEMA: &str = "trireme.crash/3";

/// Who dies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Killed {
    /// All that runs, at the same moment.
    #[default]
    All,
    /// One node, while the others go on.
    Node,
}

impl Killed {
    /// Every one.
    pub const ALL: [Killed; 2] = [Killed::All, Killed::Node];

    /// Name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Killed::All => "all",
            Killed::Node => "node",
        }
    }
}

/// What happens in all runs.
#[derive(Clone, Copy, Debug, Default)]
pub struct Scenario {
    /// Who dies.
    pub killed: Killed,
    /// Whether channels lose, delay, reorder and duplicate what is sent.
    pub channel_faults: bool,
    /// A step of logging or recovery that is left out.
    pub canary: Option<DurabilityCanary>,
    /// A step of two-phase commit that is left out.
    pub deployment_canary: Option<DeploymentCanary>,
}

impl Scenario {
    /// Whether instances are nodes.
    pub fn is_of_nodes(&self) -> bool {
        self.killed == Killed::Node || self.channel_faults
    }
}

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
    /// Transactions that a worker has in flight.
    pub in_flight: InFlight,
    /// Whether the disk fails, and at which operation.
    pub fault: Option<String>,
    /// The node that is killed, if one is, and when and how.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kill: Option<String>,
    /// What goes wrong on channels, if anything does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub channel_faults: Option<String>,
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
    /// Runs in which a node was killed before it had ended.
    pub killed_nodes: u64,
    /// Runs that ended because an instance was lost.
    pub lost: u64,
    /// Pieces of messages that channels lost, delayed, reordered or duplicated.
    pub channel_faults: u64,
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
        self.killed_nodes += other.killed_nodes;
        self.lost += other.lost;
        self.channel_faults += other.channel_faults;
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
    /// See [`Crashed`].
    pub killed_nodes: u64,
    /// See [`Crashed`].
    pub lost: u64,
    /// See [`Crashed`].
    pub channel_faults: u64,
    /// What was found, if something was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub find: Option<Find>,
}

/// The system of a run.
pub fn system_of(seed: u64, pairs: &[PairName]) -> PairName {
    pairs[(seed % pairs.len() as u64) as usize]
}
