//! What a simulated machine's tables take of the host's memory.
#![cfg(target_os = "linux")]

use crate::common::{fresh_folder, trireme};
use crate::haswell;
use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::thread;
use std::time::Duration;

/// The most memory of the host, in KiB, that a run takes which ends well.
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
#[test]
fn many_small_partitions_take_little_of_the_host() {
    let folder = fresh_folder("simulated-partitions");
    let line = "run tpcc --warehouses 64 --items 1000 --customers 10 --partitions 64 --workers 64 \
                --architecture partitioned-serial --warmup 20us --duration 100us --repeat 1 --json";
    let peak_kib = peak_kib(&folder, line);
    assert!(peak_kib > 50_000 && peak_kib < 500_000, "{peak_kib} KiB");
}
