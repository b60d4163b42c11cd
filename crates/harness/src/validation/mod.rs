//! A simulated machine beside the one that it describes, as *thousand-cores* figure 3 does: throughput, latency and abort
//! rate, measured and simulated, for every system, number of workers and workload.
//!
//! | question | file |
//! |---|---|
//! | what does each round say? | `rows` |
//! | of which kind is a system? | `kind` |
//! | what stands beside what? | `compared` |
//! | how far is the model off, by what is asked of it? | `errors` |
//! | what do verdicts use of it? | `error`, the file that is committed |

mod compared;
mod error;
mod errors;
mod kind;
mod rows;

pub use compared::{Both, Compared};
pub use error::{Comparisons, KindErrors, ModelError, ModelErrors, SCHEMA as MODEL_ERRORS_SCHEMA};
pub use kind::SystemKind;
pub use rows::{Host, Origin, Row, Rows};

pub use errors::FEWEST_ABORTS;

use errors::{Errors, not_compared};
use serde::Serialize;
use std::collections::BTreeMap;

/// Name and version of [`Validation`]'s fields.
pub const SCHEMA: &str = "trireme.validation/2";

/// What `validate --json` prints.
#[derive(Clone, Debug, Serialize)]
pub struct Validation {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// The line that was typed.
    pub command: String,
    /// The simulated machine's name.
    pub machine: String,
    /// Seed of everything random in the first round.
    pub seed: u64,
    /// Rounds on the hardware and on the simulated machine, by turns.
    pub rounds: usize,
    /// Every system at every number of workers over every workload.
    pub rows: Vec<Compared>,
    /// How far the model is off with systems of one instance, by measure.
    pub errors: BTreeMap<String, ModelError>,
    /// From how many comparisons that comes, by measure.
    pub comparisons: BTreeMap<String, Comparisons>,
    /// The same with deployments; `null` if there is none among the rows.
    pub deployments: Option<KindErrors>,
    /// The geometric mean of how far simulated throughput is from measured, as a factor of at least 1.
    pub mean_factor: f64,
    /// The largest such factor.
    pub worst_factor: f64,
    /// Of the pairs of systems that were measured to differ by a fifth or more at one point, the part that the simulation
    /// puts in the same order; `null` if there is none.
    pub order_kept: Option<f64>,
    /// How far the rounds on the hardware were from their medians, as a factor of at least 1.
    pub hardware_spread: f64,
    /// A line between two of the host's cores; `null` if there is one core.
    pub round_trip: Option<RoundTrip>,
    /// Checks that have failed, in words.
    pub failed_checks: Vec<String>,
    /// What is odd, and what to do about it.
    pub warnings: Vec<String>,
}

/// A line there and back between two cores. A virtual machine's cores may be moved while it runs.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct RoundTrip {
    /// The shortest that was measured in a round.
    pub low_ns: f64,
    /// The longest.
    pub high_ns: f64,
    /// On the simulated machine.
    pub simulated_ns: f64,
}

impl RoundTrip {
    /// Beyond this factor the cores are not where they were.
    const MOVED: f64 = 1.5;

    fn warning(&self) -> Option<String> {
        let RoundTrip { low_ns, high_ns, simulated_ns } = *self;
        (low_ns.min(simulated_ns) * RoundTrip::MOVED < high_ns.max(simulated_ns)).then(|| {
            format!(
                "a line there and back took {low_ns:.0} to {high_ns:.0} ns in the rounds, and {simulated_ns:.0} ns on the \
                 simulated machine: the host's cores are not where they were; calibrate and validate again"
            )
        })
    }
}

impl Validation {
    /// Of all rows. `warnings` are the host's.
    pub fn of(
        command: &str,
        machine: String,
        seed: u64,
        rows: &[Row],
        round_trip: Option<RoundTrip>,
        warnings: Vec<String>,
    ) -> Validation {
        let failed_checks: Vec<String> = rows.iter().flat_map(Row::failures).collect();
        let rounds = rows.iter().map(|row| row.round + 1).max().unwrap_or(0);
        let compared = Compared::all(rows);
        let (hardware_spread, rows) = (hardware_spread(rows, &compared), compared);
        let Errors { errors, comparisons } = Errors::of(&rows, SystemKind::OneInstance);
        let deployments = deployments(&rows);
        let factors = || rows.iter().map(Compared::factor).filter(|factor| factor.is_finite());
        let sum: f64 = factors().map(f64::ln).sum();
        let moved = round_trip.as_ref().and_then(RoundTrip::warning);
        Validation {
            schema: SCHEMA,
            command: command.to_owned(),
            machine,
            seed,
            rounds,
            errors,
            comparisons,
            deployments,
            mean_factor: (sum / factors().count().max(1) as f64).exp(),
            worst_factor: factors().fold(1.0, f64::max),
            order_kept: order_kept(&rows),
            hardware_spread,
            round_trip,
            warnings: failed_checks
                .iter()
                .cloned()
                .chain(warnings)
                .chain(moved)
                .chain(disturbed(&rows))
                .chain(not_compared(&rows))
                .collect(),
            failed_checks,
            rows,
        }
    }

