//! Which system to take for a workload on a machine, by how much, why, and where another one would be better.
//!
//! 1. *Heats* (`halving.rs`): every system of the matrix that fits, with all cores and with a quarter of them (`candidates.rs`), runs shortly.
//!    The best third runs longer, and so on, until few are left. What is seldom best is seldom measured.
//! 2. *The final*: the systems that are left, and the best of some architectures of which none is, with all cores, half, a quarter and one, in several repetitions. Of each the best number of workers counts,
//!    and of numbers that are as good the least. Each system is audited once; under whom a check fails is not recommended.
//!    Where some workers serve, other shares of them run in the same rounds (`shares.rs`).
//! 3. *The verdict* (`verdict.rs`): who fulfils the goal goes before who does not, and more throughput before less. Which systems repetitions
//!    do not tell apart from the best one, the model's error allowed for ([`crate::confidence`]), is said. What the others spend more on is the reason.
//! 4. *Durability* (`levels.rs`): the recommended system at every level; what each costs, and which is worth it.
//! 5. *Axes* (`axes.rs`): the best systems, and those of other architectures, along skew, along the share of transactions that cross partitions, and
//!    along cores: where another one leads, the recommendation flips (`flips.rs`).
//!
//! Who commits nothing was not measured: it runs once more and for longer, and is left out if nothing comes of that.
//! On a machine that repeats bit for bit so does the advice. An interrupt ends it after the run under way, with what there is.

mod axes;
mod candidates;
mod command;
mod figures;
mod flips;
mod halving;
mod levels;
mod pace;
mod page;
mod shares;
mod trials;
mod verdict;
mod words;

pub use axes::{AxisKind, AxisOf, axes_of};
pub use candidates::Candidate;
pub use command::words;
pub use figures::Figures;
pub use flips::{AxisPoint, AxisTold, Flip, Standing};
pub use levels::{LevelTold, Levels};
pub use pace::{Length, Pace};
pub use page::of_advice;
pub use shares::{ShareTried, Shares};
pub use trials::{Disk, Trials};
pub use verdict::{Beside, Row, Verdict};

use crate::failure::Failure;
use crate::measure::{After, Stores, supported};
use crate::results::System;
use crate::summary::Unmeasured;
use contract::{ArchitectureName, Durability, Engine, PairName};
use halving::halve;
use serde::Serialize;
use std::time::{Duration, Instant};
use trials::Variants;
use workloads::audit::Audited;
use workloads::{AnyWorkload, WorkloadsVisitor};

/// Name and version of [`Advice`]'s fields.
pub const SCHEMA: &str = "trireme.advice/1";

/// Systems that reach the final by the heats.
const FINALISTS: usize = 4;

/// Architectures of which nobody did, and whose best systems are in the final nevertheless: to see how far they are behind, and whether they lead elsewhere.
const OTHERS: usize = 3;

/// Of the best systems so many are measured along the axes, beside those others.
const BEST_ALONG_AXES: usize = 2;

/// What is wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Goal {
    /// What 99 of 100 transactions are to take at most, retries included, and durability where it is asked for.
    pub latency_p99: Option<Duration>,
    /// When a commit is to count, if that was said; otherwise the levels are weighed.
    pub durability: Option<Durability>,
}

impl Goal {
    /// Whether a system fulfils it. One that tells no latency does not.
    pub fn is_met(&self, system: &System) -> bool {
        self.latency_p99.is_none_or(|goal| {
            let latency = system.summary.latency_ns.as_ref();
            latency.is_some_and(|latency| u128::from(latency.p99) <= goal.as_nanos())
        })
    }
}

/// The answer, for all machines.
#[derive(Debug, Serialize)]
pub struct Advice {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// The workload, for people: its name, or its file.
    pub workload: String,
    /// Its effective parameters.
    pub parameters: std::collections::BTreeMap<String, String>,
    /// Of the goal, in microseconds.
    pub latency_goal_us: Option<f64>,
    /// What was asked for: none, buffered, group, sync.
    pub durability: String,
    /// Seconds that it took.
    pub took_s: f64,
    /// Whether somebody has interrupted it: then some of it is missing.
    pub interrupted: bool,
    /// By machine, in the order in which they were asked for.
    pub machines: Vec<OnMachine>,
    /// Machines on which nothing was measured.
    pub unmeasured: Vec<UnmeasuredMachine>,
    /// What is odd, on whichever machine, and what was cut.
    pub warnings: Vec<String>,
}

