//! What each round says, as it comes: `rows.jsonl`, a journal ([`crate::journal`]). A validation that was cut off goes on, and so
//! does one that is asked for more rounds.
//!
//! Every line is one system in one round: a list of what was measured and what was simulated.

use crate::failure::Failure;
use crate::journal::{Head, Journal, read_line};
use crate::options::RunOptions;
use crate::subject::Place;
use crate::summary::Summary;
use crate::text::numbers::counted;
use contract::{ChannelName, PairName};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

/// Name and version of the lines.
const SCHEMA: &str = "trireme.rows/1";

/// The first line: where the rows come from. Rows from elsewhere are not gone on with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Origin {
    schema: String,
    hardware: Place,
    simulated: Place,
    /// The fingerprint of the model of simulated machines.
    model: String,
    /// All but the number of rounds and of workers, which a later call may raise.
    options: BTreeMap<String, String>,
}

impl Origin {
    /// Rows of both machines with these options, by the model of this fingerprint.
    pub fn new(hardware: Place, simulated: Place, model: String, options: &RunOptions) -> Origin {
        let mut options = options.resolved();
        options.retain(|name, _| !["repeat", "workers"].contains(&name.as_str()));
        Origin { schema: SCHEMA.to_owned(), hardware, simulated, model, options }
    }
}

impl Head for Origin {
    fn continues(&self, line: &[u8]) -> Result<(), String> {
        let found: Origin = read_line(line)?;
        let differs = [
            ("schema", found.schema != self.schema),
            ("hardware", found.hardware != self.hardware),
            ("simulated machine", found.simulated != self.simulated),
            ("model of simulated machines", found.model != self.model),
        ];
        if let Some((what, _)) = differs.iter().find(|(_, differs)| *differs) {
            return Err(format!("the rows are of another {what}: allowed: the same"));
        }
        let other = self.options.iter().find(|(name, value)| found.options.get(*name) != Some(*value));
        match other {
            None => Ok(()),
            Some((name, value)) => {
                let then = found.options.get(name).map_or("none", String::as_str);
                Err(format!("the rows were measured with --{name} {then}: allowed: the same, not {value}"))
            }
        }
    }
}

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
    /// Instances among which they were divided; 1, as in rows from before it was told: it was no deployment.
    #[serde(default = "one")]
    pub instances: usize,
    /// By what the instances talk; nothing: there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel: Option<ChannelName>,
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
    /// Names of the checks that have failed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failed_checks: Vec<String>,
    /// What disturbed it.
    #[serde(flatten)]
    pub host: Host,
}

fn one() -> usize {
    1
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
        let failed = summary.checks.iter().filter(|check| !check.passed);
        Row {
            round,
            simulated: summary.simulated,
            workload: summary.workload.clone(),
            setting: setting.to_owned(),
            workers: summary.workers,
            instances: summary.instances,
            channel: (summary.instances > 1).then_some(summary.engine.channel),
            architecture: summary.architecture.clone(),
            protocol: summary.protocol.clone(),
            throughput_per_s: summary.throughput_per_s,
            mean_ns: summary.latency_ns.as_ref().filter(|_| summary.commits > 0).map(|of| of.mean),
            abort_rate: summary.abort_rate,
            retried_share: summary.retried_share,
            failed_checks: failed.map(|check| check.name.clone()).collect(),
            host,
        }
    }

    /// The checks that have failed, in words.
    pub(super) fn failures(&self) -> impl Iterator<Item = String> {
        let machine = if self.simulated { "simulated" } else { "measured" };
        let Row { architecture, protocol, workers, workload, setting, round, .. } = self;
        self.failed_checks.iter().map(move |check| {
            format!(
                "check failed: {check}: {architecture} {protocol}, {}, {workload} {setting}, {machine} in round {}",
                counted(*workers, "worker"),
                round + 1
            )
        })
    }

    /// Whether both are of the same system at the same point.
    pub(super) fn is_beside(&self, other: &Row) -> bool {
        (&self.workload, &self.setting, self.workers) == (&other.workload, &other.setting, other.workers)
            && (self.instances, self.channel) == (other.instances, other.channel)
            && (&self.architecture, &self.protocol) == (&other.architecture, &other.protocol)
    }
}

/// The rows of a validation, in memory and in a file.
pub struct Rows {
    journal: Journal,
    all: Vec<Row>,
}

impl Rows {
    /// The file's name in a result folder.
    pub const FILE_NAME: &str = "rows.jsonl";

    /// Goes on with the file, or begins it.
    pub fn open(folder: &Path, origin: &Origin) -> Result<Rows, Failure> {
        let (journal, lines) = Journal::open::<Vec<Row>>(folder, Rows::FILE_NAME, origin)?;
        Ok(Rows { journal, all: lines.into_iter().flatten().collect() })
    }

    /// Adds the rows of one system in one round. Once this returns they outlive a crash.
    pub fn add(&mut self, rows: Vec<Row>) -> Result<(), Failure> {
        self.journal.append(&rows)?;
        self.all.extend(rows);
        Ok(())
    }

