//! The command over MPI: the same answers as over any other channel, and an end with words when a process dies.

mod common;

use common::{await_end, ended, mpirun};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};
use tempfile::TempDir;

fn trireme(processes: usize, line: &str) -> Command {
    let mut command = mpirun(processes, Path::new(env!("CARGO_BIN_EXE_trireme-mpi")));
    command.args(line.split_whitespace());
    command
}

/// What a check, or a run, says as JSON.
fn told(processes: usize, line: &str) -> Value {
    let (status, out, said) = ended(trireme(processes, &format!("{line} --json")), Duration::from_secs(180));
    assert!(status.success(), "{line}: {said}");
    serde_json::from_str(&out)
        .unwrap_or_else(|error| panic!("{line}: JSON of one process only: {error}: {out}"))
}

#[test]
fn what_processes_do_over_mpi_is_strictly_serializable() {
    for (processes, line) in [
        (2, "micro --protocol no-wait --workers 2 --transactions 4000"),
        (3, "micro --protocol silo --workers 6 --readers-wait off --transactions 4000"),
        (2, "tpcc --mix payment --remote-payments 50 --protocol no-wait --workers 2 --transactions 2000"),
        (
            3,
            "tpcc --mix payment --remote-payments 50 --protocol silo --workers 3 --warehouses 3 --transactions 1500",
        ),
        (2, "ycsb --protocol silo --workers 4 --one-shot off --transactions 1500"),
        // Any channel there is carries what processes say that mpirun has started.
        (2, "micro --protocol no-wait --workers 2 --channel shared-memory --transactions 4000"),
    ] {
        let summary = told(processes, &format!("check {line}"));
        assert_eq!(summary["passed"], true, "{line}: {summary:#}");
        assert_eq!(summary["machine"], format!("hardware, {processes} processes"), "{summary:#}");
    }
}

#[test]
fn what_is_measured_over_mpi_is_audited_and_says_so() {
    let folder = TempDir::new().expect("a folder");
    for workload in ["micro --records 2000 --remote 5", "tpcc --warehouses 2 --mix payment"] {
        let out = folder.path().join("results");
        let line = "--protocol no-wait --workers 2 --warmup 20ms --duration 100ms --repeat 2";
        let summary = told(2, &format!("run {workload} {line} --out {}", out.display()));
        let checks = summary["checks"].as_array().expect("checks");
        assert!(checks.iter().any(|check| check["name"] == "audit"), "{summary:#}");
        assert!(checks.iter().all(|check| check["passed"] == true), "{summary:#}");
        assert!(summary["throughput_per_s"].as_f64().is_some_and(|per_s| per_s > 0.0), "{summary:#}");
        assert!(out.join("report.html").exists());
        let laid_down = fs::read_dir(&out).expect("results").flatten();
        let texts: Vec<String> = laid_down.filter_map(|file| fs::read_to_string(file.path()).ok()).collect();
        for words in ["mpirun -n 2 trireme-mpi run", "\"mpi\""] {
            assert!(texts.iter().any(|text| text.contains(words)), "no {words} in the results");
        }
        fs::remove_dir_all(&out).expect("results");
    }
}

#[test]
fn what_does_not_fit_is_refused_in_words_by_one_process() {
    for (processes, line, allowed) in [
        (2, "run micro --protocol no-wait --workers 3", "as many as divide the 3 workers of --workers"),
        (2, "run micro --protocol no-wait --workers 2 --cluster 2", "what has started the processes says"),
        (2, "run micro --protocol no-wait --workers 2 --records many", "--records many"),
        (2, "run micro --protocol no-wait --workers 2 --pigeons", "--pigeons"),
        (2, "run micro --architecture dora --protocol no-wait --workers 2", "do not span processes"),
        (2, "doctor", "run, compare, sweep, check, recover"),
        (1, "run micro --protocol no-wait --workers 2", "there is one; allowed: 2 or more"),
        (1, "ping-pong", "mpirun -n 2"),
    ] {
        let (status, out, said) = ended(trireme(processes, line), Duration::from_secs(60));
        assert_eq!(status.code(), Some(2), "{line}: {said}");
        assert!(said.contains(allowed), "{line}: {said}");
        // mpirun says something, too.
        assert_eq!(said.matches("error: ").count(), 1, "{line}: {said}");
        assert_eq!(out, "", "{line}");
    }
}

#[test]
fn the_first_process_says_what_it_can_do() {
    let (status, out, said) = ended(trireme(2, "--help"), Duration::from_secs(60));
    assert!(status.success(), "{said}");
    assert_eq!(out.matches("Usage:").count(), 1, "{out}");
}

