//! `diff`: the results of one command beside those of an earlier one; or those of two programs, measured by turns.

use super::verdict;
use crate::arguments::{json, out, progress, typed};
use crate::by_turns::{Ended, Line, Program, Rounds, Turns};
use crate::progress::Steps;
use crate::{baseline, interrupt, output, surroundings};
use clap::{Arg, ArgAction, ArgMatches, Command};
use harness::diff::rounds::{self, ByTurns, TURNS_SCHEMA};
use harness::diff::{Diff, Quantity, baselines, recorded::Recorded};
use harness::folder::Folder;
use harness::report;
use harness::text::dates::Utc;
use harness::text::numbers::{counted, percent};
use harness::{BadValue, Failure};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Rounds, if no number is given. A simulated one tells all.
const ROUNDS: usize = 7;

/// More than anybody waits for.
const MOST_ROUNDS: usize = 1000;

/// Of the cores' time, what others may take before a reader should know.
const TAKEN: f64 = 0.05;

/// What can be typed.
pub fn arguments() -> Command {
    let by_turns = Some("Two programs by turns");
    let side = |name: &'static str, help: &'static str| {
        let of_two = ["old", "new", "line"];
        Arg::new(name)
            .value_name(name.to_uppercase())
            .required_unless_present_any(of_two)
            .conflicts_with_all(of_two)
            .help(help)
    };
    let program = |name: &'static str, help: &'static str| {
        Arg::new(name).long(name).value_name("PROGRAM").help(help).help_heading(by_turns)
    };
    Command::new("diff")
        .about("Compare two results, row by row, or two programs by turns: is the second slower?")
        .override_usage(
            "trireme diff [OPTIONS] BEFORE AFTER\n       trireme diff --old PROGRAM --new PROGRAM [OPTIONS] -- run|compare|sweep LINE...",
        )
        .after_help(
            "Each is a folder of results of run, compare or sweep, or the name under which --save-baseline has kept one. Exits 1 if a row of \
             the second is slower for certain, and on average by more than the tolerance; if it is not there any more; and if it cannot be told, because one side has a single repetition, or one in which nothing was committed, or a larger share of the second side's repetitions have none of the quantity.\n\n\
             With --old and --new two programs do the line after -- by turns, in each round once each, from the same seed: it is a repetition, and the next round has the next seed. \
             Old goes first in odd rounds, new in even ones. Each run is a process that loads its tables anew. An interrupt, and a program that fails, end it, and what rounds there are is compared. \
             On a simulated machine (--on after --) one round tells all. 'trireme diff OUT/old OUT/new --by p99' compares another quantity of the same rounds.",
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
        .arg(program("old", "The program before the change: a path, or a name on PATH"))
        .arg(program("new", "The program with it"))
        .arg(
            Arg::new("rounds")
                .long("rounds")
                .value_name("N")
                .allow_hyphen_values(true)
                .help(format!("How often both do the line [default: {ROUNDS}, on a simulated machine 1]"))
                .help_heading(by_turns),
        )
        .arg(out("Folder of the rounds and of what came of them [default: a new one below results/]").help_heading(by_turns).global(false))
        .arg(
            progress()
                .help("Say on standard error, also into a file, when a run has ended, and how long the others take")
                .help_heading(by_turns),
        )
        .arg(
            Arg::new("line")
                .value_name("LINE")
                .last(true)
                .num_args(1..)
                .help("What both do: run, compare or sweep, with their options, but for --repeat and --out; --seed is the first round's, and a --log holds one folder a run while it runs"),
        )
}

/// What was asked for, whoever was measured.
struct Asked {
    quantity: Quantity,
    tolerance: f64,
    are_unlike: bool,
    json: bool,
}

/// Compares.
pub fn diff(matches: &ArgMatches, line: &str) -> Result<ExitCode, Failure> {
    let asked = Asked {
        quantity: baseline::quantity(matches)?,
        tolerance: baseline::tolerated(matches)?,
        are_unlike: matches.get_flag("unlike"),
        json: matches.get_flag("json"),
    };
    match (typed(matches, "old"), typed(matches, "new"), matches.get_many::<String>("line")) {
        (None, None, None) => of_results(matches, &asked),
        (Some(old), Some(new), Some(words)) => {
            let programs = [Program::find("old", old)?, Program::find("new", new)?];
            let told = Line::read(&words.cloned().collect::<Vec<_>>())?;
            of_programs(matches, &asked, &programs, &told, line)
        }
        (Some(_), Some(_), None) => Err(Failure::Usage(
            "what the two programs do is missing; allowed: behind all else --, and run, compare or sweep with their options".to_owned(),
        )),
        (old, ..) => {
            let missing = if old.is_none() { "--old" } else { "--new" };
            Err(Failure::Usage(format!("{missing} is missing; 'trireme diff --help' shows the options")))
        }
    }
}

fn of_results(matches: &ArgMatches, asked: &Asked) -> Result<ExitCode, Failure> {
    let is_there = |option: &&str| {
        typed(matches, option).is_some() || (*option == "progress" && matches.get_flag(option))
    };
    if let Some(option) = ["rounds", "out", "progress"].into_iter().find(is_there) {
        return Err(Failure::Usage(format!("--{option} is for --old and --new, which are missing")));
    }
    let read = |name| {
        let given = typed(matches, name).expect("it is required");
        Recorded::read(&baselines::find(given, Path::new(baselines::FOLDER))?)
    };
    let (before, after) = (read("before")?, read("after")?);
    let diff = asked.compare(&before, &after)?;
    match asked.json {
        true => output::print_json(&diff)?,
        false => output::print(&baseline::of_diff(&diff, "--repeat"))?,
    }
    Ok(verdict(diff.is_as_good(asked.are_unlike)))
}

impl Asked {
    /// Compares; refuses what was not measured alike, unless that is meant.
    fn compare(&self, before: &Recorded, after: &Recorded) -> Result<Diff, Failure> {
        if !self.are_unlike {
            baseline::admit(before, after, self.quantity)?;
        }
        let diff = Diff::of(before, after, self.quantity, self.tolerance);
        if !self.are_unlike && !diff.differences.is_empty() {
            let allowed = "results of the same machine and parameters, or --unlike";
            return Err(Failure::Usage(format!(
                "they differ: {}; allowed: {allowed}",
                diff.differences.join("; ")
            )));
        }
        Ok(diff)
    }
}

/// Measures two programs by turns, and compares them.
fn of_programs(
    matches: &ArgMatches,
    asked: &Asked,
    programs: &[Program; 2],
    told: &Line,
    line: &str,
) -> Result<ExitCode, Failure> {
    let rounds = rounds(matches, told)?;
    let (folder, sides) = folders(matches, programs, told)?;
    let turns = Turns { programs, line: told, rounds, out: folder.path() };
    turns.admit_logs()?;
    let side = Sides { programs, folders: &sides, out: folder.path() };
    let mut surroundings = surroundings::of_line(line);
    interrupt::heed();
    let steps = Steps::of(2 * rounds, "runs", matches);
    // What cannot be compared is refused after the first round, not after the last.
    let measured = turns.measure(&steps, |finished| {
        side.lay_down(finished)?;
        if finished == 1 {
            let [old, new] = side.told(1)?;
            admit_schemas(&old, &new, asked)?;
            let [before, after] = side.recorded()?;
            asked.compare(&before, &after)?;
        }
        Ok(())
    });
    drop(steps);
    let Rounds { finished, ended } = measured?;
    let tells = finished >= 2 || (finished == 1 && told.is_simulated);
    if tells {
        let recorded = side.recorded()?;
        let diff = asked.compare(&recorded[0], &recorded[1])?;
        let [old, new] = side.told(finished)?;
        let why = ended.as_ref().map(|ended| ended.why.clone());
        let turns = ByTurns {
            schema: TURNS_SCHEMA,
            line: told.shown(),
            rounds: finished,
            rounds_asked: rounds,
            ended: why,
            old,
            new,
            diff,
        };
        surroundings.tell("old", &turns.old);
        surroundings.tell("new", &turns.new);
        // A full disk must not take what was measured: it is printed first.
        let kept = folder
            .write_json("environment.json", &surroundings.environment)
            .and_then(|()| folder.write_json("summary.json", &turns))
            .and_then(|()| {
                folder.write("report.html", &report::of_turns(&turns, recorded.each_ref(), &surroundings))
            });
        match asked.json {
            true => output::print_json(&turns)?,
            false => output::print(&in_words(&turns, kept.is_ok().then_some(&folder)))?,
        }
        kept?;
        if ended.is_none() {
            return Ok(verdict(turns.diff.is_as_good(asked.are_unlike)));
        }
    }
    // Of all rounds but one on the hardware, which is refused before, there is nothing to end early.
    let Ended { why, code } = ended.expect("all rounds tell something");
    let left = match (finished, tells) {
        (0, _) => "no round was finished".to_owned(),
        (_, false) => {
            format!("one round alone does not tell a difference; it is in {}", folder.path().display())
        }
        (_, true) => format!("{finished} of {rounds} rounds were compared"),
    };
    output::complain(&format!("{why}; {left}"));
    Ok(ExitCode::from(code))
}

/// `--rounds`.
fn rounds(matches: &ArgMatches, line: &Line) -> Result<usize, Failure> {
    let least = if line.is_simulated { 1 } else { 2 };
    let Some(given) = typed(matches, "rounds") else {
        return Ok(if line.is_simulated { 1 } else { ROUNDS });
    };
    let rounds = given.parse().ok().filter(|rounds| (least..=MOST_ROUNDS).contains(rounds));
    let why = if least == 2 { ": one tells a difference on simulated machines only (--on)" } else { "" };
    let allowed = || format!("a whole number, {least} <= rounds <= {MOST_ROUNDS}{why}");
    rounds.ok_or_else(|| BadValue::new("rounds", given, allowed()).into())
}

/// The folder of all, and in it that of each side.
fn folders(
    matches: &ArgMatches,
    programs: &[Program; 2],
    line: &Line,
) -> Result<(Folder, [Folder; 2]), Failure> {
    let folder = match typed(matches, "out") {
        Some(out) => {
            let is_there = |program: &&Program| Path::new(out).join(program.side).exists();
            if let Some(program) = programs.iter().find(is_there) {
                let allowed = format!(
                    "a folder without results; it has those of an earlier command ({})",
                    program.side
                );
                return Err(BadValue::new("out", out, allowed).into());
            }
            Folder::create_for_results(Path::new(out))?
        }
        None => {
            let new = format!("results/diff-{}-{}", line.command, Utc::now().compact());
            Folder::create_new(Path::new(&new))?
        }
    };
    let side = |program: &Program| Folder::create(&folder.path().join(program.side));
    let sides = [side(&programs[0])?, side(&programs[1])?];
    Ok((folder, sides))
}

/// Where the rounds of both are.
struct Sides<'a> {
    programs: &'a [Program; 2],
    folders: &'a [Folder; 2],
    out: &'a Path,
}

