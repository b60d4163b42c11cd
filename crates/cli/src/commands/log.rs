//! `log inspect`: what a log has, file by file.

use crate::arguments::typed;
use crate::engines::Hardware;
use crate::output;
use clap::{Arg, ArgMatches, Command};
use comfy_table::{CellAlignment, Table, presets};
use contract::{Engine as _, LogInspection};
use harness::Failure;
use harness::options::Logging;
use std::fmt::Write as _;
use std::path::PathBuf;
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
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(["file", "bytes", "blocks", "transactions", "records", "marked"]);
    for file in files {
        let name = file.path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        let numbers = [file.bytes, file.blocks, file.transactions, file.records, file.marked];
        let mut row = vec![name];
        row.extend(numbers.map(|number| number.to_string()));
        table.add_row(row);
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    let _ = writeln!(text, "{}", table.trim_fmt());
    for file in files {
        if let Some((offset, why)) = &file.wrong {
            let _ = writeln!(text, "{}, byte {offset}: {why}", file.path.display());
        }
    }
    text
}
