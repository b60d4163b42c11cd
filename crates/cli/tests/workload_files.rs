//! Workloads of files on the command line: the examples under every system, checked and audited; files that are something else.

mod common;

use common::{assert_nothing_wrong, fresh_folder, run, systems};
use serde_json::Value;
use std::fs;
use std::path::Path;

const EXAMPLES: [&str; 4] = ["bank", "queue", "shop", "telecom"];

/// An example travels along: there is no such file in the folder of a test.
fn example(name: &str) -> String {
    format!("examples/workloads/{name}.toml")
}

const SHORT: &[&str] = &[
    "--most-rows",
    "2000",
    "--warmup",
    "5ms",
    "--duration",
    "30ms",
    "--repeat",
    "1",
    "--workers",
    "2",
    "--json",
];

/// A bank of which `require` is what must hold of an account that pays, and whose payee gets what is `paid`.
fn bank(paid: &str) -> String {
    format!(
        r#"
[tables.accounts]
rows = 8
columns = ["balance"]
fill = {{ balance = 1000 }}
[transactions.move]
weight = 1
draw = [{{ name = "from", row_of = "accounts" }}, {{ name = "to", row_of = "accounts", other_than = "from" }}]
steps = [
    {{ update = "accounts", key = "from", set = {{ balance = "balance - 1" }} }},
    {{ update = "accounts", key = "to", set = {{ balance = "balance + {paid}" }} }},
]
[[invariants]]
sum_of = "accounts.balance"
"#
    )
}

fn written(folder: &Path, name: &str, text: &str) {
    fs::write(folder.join(name), text).expect("written");
}

fn failed(summary: &Value) -> Vec<&str> {
    let checks = summary["checks"].as_array().expect("checks").iter();
    let failed = checks.filter(|check| check["passed"] != true);
    failed.map(|check| check["name"].as_str().expect("a name")).collect()
}

#[test]
fn every_system_runs_the_examples_and_passes_their_audits() {
    let folder = fresh_folder("files-compared");
    for name in EXAMPLES {
        let ran = run(&folder, &[&["compare", &example(name)], SHORT].concat());
        assert_eq!(ran.code, Some(0), "{name}: {}", ran.err);
        let told = ran.json();
        let rows = told["rows"].as_array().expect("rows");
        let measured: Vec<&Value> = rows.iter().filter(|row| row["supported"] == true).collect();
        assert_eq!(measured.len(), systems(&folder).len(), "{name}");
        // On cores that others use, too, a system may have none of them for so short a time.
        let commit = measured.iter().filter(|row| row["commits"].as_u64().is_some_and(|commits| commits > 0));
        assert!(10 * commit.count() > 9 * measured.len(), "{name}: all but a few commit");
        for row in measured {
            let system = format!("{name}: {} {}", row["architecture"], row["protocol"]);
            assert!(failed(row).is_empty(), "{system}: {}", row["checks"]);
            assert_eq!(row["parameters"]["file"], example(name), "{system}");
            let audits = row["checks"].as_array().expect("checks").iter();
            let is_audited = audits.clone().any(|check| check["name"] == "audit");
            assert_eq!(is_audited, name == "bank", "{system}: an example with invariants has an audit");
        }
    }
}

#[test]
fn every_system_runs_the_examples_serializably() {
    let folder = fresh_folder("files-checked");
    for name in EXAMPLES {
        for system in systems(&folder) {
            let (architecture, protocol) = system.split_once(' ').expect("two names");
            let line = ["check", &example(name), "--architecture", architecture, "--protocol", protocol];
            let ran = run(&folder, &[&line[..], &["--transactions", "1000", "--most-rows", "100"]].concat());
            assert_nothing_wrong(&ran, &format!("{name} {system}"));
        }
    }
}

#[test]
fn a_canary_is_rejected_over_a_file() {
    let folder = fresh_folder("files-canary");
    let line = "check examples/workloads/queue.toml --canary no-read-validation --explore random";
    let ran = run(&folder, &line.split(' ').collect::<Vec<_>>());
    assert_eq!(ran.code, Some(1), "{}\n{}", ran.out, ran.err);
    assert!(ran.out.contains("rejected, as a canary must be"), "{}", ran.out);
}

