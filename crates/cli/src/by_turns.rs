//! Two programs by turns: `diff --old PROGRAM --new PROGRAM -- LINE`.
//!
//! What else a machine does changes a figure within minutes, and often by more than a change of the program does. So both do the same line in the same minutes: in a *round* each of them
//! once, one repetition, from the same seed, which is in round *n* that of repetition *n* of one run. Rounds are then compared one by one ([`harness::diff`]).
//!
//! *Who goes first* changes from round to round: old, new; new, old; and so on. What a machine becomes slower or faster by steadily takes from both the same in two rounds, and a place in the round is nobody's
//! advantage. Drawn at random, one of both would go first in six or seven of seven rounds one time in eight.
//!
//! Each run is a process in a process group of its own: an interrupt at the terminal reaches this process alone, which ends when the run has ended ([`crate::interrupt`]). If this process
//! ends before, whatever ends it, so does the run ([`machine::hardware::child`]).

use crate::interrupt;
use crate::progress::Steps;
use harness::failure::{INTERRUPTED, words};
use harness::{BadValue, Failure};
use machine::hardware::child::ends_with_this_thread;
use std::fs::Metadata;
use std::io::Read;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::{env, fs};

/// The commands that lay repetitions down.
const COMMANDS: [&str; 3] = ["run", "compare", "sweep"];

/// What a line must not say, and why.
const REFUSED: [(&str, &str); 7] = [
    ("repeat", "rounds repeat the line: --rounds, in front of --"),
    ("out", "each run has a folder of its own below --out, in front of --"),
    ("baseline", "the two programs are compared with each other"),
    ("save-baseline", "a round is no baseline; 'trireme run' with the same line saves one"),
    ("by", "what is compared is said in front of --"),
    ("tolerance", "the tolerance is said in front of --"),
    ("dry-run", "a line that measures"),
];

/// The run under way.
static RUNNING: Mutex<Option<Child>> = Mutex::new(None);

fn running() -> MutexGuard<'static, Option<Child>> {
    // It is replaced as a whole: what a panicking thread leaves is as good as before.
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Ends the run under way, at once: for who is about to exit.
pub fn end_child() {
    if let Some(child) = &mut *running() {
        // Who has ended already needs no end.
        let _ = child.kill();
    }
}

/// One of both programs.
#[derive(Debug)]
pub struct Program {
    /// `old` or `new`: its option, and its folder.
    pub side: &'static str,
    /// As it was typed.
    pub given: String,
    path: PathBuf,
    was: Stamp,
}

/// What tells a file from the one that takes its place: device, number, length, and when it was written.
type Stamp = (u64, u64, u64, i64, i64);

fn stamp(of: &Metadata) -> Stamp {
    (of.dev(), of.ino(), of.len(), of.mtime(), of.mtime_nsec())
}

impl Program {
    /// The program that is `given`: a path with a slash in it, or a name that the shell would find.
    pub fn find(side: &'static str, given: &str) -> Result<Program, Failure> {
        let search = env::var_os("PATH").unwrap_or_default();
        Program::find_in(side, given, &env::split_paths(&search).collect::<Vec<_>>())
    }

    fn find_in(side: &'static str, given: &str, search: &[PathBuf]) -> Result<Program, Failure> {
        let refuse = |why: &str| {
            let allowed = "the path of a program, with a slash in it, or the name of one in a folder of PATH";
            Failure::Usage(format!("--{side} {given}: {why}; allowed: {allowed}"))
        };
        let may_run =
            |path: &Path| fs::metadata(path).ok().filter(|of| of.is_file() && of.mode() & 0o111 != 0);
        let found =
            |path: PathBuf, of: &Metadata| Program { side, given: given.to_owned(), path, was: stamp(of) };
        if !given.contains('/') {
            let all = search.iter().map(|folder| folder.join(given));
            let first =
                all.filter(|_| !given.is_empty()).find_map(|path| may_run(&path).map(|of| (path, of)));
            return match first {
                Some((path, of)) => Ok(found(path, &of)),
                None if may_run(Path::new(given)).is_some() => {
                    Err(refuse(&format!("no folder of PATH has it; the one here is ./{given}")))
                }
                None => Err(refuse("no folder of PATH has such a program")),
            };
        }
        let path = PathBuf::from(given);
        match fs::metadata(&path) {
            Err(error) => Err(refuse(&words(&error))),
            Ok(of) if of.is_dir() => Err(refuse("it is a folder")),
            Ok(of) if of.permissions().mode() & 0o111 == 0 => Err(refuse("it is not executable")),
            Ok(of) => Ok(found(path, &of)),
        }
    }

