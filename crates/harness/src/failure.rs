//! Why a command did not do what it was asked: one clear line, and the exit code that goes with it.

use crate::options::BadValue;
use contract::{LoadError, LogError, Misfit, PairName, RunError, UnknownName};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use workloads::ParameterError;

/// A command that could not be carried out.
#[derive(Debug)]
pub enum Failure {
    /// An option does not take its value.
    Value(BadValue),
    /// The matrix does not have the pair.
    Unsupported {
        /// Which pair.
        pair: PairName,
        /// Why not.
        why: &'static str,
    },
    /// The tables cannot be loaded.
    Load(LoadError),
    /// A procedure made a mistake.
    Run(RunError),
    /// A log cannot be opened or read.
    Log(LogError),
    /// A file that was named says something that is not allowed, or cannot be read.
    Input {
        /// The file, with line and column where they are known.
        place: String,
        /// What is wrong with it.
        what: String,
    },
    /// Checks have failed, and nothing can be told beside that.
    Checks {
        /// Which, in words.
        failed: Vec<String>,
        /// Why nothing can be told.
        why: String,
    },
    /// A person has interrupted it before anything was measured.
    Interrupted,
    /// Any other bad input, in words.
    Usage(String),
    /// A file of results cannot be written.
    Write {
        /// Which file.
        path: PathBuf,
        /// The system's words.
        source: io::Error,
    },
}

/// The exit code of a command that was interrupted, as shells have it: 128 and the number of the signal.
pub const INTERRUPTED: u8 = 130;

/// The exit code where other input would have helped.
pub const OTHER_INPUT: u8 = 2;

/// The exit code of a command whose results cannot be written: not that of a check that did not hold.
pub const UNWRITTEN: u8 = 3;

impl Failure {
    /// Writing `path` failed.
    pub fn write(path: &Path) -> impl FnOnce(io::Error) -> Failure + use<> {
        let path = path.to_owned();
        move |source| Failure::Write { path, source }
    }

    /// The same after these checks have failed: that comes before what other input would have helped.
    #[must_use]
    pub fn after_checks(self, failed: &[String]) -> Failure {
        match self {
            Failure::Interrupted => self,
            _ if failed.is_empty() => self,
            _ => Failure::Checks { failed: failed.to_vec(), why: self.to_string() },
        }
    }

    /// [`OTHER_INPUT`] if other input would have helped, 1 if the run itself or a check failed, [`UNWRITTEN`] if what came of it cannot be written, [`INTERRUPTED`] if it was interrupted.
    pub fn exit_code(&self) -> u8 {
        match self {
            Failure::Interrupted => INTERRUPTED,
            Failure::Write { .. } => UNWRITTEN,
            Failure::Checks { .. } => 1,
            Failure::Load(LoadError::Refused { .. } | LoadError::Elsewhere { .. } | LoadError::Lost(_))
            | Failure::Run(RunError::Log { .. } | RunError::Lost(_)) => 1,
            Failure::Log(error) if !error.is_of_input() => 1,
            _ => OTHER_INPUT,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Value(bad) => write!(f, "--{bad}"),
            Failure::Unsupported { pair, why } => {
                write!(f, "--architecture {} --protocol {}: {why}", pair.architecture, pair.protocol)
            }
            Failure::Load(error) => error.fmt(f),
            Failure::Run(error) => error.fmt(f),
            Failure::Log(error) => error.fmt(f),
            Failure::Input { place, what } => write!(f, "{place}: {what}"),
            Failure::Checks { failed, why } => write!(f, "{}; {why}", failed.join("; ")),
            Failure::Interrupted => {
                f.write_str("interrupted before a repetition had ended: nothing was kept")
            }
            Failure::Usage(what) => f.write_str(what),
            Failure::Write { path, source } => {
                write!(f, "cannot write {}: {}", path.display(), words(source))
            }
        }
    }
}

/// On two values that do not go together: what was given, and what is missing if the other one is a default. `dashes` stand before names.
///
/// Panics unless `error` is a [`ParameterError::Conflict`].
pub fn conflict(error: &ParameterError, is_given: impl Fn(&str) -> bool, dashes: &str) -> String {
    let ParameterError::Conflict { parameter, value, with, with_value, allowed } = error else {
        panic!("no conflict: {error}")
    };
    let words = match (is_given(parameter), is_given(with)) {
        (false, true) => {
            format!("{with} {with_value} needs another {dashes}{parameter} than {value}, its default")
        }
        (true, false) => {
            format!("{parameter} {value} does not go with {dashes}{with} {with_value}, its default")
        }
        _ => format!("{parameter} {value} does not go with {dashes}{with} {with_value}"),
    };
    format!("{dashes}{words}: allowed: {allowed}")
}

/// The system's words without its number.
pub fn words(error: &io::Error) -> String {
    let text = error.to_string();
    match text.split_once(" (os error") {
        Some((words, _)) => words.to_lowercase(),
        None => text,
    }
}

impl std::error::Error for Failure {}

impl From<BadValue> for Failure {
    fn from(bad: BadValue) -> Failure {
        Failure::Value(bad)
    }
}

impl From<LoadError> for Failure {
    fn from(error: LoadError) -> Failure {
        Failure::Load(error)
    }
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Failure {
        Failure::Run(error)
    }
}

impl From<LogError> for Failure {
    fn from(error: LogError) -> Failure {
        Failure::Log(error)
    }
}

impl From<Misfit> for Failure {
    fn from(misfit: Misfit) -> Failure {
        Failure::Value(misfit.into())
    }
}

impl From<Misfit> for BadValue {
    fn from(misfit: Misfit) -> BadValue {
        BadValue::new(misfit.option, misfit.value, misfit.allowed)
    }
}

impl From<UnknownName> for BadValue {
    fn from(unknown: UnknownName) -> BadValue {
        BadValue::new(unknown.what, &unknown.given, unknown.allowed.join(", "))
    }
}