#[test]
fn an_invariant_that_a_file_breaks_itself_is_found() {
    let folder = fresh_folder("files-audit");
    for (paid, expected) in [("1", &[][..]), ("2", &["audit"])] {
        written(&folder, "bank.toml", &bank(paid));
        let line = ["run", "bank.toml", "--protocol", "no-wait", "--save-baseline", paid];
        let ran = run(&folder, &[&line, SHORT].concat());
        assert_eq!(failed(&ran.json()), expected, "{}", ran.out);
        assert_eq!(ran.code, Some(i32::from(paid != "1")), "{}", ran.err);
        // What is wrong does not become what later results are held against.
        let is_kept = folder.join("results/baselines").join(paid).exists();
        assert_eq!(
            (is_kept, ran.err.contains("is not kept: a check has failed")),
            (paid == "1", paid != "1")
        );
    }
}

#[test]
fn a_check_says_that_it_adds_up_no_sums() {
    let folder = fresh_folder("files-not-audited");
    written(&folder, "bank.toml", &bank("2"));
    let line = "check bank.toml --protocol silo --workers 2 --transactions 1000";
    let ran = run(&folder, &line.split(' ').collect::<Vec<_>>());
    assert!(ran.out.contains("warning: a check judges reads and writes, and adds up no sums"), "{}", ran.out);
    assert!(ran.out.contains("audited by 'trireme run bank.toml"), "{}", ran.out);
}

#[test]
fn a_partition_of_one_row_draws_the_other_row_elsewhere() {
    let folder = fresh_folder("files-one-row");
    let text = bank("1")
        .replace("rows = 8", "rows = 2")
        .replace("row_of = \"accounts\"", "row_of = \"accounts\", remote = 0");
    written(&folder, "bank.toml", &text);
    for (architecture, protocol) in [("partitioned-serial", "none"), ("delegation", "no-wait")] {
        let line = ["run", "bank.toml", "--architecture", architecture, "--protocol", protocol];
        let ran = run(&folder, &[&line[..], SHORT].concat());
        assert_eq!(ran.code, Some(0), "{architecture}: {}", ran.err);
        assert!(failed(&ran.json()).is_empty(), "{architecture}: {}", ran.out);
    }
}

/// Accounts of a region lie together, and so do a payment and its lines.
const REGIONS: &str = r#"
[tables.accounts]
rows = 40
columns = ["balance"]
fill = { balance = 1000 }
partition_key = "key / 10"
[tables.payments]
rows = 0
capacity = 100_000
columns = ["from_account"]
[tables.lines]
rows = 0
capacity = 100_000
columns = ["account", "amount"]
ordered = true
partition_key = "key / 2"
[transactions.pay]
weight = 90
draw = [
    { name = "from", row_of = "accounts", remote = 0 },
    { name = "to", row_of = "accounts", remote = REMOTE, other_than = "from" },
    { name = "payment", new_key_of = "payments" },
]
steps = [
    { update = "accounts", key = "from", set = { balance = "balance - 1" } },
    { update = "accounts", key = "to", set = { balance = "balance + 1" } },
    { insert = "payments", key = "payment", set = { from_account = "from" } },
    { insert = "lines", key = "2 * payment", set = { account = "from", amount = -1 } },
    { insert = "lines", key = "2 * payment + 1", set = { account = "to", amount = 1 } },
]
[[invariants]]
sum_of = "accounts.balance"
"#;

#[test]
fn tables_with_a_partition_key_are_served_by_every_architecture() {
    let folder = fresh_folder("files-partition-key");
    let latest = "[transactions.latest]\nweight = 10\nsteps = [{ scan = 'lines', key = 0, rows = 5 }]\n";
    let text = REGIONS.replace("REMOTE", "30").replace("[[invariants]]", &format!("{latest}[[invariants]]"));
    written(&folder, "regions.toml", &text);
    // One group: all but one partition are empty.
    written(&folder, "few.toml", &text.replace("key / 10\"", "key / 40\""));
    for system in [
        "partitioned-serial none",
        "delegation no-wait",
        "dora no-wait",
        "orthrus none",
        "shared-everything silo",
    ] {
        let (architecture, protocol) = system.split_once(' ').expect("two names");
        for file in ["regions.toml", "few.toml"] {
            let line = ["check", file, "--architecture", architecture, "--protocol", protocol];
            let ran = run(&folder, &[&line[..], &["--workers", "3", "--transactions", "1000"]].concat());
            assert_nothing_wrong(&ran, &format!("{file} {system}"));
        }
    }
    for line in [
        "check regions.toml --architecture partitioned-serial --explore random --seeds 20",
        "check regions.toml --protocol no-wait --instances 2 --workers 2 --transactions 1000",
    ] {
        assert_nothing_wrong(&run(&folder, &line.split(' ').collect::<Vec<_>>()), line);
    }
}

