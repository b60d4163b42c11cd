//! What can be measured: pairs that the engine has, under options that fit their architectures.
//!
//! Who asks for many systems or points at once cannot mean that every option fits every one of them: what does not fit
//! is left out, with the reason. But an option that somebody set, and that does not fit a system at any of the points
//! asked for, is refused: leaving that system out would hide a mistake. `compare` asks for one point of each system, a
//! sweep for many.

use crate::failure::Failure;
use crate::options::{BadValue, OptionDescription, RunOptions};
use crate::summary::Unmeasured;
use contract::{ArchitectureName, Engine, Layout, Misfit, PairName, Selection, Support};

/// What to do about a point.
#[derive(Debug)]
pub enum Fit {
    /// It can be measured.
    Fits,
    /// The engine does not have its pair: it is left out.
    NoPair(&'static str),
    /// An option does not fit its architecture: it is left out.
    LeftOut(Misfit),
    /// An option does not fit its architecture: it is refused.
    Refused(BadValue),
}

/// The rule above. `fits_elsewhere`: whether the pair fits at another of the points asked for.
pub fn fit<E: Engine>(pair: PairName, options: &RunOptions, fits_elsewhere: bool) -> Fit {
    if let Support::Unsupported { why } = E::support(pair) {
        return Fit::NoPair(why);
    }
    if let Err(bad) = few_enough_workers::<E>(pair.architecture, options) {
        return Fit::Refused(bad);
    }
    let arranged = E::arrange(pair, options.workers, &options.engine_options(0));
    match arranged.and_then(|_| without_transactions(pair, options)) {
        Ok(()) => Fit::Fits,
        Err(misfit) if is_asked_for(&misfit, options) && !fits_elsewhere => Fit::Refused(misfit.into()),
        Err(misfit) => Fit::LeftOut(misfit),
    }
}

/// Whether somebody set the option that does not fit. The number of workers is every architecture's: one that needs
/// more of them does without. The protocol is the system's own: it does not fit the workload.
fn is_asked_for(misfit: &Misfit, options: &RunOptions) -> bool {
    let defaults = RunOptions::for_run(options.workers);
    !["workers", "protocol"].contains(&misfit.option)
        && options.get(misfit.option) != defaults.get(misfit.option)
}

/// The pairs that are measured under `options`, and the others with why not. A pair that is refused is among the
/// first, for [`admit`] says why; but not if the option is for other pairs only, as `instances` is.
pub fn supported<E: Engine>(options: &RunOptions) -> (Vec<PairName>, Vec<Unmeasured>) {
    let (mut pairs, mut others) = (Vec::new(), Vec::new());
    for pair in PairName::all() {
        match fit::<E>(pair, options, false) {
            Fit::Refused(bad) if !is_for(&bad.option, pair) => {
                others.push(Unmeasured::new(pair, format!("--{bad}")));
            }
            Fit::Fits | Fit::Refused(_) => pairs.push(pair),
            Fit::NoPair(why) => others.push(Unmeasured::new(pair, why)),
            Fit::LeftOut(misfit) => others.push(Unmeasured::new(pair, format!("--{misfit}"))),
        }
    }
    (pairs, others)
}

fn is_for(option: &str, pair: PairName) -> bool {
    OptionDescription::named(option).is_none_or(|option| option.is_used_by(pair))
}

/// The pairs that the engine has of an architecture. Where there is one only, the protocol need not be named.
pub fn pairs_of<E: Engine>(architecture: ArchitectureName) -> Vec<PairName> {
    let has = |pair: &PairName| pair.architecture == architecture && E::support(*pair) == Support::Supported;
    PairName::all().filter(has).collect()
}

/// Refuses what the engine does not have: the pair, or so many workers, or an option that does not fit them.
pub fn admit<E: Engine>(pair: PairName, options: &RunOptions) -> Result<(), Failure> {
    if let Support::Unsupported { why } = E::support(pair) {
        return Err(Failure::Unsupported { pair, why });
    }
    admit_workers::<E>(pair, options)?;
    without_transactions(pair, options)?;
    Ok(without_instances(layout_of::<E>(pair, options)?, options)?)
}

/// A checkpoint is walked by the slots, each of which reaches its own instance's rows only.
fn without_instances(layout: Layout, options: &RunOptions) -> Result<(), Misfit> {
    let takes_checkpoints = options.logging.of_store(0).is_some_and(|log| log.checkpoint_every.is_some());
    if layout.instances == 1 || !takes_checkpoints {
        return Ok(());
    }
    let (option, value) = ("checkpoint-every", options.get("checkpoint-every"));
    let allowed = "'never' with several instances, each of which reaches its own rows only".to_owned();
    Err(Misfit { option, value, allowed })
}

/// Logs and snapshots are of transactions: a store without them has none.
fn without_transactions(pair: PairName, options: &RunOptions) -> Result<(), Misfit> {
    let without = match pair.protocol.has_transactions() {
        true => return Ok(()),
        false if options.logging.of_store(0).is_some() => "--durability none",
        false if options.engine.snapshots => "--snapshots off",
        false => return Ok(()),
    };
    let allowed = format!("with {without}, for it has no transactions");
    Err(Misfit { option: "protocol", value: pair.protocol.to_string(), allowed })
}

/// Refuses more workers than the architecture takes, and options that do not fit them.
pub fn admit_workers<E: Engine>(
    selection: impl Into<Selection>,
    options: &RunOptions,
) -> Result<(), Failure> {
    let selection = selection.into();
    few_enough_workers::<E>(selection.architecture(), options)?;
    layout_of::<E>(selection, options).map(drop)
}

fn few_enough_workers<E: Engine>(
    architecture: ArchitectureName,
    options: &RunOptions,
) -> Result<(), BadValue> {
    let (workers, most) = (options.workers, E::most_workers(architecture));
    if workers <= most {
        return Ok(());
    }
    let allowed = format!("1 <= workers <= {most} under {architecture}");
    Err(BadValue::new("workers", workers, allowed))
}

/// Refuses folders in which no log can be begun, before any of up to `stores` stores is loaded for it. Where runs repeat, the disk is a
/// simulated one, and empty.
pub fn admit_logs<E: Engine>(options: &RunOptions, stores: u64) -> Result<(), Failure> {
    let logging = &options.logging;
    let stores = if logging.each_apart { stores } else { 1 };
    let logs = (0..stores).filter_map(|store| logging.of_store(store)).filter(|_| !E::REPEATS);
    for log in logs {
        E::admit_new_log(&log.folders)?;
    }
    Ok(())
}

/// How a system wants its store laid out.
pub fn layout_of<E: Engine>(
    selection: impl Into<Selection>,
    options: &RunOptions,
) -> Result<Layout, Failure> {
    Ok(E::arrange(selection, options.workers, &options.engine_options(0))?.layout)
}

/// The layouts that the pairs want, each once, in the order of their first pair.
pub fn layouts<E: Engine>(pairs: &[PairName], options: &RunOptions) -> Result<Vec<Layout>, Failure> {
    let mut layouts = Vec::new();
    for pair in pairs {
        let layout = layout_of::<E>(*pair, options)?;
        if !layouts.contains(&layout) {
            layouts.push(layout);
        }
    }
    Ok(layouts)
}
