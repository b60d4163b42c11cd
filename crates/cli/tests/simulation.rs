//! `--on FILE`: the same commands on a simulated machine. They repeat bit for bit, say that they are simulated, and
//! refuse machines that are none.

mod common;

use common::{Ran, Scratch, fresh_folder, run, systems, trireme};
use harness::validation::{ModelError, ModelErrors};
use machine::hardware;
use machine::simulated::fingerprint;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::thread;
use std::time::Duration;

/// A machine file of the repository.
fn machine(name: &str) -> String {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../machines").join(name);
    fs::canonicalize(file).expect("a machine of the repository").display().to_string()
}

fn haswell() -> String {
    machine("haswell-ex-4x18.toml")
}

fn on(folder: &Path, line: &str, machine: &str) -> Ran {
    let words: Vec<&str> = line.split(' ').chain(["--on", machine]).collect();
    run(folder, &words)
}

/// A small table, and a fifth of the usual time.
const SHORT: &str = "--records 5000 --writes 50 --warmup 20us --duration 200us --repeat 2";

#[test]
fn a_simulated_run_repeats_bit_for_bit_in_another_process() {
    let folder = fresh_folder("simulated-twice");
    for pair in systems(&folder) {
        let (architecture, protocol) = pair.split_once(' ').expect("two names");
        let line = format!(
            "run micro {SHORT} --workers 20 --architecture {architecture} --protocol {protocol} --json"
        );
        let (first, second) = (on(&folder, &line, &haswell()), on(&folder, &line, &haswell()));
        assert_eq!(first.code, Some(0), "{pair}: {}", first.err);
        assert_eq!(first.out, second.out, "{pair}");
        let summary = first.json();
        assert_eq!(summary["simulated"], true);
        assert_eq!(summary["machine"], "haswell-ex-4x18");
        assert!(summary["commits"].as_u64() > Some(20), "{pair}: {}", first.out);
        let other = on(&folder, &format!("{line} --seed 2"), &haswell());
        assert_ne!(first.out, other.out, "{pair}: the seed decides");
    }
}

/// On a simulated machine the same is chosen each time; of the threads tried it is the best.
#[test]
fn how_many_threads_do_concurrency_control_is_chosen_the_same_each_time() {
    let folder = fresh_folder("simulated-division");
    let line = format!("run micro {SHORT} --architecture orthrus --cc-threads auto --workers 20 --json");
    let [first, second] = [(); 2].map(|()| on(&folder, &line, &haswell()));
    assert_eq!(first.code, Some(0), "{}", first.err);
    assert_eq!(first.out, second.out);
    let summary = first.json();
    let chosen = &summary["cc_threads_chosen"];
    let tried: Vec<(u64, f64)> = chosen["tried"]
        .as_array()
        .expect("trials")
        .iter()
        .map(|tried| {
            (
                tried["cc_threads"].as_u64().expect("a count"),
                tried["throughput_per_s"].as_f64().expect("a rate"),
            )
        })
        .collect();
    assert!(
        (3..=8).contains(&tried.len()) && tried.iter().all(|(threads, _)| (1..20).contains(threads)),
        "{tried:?}"
    );
    let best = tried.iter().max_by(|one, other| one.1.total_cmp(&other.1)).expect("trials").0;
    assert_eq!((&chosen["cc_threads"], &summary["cc_threads"]), (&best.into(), &best.into()));
    assert!(
        first.err.contains(&format!("cc-threads under orthrus: {best} chosen, by short runs: ")),
        "{}",
        first.err
    );
    // What is measured is what it is if it is told so many.
    let told = on(&folder, &line.replace("auto", &best.to_string()), &haswell()).json();
    assert_eq!(told["throughput_per_s"], summary["throughput_per_s"]);
    assert!(told["cc_threads_chosen"].is_null());
}

