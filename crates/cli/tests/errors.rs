//! Bad input is one clear line on standard error that names the option, the value and what is allowed; the exit code
//! is 2, and nothing is printed on standard output.

mod common;

use common::{Ran, fresh_folder, run, trireme};
use std::fs;
use std::path::{Path, PathBuf};

/// What is typed, and how the line after `error: ` begins.
const LINES: &[(&str, &str)] = &[
    (
        "frob",
        "unknown command 'frob'; allowed: run, compare, sweep, advise, diff, report, reproduce, validate, check, crash, recover, log, node, list, completions, doctor",
    ),
    ("--frob", "unknown option --frob; 'trireme --help' shows the options"),
    (
        "run",
        "'trireme run' needs a workload; allowed: micro, ycsb, smallbank, tatp, tpcc, described, or the path of a workload's file (.toml)",
    ),
    (
        "run tpcd",
        "unknown workload 'tpcd'; allowed: micro, ycsb, smallbank, tatp, tpcc, described, or the path of a workload's file (.toml)",
    ),
    (
        "compare tpcd",
        "unknown workload 'tpcd'; allowed: micro, ycsb, smallbank, tatp, tpcc, described, or the path of a workload's file (.toml)",
    ),
    ("run ycsb frob", "unknown word 'frob'; 'trireme run ycsb --help' shows the options"),
    ("run ycsb --thetta 1", "unknown option --thetta; did you mean --theta? 'trireme run ycsb --help'"),
    ("run ycsb --theta", "--theta: its value is missing; 'trireme run ycsb --help' shows the options"),
    ("run ycsb --theta 1.5", "--theta 1.5: allowed: 0 <= theta < 1"),
    ("run ycsb --theta 1", "--theta 1: allowed: 0 <= theta < 1"),
    ("run ycsb --theta -0.1", "--theta -0.1: allowed: 0 <= theta < 1"),
    ("run ycsb --theta half", "--theta half: allowed: 0 <= theta < 1"),
    ("run ycsb --records 0", "--records 0: allowed: "),
    ("run micro --writes some", "--writes some: allowed: none | all | "),
    ("run ycsb --workers 0", "--workers 0: allowed: a whole number, at least 1"),
    ("run ycsb --workers -1", "--workers -1: allowed: a whole number, at least 1"),
    ("run ycsb --protocol silo --workers 99999", "--workers 99999: allowed: 1 <= workers <= "),
    ("compare ycsb --workers 99999", "--workers 99999: allowed: 1 <= workers <= "),
    ("check ycsb --protocol silo --workers 99999", "--workers 99999: allowed: 1 <= workers <= "),
    ("run ycsb", "--protocol is missing; allowed: no-wait, "),
    (
        "run ycsb --architecture dora",
        "--protocol is missing; allowed: no-wait, 2v-no-wait, dl-detect, dreadlocks, wait-die, deadlock-free, timestamp, mvcc\n",
    ),
    (
        "run ycsb --protocol none",
        "--architecture shared-everything --protocol none: transactions run side by ",
    ),
    (
        "run ycsb --architecture dora --protocol silo",
        "--architecture dora --protocol silo: silo's reads touch ",
    ),
    (
        "check ycsb --architecture partitioned-serial --protocol silo",
        "--architecture partitioned-serial --protocol silo: a transaction has its partitions to itself",
    ),
    (
        "run ycsb --protocol hekaton --timestamps batch-8",
        "--timestamps batch-8: allowed: mutex, atomic, clock under hekaton, where who draws later must get more",
    ),
    (
        "run ycsb --protocol key-value",
        "--protocol key-value: allowed: with transactions of one read or write of a row that is there, such as",
    ),
    (
        "run ycsb --accesses 1 --mix D --protocol key-value",
        "--protocol key-value: allowed: with transactions of one",
    ),
    (
        "run tpcc --protocol key-value",
        "--protocol key-value: allowed: with transactions of one read or write ",
    ),
    (
        "run ycsb --accesses 1 --protocol key-value --snapshots on",
        "--protocol key-value: allowed: with --snapshots off, for it has no transactions",
    ),
    (
        "run ycsb --accesses 1 --protocol key-value --durability group --log log",
        "--protocol key-value: allowed: with --durability none, for it has no transactions",
    ),
    (
        "run ycsb --accesses 1 --architecture dora --protocol key-value",
        "--architecture dora --protocol key-value: key-value is the bare store beneath shared-everything silo",
    ),
    (
        "check ycsb --accesses 1 --protocol key-value",
        "--protocol key-value: allowed: a protocol with transactions; without them there is no order to check",
    ),
    (
        "check ycsb --accesses 1 --protocol key-value --explore random",
        "--protocol key-value: allowed: a protocol with transactions; ",
    ),
    ("crash --kill some", "--kill some: allowed: all, node"),
    (
        "crash --canary release-before-decision",
        "--canary release-before-decision: allowed: with --kill node or --channel-faults",
    ),
    ("crash --canary frob", "--canary frob: allowed: publish-before-sync, "),
    (
        "crash --kill node --architecture dora",
        "--architecture dora: allowed: shared-everything with no-wait or silo, with --kill node",
    ),
    (
        "crash --channel-faults --protocol occ",
        "--protocol occ: allowed: shared-everything with no-wait or silo, with --channel-faults",
    ),
    (
        "crash --runs 99999999999999999999",
        "--runs 99999999999999999999: allowed: a whole number, less than 2^64",
    ),
    (
        "run ycsb --partitions 99999999999999999999",
        "--partitions 99999999999999999999: allowed: a whole number, at least 1 and less than 2^64, or workers",
    ),
    ("crash --runs 0", "--runs 0: allowed: a whole number, at least 1 and less than 2^64"),
    (
        "crash --kill node --canary undurable-checkpoint",
        "--canary undurable-checkpoint: allowed: without --kill node and --channel-faults, for nodes take no checkpoints",
    ),
    (
        "crash --protocol key-value",
        "--protocol key-value: allowed: a protocol with transactions; without them there is no log",
    ),
    (
        "sweep bare.toml",
        "bare.toml: protocol key-value: allowed: with transactions of one read or write of a row that is there",
    ),
    ("run ycsb --architecture orthrus --workers 1", "--workers 1: allowed: at least 2 under orthrus, "),
    (
        "run ycsb --architecture orthrus --workers 2 --cc-threads 2",
        "--cc-threads 2: allowed: 1, for at least one of 2 workers ",
    ),
    ("check ycsb --architecture orthrus --workers 3 --cc-threads 7", "--cc-threads 7: allowed: 1 to 2, "),
    ("run ycsb --cc-threads 0", "--cc-threads 0: allowed: a whole number, at least 1, or auto"),
    (
        "run ycsb --architecture orthrus --workers 1 --cc-threads auto",
        "--workers 1: allowed: at least 2 under orthrus, ",
    ),
    (
        "run ycsb --protocol silo --cc-threads auto",
        "--cc-threads auto: allowed: where orthrus is measured, which takes at least 2 workers; other systems have no such threads",
    ),
    ("compare ycsb --workers 1 --cc-threads auto", "--cc-threads auto: allowed: where orthrus is measured, "),
    (
        "check ycsb --architecture orthrus --cc-threads auto",
        "--cc-threads auto: allowed: a whole number, for a check measures nothing",
    ),
    (
        "run ycsb --architecture orthrus --workers 2 --shared-lock-table on --forwarding off",
        "--forwarding off: allowed: on with --shared-lock-table on, where one thread grants all",
    ),
    ("run ycsb --shared-lock-table yes", "--shared-lock-table yes: allowed: on, off"),
    (
        "run ycsb --architecture orthrus --protocol silo",
        "--architecture orthrus --protocol silo: its concurrency-control threads have a protocol",
    ),
    (
        "run ycsb --architecture asymmetric-delegation --protocol silo --workers 1",
        "--workers 1: allowed: at least 2 under asymmetric-delegation, ",
    ),
    (
        "run ycsb --architecture asymmetric-delegation --protocol silo --workers 2 --servers 2",
        "--servers 2: allowed: 1, for at least one of 2 workers ",
    ),
    (
        "check ycsb --architecture asymmetric-delegation --protocol silo --workers 2 --servers 2",
        "--servers 2: allowed: 1, for at least one of 2 workers ",
    ),
    ("compare ycsb --workers 2 --servers 2", "--servers 2: allowed: 1, for at least one of 2 workers "),
    ("run ycsb --architecture partitioned-serial --partitions 5000", "--partitions 5000: allowed: 1 to 4096"),
    ("run ycsb --servers 0", "--servers 0: allowed: a whole number, at least 1"),
    (
        "run ycsb --architecture dora --protocol no-wait --workers 2 --in-flight 9999",
        "--in-flight 9999: allowed: 1 to ",
    ),
    ("compare ycsb --workers 2 --in-flight 9999", "--in-flight 9999: allowed: 1 to "),
    (
        "run ycsb --protocol silo --workers 4 --instances 3",
        "--instances 3: allowed: 1, 2, 4: each has as many of the 4 workers",
    ),
    (
        "run ycsb --protocol wait-die --workers 2 --instances 2",
        "--instances 2: allowed: 1 under wait-die; several with ",
    ),
    (
        "run ycsb --protocol silo --workers 2 --instances 0",
        "--instances 0: allowed: a whole number from 1 to 2^64 - 1, one, per-core, per-socket, per-machine",
    ),
    (
        "run ycsb --protocol silo --workers 2 --instances 2 --durability group --log log --checkpoint-every 1s",
        "--checkpoint-every 1s: allowed: 'never' with several instances",
    ),
    (
        "check micro --explore pct --protocol silo --canary release-before-decision",
        "--canary release-before-decision: allowed: with --cluster",
    ),
    (
        "run micro --protocol silo --workers 2 --instances 2 --in-flight auto",
        "--in-flight auto: allowed: 1 to 512; auto is for shared-everything of one instance",
    ),
    (
        "run ycsb --protocol wait-die --workers 2 --instances per-core",
        "--instances per-core: allowed: 1 under wait-die; several with ",
    ),
    (
        "check micro --canary no-read-validation --workers 2 --instances 2",
        "--instances 2: allowed: 1 with --canary",
    ),
    (
        "check ycsb --in-flight 0",
        "--in-flight 0: allowed: a whole number of at least 1 and less than 2^64, auto, or default",
    ),
    ("compare ycsb --split-indexes maybe", "--split-indexes maybe: allowed: on, off"),
    (
        "compare ycsb --hand-over-every 0",
        "--hand-over-every 0: allowed: a whole number, at least 1, or never",
    ),
    ("run ycsb --huge-pages maybe", "--huge-pages maybe: allowed: on, off"),
    (
        "check ycsb --protocol silo --huge-pages off --explore random",
        "--huge-pages off: allowed: on, on simulated machines, whose memory has no pages",
    ),
    ("run ycsb --protocol sillo", "--protocol sillo: allowed: no-wait, "),
    ("run ycsb --protocol silo --architecture x", "--architecture x: allowed: shared-everything"),
    ("run ycsb --protocol silo --duration 1", "--duration 1: allowed: a number with ns, us, ms, s, m or h"),
    ("run ycsb --protocol silo --duration 0s", "--duration 0s: allowed: longer than zero"),
    ("run ycsb --repeat 0", "--repeat 0: allowed: 1 <= repeat <= 1000"),
    ("run ycsb --seed x", "--seed x: allowed: a whole number"),
    ("run ycsb --prefetch maybe", "--prefetch maybe: allowed: off, planned, on"),
    ("run ycsb --back-off 9..3", "--back-off 9..3: allowed: FIRST..CAP in nanoseconds"),
    ("run ycsb --seed 1 --seed 2", "--seed is given twice; allowed: once"),
    ("run --seed 1 ycsb --protocol silo --seed=2", "--seed is given twice; allowed: once"),
    ("check --json ycsb --protocol silo --json", "--json is given twice; allowed: once"),
    ("run --protocol micro --frob", "unknown option --frob; 'trireme run --help' shows the options"),
    ("run ycsb --theta=", "--theta '': allowed: 0 <= theta < 1"),
    ("run ycsb --protocol silo --out=", "--out '': allowed: a folder that can be written"),
    (
        "run ycsb --protocol silo --back-off 0..9",
        "--back-off 0..9: allowed: FIRST..CAP in nanoseconds with 1 <=",
    ),
    (
        "run ycsb --protocol silo --duration 9999h",
        "--duration 9999h: allowed: a number with ns, us, ms, s, m or h",
    ),
    ("run ycsb --json=yes", "--json takes no value; "),
    (
        "run ycsb --on machines/haswell.toml",
        "--on machines/haswell.toml: allowed: hardware, or a machine file",
    ),
    (
        "sweep x.toml --on machines/haswell.toml",
        "--on machines/haswell.toml: allowed: hardware, or a machine file",
    ),
    (
        "run ycsb --hot 2",
        "--hot 2 needs another --hot-records than 0, its default: allowed: a hot record at least, ",
    ),
    (
        "run micro --hot-records 1",
        "--hot-records 1 needs another --hot than 2, its default: allowed: at most as many hot operations as hot records",
    ),
    (
        "run ycsb --multi-partition 50",
        "--multi-partition 50 does not go with --touched-partitions any, its default: allowed: 100, or touched-partitions=N",
    ),
    (
        "run ycsb --hot 2 --hot-records 1 --distinct yes",
        "--hot-records 1 does not go with --hot 2: allowed: a hot record at least, and with distinct=yes as many",
    ),
    (
        "sweep hot.toml",
        "hot.toml:3:7: hot 2 needs another hot-records than 0, its default: allowed: a hot record",
    ),
    ("reproduce", "'trireme reproduce' needs a figure, or --all; allowed: "),
    (
        "reproduce trireme/fig-99",
        "figure trireme/fig-99 is not there; allowed: those that travel inside the program: trireme/defaults, ",
    ),
    ("compare ycsb --mix A --reads 30", "--reads 30 does not go with --mix A: allowed: "),
    ("compare ycsb --protocol silo", "unknown option --protocol; "),
    (
        "check ycsb --canary no-read-validation --architecture orthrus",
        "--canary no-read-validation --architecture orthrus: its concurrency-control threads have a protocol of their own: planned \
         locks, first come, first served (orthrus 3.2); no-read-validation breaks shared-everything silo; allowed under orthrus: \
         passed-locks, stale-plans, unlocked-ranges\n",
    ),
    (
        "check ycsb --canary PASSED_LOCKS --architecture Partitioned_Serial",
        "--canary passed-locks --architecture partitioned-serial: only orthrus has lock tables and plans that it breaks; passed-locks \
         breaks orthrus; allowed under partitioned-serial: none\n",
    ),
    (
        "run ycsb --architecture DORA --protocol SILO",
        "--architecture dora --protocol silo: silo's reads touch ",
    ),
    ("run ycsb --architecture ORTHRUS --workers 1", "--workers 1: allowed: at least 2 under orthrus, "),
    ("run ycsb --protocol NO-WAITING", "--protocol NO-WAITING: allowed: no-wait, "),
    ("check ycsb --canary x", "--canary x: allowed: no-read-validation, "),
    ("check ycsb --canary dirty-reads --protocol silo", "--canary does not go with --protocol; allowed: one"),
    ("check --protocol silo ycsb --canary dirty-reads", "--canary does not go with --protocol; allowed: one"),
    (
        "check ycsb --canary no-read-validation --architecture dora",
        "--canary no-read-validation --architecture dora: silo's reads touch no metadata",
    ),
    ("check ycsb --protocol silo --out file/results", "--out file/results: "),
    (
        "check write-skew --protocol silo --history events",
        "--history events: allowed: with every other workload; ",
    ),
    ("check ycsb --protocol silo --transactions 0", "--transactions 0: allowed: 1 <= transactions <= "),
    ("advise ycsb --effort -1", "--effort -1: allowed: 0.01 to 1000"),
    ("check ycsb --protocol silo --transactions -5", "--transactions -5: allowed: a whole number"),
    ("crash --runs -1", "--runs -1: allowed: a whole number"),
    (
        "compare ycsb --protocol silo",
        "unknown option --protocol; 'trireme compare' takes every system, or those of --only",
    ),
    ("reproduce fig-2a", "figure fig-2a is not there; allowed: those"),
    (
        "reproduce hardware/sampling",
        "hardware/sampling is of no paper; 'trireme sweep experiments/hardware/sampling.toml' measures it",
    ),
    ("sweep trireme/fig-4", "trireme/fig-4: no such file or directory"),
    ("advise ycsb --on hardware,hardware", "--on hardware,hardware: allowed: each machine once"),
    ("check ycsb --protocol silo --transactions many", "--transactions many: allowed: a whole number"),
    ("check ycsb --protocol silo --history file/x", "--history file/x: not a directory"),
    ("check membership --theta 1 --protocol silo", "unknown option --theta; "),
    (
        "check lost-update --protocol silo --workers 2",
        "--workers 2: allowed: 3 <= workers: lost-update has 3",
    ),
    (
        "check lost-update --architecture asymmetric-delegation --protocol silo --workers 3",
        "--workers 3: allowed: 4 <= workers: lost-update has 3 roles, and 1 of the workers host none",
    ),
    (
        "check tpcd",
        "unknown workload 'tpcd'; allowed: micro, ycsb, smallbank, tatp, tpcc, described, membership, ranges, list-append, growing-lists",
    ),
    (
        "run membership --protocol silo",
        "unknown workload 'membership'; allowed: micro, ycsb, smallbank, tatp, tpcc",
    ),
    ("check ycsb --protocol silo --duration 1s", "unknown option --duration; "),
    ("sweep", "<FILE> is missing; 'trireme sweep --help' shows the options"),
    ("sweep missing.toml", "missing.toml: no such file or directory"),
    ("sweep torn.toml", "torn.toml:2:6: unclosed table"),
    ("sweep theta.toml", "theta.toml:4:9: theta 1.5: allowed: 0 <= theta < 1"),
    ("sweep axis.toml --workers 2", "--workers 2: axis.toml sweeps workers; leave the option out"),
    ("sweep theta.toml --theta 1", "unknown option --theta; "),
    ("sweep good.toml --workers 99999", "--workers 99999: allowed: 1 <= workers <= "),
    ("sweep twice.toml", "twice.toml:4:9: theta 0.5 and 0.50 are the same point; name it once"),
    ("sweep axis.toml --warmup 1", "--warmup 1: allowed: a number with ns, us, ms, s, m or h"),
    (
        "sweep misspelt.toml",
        "misspelt.toml:3:13: unknown name protocoll; allowed with ycsb: system, architecture, protocol, ",
    ),
    (
        "list frob",
        "list frob: allowed: workloads, workload-files, check-workloads, architectures, protocols, ",
    ),
    ("run ycsb --protocol silo --out file/results", "--out file/results: "),
];

