//! Tables that several reports have.

use super::page::{Block, Cell};
use crate::summary::{COSTS, Check, CostDescription, Kind, Latency, LatencyOf, Summary, Unmeasured};
use crate::text::names;
use crate::text::numbers::{latency_if_any, ratio, thousands};

/// What the spread among [`NUMBERS`] is.
pub const SPREAD: &str = "Spread is from the slowest to the fastest repetition, as a part of the median.";

/// Where a latency begins.
pub fn latency_begins(summary: &Summary) -> &'static str {
    match summary.latency_of {
        LatencyOf::Service => "the first attempt",
        LatencyOf::Response => "the arrival",
    }
}

/// Where a latency ends.
pub fn latency_ends(summary: &Summary) -> &'static str {
    if summary.log.is_some() { "durability" } else { "commit" }
}

/// What a latency is; all systems of a report have the same durability.
pub fn what_latency_is(summary: &Summary) -> String {
    let end = match summary.log {
        Some(_) => "the time when its commit is durable, which is when it counts",
        None => "its commit",
    };
    if summary.latency_of == LatencyOf::Response {
        return format!(
            "Latency is from a transaction's arrival to {end}, with all that lies between; those that arrived and never began are among them, with the time for which they \
             had waited. Transactions that were timed class by class are not."
        );
    }
    format!(
        "Latency is from the beginning of a transaction's first attempt to {end}, with aborted attempts and back-off; drawing it, \
         planning it and waiting for a free worker are outside. Transactions that were timed class by class are not among the latencies."
    )
}

/// By kind of transactions; nothing if there is one.
pub fn kinds(summary: &Summary) -> Option<Block> {
    kinds_of(&[summary], &[], |_| Vec::new())
}

/// The same of several systems, each kind of each.
pub fn kinds_of_systems(summaries: &[&Summary]) -> Option<Block> {
    let system = |summary: &Summary| vec![summary.architecture.clone(), summary.protocol_shown().to_owned()];
    kinds_of(summaries, &["architecture", "protocol"], system)
}

/// What `names` says of a system stands below `heads`, before its kinds.
fn kinds_of(summaries: &[&Summary], heads: &[&str], names: fn(&Summary) -> Vec<String>) -> Option<Block> {
    let all = || summaries.iter().flat_map(|summary| summary.kinds.iter().map(move |kind| (*summary, kind)));
    let has_tpmc = all().any(|(_, kind)| kind.tpmc.is_some());
    let row = |(summary, kind): (&Summary, &Kind)| -> Vec<Cell> {
        let shown = |of: fn(&Latency) -> u64| latency_if_any(kind.latency_ns.as_ref().map(of));
        let numbers = [
            thousands(kind.throughput_per_s),
            thousands(kind.user_rollbacks as f64),
            ratio(kind.abort_rate),
            shown(|of| of.p50),
            shown(|of| of.p99),
            shown(|of| of.p999),
        ];
        let per_minute = has_tpmc.then(|| kind.tpmc.map_or(String::new(), thousands));
        let words = names(summary).into_iter().chain([kind.name.clone()]).map(Cell::words);
        words.chain(numbers.into_iter().chain(per_minute).map(Cell::number)).collect()
    };
    let rows: Vec<Vec<Cell>> = all().map(row).collect();
    let tpmc = match has_tpmc {
        true => " New-Orders a minute are without the standard's keying and think times.",
        false => "",
    };
    let numbers = ["txn/s", "rollbacks", "aborts/commit", "p50", "p99", "p99.9"].into_iter();
    let numbers = numbers.chain(has_tpmc.then_some("a minute"));
    (!rows.is_empty()).then(|| Block::Table {
        title: "By kind of transaction".to_owned(),
        note: format!("Latencies to two significant digits, of those that ended in the interval: what took longer is among the latencies of all.{tpmc}"),
        head: heads.iter().copied().chain(["transaction"]).map(Cell::words).chain(numbers.map(Cell::number)).collect(),
        rows,
    })
}

/// The heads of [`numbers`].
pub const NUMBERS: [&str; 6] = ["txn/s", "spread", "aborts/commit", "p50", "p99", "p99.9"];

/// One system's numbers.
pub fn numbers(summary: &Summary) -> [Cell; 6] {
    let shown = |of: fn(&Latency) -> u64| latency_if_any(summary.latency_ns.as_ref().map(of));
    [
        thousands(summary.throughput_per_s),
        summary.spread_shown(),
        ratio(summary.abort_rate),
        shown(|latencies| latencies.p50),
        shown(|latencies| latencies.p99),
        shown(|latencies| latencies.p999),
    ]
    .map(Cell::number)
}

