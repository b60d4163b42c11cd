//! The report of `advise`: by machine what to take and why, the ranking, where it flips, and the evidence.

use super::{
    Advice, AxisPoint, AxisTold, HeatTold, LevelTold, Levels, OnMachine, Row, ShareTried, Shares, Standing,
};
use crate::report::page::{Block, Cell, Page};
use crate::report::{facts, footer, render};
use crate::results::Surroundings;
use crate::svg::bars::{self, Bar};
use crate::svg::{SERIES, at_both_widths};
use crate::text::durations;
use crate::text::numbers::{bytes, counted, latency_if_any, part_of_best, percent, ratio, thousands};
use std::collections::BTreeSet;
use std::time::Duration;

/// The page.
pub fn of_advice(advice: &Advice, surroundings: &Surroundings) -> String {
    let is_simulated = advice.machines.iter().all(|machine| machine.simulated);
    let mut blocks: Vec<Block> = vec![in_short(advice)];
    advice.machines.iter().for_each(|machine| blocks.extend(on_machine(machine)));
    blocks.push(facts::settings("The workload", &advice.workload, &advice.parameters));
    blocks.push(facts::environment(&surroundings.environment, is_simulated));
    render(&Page {
        trail: Vec::new(),
        title: format!("Which system for {}?", without_folder(&advice.workload)),
        command: surroundings.command.clone(),
        lead: lead(advice),
        finding: advice.machines.iter().filter_map(noise).collect(),
        claim: None,
        simulated: is_simulated,
        warnings: advice.warnings.clone(),
        blocks,
        footer: footer(surroundings, is_simulated),
    })
}

/// Of the final on a machine.
fn noise(machine: &OnMachine) -> Option<String> {
    machine.noise.as_ref().map(|told| format!("{}: {told}", machine.machine))
}

/// A file's path is long, and stands in the line that was typed.
fn without_folder(workload: &str) -> &str {
    let file = workload.split(' ').next().unwrap_or_default();
    &workload[file.rfind('/').map_or(0, |slash| slash + 1)..]
}

fn lead(advice: &Advice) -> String {
    let goal = advice.latency_goal_us.map_or(String::new(), |us| {
        format!(
            ", of those that keep 99 of 100 transactions within {}",
            durations::show(Duration::from_secs_f64(us * 1e-6))
        )
    });
    format!(
        "The most throughput{goal}; durability {}. All systems considered in heats, the best third of each for up to three times the time, and the last of them in a final; of numbers of workers with 97 % of a system's most throughput the fewest; in {:.0} s{}.",
        advice.durability,
        advice.took_s,
        if advice.interrupted { "; interrupted: some of it is missing" } else { "" }
    )
}

/// A row for each machine.
fn in_short(advice: &Advice) -> Block {
    let row = |machine: &OnMachine| {
        let best = &machine.ranking[0];
        let next = match (&machine.verdict.ties[..], &machine.verdict.next) {
            _ if !machine.verdict.is_sound => "a check has failed under all of the final".to_owned(),
            ([], Some(next)) => format!("{} times {}", ratio(next.times), next.system),
            ([], None) => String::new(),
            ([other], _) => format!("not told apart from {other}"),
            (ties, _) => format!("not told apart from {} others", ties.len()),
        };
        vec![
            Cell::words(machine.shown()),
            Cell::words(if machine.verdict.is_sound { best.system.as_str() } else { "none" }),
            Cell::number(best.workers.to_string()),
            Cell::number(best.partitions.to_string()),
            Cell::words(&*machine.verdict.durability),
            Cell::number(thousands(best.figures.throughput_per_s)),
            Cell::number(latency_if_any(best.figures.latency_p99_ns)),
            Cell::verdict(next),
        ]
    };
    Block::Table {
        title: "What to take".to_owned(),
        note: format!(
            "Workers and partitions with which the system does best, the least of those that do as well; the durability that is worth its cost, or was asked for. Throughput and latency were measured at durability {}, but where a machine has no disk.",
            advice.durability
        ),
        head: vec![
            Cell::words("on"),
            Cell::words("system"),
            Cell::number("workers"),
            Cell::number("partitions"),
            Cell::words("durability"),
            Cell::number("txn/s"),
            Cell::number("p99"),
            Cell::words("beside the next"),
        ],
        rows: advice.machines.iter().map(row).collect(),
    }
}

fn on_machine(machine: &OnMachine) -> Vec<Block> {
    let mut blocks = vec![
        Block::Heading { title: machine.shown(), href: String::new(), text: machine.finding.clone() },
        throughputs(machine),
        ranking(machine),
        checks(machine),
    ];
    blocks.extend(levels(machine));
    blocks.extend(machine.shares.iter().map(|tried| shares(machine, tried)));
    blocks.extend(machine.axes.iter().map(|axis| along(machine, axis)));
    blocks.push(commands(machine));
    blocks.extend(heats(machine));
    blocks
}

