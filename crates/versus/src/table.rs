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

/// Where Trireme stands: in how many cells its best is the fastest, and where it is not.
pub fn findings(results: &Results) -> Vec<String> {
    let (mut cells, mut ahead, mut behind) = (0, Vec::new(), Vec::new());
    for cell in &results.cells {
        let Some((times, other)) = beside_best(cell) else { continue };
        cells += 1;
        match times >= 1.0 {
            true => ahead.push(times),
            false => behind.push(format!("{}: {} times what {other} does.", title(cell), ratio(times))),
        }
    }
    if cells == 0 {
        return Vec::new();
    }
    ahead.sort_by(f64::total_cmp);
    let range = match (ahead.first(), ahead.last()) {
        (Some(least), Some(most)) => {
            format!(", {} to {} times as fast as the best of the others", ratio(*least), ratio(*most))
        }
        _ => String::new(),
    };
    let first = format!("Trireme is the fastest in {} of {}{range}.", ahead.len(), counted(cells, "cell"));
    [first].into_iter().chain(behind).collect()
}

/// The best of Trireme's medians beside the best of the others', and whose that is.
fn beside_best(cell: &Cell) -> Option<(f64, String)> {
    let ranked = cell.ranked();
    let best = |is_ours: bool| ranked.iter().find(|measured| measured.store.is_ours() == is_ours).copied();
    let (ours, other) = (best(true)?, best(false)?);
    let (ours, others) = (ours.throughput_per_s?, other.throughput_per_s.filter(|&others| others > 0.0)?);
    Some((ours / others, shown(&other.store)))
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
    if let Some(other) = &measured.same_as {
        return vec![store, format!("as {}", shown(other))];
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
        measured.memory_bytes.map_or("–".to_owned(), bytes),
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
