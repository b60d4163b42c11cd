//! Prints what `doctor` knows of this machine: `cargo run --release -p trireme-machine --example facts [quick]`.

use machine::hardware::environment::Environment;
use machine::hardware::facts::Bench;
use std::time::Instant;

fn main() {
    let quick = std::env::args().nth(1).is_some_and(|argument| argument == "quick");
    println!("{:#?}", Environment::of_this_machine());
    let start = Instant::now();
    let mut bench = Bench::new(quick);
    let rounds: Vec<_> = (0..3).map(|_| bench.round()).collect();
    println!("{:#?}", bench.facts(&rounds));
    println!("measured in {:.2} s", start.elapsed().as_secs_f64());
}
