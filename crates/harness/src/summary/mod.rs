//! The summary of one system's measurement: the object that `--json` prints and `summary.json` holds.
//!
//! Fields may be added under one [`SCHEMA`]; a field that goes or changes its meaning makes a new one.

mod arrivals;
mod checks;
mod comparison;
mod costs;
mod division;
mod kinds;
mod latency;
mod measured;
mod memory;
pub mod noise;
mod time_shares;
mod turns;
pub mod warnings;

pub use arrivals::{Arrivals, LatencyOf};
pub use checks::Check;
pub use comparison::{COMPARISON_SCHEMA, Comparison, Row, Unmeasured, in_lines};
pub use costs::{COSTS, CostDescription, Costs, Unit};
pub use division::{ChosenThreads, Tried};
pub use kinds::Kind;
pub use latency::Latency;
pub use measured::Measured;
pub use memory::Memory;
pub use time_shares::TimeShares;
pub use turns::{Group, Turns};

use crate::options::OptionDescription;
use crate::subject::Subject;
use crate::text::names;
use crate::text::numbers::{counted, percent};
use contract::{AbortReason, LatencyHistogram, Measurement, Sampled, TimeShare};
use contract::{Durability, EngineOptions, Instances, LogReport, PairName};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Name and version of [`Summary`]'s fields.
pub const SCHEMA: &str = "trireme.run/5";

/// A log, and what it has taken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Logged {
    /// Where.
    pub folders: Vec<PathBuf>,
    /// Threads that wrote.
    pub loggers: usize,
    /// Whether blocks were compressed.
    pub compress: bool,
    /// How often the epoch advanced, in microseconds.
    pub epoch_us: u64,
    /// How often a checkpoint was to be taken, in microseconds; not there if never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkpoint_every_us: Option<u64>,
    /// What it has taken.
    #[serde(flatten)]
    pub report: LogReport,
}

/// What was measured of one system.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// [`SCHEMA`].
    pub schema: String,
    /// True: the system was measured. The rows of a comparison that were not are [`Unmeasured`].
    pub supported: bool,
    /// The architecture's name.
    pub architecture: String,
    /// The protocol's name.
    pub protocol: String,
    /// The workload's name.
    pub workload: String,
    /// Workers.
    pub workers: usize,
    /// Instances among which they were divided, of `instances_asked`; 1: it was no deployment.
    pub instances: usize,
    /// `hardware`, or the name of a simulated machine.
    pub machine: String,
    /// Whether the machine is simulated.
    pub simulated: bool,
    /// Commits per second: the median over the repetitions.
    pub throughput_per_s: f64,
    /// The slowest repetition.
    pub throughput_min: f64,
    /// The fastest repetition.
    pub throughput_max: f64,
    /// Commits of all repetitions.
    pub commits: u64,
    /// Aborts per commit, over all repetitions.
    pub abort_rate: f64,
    /// Aborts of all repetitions by reason.
    pub aborts: BTreeMap<String, u64>,
    /// Transactions that the procedures rolled back by their own will: not aborts.
    pub user_rollbacks: u64,
    /// The part of the commits that had been aborted at least once, 0 to 1.
    pub retried_share: f64,
    /// What `latency_ns` is: *service* of a closed loop; *response* of an open one, from a transaction's arrival on, which counts what began late, or never.
    #[serde(default)]
    pub latency_of: LatencyOf,
    /// What an open loop tells beside.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arrivals: Option<Arrivals>,
    /// Of the transactions that began in the interval: from the beginning of the first attempt to the commit, or where commits are
    /// logged to their being durable, with retries and back-off, over all repetitions. Drawing, planning and waiting for a free slot are outside: `between_ns`. `null` if none
    /// committed, or a stopwatch ran along with all that did.
    pub latency_ns: Option<Latency>,
    /// Transactions whose latencies these are.
    pub latency_samples: u64,
    /// The mean time between the end of a slot's transaction and the beginning of its next one; `null` if none began.
    pub between_ns: Option<f64>,
    /// Transactions that began in an interval and were given up; the time that they had taken is among the latencies.
    pub unfinished: u64,
    /// Transactions that the workers may have begun and not ended, all together.
    pub slots: usize,
    /// Workers with transactions of which none ended in the interval, in the repetition that had most of them.
    pub absent_workers: usize,
    /// By Little's law 1: transactions that ended in the interval, times latency and what lies between two of them, over the
    /// slots; of the repetition that is farthest off. `null` if nothing ended.
    pub littles_law: Option<f64>,
    /// By kind of transactions, if the workload has several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kinds: Vec<Kind>,
    /// Where the time of sampled transactions went; the classes add up to 1, or to 0 without samples.
    pub time_share: TimeShares,
    /// Transactions that were sampled for `time_share`.
    pub time_samples: u64,
    /// What the architecture itself cost.
    #[serde(flatten)]
    pub costs: Costs,
    /// What the store takes of the machine's memory; nothing in results from before it was told.
    #[serde(default)]
    pub memory: Memory,
    /// When a commit counts: [`Durability`]. Where commits are logged, throughput counts those that have become
    /// durable.
    #[serde(default)]
    pub durability: Durability,
    /// What the store's log has taken since it was opened, all repetitions and warm-ups together; nothing if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log: Option<Logged>,
    /// What was checked after the repetitions.
    pub checks: Vec<Check>,
    /// Repetitions.
    pub repetitions: usize,
    /// Not counted, before each repetition.
    pub warmup_s: f64,
    /// The counted interval of each repetition.
    pub duration_s: f64,
    /// What the engine was told.
    #[serde(flatten)]
    pub engine: EngineOptions,
    /// How `cc_threads` was chosen, if short runs did (ORTHRUS, `--cc-threads auto`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cc_threads_chosen: Option<ChosenThreads>,
    /// The workload's effective parameters.
    pub parameters: BTreeMap<String, String>,
    /// What is odd, and what to do about it.
    pub warnings: Vec<String>,
}

