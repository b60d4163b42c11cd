//! Programs side by side on one exploration, as processes of several machines are, one of which may be killed.
//!
//! Each is a function that runs on a core of its own, its *front*, and may run workers there ([`super::worker::run`]): these are cores, too, and the schedule goes
//! from any core of any program to any other. Workers have numbers from 0 on in each program, and services end with the workers of theirs. What programs share is for them to
//! say: sockets ([`super::socket`]), a disk ([`super::disk`]).
//!
//! **A kill** comes at a scheduling point of the program's cores, the front among them: in the middle of whatever they do, between two accesses. From then on none of
//! them goes on, and nothing is unwound: what they would have done does not happen. What the program had handed to its disk is there, as the disk's rules
//! say; its memory is gone; whoever kills it says in [`Kill::dies`] what becomes of its sockets. It is put off while a panic unwinds somebody.
//!
//! What is on the stacks of a program that was killed is leaked.

use super::access::{Control, control};
use super::cores::{self, Body};
use super::exploration::machine::{self as exploring, Death};
use std::cell::RefCell;

/// When one of several programs is killed.
pub struct Kill<'k> {
    /// Which.
    pub program: usize,
    /// At the so-manieth scheduling point of its cores, from 1. One that has ended before is not killed.
    pub at_step: u64,
    /// Told then, before any other core goes on. It must not access the machine.
    pub dies: &'k dyn Fn(),
}

