//! Recovering a store from its log, and what holds of it then.

use super::{Session, layout_of};
use crate::failure::Failure;
use crate::observer::Observer;
use crate::options::RunOptions;
use crate::summary::{Check, Memory};
use contract::{Engine, PairName, Recovered, RecoveryOptions, Selection};
use std::path::PathBuf;
use workloads::audit::Audited;

/// Loads the tables as the log says, and audits them, as `pair` reads them.
pub fn recover<E: Engine, W: Audited>(
    workload: &W,
    pair: PairName,
    folders: &[PathBuf],
    how: &RecoveryOptions,
    options: &RunOptions,
    observer: &dyn Observer,
) -> Result<(Recovered, Vec<Check>, Memory), Failure> {
    let layout = layout_of::<E>(pair, options)?;
    let (mut session, recovered) = Session::<E, W>::recover(workload, layout, folders, how, observer)?;
    let mut checks = vec![session.nothing_held()?];
    checks.extend(session.audit(Selection::Pair(pair), options)?);
    Ok((recovered, checks, session.memory()))
}
