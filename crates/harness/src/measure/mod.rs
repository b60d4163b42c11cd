//! Measuring systems as the papers do: a warm-up that is not counted, a fixed interval that is, several repetitions.
//!
//! Systems are taken by turns ([`Stores`]): round after round each runs once, so that a machine that slows down touches all of
//! them alike. Within a round every system draws from the same seed, so that they are asked for the same transactions. A machine
//! that repeats bit for bit does not slow down: there, repetitions run apart, and side by side. What is left to short runs to choose is chosen
//! before the first repetition (`division.rs`), and what a part of a system's capacity is (`capacity.rs`).

mod apart;
mod capacity;
mod division;
mod fit;
mod idle;
mod interrupted;
mod recovery;
mod session;
mod stores;
#[cfg(test)]
mod tests;

pub use division::admit_division;
pub use fit::{Fit, admit, admit_logs, admit_workers, fit, layout_of, layouts, pairs_of, supported};
pub use idle::{Point, idle};
pub use recovery::recover;
pub use session::Session;
pub use stores::Stores;

use crate::failure::Failure;
use crate::observer::Observer;
use crate::options::RunOptions;
use crate::summary::{Measured, Turns};
use contract::{Engine, PairName};
use workloads::audit::Audited;

/// What follows the last repetition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum After {
    /// The workload's own audit: what must hold of the tables is read and checked.
    Audit,
    /// Nothing: for runs whose only purpose is a number that others check.
    Nothing,
}

/// Measures `pairs` over `workload`, in the given order of results; answers how they were taken, too. Interrupted, it answers as many
/// repetitions as all of a group have, or those that have one if some have none, and no group that has fewer than an earlier one.
pub fn measure<E: Engine, W: Audited>(
    workload: &W,
    pairs: &[PairName],
    options: &RunOptions,
    after: After,
    observer: &dyn Observer,
) -> Result<(Vec<Measured>, Turns), Failure> {
    measure_over(&mut Stores::<E, W>::of(workload), pairs, options, after, observer)
}

/// The same over stores that go on: those that are as newly loaded serve again.
pub fn measure_over<E: Engine, W: Audited>(
    stores: &mut Stores<'_, E, W>,
    pairs: &[PairName],
    options: &RunOptions,
    after: After,
    observer: &dyn Observer,
) -> Result<(Vec<Measured>, Turns), Failure> {
    for &pair in pairs {
        admit::<E>(pair, options)?;
    }
    let mut measured: Vec<Measured> = pairs.iter().map(|&pair| Measured::nothing_yet(pair)).collect();
    let mut systems: Vec<&mut Measured> = measured.iter_mut().collect();
    let turns = stores.measure(&mut systems, options, after, observer)?;
    let interrupted = interrupted::keep_whole_rounds(&mut measured, &turns, options.repeat)?;
    Ok((measured, Turns { interrupted, ..turns }))
}