    /// Who it is, in messages.
    fn shown(&self) -> String {
        format!("--{} {}", self.side, self.given)
    }

    /// Where it lays a round down, below `out`; rounds count from 1.
    pub fn folder(&self, out: &Path, round: usize) -> PathBuf {
        out.join(self.side).join(format!("round-{round}"))
    }

    /// Whether the file is another one than at the beginning.
    fn has_changed(&self) -> bool {
        fs::metadata(&self.path).map_or(true, |now| stamp(&now) != self.was)
    }
}

/// What both are told.
#[derive(Debug, PartialEq)]
pub struct Line {
    /// `run`, `compare` or `sweep`.
    pub command: String,
    words: Vec<String>,
    seed: u64,
    logs: Vec<PathBuf>,
    /// Whether the machine is a simulated one.
    pub is_simulated: bool,
}

impl Line {
    /// Reads it. The programs may have other options than this one: what it does not know is for them to refuse.
    pub fn read(typed: &[String]) -> Result<Line, Failure> {
        let allowed = format!("{}, with their options", COMMANDS.join(", "));
        let command = typed.first().filter(|word| COMMANDS.contains(&word.as_str()));
        let command = command.ok_or_else(|| {
            let first = typed.first().map_or("nothing", String::as_str);
            Failure::Usage(format!("-- {first}: allowed: {allowed}"))
        })?;
        let mut line = Line {
            command: command.clone(),
            words: Vec::new(),
            seed: 1,
            logs: Vec::new(),
            is_simulated: false,
        };
        let mut rest = typed.iter();
        while let Some(word) = rest.next() {
            let option = word.strip_prefix("--").unwrap_or_default();
            let (name, joined) = match option.split_once('=') {
                Some((name, value)) => (name, Some(value.to_owned())),
                None => (option, None),
            };
            if let Some((name, why)) = REFUSED.iter().find(|(refused, _)| *refused == name) {
                return Err(Failure::Usage(format!("-- --{name}: allowed: none here; {why}")));
            }
            if !["seed", "log", "on"].contains(&name) {
                line.words.push(word.clone());
                continue;
            }
            let value = joined.or_else(|| rest.next().cloned());
            let value = value.ok_or_else(|| Failure::Usage(format!("-- --{name}: its value is missing")))?;
            match name {
                "seed" => {
                    let allowed = "a whole number, less than 2^64, from which rounds count on";
                    line.seed = value.parse().map_err(|_| BadValue::new("seed", &value, allowed))?;
                }
                "log" => line.logs = value.split(',').map(PathBuf::from).collect(),
                _ => {
                    line.is_simulated = value != "hardware";
                    line.words.extend(["--on".to_owned(), value]);
                }
            }
        }
        Ok(line)
    }

    /// As it is told to people: without what each round adds.
    pub fn shown(&self) -> String {
        format!("trireme {}", self.words.join(" "))
    }
}

/// Rounds that have ended.
#[derive(Debug)]
pub struct Rounds {
    /// Those that both have finished, which are the first ones.
    pub finished: usize,
    /// Why there are fewer than were asked for.
    pub ended: Option<Ended>,
}

/// An end before the last round.
#[derive(Debug)]
pub struct Ended {
    /// In words.
    pub why: String,
    /// The exit code that goes with it.
    pub code: u8,
}

