//! The `versus` command: measures what the line says, prints a table for each cell and then the tables of documents, exits with what came of
//! it: 0 done, 1 a store failed or its tables were not as they should be, 2 other input would have helped.

mod arguments;

use arguments::Arguments;
use clap::Parser;
use indicatif::{ProgressBar, ProgressStyle};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use versus::conduct::Course;
use versus::results::Results;
use versus::{summary, table};

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    if let Some(instead) = &arguments.instead {
        return match instead.text() {
            Ok(text) => {
                print!("{text}");
                ExitCode::SUCCESS
            }
            Err(why) => {
                eprintln!("error: {why}");
                ExitCode::from(2)
            }
        };
    }
    let agenda = match arguments.agenda() {
        Ok(agenda) => agenda,
        Err(why) => {
            eprintln!("error: {why}");
            return ExitCode::from(2);
        }
    };
    if let Err(why) = arguments.settle_pages() {
        eprintln!("error: {why}");
        return ExitCode::from(2);
    }
    let warnings = arguments.warnings(&agenda);
    for warning in &warnings {
        eprintln!("warning: {warning}");
    }
    let stop = Arc::new(AtomicBool::new(false));
    let stopping = Arc::clone(&stop);
    let listens = ctrlc::set_handler(move || {
        if stopping.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
        eprintln!("\nends with what is done; once more ends at once, with the workloads that are done");
    });
    if let Err(error) = listens {
        eprintln!("warning: an interrupt will not keep what is done: {error}");
    }
    let progress = ProgressBar::new(agenda.rounds_in_all());
    let style = ProgressStyle::with_template("{pos}/{len} {elapsed} {wide_msg}")
        .expect("the template is well formed");
    progress.set_style(style);
    let tell = |doing: &str| match progress.is_hidden() {
        // There is no terminal: a line for each step.
        true => eprintln!(
            "{}/{} {} s: {doing}",
            progress.position(),
            agenda.rounds_in_all(),
            progress.elapsed().as_secs()
        ),
        false => progress.set_message(doing.to_owned()),
    };
    let all = |results: &Results| Results {
        command: arguments::command(),
        warnings: warnings.clone(),
        cells: results.cells.clone(),
        ..*results
    };
    // Why it cannot be kept is told at the end.
    let keep = |results: &Results| drop(arguments.keep(&all(results), &agenda));
    let round_done = || progress.inc(1);
    let results =
        agenda.carry_out(&Course { tell: &tell, round_done: &round_done, keep: &keep, stop: &stop });
    let results = all(&results);
    progress.finish_and_clear();
    print!("{}\n{}", table::of_results(&results), summary::of_results(&results));
    if let Err(why) = arguments.keep(&results, &agenda) {
        eprintln!("error: {why}");
        return ExitCode::FAILURE;
    }
    match results.has_failed() {
        true => ExitCode::FAILURE,
        false => ExitCode::SUCCESS,
    }
}
