//! Parking cores that spin: it changes no clock, and it is noticed when something changes.

use super::machine;
use machine::simulated::atomic::{AtomicU64, Ordering};
use machine::simulated::latch::{Latch, TestAndTestAndSet};
use machine::simulated::region::Region;
use machine::simulated::{Simulation, Statistics, clock, cpu, statistics, worker};
use std::time::Duration;

#[repr(align(128))]
#[derive(Default)]
struct Line(AtomicU64);

/// When each worker ended, with cores parked or not, and what it took.
fn ends(name: &str, workers: usize, parks: bool, work: impl Fn(usize) + Sync) -> (Vec<u64>, Statistics) {
    let machine = machine(name);
    Simulation::of(&machine).seed(5).parks(parks).run(|| {
        let ends = worker::run(workers, |core| {
            work(core);
            clock::now().0
        });
        (ends, statistics())
    })
}

/// The same ends either way, by fewer events.
fn changes_no_clock(name: &str, workers: usize, work: impl Fn() -> Box<dyn Fn(usize) + Sync>) -> Statistics {
    let (parked, with) = ends(name, workers, true, work());
    let (followed, without) = ends(name, workers, false, work());
    assert_eq!(parked, followed, "{name}");
    assert!(with.parks > 0 && without.parks == 0, "{with:?}");
    assert!(with.events < without.events / 2, "{} of {} events", with.events, without.events);
    with
}

#[test]
fn waiting_for_a_word() {
    for name in ["haswell-ex-4x18", "graphite-mesh-64"] {
        changes_no_clock(name, 32, || {
            let turn = Line::default();
            Box::new(move |core| {
                while turn.0.load(Ordering::Acquire) != core as u64 {
                    cpu::pause();
                }
                cpu::work(5_000);
                turn.0.store(core as u64 + 1, Ordering::Release);
            })
        });
    }
}

#[test]
fn waiting_until_a_time() {
    for name in ["haswell-ex-4x18", "graphite-mesh-64"] {
        changes_no_clock(name, 8, || {
            let word = Line::default();
            Box::new(move |core| {
                let deadline = clock::Ticks(clock::now().0 + 20_000 + core as u64);
                // Either the time comes or the word is written.
                while clock::now() < deadline && word.0.load(Ordering::Relaxed) == 0 {
                    cpu::pause_until(deadline);
                }
                if core == 3 {
                    word.0.store(1, Ordering::Relaxed);
                }
            })
        });
    }
}

/// Every worker polls a line for each other one, and sends its neighbour a message now and then.
#[test]
fn polling_the_inboxes_of_all() {
    const WORKERS: usize = 32;
    let statistics = changes_no_clock("haswell-ex-4x18", WORKERS, || {
        let boxes: Vec<Line> = (0..WORKERS * WORKERS).map(|_| Line::default()).collect();
        Box::new(move |me| {
            let mut left = 3;
            if me == 0 {
                boxes[WORKERS].0.store(1, Ordering::Release);
            }
            while left > 0 {
                let mut found = false;
                for from in 0..WORKERS {
                    let inbox = &boxes[me * WORKERS + from].0;
                    if inbox.load(Ordering::Acquire) != 0 {
                        inbox.store(0, Ordering::Release);
                        found = true;
                    }
                }
                if found {
                    left -= 1;
                    cpu::work(20_000);
                    boxes[(me + 1) % WORKERS * WORKERS + me].0.store(1, Ordering::Release);
                } else {
                    cpu::pause();
                }
            }
        })
    });
    assert!(statistics.parks < 2_000, "{statistics:?}");
}

