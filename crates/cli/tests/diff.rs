//! Later results beside earlier ones: what is the same is not told apart, and what is slower is found.

mod common;

use common::{Ran, fresh_folder, run};
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

const MACHINE: &str = include_str!("../../../machines/haswell-ex-4x18.toml");

/// A folder with a machine file: what is simulated repeats bit for bit.
fn simulated() -> common::Scratch {
    let folder = fresh_folder("diff");
    fs::write(folder.join("machine.toml"), MACHINE).expect("a machine");
    folder
}

/// Twenty operations a transaction, or as many as are said.
fn measured(folder: &Path, operations: &str, more: &[&str]) -> Ran {
    let of = [
        "run",
        "micro",
        "--on",
        "machine.toml",
        "--workers",
        "4",
        "--protocol",
        "silo",
        "--records",
        "4000",
        "--hot",
        "0",
        "--hot-records",
        "0",
        "--warmup",
        "20us",
        "--duration",
        "300us",
        "--repeat",
        "5",
        "--operations",
        operations,
    ];
    run(folder, &[&of[..], more].concat())
}

#[test]
fn what_is_the_same_is_never_slower_and_a_twentieth_slower_always_is() {
    let folder = simulated();
    let saved = measured(&folder, "20", &["--save-baseline", "main", "--out", "before"]);
    assert_eq!(saved.code, Some(0), "{}", saved.err);
    assert!(folder.join("results/baselines/main/samples.csv").exists());
    let same = measured(&folder, "20", &["--baseline", "main", "--out", "same"]);
    assert_eq!(same.code, Some(0), "{}", same.err);
    assert!(
        same.out.contains("beside the baseline main:") && same.out.contains("within noise"),
        "{}",
        same.out
    );
    // One operation in twenty more.
    let slower = measured(&folder, "21", &["--baseline", "main", "--out", "slower"]);
    assert_eq!(slower.code, Some(2), "{}", slower.err);
    assert!(slower.err.contains("operations: 20, then 21"), "{}", slower.err);
    let refused = run(&folder, &["diff", "main", "slower"]);
    assert_eq!(refused.code, Some(2), "{}", refused.err);
    assert!(
        refused.err.contains("operations: 20, then 21") && refused.err.contains("--unlike"),
        "{}",
        refused.err
    );
    let found = run(&folder, &["diff", "before", "slower", "--unlike"]);
    assert_eq!(found.code, Some(1), "{}", found.err);
    assert!(found.out.contains("REGRESSION") && found.out.contains("differs: operations"), "{}", found.out);
    let tolerated = run(&folder, &["diff", "main", "slower", "--unlike", "--tolerance", "30%", "--json"]);
    assert_eq!(tolerated.code, Some(0), "{}", tolerated.err);
    let row = &tolerated.json()["rows"][0];
    assert_eq!((&row["verdict"], &row["paired"]), (&Value::from("slower"), &Value::from(true)));
    assert!(row["ratio"].as_f64().is_some_and(|ratio| (0.90..0.99).contains(&ratio)), "{row}");
    let faster = run(&folder, &["diff", "slower", "main", "--unlike"]);
    assert_eq!(faster.code, Some(0), "{}", faster.err);
    assert!(faster.out.contains("faster"), "{}", faster.out);
}

/// From other seeds it draws other transactions, and is the same system.
#[test]
fn other_seeds_of_the_same_are_within_noise() {
    let folder = simulated();
    for seed in 0..8 {
        let (out, seed) = (format!("s{seed}"), (100 * seed).to_string());
        let ran = measured(&folder, "20", &["--seed", &seed, "--out", &out]);
        assert_eq!(ran.code, Some(0), "{}", ran.err);
    }
    let mut alarms = 0;
    for one in 0..8 {
        for other in (0..8).filter(|other| *other != one) {
            let sides = [format!("s{one}"), format!("s{other}")];
            let diff = run(&folder, &["diff", &sides[0], &sides[1], "--json"]);
            let row = diff.json()["rows"][0].clone();
            assert_eq!(row["paired"], false);
            alarms += usize::from(diff.code != Some(0));
        }
    }
    // 28 comparisons, each both ways: one in twenty by chance.
    assert!(alarms <= 4, "{alarms} of 56 are told to be slower");
}

