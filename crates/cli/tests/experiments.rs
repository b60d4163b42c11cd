//! Every experiment file loads, runs, and tells its claims; a claim that is not reproduced is no failure.

mod common;

use common::{fresh_folder, run};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

fn experiments() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments");
    let mut files = Vec::new();
    for paper in fs::read_dir(root).expect("the folder of experiments").flatten() {
        for file in fs::read_dir(paper.path()).expect("a paper's folder").flatten() {
            if file.path().extension().is_some_and(|extension| extension == "toml") {
                files.push(file.path());
            }
        }
    }
    files.sort();
    files
}

#[test]
fn every_figure_of_trireme_that_concerns_this_engine_has_its_file() {
    let there: BTreeSet<String> = experiments()
        .iter()
        .filter(|file| file.parent().is_some_and(|folder| folder.ends_with("trireme")))
        .map(|file| file.file_stem().expect("a name").to_string_lossy().into_owned())
        // The others show what our own choices do.
        .filter(|name| name.starts_with("fig-"))
        .collect();
    let figures = "2a 2b 2c 2d 2d-protocols 3a 3b 3c 4a 4b 4c 4c-low-contention 5 6a 6a-architectures 6b 6c 6d 7d 7e \
                   7e-servers";
    assert_eq!(there, figures.split(' ').map(|figure| format!("fig-{figure}")).collect());
}

/// The papers' systems neither ask for lines ahead nor back off, or the file says otherwise: it does not leave that to our defaults.
#[test]
fn every_experiment_fixes_prefetching_and_back_off() {
    for file in experiments() {
        let text = fs::read_to_string(&file).expect("an experiment");
        for name in ["prefetch", "back-off"] {
            let fixes = |line: &str| line.starts_with(&format!("{name} = "));
            assert!(text.lines().any(fixes), "{} leaves {name} to the defaults", file.display());
        }
    }
}

/// The file with a small table and short repetitions: its numbers say nothing, but it is over soon.
fn shortened(text: &str) -> String {
    let is_tpcc = text.contains("workload = \"tpcc\"");
    let short = |line: &str| match line.split(" = ").next() {
        Some("[base]") if is_tpcc => "[base]\nitems = 100\ncustomers = 10".to_owned(),
        Some("items" | "customers") => String::new(),
        Some("warehouses") if line.contains('[') => "warehouses = [1, 2]".to_owned(),
        Some("time_at") if text.contains("\nwarehouses = [") => "time_at = 1".to_owned(),
        Some("warehouses") if line.contains("as =") => line.to_owned(),
        Some(name @ ("warehouses" | "partitions")) => format!("{name} = 2"),
        Some("workers") if !line.contains('[') => "workers = 2".to_owned(),
        Some("[base]") if !text.contains("\nrecords = ") => "[base]\nrecords = 2000".to_owned(),
        Some("hot-records") if line.contains('[') => "hot-records = [64, 16]".to_owned(),
        Some("cc-threads") => "cc-threads = [1]".to_owned(),
        Some("records") if line.contains('[') => "records = [1000, 2000]".to_owned(),
        Some("records") if line != "records = 72" => "records = 2000".to_owned(),
        Some("warmup") => "warmup = '1ms'".to_owned(),
        Some("duration") => "duration = '5ms'".to_owned(),
        Some("repeat") => "repeat = 2".to_owned(),
        _ => line.to_owned(),
    };
    let text = text.lines().map(short).collect::<Vec<_>>().join("\n");
    text.replace("cc-threads=16", "cc-threads=1")
}

/// A figure of another machine than its paper's others names one that is there.
#[test]
fn papers_machines_are_there() {
    let machines = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../machines");
    let mut named = 0;
    for file in experiments() {
        let text = fs::read_to_string(&file).expect("an experiment");
        let name = text.lines().find_map(|line| line.strip_prefix("papers_machine = "));
        let Some(name) = name.map(|name| name.trim_matches('"')) else { continue };
        let machine = fs::read_to_string(machines.join(format!("{name}.toml")));
        let machine = machine.unwrap_or_else(|error| panic!("{}: {name}: {error}", file.display()));
        machine::simulated::Description::parse(&machine).unwrap_or_else(|error| panic!("{name}: {error}"));
        named += 1;
    }
    assert!(named > 0, "figures of hardware-islands do");
}

const VERDICTS: [&str; 5] =
    ["reproduced", "direction-only", "not-reproduced", "not-applicable", "cannot-be-told"];

