//! Assertions are on in release builds. One that is not has the reason directly above it, which is a measurement, or what a
//! release build does instead.

use std::fs;
use std::path::{Path, PathBuf};

/// How the comment above such an assertion begins.
const REASON: &str = "// Not in release: ";

/// The lines, counted from 1, of assertions that only debug builds have and that do not say why.
fn without_a_reason(source: &str) -> Vec<usize> {
    let lines: Vec<&str> = source.lines().map(str::trim).collect();
    let mut found = Vec::new();
    for number in (0..lines.len()).filter(|&number| is_for_debug_builds(lines[number])) {
        let above = lines[..number].iter().rev().take_while(|line| line.starts_with("//"));
        if !above.into_iter().any(|line| line.strip_prefix(REASON).is_some_and(|why| !why.is_empty())) {
            found.push(number + 1);
        }
    }
    found
}

fn is_for_debug_builds(line: &str) -> bool {
    let code = line.split("//").next().unwrap_or_default();
    ["debug_assert!", "debug_assert_eq!", "debug_assert_ne!"].iter().any(|name| code.contains(name))
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        match path.is_dir() {
            true => sources(&path, found),
            false if path.extension().is_some_and(|extension| extension == "rs") => found.push(path),
            false => {}
        }
    }
}

#[test]
fn what_release_builds_do_not_assert_says_why() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut files = Vec::new();
    for krate in fs::read_dir(crates).expect("the crates").flatten() {
        // The simulated engine has the engine's.
        let folder = krate.path().join("src");
        if folder.exists() {
            sources(&folder, &mut files);
        }
    }
    assert!(files.len() > 300, "{} files", files.len());
    let mut faults = Vec::new();
    for file in files {
        let source = fs::read_to_string(&file).expect("text");
        let lines = without_a_reason(&source);
        faults.extend(lines.iter().map(|line| format!("{}:{line}", file.display())));
    }
    assert!(faults.is_empty(), "a debug_assert without \"{REASON}\" above it: {faults:#?}");
}

#[test]
fn planted_ones_are_found() {
    let planted = "fn f() {\n    // Why not.\n    debug_assert!(a);\n    // Not in release: \n    debug_assert_eq!(a, b);\n\n    \
                   // Not in release: a load, 2 % of a read.\n    let a = 1;\n    debug_assert_ne!(a, b);\n}\n";
    assert_eq!(without_a_reason(planted), [3, 5, 9]);
    let fine = "    // Not in release: a load, 2 % of a read.\n    debug_assert!(a);\n\n    // Not in release: it is looked for\n    \
                // in a list.\n    debug_assert_eq!(a, b);\n    command().debug_assert();\n    // debug_assert!(c)\n    assert!(d);\n";
    assert_eq!(without_a_reason(fine), [0; 0]);
}
