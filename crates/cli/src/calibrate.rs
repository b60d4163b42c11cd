//! `doctor --calibrate`: this machine as a machine file.
//!
//! What can be measured alone is: latencies of each level by a chain of dependent reads, of another core's line by a ball
//! that two threads throw, the costs of an atomic, a pause and the clock. Three numbers cannot, and are found by simulating
//! what was measured until both agree: what a line's transfer takes, on the ball; what computation takes, and what part of
//! a wait a core overlaps, on *one* system with *one* worker. Nothing else is fitted, so that all the rest, every other pair
//! and number of workers, can be used to judge the machine (`trireme validate`).
//!
//! All of it is measured by turns, in several rounds, and the medians are taken, so that a machine that is disturbed now and
//! then is written down alike each time. What is counted in cycles is divided by the clock rate of its own round. How far the
//! rounds were from each other stands in the file, and what was too far is warned of; nothing is refused.

use crate::commands::run::Measure;
use crate::engines::Machine;
use crate::load_advice::{Load, Watching};
use crate::warm;
use contract::{ArchitectureName, PairName, ProtocolName};
use harness::measure::After;
use harness::observer::Silent;
use harness::text::dates::Utc;
use harness::{Failure, RunOptions, Subject};
use machine::hardware::environment::Environment;
use machine::hardware::facts::{self, Bench, Distance};
use machine::hardware::rounds::{Fact, factor};
use machine::hardware::topology::Topology;
use machine::simulated::atomic::{AtomicU64, Ordering};
use machine::simulated::{Description, cpu, simulate, worker};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// The system on which computation is calibrated.
pub const SYSTEM: PairName =
    PairName { architecture: ArchitectureName::SharedEverything, protocol: ProtocolName::NoWait };

/// Rows of a table that fits in the private caches, its index included.
const FEW_RECORDS: &str = "2000";
/// Rows of one that fits in the last level only.
const MANY_RECORDS: &str = "20000";

/// This machine's numbers, as its file has them.
#[derive(Clone, Debug)]
struct Numbers {
    cores: usize,
    frequency_mhz: u64,
    l1: Level,
    l2: Level,
    last_bytes: u64,
    last_cycles: u64,
    transfer_cycles: u64,
    memory_ns: u64,
    bandwidth_mb_per_s: u64,
    lines_in_flight: u64,
    atomic_cycles: u64,
    pause_cycles: u64,
    clock_cycles: u64,
    stall_percent: u64,
    work_percent: u64,
}

#[derive(Clone, Copy, Debug)]
struct Level {
    bytes: u64,
    ways: u64,
    cycles: u64,
}

/// What came of it.
pub struct Calibrated {
    /// The file.
    pub text: String,
    /// What was measured, by name.
    pub measured: Measured,
    /// Throughput of [`SYSTEM`] on one worker: measured, and simulated with the file.
    pub one_worker_per_s: (f64, f64),
    /// A line there and back, in ns: measured, and simulated with the file.
    pub round_trip_ns: (f64, f64),
    /// What others took meanwhile.
    pub load: Load,
    /// What is to be doubted.
    pub warnings: Vec<String>,
}

/// Rounds: a second each, or somewhat more.
const ROUNDS: usize = 9;

/// In a round, how often it is looked at what others can only make slower: the fastest counts.
const LOOKS: usize = 5;

