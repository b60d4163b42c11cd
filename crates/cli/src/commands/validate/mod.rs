//! `validate`: what the simulated machine says beside what is measured on this one, for every pair (*thousand-cores*
//! figure 3), and how far the model is off by that.
//!
//! The machine file is this machine's (`trireme doctor --calibrate`): its constants were found once, on one worker and one
//! system, so that everything else here is a prediction. Hardware and simulated machine take turns, system by system and round
//! after round, and what a round says is kept as it comes: a later call with the same `--out` goes on, or adds rounds. Without a workload the standing set is
//! validated ([`scenes`]). Deployments of instances are processes on the hardware ([`processes`]), and have errors of their own. The
//! errors are what verdicts on simulated figures know of the model: `--commit` writes them down for that.

mod processes;
mod scenes;

use super::doctor::LOCAL;
use super::run::{Admit, Measure};
use super::verdict;
use crate::arguments::{measuring, typed, workloads};
use crate::calibrate::{measured_round_trip_ns, round_trip_ns};
use crate::engines::{self, Machine};
use crate::load_advice::Watching;
use crate::progress::Steps;
use crate::{answer, model, output, selection, warm};
use ::workloads::AnyWorkload;
use clap::{Arg, ArgMatches, Command};
use contract::PairName;
use harness::measure::After;
use harness::observer::Silent;
use harness::summary::Summary;
use harness::text::dates::Utc;
use harness::text::numbers::counted;
use harness::validation::{Host, ModelErrors, Origin, RoundTrip, Row, Rows, Validation};
use harness::{Failure, RunOptions, Subject};
use machine::hardware::environment::Environment;
use machine::hardware::load::Watch;
use machine::hardware::rounds::factor;
use scenes::{Scene, scenes};
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

/// What can be typed.
pub fn arguments() -> Command {
    let command = Command::new("validate").about(
        "Compare what a simulated machine says with what is measured here, for every pair at 1 to --workers workers, \
         turns",
    );
    let command = measuring(command, &defaults(engines::cores())).after_help(
        "Without a workload: a standing set, in some minutes. --warmup and --duration are the hardware's; on the simulated \
         machine each system has its caches warm first. --repeat is the number of rounds. With the --out of an earlier call it \
         goes on from there. Deployments (--instances, and those of the standing set) have a process for each instance.",
    );
    let commit = Arg::new("commit")
        .long("commit")
        .value_name("FILE")
        .num_args(0..=1)
        .require_equals(true)
        .default_missing_value(ModelErrors::COMMITTED)
        .help(format!(
            "Write the errors that verdicts use, to be committed [default: {}]",
            ModelErrors::COMMITTED
        ))
        .help_heading("Results")
        .global(true);
    let command = workloads(command.arg(commit).mut_arg("on", |on| {
        on.help("The file of this machine, from doctor --calibrate [default: machines/local.toml]")
    }));
    command.subcommand_required(false)
}

/// The papers' engines retry at once and wait for each miss, and so do their files.
fn defaults(cores: usize) -> RunOptions {
    let mut options = RunOptions {
        warmup: Duration::from_millis(100),
        duration: Duration::from_millis(200),
        ..RunOptions::for_compare(cores)
    };
    for (name, value) in [("prefetch", "off"), ("back-off", "off")] {
        options.set(name, value).expect("an option").expect("one of its values");
    }
    options
}

/// The machine of the file, and what a line takes there and back between two of its cores.
#[derive(Clone, Copy)]
struct Simulated {
    machine: Machine,
    line_ns: f64,
}

/// Compares.
pub fn validate(matches: &ArgMatches, line: &str) -> Result<ExitCode, Failure> {
    let on = typed(matches, "on").unwrap_or(LOCAL);
    if typed(matches, "on").is_none() && !Path::new(LOCAL).exists() {
        return Err(Failure::Usage(format!("{LOCAL} is not there; 'trireme doctor --calibrate' writes it")));
    }
    let simulated = Machine::named(Some(on))?;
    let Machine::Simulated(description) = simulated else {
        let what = "--on hardware: allowed: the file of this machine, from doctor --calibrate".to_owned();
        return Err(Failure::Usage(what));
    };
    let options = selection::options(matches, Machine::Hardware, defaults(engines::cores()))?;
    options.admit_no_choice("what is compared must be told the same")?;
    simulated.admit(options.workers)?;
    let (scenes, left_out) = scenes(matches, simulated, &options)?;
    for scene in &scenes {
        for workers in scene.workers(options.workers) {
            let at = RunOptions { workers, ..scene.options(&options) };
            Machine::Hardware.run(Admit { pairs: &scene.pairs(&at), options: &at })?;
        }
    }
    let what = matches.subcommand_name().unwrap_or("standing");
    let folder = selection::out_to_go_on(matches, "validate", what, Rows::FILE_NAME)?;

    let origin = Origin::new(Machine::Hardware.place(), simulated.place(), model::fingerprint(), &options);
    let mut rows = Rows::open(folder.path(), &origin)?;
    let beside = Simulated { machine: simulated, line_ns: round_trip_ns(description) };
    let (round_trip, mut warnings) = measure(matches, &scenes, beside, &options, &mut rows)?;
    warnings.extend(left_out);
    let machine = simulated.place();
    let (seed, name) = (options.engine.seed, machine.machine.clone());
    // An earlier call may have been asked for more.
    let asked = |row: &&Row| {
        let is_of = |scene: &Scene| scene.has(row);
        row.round < options.repeat && row.workers <= options.workers && scenes.iter().any(is_of)
    };
    let rows: Vec<Row> = rows.all().iter().filter(asked).cloned().collect();
    let validation = Validation::of(line, name, seed, &rows, round_trip, warnings);
    let kept = folder.write_json("summary.json", &validation);
    if matches.get_flag("json") {
        output::print_json(&validation)?;
    } else {
        output::print(&answer::of_validation(&validation))?;
    }
    kept?;
    let is_sound = validation.failed_checks.is_empty();
    if let Some(file) = typed(matches, "commit").filter(|_| is_sound) {
        let errors = to_commit(&validation, machine.description.unwrap_or_default());
        let file = Path::new(file);
        std::fs::write(file, errors.text()).map_err(Failure::write(file))?;
    } else if typed(matches, "commit").is_some() {
        output::say(
            "nothing is committed: a check has failed; once it is mended, validate into another --out",
        );
    }
    Ok(verdict(is_sound))
}

