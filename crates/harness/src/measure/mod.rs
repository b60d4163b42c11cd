//! Measuring systems as the papers do: a warm-up that is not counted, a fixed interval that is, several repetitions.
//!
//! Systems that want the same [`contract::Layout`] share one loaded store, and their repetitions are interleaved: round after
//! round every system runs once, and each round starts with another one, so that a machine that slows down, or a
//! store that ages, touches all of them alike. Systems of different layouts run one layout after the other: two
//! stores at once might not fit into memory.
//!
//! Within a round every system draws from the same seed, so that they are asked for the same transactions.

mod fit;
mod session;
pub mod warnings;

pub use fit::{Fit, admit, admit_workers, fit, layout_of, layouts, pairs_of, supported};
pub use session::Session;

use crate::failure::Failure;
use crate::observer::{Event, Observer};
use crate::options::RunOptions;
use crate::summary::{Check, Memory};
use contract::{Engine, Measurement, PairName, Selection};
use workloads::audit::Audited;

/// What one system's repetitions measured.
#[derive(Clone, Debug)]
pub struct Measured {
    /// The system.
    pub pair: PairName,
    /// Its repetitions, in order.
    pub repetitions: Vec<Measurement>,
    /// What its store takes.
    pub memory: Memory,
    /// What was checked after them.
    pub checks: Vec<Check>,
}

impl Measured {
    /// A system before its first repetition.
    pub fn nothing_yet(pair: PairName) -> Measured {
        Measured { pair, repetitions: Vec::new(), memory: Memory::default(), checks: Vec::new() }
    }
}

/// What follows the last repetition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum After {
    /// The workload's own audit: what must hold of the tables is read and checked.
    Audit,
    /// Nothing: for runs whose only purpose is a number that others check.
    Nothing,
}

/// Measures `pairs` over `workload`, in the given order of results.
pub fn measure<E: Engine, W: Audited>(
    workload: &W,
    pairs: &[PairName],
    options: &RunOptions,
    after: After,
    observer: &dyn Observer,
) -> Result<Vec<Measured>, Failure> {
    for &pair in pairs {
        admit::<E>(pair, options)?;
    }
    let mut measured: Vec<Measured> = pairs.iter().map(|&pair| Measured::nothing_yet(pair)).collect();
    for layout in layouts::<E>(pairs, options)? {
        let mut session = Session::<E, W>::load(workload, layout, observer)?;
        let mut group: Vec<&mut Measured> = measured
            .iter_mut()
            .filter(|system| layout_of::<E>(system.pair.architecture, options).is_ok_and(|own| own == layout))
            .collect();
        measure_interleaved(&mut session, &mut group, options, after, observer)?;
    }
    Ok(measured)
}

/// Drives the repetitions of `systems` by turns over one store. What an audit finds concerns all of them.
pub fn measure_interleaved<E: Engine, W: Audited>(
    session: &mut Session<'_, E, W>,
    systems: &mut [&mut Measured],
    options: &RunOptions,
    after: After,
    observer: &dyn Observer,
) -> Result<(), Failure> {
    let drives = systems.len() * options.repeat;
    observer.tell(Event::MeasureBegins { drives, each: options.repetition() });
    for repetition in 0..options.repeat {
        for position in 0..systems.len() {
            let turn = (position + repetition) % systems.len();
            let system = &mut *systems[turn];
            let name = system.pair.to_string();
            observer.tell(Event::DriveBegins {
                system: &name,
                repetition: repetition + 1,
                of: options.repeat,
            });
            let (measurement, checks) =
                session.repetition(Selection::Pair(system.pair), options, repetition)?;
            system.repetitions.push(measurement);
            system.memory = session.memory();
            Check::join(&mut system.checks, checks);
        }
    }
    observer.tell(Event::MeasureEnds);
    if let (After::Audit, Some(last)) = (after, systems.last()) {
        let check = session.audit(Selection::Pair(last.pair), options)?;
        systems
            .iter_mut()
            .for_each(|system| Check::join(&mut system.checks, check.iter().cloned().collect()));
    }
    Ok(())
}
