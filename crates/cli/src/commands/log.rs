//! `log inspect`: what a log has, file by file.

use crate::arguments::typed;
use crate::engines::Hardware;
use crate::output;
use clap::{Arg, ArgMatches, Command};
use comfy_table::{CellAlignment, Table, presets};
use contract::{CheckpointReport, Engine as _, InspectedFile, InspectedRows, LogInspection};
use harness::Failure;
use harness::options::Logging;
use harness::text::numbers::counted;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// What can be typed.
pub fn arguments() -> Command {
    let inspect = Command::new("inspect")
        .about("What a log has, file by file")
        .arg(folders())
        .arg(crate::arguments::json());
    Command::new("log").about("Look at a log").subcommand_required(true).subcommand(inspect)
}

/// The folders of a log.
pub fn folders() -> Arg {
    Arg::new("folder")
        .value_name("FOLDER")
        .required(true)
        .help("The log's folder; several between commas, the first of them the one with the manifest")
}

/// As they were typed.
pub fn folders_of(matches: &ArgMatches) -> Result<Vec<PathBuf>, Failure> {
    let folders = typed(matches, "folder").expect("required");
    Logging::read_folders(folders)
        .map_err(|allowed| Failure::Usage(format!("folder {folders}: allowed: {allowed}")))
}

/// Does what the line says.
pub fn log(matches: &ArgMatches) -> Result<ExitCode, Failure> {
    let Some(("inspect", matches)) = matches.subcommand() else { unreachable!("required") };
    let inspection = Hardware::inspect_log(&folders_of(matches)?)?;
    match matches.get_flag("json") {
        true => output::print_json(&inspection)?,
        false => output::print(&told(&inspection))?,
    }
    Ok(ExitCode::SUCCESS)
}

fn told(inspection: &LogInspection) -> String {
    let LogInspection { log, generation, tables, earlier, files, durable_epoch, .. } = inspection;
    let mut text = format!("log {log}, generation {generation}, durable up to epoch {durable_epoch}\n");
    for (generation, epoch) in earlier.iter().enumerate() {
        let _ = writeln!(text, "generation {generation} counts up to epoch {epoch}");
    }
    for (number, table) in tables.iter().enumerate() {
        let _ = writeln!(text, "table {number}: {table}");
    }
    if let Some(CheckpointReport { from_epoch, to_epoch, rows, bytes, files, .. }) = &inspection.checkpoint {
        let _ = writeln!(
            text,
            "checkpoint: {rows} rows of epochs {from_epoch} to {to_epoch}, of {bytes} bytes in {}",
            counted(*files as usize, "file"),
        );
        let row = |file: &InspectedRows| (name_of(&file.path), vec![file.bytes, file.rows]);
        let _ = writeln!(
            text,
            "{}",
            table(&["file", "bytes", "rows"], inspection.checkpoint_files.iter().map(row))
        );
    }
    let row = |file: &InspectedFile| {
        let numbers = vec![file.bytes, file.blocks, file.transactions, file.records, file.marked];
        (name_of(&file.path), numbers)
    };
    let head = ["file", "bytes", "blocks", "transactions", "records", "marked"];
    let _ = writeln!(text, "{}", table(&head, files.iter().map(row)));
    let wrong_rows = inspection.checkpoint_files.iter().map(|file| (&file.path, &file.wrong));
    for (path, wrong) in wrong_rows.chain(files.iter().map(|file| (&file.path, &file.wrong))) {
        if let Some((offset, why)) = wrong {
            let _ = writeln!(text, "{}, byte {offset}: {why}", path.display());
        }
    }
    text
}

fn name_of(path: &Path) -> String {
    path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}

/// A file a line.
fn table(head: &[&str], files: impl Iterator<Item = (String, Vec<u64>)>) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(head);
    for (name, numbers) in files {
        table.add_row(std::iter::once(name).chain(numbers.iter().map(u64::to_string)));
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table.trim_fmt()
}
