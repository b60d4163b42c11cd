//! The arrows of ARCHITECTURE.md point downwards only, and the engine touches the world only through its facade.
//!
//! Two sources are read: what Cargo says each crate depends on, and what the sources themselves name. The scanner is
//! tried on planted violations first: one that finds nothing proves nothing.

use serde_json::Value;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Each crate of ours with those that it may depend on.
const ALLOWED: &[(&str, &[&str])] = &[
    (
        "cli",
        &["cluster", "harness", "workloads", "history", "engine", "engine-simulated", "contract", "machine"],
    ),
    ("cluster", &["engine", "contract", "machine"]),
    ("mpi", &["cli", "cluster", "engine"]),
    ("python", &["trireme"]),
    ("versus", &["trireme", "harness"]),
    ("ignite", &["harness", "workloads", "engine", "contract"]),
    ("trireme", &["engine", "contract"]),
    ("harness", &["workloads", "history", "contract", "machine"]),
    ("workloads", &["contract"]),
    ("history", &["contract"]),
    ("engine", &["contract", "machine"]),
    ("engine-simulated", &["contract", "machine"]),
    ("contract", &[]),
    ("machine", &[]),
];

/// Tests of a lower crate may run a higher one over itself: a dependency for tests only, which no user gets.
const ALLOWED_IN_TESTS: &[(&str, &[&str])] = &[
    ("engine", &["workloads", "history"]),
    ("history", &["engine", "workloads"]),
    ("workloads", &["engine", "history"]),
];

/// What the engine must not name, except in its facade: each would tie it to one machine.
const ENGINE_MUST_NOT_NAME: &[&str] = &[
    "std::sync",
    "std::thread",
    "std::time::Instant",
    "std::cell",
    "thread_local!",
    "cfg(simulated)",
    "cfg(not(simulated))",
    "machine::",
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn allowed(table: &[(&str, &'static [&'static str])], krate: &str) -> Option<&'static [&'static str]> {
    table.iter().find(|(name, _)| *name == krate).map(|(_, below)| *below)
}

/// What is wrong with the dependencies of one crate, given as `(name, whether for tests only)`.
fn dependency_faults(krate: &str, dependencies: &[(&str, bool)], ours: &[&str]) -> Vec<String> {
    let Some(below) = allowed(ALLOWED, krate) else {
        return vec![format!("{krate} has no place in the layers: add it to ALLOWED")];
    };
    let in_tests = allowed(ALLOWED_IN_TESTS, krate).unwrap_or_default();
    let is_fault = |(name, test): &&(&str, bool)| {
        ours.contains(name) && !below.contains(name) && !(*test && in_tests.contains(name))
    };
    let faults = dependencies.iter().filter(is_fault);
    faults.map(|(name, _)| format!("{krate} depends on {name}, which lies above it")).collect()
}

/// What a source names that lies above its crate. A module of its own may be called like a crate.
fn upward_names(krate: &str, source: &str, modules: &[String], ours: &[&str]) -> Vec<String> {
    let below = allowed(ALLOWED, krate).unwrap_or_default();
    let is_own = |name: &str| name == krate || modules.iter().any(|module| module == name);
    let is_upward = |name: &&&str| !is_own(name) && !below.contains(*name);
    let mut faults = Vec::new();
    for (number, line) in code_lines(source) {
        for name in ours.iter().filter(is_upward) {
            let path = format!("{}::", name.replace('-', "_"));
            let is_use = line.trim_start().trim_start_matches("pub ").starts_with("use ");
            if is_use && names(line, &path) {
                faults.push(format!("line {number} of {krate} uses {name}"));
            }
        }
    }
    faults
}

/// What an engine source names of the world.
fn world_names(source: &str) -> Vec<String> {
    let mut faults = Vec::new();
    for (number, line) in code_lines(source) {
        for &forbidden in ENGINE_MUST_NOT_NAME {
            if names(line, forbidden) {
                faults.push(format!("line {number} names {forbidden}"));
            }
        }
        let group = line.trim_start().strip_prefix("use std::{").unwrap_or_default();
        for part in ["sync", "thread", "cell", "time::Instant"] {
            let is_part = |item: &str| item == part || item.starts_with(&format!("{part}::"));
            if group.split([',', '}']).any(|item| is_part(item.trim())) {
                faults.push(format!("line {number} names std::{part}"));
            }
        }
    }
    faults
}

/// Whether `line` has `path` not as the end of a longer name.
fn names(line: &str, path: &str) -> bool {
    line.match_indices(path).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        !before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == ':')
    })
}