/// In place of [`numbers`] where there are none; `why` stands first.
pub fn no_numbers(why: &str) -> [Cell; 6] {
    std::array::from_fn(|column| Cell::number(if column == 0 { why } else { "" }))
}

/// What each architecture cost, and apart what the processors counted. A dash stands where nothing was measured; what no system had to pay has
/// no column, and no table.
pub fn costs(summaries: &[&Summary]) -> impl Iterator<Item = Block> {
    let by_processor = CostDescription::counted_by_processor(summaries);
    let is_counted = |cost: &CostDescription| by_processor.iter().any(|counted| counted.name == cost.name);
    let is_paid = |cost: &CostDescription| {
        summaries.iter().any(|summary| summary.costs.get(cost.name).is_some_and(|value| value != 0.0))
    };
    let (counted, paid): (Vec<_>, Vec<_>) =
        COSTS.iter().filter(|cost| is_paid(cost)).partition(|cost| is_counted(cost));
    let of_architecture = "By transaction that ended; messages are requests and releases, without their answers. Serving others is \
        the part of their time in which workers that serve are busy: dedicated servers or concurrency-control threads where there are any. \
        Idle, executing and managing are parts of the time of execution threads, or of workers that execute. A round trip is from a request to its answer, a \
        migration from one worker to running on the next, a lock hold from an attempt's first lock to having \
        released all; these are means of samples. In flight, found: how many each worker had where that was left to it, the mean over \
        transactions. Versions by records: the most memory that previous versions of \
        records have taken, by that of the records.";
    let of_processors = "By transaction that ended: of all workers, in user mode, waiting included.";
    let first = costs_table("What the architecture cost", of_architecture, &paid, summaries);
    let second = (!counted.is_empty())
        .then(|| costs_table("What the processors counted", of_processors, &counted, summaries));
    [first].into_iter().chain(second)
}

fn costs_table(title: &str, note: &str, costs: &[&CostDescription], summaries: &[&Summary]) -> Block {
    let row = |summary: &&Summary| {
        let numbers = costs.iter().map(|cost| Cell::number(cost.shown_of(summary)));
        let system = [Cell::words(&summary.architecture), Cell::words(summary.protocol_shown())];
        system.into_iter().chain(numbers).collect()
    };
    let heads = costs.iter().map(|cost| Cell::number(cost.heading));
    Block::Table {
        title: title.to_owned(),
        note: note.to_owned(),
        head: ["architecture", "protocol"].map(Cell::words).into_iter().chain(heads).collect(),
        rows: summaries.iter().map(row).collect(),
    }
}

/// How many instances each had, where somebody asked for any; `heads` are of the names that stand before them.
pub fn instances<'a>(
    heads: &[&str],
    rows: impl Iterator<Item = (Vec<String>, &'a Summary)>,
) -> Option<Block> {
    let row = |(names, summary): (Vec<String>, &Summary)| {
        let shown = summary.instances_shown()?;
        let names = names.into_iter().map(Cell::words);
        Some(names.chain([Cell::words(shown)]).collect::<Vec<_>>())
    };
    let rows: Vec<Vec<Cell>> = rows.filter_map(row).collect();
    (!rows.is_empty()).then(|| Block::Table {
        title: "Instances".to_owned(),
        note: "Among which workers and partitions were divided: how many, and in brackets what was asked for, if that was no number."
            .to_owned(),
        head: heads.iter().chain(&["instances"]).map(|head| Cell::words(*head)).collect(),
        rows,
    })
}

/// The same of systems.
pub fn instances_of_systems(summaries: &[&Summary]) -> Option<Block> {
    let row = |summary: &&'_ Summary| vec![summary.architecture.clone(), summary.protocol_shown().to_owned()];
    instances(&["architecture", "protocol"], summaries.iter().map(|summary| (row(summary), *summary)))
}