/// Measures and simulates round by round; answers where the cores were, and what is odd about the host.
fn measure(
    matches: &ArgMatches,
    scenes: &[Scene],
    simulated: Simulated,
    options: &RunOptions,
    rows: &mut Rows,
) -> Result<(Option<RoundTrip>, Vec<String>), Failure> {
    let at = |scene: &Scene, workers: usize, round: usize| {
        let options = scene.options(options);
        RunOptions { workers, repeat: 1, engine: options.engine_options(round), ..options }
    };
    let pairs = |scene: &Scene, workers| scene.pairs(&at(scene, workers, 0));
    let points =
        scenes.iter().flat_map(|scene| scene.workers(options.workers).map(move |workers| (scene, workers)));
    let all: usize = points.map(|(scene, workers)| pairs(scene, workers).len()).sum();
    let steps = Steps::of(all * options.repeat, "systems", matches);
    let mut watching = Watching::begin();
    let mut trips_ns = Vec::new();
    for round in 0..options.repeat {
        watching.try_cores();
        trips_ns.extend(measured_round_trip_ns());
        for scene in scenes {
            for workers in scene.workers(options.workers) {
                let place = format!("round {}, {}", round + 1, scene.name(workers));
                steps.begin(&place);
                let (workload, deployment) =
                    ((scene.workload.name(), scene.setting.as_str()), scene.deployment(workers));
                for pair in pairs(scene, workers) {
                    if !rows.has(round, workload, workers, deployment, pair) {
                        rows.add(both(simulated, scene, pair, round, &at(scene, workers, round))?)?;
                    }
                    steps.end(1, &place);
                }
            }
        }
    }
    let mut warnings = watching.end().warnings();
    if cfg!(debug_assertions) {
        warnings.push("a debug build was measured: build with --release".to_owned());
    }
    let low_ns = trips_ns.iter().copied().reduce(f64::min);
    let round_trip = low_ns.map(|low_ns| RoundTrip {
        low_ns,
        high_ns: trips_ns.iter().copied().fold(low_ns, f64::max),
        simulated_ns: simulated.line_ns,
    });
    Ok((round_trip, warnings))
}

/// A pair on the hardware, and then simulated for as many transactions as warm the caches.
fn both(
    simulated: Simulated,
    scene: &Scene,
    pair: PairName,
    round: usize,
    options: &RunOptions,
) -> Result<Vec<Row>, Failure> {
    let line_ns = measured_round_trip_ns().filter(|_| options.workers > 1);
    let watch = Watch::of_workers(options.workers);
    let Scene { workload, setting, .. } = scene;
    let measured = match scene.deployment(options.workers) {
        (_, None) => summary(Machine::Hardware, workload, pair, options)?,
        (instances, Some(_)) => processes::measured(workload, pair, options, instances)?,
    };
    let host =
        Host { taken: watch.end().taken(), moved: line_ns.map_or(1.0, |ns| factor(ns, simulated.line_ns)) };
    let (warmup, duration) = warm::times(measured.memory.loaded_rows, measured.throughput_per_s);
    let briefly = RunOptions { warmup, duration, ..options.clone() };
    let beside = summary(simulated.machine, workload, pair, &briefly)?;
    Ok(vec![Row::of(&measured, round, setting, host), Row::of(&beside, round, setting, Host::UNDISTURBED)])
}

fn summary(
    machine: Machine,
    workload: &AnyWorkload,
    pair: PairName,
    options: &RunOptions,
) -> Result<Summary, Failure> {
    let subject = Subject::of(workload, options.clone(), machine.place());
    let job = Measure { workload, pairs: &[pair], options, after: After::Nothing, observer: &Silent };
    Ok(Summary::of(&subject, &machine.run(job)?.0[0]))
}

/// What verdicts use of it.
fn to_commit(validation: &Validation, machine_fingerprint: String) -> ModelErrors {
    let environment = Environment::of_this_machine();
    let processor = environment.cpu_model.as_deref().unwrap_or("an unknown processor");
    ModelErrors {
        schema: harness::validation::MODEL_ERRORS_SCHEMA.to_owned(),
        measured_on: Utc::now().readable()[..10].to_owned(),
        host: format!("{processor}, {}", counted(environment.cores, "core")),
        command: validation.command.clone(),
        most_workers: validation.most_workers(),
        model_fingerprint: model::fingerprint(),
        machine_fingerprint,
        hardware_spread: validation.hardware_spread,
        warnings: validation.warnings.clone(),
        workloads: validation.workloads(),
        deployments: validation.deployments.clone(),
        errors: validation.errors.clone(),
        comparisons: validation.comparisons.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_validated_as_the_papers_files_run() {
        let options = defaults(2);
        assert_eq!((options.get("prefetch"), options.get("back-off")), ("off".to_owned(), "off".to_owned()));
    }
}