impl Summary {
    /// The summary of a system's repetitions.
    pub fn of(subject: &Subject, measured: &Measured) -> Summary {
        let repetitions = &measured.repetitions;
        assert!(!repetitions.is_empty(), "a summary of no repetition");
        let [throughput_min, throughput_per_s, throughput_max] =
            min_median_max(repetitions.iter().map(Measurement::throughput_per_s).collect());
        let commits = repetitions.iter().map(|repetition| repetition.commits).sum::<u64>();
        let all_aborts = repetitions.iter().map(Measurement::all_aborts).sum::<u64>();
        let (time, latencies) = (merged_time(repetitions), merged_latency(repetitions));
        let retried: u64 = repetitions.iter().map(|repetition| repetition.retried).sum();
        let mut between = Sampled::default();
        repetitions.iter().for_each(|repetition| between += repetition.between);
        let off = |ratio: &f64| ratio.ln().abs();
        let options = &subject.options;
        let mut summary = Summary {
            schema: SCHEMA.to_owned(),
            supported: true,
            architecture: measured.pair.architecture.to_string(),
            protocol: measured.pair.protocol.to_string(),
            workload: subject.workload.clone(),
            workers: options.workers,
            instances: repetitions[0].instances,
            machine: subject.place.machine.clone(),
            simulated: subject.place.simulated,
            throughput_per_s,
            throughput_min,
            throughput_max,
            commits,
            abort_rate: if all_aborts == 0 { 0.0 } else { all_aborts as f64 / commits.max(1) as f64 },
            aborts: aborts_by_reason(repetitions.iter()),
            user_rollbacks: repetitions.iter().map(|repetition| repetition.user_rollbacks).sum(),
            retried_share: retried as f64 / commits.max(1) as f64,
            latency_of: if subject.options.is_open_loop() { LatencyOf::Response } else { LatencyOf::Service },
            arrivals: Arrivals::of(measured),
            latency_ns: Latency::of(&latencies),
            latency_samples: latencies.len(),
            between_ns: between.mean_ns(),
            unfinished: repetitions.iter().map(|repetition| repetition.unfinished).sum(),
            slots: repetitions.iter().map(|repetition| repetition.slots).max().unwrap_or(0),
            absent_workers: repetitions.iter().map(|repetition| repetition.absent_workers).max().unwrap_or(0),
            littles_law: repetitions
                .iter()
                .filter_map(Measurement::littles_law)
                .max_by(|one, other| off(one).total_cmp(&off(other))),
            kinds: kinds::of(&subject.workload, repetitions),
            time_share: TimeShares::of(&time),
            time_samples: time.samples,
            costs: Costs::of(repetitions),
            memory: measured.memory,
            durability: options.logging.level,
            log: measured.log.map(|report| Logged {
                folders: options.logging.folders.clone(),
                loggers: options.logging.loggers,
                compress: options.logging.compress,
                epoch_us: options.engine.epoch_interval.as_micros() as u64,
                checkpoint_every_us: options.logging.checkpoint_every.map(|every| every.as_micros() as u64),
                report,
            }),
            checks: measured.checks.clone(),
            repetitions: repetitions.len(),
            warmup_s: options.warmup.as_secs_f64(),
            duration_s: options.duration.as_secs_f64(),
            engine: engine_options(subject, measured),
            cc_threads_chosen: measured.cc_threads_chosen.clone(),
            parameters: subject.parameters.clone(),
            warnings: warnings::of_circumstances(subject),
        };
        summary.warnings.extend(warnings::of_numbers(&summary));
        summary
    }

