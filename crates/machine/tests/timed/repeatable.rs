//! The same seed gives the same run, bit for bit: twice in one process, and in another one, whose addresses differ.

use super::machine;
use machine::simulated::atomic::{AtomicU64, Ordering};
use machine::simulated::latch::{Latch, TestAndTestAndSet};
use machine::simulated::region::Region;
use machine::simulated::{clock, cpu, payload, simulate, statistics, trace_hash, unobserved, worker};
use std::process::Command;
use std::time::Duration;

#[repr(align(128))]
#[derive(Default)]
struct Line(AtomicU64);

/// What tells two runs apart: the trace, the clocks of all workers, and every count.
fn run(name: &str, workers: usize, seed: u64) -> String {
    // A region that the simulation finds, and one that it makes.
    let found = unobserved(|| Region::reserve(4 << 20)).expect("4 MiB");
    simulate(&machine(name), seed, || {
        let mut made = Region::reserve(8 << 20).expect("8 MiB");
        let stride = made.elide(1024, 64).expect("address space");
        let latches: Vec<(Line, TestAndTestAndSet)> = (0..4).map(|_| Default::default()).collect();
        let boxes: Vec<Box<Line>> = (0..workers).map(|_| Box::default()).collect();
        let epoch = Line::default();
        let (rows, headers) = (made.base().expose_provenance(), found.base().expose_provenance());
        let advance = || {
            epoch.0.fetch_add(1, Ordering::Release);
        };
        let ends = worker::run_with_service(workers, Duration::from_micros(3), advance, |me| {
            let mut draw = fastrand::Rng::with_seed(me as u64);
            for _ in 0..60 {
                let row = draw.usize(..1000);
                let (line, latch) = &latches[row % 4];
                latch.lock();
                line.0.fetch_add(1, Ordering::Relaxed);
                let record = std::ptr::with_exposed_provenance_mut::<u8>(rows + row * stride);
                // SAFETY: a record of the region, which the latch keeps from those that would touch the same.
                unsafe {
                    payload::copy_in(payload::place(record, 8), &[me as u8; 300]);
                    payload::view(payload::place(record, 500), 500, |bytes| assert_eq!(bytes[0], 0));
                }
                latch.unlock();
                let header = headers + draw.usize(..4 << 14) * 64;
                cpu::prefetch_write(std::ptr::without_provenance(header));
                cpu::work(draw.u64(..300));
                // SAFETY: an aligned word of the region, only accessed as such words.
                unsafe { &*std::ptr::with_exposed_provenance::<AtomicU64>(header) }
                    .fetch_add(1, Ordering::Relaxed);
                boxes[draw.usize(..workers)].0.store(1, Ordering::Release);
                if draw.u8(..8) == 0 {
                    let epochs = epoch.0.load(Ordering::Acquire);
                    while epoch.0.load(Ordering::Acquire) == epochs {
                        cpu::pause();
                    }
                }
            }
            clock::now().0
        });
        let statistics = statistics();
        let counts = (statistics.events, statistics.switches, statistics.parks, statistics.lines);
        format!("{name} {seed}: {:016x} {ends:?} {counts:?}", trace_hash())
    })
}

fn runs() -> Vec<String> {
    [("haswell-ex-4x18", 72), ("westmere-ex-8x10", 7), ("graphite-mesh-1024", 200)]
        .into_iter()
        .flat_map(|(name, workers)| [1, 2].map(|seed| run(name, workers, seed)))
        .collect()
}

#[test]
fn twice_in_one_process() {
    let first = runs();
    // Something that shifts what the allocator hands out next.
    let kept: Vec<Vec<u8>> = (1..200).map(|n| vec![0; 13 * n]).collect();
    let region = Region::reserve(1 << 20).expect("1 MiB");
    assert_eq!(first, runs());
    drop((kept, region));
    for pair in first.chunks(2) {
        assert_ne!(pair[0].split_once(':').map(|(_, run)| run), pair[1].split_once(':').map(|(_, run)| run));
    }
}

#[test]
fn in_another_process() {
    const ASKED: &str = "MACHINE_TEST_PRINTS_RUNS";
    if std::env::var_os(ASKED).is_some() {
        let on_the_stack = 0;
        println!("address {:p}", &raw const on_the_stack);
        runs().iter().for_each(|run| println!("run {run}"));
        return;
    }
    let other = || {
        let output = Command::new(std::env::current_exe().expect("a test has a binary"))
            .args(["--exact", "repeatable::in_another_process", "--nocapture"])
            .env(ASKED, "1")
            .output()
            .expect("the test's binary runs");
        let printed = String::from_utf8_lossy(&output.stdout).into_owned();
        let lines = |word: &str| -> Vec<String> {
            printed.lines().filter_map(|line| line.strip_prefix(word)).map(str::to_owned).collect()
        };
        assert_eq!(lines("run ").len(), 6, "the other process printed {printed}");
        (lines("address "), lines("run "))
    };
    let (one, two) = (other(), other());
    assert_eq!(one.1, runs());
    assert_eq!(one.1, two.1);
    println!("addresses were {:?} and {:?}", one.0, two.0);
}
