//! `doctor`: is this machine fit for measuring, and what does it cost?

use crate::arguments::{json, typed};
use crate::calibrate::{SYSTEM, calibrate};
use crate::output;
use crate::worker_facts::{self, WorkerFacts};
use clap::{Arg, ArgAction, ArgMatches, Command};
use harness::Failure;
use harness::text::numbers::{bytes, counted, thousands};
use machine::hardware::environment::Environment;
use machine::hardware::facts::{self, MachineFacts};
use serde::Serialize;
use serde_json::json;
use std::fmt::{Display, Write};
use std::path::Path;
use std::process::ExitCode;

/// Less than this does not hold the papers' tables.
const LITTLE_MEMORY_BYTES: u64 = 4 << 30;

/// Where this machine's file goes if nothing else is said.
const LOCAL: &str = "machines/local.toml";

/// What can be typed.
pub fn arguments() -> Command {
    Command::new("doctor")
        .about("Look at this machine: is it fit for measuring, and what does it cost?")
        .arg(
            Arg::new("quick")
                .long("quick")
                .action(ArgAction::SetTrue)
                .help("Measure for half a second, not for three"),
        )
        .arg(
            Arg::new("calibrate")
                .long("calibrate")
                .value_name("FILE")
                .num_args(0..=1)
                .default_missing_value(LOCAL)
                .conflicts_with("quick")
                .help(format!(
                    "Write this machine down as a machine file for --on, in some 20 s [default: {LOCAL}]"
                )),
        )
        .arg(json())
}

/// What the machine's settings mean for measurements.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct Advice {
    /// Whether it is fine as it is.
    fine: bool,
    /// What was found.
    found: String,
    /// What to do; empty if it is fine.
    advice: String,
}

