//! `advise`: which system to take for a workload, on the machine at hand and on others, and why. The method is [`harness::advice`]'s.

use super::compare::only;
use super::verdict;
use crate::arguments::{json, out, progress, system_list, typed, workloads};
use crate::engines::{Job, Machine};
use crate::load_advice::Watching;
use crate::progress::Progress;
use crate::{answer, interrupt, output, selection, surroundings, validated};
use ::workloads::{AnyWorkload, Parameters};
use clap::{Arg, ArgMatches, Command};
use contract::{Durability, Engine, Workload as _};
use harness::advice::{
    Advice, Disk, Goal, OnMachine, Pace, SCHEMA, Trials, UnmeasuredMachine, advise as advise_on, of_advice,
    words,
};
use harness::failure::INTERRUPTED;
use harness::folder::Folder;
use harness::results::Surroundings;
use harness::text::durations;
use harness::validation::{ModelErrors, SystemKind};
use harness::{BadValue, Failure, Observer, RunOptions};
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// The machine at hand, and two that differ much from each other.
const MACHINES: &str = "hardware,westmere-ep-2x6,haswell-ex-4x18";

/// What can be typed.
pub fn arguments() -> Command {
    let option = |name: &'static str, value: &'static str, help: String| {
        Arg::new(name)
            .long(name)
            .value_name(value)
            .help(help)
            .help_heading("Advice")
            .global(true)
            .allow_hyphen_values(true)
    };
    let command = Command::new("advise")
        .about("Say which system to take for a workload, on which machine, and why")
        .after_help(
            "Every system runs shortly, the best third for longer, and so on; the last ones are compared in a final, and along the workload's skew, the share of \
             its transactions that cross partitions, and cores. Answers in about two minutes on two idle cores; tables of more rows than it takes by itself are loaded many times, and take longer. A workload's file may say its goal ([goal]).",
        )
        .arg(option("on", "MACHINES", format!("'hardware', and machines to simulate, between commas [default: {MACHINES}]")))
        .arg(option("latency-goal", "TIME", "What 99 of 100 transactions are to take at most, retries included [default: the file's, or none]".to_owned()))
        .arg(option(
            "durability",
            "LEVEL",
            format!(
                "When a commit counts: {} [default: the file's, or none]",
                Durability::ALL.map(Durability::name).join(", ")
            ),
        ))
        .arg(option("workers", "N", "Workers at most [default: all cores of each machine]".to_owned()))
        .arg(option("effort", "X", "Length of all runs, as a factor [default: 1]".to_owned()))
        .arg(option("seed", "N", "From which everything random is drawn [default: 1]".to_owned()))
        .arg(system_list("Consider these systems and no others: 'silo', 'dora', 'delegation no-wait', several between commas").help_heading("Advice"))
        .arg(progress().help_heading("Advice").global(true))
        .arg(json().help_heading("Results").global(true))
        .arg(out("Folder of the results [default: a new one below results/]"));
    workloads(command)
}

