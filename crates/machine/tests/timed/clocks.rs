//! Every core has a clock, and the one that is behind goes on.

use super::{machine, panic_of};
use machine::simulated::atomic::{AtomicU64, Ordering, fence};
use machine::simulated::cell::Cell;
use machine::simulated::latch::{Latch, TestAndSet, TestAndTestAndSet, Ticket};
use machine::simulated::region::Region;
use machine::simulated::stack::Stack;
use machine::simulated::{
    Simulation, accesses, clock, cpu, explore, payload, simulate, statistics, trace_hash, unobserved, worker,
};
use std::sync::Mutex;
use std::time::Duration;

/// A word with a line of its own.
#[repr(align(128))]
#[derive(Default)]
struct Line(AtomicU64);

#[test]
fn a_clock_is_the_sum_of_what_its_core_did() {
    let elapsed = simulate(&machine("haswell-ex-4x18"), 1, || {
        let line = Line::default();
        let elapsed = worker::run(1, |_| {
            line.0.store(1, Ordering::Relaxed);
            fence(Ordering::SeqCst);
            let start = clock::now();
            // 20 + 4 cycles, then 1, then 4 for the first load and 1 for the second, then 1000: at 2.5 GHz.
            line.0.fetch_add(1, Ordering::Relaxed);
            line.0.store(7, Ordering::Relaxed);
            assert_eq!(line.0.load(Ordering::Relaxed) + line.0.load(Ordering::Relaxed), 14);
            cpu::work(1000);
            // And 24 for the look at the clock.
            clock::now().since(start)
        });
        elapsed[0]
    });
    let exactly = (20 + 4 + 1 + 4 + 1 + 1000 + 24) * 2 / 5;
    assert!((exactly..=exactly + 1).contains(&elapsed), "{elapsed}, in whole nanoseconds");
}

#[test]
fn an_attempt_is_held_up_by_a_random_time_up_to_the_jitter() {
    let held_up = |jitter_cycles, seed| {
        let mut machine = machine("haswell-ex-4x18");
        machine.core.jitter_cycles = jitter_cycles;
        machine.core.clock_cycles = 1;
        simulate(&machine, seed, || {
            let times = worker::run(1, |_| {
                let timed = |_| {
                    let start = clock::now();
                    cpu::jitter();
                    clock::now().since(start)
                };
                (0..1000).map(timed).collect::<Vec<u64>>()
            });
            times[0].clone()
        })
    };
    let times = held_up(1000, 1);
    assert!(times.iter().all(|ns| *ns <= 402), "1000 cycles are 400 ns");
    let mean = times.iter().sum::<u64>() / 1000;
    assert!((180..=220).contains(&mean), "{mean}");
    assert_eq!(times, held_up(1000, 1), "the seed decides");
    assert_ne!(times, held_up(1000, 2));
    assert!(held_up(0, 1).iter().all(|ns| *ns <= 1));
}

#[test]
fn cores_act_in_the_order_of_their_clocks() {
    // Each core computes for so long before it acts that the order is the reverse of their numbers.
    let order = simulate(&machine("westmere-ex-8x10"), 1, || {
        let order = Mutex::new(Vec::new());
        let lines: Vec<Line> = (0..80).map(|_| Line::default()).collect();
        worker::run(80, |core| {
            cpu::work(10_000 * (80 - core) as u64);
            lines[core].0.store(1, Ordering::Relaxed);
            order.lock().expect("nobody panics").push(core);
        });
        order.into_inner().expect("nobody panics")
    });
    assert_eq!(order, (0..80).rev().collect::<Vec<_>>());
}

#[test]
fn time_goes_on_from_run_to_run_and_the_front_takes_none() {
    simulate(&machine("haswell-ex-4x18"), 1, || {
        worker::run(3, |core| cpu::work(2_500 * (core as u64 + 1)));
        let first = clock::now();
        assert!((3_000..5_000).contains(&first.0), "{first:?}");
        let line = Line::default();
        line.0.fetch_add(1, Ordering::SeqCst);
        assert_eq!(clock::now(), first);
        worker::run(3, |_| assert!(clock::now() >= first));
        assert!(clock::now() > first);
    });
}

#[test]
fn additions_are_not_lost_and_latches_exclude() {
    fn excludes<L: Latch + Sync>() {
        #[repr(align(128))]
        struct Apart<T>(T);
        for name in ["haswell-ex-4x18", "graphite-mesh-64"] {
            let total = simulate(&machine(name), 1, || {
                let (latch, inside) = (Apart(L::default()), Line::default());
                let total = Line::default();
                worker::run(32, |_| {
                    for _ in 0..20 {
                        latch.0.lock();
                        assert_eq!(inside.0.fetch_add(1, Ordering::Relaxed), 0, "{} lets two in", L::NAME);
                        let seen = total.0.load(Ordering::Relaxed);
                        cpu::work(50);
                        total.0.store(seen + 1, Ordering::Relaxed);
                        inside.0.fetch_sub(1, Ordering::Relaxed);
                        latch.0.unlock();
                    }
                });
                total.0.into_inner()
            });
            assert_eq!(total, 32 * 20, "{}", L::NAME);
        }
    }
    excludes::<TestAndSet>();
    excludes::<TestAndTestAndSet>();
    excludes::<Ticket>();
}

