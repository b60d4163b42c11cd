//! `diff`: the results of one command beside those of an earlier one.

use super::verdict;
use crate::arguments::{json, typed};
use crate::{baseline, output};
use clap::{Arg, ArgAction, ArgMatches, Command};
use harness::Failure;
use harness::diff::{Diff, baselines, recorded::Recorded};
use std::path::Path;
use std::process::ExitCode;

/// What can be typed.
pub fn arguments() -> Command {
    let side = |name: &'static str, help: &'static str| {
        Arg::new(name).value_name(name.to_uppercase()).required(true).help(help)
    };
    Command::new("diff")
        .about("Compare the results of two commands, row by row: is the second slower?")
        .after_help(
            "Each is a folder of results of run, compare or sweep, or the name under which --save-baseline has kept one. Exits 1 if a row of \
             the second is slower for certain, and on average by more than the tolerance; if it is not there any more; and if one repetition alone does not tell.",
        )
        .arg(side("before", "The earlier results: a folder, or a baseline's name"))
        .arg(side("after", "The later ones"))
        .arg(baseline::by())
        .arg(baseline::tolerance())
        .arg(
            Arg::new("unlike")
                .long("unlike")
                .action(ArgAction::SetTrue)
                .help("Compare even what was measured on another machine, or with other parameters, and rows as far as both have them"),
        )
        .arg(json())
}

/// Compares.
pub fn diff(matches: &ArgMatches) -> Result<ExitCode, Failure> {
    let (quantity, tolerance) = (baseline::quantity(matches)?, baseline::tolerated(matches)?);
    let read = |name| {
        let given = typed(matches, name).expect("it is required");
        Recorded::read(&baselines::find(given, Path::new(baselines::FOLDER))?)
    };
    let (before, after) = (read("before")?, read("after")?);
    let are_unlike = matches.get_flag("unlike");
    if !are_unlike {
        baseline::admit(&before, &after, quantity)?;
    }
    let diff = Diff::of(&before, &after, quantity, tolerance);
    if !are_unlike && !diff.differences.is_empty() {
        let allowed = "results of the same machine and parameters, or --unlike";
        return Err(Failure::Usage(format!(
            "they differ: {}; allowed: {allowed}",
            diff.differences.join("; ")
        )));
    }
    match matches.get_flag("json") {
        true => output::print_json(&diff)?,
        false => output::print(&baseline::of_diff(&diff))?,
    }
    Ok(verdict(diff.is_as_good(are_unlike)))
}