/// The number of these threads is an axis like any other, on which `auto` is a value.
#[test]
fn how_many_threads_do_concurrency_control_is_an_axis() {
    let folder = fresh_folder("simulated-division-axis");
    let text = "workload = 'micro'\n[base]\nsystem = 'orthrus'\nrecords = 5000\n[axes]\ncc-threads = [1, 2, 'auto', 4]";
    fs::write(folder.join("axis.toml"), text).expect("an experiment");
    let line = "sweep axis.toml --workers 4 --warmup 20us --duration 200us --repeat 1 --out out --json";
    let ran = on(&folder, line, &haswell());
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let swept = ran.json();
    let points = swept["points"].as_array().expect("points");
    let at: Vec<&str> =
        points.iter().map(|point| point["at"]["cc-threads"].as_str().expect("a value")).collect();
    assert_eq!(at, ["1", "2", "auto"], "of four workers one executes at least");
    assert!(
        swept["left_out"][0]["why"]
            .as_str()
            .is_some_and(|why| why.starts_with("cc-threads 4: allowed: 1 to 3"))
    );
    let of = |point: usize| points[point]["summary"]["cc_threads"].as_u64().expect("a count");
    assert_eq!((of(0), of(1)), (1, 2));
    let chosen = &points[2]["summary"]["cc_threads_chosen"];
    assert_eq!(chosen["cc_threads"].as_u64(), Some(of(2)));
    assert!(chosen["tried"].as_array().is_some_and(|tried| tried.len() >= 2), "{chosen}");
    let report = fs::read_to_string(folder.join("out/report.html")).expect("a report");
    assert!(report.contains("cc-threads"), "the axis");
    assert_eq!(
        report.matches("<h2>Threads for concurrency control").count(),
        1,
        "a table of what was chosen"
    );
}

/// Of a latch that is not fair one worker after the other may have the most, and must not be counted for a time of its own.
#[test]
fn workers_that_take_turns_for_long_commit_no_more_than_one() {
    let folder = fresh_folder("simulated-turns");
    let throughput = |workers| {
        let line = format!(
            "run micro --records 2000 --writes all --architecture partitioned-serial --partitions 1 --workers {workers} \
             --warmup 1ms --duration 1ms --repeat 1 --json"
        );
        on(&folder, &line, &machine("nehalem-ex-4x8.toml")).json()["throughput_per_s"]
            .as_f64()
            .expect("a number")
    };
    let (one, sixteen) = (throughput(1), throughput(16));
    assert!(sixteen < 1.1 * one, "{sixteen} and {one}");
}

/// Of 64 cores that do nothing but read a row, those who share a counter wait for it; a counter in hardware is only there.
#[test]
fn timestamps_cost_what_they_share() {
    let folder = fresh_folder("simulated-timestamps");
    let line = "run ycsb --records 5000 --accesses 1 --reads 100 --protocol occ --prefetch off --warmup 20us --duration 100us \
                --repeat 1 --json --timestamps";
    let throughput = |way: &str| {
        let ran = on(&folder, &format!("{line} {way} --workers 64"), &machine("graphite-mesh-64.toml"));
        ran.json()["throughput_per_s"].as_f64().unwrap_or_else(|| panic!("{way}: {}", ran.err))
    };
    let ways = ["mutex", "atomic", "batch-8", "batch-16", "hardware-counter", "clock"].map(throughput);
    println!("{ways:?}");
    assert!(ways[..4].is_sorted() && ways[3] < ways[5], "{ways:?}");
    assert!(ways[4] > 2.0 * ways[1], "{ways:?}");
    let ran =
        run(&folder, &format!("{line} hardware-counter --workers 2").split_whitespace().collect::<Vec<_>>());
    assert_eq!(ran.code, Some(2), "{}", ran.err);
    assert!(ran.err.contains("timestamps hardware-counter: allowed: mutex, atomic"), "{}", ran.err);
}

#[test]
fn a_comparison_says_that_it_is_simulated() {
    let folder = fresh_folder("simulated-comparison");
    let ran = on(&folder, &format!("compare micro {SHORT} --workers 4 --out here"), &haswell());
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(ran.out.contains("shared-everything") && ran.out.contains("dora"), "{}", ran.out);
    let report = fs::read_to_string(folder.join("here/report.html")).expect("a report");
    assert!(report.contains("haswell-ex-4x18 (simulated)"), "the report says where");
    assert!(ran.out.contains("simulated"), "{}", ran.out);
}

#[test]
fn histories_of_simulated_runs_are_judged() {
    let folder = fresh_folder("simulated-checks");
    for pair in systems(&folder) {
        let (architecture, protocol) = pair.split_once(' ').expect("two names");
        let line = format!(
            "check micro --records 100 --writes 50 --transactions 2000 --workers 20 --architecture {architecture} \
             --protocol {protocol}"
        );
        let ran = on(&folder, &line, &haswell());
        assert_eq!(ran.code, Some(0), "{pair}\n{}\n{}", ran.out, ran.err);
    }
    let line =
        "check micro --records 100 --writes 50 --transactions 4000 --workers 20 --canary no-read-validation";
    let ran = on(&folder, line, &haswell());
    assert_eq!(ran.code, Some(1), "{}", ran.out);
    assert!(ran.out.ends_with("rejected, as a canary must be\n"), "{}", ran.out);
}

