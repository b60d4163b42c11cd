//! `sweep`: an experiment file, point by point. What is finished is kept; the same line goes on with the rest.

use super::verdict;
use crate::arguments::{default_of, measuring, typed};
use crate::engines::{self, Hardware};
use crate::progress::Progress;
use crate::{answer, output, selection};
use clap::{Arg, ArgMatches, Command};
use harness::folder::Folder;
use harness::options::OPTIONS;
use harness::results::Surroundings;
use harness::sweep::{Cases, Experiment, conduct};
use harness::{Failure, Place, RunOptions};
use machine::hardware::environment::Environment;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// What can be typed.
pub fn arguments() -> Command {
    let defaults = RunOptions::for_compare(engines::cores());
    let command = Command::new("sweep")
        .about("Measure all points of an experiment file, going on where it was interrupted")
        .after_help(
            "Every finished point is kept; the same line typed again goes on with the others. An option typed here \
             takes the place of the file's, unless the file sweeps it.",
        )
        .arg(Arg::new("experiment").value_name("FILE").required(true).help("The experiment file"));
    let command = measuring(command, &defaults).mut_arg("out", |out| {
        out.help("Folder of the results [default: results/sweep-NAME, of the file's name]")
    });
    OPTIONS.iter().fold(command, |command, option| {
        let default = default_of(option.name, &defaults);
        let help = format!("{} [default: the file's, or else {default}]", option.help);
        command.mut_arg(option.name, |arg| arg.help(help))
    })
}

/// Sweeps.
pub fn sweep(matches: &ArgMatches, line: &str) -> Result<ExitCode, Failure> {
    engines::admit_machine(typed(matches, "on").unwrap_or("hardware"))?;
    let cores = engines::cores();
    let file = Path::new(typed(matches, "experiment").expect("required"));
    let mut experiment = Experiment::read(file, cores)?;
    for (name, value) in selection::options_typed(matches) {
        RunOptions::for_compare(cores).set(name, value).expect("a name of OPTIONS")?;
        experiment.replace(name, value)?;
    }
    let place = Place::hardware(cores);
    let cases = Cases::resolve::<Hardware>(&experiment, &RunOptions::for_compare(cores), &place)?;
    let folder = match typed(matches, "out") {
        Some(folder) => PathBuf::from(folder),
        None => PathBuf::from(format!("results/sweep-{}", experiment.name)),
    };
    let folder = Folder::create(&folder)?;
    let surroundings = Surroundings::new(line.to_owned(), &Environment::of_this_machine());

    let progress = Progress::new();
    let conducted = conduct::<Hardware>(&experiment, &cases, &folder, &surroundings, &place, &progress)?;

    if matches.get_flag("json") {
        output::print_json(&conducted)?;
    } else {
        output::print(&answer::of_sweep(&experiment, &conducted, &folder))?;
    }
    Ok(verdict(conducted.points.iter().flat_map(|point| &point.summary.checks).all(|check| check.passed)))
}