/// What the figures show and the engine does not have: one thread cannot be split, and DORA has no Silo.
const LEFT_OUT: [[&str; 2]; 2] = [["asymmetric-delegation", "no-wait"], ["dora", "silo"]];

#[test]
fn every_experiment_runs_and_tells_its_claims() {
    let folder = fresh_folder("experiments");
    let (files, next) = (experiments(), AtomicUsize::new(0));
    // They load, and wait for the disk, about as long as they measure: several have the cores' time.
    thread::scope(|scope| {
        for _ in 0..SIDE_BY_SIDE {
            scope.spawn(|| {
                // Relaxed: a counter.
                while let Some(file) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
                    runs_and_tells_its_claims(&folder, file);
                }
            });
        }
    });
}

const SIDE_BY_SIDE: usize = 4;

fn runs_and_tells_its_claims(folder: &Path, file: &Path) {
    let text = fs::read_to_string(file).expect("an experiment");
    let paper = file.parent().and_then(Path::file_name).expect("a paper's folder");
    let figure = file.file_stem().expect("a name");
    let out = format!("{}-{}", paper.to_string_lossy(), figure.to_string_lossy());
    let own = folder.join(format!("of-{out}"));
    fs::create_dir(&own).expect("a folder");
    fs::write(own.join("short.toml"), shortened(&text)).expect("a file");
    let ran = run(&own, &["sweep", "short.toml", "--out", &out, "--json"]);
    assert_eq!(ran.code, Some(0), "{}: {}", file.display(), ran.err);
    let json = ran.json();
    let list = |name: &str| json[name].as_array().unwrap_or_else(|| panic!("{name} of {out}")).clone();
    assert!(!list("points").is_empty() && !list("claims").is_empty(), "{out}");
    for claim in list("claims") {
        let verdict = claim["verdict"].as_str().expect("a verdict");
        assert!(VERDICTS.contains(&verdict), "{claim}");
    }
    for left_out in list("left_out") {
        let system =
            [&left_out["architecture"], &left_out["protocol"]].map(|name| name.as_str().expect("a name"));
        // Nor does the machine at hand have a counter for timestamps, or cores for so many threads, or processes that `mpirun` has started.
        let lacks = |what: &str| left_out["why"].as_str().is_some_and(|why| why.starts_with(what));
        let does_not_fit =
            lacks("timestamps hardware-counter") || lacks("cc-threads") || lacks("channel mpi: ");
        assert!(LEFT_OUT.contains(&system) || does_not_fit, "{out}: {left_out}");
    }
}

#[test]
fn claims_are_answered_in_words() {
    let folder = fresh_folder("claims");
    let claim = |that: &str, bound: &str| {
        format!(
            "[[claims]]\nthat = '{that}'\nleft = {{ protocol = 'silo' }}\nright = {{ protocol = 'no-wait' }}\n\
             measure = 'throughput'\n{bound}\n"
        )
    };
    let text = [
        "workload = 'micro'\n[base]\nrecords = 2000\nworkers = 1\nwarmup = '1ms'\nduration = '500ms'\nrepeat = 2\n\
         [axes]\nprotocol = ['silo', 'no-wait']\n"
            .to_owned(),
        claim("Silo is faster than nothing", "at_least = 0"),
        claim("Silo commits nothing", "at_least = 0\nat_most = 0").replace("right = { protocol = 'no-wait' }", "#"),
        claim("Silo is faster on large machines", "at_least = 1\nfewest_workers = 1000"),
        claim("Silo sends faster messages", "at_most = 1").replace("throughput", "round_trip_ns"),
    ]
    .concat();
    fs::write(folder.join("claims.toml"), &text).expect("a file");
    let ran = run(&folder, &["sweep", "claims.toml"]);
    assert_eq!(ran.code, Some(0), "a claim that is not reproduced is a result: {}", ran.err);
    for line in [
        "\nreproduced: Silo is faster than nothing\n    ratio ",
        "\nnot reproduced: Silo commits nothing\n    value ",
        "\nnot applicable here: Silo is faster on large machines\n    it is about 1000 workers or more; here: 1 worker\n",
        "\ncannot be told: Silo sends faster messages\n    silo has no round_trip_ns in 2 of 2 repetitions; no-wait \
         has no round_trip_ns in 2 of 2 repetitions; a longer --duration may sample it, if the system has it at all\n",
    ] {
        assert!(ran.out.contains(line), "{line}\n{}", ran.out);
    }
    let report = fs::read_to_string(folder.join("results/sweep-claims/report.html")).expect("a report");
    assert!(
        report.contains("silo has no round_trip_ns in 2 of 2 repetitions"),
        "the reason is in the report, too"
    );
    fs::write(folder.join("claims.toml"), text.replace("'round_trip_ns'", "'speed'")).expect("a file");
    let refused = run(&folder, &["sweep", "claims.toml"]);
    assert_eq!((refused.code, refused.out.as_str()), (Some(2), ""));
    assert!(
        refused.err.starts_with("error: claims.toml:34:11: measure speed: allowed: throughput, "),
        "{}",
        refused.err
    );
    assert_eq!(refused.err.lines().count(), 1);
}