/// A file of one kind where one of another kind is wanted: what is typed, the file that is refused, and what is said of it.
const KINDS: &[(&str, &str, &str)] = &[
    ("run ycsb --protocol silo --on axis.toml", "axis.toml", EXPERIMENT),
    ("run ycsb --protocol silo --on shop.toml", "shop.toml", WORKLOAD),
    ("compare ycsb --on shop.toml", "shop.toml", WORKLOAD),
    ("sweep axis.toml --on axis.toml", "axis.toml", EXPERIMENT),
    ("sweep axis.toml --on shop.toml", "shop.toml", WORKLOAD),
    ("advise ycsb --on hardware,shop.toml", "shop.toml", WORKLOAD),
    ("validate --on axis.toml", "axis.toml", EXPERIMENT),
    ("reproduce trireme/fig-2a --on shop.toml", "shop.toml", WORKLOAD),
    ("sweep shop.toml", "shop.toml", WORKLOAD),
    ("sweep box.toml", "box.toml", MACHINE),
    ("run axis.toml --protocol silo", "axis.toml", EXPERIMENT),
    ("run box.toml --protocol silo", "box.toml", MACHINE),
    ("compare axis.toml", "axis.toml", EXPERIMENT),
    ("compare box.toml", "box.toml", MACHINE),
    ("check box.toml --protocol silo", "box.toml", MACHINE),
    ("advise axis.toml", "axis.toml", EXPERIMENT),
    ("advise box.toml", "box.toml", MACHINE),
    ("sweep of-a-machine.toml", "box.toml", MACHINE),
];