/// Advises.
pub fn advise(matches: &ArgMatches, line: &str) -> Result<ExitCode, Failure> {
    let began = Instant::now();
    let machines = machines(typed(matches, "on").unwrap_or(MACHINES))?;
    let (name, below) = matches.subcommand().expect("it needs a workload");
    let (workload, cut) = sized(name, below)?;
    let asked = Asked::of(matches, &workload)?;
    for (machine, _) in &machines {
        machine.run(Admit { asked: &asked, options: &asked.options(*machine, None) })?;
    }
    let folder = selection::out(matches, "advise", name)?;
    let surroundings = surroundings::of_line(line);
    let mut surroundings = validated::beside(surroundings, machines.iter().map(|(machine, _)| *machine));
    interrupt::heed();
    let watching = Watching::begin();

    let (mut told, mut unmeasured) = (Vec::new(), Vec::new());
    let mut first_failure = None;
    for (number, (machine, on)) in machines.iter().enumerate() {
        let progress = Progress::on(*machine, matches);
        let options = asked.options(*machine, Some(&folder));
        let pace = match machine {
            Machine::Simulated(_) => Pace::simulated(options.workers),
            _ => Pace::on_hardware(),
        };
        let pace = pace.times(asked.effort);
        let disk = disk(*machine, folder.path());
        let is_required = asked.durability() != Durability::None;
        let pace = match disk.as_ref().and_then(|disk| disk.epoch).filter(|_| is_required) {
            Some(epoch) => pace.of_epochs(epoch, options.workers),
            None => pace,
        };
        let job = Advise {
            workload: &workload,
            model_error: model_error(*machine, &surroundings),
            pace,
            machine: *machine,
            on: on.as_deref(),
            asked: &asked,
            options,
            disk,
            observer: &progress,
        };
        match machine.run(job) {
            Ok(on_machine) => told.push(on_machine),
            Err(Failure::Interrupted) if told.is_empty() && unmeasured.is_empty() => {
                return Err(Failure::Interrupted);
            }
            Err(Failure::Interrupted) => {
                unmeasured.extend(machines[number..].iter().map(interrupted));
                break;
            }
            // What other machines have told is not lost.
            Err(failure) if machines.len() > 1 => {
                unmeasured
                    .push(UnmeasuredMachine { machine: machine.place().machine, why: failure.to_string() });
                first_failure = first_failure.or(Some(failure));
            }
            Err(failure) => return Err(failure),
        }
        if interrupt::is_asked_for() {
            unmeasured.extend(machines[number + 1..].iter().map(interrupted));
            break;
        }
    }
    surroundings::tell_load(&mut surroundings, &watching.end());
    if told.is_empty() {
        for machine in &unmeasured {
            output::say(&format!("{}: {}", machine.machine, machine.why));
        }
        let failure = first_failure.filter(|_| !interrupt::is_asked_for());
        return Err(failure.unwrap_or(Failure::Interrupted));
    }
    let mut advice = Advice {
        schema: SCHEMA,
        workload: words(&workload),
        parameters: workload.resolved().into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
        latency_goal_us: asked.goal.latency_p99.map(|goal| goal.as_secs_f64() * 1e6),
        durability: asked.durability().to_string(),
        took_s: began.elapsed().as_secs_f64(),
        interrupted: interrupt::is_asked_for(),
        machines: told,
        unmeasured,
        warnings: Vec::new(),
    };
    advice.warnings = warnings(&advice, &surroundings);
    advice.warnings.extend(cut);
    // A full disk must not take what was measured: it is printed first.
    let kept = write(&folder, &advice, &surroundings);
    match matches.get_flag("json") {
        true => output::print_json(&advice)?,
        false => output::print(&answer::of_advice(&advice, kept.is_ok().then_some(&folder)))?,
    }
    kept?;
    if advice.interrupted {
        return Ok(ExitCode::from(INTERRUPTED));
    }
    // What is wrong comes before what is missing.
    match first_failure.filter(|_| advice.is_sound()) {
        Some(failure) => Err(failure),
        None => Ok(verdict(advice.is_sound())),
    }
}

/// A machine that an interrupt came before.
fn interrupted((machine, _): &(Machine, Option<String>)) -> UnmeasuredMachine {
    UnmeasuredMachine { machine: machine.place().machine, why: "interrupted".to_owned() }
}

/// Rows of a table beyond which to load them for each system takes longer than to measure it.
const MOST_ROWS: u64 = 200_000;

/// A warehouse of TPC-C at a tenth of its size, for the same reason. How many want the same rows goes by warehouses and districts, of which there are as many as ever.
const TENTH: [(&str, &str); 2] = [("items", "10000"), ("customers", "300")];

