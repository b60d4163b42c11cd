//! Results that are kept under a name, to compare later ones with: `--save-baseline NAME`, `--baseline NAME`.
//!
//! Each is a folder of its own in [`FOLDER`], with what [`Recorded`](super::recorded::Recorded) reads. A baseline that is saved again takes the place of the old one,
//! which is put aside until it has: a crash leaves one of both, and that is found.

use crate::failure::Failure;
use crate::options::BadValue;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// Where they are, below the folder from which a command is called.
pub const FOLDER: &str = "results/baselines";

/// What of a result folder is kept.
const KEPT: [&str; 4] = ["parameters.toml", "environment.json", "samples.csv", "summary.json"];

/// Refuses what is no name: it is one folder's, and no path.
pub fn admit(option: &str, name: &str) -> Result<(), Failure> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if !name.is_empty() && !name.starts_with('.') && name.chars().all(is_plain) {
        return Ok(());
    }
    let allowed = "a name of letters, digits, dashes, underscores and dots, not beginning with a dot";
    Err(BadValue::new(option, name, allowed).into())
}

/// Where the results are that a command line means: a folder, or a baseline's name.
pub fn find(given: &str, among: &Path) -> Result<PathBuf, Failure> {
    if Path::new(given).join("samples.csv").exists() {
        return Ok(PathBuf::from(given));
    }
    let (kept, aside) = (among.join(given), aside(given, among));
    if let Some(place) = [kept, aside].into_iter().find(|place| place.join("samples.csv").exists()) {
        return Ok(place);
    }
    let mut names: Vec<String> = fs::read_dir(among)
        .map(|all| all.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect())
        .unwrap_or_default();
    names.retain(|name| !name.starts_with('.'));
    names.sort_unstable();
    let names = match names.is_empty() {
        true => format!("there are none in {}", among.display()),
        false => format!("there are {}", names.join(", ")),
    };
    Err(Failure::Input {
        place: given.to_owned(),
        what: format!(
            "no results are there; allowed: a folder of results, or the name of a baseline, of which {names}"
        ),
    })
}

/// Where the one that is replaced is meanwhile.
fn aside(name: &str, among: &Path) -> PathBuf {
    among.join(format!(".{name}.old"))
}

/// Keeps the results in `folder` under this name.
pub fn save(name: &str, folder: &Path, among: &Path) -> Result<PathBuf, Failure> {
    admit("save-baseline", name)?;
    let (place, beside, old) = (among.join(name), among.join(format!(".{name}.part")), aside(name, among));
    // Results that were written there are kept already, with all that lies beside what is kept of others.
    if fs::canonicalize(folder).is_ok_and(|own| fs::canonicalize(&place).is_ok_and(|kept| own == kept)) {
        return Ok(place);
    }
    let gone = |path: &Path| match fs::remove_dir_all(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    };
    let save = || -> io::Result<()> {
        gone(&beside)?;
        fs::create_dir_all(&beside)?;
        for file in KEPT {
            match fs::copy(folder.join(file), beside.join(file)) {
                // A sweep that was interrupted has no summary.
                Err(error) if error.kind() == ErrorKind::NotFound && file == "summary.json" => {}
                copied => {
                    copied?;
                    fs::File::open(beside.join(file))?.sync_all()?;
                }
            }
        }
        if place.exists() {
            gone(&old)?;
            fs::rename(&place, &old)?;
        }
        fs::rename(&beside, &place)?;
        gone(&old)
    };
    save().map_err(Failure::write(&place))?;
    Ok(place)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_baseline_is_kept_found_and_replaced() {
        let scratch = tempfile::tempdir().expect("a folder for the test");
        let (results, among) = (scratch.path().join("run"), scratch.path().join("baselines"));
        fs::create_dir(&results).expect("a folder");
        let write = |text: &str| {
            for file in ["parameters.toml", "environment.json", "samples.csv"] {
                fs::write(results.join(file), text).expect("written");
            }
        };
        let none = find("main", &among).expect_err("there is none").to_string();
        assert!(none.starts_with("main: ") && none.contains("there are none in"), "{none}");
        for text in ["one", "two"] {
            write(text);
            let place = save("main", &results, &among).expect("saved");
            assert_eq!(find("main", &among).expect("it is there"), place);
            assert_eq!(fs::read_to_string(place.join("samples.csv")).expect("kept"), text);
        }
        assert_eq!(fs::read_dir(&among).expect("a folder").count(), 1, "nothing is left beside it");
        // As a crash leaves it between putting the old one aside and the new one in its place.
        fs::rename(among.join("main"), aside("main", &among)).expect("renamed");
        assert_eq!(find("main", &among).expect("it is found"), aside("main", &among));
        save("main", &results, &among).expect("saved again");
        // Results that were written there keep what is beside what is kept of others.
        let own = among.join("main");
        fs::write(own.join("points.jsonl"), "a journal").expect("written");
        assert_eq!(save("main", &own, &among).expect("it is there"), own);
        assert!(own.join("points.jsonl").exists() && own.join("samples.csv").exists());
        let folder = results.display().to_string();
        assert_eq!(find(&folder, &among).expect("a folder of results"), results);
        let other = find("mian", &among).expect_err("misspelt").to_string();
        assert!(other.contains("there are main"), "{other}");
    }

    #[test]
    fn a_name_is_no_path() {
        for name in ["", ".", "..", "a/b", "/tmp", ".hidden", "a b"] {
            assert!(admit("save-baseline", name).is_err(), "{name}");
        }
        admit("save-baseline", "v1.2_main-3").expect("a name");
    }
}