/// Lines with their numbers, without comments and without what is for tests only, which may use the machine as it
/// likes: a line behind `#[cfg(test)]`, or everything from such a `mod tests {` on.
fn code_lines(source: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines: Vec<&str> = source.lines().collect();
    let end = lines
        .windows(2)
        .position(|two| is_for_tests(two[0]) && two[1].contains("mod ") && two[1].ends_with('{'))
        .unwrap_or(lines.len());
    let is_code = move |number: usize| number == 0 || !is_for_tests(lines[number - 1].trim());
    source
        .lines()
        .enumerate()
        .take(end)
        .filter(move |(number, _)| is_code(*number))
        .map(|(number, line)| (number + 1, line.split("//").next().unwrap_or_default()))
}

/// The names of the modules that a source declares for tests only, in files of their own.
fn test_modules(source: &str) -> Vec<String> {
    let lines: Vec<&str> = source.lines().map(str::trim).collect();
    let declared = lines.windows(2).filter(|two| is_for_tests(two[0])).filter_map(|two| {
        let (_, name) = two[1].split_once("mod ")?;
        name.strip_suffix(';').map(str::to_owned)
    });
    declared.collect()
}

fn is_for_tests(line: &str) -> bool {
    line.starts_with("#[cfg(test)]") || line.starts_with("#[cfg(all(test")
}

/// Where the modules that `file` declares lie.
fn module_folder(file: &Path) -> PathBuf {
    let folder = file.parent().expect("a file lies somewhere");
    match file.file_stem().map(|stem| stem.to_string_lossy()) {
        Some(stem) if !["mod", "lib", "main"].contains(&&*stem) => folder.join(&*stem),
        _ => folder.to_owned(),
    }
}

/// The sources below `folder`, without those that are compiled for tests only.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    find_sources(folder, &mut files);
    let for_tests: Vec<PathBuf> = files
        .iter()
        .flat_map(|file| {
            let source = fs::read_to_string(file).expect("text");
            let below = module_folder(file);
            test_modules(&source).into_iter().map(move |name| below.join(name))
        })
        .collect();
    let is_for_tests =
        |file: &PathBuf| for_tests.iter().any(|test| file.with_extension("").starts_with(test));
    files.retain(|file| !is_for_tests(file));
    files
}

fn find_sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            find_sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

fn metadata() -> Value {
    let output = Command::new(env::var_os("CARGO").unwrap_or("cargo".into()))
        .args(["metadata", "--no-deps", "--format-version", "1", "--offline"])
        .current_dir(root())
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

#[test]
fn dependencies_point_downwards() {
    let metadata = metadata();
    let packages = metadata["packages"].as_array().expect("packages");
    // Ours are called by their folders: what a registry calls them has the project's name before it.
    let name = |package: &'_ Value| {
        let manifest = Path::new(package["manifest_path"].as_str().expect("a path"));
        let folder = manifest.parent().and_then(Path::file_name).expect("a folder");
        folder.to_string_lossy().into_owned()
    };
    let named = |dependency: &'_ Value| {
        let name = dependency["rename"].as_str().or(dependency["name"].as_str());
        (name.expect("a name").to_owned(), dependency["kind"] == "dev")
    };
    let names: Vec<String> = packages.iter().map(name).collect();
    let ours: Vec<&str> = names.iter().map(String::as_str).collect();
    assert!(ours.len() >= 8, "{ours:?}");
    let mut faults = Vec::new();
    for package in packages {
        let dependencies: Vec<(String, bool)> =
            package["dependencies"].as_array().expect("dependencies").iter().map(named).collect();
        let dependencies: Vec<(&str, bool)> =
            dependencies.iter().map(|(name, test)| (name.as_str(), *test)).collect();
        faults.extend(dependency_faults(&name(package), &dependencies, &ours));
    }
    assert!(faults.is_empty(), "{faults:#?}");
}

/// What is built unless something else is asked for: everything but `versus`, which needs other stores, some of them in C, `ignite`, which
/// is of use with Java only, and `mpi`, which needs an MPI.
#[test]
fn the_default_build_is_all_that_needs_nothing_else() {
    let metadata = metadata();
    let members = |key: &str| {
        let ids = metadata[key].as_array().expect("members").iter();
        ids.map(|id| id.as_str().expect("an id").to_owned()).collect::<Vec<String>>()
    };
    let (all, default) = (members("workspace_members"), members("workspace_default_members"));
    let mut others: Vec<&String> = all.iter().filter(|id| !default.contains(id)).collect();
    others.sort_unstable();
    let is_of = |id: &str, name: &str| id.contains(&format!("crates/{name}"));
    assert!(
        matches!(others.as_slice(), [one, two, three, four] if is_of(one, "ignite") && is_of(two, "mpi") && is_of(three, "python") && is_of(four, "versus")),
        "{others:?}"
    );
}