/// The workload that was typed; with fewer rows, if its tables are large and nobody typed their size. And what was cut, in words.
fn sized(name: &str, matches: &ArgMatches) -> Result<(AnyWorkload, Option<String>), Failure> {
    let workload = selection::workload(name, matches, &Parameters::new())?;
    let is_typed = |parameter: &str| typed(matches, parameter).is_some();
    let (fewer, words): (Parameters, String) = match (&workload, rows(&workload)) {
        (AnyWorkload::Tpcc(_), _) if !TENTH.iter().any(|(parameter, _)| is_typed(parameter)) => (
            TENTH.into_iter().map(|(parameter, value)| (parameter, value.to_owned())).collect(),
            format!(
                "warehouses were measured at a tenth of their size, for they are loaded many times: {} measures whole ones",
                whole(&workload)
            ),
        ),
        (_, Some((parameter, rows))) if rows > MOST_ROWS && !is_typed(parameter) => (
            [(parameter, MOST_ROWS.to_string())].into_iter().collect(),
            format!(
                "tables of more than {MOST_ROWS} rows were measured with so many, for they are loaded many times: --{parameter} N measures others"
            ),
        ),
        _ => return Ok((workload, None)),
    };
    // What was typed beside may need as many as there are.
    Ok(selection::workload(name, matches, &fewer).map_or((workload, None), |cut| (cut, Some(words))))
}

/// What to type for warehouses of TPC-C that are not cut.
fn whole(tpcc: &AnyWorkload) -> String {
    let sizes = tpcc.resolved().into_iter().filter(|(name, _)| TENTH.iter().any(|(cut, _)| cut == name));
    sizes.map(|(name, value)| format!("--{name} {value}")).collect::<Vec<_>>().join(" ")
}

/// The parameter that says how many rows a workload's largest table has, and how many those are; `None` of TPC-C, whose tables go by more than one.
fn rows(workload: &AnyWorkload) -> Option<(&'static str, u64)> {
    let told = |parameter| {
        let resolved = workload.resolved().into_iter().find(|(name, _)| *name == parameter);
        Some((parameter, resolved?.1.parse().ok()?))
    };
    match workload {
        AnyWorkload::Described(described) => {
            Some(("most-rows", described.tables().iter().map(|table| table.rows).max()?))
        }
        AnyWorkload::Micro(_) | AnyWorkload::Ycsb(_) => told("records"),
        AnyWorkload::SmallBank(_) => told("customers"),
        AnyWorkload::Tatp(_) => told("subscribers"),
        AnyWorkload::Tpcc(_) => None,
    }
}

/// How far the model of a simulated machine is off between systems, if it is known.
fn model_error(machine: Machine, surroundings: &Surroundings) -> Option<f64> {
    let is_simulated = matches!(machine, Machine::Simulated(_));
    between_candidates(surroundings.validated.as_ref().ok().filter(|_| is_simulated)?)
}

/// The model's error between candidates, which are systems of one instance; `None` if it was not measured.
fn between_candidates(errors: &ModelErrors) -> Option<f64> {
    let (error, _) = errors.of_kind("throughput", SystemKind::OneInstance)?;
    Some(error.between_systems)
}

/// The machines of a list, each with what `--on` takes for it.
fn machines(given: &str) -> Result<Vec<(Machine, Option<String>)>, Failure> {
    let one = |name: &str| Ok((Machine::named(Some(name))?, (name != "hardware").then(|| name.to_owned())));
    let names: Vec<&str> = given.split(',').map(str::trim).collect();
    if names.iter().enumerate().any(|(number, name)| names[..number].contains(name)) {
        return Err(BadValue::new("on", given, "each machine once").into());
    }
    names.into_iter().map(one).collect()
}

/// What was asked for, on whatever machine.
struct Asked {
    goal: Goal,
    /// Workers at most, if it was said.
    workers: Option<usize>,
    /// How many times as long all runs are.
    effort: f64,
    seed: Option<String>,
    only: Option<String>,
}

