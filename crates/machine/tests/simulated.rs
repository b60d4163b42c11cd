//! The simulated machine: repeatable, adversarial, and loud when nothing moves.

use machine::simulated::atomic::{AtomicU64, Ordering, fence};
use machine::simulated::cell::Cell;
use machine::simulated::latch::{Latch, NoLatch, TestAndSet, TestAndTestAndSet, Ticket};
use machine::simulated::region::Region;
use machine::simulated::{
    Accesses, Exploration, Schedule, SharedLines, accesses, clock, cpu, explore, payload, shared_lines,
    trace_hash, watch_lines, worker,
};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

/// The message of the panic in which `f` must end.
fn panic_of<R>(f: impl FnOnce() -> R) -> String {
    let panic = catch_unwind(AssertUnwindSafe(|| drop(f()))).expect_err("it panics");
    let fixed = panic.downcast_ref::<&str>().map(|&message| message.to_owned());
    fixed.or_else(|| panic.downcast_ref::<String>().cloned()).expect("with a message")
}

fn random(seed: u64) -> Schedule {
    Schedule::Random { seed, switch_one_in: 3 }
}

fn pct(seed: u64) -> Schedule {
    Schedule::Pct { seed, depth: 3, steps: 40 }
}

/// A little of everything, with contention.
fn busy(workers: usize) -> u64 {
    let region = Region::reserve(4096).expect("a page");
    let latch = Ticket::default();
    let counter = AtomicU64::new(0);
    let sums = worker::run(workers, |w| {
        let own = Cell::new(0);
        for round in 0..20 {
            latch.lock();
            let mut row = [0; 100];
            // SAFETY: 100 bytes of the region, which the latch keeps from the others.
            unsafe { payload::copy_out(region.base(), &mut row) };
            row[w] = round;
            // SAFETY: as above.
            unsafe { payload::copy_in(region.base(), &row) };
            latch.unlock();
            own.set(own.get() + counter.fetch_add(1, Ordering::Relaxed));
        }
        own.get()
    });
    assert_eq!(counter.into_inner(), 20 * workers as u64);
    sums.iter().sum()
}

fn trace_of(schedule: Schedule) -> u64 {
    explore(schedule, || {
        busy(3);
        trace_hash()
    })
}

#[test]
fn the_same_seed_interleaves_alike_and_others_differ() {
    for schedule in [random as fn(u64) -> Schedule, pct] {
        let traces: Vec<u64> = (0..20).map(|seed| trace_of(schedule(seed))).collect();
        let again: Vec<u64> = (0..20).map(|seed| trace_of(schedule(seed))).collect();
        assert_eq!(traces, again);
        let mut distinct = traces.clone();
        distinct.sort_unstable();
        distinct.dedup();
        assert!(distinct.len() > 15, "20 seeds gave {} interleavings", distinct.len());
    }
    assert_eq!(trace_of(Schedule::RoundRobin), trace_of(Schedule::RoundRobin));
}

/// The addresses of everything differ between two processes; the trace must not.
#[test]
fn another_process_interleaves_alike() {
    const ASKED: &str = "MACHINE_TEST_PRINTS_TRACES";
    let traces = || [Schedule::RoundRobin, random(7), pct(7)].map(trace_of);
    if std::env::var_os(ASKED).is_some() {
        println!("traces {:?}", traces());
        return;
    }
    let myself = std::env::current_exe().expect("a test has a binary");
    let output = std::process::Command::new(myself)
        .args(["--exact", "another_process_interleaves_alike", "--nocapture"])
        .env(ASKED, "1")
        .output()
        .expect("the test's binary runs");
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(printed.contains(&format!("traces {:?}", traces())), "the other process printed {printed}");
}

/// Two workers add 1 to a counter by a load and a store.
fn lost_update(schedule: Schedule) -> bool {
    explore(schedule, || {
        let counter = AtomicU64::new(0);
        worker::run(2, |_| {
            let seen = counter.load(Ordering::SeqCst);
            counter.store(seen + 1, Ordering::SeqCst);
        });
        counter.into_inner() != 2
    })
}