/// As on the hardware; without taking any simulated time.
#[test]
fn simulated_runs_are_audited() {
    let folder = fresh_folder("simulated-audits");
    let audited = |check: &Value| check["name"] == "audit" && check["passed"] == true;
    for pair in systems(&folder) {
        let (architecture, protocol) = pair.split_once(' ').expect("two names");
        let line = format!(
            "run tpcc --warehouses 4 --items 100 --customers 20 --workers 8 --architecture {architecture} --protocol \
             {protocol} --duration 300us --repeat 2 --json"
        );
        let ran = on(&folder, &line, &haswell());
        assert_eq!(ran.code, Some(0), "{pair}\n{}\n{}", ran.out, ran.err);
        let summary = ran.json();
        assert!(summary["checks"].as_array().expect("checks").iter().any(audited), "{pair}: {summary}");
    }
    fs::write(
        folder.join("one.toml"),
        "workload = 'smallbank'\n[base]\ncustomers = 2000\n[axes]\nprotocol = ['silo']",
    )
    .expect("an experiment");
    let ran = on(&folder, "sweep one.toml --workers 8 --duration 300us --out out --json", &haswell());
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let points = ran.json();
    assert!(
        points["points"][0]["summary"]["checks"].as_array().expect("checks").iter().any(audited),
        "{points}"
    );
}

/// Whose requests find the ring to another thread full, while books are checked, lets that thread go on.
#[test]
fn an_audit_with_many_transactions_in_flight_ends() {
    let folder = fresh_folder("simulated-audit-of-many");
    let line = "run tpcc --architecture orthrus --workers 2 --in-flight 16 --items 10 --customers 10 --warmup 100us \
                --duration 1ms --repeat 1 --sample 0 --json";
    let ran = on(&folder, line, &haswell());
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(ran.json()["commits"].as_u64() > Some(0), "{}", ran.out);
}

/// What is checked where nothing is typed but the system: transactions that conflict, under every kind of it.
#[test]
fn every_workload_conflicts_by_default() {
    let folder = fresh_folder("simulated-conflicts");
    for workload in
        ["micro", "ycsb", "smallbank", "tatp", "tpcc", "membership", "ranges", "list-append", "growing-lists"]
    {
        for system in
            ["shared-everything --protocol silo", "delegation --protocol no-wait", "partitioned-serial"]
        {
            let line = format!("check {workload} --workers 8 --transactions 2000 --architecture {system}");
            let ran = on(&folder, &line, &haswell());
            assert_eq!(ran.code, Some(0), "{line}\n{}\n{}", ran.out, ran.err);
            assert!(
                ran.out.contains("dependencies between transactions of different workers: "),
                "{}",
                ran.out
            );
        }
    }
}

/// The most memory of the host, in KiB, that a run takes which ends well.
#[cfg(target_os = "linux")]
fn peak_kib(folder: &Path, line: &str) -> u64 {
    let words = line.split(' ').chain(["--on"]).map(str::to_owned).chain([haswell()]);
    let mut child = trireme(folder).args(words).stdout(Stdio::null()).spawn().expect("it starts");
    let status = format!("/proc/{}/status", child.id());
    let mut peak_kib = 0;
    while child.try_wait().expect("it can be asked").is_none() {
        let text = fs::read_to_string(&status).unwrap_or_default();
        let peak = text.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB"));
        peak_kib = peak.and_then(|kib| kib.trim().parse().ok()).unwrap_or(0).max(peak_kib);
        thread::sleep(Duration::from_millis(5));
    }
    assert!(child.wait().expect("it ends").success());
    peak_kib
}

/// Nobody looks at what is in YCSB's rows, so a simulated machine charges for them and stores their heads only.
#[cfg(target_os = "linux")]
#[test]
fn a_large_table_takes_little_of_the_host() {
    const ROWS: u64 = 400_000;
    let folder = fresh_folder("simulated-large");
    let line = format!(
        "run ycsb --records {ROWS} --warmup 20us --duration 100us --repeat 1 --protocol silo --workers 8 --json"
    );
    let peak_kib = peak_kib(&folder, &line);
    assert!(peak_kib > 10_000 && peak_kib < ROWS / 2, "{peak_kib} KiB of the host for {ROWS} KB of rows");
}

/// A partition of TPC-C has 28 regions of memory: with a huge page each, these would take 3.6 GB.
#[cfg(target_os = "linux")]
#[test]
fn many_small_partitions_take_little_of_the_host() {
    let folder = fresh_folder("simulated-partitions");
    let line = "run tpcc --warehouses 64 --items 1000 --customers 10 --partitions 64 --workers 64 \
                --architecture partitioned-serial --warmup 20us --duration 100us --repeat 1 --json";
    let peak_kib = peak_kib(&folder, line);
    assert!(peak_kib > 50_000 && peak_kib < 500_000, "{peak_kib} KiB");
}