#[test]
fn what_lies_together_needs_no_messages() {
    let folder = fresh_folder("files-together");
    let apart = REGIONS.replace("partition_key = \"key / 2\"\n", "");
    for (remote, text, is_told) in [("0", REGIONS, false), ("50", REGIONS, true), ("0", apart.as_str(), true)]
    {
        written(&folder, "regions.toml", &text.replace("REMOTE", remote));
        let line = ["run", "regions.toml", "--architecture", "delegation", "--protocol", "no-wait"];
        let ran = run(&folder, &[&line[..], SHORT].concat());
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        let told = ran.json();
        assert!(failed(&told).is_empty(), "{}", ran.out);
        assert!(told["commits"].as_u64().is_some_and(|commits| commits > 0), "{}", ran.out);
        let messages = told["messages_per_txn"].as_f64().expect("a number");
        assert_eq!(messages > 0.0, is_told, "{messages} messages a transaction, {remote} %");
    }
}

/// A row that the transaction itself has updated or inserted says which one is next.
#[test]
fn plans_know_what_a_transaction_writes_itself() {
    let folder = fresh_folder("files-own-writes");
    let text = r#"
[tables.counter]
rows = 1
columns = ["n"]
[tables.log]
rows = 0
capacity = 100_000
columns = ["prev"]
[tables.items]
rows = 1000
columns = ["v"]
[transactions.count]
weight = 1
draw = [{ name = "entry", new_key_of = "log" }]
steps = [
    { update = "counter", key = 0, set = { n = "1 - n" } },
    { read = "counter", key = 0, as = "c" },
    { update = "items", key = "c.n", set = { v = "v + 1" } },
    { insert = "log", key = "entry", set = { prev = 7 } },
    { read = "log", key = "entry", as = "l" },
    { update = "items", key = "l.prev", set = { v = "v + 1" } },
]
"#;
    written(&folder, "own.toml", text);
    let ran = run(&folder, &[&["compare", "own.toml"], SHORT].concat());
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    for system in ["partitioned-serial none", "dora no-wait", "delegation no-wait"] {
        let (architecture, protocol) = system.split_once(' ').expect("two names");
        let line = ["check", "own.toml", "--architecture", architecture, "--protocol", protocol];
        let ran = run(&folder, &[&line[..], &["--transactions", "1000"]].concat());
        assert_nothing_wrong(&ran, system);
    }
}

#[test]
fn simulated_machines_run_files_too() {
    let folder = fresh_folder("files-simulated");
    for name in EXAMPLES {
        for system in
            ["shared-everything silo", "partitioned-serial none", "delegation no-wait", "dora wait-die"]
        {
            let (architecture, protocol) = system.split_once(' ').expect("two names");
            let line = ["run", &example(name), "--architecture", architecture, "--protocol", protocol];
            let how = "--on haswell-ex-4x18 --workers 4 --most-rows 500 --warmup 50us --duration 200us --repeat 1 --json";
            let ran = run(&folder, &[&line[..], &how.split(' ').collect::<Vec<_>>()].concat());
            assert_eq!(ran.code, Some(0), "{name} {system}: {}", ran.err);
            assert!(ran.json()["commits"].as_u64().is_some_and(|commits| commits > 0), "{name} {system}");
        }
    }
}

