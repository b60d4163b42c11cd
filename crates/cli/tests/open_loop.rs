//! Transactions that arrive at a rate: what is told of them, drawn and laid down.

mod common;

use common::{fresh_folder, run};
use serde_json::Value;
use std::fs;

const SHORT: [&str; 8] = ["--records", "2000", "--warmup", "20ms", "--duration", "500ms", "--repeat", "2"];

#[test]
fn a_rate_is_told_and_response_times_are() {
    let folder = fresh_folder("open-loop");
    let line =
        ["run", "ycsb", "--protocol", "silo", "--workers", "1", "--rate", "1000", "--json", "--out", "out"];
    let ran = run(&folder, &[&line[..], &SHORT].concat());
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let summary = ran.json();
    assert_eq!(summary["latency_of"], "response");
    assert_eq!(summary["open_loop"]["rate_per_s"], 1000);
    assert_eq!(summary["open_loop"]["arrivals"], "poisson");
    let arrivals = &summary["arrivals"];
    // A thousand a second, for half a second, twice: by chance a few more or fewer.
    assert!(arrivals["arrived"].as_u64().is_some_and(|all| (850..1150).contains(&all)), "{arrivals}");
    assert!(arrivals["service_ns"]["p50"].is_u64(), "{arrivals}");
    let series = fs::read_to_string(folder.join("out/series.csv")).expect("slices");
    assert_eq!(series.lines().count(), 1 + 2 * 10, "{series}");
    let report = fs::read_to_string(folder.join("out/report.html")).expect("a report");
    for words in [
        "Response time, p99",
        "Throughput over time",
        "The queue over time",
        "p99 over time",
        "latency from the arrival to commit",
    ] {
        assert!(report.contains(words), "{words}");
    }
}

#[test]
fn a_part_of_what_a_system_can_is_asked_of_each() {
    let folder = fresh_folder("open-loop-part");
    let line = ["compare", "micro", "--only", "silo,no-wait,vll", "--workers", "2", "--rate", "20%"];
    let line = [&line[..], &["--arrivals", "constant", "--json"]].concat();
    let ran = run(&folder, &[&line[..], &SHORT].concat());
    assert!(ran.code == Some(0), "{}", ran.err);
    let compared = ran.json();
    let rows = compared["rows"].as_array().expect("rows").iter().filter(|row| row["supported"] == true);
    let mut systems = 0;
    for row in rows {
        systems += 1;
        let arrivals = &row["arrivals"];
        let (capacity, rate) = (arrivals["capacity_per_s"].as_f64(), arrivals["rate_per_s"].as_f64());
        let (Some(capacity), Some(rate)) = (capacity, rate) else { panic!("{row:#}") };
        assert!((rate / capacity - 0.2).abs() < 0.01, "{rate} of {capacity}");
        assert_eq!(arrivals["spread"], "constant");
    }
    assert!(systems >= 6, "{systems}");
}

/// Simulated, so that it is the same each time: the response times grow with the rate, and the page shows where they bend.
#[test]
fn a_sweep_over_rates_is_a_curve() {
    let folder = fresh_folder("open-loop-curve");
    let machine = include_str!("../../../machines/haswell-ex-4x18.toml");
    fs::write(folder.join("machine.toml"), machine).expect("a machine");
    let experiment = "workload = 'micro'\n[base]\nrecords = 4000\nworkers = 2\n[axes]\nsystem = ['shared-everything silo', 'dora no-wait']\n";
    fs::write(folder.join("curve.toml"), experiment).expect("a file");
    let line =
        ["sweep", "curve.toml", "--on", "machine.toml", "--rate", "20%..180%", "--out", "out", "--json"];
    let short = ["--warmup", "300us", "--duration", "200us", "--repeat", "1"];
    let ran = run(&folder, &[&line[..], &short].concat());
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let conducted = ran.json();
    let points = conducted["points"].as_array().expect("points");
    assert_eq!(points.len(), 2 * 9);
    for system in ["shared-everything silo", "dora no-wait"] {
        let of = |rate: &str| {
            let is_it = |point: &&Value| point["at"]["system"] == system && point["at"]["rate"] == rate;
            points.iter().find(is_it).unwrap_or_else(|| panic!("{system} at {rate}"))
        };
        let mean = |rate: &str| of(rate)["summary"]["latency_ns"]["mean"].as_f64().expect("a latency");
        assert!(mean("180%") > 2.0 * mean("20%"), "{system}: {} {}", mean("180%"), mean("20%"));
        let warnings = of("180%")["summary"]["warnings"].to_string();
        assert!(warnings.contains("more transactions arrived than could be done: "), "{warnings}");
    }
    let report = fs::read_to_string(folder.join("out/report.html")).expect("a report");
    for words in ["Response time against throughput", "The knees"] {
        assert!(report.contains(words), "{words}");
    }
}

#[test]
fn a_rate_that_is_none_is_refused() {
    let folder = fresh_folder("open-loop-refused");
    for rate in ["0", "fast", "300%", "10%..90%"] {
        let ran = run(&folder, &["run", "micro", "--protocol", "silo", "--rate", rate]);
        assert_eq!(ran.code, Some(2), "{rate}: {}", ran.err);
        assert!(ran.err.contains(&format!("rate {rate}: allowed: transactions a second")), "{}", ran.err);
    }
}