/// A figure that was simulated with options of its own is taken as it is where many are asked for, and goes on with them; a line that names it alone means what it says. What is none of its points is
/// refused. The site's lines say on which machine, and where, as a shell takes it.
#[test]
fn figures_keep_the_options_that_they_were_simulated_with() {
    let folder = fresh_folder("kept");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for made in ["experiments/trireme", "machines"] {
        fs::create_dir_all(folder.join(made)).expect("made");
    }
    for machine in ["machines/haswell-ex-4x18.toml", "machines/nehalem-ex-4x8.toml"] {
        fs::copy(root.join(machine), folder.join(machine)).expect("copied");
    }
    let figure = "title = 'Small'\nworkload = 'micro'\n[base]\nrecords = 1000\nprotocol = 'silo'\n[axes]\nworkers = [1, 2]\n";
    for name in ["one", "two"] {
        fs::write(folder.join(format!("experiments/trireme/{name}.toml")), figure).expect("written");
    }
    let reproduce =
        |line: &str| run(&folder, &[&["reproduce"], &line.split(' ').collect::<Vec<_>>()[..]].concat());

    let elsewhere =
        ["reproduce", "--all", "--html", "--on", "machines/nehalem-ex-4x8.toml", "--out", "a site"];
    assert_eq!(run(&folder, &elsewhere).code, Some(0));
    let options = "--on machines/nehalem-ex-4x8.toml --out 'a site'";
    for (page, name) in [("trireme/one/report.html", "trireme/one"), ("index.html", "trireme")] {
        let html = fs::read_to_string(folder.join("a site").join(page)).expect("a page");
        let text = html.replace("<span class=option>", "").replace("</span>", "");
        let text = text.replace("&#x27;", "'").replace("&#x2f;", "/");
        assert!(text.contains(&format!("trireme reproduce {name} {options}")), "{page}: {text}");
    }

    assert_eq!(reproduce("trireme/one --repeat 2 --warmup 1us --duration 20us").code, Some(0));
    let all = reproduce("--all --repeat 1 --warmup 1us --duration 10us --json");
    assert_eq!(all.code, Some(0), "{}", all.err);
    let kept = "trireme/one: keeps what its results were begun with: repeat 2, duration 20us\n";
    assert!(all.err.contains(kept) && !all.err.contains("trireme/two: keeps"), "{}", all.err);
    let figures = all.json()["figures"].clone();
    for (figure, repetitions) in [(0, 2), (1, 1)] {
        let points = figures[figure]["points"].as_array().expect("points");
        assert_eq!(points.len(), 2, "{figures:#}");
        assert!(points.iter().all(|point| point["summary"]["repetitions"] == repetitions), "{figures:#}");
    }
    let again = reproduce("trireme --json");
    assert_eq!(again.code, Some(0), "{}", again.err);
    for figure in [0, 1] {
        assert_eq!(again.json()["figures"][figure]["points"], figures[figure]["points"]);
    }
    let bad = reproduce("--all --duration soon");
    assert!(bad.code == Some(2) && bad.err.starts_with("error: --duration soon: allowed: "), "{}", bad.err);

    let alone = reproduce("trireme/one --repeat 1 --warmup 1us --duration 10us");
    let strange = "2 of its 2 finished points are not points of experiments/trireme/one.toml (";
    assert!(alone.code == Some(2) && alone.err.contains(strange), "{}", alone.err);
    let changed = figure.replace("1000", "1001");
    fs::write(folder.join("experiments/trireme/one.toml"), changed).expect("written");
    let refused = reproduce("--all");
    assert!(refused.code == Some(2), "{}", refused.err);
    assert!(refused.err.contains(&format!("{strange}records was 1000, now 1001)")), "{}", refused.err);
}
