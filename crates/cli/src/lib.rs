//! The `trireme` command: read the line, do what it says, exit with what came of it.
//!
//! | what | where |
//! |---|---|
//! | what can be typed | `arguments`, and refused in one line: `usage` |
//! | what each command does | `commands`, one file each |
//! | what a person sees meanwhile | `progress` |
//! | what a person reads at the end | `answer`, written by `output` |
//! | what is wrong with a machine, and what to mend first | `advice` |
//! | what a message through the operating system takes | `ping_pong` |
//! | what stands beside earlier results | `baseline` |
//! | two programs by turns | `by_turns` |
//! | what other programs read | `export` |
//! | which engine a run is on, and which machine | `engines`, `simulation` |
//! | which experiments and machines travel along | `shipped` |
//! | what stands around the numbers | `surroundings` |
//! | what is simulated at the same time | `side_by_side` |
//! | several processes that do one command | `nodes` |
//!
//! Exit codes: 0 done, 1 the run or a check failed, 2 other input would have helped, 3 what came of it cannot be written, 130 interrupted (`interrupt`).
#![forbid(unsafe_code)]

mod advice;
mod agreement;
mod answer;
mod arguments;
mod baseline;
mod by_turns;
mod calibrate;
mod commands;
mod engines;
mod export;
mod interrupt;
mod load_advice;
mod model;
mod narrow;
mod nodes;
mod output;
mod ping_pong;
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

use cluster::fabric::Fabric;
use harness::Failure;
use std::process::ExitCode;

/// Does what this process's line says.
pub fn main() -> ExitCode {
    let typed = match arguments::read() {
        Ok(typed) => typed,
        Err(stopped) => return usage::explain(&stopped),
    };
    explained(nodes::leave(commands::carry_out(&typed)).0)
}

/// The same in one of several processes that a fabric has started with the same line: the first does what it says, and the others are nodes of its run. `launcher`: the words before the line's. And whether
/// all have come to the end: else nobody is to be waited for.
pub fn main_over(fabric: &'static dyn Fabric, launcher: &str) -> (ExitCode, bool) {
    let words = match nodes::of_fabric(fabric, launcher) {
        // Whatever comes of it, the others wait until this process ends.
        Ok(None) => match arguments::read() {
            Ok(typed) => {
                let done = nodes::admit_command(typed.matches.subcommand_name())
                    .and_then(|()| commands::carry_out(&typed.launched_by(launcher)));
                let (done, is_together) = nodes::leave(done);
                return (explained(done), is_together);
            }
            Err(stopped) => return (usage::explain(&stopped), nodes::dismiss()),
        },
        Ok(Some(words)) if words.is_empty() => return (ExitCode::SUCCESS, true),
        Ok(Some(words)) => words,
        Err(failure) => return (explained(Err(failure)), true),
    };
    let (done, is_together) = nodes::leave(commands::node::carry_out_words(words));
    (explained(done), is_together)
}

fn explained(done: Result<ExitCode, Failure>) -> ExitCode {
    done.unwrap_or_else(|failure| {
        interrupt::give_way();
        output::complain(&failure.to_string());
        ExitCode::from(failure.exit_code())
    })
}