/// How many concurrency-control threads each system had, and what short runs had said, where they chose it.
pub fn chosen_threads(summaries: &[&Summary]) -> Option<Block> {
    let chosen = summaries.iter().filter_map(|summary| Some((summary, summary.cc_threads_chosen.as_ref()?)));
    let rows: Vec<Vec<Cell>> = chosen
        .flat_map(|(summary, chosen)| {
            chosen.tried.iter().map(move |tried| {
                let is_it = tried.cc_threads == chosen.cc_threads;
                vec![
                    Cell::words(&summary.architecture),
                    Cell::number(tried.cc_threads.to_string()),
                    Cell::number(thousands(tried.throughput_per_s)),
                    Cell::words(if is_it { "chosen" } else { "" }),
                ]
            })
        })
        .collect();
    (!rows.is_empty()).then(|| Block::Table {
        title: "Threads for concurrency control".to_owned(),
        note: "By runs of a quarter of a repetition, one after the other, before the first repetition. They count for nothing else.".to_owned(),
        head: vec![Cell::words("architecture"), Cell::number("threads"), Cell::number("txn/s"), Cell::words("")],
        rows,
    })
}

/// Pairs of the matrix that have no numbers, and why.
pub fn unmeasured(title: &str, pairs: &[Unmeasured]) -> Block {
    let row = |pair: &Unmeasured| {
        let protocol = names::protocol(&pair.architecture, &pair.protocol);
        vec![Cell::words(&pair.architecture), Cell::words(protocol), Cell::prose(&pair.why)]
    };
    Block::Table {
        title: title.to_owned(),
        note: "Pairs of the matrix that the engine does not have or that do not fit the options, and why."
            .to_owned(),
        head: ["architecture", "protocol", "why"].map(Cell::words).into(),
        rows: pairs.iter().map(row).collect(),
    }
}

/// What was checked of several, each check once: how many passed it, and who did not.
pub fn checks_of_all(of: &str, named: &[(String, &Summary)]) -> Block {
    let mut names: Vec<&str> = Vec::new();
    for check in named.iter().flat_map(|(_, summary)| &summary.checks) {
        if !names.contains(&&*check.name) {
            names.push(&check.name);
        }
    }
    let row = |name: &&str| {
        let is_it = |check: &&Check| check.name == **name;
        let had = named.iter().filter_map(|(who, summary)| Some((who, summary.checks.iter().find(is_it)?)));
        let (passed, failed): (Vec<_>, Vec<_>) = had.partition(|(_, check)| check.passed);
        let told: Vec<String> =
            failed.iter().map(|(who, check)| format!("{who}: {}", check.detail)).collect();
        let verdict = if failed.is_empty() { "passed" } else { "FAILED" };
        let by = format!("{} of {}", passed.len(), passed.len() + failed.len());
        vec![Cell::words(*name), Cell::words(verdict), Cell::number(by), Cell::prose(told.join("; "))]
    };
    Block::Table {
        title: "Checks".to_owned(),
        note: format!("What must hold, by how many of the {of} that were checked it was passed."),
        head: vec![
            Cell::words("check"),
            Cell::words("verdict"),
            Cell::number("passed"),
            Cell::words("found"),
        ],
        rows: names.iter().map(row).collect(),
    }
}

/// What was checked; `note` says when.
pub fn checks(note: &str, checks: &[Check]) -> Block {
    let row = |check: &Check| {
        let verdict = if check.passed { "passed" } else { "FAILED" };
        vec![Cell::words(&check.name), Cell::words(verdict), Cell::prose(&check.detail)]
    };
    Block::Table {
        title: "Checks".to_owned(),
        note: note.to_owned(),
        head: ["check", "verdict", "found"].map(Cell::words).into(),
        rows: checks.iter().map(row).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::tests::some_summary;

    #[test]
    fn each_check_is_one_row_of_all_who_had_it() {
        let with = |who: &str, checks: &[(&str, bool)]| {
            let checks = checks.iter();
            let checks = checks.map(|(name, passed)| Check::new(name, *passed, || format!("{name} is off")));
            (who.to_owned(), Summary { checks: checks.collect(), ..some_summary() })
        };
        let named = [
            with("silo", &[("audit", true), ("order", true)]),
            with("no-wait", &[("audit", false)]),
            with("tictoc", &[("audit", true), ("sums", true)]),
        ];
        let named: Vec<(String, &Summary)> =
            named.iter().map(|(who, summary)| (who.clone(), summary)).collect();
        let Block::Table { rows, note, .. } = checks_of_all("systems", &named) else { panic!("a table") };
        assert!(note.contains("how many of the systems"), "{note}");
        let texts: Vec<Vec<&str>> =
            rows.iter().map(|row| row.iter().map(|cell| cell.text.as_str()).collect()).collect();
        assert_eq!(
            texts,
            [
                ["audit", "FAILED", "2 of 3", "no-wait: audit is off"],
                ["order", "passed", "1 of 1", ""],
                ["sums", "passed", "1 of 1", ""],
            ]
        );
    }
}
