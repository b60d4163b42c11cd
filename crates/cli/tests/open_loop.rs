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
    let line = [&line[..], &["--arrivals", "constant", "--out", "out", "--json"]].concat();
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
    // Slice by slice, too: a line for each system.
    let report = fs::read_to_string(folder.join("out/report.html")).expect("a report");
    for words in
        ["<a href=\"series.csv\">Over time</a>", "<h2>Throughput over time", "<h2>The queue over time"]
    {
        assert!(report.contains(words), "{words}");
    }
    let figure = report.split("<h2>p99 over time").nth(1).and_then(|rest| rest.split("</section>").next());
    let figure = figure.expect("a figure");
    let lines = figure.matches("<polyline").count();
    assert_eq!(lines, 3 * systems.min(8), "at both widths, and in the legend: {figure}");
    assert!(figure.contains("shared-everything silo") && !figure.contains("repetition 1"), "{figure}");
    assert!(folder.join("out/series.csv").exists());
}

/// At half of what a system can a transaction costs at most 1.02 of what it costs in a closed loop: what an open loop does besides is done while
/// the worker rests. Both count equally many transactions after equally many, so that caches are equally warm; simulated, so that it repeats.
#[test]
fn at_half_the_load_a_transaction_costs_no_more() {
    let folder = fresh_folder("open-loop-cost");
    let small: [&[&str]; 2] = [
        &["tpcc", "--warehouses", "1", "--items", "1000", "--customers", "30"],
        &["micro", "--records", "20000", "--prefetch", "off"],
    ];
    for workload in small {
        // The throughput, and what a worker takes for a transaction while it does not rest, in seconds.
        let measured = |lengths: [&str; 2], rate: &[&str]| {
            let out = fresh_folder("open-loop-cost-out");
            let out = out.join("out");
            let machine = ["--protocol", "silo", "--workers", "1", "--on", "nehalem-ex-4x8", "--repeat", "1"];
            let lengths = ["--warmup", lengths[0], "--duration", lengths[1], "--json", "--out"];
            let out = [out.to_str().expect("a path of letters")];
            let ran = run(&folder, &[&["run"], workload, &machine, &lengths, &out, rate].concat());
            assert_eq!(ran.code, Some(0), "{workload:?}: {}", ran.err);
            let summary = ran.json();
            let throughput = summary["throughput_per_s"].as_f64().expect("a throughput");
            let idle = summary["idle_share"].as_f64().unwrap_or_default();
            assert_eq!(idle > 0.4, !rate.is_empty(), "{workload:?}: idle for {idle}");
            (throughput, (1.0 - idle) / throughput)
        };
        let (capacity, closed) = measured(["2ms", "4ms"], &[]);
        let half = format!("{:.0}", capacity / 2.0);
        let (_, open) = measured(["4ms", "8ms"], &["--arrivals", "constant", "--rate", &half]);
        assert!(open <= 1.02 * closed, "{workload:?}: {open} of {closed}");
    }
}

/// The short run that finds what the system can has a log, and leaves none: the one that is asked for begins as it should.
#[test]
fn what_a_logged_system_can_is_found_beside_its_log() {
    let folder = fresh_folder("open-loop-logged");
    let line = "run micro --protocol silo --workers 1 --rate 20% --durability buffered --log log --records 2000 --warmup 20ms --duration 500ms \
                --repeat 1 --json";
    let ran = run(&folder, &line.split_whitespace().collect::<Vec<_>>());
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(
        ran.json()["arrivals"]["capacity_per_s"].as_f64().is_some_and(|per_s| per_s > 0.0),
        "{}",
        ran.out
    );
    assert!(folder.join("log/MANIFEST").exists() && !folder.join("log/store-0").exists());
}