/// The same without a latch, to see that the test above can fail.
#[test]
fn unprotected_additions_are_lost() {
    let total = simulate(&machine("haswell-ex-4x18"), 1, || {
        let total = Line::default();
        worker::run(32, |_| {
            for _ in 0..20 {
                let seen = total.0.load(Ordering::Relaxed);
                cpu::work(50);
                total.0.store(seen + 1, Ordering::Relaxed);
            }
        });
        total.0.into_inner()
    });
    assert!(total < 32 * 20, "{total}");
}

#[test]
fn the_service_runs_whenever_its_period_has_passed() {
    simulate(&machine("haswell-ex-4x18"), 1, || {
        let epoch = Line::default();
        let advance = || {
            epoch.0.fetch_add(1, Ordering::Release);
        };
        let ends = worker::run_with_service(3, Duration::from_micros(10), advance, |_| {
            while epoch.0.load(Ordering::Acquire) < 10 {
                cpu::pause();
            }
            clock::now()
        });
        let (earliest, latest) = (ends.iter().min().expect("three"), ends.iter().max().expect("three"));
        assert!(earliest.0 >= 100_000 && latest.0 < 103_000, "{ends:?}");
        assert_eq!(epoch.0.into_inner(), 10, "the service does not outlive the workers");
    });
}

#[test]
fn a_service_that_never_runs_ends_with_its_workers() {
    simulate(&machine("haswell-ex-4x18"), 1, || {
        worker::run_with_service(2, Duration::from_secs(3600), || unreachable!(), |_| cpu::work(10));
        assert!(clock::now().0 < 10_000, "nobody waited for the service");
    });
}

#[test]
fn cores_run_fibers_of_their_own() {
    use corosensei::{Coroutine, CoroutineResult};
    let sums = simulate(&machine("graphite-mesh-1024"), 1, || {
        worker::run(1024, |core| {
            let line = Line::default();
            let line = &line;
            // SAFETY: the fibers end before `line` does.
            let line: &'static Line = unsafe { &*std::ptr::from_ref(line) };
            let fiber = |n: u64| {
                let stack = Stack::new(64 << 10).expect("a stack");
                Coroutine::<(), (), u64, Stack>::with_stack(stack, move |fiber, ()| {
                    for round in 0..3 {
                        line.0.fetch_add(n + round, Ordering::Relaxed);
                        cpu::take_over((&raw const round).cast(), 256);
                        fiber.suspend(());
                    }
                    n
                })
            };
            let mut fibers: Vec<_> = (0..3).map(fiber).collect();
            let mut ended = 0;
            while ended < fibers.len() {
                for fiber in fibers.iter_mut().filter(|fiber| !fiber.done()) {
                    ended += usize::from(matches!(fiber.resume(()), CoroutineResult::Return(_)));
                }
            }
            drop(fibers);
            (core, line.0.load(Ordering::Relaxed))
        })
    });
    assert!(sums.iter().enumerate().all(|(place, &(core, sum))| place == core && sum == 9 + 9), "{sums:?}");
}

#[test]
fn taking_over_a_stack_costs_its_lines() {
    let (ends, statistics) = simulate(&machine("haswell-ex-4x18"), 1, || {
        let stack = vec![0u8; 4096 + 64];
        let at = stack.as_ptr().addr().next_multiple_of(64) - stack.as_ptr().addr();
        let turn = Line::default();
        let ends = worker::run(2, |core| {
            while turn.0.load(Ordering::Acquire) != core as u64 {
                cpu::pause();
            }
            let start = clock::now();
            cpu::take_over(stack[at..].as_ptr(), 4096);
            let taken = clock::now().since(start);
            turn.0.store(core as u64 + 1, Ordering::Release);
            taken
        });
        (ends, statistics())
    });
    assert!((64..64 + 5).contains(&statistics.lines.transfers_within), "{statistics:?}");
    // 64 lines of the other core, ten at a time, 133 cycles each.
    assert!((7 * 133 * 2 / 5..7 * 133 * 2 / 5 + 20).contains(&ends[1]), "{ends:?}");
}

#[test]
fn a_panic_names_core_machine_and_seed_and_unwinds_the_others() {
    struct Guard<'a>(&'a AtomicU64);
    impl Drop for Guard<'_> {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
    let dropped = AtomicU64::new(0);
    let message = panic_of(|| {
        simulate(&machine("haswell-ex-4x18"), 9, || {
            worker::run(4, |core| {
                let _guard = Guard(&dropped);
                for _ in 0..1000 {
                    cpu::pause();
                }
                assert!(core != 2, "worker 2 gives up");
                loop {
                    cpu::pause();
                }
            })
        })
    });
    assert_eq!(message, "core 2: worker 2 gives up on machine haswell-ex-4x18 with seed 9");
    assert_eq!(dropped.into_inner(), 4);
    // The host thread simulates again.
    assert_eq!(simulate(&machine("haswell-ex-4x18"), 9, || worker::run(2, |core| core)), [0, 1]);
}