    /// Slowest to fastest repetition, as a part of the median.
    pub fn spread(&self) -> f64 {
        if self.throughput_per_s == 0.0 {
            return 0.0;
        }
        (self.throughput_max - self.throughput_min) / self.throughput_per_s
    }

    /// The same for people; a dash of one repetition, which has none.
    pub fn spread_shown(&self) -> String {
        if self.repetitions > 1 { percent(self.spread()) } else { "–".to_owned() }
    }

    /// Why there are no latencies, if there are none.
    pub fn why_no_latency(&self) -> Option<&'static str> {
        match &self.latency_ns {
            Some(_) => None,
            None if self.time_samples > 0 => {
                Some("no transaction was timed without a stopwatch, see --sample")
            }
            None => Some("no transaction committed"),
        }
    }

    /// The system, for people.
    pub fn system(&self) -> String {
        names::system(&self.architecture, &self.protocol)
    }

    /// Whether more arrived than it could do: then how long transactions took depends on how long it went on.
    pub fn is_behind(&self) -> bool {
        self.arrivals.as_ref().is_some_and(|arrivals| arrivals.is_behind(self.repetitions, self.slots))
    }

    /// The protocol in a column beside the architecture, for people.
    pub fn protocol_shown(&self) -> &str {
        names::protocol(&self.architecture, &self.protocol)
    }

    /// The same, unless another build knew other names.
    pub fn pair(&self) -> Option<PairName> {
        names::pair(&self.architecture, &self.protocol)
    }

    /// How many instances it had, and what was asked for, for people; `None`: nobody asked for any, or the system has none.
    pub fn instances_shown(&self) -> Option<String> {
        let has_them =
            |pair| OptionDescription::named("instances").is_some_and(|option| option.is_used_by(pair));
        let asked = self.engine.instances;
        if asked == Instances::ONE || !self.pair().is_some_and(has_them) {
            return None;
        }
        let by_number = matches!(asked, Instances::Count(_));
        let asked = if by_number { String::new() } else { format!(" ({asked})") };
        let each = counted(self.workers / self.instances, "worker");
        Some(format!("{}{asked}, of {each} each", self.instances))
    }

    /// Whether it is a system of transactions, and no bare store, which is not ranked among them.
    pub fn has_transactions(&self) -> bool {
        self.pair().is_none_or(|pair| pair.protocol.has_transactions())
    }
}

/// What the engine was told, with what short runs have chosen for the system.
fn engine_options(subject: &Subject, measured: &Measured) -> EngineOptions {
    let engine = subject.engine_options();
    let chosen = measured.cc_threads_chosen.as_ref().map(|chosen| chosen.cc_threads);
    EngineOptions {
        cc_threads: chosen.unwrap_or(engine.cc_threads),
        open_loop: measured.told(&subject.options).engine.open_loop,
        ..engine
    }
}

/// The latencies of all repetitions in one histogram.
pub fn merged_latency(repetitions: &[Measurement]) -> LatencyHistogram {
    let mut merged = Measurement::empty_histogram();
    for repetition in repetitions {
        merged.add(&repetition.latency_ns).expect("histograms of the same bounds");
    }
    merged
}

fn merged_time(repetitions: &[Measurement]) -> TimeShare {
    let mut merged = TimeShare::default();
    for repetition in repetitions {
        merged.add(&repetition.time_share);
    }
    merged
}

