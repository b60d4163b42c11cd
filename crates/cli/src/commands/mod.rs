//! One file for each command: what can be typed after it, and what it does.

pub mod advise;
pub mod check;
pub mod compare;
pub mod completions;
pub mod crash;
pub mod diff;
pub mod doctor;
pub mod list;
pub mod log;
pub mod node;
pub mod recover;
pub mod report;
pub mod reproduce;
pub mod run;
pub mod sweep;
pub mod validate;
mod welcome;

use crate::arguments::Typed;
use harness::Failure;
use std::process::ExitCode;

/// 0 if all that was checked held, else 1.
fn verdict(held: bool) -> ExitCode {
    if held { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Does what the line says.
pub fn carry_out(typed: &Typed) -> Result<ExitCode, Failure> {
    typed.refuse_repeated()?;
    match typed.matches.subcommand() {
        Some(("run", matches)) => run::run(matches, &typed.line),
        Some(("compare", matches)) => compare::compare(matches, &typed.line),
        Some(("sweep", matches)) => sweep::sweep(matches, &typed.line),
        Some(("advise", matches)) => advise::advise(matches, &typed.line),
        Some(("reproduce", matches)) => reproduce::reproduce(matches, &typed.line),
        Some(("validate", matches)) => validate::validate(matches, &typed.line),
        Some(("diff", matches)) => diff::diff(matches, &typed.line),
        Some(("report", matches)) => report::report(matches, &typed.line),
        Some(("check", matches)) => check::check(matches, &typed.line),
        Some(("recover", matches)) => recover::recover(matches),
        Some(("crash", matches)) => crash::crash(matches),
        Some(("log", matches)) => log::log(matches),
        Some(("node", matches)) => node::node(matches),
        Some(("list", matches)) => list::list(matches),
        Some(("completions", matches)) => completions::completions(matches),
        Some(("doctor", matches)) => doctor::doctor(matches),
        Some((other, _)) => unreachable!("no command is called {other}"),
        None => welcome::welcome(),
    }
}
