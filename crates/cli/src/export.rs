//! `--export`: results in the forms of other programs, beside what is laid down anyhow.

use crate::arguments::typed;
use crate::output;
use clap::{Arg, ArgMatches, Command};
use harness::Failure;
use harness::folder::Folder;
use harness::folder::export::{Exported, FORMS, Form, forms, write};
use harness::results::System;
use harness::sweep::{Cases, Conducted, Experiment, export_log};
use harness::text::numbers::counted;

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
pub fn points(
    folder: &Folder,
    (experiment, cases): (&Experiment, &Cases),
    conducted: &Conducted,
    forms: &[Form],
) -> Result<(), Failure> {
    let rows: Vec<Exported<'_>> = conducted
        .points
        .iter()
        .map(|point| Exported {
            labels: point.at.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect(),
            summary: &point.summary,
            latency_ns: None,
        })
        .collect();
    // Their histograms lie in the folder, those of points that an earlier call has measured, too.
    let (logs, others): (Vec<Form>, Vec<Form>) = forms.iter().partition(|form| **form == Form::Hlog);
    write(folder, &rows, &others)?;
    if logs.is_empty() {
        return Ok(());
    }
    let missing = export_log(folder, experiment, cases)?;
    if missing > 0 {
        let points = counted(missing, "point");
        output::say(&format!(
            "latency.hlog is without {points}, measured by a version that kept no histograms"
        ));
    }
    Ok(())
}
