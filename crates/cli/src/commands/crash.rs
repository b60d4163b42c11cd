//! `crash`: many short runs over a disk that crashes and fails, each recovered at points drawn at random, until one is not what it
//! should be. A find is replayed by its seed.

use super::verdict;
use crate::arguments::typed;
use crate::engines::{self, Explored};
use crate::output;
use clap::{Arg, ArgAction, ArgMatches, Command};
use contract::{
    ArchitectureName, DeploymentCanary, DurabilityCanary, Engine as _, EngineOptions, Instances, PairName,
    ProtocolName, Support,
};
use harness::crash::{self, CrashSummary, Crashed, Find, Killed, Scenario};
use harness::{BadValue, Failure};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use machine::simulated::{Exploration, Schedule, explore};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// Runs, if no number is given.
const RUNS: u64 = 300;

/// What can be typed.
pub fn arguments() -> Command {
    let option = |name: &'static str, value: &'static str, help: String| {
        Arg::new(name).long(name).value_name(value).help(help).allow_hyphen_values(true)
    };
    Command::new("crash")
        .about("Crash runs at drawn points of their logs, recover, and judge what is there")
        .arg(option("runs", "N", format!("Runs, each of a seed, with dozens of crash points [default: {RUNS}]")))
        .arg(option("seed", "N", "The first run's seed [default: 1]".to_owned()))
        .arg(option("architecture", "NAME", "Of all runs [default: all, one after the other]".to_owned()))
        .arg(option("protocol", "NAME", "Of all runs [default: all, one after the other]".to_owned()))
        .arg(option(
            "canary",
            "NAME",
            format!(
                "Leave one step out, which must be found: {}; of two-phase commit between nodes: {}",
                DurabilityCanary::ALL.map(DurabilityCanary::name).join(", "),
                DeploymentCanary::OF_COMMIT.map(DeploymentCanary::name).join(", ")
            ),
        ))
        .arg(option(
            "kill",
            "WHO",
            "all that runs, at the same moment, or one node of several while the others go on: all, node [default: all]".to_owned(),
        ))
        .arg(
            Arg::new("channel-faults")
                .long("channel-faults")
                .help("Channels between nodes lose, delay, reorder and duplicate messages, and fall silent")
                .action(ArgAction::SetTrue),
        )
        .arg(crate::arguments::json())
        .after_help(
            "Workload, workers, instances, transactions in flight, level, loggers, compression, sizes of files, the length of epochs, faults of the disk and the \
             interleaving are drawn from a run's seed. From each crash point a store is recovered: every commit that somebody was \
             told of must be there, and what is there must be a prefix of the serial order. Exits with 1 if it is not. With --kill node, \
             or --channel-faults, every run is of two or three nodes, each with a log of its own: the survivors must end, name whom they have lost, \
             and hold nothing. With --canary it exits with 1 both if the canary was found and if it was missed, and says which.",
        )
}

/// Crashes.
pub fn crash(matches: &ArgMatches) -> Result<ExitCode, Failure> {
    let runs = number(matches, "runs", RUNS)?;
    if runs == 0 {
        return Err(BadValue::new("runs", runs, "a whole number, at least 1 and less than 2^64").into());
    }
    let first_seed = number(matches, "seed", 1)?;
    let scenario = scenario(matches)?;
    let pairs = pairs(matches, &scenario)?;
    let bar = progress(runs);
    // Panics are finds, and are told as such.
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| ()));
    let crashed = all(first_seed, runs, &|seed| one(seed, &pairs, &scenario), &|| bar.inc(1));
    std::panic::set_hook(hook);
    bar.finish_and_clear();
    let mut systems = BTreeMap::new();
    for seed in (0..runs).map(|number| first_seed.wrapping_add(number)) {
        *systems.entry(crash::system_of(seed, &pairs).to_string()).or_default() += 1;
    }
    let Crashed { points, with_acknowledged, with_left_out, flips_noticed, flips_harmless, .. } = crashed;
    let Crashed { checkpoints, with_checkpoint, .. } = crashed;
    let has_befallen_nodes = crashed.killed_nodes + crashed.channel_faults > 0;
    let is_enough = points > 0 && (has_befallen_nodes || !scenario.is_of_nodes());
    let summary = CrashSummary {
        schema: crash::SCHEMA,
        passed: crashed.find.is_none() && is_enough,
        first_seed,
        runs,
        systems,
        points,
        with_acknowledged,
        with_left_out,
        flips_noticed,
        flips_harmless,
        failed_disks: crashed.failed_disks,
        commits: crashed.commits,
        checkpoints,
        with_checkpoint,
        deployed: crashed.deployed,
        killed_nodes: crashed.killed_nodes,
        lost: crashed.lost,
        channel_faults: crashed.channel_faults,
        find: crashed.find,
    };
    match matches.get_flag("json") {
        true => output::print_json(&summary)?,
        false => output::print(&told(&summary, &scenario))?,
    }
    let canary = scenario.canary.map(DurabilityCanary::name);
    let canary = canary.or(scenario.deployment_canary.map(DeploymentCanary::name));
    if let Some(canary) = canary.filter(|_| summary.find.is_none()) {
        output::complain(&format!("the canary {canary} was missed: nothing was found; use more --runs"));
        return Ok(ExitCode::FAILURE);
    }
    if summary.find.is_none() && !is_enough {
        let what =
            "too little happened: no crash point, no killed node or no fault of a channel; use more --runs";
        return Err(Failure::Usage(what.to_owned()));
    }
    Ok(verdict(summary.passed))
}

