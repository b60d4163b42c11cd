//! What is measured of this machine: each number once in a round, in several rounds.

use super::fit::measured_per_s;
use super::numbers::Sizes;
use super::{FEW_RECORDS, MANY_RECORDS, channels};
use harness::Failure;
use machine::hardware::environment::Environment;
use machine::hardware::facts::{self, Bench, Distance};
use machine::hardware::rounds::Fact;
use machine::simulated::Description;
use serde::Serialize;
use std::collections::BTreeMap;
use std::hint::black_box;
use std::time::Instant;

/// Rounds: a second each, or somewhat more.
pub(super) const ROUNDS: usize = 9;

/// In a round, how often it is looked at what others can only make slower: the fastest counts.
pub(super) const LOOKS: usize = 5;

/// The numbers of a round by their names, or of all rounds.
#[derive(Clone, Debug, Serialize)]
#[serde(transparent)]
pub struct Measured(BTreeMap<&'static str, Fact>);

/// Each number once.
pub(super) fn measure_round(
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
    // Another user of the last level makes it slower, never faster.
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
    all.extend(channels::measure_round());
    for records in [FEW_RECORDS, MANY_RECORDS] {
        all.push((per_s(records), measured_per_s(records, round as u64)?));
    }
    Ok(all)
}

/// The name of one worker's throughput.
pub(super) fn per_s(records: &str) -> &'static str {
    if records == FEW_RECORDS { "few_records_per_s" } else { "many_records_per_s" }
}

impl Measured {
    pub(super) fn of(rounds: &[Vec<(&'static str, f64)>]) -> Measured {
        let mut by_name: BTreeMap<&'static str, Vec<f64>> = BTreeMap::new();
        for (name, value) in rounds.iter().flatten() {
            by_name.entry(name).or_default().push(*value);
        }
        Measured(by_name.into_iter().filter_map(|(name, values)| Some((name, Fact::of(values)?))).collect())
    }

    /// Every number by its name.
    pub(super) fn facts(&self) -> &BTreeMap<&'static str, Fact> {
        &self.0
    }

    /// The median of a number that every machine has.
    pub(super) fn value(&self, name: &str) -> f64 {
        self.0[name].median
    }

    /// `None` where the machine has no such thing.
    pub(super) fn median(&self, name: &str) -> Option<f64> {
        self.0.get(name).map(|fact| fact.median)
    }

    pub(super) fn warnings(&self) -> Vec<String> {
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
