//! The results as a page: for each class a table of all stores, then each cell's own table, and the settings.

use crate::conduct::Agenda;
use crate::contender::{self, StoreName, shown};
use crate::results::{Cell, Results};
use crate::store::Settings;
use crate::table;
use harness::report::page::{self, Block, Page};
use harness::report::render;
use harness::text::dates::Utc;
use harness::text::durations;
use harness::text::numbers::{counted, ratio, thousands};

/// The page.
pub fn of_results(results: &Results, agenda: &Agenda) -> String {
    let mut blocks: Vec<Block> = results.groups().into_iter().map(|cells| overview(&cells, agenda)).collect();
    blocks.extend(results.cells.iter().map(detail));
    blocks.push(settings(agenda));
    render(&Page {
        trail: Vec::new(),
        title: "Beside other stores".to_owned(),
        command: results.command.clone(),
        lead: lead(agenda),
        finding: table::findings(results),
        claim: None,
        simulated: false,
        warnings: warnings(results),
        blocks,
        footer: format!("Measured by versus {}, {}.", env!("CARGO_PKG_VERSION"), Utc::now().readable()),
    })
}

fn lead(agenda: &Agenda) -> String {
    format!(
        "{} rows; {} of {} after {} of warm-up, by turns between the stores; medians. Epochs of {}. Every transaction is serializable, and \
         the tables are checked after each round.",
        thousands(agenda.rows as f64),
        counted(agenda.rounds, "round"),
        durations::show(agenda.duration),
        durations::show(agenda.warmup),
        durations::show(agenda.epoch),
    )
}

fn warnings(results: &Results) -> Vec<String> {
    let mut warnings: Vec<String> = results.warnings.iter().map(|warning| format!("{warning}.")).collect();
    if results.is_interrupted {
        warnings.push("It was ended early: some rounds are missing.".to_owned());
    }
    for cell in &results.cells {
        for measured in &cell.stores {
            if let Some(failure) = &measured.failure {
                warnings.push(format!(
                    "{}: {} failed: {failure}.",
                    table::title(cell),
                    shown(&measured.store)
                ));
            }
        }
    }
    warnings
}

/// A table of all stores in cells of the same class and waiting.
fn overview(cells: &[&Cell], agenda: &Agenda) -> Block {
    let mut head = vec![page::Cell::words("workload"), page::Cell::number("threads")];
    head.extend(agenda.stores.iter().map(|store| page::Cell::number(shown(store))));
    let rows = cells.iter().map(|cell| {
        let mut row =
            vec![page::Cell::words(shown(&cell.workload)), page::Cell::number(cell.threads.to_string())];
        row.extend(cell.stores.iter().map(|measured| {
            let median = measured.throughput_per_s.map_or("–".to_owned(), thousands);
            let to_best = cell.best_of_others().filter(|_| measured.store.is_ours());
            match measured.throughput_per_s.zip(to_best) {
                Some((ours, best)) => page::Cell::number(median).noted(format!("{} x", ratio(ours / best))),
                None => page::Cell::number(median),
            }
        }));
        row
    });
    let class = cells[0].class;
    Block::Table {
        title: format!("{class}{}", table::waiting(cells[0])),
        note: format!("Commits a second: {}. Below ours, beside the best of the others.", class.meaning()),
        head,
        rows: rows.collect(),
    }
}

/// A cell's own table.
fn detail(cell: &Cell) -> Block {
    let (first, others) = table::HEAD.split_first().expect("it has columns");
    let head =
        [page::Cell::words(*first)].into_iter().chain(others.iter().map(|head| page::Cell::number(*head)));
    let rows = cell.ranked().into_iter().map(|measured| {
        let mut texts = table::row(cell, measured).into_iter();
        let mut row = vec![page::Cell::words(texts.next().unwrap_or_default())];
        row.extend(texts.map(page::Cell::number));
        row.resize_with(table::HEAD.len(), || page::Cell::number(""));
        row
    });
    Block::Table {
        title: table::title(cell),
        note: "Memory is what the process took more when the store was first opened and loaded; files after the last round.".to_owned(),
        head: head.collect(),
        rows: rows.collect(),
    }
}

/// With which settings each store belongs to each class.
fn settings(agenda: &Agenda) -> Block {
    let head = ["store", "memory", "buffered", "buffered, in flight", "group", "group, in flight"];
    let row = |&store: &StoreName| {
        let Settings { memory, buffered, buffered_in_flight, group, group_in_flight } =
            contender::settings(store);
        let words = [memory, buffered, buffered_in_flight, group, group_in_flight];
        [page::Cell::words(shown(&store))].into_iter().chain(words.map(page::Cell::prose)).collect()
    };
    Block::Table {
        title: "Settings".to_owned(),
        note: "With which each store belongs to each class of durability.".to_owned(),
        head: head.map(page::Cell::words).into_iter().collect(),
        rows: agenda.stores.iter().map(row).collect(),
    }
}