const WORKLOAD: &str =
    "a workload, which 'trireme run', 'compare', 'advise' and 'check' take, and an experiment may name";
const EXPERIMENT: &str = "an experiment, which 'trireme sweep' takes";
const MACHINE: &str = "a machine, which goes with --on, of 'trireme run', 'compare', 'sweep' and 'advise'";

#[test]
fn a_file_of_another_kind_is_told_what_takes_it() {
    let folder = fresh_folder("kinds");
    let axis = "workload = 'ycsb'\n[base]\nprotocol = 'silo'\n[axes]\nworkers = [1, 2]\n";
    let shop = "[tables.goods]\nrows = 10\ncolumns = ['stock']\n[transactions.look]\nweight = 1\n\
                draw = [{ name = 'one', row_of = 'goods' }]\nsteps = [{ read = 'goods', key = 'one' }]\n";
    let machine = include_str!("../../../machines/westmere-ep-2x6.toml");
    let of_a_machine = axis.replace("'ycsb'", "'box.toml'");
    let texts = [("axis", axis), ("shop", shop), ("box", machine), ("of-a-machine", &of_a_machine)];
    for (name, text) in texts {
        fs::write(folder.join(format!("{name}.toml")), text).expect("a file");
    }
    let before = files(&folder);
    for (line, file, kind) in KINDS {
        let ran = run(&folder, &line.split(' ').collect::<Vec<_>>());
        let said = ran.err.trim_end();
        assert_eq!(
            (ran.code, ran.out.as_str(), said.lines().count()),
            (Some(2), "", 1),
            "trireme {line}\n{said}"
        );
        assert!(said.contains(file) && said.ends_with(&format!("; it is {kind}")), "trireme {line}\n{said}");
        assert_eq!(files(&folder), before, "trireme {line} left something behind");
    }
    // Which are right where they are wanted.
    let right = run(&folder, &["sweep", "axis.toml", "--dry-run", "--on", "box.toml"]);
    assert_eq!(right.code, Some(0), "{}", right.err);
}

