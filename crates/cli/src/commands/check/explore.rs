//! `check --explore`: many short runs of the engine on the simulated machine, each under an adversarial schedule, until
//! one is found wanting. A find prints the command that replays it.
//!
//! Everything in a run follows from its seed: the schedule, what the workload draws, and how long retries wait.

use super::super::run::Idle;
use super::{admit, exit_code, selected};
use crate::arguments::typed;
use crate::engines::{self, Explored, Job, Machine};
use crate::{answer, output, selection};
use clap::{Arg, ArgMatches, Command};
use contract::{Engine, Selection};
use harness::check::exploration::{self, ExplorationSummary, Find, Tried};
use harness::check::happened::{Circumstances, Happened};
use harness::check::{CheckWorkload, Trial};
use harness::observer::Silent;
use harness::summary::warnings::of_short_check;
use harness::{BadValue, Failure, RunOptions, Subject};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use machine::simulated::{Exploration, Schedule, accesses, explore as run_under};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;

/// Schedules, if no number is given.
const SCHEDULES: u64 = 2_000;
/// Workers, each on a virtual core: enough for a cycle through three transactions.
const WORKERS: usize = 3;
/// Transactions of a run, of all workers together. Short runs meet more different beginnings in the same time.
const TRANSACTIONS: u64 = 12;
/// Ordered events that a bug may take to show under `pct`.
const PCT_DEPTH: u32 = 3;

/// How schedules choose.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Random,
    Pct,
}

impl Kind {
    const ALL: [Kind; 2] = [Kind::Random, Kind::Pct];

    const fn name(self) -> &'static str {
        match self {
            Kind::Random => "random",
            Kind::Pct => "pct",
        }
    }

    /// The schedule of a seed; `steps`: how many scheduling points a run has, about.
    fn schedule(self, seed: u64, steps: u64) -> Schedule {
        match self {
            // Some bugs show when cores take turns at every access, some when each runs on for a while.
            Kind::Random => Schedule::Random { seed, switch_one_in: 2 << (seed % 5) },
            Kind::Pct => Schedule::Pct { seed, depth: PCT_DEPTH, steps },
        }
    }
}

/// What can be typed.
pub fn arguments(command: Command) -> Command {
    let option = |name: &'static str, value: &'static str, help: String| {
        Arg::new(name).long(name).value_name(value).help(help).help_heading("Exploring").global(true)
    };
    command
        .arg(option(
            "explore",
            "KIND",
            format!(
                "Run the simulated machine under many adversarial schedules instead, a seed each, until one is found \
                 wanting: random, or pct (probabilistic concurrency testing). Defaults are then --workers {WORKERS}, more where some of them host no transactions, and \
                 --transactions {TRANSACTIONS}, and tables are smaller"
            ),
        ))
        .arg(option(
            "seeds",
            "N",
            format!("Schedules to explore, from --seed on, at least 1 [default: {SCHEDULES}]"),
        ))
}

/// Whether exploring was asked for. `--seeds` means nothing otherwise.
pub fn is_asked_for(matches: &ArgMatches) -> Result<bool, Failure> {
    match (typed(matches, "explore"), typed(matches, "seeds")) {
        (None, Some(_)) => Err(Failure::Usage("--seeds goes with --explore only; allowed: both".to_owned())),
        (explore, _) => Ok(explore.is_some()),
    }
}