impl Asked {
    fn of(matches: &ArgMatches, workload: &AnyWorkload) -> Result<Asked, Failure> {
        let of_file = match workload {
            AnyWorkload::Described(described) => described.goal(),
            _ => Default::default(),
        };
        let latency_p99 = match typed(matches, "latency-goal") {
            None => of_file.latency_p99,
            Some(text) => Some(latency(text)?),
        };
        let durability = match typed(matches, "durability") {
            None => of_file.durability,
            Some(text) => {
                let allowed = || Durability::ALL.map(Durability::name).join(", ");
                Some(text.parse().map_err(|_| BadValue::new("durability", text, allowed()))?)
            }
        };
        let workers = match typed(matches, "workers") {
            None => None,
            Some(text) => Some(RunOptions::for_run(1))
                .map(|mut options| {
                    options.set("workers", text).expect("an option of a run").map(|()| options.workers)
                })
                .transpose()?,
        };
        let seed = typed(matches, "seed").map(str::to_owned);
        if let Some(seed) = &seed {
            RunOptions::for_run(1).set("seed", seed).expect("an option of a run")?;
        }
        let only = typed(matches, "only").map(str::to_owned);
        let effort = match typed(matches, "effort") {
            None => 1.0,
            Some(text) => effort(text)?,
        };
        Ok(Asked { goal: Goal { latency_p99, durability }, workers, effort, seed, only })
    }

    /// What is told to all runs on `machine`; logs are in `folder`, where there is one.
    fn options(&self, machine: Machine, folder: Option<&Folder>) -> RunOptions {
        let mut options = machine.defaults(RunOptions::for_compare);
        options.workers = self.workers.map_or(options.workers, |most| most.min(options.workers));
        if let Some(seed) = &self.seed {
            options.set("seed", seed).expect("an option of a run").expect("it was read before");
        }
        let disk = disk(machine, folder.map_or(Path::new(""), Folder::path));
        if let Some(disk) = disk.filter(|_| self.durability() != Durability::None) {
            options.logging.level = self.durability();
            options.logging.each_apart = true;
            options.logging.folders = folder.map(|_| disk.folder).into_iter().collect();
            options.engine.epoch_interval = disk.epoch.unwrap_or(options.engine.epoch_interval);
        }
        options
    }

    /// At which level systems are compared.
    fn durability(&self) -> Durability {
        self.goal.durability.unwrap_or_default()
    }
}

/// Where logs are, in a folder below that of the results, if `machine` has a disk.
fn disk(machine: Machine, results: &Path) -> Option<Disk> {
    let epoch = match machine {
        // So that a logger is ready for each: a sync, and half of one for what is written before it.
        Machine::Simulated(description) => {
            Some(Duration::from_micros(description.disk.as_ref()?.sync_us * 3 / 2).max(SHORTEST_EPOCH))
        }
        _ => None,
    };
    Some(Disk { folder: results.join("log"), epoch })
}

/// On a simulated disk, however fast it is.
const SHORTEST_EPOCH: Duration = Duration::from_micros(20);

fn effort(text: &str) -> Result<f64, BadValue> {
    let read = text.parse().ok().filter(|effort| (0.01..=1000.0).contains(effort));
    read.ok_or_else(|| BadValue::new("effort", text, "0.01 to 1000"))
}

fn latency(text: &str) -> Result<Duration, BadValue> {
    let read = durations::parse(text).filter(|latency| !latency.is_zero());
    read.ok_or_else(|| BadValue::new("latency-goal", text, format!("more than 0: {}", durations::ALLOWED)))
}

/// Refuses systems that there are not.
struct Admit<'a> {
    asked: &'a Asked,
    options: &'a RunOptions,
}

impl Job for Admit<'_> {
    type Output = Result<(), Failure>;

    fn on<E: Engine>(self) -> Self::Output {
        chosen::<E>(self.asked, self.options).map(drop)
    }
}

/// The systems that were chosen; `None`: all.
fn chosen<E: Engine>(
    asked: &Asked,
    options: &RunOptions,
) -> Result<Option<Vec<contract::PairName>>, Failure> {
    let Some(given) = &asked.only else { return Ok(None) };
    let (pairs, _) = harness::measure::supported::<E>(options);
    only(given, &pairs).map(Some)
}

/// Advises on one machine.
struct Advise<'a> {
    workload: &'a AnyWorkload,
    machine: Machine,
    on: Option<&'a str>,
    asked: &'a Asked,
    model_error: Option<f64>,
    pace: Pace,
    options: RunOptions,
    disk: Option<Disk>,
    observer: &'a dyn Observer,
}

