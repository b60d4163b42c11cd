//! What was logged is recovered: after a run, after `kill -9`, after simulated crashes, and by newer programs.

mod common;

use common::{Scratch, fresh_folder, run, run_until, trireme};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::thread::sleep;
use std::time::Duration;

/// Systems of every architecture.
const SYSTEMS: [(&str, &str); 8] = [
    ("shared-everything", "silo"),
    ("shared-everything", "mocc"),
    ("shared-everything", "no-wait"),
    ("shared-everything", "tictoc"),
    ("shared-everything", "hekaton"),
    ("partitioned-serial", "none"),
    ("delegation", "dl-detect"),
    ("dora", "wait-die"),
];

/// TPC-C, small enough to be loaded at once.
const TPCC: [&str; 6] = ["tpcc", "--warehouses", "2", "--items", "200", "--customers"];

/// A run of some hundred milliseconds.
const SHORT: [&str; 6] = ["--warmup", "10ms", "--duration", "150ms", "--repeat", "2"];

fn tpcc<'a>(system: (&'a str, &'a str), more: &[&'a str]) -> Vec<&'a str> {
    let system = ["30", "--workers", "2", "--architecture", system.0, "--protocol", system.1];
    [&["run"], &TPCC[..], &system, more].concat()
}

fn checks_passed(recovered: &Value) -> bool {
    let checks = recovered["checks"].as_array().expect("a list");
    checks.len() >= 2 && checks.iter().all(|check| check["passed"] == true)
}

#[test]
fn what_a_run_has_logged_is_recovered_and_consistent() {
    for (number, system) in SYSTEMS.into_iter().enumerate() {
        let level = ["buffered", "group", "sync"][number % 3];
        let compress = ["on", "off"][number % 2];
        let loggers = (number % 3 + 1).to_string();
        let more = [
            "--durability",
            level,
            "--log",
            "log",
            "--loggers",
            &loggers,
            "--compress",
            compress,
            "--epoch",
            "5ms",
            "--repeat",
            "2",
        ];
        // What commits counts once it is durable, and what was logged before the interval is there, too.
        let is_counted = |told: &Value| told["commits"].as_u64() > Some(0);
        let (folder, measured) = run_until("recovered", &tpcc(system, &more), is_counted);
        assert_eq!(measured["durability"], level, "{system:?}");
        let (bytes, syncs) = (measured["log"]["bytes"].as_u64(), measured["log"]["syncs"].as_u64());
        assert!(bytes > Some(0) && (syncs > Some(0)) == (level != "buffered"), "{system:?}: {measured}");

        // Who only reads writes nothing, not even a file to lock.
        fs::remove_file(folder.join("log/LOCK")).expect("whoever logs has locked it");
        let there = files_of(&folder.join("log"), "");
        let inspected = run(&folder, &["log", "inspect", "log", "--json"]).json();
        let files = inspected["files"].as_array().expect("a list");
        assert_eq!(files.len().to_string(), loggers, "{system:?}");
        let logged: u64 = files.iter().map(|file| file["transactions"].as_u64().expect("a number")).sum();
        assert!(files.iter().all(|file| file["wrong"].is_null()), "{inspected}");

        let recovered = run(&folder, &["recover", "log", "--json"]);
        assert_eq!(recovered.code, Some(0), "{system:?}: {}", recovered.out);
        let recovered = recovered.json();
        assert!(checks_passed(&recovered), "{recovered}");
        assert_eq!(
            (recovered["transactions"].as_u64(), recovered["left_out"].as_u64()),
            (Some(logged), Some(0))
        );
        assert_eq!(files_of(&folder.join("log"), ""), there, "{system:?}");
    }
}

/// The names of a folder's files that begin so.
fn files_of(folder: &Path, prefix: &str) -> Vec<String> {
    let files = fs::read_dir(folder).expect("a folder");
    let names = files.map(|file| file.expect("a file").file_name().into_string().expect("text"));
    let mut names: Vec<String> = names.filter(|name| name.starts_with(prefix)).collect();
    names.sort();
    names
}

/// A run that has taken a checkpoint: where it was, and what it says of its log.
fn checkpointed(arguments: &[&str]) -> (Scratch, Value) {
    let has_one = |told: &Value| told["log"]["checkpoints"].as_u64() > Some(0);
    let (folder, told) = run_until("checkpointed", &[arguments, &["--repeat", "1"]].concat(), has_one);
    (folder, told["log"].clone())
}

