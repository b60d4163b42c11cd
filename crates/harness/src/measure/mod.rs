//! Measuring systems as the papers do: a warm-up that is not counted, a fixed interval that is, several repetitions.
//!
//! Systems that want the same [`Layout`] share one loaded store, and their repetitions are interleaved: round after
//! round every system runs once, and each round starts with another one, so that a machine that slows down, or a
//! store that ages, touches all of them alike. Systems of different layouts run one layout after the other: two
//! stores at once might not fit into memory.
//!
//! Within a round every system draws from the same seed, so that they are asked for the same transactions.

mod session;
pub mod warnings;

pub use session::Session;

use crate::failure::Failure;
use crate::observer::{Event, Observer};
use crate::options::{BadValue, RunOptions};
use crate::summary::{Check, Unmeasured};
use contract::{
    ArchitectureName, Engine, Layout, Measurement, Misfit, PairName, Selection, Support, Workload,
};

/// What one system's repetitions measured.
#[derive(Clone, Debug)]
pub struct Measured {
    /// The system.
    pub pair: PairName,
    /// Its repetitions, in order.
    pub repetitions: Vec<Measurement>,
    /// What was checked after them.
    pub checks: Vec<Check>,
}

impl Measured {
    /// A system before its first repetition.
    pub fn nothing_yet(pair: PairName) -> Measured {
        Measured { pair, repetitions: Vec::new(), checks: Vec::new() }
    }
}

/// Measures `pairs` over `workload`, in the given order of results.
pub fn measure<E: Engine, W: Workload>(
    workload: &W,
    pairs: &[PairName],
    options: &RunOptions,
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
        measure_interleaved(&mut session, &mut group, options, observer)?;
    }
    Ok(measured)
}

/// The pairs that the engine has and that so many workers fit, and the others with why not. One that an option other
/// than its default does not fit is among the first, for [`admit`] to refuse: who asked for it wants to know.
pub fn supported<E: Engine>(options: &RunOptions) -> (Vec<PairName>, Vec<Unmeasured>) {
    let (mut pairs, mut others) = (Vec::new(), Vec::new());
    for pair in PairName::all() {
        match E::support(pair) {
            Support::Unsupported { why } => others.push(Unmeasured::new(pair, why)),
            Support::Supported => {
                match E::arrange(pair.architecture, options.workers, &options.engine_options(0)) {
                    Err(misfit) if !is_asked_for(&misfit, options) => {
                        others.push(Unmeasured::new(pair, format!("--{misfit}")));
                    }
                    _ => pairs.push(pair),
                }
            }
        }
    }
    (pairs, others)
}

/// Whether somebody set the option that does not fit. The number of workers is every architecture's: one that needs
/// more of them does without.
fn is_asked_for(misfit: &Misfit, options: &RunOptions) -> bool {
    let defaults = RunOptions::for_run(options.workers);
    misfit.option != "workers" && options.get(misfit.option) != defaults.get(misfit.option)
}

/// Refuses what the engine does not have: the pair, or so many workers, or an option that does not fit them.
pub fn admit<E: Engine>(pair: PairName, options: &RunOptions) -> Result<(), Failure> {
    if let Support::Unsupported { why } = E::support(pair) {
        return Err(Failure::Unsupported { pair, why });
    }
    admit_workers::<E>(pair.architecture, options)
}

/// Refuses more workers than the architecture takes, and options that do not fit them.
pub fn admit_workers<E: Engine>(architecture: ArchitectureName, options: &RunOptions) -> Result<(), Failure> {
    let workers = options.workers;
    let most = E::most_workers(architecture);
    if workers > most {
        let allowed = format!("1 <= workers <= {most} under {architecture}");
        return Err(BadValue::new("workers", workers, allowed).into());
    }
    layout_of::<E>(architecture, options).map(drop)
}

/// How an architecture wants its store laid out.
pub fn layout_of<E: Engine>(architecture: ArchitectureName, options: &RunOptions) -> Result<Layout, Failure> {
    Ok(E::arrange(architecture, options.workers, &options.engine_options(0))?.layout)
}

/// The layouts that the pairs want, each once, in the order of their first pair.
pub fn layouts<E: Engine>(pairs: &[PairName], options: &RunOptions) -> Result<Vec<Layout>, Failure> {
    let mut layouts = Vec::new();
    for pair in pairs {
        let layout = layout_of::<E>(pair.architecture, options)?;
        if !layouts.contains(&layout) {
            layouts.push(layout);
        }
    }
    Ok(layouts)
}

/// Drives the repetitions of `systems` by turns over one store.
pub fn measure_interleaved<E: Engine, W: Workload>(
    session: &mut Session<'_, E, W>,
    systems: &mut [&mut Measured],
    options: &RunOptions,
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
            Check::join(&mut system.checks, checks);
        }
    }
    observer.tell(Event::MeasureEnds);
    Ok(())
}
