//! The experiments and machines that travel inside the program: outside of the repository they are there, too, under the same names. A file on the disk goes before the one inside.

use harness::failure::words;
use harness::sweep::Experiment;
use harness::{BadValue, Failure};
use include_dir::{Dir, include_dir};
use std::collections::BTreeSet;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// Where experiments lie, seen from the repository's root.
pub const EXPERIMENTS: &str = "experiments";

/// And machine files, with the error of the model.
pub const MACHINES: &str = "machines";

static INSIDE: [(&str, Dir<'_>); 2] = [
    (EXPERIMENTS, include_dir!("$CARGO_MANIFEST_DIR/../../experiments")),
    (MACHINES, include_dir!("$CARGO_MANIFEST_DIR/../../machines")),
];

/// The text of a file: that on the disk, or the one inside.
pub fn text_of(file: &Path) -> io::Result<String> {
    match fs::read_to_string(file) {
        Err(error) if error.kind() == ErrorKind::NotFound => inside(file).map(str::to_owned).ok_or(error),
        read => read,
    }
}

fn inside(file: &Path) -> Option<&'static str> {
    let (folder, files) = INSIDE.iter().find(|(folder, _)| file.starts_with(folder))?;
    files.get_file(file.strip_prefix(folder).ok()?)?.contents_utf8()
}

/// The files of a folder of [`INSIDE`] that have this extension, in the order of their names: those on the disk, if there is such a folder, or else those inside.
pub fn files_below(folder: &str, extension: &str) -> Vec<PathBuf> {
    let mut files = BTreeSet::new();
    match INSIDE.iter().find(|(name, _)| folder == *name) {
        Some((_, dir)) if !Path::new(folder).is_dir() => collect(dir, Path::new(folder), &mut files),
        _ => find(Path::new(folder), &mut files),
    }
    files.into_iter().filter(|file| file.extension().is_some_and(|of| of == extension)).collect()
}

fn collect(dir: &Dir<'_>, folder: &Path, files: &mut BTreeSet<PathBuf>) {
    files.extend(dir.files().map(|file| folder.join(file.path())));
    dir.dirs().for_each(|dir| collect(dir, folder, files));
}

fn find(folder: &Path, files: &mut BTreeSet<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            find(&path, files);
        } else {
            files.insert(path);
        }
    }
}

/// The experiment in a file, which is given by its name below [`EXPERIMENTS`], too. `cores` is what the word means in a range.
pub fn experiment(file: &Path, cores: usize) -> Result<Experiment, Failure> {
    let by_name = Path::new(EXPERIMENTS).join(format!("{}.toml", file.display()));
    let shown = file.display().to_string();
    let text = text_of(file)
        .or_else(|error| text_of(&by_name).map_err(|_| error))
        .map_err(|error| Failure::Input { place: shown.clone(), what: words(&error) })?;
    Experiment::parse(&shown, &text, cores)
}

/// The file and text of a machine, which is given by its file, or by its name alone.
pub fn machine(given: &str) -> Result<(String, String), Failure> {
    let by_name = format!("{MACHINES}/{given}.toml");
    let candidates = [given, by_name.as_str()];
    let found =
        candidates.into_iter().find_map(|file| Some((file.to_owned(), text_of(Path::new(file)).ok()?)));
    found.ok_or_else(|| {
        let why = text_of(Path::new(given)).map_or_else(|error| words(&error), |_| String::new());
        let names: Vec<String> = files_below(MACHINES, "toml")
            .iter()
            .filter_map(|file| Some(file.file_stem()?.to_string_lossy().into_owned()))
            .collect();
        let allowed = format!("hardware, or a machine file, or one of {} ({why})", names.join(", "));
        BadValue::new("on", given, allowed).into()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file that was added since this was compiled would not travel along.
    #[test]
    fn everything_travels_along_and_nothing_else() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        for (folder, dir) in &INSIDE {
            let (mut inside_it, mut there) = (BTreeSet::new(), BTreeSet::new());
            collect(dir, Path::new(folder), &mut inside_it);
            find(&root.join(folder), &mut there);
            let there: BTreeSet<PathBuf> = there
                .iter()
                .map(|file| file.strip_prefix(&root).expect("below the root").to_owned())
                .collect();
            assert_eq!(inside_it, there);
            for file in &there {
                assert_eq!(
                    inside(file),
                    fs::read_to_string(root.join(file)).ok().as_deref(),
                    "{}",
                    file.display()
                );
            }
        }
    }

    #[test]
    fn a_machine_has_a_name() {
        let (file, text) = machine("haswell-ex-4x18").expect("it travels along");
        assert!(file.ends_with("machines/haswell-ex-4x18.toml") && text.contains("cores"), "{file}");
        let refused = machine("haswell").expect_err("there is none").to_string();
        assert!(
            refused.starts_with("--on haswell: allowed: hardware, or a machine file, or one of "),
            "{refused}"
        );
        assert!(
            refused.contains("haswell-ex-4x18") && refused.ends_with("(no such file or directory)"),
            "{refused}"
        );
    }
}