#[test]
fn a_thousand_repetitions_are_never_slower_than_themselves() {
    let folder = simulated();
    let line = "run micro --on machine.toml --workers 2 --protocol silo --records 4000 --warmup 5us --duration 25us --repeat 1000";
    let line: Vec<&str> = line.split(' ').collect();
    for name in ["one", "other"] {
        let ran = run(&folder, &[&line[..], &["--out", name]].concat());
        assert_eq!(ran.code, Some(0), "{}", ran.err);
    }
    let compared = run(&folder, &["diff", "one", "other", "--json"]);
    assert_eq!(compared.code, Some(0), "{}", compared.err);
    let row = &compared.json()["rows"][0];
    assert_eq!(row["verdict"], "within-noise", "{row}");
    for bound in ["ratio", "low", "high"] {
        assert_eq!(row[bound], 1.0, "{bound} of {row}");
    }
}

#[test]
fn what_cannot_be_compared_is_refused_before_it_is_measured() {
    let folder = simulated();
    for (more, what) in [
        (
            ["--baseline", "mian"],
            "mian: no results are there; allowed: a folder of results, or the name of a baseline",
        ),
        (["--save-baseline", "a/b"], "save-baseline a/b: allowed: a name of letters"),
        (["--tolerance", "3%"], "--tolerance is for --baseline, which is missing"),
        (["--by", "p99"], "--by is for --baseline, which is missing"),
    ] {
        let ran = measured(&folder, "20", &more);
        assert_eq!(ran.code, Some(2), "{}", ran.err);
        assert!(ran.err.contains(what), "{}", ran.err);
        assert!(!folder.join("results").exists(), "nothing was measured");
    }
    let nothing = run(&folder, &["diff", "results", "machine.toml"]);
    assert_eq!(nothing.code, Some(2), "{}", nothing.err);
    let by = run(&folder, &["diff", "a", "b", "--by", "p42"]);
    assert!(by.err.contains("by p42: allowed: throughput, mean, p50, p99, p999"), "{}", by.err);
}

/// A file whose transactions break its own sum, beside a baseline of another workload.
#[test]
fn a_failed_check_comes_before_a_baseline_that_cannot_be_compared() {
    let folder = simulated();
    let saved = measured(&folder, "20", &["--save-baseline", "main", "--out", "before"]);
    assert_eq!(saved.code, Some(0), "{}", saved.err);
    let adding = |more: u32| {
        format!(
            "[tables.rows]\nrows = 500\ncolumns = ['value']\n[transactions.add]\nweight = 1\n\
             draw = [{{ name = 'row', row_of = 'rows' }}]\n\
             steps = [{{ update = 'rows', key = 'row', set = {{ value = 'value + {more}' }} }}]\n\
             [[invariants]]\nsum_of = 'rows.value'\n"
        )
    };
    for (file, more, code) in [("sound.toml", 0, 2), ("broken.toml", 1, 1)] {
        fs::write(folder.join(file), adding(more)).expect("written");
        let line = "--on machine.toml --workers 2 --protocol silo --warmup 20us --duration 100us --repeat 2 --baseline main --save-baseline other";
        let line = ["run", file].into_iter().chain(line.split(' ')).collect::<Vec<_>>();
        let ran = run(&folder, &line);
        assert_eq!(ran.code, Some(code), "{file}: {}{}", ran.out, ran.err);
        assert!(ran.err.contains("--baseline main: it was measured otherwise: "), "{file}: {}", ran.err);
        assert!(!folder.join("results/baselines/other").exists(), "{file}");
    }
}

