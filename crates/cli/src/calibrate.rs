//! `doctor --calibrate`: this machine as a machine file.
//!
//! What can be measured alone is: latencies of each level by a chain of dependent reads, of another core's line by a ball
//! that two threads throw, the costs of an atomic, a pause and the clock. Three numbers cannot, and are found by simulating
//! what was measured until both agree: what a line's transfer takes, on the ball; what computation takes, and what part of
//! a wait a core overlaps, on *one* system with *one* worker. Nothing else is fitted, so that all the rest, every other pair
//! and number of workers, can be used to judge the machine (`trireme validate`).

use crate::commands::run::Measure;
use crate::engines::Machine;
use contract::{ArchitectureName, PairName, ProtocolName};
use harness::measure::After;
use harness::observer::Silent;
use harness::{Failure, RunOptions, Subject};
use machine::hardware::environment::Environment;
use machine::hardware::facts::{self, Distance, MachineFacts};
use machine::hardware::topology::Topology;
use machine::simulated::atomic::{AtomicU64, Ordering};
use machine::simulated::{Description, cpu, simulate, worker};
use std::fmt::Write;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// The system on which computation is calibrated.
pub const SYSTEM: PairName =
    PairName { architecture: ArchitectureName::SharedEverything, protocol: ProtocolName::NoWait };

/// Rows of a table that fits in the private caches, its index included.
const FEW_RECORDS: &str = "2000";
/// Rows of one that fits in the last level only.
const MANY_RECORDS: &str = "100000";

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
    /// Throughput of [`SYSTEM`] on one worker: measured, and simulated with the file.
    pub one_worker_per_s: (f64, f64),
    /// A line there and back, in ns: measured, and simulated with the file.
    pub round_trip_ns: (f64, f64),
}

/// Measures for some ten seconds.
pub fn calibrate(environment: &Environment) -> Result<Calibrated, Failure> {
    let facts = facts::measure(false);
    let mut numbers = Numbers::measured(&facts, environment);
    let round_trip_ns = fit_transfers(&mut numbers, &facts, environment)?;
    let one_worker_per_s = fit_worker(&mut numbers, environment)?;
    Ok(Calibrated { text: numbers.text(environment), one_worker_per_s, round_trip_ns })
}