#[test]
fn bad_input_is_one_clear_line() {
    let folder = fresh_folder("errors");
    fs::write(folder.join("file"), "").expect("a file");
    fs::write(folder.join("torn.toml"), "workload = 'ycsb'\n[axes\n").expect("a file");
    let theta = "workload = 'ycsb'\n[base]\nprotocol = 'silo'\ntheta = 1.5\n";
    fs::write(folder.join("theta.toml"), theta).expect("a file");
    let axis = "workload = 'ycsb'\n[base]\nprotocol = 'silo'\n[axes]\nworkers = [1, 2]\n";
    fs::write(folder.join("axis.toml"), axis).expect("a file");
    fs::write(folder.join("good.toml"), "workload = 'ycsb'\n[base]\nprotocol = 'silo'\n").expect("a file");
    let misspelt = "workload = 'ycsb'\n[base]\nprotocoll = 'silo'\n";
    fs::write(folder.join("misspelt.toml"), misspelt).expect("a file");
    let twice = "workload = 'ycsb'\n[axes]\nprotocol = ['silo']\ntheta = ['0.5', '0.50']\n";
    fs::write(folder.join("twice.toml"), twice).expect("a file");
    let bare = "workload = 'ycsb'\n[base]\nsystem = 'shared-everything key-value'\n";
    fs::write(folder.join("bare.toml"), bare).expect("a file");
    let hot = "workload = 'ycsb'\n[base]\nhot = 2\nprotocol = 'silo'\n";
    fs::write(folder.join("hot.toml"), hot).expect("a file");
    let before = files(&folder);
    for (line, begins) in LINES {
        let ran = run(&folder, &line.split(' ').collect::<Vec<_>>());
        let expected = format!("error: {begins}");
        assert!(ran.err.starts_with(&expected), "trireme {line}\n{}instead of {expected}", ran.err);
        assert_eq!(ran.err.lines().count(), 1, "trireme {line}\n{}", ran.err);
        assert_eq!((ran.code, ran.out.as_str()), (Some(2), ""), "trireme {line}");
        assert_eq!(files(&folder), before, "trireme {line} left something behind");
    }
}

