//! What the documents name is there: files, and tests of files.
//!
//! A path is a word in backticks with a slash in it, below the page's folder of reference: the repository, or what the page says.
//! `file::test` names a test of a file, `::test` another test of the file named last.
//!
//! And `docs/results-format.md` names every field and column that the program writes for others, and no others.

mod common;

use common::{run, run_until};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
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

/// The page of formats: by section, the fields that the first cells of its tables name.
fn told_fields(page: &str) -> BTreeMap<&str, BTreeSet<&str>> {
    let mut sections: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let mut section = "";
    for line in page.lines() {
        if let Some(title) = line.strip_prefix("## ") {
            section = title;
        }
        let cell = line.strip_prefix("| `").and_then(|rest| rest.split(" |").next());
        if let Some(name) = cell.and_then(|cell| cell.strip_suffix('`')).filter(|name| !name.contains('`')) {
            sections.entry(section).or_default().insert(name);
        }
    }
    sections
}

/// The fields of a value: those that hold others (`true`), and those that do not. Lists of numbers or words hold no others.
fn fields(value: &Value, place: &str, found: &mut BTreeMap<String, bool>) {
    match value {
        Value::Object(all) if !all.is_empty() => {
            found.insert(place.to_owned(), true);
            let below = if place.is_empty() { String::new() } else { format!("{place}.") };
            all.iter().for_each(|(name, value)| fields(value, &format!("{below}{name}"), found));
        }
        Value::Array(all) if all.iter().any(|value| value.is_object() || value.is_array()) => {
            found.insert(place.to_owned(), true);
            all.iter().for_each(|value| fields(value, &format!("{place}[]"), found));
        }
        _ => drop(found.entry(place.to_owned()).or_insert(false)),
    }
}

/// Whether `told`, in which a star is any name, is `written`.
fn is_same(told: &str, written: &str) -> bool {
    let part = |told: &str, written: &str| match told.strip_prefix('*') {
        Some(rest) => written.ends_with(rest),
        None => told == written,
    };
    told.split('.').count() == written.split('.').count()
        && told.split('.').zip(written.split('.')).all(|(told, written)| part(told, written))
}

/// Whether `above` holds `below`.
fn holds(above: &str, below: &str) -> bool {
    below.strip_prefix(above).is_some_and(|rest| rest.starts_with('.') || rest.starts_with('['))
}

/// What the page and the program say otherwise of one section. `is_null_allowed`: what is not there in a field that is null may be there elsewhere.
fn differences(
    told: &BTreeSet<&str>,
    written: &BTreeMap<String, bool>,
    is_null_allowed: bool,
) -> Vec<String> {
    let is_told = |name: &str| told.iter().any(|told| is_same(told, name));
    let is_empty_parent = |name: &str| told.iter().any(|told| holds(name, told));
    let untold = written
        .iter()
        .filter(|(name, has_others)| !**has_others && !is_told(name) && !is_empty_parent(name))
        .map(|(name, _)| format!("{name} is written, and not on the page"));
    let is_written = |told: &str| {
        let is_null = |(name, has_others): (&String, &bool)| !*has_others && holds(name, told);
        written.keys().any(|name| is_same(told, name)) || (is_null_allowed && written.iter().any(is_null))
    };
    let unwritten = told.iter().filter(|told| !is_written(told));
    untold.chain(unwritten.map(|told| format!("{told} is on the page, and was not written"))).collect()
}