#[test]
fn a_thousand_inboxes() {
    const INBOXES: usize = 1024;
    let (ends, statistics) = {
        let region = Region::reserve(INBOXES * 64).expect("64 KiB");
        let inbox = |n: usize| {
            // SAFETY: an aligned, zeroed word of the region, which is only accessed as such words and outlives the run.
            unsafe {
                &*std::ptr::with_exposed_provenance::<AtomicU64>(region.base().expose_provenance() + n * 64)
            }
        };
        ends("graphite-mesh-1024", 2, true, |core| {
            if core == 1 {
                for message in 0..20 {
                    cpu::work(1_000_000);
                    inbox(message * 50).store(1, Ordering::Release);
                }
                return;
            }
            let mut came = 0;
            while came < 20 {
                let before = came;
                for n in 0..INBOXES {
                    if inbox(n).load(Ordering::Acquire) != 0 {
                        inbox(n).store(0, Ordering::Release);
                        came += 1;
                    }
                }
                if came == before {
                    cpu::pause();
                }
            }
        })
    };
    assert!(ends[0] > 20_000_000, "{ends:?}");
    // Without parking: 20 ms of looking into a thousand lines, each 1 ns.
    assert!(statistics.events < 500_000, "{statistics:?}");
}

/// A loop that counts its turns ends, though nothing that it looks at changes.
#[test]
fn a_loop_that_counts_ends() {
    let (ends, _) = ends("haswell-ex-4x18", 2, true, |_| {
        let word = Line::default();
        for _ in 0..1_000 {
            assert_eq!(word.0.load(Ordering::Relaxed), 0);
            cpu::pause();
        }
        (0..100).for_each(|_| cpu::pause());
    });
    assert!(ends.iter().all(|&end| end > 1_000), "{ends:?}");
}

/// A service that writes wakes those that wait for it.
#[test]
fn a_service_wakes_who_waits() {
    let machine = machine("haswell-ex-4x18");
    let statistics = Simulation::of(&machine).run(|| {
        let epoch = Line::default();
        let advance = || {
            epoch.0.fetch_add(1, Ordering::Release);
        };
        worker::run_with_service(4, Duration::from_millis(10), advance, |_| {
            while epoch.0.load(Ordering::Acquire) < 5 {
                cpu::pause();
            }
        });
        statistics()
    });
    assert!((50..52).contains(&statistics.simulated.as_millis()), "{statistics:?}");
    assert!(statistics.events < 10_000, "{statistics:?}");
}

/// Messages come at any time of a turn, also between the look that would have found them and the pause.
#[test]
fn messages_at_any_time_of_a_turn() {
    const WORKERS: usize = 12;
    const MESSAGES: u64 = 300;
    changes_no_clock("haswell-ex-4x18", WORKERS, || {
        let boxes: Vec<Line> = (0..WORKERS * WORKERS).map(|_| Line::default()).collect();
        Box::new(move |me| {
            let mut draw = fastrand::Rng::with_seed(me as u64);
            let outbox = &boxes[(me + 1) % WORKERS * WORKERS + me].0;
            let mut sent = 1;
            outbox.store(sent, Ordering::Release);
            let mut seen = [0; WORKERS];
            while seen.iter().all(|&seen| seen < MESSAGES) {
                let mut found = false;
                for (from, seen) in seen.iter_mut().enumerate() {
                    let came = boxes[me * WORKERS + from].0.load(Ordering::Acquire);
                    found |= std::mem::replace(seen, came) != came;
                }
                if found {
                    cpu::work(draw.u64(..700));
                    sent += 1;
                    outbox.store(sent, Ordering::Release);
                } else {
                    cpu::pause();
                }
            }
            // A core that comes later is not kept waiting.
            outbox.store(MESSAGES, Ordering::Release);
        })
    });
}

/// The holder of a latch releases it by a store, some so soon that others have asked for its line by then.
#[test]
fn waiting_for_a_latch() {
    for name in ["haswell-ex-4x18", "graphite-mesh-64"] {
        let work = || {
            let latch = TestAndTestAndSet::default();
            move |me: usize| {
                let mut draw = fastrand::Rng::with_seed(me as u64);
                for _ in 0..50 {
                    latch.lock();
                    cpu::work(draw.u64(..400));
                    latch.unlock();
                    cpu::work(draw.u64(..4_000));
                }
            }
        };
        let (parked, followed) = (ends(name, 12, true, work()), ends(name, 12, false, work()));
        assert!(parked.1.parks > 0, "{:?}", parked.1);
        assert_eq!(parked.0, followed.0, "{name}");
    }
}