/// A figure whose paper had more cores than there are here is simulated, and a sweep of it says how.
#[test]
fn a_figure_that_does_not_fit_here_says_what_simulates_it() {
    if std::thread::available_parallelism().is_ok_and(|cores| cores.get() >= 80) {
        return;
    }
    let folder = fresh_folder("elsewhere");
    fs::create_dir_all(folder.join("experiments/orthrus")).expect("a folder");
    fs::create_dir(folder.join("machines")).expect("a folder");
    let machine = include_str!("../../../machines/westmere-ex-8x10.toml");
    fs::write(folder.join("machines/westmere-ex-8x10.toml"), machine).expect("a file");
    let text = |threads| {
        format!(
            "workload = 'ycsb'\n[axes]\nsystem = ['orthrus cc-threads={threads}']\nworkers = {{ of = [2, 80], to = 'cores' }}\n"
        )
    };
    let refused = |file: &str, threads: usize| {
        fs::write(folder.join(file), text(threads)).expect("a file");
        let ran = run(&folder, &["sweep", file]);
        assert_eq!((ran.code, ran.err.lines().count()), (Some(2), 1), "{}", ran.err);
        let begins = format!("error: {file}:3:10: cc-threads {threads}: allowed: ");
        assert!(ran.err.starts_with(&begins), "{}", ran.err);
        ran.err
    };
    let simulated = "; the figure is of another machine, which 'trireme reproduce orthrus/fig-5' simulates\n";
    let said = refused("experiments/orthrus/fig-5.toml", 79);
    assert!(said.ends_with(simulated), "{said}");
    let (of_nobody, too_many) = (refused("fig-5.toml", 79), refused("experiments/orthrus/fig-5.toml", 99));
    assert!(!of_nobody.contains("reproduce") && !too_many.contains("reproduce"), "{of_nobody}{too_many}");
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder");
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    files.sort();
    files
}

