//! What a system is told or chooses by itself: threads for concurrency control, the one latch of a partition, the way timestamps are drawn.

use crate::common::{fresh_folder, run};
use crate::{SHORT, haswell, machine, on};
use std::fs;

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
