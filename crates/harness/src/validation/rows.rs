//! What each round says, line by line as it comes: `rows.jsonl`. A validation that is cut off leaves what it has measured.

use crate::failure::Failure;
use crate::summary::Summary;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

/// One system in one round, measured or simulated.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// From 0.
    pub round: usize,
    /// Whether the machine was simulated.
    pub simulated: bool,
    /// The workload's name.
    pub workload: String,
    /// Its parameters as they were set, such as `records=1000 writes=all`.
    pub setting: String,
    /// Workers.
    pub workers: usize,
    /// The architecture's name.
    pub architecture: String,
    /// The protocol's name.
    pub protocol: String,
    /// Committed transactions per second.
    pub throughput_per_s: f64,
    /// Mean commit latency; nothing where nothing committed.
    pub mean_ns: Option<f64>,
    /// Aborts per commit.
    pub abort_rate: f64,
    /// The part of the commits that had been aborted at least once.
    pub retried_share: f64,
    /// What disturbed it.
    #[serde(flatten)]
    pub host: Host,
}

/// What the host did to a measurement. Nothing to a simulation.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Host {
    /// The part of its workers' cores that others took meanwhile, 0 to 1.
    pub taken: f64,
    /// By what factor a line there and back between its workers was off the machine file's, just before.
    pub moved: f64,
}

impl Host {
    /// One that did nothing.
    pub const UNDISTURBED: Host = Host { taken: 0.0, moved: 1.0 };

    /// What others may take: the system counts in ticks, of which a round has some dozens.
    const QUIET: f64 = 0.1;
    /// Beyond this factor the cores are others than those that the machine file describes.
    const THERE: f64 = 1.25;

    /// How much it did: up to 1, a measurement counts.
    pub(super) fn disturbance(self) -> f64 {
        (self.taken / Host::QUIET).max(self.moved.ln() / Host::THERE.ln())
    }
}

impl Row {
    /// What `summary` says of one round.
    pub fn of(summary: &Summary, round: usize, setting: &str, host: Host) -> Row {
        Row {
            round,
            simulated: summary.simulated,
            workload: summary.workload.clone(),
            setting: setting.to_owned(),
            workers: summary.workers,
            architecture: summary.architecture.clone(),
            protocol: summary.protocol.clone(),
            throughput_per_s: summary.throughput_per_s,
            mean_ns: (summary.commits > 0).then_some(summary.latency_ns.mean),
            abort_rate: summary.abort_rate,
            retried_share: summary.retried_share,
            host,
        }
    }

    /// Whether both are of the same system at the same point.
    pub(super) fn is_beside(&self, other: &Row) -> bool {
        (&self.workload, &self.setting, self.workers) == (&other.workload, &other.setting, other.workers)
            && (&self.architecture, &self.protocol) == (&other.architecture, &other.protocol)
    }
}

/// The rows of a validation, in memory and in a file.
pub struct Rows {
    path: PathBuf,
    file: File,
    all: Vec<Row>,
}

impl Rows {
    /// The file's name in a result folder.
    pub const FILE_NAME: &str = "rows.jsonl";

    /// Begins the file anew.
    pub fn begin(folder: &Path) -> Result<Rows, Failure> {
        let path = folder.join(Rows::FILE_NAME);
        let file = File::create(&path).map_err(Failure::write(&path))?;
        Ok(Rows { path, file, all: Vec::new() })
    }

    /// Adds rows. Once this returns they outlive a crash.
    pub fn add(&mut self, rows: Vec<Row>) -> Result<(), Failure> {
        let line = |row: &Row| serde_json::to_string(row).expect("names and numbers") + "\n";
        let lines: String = rows.iter().map(line).collect();
        let write = |file: &mut File| file.write_all(lines.as_bytes()).and_then(|()| file.sync_data());
        write(&mut self.file).map_err(Failure::write(&self.path))?;
        self.all.extend(rows);
        Ok(())
    }

    /// All so far.
    pub fn all(&self) -> &[Row] {
        &self.all
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::row;
    use super::*;

    #[test]
    fn rows_lie_in_the_file_before_the_validation_ends() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut rows = Rows::begin(folder.path()).expect("a file");
        rows.add(vec![row("a", 1, false, 100.0), row("a", 1, true, 90.0)]).expect("written");
        rows.add(vec![row("b", 2, false, 50.0)]).expect("written");
        let text = std::fs::read_to_string(folder.path().join(Rows::FILE_NAME)).expect("a file");
        let read: Vec<Row> = text.lines().map(|line| serde_json::from_str(line).expect("a row")).collect();
        assert_eq!(read, rows.all());
        assert_eq!(read.len(), 3);
    }
}
