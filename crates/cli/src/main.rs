//! The `trireme` command: read the line, do what it says, exit with what came of it.
//!
//! | what | where |
//! |---|---|
//! | what can be typed | [`arguments`], and refused in one line: [`usage`] |
//! | what each command does | [`commands`], one file each |
//! | what a person sees meanwhile | [`progress`] |
//! | what a person reads at the end | [`answer`], written by [`output`] |
//! | what is wrong with a machine, and what to mend first | [`advice`] |
//! | what stands beside earlier results | [`baseline`] |
//! | what other programs read | [`export`] |
//! | which engine a run is on, and which machine | [`engines`], [`simulation`] |
//! | which experiments and machines travel along | [`shipped`] |
//! | what stands around the numbers | [`surroundings`] |
//! | what is simulated at the same time | [`side_by_side`] |
//! | several processes that do one command | [`nodes`] |
//!
//! Exit codes: 0 done, 1 the run or a check failed, 2 other input would have helped, 130 interrupted ([`interrupt`]).
#![forbid(unsafe_code)]

mod advice;
mod answer;
mod arguments;
mod baseline;
mod calibrate;
mod commands;
mod engines;
mod export;
mod interrupt;
mod load_advice;
mod model;
mod nodes;
mod output;
mod progress;
mod selection;
mod shipped;
mod side_by_side;
mod simulation;
mod surroundings;
mod usage;
mod validated;
mod warm;
mod worker_facts;

use std::process::ExitCode;

fn main() -> ExitCode {
    let typed = match arguments::read() {
        Ok(typed) => typed,
        Err(stopped) => return usage::explain(&stopped),
    };
    match nodes::leave(commands::carry_out(&typed)) {
        Ok(code) => code,
        Err(failure) => {
            output::complain(&failure.to_string());
            ExitCode::from(failure.exit_code())
        }
    }
}
