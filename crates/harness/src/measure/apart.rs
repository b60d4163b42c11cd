//! Repetitions apart: on a machine that repeats bit for bit, each has a store of its own, as if newly loaded.
//!
//! So what it measures depends on its seed, and neither on those before it nor on those beside it. They go on side by side, as many at a
//! time as the engine takes ([`Engine::each`]) and as memory has room for, and come back in their order: the result is the one that
//! they have one after the other. A store is audited as its repetition left it. Where that makes no difference to a further one
//! ([`Session::is_as_new`]) it is used again, for to load millions of rows takes as long as to simulate some cores over them.

use super::{After, Session, layout_of, layouts};
use crate::failure::Failure;
use crate::observer::{Event, Observer};
use crate::options::RunOptions;
use crate::summary::{Check, Measured, Memory, Turns};
use contract::{Engine, Layout, LogReport, Measurement, PairName, Selection};
use std::mem::take;
use std::sync::Mutex;
use workloads::audit::Audited;

/// What comes of a repetition.
type Repetition = (Measurement, Memory, Option<LogReport>, Vec<Check>);

/// Stores that are as new and that nobody uses.
type Unused<'a, E, W> = Mutex<Vec<Session<'a, E, W>>>;

/// Runs the repetitions of `systems`. Stores that are as new are taken from `kept`, and left there.
pub fn measure<'a, E: Engine, W: Audited>(
    workload: &'a W,
    kept: &mut Vec<Session<'a, E, W>>,
    systems: &mut [&mut Measured],
    options: &RunOptions,
    after: After,
    observer: &dyn Observer,
) -> Result<Turns, Failure> {
    let pairs: Vec<PairName> = systems.iter().map(|system| system.pair).collect();
    let told: Vec<RunOptions> = systems.iter().map(|system| system.told(options)).collect();
    let (runs, each) = (pairs.len() * options.repeat, options.repetition());
    let room = room::<E, W>(workload, &layouts::<E>(&pairs, options)?) + kept.len();
    let unused: Unused<'_, E, W> = Mutex::new(take(kept));
    observer.tell(Event::MeasureBegins { runs, each });
    let done: Vec<Result<Option<Repetition>, Failure>> = E::each(runs, room, &|run| {
        if observer.is_interrupted() {
            return Ok(None);
        }
        let (pair, repetition) = (pairs[run / options.repeat], run % options.repeat);
        let options = &told[run / options.repeat];
        let (system, number, of) = (pair.shown(), repetition + 1, options.repeat);
        observer.tell(Event::RunBegins { system: &system, repetition: number, of });
        let layout = layout_of::<E>(pair, options)?;
        let mut session = store(workload, layout, &unused, observer)?;
        let measured = one(&mut session, Selection::Pair(pair), options, repetition, after)?;
        if session.is_as_new() {
            unused.lock().expect("nobody panics with it").push(session);
        }
        Ok(Some(measured))
    });
    observer.tell(Event::MeasureEnds);
    *kept = unused.into_inner().expect("nobody panics with it");
    let mut done = done.into_iter();
    for system in systems {
        for repetition in done.by_ref().take(options.repeat) {
            let Some((measurement, memory, log, checks)) = repetition? else { continue };
            system.repetitions.push(measurement);
            system.memory = memory;
            system.log = system.log.take().into_iter().chain(log).reduce(LogReport::beside);
            Check::join(&mut system.checks, checks);
        }
    }
    Ok(Turns { repeats: true, ..Turns::default() })
}

/// How many further stores memory has room for, if all of them grow to twice their size; one at least.
fn room<E: Engine, W: Audited>(workload: &W, layouts: &[Layout]) -> usize {
    let tables = workload.tables();
    let largest = layouts.iter().map(|&layout| E::needed_bytes(&tables, layout)).max().unwrap_or(0);
    let stores = E::available_bytes() / (2 * largest).max(1);
    usize::try_from(stores).unwrap_or(usize::MAX / 2).max(1)
}