impl Sides<'_> {
    fn rounds(&self, side: usize, finished: usize) -> Vec<PathBuf> {
        (1..=finished).map(|round| self.programs[side].folder(self.out, round)).collect()
    }

    /// Lays both down as results of so many repetitions.
    fn lay_down(&self, finished: usize) -> Result<(), Failure> {
        let mut each = self.folders.iter().enumerate();
        each.try_for_each(|(side, folder)| rounds::lay_down(&self.rounds(side, finished), folder))
    }

    /// Both as they were laid down.
    fn recorded(&self) -> Result<[Recorded; 2], Failure> {
        let [old, new] = self.folders;
        Ok([Recorded::read(old.path())?, Recorded::read(new.path())?])
    }

    /// What both tell of themselves.
    fn told(&self, finished: usize) -> Result<[rounds::Program; 2], Failure> {
        let of = |side: usize| rounds::Program::of(&self.programs[side].given, &self.rounds(side, finished));
        Ok([of(0)?, of(1)?])
    }
}

/// Refuses results whose fields may mean something else.
fn admit_schemas(old: &rounds::Program, new: &rounds::Program, asked: &Asked) -> Result<(), Failure> {
    if asked.are_unlike || old.schema == new.schema {
        return Ok(());
    }
    Err(Failure::Usage(format!(
        "--old {} lays down {}, and --new {} {}: their columns may mean something else; allowed: programs whose results have the same schema, or --unlike",
        old.program, old.schema, new.program, new.schema
    )))
}

/// What came of it, for people; `folder`: where it is, if it is.
fn in_words(turns: &ByTurns, folder: Option<&Folder>) -> String {
    let mut lines = vec![
        format!(
            "{} of '{}', each program once a round, from the same seed",
            counted(turns.rounds, "round"),
            turns.line
        ),
        format!("before: {}", turns.old.shown()),
        format!("after: {}", turns.new.shown()),
    ];
    let (stolen, others) = turns.most_taken();
    let by = [("a hypervisor", stolen), ("other processes", others)];
    for (who, most) in
        by.into_iter().filter_map(|(who, most)| Some((who, most.filter(|most| *most > TAKEN)?)))
    {
        lines.push(format!("{who} took up to {} of the cores' time in a run", percent(most)));
    }
    let table = baseline::of_diff(&turns.diff, "--rounds");
    let place = folder.map_or(String::new(), |folder| {
        format!("\nresults: {}, report: {}\n", folder.path().display(), folder.report().display())
    });
    format!("{}\n\n{table}{place}", lines.join("\n"))
}