/// The numbers of a round by their names, or of all rounds.
#[derive(Clone, Debug, Serialize)]
#[serde(transparent)]
pub struct Measured(BTreeMap<&'static str, Fact>);

/// Measures and simulates for about half a minute.
pub fn calibrate(environment: &Environment) -> Result<Calibrated, Failure> {
    let mut watching = Watching::begin();
    let mut bench = Bench::new(false);
    let mut rounds = Vec::new();
    for round in 0..ROUNDS {
        watching.try_cores();
        rounds.push(measure_round(&mut bench, environment, round)?);
    }
    let load = watching.end();
    let measured = Measured::of(&rounds);
    let mut numbers = Numbers::of(&measured, environment);
    let round_trip_ns = fit_transfers(&mut numbers, measured.median("line_round_trip_ns"), environment)?;
    let few_and_many = [FEW_RECORDS, MANY_RECORDS].map(|records| measured.0[per_s(records)].median);
    let [few_per_s, many_per_s] = fit_worker(&mut numbers, few_and_many, environment)?;
    let mut warnings = measured.warnings();
    warnings.extend(unreached("one worker over few rows", few_per_s));
    warnings.extend(unreached("one worker over many rows", many_per_s));
    warnings.extend(unreached("a line there and back", round_trip_ns));
    warnings.extend(load.warnings());
    let text = format!("{}{}", comment(environment, &measured, &warnings), numbers.text(environment));
    Ok(Calibrated { text, measured, one_worker_per_s: many_per_s, round_trip_ns, load, warnings })
}

/// Each number once.
fn measure_round(
    bench: &mut Bench,
    environment: &Environment,
    round: usize,
) -> Result<Vec<(&'static str, f64)>, Failure> {
    let sizes = Sizes::of(environment);
    let mhz = frequency_mhz();
    let cycles = |ns: f64| ns * mhz / 1000.0;
    let mut all = vec![
        ("frequency_mhz", mhz),
        ("l1_cycles", cycles(dependent_ns(sizes.l1_bytes / 2))),
        ("l2_cycles", cycles(dependent_ns(sizes.l2_bytes / 2))),
    ];
    // Whoever else uses the last level makes it slower, never faster.
    let read_ns = |_| facts::random_read_ns((sizes.last_bytes / 8).max(2 * sizes.l2_bytes) as usize);
    let last_ns = (0..LOOKS).filter_map(read_ns).reduce(f64::min);
    all.extend(last_ns.map(|ns| ("last_cycles", cycles(ns))));
    let facts = bench.round();
    all.extend([
        ("atomic_cycles", cycles(facts.read_modify_write_ns)),
        ("pause_cycles", cycles(facts.pause_ns)),
        ("clock_cycles", cycles(facts.clock_read_ns)),
    ]);
    if let Some((dependent_ns, overlapped_ns)) = facts.random_read_ns {
        all.extend([("memory_ns", dependent_ns), ("lines_in_flight", dependent_ns / overlapped_ns)]);
    }
    // What is copied is read and written.
    let copied = facts.copy_bytes_per_second;
    all.extend(copied.map(|bytes| ("bandwidth_mb_per_s", bytes * 2.0 / 1e6)));
    let near = facts.line_round_trips_ns.iter().find(|(distance, _)| *distance == Distance::SameSocket);
    let trip = near.or_else(|| facts.line_round_trips_ns.last());
    all.extend(trip.map(|(_, ns)| ("line_round_trip_ns", *ns)));
    for records in [FEW_RECORDS, MANY_RECORDS] {
        all.push((per_s(records), measured_per_s(records, round as u64)?));
    }
    Ok(all)
}

/// The name of one worker's throughput.
fn per_s(records: &str) -> &'static str {
    if records == FEW_RECORDS { "few_records_per_s" } else { "many_records_per_s" }
}