fn throughputs(machine: &OnMachine) -> Block {
    let bar = |(rank, row): (usize, &Row)| Bar {
        label: row.system.clone(),
        value: row.figures.throughput_per_s,
        low: row.figures.throughput_min,
        high: row.figures.throughput_max,
        text: thousands(row.figures.throughput_per_s),
        series: rank % SERIES,
    };
    let bars: Vec<Bar> = machine.ranking.iter().enumerate().map(bar).collect();
    Block::Figure {
        title: format!("The final on {}", machine.shown()),
        note: "Each system with the workers that suit it best: the median of the repetitions; the whisker goes from the slowest to the fastest.".to_owned(),
        legend: Vec::new(),
        svg: at_both_widths(|width| {
            bars::draw(&bars, "committed transactions per second", "Throughput of each system", width)
        }),
    }
}

fn ranking(machine: &OnMachine) -> Block {
    let heads = [
        "workers",
        "partitions",
        "txn/s",
        "vs best",
        "p99",
        "aborts/commit",
        "waiting",
        "aborted work",
        "messages/txn",
        "memory",
    ];
    let row = |(position, row): (usize, &Row)| {
        let mark = if position > 0 && !row.figures.is_told_apart { "~" } else { "" };
        let missed = match (row.failed_checks.is_empty(), row.figures.meets_goal) {
            (false, _) => format!(" FAILED {}", row.failed_checks.join(", ")),
            (true, false) => " misses the goal".to_owned(),
            (true, true) => String::new(),
        };
        vec![
            Cell::number(format!("{}{mark}", position + 1)),
            Cell::words(format!("{}{missed}", row.system)),
            Cell::number(row.workers.to_string()),
            Cell::number(row.partitions.to_string()),
            Cell::number(thousands(row.figures.throughput_per_s)),
            Cell::number(part_of_best(row.part_of_best)),
            Cell::number(latency_if_any(row.figures.latency_p99_ns)),
            Cell::number(ratio(row.abort_rate)),
            Cell::number(percent(row.time_share.wait)),
            Cell::number(percent(row.time_share.abort)),
            Cell::number(ratio(row.messages_per_txn)),
            Cell::number(bytes(row.memory_bytes)),
        ]
    };
    Block::Table {
        title: format!("Ranking on {}", machine.shown()),
        note: format!(
            "~ is not told apart from the best by these repetitions, the model's error allowed for where it is simulated. Waiting and aborted work are parts of the time. Durability there: {}.",
            machine.durability
        ),
        head: [Cell::number("rank"), Cell::words("system")]
            .into_iter()
            .chain(heads.map(Cell::number))
            .collect(),
        rows: machine.ranking.iter().enumerate().map(row).collect(),
    }
}

/// A row for each check: how many systems of the final have passed it.
fn checks(machine: &OnMachine) -> Block {
    let all = machine.ranking.iter().flat_map(|row| row.passed_checks.iter().chain(&row.failed_checks));
    let names: BTreeSet<&String> = all.collect();
    let row = |name: &&String| {
        let that = |checks: fn(&Row) -> &[String]| -> Vec<&str> {
            let rows = machine.ranking.iter().filter(|row| checks(row).contains(name));
            rows.map(|row| row.system.as_str()).collect()
        };
        let (passed, failed) = (that(|row| &row.passed_checks).len(), that(|row| &row.failed_checks));
        vec![
            Cell::words(name.as_str()),
            Cell::words(if failed.is_empty() { "passed" } else { "FAILED" }),
            Cell::number(format!("{passed} of {}", passed + failed.len())),
            Cell::prose(failed.join(", ")),
        ]
    };
    Block::Table {
        title: format!("Checks on {}", machine.shown()),
        note: "What must hold after every repetition, by how many systems of the final it was passed, in it and in the heats."
            .to_owned(),
        head: vec![
            Cell::words("check"),
            Cell::words("verdict"),
            Cell::number("passed"),
            Cell::words("failed under"),
        ],
        rows: names.iter().map(row).collect(),
    }
}

/// A row for each level, if any was measured.
fn levels(machine: &OnMachine) -> Option<Block> {
    let Levels { tried, recommended, .. } = machine.durability_levels.as_ref()?;
    let row = |level: &LevelTold| {
        let mark = if level.level != "none" && !level.figures.is_told_apart { "~" } else { "" };
        let taken = if Some(&level.level) == recommended.as_ref() { " (take)" } else { "" };
        let missed = if level.figures.meets_goal { "" } else { " misses the goal" };
        vec![
            Cell::words(format!("{}{mark}{taken}{missed}", level.level)),
            Cell::words(level.survives),
            Cell::number(thousands(level.figures.throughput_per_s)),
            Cell::number(part_of_best(level.part_of_none)),
            Cell::number(latency_if_any(level.figures.latency_p99_ns)),
        ]
    };
    (!tried.is_empty()).then(|| Block::Table {
        title: format!("Levels of durability on {}", machine.shown()),
        note: format!("Of {}. ~ is not told to be slower than without a log.", machine.verdict.system),
        head: vec![
            Cell::words("level"),
            Cell::words("a commit survives"),
            Cell::number("txn/s"),
            Cell::number("vs none"),
            Cell::number("p99"),
        ],
        rows: tried.iter().map(row).collect(),
    })
}