/// The sums over `measurements`, by the reasons' names.
pub fn aborts_by_reason<'a>(
    measurements: impl Iterator<Item = &'a Measurement> + Clone,
) -> BTreeMap<String, u64> {
    let count = |reason: AbortReason| measurements.clone().map(|m| m.aborts[reason.index()]).sum();
    AbortReason::ALL.iter().map(|&reason| (reason.name().to_owned(), count(reason))).collect()
}

/// The median of an even number of values is the mean of the two in the middle.
pub(crate) fn min_median_max(mut values: Vec<f64>) -> [f64; 3] {
    values.sort_by(f64::total_cmp);
    let upper = values.len() / 2;
    let median =
        if values.len() % 2 == 1 { values[upper] } else { (values[upper - 1] + values[upper]) / 2.0 };
    [values[0], median, values[values.len() - 1]]
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::options::RunOptions;
    use crate::subject::Place;
    use contract::{ArchitectureName, PairName, ProtocolName, TimeClass};
    use std::time::Duration;

    pub(crate) fn some_subject() -> Subject {
        Subject {
            workload: "counting".to_owned(),
            parameters: BTreeMap::from([("records".to_owned(), "10".to_owned())]),
            options: RunOptions { repeat: 3, ..RunOptions::for_run(2) },
            place: Place { debug_build: false, ..Place::hardware(2) },
        }
    }

    pub(crate) fn some_measurement(throughput_per_s: f64) -> Measurement {
        let mut latency_ns = Measurement::empty_histogram();
        let mut aborts = [0; AbortReason::ALL.len()];
        aborts[AbortReason::Conflict.index()] = 10;
        aborts[AbortReason::ReadValidation.index()] = 20;
        for ns in 1..=1000 {
            latency_ns.record(ns * 10).expect("in bounds");
        }
        let elapsed_s = if throughput_per_s > 0.0 { 1000.0 / throughput_per_s } else { 1.0 };
        // Two slots, busy all the time.
        let each_ns = (2e9 * elapsed_s / 1005.0) as u64;
        let all = |ns: u64| Sampled { samples: 1005, ns: 1005 * ns };
        Measurement {
            commits: 1000,
            user_rollbacks: 5,
            retried: 25,
            aborts,
            commits_by_worker: vec![600, 400],
            latency_ns,
            response: all(each_ns - each_ns / 10),
            between: all(each_ns / 10),
            time_share: TimeShare { ns: [50, 10, 0, 20, 10, 10], samples: 500 },
            ..Measurement::nothing(Duration::from_secs_f64(elapsed_s), 2)
        }
    }

    pub(crate) fn measured(throughputs: &[f64]) -> Measured {
        Measured {
            pair: PairName { architecture: ArchitectureName::SharedEverything, protocol: ProtocolName::Silo },
            repetitions: throughputs.iter().map(|&per_s| some_measurement(per_s)).collect(),
            log: None,
            memory: Memory::loaded(1 << 20, 1000),
            checks: Vec::new(),
            cc_threads_chosen: None,
            capacity_per_s: None,
        }
    }

    pub(crate) fn some_summary() -> Summary {
        Summary::of(&some_subject(), &measured(&[900.0, 1000.0, 950.0]))
    }

    #[test]
    fn throughput_is_the_median_and_counts_are_sums() {
        let summary = some_summary();
        let throughputs = [summary.throughput_min, summary.throughput_per_s, summary.throughput_max];
        assert_eq!(throughputs.map(|per_s| per_s.round()), [900.0, 950.0, 1000.0]);
        assert_eq!(summary.retried_share, 0.025);
        assert!(summary.littles_law.is_some_and(|ratio| (ratio - 1.0).abs() < 1e-6), "{summary:?}");
        assert_eq!((summary.commits, summary.user_rollbacks), (3000, 15));
        assert_eq!((summary.aborts["conflict"], summary.aborts["read-validation"]), (30, 60));
        assert!((summary.abort_rate - 0.03).abs() < 1e-12, "user rollbacks are no aborts");
        let max = summary.latency_ns.as_ref().expect("latencies").max;
        assert!((10_000..10_010).contains(&max), "three digits of it: {max}");
        let shares: f64 = TimeClass::ALL.iter().map(|&class| summary.time_share.get(class)).sum();
        assert!((shares - 1.0).abs() < 1e-12);
    }

    #[test]
    fn an_even_number_of_repetitions_has_a_median_between() {
        assert_eq!(min_median_max(vec![4.0, 1.0, 2.0, 3.0]), [1.0, 2.5, 4.0]);
        assert_eq!(min_median_max(vec![4.0]), [4.0, 4.0, 4.0]);
    }

    #[test]
    fn odd_numbers_warn_with_what_to_do() {
        assert_eq!(some_summary().warnings.len(), 1, "a spread of 10.5 %");
        let steady = Summary::of(&some_subject(), &measured(&[1000.0, 1000.0, 1001.0]));
        assert!(steady.warnings.is_empty(), "{:?}", steady.warnings);
        let mut subject = some_subject();
        subject.options.workers = 3;
        subject.options.repeat = 1;
        subject.place.debug_build = true;
        let odd = Summary::of(&subject, &measured(&[1.0])).warnings.join("\n");
        for advice in ["--release", "use --workers 2", "--repeat 3"] {
            assert!(odd.contains(advice), "{odd}");
        }
    }

    #[test]
    fn latencies_that_there_are_none_of_are_not_zero() {
        let of = |time_share| {
            let latency_ns = Measurement::empty_histogram();
            let repetitions = vec![Measurement { latency_ns, time_share, ..some_measurement(1000.0) }];
            Summary::of(&some_subject(), &Measured { repetitions, ..measured(&[1.0]) })
        };
        let timed = of(some_measurement(1000.0).time_share);
        let json = serde_json::to_value(&timed).expect("JSON");
        assert!(json["latency_ns"].is_null() && json["latency_samples"] == 0, "{json}");
        assert_eq!(serde_json::from_value::<Summary>(json).expect("a summary"), timed);
        let why = timed.why_no_latency().expect("a reason");
        assert!(why.starts_with("no transaction was timed without a stopwatch"), "{why}");
        assert_eq!(of(TimeShare::default()).why_no_latency(), Some("no transaction committed"));
        assert_eq!(some_summary().why_no_latency(), None);
    }

    #[test]
    fn what_was_chosen_is_what_the_engine_was_told() {
        let tried = vec![Tried { cc_threads: 3, throughput_per_s: 2e6 }];
        let chosen = ChosenThreads { cc_threads: 3, tried };
        let with =
            Summary::of(&some_subject(), &Measured { cc_threads_chosen: Some(chosen), ..measured(&[1.0]) });
        assert_eq!(with.engine.cc_threads, 3);
        assert_eq!(some_summary().engine.cc_threads, 1);
        let json = serde_json::to_value(&with).expect("JSON");
        assert_eq!(
            (&json["cc_threads"], &json["cc_threads_chosen"]["tried"][0]["cc_threads"]),
            (&3.into(), &3.into())
        );
        assert_eq!(serde_json::from_value::<Summary>(json).expect("a summary"), with);
    }

    #[test]
    fn instances_are_asked_for_and_counted() {
        let of = |instances, architecture| {
            let mut subject = some_subject();
            (subject.options.workers, subject.options.engine.instances) = (12, instances);
            let mut measured = measured(&[1.0]);
            measured.pair = PairName { architecture, protocol: ProtocolName::NoWait };
            measured.repetitions[0].instances = 4;
            Summary::of(&subject, &measured)
        };
        let shown = |instances| of(instances, ArchitectureName::SharedEverything).instances_shown();
        assert_eq!(shown(Instances::PerSocket).as_deref(), Some("4 (per-socket), of 3 workers each"));
        assert_eq!(shown(Instances::of(4)).as_deref(), Some("4, of 3 workers each"));
        assert_eq!(shown(Instances::ONE), None);
        assert_eq!(of(Instances::of(4), ArchitectureName::Delegation).instances_shown(), None);
        let summary = of(Instances::PerSocket, ArchitectureName::SharedEverything);
        let json = serde_json::to_value(&summary).expect("JSON");
        assert_eq!((&json["instances"], &json["instances_asked"]), (&4.into(), &"per-socket".into()));
        assert_eq!(serde_json::from_value::<Summary>(json).expect("a summary"), summary);
    }

    #[test]
    fn a_summary_survives_json() {
        let text = serde_json::to_string(&some_summary()).expect("JSON");
        assert_eq!(serde_json::from_str::<Summary>(&text).expect("a summary"), some_summary());
    }
}