impl Measured {
    fn of(rounds: &[Vec<(&'static str, f64)>]) -> Measured {
        let mut by_name: BTreeMap<&'static str, Vec<f64>> = BTreeMap::new();
        for (name, value) in rounds.iter().flatten() {
            by_name.entry(name).or_default().push(*value);
        }
        Measured(by_name.into_iter().filter_map(|(name, values)| Some((name, Fact::of(values)?))).collect())
    }

    /// `None` where the machine has no such thing.
    fn median(&self, name: &str) -> Option<f64> {
        self.0.get(name).map(|fact| fact.median)
    }

    fn warnings(&self) -> Vec<String> {
        let unsteady = self.0.iter().filter(|(_, fact)| !fact.is_steady());
        let warning = |(name, fact): (&&str, &Fact)| {
            let Fact { median, low, high, rounds, off } = fact;
            format!(
                "the rounds disagree: {name} was {low:.1} to {high:.1}, {off} of {rounds} off the median, {median:.1}: \
                 calibrate again in a quiet moment"
            )
        };
        unsteady.map(warning).collect()
    }
}

/// What was fitted does not come out.
fn unreached(what: &str, (measured, simulated): (f64, f64)) -> Option<String> {
    const REACHED: f64 = 1.05;
    (measured > 0.0 && factor(measured, simulated) > REACHED).then(|| {
        format!("no number of the file makes {what} what it was measured to be: {measured:.0}, and {simulated:.0} simulated")
    })
}

/// When, in how many rounds, and how far they were from each other.
fn comment(environment: &Environment, measured: &Measured, warnings: &[String]) -> String {
    let processor = environment.cpu_model.as_deref().unwrap_or("an unknown processor");
    let mut text = format!(
        "# Written on {} on {processor}: {ROUNDS} rounds by turns, median (lowest to highest):\n#\n",
        Utc::now().readable()
    );
    for (name, Fact { median, low, high, .. }) in &measured.0 {
        let _ = writeln!(text, "# {name:<20} {median:.1} ({low:.1} to {high:.1})");
    }
    for warning in warnings {
        let _ = writeln!(text, "#\n# warning: {warning}");
    }
    text + "#\n"
}

/// The sizes of the caches, as the system tells them.
struct Sizes {
    l1_bytes: u64,
    l2_bytes: u64,
    last_bytes: u64,
}

impl Sizes {
    fn of(environment: &Environment) -> Sizes {
        let data = |level| {
            let caches = environment.caches.iter();
            caches
                .filter(move |cache| cache.level == level && cache.kind != "Instruction")
                .max_by_key(|cache| cache.bytes)
        };
        let bytes = |level: u32, otherwise: u64| data(level).map_or(otherwise, |cache| cache.bytes);
        let l2_bytes = whole_sets(bytes(2, 1 << 20));
        // As much as the cores have of their own at least: the model's last level has what they have.
        let own = l2_bytes * Topology::of_this_machine().hardware_threads() as u64;
        Sizes { l1_bytes: whole_sets(bytes(1, 32 << 10)), l2_bytes, last_bytes: bytes(3, 2 * own).max(own) }
    }
}

impl Numbers {
    fn of(measured: &Measured, environment: &Environment) -> Numbers {
        let whole =
            |name: &str, otherwise: f64| (measured.median(name).unwrap_or(otherwise).round() as u64).max(1);
        let sizes = Sizes::of(environment);
        let frequency_mhz = whole("frequency_mhz", 1000.0);
        let l1 = Level { bytes: sizes.l1_bytes, ways: WAYS, cycles: whole("l1_cycles", 4.0) };
        let l2_cycles = whole("l2_cycles", 14.0).max(l1.cycles + 1);
        let l2 = Level { bytes: sizes.l2_bytes, ways: WAYS, cycles: l2_cycles };
        let last_cycles = whole("last_cycles", 50.0).max(l2.cycles + 1);
        let last_level_ns = last_cycles * 1000 / frequency_mhz;
        Numbers {
            cores: Topology::of_this_machine().hardware_threads(),
            frequency_mhz,
            l1,
            l2,
            last_bytes: sizes.last_bytes,
            last_cycles,
            transfer_cycles: last_cycles,
            memory_ns: whole("memory_ns", 100.0).max(last_level_ns + 1),
            bandwidth_mb_per_s: whole("bandwidth_mb_per_s", 20_000.0),
            lines_in_flight: whole("lines_in_flight", 8.0).min(64),
            atomic_cycles: whole("atomic_cycles", 20.0),
            pause_cycles: whole("pause_cycles", 40.0),
            clock_cycles: whole("clock_cycles", 30.0),
            stall_percent: 100,
            work_percent: 100,
        }
    }

    fn text(&self, environment: &Environment) -> String {
        let Numbers { cores, frequency_mhz, l1, l2, last_bytes, last_cycles, transfer_cycles, .. } = self;
        let processor = environment.cpu_model.as_deref().unwrap_or("an unknown processor").replace('"', "'");
        let mut text = String::new();
        let mut line = |line: &str| {
            let _ = writeln!(text, "{line}");
        };
        line(
            "# The machine on which `trireme doctor --calibrate` wrote this. Measured, but for three numbers that were",
        );
        line(
            "# fitted: the transfers, on a line there and back between two threads; work_percent and stall_percent, on one",
        );
        line(
            "# worker of shared-everything no-wait over micro of 2,000 and 20,000 rows. One socket, whatever there is.",
        );
        line("");
        line("name = \"local\"");
        line(&format!("source = \"trireme doctor --calibrate, on {processor}\""));
        line(&format!("cores = {cores}\nfrequency_mhz = {frequency_mhz}\n"));
        line("[sockets]\ncount = 1\n");
        for (name, level) in [("l1", l1), ("l2", l2)] {
            line(&format!(
                "[caches.{name}]\nbytes = {}\nways = {}\nlatency_cycles = {}\n",
                level.bytes, level.ways, level.cycles
            ));
        }
        line(&format!("[caches.last]\nbytes = {last_bytes}\n\n[transfers]"));
        for (name, cycles) in [
            ("load_modified", transfer_cycles),
            ("load_exclusive", transfer_cycles),
            ("load_shared", last_cycles),
            ("store_modified", transfer_cycles),
            ("store_exclusive", transfer_cycles),
            ("store_shared", transfer_cycles),
        ] {
            line(&format!("{name}_cycles = [{cycles}]"));
        }
        line(&format!(
            "\n[memory]\ncontrollers = 1\nlatency_ns = [{}]\nbandwidth_mb_per_s = {}\n",
            self.memory_ns, self.bandwidth_mb_per_s
        ));
        let in_flight = self.lines_in_flight;
        line(&format!(
            "[core]\nlines_in_flight = {in_flight}\nprefetches_in_flight = {in_flight}\nbuffered_stores = 64\n\
             store_cycles = 1\nrepeated_load_cycles = 1\natomic_cycles = {}\nfence_cycles = {}\npause_cycles = {}\n\
             clock_cycles = {}\nstall_percent = {}\nwork_percent = {}\njitter_cycles = {}\n",
            self.atomic_cycles,
            self.atomic_cycles,
            self.pause_cycles,
            self.clock_cycles,
            self.stall_percent,
            self.work_percent,
            JITTER_NS * self.frequency_mhz / 1000
        ));
        line("[contention]\nread_interval_cycles = 1\ntransfer_percent = 100");
        text
    }

    fn description(&self, environment: &Environment) -> Result<Description, Failure> {
        Description::parse(&self.text(environment)).map_err(|error| Failure::Input {
            place: "this machine, as it was measured".to_owned(),
            what: error.to_string(),
        })
    }
}

/// As all levels of one processor family have, or nearly.
const WAYS: u64 = 8;

/// The largest size not above `bytes` that is a power of two of sets.
fn whole_sets(bytes: u64) -> u64 {
    let set_bytes = WAYS * Description::LINE_BYTES;
    (1 << (bytes / set_bytes).max(1).ilog2()) * set_bytes
}

/// By a chain of multiplications, which take three cycles each on every processor of today, and exclusive ors.
fn frequency_mhz() -> f64 {
    const LINKS: u32 = 2_000_000;
    const CYCLES_A_LINK: f64 = 4.0;
    let once = || {
        let (factor, mask) = (black_box(0x9E37_79B9_7F4A_7C15_u64), black_box(0x55_u64));
        let began = Instant::now();
        let mut link = black_box(1u64);
        for _ in 0..LINKS {
            link = link.wrapping_mul(factor) ^ mask;
        }
        black_box(link);
        began.elapsed().as_secs_f64()
    };
    let fastest = (0..20).map(|_| once()).fold(f64::INFINITY, f64::min);
    f64::from(LINKS) * CYCLES_A_LINK / fastest / 1e6
}

/// A read after another one, of a random line of `bytes` bytes.
fn dependent_ns(bytes: u64) -> f64 {
    const WORDS: usize = 8;
    const READS: u32 = 200_000;
    let lines = (bytes / Description::LINE_BYTES) as usize;
    assert!(lines.is_power_of_two() && lines >= 4, "{bytes} bytes");
    // A linear congruential generator: over a power of two of lines, with these numbers, it visits all of them, and by steps
    // of which no prefetcher makes anything.
    let after = |line: usize| (line.wrapping_mul(1_664_525).wrapping_add(1_013_904_223)) % lines;
    let mut next = vec![0usize; lines * WORDS];
    for line in 0..lines {
        next[line * WORDS] = after(line) * WORDS;
    }
    let mut at = 0;
    let mut once = || {
        let began = Instant::now();
        for _ in 0..READS {
            at = next[at];
        }
        black_box(at);
        began.elapsed().as_nanos() as f64 / f64::from(READS)
    };
    (0..7).map(|_| once()).fold(f64::INFINITY, f64::min)
}

/// Finds what a transfer takes so that the ball takes as long there and back as was measured. One core throws none.
fn fit_transfers(
    numbers: &mut Numbers,
    measured_ns: Option<f64>,
    environment: &Environment,
) -> Result<(f64, f64), Failure> {
    let Some(measured_ns) = measured_ns else { return Ok((0.0, 0.0)) };
    let mut simulated = 0.0;
    for _ in 0..6 {
        simulated = round_trip_ns(&numbers.description(environment)?);
        let wanted = numbers.transfer_cycles as f64 * measured_ns / simulated;
        numbers.transfer_cycles = (wanted.round() as u64).max(numbers.last_cycles);
    }
    Ok((measured_ns, simulated))
}

/// A line there and back between the first two workers of this machine; `None` if there is one core.
pub fn measured_round_trip_ns() -> Option<f64> {
    let places = &Topology::of_this_machine().fill_order;
    Some(facts::line_round_trip_ns(*places.first()?, *places.get(1)?))
}

/// A line there and back between the first two cores of a simulated machine.
pub fn round_trip_ns(description: &Description) -> f64 {
    const TRIPS: u64 = 2000;
    #[repr(align(128))]
    struct Line(AtomicU64);
    simulate(description, 1, || {
        let ball = Line(AtomicU64::new(0));
        let took = worker::run(2, |me| {
            let began = machine::simulated::clock::now();
            for trip in 0..TRIPS {
                // Odd numbers come, even ones go back.
                let mine = 2 * trip + me as u64;
                while ball.0.load(Ordering::Acquire) != mine {
                    cpu::pause();
                }
                ball.0.store(mine + 1, Ordering::Release);
            }
            machine::simulated::clock::nanoseconds(machine::simulated::clock::now().since(began))
        });
        took[0] as f64 / TRIPS as f64
    })
}

/// Finds what computation takes, on a table that fits in the private caches, and then what part of a wait for lines of the
/// last level a core really waits, on one that does not; both so that one worker does as many transactions a second as were
/// measured, of few and of many rows. Answers both, measured and simulated.
fn fit_worker(
    numbers: &mut Numbers,
    [few_per_s, many_per_s]: [f64; 2],
    environment: &Environment,
) -> Result<[(f64, f64); 2], Failure> {
    for _ in 0..STEPS_OF_WORK {
        let simulated = numbers.one_worker_per_s(FEW_RECORDS, few_per_s, environment)?;
        // A percent takes about as long whatever the rest takes: a transaction's cycles, measured less simulated.
        let transaction_s = 1.0 / few_per_s - 1.0 / simulated;
        let percent_s = CYCLES_A_TRANSACTION / 100.0 / (numbers.frequency_mhz as f64 * 1e6);
        let wanted = numbers.work_percent as f64 + transaction_s / percent_s;
        numbers.work_percent = wanted.round().clamp(0.0, 10_000.0) as u64;
    }
    // The less of a wait is waited for, the faster: the most that is not too slow, by halving.
    let (mut low, mut high) = (1, 100);
    while low < high {
        numbers.stall_percent = u64::div_ceil(low + high, 2);
        if numbers.one_worker_per_s(MANY_RECORDS, many_per_s, environment)? >= many_per_s {
            low = numbers.stall_percent;
        } else {
            high = numbers.stall_percent - 1;
        }
    }
    numbers.stall_percent = low;
    let simulated = |records, measured_per_s| -> Result<(f64, f64), Failure> {
        Ok((measured_per_s, numbers.one_worker_per_s(records, measured_per_s, environment)?))
    };
    Ok([simulated(FEW_RECORDS, few_per_s)?, simulated(MANY_RECORDS, many_per_s)?])
}

/// Enough for the work of a transaction, which one percent more lengthens by a constant.
const STEPS_OF_WORK: usize = 6;

/// What an attempt is held up by at most, as in the machine files: what one closed row of memory adds. It is not measured.
const JITTER_NS: u64 = 28;

/// Computation of a transaction of ten reads as the engine tells it; it decides only how fast the fit is.
const CYCLES_A_TRANSACTION: f64 = 480.0;

impl Numbers {
    /// What one worker does on the machine with these numbers over a table that it has been doing `measured_per_s` over.
    fn one_worker_per_s(
        &self,
        records: &str,
        measured_per_s: f64,
        environment: &Environment,
    ) -> Result<f64, Failure> {
        // A few dozen of some hundred bytes, for as long as the process lives.
        let description: &'static Description = Box::leak(Box::new(self.description(environment)?));
        let machine = Machine::Simulated(description);
        let rows = records.parse().expect("a number of ours");
        let (warmup, duration) = warm::times(rows, measured_per_s);
        let defaults = machine.defaults(RunOptions::for_compare);
        one_worker_per_s(machine, records, RunOptions { warmup, duration, repeat: 1, ..defaults })
    }
}

/// What it does on this machine: the fastest of many repetitions, each shorter than what a scheduler gives at a time, so
/// that in one of them nobody else ran.
fn measured_per_s(records: &str, seed: u64) -> Result<f64, Failure> {
    let mut options = RunOptions {
        warmup: Duration::from_millis(10),
        duration: Duration::from_millis(15),
        repeat: 4 * LOOKS,
        ..Machine::Hardware.defaults(RunOptions::for_compare)
    };
    options.engine.seed = seed;
    one_worker_per_s(Machine::Hardware, records, options)
}

/// The fastest of the repetitions.
fn one_worker_per_s(machine: Machine, records: &str, mut options: RunOptions) -> Result<f64, Failure> {
    let given = [("records", records)].into_iter().collect();
    let workload = workloads::build("micro", &given).expect("records is a parameter of micro");
    options.workers = 1;
    options.engine.prefetch = false;
    let subject = Subject::of(&workload, options, machine.place());
    let (options, after) = (&subject.options, After::Nothing);
    let job = Measure { workload: &workload, pairs: &[SYSTEM], options, after, observer: &Silent };
    let (measured, _) = machine.run(job)?;
    Ok(harness::results::System::of(&subject, &measured[0]).summary.throughput_max)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers() -> Numbers {
        Numbers {
            cores: 2,
            frequency_mhz: 3000,
            l1: Level { bytes: 32 << 10, ways: WAYS, cycles: 4 },
            l2: Level { bytes: 1 << 20, ways: WAYS, cycles: 14 },
            last_bytes: 32 << 20,
            last_cycles: 50,
            transfer_cycles: 50,
            memory_ns: 100,
            bandwidth_mb_per_s: 20_000,
            lines_in_flight: 16,
            atomic_cycles: 8,
            pause_cycles: 40,
            clock_cycles: 30,
            stall_percent: 100,
            work_percent: 100,
        }
    }

    #[test]
    fn what_is_written_is_a_machine() {
        let environment = Environment::of_this_machine();
        let description = numbers().description(&environment).expect("a machine");
        assert_eq!((description.cores, description.core.work_percent), (2, 100));
    }

    #[test]
    fn the_ball_decides_the_transfers() {
        let environment = Environment::of_this_machine();
        let mut numbers = numbers();
        let (measured, simulated) =
            fit_transfers(&mut numbers, Some(300.0), &environment).expect("a machine");
        assert!((simulated / measured - 1.0).abs() < 0.05, "{measured} {simulated}");
        assert!(numbers.transfer_cycles > 50);
    }

    #[test]
    fn sets_are_powers_of_two() {
        assert_eq!(whole_sets(32 << 10), 32 << 10);
        assert_eq!(whole_sets(48 << 10), 32 << 10);
        assert_eq!(whole_sets(1), 512);
    }

    /// Rounds in which the two cores were near each other, and some in which they were not.
    fn rounds(far: usize) -> Measured {
        let round = |number| {
            let trip_ns = if number < far { 451.0 } else { 113.0 };
            vec![
                ("line_round_trip_ns", trip_ns),
                ("frequency_mhz", 3000.0 + number as f64),
                ("l1_cycles", 4.02),
            ]
        };
        Measured::of(&(0..ROUNDS).map(round).collect::<Vec<_>>())
    }

    #[test]
    fn medians_are_written_down_with_their_spread_and_a_disturbed_round_changes_nothing() {
        let environment = Environment::of_this_machine();
        let (quiet, disturbed) = (rounds(0), rounds(1));
        let text = |measured| Numbers::of(measured, &environment).text(&environment);
        assert_eq!(text(&quiet), text(&disturbed));
        assert!(
            text(&quiet).contains("frequency_mhz = 3004\n") && text(&quiet).contains("latency_cycles = 4\n")
        );
        assert_eq!(disturbed.median("line_round_trip_ns"), Some(113.0));
        assert_eq!(disturbed.warnings(), [""; 0]);
        let whole = comment(&environment, &disturbed, &["somebody ran".to_owned()]) + &text(&disturbed);
        assert!(whole.contains("# line_round_trip_ns   113.0 (113.0 to 451.0)\n"), "{whole}");
        assert!(whole.contains("# warning: somebody ran\n"), "{whole}");
        Description::parse(&whole).expect("a machine, comments and all");
    }

    #[test]
    fn rounds_that_disagree_are_warned_of_and_not_refused() {
        let warnings = rounds(3).warnings();
        assert!(
            warnings.len() == 1 && warnings[0].contains("line_round_trip_ns was 113.0 to 451.0, 3 of 9"),
            "{warnings:?}"
        );
        assert_eq!(unreached("one worker", (100.0, 99.0)), None);
        assert!(
            unreached("one worker", (100.0, 80.0))
                .is_some_and(|words| words.contains("100, and 80 simulated"))
        );
    }
}