impl Job for Advise<'_> {
    type Output = Result<OnMachine, Failure>;

    fn on<E: Engine>(self) -> Self::Output {
        let Advise { workload, machine, on, asked, model_error, pace, options, disk, observer } = self;
        let chosen = chosen::<E>(asked, &options)?;
        let trials =
            Trials::<E>::new(workload, (machine.place(), on), asked.goal, model_error, options, observer);
        advise_on(&trials.with_disk(disk), &pace, chosen.as_deref())
    }
}

/// What is odd: about the build, the model's error, the finals, and disks that are not there.
fn warnings(advice: &Advice, surroundings: &Surroundings) -> Vec<String> {
    let mut warnings = Vec::new();
    if cfg!(debug_assertions) && advice.machines.iter().any(|machine| !machine.simulated) {
        warnings.push("debug build: what it measures here says nothing; build with --release".to_owned());
    }
    if advice.machines.iter().any(|machine| machine.simulated) {
        warnings.push(match &surroundings.validated {
            Ok(errors) => {
                let off = between_candidates(errors);
                let off = off.map_or("an unknown factor".to_owned(), |off| format!("a factor of {off:.2}"));
                format!("simulated machines: the model's throughput is off by {off} between systems of one instance, as all of these are; those that differ by less may change places on a real machine")
            }
            Err(why) => format!("simulated machines: how far the model is off is not known: {why}"),
        });
    }
    for machine in &advice.machines {
        warnings.extend(machine.warnings.iter().map(|odd| format!("{}: {odd}", machine.machine)));
    }
    let unmeasured = advice.unmeasured.iter();
    warnings.extend(unmeasured.map(|it| format!("{}: nothing was measured: {}", it.machine, it.why)));
    for machine in advice.machines.iter().filter(|machine| machine.durability != advice.durability) {
        warnings.push(format!(
            "{} has no disk: its commits count when they are installed, not by durability {}",
            machine.machine, advice.durability
        ));
    }
    warnings
}

fn write(folder: &Folder, advice: &Advice, surroundings: &Surroundings) -> Result<(), Failure> {
    // Empty by now: each store's log has gone with it.
    let _ = std::fs::remove_dir(folder.path().join("log"));
    folder.write_json("advice.json", advice)?;
    folder.write_json("environment.json", &surroundings.environment)?;
    folder.write("report.html", &of_advice(advice, surroundings))
}

/// On the papers' workloads, simulated small, the advice is what the papers found.
#[cfg(test)]
mod tests {
    use super::*;
    use ::workloads::build;
    use harness::advice::{AxisKind, Length};
    use harness::observer::Silent;

    /// Enough for a few thousand transactions a system.
    fn pace() -> Pace {
        let of = |warmup_us, duration_us, repeat| Length {
            warmup: Duration::from_micros(warmup_us),
            duration: Duration::from_micros(duration_us),
            repeat,
        };
        Pace {
            first: of(30, 50, 1),
            longest: of(50, 100, 2),
            point: of(50, 100, 2),
            epochs: 4,
            before_points: None,
        }
    }

    fn advised(
        machine: &str,
        workers: usize,
        (workload, given): (&str, &[(&str, &str)]),
        only: &str,
    ) -> OnMachine {
        advised_by(Some(1.0), machine, workers, (workload, given), only)
    }

    /// By a model of this error.
    fn advised_by(
        model_error: Option<f64>,
        machine: &str,
        workers: usize,
        (workload, given): (&str, &[(&str, &str)]),
        only: &str,
    ) -> OnMachine {
        let machine = Machine::named(Some(machine)).expect("it travels along");
        let workload = build(workload, &given.iter().copied().collect()).expect("a workload");
        let asked = Asked {
            goal: Goal::default(),
            workers: Some(workers),
            effort: 1.0,
            seed: None,
            only: Some(only.to_owned()),
        };
        let options = asked.options(machine, None);
        let on = None;
        let job = Advise {
            workload: &workload,
            machine,
            on,
            asked: &asked,
            model_error,
            pace: pace(),
            options,
            disk: None,
            observer: &Silent,
        };
        machine.run(job).expect("an advice")
    }

