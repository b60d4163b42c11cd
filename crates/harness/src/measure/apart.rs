//! Repetitions apart: on a machine that repeats bit for bit, each runs over a newly loaded store of its own.
//!
//! So what it measures depends on its seed, and neither on those before it nor on those beside it. They go on side by side, as many at a
//! time as the engine takes ([`Engine::each`]) and as memory has room for, and come back in their order: the result is the one that
//! they have one after the other. A store is audited by itself, as its repetition left it.

use super::{After, Session, layout_of, layouts};
use crate::failure::Failure;
use crate::observer::{Event, Observer};
use crate::options::RunOptions;
use crate::summary::{Check, Measured, Memory, Turns};
use contract::{Engine, Layout, Measurement, PairName, Selection};
use workloads::audit::Audited;

/// What comes of a repetition.
type Repetition = (Measurement, Memory, Vec<Check>);

/// Runs the repetitions of `systems`.
pub fn measure<E: Engine, W: Audited>(
    workload: &W,
    systems: &mut [&mut Measured],
    options: &RunOptions,
    after: After,
    observer: &dyn Observer,
) -> Result<Turns, Failure> {
    let pairs: Vec<PairName> = systems.iter().map(|system| system.pair).collect();
    let (runs, each) = (pairs.len() * options.repeat, options.repetition());
    let room = room::<E, W>(workload, &layouts::<E>(&pairs, options)?);
    observer.tell(Event::MeasureBegins { runs, each });
    let mut done = E::each(runs, room, &|run| {
        let (pair, repetition) = (pairs[run / options.repeat], run % options.repeat);
        one::<E, W>(workload, pair, options, repetition, after, observer)
    })
    .into_iter();
    observer.tell(Event::MeasureEnds);
    for system in systems {
        for repetition in done.by_ref().take(options.repeat) {
            let (measurement, memory, checks) = repetition?;
            system.repetitions.push(measurement);
            system.memory = memory;
            Check::join(&mut system.checks, checks);
        }
    }
    Ok(Turns { groups: Vec::new(), repeats: true })
}

/// How many stores memory has room for, if all of them grow to twice their size; one at least.
fn room<E: Engine, W: Audited>(workload: &W, layouts: &[Layout]) -> usize {
    let tables = workload.tables();
    let largest = layouts.iter().map(|&layout| E::needed_bytes(&tables, layout)).max().unwrap_or(0);
    let stores = E::available_bytes() / (2 * largest).max(1);
    usize::try_from(stores).unwrap_or(usize::MAX).max(1)
}

/// One repetition of one system.
fn one<E: Engine, W: Audited>(
    workload: &W,
    pair: PairName,
    options: &RunOptions,
    repetition: usize,
    after: After,
    observer: &dyn Observer,
) -> Result<Repetition, Failure> {
    let (system, selection) = (pair.to_string(), Selection::Pair(pair));
    observer.tell(Event::RunBegins { system: &system, repetition: repetition + 1, of: options.repeat });
    let layout = layout_of::<E>(pair.architecture, options)?;
    let mut session = Session::<E, W>::load(workload, layout, observer)?;
    let (measurement, mut checks) = session.repetition(selection, options, repetition)?;
    if after == After::Audit {
        checks.extend(session.audit(selection, options)?);
    }
    Ok((measurement, session.memory(), checks))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::{measure, supported};
    use crate::mock::{Counting, Mock};
    use crate::observer::Silent;
    use std::time::Duration;

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
