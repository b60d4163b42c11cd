//! `validate`: what the simulated machine says beside what is measured on this one, for every pair (*thousand-cores*
//! figure 3).
//!
//! The machine file is this machine's (`trireme doctor --calibrate`): its constants were found once, on one worker and one
//! system, so that everything else here is a prediction.

use super::run::{Admit, Measure};
use crate::arguments::{measuring, workloads};
use crate::calibrate::{measured_round_trip_ns, round_trip_ns};
use crate::engines::{self, Hardware, Machine};
use crate::progress::Progress;
use crate::{answer, output, selection};
use ::workloads::AnyWorkload;
use clap::{ArgMatches, Command};
use contract::PairName;
use harness::folder::Folder;
use harness::measure::{self, After};
use harness::results::System;
use harness::validation::{Compared, RoundTrip, Validation};
use harness::{Failure, Observer, RunOptions, Subject};
use machine::hardware::facts;
use std::process::ExitCode;

/// What can be typed.
pub fn arguments() -> Command {
    let command = Command::new("validate").about(
        "Compare what a simulated machine says with what is measured here, for every pair at 1 to --workers workers",
    );
    let command = measuring(command, &RunOptions::for_compare(engines::cores()));
    workloads(command.mut_arg("on", |on| {
        on.help("The file of this machine, from doctor --calibrate [default: machines/local.toml]")
    }))
}

/// Compares.
pub fn validate(matches: &ArgMatches, line: &str) -> Result<ExitCode, Failure> {
    let on = crate::arguments::typed(matches, "on").unwrap_or("machines/local.toml");
    let simulated = Machine::named(Some(on))?;
    let Machine::Simulated(description) = simulated else {
        let what = "--on hardware: allowed: the file of this machine, from doctor --calibrate".to_owned();
        return Err(Failure::Usage(what));
    };
    let hardware = Machine::Hardware;
    let (subject, workload) = selection::subject(matches, hardware, RunOptions::for_compare)?;
    simulated.admit(subject.options.workers)?;
    let folder = selection::out(matches, "validate", &subject.workload)?;

    let progress = Progress::on(hardware, matches);
    let before_ns = measured_round_trip_ns(&facts::measure(true));
    let mut compared = Vec::new();
    for workers in 1..=subject.options.workers {
        let at = RunOptions { workers, ..subject.options.clone() };
        let (pairs, _) = measure::supported::<Hardware>(&at);
        hardware.run(Admit { pairs: &pairs, options: &at })?;
        let measured = systems(hardware, &subject, &workload, &pairs, &at, &progress)?;
        let times = RunOptions::for_simulation(workers);
        let briefly = RunOptions { warmup: times.warmup, duration: times.duration, ..at };
        let predicted = systems(simulated, &subject, &workload, &pairs, &briefly, &progress)?;
        compared.extend(
            measured
                .iter()
                .zip(&predicted)
                .map(|(measured, predicted)| Compared::of(&measured.summary, &predicted.summary)),
        );
    }
    let round_trip =
        before_ns.zip(measured_round_trip_ns(&facts::measure(true))).map(|(before_ns, after_ns)| RoundTrip {
            before_ns,
            after_ns,
            simulated_ns: round_trip_ns(description),
        });
    let validation = Validation::of(line, simulated.place().machine, &subject, compared, round_trip);
    let kept = keep(&folder, &validation);
    if matches.get_flag("json") {
        output::print_json(&validation)?;
    } else {
        output::print(&answer::of_validation(&validation))?;
    }
    kept?;
    Ok(ExitCode::SUCCESS)
}

fn keep(folder: &Folder, validation: &Validation) -> Result<(), Failure> {
    folder.write_json("summary.json", validation)
}

/// Measures `pairs` on a machine.
fn systems(
    machine: Machine,
    subject: &Subject,
    workload: &AnyWorkload,
    pairs: &[PairName],
    options: &RunOptions,
    observer: &dyn Observer,
) -> Result<Vec<System>, Failure> {
    let subject = Subject { options: options.clone(), place: machine.place(), ..subject.clone() };
    let (measured, _) = machine.run(Measure { workload, pairs, options, after: After::Nothing, observer })?;
    Ok(measured.iter().map(|measured| System::of(&subject, measured)).collect())
}
