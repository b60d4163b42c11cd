//! The `ignite` command: exits with 0 if all that was checked held, 1 if not or if a node failed, 2 if other input would have helped.
#![forbid(unsafe_code)]

mod arguments;

use clap::ArgMatches;
use harness::check::{CheckWorkload, Conclusion};
use harness::results::Surroundings;
use harness::text::numbers::thousands;
use harness::{Event, Failure, Observer, RunOptions};
use ignite::{check, compare, nodes, table};
use std::collections::BTreeMap;
use std::process::ExitCode;
use std::thread::available_parallelism;

fn main() -> ExitCode {
    let matches = arguments::command().get_matches();
    let done = match matches.subcommand() {
        Some(("compare", matches)) => compared(matches),
        Some(("check", matches)) => checked(matches),
        _ => unreachable!("the command wants one of the two"),
    };
    nodes::stop_idle();
    done.unwrap_or_else(|failure| {
        eprintln!("error: {failure}");
        ExitCode::from(failure.exit_code())
    })
}

fn cores() -> usize {
    available_parallelism().map_or(1, usize::from)
}

fn compared(matches: &ArgMatches) -> Result<ExitCode, Failure> {
    let options = arguments::options(matches, RunOptions::for_compare(cores()))?;
    let nodes = arguments::nodes(matches)?.get();
    let named = arguments::workload(matches, false)?;
    let CheckWorkload::Measured(workload) = &named else {
        unreachable!("those of checks are not among them")
    };
    let over_ignite = arguments::over_ignite(matches, options.clone());
    let subject = arguments::subject(&named, options, cores());
    let surroundings = Surroundings::new(String::new(), &BTreeMap::<String, String>::new());
    let agenda = compare::Agenda { subject: &subject, workload, nodes, over_ignite, observer: &Lines };
    let result = agenda.carry_out(&surroundings)?;
    if matches.get_flag("json") {
        println!("{}", serde_json::to_string_pretty(&result.comparison()).expect("results have text keys"));
    } else {
        print!("{}", table::of_comparison(&result));
    }
    let held = result.systems.iter().flat_map(|system| &system.summary.checks).all(|check| check.passed);
    Ok(if held { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn checked(matches: &ArgMatches) -> Result<ExitCode, Failure> {
    let options = arguments::options(matches, RunOptions::for_run(cores().max(4)))?;
    let (workload, transactions) = (arguments::workload(matches, true)?, arguments::transactions(matches)?);
    let options = arguments::over_ignite(matches, options);
    let subject = arguments::subject(&workload, options, cores());
    let canary = matches.get_flag("canary");
    let agenda =
        check::Agenda { subject: &subject, workload: &workload, transactions, canary, observer: &Lines };
    let summary = agenda.carry_out()?;
    if matches.get_flag("json") {
        println!("{}", serde_json::to_string_pretty(&summary).expect("results have text keys"));
    } else {
        print!("{}", table::of_check(&summary));
    }
    Ok(match summary.conclusion() {
        Conclusion::Held if !canary => ExitCode::SUCCESS,
        Conclusion::Held | Conclusion::Failed => ExitCode::FAILURE,
        Conclusion::TooLittle => ExitCode::from(2),
    })
}

/// Says on standard error what is being done, a line each.
struct Lines;

impl Observer for Lines {
    fn tell(&self, event: Event<'_>) {
        match event {
            Event::LoadBegins { rows } => eprintln!("loading {} rows", thousands(rows as f64)),
            Event::RunBegins { system, repetition, of } => eprintln!("{system}: {repetition} of {of}"),
            Event::Note(note) => eprintln!("{note}"),
            _ => {}
        }
    }
}
