//! The results as Markdown, as they stand in documents: for each class and way of waiting a table, with a row for each workload and number
//! of threads. Each variant of Trireme has a column, the best and the second of the others, and how many times the best each variant is.

use crate::contender::{StoreName, shown};
use crate::results::{Cell, Measured, Results};
use crate::store::Class;
use clap::ValueEnum;
use harness::text::numbers::{ratio, thousands};
use std::fmt::Write as _;

/// All tables.
pub fn of_results(results: &Results) -> String {
    let mut text = String::new();
    for cells in results.groups() {
        writeln!(text, "### {}\n\n`{}`\n", title(cells[0]), results.command).expect("text has room");
        for warning in &results.warnings {
            writeln!(text, "Warning: {warning}.\n").expect("text has room");
        }
        writeln!(text, "{}", table(&cells)).expect("text has room");
    }
    if results.is_interrupted {
        text += "It was ended early: some rounds are missing.\n\n";
    }
    text
}

fn title(cell: &Cell) -> String {
    let rows = thousands(cell.rows as f64);
    match (cell.class, cell.in_flight) {
        (Class::Memory, _) => format!("In memory, {rows} rows"),
        (Class::Buffered, 1) => format!("Written, not synced; each commit waited for, {rows} rows"),
        (Class::Buffered, many) => {
            format!("Written, not synced; {many} commits in flight a thread, {rows} rows")
        }
        (Class::Group, 1) => format!("Synced; each commit waited for, {rows} rows"),
        (Class::Group, many) => format!("Synced by group; {many} commits in flight a thread, {rows} rows"),
    }
}

/// A table of cells of the same class and way of waiting.
fn table(cells: &[&Cell]) -> String {
    let is_there = |store: &StoreName| {
        cells.iter().flat_map(|cell| &cell.stores).any(|measured| measured.store == *store)
    };
    let variants: Vec<StoreName> = StoreName::value_variants()
        .iter()
        .copied()
        .filter(|store| store.is_ours() && is_there(store))
        .collect();
    let mut head = vec!["workload", "threads"];
    head.extend(variants.iter().map(|store| store.title()));
    head.extend(["best other", "second", "times the best other"]);
    let mut text = line(head.iter().map(|&word| word.to_owned()));
    text += &line(head.iter().enumerate().map(|(n, _)| if n == 0 { "---" } else { "---:" }.to_owned()));
    for cell in cells {
        text += &line(row(cell, &variants).into_iter());
    }
    text
}

fn line(columns: impl Iterator<Item = String>) -> String {
    format!("| {} |\n", columns.collect::<Vec<_>>().join(" | "))
}

fn row(cell: &Cell, variants: &[StoreName]) -> Vec<String> {
    let ours: Vec<Option<&Measured>> = variants
        .iter()
        .map(|variant| cell.stores.iter().find(|measured| measured.store == *variant))
        .collect();
    let others: Vec<&Measured> =
        cell.ranked().into_iter().filter(|measured| !measured.store.is_ours()).collect();
    let best = others.first().and_then(|best| best.throughput_per_s).filter(|&best| best > 0.0);
    let mut row = vec![shown(&cell.workload), cell.threads.to_string()];
    row.extend(ours.iter().map(|ours| ours.and_then(with_spread).unwrap_or_else(none)));
    let named = |measured: &&Measured| Some(format!("{} {}", measured.store.title(), with_spread(measured)?));
    row.extend([0, 1].map(|nth| others.get(nth).and_then(named).unwrap_or_else(none)));
    let times = ours.iter().map(|ours| {
        let ours = ours.and_then(|ours| ours.throughput_per_s);
        ours.zip(best).map_or_else(none, |(ours, best)| ratio(ours / best))
    });
    row.push(times.collect::<Vec<_>>().join(" / "));
    row
}

fn none() -> String {
    "–".to_owned()
}

/// Thousands of commits a second: the median, the least and the most.
fn with_spread(measured: &Measured) -> Option<String> {
    let thousandth = |commits: f64| ratio(commits / 1_000.0);
    let (least, most) = measured.spread();
    let median = measured.throughput_per_s?;
    Some(format!("{} ({} to {})", thousandth(median), thousandth(least), thousandth(most)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contender::WorkloadName;

    fn measured(store: StoreName, rounds: &[f64]) -> Measured {
        let mut measured = Measured::same_as(store, store);
        (measured.rounds, measured.throughput_per_s) = (rounds.to_vec(), rounds.get(1).copied());
        measured
    }

    #[test]
    fn a_summary_ranks_the_others_and_compares_each_variant_with_the_best() {
        use StoreName::*;
        let stores = vec![
            measured(Redb, &[1_000.0, 2_000.0, 3_000.0]),
            measured(Trireme, &[7_000.0, 8_000.0, 9_000.0]),
            measured(TriremeHashed, &[9_000.0, 10_000.0, 11_000.0]),
            Measured::same_as(TriremePrefetch, Trireme),
            measured(Heed, &[3_999.0, 4_000.0, 4_001.0]),
            measured(Fjall, &[1.0, 2.0, 3.0]),
        ];
        let cell = Cell {
            class: Class::Memory,
            in_flight: 1,
            workload: WorkloadName::Reads,
            threads: 2,
            rows: 1_000,
            stores,
        };
        let results = Results { command: "versus --so".to_owned(), cells: vec![cell], ..Results::default() };
        let expected = "\
### In memory, 1,000 rows

`versus --so`

| workload | threads | ordered | hashed | ordered, prefetched | best other | second | times the best other |
| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
| reads | 2 | 8.00 (7.00 to 9.00) | 10.0 (9.00 to 11.0) | – | LMDB 4.00 (4.00 to 4.00) | redb 2.00 (1.00 to 3.00) | 2.00 / 2.50 / – |

";
        assert_eq!(of_results(&results), expected);
        let kept = serde_json::to_string(&results).expect("results are numbers and words");
        let read: Results = serde_json::from_str(&kept).expect("what was written is read");
        assert_eq!(of_results(&read), expected, "what was kept says the same");
    }
}
