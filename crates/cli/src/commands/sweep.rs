//! `sweep`: an experiment file, point by point. What is finished is kept; the same line goes on with the rest.

use super::{reproduce, verdict};
use crate::agreement::{self, agreed};
use crate::arguments::{default_of, measuring, typed};
use crate::baseline::{self, Baseline};
use crate::engines::{self, Job, Machine};
use crate::load_advice::Watching;
use crate::progress::Progress;
use crate::{answer, export, nodes, output, selection, shipped, surroundings, validated};
use clap::{Arg, ArgAction, ArgMatches, Command};
use contract::{Durability, Engine};
use harness::folder::Folder;
use harness::options::OPTIONS;
use harness::report::of_sweep;
use harness::results::Surroundings;
use harness::sweep::{
    Cases, Conducted, Estimate, Experiment, Points, Shared, conduct, estimate, journal, known,
};
use harness::text::durations;
use harness::text::numbers::counted;
use harness::{Failure, Observer, Place, RunOptions};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

/// What can be typed.
pub fn arguments() -> Command {
    let defaults = RunOptions::for_compare(engines::cores());
    let command = Command::new("sweep")
        .about("Measure all points of an experiment file, going on where it was interrupted")
        .after_help(
            "Every finished point is kept; the same line typed again goes on with the others. An option typed here \
             takes the place of the file's, unless the file sweeps it. The parameters.toml of a result on a simulated \
             machine names it, and is swept with --on and that machine's file only.",
        )
        .arg(Arg::new("experiment").value_name("FILE").required(true).help("The experiment file"))
        .arg(
            Arg::new("dry-run")
                .long("dry-run")
                .action(ArgAction::SetTrue)
                .help("Say which points there are and about how long those take that are not measured yet, and measure none"),
        );
    let command = nodes::with_cluster(export::arguments(baseline::arguments(measuring(command, &defaults))))
        .mut_arg("out", |out| {
            out.help("Folder of the results [default: results/sweep-NAME, of the file's name]")
        });
    OPTIONS.iter().fold(command, |command, option| {
        let default = default_of(option, &defaults);
        let help = format!("{} [default: the file's, or else {default}]", option.help());
        command.mut_arg(option.name, |arg| arg.help(help))
    })
}

/// What a simulated machine needs less of.
const TIMES: [&str; 3] = ["warmup", "duration", "repeat"];

/// Sweeps.
pub fn sweep(matches: &ArgMatches, line: &str) -> Result<ExitCode, Failure> {
    let machine = selection::machine(matches)?;
    let (baseline, forms) = (Baseline::of(matches)?, export::typed_forms(matches)?);
    let file = Path::new(typed(matches, "experiment").expect("required"));
    let typed_options: Vec<(&str, &str)> = selection::options_typed(matches).collect();
    let prepared = prepare(file, machine, &typed_options)
        .map_err(|failure| or_simulated(failure, file, machine, &typed_options));
    let (experiment, cases) = agreed(prepared, |(experiment, cases)| agreement::of_sweep(experiment, cases))?;
    let place = machine.place();
    let folder = match typed(matches, "out") {
        Some(folder) => PathBuf::from(folder),
        None => PathBuf::from(format!("results/sweep-{}", experiment.name)),
    };
    if matches.get_flag("dry-run") {
        let estimate = estimate(&experiment, &cases, &place, &folder, engines::cores());
        match matches.get_flag("json") {
            true => output::print_json(&estimate)?,
            false => output::print(&planned(&experiment, &estimate, &place))?,
        }
        return Ok(ExitCode::SUCCESS);
    }
    let folder =
        nodes::folder_to_go_on(journal::FILE_NAME, || Folder::create_to_go_on(&folder, journal::FILE_NAME))?;
    let surroundings = surroundings::of_line(line);
    let surroundings = validated::beside(surroundings, std::iter::once(machine));

    let progress = Progress::on(machine, matches);
    let job = Conduct {
        experiment: &experiment,
        cases: &cases,
        folder: &folder,
        surroundings: &surroundings,
        place: &place,
        shared: &Shared::default(),
        observer: &progress,
    };
    let conducted = job.watched(machine)?;
    export::points(&folder, (&experiment, &cases), &conducted, &forms)?;

    if matches.get_flag("json") {
        output::print_json(&conducted)?;
    } else {
        output::print(&answer::of_sweep(&experiment, &conducted, &folder))?;
    }
    let passed = conducted.points.iter().flat_map(|point| &point.summary.checks).all(|check| check.passed);
    let is_as_good = baseline.hold_against(&folder, passed, matches.get_flag("json"))?;
    Ok(verdict(is_as_good && passed))
}

/// The points, and how long they take.
fn planned(experiment: &Experiment, estimate: &Estimate, place: &Place) -> String {
    let mut text = format!("{}, on {}\n\n", estimate.title, place.shown());
    for axis in &experiment.axes {
        text += &format!("  {:<14} {}\n", axis.name, axis.values.join(", "));
    }
    for left_out in &estimate.left_out {
        text += &format!("  left out       {}: {}\n", left_out.system(), left_out.why);
    }
    let there = match estimate.finished {
        0 => String::new(),
        finished => format!(", {finished} of them there already"),
    };
    let counted_time = durations::roughly(Duration::from_secs_f64(estimate.counted_s));
    let what = match estimate.simulated {
        true => format!("{} of simulated time", durations::show(Duration::from_secs_f64(estimate.counted_s))),
        false => format!("{counted_time} of measuring"),
    };
    text + &format!(
        "\n{}{there}, {what}: {} here ({})\n",
        counted(estimate.points, "point"),
        estimate.shown(),
        estimate.how
    )
}