#[test]
fn an_experiment_names_a_file_beside_it_and_goes_on_with_the_same_only() {
    let folder = fresh_folder("files-swept");
    fs::create_dir(folder.join("own")).expect("a folder");
    written(&folder, "own/bank.toml", &bank("1"));
    let experiment = "workload = 'bank.toml'\n[base]\nworkers = 1\nduration = '20ms'\nwarmup = '1ms'\nrepeat = 1\n\
                      [axes]\nprotocol = ['silo', 'no-wait']\nremote = [0, 50]\n";
    written(&folder, "own/e.toml", experiment);
    let sweep = || run(&folder, &["sweep", "own/e.toml", "--out", "there", "--json"]);
    let ran = sweep();
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let points = ran.json()["points"].as_array().expect("points").len();
    assert_eq!(points, 4);
    assert_eq!(sweep().code, Some(0), "it is all there");
    written(&folder, "own/bank.toml", &bank("1").replace("rows = 8", "rows = 9"));
    let refused = sweep();
    assert_eq!(refused.code, Some(2), "{}", refused.err);
    assert!(refused.err.contains("contents"), "{}", refused.err);
}

#[test]
fn a_run_is_repeated_with_the_same_file_only() {
    let folder = fresh_folder("files-again");
    written(&folder, "bank.toml", &bank("1"));
    let ran = run(&folder, &[&["run", "bank.toml", "--protocol", "silo", "--out", "first"], SHORT].concat());
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let again = || run(&folder, &["sweep", "first/parameters.toml", "--out", "second", "--json"]);
    assert_eq!(again().code, Some(0), "{}", again().err);
    written(&folder, "bank.toml", &bank("01"));
    let refused = again();
    assert_eq!(refused.code, Some(2));
    assert!(refused.err.starts_with("error: bank.toml: its contents are "), "{}", refused.err);
}

#[test]
fn what_is_logged_of_a_file_is_recovered() {
    let folder = fresh_folder("files-logged");
    written(&folder, "bank.toml", &bank("1"));
    let logged = ["run", "bank.toml", "--protocol", "silo", "--durability", "group", "--log", "log"];
    let ran = run(&folder, &[&logged, SHORT].concat());
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let ran = run(&folder, &["recover", "log", "--json"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let told = ran.json();
    let audit = told["checks"].as_array().expect("checks").iter().find(|check| check["name"] == "audit");
    assert_eq!(audit.expect("an audit")["passed"], true);
    written(&folder, "bank.toml", &bank("2"));
    let refused = run(&folder, &["recover", "log"]);
    assert_eq!(refused.code, Some(2), "{}", refused.err);
    assert!(refused.err.contains("its contents are"), "{}", refused.err);
}

#[test]
fn files_of_other_kinds_are_told_so() {
    let folder = fresh_folder("files-other");
    written(&folder, "e.toml", "workload = 'micro'\n[axes]\nprotocol = ['silo']\n");
    written(&folder, "m.toml", "cores = 4\n");
    written(&folder, "bank.toml", &bank("1"));
    let told = |line: &str, words: &str| {
        let ran = run(&folder, &line.split(' ').collect::<Vec<_>>());
        assert_eq!((ran.code, ran.out.as_str()), (Some(2), ""), "{line}");
        assert!(ran.err.starts_with("error: ") && ran.err.contains(words), "{line}: {}", ran.err);
        assert_eq!(ran.err.lines().count(), 1, "{line}: {}", ran.err);
    };
    told("run e.toml --protocol silo", "e.toml: line 2: unknown field `axes`");
    told("run e.toml --protocol silo", "it is an experiment, which 'trireme sweep' takes");
    told("compare m.toml", "it is a machine, which goes with --on");
    told("sweep bank.toml", "it is a workload, which 'trireme run', 'compare', 'advise' and 'check' take");
    told("run none.toml --protocol silo", "none.toml: no such file or directory\n");
    told(
        "run described --protocol silo",
        "--file '': allowed: the path of a workload's file in TOML, such as bank.toml",
    );
    told("run bank.toml --file e.toml", "--file is given twice; allowed: once");
    told("run bank.toml --protocol silo --theta 2", "--theta 2: allowed: as-written, or 0 <= theta < 1");
    told("run bank", "unknown workload 'bank'; allowed: micro, ");
    told("run bank", "or the path of a workload's file (.toml)");
}

#[test]
fn examples_are_listed() {
    let folder = fresh_folder("files-listed");
    let listed = run(&folder, &["list", "workload-files"]).out;
    EXAMPLES.iter().for_each(|name| assert!(listed.contains(&example(name)), "{listed}"));
}