impl Advice {
    /// Whether no check has failed, in the finals or beside them, and nothing broke.
    pub fn is_sound(&self) -> bool {
        let finals = self.machines.iter().flat_map(|machine| &machine.ranking);
        let is_whole = |machine: &OnMachine| machine.failed_checks.is_empty() && machine.failures.is_empty();
        finals.flat_map(|row| &row.failed_checks).next().is_none() && self.machines.iter().all(is_whole)
    }
}

/// A machine that was asked for, and does not tell anything.
#[derive(Clone, Debug, Serialize)]
pub struct UnmeasuredMachine {
    /// As in [`OnMachine`].
    pub machine: String,
    /// Why, in words.
    pub why: String,
}

/// The answer for one machine.
#[derive(Debug, Serialize)]
pub struct OnMachine {
    /// `hardware`, or the name of a simulated machine.
    pub machine: String,
    /// Whether it is simulated.
    pub simulated: bool,
    /// Its cores.
    pub cores: usize,
    /// Whether somebody has interrupted it: then some of it is missing.
    pub interrupted: bool,
    /// Seconds that it took.
    pub took_s: f64,
    /// How many times too large or small the model's throughput may be between systems; `null` on hardware, or if nobody knows.
    pub model_error: Option<f64>,
    /// When commits counted there; `none` where it has no disk, whatever was asked for.
    pub durability: String,
    /// What to take, in sentences.
    pub finding: Vec<String>,
    /// What to take.
    pub verdict: Verdict,
    /// The systems of the final, best first.
    pub ranking: Vec<Row>,
    /// Of systems in which some workers serve: how many of them do best.
    pub shares: Vec<Shares>,
    /// What levels of durability cost the recommended system; `null` if none is recommended, or an interrupt came before.
    pub durability_levels: Option<Levels>,
    /// Where another system leads.
    pub flips: Vec<Flip>,
    /// What was measured along the axes.
    pub axes: Vec<AxisTold>,
    /// The heats, in their order.
    pub heats: Vec<HeatTold>,
    /// Systems that were not measured.
    pub left_out: Vec<Unmeasured>,
    /// Checks that have failed beside the final: in heats, at levels of durability, along axes. In words.
    pub failed_checks: Vec<String>,
    /// What broke after the heats, so that some of it is missing: the final, levels of durability, an axis. In words.
    pub failures: Vec<String>,
    /// What is odd.
    pub warnings: Vec<String>,
    /// How much noise there was in the final, and what to do; told on the page.
    #[serde(skip)]
    pub noise: Option<String>,
}

/// One heat.
#[derive(Debug, Serialize)]
pub struct HeatTold {
    /// The counted interval of its runs, in seconds.
    pub duration_s: f64,
    /// Who ran, best first.
    pub order: Vec<Standing>,
}

/// Advises on one machine, of all systems that fit, or of `only` these.
pub fn advise<E: Engine>(
    trials: &Trials<'_, E>,
    pace: &Pace,
    only: Option<&[PairName]>,
) -> Result<OnMachine, Failure> {
    let axes = trials.variants();
    let variants = axes.iter().flat_map(|axis| axis.values.iter().map(|(_, workload)| workload));
    let workloads: Vec<&AnyWorkload> = std::iter::once(trials.workload).chain(variants).collect();
    AnyWorkload::visit_all(&workloads, Advised { trials, pace, only, axes: &axes, workloads: &workloads })
}

struct Advised<'a, E> {
    trials: &'a Trials<'a, E>,
    pace: &'a Pace,
    only: Option<&'a [PairName]>,
    axes: &'a [Variants],
    workloads: &'a [&'a AnyWorkload],
}

