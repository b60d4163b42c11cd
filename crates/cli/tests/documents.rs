//! What the documents name is there: files, and tests of files.
//!
//! A path is a word in backticks with a slash in it, below the page's folder of reference: the repository, or what the page says.
//! `file::test` names a test of a file, `::test` another test of the file named last.

use std::fs;
use std::path::{Path, PathBuf};

/// Each page, and the folder that its paths are relative to.
const PAGES: &[(&str, &str)] = &[
    ("docs/papers.md", "."),
    ("docs/testing.md", "crates"),
    ("README.md", "."),
    ("docs/claims.md", "."),
    ("docs/snapshots.md", "."),
    ("docs/beyond-one-host.md", "."),
    ("docs/workloads.md", "."),
    ("docs/advice.md", "."),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The words in backticks, blocks of code left out.
fn quoted(page: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut in_block = false;
    for line in page.lines() {
        if line.trim_start().starts_with("```") {
            in_block = !in_block;
        } else if !in_block {
            words.extend(line.split('`').skip(1).step_by(2));
        }
    }
    words
}

/// The files that a word names: braces name several, and a star any.
fn files(word: &str) -> Vec<String> {
    match (word.find('{'), word.find('}')) {
        (Some(open), Some(close)) if open < close => {
            let names = word[open + 1..close].split(',');
            names.map(|name| format!("{}{name}{}", &word[..open], &word[close + 1..])).collect()
        }
        _ => vec![word.to_owned()],
    }
}

fn is_path(word: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./{},*".contains(c);
    // A pair such as `on/off` is no path: a path has an ending, or ends in a slash.
    word.contains('/') && word.chars().all(plain) && (word.ends_with('/') || word.contains('.'))
}

fn exists(folder: &Path, name: &str) -> bool {
    match name.split_once('*') {
        None => folder.join(name).exists(),
        Some((start, end)) => {
            let (below, start) = start.rsplit_once('/').unwrap_or(("", start));
            let entries = fs::read_dir(folder.join(below)).into_iter().flatten().flatten();
            let fits = |name: &str| name.starts_with(start) && name.ends_with(end.trim_end_matches('/'));
            entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).any(|name| fits(&name))
        }
    }
}

/// Whether a source has a test of that name.
fn has_test(source: &str, name: &str) -> bool {
    let lines: Vec<&str> = source.lines().map(str::trim).collect();
    let is_it = |line: &str| line.contains(&format!("fn {name}(")) || line.contains(&format!("fn {name}<"));
    let position = lines.iter().position(|line| is_it(line));
    position.is_some_and(|at| {
        let before =
            lines[..at].iter().rev().take_while(|line| line.starts_with('#') || line.starts_with("//"));
        before.into_iter().any(|line| line.starts_with('#') && line.contains("test"))
    })
}

/// What a page names that is not there; how many names were read.
fn faults(page: &str, folder: &Path) -> (Vec<String>, usize) {
    let (mut faults, mut read, mut last) = (Vec::new(), 0, None);
    for word in quoted(page) {
        let (path, test) = match word.split_once("::") {
            Some((path, test)) if path.is_empty() || path.ends_with(".rs") => (path, Some(test)),
            _ => (word, None),
        };
        if !path.is_empty() {
            if !is_path(path) {
                continue;
            }
            read += 1;
            let missing = files(path).into_iter().filter(|name| !exists(folder, name));
            faults.extend(missing.map(|name| format!("{name} is not there")));
            last = Some(folder.join(path));
        }
        if let (Some(test), Some(file)) = (test, &last) {
            read += 1;
            let source = fs::read_to_string(file).unwrap_or_default();
            if !has_test(&source, test) {
                faults.push(format!("{} has no test {test}", file.display()));
            }
        }
    }
    (faults, read)
}

#[test]
fn what_the_documents_name_is_there() {
    let mut read = 0;
    for (name, folder) in PAGES {
        let page = fs::read_to_string(root().join(name)).expect("a page");
        let (faults, names) = faults(&page, &root().join(folder));
        assert!(faults.is_empty(), "{name}: {faults:#?}");
        read += names;
    }
    assert!(read > 300, "{read} names");
}

#[test]
fn planted_faults_are_found() {
    let folder = root();
    let of = |page: &str| faults(page, &folder).0.len();
    assert_eq!(of("`crates/contract/src/lib.rs` and `crates/cli/src/{main,answer}.rs`"), 0);
    assert_eq!(of("`crates/contract/src/nothing.rs` and `crates/cli/src/{main,nobody}.rs`"), 2);
    assert_eq!(
        of("`crates/cli/tests/documents.rs::planted_faults_are_found`, `::what_the_documents_name_is_there`"),
        0
    );
    assert_eq!(of("`crates/cli/tests/documents.rs::quoted`, `::nothing`"), 2, "no test, and nothing");
    assert_eq!(of("`machines/*.toml`, `on|off`, `a/b`"), 0);
    assert_eq!(of("```\n`crates/nothing.rs`\n```"), 0, "a block of code");
}
