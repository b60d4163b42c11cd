//! Results beside earlier ones, of every measuring command: `--save-baseline NAME`, `--baseline NAME`.

use crate::arguments::typed;
use crate::narrow::{self, wrapped};
use crate::{nodes, output};
use clap::{Arg, ArgMatches, Command};
use comfy_table::Table;
use harness::diff::{Compared, Diff, QUANTITIES, Quantity, Verdict, baselines, recorded::Recorded};
use harness::folder::Folder;
use harness::text::numbers::{counted, latency, ratio, thousands};
use harness::{BadValue, Failure};
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// A baseline, and what to do with it, as it was typed.
pub struct Baseline {
    save: Option<String>,
    beside: Option<(String, Recorded)>,
    quantity: Quantity,
    tolerance: f64,
    /// Whether rows that only the baseline has are none of the question, for only some systems were asked for.
    partly: bool,
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
            "Compare the results with those of this baseline, or folder; exit 1 if they are worse, or if that cannot be told",
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
        .allow_hyphen_values(true)
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
        // It is held against by who tells what comes of it.
        let beside = typed(matches, "baseline").filter(|_| nodes::speaks());
        let read = |name: &str| -> Result<(String, Recorded), Failure> {
            Ok((name.to_owned(), Recorded::read(&baselines::find(name, Path::new(baselines::FOLDER))?)?))
        };
        for option in ["by", "tolerance"] {
            if typed(matches, option).is_some() && typed(matches, "baseline").is_none() {
                return Err(Failure::Usage(format!("--{option} is for --baseline, which is missing")));
            }
        }
        let partly = typed(matches, "only").is_some();
        Ok(Baseline { save, beside: beside.map(read).transpose()?, quantity, tolerance, partly })
    }

    /// Compares the results in the folder, says what came of it, and keeps them if that is asked for and what was checked of them
    /// `passed`. Whether none is worse.
    pub fn hold_against(&self, folder: &Folder, passed: bool, json: bool) -> Result<bool, Failure> {
        if !nodes::speaks() {
            return Ok(true);
        }
        let held = self.compare(folder, json);
        // What is worse, or wrong, does not become what later results are held against.
        if let Some(name) = self.save.as_ref().filter(|_| !passed) {
            output::say(&format!("the baseline {name} is not kept: a check has failed"));
        } else if let Some(name) = self.save.as_ref().filter(|_| matches!(held, Ok(true))) {
            let place: PathBuf = baselines::save(name, folder.path(), Path::new(baselines::FOLDER))?;
            output::say(&format!("the baseline {name} is in {}", place.display()));
        }
        match held {
            // That a check has failed comes before that nothing can be compared.
            Err(failure) if !passed => {
                output::complain(&failure.to_string());
                Ok(false)
            }
            held => held,
        }
    }

    /// Whether the results in the folder are no worse than the earlier ones, if there are any.
    fn compare(&self, folder: &Folder, json: bool) -> Result<bool, Failure> {
        let Some((name, before)) = &self.beside else { return Ok(true) };
        let after = Recorded::read(folder.path())?;
        admit(before, &after, self.quantity)?;
        let diff = Diff::of(before, &after, self.quantity, self.tolerance);
        if !diff.differences.is_empty() {
            return Err(Failure::Usage(format!(
                "--baseline {name}: it was measured otherwise: {}; allowed: one of the same machine and parameters, or 'trireme diff {name} {} --unlike'",
                diff.differences.join("; "),
                folder.path().display()
            )));
        }
        let text = format!("\nbeside the baseline {name}:\n{}", of_diff(&diff, "--repeat"));
        // One object is printed, and nothing else.
        match json {
            true => output::say(&text),
            false => output::print(&text)?,
        }
        Ok(diff.is_as_good(self.partly))
    }
}

/// Refuses to compare what no change shows in: the throughput of an open loop is that of its arrivals; and a rate that is a part of what a short run has found is another one each time.
pub fn admit(before: &Recorded, after: &Recorded, quantity: Quantity) -> Result<(), Failure> {
    let rates: Vec<&str> = before.rates().into_iter().chain(after.rates()).collect();
    if !rates.is_empty() && quantity.name == "throughput" {
        let others: Vec<&str> =
            QUANTITIES.iter().map(|of| of.name).filter(|name| *name != "throughput").collect();
        return Err(Failure::Usage(format!(
            "--by throughput: transactions arrived at a rate, {}, and as many commit; allowed: --by {}",
            rates[0],
            others.join(", ")
        )));
    }
    match rates.iter().find(|rate| rate.ends_with('%')) {
        Some(rate) if !(before.is_simulated() && after.is_simulated()) => Err(Failure::Usage(format!(
            "--rate {rate}: it is a part of what a short run found at the time, which is another number each time; allowed: results of the same rate in transactions a second"
        ))),
        _ => Ok(()),
    }
}

/// A comparison, as a table; `more`: the option that says how often it is measured.
pub fn of_diff(diff: &Diff, more: &str) -> String {
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
    let pairs = diff.rows.iter().any(|row| row.paired);
    let mut text = format!(
        "ratios are of geometric means{}, with 95 % confidence for all rows together; a regression is worse for certain, and by more than {:.1} % on average",
        if pairs { ", repetition by repetition where both drew from the same seeds" } else { "" },
        100.0 * diff.tolerance
    ) + "\n";
    let blind = diff.blind_rows();
    if blind > 0 {
        let _ = writeln!(
            text,
            "of {blind} of {} a regression beyond that could hide in the noise; use more {more}, or a longer --duration",
            counted(diff.rows.len(), "row")
        );
    }
    if diff.rows.iter().any(|row| row.verdict == Verdict::CannotBeTold) {
        let _ = writeln!(
            text,
            "cannot be told: one side has a single repetition, or repetitions in which nothing was measured; use {more} 2 or more on both sides, or a longer --duration"
        );
    }
    // The medians are of all repetitions, and the ratio of pairs.
    let is_one = |row: &Compared| [row.ratio, row.low, row.high] == [Some(1.0); 3] && row.before == row.after;
    if !diff.rows.is_empty() && diff.rows.iter().all(is_one) {
        let _ = writeln!(text, "all of it is the same: every ratio is exactly 1");
    }
    for difference in &diff.differences {
        let _ = writeln!(text, "differs: {difference}");
    }
    let lines: Vec<String> = text.lines().map(|line| wrapped(line, narrow::columns(), 2)).collect();
    format!("{table}\n\n{}\n", lines.join("\n"))
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
