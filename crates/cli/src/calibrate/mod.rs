//! `doctor --calibrate`: this machine as a machine file.
//!
//! What can be measured alone is: latencies of each level by a chain of dependent reads, of another core's line by a ball
//! that two threads throw, the costs of an atomic, a pause and the clock, and of a message over sockets. Three numbers cannot, and are found by simulating
//! what was measured until both agree: what a line's transfer takes, on the ball; what computation takes, and what part of
//! a wait a core overlaps, on *one* system with *one* worker. Nothing else is fitted, so that all the rest, every other pair
//! and number of workers, can be used to judge the machine (`trireme validate`).
//!
//! All of it is measured by turns, in several rounds, and the medians are taken, so that a machine that is disturbed now and
//! then is written down alike each time. What is counted in cycles is divided by the clock rate of its own round. How far the
//! rounds were from each other stands in the file, and what was too far is warned of; nothing is refused.
//!
//! | file | what |
//! |---|---|
//! | `mod.rs` | the whole, and what it says of itself |
//! | [`rounds`] | measuring, by turns |
//! | [`channels`] | what a message over sockets takes |
//! | [`numbers`] | the numbers as a machine file |
//! | [`fit`] | the numbers that are found by simulating |

mod channels;
mod fit;
mod numbers;
mod rounds;

pub use fit::{measured_round_trip_ns, round_trip_ns};
pub use rounds::Measured;

use crate::load_advice::{Load, Watching};
use contract::{ArchitectureName, PairName, ProtocolName};
use fit::{fit_transfers, fit_worker};
use harness::Failure;
use harness::text::dates::Utc;
use machine::hardware::environment::Environment;
use machine::hardware::facts::Bench;
use machine::hardware::rounds::{Fact, factor};
use numbers::Numbers;
use rounds::{ROUNDS, measure_round, per_s};
use std::fmt::Write;

/// The system on which computation is calibrated.
pub const SYSTEM: PairName =
    PairName { architecture: ArchitectureName::SharedEverything, protocol: ProtocolName::NoWait };

/// Rows of a table that fits in the private caches, its index included.
const FEW_RECORDS: &str = "2000";
/// Rows of one that fits in the last level only.
const MANY_RECORDS: &str = "20000";

/// What came of it.
pub struct Calibrated {
    /// The file.
    pub text: String,
    /// What was measured, by name.
    pub measured: Measured,
    /// Throughput of [`SYSTEM`] on one worker: measured, and simulated with the file.
    pub one_worker_per_s: (f64, f64),
    /// A line there and back, in ns: measured, and simulated with the file.
    pub round_trip_ns: (f64, f64),
    /// What others took meanwhile.
    pub load: Load,
    /// What is to be doubted.
    pub warnings: Vec<String>,
}

/// Measures and simulates for about half a minute.
pub fn calibrate(environment: &Environment) -> Result<Calibrated, Failure> {
    let mut watching = Watching::begin();
    let mut bench = Bench::new(false);
    let mut rounds = Vec::new();
    for round in 0..ROUNDS {
        watching.try_cores();
        rounds.push(measure_round(&mut bench, environment, round)?);
    }
    let load = watching.end();
    let measured = Measured::of(&rounds);
    let mut numbers = Numbers::of(&measured, environment);
    let round_trip_ns = fit_transfers(&mut numbers, measured.median("line_round_trip_ns"), environment)?;
    let few_and_many = [FEW_RECORDS, MANY_RECORDS].map(|records| measured.value(per_s(records)));
    let [few_per_s, many_per_s] = fit_worker(&mut numbers, few_and_many, environment)?;
    let mut warnings = measured.warnings();
    warnings.extend(unreached("one worker over few rows", few_per_s));
    warnings.extend(unreached("one worker over many rows", many_per_s));
    warnings.extend(unreached("a line there and back", round_trip_ns));
    warnings.extend(load.warnings());
    let text = format!("{}{}", comment(environment, &measured, &warnings), numbers.text(environment));
    Ok(Calibrated { text, measured, one_worker_per_s: many_per_s, round_trip_ns, load, warnings })
}

/// What was fitted does not come out.
fn unreached(what: &str, (measured, simulated): (f64, f64)) -> Option<String> {
    const REACHED: f64 = 1.05;
    (measured > 0.0 && factor(measured, simulated) > REACHED).then(|| {
        format!("no number of the file makes {what} what it was measured to be: {measured:.0}, and {simulated:.0} simulated")
    })
}

/// When, in how many rounds, and how far they were from each other.
fn comment(environment: &Environment, measured: &Measured, warnings: &[String]) -> String {
    let processor = environment.cpu_model.as_deref().unwrap_or("an unknown processor");
    let mut text = format!(
        "# Written on {} on {processor}: {ROUNDS} interleaved rounds, median (lowest to highest):\n#\n",
        Utc::now().readable()
    );
    for (name, Fact { median, low, high, .. }) in measured.facts() {
        let _ = writeln!(text, "# {name:<20} {median:.1} ({low:.1} to {high:.1})");
    }
    for warning in warnings {
        let _ = writeln!(text, "#\n# warning: {warning}");
    }
    text + "#\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use machine::simulated::Description;

    /// Rounds in which the two cores were near each other, and some in which they were not.
    fn rounds(far: usize) -> Measured {
        let round = |number| {
            let trip_ns = if number < far { 451.0 } else { 113.0 };
            vec![
                ("line_round_trip_ns", trip_ns),
                ("frequency_mhz", 3000.0 + number as f64),
                ("l1_cycles", 4.02),
            ]
        };
        Measured::of(&(0..ROUNDS).map(round).collect::<Vec<_>>())
    }

    #[test]
    fn medians_are_written_down_with_their_spread_and_a_disturbed_round_changes_nothing() {
        let environment = Environment::of_this_machine();
        let (quiet, disturbed) = (rounds(0), rounds(1));
        let text = |measured| Numbers::of(measured, &environment).text(&environment);
        assert_eq!(text(&quiet), text(&disturbed));
        assert!(
            text(&quiet).contains("frequency_mhz = 3004\n") && text(&quiet).contains("latency_cycles = 4\n")
        );
        assert_eq!(disturbed.median("line_round_trip_ns"), Some(113.0));
        assert_eq!(disturbed.warnings(), [""; 0]);
        let whole = comment(&environment, &disturbed, &["somebody ran".to_owned()]) + &text(&disturbed);
        assert!(whole.contains("# line_round_trip_ns   113.0 (113.0 to 451.0)\n"), "{whole}");
        assert!(whole.contains("# warning: somebody ran\n"), "{whole}");
        Description::parse(&whole).expect("a machine, comments and all");
    }

    #[test]
    fn rounds_that_disagree_are_warned_of_and_not_refused() {
        let warnings = rounds(3).warnings();
        assert!(
            warnings.len() == 1 && warnings[0].contains("line_round_trip_ns was 113.0 to 451.0, 3 of 9"),
            "{warnings:?}"
        );
        assert_eq!(unreached("one worker", (100.0, 99.0)), None);
        assert!(
            unreached("one worker", (100.0, 80.0))
                .is_some_and(|words| words.contains("100, and 80 simulated"))
        );
    }
}