    /// As a claim about points that are simulated is not told then.
    #[test]
    fn a_model_of_unknown_error_tells_nothing_apart() {
        let hot = [("records", "20000"), ("hot", "2"), ("writes", "all")];
        let only = "shared-everything silo,delegation silo,dora no-wait";
        let of = |error| advised_by(error, "haswell-ex-4x18", 24, ("micro", &hot), only);
        let (known, unknown) = (of(Some(1.0)), of(None));
        assert!(known.ranking[1..].iter().any(|row| row.figures.is_told_apart), "{:?}", known.ranking);
        assert_eq!(unknown.verdict.ties.len(), 2, "{:?}", unknown.verdict.ties);
        assert!(unknown.axes.iter().all(|axis| axis.flips.is_empty()), "{:?}", unknown.axes);
        let said = |sentence: &String| sentence.contains("by a model of unknown error");
        assert!(unknown.finding.iter().any(said), "{:?}", unknown.finding);
    }

    const UPDATES: [(&str, &str); 5] =
        [("records", "20000"), ("accesses", "10"), ("distinct", "yes"), ("theta", "0"), ("reads", "0")];

    fn updates(more: &[(&'static str, &'static str)]) -> Vec<(&'static str, &'static str)> {
        [&UPDATES[..], more].concat()
    }

    /// What is measured of a line, and which parameter is cut in it.
    fn sized_of(line: &str) -> (Option<u64>, Option<String>) {
        let words = ["advise"].into_iter().chain(line.split(' '));
        let matches = arguments().try_get_matches_from(words).expect("a line");
        let (name, below) = matches.subcommand().expect("a workload");
        let (workload, cut) = sized(name, below).expect("a workload");
        (rows(&workload).map(|(_, rows)| rows), cut)
    }

    #[test]
    fn large_tables_are_cut_unless_their_size_is_typed() {
        for line in ["micro", "ycsb --theta 0.9"] {
            let (rows, words) = sized_of(line);
            assert_eq!(rows, Some(MOST_ROWS), "{line}");
            assert!(words.as_ref().is_some_and(|words| words.contains("--records N")), "{line}: {words:?}");
        }
        assert_eq!(sized_of("ycsb --records 300000"), (Some(300_000), None), "as it was typed");
        assert_eq!(sized_of("ycsb --records 1000"), (Some(1000), None));
        assert_eq!(sized_of("tatp"), (Some(100_000), None), "it has fewer");
        let of_tpcc =
            |line| sized_of(line).1.is_some_and(|words| words.contains(": --items 100000 --customers 3000 "));
        assert!(of_tpcc("tpcc --warehouses 3") && !of_tpcc("tpcc --items 5000"));
        let shop = "described --file examples/workloads/shop.toml";
        assert_eq!(sized_of(shop), (Some(100_000), None), "its largest table is not too large");
        assert_eq!(sized_of(&format!("{shop} --most-rows 3000")), (Some(3000), None));
    }

    /// What the two papers compare there, and NO_WAIT, with which *trireme* does (4.2.4).
    const PARTITIONED_OR_NOT: &str = "partitioned-serial,shared-everything silo,shared-everything no-wait,shared-everything deadlock-free,orthrus";

