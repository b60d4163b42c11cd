use machine::hardware::cpu::Spin;
#[cfg(debug_assertions)]
use machine::hardware::sole::SoleUse;
use machine::hardware::worker::{cores, current, run, run_with_service};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

fn panic_of<R>(f: impl FnOnce() -> R) -> String {
    let panic = catch_unwind(AssertUnwindSafe(|| drop(f()))).expect_err("it panics");
    panic.downcast_ref::<String>().expect("with a formatted message").clone()
}

#[test]
fn results_come_in_the_workers_order() {
    assert!(run(0, |w| w).is_empty());
    assert_eq!(run(1, |w| w), [0]);
    let results = run(3 * cores() + 2, |w| {
        // The first ends last.
        if w == 0 {
            std::thread::sleep(Duration::from_millis(20));
        }
        w * w
    });
    assert_eq!(results, (0..3 * cores() + 2).map(|w| w * w).collect::<Vec<_>>());
}

#[test]
fn all_workers_are_there_at_once() {
    for workers in [2, cores(), cores() + 3] {
        let arrived = AtomicUsize::new(0);
        run(workers, |_| {
            arrived.fetch_add(1, Ordering::Relaxed);
            let mut spin = Spin::new();
            while arrived.load(Ordering::Relaxed) < workers {
                spin.pause();
            }
        });
    }
}

#[test]
fn a_panic_is_passed_on_after_the_others_have_ended() {
    let ended = AtomicUsize::new(0);
    let message = panic_of(|| {
        run(4, |w| {
            assert!(w != 2, "number {w} gives up");
            std::thread::sleep(Duration::from_millis(20));
            ended.fetch_add(1, Ordering::Relaxed);
        })
    });
    assert_eq!(message, "worker 2: number 2 gives up");
    assert_eq!(ended.into_inner(), 3);
}

#[test]
fn the_service_is_called_until_the_workers_have_ended() {
    let calls = AtomicUsize::new(0);
    let service = || {
        calls.fetch_add(1, Ordering::Relaxed);
    };
    let seen = run_with_service(2, Duration::from_millis(1), service, |_| {
        while calls.load(Ordering::Relaxed) < 5 {
            std::thread::yield_now();
        }
        calls.load(Ordering::Relaxed)
    });
    assert!(seen.iter().all(|&calls| calls >= 5));
    let at_end = calls.load(Ordering::Relaxed);
    std::thread::sleep(Duration::from_millis(20));
    assert_eq!(calls.load(Ordering::Relaxed), at_end, "it ends with the workers");
}

#[test]
fn ending_does_not_wait_for_the_period() {
    let start = Instant::now();
    let results =
        run_with_service(2, Duration::from_secs(3600), || unreachable!("not within the hour"), |w| w);
    assert_eq!(results, [0, 1]);
    assert!(start.elapsed() < Duration::from_secs(600));
}

#[test]
fn panics_beside_a_service_are_passed_on() {
    let worker =
        panic_of(|| run_with_service(2, Duration::from_millis(1), || (), |w| assert!(w != 1, "gives up")));
    assert_eq!(worker, "worker 1: gives up");
    let called = AtomicUsize::new(0);
    let service = panic_of(|| {
        let service = || {
            called.store(1, Ordering::Relaxed);
            panic!("gives up");
        };
        run_with_service(2, Duration::from_millis(1), service, |_| {
            while called.load(Ordering::Relaxed) == 0 {
                std::thread::yield_now();
            }
        })
    });
    assert_eq!(service, "the service: gives up");
}

#[test]
#[should_panic(expected = "a service without a period would never rest")]
fn a_service_has_a_period() {
    run_with_service(1, Duration::ZERO, || (), |w| w);
}

#[cfg(target_os = "linux")]
#[test]
fn workers_are_bound_unless_there_are_too_many() {
    use rustix::thread::{CpuSet, sched_getaffinity};
    let mask = || sched_getaffinity(None).expect("the system tells");
    let first = |set: &CpuSet| (0..CpuSet::MAX_CPU).find(|&cpu| set.is_set(cpu));
    let masks = run(cores(), |_| mask());
    assert!(masks.iter().all(|mask| mask.count() == 1));
    let mut places: Vec<_> = masks.iter().map(first).collect();
    places.sort_unstable();
    places.dedup();
    assert_eq!(places.len(), cores(), "each on a core of its own");
    assert!(run(cores() + 1, |_| mask()).iter().all(|mask| mask.count() as usize == cores()));
}

#[test]
fn a_worker_knows_its_number_and_others_have_none() {
    assert_eq!(run(3, |_| current()), [Some(0), Some(1), Some(2)]);
    assert_eq!(current(), None);
}

/// In release builds nothing is checked.
#[cfg(debug_assertions)]
#[test]
fn a_second_user_is_refused_and_both_are_named() {
    let things = SoleUse::new(2);
    drop(things.enter(1));
    let first = things.enter(1);
    drop(things.enter(0));
    let refused = panic_of(|| run(2, |w| drop(things.enter(w))));
    assert!(
        refused.ends_with(
            "worker 1 uses partition 1 while somebody who is no worker does: it has one owner at a time"
        ),
        "{refused}"
    );
    drop(first);
    run(1, |_| drop(things.enter(1)));
}