/// A path or a name in another encoding is refused like any other word.
#[cfg(unix)]
#[test]
fn words_that_are_no_text_are_one_clear_line_too() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let folder = fresh_folder("encoding");
    let no_text = OsStr::from_bytes(b"\xff");
    for line in [&["run"][..], &["run", "ycsb", "--theta"], &["sweep"], &[]] {
        let ran: Ran = trireme(&folder).args(line).arg(no_text).output().expect("the binary runs").into();
        assert!(ran.err.starts_with("error: "), "{line:?}\n{}", ran.err);
        assert_eq!((ran.err.lines().count(), ran.code), (1, Some(2)), "{line:?}\n{}", ran.err);
    }
}

#[test]
fn tables_that_do_not_fit_say_what_they_need_and_what_there_is() {
    let folder = fresh_folder("memory");
    let line = ["run", "ycsb", "--protocol", "silo", "--records", "1000000000000"];
    let ran = run(&folder, &line);
    let error = ran.err.lines().last().expect("a line");
    assert!(error.starts_with("error: the tables need ") && error.contains(" GiB are available"), "{error}");
    assert_eq!((ran.code, ran.out.as_str()), (Some(2), ""));
    assert_eq!(
        fs::read_dir(folder.join("results")).expect("a folder").count(),
        0,
        "no folder without results"
    );
}
