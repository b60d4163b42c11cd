//! What a person reads at the end, on standard output: a file for each kind of answer, and here what they share.

mod advice;
mod check;
mod comparison;
mod run;
mod sweep;
mod validation;

pub use advice::of_advice;
pub use check::{of_check, of_exploration};
pub use comparison::of_comparison;
pub use run::of_run;
pub use sweep::{of_figure, of_sum, of_sweep};
pub use validation::of_validation;

use crate::narrow::{self, wrapped};
use comfy_table::{CellAlignment, ContentArrangement, LineStyle, Table, TableStyle};
use harness::folder::Folder;
use harness::text::numbers::thousands;
use std::collections::BTreeMap;
use std::fmt::Write;

/// A rule below the heads, and nothing else.
const RULED: TableStyle = TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─'));

/// A table with these heads, of which `numbers` stand to the right. In a window that is too narrow for it, cells take several lines.
pub fn ruled(head: &[&str], numbers: &[usize]) -> Table {
    let mut table = Table::new();
    table.load_style(RULED);
    match narrow::columns() {
        Some(columns) => {
            table.set_content_arrangement(ContentArrangement::Dynamic);
            table.set_width(columns.try_into().unwrap_or(u16::MAX));
        }
        None => {
            table.set_content_arrangement(ContentArrangement::Disabled);
        }
    }
    table.set_header(head.iter().copied());
    for &column in numbers {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}

fn finish(text: String, warnings: &[String], folder: Option<&Folder>) -> String {
    finish_in(None, text, warnings, folder)
}

fn finish_in(
    columns: Option<usize>,
    mut text: String,
    warnings: &[String],
    folder: Option<&Folder>,
) -> String {
    for warning in warnings {
        let _ = write!(text, "\n{}", wrapped(&format!("warning: {warning}"), columns, 2));
    }
    if !warnings.is_empty() {
        text.push('\n');
    }
    if let Some(folder) = folder {
        let _ =
            writeln!(text, "\n{}", wrapped(&format!("report: {}", folder.report().display()), columns, 2));
    }
    text
}

/// The reasons that occurred, in brackets.
fn reasons(aborts: &BTreeMap<String, u64>) -> String {
    let seen = aborts.iter().filter(|(_, count)| **count > 0);
    let seen: Vec<String> =
        seen.map(|(reason, count)| format!("{reason} {}", thousands(*count as f64))).collect();
    if seen.is_empty() { String::new() } else { format!("  ({})", seen.join(", ")) }
}