    /// Whether the rows of one round are there of a system of so many instances, which talk over `channel` if they are several.
    pub fn has(
        &self,
        round: usize,
        (workload, setting): (&str, &str),
        workers: usize,
        (instances, channel): (usize, Option<ChannelName>),
        pair: PairName,
    ) -> bool {
        let (architecture, protocol) = (pair.architecture.to_string(), pair.protocol.to_string());
        self.all.iter().any(|row| {
            (row.round, row.workers) == (round, workers)
                && (row.instances, row.channel) == (instances, channel)
                && (row.workload.as_str(), row.setting.as_str()) == (workload, setting)
                && (&row.architecture, &row.protocol) == (&architecture, &protocol)
        })
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
    use contract::{ArchitectureName, ProtocolName};
    use std::fs;

    const PAIR: PairName =
        PairName { architecture: ArchitectureName::SharedEverything, protocol: ProtocolName::Silo };

    fn origin(options: &RunOptions) -> Origin {
        let simulated = Place::simulated("local".to_owned(), 2, "numbers".to_owned());
        Origin::new(Place::hardware(2), simulated, "model".to_owned(), options)
    }

    fn both(round: usize) -> Vec<Row> {
        [false, true]
            .map(|simulated| Row {
                round,
                protocol: PAIR.protocol.to_string(),
                ..row(&PAIR.architecture.to_string(), 1, simulated, 100.0)
            })
            .to_vec()
    }

    /// Cut at any byte: finished rounds are there, and the one that was torn is not.
    #[test]
    fn a_validation_that_was_cut_goes_on() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join(Rows::FILE_NAME);
        let options = RunOptions::for_compare(2);
        let mut rows = Rows::open(folder.path(), &origin(&options)).expect("a file");
        assert!(rows.all().is_empty());
        rows.add(both(0)).expect("written");
        let one = fs::read(&path).expect("a file");
        rows.add(both(1)).expect("written");
        drop(rows);
        let two = fs::read(&path).expect("a file");
        let more = RunOptions { repeat: 9, workers: 1, ..options };
        for torn_at in one.len()..=two.len() {
            fs::write(&path, &two[..torn_at]).expect("torn");
            let mut rows = Rows::open(folder.path(), &origin(&more)).expect("gone on with");
            let one = (1, None);
            let has = |rows: &Rows, round| rows.has(round, ("micro", "records=10"), 1, one, PAIR);
            assert_eq!((has(&rows, 0), has(&rows, 1)), (true, torn_at == two.len()), "torn at {torn_at}");
            let is_there = |setting, workers, of| rows.has(0, ("micro", setting), workers, of, PAIR);
            assert!(!is_there("records=10", 2, one) && !is_there("", 1, one));
            assert!(
                !is_there("records=10", 1, (2, Some(ChannelName::Unix))),
                "a deployment is another system"
            );
            if !has(&rows, 1) {
                rows.add(both(1)).expect("written");
            }
            assert_eq!(rows.all(), [both(0), both(1)].concat());
            assert_eq!(fs::read(&path).expect("a file"), two);
        }
    }

    #[test]
    fn rows_from_before_deployments_are_of_one_instance() {
        let row = serde_json::to_string(&both(0)[0]).expect("a row");
        let before = row.replace("\"instances\":1,", "");
        assert_ne!(before, row);
        assert_eq!(serde_json::from_str::<Row>(&before).expect("a row"), both(0)[0]);
        let deployed = Row { instances: 2, channel: Some(ChannelName::Tcp), ..both(0)[0].clone() };
        let again = serde_json::to_string(&deployed).expect("a row");
        assert!(again.contains("\"channel\":\"tcp\""), "{again}");
        assert_eq!(serde_json::from_str::<Row>(&again).expect("a row"), deployed);
        assert!(!deployed.is_beside(&both(0)[0]));
    }

    #[test]
    fn rows_from_elsewhere_are_not_gone_on_with() {
        let folder = tempfile::tempdir().expect("a folder");
        let options = RunOptions::for_compare(2);
        drop(Rows::open(folder.path(), &origin(&options)).expect("a file"));
        let refused = |origin: Origin| match Rows::open(folder.path(), &origin) {
            Ok(_) => panic!("gone on with"),
            Err(failure) => failure.to_string(),
        };
        let same = origin(&options);
        let places = [
            Origin { hardware: Place::hardware(64), ..same.clone() },
            Origin {
                simulated: Place::simulated("local".to_owned(), 2, "others".to_owned()),
                ..same.clone()
            },
            Origin { model: "another".to_owned(), ..same.clone() },
            Origin { schema: "trireme.rows/2".to_owned(), ..same },
        ];
        for (origin, what) in places.into_iter().zip(["hardware", "simulated machine", "model", "schema"]) {
            let words = refused(origin);
            assert!(words.contains(&format!("the rows are of another {what}")), "{words}");
        }
        let mut longer = options;
        longer.set("duration", "7s").expect("an option").expect("one of its values");
        let words = refused(origin(&longer));
        assert!(
            words.contains("the rows were measured with --duration ") && words.contains("not 7s"),
            "{words}"
        );
    }
}
