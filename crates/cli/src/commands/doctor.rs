//! `doctor`: is this machine fit for measuring, and what does it cost?
//!
//! Everything is measured by turns, in several rounds: in each round every fact once, and how much of the cores others take.
//! What was not the same in all rounds is said, with what to do about it.

use crate::advice::{Advice, Score, judge};
use crate::arguments::{json, typed};
use crate::calibrate::{SYSTEM, calibrate};
use crate::load_advice::{self, Load};
use crate::output;
use crate::worker_facts::{self, WorkerFacts};
use clap::{Arg, ArgAction, ArgMatches, Command};
use harness::failure::words;
use harness::text::numbers::{bytes, counted, thousands};
use harness::{BadValue, Failure};
use machine::hardware::environment::Environment;
use machine::hardware::facts::{Bench, Distance, MachineFacts};
use machine::hardware::rounds::{Fact, factor};
use serde_json::json;
use std::fmt::{Display, Write};
use std::path::Path;
use std::process::ExitCode;

/// Less than this does not hold the papers' tables.
const LITTLE_MEMORY_BYTES: u64 = 4 << 30;

/// Where this machine's file goes if nothing else is said.
pub(super) const LOCAL: &str = "machines/local.toml";

/// What can be typed.
pub fn arguments() -> Command {
    Command::new("doctor")
        .about("Look at this machine: is it fit for measuring, and what does it cost?")
        .arg(
            Arg::new("quick")
                .long("quick")
                .action(ArgAction::SetTrue)
                .help("Measure in three rounds on little memory, a second, not in seven, some five"),
        )
        .arg(
            Arg::new("calibrate")
                .long("calibrate")
                .value_name("FILE")
                .num_args(0..=1)
                .default_missing_value(LOCAL)
                .conflicts_with("quick")
                .help(format!(
                    "Write this machine down as a machine file for --on, in about a minute [default: {LOCAL}]"
                )),
        )
        .arg(json())
}

/// Rounds of `doctor`, and of `doctor --quick`.
const ROUNDS: usize = 7;
const QUICK_ROUNDS: usize = 3;

/// What the rounds found.
struct Findings {
    facts: MachineFacts,
    workers: Option<WorkerFacts>,
    load: Load,
}

