//! `completions`: what a shell completes, and the manual's pages, from the same definitions as the command line itself.

use crate::arguments::{command, typed};
use crate::output;
use clap::{Arg, ArgMatches, Command};
use clap_complete::Shell;
use harness::folder::Folder;
use harness::{BadValue, Failure};
use std::path::Path;
use std::process::ExitCode;

/// The program's name.
const PROGRAM: &str = "trireme";

/// What can be typed.
pub fn arguments() -> Command {
    Command::new("completions")
        .about("Print what a shell completes, or write the manual's pages")
        .after_help(
            "For bash: trireme completions bash > ~/.local/share/bash-completion/completions/trireme\nThe manual's pages: trireme completions man --out ~/.local/share/man/man1",
        )
        .arg(
            Arg::new("what")
                .value_name("WHAT")
                .required(true)
                .help(format!("{}, or man", shells())),
        )
        .arg(Arg::new("out").long("out").value_name("FOLDER").help("Folder of the manual's pages [default: man]"))
}

fn shells() -> String {
    let all = [Shell::Bash, Shell::Elvish, Shell::Fish, Shell::PowerShell, Shell::Zsh];
    all.map(|shell| shell.to_string()).join(", ")
}

/// Prints, or writes.
pub fn completions(matches: &ArgMatches) -> Result<ExitCode, Failure> {
    let what = typed(matches, "what").expect("it is required");
    if what == "man" {
        return pages(Path::new(typed(matches, "out").unwrap_or("man")));
    }
    if typed(matches, "out").is_some() {
        return Err(Failure::Usage(
            "--out is for 'completions man'; what a shell completes is printed".to_owned(),
        ));
    }
    let shell: Shell = what.parse().map_err(|_| {
        Failure::Usage(BadValue::new("completions", what, format!("{}, man", shells())).to_string())
    })?;
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut command(), PROGRAM, &mut text);
    output::print(&String::from_utf8_lossy(&text))?;
    Ok(ExitCode::SUCCESS)
}

/// A page for the program, and one for each command.
fn pages(folder: &Path) -> Result<ExitCode, Failure> {
    let folder = Folder::create(folder)?;
    let command = command();
    let mut pages = vec![(PROGRAM.to_owned(), command.clone())];
    for of in command.get_subcommands() {
        let name = format!("{PROGRAM}-{}", of.get_name());
        // Pages of a long name must not be built of a name that goes.
        let named: &'static str = Box::leak(name.clone().into_boxed_str());
        pages.push((name, of.clone().name(named)));
    }
    for (name, of) in &pages {
        let mut text = Vec::new();
        clap_mangen::Man::new(of.clone()).render(&mut text).expect("memory takes what is written");
        folder.write(&format!("{name}.1"), &String::from_utf8_lossy(&text))?;
    }
    output::print(&format!("{} pages in {}\n", pages.len(), folder.path().display()))?;
    Ok(ExitCode::SUCCESS)
}
