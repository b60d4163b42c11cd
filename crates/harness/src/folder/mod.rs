//! The result folder: all that a reader, a script or a later run needs, one file per form.
//!
//! | file | holds |
//! |---|---|
//! | `parameters.toml` | every option and parameter; `trireme sweep` runs it again |
//! | `environment.json` | the machine, its system and its settings |
//! | `summary.json` | what `--json` prints |
//! | `samples.csv` | one row a repetition |
//! | `latency/SYSTEM.csv` | latency by percentile, all repetitions together |
//! | `report.html` | all of it, for reading; needs no network |
//!
//! A file is written beside its name, synced, and moved there: a reader sees the old one or the new one, whole.

pub mod latency;
pub mod parameters;
pub mod samples;

use crate::failure::{Failure, words};
use serde::Serialize;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

/// A result folder that can be written to.
#[derive(Clone, Debug)]
pub struct Folder {
    path: PathBuf,
}

impl Folder {
    /// Makes the folder at `path` with its parents, and tries to write to it before anything is measured.
    pub fn create(path: &Path) -> Result<Folder, Failure> {
        let probe = path.join(".trireme-probe");
        let made = fs::create_dir_all(path)
            .and_then(|()| File::create(&probe))
            .and_then(|_| fs::remove_file(&probe));
        match made {
            Ok(()) => Ok(Folder { path: path.to_owned() }),
            Err(error) => {
                let out = path.display();
                let why = words(&error);
                Err(Failure::Usage(format!("--out {out}: {why}; allowed: a folder that can be written")))
            }
        }
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
        let beside = path.with_extension("part");
        let write = || {
            if let Some(parent) = path.parent() {
                fs::create_dir_all(parent)?;
            }
            let mut file = File::create(&beside)?;
            file.write_all(content.as_bytes())?;
            file.sync_data()?;
            fs::rename(&beside, &path)
        };
        write().map_err(Failure::write(&path))
    }

    /// Writes `value` as indented JSON.
    pub fn write_json(&self, name: &str, value: &impl Serialize) -> Result<(), Failure> {
        let mut text = serde_json::to_string_pretty(value).expect("results have text keys");
        text.push('\n');
        self.write(name, &text)
    }
}

/// `text` as a file name: letters, digits, dots, dashes, equals signs and commas, anything else a dash.
pub fn file_name(text: &str) -> String {
    let keep = |c: char| if c.is_ascii_alphanumeric() || ".=,".contains(c) { c } else { '-' };
    text.chars().map(keep).collect()
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
pub(crate) mod tests {
    use super::*;

    /// A new folder for one test, empty.
    pub(crate) fn fresh_folder(name: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("trireme-harness-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).expect("a folder for the test");
        path
    }

    #[test]
    fn files_are_replaced_whole() {
        let folder = Folder::create(&fresh_folder("whole").join("a/b")).expect("a folder");
        folder.write("latency/x.csv", "one").expect("written");
        folder.write("latency/x.csv", "two").expect("replaced");
        let there = fs::read_to_string(folder.path().join("latency/x.csv")).expect("there");
        assert_eq!(there, "two");
        assert_eq!(fs::read_dir(folder.path().join("latency")).expect("a folder").count(), 1);
    }

    #[test]
    fn a_folder_that_cannot_be_is_refused() {
        let file = fresh_folder("refused").join("file");
        fs::write(&file, "").expect("a file");
        let failure = Folder::create(&file.join("results")).expect_err("below a file");
        assert_eq!(failure.exit_code(), 2);
        assert!(failure.to_string().starts_with("--out "), "{failure}");
    }

    #[test]
    fn names_and_fields_are_tamed() {
        assert_eq!(file_name("shared everything/silo,θ=0.5"), "shared-everything-silo,-=0.5");
        assert_eq!(csv_field("a"), "a");
        assert_eq!(csv_field("a,\"b\""), "\"a,\"\"b\"\"\"");
    }
}