impl<E: Engine> WorkloadsVisitor for Advised<'_, E> {
    type Output = Result<OnMachine, Failure>;

    fn visit<W: Audited>(self, workloads: &[&W]) -> Self::Output {
        let Advised { trials, pace, only, axes, workloads: any } = self;
        let mut stores = Stores::<E, W>::of(workloads[0]);
        let mut failed_checks = Vec::new();
        let mut run = |workload: usize, candidates: &[Candidate], length: Length, after: After| {
            stores.turn_to(workloads[workload]);
            let ran = trials.run(&mut stores, any[workload], candidates, length, after)?;
            // The final's are in its ranking.
            for told in ran.failed_checks(any[workload], after == After::Audit) {
                if !failed_checks.contains(&told) {
                    failed_checks.push(told);
                }
            }
            Ok(ran.systems)
        };
        let began = Instant::now();
        let told = found(trials, pace, only, axes, &mut run);
        let told = told.map_err(|failure| failure.after_checks(&failed_checks))?;
        let mut warnings = told.warnings;
        warnings.extend(told.failures.iter().chain(&failed_checks).cloned());
        Ok(OnMachine { took_s: began.elapsed().as_secs_f64(), failed_checks, warnings, ..told })
    }
}

/// Measures candidates over a workload of a number, of which the first is the one that was asked about.
type Run<'a> = &'a mut dyn FnMut(usize, &[Candidate], Length, After) -> Result<Vec<System>, Failure>;

fn found<E: Engine>(
    trials: &Trials<'_, E>,
    pace: &Pace,
    only: Option<&[PairName]>,
    variants: &[Variants],
    run: Run<'_>,
) -> Result<OnMachine, Failure> {
    let began = Instant::now();
    let options = trials.options();
    let (pairs, mut left_out) = supported::<E>(options);
    let is_considered = |pair: &PairName| only.is_none_or(|only| only.contains(pair));
    let pairs = pairs.into_iter().filter(|pair| pair.protocol.has_transactions());
    let pairs: Vec<PairName> = pairs.filter(is_considered).collect();
    let level = options.logging.level;
    let candidates = candidates::of(&pairs, options.workers, level);
    let better = |one: &System, other: &System| halving::better(one, other, trials.goal);
    let mut heats = halve(candidates, FINALISTS, Candidate::of, better, |heat, candidates| {
        let name = format!("heat {}: {} candidates", heat + 1, candidates.len());
        trials.announce(&name, candidates.len(), pace.heat(heat));
        run(0, candidates, pace.heat(heat), After::Nothing)
    })?;
    let silent = silent_in(&heats, &pairs, trials.is_interrupted());
    let why_silent = Trials::<E>::why_silent(pace.heat(0));
    left_out.extend(silent.iter().map(|&pair| Unmeasured::new(pair, &*why_silent)));
    let finalists = systems_of(heats.last().map_or(&[][..], Vec::as_slice), FINALISTS);
    let others = best_of_other_architectures(&heats, &finalists);
    let finalists: Vec<PairName> = finalists.into_iter().chain(others.iter().copied()).collect();
    let mut entrants = candidates::with_all_workers(&finalists, options.workers, level);
    entrants.extend(shares::others(&finalists, &heats, &entrants));
    trials.announce(&format!("final: {} systems", finalists.len()), entrants.len(), pace.last());
    let heats_told: Vec<HeatTold> = heats.iter().map(|heat| HeatTold::of(heat, trials.goal)).collect();
    let (mut raced, broke) = match run(0, &entrants, pace.last(), After::Audit) {
        Ok(raced) => (raced, None),
        // What the heats have told is not lost to a full disk.
        Err(failure) if !heats.is_empty() && !matches!(failure, Failure::Interrupted) => {
            (Vec::new(), Some(failure))
        }
        Err(failure) => return Err(failure),
    };
    if raced.is_empty() {
        // It was interrupted before, or broke: the last heat has to do.
        let last = heats.pop();
        raced = match last.map(|last| verdict::with_failures_of(&heats, last)) {
            Some(last) => last,
            None if trials.is_interrupted() => return Err(Failure::Interrupted),
            None => {
                let place = &trials.place.machine;
                let what = match options.logging.level {
                    Durability::None => "no system has committed anything; allowed: a larger --effort, or a workload whose transactions commit".to_owned(),
                    level => format!(
                        "no system has committed anything: by durability {level} a commit waits for its epoch, longer than these runs; allowed: --durability none, or a larger --effort"
                    ),
                };
                return Err(Failure::Usage(format!("{place}: {what}")));
            }
        };
        let mut decided = verdict::of(trials, raced)?;
        if let Some(failure) = broke {
            let told = format!("the final was not measured, and the last heat decides: {failure}");
            decided.broke(&failure, told);
        }
        return Ok(trials.told(decided, Vec::new(), heats_told, left_out));
    }
    let (raced, shares) = shares::settle(trials, verdict::with_failures_of(&heats, raced));
    let sound: Vec<&System> = raced.iter().filter(|system| verdict::is_sound(system, &raced)).collect();
    let at_each_number = flips::by_workers(&sound, trials.goal, trials.model_factor());
    let mut decided = verdict::of(trials, raced)?;
    decided.shares = shares;
    decided.look_back_at(&heats);
    if !silent.is_empty() {
        let names: Vec<String> = silent.iter().map(|pair| pair.shown()).collect();
        decided.warnings.push(format!("left out: {}: {why_silent}", names.join(", ")));
    }
    let best = decided.best_of_each().next();
    match best.map(|best| levels::of(trials, pace, best, run)).transpose() {
        Ok(levels) => decided.levels = levels.flatten(),
        Err(Failure::Interrupted) => return Err(Failure::Interrupted),
        // What the final has told is not lost to a full disk.
        Err(failure) => {
            let told = format!("what durability costs was not measured: {failure}");
            decided.broke(&failure, told);
        }
    }
    if let Some(level) = decided.levels.as_ref().and_then(|levels| levels.recommended.clone()) {
        decided.verdict.durability = level;
    }
    let recommended = decided.verdict.system.clone();
    let cores = AxisTold::of(AxisKind::Cores, ("cores (workers)", ""), at_each_number, &recommended);
    let is_other = |one: &Candidate| others.contains(&one.pair);
    let (others, best): (Vec<Candidate>, Vec<Candidate>) = decided.best_of_each().partition(is_other);
    let along: Vec<Candidate> = best.into_iter().take(BEST_ALONG_AXES).chain(others).collect();
    let mut axes: Vec<AxisTold> = cores.into_iter().collect();
    let mut number = 0;
    for axis in variants {
        trials.announce(&format!("along {}", axis.name), axis.values.len() * along.len(), pace.point);
        let mut points = Vec::new();
        for (label, workload) in &axis.values {
            if pace.before_points.is_some_and(|most| began.elapsed() > most) {
                decided.warnings.push(format!(
                    "not measured along {} from {label} on: what came before took {:.0} s; --only among fewer systems, fewer rows, and an idle machine, take less",
                    axis.name,
                    began.elapsed().as_secs_f64()
                ));
                break;
            }
            number += 1;
            let systems = match run(number, &along, pace.point, After::Nothing) {
                Ok(systems) => systems,
                Err(Failure::Interrupted) => return Err(Failure::Interrupted),
                // As above: the final stays.
                Err(failure) => {
                    let told = format!("not measured along {} from {label} on: {failure}", axis.name);
                    decided.broke(&failure, told);
                    break;
                }
            };
            if !systems.is_empty() {
                points.push(flips::point(label, &systems, trials.goal, trials.model_factor(), |system| {
                    trials.command(workload, system)
                }));
            }
        }
        axes.extend(AxisTold::of(axis.kind, (axis.name, &axis.own), points, &recommended));
    }
    Ok(trials.told(decided, axes, heats_told, left_out))
}