/// What one point inserts, the next one must not find.
#[test]
fn a_sweep_that_was_cut_comes_to_the_same_numbers() {
    let folder = fresh_folder("simulated-sweep");
    let text = "workload = 'tpcc'\n[base]\nwarehouses = 4\nitems = 100\ncustomers = 10\nmix = 'new-order'\n\
                [axes]\nsystem = ['shared-everything silo', 'partitioned-serial']\nworkers = [1, 4]";
    fs::write(folder.join("four.toml"), text).expect("an experiment");
    let sweep = |out: &str| {
        let line = format!("sweep four.toml --warmup 100us --duration 1ms --repeat 2 --out {out}");
        let ran = on(&folder, &line, &haswell());
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        fs::read_to_string(folder.join(out).join("points.jsonl")).expect("a journal")
    };
    let whole = sweep("whole");
    let lines: Vec<&str> = whole.split_inclusive('\n').collect();
    assert_eq!(lines.len(), 5, "the header and four points");
    for kept in 1..4 {
        let out = format!("cut-{kept}");
        fs::create_dir(folder.join(&out)).expect("a folder");
        fs::write(folder.join(&out).join("points.jsonl"), lines[..=kept].concat()).expect("cut");
        assert_eq!(sweep(&out), whole, "{kept} of 4 points were there");
    }
}

/// Repetitions run side by side on as many cores as the host has.
#[cfg(target_os = "linux")]
#[test]
fn a_host_of_one_core_comes_to_the_same_numbers() {
    let folder = fresh_folder("simulated-one-core");
    let compared = |out: &str| {
        let line = format!(
            "compare tpcc --warehouses 2 --items 100 --customers 10 --workers 4 --warmup 20us --duration 200us --repeat 3 \
             --json --out {out}"
        );
        let ran = on(&folder, &line, &haswell());
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        ran
    };
    let all = compared("all");
    // A worker is bound to a core, and so is the process that it starts.
    let one = hardware::worker::run(1, |_| compared("one")).remove(0);
    let environment = fs::read_to_string(folder.join("one/environment.json")).expect("an environment");
    let environment: Value = serde_json::from_str(&environment).expect("JSON");
    assert_eq!(environment["cores"], 1);
    assert_eq!(one.out, all.out);
}

#[test]
fn a_file_is_told_how_far_it_is() {
    let folder = fresh_folder("simulated-progress");
    let line = "run micro --records 5000 --protocol silo --workers 72 --warmup 1ms --duration 9ms --repeat 1 --progress";
    let ran = on(&folder, line, &haswell());
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let told = ran.err.lines().find(|line| line.starts_with("run ")).unwrap_or_default();
    assert!(told.contains(" of 1: simulated ") && told.contains(" of 10,000 us, "), "{}", ran.err);
    assert!(told.contains(" transactions, ") && told.ends_with(" left"), "{}", ran.err);
}

#[test]
fn meshes_are_machines_too() {
    let folder = fresh_folder("simulated-mesh");
    let line = format!("run micro {SHORT} --protocol silo --json");
    let ran = on(&folder, &line, &machine("graphite-mesh-64.toml"));
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let summary = ran.json();
    assert_eq!(summary["workers"], 64, "all its cores, if nothing else is said");
}

#[test]
fn what_is_no_machine_is_refused() {
    let folder = fresh_folder("no-machines");
    let text = fs::read_to_string(haswell()).expect("a machine");
    let spoilt = |name: &str, from: &str, to: &str| -> PathBuf {
        assert!(text.contains(from), "{from}");
        let file = folder.join(name);
        fs::write(&file, text.replacen(from, to, 1)).expect("written");
        file
    };
    let none = folder.join("none.toml");
    for (file, said) in [
        (none, "hardware, or a machine file"),
        (spoilt("a.toml", "cores = 72", ""), "a.toml: cores: is missing"),
        (spoilt("b.toml", "cores = 72", "cores = 71"), "b.toml: cores = 71: is no multiple of the 4 sockets"),
        (spoilt("c.toml", "name = ", "nam = "), "c.toml: name: is missing"),
        (spoilt("d.toml", "[core]", "[core]\nspeed = 3"), "core.speed"),
        (spoilt("e.toml", "[core]", "[core"), "e.toml: no machine file"),
    ] {
        let ran = on(&folder, "run micro --protocol silo", &file.display().to_string());
        assert_eq!(ran.code, Some(2), "{}: {}", file.display(), ran.out);
        assert!(ran.err.contains(said), "{}: {}", file.display(), ran.err);
    }
    let ran = on(&folder, "run micro --protocol silo --workers 73", &haswell());
    assert_eq!(ran.code, Some(2));
    assert!(
        ran.err.contains("--workers 73: allowed: 1 <= workers <= 72, the cores of haswell-ex-4x18"),
        "{}",
        ran.err
    );
}