/// Looks.
pub fn doctor(matches: &ArgMatches) -> Result<ExitCode, Failure> {
    let environment = Environment::of_this_machine();
    if let Some(file) = typed(matches, "calibrate") {
        return write_down(Path::new(file), &environment, matches.get_flag("json"));
    }
    let findings = measure(matches.get_flag("quick"));
    let Findings { facts, workers, load } = &findings;
    let mut advice = advise(&environment, cfg!(debug_assertions));
    advice.extend(load.advice());
    advice.extend(advise_on_rounds(facts, workers.as_ref()));
    if matches.get_flag("json") {
        output::print_json(&json!({
            "schema": "trireme.doctor/3",
            "environment": environment,
            "facts": facts,
            "workers": workers,
            "load": load,
            "score": Score::of(&advice),
            "advice": advice,
        }))?;
    } else {
        output::print(&text(&environment, &findings, &advice))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn measure(quick: bool) -> Findings {
    let watch = load_advice::Watching::begin();
    let mut bench = Bench::new(quick);
    let (mut rounds, mut workers, mut watch) = (Vec::new(), Vec::new(), watch);
    for _ in 0..if quick { QUICK_ROUNDS } else { ROUNDS } {
        let round = bench.round();
        workers.extend(worker_facts::Round::measure(bench.between_the_first_two(&round)));
        rounds.push(round);
        watch.try_cores();
    }
    Findings { facts: bench.facts(&rounds), workers: WorkerFacts::of(&workers), load: watch.end() }
}

/// Writes this machine down.
fn write_down(file: &Path, environment: &Environment, as_json: bool) -> Result<ExitCode, Failure> {
    // It takes minutes: whether there is a place for it is found out first.
    let place = std::fs::OpenOptions::new().append(true).create(true).open(file);
    place.map_err(|error| {
        BadValue::new("calibrate", file.display(), format!("a file that can be written ({})", words(&error)))
    })?;
    let calibrated = calibrate(environment)?;
    std::fs::write(file, &calibrated.text).map_err(Failure::write(file))?;
    let ((measured, simulated), trips) = (calibrated.one_worker_per_s, calibrated.round_trip_ns);
    if as_json {
        output::print_json(&json!({
            "schema": "trireme.calibration/1",
            "file": file,
            "one_worker_per_s": { "measured": measured, "simulated": simulated },
            "line_round_trip_ns": { "measured": trips.0, "simulated": trips.1 },
            "measured": calibrated.measured,
            "load": calibrated.load,
            "warnings": calibrated.warnings,
        }))?;
    } else {
        let warnings: String =
            calibrated.warnings.iter().map(|warning| format!("warning: {warning}\n")).collect();
        output::print(&format!(
            "one worker of {SYSTEM}: {} transactions/s measured, {} simulated\na line there and back: {:.1} ns measured, \
             {:.1} ns simulated\n{warnings}\nmachine file: {}\nnext: trireme validate --on {}\n",
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
        )
        .harming(60),
        judge(
            cores > 1,
            format!("{} that this process may use", counted(cores, "core")),
            "nothing runs side by side on one core: conflicts are rare and waits are long; use a larger machine, \
             and look for a restriction such as taskset or a container's limit",
        )
        .harming(20),
    ];
    all.extend(advise_on_memory(environment));
    all.extend(advise_on_clock(environment));
    all.push(advise_on_counters(environment));
    if environment.hypervisor == Some(true) {
        all.push(
            judge(
                false,
                "a virtual machine",
                "its host may take cores away unseen: watch the spread, and repeat what surprises",
            )
            .harming(5),
        );
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
        .harming(5)
    });
    let counter = environment.tsc_invariant.map(|invariant| {
        let found = if invariant { "the clock ticks at one rate" } else { "the clock's rate varies" };
        judge(invariant, found, "latencies are only roughly right")
    });
    [governor].into_iter().chain(turbo).chain(counter)
}

fn advise_on_counters(environment: &Environment) -> Advice {
    match &environment.counters_refusal {
        None => judge(true, "the processor's counters: given", ""),
        Some(refusal) => {
            let advice = format!(
                "results have no instructions, cycles and misses by transaction; {}",
                refusal.remedy()
            );
            // The figures are none the worse.
            judge(false, format!("the processor's counters: not given, {refusal}"), &advice).harming(0)
        }
    }
}

/// Facts of which some rounds say something else than others.
fn advise_on_rounds(facts: &MachineFacts, workers: Option<&WorkerFacts>) -> Vec<Advice> {
    let mut all = Vec::new();
    let mut named: Vec<(String, &Fact)> = vec![
        ("one pause".to_owned(), &facts.pause_ns),
        ("an atomic read-modify-write".to_owned(), &facts.read_modify_write_ns),
    ];
    if let Some(read) = &facts.random_read {
        named.push(("a read from memory".to_owned(), &read.dependent_ns));
    }
    named.extend(facts.line_round_trips.iter().map(|trip| (there_and_back(trip.distance), &trip.ns)));
    if let Some(workers) = workers {
        named.push(("a delegated request".to_owned(), &workers.delegated_request_ns));
        named.push(("a migration there and back".to_owned(), &workers.migration_there_and_back_ns));
        named.push(("ten ORTHRUS locks and their release".to_owned(), &workers.lock_set_ns));
    }
    all.extend(named.into_iter().filter(|(_, fact)| !fact.is_steady()).map(|(name, fact)| {
        let Fact { low, high, rounds, off, .. } = fact;
        judge(
            false,
            format!("the rounds disagree: {name} took {low:.1} ns to {high:.1} ns, {off} of {rounds} off the median"),
            "cores or their clock were changed meanwhile, so no single number is this machine's: pin the virtual machine's \
             cores if it is yours, wait for a quiet moment, and look again",
        )
    }));
    let moved = workers.map_or(0, |workers| workers.rounds_that_moved);
    if moved > 0 {
        all.push(judge(
            false,
            format!("the cores moved within {}: a line took another time before than after", counted(moved, "round")),
            "numbers in line round trips are of the other rounds; compare systems by many short, interleaved repetitions",
        ));
    }
    if let Some((ratio, medians)) = medians_apart(facts, workers) {
        all.push(judge(
            false,
            format!("the medians are of different rounds: a request takes {ratio:.2} lines there and back within a round, \
                     and {medians:.2} by the medians"),
            "go by the ratio, not by the nanoseconds, and look again",
        ));
    }
    all
}

/// A request in line round trips within a round, and by the medians, where these are not the same.
fn medians_apart(facts: &MachineFacts, workers: Option<&WorkerFacts>) -> Option<(f64, f64)> {
    let workers = workers?;
    let ratio = workers.delegated_request_in_round_trips?.median;
    let by_medians = |line: &Fact| workers.delegated_request_ns.median / line.median;
    let all = facts.line_round_trips.iter().map(|trip| by_medians(&trip.ns));
    // The workers are at one of the distances.
    let nearest = all.min_by(|one, other| factor(*one, ratio).total_cmp(&factor(*other, ratio)))?;
    (factor(nearest, ratio) > Fact::STEADY).then_some((ratio, nearest))
}

fn there_and_back(distance: Distance) -> String {
    let distance = serde_json::to_value(distance).expect("a name");
    format!("a line there and back, {}", distance.as_str().unwrap_or_default().replace('-', " "))
}

/// A median, and from where to where the rounds were.
fn spread(fact: &Fact, unit: &str) -> String {
    format!("{:.1} {unit}  ({:.1} to {:.1})", fact.median, fact.low, fact.high)
}

fn text(environment: &Environment, findings: &Findings, advice: &[Advice]) -> String {
    let Findings { facts, workers, load } = findings;
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
    line(
        "",
        &format!("median of {}, interleaved (lowest to highest)", counted(facts.pause_ns.rounds, "round")),
    );
    let ns = |fact: &Fact| spread(fact, "ns");
    line("reading the clock", &ns(&facts.clock_read_ns));
    line("one pause", &ns(&facts.pause_ns));
    line("atomic read-modify-write", &ns(&facts.read_modify_write_ns));
    match &facts.random_read {
        Some(read) => {
            line("read from memory", &ns(&read.dependent_ns));
            line("sixteen reads at once, each", &ns(&read.overlapped_ns));
        }
        None => line("read from memory", &"too little memory to tell"),
    }
    for trip in &facts.line_round_trips {
        line(&there_and_back(trip.distance), &ns(&trip.ns));
    }
    if let Some(workers) = workers {
        let cost = |fact: &Fact, trips: &Option<Fact>| match trips {
            Some(trips) => {
                let Fact { median, low, high, .. } = trips;
                format!("{}, {median:.2} lines there and back  ({low:.2} to {high:.2})", ns(fact))
            }
            None => ns(fact),
        };
        let request = cost(&workers.delegated_request_ns, &workers.delegated_request_in_round_trips);
        line("a delegated lock request and its answer", &request);
        let migration = cost(&workers.migration_there_and_back_ns, &workers.migration_in_round_trips);
        line("a fiber's migration there and back", &migration);
        let locks = cost(&workers.lock_set_ns, &workers.lock_set_in_round_trips);
        line("ten ORTHRUS locks, asked and given back", &locks);
        line("  of which the ORTHRUS thread works", &ns(&workers.lock_set_of_thread_ns));
        line("  and with 16 in flight", &ns(&workers.lock_set_of_thread_in_flight_ns));
        for (name, trip) in [
            ("eight bytes there and back, Unix sockets", &workers.unix_round_trip_ns),
            ("eight bytes there and back, TCP", &workers.tcp_round_trip_ns),
        ] {
            if let Some(trip) = trip {
                line(name, &ns(trip));
            }
        }
    }
    if let Some(rate) = &facts.copy_bytes_per_second {
        let per_s = |rate: f64| format!("{}/s", bytes(rate as u64));
        line(
            "copying memory",
            &format!("{}  ({} to {})", per_s(rate.median), per_s(rate.low), per_s(rate.high)),
        );
    }
    for (name, value) in load.lines() {
        line(&name, &value);
    }
    text.push('\n');
    for Advice { fine, found, advice, .. } in advice {
        let _ = match fine {
            true => writeln!(text, "  fine   {found}"),
            false => writeln!(text, "  advice {found}: {advice}"),
        };
    }
    text + "\n" + &Score::of(advice).text()
}

#[cfg(test)]
mod tests {
    use super::*;
    use machine::hardware::counters::Refusal;
    use machine::hardware::facts::LineRoundTrip;

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
        environment.counters_refusal = Some(Refusal::Forbidden(Some(4)));
        let text = found(&environment, true);
        assert_eq!(text.lines().count(), 9, "{text}");
        assert!(text.lines().all(|line| line.split(": ").last().is_some_and(|advice| advice.len() > 10)));
        environment.hardware_threads = 8;
        environment.memory_available_bytes = Some(64 << 30);
        environment.transparent_huge_pages = Some("madvise".to_owned());
        environment.governor = Some("performance".to_owned());
        environment.turbo = Some(false);
        environment.tsc_invariant = Some(true);
        environment.hypervisor = Some(false);
        environment.counters_refusal = None;
        assert_eq!(found(&environment, false), "");
    }

    fn steady(median: f64) -> Fact {
        Fact::of([median; 7]).expect("seven rounds")
    }

    /// Of a machine whose two cores are near each other in the first rounds and far from each other in the others.
    fn facts(near: usize, workers: &[worker_facts::Round]) -> (MachineFacts, Option<WorkerFacts>) {
        let line = (0..7).map(|round| if round < near { 113.0 } else { 451.0 });
        let facts = MachineFacts {
            clock_ticks_per_second: 1e9,
            clock_read_ns: steady(20.0),
            pause_ns: steady(30.0),
            read_modify_write_ns: steady(5.0),
            random_read: None,
            line_round_trips: vec![LineRoundTrip {
                distance: Distance::SameSocket,
                ns: Fact::of(line).expect("seven rounds"),
            }],
            copy_bytes_per_second: None,
        };
        (facts, WorkerFacts::of(workers))
    }

    #[test]
    fn rounds_that_disagree_are_named() {
        let at = |ns: f64| worker_facts::tests::round(ns, ns, ns);
        let (facts, workers) =
            facts(4, &[at(113.0), at(113.0), at(113.0), at(113.0), at(451.0), at(451.0), at(451.0)]);
        let said = advise_on_rounds(&facts, workers.as_ref());
        let found: Vec<&str> = said.iter().map(|advice| advice.found.as_str()).collect();
        assert!(
            found[0].contains("a line there and back, same socket took 113.0 ns to 451.0 ns, 3 of 7 off"),
            "{found:?}"
        );
        assert_eq!(found.len(), 4, "the line, the request, the migration and the locks: {found:?}");
        assert!(said.iter().all(|advice| !advice.fine && advice.advice.contains("look again")));
    }

    /// What stood in one answer once: 113 ns a line there and back, and 451 ns, 0.95 times a line there and back.
    #[test]
    fn a_request_that_does_not_fit_its_line_is_noticed() {
        let far = worker_facts::tests::round(451.0, 451.0, 451.0);
        let (facts, workers) = facts(7, &[far; 7]);
        let said = advise_on_rounds(&facts, workers.as_ref());
        assert!(
            said.iter()
                .any(|advice| advice.found.contains("1.00 lines there and back within a round, and 3.99 by")),
            "{said:?}"
        );
        let moved = worker_facts::tests::round(113.0, 451.0, 451.0);
        let (_, workers) = super::tests::facts(7, &[moved, far]);
        let said = advise_on_rounds(&facts, workers.as_ref());
        assert!(
            said.iter().any(|advice| advice.found.starts_with("the cores moved within 1 round")),
            "{said:?}"
        );
    }

    #[test]
    fn steady_rounds_are_not_spoken_of() {
        let near = worker_facts::tests::round(113.0, 113.0, 113.0);
        let (facts, workers) = facts(7, &[near; 7]);
        assert_eq!(advise_on_rounds(&facts, workers.as_ref()), []);
    }
}