/// Who does what, where.
pub struct Turns<'a> {
    /// The old one first.
    pub programs: &'a [Program; 2],
    /// What they are told.
    pub line: &'a Line,
    /// How often.
    pub rounds: usize,
    /// Where their folders are.
    pub out: &'a Path,
}

impl Turns<'_> {
    /// Lets the programs do their rounds, until one fails or a person interrupts; `laid_down` is told how many rounds are finished whenever one is, and may refuse to go on.
    pub fn measure(
        &self,
        steps: &Steps,
        laid_down: impl Fn(usize) -> Result<(), Failure>,
    ) -> Result<Rounds, Failure> {
        let [old, new] = self.programs;
        for round in 1..=self.rounds {
            let finished = round - 1;
            let order = if round % 2 == 1 { [old, new] } else { [new, old] };
            for program in order {
                if interrupt::is_asked_for() {
                    let why = format!("interrupted: {finished} of {} rounds measured", self.rounds);
                    return Ok(Rounds { finished, ended: Some(Ended { why, code: INTERRUPTED }) });
                }
                let step = format!("round {round} of {}: {}", self.rounds, program.shown());
                steps.begin(&step);
                if let Err(ended) = self.run(program, round) {
                    return Ok(Rounds { finished, ended: Some(ended) });
                }
                steps.end(1, &step);
            }
            laid_down(round)?;
        }
        Ok(Rounds { finished: self.rounds, ended: None })
    }

    fn run(&self, program: &Program, round: usize) -> Result<(), Ended> {
        let failed = |what: String, code: u8| {
            let why = format!("{}, in round {round} of {}: {what}", program.shown(), self.rounds);
            Ended { why, code }
        };
        if program.has_changed() {
            let allowed = "a program that stays as it is meanwhile, such as a copy of what was built";
            return Err(failed(format!("it is another file than at the beginning; allowed: {allowed}"), 2));
        }
        let folder = program.folder(self.out, round);
        let logs = self.new_logs(program, round);
        let seed = self.line.seed.wrapping_add(round as u64 - 1);
        let mut command = Command::new(&program.path);
        command
            .args(&self.line.words)
            .args(["--repeat", "1", "--seed", &seed.to_string(), "--out"])
            .arg(&folder);
        if !logs.is_empty() {
            let logs: Vec<String> = logs.iter().map(|log| log.display().to_string()).collect();
            command.arg("--log").arg(logs.join(","));
        }
        let ended = to_its_end(&mut command);
        for log in &logs {
            // It was made for this run alone; of one that made none there is nothing to remove.
            let _ = fs::remove_dir_all(log);
        }
        let (status, said) = ended.map_err(|error| failed(error, 2))?;
        if !status.success() {
            let code = status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1);
            return Err(failed(why_it_failed(status, &said, &folder), code));
        }
        let files = ["samples.csv", "parameters.toml", "environment.json", "summary.json"];
        match files.iter().find(|name| !folder.join(name).exists()) {
            None => Ok(()),
            Some(missing) => {
                let what = format!("it has left no {missing} in {}; allowed: a trireme", folder.display());
                Err(failed(what, 2))
            }
        }
    }

    /// Logs of one run, each below the folder that was typed.
    fn new_logs(&self, program: &Program, round: usize) -> Vec<PathBuf> {
        let own = |log: &PathBuf| log.join(format!("{}-round-{round}", program.side));
        self.line.logs.iter().map(own).collect()
    }

    /// Refuses logs where some are already.
    pub fn admit_logs(&self) -> Result<(), Failure> {
        let rounds = (1..=self.rounds).flat_map(|round| self.programs.iter().map(move |of| (of, round)));
        let mut logs = rounds.flat_map(|(program, round)| self.new_logs(program, round));
        match logs.find(|log| log.exists()) {
            None => Ok(()),
            Some(log) => {
                let allowed = "a folder in which the runs' logs find room; it has those of an earlier call";
                Err(BadValue::new("log", log.display(), allowed).into())
            }
        }
    }
}

