//! Advice on the command line: what it answers and lays down, that its lines measure it again, and what is refused.
//!
//! That it is what the papers found is tested in `cli/src/commands/advise.rs`.

mod common;

use common::{Ran, fresh_folder, run, trireme};
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Command, Stdio};

const BANK: &str = "examples/workloads/bank.toml";

/// Short runs: their numbers say little, and are over soon.
const SHORT: [&str; 2] = ["--effort", "0.1"];

/// Two systems on four cores of a simulated machine.
fn small(folder: &Path, workload: &str, more: &[&str]) -> Ran {
    let on =
        ["advise", workload, "--on", "nehalem-ex-4x8", "--workers", "4", "--only", "silo,partitioned-serial"];
    run(folder, &[&on[..], &SHORT, more].concat())
}

fn words(line: &str) -> Vec<&str> {
    line.split(' ').skip(1).collect()
}

#[test]
fn an_advice_is_answered_laid_down_and_measured_again() {
    let folder = fresh_folder("advised");
    let ran = small(&folder, BANK, &["--most-rows", "2000", "--json", "--out", "there"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let told = ran.json();
    let there: Value =
        serde_json::from_str(&fs::read_to_string(folder.join("there/advice.json")).expect("there"))
            .expect("JSON");
    assert_eq!(told, there);
    assert_eq!(told["schema"], "trireme.advice/1");
    assert_eq!(told["parameters"]["most-rows"], "2000");
    let on = &told["machines"][0];
    assert_eq!(
        (&on["machine"], &on["simulated"], &on["cores"]),
        (&"nehalem-ex-4x8".into(), &true.into(), &32.into())
    );
    let ranking = on["ranking"].as_array().expect("rows");
    assert_eq!(on["verdict"]["system"], ranking[0]["system"]);
    let throughputs: Vec<f64> =
        ranking.iter().map(|row| row["throughput_per_s"].as_f64().expect("a number")).collect();
    assert!(throughputs.is_sorted_by(|one, other| one >= other), "{throughputs:?}");
    assert!(ranking.iter().any(|row| row["architecture"] == "partitioned-serial"), "{ranking:?}");
    for kind in ["skew", "crossing", "cores"] {
        let axes = on["axes"].as_array().expect("axes").iter();
        let axis = axes.clone().find(|axis| axis["kind"] == kind).unwrap_or_else(|| panic!("no {kind}"));
        assert!(axis["points"].as_array().is_some_and(|points| points.len() > 1), "{axis}");
        let own = match kind {
            "skew" => "0.6",
            "crossing" => "10 % and 50 %",
            _ => "",
        };
        assert_eq!(axis["own"], own, "where the file itself lies");
    }
    // So little time is no epoch.
    assert!(
        on["durability_levels"]["why_not"].as_str().is_some_and(|why| why.contains("--effort")),
        "{}",
        on["durability_levels"]
    );
    let finding = on["finding"].as_array().expect("sentences");
    assert!(finding[0].as_str().is_some_and(|first| first.starts_with("Take ")), "{finding:?}");
    let page = fs::read_to_string(folder.join("there/report.html")).expect("a page").replace("&#x2f;", "/");
    for text in [&finding[0], &ranking[0]["command"]] {
        assert!(page.contains(text.as_str().expect("text")), "{text}");
    }
    // The page says what was checked, and how much noise there was.
    let passed = format!("<td class=\"\">passed</td><td class=\"number\">{0} of {0}</td>", ranking.len());
    for words in ["<h2>Checks on ", "<td class=\"\">nothing-held</td>", &passed, ": Noise: "] {
        assert!(page.contains(words), "{words}: {page}");
    }

    // What is simulated repeats bit for bit, by whatever command.
    let row = &ranking[0];
    let line = words(row["command"].as_str().expect("a line"));
    let again = run(&folder, &[&line[..], &["--json"]].concat());
    assert_eq!(again.code, Some(0), "{}", again.err);
    assert_eq!(again.json()["throughput_per_s"], row["throughput_per_s"]);
    let point = &on["axes"].as_array().expect("axes").last().expect("one")["points"][1]["order"][0];
    let again = run(&folder, &[&words(point["command"].as_str().expect("a line"))[..], &["--json"]].concat());
    assert_eq!(again.json()["throughput_per_s"], point["throughput_per_s"], "{}", again.err);
}

/// A machine whose disk is so slow that nothing is acknowledged while it is simulated.
fn slow_disk() -> String {
    let nehalem = concat!(env!("CARGO_MANIFEST_DIR"), "/../../machines/nehalem-ex-4x8.toml");
    let nehalem = fs::read_to_string(nehalem).expect("a machine of the repository");
    nehalem.replace("sync_us = 100", "sync_us = 10000")
}

#[test]
fn goals_are_the_files_or_the_lines() {
    let folder = fresh_folder("advised-goal");
    let text = "[tables.rows]\nrows = 500\ncolumns = ['value']\n[transactions.add]\nweight = 1\n\
                draw = [{ name = 'row', row_of = 'rows' }]\n\
                steps = [{ update = 'rows', key = 'row', set = { value = 'value + 1' } }]\n\
                [goal]\nlatency_p99_us = 0.01\ndurability = 'group'\n";
    fs::write(folder.join("rows.toml"), text).expect("written");
    // Its disk is so slow that to simulate some of its epochs takes minutes: nothing is told from nothing.
    fs::write(folder.join("slow.toml"), slow_disk()).expect("written");
    let slow = ["advise", "rows.toml", "--on", "slow.toml", "--workers", "4", "--only", "silo", "--json"];
    let ran = run(&folder, &[&slow[..], &SHORT].concat());
    assert_eq!((ran.code, ran.out.as_str()), (Some(2), ""), "{}", ran.err);
    assert!(ran.err.contains("by durability group a commit waits for its epoch"), "{}", ran.err);
    // It takes nothing from what another machine has told.
    let both = "advise rows.toml --on nehalem-ex-4x8,slow.toml --workers 2 --only silo --json --out both";
    let ran = run(&folder, &[&both.split(' ').collect::<Vec<_>>()[..], &SHORT].concat());
    assert_eq!(ran.code, Some(2), "{}", ran.err);
    let told = ran.json();
    assert_eq!(told["machines"].as_array().map(Vec::len), Some(1), "{told:#}");
    let why = told["unmeasured"][0]["why"].as_str().expect("words");
    assert!(why.contains("by durability group a commit waits for its epoch"), "{why}");
    let warnings = told["warnings"].as_array().expect("a list").iter();
    assert!(
        warnings.filter_map(Value::as_str).any(|told| told.contains("nothing was measured: ")),
        "{told:#}"
    );
    let page = fs::read_to_string(folder.join("both/report.html")).expect("a page");
    assert!(page.contains("nothing was measured: "), "{page}");
    let ran = small(&folder, "rows.toml", &["--durability", "none", "--json"]);
    let told = ran.json();
    assert_eq!(
        (&told["latency_goal_us"], &told["durability"]),
        (&0.01.into(), &"none".into()),
        "{}",
        ran.err
    );
    let on = &told["machines"][0];
    assert_eq!(on["verdict"]["meets_goal"], false);
    assert!(
        on["finding"][1]
            .as_str()
            .is_some_and(|goal| goal.starts_with("None of the final keeps the goal of 10ns"))
    );
    let ran = small(&folder, "rows.toml", &["--latency-goal", "1s", "--durability", "none"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(
        ran.out.contains("It keeps the goal of 1s.") && ran.out.contains("Durability none"),
        "{}",
        ran.out
    );
}

/// On a machine whose file has a disk, with epochs that are not longer than what is simulated.
#[test]
fn every_level_of_durability_is_weighed() {
    let folder = fresh_folder("advised-levels");
    let line = "advise micro --records 2000 --on nehalem-ex-4x8 --workers 2 --only silo --effort 0.3 --json --out there";
    let ran = run(&folder, &line.split(' ').collect::<Vec<_>>());
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let told = ran.json();
    let on = &told["machines"][0];
    let levels = &on["durability_levels"];
    assert_eq!((&levels["required"], &levels["why_not"]), (&Value::Null, &Value::Null));
    assert_eq!(levels["epoch_us"], 150.0, "one and a half times what a sync takes");
    let tried = levels["tried"].as_array().expect("levels");
    let names: Vec<&Value> = tried.iter().map(|level| &level["level"]).collect();
    assert_eq!(names, ["none", "buffered", "group", "sync"], "{levels}");
    let p99 = |level: usize| tried[level]["latency_p99_ns"].as_u64().expect("a latency");
    assert!(p99(0) < 100_000 && p99(2) > 100_000, "who waits for a sync waits for 100 us: {levels}");
    let of_none = |level: usize| tried[level]["part_of_none"].as_f64().expect("a number");
    assert!(of_none(0) == 1.0 && (1..4).all(|level| of_none(level) < 1.1), "{levels}");
    assert_eq!(on["verdict"]["durability"], levels["recommended"]);
    let page = fs::read_to_string(folder.join("there/report.html")).expect("a page");
    assert!(page.contains("Levels of durability on nehalem-ex-4x8"));

    let line = tried[2]["command"].as_str().expect("a line").replace("FOLDER", "log");
    assert!(line.contains(" --durability group --log log --epoch 150us "), "{line}");
    let again = run(&folder, &[&words(&line)[..], &["--json"]].concat());
    assert_eq!(again.json()["throughput_per_s"], tried[2]["throughput_per_s"], "{}", again.err);
}

/// Systems are compared under the level that was asked for, in epochs of the simulated disk's and runs of whole ones.
#[test]
fn a_level_that_is_asked_for_is_measured_on_a_simulated_disk() {
    let folder = fresh_folder("advised-required");
    let line = "advise micro --records 2000 --on nehalem-ex-4x8 --workers 2 --durability group --json";
    let words: Vec<&str> = line.split(' ').chain(["--only", "shared-everything silo"]).chain(SHORT).collect();
    let ran = run(&folder, &words);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let told = ran.json();
    let on = &told["machines"][0];
    assert_eq!(on["durability"], "group");
    // Nobody is left out for having committed nothing.
    let left_out = on["left_out"].as_array().expect("systems");
    assert!(left_out.iter().all(|one| one["supported"] == false), "{left_out:?}");
    let row = &on["ranking"][0];
    assert_eq!(row["system"], "shared-everything silo");
    assert!(row["latency_p99_ns"].as_u64() > Some(100_000), "who waits for a sync waits for 100 us: {row}");
    let line = row["command"].as_str().expect("a line").replace("FOLDER", "log");
    assert!(line.contains(" --durability group --log log --epoch 150us "), "{line}");
    assert!(line.contains(" --warmup 450us --duration 300us "), "of two epochs after three: {line}");
    for point in
        on["axes"].as_array().expect("axes").iter().flat_map(|axis| axis["points"].as_array()).flatten()
    {
        assert!(point["order"][0]["throughput_per_s"].as_f64() > Some(0.0), "{point}");
    }
    let again = run(&folder, &[&self::words(&line)[..], &["--json"]].concat());
    assert_eq!(again.json()["throughput_per_s"], row["throughput_per_s"], "{}", again.err);
    // Two epochs with one more or less at an end have about what there is without a log.
    let without = format!(
        "run micro --records 2000 --on nehalem-ex-4x8 --protocol silo --workers {} --warmup 50us --duration 300us --json",
        row["workers"]
    );
    let without = run(&folder, &without.split(' ').collect::<Vec<_>>()).json();
    let part = row["throughput_per_s"].as_f64().expect("a rate")
        / without["throughput_per_s"].as_f64().expect("a rate");
    assert!((0.3..1.6).contains(&part), "{part}");
}

#[test]
fn the_machine_at_hand_is_measured_and_logged() {
    let folder = fresh_folder("advised-here");
    let line = [
        "advise",
        BANK,
        "--most-rows",
        "1000",
        "--on",
        "hardware",
        "--workers",
        "2",
        "--durability",
        "group",
    ];
    let ran = run(
        &folder,
        &[&line[..], &["--only", "shared-everything silo,dora no-wait", "--json", "--out", "here"]].concat(),
    );
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let told = ran.json();
    let on = &told["machines"][0];
    assert_eq!((&on["machine"], &on["durability"]), (&"hardware".into(), &"group".into()));
    assert!(
        on["ranking"][0]["command"]
            .as_str()
            .is_some_and(|line| line.ends_with("--durability group --log FOLDER"))
    );
    // What was asked for is required, and the others are told beside it.
    let levels = &on["durability_levels"];
    assert_eq!(
        (&levels["required"], &levels["recommended"], &on["verdict"]["durability"]),
        (&"group".into(), &"group".into(), &"group".into())
    );
    let tried = levels["tried"].as_array().expect("levels");
    assert_eq!((&tried[0]["level"], &tried[1]["level"]), (&"none".into(), &"buffered".into()), "{levels}");
    let line = tried[0]["command"].as_str().expect("a line");
    assert!(!line.contains("--log") && !line.contains("--durability"), "{line}");
    let told = on["finding"].as_array().expect("sentences").iter();
    let told: Vec<&str> = told.filter_map(Value::as_str).collect();
    assert!(told.iter().any(|text| text.starts_with("Durability group is required: ")), "{told:?}");
    assert!(!folder.join("here/log").exists(), "logs of an advice go with it");
}

/// A file that breaks its own sum, at a path that a shell would split.
#[test]
fn who_fails_an_audit_is_not_recommended() {
    let folder = fresh_folder("advised-failed");
    let text = "[tables.rows]\nrows = 500\ncolumns = ['value']\n[transactions.add]\nweight = 1\n\
                draw = [{ name = 'row', row_of = 'rows', theta = 0.5 }]\n\
                steps = [{ update = 'rows', key = 'row', set = { value = 'value + 1' } }]\n\
                [[invariants]]\nsum_of = 'rows.value'\n";
    fs::write(folder.join("two words.toml"), text).expect("written");
    let ran = small(&folder, "two words.toml", &["--json"]);
    assert_eq!(ran.code, Some(1), "{}", ran.err);
    let told = ran.json();
    let on = &told["machines"][0];
    assert_eq!(on["verdict"]["is_sound"], false);
    let finding = on["finding"].as_array().expect("sentences");
    assert_eq!(finding.len(), 1, "{finding:?}");
    assert!(finding[0].as_str().is_some_and(|text| text.starts_with("Take none of them: ")), "{finding:?}");
    for row in on["ranking"].as_array().expect("rows") {
        assert_eq!(row["failed_checks"], serde_json::json!(["audit"]), "{row}");
        assert!(
            row["command"].as_str().is_some_and(|line| line.starts_with("trireme run 'two words.toml' ")),
            "{row}"
        );
    }
    assert_eq!(on["axes"], serde_json::json!([]));
    let ran = small(&folder, "two words.toml", &[]);
    assert!(ran.out.contains("FAILED: audit under "), "{}", ran.out);
    // What is wrong on one machine comes before what is missing of another.
    fs::write(folder.join("slow.toml"), slow_disk()).expect("written");
    let both = "--on nehalem-ex-4x8,slow.toml --workers 2 --only silo --durability group --json";
    let line = ["advise", "two words.toml"].into_iter().chain(both.split(' ')).chain(SHORT);
    let ran = run(&folder, &line.collect::<Vec<_>>());
    let told = ran.json();
    assert_eq!((ran.code, told["unmeasured"].as_array().map(Vec::len)), (Some(1), Some(1)), "{}", ran.err);
}

#[test]
fn an_interrupt_ends_it_with_what_there_is() {
    let folder = fresh_folder("advised-interrupted");
    let mut command = trireme(&folder);
    command.args(["advise", BANK, "--on", "hardware", "--workers", "2", "--json", "--out", "kept"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the binary runs");
    let mut told = BufReader::new(child.stderr.take().expect("piped"));
    let mut line = String::new();
    while !line.starts_with("heat 2") {
        line.clear();
        assert!(told.read_line(&mut line).expect("text") > 0, "it has ended");
    }
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().expect("there is such a command").success());
    let (mut err, mut out) = (String::new(), String::new());
    child.stdout.take().expect("piped").read_to_string(&mut out).expect("text");
    told.read_to_string(&mut err).expect("text");
    assert_eq!(child.wait().expect("it ends").code(), Some(130), "{err}");
    let told: Value = serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error}: {out}\n{err}"));
    assert_eq!(told["interrupted"], true);
    let first = told["machines"][0]["finding"][0].as_str().expect("a sentence");
    assert!(first.starts_with("Interrupted: "), "{first}");
    assert!(!told["machines"][0]["ranking"].as_array().expect("rows").is_empty());
    assert!(folder.join("kept/report.html").exists());
}

#[test]
fn what_is_not_allowed_is_refused() {
    let folder = fresh_folder("advised-refused");
    let told = |line: &str, words: &str| {
        let ran = run(&folder, &line.split(' ').collect::<Vec<_>>());
        assert_eq!((ran.code, ran.out.as_str()), (Some(2), ""), "{line}");
        assert!(ran.err.starts_with(&format!("error: {words}")), "{line}: {}", ran.err);
        assert_eq!(ran.err.lines().count(), 1, "{line}: {}", ran.err);
    };
    told("advise", "'trireme advise' needs a workload; allowed: micro, ");
    told("advise none.toml", "none.toml: no such file or directory");
    told("advise micro --latency-goal 1", "--latency-goal 1: allowed: more than 0: a number with ns, us, ms");
    told("advise micro --latency-goal 0s", "--latency-goal 0s: allowed: more than 0");
    told("advise micro --durability disk", "--durability disk: allowed: none, buffered, group, sync");
    told("advise micro --on nowhere", "--on nowhere: allowed: hardware, or a machine file, or one of ");
    told("advise micro --only hydra", "--only hydra: allowed: architectures, protocols, or systems");
    told("advise micro --workers 0", "--workers 0: allowed: a whole number, at least 1");
    told("advise micro --effort 0", "--effort 0: allowed: 0.01 to 1000");
    told("advise micro --theta 1", "unknown option --theta");
    assert!(!folder.join("results").exists(), "nothing is left of what was refused");
}