#[test]
fn a_lost_update_is_found_by_random_and_by_pct() {
    let found_by =
        |schedule: fn(u64) -> Schedule| (0..200).filter(|&seed| lost_update(schedule(seed))).count();
    // And not always: an adversary that sees every run fail would be no schedule.
    let random = found_by(|seed| Schedule::Random { seed, switch_one_in: 4 });
    assert!((1..200).contains(&random), "random lost {random} of 200");
    let pct = found_by(|seed| Schedule::Pct { seed, depth: 2, steps: 4 });
    assert!((1..200).contains(&pct), "pct lost {pct} of 200");
}

#[test]
fn a_priority_schedule_of_depth_one_runs_the_cores_one_after_the_other() {
    assert!((0..50).all(|seed| !lost_update(Schedule::Pct { seed, depth: 1, steps: 1 })));
}

/// Readers that trust a racing copy see it torn, and those that validate it do not.
#[test]
fn a_racing_copy_is_torn_unless_it_is_validated() {
    fn torn(seed: u64, validate: bool) -> bool {
        explore(Schedule::Random { seed, switch_one_in: 3 }, || {
            let region = Region::reserve(4096).expect("a page");
            let version = AtomicU64::new(0);
            let torn = worker::run(2, |w| {
                if w == 0 {
                    version.store(1, Ordering::Release);
                    fence(Ordering::Release);
                    // SAFETY: 64 aligned bytes of the region, written by this worker only.
                    unsafe { payload::copy_in_racing(region.base(), &[1; 64]) };
                    version.store(2, Ordering::Release);
                    return false;
                }
                let before = version.load(Ordering::Acquire);
                let mut row = [0; 64];
                // SAFETY: 64 aligned bytes of the region, written by racing copies only.
                unsafe { payload::copy_out_racing(region.base(), &mut row) };
                fence(Ordering::Acquire);
                let valid = before.is_multiple_of(2) && version.load(Ordering::Relaxed) == before;
                row.iter().any(|&byte| byte != row[0]) && (valid || !validate)
            });
            torn.contains(&true)
        })
    }
    assert!((0..200).any(|seed| torn(seed, false)), "one line is torn in its middle");
    assert!(!(0..200).any(|seed| torn(seed, true)));
}

fn excludes<L: Latch + Sync>() {
    for seed in 0..100 {
        for schedule in [Schedule::RoundRobin, random(seed), pct(seed)] {
            explore(schedule, || {
                let latch = L::default();
                let (inside, entries) = (AtomicU64::new(0), AtomicU64::new(0));
                worker::run(3, |w| {
                    for round in 0..5 {
                        if (round + w).is_multiple_of(2) {
                            latch.lock();
                        } else if !latch.try_lock() {
                            continue;
                        }
                        assert_eq!(inside.fetch_add(1, Ordering::Relaxed), 0, "{} lets two in", L::NAME);
                        entries.fetch_add(1, Ordering::Relaxed);
                        inside.fetch_sub(1, Ordering::Relaxed);
                        latch.unlock();
                    }
                });
                assert!(entries.into_inner() >= 7, "every lock() got in");
                assert!(latch.try_lock(), "{} stays locked", L::NAME);
            });
        }
    }
}

#[test]
fn latches_exclude_under_every_schedule() {
    excludes::<TestAndSet>();
    excludes::<TestAndTestAndSet>();
    excludes::<Ticket>();
}

/// A latch that lets two in, to see that the test above can fail.
#[derive(Default)]
struct Broken(AtomicU64);

impl Latch for Broken {
    const NAME: &'static str = "broken";

    fn lock(&self) {
        while !self.try_lock() {
            cpu::pause();
        }
    }

    fn try_lock(&self) -> bool {
        let free = self.0.load(Ordering::Acquire) == 0;
        if free {
            self.0.store(1, Ordering::Release);
        }
        free
    }