/// Runs it: how it ended, and what it said on standard error. Nobody wakes up meanwhile.
fn to_its_end(command: &mut Command) -> Result<(ExitStatus, String), String> {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).process_group(0);
    let mut child = ends_with_this_thread(command).spawn().map_err(|error| words(&error))?;
    let mut told = child.stderr.take().expect("it is piped");
    *running() = Some(child);
    let mut said = Vec::new();
    // It ends with the process, and with the nodes that it has started.
    let read = told.read_to_end(&mut said);
    let child = running().take();
    let status = child.expect("nobody else takes it").wait();
    read.map_err(|error| words(&error))?;
    Ok((status.map_err(|error| words(&error))?, String::from_utf8_lossy(&said).into_owned()))
}

/// Its last words, or what its end says.
fn why_it_failed(status: ExitStatus, said: &str, folder: &Path) -> String {
    let mut lines = said.lines().rev().map(str::trim).filter(|line| !line.is_empty());
    let error = said.lines().rev().find_map(|line| line.strip_prefix("error: "));
    let how = match (status.code(), status.signal()) {
        (Some(1), _) if error.is_none() && folder.join("summary.json").exists() => {
            return format!("a check did not hold; {} tells which", folder.join("summary.json").display());
        }
        (Some(code), _) => format!("exit code {code}"),
        (None, Some(signal)) => format!("ended by signal {signal}"),
        (None, None) => "ended".to_owned(),
    };
    match error.or_else(|| lines.next()) {
        Some(last) => format!("{last} ({how})"),
        None => how,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(typed: &str) -> Result<Line, String> {
        let typed: Vec<String> = typed.split(' ').map(str::to_owned).collect();
        Line::read(&typed).map_err(|failure| failure.to_string())
    }

    #[test]
    fn what_rounds_say_themselves_is_taken_out_of_the_line() {
        let read = line("run micro --seed=7 --on m.toml --log a,b --protocol silo").expect("a line");
        assert_eq!(read.shown(), "trireme run micro --on m.toml --protocol silo");
        assert_eq!((read.seed, read.is_simulated), (7, true));
        assert_eq!(read.logs, [PathBuf::from("a"), PathBuf::from("b")]);
        let plain = line("sweep e.toml --on hardware").expect("a line");
        assert_eq!((plain.seed, plain.is_simulated, plain.logs.len()), (1, false, 0));
    }

    #[test]
    fn a_line_that_is_not_measured_in_rounds_is_refused() {
        let refused = |typed: &str| line(typed).expect_err("refused");
        assert_eq!(refused("check micro"), "-- check: allowed: run, compare, sweep, with their options");
        assert!(
            refused("run micro --repeat 5").starts_with("-- --repeat: allowed: none here; rounds repeat")
        );
        assert!(refused("run micro --out=x").starts_with("-- --out: allowed: none here; each run has"));
        assert_eq!(refused("run micro --seed"), "-- --seed: its value is missing");
        assert!(refused("run micro --seed x").starts_with("--seed x: allowed: a whole number"));
    }

    #[test]
    fn a_program_is_found_as_a_shell_finds_it() {
        let scratch = tempfile::tempdir().expect("a folder for the test");
        let path = scratch.path().join("it");
        let find = |given: &str| {
            Program::find_in("old", given, &[scratch.path().to_owned()])
                .map_err(|failure| failure.to_string())
        };
        let whole = path.display().to_string();
        assert!(find("it").expect_err("it is not there").contains("--old it: no folder of PATH has such a"));
        assert!(find(&whole).expect_err("it is not there").contains("no such file or directory"));
        fs::write(&path, "#!/bin/sh\n").expect("written");
        assert!(find("it").is_err(), "a shell would not start it");
        assert!(find(&whole).expect_err("nobody may run it").contains("it is not executable"));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("ours");
        assert_eq!(find("it").expect("found").path, path);
        let found = find(&whole).expect("found");
        assert!(!found.has_changed());
        fs::write(&path, "#!/bin/sh\nexit 1\n").expect("written");
        assert!(found.has_changed());
        let folder = format!("{}/", scratch.path().display());
        assert!(find(&folder).expect_err("a folder").contains("it is a folder"));
    }
}
