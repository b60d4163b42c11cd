//! `check`: run one system with everything written down, and judge whether what it did is serializable.
//!
//! [`explore`] does the same many times over on the simulated machine.

mod explore;

use super::run::Idle;
use crate::agreement::{self, agreed};
use crate::arguments::{out, running, system, typed, workloads_by};
use crate::engines::{self, Hardware, Job, Machine};
use crate::load_advice::Watching;
use crate::progress::Progress;
use crate::{answer, nodes, output, selection, surroundings};
use clap::{Arg, ArgMatches, Command};
use cluster::{Group, Together};
use contract::{ArchitectureName, CanaryName, DeploymentCanary, Engine, PairName, Selection, Support};
use harness::check::happened::{DEPENDENCIES_NEEDED, ROUNDS_NEEDED};
use harness::check::{self, CheckWorkload, Conclusion, Outcome, Own, Trial, defaults};
use harness::failure::words;
use harness::folder::Folder;
use harness::options::OPTIONS;
use harness::results::CheckResult;
use harness::summary::warnings::of_short_check;
use harness::{BadValue, Failure, RunOptions, Subject, measure};
use history::ElleLayout;
use machine::hardware::clock;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use workloads::{AnyWorkload, ParameterDescription};

/// What can be typed.
pub fn arguments() -> Command {
    let canaries: Vec<&str> = CanaryName::ALL.iter().map(|canary| canary.name()).collect();
    let option = |name: &'static str, value: &'static str, help: String| {
        Arg::new(name)
            .long(name)
            .value_name(value)
            .help(help)
            .help_heading("Check")
            .global(true)
            .allow_hyphen_values(true)
    };
    let command = Command::new("check")
        .about("Run one system with everything written down, and judge whether it is serializable")
        .after_help(format!(
            "Exits with 0 if all that was checked held, above all that the history is strictly serializable (serializable under tictoc, and under timestamp, mvcc and cicada with --timestamps batch-N), and with \
             1 if not. With --canary it exits with 1 both if the canary was rejected, as it must be, and if it was missed, and \
             says which. Exits with 2 if it held, but too little happened: a history needs \
             {DEPENDENCIES_NEEDED} dependencies between transactions of different workers, of each kind (write-read, \
             write-write, read-write) that what it did to some table can bring about, a scenario {ROUNDS_NEEDED} rounds \
             in which roles ran at the same time, an exploration as many over all its schedules together."
        ))
        .arg(option(
            "transactions",
            "N",
            format!(
                "Transactions, of all workers together; scenarios run more, until their players meet [default: {}, of \
                 tpcc {}]",
                defaults::transactions("micro"),
                defaults::transactions("tpcc")
            ),
        ))
        .arg(option(
            "canary",
            "NAME",
            format!(
                "In place of --protocol: a broken one, to be rejected: {}; beside --protocol and --cluster, of what nodes do together: {}",
                canaries.join(", "),
                DeploymentCanary::ALL.map(DeploymentCanary::name).join(", ")
            ),
        ))
        .arg(option(
            "history",
            "FILE",
            "Write the history there too, one JSON object an event, as Elle and Jepsen read them: a file whose name ends \
             in .json holds one JSON array, any other one event a line; scenarios have none"
                .to_owned(),
        ));
    let command = running(
        system(command),
        OPTIONS.iter().filter(|option| option.in_checks),
        &RunOptions::for_run(engines::cores()),
    );
    let command = nodes::with_cluster(explore::arguments(command));
    let command = command.arg(out("Folder of the results, with a report [default: none is made]"));
    workloads_by(command, default_of)
        .subcommands(Own::all().map(|own| Command::new(own.name()).about(own.summary())))
}

/// A workload's parameter where nothing is typed, for help.
fn default_of(workload: &str, parameter: &ParameterDescription) -> String {
    let set = |explored| defaults::parameters(workload, explored).find(|(name, _)| *name == parameter.name);
    match (set(false), set(true)) {
        (Some((_, checked)), Some((_, explored))) if checked != explored => {
            format!("{checked}, with --explore {explored}")
        }
        (Some((_, checked)), _) => checked.to_owned(),
        (None, _) => parameter.default.to_owned(),
    }
}

/// 0 if all that was checked held, 1 if not, 2 if too little happened. A canary never exits with 0: missed, it is the checker that
/// has failed.
fn exit_code(conclusion: Conclusion, is_canary: bool) -> ExitCode {
    match conclusion {
        Conclusion::Held if is_canary => {
            output::complain("the canary was missed: all that was checked held");
            ExitCode::FAILURE
        }
        Conclusion::Held => ExitCode::SUCCESS,
        Conclusion::Failed => ExitCode::FAILURE,
        Conclusion::TooLittle => ExitCode::from(2),
    }
}