impl HeatTold {
    fn of(heat: &[System], goal: Goal) -> HeatTold {
        let duration_s = heat.first().map_or(0.0, |system| system.summary.duration_s);
        HeatTold { duration_s, order: heat.iter().map(|system| Standing::of(system, goal)).collect() }
    }
}

/// Systems that have committed nothing in the first heat, with whatever number of workers; of an interrupted one nobody knows.
fn silent_in(heats: &[Vec<System>], pairs: &[PairName], is_interrupted: bool) -> Vec<PairName> {
    let first = heats.first().map_or(&[][..], Vec::as_slice);
    let is_known = |pair: &&PairName| first.iter().any(|system| Candidate::of(system).pair == **pair);
    match is_interrupted {
        true => Vec::new(),
        false => pairs.iter().filter(|pair| !is_known(pair)).copied().collect(),
    }
}

/// The first `most` systems of an order, whatever their workers, each once.
fn systems_of(order: &[System], most: usize) -> Vec<PairName> {
    let mut pairs: Vec<PairName> = Vec::new();
    for pair in order.iter().filter_map(|system| system.summary.pair()) {
        if !pairs.contains(&pair) && pairs.len() < most {
            pairs.push(pair);
        }
    }
    pairs
}

/// The best of architectures of which nobody has reached the final, as far as the heats tell.
fn best_of_other_architectures(heats: &[Vec<System>], finalists: &[PairName]) -> Vec<PairName> {
    let mut known: Vec<ArchitectureName> = finalists.iter().map(|pair| pair.architecture).collect();
    let mut others = Vec::new();
    for pair in heats.iter().rev().flatten().map(|system| Candidate::of(system).pair) {
        if !known.contains(&pair.architecture) && others.len() < OTHERS {
            known.push(pair.architecture);
            others.push(pair);
        }
    }
    others
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RunOptions;
    use crate::mock::MockEngine;
    use crate::observer::Silent;
    use crate::subject::{Place, Subject};
    use crate::summary::Measured;
    use crate::summary::tests::measured;
    use contract::RunError;

    const CORES: usize = 8;

    /// What is told of the fake engine over the microbenchmark, if this is what comes of a final.
    fn told(last: fn(Vec<System>) -> Result<Vec<System>, Failure>) -> Result<OnMachine, Failure> {
        let workload = workloads::build("micro", &workloads::Parameters::new()).expect("a workload");
        let (place, options) = (Place::hardware(CORES), RunOptions::for_compare(CORES));
        let trials = Trials::<MockEngine>::new(
            &workload,
            (place.clone(), None),
            Goal::default(),
            None,
            options,
            &Silent,
        );
        let mut run = |_: usize, candidates: &[Candidate], _: Length, after: After| {
            let of = |candidate: &Candidate| {
                let subject = Subject::of(&workload, trials.options_of(*candidate), place.clone());
                let faster = 100.0 * candidate.workers as f64;
                let measured = measured(&[faster, faster + 1.0, faster + 2.0]);
                System::of(&subject, &Measured { pair: candidate.pair, ..measured })
            };
            let systems = candidates.iter().map(of).collect();
            if after == After::Audit { last(systems) } else { Ok(systems) }
        };
        found(&trials, &Pace::on_hardware(), None, &[], &mut run)
    }

    fn advice(machine: OnMachine) -> Advice {
        Advice {
            schema: SCHEMA,
            workload: "micro".to_owned(),
            parameters: Default::default(),
            latency_goal_us: None,
            durability: "none".to_owned(),
            took_s: 1.0,
            interrupted: false,
            machines: vec![machine],
            unmeasured: Vec::new(),
            warnings: Vec::new(),
        }
    }

    #[test]
    fn a_final_that_breaks_leaves_the_heats() {
        let whole = told(Ok).expect("an advice");
        assert_eq!((whole.failures.len(), whole.warnings.len()), (0, 0), "{:?}", whole.warnings);
        let broken = told(|_| Err(RunError::Log { why: "the disk is full".to_owned() }.into()));
        let broken = broken.expect("what the heats have told");
        let [failure] = &broken.failures[..] else { panic!("{:?}", broken.failures) };
        assert!(
            failure.starts_with("the final was not measured, and the last heat decides: ")
                && failure.contains("the disk is full"),
            "{failure}"
        );
        assert!(!broken.ranking.is_empty() && !broken.finding.is_empty());
        let heats = |told: &OnMachine| told.heats.iter().map(|heat| heat.order.len()).collect::<Vec<_>>();
        assert_eq!(heats(&broken), heats(&whole));
        assert!(advice(whole).is_sound() && !advice(broken).is_sound());
    }

    #[test]
    fn a_final_that_finds_no_room_is_odd_and_no_failure() {
        let crowded = told(|_| Err(RunError::Memory { available_bytes: 1 << 20 }.into()));
        let crowded = crowded.expect("what the heats have told");
        let said = |odd: &String| odd.starts_with("the final was not measured");
        assert!(crowded.failures.is_empty() && crowded.warnings.iter().any(said), "{:?}", crowded.warnings);
        assert!(advice(crowded).is_sound());
    }

    #[test]
    fn an_interrupted_final_is_interrupted() {
        assert!(matches!(told(|_| Err(Failure::Interrupted)), Err(Failure::Interrupted)));
    }
}
