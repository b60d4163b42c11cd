//! The result folder: all that a reader, a script or a later run needs, one file per form.
//!
//! | file | holds |
//! |---|---|
//! | `parameters.toml` | every option and parameter; `trireme sweep` runs it again, unless it is a check's |
//! | `environment.json` | the machine, its system and its settings |
//! | `summary.json` | what `--json` prints |
//! | `advice.json` | what `advise --json` prints, in place of a summary |
//! | `samples.csv` | one row a repetition; a check has none |
//! | `series.csv`, a sweep's `series/POINT.csv` | one row a slice of a repetition, if it was counted by slices (`--series on`, an open loop) |
//! | `latency/SYSTEM.csv`, a sweep's `latency/POINT.csv` | latency by percentile, all repetitions together; a check has none |
//! | a sweep's `latency/POINT.hlog` | its latencies, one histogram a repetition ([`hlog`]) |
//! | a sweep's `took.json` | how long each point took, in seconds |
//! | `points.jsonl` | a sweep's finished points, from which it goes on; others have none |
//! | `export.csv`, `.json`, `.md`, `kinds.csv`, `latency.hlog` | the same for other programs, if `--export` asks for it ([`export`]) |
//! | `report.html` | all of it, for reading; needs no network |
//!
//! A file is written beside its name, synced, and moved there: a reader sees the old one or the new one, whole. Only
//! `points.jsonl` grows line by line.

pub mod export;
pub mod hlog;
pub mod latency;
pub mod parameters;
pub mod samples;
pub mod series;

use crate::failure::{Failure, words};
use crate::options::BadValue;
use serde::Serialize;
use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process;

const ALLOWED: &str = "a folder that can be written";

/// Files that are somebody's results.
const RESULTS: [&str; 4] = ["summary.json", "points.jsonl", "rows.jsonl", "advice.json"];

/// More folders than this of one name are a mistake.
const MOST_OF_ONE_NAME: usize = 1000;

/// A result folder that can be written to. One that was made for results that never came goes again when this is
/// dropped.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    /// Whether it was not there before.
    is_new: bool,
}

impl Folder {
    /// Makes the folder at `path` with its parents, or takes the one that is there, and tries to write to it before
    /// anything is measured.
    pub fn create(path: &Path) -> Result<Folder, Failure> {
        if path.as_os_str().is_empty() {
            return Err(BadValue::new("out", "", ALLOWED).into());
        }
        let is_new = !path.exists();
        fs::create_dir_all(path).map_err(refuse(path))?;
        Folder { path: path.to_owned(), is_new }.probed()
    }

    /// As [`Folder::create`], but not one that has results: they may be an hour's work.
    pub fn create_for_results(path: &Path) -> Result<Folder, Failure> {
        if let Some(name) = RESULTS.into_iter().find(|name| path.join(name).exists()) {
            let allowed = format!("a folder without results; it has those of an earlier command ({name})");
            return Err(BadValue::new("out", path.display(), allowed).into());
        }
        Folder::create(path)
    }

    /// As [`Folder::create_for_results`], for a command that keeps a journal: the results may be its own, from which it goes on.
    pub fn create_to_go_on(path: &Path, journal: &str) -> Result<Folder, Failure> {
        match path.join(journal).exists() {
            true => Folder::create(path),
            false => Folder::create_for_results(path),
        }
    }

    /// Makes a folder that nobody else has: at `path`, or if that is there already, at `path-2` or a later number.
    pub fn create_new(path: &Path) -> Result<Folder, Failure> {
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(refuse(path))?;
        }
        let numbered =
            (2..=MOST_OF_ONE_NAME).map(|number| PathBuf::from(format!("{}-{number}", path.display())));
        for candidate in std::iter::once(path.to_owned()).chain(numbered) {
            match fs::create_dir(&candidate) {
                Ok(()) => return Folder { path: candidate, is_new: true }.probed(),
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(refuse(&candidate)(error)),
            }
        }
        Err(refuse(path)(ErrorKind::AlreadyExists.into()))
    }

    fn probed(self) -> Result<Folder, Failure> {
        let probe = self.path.join(format!(".trireme-probe-{}", process::id()));
        File::create(&probe).and_then(|_| fs::remove_file(&probe)).map_err(refuse(&self.path))?;
        Ok(self)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The report in it.
    pub fn report(&self) -> PathBuf {
        self.path.join("report.html")
    }

    /// Writes the file called `name`, whole or not at all. `name` may have one folder in front.
    pub fn write(&self, name: &str, content: &str) -> Result<(), Failure> {
        let path = self.path.join(name);
        let beside = path.with_extension(format!("{}.part", process::id()));
        let write = || {
            if let Some(parent) = path.parent() {
                fs::create_dir_all(parent)?;
            }
            let mut file = File::create(&beside)?;
            file.write_all(content.as_bytes())?;
            file.sync_data()?;
            fs::rename(&beside, &path)
        };
        write().map_err(|error| {
            // On a full disk a torn part is only in the way.
            let _ = fs::remove_file(&beside);
            Failure::write(&path)(error)
        })
    }

    /// Writes `value` as indented JSON.
    pub fn write_json(&self, name: &str, value: &impl Serialize) -> Result<(), Failure> {
        let mut text = serde_json::to_string_pretty(value).expect("results have text keys");
        text.push('\n');
        self.write(name, &text)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if self.is_new {
            // Removes it only if it is empty.
            let _ = fs::remove_dir(&self.path);
        }
    }
}

/// The folder at `path` cannot be had.
fn refuse(path: &Path) -> impl FnOnce(io::Error) -> Failure + use<> {
    let out = path.display().to_string();
    move |error| Failure::Usage(format!("--out {out}: {}; allowed: {ALLOWED}", words(&error)))
}