#[test]
fn a_checkpoint_takes_the_place_of_the_log_before_it() {
    let mut went = 0;
    for (number, system) in SYSTEMS.into_iter().enumerate() {
        let level = ["group", "buffered", "sync"][number % 3];
        let compress = ["on", "off"][number % 2];
        let loggers = (number % 2 + 1).to_string();
        let more = [
            "--durability",
            level,
            "--log",
            "log",
            "--loggers",
            &loggers,
            "--compress",
            compress,
            "--epoch",
            "2ms",
            "--checkpoint-every",
            "5ms",
        ];
        let (folder, log) = checkpointed(&tpcc(system, &more));
        let last = &log["last_checkpoint"];
        assert!(last["rows"].as_u64() > Some(1000) && last["took_ns"].as_u64() > Some(0), "{log}");

        let inspected = run(&folder, &["log", "inspect", "log", "--json"]).json();
        let (rows, files) = (&inspected["checkpoint_files"], &inspected["files"]);
        let rows = rows.as_array().expect("a list");
        assert_eq!(
            rows.iter().map(|file| file["rows"].as_u64().expect("a number")).sum::<u64>(),
            last["rows"]
        );
        assert_eq!(files_of(&folder.join("log"), "checkpoint-").len(), rows.len(), "{inspected}");
        // What was before the checkpoint is gone, and what is told is what is there.
        let files = files.as_array().expect("a list");
        assert_eq!(files_of(&folder.join("log"), "log-").len(), files.len(), "{inspected}");
        went += usize::from(files.iter().all(|file| file["segment"].as_u64() > Some(0)));
        assert!(files.iter().chain(rows).all(|file| file["wrong"].is_null()), "{inspected}");

        let recovered = run(&folder, &["recover", "log", "--json"]);
        assert_eq!(recovered.code, Some(0), "{system:?}: {}", recovered.out);
        let recovered = recovered.json();
        assert!(checks_passed(&recovered), "{recovered}");
        assert_eq!(recovered["checkpoint"]["rows"], last["rows"], "{system:?}");
    }
    // A logger that had written nothing yet goes on with its first file.
    assert!(went > 0, "no log has become shorter");
}

#[test]
fn a_corrupt_checkpoint_is_refused_by_file_and_byte_and_cannot_be_salvaged() {
    let more = ["--durability", "group", "--log", "log", "--epoch", "2ms", "--checkpoint-every", "5ms"];
    let (folder, _) = checkpointed(&tpcc(SYSTEMS[0], &more));
    let names = files_of(&folder.join("log"), "checkpoint-");
    let name = names.first().expect("there was time for one");
    let mut bytes = fs::read(folder.join("log").join(name)).expect("a file of the checkpoint");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 4;
    fs::write(folder.join("log").join(name), bytes).expect("written");
    for salvage in [&[][..], &["--salvage"]] {
        let ran = run(&folder, &[&["recover", "log"], salvage].concat());
        assert_eq!(ran.code, Some(1), "{}", ran.out);
        assert!(ran.err.contains(&format!("the log is corrupt: file log/{name}, byte ")), "{}", ran.err);
    }
    let inspected = run(&folder, &["log", "inspect", "log"]);
    assert!(inspected.out.contains(&format!("log/{name}, byte ")), "{}", inspected.out);
}

/// Whether more has been written of a log than a file's head: its files are zeroed ahead of that.
fn has_entries(log: &Path) -> bool {
    let written = |name: &String| {
        fs::read(log.join(name)).is_ok_and(|bytes| bytes.iter().skip(4096).any(|byte| *byte != 0))
    };
    files_of(log, "log-").iter().any(written)
}

/// Kills a run some time after its log's manifest says `until` and something was logged, and says what is recovered of it, which is consistent.
fn kill_and_recover(folder: &Path, arguments: &[&str], until: &str, kill: usize) -> Value {
    let mut child = trireme(folder)
        .args(arguments)
        .stdout(Stdio::null())
        .stderr(fs::File::create(folder.join("told")).expect("a file"))
        .spawn()
        .expect("the binary runs");
    let has_begun =
        || fs::read_to_string(folder.join("log/MANIFEST")).is_ok_and(|manifest| manifest.contains(until));
    while !(has_begun() && has_entries(&folder.join("log"))) {
        let told = || fs::read_to_string(folder.join("told")).expect("text");
        let has_ended = child.try_wait().expect("it can be asked").is_some();
        assert!(!has_ended, "{arguments:?} has ended: {}", told());
        sleep(Duration::from_millis(1));
    }
    sleep(Duration::from_millis(50 + kill as u64 * 37 % 300));
    child.kill().expect("it runs");
    child.wait().expect("it was killed");
    let ran = run(folder, &["recover", "log", "--json"]);
    assert_eq!(ran.code, Some(0), "{arguments:?}: {}{}", ran.out, ran.err);
    assert!(checks_passed(&ran.json()), "{arguments:?}: {}", ran.out);
    ran.json()
}