    fn unlock(&self) {
        self.0.store(0, Ordering::Release);
    }
}

#[test]
fn a_broken_latch_is_caught() {
    let message = panic_of(excludes::<Broken>);
    assert!(message.contains("broken lets two in"), "{message}");
}

#[test]
#[should_panic(expected = "the single owner entered twice")]
fn no_latch_is_not_entered_twice() {
    let latch = NoLatch::default();
    latch.lock();
    latch.lock();
}

#[test]
fn a_deadlock_is_caught_and_names_the_seed() {
    for schedule in [random(42), Schedule::Pct { seed: 42, depth: 3, steps: 20 }] {
        let message = panic_of(|| {
            // Whether they meet depends on the seed; each holds on long enough that some round does.
            explore(Exploration { step_bound: 10_000, ..schedule.into() }, || {
                let latches = [TestAndSet::default(), TestAndSet::default()];
                worker::run(2, |w| {
                    for _ in 0..1000 {
                        latches[w].lock();
                        latches[1 - w].lock();
                        latches[1 - w].unlock();
                        latches[w].unlock();
                        cpu::pause();
                    }
                });
            })
        });
        assert!(message.contains("no progress after 10000 steps under schedule"), "{message}");
        assert!(message.contains("seed: 42"), "{message}");
    }
}

/// Gives something back on the way, in several steps, and must not begin anew.
struct Releasing<'a> {
    begun: Cell<bool>,
    steps: &'a AtomicU64,
}

impl Releasing<'_> {
    fn release(&self) {
        assert!(!self.begun.get(), "it is given back twice");
        self.begun.set(true);
        for _ in 0..10 {
            self.steps.fetch_add(1, Ordering::Relaxed);
        }
        self.begun.set(false);
    }
}

impl Drop for Releasing<'_> {
    fn drop(&mut self) {
        self.release();
    }
}

/// A second panic, in a destructor, would end the process.
#[test]
fn who_makes_no_progress_is_not_unwound_out_of_a_release() {
    for step_bound in 100..140 {
        let steps = AtomicU64::new(0);
        let message = panic_of(|| {
            explore(Exploration { step_bound, ..random(1).into() }, || {
                worker::run(2, |_| {
                    let held = Releasing { begun: Cell::new(false), steps: &steps };
                    loop {
                        held.release();
                    }
                });
            })
        });
        assert!(message.contains(&format!("no progress after {step_bound} steps under")), "{message}");
        assert!(steps.into_inner() <= step_bound);
        // The machine is usable again.
        assert_eq!(explore(random(2), || worker::run(2, |core| core)), [0, 1]);
    }
}

#[test]
fn a_spinner_starves_nobody() {
    for seed in 0..50 {
        let schedule = Schedule::Pct { seed, depth: 3, steps: 30 };
        explore(Exploration { step_bound: 5_000, ..schedule.into() }, || {
            let turn = AtomicU64::new(0);
            worker::run(4, |w| {
                while turn.load(Ordering::Acquire) != w as u64 {
                    cpu::pause();
                }
                turn.store(w as u64 + 1, Ordering::Release);
            });
        });
    }
}

#[test]
fn who_tries_again_at_once_starves_nobody() {
    for seed in 0..50 {
        let schedule = Schedule::Pct { seed, depth: 3, steps: 30 };
        explore(Exploration { step_bound: 5_000, ..schedule.into() }, || {
            let latch = TestAndSet::default();
            worker::run(4, |_| {
                while !latch.try_lock() {
                    cpu::give_way();
                }
                latch.unlock();
            });
        });
    }
}

#[test]
fn waiting_at_the_front_is_caught() {
    let message = panic_of(|| {
        explore(Exploration { step_bound: 100, ..Schedule::RoundRobin.into() }, || {
            let latch = Ticket::default();
            latch.lock();
            latch.lock();
        })
    });
    assert!(message.contains("no progress after 100 steps"), "{message}");
}

