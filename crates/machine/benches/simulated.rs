//! What the simulated machines cost their host.
//!
//! Of an exploration: an access that stays on its core, and one that switches. Of a simulation: the host's time for an
//! access, by how many cores there are and what it meets. `SIMULATED_EVENTS` sets how many events each of those runs has.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use machine::simulated::atomic::{AtomicU64, Ordering};
use machine::simulated::region::Region;
use machine::simulated::{Description, Exploration, Schedule, cpu, explore, simulate, statistics, worker};
use std::time::Duration;

const WORKERS: usize = 4;
const ACCESSES: u64 = 50_000;

fn accesses(criterion: &mut Criterion) {
    let schedules = [
        ("switching at every access", Schedule::RoundRobin),
        ("switching at one in 16", Schedule::Random { seed: 1, switch_one_in: 16 }),
        ("switching at three", Schedule::Pct { seed: 1, depth: 4, steps: WORKERS as u64 * ACCESSES }),
    ];
    let mut group = criterion.benchmark_group("access");
    group.throughput(Throughput::Elements(WORKERS as u64 * ACCESSES));
    for (name, schedule) in schedules {
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                explore(Exploration::of(schedule), || {
                    let word = AtomicU64::new(0);
                    worker::run(WORKERS, |_| {
                        for _ in 0..ACCESSES {
                            word.load(Ordering::Relaxed);
                        }
                    });
                });
            });
        });
    }
}

/// Making a machine and its cores, which explorations of small worlds do over and over.
fn worlds(criterion: &mut Criterion) {
    criterion.bench_function("a world of four cores", |bencher| {
        bencher.iter(|| explore(Schedule::RoundRobin, || worker::run(WORKERS, |w| w)));
    });
}

/// A word of a region; every line is touched through its first word.
fn word(region: &Region, line: usize) -> &AtomicU64 {
    assert!(line * 64 < region.len());
    // SAFETY: aligned, zeroed bytes of the region, which outlives the reference and is only accessed as such words.
    unsafe { &*region.base().add(line * 64).cast::<AtomicU64>() }
}

/// What a core does, given its number, its number of accesses and the region.
type Pattern = fn(usize, u64, &Region);

/// Lines that stay in the first level, two in turn, so that no load repeats another's line.
fn private_hits(core: usize, accesses: u64, region: &Region) {
    for n in 0..accesses {
        word(region, 64 * core + (n % 2) as usize).load(Ordering::Relaxed);
    }
}

fn one_contended_line(_: usize, accesses: u64, region: &Region) {
    for _ in 0..accesses {
        word(region, 0).fetch_add(1, Ordering::Relaxed);
    }
}

fn random_over_1_gb(core: usize, accesses: u64, region: &Region) {
    let mut draw = fastrand::Rng::with_seed(core as u64);
    for _ in 0..accesses {
        word(region, draw.usize(..region.len() / 64)).load(Ordering::Relaxed);
    }
}

/// Nothing but letting others go first.
fn switches(_: usize, accesses: u64, _: &Region) {
    for _ in 0..accesses {
        cpu::work(100);
        cpu::pause();
    }
}

/// What the host has spent on this thread, in nanoseconds, where it says so: others may be using it, too.
fn cpu_ns() -> Option<u64> {
    let schedstat = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    schedstat.split_whitespace().next()?.parse().ok()
}

/// Not by criterion: a run has a start that is not to be counted, and says itself what it took.
fn simulations(_: &mut Criterion) {
    let events: u64 =
        std::env::var("SIMULATED_EVENTS").ok().and_then(|n| n.parse().ok()).unwrap_or(2_000_000);
    let machines = [
        ("haswell-ex-4x18", include_str!("../../../machines/haswell-ex-4x18.toml"), 2),
        ("haswell-ex-4x18", include_str!("../../../machines/haswell-ex-4x18.toml"), 72),
        ("graphite-mesh-1024", include_str!("../../../machines/graphite-mesh-1024.toml"), 1024),
    ];
    let patterns: [(&str, Pattern); 4] = [
        ("private hits", private_hits),
        ("one contended line", one_contended_line),
        ("random over 1 GB", random_over_1_gb),
        ("switches", switches),
    ];
    let region = Region::reserve(1 << 30).expect("1 GB");
    region.fault_in(0..region.len());
    let only = std::env::var("SIMULATED_ONLY").unwrap_or_default();
    for (name, file, cores) in machines {
        let machine = Description::parse(file).expect("a machine of the repository");
        for (what, pattern) in patterns.into_iter().filter(|(what, _)| what.contains(&only)) {
            let (statistics, cpu_ns) = simulate(&machine, 1, || {
                let before = cpu_ns();
                worker::run(cores, |core| pattern(core, events / cores as u64, &region));
                (statistics(), before.zip(cpu_ns()).map(|(before, after)| after - before))
            });
            println!(
                "{name}, {cores} cores, {what}: {:.1} ns of the host for an event, {:.1} of them on its processor; \
                 {} events, {} switches, {:?} simulated",
                statistics.host_ns_per_event(),
                cpu_ns.map_or(f64::NAN, |ns| ns as f64 / statistics.events as f64),
                statistics.events,
                statistics.switches,
                statistics.simulated,
            );
        }
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .sample_size(20)
        .warm_up_time(Duration::from_millis(200))
        .measurement_time(Duration::from_secs(1))
        .without_plots();
    targets = accesses, worlds, simulations
}
criterion_main!(benches);
