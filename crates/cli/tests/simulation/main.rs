//! `--on FILE`: the same commands on a simulated machine. They repeat bit for bit, say that they are simulated, and
//! refuse machines that are none.

mod checks;
mod choices;
#[path = "../common/mod.rs"]
mod common;
mod disks;
mod figures;
mod machines;
mod memory;
mod runs;
mod validation;

use common::{Ran, run};
use std::fs;
use std::path::Path;

/// A machine file of the repository.
fn machine(name: &str) -> String {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../machines").join(name);
    fs::canonicalize(file).expect("a machine of the repository").display().to_string()
}

fn haswell() -> String {
    machine("haswell-ex-4x18.toml")
}

fn on(folder: &Path, line: &str, machine: &str) -> Ran {
    let words: Vec<&str> = line.split(' ').chain(["--on", machine]).collect();
    run(folder, &words)
}

/// A small table, and a fifth of the usual time.
const SHORT: &str = "--records 5000 --writes 50 --warmup 20us --duration 200us --repeat 2";