    /// The workloads of systems of one instance, with the parameters that were set.
    pub fn workloads(&self) -> Vec<String> {
        workloads(&self.rows, SystemKind::OneInstance)
    }

    /// The largest number of workers.
    pub fn most_workers(&self) -> usize {
        self.rows.iter().map(|row| row.workers).max().unwrap_or(0)
    }
}

fn workloads(rows: &[Compared], kind: SystemKind) -> Vec<String> {
    let mut all = Vec::new();
    for row in rows.iter().filter(|row| row.kind == kind) {
        let workload = format!("{} {}", row.workload, row.setting);
        if !all.contains(&workload) {
            all.push(workload);
        }
    }
    all
}

/// How a deployment is measured: what `validate` does.
const DEPLOYED: &str = "each instance a process of its own";

fn deployments(rows: &[Compared]) -> Option<KindErrors> {
    rows.iter().find(|row| row.kind == SystemKind::Deployments)?;
    let Errors { errors, comparisons } = Errors::of(rows, SystemKind::Deployments);
    Some(KindErrors {
        deployed: DEPLOYED.to_owned(),
        workloads: workloads(rows, SystemKind::Deployments),
        errors,
        comparisons,
    })
}

/// How far the rounds on the hardware were from their medians. Where hardly anything commits, rounds differ by any factor, and
/// nothing is compared.
fn hardware_spread(rows: &[Row], compared: &[Compared]) -> f64 {
    let over_median = compared.iter().filter(|compared| compared.committed()).flat_map(|compared| {
        let own = rows.iter().filter(|row| compared.counts(row));
        own.map(|row| row.throughput_per_s / compared.measured_per_s)
    });
    errors::spread(over_median)
}

/// Systems of which every round was disturbed.
fn disturbed(rows: &[Compared]) -> Option<String> {
    let count = rows.iter().filter(|row| row.disturbance > 1.0).count();
    (count > 0).then(|| {
        format!(
            "{count} of {} systems and points were never measured undisturbed: others were on the cores, or the cores were not \
             where the machine file has them; validate again in a quiet moment, or with a larger --repeat",
            rows.len()
        )
    })
}

/// Systems that differ by less may as well stand in either order.
const DIFFERENT: f64 = 1.2;