/// Explores.
pub fn explore(matches: &ArgMatches, line: &str) -> Result<ExitCode, Failure> {
    let replayed = "replay a find, which prints it";
    let own = "the machine that explores, which has no file";
    for (option, allowed) in [("history", replayed), ("out", replayed), ("on", own)] {
        if typed(matches, option).is_some() {
            let what = format!("--{option} does not go with --explore; allowed: {allowed}");
            return Err(Failure::Usage(what));
        }
    }
    let kind = kind(matches)?;
    let schedules = schedules(matches)?;
    let defaults = RunOptions { workers: WORKERS, ..RunOptions::for_run(WORKERS) };
    let (subject, workload) = selection::explored_subject(matches, defaults)?;
    super::canary_between_nodes(matches, Machine::Hardware)?;
    let selection = selected(matches, Machine::Hardware)?;
    let transactions = super::transactions(matches, TRANSACTIONS)?;
    admit::<Explored>(selection, &subject, transactions)?;

    let candidate = Candidate { kind, selection, subject: &subject, workload: &workload, transactions };
    let steps = candidate.steps()?;
    let bar = progress(schedules);
    // Panics are finds, and are told as such.
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| ()));
    let threads = engines::cores();
    let explored = exploration::explore(
        subject.options.engine.seed,
        schedules,
        threads,
        |seed| candidate.try_seed(seed, steps),
        || bar.inc(1),
    );
    std::panic::set_hook(hook);
    bar.finish_and_clear();

    let mut warnings = Idle::of(selection.pair(), &selection::as_typed(&subject, matches)).on::<Explored>();
    warnings.extend(of_short_check(&subject.options, transactions));
    let summary = candidate.summary(explored?, schedules, line, warnings)?;
    if matches.get_flag("json") {
        output::print_json(&summary)?;
    } else {
        output::print(&answer::of_exploration(&summary))?;
    }
    Ok(exit_code(summary.conclusion(), summary.canary))
}

fn kind(matches: &ArgMatches) -> Result<Kind, Failure> {
    let name = typed(matches, "explore").expect("asked for");
    let allowed = Kind::ALL.map(Kind::name).join(", ");
    let kind = Kind::ALL.into_iter().find(|kind| kind.name() == name);
    kind.ok_or_else(|| BadValue::new("explore", name, allowed).into())
}

fn schedules(matches: &ArgMatches) -> Result<u64, Failure> {
    let Some(number) = typed(matches, "seeds") else { return Ok(SCHEDULES) };
    let refuse = || BadValue::new("seeds", number, "a whole number, at least 1 and less than 2^64");
    Ok(number.parse().ok().filter(|&number| number > 0).ok_or_else(refuse)?)
}

/// What is explored.
struct Candidate<'a> {
    kind: Kind,
    selection: Selection,
    subject: &'a Subject,
    workload: &'a CheckWorkload,
    transactions: u64,
}