/// Simulated, so that it is the same each time: the response times grow with the rate, and the page shows where they bend.
#[test]
fn a_sweep_over_rates_is_a_curve() {
    let folder = fresh_folder("open-loop-curve");
    let machine = include_str!("../../../machines/haswell-ex-4x18.toml");
    fs::write(folder.join("machine.toml"), machine).expect("a machine");
    let experiment = "workload = 'micro'\n[base]\nrecords = 4000\nworkers = 2\n[axes]\nsystem = ['shared-everything silo', 'dora no-wait']\n";
    fs::write(folder.join("curve.toml"), experiment).expect("a file");
    let line = [
        "sweep",
        "curve.toml",
        "--on",
        "machine.toml",
        "--rate",
        "20%..180%",
        "--out",
        "out",
        "--json",
        "--export",
        "hlog",
    ];
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
    let of_half = "series/system=dora-no-wait,rate=60-.csv";
    for words in ["Response time against throughput", "The knees", &of_half.replace('/', "&#x2f;")] {
        assert!(report.contains(words), "{words}");
    }
    let knees = &report[report.find("The knees").expect("their table")..];
    let knees = &knees[..knees.find("</table>").expect("its end")];
    let seen = 2 - knees.matches("no knee is seen").count();
    assert!(seen > 0, "{knees}");
    assert_eq!(
        report.matches("class=\"knee stroke-").count(),
        2 * seen,
        "a ring around each, at both widths"
    );
    assert_eq!(report.matches("<title>the knee of ").count(), 2 * seen);
    assert_eq!(knees.matches(">series</a>").count(), 2, "each system's knee leads to its slices: {knees}");
    // What happened in each slice, and the latencies, are kept of every point.
    let series = fs::read_to_string(folder.join("out").join(of_half)).expect("the slices of a point");
    assert!(series.starts_with("architecture,protocol,rate,repetition,from_s,"), "{series}");
    assert!(series.contains("\ndora,no-wait,60%,1,0.000000,") && series.ends_with(",response\n"), "{series}");
    assert_eq!(fs::read_dir(folder.join("out/series")).expect("a folder").count(), 18);
    let log = fs::read_to_string(folder.join("out/latency.hlog")).expect("a log");
    assert_eq!(log.lines().filter(|line| line.starts_with("Tag=system=")).count(), 18, "{log}");
    assert!(log.contains("Tag=system=dora-no-wait/rate=60%/repetition=1,"), "{log}");

    // What is left takes as long as what is there, by its work: nine points more.
    let grown = experiment.replace("'dora no-wait'", "'dora no-wait', 'shared-everything no-wait'");
    fs::write(folder.join("curve.toml"), grown).expect("a file");
    let estimate = run(&folder, &[&line[..], &short, &["--dry-run"]].concat()).json();
    let number = |name: &str| estimate[name].as_f64().expect("a number");
    assert_eq!((number("points"), number("finished")), (27.0, 18.0), "{estimate}");
    assert!((number("core_s") - 9.0 * 2.0 * 500e-6).abs() < 1e-9, "{estimate}");
    assert!(estimate["how"].as_str().is_some_and(|how| how.starts_with("by 18 of the points")), "{estimate}");
    let took: Value = serde_json::from_str(&fs::read_to_string(folder.join("out/took.json")).expect("times"))
        .expect("JSON");
    let all: f64 = took.as_object().expect("by point").values().filter_map(Value::as_f64).sum();
    assert!((number("least_s") - all / 2.0).abs() < 1e-6 * all, "{estimate} {all}");
    // Elsewhere nothing is there, and a rule says it.
    let words: Vec<&str> = line
        .iter()
        .map(|word| if *word == "out" { "elsewhere" } else { word })
        .filter(|word| *word != "--json")
        .collect();
    let by_rule = run(&folder, &[&words[..], &short, &["--dry-run"]].concat());
    assert_eq!(by_rule.code, Some(0), "{}", by_rule.err);
    for words in ["27 points, ", " of simulated time: about ", "(by a rule: 3 to 14 ms of a host core"] {
        assert!(by_rule.out.contains(words), "{words}: {}", by_rule.out);
    }
    assert!(!folder.join("elsewhere").exists(), "nothing was simulated");
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