/// Counts its drops, and accesses the machine while it does.
struct Guard<'a>(&'a AtomicU64);

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn a_panic_on_a_core_unwinds_the_others() {
    let dropped = AtomicU64::new(0);
    let message = panic_of(|| {
        explore(random(5), || {
            worker::run(4, |w| {
                let _guard = Guard(&dropped);
                // Long enough that all have begun.
                for _ in 0..100 {
                    cpu::pause();
                }
                assert!(w != 2, "worker 2 gives up");
                loop {
                    cpu::pause();
                }
            })
        })
    });
    assert!(message.contains("core 2: worker 2 gives up under schedule Random { seed: 5"), "{message}");
    assert_eq!(dropped.into_inner(), 4);
    // The machine is usable again.
    assert!(!lost_update(Schedule::Pct { seed: 1, depth: 1, steps: 1 }));
}

#[test]
fn a_core_is_suspended_from_inside_of_its_fibers() {
    use corosensei::{Coroutine, CoroutineResult};
    let fibers_end = |dropped: &AtomicU64, w: usize, panics: bool| {
        // SAFETY: the fibers end or are dropped before this closure's borrow does.
        let dropped: &'static AtomicU64 = unsafe { &*std::ptr::from_ref(dropped) };
        let fiber = |n: u64| {
            Coroutine::<(), (), u64>::new(move |fiber, ()| {
                let _guard = Guard(dropped);
                for round in 0..50 {
                    cpu::pause();
                    assert!(!panics || w != 1 || round < 40, "a fiber gives up");
                    if round % 7 == n {
                        fiber.suspend(());
                    }
                }
                n
            })
        };
        let mut fibers: Vec<_> = (0..3).map(fiber).collect();
        let (mut ended, mut sum) = (0, 0);
        while ended < fibers.len() {
            for fiber in fibers.iter_mut().filter(|fiber| !fiber.done()) {
                if let CoroutineResult::Return(n) = fiber.resume(()) {
                    (ended, sum) = (ended + 1, sum + n);
                }
            }
        }
        sum
    };
    let dropped = AtomicU64::new(0);
    let sums = explore(random(3), || worker::run(3, |w| fibers_end(&dropped, w, false)));
    assert_eq!((sums, dropped.load(Ordering::Relaxed)), (vec![3, 3, 3], 9));
    let message = panic_of(|| explore(random(3), || worker::run(3, |w| fibers_end(&dropped, w, true))));
    assert!(message.contains("core 1: a fiber gives up"), "{message}");
    assert_eq!(dropped.into_inner(), 18);
}

#[test]
fn accesses_are_counted() {
    let counted = explore(Schedule::RoundRobin, || {
        let region = Region::reserve(4096).expect("a page");
        let (word, cell, before) = (AtomicU64::new(0), Cell::new(1u32), accesses());
        word.store(1, Ordering::Relaxed);
        cell.set(cell.get() + 1);
        word.swap(2, Ordering::AcqRel);
        fence(Ordering::SeqCst);
        let mut row = [0; 100];
        // SAFETY: 100 bytes from offset 60 of the region, which nobody else has.
        unsafe { payload::copy_out_racing(region.base().add(60), &mut row) };
        // SAFETY: as above.
        unsafe { payload::view_mut(region.base().add(64), 64, |line| line.fill(1)) };
        accesses() - before
    });
    let expected = Accesses { loads: 1, stores: 2, read_modify_writes: 1, fences: 1, payload_lines: 4 };
    assert_eq!(counted, expected);
}

#[test]
fn the_service_runs_whenever_its_period_has_passed() {
    for schedule in [Schedule::RoundRobin, random(1), pct(1)] {
        explore(schedule, || {
            let epoch = AtomicU64::new(0);
            let period = Duration::from_micros(1);
            let advance = || {
                epoch.fetch_add(1, Ordering::Release);
            };
            let ends = worker::run_with_service(3, period, advance, |_| {
                while epoch.load(Ordering::Acquire) < 10 {
                    cpu::pause();
                }
                clock::now()
            });
            let earliest = ends.into_iter().min().expect("three workers");
            assert!(clock::nanoseconds(earliest.0) >= 10_000, "ten periods have passed");
            assert!(epoch.into_inner() < 20, "and not many more");
        });
    }
}