/// Runs `f(0)` to `f(programs - 1)`, each as a program of its own, and returns their results in that order; `None`: it was killed.
///
/// A panic in one is passed on when the others have ended, or have been unwound ([`super::worker::run`]).
///
/// Panics outside of an exploration, and on a core of one.
pub fn run<R>(programs: usize, kill: Option<Kill<'_>>, f: impl Fn(usize) -> R) -> Vec<Option<R>> {
    assert!(matches!(control(), Control::Exploring), "programs run side by side in explorations");
    let death = kill.map(|Kill { program, at_step, dies }| {
        let dies: *const (dyn Fn() + '_) = dies;
        // SAFETY: the lifetime only; it is called within this function.
        let dies: *const (dyn Fn() + 'static) = unsafe { std::mem::transmute(dies) };
        Death { program, steps_left: at_step.max(1), dies }
    });
    exploring::with(|machine| {
        // Dropped last, after the coroutines.
        let _running = machine.make_fronts(programs, death);
        let stack_bytes = machine.settings().stack_bytes;
        cores::run_each(machine, programs, programs, stack_bytes, &|program| Some(f(program)))
    })
}

/// As [`super::worker::run`], on a front: hands the cores over.
pub(super) fn run_cores<R>(workers: usize, cores: usize, body: &dyn Fn(usize) -> Option<R>) -> Vec<R> {
    let results: Vec<RefCell<Option<R>>> = (0..cores).map(|_| RefCell::new(None)).collect();
    let own = |core: usize| {
        let results = &results;
        move || {
            let result = body(core);
            results[core].replace(result);
        }
    };
    let bodies: Vec<_> = (0..cores).map(own).collect();
    let handed = bodies.iter().map(|body| {
        let body: *const (dyn Fn() + '_) = body;
        // SAFETY: the lifetime only. This function, on whose stack it is, does not go on, and is not unwound, before all cores have ended; if the program is killed,
        // none of them goes on either, and the stack is kept.
        let body: *const (dyn Fn() + 'static) = unsafe { std::mem::transmute(body) };
        Body(body)
    });
    let handed = handed.collect();
    exploring::with(|machine| machine.hand_over(workers, handed));
    let results = results.into_iter().take(workers).map(RefCell::into_inner);
    results.map(|result| result.expect("a worker of this program panicked")).collect()
}

#[cfg(test)]
mod tests {
    use super::super::atomic::{AtomicU64, Ordering};
    use super::super::schedule::Schedule;
    use super::super::worker::{self, Service};
    use super::super::{cpu, explore};
    use super::*;
    use std::cell::Cell;
    use std::time::Duration;

    const RANDOM: Schedule = Schedule::Random { seed: 7, switch_one_in: 3 };

    /// Counts up by two workers while a service looks on; answers the sum and the workers' numbers.
    fn program(shared: &AtomicU64, times: u64) -> (u64, Vec<usize>) {
        let looks = AtomicU64::new(0);
        let look = || {
            looks.fetch_add(1, Ordering::Relaxed);
        };
        let service = Service { name: "looks", period: Duration::from_nanos(50), bell: None, work: &look };
        let numbers = worker::run_each_with_services(vec![(); 2], &[service], |number, (), _| {
            assert_eq!(worker::current(), Some(number));
            (0..times).for_each(|_| {
                shared.fetch_add(1, Ordering::Relaxed);
            });
            number
        });
        assert_eq!(worker::current(), None, "on a front");
        (looks.load(Ordering::Relaxed), numbers)
    }

    #[test]
    fn programs_run_side_by_side_each_with_workers_of_its_own() {
        let shared = AtomicU64::new(0);
        let ran = explore(RANDOM, || {
            run(3, None, |number| {
                // Twice: a program may run workers again.
                let (looks, workers) = program(&shared, 20 * (number as u64 + 1));
                assert!(looks > 0);
                assert_eq!(program(&shared, 1).1, workers);
                workers
            })
        });
        assert_eq!(ran, vec![Some(vec![0, 1]); 3]);
        assert_eq!(shared.load(Ordering::Relaxed), 2 * (20 + 40 + 60) + 2 * 3);
    }

    #[test]
    fn who_is_killed_does_nothing_more_and_the_others_go_on() {
        let (mut fewest, mut most) = (u64::MAX, 0);
        // To the program's end: whoever has ended is not killed.
        for at_step in (1..).step_by(13) {
            let (own, others, died) = (AtomicU64::new(0), AtomicU64::new(0), Cell::new(None));
            let dies = || died.set(Some(own.load(Ordering::Relaxed)));
            let ran = explore(RANDOM, || {
                // Outside of the schedule: `dies` must not access the machine.
                let dies = || super::super::unobserved(dies);
                run(2, Some(Kill { program: 1, at_step, dies: &dies }), |number| {
                    program(if number == 1 { &own } else { &others }, 50);
                })
            });
            assert_eq!(ran[0], Some(()), "the other goes on");
            if ran[1].is_some() {
                break;
            }
            let own = own.load(Ordering::Relaxed);
            assert_eq!((died.get(), others.load(Ordering::Relaxed)), (Some(own), 100));
            (fewest, most) = (fewest.min(own), most.max(own));
        }
        assert!(fewest == 0 && most > 50, "killed between {fewest} and {most} of 100");
    }

    #[test]
    fn who_has_ended_is_not_killed_and_who_waits_for_the_dead_is_told_of() {
        let never = || unreachable!("it has ended");
        let kill = Kill { program: 0, at_step: 1_000_000, dies: &never };
        assert_eq!(explore(RANDOM, || run(2, Some(kill), |number| number)), [Some(0), Some(1)]);
        let word = AtomicU64::new(0);
        let waits = || {
            let kill = Kill { program: 0, at_step: 5, dies: &|| () };
            run(2, Some(kill), |number| match number {
                0 => (0..10).for_each(|_| {
                    word.fetch_add(1, Ordering::Relaxed);
                }),
                _ => {
                    while word.load(Ordering::Relaxed) < 10 {
                        cpu::pause();
                    }
                }
            })
        };
        let exploration = super::super::Exploration { step_bound: 10_000, ..RANDOM.into() };
        let panic = std::panic::catch_unwind(|| explore(exploration, waits)).expect_err("it waits for ever");
        assert!(panic.downcast_ref::<String>().expect("words").contains("no progress"));
    }

    #[test]
    fn a_panic_in_one_ends_all() {
        let panics = || {
            run(2, None, |number| {
                worker::run(2, |worker| assert!(number == 0 || worker == 0, "worker 1 of program 1"));
            })
        };
        let panic = std::panic::catch_unwind(|| explore(RANDOM, panics)).expect_err("it is passed on");
        assert!(panic.downcast_ref::<String>().expect("words").contains("worker 1 of program 1"));
    }
}