/// How often processes are killed: as `TRIREME_KILLS` says.
fn kills(by_default: usize) -> usize {
    std::env::var("TRIREME_KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(by_default)
}

/// Two-phase commit is cut off anywhere: a transaction of two instances is there at both, or at none.
#[test]
fn what_deployments_log_survives_the_end_of_the_process() {
    let mut recovered_transactions = 0;
    for kill in 0..kills(4) {
        let folder = fresh_folder("killed");
        let system = [("shared-everything", "silo"), ("shared-everything", "no-wait")][kill % 2];
        let level = ["group", "buffered", "sync"][kill / 2 % 3];
        let loggers = (kill % 3 + 1).to_string();
        let channel = ["shared-memory", "unix", "tcp"][kill % 3];
        let more = ["--instances", "2", "--channel", channel, "--mix", "new-order-payment"];
        let more = [&more[..], &["--remote-payments", "60", "--remote-items", "20"]].concat();
        let log = ["--durability", level, "--log", "log", "--loggers", &loggers, "--epoch", "3ms"];
        let more = [&more[..], &log, &["--duration", "60s"]].concat();
        let told = kill_and_recover(&folder, &tpcc(system, &more), "", kill);
        recovered_transactions += told["transactions"].as_u64().expect("a number");
    }
    assert!(recovered_transactions > 0, "nothing was logged before any of the ends");
}

/// As often as `TRIREME_KILLS` says, once for each system by default.
#[test]
fn what_was_logged_survives_the_end_of_the_process() {
    let (mut recovered_transactions, mut recovered_checkpoints) = (0, 0);
    for kill in 0..kills(SYSTEMS.len()) {
        let (folder, system) = (fresh_folder("killed"), SYSTEMS[kill % SYSTEMS.len()]);
        let level = ["group", "buffered", "sync"][kill / SYSTEMS.len() % 3];
        let loggers = (kill % 3 + 1).to_string();
        let every = ["never", "5ms"][(kill + kill / SYSTEMS.len()) % 2];
        let more = [
            "--durability",
            level,
            "--log",
            "log",
            "--loggers",
            &loggers,
            "--epoch",
            "3ms",
            "--checkpoint-every",
            every,
            "--duration",
            "60s",
        ];
        let until = if every == "never" { "" } else { "\"checkpoint\"" };
        let told = kill_and_recover(&folder, &tpcc(system, &more), until, kill);
        recovered_transactions += told["transactions"].as_u64().expect("a number");
        recovered_checkpoints += u64::from(!told["checkpoint"].is_null());
    }
    assert!(recovered_transactions > 0, "nothing was logged before any of the ends");
    assert!(recovered_checkpoints > 0, "no checkpoint was taken before any of the ends");
}

#[test]
fn crashes_at_ten_thousand_points_lose_nothing_that_was_acknowledged() {
    let folder = fresh_folder("crashes");
    let ran = run(&folder, &["crash", "--runs", "300", "--json"]);
    assert_eq!(ran.code, Some(0), "{}", ran.out);
    let crashed = ran.json();
    for (number, least) in [
        ("points", 10_000),
        ("with_acknowledged", 5_000),
        ("with_left_out", 1_000),
        ("flips_noticed", 500),
        ("failed_disks", 5),
        ("checkpoints", 30),
        ("with_checkpoint", 100),
    ] {
        assert!(crashed[number].as_u64() >= Some(least), "{number}\n{}", ran.out);
    }
    assert!(crashed["systems"].as_object().expect("by name").len() >= 20, "{}", ran.out);
}

#[test]
fn a_step_left_out_of_logging_or_recovery_is_found_and_its_seed_replays_it() {
    for canary in [
        "publish-before-sync",
        "one-epoch-too-many",
        "unchecked-checksum",
        "forgets-a-delete",
        "undurable-checkpoint",
        "unsynced-recovery",
    ] {
        let folder = fresh_folder("canary");
        let crash = |more: &[&str]| run(&folder, &[&["crash", "--canary", canary, "--json"], more].concat());
        let ran = crash(&["--runs", "200"]);
        assert_eq!(ran.code, Some(1), "{canary}: {}", ran.out);
        let find = ran.json()["find"].clone();
        let seed = find["plan"]["seed"].to_string();
        assert_eq!(crash(&["--runs", "1", "--seed", &seed]).json()["find"], find, "{canary}");
    }
}

/// Deployments are one in two of the runs of systems that have them.
fn crash_deployed(protocol: &str, more: &[&str]) -> common::Ran {
    let folder = fresh_folder("deployed");
    let of = ["crash", "--architecture", "shared-everything", "--protocol", protocol, "--json"];
    run(&folder, &[&of[..], more].concat())
}

/// Whether something was found, by what was recovered and not by a panic of ours.
fn is_judged(ran: &common::Ran) -> bool {
    let find = &ran.json()["find"];
    find.is_object() && find["point"] != "a panic"
}

#[test]
fn crashes_of_deployments_leave_no_transaction_in_part() {
    for protocol in ["no-wait", "silo"] {
        let ran = crash_deployed(protocol, &["--runs", "60"]);
        assert_eq!(ran.code, Some(0), "{protocol}: {}", ran.out);
        let crashed = ran.json();
        for (number, least) in [("deployed", 20), ("with_acknowledged", 500), ("with_left_out", 100)] {
            assert!(crashed[number].as_u64() >= Some(least), "{number}\n{}", ran.out);
        }
    }
}

#[test]
fn branches_that_are_logged_in_epochs_of_their_own_are_found() {
    for protocol in ["no-wait", "silo"] {
        let ran = crash_deployed(protocol, &["--runs", "200", "--canary", "branch-epochs"]);
        assert_eq!(ran.code, Some(1), "{protocol}: {}", ran.out);
        assert!(is_judged(&ran), "{protocol}: {}", ran.out);
    }
}

/// One node dies, or what is sent is lost, while the others go on.
#[test]
fn nodes_that_die_and_channels_that_fail_leave_no_transaction_in_part() {
    for protocol in ["no-wait", "silo"] {
        for (scenario, counts) in [
            (&["--kill", "node"][..], &[("killed_nodes", 20), ("lost", 20), ("with_acknowledged", 50)][..]),
            (&["--channel-faults"], &[("channel_faults", 50), ("lost", 15)]),
            (&["--kill", "node", "--channel-faults"], &[("killed_nodes", 10), ("channel_faults", 30)]),
        ] {
            let ran = crash_deployed(protocol, &[scenario, &["--runs", "50"]].concat());
            assert_eq!(ran.code, Some(0), "{protocol}: {}", ran.out);
            for (number, least) in counts {
                assert!(ran.json()[number].as_u64() >= Some(*least), "{number}\n{}", ran.out);
            }
        }
    }
}

#[test]
fn steps_of_commit_between_nodes_that_are_left_out_are_found() {
    for canary in [
        "release-before-decision",
        "decision-before-votes",
        "ids-of-its-own",
        "local-acknowledgement",
        "branch-epochs",
    ] {
        let of = ["--kill", "node", "--runs", "300", "--canary", canary];
        let ran = crash_deployed("silo", &of);
        // A transaction that commits without a vote meets an assertion of the engine before the judge.
        let is_found = is_judged(&ran) || canary == "decision-before-votes" && ran.json()["find"].is_object();
        assert!(ran.code == Some(1) && is_found, "{canary}: {}", ran.out);
    }
}

#[test]
fn a_log_of_an_earlier_program_is_recovered() {
    let folder = fresh_folder("earlier");
    let logs = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/logs");
    let kept = [
        ("version-2", 433, None),
        ("version-2-compressed", 106, None),
        ("version-2-checkpoint", 57, Some(180)),
    ];
    for (name, transactions, rows) in kept {
        fs::create_dir(folder.join(name)).expect("a new folder");
        for file in fs::read_dir(logs.join(name)).expect("a log") {
            let file = file.expect("a file").path();
            fs::copy(&file, folder.join(name).join(file.file_name().expect("a name"))).expect("copied");
        }
        let ran = run(&folder, &["recover", name, "--json"]);
        assert_eq!(ran.code, Some(0), "{name}: {}{}", ran.out, ran.err);
        assert!(checks_passed(&ran.json()), "{name}: {}", ran.out);
        assert_eq!(ran.json()["transactions"], transactions, "{name}");
        assert_eq!(ran.json()["checkpoint"]["rows"].as_u64(), rows, "{name}");
    }
}

#[test]
fn a_corrupt_log_is_refused_by_file_and_byte_and_salvaged_if_asked() {
    let folder = fresh_folder("corrupt");
    let logged = ["--durability", "group", "--log", "log", "--epoch", "2ms"];
    let ran = run(&folder, &tpcc(SYSTEMS[0], &[&SHORT[..], &logged].concat()));
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let file = folder.join("log/log-000000-0000-00000000.trl");
    let mut bytes = fs::read(&file).expect("a file of the log");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 4;
    fs::write(&file, bytes).expect("written");
    let ran = run(&folder, &["recover", "log"]);
    assert_eq!(ran.code, Some(1), "{}", ran.out);
    let said = "error: the log is corrupt: file log/log-000000-0000-00000000.trl, byte ";
    assert!(ran.err.contains(said) && ran.err.contains("it had been synced"), "{}", ran.err);
    let ran = run(&folder, &["recover", "log", "--salvage", "--json"]);
    assert_eq!(ran.code, Some(1), "what was lost is told by the exit code, too: {}", ran.out);
    let salvaged = ran.json();
    assert!(checks_passed(&salvaged) && salvaged["transactions"].as_u64() > Some(0), "{salvaged}");
    assert!(salvaged["lost"].as_str().expect("words").contains("it had been synced"), "{salvaged}");
}

#[test]
fn a_log_is_never_written_over_and_needs_a_level() {
    let folder = fresh_folder("refused");
    let refused = |arguments: &[&str], words: &str| {
        let ran = run(&folder, arguments);
        assert_eq!(ran.code, Some(2), "{}", ran.out);
        assert!(ran.err.contains(words), "{}", ran.err);
    };
    let micro = ["run", "micro", "--protocol", "silo", "--records", "1000"];
    let more = |more: &[&'static str]| [&micro[..], &SHORT, more].concat();
    refused(
        &more(&["--durability", "group"]),
        "--durability group needs a folder for the log: add --log FOLDER",
    );
    refused(
        &more(&["--log", "x"]),
        "--log is for a level that logs: add --durability buffered, group or sync",
    );
    refused(
        &more(&["--checkpoint-every", "1s"]),
        "--checkpoint-every is for a log: add --durability buffered, group or sync, and --log FOLDER",
    );
    refused(&more(&["--durability", "full"]), "--durability full: allowed: none, buffered, group, sync");
    refused(&["recover", "nowhere"], "folder nowhere has no log");
    let ran = run(&folder, &more(&["--durability", "group", "--log", "log", "--writes", "all"]));
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    // Before anything is loaded; nor is there a folder of results.
    let logged_to = |folders: &'static str| more(&["--durability", "group", "--log", folders]);
    let too_soon = |line: &[&str], words: &str| {
        refused(line, words);
        assert!(!run(&folder, line).err.contains("loading"), "{line:?}");
    };
    too_soon(&logged_to("log"), "folder log has a log already");
    too_soon(&logged_to("fresh,log"), "folder log has a log already");
    let compared = |folder: &'static str| {
        let compare = ["compare", "micro", "--records", "1000", "--durability", "group", "--log", folder];
        [&compare[..], &SHORT].concat()
    };
    fs::create_dir_all(folder.join("left/store-0")).expect("a folder");
    for file in fs::read_dir(folder.join("log")).expect("a log").map(|file| file.expect("a file").path()) {
        fs::copy(&file, folder.join("left/store-0").join(file.file_name().expect("a name"))).expect("copied");
    }
    too_soon(&compared("left"), "folder left/store-0 has a log already");
    // Of a log whose manifest is gone.
    fs::remove_file(folder.join("log/MANIFEST")).expect("a log has one");
    for line in [logged_to("log"), vec!["recover", "log"], vec!["log", "inspect", "log"]] {
        let ran = run(&folder, &line);
        let missing = ran.err.contains("MANIFEST, byte 0: it is missing, and log-");
        assert!(missing && !ran.err.contains("loading"), "{line:?}: {}", ran.err);
        assert_eq!(ran.code, Some(1), "{line:?}: {}", ran.err);
    }
}