/// A project's folder with one figure of a paper, small.
fn project(name: &str) -> Scratch {
    let folder = fresh_folder(name);
    fs::create_dir_all(folder.join("experiments/trireme")).expect("made");
    fs::create_dir_all(folder.join("machines")).expect("made");
    fs::copy(haswell(), folder.join("machines/haswell-ex-4x18.toml")).expect("copied");
    let figure = "title = 'Small'\npaper = 'trireme, figure 0'\nworkload = 'micro'\nx = 'workers'\n[base]\nrecords = 5000\n\
                  warmup = '1s'\nduration = '10s'\nrepeat = 5\n[axes]\nsystem = ['shared-everything silo', \
                  'delegation silo']\nworkers = [1, 4]\n[[claims]]\nthat = 'More workers do more'\n\
                  left = { system = 'shared-everything silo', workers = 4 }\n\
                  right = { system = 'shared-everything silo', workers = 1 }\nmeasure = 'throughput'\nat_least = 1\n\
                  [[claims]]\nthat = 'More workers do less'\n\
                  left = { system = 'shared-everything silo', workers = 4 }\n\
                  right = { system = 'shared-everything silo', workers = 1 }\nmeasure = 'throughput'\nat_most = 1\n\
                  explanation = 'There is room for four.'\n";
    fs::write(folder.join("experiments/trireme/small.toml"), figure).expect("written");
    folder
}

/// A model that is off by a tenth, and says of which model that is.
fn validated(folder: &Path, fingerprint: &str) {
    let error = ModelError { value: 1.1, between_systems: 1.1, along: 1.1 };
    let errors = ModelErrors {
        model_fingerprint: fingerprint.to_owned(),
        ..ModelErrors::supposed([("throughput", error)])
    };
    fs::write(folder.join(ModelErrors::COMMITTED), errors.text()).expect("written");
}