/// What happens in all runs.
fn scenario(matches: &ArgMatches) -> Result<Scenario, Failure> {
    let killed = match typed(matches, "kill") {
        None => Killed::default(),
        Some(name) => {
            let allowed = Killed::ALL.map(Killed::name).join(", ");
            let found = Killed::ALL.into_iter().find(|killed| killed.name() == name);
            found.ok_or_else(|| BadValue::new("kill", name, allowed))?
        }
    };
    let scenario =
        Scenario { killed, channel_faults: matches.get_flag("channel-faults"), ..Scenario::default() };
    let Some(name) = typed(matches, "canary") else { return Ok(scenario) };
    let of_commit = DeploymentCanary::OF_COMMIT.into_iter().find(|canary| canary.name() == name);
    let is_between_nodes = of_commit.is_some() || name == DurabilityCanary::LocalAcknowledgement.name();
    if is_between_nodes && !scenario.is_of_nodes() {
        let allowed = "with --kill node or --channel-faults";
        return Err(BadValue::new("canary", name, allowed).into());
    }
    if name == DurabilityCanary::UndurableCheckpoint.name() && scenario.is_of_nodes() {
        let allowed = "without --kill node and --channel-faults, for nodes take no checkpoints";
        return Err(BadValue::new("canary", name, allowed).into());
    }
    if let Some(canary) = of_commit {
        return Ok(Scenario { deployment_canary: Some(canary), ..scenario });
    }
    let allowed = |durability: String| {
        let of_commit = DeploymentCanary::OF_COMMIT.map(DeploymentCanary::name).join(", ");
        BadValue::new("canary", name, format!("{durability}, {of_commit}"))
    };
    Ok(Scenario { canary: Some(name.parse().map_err(allowed)?), ..scenario })
}

fn number(matches: &ArgMatches, name: &'static str, default: u64) -> Result<u64, Failure> {
    let Some(value) = typed(matches, name) else { return Ok(default) };
    Ok(value.parse().map_err(|_| BadValue::new(name, value, "a whole number, less than 2^64"))?)
}

/// The pairs that are crashed.
fn pairs(matches: &ArgMatches, scenario: &Scenario) -> Result<Vec<PairName>, Failure> {
    let architecture: Option<ArchitectureName> =
        typed(matches, "architecture").map(str::parse).transpose().map_err(BadValue::from)?;
    let protocol: Option<ProtocolName> =
        typed(matches, "protocol").map(str::parse).transpose().map_err(BadValue::from)?;
    let is_meant = |pair: &PairName| {
        architecture.is_none_or(|name| name == pair.architecture)
            && protocol.is_none_or(|name| name == pair.protocol)
    };
    if let Some(bare) = protocol.filter(|protocol| !protocol.has_transactions()) {
        let allowed = "a protocol with transactions; without them there is no log";
        return Err(BadValue::new("protocol", bare, allowed).into());
    }
    let of_nodes = EngineOptions { instances: Instances::of(2), ..EngineOptions::default() };
    let is_deployed = |pair| {
        Explored::arrange(pair, 2, &of_nodes).is_ok_and(|arrangement| arrangement.layout.instances == 2)
    };
    let possible: Vec<PairName> = PairName::all()
        .filter(|pair| Explored::support(*pair) == Support::Supported)
        .filter(|pair| !scenario.is_of_nodes() || is_deployed(*pair))
        .collect();
    let pairs: Vec<PairName> = possible.iter().copied().filter(is_meant).collect();
    match pairs.is_empty() {
        false => Ok(pairs),
        true => Err(no_pair(architecture, protocol, &possible, scenario)),
    }
}

/// Why none of those that are `possible` is of this architecture and protocol.
fn no_pair(
    architecture: Option<ArchitectureName>,
    protocol: Option<ProtocolName>,
    possible: &[PairName],
    scenario: &Scenario,
) -> Failure {
    if let (Some(architecture), Some(protocol)) = (architecture, protocol) {
        let pair = PairName { architecture, protocol };
        if let Support::Unsupported { why } = Explored::support(pair) {
            return Failure::Unsupported { pair, why };
        }
    }
    let mut protocols = BTreeMap::<&str, Vec<&str>>::new();
    for pair in possible {
        protocols.entry(pair.architecture.name()).or_default().push(pair.protocol.name());
    }
    let of_architecture =
        |(name, protocols): (&&str, &Vec<&str>)| format!("{name} with {}", protocols.join(" or "));
    let mut allowed: String = protocols.iter().map(of_architecture).collect::<Vec<_>>().join("; ");
    match (scenario.killed, scenario.channel_faults) {
        (Killed::Node, _) => allowed += ", with --kill node",
        (_, true) => allowed += ", with --channel-faults",
        _ => {}
    }
    let unmet = architecture.filter(|name| !possible.iter().any(|pair| pair.architecture == *name));
    let bad = match (unmet, protocol) {
        (None, Some(protocol)) => BadValue::new("protocol", protocol, allowed),
        (unmet, _) => {
            BadValue::new("architecture", unmet.or(architecture).expect("typed, or all would do"), allowed)
        }
    };
    bad.into()
}