#[test]
fn who_waits_for_a_time_sees_it_come() {
    explore(Schedule::RoundRobin, || {
        let start = clock::now();
        worker::run(2, |_| while clock::now().since(start) < 10_000 {});
        cpu::work(500);
        assert!(clock::now().since(start) >= 10_500);
    });
}

#[test]
fn results_come_in_the_workers_order() {
    let order = explore(random(9), || worker::run(50, |w| (busy_word(), w).1));
    assert_eq!(order, (0..50).collect::<Vec<_>>());
    assert_eq!(explore(Schedule::RoundRobin, worker::cores), 4);
    assert!(worker::run(0, |w| w).is_empty());
}

fn busy_word() {
    let word = AtomicU64::new(0);
    for _ in 0..10 {
        word.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn outside_of_an_exploration_accesses_act_directly() {
    let counter = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                for _ in 0..10_000 {
                    counter.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    });
    assert_eq!(counter.load(Ordering::Relaxed), 20_000);
    let earlier = clock::now();
    assert!(clock::now() >= earlier);
    // Workers need a schedule: round robin.
    assert_eq!(worker::run(3, |w| w * w), [0, 1, 4]);
    assert!(panic_of(accesses).contains("outside of an exploration"));
}

#[test]
fn one_exploration_at_a_time_and_one_level_of_workers() {
    let nested = panic_of(|| explore(Schedule::RoundRobin, || explore(random(1), || ())));
    assert!(nested.contains("an exploration inside of an exploration"), "{nested}");
    let nested = panic_of(|| explore(random(1), || worker::run(2, |_| worker::run(2, |w| w))));
    assert!(nested.contains("one level only"), "{nested}");
}

/// A zeroed word is an unlocked latch.
#[test]
fn zero_bytes_are_an_unlocked_latch() {
    fn check<L: Latch>() {
        let region = Region::reserve(4096).expect("a page");
        assert_eq!((size_of::<L>(), align_of::<L>()), (4, 4));
        // SAFETY: four zeroed, aligned bytes that outlive the reference; every latch is one word of 32 bits,
        // of which every value is valid.
        let latch = unsafe { &*region.base().cast::<L>() };
        assert!(latch.try_lock());
        latch.unlock();
        latch.lock();
    }
    check::<TestAndSet>();
    check::<TestAndTestAndSet>();
    check::<Ticket>();
    check::<NoLatch>();
}

#[test]
fn lines_that_workers_share_are_told_apart_from_those_they_do_not() {
    #[repr(align(64))]
    struct Line([AtomicU64; 8]);
    let shared = |place: fn(usize) -> (usize, usize), in_region: bool| {
        explore(random(1), || {
            let region = Region::reserve(4096).expect("a page");
            let lines: [Line; 2] = std::array::from_fn(|_| Line(Default::default()));
            watch_lines();
            worker::run(2, |w| {
                let (line, word) = place(w);
                if in_region {
                    // SAFETY: a word of the region that only this worker touches.
                    unsafe { payload::copy_in(region.base().add(64 * line + 8 * word), &[1; 8]) };
                } else {
                    lines[line].0[word].store(1, Ordering::Relaxed);
                }
            });
            shared_lines()
        })
    };
    let none = SharedLines::default();
    assert_eq!(shared(|w| (w, 0), false), none);
    assert_eq!(shared(|w| (w, 0), true), none);
    assert_eq!(shared(|w| (0, w), false), SharedLines { elsewhere: 1, ..none }, "false sharing");
    assert_eq!(shared(|w| (1, w), true), SharedLines { in_regions: 1, ..none });
}
