//! The results as text: what was found, and a table for each cell.

use crate::contender::shown;
use crate::results::{Cell, Measured, Results};
use crate::store::Class;
use comfy_table::{CellAlignment, Table, presets};
use harness::text::numbers::{bytes, counted, latency, ratio, thousands};

/// All tables.
pub fn of_results(results: &Results) -> String {
    let mut text: String =
        results.cells.iter().map(|cell| format!("{}\n{}\n\n", title(cell), table(cell).trim_fmt())).collect();
    for finding in findings(results) {
        text += &format!("{finding}\n");
    }
    text
}

/// Where Trireme stands in each cell that has others, in a sentence each.
pub fn findings(results: &Results) -> Vec<String> {
    let finding = |cell: &Cell| {
        let ours = cell.ranked().into_iter().find(|measured| measured.store.is_ours())?.throughput_per_s?;
        let best = cell.best_of_others().filter(|&best| best > 0.0)?;
        let other = cell.ranked().into_iter().find(|measured| !measured.store.is_ours())?;
        let (times, other) = (ratio(ours / best), shown(&other.store));
        Some(format!("{}: Trireme's best does {times} times what {other} does.", title(cell)))
    };
    results.cells.iter().filter_map(finding).collect()
}

/// What a cell is about.
pub fn title(cell: &Cell) -> String {
    let (workload, threads) = (shown(&cell.workload), counted(cell.threads, "thread"));
    let rows = thousands(cell.rows as f64);
    format!("{} · {workload} · {threads}, {rows} rows{}", cell.class, waiting(cell))
}

/// Who waits for what.
pub fn waiting(cell: &Cell) -> String {
    match (cell.class, cell.in_flight) {
        (Class::Memory, _) => String::new(),
        (_, 1) => ", each commit waited for".to_owned(),
        (_, in_flight) => format!(", {in_flight} commits in flight a thread"),
    }
}

/// The heads of the columns.
pub const HEAD: [&str; 9] =
    ["store", "commits/s", "spread", "vs best other", "p50", "p99", "retries", "memory", "files"];

/// A store's row.
pub fn row(cell: &Cell, measured: &Measured) -> Vec<String> {
    let store = shown(&measured.store);
    if let Some(failure) = &measured.failure {
        return vec![store, format!("failed: {failure}")];
    }
    let Some(median) = measured.throughput_per_s else { return vec![store, "–".to_owned()] };
    let (least, most) = measured.spread();
    let to_best = cell.best_of_others().filter(|&best| best > 0.0).map(|best| ratio(median / best));
    vec![
        store,
        thousands(median),
        format!("{} to {}", thousands(least), thousands(most)),
        to_best.unwrap_or_default(),
        latency(measured.p50_ns),
        latency(measured.p99_ns),
        ratio(measured.retries_per_commit),
        bytes(measured.memory_bytes),
        bytes(measured.disk_bytes),
    ]
}

fn table(cell: &Cell) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(HEAD);
    for measured in cell.ranked() {
        table.add_row(row(cell, measured));
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}