/// A store that nobody uses, or else a newly loaded one in the place of one of another layout.
fn store<'a, E: Engine, W: Audited>(
    workload: &'a W,
    layout: Layout,
    unused: &Unused<'a, E, W>,
    observer: &dyn Observer,
) -> Result<Session<'a, E, W>, Failure> {
    let found = {
        let mut unused = unused.lock().expect("nobody panics with it");
        let fits = unused.iter().position(|session| session.layout() == layout);
        fits.or(unused.len().checked_sub(1)).map(|position| unused.swap_remove(position))
    };
    match found {
        Some(session) if session.layout() == layout => Ok(session),
        other => {
            drop(other);
            Session::load(workload, layout, observer)
        }
    }
}

/// One repetition.
fn one<E: Engine, W: Audited>(
    session: &mut Session<'_, E, W>,
    selection: Selection,
    options: &RunOptions,
    repetition: usize,
    after: After,
) -> Result<Repetition, Failure> {
    let (measurement, mut checks) = session.repetition(selection, options, repetition)?;
    if after == After::Audit {
        checks.extend(session.audit(selection, options)?);
    }
    Ok((measurement, session.memory(), session.log_report()?, checks))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::{measure, supported};
    use crate::mock::{Counting, Mock};
    use crate::observer::Silent;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;
    use workloads::Ycsb;

    #[derive(Default)]
    struct Loads(AtomicUsize);

    impl Observer for Loads {
        fn tell(&self, event: Event<'_>) {
            if let Event::LoadBegins { .. } = event {
                // Relaxed: a counter.
                self.0.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    /// The fake engine is the faster the more runs there were over a store.
    #[test]
    fn no_repetition_runs_over_what_another_left() {
        let options = RunOptions { repeat: 3, ..RunOptions::for_compare(2) };
        let measured = |pairs: &[PairName]| {
            measure::<Mock<true, 0>, _>(&Counting { rows: 100 }, pairs, &options, After::Audit, &Silent)
        };
        let (pairs, _) = supported::<Mock<true, 0>>(&options);
        let (measured, _) = measured(&pairs).expect("measured");
        assert_eq!(measured.iter().map(|system| system.pair).collect::<Vec<_>>(), pairs);
        for system in &measured {
            let times: Vec<Duration> = system.repetitions.iter().map(|run| run.elapsed).collect();
            assert_eq!(times, [Duration::from_secs(1); 3], "{}", system.pair);
            assert_eq!((system.memory.rows, system.checks.len()), (100, 3), "{}", system.pair);
        }
    }

    /// The rows of which nobody looks at.
    #[test]
    fn what_nobody_can_tell_from_a_newly_loaded_store_is_used_again() {
        let loads = |given: &[(&str, &str)]| {
            let workload = Ycsb::new(&given.iter().copied().collect()).expect("parameters of YCSB");
            let options = RunOptions { repeat: 3, ..RunOptions::for_compare(2) };
            let (pairs, _) = supported::<Mock<true, 0>>(&options);
            let loads = Loads::default();
            measure::<Mock<true, 0>, _>(&workload, &pairs, &options, After::Audit, &loads).expect("measured");
            loads.0.into_inner()
        };
        assert_eq!(
            loads(&[("records", "100"), ("mix", "A")]),
            3,
            "the layouts of the systems, in their order"
        );
        assert_eq!(loads(&[("records", "100"), ("mix", "D")]), 5 * 3, "insertions are seen");
    }

    #[test]
    fn stores_have_room_to_grow_to_twice_their_size() {
        let (workload, layouts) = (Counting { rows: 100 }, [Layout::of(1), Layout::of(2)]);
        assert_eq!(
            room::<Mock<true, 0>, _>(&workload, &layouts),
            1,
            "one, and the engine says whether it can"
        );
        assert_eq!(room::<Mock<true, 1599>, _>(&workload, &layouts), 1);
        assert_eq!(room::<Mock<true, 4800>, _>(&workload, &layouts), 3);
    }
}
