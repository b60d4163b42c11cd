//! Results beside earlier ones, of every measuring command: `--save-baseline NAME`, `--baseline NAME`.

use crate::arguments::typed;
use crate::{nodes, output};
use clap::{Arg, ArgMatches, Command};
use comfy_table::Table;
use harness::diff::{Compared, Diff, QUANTITIES, Quantity, baselines, recorded::Recorded};
use harness::folder::Folder;
use harness::text::numbers::{latency, ratio, thousands};
use harness::{BadValue, Failure};
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// A baseline, and what to do with it, as it was typed.
pub struct Baseline {
    save: Option<String>,
    beside: Option<(String, Recorded)>,
    quantity: Quantity,
    tolerance: f64,
}

/// The options.
pub fn arguments(command: Command) -> Command {
    let named = |name: &'static str, help: &'static str| {
        Arg::new(name).long(name).value_name("NAME").help(help).help_heading("Results").global(true)
    };
    command
        .arg(named("save-baseline", "Keep the results under this name, too, in results/baselines/"))
        .arg(named(
            "baseline",
            "Compare the results with those of this baseline, or folder; exit 1 if they are worse",
        ))
        .arg(by().help_heading("Results").global(true))
        .arg(tolerance().help_heading("Results").global(true))
}

/// `--by`.
pub fn by() -> Arg {
    let names = QUANTITIES.map(|quantity| quantity.name).join(", ");
    Arg::new("by")
        .long("by")
        .value_name("QUANTITY")
        .help(format!("What is compared with the baseline: {names} [default: {}]", QUANTITIES[0].name))
}

/// `--tolerance`.
pub fn tolerance() -> Arg {
    Arg::new("tolerance")
        .long("tolerance")
        .value_name("PERCENT")
        .help("By how much a row may be worse before that is a regression [default: 2%]")
}

/// `--by` as it was typed.
pub fn quantity(matches: &ArgMatches) -> Result<Quantity, Failure> {
    let Some(name) = typed(matches, "by") else { return Ok(QUANTITIES[0]) };
    let allowed = || QUANTITIES.map(|quantity| quantity.name).join(", ");
    Quantity::named(name).ok_or_else(|| BadValue::new("by", name, allowed()).into())
}

/// `--tolerance` as it was typed, as a part.
pub fn tolerated(matches: &ArgMatches) -> Result<f64, Failure> {
    let Some(given) = typed(matches, "tolerance") else { return Ok(0.02) };
    let percent = given.strip_suffix('%').unwrap_or(given).parse().ok();
    let percent = percent.filter(|percent: &f64| (0.0..100.0).contains(percent));
    let allowed = "a percentage, 0% <= tolerance < 100%";
    percent.map(|percent| percent / 100.0).ok_or_else(|| BadValue::new("tolerance", given, allowed).into())
}

impl Baseline {
    /// What was typed. Refuses what is not there before anything is measured.
    pub fn of(matches: &ArgMatches) -> Result<Baseline, Failure> {
        let (quantity, tolerance) = (quantity(matches)?, tolerated(matches)?);
        let save = typed(matches, "save-baseline").map(str::to_owned);
        save.iter().try_for_each(|name| baselines::admit("save-baseline", name))?;
        let beside = typed(matches, "baseline");
        let read = |name: &str| -> Result<(String, Recorded), Failure> {
            Ok((name.to_owned(), Recorded::read(&baselines::find(name, Path::new(baselines::FOLDER))?)?))
        };
        for option in ["by", "tolerance"] {
            if typed(matches, option).is_some() && beside.is_none() {
                return Err(Failure::Usage(format!("--{option} is for --baseline, which is missing")));
            }
        }
        Ok(Baseline { save, beside: beside.map(read).transpose()?, quantity, tolerance })
    }

    /// Compares the results in the folder, says what came of it, and keeps them if that is asked for. Whether none is worse.
    pub fn hold_against(&self, folder: &Folder, json: bool) -> Result<bool, Failure> {
        if !nodes::speaks() {
            return Ok(true);
        }
        let mut held = Ok(true);
        if let Some((name, before)) = &self.beside {
            let diff = Diff::of(before, &Recorded::read(folder.path())?, self.quantity, self.tolerance);
            held = match &diff.differences[..] {
                [] => {
                    let text = format!("\nbeside the baseline {name}:\n{}", of_diff(&diff));
                    // One object is printed, and nothing else.
                    match json {
                        true => output::say(&text),
                        false => output::print(&text)?,
                    }
                    Ok(!diff.has_regression())
                }
                differences => Err(Failure::Usage(format!(
                    "--baseline {name}: it was measured otherwise: {}; allowed: one of the same machine and parameters, or 'trireme diff {name} {} --unlike'",
                    differences.join("; "),
                    folder.path().display()
                ))),
            };
        }
        if let Some(name) = &self.save {
            let place: PathBuf = baselines::save(name, folder.path(), Path::new(baselines::FOLDER))?;
            output::say(&format!("the baseline {name} is in {}", place.display()));
        }
        held
    }
}

/// A comparison, as a table.
pub fn of_diff(diff: &Diff) -> String {
    let names: Vec<&str> =
        diff.rows.first().map_or(Vec::new(), |row| row.row.iter().map(|(name, _)| name.as_str()).collect());
    let unit = if diff.quantity == "throughput" { "txn/s" } else { diff.quantity };
    let (before, after) = (format!("{unit} before"), format!("{unit} after"));
    let head: Vec<&str> =
        names.iter().copied().chain([before.as_str(), &after, "ratio", "from", "to", "verdict"]).collect();
    let numbers: Vec<usize> = (names.len()..head.len() - 1).collect();
    let mut table: Table = crate::answer::ruled(&head, &numbers);
    for row in &diff.rows {
        table.add_row(cells(row, diff.quantity));
    }
    let mut text = format!("{table}\n");
    let pairs = diff.rows.iter().any(|row| row.paired);
    let _ = writeln!(
        text,
        "\nratios are of geometric means{}, with 95 % confidence for all rows together; a regression is worse by more than {:.1} %",
        if pairs { ", repetition by repetition where both drew from the same seeds" } else { "" },
        100.0 * diff.tolerance
    );
    for difference in &diff.differences {
        let _ = writeln!(text, "differs: {difference}");
    }
    text
}

fn cells(row: &Compared, quantity: &str) -> Vec<String> {
    let value = |value: Option<f64>| match (value, quantity) {
        (None, _) => String::new(),
        (Some(value), "throughput") => thousands(value),
        (Some(value), _) => latency(value.round() as u64),
    };
    let of_ratio = |value: Option<f64>| value.map_or(String::new(), ratio);
    let labels = row.row.iter().map(|(_, label)| label.clone());
    labels
        .chain([
            value(row.before),
            value(row.after),
            of_ratio(row.ratio),
            of_ratio(row.low),
            of_ratio(row.high),
        ])
        .chain([row.verdict.to_string()])
        .collect()
}