/// A sweep's rows are its points, a comparison's its systems.
#[test]
fn points_and_systems_are_rows() {
    let folder = simulated();
    let experiment = "workload = 'micro'\n[base]\nrecords = 4000\nhot-records = 0\nhot = 0\n[axes]\nprotocol = ['silo', 'no-wait']\nworkers = [1, 2]\n";
    fs::write(folder.join("points.toml"), experiment).expect("a file");
    let short = ["--on", "machine.toml", "--warmup", "10us", "--duration", "50us", "--repeat", "2"];
    for name in ["one", "other"] {
        let ran = run(
            &folder,
            &[&["sweep", "points.toml", "--save-baseline", name, "--out", name][..], &short].concat(),
        );
        assert_eq!(ran.code, Some(0), "{}", ran.err);
    }
    let diff = run(&folder, &["diff", "one", "other", "--by", "p99", "--json"]).json();
    assert_eq!(diff["rows"].as_array().expect("rows").len(), 4, "{diff:#}");
    assert!(diff["rows"][0]["row"].to_string().contains(r#"["workers","1"]"#), "{diff:#}");
    assert!(diff["rows"].as_array().expect("rows").iter().all(|row| row["ratio"] == 1.0), "{diff:#}");
    let compare = |more: &[&str]| {
        let of = [
            "compare",
            "micro",
            "--only",
            "silo,shared-everything no-wait",
            "--workers",
            "2",
            "--records",
            "4000",
        ];
        let ran = run(&folder, &[&of[..], &short, more].concat());
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        ran.out
    };
    compare(&["--save-baseline", "pair", "--out", "pair"]);
    assert!(folder.join("results/baselines/pair/samples.csv").exists());
    let beside = compare(&["--baseline", "pair", "--out", "later"]);
    assert!(beside.contains("beside the baseline pair:") && beside.contains("within noise"), "{beside}");
    let diff = run(&folder, &["diff", "pair", "later", "--json"]).json();
    let systems: Vec<String> =
        diff["rows"].as_array().expect("rows").iter().map(|row| row["row"].to_string()).collect();
    for protocol in [r#"["protocol","silo"]"#, r#"["protocol","no-wait"]"#] {
        assert!(systems.iter().any(|row| row.contains(protocol)), "{protocol}: {systems:?}");
    }
}

/// For spreadsheets, scripts, pages and HdrHistogram's tools.
#[test]
fn results_are_exported_in_the_forms_of_other_programs() {
    let folder = simulated();
    let ran = measured(&folder, "20", &["--export", "csv,json,markdown,hlog", "--out", "out"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let read = |name: &str| fs::read_to_string(folder.join("out").join(name)).expect(name);
    assert!(
        read("export.csv").starts_with("schema,architecture,protocol,workload,"),
        "{}",
        read("export.csv")
    );
    let rows: Value = serde_json::from_str(&read("export.json")).expect("JSON");
    assert_eq!((&rows[0]["schema"], &rows[0]["protocol"]), (&"trireme.export/1".into(), &"silo".into()));
    assert!(read("export.md").starts_with("| architecture | protocol | txn/s | "), "{}", read("export.md"));
    let log = read("latency.hlog");
    assert!(
        log.contains("Tag=shared-everything/silo,") && log.starts_with("#[Histogram log format version 1.3]"),
        "{log}"
    );
    let refused = measured(&folder, "20", &["--export", "xml", "--out", "refused"]);
    assert!(refused.code == Some(2) && !folder.join("refused").exists(), "{}", refused.err);
}

#[test]
fn shells_complete_and_the_manual_has_pages() {
    let folder = fresh_folder("completions");
    for shell in ["bash", "fish", "zsh"] {
        let ran = run(&folder, &["completions", shell]);
        assert!(ran.code == Some(0) && ran.out.contains("save-baseline"), "{shell}: {}", ran.err);
    }
    assert_eq!(run(&folder, &["completions", "man", "--out", "pages"]).code, Some(0));
    let page = fs::read_to_string(folder.join("pages/trireme-run.1")).expect("a page");
    assert!(page.contains("trireme\\-run") && page.contains("arrivals"), "{page}");
    let refused = run(&folder, &["completions", "tcsh"]);
    assert!(refused.code == Some(2) && refused.err.contains("allowed: bash, "), "{}", refused.err);
}

/// Outside of the repository, too: they travel inside the program.
#[test]
fn experiments_and_machines_travel_along() {
    let folder = fresh_folder("shipped");
    let listed = run(&folder, &["list", "experiments"]);
    assert!(listed.out.contains("'trireme reproduce trireme/fig-2a'"), "{}", listed.out);
    let planned = run(&folder, &["sweep", "experiments/hardware/open-loop.toml", "--dry-run"]);
    assert!(planned.code == Some(0) && planned.out.contains("36 points"), "{}{}", planned.out, planned.err);
    assert!(!folder.join("results").exists(), "nothing was measured");
    let by_name = run(
        &folder,
        &[
            "run",
            "micro",
            "--on",
            "haswell-ex-4x18",
            "--workers",
            "2",
            "--protocol",
            "silo",
            "--records",
            "2000",
            "--warmup",
            "10us",
            "--duration",
            "50us",
            "--repeat",
            "1",
            "--json",
            "--out",
            "out",
        ],
    );
    assert_eq!(by_name.json()["machine"], "haswell-ex-4x18", "{}", by_name.err);
    let environment: Value =
        serde_json::from_str(&fs::read_to_string(folder.join("out/environment.json")).expect("laid down"))
            .expect("JSON");
    for fact in ["trireme_commit", "compiler", "stolen_share", "load_average_before", "frequency_mhz"] {
        assert!(environment.get(fact).is_some(), "{fact}: {environment:#}");
    }
}

#[test]
fn some_systems_are_compared_and_no_others() {
    let folder = fresh_folder("only");
    let only = |systems: &str| {
        let line = ["compare", "micro", "--only", systems, "--json"];
        common::run_short(&folder, &line)
    };
    let compared = only("silo, dora no-wait").json();
    let systems: Vec<String> = compared["rows"]
        .as_array()
        .expect("rows")
        .iter()
        .map(|row| {
            format!(
                "{} {}",
                row["architecture"].as_str().unwrap_or_default(),
                row["protocol"].as_str().unwrap_or_default()
            )
        })
        .collect();
    assert!(
        systems.contains(&"shared-everything silo".to_owned())
            && systems.contains(&"dora no-wait".to_owned()),
        "{systems:?}"
    );
    assert!(
        systems.iter().all(|system| system.ends_with(" silo") || system == "dora no-wait"),
        "{systems:?}"
    );
    let refused = only("siol");
    assert!(
        refused.code == Some(2)
            && refused.err.contains("--only siol: allowed: architectures, protocols, or systems"),
        "{}",
        refused.err
    );
}

const BINARY: &str = env!("CARGO_BIN_EXE_trireme");

/// On a simulated machine, over at once.
const SIMULATED: &str =
    "run micro --on machine.toml --workers 2 --protocol silo --records 4000 --warmup 5us --duration 25us";

/// On the hardware.
const MEASURED: &str = "run micro --protocol silo --records 2000 --warmup 1ms --duration 10ms --workers 1";

/// A program that is a script. It is written by a process of its own: nobody here has it open when it is started.
fn script(folder: &Path, name: &str, does: &str) {
    let text = format!("#!/bin/sh\n{does}\n");
    let write = ["-c", r#"printf '%s' "$1" > "$2" && chmod +x "$2""#, "sh", &text, name];
    assert!(Command::new("sh").args(write).current_dir(folder).status().expect("a shell").success());
}

/// `diff` of two programs, in the folder `out`.
fn by_turns(folder: &Path, [old, new]: [&str; 2], more: &[&str], line: &str) -> Ran {
    let head = ["diff", "--old", old, "--new", new, "--out", "out"];
    let line: Vec<&str> = line.split(' ').collect();
    run(folder, &[&head[..], more, &["--"], &line].concat())
}

#[test]
fn programs_take_turns_and_a_program_is_as_fast_as_itself() {
    let folder = simulated();
    let ran = by_turns(&folder, [BINARY; 2], &["--rounds", "3"], SIMULATED);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(ran.out.contains("every ratio is exactly 1") && ran.out.contains("within noise"), "{}", ran.out);
    let told: Vec<String> = ran
        .err
        .lines()
        .filter_map(|line| {
            Some(line.strip_prefix("round ")?.split(' ').take(4).collect::<Vec<_>>().join(" "))
        })
        .collect();
    let order = [
        "1 of 3: --old",
        "1 of 3: --new",
        "2 of 3: --new",
        "2 of 3: --old",
        "3 of 3: --old",
        "3 of 3: --new",
    ];
    assert_eq!(told, order, "{}", ran.err);
    let written = |run: &str| {
        let file = fs::metadata(folder.join("out").join(run).join("summary.json")).expect(run);
        file.modified().expect("this system tells")
    };
    let runs = ["old/round-1", "new/round-1", "new/round-2", "old/round-2", "old/round-3", "new/round-3"];
    assert!(runs.map(written).is_sorted(), "{:?}", runs.map(written));
    let read = |name: &str| fs::read_to_string(folder.join("out").join(name)).expect(name);
    let seeds: Vec<String> = read("new/samples.csv")
        .lines()
        .skip(1)
        .map(|line| line.split(',').nth(3).unwrap_or("").to_owned())
        .collect();
    assert!(
        read("new/samples.csv").starts_with("architecture,protocol,repetition,seed,"),
        "{}",
        read("new/samples.csv")
    );
    assert_eq!(seeds, ["1", "2", "3"]);
    let summary: Value = serde_json::from_str(&read("summary.json")).expect("JSON");
    assert_eq!((&summary["schema"], &summary["rounds"]), (&"trireme.turns/1".into(), &3.into()));
    assert_eq!(summary["diff"]["rows"][0]["paired"], true);
    let environment: Value = serde_json::from_str(&read("environment.json")).expect("JSON");
    for side in ["old", "new"] {
        assert!(
            environment[side]["commit"].is_string() && environment[side]["stolen_share"].is_array(),
            "{environment:#}"
        );
    }
    assert!(read("report.html").contains("Round by round"));
    // Another quantity of the same rounds.
    let later = run(&folder, &["diff", "out/old", "out/new", "--by", "p99", "--json"]);
    assert_eq!(later.code, Some(0), "{}", later.err);
    assert_eq!(later.json()["rows"][0]["ratio"], 1.0);
    let again = by_turns(&folder, [BINARY; 2], &[], SIMULATED);
    assert!(
        again.code == Some(2) && again.err.contains("--out out: allowed: a folder without results"),
        "{}",
        again.err
    );
}

/// One that takes longer does so because it is told something else: that is refused after a round, or compared, and found.
#[test]
fn a_program_that_does_something_else_is_refused_and_a_slower_one_found() {
    let folder = simulated();
    script(&folder, "slower", &format!("exec {BINARY} \"$@\" --operations 12"));
    let refused = by_turns(&folder, [BINARY, "./slower"], &["--rounds", "5"], SIMULATED);
    assert_eq!(refused.code, Some(2), "{}", refused.err);
    assert!(refused.err.contains("they differ: operations: 10, then 12"), "{}", refused.err);
    assert!(!folder.join("out/new/round-2").exists(), "one round is enough to see it");
    fs::remove_dir_all(folder.join("out")).expect("it is there");
    // One round tells all.
    let found = by_turns(&folder, [BINARY, "./slower"], &["--unlike", "--json"], SIMULATED);
    assert_eq!(found.code, Some(1), "{}", found.err);
    let turns = found.json();
    assert_eq!(
        (&turns["rounds"], &turns["diff"]["rows"][0]["verdict"]),
        (&1.into(), &"regression".into()),
        "{turns:#}"
    );
    assert_eq!(turns["diff"]["differences"][0], "operations: 10, then 12");
}

#[test]
fn a_program_that_fails_leaves_the_rounds_before() {
    let folder = fresh_folder("diff-fails");
    script(
        &folder,
        "failing",
        &format!(
            "case \"$*\" in *round-3*) echo 'error: out of order' >&2; exit 7;; esac\nexec {BINARY} \"$@\""
        ),
    );
    let ran = by_turns(&folder, [BINARY, "./failing"], &["--rounds", "4"], MEASURED);
    assert_eq!(ran.code, Some(7), "{}", ran.err);
    let said =
        "error: --new ./failing, in round 3 of 4: out of order (exit code 7); 2 of 4 rounds were compared";
    assert!(ran.err.contains(said), "{}", ran.err);
    assert!(ran.out.starts_with("2 rounds of 'trireme run micro "), "{}", ran.out);
    let samples = fs::read_to_string(folder.join("out/old/samples.csv")).expect("laid down");
    assert_eq!(samples.lines().count(), 1 + 2, "{samples}");
    assert!(folder.join("out/old/round-3").exists() && !folder.join("out/old/round-4").exists());
    // At once, nothing is left of it.
    script(&folder, "never", "exit 0");
    let never =
        run(&folder, &["diff", "--old", "./never", "--new", BINARY, "--out", "none", "--", "run", "micro"]);
    assert_eq!(never.code, Some(2), "{}", never.err);
    assert!(
        never.err.contains("--old ./never, in round 1 of 7: it has left no samples.csv in none/old/round-1"),
        "{}",
        never.err
    );
    assert!(!folder.join("none").exists());
}

/// At a terminal the whole group of processes is interrupted; the run under way is not of it, and ends as it would have.
#[test]
fn an_interrupt_ends_with_the_run_under_way() {
    let folder = fresh_folder("diff-interrupted");
    let line = format!("diff --old {BINARY} --new {BINARY} --rounds 500 --json --out out -- {MEASURED}");
    let mut command = common::trireme(&folder);
    command.args(line.split(' ')).process_group(0).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the binary runs");
    let mut told = BufReader::new(child.stderr.take().expect("piped"));
    let mut err = String::new();
    while !err.contains("round 3 of 500") {
        assert!(told.read_line(&mut err).expect("text") > 0, "it has ended: {err}");
    }
    let group = format!("-{}", child.id());
    assert!(
        Command::new("kill")
            .args(["-INT", "--", &group])
            .status()
            .expect("there is such a command")
            .success()
    );
    told.read_to_string(&mut err).expect("text");
    let output = child.wait_with_output().expect("it ends");
    let ran = Ran { err, ..Ran::from(output) };
    assert_eq!(ran.code, Some(130), "{}", ran.err);
    let turns = ran.json();
    let rounds = turns["rounds"].as_u64().expect("a number");
    assert!((2..500).contains(&rounds), "{rounds}");
    assert_eq!(turns["ended"], format!("interrupted: {rounds} of 500 rounds measured"));
    assert!(ran.err.contains("interrupted: ends with the repetition that runs"), "{}", ran.err);
    for side in ["old", "new"] {
        let rows = fs::read_to_string(folder.join("out").join(side).join("samples.csv")).expect("laid down");
        assert_eq!(rows.lines().count() as u64, 1 + rounds, "{side}");
    }
}

#[test]
fn turns_that_cannot_be_are_refused_before_anything_is_measured() {
    let folder = fresh_folder("diff-refused");
    fs::write(folder.join("text"), "no program").expect("written");
    for (line, what) in [
        (
            "--old ./gone --new ./gone -- run micro",
            "--old ./gone: no such file or directory; allowed: the path of a program",
        ),
        ("--old ./text --new ./text -- run micro", "--old ./text: it is not executable; allowed: "),
        (
            "--old no-such-trireme --new sh -- run micro",
            "--old no-such-trireme: no folder of PATH has such a program",
        ),
        ("--old sh --new sh -- check micro", "-- check: allowed: run, compare, sweep, with their options"),
        (
            "--old sh --new sh -- run micro --repeat 3",
            "-- --repeat: allowed: none here; rounds repeat the line: --rounds",
        ),
        ("--old sh --new sh", "what the two programs do is missing; allowed: behind all else --"),
        ("--old sh -- run micro", "--new is missing; "),
        (
            "--old sh --new sh --rounds 1 -- run micro",
            "--rounds 1: allowed: a whole number, 2 <= rounds <= 1000: one tells",
        ),
        (
            "--old sh --new sh --rounds 0 -- run micro --on m.toml",
            "--rounds 0: allowed: a whole number, 1 <= rounds <= 1000",
        ),
        ("one other --rounds 3", "--rounds is for --old and --new, which are missing"),
        ("one --old sh --new sh -- run micro", "does not go with"),
        ("one", "<AFTER> is missing"),
    ] {
        let ran = run(&folder, &[&["diff"][..], &line.split(' ').collect::<Vec<_>>()].concat());
        assert_eq!(ran.code, Some(2), "{line}: {}", ran.err);
        assert!(ran.err.contains(what) && ran.err.lines().count() == 1, "{line}: {}", ran.err);
    }
    assert!(!folder.join("results").exists(), "nothing was measured");
}