impl Numbers {
    fn measured(facts: &MachineFacts, environment: &Environment) -> Numbers {
        let frequency_mhz = frequency_mhz();
        let cycles = |ns: f64| ((ns * frequency_mhz as f64 / 1000.0).round() as u64).max(1);
        let data = |level| {
            let caches = environment.caches.iter();
            caches
                .filter(move |cache| cache.level == level && cache.kind != "Instruction")
                .max_by_key(|cache| cache.bytes)
        };
        let bytes = |level: u32, otherwise: u64| data(level).map_or(otherwise, |cache| cache.bytes);
        let (l1_bytes, l2_bytes) = (whole_sets(bytes(1, 32 << 10)), whole_sets(bytes(2, 1 << 20)));
        let cores = Topology::of_this_machine().hardware_threads();
        let l1 = Level { bytes: l1_bytes, ways: WAYS, cycles: cycles(dependent_ns(l1_bytes / 2)) };
        let l2_cycles = cycles(dependent_ns(l2_bytes / 2)).max(l1.cycles + 1);
        let l2 = Level { bytes: l2_bytes, ways: WAYS, cycles: l2_cycles };
        // As much as the cores have of their own at least: the model's last level has what they have.
        let last_bytes = bytes(3, 2 * l2_bytes * cores as u64).max(l2_bytes * cores as u64);
        let last_ns = facts::random_read((last_bytes / 8).max(2 * l2_bytes) as usize)
            .map_or(20.0, |read| read.dependent_ns);
        let last_cycles = cycles(last_ns).max(l2.cycles + 1);
        let (memory_ns, in_flight) = match &facts.random_read {
            Some(read) => (read.dependent_ns, read.dependent_ns / read.overlapped_ns),
            None => (100.0, 8.0),
        };
        let copied = facts.copy_bytes_per_second.unwrap_or(10e9);
        let last_level_ns = last_cycles * 1000 / frequency_mhz;
        Numbers {
            cores,
            frequency_mhz,
            l1,
            l2,
            last_bytes,
            last_cycles,
            transfer_cycles: last_cycles,
            memory_ns: (memory_ns.round() as u64).max(last_level_ns + 1),
            // What is copied is read and written.
            bandwidth_mb_per_s: (copied * 2.0 / 1e6) as u64,
            lines_in_flight: (in_flight.round() as u64).clamp(1, 64),
            atomic_cycles: cycles(facts.read_modify_write_ns),
            pause_cycles: cycles(facts.pause_ns),
            clock_cycles: cycles(facts.clock_read_ns),
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
            "# worker of shared-everything no-wait over micro of 2,000 and 100,000 rows. One socket, whatever there is.",
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
             clock_cycles = {}\nstall_percent = {}\nwork_percent = {}\n",
            self.atomic_cycles,
            self.atomic_cycles,
            self.pause_cycles,
            self.clock_cycles,
            self.stall_percent,
            self.work_percent
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
fn frequency_mhz() -> u64 {
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
    (f64::from(LINKS) * CYCLES_A_LINK / fastest / 1e6).round() as u64
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
    facts: &MachineFacts,
    environment: &Environment,
) -> Result<(f64, f64), Failure> {
    let Some(measured_ns) = measured_round_trip_ns(facts) else { return Ok((0.0, 0.0)) };
    let mut simulated = 0.0;
    for _ in 0..6 {
        simulated = round_trip_ns(&numbers.description(environment)?);
        let wanted = numbers.transfer_cycles as f64 * measured_ns / simulated;
        numbers.transfer_cycles = (wanted.round() as u64).max(numbers.last_cycles);
    }
    Ok((measured_ns, simulated))
}

/// A line there and back between two cores of a socket, or of those that there are; `None` if there is one core.
pub fn measured_round_trip_ns(facts: &MachineFacts) -> Option<f64> {
    let same_socket = facts.line_round_trips.iter().find(|trip| trip.distance == Distance::SameSocket);
    same_socket.or_else(|| facts.line_round_trips.last()).map(|trip| trip.ns)
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
/// measured. Answers the latter.
fn fit_worker(numbers: &mut Numbers, environment: &Environment) -> Result<(f64, f64), Failure> {
    let measured = one_worker_per_s(Machine::Hardware, FEW_RECORDS)?;
    for _ in 0..ROUNDS {
        let simulated = numbers.one_worker_per_s(FEW_RECORDS, environment)?;
        // A percent takes about as long whatever the rest takes: a transaction's cycles, measured less simulated.
        let transaction_s = 1.0 / measured - 1.0 / simulated;
        let percent_s = CYCLES_A_TRANSACTION / 100.0 / (numbers.frequency_mhz as f64 * 1e6);
        let wanted = numbers.work_percent as f64 + transaction_s / percent_s;
        numbers.work_percent = wanted.round().clamp(0.0, 10_000.0) as u64;
    }
    let measured = one_worker_per_s(Machine::Hardware, MANY_RECORDS)?;
    // The less of a wait is waited for, the faster: the most that is not too slow, by halving.
    let (mut low, mut high) = (1, 100);
    while low < high {
        numbers.stall_percent = u64::div_ceil(low + high, 2);
        if numbers.one_worker_per_s(MANY_RECORDS, environment)? >= measured {
            low = numbers.stall_percent;
        } else {
            high = numbers.stall_percent - 1;
        }
    }
    numbers.stall_percent = low;
    Ok((measured, numbers.one_worker_per_s(MANY_RECORDS, environment)?))
}

/// Enough for the work of a transaction, which one percent more lengthens by a constant.
const ROUNDS: usize = 6;

/// Computation of a transaction of ten reads as the engine tells it; it decides only how fast the fit is.
const CYCLES_A_TRANSACTION: f64 = 480.0;

impl Numbers {
    /// What one worker does on the machine with these numbers.
    fn one_worker_per_s(&self, records: &str, environment: &Environment) -> Result<f64, Failure> {
        // A few dozen of some hundred bytes, for as long as the process lives.
        let description: &'static Description = Box::leak(Box::new(self.description(environment)?));
        one_worker_per_s(Machine::Simulated(description), records)
    }
}

fn one_worker_per_s(machine: Machine, records: &str) -> Result<f64, Failure> {
    let given = [("records", records)].into_iter().collect();
    let workload = workloads::build("micro", &given).expect("records is a parameter of micro");
    let hardware = RunOptions {
        warmup: Duration::from_millis(200),
        duration: Duration::from_millis(500),
        repeat: 5,
        ..machine.defaults(RunOptions::for_compare)
    };
    let mut options = match machine {
        Machine::Hardware => hardware,
        Machine::Simulated(_) => RunOptions {
            duration: Duration::from_millis(4),
            warmup: Duration::from_millis(20),
            ..machine.defaults(RunOptions::for_compare)
        },
    };
    options.workers = 1;
    options.engine.prefetch = false;
    let subject = Subject::of(&workload, options, machine.place());
    let (options, after) = (&subject.options, After::Nothing);
    let job = Measure { workload: &workload, pairs: &[SYSTEM], options, after, observer: &Silent };
    let (measured, _) = machine.run(job)?;
    Ok(harness::results::System::of(&subject, &measured[0]).summary.throughput_per_s)
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
        let mut facts = facts::measure(true);
        facts.line_round_trips = vec![facts::LineRoundTrip { distance: Distance::SameSocket, ns: 300.0 }];
        let (measured, simulated) = fit_transfers(&mut numbers, &facts, &environment).expect("a machine");
        assert!((simulated / measured - 1.0).abs() < 0.05, "{measured} {simulated}");
        assert!(numbers.transfer_cycles > 50);
    }

    #[test]
    fn sets_are_powers_of_two() {
        assert_eq!(whole_sets(32 << 10), 32 << 10);
        assert_eq!(whole_sets(48 << 10), 32 << 10);
        assert_eq!(whole_sets(1), 512);
    }
}