#[test]
fn mpi_is_measured_by_itself_and_below_a_channel() {
    let (status, out, said) = ended(trireme(2, "ping-pong"), Duration::from_secs(180));
    assert!(status.success(), "{said}");
    assert!(out.contains("MPI_Send, MPI_Recv") && out.contains("over a channel"), "{out}");
}

/// The processes that `parent` has started, by their rank.
fn ranks(parent: u32) -> Vec<(usize, u32)> {
    let all = fs::read_dir("/proc").expect("the system's processes").flatten();
    let numbers = all.filter_map(|entry| entry.file_name().to_string_lossy().parse::<u32>().ok());
    let is_child = |process: &u32| {
        let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
        let behind_name = stat.rsplit(") ").next().unwrap_or_default().split(' ').nth(1).map(str::to_owned);
        behind_name == Some(parent.to_string())
    };
    let rank = |process: u32| {
        let environment = fs::read(format!("/proc/{process}/environ")).ok()?;
        let mut words = environment.split(|byte| *byte == 0);
        let rank = words.find_map(|word| word.strip_prefix(b"OMPI_COMM_WORLD_RANK="))?;
        Some((String::from_utf8_lossy(rank).parse().ok()?, process))
    };
    let mut ranks: Vec<(usize, u32)> = numbers.filter(is_child).filter_map(rank).collect();
    ranks.sort_unstable();
    ranks
}

/// Whether a process runs transactions.
fn has_workers(process: u32) -> bool {
    let threads = fs::read_dir(format!("/proc/{process}/task"));
    threads.is_ok_and(|threads| {
        threads.flatten().any(|thread| {
            fs::read_to_string(thread.path().join("comm")).is_ok_and(|name| name.starts_with("worker"))
        })
    })
}

fn is_there(process: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    // One that nobody has asked for is there, too, and does nothing.
    stat.rsplit(") ").next().is_some_and(|stat| !stat.is_empty() && !stat.starts_with('Z'))
}

/// A long check, once its transactions run.
fn begin(processes: usize, recovery: bool) -> (Child, Vec<(usize, u32)>) {
    let line = format!(
        "check micro --records 100 --hot-records 4 --protocol no-wait --workers {processes} --transactions 50000000"
    );
    let mut command = trireme(processes, &line);
    if recovery {
        // Open MPI does not end the others, then, when one has died. To set it at all turns it on, whatever it is set to.
        command.env("OMPI_MCA_orte_enable_recovery", "1");
    }
    let run = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn();
    let mut run = run.expect("mpirun, of the packages openmpi-bin and libopenmpi-dev");
    let began = Instant::now();
    let mut there = ranks(run.id());
    while there.len() < processes || !there.iter().all(|(_, process)| has_workers(*process)) {
        if began.elapsed() > Duration::from_secs(60) {
            let _ = run.kill();
            let _ = run.wait();
            panic!("no workers: {there:?}");
        }
        thread::sleep(Duration::from_millis(5));
        there = ranks(run.id());
    }
    thread::sleep(Duration::from_millis(300));
    (run, there)
}

fn kill(process: u32) {
    let sent = Command::new("sh").args(["-c", &format!("kill -KILL {process}")]).status();
    assert!(sent.expect("a shell").success());
}

fn all_are_gone(processes: &[(usize, u32)]) {
    let began = Instant::now();
    while processes.iter().any(|(_, process)| is_there(*process)) {
        assert!(began.elapsed() < Duration::from_secs(10), "processes that nobody needs go on");
        thread::sleep(Duration::from_millis(5));
    }
}

/// Open MPI ends all of them, or leaves it to them; either way it ends, and who has died is named.
#[test]
fn a_process_that_is_killed_ends_the_run_with_words() {
    for (processes, killed, recovery) in [(2, 1, false), (3, 2, false), (2, 0, false), (3, 1, true)] {
        let (run, there) = begin(processes, recovery);
        kill(there[killed].1);
        let (status, _, said) = await_end(run, Duration::from_secs(15));
        let of_ours = format!("instance {killed} has dropped out");
        let names = match recovery {
            // What mpirun makes of that is its own affair.
            true => said.contains(&of_ours),
            false => {
                !status.success() && (said.contains(&format!("rank {killed} ")) || said.contains(&of_ours))
            }
        };
        assert!(names, "{killed} of {processes}, {status}: {said}");
        all_are_gone(&there);
    }
}