/// Checks.
pub fn check(matches: &ArgMatches, line: &str) -> Result<ExitCode, Failure> {
    if explore::is_asked_for(matches)? {
        if let Some(cluster) = typed(matches, "cluster") {
            let allowed = "none with --explore, whose instances are in one process (--instances)";
            return Err(BadValue::new("cluster", cluster, allowed).into());
        }
        return explore::explore(matches, line);
    }
    let machine = selection::machine(matches)?;
    let subject = selection::check_subject(matches, machine, RunOptions::for_run);
    let (mut subject, workload) = agreed(subject, |(subject, _)| agreement::of_point(subject))?;
    subject.options.engine.deployment_canary = canary_between_nodes(matches, machine)?;
    let selection = selected(matches, machine)?;
    let transactions = transactions(matches, defaults::transactions(&subject.workload))?;
    match machine {
        Machine::Cluster(_) if !clock::agrees() => {
            let why = "check: a node whose host has no clock that is one for all its cores; allowed: hosts that have, or one process";
            return Err(Failure::Usage(why.to_owned()));
        }
        Machine::Cluster(_) => admit::<Together>(selection, &subject, transactions)?,
        Machine::Hardware | Machine::Simulated(_) => admit::<Hardware>(selection, &subject, transactions)?,
    }
    let asked = |name: &str| typed(matches, name).filter(|_| nodes::speaks());
    let folder = asked("out").map(|out| Folder::create_for_results(Path::new(out))).transpose()?;
    let history = asked("history").map(|name| create_history(name, &workload)).transpose()?;
    let mut surroundings = surroundings::of_line(line);
    let watching = Watching::begin();

    let progress = Progress::on(machine, matches);
    let trial = Trial { selection, subject: &subject, transactions, observer: &progress };
    let (mut summary, recorded) = machine.run(Judged { trial, workload: &workload })?;
    surroundings::tell_load(&mut surroundings, &watching.end());
    let told = selection::as_typed(&subject, matches);
    summary.warnings.extend(machine.run(Idle::of(selection.pair(), &told)));
    summary.warnings.extend(of_invariants(&workload));
    summary.warnings.extend(of_short_check(&subject.options, transactions));

    let result = CheckResult { subject: &subject, surroundings: &surroundings, summary };
    let kept = folder.as_ref().map_or(Ok(()), |folder| result.write(folder));
    // A full disk must not take the verdict: it is printed first.
    if matches.get_flag("json") {
        output::print_json(&result.summary)?;
    } else {
        let laid_down = folder.as_ref().filter(|_| kept.is_ok());
        output::print(&answer::of_check(&result.summary, laid_down))?;
    }
    kept?;
    if let Some((path, file)) = history {
        recorded.write(ElleLayout::of_file(&path), file).map_err(Failure::write(&path))?;
        let bytes = path.metadata().map_or(0, |metadata| metadata.len());
        output::say(&format!("history: {}, {:.1} MB", path.display(), bytes as f64 / 1e6));
    }
    Ok(exit_code(result.summary.conclusion(), result.summary.canary))
}

/// A history says whether a run was serializable, and nothing of what a file's sums should be.
fn of_invariants(workload: &CheckWorkload) -> Option<String> {
    let CheckWorkload::Measured(workload) = workload else { return None };
    let AnyWorkload::Described(described) = &**workload else { return None };
    described.has_invariants().then(|| {
        format!(
            "a check judges reads and writes, and adds up no sums: the file's invariants are audited by 'trireme run {}'",
            harness::advice::words(workload)
        )
    })
}

/// A trial, on whatever machine.
struct Judged<'a> {
    trial: Trial<'a>,
    workload: &'a CheckWorkload,
}

impl Job for Judged<'_> {
    type Output = Result<Outcome, Failure>;

    fn on<E: Engine>(self) -> Self::Output {
        self.trial.check::<E>(self.workload)
    }
}