/// The longest name, in bytes, that [`file_name`] makes: file systems allow 255, of which endings take some.
const LONGEST_NAME: usize = 180;

/// `text` as a file name: letters, digits, dots, dashes, equals signs and commas, anything else a dash. What is too long is cut, and a hash of the whole
/// takes its place.
pub fn file_name(text: &str) -> String {
    let keep = |c: char| if c.is_ascii_alphanumeric() || ".=,".contains(c) { c } else { '-' };
    let name: String = text.chars().map(keep).collect();
    if name.len() <= LONGEST_NAME {
        return name;
    }
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    let hash = format!("-{:016x}", hasher.finish());
    format!("{}{hash}", &name[..LONGEST_NAME - hash.len()])
}

/// A field of a CSV file, quoted if it must be.
fn csv_field(text: &str) -> String {
    if text.contains([',', '"', '\n']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_replaced_whole() {
        let scratch = tempfile::tempdir().expect("a folder for the test");
        let folder = Folder::create(&scratch.path().join("a/b")).expect("a folder");
        folder.write("latency/x.csv", "one").expect("written");
        folder.write("latency/x.csv", "two").expect("replaced");
        let there = fs::read_to_string(folder.path().join("latency/x.csv")).expect("there");
        assert_eq!(there, "two");
        assert_eq!(fs::read_dir(folder.path().join("latency")).expect("a folder").count(), 1);
    }

    #[test]
    fn a_file_that_cannot_be_written_leaves_no_part() {
        let scratch = tempfile::tempdir().expect("a folder for the test");
        let folder = Folder::create(scratch.path()).expect("a folder");
        fs::create_dir(scratch.path().join("report.html")).expect("in the way");
        let failure = folder.write("report.html", "page").expect_err("a folder is there");
        assert_eq!(failure.exit_code(), crate::failure::UNWRITTEN);
        assert_eq!(fs::read_dir(scratch.path()).expect("a folder").count(), 1, "what was in the way");
    }

    #[test]
    fn a_folder_that_cannot_be_is_refused() {
        let scratch = tempfile::tempdir().expect("a folder for the test");
        let file = scratch.path().join("file");
        fs::write(&file, "").expect("a file");
        for refused in [Folder::create(&file.join("results")), Folder::create_new(&file.join("results"))] {
            let failure = refused.expect_err("below a file");
            assert_eq!(failure.exit_code(), 2);
            assert!(failure.to_string().starts_with("--out "), "{failure}");
        }
    }

    #[test]
    fn a_new_folder_is_nobody_elses() {
        let scratch = tempfile::tempdir().expect("a folder for the test");
        let path = scratch.path().join("results/run");
        let folders = [(); 3].map(|()| Folder::create_new(&path).expect("a folder"));
        let names = folders.each_ref().map(|folder| folder.path().file_name().expect("a name").to_owned());
        assert_eq!(names, ["run", "run-2", "run-3"]);
    }

    #[test]
    fn a_folder_without_results_goes_again() {
        let scratch = tempfile::tempdir().expect("a folder for the test");
        let path = scratch.path().join("results");
        drop(Folder::create(&path).expect("a folder"));
        assert!(!path.exists(), "nothing was laid down");
        let folder = Folder::create(&path).expect("a folder");
        folder.write("summary.json", "{}").expect("written");
        drop(folder);
        assert!(path.join("summary.json").exists());
        drop(Folder::create(scratch.path()).expect("a folder"));
        assert!(scratch.path().exists(), "it was there before");
    }

    #[test]
    fn results_are_not_replaced_by_another_commands() {
        let scratch = tempfile::tempdir().expect("a folder for the test");
        for name in ["summary.json", "points.jsonl", "rows.jsonl"] {
            let path = scratch.path().join(name).join("results");
            let folder = Folder::create_for_results(&path).expect("nothing is there");
            folder.write("environment.json", "{}").expect("written");
            Folder::create_for_results(&path).expect("what is there is no result");
            folder.write(name, "{}").expect("written");
            let refused = Folder::create_for_results(&path).expect_err("results are there").to_string();
            assert!(
                refused.starts_with(&format!("--out {}: allowed: a folder without results", path.display())),
                "{refused}"
            );
        }
    }

    #[test]
    fn who_goes_on_does_so_from_its_own_journal() {
        let scratch = tempfile::tempdir().expect("a folder for the test");
        let path = scratch.path().join("results");
        let folder = Folder::create_to_go_on(&path, "points.jsonl").expect("nothing is there");
        folder.write("summary.json", "{}").expect("written");
        let refused = Folder::create_to_go_on(&path, "points.jsonl").expect_err("another command's");
        assert!(refused.to_string().contains("(summary.json)"), "{refused}");
        folder.write("points.jsonl", "").expect("written");
        Folder::create_to_go_on(&path, "points.jsonl").expect("its own");
        assert!(Folder::create_to_go_on(&path, "rows.jsonl").is_err(), "another's journal");
    }

    #[test]
    fn names_and_fields_are_tamed() {
        assert_eq!(file_name("shared everything/silo,θ=0.5"), "shared-everything-silo,-=0.5");
        let long = |last: &str| file_name(&("files=".to_owned() + &"orders/".repeat(40) + last));
        assert_eq!((long("a").len(), long("a") == long("a"), long("a") == long("b")), (180, true, false));
        assert_eq!(csv_field("a"), "a");
        assert_eq!(csv_field("a,\"b\""), "\"a,\"\"b\"\"\"");
    }
}