#[test]
fn sources_name_nothing_above_them() {
    let ours: Vec<&str> = ALLOWED.iter().map(|(name, _)| *name).collect();
    let mut read = 0;
    let mut faults = Vec::new();
    for krate in &ours {
        let folder = root().join("crates").join(krate).join("src");
        let files = sources(&folder);
        let stem = |path: &PathBuf| path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
        let own: Vec<PathBuf> =
            fs::read_dir(&folder).into_iter().flatten().flatten().map(|e| e.path()).collect();
        let modules: Vec<String> = own.iter().filter_map(stem).collect();
        for file in &files {
            let source = fs::read_to_string(file).expect("text");
            let place = |fault: String| format!("{}: {fault}", file.display());
            faults.extend(upward_names(krate, &source, &modules, &ours).into_iter().map(place));
        }
        read += files.len();
    }
    assert!(read > 50, "{read} files");
    assert!(faults.is_empty(), "{faults:#?}");
}

#[test]
fn the_engine_touches_the_world_only_through_its_facade() {
    let engine = root().join("crates/engine/src");
    let files = sources(&engine);
    assert!(files.len() > 20, "{} files", files.len());
    let mut faults = Vec::new();
    for file in files.iter().filter(|file| **file != engine.join("facade.rs")) {
        let source = fs::read_to_string(file).expect("text");
        faults.extend(world_names(&source).into_iter().map(|fault| format!("{}: {fault}", file.display())));
    }
    assert!(faults.is_empty(), "{faults:#?}");
}

/// Rooms of a crate that name each other for a reason.
///
/// A protocol picks its way of access, which is a text over any architecture, and an architecture runs steps of its protocol: in
/// types, the three are one. Timestamps are drawn by slots, which protocols name. A report shows results, and what lays results down lays their report beside them.
const KNOTS: &[(&str, &[&str])] =
    &[("engine", &["protocol", "transaction", "architecture"]), ("harness", &["report", "results", "sweep"])];

/// The room of a source: the folder or the file below `src` that it belongs to.
fn room(folder: &Path, file: &Path) -> String {
    let below = file.strip_prefix(folder).expect("a source of the crate");
    let first = below.components().next().expect("a name").as_os_str().to_string_lossy().into_owned();
    first.strip_suffix(".rs").map_or(first.clone(), str::to_owned)
}

/// The rooms that a source names.
fn rooms_named(source: &str, rooms: &[String]) -> Vec<String> {
    let is_named = |room: &&String| {
        let path = format!("crate::{room}");
        code_lines(source).any(|(_, line)| {
            line.match_indices(&path).any(|(at, path)| {
                let after = line[at + path.len()..].chars().next();
                !after.is_some_and(|c| c.is_alphanumeric() || c == '_')
            })
        })
    };
    rooms.iter().filter(is_named).cloned().collect()
}

/// Pairs of rooms of which each leads to the other.
fn circles(arrows: &[(String, String)]) -> Vec<(String, String)> {
    let leads = |from: &String, to: &String| {
        let mut seen = vec![from.clone()];
        let mut next = 0;
        while let Some(room) = seen.get(next).cloned() {
            next += 1;
            for (_, below) in arrows.iter().filter(|(above, _)| *above == room) {
                if below == to {
                    return true;
                }
                if !seen.contains(below) {
                    seen.push(below.clone());
                }
            }
        }
        false
    };
    arrows.iter().filter(|(above, below)| leads(below, above)).cloned().collect()
}

#[test]
fn no_rooms_name_each_other_in_a_circle() {
    let mut faults = Vec::new();
    for krate in ["engine", "machine", "harness", "workloads", "contract"] {
        let folder = root().join("crates").join(krate).join("src");
        let files = sources(&folder);
        let is_room = |room: &String| !["lib", "main", "testing"].contains(&room.as_str());
        let mut rooms: Vec<String> = files.iter().map(|file| room(&folder, file)).filter(is_room).collect();
        rooms.dedup();
        let knot = KNOTS.iter().find(|(name, _)| *name == krate).map_or(&[][..], |(_, knot)| *knot);
        let mut arrows = Vec::new();
        for file in files.iter().filter(|file| is_room(&room(&folder, file))) {
            let above = room(&folder, file);
            let named = rooms_named(&fs::read_to_string(file).expect("text"), &rooms);
            arrows.extend(
                named.into_iter().filter(|below| *below != above).map(|below| (above.clone(), below)),
            );
        }
        let is_knot = |(above, below): &(String, String)| {
            knot.contains(&above.as_str()) && knot.contains(&below.as_str())
        };
        arrows.retain(|arrow| !is_knot(arrow));
        faults.extend(
            circles(&arrows).into_iter().map(|(above, below)| format!("{krate}: {above} names {below}")),
        );
    }
    assert!(faults.is_empty(), "{faults:#?}");
}