/// What runs of every kind have written, by the sections of the page.
#[derive(Default)]
struct Written(BTreeMap<&'static str, BTreeMap<String, bool>>, BTreeSet<String>);

const RUN: &str = "`summary.json` of `run`";

impl Written {
    fn json(&mut self, section: &'static str, value: &Value) {
        fields(value, "", self.0.entry(section).or_default());
        self.1.extend(value["schema"].as_str().map(str::to_owned));
    }

    /// The columns of a file behind the labels that some have.
    fn csv(&mut self, section: &'static str, file: &Path) {
        let text = fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let mut lines = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
        let (head, first) = (lines.next().expect("a head"), lines.next().expect("a row"));
        let labels =
            head.iter().take_while(|name| ["schema", "architecture", "protocol", "writes"].contains(name));
        let labels = labels.count();
        self.1.extend((head[0] == "schema").then(|| first[0].to_owned()));
        let section = self.0.entry(section).or_default();
        section.extend(head[labels..].iter().map(|name| ((*name).to_owned(), false)));
    }

    fn of_folder(&mut self, folder: &Path, latency: &str) {
        let read = |name: &str| fs::read_to_string(folder.join(name)).expect(name);
        let json = |name: &str| serde_json::from_str::<Value>(&read(name)).expect("JSON");
        self.json("`environment.json`", &json("environment.json"));
        self.csv("`samples.csv`", &folder.join("samples.csv"));
        self.csv("`latency/*.csv`", &folder.join("latency").join(latency));
        self.csv("`export.csv` and `export.json`", &folder.join("export.csv"));
        let log = read("latency.hlog");
        let schema = log.lines().nth(1).and_then(|line| line.trim_start_matches('#').split(':').next());
        self.1.extend(schema.map(str::to_owned));
        // The same columns in the same order, and the kinds.
        let head = read("export.csv");
        let columns: Vec<&str> = head.lines().next().expect("a head").split(',').chain(["kinds"]).collect();
        for row in json("export.json").as_array().expect("rows") {
            let names: BTreeSet<&str> = row.as_object().expect("a row").keys().map(String::as_str).collect();
            assert_eq!(names, columns.iter().copied().collect(), "export.json");
        }
    }

    /// Two programs by turns, which is this one twice, on a simulated machine.
    fn by_turns(&mut self, folder: &Path) {
        let machine = root().join("machines/haswell-ex-4x18.toml");
        fs::copy(machine, folder.join("machine.toml")).expect("a machine");
        let this = env!("CARGO_BIN_EXE_trireme");
        let diff = ["diff", "--old", this, "--new", this, "--json", "--out", "turns", "--"];
        let line = "run micro --on machine.toml --workers 2 --protocol silo --records 1000 --warmup 5us --duration 25us";
        let ran = run(folder, &diff.into_iter().chain(line.split(' ')).collect::<Vec<_>>());
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        let mut turns = ran.json();
        let read = |name: &str| fs::read_to_string(folder.join("turns").join(name)).expect(name);
        let json = |name: &str| serde_json::from_str::<Value>(&read(name)).expect("JSON");
        assert_eq!(json("summary.json"), turns, "what is printed is what is laid down");
        self.json("`environment.json`", &json("environment.json"));
        self.json("`diff --json`", &turns["diff"]);
        turns["diff"] = Value::Bool(true);
        self.json("`summary.json` of `diff --old --new`", &turns);
    }
}

const EXPERIMENT: &str = "\
workload = 'micro'
[base]
architecture = 'dora'
records = 1000
workers = 2
warmup = '5ms'
duration = '60ms'
repeat = 2
series = 'on'
[axes]
protocol = ['no-wait', 'silo']
writes = ['none', 'all']
[[claims]]
that = 'alike'
section = '1'
says = 'they are alike'
left = { writes = 'none' }
right = { writes = 'all' }
measure = 'throughput'
at_least = 0.001
";

/// Everything that is written is told, and everything that is told is written, by some of: an open loop with a log over a workload of several kinds, short runs that choose, a
/// comparison, a sweep with a pair that is left out, two programs by turns, and what compares, estimates and lists.
#[test]
fn every_field_that_is_written_is_told_and_every_one_that_is_told_is_written() {
    let page = fs::read_to_string(root().join("docs/results-format.md")).expect("the page");
    let mut written = Written::default();
    let export = ["--export", "csv,json,hlog", "--out", "out"];

    let open = "run tpcc --items 100 --customers 10 --protocol silo --workers 2 --repeat 2 --rate 2000 --durability group --log log --checkpoint-every 30ms";
    let open: Vec<&str> = open.split(' ').chain(export).collect();
    let (folder, summary) = run_until("formats-open", &open, |summary| {
        let new_order =
            summary["kinds"].as_array().is_some_and(|all| all.iter().any(|of| of["tpmc"].is_number()));
        new_order
            && summary["log"]["last_checkpoint"].is_object()
            && summary["arrivals"]["service_ns"].is_object()
    });
    written.json(RUN, &summary);
    written.of_folder(&folder.join("out"), "shared-everything-silo.csv");
    written.csv("`series.csv`", &folder.join("out/series.csv"));
    written.csv("`kinds.csv`", &folder.join("out/kinds.csv"));
    let log = fs::read_to_string(folder.join("out/latency.hlog")).expect("a log");
    assert!(log.contains("response times, from a transaction's arrival"), "{log}");

    let chosen = "run micro --records 1000 --architecture orthrus --cc-threads auto --workers 3 --repeat 1";
    let chosen: Vec<&str> = chosen.split(' ').chain(export).collect();
    let (folder, summary) =
        run_until("formats-chosen", &chosen, |summary| summary["commits"].as_u64() > Some(0));
    written.json(RUN, &summary);
    written.of_folder(&folder.join("out"), "orthrus-none.csv");

    let compare = "compare tpcc --items 100 --customers 10 --only silo,no-wait --workers 2 --repeat 2 --warmup 5ms --duration 60ms --json";
    let compare: Vec<&str> =
        compare.split(' ').chain(["--export", "csv,json,hlog", "--out", "compared"]).collect();
    let ran = run(&folder, &compare);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let mut compared = ran.json();
    for row in compared["rows"].as_array_mut().expect("rows") {
        written.json(RUN, row);
        row.as_object_mut()
            .expect("a row")
            .retain(|name, _| ["supported", "architecture", "protocol"].contains(&name.as_str()));
        // `json.rs::compare_prints_every_pair_ranked` has pairs that are not measured.
        row["why"] = Value::Null;
    }
    // `interrupt.rs` has one that is interrupted.
    compared["turns"]["interrupted"] = Value::Null;
    written.json("`summary.json` of `compare`", &compared);
    written.of_folder(&folder.join("compared"), "shared-everything-silo.csv");
    written.csv("`kinds.csv`", &folder.join("compared/kinds.csv"));
    let kinds = fs::read_to_string(folder.join("compared/kinds.csv")).expect("kinds");
    let report = fs::read_to_string(folder.join("compared/report.html")).expect("a report");
    for system in ["shared-everything,silo,new-order,", "shared-everything,no-wait,payment,"] {
        assert!(kinds.contains(&format!("trireme.export/1,{system}")), "{system}: {kinds}");
    }
    for words in
        ["By kind of transaction", "New-Orders a minute are without", "<td class=\"\">new-order</td>"]
    {
        assert!(report.contains(words), "{words}");
    }

    fs::write(folder.join("points.toml"), EXPERIMENT).expect("a file");
    let sweep = ["sweep", "points.toml", "--json", "--export", "csv,json,hlog", "--out", "swept"];
    let ran = run(&folder, &sweep);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let mut swept = ran.json();
    for point in swept["points"].as_array_mut().expect("points") {
        written.json(RUN, &point["summary"]);
        point["summary"] = Value::Bool(true);
    }
    written.json("`summary.json` of `sweep`", &swept);
    written.of_folder(&folder.join("swept"), "protocol=no-wait,writes=none.csv");
    written.csv("`series.csv`", &folder.join("swept/series/protocol=no-wait,writes=all.csv"));

    let mut estimate = run(&folder, &[&sweep[..], &["--dry-run"]].concat()).json();
    assert_eq!(
        (&estimate["points"], &estimate["finished"], &estimate["least_s"]),
        (&2.into(), &2.into(), &0.0.into())
    );
    estimate["left_out"] = Value::Array(Vec::new());
    written.json("`sweep --dry-run --json`", &estimate);
    written.json("`diff --json`", &run(&folder, &["diff", "swept", "swept", "--json"]).json());
    written.by_turns(&folder);
    let list = run(&folder, &["list", "--json"]).json();
    for name in list.as_object().expect("lists").keys() {
        assert!(quoted(&page).contains(&name.as_str()), "{name} is listed, and not on the page");
    }
    written.json("`list --json`", &list);

    let told = told_fields(&page);
    let sections = told.keys().copied().filter(|section| written.0.contains_key(section)).count();
    assert_eq!(sections, written.0.len(), "every section: {:?}", told.keys());
    for (section, written) in &written.0 {
        let differences = differences(&told[section], written, *section == "`environment.json`");
        assert!(differences.is_empty(), "{section}: {differences:#?}");
    }
    let schemas = page.split("## Labels").next().expect("what is promised");
    let schemas = schemas.lines().filter(|line| line.starts_with('|')).filter_map(|line| {
        let cell = line.trim_end_matches([' ', '|']).rsplit("| ").next()?;
        cell.starts_with("trireme.").then(|| cell.to_owned())
    });
    assert_eq!(schemas.collect::<BTreeSet<_>>(), written.1, "schemas");
}

#[test]
fn fields_that_only_one_side_has_are_found() {
    let told =
        told_fields("## A\n| `a` | s | |\n| `b.c` | | |\n| `d.*` | | |\n| `e[].f` | | |\n| `x`, `y` | | |\n");
    let of = |json: &str| {
        let mut written = BTreeMap::new();
        fields(&serde_json::from_str(json).expect("JSON"), "", &mut written);
        differences(&told["A"], &written, false)
    };
    assert_eq!(of(r#"{"a":1,"b":{"c":[1,2]},"d":{"any":0},"e":[{"f":{}}]}"#), [""; 0]);
    assert_eq!(
        of(r#"{"a":1,"b":{"c":1,"g":1},"d":{"any":0},"e":[]}"#),
        ["b.g is written, and not on the page", "e[].f is on the page, and was not written"]
    );
    assert_eq!(
        of(r#"{"a":1,"b":null,"d":{"any":0},"e":[{"f":1}]}"#),
        ["b.c is on the page, and was not written"]
    );
}
