//! What simulated systems do, beside what they did: a change is not slower than the committed baseline, or renews it.
//!
//! Simulated runs repeat bit for bit, so that whatever is found here comes of the change. `TRIREME_BASELINE=write cargo test -p cli --test baseline` renews it: say in the commit why.

mod common;

use common::{fresh_folder, run};
use std::env;
use std::fs;
use std::path::{Path, PathBuf};

const EXPERIMENT: &str = "experiment.toml";
const MACHINE: [&str; 2] = ["--on", "haswell-ex-4x18"];

fn committed() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/baseline")
}

#[test]
fn simulated_systems_are_as_fast_as_they_were() {
    let folder = fresh_folder("baseline");
    fs::copy(committed().join(EXPERIMENT), folder.join(EXPERIMENT)).expect("an experiment");
    let line = ["sweep", EXPERIMENT, MACHINE[0], MACHINE[1], "--out", "now"];
    let ran = run(&folder, &line);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    if env::var_os("TRIREME_BASELINE").is_some_and(|what| what == "write") {
        for file in ["parameters.toml", "samples.csv"] {
            fs::copy(folder.join("now").join(file), committed().join(file)).expect("renewed");
        }
        // On which host it was simulated makes no difference.
        fs::write(committed().join("environment.json"), "{}\n").expect("renewed");
        return;
    }
    let before = committed().display().to_string();
    let beside = run(&folder, &["diff", &before, "now", "--tolerance", "2%"]);
    assert_eq!(
        beside.code,
        Some(0),
        "{}{}\nTRIREME_BASELINE=write cargo test -p cli --test baseline renews it, if that is meant",
        beside.out,
        beside.err
    );
    a_slowdown_is_found_in_each_row(&folder, &before);
}

/// One row at a time of the committed figures, slower by 5 %.
fn a_slowdown_is_found_in_each_row(folder: &Path, before: &str) {
    let now = folder.join("now");
    let samples = fs::read_to_string(committed().join("samples.csv")).expect("samples");
    let heads: Vec<&str> = samples.lines().next().expect("heads").split(',').collect();
    let column = |name: &str| heads.iter().position(|head| *head == name).expect("a column");
    let (repetition, throughput) = (column("repetition"), column("throughput_per_s"));
    let label = |line: &str| line.split(',').take(repetition).map(str::to_owned).collect::<Vec<_>>();
    let mut rows: Vec<Vec<String>> = samples.lines().skip(1).map(label).collect();
    rows.dedup();
    assert!(rows.len() > 10, "{} rows", rows.len());
    for slowed in rows {
        let slow = |line: &str| match label(line) == slowed {
            false => line.to_owned(),
            true => {
                let mut fields: Vec<String> = line.split(',').map(str::to_owned).collect();
                let per_s: f64 = fields[throughput].parse().expect("a number");
                fields[throughput] = (0.95 * per_s).to_string();
                fields.join(",")
            }
        };
        let slower: Vec<String> = samples.lines().map(slow).collect();
        fs::write(now.join("samples.csv"), slower.join("\n") + "\n").expect("written");
        let found = run(folder, &["diff", before, "now", "--tolerance", "2%"]);
        assert_eq!(found.code, Some(1), "{slowed:?}\n{}", found.out);
        assert_eq!(found.out.matches("REGRESSION").count(), 1, "{slowed:?}\n{}", found.out);
    }
}