/// What a table of crates says that each may depend on: `| `name` | what | below, below |`.
fn drawn(page: &str) -> Vec<(String, Vec<String>)> {
    let cells = |line: &str| -> Option<(String, Vec<String>)> {
        let cells: Vec<&str> = line.strip_prefix('|')?.strip_suffix('|')?.split('|').map(str::trim).collect();
        let [name, _, below] = cells.as_slice() else { return None };
        let name = name.strip_prefix('`')?.strip_suffix('`')?;
        let below = below.split(',').map(str::trim).filter(|name| !name.is_empty());
        Some((name.to_owned(), below.map(str::to_owned).collect()))
    };
    let rows = page.lines().skip_while(|line| *line != "| crate | what | may depend on |");
    rows.take_while(|line| line.starts_with('|')).filter_map(cells).collect()
}

#[test]
fn the_arrows_drawn_are_those_that_are_allowed() {
    let page = fs::read_to_string(root().join("ARCHITECTURE.md")).expect("a page");
    let allowed = ALLOWED.iter().map(|(name, below)| {
        ((*name).to_owned(), below.iter().map(|name| (*name).to_owned()).collect::<Vec<String>>())
    });
    assert_eq!(drawn(&page), allowed.collect::<Vec<_>>());
}

/// The scanners find what they are there to find.
#[test]
fn planted_violations_are_found() {
    let ours: Vec<&str> = ALLOWED.iter().map(|(name, _)| *name).collect();
    let upward = [
        ("contract", "machine", false),
        ("contract", "machine", true),
        ("workloads", "engine", false),
        ("engine", "history", false),
        ("engine", "harness", true),
        ("machine", "contract", false),
        ("harness", "engine", false),
        ("harness", "cli", false),
    ];
    for (krate, dependency, test) in upward {
        assert_eq!(
            dependency_faults(krate, &[(dependency, test)], &ours).len(),
            1,
            "{krate} to {dependency}"
        );
    }
    assert!(
        dependency_faults("engine", &[("machine", false), ("workloads", true), ("serde", false)], &ours)
            .is_empty()
    );
    assert_eq!(dependency_faults("newcomer", &[], &ours).len(), 1);

    let arrow = |above: &str, below: &str| (above.to_owned(), below.to_owned());
    let round = [arrow("a", "b"), arrow("b", "c"), arrow("c", "a"), arrow("c", "d")];
    assert_eq!(circles(&round), round[..3]);
    assert!(circles(&round[1..]).is_empty());
    let rooms = ["a".to_owned(), "ab".to_owned()];
    assert_eq!(rooms_named("use crate::ab::C; // crate::a\n", &rooms), ["ab"]);

    assert_eq!(upward_names("workloads", "use engine::Store;\n", &[], &ours).len(), 1);
    assert_eq!(upward_names("contract", "    pub use machine::hardware;\n", &[], &ours).len(), 1);
    assert_eq!(upward_names("engine", "use engine_simulated::Store;\n", &[], &ours).len(), 1);
    assert!(
        upward_names("engine", "use crate::engine::ThisEngine; // use harness::x\n", &[], &ours).is_empty()
    );
    assert!(
        upward_names("contract", "pub use engine::RunOutcome;\n", &["engine".to_owned()], &ours).is_empty()
    );
    assert!(upward_names("cli", "use harness::Failure;\n", &[], &ours).is_empty());

    for forbidden in ENGINE_MUST_NOT_NAME {
        let planted = format!("//! fine\nfn f() {{ {forbidden} }}\n");
        assert!(!world_names(&planted).is_empty(), "{forbidden}");
    }
    for planted in ["use std::{fmt, sync::Arc};", "use std::{thread};", "    use std::{time::Instant, fmt};"]
    {
        assert!(!world_names(planted).is_empty(), "{planted}");
    }
    let fine = "// std::sync\nuse crate::facade::atomic;\nlet state_machine::X = 1;\nuse std::{fmt, synchrony};\n\
                use std::time::Duration;\n#[cfg(test)]\nmod tests {\n    use std::sync::Arc;\n}\n";
    assert!(world_names(fine).is_empty(), "{:?}", world_names(fine));

    let behind = "#[cfg(test)]\nmod b;\n#[cfg(test)]\nuse std::cell::Cell;\nuse std::sync::Arc;\n";
    assert_eq!(world_names(behind), ["line 5 names std::sync"], "what follows a test module is still read");

    let declaring = "mod a;\n#[cfg(test)]\nmod b;\n#[cfg(all(test, loom))]\npub(crate) mod c;\n#[cfg(test)]\nmod tests {\n";
    assert_eq!(test_modules(declaring), ["b", "c"]);
    let folders =
        ["src/lib.rs", "src/index/mod.rs", "src/epoch.rs"].map(|file| module_folder(Path::new(file)));
    assert_eq!(folders, ["src", "src/index", "src/epoch"].map(PathBuf::from));
}