    /// *orthrus* 4.3, figure 6, and *silo* 5.4, figure 8: one latch a partition is the fastest while transactions stay within one, and falls behind who locks rows, in place or in lock tables, as more of them do not.
    #[test]
    fn partitions_are_for_those_who_stay_within_one() {
        let within = updates(&[("touched-partitions", "1")]);
        let told = advised("nehalem-ex-4x8", 12, ("ycsb", &within), PARTITIONED_OR_NOT);
        assert_eq!((told.verdict.system.as_str(), told.verdict.workers), ("partitioned-serial none", 12));
        assert_eq!(told.verdict.partitions, 12);
        let crossing = told.axes.iter().find(|axis| axis.kind == AxisKind::Crossing).expect("an axis");
        let flip = crossing.flips.first().expect("it flips");
        assert_eq!(flip.before, "partitioned-serial none", "{flip:?}");
        assert!(crossing.flips.iter().all(|flip| flip.after != "partitioned-serial none"), "{crossing:?}");
        assert!(told.finding.iter().any(|sentence| sentence.contains("leads up to")), "{:?}", told.finding);

        let told = advised("nehalem-ex-4x8", 12, ("ycsb", &updates(&[])), PARTITIONED_OR_NOT);
        assert_ne!(told.verdict.system, "partitioned-serial none", "{:?}", told.verdict);
    }

    /// *trireme* 4.2.3, figure 2c: where all only read, Silo writes nothing that is shared, and is ahead. These are the systems that the figure draws; of those that the text speaks of beside, Silo under
    /// Delegation is ahead of it here, over so few rows of which all are at home.
    #[test]
    fn who_only_reads_takes_silo() {
        let reads = [("records", "20000"), ("writes", "none")];
        let told = advised(
            "haswell-ex-4x18",
            24,
            ("micro", &reads),
            "shared-everything silo,shared-everything no-wait,shared-everything 2v-no-wait,delegation dl-detect,partitioned-serial",
        );
        assert_eq!(told.verdict.system, "shared-everything silo");
        assert!(told.verdict.ties.is_empty(), "{:?}", told.verdict.ties);
        assert_eq!(
            (told.verdict.servers, told.shares.len()),
            (None, 0),
            "all of its workers host transactions"
        );
    }

    /// *thousand-cores* 6.1: under contention NO_WAIT is much better than DL_DETECT. These are the paper's schemes that lock; of its others OCC is ahead here, as it is there with 1024 cores.
    #[test]
    fn who_fights_over_few_rows_does_not_wait() {
        let hot = [("records", "20000"), ("accesses", "16"), ("theta", "0.8"), ("reads", "50")];
        let told = advised(
            "graphite-mesh-64",
            32,
            ("ycsb", &hot),
            "shared-everything no-wait,shared-everything dl-detect,shared-everything wait-die",
        );
        assert_eq!(told.verdict.system, "shared-everything no-wait", "{:?}", told.ranking);
    }

    /// *orthrus* 4.5, figure 12: where many update the same few rows, lock tables with threads of their own are ahead of locks in place, as long as a transaction stays within one partition. The
    /// paper's systems of that section are these, with each way in which its 2PL treats deadlocks (4.1). A fifth of the cores for lock tables is the paper's choice, for many workloads; this one does better with more.
    #[test]
    fn who_updates_hot_rows_takes_orthrus() {
        let hot = updates(&[("hot", "2"), ("hot-records", "64"), ("touched-partitions", "1")]);
        let systems = "orthrus,shared-everything wait-die,shared-everything dl-detect,shared-everything dreadlocks,shared-everything deadlock-free";
        let told = advised("westmere-ex-8x10", 40, ("ycsb", &hot), systems);
        assert_eq!(told.verdict.system, "orthrus", "{:?}", told.ranking);
        let [shares] = &told.shares[..] else { panic!("nobody else has the choice: {:?}", told.shares) };
        let mut tried: Vec<usize> = shares.tried.iter().map(|tried| tried.servers).collect();
        tried.sort_unstable();
        assert_eq!((shares.workers, shares.usual, tried), (40, 8, vec![4, 8, 13, 20]));
        assert!(shares.chosen > 8 && shares.times > 1.2, "{shares:?}");
        let verdict = &told.verdict;
        assert_eq!((verdict.servers, verdict.partitions as usize), (Some(shares.chosen), shares.chosen));
        assert_eq!(
            told.ranking[0].figures.throughput_per_s, shares.tried[0].figures.throughput_per_s,
            "ranked at that share"
        );
        let sentence = format!("Of its 40 workers {} keep the lock tables: ", shares.chosen);
        assert!(told.finding[1].starts_with(&sentence), "{:?}", told.finding);
    }
}
