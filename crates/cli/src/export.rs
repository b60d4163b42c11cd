//! `--export`: results in the forms of other programs, beside what is laid down anyhow.

use crate::arguments::typed;
use clap::{Arg, ArgMatches, Command};
use harness::BadValue;
use harness::Failure;
use harness::folder::Folder;
use harness::folder::export::{Exported, FORMS, Form, forms, write};
use harness::results::System;
use harness::sweep::Conducted;

/// The option.
pub fn arguments(command: Command) -> Command {
    let names = FORMS.map(|(name, _)| name).join(", ");
    command.arg(
        Arg::new("export")
            .long("export")
            .value_name("FORMS")
            .help(format!("Also write the results as {names}, into their folder; several between commas"))
            .help_heading("Results")
            .global(true),
    )
}

/// The forms that were typed.
pub fn typed_forms(matches: &ArgMatches) -> Result<Vec<Form>, Failure> {
    Ok(typed(matches, "export").map(forms).transpose()?.unwrap_or_default())
}

/// The same of a sweep, whose points keep no histograms.
pub fn typed_forms_of_sweep(matches: &ArgMatches) -> Result<Vec<Form>, Failure> {
    let forms = typed_forms(matches)?;
    match forms.contains(&Form::Hlog) {
        true => Err(BadValue::new(
            "export",
            "hlog",
            "csv, json, markdown, of a sweep, whose points keep no histograms",
        )
        .into()),
        false => Ok(forms),
    }
}

/// Exports systems.
pub fn systems<'a>(
    folder: &Folder,
    systems: impl Iterator<Item = &'a System>,
    forms: &[Form],
) -> Result<(), Failure> {
    let row = |system: &'a System| Exported {
        labels: vec![
            ("architecture", &*system.summary.architecture),
            ("protocol", &*system.summary.protocol),
        ],
        summary: &system.summary,
        latency_ns: Some(&system.latency_ns),
    };
    write(folder, &systems.map(row).collect::<Vec<_>>(), forms)
}

/// Exports the points of a sweep.
pub fn points(folder: &Folder, conducted: &Conducted, forms: &[Form]) -> Result<(), Failure> {
    let rows: Vec<Exported<'_>> = conducted
        .points
        .iter()
        .map(|point| Exported {
            labels: point.at.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect(),
            summary: &point.summary,
            latency_ns: None,
        })
        .collect();
    write(folder, &rows, forms)
}
