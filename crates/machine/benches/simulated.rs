//! What the simulated machine costs its host: an access that stays on its core, and one that switches.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use machine::simulated::atomic::{AtomicU64, Ordering};
use machine::simulated::{Exploration, Schedule, explore, worker};
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

criterion_group! {
    name = benches;
    config = Criterion::default()
        .sample_size(20)
        .warm_up_time(Duration::from_millis(200))
        .measurement_time(Duration::from_secs(1))
        .without_plots();
    targets = accesses, worlds
}
criterion_main!(benches);