fn order_kept(rows: &[Compared]) -> Option<f64> {
    let (mut pairs, mut kept) = (0u64, 0u64);
    for (position, one) in rows.iter().enumerate() {
        let others = rows[position + 1..].iter().filter(|other| other.is_at_the_point_of(one));
        for other in others.filter(|other| one.committed() && other.committed()) {
            let measured = one.measured_per_s / other.measured_per_s;
            if measured.max(1.0 / measured) < DIFFERENT {
                continue;
            }
            let simulated = one.simulated_per_s / other.simulated_per_s;
            pairs += 1;
            kept += u64::from((measured > 1.0) == (simulated > 1.0));
        }
    }
    (pairs > 0).then(|| kept as f64 / pairs as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A round of a system that never aborts.
    pub(super) fn row(architecture: &str, workers: usize, simulated: bool, throughput_per_s: f64) -> Row {
        Row {
            round: 0,
            simulated,
            workload: "micro".to_owned(),
            setting: "records=10".to_owned(),
            workers,
            instances: 1,
            channel: None,
            architecture: architecture.to_owned(),
            protocol: "p".to_owned(),
            throughput_per_s,
            mean_ns: Some(1000.0),
            abort_rate: 0.0,
            retried_share: 0.0,
            failed_checks: Vec::new(),
            host: Host::UNDISTURBED,
        }
    }

    fn validation(rows: &[Row]) -> Validation {
        Validation::of("trireme validate", "local".to_owned(), 1, rows, None, vec!["loaded".to_owned()])
    }

    #[test]
    fn checks_that_have_failed_are_told() {
        let broken = Row { failed_checks: vec!["nothing-held".to_owned()], ..row("a", 2, true, 90.0) };
        let told = validation(&[row("a", 2, false, 100.0), broken]);
        let said =
            "check failed: nothing-held: a p, 2 workers, micro records=10, simulated in round 1".to_owned();
        assert_eq!((&told.failed_checks[..], &told.warnings[0]), (&[said.clone()][..], &said));
        assert!(validation(&[row("a", 2, false, 100.0), row("a", 2, true, 90.0)]).failed_checks.is_empty());
    }

    #[test]
    fn cores_that_moved_are_noticed() {
        let trip = |low_ns, high_ns| RoundTrip { low_ns, high_ns, simulated_ns: 100.0 };
        assert_eq!(trip(90.0, 110.0).warning(), None);
        assert!(trip(110.0, 300.0).warning().is_some_and(|words| words.contains("110 to 300 ns")));
        assert!(trip(30.0, 30.0).warning().is_some(), "the file is of other cores");
    }

    #[test]
    fn only_clear_differences_have_an_order() {
        // 100 before 50 is kept; 50 and 55 are alike; 100 and 55 are turned round.
        let points =
            [("a", 2, 100.0, 60.0), ("b", 2, 50.0, 40.0), ("c", 2, 55.0, 70.0), ("a", 1, 1.0, 1000.0)];
        let rows: Vec<Row> = points
            .iter()
            .flat_map(|&(name, workers, measured, simulated)| {
                [row(name, workers, false, measured), row(name, workers, true, simulated)]
            })
            .collect();
        assert_eq!(validation(&rows).order_kept, Some(0.5));
        assert_eq!(validation(&rows[6..]).order_kept, None);
        assert_eq!(validation(&rows[6..]).worst_factor, 1000.0);
        assert_eq!(
            (validation(&rows).most_workers(), validation(&rows).warnings),
            (2, vec!["loaded".to_owned()])
        );
        assert_eq!(validation(&rows).workloads(), ["micro records=10"]);
    }

    #[test]
    fn deployments_are_told_apart() {
        let deployed = |row: Row| Row {
            instances: 2,
            channel: Some(contract::ChannelName::Unix),
            setting: "x".to_owned(),
            ..row
        };
        let one = [row("a", 2, false, 10.0), row("a", 2, true, 10.0)];
        assert_eq!(validation(&one).deployments, None);
        let both =
            [one.to_vec(), vec![deployed(row("a", 2, false, 10.0)), deployed(row("a", 2, true, 30.0))]]
                .concat();
        let with = validation(&both);
        assert_eq!(
            (with.comparisons["throughput"].value, with.workloads()),
            (1, vec!["micro records=10".to_owned()])
        );
        let deployments = with.deployments.expect("one is there");
        assert_eq!(
            (deployments.comparisons["throughput"].value, deployments.workloads),
            (1, vec!["micro x".to_owned()])
        );
    }

    #[test]
    fn what_was_never_measured_undisturbed_is_told() {
        let rows = [
            Row { host: Host { taken: 0.5, moved: 1.0 }, ..row("a", 1, false, 1.0) },
            row("a", 1, true, 1.0),
        ];
        let warnings = validation(&rows).warnings;
        assert!(warnings[1].starts_with("1 of 1 systems and points were never"), "{warnings:?}");
    }

    #[test]
    fn the_hardware_has_a_spread_of_its_own() {
        let round = |round, per_s| {
            [Row { round, ..row("a", 1, false, per_s) }, Row { round, ..row("a", 1, true, 7.0) }]
        };
        let steady = validation(&[round(0, 100.0), round(1, 100.0), round(2, 100.0)].concat());
        assert_eq!((steady.hardware_spread, steady.rounds), (1.0, 3));
        let spread = validation(&[round(0, 50.0), round(1, 100.0), round(2, 200.0)].concat()).hardware_spread;
        assert!((spread.ln() - 2.0f64.ln() * (2.0f64 / 3.0).sqrt()).abs() < 1e-9, "{spread}");
        let idle = |round_number, per_s| {
            let [measured, simulated] = round(round_number, per_s);
            [measured, Row { mean_ns: None, ..simulated }]
        };
        let livelocked = validation(&[idle(0, 0.0), idle(1, 35.0), idle(2, 140_000.0)].concat());
        assert_eq!(livelocked.hardware_spread, 1.0);
    }
}