/// What nodes are to leave out of what they do together, if that was typed.
fn canary_between_nodes(matches: &ArgMatches, machine: Machine) -> Result<Option<DeploymentCanary>, Failure> {
    let Some(name) = typed(matches, "canary") else { return Ok(None) };
    match (DeploymentCanary::ALL.into_iter().find(|canary| canary.name() == name), machine) {
        (Some(_), Machine::Hardware | Machine::Simulated(_)) => {
            Err(BadValue::new("canary", name, "with --cluster").into())
        }
        (Some(canary), Machine::Cluster(group)) => match why_nothing_is_left_out(canary, group) {
            Some(allowed) => Err(BadValue::new("canary", name, allowed).into()),
            None => Ok(Some(canary)),
        },
        (None, _) => Ok(None),
    }
}

/// Why a canary leaves nothing out between these nodes, so that no checker could reject it: what it takes.
fn why_nothing_is_left_out(canary: DeploymentCanary, group: &Group) -> Option<&'static str> {
    use DeploymentCanary as C;
    match canary {
        C::OneClock | C::OwnIds if group.is_one_host() => {
            Some("with nodes on several hosts: those of one have one clock")
        }
        C::EarlyDecision if group.nodes() < 3 => {
            Some("with three nodes or more: of two, one has no votes to wait for but one")
        }
        C::EarlyRelease | C::EarlyDecision | C::OneClock | C::OwnIds => None,
    }
}

fn selected(matches: &ArgMatches, machine: Machine) -> Result<Selection, Failure> {
    match typed(matches, "canary").filter(|name| !selection::is_between_nodes(name)) {
        Some(_) if typed(matches, "protocol").is_some() => {
            Err(Failure::Usage("--canary does not go with --protocol; allowed: one of them".to_owned()))
        }
        Some(name) => {
            let canary = selection::canary(name)?;
            if let Machine::Cluster(_) = machine {
                let between = DeploymentCanary::ALL.map(DeploymentCanary::name).join(", ");
                let allowed = format!("{between}, beside --protocol, with --cluster");
                return Err(BadValue::new("canary", name, allowed).into());
            }
            Ok(Selection::Canary(selection::architecture_of_check(matches)?, canary))
        }
        None => Ok(Selection::Pair(selection::pair(matches)?)),
    }
}

fn transactions(matches: &ArgMatches, default: u64) -> Result<u64, Failure> {
    match typed(matches, "transactions") {
        Some(number) => number.parse().map_err(|_| {
            BadValue::new("transactions", number, "a whole number, at least 1 and less than 2^64").into()
        }),
        None => Ok(default),
    }
}

fn admit<E: Engine>(selection: Selection, subject: &Subject, transactions: u64) -> Result<(), Failure> {
    match selection {
        Selection::Pair(pair) if !pair.protocol.has_transactions() => {
            let allowed = "a protocol with transactions; without them there is no order to check";
            return Err(BadValue::new("protocol", pair.protocol, allowed).into());
        }
        Selection::Pair(pair) => measure::admit::<E>(pair, &subject.options)?,
        Selection::Canary(architecture, canary) => {
            if let Support::Unsupported { why } = E::support(selection) {
                return Err(refuse_canary::<E>(architecture, canary, why));
            }
            measure::admit_workers::<E>(selection, &subject.options)?;
        }
    }
    let options = &subject.options;
    let arrangement = E::arrange(selection, options.workers, &options.engine_options(0))?;
    check::admit(arrangement.clients, transactions)
}

/// Says which system the canary breaks, and which canaries the architecture has.
fn refuse_canary<E: Engine>(architecture: ArchitectureName, canary: CanaryName, why: &str) -> Failure {
    let broken = PairName { architecture: canary.architecture(), protocol: canary.protocol() }.shown();
    let is_there =
        |name: &&CanaryName| E::support(Selection::Canary(architecture, **name)) == Support::Supported;
    let there: Vec<&str> = CanaryName::ALL.iter().filter(is_there).map(|name| name.name()).collect();
    let allowed = if there.is_empty() { "none".to_owned() } else { there.join(", ") };
    Failure::Usage(format!(
        "--canary {canary} --architecture {architecture}: {why}; {canary} breaks {broken}; allowed under {architecture}: {allowed}"
    ))
}

/// Makes the file before anything runs: a check may take long, and its history is wanted.
fn create_history(name: &str, workload: &CheckWorkload) -> Result<(PathBuf, File), Failure> {
    if !workload.has_history() {
        let allowed = "with every other workload; a scenario is judged by what its players saw";
        return Err(BadValue::new("history", name, allowed).into());
    }
    let path = PathBuf::from(name);
    let refuse = |error| format!("--history {name}: {}; allowed: a file that can be written", words(&error));
    let file = File::create(&path).map_err(|error| Failure::Usage(refuse(error)))?;
    Ok((path, file))
}