/// Looks.
pub fn doctor(matches: &ArgMatches) -> Result<ExitCode, Failure> {
    let environment = Environment::of_this_machine();
    if let Some(file) = typed(matches, "calibrate") {
        return write_down(Path::new(file), &environment, matches.get_flag("json"));
    }
    let advice = advise(&environment, cfg!(debug_assertions));
    let facts = facts::measure(matches.get_flag("quick"));
    let workers = worker_facts::measure();
    if matches.get_flag("json") {
        output::print_json(&json!({
            "schema": "trireme.doctor/1",
            "environment": environment,
            "facts": facts,
            "workers": workers,
            "advice": advice,
        }))?;
    } else {
        output::print(&text(&environment, &facts, workers.as_ref(), &advice))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Writes this machine down.
fn write_down(file: &Path, environment: &Environment, as_json: bool) -> Result<ExitCode, Failure> {
    let calibrated = calibrate(environment)?;
    std::fs::write(file, &calibrated.text).map_err(Failure::write(file))?;
    let ((measured, simulated), trips) = (calibrated.one_worker_per_s, calibrated.round_trip_ns);
    if as_json {
        output::print_json(&json!({
            "schema": "trireme.calibration/1",
            "file": file,
            "one_worker_per_s": { "measured": measured, "simulated": simulated },
            "line_round_trip_ns": { "measured": trips.0, "simulated": trips.1 },
        }))?;
    } else {
        output::print(&format!(
            "one worker of {SYSTEM}: {} transactions/s measured, {} simulated\na line there and back: {:.1} ns measured, \
             {:.1} ns simulated\n\nmachine file: {}\nnext: trireme validate micro --on {}\n",
            thousands(measured),
            thousands(simulated),
            trips.0,
            trips.1,
            file.display(),
            file.display(),
        ))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn advise(environment: &Environment, debug_build: bool) -> Vec<Advice> {
    let cores = environment.hardware_threads;
    let mut all = vec![
        judge(
            !debug_build,
            if debug_build { "debug build" } else { "release build" },
            "build with --release",
        ),
        judge(
            cores > 1,
            format!("{} that this process may use", counted(cores, "core")),
            "nothing runs side by side on one core: conflicts are rare and waits are long; use a larger machine, \
             and look for a restriction such as taskset or a container's limit",
        ),
    ];
    all.extend(advise_on_memory(environment));
    all.extend(advise_on_clock(environment));
    if environment.hypervisor == Some(true) {
        all.push(judge(
            false,
            "a virtual machine",
            "its host may take cores away unseen: watch the spread, and repeat what surprises",
        ));
    }
    all
}

fn advise_on_memory(environment: &Environment) -> impl Iterator<Item = Advice> {
    let available = environment.memory_available_bytes.map(|available| {
        judge(
            available >= LITTLE_MEMORY_BYTES,
            format!("{} of memory available", bytes(available)),
            "ask for smaller tables with --records",
        )
    });
    let huge_pages = environment.transparent_huge_pages.as_deref().map(|mode| {
        judge(
            mode != "never",
            format!("transparent huge pages: {mode}"),
            "large tables miss the TLB; as root: echo madvise > /sys/kernel/mm/transparent_hugepage/enabled",
        )
    });
    available.into_iter().chain(huge_pages)
}

fn advise_on_clock(environment: &Environment) -> impl Iterator<Item = Advice> {
    let governor = match environment.governor.as_deref() {
        Some(governor) => judge(
            governor == "performance",
            format!("frequency governor: {governor}"),
            "the clock rate follows the load; as root: cpupower frequency-set -g performance",
        ),
        None => judge(true, "frequency governor: not told", ""),
    };
    let turbo = environment.turbo.map(|turbo| {
        judge(
            !turbo,
            format!("turbo: {}", if turbo { "on" } else { "off" }),
            "few workers clock higher than many, which bends scaling curves; switch it off for those",
        )
    });
    let counter = environment.tsc_invariant.map(|invariant| {
        let found = if invariant { "the clock ticks at one rate" } else { "the clock's rate varies" };
        judge(invariant, found, "latencies are only roughly right")
    });
    [governor].into_iter().chain(turbo).chain(counter)
}

fn judge(fine: bool, found: impl Into<String>, advice: &str) -> Advice {
    Advice { fine, found: found.into(), advice: if fine { String::new() } else { advice.to_owned() } }
}

fn text(
    environment: &Environment,
    facts: &MachineFacts,
    workers: Option<&WorkerFacts>,
    advice: &[Advice],
) -> String {
    let mut text = String::new();
    let mut line = |name: &str, value: &dyn Display| {
        let _ = writeln!(text, "  {name:<40} {value}");
    };
    let cpu = environment.cpu_model.as_deref().unwrap_or("unknown");
    line("processor", &cpu);
    let (sockets, cores, threads) = (environment.sockets, environment.cores, environment.hardware_threads);
    line("sockets, cores, hardware threads", &format!("{sockets}, {cores}, {threads}"));
    for cache in environment.caches.iter().filter(|cache| cache.kind != "Instruction") {
        let name = format!("level {} cache", cache.level);
        line(&name, &format!("{}, shared by {}", bytes(cache.bytes), cache.shared_by));
    }
    if let Some(memory) = environment.memory_bytes {
        line("memory", &bytes(memory));
    }
    line("system", &format!("{} {}", environment.system, environment.kernel));
    let ns = |ns: f64| format!("{ns:.1} ns");
    line("reading the clock", &ns(facts.clock_read_ns));
    line("one pause", &ns(facts.pause_ns));
    line("atomic read-modify-write", &ns(facts.read_modify_write_ns));
    match &facts.random_read {
        Some(read) => {
            line("read from memory", &ns(read.dependent_ns));
            line("sixteen reads at once, each", &ns(read.overlapped_ns));
        }
        None => line("read from memory", &"too little memory to tell"),
    }
    for trip in &facts.line_round_trips {
        let distance = serde_json::to_value(trip.distance).expect("a name");
        let distance = distance.as_str().unwrap_or_default().replace('-', " ");
        line(&format!("a line there and back, {distance}"), &ns(trip.ns));
    }
    if let Some(workers) = workers {
        let cost = |ns: f64, trips: f64| format!("{ns:.1} ns, {trips:.2} times a line there and back");
        let (request, trips) = (workers.delegated_request_ns, workers.delegated_request_in_round_trips);
        line("a delegated lock request and its answer", &cost(request, trips));
        let (migration, trips) = (workers.migration_there_and_back_ns, workers.migration_in_round_trips);
        line("a fiber's migration there and back", &cost(migration, trips));
    }
    if let Some(rate) = facts.copy_bytes_per_second {
        line("copying memory", &format!("{}/s", bytes(rate as u64)));
    }
    text.push('\n');
    for Advice { fine, found, advice } in advice {
        let _ = match fine {
            true => writeln!(text, "  fine   {found}"),
            false => writeln!(text, "  advice {found}: {advice}"),
        };
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(environment: &Environment, debug_build: bool) -> String {
        let advice = advise(environment, debug_build).into_iter().filter(|advice| !advice.fine);
        advice.map(|advice| format!("{}: {}\n", advice.found, advice.advice)).collect()
    }

    #[test]
    fn every_fault_has_advice() {
        let mut environment = Environment::of_this_machine();
        environment.hardware_threads = 1;
        environment.memory_available_bytes = Some(1 << 30);
        environment.transparent_huge_pages = Some("never".to_owned());
        environment.governor = Some("powersave".to_owned());
        environment.turbo = Some(true);
        environment.tsc_invariant = Some(false);
        environment.hypervisor = Some(true);
        let text = found(&environment, true);
        assert_eq!(text.lines().count(), 8, "{text}");
        assert!(text.lines().all(|line| line.split(": ").last().is_some_and(|advice| advice.len() > 10)));
        environment.hardware_threads = 8;
        environment.memory_available_bytes = Some(64 << 30);
        environment.transparent_huge_pages = Some("madvise".to_owned());
        environment.governor = Some("performance".to_owned());
        environment.turbo = Some(false);
        environment.tsc_invariant = Some(true);
        environment.hypervisor = Some(false);
        assert_eq!(found(&environment, false), "");
    }
}