#[test]
fn who_makes_no_progress_is_caught() {
    let haswell = machine("haswell-ex-4x18");
    let message = panic_of(|| {
        Simulation::of(&haswell).time_bound(Duration::from_millis(50)).run(|| {
            let latch = TestAndSet::default();
            latch.lock();
            worker::run(2, |_| latch.lock());
        })
    });
    assert!(message.contains("no progress within 50ms of simulated time"), "{message}");
}

#[test]
fn misuse_is_refused() {
    let nehalem = machine("nehalem-ex-4x8");
    let too_many = panic_of(|| simulate(&nehalem, 1, || worker::run(33, |core| core)));
    assert!(too_many.contains("33 workers on a machine of 32 cores"), "{too_many}");
    let nested = panic_of(|| simulate(&nehalem, 1, || worker::run(2, |_| worker::run(2, |core| core))));
    assert!(nested.contains("one level only"), "{nested}");
    let inside = panic_of(|| simulate(&nehalem, 1, || simulate(&nehalem, 1, || ())));
    assert!(inside.contains("a simulation inside of something else"), "{inside}");
    let explored =
        panic_of(|| simulate(&nehalem, 1, || explore(machine::simulated::Schedule::RoundRobin, || ())));
    assert!(explored.contains("an exploration inside of a simulation"), "{explored}");
    assert!(panic_of(|| simulate(&nehalem, 1, accesses)).contains("outside of an exploration"));
    assert!(panic_of(statistics).contains("inside of a simulation"));
    assert!(panic_of(trace_hash).contains("outside of an exploration and of a simulation"));
}

#[test]
fn what_is_unobserved_takes_no_time_and_runs_alike() {
    let loaded = || {
        let line = Line::default();
        let ends = worker::run_with_service(
            3,
            Duration::from_nanos(100),
            || (),
            |core| {
                // Workers wait for each other.
                while line.0.load(Ordering::Relaxed) != core as u64 {
                    cpu::pause();
                }
                line.0.store(core as u64 + 1, Ordering::Relaxed);
                core
            },
        );
        assert_eq!(ends, [0, 1, 2]);
        assert_eq!(worker::cores(), 1);
        line.0.into_inner()
    };
    assert_eq!(unobserved(loaded), 3);
    simulate(&machine("haswell-ex-4x18"), 1, || {
        assert_eq!(worker::cores(), 72);
        assert_eq!(unobserved(loaded), 3);
        assert_eq!((statistics().events, clock::now().0), (0, 0));
    });
}

#[test]
fn progress_is_reported() {
    let told = std::rc::Rc::new(std::cell::Cell::new(0));
    let (counted, haswell) = (std::rc::Rc::clone(&told), machine("haswell-ex-4x18"));
    let simulation = Simulation::of(&haswell).report_every(Duration::ZERO, move |progress| {
        assert!(progress.switches > 0 && progress.simulated > Duration::ZERO);
        counted.set(counted.get() + 1);
    });
    let statistics = simulation.run(|| {
        let line = Line::default();
        worker::run(2, |_| (0..500_000).for_each(|_| _ = line.0.fetch_add(1, Ordering::Relaxed)));
        statistics()
    });
    assert!(told.get() >= 3, "{} times", told.get());
    // The core that has the line adds a few times before it goes.
    assert!(statistics.events >= 1_000_000 && statistics.switches > 100_000, "{statistics:?}");
    assert!(statistics.host_ns_per_event() > 1.0);
}

/// A look-up does not pay for the lines that it does not touch, and pays once for those of one copy.
#[test]
fn only_what_is_touched_is_charged() {
    let lines = |f: fn(*mut u8)| {
        simulate(&machine("haswell-ex-4x18"), 1, || {
            let region = Region::reserve(1 << 20).expect("1 MiB");
            let base = region.base().addr();
            worker::run(1, |_| f(std::ptr::with_exposed_provenance_mut(base)));
            statistics().lines.memory_reads
        })
    };
    // SAFETY: bytes of the region, which nobody else has.
    assert_eq!(lines(|at| unsafe { payload::view(at.wrapping_add(60), 8, |_| ()) }), 2);
    // SAFETY: as above.
    assert_eq!(lines(|at| unsafe { payload::copy_out(at, &mut [0; 1000]) }), 16);
    // SAFETY: as above.
    assert_eq!(lines(|at| unsafe { payload::copy_out_racing(at, &mut [0; 64]) }), 1);
    // SAFETY: as above.
    assert_eq!(lines(|at| unsafe { payload::view(at, 0, |_| ()) }), 0);
    let cells = simulate(&machine("haswell-ex-4x18"), 1, || {
        worker::run(1, |_| {
            let own = Cell::new(1u64);
            own.set(own.get() + 1);
        });
        statistics().lines.memory_reads
    });
    assert!((1..=2).contains(&cells), "a cell has a line, or two");
}