/// Makes all runs, until one finds something; that with the lowest seed is told.
fn all(
    first_seed: u64,
    runs: u64,
    one: &(dyn Fn(u64) -> Crashed + Sync),
    done: &(dyn Fn() + Sync),
) -> Crashed {
    let (next, lowest_find) = (AtomicU64::new(0), AtomicU64::new(u64::MAX));
    let all = Mutex::new((Crashed::default(), BTreeMap::<u64, Find>::new()));
    let work = || loop {
        // Relaxed: a counter, and a hint when to stop; what was found passes through the mutex.
        let number = next.fetch_add(1, Ordering::Relaxed);
        if number >= runs || number > lowest_find.load(Ordering::Relaxed) {
            return;
        }
        let mut crashed = one(first_seed.wrapping_add(number));
        done();
        let mut all = all.lock().expect("nobody panics with it");
        if let Some(find) = crashed.find.take() {
            lowest_find.fetch_min(number, Ordering::Relaxed);
            all.1.insert(number, find);
        }
        all.0.add(crashed);
    };
    std::thread::scope(|scope| {
        for _ in 0..engines::cores() {
            scope.spawn(work);
        }
    });
    let (crashed, mut finds) = all.into_inner().expect("nobody panics with it");
    Crashed { find: finds.pop_first().map(|(_, find)| find), ..crashed }
}

/// One run, on virtual cores.
fn one(seed: u64, pairs: &[PairName], scenario: &Scenario) -> Crashed {
    let pair = crash::system_of(seed, pairs);
    let schedule = Schedule::Random { seed, switch_one_in: 2 << (seed % 5) };
    let exploration = Exploration { step_bound: 50_000_000, ..Exploration::of(schedule) };
    let run = || explore(exploration, || crash::run::<Explored>(seed, pair, scenario));
    match catch_unwind(AssertUnwindSafe(run)) {
        Ok(crashed) => crashed,
        Err(panic) => {
            let words = panic
                .downcast_ref::<String>()
                .cloned()
                .or_else(|| panic.downcast_ref::<&str>().map(|words| (*words).to_owned()))
                .unwrap_or_default();
            Crashed { find: Some(Find::panicked(seed, pair, words)), ..Crashed::default() }
        }
    }
}

fn told(summary: &CrashSummary, scenario: &Scenario) -> String {
    let CrashSummary { runs, first_seed, points, with_acknowledged, with_left_out, commits, .. } = summary;
    let mut text = format!("{runs} runs of {} systems, from seed {first_seed}\n", summary.systems.len());
    if summary.deployed > 0 {
        let _ = writeln!(text, "{} of them of several instances", summary.deployed);
    }
    if scenario.is_of_nodes() {
        let _ = writeln!(
            text,
            "nodes killed: {}; messages lost, delayed, reordered or duplicated: {}; runs that ended because an instance was lost: {}",
            summary.killed_nodes, summary.channel_faults, summary.lost
        );
    }
    // A run that ends because an instance was lost counts none.
    let of_commits = if scenario.is_of_nodes() { String::new() } else { format!(" of {commits} commits") };
    let _ = writeln!(
        text,
        "{points} crash points{of_commits}: {with_acknowledged} after something was acknowledged, {with_left_out} with \
         transactions that had to be left out",
    );
    let _ = writeln!(
        text,
        "{} checkpoints taken beside them; {} of the points recovered from one",
        summary.checkpoints, summary.with_checkpoint
    );
    let _ = writeln!(
        text,
        "flipped bits: {} noticed, {} of what nobody needs; disks that failed: {}\n",
        summary.flips_noticed, summary.flips_harmless, summary.failed_disks
    );
    match &summary.find {
        None if summary.passed => text.push_str("passed\n"),
        None => text.push_str("nothing was found, and too little happened\n"),
        Some(Find { plan, point, what }) => {
            let _ = writeln!(text, "FOUND, under {}, by {point}:\n{what}\n", plan.system);
            let plan = serde_json::to_string(plan).expect("plain values");
            let _ = writeln!(text, "{plan}");
        }
    }
    text
}

fn progress(runs: u64) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(runs), ProgressDrawTarget::stderr());
    let style = ProgressStyle::with_template("{wide_bar} {pos} of {len} runs, {eta} left");
    bar.with_style(style.expect("a template"))
}