impl Candidate<'_> {
    /// The run of a seed, under a schedule.
    fn run(&self, seed: u64, schedule: Schedule) -> Result<(Tried, u64), Failure> {
        let mut subject = self.subject.clone();
        subject.options.engine.seed = seed;
        let (selection, transactions) = (self.selection, self.transactions);
        let trial = Trial { selection, subject: &subject, transactions, observer: &Silent };
        let exploration = Exploration { cores: subject.options.workers, ..Exploration::of(schedule) };
        let run = || {
            let outcome = trial.check::<Explored>(self.workload);
            let made = accesses();
            (outcome, made.loads + made.stores + made.read_modify_writes + made.payload_lines)
        };
        match catch_unwind(AssertUnwindSafe(|| run_under(exploration, run))) {
            Ok((outcome, steps)) => Ok((Tried::Judged(Box::new(outcome?.0)), steps)),
            Err(panic) => Ok((Tried::Panicked(words(&*panic)), 0)),
        }
    }

    fn try_seed(&self, seed: u64, steps: u64) -> Result<Tried, Failure> {
        Ok(self.run(seed, self.kind.schedule(seed, steps))?.0)
    }

    /// How many scheduling points a run has, about: those of one with the cores in turn. The same whatever the seeds are,
    /// so that a find replays alone.
    fn steps(&self) -> Result<u64, Failure> {
        const MEASURED: u64 = 1;
        Ok(self.run(MEASURED, Schedule::RoundRobin)?.1.max(1))
    }

    fn summary(
        &self,
        explored: exploration::Explored,
        schedules: u64,
        line: &str,
        mut warnings: Vec<String>,
    ) -> Result<ExplorationSummary, Failure> {
        let (first_seed, options) = (self.subject.options.engine.seed, &self.subject.options);
        let (protocol, canary) = match self.selection {
            Selection::Pair(pair) => (pair.protocol.to_string(), false),
            Selection::Canary(_, canary) => (canary.to_string(), true),
        };
        let happened = explored.happened.filter(|_| explored.find.is_none());
        let too_little = match happened {
            Some(happened) => happened.too_little(&self.circumstances()?),
            None => None,
        };
        let passed = explored.find.is_none() && too_little.is_none();
        let found_nothing = explored.find.is_none();
        let tried = explored.find.as_ref().map_or(schedules, |(number, _)| number + 1);
        if let Selection::Canary(_, canary) = self.selection
            && passed
        {
            warnings.push(format!(
                "the canary was not rejected; '{}' shows what it omits; otherwise use more --seeds, more updates, fewer records",
                canary.shown_by()
            ));
        }
        let find = explored.find.map(|(number, tried)| {
            let seed = first_seed.wrapping_add(number);
            let (panic, check) = match tried {
                Tried::Judged(summary) => (None, Some(*summary)),
                Tried::Panicked(words) => (Some(words), None),
            };
            Find { seed, panic, check, replay: replay(line, seed) }
        });
        Ok(ExplorationSummary {
            schema: exploration::SCHEMA,
            passed,
            architecture: self.selection.architecture().to_string(),
            protocol,
            canary,
            workload: self.subject.workload.clone(),
            workers: options.workers,
            simulated: true,
            schedule: self.kind.name().to_owned(),
            first_seed,
            schedules: tried,
            transactions: self.transactions,
            commits: found_nothing.then_some(explored.commits),
            aborts: found_nothing.then_some(explored.aborts),
            hot_locks: Some(explored.hot_locks).filter(|&locks| found_nothing && locks > 0),
            dependencies: match happened {
                Some(Happened::Dependencies(dependencies)) => Some(dependencies),
                _ => None,
            },
            overlapping: match happened {
                Some(Happened::Overlapping(rounds)) => Some(rounds),
                _ => None,
            },
            too_little,
            engine: self.subject.engine_options(),
            parameters: self.subject.parameters.clone(),
            warnings,
            find,
        })
    }

    fn circumstances(&self) -> Result<Circumstances<'_>, Failure> {
        let Subject { workload, options, .. } = self.subject;
        let arrangement = Explored::arrange(self.selection, options.workers, &options.engine_options(0))?;
        Ok(Circumstances {
            workload,
            workers: options.workers,
            hosts: arrangement.clients,
            longer: "more --seeds or --transactions",
        })
    }
}

/// The words of a panic.
fn words(panic: &(dyn std::any::Any + Send)) -> String {
    let owned = panic.downcast_ref::<String>().cloned();
    let words = owned.or_else(|| panic.downcast_ref::<&str>().map(|words| (*words).to_owned()));
    words.unwrap_or_else(|| "a panic without words".to_owned())
}

/// The line that plays one seed only: as it was typed, but for `--seed` and `--seeds`.
fn replay(line: &str, seed: u64) -> String {
    let mut words = Vec::new();
    let mut is_value = false;
    for word in line.split(' ') {
        if is_value {
            is_value = false;
        } else if word == "--seed" || word == "--seeds" {
            is_value = true;
        } else if !word.starts_with("--seed=") && !word.starts_with("--seeds=") {
            words.push(word);
        }
    }
    format!("{} --seeds 1 --seed {seed}", words.join(" "))
}

fn progress(schedules: u64) -> ProgressBar {
    let style =
        ProgressStyle::with_template("exploring {wide_bar} {pos}/{len} schedules, {per_sec}, {eta} left");
    let bar = ProgressBar::with_draw_target(Some(schedules), ProgressDrawTarget::stderr_with_hz(5));
    bar.with_style(style.expect("a template without mistakes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_find_is_replayed_by_its_seed() {
        let line = "trireme check --seed 5 micro --explore=pct --seeds=100 --workers 2";
        assert_eq!(replay(line, 42), "trireme check micro --explore=pct --workers 2 --seeds 1 --seed 42");
    }

    #[test]
    fn schedules_differ_by_kind_and_seed() {
        let all: Vec<Schedule> = Kind::ALL
            .into_iter()
            .flat_map(|kind| (1..20).map(move |seed| kind.schedule(seed, 100)))
            .collect();
        for (position, schedule) in all.iter().enumerate() {
            assert!(!all[..position].contains(schedule), "{schedule:?}");
        }
    }
}