#[test]
fn a_figure_is_reproduced_and_judged() {
    let folder = project("reproduced");
    let model = fingerprint::of_model().and_all(engine_simulated::work::estimates());
    validated(&folder, &model.to_string());
    let ran = run(&folder, &["reproduce", "trireme/small", "--json"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    for told in
        ["trireme/small: 4 points; an interrupted sweep goes on", "trireme/small, point 4 of 4: system="]
    {
        assert!(ran.err.contains(told), "{told}\n{}", ran.err);
    }
    let reproduction = ran.json();
    assert_eq!(reproduction["schema"], "trireme.reproduction/1");
    assert_eq!(reproduction["sum"]["paper"]["claims"], 2);
    assert_eq!(reproduction["sum"]["paper"]["reproduced"]["claims"], 1);
    let figure = &reproduction["figures"][0];
    assert_eq!(figure["points"].as_array().map(Vec::len), Some(4));
    assert!(figure["points"].as_array().expect("a list").iter().all(is_simulated));
    assert_eq!(figure["claims"][0]["that"], "More workers do more");
    assert_eq!(figure["claims"][0]["verdict"], "reproduced");
    assert_eq!(figure["claims"][0]["error"]["factor"], 1.1);
    assert_eq!(figure["claims"][0]["error"]["of"], "along");
    assert_eq!(figure["claims"][1]["verdict"], "not-reproduced");
    assert_eq!(figure["claims"][1]["explanation"], "There is room for four.");
    let environment = fs::read_to_string(folder.join("results/reproduce/trireme/small/environment.json"));
    let environment = environment.expect("an environment");
    assert!(
        environment.contains("\"others_share\"") && environment.contains("\"frequency_mhz\""),
        "{environment}"
    );
    let page = |name: &str| fs::read_to_string(folder.join("results/reproduce").join(name)).expect("a page");
    assert!(page("trireme/index.html").contains("Explanation: There is room for four."), "beside the claim");
    assert!(page("index.html").contains("Of 2 claims: 1 reproduced, 1 not reproduced."));
    assert!(page("index.html").contains("trireme&#x2f;small&#x2f;report.html"), "the way to the figure");
    assert!(page("trireme/small/report.html").contains("..&#x2f;..&#x2f;index.html"), "and back");
    for words in ["others share", "change how long the simulation takes", "Noise: ", "<h2>Checks"] {
        assert!(page("trireme/small/report.html").contains(words), "{words}");
    }

    // What is there is not simulated again, and is the same.
    let again = run(&folder, &["reproduce", "trireme", "--json"]);
    assert_eq!(again.json()["figures"][0]["points"], figure["points"]);
    assert!(page("trireme/small/report.html").contains("others share"), "the load of then stays");
    assert_eq!(again.err, "trireme/small: all 4 points are there already; nothing is measured again\n");
    let elsewhere = run(&folder, &["reproduce", "--all", "--out", "elsewhere", "--json"]);
    assert_eq!(elsewhere.json()["figures"][0]["points"], figure["points"], "a figure repeats bit for bit");

    // Who reads ends with the sum; and what was validated is this model or none.
    let read = run(&folder, &["reproduce", "trireme"]);
    assert!(read.out.contains("\nOf 2 claims: 1 reproduced, 1 not reproduced.\n"), "{}", read.out);
    assert!(
        read.out.contains(
            "(error validated on 1970-01-01, nowhere, with up to 1 worker; at 4 it is at least this)"
        )
    );
    // What is odd about the points is told, as by a sweep of them.
    let briefly =
        ["reproduce", "trireme", "--out", "brief", "--warmup", "1us", "--duration", "20us", "--progress"];
    let brief = run(&folder, &briefly);
    assert!(brief.out.contains("\n  warning: "), "{}", brief.out);
    assert!(brief.err.contains("4 of 4 points, the last of trireme/small; "), "{}", brief.err);
    validated(&folder, "another");
    let doubtful = run(&folder, &["reproduce", "trireme"]);
    assert!(doubtful.out.contains("\nOf 2 claims: 2 cannot be told.\n"), "{}", doubtful.out);
    assert!(
        doubtful.out.contains("by a model of unknown error: machines/validated.json is of the model another")
    );
    assert!(page("trireme/index.html").contains("So no claim about simulated points can be told."), "once");

    // The site of what is there, with the times that it was simulated with, and nothing is simulated.
    let pages = fs::read_dir(folder.join("brief")).expect("a site").count();
    let shown = run(&folder, &["reproduce", "--all", "--html", "--out", "brief"]);
    assert_eq!((shown.code, shown.err.as_str()), (Some(0), ""), "{}", shown.out);
    assert!(shown.out.ends_with("site: brief/index.html\n"), "{}", shown.out);
    assert_eq!(fs::read_dir(folder.join("brief")).expect("a site").count(), pages);

    // Of what was never simulated the site says which line does that; that line goes on in it.
    let nothing = run(&folder, &["reproduce", "--all", "--html", "--out", "new"]);
    assert_eq!(
        (nothing.code, nothing.out.as_str()),
        (
            Some(0),
            "Not run yet, and not judged: 1 figure.\nWithout --html the same line simulates them.\nsite: new/index.html\n"
        ),
        "{}",
        nothing.err
    );
    let report = || fs::read_to_string(folder.join("new/trireme/small/report.html")).expect("a page");
    assert!(
        report().contains("<code>trireme reproduce trireme/small <span class=option>--out</span> new</code>")
    );
    assert!(
        report().contains("<dt>duration</dt><dd>2ms</dd>"),
        "what that line would simulate: {}",
        report()
    );
    assert!(report().contains("not measured yet") && !report().contains("reproduced</td>"), "{}", report());
    let line = ["reproduce", "trireme/small", "--out", "new", "--warmup", "1us", "--duration", "20us"];
    assert_eq!(run(&folder, &line).code, Some(0));
    assert!(report().contains("4 of 4 points") && !report().contains("ot measured yet"), "{}", report());

    // A machine of the same name with other numbers is another machine.
    let file = folder.join("machines/haswell-ex-4x18.toml");
    let text = fs::read_to_string(&file).expect("a machine");
    fs::write(&file, text.replace("frequency_mhz = 2500", "frequency_mhz = 2600")).expect("written");
    let other = run(&folder, &["reproduce", "trireme/small"]);
    assert_eq!(other.code, Some(2), "{}", other.out);
    assert!(other.err.contains("the points are from haswell-ex-4x18"), "{}", other.err);
}

fn is_simulated(point: &Value) -> bool {
    point["summary"]["simulated"] == true && point["summary"]["machine"] == "haswell-ex-4x18"
}

#[test]
fn an_unknown_figure_is_refused_with_those_that_there_are() {
    let folder = project("no-figure");
    let words = "allowed: those in /";
    for (asked, what) in [
        (&["trireme/smal"][..], "figure trireme/smal is not there; "),
        (&[], "'trireme reproduce' needs a figure, or --all; "),
    ] {
        let refused = run(&folder, &[&["reproduce"], asked].concat());
        let Ran { code, out, err } = &refused;
        assert_eq!((*code, out.as_str()), (Some(2), ""), "{asked:?}: {err}");
        assert!(err.starts_with(&format!("error: {what}{words}")), "{err}");
        assert!(err.ends_with("/experiments: trireme/small; or all of a paper: trireme\n"), "{err}");
    }
}

#[test]
fn a_machine_is_held_against_the_one_at_hand() {
    let folder = fresh_folder("validated");
    let line = "validate --commit=errors.json micro --records 2000 --hot 2 --workers 2 --warmup 1ms --duration 20ms --repeat 2 \
                --out here --json";
    let ran = on(&folder, line, &haswell());
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let validation = ran.json();
    assert!(ran.err.contains("round 2, micro records=2000 hot=2, 2 workers\n"), "{}", ran.err);
    let rows = validation["rows"].as_array().expect("rows");
    assert!(rows.len() >= 20, "{}", ran.out);
    for row in rows {
        let (measured, simulated) = (&row["measured_per_s"], &row["simulated_per_s"]);
        assert!(measured.is_number() && simulated.as_f64() > Some(0.0), "{row}");
        assert_eq!((&row["workload"], &row["setting"]), (&"micro".into(), &"records=2000 hot=2".into()));
    }
    assert_eq!(validation["rounds"], 2);
    assert!(folder.join("here/summary.json").exists());
    // Where they come from; then each system in each round, measured and simulated.
    let path = folder.join("here/rows.jsonl");
    let lines = fs::read_to_string(&path).expect("rows");
    assert_eq!(lines.lines().count(), 1 + rows.len() * 2);
    for line in lines.lines().skip(1) {
        let both: serde_json::Value = serde_json::from_str(line).expect("rows");
        assert_eq!((&both[0]["simulated"], &both[1]["simulated"]), (&false.into(), &true.into()), "{line}");
    }

    // What a verdict is to use.
    let text = fs::read_to_string(folder.join("errors.json")).expect("errors");
    let errors = harness::validation::ModelErrors::parse(&text).expect("errors");
    let throughput = errors.of("throughput").expect("compared in each way");
    assert_eq!(Some(throughput.value), validation["errors"]["throughput"]["value"].as_f64());
    assert_eq!((errors.most_workers, errors.machine_fingerprint.len()), (2, 16));
    assert!(errors.command.starts_with("trireme validate --commit=errors.json micro"), "{}", errors.command);

    // One that was cut off goes on, and keeps what it has.
    let torn = &lines[..lines.len() - 30];
    fs::write(&path, torn).expect("torn");
    let again = on(&folder, &format!("{line} --progress"), &haswell());
    assert_eq!(again.code, Some(0), "{}", again.err);
    let all = rows.len() * 2;
    let told = format!("{all} of {all} systems, the last of round 2, micro records=2000 hot=2, 2 workers; ");
    assert!(again.err.contains(&told), "{}", again.err);
    assert_eq!(again.json()["rows"].as_array().map(Vec::len), Some(rows.len()));
    let whole = torn.rfind('\n').expect("lines") + 1;
    let kept = fs::read_to_string(&path).expect("rows");
    assert_eq!((&kept[..whole], kept.lines().count()), (&torn[..whole], lines.lines().count()));
    let other = on(&folder, &line.replace("20ms", "21ms"), &haswell());
    assert!(other.code == Some(2) && other.err.contains("measured with --duration 20ms"), "{}", other.err);

    let refused = on(&folder, "validate micro", "hardware");
    assert_eq!(refused.code, Some(2));
}

/// On the hardware each instance is a process; the error of deployments is told apart.
#[test]
fn a_deployment_is_held_against_processes_of_the_machine_at_hand() {
    let folder = fresh_folder("validated-deployment");
    // Who waits looks seldom, so that there is little to simulate however slow this build is on a busy host.
    let westmere = fs::read_to_string(machine("westmere-ex-8x10.toml")).expect("a machine");
    let seldom = folder.join("seldom.toml");
    fs::write(&seldom, westmere.replace("poll_ns = 400", "poll_ns = 20000")).expect("written");
    let line = "validate --commit=errors.json micro --records 2000 --hot 0 --operations 2 --remote 1 --workers 2 --instances 2 \
                --channel unix --warmup 1ms --duration 300ms --repeat 1 --out here --json";
    let ran = on(&folder, line, seldom.to_str().expect("a path"));
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let told = "round 1, micro records=2000 hot=0 operations=2 remote=1, 2 instances over unix, 2 workers\n";
    assert!(ran.err.contains(told), "{}", ran.err);
    let validation = ran.json();
    let rows = validation["rows"].as_array().expect("rows");
    let protocols: Vec<_> = rows.iter().map(|row| row["protocol"].as_str().expect("a name")).collect();
    assert_eq!(protocols, ["no-wait", "silo"]);
    for row in rows {
        assert_eq!((&row["kind"], &row["instances"]), (&"deployments".into(), &2.into()), "{row}");
        assert_eq!((&row["channel"], &row["workers"]), (&"unix".into(), &2.into()), "{row}");
        assert!(row["simulated_per_s"].as_f64() > Some(0.0) && row["measured_per_s"].is_number(), "{row}");
    }
    // On a busy host a process may have committed nothing in so short a time: then there is nothing to compare.
    let committed = rows.iter().filter(|row| !row["mean_ns"].is_null()).count();
    let compared = |of: &Value| of["comparisons"]["throughput"]["value"].as_u64();
    assert_eq!(compared(&validation), Some(0), "none is of one instance");
    assert_eq!(compared(&validation["deployments"]), Some(committed as u64));
    let text = fs::read_to_string(folder.join("errors.json")).expect("errors");
    let errors = ModelErrors::parse(&text).expect("errors");
    let deployments = errors.deployments.expect("they were validated");
    assert_eq!(deployments.workloads, ["micro records=2000 hot=0 operations=2 remote=1"]);
    assert_eq!(
        (deployments.deployed.as_str(), errors.workloads.len()),
        ("each instance a process of its own", 0)
    );

    // For people, from what is there; and without a channel it is refused before anything is measured.
    let again = on(&folder, line.trim_end_matches(" --json"), seldom.to_str().expect("a path"));
    assert!(again.out.contains("unix, 2 instances"), "{}", again.out);
    assert!(again.out.contains("deployments (each instance a process of its own)"), "{}", again.out);
    let refused = on(&folder, line, &haswell());
    assert_eq!(refused.code, Some(2));
    assert!(refused.err.contains("no table [channels.unix]"), "{}", refused.err);
}

#[test]
fn a_commit_is_durable_once_the_simulated_disk_has_synced_its_epoch() {
    let folder = fresh_folder("simulated-durable");
    let bank =
        "run smallbank --customers 1000 --hot-customers 100 --protocol silo --workers 4 --repeat 1 --json";
    let line = format!("{bank} --warmup 1ms --duration 4ms");
    let logged = format!("{line} --durability group --log a,b --loggers 2 --epoch 200us");
    let nehalem = machine("nehalem-ex-4x8.toml");
    let (first, second) = (on(&folder, &logged, &nehalem), on(&folder, &logged, &nehalem));
    assert_eq!(first.code, Some(0), "{}", first.err);
    assert_eq!(first.out, second.out);
    let p50 = |ran: &Ran| ran.json()["latency_ns"]["p50"].as_u64().expect("some latencies");
    // Half an epoch on average until it ends, then a sync of 100 us at least.
    let durable = p50(&first);
    assert!((200_000..1_000_000).contains(&durable), "{durable} ns");
    assert!(p50(&on(&folder, &line, &nehalem)) < 50_000);
    assert!(first.json()["log"]["syncs"].as_u64() > Some(10), "{}", first.out);
    assert!(!folder.join("a").exists(), "the simulated disk is in memory");
    let refused = on(&folder, &logged, &haswell());
    assert_eq!(refused.code, Some(2));
    assert!(refused.err.contains("its file has no table [disk]"), "{}", refused.err);
}

#[test]
fn epochs_follow_the_disk_where_they_are_told_to() {
    let folder = fresh_folder("simulated-following");
    let bank =
        "run smallbank --customers 1000 --hot-customers 100 --protocol silo --workers 4 --repeat 1 --json";
    let logged = format!("{bank} --warmup 1ms --duration 4ms --durability group --log a --epoch 10us");
    let of = |follow: &str| {
        let ran =
            on(&folder, &format!("{logged} --epochs-follow-disk {follow}"), &machine("nehalem-ex-4x8.toml"));
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        let json = ran.json();
        let number = |value: &Value| value.as_u64().expect("a number");
        (
            number(&json["log"]["longest_sync_ns"]),
            number(&json["latency_ns"]["p99"]),
            number(&json["commits"]),
            number(&json["log"]["durable_epoch"]),
        )
    };
    let (sync, p99, commits, epochs) = of("on");
    // A commit waits until its epoch ends, and until a sync that has begun before and its own have ended; besides, for the logger's rounds.
    assert!(p99 <= 2 * sync + 2 * sync + 100_000, "p99 of {p99} ns, with syncs of {sync} ns at most");
    assert!(commits > 100, "{commits}");
    let (.., epochs_of_the_interval) = of("off");
    assert!(
        2 * epochs < epochs_of_the_interval,
        "{epochs} epochs that follow, {epochs_of_the_interval} of 10 us"
    );
}