/// What does not fit this machine, and fits that of the figure's paper: then the failure says how the figure is simulated.
fn or_simulated(failure: Failure, file: &Path, machine: Machine, typed_options: &[(&str, &str)]) -> Failure {
    let Machine::Hardware = machine else { return failure };
    let Failure::Input { place, what } = failure else { return failure };
    let fits = |(_, machine): &(String, Machine)| prepare(file, *machine, typed_options).is_ok();
    let what = match reproduce::elsewhere(file).filter(fits) {
        Some((line, _)) => format!("{what}; the figure is of another machine, which '{line}' simulates"),
        None => what,
    };
    Failure::Input { place, what }
}

/// Reads an experiment, to be run on `machine`; what was typed takes the place of what it says.
pub fn prepare(
    file: &Path,
    machine: Machine,
    typed_options: &[(&str, &str)],
) -> Result<(Experiment, Cases), Failure> {
    let (place, defaults) = (machine.place(), machine.defaults(RunOptions::for_compare));
    let mut experiment = shipped::experiment(file, place.cores)?;
    experiment.admit(&place)?;
    if place.simulated && experiment.machine.is_none() {
        // The file's times are those of real machines; an hour of them would be a month of ours.
        for name in TIMES {
            experiment.replace(name, &defaults.get(name))?;
        }
    }
    for (name, value) in typed_options {
        experiment.replace(name, value)?;
        if !experiment.axes.iter().any(|axis| axis.name == *name) {
            defaults.clone().set(name, value).expect("a name of OPTIONS")?;
        }
    }
    let mut cases = machine.run(Resolve { experiment: &experiment, defaults: &defaults, place: &place })?;
    for case in &mut cases.cases {
        machine.admit(case.subject.options.workers)?;
        let logging = &mut case.subject.options.logging;
        // Where durability is swept, the points that log nothing have no use for the folder.
        if logging.level == Durability::None {
            logging.folders.clear();
        }
        machine.admit_logging(logging)?;
        logging.each_apart = true;
    }
    admit_instances(&experiment, &mut cases, machine)?;
    Ok((experiment, cases))
}

/// Leaves out the deployments that are none of this machine's processes: one file has those of one process, of several, and of MPI.
fn admit_instances(experiment: &Experiment, cases: &mut Cases, machine: Machine) -> Result<(), Failure> {
    let mut misfits = BTreeMap::new();
    for case in &cases.cases {
        let options = &case.subject.options;
        match machine.admit_instances(options.workers, &options.engine) {
            Ok(()) => {}
            Err(Failure::Value(bad)) => drop(misfits.insert(case.at.clone(), bad)),
            Err(failure) => return Err(failure),
        }
    }
    cases.leave_out_misfits(experiment, |case| misfits.get(&case.at).cloned())
}

/// What an experiment comes to on a machine: not all of them have the same ways to draw timestamps.
struct Resolve<'a> {
    experiment: &'a Experiment,
    defaults: &'a RunOptions,
    place: &'a Place,
}

impl Job for Resolve<'_> {
    type Output = Result<Cases, Failure>;

    fn on<E: Engine>(self) -> Self::Output {
        Cases::resolve::<E>(self.experiment, self.defaults, self.place)
    }
}

/// A sweep, on whatever machine.
#[derive(Clone, Copy)]
pub struct Conduct<'a> {
    /// The experiment.
    pub experiment: &'a Experiment,
    /// Its points.
    pub cases: &'a Cases,
    /// Where results go.
    pub folder: &'a Folder,
    /// What stands around them.
    pub surroundings: &'a Surroundings,
    /// Where it runs.
    pub place: &'a Place,
    /// What it has in common with others.
    pub shared: &'a Shared,
    /// Who is told.
    pub observer: &'a dyn Observer,
}

impl Conduct<'_> {
    /// Conducts it on `machine`, and says in the folder, on the report's page too, who else wanted the cores meanwhile. Where nothing is left to measure, that stays as it was told
    /// of the points when they were measured.
    pub fn watched(self, machine: Machine) -> Result<Conducted, Failure> {
        let Conduct { experiment, cases, folder, surroundings: now, place, .. } = self;
        let watching = Watching::begin();
        let conducted = machine.run(self)?;
        let surroundings = if conducted.measured_now > 0 {
            let mut told = now.clone();
            surroundings::tell_load(&mut told, &watching.end());
            folder.write_json("environment.json", &told.environment)?;
            told
        } else {
            let then = Surroundings::laid_down(folder.path());
            then.map_or_else(|| now.clone(), |then| then.validated(now.validated.clone()))
        };
        let known = Known { experiment, cases, folder: folder.path(), surroundings: &surroundings, place };
        folder.write("report.html", &of_sweep(&machine.run(known)?.reported(Vec::new())))?;
        Ok(conducted)
    }
}

impl Job for Conduct<'_> {
    type Output = Result<Conducted, Failure>;

    fn on<E: Engine>(self) -> Self::Output {
        let Conduct { experiment, cases, folder, surroundings, place, shared, observer } = self;
        conduct::<E>(experiment, cases, folder, surroundings, place, shared, observer)
    }
}

/// What is there of a sweep's points.
pub struct Known<'a> {
    /// The experiment.
    pub experiment: &'a Experiment,
    /// Its points.
    pub cases: &'a Cases,
    /// Where results are.
    pub folder: &'a Path,
    /// What stands around them.
    pub surroundings: &'a Surroundings,
    /// Where they were measured.
    pub place: &'a Place,
}

impl<'a> Job for Known<'a> {
    type Output = Result<Points<'a>, Failure>;

    fn on<E: Engine>(self) -> Self::Output {
        let Known { experiment, cases, folder, surroundings, place } = self;
        known::<E>(experiment, cases, folder, surroundings, place)
    }
}