/// A row for each share of a system's workers.
fn shares(machine: &OnMachine, Shares { system, workers, kept, chosen, tried, .. }: &Shares) -> Block {
    let best = tried.first().map_or(0.0, |best| best.figures.throughput_per_s);
    let row = |(position, share): (usize, &ShareTried)| {
        let mark = if position > 0 && !share.figures.is_told_apart { "~" } else { "" };
        let taken = if share.servers == *chosen { " (take)" } else { "" };
        vec![
            Cell::words(format!("{}{mark}{taken}", share.servers)),
            Cell::number(thousands(share.figures.throughput_per_s)),
            Cell::number(part_of_best(share.figures.throughput_per_s / best)),
            Cell::number(latency_if_any(share.figures.latency_p99_ns)),
        ]
    };
    Block::Table {
        title: format!("{system}: how many of {workers} workers keep the {kept}, on {}", machine.shown()),
        note: "~ is not told apart from the best. Another share than a fifth is taken only if it is told to be better.".to_owned(),
        head: vec![
            Cell::words("workers"),
            Cell::number("txn/s"),
            Cell::number("vs best"),
            Cell::number("p99"),
        ],
        rows: tried.iter().enumerate().map(row).collect(),
    }
}

/// A row for each value: who leads, and the others.
fn along(machine: &OnMachine, axis: &AxisTold) -> Block {
    let name = |standing: &Standing| standing.system.clone();
    let mut systems: Vec<String> = Vec::new();
    for standing in axis.points.iter().flat_map(|point| &point.order) {
        if !systems.contains(&standing.system) {
            systems.push(name(standing));
        }
    }
    let row = |point: &AxisPoint| {
        let of = |system: &String| {
            let here = point.order.iter().find(|standing| standing.system == *system);
            Cell::number(here.map_or("–".to_owned(), |standing| thousands(standing.throughput_per_s)))
        };
        let leader = match axis.cannot_be_told.contains(&point.value) {
            true => "cannot be told".to_owned(),
            false => point.order.first().map_or_else(String::new, name),
        };
        [Cell::number(&*point.value), Cell::words(leader)].into_iter().chain(systems.iter().map(of)).collect()
    };
    Block::Table {
        title: format!("Along {} on {}", axis.name, machine.shown()),
        note: format!("{}{} Transactions a second.", own(axis), flipped(axis.flips.len())),
        head: [Cell::number("value"), Cell::words("ahead")]
            .into_iter()
            .chain(systems.iter().map(Cell::number))
            .collect(),
        rows: axis.points.iter().map(row).collect(),
    }
}

/// Where the workload itself lies.
fn own(axis: &AxisTold) -> String {
    if axis.own.is_empty() { String::new() } else { format!("The workload itself has {}. ", axis.own) }
}

fn flipped(times: usize) -> String {
    match times {
        0 => "The recommendation is not seen to flip here.".to_owned(),
        1 => "The recommendation flips once.".to_owned(),
        times => format!("The recommendation flips {}.", counted(times, "time")),
    }
}

fn commands(machine: &OnMachine) -> Block {
    let row = |row: &Row| vec![Cell::words(&row.system), Cell::prose(&row.figures.command)];
    let levels = machine.durability_levels.iter().flat_map(|levels| &levels.tried);
    let level = |level: &LevelTold| {
        vec![Cell::words(format!("durability {}", level.level)), Cell::prose(&level.figures.command)]
    };
    let share = |(shares, share): (&Shares, &ShareTried)| {
        let who = format!("{} with {} of {} workers", shares.system, share.servers, shares.workers);
        vec![Cell::words(who), Cell::prose(&share.figures.command)]
    };
    let shares = machine.shares.iter().flat_map(|of| of.tried.iter().map(move |tried| (of, tried)));
    let rows = machine.ranking.iter().map(row).chain(levels.map(level)).chain(shares.map(share));
    Block::Table {
        title: format!("Measured again on {}", machine.shown()),
        note: "By these lines; advice.json has those of the points along the axes, too.".to_owned(),
        head: vec![Cell::words("what"), Cell::words("line")],
        rows: rows.collect(),
    }
}

/// Who was measured and for how long.
fn heats(machine: &OnMachine) -> Option<Block> {
    let row = |(number, heat): (usize, &HeatTold)| {
        let best: Vec<String> =
            heat.order.iter().take(3).map(|one| format!("{} with {}", one.system, one.workers)).collect();
        vec![
            Cell::number((number + 1).to_string()),
            Cell::number(durations::show(Duration::from_secs_f64(heat.duration_s))),
            Cell::number(heat.order.len().to_string()),
            Cell::prose(best.join(", ")),
        ]
    };
    (!machine.heats.is_empty()).then(|| Block::Table {
        title: format!("Heats on {}", machine.shown()),
        note: "Candidates are systems with a number of workers. advice.json has them all.".to_owned(),
        head: vec![
            Cell::number("heat"),
            Cell::number("each"),
            Cell::number("candidates"),
            Cell::words("the first three"),
        ],
        rows: machine.heats.iter().enumerate().map(row).collect(),
    })
}
